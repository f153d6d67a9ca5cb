/* SPDX-License-Identifier: Apache-2.0 */
/* index.c - a[key] and a[key] = value.
 *
 * Integers, slices, newaxis and ellipsis are views, computed here; arrays as
 * indices are handed to Python.  A single element of a stored array is read in
 * shared memory, and written there once the buffer has been fenced. */
#include "np_array.h"
#include "numpys.h"

#include <stdio.h>
#include <string.h>

/* A basic index applied: the view, and whether it names one element. */
struct spot {
	int ndim, n_int;
	int64_t shape[BRAZE_MAX_NDIM], strides[BRAZE_MAX_NDIM];
	int64_t delta; /* bytes from the array's element [0,...,0] */
	bool element;  /* integers only, one for each axis */
};

enum { BASIC_NO = 0, BASIC_YES = 1, BASIC_ERROR = -1 };

static bool is_int(PyObject *o)
{
	if (PyLong_CheckExact(o))
		return true;
	/* A scalar is its value; an array of no axes is taken at, which gives a copy. */
	if (nd_check(o))
		return nd(o)->flags & ND_SCALAR && type_dtype(o) >= BRAZE_INT8 &&
		       type_dtype(o) <= BRAZE_UINT64;
	/* NumPy's bools are masks as Python's are; a selection will be an array. */
	return !PyBool_Check(o) && (PyObject *)Py_TYPE(o) != core.types[BRAZE_BOOL] &&
	       PyIndex_Check(o) && !selection_check(o) &&
	       PyObject_IsInstance(o, core.np_ndarray) != 1;
}

static bool is_basic(PyObject *o)
{
	return o == Py_None || o == Py_Ellipsis || PySlice_Check(o) || is_int(o);
}

static int add_axis(struct spot *s, int64_t extent, int64_t stride)
{
	if (s->ndim == BRAZE_MAX_NDIM)
		return BASIC_NO; /* NumPy has more axes than braze */
	s->shape[s->ndim] = extent;
	s->strides[s->ndim++] = stride;
	return BASIC_YES;
}

/* An iteration ends so: Python's formatting would be half of what a short one takes. */
static void tell_out_of_bounds(int64_t i, int axis, int64_t extent)
{
	char text[160];

	snprintf(text, sizeof text, "index %lld is out of bounds for axis %d with size %lld",
		 (long long)i, axis, (long long)extent);
	PyErr_SetString(PyExc_IndexError, text);
}

static int take_int(struct spot *s, PyObject *o, int axis, int64_t extent, int64_t stride)
{
	int64_t i = 0;

	if (!fast_int(&i, o)) {
		i = PyNumber_AsSsize_t(o, PyExc_IndexError);
		if (i == -1 && PyErr_Occurred())
			return BASIC_ERROR;
	}
	if (i < -extent || i >= extent) {
		tell_out_of_bounds(i, axis, extent);
		return BASIC_ERROR;
	}
	s->delta += (i < 0 ? i + extent : i) * stride;
	s->n_int++;
	return BASIC_YES;
}

static int take_slice(struct spot *s, PyObject *o, int64_t extent, int64_t stride)
{
	Py_ssize_t start = 0, stop = 0, step = 0, count = 0;

	if (PySlice_Unpack(o, &start, &stop, &step))
		return BASIC_ERROR;
	count = PySlice_AdjustIndices(extent, &start, &stop, step);
	/* An empty slice may start past the end; its address must stay inside. */
	if (count > 0)
		s->delta += start * stride;
	return add_axis(s, count, count > 1 ? stride * step : stride);
}

/* How many axes the key's items use up; -1: not basic, -2: two ellipses. */
static int count_axes(PyObject *const *item, Py_ssize_t n)
{
	int used = 0, ellipses = 0;

	for (Py_ssize_t k = 0; k < n; k++) {
		if (item[k] == Py_Ellipsis)
			ellipses++;
		else if (!is_basic(item[k]))
			return -1;
		else if (item[k] != Py_None)
			used++;
	}
	return ellipses > 1 ? -2 : used;
}

