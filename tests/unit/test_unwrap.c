/* SPDX-License-Identifier: Apache-2.0 */
/* Unwrapping of angles as a library step: what is accepted, how it is cut, and that slices and
 * threads do not show. */
#include "call/unwrap.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "worker/worker.h"

static struct plan_call lanes_of(int64_t lanes, int64_t n)
{
	return (struct plan_call){.call = CALL_UNWRAP,
				  .dtype = DT_FLOAT64,
				  .nloop = 2,
				  .op = OP_UNWRAP,
				  .extent = {lanes, n},
				  .operand = {{.dtype = DT_FLOAT64, .stride = {n * 8, 8}},
					      {.dtype = DT_FLOAT64, .stride = {n * 8, 8}}}};
}

Test(unwrap, units_are_blocks_of_lanes)
{
	struct plan_call c = lanes_of(3, 2 * UNWRAP_BLOCK + 1);
	struct call_units u;
	struct err err;

	cr_assert_eq(call_check(&c, &err), OK, "%s", err.text);
	call_row(CALL_UNWRAP)->units(&u, &c, false);
	cr_assert(u.total == 9 && u.kept && u.grain == 1);
	cr_assert_eq(call_row(CALL_UNWRAP)->work(&c), 3 * (2 * UNWRAP_BLOCK + 1));
	cr_assert_eq(call_of_op(OP_UNWRAP), CALL_UNWRAP);
}

Test(unwrap, what_cannot_be_is_refused)
{
	struct plan_call c = lanes_of(2, 5);
	struct err err;

	c.dtype = DT_INT64;
	cr_assert_eq(call_check(&c, &err), E_INTERNAL, "a type without a loop");
	c = lanes_of(2, 5);
	c.operand[1].dtype = DT_FLOAT32;
	cr_assert_eq(call_check(&c, &err), E_INTERNAL, "another type of result");
	c = lanes_of(2, 5);
	c.op = OP_CUMSUM;
	cr_assert_eq(call_check(&c, &err), E_INTERNAL, "another operation");
	c = lanes_of(2, 5);
	c.nloop = 0;
	cr_assert_eq(call_check(&c, &err), E_INTERNAL, "no axis");
	c = lanes_of(INT64_MAX / 4, 5);
	cr_assert_eq(call_check(&c, &err), E_INTERNAL, "more elements than can be counted");
}

/* ---- Slices ---- */

#define LANES 3
#define N     (3 * UNWRAP_BLOCK + 7)

struct bench {
	struct worker w;
	struct command_step cmd;
	double *in, *out;
};

static enum status slice(struct bench *b, int64_t lo, int64_t hi)
{
	struct worker_call x = {.w = &b->w,
				.cmd = &b->cmd,
				.base = {(char *)b->in, (char *)b->out},
				.call = lanes_of(LANES, N),
				.lo = lo,
				.hi = hi};
	struct err err;

	return worker_unwrap(&x, &err);
}

static void bench_close(struct bench *b)
{
	pool_destroy(b->w.pool);
	free(b->w.progress);
	free(b->in);
	free(b->out);
}

static void bench_open(struct bench *b)
{
	struct err err;

	memset(b, 0, sizeof *b);
	cr_assert_eq(pool_create(&b->w.pool, 2, &err), OK);
	b->w.progress = calloc(1, sizeof *b->w.progress);
	b->w.closed = true; /* there is no socket to look at */
	b->in = malloc(LANES * N * 8);
	b->out = calloc(LANES * N, 8);
	for (int64_t i = 0; i < LANES * N; i++)
		b->in[i] = fmod((double)(i * 2654435761u % 1000003), 11) - 5;
}

/* What NumPy's passes come to, element by element. */
static void expect(const struct bench *b)
{
	for (int64_t l = 0; l < LANES; l++) {
		const double *x = b->in + l * N;
		double sum = -0.0, d = 0, m = 0;

		cr_assert_eq(b->out[l * N], x[0]);
		for (int64_t i = 1; i < N; i++) {
			d = x[i] - x[i - 1];
			m = fmod(d + M_PI, 2 * M_PI);
			m += m < 0 ? 2 * M_PI : 0;
			m -= M_PI;
			m = m == -M_PI && d > 0 ? M_PI : m;
			sum += fabs(d) < M_PI ? 0 : m - d;
			cr_assert_eq(b->out[l * N + i], x[i] + sum, "lane %ld, %ld", (long)l,
				     (long)i);
		}
	}
}

Test(unwrap, slices_go_on_where_the_ones_before_them_ended, .timeout = 60)
{
	static const int64_t cuts[][5] = {
		{12}, {4, 8, 12}, {1, 2, 7, 9, 12}, {3, 5, 6, 11, 12}, {7, 12}};

	for (size_t k = 0; k < sizeof cuts / sizeof *cuts; k++) {
		struct bench b;
		int64_t at = 0;

		bench_open(&b);
		for (int c = 0; at < 12; at = cuts[k][c++])
			cr_assert_eq(slice(&b, at, cuts[k][c]), OK);
		expect(&b);
		cr_assert_null(b.w.parts, "what was kept for the next slice is free");
		bench_close(&b);
	}
}

Test(unwrap, a_slice_without_the_one_before_it_is_refused, .timeout = 60)
{
	struct bench b;

	bench_open(&b);
	cr_assert_eq(slice(&b, 1, 2), E_INTERNAL);
	cr_assert_eq(slice(&b, 4, 6), OK, "it begins with a lane");
	cr_assert_eq(slice(&b, 6, 8), OK);
	cr_assert_null(b.w.parts);
	b.w.cancel = 1;
	cr_assert_eq(slice(&b, 0, 2), E_CANCELLED);
	cr_assert_null(b.w.parts);
	bench_close(&b);
}
