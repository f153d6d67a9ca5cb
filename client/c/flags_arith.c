/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/flags_arith.c - errors of sums, products and quotients, exactly: underflow is
 * a tiny result that is not exact, and a complex operation's errors are those of the real
 * ones that NumPy makes of it. */
#include "flags.h"

/* ---- Underflow: tiny, and not the exact result ---- */

/* x = high + low, each of half the digits (Veltkamp). */
static void split(struct flags *f, array *x, array **high, array **low)
{
	array *c = opn(f, OP_MULTIPLY, x, 0x1p27 + 1);

	*high = op2(f, OP_SUBTRACT, c, op2(f, OP_SUBTRACT, c, x));
	*low = op2(f, OP_SUBTRACT, x, *high);
}

/* Is p, the rounded x * y, not the product?  (Dekker; float64, of a middling size.) */
static array *inexact(struct flags *f, array *x, array *y, array *p)
{
	array *xh, *xl, *yh, *yl, *e;

	split(f, x, &xh, &xl);
	split(f, y, &yh, &yl);
	e = op2(f, OP_SUBTRACT, op2(f, OP_MULTIPLY, xh, yh), p);
	e = op2(f, OP_ADD, e, op2(f, OP_MULTIPLY, xh, yl));
	e = op2(f, OP_ADD, e, op2(f, OP_MULTIPLY, xl, yh));
	e = op2(f, OP_ADD, e, op2(f, OP_MULTIPLY, xl, yl));
	return not_zero(f, e);
}

/* Of a product of float64: the same, 2^600 times larger.  A tiny one has a factor below
 * 1, which takes that without overflow, and no factor above 2^52. */
static void product_underflow(struct flags *f, array *a, array *b, array *r)
{
	array *small = is_tiny(f, a, 1);
	array *x = choose(f, small, opn(f, OP_MULTIPLY, a, 0x1p600), a);
	array *y = choose(f, small, b, opn(f, OP_MULTIPLY, b, 0x1p600));
	array *p = op2(f, OP_MULTIPLY, x, y);
	array *other = op2(f, OP_NOT_EQUAL, opn(f, OP_MULTIPLY, r, 0x1p600), p);

	other = op2(f, OP_LOGICAL_OR, other, inexact(f, x, y, p));
	/* Too small even so: zero, though no factor is. */
	other = op2(f, OP_LOGICAL_OR, other, is_zero(f, r));
	other = and(f, other, and(f, not_zero(f, a), not_zero(f, b)));
	found(f, F_UNDER, and(f, is_tiny(f, p, 0x1p-422), other));
}

/* Of a quotient r = a / b of float64: is r * b exactly a?  In numbers 2^600 larger. */
static void quotient_underflow(struct flags *f, array *a, array *b, array *r)
{
	array *large = opn(f, OP_GREATER, op1(f, OP_ABSOLUTE, b), 1);
	array *x = opn(f, OP_MULTIPLY, r, 0x1p600);
	array *y = choose(f, large, opn(f, OP_MULTIPLY, b, 0x1p-200), b);
	array *to =
		choose(f, large, opn(f, OP_MULTIPLY, a, 0x1p400), opn(f, OP_MULTIPLY, a, 0x1p600));
	array *p = op2(f, OP_MULTIPLY, x, y);
	array *other = op2(f, OP_LOGICAL_OR, op2(f, OP_NOT_EQUAL, p, to), inexact(f, x, y, p));

	other = and(f, other, and(f, not_zero(f, a), is_finite(f, b)));
	found(f, F_UNDER, and(f, is_tiny(f, r, smallest(DT_FLOAT64)), other));
}

/* A 0-d array of the loop's type, or its part's. */
static array *number(struct flags *f, double value)
{
	const braze_scalar v = braze_double(value);
	array *x = NULL;

	if (f->st)
		return NULL;
	enum status st = record_number(&x, f->s, (int)part_type(f->type), &v, f->err);
	return keep(f, st, x);
}

/* Real sums, differences, products and quotients. */
static void sum(struct flags *f)
{
	domain(f);
	growth(f);
}

static void product(struct flags *f)
{
	sum(f);
	if (!wants(f, F_UNDER))
		return;
	if (f->type == DT_FLOAT64)
		product_underflow(f, f->a, f->b ? f->b : f->a, f->r);
	else
		narrow_underflow(f, f->op, f->r, false);
}

static void quotient(struct flags *f)
{
	bool inverse = f->op == OP_RECIPROCAL;
	array *by = inverse ? f->a : f->b;

	domain(f);
	if (wants(f, F_OVER))
		found(f, F_OVER,
		      and(f, op1(f, OP_ISINF, f->r), and(f, operands_finite(f), not_zero(f, by))));
	if (wants(f, F_DIVIDE) && inverse)
		found(f, F_DIVIDE, is_zero(f, by));
	else if (wants(f, F_DIVIDE))
		found(f, F_DIVIDE,
		      and(f, is_zero(f, by), and(f, not_zero(f, f->a), is_finite(f, f->a))));
	if (!wants(f, F_UNDER))
		return;
	if (f->type != DT_FLOAT64)
		narrow_underflow(f, f->op, f->r, false);
	else
		quotient_underflow(f, inverse ? number(f, 1) : f->a, by, f->r);
}