static int resolve_items(struct spot *s, braze_array *h, PyObject *const *item, Py_ssize_t n)
{
	const int64_t *shape = braze_shape(h), *strides = braze_strides(h);
	int ndim = braze_ndim(h), axis = 0, used = count_axes(item, n), rc = BASIC_YES;

	if (used < 0)
		return BASIC_NO;
	if (used > ndim) {
		PyErr_Format(PyExc_IndexError,
			     "too many indices for array: array is %d-dimensional, but %d were "
			     "indexed",
			     ndim, used);
		return BASIC_ERROR;
	}
	/* Of the axes only as many are written as are used. */
	s->ndim = s->n_int = 0;
	s->delta = 0;
	for (Py_ssize_t k = 0; k < n && rc == BASIC_YES; k++) {
		if (item[k] == Py_None) {
			rc = add_axis(s, 1, 0);
		} else if (item[k] == Py_Ellipsis) {
			for (int e = ndim - used; e > 0 && rc == BASIC_YES; e--, axis++)
				rc = add_axis(s, shape[axis], strides[axis]);
		} else if (PySlice_Check(item[k])) {
			rc = take_slice(s, item[k], shape[axis], strides[axis]);
			axis++;
		} else {
			rc = take_int(s, item[k], axis, shape[axis], strides[axis]);
			axis++;
		}
	}
	for (; axis < ndim && rc == BASIC_YES; axis++)
		rc = add_axis(s, shape[axis], strides[axis]);
	s->element = rc == BASIC_YES && s->n_int == ndim && n == ndim;
	return rc;
}

static int resolve(struct spot *s, braze_array *h, PyObject *key)
{
	PyObject *item[2 * BRAZE_MAX_NDIM + 1];
	Py_ssize_t n = 0;

	if (!PyTuple_Check(key))
		return resolve_items(s, h, &key, 1);
	n = PyTuple_Size(key);
	if (n > (Py_ssize_t)(sizeof item / sizeof *item))
		return BASIC_NO;
	for (Py_ssize_t k = 0; k < n; k++)
		item[k] = PyTuple_GetItem(key, k);
	return resolve_items(s, h, item, n);
}

static braze_array *view_of(braze_array *h, const struct spot *s)
{
	braze_array *v = NULL;
	braze_error err;

	err.code =
		braze_part(&v, h, s->ndim, s->shape, s->strides, braze_offset(h) + s->delta, &err);
	if (err.code)
		wait_raise(&err);
	return err.code ? NULL : v;
}

bool index_view(braze_array **out, braze_array *h, PyObject *const *item, Py_ssize_t n)
{
	struct spot s;

	*out = resolve_items(&s, h, item, n) == BASIC_YES ? view_of(h, &s) : NULL;
	return *out != NULL;
}

bool index_step(int64_t *delta, PyObject *o, int64_t extent, int64_t stride)
{
	int64_t i = 0;

	if (!fast_int(&i, o) || i < -extent || i >= extent)
		return false;
	*delta += (i < 0 ? i + extent : i) * stride;
	return true;
}

/* Python's integers, one for each axis, that name an element: its bytes from
 * [0,...,0].  False: the key is something else, or wrong. */
static bool element_at(int64_t *delta, braze_array *h, PyObject *key)
{
	const int64_t *shape = braze_shape(h), *strides = braze_strides(h);
	int ndim = braze_ndim(h);

	*delta = 0;
	if (!PyTuple_CheckExact(key))
		return ndim == 1 && index_step(delta, key, shape[0], strides[0]);
	if (PyTuple_Size(key) != ndim)
		return false;
	for (int k = 0; k < ndim; k++)
		if (!index_step(delta, PyTuple_GetItem(key, k), shape[k], strides[k]))
			return false;
	return true;
}

static PyObject *element(braze_array *h, const char *data)
{
	uint64_t bits[2];

	convert_load(braze_dtype_of(h), data, bits);
	return type_immediate(braze_dtype_of(h), bits);
}

/* One element: its value now when the array is stored, else a lazy copy.  Whoever asks for a second
 * one of the same value is likely to want them all: the array is stored then. */
