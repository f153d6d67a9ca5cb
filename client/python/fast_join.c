/* SPDX-License-Identifier: Apache-2.0 */
/* fast_join.c - arrays put together: concatenate and what is made of it (braze/numpy/_shape.py has
 * every other call). */
#include "native.h"

#include <string.h>

#define JOIN_LIMIT 1024 /* arrays */
#define SAME_LIMIT 64	/* times that one array is joined with itself */

struct join {
	braze_array *part[JOIN_LIMIT];
	int n, ndim; /* ndim: of all, or -1 */
};

/* What numpys.def has for the function, then Python's. */
static bool otherwise(PyObject **out, const struct fast *f, const struct call *c)
{
	return !PyErr_Occurred() && f->numpys && f->numpys->fn(out, f->numpys, c);
}

/* The arrays in a tuple or list. */
static bool read_parts(struct join *j, PyObject *seq)
{
	bool tuple = PyTuple_CheckExact(seq);
	Py_ssize_t n = 0;

	if (!tuple && !PyList_CheckExact(seq))
		return false;
	n = tuple ? PyTuple_Size(seq) : PyList_Size(seq);
	if (n < 1 || n > JOIN_LIMIT)
		return false;
	for (j->n = 0; j->n < n; j->n++) {
		PyObject *o = tuple ? PyTuple_GetItem(seq, j->n) : PyList_GetItem(seq, j->n);
		braze_array *h = fast_array(o);

		if (!h)
			return false;
		if (!j->n)
			j->ndim = braze_ndim(h);
		else if (j->ndim != braze_ndim(h))
			j->ndim = -1;
		j->part[j->n] = h;
	}
	return true;
}

static bool concatenated(PyObject **out, const struct join *j, int axis)
{
	braze_array *made = NULL;
	braze_error err;

	return fast_new(out, layout_join(&made, j->n, j->part, axis, -1, false, &err), &made, 0);
}

static bool stacked(PyObject **out, const struct join *j, int axis)
{
	braze_array *made = NULL;
	braze_error err;

	return fast_new(out, layout_join(&made, j->n, j->part, axis, -1, true, &err), &made, 0);
}

/* made, or what it is in another shape, of which Python sees nothing. */
static bool reshaped(PyObject **out, braze_array *made, int n, const int64_t *shape)
{
	braze_array *other = NULL;
	braze_error err;
	int rc = braze_reshape(&other, made, n, shape, &err);

	braze_release(made);
	return fast_new(out, rc, &other, 0);
}

/* One after the other as rows of no axis: a view of what is contiguous, else a copy. */
static bool flat(PyObject **out, struct join *j)
{
	bool whole = true;
	int k = 0;

	for (; k < j->n && whole; k++) {
		int64_t size = braze_size(j->part[k]);
		braze_array *row = NULL;
		braze_error err;

		whole = !braze_reshape(&row, j->part[k], 1, &size, &err);
		if (whole)
			j->part[k] = row;
	}
	if (whole)
		whole = concatenated(out, j, 0);
	else
		k--;
	while (k-- > 0)
		braze_release(j->part[k]);
	return whole;
}

bool fast_concatenate(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	struct join j;
	int axis = 0;

	if (!fast_bind(slot, f, c) || !read_parts(&j, slot[0]))
		return false;
	if (slot[1] == Py_None)
		return j.ndim == 1 ? concatenated(out, &j, 0) : flat(out, &j);
	return j.ndim > 0 && (!slot[1] || fast_axis(&axis, slot[1], j.ndim)) &&
	       concatenated(out, &j, axis);
}

#define APPENDED_MOST 16384 /* elements that are copied at once */

/* A number of the vector's own type, or an integer to floats; false: not that. */
static bool number_for(void *to, int dtype, PyObject *o)
{
	int64_t i = 0;
	double d = 0;

	if (nd_check(o) && !nd(o)->h && nd(o)->now.dtype == dtype) {
		convert_store(dtype, nd(o)->now.bits, to);
		return true;
	}
	if (dtype == BRAZE_INT64 && fast_int(&i, o)) {
		memcpy(to, &i, sizeof i);
		return true;
	}
	if (dtype != BRAZE_FLOAT64 || !(PyFloat_CheckExact(o) || fast_int(&i, o)))
		return false;
	d = PyFloat_CheckExact(o) ? PyFloat_AsDouble(o) : (double)i;
	memcpy(to, &d, sizeof d);
	return true;
}

