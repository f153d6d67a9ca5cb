/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "trace/arena.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#define MIB (1ull << 20)

static uv_loop_t loop;
static struct arena *a;
static struct err err;

static void setup(void)
{
	uv_loop_init(&loop);
	cr_assert_eq(arena_create(&a, &loop, 1024 * MIB, &err), OK, "%s", err.text);
}

static void teardown(void)
{
	arena_destroy(a);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(&loop), 0);
}

static struct extent alloc(uint64_t bytes)
{
	struct extent e;

	cr_assert_eq(arena_alloc(a, &e, bytes, &err), OK, "%s", err.text);
	cr_assert_geq(e.bytes, bytes);
	return e;
}

TestSuite(arena, .init = setup, .fini = teardown);

Test(arena, file_is_sealed_against_resizing)
{
	cr_assert_eq(ftruncate(arena_fd(a), 0), -1);
	cr_assert_eq(ftruncate(arena_fd(a), (off_t)(2048 * MIB)), -1);
	cr_assert_eq(fcntl(arena_fd(a), F_ADD_SEALS, F_SEAL_WRITE), -1);
}

Test(arena, extents_are_disjoint_and_aligned)
{
	struct extent e[200];

	srand(1);
	for (int i = 0; i < 200; i++) {
		e[i] = alloc((uint64_t)(rand() % 300000 + 1));
		cr_assert_eq(e[i].offset % 64, 0);
		if (e[i].bytes >= 65536)
			cr_assert_eq(e[i].offset % 4096, 0);
		for (int j = 0; j < i; j++)
			cr_assert(e[i].offset + e[i].bytes <= e[j].offset ||
				  e[j].offset + e[j].bytes <= e[i].offset);
		if (i % 3 == 0) {
			arena_free(a, &e[i]);
			e[i] = (struct extent){0, 0};
		}
	}
}

Test(arena, freed_extent_of_the_same_size_comes_back_first)
{
	struct extent x = alloc(8 * MIB), y;

	arena_free(a, &x);
	y = alloc(8 * MIB - 100);
	cr_assert_eq(x.offset, y.offset);
}

static uint64_t fresh(void)
{
	struct arena_stats stats;

	arena_get_stats(a, &stats);
	return stats.fresh_bytes;
}

Test(arena, what_has_no_memory_yet_is_told)
{
	struct extent x = alloc(8 * MIB), y;
	uint64_t before = fresh();

	cr_assert_eq(before, x.bytes);
	arena_free(a, &x);
	y = alloc(8 * MIB);
	cr_assert_eq(fresh(), before, "what was freed has memory");
	arena_trim(a);
	alloc(8 * MIB);
	cr_assert_eq(fresh(), before + 8 * MIB);
	arena_free(a, &y);
	arena_trim(a);
	uv_run(&loop, UV_RUN_DEFAULT); /* it is punched out */
	x = alloc(8 * MIB);
	cr_assert_eq(x.offset, y.offset);
	cr_assert_eq(fresh(), before + 16 * MIB);
}

Test(arena, what_would_come_with_memory_is_told)
{
	struct extent x = alloc(70 * MIB), y = alloc(3 * MIB), z;

	cr_assert_not(arena_has_warm(a, 70 * MIB));
	arena_free(a, &x);
	cr_assert(arena_has_warm(a, 70 * MIB));
	cr_assert(arena_has_warm(a, 69 * MIB), "of the same class");
	cr_assert_not(arena_has_warm(a, 40 * MIB), "too much would be held");
	cr_assert_not(arena_has_warm(a, 90 * MIB));
	cr_assert_not(arena_has_warm(a, 3 * MIB));
	arena_free(a, &y);
	cr_assert(arena_has_warm(a, 3 * MIB));
	z = alloc(70 * MIB);
	cr_assert_eq(z.offset, x.offset);
	cr_assert_not(arena_has_warm(a, 70 * MIB));
	arena_trim(a);
	uv_run(&loop, UV_RUN_DEFAULT); /* it is punched out */
	cr_assert_not(arena_has_warm(a, 3 * MIB));
}

