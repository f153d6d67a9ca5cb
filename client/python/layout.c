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

bool layout_of(int *axes, int ndim, const int64_t *strides)
{
	bool permuted = false;

	for (int i = 0; i < ndim; i++) {
		int k = i;

		while (k > 0 &&
		       layout_magnitude(strides[axes[k - 1]]) < layout_magnitude(strides[i])) {
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

/* ---- Elements that share memory ---- */

bool layout_overlap(int ndim, const int64_t *shape, const int64_t *strides, int64_t itemsize)
{
	int axes[BRAZE_MAX_NDIM];
	int64_t reach = itemsize;
	bool found = false;

	layout_of(axes, ndim, strides);
	for (int k = ndim - 1; k >= 0; k--) {
		int64_t extent = shape[axes[k]], step = layout_magnitude(strides[axes[k]]);

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
	nd(self)->flags &= (uint8_t)~ND_COUNTED;
	if (!braze_size(nd(self)->h) && (base || nd(view)->flags & ND_COUNTED))
		nd(self)->flags |= ND_COUNTED;
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

#define SHAPE_TEXT (BRAZE_MAX_NDIM * 21 + 3)

static const char *shape_of(char *text, braze_array *h)
{
	int n = braze_ndim(h), at = 0;

	for (int k = 0; k < n; k++)
		at += PyOS_snprintf(text + at, (size_t)(SHAPE_TEXT - at), "%s%lld", k ? "," : "(",
				    (long long)braze_shape(h)[k]);
	PyOS_snprintf(text + at, (size_t)(SHAPE_TEXT - at), "%s",
		      n == 0   ? "()"
		      : n == 1 ? ",)"
			       : ")");
	return text;
}

void layout_tell_shapes(braze_array *out, braze_array *made)
{
	char have[SHAPE_TEXT], want[SHAPE_TEXT];

	PyErr_Format(PyExc_ValueError,
		     "non-broadcastable output operand with shape %s doesn't match the broadcast "
		     "shape %s",
		     shape_of(have, out), shape_of(want, made));
}

/* ---- Parts of complex elements ---- */

/* Of a scalar without an array, each of whose parts has a word. */
static PyObject *part_now(const braze_scalar *now, int type, int which)
{
	const uint64_t bits[2] = {now->bits[which], 0};

	return type_immediate(type, bits);
}

static PyObject *part_view(PyObject *a, int type, int which)
{
	braze_array *h = type_handle(a), *out = NULL;
	int64_t delta = 0;
	PyObject *r = NULL;
	braze_error err;

	if (!h)
		return NULL;
	delta = which * (braze_itemsize(h) / 2);
	err.code = braze_view(&out, h, type, braze_ndim(h), braze_shape(h), braze_strides(h),
			      braze_offset(h) + delta, &err);
	if (err.code) {
		wait_raise(&err);
		return NULL;
	}
	r = type_view(out, a);
	if (r)
		nd(r)->flags |= nd(a)->flags & ND_OVERLAP;
	return r;
}

static PyObject *part(PyObject *a, int which)
{
	static const char *const name[] = {"real", "imag"};
	int type = 0;

	if (!nd_check(a))
		return expected();
	if (type_dtype(a) < BRAZE_COMPLEX64)
		return Py_NewRef(which ? Py_None : a);
	type = type_dtype(a) == BRAZE_COMPLEX64 ? BRAZE_FLOAT32 : BRAZE_FLOAT64;
	if (!nd(a)->h)
		return part_now(&nd(a)->now, type, which);
	if (nd(a)->flags & ND_SCALAR)
		return number_apply(braze_op_find(name[which]), &a, 1);
	return part_view(a, type, which);
}

/* real(a), imag(a): a view of these parts; of real elements a itself, and None */
static PyObject *real(PyObject *mod, PyObject *a)
{
	return part(a, 0);
}

static PyObject *imag(PyObject *mod, PyObject *a)
{
	return part(a, 1);
}

/* ---- What a.flags tells ---- */

/* Do the components of all elements lie on multiples of their size? */
static bool is_aligned(PyObject *a)
{
	braze_array *h = nd(a)->h;
	int64_t unit = 0;
	bool aligned = true;

	if (!h || !braze_size(h))
		return true;
	unit = braze_itemsize(h) / (type_dtype(a) >= BRAZE_COMPLEX64 ? 2 : 1);
	aligned = braze_offset(h) % unit == 0;
	for (int k = 0; k < braze_ndim(h) && aligned; k++)
		aligned = braze_shape(h)[k] == 1 || braze_strides(h)[k] % unit == 0;
	return aligned;
}

/* facts(a): the bits of numpy.ndarray.flags.num */
static PyObject *facts(PyObject *mod, PyObject *a)
{
	enum { OWN = 4, ALIGNED = 0x100, WRITE = 0x400 };
	static const unsigned long warn = 1ul << 31;
	unsigned flags = nd_check(a) ? nd(a)->flags : 0;

	if (!nd_check(a))
		return expected();
	return PyLong_FromUnsignedLong(
		(unsigned long)layout_orders(nd(a)->h) | (nd(a)->base ? 0ul : OWN) |
		(is_aligned(a) ? ALIGNED : 0ul) |
		(flags & (ND_SCALAR | ND_READONLY) ? 0ul : WRITE) |
		(!(flags & (ND_SCALAR | ND_READONLY)) && flags & ND_WARN ? warn : 0ul));
}

PyMethodDef layout_methods[] = {
	{"real", real, METH_O, NULL},
	{"imag", imag, METH_O, NULL},
	{"facts", facts, METH_O, NULL},
	{"writing", writing, METH_O, NULL},
	{"set_writing", set_writing, METH_VARARGS, NULL},
	{"orders", orders, METH_O, NULL},
	{"offset", offset, METH_O, NULL},
	{"address", address, METH_O, NULL},
	{"own", own, METH_O, NULL},
	{"become", become, METH_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};
