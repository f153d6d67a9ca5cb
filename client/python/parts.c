/* SPDX-License-Identifier: Apache-2.0 */
/* parts.c - real and imaginary parts, and what is asked about them. */
#include "native.h"

#include <string.h>

static PyObject *general[2], *set_general[2]; /* in Python: a's real and imaginary part */

/* A component of a complex array, which is a view; NULL: none that is plain. */
static PyObject *component(PyObject *a, int which)
{
	int64_t strides[BRAZE_MAX_NDIM];
	braze_array *h = nd(a)->h, *out = NULL;
	bool single = type_dtype(a) == BRAZE_COMPLEX64;
	braze_error err;

	if (!h || nd(a)->flags & ND_SCALAR)
		return NULL;
	memcpy(strides, braze_strides(h), (size_t)braze_ndim(h) * sizeof *strides);
	if (braze_view(&out, h, single ? BRAZE_FLOAT32 : BRAZE_FLOAT64, braze_ndim(h),
		       braze_shape(h), strides, braze_offset(h) + (single ? 4 : 8) * which, &err))
		return NULL;
	return type_view(out, a);
}

/* Of real elements: zeros, which may not be written. */
static PyObject *no_part(PyObject *a)
{
	const uint64_t none[2] = {0, 0};
	braze_array *h = nd(a)->h, *out = NULL;
	braze_scalar zero = {.dtype = type_dtype(a)};
	braze_error err;

	if (nd(a)->flags & ND_SCALAR)
		return type_immediate(zero.dtype, none);
	if (!h || !braze_is_contiguous(h) ||
	    braze_full(&out, braze_session_of(h), zero.dtype, braze_ndim(h), braze_shape(h), zero,
		       &err))
		return NULL;
	return type_new(out, ND_READONLY);
}

/* NULL without an exception: it is Python's. */
static PyObject *part(PyObject *a, int which)
{
	if (core.locked)
		return NULL;
	if (type_dtype(a) >= BRAZE_COMPLEX64)
		return component(a, which);
	return which ? no_part(a) : Py_NewRef(a);
}

PyObject *parts_get(PyObject *a, void *which)
{
	int k = which != NULL;
	PyObject *made = part(a, k);

	if (made || PyErr_Occurred())
		return made;
	return PyObject_CallFunctionObjArgs(general[k], a, NULL);
}

int parts_set(PyObject *a, PyObject *value, void *which)
{
	PyObject *done = NULL;

	if (!value) {
		PyErr_Format(PyExc_AttributeError, "Cannot delete array %s part",
			     which ? "imaginary" : "real");
		return -1;
	}
	done = PyObject_CallFunctionObjArgs(set_general[which != NULL], a, value, NULL);
	Py_XDECREF(done);
	return done ? 0 : -1;
}

static bool part_of(PyObject **out, const struct call *c, int which)
{
	if (c->names || c->n != 1 || !nd_check(c->args[0]))
		return false;
	*out = part(c->args[0], which);
	return *out || PyErr_Occurred();
}

bool fast_real(PyObject **out, const struct fast *f, const struct call *c)
{
	return part_of(out, c, 0);
}

bool fast_imag(PyObject **out, const struct fast *f, const struct call *c)
{
	return part_of(out, c, 1);
}

/* Of real elements the answer is known. */
static bool known(PyObject **out, const struct call *c, bool answer)
{
	braze_array *h = c->names || c->n != 1 ? NULL : fast_array(c->args[0]), *made = NULL;
	const braze_scalar v = {.dtype = BRAZE_BOOL, .bits = {answer, 0}};
	braze_error err;

	if (!h || !braze_ndim(h) || !braze_is_contiguous(h) || braze_dtype_of(h) >= BRAZE_COMPLEX64)
		return false;
	return fast_new(out,
			braze_full(&made, braze_session_of(h), BRAZE_BOOL, braze_ndim(h),
				   braze_shape(h), v, &err),
			&made, 0);
}

bool fast_isreal(PyObject **out, const struct fast *f, const struct call *c)
{
	return known(out, c, true);
}

bool fast_iscomplex(PyObject **out, const struct fast *f, const struct call *c)
{
	return known(out, c, false);
}

/* parts_by(real, imag, set_real, set_imag): what the package knows of them. */
static PyObject *parts_by(PyObject *mod, PyObject *args)
{
	if (!PyArg_ParseTuple(args, "OOOO", &general[0], &general[1], &set_general[0],
			      &set_general[1]))
		return NULL;
	for (int k = 0; k < 2; k++) {
		Py_INCREF(general[k]);
		Py_INCREF(set_general[k]);
	}
	Py_RETURN_NONE;
}

PyMethodDef parts_methods[] = {
	{"parts_by", parts_by, METH_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};
