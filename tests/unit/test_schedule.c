/* SPDX-License-Identifier: Apache-2.0 */
/* Whose packets the worker gets: users and their clients by weight, who waits mostly first. */
#define _GNU_SOURCE
#include "executor_fixture.h"

#define POINTS	400000 /* of 1 us each */
#define CLIENTS 4

#define DEEP 2 /* jobs of each, so that none is without work while its next is made */

/* Do the clients' times lie by their parts, by `error`?  NULL: any do. */
static bool is_near(const struct bench *b, const uint64_t *client, int n, const double *part,
		    const uint64_t *before, double error)
{
	double all = 0, parts = 0;
	bool good = true;

	for (int i = 0; i < n; i++) {
		all += (double)(executor_client_busy(b->x, client[i]) - before[i]);
		parts += part ? part[i] : 0;
	}
	for (int i = 0; part && i < n; i++) {
		double has = (double)(executor_client_busy(b->x, client[i]) - before[i]) / all;

		good &= has > part[i] / parts * (1 - error) && has < part[i] / parts * (1 + error);
	}
	return good;
}

/* Each client has work, all the time, until the worker has spent `ms` on it, and has spent it by
 * their parts: how long that takes depends on how long the machine's other load makes packets. */
static void work_for(struct bench *b, const uint64_t *client, int n, uint64_t ms,
		     const double *part, double error)
{
	struct work *w[CLIENTS * DEEP] = {NULL};
	uint64_t busy = stats(b).busy_ns, before[CLIENTS];

	for (int i = 0; i < n; i++)
		before[i] = executor_client_busy(b->x, client[i]);
	while (stats(b).busy_ns - busy < ms * 1000000 ||
	       !is_near(b, client, n, part, before, error)) {
		for (int i = 0; i < n * DEEP; i++) {
			if (w[i] && !w[i]->ended)
				continue;
			free(w[i]);
			w[i] = work_create(client[i / DEEP]);
			work_step(w[i], &b->kernel[SLOW], POINTS, 0, POINTS * 8, 1, POINTS);
			executor_submit(b->x, &w[i]->job);
		}
		uv_run(&b->loop, UV_RUN_ONCE);
	}
	for (int i = 0; i < n * DEEP; i++)
		executor_cancel(b->x, &w[i]->job);
	for (int i = 0; i < n * DEEP; i++) {
		wait_end(b, w[i]);
		free(w[i]);
	}
}

static void set(struct bench *b, uint64_t client, uint32_t uid, uint32_t weight, uint32_t user)
{
	executor_client_set(
		b->x, &(struct executor_client){
			      .client = client, .uid = uid, .weight = weight, .user_weight = user});
}

Test(schedule, weights_are_shares_of_device_time, .timeout = 60)
{
	static const uint64_t client[] = {1, 2};
	static const double part[] = {1, 3};
	struct bench b;

	bench_open(&b);
	set(&b, 1, 100, 1, 1);
	set(&b, 2, 100, 3, 1);
	work_for(&b, client, 2, 1000, part, 0.05);
	cr_assert_eq(executor_user_busy(b.x, 100), stats(&b).busy_ns);
	bench_close(&b);
}

Test(schedule, users_share_first_and_their_clients_then, .timeout = 60)
{
	static const uint64_t client[] = {1, 2, 3, 4};
	static const double part[] = {1, 1, 2, 4};
	struct bench b;

	bench_open(&b);
	/* Three clients do not make their user more. */
	set(&b, 1, 100, 1, 1);
	set(&b, 2, 100, 1, 1);
	set(&b, 3, 100, 2, 1);
	set(&b, 4, 200, 7, 1);
	work_for(&b, client, 4, 1000, part, 0.08);
	cr_assert_eq(executor_user_busy(b.x, 100) + executor_user_busy(b.x, 200),
		     stats(&b).busy_ns);
	bench_close(&b);
}

/* A short job among two that have more than the worker can do. */
struct among {
	struct bench b;
	struct work *heavy[2], *light;
	uint64_t landed; /* slices that were sent and have ended, when it ended */
};

static uint64_t landed(struct among *a)
{
	return stats(&a->b).slices - a->heavy[0]->job.in_flight - a->heavy[1]->job.in_flight -
	       (a->light ? a->light->job.in_flight : 0);
}

