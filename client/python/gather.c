/* SPDX-License-Identifier: Apache-2.0 */
/* gather.c - elements at places that arrays name, and the lines that asked for them.
 *
 * In: braze arrays and integers, sorted out by braze/numpy/_gather.py.  A line of the
 * program has a number, which comes back in the message of a wrong place. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

#define SITES 65536 /* lines that are told apart; later ones are not named */

/* By address: out is set by the very call whose code is rc. */
static PyObject *made(int rc, braze_array **out, braze_error *err)
{
	PyObject *r = NULL;

	if (rc) {
		err->code = rc;
		wait_raise(err);
		return NULL;
	}
	r = type_new(*out, 0);
	if (r && !type_ndim(r))
		nd(r)->flags |= ND_SCALAR;
	return r;
}

/* The same of a call that has waited: what the wait heard of is told. */
static PyObject *waited(int rc, braze_array **out, braze_error *err)
{
	if (!rc && watch_reports()) {
		braze_release(*out);
		return NULL;
	}
	return made(rc, out, err);
}

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

/* One axis' places: an array's, or a number. */
static int place_arg(braze_arg *out, PyObject *o)
{
	if (nd_check(o)) {
		out->array = usable(o);
		return out->array ? 0 : -1;
	}
	out->scalar = braze_int(PyLong_AsLongLong(o));
	return PyErr_Occurred() ? -1 : 0;
}

/* gather(a, axes, names, places, mode, ordered): three tuples of one length.  ordered: the result
 * lies in memory as NumPy's a[places] does, not as its functions', whose results are in C order. */
static PyObject *gather(PyObject *mod, PyObject *args)
{
	PyObject *a = NULL, *axes = NULL, *names = NULL, *places = NULL;
	int axis[BRAZE_MAX_NDIM], name[BRAZE_MAX_NDIM], mode = 0, ordered = 0;
	braze_arg index[BRAZE_MAX_NDIM];
	braze_array *h = NULL, *out = NULL;
	braze_error err = {0};
	Py_ssize_t n = 0;

	if (!PyArg_ParseTuple(args, "OO!O!O!ip", &a, &PyTuple_Type, &axes, &PyTuple_Type, &names,
			      &PyTuple_Type, &places, &mode, &ordered))
		return NULL;
	h = usable(a);
	n = PyTuple_Size(axes);
	if (!h || n > BRAZE_MAX_NDIM || PyTuple_Size(names) != n || PyTuple_Size(places) != n) {
		if (!PyErr_Occurred())
			PyErr_SetString(PyExc_ValueError, "gather: axes and places differ");
		return NULL;
	}
	memset(index, 0, sizeof index);
	for (Py_ssize_t k = 0; k < n; k++) {
		axis[k] = (int)PyLong_AsLong(PyTuple_GetItem(axes, k));
		name[k] = (int)PyLong_AsLong(PyTuple_GetItem(names, k));
		if (PyErr_Occurred() || place_arg(&index[k], PyTuple_GetItem(places, k)))
			return NULL;
	}
	return made((ordered ? layout_gather : braze_gather)(&out, h, (int)n, axis, name, index,
							     mode, &err),
		    &out, &err);
}

/* take_along(a, places, axis, mode) */
static PyObject *take_along(PyObject *mod, PyObject *args)
{
	PyObject *a = NULL, *places = NULL;
	braze_array *h = NULL, *p = NULL, *out = NULL;
	braze_error err = {0};
	int axis = 0, mode = 0;

	if (!PyArg_ParseTuple(args, "OOii", &a, &places, &axis, &mode))
		return NULL;
	h = usable(a);
	p = h ? usable(places) : NULL;
	return p ? made(layout_take_along(&out, h, p, axis, mode, &err), &out, &err) : NULL;
}

/* select(a, mask, ordered): a[mask] of a mask of a's first axes; ordered as above */
static PyObject *select_elements(PyObject *mod, PyObject *args)
{
	PyObject *a = NULL, *mask = NULL;
	braze_array *h = NULL, *m = NULL, *out = NULL;
	braze_error err = {0};
	int ordered = 0;

	if (!PyArg_ParseTuple(args, "OOp", &a, &mask, &ordered))
		return NULL;
	h = usable(a);
	m = h ? usable(mask) : NULL;
	if (!m)
		return NULL;
	return waited((ordered ? layout_select : braze_select)(&out, h, m, wait_check_signals, NULL,
							       &err),
		      &out, &err);
}

