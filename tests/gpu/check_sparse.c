/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/check_sparse.c - products of sparse matrices on the device and on the CPU, which have the
 * same bits: rows of few entries, of none, and one of very many. */
#include <stdio.h>
#include <stdlib.h>

#include "cudaside.h"
#include "sections.h"
#include "tap.h"

#define ROUNDS 5
#define WARM   3 /* one compiles, one measures for the cutting */

enum sparse_rows { SHORT, STEEP, LONG, ROWS };
static const char *const rows_name[] = {"short rows", "a long row", "long rows"};

struct sparse {
	unsigned dtype, index;
	enum sparse_rows like;
	int64_t rows, inner, columns; /* of the result; 0: a vector */
	bool turned;		      /* what is multiplied lies column by column */
	uint64_t seed;
};

static int64_t length_of(const struct sparse *t, int64_t r)
{
	switch (t->like) {
	case SHORT:
		return r % 7 == 5 ? 0 : r % 12;
	case STEEP:
		return r == t->rows / 2 ? 20 * t->rows : r % 4;
	default:
		return 90 + r % 50;
	}
}

static void put(void *structure, const struct sparse *t, int64_t k, int64_t x)
{
	if (t->index == DT_INT32)
		((int32_t *)structure)[k] = (int32_t)x;
	else
		((int64_t *)structure)[k] = x;
}

/* A structure in memory; *count: its entries. */
static void *structure_of(const struct sparse *t, int64_t *count)
{
	struct sample_rng rng = {t->seed};
	void *made = NULL;

	*count = 0;
	for (int64_t r = 0; r < t->rows; r++)
		*count += length_of(t, r);
	made = malloc((size_t)(t->rows + 1 + *count) * (t->index == DT_INT32 ? 4 : 8));
	if (!made)
		return NULL;
	*count = 0;
	for (int64_t r = 0; r < t->rows; r++) {
		put(made, t, r, *count);
		*count += length_of(t, r);
	}
	put(made, t, t->rows, *count);
	for (int64_t k = 0; k < *count; k++)
		put(made, t, t->rows + 1 + k, (int64_t)(sample_next(&rng) % (uint64_t)t->inner));
	return made;
}

static int factor(braze_array **out, const struct sparse *t, braze_session *s, braze_error *err)
{
	int64_t shape[2] = {t->turned ? t->columns : t->inner, t->turned ? t->inner : t->columns};
	braze_array *made = NULL;
	int rc = both_operand(&made, s, t->dtype, t->columns ? 2 : 1, shape, SAMPLE_SMALL,
			      t->seed + 1, err);

	if (!rc && t->turned)
		rc = braze_transpose(out, made, NULL, err);
	else if (!rc)
		braze_retain(*out = made);
	braze_release(made);
	return rc;
}

struct operands {
	braze_array *entries, *structure, *x;
	int64_t count;
};

static void operands_finish(struct operands *o)
{
	braze_release(o->entries);
	braze_release(o->structure);
	braze_release(o->x);
}

static int operands_make(struct operands *o, const struct sparse *t, braze_session *s,
			 braze_error *err)
{
	void *memory = structure_of(t, &o->count);
	int64_t numbers = t->rows + 1 + o->count;
	int rc = memory ? 0 : BRAZE_E_NOMEM;

	if (!rc)
		rc = braze_from_data(&o->structure, s, (int)t->index, 1, &numbers, NULL, memory,
				     err);
	if (!rc)
		rc = both_operand(&o->entries, s, t->dtype, 1, &o->count, SAMPLE_SMALL, t->seed,
				  err);
	if (!rc)
		rc = factor(&o->x, t, s, err);
	free(memory);
	return rc;
}

static int record(const void *data, braze_session *s, braze_array **out, int *n, braze_error *err)
{
	struct operands o = {0};
	int rc = operands_make(&o, data, s, err);

	if (!rc)
		rc = braze_sparse_matmul(&out[0], o.entries, o.structure, o.x, err);
	*n = !rc;
	operands_finish(&o);
	return rc;
}

static void check(struct both *b, struct sparse *t)
{
	static const int64_t columns[] = {0, 1, 3, 64};

	for (unsigned k = 0; k < sizeof columns / sizeof *columns; k++)
		for (int turned = 0; turned <= (columns[k] > 1); turned++) {
			struct program p = {.record = record, .data = t};

			t->columns = columns[k];
			t->turned = turned;
			snprintf(p.name, sizeof p.name, "sparse, %s of %s and %s, by %lld%s",
				 rows_name[t->like], dtype_row(t->dtype)->name,
				 dtype_row(t->index)->name, (long long)t->columns,
				 turned ? " that lie apart" : "");
			both_check(b, &p);
		}
}

