/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_tune.c and cuda_trial.c: what a worker tells of geometries, tries, and
 * takes from the broker. */
#define _GNU_SOURCE
#include "cuda_bench.h"

#include <time.h>

#include "cuda/cuda_geometry.h"

enum { POINTS = 40000, BYTES = POINTS * 8, KERNEL = 5, SMS = 4 };

/* out[i] = threads of the block * 1.0: a launch tells its geometry. */
#define PTX_THREADS                                                                                \
	PTX_HEAD PTX_ENTRY("bz_map") PTX_BEGIN PTX_POINTS(                                         \
		"ld.param.u64 %rd6, [args+96];\ncvt.rn.f64.u32 %fd3, %r2;\n"                       \
		"mul.lo.u64 %rd12, %rd9, %rd6;\nadd.u64 %rd13, %rd4, %rd12;\n"                     \
		"st.global.f64 [%rd13], %fd3;\n")

static uint64_t ticket = 1 << TICKET_SHIFT;

static struct bench *begin(const char *settings)
{
	struct bench *b = NULL;

	standin(settings);
	b = bench_open();
	device_region(b, 2, BYTES);
	device_region(b, 3, BYTES);
	return b;
}

/* One launch; the first element of its result. */
static double once(struct bench *b, const struct nest *n)
{
	struct reply r;
	double first = 0;

	run_begin(b);
	run_kernel(b, n, KERNEL, PLACE(2, 0), PLACE(3, 0), 0, POINTS, 0);
	run_fetch(b, 3, 0, 8);
	r = run_end(b, ticket += 1 << TICKET_SHIFT, OK);
	memcpy(&first, r.fetched, 8);
	return first;
}

/* The next packet, when one comes within so many milliseconds. */
static bool told(struct bench *b, struct command_geometry *g, int ms)
{
	struct pollfd p = {b->fd, POLLIN, 0};

	if (poll(&p, 1, ms) <= 0)
		return false;
	cr_assert_eq(recv(b->fd, g, sizeof *g, 0), (ssize_t)sizeof *g);
	cr_assert_eq(g->head.kind, DONE_GEOMETRY);
	cr_assert_eq(g->head.id, KERNEL);
	return true;
}

static void send_geometry(struct bench *b, struct cuda_geometry g, uint64_t untried)
{
	struct {
		struct command head;
		struct cuda_geometry g;
	} p = {.head = {.kind = CMD_GEOMETRY, .bytes = sizeof p, .id = KERNEL, .arg = untried},
	       .g = g};

	send_packet(b, &p, sizeof p, -1);
}

TestSuite(cuda_tune, .timeout = 120);

Test(cuda_tune, launches_are_told_once_tried_when_idle_and_then_left_alone)
{
	struct bench *b = begin("sms=4");
	struct nest n = nest_half(POINTS);
	struct command_geometry g;
	double model;

	kernel(b, KERNEL, &n, PTX_THREADS);
	model = once(b, &n);
	cr_assert_eq(b->geometry.geometry.state, GEOMETRY_MODEL);
	cr_assert_eq(b->geometry.geometry.best.threads, model);
	cr_assert_eq(b->geometry.geometry.units, SMS);
	cr_assert_eq(b->geometry.trials, 0);
	memset(&b->geometry, 0, sizeof b->geometry);
	for (int i = 0; i < 60; i++)
		cr_assert_eq(once(b, &n), model);
	cr_assert_eq(b->geometry.head.kind, 0, "it was told twice");
	cr_assert(told(b, &g, 30000), "no trials");
	cr_assert_neq(g.geometry.state, GEOMETRY_MODEL);
	cr_assert_gt(g.trials, 2);
	cr_assert_gt(g.tuning_ns, 0);
	cr_assert_leq(g.geometry.best_ns, g.geometry.model_ns);
	cr_assert_eq(b->page->trial, 0);
	cr_assert_eq(once(b, &n), g.geometry.best.threads, "it is not used");
	for (int i = 0; i < 60; i++)
		once(b, &n);
	cr_assert_not(told(b, &g, 300), "it was tried again");
	bench_close(b);
}

