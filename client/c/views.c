/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/views.c - arrays that share a buffer: slices, transposes, reshapes. */
#include <string.h>

#include "apart.h"
#include "array.h"
#include "lock.h"
#include "lost.h"
#include "near.h"

/* Record v as a view of a, under the lock. */
static int view_of(struct braze_array **out, struct braze_array *a, const struct view *v,
		   struct err *err)
{
	lock_take(a->session);
	int st = apart_is(a) ? OK : (int)array_usable(a->session, err);
	if (!st)
		st = (int)array_view(out, a, v, err);
	lock_give(a->session);
	return st;
}

int braze_view(braze_array **out, braze_array *a, int dtype, int ndim, const int64_t *shape,
	       const int64_t *strides, int64_t offset, braze_error *error)
{
	struct err *err = err_of(error);
	struct view v = {.dtype = (uint8_t)dtype, .offset = offset};

	if (dtype < 0 || !dtype_row((unsigned)dtype))
		return (int)err_set(err, E_DTYPE, "%d is not the number of an element type", dtype);
	enum status st = array_type(a->session, (unsigned)dtype, err);
	if (!st)
		st = array_shape(&v.shape, ndim, shape, err);
	if (st)
		return (int)st;
	memcpy(v.stride, strides, (size_t)ndim * sizeof(*strides));
	st = view_retype(&v, (enum dtype)a->view.dtype, err);
	return st ? (int)st : view_of(out, a, &v, err);
}

/* Of an array apart, whose handles the daemon has no names of. */
static struct braze_array *part_of(struct braze_array *a, int ndim, const int64_t *shape,
				   const int64_t *strides, int64_t offset)
{
	struct braze_array *r = array_take(a->session, a->buf);
	int64_t step = dtype_row(a->view.dtype)->bytes, count = 1;
	bool row = true;

	a->buf->refs++;
	apart_link(r, a->buf);
	r->view.dtype = a->view.dtype;
	r->view.offset = offset;
	r->view.shape.ndim = (uint8_t)ndim;
	for (int i = ndim - 1; i >= 0; i--) {
		r->view.shape.dim[i] = shape[i];
		r->view.stride[i] = strides[i];
		row &= shape[i] == 1 || strides[i] == step;
		step *= shape[i];
		count *= shape[i];
	}
	r->count = count;
	r->contiguous = row || !count;
	return r;
}

int braze_part(braze_array **out, braze_array *a, int ndim, const int64_t *shape,
	       const int64_t *strides, int64_t offset, braze_error *err)
{
	struct braze_session *s = a->session;

	lock_take(s);
	bool here = a->buf->flags & BUF_APART && near_hand(a) && ndim <= LIMIT_NDIM &&
		    !array_room(s, NULL);
	if (likely(here))
		*out = part_of(a, ndim, shape, strides, offset);
	lock_give(s);
	return here ? 0 : braze_view(out, a, a->view.dtype, ndim, shape, strides, offset, err);
}

int braze_slice(braze_array **out, braze_array *a, const int64_t *start, const int64_t *count,
		const int64_t *step, braze_error *error)
{
	struct err *err = err_of(error);
	struct view v = a->view;
	bool empty = false;

	for (int i = 0; i < v.shape.ndim; i++) {
		__int128 last = start[i] + (__int128)(count[i] - 1) * step[i];
		int64_t n = a->view.shape.dim[i];
		if (count[i] < 0 ||
		    (count[i] > 0 && (start[i] < 0 || start[i] >= n || last < 0 || last >= n)))
			return (int)err_set(err, E_INDEX,
					    "slice of %lld elements from %lld by %lld leaves axis "
					    "%d of size %lld",
					    (long long)count[i], (long long)start[i],
					    (long long)step[i], i, (long long)n);
		empty |= count[i] == 0;
		v.shape.dim[i] = count[i];
		/* The stride of a single element may be anything; keep it small. */
		v.stride[i] = count[i] > 1 ? a->view.stride[i] * step[i] : a->view.stride[i];
	}
	for (int i = 0; i < v.shape.ndim && !empty; i++)
		v.offset += start[i] * a->view.stride[i];
	return view_of(out, a, &v, err);
}

