/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/flags.h - what the formulas of floating-point errors share: a check in the
 * making, and an operation recorded by each helper.
 *
 * Failure is sticky: once something could not be recorded every helper gives NULL. */
#ifndef BRAZE_FLAGS_H
#define BRAZE_FLAGS_H

#include "array.h"
#include "watch.h"

#define TEMPS	  1024 /* a quotient of complex numbers, checked for underflow, has 400 */
#define F_DIVIDE  0    /* bit numbers of BRAZE_DIVIDE ... */
#define F_OVER	  1
#define F_UNDER	  2
#define F_INVALID 3

enum formula {
	FORMULA_NONE,
	FORMULA_DOMAIN,
	FORMULA_GROWTH,
	FORMULA_SCALE,
	FORMULA_POWER,
	FORMULA_POLE,
	FORMULA_SUM,
	FORMULA_PRODUCT,
	FORMULA_QUOTIENT,
	FORMULA_FLOOR,
	FORMULA_MODULO,
	FORMULA_NEXT,
	FORMULA_ANGLE,
	FORMULA_LOGSUM,
	FORMULA_CAST,
	FORMULA_TOTAL,
	FORMULA_MATMUL
};

typedef struct braze_array array;

struct flags {
	struct braze_session *s;
	const struct recorded *rec;
	enum op op;    /* whose errors are told: rec's, or one it is made of */
	unsigned want; /* classes */
	unsigned type; /* of the loop: operands were cast to it */
	array *r, *a, *b;
	array *bit[WATCH_CLASSES]; /* so far, of the result's shape; NULL: never */
	array *temp[TEMPS];
	unsigned ntemp;
	enum status st;
	struct err *err;
};

/* ---- Helpers: an operation each, its result released at the end ---- */

static inline array *keep(struct flags *f, enum status st, array *x)
{
	f->st = st;
	if (st)
		return NULL;
	if (f->ntemp == TEMPS) {
		array_release(x);
		f->st = err_set(f->err, E_INTERNAL, "a check of too many operations");
		return NULL;
	}
	return f->temp[f->ntemp++] = x;
}

static inline array *apply(struct flags *f, enum op op, int n, const braze_arg *arg)
{
	array *x = NULL;

	if (f->st)
		return NULL;
	enum status st = record_apply(&x, f->s, (int)op, n, arg, f->err);
	return keep(f, st, x);
}

static inline array *op1(struct flags *f, enum op op, array *a)
{
	const braze_arg arg = {.array = a};

	return apply(f, op, 1, &arg);
}

static inline array *op2(struct flags *f, enum op op, array *a, array *b)
{
	const braze_arg arg[2] = {{.array = a}, {.array = b}};

	return apply(f, op, 2, arg);
}

static inline array *opn(struct flags *f, enum op op, array *a, double number)
{
	const braze_arg arg[2] = {{.array = a}, {.scalar = braze_double(number)}};

	return apply(f, op, 2, arg);
}

static inline array *opi(struct flags *f, enum op op, array *a, int64_t number)
{
	const braze_arg arg[2] = {{.array = a}, {.scalar = braze_int(number)}};

	return apply(f, op, 2, arg);
}

static inline array *choose(struct flags *f, array *c, array *a, array *b)
{
	const braze_arg arg[3] = {{.array = c}, {.array = a}, {.array = b}};

	return apply(f, OP_WHERE, 3, arg);
}

static inline array *cast(struct flags *f, array *a, unsigned type)
{
	array *x = NULL;

	if (f->st || a->view.dtype == type)
		return f->st ? NULL : a;
	enum status st = record_cast(&x, a, type, f->err);
	return keep(f, st, x);
}

static inline array *reduce(struct flags *f, enum op op, array *a, unsigned axes, bool keepdims)
{
	array *x = NULL;

	if (f->st)
		return NULL;
	enum status st = record_reduce(&x, (int)op, a, axes, keepdims, -1, f->err);
	return keep(f, st, x);
}

static inline array * and (struct flags * f, array *a, array *b)
{
	return op2(f, OP_LOGICAL_AND, a, b);
}

