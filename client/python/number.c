/* SPDX-License-Identifier: Apache-2.0 */
/* number.c - operators: recorded when an operand is an array.
 *
 * Array with array and array with Python number take no detour: two operands,
 * one braze_apply.  What braze does not compute goes to NumPy (number_fallback).
 * In place means apply, then assign into the array with same-kind casting. */
#include "core.h"

#include <string.h>

PyObject *number_fallback(const char *name, PyObject *const *args, Py_ssize_t nargs)
{
	PyObject *t = PyTuple_New(nargs + 1), *r = NULL, *s = PyUnicode_FromString(name);

	if (t && s && core.fallback) {
		PyTuple_SetItem(t, 0, s);
		for (Py_ssize_t i = 0; i < nargs; i++)
			PyTuple_SetItem(t, i + 1, Py_NewRef(args[i]));
		r = PyObject_Call(core.fallback, t, NULL);
	}
	Py_XDECREF(t);
	return r;
}

static bool is_comparison(int op)
{
	return op == core.op[N_LESS] || op == core.op[N_LESS_EQUAL] || op == core.op[N_EQUAL] ||
	       op == core.op[N_NOT_EQUAL] || op == core.op[N_GREATER] ||
	       op == core.op[N_GREATER_EQUAL];
}

/* Failed apply: NumPy computes what braze has no loop for, else raise. */
static PyObject *failed(int op, const braze_error *err, PyObject *const *args, Py_ssize_t n)
{
	if (err->code == BRAZE_E_UNSUPPORTED || err->code == BRAZE_E_LIMIT ||
	    (err->code == BRAZE_E_OVERFLOW && is_comparison(op)))
		return number_fallback(braze_op_name(op), args, n);
	if ((err->code != BRAZE_E_DTYPE && err->code != BRAZE_E_SHAPE) ||
	    !foreign_refuse(op, args, n))
		wait_raise(err);
	return NULL;
}

static PyObject *record(int op, struct operand *x, Py_ssize_t n, PyObject *const *args)
{
	braze_arg a[3];
	braze_array *out = NULL;
	braze_session *s = NULL;
	braze_error err;
	bool ordered = false;
	int rc = 0;

	for (Py_ssize_t i = 0; i < n; i++) {
		a[i] = x[i].arg;
		if (!a[i].array)
			continue;
		s = braze_session_of(a[i].array);
		if (core.locked && wait_check_locked(a[i].array))
			return NULL;
		ordered |= layout_matters(a[i].array);
	}
	if (!s) /* only numbers: NumPy's scalars are at home here */
		return number_fallback(braze_op_name(op), args, n);
	rc = ordered ? layout_apply(&out, s, op, (int)n, a, &err)
		     : braze_apply(&out, s, op, (int)n, a, &err);
	if (rc) {
		err.code = rc;
		return failed(op, &err, args, n);
	}
	return type_new(out, braze_ndim(out) ? 0 : ND_SCALAR);
}

PyObject *number_apply(int op, PyObject *const *args, Py_ssize_t nargs)
{
	struct operand x[3] = {0};
	PyObject *r = NULL;
	Py_ssize_t n = 0;
	int rc = 1;

	if (nargs < 1 || nargs > 3) {
		PyErr_SetString(PyExc_TypeError, "one to three operands expected");
		return NULL;
	}
	while (n < nargs && rc == 1) {
		rc = convert_operand(&x[n], args[n]);
		n++;
	}
	if (rc == 1)
		r = record(op, x, nargs, args);
	else if (rc == 0)
		r = number_fallback(braze_op_name(op), args, nargs);
	for (Py_ssize_t i = 0; i < n; i++)
		operand_finish(&x[i]);
	return r;
}

static inline bool both_arrays(PyObject *a, PyObject *b)
{
	return nd_check(a) && nd_check(b) && nd(a)->h && nd(b)->h && !core.locked;
}

