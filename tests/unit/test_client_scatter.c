/* SPDX-License-Identifier: Apache-2.0 */
/* Writing at places, and counting: what lies in this process' own blocks, and in the arena. */
#include "fake_daemon.h"

#include "client.h"

/* A session with near values, or without: then arrays lie in the arena. */
struct both {
	struct fake *f;
	braze_session *s;
};

static struct both begin(bool near)
{
	struct both b = {.f = near ? fake_start_near() : fake_start()};

	b.s = fake_connect(b.f, 0);
	return b;
}

static void end(struct both b)
{
	braze_close(b.s);
	fake_stop(b.f);
}

static braze_array *made(braze_session *s, int dtype, int64_t n, const void *data)
{
	braze_array *a = NULL;
	braze_error e = {0};

	cr_assert_eq(braze_from_data(&a, s, dtype, 1, &n, NULL, data, &e), 0, "%s", e.text);
	return a;
}

static void reads(braze_array *a, int64_t n, const double *expected)
{
	double got[16] = {0};

	cr_assert_eq(braze_size(a), n);
	cr_assert_eq(braze_read(got, a, NULL), 0);
	for (int64_t k = 0; k < n; k++)
		cr_assert_eq(got[k], expected[k], "element %lld: %g", (long long)k, got[k]);
}

static int scatter(braze_array *a, int op, braze_array *at, braze_arg value, braze_error *e)
{
	const braze_arg index = {.array = at};
	const int axis = 0;

	return braze_scatter(a, op, 1, &axis, NULL, &index, value, NULL, NULL, e);
}

static void check_writes(bool near)
{
	const int64_t places[4] = {1, -1, 1, 0};
	const double zeros[4] = {0}, values[4] = {10, 20, 30, 40};
	struct both b = begin(near);
	braze_array *a = made(b.s, BRAZE_FLOAT64, 4, zeros);
	braze_array *at = made(b.s, BRAZE_INT64, 4, places);
	braze_array *v = made(b.s, BRAZE_FLOAT64, 4, values);
	int add = braze_op_find("add");

	cr_assert_eq(scatter(a, BRAZE_STORE, at, braze_arg_array(v), NULL), 0);
	reads(a, 4, (const double[]){40, 30, 0, 20});
	cr_assert_eq(scatter(a, add, at, braze_arg_array(v), NULL), 0);
	reads(a, 4, (const double[]){80, 70, 0, 40});
	cr_assert_eq(scatter(a, add, at, braze_arg_double(0.5), NULL), 0);
	reads(a, 4, (const double[]){80.5, 71, 0, 40.5});
	/* What is written is read, too: as it was before. */
	cr_assert_eq(scatter(a, BRAZE_STORE, at, braze_arg_array(a), NULL), 0);
	reads(a, 4, (const double[]){40.5, 0, 0, 71});
	braze_release(a);
	braze_release(at);
	braze_release(v);
	end(b);
}

Test(client_scatter, writes_near)
{
	check_writes(true);
}

Test(client_scatter, writes_in_the_arena)
{
	check_writes(false);
}

Test(client_scatter, wrong_places_write_nothing)
{
	const int64_t wrong[3] = {0, 2, -5}, least[3] = {INT64_MIN, 0, INT64_MAX};
	const double values[4] = {1, 2, 3, 4};
	struct both b = begin(true);
	braze_array *a = made(b.s, BRAZE_FLOAT64, 4, values), *at = NULL;
	braze_error e = {0};

	at = made(b.s, BRAZE_INT64, 3, wrong);
	cr_assert_eq(scatter(a, BRAZE_STORE, at, braze_arg_double(9), &e), BRAZE_E_INDEX);
	cr_assert_str_eq(e.text, "index -5 is out of bounds for axis 0 with size 4");
	braze_release(at);
	at = made(b.s, BRAZE_INT64, 3, least);
	cr_assert_eq(scatter(a, BRAZE_STORE, at, braze_arg_double(9), &e), BRAZE_E_INDEX);
	reads(a, 4, values);
	braze_release(at);
	braze_release(a);
	end(b);
}

