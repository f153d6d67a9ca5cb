/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_adds.c - additions to scalars, found by their form. */
#include "lang_adds.h"

#include <stdlib.h>
#include <string.h>

#include "lang_uses.h"

/* ---- Additions to a register ---- */

/* Does the order of r op x op y show in no bit?  Of equal floats, 0.0 and -0.0 among them, the
 * later one wins, and of NaNs the first, wherever the turns are cut. */
static bool is_orderless(unsigned op, unsigned type)
{
	unsigned cls = dtype_row(type)->cls;

	switch (op) {
	case OP_MINIMUM:
	case OP_MAXIMUM:
		return cls == CLASS_INT || cls == CLASS_UINT ||
		       (cls == CLASS_FLOAT && type != DT_FLOAT16);
	case OP_ADD:
	case OP_SUBTRACT:
	case OP_MULTIPLY:
		return cls == CLASS_INT || cls == CLASS_UINT;
	case OP_BITWISE_AND:
	case OP_BITWISE_OR:
	case OP_BITWISE_XOR:
		return cls <= CLASS_UINT;
	default:
		return false;
	}
}

static bool is_ordered(unsigned op, unsigned type)
{
	return (op == OP_ADD || op == OP_SUBTRACT) && (type == DT_FLOAT64 || type == DT_FLOAT32);
}

static bool is_operation(const struct lang_ins *i, uint32_t reg, struct lang_addition *out)
{
	if (i->code != CODE_OP || i->d != reg || i->to != i->type ||
	    (!is_orderless(i->op, i->type) && !is_ordered(i->op, i->type)))
		return false;
	if (op_row(i->op)->arity != 2 || (i->a == reg) == (i->b == reg) ||
	    (i->op == OP_SUBTRACT && i->b == reg))
		return false;
	*out = (struct lang_addition){.op = i->op,
				      .type = i->type,
				      .back = i->b == reg,
				      .ordered = is_ordered(i->op, i->type)};
	return true;
}

static unsigned mirrored(unsigned op)
{
	return op == OP_GREATER		? OP_LESS
	       : op == OP_LESS		? OP_GREATER
	       : op == OP_GREATER_EQUAL ? OP_LESS_EQUAL
	       : op == OP_LESS_EQUAL	? OP_GREATER_EQUAL
					: OP_END;
}

static unsigned count_reads(const struct lang_program *p, uint32_t reg)
{
	unsigned n = 0, type;
	uint32_t r;

	for (uint32_t at = p->entry; at < p->ncode; at++)
		for (unsigned k = 0; lang_uses(&r, &type, &p->code[at], k); k++)
			n += r == reg;
	return n;
}

/* Is it x > r, or one of its kind, of types that have an order? */
static bool compares_with(const struct lang_ins *i, uint32_t reg)
{
	return i->code == CODE_OP && mirrored(i->op) != OP_END && (i->a == reg) != (i->b == reg) &&
	       i->type != DT_FLOAT16 && dtype_row(i->type)->cls != CLASS_COMPLEX;
}

/* The instruction of r = where(x > r, x, r), or of if x > r { r = x }, behind the comparison i;
 * NULL: it is none. */
static const struct lang_ins *chosen(const struct lang_ins *i, uint32_t at, uint32_t x,
				     uint32_t reg)
{
	const struct lang_ins *next = i + 1, *move = i + 2;

	if (next->code == CODE_UNLESS && next->a == i->d && next->d == at + 3)
		return move->code == CODE_MOVE && move->a == x ? move : NULL;
	return next->code == CODE_OP && next->op == OP_WHERE && next->a == i->d && next->b == x &&
			       next->c == reg
		       ? next
		       : NULL;
}

/* As Python has max, from the comparison on. */
static bool chooses(const struct lang_program *p, uint32_t at, uint32_t reg,
		    struct lang_addition *out)
{
	const struct lang_ins *i = &p->code[at], *last;

	if (at + 2 >= p->ncode || !compares_with(i, reg))
		return false;
	last = chosen(i, at, i->a == reg ? i->b : i->a, reg);
	if (!last || last->d != reg || last->type != i->type || count_reads(p, i->d) != 1)
		return false;
	*out = (struct lang_addition){.op = (uint16_t)(i->b == reg ? i->op : mirrored(i->op)),
				      .type = i->type};
	return true;
}

bool lang_addition_to(const struct lang_program *p, uint32_t at, uint32_t reg,
		      struct lang_addition *out)
{
	const struct lang_ins *i = &p->code[at];

	if (is_operation(i, reg, out) || chooses(p, at, reg, out))
		return true;
	if (i->code == CODE_OP && i->op == OP_WHERE && at > p->entry)
		return chooses(p, at - 1, reg, out);
	return i->code == CODE_MOVE && at > p->entry + 1 && chooses(p, at - 2, reg, out);
}

/* ---- Values ---- */

