/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/bincount.c - how often numbers occur, or the sums of their weights, by this process.
 *
 * In: a vector of integers, which is waited for; its largest number is the result's extent. Numbers
 * are counted as they come, up to one that is larger than all before: only then the next few are
 * looked at, and where the table has no room for them, all that is left.  So memory is gone through
 * once.  Counts of few numbers go to several tables in turn: one that is added to twice in a row
 * has to be stored first.  Weights are added in the order in which they stand. */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "braze_fast.h"
#include "copy.h"
#include "lock.h"
#include "near.h"
#include "scatter.h"

#define BLOCK	    512
#define PART	    8192  /* numbers that stay in a near cache: all are looked at before */
#define TABLES	    4	  /* that counts of few numbers go to */
#define FEW	    1024  /* numbers */
#define GIVEN_BYTES 16384 /* tables from here on are kept rather than copied */

/* ---- Loops over numbers side by side, one for each type ---- */

/* What is added up: 1 for each number, or weights, `step` bytes apart. */
struct sums {
	int64_t *table[TABLES]; /* the same one four times, or four */
	double *sum;
	const char *weight;
	int64_t step;
	bool wide; /* the table: its lines are asked for ahead */
};

struct type {
	/* The largest, a negative one being larger than any other. */
	uint64_t (*most)(const void *from, int64_t n);
	/* Add up those before one that is not among 0 .. limit - 1, and at most three less; how
	 * many that were.  weigh: weights, count: ones. */
	int64_t (*count)(const struct sums *to, const void *from, int64_t n, uint64_t limit);
	int64_t (*weigh)(const struct sums *to, const void *from, int64_t n, uint64_t limit);
};

/* Four numbers, and is one of them too large? */
#define FOUR                                                                                       \
	uint64_t i0 = (uint64_t)x[k], i1 = (uint64_t)x[k + 1], i2 = (uint64_t)x[k + 2],            \
		 i3 = (uint64_t)x[k + 3];                                                          \
                                                                                                   \
	if ((i0 >= limit) | (i1 >= limit) | (i2 >= limit) | (i3 >= limit))                         \
		return k;

/* Four at a time, with or without asking for the table's lines, and the last ones. */
#define EACH(table, four, one)                                                                     \
	int64_t k = 0, ahead = to->wide ? SCATTER_AHEAD : n;                                       \
                                                                                                   \
	for (; k + ahead + 4 <= n; k += 4) {                                                       \
		FOUR for (int i = 0; i < 4; i++) __builtin_prefetch(                               \
			(const void *)((uintptr_t)(table) +                                        \
				       (uintptr_t)x[k + ahead + i] * sizeof *(table)),             \
			1);                                                                        \
		four                                                                               \
	}                                                                                          \
	for (; k + 4 <= n; k += 4) {                                                               \
		FOUR four                                                                          \
	}                                                                                          \
	for (; k < n && (uint64_t)x[k] < limit; k++)                                               \
		one;                                                                               \
	return k

#define WEIGHT(sum, i)                                                                             \
	do {                                                                                       \
		double w;                                                                          \
                                                                                                   \
		memcpy(&w, weight, sizeof w);                                                      \
		weight += step;                                                                    \
		(sum)[i] += w;                                                                     \
	} while (0)

#define TYPE(s, type)                                                                              \
	static uint64_t most_##s(const void *from, int64_t n)                                      \
	{                                                                                          \
		const type *x = from;                                                              \
		uint64_t most[4] = {0};                                                            \
		int64_t k = 0;                                                                     \
                                                                                                   \
		for (; k + 4 <= n; k += 4)                                                         \
			for (int i = 0; i < 4; i++)                                                \
				most[i] = (uint64_t)x[k + i] > most[i] ? (uint64_t)x[k + i]        \
								       : most[i];                  \
		for (; k < n; k++)                                                                 \
			most[0] = (uint64_t)x[k] > most[0] ? (uint64_t)x[k] : most[0];             \
		for (int i = 1; i < 4; i++)                                                        \
			most[0] = most[i] > most[0] ? most[i] : most[0];                           \
		return most[0];                                                                    \
	}                                                                                          \
	static int64_t count_##s(const struct sums *to, const void *from, int64_t n,               \
				 uint64_t limit)                                                   \
	{                                                                                          \
		int64_t *a = to->table[0], *b = to->table[1], *c = to->table[2],                   \
			*d = to->table[3];                                                         \
		const type *x = from;                                                              \
                                                                                                   \
		EACH(a, a[i0]++; b[i1]++; c[i2]++; d[i3]++;, a[x[k]]++);                           \
	}                                                                                          \
	static int64_t weigh_##s(const struct sums *to, const void *from, int64_t n,               \
				 uint64_t limit)                                                   \
	{                                                                                          \
		const char *weight = to->weight;                                                   \
		int64_t step = to->step;                                                           \
		const type *x = from;                                                              \
		double *sum = to->sum;                                                             \
                                                                                                   \
		EACH(sum, WEIGHT(sum, i0); WEIGHT(sum, i1); WEIGHT(sum, i2); WEIGHT(sum, i3);      \
		     , WEIGHT(sum, x[k]));                                                         \
	}