/* A vector that is at hand, and one number more. */
static bool with_number(PyObject **out, PyObject *a, PyObject *value)
{
	braze_array *h = fast_array(a), *made = NULL;
	const void *from = NULL;
	void *to = NULL;
	char one[16];
	int64_t n = 0;
	size_t bytes = 0;

	if (!h || braze_ndim(h) != 1 || !braze_is_contiguous(h) || !braze_is_near(h) ||
	    (n = braze_size(h)) > APPENDED_MOST || !(from = wait_at_hand(h)) ||
	    !number_for(one, braze_dtype_of(h), value))
		return false;
	bytes = (size_t)convert_itemsize(braze_dtype_of(h));
	n++;
	if (!braze_near_made(&made, &to, braze_session_of(h), braze_dtype_of(h), 1, &n))
		return false;
	memcpy(to, from, bytes * (size_t)(n - 1));
	memcpy((char *)to + bytes * (size_t)(n - 1), one, bytes);
	braze_count_near(braze_session_of(h));
	return fast_new(out, 0, &made, 0);
}

bool fast_append(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	struct join j = {.n = 2};
	int axis = 0;

	if (!fast_bind(slot, f, c) || !slot[1])
		return otherwise(out, f, c);
	if (fast_absent(slot[2]) && with_number(out, slot[0], slot[1]))
		return true;
	if (!(j.part[0] = fast_array(slot[0])) || !(j.part[1] = fast_array(slot[1])))
		return otherwise(out, f, c);
	j.ndim = braze_ndim(j.part[0]);
	if (fast_absent(slot[2]))
		return flat(out, &j);
	return j.ndim > 0 && fast_axis(&axis, slot[2], j.ndim) && concatenated(out, &j, axis);
}

bool fast_stack(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	struct join j;
	int axis = 0;

	return fast_bind(slot, f, c) && read_parts(&j, slot[0]) && j.ndim >= 0 &&
	       (!slot[1] || fast_axis(&axis, slot[1], j.ndim + 1)) && stacked(out, &j, axis);
}

bool fast_vstack(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	struct join j;

	if (!fast_bind(slot, f, c) || !read_parts(&j, slot[0]) || j.ndim < 1)
		return false;
	return j.ndim == 1 ? stacked(out, &j, 0) : concatenated(out, &j, 0);
}

bool fast_hstack(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	struct join j;

	return fast_bind(slot, f, c) && read_parts(&j, slot[0]) && j.ndim > 0 &&
	       concatenated(out, &j, j.ndim > 1);
}

bool fast_column_stack(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	struct join j;

	if (!fast_bind(slot, f, c) || !read_parts(&j, slot[0]) || j.ndim < 1)
		return otherwise(out, f, c);
	return j.ndim == 1 ? stacked(out, &j, 1) : concatenated(out, &j, 1);
}

bool fast_dstack(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	braze_array *made = NULL;
	braze_error err;
	struct join j;

	if (!fast_bind(slot, f, c) || !read_parts(&j, slot[0]) || j.ndim < 1)
		return otherwise(out, f, c);
	if (j.ndim > 1)
		return j.ndim == 2 ? stacked(out, &j, 2) : concatenated(out, &j, 2);
	if (braze_stack(&made, j.n, j.part, 1, -1, &err))
		return false;
	return reshaped(out, made, 3, (int64_t[]){1, braze_shape(made)[0], j.n});
}

/* ---- Blocks: a row of arrays, or rows of them ---- */

/* Rows, each a list of arrays of one and the same number of axes, at most two; released by who
 * calls. */
static bool read_rows(struct join *rows, PyObject *seq)
{
	struct join row;
	braze_error err;
	Py_ssize_t n = PyList_Size(seq);

	if (n > SAME_LIMIT)
		return false;
	for (; rows->n < n; rows->n++) {
		PyObject *o = PyList_GetItem(seq, rows->n);

		if (!PyList_CheckExact(o) || !read_parts(&row, o) || row.ndim < 1 || row.ndim > 2 ||
		    (rows->n && row.ndim != rows->ndim) ||
		    layout_join(&rows->part[rows->n], row.n, row.part, -1, -1, false, &err))
			return false;
		rows->ndim = row.ndim;
	}
	return true;
}

bool fast_block(PyObject **out, const struct fast *f, const struct call *c)
{
	struct join j = {.n = 0}, rows = {.n = 0};
	PyObject *slot[FAST_ARGS];
	bool done = false;

	if (!fast_bind(slot, f, c) || !PyList_CheckExact(slot[0]) || !PyList_Size(slot[0]))
		return otherwise(out, f, c);
	if (read_parts(&j, slot[0]))
		return j.ndim > 0 ? concatenated(out, &j, j.ndim - 1) : otherwise(out, f, c);
	if (read_rows(&rows, slot[0]))
		done = rows.ndim == 1 ? stacked(out, &rows, 0) : concatenated(out, &rows, 0);
	for (int k = 0; k < rows.n; k++)
		braze_release(rows.part[k]);
	return done || otherwise(out, f, c);
}

