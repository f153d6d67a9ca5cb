/* SPDX-License-Identifier: Apache-2.0 */
/* arith.c - arithmetic on values that have no array.
 *
 * float64, int64 and bool, and Python's numbers beside them, are computed here where
 * NumPy's scalars would neither warn nor raise; where they would, and for every other type,
 * NumPy's own operator is asked.  Functions, of float32 too, have the bits of braze's
 * loops, as of arrays.  Where errors are watched NumPy is, too: its state is set
 * along with ours. */
#include "core.h"

#include <float.h>
#include <math.h>
#include <string.h>

struct num {
	bool is_int;
	int64_t i;
	double d;
};

static bool is_now(PyObject *o)
{
	return nd_check(o) && !nd(o)->h;
}

static bool is_python(PyObject *o)
{
	return PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyComplex_CheckExact(o) ||
	       PyBool_Check(o);
}

static bool of_now(struct num *v, const braze_scalar *now)
{
	v->is_int = now->dtype == BRAZE_INT64;
	v->i = (int64_t)now->bits[0];
	if (v->is_int)
		v->d = (double)v->i;
	else
		memcpy(&v->d, now->bits, sizeof v->d);
	return v->is_int || now->dtype == BRAZE_FLOAT64;
}

static bool read_number(struct num *v, PyObject *o)
{
	int overflow = 0;

	if (is_now(o))
		return of_now(v, &nd(o)->now);
	v->is_int = PyLong_CheckExact(o);
	if (v->is_int) {
		v->i = PyLong_AsLongLongAndOverflow(o, &overflow);
		v->d = (double)v->i;
		return !overflow;
	}
	if (!PyFloat_CheckExact(o))
		return false;
	v->d = PyFloat_AsDouble(o);
	return true;
}

static PyObject *new_float(double d)
{
	uint64_t bits[2] = {0, 0};

	memcpy(bits, &d, sizeof d);
	return type_immediate(BRAZE_FLOAT64, bits);
}

static PyObject *new_int(int dtype, int64_t i)
{
	const uint64_t bits[2] = {(uint64_t)i, 0};

	return type_immediate(dtype, bits);
}

/* Nothing that NumPy reports: what is not finite, tiny or zero may be an error's result. */
static bool is_quiet(double r)
{
	return fabs(r) >= DBL_MIN && fabs(r) <= DBL_MAX;
}

static PyObject *compared(int k, const struct num *a, const struct num *b, bool ints)
{
	bool less = ints ? a->i < b->i : a->d < b->d, equal = ints ? a->i == b->i : a->d == b->d;
	bool greater = ints ? a->i > b->i : a->d > b->d, r = false;

	switch (k) {
	case N_LESS:
		r = less;
		break;
	case N_LESS_EQUAL:
		r = less || equal;
		break;
	case N_EQUAL:
		r = equal;
		break;
	case N_NOT_EQUAL:
		r = !equal;
		break;
	case N_GREATER:
		r = greater;
		break;
	case N_GREATER_EQUAL:
		r = greater || equal;
		break;
	default:
		return NULL;
	}
	return type_truth(r);
}

static double float_remainder(double a, double b)
{
	double r = fmod(a, b);

	return r != 0 && (b < 0) != (r < 0) ? r + b : r;
}

static PyObject *float_binary(int k, double a, double b)
{
	double r = 0;

	switch (k) {
	case N_ADD:
		r = a + b;
		break;
	case N_SUBTRACT:
		r = a - b;
		break;
	case N_MULTIPLY:
		r = a * b;
		break;
	case N_DIVIDE:
		r = a / b;
		break;
	case N_REMAINDER:
		r = float_remainder(a, b);
		break;
	case N_POWER:
		r = pow(a, b);
		break;
	default:
		return NULL;
	}
	/* A sum that is zero or tiny is exact. */
	if (is_quiet(r) || ((k == N_ADD || k == N_SUBTRACT) && fabs(r) < DBL_MIN) ||
	    (k == N_MULTIPLY && (a == 0 || b == 0) && r == 0))
		return new_float(r);
	return NULL;
}

