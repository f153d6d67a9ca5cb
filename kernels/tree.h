/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/tree.h - reductions, last in every prologue (pre.h ew.h half.h f16.h bf16.h cx.h tree.h).
 *
 * One tree for every backend, tier, loop order and number of threads, so a
 * reduction's bits are a function of its elements, in C order, and their type:
 *
 *   lanes   element e of a block of BZ_BLOCK goes to lane e % L, each lane adds
 *           up from the identity; L = BZ_L_<t>: 64 for components of at most 4
 *           bytes, else 32.
 *   fold    lane[j] = lane[j] op lane[j + w] for w = L/2, L/4 ... 1; a lane that no
 *           element went to takes no part, as x op identity need not be x (a complex
 *           product with 1+0i makes NaN of an infinity)
 *   counter block values combine pairwise as a binary counter carries: after the
 *           n-th push, once for every 0 bit below the lowest 1 bit of n
 *   end     what is left folds from the top (youngest): s = stack[--sp] op s
 *
 * A whole chunk (BZ_CHUNK, 64 blocks) leaves one value, so pushing each chunk's
 * ended value to a counter of its own gives the same bits as pushing all blocks.
 *
 * Inner mode (vectors along the reduced loop): BZ_R_<t> = L / BZ_W accumulators,
 * vector k of a block goes to acc[k % BZ_R_<t>], the n elements of a short one through
 * bz_some_<op>_<t>(acc, v, n); bz_fold_<op>_<t>(acc, used) gives the block's value, which goes to
 * bz_push_<op>_<t>(&tree, value), at last bz_end_<op>_<t>(&tree, elements).  BZ_ROWS is the
 * same of some rows at a time.
 * Outer mode (vectors along a parallel loop, one column a lane): row r goes to
 * acc[(r % L) * step]; bz_vfold_ does the same to so many columns, side by side from acc on,
 * and leaves their values there; bz_vpush_, bz_vend_ to one, of a chunk. */
#ifndef BZ_TREE_H
#define BZ_TREE_H

#define BZ_BLOCK       1024
#define BZ_CHUNK       65536
#define BZ_DEPTH       48 /* more than the bits of any number of blocks */
#define BZ_CHUNK_DEPTH 8  /* of those of a chunk */

/* A C copy of loops/kernel_abi.h, for sources without an include path. */
#ifndef BRAZE_KERNEL_ABI_H
#define KERNEL_PAST  1
#define KERNEL_FAR   2
#define KERNEL_WHOLE 4
struct bz_args {
	char *const *base;
	const bz_s_i64 *extent;
	const bz_s_i64 *stride;
	const bz_s_u64 *scalar;
	const volatile bz_s_u32 *cancel;
	bz_s_u64 stream;
	const bz_s_i64 *gather;
	bz_s_u64 *error;
};
struct bz_acc {
	bz_s_u64 v[2];
	bz_s_i64 index;
};
#endif

#ifndef BZ_NO_TREE
enum {
	BZ_L_b1 = 64,
	BZ_L_i8 = 64,
	BZ_L_i16 = 64,
	BZ_L_i32 = 64,
	BZ_L_i64 = 32,
	BZ_L_u8 = 64,
	BZ_L_u16 = 64,
	BZ_L_u32 = 64,
	BZ_L_u64 = 32,
	BZ_L_f32 = 64,
	BZ_L_f64 = 32,
	BZ_L_c64 = 64,
	BZ_L_c128 = 32
};

/* ---- between a register and one element ----------------------------------------- */

#if BZ_W == 4
#define BZ_DOWN8(v) (v)
#define BZ_DOWN4(v) (v)
#define BZ_DOWN2(v) __builtin_shufflevector(v, v, 2, 3, 2, 3)
#define BZ_DOWN1(v) __builtin_shufflevector(v, v, 1, 1, 1, 1)
#elif BZ_W == 8
#define BZ_DOWN8(v) (v)
#define BZ_DOWN4(v) __builtin_shufflevector(v, v, 4, 5, 6, 7, 4, 5, 6, 7)
#define BZ_DOWN2(v) __builtin_shufflevector(v, v, 2, 3, 2, 3, 2, 3, 2, 3)
#define BZ_DOWN1(v) __builtin_shufflevector(v, v, 1, 1, 1, 1, 1, 1, 1, 1)
#else
#define BZ_DOWN8(v)                                                                                \
	__builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15)
#define BZ_DOWN4(v) __builtin_shufflevector(v, v, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7)
#define BZ_DOWN2(v) __builtin_shufflevector(v, v, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3)
#define BZ_DOWN1(v) __builtin_shufflevector(v, v, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
#endif