#define ROW(s)                                                                                     \
	{                                                                                          \
		most_##s, count_##s, weigh_##s                                                     \
	}
TYPE(i8, int8_t)
TYPE(i16, int16_t)
TYPE(i32, int32_t)
TYPE(i64, int64_t)
TYPE(u8, uint8_t)
TYPE(u16, uint16_t)
TYPE(u32, uint32_t)

static const struct type types[DTYPE_END] = {
	[DT_BOOL] = ROW(u8),   [DT_INT8] = ROW(i8),  [DT_INT16] = ROW(i16),  [DT_INT32] = ROW(i32),
	[DT_INT64] = ROW(i64), [DT_UINT8] = ROW(u8), [DT_UINT16] = ROW(u16), [DT_UINT32] = ROW(u32),
};

/* ---- Counting ---- */

struct count {
	const struct type *type;
	const char *at, *weights; /* weights: float64, or NULL */
	int64_t n, bytes, stride, weight_stride;
	int64_t bins;	      /* the result's extent, of what was looked at */
	int64_t *table, size; /* NULL: nothing was looked at */
	bool all;	      /* was looked at */
	bool few;	      /* counts go to `more` as well */
	int64_t more[TABLES - 1][FEW];
};

/* Are they side by side? */
static bool is_plain(const struct count *c)
{
	return c->stride == c->bytes && !((uintptr_t)c->at % (uintptr_t)c->bytes);
}

/* n numbers after `done`, side by side; in the room, of a BLOCK, where they are not so already. */
static const char *numbers(const struct count *c, char *room, int64_t done, int64_t n)
{
	const struct shape shape = {.ndim = 1, .dim = {n}};

	if (is_plain(c))
		return c->at + done * c->bytes;
	copy_gather(room, &shape, &c->stride, c->at + done * c->stride, (unsigned)c->bytes);
	return room;
}

/* All zeros; NULL with *err set. */
static int64_t *new_table(int64_t bins, struct err *err)
{
	int64_t *table = NULL;

	if ((uint64_t)bins <= LIMIT_ARRAY_BYTES / sizeof(int64_t))
		table = calloc((size_t)(bins ? bins : 1), sizeof *table);
	if (!table)
		(void)err_set(err, E_NOMEM, "no memory for %lld counts", (long long)bins);
	return table;
}

/* Look at some numbers side by side. */
static enum status look(struct count *c, const char *x, int64_t n, struct err *err)
{
	uint64_t most = c->type->most(x, n);

	if (most >= INT64_MAX)
		return err_set(err, E_INDEX, "a negative number was counted");
	if ((int64_t)most >= c->bins)
		c->bins = (int64_t)most + 1;
	return OK;
}

/* And at all from the `done`-th on. */
static enum status look_at_rest(struct count *c, int64_t done, struct err *err)
{
	_Alignas(64) char room[BLOCK * 8];
	enum status st = OK;

	for (int64_t n = 0; done < c->n && !st; done += n) {
		n = c->n - done < BLOCK ? c->n - done : BLOCK;
		st = look(c, numbers(c, room, done, n), n, err);
	}
	c->all = true;
	return st;
}

static void join_tables(struct count *c)
{
	for (int t = 0; c->few && t < TABLES - 1; t++)
		for (int64_t k = 0; k < c->size; k++)
			c->table[k] += c->more[t][k];
	c->few = false;
}

/* A table for all numbers, what is counted kept; where many are still to come and this is the
 * first, for twice as many bins as there are now, since some will be larger. */
static enum status make_table(struct count *c, int64_t done, struct err *err)
{
	bool first = !c->table, guess = first && c->n > PART && c->bins <= PART;
	enum status st = guess ? OK : look_at_rest(c, done, err);
	int64_t size = c->bins, *table = NULL;

	if (guess)
		size = 2 * c->bins > FEW ? 2 * c->bins : FEW;
	if (!st)
		table = new_table(size, err);
	if (!table)
		return st ? st : E_NOMEM;
	join_tables(c);
	if (!first)
		memcpy(table, c->table, (size_t)c->size * sizeof *table);
	free(c->table);
	c->table = table;
	c->size = size;
	c->few = first && !c->weights && size <= FEW && c->n >= 8 * size;
	for (int t = 0; c->few && t < TABLES - 1; t++)
		memset(c->more[t], 0, (size_t)size * sizeof *table);
	return OK;
}

/* Numbers side by side, `done` behind the first, up to one that has no bin yet; how many. */
static int64_t count_some(struct count *c, int64_t done, const char *x, int64_t n)
{
	struct sums to = {.sum = (double *)(void *)c->table,
			  .step = c->weight_stride,
			  .wide = c->size * (int64_t)sizeof(int64_t) > SCATTER_WIDE,
			  .table = {c->table, c->table, c->table, c->table}};

	if (!c->table)
		return 0;
	for (int t = 1; c->few && t < TABLES; t++)
		to.table[t] = c->more[t - 1];
	if (!c->weights)
		return c->type->count(&to, x, n, (uint64_t)c->bins);
	to.weight = c->weights + done * c->weight_stride;
	return c->type->weigh(&to, x, n, (uint64_t)c->bins);
}

