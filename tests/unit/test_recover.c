/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that die, hang, sleep, or get no time: what of their jobs is lost, who is blamed. */
#define _GNU_SOURCE
#include "executor_fixture.h"

Test(recover, killed_worker_loses_only_what_it_was_overwriting, .timeout = 30)
{
	struct bench b;
	struct work *torn = work_create(1), *innocent = work_create(2), *next = work_create(3);
	enum { N = 300000 };

	bench_open(&b);
	work_step(torn, &b.kernel[SLOW], N, 0, 0, 1, 300000);
	work_step(innocent, &b.kernel[SLOW], N, N * 8, N * 16, 2, 300000);
	executor_submit(b.x, &torn->job);
	executor_submit(b.x, &innocent->job);
	/* Stopped inside one of its packets: between two it would lose nothing. */
	while (!stop_inside(&b, torn)) {
		kill(stats(&b).pid, SIGCONT);
		pass(&b, 5);
	}
	kill(stats(&b).pid, SIGKILL);
	wait_end(&b, torn);
	cr_assert_eq(torn->end, JOB_FAILED);
	cr_assert_eq(torn->err.code, E_LOST, "%s", torn->err.text);
	cr_assert(torn->job.torn);
	cr_assert_eq(torn->job.step_torn, 0);
	work_step(next, &b.kernel[ADD], 10, N * 24, N * 24 + 80, 4, 1);
	executor_submit(b.x, &next->job);
	wait_end(&b, next);
	cr_assert_eq(next->end, JOB_DONE, "%s", next->err.text);
	wait_end(&b, innocent);
	cr_assert_eq(innocent->end, JOB_DONE, "%s", innocent->err.text);
	expect_values(&b, N * 16, N, 2);
	cr_assert_eq(stats(&b).deaths, 1);
	cr_assert_eq(b.kernel[SLOW].strikes, 0, "nobody is to blame for a kill from outside");
	free(torn);
	free(innocent);
	free(next);
	bench_close(&b);
}

Test(recover, kills_before_a_run_is_completed_lose_nothing, .timeout = 60)
{
	struct bench b;
	struct work *w = work_create(1);

	bench_open(&b);
	work_step(w, &b.kernel[ADD], 10, 0, 80, 1, 1);
	kill(stats(&b).pid, SIGKILL);
	executor_submit(b.x, &w->job);
	/* Each before it can have begun: more than a broken worker would be started. */
	for (int pid = 0, kills = 1; kills < 24;) {
		uv_run(&b.loop, UV_RUN_ONCE);
		if (stats(&b).pid == pid || stats(&b).deaths < (uint64_t)kills || !stats(&b).pid)
			continue;
		pid = stats(&b).pid;
		kills++;
		kill(pid, SIGKILL);
	}
	wait_end(&b, w);
	cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
	cr_assert_eq(w->job.attempts, 0);
	cr_assert_geq(stats(&b).deaths, 24);
	free(w);
	bench_close(&b);
}

Test(recover, finished_in_place_step_is_not_run_twice, .timeout = 30)
{
	struct bench b;
	struct work *w = work_create(1);
	enum { N = 200000 };

	bench_open(&b);
	work_step(w, &b.kernel[ADD], 100, 0, 0, 1, 30000); /* a packet of its own */
	work_step(w, &b.kernel[SLOW], N, 8192, 8192 + N * 8, 1, 200000);
	executor_submit(b.x, &w->job);
	/* The first packet is done, the second one's step is not. */
	while (stats(&b).slices < 2 || b.x->flight[0].step[0].step != 1)
		uv_run(&b.loop, UV_RUN_ONCE);
	kill(stats(&b).pid, SIGKILL);
	wait_end(&b, w);
	cr_assert_eq(w->end, JOB_FAILED);
	cr_assert_eq(w->err.code, E_LOST);
	cr_assert(w->job.torn);
	expect_values(&b, 0, 100, 1);
	free(w);
	bench_close(&b);
}

