/* SPDX-License-Identifier: Apache-2.0 */
/* loops/tier0_isa.c - the interpreter's loops, compiled once per instruction set.
 *
 * In:  TIER0_ISA, the name of the table to define.  Out: that table.  Every loop
 * is one function of the kernels' prologue over registers in memory, so both
 * tiers give the same bits.  Which types an op has follows from its rule. */
#include "tier0_ops.h"

#ifndef TIER0_WIDTH
#define TIER0_WIDTH 8
#endif
#define BZ_WIDTH TIER0_WIDTH
#define BZ_NO_STREAM
#include "native.h"
#include "native_math.h"
#include "pre.h"
#include "ew.h"
#include "half.h"
#include "f16.h"
#include "bf16.h"
#include "gather.h"
#include "cx.h"
#include "tree.h"

#define SIZE(t) ((int64_t)sizeof(bz_s_##t))

/* Numpy's dtype ids by suffix. */
#define DT_b1	DT_BOOL
#define DT_i8	DT_INT8
#define DT_i16	DT_INT16
#define DT_i32	DT_INT32
#define DT_i64	DT_INT64
#define DT_u8	DT_UINT8
#define DT_u16	DT_UINT16
#define DT_u32	DT_UINT32
#define DT_u64	DT_UINT64
#define DT_f16	DT_FLOAT16
#define DT_bf16 DT_BFLOAT16
#define DT_f32	DT_FLOAT32
#define DT_f64	DT_FLOAT64
#define DT_c64	DT_COMPLEX64
#define DT_c128 DT_COMPLEX128

/* The loops: arity, loop type t, result type r. */
#define LOOP_HEAD(stem, t)                                                                         \
	static void t0_##stem##_##t(char *d, const char *a, const char *b, const char *c, int64_t n)
#define LOOP1(id, stem, t, r)                                                                      \
	LOOP_HEAD(stem, t)                                                                         \
	{                                                                                          \
		for (int64_t i = 0; i < n; i += BZ_W)                                              \
			bz_st_##r(d + i * SIZE(r), bz_##stem##_##t(bz_ld_##t(a + i * SIZE(t))));   \
	}
#define LOOP2(id, stem, t, r)                                                                      \
	LOOP_HEAD(stem, t)                                                                         \
	{                                                                                          \
		for (int64_t i = 0; i < n; i += BZ_W)                                              \
			bz_st_##r(d + i * SIZE(r), bz_##stem##_##t(bz_ld_##t(a + i * SIZE(t)),     \
								   bz_ld_##t(b + i * SIZE(t))));   \
	}
#define LOOP3_WHERE(id, stem, t, r)                                                                \
	LOOP_HEAD(stem, t)                                                                         \
	{                                                                                          \
		for (int64_t i = 0; i < n; i += BZ_W)                                              \
			bz_st_##r(d + i * SIZE(r),                                                 \
				  bz_##stem##_##t(bz_ld_b1(a + i), bz_ld_##t(b + i * SIZE(t)),     \
						  bz_ld_##t(c + i * SIZE(t))));                    \
	}
#define LOOP3(id, stem, t, r)                                                                      \
	LOOP_HEAD(stem, t)                                                                         \
	{                                                                                          \
		for (int64_t i = 0; i < n; i += BZ_W)                                              \
			bz_st_##r(d + i * SIZE(r), bz_##stem##_##t(bz_ld_##t(a + i * SIZE(t)),     \
								   bz_ld_##t(b + i * SIZE(t)),     \
								   bz_ld_##t(c + i * SIZE(t))));   \
	}

/* The types of a rule: F(op, stem, loop type, result type). */
#define EACH_FLOAT(X, ...)	       X(f16, ##__VA_ARGS__) BZ_EACH_FLOAT(X, ##__VA_ARGS__)
#define EACH_REAL(X, ...)	       X(f16, ##__VA_ARGS__) BZ_EACH_REAL(X, ##__VA_ARGS__)
#define EACH_SCALAR(X, ...)	       X(f16, ##__VA_ARGS__) BZ_EACH_SCALAR(X, ##__VA_ARGS__)
#define TYPE_SAME(t, F, id, stem)      F(id, stem, t, t)
#define TYPE_BOOL(t, F, id, stem)      F(id, stem, t, b1)
#define TYPE_SAME_C(t, f, F, id, stem) F(id, stem, t, t)
#define TYPE_BOOL_C(t, f, F, id, stem) F(id, stem, t, b1)
#define TYPE_PART_C(t, f, F, id, stem) F(id, stem, t, f)
#define RULE_T_NUMERIC(F, id, stem)                                                                \
	EACH_REAL(TYPE_SAME, F, id, stem) BZ_EACH_COMPLEX(TYPE_SAME_C, F, id, stem)