static uint64_t bits_of(unsigned type)
{
	return 8u * dtype_row(type)->bytes;
}

/* The greatest or the least of the type. */
static uint64_t extreme(unsigned type, bool greatest)
{
	bool sign = dtype_row(type)->cls == CLASS_INT;
	uint64_t most = (sign ? (uint64_t)INT64_MAX : UINT64_MAX) >> (64 - bits_of(type));
	double infinity = greatest ? __builtin_inf() : -__builtin_inf();
	float narrow = (float)infinity;
	uint64_t bits = 0;

	if (dtype_row(type)->cls != CLASS_FLOAT)
		return greatest ? most : sign ? ~most : 0;
	memcpy(&bits, type == DT_FLOAT32 ? (void *)&narrow : (void *)&infinity,
	       dtype_row(type)->bytes);
	return bits;
}

uint64_t lang_added_nothing(const struct lang_addition *by)
{
	switch (by->op) {
	case OP_MULTIPLY:
		return 1;
	case OP_BITWISE_AND:
		return by->type == DT_BOOL ? 1 : UINT64_MAX;
	case OP_MINIMUM:
	case OP_LESS:
	case OP_LESS_EQUAL:
		return extreme(by->type, true);
	case OP_MAXIMUM:
	case OP_GREATER:
	case OP_GREATER_EQUAL:
		return extreme(by->type, false);
	default:
		return 0;
	}
}

static uint64_t widened(uint64_t v, unsigned type)
{
	uint64_t drop = 64 - bits_of(type);

	return dtype_row(type)->cls == CLASS_INT ? (uint64_t)((int64_t)(v << drop) >> drop)
						 : v << drop >> drop;
}

static double number(uint64_t v, unsigned type)
{
	double wide;
	float narrow;

	memcpy(&wide, &v, sizeof wide);
	memcpy(&narrow, &v, sizeof narrow);
	return type == DT_FLOAT32 ? (double)narrow : wide;
}

static bool compares(unsigned op, uint64_t a, uint64_t b, unsigned type)
{
	double x = number(a, type), y = number(b, type);
	bool less = a<b, more = a> b, equal = a == b;

	if (dtype_row(type)->cls == CLASS_INT) {
		less = (int64_t)a < (int64_t)b;
		more = (int64_t)a > (int64_t)b;
	} else if (dtype_row(type)->cls == CLASS_FLOAT) {
		less = x < y;
		more = x > y;
		equal = x == y;
	}
	return op == OP_LESS	     ? less
	       : op == OP_GREATER    ? more
	       : op == OP_LESS_EQUAL ? less || equal
				     : more || equal;
}

static bool is_nan(uint64_t v, unsigned type)
{
	return dtype_row(type)->cls == CLASS_FLOAT && number(v, type) != number(v, type);
}

/* As bz_min_ and bz_max_ of kernels/lang.h. */
static uint64_t extreme_of(unsigned op, uint64_t a, uint64_t b, unsigned type)
{
	unsigned rel = op == OP_MINIMUM ? OP_LESS : OP_GREATER;

	return compares(rel, a, b, type) || is_nan(a, type) ? a : b;
}

uint64_t lang_added_together(const struct lang_addition *by, uint64_t a, uint64_t b)
{
	a = widened(a, by->type);
	b = widened(b, by->type);
	switch (by->op) {
	case OP_MULTIPLY:
		return a * b;
	case OP_BITWISE_AND:
		return a & b;
	case OP_BITWISE_OR:
		return a | b;
	case OP_BITWISE_XOR:
		return a ^ b;
	case OP_MINIMUM:
	case OP_MAXIMUM:
		return by->back ? extreme_of(by->op, b, a, by->type)
				: extreme_of(by->op, a, b, by->type);
	case OP_ADD:
	case OP_SUBTRACT: /* what is subtracted was subtracted from 0 */
		return a + b;
	default:
		return compares(by->op, b, a, by->type) ? b : a;
	}
}

uint64_t lang_added_in_order(const struct lang_addition *by, uint64_t a, const char *values,
			     uint64_t n)
{
	bool single = by->type == DT_FLOAT32, minus = by->op == OP_SUBTRACT;
	double sum, v;
	float narrow, w;

	memcpy(&sum, &a, sizeof sum);
	memcpy(&narrow, &a, sizeof narrow);
	for (uint64_t k = 0; single && k < n; k++) {
		memcpy(&w, values + k * sizeof w, sizeof w);
		narrow = minus ? narrow - w : narrow + w;
	}
	for (uint64_t k = 0; !single && k < n; k++) {
		memcpy(&v, values + k * sizeof v, sizeof v);
		sum = minus ? sum - v : sum + v;
	}
	if (single)
		memcpy(&a, &narrow, sizeof narrow);
	else
		memcpy(&a, &sum, sizeof sum);
	return a;
}