static PyObject *get_element(PyObject *self, braze_array *h, const struct spot *s)
{
	const char *data = NULL;
	braze_array *v = NULL, *c = NULL;
	braze_error err;

	if (braze_is_stored(h) || nd(self)->peeked) {
		data = wait_data(h);
		return data ? element(h, data + s->delta) : NULL;
	}
	nd(self)->peeked = true;
	v = view_of(h, s);
	if (!v)
		return NULL;
	err.code = braze_copy(&c, v, &err);
	braze_release(v);
	if (err.code) {
		wait_raise(&err);
		return NULL;
	}
	return type_new(c, ND_SCALAR);
}

static PyObject *part_of(PyObject *self, braze_array *h, const struct spot *s)
{
	braze_array *v = view_of(h, s);

	return v ? type_view(v, self) : NULL;
}

/* By a key with arrays in it. */
static PyObject *get_general(PyObject *self, PyObject *key)
{
	PyObject *r = NULL;

	if (selection_settle_key(key))
		return NULL;
	if (target_get(&r, self, key) || numpys_getitem(&r, self, key))
		return r;
	return PyObject_CallFunctionObjArgs(core.getitem, self, key, NULL);
}

/* What the resolution of a key with no array in it says. */
static PyObject *get_resolved(PyObject *self, braze_array *h, PyObject *key, const struct spot *s,
			      int rc)
{
	if (rc == BASIC_ERROR)
		return NULL;
	if (rc == BASIC_NO)
		return get_general(self, key);
	return s->element ? get_element(self, h, s) : part_of(self, h, s);
}

static PyObject *get_by_tuple(PyObject *self, braze_array *h, PyObject *key)
{
	const char *data = NULL;
	struct spot s;
	int64_t delta = 0;

	if (element_at(&delta, h, key) && (data = wait_at_hand(h)))
		return element(h, data + delta);
	return get_resolved(self, h, key, &s, resolve(&s, h, key));
}

/* Elements of one place on the first of several axes, so many bytes from [0,...,0]. */
static PyObject *row_at(PyObject *self, braze_array *h, int64_t delta)
{
	braze_array *v = NULL;
	braze_error err;

	err.code = braze_part(&v, h, braze_ndim(h) - 1, braze_shape(h) + 1, braze_strides(h) + 1,
			      braze_offset(h) + delta, &err);
	if (err.code)
		wait_raise(&err);
	return err.code ? NULL : type_view(v, self);
}

PyObject *index_get(PyObject *self, PyObject *key)
{
	braze_array *h = type_handle(self);
	const char *data = NULL;
	PyObject *r = NULL;
	struct spot s;
	int64_t delta = 0;

	if (!h || (core.locked && wait_check_locked(h)))
		return NULL;
	if (PyTuple_Check(key))
		return get_by_tuple(self, h, key);
	if (PyLong_CheckExact(key) && braze_ndim(h) &&
	    index_step(&delta, key, braze_shape(h)[0], braze_strides(h)[0])) {
		if (braze_ndim(h) > 1)
			return row_at(self, h, delta);
		if ((data = wait_at_hand(h)))
			return element(h, data + delta);
	}
	if (keys_are(key) && keys_get(&r, self, key))
		return r;
	return get_resolved(self, h, key, &s, resolve_items(&s, h, &key, 1));
}

PyObject *index_item(PyObject *self, Py_ssize_t i)
{
	braze_array *h = nd(self)->h;
	const char *data = NULL;
	PyObject *k = NULL, *r = NULL;

	/* As index_get, without the number. */
	if (h && braze_ndim(h) && i >= 0 && !core.locked) {
		if (i >= braze_shape(h)[0]) {
			tell_out_of_bounds(i, 0, braze_shape(h)[0]);
			return NULL;
		}
		if (braze_ndim(h) > 1)
			return row_at(self, h, i * braze_strides(h)[0]);
		if ((data = wait_at_hand(h)))
			return element(h, data + i * braze_strides(h)[0]);
	}
	k = PyLong_FromSsize_t(i);
	if (k)
		r = index_get(self, k);
	Py_XDECREF(k);
	return r;
}