/* The lower, the higher half of every g lanes side by side of `a`, then of `b`. */
#if BZ_W == 4
#define BZ_LOW4(a, b)  __builtin_shufflevector(a, b, 0, 1, 4, 5)
#define BZ_HIGH4(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7)
#define BZ_LOW2(a, b)  __builtin_shufflevector(a, b, 0, 2, 4, 6)
#define BZ_HIGH2(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7)
#define BZ_LOW8	       BZ_LOW4
#define BZ_HIGH8       BZ_HIGH4
#define BZ_LOW16       BZ_LOW4
#define BZ_HIGH16      BZ_HIGH4
#elif BZ_W == 8
#define BZ_LOW8(a, b)  __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define BZ_HIGH8(a, b) __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15)
#define BZ_LOW4(a, b)  __builtin_shufflevector(a, b, 0, 1, 4, 5, 8, 9, 12, 13)
#define BZ_HIGH4(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7, 10, 11, 14, 15)
#define BZ_LOW2(a, b)  __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define BZ_HIGH2(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#define BZ_LOW16       BZ_LOW8
#define BZ_HIGH16      BZ_HIGH8
#else
#define BZ_LOW16(a, b)                                                                             \
	__builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23)
#define BZ_HIGH16(a, b)                                                                            \
	__builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31)
#define BZ_LOW8(a, b)                                                                              \
	__builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27)
#define BZ_HIGH8(a, b)                                                                             \
	__builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31)
#define BZ_LOW4(a, b)                                                                              \
	__builtin_shufflevector(a, b, 0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29)
#define BZ_HIGH4(a, b)                                                                             \
	__builtin_shufflevector(a, b, 2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23, 26, 27, 30, 31)
#define BZ_LOW2(a, b)                                                                              \
	__builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define BZ_HIGH2(a, b)                                                                             \
	__builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#endif
#define BZ_HALF_OF(half, a, b, g)                                                                  \
	((g) == 16  ? BZ_##half##16(a, b)                                                          \
	 : (g) == 8 ? BZ_##half##8(a, b)                                                           \
	 : (g) == 4 ? BZ_##half##4(a, b)                                                           \
		    : BZ_##half##2(a, b))
/* Vectors that n elements fill. */
#define BZ_VECTORS(n) (((n) + BZ_W - 1) / BZ_W)

/* bz_ldf_: a vector that may come from memory.  With BZ_HALVES, where the way there is half as wide
 * as a register, by a load for each half: rows come sooner so than by one for both. */
#if defined BZ_HALVES && defined __AVX512F__
typedef long long bz_x_half __attribute__((vector_size(32), aligned(1), may_alias));
#define BZ_LOAD_FAR(t)                                                                             \
	BZ_FN bz_##t bz_ldf_##t(const char *p)                                                     \
	{                                                                                          \
		union {                                                                            \
			long long both __attribute__((vector_size(64)));                           \
			bz_##t v;                                                                  \
		} u;                                                                               \
		bz_x_half a, b;                                                                    \
                                                                                                   \
		if (sizeof u.v != sizeof u.both)                                                   \
			return bz_ld_##t(p);                                                       \
		a = *(const bz_x_half *)p;                                                         \
		b = *(const bz_x_half *)(p + sizeof a);                                            \
		/* Else they become one load again. */                                             \
		__asm__("" : "+v"(a));                                                             \
		u.both = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);                    \
		return u.v;                                                                        \
	}
#else
#define BZ_LOAD_FAR(t)                                                                             \
	BZ_FN bz_##t bz_ldf_##t(const char *p)                                                     \
	{                                                                                          \
		return bz_ld_##t(p);                                                               \
	}
#endif
BZ_EACH_SCALAR(BZ_LOAD_FAR)

/* 1 in the first n lanes. */
BZ_FN bz_b1 bz_first_lanes(int n)
{
	const bz_b1 lane = {BZ_COUNT};
	return BZ_B1(lane < (bz_s_b1)n);
}

/* bz_all_: an element in every lane.  bz_one_: lane 0.  bz_in_, bz_of_: the element of lane l of
 * vectors, put there, and in every lane.  bz_low_, bz_high_: BZ_HALF_OF.  bz_acc_put_ and _get_:
 * an element as the raw bits of an accumulator. */