/* c->table is the caller's also where this fails. */
static enum status count_all(struct count *c, struct err *err)
{
	int64_t most = is_plain(c) ? INT64_MAX : BLOCK;
	enum status st = c->n ? OK : make_table(c, 0, err);
	_Alignas(64) char room[BLOCK * 8];

	for (int64_t done = 0; done < c->n && !st;) {
		int64_t n = c->n - done < most ? c->n - done : most;
		const char *x = numbers(c, room, done, n);
		int64_t now = count_some(c, done, x, n);

		done += now;
		n -= now;
		if (!n)
			continue;
		n = n < BLOCK ? n : BLOCK;
		st = look(c, x + now * c->bytes, n, err);
		if (!st && (!c->table || c->bins > c->size))
			st = make_table(c, done + n, err);
	}
	if (!st)
		join_tables(c);
	return st;
}

/* ---- Calls ---- */

static enum status check_call(const struct braze_array *x, const struct braze_array *weights,
			      int64_t minlength, struct err *err)
{
	unsigned d = x->view.dtype;

	if (x->view.shape.ndim != 1 || minlength < 0)
		return err_set(err, E_SHAPE, "what is counted is a vector, minlength not negative");
	if (!types[d].most)
		return err_set(err, E_DTYPE, "numbers of %s are not counted", dtype_row(d)->name);
	if (!weights)
		return OK;
	if (weights->session != x->session)
		return err_set(err, E_INVALID, "the weights belong to another session");
	if (weights->view.shape.ndim != 1 || weights->count != x->count)
		return err_set(err, E_SHAPE, "the weights and the numbers differ in length");
	if (dtype_row(weights->view.dtype)->cls == CLASS_COMPLEX)
		return err_set(err, E_DTYPE, "weights are real");
	return OK;
}

/* Until both are there at once; with the recorder lock held then. */
static int lock_ready(braze_array *x, braze_array *weights, braze_check_fn *check, void *data,
		      braze_error *err)
{
	struct braze_array *both[2] = {x, weights};

	for (;;) {
		int rc = scatter_wait(weights ? 2 : 1, both, check, data, err);

		if (rc)
			return rc;
		lock_take(x->session);
		if (near_hand(x) && (!weights || near_hand(weights)))
			return 0;
		lock_give(x->session);
	}
}

/* Both are there. */
static void set_count(struct count *c, const struct braze_array *x,
		      const struct braze_array *weights, int64_t minlength)
{
	unsigned d = x->view.dtype;

	memset(c, 0, offsetof(struct count, more));
	c->type = &types[d];
	c->at = array_address(x);
	c->n = x->count;
	c->bytes = dtype_row(d)->bytes;
	c->bins = minlength;
	c->stride = x->count > 1 ? x->view.stride[0] : c->bytes;
	if (weights) {
		c->weights = array_address(weights);
		c->weight_stride = weights->view.stride[0];
	}
}

static void drop_table(void *table)
{
	free(table);
}

/* The table becomes an array, or its elements do. */
static int make_array(braze_array **out, struct braze_session *s, bool sums, int64_t bins,
		      void *table, braze_error *err)
{
	int dtype = sums ? BRAZE_FLOAT64 : BRAZE_INT64, rc;

	if (bins * (int64_t)sizeof(int64_t) >= GIVEN_BYTES &&
	    braze_give(out, s, dtype, 1, &bins, table, drop_table, table))
		return 0;
	rc = braze_from_data(out, s, dtype, 1, &bins, NULL, table, err);
	free(table);
	return rc;
}

static int count_ready(braze_array **out, braze_array *x, braze_array *weights, int64_t minlength,
		       braze_check_fn *check, void *data, braze_error *err)
{
	struct braze_session *s = x->session;
	struct count c;
	int rc = lock_ready(x, weights, check, data, err);

	if (rc)
		return rc;
	set_count(&c, x, weights, minlength);
	rc = (int)count_all(&c, err_of(err));
	lock_give(s);
	if (!rc)
		return make_array(out, s, weights != NULL, c.bins, c.table, err);
	free(c.table);
	return rc;
}

int braze_bincount(braze_array **out, braze_array *x, braze_array *weights, int64_t minlength,
		   braze_check_fn *check, void *data, braze_error *err)
{
	braze_array *sums = weights;
	int rc = (int)check_call(x, weights, minlength, err_of(err));

	if (rc)
		return rc;
	braze_retain(x);
	if (weights && weights->view.dtype != DT_FLOAT64)
		rc = braze_cast(&sums, weights, BRAZE_FLOAT64, err);
	else if (weights)
		braze_retain(weights);
	if (!rc)
		rc = count_ready(out, x, sums, minlength, check, data, err);
	braze_release(x);
	if (weights && sums != weights)
		braze_release(sums);
	else if (weights)
		braze_release(weights);
	return rc;
}
