/* SPDX-License-Identifier: Apache-2.0 */
/* layout.c - who may write an array, and the order in which its axes lie.
 *
 * The type's flags say whether an array may be written; every writer asks here.  A
 * layout is an order of axes, the outermost first: a new array of that layout is a
 * C-contiguous one whose axes are permuted, and which owns its buffer all the same. */
#include "core.h"

#include <stdlib.h>

int layout_refuse(PyObject *self, const char *what)
{
	uint8_t flags = nd(self)->flags;

	if (flags & ND_SCALAR) {
		PyErr_SetString(PyExc_TypeError,
				"a scalar result does not support item assignment");
		return -1;
	}
	if (flags & ND_READONLY) {
		PyErr_Format(PyExc_ValueError, "%s is read-only", what);
		return -1;
	}
	if (!(flags & ND_WARN))
		return 0;
	/* Once for each array, as NumPy does it. */
	nd(self)->flags &= (uint8_t)~ND_WARN;
	return PyErr_WarnEx(
		PyExc_DeprecationWarning,
		"the array is one of several that np.broadcast_arrays stretched: what "
		"is written may show at many places. Set its writeable flag, or copy it "
		"first.",
		1);
}

/* ---- Orders of axes ---- */

static int64_t magnitude(int64_t v)
{
	return v < 0 ? -v : v;
}

bool layout_of(int *axes, int ndim, const int64_t *strides)
{
	bool permuted = false;

	for (int i = 0; i < ndim; i++) {
		int k = i;

		while (k > 0 && magnitude(strides[axes[k - 1]]) < magnitude(strides[i])) {
			axes[k] = axes[k - 1];
			k--;
		}
		axes[k] = i;
	}
	for (int i = 0; i < ndim; i++)
		permuted |= axes[i] != i;
	return permuted;
}

braze_array *layout_permuted(braze_array *made, const int *axes, int ndim, braze_error *err)
{
	int back[BRAZE_MAX_NDIM];
	braze_array *r = NULL;

	for (int i = 0; i < ndim; i++)
		back[axes[i]] = i;
	err->code = braze_transpose(&r, made, back, err);
	braze_release(made);
	return err->code ? NULL : r;
}

/* ---- Results in their operands' order ---- */

#define OPERANDS 3

/* The operands' strides over the result's axes; 0 where one is stretched. */
struct walk {
	int ndim, nop;
	int64_t step[OPERANDS][BRAZE_MAX_NDIM];
};

static void walk_begin(struct walk *w, int n, const braze_arg *arg)
{
	*w = (struct walk){0};
	for (int i = 0; i < n; i++)
		if (arg[i].array && braze_ndim(arg[i].array) > w->ndim)
			w->ndim = braze_ndim(arg[i].array);
	for (int i = 0; i < n; i++) {
		braze_array *h = arg[i].array;
		int lead = h ? w->ndim - braze_ndim(h) : 0;

		for (int k = 0; h && k < braze_ndim(h); k++)
			if (braze_shape(h)[k] != 1)
				w->step[w->nop][lead + k] = magnitude(braze_strides(h)[k]);
		w->nop += h != NULL;
	}
}

/* Does axis a lie outside of axis b?  1 yes, 0 no (where operands differ C order wins),
 * -1 no operand tells. */
static int outside(const struct walk *w, int a, int b)
{
	int r = -1;

	for (int i = 0; i < w->nop; i++) {
		int64_t x = w->step[i][a], y = w->step[i][b];

		if (!x || !y)
			continue;
		if (y <= x)
			return 1;
		r = 0;
	}
	return r < 0 ? -1 : r;
}

/* The result's layout, by the insertion sort that NumPy's iterator does from the last
 * axis to the first; false: C order. */
static bool walk_layout(int *axes, const struct walk *w)
{
	int n = w->ndim;
	bool permuted = false;

	for (int i = n - 1; i >= 0; i--) {
		int to = i;

		axes[i] = i;
		for (int k = i + 1; k < n; k++) {
			int r = outside(w, i, axes[k]);

			if (r == 1)
				break;
			if (r == 0)
				to = k;
		}
		for (int k = i; k < to; k++)
			axes[k] = axes[k + 1];
		axes[to] = i;
	}
	for (int i = 0; i < n; i++)
		permuted |= axes[i] != i;
	return permuted;
}

/* An operand with the result's axes, in the order of its layout. */
static int reordered(braze_array **out, braze_array *h, const int *axes, int n, braze_error *err)
{
	int64_t shape[BRAZE_MAX_NDIM], strides[BRAZE_MAX_NDIM];
	int lead = n - braze_ndim(h);

	for (int k = 0; k < n; k++) {
		int from = axes[k] - lead;

		shape[k] = from < 0 ? 1 : braze_shape(h)[from];
		strides[k] = from < 0 ? 0 : braze_strides(h)[from];
	}
	return braze_view(out, h, braze_dtype_of(h), n, shape, strides, braze_offset(h), err);
}

int layout_apply(braze_array **out, braze_session *s, int op, int n, const braze_arg *arg,
		 braze_error *err)
{
	braze_array *view[OPERANDS] = {NULL};
	braze_arg moved[OPERANDS];
	int axes[BRAZE_MAX_NDIM], rc = 0;
	struct walk w;

	walk_begin(&w, n, arg);
	if (!walk_layout(axes, &w))
		return braze_apply(out, s, op, n, arg, err);
	for (int i = 0; i < n && !rc; i++) {
		moved[i] = arg[i];
		if (!arg[i].array || !braze_ndim(arg[i].array))
			continue;
		rc = reordered(&view[i], arg[i].array, axes, w.ndim, err);
		moved[i].array = view[i];
	}
	if (!rc)
		rc = braze_apply(out, s, op, n, moved, err);
	if (!rc) {
		*out = layout_permuted(*out, axes, w.ndim, err);
		rc = *out ? 0 : err->code;
	}
	for (int i = 0; i < n; i++)
		braze_release(view[i]);
	/* What does not fit is told of the operands as they are. */
	return rc ? braze_apply(out, s, op, n, arg, err) : 0;
}