/* ---- Complex arithmetic: each real operation that NumPy makes of it ---- */

/* The result of op on parts; its errors are the complex operation's. */
static array *part(struct flags *f, enum op op, array *a, array *b)
{
	const struct {
		enum op op;
		unsigned type;
		array *r, *a, *b;
	} whole = {f->op, f->type, f->r, f->a, f->b};
	array *r = op2(f, op, a, b);

	f->op = op;
	f->type = part_type(whole.type);
	f->a = a;
	f->b = b;
	f->r = r;
	if (op == OP_MULTIPLY)
		product(f);
	else if (op == OP_DIVIDE)
		quotient(f);
	else
		sum(f);
	f->op = whole.op;
	f->type = whole.type;
	f->a = whole.a;
	f->b = whole.b;
	f->r = whole.r;
	return r;
}

static void complex_sum(struct flags *f)
{
	part(f, f->op, op1(f, OP_REAL, f->a), op1(f, OP_REAL, f->b));
	part(f, f->op, op1(f, OP_IMAG, f->a), op1(f, OP_IMAG, f->b));
}

static void complex_product(struct flags *f)
{
	array *by = f->b ? f->b : f->a;
	array *ar = op1(f, OP_REAL, f->a), *ai = op1(f, OP_IMAG, f->a);
	array *br = op1(f, OP_REAL, by), *bi = op1(f, OP_IMAG, by);

	part(f, OP_SUBTRACT, part(f, OP_MULTIPLY, ar, br), part(f, OP_MULTIPLY, ai, bi));
	part(f, OP_ADD, part(f, OP_MULTIPLY, ar, bi), part(f, OP_MULTIPLY, ai, br));
}

/* By Smith's method, for which the divisor's larger part p counts; a divisor of zero
 * divides the parts. */
static void complex_quotient(struct flags *f)
{
	array *ar = op1(f, OP_REAL, f->a), *ai = op1(f, OP_IMAG, f->a);
	array *br = op1(f, OP_REAL, f->b), *bi = op1(f, OP_IMAG, f->b);
	array *size = op1(f, OP_ABSOLUTE, br);
	array *wide = op2(f, OP_GREATER_EQUAL, size, op1(f, OP_ABSOLUTE, bi));
	array *zero = and(f, is_zero(f, br), is_zero(f, bi));
	array *one = number(f, 1), *none = number(f, 0);

	/* Which part is the larger one is asked of NaNs, too. */
	if (wants(f, F_INVALID))
		found(f, F_INVALID, is_nan(f, f->b));
	part(f, OP_DIVIDE, choose(f, zero, ar, none), choose(f, zero, size, one));
	part(f, OP_DIVIDE, choose(f, zero, ai, none), choose(f, zero, size, one));
	array *p = choose(f, zero, one, choose(f, wide, br, bi));
	array *q = choose(f, zero, none, choose(f, wide, bi, br));
	array *x = choose(f, zero, none, choose(f, wide, ar, ai));
	array *y = choose(f, zero, none, choose(f, wide, ai, ar));
	array *ratio = part(f, OP_DIVIDE, q, p);
	array *scale = part(f, OP_ADD, p, part(f, OP_MULTIPLY, q, ratio));
	scale = part(f, OP_DIVIDE, one, scale);
	part(f, OP_MULTIPLY, part(f, OP_ADD, x, part(f, OP_MULTIPLY, y, ratio)), scale);
	part(f, OP_MULTIPLY, part(f, OP_SUBTRACT, y, part(f, OP_MULTIPLY, x, ratio)), scale);
}

static void complex_inverse(struct flags *f)
{
	array *ar = op1(f, OP_REAL, f->a), *ai = op1(f, OP_IMAG, f->a);
	array *wide = op2(f, OP_LESS_EQUAL, op1(f, OP_ABSOLUTE, ai), op1(f, OP_ABSOLUTE, ar));
	array *p = choose(f, wide, ar, ai), *q = choose(f, wide, ai, ar);
	array *ratio = part(f, OP_DIVIDE, q, p);
	array *by = part(f, OP_ADD, p, part(f, OP_MULTIPLY, q, ratio));

	if (wants(f, F_INVALID))
		found(f, F_INVALID, is_nan(f, f->a));
	part(f, OP_DIVIDE, number(f, 1), by);
	part(f, OP_DIVIDE, ratio, by);
}

/* ---- Either ---- */

void flags_sum(struct flags *f)
{
	if (is_complex(f))
		complex_sum(f);
	else
		sum(f);
}

void flags_product(struct flags *f)
{
	if (is_complex(f))
		complex_product(f);
	else
		product(f);
}

void flags_quotient(struct flags *f)
{
	if (!is_complex(f))
		quotient(f);
	else if (f->op == OP_DIVIDE)
		complex_quotient(f);
	else
		complex_inverse(f);
}

void flags_lost_quotient(struct flags *f, array *a, array *b, array *r)
{
	if (f->type == DT_FLOAT64)
		quotient_underflow(f, a, b, r);
	else
		narrow_underflow(f, OP_DIVIDE, r, false);
}