/* ---- One array more than once, or in parts ---- */

static bool read_times(struct join *j, PyObject *o, int64_t times)
{
	braze_array *h = fast_array(o);

	if (!h || times < 1 || times > SAME_LIMIT)
		return false;
	j->ndim = braze_ndim(h);
	for (j->n = 0; j->n < times; j->n++)
		j->part[j->n] = h;
	return true;
}

/* (rows, 1) of a vector, and (rows, 1) or (1, columns) of a matrix. */
static bool tile_of_two(PyObject **out, PyObject *o, const int64_t times[2])
{
	braze_array *made = NULL;
	braze_error err;
	struct join j;
	int axis = times[0] == 1;

	if (times[axis ? 0 : 1] != 1 || !read_times(&j, o, times[axis]) || j.ndim < 1 ||
	    j.ndim > 2 || (axis && j.ndim < 2))
		return false;
	if (j.ndim == 1)
		return !braze_stack(&made, j.n, j.part, 0, -1, &err) && fast_new(out, 0, &made, 0);
	return fast_new(out, braze_concatenate(&made, j.n, j.part, axis, -1, &err), &made, 0);
}

bool fast_tile(PyObject **out, const struct fast *f, const struct call *c)
{
	int64_t times[BRAZE_MAX_NDIM];
	PyObject *slot[FAST_ARGS];
	braze_array *made = NULL;
	braze_error err;
	struct join j;
	int n = 0;

	if (!fast_bind(slot, f, c) || !slot[1] || (n = fast_dims(times, slot[1])) < 1 || n > 2)
		return otherwise(out, f, c);
	if (n == 2)
		return tile_of_two(out, slot[0], times) || otherwise(out, f, c);
	if (!read_times(&j, slot[0], times[0]) || j.ndim < 1)
		return otherwise(out, f, c);
	/* In C order, as NumPy's. */
	return fast_new(out, braze_concatenate(&made, j.n, j.part, -1, -1, &err), &made, 0);
}

bool fast_repeat(PyObject **out, const struct fast *f, const struct call *c)
{
	int64_t times = 0, shape[BRAZE_MAX_NDIM];
	PyObject *slot[FAST_ARGS];
	braze_array *made = NULL;
	braze_error err;
	struct join j;
	int axis = 0;

	if (!fast_bind(slot, f, c) || !slot[1] || !fast_int(&times, slot[1]) ||
	    !read_times(&j, slot[0], times) || j.ndim < 1 || j.ndim >= BRAZE_MAX_NDIM)
		return otherwise(out, f, c);
	if (fast_absent(slot[2]) ? j.ndim > 1 : !fast_axis(&axis, slot[2], j.ndim))
		return otherwise(out, f, c);
	memcpy(shape, braze_shape(j.part[0]), (size_t)j.ndim * sizeof *shape);
	if (braze_stack(&made, j.n, j.part, axis + 1, -1, &err))
		return false;
	shape[axis] *= times;
	return reshaped(out, made, j.ndim, shape);
}

/* h[from:to] along the axis. */
static braze_array *part_of(braze_array *h, int axis, int64_t from, int64_t to)
{
	int64_t start[BRAZE_MAX_NDIM], count[BRAZE_MAX_NDIM], step[BRAZE_MAX_NDIM];
	braze_array *out = NULL;
	braze_error err;

	for (int k = 0; k < braze_ndim(h); k++) {
		start[k] = k == axis ? from : 0;
		count[k] = k == axis ? to - from : braze_shape(h)[k];
		step[k] = 1;
	}
	return braze_slice(&out, h, start, count, step, &err) ? NULL : out;
}

static bool rolled(braze_array **out, braze_array *h, int axis, int64_t by)
{
	int64_t n = braze_shape(h)[axis];
	struct join j = {.n = 2};
	braze_error err;
	int rc = -1;

	by = n ? by % n + (by % n < 0 ? n : 0) : 0;
	if (!by)
		return !layout_copy(out, h, -1, &err);
	j.part[0] = part_of(h, axis, n - by, n);
	j.part[1] = part_of(h, axis, 0, n - by);
	if (j.part[0] && j.part[1])
		rc = layout_join(out, 2, j.part, axis, -1, false, &err);
	braze_release(j.part[0]);
	braze_release(j.part[1]);
	return !rc;
}

