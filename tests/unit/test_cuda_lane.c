/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of a CUDA worker: in order for one client, side by side for two; cancels. */
#define _GNU_SOURCE
#include "cuda_bench.h"

#include <stdio.h>

static double *doubles(struct bench *b, uint64_t at)
{
	return (double *)(b->mem + at);
}

Test(cuda_lane, hello_tells_the_device, .timeout = 30)
{
	struct bench *b = bench_open();

	cr_assert_gt(b->hello.arch, 0);
	cr_assert_gt(b->hello.units, 0);
	cr_assert_gt(b->hello.memory_bytes, 0);
	cr_assert_gt(strlen(b->hello.name), 0);
	cr_assert_eq(b->hello.text[0], 0);
	bench_close(b);
}

Test(cuda_lane, steps_follow_each_other_and_results_are_fetched, .timeout = 60)
{
	enum { N = 3000 };
	struct bench *b = bench_open();
	struct nest n = nest_half(N);
	struct reply r;
	double got[2];

	kernel(b, 5, &n, PTX_HALF);
	for (int i = 0; i < N; i++)
		doubles(b, 0)[i] = 1024.0 * (i + 1);
	device_region(b, 2, N * 8);
	device_region(b, 3, N * 8);
	run_begin(b);
	run_copy(b, ARENA, 0, 2, 0, 0, N * 8);
	for (unsigned i = 0; i < 10; i++)
		run_kernel(b, &n, 5, PLACE(2 + i % 2, 0), PLACE(3 - i % 2, 0), 0, N, 0);
	run_copy(b, 2, 0, ARENA, 1 << 20, 0, N * 8);
	run_fetch(b, 2, 0, 8);
	run_fetch(b, ARENA, (1 << 20) + 8, 8);
	r = run_end(b, 7, OK);
	for (int i = 0; i < N; i++)
		cr_assert_eq(doubles(b, 1 << 20)[i], i + 1, "%d", i);
	cr_assert_eq(r.done.nfetch, 2);
	memcpy(&got[0], r.fetched, 8);
	memcpy(&got[1], r.fetched + LIMIT_INLINE_BYTES, 8);
	cr_assert_eq(got[0], 1);
	cr_assert_eq(got[1], 2, "a fetch sees what the run itself put into the arena");
	cr_assert_gt(r.done.busy_ns, 0);
	bench_close(b);
}

Test(cuda_lane, runs_of_a_client_are_done_in_order, .timeout = 60)
{
	enum { N = 500, RUNS = 40 };
	struct bench *b = bench_open();
	struct nest n = nest_half(N);

	kernel(b, 5, &n, PTX_HALF);
	for (int i = 0; i < N; i++)
		doubles(b, 0)[i] = 1;
	device_region(b, 2, N * 8);
	run_begin(b);
	run_copy(b, ARENA, 0, 2, 0, 0, N * 8);
	run_send(b, 1);
	/* Each run reads what the last one brought to the arena. */
	for (uint64_t i = 0; i < RUNS; i++) {
		run_begin(b);
		run_kernel(b, &n, 5, PLACE(2, 0), PLACE(2, 0), 0, N, 0);
		run_copy(b, 2, 0, ARENA, (i + 1) * 8192, 0, N * 8);
		run_copy(b, ARENA, (i + 1) * 8192, 2, 0, 0, N * 8);
		run_send(b, 2 + i);
	}
	for (uint64_t i = 0; i <= RUNS; i++) {
		struct reply r = receive(b);

		cr_assert_eq(r.done.head.ticket, 1 + i);
		cr_assert_eq(r.done.status, OK, "%s", r.done.text);
	}
	for (int k = 0; k < RUNS; k++)
		cr_assert_eq(doubles(b, (uint64_t)(k + 1) * 8192)[N - 1], 1 / (double)(2ull << k));
	bench_close(b);
}

