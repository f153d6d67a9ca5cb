/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_tree.c - every kind of reduction by rows (the interpreter's
 * loops, each instruction set) and by columns against the tree's definition. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "loops/isa.h"
#include "loops/tier0_ops.h"
#include "loops/tile.h"

#define BZ_WIDTH 8
#include "native.h"
#include "native_math.h"
#include "pre.h"
#include "ew.h"
#include "cx.h"
#include "tree.h"

#define MOST 70000

static const struct tier0_isa *const isas[ISA_END] = {&tier0_isa_v2, &tier0_isa_v3, &tier0_isa_v4};
static const int64_t sizes[] = {0,    1,    31,	  32,	33,    63,    64,    65,
				1023, 1024, 1025, 3073, 65535, 65536, 65537, MOST};
#define SIZES (sizeof sizes / sizeof sizes[0])
/* Of tiles: on either side of the vectors of every instruction set. */
static const int64_t widths[] = {1, 3, 4, 5, 8, 13, 16, 17, 33, 47};
#define WIDTHS (sizeof widths / sizeof widths[0])
static const struct tier0_isa *const wide[ISA_END] = {&tier0_isa_v2_wide, &tier0_isa_v3_wide,
						      &tier0_isa_v4_wide};
static _Alignas(64) char tile_memory[TILE_BYTES];

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 20;
}

/* For one reduction of one type: the definition, written out slowly with a scalar
 * function; the same by rows; the same by columns, a register of them at a time. */