Test(arena, what_no_job_has_touched_is_fresh_again)
{
	struct arena_stats before, after;
	struct extent x = alloc(8 * MIB), y;
	char *p = mmap(NULL, 1024 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, arena_fd(a), 0);
	unsigned char present = 1;

	arena_get_stats(a, &before);
	p[x.offset] = 1; /* by its client */
	arena_free_fresh(a, &x);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_assert_eq(mincore(p + x.offset, 4096, &present), 0);
	cr_assert_eq(present & 1, 0, "it has memory still");
	arena_get_stats(a, &after);
	cr_assert_eq(after.live_bytes, before.live_bytes - x.bytes);
	cr_assert_eq(after.warm_bytes, 0);
	y = alloc(8 * MIB);
	cr_assert_eq(y.offset, x.offset);
	cr_assert_eq(fresh(), before.fresh_bytes + y.bytes);
	x = alloc(1000);
	before.fresh_bytes = fresh();
	arena_free_fresh(a, &x); /* not worth a system call */
	alloc(1000);
	cr_assert_eq(fresh(), before.fresh_bytes);
	munmap(p, 1024 * MIB);
}

Test(arena, full_arena_is_an_error_and_merging_makes_room)
{
	struct extent e[16], big;

	for (int i = 0; i < 16; i++)
		e[i] = alloc(60 * MIB);
	cr_assert_eq(arena_alloc(a, &big, 512 * MIB, &err), E_NOMEM);
	cr_assert_eq(arena_alloc(a, &big, UINT64_MAX, &err), E_NOMEM);
	for (int i = 0; i < 16; i++)
		arena_free(a, &e[i]);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_assert_eq(arena_alloc(a, &big, 900 * MIB, &err), OK, "%s", err.text);
}

static void on_other(uv_timer_t *t)
{
	(void)t;
}

/* Warm bytes once the arena has given back what it wants to; waits seconds for it. */
static uint64_t warm_when_calm(void)
{
	static uv_timer_t other;
	struct arena_stats stats;

	/* The arena's timer does not keep the loop alive, so that something else must. */
	uv_timer_init(&loop, &other);
	uv_timer_start(&other, on_other, 60000, 0);
	for (int i = 0; i < 500; i++) {
		uv_run(&loop, UV_RUN_NOWAIT);
		arena_get_stats(a, &stats);
		if (stats.warm_bytes <= 256 * MIB)
			break;
		usleep(20000);
	}
	uv_close((uv_handle_t *)&other, NULL);
	return stats.warm_bytes;
}

Test(arena, memory_beyond_the_high_water_mark_is_given_back)
{
	struct extent e[8];
	struct arena_stats stats;
	char *p = mmap(NULL, 1024 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, arena_fd(a), 0);

	cr_assert_neq(p, MAP_FAILED);
	for (int i = 0; i < 8; i++) {
		e[i] = alloc(64 * MIB);
		p[e[i].offset] = 1;
	}
	for (int i = 0; i < 8; i++)
		arena_free(a, &e[i]);
	arena_get_stats(a, &stats);
	cr_assert_eq(stats.live_bytes, 0);
	cr_assert_leq(warm_when_calm(), 256 * MIB);
	munmap(p, 1024 * MIB);
}

Test(arena, what_a_loop_frees_stays_warm_until_it_is_calm)
{
	struct extent held = alloc(512 * MIB), e;
	struct arena_stats stats;

	for (int turn = 0; turn < 3; turn++) {
		e = alloc(400 * MIB);
		arena_get_stats(a, &stats);
		cr_assert_eq(stats.warm_bytes, 0, "it was reused");
		arena_free(a, &e);
		arena_get_stats(a, &stats);
		cr_assert_geq(stats.warm_bytes, 400 * MIB);
	}
	cr_assert_leq(warm_when_calm(), 256 * MIB);
	arena_free(a, &held);
}