Test(recover, kernel_that_faults_twice_is_quarantined, .timeout = 30)
{
	struct bench b;
	struct work *bad = work_create(1), *again = work_create(1), *good = work_create(2);

	bench_open(&b);
	work_step(bad, &b.kernel[FAULT], 100, 0, 800, 1, 1);
	bad->job.name = "culprit";
	bad->job.pid = 4711;
	work_step(good, &b.kernel[ADD], 100, 8000, 16000, 6, 1);
	executor_submit(b.x, &bad->job);
	executor_submit(b.x, &good->job);
	wait_end(&b, bad);
	cr_assert_eq(bad->end, JOB_FAILED);
	cr_assert_eq(bad->err.code, E_QUARANTINED, "%s", bad->err.text);
	cr_assert_not(bad->job.torn);
	cr_assert_eq(b.kernel[FAULT].strikes, 2);
	cr_assert(strstr(b.kernel[FAULT].blame, "step 0 of plan 0, run by culprit (client 1, pid "
						"4711), killed the worker of cpu at 2"),
		  "%s", b.kernel[FAULT].blame);
	cr_assert_eq(stats(&b).deaths, 2);
	wait_end(&b, good);
	cr_assert_eq(good->end, JOB_DONE, "%s", good->err.text);
	expect_values(&b, 16000, 100, 6);
	work_step(again, &b.kernel[FAULT], 100, 0, 800, 1, 1);
	executor_submit(b.x, &again->job);
	cr_assert_not(again->ended, "done was called from inside submit");
	wait_end(&b, again);
	cr_assert_eq(again->err.code, E_QUARANTINED);
	cr_assert_eq(stats(&b).deaths, 2, "it ran again");
	free(bad);
	free(again);
	free(good);
	bench_close(&b);
}

/* One that faulted beside a trial of geometries is not to blame: the trials end. */
Test(recover, job_whose_kernel_faulted_once_is_run_again, .timeout = 30)
{
	for (int trial = 0; trial < 2; trial++) {
		struct work *w = work_create(1);
		struct bench b;

		bench_open(&b);
		tried = &b.kernel[ADD];
		b.x->progress->trial = trial ? tried->id : 0;
		work_step(w, &b.kernel[FAULT_ONCE], 100, 0, 800, 1, 1);
		executor_submit(b.x, &w->job);
		wait_end(&b, w);
		cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
		cr_assert_eq(((int64_t *)(b.mem + 800))[0], 2);
		cr_assert_eq(b.kernel[FAULT_ONCE].strikes, !trial);
		cr_assert_eq(w->job.attempts, !trial);
		cr_assert_eq(w->job.suspect, trial);
		cr_assert_eq(tried->untried, trial);
		cr_assert_eq(stats(&b).deaths, 1);
		free(w);
		bench_close(&b);
	}
}

Test(recover, hung_worker_is_killed_and_its_kernel_blamed, .timeout = 30)
{
	struct bench b;
	struct work *bad = work_create(1), *good = work_create(2);

	bench_open(&b);
	b.x->watched.hang_cpu_ns = 200000000;
	b.x->watched.tick_ms = 50;
	work_step(bad, &b.kernel[HANG], 100, 0, 800, 1, 1);
	work_step(good, &b.kernel[ADD], 100, 8000, 16000, 6, 1);
	executor_submit(b.x, &bad->job);
	executor_submit(b.x, &good->job);
	wait_end(&b, bad);
	cr_assert_eq(bad->err.code, E_QUARANTINED, "%s", bad->err.text);
	wait_end(&b, good);
	cr_assert_eq(good->end, JOB_DONE, "%s", good->err.text);
	free(bad);
	free(good);
	bench_close(&b);
}

/* A healthy worker that gets no time: watched closely, it is waited for. */
Test(recover, stopped_worker_is_waited_for, .timeout = 30)
{
	struct bench b;
	struct work *w = work_create(1);
	enum { N = 1000000 };

	bench_open(&b);
	b.x->watched.asleep_ns = b.x->watched.hang_cpu_ns = 100000000;
	b.x->watched.tick_ms = 10;
	work_step(w, &b.kernel[SLOW], N, 0, 0, 1, 1000);
	executor_submit(b.x, &w->job);
	wait_begun(&b, w);
	cr_assert(stop_inside(&b, w));
	while (b.x->watched.waits < 20)
		uv_run(&b.loop, UV_RUN_ONCE);
	cr_assert_eq(stats(&b).deaths, 0);
	cr_assert_eq(b.x->watched.state, 'T', "%c", b.x->watched.state);
	kill(stats(&b).pid, SIGCONT);
	wait_end(&b, w);
	cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
	expect_values(&b, 0, N, 1);
	cr_assert_eq(stats(&b).deaths, 0);
	cr_assert_eq(b.kernel[SLOW].strikes, 0);
	free(w);
	bench_close(&b);
}

/* The loop stood still, by a stop or a suspend: what waits to be read was no silence. */
Test(recover, stopped_broker_blames_nobody, .timeout = 30)
{
	struct bench b;
	struct work *w = work_create(1);
	enum { N = 400000 };

	bench_open(&b);
	b.x->watched.asleep_ns = b.x->watched.hang_cpu_ns = 300000000;
	b.x->watched.tick_ms = 10;
	work_step(w, &b.kernel[SLOW], N, 0, 0, 1, 400000);
	executor_submit(b.x, &w->job);
	for (int i = 0; i < 3; i++) {
		pass(&b, 50);
		usleep(1000000);
	}
	wait_end(&b, w);
	cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
	expect_values(&b, 0, N, 1);
	cr_assert_eq(stats(&b).deaths, 0);
	free(w);
	bench_close(&b);
}