/* Rounded down, as Python's; not by 0, and not by -1, whose quotient may be too large. */
static bool int_divided(int64_t *r, int k, int64_t a, int64_t b)
{
	bool down = false;

	if (!b || b == -1)
		return false;
	down = a % b && (a < 0) != (b < 0);
	*r = k == N_REMAINDER ? a % b + (down ? b : 0) : a / b - down;
	return true;
}

/* Shifts within the width, and powers that fit. */
static bool int_raised(int64_t *r, int k, int64_t a, int64_t b)
{
	if (b < 0 || b > 63)
		return false;
	if (k == N_LEFT_SHIFT) {
		*r = (int64_t)((uint64_t)a << b);
	} else if (k == N_RIGHT_SHIFT) {
		*r = a >> b;
	} else if (k == N_POWER) {
		*r = 1;
		for (int64_t i = 0; i < b; i++)
			if (__builtin_mul_overflow(*r, a, r))
				return false;
	} else {
		return false;
	}
	return true;
}

static bool int_result(int64_t *r, int k, int64_t a, int64_t b)
{
	switch (k) {
	case N_ADD:
		return !__builtin_add_overflow(a, b, r);
	case N_SUBTRACT:
		return !__builtin_sub_overflow(a, b, r);
	case N_MULTIPLY:
		return !__builtin_mul_overflow(a, b, r);
	case N_FLOOR_DIVIDE:
	case N_REMAINDER:
		return int_divided(r, k, a, b);
	case N_AND:
		*r = a & b;
		return true;
	case N_OR:
		*r = a | b;
		return true;
	case N_XOR:
		*r = a ^ b;
		return true;
	default:
		return int_raised(r, k, a, b);
	}
}

static PyObject *int_binary(int k, int64_t a, int64_t b)
{
	int64_t r = 0;

	if (k == N_DIVIDE)
		return b ? float_binary(k, (double)a, (double)b) : NULL;
	return int_result(&r, k, a, b) ? new_int(BRAZE_INT64, r) : NULL;
}

/* Two truth values. */
static PyObject *bool_binary(int k, bool a, bool b)
{
	bool r = k == N_AND ? a && b : k == N_OR ? a || b : a != b;

	if (k != N_AND && k != N_OR && k != N_XOR && k != N_EQUAL && k != N_NOT_EQUAL)
		return NULL;
	return new_int(BRAZE_BOOL, k == N_EQUAL ? !r : r);
}

/* NumPy's operators, whose scalars warn and raise. */
static PyObject *ask(int k, PyObject *a, PyObject *b)
{
	static PyObject *(*const of_two[N_OPS])(PyObject *, PyObject *) = {
		[N_ADD] = PyNumber_Add,
		[N_SUBTRACT] = PyNumber_Subtract,
		[N_MULTIPLY] = PyNumber_Multiply,
		[N_DIVIDE] = PyNumber_TrueDivide,
		[N_FLOOR_DIVIDE] = PyNumber_FloorDivide,
		[N_REMAINDER] = PyNumber_Remainder,
		[N_LEFT_SHIFT] = PyNumber_Lshift,
		[N_RIGHT_SHIFT] = PyNumber_Rshift,
		[N_AND] = PyNumber_And,
		[N_OR] = PyNumber_Or,
		[N_XOR] = PyNumber_Xor,
		[N_MATMUL] = PyNumber_MatrixMultiply,
	};
	static PyObject *(*const of_one[N_OPS])(PyObject *) = {
		[N_NEGATIVE] = PyNumber_Negative,
		[N_POSITIVE] = PyNumber_Positive,
		[N_ABSOLUTE] = PyNumber_Absolute,
		[N_INVERT] = PyNumber_Invert,
	};
	static const int how[N_OPS] = {
		[N_LESS] = Py_LT,      [N_LESS_EQUAL] = Py_LE, [N_EQUAL] = Py_EQ,
		[N_NOT_EQUAL] = Py_NE, [N_GREATER] = Py_GT,    [N_GREATER_EQUAL] = Py_GE};

	if (k == N_POWER)
		return PyNumber_Power(a, b, Py_None);
	if (!b)
		return of_one[k](a);
	return of_two[k] ? of_two[k](a, b) : PyObject_RichCompare(a, b, how[k]);
}

