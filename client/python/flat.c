/* SPDX-License-Identifier: Apache-2.0 */
/* flat.c - the elements of an array in C order, one by one: what a.flat goes on by.
 *
 * braze/numpy/_flat.py derives from it.  The elements are read when they are asked for, so
 * that what was written meanwhile is seen. */
#include "core.h"

#include <structmember.h>

struct elements {
	PyObject_HEAD PyObject *base;
	PyObject *row; /* the elements on one axis, where that is a view */
	Py_ssize_t at; /* of the next */
};

static struct elements *elements(PyObject *o)
{
	return (struct elements *)o;
}

static int elements_init(PyObject *o, PyObject *args, PyObject *kw)
{
	struct elements *self = elements(o);
	PyObject *base = NULL, *old[2] = {self->base, self->row};

	if (!PyArg_ParseTuple(args, "O!", core.type, &base))
		return -1;
	self->base = Py_NewRef(base);
	self->row = NULL;
	self->at = 0;
	Py_XDECREF(old[0]);
	Py_XDECREF(old[1]);
	return 0;
}

static void elements_dealloc(PyObject *o)
{
	PyTypeObject *type = Py_TYPE(o);

	Py_XDECREF(elements(o)->base);
	Py_XDECREF(elements(o)->row);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(o);
	Py_DECREF(type);
}

/* A view of all elements on one axis; NULL without an exception: there is none. */
static PyObject *row_of(PyObject *base)
{
	int64_t size = 0;
	braze_array *h = type_handle(base), *out = NULL;
	braze_error err;

	if (!h || !(layout_orders(h) & LAYOUT_C))
		return NULL;
	size = braze_size(h);
	err.code = braze_reshape(&out, h, 1, &size, &err);
	if (!err.code)
		return type_view(out, base);
	wait_raise(&err);
	return NULL;
}

/* The places of an element on the axes. */
static PyObject *places(PyObject *base, int64_t at)
{
	int ndim = type_ndim(base);
	PyObject *t = PyTuple_New(ndim);

	for (int k = ndim - 1; t && k >= 0; k--) {
		int64_t n = braze_shape(nd(base)->h)[k];
		PyObject *i = PyLong_FromLongLong(at % n);

		at /= n;
		if (!i || PyTuple_SetItem(t, k, i))
			Py_CLEAR(t);
	}
	return t;
}

static PyObject *elements_next(PyObject *o)
{
	struct elements *self = elements(o);
	PyObject *base = self->base, *key = NULL, *r = NULL;

	if (!base || !type_handle(base) || self->at >= braze_size(nd(base)->h))
		return NULL;
	if (!self->row)
		self->row = row_of(base);
	if (self->row) {
		r = index_item(self->row, self->at);
	} else if (!PyErr_Occurred() && (key = places(base, self->at))) {
		r = index_get(base, key);
		Py_DECREF(key);
	}
	self->at += r != NULL;
	return r;
}

static PyMemberDef members[] = {
	{"base", T_OBJECT, offsetof(struct elements, base), READONLY, NULL},
	{"_at", T_PYSSIZET, offsetof(struct elements, at), 0, NULL},
	{NULL, 0, 0, 0, NULL},
};

int flat_init(PyObject *module)
{
	PyType_Slot slots[] = {
		{Py_tp_init, elements_init},	 {Py_tp_dealloc, elements_dealloc},
		{Py_tp_members, members},	 {Py_tp_iter, PyObject_SelfIter},
		{Py_tp_iternext, elements_next}, {0, NULL},
	};
	PyType_Spec spec = {.name = "braze._core.elements",
			    .basicsize = sizeof(struct elements),
			    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
			    .slots = slots};
	PyObject *type = PyType_FromSpec(&spec);
	int rc = type ? PyModule_AddObjectRef(module, "elements", type) : -1;

	Py_XDECREF(type);
	return rc;
}
