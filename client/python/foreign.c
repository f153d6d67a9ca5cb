/* SPDX-License-Identifier: Apache-2.0 */
/* foreign.c - operands that are neither arrays nor numbers of braze's or NumPy's.
 *
 * Subclasses of numpy.ndarray, data frames, arrays of other libraries: what an
 * operator means for them is theirs to say.  Objects that outrank arrays are asked first,
 * with braze's own array; all others, and those that know no such array, get NumPy's
 * operator, with braze's operands as NumPy arrays (braze/numpy/_operators.py). */
#include "core.h"

/* NumPy's own: an array's rank, and a scalar's, which is that of who names none. */
#define ARRAY_PRIORITY	0.0
#define SCALAR_PRIORITY -1000000.0

static PyObject *memmap; /* a subclass of numpy.ndarray that is nothing but data */

int foreign_init(PyObject *numpy)
{
	memmap = PyObject_GetAttrString(numpy, "memmap");
	return memmap ? 0 : -1;
}

bool foreign_plain(PyObject *o)
{
	PyObject *type = (PyObject *)Py_TYPE(o);

	return type == core.np_ndarray || type == memmap;
}

/* Of what convert_operand refuses: is it more than a type that braze lacks? */
bool foreign_is(PyObject *o)
{
	if (nd_check(o) || selection_check(o) || foreign_plain(o) || PyFloat_CheckExact(o) ||
	    PyLong_Check(o) || PyComplex_CheckExact(o) || PyList_CheckExact(o) ||
	    PyTuple_CheckExact(o))
		return false;
	return PyObject_IsInstance(o, core.np_generic) != 1;
}

static double priority(PyObject *o)
{
	PyObject *p = PyObject_GetAttrString(o, "__array_priority__");
	double d = p ? PyFloat_AsDouble(p) : SCALAR_PRIORITY;

	Py_XDECREF(p);
	if (!PyErr_Occurred())
		return d;
	PyErr_Clear();
	return SCALAR_PRIORITY;
}

bool foreign_outranks(PyObject *o, PyObject *self, bool inplace)
{
	double rank = nd(self)->flags & ND_SCALAR ? SCALAR_PRIORITY : ARRAY_PRIORITY;
	PyObject *u = NULL;

	if (!foreign_is(o))
		return false;
	u = PyObject_GetAttrString((PyObject *)Py_TYPE(o), "__array_ufunc__");
	if (u) {
		Py_DECREF(u);
		return u == Py_None && !inplace;
	}
	PyErr_Clear();
	return rank < priority(o);
}

bool foreign_refuse(int op, PyObject *const *args, Py_ssize_t n)
{
	char name[64];
	PyObject *r = NULL;

	PyOS_snprintf(name, sizeof name, "$%s", braze_op_name(op));
	r = number_fallback(name, args, n);
	Py_XDECREF(r);
	return !r;
}

/* use_array(f): what makes NumPy's array of any object, f(x, dtype=None) */
static PyObject *use_array(PyObject *mod, PyObject *f)
{
	Py_INCREF(f);
	Py_XDECREF(core.np_array);
	core.np_array = f;
	Py_RETURN_NONE;
}

static int holds(PyObject *o);

static int holds_any(PyObject *list)
{
	bool tuple = PyTuple_CheckExact(list);
	int found = 0;

	for (Py_ssize_t k = 0; !found && k < (tuple ? PyTuple_Size(list) : PyList_Size(list)); k++)
		found = holds(tuple ? PyTuple_GetItem(list, k) : PyList_GetItem(list, k));
	return found;
}

static int holds_value(PyObject *dict)
{
	PyObject *key = NULL, *value = NULL;
	Py_ssize_t at = 0;
	int found = 0;

	while (!found && PyDict_Next(dict, &at, &key, &value))
		found = holds(value);
	return found;
}

/* Is it an array of ours, or is one in it, or in what is in it?  -1: too deep. */
static int holds(PyObject *o)
{
	bool dict = PyDict_CheckExact(o);
	int found = 0;

	if (nd_check(o))
		return 1;
	if (!dict && !PyList_CheckExact(o) && !PyTuple_CheckExact(o))
		return 0;
	if (Py_EnterRecursiveCall(" while looking for arrays in a list"))
		return -1;
	found = dict ? holds_value(o) : holds_any(o);
	Py_LeaveRecursiveCall();
	return found;
}

static PyObject *holds_array(PyObject *mod, PyObject *o)
{
	int found = holds(o);

	return found < 0 ? NULL : PyBool_FromLong(found);
}

PyMethodDef foreign_methods[] = {
	{"holds", holds_array, METH_O, NULL},
	{"use_array", use_array, METH_O, NULL},
	{NULL, NULL, 0, NULL},
};
