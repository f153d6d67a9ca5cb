/* SPDX-License-Identifier: Apache-2.0 */
/* The executor at work: order, slices, cancels, regions. */
#define _GNU_SOURCE
#include "executor_fixture.h"
#include "product_step.h"

Test(executor, runs_steps_in_order_and_fetches, .timeout = 20)
{
	struct bench b;
	struct work *w = work_create(1);
	int64_t got = 0;

	bench_open(&b);
	work_step(w, &b.kernel[ADD], 1000, 0, 8000, 5, 1);
	work_step(w, &b.kernel[ADD], 1000, 8000, 16000, 7, 1);
	w->fetch[0] = (struct command_fetch){.place = {.region = 1, .offset = 16008}, .bytes = 8};
	w->job.fetch = w->fetch;
	w->job.nfetch = 1;
	executor_submit(b.x, &w->job);
	cr_assert_not(w->ended, "done was called from inside submit");
	wait_end(&b, w);
	cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
	expect_values(&b, 16000, 1000, 12);
	memcpy(&got, w->job.fetched[0], 8);
	cr_assert_eq(got, 12);
	cr_assert_eq(stats(&b).slices, 1, "a small plan is one packet");
	cr_assert_eq(stats(&b).steps, 2);
	cr_assert_eq(stats(&b).runs, 1);
	free(w);
	bench_close(&b);
}

Test(executor, plans_of_one_client_run_in_order, .timeout = 30)
{
	enum { N = 500 };
	struct bench b;
	struct work *w[N];

	bench_open(&b);
	for (int i = 0; i < N; i++) {
		/* x = x + 1 and y = x: any other order gives other values. */
		w[i] = work_create((uint64_t)(1 + i % 2));
		work_step(w[i], &b.kernel[ADD], 100, i % 2 ? 8192 : 0, i % 2 ? 8192 : 0, i / 2, 1);
		executor_submit(b.x, &w[i]->job);
	}
	for (int i = 0; i < N; i++) {
		wait_end(&b, w[i]);
		cr_assert_eq(w[i]->end, JOB_DONE, "%s", w[i]->err.text);
		cr_assert(i < 2 || w[i]->ended_ns >= w[i - 2]->ended_ns);
	}
	expect_values(&b, 0, 100, 249 * 250 / 2);
	expect_values(&b, 8192, 100, 249 * 250 / 2);
	for (int i = 0; i < N; i++)
		free(w[i]);
	bench_close(&b);
}

Test(executor, long_job_does_not_hold_up_a_short_one, .timeout = 30)
{
	struct bench b;
	struct work *big = work_create(1), *small = work_create(2);
	enum { N = 600000 };
	uint64_t slices = 0;

	bench_open(&b);
	work_step(big, &b.kernel[SLOW], N, 0, N * 8, 1, N);
	executor_submit(b.x, &big->job);
	wait_begun(&b, big);
	work_step(small, &b.kernel[ADD], 1000, N * 16, N * 16 + 8000, 3, 1000);
	executor_submit(b.x, &small->job);
	slices = stats(&b).slices;
	wait_end(&b, small);
	/* Two that were with the worker, one each of the next turn. */
	cr_assert_leq(stats(&b).slices - slices, 4);
	cr_assert_not(big->ended);
	wait_end(&b, big);
	cr_assert_eq(big->end, JOB_DONE, "%s", big->err.text);
	expect_values(&b, N * 8, N, 1);
	cr_assert_gt(stats(&b).slices, 10);
	free(big);
	free(small);
	bench_close(&b);
}

Test(executor, cancel_acts_inside_a_step, .timeout = 30)
{
	struct bench b;
	struct work *w = work_create(1), *next = work_create(1);
	enum { N = 3000000 };
	int64_t last = 0;

	bench_open(&b);
	/* Predicted as nothing: it goes as one slice, only its cancel word stops it. */
	work_step(w, &b.kernel[SLOW], N, 0, N * 8, 1, 1);
	executor_submit(b.x, &w->job);
	wait_begun(&b, w);
	executor_cancel(b.x, &w->job);
	executor_cancel(b.x, &w->job);
	cr_assert_not(w->ended, "done was called from inside cancel");
	wait_end(&b, w);
	memcpy(&last, b.mem + N * 16 - 8, 8);
	cr_assert_eq(last, 0, "it ran to its end");
	cr_assert_eq(w->end, JOB_CANCELLED);
	cr_assert_not(w->job.torn);
	cr_assert_eq(w->calls, 1);
	work_step(next, &b.kernel[ADD], 10, 0, 800, 4, 1);
	executor_submit(b.x, &next->job);
	wait_end(&b, next);
	cr_assert_eq(next->end, JOB_DONE, "%s", next->err.text);
	cr_assert_eq(stats(&b).deaths, 0);
	free(w);
	free(next);
	bench_close(&b);
}

