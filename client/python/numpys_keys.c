/* SPDX-License-Identifier: Apache-2.0 */
/* numpys_keys.c - a[key] and a[key] = value by NumPy, of arrays that lend it their memory. */
#include "numpys.h"

uint64_t keys_read, keys_written;

/* Python's integers, which are places: bools would be a mask. */
static bool is_places(PyObject *list)
{
	for (Py_ssize_t k = 0, n = PyList_Size(list); k < n; k++)
		if (!PyLong_CheckExact(PyList_GetItem(list, k)))
			return false;
	return true;
}

/* Arrays of ours with axes, lists of places, and what stands between them. */
static bool is_key(PyObject *o)
{
	if (PyList_CheckExact(o))
		return is_places(o);
	if (nd_check(o))
		return nd(o)->h && braze_ndim(nd(o)->h) &&
		       braze_dtype_of(nd(o)->h) < BRAZE_FLOAT16 && braze_is_near(nd(o)->h);
	return PyLong_CheckExact(o) || PySlice_Check(o) || o == Py_Ellipsis || o == Py_None;
}

static bool is_plain_key(PyObject *key)
{
	if (!PyTuple_CheckExact(key))
		return (nd_check(key) || PyList_CheckExact(key)) && is_key(key);
	for (Py_ssize_t k = 0; k < PyTuple_Size(key); k++)
		if (!is_key(PyTuple_GetItem(key, k)))
			return false;
	return true;
}

/* Of so many elements, which no core's cache holds, a result is quicker used where it is made: by
 * several cores, and by what comes next as part of it. */
#define PLACES_MANY (1 << 20)

/* About how many elements a[key] has. */
static double count_picked(PyObject *self, PyObject *key)
{
	bool tuple = PyTuple_CheckExact(key);
	int ndim = braze_ndim(nd(self)->h), axis = 0;
	double rest = 1, places = 1, n;

	for (Py_ssize_t k = 0; k < (tuple ? PyTuple_Size(key) : 1); k++) {
		PyObject *o = tuple ? PyTuple_GetItem(key, k) : key;

		n = numpys_array(o) ? (double)braze_size(nd(o)->h)
				    : (double)(PyList_CheckExact(o) ? PyList_Size(o) : 0);
		places = n > places ? n : places;
		if (o == Py_Ellipsis)
			return (double)braze_size(nd(self)->h);
		if (PySlice_Check(o) && axis < ndim)
			rest *= (double)braze_shape(nd(self)->h)[axis];
		axis += o != Py_None;
	}
	for (; axis < ndim; axis++)
		rest *= (double)braze_shape(nd(self)->h)[axis];
	return rest * places;
}

static bool is_mask(PyObject *key)
{
	if (!PyTuple_CheckExact(key))
		return nd_check(key) && type_dtype(key) == BRAZE_BOOL;
	for (Py_ssize_t k = 0; k < PyTuple_Size(key); k++)
		if (nd_check(PyTuple_GetItem(key, k)) && is_mask(PyTuple_GetItem(key, k)))
			return true;
	return false;
}

/* Places are an operation of braze's, masks are not. */
static void count_read(PyObject *key)
{
	if (is_mask(key))
		keys_read++;
	else
		braze_count_near(core.session);
}

/* A mask alone, whose elements must be known before anything can be done with it. */
static bool is_one_mask(PyObject *key)
{
	return numpys_array(key) && braze_ndim(nd(key)->h) && type_dtype(key) == BRAZE_BOOL;
}

/* Until what a mask picks of, or puts there, has come; -1 with an exception set. */
static int mask_known(PyObject *key, PyObject *other)
{
	braze_array *both[2] = {nd(key)->h, numpys_array(other) ? nd(other)->h : nd(key)->h};

	return wait_for(both, 1 + (both[0] != both[1]));
}

