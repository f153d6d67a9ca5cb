/* SPDX-License-Identifier: Apache-2.0 */
/* Steps side by side: the same values, every wait needed, cancels, and whom a death or a
 * hang names.  The stand-in reports whatever nothing orders. */
#define _GNU_SOURCE
#include "cuda_sums.h"

#include <stdio.h>

/* A sum of N values takes one block, each thread 78 of them. */
enum { N = 20000, IN = 10, OUT = 30, TOTAL = 50 };

static double *doubles(struct bench *b, uint64_t at)
{
	return (double *)(b->mem + at);
}

static struct bench *begin(const char *settings, const struct nest *n)
{
	struct bench *b = NULL;

	standin(settings);
	b = bench_open();
	kernel(b, 5, n, PTX_SUM);
	for (uint32_t i = 0; i < 8; i++) {
		device_region(b, IN + i, N * 8);
		device_region(b, OUT + i, 4096);
	}
	device_region(b, TOTAL, 4096);
	return b;
}

/* Inputs that differ by turn and by number. */
static void uploads(struct bench *b, uint32_t count, int turn)
{
	for (uint32_t i = 0; i < count; i++) {
		for (int k = 0; k < N; k++)
			doubles(b, i << 20)[k] = (double)(turn + (int)i + 1);
		run_copy(b, ARENA, i << 20, IN + i, 0, 0, N * 8);
	}
}

static void sum(struct bench *b, const struct nest *n, uint32_t id, uint32_t from, uint32_t to,
		uint64_t at)
{
	run_kernel(b, n, id, PLACE(from, 0), PLACE(to, at), 0, 1, 0);
}

static double fetched(const struct reply *r, int i)
{
	double x;

	memcpy(&x, r->fetched + i * LIMIT_INLINE_BYTES, 8);
	return x;
}

/* Three sums next to each other in one region, and the sum of these. */
static void turns(struct bench *b, const struct nest *n, const struct nest *of_three, int count)
{
	for (int turn = 0; turn < count; turn++) {
		struct reply r;

		run_begin(b);
		uploads(b, 3, turn);
		for (uint32_t i = 0; i < 3; i++)
			sum(b, n, 5, IN + i, OUT, 8 * i);
		sum(b, of_three, 5, OUT, TOTAL, 0);
		run_fetch(b, TOTAL, 0, 8);
		r = run_end(b, (uint64_t)turn + 1, OK);
		cr_assert_eq(fetched(&r, 0), N * (double)(3 * turn + 6), "turn %d: %g", turn,
			     fetched(&r, 0));
	}
}

/* The first turn on streams, the others by a graph. */
Test(cuda_side, independent_sums_and_their_sum, .timeout = 60)
{
	struct nest n = nest_sum(1, N), of_three = nest_sum(1, 3);
	struct bench *b = begin("delay_us=300", &n);

	turns(b, &n, &of_three, 1);
	cr_assert_gt(b->page->beside_steps, 0);
	turns(b, &n, &of_three, 5);
	bench_close(b);
}

Test(cuda_side, without_pools_graphs_or_more_streams, .timeout = 60)
{
	static const char *const settings[] = {"missing=cuMemPoolCreate:cuGraphCreate",
					       "fail=cuStreamCreate:3:2,fail=cuStreamCreate:4:2",
					       "missing=cuStreamWriteValue32_v2"};

	for (int i = 0; i < 3; i++) {
		struct nest n = nest_sum(1, N), of_three = nest_sum(1, 3);
		struct bench *b = begin(settings[i], &n);

		turns(b, &n, &of_three, 3);
		bench_close(b);
	}
}

