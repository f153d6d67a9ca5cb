/* SPDX-License-Identifier: Apache-2.0 */
/* Volleys that come again, replayed as graphs: the same results, bounded, cancellable. */
#define _GNU_SOURCE
#include "cuda_bench.h"

enum { N = 700 };

static double *doubles(struct bench *b, uint64_t at)
{
	return (double *)(b->mem + at);
}

/* `steps` halvings from region to region, ending in `to`. */
static void halve(struct bench *b, const struct nest *n, uint32_t from, uint32_t to, int steps)
{
	for (int i = 0; i < steps; i++)
		run_kernel(b, n, 5, PLACE(i == 0 ? from : to, 0), PLACE(to, 0), 0, n->extent[0], 0);
}

static struct bench *begin(const char *settings, const struct nest *n)
{
	struct bench *b = NULL;

	standin(settings);
	b = bench_open();
	kernel(b, 5, n, PTX_HALF);
	for (uint32_t i = 2; i < 6; i++)
		device_region(b, i, N * 8);
	for (int i = 0; i < N; i++)
		doubles(b, 0)[i] = 4096.0 * (i + 1);
	return b;
}

static void expect(struct bench *b, double factor)
{
	for (int i = 0; i < N; i++)
		cr_assert_eq(doubles(b, 1 << 20)[i], 4096.0 * (i + 1) * factor, "%d: %g", i,
			     doubles(b, 1 << 20)[i]);
}

/* Each turn with other operands than the last. */
static void turns(struct bench *b, const struct nest *n, int from, int count)
{
	for (int i = from; i < from + count; i++) {
		uint32_t in = 2 + (uint32_t)i % 2, out = 4 + (uint32_t)i / 2 % 2;

		memset(b->mem + (1 << 20), 0, N * 8);
		run_begin(b);
		run_copy(b, ARENA, 0, in, 0, 0, N * 8);
		halve(b, n, in, out, 5);
		run_copy(b, out, 0, ARENA, 1 << 20, 0, N * 8);
		run_end(b, (uint64_t)i + 1, OK);
		expect(b, 1.0 / 32);
	}
}

Test(cuda_graph, a_replay_gives_what_launches_give, .timeout = 60)
{
	struct nest n = nest_half(N);
	struct bench *b = begin("", &n);

	turns(b, &n, 0, 9);
	bench_close(b);
}

/* The second volley of a kind is a graph: its launch can be made to fail. */
Test(cuda_graph, the_second_time_it_is_a_graph, .timeout = 60)
{
	struct nest n = nest_half(N);
	struct bench *b = begin("fail=cuGraphLaunch:1:1", &n);

	turns(b, &n, 0, 1);
	run_begin(b);
	halve(b, &n, 2, 4, 5);
	run_end(b, 2, E_INTERNAL);
	turns(b, &n, 2, 3);
	bench_close(b);
}

Test(cuda_graph, without_graphs_it_works_as_well, .timeout = 60)
{
	static const char *const settings[] = {"missing=cuGraphCreate",
					       "fail=cuGraphInstantiateWithFlags:1:801"};

	for (int i = 0; i < 2; i++) {
		struct nest n = nest_half(N);
		struct bench *b = begin(settings[i], &n);

		turns(b, &n, 0, 4);
		bench_close(b);
	}
}

Test(cuda_graph, few_are_kept, .timeout = 120)
{
	struct nest n = nest_half(N);
	struct bench *b = begin("", &n);
	uint64_t ticket = 1;

	/* Fifty kinds of volleys, told apart by their length. */
	for (int turn = 0; turn < 3; turn++) {
		for (int steps = 4; steps < 54; steps++) {
			run_begin(b);
			run_copy(b, ARENA, 0, 2, 0, 0, N * 8);
			halve(b, &n, 2, 3, steps);
			run_copy(b, 3, 0, ARENA, 1 << 20, 0, N * 8);
			run_end(b, ticket++, OK);
			expect(b, 1.0 / (double)(1ull << steps));
		}
	}
	bench_close(b);
}

Test(cuda_graph, it_keeps_its_kernels, .timeout = 60)
{
	struct nest n = nest_half(N);
	struct bench *b = begin("", &n);

	for (int i = 0; i < 4; i++) {
		turns(b, &n, 10 * i, 3);
		if (i % 2)
			send_simple(b, CMD_KERNEL_DROP, 5, 0, 0, -1);
		kernel(b, 5, &n, PTX_HALF);
	}
	bench_close(b);
}

Test(cuda_graph, it_can_be_cancelled, .timeout = 60)
{
	struct nest n = nest_half(N);
	struct bench *b = begin("", &n);

	kernel(b, 6, &n, PTX_SPIN);
	for (uint64_t job = 1; job < 5; job++) {
		struct reply r;

		run_begin(b);
		halve(b, &n, 2, 4, 4);
		run_kernel(b, &n, 6, PLACE(2, 0), PLACE(4, 0), 0, N, 0);
		run_send(b, job << TICKET_SHIFT);
		usleep(20000);
		send_simple(b, CMD_CANCEL, 0, job << TICKET_SHIFT, 0, -1);
		r = receive(b);
		cr_assert_eq(r.done.head.ticket, job << TICKET_SHIFT);
		cr_assert_eq(r.done.status, E_CANCELLED);
	}
	turns(b, &n, 0, 3);
	bench_close(b);
}
