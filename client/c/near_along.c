/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/near_along.c - scans and sorts of small arrays, computed here. */
#include <stdlib.h>

#include "array.h"
#include "near.h"
#include "near_walk.h"
#include "profile.h"

#define SMALL 4096 /* bytes to work in that lie on the stack */

/* The lanes of `a`, whose elements lie by these strides, and of the C-contiguous result. */
static struct lanes lanes_of(const struct braze_array *a, const int64_t *from,
			     const struct view *to, int axis)
{
	const struct shape *shape = &a->view.shape;
	struct lanes l = {
		.n = shape->dim[axis], .from_step = from[axis], .to_step = to->stride[axis]};

	for (int k = 0; k < shape->ndim; k++)
		if (k != axis && shape->dim[k] != 1)
			lanes_axis(&l, shape->dim[k], from[k], to->stride[k]);
	return l;
}

bool near_scan(struct braze_array **out, enum op op, enum dtype type, struct braze_array *a,
	       int axis)
{
	struct braze_session *s = a->session;

	if (op_row(op)->kind == KIND_LANE) /* the worker's alone */
		return near_not(s, WHY_KIND);
	if (!near_hand(a))
		return near_waits(s->near, op, type, a->count);
	uint64_t work = near_work(s->near, op, type, a->count);
	if (!near_reads_once(s->near, a, work, NEAR_TRIP) &&
	    !near_fits(s->near, work, near_bytes(type, a->count)))
		return near_not(s, WHY_LARGE);
	struct braze_array *r = near_array(s, type, &a->view.shape, a->count);
	if (!r)
		return false;
	*out = r;
	count_near(s);
	if (!a->count)
		return true;
	/* Of another type: cast to where the result is to be, and run in place. */
	bool same = a->view.dtype == (uint8_t)type;
	if (!same) {
		struct view stretch;
		struct near_in in;
		if (near_set_array(&in, a, type, &a->view.shape, a->count, &stretch))
			near_store(s->near, (char *)r->buf->at, &r->view, r->count, &in);
	}
	struct scan_call c = {.loops = scan_loops(s->near->lib->scan, op, type),
			      .to = (char *)r->buf->at};
	c.from = same ? array_address(a) : c.to;
	c.lanes = lanes_of(a, same ? a->view.stride : r->view.stride, &r->view, axis);
	unsigned mode = near_enter();
	scan_whole(&c, 0, lanes_count(&c.lanes), 0,
		   c.lanes.n / SCAN_BLOCK + (c.lanes.n % SCAN_BLOCK != 0));
	near_leave(mode);
	return true;
}

/* false: no memory. */
static bool sort_units(struct sort_call *c)
{
	char small[SMALL] __attribute__((aligned(64)));
	void *large = NULL;
	char *work = small;
	struct sort_cut cut;

	if (!sort_cut(&cut, lanes_count(&c->lanes), c->lanes.n, c->dtype, c->places))
		return false;
	if (cut.work + cut.scratch > SMALL) {
		if (posix_memalign(&large, 64, (size_t)(cut.work + cut.scratch)))
			return false;
		work = large;
	}
	c->scratch = work + cut.work;
	for (int64_t u = 0; u < cut.units; u++)
		sort_unit(c, &cut, u, work);
	free(large);
	return true;
}

bool near_sort(struct braze_array **out, enum op op, enum dtype type, struct braze_array *a,
	       int axis)
{
	struct braze_session *s = a->session;

	if (!near_hand(a))
		return false;
	/* Lanes of one element are in order. */
	if (a->view.shape.dim[axis] == 1) {
		const braze_scalar first = braze_int(0);

		return op == OP_SORT
			       ? near_cast(out, a, type)
			       : near_create(out, s, OP_FULL, (int)type, &a->view.shape, &first);
	}
	uint64_t work = near_work(s->near, op, a->view.dtype, a->count);
	uint64_t bytes = near_bytes(type, a->count);
	if (!near_spares(s->near, a, work, bytes) && !near_fits(s->near, work, bytes))
		return near_not(s, WHY_LARGE);
	struct braze_array *r = near_array(s, type, &a->view.shape, a->count);
	if (!r)
		return false;
	struct sort_call c = {.isa = s->near->lib->sort,
			      .dtype = a->view.dtype,
			      .places = op == OP_ARGSORT,
			      .to = (char *)r->buf->at,
			      .from = array_address(a),
			      .lanes = lanes_of(a, a->view.stride, &r->view, axis)};
	if (a->count && !sort_units(&c)) {
		array_release(r);
		return near_not(s, WHY_MEMORY);
	}
	*out = r;
	count_near(s);
	return true;
}

bool near_sort_self(struct braze_array *a, int axis)
{
	struct braze_session *s = a->session;
	unsigned d = a->view.dtype;

	/* Complex elements are fetched, each from where it lay. */
	if (!near_hand(a) || dtype_row(d)->cls == CLASS_COMPLEX || d == DT_BFLOAT16 ||
	    !near_fits(s->near, near_work(s->near, OP_SORT, d, a->count),
		       near_bytes(d, a->count)) ||
	    !near_write_in(a))
		return false;
	struct sort_call c = {.isa = s->near->lib->sort,
			      .dtype = (uint8_t)d,
			      .to = array_address(a),
			      .from = array_address(a),
			      .lanes = lanes_of(a, a->view.stride, &a->view, axis)};
	if (a->count && a->view.shape.dim[axis] > 1 && !sort_units(&c))
		return false;
	count_near(s);
	return true;
}
