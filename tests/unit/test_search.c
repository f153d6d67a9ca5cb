/* SPDX-License-Identifier: Apache-2.0 */
/* Searches among what is in order: each place against a count, of every type, layout and
 * instruction set; what is in no order stays inside; steps that are none are refused. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "float16.h"
#include "call/search.h"

static const struct search_isa *const isa[ISA_END] = {&search_isa_v2, &search_isa_v3,
						      &search_isa_v4};

/* Few different values, so that many are equal. */
static double value(uint64_t *seed, unsigned cls)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	double x = (double)(*seed >> 33 & 31);

	return cls == CLASS_UINT || cls == CLASS_BOOL ? x : x - 15;
}

static void put(char *to, unsigned dtype, double x)
{
	switch ((enum dtype)dtype) {
#define PUT(D, t)                                                                                  \
	case D:                                                                                    \
		*(t *)(void *)to = (t)x;                                                           \
		break;
		PUT(DT_BOOL, bool)
		PUT(DT_INT8, int8_t)
		PUT(DT_INT16, int16_t)
		PUT(DT_INT32, int32_t)
		PUT(DT_INT64, int64_t)
		PUT(DT_UINT8, uint8_t)
		PUT(DT_UINT16, uint16_t)
		PUT(DT_UINT32, uint32_t)
		PUT(DT_UINT64, uint64_t)
		PUT(DT_FLOAT32, float)
		PUT(DT_FLOAT64, double)
#undef PUT
	case DT_FLOAT16:
		*(uint16_t *)(void *)to = float16_bits(x);
		break;
	case DT_COMPLEX64:
		((float *)(void *)to)[0] = (float)(int)(x / 4);
		((float *)(void *)to)[1] = (float)((int)x % 4);
		break;
	case DT_COMPLEX128:
		((double *)(void *)to)[0] = (int)(x / 4);
		((double *)(void *)to)[1] = (int)x % 4;
		break;
	default:
		break;
	}
}

/* An element as the double whose order it has; that of a nan is behind all. */
static double get(const char *at, unsigned dtype)
{
	switch ((enum dtype)dtype) {
#define GET(D, t)                                                                                  \
	case D:                                                                                    \
		return (double)*(const t *)(const void *)at;
		GET(DT_BOOL, bool)
		GET(DT_INT8, int8_t)
		GET(DT_INT16, int16_t)
		GET(DT_INT32, int32_t)
		GET(DT_INT64, int64_t)
		GET(DT_UINT8, uint8_t)
		GET(DT_UINT16, uint16_t)
		GET(DT_UINT32, uint32_t)
		GET(DT_UINT64, uint64_t)
		GET(DT_FLOAT32, float)
		GET(DT_FLOAT64, double)
#undef GET
	case DT_FLOAT16:
		return float16_value(*(const uint16_t *)(const void *)at);
	case DT_COMPLEX64:
		return ((const float *)(const void *)at)[0] * 1000.0 +
		       ((const float *)(const void *)at)[1];
	default:
		return ((const double *)(const void *)at)[0] * 1000.0 +
		       ((const double *)(const void *)at)[1];
	}
}

static bool before(double x, double y)
{
	return x < y || (isnan(y) && !isnan(x));
}

static int order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return before(x, y) ? -1 : before(y, x);
}

