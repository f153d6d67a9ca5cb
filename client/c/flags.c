/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/flags.c - record what tells an operation's floating-point errors.
 *
 * In:  an operation and its result.  Out: for each class a bool, any element of which
 * met the error; made of ordinary operations on operands and result, so that they fuse
 * with it on any device.  flags.def says which formula an operation has.
 *
 * Failure is sticky: once something could not be recorded every helper gives NULL. */
#include "array.h"
#include "watch.h"

#define TEMPS	 96
#define F_DIVIDE 0 /* bit numbers of BRAZE_DIVIDE ... */
#define F_OVER	 1
#define F_UNDER	 2
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

static const uint8_t formulas[OP_END] = {
#define FLAGS(op, formula) [OP_##op] = FORMULA_##formula,
#include "flags.def"
#undef FLAGS
};

typedef struct braze_array array;

struct flags {
	struct braze_session *s;
	const struct recorded *rec;
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

static array *keep(struct flags *f, enum status st, array *x)
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

static array *apply(struct flags *f, enum op op, int n, const braze_arg *arg)
{
	array *x = NULL;

	if (f->st)
		return NULL;
	enum status st = record_apply(&x, f->s, (int)op, n, arg, f->err);
	return keep(f, st, x);
}

static array *op1(struct flags *f, enum op op, array *a)
{
	const braze_arg arg = {.array = a};

	return apply(f, op, 1, &arg);
}

static array *op2(struct flags *f, enum op op, array *a, array *b)
{
	const braze_arg arg[2] = {{.array = a}, {.array = b}};

	return apply(f, op, 2, arg);
}

static array *opn(struct flags *f, enum op op, array *a, double number)
{
	const braze_arg arg[2] = {{.array = a}, {.scalar = braze_double(number)}};

	return apply(f, op, 2, arg);
}

static array *opi(struct flags *f, enum op op, array *a, int64_t number)
{
	const braze_arg arg[2] = {{.array = a}, {.scalar = braze_int(number)}};

	return apply(f, op, 2, arg);
}

static array *choose(struct flags *f, array *c, array *a, array *b)
{
	const braze_arg arg[3] = {{.array = c}, {.array = a}, {.array = b}};

	return apply(f, OP_WHERE, 3, arg);
}

static array *cast(struct flags *f, array *a, unsigned type)
{
	array *x = NULL;

	if (f->st || a->view.dtype == type)
		return f->st ? NULL : a;
	enum status st = record_cast(&x, a, type, f->err);
	return keep(f, st, x);
}

static array *reduce(struct flags *f, enum op op, array *a, unsigned axes, bool keepdims)
{
	array *x = NULL;

	if (f->st)
		return NULL;
	enum status st = record_reduce(&x, (int)op, a, axes, keepdims, -1, f->err);
	return keep(f, st, x);
}

static array *and(struct flags *f, array *a, array *b)
{
	return op2(f, OP_LOGICAL_AND, a, b);
}

static array *not_nan(struct flags *f, array *a)
{
	return op2(f, OP_EQUAL, a, a);
}

static array *is_nan(struct flags *f, array *a)
{
	return op2(f, OP_NOT_EQUAL, a, a);
}

static array *is_finite(struct flags *f, array *a)
{
	return op1(f, OP_ISFINITE, a);
}

static array *not_finite(struct flags *f, array *a)
{
	return op1(f, OP_LOGICAL_NOT, is_finite(f, a));
}

static array *is_zero(struct flags *f, array *a)
{
	return opi(f, OP_EQUAL, a, 0);
}

static array *not_zero(struct flags *f, array *a)
{
	return opi(f, OP_NOT_EQUAL, a, 0);
}

static bool wants(const struct flags *f, int k)
{
	return f->want >> k & 1;
}

/* The error occurs where x holds as well. */
static void found(struct flags *f, int k, array *x)
{
	f->bit[k] = f->bit[k] ? op2(f, OP_LOGICAL_OR, f->bit[k], x) : x;
}

static unsigned cls_of(unsigned type)
{
	return dtype_row(type)->cls;
}

static bool is_complex(const struct flags *f)
{
	return cls_of(f->type) == CLASS_COMPLEX;
}

/* The smallest normal number of a float type. */
static double smallest(unsigned type)
{
	return type == DT_FLOAT16 ? 0x1p-14 : type == DT_FLOAT32 ? 0x1p-126 : 0x1p-1022;
}

static array *is_tiny(struct flags *f, array *a, double limit)
{
	return opn(f, OP_LESS, op1(f, OP_ABSOLUTE, a), limit);
}

/* ---- What formulas share ---- */

/* The result is NaN, no operand is. */
static void domain(struct flags *f)
{
	if (!wants(f, F_INVALID))
		return;
	array *x = and(f, is_nan(f, f->r), not_nan(f, f->a));
	found(f, F_INVALID, f->b ? and(f, x, not_nan(f, f->b)) : x);
}

static array *operands_finite(struct flags *f)
{
	array *x = is_finite(f, f->a);

	return f->b ? and(f, x, is_finite(f, f->b)) : x;
}

/* Finite operands, an infinite result; of complex numbers also a NaN, in which
 * infinities met. */
static void growth(struct flags *f)
{
	if (wants(f, F_OVER))
		found(f, F_OVER, and(f, not_finite(f, f->r), operands_finite(f)));
}

/* ---- Underflow: tiny, and not the exact result ---- */

/* x = op(a, b) in the wider type `wide` is exact enough to tell: below the normal
 * numbers of f's type, and not what was stored.  lost: nor is zero exact. */
static void narrow_underflow(struct flags *f, bool lost)
{
	unsigned wide = f->type == DT_FLOAT16 ? DT_FLOAT32 : DT_FLOAT64;
	array *a = cast(f, f->a, wide), *b = f->b ? cast(f, f->b, wide) : NULL;
	array *x = b ? op2(f, f->rec->op, a, b) : op1(f, f->rec->op, a);
	array *other = op2(f, OP_NOT_EQUAL, cast(f, f->r, wide), x);

	if (lost)
		other = op2(f, OP_LOGICAL_OR, other, is_zero(f, x));
	found(f, F_UNDER, and(f, is_tiny(f, x, smallest(f->type)), other));
}

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
	array *gone = and(f, is_zero(f, r), and(f, not_zero(f, a), not_zero(f, b)));
	other = op2(f, OP_LOGICAL_OR, other, gone);
	found(f, F_UNDER, and(f, is_tiny(f, p, 0x1p-422), other));
}