#define RULE_T_ARITH(F, id, stem)      RULE_T_NUMERIC(F, id, stem)
#define RULE_T_PROMOTE(F, id, stem)    RULE_T_NUMERIC(F, id, stem) F(id, stem, b1, b1)
#define RULE_T_ARITH_SAME(F, id, stem) RULE_T_PROMOTE(F, id, stem)
#define RULE_T_WHERE(F, id, stem)      RULE_T_PROMOTE(F, id, stem)
#define RULE_T_REAL_ARITH(F, id, stem) EACH_REAL(TYPE_SAME, F, id, stem)
#define RULE_T_FLOAT_REAL(F, id, stem) EACH_FLOAT(TYPE_SAME, F, id, stem)
#define RULE_T_FLOAT(F, id, stem)                                                                  \
	EACH_FLOAT(TYPE_SAME, F, id, stem) BZ_EACH_COMPLEX(TYPE_SAME_C, F, id, stem)
#define RULE_T_DIVIDE(F, id, stem) RULE_T_FLOAT(F, id, stem)
#define RULE_T_ROUND(F, id, stem)  EACH_SCALAR(TYPE_SAME, F, id, stem)
#define RULE_T_ABS(F, id, stem)                                                                    \
	EACH_SCALAR(TYPE_SAME, F, id, stem) BZ_EACH_COMPLEX(TYPE_PART_C, F, id, stem)
#define RULE_T_PART(F, id, stem) RULE_T_ABS(F, id, stem)
#define RULE_T_TEST(F, id, stem)                                                                   \
	EACH_SCALAR(TYPE_BOOL, F, id, stem) BZ_EACH_COMPLEX(TYPE_BOOL_C, F, id, stem)
#define RULE_T_COMPARE(F, id, stem)   RULE_T_TEST(F, id, stem)
#define RULE_T_TEST_REAL(F, id, stem) EACH_SCALAR(TYPE_BOOL, F, id, stem)
#define RULE_T_LOGICAL(F, id, stem)   F(id, stem, b1, b1)
#define RULE_T_BITWISE(F, id, stem)   BZ_EACH_INT(TYPE_SAME, F, id, stem) F(id, stem, b1, b1)
#define RULE_T_SHIFT(F, id, stem)     BZ_EACH_INT(TYPE_SAME, F, id, stem)
#define RULE_T_HEAD(F, id, stem)
#ifndef BZ_ONLY_NARROW
#define RULE_T_INDEX(F, id, stem) F(id, stem, i64, i64)
#else
#define RULE_T_INDEX(F, id, stem)
#endif

/* Rows of ops.def that are elementwise, by arity and kind. */
#define SHAPE_LOOP_1(rule, id, stem)	    RULE_T_##rule(LOOP1, id, stem)
#define SHAPE_LOOP_2(rule, id, stem)	    RULE_T_##rule(LOOP2, id, stem)
#define SHAPE_LOOP_3(rule, id, stem)	    SHAPE_LOOP_3_##id(rule, id, stem)
#define SHAPE_LOOP_3_WHERE(rule, id, stem)  RULE_T_##rule(LOOP3_WHERE, id, stem)
#define SHAPE_LOOP_3_CLIP(rule, id, stem)   RULE_T_##rule(LOOP3, id, stem)
#define KIND_LOOP_EW(arity, rule, id, stem) SHAPE_LOOP_##arity(rule, id, stem)
#define KIND_LOOP_CTL(arity, rule, id, stem)
#define KIND_LOOP_MOVE(arity, rule, id, stem)
#define KIND_LOOP_WRITE(arity, rule, id, stem)
#define KIND_LOOP_CREATE(arity, rule, id, stem)
#define KIND_LOOP_RED(arity, rule, id, stem)
#define KIND_LOOP_ARGRED(arity, rule, id, stem)
#define KIND_LOOP_SCAN(arity, rule, id, stem)
#define KIND_LOOP_JOIN(arity, rule, id, stem)
#define KIND_LOOP_SORT(arity, rule, id, stem)
#define KIND_LOOP_LIB(arity, rule, id, stem)
#define KIND_LOOP_GATHER(arity, rule, id, stem)
#define KIND_LOOP_DRAW(arity, rule, id, stem)
#define KIND_LOOP_SEARCH(arity, rule, id, stem)
#define KIND_LOOP_CHOSEN(arity, rule, id, stem)
#define KIND_LOOP_FOURIER(arity, rule, id, stem)
#define KIND_LOOP_LANE(arity, rule, id, stem)
#define KIND_LOOP_SOLVER(arity, rule, id, stem)
#define KIND_LOOP_GRID(arity, rule, id, stem)
#define OP(wire, id, np, kind, arity, rule, alg, stem, cost) KIND_LOOP_##kind(arity, rule, id, stem)
#include "ops.def"
#undef OP