static void check_type(unsigned dtype, int64_t n, int64_t m, int64_t step, uint64_t seed)
{
	unsigned cls = dtype_row(dtype)->cls;
	int64_t bytes = dtype_row(dtype)->bytes;
	char *among = calloc((size_t)n, (size_t)(bytes * step));
	char *from = calloc((size_t)m, (size_t)(bytes * step));
	double *sorted = malloc((size_t)n * sizeof *sorted);
	int64_t *to = malloc((size_t)(m + 1) * sizeof *to);
	struct search_patch p = {among, from, n, bytes * step, m, bytes * step, to};

	for (int64_t i = 0; i < n; i++)
		sorted[i] = cls == CLASS_FLOAT && i % 7 == 3 ? NAN : value(&seed, cls);
	qsort(sorted, (size_t)n, sizeof *sorted, order);
	for (int64_t i = 0; i < n; i++)
		put(among + i * bytes * step, dtype, sorted[i]);
	for (int64_t i = 0; i < m; i++)
		put(from + i * bytes * step, dtype,
		    cls == CLASS_FLOAT && i % 5 == 2 ? NAN : value(&seed, cls));
	for (int level = 0; level <= isa_best(); level++)
		for (int right = 0; right < 2; right++) {
			to[m] = -7;
			search_loop(isa[level], right ? OP_SEARCH_RIGHT : OP_SEARCH_LEFT,
				    dtype)(&p);
			for (int64_t i = 0; i < m; i++) {
				double key = get(from + i * bytes * step, dtype);
				int64_t want = 0;

				for (int64_t k = 0; k < n; k++) {
					double x = get(among + k * bytes * step, dtype);

					want += right ? !before(key, x) : before(x, key);
				}
				cr_assert_eq(to[i], want, "%s, %d: %lld of %lld",
					     dtype_row(dtype)->name, right, (long long)i,
					     (long long)n);
			}
			cr_assert_eq(to[m], -7);
		}
	free(to);
	free(sorted);
	free(from);
	free(among);
}

/* Complex keys are put so that their order is that of one number. */
Test(search, every_type_side_and_layout)
{
	static const int64_t lengths[] = {1, 2, 3, 5, 8, 31, 64, 100, 257};

	for (unsigned d = 0; d < DTYPE_END; d++)
		for (size_t k = 0; k < sizeof lengths / sizeof *lengths && dtype_computes(d); k++)
			for (int64_t m = 0; m < 90; m = m * 2 + 1)
				for (int64_t step = 1; step < 3; step++)
					check_type(d, lengths[k], m, step, k * 100 + (uint64_t)m);
}

static void check_complex(const double (*x)[2], int64_t n)
{
	for (int level = 0; level <= isa_best(); level++)
		for (int64_t i = 0; i < n; i++) {
			int64_t left = -1, right = -1;
			struct search_patch p = {
				(const char *)x, (const char *)x[i], n, 16, 1, 16, &left};

			search_loop(isa[level], OP_SEARCH_LEFT, DT_COMPLEX128)(&p);
			p.to = &right;
			search_loop(isa[level], OP_SEARCH_RIGHT, DT_COMPLEX128)(&p);
			cr_assert(left == i && right == i + 1, "element %lld: %lld, %lld",
				  (long long)i, (long long)left, (long long)right);
		}
}

Test(search, complex_numbers_with_nans)
{
	static const double x[][2] = {{-INFINITY, 1}, {-1, -1},	 {-1, 2},	{0, 0},
				      {3, -INFINITY}, {3, 4},	 {INFINITY, 5}, {-2, NAN},
				      {7, NAN},	      {NAN, -4}, {NAN, 9},	{NAN, NAN}};

	check_complex(x, sizeof x / sizeof *x);
}

/* Whatever the bytes are, places stay inside: what lies beyond is never read either (the
 * sanitizers look). */
Test(search, what_is_in_no_order_stays_inside)
{
	uint64_t seed = 3;

	for (int64_t n = 1; n < 300; n = n * 3 / 2 + 1)
		for (unsigned d = 0; d < DTYPE_END && dtype_computes(d); d++) {
			int64_t bytes = dtype_row(d)->bytes, to[50];
			char *at = malloc((size_t)(n * bytes)),
			     *keys = malloc((size_t)(50 * bytes));
			struct search_patch p = {at, keys, n, bytes, 50, bytes, to};

			for (int64_t k = 0; k < n * bytes; k++)
				at[k] = (char)value(&seed, CLASS_INT);
			for (int64_t k = 0; k < 50 * bytes; k++)
				keys[k] = (char)value(&seed, CLASS_INT);
			for (int level = 0; level <= isa_best(); level++)
				for (unsigned op = OP_SEARCH_LEFT; op <= OP_SEARCH_RIGHT; op++) {
					search_loop(isa[level], op, d)(&p);
					for (int k = 0; k < 50; k++)
						cr_assert(to[k] >= 0 && to[k] <= n);
				}
			free(keys);
			free(at);
		}
}

