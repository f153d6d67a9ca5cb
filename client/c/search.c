/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/search.c - where needles belong among elements in order, and what lies on the lines
 * between points.
 *
 * The operands are brought to their common type, the needles to one axis; then the search is near,
 * or recorded. */
#include "array.h"
#include "careful.h"
#include "lock.h"
#include "near.h"
#include "near_walk.h"
#include "profile.h"

#define LINE_STEPS 8 /* of a search, that a value on a line takes as long as */

/* The operands as the operation has them; n: 2, or 3 with values at the elements. */
struct search {
	enum op op;
	int n;
	struct braze_array *in[3];
};
enum { AMONG, NEEDLES, VALUES };

/* ---- Near ---- */

/* To be sent, this would first have to be copied. */
static uint64_t shipped(const struct search *x)
{
	uint64_t bytes = 0;

	for (int k = 0; k < x->n; k++)
		bytes += x->in[k]->buf->flags & BUF_NEAR ? x->in[k]->buf->bytes : 0;
	return NEAR_SHIP * bytes;
}

/* Is it small, or less work than to ship what it reads? */
static bool pays(struct near *n, const struct search *x, uint64_t work)
{
	uint64_t bytes = near_bytes(DT_INT64, x->in[NEEDLES]->count);

	if (bytes <= NEAR_WIDE && work <= shipped(x)) {
		n->stretch.work += work;
		return true;
	}
	return near_fits(n, work, bytes);
}

static void run(const struct near *n, const struct search *x, char *to)
{
	const struct braze_array *among = x->in[AMONG], *needles = x->in[NEEDLES];
	const struct braze_array *values = x->n > VALUES ? x->in[VALUES] : among;
	const struct search_patch p = {.among = array_address(among),
				       .from = array_address(needles),
				       .n = among->count,
				       .among_step = among->view.stride[0],
				       .m = needles->count,
				       .from_step = needles->view.stride[0],
				       .to = (int64_t *)(void *)to,
				       .values = array_address(values),
				       .values_step = values->view.stride[0],
				       .made = (double *)(void *)to};
	unsigned mode = near_enter();

	search_loop(n->lib->search, x->op, among->view.dtype)(&p);
	near_leave(mode);
}

static enum dtype result_type(const struct search *x)
{
	return x->op == OP_INTERP ? DT_FLOAT64 : DT_INT64;
}

static bool near_search(struct braze_array **out, const struct search *x, int64_t steps)
{
	struct braze_array *needles = x->in[NEEDLES];
	struct braze_session *s = needles->session;

	for (int k = 0; k < x->n; k++)
		if (!near_hand(x->in[k]))
			return near_waits(s->near, x->op, needles->view.dtype, steps);
	if (!pays(s->near, x, near_work(s->near, x->op, needles->view.dtype, steps)))
		return near_not(s, WHY_LARGE);
	struct braze_array *r = near_array(s, result_type(x), &needles->view.shape, needles->count);
	if (!r)
		return false;
	run(s->near, x, (char *)r->buf->at);
	count_near(s);
	*out = r;
	return true;
}

/* ---- Of one axis and one type ---- */

static enum status settled(const struct search *x, int64_t steps, struct err *err)
{
	struct braze_session *s = x->in[0]->session;

	return s->near ? near_settle(s, x->op, x->in[0]->view.dtype, steps, x->n, x->in, err) : OK;
}

static enum status record(struct braze_array **out, const struct search *x, struct err *err)
{
	const struct braze_array *needles = x->in[NEEDLES];
	struct braze_session *s = needles->session;
	int64_t each = search_steps(x->in[AMONG]->count), steps = 0;

