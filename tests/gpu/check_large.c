/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/check_large.c - arrays of more elements, and of more bytes, than 32 bits count.
 *
 * What they hold has a closed form, so no CPU computes them a second time: a result is
 * right when its sums, its ends and an element amid it are.  Sizes are shifted down in a
 * quick run, and for a device whose memory cannot hold the case. */
#include <stdio.h>
#include <stdlib.h>

#include "sections.h"
#include "tap.h"

#define QUICK_SHIFT 16
#define ARRAYS	    16
#define MIB	    (1ull << 20)

/* A program under way: what it made, and the first error. */
struct large {
	struct both *b;
	unsigned shift;
	braze_array *made[ARRAYS];
	int n, rc;
	braze_error err;
	bool good;
};

static braze_array *keep(struct large *l, braze_array *a)
{
	if (!l->rc && l->n < ARRAYS)
		l->made[l->n++] = a;
	return l->rc ? NULL : a;
}

static braze_array *count_up(struct large *l, int dtype, int64_t n)
{
	braze_array *a = NULL;

	if (!l->rc)
		l->rc = braze_arange(&a, l->b->session, dtype, n, braze_int(0), braze_int(1),
				     &l->err);
	return keep(l, a);
}

static braze_array *filled(struct large *l, int dtype, int ndim, const int64_t *shape, int64_t v)
{
	braze_array *a = NULL;

	if (!l->rc)
		l->rc = braze_full(&a, l->b->session, dtype, ndim, shape, braze_int(v), &l->err);
	return keep(l, a);
}

static braze_array *shaped(struct large *l, braze_array *a, int64_t rows, int64_t columns)
{
	const int64_t shape[2] = {rows, columns};
	braze_array *out = NULL;

	if (!l->rc)
		l->rc = braze_reshape(&out, a, 2, shape, &l->err);
	return keep(l, out);
}

/* a op b, or a op v where b is NULL. */
static braze_array *apply(struct large *l, unsigned op, braze_array *a, braze_array *b, int64_t v)
{
	braze_arg arg[2] = {{.array = a}, {.array = b, .scalar = braze_int(v)}};
	braze_array *out = NULL;

	if (!l->rc)
		l->rc = braze_apply(&out, l->b->session, (int)op, 2, arg, &l->err);
	return keep(l, out);
}

static braze_array *reduced(struct large *l, unsigned op, braze_array *a, unsigned axes)
{
	braze_array *out = NULL;

	if (!l->rc)
		l->rc = braze_reduce(&out, (int)op, a, axes, 0, -1, &l->err);
	return keep(l, out);
}

/* Rows from r and columns from c of a, as many. */
static braze_array *window(struct large *l, braze_array *a, int64_t r, int64_t c, int64_t rows,
			   int64_t columns)
{
	const int64_t start[2] = {r, c}, count[2] = {rows, columns}, step[2] = {1, 1};
	braze_array *out = NULL;

	if (!l->rc)
		l->rc = braze_slice(&out, a, start, count, step, &l->err);
	return keep(l, out);
}

/* Element `at` of a, in C order, as 64 bits; a is contiguous and has one axis. */
static uint64_t element(struct large *l, braze_array *a, int64_t at)
{
	const int64_t count = 1, step = 1;
	braze_array *one = NULL, *wide = NULL;
	uint64_t v = 0;

	if (!l->rc)
		l->rc = braze_slice(&one, a, &at, &count, &step, &l->err);
	if (!l->rc)
		l->rc = braze_cast(&wide, one, DT_INT64, &l->err);
	if (!l->rc)
		l->rc = braze_read(&v, wide, &l->err);
	braze_release(one);
	braze_release(wide);
	return v;
}

static uint64_t total(struct large *l, unsigned op, braze_array *a)
{
	braze_array *sum = NULL, *wide = NULL;
	uint64_t v = 0;

	if (!l->rc)
		l->rc = braze_reduce(&sum, (int)op, a, (1u << braze_ndim(a)) - 1, 0, -1, &l->err);
	if (!l->rc)
		l->rc = braze_cast(&wide, sum, DT_INT64, &l->err);
	if (!l->rc)
		l->rc = braze_read(&v, wide, &l->err);
	braze_release(sum);
	braze_release(wide);
	return v;
}

static void expect(struct large *l, const char *what, uint64_t is, uint64_t right)
{
	if (l->rc || is == right)
		return;
	tap_note("  %s is %lld, not %lld", what, (long long)is, (long long)right);
	l->good = false;
}

/* ---- The cases ---- */

static void flat(struct large *l, int64_t n)
{
	braze_array *b =
		apply(l, OP_ADD, apply(l, OP_MULTIPLY, count_up(l, DT_INT64, n), NULL, 3), NULL, 1);
	uint64_t m = (uint64_t)n;

	expect(l, "the sum", total(l, OP_SUM, b), 3 * (m * (m - 1) / 2) + m);
	expect(l, "the greatest", total(l, OP_MAX, b), 3 * (m - 1) + 1);
	expect(l, "the last", element(l, b, n - 1), 3 * (m - 1) + 1);
	expect(l, "one amid", element(l, b, n / 3), 3 * (m / 3) + 1);
}

static void narrow(struct large *l, int64_t n)
{
	braze_array *a = filled(l, DT_UINT8, 1, &n, 7), *b = apply(l, OP_MULTIPLY, a, NULL, 2);

	expect(l, "the sum", total(l, OP_SUM, b), 14 * (uint64_t)n);
	expect(l, "the least", total(l, OP_MIN, b), 14);
	expect(l, "the last", element(l, b, n - 1), 14);
}