/* select_reduce(op, a, mask, ranks or None, dtype or None): the result, and the ranks. */
static PyObject *select_reduce(PyObject *mod, PyObject *args)
{
	PyObject *a = NULL, *mask = NULL, *ranks = NULL, *type = NULL, *r = NULL;
	braze_array *h = NULL, *m = NULL, *left = NULL, *out = NULL;
	braze_error err;
	int op = 0, dtype = -1, rc = 0;

	if (!PyArg_ParseTuple(args, "iOOOO", &op, &a, &mask, &ranks, &type))
		return NULL;
	h = usable(a);
	m = h ? usable(mask) : NULL;
	if (!m)
		return NULL;
	if (ranks != Py_None && !(left = usable(ranks)))
		return NULL;
	if (type != Py_None && (dtype = convert_dtype(type)) < 0)
		return NULL;
	if (left)
		braze_retain(left);
	rc = braze_select_reduce(&out, op, h, m, &left, dtype, &err);
	r = made(rc, &out, &err);
	if (!r || ranks != Py_None) {
		braze_release(left);
		return r ? Py_BuildValue("NO", r, ranks) : NULL;
	}
	ranks = type_new(left, 0);
	if (!ranks)
		Py_DECREF(r);
	return ranks ? Py_BuildValue("NN", r, ranks) : NULL;
}

/* search(among, needles, side): where needles belong among elements in order */
static PyObject *search(PyObject *mod, PyObject *args)
{
	PyObject *among = NULL, *needles = NULL;
	braze_array *a = NULL, *n = NULL, *out = NULL;
	braze_error err;
	int side = 0;

	if (!PyArg_ParseTuple(args, "OOi", &among, &needles, &side))
		return NULL;
	a = usable(among);
	n = a ? usable(needles) : NULL;
	return n ? made(braze_search(&out, side, a, n, &err), &out, &err) : NULL;
}

/* interp(x, points, values): on the lines between points in order */
static PyObject *interp(PyObject *mod, PyObject *args)
{
	PyObject *given[3] = {NULL};
	braze_array *h[3] = {NULL}, *out = NULL;
	braze_error err;

	if (!PyArg_ParseTuple(args, "OOO", &given[0], &given[1], &given[2]))
		return NULL;
	for (int k = 0; k < 3; k++)
		if (!(h[k] = usable(given[k])))
			return NULL;
	return made(braze_interp(&out, h[0], h[1], h[2], &err), &out, &err);
}

/* nonzero(mask): the places where it is true, or rows of coordinates */
static PyObject *nonzero(PyObject *mod, PyObject *mask)
{
	braze_array *m = usable(mask), *out = NULL;
	braze_error err = {0};

	return m ? waited(braze_nonzero(&out, m, wait_check_signals, NULL, &err), &out, &err)
		 : NULL;
}

long gather_site(PyObject *text)
{
	PyObject *number = NULL;
	long n = 0;

	if (!core.sites && (!(core.site_of = PyDict_New()) || !(core.sites = PyList_New(0))))
		return 0;
	number = PyDict_GetItemWithError(core.site_of, text);
	if (number)
		return PyLong_AsLong(number);
	if (PyErr_Occurred() || PyList_Size(core.sites) >= SITES)
		return 0;
	n = (long)PyList_Size(core.sites) + 1;
	number = PyLong_FromLong(n);
	if (!number || PyDict_SetItem(core.site_of, text, number) ||
	    PyList_Append(core.sites, text))
		n = 0;
	Py_XDECREF(number);
	return n;
}

/* site(text): what follows was asked for there */
static PyObject *site(PyObject *mod, PyObject *text)
{
	braze_session *s = wait_session();
	long n = s ? gather_site(text) : 0;

	if (!s || PyErr_Occurred())
		return NULL;
	braze_set_site(s, (uint32_t)n);
	Py_RETURN_NONE;
}

PyObject *gather_message(const char *text)
{
	static const char mark[] = " at site ";
	const char *at = strstr(text, mark);
	long n = at ? strtol(at + sizeof mark - 1, NULL, 10) : 0;
	PyObject *line = NULL, *whole = NULL, *head = NULL;

	if (n < 1 || !core.sites || n > PyList_Size(core.sites))
		return NULL;
	line = PyList_GetItem(core.sites, n - 1);
	head = PyUnicode_FromStringAndSize(text, at - text);
	whole = head && line ? PyUnicode_FromFormat("%U (%U)", head, line) : NULL;
	Py_XDECREF(head);
	return whole;
}

PyMethodDef gather_methods[] = {
	{"gather", gather, METH_VARARGS, NULL},
	{"select", select_elements, METH_VARARGS, NULL},
	{"select_reduce", select_reduce, METH_VARARGS, NULL},
	{"search", search, METH_VARARGS, NULL},
	{"interp", interp, METH_VARARGS, NULL},
	{"nonzero", nonzero, METH_O, NULL},
	{"take_along", take_along, METH_VARARGS, NULL},
	{"site", site, METH_O, NULL},
	{NULL, NULL, 0, NULL},
};
