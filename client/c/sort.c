/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/sort.c - an array's elements in order along an axis, or their places, recorded or near.
 */
#include <stdlib.h>

#include "array.h"
#include "careful.h"
#include "lock.h"
#include "near.h"

#define SMALL 4096 /* bytes to work in that lie on the stack */

static enum status check(int op, const struct braze_array *a, int *axis, struct err *err)
{
	const struct op_row *row = op_row((unsigned)op);
	int ndim = a->view.shape.ndim;

	if (!row || row->kind != KIND_SORT)
		return err_set(err, E_INVALID, "%s does not sort", op_text((unsigned)op));
	if (*axis < -ndim || *axis >= ndim)
		return err_set(err, E_AXIS, "axis %d is out of bounds for array of dimension %d",
			       *axis, ndim);
	*axis += *axis < 0 ? ndim : 0;
	return array_usable(a->session, err);
}

static enum status record_sort(struct braze_array **out, int op, struct braze_array *a, int axis,
			       struct err *err)
{
	struct braze_session *s = a->session;
	struct op_arg arg = {a->view.dtype, false};
	struct op_sig sig;

	enum status st = check(op, a, &axis, err);
	if (!st)
		st = op_infer(&sig, (enum op)op, &arg, DTYPE_NONE, err);
	if (!st)
		st = near_ready((unsigned)op, sig.in[0], a->count, a, NULL, err);
	if (!st && s->near && near_sort(out, (enum op)op, (enum dtype)sig.out, a, axis))
		return OK;
	if (!st)
		st = record_use(a, err);
	if (!st)
		st = record_room(s, 1, 1, err);
	if (!st)
		st = array_create(out, s, (enum dtype)sig.out, &a->view.shape, err);
	if (st)
		return st;
	record_op(s, (unsigned)op, DTYPE_NONE, (*out)->id, 1, 1);
	record_in(s, a->id);
	record_imm(s, (uint64_t)axis);
	return OK;
}

int braze_sort(braze_array **out, int op, braze_array *a, int axis, braze_error *err)
{
	struct braze_session *s = a->session;

	lock_take(s);
	int st = (int)record_sort(out, op, a, axis, err_of(err));
	if (s->careful && !st) {
		const braze_arg arg = {.array = a};
		const struct recorded r = {.op = (enum op)op, .n = 1, .arg = &arg};
		st = careful_recorded(out, &r, err_of(err));
	}
	lock_give(s);
	return st;
}

/* ---- Near ---- */

static void lanes(struct sort_call *c, int64_t *count, const struct braze_array *a,
		  const struct view *to, int axis)
{
	const struct view *from = &a->view;

	c->n = from->shape.dim[axis];
	c->from_step = from->stride[axis];
	c->to_step = to->stride[axis];
	*count = 1;
	for (int k = 0; k < from->shape.ndim; k++) {
		if (k == axis || from->shape.dim[k] == 1)
			continue;
		c->extent[c->axes] = from->shape.dim[k];
		c->from_lane[c->axes] = from->stride[k];
		c->to_lane[c->axes] = to->stride[k];
		c->axes++;
		*count *= from->shape.dim[k];
	}
}

/* false: no memory. */
static bool sort_units(struct sort_call *c, const struct sort_cut *cut)
{
	char small[SMALL] __attribute__((aligned(64)));
	void *large = NULL;
	char *work = small;

	if (cut->work + cut->scratch > SMALL) {
		if (posix_memalign(&large, 64, (size_t)(cut->work + cut->scratch)))
			return false;
		work = large;
	}
	c->scratch = work + cut->work;
	for (int64_t u = 0; u < cut->units; u++)
		sort_unit(c, cut, u, work);
	free(large);
	return true;
}

bool near_sort(struct braze_array **out, enum op op, enum dtype type, struct braze_array *a,
	       int axis)
{
	struct braze_session *s = a->session;
	bool places = op == OP_ARGSORT;
	struct sort_cut cut;
	int64_t count = 1;

	if (!near_hand(a))
		return false;
	uint64_t work = near_work(s->near, op, a->view.dtype, a->count);
	uint64_t bytes = near_bytes(type, a->count);
	if (!near_spares(s->near, a, work, bytes) && !near_fits(s->near, work, bytes))
		return near_not(s, WHY_LARGE);
	struct braze_array *r = near_array(s, type, &a->view.shape, a->count);
	if (!r)
		return false;
	struct sort_call c = {.isa = s->near->lib->sort,
			      .dtype = a->view.dtype,
			      .places = places,
			      .to = (char *)r->buf->at,
			      .from = array_address(a)};
	lanes(&c, &count, a, &r->view, axis);
	if (a->count &&
	    (!sort_cut(&cut, count, c.n, a->view.dtype, places) || !sort_units(&c, &cut))) {
		array_release(r);
		return near_not(s, WHY_MEMORY);
	}
	*out = r;
	s->counters.near++;
	return true;
}
