/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/compact.c - what a mask chooses: elements, or their places.
 *
 * How many that are must be known before the result has a shape: RANKS counts them block by block,
 * and is waited for; COMPACT and PLACES, which the daemon computes when it is asked, take the
 * counts with them.  Between the two another thread may write the mask: its value is held. */
#include "loops/compact.h"

#include <string.h>

#include "array.h"
#include "careful.h"
#include "lock.h"
#include "near.h"

#include "braze_fast.h"

#define KNOWN_MOST (16 << 20) /* bytes of a mask that are counted here: 2 ms */

/* ---- Counting ---- */

#define LANES  16
#define SIDE   4   /* vectors at a time */
#define ROUNDS 255 /* that a byte can count */

typedef uint8_t lanes __attribute__((vector_size(LANES)));

static lanes zeros(const uint8_t *at)
{
	lanes v;

	memcpy(&v, at, sizeof v);
	return (lanes)(v == 0);
}

/* Of so many rounds of SIDE vectors: how many bytes are 0. */
static int64_t count_zeros(const uint8_t *at, int64_t rounds)
{
	lanes a = {0}, b = {0}, c = {0}, d = {0};
	int64_t all = 0;

	for (int64_t k = 0; k < rounds; k++, at += SIDE * LANES) {
		a -= zeros(at);
		b -= zeros(at + LANES);
		c -= zeros(at + 2 * LANES);
		d -= zeros(at + 3 * LANES);
	}
	for (int i = 0; i < LANES; i++)
		all += a[i] + b[i] + c[i] + d[i];
	return all;
}

int64_t braze_count_true(const void *mask, int64_t n)
{
	const uint8_t *at = mask;
	int64_t all = 0, rounds = n / (SIDE * LANES);

	while (rounds) {
		int64_t now = rounds < ROUNDS ? rounds : ROUNDS;

		all += now * SIDE * LANES - count_zeros(at, now);
		at += now * SIDE * LANES;
		rounds -= now;
	}
	for (int64_t k = 0; k < n % (SIDE * LANES); k++)
		all += at[k] != 0;
	return all;
}

/* ---- Choosing ---- */

/* A mask in order, its ranks, and how many they say. */
struct chosen {
	braze_array *mask, *ranks;
	int64_t count;
};

static void chosen_finish(struct chosen *c)
{
	braze_release(c->mask);
	braze_release(c->ranks);
}

/* An operation on n arrays, which takes `count` as a number but for RANKS. */
static enum status record(struct braze_array **out, enum op op, int n,
			  struct braze_array *const *in, unsigned dtype, const struct shape *shape,
			  int64_t count, struct err *err)
{
	struct braze_session *s = in[0]->session;
	unsigned nimm = op != OP_RANKS;

	enum status st = array_usable(s, err);
	if (!st)
		st = record_used(n, in, err);
	if (!st)
		st = record_room(s, (unsigned)n, nimm, err);
	if (!st)
		st = array_create(out, s, (enum dtype)dtype, shape, err);
	if (st)
		return st;
	if (s->near)
		near_never(*out, op, in[0]->count);
	record_op(s, op, DTYPE_NONE, (*out)->id, (unsigned)n, nimm);
	for (int k = 0; k < n; k++)
		record_in(s, in[k]->id);
	if (nimm)
		record_imm(s, (uint64_t)count);
	return OK;
}

static int recorded(braze_array **out, enum op op, int n, braze_array *const *in, unsigned dtype,
		    const struct shape *shape, int64_t count, braze_error *err)
{
	struct braze_session *s = in[0]->session;

	lock_take(s);
	int st = (int)record(out, op, n, in, dtype, shape, count, err_of(err));
	if (careful_asks(s, st, *out, in[0]->count)) {
		braze_arg arg[3] = {{0}};
		const struct recorded r = {.op = op, .n = (unsigned)n, .arg = arg};

		for (int k = 0; k < n; k++)
			arg[k].array = in[k];
		st = careful_recorded(out, &r, err_of(err));
	}
	lock_give(s);
	return st;
}

/* The mask as it is now, in an order that blocks can be cut of. */
static int hold(braze_array **out, braze_array *mask, braze_error *err)
{
	braze_array *flat = NULL;

	if (compact_lies(&mask->view))
		return braze_snapshot(out, mask, err);
	int st = braze_reshape(&flat, mask, mask->view.shape.ndim, mask->view.shape.dim, err);
	if (!st && !compact_lies(&flat->view)) {
		braze_release(flat);
		flat = NULL;
		st = braze_copy(&flat, mask, err);
	}
	if (!st)
		st = braze_snapshot(out, flat, err);
	braze_release(flat);
	return st;
}

