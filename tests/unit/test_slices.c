/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a step goes into a packet. */
#define _GNU_SOURCE
#include "executor_fixture.h"

#include "call/product.h"

/* A second client comes: from now on the first one's packets are short, and none waits
 * behind the one that runs. */
Test(slices, are_small_and_one_at_a_time_while_clients_share_the_cpu, .timeout = 120)
{
	struct bench b;
	struct work *big = work_create(1), *small = work_create(2);
	enum { N = 2000000 };
	uint32_t seen = 0;

	bench_open(&b);
	cr_assert_not(schedule_shared(b.x));
	work_step(big, &b.kernel[SLOW], N, 0, N * 8, 1, 2000000);
	executor_submit(b.x, &big->job);
	while (stats(&b).slices < 4)
		uv_run(&b.loop, UV_RUN_ONCE);
	cr_assert_not(schedule_shared(b.x), "alone");
	work_step(small, &b.kernel[ADD], 100, N * 16, N * 16 + 800, 3, 1);
	executor_submit(b.x, &small->job);
	cr_assert(schedule_shared(b.x));
	wait_end(&b, small);
	while (!big->ended && seen < 5) {
		uint64_t slices = stats(&b).slices;
		bool shared = schedule_shared(b.x) && b.x->nflight <= 1;

		uv_run(&b.loop, UV_RUN_ONCE);
		if (!shared || !schedule_shared(b.x) || stats(&b).slices == slices)
			continue;
		cr_assert_eq(b.x->nflight, 1);
		cr_assert_leq(b.x->flight[0].cost_us, SHARED_SLICE_US);
		seen++;
	}
	executor_cancel(b.x, &big->job);
	wait_end(&b, big);
	free(big);
	free(small);
	bench_close(&b);
}

#define POINTS (4 << 20) /* of 8 bytes: a half of the region */

static struct slice chosen(const struct bench *b, struct work *w, const struct flight *f)
{
	struct slice c = {0};

	cr_assert(slice_choose(&c, b->x, &w->job, f));
	return c;
}

/* A step whose kernel is known to take no time, from the region's first half to its second. */
static struct work *quick_work(struct bench *b, uint8_t *fresh)
{
	struct work *w = work_create(1);

	work_step(w, &b->kernel[ADD], POINTS, 0, POINTS * 8, 3, 1);
	w->slot[0].bytes = w->slot[1].bytes = POINTS * 8;
	w->job.fresh = fresh;
	b->x->fresh_most = RUN_FRESH_BYTES;
	b->kernel[ADD].nrate = 1;
	b->kernel[ADD].rate[0] = (struct kernel_rate){.runs = 1, .elements = POINTS, .ns = 1000};
	return w;
}

/* What was measured of a kernel tells nothing of pages that the system must find first. */
Test(slices, touch_so_much_new_memory_and_no_more, .timeout = 60)
{
	uint8_t fresh[4] = {0, 1};
	struct flight none = {0}, some = {.nstep = 1, .fresh = RUN_FRESH_BYTES - 4096};
	struct bench b;
	struct work *w = NULL;
	struct slice c;

	bench_open(&b);
	w = quick_work(&b, NULL);
	c = chosen(&b, w, &none);
	cr_assert(c.last, "nothing is known of its memory");
	w->job.fresh = fresh;
	c = chosen(&b, w, &none);
	cr_assert_eq(c.hi, RUN_FRESH_BYTES / 8);
	cr_assert_eq(c.fresh, RUN_FRESH_BYTES);
	cr_assert_not(slice_choose(&c, b.x, &w->job, &some), "others of the packet count");
	b.x->shared_until_ns = INT64_MAX;
	c = chosen(&b, w, &none);
	cr_assert_eq(c.hi, SHARED_FRESH_BYTES / 8);
	w->job.at = POINTS - 1000; /* and the rest of a step has the rest of its bytes */
	c = chosen(&b, w, &none);
	cr_assert(c.last);
	cr_assert_eq(c.fresh, 8000);
	w->job.at = 0;
	slice_touched(&w->job);
	cr_assert_eq(fresh[1], 0);
	some.fresh = 0;
	c = chosen(&b, w, &some);
	cr_assert(c.last, "it is like any other now");
	free(w);
	bench_close(&b);
}

