/* SPDX-License-Identifier: Apache-2.0 */
/* Values that lie on a device only and can be made again: what keeps them, what lets go of them. */
#include "plan/demand.h"
#include "trace_fixture.h"

TestSuite(remote, .init = fixture_setup, .fini = fixture_teardown);

static struct version *value_of(uint32_t id)
{
	return trace_current(trace_array(&trace, id));
}

/* As if a device had computed them, in this order. */
static void computed(const uint32_t *id, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		version_store_remote(&trace, value_of(id[i]));
}

Test(remote, a_recipe_goes_with_the_name_of_what_it_is_made_of)
{
	import(1, 100);
	unary(OP_SIN, 2, 1);
	unary(OP_COS, 3, 1);
	computed((const uint32_t[]){2, 3}, 2);
	cr_assert_eq(trace.nremote, 2);
	drop(2);
	cr_assert_eq(trace.nremote, 1);
	drop(1);
	cr_assert_eq(trace.nremote, 0);
	cr_assert_null(value_of(3)->node);
}

/* 18 is made of 15 and 16, which have lost their names and lie on the device as well by now: they
 * die with its recipe, while others that need array 1 stand before and behind it in the list. */
Test(remote, values_that_only_a_recipe_needs_go_with_it)
{
	static const enum op op[] = {OP_NEGATIVE, OP_SIN,    OP_COS, OP_EXP,
				     OP_SQRT,	  OP_SQUARE, OP_TAN};
	static const uint32_t named[] = {10, 13, 14, 18};
	struct version *inner[2];

	import(1, 100);
	for (uint32_t i = 0; i < 7; i++)
		unary(op[i], 10 + i, 1);
	binary(OP_ADD, 17, 15, 16);
	binary(OP_ADD, 18, 17, 1);
	inner[0] = value_of(15);
	inner[1] = value_of(16);
	for (uint32_t id = 15; id < 18; id++)
		drop(id);
	computed((const uint32_t[]){10, 11, 12, 13, 14, 18}, 6);
	for (int i = 0; i < 2; i++)
		version_store_remote(&trace, inner[i]);
	drop(11);
	drop(12);
	cr_assert_eq(trace.nremote, 6);
	drop(1);
	cr_assert_eq(trace.nremote, 0);
	for (int i = 0; i < 4; i++)
		cr_assert_null(value_of(named[i])->node, "array %u", named[i]);
}

/* 12 is made of 11, which has lost its name but for 13 it is still to be computed: whoever wants to
 * write array 1 has to be told of it. */
Test(remote, a_value_that_others_wait_for_is_a_reader_though_a_recipe_has_it)
{
	struct version **reader, *inner;
	size_t n = 0;

	import(1, 100);
	unary(OP_SQUARE, 11, 1);
	unary(OP_NEGATIVE, 12, 11);
	binary(OP_ADD, 13, 11, 12);
	inner = value_of(11);
	drop(11);
	computed((const uint32_t[]){12}, 1);
	cr_assert_eq(trace.nremote, 1);
	reader = demand_readers(&trace, value_of(1), &n);
	cr_assert_eq(n, 1);
	cr_assert_eq(reader[0], inner);
	version_unref(&trace, reader[0]);
	free(reader);
	version_forget_uses(&trace, value_of(1));
	cr_assert_eq(trace.nremote, 0);
	cr_assert_null(value_of(12)->node);
	cr_assert_eq(inner->state, VERSION_PENDING);
	version_fail(&trace, inner, &err);
	version_fail(&trace, value_of(13), &err);
}