/* Two arrays, the case that loops consist of: no operand is filled in. */
static PyObject *binary_arrays(int k, PyObject *a, PyObject *b)
{
	PyObject *args[2] = {a, b};
	braze_array *out = NULL;
	braze_error err;
	int rc = 0;

	if (!braze_are_contiguous(nd(a)->h, nd(b)->h) &&
	    (layout_matters(nd(a)->h) || layout_matters(nd(b)->h))) {
		struct operand x[2] = {{.arg = {.array = nd(a)->h}}, {.arg = {.array = nd(b)->h}}};

		return record(core.op[k], x, 2, args);
	}
	rc = braze_binary(&out, core.op[k], nd(a)->h, nd(b)->h, &err);
	if (rc) {
		err.code = rc;
		return failed(core.op[k], &err, args, 2);
	}
	return type_new(out, braze_ndim(out) ? 0 : ND_SCALAR);
}

static const char *const symbol[N_OPS] = {[N_ADD] = "+",
					  [N_SUBTRACT] = "-",
					  [N_MULTIPLY] = "*",
					  [N_DIVIDE] = "/",
					  [N_FLOOR_DIVIDE] = "//",
					  [N_REMAINDER] = "%",
					  [N_POWER] = "**",
					  [N_LEFT_SHIFT] = "<<",
					  [N_RIGHT_SHIFT] = ">>",
					  [N_AND] = "&",
					  [N_OR] = "|",
					  [N_XOR] = "^",
					  [N_LESS] = "<",
					  [N_LESS_EQUAL] = "<=",
					  [N_EQUAL] = "==",
					  [N_NOT_EQUAL] = "!=",
					  [N_GREATER] = ">",
					  [N_GREATER_EQUAL] = ">=",
					  [N_MATMUL] = "@"};

/* What NumPy's operator makes of operands that are not all braze's: for some subclasses
 * of its arrays that is not the function of the operation. */
static PyObject *left_to_numpy(int k, PyObject *const *args)
{
	char name[8];

	if (!nd_check(args[0]) || !foreign_outranks(args[1], args[0], false))
		return number_fallback(symbol[k], args, 2);
	PyOS_snprintf(name, sizeof name, "r%s", symbol[k]);
	return number_fallback(name, args, 2);
}

/* Of operands that must be converted first. */
static PyObject *binary_converted(int k, PyObject *a, PyObject *b)
{
	PyObject *args[2] = {a, b}, *r = NULL;
	struct operand x[2];
	int rc = 0;

	x[1].own = NULL;
	rc = convert_operand(&x[0], a);
	if (rc == 1)
		rc = convert_operand(&x[1], b);
	if (rc == 1)
		r = record(core.op[k], x, 2, args);
	else if (rc == 0)
		r = left_to_numpy(k, args);
	operand_finish(&x[0]);
	operand_finish(&x[1]);
	return r;
}

/* Not in line, so that two arrays cost little. */
static __attribute__((noinline)) PyObject *binary_others(int k, PyObject *a, PyObject *b)
{
	PyObject *r = NULL;

	return arith_binary(&r, k, a, b) ? r : binary_converted(k, a, b);
}

static PyObject *binary(int k, PyObject *a, PyObject *b)
{
	return both_arrays(a, b) ? binary_arrays(k, a, b) : binary_others(k, a, b);
}

PyObject *number_compare(PyObject *a, PyObject *b, int how)
{
	static const int k[] = {
		[Py_LT] = N_LESS,      [Py_LE] = N_LESS_EQUAL, [Py_EQ] = N_EQUAL,
		[Py_NE] = N_NOT_EQUAL, [Py_GT] = N_GREATER,    [Py_GE] = N_GREATER_EQUAL};

	PyObject *args[2] = {a, b}, *r = NULL;

	if (arith_compare(&r, a, b, how))
		return r;
	if (!arith_binary(&r, k[how], a, b) && !arith_ordered(&r, a, b, how))
		r = both_arrays(a, b) ? binary_arrays(k[how], a, b)
				      : binary_converted(k[how], a, b);
	/* What cannot be compared is unequal: for operators, not for np.equal. */
	if (!r && (how == Py_EQ || how == Py_NE) && PyErr_ExceptionMatches(PyExc_TypeError)) {
		PyErr_Clear();
		r = number_fallback(how == Py_EQ ? "==" : "!=", args, 2);
	}
	return r;
}

static PyObject *unary(int k, PyObject *a)
{
	PyObject *r = NULL;

	return arith_unary(&r, k, a) ? r : number_apply(core.op[k], &a, 1);
}

static bool is_signed(int d)
{
	return d >= BRAZE_INT8 && d <= BRAZE_INT64;
}