/* Of a quotient r = a / b of float64: is r * b exactly a?  In numbers 2^600 larger. */
static void quotient_underflow(struct flags *f, array *a, array *b, array *r)
{
	array *large = opn(f, OP_GREATER, op1(f, OP_ABSOLUTE, b), 1);
	array *x = opn(f, OP_MULTIPLY, r, 0x1p600);
	array *y = choose(f, large, opn(f, OP_MULTIPLY, b, 0x1p-200), b);
	array *to = choose(f, large, opn(f, OP_MULTIPLY, a, 0x1p400),
			   opn(f, OP_MULTIPLY, a, 0x1p600));
	array *p = op2(f, OP_MULTIPLY, x, y);
	array *other = op2(f, OP_LOGICAL_OR, op2(f, OP_NOT_EQUAL, p, to), inexact(f, x, y, p));

	other = and(f, other, and(f, not_zero(f, a), is_finite(f, b)));
	found(f, F_UNDER, and(f, is_tiny(f, r, smallest(DT_FLOAT64)), other));
}

/* A 0-d array of the loop's type. */
static array *number(struct flags *f, double value)
{
	const braze_scalar v = braze_double(value);
	array *x = NULL;

	if (f->st)
		return NULL;
	enum status st = record_number(&x, f->s, (int)f->type, &v, f->err);
	return keep(f, st, x);
}

/* ---- Formulas ---- */

