/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/sparse.c - sparse matrices: what their structures say, and their products.
 *
 * A structure is checked by whoever makes it, in memory of its own, so that a wrong one is an error
 * there; a product that reads another is safe all the same (loops/sparse.h). */
#include "loops/sparse.h"

#include <stdlib.h>

#include "array.h"
#include "careful.h"
#include "lock.h"
#include "near.h"
#include "near_walk.h"

/* ---- Structures ---- */

struct structure {
	const int32_t *narrow; /* or: */
	const int64_t *wide;
	int64_t rows, columns, count;
};

static int64_t number(const struct structure *s, int64_t k)
{
	return s->narrow ? s->narrow[k] : s->wide[k];
}

static enum status check_rows(const struct structure *s, struct err *err)
{
	if (number(s, 0))
		return err_set(err, E_INVALID, "the first row's entries begin at %lld, not at 0",
			       (long long)number(s, 0));
	for (int64_t r = 0; r < s->rows; r++)
		if (number(s, r) > number(s, r + 1))
			return err_set(err, E_INVALID,
				       "row %lld begins at entry %lld and ends at entry %lld",
				       (long long)r, (long long)number(s, r),
				       (long long)number(s, r + 1));
	if (number(s, s->rows) != s->count)
		return err_set(err, E_INVALID, "the last row ends at entry %lld of %lld",
			       (long long)number(s, s->rows), (long long)s->count);
	return OK;
}

static enum status check_columns(const struct structure *s, struct err *err)
{
	for (int64_t k = 0; k < s->count; k++) {
		int64_t c = number(s, s->rows + 1 + k);

		if (c < 0 || c >= s->columns)
			return err_set(err, E_INDEX,
				       "entry %lld is of column %lld, of %lld columns",
				       (long long)k, (long long)c, (long long)s->columns);
	}
	return OK;
}

static enum status take(struct structure *s, int index, int64_t rows, int64_t columns,
			int64_t count, const void *structure, struct err *err)
{
	enum status st = OK;

	if (index < 0 || !sparse_index((unsigned)index))
		return err_set(err, E_DTYPE, "a sparse matrix's structure is of int32 or int64");
	if (rows < 0 || columns < 0 || count < 0)
		return err_set(err, E_INVALID, "a sparse matrix of %lld x %lld with %lld entries",
			       (long long)rows, (long long)columns, (long long)count);
	*s = (struct structure){.narrow = index == DT_INT32 ? structure : NULL,
				.wide = index == DT_INT64 ? structure : NULL,
				.rows = rows,
				.columns = columns,
				.count = count};
	st = check_rows(s, err);
	return st ? st : check_columns(s, err);
}

int braze_sparse_check(int index, int64_t rows, int64_t columns, int64_t count,
		       const void *structure, braze_error *err)
{
	struct structure s = {0};

	return (int)take(&s, index, rows, columns, count, structure, err_of(err));
}

/* By counting: next[c] is where the next entry of column c goes. */
static void turn(void *out, int64_t *order, int64_t *next, const struct structure *s)
{
	int32_t *narrow = s->narrow ? out : NULL;
	int64_t *wide = s->narrow ? NULL : out;
	int64_t sum = 0;

	for (int64_t k = 0; k < s->count; k++)
		next[number(s, s->rows + 1 + k)]++;
	for (int64_t c = 0; c <= s->columns; c++) {
		int64_t n = next[c];

		next[c] = sum;
		if (narrow)
			narrow[c] = (int32_t)sum;
		else
			wide[c] = sum;
		sum += n;
	}
	for (int64_t r = 0; r < s->rows; r++)
		for (int64_t k = number(s, r); k < number(s, r + 1); k++) {
			int64_t to = next[number(s, s->rows + 1 + k)]++;

			order[to] = k;
			if (narrow)
				narrow[s->columns + 1 + to] = (int32_t)r;
			else
				wide[s->columns + 1 + to] = r;
		}
}

int braze_sparse_transpose(void *transposed, int64_t *order, int index, int64_t rows,
			   int64_t columns, int64_t count, const void *structure,
			   braze_error *error)
{
	struct err *err = err_of(error);
	struct structure s = {0};
	int64_t *next = NULL;
	int st = (int)take(&s, index, rows, columns, count, structure, err);

	if (!st && index == DT_INT32 && rows > INT32_MAX)
		st = (int)err_set(err, E_INVALID, "a structure of int32 names no column %lld",
				  (long long)rows - 1);
	if (st)
		return st;
	next = columns < INT64_MAX / 8 - 1 ? calloc((size_t)columns + 1, sizeof *next) : NULL;
	if (!next)
		return (int)err_set(err, E_NOMEM, "no memory to transpose %lld columns",
				    (long long)columns);
	turn(transposed, order, next, &s);
	free(next);
	return OK;
}

/* ---- Products ---- */

enum { ENTRIES, STRUCTURE, FROM, OPERANDS };

/* The operands, and the sizes that follow from them. */
struct product {
	struct braze_array *in[OPERANDS];
	int64_t rows, columns, terms;
};