static PyObject *ones_like(PyObject *a)
{
	braze_array *h = type_handle(a), *out = NULL;
	braze_scalar one = braze_int(1);
	braze_error err;

	if (!h)
		return NULL;
	if (convert_scalar_as(&one, PyLong_FromLong(1), type_dtype(a)) != 1)
		return NULL;
	err.code = braze_full(&out, braze_session_of(h), type_dtype(a), braze_ndim(h),
			      braze_shape(h), one, &err);
	if (err.code) {
		wait_raise(&err);
		return NULL;
	}
	return type_new(out, braze_ndim(out) ? 0 : ND_SCALAR);
}

static PyObject *cast_to(PyObject *a, int dtype)
{
	braze_error err;
	braze_array *out = NULL;

	err.code = braze_cast(&out, nd(a)->h, dtype, &err);
	if (err.code) {
		wait_raise(&err);
		return NULL;
	}
	return type_new(out, 0);
}

/* NumPy's bool scalars have no square. */
static bool squares(PyObject *a)
{
	return type_dtype(a) != BRAZE_BOOL || !(nd(a)->flags & ND_SCALAR);
}

/* Those of inexact types; pow() has other values at infinities and -0.0, and scalars have
 * pow()'s. */
static PyObject *power_inexact(PyObject *a, double e)
{
	if (type_dtype(a) < BRAZE_FLOAT16 || nd(a)->flags & ND_SCALAR)
		return NULL;
	return e == -1 ? unary(N_RECIPROCAL, a) : e == 0.5 ? unary(N_SQRT, a) : NULL;
}

/* NumPy's short cuts for some exponents; NULL without exception: none applies. */
static PyObject *power_short(PyObject *a, double e, bool integer)
{
	int d = type_dtype(a);

	if (d < BRAZE_FLOAT16 && !integer)
		return NULL;
	if (e == 2 && squares(a))
		return unary(N_SQUARE, a);
	if (d <= BRAZE_INT64 && e < 0) {
		if (braze_size(nd(a)->h))
			PyErr_SetString(PyExc_ValueError,
					"Integers to negative integer powers are not allowed.");
		return NULL;
	}
	if (d == BRAZE_BOOL)
		return NULL;
	if (e == 1)
		return unary(N_POSITIVE, a);
	return e == 0 ? ones_like(a) : power_inexact(a, e);
}

/* The exponent as a double when it is a Python number; NumPy's too. */
static bool exponent(PyObject *b, double *e, bool *integer)
{
	*integer = PyLong_Check(b) && !PyBool_Check(b);
	if (!*integer && !PyFloat_CheckExact(b))
		return false;
	*e = PyFloat_CheckExact(b) ? PyFloat_AsDouble(b) : PyLong_AsDouble(b);
	if (!PyErr_Occurred())
		return true;
	PyErr_Clear();
	return false;
}

/* The type of an exponent that is a NumPy or braze number; -1: it is none. */
static int strong_exponent(PyObject *b)
{
	struct operand x = {0};
	int d = -1;

	if (convert_operand(&x, b) == 1)
		d = !x.arg.array	       ? x.arg.scalar.dtype
		    : !braze_ndim(x.arg.array) ? braze_dtype_of(x.arg.array)
					       : -1;
	operand_finish(&x);
	PyErr_Clear();
	return d >= BRAZE_INT8 && d <= BRAZE_FLOAT64 ? d : -1;
}

/* The type that NumPy's short cuts give for a type and an exponent's. */
static int short_type(int d, int exponent)
{
	if (d >= BRAZE_FLOAT16)
		return d;
	if (d == BRAZE_BOOL)
		return BRAZE_INT8;
	return exponent >= BRAZE_FLOAT16 ? BRAZE_FLOAT64 : d;
}

/* The short cut for an exponent whose value must be waited for; NULL without
 * exception: none applies. */
static PyObject *power_known(PyObject *a, PyObject *b, int type)
{
	PyObject *value = PyNumber_Float(b), *x = NULL, *r = NULL;
	double e = value ? PyFloat_AsDouble(value) : 0;

	Py_XDECREF(value);
	if (!value || type_dtype(a) >= BRAZE_FLOAT16)
		return value ? power_short(a, e, false) : NULL;
	if (e != 2) /* of integers only the square */
		return NULL;
	x = type == BRAZE_FLOAT64 ? cast_to(a, type) : Py_NewRef(a);
	r = x ? unary(N_SQUARE, x) : NULL;
	Py_XDECREF(x);
	return r;
}

