/* SPDX-License-Identifier: Apache-2.0 */
/* fast_join.c - arrays of one type, joined (braze/numpy/_shape.py has every other call). */
#include "native.h"

#include <string.h>

#define JOIN_LIMIT 64 /* arrays */

struct join {
	braze_array *part[JOIN_LIMIT];
	int n;
};

/* Arrays of one type and number of axes in a tuple or list. */
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
		braze_array *h = fast_array(o), *first = j->n ? j->part[0] : h;

		if (!h || braze_dtype_of(h) != braze_dtype_of(first) ||
		    braze_ndim(h) != braze_ndim(first))
			return false;
		j->part[j->n] = h;
	}
	return true;
}

/* All extents but the axis' agree. */
static bool agree(const struct join *j, int axis)
{
	const int64_t *shape = braze_shape(j->part[0]);

	for (int i = 1; i < j->n; i++)
		for (int k = 0; k < braze_ndim(j->part[0]); k++)
			if (k != axis && braze_shape(j->part[i])[k] != shape[k])
				return false;
	return true;
}

/* made[at] = part, on an axis that stacking makes, or made[at:at + n] = part. */
static int place(braze_array *made, braze_array *part, int axis, int64_t at, bool stacks)
{
	int64_t shape[BRAZE_MAX_NDIM], strides[BRAZE_MAX_NDIM];
	int n = 0, rc = 0;
	braze_array *view = NULL;
	braze_error err;

	if (!braze_size(part))
		return 0;
	for (int k = 0; k < braze_ndim(made); k++) {
		if (stacks && k == axis)
			continue;
		shape[n] = k == axis ? braze_shape(part)[k] : braze_shape(made)[k];
		strides[n++] = braze_strides(made)[k];
	}
	rc = braze_view(&view, made, braze_dtype_of(made), n, shape, strides,
			braze_offset(made) + at * braze_strides(made)[axis], &err);
	if (!rc)
		rc = braze_assign(view, braze_arg_array(part), &err);
	braze_release(view);
	return rc;
}

static bool joined(PyObject **out, const struct join *j, int axis, bool stacks)
{
	int64_t shape[BRAZE_MAX_NDIM], at = 0;
	braze_array *first = j->part[0], *made = NULL;
	braze_error err;
	int n = braze_ndim(first) + stacks;

	for (int k = 0; k < n; k++)
		shape[k] = stacks ? k == axis ? j->n : braze_shape(first)[k - (k > axis)]
				  : braze_shape(first)[k];
	for (int i = 1; i < j->n && !stacks; i++)
		shape[axis] += braze_shape(j->part[i])[axis];
	if (braze_empty(&made, braze_session_of(first), braze_dtype_of(first), n, shape, &err))
		return false;
	for (int i = 0; i < j->n; i++) {
		if (place(made, j->part[i], axis, at, stacks)) {
			braze_release(made);
			return false;
		}
		at += stacks ? 1 : braze_shape(j->part[i])[axis];
	}
	*out = type_new(made, 0);
	return true;
}

static bool concatenated(PyObject **out, const struct join *j, int axis)
{
	return agree(j, axis) && joined(out, j, axis, false);
}

static bool stacked(PyObject **out, const struct join *j, int axis)
{
	return braze_ndim(j->part[0]) < BRAZE_MAX_NDIM && agree(j, -1) &&
	       joined(out, j, axis, true);
}

bool fast_concatenate(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	struct join j;
	int axis = 0;

	if (!fast_bind(slot, f, c) || !read_parts(&j, slot[0]) || !braze_ndim(j.part[0]) ||
	    (slot[1] && !fast_axis(&axis, slot[1], braze_ndim(j.part[0]))))
		return false;
	return concatenated(out, &j, axis);
}

bool fast_stack(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	struct join j;
	int axis = 0;

	if (!fast_bind(slot, f, c) || !read_parts(&j, slot[0]) ||
	    (slot[1] && !fast_axis(&axis, slot[1], braze_ndim(j.part[0]) + 1)))
		return false;
	return stacked(out, &j, axis);
}

bool fast_vstack(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	struct join j;

	if (!fast_bind(slot, f, c) || !read_parts(&j, slot[0]) || !braze_ndim(j.part[0]))
		return false;
	return braze_ndim(j.part[0]) == 1 ? stacked(out, &j, 0) : concatenated(out, &j, 0);
}

bool fast_hstack(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	struct join j;

	if (!fast_bind(slot, f, c) || !read_parts(&j, slot[0]) || !braze_ndim(j.part[0]))
		return false;
	return concatenated(out, &j, braze_ndim(j.part[0]) > 1);
}