Test(cuda_lane, clients_run_side_by_side, .timeout = 60)
{
	struct bench *b = bench_open();
	struct nest n = nest_half(10);
	struct reply r;

	kernel(b, 5, &n, PTX_HALF);
	kernel(b, 6, &n, PTX_SPIN);
	device_region(b, 2, 80);
	run_begin(b);
	run_kernel(b, &n, 6, PLACE(2, 0), PLACE(2, 0), 0, 10, 0);
	run_send(b, 1ull << TICKET_SHIFT);
	/* Another client's runs come back while the first one's spins. */
	b->client = 2;
	device_region(b, 3, 80);
	for (uint64_t i = 0; i < 5; i++) {
		run_begin(b);
		run_kernel(b, &n, 5, PLACE(3, 0), PLACE(3, 0), 0, 10, 0);
		run_end(b, (2ull << TICKET_SHIFT) + i, OK);
	}
	send_simple(b, CMD_PING, 0, 42, 0, -1);
	r = receive(b);
	cr_assert_eq(r.done.head.kind, DONE_PONG);
	cr_assert_eq(r.done.head.ticket, 42);
	send_simple(b, CMD_CANCEL, 0, 1ull << TICKET_SHIFT, 0, -1);
	r = receive(b);
	cr_assert_eq(r.done.head.ticket, 1ull << TICKET_SHIFT);
	cr_assert_eq(r.done.status, E_CANCELLED);
	bench_close(b);
}

Test(cuda_lane, a_cancel_ends_its_job_and_no_other, .timeout = 60)
{
	struct bench *b = bench_open();
	struct nest n = nest_half(10);
	struct reply r;

	kernel(b, 5, &n, PTX_HALF);
	kernel(b, 6, &n, PTX_SPIN);
	device_region(b, 2, 80);
	memset(b->mem, 0, 80);
	doubles(b, 0)[0] = 64;
	run_begin(b);
	run_copy(b, ARENA, 0, 2, 0, 0, 80);
	run_end(b, 1, OK);
	/* Job 3 spins, more of it and of job 4 wait behind. */
	for (uint64_t i = 0; i < 8; i++) {
		run_begin(b);
		run_kernel(b, &n, i == 0 ? 6 : 5, PLACE(2, 0), PLACE(2, 0), 0, 10, 0);
		run_send(b, ((i < 4 ? 3ull : 4ull) << TICKET_SHIFT) + i);
	}
	usleep(50000);
	cr_assert_eq(TICKET_JOB(b->page->thread[0].ticket), 3);
	send_simple(b, CMD_CANCEL, 0, 3ull << TICKET_SHIFT, 0, -1);
	for (uint64_t i = 0; i < 8; i++) {
		r = receive(b);
		cr_assert_eq(r.done.head.ticket, ((i < 4 ? 3ull : 4ull) << TICKET_SHIFT) + i);
		cr_assert_eq(r.done.status, i < 4 ? E_CANCELLED : OK, "%lu: %s", (long)i,
			     r.done.text);
	}
	/* Nothing of the cancel is left in any slot. */
	for (uint64_t i = 0; i < 2 * 4; i++) {
		run_begin(b);
		run_kernel(b, &n, 5, PLACE(2, 0), PLACE(2, 0), 0, 10, 0);
		run_fetch(b, 2, 0, 8);
		r = run_end(b, (5ull << TICKET_SHIFT) + i, OK);
	}
	for (int i = 0; i < 1000 && b->page->thread[0].ticket; i++)
		usleep(1000);
	cr_assert_eq(b->page->thread[0].ticket, 0);
	bench_close(b);
}

