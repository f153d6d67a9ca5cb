/* SPDX-License-Identifier: Apache-2.0 */
/* STEP_COPY by every way: small, staged, registered, on the device, in an arena. */
#define _GNU_SOURCE
#include "cuda_bench.h"

#define MIB (1ull << 20)

static unsigned char pattern(uint64_t i, unsigned seed)
{
	return (unsigned char)((i * 2654435761u + seed * 40503u) >> 11);
}

static void fill(struct bench *b, uint64_t at, uint64_t n, unsigned seed)
{
	for (uint64_t i = 0; i < n; i++)
		b->mem[at + i] = (char)pattern(i, seed);
}

static void expect(struct bench *b, uint64_t at, uint64_t n, unsigned seed)
{
	for (uint64_t i = 0; i < n; i++)
		cr_assert_eq((unsigned char)b->mem[at + i], pattern(i, seed),
			     "byte %lu of %lu, pattern %u", (long)i, (long)n, seed);
	cr_assert_eq((unsigned char)b->mem[at + n], 0xee, "behind %lu bytes", (long)n);
	cr_assert(at == 0 || (unsigned char)b->mem[at - 1] == 0xee, "before %lu bytes", (long)n);
}

/* n bytes to the device, across it, and back elsewhere; `skip` bytes into the region. */
static void there_and_back(struct bench *b, uint64_t n, uint64_t from, uint64_t to, uint64_t skip,
			   unsigned seed)
{
	device_region(b, 2, n + skip);
	device_region(b, 3, n + skip);
	fill(b, from, n, seed);
	memset(b->mem + to - 1, 0xee, n + 2);
	run_begin(b);
	run_copy(b, ARENA, from, 2, skip, 0, (int64_t)n);
	run_copy(b, 2, skip, 3, skip, 0, (int64_t)n);
	run_copy(b, 3, skip, ARENA, to, 0, (int64_t)n);
	run_end(b, 100 + seed, OK);
	expect(b, to, n, seed);
	region_drop(b, 2);
	region_drop(b, 3);
}

Test(cuda_transfer, all_sizes_and_offsets, .timeout = 120)
{
	static const uint64_t size[] = {0,     1,	7,	 4095,	  32768,    32769,
					65537, 1048576, 1048577, 9437185, 16777216, 20000003};
	struct bench *b = bench_open();

	for (unsigned i = 0; i < sizeof size / sizeof *size; i++) {
		there_and_back(b, size[i], 3 + i, 32 * MIB + 64 + i, 5 * i, i);
		there_and_back(b, size[i], 4096, 48 * MIB, 0, i + 50);
	}
	bench_close(b);
}

/* Slices of one copy, as the broker sends them. */
Test(cuda_transfer, slices_of_a_copy, .timeout = 60)
{
	enum { N = 300001, SLICE = 70001 };
	struct bench *b = bench_open();

	device_region(b, 2, N);
	fill(b, 64, N, 1);
	memset(b->mem + MIB - 1, 0xee, N + 2);
	for (int64_t lo = 0; lo < N; lo += SLICE) {
		run_begin(b);
		run_copy(b, ARENA, 64, 2, 0, lo, lo + SLICE < N ? lo + SLICE : N);
		run_end(b, 1 + (uint64_t)lo, OK);
	}
	for (int64_t lo = 0; lo < N; lo += SLICE) {
		run_begin(b);
		run_copy(b, 2, 0, ARENA, MIB, lo, lo + SLICE < N ? lo + SLICE : N);
		run_end(b, 1 + (uint64_t)lo, OK);
	}
	expect(b, MIB, N, 1);
	bench_close(b);
}

/* More small copies in one run than the bounce buffer holds; each is read again by a
 * copy within the arena. */
Test(cuda_transfer, many_small_copies_in_one_run, .timeout = 60)
{
	enum { N = 3001, COPIES = 40 };
	struct bench *b = bench_open();

	device_region(b, 2, N * COPIES);
	for (unsigned i = 0; i < COPIES; i++)
		fill(b, i * 4096, N, i);
	memset(b->mem + MIB - 1, 0xee, MIB);
	run_begin(b);
	for (unsigned i = 0; i < COPIES; i++) {
		run_copy(b, ARENA, i * 4096, 2, i * N, 0, N);
		run_copy(b, 2, i * N, ARENA, MIB + i * 4096, 0, N);
		if (i % 10 == 9)
			run_copy(b, ARENA, MIB + i * 4096, ARENA, 4 * MIB + i * 4096, 0, N);
	}
	run_end(b, 1, OK);
	for (unsigned i = 0; i < COPIES; i++)
		expect(b, MIB + i * 4096, N, i);
	for (unsigned i = 9; i < COPIES; i += 10) {
		b->mem[4 * MIB + i * 4096 + N] = (char)0xee;
		b->mem[4 * MIB + i * 4096 - 1] = (char)0xee;
		expect(b, 4 * MIB + i * 4096, N, i);
	}
	bench_close(b);
}

