/* SPDX-License-Identifier: Apache-2.0 */
/* form/place.h: where the loops of a client's kernel go, on both sides of each bound. */
#include <criterion/criterion.h>
#include <string.h>

#include "form/place.h"

static struct place_device device;

static void begin(void)
{
	device = (struct place_device){.number = 2, .name = "cuda:0"};
	place_describe(&device, 1e12, 100, 2, 10000, 5000);
}

TestSuite(place_kernels, .init = begin);

/* 2000 us here and 1000 there, of which 30 are its beginning and its end. */
static struct place_call even(void)
{
	return (struct place_call){.work = 4e6,
				   .turn_work = 100,
				   .last_us = 1e9,
				   .spent_us = PLACE_LOOPS_US,
				   .threads = 1,
				   .whole_bytes = 1e6,
				   .capacity = 1e9,
				   .loops_us = 970};
}

static enum place_verdict of(const struct place_call *c)
{
	double here, there;

	return place_loops(&here, &there, c, &device);
}

/* What is not named is as in even(): with `at` it goes there still, with `beyond` it does not. */
#define BOUND(field, at, beyond, why)                                                              \
	do {                                                                                       \
		struct place_call c_ = even();                                                     \
		c_.field = (at);                                                                   \
		cr_expect_eq(of(&c_), PLACE_LOOPS_THERE, #field " %g: %d", (double)(at), of(&c_)); \
		c_.field = (beyond);                                                               \
		cr_expect_eq(of(&c_), why, #field " %g: %d", (double)(beyond), of(&c_));           \
	} while (0)

Test(place_kernels, what_a_call_takes_here)
{
	struct place_call c = even();
	double here, there;

	cr_assert_eq(place_loops(&here, &there, &c, &device), PLACE_LOOPS_THERE);
	cr_expect_float_eq(here, 2000, 1e-6);
	cr_expect_float_eq(there, 1000, 1e-6);
	c.threads = 4;
	cr_expect_eq(place_loops(&here, &there, &c, &device), PLACE_LOOPS_HERE);
	cr_expect_float_eq(here, 500, 1e-6);
	/* Measured, it is of all threads. */
	c.work_us = 0.001;
	cr_expect_eq(place_loops(&here, &there, &c, &device), PLACE_LOOPS_THERE);
	cr_expect_float_eq(here, 4000, 1e-6);
	/* And what the last run took does not count any more. */
	c.last_us = 1;
	place_loops(&here, &there, &c, &device);
	cr_expect_float_eq(here, 4000, 1e-6);
	c.fetch_bytes = 5000 * 77;
	place_loops(&here, &there, &c, &device);
	cr_expect_float_eq(here, 4077, 1e-6);
}

Test(place_kernels, bounds)
{
	BOUND(spent_us, PLACE_LOOPS_US, PLACE_LOOPS_US - 1, PLACE_LOOPS_SOON);
	BOUND(work, 4e6, 3.99e6, PLACE_LOOPS_HERE);
	BOUND(loops_us, 970, 971, PLACE_LOOPS_HERE);
	BOUND(work_us, 0.0005, 0.000499, PLACE_LOOPS_HERE);
	BOUND(last_us, 2000, 1999, PLACE_LOOPS_HERE);
	BOUND(threads, 1, 2, PLACE_LOOPS_HERE);
	BOUND(up_bytes, 0, 10000, PLACE_LOOPS_HERE);
	BOUND(down_bytes, 0, 5000, PLACE_LOOPS_HERE);
	BOUND(whole_bytes, 5e8, 5e8 + 1, PLACE_LOOPS_ROOM);
	BOUND(capacity, 2e6, 2e6 - 1, PLACE_LOOPS_ROOM);
	/* A thread is a tenth of a core: 20 ms. */
	BOUND(turn_work, 4e6, 4e6 + 1, PLACE_LOOPS_LONG);
}

Test(place_kernels, copies_count_by_the_links_rates)
{
	struct place_call c = even();
	double here, there;

	c.loops_us = 10;
	c.up_bytes = 10000 * 300;
	c.down_bytes = 5000 * 660;
	cr_expect_eq(place_loops(&here, &there, &c, &device), PLACE_LOOPS_THERE);
	cr_expect_float_eq(there, 1000, 1e-6);
	c.down_bytes += 5000;
	cr_expect_eq(of(&c), PLACE_LOOPS_HERE);
	/* What lies there only would have to be fetched. */
	c.fetch_bytes = 5000 * 2;
	cr_expect_eq(of(&c), PLACE_LOOPS_THERE);
}

Test(place_kernels, a_turn_that_was_measured_to_take_long)
{
	struct place_call c = even();

	c.work_us = 0.01;
	c.threads = 2;
	c.turn_work = 1e5;
	cr_expect_eq(of(&c), PLACE_LOOPS_THERE, "20 ms");
	c.threads = 3;
	cr_expect_eq(of(&c), PLACE_LOOPS_LONG, "30 ms");
}

Test(place_kernels, an_instruction_takes_what_was_measured_or_more)
{
	struct place_call c = even();

	cr_expect_float_eq(place_work_us(&c), PLACE_WORK_US, 1e-12);
	c.work_us = PLACE_WORK_US / 8; /* vectors do not tell of threads */
	cr_expect_float_eq(place_work_us(&c), PLACE_WORK_US, 1e-12);
	c.threads = 16;
	cr_expect_float_eq(place_work_us(&c), PLACE_WORK_US * 2, 1e-12);
}

Test(place_kernels, loops_on_the_device)
{
	struct place_loop l = {.work = 1e8, .turns = 1e5};
	double math = 1e8 * PLACE_WORK_US / 200, bytes = 1e8 / (0.8 * 1e6);

	cr_expect_float_eq(place_loop_us(&l, &device, PLACE_WORK_US), 5 + math, 1e-6);
	l.touched_bytes = 1e9;
	/* An instruction touches no more than four bytes. */
	cr_expect_float_eq(place_loop_us(&l, &device, PLACE_WORK_US), 5 + 4 * bytes, 1e-6);
	cr_expect_gt(4 * bytes, math);
	l.touched_bytes = 3e8;
	cr_expect_float_eq(place_loop_us(&l, &device, PLACE_WORK_US), 5 + 3 * bytes, 1e-6);
	cr_expect_lt(bytes, math);
	l.touched_bytes = 1e8;
	cr_expect_float_eq(place_loop_us(&l, &device, PLACE_WORK_US), 5 + math, 1e-6);
	/* Few turns are few threads: 100 of them are 10 cores. */
	l.turns = 100;
	cr_expect_float_eq(place_loop_us(&l, &device, PLACE_WORK_US), 5 + 20 * math, 1e-6);
	l.turns = 2000;
	cr_expect_float_eq(place_loop_us(&l, &device, PLACE_WORK_US), 5 + math, 1e-6);
	/* Little work goes through a part of large arrays only. */
	l = (struct place_loop){.work = 1000, .turns = 100, .touched_bytes = 1e9};
	cr_expect_lt(place_loop_us(&l, &device, PLACE_WORK_US), 6);
	/* In double precision. */
	place_describe(&device, 1e12, 100, 64, 10000, 5000);
	l = (struct place_loop){.work = 1e8, .turns = 1e5};
	cr_expect_float_eq(place_loop_us(&l, &device, PLACE_WORK_US), 5 + math, 1e-6);
	l.doubles = true;
	cr_expect_float_eq(place_loop_us(&l, &device, PLACE_WORK_US), 5 + 32 * math, 1e-6);
}

Test(place_kernels, what_was_sent_stays_so)
{
	struct place_facts f = {.launches = 3, .upload_bytes = 2000000, .cpu_us = 1};
	struct place p = {0};

	cr_expect_eq(place_send(&p, &f, &device), device.number);
	cr_expect_eq(p.state, PLACE_FINAL);
	cr_expect_str_eq(p.text, "loops that their client sent there (2.0 MB to move, 3 launches)");
	place_measured(&p, 1e9, device.number, device.name);
	cr_expect_eq(place_choose(&p, &f, &device), device.number);
}
