/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/join.c - arrays put one after the other, along an axis that they have or a new one.
 *
 * Up to LIMIT_OPERANDS of them are one operation, computed here where all are at hand and small.
 * More, and what is to be looked at twice (careful.h), become a new array and an assignment to a
 * part of it for each. */
#include <string.h>

#include "array.h"
#include "lock.h"
#include "loops/copy_bytes.h"
#include "near.h"
#include "near_walk.h"
#include "profile.h"

#define BATCH_BYTES 16384 /* of the result, that all parts are gone over for at a time */

/* A larger result in one row is written past the caches: with what it is made of it would not stay
 * there, and an ordinary store reads the line that it overwrites. */
#define PAST_BYTES (8 << 20)

struct join {
	struct braze_session *s;
	int n;
	struct braze_array *const *part;
	enum dtype type;
	int axis;
	bool stacks; /* along a new axis */
	struct shape shape;
};

/* ---- What it makes ---- */

static enum status mismatch(const struct join *j, int k, struct err *err)
{
	const struct shape *a = &j->part[0]->view.shape, *b = &j->part[k]->view.shape;

	if (j->stacks)
		return err_set(err, E_SHAPE, "all input arrays must have the same shape");
	if (a->ndim != b->ndim)
		return err_set(err, E_SHAPE,
			       "all the input arrays must have same number of dimensions, but the "
			       "array at index 0 has %d dimension(s) and the array at index %d "
			       "has %d dimension(s)",
			       a->ndim, k, b->ndim);
	for (int d = 0; d < a->ndim; d++)
		if (d != j->axis && a->dim[d] != b->dim[d])
			return err_set(err, E_SHAPE,
				       "all the input array dimensions except for the "
				       "concatenation axis must match exactly, but along "
				       "dimension %d, the array at index 0 has size %lld and the "
				       "array at index %d has size %lld",
				       d, (long long)a->dim[d], k, (long long)b->dim[d]);
	return OK;
}

static enum status add_part(struct join *j, int k, struct err *err)
{
	const struct shape *own = &j->part[k]->view.shape;
	int64_t *along = &j->shape.dim[j->axis];
	bool fits = own->ndim == j->shape.ndim;

	for (int d = 0; d < own->ndim && fits; d++)
		fits = own->dim[d] == j->shape.dim[d] || (d == j->axis && !j->stacks);
	if (!fits)
		return mismatch(j, k, err);
	if (!j->stacks && __builtin_add_overflow(*along, own->dim[j->axis], along))
		return err_set(err, E_LIMIT, "concatenate: too many elements");
	return OK;
}

/* Where the axes of the new array's views of the parts come from: all but a new one. */
static void add_axis(struct shape *s, int axis, int64_t extent)
{
	memmove(s->dim + axis + 1, s->dim + axis, (size_t)(s->ndim - axis) * sizeof(s->dim[0]));
	s->dim[axis] = extent;
	s->ndim++;
}

static enum status check_axis(struct join *j, struct err *err)
{
	int ndim = j->shape.ndim + j->stacks;

	if (!ndim)
		return err_set(err, E_INVALID, "zero-dimensional arrays cannot be concatenated");
	if (ndim > LIMIT_NDIM)
		return err_set(err, E_LIMIT, "at most %d dimensions are possible", LIMIT_NDIM);
	if (j->axis < -ndim || j->axis >= ndim)
		return err_set(err, E_AXIS, "axis %d is out of bounds for array of dimension %d",
			       j->axis, ndim);
	j->axis += j->axis < 0 ? ndim : 0;
	return OK;
}

