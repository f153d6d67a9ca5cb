/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/flags.c - record what tells an operation's floating-point errors.
 *
 * In:  an operation and its result.  Out: for each class a bool, any element of which
 * met the error; made of ordinary operations on operands and result, so that they fuse
 * with it on any device.  flags.def says which formula an operation has.
 */
#include "flags.h"

static const uint8_t formulas[OP_END] = {
#define FLAGS(op, formula) [OP_##op] = FORMULA_##formula,
#include "flags.def"
#undef FLAGS
};

/* ---- Formulas ---- */

static void scale(struct flags *f)
{
	domain(f);
	growth(f);
	if (!wants(f, F_UNDER) || is_complex(f))
		return;
	if (f->type == DT_FLOAT16) {
		narrow_underflow(f, f->op, f->r, true);
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
		narrow_underflow(f, f->op, f->r, true);
	else
		found(f, F_UNDER, is_tiny(f, f->r, smallest(f->type)));
	f->bit[F_UNDER] = and(f, f->bit[F_UNDER], and(f, not_zero(f, f->a), operands_finite(f)));
}

static void pole(struct flags *f)
{
	domain(f);
	/* The logarithm of a complex number 1 + a may overflow besides. */
	if (is_complex(f) && f->op == OP_LOG1P) {
		if (wants(f, F_DIVIDE))
			found(f, F_DIVIDE, opi(f, OP_EQUAL, f->a, -1));
		growth(f);
		if (wants(f, F_OVER))
			f->bit[F_OVER] = and(f, f->bit[F_OVER], opi(f, OP_NOT_EQUAL, f->a, -1));
		return;
	}
	if (wants(f, F_DIVIDE))
		found(f, F_DIVIDE, and(f, op1(f, OP_ISINF, f->r), is_finite(f, f->a)));
}

static void floor_quotient(struct flags *f)
{
	array *over;

	domain(f);
	if (wants(f, F_DIVIDE))
		found(f, F_DIVIDE,
		      and(f, is_zero(f, f->b), and(f, not_zero(f, f->a), is_finite(f, f->a))));
	/* The sign of a zero is the quotient's. */
	if (wants(f, F_UNDER) && f->type != DT_FLOAT16) {
		array *q = op2(f, OP_DIVIDE, f->a, f->b);
		flags_lost_quotient(f, f->a, f->b, q);
		f->bit[F_UNDER] = and(f, f->bit[F_UNDER], is_zero(f, f->r));
	}
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
	if (wants(f, F_OVER))
		found(f, F_OVER, and(f, op1(f, OP_ISINF, f->r), is_finite(f, f->a)));
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
		narrow_underflow(f, f->op, f->r, false);
	else
		found(f, F_UNDER, is_tiny(f, f->r, smallest(f->type)));
	f->bit[F_UNDER] = and(f, f->bit[F_UNDER], and(f, not_zero(f, f->a), operands_finite(f)));
}

/* log(exp(a) + exp(b)) is the larger one and log1p(exp(-|a - b|)), where exp may underflow. */
static void log_sum(struct flags *f)
{
	unsigned wide = f->type == DT_FLOAT16 ? DT_FLOAT32 : f->type;
	array *apart = op2(f, OP_SUBTRACT, cast(f, f->a, wide), cast(f, f->b, wide));
	double most = wide == DT_FLOAT64 ? 708.3964185322641 : 87.33654;

	/* Which is the larger one is asked of NaNs, too. */
	if (wants(f, F_INVALID))
		found(f, F_INVALID, is_nan(f, f->r));
	if (wants(f, F_OVER))
		found(f, F_OVER, and(f, op1(f, OP_ISINF, apart), operands_finite(f)));
	if (wants(f, F_UNDER)) {
		array *x = opn(f, OP_GREATER, op1(f, OP_ABSOLUTE, apart), most);
		found(f, F_UNDER, and(f, x, is_finite(f, apart)));
	}
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
	if (wants(f, F_INVALID) && f->op == OP_RECIPROCAL)
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
	fits = and(f,
		   wide ? opn(f, OP_GREATER_EQUAL, x, -0x1p63) : opn(f, OP_GREATER, x, -0x1p31 - 1),
		   opn(f, OP_LESS, x,
		       to == DT_UINT64 ? 0x1p64
		       : wide	       ? 0x1p63
				       : 0x1p31));
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

/* Does the type hold every finite number of the other one?  Of two of as many bytes one has digits
 * where the other has range. */
static bool holds_all(unsigned to, unsigned from)
{
	if (cls_of(from) < CLASS_FLOAT)
		return to != DT_FLOAT16;
	if (from == DT_BFLOAT16 && to == DT_FLOAT16)
		return false;
	return dtype_row(part_type(to))->bytes >= dtype_row(part_type(from))->bytes;
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
	if (holds_all(to, from))
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

/* What holds for any, or all, of the elements that one of the result is made of. */
static array *over(struct flags *f, enum op op, array *x)
{
	const struct recorded *r = f->rec;
	array *out = NULL;

	if (op_row(r->op)->kind != KIND_SCAN)
		return reduce(f, op, x, r->axes, r->keepdims);
	if (f->st)
		return NULL;
	enum status st = record_scan(&out, op == OP_ANY ? OP_CUMMAX : OP_CUMMIN, x, (int)r->axes,
				     -1, f->err);
	return keep(f, st, out);
}

/* A sum or product over axes, or along one: what came out against what went in. */
static void total(struct flags *f)
{
	const struct recorded *r = f->rec;

	if (is_complex(f) && (r->op == OP_SUM || r->op == OP_CUMSUM)) {
		array *out = f->r, *in = f->a;
		f->type = part_type(f->type);
		for (int k = 0; k < 2; k++) {
			f->r = op1(f, k ? OP_IMAG : OP_REAL, out);
			f->a = op1(f, k ? OP_IMAG : OP_REAL, in);
			total(f);
		}
		return;
	}

	if (wants(f, F_INVALID)) {
		array *nan = over(f, OP_ANY, is_nan(f, f->a));
		found(f, F_INVALID, and(f, is_nan(f, f->r), op1(f, OP_LOGICAL_NOT, nan)));
	}
	if (wants(f, F_OVER))
		found(f, F_OVER, and(f, not_finite(f, f->r), over(f, OP_ALL, is_finite(f, f->a))));
	if (wants(f, F_UNDER) && (r->op == OP_PROD || r->op == OP_CUMPROD) && !is_complex(f))
		found(f, F_UNDER, and(f, is_zero(f, f->r), over(f, OP_ALL, not_zero(f, f->a))));
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

static void growth_formula(struct flags *f)
{
	domain(f);
	growth(f);
}

typedef void formula_fn(struct flags *f);
static formula_fn *const formula_of[] = {[FORMULA_DOMAIN] = domain,
					 [FORMULA_GROWTH] = growth_formula,
					 [FORMULA_SCALE] = scale,
					 [FORMULA_POWER] = power,
					 [FORMULA_POLE] = pole,
					 [FORMULA_SUM] = flags_sum,
					 [FORMULA_PRODUCT] = flags_product,
					 [FORMULA_QUOTIENT] = flags_quotient,
					 [FORMULA_FLOOR] = floor_quotient,
					 [FORMULA_MODULO] = domain,
					 [FORMULA_NEXT] = next,
					 [FORMULA_ANGLE] = angle,
					 [FORMULA_LOGSUM] = log_sum,
					 [FORMULA_CAST] = cast_formula,
					 [FORMULA_TOTAL] = total,
					 [FORMULA_MATMUL] = matmul};

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
			 r->op == OP_CAST || op_row(r->op)->kind == KIND_RED ||
					 op_row(r->op)->kind == KIND_SCAN
				 ? f->r->view.dtype
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
		enum status st = record_number(&x[k], f->s, (int)f->type, &a->scalar, f->err);
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
	struct flags f = {
		.s = out->session, .rec = r, .op = r->op, .want = want, .r = out, .err = err};
	enum formula formula = (enum formula)formulas[r->op];

	/* Of no elements, or of a type that makes no errors. */
	if (!out->count || formula == FORMULA_NONE)
		return OK;
	if (cls_of(out->view.dtype) < CLASS_FLOAT &&
	    (formula == FORMULA_TOTAL || formula == FORMULA_MATMUL || formula == FORMULA_SUM ||
	     formula == FORMULA_POWER || r->op == OP_MULTIPLY || r->op == OP_SQUARE))
		return OK;
	operands(&f);
	if (!f.st && formula != FORMULA_CAST && cls_of(f.type) < CLASS_FLOAT)
		integers(&f, formula);
	else if (!f.st)
		formula_of[formula](&f);
	finish(&f, flag);
	/* What is a flag now has a second holder. */
	while (f.ntemp)
		array_unref(f.temp[--f.ntemp]);
	return f.st;
}