bool fast_roll(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	braze_array *h = NULL, *row = NULL, *made = NULL;
	braze_error err;
	int64_t by = 0, size = 0;
	int axis = 0;
	bool done = false;

	if (!fast_bind(slot, f, c) || !slot[1] || !(h = fast_array(slot[0])) || !braze_ndim(h) ||
	    !fast_int(&by, slot[1]))
		return otherwise(out, f, c);
	if (!fast_absent(slot[2]))
		return fast_axis(&axis, slot[2], braze_ndim(h)) &&
		       fast_new(out, !rolled(&made, h, axis, by), &made, 0);
	size = braze_size(h);
	if (braze_reshape(&row, h, 1, &size, &err))
		return false;
	done = rolled(&made, row, 0, by);
	braze_release(row);
	return done && reshaped(out, made, braze_ndim(h), braze_shape(h));
}

/* ---- Zeros around ---- */

/* How many before and behind an axis, of the one or two numbers that are given. */
static bool read_width(int64_t width[2], const int64_t *given, int n)
{
	if (n < 1 || n > 2)
		return false;
	width[0] = given[0];
	width[1] = given[n - 1];
	return width[0] >= 0 && width[1] >= 0 && width[0] <= INT32_MAX && width[1] <= INT32_MAX;
}

/* A number or a pair for all axes, or a pair for each of them. */
static bool read_widths(int64_t (*width)[2], PyObject *o, int ndim)
{
	int64_t given[BRAZE_MAX_NDIM];
	int n = fast_dims(given, o);
	bool tuple = PyTuple_CheckExact(o), list = PyList_CheckExact(o);
	bool each = n < 0 && (tuple || list), fits = true;

	if (each ? PySequence_Size(o) != ndim : n < 1 + (tuple || list))
		return false;
	for (int k = 0; k < ndim && fits; k++) {
		if (each)
			n = fast_dims(given, tuple ? PyTuple_GetItem(o, k) : PyList_GetItem(o, k));
		fits = (!each || n == 2) && read_width(width[k], given, n);
	}
	return fits;
}

static braze_array *zeros(braze_array *like, int ndim, const int64_t *shape)
{
	braze_array *made = NULL;
	braze_error err;

	return braze_full(&made, braze_session_of(like), braze_dtype_of(like), ndim, shape,
			  braze_int(0), &err)
		       ? NULL
		       : made;
}

/* A row, and zeros on either side of it. */
static bool padded_row(PyObject **out, braze_array *h, const int64_t width[2])
{
	struct join j = {.n = 3, .part = {zeros(h, 1, &width[0]), h, zeros(h, 1, &width[1])}};
	bool done = j.part[0] && j.part[2] && concatenated(out, &j, 0);

	braze_release(j.part[0]);
	braze_release(j.part[2]);
	return done;
}

/* It is put into zeros. */
static bool padded(PyObject **out, braze_array *h, int64_t (*width)[2])
{
	int64_t shape[BRAZE_MAX_NDIM], offset = 0;
	braze_array *made = NULL, *inside = NULL;
	braze_error err;
	int n = braze_ndim(h), rc = 0;

	for (int k = 0; k < n; k++)
		if (__builtin_add_overflow(braze_shape(h)[k], width[k][0] + width[k][1], &shape[k]))
			return false;
	made = zeros(h, n, shape);
	if (!made)
		return false;
	for (int k = 0; k < n; k++)
		offset += width[k][0] * braze_strides(made)[k];
	if (braze_size(h)) {
		rc = braze_view(&inside, made, braze_dtype_of(h), n, braze_shape(h),
				braze_strides(made), offset, &err);
		if (!rc)
			rc = braze_assign(inside, braze_arg_array(h), &err);
		braze_release(inside);
	}
	if (rc)
		braze_release(made);
	return fast_new(out, rc, &made, 0);
}

bool fast_pad(PyObject **out, const struct fast *f, const struct call *c)
{
	int64_t width[BRAZE_MAX_NDIM][2];
	PyObject *slot[FAST_ARGS];
	braze_array *h = NULL;

	if (!fast_bind(slot, f, c) || !slot[1] || !(h = fast_array(slot[0])) || !braze_ndim(h) ||
	    (slot[2] && (!PyUnicode_Check(slot[2]) ||
			 PyUnicode_CompareWithASCIIString(slot[2], "constant"))) ||
	    !read_widths(width, slot[1], braze_ndim(h)))
		return otherwise(out, f, c);
	return braze_ndim(h) == 1 ? padded_row(out, h, width[0]) : padded(out, h, width);
}