/* A registered chunk in the middle, unregistered ends. */
static void registered(const char *limit, const char *settings)
{
	struct bench *b = NULL;

	standin(settings);
	setenv("BRAZE_WORKER_PIN_MIB", limit, 1);
	b = bench_open();
	for (unsigned i = 0; i < 6; i++) {
		there_and_back(b, 20 * MIB + 13, 5 * MIB + 1, 40 * MIB + 3, 7, i);
		usleep(20000); /* the helper registers meanwhile */
	}
	/* The arena goes and comes again: nothing registered is left. */
	region_drop(b, ARENA);
	send_simple(b, CMD_REGION, ARENA, 0, ARENA_BYTES, b->arena);
	for (unsigned i = 0; i < 3; i++)
		there_and_back(b, 20 * MIB + 13, 5 * MIB + 1, 40 * MIB + 3, 7, 10 + i);
	bench_close(b);
}

Test(cuda_transfer, registered_memory, .timeout = 60)
{
	registered("64", "");
}

Test(cuda_transfer, registered_memory_is_bounded, .timeout = 60)
{
	registered("8", "");
}

Test(cuda_transfer, memory_that_is_not_registered, .timeout = 60)
{
	registered("64", "fail=cuMemHostRegister:1:2,fail=cuMemHostRegister:3:801");
}

/* Registering is what happens: a failure that loses the context ends the worker. */
Test(cuda_transfer, the_second_use_registers, .timeout = 60)
{
	struct bench *b = NULL;

	standin("fail=cuMemHostRegister:1:719");
	setenv("BRAZE_WORKER_PIN_MIB", "64", 1);
	b = bench_open();
	device_region(b, 2, 16 * MIB);
	run_begin(b);
	run_copy(b, ARENA, 0, 2, 0, 0, 16 * MIB);
	run_end(b, 1, OK);
	run_begin(b);
	run_copy(b, ARENA, 0, 2, 0, 0, 16 * MIB);
	run_send(b, 2);
	cr_assert_eq(bench_wait(b), 3);
	bench_free(b);
}

Test(cuda_transfer, without_pinned_memory_for_the_rings, .timeout = 60)
{
	struct bench *b = NULL;

	standin("fail=cuMemHostAlloc:2:2,fail=cuMemHostAlloc:3:2");
	b = bench_open();
	for (unsigned i = 0; i < 2; i++)
		there_and_back(b, 9 * MIB + 5, 7, 48 * MIB, 0, i);
	bench_close(b);
}

Test(cuda_transfer, mistakes, .timeout = 60)
{
	struct bench *b = bench_open();

	device_region(b, 2, 1000);
	for (int i = 0; i < 6; i++) {
		run_begin(b);
		run_copy(b, i == 0 ? 9 : ARENA, i == 1 ? ARENA_BYTES - 999 : 0, i == 2 ? 9 : 2,
			 i == 3 ? 1 : 0,
			 i == 4	  ? -1
			 : i == 5 ? 8
				  : 0,
			 i == 5 ? 7 : 1000);
		run_end(b, 1, E_INTERNAL);
	}
	bench_close(b);
}

/* Two clients' staged copies share the rings. */
Test(cuda_transfer, staged_copies_of_two_clients, .timeout = 60)
{
	enum { N = 9 << 20 };
	struct bench *b = bench_open();

	fill(b, 64, N, 1);
	fill(b, 10 * MIB, N, 2);
	memset(b->mem + 32 * MIB, 0xee, 42 * MIB);
	for (unsigned i = 0; i < 2; i++) {
		b->client = 1 + i;
		device_region(b, 2 + i, N);
		for (uint64_t k = 0; k < 2; k++) {
			run_begin(b);
			run_copy(b, ARENA, i ? 10 * MIB : 64, 2 + i, 0, 0, N);
			run_copy(b, 2 + i, 0, ARENA, (i ? 64 : 48) * MIB, 0, N);
			run_send(b, 1 + k + 2 * i);
		}
	}
	for (int i = 0; i < 4; i++) {
		struct reply r = receive(b);

		cr_assert_eq(r.done.status, OK, "%s", r.done.text);
	}
	expect(b, 48 * MIB, N, 1);
	expect(b, 64 * MIB, N, 2);
	bench_close(b);
}

/* Where the device reads ordinary memory by itself nothing small comes from there. */
Test(cuda_transfer, small_copies_where_the_device_reads_later, .timeout = 60)
{
	enum { N = 20000 };
	struct bench *b = NULL;

	standin("pageable=1,delay_us=500");
	b = bench_open();
	device_region(b, 2, 3 * N);
	for (int turn = 0; turn < 3; turn++) {
		run_begin(b);
		for (uint32_t i = 0; i < 3; i++) {
			memset(b->mem + i * N, (int)i + 7 * turn + 1, N);
			run_copy(b, ARENA, i * N, 2, i * N, 0, N);
		}
		run_copy(b, 2, 0, ARENA, 1 << 20, 0, 3 * N);
		run_end(b, (uint64_t)turn + 1, OK);
		for (uint32_t i = 0; i < 3 * N; i++)
			cr_assert_eq(b->mem[(1 << 20) + i], (char)(i / N + 7 * (uint32_t)turn + 1));
	}
	bench_close(b);
}
