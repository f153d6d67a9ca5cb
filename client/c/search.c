/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/search.c - where needles belong among elements in order.
 *
 * Both are brought to their common type, the needles to one axis; then the search is near, or
 * recorded. */
#include "array.h"
#include "careful.h"
#include "lock.h"
#include "near.h"
#include "near_walk.h"

/* ---- Near ---- */

/* To be sent, this would first have to be copied. */
static uint64_t shipped(const struct braze_array *a)
{
	return a->buf->flags & BUF_NEAR ? NEAR_SHIP * (uint64_t)a->buf->bytes : 0;
}

/* Is it small, or less work than to ship what it reads? */
static bool pays(struct near *n, const struct braze_array *among, const struct braze_array *needles,
		 uint64_t work)
{
	uint64_t bytes = near_bytes(DT_INT64, needles->count);

	if (bytes <= NEAR_WIDE && work <= shipped(among) + shipped(needles)) {
		n->stretch.work += work;
		return true;
	}
	return near_fits(n, work, bytes);
}

static bool near_search(struct braze_array **out, enum op op, struct braze_array *among,
			struct braze_array *needles, int64_t steps)
{
	struct braze_session *s = among->session;

	if (!near_hand(among) || !near_hand(needles))
		return false;
	if (!pays(s->near, among, needles, near_work(s->near, op, among->view.dtype, steps)))
		return near_not(s, WHY_LARGE);
	struct braze_array *r = near_array(s, DT_INT64, &needles->view.shape, needles->count);
	if (!r)
		return false;
	const struct search_patch p = {.among = array_address(among),
				       .from = array_address(needles),
				       .n = among->count,
				       .among_step = among->view.stride[0],
				       .m = needles->count,
				       .from_step = needles->view.stride[0],
				       .to = (int64_t *)(void *)r->buf->at};
	unsigned mode = near_enter();
	search_loop(s->near->lib->search, op, among->view.dtype)(&p);
	near_leave(mode);
	s->counters.near++;
	*out = r;
	return true;
}

/* ---- Of one axis and one type ---- */

static enum status record(struct braze_array **out, enum op op, struct braze_array *among,
			  struct braze_array *needles, struct err *err)
{
	struct braze_session *s = among->session;
	int64_t steps = 0;

	if (__builtin_mul_overflow(search_steps(among->count), needles->count, &steps))
		return err_set(err, E_LIMIT, "searchsorted: too many elements");
	enum status st = array_usable(s, err);
	if (!st)
		st = near_ready(op, among->view.dtype, steps, among, needles, err);
	if (!st && s->near && near_search(out, op, among, needles, steps))
		return OK;
	if (!st)
		st = record_use_two(among, needles, err);
	if (!st)
		st = record_room(s, 2, 0, err);
	if (!st)
		st = array_create(out, s, DT_INT64, &needles->view.shape, err);
	if (st)
		return st;
	record_op(s, op, DTYPE_NONE, (*out)->id, 2, 0);
	record_in(s, among->id);
	record_in(s, needles->id);
	return OK;
}

static int recorded(braze_array **out, enum op op, braze_array *among, braze_array *needles,
		    braze_error *err)
{
	struct braze_session *s = among->session;

	lock_take(s);
	int st = (int)record(out, op, among, needles, err_of(err));
	if (s->careful && !st) {
		const braze_arg arg[2] = {{.array = among}, {.array = needles}};
		const struct recorded r = {.op = op, .n = 2, .arg = arg};
		st = careful_recorded(out, &r, err_of(err));
	}
	lock_give(s);
	return st;
}

/* ---- Of any ---- */

static enum status check(const braze_array *among, const braze_array *needles, struct err *err)
{
	if (among->session != needles->session)
		return err_set(err, E_INVALID, "searchsorted: the operands belong to two sessions");
	if (among->view.shape.ndim != 1)
		return err_set(err, E_SHAPE, "object too deep for desired array");
	return OK;
}

/* The operand in this type, along one axis. */
static int brought(braze_array **out, braze_array *a, int dtype, braze_error *err)
{
	braze_array *cast = NULL;
	int st = 0;

	if (a->view.dtype == dtype)
		braze_retain(cast = a);
	else
		st = braze_cast(&cast, a, dtype, err);
	if (!st && a->view.shape.ndim == 1)
		braze_retain(*out = cast);
	else if (!st)
		st = braze_reshape(out, cast, 1, &a->count, err);
	braze_release(cast);
	return st;
}

int braze_search(braze_array **out, int side, braze_array *among, braze_array *needles,
		 braze_error *err)
{
	enum op op = side == BRAZE_RIGHT ? OP_SEARCH_RIGHT : OP_SEARCH_LEFT;
	const struct op_arg arg[2] = {{among->view.dtype, false}, {needles->view.dtype, false}};
	const struct shape *shape = &needles->view.shape;
	braze_array *in = NULL, *flat = NULL, *made = NULL;
	int dtype = (int)dtype_common(arg, 2);

	int st = (int)check(among, needles, err_of(err));
	if (!st && (!among->count || !needles->count))
		return braze_full(out, among->session, DT_INT64, shape->ndim, shape->dim,
				  braze_int(0), err);
	if (!st)
		st = brought(&in, among, dtype, err);
	if (!st)
		st = brought(&flat, needles, dtype, err);
	if (!st)
		st = recorded(&made, op, in, flat, err);
	if (!st && shape->ndim == 1)
		braze_retain(*out = made);
	else if (!st)
		st = braze_reshape(out, made, shape->ndim, shape->dim, err);
	braze_release(made);
	braze_release(flat);
	braze_release(in);
	return st;
}