/* From NumPy 2.3 on only Python's numbers have short cuts that tell in the type. */
static bool strong_is_plain(void)
{
	return core.numpy >= 203;
}

/* NumPy's short cuts hold for such exponents too, and of inexact types their results have
 * other values than a power's (the root of -inf and of -0.0 by 0.5).  Where their type is a
 * power's, the power tells it; else it is that of a, and no power is made without need. */
static PyObject *power_strong_inexact(PyObject *a, PyObject *b)
{
	PyObject *r = NULL, *x = NULL, *made = NULL;
	int type = -1;

	if (!strong_is_plain()) {
		made = strong_exponent(b) < 0 ? NULL : power_known(a, b, type_dtype(a));
		return made || PyErr_Occurred() ? made : binary(N_POWER, a, b);
	}
	r = binary(N_POWER, a, b);
	type = r && nd_check(r) && strong_exponent(b) >= 0 ? type_dtype(r) : -1;
	if (type < 0)
		return r;
	if (type != type_dtype(a))
		x = cast_to(a, type);
	else
		x = Py_NewRef(a);
	made = x ? power_known(x, b, type) : NULL;
	Py_XDECREF(x);
	if (!made && !PyErr_Occurred())
		return r;
	Py_DECREF(r);
	return made;
}

/* Of others they have other types: where that tells, the exponent must be known. */
static PyObject *power_strong(PyObject *a, PyObject *b)
{
	PyObject *r = binary(N_POWER, a, b), *made = NULL;
	int of = r && nd_check(r) && !strong_is_plain() ? strong_exponent(b) : -1, type = 0;

	if (of < 0)
		return r;
	type = short_type(type_dtype(a), of);
	if (type != type_dtype(r))
		made = power_known(a, b, type);
	if (!made && !PyErr_Occurred())
		return r;
	Py_DECREF(r);
	return made;
}

static bool is_integer(PyObject *a)
{
	int d = nd_check(a) ? type_dtype(a) : PyLong_Check(a) ? BRAZE_INT64 : -1;

	return d >= BRAZE_BOOL && d <= BRAZE_UINT64;
}

/* Integers to an integer that only the daemon knows: that it is negative is an
 * error that only the values tell. */
static PyObject *power_integer(PyObject *a, PyObject *b)
{
	PyObject *args[2] = {a, b}, *value = NULL;
	double e = 0;

	if (nd_check(a) && !(nd(a)->flags & ND_SCALAR) && !type_ndim(b) && !strong_is_plain()) {
		value = PyNumber_Float(b);
		if (!value)
			return NULL;
		e = PyFloat_AsDouble(value);
		Py_DECREF(value);
	}
	if (e == 2)
		return unary(N_SQUARE, a);
	if (arith_none_negative(b, true))
		return binary(N_POWER, a, b);
	return PyErr_Occurred() ? NULL : number_fallback("power", args, 2);
}

/* Exponents that are NumPy's: signed ones of integers, whose values tell the error,
 * and types that braze lacks, for which NumPy's operator has short cuts too. */
static bool is_numpys(PyObject *a, PyObject *b)
{
	int d = -1;

	if (PyList_Check(b) || PyTuple_Check(b))
		return is_integer(a);
	if (nd_check(b) || (PyObject_IsInstance(b, core.np_generic) != 1 &&
			    PyObject_IsInstance(b, core.np_ndarray) != 1))
		return false;
	d = convert_dtype_of(b);
	return d < 0 || (is_signed(d) && is_integer(a));
}

static PyObject *power_recorded(PyObject *a, PyObject *b)
{
	PyObject *args[2] = {a, b};
	PyObject *r = NULL;
	double e = 0;
	bool integer = false;

	if (nd_check(a) && nd(a)->h && exponent(b, &e, &integer)) {
		r = power_short(a, e, integer);
		if (r || PyErr_Occurred())
			return r;
	} else if (nd_check(b) && is_signed(type_dtype(b)) && is_integer(a)) {
		return power_integer(a, b);
	}
	if (nd_check(a) && is_numpys(a, b))
		return number_fallback("**", args, 2);
	if (nd_check(a) && nd(a)->h && !(nd(a)->flags & ND_SCALAR))
		return type_dtype(a) < BRAZE_FLOAT16 ? power_strong(a, b)
						     : power_strong_inexact(a, b);
	return binary(N_POWER, a, b);
}