/* The side of a square of n elements. */
static int64_t side_of(int64_t n)
{
	int64_t side = 1;

	while (side * side * 4 <= n)
		side *= 2;
	return side;
}

static void transposed(struct large *l, int64_t n)
{
	int64_t side = side_of(n), rows = side + 1, columns = side - 1;
	braze_array *a = shaped(l, count_up(l, DT_INT32, rows * columns), rows, columns);
	braze_array *t = NULL, *b;

	if (!l->rc)
		l->rc = braze_transpose(&t, a, NULL, &l->err);
	keep(l, t);
	b = apply(l, OP_ADD, t, NULL, 1);
	expect(l, "the greatest", (uint32_t)total(l, OP_MAX, b), (uint32_t)(rows * columns));
	expect(l, "the least", total(l, OP_MIN, b), 1);
	/* Row 1 of the transposed is column 1. */
	expect(l, "a row's sum", total(l, OP_SUM, window(l, b, 1, 0, 1, rows)),
	       (uint64_t)(columns * (rows * (rows - 1) / 2) + 2 * rows));
}

static void sums(struct large *l, int64_t n)
{
	int64_t side = side_of(n), shape[2] = {2 * side + 1, side + 3};
	braze_array *a = filled(l, DT_UINT8, 2, shape, 1);
	braze_array *rows = reduced(l, OP_SUM, a, 2), *columns = reduced(l, OP_SUM, a, 1);

	expect(l, "the least of the rows", total(l, OP_MIN, rows), (uint64_t)shape[1]);
	expect(l, "the greatest of the rows", total(l, OP_MAX, rows), (uint64_t)shape[1]);
	expect(l, "the least of the columns", total(l, OP_MIN, columns), (uint64_t)shape[0]);
	expect(l, "the greatest of the columns", total(l, OP_MAX, columns), (uint64_t)shape[0]);
}

/* Of numbers that rise along both axes each is the mean of its neighbours. */
static void stencil(struct large *l, int64_t n)
{
	int64_t side = side_of(n), inner = side - 2;
	braze_array *a = shaped(l, count_up(l, DT_INT32, side * side), side, side);
	braze_array *v = apply(l, OP_MULTIPLY, window(l, a, 1, 1, inner, inner), NULL, 4);

	v = apply(l, OP_SUBTRACT, v, window(l, a, 0, 1, inner, inner), 0);
	v = apply(l, OP_SUBTRACT, v, window(l, a, 2, 1, inner, inner), 0);
	v = apply(l, OP_SUBTRACT, v, window(l, a, 1, 0, inner, inner), 0);
	v = apply(l, OP_SUBTRACT, v, window(l, a, 1, 2, inner, inner), 0);
	expect(l, "the greatest", total(l, OP_MAX, v), 0);
	expect(l, "the least", total(l, OP_MIN, v), 0);
}

static void gathered(struct large *l, int64_t n)
{
	braze_array *a = count_up(l, DT_INT64, n), *out = NULL;
	braze_array *places = apply(l, OP_ADD, apply(l, OP_MULTIPLY, a, NULL, -1), NULL, n - 1);
	uint64_t m = (uint64_t)n;

	if (!l->rc)
		l->rc = braze_take(&out, a, places, 0, BRAZE_RAISE, &l->err);
	keep(l, out);
	expect(l, "the first", element(l, out, 0), m - 1);
	expect(l, "the last", element(l, out, n - 1), 0);
	expect(l, "the sum", total(l, OP_SUM, out), m * (m - 1) / 2);
}

static const struct {
	const char *name;
	int64_t n;
	unsigned bytes; /* of an element, in all arrays together */
	void (*run)(struct large *l, int64_t n);
} cases[] = {
	{"64-bit integers", 1 << 20, 24, flat},
	{"64-bit integers", (1 << 24) + 1, 24, flat},
	{"64-bit integers", (1 << 28) + 3, 24, flat},
	{"bytes", (1ll << 31) + 17, 2, narrow},
	{"bytes", 5ll << 30, 2, narrow},
	{"a transposed square", 1ll << 30, 8, transposed},
	{"sums of rows and columns", 1ll << 30, 4, sums},
	{"a 5-point stencil", 1ll << 30, 8, stencil},
	{"64-bit integers gathered", (1 << 26) + 5, 24, gathered},
};

static void check_case(struct both *b, unsigned i, double memory)
{
	struct large l = {.b = b, .shift = b->quick ? QUICK_SHIFT : 0, .good = true};
	double began = host_seconds(), runs = host_device(b->host, "cpu").runs;
	int64_t n;

	/* Half of the memory: what is read comes and goes beside them. */
	while ((double)(cases[i].n >> l.shift) * cases[i].bytes > memory / 2)
		l.shift++;
	n = (cases[i].n >> l.shift) | 1;
	l.rc = braze_set_device(b->session, b->host->device, &l.err);
	cases[i].run(&l, n);
	if (l.rc)
		tap_note("  %s", l.err.text);
	for (int k = 0; k < l.n; k++)
		braze_release(l.made[k]);
	if (host_device(b->host, "cpu").runs > runs) {
		tap_note("fallback: %s", cases[i].name);
		b->fallbacks++;
		l.good = false;
	}
	tap_result(l.good && !l.rc, "%s: %lld elements, %.0f MiB", cases[i].name, (long long)n,
		   (double)n * cases[i].bytes / (double)MIB);
	tap_note("  %.2f s", host_seconds() - began);
}

void check_large(struct both *b)
{
	double memory = host_device(b->host, b->host->device).memory;

	tap_note("large arrays");
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
		check_case(b, i, memory);
}