Test(cuda_lane, mistakes_fail_the_run_and_not_the_process, .timeout = 60)
{
	struct bench *b = bench_open();
	struct nest n = nest_half(1000);
	struct command_step *s = NULL;
	struct reply r;

	kernel(b, 5, &n, PTX_HALF);
	send_nest(b, 7, &n);
	device_region(b, 2, 8000);
	for (int i = 0; i < 13; i++) {
		run_begin(b);
		run_kernel(b, &n,
			   i == 0   ? 77
			   : i == 1 ? 7
				    : 5,
			   PLACE(i == 2 ? 9 : 2, 0), PLACE(i == 3 ? ARENA : 2, i == 4 ? 8 : 0), 0,
			   1000, 0);
		s = (struct command_step *)(b->packet + sizeof(struct command_run));
		if (i == 5)
			s->naccess = 1;
		else if (i == 6)
			s->bytes = 8;
		else if (i == 7)
			s->hi = 1001;
		else if (i == 8)
			s->lo = -1;
		else if (i == 9)
			b->nstep = 1u << 30;
		else if (i == 10)
			s->split = 3;
		else if (i == 11)
			s->kind = STEP_CALL;
		else if (i == 12)
			s->kind = 9;
		r = run_end(b, 11, E_INTERNAL);
		cr_assert_gt(strlen(r.done.text), 0);
	}
	/* Another client's memory is not this one's. */
	b->client = 2;
	run_begin(b);
	run_kernel(b, &n, 5, PLACE(2, 0), PLACE(2, 0), 0, 1000, 0);
	run_end(b, 12, E_INTERNAL);
	b->client = 1;
	/* Code that is none; the kernel that had good code keeps none of it. */
	r = send_code(b, 7, "no code at all");
	cr_assert_eq(r.done.status, E_COMPILE, "%s", r.done.text);
	run_begin(b);
	run_kernel(b, &n, 7, PLACE(2, 0), PLACE(2, 0), 0, 1000, 0);
	run_end(b, 13, E_COMPILE);
	/* It still serves. */
	run_begin(b);
	run_kernel(b, &n, 5, PLACE(2, 0), PLACE(2, 0), 0, 1000, 0);
	run_end(b, 14, OK);
	send_simple(b, CMD_KERNEL_DROP, 5, 0, 0, -1);
	run_begin(b);
	run_kernel(b, &n, 5, PLACE(2, 0), PLACE(2, 0), 0, 1000, 0);
	run_end(b, 15, E_INTERNAL);
	bench_close(b);
}

/* Of a client's life nothing stays: lanes of many clients, one after the other. */
Test(cuda_lane, many_clients_come_and_go, .timeout = 60)
{
	struct bench *b = bench_open();
	struct nest n = nest_half(10);

	kernel(b, 5, &n, PTX_HALF);
	for (uint64_t i = 0; i < 100; i++) {
		b->client = 10 + i;
		device_region(b, 2, 80);
		run_begin(b);
		run_copy(b, ARENA, 0, 2, 0, 0, 80);
		run_kernel(b, &n, 5, PLACE(2, 0), PLACE(2, 0), 0, 10, 0);
		run_end(b, i + 1, OK);
		region_drop(b, 2);
	}
	bench_close(b);
}

/* How often the stand-in's worker has called a function so far. */
static uint64_t calls(const char *path, const char *function)
{
	struct {
		char name[56];
		uint64_t count;
	} row;
	FILE *f = fopen(path, "re");
	uint64_t n = 0;

	cr_assert(f);
	while (fread(&row, sizeof row, 1, f) == 1)
		n += strcmp(row.name, function) == 0 ? row.count : 0;
	fclose(f);
	return n;
}

/* A cancel must reach the device while the driver holds a client's launches: it never holds
 * so many that the next one waits in it. */
Test(cuda_lane, the_driver_never_holds_many_launches, .timeout = 60)
{
	enum { STEPS = 300, RUNS = 3 };
	struct nest n = nest_half(10);
	struct bench *b = NULL;
	char path[] = "/tmp/braze-calls-XXXXXX", settings[64];
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	close(fd);
	snprintf(settings, sizeof settings, "delay_us=50,count=%s", path);
	standin(settings);
	b = bench_open();
	kernel(b, 5, &n, PTX_HALF);
	device_region(b, 2, 80);
	run_begin(b);
	run_kernel(b, &n, 5, PLACE(2, 0), PLACE(2, 0), 0, 10, 0);
	run_end(b, 1, OK);
	/* The stand-in makes the others by way of it. */
	cr_assert_eq(calls(path, "cuStreamCreateWithPriority"), calls(path, "cuStreamCreate") + 1,
		     "cancels go first");
	uint64_t before = calls(path, "cuStreamSynchronize");
	for (uint64_t i = 0; i < RUNS; i++) {
		run_begin(b);
		for (int k = 0; k < STEPS; k++)
			run_kernel(b, &n, 5, PLACE(2, 0), PLACE(2, 0), 0, 10, 0);
		run_send(b, 2 + i);
	}
	for (int i = 0; i < RUNS; i++)
		cr_assert_eq(receive(b).done.status, OK);
	cr_assert_geq(calls(path, "cuStreamSynchronize") - before, 1);
	bench_close(b);
	unlink(path);
}