/* ---- As a step ---- */

static struct plan_call step(int64_t needles, int64_t n)
{
	return (struct plan_call){.call = CALL_SEARCH,
				  .dtype = DT_FLOAT64,
				  .nloop = SEARCH_LOOPS,
				  .op = OP_SEARCH_LEFT,
				  .extent = {needles, n},
				  .operand = {{.dtype = DT_FLOAT64, .stride = {0, -8}},
					      {.dtype = DT_FLOAT64, .stride = {16, 0}},
					      {.dtype = DT_INT64, .stride = {8, 0}}}};
}

Test(search, units_are_stretches_of_needles)
{
	struct plan_call c = step(3 * SEARCH_UNIT + 5, 1000);
	struct search_patch p;
	struct call_units u;
	int64_t lo = 0, hi = 0;

	cr_assert_eq(call_check(&c, NULL), OK);
	call_row(CALL_SEARCH)->units(&u, &c, false);
	cr_assert(u.total == 4 && !u.kept && u.grain == 1 && u.work > 10 * SEARCH_UNIT / 2);
	cr_assert_eq(search_of(&p, &c, 1, 2), SEARCH_UNIT);
	cr_assert(p.m == SEARCH_UNIT && p.n == 1000 && p.among_step == -8 && p.from_step == 16);
	cr_assert_eq(search_of(&p, &c, 2, 4), 2 * SEARCH_UNIT);
	cr_assert_eq(p.m, SEARCH_UNIT + 5);
	call_range(&lo, &hi, &c, SEARCH_RESULT);
	cr_assert(lo == 0 && hi == (3 * SEARCH_UNIT + 5) * 8);
	call_range(&lo, &hi, &c, SEARCH_AMONG);
	cr_assert(lo == -999 * 8 && hi == 8);
	cr_assert_eq(search_steps(1), 2);
	cr_assert_eq(search_steps(1000), 11);
}

Test(search, wrong_steps_are_refused)
{
	for (int mistake = 0; mistake < 14; mistake++) {
		struct plan_call c = step(5000, 1000);

		if (mistake == 0)
			c.nloop = 1;
		else if (mistake == 1)
			c.nloop = 3;
		else if (mistake == 2)
			c.op = OP_SORT;
		else if (mistake == 3)
			c.extent[SEARCH_LOOP_AMONG] = 0;
		else if (mistake == 4)
			c.extent[SEARCH_LOOP_NEEDLES] = 0;
		else if (mistake == 5)
			c.operand[SEARCH_AMONG].dtype = DT_INT64;
		else if (mistake == 6)
			c.operand[SEARCH_NEEDLES].dtype = DT_FLOAT32;
		else if (mistake == 7)
			c.operand[SEARCH_RESULT].dtype = DT_UINT64;
		else if (mistake == 8)
			c.operand[SEARCH_RESULT].stride[SEARCH_LOOP_NEEDLES] = 16;
		else if (mistake == 9)
			c.operand[SEARCH_RESULT].stride[SEARCH_LOOP_AMONG] = 8;
		else if (mistake == 10)
			c.operand[SEARCH_AMONG].stride[SEARCH_LOOP_NEEDLES] = 8;
		else if (mistake == 11)
			c.operand[SEARCH_NEEDLES].stride[SEARCH_LOOP_AMONG] = 8;
		else if (mistake == 12)
			c.operand[SEARCH_NEEDLES].run = 4;
		else
			c.dtype = DT_FLOAT32;
		cr_assert_eq(call_check(&c, NULL), E_INTERNAL, "mistake %d", mistake);
	}
}