static void scale(struct flags *f)
{
	domain(f);
	growth(f);
	if (!wants(f, F_UNDER) || is_complex(f))
		return;
	if (f->type == DT_FLOAT16) {
		narrow_underflow(f, true);
		f->bit[F_UNDER] = and(f, f->bit[F_UNDER], is_finite(f, f->a));
	} else {
		found(f, F_UNDER, and(f, is_tiny(f, f->r, smallest(f->type)), is_finite(f, f->a)));
	}
}

static void power(struct flags *f)
{
	domain(f);
	growth(f);
	/* Zero to a negative power is a pole; of complex numbers it is NaN. */
	if (wants(f, F_OVER))
		f->bit[F_OVER] = and(f, f->bit[F_OVER], not_zero(f, f->a));
	if (is_complex(f))
		return;
	if (wants(f, F_DIVIDE))
		found(f, F_DIVIDE, and(f, is_zero(f, f->a), opi(f, OP_LESS, f->b, 0)));
	if (!wants(f, F_UNDER))
		return;
	if (f->type == DT_FLOAT16)
		narrow_underflow(f, true);
	else
		found(f, F_UNDER, is_tiny(f, f->r, smallest(f->type)));
	f->bit[F_UNDER] = and(f, f->bit[F_UNDER], and(f, not_zero(f, f->a), operands_finite(f)));
}

static void pole(struct flags *f)
{
	domain(f);
	if (wants(f, F_DIVIDE))
		found(f, F_DIVIDE, and(f, op1(f, OP_ISINF, f->r), is_finite(f, f->a)));
}

static void sum(struct flags *f)
{
	domain(f);
	growth(f);
}

static void complex_product_underflow(struct flags *f)
{
	array *part[2][2];

	for (int k = 0; k < 2; k++) {
		array *x = k ? f->b : f->a;
		part[k][0] = op1(f, OP_REAL, x);
		part[k][1] = op1(f, OP_IMAG, x);
	}
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 2; k++) {
			array *a = part[0][i], *b = part[1][k], *r = op2(f, OP_MULTIPLY, a, b);
			/* float32's are exact in float64. */
			if (f->type == DT_COMPLEX64) {
				array *x = op2(f, OP_MULTIPLY, cast(f, a, DT_FLOAT64),
					       cast(f, b, DT_FLOAT64));
				found(f, F_UNDER,
				      and(f, is_tiny(f, x, 0x1p-126),
					  op2(f, OP_NOT_EQUAL, cast(f, r, DT_FLOAT64), x)));
			} else {
				product_underflow(f, a, b, r);
			}
		}
}

static void product(struct flags *f)
{
	bool square = !f->b;

	domain(f);
	growth(f);
	if (!wants(f, F_UNDER))
		return;
	if (square)
		f->b = f->a;
	if (is_complex(f)) {
		complex_product_underflow(f);
	} else if (f->type == DT_FLOAT64) {
		product_underflow(f, f->a, f->b, f->r);
	} else {
		f->b = square ? NULL : f->b;
		narrow_underflow(f, false);
	}
}

static void quotient(struct flags *f)
{
	bool inverse = f->rec->op == OP_RECIPROCAL;
	array *by = inverse ? f->a : f->b;

	domain(f);
	growth(f);
	if (wants(f, F_OVER))
		f->bit[F_OVER] = and(f, f->bit[F_OVER], not_zero(f, by));
	/* The inverse of complex zero is NaN, as NumPy computes it. */
	if (wants(f, F_DIVIDE) && inverse && !is_complex(f))
		found(f, F_DIVIDE, is_zero(f, by));
	if (wants(f, F_DIVIDE) && !inverse)
		found(f, F_DIVIDE,
		      and(f, is_zero(f, by), and(f, not_zero(f, f->a), is_finite(f, f->a))));
	if (!wants(f, F_UNDER) || is_complex(f))
		return;
	if (f->type != DT_FLOAT64)
		narrow_underflow(f, false);
	else
		quotient_underflow(f, inverse ? number(f, 1) : f->a, by, f->r);
}

