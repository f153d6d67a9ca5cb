/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/kernel_place.c: when a kernel is looked at, which bytes count for its arrays, and what
 * is said. */
#include <criterion/criterion.h>
#include <string.h>

#include "kernel_place.h"

#define BYTES 10000000 /* of each array */

static struct braze_kernel kernel;
static struct braze_session session;
static struct buffer buffer[2];
static struct braze_array array[2], *of[] = {&array[0], &array[1]};
static struct lang_grid grid = {.only = 1};
static struct lang_launch launch;
static struct lang_afar list;
static struct gpu_rates gpu;

/* y from x: 100 ms here; 30 + 5 + 2.5 ms there, and 1 ms for each array that is copied. */
static void begin(void)
{
	memset(&kernel, 0, sizeof kernel);
	memset(buffer, 0, sizeof buffer);
	memset(array, 0, sizeof array);
	memset(&session, 0, sizeof session);
	session.ndevice = 2;
	for (int i = 0; i < 2; i++) {
		buffer[i].version = 1;
		buffer[i].stored = 1;
		buffer[i].bytes = BYTES;
		buffer[i].flags = BUF_LOOPS;
		array[i].buf = &buffer[i];
		array[i].session = &session;
		array[i].count = BYTES / 4;
		array[i].view.dtype = DT_FLOAT32;
	}
	launch = (struct lang_launch){
		.grid = &grid, .work = 1000000000, .turns = 1000000, .arrays = 3, .first = true};
	list = (struct lang_afar){.n = 1, .launch = &launch, .proven = true};
	gpu = (struct gpu_rates){.units = 100,
				 .double_ratio = 2,
				 .memory_rate = 1000000000000,
				 .upload_rate = 10000000000,
				 .download_rate = 10000000000,
				 .capacity = 1000000000,
				 .name = "cuda:0"};
	kernel.spent_us = 1000000;
	kernel.last_us = 100000;
	kernel.work_us = 0;
	braze_kernel_explain(1);
}

static void end(void)
{
	braze_kernel_explain(0);
}

TestSuite(client_place, .init = begin, .fini = end);

static bool goes(void)
{
	return kernel_place(&kernel, &gpu, &list, of, 2);
}

/* Of an instruction, so that a call takes this long here. */
static void takes(double us)
{
	kernel.work_us = us / 1e9;
}

static bool says(const char *text)
{
	return strstr(kernel.afar, text) != NULL;
}

#define THERE (30 + 5 + 1e9 * PLACE_WORK_US / 200)
#define COPY  (BYTES / 10000.0)

static void costs(double us)
{
	takes(2 * us + 1);
	cr_expect(goes(), "%g: %s", us, kernel.afar);
}

static void costs_more_than(double us)
{
	takes(2 * us - 1);
	cr_expect_not(goes(), "%g: %s", us, kernel.afar);
}

/* Twice, as the second look counts otherwise: at both, uses are as given. */
static void costs_about(double us, unsigned uses)
{
	buffer[0].uses = buffer[1].uses = (uint8_t)uses;
	costs(us);
	buffer[0].uses = buffer[1].uses = (uint8_t)uses;
	costs_more_than(us);
}

Test(client_place, a_kernel_is_looked_at_when_its_runs_took_long)
{
	braze_kernel_explain(0);
	cr_expect(kernel_place_asks(&kernel, &session));
	kernel.spent_us = (int64_t)PLACE_LOOPS_US - 1;
	cr_expect_not(kernel_place_asks(&kernel, &session));
	kernel.spent_us = (int64_t)PLACE_LOOPS_US;
	cr_expect(kernel_place_asks(&kernel, &session));
	kernel.last_us = 69;
	cr_expect_not(kernel_place_asks(&kernel, &session), "it is short");
	kernel.last_us = 70;
	cr_expect(kernel_place_asks(&kernel, &session));
	kernel_place_looked(&kernel, kernel.spent_us / 64);
	cr_expect(kernel_place_asks(&kernel, &session));
	kernel_place_looked(&kernel, 1);
	cr_expect_not(kernel_place_asks(&kernel, &session), "looks take their share");
	braze_kernel_explain(1);
	cr_expect(kernel_place_asks(&kernel, &session), "somebody wants to know");
}