#define TREE_TEST(op, t, red_id, dt, lanes, identity, combine, value, odd, equal)                  \
	static bz_s_##t join_##op##_##t(bz_s_##t a, bz_s_##t b)                                    \
	{                                                                                          \
		return combine;                                                                    \
	}                                                                                          \
	static bz_s_##t slow_##op##_##t(const bz_s_##t *x, int64_t n, int step)                    \
	{                                                                                          \
		bz_s_##t stack[64], lane[lanes], s;                                                \
		int sp = 0;                                                                        \
                                                                                                   \
		for (int64_t lo = 0; lo < n; lo += TREE_BLOCK) {                                   \
			for (int j = 0; j < (lanes); j++)                                          \
				lane[j] = identity;                                                \
			for (int64_t e = lo; e < n && e < lo + TREE_BLOCK; e++)                    \
				lane[e % (lanes)] =                                                \
					join_##op##_##t(lane[e % (lanes)], x[e * step]);           \
			for (int w = (lanes) / 2; w; w /= 2)                                       \
				for (int j = 0; j < w && lo + j + w < n; j++)                      \
					lane[j] = join_##op##_##t(lane[j], lane[j + w]);           \
			s = lane[0];                                                               \
			for (int64_t m = lo / TREE_BLOCK + 1; m % 2 == 0; m /= 2)                  \
				s = join_##op##_##t(stack[--sp], s);                               \
			stack[sp++] = s;                                                           \
		}                                                                                  \
		s = stack[--sp];                                                                   \
		while (sp)                                                                         \
			s = join_##op##_##t(stack[--sp], s);                                       \
		return s;                                                                          \
	}                                                                                          \
	static void rows_##op##_##t(const struct tier0_isa *isa, const bz_s_##t *x, int64_t n)     \
	{                                                                                          \
		const struct tier0_red *r = &isa->red[red_id][dt];                                 \
		_Alignas(64) char chunk[TIER0_STATE_BYTES], all[TIER0_STATE_BYTES];                \
		bz_s_##t got, want = slow_##op##_##t(x, n, 1);                                     \
		struct bz_acc acc;                                                                 \
                                                                                                   \
		r->init(all);                                                                      \
		for (int64_t c = 0; c < n; c += TREE_CHUNK) {                                      \
			int64_t end = c + TREE_CHUNK < n ? c + TREE_CHUNK : n;                     \
                                                                                                   \
			r->init(chunk);                                                            \
			for (int64_t e = c; e < end; e += 512) {                                   \
				int64_t k = e + 512 < end ? 512 : end - e;                         \
				r->step(chunk, (const char *)(x + e), k, e);                       \
				if ((e + k) % TREE_BLOCK == 0 || e + k == end)                     \
					r->block(chunk);                                           \
			}                                                                          \
			r->end(chunk, end - c, &acc);                                              \
			r->join(all, &acc);                                                        \
		}                                                                                  \
		r->end(all, n, &acc);                                                              \
		r->put(&acc, (char *)&got);                                                        \
		cr_assert(equal(got, want), "%s_%s of %ld", #op, #t, (long)n);                     \
	}                                                                                          \
	static void columns_##op##_##t(const bz_s_##t *x, int64_t n)                               \
	{                                                                                          \
		static struct bz_vtree_##t tree;                                                   \
		static bz_##t acc[BZ_L_##t];                                                       \
		bz_s_##t got[BZ_W];                                                                \
                                                                                                   \
		cr_assert_eq(BZ_L_##t, lanes);                                                     \
		bz_vtree_init_##t(&tree);                                                          \
		for (int64_t lo = 0; lo < n; lo += TREE_BLOCK) {                                   \
			int used = bz_used_##t(n - lo < TREE_BLOCK ? n - lo : TREE_BLOCK);         \
                                                                                                   \
			for (int j = 0; j < used; j++)                                             \
				acc[j] = bz_id_##op##_##t();                                       \
			for (int64_t e = lo; e < n && e < lo + TREE_BLOCK; e++)                    \
				acc[e % BZ_L_##t] = bz_##op##_##t(                                 \
					acc[e % BZ_L_##t], bz_ld_##t((const char *)(x + e * 8)));  \
			bz_vfold_##op##_##t(acc, 1, used, 1);                                      \
			bz_vpush_##op##_##t(&tree, acc[0]);                                        \
		}                                                                                  \
		bz_st_##t((char *)got, bz_vend_##op##_##t(&tree, (bz_s_u64)n));                    \
		for (int p = 0; p < BZ_W; p++) {                                                   \
			bz_s_##t want = slow_##op##_##t(x + p, n, 8);                              \
			cr_assert(equal(got[p], want), "column %d, %s_%s of %ld", p, #op, #t,      \
				  (long)n);                                                        \
		}                                                                                  \
	}                                                                                          \
	/* The first rows * m elements, those of a column m apart. */                              \
	static void tiles_##op##_##t(const bz_s_##t *x, int64_t rows, int64_t m)                   \
	{                                                                                          \
		bz_s_##t want[64], got;                                                            \
		struct tile tile;                                                                  \
                                                                                                   \
		for (int64_t p = 0; p < m; p++)                                                    \
			want[p] = slow_##op##_##t(x + p, rows, (int)m);                            \
		for (int level = 0; level <= (int)isa_best(); level++) {                           \
			const struct tier0_red *r = &isas[level]->red[red_id][dt];                 \
			const char *made;                                                          \
                                                                                                   \
			tile_init(&tile, isas[level], wide[level], r, dt, m, tile_memory);         \
			cr_assert(                                                                 \
				tile_take_all(&tile, (const char *)x, m *(int)sizeof(*x), rows));  \
			made = tile_end(&tile);                                                    \
			for (int64_t p = 0; p < m; p++) {                                          \
				memcpy(&got, made + p * (int)sizeof(got), sizeof(got));            \
				cr_assert(equal(got, want[p]),                                     \
					  "column %ld of %ld, %s_%s of %ld, level %d", (long)p,    \
					  (long)m, #op, #t, (long)rows, level);                    \
			}                                                                          \
		}                                                                                  \
	}                                                                                          \
	Test(tree, op##_##t)                                                                       \
	{                                                                                          \
		bz_s_##t *x = malloc(MOST * 8 * sizeof *x);                                        \
		uint64_t seed = 9;                                                                 \
                                                                                                   \
		for (int turn = 0; turn < 2; turn++) {                                             \
			for (int64_t i = 0; i < MOST * 8; i++) {                                   \
				uint64_t bits = next(&seed);                                       \
				x[i] = turn ? odd : value;                                         \
			}                                                                          \
			for (size_t k = 1; k < SIZES; k++) {                                       \
				for (int level = 0; level <= (int)isa_best(); level++)             \
					rows_##op##_##t(isas[level], x, sizes[k]);                 \
				columns_##op##_##t(x, sizes[k]);                                   \
				for (size_t m = 0; m < WIDTHS && sizes[k] * widths[m] <= MOST * 8; \
				     m++)                                                          \
					tiles_##op##_##t(x + MOST * 8 - sizes[k] * widths[m],      \
							 sizes[k], widths[m]);                     \
			}                                                                          \
		}                                                                                  \
		free(x);                                                                           \
	}

#define EQUAL(a, b)	   (memcmp(&(a), &(b), sizeof(a)) == 0 || ((a) != (a) && (b) != (b)))
#define EQUAL_PAIR(a, b)   (EQUAL((a).re, (b).re) && EQUAL((a).im, (b).im))
#define REAL(t, bits)	   ((t)((double)((bits) % 2000001) - 1e6) / (t)7 * (t)(1 << (bits) % 20))
#define NEAR_ONE(bits)	   (1 + (double)((bits) % 2001) * 1e-6 - 1e-3)
#define SOME_NAN(bits)	   ((bits) % 9000 == 0 ? NAN : REAL(float, bits))
#define PAIR(t, bits)	   ((bz_s_##t){REAL(float, bits), REAL(float, (bits) / 3)})
#define ADD_PAIR(t)	   ((bz_s_##t){a.re + b.re, a.im + b.im})
#define MUL_PAIR(t)	   ((bz_s_##t){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re})
#define UNIT_PAIR(t, bits) ((bz_s_##t){cos((double)(bits)), sin((double)(bits))})
/* Numbers that not every identity leaves alone; rarely infinities and NaN, since one hides all
 * else. */
static const float special[] = {1, -1, 2, -0.5f, 0.0f, -0.0f, INFINITY, -INFINITY, NAN};
#define ODD(bits)	  (special[(bits) % ((bits) % 9001 ? 6 : 9)])
#define ODD_PAIR(t, bits) ((bz_s_##t){ODD(bits), ODD((bits) / 18)})

TREE_TEST(add, f64, OP_SUM, DT_FLOAT64, 32, -0.0, a + b, REAL(double, bits), ODD(bits), EQUAL)
TREE_TEST(add, f32, OP_SUM, DT_FLOAT32, 64, -0.0f, a + b, REAL(float, bits), ODD(bits), EQUAL)
TREE_TEST(mul, f64, OP_PROD, DT_FLOAT64, 32, 1, a *b, NEAR_ONE(bits), ODD(bits), EQUAL)
TREE_TEST(min, f32, OP_MIN, DT_FLOAT32, 64, INFINITY, a < b || a != a ? a : b, REAL(float, bits),
	  ODD(bits), EQUAL)
TREE_TEST(max, f32, OP_MAX, DT_FLOAT32, 64, -INFINITY, a > b || a != a ? a : b, SOME_NAN(bits),
	  ODD(bits), EQUAL)
TREE_TEST(add, i64, OP_SUM, DT_INT64, 32, 0, (int64_t)((uint64_t)a + (uint64_t)b),
	  (int64_t)(bits *bits), (int64_t)(bits *bits), EQUAL)
TREE_TEST(mul, u64, OP_PROD, DT_UINT64, 32, 1, a *b, bits | 1, bits | 1, EQUAL)
TREE_TEST(max, i8, OP_MAX, DT_INT8, 64, INT8_MIN, a > b ? a : b, (int8_t)bits, (int8_t)bits, EQUAL)
TREE_TEST(min, u16, OP_MIN, DT_UINT16, 64, UINT16_MAX, a < b ? a : b, (uint16_t)bits,
	  (uint16_t)bits, EQUAL)
TREE_TEST(lor, b1, OP_ANY, DT_BOOL, 64, 0, a | b, bits % 20000 == 0, bits % 20000 == 0, EQUAL)
TREE_TEST(land, b1, OP_ALL, DT_BOOL, 64, 1, a &b, bits % 20000 != 0, bits % 20000 != 0, EQUAL)
TREE_TEST(add, c128, OP_SUM, DT_COMPLEX128, 32, ((bz_s_c128){-0.0, -0.0}), ADD_PAIR(c128),
	  PAIR(c128, bits), ODD_PAIR(c128, bits), EQUAL_PAIR)
TREE_TEST(add, c64, OP_SUM, DT_COMPLEX64, 64, ((bz_s_c64){-0.0f, -0.0f}), ADD_PAIR(c64),
	  PAIR(c64, bits), ODD_PAIR(c64, bits), EQUAL_PAIR)
TREE_TEST(mul, c128, OP_PROD, DT_COMPLEX128, 32, ((bz_s_c128){1, 0}), MUL_PAIR(c128),
	  UNIT_PAIR(c128, bits), ODD_PAIR(c128, bits), EQUAL_PAIR)
TREE_TEST(mul, c64, OP_PROD, DT_COMPLEX64, 64, ((bz_s_c64){1, 0}), MUL_PAIR(c64),
	  PAIR(c64, bits % 5), ODD_PAIR(c64, bits), EQUAL_PAIR)

Test(tree, nothing_to_sum_is_plus_zero_and_minus_zeros_stay)
{
	static const double minus[8] = {-0.0, -0.0, -0.0};
	_Alignas(64) char state[TIER0_STATE_BYTES];
	struct bz_acc acc;
	double got;

	for (int level = 0; level <= (int)isa_best(); level++) {
		const struct tier0_red *r = &isas[level]->red[OP_SUM][DT_FLOAT64];

		r->init(state);
		r->end(state, 0, &acc);
		r->put(&acc, (char *)&got);
		cr_assert(got == 0 && !signbit(got));
		r->init(state);
		r->step(state, (const char *)minus, 3, 0);
		r->block(state);
		r->end(state, 3, &acc);
		r->put(&acc, (char *)&got);
		cr_assert(got == 0 && signbit(got));
	}
}

/* The first of equal extremes, and the first NaN, in chunks joined in any order. */
Test(tree, argmax_takes_the_first_and_the_first_nan)
{
	static float x[1008]; /* loops read whole vectors */
	_Alignas(64) char state[TIER0_STATE_BYTES];
	struct bz_acc part[2], acc;
	int64_t got;

	for (int with_nan = 0; with_nan < 2; with_nan++)
		for (int level = 0; level <= (int)isa_best(); level++) {
			const struct tier0_red *r = &isas[level]->red[OP_ARGMAX][DT_FLOAT32];

			for (int i = 0; i < 1000; i++)
				x[i] = (float)(i * 37 % 101);
			if (with_nan)
				x[777] = x[901] = NAN;
			for (int k = 1; k >= 0; k--) {
				r->init(state);
				r->step(state, (const char *)(x + 500 * k), 500, 500 * k);
				r->end(state, 500, &part[k]);
			}
			r->init(state);
			r->join(state, &part[1]);
			r->join(state, &part[0]);
			r->end(state, 1000, &acc);
			r->put(&acc, (char *)&got);
			cr_assert_eq(got, with_nan ? 777 : 30, "%ld", (long)got);
		}
}
