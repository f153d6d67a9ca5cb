/* SPDX-License-Identifier: Apache-2.0 */
/* sparse.c - sparse matrices for braze/_sparse.py: products, and what structures say. */
#include "core.h"

#include <string.h>

static braze_array *usable(PyObject *o)
{
	braze_array *h = NULL;

	if (selection_check(o) && selection_settle(o))
		return NULL;
	h = nd_check(o) ? type_handle(o) : NULL;
	if (!h && !PyErr_Occurred())
		PyErr_SetString(PyExc_TypeError, "a braze array is expected");
	return h && core.locked && wait_check_locked(h) ? NULL : h;
}

/* sparse_matmul(entries, structure, x) */
static PyObject *sparse_matmul(PyObject *mod, PyObject *args)
{
	PyObject *given[3] = {NULL};
	braze_array *h[3] = {NULL}, *out = NULL;
	braze_error err = {0};

	if (!PyArg_ParseTuple(args, "OOO", &given[0], &given[1], &given[2]))
		return NULL;
	for (int k = 0; k < 3; k++)
		if (!(h[k] = usable(given[k])))
			return NULL;
	err.code = braze_sparse_matmul(&out, h[0], h[1], h[2], &err);
	if (!err.code)
		return type_new(out, 0);
	wait_raise(&err);
	return NULL;
}

/* A structure in memory: numbers of 4 or 8 bytes. */
struct given {
	Py_buffer memory;
	int index;
	long long rows, columns, count;
};

static int take(struct given *g, PyObject *o)
{
	if (PyObject_GetBuffer(o, &g->memory, PyBUF_ND))
		return -1;
	g->index = g->memory.itemsize == 4 ? BRAZE_INT32 : BRAZE_INT64;
	g->count = g->memory.len / g->memory.itemsize - 1 - g->rows;
	if ((g->memory.itemsize == 4 || g->memory.itemsize == 8) && g->rows >= 0 && g->count >= 0)
		return 0;
	PyBuffer_Release(&g->memory);
	PyErr_SetString(PyExc_ValueError, "that is no structure of a sparse matrix");
	return -1;
}

/* sparse_check(structure, rows, columns): an exception says what is wrong */
static PyObject *sparse_check(PyObject *mod, PyObject *args)
{
	struct given g = {.index = 0};
	PyObject *o = NULL;
	braze_error err = {0};

	if (!PyArg_ParseTuple(args, "OLL", &o, &g.rows, &g.columns) || take(&g, o))
		return NULL;
	err.code = braze_sparse_check(g.index, g.rows, g.columns, g.count, g.memory.buf, &err);
	PyBuffer_Release(&g.memory);
	if (err.code) {
		PyErr_SetString(PyExc_ValueError, err.text);
		return NULL;
	}
	Py_RETURN_NONE;
}

/* sparse_transpose(structure, rows, columns, transposed, order): the last two are written */
static PyObject *sparse_transpose(PyObject *mod, PyObject *args)
{
	PyObject *o = NULL, *to = NULL, *places = NULL;
	Py_buffer transposed = {0}, order = {0};
	struct given g = {.index = 0};
	braze_error err = {0};

	if (!PyArg_ParseTuple(args, "OLLOO", &o, &g.rows, &g.columns, &to, &places) || take(&g, o))
		return NULL;
	if (PyObject_GetBuffer(to, &transposed, PyBUF_ND | PyBUF_WRITABLE) ||
	    PyObject_GetBuffer(places, &order, PyBUF_ND | PyBUF_WRITABLE))
		goto out;
	if (g.columns < 0 || transposed.itemsize != g.memory.itemsize || order.itemsize != 8 ||
	    transposed.len / transposed.itemsize - 1 - g.columns != g.count ||
	    order.len / 8 != g.count) {
		PyErr_SetString(PyExc_ValueError, "that is no room for a transposed matrix");
		goto out;
	}
	err.code = braze_sparse_transpose(transposed.buf, order.buf, g.index, g.rows, g.columns,
					  g.count, g.memory.buf, &err);
	if (err.code)
		PyErr_SetString(PyExc_ValueError, err.text);
out:
	PyBuffer_Release(&order);
	PyBuffer_Release(&transposed);
	PyBuffer_Release(&g.memory);
	if (PyErr_Occurred())
		return NULL;
	Py_RETURN_NONE;
}

PyMethodDef sparse_methods[] = {
	{"sparse_matmul", sparse_matmul, METH_VARARGS, NULL},
	{"sparse_check", sparse_check, METH_VARARGS, NULL},
	{"sparse_transpose", sparse_transpose, METH_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};