PyObject *number_taken(PyObject *made)
{
	struct operand x = {0};
	int rc = PyObject_IsInstance(made, core.np_generic);

	if (rc == 1)
		rc = convert_operand(&x, made);
	if (rc < 0)
		return NULL;
	if (rc == 1 && !x.arg.array)
		return type_immediate(x.arg.scalar.dtype, x.arg.scalar.bits);
	operand_finish(&x);
	return Py_NewRef(made);
}

/* An int64 whose power NumPy computes as its arrays': float64's is pow's. */
static bool is_int64(PyObject *o)
{
	return is_now(o) && nd(o)->now.dtype == BRAZE_INT64;
}

static bool is_bool(PyObject *o)
{
	return is_now(o) && nd(o)->now.dtype == BRAZE_BOOL;
}

PyObject *number_given(PyObject *o)
{
	return is_now(o) ? convert_npscalar(nd(o)->now.dtype, nd(o)->now.bits) : Py_NewRef(o);
}

/* NumPy's scalar of one of ours, waited for; other things as they are. */
static PyObject *settled(PyObject *o)
{
	uint64_t bits[2];
	int dtype = 0;

	if (!nd_check(o))
		return Py_NewRef(o);
	dtype = type_dtype(o);
	return convert_value(o, &dtype, bits) ? NULL : convert_npscalar(dtype, bits);
}

enum { NO_SCALAR = -1 };

/* Whether a scalar, of braze, of NumPy or of Python, is complex; or NO_SCALAR. */
static int scalar_kind(PyObject *o)
{
	struct operand x = {0};
	int kind = NO_SCALAR;

	if (nd_check(o))
		return nd(o)->flags & ND_SCALAR ? type_dtype(o) >= BRAZE_COMPLEX64 : NO_SCALAR;
	if (is_python(o))
		return PyComplex_CheckExact(o);
	if (PyObject_IsInstance(o, core.np_generic) == 1 && convert_operand(&x, o) == 1) {
		kind = x.arg.array ? NO_SCALAR : x.arg.scalar.dtype >= BRAZE_COMPLEX64;
		operand_finish(&x);
	}
	PyErr_Clear();
	return kind;
}

bool arith_ordered(PyObject **out, PyObject *a, PyObject *b, int how)
{
	PyObject *x = NULL, *y = NULL, *made = NULL;
	int of_a = 0, of_b = 0;

	if (how == Py_EQ || how == Py_NE || (of_a = scalar_kind(a)) < 0 ||
	    (of_b = scalar_kind(b)) < 0 || !(of_a || of_b))
		return false;
	x = settled(a);
	y = x ? settled(b) : NULL;
	if (y)
		made = PyObject_RichCompare(x, y, how);
	*out = made ? number_taken(made) : NULL;
	Py_XDECREF(x);
	Py_XDECREF(y);
	Py_XDECREF(made);
	return true;
}

static PyObject *by_numpy(int k, PyObject *a, PyObject *b)
{
	PyObject *x = number_given(a), *y = b ? number_given(b) : NULL, *made = NULL, *r = NULL;

	if (x && (y || !b))
		made = ask(k, x, y);
	if (made)
		r = number_taken(made);
	Py_XDECREF(x);
	Py_XDECREF(y);
	Py_XDECREF(made);
	return r;
}

