/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/gather.h in both tiers, whole, in pieces, by chunks. */
#include "gather_nest.h"

static void every_case(unsigned dtype, int below)
{
	struct batch b = {.width = 8, .below = below};

	for (unsigned k = 0; k < NGATHER; k++) {
		if (dtype >= DT_COMPLEX64 && gather_cases[k].nred)
			continue; /* there is no greatest complex number */
		gather_nest(batch_add(&b, gather_cases[k].name), &gather_cases[k], dtype);
	}
	batch_run(&b);
}

Test(gather, both_tiers_take_the_same_elements_and_find_the_same_faults)
{
	every_case(DT_FLOAT64, 0);
	every_case(DT_FLOAT32, 0);
	every_case(DT_BOOL, 0);
}

Test(gather, of_every_width)
{
	every_case(DT_INT16, 0);
	every_case(DT_COMPLEX64, 0);
	every_case(DT_COMPLEX128, 0);
}

Test(gather, on_lower_instruction_sets)
{
	for (int below = 1; isa_best() - below >= ISA_V2; below++)
		every_case(DT_INT32, below);
}

/* Against the definition, element by element. */
Test(gather, places_are_limited_and_the_least_wrong_one_is_told)
{
	static const int64_t place[8] = {0, -50, 49, -1, 77, 60, -51, INT64_MIN};
	struct batch b = {.width = 8};
	struct nest *n = batch_add(&b, "told");
	struct run *r;
	double *out;

	gather_nest(n, &(struct gather_case){"told", 1, 0, {8}, 0, 0, 50, 1, 1, false}, DT_FLOAT64);
	r = run_new(n, 5);
	memcpy(r->base[0], place, sizeof place);
	for (int i = 0; i < 50; i++)
		((double *)(void *)r->base[1])[i] = i;
	batch_compile(&b);
	run_tier1(&b, 0, r, 0);
	out = (double *)(void *)r->base[2];
	cr_assert_eq(out[0], 0);
	cr_assert_eq(out[1], 0);
	cr_assert_eq(out[2], 49);
	cr_assert_eq(out[3], 49);
	for (int i = 4; i < 8; i++)
		cr_assert(out[i] == 0 || out[i] == 49);
	cr_assert_eq(bz_fault_place(r->error[0]), 60);
	cr_assert_eq(r->error[1], KERNEL_GOOD);
	run_free(r);
	free(b.c);
}

/* Vectors have lanes that no element is in: what they hold is no fault. */
Test(gather, lanes_without_an_element_are_not_checked)
{
	struct batch b = {.width = 8};
	struct nest *n = batch_add(&b, "lanes");
	struct run *r;

	gather_nest(n, &(struct gather_case){"lanes", 1, 0, {3}, 0, 0, 1, 1, 1, false}, DT_FLOAT64);
	batch_compile(&b);
	r = run_new(n, 5);
	memset(r->base[0], 0, 24);
	r->scalar[0] = 1;
	run_tier1(&b, 0, r, 0);
	cr_assert_eq(r->error[0], KERNEL_GOOD);
	memset(r->error, 0xff, sizeof r->error);
	run_tier0(&b, n, r);
	cr_assert_eq(r->error[0], KERNEL_GOOD);
	run_free(r);
	free(b.c);
}

/* A client may write to a place between its check and its use. */
Test(gather, places_are_fetched_for_the_last_time_before_they_are_limited)
{
	cr_assert(strstr(emit_c_prologue(), "__asm__(\"\" : \"+m\"(place));"));
}
