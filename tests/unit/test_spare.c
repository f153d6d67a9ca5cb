/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that plans give back to each other. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "nest/spare.h"

static bool is_zero(const void *block, size_t n)
{
	const char *at = block;

	return !at[0] && !memcmp(at, at + 1, n - 1);
}

Test(spare, what_is_given_back_is_taken_again_as_zeros)
{
	struct nest *n = spare_take(SPARE_NEST), *m = NULL;
	struct prog_unit *u = spare_take(SPARE_UNIT);

	cr_assert(is_zero(n, sizeof *n));
	memset(n, 0xff, sizeof *n);
	memset(u, 0xff, sizeof *u);
	spare_give(SPARE_NEST, n);
	spare_give(SPARE_UNIT, u);
	m = spare_take(SPARE_NEST);
	cr_assert_eq(m, n);
	cr_assert(is_zero(m, sizeof *m));
	n = spare_take(SPARE_NEST);
	cr_assert_neq(m, n, "it is taken once");
	spare_give(SPARE_NEST, n);
	spare_give(SPARE_NEST, m);
	u = spare_take(SPARE_UNIT);
	cr_assert(is_zero(u, sizeof *u));
	spare_give(SPARE_UNIT, u);
	spare_give(SPARE_NEST, NULL);
	spare_free();
}

Test(spare, no_more_are_kept_than_the_bound_and_a_plan_may_free_one)
{
	static void *block[SPARE_MOST + 10];

	spare_fill(3);
	free(spare_take(SPARE_NEST));
	for (unsigned i = 0; i < SPARE_MOST + 10; i++)
		block[i] = spare_take(SPARE_UNIT);
	for (unsigned i = 0; i < SPARE_MOST + 10; i++)
		spare_give(SPARE_UNIT, block[i]);
	spare_free();
	cr_assert(is_zero(block[0] = spare_take(SPARE_UNIT), sizeof(struct prog_unit)));
	free(block[0]);
}