/* Is the count known without the daemon? */
static bool is_counted(struct chosen *c)
{
	const void *data = NULL;

	if (!c->mask->session->near || c->mask->count > KNOWN_MOST || !c->mask->contiguous)
		return false;
	data = braze_at_hand(c->mask);
	if (data)
		c->count = braze_count_true(data, c->mask->count);
	return data != NULL;
}

/* Waits, unless the mask is at hand. */
static int choose(struct chosen *c, braze_array *mask, braze_check_fn *check, void *data,
		  braze_error *err)
{
	struct shape blocks = {.ndim = 1, .dim = {compact_blocks(mask->count)}};
	const void *ranks = NULL;
	bool counted = false;

	int st = hold(&c->mask, mask, err);
	if (!st)
		counted = is_counted(c);
	if (counted && !c->count)
		return 0;
	if (!st)
		st = recorded(&c->ranks, OP_RANKS, 1, &c->mask, DT_INT64, &blocks, 0, err);
	if (st || counted || !mask->count)
		return st;
	st = braze_data(&ranks, c->ranks, check, data, err);
	if (!st)
		memcpy(&c->count, (const int64_t *)ranks + blocks.dim[0] - 1, sizeof c->count);
	return st;
}

/* Is nothing chosen?  Then *out is that. */
static bool is_nothing(braze_array **out, const struct chosen *c, int dtype,
		       const struct shape *shape)
{
	void *data = NULL;

	return !c->ranks &&
	       braze_near_made(out, &data, c->mask->session, dtype, shape->ndim, shape->dim);
}

static enum status check_mask(const braze_array *mask, struct err *err)
{
	if (mask->view.dtype != DT_BOOL)
		return err_set(err, E_DTYPE, "a mask of %s, not of bool",
			       dtype_row(mask->view.dtype)->name);
	return mask->view.shape.ndim ? OK : err_set(err, E_INVALID, "a mask of no axes");
}

/* Is it a mask of a's first axes? */
static enum status check_select(const braze_array *a, const braze_array *mask, struct err *err)
{
	const struct shape *have = &a->view.shape, *want = &mask->view.shape;
	enum status st = check_mask(mask, err);

	if (!st && a->session != mask->session)
		st = err_set(err, E_INVALID, "the mask belongs to another session");
	if (!st && want->ndim > have->ndim)
		st = err_set(err, E_INDEX,
			     "too many indices for array: array is %d-dimensional, but %d were "
			     "indexed",
			     have->ndim, want->ndim);
	for (int k = 0; k < want->ndim && !st; k++)
		if (have->dim[k] != want->dim[k])
			st = err_set(err, E_INDEX,
				     "boolean index did not match indexed array along axis %d; "
				     "size of axis is %lld but size of corresponding boolean axis "
				     "is %lld",
				     k, (long long)have->dim[k], (long long)want->dim[k]);
	return st;
}

int braze_select(braze_array **out, braze_array *a, braze_array *mask, braze_check_fn *check,
		 void *data, braze_error *err)
{
	int first = mask->view.shape.ndim, rest = a->view.shape.ndim - first;
	struct chosen c = {0};
	braze_array *rows = NULL, *made = NULL;
	struct shape shape = {.ndim = 1};

	int st = (int)check_select(a, mask, err_of(err));
	if (st)
		return st;
	/* Rows of one axis, or elements. */
	shape.dim[0] = mask->count;
	if (rest)
		shape.dim[shape.ndim++] = 1;
	for (int k = first; k < a->view.shape.ndim; k++)
		shape.dim[1] *= a->view.shape.dim[k];
	st = choose(&c, mask, check, data, err);
	if (!st)
		st = braze_reshape(&rows, a, shape.ndim, shape.dim, err);
	shape.dim[0] = c.count;
	if (!st && !is_nothing(&made, &c, a->view.dtype, &shape)) {
		braze_array *const in[3] = {rows, c.mask, c.ranks};

		st = recorded(&made, OP_COMPACT, 3, in, a->view.dtype, &shape, c.count, err);
	}
	if (!st && rest > 1) {
		memcpy(shape.dim + 1, a->view.shape.dim + first, (size_t)rest * sizeof *shape.dim);
		st = braze_reshape(out, made, 1 + rest, shape.dim, err);
	} else if (!st) {
		braze_retain(*out = made);
	}
	braze_release(made);
	braze_release(rows);
	chosen_finish(&c);
	return st;
}