Py_ssize_t index_length(PyObject *self)
{
	if (!type_ndim(self)) {
		PyErr_SetString(PyExc_TypeError, "len() of unsized object");
		return -1;
	}
	return (Py_ssize_t)braze_shape(nd(self)->h)[0];
}

/* Drop the leading axes of extent 1 that NumPy ignores when assigning. */
static int trim(braze_array **src, int ndim)
{
	int n = braze_ndim(*src), lead = 0;
	braze_array *r = NULL;
	braze_error err;

	while (n - lead > ndim && braze_shape(*src)[lead] == 1)
		lead++;
	if (!lead)
		return 0;
	err.code = braze_reshape(&r, *src, n - lead, braze_shape(*src) + lead, &err);
	if (err.code)
		return wait_raise(&err);
	braze_release(*src);
	*src = r;
	return 0;
}

/* `a[s] += b` ends with a[s] = a[s]: the value is where it belongs. */
static bool same_view(braze_array *a, braze_array *b)
{
	size_t n = (size_t)braze_ndim(a) * sizeof(int64_t);

	return braze_same_buffer(a, b) && braze_offset(a) == braze_offset(b) &&
	       braze_dtype_of(a) == braze_dtype_of(b) && braze_ndim(a) == braze_ndim(b) &&
	       !memcmp(braze_shape(a), braze_shape(b), n) &&
	       !memcmp(braze_strides(a), braze_strides(b), n);
}

static int assign_array(braze_array *dst, braze_array **src)
{
	braze_array *cast = NULL;
	braze_error err;

	if (same_view(dst, *src))
		return 0;
	if (trim(src, braze_ndim(dst)))
		return -1;
	err.code = braze_assign(dst, braze_arg_array(*src), &err);
	if (err.code == BRAZE_E_CAST) {
		/* a[...] = b casts without asking, unlike a += b. */
		err.code = braze_cast(&cast, *src, braze_dtype_of(dst), &err);
		if (!err.code)
			err.code = braze_assign(dst, braze_arg_array(cast), &err);
		braze_release(cast);
	}
	return err.code ? wait_raise(&err) : watch_reports();
}

/* A sequence nested deeper than dst has axes: NumPy says whether that may be. */
static int too_deep(braze_array *dst, braze_array *src, PyObject *value)
{
	int more = braze_ndim(src) - braze_ndim(dst);
	PyObject *shape = type_int_tuple(braze_ndim(dst), braze_shape(src) + more);
	PyObject *trial =
		shape ? PyObject_CallFunctionObjArgs(core.np_empty, shape,
						     core.dtypes[braze_dtype_of(dst)], NULL)
		      : NULL;
	int rc = trial ? PyObject_SetItem(trial, Py_Ellipsis, value) : -1;

	Py_XDECREF(shape);
	Py_XDECREF(trial);
	return rc;
}

static bool is_sequence(PyObject *o)
{
	return PyList_Check(o) || PyTuple_Check(o);
}

/* Sequences, whose elements NumPy writes one by one, and types that braze lacks (long
 * doubles): NumPy casts them first. */
static int cast_first(braze_array **src, braze_array *dst, PyObject *value, bool sequence)
{
	PyObject *a = PyObject_CallFunctionObjArgs(core.np_array, value,
						   core.dtypes[braze_dtype_of(dst)], NULL);
	int rc = a ? convert_array(src, a) : -1;

	Py_XDECREF(a);
	if (rc == 1 && sequence && braze_ndim(*src) > braze_ndim(dst))
		rc = too_deep(dst, *src, value) ? -1 : 1;
	return rc;
}

/* Python's numbers in lists, as the elements of the destination: 1 done, 0 not, -1. */
static int assign_numbers(braze_array *dst, PyObject *value)
{
	braze_array *src = NULL;
	int rc = 0;

	if (!lists_array(&src, value, braze_dtype_of(dst)))
		return PyErr_Occurred() ? -1 : 0; /* there may be no daemon */
	if (braze_ndim(src) <= braze_ndim(dst))
		rc = assign_array(dst, &src) ? -1 : 1;
	braze_release(src);
	return rc;
}

