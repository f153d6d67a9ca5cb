/* SPDX-License-Identifier: Apache-2.0 */
/* Which runs of a kernel tell of each other. */
#include <criterion/criterion.h>

#include "form/nest.h"

/* sum(0) of a (rows, columns) array of doubles. */
static uint16_t columns(int64_t rows, int64_t columns)
{
	struct nest n = {.npar = 1, .nred = 1, .vec = 0, .width = 8, .naccess = 2};

	n.extent[0] = columns;
	n.extent[1] = rows;
	n.access[0].stride[0] = n.access[1].stride[0] = 8;
	n.access[0].stride[1] = 8 * columns;
	return nest_shape(&n);
}

static uint16_t map(int64_t points, int64_t stride)
{
	struct nest n = {.npar = 1, .width = 8, .naccess = 1};

	n.extent[0] = points;
	n.access[0].stride[0] = stride;
	return nest_shape(&n);
}

Test(nest_shape, sizes_alike_are_one_shape)
{
	cr_assert_eq(columns(100000, 64), columns(100001, 60));
	cr_assert_eq(map(1000000, 8), map(1000001, 8));
	cr_assert_eq(map(1000, 8), map(1000, -8));
	cr_assert_eq(map(0, 8), map(1, 8));
}

Test(nest_shape, short_rows_are_another_than_long_ones)
{
	cr_assert_neq(columns(100000, 64), columns(100000, 10));
	cr_assert_neq(columns(100000, 64), columns(100000, 1000));
	cr_assert_neq(columns(100000, 64), columns(100, 64));
}

Test(nest_shape, far_apart_is_another_than_side_by_side)
{
	cr_assert_neq(map(1000000, 8), map(1000000, 800));
	cr_assert_neq(map(1000000, 800), map(1000000, 80000));
	cr_assert_eq(map(1000000, INT64_MIN), map(1000000, INT64_MAX));
}

Test(nest_shape, a_nest_without_loops_has_one)
{
	struct nest n = {0};

	cr_assert_eq(nest_shape(&n), 0);
}
