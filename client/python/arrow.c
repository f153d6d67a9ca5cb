/* SPDX-License-Identifier: Apache-2.0 */
/* arrow.c - one column of numbers to and from other libraries, by the Arrow C data interface
 * (arrow.apache.org, "The Arrow C data interface"; its PyCapsule protocol).
 *
 * Given: two capsules on memory that a buffer of Python's keeps.  Taken: the memory of two
 * capsules, as objects that can be read by the buffer protocol and release it when the last one
 * goes.  Which types there are, and what nulls mean, braze/_arrow.py knows. */
#include <stdlib.h>
#include <string.h>

#include "core.h"

/* As the interface lays them down. */
struct ArrowSchema {
	const char *format, *name, *metadata;
	int64_t flags, n_children;
	struct ArrowSchema **children, *dictionary;
	void (*release)(struct ArrowSchema *);
	void *private_data;
};
struct ArrowArray {
	int64_t length, null_count, offset, n_buffers, n_children;
	const void **buffers;
	struct ArrowArray **children, *dictionary;
	void (*release)(struct ArrowArray *);
	void *private_data;
};

/* ---- Given ---- */

struct given {
	Py_buffer view;
	const void *buffer[2]; /* no nulls; the elements */
};

static void release_schema(struct ArrowSchema *s)
{
	free(s->private_data);
	s->release = NULL;
}

/* By whichever thread lets go last. */
static void release_array(struct ArrowArray *a)
{
	struct given *g = a->private_data;

	if (Py_IsInitialized()) {
		PyGILState_STATE held = PyGILState_Ensure();

		PyBuffer_Release(&g->view);
		PyGILState_Release(held);
	}
	free(g);
	a->release = NULL;
}

static void end_schema(PyObject *capsule)
{
	struct ArrowSchema *s = PyCapsule_GetPointer(capsule, "arrow_schema");

	if (s && s->release)
		s->release(s);
	free(s);
}

static void end_array(PyObject *capsule)
{
	struct ArrowArray *a = PyCapsule_GetPointer(capsule, "arrow_array");

	if (a && a->release)
		a->release(a);
	free(a);
}

static PyObject *schema_capsule(const char *format)
{
	struct ArrowSchema *s = calloc(1, sizeof *s);
	char *text = strdup(format);
	PyObject *capsule = s && text ? PyCapsule_New(s, "arrow_schema", end_schema) : NULL;

	if (!capsule) {
		free(s);
		free(text);
		return PyErr_Occurred() ? NULL : PyErr_NoMemory();
	}
	*s = (struct ArrowSchema){
		.format = text, .name = "", .release = release_schema, .private_data = text};
	return capsule;
}

static PyObject *array_capsule(PyObject *data, long long length)
{
	struct ArrowArray *a = calloc(1, sizeof *a);
	struct given *g = calloc(1, sizeof *g);
	PyObject *capsule = NULL;

	if (!a || !g)
		PyErr_NoMemory();
	else if (!PyObject_GetBuffer(data, &g->view, PyBUF_SIMPLE)) {
		capsule = PyCapsule_New(a, "arrow_array", end_array);
		if (!capsule)
			PyBuffer_Release(&g->view);
	}
	if (!capsule) {
		free(a);
		free(g);
		return NULL;
	}
	g->buffer[1] = g->view.buf;
	*a = (struct ArrowArray){.length = length,
				 .n_buffers = 2,
				 .buffers = g->buffer,
				 .release = release_array,
				 .private_data = g};
	return capsule;
}

/* arrow_give(bytes, format, length) -> (schema, array) */
static PyObject *give(PyObject *mod, PyObject *args)
{
	PyObject *data = NULL, *schema = NULL, *array = NULL;
	const char *format = NULL;
	long long length = 0;

	if (!PyArg_ParseTuple(args, "OsL", &data, &format, &length))
		return NULL;
	schema = schema_capsule(format);
	array = schema ? array_capsule(data, length) : NULL;
	if (!array) {
		Py_XDECREF(schema);
		return NULL;
	}
	return Py_BuildValue("(NN)", schema, array);
}

/* ---- Taken ---- */

/* A buffer of an array: the one that owns the array, or keeps who does. */
struct taken {
	PyObject_HEAD struct ArrowArray array;
	PyObject *owner;
	const void *at;
	Py_ssize_t bytes;
};