#define CAST_LOOP(to, from)                                                                        \
	static void t0_cast_##from##_##to(char *d, const char *a, const char *b, const char *c,    \
					  int64_t n)                                               \
	{                                                                                          \
		for (int64_t i = 0; i < n; i += BZ_W)                                              \
			bz_st_##to(d + i * SIZE(to),                                               \
				   bz_cast_##from##_##to(bz_ld_##from(a + i * SIZE(from))));       \
	}
#define CAST_ROW(to, from) [DT_##from][DT_##to] = t0_cast_##from##_##to,
/* F(to, from) for every target. */
#define CAST_TARGETS(F, from)                                                                      \
	F(i8, from)                                                                                \
	F(i16, from)                                                                               \
	F(i32, from)                                                                               \
	F(i64, from)                                                                               \
	F(u8, from)                                                                                \
	F(u16, from)                                                                               \
	F(u32, from)                                                                               \
	F(u64, from)                                                                               \
	F(f16, from) F(bf16, from) F(f32, from) F(f64, from) F(c64, from) F(c128, from) F(b1, from)
#define CAST_ALL(F)                                                                                \
	CAST_TARGETS(F, b1)                                                                        \
	CAST_TARGETS(F, i8)                                                                        \
	CAST_TARGETS(F, i16)                                                                       \
	CAST_TARGETS(F, i32)                                                                       \
	CAST_TARGETS(F, i64)                                                                       \
	CAST_TARGETS(F, u8)                                                                        \
	CAST_TARGETS(F, u16)                                                                       \
	CAST_TARGETS(F, u32)                                                                       \
	CAST_TARGETS(F, u64)                                                                       \
	CAST_TARGETS(F, f16)                                                                       \
	CAST_TARGETS(F, bf16)                                                                      \
	CAST_TARGETS(F, f32)                                                                       \
	CAST_TARGETS(F, f64)                                                                       \
	CAST_TARGETS(F, c64)                                                                       \
	CAST_TARGETS(F, c128)
/* Between the types of at most 4 bytes; what goes by way of int64 has its loop elsewhere. */
#define CAST_SMALL(F, from)                                                                        \
	F(i8, from)                                                                                \
	F(i16, from)                                                                               \
	F(i32, from) F(u8, from) F(u16, from) F(f16, from) F(bf16, from) F(f32, from) F(b1, from)
#define CAST_INTEGER(F, from) CAST_SMALL(F, from) F(u32, from)
#define CAST_NARROW(F)                                                                             \
	CAST_INTEGER(F, b1)                                                                        \
	CAST_INTEGER(F, i8)                                                                        \
	CAST_INTEGER(F, i16)                                                                       \
	CAST_INTEGER(F, i32)                                                                       \
	CAST_INTEGER(F, u8)                                                                        \
	CAST_INTEGER(F, u16)                                                                       \
	CAST_INTEGER(F, u32)                                                                       \
	CAST_SMALL(F, f16)                                                                         \
	CAST_SMALL(F, bf16)                                                                        \
	CAST_SMALL(F, f32)
#ifndef BZ_ONLY_NARROW
CAST_ALL(CAST_LOOP)
#elif BZ_W == 8
CAST_NARROW(CAST_LOOP)
#endif

/* ---- reductions ------------------------------------------------------------------- */

#define RED_EACH(t, F, ...)                                                                        \
	F(SUM, add, t)                                                                             \
	F(PROD, mul, t)                                                                            \
	F(MIN, min, t)                                                                             \
	F(MAX, max, t)