/* Few points touch few pages, however large the array is that they lie in. */
Test(slices, of_few_points_touch_few_pages, .timeout = 60)
{
	uint8_t fresh[4] = {0, 1};
	struct flight none = {0}, full = {.nstep = 1, .fresh = RUN_FRESH_BYTES};
	struct bench b;
	struct work *w = NULL;
	struct slice c;

	bench_open(&b);
	w = quick_work(&b, fresh);
	w->nest[0].extent[0] = 100;
	c = chosen(&b, w, &none);
	cr_assert(c.last);
	cr_assert_eq(c.fresh, 100 * 4096);
	cr_assert_not(slice_choose(&c, b.x, &w->job, &full));
	free(w);
	bench_close(&b);
}

Test(slices, of_a_loop_are_as_many_turns_as_touch_no_more_than_that, .timeout = 60)
{
	uint8_t fresh[4] = {0, 1, 0, 1};
	struct bench b;
	struct work *w = NULL;

	bench_open(&b);
	w = quick_work(&b, fresh);
	cr_assert_eq(slice_fresh_turns(b.x, &w->job, 2), 0);
	w->slot[1].bytes = RUN_FRESH_BYTES;
	cr_assert_eq(slice_fresh_turns(b.x, &w->job, 2), 1);
	w->job.turn = 1;
	cr_assert_eq(slice_fresh_turns(b.x, &w->job, 1), 1);
	w->job.turn = fresh[1] = 0;
	cr_assert_eq(slice_fresh_turns(b.x, &w->job, 2), 2);
	w->job.fresh = NULL;
	w->slot[1].bytes = UINT64_MAX;
	cr_assert_eq(slice_fresh_turns(b.x, &w->job, 2), 2);
	free(w);
	bench_close(&b);
}

static uint32_t run_through(struct bench *b, struct work *w)
{
	uint64_t before = stats(b).slices;

	executor_submit(b->x, &w->job);
	wait_end(b, w);
	cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
	return (uint32_t)(stats(b).slices - before);
}

/* Packets that took longer than a slice make the next ones smaller, others larger again. */
Test(slices, of_memory_that_comes_slowly_are_small, .timeout = 60)
{
	struct flight f = {.fresh = RUN_FRESH_BYTES};
	struct bench b;

	bench_open(&b);
	cr_assert_eq(slice_fresh_most(b.x), SHARED_FRESH_BYTES, "nothing is known yet");
	slice_fresh_note(b.x, &(struct flight){0}, 1);
	slice_fresh_note(b.x, &(struct flight){0}, 1000000000);
	slice_fresh_note(b.x, &(struct flight){.fresh = 4096}, 1000000000);
	cr_assert_eq(slice_fresh_most(b.x), SHARED_FRESH_BYTES, "that was no memory");
	for (uint64_t most = SHARED_FRESH_BYTES; most < RUN_FRESH_BYTES; most *= 2) {
		cr_assert_eq(slice_fresh_most(b.x), most);
		f.fresh = most;
		slice_fresh_note(b.x, &f, 1000);
	}
	f.fresh = RUN_FRESH_BYTES;
	slice_fresh_note(b.x, &f, 1000);
	cr_assert_eq(slice_fresh_most(b.x), RUN_FRESH_BYTES);
	slice_fresh_note(b.x, &f, 8 * RUN_SLICE_US * 1000ull);
	cr_assert_float_eq((double)slice_fresh_most(b.x), RUN_FRESH_BYTES / 8.0, 1);
	b.x->shared_until_ns = INT64_MAX;
	slice_fresh_note(b.x, &f, 1000000000000);
	cr_assert_eq(slice_fresh_most(b.x), 65536, "so much may always be touched");
	f.fresh = 65536;
	slice_fresh_note(b.x, &f, 1000);
	cr_assert_eq(slice_fresh_most(b.x), 2 * 65536);
	bench_close(&b);
}

Test(slices, of_new_memory_have_the_values_of_the_whole, .timeout = 60)
{
	uint8_t fresh[4] = {0, 1};
	struct bench b;
	struct work *w = NULL;

	bench_open(&b);
	w = quick_work(&b, fresh);
	w->step[0].shape = b.kernel[ADD].rate[0].shape;
	cr_assert_geq(run_through(&b, w), POINTS * 8 / RUN_FRESH_BYTES);
	expect_values(&b, POINTS * 8, POINTS, 3);
	cr_assert_eq(fresh[1], 0);
	free(w);
	bench_close(&b);
}