static void floor_quotient(struct flags *f)
{
	array *over;

	domain(f);
	if (wants(f, F_DIVIDE))
		found(f, F_DIVIDE,
		      and(f, is_zero(f, f->b), and(f, not_zero(f, f->a), is_finite(f, f->a))));
	if (!wants(f, F_OVER) && !wants(f, F_INVALID))
		return;
	over = and(f, op1(f, OP_ISINF, f->r), and(f, is_finite(f, f->a), not_zero(f, f->b)));
	if (wants(f, F_OVER))
		found(f, F_OVER, over);
	/* What NumPy rounds is the infinity less itself, except in float16. */
	if (wants(f, F_INVALID) && f->type != DT_FLOAT16)
		found(f, F_INVALID, over);
}

static void next(struct flags *f)
{
	growth(f);
	if (wants(f, F_UNDER) && f->type != DT_FLOAT16)
		found(f, F_UNDER,
		      and(f, is_tiny(f, f->r, smallest(f->type)),
			  op2(f, OP_NOT_EQUAL, f->r, f->a)));
}

static void angle(struct flags *f)
{
	if (!wants(f, F_UNDER))
		return;
	if (f->type == DT_FLOAT16)
		narrow_underflow(f, false);
	else
		found(f, F_UNDER, is_tiny(f, f->r, smallest(f->type)));
	f->bit[F_UNDER] = and(f, f->bit[F_UNDER], and(f, not_zero(f, f->a), operands_finite(f)));
}

/* log(exp(a) + exp(b)) is the larger one and log1p(exp(-|a - b|)), where exp may underflow. */
static void log_sum(struct flags *f)
{
	array *apart;

	if (!wants(f, F_UNDER))
		return;
	apart = op1(f, OP_ABSOLUTE, op2(f, OP_SUBTRACT, f->a, f->b));
	apart = opn(f, OP_GREATER, apart, f->type == DT_FLOAT64 ? 708.3964185322641 : 87.33654);
	found(f, F_UNDER, and(f, apart, operands_finite(f)));
}

/* Integers: only division by zero, and the quotient that has no representation. */
static void integers(struct flags *f, enum formula formula)
{
	array *by = f->b ? f->b : f->a;
	unsigned bits = 8u * dtype_row(f->type)->bytes;

	if (formula != FORMULA_FLOOR && formula != FORMULA_MODULO && f->rec->op != OP_RECIPROCAL)
		return;
	if (wants(f, F_DIVIDE))
		found(f, F_DIVIDE, is_zero(f, by));
	/* NumPy casts the infinity back. */
	if (wants(f, F_INVALID) && f->rec->op == OP_RECIPROCAL)
		found(f, F_INVALID, is_zero(f, by));
	if (wants(f, F_OVER) && formula == FORMULA_FLOOR && cls_of(f->type) == CLASS_INT)
		found(f, F_OVER,
		      and(f, opi(f, OP_EQUAL, f->a, (int64_t)(-((__int128)1 << (bits - 1)))),
			  opi(f, OP_EQUAL, f->b, -1)));
}

/* To an integer: NaN, and what the processor's instruction cannot hold; that for the
 * narrow types is int32's, for uint32 int64's. */
static void to_integer(struct flags *f, array *a, unsigned to)
{
	bool wide = dtype_row(to)->bytes == 8 || to == DT_UINT32;
	array *x, *fits;

	if (!wants(f, F_INVALID))
		return;
	x = cast(f, a, DT_FLOAT64);
	fits = and(f, wide ? opn(f, OP_GREATER_EQUAL, x, -0x1p63) : opn(f, OP_GREATER, x, -0x1p31 - 1),
		   opn(f, OP_LESS, x, to == DT_UINT64 ? 0x1p64 : wide ? 0x1p63 : 0x1p31));
	found(f, F_INVALID, op1(f, OP_LOGICAL_NOT, fits));
}