/* ---- Lines ---- */

static double on_line(double x, const double *xp, const double *fp, int64_t n)
{
	double slope = 0, made = 0;
	int64_t k = 0;

	if (isnan(x))
		return x;
	if (x < xp[0])
		return fp[0];
	if (x >= xp[n - 1])
		return fp[n - 1];
	while (x >= xp[k + 1])
		k++;
	if (xp[k] == x)
		return fp[k];
	slope = (fp[k + 1] - fp[k]) / (xp[k + 1] - xp[k]);
	made = slope * (x - xp[k]) + fp[k];
	return made;
}

Test(search, values_on_lines)
{
	uint64_t seed = 11;

	for (int64_t n = 2; n < 200; n = n * 2 - 1)
		for (int64_t m = 1; m < 80; m = m * 3 + 1)
			for (int64_t step = 1; step < 3; step++) {
				double xp[800], fp[800], x[400], made[200], a[400], b[400];
				struct search_patch p = {.among = (const char *)xp,
							 .values = (const char *)fp,
							 .from = (const char *)x,
							 .n = n,
							 .m = m,
							 .among_step = 8 * step,
							 .values_step = 8 * step,
							 .from_step = 8 * step,
							 .made = made};

				for (int64_t k = 0; k < n; k++) {
					xp[k * step] = a[k] = (double)(k * k) / 7 - 3;
					fp[k * step] = b[k] = value(&seed, CLASS_FLOAT) / 3;
				}
				for (int64_t k = 0; k < m; k++)
					x[k * step] = k % 9 == 4   ? NAN
						      : k % 4 == 1 ? a[k % n]
								   : value(&seed, CLASS_FLOAT);
				for (int level = 0; level <= isa_best(); level++) {
					search_loop(isa[level], OP_INTERP, DT_FLOAT64)(&p);
					for (int64_t k = 0; k < m; k++) {
						double want = on_line(x[k * step], a, b, n);

						cr_assert(made[k] == want ||
								  (isnan(made[k]) && isnan(want)),
							  "%g: %g, not %g", x[k * step], made[k],
							  want);
					}
				}
			}
}

static struct plan_call lines_step(void)
{
	struct plan_call c = step(5000, 1000);

	c.call = CALL_INTERP;
	c.op = OP_INTERP;
	c.operand[SEARCH_RESULT].dtype = DT_FLOAT64;
	c.operand[SEARCH_VALUES] = (struct call_operand){.dtype = DT_FLOAT64, .stride = {0, 24}};
	return c;
}

Test(search, lines_as_a_step)
{
	struct plan_call c = lines_step();
	struct search_patch p;

	cr_assert_eq(call_check(&c, NULL), OK);
	cr_assert_eq(search_of(&p, &c, 0, 1), 0);
	cr_assert(p.values_step == 24 && p.among_step == -8);
	cr_assert_gt(call_row(CALL_INTERP)->work(&c), search_work(&c));
	for (int mistake = 0; mistake < 8; mistake++) {
		c = lines_step();
		if (mistake == 0)
			c.op = OP_SEARCH_LEFT;
		else if (mistake == 1)
			c.dtype = DT_FLOAT32;
		else if (mistake == 2)
			c.extent[SEARCH_LOOP_AMONG] = 1;
		else if (mistake == 3)
			c.operand[SEARCH_VALUES].dtype = DT_INT64;
		else if (mistake == 4)
			c.operand[SEARCH_RESULT].dtype = DT_INT64;
		else if (mistake == 5)
			c.operand[SEARCH_VALUES].stride[SEARCH_LOOP_NEEDLES] = 8;
		else if (mistake == 6)
			c.operand[SEARCH_VALUES].run = 2;
		else
			c.operand[SEARCH_RESULT].stride[SEARCH_LOOP_NEEDLES] = 0;
		cr_assert_eq(call_check(&c, NULL), E_INTERNAL, "mistake %d", mistake);
	}
}