static PyObject *get_lent(PyObject *self, PyObject *key)
{
	PyObject *a = NULL, *k = NULL, *made = NULL, *out = NULL;
	struct lent l;

	lent_begin(&l);
	a = lent_view(&l, self, 0);
	k = a ? lent_view(&l, key, 0) : NULL;
	made = k ? PyObject_GetItem(a, k) : NULL;
	Py_XDECREF(a);
	Py_XDECREF(k);
	lent_back(&l);
	if (made)
		out = lent_taken(made);
	else
		PyErr_Clear(); /* a wrong place is told as ever */
	Py_XDECREF(made);
	lent_end(&l);
	return out;
}

/* By a mask, without NumPy: done, or an exception is set.  Else both are there. */
bool numpys_mask(PyObject **out, PyObject *self, PyObject *key)
{
	*out = NULL;
	if (masks_get(out, self, key)) { /* few, all of them at hand */
		count_read(key);
		return true;
	}
	return PyErr_Occurred() || masks_select(out, self, key) || mask_known(key, self);
}

/* By places: is all there, and little enough? */
static bool is_read_at_hand(PyObject *self, PyObject *key)
{
	return numpys_at_hand(self) && is_plain_key(key) && count_picked(self, key) < PLACES_MANY;
}

bool numpys_getitem(PyObject **out, PyObject *self, PyObject *key)
{
	bool mask = is_one_mask(key);

	*out = NULL;
	if (core.locked || !numpys_array(self) || (!mask && !is_read_at_hand(self, key)))
		return false;
	if (mask && (selection_make(out, self, key) || numpys_mask(out, self, key)))
		return true;
	if (mask && masks_get(out, self, key)) {
		count_read(key);
		return true;
	}
	if (mask && PyErr_Occurred()) /* what was asked for is told */
		return true;
	PyErr_Clear();
	*out = get_lent(self, key);
	if (*out)
		count_read(key);
	return *out || PyErr_Occurred();
}

/* Values for the elements that a mask chooses: there is no lazy form of that. */
static bool has_many(PyObject *value)
{
	if (nd_check(value))
		return numpys_array(value) && braze_ndim(nd(value)->h);
	return PyList_CheckExact(value) || PyTuple_CheckExact(value) ||
	       (PyObject *)Py_TYPE(value) == core.np_ndarray;
}

static bool set_lent(int *rc, PyObject *self, PyObject *key, PyObject *value)
{
	PyObject *a = NULL, *k = NULL, *v = NULL;
	bool ready = false;
	struct lent l;

	lent_begin(&l);
	a = lent_writable(&l, self);
	k = a ? lent_view(&l, key, 0) : NULL;
	v = k ? lent_view(&l, value, 0) : NULL;
	ready = v != NULL;
	if (ready)
		*rc = PyObject_SetItem(a, k, v);
	Py_XDECREF(a);
	Py_XDECREF(k);
	Py_XDECREF(v);
	lent_back(&l);
	lent_end(&l);
	return ready;
}

/* Is all there, and may self be written at once? */
static bool is_write_at_hand(PyObject *self, PyObject *key, PyObject *value)
{
	return numpys_at_hand(self) && braze_is_ours(nd(self)->h) && is_plain_key(key) &&
	       numpys_at_hand(value);
}

bool numpys_setitem(int *rc, PyObject *self, PyObject *key, PyObject *value)
{
	bool mask = is_one_mask(key), many = mask && has_many(value), ready = false;

	*rc = -1;
	if (core.locked || !numpys_array(self))
		return false;
	ready = is_write_at_hand(self, key, value);
	if (mask && !many && !ready)
		return false;
	if (many && mask_known(key, value))
		return true;
	/* Without NumPy; what a mask is written by must be there. */
	if (mask ? masks_set(self, key, value) : scatter_set(self, key, value)) {
		braze_count_near(core.session);
		*rc = 0;
		return true;
	}
	if (PyErr_Occurred())
		return true;
	if (!(many || ready) || !set_lent(rc, self, key, value))
		return PyErr_Occurred() != NULL;
	keys_written++;
	return true;
}
