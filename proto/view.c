/* SPDX-License-Identifier: Apache-2.0 */
/* Views: the bytes they touch, proved inside their buffer in 128-bit arithmetic. */
#include <string.h>

#include "ops.h"

static bool is_empty(const struct shape *s)
{
	for (int i = 0; i < s->ndim; i++)
		if (!s->dim[i])
			return true;
	return false;
}

void view_init(struct view *v, enum dtype d, const struct shape *s)
{
	int64_t step = dtype_row(d)->bytes;

	v->dtype = (uint8_t)d;
	v->offset = v->move = 0;
	v->shape.ndim = s->ndim;
	for (int i = s->ndim - 1; i >= 0; i--) {
		v->shape.dim[i] = s->dim[i];
		v->stride[i] = step;
		step *= s->dim[i] > 0 ? s->dim[i] : 1;
	}
}

enum status view_range(int64_t *lo, int64_t *hi, const struct view *v, struct err *err)
{
	__int128 low = v->offset, high = v->offset;

	for (int i = 0; i < v->shape.ndim; i++)
		if (v->shape.dim[i] < 0)
			return err_set(err, E_INVALID, "negative dimensions are not allowed");
	if (is_empty(&v->shape)) {
		*lo = *hi = 0;
		return OK;
	}
	for (int i = 0; i < v->shape.ndim; i++) {
		__int128 reach = (__int128)(v->shape.dim[i] - 1) * v->stride[i];

		if (reach < 0)
			low += reach;
		else
			high += reach;
		/* Two more of these could pass 128 bits. */
		if (low < INT64_MIN || high > INT64_MAX)
			break;
	}
	high += dtype_row(v->dtype)->bytes;
	if (low < INT64_MIN || high > INT64_MAX)
		return err_set(err, E_LIMIT, "view reaches beyond 64-bit addresses");
	*lo = (int64_t)low;
	*hi = (int64_t)high;
	return OK;
}

enum status view_check(const struct view *v, uint64_t bytes, struct err *err)
{
	int64_t lo, hi, count;
	enum status st;

	if (!dtype_row(v->dtype) || v->shape.ndim > LIMIT_NDIM)
		return err_set(err, E_INVALID, "view has no such type or too many dimensions");
	st = shape_count(&count, &v->shape, dtype_row(v->dtype)->bytes, err);
	if (!st)
		st = view_range(&lo, &hi, v, err);
	if (!st && (lo < 0 || hi < lo || (uint64_t)hi > bytes)) {
		char text[160];

		st = err_set(err, E_INDEX,
			     "view of shape %s touches bytes %lld to %lld of a buffer of %llu",
			     shape_text(&v->shape, text, sizeof text), (long long)lo, (long long)hi,
			     (unsigned long long)bytes);
	}
	return st;
}

enum status view_retype(const struct view *v, enum dtype have, struct err *err)
{
	const struct dtype_row *row = dtype_row(v->dtype);
	int64_t unit;

	if (!row)
		return err_set(err, E_DTYPE, "%u is not the number of an element type", v->dtype);
	if (v->dtype == have)
		return OK;
	unit = row->cls == CLASS_COMPLEX ? row->bytes / 2 : row->bytes;
	if (v->offset % unit)
		goto bad;
	for (int i = 0; i < v->shape.ndim; i++)
		if (v->shape.dim[i] > 1 && v->stride[i] % unit)
			goto bad;
	return OK;
bad:
	return err_set(err, E_DTYPE, "a view of %s as %s does not lie on multiples of %lld bytes",
		       dtype_row(have)->name, row->name, (long long)unit);
}

bool view_contiguous(const struct view *v)
{
	int64_t step = dtype_row(v->dtype)->bytes;

	if (is_empty(&v->shape))
		return true;
	for (int i = v->shape.ndim - 1; i >= 0; i--) {
		if (v->shape.dim[i] != 1 && v->stride[i] != step)
			return false;
		step *= v->shape.dim[i];
	}
	return true;
}

enum status view_broadcast(struct view *out, const struct view *v, const struct shape *s,
			   struct err *err)
{
	struct view r = {.dtype = v->dtype, .shape = *s, .offset = v->offset, .move = v->move};
	int pad = s->ndim - v->shape.ndim;

	for (int i = 0; i < s->ndim; i++) {
		int64_t have = i >= pad ? v->shape.dim[i - pad] : 1;

		if (pad < 0 || (have != s->dim[i] && have != 1))
			goto bad;
		r.stride[i] = have == 1 || i < pad ? 0 : v->stride[i - pad];
	}
	if (pad < 0)
		goto bad;
	*out = r;
	return OK;
bad : {
	char a[160], b[160];

	return err_set(err, E_SHAPE, "cannot broadcast shape %s to shape %s",
		       shape_text(&v->shape, a, sizeof a), shape_text(s, b, sizeof b));
}
}