#define RED_EACH_C(t, f, F) RED_EACH(t, F)
#define RED_ALL(F)                                                                                 \
	BZ_EACH_REAL(RED_EACH, F)                                                                  \
	BZ_EACH_COMPLEX(RED_EACH_C, F)                                                             \
	F(MIN, min, b1)                                                                            \
	F(MAX, max, b1)                                                                            \
	F(ANY, lor, b1)                                                                            \
	F(ALL, land, b1)

/* Rows of columns side by side that come to the same lane.  Eight at a time: then lanes, which lie
 * in memory, are fetched and put back once for that many.  The last vector of a row ends with it.
 */
#define COLUMNS_ROWS(op, t, rows)                                                                  \
	for (int64_t i = 0; i < n; i += BZ_W) {                                                    \
		const char *at = src + (i + BZ_W <= n ? i : n - BZ_W) * SIZE(t);                   \
		bz_##t v = fresh ? bz_id_##op##_##t() : bz_ld_##t(lane + i * SIZE(t));             \
                                                                                                   \
		BZ_##rows##_TIMES(v = bz_##op##_##t(v, bz_ld_##t(at + k * step));)                 \
			bz_st_##t(lane + i * SIZE(t), v);                                          \
	}                                                                                          \
	src += (rows)*step;                                                                        \
	fresh = false;
#define COLUMNS(id, op, t)                                                                         \
	static void t0_narrow_##op##_##t(char *lane, const char *src, int64_t step, int64_t rows,  \
					 int64_t n, bool fresh)                                    \
	{                                                                                          \
		bz_##t v = fresh ? bz_id_##op##_##t() : bz_ld_##t(lane);                           \
                                                                                                   \
		for (; rows > 0; rows--, src += step)                                              \
			v = bz_##op##_##t(v, bz_ldn_##t(src, (int)n));                             \
		bz_st_##t(lane, v);                                                                \
	}                                                                                          \
	static void t0_columns_##op##_##t(char *lane, const char *src, int64_t step, int64_t rows, \
					  int64_t n, bool fresh)                                   \
	{                                                                                          \
		if (n < BZ_W) {                                                                    \
			t0_narrow_##op##_##t(lane, src, step, rows, n, fresh);                     \
			return;                                                                    \
		}                                                                                  \
		for (; rows >= 8; rows -= 8) {                                                     \
			COLUMNS_ROWS(op, t, 8)                                                     \
		}                                                                                  \
		if (rows & 4) {                                                                    \
			COLUMNS_ROWS(op, t, 4)                                                     \
		}                                                                                  \
		if (rows & 2) {                                                                    \
			COLUMNS_ROWS(op, t, 2)                                                     \
		}                                                                                  \
		if (rows & 1) {                                                                    \
			COLUMNS_ROWS(op, t, 1)                                                     \
		}                                                                                  \
	}