static int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
	static const char none[1] = {0};
	const struct taken *t = (struct taken *)self;

	return PyBuffer_FillInfo(view, self, (void *)(t->at ? t->at : none), t->bytes, 1, flags);
}

static void end_taken(PyObject *self)
{
	struct taken *t = (struct taken *)self;
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	if (t->array.release)
		t->array.release(&t->array);
	Py_XDECREF(t->owner);
	release(self);
	Py_DECREF(type);
}

static struct taken *taken_new(void)
{
	static PyType_Slot slots[] = {{Py_bf_getbuffer, (void *)get_buffer},
				      {Py_tp_dealloc, (void *)end_taken},
				      {0, NULL}};
	static PyType_Spec spec = {.name = "braze._core.ArrowBuffer",
				   .basicsize = sizeof(struct taken),
				   .flags = Py_TPFLAGS_DEFAULT,
				   .slots = slots};
	static PyObject *type; /* made by the first, under the interpreter's lock */

	if (!type)
		type = PyType_FromSpec(&spec);
	return type ? (struct taken *)PyType_GenericAlloc((PyTypeObject *)type, 0) : NULL;
}

/* Bits of an element; 0: none of the types that are taken. */
static int bits_of(const char *format)
{
	static const struct {
		char format;
		int bits;
	} types[] = {{'b', 1},	{'c', 8},  {'C', 8},  {'s', 16}, {'S', 16}, {'i', 32},
		     {'I', 32}, {'l', 64}, {'L', 64}, {'e', 16}, {'f', 32}, {'g', 64}};

	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (format[0] == types[i].format && !format[1])
			return types[i].bits;
	return 0;
}

/* What the provider says of itself is checked as far as it can be. */
static int check(const struct ArrowSchema *s, const struct ArrowArray *a)
{
	int bits = s->release && s->format ? bits_of(s->format) : 0;

	if (!bits || s->dictionary || s->n_children) {
		PyErr_Format(PyExc_TypeError,
			     "only columns of numbers and truth values can be taken, not of "
			     "Arrow's type \"%s\"",
			     s->release && s->format ? s->format : "");
		return -1;
	}
	if (!a->release || a->n_buffers != 2 || a->length < 0 || a->offset < 0 ||
	    a->length > INT64_MAX / 16 - a->offset || (a->length && !a->buffers[1])) {
		PyErr_SetString(PyExc_ValueError, "what __arrow_c_array__ gave is no array");
		return -1;
	}
	return 0;
}

static PyObject *as_taken(PyObject *owner, const void *at, int64_t elements, int bits)
{
	struct taken *t = taken_new();

	if (!t)
		return NULL;
	t->owner = Py_NewRef(owner);
	t->at = at;
	t->bytes = (Py_ssize_t)((elements * bits + 7) / 8);
	return (PyObject *)t;
}

/* arrow_take(schema, array) -> (format, length, offset, nulls, validity or None, elements) */
static PyObject *take(PyObject *mod, PyObject *args)
{
	PyObject *of_schema = NULL, *of_array = NULL, *valid = NULL, *data = NULL;
	struct ArrowSchema *s = NULL;
	struct ArrowArray *a = NULL;
	struct taken *owner = NULL;

	if (!PyArg_ParseTuple(args, "OO", &of_schema, &of_array))
		return NULL;
	s = PyCapsule_GetPointer(of_schema, "arrow_schema");
	a = s ? PyCapsule_GetPointer(of_array, "arrow_array") : NULL;
	if (!a || check(s, a) || !(owner = taken_new()))
		return NULL;
	owner->array = *a; /* which has moved here by that */
	a->release = NULL;
	a = &owner->array;
	data = as_taken((PyObject *)owner, a->buffers[1], a->offset + a->length,
			bits_of(s->format));
	if (data)
		valid = a->buffers[0] ? as_taken((PyObject *)owner, a->buffers[0],
						 a->offset + a->length, 1)
				      : Py_NewRef(Py_None);
	Py_DECREF(owner);
	if (!valid) {
		Py_XDECREF(data);
		return NULL;
	}
	return Py_BuildValue("(sLLLNN)", s->format, (long long)a->length, (long long)a->offset,
			     (long long)a->null_count, valid, data);
}

PyMethodDef arrow_methods[] = {{"arrow_give", give, METH_VARARGS, NULL},
			       {"arrow_take", take, METH_VARARGS, NULL},
			       {NULL, NULL, 0, NULL}};
