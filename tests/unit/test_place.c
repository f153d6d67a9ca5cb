/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "form/place.h"

#define CUDA 2

static struct place place;
static struct place_device device;

static void begin(void)
{
	memset(&place, 0, sizeof place);
	device = (struct place_device){.number = CUDA, .name = "cuda:0"};
	place_describe(&device, 1e12, 100, 2, 0, 0);
}

TestSuite(place, .init = begin);

static uint8_t choose(const struct place_facts *f)
{
	return place_choose(&place, f, &device);
}

/* Runs until the device changes or `most` are done; each takes so long on the CPU, so
 * long on the device.  How many were made before the change. */
static int run(const struct place_facts *f, int most, double cpu_us, double cuda_us)
{
	uint8_t first = 0;

	for (int i = 0; i < most; i++) {
		uint8_t now = choose(f);

		first = first ? first : now;
		if (now != first)
			return i;
		place_measured(&place, now == CUDA ? cuda_us : cpu_us, now, "cuda:0");
	}
	return most;
}

static bool says(const char *text)
{
	return strstr(place.text, text) != NULL;
}

Test(place, tiny_programs_stay_on_the_cpu)
{
	struct place_facts f = {.launches = 1, .steps_us = 5, .cpu_us = 5, .compiled = true};

	cr_assert_eq(choose(&f), PLACE_CPU);
	cr_assert(says("predicted 35 us on cuda:0 (0.0 MB to move, 1 launches), 5 us on the CPU"),
		  "%s", place.text);
	cr_assert_eq(run(&f, 9, 6, 1), 9);
	cr_assert_eq(place.state, PLACE_FINAL);
}

Test(place, programs_that_mostly_move_bytes_stay_on_the_cpu)
{
	struct place_facts f = {.launches = 1,
				.steps_us = 1600,
				.cpu_us = 20000,
				.upload_bytes = 400000000,
				.download_bytes = 400000000,
				.copies = 2,
				.compiled = true};

	cr_assert_eq(choose(&f), PLACE_CPU);
	cr_assert(says("800.0 MB to move"), "%s", place.text);
}

Test(place, a_link_that_was_measured_counts_as_it_is)
{
	struct place_facts f = {
		.launches = 1, .cpu_us = 20000, .upload_bytes = 400000000, .compiled = true};

	place_describe(&device, 1e12, 100, 2, 50000, 0);
	cr_assert_eq(choose(&f), CUDA, "8 ms of copies");
	begin();
	place_describe(&device, 1e12, 100, 2, 5000, 0);
	cr_assert_eq(choose(&f), PLACE_CPU, "80 ms of copies");
}

Test(place, what_is_read_again_is_worth_its_copy)
{
	struct place_facts f = {
		.launches = 1, .cpu_us = 20000, .upload_bytes = 400000000, .compiled = true};

	f.where = PLACE_AGAIN;
	cr_assert_eq(choose(&f), CUDA, "%s", place.text);
	begin();
	f.cpu_us = 2000;
	cr_assert_eq(choose(&f), PLACE_CPU, "the copy would not be paid back in 16 runs");
}

Test(place, chains_on_resident_arrays_go_to_the_device)
{
	struct place_facts f = {.where = PLACE_DEVICE,
				.launches = 2,
				.cpu_us = 50000,
				.steps_us = 2000,
				.compiled = true};

	cr_assert_eq(choose(&f), CUDA);
	cr_assert(says("predicted 2030 us on cuda:0"), "%s", place.text);
}

Test(place, what_the_cpu_would_have_to_fetch_counts_against_it)
{
	struct place_facts f = {.launches = 1, .cpu_us = 100, .steps_us = 100, .compiled = true};

	f.fetch_bytes = 8000000;
	cr_assert_eq(choose(&f), CUDA);
	begin();
	f.fetch_bytes = 0;
	cr_assert_eq(choose(&f), PLACE_CPU);
}

Test(place, steps_take_the_longer_of_bytes_and_arithmetic)
{
	struct place_step s = {.touched_bytes = 800000000, .math_us = 20000, .launches = 1};
	double bytes = 5 + 800000000 / (0.8 * 1e6);

	cr_assert_float_eq(place_step_us(&s, &device), bytes, 1e-6);
	s.math_us = 1e6;
	cr_assert_float_eq(place_step_us(&s, &device), 5 + 1e6 / 200, 1e-6);
	s.doubles = true;
	cr_assert_float_eq(place_step_us(&s, &device), 5 + 1e6 / 200, 1e-6);
	place_describe(&device, 1e12, 100, 64, 0, 0);
	cr_assert_float_eq(place_step_us(&s, &device), 5 + 32 * 1e6 / 200, 1e-6);
	s.product = true;
	cr_assert_float_eq(place_step_us(&s, &device), 5 + 32 * 1e6 / 800, 1e-6);
}

Test(place, a_device_that_says_nothing_is_assumed_to_be_ordinary)
{
	place_describe(&device, 0, 0, 0, 0, 0);
	cr_assert_gt(device.memory_bytes_us, 0);
	cr_assert_gt(device.up_bytes_us, 0);
	cr_assert_gt(device.down_bytes_us, 0);
	cr_assert_gt(device.math_gain, 1);
	cr_assert_eq(device.double_loss, 1);
}