/* The program before left extents of other sizes, as many as may be kept; what the loop of
 * now frees is the largest. */
Test(arena, a_loop_keeps_what_it_frees_though_other_sizes_lie_free)
{
	struct extent small[8], e;
	struct arena_stats stats;

	for (int i = 0; i < 8; i++)
		small[i] = alloc(64 * MIB);
	for (int i = 0; i < 8; i++)
		arena_free(a, &small[i]);
	for (int turn = 0; turn < 4; turn++) {
		uint64_t before = 0;

		arena_get_stats(a, &stats);
		before = stats.warm_bytes;
		e = alloc(240 * MIB);
		arena_get_stats(a, &stats);
		if (turn)
			cr_assert_leq(stats.warm_bytes + e.bytes, before,
				      "turn %d took fresh pages", turn);
		arena_free(a, &e);
	}
}

/* Backed bytes of the arena's file. */
static uint64_t backed(void)
{
	struct stat st;

	cr_assert_eq(fstat(arena_fd(a), &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

Test(arena, what_was_merged_is_given_back_too)
{
	char *p = mmap(NULL, 1024 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, arena_fd(a), 0);
	struct extent e[15], big;
	struct arena_stats stats;

	cr_assert_neq(p, MAP_FAILED);
	for (int i = 0; i < 15; i++) {
		e[i] = alloc(64 * MIB);
		memset(p + e[i].offset, 1, 40 * MIB);
	}
	/* Kept warm as after a loop, but for no size that is asked for: the file is used up,
	 * and what is free is merged, more than is kept warm for ever. */
	for (int i = 0; i < 8; i++)
		arena_free(a, &e[i]);
	big = alloc(150 * MIB);
	arena_get_stats(a, &stats);
	cr_assert_leq(stats.warm_bytes, 512 * MIB - big.bytes, "what was taken is free no more");
	for (int i = 8; i < 15; i++)
		arena_free(a, &e[i]);
	arena_free(a, &big);
	arena_get_stats(a, &stats);
	cr_assert_eq(stats.live_bytes, 0);
	cr_assert_leq(stats.warm_bytes, 1024 * MIB);
	cr_assert_leq(warm_when_calm(), 256 * MIB);
	for (int i = 0; i < 500 && backed() > 256 * MIB; i++) {
		uv_run(&loop, UV_RUN_NOWAIT);
		usleep(10000);
	}
	cr_assert_leq(backed(), 256 * MIB);
	munmap(p, 1024 * MIB);
}

Test(arena, warm_bytes_are_counted_through_a_merge)
{
	struct arena_stats stats;
	struct extent e[15], big;

	for (int i = 0; i < 15; i++)
		e[i] = alloc(64 * MIB);
	for (int i = 0; i < 3; i++)
		arena_free(a, &e[i]);
	arena_get_stats(a, &stats);
	cr_assert_eq(stats.warm_bytes, 3 * e[0].bytes);
	big = alloc(150 * MIB);
	arena_get_stats(a, &stats);
	cr_assert_eq(stats.warm_bytes, 3 * e[0].bytes - big.bytes);
	arena_free(a, &big);
	arena_get_stats(a, &stats);
	cr_assert_eq(stats.warm_bytes, 3 * e[0].bytes);
	/* The rest of what was merged is taken: nothing that is free is backed but `big`. */
	e[0] = alloc(3 * e[0].bytes - big.bytes - MIB);
	arena_get_stats(a, &stats);
	cr_assert_leq(stats.warm_bytes, big.bytes + 2 * MIB);
}

/* What was imported is as long as it needs to be, in whole pages, whatever its class. */
Test(arena, the_next_lease_is_what_an_import_of_its_size_left)
{
	const uint64_t bytes = MIB + MIB / 10;
	struct extent lease, first, e;

	for (int turn = 0; turn < 4; turn++) {
		cr_assert_eq(arena_lease(a, &lease, bytes, &err), OK);
		cr_assert_eq(arena_import(a, &e, lease.offset, bytes, &err), OK, "%s", err.text);
		if (lease.bytes > e.bytes)
			cr_assert_eq(arena_unlease(a, lease.offset + e.bytes, lease.bytes - e.bytes,
						   &err),
				     OK, "%s", err.text);
		if (!turn)
			first = e;
		cr_assert_eq(e.offset, first.offset, "turn %d took fresh pages", turn);
		arena_free(a, &e);
	}
	e = alloc(bytes);
	cr_assert_eq(e.offset, first.offset, "an array's storage, too");
}

Test(arena, import_takes_leased_bytes_once)
{
	struct extent lease, e;

	cr_assert_eq(arena_lease(a, &lease, MIB, &err), OK);
	cr_assert_eq(arena_import(a, &e, lease.offset, 100, &err), OK, "%s", err.text);
	cr_assert_eq(e.bytes, 128);
	cr_assert_eq(arena_import(a, &e, lease.offset, 100, &err), E_PROTOCOL);
	cr_assert_eq(arena_import(a, &e, lease.offset + 64, 64, &err), E_PROTOCOL);
	cr_assert_eq(arena_import(a, &e, lease.offset + 128, 64, &err), OK);
	cr_assert_eq(arena_import(a, &e, lease.offset + 1, 64, &err), E_PROTOCOL);
	cr_assert_eq(arena_import(a, &e, UINT64_MAX - 63, 64, &err), E_PROTOCOL);
	cr_assert_eq(arena_import(a, &e, lease.offset + 192, UINT64_MAX, &err), E_PROTOCOL);
}

Test(arena, a_lease_in_too_many_pieces_is_refused)
{
	struct extent lease, e;
	enum status st = OK;
	uint64_t i;

	cr_assert_eq(arena_lease(a, &lease, MIB, &err), OK);
	for (i = 1; !st; i++)
		st = arena_import(a, &e, lease.offset + 128 * i, 64, &err);
	cr_assert_eq(st, E_LIMIT);
	cr_assert_eq(i, LIMIT_LEASES + 1);
}

Test(arena, what_a_large_import_skipped_is_free_again)
{
	struct arena_stats before, after;
	struct extent lease, e;

	cr_assert_eq(arena_lease(a, &lease, MIB, &err), OK);
	arena_get_stats(a, &before);
	cr_assert_eq(arena_import(a, &e, lease.offset, 64, &err), OK);
	cr_assert_eq(arena_import(a, &e, lease.offset + 4096, 100000, &err), OK);
	cr_assert_eq(e.bytes, 102400, "whole pages");
	arena_get_stats(a, &after);
	cr_assert_eq(after.live_bytes, before.live_bytes - 4032);
	cr_assert_eq(after.leased_bytes, before.leased_bytes - 4096 - 102400);
	cr_assert_eq(arena_import(a, &e, lease.offset + 64, 64, &err), E_PROTOCOL);
}

Test(arena, what_lies_before_an_import_from_the_middle_stays_leased)
{
	struct arena_stats before, after;
	struct extent lease, e;

	cr_assert_eq(arena_lease(a, &lease, MIB, &err), OK);
	arena_get_stats(a, &before);
	cr_assert_eq(arena_import(a, &e, lease.offset + 65536, 100000, &err), OK);
	arena_get_stats(a, &after);
	cr_assert_eq(after.live_bytes, before.live_bytes);
	cr_assert_eq(after.leased_bytes, before.leased_bytes - e.bytes);
	cr_assert_eq(arena_import(a, &e, lease.offset, 65536, &err), OK, "%s", err.text);
}

Test(arena, unlease_gives_back_only_what_is_leased)
{
	struct extent lease;
	struct arena_stats stats;

	cr_assert_eq(arena_lease(a, &lease, MIB, &err), OK);
	cr_assert_eq(arena_unlease(a, lease.offset + 4096, lease.bytes, &err), E_PROTOCOL);
	cr_assert_eq(arena_unlease(a, lease.offset, lease.bytes, &err), OK, "%s", err.text);
	cr_assert_eq(arena_unlease(a, lease.offset, lease.bytes, &err), E_PROTOCOL);
	arena_get_stats(a, &stats);
	cr_assert_eq(stats.live_bytes, 0);
	cr_assert_eq(stats.leased_bytes, 0);
}

/* ---- those who hold pages that are to be given back ---- */

static void *asked[64];
static uint32_t nasked, holders;

static uint32_t ask(void *data, const struct extent *e, void *punch)
{
	cr_assert_eq(data, a);
	cr_assert_geq(e->bytes, 65536);
	cr_assert_lt(nasked, 64);
	asked[nasked++] = punch;
	return holders;
}

/* Sixteen extents of 64 MiB with a touched page each, freed; so many are asked for. */
static blkcnt_t free_all(struct extent e[16])
{
	struct stat st;
	char *p = mmap(NULL, 1024 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, arena_fd(a), 0);

	cr_assert_neq(p, MAP_FAILED);
	arena_on_punch(a, ask, a);
	for (int i = 0; i < 16; i++) {
		e[i] = alloc(64 * MIB - 4096);
		p[e[i].offset] = 1;
	}
	munmap(p, 1024 * MIB);
	for (int i = 0; i < 16; i++)
		arena_free(a, &e[i]);
	cr_assert_leq(warm_when_calm(), 256 * MIB);
	cr_assert_gt(nasked, 0);
	usleep(50000);
	uv_run(&loop, UV_RUN_NOWAIT);
	fstat(arena_fd(a), &st);
	return st.st_blocks;
}

Test(arena, nothing_is_punched_before_all_have_let_go)
{
	struct extent e[16], again;
	struct stat st;
	blkcnt_t before;

	holders = 2;
	before = free_all(e);
	cr_assert_eq(before, 16 * 8, "pages have gone: %ld blocks", (long)before);
	/* Nobody gets the range meanwhile. */
	for (uint32_t i = 0; i < 16 - nasked; i++)
		alloc(64 * MIB - 4096);
	cr_assert_eq(arena_alloc(a, &again, 64 * MIB - 4096, &err), E_NOMEM);
	for (uint32_t i = 0; i < nasked; i++)
		arena_released(asked[i]);
	usleep(20000);
	uv_run(&loop, UV_RUN_DEFAULT);
	fstat(arena_fd(a), &st);
	cr_assert_eq(st.st_blocks, before, "one of two has let go");
	for (uint32_t i = 0; i < nasked; i++)
		arena_released(asked[i]);
	uv_run(&loop, UV_RUN_DEFAULT);
	fstat(arena_fd(a), &st);
	cr_assert_eq(st.st_blocks, before - 8 * (blkcnt_t)nasked);
	alloc(64 * MIB - 4096);
}

Test(arena, who_holds_nothing_lets_it_go_at_once)
{
	struct extent e[16];

	holders = 0;
	cr_assert_leq(free_all(e), 16 * 8 - 8 * (blkcnt_t)nasked);
}

/* The connection ends while a holder has not answered: the arena goes when it has. */
Test(arena, its_end_waits_for_the_holders)
{
	struct extent e[16];
	int fd = -1;

	holders = 1;
	free_all(e);
	fd = arena_fd(a);
	arena_destroy(a);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_assert_neq(fcntl(fd, F_GETFD), -1, "its pages are held");
	for (uint32_t i = 0; i < nasked; i++)
		arena_released(asked[i]);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_assert_eq(fcntl(fd, F_GETFD), -1);
	cr_assert_eq(arena_create(&a, &loop, 1024 * MIB, &err), OK); /* for the end of the test */
}