static int assign_value(braze_array *dst, PyObject *value)
{
	braze_arg arg = {0};
	braze_array *src = NULL;
	braze_error err;
	bool sequence = is_sequence(value);
	int rc = 0;

	if (sequence)
		rc = assign_numbers(dst, value);
	if (rc)
		return rc == 1 ? 0 : -1;
	arg.scalar.dtype = braze_dtype_of(dst);
	if (!sequence)
		rc = convert_scalar_as(&arg.scalar, value, braze_dtype_of(dst));
	if (rc == 1) {
		err.code = braze_assign(dst, arg, &err);
		return err.code ? wait_raise(&err) : watch_reports();
	}
	if (rc == 0 && !sequence)
		rc = convert_array(&src, value);
	if (rc == 0)
		rc = cast_first(&src, dst, value, sequence);
	if (rc == 1)
		rc = assign_array(dst, &src) ? -1 : 1;
	if (rc == 0)
		PyErr_SetString(PyExc_TypeError, "the value cannot be assigned to an array");
	braze_release(src);
	return rc == 1 ? 0 : -1;
}

int index_assign(braze_array *dst, PyObject *value)
{
	braze_array *src = nd_check(value) && !(nd(value)->flags & ND_SCALAR) ? nd(value)->h : NULL;
	int rc = 0;

	if (!src)
		return assign_value(dst, value);
	braze_retain(src); /* which assign_array may put another in the place of */
	rc = assign_array(dst, &src);
	braze_release(src);
	return rc;
}

/* The bits of an element into shared memory, once that may be written: 1 done, -1. */
static int store_element(braze_array *h, int64_t delta, const braze_scalar *v)
{
	char *data = wait_fence(h);

	if (!data)
		return -1;
	convert_store(braze_dtype_of(h), v->bits, data + delta);
	return 1;
}

/* From NumPy 2.4 on no element may be set to an array with axes, of one element either. */
static bool is_no_element(PyObject *value)
{
	if (core.numpy < 204)
		return false;
	if (nd_check(value))
		return !(nd(value)->flags & ND_SCALAR) && type_ndim(value);
	return (PyObject *)Py_TYPE(value) == core.np_ndarray && np(value)->nd;
}

/* Write one element in shared memory if that is possible: 1 done, 0 not, -1. */
static int set_element(PyObject *self, int64_t delta, PyObject *value)
{
	braze_array *h = nd(self)->h;
	braze_scalar v;
	int rc = 0;

	if (is_no_element(value)) {
		PyErr_SetString(PyExc_ValueError, "setting an array element with a sequence.");
		return -1;
	}
	if (nd_check(value) && nd(value)->h) {
		/* What is lazy index_assign keeps so where it can. */
		if (!braze_is_writable(h) || !braze_near_number(&v, nd(value)->h) ||
		    v.dtype != braze_dtype_of(h))
			return 0;
		return store_element(h, delta, &v);
	}
	if (!braze_is_writable(h) && nd(self)->writes < RECORDED_WRITES) {
		nd(self)->writes++;
		return 0;
	}
	rc = convert_scalar_as(&v, value, braze_dtype_of(h));
	if (rc != 1)
		return rc;
	rc = store_element(h, delta, &v);
	if (rc == 1)
		nd(self)->writes = 0;
	return rc;
}

/* A value that is there: nothing of it is to be asked of Python. */
static bool is_number(PyObject *o)
{
	return PyFloat_CheckExact(o) || PyLong_CheckExact(o) || nd_check(o);
}

static int set_value(PyObject *self, braze_array *h, const struct spot *s, PyObject *value)
{
	braze_array *v = NULL;
	int rc = s->element ? set_element(self, s->delta, value) : 0;

	if (rc)
		return rc < 0 ? -1 : 0;
	/* With another part of it the array is another value, of which no element was read. */
	nd(self)->peeked &= s->element;
	v = view_of(h, s);
	if (!v)
		return -1;
	rc = index_assign(v, value);
	braze_release(v);
	return rc;
}

