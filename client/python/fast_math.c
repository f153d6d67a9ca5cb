/* SPDX-License-Identifier: Apache-2.0 */
/* fast_math.c - functions of elements and products that are no ufuncs (those are ufunc.c's). */
#include "native.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of Python's and arrays of ours: nothing that NumPy would interpret. */
static bool is_operand(PyObject *o)
{
	return nd_check(o) || PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyBool_Check(o);
}

/* The operation; false where its error is one that Python tells otherwise. */
static bool applied(PyObject **out, int op, PyObject *const *args, Py_ssize_t n)
{
	*out = number_apply(op, args, n);
	if (*out || !(PyErr_ExceptionMatches(PyExc_OverflowError) ||
		      PyErr_ExceptionMatches(PyExc_ValueError)))
		return true;
	/* Of an integer that the type has not, of shapes: NumPy has rules for which it tells of. */
	PyErr_Clear();
	return false;
}

bool fast_clip(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];

	if (!fast_bind(slot, f, c) || fast_absent(slot[1]) || fast_absent(slot[2]))
		return false;
	if (!fast_array(slot[0]))
		return arith_clip(out, slot) || fast_numpys(out, f, c);
	if (!is_operand(slot[1]) || !is_operand(slot[2]))
		return false;
	return applied(out, f->op, slot, 3);
}

bool fast_where(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *made = NULL;

	if (c->names || c->n != 3 || !fast_array(c->args[0]) || !is_operand(c->args[1]) ||
	    !is_operand(c->args[2]))
		return false;
	if (!applied(&made, f->op, c->args, 3))
		return false;
	/* No ufunc: an array, never a scalar. */
	*out = made && nd_check(made) && !type_ndim(made) ? index_get(made, Py_Ellipsis)
							  : Py_XNewRef(made);
	Py_XDECREF(made);
	return true;
}

/* A vector or matrix, which products take as they are. */
static bool is_factor(PyObject *o)
{
	braze_array *h = fast_array(o);

	return h && (braze_ndim(h) == 1 || braze_ndim(h) == 2);
}

bool fast_dot(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];

	/* It reports no floating-point errors: where they are watched, Python knows how. */
	if (!fast_bind(slot, f, c) || !slot[1] || !is_factor(slot[0]) || !is_factor(slot[1]) ||
	    core.watching)
		return false;
	*out = number_matmul(slot[0], slot[1]);
	if (*out || !PyErr_ExceptionMatches(PyExc_ValueError))
		return true;
	PyErr_Clear(); /* told in the function's words */
	return false;
}

/* Of two vectors; the first factor of vdot's is conjugated. */
bool fast_inner(PyObject **out, const struct fast *f, const struct call *c)
{
	braze_array *a = NULL, *b = NULL;

	if (c->names || c->n != 2 || core.watching || !(a = fast_array(c->args[0])) ||
	    !(b = fast_array(c->args[1])) || braze_ndim(a) != 1 || braze_ndim(b) != 1 ||
	    braze_size(a) != braze_size(b) || braze_dtype_of(a) >= BRAZE_COMPLEX64)
		return false;
	*out = number_matmul(c->args[0], c->args[1]);
	return true;
}

/* h in one axis, or with a second one of extent 1. */
static braze_array *in_line(braze_array *h, int ndim)
{
	const int64_t shape[2] = {braze_size(h), 1};
	braze_array *made = NULL;
	braze_error err;

	return braze_reshape(&made, h, ndim, shape, &err) ? NULL : made;
}

bool fast_outer(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	braze_array *made = NULL;
	braze_arg arg[2] = {{0}};
	braze_error err;
	int rc = -1;

	if (!fast_bind(slot, f, c) || !slot[1] || !is_factor(slot[0]) || !is_factor(slot[1]))
		return false;
	arg[0].array = in_line(nd(slot[0])->h, 2);
	arg[1].array = in_line(nd(slot[1])->h, 1);
	if (arg[0].array && arg[1].array)
		rc = braze_apply(&made, braze_session_of(nd(slot[0])->h), f->op, 2, arg, &err);
	braze_release(arg[0].array);
	braze_release(arg[1].array);
	return fast_new(out, rc, &made, 0);
}

/* NumPy's way: the power of ten is a number of Python's, and exact up to here. */
#define ROUND_MOST 8