Test(executor, cancel_acts_between_slices_and_in_the_queue, .timeout = 30)
{
	struct bench b;
	struct work *w = work_create(1), *waiting = work_create(1);
	enum { N = 1000000 };
	int64_t last = 0;

	bench_open(&b);
	work_step(w, &b.kernel[SLOW], N, 0, N * 8, 1, 1000000);
	work_step(waiting, &b.kernel[ADD], 10, 0, N * 16, 1, 1);
	executor_submit(b.x, &w->job);
	executor_submit(b.x, &waiting->job);
	wait_begun(&b, w);
	executor_cancel(b.x, &waiting->job);
	wait_end(&b, waiting);
	cr_assert_eq(waiting->end, JOB_CANCELLED);
	executor_cancel(b.x, &w->job);
	wait_end(&b, w);
	cr_assert_eq(w->end, JOB_CANCELLED);
	memcpy(&last, b.mem + N * 16 - 8, 8);
	cr_assert_eq(last, 0, "it ran to its end");
	expect_values(&b, N * 16, 10, 0);
	free(w);
	free(waiting);
	bench_close(&b);
}

Test(executor, cancel_does_not_tear_an_in_place_step, .timeout = 30)
{
	struct bench b;
	struct work *w = work_create(1);
	enum { N = 200000 };

	bench_open(&b);
	work_step(w, &b.kernel[SLOW], N, 0, 0, 1, 200000);
	executor_submit(b.x, &w->job);
	wait_begun(&b, w);
	executor_cancel(b.x, &w->job);
	wait_end(&b, w);
	cr_assert_eq(w->end, JOB_DONE, "it may only end as a whole");
	expect_values(&b, 0, N, 1);
	free(w);
	bench_close(&b);
}

/* Both packets are sent: what overwrites must find what it was made of. */
Test(executor, cancel_spares_what_a_step_in_place_behind_it_reads, .timeout = 30)
{
	struct bench b;
	struct work *w = work_create(1), *behind = work_create(1);
	enum { N = 200000 };

	bench_open(&b);
	work_step(w, &b.kernel[SLOW], N, 0, N * 8, 1, 1);
	work_step(behind, &b.kernel[ADD], N, N * 8, N * 8, 1, 1);
	executor_submit(b.x, &w->job);
	executor_submit(b.x, &behind->job);
	wait_begun(&b, w);
	cr_assert_eq(stats(&b).in_flight, 2);
	executor_cancel(b.x, &w->job);
	wait_end(&b, behind);
	cr_assert_eq(w->end, JOB_DONE);
	cr_assert_eq(behind->end, JOB_DONE);
	free(w);
	free(behind);
	bench_close(&b);
}

Test(executor, sliced_reduction_has_the_bits_of_the_whole, .timeout = 30)
{
	struct bench b;
	/* Prediction 0: one packet.  3 s: many slices, cut by chunks. */
	static const uint32_t cost[] = {0, 3000000, 200000};
	enum { N = 1200000, ROWS = 2 };
	uint64_t bits[3][ROWS];

	learning = false;
	bench_open(&b);
	for (int64_t i = 0; i < ROWS * N; i++)
		((double *)b.mem)[i] = 1.0 / (double)(i + 3);
	for (int i = 0; i < 3; i++) {
		struct work *w = work_create(1);
		uint64_t slices = stats(&b).slices;

		work_sum(w, &b.kernel[SLOW_SUM], ROWS, N, 0, ROWS * N * 8, cost[i]);
		executor_submit(b.x, &w->job);
		wait_end(&b, w);
		cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
		memcpy(bits[i], b.mem + ROWS * N * 8, sizeof bits[i]);
		slices = stats(&b).slices - slices;
		cr_assert(i == 0 ? slices == 1 : slices >= 5, "%lu slices", (long)slices);
		free(w);
	}
	cr_assert_eq(memcmp(bits[0], bits[1], sizeof bits[0]), 0);
	cr_assert_eq(memcmp(bits[0], bits[2], sizeof bits[0]), 0);
	bench_close(&b);
}