Test(client_place, only_a_device_that_nobody_named_is_chosen)
{
	session.device = 1;
	cr_expect(kernel_place_asks(&kernel, &session), "auto in a section");
	session.device = 2;
	cr_expect_not(kernel_place_asks(&kernel, &session), "a section's");
	session.device = 0;
	strcpy(session.asked, "auto");
	cr_expect(kernel_place_asks(&kernel, &session));
	strcpy(session.asked, "cpu");
	cr_expect_not(kernel_place_asks(&kernel, &session));
	strcpy(session.asked, "cuda:0");
	cr_expect_not(kernel_place_asks(&kernel, &session));
	session.device = 1;
	cr_expect(kernel_place_asks(&kernel, &session), "a section's auto");
	session.ndevice = 1;
	cr_expect_not(kernel_place_asks(&kernel, &session), "there is no GPU");
}

Test(client_place, arrays_that_are_here_are_copied_both_ways)
{
	/* x and y up, y down. */
	costs_about(THERE + 3 * COPY, 0);
	costs_about(THERE + 3 * COPY, 1);
	/* Used again and again, as often as so far; at most 16 times. */
	costs_about(THERE + 3 * COPY / 4, 4);
	costs_about(THERE + 3 * COPY / 16, 16);
	costs(THERE + 3 * COPY / 16);
	cr_expect_eq(buffer[0].uses, 16);
}

Test(client_place, arrays_that_are_there_are_not_copied)
{
	buffer[0].there = buffer[1].there = 1;
	buffer[1].stored = 0;
	/* The result lies there only: on the CPU it would be fetched first. */
	costs_about(THERE - COPY / 2, 0);
	/* It was read here after the last loop, and will be again. */
	buffer[1].stored = 1;
	costs_about(THERE + COPY, 16);
	/* The operand was written here meanwhile, and will be again. */
	buffer[0].stored = buffer[0].version = 2;
	costs_about(THERE + 2 * COPY, 16);
	/* An array operation has made another value of it, which nobody has read here. */
	buffer[0].version = 3;
	costs_about(THERE + COPY - COPY / 2, 16);
	/* What is of another connection is nowhere but here. */
	buffer[0].flags |= BUF_APART;
	costs_about(THERE + 2 * COPY, 16);
}

/* Buffers are used again for other arrays. */
Test(client_place, what_was_known_of_an_earlier_array_does_not_count)
{
	for (int i = 0; i < 2; i++) {
		buffer[i].flags = 0;
		buffer[i].uses = 16;
		buffer[i].there = 1;
	}
	costs(THERE + 3 * COPY);
	for (int i = 0; i < 2; i++) {
		cr_expect(buffer[i].flags & BUF_LOOPS);
		cr_expect_eq(buffer[i].uses, 1);
		cr_expect_eq(buffer[i].there, 0);
		buffer[i].flags = 0;
	}
	costs_more_than(THERE + 3 * COPY);
}

Test(client_place, views_of_one_buffer_count_once)
{
	array[0].buf = &buffer[1];
	costs_about(THERE + 2 * COPY, 0);
}

Test(client_place, an_array_that_no_loop_uses_does_not_count)
{
	launch.arrays = 2;
	costs_about(THERE + 2 * COPY, 0);
}

Test(client_place, loops_that_are_several_launches_are_done_once_here)
{
	struct lang_launch three[] = {launch, launch, launch};

	three[1].first = false;
	list.n = 3;
	list.launch = three;
	cr_expect_float_eq(kernel_place_work(&list), 2e9, 1);
	double us = (3 * (THERE - 30) + 30 + 3 * COPY) * 2 / 2e9;

	kernel.work_us = us * 1.01;
	cr_expect(goes(), "%s", kernel.afar);
	buffer[0].uses = buffer[1].uses = 0;
	kernel.work_us = us * 0.99;
	cr_expect_not(goes(), "%s", kernel.afar);
}

