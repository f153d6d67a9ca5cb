/* SPDX-License-Identifier: Apache-2.0 */
/* targets.c - keys in which arrays of ours, or lists, name places; a[key] of what is at hand. */
#include "targets.h"

#include <string.h>

static PyObject *whole; /* the slice of all */

int target_init(void)
{
	whole = PySlice_New(NULL, NULL, NULL);
	return whole ? 0 : -1;
}

bool target_places(PyObject *o, bool writes)
{
	braze_array *h = nd_check(o) && !(nd(o)->flags & ND_SCALAR) ? nd(o)->h : NULL;
	int d = h ? braze_dtype_of(h) : BRAZE_BOOL;

	return h && braze_size(h) && d >= BRAZE_INT8 && d <= BRAZE_UINT64 && braze_ndim(h) &&
	       (!writes || braze_ndim(h) == 1 || braze_is_contiguous(h));
}

/* Integers in a list as an array; NULL: they are something else. */
static braze_array *listed(PyObject *list)
{
	int64_t n = PyList_Size(list), *at = NULL;
	braze_array *made = NULL;
	void *data = NULL;

	for (int64_t k = 0, i = 0; k < n; k++)
		if (!fast_int(&i, PyList_GetItem(list, k)))
			return NULL;
	if (!n || !core.session || !braze_near_made(&made, &data, core.session, BRAZE_INT64, 1, &n))
		return NULL;
	at = data;
	for (int64_t k = 0; k < n; k++)
		(void)fast_int(&at[k], PyList_GetItem(list, k));
	return made;
}

static bool add_place(struct target *t, PyObject *o, int axis, bool writes)
{
	braze_arg *index = &t->index[t->n];
	int64_t i = 0;

	if (t->n == BRAZE_MAX_NDIM)
		return false;
	index->array = NULL;
	t->own[t->n] = !writes && PyList_CheckExact(o);
	if (t->own[t->n]) {
		index->array = listed(o);
		if (!index->array)
			return false;
	} else if (target_places(o, writes)) {
		index->array = nd(o)->h;
	} else if (fast_int(&i, o)) {
		index->scalar = braze_int(i);
	} else {
		return false;
	}
	t->any |= index->array != NULL;
	t->axis[t->n++] = axis;
	return true;
}

static bool is_slice(PyObject *o)
{
	return o == Py_None || PySlice_Check(o);
}

/* Axes that an ellipsis stands for; -1: there is no such key. */
static int rest_of(PyObject *key, Py_ssize_t n, int ndim)
{
	int used = 0, dots = 0;

	for (Py_ssize_t k = 0; k < n; k++) {
		PyObject *o = PyTuple_GetItem(key, k);

		dots += o == Py_Ellipsis;
		used += o != Py_Ellipsis && o != Py_None;
	}
	return dots > 1 || used > ndim ? -1 : ndim - used;
}

/* Does a slice leave all of its axis? */
static bool is_whole(PyObject *o, int64_t extent)
{
	Py_ssize_t start = 0, stop = 0, step = 0;

	if (o == whole)
		return true;
	if (!PySlice_Check(o))
		return false;
	if (PySlice_Unpack(o, &start, &stop, &step)) {
		PyErr_Clear(); /* index_view tells it */
		return false;
	}
	return step == 1 && !start && stop >= extent;
}

/* The items of a tuple; those that name places become slices, which leave their axes whole. */
static bool read_items(struct target *t, PyObject *key, braze_array *h, bool writes)
{
	PyObject *item[2 * BRAZE_MAX_NDIM + 1];
	Py_ssize_t n = PyTuple_Size(key);
	int rest = rest_of(key, n, braze_ndim(h)), axis = 0;
	bool plain = true;

	if (rest < 0 || n > (Py_ssize_t)(sizeof item / sizeof *item))
		return false;
	for (Py_ssize_t k = 0; k < n; k++) {
		item[k] = PyTuple_GetItem(key, k);
		if (item[k] == Py_Ellipsis) {
			axis += rest;
			continue;
		}
		if (!is_slice(item[k])) {
			if (!add_place(t, item[k], axis, writes))
				return false;
			item[k] = whole;
		}
		plain = plain && is_whole(item[k], axis < braze_ndim(h) ? braze_shape(h)[axis] : 0);
		axis++;
	}
	if (plain)
		braze_retain(t->view = h);
	return t->any && (plain || index_view(&t->view, h, item, n));
}

bool target_read(struct target *t, PyObject *key, braze_array *h, bool writes)
{
	t->view = NULL;
	t->n = 0;
	t->any = false;
	if (PyTuple_CheckExact(key))
		return read_items(t, key, h, writes);
	if (!braze_ndim(h) || !add_place(t, key, 0, writes) || !t->any)
		return false;
	braze_retain(t->view = h);
	return true;
}

void target_drop(struct target *t)
{
	for (int k = 0; k < t->n; k++)
		if (t->own[k] && t->index[k].array)
			braze_release(t->index[k].array);
	braze_release(t->view);
}

bool target_get(PyObject **out, PyObject *self, PyObject *key)
{
	braze_array *h = nd(self)->h, *made = NULL;
	braze_error err = {0};
	struct target t;

	if (core.locked || nd(self)->flags & ND_SCALAR || !h || !braze_is_near(h))
		return false;
	if (!target_read(&t, key, h, false) ||
	    layout_gather(&made, t.view, t.n, t.axis, NULL, t.index, BRAZE_AT_HAND, &err))
		made = NULL;
	target_drop(&t);
	if (PyErr_Occurred())
		PyErr_Clear(); /* the others tell it in their words */
	if (!made)
		return false;
	*out = type_new(made, 0);
	return true;
}

/* As a function of NumPy's, whose result lies in C order. */
bool target_take(PyObject **out, PyObject *self, PyObject *places, PyObject *along)
{
	braze_array *h = nd_check(self) && !(nd(self)->flags & ND_SCALAR) ? nd(self)->h : NULL;
	struct target t = {.n = 0};
	braze_array *made = NULL;
	braze_error err = {0};
	int axis = 0;

	if (!h || !braze_is_near(h) || fast_absent(along) ||
	    !fast_axis(&axis, along, braze_ndim(h)))
		return false;
	if (!add_place(&t, places, axis, false) || !t.any ||
	    braze_gather(&made, h, 1, t.axis, NULL, t.index, BRAZE_AT_HAND, &err))
		made = NULL;
	target_drop(&t);
	if (!made)
		return false;
	*out = type_new(made, 0);
	return true;
}