void check_sparse(struct both *b)
{
	static const unsigned types[] = {DT_FLOAT64, DT_FLOAT32, DT_COMPLEX128, DT_COMPLEX64,
					 DT_INT64};

	tap_note("products of sparse matrices");
	if (getenv("BRAZE_LIBCUSPARSE")) {
		tap_note("  not compared: the sums are cuSPARSE's");
		return;
	}
	for (unsigned k = 0; k < (b->quick ? 2 : sizeof types / sizeof *types); k++)
		for (unsigned like = 0; like < ROWS; like++)
			for (int wide = 0; wide < 2; wide++) {
				struct sparse t = {.dtype = types[k],
						   .index = wide ? DT_INT64 : DT_INT32,
						   .like = (enum sparse_rows)like,
						   .rows = b->quick ? 300 : 100003,
						   .inner = b->quick ? 77 : 50021,
						   .seed = b->seed + k};

				check(b, &t);
			}
}

/* One product, of which only the sum is read. */
static int once(const struct operands *o, braze_error *err)
{
	braze_array *product = NULL, *sum = NULL;
	const void *data = NULL;
	int rc = braze_sparse_matmul(&product, o->entries, o->structure, o->x, err);

	if (!rc)
		rc = braze_reduce(&sum, OP_SUM, product, (1u << braze_ndim(product)) - 1, 0, -1,
				  err);
	braze_release(product);
	if (!rc)
		rc = braze_data(&data, sum, NULL, NULL, err);
	braze_release(sum);
	return rc;
}

/* Bytes that a product moves at least, each number once. */
static double bytes_of(const struct sparse *t, int64_t count)
{
	double element = dtype_row(t->dtype)->bytes, index = dtype_row(t->index)->bytes;
	double columns = t->columns ? (double)t->columns : 1;

	return (double)count * (element + index) + (double)t->rows * index +
	       (double)(t->rows + t->inner) * columns * element;
}

static void measure(struct both *b, const struct sparse *t)
{
	const char *device = b->host->device;
	double seconds[ROUNDS] = {0}, taken;
	struct operands o = {0};
	braze_error err = {0};
	char name[96];
	int rc = braze_set_device(b->session, device, &err);

	if (!rc)
		rc = operands_make(&o, t, b->session, &err);
	for (unsigned i = 0; i < WARM && !rc; i++)
		rc = once(&o, &err);
	for (unsigned i = 0; i < ROUNDS && !rc; i++) {
		double start = host_device(b->host, device).busy;

		rc = once(&o, &err);
		seconds[i] = host_device(b->host, device).busy - start;
	}
	operands_finish(&o);
	snprintf(name, sizeof name, "%s of %s, %lld entries, by %lld", rows_name[t->like],
		 dtype_row(t->dtype)->name, (long long)o.count, (long long)t->columns);
	if (rc) {
		tap_result(false, "%s: %s", name, err.text);
		return;
	}
	taken = cudaside_median(seconds, ROUNDS);
	tap_note("  %-60s %9.1f us %8.1f GB/s %8.2f G terms/s", name, taken * 1e6,
		 bytes_of(t, o.count) / taken * 1e-9,
		 (double)o.count * (double)(t->columns ? t->columns : 1) / taken * 1e-9);
	tap_figure("sparse", name, taken * 1e6, "us");
}

void bench_sparse(struct both *b)
{
	static const struct {
		enum sparse_rows like;
		int64_t rows, inner;
	} shapes[] = {{SHORT, 1000000, 1000000}, {STEEP, 100000, 100000}, {LONG, 100000, 10000}};
	static const int64_t columns[] = {0, 4, 64};
	static const unsigned types[] = {DT_FLOAT32, DT_FLOAT64};

	tap_note("products of sparse matrices and the sum of each, operands on the device; by its "
		 "own time");
	for (unsigned k = 0; k < 2; k++)
		for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++)
			for (unsigned c = 0; c < sizeof columns / sizeof *columns; c++) {
				struct sparse t = {.dtype = types[k],
						   .index = DT_INT32,
						   .like = shapes[i].like,
						   .rows = b->quick ? 100 : shapes[i].rows,
						   .inner = b->quick ? 50 : shapes[i].inner,
						   .columns = columns[c],
						   .seed = b->seed};

				measure(b, &t);
			}
}