/* Copies go to memory that was taken for them. */
Test(slices, of_a_copy_are_parts_of_it, .timeout = 60)
{
	struct executor_copy copy[2] = {{.from = {.region = 1},
					 .to = {.region = 1, .offset = 32 << 20},
					 .bytes = RUN_FRESH_BYTES + 4096},
					{.from = {.region = 1, .offset = 8},
					 .to = {.region = 1, .offset = 60 << 20},
					 .bytes = 800}};
	struct bench b;
	struct work *w = work_create(1);

	bench_open(&b);
	for (int64_t i = 0; i < (RUN_FRESH_BYTES + 4096) / 8; i++)
		((int64_t *)b.mem)[i] = i;
	b.x->fresh_most = RUN_FRESH_BYTES;
	w->job.copy = copy;
	w->job.nbefore = 2;
	cr_assert_eq(run_through(&b, w), 2);
	cr_assert_arr_eq(b.mem, b.mem + (32 << 20), RUN_FRESH_BYTES + 4096);
	cr_assert_arr_eq(b.mem + 8, b.mem + (60 << 20), 800);
	free(w);
	bench_close(&b);
}

/* As many chunks as threads: fewer would leave some without work. */
Test(slices, have_a_chunk_for_each_thread, .timeout = 60)
{
	struct flight none = {0};
	struct bench b;
	struct work *w = work_create(1);
	struct slice c;

	bench_open(&b);
	work_sum(w, &b.kernel[SUM], 1, 7 * TREE_CHUNK, 0, 60 << 20, 7 * RUN_SLICE_US);
	w->job.pace_elements = TREE_CHUNK; /* a chunk takes just more than a slice */
	w->job.pace_most = TREE_CHUNK;
	w->job.pace_ns = RUN_SLICE_US * 1100;
	b.x->units = 0;
	c = chosen(&b, w, &none);
	cr_assert_eq(c.hi, 1);
	b.x->units = 4;
	c = chosen(&b, w, &none);
	cr_assert_eq(c.lo, 0);
	cr_assert_eq(c.hi, 4);
	cr_assert_eq(c.elements, 4 * TREE_CHUNK);
	w->job.at = -4;
	c = chosen(&b, w, &none);
	cr_assert_eq(c.hi, 7);
	cr_assert(c.last);
	w->job.at = 0;
	w->job.pace_most = 4 * TREE_CHUNK;
	c = chosen(&b, w, &none);
	cr_assert_eq(c.hi, 1, "four were seen to take more than four slices");
	w->job.pace_ns = RUN_SLICE_US * 900;
	c = chosen(&b, w, &none);
	cr_assert_eq(c.hi, 4);
	w->job.pace_ns = RUN_SLICE_US * 180;
	c = chosen(&b, w, &none);
	cr_assert(c.last && !c.split, "five would fit, and the sixth has company");
	free(w);
	bench_close(&b);
}

/* A product's tiles of more than half a slice each, likewise. */
Test(slices, of_a_call_have_a_unit_for_each_thread, .timeout = 60)
{
	enum { SIDE = 2000, EACH = 500000000 };	     /* 16 tiles, of so many multiplications */
	const struct product p = {.dtype = DT_INT64, /* whose tiles are never wide */
				  .m = SIDE,
				  .n = SIDE,
				  .k = SIDE,
				  .row = {SIDE * 8, SIDE * 8, SIDE * 8},
				  .col = {8, 8, 8}};
	struct plan_call call = {0};
	struct flight none = {0};
	struct bench b;
	struct work *w = work_create(1);
	struct slice c;

	bench_open(&b);
	product_call(&call, &p);
	work_step(w, &b.kernel[ADD], 1, 0, 8, 1, 1);
	w->step[0] = (struct plan_step){
		.kind = STEP_CALL, .cost_us = 1000000, .call = &call, .kernel = {&b.kernel[ADD]}};
	w->job.pace_elements = w->job.pace_most = EACH;
	w->job.pace_ns = RUN_SLICE_US * 600;
	b.x->units = 0;
	c = chosen(&b, w, &none);
	cr_assert_eq(c.hi, 1);
	b.x->units = 4;
	c = chosen(&b, w, &none);
	cr_assert_eq(c.hi, 4);
	w->job.pace_elements = w->job.pace_most = 4L * EACH;
	w->job.pace_ns = 4L * RUN_SLICE_US * 1100;
	c = chosen(&b, w, &none);
	cr_assert_eq(c.hi, 1, "four were seen to take as long as one after the other");
	w->job.pace_ns = RUN_SLICE_US * 600;
	c = chosen(&b, w, &none);
	cr_assert_eq(c.hi, 8, "%lld", (long long)c.hi);
	free(w);
	bench_close(&b);
}