RED_ALL(COLUMNS)
#define COLUMNS_ROW(id, op, t)                                                                     \
	[OP_##id][DT_##t] = {.columns = t0_columns_##op##_##t, .vector = BZ_W},

#ifndef BZ_ONLY_NARROW
#define RED_TYPE(t, ...)                                                                           \
	struct red_##t {                                                                           \
		bz_##t acc[BZ_R_##t];                                                              \
		struct bz_tree_##t tree;                                                           \
		int64_t elements; /* of the block */                                               \
	};                                                                                         \
	_Static_assert(sizeof(struct red_##t) <= TIER0_STATE_BYTES, "room for a state");           \
	_Static_assert(BZ_R_##t % 4 == 0, "accumulators go by fours");                             \
	static void t0_put_##t(const struct bz_acc *in, char *dst)                                 \
	{                                                                                          \
		bz_stn_##t(dst, 1, bz_all_##t(bz_acc_get_##t(in)));                                \
	}
BZ_EACH_SCALAR(RED_TYPE)
BZ_EACH_COMPLEX(RED_TYPE)

#define RED(id, op, t)                                                                             \
	static void t0_clear_##op##_##t(struct red_##t *s)                                         \
	{                                                                                          \
		for (int k = 0; k < BZ_R_##t; k++)                                                 \
			s->acc[k] = bz_id_##op##_##t();                                            \
		s->elements = 0;                                                                   \
	}                                                                                          \
	static void t0_init_##op##_##t(void *state)                                                \
	{                                                                                          \
		struct red_##t *s = state;                                                         \
                                                                                                   \
		t0_clear_##op##_##t(s);                                                            \
		bz_tree_init_##t(&s->tree);                                                        \
	}                                                                                          \
	/* The block's whole rows, into accumulators that stay in registers meanwhile; how many    \
	 * elements those are. */                                                                  \
	static int64_t t0_rows_##op##_##t(bz_##t *acc, const char *src, int64_t n)                 \
	{                                                                                          \
		bz_##t x = acc[0], y = acc[1], z = acc[2], w = acc[3];                             \
		int64_t i = 0;                                                                     \
                                                                                                   \
		for (; i + BZ_L_##t <= n; i += BZ_L_##t) {                                         \
			const char *at = src + i * SIZE(t);                                        \
                                                                                                   \
			x = bz_##op##_##t(x, bz_ld_##t(at));                                       \
			y = bz_##op##_##t(y, bz_ld_##t(at + BZ_W * SIZE(t)));                      \
			z = bz_##op##_##t(z, bz_ld_##t(at + 2 * BZ_W * SIZE(t)));                  \
			w = bz_##op##_##t(w, bz_ld_##t(at + 3 * BZ_W * SIZE(t)));                  \
		}                                                                                  \
		acc[0] = x;                                                                        \
		acc[1] = y;                                                                        \
		acc[2] = z;                                                                        \
		acc[3] = w;                                                                        \
		return i;                                                                          \
	}                                                                                          \
	static void t0_step_##op##_##t(void *state, const char *src, int64_t n, int64_t first)     \
	{                                                                                          \
		struct red_##t *s = state;                                                         \
		int64_t i = 0;                                                                     \
                                                                                                   \
		s->elements += n;                                                                  \
		for (int k = 0; k < BZ_R_##t; k += 4)                                              \
			i = t0_rows_##op##_##t(s->acc + k, src + k * BZ_W * SIZE(t), n);           \
		for (int k = 0; i < n; i += BZ_W, k++) {                                           \
			bz_##t v = bz_ld_##t(src + i * SIZE(t));                                   \
			s->acc[k] = n - i < BZ_W ? bz_some_##op##_##t(s->acc[k], v, (int)(n - i))  \
						 : bz_##op##_##t(s->acc[k], v);                    \
		}                                                                                  \
	}                                                                                          \
	static void t0_block_##op##_##t(void *state)                                               \
	{                                                                                          \
		struct red_##t *s = state;                                                         \
                                                                                                   \
		bz_push_##op##_##t(&s->tree,                                                       \
				   bz_fold_##op##_##t(s->acc, bz_used_##t(s->elements)));          \
		t0_clear_##op##_##t(s);                                                            \
	}                                                                                          \
	static void t0_join_##op##_##t(void *state, const struct bz_acc *chunk)                    \
	{                                                                                          \
		struct red_##t *s = state;                                                         \
                                                                                                   \
		bz_push_##op##_##t(&s->tree, bz_acc_get_##t(chunk));                               \
	}                                                                                          \
	static void t0_end_##op##_##t(void *state, int64_t elements, struct bz_acc *out)           \
	{                                                                                          \
		struct red_##t *s = state;                                                         \
                                                                                                   \
		bz_acc_put_##t(out, bz_end_##op##_##t(&s->tree, (bz_s_u64)elements));              \
	}                                                                                          \
	static void t0_id_##op##_##t(char *d, int64_t n)                                           \
	{                                                                                          \
		for (int64_t i = 0; i < n; i += BZ_W)                                              \
			bz_st_##t(d + i * SIZE(t), bz_id_##op##_##t());                            \
	}                                                                                          \
	static void t0_none_##op##_##t(char *d, int64_t n)                                         \
	{                                                                                          \
		struct bz_tree_##t tree;                                                           \
                                                                                                   \
		bz_tree_init_##t(&tree);                                                           \
		for (int64_t i = 0; i < n; i += BZ_W)                                              \
			bz_st_##t(d + i * SIZE(t), bz_all_##t(bz_end_##op##_##t(&tree, 0)));       \
	}
#define RED_ROW(id, op, t)                                                                         \
	[OP_##id][DT_##t] = {.init = t0_init_##op##_##t,                                           \
			     .step = t0_step_##op##_##t,                                           \
			     .block = t0_block_##op##_##t,                                         \
			     .join = t0_join_##op##_##t,                                           \
			     .end = t0_end_##op##_##t,                                             \
			     .put = t0_put_##t,                                                    \
			     .identity = t0_id_##op##_##t,                                         \
			     .nothing = t0_none_##op##_##t,                                        \
			     .columns = t0_columns_##op##_##t,                                     \
			     .vector = BZ_W,                                                       \
			     .combine = RED_OP_##id},
#define RED_OP_SUM  OP_ADD
#define RED_OP_PROD OP_MULTIPLY
#define RED_OP_MIN  OP_MINIMUM
#define RED_OP_MAX  OP_MAXIMUM
#define RED_OP_ANY  OP_LOGICAL_OR
#define RED_OP_ALL  OP_LOGICAL_AND

RED_ALL(RED)

/* argmin and argmax: `acc` gathers the joined chunks, `lanes` the running one. */
#define ARG_TYPE(t, ...)                                                                           \
	struct arg_##t {                                                                           \
		struct bz_arg_##t lanes;                                                           \
		struct bz_acc acc;                                                                 \
	};
BZ_EACH_SCALAR(ARG_TYPE)
BZ_EACH_COMPLEX(ARG_TYPE)
static void t0_arg_block(void *state)
{
	(void)state;
}
static void t0_arg_put(const struct bz_acc *in, char *dst)
{
	bz_stn_i64(dst, 1, bz_all_i64(in->index));
}
#define ARG(id, op, t)                                                                             \
	static void t0_init_##op##_##t(void *state)                                                \
	{                                                                                          \
		struct arg_##t *s = state;                                                         \
                                                                                                   \
		bz_##op##_init_##t(&s->lanes);                                                     \
		s->acc = (struct bz_acc){.index = -1};                                             \
	}                                                                                          \
	static void t0_step_##op##_##t(void *state, const char *src, int64_t n, int64_t first)     \
	{                                                                                          \
		struct arg_##t *s = state;                                                         \
		bz_i64 at = bz_iota_i64(first, 1);                                                 \
                                                                                                   \
		for (int64_t i = 0; i < n; i += BZ_W, at += BZ_W) {                                \
			bz_i64 k = at;                                                             \
			if (n - i < BZ_W)                                                          \
				k = bz_where_i64(bz_first_lanes((int)(n - i)), k, bz_all_i64(-1)); \
			bz_##op##_step_##t(&s->lanes, bz_ld_##t(src + i * SIZE(t)), k);            \
		}                                                                                  \
	}                                                                                          \
	static void t0_side_##op##_##t(char *best, int64_t *index, const char *src, int64_t step,  \
				       int64_t rows, int64_t n, int64_t at)                        \
	{                                                                                          \
		for (int64_t i = 0; i < n; i += BZ_W) {                                            \
			const char *row =                                                          \
				src + (i + BZ_W <= n || n < BZ_W ? i : n - BZ_W) * SIZE(t);        \
			struct bz_arg_##t a = {bz_ld_##t(best + i * SIZE(t)),                      \
					       bz_ld_i64((const char *)(index + i))};              \
                                                                                                   \
			for (int64_t r = 0; r < rows; r++, row += step)                            \
				bz_##op##_step_##t(                                                \
					&a, n < BZ_W ? bz_ldn_##t(row, (int)n) : bz_ld_##t(row),   \
					bz_all_i64(at + r));                                       \
			bz_st_##t(best + i * SIZE(t), a.best);                                     \
			bz_st_i64((char *)(index + i), a.index);                                   \
		}                                                                                  \
	}                                                                                          \
	static void t0_join_##op##_##t(void *state, const struct bz_acc *chunk)                    \
	{                                                                                          \
		struct arg_##t *s = state;                                                         \
                                                                                                   \
		bz_##op##_join_##t(&s->acc, chunk);                                                \
	}                                                                                          \
	static void t0_end_##op##_##t(void *state, int64_t elements, struct bz_acc *out)           \
	{                                                                                          \
		struct arg_##t *s = state;                                                         \
		struct bz_acc last;                                                                \
                                                                                                   \
		(void)elements;                                                                    \
		*out = s->acc;                                                                     \
		if (s->lanes.index[0] < 0)                                                         \
			return;                                                                    \
		bz_##op##_end_##t(&s->lanes, &last);                                               \
		bz_##op##_join_##t(out, &last);                                                    \
	}
#define ARG_ROW(id, op, t)                                                                         \
	[OP_##id][DT_##t] = {.init = t0_init_##op##_##t,                                           \
			     .step = t0_step_##op##_##t,                                           \
			     .block = t0_arg_block,                                                \
			     .join = t0_join_##op##_##t,                                           \
			     .end = t0_end_##op##_##t,                                             \
			     .side = t0_side_##op##_##t,                                           \
			     .vector = BZ_W,                                                       \
			     .put = t0_arg_put},
#define ARG_EACH(t, F, ...) F(ARGMIN, argmin, t) F(ARGMAX, argmax, t)
#define ARG_EACH_C(t, f, F) ARG_EACH(t, F)
#define ARG_ALL(F)                                                                                 \
	BZ_EACH_SCALAR(ARG_EACH, F)                                                                \
	BZ_EACH_COMPLEX(ARG_EACH_C, F)
ARG_ALL(ARG)

#endif

/* What complex types do to both parts alike needs no look at which is which. */
#ifndef BZ_ONLY_NARROW
#define PAIRS_EACH(F)                                                                              \
	F(ADD, add)                                                                                \
	F(SUBTRACT, sub)                                                                           \
	F(NEGATIVE, neg)                                                                           \
	F(POSITIVE, pos)
#define PAIRS_LOOP(stem, t, f)                                                                     \
	static void t0_pairs_##stem##_##t(char *d, const char *a, const char *b, const char *c,    \
					  int64_t n)                                               \
	{                                                                                          \
		t0_##stem##_##f(d, a, b, c, 2 * n);                                                \
	}
#define PAIRS(id, stem)                                                                            \
	PAIRS_LOOP(stem, c64, f32)                                                                 \
	PAIRS_LOOP(stem, c128, f64)
#define PAIRS_ROW(id, stem)                                                                        \
	[OP_##id][DT_c64] = t0_pairs_##stem##_c64, [OP_##id][DT_c128] = t0_pairs_##stem##_c128,
PAIRS_EACH(PAIRS)
#pragma GCC diagnostic ignored "-Woverride-init"
#endif

/* ---- the table ---------------------------------------------------------------------- */

#define ROW(id, stem, t, r)	    [OP_##id][DT_##t] = t0_##stem##_##t,
#define KIND_ROW_EW(rule, id, stem) RULE_T_##rule(ROW, id, stem)
#define KIND_ROW_CTL(rule, id, stem)
#define KIND_ROW_MOVE(rule, id, stem)
#define KIND_ROW_WRITE(rule, id, stem)
#define KIND_ROW_CREATE(rule, id, stem)
#define KIND_ROW_RED(rule, id, stem)
#define KIND_ROW_ARGRED(rule, id, stem)
#define KIND_ROW_SCAN(rule, id, stem)
#define KIND_ROW_JOIN(rule, id, stem)
#define KIND_ROW_SORT(rule, id, stem)
#define KIND_ROW_LIB(rule, id, stem)
#define KIND_ROW_GATHER(rule, id, stem)
#define KIND_ROW_DRAW(rule, id, stem)
#define KIND_ROW_SEARCH(rule, id, stem)
#define KIND_ROW_CHOSEN(rule, id, stem)
#define KIND_ROW_FOURIER(rule, id, stem)
#define KIND_ROW_LANE(rule, id, stem)
#define KIND_ROW_SOLVER(rule, id, stem)
#define KIND_ROW_GRID(rule, id, stem)
const struct tier0_isa TIER0_ISA = {
	.op =
		{
#define OP(wire, id, np, kind, arity, rule, alg, stem, cost) KIND_ROW_##kind(rule, id, stem)
#include "ops.def"
#undef OP
#ifndef BZ_ONLY_NARROW
			PAIRS_EACH(PAIRS_ROW)
#endif
		},
#ifndef BZ_ONLY_NARROW
	.cast = {CAST_ALL(CAST_ROW)},
	.red = {RED_ALL(RED_ROW) ARG_ALL(ARG_ROW)},
#else
	.red = {RED_ALL(COLUMNS_ROW)},
#if BZ_W == 8
	.cast = {CAST_NARROW(CAST_ROW)},
#endif
#endif
};