Test(client_scatter, what_cannot_be_is_refused)
{
	const int64_t places[3] = {0, 1, 2}, shape[2] = {3, 3}, still[2] = {0, 8};
	const double values[3] = {1, 2, 3};
	struct both b = begin(true);
	braze_array *a = made(b.s, BRAZE_FLOAT64, 3, values), *stretched = NULL, *few = NULL;
	braze_array *at = made(b.s, BRAZE_INT64, 3, places);
	const braze_arg numbers = {.scalar = braze_int(1)}, of = {.array = at};
	const int axes[2] = {0, 0};
	braze_arg bad = braze_arg_double(1);

	cr_assert_eq(scatter(a, BRAZE_STORE, a, braze_arg_double(1), NULL), BRAZE_E_DTYPE);
	cr_assert_eq(scatter(a, braze_op_find("sin"), at, braze_arg_double(1), NULL),
		     BRAZE_E_DTYPE);
	cr_assert_eq(scatter(a, braze_op_find("bitwise_or"), at, braze_arg_double(1), NULL),
		     BRAZE_E_DTYPE);
	cr_assert_eq(scatter(a, 1 << 20, at, braze_arg_double(1), NULL), BRAZE_E_DTYPE);
	bad.scalar.dtype = 99;
	cr_assert_eq(scatter(a, BRAZE_STORE, at, bad, NULL), BRAZE_E_DTYPE);
	few = made(b.s, BRAZE_FLOAT64, 2, values);
	cr_assert_eq(scatter(a, BRAZE_STORE, at, braze_arg_array(few), NULL), BRAZE_E_SHAPE);
	cr_assert_eq(braze_scatter(a, BRAZE_STORE, 1, axes, NULL, &numbers, bad, NULL, NULL, NULL),
		     BRAZE_E_INVALID);
	cr_assert_eq(braze_scatter(a, BRAZE_STORE, 2, axes, NULL, (const braze_arg[]){of, of}, bad,
				   NULL, NULL, NULL),
		     BRAZE_E_AXIS);
	cr_assert_eq(braze_scatter(a, BRAZE_STORE, 0, axes, NULL, &of, bad, NULL, NULL, NULL),
		     BRAZE_E_INVALID);
	cr_assert_eq(braze_view(&stretched, a, BRAZE_FLOAT64, 2, shape, still, 0, NULL), 0);
	cr_assert_eq(scatter(stretched, BRAZE_STORE, at, braze_arg_double(1), NULL),
		     BRAZE_E_INVALID);
	reads(a, 3, values);
	braze_release(a);
	braze_release(at);
	braze_release(few);
	braze_release(stretched);
	end(b);
}

static void check_counts(bool near)
{
	const int32_t x[6] = {3, 0, 3, 1, 3, 0};
	const double w[6] = {1, 2, 4, 8, 16, 32};
	int64_t got[6] = {0};
	struct both b = begin(near);
	braze_array *a = made(b.s, BRAZE_INT32, 6, x), *v = made(b.s, BRAZE_FLOAT64, 6, w);
	braze_array *n = NULL;

	cr_assert_eq(braze_bincount(&n, a, NULL, 6, NULL, NULL, NULL), 0);
	cr_assert_eq(braze_size(n), 6);
	cr_assert_eq(braze_read(got, n, NULL), 0);
	cr_assert_arr_eq(got, ((const int64_t[]){2, 1, 0, 3, 0, 0}), sizeof got);
	braze_release(n);
	cr_assert_eq(braze_bincount(&n, a, v, 0, NULL, NULL, NULL), 0);
	reads(n, 4, (const double[]){34, 8, 0, 21});
	braze_release(n);
	braze_release(a);
	braze_release(v);
	end(b);
}

Test(client_scatter, counts_near)
{
	check_counts(true);
}

Test(client_scatter, counts_in_the_arena)
{
	check_counts(false);
}

Test(client_scatter, what_cannot_be_counted_is_refused)
{
	const int64_t x[2] = {1, -1};
	const double w[2] = {1, 2};
	struct both b = begin(true);
	braze_array *a = made(b.s, BRAZE_INT64, 2, x), *v = made(b.s, BRAZE_FLOAT64, 1, w);
	braze_array *n = NULL;

	cr_assert_eq(braze_bincount(&n, a, NULL, 0, NULL, NULL, NULL), BRAZE_E_INDEX);
	cr_assert_eq(braze_bincount(&n, a, v, 0, NULL, NULL, NULL), BRAZE_E_SHAPE);
	cr_assert_eq(braze_bincount(&n, v, NULL, 0, NULL, NULL, NULL), BRAZE_E_DTYPE);
	cr_assert_eq(braze_bincount(&n, a, NULL, -1, NULL, NULL, NULL), BRAZE_E_SHAPE);
	braze_release(a);
	braze_release(v);
	end(b);
}
