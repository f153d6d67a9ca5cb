/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the device: reuse, shortage, what is absent. */
#define _GNU_SOURCE
#include "cuda_bench.h"

#define MIB (1ull << 20)

static void touch(struct bench *b, uint32_t region, uint64_t bytes, uint64_t ticket,
		  enum status want)
{
	run_begin(b);
	run_copy(b, ARENA, 0, region, bytes - 64, 0, 64);
	run_copy(b, region, bytes - 64, ARENA, 4096, 0, 64);
	run_end(b, ticket, want);
}

static void shortage(const char *settings)
{
	struct bench *b = NULL;
	struct reply r;

	standin(settings);
	b = bench_open();
	cr_assert_leq(b->hello.memory_bytes, 64 * MIB);
	for (uint64_t i = 1; i < 40; i++) {
		/* What is dropped is there again for the next, at once. */
		device_region(b, 2, 20 * MIB + i);
		device_region(b, 3, 20 * MIB + 4096 * i);
		touch(b, 2, 20 * MIB + i, i, OK);
		touch(b, 3, 20 * MIB + 4096 * i, i, OK);
		region_drop(b, 2);
		region_drop(b, 3);
	}
	/* Another client gets what the first one's pool keeps. */
	b->client = 2;
	device_region(b, 4, 45 * MIB);
	touch(b, 4, 45 * MIB, 100, OK);
	/* One too much: the runs that name it fail, others do not. */
	device_region(b, 5, 30 * MIB);
	run_begin(b);
	run_copy(b, ARENA, 0, 5, 0, 0, 64);
	r = run_end(b, 101, E_NOMEM);
	cr_assert(strstr(r.done.text, "31457280"), "%s", r.done.text);
	cr_assert(strstr(r.done.text, b->hello.name), "%s", r.done.text);
	touch(b, 4, 45 * MIB, 102, OK);
	device_region(b, 6, 1ull << 50);
	run_begin(b);
	run_fetch(b, 6, 0, 8);
	run_end(b, 103, E_NOMEM);
	/* Dropped and taken again, it is there. */
	region_drop(b, 4);
	device_region(b, 5, 30 * MIB);
	touch(b, 5, 30 * MIB, 104, OK);
	/* An empty one has no bytes, but is one. */
	device_region(b, 7, 0);
	run_begin(b);
	run_copy(b, ARENA, 0, 7, 0, 0, 0);
	run_end(b, 105, OK);
	bench_close(b);
}

Test(cuda_memory, shortage_with_pools, .timeout = 60)
{
	shortage("vram=64M");
}

Test(cuda_memory, shortage_without_pools, .timeout = 60)
{
	shortage("vram=64M,missing=cuMemPoolCreate");
}

/* One refusal is made good by giving back what is kept. */
Test(cuda_memory, a_refusal_is_tried_again, .timeout = 60)
{
	struct bench *b = NULL;

	/* The lane's own words come first. */
	standin("fail=cuMemAllocFromPoolAsync:2:2,fail=cuMemAllocFromPoolAsync:4:2,"
		"fail=cuMemAllocFromPoolAsync:5:2");
	b = bench_open();
	device_region(b, 2, 4096);
	touch(b, 2, 4096, 1, OK);
	device_region(b, 3, 4096);
	touch(b, 3, 4096, 2, E_NOMEM);
	touch(b, 2, 4096, 3, OK);
	device_region(b, 3, 4096);
	touch(b, 3, 4096, 4, OK);
	bench_close(b);
}

/* Without its own memory a client's runs fail; other clients' do not. */
/* At its start, for the region and for the run: then there is memory again. */
Test(cuda_memory, a_lane_that_cannot_be_opened_is_opened_later, .timeout = 60)
{
	struct bench *b = NULL;

	standin("fail=cuMemHostAlloc:1:2,fail=cuMemHostAlloc:2:2,fail=cuMemHostAlloc:3:2");
	b = bench_open();
	device_region(b, 2, 4096);
	touch(b, 2, 4096, 1, E_NOMEM);
	region_drop(b, 2);
	device_region(b, 3, 4096);
	touch(b, 3, 4096, 2, OK);
	bench_close(b);
}

Test(cuda_memory, a_drop_waits_for_the_runs_before_it, .timeout = 60)
{
	struct bench *b = bench_open();
	struct nest n = nest_half(1000);
	double *x = (double *)b->mem;

	kernel(b, 5, &n, PTX_HALF);
	for (int i = 0; i < 1000; i++)
		x[i] = i;
	for (uint64_t i = 0; i < 30; i++) {
		device_region(b, 2, 8000);
		run_begin(b);
		run_copy(b, ARENA, 0, 2, 0, 0, 8000);
		run_kernel(b, &n, 5, PLACE(2, 0), PLACE(2, 0), 0, 1000, 0);
		run_copy(b, 2, 0, ARENA, 8192 * (i + 1), 0, 8000);
		run_send(b, 1 + i);
		region_drop(b, 2);
	}
	for (uint64_t i = 0; i < 30; i++) {
		struct reply r = receive(b);

		cr_assert_eq(r.done.status, OK, "%s", r.done.text);
		cr_assert_eq(((double *)(b->mem + 8192 * (i + 1)))[999], 999 * 0.5);
	}
	/* The arena's drop, too. */
	device_region(b, 2, 8000);
	run_begin(b);
	run_copy(b, ARENA, 0, 2, 0, 0, 8000);
	run_copy(b, 2, 0, ARENA, 1 << 20, 0, 8000);
	run_send(b, 50);
	region_drop(b, ARENA);
	cr_assert_eq(receive(b).done.status, OK);
	cr_assert_eq(((double *)(b->mem + (1 << 20)))[999], 999);
	run_begin(b);
	run_copy(b, ARENA, 0, 2, 0, 0, 8000);
	run_end(b, 51, E_INTERNAL);
	bench_close(b);
}