static enum dtype type_of(const struct product *x)
{
	return (enum dtype)x->in[FROM]->view.dtype;
}

static struct shape shape_of(const struct product *x)
{
	struct shape shape = x->in[FROM]->view.shape;

	shape.dim[0] = x->rows;
	return shape;
}

/* false: the structure is wrong. */
static bool run(const struct near *n, const struct product *x, char *to)
{
	const struct view *from = &x->in[FROM]->view;
	const struct sparse_patch p = {.entries = array_address(x->in[ENTRIES]),
				       .structure = array_address(x->in[STRUCTURE]),
				       .from = array_address(x->in[FROM]),
				       .to = to,
				       .rows = x->rows,
				       .count = x->in[ENTRIES]->count,
				       .inner = from->shape.dim[0],
				       .from_row = from->stride[0],
				       .from_column = from->shape.ndim > 1 ? from->stride[1] : 0,
				       .to_row = x->columns * dtype_row(from->dtype)->bytes,
				       .columns = x->columns,
				       .hi = x->rows};
	unsigned mode = near_enter();
	bool sound = sparse_loop(n->lib->sparse, x->in[STRUCTURE]->view.dtype, from->dtype)(&p);

	near_leave(mode);
	return sound;
}

/* *out stays NULL where the product is left to the daemon. */
static enum status near_sparse(struct braze_array **out, const struct product *x, struct err *err)
{
	struct braze_session *s = x->in[FROM]->session;
	int64_t count = x->rows * x->columns;
	struct shape shape = shape_of(x);

	for (int k = 0; k < OPERANDS; k++)
		if (!near_hand(x->in[k])) {
			near_waits(s->near, OP_SPARSE, type_of(x), x->terms);
			return OK;
		}
	if (!near_fits(s->near, near_work(s->near, OP_SPARSE, type_of(x), x->terms),
		       near_bytes(type_of(x), count))) {
		near_not(s, WHY_LARGE);
		return OK;
	}
	struct braze_array *r = near_array(s, type_of(x), &shape, count);
	if (!r)
		return OK;
	if (!run(s->near, x, (char *)r->buf->at)) {
		array_release(r);
		return err_set(err, E_INVALID,
			       "a sparse matrix's structure names columns beyond its %lld, or rows "
			       "that do not follow each other",
			       (long long)x->in[FROM]->view.shape.dim[0]);
	}
	count_near(s);
	*out = r;
	return OK;
}

static enum status measure(struct product *x, struct err *err)
{
	const struct view *from = &x->in[FROM]->view;

	for (int k = 0; k < FROM; k++)
		if (x->in[k]->session != x->in[FROM]->session)
			return err_set(err, E_INVALID, "the operands belong to two sessions");
	if (!sparse_operands(&x->rows, &x->in[ENTRIES]->view, &x->in[STRUCTURE]->view, from))
		return err_set(err, E_SHAPE, "%s: operands that are no sparse matrix and columns",
			       op_text(OP_SPARSE));
	x->columns = from->shape.ndim > 1 ? from->shape.dim[1] : 1;
	x->terms = sparse_terms(x->rows, x->in[ENTRIES]->count, x->columns);
	return x->terms < SPARSE_MOST
		       ? OK
		       : err_set(err, E_LIMIT, "%s: too many terms", op_text(OP_SPARSE));
}

static enum status record(struct braze_array **out, struct product *x, struct err *err)
{
	struct braze_session *s = x->in[FROM]->session;
	struct shape shape;

	enum status st = array_usable(s, err);
	if (!st)
		st = measure(x, err);
	if (!st && s->near)
		st = near_settle(s, OP_SPARSE, type_of(x), x->terms, OPERANDS, x->in, err);
	if (!st && s->near)
		st = near_sparse(out, x, err);
	if (st || *out)
		return st;
	st = record_used(OPERANDS, x->in, err);
	if (!st)
		st = record_room(s, OPERANDS, 0, err);
	if (st)
		return st;
	shape = shape_of(x);
	st = array_create(out, s, type_of(x), &shape, err);
	if (st)
		return st;
	record_op(s, OP_SPARSE, DTYPE_NONE, (*out)->id, OPERANDS, 0);
	for (int k = 0; k < OPERANDS; k++)
		record_in(s, x->in[k]->id);
	return OK;
}

int braze_sparse_matmul(braze_array **out, braze_array *entries, braze_array *structure,
			braze_array *x, braze_error *err)
{
	struct product p = {.in = {entries, structure, x}};
	struct braze_session *s = x->session;
	braze_array *made = NULL;

	lock_take(s);
	int st = (int)record(&made, &p, err_of(err));
	if (careful_asks(s, st, made, p.terms)) {
		braze_arg arg[OPERANDS] = {{.array = entries}, {.array = structure}, {.array = x}};
		const struct recorded r = {.op = OP_SPARSE, .n = OPERANDS, .arg = arg};

		st = careful_recorded(&made, &r, err_of(err));
	}
	lock_give(s);
	if (!st)
		*out = made;
	return st;
}