/* Sums over the rows of a narrow array: chunks of all columns at once, not of one. */
Test(executor, narrow_columns_are_reduced_side_by_side, .timeout = 30)
{
	enum { COLUMNS = 10, ROWS = 100000 };
	struct bench b;
	struct work *w = work_create(1);
	uint64_t to = COLUMNS * ROWS * 8;

	bench_open(&b);
	for (int64_t i = 0; i < COLUMNS * ROWS; i++)
		((double *)b.mem)[i] = (double)(i % COLUMNS);
	work_sum(w, &b.kernel[SUM], COLUMNS, ROWS, 0, to, 1000);
	b.kernel[SUM].spec->vec = w->nest[0].vec = 0;
	w->nest[0].access[0].stride[0] = 8;
	w->nest[0].access[0].stride[1] = 8 * COLUMNS;
	executor_submit(b.x, &w->job);
	wait_end(&b, w);
	cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
	for (int64_t i = 0; i < COLUMNS; i++)
		cr_assert_eq(((double *)(b.mem + to))[i], (double)(i * ROWS));
	cr_assert_eq(*(int64_t *)(b.mem + to + CALLS_AT), 2, "%ld calls for two chunks",
		     (long)*(int64_t *)(b.mem + to + CALLS_AT));
	free(w);
	bench_close(&b);
}

/* However slow they are said to be: a slice of some columns reads the lines of all of them. */
Test(executor, slices_of_narrow_columns_are_rows, .timeout = 30)
{
	enum { COLUMNS = 10, CHUNKS = 8, ROWS = CHUNKS * TREE_CHUNK };
	struct bench b;
	struct work *w = work_create(1);
	uint64_t to = COLUMNS * 8;

	learning = false;
	bench_open(&b);
	for (int64_t i = 0; i < COLUMNS; i++)
		((double *)b.mem)[i] = (double)i;
	work_sum(w, &b.kernel[SUM], COLUMNS, ROWS, 0, to, 5 * RUN_SLICE_US);
	b.kernel[SUM].spec->vec = w->nest[0].vec = 0;
	w->nest[0].access[0].stride[0] = 8;
	w->nest[0].access[0].stride[1] = 0; /* always the same row */
	executor_submit(b.x, &w->job);
	wait_end(&b, w);
	cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
	for (int64_t i = 0; i < COLUMNS; i++)
		cr_assert_eq(((double *)(b.mem + to))[i], (double)(i * ROWS));
	cr_assert_geq(stats(&b).slices, 2);
	cr_assert_eq(w->job.group, COLUMNS);
	cr_assert_eq(*(int64_t *)(b.mem + to + CALLS_AT), CHUNKS, "%ld calls for %d chunks",
		     (long)*(int64_t *)(b.mem + to + CALLS_AT), CHUNKS);
	free(w);
	bench_close(&b);
}

/* What one client's shape takes tells nothing of another's: it is cut as if alone. */
Test(executor, slow_shape_does_not_cut_up_another, .timeout = 30)
{
	enum { N = 20000 };
	struct bench b;
	struct work *slow = work_create(1), *other = work_create(2), *again = work_create(1);
	uint64_t slices = 0;

	bench_open(&b);
	work_step(slow, &b.kernel[SLOW], N, 0, N * 8, 1, 1000)->shape = 1;
	executor_submit(b.x, &slow->job);
	wait_end(&b, slow);
	cr_assert_not_null(cache_rate(&b.kernel[SLOW], 1));
	/* In the interpreter's time of a slow element it would be many slices. */
	work_step(other, &b.kernel[SLOW], 10 * N, N * 16, N * 16 + 80 * N, 1, 1000)->shape = 2;
	slices = stats(&b).slices;
	executor_submit(b.x, &other->job);
	wait_end(&b, other);
	cr_assert_eq(stats(&b).slices - slices, 1);
	work_step(again, &b.kernel[SLOW], 10 * N, N * 16, N * 16 + 80 * N, 1, 1000)->shape = 1;
	b.kernel[SLOW].rate[0] = (struct kernel_rate){1, 1, N, N * 1000};
	slices = stats(&b).slices;
	executor_submit(b.x, &again->job);
	wait_end(&b, again);
	cr_assert_gt(stats(&b).slices - slices, 5, "of its own shape it is believed");
	free(slow);
	free(other);
	free(again);
	bench_close(&b);
}

