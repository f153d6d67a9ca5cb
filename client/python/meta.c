/* SPDX-License-Identifier: Apache-2.0 */
/* meta.c - the type of ndarray.
 *
 * Programs guard with isinstance(x, ndarray).  What braze leaves to NumPy (strings,
 * records, long doubles, masked arrays, ...) are arrays as well, so numpy.ndarray and
 * what derives from it pass such guards. */
#include "core.h"

/* One of the two questions, asked of NumPy's type when type's own answer is no. */
static PyObject *ask(PyObject *self, PyObject *x, const char *name,
		     int (*of_numpy)(PyObject *, PyObject *))
{
	PyObject *r = PyObject_CallMethod((PyObject *)&PyType_Type, name, "OO", self, x);
	int found = r ? PyObject_IsTrue(r) : -1;

	Py_XDECREF(r);
	if (!found)
		found = of_numpy(x,
				 self == (PyObject *)core.type ? core.np_ndarray : core.np_ufunc);
	return found < 0 ? NULL : PyBool_FromLong(found);
}

static PyObject *instance_check(PyObject *self, PyObject *x)
{
	return ask(self, x, "__instancecheck__", PyObject_IsInstance);
}

static PyObject *subclass_check(PyObject *self, PyObject *x)
{
	return ask(self, x, "__subclasscheck__", PyObject_IsSubclass);
}

static PyMethodDef methods[] = {
	{"__instancecheck__", instance_check, METH_O, NULL},
	{"__subclasscheck__", subclass_check, METH_O, NULL},
	{NULL, NULL, 0, NULL},
};

/* class C(ndarray): an array is a name of what the daemon holds, not an object's memory. */
static PyObject *derive(PyTypeObject *meta, PyObject *args, PyObject *kw)
{
	PyErr_SetString(PyExc_TypeError,
			"braze.numpy.ndarray cannot be derived from; derive from numpy.ndarray: "
			"such arrays are left to NumPy");
	return NULL;
}

int meta_ufunc(PyTypeObject *type)
{
	PyType_Slot slots[] = {
		{Py_tp_methods, methods},
		{Py_tp_doc, "The type of braze.numpy.ufunc."},
		{0, NULL},
	};
	PyType_Spec spec = {
		.name = "braze.numpy.ufunc_type", .flags = Py_TPFLAGS_DEFAULT, .slots = slots};
	PyObject *meta = PyType_FromSpecWithBases(&spec, (PyObject *)&PyType_Type);

	if (!meta)
		return -1;
	Py_SET_TYPE((PyObject *)type, (PyTypeObject *)meta); /* takes the reference */
	return 0;
}

/* No constructor of the stable interface of Python 3.11 takes a metaclass; a type
 * that nothing was made of yet may change its own. */
int meta_init(void)
{
	PyType_Slot slots[] = {
		{Py_tp_methods, methods},
		{Py_tp_new, derive},
		{Py_tp_doc, "The type of braze.numpy.ndarray."},
		{0, NULL},
	};
	PyType_Spec spec = {
		.name = "braze.numpy.ndarray_type", .flags = Py_TPFLAGS_DEFAULT, .slots = slots};
	PyObject *meta = PyType_FromSpecWithBases(&spec, (PyObject *)&PyType_Type);

	if (!meta)
		return -1;
	Py_SET_TYPE((PyObject *)core.type, (PyTypeObject *)meta); /* takes the reference */
	return 0;
}
