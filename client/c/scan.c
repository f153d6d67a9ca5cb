/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/scan.c - running sums, products and extremes along an axis, recorded or near. */
#include "array.h"
#include "careful.h"
#include "lock.h"
#include "near.h"
#include "near_walk.h"

static enum status check(int op, const struct braze_array *a, int *axis, int dtype, struct err *err)
{
	const struct op_row *row = op_row((unsigned)op);
	int ndim = a->view.shape.ndim;

	if (!row || row->kind != KIND_SCAN)
		return err_set(err, E_INVALID, "%s is not a scan", op_text((unsigned)op));
	if (*axis < -ndim || *axis >= ndim)
		return err_set(err, E_AXIS, "axis %d is out of bounds for array of dimension %d",
			       *axis, ndim);
	if (dtype >= 0 && !dtype_row((unsigned)dtype))
		return err_set(err, E_DTYPE, "%s: no such accumulator type", row->numpy);
	*axis += *axis < 0 ? ndim : 0;
	return array_usable(a->session, err);
}

enum status record_scan(struct braze_array **out, int op, struct braze_array *a, int axis,
			int dtype, struct err *err)
{
	struct braze_session *s = a->session;
	struct op_arg arg = {a->view.dtype, false};
	unsigned head = dtype < 0 ? DTYPE_NONE : (unsigned)dtype;
	struct op_sig sig;

	enum status st = check(op, a, &axis, dtype, err);
	if (!st)
		st = op_infer(&sig, (enum op)op, &arg, head, err);
	if (!st)
		st = near_ready((unsigned)op, sig.in[0], a->count, a, NULL, err);
	if (!st && s->near && near_scan(out, (enum op)op, (enum dtype)sig.out, a, axis))
		return OK;
	if (!st)
		st = record_use(a, err);
	if (!st)
		st = record_room(s, 1, 1, err);
	if (!st)
		st = array_create(out, s, (enum dtype)sig.out, &a->view.shape, err);
	if (st)
		return st;
	record_op(s, (unsigned)op, head, (*out)->id, 1, 1);
	record_in(s, a->id);
	record_imm(s, (uint64_t)axis);
	return OK;
}

int braze_scan(braze_array **out, int op, braze_array *a, int axis, int dtype, braze_error *err)
{
	struct braze_session *s = a->session;

	lock_take(s);
	int st = (int)record_scan(out, op, a, axis, dtype, err_of(err));
	if (s->careful && !st) {
		const braze_arg arg = {.array = a};
		const struct recorded r = {
			.op = (enum op)op,
			.n = 1,
			.arg = &arg,
			.axes = (unsigned)(axis < 0 ? axis + a->view.shape.ndim : axis)};
		st = careful_recorded(out, &r, err_of(err));
	}
	lock_give(s);
	return st;
}

/* ---- Near ---- */

/* The lanes of `a`, whose elements lie at `from` by these strides, and of the C-contiguous
 * result. */
static void lanes(struct scan_call *c, int64_t *count, const struct braze_array *a,
		  const int64_t *from, const struct view *to, int axis)
{
	const struct shape *shape = &a->view.shape;

	c->n = shape->dim[axis];
	c->from_step = from[axis];
	c->to_step = to->stride[axis];
	c->axes = 0;
	*count = 1;
	for (int k = 0; k < shape->ndim; k++) {
		if (k == axis || shape->dim[k] == 1)
			continue;
		c->extent[c->axes] = shape->dim[k];
		c->from_lane[c->axes] = from[k];
		c->to_lane[c->axes] = to->stride[k];
		c->axes++;
		*count *= shape->dim[k];
	}
}

bool near_scan(struct braze_array **out, enum op op, enum dtype type, struct braze_array *a,
	       int axis)
{
	struct braze_session *s = a->session;
	struct scan_call c;
	int64_t count = 1;

	if (!near_hand(a))
		return false;
	uint64_t work = near_work(s->near, op, type, a->count);
	if (!near_reads_once(s->near, a, work) &&
	    !near_fits(s->near, work, near_bytes(type, a->count)))
		return near_not(s, WHY_LARGE);
	struct braze_array *r = near_array(s, type, &a->view.shape, a->count);
	if (!r)
		return false;
	*out = r;
	s->counters.near++;
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
	lanes(&c, &count, a, same ? a->view.stride : r->view.stride, &r->view, axis);
	c.loops = scan_loops(s->near->lib->scan, op, type);
	c.to = (char *)r->buf->at;
	c.from = same ? array_address(a) : c.to;
	unsigned mode = near_enter();
	scan_whole(&c, 0, count, 0, c.n / SCAN_BLOCK + (c.n % SCAN_BLOCK != 0));
	near_leave(mode);
	return true;
}