Test(executor, split_reduction_survives_a_kill, .timeout = 30)
{
	struct bench b;
	struct work *w = work_create(1);
	enum { N = 6000000 };
	double want = 0, got = 0;

	learning = false;
	bench_open(&b);
	for (int64_t i = 0; i < N; i++)
		((double *)b.mem)[i] = 1.0 / (double)(i + 3);
	work_sum(w, &b.kernel[SLOW_SUM], 1, N, 0, N * 8, 4000000);
	executor_submit(b.x, &w->job);
	while (w->job.at > -20 && !w->ended)
		uv_run(&b.loop, UV_RUN_ONCE);
	kill(stats(&b).pid, SIGKILL);
	wait_end(&b, w);
	cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
	for (int64_t c = 0; c * TREE_CHUNK < N; c++) {
		double sum = 0;

		for (int64_t i = c * TREE_CHUNK; i < (c + 1) * TREE_CHUNK && i < N; i++)
			sum += ((double *)b.mem)[i];
		want += sum;
	}
	memcpy(&got, b.mem + N * 8, 8);
	cr_assert_eq(memcmp(&got, &want, 8), 0, "%.17g, want %.17g", got, want);
	cr_assert_eq(stats(&b).deaths, 1);
	free(w);
	bench_close(&b);
}

Test(executor, matrix_product_in_slices, .timeout = 30)
{
	struct bench b;
	struct work *w = work_create(1);
	enum { M = 960, N = 17 }; /* four tiles */
	struct plan_call m = product_step(&(struct product){.dtype = DT_INT64,
							    .m = M,
							    .n = N,
							    .k = 2,
							    .row = {16, N * 8, N * 8},
							    .col = {8, 8, 8}});

	bench_open(&b);
	for (int64_t i = 0; i < M * 2; i++)
		((int64_t *)b.mem)[i] = i;
	for (int64_t i = 0; i < 2 * N; i++)
		((int64_t *)(b.mem + 65536))[i] = 1;
	for (int i = 0; i < 3; i++)
		w->place[i] = (struct command_place){.region = 1, .offset = 65536 * (uint64_t)i};
	w->step[0] = (struct plan_step){.kind = STEP_CALL, .cost_us = 100000, .call = &m};
	w->plan.nstep = 1;
	executor_submit(b.x, &w->job);
	wait_end(&b, w);
	cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
	cr_assert_gt(stats(&b).slices, 2);
	for (int64_t i = 0; i < M * N; i++)
		cr_assert_eq(((int64_t *)(b.mem + 131072))[i], 4 * (i / N) + 1);
	free(w);
	bench_close(&b);
}

/* One by one, of a product whose inner axis, rows and columns are all cut. */
static struct plan_call long_product(int64_t m, int64_t k, int64_t n)
{
	return product_step(&(struct product){
		.dtype = DT_INT64, .m = m, .n = n, .k = k, .row = {0, 0, n * 8}, .col = {0, 0, 8}});
}

Test(executor, product_is_cut_along_its_inner_axis, .timeout = 60)
{
	struct bench b;
	struct work *w = work_create(1);
	struct plan_call m = long_product(3, 400 * 2048, 2);

	bench_open(&b);
	((int64_t *)b.mem)[0] = 3;
	for (int i = 0; i < 3; i++)
		w->place[i] = (struct command_place){.region = 1, .offset = 65536 * (uint64_t)i};
	((int64_t *)(b.mem + 65536))[0] = 5;
	w->step[0] = (struct plan_step){.kind = STEP_CALL, .cost_us = 2000000, .call = &m};
	w->plan.nstep = 1;
	executor_submit(b.x, &w->job);
	wait_end(&b, w);
	cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
	cr_assert_gt(stats(&b).slices, 2);
	expect_values(&b, 131072, 6, 15ll * 400 * 2048);
	free(w);
	bench_close(&b);
}

