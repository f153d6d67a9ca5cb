/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_geometry.c: the model, the candidates, and bounds that nothing passes. */
#include <criterion/criterion.h>
#include <string.h>

#include "cuda/cuda_geometry.h"

#define UNITS 132

static const struct cuda_limits hopper = {2048, 65536, 233472, 32};

static struct cuda_facts facts(uint32_t registers, uint32_t shared, uint32_t most)
{
	struct cuda_facts f = {
		.units = UNITS, .registers = registers, .shared = shared, .most_threads = most};

	cuda_geometry_resident(&f, &hopper);
	return f;
}

static struct cuda_launch points(int64_t work, uint64_t bytes)
{
	return (struct cuda_launch){
		.kind = LAUNCH_POINTS, .hi = work, .work = work, .bytes = bytes, .team = 1};
}

static struct cuda_launch tasks(int64_t work, uint16_t least, uint16_t most, uint32_t team)
{
	return (struct cuda_launch){.kind = LAUNCH_TASKS,
				    .work = work,
				    .bytes = (uint64_t)work * 65536,
				    .least = least,
				    .most = most,
				    .team = team};
}

Test(cuda_geometry, what_a_multiprocessor_holds_is_bounded_by_all_that_it_has)
{
	struct cuda_facts f = facts(32, 0, 256);

	cr_assert_eq(f.resident[0], 32);
	cr_assert_eq(f.resident[2], 8);
	f = facts(84, 0, 256); /* 88 are given: 65536 / (88 * 256) */
	cr_assert_eq(f.resident[2], 2);
	cr_assert_eq(f.resident[1], 5);
	f = facts(32, 48 << 10, 256);
	cr_assert_eq(f.resident[2], 4);
	f = facts(32, 0, 128);
	cr_assert_eq(f.resident[2], 0, "more threads than the entry has");
	f = facts(255, 0, 256);
	cr_assert_eq(f.resident[2], 1);
	/* Nothing is known: as many as a GPU holds of a kernel of few needs. */
	f = (struct cuda_facts){.most_threads = 256};
	cuda_geometry_resident(&f, &(struct cuda_limits){0});
	cr_assert_eq(f.resident[2], 8);
	cr_assert_eq(f.resident[0], 16);
}

Test(cuda_geometry, the_model_fills_the_gpu_once_and_more_often_where_there_is_much_to_move)
{
	struct cuda_facts f = facts(32, 0, 256);
	struct cuda_launch l = points(1 << 20, 12 << 20);
	struct cuda_shape s;

	cuda_geometry_model(&s, &l, &f);
	cr_assert_eq(s.threads, 256);
	cr_assert_eq(s.blocks, 8);
	l = points(1 << 26, 3ull << 27);
	cuda_geometry_model(&s, &l, &f);
	cr_assert_eq(s.blocks, 8 * 11, "as many waves as leave each thread 128 bytes");
	cuda_geometry_apply(&l, &s, &f);
	cr_assert_eq(l.grid, 8 * 11 * UNITS);
	l = points(1ll << 32, 3ull << 34);
	cuda_geometry_model(&s, &l, &f);
	cr_assert_eq(s.blocks, 8 * 64, "at most so many");
	l = tasks(1 << 20, 1, 8, 8);
	l.bytes = 3ull << 34;
	cuda_geometry_model(&s, &l, &f);
	cr_assert_eq(s.blocks, 8, "once: tasks are long");
}

Test(cuda_geometry, the_model_takes_the_size_of_which_most_threads_fit)
{
	struct cuda_facts f = facts(84, 0, 256);
	struct cuda_launch l = points(1 << 24, 1 << 27);
	struct cuda_shape s;

	/* Two blocks of 256, five of 128, eleven of 64. */
	cuda_geometry_model(&s, &l, &f);
	cr_assert_eq(s.threads, 64);
	f.resident[0] = 10;
	cuda_geometry_model(&s, &l, &f);
	cr_assert_eq(s.threads, 128, "the larger of equals");
}

Test(cuda_geometry, little_work_is_spread_over_the_multiprocessors)
{
	struct cuda_facts f = facts(32, 0, 256);
	struct cuda_launch l = points(128 * UNITS, 1 << 20);
	struct cuda_shape s;

	cuda_geometry_model(&s, &l, &f);
	cr_assert_eq(s.threads, 128);
	l = points(100, 800);
	cuda_geometry_model(&s, &l, &f);
	cr_assert_eq(s.threads, 64, "not below two warps");
	cuda_geometry_apply(&l, &s, &f);
	cr_assert_eq(l.grid, 2);
	l = tasks(10, 4, 8, 8);
	cuda_geometry_model(&s, &l, &f);
	cr_assert_eq(s.threads, 256, "a team stays in its block");
	cr_assert_eq(s.team, 8);
}

Test(cuda_geometry, chunks_are_combined_by_as_many_warps_as_have_some)
{
	struct cuda_facts f = facts(40, 0, 256);
	struct cuda_launch l = {.kind = LAUNCH_ROWS, .work = 7, .most = 1};
	struct cuda_shape s, all[CUDA_CANDIDATES];

	cuda_geometry_model(&s, &l, &f);
	cr_assert_eq(s.threads, 64);
	l.most = 8;
	cuda_geometry_model(&s, &l, &f);
	cr_assert_eq(s.threads, 256);
	cr_assert_eq(cuda_geometry_candidates(all, &l, &f), 1, "there is nothing to try");
}