#define BZ_ELEMENT(t)                                                                              \
	BZ_FN bz_##t bz_all_##t(bz_s_##t s)                                                        \
	{                                                                                          \
		return BZ_SPLAT(t, s);                                                             \
	}                                                                                          \
	BZ_FN bz_s_##t bz_one_##t(bz_##t v)                                                        \
	{                                                                                          \
		return v[0];                                                                       \
	}                                                                                          \
	BZ_FN bz_##t bz_down_##t(bz_##t v, int w)                                                  \
	{                                                                                          \
		return w == 8	? BZ_DOWN8(v)                                                      \
		       : w == 4 ? BZ_DOWN4(v)                                                      \
		       : w == 2 ? BZ_DOWN2(v)                                                      \
				: BZ_DOWN1(v);                                                     \
	}                                                                                          \
	BZ_FN bz_##t bz_low_##t(bz_##t v, bz_##t with, int g)                                      \
	{                                                                                          \
		return BZ_HALF_OF(LOW, v, with, g);                                                \
	}                                                                                          \
	BZ_FN bz_##t bz_high_##t(bz_##t v, bz_##t with, int g)                                     \
	{                                                                                          \
		return BZ_HALF_OF(HIGH, v, with, g);                                               \
	}                                                                                          \
	BZ_FN void bz_in_##t(bz_##t *v, int l, bz_s_##t s)                                         \
	{                                                                                          \
		((bz_e_##t *)v)[l] = s;                                                            \
	}                                                                                          \
	BZ_FN bz_##t bz_of_##t(const bz_##t *v, int l)                                             \
	{                                                                                          \
		return bz_all_##t(((const bz_e_##t *)v)[l]);                                       \
	}                                                                                          \
	BZ_FN void bz_acc_put_##t(struct bz_acc *a, bz_s_##t s)                                    \
	{                                                                                          \
		a->v[0] = a->v[1] = 0;                                                             \
		*(bz_e_##t *)&a->v[0] = s;                                                         \
		a->index = 0;                                                                      \
	}                                                                                          \
	BZ_FN bz_s_##t bz_acc_get_##t(const struct bz_acc *a)                                      \
	{                                                                                          \
		return *(const bz_e_##t *)&a->v[0];                                                \
	}
BZ_EACH_SCALAR(BZ_ELEMENT)
#ifdef BZ_BF16_H
BZ_FN bz_bf16 bz_of_bf16(const bz_bf16 *v, int l)
{
	return bz_of_u16(v, l);
}
#endif
#ifdef BZ_F16_H /* reduced as float32, but what follows of it may be one */
BZ_FN bz_f16 bz_of_f16(const bz_f16 *v, int l)
{
	return bz_of_u16(v, l);
}
#endif
#define BZ_ELEMENT_COMPLEX(t, f)                                                                   \
	BZ_FN bz_##t bz_all_##t(bz_s_##t s)                                                        \
	{                                                                                          \
		return (bz_##t){bz_all_##f(s.re), bz_all_##f(s.im)};                               \
	}                                                                                          \
	BZ_FN bz_s_##t bz_one_##t(bz_##t v)                                                        \
	{                                                                                          \
		return (bz_s_##t){v.re[0], v.im[0]};                                               \
	}                                                                                          \
	BZ_FN bz_##t bz_down_##t(bz_##t v, int w)                                                  \
	{                                                                                          \
		return (bz_##t){bz_down_##f(v.re, w), bz_down_##f(v.im, w)};                       \
	}                                                                                          \
	BZ_FN bz_##t bz_low_##t(bz_##t v, bz_##t with, int g)                                      \
	{                                                                                          \
		return (bz_##t){bz_low_##f(v.re, with.re, g), bz_low_##f(v.im, with.im, g)};       \
	}                                                                                          \
	BZ_FN bz_##t bz_high_##t(bz_##t v, bz_##t with, int g)                                     \
	{                                                                                          \
		return (bz_##t){bz_high_##f(v.re, with.re, g), bz_high_##f(v.im, with.im, g)};     \
	}                                                                                          \
	BZ_FN void bz_in_##t(bz_##t *v, int l, bz_s_##t s)                                         \
	{                                                                                          \
		bz_in_##f(&v[l / BZ_W].re, l % BZ_W, s.re);                                        \
		bz_in_##f(&v[l / BZ_W].im, l % BZ_W, s.im);                                        \
	}                                                                                          \
	BZ_FN bz_##t bz_of_##t(const bz_##t *v, int l)                                             \
	{                                                                                          \
		return (bz_##t){bz_of_##f(&v[l / BZ_W].re, l % BZ_W),                              \
				bz_of_##f(&v[l / BZ_W].im, l % BZ_W)};                             \
	}                                                                                          \
	BZ_FN void bz_acc_put_##t(struct bz_acc *a, bz_s_##t s)                                    \
	{                                                                                          \
		a->v[0] = a->v[1] = 0;                                                             \
		*(bz_e_##f *)&a->v[0] = s.re;                                                      \
		*(bz_e_##f *)&a->v[1] = s.im;                                                      \
		a->index = 0;                                                                      \
	}                                                                                          \
	BZ_FN bz_s_##t bz_acc_get_##t(const struct bz_acc *a)                                      \
	{                                                                                          \
		return (bz_s_##t){*(const bz_e_##f *)&a->v[0], *(const bz_e_##f *)&a->v[1]};       \
	}
BZ_EACH_COMPLEX(BZ_ELEMENT_COMPLEX)

/* The last vector of a row, whose last n elements belong to other lanes than they are in: bz_last_
 * has them in the first n, from lane `from` on before, and in the rest what `others` has. */
#ifdef __clang__
#define BZ_MOVED(t, v, from)                                                                       \
	union bz_l_##t u = {v};                                                                    \
	for (int i = 0; i < BZ_W; i++)                                                             \
		u.s[i] = v[from[i] % BZ_W];                                                        \
	v = u.v;
#else
#define BZ_MOVED(t, v, from) v = __builtin_shuffle(v, from);
#endif
#define BZ_LAST(t)                                                                                 \
	struct bz_rest_##t {                                                                       \
		bz_k_##t from, first;                                                              \
	};                                                                                         \
	BZ_FN struct bz_rest_##t bz_rest_##t(int n, int from)                                      \
	{                                                                                          \
		const bz_k_##t lane = {BZ_COUNT};                                                  \
                                                                                                   \
		return (struct bz_rest_##t){lane + (__typeof__(lane[0]))from,                      \
					    (bz_k_##t)(lane < (__typeof__(lane[0]))n)};            \
	}                                                                                          \
	BZ_FN bz_##t bz_last_##t(bz_##t v, const struct bz_rest_##t *q, bz_##t others)             \
	{                                                                                          \
		BZ_MOVED(t, v, q->from)                                                            \
		return BZ_SEL(t, q->first, v, others);                                             \
	}
BZ_EACH_SCALAR(BZ_LAST)
#define BZ_LAST_COMPLEX(t, f)                                                                      \
	struct bz_rest_##t {                                                                       \
		struct bz_rest_##f part;                                                           \
	};                                                                                         \
	BZ_FN struct bz_rest_##t bz_rest_##t(int n, int from)                                      \
	{                                                                                          \
		return (struct bz_rest_##t){bz_rest_##f(n, from)};                                 \
	}                                                                                          \
	BZ_FN bz_##t bz_last_##t(bz_##t v, const struct bz_rest_##t *q, bz_##t others)             \
	{                                                                                          \
		return (bz_##t){bz_last_##f(v.re, &q->part, others.re),                            \
				bz_last_##f(v.im, &q->part, others.im)};                           \
	}
BZ_EACH_COMPLEX(BZ_LAST_COMPLEX)

/* ---- the tree --------------------------------------------------------------------- */

#define BZ_TREE_TYPE(t, ...)                                                                       \
	enum { BZ_R_##t = BZ_L_##t / BZ_W };                                                       \
	struct bz_tree_##t {                                                                       \
		bz_s_u64 n;                                                                        \
		int sp;                                                                            \
		bz_s_##t s[BZ_DEPTH];                                                              \
	};                                                                                         \
	struct bz_vtree_##t {                                                                      \
		bz_s_u64 n;                                                                        \
		int sp;                                                                            \
		bz_##t s[BZ_CHUNK_DEPTH];                                                          \
	};                                                                                         \
	BZ_FN void bz_tree_init_##t(struct bz_tree_##t *tree)                                      \
	{                                                                                          \
		tree->n = 0;                                                                       \
		tree->sp = 0;                                                                      \
	}                                                                                          \
	BZ_FN void bz_vtree_init_##t(struct bz_vtree_##t *tree)                                    \
	{                                                                                          \
		tree->n = 0;                                                                       \
		tree->sp = 0;                                                                      \
	}
BZ_EACH_SCALAR(BZ_TREE_TYPE)
BZ_EACH_COMPLEX(BZ_TREE_TYPE)

/* Text as often as there are accumulators of a type of at most four bytes, of another one; k is
 * the number of the time.  An index that is a number from the first on makes an accumulator a
 * register, which a loop that is unrolled later does not. */
#define BZ_TIME(n, ...)                                                                            \
	{                                                                                          \
		enum { k = (n) };                                                                  \
		__VA_ARGS__                                                                        \
	}
#define BZ_1_TIMES(...) BZ_TIME(0, __VA_ARGS__)
#define BZ_2_TIMES(...) BZ_1_TIMES(__VA_ARGS__) BZ_TIME(1, __VA_ARGS__)
#define BZ_4_TIMES(...) BZ_2_TIMES(__VA_ARGS__) BZ_TIME(2, __VA_ARGS__) BZ_TIME(3, __VA_ARGS__)
#define BZ_8_TIMES(...)                                                                            \
	BZ_4_TIMES(__VA_ARGS__)                                                                    \
	BZ_TIME(4, __VA_ARGS__)                                                                    \
	BZ_TIME(5, __VA_ARGS__) BZ_TIME(6, __VA_ARGS__) BZ_TIME(7, __VA_ARGS__)
#if BZ_W == 16
#define BZ_NARROW_TIMES BZ_4_TIMES
#elif BZ_W == 8
#define BZ_NARROW_TIMES BZ_8_TIMES
#define BZ_WIDE_TIMES	BZ_4_TIMES
#else
#define BZ_NARROW_TIMES(...)                                                                       \
	BZ_8_TIMES(__VA_ARGS__)                                                                    \
	BZ_TIME(8, __VA_ARGS__)                                                                    \
	BZ_TIME(9, __VA_ARGS__)                                                                    \
	BZ_TIME(10, __VA_ARGS__)                                                                   \
	BZ_TIME(11, __VA_ARGS__)                                                                   \
	BZ_TIME(12, __VA_ARGS__)                                                                   \
	BZ_TIME(13, __VA_ARGS__) BZ_TIME(14, __VA_ARGS__) BZ_TIME(15, __VA_ARGS__)
#define BZ_WIDE_TIMES BZ_8_TIMES
#endif

/* Lanes that n > 0 elements of a block use: the others need neither be filled nor folded. */
#define BZ_USED(t, ...)                                                                            \
	BZ_FN int bz_used_##t(bz_s_i64 n)                                                          \
	{                                                                                          \
		return n < BZ_L_##t ? (int)n : BZ_L_##t;                                           \
	}
BZ_EACH_SCALAR(BZ_USED)
BZ_EACH_COMPLEX(BZ_USED)

/* The vector of a row of accumulators that element i of the row goes to.  By bytes: it then
 * steps as the address of the element does. */
#define BZ_AT(w, i) ((void *)((char *)(w) + (i) * (bz_s_i64)(sizeof *(w) / BZ_W)))

/* identity: what lanes begin with; nothing: the result over no element; skip: identities of
 * lanes that no element went to would change others, and are left out of the fold. */
#define BZ_REDUCE(op, t, identity, nothing, skip)                                                  \
	enum { bz_skip_##op##_##t = (skip) };                                                      \
	BZ_FN bz_##t bz_id_##op##_##t(void)                                                        \
	{                                                                                          \
		return identity;                                                                   \
	}                                                                                          \
	BZ_FN bz_##t bz_some_##op##_##t(bz_##t acc, bz_##t v, int n)                               \
	{                                                                                          \
		return bz_where_##t(bz_first_lanes(n), bz_##op##_##t(acc, v), acc);                \
	}                                                                                          \
	BZ_FN bz_s_##t bz_join_##op##_##t(bz_s_##t a, bz_s_##t b)                                  \
	{                                                                                          \
		return bz_one_##t(bz_##op##_##t(bz_all_##t(a), bz_all_##t(b)));                    \
	}                                                                                          \
	/* Lanes of which only the first n of `with` are used. */                                  \
	BZ_FN bz_##t bz_half_##op##_##t(bz_##t v, bz_##t with, int n)                              \
	{                                                                                          \
		if (!(skip) || n >= BZ_W)                                                          \
			return bz_##op##_##t(v, with);                                             \
		return n > 0 ? bz_some_##op##_##t(v, with, n) : v;                                 \
	}                                                                                          \
	BZ_FN bz_s_##t bz_lanes_##op##_##t(bz_##t v, int used)                                     \
	{                                                                                          \
		if (BZ_W == 16)                                                                    \
			v = bz_half_##op##_##t(v, bz_down_##t(v, 8), (used < 16 ? used : 16) - 8); \
		if (BZ_W >= 8)                                                                     \
			v = bz_half_##op##_##t(v, bz_down_##t(v, 4), (used < 8 ? used : 8) - 4);   \
		v = bz_half_##op##_##t(v, bz_down_##t(v, 2), (used < 4 ? used : 4) - 2);           \
		return bz_one_##t(                                                                 \
			bz_half_##op##_##t(v, bz_down_##t(v, 1), (used < 2 ? used : 2) - 1));      \
	}                                                                                          \
	BZ_FN bz_s_##t bz_fold_##op##_##t(bz_##t *acc, int used)                                   \
	{                                                                                          \
		_Pragma("GCC unroll 16") for (int w = BZ_R_##t / 2; w >= 1; w /= 2)                \
			_Pragma("GCC unroll 16") for (int j = 0; j < w; j++) acc[j] =              \
				bz_half_##op##_##t(acc[j], acc[j + w],                             \
						   (used < 2 * w * BZ_W ? used : 2 * w * BZ_W) -   \
							   (j + w) * BZ_W);                        \
		return bz_lanes_##op##_##t(acc[0], used);                                          \
	}                                                                                          \
	BZ_FN void bz_push_##op##_##t(struct bz_tree_##t *tree, bz_s_##t s)                        \
	{                                                                                          \
		for (bz_s_u64 m = ++tree->n; !(m & 1); m >>= 1)                                    \
			s = bz_join_##op##_##t(tree->s[--tree->sp], s);                            \
		tree->s[tree->sp++] = s;                                                           \
	}                                                                                          \
	BZ_FN bz_s_##t bz_end_##op##_##t(struct bz_tree_##t *tree, bz_s_u64 elements)              \
	{                                                                                          \
		bz_s_##t s;                                                                        \
                                                                                                   \
		if (!elements || !tree->sp)                                                        \
			return bz_one_##t(nothing);                                                \
		s = tree->s[--tree->sp];                                                           \
		while (tree->sp)                                                                   \
			s = bz_join_##op##_##t(tree->s[--tree->sp], s);                            \
		return s;                                                                          \
	}                                                                                          \
	BZ_FN void bz_vfold_##op##_##t(bz_##t *acc, int step, int used, int columns)               \
	{                                                                                          \
		int w = BZ_L_##t / 2;                                                              \
                                                                                                   \
		/* Two steps at once, as long as all lanes are used. */                            \
		for (; w > 1 && used == BZ_L_##t; w /= 4)                                          \
			for (int j = 0; j < w / 2; j++)                                            \
				for (int i = 0; i < columns; i++) {                                \
					bz_##t *const a = acc + j * step + i;                      \
					bz_##t *const b = a + w / 2 * step;                        \
                                                                                                   \
					*a = bz_##op##_##t(bz_##op##_##t(*a, a[w * step]),         \
							   bz_##op##_##t(*b, b[w * step]));        \
				}                                                                  \
		for (; w >= 1; w /= 2)                                                             \
			for (int j = 0; j < w && j + w < used; j++)                                \
				for (int i = 0; i < columns; i++)                                  \
					acc[j * step + i] = bz_##op##_##t(                         \
						acc[j * step + i], acc[(j + w) * step + i]);       \
	}                                                                                          \
	BZ_FN void bz_vpush_##op##_##t(struct bz_vtree_##t *tree, bz_##t v)                        \
	{                                                                                          \
		for (bz_s_u64 m = ++tree->n; !(m & 1); m >>= 1)                                    \
			v = bz_##op##_##t(tree->s[--tree->sp], v);                                 \
		tree->s[tree->sp++] = v;                                                           \
	}                                                                                          \
	BZ_FN bz_##t bz_vend_##op##_##t(struct bz_vtree_##t *tree, bz_s_u64 elements)              \
	{                                                                                          \
		bz_##t v;                                                                          \
                                                                                                   \
		if (!elements || !tree->sp)                                                        \
			return nothing;                                                            \
		v = tree->s[--tree->sp];                                                           \
		while (tree->sp)                                                                   \
			v = bz_##op##_##t(tree->s[--tree->sp], v);                                 \
		return v;                                                                          \
	}

#define BZ_REDUCTION(op, t, identity, nothing) BZ_REDUCE(op, t, identity, nothing, 0)

/* The smallest and the greatest number of a type. */
#define BZ_LEAST(t) ((bz_s_##t)((bz_s_##t) - 1 < 0 ? (bz_s_u64)1 << (8 * sizeof(bz_s_##t) - 1) : 0))
#define BZ_MOST(t)  ((bz_s_##t) ~BZ_LEAST(t))

#define BZ_REDUCE_INT(t)                                                                           \
	BZ_REDUCTION(add, t, BZ_SPLAT(t, 0), BZ_SPLAT(t, 0))                                       \
	BZ_REDUCTION(mul, t, BZ_SPLAT(t, 1), BZ_SPLAT(t, 1))                                       \
	BZ_REDUCTION(min, t, BZ_SPLAT(t, BZ_MOST(t)), BZ_SPLAT(t, BZ_MOST(t)))                     \
	BZ_REDUCTION(max, t, BZ_SPLAT(t, BZ_LEAST(t)), BZ_SPLAT(t, BZ_LEAST(t)))
#define BZ_INF(t) ((bz_s_##t)__builtin_inf())
/* -0.0 changes no number it is added to; +0.0 would turn -0.0 to +0.0. */
#define BZ_REDUCE_FLOAT(t)                                                                         \
	BZ_REDUCTION(add, t, BZ_SPLAT(t, (bz_s_##t) - 0.0), BZ_SPLAT(t, 0))                        \
	BZ_REDUCTION(mul, t, BZ_SPLAT(t, 1), BZ_SPLAT(t, 1))                                       \
	BZ_REDUCTION(min, t, BZ_SPLAT(t, BZ_INF(t)), BZ_SPLAT(t, BZ_INF(t)))                       \
	BZ_REDUCTION(max, t, BZ_SPLAT(t, -BZ_INF(t)), BZ_SPLAT(t, -BZ_INF(t)))
#define BZ_PAIR(t, f, x, y) ((bz_##t){BZ_SPLAT(f, (bz_s_##f)(x)), BZ_SPLAT(f, (bz_s_##f)(y))})
#define BZ_REDUCE_COMPLEX(t, f)                                                                    \
	BZ_REDUCTION(add, t, BZ_PAIR(t, f, -0.0, -0.0), BZ_PAIR(t, f, 0, 0))                       \
	BZ_REDUCE(mul, t, BZ_PAIR(t, f, 1, 0), BZ_PAIR(t, f, 1, 0), 1)                             \
	BZ_REDUCTION(min, t, BZ_PAIR(t, f, BZ_INF(f), BZ_INF(f)),                                  \
		     BZ_PAIR(t, f, BZ_INF(f), BZ_INF(f)))                                          \
	BZ_REDUCTION(max, t, BZ_PAIR(t, f, -BZ_INF(f), -BZ_INF(f)),                                \
		     BZ_PAIR(t, f, -BZ_INF(f), -BZ_INF(f)))
BZ_EACH_INT(BZ_REDUCE_INT)
BZ_EACH_FLOAT(BZ_REDUCE_FLOAT)
BZ_EACH_COMPLEX(BZ_REDUCE_COMPLEX)
BZ_REDUCTION(min, b1, BZ_SPLAT(b1, 1), BZ_SPLAT(b1, 1))
BZ_REDUCTION(max, b1, BZ_SPLAT(b1, 0), BZ_SPLAT(b1, 0))
BZ_REDUCTION(lor, b1, BZ_SPLAT(b1, 0), BZ_SPLAT(b1, 0))
BZ_REDUCTION(land, b1, BZ_SPLAT(b1, 1), BZ_SPLAT(b1, 1))

/* ---- rows side by side --------------------------------------------------------------- */

/* One step of the fold, from 2 * w accumulators to w. */
#define BZ_FOLD_STEP(op, t, w, times)                                                              \
	if (BZ_R_##t > (w) && count > (w)) {                                                       \
		times(acc[k] = bz_half_##op##_##t(acc[k], acc[(k + (w)) % BZ_R_##t],               \
						  (used < 2 * (w)*BZ_W ? used : 2 * (w)*BZ_W) -    \
							  (k + (w)) * BZ_W);)                      \
	}

/* For a kernel that has this reduction: <p>narrow_<op>_<t>(acc, used) folds accumulators to one
 * vector, of which bz_lanes_ makes a number; <p>across_<op>_<t>(to, e, m, used) is bz_lanes_ of m
 * vectors side by side, a power of two of at most 8, and puts what e[l] gives into lane l at `to`.
 */
#define BZ_ROWS(p, op, t)                                                                          \
	BZ_FN bz_##t p##narrow_##op##_##t(bz_##t *acc, int used, int count)                        \
	{                                                                                          \
		BZ_FOLD_STEP(op, t, 8, BZ_8_TIMES)                                                 \
		BZ_FOLD_STEP(op, t, 4, BZ_4_TIMES)                                                 \
		BZ_FOLD_STEP(op, t, 2, BZ_2_TIMES)                                                 \
		BZ_FOLD_STEP(op, t, 1, BZ_1_TIMES)                                                 \
		return acc[0];                                                                     \
	}                                                                                          \
	BZ_FN bz_##t p##halve_##op##_##t(bz_##t v, bz_##t with, int g)                             \
	{                                                                                          \
		return bz_##op##_##t(bz_low_##t(v, with, g), bz_high_##t(v, with, g));             \
	}                                                                                          \
	BZ_FN int p##halved_##op##_##t(bz_##t *e, int m, int g)                                    \
	{                                                                                          \
		e[0] = p##halve_##op##_##t(e[0], m > 1 ? e[1] : e[0], g);                          \
		if (m >= 4)                                                                        \
			e[1] = p##halve_##op##_##t(e[2], e[3], g);                                 \
		if (m >= 8) {                                                                      \
			e[2] = p##halve_##op##_##t(e[4], e[5], g);                                 \
			e[3] = p##halve_##op##_##t(e[6], e[7], g);                                 \
		}                                                                                  \
		for (int j = 4; j < m / 2; j++)                                                    \
			e[j] = p##halve_##op##_##t(e[2 * j], e[2 * j + 1], g);                     \
		return m > 1 ? m / 2 : 1;                                                          \
	}                                                                                          \
	BZ_FN void p##across_##op##_##t(bz_##t *to, bz_##t *e, int m, int used)                    \
	{                                                                                          \
		for (int l = 0; l < m && bz_skip_##op##_##t; l++)                                  \
			bz_in_##t(to, l, bz_lanes_##op##_##t(e[l], used));                         \
		if (bz_skip_##op##_##t)                                                            \
			return;                                                                    \
		for (; m > 0; to++, e += BZ_W, m -= BZ_W) {                                        \
			int k = m < BZ_W ? m : BZ_W;                                               \
                                                                                                   \
			if (BZ_W == 16)                                                            \
				k = p##halved_##op##_##t(e, k, 16);                                \
			if (BZ_W >= 8)                                                             \
				k = p##halved_##op##_##t(e, k, 8);                                 \
			k = p##halved_##op##_##t(e, k, 4);                                         \
			p##halved_##op##_##t(e, k, 2);                                             \
			*to = e[0];                                                                \
		}                                                                                  \
	}

/* ---- argmin, argmax ----------------------------------------------------------------- */

#if !defined(BZ_ONLY_NARROW) && !defined(BZ_NO_ARG)
#if BZ_W == 4
#define BZ_ALL_TRUE 0x01010101u
typedef bz_s_u32 bz_x_truths;
#else
#define BZ_ALL_TRUE 0x0101010101010101u
typedef bz_s_u64 bz_x_truths;
#endif
/* Best value of each lane and its reduced index, -1 for none.  The result needs no
 * tree: the first NaN, else the first of the extreme values. */
#define BZ_ARG_TYPE(t, ...)                                                                        \
	struct bz_arg_##t {                                                                        \
		bz_##t best;                                                                       \
		bz_i64 index;                                                                      \
	};
BZ_EACH_SCALAR(BZ_ARG_TYPE)
BZ_EACH_COMPLEX(BZ_ARG_TYPE)

/* step: candidates v at index, in rising order, lane by lane; a negative index is
 * no candidate.  lane: one lane as an accumulator.  join: the better of *a and *b,
 * whatever their order.  end: all lanes joined. */
#define BZ_ARG(op, t, rel, still)                                                                  \
	BZ_FN void bz_##op##_init_##t(struct bz_arg_##t *a)                                        \
	{                                                                                          \
		a->best = bz_imm_##t(0, 0);                                                        \
		a->index = BZ_SPLAT(i64, -1);                                                      \
	}                                                                                          \
	BZ_FN void bz_##op##_step_##t(struct bz_arg_##t *a, bz_##t v, bz_i64 index)                \
	{                                                                                          \
		union {                                                                            \
			bz_b1 v;                                                                   \
			bz_x_truths all;                                                           \
		} kept = {bz_##still##_##t(v, a->best) & (bz_isnan_##t(v) ^ 1)};                   \
                                                                                                   \
		/* Mostly nothing is better; the last lane is the last to be filled. */            \
		if (kept.all == BZ_ALL_TRUE && a->index[BZ_W - 1] >= 0)                            \
			return;                                                                    \
		bz_b1 better = (bz_##rel##_##t(v, a->best) | bz_isnan_##t(v)) &                    \
			       (bz_isnan_##t(a->best) ^ 1);                                        \
		bz_b1 take = (better | BZ_B1(a->index < 0)) & BZ_B1(index >= 0);                   \
                                                                                                   \
		a->best = bz_where_##t(take, v, a->best);                                          \
		a->index = bz_where_i64(take, index, a->index);                                    \
	}                                                                                          \
	BZ_FN void bz_##op##_join_##t(struct bz_acc *a, const struct bz_acc *b)                    \
	{                                                                                          \
		bz_##t x = bz_all_##t(bz_acc_get_##t(a)), y = bz_all_##t(bz_acc_get_##t(b));       \
		int xnan = bz_isnan_##t(x)[0], ynan = bz_isnan_##t(y)[0];                          \
		int first = b->index < a->index, take;                                             \
                                                                                                   \
		if (b->index < 0)                                                                  \
			return;                                                                    \
		if (xnan || ynan)                                                                  \
			take = ynan && (!xnan || first);                                           \
		else                                                                               \
			take = bz_##rel##_##t(y, x)[0] || (bz_eq_##t(x, y)[0] && first);           \
		if (a->index < 0 || take)                                                          \
			*a = *b;                                                                   \
	}                                                                                          \
	BZ_FN void bz_##op##_lane_##t(const struct bz_arg_##t *a, int lane, struct bz_acc *out)    \
	{                                                                                          \
		char bits[sizeof(bz_##t)];                                                         \
                                                                                                   \
		bz_st_##t(bits, a->best);                                                          \
		bz_acc_put_##t(out, bz_one_##t(bz_dup_##t(bits + lane * (int)sizeof(bz_s_##t))));  \
		out->index = a->index[lane];                                                       \
	}                                                                                          \
	/* In halves: which lane wins depends on no order. */                                      \
	BZ_FN void bz_##op##_end_##t(const struct bz_arg_##t *a, struct bz_acc *out)               \
	{                                                                                          \
		bz_##t v = a->best;                                                                \
		bz_i64 at = a->index;                                                              \
                                                                                                   \
		for (int w = BZ_W / 2; w >= 1; w /= 2) {                                           \
			bz_##t y = bz_down_##t(v, w);                                              \
			bz_i64 b = bz_down_i64(at, w);                                             \
			bz_b1 first = BZ_B1(b < at), take;                                         \
			bz_b1 xnan = bz_isnan_##t(v), ynan = bz_isnan_##t(y);                      \
                                                                                                   \
			take = (bz_##rel##_##t(y, v) | (bz_eq_##t(y, v) & first)) &                \
			       ((xnan | ynan) ^ 1);                                                \
			take |= ynan & ((xnan ^ 1) | first);                                       \
			take = (take | BZ_B1(at < 0)) & BZ_B1(b >= 0);                             \
			v = bz_where_##t(take, y, v);                                              \
			at = bz_where_i64(take, b, at);                                            \
		}                                                                                  \
		bz_acc_put_##t(out, bz_one_##t(v));                                                \
		out->index = at[0];                                                                \
	}
#define BZ_ARGS(t, ...)                                                                            \
	BZ_ARG(argmin, t, lt, ge)                                                                  \
	BZ_ARG(argmax, t, gt, le)
BZ_EACH_SCALAR(BZ_ARGS)
BZ_EACH_COMPLEX(BZ_ARGS)
#endif

#endif
#endif