/* Computed here; NULL without an exception: NumPy is to be asked. */
static PyObject *here(int k, PyObject *a, PyObject *b)
{
	struct num x = {0}, y = {0};
	PyObject *r = NULL;
	bool ints = false;

	if (core.watching)
		return NULL;
	if (is_bool(a) && is_bool(b))
		return bool_binary(k, nd(a)->now.bits[0] & 1, nd(b)->now.bits[0] & 1);
	if (!read_number(&x, a) || !read_number(&y, b))
		return NULL;
	ints = x.is_int && y.is_int;
	if (k == N_POWER && !ints && (is_int64(a) || is_int64(b)))
		return NULL;
	r = compared(k, &x, &y, ints);
	if (r || PyErr_Occurred())
		return r;
	return ints ? int_binary(k, x.i, y.i) : float_binary(k, x.d, y.d);
}

/* A scalar whose array is near as a number without one; others as they are (borrowed).  *kept: what
 * is to be released. */
static PyObject *near_as_now(PyObject *o, PyObject **kept)
{
	braze_scalar v;

	if (!nd_check(o) || !nd(o)->h || !(nd(o)->flags & ND_SCALAR) ||
	    !braze_near_number(&v, nd(o)->h) ||
	    (v.dtype != BRAZE_FLOAT64 && v.dtype != BRAZE_INT64))
		return o;
	return *kept = type_immediate(v.dtype, v.bits);
}

/* A number without an array and a scalar that has one, which is near: what NumPy would report
 * is left to the operation on arrays. */
static bool with_near(PyObject **out, int k, PyObject *a, PyObject *b)
{
	PyObject *made = NULL, *x = is_now(b) ? near_as_now(a, &made) : a;
	PyObject *y = is_now(a) ? near_as_now(b, &made) : b;

	*out = made ? here(k, x, y) : NULL;
	Py_XDECREF(made);
	return *out || PyErr_Occurred();
}

/* One operand is a scalar of ours, the other one of NumPy's, which is a number like ours: of the
 * same type to NumPy's rules. */
static bool with_given(PyObject **out, int k, PyObject *a, PyObject *b)
{
	bool first = nd_check(b), done = true;
	PyObject *given = first ? a : b, *made = NULL;

	if (nd_check(a) == first || !(nd(first ? b : a)->flags & ND_SCALAR) ||
	    convert_given_type(given) < 0)
		return false;
	*out = NULL;
	made = convert_given(given);
	if (made)
		done = arith_binary(out, k, first ? made : a, first ? b : made);
	Py_XDECREF(made);
	return done;
}

bool arith_binary(PyObject **out, int k, PyObject *a, PyObject *b)
{
	if (is_now(a) != is_now(b) && nd_check(a) && nd_check(b))
		return with_near(out, k, a, b);
	if (!(is_now(a) && (is_now(b) || is_python(b))) && !(is_now(b) && is_python(a)))
		return with_given(out, k, a, b);
	*out = here(k, a, b);
	if (!*out && !PyErr_Occurred())
		*out = by_numpy(k, a, b);
	return true;
}

#define EXPONENTS_MOST 65536 /* more are not looked at: NumPy does that, too */

bool arith_none_negative(PyObject *b, bool wait)
{
	braze_array *h = nd_check(b) && !core.locked ? nd(b)->h : NULL;
	const char *data = NULL;
	bool fine = true;

	if (!h || !braze_ndim(h) || !(layout_orders(h) & LAYOUT_C) ||
	    braze_size(h) > EXPONENTS_MOST || !(wait || braze_is_near(h)) ||
	    !(data = wait ? wait_data(h) : wait_at_hand(h)))
		return false;
	/* The sign is in an element's last byte. */
	for (int64_t k = 1; k <= braze_size(h) && fine; k++)
		fine = (signed char)data[k * braze_itemsize(h) - 1] >= 0;
	return fine;
}