Test(place, the_compiler_is_not_waited_for_unless_it_pays)
{
	struct place_facts f = {.launches = 1, .cpu_us = 20000, .steps_us = 100};

	for (int i = 0; i < 4; i++) {
		cr_assert_eq(choose(&f), PLACE_CPU);
		cr_assert(place.wants, "it is compiled meanwhile");
		cr_assert_neq(place.state, PLACE_FINAL);
		place_measured(&place, 20000, PLACE_CPU, "cuda:0");
	}
	cr_assert(says("compiled meanwhile"), "%s", place.text);
	f.compiled = true;
	cr_assert_eq(choose(&f), CUDA);
	cr_assert_not(place.wants);
	begin();
	f = (struct place_facts){.launches = 1, .cpu_us = 1000000};
	cr_assert_eq(choose(&f), CUDA);
	begin();
	f = (struct place_facts){.launches = 1, .cpu_us = 1};
	cr_assert_eq(choose(&f), PLACE_CPU);
	cr_assert_not(place.wants, "the CPU is better anyway");
}

Test(place, a_choice_stays_as_it_is)
{
	struct place_facts f = {.launches = 1, .cpu_us = 50000, .compiled = true};

	cr_assert_eq(choose(&f), CUDA);
	f.cpu_us = 1;
	for (int i = 0; i < 5; i++)
		cr_assert_eq(choose(&f), CUDA);
}

Test(place, a_run_as_predicted_confirms_it)
{
	struct place_facts f = {.launches = 1, .cpu_us = 50000, .compiled = true};

	cr_assert_eq(run(&f, 3, 50000, 60), 3);
	cr_assert_eq(place.state, PLACE_FINAL);
	cr_assert(says("; measured 90 us on cuda:0"), "%s", place.text);
	cr_assert_eq(run(&f, 5, 50000, 90000), 5, "nothing changes it any more");
	cr_assert_not(place.corrected);
}

Test(place, a_slow_device_is_left_once)
{
	struct place_facts f = {.launches = 1, .cpu_us = 50000, .compiled = true};

	cr_assert_eq(run(&f, 9, 40000, 90000), 3, "the first run does not count");
	cr_assert_eq(run(&f, 9, 40000, 90000), 9);
	cr_assert(place.corrected);
	cr_assert_eq(place.state, PLACE_FINAL);
	cr_assert(says("; measured 90030 us on cuda:0; tried on the CPU: 40000 us; "
		       "corrected to the CPU"),
		  "%s", place.text);
	cr_assert_eq(run(&f, 9, 1e9, 1), 9);
}

Test(place, a_cpu_that_is_slower_still_is_left_again)
{
	struct place_facts f = {.launches = 1, .cpu_us = 50000, .compiled = true};

	cr_assert_eq(run(&f, 9, 99000, 90000), 3);
	cr_assert_eq(run(&f, 9, 99000, 90000), 3);
	cr_assert_eq(run(&f, 9, 99000, 90000), 9);
	cr_assert_eq(place.device, CUDA);
	cr_assert_not(place.corrected);
	cr_assert(says("tried on the CPU: 99000 us; it stays on cuda:0"), "%s", place.text);
}

Test(place, a_slow_cpu_is_left_for_the_device)
{
	struct place_facts f = {.launches = 1, .cpu_us = 100, .steps_us = 200, .compiled = false};

	cr_assert_eq(choose(&f), PLACE_CPU);
	cr_assert_eq(run(&f, 3, 900, 50), 3);
	cr_assert_eq(place.state, PLACE_TRIED);
	cr_assert_eq(choose(&f), PLACE_CPU, "until its kernels are compiled");
	cr_assert(place.wants);
	f.compiled = true;
	cr_assert_eq(run(&f, 9, 900, 50), 9);
	cr_assert_eq(place.device, CUDA);
	cr_assert(place.corrected);
	cr_assert(says("measured 900 us on the CPU; tried on cuda:0: 80 us; corrected to cuda:0"),
		  "%s", place.text);
}

Test(place, the_device_is_tried_when_it_is_nearly_as_good)
{
	struct place_facts f = {.launches = 1, .cpu_us = 100, .steps_us = 120, .compiled = true};

	cr_assert_eq(run(&f, 9, 100, 300), 3);
	cr_assert_eq(run(&f, 9, 100, 300), 3);
	cr_assert_eq(place.device, PLACE_CPU);
	cr_assert(says("tried on cuda:0: 330 us; it stays on the CPU"), "%s", place.text);
	begin();
	f.steps_us = 400;
	cr_assert_eq(run(&f, 9, 100, 1), 9, "not when it is predicted to be far worse");
}

/* What a run cost that was made elsewhere says nothing. */
Test(place, only_runs_where_it_was_chosen_count)
{
	struct place_facts f = {.launches = 1, .cpu_us = 50000, .compiled = true};

	cr_assert_eq(choose(&f), CUDA);
	for (int i = 0; i < 5; i++)
		place_measured(&place, 1e6, PLACE_CPU, "cuda:0");
	cr_assert_eq(place.state, PLACE_MEASURED);
}

Test(place, what_the_device_cannot_run_goes_to_the_cpu)
{
	struct place_facts f = {.launches = 1, .cpu_us = 50000, .compiled = true};

	place_refuse(&place, false, "kernel %d cannot be had", 7);
	cr_assert(says("kernel 7 cannot be had"));
	cr_assert_eq(choose(&f), CUDA, "another time it can");
	place_refuse(&place, true, "kernel 7 is quarantined");
	cr_assert_eq(choose(&f), PLACE_CPU);
	cr_assert(says("kernel 7 is quarantined"));
}
