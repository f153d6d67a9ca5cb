/* SPDX-License-Identifier: Apache-2.0 */
/* The first extreme of elements side by side, against a look at each of them in turn, and numbers
 * in a row, of every type and instruction set. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "loops/place.h"

#define MOST 1700

static const struct place_isa *const isa[ISA_END] = {&place_isa_v2, &place_isa_v3, &place_isa_v4};

static uint64_t another(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

/* What may be among the elements: few values, all of them, the type's ends alone, a NaN or more. */
enum sort { FEW, MANY, ENDS, NANS, SORTS };

#define TYPE(d, T, low, high, nan)                                                                 \
	static T element_##d(uint64_t *seed, enum sort sort, int64_t n)                            \
	{                                                                                          \
		uint64_t x = another(seed);                                                        \
                                                                                                   \
		if (sort == NANS && !(x % (uint64_t)(n + 1)))                                      \
			return nan;                                                                \
		if (sort == ENDS)                                                                  \
			return x & 1 ? (T)(low) : (T)(high);                                       \
		return (T)(sort == FEW ? x % 3 : x);                                               \
	}                                                                                          \
	static int64_t want_##d(const T *a, int64_t n, bool largest)                               \
	{                                                                                          \
		int64_t place = 0;                                                                 \
                                                                                                   \
		for (int64_t k = 0; k < n; k++) {                                                  \
			if (a[k] != a[k])                                                          \
				return k;                                                          \
			if (largest ? a[k] > a[place] : a[k] < a[place])                           \
				place = k;                                                         \
		}                                                                                  \
		return place;                                                                      \
	}                                                                                          \
	static void check_##d(int64_t n, enum sort sort, uint64_t seed)                            \
	{                                                                                          \
		T all[MOST + 2], *a = all + 1;                                                     \
                                                                                                   \
		for (int64_t k = 0; k < n; k++)                                                    \
			a[k] = element_##d(&seed, sort, n);                                        \
		for (int side = 0; side < 2; side++) {                                             \
			/* What stands around them would be the answer. */                         \
			all[0] = all[n + 1] = side ? (T)(high) : (T)(low);                         \
			for (int level = 0; level <= isa_best(); level++) {                        \
				place_fn *fn =                                                     \
					(side ? isa[level]->largest : isa[level]->least)[DT_##d];  \
				cr_assert_eq(fn(a, n), want_##d(a, n, side), "%s, %d of %lld", #d, \
					     side, (long long)n);                                  \
			}                                                                          \
		}                                                                                  \
	}
TYPE(INT8, int8_t, INT8_MIN, INT8_MAX, 0)
TYPE(INT16, int16_t, INT16_MIN, INT16_MAX, 0)
TYPE(INT32, int32_t, INT32_MIN, INT32_MAX, 0)
TYPE(INT64, int64_t, INT64_MIN, INT64_MAX, 0)
TYPE(UINT8, uint8_t, 0, UINT8_MAX, 0)
TYPE(UINT16, uint16_t, 0, UINT16_MAX, 0)
TYPE(UINT32, uint32_t, 0, UINT32_MAX, 0)
TYPE(UINT64, uint64_t, 0, UINT64_MAX, 0)
TYPE(FLOAT32, float, -INFINITY, INFINITY, NAN)
TYPE(FLOAT64, double, -INFINITY, INFINITY, NAN)

Test(place_loops, first_extreme_of_every_type)
{
	for (int64_t n = 1; n <= MOST; n += n < 140 ? 1 : 97)
		for (int sort = 0; sort < SORTS; sort++)
			for (uint64_t seed = 0; seed < 3; seed++) {
				check_INT8(n, sort, seed);
				check_INT16(n, sort, seed);
				check_INT32(n, sort, seed);
				check_INT64(n, sort, seed);
				check_UINT8(n, sort, seed);
				check_UINT16(n, sort, seed);
				check_UINT32(n, sort, seed);
				check_UINT64(n, sort, seed);
				check_FLOAT32(n, sort, seed);
				check_FLOAT64(n, sort, seed);
			}
}

/* Any byte but 0 is true. */
Test(place_loops, first_truth)
{
	unsigned char a[200];

	for (int level = 0; level <= isa_best(); level++)
		for (int64_t n = 1; n <= (int64_t)sizeof a; n++)
			for (int64_t k = 0; k <= n; k++) {
				memset(a, 0, sizeof a);
				if (k < n)
					a[k] = (unsigned char)(k % 255 + 1);
				cr_assert_eq(isa[level]->largest[DT_BOOL](a, n), k < n ? k : 0);
				memset(a, 2, sizeof a);
				if (k < n)
					a[k] = 0;
				cr_assert_eq(isa[level]->least[DT_BOOL](a, n), k < n ? k : 0);
			}
}

Test(place_loops, numbers_in_a_row)
{
	static const double first[] = {0.0, -5.5, 1e300, 0.1}, step[] = {1.0, -0.3, 1e284, 0.7};
	static const uint64_t from[] = {0, 7, (uint64_t)INT64_MAX, 1}, by[] = {1, 3, 2, UINT64_MAX};

	for (int level = 0; level <= isa_best(); level++)
		for (int32_t n = 0; n < 70; n++)
			for (int x = 0; x < 4; x++) {
				uint64_t whole[71];
				double real[71];

				whole[n] = 77;
				real[n] = 77;
				isa[level]->count[DT_INT64](whole, &from[x], &by[x], n);
				isa[level]->count[DT_FLOAT64](real, &first[x], &step[x], n);
				for (int32_t k = 0; k < n; k++) {
					cr_assert_eq(whole[k], from[x] + (uint64_t)k * by[x]);
					cr_assert_eq(real[k], first[x] + (double)k * step[x]);
				}
				cr_assert(whole[n] == 77 && real[n] == 77);
			}
}

/* Mantissas and exponents, of numbers of every kind: subnormal ones, 0, infinities and NaNs are
 * frequent.  NaNs stay as they are, and nothing is written behind the last. */
#define PARTS(T, U, top, field)                                                                    \
	static void check_parts_##T(int64_t n, uint64_t seed)                                      \
	{                                                                                          \
		T x[MOST], m[MOST + 1];                                                            \
		int32_t e[MOST + 1];                                                               \
                                                                                                   \
		for (int64_t k = 0; k < n; k++) {                                                  \
			U bits = (U)(another(&seed) << 33 ^ another(&seed) << 2);                  \
			const int kind = (int)(another(&seed) % 8);                                \
			bits &= kind == 0 ? ~(U)(field) : kind == 1 ? (U)(field) | (top) : ~(U)0;  \
			bits |= kind == 2 ? (U)(field) : 0;                                        \
			memcpy(x + k, &bits, sizeof *x);                                           \
		}                                                                                  \
		for (int level = 0; level <= isa_best(); level++) {                                \
			m[n] = 5;                                                                  \
			e[n] = 5;                                                                  \
			isa[level]->parts[sizeof(T) == 4 ? DT_FLOAT32 : DT_FLOAT64](m, e, x, n);   \
			cr_assert(m[n] == 5 && e[n] == 5, "%lld of level %d", (long long)n,        \
				  level);                                                          \
			for (int64_t k = 0; k < n; k++) {                                          \
				int power = 0;                                                     \
				T want = isfinite(x[k]) ? (T)frexp(x[k], &power) : x[k];           \
				cr_assert(!memcmp(m + k, &want, sizeof want) && e[k] == power,     \
					  "%a is %a, 2^%d by level %d", (double)x[k],              \
					  (double)m[k], e[k], level);                              \
			}                                                                          \
		}                                                                                  \
	}
PARTS(double, uint64_t, (uint64_t)1 << 63, (uint64_t)0x7ff << 52)
PARTS(float, uint32_t, 1u << 31, 0xffu << 23)

Test(place_loops, parts)
{
	for (int64_t n = 0; n < 80; n++) {
		check_parts_double(n, (uint64_t)n);
		check_parts_float(n, (uint64_t)n);
	}
	check_parts_double(MOST, 100);
	check_parts_float(MOST, 100);
}
