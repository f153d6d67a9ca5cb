/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA worker's ends: a lost context, a kernel that hangs; what the page names. */
#define _GNU_SOURCE
#include "cuda_bench.h"

#include <criterion/parameterized.h>

/* The rows of the page that name something. */
static int suspects(const struct bench *b, uint64_t *ticket, uint32_t *step, uint32_t *kernel_id)
{
	int n = 0;

	for (int i = 0; i < PROGRESS_THREADS; i++) {
		if (!b->page->thread[i].ticket)
			continue;
		*ticket = b->page->thread[i].ticket;
		*step = b->page->thread[i].step;
		*kernel_id = b->page->thread[i].kernel;
		n++;
	}
	return n;
}

/* Steps 0 and 1 are good, 2 is not, 3 comes after. */
static void bad_run(struct bench *b, const struct nest *n, uint32_t bad)
{
	run_begin(b);
	for (int i = 0; i < 4; i++)
		run_kernel(b, n, i == 2 ? bad : 5, PLACE(2, 0), PLACE(2, 0), 0, 10, 0);
	run_send(b, (3ull << TICKET_SHIFT) + 1);
}

struct fatal {
	char settings[64];
	char code[1500];
};

ParameterizedTestParameters(cuda_watch, a_lost_context_names_the_step)
{
	static struct fatal cases[] = {{"", PTX_STRAY},
				       {"", PTX_ODD},
				       {"", PTX_TRAP},
				       {"missing=cuStreamWriteValue32_v2", PTX_STRAY},
				       {"missing=cuGraphCreate:cuMemPoolCreate", PTX_STRAY}};

	return cr_make_param_array(struct fatal, cases, sizeof cases / sizeof *cases);
}

ParameterizedTest(struct fatal *f, cuda_watch, a_lost_context_names_the_step, .timeout = 60)
{
	struct bench *b = NULL;
	struct nest n = nest_half(10);
	uint64_t ticket = 0;
	uint32_t step = 0, id = 0;

	standin(f->settings);
	b = bench_open();
	kernel(b, 5, &n, PTX_HALF);
	kernel(b, 6, &n, f->code);
	/* Another client, whose runs are done: no suspect. */
	b->client = 2;
	device_region(b, 3, 80);
	run_begin(b);
	run_kernel(b, &n, 5, PLACE(3, 0), PLACE(3, 0), 0, 10, 0);
	run_end(b, 2ull << TICKET_SHIFT, OK);
	b->client = 1;
	device_region(b, 2, 80);
	bad_run(b, &n, 6);
	cr_assert_eq(bench_wait(b), 3);
	cr_assert_eq(suspects(b, &ticket, &step, &id), 1);
	cr_assert_eq(ticket, (3ull << TICKET_SHIFT) + 1);
	cr_assert_eq(step, 2, "step %u", step);
	cr_assert_eq(id, 6);
	bench_free(b);
}

Test(cuda_watch, a_hang_ends_the_worker, .timeout = 60)
{
	struct bench *b = NULL;
	struct nest n = nest_half(10);
	uint64_t ticket = 0;
	uint32_t step = 0, id = 0;
	struct reply r;

	setenv("BRAZE_WORKER_HANG_MS", "300", 1);
	setenv("BRAZE_WORKER_GRACE_MS", "200", 1);
	b = bench_open();
	kernel(b, 5, &n, PTX_HALF);
	kernel(b, 6, &n, PTX_STUCK);
	device_region(b, 2, 80);
	bad_run(b, &n, 6);
	/* Meanwhile it answers. */
	usleep(100000);
	send_simple(b, CMD_PING, 0, 42, 0, -1);
	r = receive(b);
	cr_assert_eq(r.done.head.kind, DONE_PONG);
	cr_assert_eq(bench_wait(b), 4);
	cr_assert_eq(suspects(b, &ticket, &step, &id), 1);
	cr_assert_eq(ticket, (3ull << TICKET_SHIFT) + 1);
	cr_assert_eq(step, 2);
	cr_assert_eq(id, 6);
	bench_free(b);
}