static PyObject *int_unary(int k, int64_t i)
{
	bool turn = k == N_NEGATIVE || (k == N_ABSOLUTE && i < 0);

	return new_int(BRAZE_INT64, turn ? -i : i);
}

static PyObject *float_unary(int k, double d)
{
	return new_float(k == N_NEGATIVE ? -d : k == N_ABSOLUTE ? fabs(d) : d);
}

bool arith_unary(PyObject **out, int k, PyObject *a)
{
	struct num x;

	if (!is_now(a) || (k != N_NEGATIVE && k != N_POSITIVE && k != N_ABSOLUTE && k != N_INVERT))
		return false;
	if (k == N_INVERT && is_bool(a))
		*out = new_int(BRAZE_BOOL, !(nd(a)->now.bits[0] & 1));
	else if (!of_now(&x, &nd(a)->now) || k == N_INVERT || (x.is_int && x.i == INT64_MIN))
		*out = by_numpy(k, a, NULL);
	else
		*out = x.is_int ? int_unary(k, x.i) : float_unary(k, x.d);
	return true;
}

/* A float64 or int64 without an array, or such a number of Python's. */
struct plain {
	enum { OTHER, INTEGER, REAL } kind;
	int64_t i;
	double d;
};

static struct plain plain_of(PyObject *o)
{
	struct plain v = {OTHER, 0, 0};
	int overflow = 0;

	if (nd_check(o)) {
		if (nd(o)->h)
			return v;
		v.kind = nd(o)->now.dtype == BRAZE_FLOAT64 ? REAL
			 : nd(o)->now.dtype == BRAZE_INT64 ? INTEGER
							   : OTHER;
		v.i = (int64_t)nd(o)->now.bits[0];
		memcpy(&v.d, nd(o)->now.bits, sizeof v.d);
	} else if (PyFloat_CheckExact(o)) {
		v.kind = REAL;
		v.d = PyFloat_AsDouble(o);
	} else if (PyLong_CheckExact(o)) {
		v.i = PyLong_AsLongLongAndOverflow(o, &overflow);
		v.kind = overflow ? OTHER : INTEGER;
	}
	return v;
}

#define COMPARED(x, y)                                                                             \
	(how == Py_LT	? (x) < (y)                                                                \
	 : how == Py_LE ? (x) <= (y)                                                               \
	 : how == Py_EQ ? (x) == (y)                                                               \
	 : how == Py_NE ? (x) != (y)                                                               \
	 : how == Py_GT ? (x) > (y)                                                                \
			: (x) >= (y))

/* Two of one kind: what sorting and looking for extremes do. */
bool arith_compare(PyObject **out, PyObject *a, PyObject *b, int how)
{
	struct plain x, y;

	/* As of NumPy's scalars: no number is None. */
	if (b == Py_None && (how == Py_EQ || how == Py_NE) && nd(a)->flags & ND_SCALAR) {
		*out = PyBool_FromLong(how == Py_NE);
		return true;
	}
	if (core.watching || (x = plain_of(a)).kind == OTHER || (y = plain_of(b)).kind != x.kind)
		return false;
	*out = type_truth(x.kind == REAL ? COMPARED(x.d, y.d) : COMPARED(x.i, y.i));
	return true;
}

/* ---- Functions ---- */

/* Those whose results are exact or correctly rounded, in whatever way they are computed. */
enum exact { UNASKED, NOT_EXACT, SQRT, ABSOLUTE, FABS, FLOOR, CEIL, RINT, SQUARE, N_EXACT };

static enum exact exact_named(const char *name)
{
	static const char *const names[N_EXACT] = {
		[SQRT] = "sqrt", [ABSOLUTE] = "absolute", [FABS] = "fabs",     [FLOOR] = "floor",
		[CEIL] = "ceil", [RINT] = "rint",	  [SQUARE] = "square",
	};

