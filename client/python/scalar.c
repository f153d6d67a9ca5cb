/* SPDX-License-Identifier: Apache-2.0 */
/* scalar.c - where Python asks a scalar what it is.
 *
 * A lazy scalar cannot be a float: C code reads a float's value where it lies, and
 * this one may not be computed yet.  But isinstance() asks an object for its class, and
 * there a scalar answers with the kind of number that NumPy's scalar is. */
#include "core.h"

#include <string.h>

static PyObject *kinds[N_DTYPES]; /* what scalars of each type say they are */

static bool is_scalar(PyObject *o)
{
	return nd_check(o) && nd(o)->flags & ND_SCALAR;
}

/* scalar_kinds(classes): in the order of braze's types. */
static PyObject *set_kinds(PyObject *mod, PyObject *classes)
{
	for (int d = 0; d < N_DTYPES; d++) {
		PyObject *kind = PySequence_GetItem(classes, d);

		if (!kind)
			return NULL;
		Py_XDECREF(kinds[d]);
		kinds[d] = kind;
	}
	Py_RETURN_NONE;
}

static PyObject *texts[2]; /* what Python makes of an array: repr, str */

/* A scalar's text is NumPy's scalar's. */
static PyObject *text_of(PyObject *self, int which)
{
	PyObject *x = NULL, *r = NULL;
	uint64_t bits[2];
	int dtype = -1;

	if (!is_scalar(self))
		return PyObject_CallFunctionObjArgs(texts[which], self, NULL);
	x = convert_value(self, &dtype, bits) ? NULL : convert_npscalar(dtype, bits);
	if (x)
		r = which ? PyObject_Str(x) : PyObject_Repr(x);
	Py_XDECREF(x);
	return r;
}

PyObject *scalar_repr(PyObject *self)
{
	return text_of(self, 0);
}

PyObject *scalar_str(PyObject *self)
{
	return text_of(self, 1);
}

/* texts_by(repr, str): of arrays. */
static PyObject *texts_by(PyObject *mod, PyObject *args)
{
	if (!PyArg_ParseTuple(args, "OO", &texts[0], &texts[1]))
		return NULL;
	Py_INCREF(texts[0]);
	Py_INCREF(texts[1]);
	Py_RETURN_NONE;
}

PyMethodDef scalar_methods[] = {
	{"texts_by", texts_by, METH_VARARGS, NULL},
	{"scalar_kinds", set_kinds, METH_O, NULL},
	{NULL, NULL, 0, NULL},
};

PyObject *scalar_class(PyObject *self, void *closure)
{
	PyObject *kind = nd(self)->flags & ND_SCALAR ? kinds[type_dtype(self)] : NULL;

	return Py_NewRef(kind ? kind : (PyObject *)Py_TYPE(self));
}

/* A list, a string and their like: they repeat, and know no other product. */
static bool repeats(PyObject *o)
{
	PyTypeObject *type = Py_TYPE(o);

	return !PyFloat_CheckExact(o) && !PyLong_CheckExact(o) && !nd_check(o) &&
	       PyType_GetSlot(type, Py_sq_repeat) && !PyType_GetSlot(type, Py_nb_multiply);
}

bool scalar_repeats(PyObject *a, PyObject *b)
{
	return (is_scalar(b) && repeats(a)) || (is_scalar(a) && repeats(b));
}

PyObject *scalar_index(PyObject *self)
{
	uint64_t bits[2];
	int dtype = type_dtype(self);
	bool of_scalar = nd(self)->flags & ND_SCALAR;

	if (type_ndim(self) || dtype > BRAZE_UINT64 || (dtype == BRAZE_BOOL && !of_scalar)) {
		PyErr_SetString(PyExc_TypeError,
				of_scalar
					? "only integer scalar arrays can be converted to a scalar "
					  "index; int(x) or float(x) makes a number of this one"
					: "only integer scalar arrays can be converted to a scalar "
					  "index");
		return NULL;
	}
	if (dtype == BRAZE_BOOL &&
	    PyErr_WarnEx(PyExc_DeprecationWarning,
			 "In future, it will be an error for 'np.bool' scalars to be interpreted "
			 "as an index",
			 1))
		return NULL;
	return convert_value(self, &dtype, bits)
		       ? NULL
		       : (dtype == BRAZE_BOOL ? PyLong_FromLong(bits[0] != 0)
					      : convert_number(dtype, bits));
}

/* The value as Python's number, which is waited for. */
static PyObject *number_of(PyObject *self)
{
	uint64_t bits[2];
	int dtype = -1;

	return convert_value(self, &dtype, bits) ? NULL : convert_number(dtype, bits);
}

bool scalar_whole(PyObject **out, PyObject *a)
{
	double d = 0;

	if (nd(a)->h || nd(a)->now.dtype != BRAZE_FLOAT64)
		return false;
	memcpy(&d, nd(a)->now.bits, sizeof d);
	*out = PyLong_FromDouble(d);
	return true;
}

static bool is_nan(PyObject *x)
{
	double real = 0, imag = 0;

	if (PyFloat_CheckExact(x)) {
		real = PyFloat_AsDouble(x);
	} else if (PyComplex_CheckExact(x)) {
		real = PyComplex_RealAsDouble(x);
		imag = PyComplex_ImagAsDouble(x);
	}
	return real != real || imag != imag;
}

/* That of the number that it equals.  A NaN equals nothing, and is found as the object that it is.
 */
Py_hash_t scalar_hash(PyObject *self)
{
	Py_hash_t hash = -1;
	PyObject *x = NULL;

	if (!is_scalar(self)) {
		PyErr_SetString(PyExc_TypeError, "unhashable type: 'braze.numpy.ndarray'");
		return -1;
	}
	x = number_of(self);
	if (x)
		hash = is_nan(x) ? (Py_hash_t)((uintptr_t)self >> 4) : PyObject_Hash(x);
	Py_XDECREF(x);
	return hash;
}

/* x.__format__(text): a number's by Python's number, as NumPy does it, an array's by NumPy's array.
 */
PyObject *scalar_format(PyObject *self, PyObject *text)
{
	PyObject *x = is_scalar(self) ? number_of(self)
				      : PyObject_CallFunctionObjArgs(core.np_array, self, NULL);
	PyObject *r = x ? PyObject_Format(x, text) : NULL;

	Py_XDECREF(x);
	return r;
}