Test(cuda_watch, a_hang_that_can_be_stopped_fails_its_run_only, .timeout = 60)
{
	struct bench *b = NULL;
	struct nest n = nest_half(10);
	struct reply r;

	setenv("BRAZE_WORKER_HANG_MS", "300", 1);
	setenv("BRAZE_WORKER_GRACE_MS", "20000", 1);
	b = bench_open();
	kernel(b, 5, &n, PTX_HALF);
	kernel(b, 6, &n, PTX_SPIN);
	device_region(b, 2, 80);
	bad_run(b, &n, 6);
	r = receive(b);
	cr_assert_eq(r.done.head.ticket, (3ull << TICKET_SHIFT) + 1);
	cr_assert_eq(r.done.status, E_TIMEOUT, "%s", r.done.text);
	run_begin(b);
	run_kernel(b, &n, 5, PLACE(2, 0), PLACE(2, 0), 0, 10, 0);
	run_end(b, 4ull << TICKET_SHIFT, OK);
	bench_close(b);
}

/* The client that hangs is stopped, the one that waits behind it is not. */
Test(cuda_watch, of_two_that_stall_the_first_is_stopped, .timeout = 60)
{
	struct bench *b = NULL;
	struct nest n = nest_half(10);
	struct reply r;

	setenv("BRAZE_WORKER_HANG_MS", "400", 1);
	setenv("BRAZE_WORKER_GRACE_MS", "20000", 1);
	b = bench_open();
	kernel(b, 6, &n, PTX_SPIN);
	device_region(b, 2, 80);
	bad_run(b, &n, 6);
	usleep(200000);
	b->client = 2;
	device_region(b, 3, 80);
	run_begin(b);
	run_kernel(b, &n, 6, PLACE(3, 0), PLACE(3, 0), 0, 10, 0);
	run_send(b, 9ull << TICKET_SHIFT);
	r = receive(b);
	cr_assert_eq(r.done.head.ticket, (3ull << TICKET_SHIFT) + 1);
	send_simple(b, CMD_CANCEL, 0, 9ull << TICKET_SHIFT, 0, -1);
	r = receive(b);
	cr_assert_eq(r.done.head.ticket, 9ull << TICKET_SHIFT);
	cr_assert_eq(r.done.status, E_CANCELLED, "%s", r.done.text);
	bench_close(b);
}

Test(cuda_watch, the_broker_goes_during_a_run, .timeout = 60)
{
	struct bench *b = bench_open();
	struct nest n = nest_half(10);

	kernel(b, 6, &n, PTX_SPIN);
	device_region(b, 2, 80);
	run_begin(b);
	run_kernel(b, &n, 6, PLACE(2, 0), PLACE(2, 0), 0, 10, 0);
	run_send(b, 1);
	usleep(50000);
	bench_close(b);
}

/* An error that may mean the context: the next call tells. */
Test(cuda_watch, an_unknown_error_that_passes_fails_its_run_only, .timeout = 60)
{
	struct bench *b = NULL;

	standin("fail=cuMemcpyDtoHAsync_v2:1:999,fail=cuMemcpyDtoHAsync_v2:2:401");
	b = bench_open();
	device_region(b, 2, 80);
	for (uint64_t i = 0; i < 3; i++) {
		run_begin(b);
		run_copy(b, 2, 0, ARENA, 0, 0, 80);
		run_end(b, i + 1, i < 2 ? E_DEVICE : OK);
	}
	bench_close(b);
}

Test(cuda_watch, an_unknown_error_that_stays_ends_the_worker, .timeout = 60)
{
	struct bench *b = NULL;
	struct nest n = nest_half(10);

	standin("fault=cuLaunchKernel:1:999");
	b = bench_open();
	kernel(b, 5, &n, PTX_HALF);
	device_region(b, 2, 80);
	bad_run(b, &n, 5);
	cr_assert_eq(bench_wait(b), 3);
	bench_free(b);
}

Test(cuda_watch, without_a_watch_nothing_hangs, .timeout = 60)
{
	struct bench *b = NULL;
	struct nest n = nest_half(10);
	struct reply r;

	setenv("BRAZE_WORKER_HANG_MS", "0", 1);
	setenv("BRAZE_WORKER_GRACE_MS", "1", 1);
	b = bench_open();
	kernel(b, 6, &n, PTX_SPIN);
	device_region(b, 2, 80);
	run_begin(b);
	run_kernel(b, &n, 6, PLACE(2, 0), PLACE(2, 0), 0, 10, 0);
	run_send(b, 1ull << TICKET_SHIFT);
	usleep(300000);
	send_simple(b, CMD_CANCEL, 0, 1ull << TICKET_SHIFT, 0, -1);
	r = receive(b);
	cr_assert_eq(r.done.status, E_CANCELLED);
	bench_close(b);
}
