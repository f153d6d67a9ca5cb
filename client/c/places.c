/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/places.c - some axes of an array and, for each, an array of places or a number. */
#include "places.h"

/* A number's place goes into the offset. */
static enum status add_number(struct places *p, int k, int mode, struct err *err)
{
	int64_t i = (int64_t)p->index[k].scalar.bits[0], n = places_extent(p, k), at = i;

	if (mode == BRAZE_RAISE && i < 0)
		at = i + n;
	else if (mode == BRAZE_WRAP && n)
		at = (i % n + n) % n;
	else if (mode == BRAZE_CLIP)
		at = i < 0 ? 0 : i < n ? i : n - 1;
	if (at < 0 || at >= n)
		return err_set(err, E_INDEX,
			       "index %lld is out of bounds for axis %d with size %lld",
			       (long long)i, p->names[k], (long long)n);
	p->offset += at * places_stride(p, k);
	return OK;
}

enum status places_check(struct places *p, int k, int mode, struct err *err)
{
	const struct braze_array *x = p->index[k].array;
	unsigned dtype = x ? x->view.dtype : (unsigned)p->index[k].scalar.dtype;

	if (p->axes[k] < 0 || p->axes[k] >= p->a->view.shape.ndim ||
	    (k && p->axes[k] <= p->axes[k - 1]))
		return err_set(err, E_AXIS, "axis %d is out of bounds or not in order", p->axes[k]);
	if (!dtype_row(dtype) ||
	    (dtype_row(dtype)->cls != CLASS_INT && (dtype_row(dtype)->cls != CLASS_UINT || !x)))
		return err_set(err, E_DTYPE,
			       "arrays used as indices must be of integer type, not %s",
			       dtype_row(dtype) ? dtype_row(dtype)->name : "none");
	if (!x)
		return add_number(p, k, mode, err);
	if (x->session != p->a->session)
		return err_set(err, E_INVALID, "the places belong to another session");
	return shape_broadcast(&p->spread, &x->view.shape, err);
}

bool places_has(const struct places *p, int axis)
{
	for (int k = 0; k < p->n; k++)
		if (p->axes[k] == axis)
			return true;
	return false;
}

int places_position(const struct places *p)
{
	for (int k = 1; k < p->n; k++)
		if (p->axes[k] != p->axes[k - 1] + 1)
			return 0;
	return p->axes[0];
}

void places_shape(struct shape *out, const struct places *p)
{
	const struct shape *a = &p->a->view.shape;
	int at = places_position(p), n = 0;

	for (int i = 0; i <= a->ndim; i++) {
		for (int k = 0; i == at && k < p->spread.ndim; k++)
			out->dim[n++] = p->spread.dim[k];
		if (i < a->ndim && !places_has(p, i))
			out->dim[n++] = a->dim[i];
	}
	out->ndim = (uint8_t)n;
}