/* The common type, if none is asked for. */
static void find_type(struct join *j, int dtype)
{
	struct op_arg two[2] = {{j->part[0]->view.dtype, false}};
	uint32_t seen = 1u << two[0].dtype;
	struct op_arg arg[DTYPE_END];
	int n = 0;

	if (dtype >= 0) {
		j->type = (enum dtype)dtype;
		return;
	}
	for (int k = 1; k < j->n; k++)
		seen |= 1u << j->part[k]->view.dtype;
	for (uint8_t d = 0; d < DTYPE_END; d++)
		if (seen >> d & 1)
			arg[n++] = (struct op_arg){d, false};
	j->type = n == 1 ? (enum dtype)two[0].dtype : dtype_common(arg, n);
}

static enum status prepare(struct join *j, int dtype, struct err *err)
{
	enum status st = OK;

	if (j->n < 1)
		return err_set(err, E_INVALID, "need at least one array to %s",
			       j->stacks ? "stack" : "concatenate");
	if (dtype >= 0 && !dtype_row((unsigned)dtype))
		return err_set(err, E_DTYPE, "%d is not the number of an element type", dtype);
	j->s = j->part[0]->session;
	j->shape = j->part[0]->view.shape;
	st = check_axis(j, err);
	for (int k = 1; k < j->n && !st; k++) {
		if (j->part[k]->session != j->s)
			return err_set(err, E_INVALID, "the arrays belong to two sessions");
		st = add_part(j, k, err);
	}
	if (st)
		return st;
	if (j->stacks)
		add_axis(&j->shape, j->axis, j->n);
	find_type(j, dtype);
	return OK;
}

/* ---- Near ---- */

/* The pieces of a part that lies side by side, as it is: `rows` of them, `bytes` each. */
static void copy_rows(char *restrict to, int64_t to_step, const char *restrict from, int64_t rows,
		      size_t bytes)
{
	if (bytes == 8) /* single elements, without a call each */
		for (int64_t i = 0; i < rows; i++, to += to_step, from += 8)
			memcpy(to, from, 8);
	else if (bytes == 4)
		for (int64_t i = 0; i < rows; i++, to += to_step, from += 4)
			memcpy(to, from, 4);
	else if (bytes == 1)
		for (int64_t i = 0; i < rows; i++, to += to_step, from++)
			*to = *from;
	else
		for (int64_t i = 0; i < rows; i++, to += to_step, from += bytes)
			copy_bytes(to, from, bytes);
}

/* Part k, cast, to its place. */
static void near_part(const struct join *j, struct braze_array *r, int64_t at, int k)
{
	const struct braze_array *a = j->part[k];
	struct view slice = r->view, stretch;
	struct shape own = a->view.shape;
	struct near_in in;

	slice.shape.dim[j->axis] = j->stacks ? 1 : own.dim[j->axis];
	if (j->stacks) { /* as the part has its axes */
		int behind = own.ndim - j->axis;
		memmove(slice.stride + j->axis, slice.stride + j->axis + 1,
			(size_t)behind * sizeof(slice.stride[0]));
		slice.shape = own;
	}
	if (near_set_array(&in, a, j->type, &own, a->count, &stretch))
		near_store(j->s->near, (char *)r->buf->at + at, &slice, a->count, &in);
}

/* May part k be copied as it is?  Truth values that a client stored may be any bytes: those are
 * read one by one. */
static bool is_plain(const struct join *j, const struct braze_array *a)
{
	return a->contiguous && a->view.dtype == (uint8_t)j->type && j->type != DT_BOOL;
}

/* What part k has of a row of the result. */
static int64_t row_bytes(const struct join *j, int k, int64_t rows)
{
	return j->part[k]->count * dtype_row(j->type)->bytes / rows;
}

/* Rows [lo, hi) of `row` bytes, from the parts that are plain. */
static void fill_rows(const struct join *j, char *to, int64_t row, int64_t rows, int64_t lo,
		      int64_t hi)
{
	to += lo * row;
	for (int k = 0; k < j->n; k++) {
		int64_t bytes = row_bytes(j, k, rows);
		if (is_plain(j, j->part[k]))
			copy_rows(to, row, array_address(j->part[k]) + lo * bytes, hi - lo,
				  (size_t)bytes);
		to += bytes;
	}
}