	each += x->op == OP_INTERP ? LINE_STEPS : 0;
	if (__builtin_mul_overflow(each, needles->count, &steps))
		return err_set(err, E_LIMIT, "%s: too many elements", op_text(x->op));
	enum status st = array_usable(s, err);
	if (!st)
		st = settled(x, steps, err);
	if (!st && s->near && near_search(out, x, steps))
		return OK;
	if (!st)
		st = record_used(x->n, x->in, err);
	if (!st)
		st = record_room(s, (unsigned)x->n, 0, err);
	if (!st)
		st = array_create(out, s, result_type(x), &needles->view.shape, err);
	if (st)
		return st;
	record_op(s, x->op, DTYPE_NONE, (*out)->id, (unsigned)x->n, 0);
	for (int k = 0; k < x->n; k++)
		record_in(s, x->in[k]->id);
	return OK;
}

static int recorded(braze_array **out, const struct search *x, braze_error *err)
{
	struct braze_session *s = x->in[0]->session;

	lock_take(s);
	int st = (int)record(out, x, err_of(err));
	if (careful_asks(s, st, *out, x->in[0]->count)) {
		braze_arg arg[3] = {{0}};
		const struct recorded r = {.op = x->op, .n = (unsigned)x->n, .arg = arg};

		for (int k = 0; k < x->n; k++)
			arg[k].array = x->in[k];
		st = careful_recorded(out, &r, err_of(err));
	}
	lock_give(s);
	return st;
}

/* ---- Of any ---- */

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

/* The operation on what was given, with the needles' shape. */
static int searched(braze_array **out, enum op op, int n, braze_array *const *in, int dtype,
		    braze_error *err)
{
	const struct shape *shape = &in[NEEDLES]->view.shape;
	struct search x = {.op = op, .n = n};
	braze_array *made = NULL;
	int st = 0;

	for (int k = 0; k < n && !st; k++)
		st = brought(&x.in[k], in[k], dtype, err);
	if (!st)
		st = recorded(&made, &x, err);
	if (!st && shape->ndim == 1)
		braze_retain(*out = made);
	else if (!st)
		st = braze_reshape(out, made, shape->ndim, shape->dim, err);
	braze_release(made);
	for (int k = 0; k < n; k++)
		braze_release(x.in[k]);
	return st;
}

static enum status check(int n, braze_array *const *in, struct err *err)
{
	for (int k = 1; k < n; k++)
		if (in[k]->session != in[0]->session)
			return err_set(err, E_INVALID, "the operands belong to two sessions");
	if (in[AMONG]->view.shape.ndim != 1)
		return err_set(err, E_SHAPE, "object too deep for desired array");
	return OK;
}

int braze_search(braze_array **out, int side, braze_array *among, braze_array *needles,
		 braze_error *err)
{
	const struct op_arg arg[2] = {{among->view.dtype, false}, {needles->view.dtype, false}};
	const struct shape *shape = &needles->view.shape;
	braze_array *const in[] = {among, needles};

	int st = (int)check(2, in, err_of(err));
	if (st)
		return st;
	if (!among->count || !needles->count)
		return braze_full(out, among->session, DT_INT64, shape->ndim, shape->dim,
				  braze_int(0), err);
	return searched(out, side == BRAZE_RIGHT ? OP_SEARCH_RIGHT : OP_SEARCH_LEFT, 2, in,
			(int)dtype_common(arg, 2), err);
}

int braze_interp(braze_array **out, braze_array *x, braze_array *points, braze_array *values,
		 braze_error *err)
{
	braze_array *const in[] = {points, x, values};
	const struct shape *shape = &x->view.shape;

	int st = (int)check(3, in, err_of(err));
	if (!st && (points->count < 2 || !shape_equal(&points->view.shape, &values->view.shape)))
		st = (int)err_set(err_of(err), E_SHAPE,
				  "interp: at least two points, and as many values");
	for (int k = 0; k < 3 && !st; k++)
		if (dtype_row(in[k]->view.dtype)->cls == CLASS_COMPLEX)
			st = (int)err_set(err_of(err), E_UNSUPPORTED, "interp of complex numbers");
	if (st)
		return st;
	if (!x->count)
		return braze_full(out, x->session, DT_FLOAT64, shape->ndim, shape->dim,
				  braze_double(0), err);
	return searched(out, OP_INTERP, 3, in, DT_FLOAT64, err);
}
