/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "ops.h"

#define SHAPE(...)                                                                                 \
	((struct shape){.ndim = sizeof((int64_t[]){__VA_ARGS__}) / 8, .dim = {__VA_ARGS__}})

static struct err err;

Test(shape, count_is_bounded_by_the_largest_array)
{
	struct shape fits = SHAPE(1ll << 20, 1ll << 21), over = SHAPE(1ll << 20, 1ll << 22);
	int64_t n = 0;

	cr_assert_eq(shape_count(&n, &fits, 8, &err), OK, "%s", err.text);
	cr_assert_eq(n, 1ll << 41);
	cr_assert_eq(shape_count(&n, &over, 8, &err), E_LIMIT);
	cr_assert_eq(shape_count(&n, &SHAPE(4, -1), 8, &err), E_INVALID);
}

/* np.empty((2**62, 0, 4)) is a ValueError: its strides do not exist. */
Test(shape, empty_shape_needs_strides_of_64_bits)
{
	struct shape over = SHAPE(1ll << 62, 0, 4), fits = SHAPE(1ll << 50, 0, 4);
	struct view v;
	int64_t n = -1;

	cr_assert_eq(shape_count(&n, &over, 8, &err), E_LIMIT);
	cr_assert_eq(shape_count(&n, &fits, 8, &err), OK, "%s", err.text);
	cr_assert_eq(n, 0);
	view_init(&v, DT_FLOAT64, &fits);
	cr_assert_eq(v.stride[0], 32);
}

Test(view, range_of_negative_strides)
{
	struct view v = {.dtype = DT_INT32, .shape = SHAPE(3, 4), .stride = {-16, 4}, .offset = 32};
	int64_t lo, hi;

	cr_assert_eq(view_range(&lo, &hi, &v, &err), OK);
	cr_assert_eq(lo, 0);
	cr_assert_eq(hi, 48);
	cr_assert_eq(view_check(&v, 48, &err), OK);
	cr_assert_eq(view_check(&v, 47, &err), E_INDEX);
}

Test(view, range_beyond_128_bits_is_an_error)
{
	struct view v = {.dtype = DT_INT8,
			 .shape = SHAPE(INT64_MAX, INT64_MAX, INT64_MAX),
			 .stride = {INT64_MAX, INT64_MAX, INT64_MAX}};
	int64_t lo, hi;

	cr_assert_eq(view_range(&lo, &hi, &v, &err), E_LIMIT);
	v.stride[0] = v.stride[1] = v.stride[2] = INT64_MIN;
	cr_assert_eq(view_range(&lo, &hi, &v, &err), E_LIMIT);
}

Test(view, empty_view_touches_nothing_wherever_it_points)
{
	struct view v = {.dtype = DT_INT8,
			 .shape = SHAPE(1ll << 20, 1ll << 20, 0),
			 .stride = {INT64_MAX, INT64_MAX, INT64_MIN},
			 .offset = INT64_MIN};
	int64_t lo = 1, hi = 1;

	cr_assert_eq(view_range(&lo, &hi, &v, &err), OK);
	cr_assert_eq(lo, 0);
	cr_assert_eq(hi, 0);
	cr_assert_eq(view_check(&v, 0, &err), OK);
}

Test(view, broadcast_stretches_with_stride_0)
{
	struct view v, wide;

	view_init(&v, DT_FLOAT64, &SHAPE(3, 1));
	cr_assert_eq(view_broadcast(&wide, &v, &SHAPE(2, 3, 4), &err), OK);
	cr_assert_eq(wide.stride[0], 0);
	cr_assert_eq(wide.stride[1], 8);
	cr_assert_eq(wide.stride[2], 0);
	cr_assert_eq(view_broadcast(&wide, &v, &SHAPE(2, 4, 4), &err), E_SHAPE);
	cr_assert_eq(view_broadcast(&wide, &v, &SHAPE(3), &err), E_SHAPE);
}

Test(view, empty_view_is_contiguous_whatever_its_strides)
{
	struct view v = {.dtype = DT_INT32, .shape = SHAPE(0, 4), .stride = {16, 1000}};

	cr_assert(view_contiguous(&v));
	v.shape.dim[0] = 2;
	cr_assert_not(view_contiguous(&v));
	v.stride[1] = 4;
	cr_assert(view_contiguous(&v));
}

Test(view, another_type_lies_on_multiples_of_its_size)
{
	struct view v = {.dtype = DT_INT32, .shape = SHAPE(3), .stride = {12}, .offset = 4};

	cr_assert_eq(view_retype(&v, DT_FLOAT64, &err), OK, "%s", err.text);
	v.dtype = DT_COMPLEX64; /* its components are of four bytes */
	cr_assert_eq(view_retype(&v, DT_FLOAT64, &err), OK);
	v.dtype = DT_INT64;
	cr_assert_eq(view_retype(&v, DT_FLOAT64, &err), E_DTYPE);
	v.offset = 8;
	cr_assert_eq(view_retype(&v, DT_FLOAT64, &err), E_DTYPE);
	v.shape.dim[0] = 1; /* one element has no stride */
	cr_assert_eq(view_retype(&v, DT_FLOAT64, &err), OK);
	v.offset = 3;
	cr_assert_eq(view_retype(&v, DT_INT64, &err), OK, "its own type may lie anywhere");
	v.dtype = DTYPE_END;
	cr_assert_eq(view_retype(&v, DT_INT64, &err), E_DTYPE);
}