Test(cuda_tune, what_the_broker_has_is_used_without_trials)
{
	struct bench *b = begin("sms=4");
	struct nest n = nest_half(POINTS);
	struct command_geometry g;

	kernel(b, KERNEL, &n, PTX_THREADS);
	once(b, &n);
	g = b->geometry;
	g.geometry.state = GEOMETRY_TUNED;
	g.geometry.best = (struct cuda_shape){.threads = 32, .blocks = 3};
	/* Code anew: a kernel that knows nothing. */
	cr_assert_eq(send_code(b, KERNEL, PTX_THREADS).done.status, OK);
	send_geometry(b, g.geometry, 0);
	for (int i = 0; i < 60; i++)
		cr_assert_eq(once(b, &n), 32);
	cr_assert_not(told(b, &g, 300));
	bench_close(b);
}

Test(cuda_tune, geometries_of_other_gpus_and_nonsense_are_not_used)
{
	struct bench *b = begin("sms=4");
	struct nest n = nest_half(POINTS);
	struct cuda_geometry g;
	double model;

	kernel(b, KERNEL, &n, PTX_THREADS);
	model = once(b, &n);
	for (int k = 0; k < 5; k++) {
		g = b->geometry.geometry;
		g.state = GEOMETRY_TUNED;
		g.best = (struct cuda_shape){.threads = 32, .blocks = 3};
		g.units += k == 0;
		g.entry = k == 1 ? ENTRY_END : g.entry;
		g.state = k == 2 ? GEOMETRY_END : k == 3 ? GEOMETRY_MODEL : g.state;
		g.best.threads = k == 4 ? 0 : 32;
		cr_assert_eq(send_code(b, KERNEL, PTX_THREADS).done.status, OK);
		send_geometry(b, g, 0);
		cr_assert_eq(once(b, &n), model, "case %d", k);
	}
	/* More threads than any entry is made for come down to what it has. */
	g = b->geometry.geometry;
	g.state = GEOMETRY_TUNED;
	g.best = (struct cuda_shape){.threads = 65535, .blocks = UINT32_MAX};
	cr_assert_eq(send_code(b, KERNEL, PTX_THREADS).done.status, OK);
	send_geometry(b, g, 0);
	cr_assert_eq(once(b, &n), 256);
	bench_close(b);
}

Test(cuda_tune, a_kernel_that_ended_a_worker_is_not_tried)
{
	struct bench *b = begin("sms=4");
	struct nest n = nest_half(POINTS);
	struct command_geometry g;

	kernel(b, KERNEL, &n, PTX_THREADS);
	send_geometry(b, (struct cuda_geometry){.units = SMS}, 1);
	for (int i = 0; i < 60; i++)
		once(b, &n);
	cr_assert_not(told(b, &g, 300));
	bench_close(b);
}

/* A driver of which neither registers nor occupancy can be asked. */
Test(cuda_tune, an_older_driver_has_a_model_as_well)
{
	struct bench *b = begin(
		"sms=4,missing=cuFuncGetAttribute:cuOccupancyMaxActiveBlocksPerMultiprocessor");
	struct nest n = nest_half(POINTS);
	struct command_geometry g;

	kernel(b, KERNEL, &n, PTX_THREADS);
	cr_assert_eq(once(b, &n), 256);
	cr_assert_eq(b->geometry.geometry.model.threads, 256);
	cr_assert_geq(b->geometry.geometry.model.blocks, 8);
	for (int i = 0; i < 60; i++)
		once(b, &n);
	cr_assert(told(b, &g, 30000));
	bench_close(b);
}

/* The worker's end in the middle of trials leaves neither memory nor threads. */
Test(cuda_tune, the_end_comes_in_the_middle_of_trials)
{
	struct bench *b = begin("sms=4,delay_us=3000");
	struct nest n = nest_half(POINTS);
	struct timespec pause = {0, 120000000};

	kernel(b, KERNEL, &n, PTX_THREADS);
	for (int i = 0; i < 4; i++)
		once(b, &n);
	nanosleep(&pause, NULL);
	bench_close(b);
}