static inline array *not_nan(struct flags *f, array *a)
{
	return op2(f, OP_EQUAL, a, a);
}

static inline array *is_nan(struct flags *f, array *a)
{
	return op2(f, OP_NOT_EQUAL, a, a);
}

static inline array *is_finite(struct flags *f, array *a)
{
	return op1(f, OP_ISFINITE, a);
}

static inline array *not_finite(struct flags *f, array *a)
{
	return op1(f, OP_LOGICAL_NOT, is_finite(f, a));
}

static inline array *is_zero(struct flags *f, array *a)
{
	return opi(f, OP_EQUAL, a, 0);
}

static inline array *not_zero(struct flags *f, array *a)
{
	return opi(f, OP_NOT_EQUAL, a, 0);
}

static inline bool wants(const struct flags *f, int k)
{
	return f->want >> k & 1;
}

/* The error occurs where x holds as well. */
static inline void found(struct flags *f, int k, array *x)
{
	f->bit[k] = f->bit[k] ? op2(f, OP_LOGICAL_OR, f->bit[k], x) : x;
}

static inline unsigned cls_of(unsigned type)
{
	return dtype_row(type)->cls;
}

static inline bool is_complex(const struct flags *f)
{
	return cls_of(f->type) == CLASS_COMPLEX;
}

static inline unsigned part_type(unsigned type)
{
	return type == DT_COMPLEX64 ? DT_FLOAT32 : type == DT_COMPLEX128 ? DT_FLOAT64 : type;
}

/* The smallest normal number of a float type. */
static inline double smallest(unsigned type)
{
	bool single = type == DT_FLOAT32 || type == DT_BFLOAT16;

	return type == DT_FLOAT16 ? 0x1p-14 : single ? 0x1p-126 : 0x1p-1022;
}

static inline array *is_tiny(struct flags *f, array *a, double limit)
{
	return opn(f, OP_LESS, op1(f, OP_ABSOLUTE, a), limit);
}

/* ---- What formulas share ---- */

/* The result is NaN, no operand is. */
static inline void domain(struct flags *f)
{
	if (!wants(f, F_INVALID))
		return;
	array *x = is_nan(f, f->r);
	x = and(f, x, not_nan(f, f->a));
	found(f, F_INVALID, f->b ? and(f, x, not_nan(f, f->b)) : x);
}

static inline array *operands_finite(struct flags *f)
{
	array *x = is_finite(f, f->a);

	return f->b ? and(f, x, is_finite(f, f->b)) : x;
}

/* Finite operands, an infinite result; of complex numbers also a NaN, in which
 * infinities met. */
static inline void growth(struct flags *f)
{
	if (!wants(f, F_OVER))
		return;
	array *x = is_complex(f) ? not_finite(f, f->r) : op1(f, OP_ISINF, f->r);
	found(f, F_OVER, and(f, x, operands_finite(f)));
}

/* x = op(a, b) in the wider type is exact enough to tell: below the normal numbers of
 * f's type, and not r.  lost: nor is zero exact. */
static inline void narrow_underflow(struct flags *f, enum op op, array *r, bool lost)
{
	unsigned wide = f->type == DT_FLOAT16 ? DT_FLOAT32 : DT_FLOAT64;
	array *a = cast(f, f->a, wide), *b = f->b ? cast(f, f->b, wide) : NULL;
	array *x = b ? op2(f, op, a, b) : op1(f, op, a);
	array *other = op2(f, OP_NOT_EQUAL, cast(f, r, wide), x);

	if (lost)
		other = op2(f, OP_LOGICAL_OR, other, is_zero(f, x));
	found(f, F_UNDER, and(f, is_tiny(f, x, smallest(f->type)), other));
}

/* flags_arith.c: sums, products and quotients, real or complex. */
void flags_sum(struct flags *f);
void flags_product(struct flags *f);
void flags_quotient(struct flags *f);
/* Underflow of r = a / b in f's type. */
void flags_lost_quotient(struct flags *f, array *a, array *b, array *r);

#endif