struct fill {
	const struct join *j;
	char *to;
	int64_t row, rows; /* bytes; how many */
};

/* Bytes [lo, hi) of the one row. */
static void fill_row(void *data, int64_t lo, int64_t hi)
{
	const struct fill *f = data;
	int64_t at = 0;

	for (int k = 0; k < f->j->n; k++) {
		int64_t bytes = row_bytes(f->j, k, 1);
		int64_t begin = lo > at ? lo : at, end = hi < at + bytes ? hi : at + bytes;

		if (begin < end && is_plain(f->j, f->j->part[k])) {
			const char *from = array_address(f->j->part[k]) + (begin - at);

			if (f->row > PAST_BYTES)
				copy_past(f->to + begin, from, (size_t)(end - begin));
			else
				copy_bytes(f->to + begin, from, (size_t)(end - begin));
		}
		at += bytes;
	}
	if (f->row > PAST_BYTES)
		_mm_sfence();
}

/* Rows [lo, hi), of which short pieces of many parts meet in the first cache. */
static void fill_some(void *data, int64_t lo, int64_t hi)
{
	const struct fill *f = data;
	int64_t batch = f->row < BATCH_BYTES ? BATCH_BYTES / f->row : 1;

	for (; lo < hi; lo += batch)
		fill_rows(f->j, f->to, f->row, f->rows, lo, lo + batch < hi ? lo + batch : hi);
}

static void near_fill(const struct join *j, struct braze_array *r)
{
	struct fill f = {j, (char *)r->buf->at, dtype_row(j->type)->bytes, 1};
	int64_t at = 0;

	for (int d = 0; d < j->shape.ndim; d++)
		*(d < j->axis ? &f.rows : &f.row) *= j->shape.dim[d];
	bool many = f.rows > 1;
	near_part_fn *fn = many ? fill_some : fill_row;
	int64_t n = many ? f.rows : f.row;
	if (r->buf->bytes < NEAR_SPREAD)
		fn(&f, 0, n);
	else
		near_share(fn, &f, n, many ? 1 : COPY_LINE,
			   near_work(j->s->near, OP_CAST, j->type, r->count));
	for (int k = 0; k < j->n; k++) {
		if (j->part[k]->count && !is_plain(j, j->part[k]))
			near_part(j, r, at, k);
		at += row_bytes(j, k, f.rows);
	}
}

static bool near_join(struct braze_array **out, const struct join *j)
{
	struct braze_session *s = j->s;
	int64_t count = 1;

	for (int d = 0; d < j->shape.ndim; d++)
		if (__builtin_mul_overflow(count, j->shape.dim[d], &count))
			return near_not(s, WHY_LARGE);
	for (int k = 0; k < j->n; k++)
		if (!near_hand(j->part[k]))
			return near_waits(s->near, OP_CAST, j->type, count);
	/* Twice as large as others: the daemon copies no sooner, but it may have no need to. */
	uint64_t bytes = near_bytes(j->type, count);
	uint64_t work = near_shared_bytes(near_work(s->near, OP_CAST, j->type, count), bytes) / 2;
	bytes /= 2;
	bool fits =
		near_spares(s->near, j->part[0], work, bytes) || near_fits(s->near, work, bytes);
	struct braze_array *r = fits ? near_array(s, j->type, &j->shape, count) : NULL;
	if (!r)
		return near_not(s, WHY_LARGE);
	if (count)
		near_fill(j, r);
	count_near(s);
	*out = r;
	return true;
}

/* ---- Recorded ---- */

static enum status settle(const struct join *j, struct err *err)
{
	int64_t count = 0;
	uint32_t flags = 0;

	for (int k = 0; k < j->n; k++) {
		flags |= j->part[k]->buf->flags;
		count += j->part[k]->count;
	}
	if (likely(!near_unsettled(j->s, flags)))
		return OK;
	return near_settle(j->s, OP_CAST, j->type, count, j->n, j->part, err);
}

