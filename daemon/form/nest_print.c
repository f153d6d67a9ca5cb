/* SPDX-License-Identifier: Apache-2.0 */
/* form/nest_print.c - a nest as text.
 *
 *   par 10 20 red 30 vec 2 width 8
 *   @0 s3 read float64 unit alone +0 [160 8 0]
 *   %0 = load.f64 @0
 *   %1 = scalar.f64 #0
 *   %2 = mul.f64 %0 %1
 *   %3 = reduce.sum.f64 %2
 *   post
 *   store.f64 @1 %3
 *
 * A gather reads "@1 s0 gather float64 same +0 [0] 100:8" (100 steps of 8 bytes) by
 * "%2 = gather.f64 @1 %0"; an index that is checked has the number of its error word
 * behind it, "%0 = index.i64 %1 %2 !0".
 *
 * Names and operands are those of instr.def.
 *
 * A canonical kernel has no extents, offsets, strides and scalar sources. */
#include "nest.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/textbuf.h"

static const char *const walk_text[] = {"unit", "same", "strided"};

static const char *suffix(unsigned d)
{
	const struct dtype_row *r = dtype_row(d);

	return r ? r->suffix : "?";
}

static void put_head(struct textbuf *t, const struct nest *n, bool spec)
{
	textbuf_put(t, "par");
	if (spec)
		textbuf_put(t, " *%u", n->npar);
	for (unsigned k = 0; !spec && k < n->npar; k++)
		textbuf_put(t, " %lld", (long long)n->extent[k]);
	if (n->nred) {
		textbuf_put(t, " red");
		if (spec)
			textbuf_put(t, " *%u", n->nred);
		for (unsigned k = 0; !spec && k < n->nred; k++)
			textbuf_put(t, " %lld", (long long)n->extent[n->npar + k]);
	}
	textbuf_put(t, " vec %u width %u", n->vec, n->width);
	if (n->way)
		textbuf_put(t, " way %u", n->way);
	textbuf_put(t, "\n");
}

static void put_access(struct textbuf *t, const struct nest *n, unsigned k, bool spec)
{
	const struct nest_access *a = &n->access[k];
	const struct dtype_row *r = dtype_row(a->dtype);
	const char *walk = a->walk <= WALK_STRIDED ? walk_text[a->walk] : "?";

	textbuf_put(t, "@%u s%u %s %s %s%s", k, a->slot,
		    a->gather  ? "gather"
		    : a->write ? "write"
			       : "read",
		    r ? r->name : "?", walk, a->alone ? " alone" : "");
	if (!spec) {
		textbuf_put(t, " +%lld [", (long long)a->offset);
		for (int l = 0; l < n->npar + n->nred; l++)
			textbuf_put(t, "%s%lld", l ? " " : "", (long long)a->stride[l]);
		textbuf_put(t, "]");
		if (a->move)
			textbuf_put(t, " move %lld", (long long)a->move);
		if (a->gather)
			textbuf_put(t, " %lld:%lld", (long long)a->gextent, (long long)a->gstride);
	}
	textbuf_put(t, "\n");
}

static void put_operand(struct textbuf *t, const struct nest *n, enum instr_arg kind, unsigned x,
			bool spec)
{
	switch (kind) {
	case ARG_VALUE:
		textbuf_put(t, " %%%u", x);
		break;
	case ARG_ACCESS:
		textbuf_put(t, " @%u", x);
		break;
	case ARG_SCALAR:
		textbuf_put(t, " #%u", x);
		if (!spec && x < LIMIT_NEST_SCALARS)
			textbuf_put(t, "=imm%u", n->scalar[x]);
		break;
	case ARG_LOOP:
		textbuf_put(t, " loop%u", x);
		break;
	case ARG_CHECK:
		textbuf_put(t, " !%u", x);
		break;
	case ARG_NONE:
	case ARG_OP: /* part of the name */
		break;
	}
}

/* The instruction's name with its types, as far as they are not clear. */
static void put_name(struct textbuf *t, const struct nest_instr *i)
{
	const struct instr_row *row = instr_row(i->op);
	const struct op_row *op = op_row(i->c);
	bool named = row->arg[2] == ARG_OP;

	textbuf_put(t, "%s", row->name ? row->name : "?");
	if (named)
		textbuf_put(t, ".%s", op ? op->numpy : "?");
	if (!named && !instr_computes(i->op)) {
		textbuf_put(t, ".%s", suffix(i->dtype));
		return;
	}
	textbuf_put(t, ".%s", suffix(i->ltype));
	if (named || i->dtype != i->ltype)
		textbuf_put(t, ">%s", suffix(i->dtype));
}

static void put_instr(struct textbuf *t, const struct nest *n, unsigned k, bool spec)
{
	const struct nest_instr *i = &n->instr[k];
	const struct instr_row *row = instr_row(i->op);
	const uint16_t operand[3] = {i->a, i->b, i->c};

	if (row->result != RESULT_NONE || !row->name)
		textbuf_put(t, "%%%u = ", k);
	put_name(t, i);
	for (unsigned j = 0; j < 3; j++)
		put_operand(t, n, (enum instr_arg)row->arg[j], operand[j], spec);
	textbuf_put(t, "\n");
}

/* See nest.h. */
size_t nest_print(char *buf, size_t cap, const struct nest *n, bool spec)
{
	struct textbuf t = {buf, cap, 0};

	if (cap)
		buf[0] = 0;
	put_head(&t, n, spec);
	for (unsigned k = 0; k < n->naccess; k++)
		put_access(&t, n, k, spec);
	for (unsigned s = 0; s < nest_sections(n); s++) {
		if (s && nest_begin(n, s) < nest_end(n, s))
			textbuf_put(&t, nest_everywhere(s) ? "phase\n" : "post\n");
		for (unsigned k = nest_begin(n, s); k < nest_end(n, s); k++)
			put_instr(&t, n, k, spec);
	}
	return t.len;
}

/* ---- For people ---- */

void nest_operations(char *buf, size_t n, const struct nest *nest)
{
	uint8_t seen[OP_END] = {0};
	size_t at = 0;

	*buf = 0;
	for (unsigned i = 0; i < nest->ninstr; i++) {
		const struct nest_instr *in = &nest->instr[i];
		unsigned op = in->op == NI_GATHER ? OP_TAKE : instr_operation(in);

		if (op >= OP_END || seen[op]++)
			continue;
		at += (size_t)snprintf(buf + at, n - at, "%s%s", at ? ", " : "", op_text(op));
		if (at >= n) {
			memcpy(buf + n - 4, "...", 4);
			break;
		}
	}
	if (!at)
		snprintf(buf, n, "copy");
	for (; *buf; buf++) /* what NumPy has no name for has ours, in capitals */
		*buf = (char)tolower((unsigned char)*buf);
}