/* It takes years; cancelled, it leaves the worker as it was. */
Test(executor, endless_product_is_cancelled, .timeout = 60)
{
	struct bench b;
	struct work *w = work_create(1), *v = work_create(2);
	struct plan_call m = long_product(1, 1ll << 50, 1);

	bench_open(&b);
	for (int i = 0; i < 3; i++)
		w->place[i] = (struct command_place){.region = 1, .offset = 65536 * (uint64_t)i};
	w->step[0] = (struct plan_step){.kind = STEP_CALL, .cost_us = 1 << 30, .call = &m};
	w->plan.nstep = 1;
	work_step(v, &b.kernel[ADD], 100, 8000, 16000, 6, 1);
	executor_submit(b.x, &w->job);
	pass(&b, 200);
	executor_submit(b.x, &v->job);
	wait_end(&b, v);
	cr_assert_not(w->ended);
	executor_cancel(b.x, &w->job);
	wait_end(&b, w);
	cr_assert_eq(w->end, JOB_CANCELLED);
	cr_assert_eq(stats(&b).deaths, 0);
	free(w);
	free(v);
	bench_close(&b);
}

/* Its operand's file is shorter than its region: each attempt ends the worker. */
Test(executor, product_that_kills_twice_is_quarantined_and_others_are_not, .timeout = 60)
{
	struct bench b;
	struct work *bad = work_create(1), *good = work_create(2);
	struct plan_call m = long_product(1, 1, 1), n = long_product(1, 2, 1);
	struct kernel product[2] = {
		{.id = 100, .call = {.call = CALL_PRODUCT, .dtype = DT_INT64}, .code_fd = -1},
		{.id = 101, .call = {.call = CALL_PRODUCT, .dtype = DT_INT64}, .code_fd = -1}};
	int fd = memfd_create("short", MFD_CLOEXEC);
	struct err err = {0};

	bench_open(&b);
	cr_assert_eq(executor_region_add(b.x, 2, fd, 1 << 20, &err), OK, "%s", err.text);
	((int64_t *)b.mem)[0] = 1;
	for (int i = 0; i < 3; i++) {
		bad->place[i] = good->place[i] =
			(struct command_place){.region = 1, .offset = 65536 * (uint64_t)i};
	}
	((int64_t *)(b.mem + 65536))[0] = 1;
	bad->place[0].region = 2;
	bad->step[0] = (struct plan_step){
		.kind = STEP_CALL, .call = &m, .kernel = {&product[0]}, .cost_us = 1};
	good->step[0] = (struct plan_step){
		.kind = STEP_CALL, .call = &n, .kernel = {&product[1]}, .cost_us = 1};
	bad->plan.nstep = good->plan.nstep = 1;
	executor_submit(b.x, &bad->job);
	wait_end(&b, bad);
	cr_assert_eq(bad->err.code, E_QUARANTINED, "%s", bad->err.text);
	cr_assert_eq(product[0].strikes, 2);
	executor_submit(b.x, &good->job);
	wait_end(&b, good);
	cr_assert_eq(good->end, JOB_DONE, "%s", good->err.text);
	cr_assert_eq(product[1].strikes, 0);
	expect_values(&b, 131072, 1, 2);
	cr_assert_eq(stats(&b).deaths, 2);
	close(fd);
	free(bad);
	free(good);
	bench_close(&b);
}

/* Nothing is known of what a step costs that is predicted to cost nothing: another
 * client's turn comes all the same, and so does the cancel's. */
Test(executor, first_slice_of_an_unknown_step_is_small, .timeout = 60)
{
	struct bench b;
	struct work *w = work_create(1), *v = work_create(2);
	struct nest *nest;

	bench_open(&b);
	/* Long rows, many of them, all the same doubles. */
	work_sum(w, &b.kernel[SLOW_SUM], 1 << 12, 1ll << 34, 0, 1 << 20, 0);
	nest = w->step[0].nest;
	nest->access[0].stride[0] = nest->access[0].stride[1] = 0;
	work_step(v, &b.kernel[ADD], 100, 8000, 16000, 6, 1);
	executor_submit(b.x, &w->job);
	pass(&b, 100);
	executor_submit(b.x, &v->job);
	wait_end(&b, v);
	cr_assert_not(w->ended);
	executor_cancel(b.x, &w->job);
	wait_end(&b, w);
	cr_assert_eq(w->end, JOB_CANCELLED);
	cr_assert_eq(stats(&b).deaths, 0);
	free(w);
	free(v);
	bench_close(&b);
}

