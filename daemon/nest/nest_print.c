/* SPDX-License-Identifier: Apache-2.0 */
/* nest/nest_print.c - a nest as text.
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
 * A canonical kernel has no extents, offsets, strides and scalar sources. */
#include "nest.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "../base/textbuf.h"

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
	textbuf_put(t, " vec %u width %u\n", n->vec, n->width);
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
		if (a->gather)
			textbuf_put(t, " %lld:%lld", (long long)a->gextent, (long long)a->gstride);
	}
	textbuf_put(t, "\n");
}

static void put_compute(struct textbuf *t, const struct nest_instr *i)
{
	const struct op_row *row = op_row(i->op);
	unsigned arity = row ? row->arity : 0;

	textbuf_put(t, "%s.%s", row ? row->stem : "?", suffix(i->ltype));
	if (i->dtype != i->ltype)
		textbuf_put(t, ">%s", suffix(i->dtype));
	if (arity > 0)
		textbuf_put(t, " %%%u", i->a);
	if (arity > 1)
		textbuf_put(t, " %%%u", i->b);
	if (arity > 2)
		textbuf_put(t, " %%%u", i->c);
	if (i->op == OP_INDEX)
		textbuf_put(t, " !%u", i->c);
	textbuf_put(t, "\n");
}

static void put_instr(struct textbuf *t, const struct nest *n, unsigned k, bool spec)
{
	const struct nest_instr *i = &n->instr[k];

	if (i->op == NI_STORE) {
		textbuf_put(t, "store.%s @%u %%%u\n", suffix(i->dtype), i->a, i->b);
		return;
	}
	textbuf_put(t, "%%%u = ", k);
	switch (i->op) {
	case NI_LOAD:
		textbuf_put(t, "load.%s @%u\n", suffix(i->dtype), i->a);
		break;
	case NI_GATHER:
		textbuf_put(t, "gather.%s @%u %%%u\n", suffix(i->dtype), i->a, i->b);
		break;
	case NI_SCALAR:
		textbuf_put(t, "scalar.%s #%u", suffix(i->dtype), i->a);
		if (!spec && i->a < LIMIT_NEST_SCALARS)
			textbuf_put(t, "=imm%u", n->scalar[i->a]);
		textbuf_put(t, "\n");
		break;
	case NI_INDEX:
		textbuf_put(t, "index.%s loop%u\n", suffix(i->dtype), i->a);
		break;
	case NI_REDUCE:
		textbuf_put(t, "reduce.%s.%s>%s %%%u\n", op_row(i->c) ? op_row(i->c)->numpy : "?",
			    suffix(i->ltype), suffix(i->dtype), i->a);
		break;
	default:
		put_compute(t, i);
	}
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
	for (unsigned k = 0; k < n->ninstr; k++) {
		if (k == n->post)
			textbuf_put(&t, "post\n");
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
		unsigned op = in->op == NI_REDUCE ? in->c : in->op == NI_GATHER ? OP_TAKE : in->op;

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