/* One element of an object that NumPy makes a number of, or refuses. */
static int set_number(PyObject *self, braze_array *h, const struct spot *s, PyObject *value)
{
	int dtype = braze_dtype_of(h), rc = -1;
	braze_scalar v = {.dtype = dtype};
	PyObject *number = NULL;

	if (convert_element(&v, value, dtype) != 1)
		return -1;
	number = type_immediate(dtype, v.bits);
	if (number)
		rc = set_value(self, h, s, number);
	Py_XDECREF(number);
	return rc;
}

/* May two elements of the destination be the same memory? */
static bool overlaps(braze_array *h, const struct spot *s)
{
	return !s->element && layout_overlap(s->ndim, s->shape, s->strides, braze_itemsize(h));
}

/* Arrays in the key, or elements that share memory. */
static int set_general(PyObject *self, PyObject *key, PyObject *value)
{
	PyObject *r = NULL;
	int rc = 0;

	if (!nd(self)->flags && numpys_setitem(&rc, self, key, value))
		return rc;
	r = PyObject_CallFunctionObjArgs(core.setitem, self, key, value, NULL);
	Py_XDECREF(r);
	return r ? 0 : -1;
}

/* self's handle; NULL with an exception set: it may not be written. */
static braze_array *to_write(PyObject *self, PyObject *value)
{
	braze_array *h = NULL;

	if (!value) {
		PyErr_SetString(PyExc_ValueError, "cannot delete array elements");
		return NULL;
	}
	if (layout_check_write(self, "assignment destination"))
		return NULL;
	h = type_handle(self);
	return h && core.locked && wait_check_locked(h) ? NULL : h;
}

/* What may be written now, a number into an element or rows at places: 1 done, 0 not, -1. */
static int set_at_hand(PyObject *self, braze_array *h, PyObject *key, PyObject *value)
{
	int64_t delta = 0;
	int rc = 0;

	if (keys_are(key) && keys_set(&rc, self, key, value))
		return rc ? -1 : 1;
	if (!is_number(value) || !braze_is_writable(h) || !element_at(&delta, h, key))
		return 0;
	return set_element(self, delta, value);
}

/* An element's number where both lie at hand, as set_element writes it; false: others know. */
static bool set_quickly(PyObject *self, PyObject *key, PyObject *value)
{
	braze_array *h = nd(self)->h;
	int64_t delta = 0;
	braze_scalar v;
	char *data = NULL;

	if ((!PyLong_CheckExact(key) && !PyTuple_CheckExact(key)) || !h || nd(self)->flags ||
	    core.locked || core.reports || (nd_check(value) && nd(value)->h) ||
	    !convert_plain(&v, value, braze_dtype_of(h)) || !element_at(&delta, h, key))
		return false;
	data = braze_written_at_hand(h);
	if (!data)
		return false;
	convert_store(braze_dtype_of(h), v.bits, data + delta);
	nd(self)->writes = 0;
	return true;
}

static int set_resolved(PyObject *self, braze_array *h, PyObject *key, PyObject *value)
{
	struct spot s;
	int rc = resolve(&s, h, key);

	if (rc == BASIC_ERROR)
		return -1;
	if (rc == BASIC_YES && nd(self)->flags & ND_OVERLAP && overlaps(h, &s))
		rc = BASIC_NO;
	if (rc == BASIC_NO)
		return set_general(self, key, value);
	if (s.element && (is_sequence(value) || foreign_is(value)))
		return set_number(self, h, &s, value);
	return set_value(self, h, &s, value);
}

int index_set(PyObject *self, PyObject *key, PyObject *value)
{
	braze_array *h = NULL;
	int rc = 0;

	if (value && set_quickly(self, key, value))
		return 0;
	h = to_write(self, value);
	rc = h ? set_at_hand(self, h, key, value) : -1;
	if (rc)
		return rc < 0 ? -1 : 0;
	if (selection_settle_key(key) || selection_settle_key(value))
		return -1;
	return set_resolved(self, h, key, value);
}
