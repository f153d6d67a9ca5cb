/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/draw.c - random numbers, recorded or near. */
#include <math.h>
#include <string.h>

#include "array.h"
#include "braze_fast.h"
#include "careful.h"
#include "lock.h"
#include "near.h"
#include "near_walk.h"
#include "profile.h"

/* A draw as it is asked for. */
struct draw {
	enum op op;
	enum dtype type;
	struct shape shape;
	int64_t count;
	const uint64_t *state;
};

static enum status check(struct draw *d, struct braze_session *s, int op, int dtype, int ndim,
			 const int64_t *shape, struct err *err)
{
	const struct op_row *row = op < 0 ? NULL : op_row((unsigned)op);
	enum status st = array_usable(s, err);

	if (st)
		return st;
	if (!row || row->kind != KIND_DRAW)
		return err_set(err, E_INVALID, "%s draws no random numbers", op_text((unsigned)op));
	if (dtype < 0 || !op_draws((enum op)op, (unsigned)dtype))
		return err_set(err, E_DTYPE, "%s: there are none of type %s", row->numpy,
			       dtype < 0 || !dtype_row((unsigned)dtype)
				       ? "?"
				       : dtype_row((unsigned)dtype)->name);
	d->op = (enum op)op;
	d->type = (enum dtype)dtype;
	st = array_shape(&d->shape, ndim, shape, err);
	return st ? st : shape_count(&d->count, &d->shape, dtype_row(d->type)->bytes, err);
}

static bool near_draw(struct braze_array **out, struct braze_session *s, const struct draw *d)
{
	struct near *n = s->near;
	struct braze_array *r = NULL;
	unsigned mode = 0;

	if (!near_fits(n, near_work(n, d->op, d->type, d->count), near_bytes(d->type, d->count)))
		return near_not(s, WHY_LARGE);
	r = near_array(s, d->type, &d->shape, d->count);
	if (!r)
		return false;
	*out = r;
	count_near(s);
	if (!d->count)
		return true;
	mode = near_enter();
	draw_loop(n->lib->draw, d->op, d->type)(r->buf->at, d->state, 0, d->count);
	near_leave(mode);
	return true;
}

static enum status record_draw(struct braze_array **out, const struct draw *d,
			       struct braze_array *state, struct err *err)
{
	struct braze_session *s = state->session;
	unsigned nimm = 1u + d->shape.ndim;
	enum status st = record_use(state, err);

	if (!st)
		st = record_room(s, 1, nimm, err);
	if (!st)
		st = array_create(out, s, d->type, &d->shape, err);
	if (st)
		return st;
	record_op(s, d->op, d->type, (*out)->id, 1, nimm);
	record_in(s, state->id);
	record_shape(s, &d->shape);
	if (careful_asks(s, 0, *out, 0)) {
		const struct recorded r = {.op = d->op};
		st = (enum status)careful_recorded(out, &r, err);
	}
	return st;
}

int braze_draw(braze_array **out, braze_session *s, int op, int dtype, int ndim,
	       const int64_t *shape, const uint64_t state[DRAW_LENGTH], braze_error *err)
{
	const int64_t length = DRAW_LENGTH;
	struct draw d = {.state = state};
	struct braze_array *from = NULL;
	bool done = false;

	lock_take(s);
	int st = (int)check(&d, s, op, dtype, ndim, shape, err_of(err));
	if (!st)
		done = s->near && near_draw(out, s, &d);
	lock_give(s);
	if (st || done)
		return st;
	st = braze_from_data(&from, s, BRAZE_UINT64, 1, &length, NULL, state, err);
	if (st)
		return st;
	lock_take(s);
	st = (int)record_draw(out, &d, from, err_of(err));
	lock_give(s);
	braze_release(from);
	return st;
}

/* ---- Counter-based ---- */

/* Results are low + span * x; the draw counts if it was made. */
static int draw_next(braze_array **out, braze_session *s, braze_random *r, enum op op, int dtype,
		     int ndim, const int64_t *shape, double low, double span, braze_error *err)
{
	uint64_t state[DRAW_LENGTH] = {[DRAW_KEY] = r->key, [DRAW_NUMBER] = r->draw};
	int st = 0;

	if (!isfinite(low) || !isfinite(span))
		return (int)err_set(err_of(err), E_INVALID, "%s: parameters must be finite",
				    op_text(op));
	memcpy(&state[DRAW_LOW], &low, sizeof low);
	memcpy(&state[DRAW_SPAN], &span, sizeof span);
	st = braze_draw(out, s, (int)op, dtype, ndim, shape, state, err);
	r->draw += !st;
	return st;
}

int braze_random_uniform(braze_array **out, braze_session *s, braze_random *r, int dtype, int ndim,
			 const int64_t *shape, double low, double high, braze_error *err)
{
	return draw_next(out, s, r, OP_DRAW_UNIFORM, dtype, ndim, shape, low, high - low, err);
}

int braze_random_normal(braze_array **out, braze_session *s, braze_random *r, int dtype, int ndim,
			const int64_t *shape, double mean, double deviation, braze_error *err)
{
	return draw_next(out, s, r, OP_DRAW_NORMAL, dtype, ndim, shape, mean, deviation, err);
}

int braze_random_exponential(braze_array **out, braze_session *s, braze_random *r, int dtype,
			     int ndim, const int64_t *shape, double scale, braze_error *err)
{
	return draw_next(out, s, r, OP_DRAW_EXPONENTIAL, dtype, ndim, shape, 0, scale, err);
}

int braze_random_integers(braze_array **out, braze_session *s, braze_random *r, int ndim,
			  const int64_t *shape, int64_t low, int64_t high, braze_error *err)
{
	const uint64_t state[DRAW_LENGTH] = {[DRAW_KEY] = r->key,
					     [DRAW_NUMBER] = r->draw,
					     [DRAW_LOW] = (uint64_t)low,
					     [DRAW_SPAN] = (uint64_t)high - (uint64_t)low};
	int st = 0;

	if (low >= high)
		return (int)err_set(err_of(err), E_INVALID, "random.integers: low >= high");
	st = braze_draw(out, s, OP_DRAW_INTEGERS, BRAZE_INT64, ndim, shape, state, err);
	r->draw += !st;
	return st;
}

/* ---- For bindings ---- */

void braze_pcg64_skip(uint64_t state[DRAW_LENGTH], int dtype, uint64_t n)
{
	draw_pcg_skip(state, (unsigned)dtype, n);
}

void braze_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
{
	draw_philox(out, counter, key);
}