/* Something went to sleep for ever: nobody can tell why, so nobody gets a strike. */
Test(recover, sleeping_worker_is_killed_and_nobody_blamed, .timeout = 30)
{
	struct bench b;
	struct work *once = work_create(1), *always = work_create(1);

	bench_open(&b);
	b.x->watched.asleep_ns = 200000000;
	b.x->watched.tick_ms = 50;
	work_step(once, &b.kernel[SLEEP_ONCE], 100, 0, 800, 1, 1);
	executor_submit(b.x, &once->job);
	wait_end(&b, once);
	cr_assert_eq(once->end, JOB_DONE, "%s", once->err.text);
	cr_assert_eq(stats(&b).deaths, 1);
	cr_assert_eq(b.kernel[SLEEP_ONCE].strikes, 0);
	work_step(always, &b.kernel[SLEEP], 100, 0, 800, 1, 1);
	executor_submit(b.x, &always->job);
	wait_end(&b, always);
	cr_assert_eq(always->end, JOB_FAILED);
	cr_assert_eq(always->err.code, E_LOST, "%s", always->err.text);
	cr_assert_eq(b.kernel[SLEEP].strikes, 0);
	free(once);
	free(always);
	bench_close(&b);
}

/* All of it in one packet: nothing but the progress page tells that it had begun. */
Test(recover, in_place_step_torn_in_its_first_packet_is_not_run_again, .timeout = 30)
{
	struct bench b;
	struct work *w = work_create(1);
	enum { N = 2000000 };

	bench_open(&b);
	work_step(w, &b.kernel[SLOW], N, 0, 0, 1, 1000);
	executor_submit(b.x, &w->job);
	wait_begun(&b, w);
	cr_assert(stop_inside(&b, w));
	cr_assert_eq(stats(&b).slices, 1);
	cr_assert_not(w->job.torn, "known before it began");
	kill(stats(&b).pid, SIGKILL);
	wait_end(&b, w);
	cr_assert_eq(w->end, JOB_FAILED);
	cr_assert_eq(w->err.code, E_LOST, "%s", w->err.text);
	cr_assert(w->job.torn);
	cr_assert_eq(w->job.step_torn, 0);
	cr_assert_eq(stats(&b).slices, 1, "it was run again");
	free(w);
	bench_close(&b);
}

/* Code of another machine: the kernel is interpreted from now on, and has no strike. */
Test(recover, code_with_an_illegal_instruction_is_forgotten, .timeout = 30)
{
	struct work *w = work_create(1);
	struct kernel *k;
	struct bench b;

	bench_open(&b);
	k = &b.kernel[FOREIGN_ONCE];
	k->tier = 1;
	k->state = KERNEL_READY;
	work_step(w, k, 100, 0, 800, 1, 1);
	executor_submit(b.x, &w->job);
	wait_end(&b, w);
	cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
	cr_assert_eq(stats(&b).deaths, 1);
	cr_assert_eq(k->strikes, 0);
	cr_assert_eq(k->tier, 0);
	cr_assert_eq(k->state, KERNEL_FAILED);
	cr_assert(strstr(k->error, "instruction"), "%s", k->error);
	free(w);
	bench_close(&b);
}

/* Interpreted code is the daemon's own: who runs it is blamed as for any fault. */
Test(recover, illegal_instruction_of_the_interpreter_is_a_strike, .timeout = 30)
{
	struct work *w = work_create(1);
	struct bench b;

	bench_open(&b);
	work_step(w, &b.kernel[FOREIGN_ONCE], 100, 0, 800, 1, 1);
	executor_submit(b.x, &w->job);
	wait_end(&b, w);
	cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
	cr_assert_eq(b.kernel[FOREIGN_ONCE].strikes, 1);
	free(w);
	bench_close(&b);
}

Test(recover, code_that_does_not_load_is_forgotten, .timeout = 30)
{
	static const char junk[] = "no object";
	struct work *w = work_create(1);
	struct kernel *k;
	struct bench b;

	bench_open(&b);
	tried = k = &b.kernel[ADD];
	k->state = KERNEL_READY;
	k->code_fd = memfd_create("junk", MFD_CLOEXEC);
	k->code_bytes = sizeof junk;
	cr_assert_eq(write(k->code_fd, junk, sizeof junk), (ssize_t)sizeof junk);
	work_step(w, k, 100, 0, 800, 1, 1);
	executor_submit(b.x, &w->job);
	wait_end(&b, w);
	cr_assert_eq(w->end, JOB_DONE, "%s", w->err.text);
	cr_assert_eq(k->state, KERNEL_FAILED);
	cr_assert_gt(strlen(k->error), 0);
	cr_assert_eq(stats(&b).deaths, 0);
	close(k->code_fd);
	free(w);
	bench_close(&b);
}