static PyObject *power(PyObject *a, PyObject *b, PyObject *mod)
{
	PyObject *r = NULL;

	if (mod != Py_None)
		return Py_NewRef(Py_NotImplemented);
	return arith_binary(&r, N_POWER, a, b) ? r : power_recorded(a, b);
}

static PyObject *divide_modulo(PyObject *a, PyObject *b)
{
	PyObject *args[2] = {a, b}, *q = NULL, *r = NULL, *t = NULL;

	if (foreign_is(a) || foreign_is(b)) {
		bool outranked = nd_check(a) && foreign_outranks(b, a, false);

		return number_fallback(outranked ? "rdivmod" : "divmod", args, 2);
	}
	q = binary(N_FLOOR_DIVIDE, a, b);
	if (q && q != Py_NotImplemented)
		r = binary(N_REMAINDER, a, b);
	if (r)
		t = PyTuple_Pack(2, q, r);
	else if (q == Py_NotImplemented)
		return q;
	Py_XDECREF(q);
	Py_XDECREF(r);
	return t;
}

PyObject *number_matmul(PyObject *a, PyObject *b)
{
	PyObject *args[2] = {a, b}, *r = NULL;
	braze_array *x = NULL, *y = NULL, *out = NULL;
	braze_error err;
	int rc = convert_array(&x, a);

	if (rc == 1)
		rc = convert_array(&y, b);
	if (rc == 0)
		r = left_to_numpy(N_MATMUL, args);
	if (rc == 1 && !(core.locked && (wait_check_locked(x) || wait_check_locked(y)))) {
		err.code = braze_matmul(&out, x, y, &err);
		r = err.code ? failed(core.op[N_MATMUL], &err, args, 2)
			     : type_new(out, braze_ndim(out) ? 0 : ND_SCALAR);
	}
	braze_release(x);
	braze_release(y);
	return r;
}

/* In place a wrong type is an error before a wrong shape: `a op= b` has failed with a
 * ValueError, which gives way to the error of its types, if they have one; and that is told in
 * NumPy's words. */
static void types_first(int k, PyObject *a, PyObject *b)
{
	PyObject *args[2] = {a, b}, *type = NULL, *value = NULL, *trace = NULL, *r = NULL;
	char name[8];

	if (!PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_TypeError))
		return;
	PyErr_Fetch(&type, &value, &trace);
	PyOS_snprintf(name, sizeof name, "?%s", symbol[k]);
	r = number_fallback(name, args, 2);
	Py_XDECREF(r);
	if (!r && PyErr_ExceptionMatches(PyExc_TypeError)) {
		Py_XDECREF(type);
		Py_XDECREF(value);
		Py_XDECREF(trace);
	} else {
		PyErr_Restore(type, value, trace);
	}
}

/* self = self op b.  The result must have self's shape and cast to its type. */
static PyObject *inplace_store(PyObject *self, PyObject *value)
{
	braze_array *h = nd(self)->h;
	PyObject *r = NULL;
	struct operand x = {0};
	braze_error err;

	if (!value || value == Py_NotImplemented)
		return value;
	if (nd_check(value))
		x.arg.array = type_handle(value);
	else /* a fallback's result of a type that braze lacks */
		convert_cast(&x, value, braze_dtype_of(h));
	if (!x.arg.array)
		goto out;
	if (braze_ndim(x.arg.array) != braze_ndim(h) ||
	    memcmp(braze_shape(x.arg.array), braze_shape(h),
		   (size_t)braze_ndim(h) * sizeof(int64_t))) {
		layout_tell_shapes(h, x.arg.array);
		goto out;
	}
	if (nd(self)->flags & ND_OVERLAP) {
		r = layout_write_overlapping(self, value) ? NULL : Py_NewRef(self);
		goto out;
	}
	err.code = braze_assign(h, x.arg, &err);
	if (err.code)
		wait_raise(&err);
	else
		r = watch_reports() ? NULL : Py_NewRef(self);
out:
	operand_finish(&x);
	Py_DECREF(value);
	return r;
}