	for (int k = SQRT; k < N_EXACT; k++)
		if (!strcmp(name, names[k]))
			return (enum exact)k;
	return NOT_EXACT;
}

static enum exact exact_of(int op)
{
	static uint8_t known[256];

	if (op < 0 || op >= (int)sizeof known)
		return NOT_EXACT;
	if (known[op] == UNASKED)
		known[op] = (uint8_t)exact_named(braze_op_name(op));
	return (enum exact)known[op];
}

static bool of_one(double *r, enum exact function, double x)
{
	switch (function) {
	case SQRT:
		*r = x >= 0 ? sqrt(x) : NAN;
		return x >= 0;
	case ABSOLUTE:
	case FABS:
		*r = fabs(x);
		return true;
	case FLOOR:
		*r = floor(x);
		return true;
	case CEIL:
		*r = ceil(x);
		return true;
	case RINT:
		*r = rint(x);
		return true;
	case SQUARE:
		*r = x * x;
		return is_quiet(*r);
	default:
		return false;
	}
}

static bool is_exact(PyObject **out, int op, PyObject *a)
{
	enum exact function = exact_of(op);
	struct num x;
	double r = 0;

	if (function == NOT_EXACT ||
	    (!PyFloat_CheckExact(a) && (!is_now(a) || nd(a)->now.dtype != BRAZE_FLOAT64)) ||
	    !read_number(&x, a) || !isfinite(x.d) || !of_one(&r, function, x.d))
		return false;
	*out = new_float(r);
	return true;
}

/* The type in which operands meet where braze knows it for certain: those of float32 alone,
 * integers of 64 bits alone, and float64 with these; -1: NumPy's rules are asked. */
static int meeting(int n, PyObject *const *args)
{
	int dtype = -1, d = -1;

	for (int k = 0; k < n; k++, dtype = d) {
		d = PyFloat_CheckExact(args[k])	 ? BRAZE_FLOAT64
		    : PyLong_CheckExact(args[k]) ? BRAZE_INT64
		    : is_now(args[k])		 ? nd(args[k])->now.dtype
						 : -1;
		if (d != BRAZE_FLOAT64 && d != BRAZE_INT64 && d != BRAZE_FLOAT32)
			return -1;
		if (k && d != dtype && (d == BRAZE_FLOAT32 || dtype == BRAZE_FLOAT32))
			return -1;
		if (k && d != dtype)
			d = BRAZE_FLOAT64;
	}
	return dtype;
}

static bool read_as(braze_scalar *out, PyObject *o, int dtype)
{
	struct num v;

	if (is_now(o) && nd(o)->now.dtype == dtype)
		*out = nd(o)->now;
	else if (!read_number(&v, o))
		return false;
	else
		*out = dtype == BRAZE_INT64 ? braze_int(v.i) : braze_double(v.d);
	return true;
}

static double value_of(const braze_scalar *v)
{
	float f = 0;
	double d = 0;

	if (v->dtype != BRAZE_FLOAT32 && v->dtype != BRAZE_FLOAT64)
		return 0;
	memcpy(&f, v->bits, sizeof f);
	memcpy(&d, v->bits, sizeof d);
	return v->dtype == BRAZE_FLOAT32 ? (double)f : d;
}

/* Of integers a function reports nothing, unless it divides: by more than 0 nothing then. */
static bool is_quiet_integer(int op, int n, const braze_scalar *x)
{
	const char *name = braze_op_name(op);
	bool divides = op == core.op[N_FLOOR_DIVIDE] || op == core.op[N_REMAINDER] ||
		       op == core.op[N_RECIPROCAL] || !strcmp(name, "fmod");

	return !divides || (n == 2 && (int64_t)x[1].bits[0] > 0);
}

/* As is_quiet, in the type of the result; a bool is. */
static bool is_quiet_result(const braze_scalar *r)
{
	double least = r->dtype == BRAZE_FLOAT32 ? (double)FLT_MIN : DBL_MIN, d = value_of(r);

	return r->dtype == BRAZE_BOOL || (isfinite(d) && fabs(d) >= least);
}