/* Steps with accumulators, which are freed behind them. */
Test(cuda_side, long_sums_in_parts, .timeout = 60)
{
	enum { LONG = 400000 };
	struct nest n = nest_sum(1, LONG);
	struct bench *b = begin("delay_us=200", &n);

	for (uint32_t i = 0; i < 3; i++)
		device_region(b, 60 + i, LONG * 8);
	for (int turn = 0; turn < 3; turn++) {
		struct reply r;

		run_begin(b);
		for (uint32_t i = 0; i < 3; i++) {
			for (int k = 0; k < LONG; k++)
				doubles(b, i << 22)[k] = (double)(turn + (int)i + 1);
			run_copy(b, ARENA, i << 22, 60 + i, 0, 0, LONG * 8);
		}
		for (uint32_t i = 0; i < 3; i++)
			sum(b, &n, 5, 60 + i, OUT + i, 0);
		for (uint32_t i = 0; i < 3; i++)
			run_fetch(b, OUT + i, 0, 8);
		r = run_end(b, (uint64_t)turn + 1, OK);
		for (int i = 0; i < 3; i++)
			cr_assert_eq(fetched(&r, i), LONG * (double)(turn + i + 1));
	}
	cr_assert_gt(b->page->beside_steps, 0);
	bench_close(b);
}

/* Write after read: the second sum's result lies in what the first one reads; a third,
 * which is independent, makes that there are streams. */
Test(cuda_side, a_write_waits_for_who_reads, .timeout = 60)
{
	struct nest n = nest_sum(1, N);
	struct bench *b = begin("delay_us=300", &n);
	struct reply r;

	for (int turn = 0; turn < 4; turn++) {
		run_begin(b);
		uploads(b, 3, 0);
		sum(b, &n, 5, IN, OUT, 0);
		sum(b, &n, 5, IN + 1, IN, 80);
		sum(b, &n, 5, IN + 2, OUT + 1, 0);
		run_fetch(b, OUT, 0, 8);
		run_fetch(b, IN, 80, 8);
		run_fetch(b, OUT + 1, 0, 8);
		r = run_end(b, (uint64_t)turn + 1, OK);
		cr_assert_eq(fetched(&r, 0), N);
		cr_assert_eq(fetched(&r, 1), 2 * N);
		cr_assert_eq(fetched(&r, 2), 3 * N);
	}
	cr_assert_eq(b->page->beside_steps, 4, "one of three, in each turn");
	bench_close(b);
}

/* Three sums on three streams: two waits where they part, two where they join.  Without
 * any one of them something is unordered, and that is found. */
/* The device's error may come when the run is done already; then the next one meets it. */
static void meet(struct bench *b)
{
	struct command_run again = {.head = {.kind = CMD_RUN, .bytes = sizeof again, .ticket = 1},
				    .client = b->client};
	struct pollfd p = {b->fd, POLLIN, 0};
	char reply[COMMAND_DONE_BYTES];

	while (poll(&p, 1, 30000) == 1 && recv(b->fd, reply, sizeof reply, 0) > 0) {
		again.head.ticket++;
		if (send(b->fd, &again, sizeof again, MSG_NOSIGNAL) < 0)
			break;
	}
}

Test(cuda_side, every_wait_is_needed, .timeout = 60)
{
	for (int left_out = 0; left_out <= 4; left_out++) {
		struct nest n = nest_sum(1, N);
		char settings[64];
		struct bench *b = NULL;

		snprintf(settings, sizeof settings, "log=/dev/null,skip=cuStreamWaitEvent:%d",
			 left_out);
		/* Small copies go by the lane's stream, not by a ring that waits itself. */
		b = begin(settings, &n);
		run_begin(b);
		for (uint32_t i = 0; i < 3; i++)
			run_copy(b, ARENA, 0, IN + i, 0, 0, 4096);
		for (uint32_t i = 0; i < 3; i++)
			sum(b, &n, 5, IN + i, OUT + i, 0);
		for (uint32_t i = 0; i < 3; i++)
			run_fetch(b, OUT + i, 0, 8);
		if (left_out) {
			run_send(b, 1);
			meet(b);
			cr_assert_eq(bench_wait(b), 3, "wait %d was not missed", left_out);
			bench_free(b);
		} else {
			run_end(b, 1, OK);
			bench_close(b);
		}
	}
}

