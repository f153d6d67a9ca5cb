/* SPDX-License-Identifier: Apache-2.0 */
/* brain.c - bfloat16, whose arrays are a class of Python's own over the bits (_bfloat16.py):
 * from bits to numbers, from numbers to bits, and products. */
#include "native.h"

PyObject *brain_elements(PyObject *o)
{
	PyObject *bits = NULL;

	if (nd_check(o) || !core.brains)
		return o;
	bits = PyObject_GetAttrString(o, "_bits");
	if (!bits)
		PyErr_Clear();
	Py_XDECREF(bits); /* o has it */
	return bits && nd_check(bits) ? bits : o;
}

/* The same memory as another type of as many bytes. */
static int as_type(braze_array **out, braze_array *a, int dtype, braze_error *err)
{
	return braze_view(out, a, dtype, braze_ndim(a), braze_shape(a), braze_strides(a),
			  braze_offset(a), err);
}

/* What was made, or the exception. */
static PyObject *given(int rc, braze_array *out, braze_error *err, bool scalar)
{
	if (!rc)
		return type_new(out, scalar ? ND_SCALAR : 0);
	err->code = rc;
	wait_raise(err);
	return NULL;
}

/* brain_numbers(bits): an array of uint16 as float32. */
static PyObject *numbers(PyObject *mod, PyObject *bits)
{
	braze_array *h = NULL, *brain = NULL, *out = NULL;
	braze_error err = {0};
	int rc = 0;

	if (!nd_check(bits) || type_dtype(bits) != BRAZE_UINT16) {
		PyErr_SetString(PyExc_TypeError, "the bits are an array of uint16");
		return NULL;
	}
	core.brains = true;
	h = type_handle(bits);
	if (!h)
		return NULL;
	rc = as_type(&brain, h, BRAZE_BFLOAT16, &err);
	if (!rc) {
		rc = braze_cast(&out, brain, BRAZE_FLOAT32, &err);
		braze_release(brain);
	}
	return given(rc, out, &err, nd(bits)->flags & ND_SCALAR);
}

/* brain_bits(array): numbers of any type, rounded; their bits. */
static PyObject *bits(PyObject *mod, PyObject *array)
{
	braze_array *h = NULL, *brain = NULL, *out = NULL;
	braze_error err = {0};
	int rc = 0;

	if (!nd_check(array)) {
		PyErr_SetString(PyExc_TypeError, "an array is wanted");
		return NULL;
	}
	core.brains = true;
	h = type_handle(array);
	if (!h)
		return NULL;
	rc = braze_cast(&brain, h, BRAZE_BFLOAT16, &err);
	if (!rc) {
		rc = as_type(&out, brain, BRAZE_UINT16, &err);
		braze_release(brain);
	}
	return given(rc, out, &err, nd(array)->flags & ND_SCALAR);
}

/* brain_matmul(bits, bits): the product of what they are, in float32; of arrays with axes. */
static PyObject *matmul(PyObject *mod, PyObject *args)
{
	PyObject *side[2];
	braze_array *brain[2] = {NULL}, *out = NULL;
	braze_error err = {0};
	int rc = 0;

	if (!PyArg_ParseTuple(args, "OO", &side[0], &side[1]))
		return NULL;
	for (int k = 0; k < 2 && !rc; k++) {
		braze_array *h = NULL;

		if (!nd_check(side[k]) || type_dtype(side[k]) != BRAZE_UINT16) {
			PyErr_SetString(PyExc_TypeError, "the bits are an array of uint16");
			rc = -1;
		} else if (!(h = type_handle(side[k]))) {
			rc = -1;
		} else {
			rc = as_type(&brain[k], h, BRAZE_BFLOAT16, &err);
		}
	}
	if (!rc)
		rc = braze_matmul(&out, brain[0], brain[1], &err);
	for (int k = 0; k < 2; k++)
		if (brain[k])
			braze_release(brain[k]);
	if (rc && PyErr_Occurred())
		return NULL;
	return given(rc, out, &err, !rc && !braze_ndim(out));
}

PyMethodDef brain_methods[] = {
	{"brain_numbers", numbers, METH_O, NULL},
	{"brain_bits", bits, METH_O, NULL},
	{"brain_matmul", matmul, METH_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};
