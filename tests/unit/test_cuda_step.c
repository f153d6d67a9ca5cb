/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions on a CUDA worker: whole, in slices by points and by chunks. */
#define _GNU_SOURCE
#include "cuda_sums.h"

enum { OUT = 64 << 20 };

static void upload(struct bench *b, int64_t bytes)
{
	device_region(b, 2, (uint64_t)bytes + 8);
	device_region(b, 3, 65536);
	run_begin(b);
	run_copy(b, ARENA, 0, 2, 0, 0, bytes);
	run_end(b, 1, OK);
}

static void check(struct bench *b, const double *want, int64_t rows, int way)
{
	run_begin(b);
	run_copy(b, 3, 0, ARENA, OUT, 0, rows * 8);
	run_end(b, 2, OK);
	for (int64_t p = 0; p < rows; p++)
		cr_assert_eq(((double *)(b->mem + OUT))[p], want[p], "point %ld, way %d: %g, %g",
			     (long)p, way, ((double *)(b->mem + OUT))[p], want[p]);
}

/* One chunk a packet; another job's slices in between. */
static void by_chunks(struct bench *b, const struct nest *n, int64_t chunks)
{
	for (int64_t c = 0; c < chunks; c++) {
		uint8_t split = (uint8_t)((c == 0) | (c == chunks - 1) << 1);

		for (uint64_t job = 3; job < 5; job++) {
			run_begin(b);
			run_kernel(b, n, 5, PLACE(2, 0), PLACE(3, job == 3 ? 0 : 32768), c, c + 1,
				   split ? split : 4);
			run_end(b, (job << TICKET_SHIFT) + (uint64_t)c, OK);
		}
	}
}

Test(cuda_step, reductions_do_not_depend_on_the_cut, .timeout = 120)
{
	static const int64_t shape[][2] = {{1, 150001}, {3, 70000}, {20, 1000}, {2, 65536}};

	for (size_t k = 0; k < sizeof shape / sizeof *shape; k++) {
		int64_t rows = shape[k][0], len = shape[k][1];
		int64_t chunks = (len + TREE_CHUNK - 1) / TREE_CHUNK;
		struct nest n = nest_sum(rows, len);
		struct bench *b = bench_open();
		double want[20] = {0};

		for (int64_t i = 0; i < rows * len; i++) {
			((double *)b->mem)[i] = (double)(i % 1013);
			want[i / len] += (double)(i % 1013);
		}
		kernel(b, 5, &n, PTX_SUM);
		upload(b, rows * len * 8);
		run_begin(b);
		run_kernel(b, &n, 5, PLACE(2, 0), PLACE(3, 0), 0, rows, 0);
		run_end(b, 3ull << TICKET_SHIFT, OK);
		check(b, want, rows, 0);
		if (rows > 1) {
			run_begin(b);
			run_kernel(b, &n, 5, PLACE(2, 0), PLACE(3, 0), 0, rows / 2, 0);
			run_kernel(b, &n, 5, PLACE(2, 0), PLACE(3, 0), rows / 2, rows, 0);
			run_end(b, 4ull << TICKET_SHIFT, OK);
			check(b, want, rows, 1);
		}
		by_chunks(b, &n, chunks);
		check(b, want, rows, 2);
		bench_close(b);
	}
}

Test(cuda_step, slices_without_their_first_are_refused, .timeout = 60)
{
	struct nest n = nest_sum(1, 200000);
	struct bench *b = bench_open();

	kernel(b, 5, &n, PTX_SUM);
	upload(b, 200000 * 8);
	run_begin(b);
	run_kernel(b, &n, 5, PLACE(2, 0), PLACE(3, 0), 1, 2, 4);
	run_end(b, 3ull << TICKET_SHIFT, E_INTERNAL);
	/* A cancel forgets what a job has gathered. */
	run_begin(b);
	run_kernel(b, &n, 5, PLACE(2, 0), PLACE(3, 0), 0, 1, 1);
	run_end(b, 4ull << TICKET_SHIFT, OK);
	send_simple(b, CMD_CANCEL, 0, 4ull << TICKET_SHIFT, 0, -1);
	run_begin(b);
	run_kernel(b, &n, 5, PLACE(2, 0), PLACE(3, 0), 1, 2, 4);
	run_end(b, (4ull << TICKET_SHIFT) + 1, E_INTERNAL);
	bench_close(b);
}