static enum status use_all(const struct join *j, struct err *err)
{
	uint32_t flags = 0;

	for (int k = 0; k < j->n; k++)
		flags |= j->part[k]->buf->flags;
	return likely(!(flags & BUF_WATCH)) ? OK : record_used(j->n, j->part, err);
}

static enum status record_join(struct braze_array **out, const struct join *j, struct err *err)
{
	struct braze_session *s = j->s;
	enum status st = settle(j, err);

	if (!st && s->near && near_join(out, j))
		return OK;
	if (!st)
		st = use_all(j, err);
	if (!st)
		st = record_room(s, (unsigned)j->n + 1, 1, err);
	if (!st)
		st = array_create(out, s, j->type, &j->shape, err);
	if (st)
		return st;
	record_op(s, OP_CONCATENATE, j->type, (*out)->id, OP_LIST, 1);
	record_in(s, (uint32_t)j->n);
	for (int k = 0; k < j->n; k++)
		record_in(s, j->part[k]->id);
	record_imm(s, (uint64_t)j->axis | (uint64_t)j->stacks << 32);
	return OK;
}

/* made[at] = part on the new axis, or made[at:at + its extent] = part. */
static int assign_part(braze_array *made, const struct join *j, int k, int64_t at, braze_error *err)
{
	int64_t shape[LIMIT_NDIM], strides[LIMIT_NDIM];
	braze_array *view = NULL, *cast = NULL, *part = j->part[k];
	int n = 0, rc;

	for (int d = 0; d < made->view.shape.ndim; d++) {
		if (j->stacks && d == j->axis)
			continue;
		shape[n] = part->view.shape.dim[n];
		strides[n++] = made->view.stride[d];
	}
	rc = braze_view(&view, made, (int)j->type, n, shape, strides,
			at * made->view.stride[j->axis], err);
	/* Any type may be asked for; an assignment stays within the kind. */
	if (!rc && !dtype_same_kind((enum dtype)part->view.dtype, j->type))
		rc = braze_cast(&cast, part, (int)j->type, err);
	if (!rc)
		rc = braze_assign(view, braze_arg_array(cast ? cast : part), err);
	braze_release(cast);
	braze_release(view);
	return rc;
}

static int assign_all(braze_array **out, const struct join *j, braze_error *err)
{
	int64_t at = 0;
	braze_array *made = NULL;
	int rc = braze_empty(&made, j->s, (int)j->type, j->shape.ndim, j->shape.dim, err);

	for (int k = 0; k < j->n && !rc; k++) {
		if (j->part[k]->count)
			rc = assign_part(made, j, k, at, err);
		at += j->stacks ? 1 : j->part[k]->view.shape.dim[j->axis];
	}
	if (rc)
		braze_release(made);
	else
		*out = made;
	return rc;
}

static int join(braze_array **out, struct join *j, int dtype, braze_error *error)
{
	struct err *err = err_of(error);
	int st = (int)prepare(j, dtype, err);

	if (st)
		return st;
	lock_take(j->s);
	bool one = !(j->s->careful & ~(uint32_t)CAREFUL_PROFILE) && j->n <= LIMIT_OPERANDS;
	st = (int)array_usable(j->s, err);
	if (!st && one)
		st = (int)record_join(out, j, err);
	lock_give(j->s);
	return st || one ? st : assign_all(out, j, error);
}

int braze_concatenate(braze_array **out, int n, braze_array *const *arrays, int axis, int dtype,
		      braze_error *err)
{
	struct join j = {.n = n, .part = arrays, .axis = axis};

	return join(out, &j, dtype, err);
}

int braze_stack(braze_array **out, int n, braze_array *const *arrays, int axis, int dtype,
		braze_error *err)
{
	struct join j = {.n = n, .part = arrays, .axis = axis, .stacks = true};

	return join(out, &j, dtype, err);
}