/* self op= o, where o is no operand of braze's: NumPy's operator, which tells what a
 * subclass of its arrays makes of it. */
static PyObject *inplace_foreign(int k, PyObject *a, PyObject *b)
{
	PyObject *args[2] = {a, b};
	char name[8];

	if (foreign_outranks(b, a, true))
		return left_to_numpy(k, args);
	PyOS_snprintf(name, sizeof name, "%s=", symbol[k]);
	return number_fallback(name, args, 2);
}

/* What is small and at hand is computed where it lies. */
static bool inplace_near(int k, PyObject *a, PyObject *b)
{
	struct operand x = {0};
	bool done = false;

	if (k == N_POWER || core.locked || nd(a)->flags & ND_OVERLAP)
		return false;
	if (nd_check(b) && nd(b)->h)
		x.arg.array = nd(b)->h;
	else if (!(PyFloat_CheckExact(b) || PyLong_CheckExact(b)) || convert_operand(&x, b) != 1)
		goto out;
	done = braze_in_place(nd(a)->h, core.op[k], &x.arg);
out:
	operand_finish(&x);
	PyErr_Clear();
	return done;
}

static PyObject *inplace(int k, PyObject *a, PyObject *b)
{
	bool writes = !(nd(a)->flags & ND_SCALAR) && nd(a)->h;
	PyObject *r = NULL;

	if (writes && layout_check_write(a, "output array"))
		return NULL;
	/* A scalar is immutable: the name gets the new value. */
	if (!writes)
		return k == N_POWER ? power(a, b, Py_None) : binary(k, a, b);
	if (!nd_check(b) && foreign_is(b))
		return inplace_foreign(k, a, b);
	if (inplace_near(k, a, b))
		return Py_NewRef(a);
	r = inplace_store(a, k == N_POWER ? power(a, b, Py_None) : binary(k, a, b));
	if (!r)
		types_first(k, a, b);
	return r;
}

static PyObject *inplace_power(PyObject *a, PyObject *b, PyObject *mod)
{
	return inplace(N_POWER, a, b);
}

static PyObject *inplace_matmul(PyObject *a, PyObject *b)
{
	PyObject *r = NULL;

	if (!nd(a)->h || nd(a)->flags & ND_SCALAR)
		return number_matmul(a, b);
	if (layout_check_write(a, "output array"))
		return NULL;
	if (foreign_is(b))
		return inplace_foreign(N_MATMUL, a, b);
	r = inplace_store(a, number_matmul(a, b));
	if (!r)
		types_first(N_MATMUL, a, b);
	return r;
}

static PyObject *as_number(PyObject *a)
{
	uint64_t bits[2];
	int dtype = -1;

	return convert_value(a, &dtype, bits) ? NULL : convert_number(dtype, bits);
}

/* From NumPy 2.4 on arrays of one element are no numbers, but for those without axes. */
static PyObject *as_one(PyObject *a)
{
	if (core.numpy < 204 || nd(a)->flags & ND_SCALAR || !type_ndim(a))
		return as_number(a);
	PyErr_SetString(PyExc_TypeError,
			"only 0-dimensional arrays can be converted to Python scalars");
	return NULL;
}

static PyObject *as_float(PyObject *a)
{
	PyObject *v = as_one(a), *r = NULL;

	if (v && PyComplex_CheckExact(v)) {
		/* NumPy's rule: the imaginary part goes, with a warning. */
		r = number_fallback("float", &a, 1);
	} else if (v && PyFloat_CheckExact(v)) {
		return v;
	} else if (v) {
		r = PyNumber_Float(v);
	}
	Py_XDECREF(v);
	return r;
}

static PyObject *as_int(PyObject *a)
{
	PyObject *v = NULL, *r = NULL;

	if (scalar_whole(&r, a))
		return r;
	v = as_one(a);
	if (v && PyComplex_CheckExact(v))
		r = number_fallback("int", &a, 1);
	else if (v)
		r = PyNumber_Long(v);
	Py_XDECREF(v);
	return r;
}