Test(cuda_side, it_can_be_cancelled, .timeout = 60)
{
	struct nest n = nest_sum(1, N), of_three = nest_sum(1, 3);
	struct bench *b = begin("", &n);

	kernel(b, 6, &n, PTX_SUM_OF(PTX_SUM_SPIN_BODY));
	for (uint64_t job = 1; job < 4; job++) {
		struct reply r;

		run_begin(b);
		for (uint32_t i = 0; i < 3; i++)
			sum(b, &n, i == 1 ? 5 : 6, IN + i, OUT + i, 0);
		run_send(b, job << TICKET_SHIFT);
		usleep(20000);
		send_simple(b, CMD_CANCEL, 0, job << TICKET_SHIFT, 0, -1);
		r = receive(b);
		cr_assert_eq(r.done.head.ticket, job << TICKET_SHIFT);
		cr_assert_eq(r.done.status, E_CANCELLED);
	}
	turns(b, &n, &of_three, 3);
	bench_close(b);
}

/* A launch that fails on a stream: what the others do ends before the run does. */
Test(cuda_side, a_failed_launch_fails_the_run, .timeout = 60)
{
	struct nest n = nest_sum(1, N), of_three = nest_sum(1, 3);
	struct bench *b = begin("fail=cuLaunchKernel:2:1", &n);

	run_begin(b);
	uploads(b, 3, 0);
	for (uint32_t i = 0; i < 3; i++)
		sum(b, &n, 5, IN + i, OUT + i, 0);
	run_end(b, 1, E_INTERNAL);
	turns(b, &n, &of_three, 3);
	bench_close(b);
}

/* Of several at once none is named; alone, it is. */
Test(cuda_side, who_is_named, .timeout = 60)
{
	for (int alone = 0; alone < 2; alone++) {
		struct nest n = nest_sum(1, N);
		struct bench *b = begin("log=/dev/null", &n);

		kernel(b, 6, &n, PTX_SUM_OF(PTX_SUM_STRAY_BODY));
		b->alone = alone;
		run_begin(b);
		for (uint32_t i = 0; i < 3; i++)
			sum(b, &n, i == 1 ? 6 : 5, IN + i, OUT + i, 0);
		run_send(b, 7ull << TICKET_SHIFT);
		cr_assert_eq(bench_wait(b), 3);
		cr_assert_eq(b->page->thread[0].ticket, 7ull << TICKET_SHIFT);
		cr_assert_eq(b->page->thread[0].step, alone ? 1 : PROGRESS_SEVERAL, "%u",
			     b->page->thread[0].step);
		cr_assert(!alone || b->page->thread[0].kernel == 6);
		cr_assert_eq(b->page->beside_steps > 0, !alone);
		bench_free(b);
	}
}

/* The same of a hang, and of a graph. */
Test(cuda_side, a_graph_that_hangs_names_none, .timeout = 60)
{
	struct nest n = nest_sum(1, N);
	struct bench *b = NULL;

	setenv("BRAZE_WORKER_HANG_MS", "300", 1);
	setenv("BRAZE_WORKER_GRACE_MS", "200", 1);
	b = begin("hang=cuGraphLaunch:1,log=/dev/null", &n);
	for (uint64_t turn = 0; turn < 2; turn++) {
		run_begin(b);
		for (uint32_t i = 0; i < 4; i++)
			sum(b, &n, 5, IN, OUT, 8 * i);
		run_send(b, (turn + 1) << TICKET_SHIFT);
		if (turn == 0)
			cr_assert_eq(receive(b).done.status, OK);
	}
	cr_assert_eq(bench_wait(b), 4);
	cr_assert_eq(b->page->thread[0].ticket, 2ull << TICKET_SHIFT);
	cr_assert_eq(b->page->thread[0].step, PROGRESS_SEVERAL);
	bench_free(b);
}