Test(client_place, doubles_take_longer_on_most_gpus)
{
	gpu.double_ratio = 64;
	costs_about(THERE + 3 * COPY, 0);
	array[0].view.dtype = DT_FLOAT64;
	array[0].count /= 2;
	costs_about(30 + 5 + (THERE - 35) * 32 + 3 * COPY, 0);
	array[0].view.dtype = DT_INT32;
	grid.nlive = 1;
	grid.type[0] = DT_FLOAT64;
	costs_about(30 + 5 + (THERE - 35) * 32 + 3 * COPY, 0);
	grid.nlive = 0;
}

Test(client_place, what_is_said)
{
	takes(20000);
	cr_expect(goes());
	cr_expect(says("on the GPU: 1 loops, whose turns are threads: about 5535 us there, "
		       "20000 us here\n"),
		  "%s", kernel.afar);
	takes(6000);
	cr_expect_not(goes());
	cr_expect(says("not on the GPU: about "), "%s", kernel.afar);
	cr_expect(says(" us there, 6000 us here\n"), "%s", kernel.afar);
	kernel.spent_us = 150000;
	cr_expect_not(goes());
	cr_expect(says("its runs have taken 150 ms of 200 so far\n"), "%s", kernel.afar);
	kernel.spent_us = 200000;
	gpu.capacity = 4 * BYTES - 1;
	cr_expect_not(goes());
	cr_expect(says("cuda:0 has no room for its arrays"), "%s", kernel.afar);
	gpu.capacity++;
	takes(1e6);
	cr_expect(goes());
	launch.turns = 100;
	takes(1e6);
	cr_expect_not(goes());
	cr_expect(says("a turn would take long"), "%s", kernel.afar);
	list.proven = false;
	cr_expect_not(goes());
	cr_expect(says("a wrong index would be told late there"), "%s", kernel.afar);
}

static braze_kernel *any_kernel(void)
{
	const char text[] = "kernel f(inout x: float64[:]) { x[0] = 1.0 }";
	braze_kernel *k = NULL;
	braze_error err = {0};

	cr_assert(!braze_kernel_create(&k, text, sizeof text - 1, &err), "%s", err.text);
	return k;
}

Test(client_place, runs_that_stay_are_measured)
{
	braze_kernel *k = any_kernel();

	k->hopeless = true; /* there will be no other code */
	kernel_place_stays(k, 1000);
	kernel_place_ran(k, 500);
	cr_expect_float_eq(k->work_us, 0.5, 1e-9);
	cr_expect_eq(k->last_us, 500);
	/* One that nobody has counted. */
	kernel_place_ran(k, 5);
	cr_expect_float_eq(k->work_us, 0.5, 1e-9);
	cr_expect_eq(k->last_us, 5);
	/* Sooner counts at once, later by half. */
	kernel_place_stays(k, 1000);
	kernel_place_ran(k, 300);
	cr_expect_float_eq(k->work_us, 0.3, 1e-9);
	kernel_place_stays(k, 1000);
	kernel_place_ran(k, 500);
	cr_expect_float_eq(k->work_us, 0.4, 1e-9);
	braze_kernel_free(k);
}

Test(client_place, what_is_compiled_meanwhile_tells_nothing)
{
	braze_kernel *k = any_kernel();

	kernel_place_stays(k, 1000);
	kernel_place_ran(k, 500);
	cr_expect_eq(k->work_us, 0);
	cr_expect_eq(k->last_us, 500);
	braze_kernel_free(k);
}

Test(client_place, what_turns_add_is_written_and_read)
{
	static const struct lang_grid adds = {.only = 2, .sums = true, .sum = {.type = DT_FLOAT32}};

	launch.grid = &adds;
	takes(11000);
	cr_expect(goes(), "%s", kernel.afar);
	launch.elements = 600000000; /* 4.8 GB at 1 TB/s, longer than the instructions */
	buffer[0].uses = buffer[1].uses = 0;
	cr_expect_not(goes(), "%s", kernel.afar);
	takes(15000);
	cr_expect(goes(), "%s", kernel.afar);
}