/* NumPy's result is in C order, or Fortran's, whatever lies between; steals it. */
static PyObject *in_c_order(PyObject *r)
{
	braze_array *h = fast_array(r), *made = NULL;
	braze_error err;

	if (!h || !layout_matters(h) || layout_orders(h) & LAYOUT_F || braze_copy(&made, h, &err))
		return r;
	Py_DECREF(r);
	return type_new(made, 0);
}

static PyObject *rounded(PyObject *a, int op, int64_t decimals)
{
	PyObject *power = NULL, *slot[2] = {a, NULL}, *scaled = NULL, *whole = NULL, *r = NULL;
	double ten = 1;

	for (int64_t k = 0; k < llabs(decimals); k++)
		ten *= 10;
	power = slot[1] = PyFloat_FromDouble(ten);
	if (power)
		scaled = number_apply(core.op[decimals > 0 ? N_MULTIPLY : N_DIVIDE], slot, 2);
	if (scaled)
		whole = number_apply(op, &scaled, 1);
	slot[0] = whole;
	if (whole)
		r = number_apply(core.op[decimals > 0 ? N_DIVIDE : N_MULTIPLY], slot, 2);
	Py_XDECREF(power);
	Py_XDECREF(scaled);
	Py_XDECREF(whole);
	return r ? in_c_order(r) : NULL;
}

bool fast_round(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	int64_t decimals = 0;
	int dtype = 0;

	if (!fast_bind(slot, f, c) || (slot[1] && !fast_int(&decimals, slot[1])))
		return false;
	if (!fast_array(slot[0]))
		return arith_round(out, slot[0], decimals) || fast_numpys(out, f, c);
	if ((decimals && (llabs(decimals) > ROUND_MOST || core.watching)))
		return false;
	dtype = type_dtype(slot[0]);
	if (dtype < (decimals ? BRAZE_FLOAT32 : BRAZE_FLOAT16) || dtype > BRAZE_FLOAT64)
		return false;
	*out = decimals ? rounded(slot[0], f->op, decimals) : number_apply(f->op, slot, 1);
	return true;
}

/* round(x) and round(x, decimals), of a scalar. */
bool fast_rounded(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	int64_t decimals = 0;
	double d = 0;

	if (!fast_bind(slot, f, c) || nd(slot[0])->h)
		return false;
	if (!fast_absent(slot[1]))
		return fast_int(&decimals, slot[1]) && arith_round(out, slot[0], decimals);
	if (nd(slot[0])->now.dtype != BRAZE_FLOAT64)
		return false;
	memcpy(&d, nd(slot[0])->now.bits, sizeof d);
	*out = PyLong_FromDouble(rint(d));
	return true;
}

/* May a number be written into the array without any of NumPy's rules: a float into what takes it,
 * or an int into what takes any? */
static bool takes(braze_array *h, PyObject *x)
{
	int dtype = braze_dtype_of(h);

	return dtype == BRAZE_FLOAT64 ? PyFloat_CheckExact(x) || PyLong_CheckExact(x)
				      : dtype == BRAZE_INT64 && PyLong_CheckExact(x);
}

/* (dst, src) of one type, or of a number. */
bool fast_copyto(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	braze_array *dst = NULL, *src = NULL;
	int64_t whole = 0;

	if (!fast_bind(slot, f, c) || !slot[1] || !(dst = fast_array(slot[0])) ||
	    nd(slot[0])->flags)
		return false;
	if (takes(dst, slot[1]) && (PyFloat_CheckExact(slot[1]) || fast_int(&whole, slot[1]))) {
		*out = index_assign(dst, slot[1]) ? NULL : Py_NewRef(Py_None);
		return true;
	}
	src = fast_array(slot[1]);
	if (!src || braze_dtype_of(src) != braze_dtype_of(dst) || !fast_store(slot[0], slot[1]))
		return false;
	*out = Py_NewRef(Py_None);
	return true;
}

bool fast_fill(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	braze_array *h = NULL;

	if (!fast_bind(slot, f, c) || !slot[1] || !(h = fast_array(slot[0])) ||
	    nd(slot[0])->flags || !takes(h, slot[1]))
		return false;
	*out = index_assign(h, slot[1]) ? NULL : Py_NewRef(Py_None);
	return true;
}