static int as_bool(PyObject *a)
{
	int64_t size = nd(a)->h ? braze_size(nd(a)->h) : 1;
	PyObject *v = NULL;
	int r = -1;

	if (!nd(a)->h && nd(a)->now.dtype <= BRAZE_UINT64)
		return nd(a)->now.bits[0] != 0;
	if (size != 1) {
		PyErr_SetString(PyExc_ValueError,
				size ? "The truth value of an array with more than one element is "
				       "ambiguous. Use a.any() or a.all()"
				     : "The truth value of an empty array is ambiguous. Use "
				       "`array.size > 0` to check that an array is not empty.");
		return -1;
	}
	v = as_number(a);
	if (v)
		r = PyObject_IsTrue(v);
	Py_XDECREF(v);
	return r;
}

#define BINARY(name, k)                                                                            \
	static PyObject *name(PyObject *a, PyObject *b)                                            \
	{                                                                                          \
		return binary(k, a, b);                                                            \
	}                                                                                          \
	static PyObject *inplace_##name(PyObject *a, PyObject *b)                                  \
	{                                                                                          \
		return inplace(k, a, b);                                                           \
	}
#define UNARY(name, k)                                                                             \
	static PyObject *name(PyObject *a)                                                         \
	{                                                                                          \
		return unary(k, a);                                                                \
	}

BINARY(add, N_ADD)
BINARY(subtract, N_SUBTRACT)
BINARY(true_divide, N_DIVIDE)
BINARY(floor_divide, N_FLOOR_DIVIDE)
BINARY(modulo, N_REMAINDER)
BINARY(lshift, N_LEFT_SHIFT)
BINARY(rshift, N_RIGHT_SHIFT)
BINARY(bit_and, N_AND)
BINARY(bit_or, N_OR)
BINARY(bit_xor, N_XOR)
UNARY(negative, N_NEGATIVE)
UNARY(positive, N_POSITIVE)
UNARY(absolute, N_ABSOLUTE)
UNARY(invert, N_INVERT)

static PyObject *multiply(PyObject *a, PyObject *b)
{
	return scalar_repeats(a, b) ? Py_NewRef(Py_NotImplemented) : binary(N_MULTIPLY, a, b);
}

static PyObject *inplace_multiply(PyObject *a, PyObject *b)
{
	/* n *= list: the interpreter asks a type with items no further. */
	return scalar_repeats(a, b) ? PyNumber_Multiply(a, b) : inplace(N_MULTIPLY, a, b);
}

PyType_Slot number_slots[] = {
	{Py_nb_add, add},
	{Py_nb_subtract, subtract},
	{Py_nb_multiply, multiply},
	{Py_nb_true_divide, true_divide},
	{Py_nb_floor_divide, floor_divide},
	{Py_nb_remainder, modulo},
	{Py_nb_divmod, divide_modulo},
	{Py_nb_power, power},
	{Py_nb_lshift, lshift},
	{Py_nb_rshift, rshift},
	{Py_nb_and, bit_and},
	{Py_nb_or, bit_or},
	{Py_nb_xor, bit_xor},
	{Py_nb_matrix_multiply, number_matmul},
	{Py_nb_negative, negative},
	{Py_nb_positive, positive},
	{Py_nb_absolute, absolute},
	{Py_nb_invert, invert},
	{Py_nb_inplace_add, inplace_add},
	{Py_nb_inplace_subtract, inplace_subtract},
	{Py_nb_inplace_multiply, inplace_multiply},
	{Py_nb_inplace_true_divide, inplace_true_divide},
	{Py_nb_inplace_floor_divide, inplace_floor_divide},
	{Py_nb_inplace_remainder, inplace_modulo},
	{Py_nb_inplace_power, inplace_power},
	{Py_nb_inplace_lshift, inplace_lshift},
	{Py_nb_inplace_rshift, inplace_rshift},
	{Py_nb_inplace_and, inplace_bit_and},
	{Py_nb_inplace_or, inplace_bit_or},
	{Py_nb_inplace_xor, inplace_bit_xor},
	{Py_nb_inplace_matrix_multiply, inplace_matmul},
	{Py_nb_bool, as_bool},
	{Py_nb_int, as_int},
	{Py_nb_float, as_float},
	{Py_nb_index, scalar_index},
	{0, NULL},
};