int braze_transpose(braze_array **out, braze_array *a, const int *axes, braze_error *error)
{
	int64_t shape[LIMIT_NDIM], stride[LIMIT_NDIM];
	const struct view *v = &a->view;
	int ndim = v->shape.ndim;
	unsigned seen = 0;

	for (int i = 0; i < ndim; i++) {
		int from = axes ? axes[i] : ndim - 1 - i;
		if (from < 0 || from >= ndim || (seen >> from & 1))
			return (int)err_set(err_of(error), E_AXIS,
					    "axes do not match array: axis %d", from);
		seen |= 1u << from;
		shape[i] = v->shape.dim[from];
		stride[i] = v->stride[from];
	}
	return braze_part(out, a, ndim, shape, stride, v->offset, error);
}

int braze_broadcast_to(braze_array **out, braze_array *a, int ndim, const int64_t *shape,
		       braze_error *error)
{
	struct err *err = err_of(error);
	struct shape want;
	struct view v;

	enum status st = array_shape(&want, ndim, shape, err);
	if (!st)
		st = view_broadcast(&v, &a->view, &want, err);
	return st ? (int)st : view_of(out, a, &v, err);
}

/* ---- Reshape ---- */

/* Put the extent that -1 stands for; the element counts must agree. */
static enum status fill_shape(struct shape *want, const struct braze_array *a, struct err *err)
{
	int64_t known = 1;
	int open = -1;

	for (int i = 0; i < want->ndim; i++) {
		if (want->dim[i] == -1 && open < 0)
			open = i;
		else if (want->dim[i] < 0 || __builtin_mul_overflow(known, want->dim[i], &known))
			return err_set(err, E_INVALID,
				       "reshape: only one extent may be -1, others count elements");
	}
	if (open >= 0 && known > 0 && a->count % known == 0) {
		want->dim[open] = a->count / known;
		known = a->count;
	}
	if (known != a->count || (open >= 0 && want->dim[open] < 0)) {
		char text[160];
		return err_set(err, E_SHAPE, "cannot reshape array of size %lld into shape %s",
			       (long long)a->count, shape_text(want, text, sizeof(text)));
	}
	return OK;
}

/* Strides of the new shape over the same bytes.  Old and new axes are walked
 * together in groups of equal element count; a group of old axes must be one run
 * of constant stride.  False: only a copy has this shape. */
static bool restride(struct view *v, const struct view *old)
{
	int64_t dim[LIMIT_NDIM], stride[LIMIT_NDIM];
	int n = 0, i = 0, j = 0;

	for (int k = 0; k < old->shape.ndim; k++)
		if (old->shape.dim[k] != 1) {
			dim[n] = old->shape.dim[k];
			stride[n++] = old->stride[k];
		}
	while (i < n && j < v->shape.ndim) {
		int64_t have = dim[i], want = v->shape.dim[j];
		int i1 = i + 1, j1 = j + 1;
		while (have != want) {
			if (have < want) {
				have *= dim[i1++];
			} else {
				want *= v->shape.dim[j1++];
			}
		}
		for (int k = i; k + 1 < i1; k++)
			if (stride[k] != stride[k + 1] * dim[k + 1])
				return false;
		v->stride[j1 - 1] = stride[i1 - 1];
		for (int k = j1 - 1; k > j; k--)
			v->stride[k - 1] = v->stride[k] * v->shape.dim[k];
		i = i1;
		j = j1;
	}
	/* Extents of one at the end step over nothing. */
	for (; j < v->shape.ndim; j++)
		v->stride[j] = dtype_row(v->dtype)->bytes;
	return true;
}

int braze_reshape(braze_array **out, braze_array *a, int ndim, const int64_t *shape,
		  braze_error *error)
{
	struct err *err = err_of(error);
	struct braze_array *copy = NULL;
	struct view v;
	struct shape want;

	int st = (int)array_shape(&want, ndim, shape, err);
	if (!st)
		st = (int)fill_shape(&want, a, err);
	if (st)
		return st;
	view_init(&v, (enum dtype)a->view.dtype, &want);
	v.offset = a->view.offset;
	if (a->count == 0 || a->contiguous || restride(&v, &a->view))
		return view_of(out, a, &v, err);
	st = braze_copy(&copy, a, error);
	view_init(&v, (enum dtype)a->view.dtype, &want); /* restride() left its tracks */
	v.offset = 0;
	if (!st)
		st = view_of(out, copy, &v, err);
	braze_release(copy);
	return st;
}