/* What any shape becomes on any launch. */
static void bounds(struct cuda_launch l, const struct cuda_shape *s, const struct cuda_facts *f)
{
	uint32_t team = l.team;

	cuda_geometry_apply(&l, s, f);
	cr_assert_geq(l.threads, 32);
	cr_assert_leq(l.threads, CUDA_THREADS);
	cr_assert(!f->most_threads || l.threads <= f->most_threads);
	cr_assert_eq(l.threads & (l.threads - 1), 0);
	cr_assert_geq(l.grid, 1);
	cr_assert_leq(l.grid, INT32_MAX);
	if (l.kind == LAUNCH_POINTS)
		cr_assert_lt((uint64_t)(l.grid - 1) * (uint64_t)l.threads,
			     (uint64_t)(l.work ? l.work : 1));
	if (l.kind == LAUNCH_TASKS) {
		cr_assert_geq(l.team, l.least);
		cr_assert_leq(l.team, l.most);
		cr_assert_eq(l.team & (l.team - 1), 0);
		cr_assert_leq(l.team * 32, l.threads);
	} else {
		cr_assert_eq(l.team, team ? team : l.team);
	}
}

Test(cuda_geometry, no_shape_passes_the_bounds_of_entry_and_work)
{
	static const uint16_t threads[] = {0, 1, 31, 33, 96, 255, 256, 1024, UINT16_MAX};
	static const uint32_t blocks[] = {0, 1, 7, 1 << 20, UINT32_MAX};
	static const int64_t work[] = {0, 1, 63, 1000, 1ll << 40, INT64_MAX / 16};
	struct cuda_facts known = facts(40, 0, 256), few = facts(40, 0, 128), none = {0};

	for (unsigned t = 0; t < 9; t++)
		for (unsigned b = 0; b < 5; b++)
			for (unsigned w = 0; w < 6; w++)
				for (uint16_t team = 0; team < 40; team += 3) {
					struct cuda_shape s = {threads[t], team, blocks[b]};

					bounds(points(work[w], 1), &s, &known);
					bounds(points(work[w], 1), &s, &few);
					bounds(points(work[w], 1), &s, &none);
					bounds(tasks(work[w], 1, 8, 4), &s, &known);
					bounds(tasks(work[w], 8, 8, 8), &s, &known);
					bounds(tasks(work[w], 1, 1, 1), &s, &known);
					bounds(tasks(work[w], 2, 4, 4), &s, &few);
				}
}

static void candidates(struct cuda_launch l, const struct cuda_facts *f, unsigned least)
{
	struct cuda_shape s[CUDA_CANDIDATES], model;
	struct cuda_launch made[CUDA_CANDIDATES];
	unsigned n = cuda_geometry_candidates(s, &l, f);

	cr_assert_geq(n, least);
	cr_assert_leq(n, CUDA_CANDIDATES);
	cuda_geometry_model(&model, &l, f);
	cr_assert_eq(memcmp(&s[0], &model, sizeof model), 0, "the model's comes first");
	for (unsigned i = 0; i < n; i++) {
		bounds(l, &s[i], f);
		made[i] = l;
		cuda_geometry_apply(&made[i], &s[i], f);
		for (unsigned k = 0; k < i; k++)
			cr_assert(made[i].grid != made[k].grid ||
					  made[i].threads != made[k].threads ||
					  made[i].team != made[k].team,
				  "%u and %u are the same", i, k);
	}
}

Test(cuda_geometry, candidates_differ_and_keep_the_bounds)
{
	struct cuda_facts f = facts(32, 0, 256), few = facts(32, 0, 128), many = facts(200, 0, 256);

	candidates(points(1 << 28, 1ull << 32), &f, 12);
	candidates(points(1 << 28, 1ull << 32), &few, 8);
	candidates(points(1 << 28, 1ull << 32), &many, 9);
	candidates(points(1000, 8000), &f, 3);
	candidates(points(1, 8), &f, 1);
	candidates(tasks(100000, 1, 8, 1), &f, 10);
	candidates(tasks(100000, 8, 8, 8), &f, 2);
	candidates(tasks(100000, 8, 8, 8), &many, 1);
	candidates(tasks(3, 1, 1, 1), &f, 1);
}

Test(cuda_geometry, classes_hold_sizes_within_a_factor_of_four)
{
	struct cuda_launch l = points(1, 0);
	uint64_t least, most;

	for (uint64_t bytes = 0; bytes < 1ull << 60; bytes = bytes * 3 / 2 + 1) {
		l.bytes = bytes;
		cuda_geometry_bytes(cuda_geometry_class(&l), &least, &most);
		cr_assert_leq(least, bytes);
		cr_assert_leq(bytes, most);
		cr_assert(!least || most / least < 4);
	}
	l = tasks(10, 1, 8, 8);
	least = cuda_geometry_class(&l);
	l.work = 100000;
	cr_assert_neq(cuda_geometry_class(&l), least, "few long rows, many short ones");
}