static void on_light(struct executor_job *job, enum job_end end, const struct err *err)
{
	struct among *a = ((struct work *)job->data)->owner;

	a->landed = landed(a);
	on_done(job, end, err);
}

/* Until each of the heavy has had more of the worker than `ns`. */
static void each_has(struct bench *b, uint64_t ns)
{
	uint64_t before[] = {executor_client_busy(b->x, 1), executor_client_busy(b->x, 3)};

	while (executor_client_busy(b->x, 1) - before[0] <= ns ||
	       executor_client_busy(b->x, 3) - before[1] <= ns)
		uv_run(&b->loop, UV_RUN_ONCE);
}

/* Slices that end before that of each short job of client 2 does, while 1 and 3 have more than the
 * worker can do. */
Test(schedule, who_waits_mostly_goes_first, .timeout = 60)
{
	struct among a = {0};
	uint64_t took = 0;

	bench_open(&a.b);
	set(&a.b, 2, 0, 1, 1);
	for (int i = 0; i < 2; i++) {
		a.heavy[i] = work_create(1 + 2 * (uint64_t)i);
		work_step(a.heavy[i], &a.b.kernel[SLOW], POINTS * 4, 0, POINTS * 32, 1, POINTS * 4);
		executor_submit(a.b.x, &a.heavy[i]->job);
	}
	for (int i = 0; i < 10; i++) {
		uint64_t before, had = executor_client_busy(a.b.x, 2);

		/* Its last job may have taken long, where the machine has other load. */
		each_has(&a.b, took + 2000000);
		before = landed(&a);
		a.light = work_create(2);
		work_step(a.light, &a.b.kernel[ADD], 1000, 0, POINTS * 8, 1, 1000);
		a.light->job.done = on_light;
		a.light->owner = &a;
		executor_submit(a.b.x, &a.light->job);
		wait_end(&a.b, a.light);
		/* It is next: at most two of each were sent before it, of which one runs. */
		cr_assert_leq(a.landed - before, 4, "%llu slices",
			      (unsigned long long)(a.landed - before));
		took = executor_client_busy(a.b.x, 2) - had;
		free(a.light);
		a.light = NULL;
	}
	for (int i = 0; i < 2; i++) {
		cr_assert_not(a.heavy[i]->ended);
		executor_cancel(a.b.x, &a.heavy[i]->job);
		wait_end(&a.b, a.heavy[i]);
		free(a.heavy[i]);
	}
	bench_close(&a.b);
}

/* It did nothing for long: that is no claim to what others did meanwhile. */
Test(schedule, nothing_is_saved_up, .timeout = 60)
{
	static const uint64_t one[] = {1}, both[] = {1, 2};
	static const double half[] = {1, 1};
	struct bench b;
	uint64_t before;

	bench_open(&b);
	set(&b, 2, 0, 1, 1);
	work_for(&b, one, 1, 1500, NULL, 0);
	before = executor_client_busy(b.x, 1);
	/* A claim to all of it would take 1.5 s until client 1 had anything. */
	work_for(&b, both, 2, 500, half, 0.3);
	cr_assert_gt(executor_client_busy(b.x, 1) - before, 100000000);
	cr_assert_lt(executor_client_busy(b.x, 2), 1400000000);
	bench_close(&b);
}

Test(schedule, who_is_held_waits_and_nobody_else, .timeout = 60)
{
	struct executor_client held = {.client = 1, .held = true};
	struct work *w = work_create(1), *other = work_create(2), *gone = work_create(1);
	struct bench b;

	bench_open(&b);
	executor_client_set(b.x, &held);
	work_step(w, &b.kernel[ADD], 1000, 0, 8000, 5, 1);
	work_step(gone, &b.kernel[ADD], 1000, 0, 16000, 5, 1);
	work_step(other, &b.kernel[ADD], 1000, 0, 24000, 6, 1);
	executor_submit(b.x, &w->job);
	executor_submit(b.x, &gone->job);
	executor_submit(b.x, &other->job);
	wait_end(&b, other);
	pass(&b, 100);
	cr_assert_not(w->ended);
	cr_assert_eq(stats(&b).held, 2);
	cr_assert_eq(executor_client_busy(b.x, 1), 0);
	executor_cancel(b.x, &gone->job);
	wait_end(&b, gone);
	cr_assert_eq(gone->end, JOB_CANCELLED);
	executor_client_drop(b.x, 1); /* not while it has work */
	held.held = false;
	executor_client_set(b.x, &held);
	wait_end(&b, w);
	cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
	expect_values(&b, 8000, 1000, 5);
	cr_assert_eq(stats(&b).held, 0);
	executor_client_drop(b.x, 1);
	cr_assert_eq(executor_client_busy(b.x, 1), 0);
	free(w);
	free(gone);
	free(other);
	bench_close(&b);
}

