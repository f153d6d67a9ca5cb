/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "plan/place.h"

#define CUDA 2

static struct place place;

static void forget(void)
{
	memset(&place, 0, sizeof place);
}

TestSuite(place, .init = forget);

static uint8_t choose(const struct place_facts *f)
{
	return place_choose(&place, f, CUDA, "cuda:0");
}

Test(place, tiny_programs_stay_on_the_cpu)
{
	struct place_facts f = {
		.launches = 1, .cpu_us = 5, .touched_bytes = 8000, .compiled = true};

	cr_assert_eq(choose(&f), 1);
	cr_assert(strstr(place.text, "cpu: predicted"), "%s", place.text);
}

Test(place, programs_that_mostly_move_bytes_stay_on_the_cpu)
{
	struct place_facts f = {.launches = 1,
				.cpu_us = 20000,
				.upload_bytes = 800000000,
				.touched_bytes = 800000000,
				.compiled = true};

	cr_assert_eq(choose(&f), 1);
}

Test(place, chains_on_resident_arrays_go_to_the_device)
{
	struct place_facts f = {
		.launches = 2, .cpu_us = 50000, .touched_bytes = 1600000000, .compiled = true};

	cr_assert_eq(choose(&f), CUDA);
	cr_assert(strstr(place.text, "cuda:0: predicted"), "%s", place.text);
}

Test(place, what_the_cpu_would_have_to_fetch_counts_against_it)
{
	struct place_facts f = {.launches = 1, .cpu_us = 100, .touched_bytes = 8000000};

	f.compiled = true;
	f.fetch_bytes = 8000000;
	cr_assert_eq(choose(&f), CUDA);
	forget();
	f.fetch_bytes = 0;
	f.cpu_us = 10;
	cr_assert_eq(choose(&f), 1);
}

Test(place, the_first_run_does_not_wait_for_the_compiler_unless_it_pays)
{
	struct place_facts f = {.launches = 1, .cpu_us = 20000, .touched_bytes = 8000000};

	cr_assert_eq(choose(&f), 1);
	cr_assert_not(place.final);
	cr_assert_eq(choose(&f), CUDA, "from the second run on it is worth it");
	cr_assert(place.final);
	forget();
	f.cpu_us = 1000000;
	cr_assert_eq(choose(&f), CUDA);
}

Test(place, a_choice_stays_as_it_is)
{
	struct place_facts f = {.launches = 1, .cpu_us = 50000, .compiled = true};

	cr_assert_eq(choose(&f), CUDA);
	f.cpu_us = 1;
	for (int i = 0; i < 5; i++)
		cr_assert_eq(choose(&f), CUDA);
}

Test(place, measured_times_correct_it_once)
{
	struct place_facts f = {.launches = 1, .cpu_us = 50000, .compiled = true};

	for (int i = 0; i < 3; i++)
		cr_assert_eq(choose(&f), CUDA);
	place_measured(&place, 90000, CUDA);
	cr_assert_eq(choose(&f), 1);
	cr_assert(strstr(place.text, "measured 90000 us"), "%s", place.text);
	place_measured(&place, 1, CUDA);
	cr_assert_eq(choose(&f), 1);
}

Test(place, a_run_as_predicted_confirms_it)
{
	struct place_facts f = {.launches = 1, .cpu_us = 50000, .compiled = true};

	for (int i = 0; i < 3; i++)
		cr_assert_eq(choose(&f), CUDA);
	place_measured(&place, 60, CUDA);
	place_measured(&place, 90000, CUDA);
	cr_assert_eq(choose(&f), CUDA);
}