/* By the loop that arrays take: to the bit as of arrays. */
static bool by_loop(PyObject **out, int op, int n, PyObject *const *args)
{
	int dtype = n <= 2 ? meeting(n, args) : -1;
	braze_scalar x[2], r;

	if (dtype < 0 || !core.session)
		return false;
	for (int k = 0; k < n; k++)
		if (!read_as(&x[k], args[k], dtype) || !isfinite(value_of(&x[k])))
			return false;
	if (!braze_near_one(&r, core.session, op, n, x) ||
	    !(r.dtype == BRAZE_INT64 ? is_quiet_integer(op, n, x) : is_quiet_result(&r)))
		return false;
	*out = type_immediate(r.dtype, r.bits);
	return true;
}

/* The operator of an operation with two operands; N_OPS: it has none, or is not as exact. */
static int operator_of(int op)
{
	for (int k = N_ADD; k <= N_GREATER_EQUAL; k++)
		if (core.op[k] == op && k != N_POWER)
			return k;
	return N_OPS;
}

/* As the operator has it, which is exact, or rounded once. */
static bool by_operator(PyObject **out, int op, PyObject *a, PyObject *b)
{
	int k = operator_of(op);

	*out = k < N_OPS && (is_now(a) || is_now(b)) ? here(k, a, b) : NULL;
	return *out || PyErr_Occurred();
}

bool arith_function(PyObject **out, int op, int n, PyObject *const *args)
{
	if (core.watching)
		return false;
	if (n == 2 && by_operator(out, op, args[0], args[1]))
		return true;
	return (n == 1 && is_exact(out, op, args[0])) || by_loop(out, op, n, args);
}

/* ---- Of numbers, as NumPy does it by several functions ---- */

#define EXACT (INT64_C(1) << 53) /* integers to there are doubles */

/* All as floats, if one is. */
static bool read_three(struct num v[3], PyObject *const *args)
{
	bool ints = true;

	for (int k = 0; k < 3; k++) {
		if (!read_number(&v[k], args[k]) || !isfinite(v[k].d))
			return false;
		ints &= v[k].is_int;
	}
	for (int k = 0; k < 3; k++)
		if (!ints && v[k].is_int && (v[k].i > EXACT || v[k].i < -EXACT))
			return false;
	for (int k = 0; k < 3; k++)
		v[k].is_int = ints;
	return true;
}

bool arith_clip(PyObject **out, PyObject *const *args)
{
	struct num v[3];
	int64_t i = 0;
	double d = 0;

	if (core.watching || !read_three(v, args))
		return false;
	if (v[0].is_int) {
		i = v[0].i > v[1].i ? v[0].i : v[1].i;
		*out = new_int(BRAZE_INT64, i < v[2].i ? i : v[2].i);
		return true;
	}
	/* Which of two zeros it is depends on how processors tell the greater. */
	d = v[0].d > v[1].d ? v[0].d : v[1].d;
	d = d < v[2].d ? d : v[2].d;
	if (d == 0 && !(v[0].d == 0 && v[1].d < 0 && v[2].d > 0))
		return false;
	*out = new_float(d);
	return true;
}

bool arith_round(PyObject **out, PyObject *x, int64_t decimals)
{
	double ten = 1, r = 0;
	struct num v;

	if (core.watching || decimals < 0 || decimals > 8 || !read_number(&v, x))
		return false;
	if (v.is_int) {
		*out = new_int(BRAZE_INT64, v.i);
		return true;
	}
	for (int64_t k = 0; k < decimals; k++)
		ten *= 10;
	r = decimals ? rint(v.d * ten) / ten : rint(v.d);
	if (!isfinite(r))
		return false;
	*out = new_float(r);
	return true;
}