/* It overwrites what it reads, so that it is not stopped in the middle; held, it would never end.
 */
Test(schedule, what_cannot_stop_ends_when_it_is_cancelled, .timeout = 60)
{
	struct executor_client held = {.client = 1, .held = true};
	struct work *w = work_create(1);
	struct bench b;
	uint64_t slices;

	bench_open(&b);
	work_step(w, &b.kernel[SLOW], POINTS, 0, 0, 1, POINTS);
	executor_submit(b.x, &w->job);
	wait_begun(&b, w);
	executor_client_set(b.x, &held);
	while (stats(&b).in_flight)
		uv_run(&b.loop, UV_RUN_ONCE);
	slices = stats(&b).slices;
	pass(&b, 50);
	cr_assert_not(w->ended);
	cr_assert_eq(stats(&b).slices, slices);
	executor_cancel(b.x, &w->job);
	wait_end(&b, w);
	cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
	expect_values(&b, 0, POINTS, 1);
	free(w);
	bench_close(&b);
}

/* Two that mostly compute have a packet each at the worker; who comes then waits for the one that
 * is under way, and not for the one that waits. */
Test(schedule, who_is_behind_overtakes_the_packet_that_waits, .timeout = 120)
{
	struct bench b;
	struct work *big[2] = {work_create(1), work_create(2)};
	struct work *small = work_create(3), *others[OVERTAKERS];
	bool stopped = false;
	uint64_t waiting = 0;

	bench_open(&b);
	set(&b, 3, 0, 1, 1);
	for (int i = 0; i < 2; i++) {
		work_step(big[i], &b.kernel[SLOW], POINTS, 0, POINTS * 8, 1, POINTS);
		executor_submit(b.x, &big[i]->job);
	}
	while (!stopped) {
		uv_run(&b.loop, UV_RUN_ONCE);
		if (b.x->nflight != 2 || !schedule_shared(b.x))
			continue;
		waiting = b.x->flight[1].ticket;
		stopped = stop_inside(
			&b,
			big[TICKET_JOB(big[1]->job.ticket) == TICKET_JOB(b.x->flight[0].ticket)]);
		stopped &= b.x->nflight == 2 && b.x->flight[1].ticket == waiting &&
			   b.x->flight[0].ticket == b.x->progress->thread[0].ticket;
		if (!stopped)
			kill(stats(&b).pid, SIGCONT);
	}
	work_step(small, &b.kernel[ADD], 100, POINTS * 16, POINTS * 16 + 800, 3, 1);
	executor_submit(b.x, &small->job);
	cr_assert_eq(b.x->nflight, 3);
	cr_assert_eq(b.x->flight[1].rank, RANK_WAITS);
	cr_assert_eq(b.x->flight[2].rank, RANK_FIRST);
	cr_assert_eq(b.x->flight[2].job, &small->job);
	for (int i = 0; i < OVERTAKERS; i++) {
		others[i] = work_create(4 + (uint64_t)i);
		work_step(others[i], &b.kernel[ADD], 100, POINTS * 16, POINTS * 16 + 800, 3, 1);
		executor_submit(b.x, &others[i]->job);
	}
	cr_assert_eq(b.x->nflight, 2 + OVERTAKERS, "so many overtake, and no more");
	cr_assert_eq(b.x->flight[1].overtaken, OVERTAKERS);
	kill(stats(&b).pid, SIGCONT);
	wait_end(&b, small);
	cr_assert_eq(small->end, JOB_DONE);
	for (int i = 0; i < OVERTAKERS; i++) {
		wait_end(&b, others[i]);
		free(others[i]);
	}
	for (int i = 0; i < 2; i++) {
		executor_cancel(b.x, &big[i]->job);
		wait_end(&b, big[i]);
		free(big[i]);
	}
	free(small);
	bench_close(&b);
}