/* ---- Elements that share memory ---- */

bool layout_overlap(int ndim, const int64_t *shape, const int64_t *strides, int64_t itemsize)
{
	int axes[BRAZE_MAX_NDIM];
	int64_t reach = itemsize;
	bool found = false;

	layout_of(axes, ndim, strides);
	for (int k = ndim - 1; k >= 0; k--) {
		int64_t extent = shape[axes[k]], step = magnitude(strides[axes[k]]);

		if (!extent)
			return false;
		found |= extent > 1 && step < reach;
		reach += (extent - 1) * step;
	}
	return found;
}

int layout_write_overlapping(PyObject *self, PyObject *value)
{
	PyObject *r = PyObject_CallFunctionObjArgs(core.setitem, self, Py_Ellipsis, value, NULL);

	Py_XDECREF(r);
	return r ? 0 : -1;
}

/* ---- For the package ---- */

static PyObject *expected(void)
{
	PyErr_SetString(PyExc_TypeError, "a braze array is expected");
	return NULL;
}

/* writing(a): 0 may be written, 1 may not, 2 is stretched and warns when written */
static PyObject *writing(PyObject *mod, PyObject *a)
{
	if (!nd_check(a))
		return expected();
	return PyLong_FromLong(nd(a)->flags & (ND_SCALAR | ND_READONLY) ? 1
			       : nd(a)->flags & ND_WARN			? 2
									: 0);
}

/* set_writing(a, state): returns a */
static PyObject *set_writing(PyObject *mod, PyObject *args)
{
	PyObject *a = NULL;
	int state = 0;

	if (!PyArg_ParseTuple(args, "Oi", &a, &state))
		return NULL;
	if (!nd_check(a))
		return expected();
	if (state != 1 && nd(a)->h && braze_is_frozen(nd(a)->h))
		return PyErr_Format(PyExc_ValueError,
				    "cannot set WRITEABLE flag to True of this array");
	nd(a)->flags &= (uint8_t) ~(ND_READONLY | ND_WARN);
	nd(a)->flags |= state == 1 ? ND_READONLY : state == 2 ? ND_WARN : 0;
	return Py_NewRef(a);
}

static bool follows(braze_array *h, bool fortran)
{
	const int64_t *shape = braze_shape(h), *strides = braze_strides(h);
	int64_t want = braze_itemsize(h);
	int n = braze_ndim(h);

	for (int k = 0; k < n; k++) {
		int i = fortran ? k : n - 1 - k;

		if (shape[i] != 1 && strides[i] != want)
			return false;
		want *= shape[i];
	}
	return true;
}

unsigned layout_orders(braze_array *h)
{
	if (!h || !braze_size(h))
		return LAYOUT_C | LAYOUT_F;
	return (follows(h, false) ? LAYOUT_C : 0) | (follows(h, true) ? LAYOUT_F : 0);
}

/* orders(a): 1 for C-contiguous, 2 for Fortran-contiguous, 3 for both */
static PyObject *orders(PyObject *mod, PyObject *a)
{
	return nd_check(a) ? PyLong_FromUnsignedLong(layout_orders(nd(a)->h)) : expected();
}

/* offset(a): bytes from the buffer's start to the first element */
static PyObject *offset(PyObject *mod, PyObject *a)
{
	if (!nd_check(a))
		return expected();
	return PyLong_FromLongLong(nd(a)->h ? braze_offset(nd(a)->h) : 0);
}

/* address(a): of the first element; waits for the value */
static PyObject *address(PyObject *mod, PyObject *a)
{
	const void *data = NULL;

	if (!nd_check(a))
		return expected();
	if (!type_handle(a))
		return NULL;
	data = wait_data(nd(a)->h);
	return data ? PyLong_FromVoidPtr((void *)data) : NULL;
}

/* own(a): a view of a buffer that no other object has is its owner; returns a */
static PyObject *own(PyObject *mod, PyObject *a)
{
	PyObject *base = NULL;

	if (!nd_check(a))
		return expected();
	base = nd(a)->base;
	nd(a)->base = NULL;
	Py_XDECREF(base);
	return Py_NewRef(a);
}

void layout_become(PyObject *self, PyObject *view)
{
	braze_array *h = nd(self)->h;
	PyObject *base = nd(view)->base;

	nd(self)->h = nd(view)->h;
	nd(view)->h = h;
	/* The view's base may be self: what it keeps is the old handle only. */
	nd(view)->base = NULL;
	nd(self)->peeked = false;
	Py_XDECREF(base);
}

/* become(a, view): a has the view's handle; the view, which must be new, is lost */
static PyObject *become(PyObject *mod, PyObject *args)
{
	PyObject *a = NULL, *view = NULL;

	if (!PyArg_ParseTuple(args, "OO", &a, &view))
		return NULL;
	if (!nd_check(a) || !nd_check(view))
		return expected();
	if (!type_handle(a) || !type_handle(view))
		return NULL;
	layout_become(a, view);
	Py_RETURN_NONE;
}

PyMethodDef layout_methods[] = {
	{"writing", writing, METH_O, NULL},	{"set_writing", set_writing, METH_VARARGS, NULL},
	{"orders", orders, METH_O, NULL},	{"offset", offset, METH_O, NULL},
	{"address", address, METH_O, NULL},	{"own", own, METH_O, NULL},
	{"become", become, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL},
};