/* To a float of fewer digits or a smaller range. */
static void to_float(struct flags *f, array *a, array *r)
{
	unsigned from = a->view.dtype, to = r->view.dtype;

	if (wants(f, F_OVER))
		found(f, F_OVER, and(f, op1(f, OP_ISINF, r), is_finite(f, a)));
	if (wants(f, F_UNDER) && cls_of(from) == CLASS_FLOAT)
		found(f, F_UNDER,
		      and(f, is_tiny(f, a, smallest(to)),
			  op2(f, OP_NOT_EQUAL, cast(f, r, from), a)));
}

static unsigned part_type(unsigned type)
{
	return type == DT_COMPLEX64 ? DT_FLOAT32 : type == DT_COMPLEX128 ? DT_FLOAT64 : type;
}

static void cast_formula(struct flags *f)
{
	unsigned from = f->a->view.dtype, to = f->r->view.dtype;
	bool parts = cls_of(from) == CLASS_COMPLEX;

	if (to == DT_BOOL || from == DT_BOOL || from == to)
		return;
	if (cls_of(to) < CLASS_FLOAT) {
		if (cls_of(from) >= CLASS_FLOAT)
			to_integer(f, parts ? op1(f, OP_REAL, f->a) : f->a, to);
		return;
	}
	/* Does the type hold every finite number of the other one? */
	if (cls_of(from) < CLASS_FLOAT ? to != DT_FLOAT16
				       : dtype_row(part_type(to))->bytes >=
						 dtype_row(part_type(from))->bytes)
		return;
	for (int k = 0; k < 1 + (parts && cls_of(to) == CLASS_COMPLEX); k++) {
		enum op part = k ? OP_IMAG : OP_REAL;
		array *a = parts ? op1(f, part, f->a) : f->a;
		array *r = cls_of(to) == CLASS_COMPLEX ? op1(f, part, f->r) : f->r;
		if (f->st)
			return;
		to_float(f, a, r);
	}
}

/* A sum or product over axes: what came out against what went in. */
static void total(struct flags *f)
{
	const struct recorded *r = f->rec;

	if (wants(f, F_INVALID)) {
		array *nan = reduce(f, OP_ANY, is_nan(f, f->a), r->axes, r->keepdims);
		found(f, F_INVALID, and(f, is_nan(f, f->r), op1(f, OP_LOGICAL_NOT, nan)));
	}
	if (wants(f, F_OVER))
		found(f, F_OVER,
		      and(f, not_finite(f, f->r),
			  reduce(f, OP_ALL, is_finite(f, f->a), r->axes, r->keepdims)));
	if (wants(f, F_UNDER) && r->op == OP_PROD && !is_complex(f))
		found(f, F_UNDER,
		      and(f, is_zero(f, f->r),
			  reduce(f, OP_ALL, not_zero(f, f->a), r->axes, r->keepdims)));
}

/* What holds for each row of a, or column of b, of a product, shaped like the result. */
static array *lines(struct flags *f, enum op op, array *x, bool right)
{
	unsigned ndim = x->view.shape.ndim;
	bool both = f->a->view.shape.ndim > 1 && f->b->view.shape.ndim > 1;

	if (f->st)
		return NULL;
	return reduce(f, op, x, 1u << (right && ndim > 1 ? ndim - 2 : ndim - 1), both);
}

static void matmul(struct flags *f)
{
	if (wants(f, F_INVALID)) {
		array *a = lines(f, OP_ALL, not_nan(f, f->a), false);
		array *b = lines(f, OP_ALL, not_nan(f, f->b), true);
		found(f, F_INVALID, and(f, is_nan(f, f->r), and(f, a, b)));
	}
	if (wants(f, F_OVER)) {
		array *a = lines(f, OP_ALL, is_finite(f, f->a), false);
		array *b = lines(f, OP_ALL, is_finite(f, f->b), true);
		found(f, F_OVER, and(f, not_finite(f, f->r), and(f, a, b)));
	}
}