/* Points whose chunks come in groups have the bits of the whole. */
Test(executor, rows_too_long_for_a_slice_come_group_by_group, .timeout = 60)
{
	struct bench b;
	struct work *w = work_create(1);
	enum { ROWS = 120 };
	int64_t n = 5 << 20, row = n - ROWS;

	learning = false;
	bench_open(&b);
	for (int64_t i = 0; i < n; i++)
		((double *)b.mem)[i] = 1.0 / (double)(i + 3);
	/* The rows overlap, each begins a little further; predicted to cost nothing. */
	work_sum(w, &b.kernel[SUM], ROWS, row, 0, (uint64_t)n * 8, 0);
	w->step[0].nest->access[0].stride[0] = 8;
	executor_submit(b.x, &w->job);
	wait_end(&b, w);
	cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
	cr_assert_lt(w->job.group, ROWS);
	cr_assert_geq(stats(&b).slices, 3);
	for (int64_t p = 0; p < ROWS; p++) {
		double want = 0, got = ((double *)(b.mem + n * 8))[p];

		for (int64_t c = 0; c < row; c += TREE_CHUNK) {
			double sum = 0;

			for (int64_t i = c; i < c + TREE_CHUNK && i < row; i++)
				sum += ((double *)b.mem)[p + i];
			want += sum;
		}
		cr_assert_eq(memcmp(&want, &got, 8), 0, "row %ld", (long)p);
	}
	free(w);
	bench_close(&b);
}

Test(executor, place_outside_its_region_fails_the_job_only, .timeout = 30)
{
	struct bench b;
	struct work *w = work_create(1), *v = work_create(1);

	bench_open(&b);
	work_step(w, &b.kernel[ADD], 100, 0, REGION_BYTES - 792, 1, 1);
	work_step(v, &b.kernel[ADD], 100, 0, REGION_BYTES - 800, 1, 1);
	executor_submit(b.x, &w->job);
	executor_submit(b.x, &v->job);
	wait_end(&b, v);
	cr_assert_eq(w->end, JOB_FAILED);
	cr_assert_eq(w->err.code, E_INTERNAL, "%s", w->err.text);
	cr_assert_eq(v->end, JOB_DONE, "%s", v->err.text);
	cr_assert_eq(stats(&b).deaths, 0);
	free(w);
	free(v);
	bench_close(&b);
}

Test(executor, regions_come_back_with_the_worker_and_can_be_dropped, .timeout = 30)
{
	struct bench b;
	struct work *w = work_create(1), *v = work_create(1);
	struct err err = {0};

	bench_open(&b);
	cr_assert_eq(executor_region_add(b.x, 0, b.fd, 4096, &err), E_INVALID);
	cr_assert_eq(executor_region_add(b.x, 9, b.fd, REGION_BYTES, &err), OK);
	kill(stats(&b).pid, SIGKILL);
	pass(&b, 100);
	work_step(w, &b.kernel[ADD], 10, 0, 800, 1, 1);
	w->place[1].region = 9;
	executor_submit(b.x, &w->job);
	wait_end(&b, w);
	cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
	executor_region_drop(b.x, 9);
	work_step(v, &b.kernel[ADD], 10, 0, 800, 1, 1);
	v->place[1].region = 9;
	executor_submit(b.x, &v->job);
	wait_end(&b, v);
	cr_assert_eq(v->end, JOB_FAILED, "the region was still mapped");
	free(w);
	free(v);
	bench_close(&b);
}

Test(executor, program_that_is_not_there_is_an_error, .timeout = 10)
{
	struct executor_config config = {.self = "/nonexistent/brazed", .device = "cpu"};
	struct executor *x = NULL;
	struct err err = {0};
	uv_loop_t loop;
	int fds = count_fds();

	uv_loop_init(&loop);
	cr_assert_eq(executor_create(&x, &loop, &config, NULL, &err), E_SYSTEM);
	cr_assert(strstr(err.text, "/nonexistent/brazed"), "%s", err.text);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(&loop), 0);
	cr_assert_leq(count_fds(), fds);
	executor_destroy(NULL);
}
