/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/bincount.c - how often numbers occur, or the sums of their weights, by this process.
 *
 * In: a vector of integers, which is waited for; its largest number is the result's extent.  Counts
 * of few numbers go to several tables in turn: one that is added to twice in a row has to be
 * stored first.  Weights are added in the order in which they stand. */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "braze_fast.h"
#include "copy.h"
#include "lock.h"
#include "near.h"
#include "scatter.h"

#define BLOCK	    512
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
};

struct type {
	/* The largest, a negative one being larger than any other. */
	uint64_t (*most)(const void *from, int64_t n);
	void (*fetch)(const void *table, const void *from, int64_t n);
	void (*count)(const struct sums *to, const void *from, int64_t n);
	void (*weigh)(const struct sums *to, const void *from, int64_t n);
};

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
	static void fetch_##s(const void *table, const void *from, int64_t n)                      \
	{                                                                                          \
		const type *x = from;                                                              \
                                                                                                   \
		for (int64_t k = 0; k < n; k++)                                                    \
			__builtin_prefetch((const int64_t *)table + x[k], 1);                      \
	}                                                                                          \
	static void count_##s(const struct sums *to, const void *from, int64_t n)                  \
	{                                                                                          \
		int64_t *a = to->table[0], *b = to->table[1], *c = to->table[2],                   \
			*d = to->table[3];                                                         \
		const type *x = from;                                                              \
		int64_t k = 0;                                                                     \
                                                                                                   \
		for (; k + TABLES <= n; k += TABLES) {                                             \
			a[x[k]]++;                                                                 \
			b[x[k + 1]]++;                                                             \
			c[x[k + 2]]++;                                                             \
			d[x[k + 3]]++;                                                             \
		}                                                                                  \
		for (; k < n; k++)                                                                 \
			a[x[k]]++;                                                                 \
	}                                                                                          \
	static void weigh_##s(const struct sums *to, const void *from, int64_t n)                  \
	{                                                                                          \
		const type *x = from;                                                              \
		double *sum = to->sum, w;                                                          \
                                                                                                   \
		for (int64_t k = 0; k < n; k++) {                                                  \
			memcpy(&w, to->weight + k * to->step, sizeof w);                           \
			sum[x[k]] += w;                                                            \
		}                                                                                  \
	}
#define ROW(s)                                                                                     \
	{                                                                                          \
		most_##s, fetch_##s, count_##s, weigh_##s                                          \
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
	int64_t bins;
};

/* The numbers after `done`, side by side: at most BLOCK where they are not so already. */
static const char *numbers(const struct count *c, char *room, int64_t done, int64_t *n)
{
	struct shape shape = {.ndim = 1};

	*n = c->n - done;
	if (c->stride == c->bytes && !((uintptr_t)c->at % (uintptr_t)c->bytes))
		return c->at + done * c->bytes;
	*n = *n < BLOCK ? *n : BLOCK;
	shape.dim[0] = *n;
	copy_gather(room, &shape, &c->stride, c->at + done * c->stride, (unsigned)c->bytes);
	return room;
}

/* The result's extent; false: a number is negative. */
static bool find_bins(struct count *c, int64_t minlength)
{
	_Alignas(64) char room[BLOCK * 8];
	uint64_t most = 0;

	c->bins = minlength;
	for (int64_t done = 0, n = 0; done < c->n; done += n) {
		const char *x = numbers(c, room, done, &n);
		uint64_t now = c->type->most(x, n);

		most = now > most ? now : most;
	}
	if (c->n && (int64_t)most >= minlength)
		c->bins = (int64_t)most + 1;
	return most < INT64_MAX;
}

/* Numbers side by side; in a large table its lines are asked for before. */
static void count_part(const struct count *c, struct sums *to, const char *x, int64_t n)
{
	bool wide = c->bins * (int64_t)sizeof(int64_t) > SCATTER_WIDE;
	int64_t part = wide ? SCATTER_AHEAD : n;

	for (int64_t k = 0; k < n; k += part) {
		int64_t now = n - k < part ? n - k : part;

		if (wide)
			c->type->fetch(to->table[0], x + k * c->bytes, now);
		if (!c->weights) {
			c->type->count(to, x + k * c->bytes, now);
			continue;
		}
		c->type->weigh(to, x + k * c->bytes, now);
		to->weight += now * to->step;
	}
}

static void count_all(const struct count *c, int64_t *table)
{
	struct sums to = {.sum = (double *)(void *)table,
			  .weight = c->weights,
			  .step = c->weight_stride,
			  .table = {table, table, table, table}};
	_Alignas(64) char room[BLOCK * 8];
	int64_t more[TABLES][FEW];
	bool few = !c->weights && c->bins <= FEW && c->n >= 8 * c->bins;

	for (int t = 1; few && t < TABLES; t++) {
		memset(more[t], 0, (size_t)c->bins * sizeof **more);
		to.table[t] = more[t];
	}
	for (int64_t done = 0, n = 0; done < c->n; done += n) {
		const char *x = numbers(c, room, done, &n);

		count_part(c, &to, x, n);
	}
	for (int t = 1; few && t < TABLES; t++)
		for (int64_t k = 0; k < c->bins; k++)
			table[k] += more[t][k];
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
		      const struct braze_array *weights)
{
	unsigned d = x->view.dtype;

	*c = (struct count){.type = &types[d],
			    .at = array_address(x),
			    .n = x->count,
			    .bytes = dtype_row(d)->bytes};
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

/* Both are there.  Recorder lock held. */
static enum status run(int64_t **table, struct count *c, int64_t minlength, struct err *err)
{
	if (!find_bins(c, minlength))
		return err_set(err, E_INDEX, "a negative number was counted");
	*table = new_table(c->bins, err);
	if (!*table)
		return E_NOMEM;
	count_all(c, *table);
	return OK;
}

static int count_ready(braze_array **out, braze_array *x, braze_array *weights, int64_t minlength,
		       braze_check_fn *check, void *data, braze_error *err)
{
	struct braze_session *s = x->session;
	int64_t *table = NULL;
	struct count c;
	int rc = lock_ready(x, weights, check, data, err);

	if (rc)
		return rc;
	set_count(&c, x, weights);
	rc = (int)run(&table, &c, minlength, err_of(err));
	lock_give(s);
	return rc ? rc : make_array(out, s, weights != NULL, c.bins, table, err);
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
