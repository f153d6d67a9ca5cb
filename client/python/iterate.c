/* SPDX-License-Identifier: Apache-2.0 */
/* iterate.c - one element, or row, of an array after the other.
 *
 * As Python's iterator of sequences, without a number for each place; elements that are written
 * meanwhile are seen. */
#include "core.h"

struct walk {
	PyObject_HEAD PyObject *array; /* NULL: at the end */
	Py_ssize_t at;
};

static PyTypeObject *walk_type;

PyObject *iterate_over(PyObject *array)
{
	struct walk *self = PyObject_Malloc(sizeof *self);

	if (!self)
		return PyErr_NoMemory();
	PyObject_Init((PyObject *)self, walk_type);
	self->array = Py_NewRef(array);
	self->at = 0;
	return (PyObject *)self;
}

static void walk_dealloc(PyObject *o)
{
	PyTypeObject *type = Py_TYPE(o);

	Py_XDECREF(((struct walk *)o)->array);
	PyObject_Free(o);
	Py_DECREF(type);
}

static Py_ssize_t extent(const struct walk *self)
{
	braze_array *h = self->array ? nd(self->array)->h : NULL;

	return h && braze_ndim(h) ? (Py_ssize_t)braze_shape(h)[0] : 0;
}

static PyObject *walk_next(PyObject *o)
{
	struct walk *self = (struct walk *)o;

	if (self->at < extent(self))
		return index_item(self->array, self->at++);
	Py_CLEAR(self->array);
	return NULL;
}

static PyObject *length_hint(PyObject *o, PyObject *ignored)
{
	const struct walk *self = (const struct walk *)o;
	Py_ssize_t n = extent(self);

	return PyLong_FromSsize_t(n > self->at ? n - self->at : 0);
}

/* Pickled and copied as Python's iterator of sequences is. */
static PyObject *reduce(PyObject *o, PyObject *ignored)
{
	const struct walk *self = (const struct walk *)o;
	PyObject *builtins = PyImport_ImportModule("builtins"), *r = NULL;
	PyObject *iter = builtins ? PyObject_GetAttrString(builtins, "iter") : NULL;

	if (iter && self->array)
		r = Py_BuildValue("O(O)n", iter, self->array, self->at);
	else if (iter)
		r = Py_BuildValue("O(())", iter);
	Py_XDECREF(iter);
	Py_XDECREF(builtins);
	return r;
}

static PyObject *setstate(PyObject *o, PyObject *at)
{
	Py_ssize_t k = PyLong_AsSsize_t(at);

	if (k == -1 && PyErr_Occurred())
		return NULL;
	((struct walk *)o)->at = k < 0 ? 0 : k;
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
	{"__length_hint__", length_hint, METH_NOARGS, NULL},
	{"__reduce__", reduce, METH_NOARGS, NULL},
	{"__setstate__", setstate, METH_O, NULL},
	{NULL, NULL, 0, NULL},
};

int iterate_init(void)
{
	PyType_Slot slots[] = {
		{Py_tp_dealloc, walk_dealloc},
		{Py_tp_iter, PyObject_SelfIter},
		{Py_tp_iternext, walk_next},
		{Py_tp_methods, methods},
		{0, NULL},
	};
	PyType_Spec spec = {.name = "braze.numpy.iterator",
			    .basicsize = sizeof(struct walk),
			    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
			    .slots = slots};

	walk_type = (PyTypeObject *)PyType_FromSpec(&spec);
	return walk_type ? 0 : -1;
}