static void run(struct flags *f, enum formula formula)
{
	switch (formula) {
	case FORMULA_DOMAIN:
		domain(f);
		break;
	case FORMULA_GROWTH:
	case FORMULA_SUM:
		sum(f);
		break;
	case FORMULA_SCALE:
		scale(f);
		break;
	case FORMULA_POWER:
		power(f);
		break;
	case FORMULA_POLE:
		pole(f);
		break;
	case FORMULA_PRODUCT:
		product(f);
		break;
	case FORMULA_QUOTIENT:
		quotient(f);
		break;
	case FORMULA_FLOOR:
		floor_quotient(f);
		break;
	case FORMULA_MODULO:
		domain(f);
		break;
	case FORMULA_NEXT:
		next(f);
		break;
	case FORMULA_ANGLE:
		angle(f);
		break;
	case FORMULA_LOGSUM:
		log_sum(f);
		break;
	case FORMULA_TOTAL:
		total(f);
		break;
	case FORMULA_MATMUL:
		matmul(f);
		break;
	default:
		break;
	}
}

/* ---- An operation's operands, and all of its elements ---- */

/* Operands as arrays of the loop's type; numbers become arrays of one element. */
static void operands(struct flags *f)
{
	const struct recorded *r = f->rec;
	struct op_arg arg[3];
	struct op_sig sig;
	array *x[2] = {NULL, NULL};

	for (unsigned k = 0; k < r->n; k++) {
		const braze_arg *a = &r->arg[k];
		arg[k] = (struct op_arg){a->array ? a->array->view.dtype : (uint8_t)a->scalar.dtype,
					 !a->array && a->scalar.weak};
	}
	f->st = op_infer(&sig, r->op, arg,
			 r->op == OP_CAST || op_row(r->op)->kind == KIND_RED ? f->r->view.dtype
									     : DTYPE_NONE,
			 f->err);
	if (f->st)
		return;
	f->type = r->op == OP_CAST ? arg[0].dtype : sig.in[0];
	for (unsigned k = 0; k < r->n && k < 2 && !f->st; k++) {
		const braze_arg *a = &r->arg[k];
		if (a->array) {
			x[k] = cast(f, a->array, f->type);
			continue;
		}
		enum status st =
			record_number(&x[k], f->s, (int)f->type, &a->scalar, f->err);
		x[k] = keep(f, st, x[k]);
	}
	f->a = x[0];
	f->b = x[1];
}

/* The classes' flags, each for all elements of the result. */
static void finish(struct flags *f, array *flag[WATCH_CLASSES])
{
	for (int k = 0; k < WATCH_CLASSES && !f->st; k++) {
		array *x = f->bit[k];
		if (!x || !wants(f, k))
			continue;
		if (x->view.shape.ndim)
			x = reduce(f, OP_ANY, x, (1u << x->view.shape.ndim) - 1, false);
		if (!x)
			return;
		braze_retain(x);
		flag[k] = x;
	}
}

bool flags_possible(enum op op)
{
	return formulas[op] != FORMULA_NONE;
}

enum status flags_record(struct braze_array *flag[WATCH_CLASSES], struct braze_array *out,
			 const struct recorded *r, unsigned want, struct err *err)
{
	struct flags f = {.s = out->session, .rec = r, .want = want, .r = out, .err = err};
	enum formula formula = (enum formula)formulas[r->op];

	/* Of no elements, or of a type that makes no errors. */
	if (!out->count || formula == FORMULA_NONE)
		return OK;
	if (cls_of(out->view.dtype) < CLASS_FLOAT &&
	    (formula == FORMULA_TOTAL || formula == FORMULA_MATMUL || formula == FORMULA_SUM ||
	     formula == FORMULA_POWER || r->op == OP_MULTIPLY || r->op == OP_SQUARE))
		return OK;
	operands(&f);
	if (f.st)
		;
	else if (formula == FORMULA_CAST)
		cast_formula(&f);
	else if (cls_of(f.type) < CLASS_FLOAT)
		integers(&f, formula);
	else
		run(&f, formula);
	finish(&f, flag);
	/* What is a flag now has a second holder. */
	while (f.ntemp)
		array_unref(f.temp[--f.ntemp]);
	return f.st;
}