/* ---- Reducing ---- */

static enum status record_reduced(struct braze_array **out, enum op op, int dtype,
				  struct braze_array *const *in, struct err *err)
{
	struct braze_session *s = in[0]->session;
	const struct op_arg arg = {in[0]->view.dtype, false};
	unsigned head = dtype < 0 ? DTYPE_NONE : (unsigned)dtype;
	struct shape none = {0};
	struct op_sig sig;

	enum status st = array_usable(s, err);
	if (!st)
		st = op_infer(&sig, op, &arg, head, err);
	if (!st)
		st = record_used(3, in, err);
	if (!st)
		st = record_room(s, 3, 0, err);
	if (!st)
		st = array_create(out, s, (enum dtype)sig.out, &none, err);
	if (st)
		return st;
	if (s->near)
		near_never(*out, op, in[0]->count);
	record_op(s, op, head, (*out)->id, 3, 0);
	for (int k = 0; k < 3; k++)
		record_in(s, in[k]->id);
	return OK;
}

static int reduced(braze_array **out, enum op op, int dtype, braze_array *const *in,
		   braze_error *err)
{
	struct braze_session *s = in[0]->session;

	lock_take(s);
	int st = (int)record_reduced(out, op, dtype, in, err_of(err));
	if (careful_asks(s, st, *out, in[0]->count)) {
		braze_arg arg[3] = {{.array = in[0]}, {.array = in[1]}, {.array = in[2]}};
		const struct recorded r = {.op = op, .n = 3, .arg = arg};

		st = careful_recorded(out, &r, err_of(err));
	}
	lock_give(s);
	return st;
}

/* Nothing tells an error of what is never counted: extremes are of some elements. */
static enum status check_reduced(int op, const braze_array *a, const braze_array *mask, int dtype,
				 struct err *err)
{
	enum status st = check_select(a, mask, err);

	if (!st && (op < OP_SUM || op > OP_ALL))
		st = err_set(err, E_INVALID, "%s is not a reduction of a selection",
			     op_text((unsigned)op));
	if (!st && a->view.shape.ndim != mask->view.shape.ndim)
		st = err_set(err, E_UNSUPPORTED, "%s of rows that a mask chooses",
			     op_text((unsigned)op));
	if (!st && !a->count)
		st = err_set(err, E_UNSUPPORTED, "%s of a selection from nothing",
			     op_text((unsigned)op));
	if (!st && dtype >= 0 && !dtype_row((unsigned)dtype))
		st = err_set(err, E_DTYPE, "%s: no such accumulator type", op_text((unsigned)op));
	return st;
}

int braze_select_reduce(braze_array **out, int op, braze_array *a, braze_array *mask,
			braze_array **ranks, int dtype, braze_error *err)
{
	struct chosen c = {.ranks = *ranks};
	struct shape blocks = {.ndim = 1, .dim = {compact_blocks(mask->count)}};
	braze_array *flat = NULL;

	int st = (int)check_reduced(op, a, mask, dtype, err_of(err));
	if (!st)
		st = hold(&c.mask, mask, err);
	if (!st)
		st = braze_reshape(&flat, a, 1, &a->count, err);
	if (!st && !c.ranks)
		st = recorded(&c.ranks, OP_RANKS, 1, &c.mask, DT_INT64, &blocks, 0, err);
	if (!st) {
		braze_array *const in[3] = {flat, c.mask, *ranks = c.ranks};

		st = reduced(out, (enum op)(op - OP_SUM + OP_CHOSEN_SUM), dtype, in, err);
	}
	braze_release(flat);
	braze_release(c.mask);
	return st;
}

int braze_nonzero(braze_array **out, braze_array *mask, braze_check_fn *check, void *data,
		  braze_error *err)
{
	int axes = mask->view.shape.ndim;
	struct shape shape = {.ndim = axes > 1 ? 2 : 1};
	struct chosen c = {0};

	int st = (int)check_mask(mask, err_of(err));
	if (!st && axes > COMPACT_AXES)
		st = (int)err_set(err_of(err), E_LIMIT, "places in %d axes; at most %d", axes,
				  COMPACT_AXES);
	if (!st)
		st = choose(&c, mask, check, data, err);
	shape.dim[0] = c.count;
	shape.dim[1] = axes;
	if (!st && !is_nothing(out, &c, DT_INT64, &shape)) {
		braze_array *const in[2] = {c.mask, c.ranks};

		st = recorded(out, OP_PLACES, 2, in, DT_INT64, &shape, c.count, err);
	}
	chosen_finish(&c);
	return st;
}
