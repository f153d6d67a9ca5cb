/* SPDX-License-Identifier: Apache-2.0 */
/* nest/simplify.c - common subexpressions, exact algebra, dead code.
 *
 * Only rewrites that give the same bits for every input, NaN and signed zeros
 * included: double negation, casts that lose nothing and come back, operations
 * that are the identity for their type.  Values of scalars are unknown here, so
 * nothing depends on them. */
#include <stdlib.h>
#include <string.h>

#include "../base/xalloc.h"
#include "wide.h"

/* Does every value of `from` survive a trip through `to`? */
static bool lossless(unsigned from, unsigned to)
{
	const struct dtype_row *f = dtype_row(from), *t = dtype_row(to);

	if (f->cls == CLASS_BOOL)
		return true;
	switch ((enum dtype_class)f->cls) {
	case CLASS_UINT:
		if (t->cls == CLASS_UINT || t->cls == CLASS_INT)
			return t->bytes > f->bytes || (t->cls == f->cls && t->bytes == f->bytes);
		break;
	case CLASS_INT:
		if (t->cls == CLASS_INT)
			return t->bytes >= f->bytes;
		break;
	default: /* two of two bytes lose each other's range or digits */
		return t->cls == f->cls && (t->bytes > f->bytes || from == to);
	}
	return to == DT_FLOAT64 && f->bytes <= 4;
}

static bool is_integer(unsigned d)
{
	return dtype_row(d)->cls == CLASS_INT || dtype_row(d)->cls == CLASS_UINT;
}

/* cast(cast(x)): the inner one can go when it lost nothing and the outer one
 * comes back, or when all three types are integers. */
static void shorten_cast(const struct wide *w, struct nest_instr *i)
{
	const struct nest_instr *x = &w->instr[i->a];

	if (x->op != OP_CAST || !lossless(x->ltype, x->dtype))
		return;
	if (i->dtype == x->ltype ||
	    (is_integer(x->ltype) && is_integer(x->dtype) && is_integer(i->dtype))) {
		i->ltype = x->ltype;
		i->a = x->a;
	}
}

static bool undone(const struct wide *w, const struct nest_instr *i)
{
	const struct nest_instr *x = &w->instr[i->a];

	return x->op == i->op && x->ltype == i->ltype && x->dtype == i->dtype &&
	       i->dtype == i->ltype;
}

/* Does *i give back its operand, whatever the value? */
static bool is_identity(const struct nest_instr *i)
{
	unsigned cls = dtype_row(i->ltype)->cls;

	switch (i->op) {
	case OP_CAST:
		return i->dtype == i->ltype;
	case OP_POSITIVE:
		return true;
	case OP_CONJ:
	case OP_REAL:
		return cls != CLASS_COMPLEX;
	case OP_ABSOLUTE:
		return cls == CLASS_UINT || cls == CLASS_BOOL;
	case OP_FLOOR:
	case OP_CEIL:
	case OP_TRUNC:
		return cls <= CLASS_UINT;
	default:
		return false;
	}
}

/* The earlier value that *i always equals, or UINT16_MAX. */
static uint16_t identity(const struct wide *w, const struct nest_instr *i)
{
	if (is_identity(i))
		return i->a;
	if ((i->op == OP_NEGATIVE || i->op == OP_INVERT) && undone(w, i))
		return w->instr[i->a].a;
	return UINT16_MAX;
}

static bool equal(const struct nest_instr *a, const struct nest_instr *b)
{
	const struct op_row *row = op_row(a->op);

	if (a->op != b->op || a->dtype != b->dtype || a->ltype != b->ltype)
		return false;
	if (a->a == b->a && a->b == b->b && a->c == b->c)
		return true;
	return row && (row->algebra & ALG_COMM) && a->a == b->b && a->b == b->a;
}

/* Loads were shared when appending; stores stay in their order. */
static bool shareable(const struct nest_instr *i)
{
	return !instr_ordered(i->op);
}

static uint16_t find_equal(const struct wide *w, unsigned first, unsigned k)
{
	for (unsigned j = first; j < k; j++)
		if (shareable(&w->instr[j]) && equal(&w->instr[j], &w->instr[k]))
			return (uint16_t)j;
	return (uint16_t)k;
}

static void rewrite(struct wide *w)
{
	uint16_t value[WIDE_INSTRS];

	for (unsigned k = 0; k < w->ninstr; k++) {
		struct nest_instr *i = &w->instr[k];
		uint16_t v = UINT16_MAX;

		value[k] = (uint16_t)k;
		instr_rename(i, value);
		if (!shareable(i))
			continue;
		if (i->op == OP_CAST)
			shorten_cast(w, i);
		if (instr_computes(i->op))
			v = identity(w, i);
		value[k] = v != UINT16_MAX ? v : find_equal(w, wide_first(w, k), k);
	}
}

static void simplify_unit(struct prog_unit *u, struct wide *w, struct nest *n)
{
	/* Sharing a load may expose two equal operations, and so on. */
	for (int round = 0; round < 2; round++) {
		wide_copy(w, u->nest, true);
		rewrite(w);
		if (wide_pack(n, w) != FUSE_OK)
			return;
		*u->nest = *n;
	}
	prog_summarise(u);
}

/* See prog.h. */
enum status simplify_run(struct prog *p, struct err *err)
{
	struct wide *w = xmalloc(sizeof *w);
	struct nest *n = xmalloc(sizeof *n);

	for (uint32_t k = 0; k < p->nunit; k++)
		if (p->unit[k]->nest)
			simplify_unit(p->unit[k], w, n);
	free(w);
	free(n);
	return OK;
}
