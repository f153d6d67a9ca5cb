/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/pre.h - NumPy's elementwise semantics over explicit vectors.
 *
 * In:  BZ_WIDTH, the lanes of a register of 64 bytes: 8, or 16 where only the types
 * of at most 4 bytes are used, which alone have functions then.  Out: BZ_W, the
 * lanes of a register; for each element type <t> of
 * proto/dtypes.def the storage type bz_s_<t>, the register type bz_<t>, loads,
 * stores, casts, and bz_<stem>_<t> for every row of proto/ops.def; float16's are
 * in f16.h, bfloat16's in bf16.h, and the lists below are without them.
 * Text at the head of every generated source and of loops/tier0_isa.c; includes
 * nothing.
 *
 * No register is wider than the processor's (but for SSE, which nothing is tuned for):
 * gcc takes wider ones apart element by element wherever they are compared, chosen
 * from, converted or stored.  So BZ_W is BZ_WIDTH with AVX-512, else half of it.
 *
 * A source may first define BZ_NO_COMPLEX, BZ_NO_HALF (float16), BZ_NO_BRAIN (bfloat16), BZ_NO_MATH
 * (libmvec's functions, of which complex numbers and float16 have theirs), BZ_NO_OVER, BZ_NO_TREE,
 * BZ_NO_ARG (argmin, argmax), BZ_NO_STREAM, which leave out what it does not use and most of a
 * short kernel's compile time.
 *
 * Invariant: a lane's result is a function of that lane's operands only, and
 * never of its position, BZ_W or the loop around it.  So real math functions are
 * called as libmvec's widest routine by name; nothing is left to a vectoriser's
 * choice of routine.  A bool register holds 0 or 1. */
#ifndef BZ_PRE_H
#define BZ_PRE_H

#pragma GCC diagnostic ignored "-Wpsabi"
#pragma GCC diagnostic ignored "-Wtype-limits"

#if BZ_WIDTH == 16
#define BZ_ONLY_NARROW
#endif
#ifdef __AVX512F__
#define BZ_PARTS 1 /* BZ_WIDTH / BZ_W */
#else
#define BZ_PARTS 2
#endif
#define BZ_W (BZ_WIDTH / BZ_PARTS)

#define BZ_FN static inline __attribute__((always_inline, unused))

typedef __UINT8_TYPE__ bz_s_b1;
typedef __INT8_TYPE__ bz_s_i8;
typedef __INT16_TYPE__ bz_s_i16;
typedef __INT32_TYPE__ bz_s_i32;
typedef __INT64_TYPE__ bz_s_i64;
typedef __UINT8_TYPE__ bz_s_u8;
typedef __UINT16_TYPE__ bz_s_u16;
typedef __UINT32_TYPE__ bz_s_u32;
typedef __UINT64_TYPE__ bz_s_u64;
typedef float bz_s_f32;
typedef double bz_s_f64;
typedef struct {
	float re, im;
} bz_s_c64;
typedef struct {
	double re, im;
} bz_s_c128;

/* bz_m_: a vector anywhere in memory; bz_e_: one element anywhere in memory;
 * bz_l_: a vector as lanes. */
#define BZ_TYPE(t)                                                                                 \
	typedef bz_s_##t bz_##t __attribute__((vector_size(BZ_W * sizeof(bz_s_##t))));             \
	typedef bz_##t bz_m_##t __attribute__((aligned(1), may_alias));                            \
	typedef bz_s_##t bz_e_##t __attribute__((aligned(1), may_alias));                          \
	union bz_l_##t {                                                                           \
		bz_##t v;                                                                          \
		bz_s_##t s[BZ_W];                                                                  \
	};
BZ_TYPE(b1)
BZ_TYPE(i8)
BZ_TYPE(i16)
BZ_TYPE(i32)
BZ_TYPE(i64)
BZ_TYPE(u8)
BZ_TYPE(u16)
BZ_TYPE(u32)
BZ_TYPE(u64)
BZ_TYPE(f32)
BZ_TYPE(f64)
typedef struct {
	bz_f32 re, im;
} bz_c64;
typedef struct {
	bz_f64 re, im;
} bz_c128;

/* bz_k_: the unsigned vector that has the bits of a type. */
typedef bz_u8 bz_k_b1, bz_k_i8, bz_k_u8;
typedef bz_u16 bz_k_i16, bz_k_u16;
typedef bz_u32 bz_k_i32, bz_k_u32, bz_k_f32;
typedef bz_u64 bz_k_i64, bz_k_u64, bz_k_f64;

/* Every use of X(t, ...) once for each type of a class that has functions. */
#define BZ_EACH_NARROW(X, ...)                                                                     \
	X(i8, ##__VA_ARGS__)                                                                       \
	X(i16, ##__VA_ARGS__)                                                                      \
	X(i32, ##__VA_ARGS__) X(u8, ##__VA_ARGS__) X(u16, ##__VA_ARGS__) X(u32, ##__VA_ARGS__)
#ifndef BZ_ONLY_NARROW
#define BZ_EACH_INT(X, ...)                                                                        \
	BZ_EACH_NARROW(X, ##__VA_ARGS__) X(i64, ##__VA_ARGS__) X(u64, ##__VA_ARGS__)
#define BZ_EACH_FLOAT(X, ...) X(f32, ##__VA_ARGS__) X(f64, ##__VA_ARGS__)
#ifndef BZ_NO_COMPLEX
#define BZ_EACH_COMPLEX(X, ...) X(c64, f32, ##__VA_ARGS__) X(c128, f64, ##__VA_ARGS__)
#else
#define BZ_EACH_COMPLEX(X, ...)
#endif
#else
#define BZ_EACH_INT(X, ...)   BZ_EACH_NARROW(X, ##__VA_ARGS__)
#define BZ_EACH_FLOAT(X, ...) X(f32, ##__VA_ARGS__)
#define BZ_EACH_COMPLEX(X, ...)
#endif
#if BZ_W == 4
#define BZ_SPLAT(t, s) ((bz_##t){(s), (s), (s), (s)})
#elif BZ_W == 8
#define BZ_SPLAT(t, s) ((bz_##t){(s), (s), (s), (s), (s), (s), (s), (s)})
#else
#define BZ_SPLAT(t, s)                                                                             \
	((bz_##t){(s), (s), (s), (s), (s), (s), (s), (s), (s), (s), (s), (s), (s), (s), (s), (s)})
#endif
#define BZ_EACH_REAL(X, ...)   BZ_EACH_INT(X, ##__VA_ARGS__) BZ_EACH_FLOAT(X, ##__VA_ARGS__)
#define BZ_EACH_SCALAR(X, ...) X(b1, ##__VA_ARGS__) BZ_EACH_REAL(X, ##__VA_ARGS__)

#define BZ_CVT(t, v)  __builtin_convertvector((v), bz_##t)
#define BZ_BITS(t, v) ((bz_k_##t)(v))
/* bz_x_cut_: the low bits of integers.  BZ_B1: what a comparison gives, lanes of 0 and -1, as a
 * register of bools.  Without AVX-512, gcc converts to narrower elements one by one. */
#if BZ_PARTS == 1 || defined(__clang__)
#define BZ_CUT(from, to)                                                                           \
	BZ_FN bz_##to bz_x_cut_##from##_##to(bz_##from v)                                          \
	{                                                                                          \
		return BZ_CVT(to, v);                                                              \
	}
#define BZ_B1(m) (__builtin_convertvector((m), bz_b1) & 1)
#else
#if BZ_W == 4
#define BZ_EVERY(v, n) __builtin_shufflevector(v, v, 0, n, 2 * n, 3 * n)
#else
#define BZ_EVERY(v, n) __builtin_shufflevector(v, v, 0, n, 2 * n, 3 * n, 4 * n, 5 * n, 6 * n, 7 * n)
#endif
#define BZ_CUT(from, to)                                                                           \
	BZ_FN bz_##to bz_x_cut_##from##_##to(bz_##from v)                                          \
	{                                                                                          \
		typedef bz_s_##to parts __attribute__((vector_size(sizeof(bz_##from))));           \
		return BZ_EVERY((parts)v, (int)(sizeof(bz_s_##from) / sizeof(bz_s_##to)));         \
	}
#define BZ_TRUTHS(t, k)                                                                            \
	BZ_FN bz_b1 bz_x_truths_##t(bz_##t m)                                                      \
	{                                                                                          \
		return bz_x_cut_##k##_u8((bz_##k)m) & 1;                                           \
	}
#endif
BZ_CUT(u16, u8)
BZ_CUT(u32, u8)
BZ_CUT(u32, u16)
BZ_CUT(u64, u8)
BZ_CUT(u64, u16)
BZ_CUT(u64, u32)
#ifndef BZ_B1
BZ_FN bz_b1 bz_x_truths_i8(bz_i8 m)
{
	return (bz_b1)m & 1;
}
BZ_TRUTHS(i16, u16)
BZ_TRUTHS(i32, u32)
BZ_TRUTHS(i64, u64)
#define BZ_B1(m)                                                                                   \
	_Generic((m), bz_i8                                                                        \
		 : bz_x_truths_i8, bz_i16                                                          \
		 : bz_x_truths_i16, bz_i32                                                         \
		 : bz_x_truths_i32, bz_i64                                                         \
		 : bz_x_truths_i64)(m)
#endif
#define BZ_MASK(t, c) (-__builtin_convertvector((c), bz_k_##t))
#define BZ_SEL(t, m, a, b)                                                                         \
	((bz_##t)((BZ_BITS(t, a) & BZ_BITS(t, m)) | (BZ_BITS(t, b) & ~BZ_BITS(t, m))))

/* ---- loads, stores, immediates ---------------------------------------------- */

/* A client can scribble on its arena: a stored bool is any byte. */
#define BZ_CLEAN_b1(x)	(x) = BZ_B1((x) != 0)
#define BZ_CLEAN_i8(x)	(void)0
#define BZ_CLEAN_i16(x) (void)0
#define BZ_CLEAN_i32(x) (void)0
#define BZ_CLEAN_i64(x) (void)0
#define BZ_CLEAN_u8(x)	(void)0
#define BZ_CLEAN_u16(x) (void)0
#define BZ_CLEAN_u32(x) (void)0
#define BZ_CLEAN_u64(x) (void)0
#define BZ_CLEAN_f32(x) (void)0
#define BZ_CLEAN_f64(x) (void)0

/* One element after another into its register: stored and loaded again they would wait for
 * each other. */
#define BZ_FROM1(t, i) *(const bz_e_##t *)(p + (i)*stride)
#define BZ_FROM4(t, i) BZ_FROM1(t, i), BZ_FROM1(t, i + 1), BZ_FROM1(t, i + 2), BZ_FROM1(t, i + 3)
#if BZ_W == 4
#define BZ_FROM(t, i) BZ_FROM4(t, i)
#elif BZ_W == 8
#define BZ_FROM(t, i) BZ_FROM4(t, i), BZ_FROM4(t, i + 4)
#else
#define BZ_FROM(t, i) BZ_FROM4(t, i), BZ_FROM4(t, i + 4), BZ_FROM4(t, i + 8), BZ_FROM4(t, i + 12)
#endif

#define BZ_MEMORY(t)                                                                               \
	BZ_FN bz_##t bz_ld_##t(const char *p)                                                      \
	{                                                                                          \
		bz_##t v = *(const bz_m_##t *)p;                                                   \
		BZ_CLEAN_##t(v);                                                                   \
		return v;                                                                          \
	}                                                                                          \
	BZ_FN bz_##t bz_ldsn_##t(const char *p, bz_s_i64 stride, int n)                            \
	{                                                                                          \
		union bz_l_##t u = {BZ_SPLAT(t, 1)};                                               \
		for (int i = 0; i < n; i++)                                                        \
			u.s[i] = *(const bz_e_##t *)(p + i * stride);                              \
		BZ_CLEAN_##t(u.v);                                                                 \
		return u.v;                                                                        \
	}                                                                                          \
	BZ_FN bz_##t bz_lds_##t(const char *p, bz_s_i64 stride)                                    \
	{                                                                                          \
		bz_##t v = {BZ_FROM(t, 0)};                                                        \
		BZ_CLEAN_##t(v);                                                                   \
		return v;                                                                          \
	}                                                                                          \
	BZ_FN bz_##t bz_dup_##t(const char *p)                                                     \
	{                                                                                          \
		bz_s_##t s = *(const bz_e_##t *)p;                                                 \
		bz_##t v = BZ_SPLAT(t, s);                                                         \
		BZ_CLEAN_##t(v);                                                                   \
		return v;                                                                          \
	}                                                                                          \
	BZ_FN void bz_st_##t(char *p, bz_##t v)                                                    \
	{                                                                                          \
		*(bz_m_##t *)p = v;                                                                \
	}                                                                                          \
	BZ_FN void bz_stsn_##t(char *p, bz_s_i64 stride, int n, bz_##t v)                          \
	{                                                                                          \
		union bz_l_##t u = {v};                                                            \
		for (int i = 0; i < n; i++)                                                        \
			*(bz_e_##t *)(p + i * stride) = u.s[i];                                    \
	}                                                                                          \
	BZ_FN void bz_sts_##t(char *p, bz_s_i64 stride, bz_##t v)                                  \
	{                                                                                          \
		bz_stsn_##t(p, stride, BZ_W, v);                                                   \
	}                                                                                          \
	/* Pieces of what was stored as a whole do not wait for it. */                             \
	BZ_FN void bz_stn_##t(char *p, int n, bz_##t v)                                            \
	{                                                                                          \
		union bz_l_##t u = {v};                                                            \
		int i = 0;                                                                         \
		BZ_PIECE(t, 16)                                                                    \
		BZ_PIECE(t, 8)                                                                     \
		BZ_PIECE(t, 4)                                                                     \
		BZ_PIECE(t, 2)                                                                     \
		BZ_PIECE(t, 1)                                                                     \
	}
#define BZ_PIECE(t, w)                                                                             \
	if ((w) <= BZ_W && n & (w)) {                                                              \
		__builtin_memcpy(p + i * (int)sizeof(bz_s_##t), u.s + i, (w) * sizeof(bz_s_##t));  \
		i += (w);                                                                          \
	}
BZ_EACH_SCALAR(BZ_MEMORY)

/* bz_ldn_<t>: n elements side by side, 1 in the other lanes; nothing behind them is read. */
#define BZ_PART(t)                                                                                 \
	BZ_FN bz_##t bz_ldn_##t(const char *p, int n)                                              \
	{                                                                                          \
		return bz_ldsn_##t(p, (bz_s_i64)sizeof(bz_s_##t), n);                              \
	}
/* By an instruction that takes a mask: of integers, and of vectors of `element`. */
#define BZ_PART_MASKED(t, load, integer, element)                                                  \
	BZ_FN bz_##t bz_ldn_##t(const char *p, int n)                                              \
	{                                                                                          \
		typedef integer mask __attribute__((vector_size(sizeof(bz_##t))));                 \
		typedef element lanes __attribute__((vector_size(sizeof(bz_##t))));                \
		const mask m = (mask){BZ_COUNT} < (integer)n;                                      \
		return (bz_##t)((bz_k_##t)load((const lanes *)p, m) |                              \
				(BZ_BITS(t, BZ_SPLAT(t, 1)) & ~(bz_k_##t)m));                      \
	}
/* Likewise by one that takes half a vector. */
#define BZ_PART_HALVES(t, load, integer, element)                                                  \
	BZ_FN bz_##t bz_ldn_##t(const char *p, int n)                                              \
	{                                                                                          \
		typedef integer mask __attribute__((vector_size(sizeof(bz_##t) / 2)));             \
		typedef element lanes __attribute__((vector_size(sizeof(bz_##t) / 2)));            \
		const mask lo = (mask){BZ_COUNT_HALF} < (integer)n;                                \
		const mask hi = (mask){BZ_COUNT_HALF} < (integer)(n - BZ_W / 2);                   \
		const lanes *half = (const lanes *)p, a = load(half, lo), b = load(half + 1, hi);  \
		const bz_k_##t m = (bz_k_##t)__builtin_shufflevector(lo, hi, BZ_COUNT);            \
		return (bz_##t)((bz_k_##t)__builtin_shufflevector(a, b, BZ_COUNT) |                \
				(BZ_BITS(t, BZ_SPLAT(t, 1)) & ~m));                                \
	}
/* The lanes, counted. */
#if BZ_W == 4
#define BZ_COUNT 0, 1, 2, 3
#elif BZ_W == 8
#define BZ_COUNT      0, 1, 2, 3, 4, 5, 6, 7
#define BZ_COUNT_HALF 0, 1, 2, 3
#else
#define BZ_COUNT      0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
#define BZ_COUNT_HALF 0, 1, 2, 3, 4, 5, 6, 7
#endif
#ifndef __AVX2__
#define BZ_PART_WORD BZ_PART
#define BZ_PART_LONG BZ_PART
#elif BZ_W == 4
#define BZ_PART_WORD(t) BZ_PART_MASKED(t, __builtin_ia32_maskloadps, int, float)
#define BZ_PART_LONG(t) BZ_PART_MASKED(t, __builtin_ia32_maskloadpd256, long long, double)
#elif BZ_W == 8
#define BZ_PART_WORD(t) BZ_PART_MASKED(t, __builtin_ia32_maskloadps256, int, float)
#define BZ_PART_LONG(t) BZ_PART_HALVES(t, __builtin_ia32_maskloadpd256, long long, double)
#else
#define BZ_PART_WORD(t) BZ_PART_HALVES(t, __builtin_ia32_maskloadps256, int, float)
#endif
BZ_PART(b1)
BZ_PART(i8)
BZ_PART(u8)
BZ_PART(i16)
BZ_PART(u16)
BZ_PART_WORD(i32)
BZ_PART_WORD(u32)
BZ_PART_WORD(f32)
#ifndef BZ_ONLY_NARROW
BZ_PART_LONG(i64)
BZ_PART_LONG(u64)
BZ_PART_LONG(f64)
#endif

#define BZ_IMM_INT(t)                                                                              \
	BZ_FN bz_##t bz_imm_##t(bz_s_u64 lo, bz_s_u64 hi)                                          \
	{                                                                                          \
		(void)hi;                                                                          \
		return BZ_SPLAT(t, (bz_s_##t)lo);                                                  \
	}
BZ_EACH_INT(BZ_IMM_INT)
BZ_FN bz_b1 bz_imm_b1(bz_s_u64 lo, bz_s_u64 hi)
{
	(void)hi;
	return BZ_SPLAT(b1, (bz_s_b1)((lo & 255) != 0));
}
BZ_FN float bz_x_bits_f32(bz_s_u64 b)
{
	union {
		bz_s_u32 u;
		float f;
	} u = {(bz_s_u32)b};
	return u.f;
}
BZ_FN double bz_x_bits_f64(bz_s_u64 b)
{
	union {
		bz_s_u64 u;
		double f;
	} u = {b};
	return u.f;
}
BZ_FN bz_f32 bz_imm_f32(bz_s_u64 lo, bz_s_u64 hi)
{
	(void)hi;
	return BZ_SPLAT(f32, bz_x_bits_f32(lo));
}
#ifndef BZ_ONLY_NARROW
BZ_FN bz_f64 bz_imm_f64(bz_s_u64 lo, bz_s_u64 hi)
{
	(void)hi;
	return BZ_SPLAT(f64, bz_x_bits_f64(lo));
}
#ifndef BZ_NO_COMPLEX
BZ_FN bz_c64 bz_imm_c64(bz_s_u64 lo, bz_s_u64 hi)
{
	return (bz_c64){bz_imm_f32(lo, 0), bz_imm_f32(hi, 0)};
}
BZ_FN bz_c128 bz_imm_c128(bz_s_u64 lo, bz_s_u64 hi)
{
	return (bz_c128){bz_imm_f64(lo, 0), bz_imm_f64(hi, 0)};
}
#endif
BZ_FN bz_i64 bz_iota_i64(bz_s_i64 first, bz_s_i64 step)
{
	const bz_u64 lane = {BZ_COUNT};
	return (bz_i64)((bz_s_u64)first + (bz_s_u64)step * lane);
}
#endif

/* ---- stores past the caches -------------------------------------------------- */

/* A store into a line that is in no cache reads the line first, unless the whole of
 * it is written past the caches.  bz_nt_<t> does so where the vector lies at a
 * multiple of its size and `keep` is 0, and is bz_st_<t> elsewhere; bz_head_<t> is
 * how many elements lie before the first line of the cache; after the last one comes
 * bz_nt_end.  bz_ahead fetches what is loaded some vectors later.  Types of at
 * least four bytes. */
#ifndef BZ_NO_STREAM
#define BZ_LINE 64
#if defined(__has_builtin)
#if __has_builtin(__builtin_nontemporal_store)
#define BZ_PAST_16(t, p, v) __builtin_nontemporal_store((v), (bz_##t *)(p))
#define BZ_PAST_32(t, p, v) __builtin_nontemporal_store((v), (bz_##t *)(p))
#define BZ_PAST_64(t, p, v) __builtin_nontemporal_store((v), (bz_##t *)(p))
#endif
#endif
#if !defined(BZ_PAST_64) && defined(__SSE2__)
typedef long long bz_x_q2 __attribute__((vector_size(16)));
typedef long long bz_x_q4 __attribute__((vector_size(32)));
typedef long long bz_x_q8 __attribute__((vector_size(64)));
BZ_FN void bz_x_past_16(char *p, bz_x_q2 v)
{
	__builtin_ia32_movntdq((bz_x_q2 *)p, v);
}
BZ_FN void bz_x_past_32(char *p, bz_x_q4 v)
{
#ifdef __AVX__
	__builtin_ia32_movntdq256((bz_x_q4 *)p, v);
#else
	__builtin_ia32_movntdq((bz_x_q2 *)p, __builtin_shufflevector(v, v, 0, 1));
	__builtin_ia32_movntdq((bz_x_q2 *)(p + 16), __builtin_shufflevector(v, v, 2, 3));
#endif
}
BZ_FN void bz_x_past_64(char *p, bz_x_q8 v)
{
#ifdef __AVX512F__
	__builtin_ia32_movntdq512((bz_x_q8 *)p, v);
#else
	bz_x_past_32(p, __builtin_shufflevector(v, v, 0, 1, 2, 3));
	bz_x_past_32(p + 32, __builtin_shufflevector(v, v, 4, 5, 6, 7));
#endif
}
#define BZ_PAST_16(t, p, v) bz_x_past_16(p, (bz_x_q2)(v))
#define BZ_PAST_32(t, p, v) bz_x_past_32(p, (bz_x_q4)(v))
#define BZ_PAST_64(t, p, v) bz_x_past_64(p, (bz_x_q8)(v))
#elif !defined(BZ_PAST_64)
#define BZ_PAST_16(t, p, v) bz_st_##t(p, v)
#define BZ_PAST_32(t, p, v) bz_st_##t(p, v)
#define BZ_PAST_64(t, p, v) bz_st_##t(p, v)
#endif
#define BZ_STREAM(t, past)                                                                         \
	BZ_FN void bz_nt_##t(char *p, bz_##t v, bz_s_u64 keep)                                     \
	{                                                                                          \
		if (((bz_s_u64)p & (sizeof v - 1)) | keep)                                         \
			bz_st_##t(p, v);                                                           \
		else                                                                               \
			past(t, p, v);                                                             \
	}                                                                                          \
	BZ_FN bz_s_i64 bz_head_##t(const char *p)                                                  \
	{                                                                                          \
		return (bz_s_i64)((-(bz_s_u64)p & (BZ_LINE - 1)) / sizeof(bz_s_##t));              \
	}
#if BZ_W == 4
#define BZ_PAST_WORDS BZ_PAST_16
#define BZ_PAST_LONGS BZ_PAST_32
#elif BZ_W == 8
#define BZ_PAST_WORDS BZ_PAST_32
#define BZ_PAST_LONGS BZ_PAST_64
#else
#define BZ_PAST_WORDS BZ_PAST_64
#endif
BZ_STREAM(i32, BZ_PAST_WORDS)
BZ_STREAM(u32, BZ_PAST_WORDS)
BZ_STREAM(f32, BZ_PAST_WORDS)
#ifndef BZ_ONLY_NARROW
BZ_STREAM(i64, BZ_PAST_LONGS)
BZ_STREAM(u64, BZ_PAST_LONGS)
BZ_STREAM(f64, BZ_PAST_LONGS)
#endif
BZ_FN void bz_ahead(const char *p)
{
	__builtin_prefetch(p + 1024);
}
BZ_FN void bz_nt_end(void)
{
#ifdef __SSE2__
	__builtin_ia32_sfence();
#else
	__sync_synchronize();
#endif
}
#endif

#ifndef BZ_ONLY_NARROW
/* Between a register of real and one of imaginary parts, and two of memory. */
#if BZ_W == 4
#define BZ_EVEN(a, b)	__builtin_shufflevector(a, b, 0, 2, 4, 6)
#define BZ_ODD(a, b)	__builtin_shufflevector(a, b, 1, 3, 5, 7)
#define BZ_ZIP_LO(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define BZ_ZIP_HI(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#else
#define BZ_EVEN(a, b)	__builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define BZ_ODD(a, b)	__builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#define BZ_ZIP_LO(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define BZ_ZIP_HI(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#endif
#define BZ_MEMORY_COMPLEX(t, f)                                                                    \
	BZ_FN bz_##t bz_ld_##t(const char *p)                                                      \
	{                                                                                          \
		bz_##f a = bz_ld_##f(p), b = bz_ld_##f(p + sizeof(bz_##f));                        \
		return (bz_##t){BZ_EVEN(a, b), BZ_ODD(a, b)};                                      \
	}                                                                                          \
	BZ_FN bz_##t bz_lds_##t(const char *p, bz_s_i64 stride)                                    \
	{                                                                                          \
		return (bz_##t){bz_lds_##f(p, stride), bz_lds_##f(p + sizeof(bz_s_##f), stride)};  \
	}                                                                                          \
	BZ_FN bz_##t bz_ldsn_##t(const char *p, bz_s_i64 stride, int n)                            \
	{                                                                                          \
		return (bz_##t){bz_ldsn_##f(p, stride, n),                                         \
				bz_ldsn_##f(p + sizeof(bz_s_##f), stride, n)};                     \
	}                                                                                          \
	BZ_FN bz_##t bz_ldn_##t(const char *p, int n)                                              \
	{                                                                                          \
		return bz_ldsn_##t(p, (bz_s_i64)sizeof(bz_s_##t), n);                              \
	}                                                                                          \
	BZ_FN bz_##t bz_dup_##t(const char *p)                                                     \
	{                                                                                          \
		return (bz_##t){bz_dup_##f(p), bz_dup_##f(p + sizeof(bz_s_##f))};                  \
	}                                                                                          \
	BZ_FN void bz_st_##t(char *p, bz_##t v)                                                    \
	{                                                                                          \
		bz_st_##f(p, BZ_ZIP_LO(v.re, v.im));                                               \
		bz_st_##f(p + sizeof(bz_##f), BZ_ZIP_HI(v.re, v.im));                              \
	}                                                                                          \
	BZ_FN void bz_stsn_##t(char *p, bz_s_i64 stride, int n, bz_##t v)                          \
	{                                                                                          \
		bz_stsn_##f(p, stride, n, v.re);                                                   \
		bz_stsn_##f(p + sizeof(bz_s_##f), stride, n, v.im);                                \
	}                                                                                          \
	BZ_FN void bz_sts_##t(char *p, bz_s_i64 stride, bz_##t v)                                  \
	{                                                                                          \
		bz_stsn_##t(p, stride, BZ_W, v);                                                   \
	}                                                                                          \
	BZ_FN void bz_stn_##t(char *p, int n, bz_##t v)                                            \
	{                                                                                          \
		bz_stsn_##t(p, (bz_s_i64)sizeof(bz_s_##t), n, v);                                  \
	}
BZ_EACH_COMPLEX(BZ_MEMORY_COMPLEX)
#ifndef BZ_NO_STREAM
#define BZ_STREAM_COMPLEX(t, f)                                                                    \
	BZ_FN void bz_nt_##t(char *p, bz_##t v, bz_s_u64 keep)                                     \
	{                                                                                          \
		bz_nt_##f(p, BZ_ZIP_LO(v.re, v.im), keep);                                         \
		bz_nt_##f(p + sizeof(bz_##f), BZ_ZIP_HI(v.re, v.im), keep);                        \
	}                                                                                          \
	BZ_FN bz_s_i64 bz_head_##t(const char *p)                                                  \
	{                                                                                          \
		return (bz_s_i64)((-(bz_s_u64)p & (BZ_LINE - 1)) / sizeof(bz_s_##t));              \
	}
BZ_EACH_COMPLEX(BZ_STREAM_COMPLEX)
#endif
#endif

/* ---- casts ------------------------------------------------------------------ */

#define BZ_CAST(from, to)                                                                          \
	BZ_FN bz_##to bz_cast_##from##_##to(bz_##from x)                                           \
	{                                                                                          \
		return BZ_CVT(to, x);                                                              \
	}
/* Between integers: C's conversions.  `k` has the bits of `from`, `cut` those of `to`. */
#define BZ_CAST_CUT(from, to, k, cut)                                                              \
	BZ_FN bz_##to bz_cast_##from##_##to(bz_##from x)                                           \
	{                                                                                          \
		return (bz_##to)bz_x_cut_##k##_##cut((bz_##k)x);                                   \
	}
#define BZ_CAST_TO_BOOL(from)                                                                      \
	BZ_FN bz_b1 bz_cast_##from##_b1(bz_##from x)                                               \
	{                                                                                          \
		return BZ_B1(x != 0);                                                              \
	}
/* By way of a wider type with the sign of `from`.  Integers go up by doubling: one instruction
 * each; gcc has none for more at once. */
#define BZ_CAST_BY(from, to, wider)                                                                \
	BZ_FN bz_##to bz_cast_##from##_##to(bz_##from x)                                           \
	{                                                                                          \
		return BZ_CVT(to, bz_cast_##from##_##wider(x));                                    \
	}
#ifndef BZ_ONLY_NARROW
#define BZ_CAST_UP_64(from, half)                                                                  \
	BZ_CAST_BY(from, i64, half)                                                                \
	BZ_CAST_BY(from, u64, half)
#else
#define BZ_CAST_UP_64(from, half)
#endif
#define BZ_CAST_DOWN_8(from, k)                                                                    \
	BZ_CAST_CUT(from, i8, k, u8)                                                               \
	BZ_CAST_CUT(from, u8, k, u8)
#define BZ_CAST_DOWN_16(from, k)                                                                   \
	BZ_CAST_CUT(from, i16, k, u16)                                                             \
	BZ_CAST_CUT(from, u16, k, u16)
#if BZ_W == 4 && defined(__AVX2__) && !defined(__clang__)
/* Four bytes at once, which gcc does not see. */
typedef char bz_x_bytes16 __attribute__((vector_size(16)));
typedef int bz_x_words4 __attribute__((vector_size(16)));
BZ_FN bz_x_bytes16 bz_x_four(bz_u8 x)
{
	union {
		bz_u8 v;
		int all;
	} u = {x};
	return (bz_x_bytes16)(bz_x_words4){u.all, 0, 0, 0};
}
#define BZ_CAST_FOUR(from, to, name)                                                               \
	BZ_FN bz_##to bz_cast_##from##_##to(bz_##from x)                                           \
	{                                                                                          \
		return (bz_##to)name(bz_x_four((bz_u8)x));                                         \
	}
#define BZ_CAST_WIDE_i8(from)                                                                      \
	BZ_CAST_FOUR(from, i32, __builtin_ia32_pmovsxbd128)                                        \
	BZ_CAST_FOUR(from, u32, __builtin_ia32_pmovsxbd128)                                        \
	BZ_CAST_FOUR(from, i64, __builtin_ia32_pmovsxbq256)                                        \
	BZ_CAST_FOUR(from, u64, __builtin_ia32_pmovsxbq256)
#define BZ_CAST_WIDE_u8(from)                                                                      \
	BZ_CAST_FOUR(from, i32, __builtin_ia32_pmovzxbd128)                                        \
	BZ_CAST_FOUR(from, u32, __builtin_ia32_pmovzxbd128)                                        \
	BZ_CAST_FOUR(from, i64, __builtin_ia32_pmovzxbq256)                                        \
	BZ_CAST_FOUR(from, u64, __builtin_ia32_pmovzxbq256)
#else
#define BZ_CAST_WIDE_i8(from)                                                                      \
	BZ_CAST_BY(from, i32, i16) BZ_CAST_BY(from, u32, i16) BZ_CAST_UP_64(from, i32)
#define BZ_CAST_WIDE_u8(from)                                                                      \
	BZ_CAST_BY(from, i32, u16) BZ_CAST_BY(from, u32, u16) BZ_CAST_UP_64(from, u32)
#endif
#define BZ_CAST_OF_8(from, as)                                                                     \
	BZ_CAST(from, i8)                                                                          \
	BZ_CAST(from, u8)                                                                          \
	BZ_CAST(from, i16)                                                                         \
	BZ_CAST(from, u16)                                                                         \
	BZ_CAST_WIDE_##as(from) BZ_CAST_TO_BOOL(from)
#define BZ_CAST_OF_16(from, word)                                                                  \
	BZ_CAST_DOWN_8(from, u16)                                                                  \
	BZ_CAST(from, i16)                                                                         \
	BZ_CAST(from, u16)                                                                         \
	BZ_CAST(from, i32)                                                                         \
	BZ_CAST(from, u32) BZ_CAST_UP_64(from, word) BZ_CAST_TO_BOOL(from)
#define BZ_CAST_OF_32(from)                                                                        \
	BZ_CAST_DOWN_8(from, u32)                                                                  \
	BZ_CAST_DOWN_16(from, u32)                                                                 \
	BZ_CAST(from, i32)                                                                         \
	BZ_CAST(from, u32) BZ_CAST_UP_64(from, from) BZ_CAST_TO_BOOL(from)
BZ_CAST_OF_8(b1, u8)
BZ_CAST_OF_8(i8, i8)
BZ_CAST_OF_8(u8, u8)
BZ_CAST_OF_16(i16, i32)
BZ_CAST_OF_16(u16, u32)
BZ_CAST_OF_32(i32)
BZ_CAST_OF_32(u32)
#ifndef BZ_ONLY_NARROW
#define BZ_CAST_OF_64(from)                                                                        \
	BZ_CAST_DOWN_8(from, u64)                                                                  \
	BZ_CAST_DOWN_16(from, u64)                                                                 \
	BZ_CAST_CUT(from, i32, u64, u32)                                                           \
	BZ_CAST_CUT(from, u32, u64, u32)                                                           \
	BZ_CAST(from, i64)                                                                         \
	BZ_CAST(from, u64) BZ_CAST_TO_BOOL(from)
BZ_CAST_OF_64(i64)
BZ_CAST_OF_64(u64)
#endif

/* To floats: to nearest.  Up to 16 bits by way of int32, which is exact. */
#ifndef BZ_ONLY_NARROW
#define BZ_CAST_SHORT(from) BZ_CAST_BY(from, f32, i32) BZ_CAST_BY(from, f64, i32)
#else
#define BZ_CAST_SHORT(from) BZ_CAST_BY(from, f32, i32)
#endif
BZ_CAST_SHORT(b1)
BZ_CAST_SHORT(i8)
BZ_CAST_SHORT(u8)
BZ_CAST_SHORT(i16)
BZ_CAST_SHORT(u16)
BZ_CAST(i32, f32)
BZ_CAST(u32, f32)
#ifndef BZ_ONLY_NARROW
BZ_CAST(i32, f64)
BZ_CAST(u32, f64)
BZ_CAST(i64, f32)
BZ_CAST(u64, f32)
#if BZ_PARTS == 1
BZ_CAST(i64, f64)
BZ_CAST(u64, f64)
#else
/* The halves become parts of numbers around 2^52 and 2^84, which hold them exactly; only the
 * last addition rounds. */
BZ_FN bz_f64 bz_x_halves(bz_u64 x, bz_u64 high, double both)
{
	bz_f64 low = (bz_f64)((x & 0xffffffffu) | 0x4330000000000000u);

	return ((bz_f64)high - both) + low;
}
BZ_FN bz_f64 bz_cast_i64_f64(bz_i64 x)
{
	bz_u64 bits = (bz_u64)x;

	/* 2^84 + 2^63 + 2^52 */
	return bz_x_halves(bits, (bits >> 32) ^ 0x4530000080000000u, 0x1.00000801p84);
}
BZ_FN bz_f64 bz_cast_u64_f64(bz_u64 x)
{
	/* 2^84 + 2^52 */
	return bz_x_halves(x, (x >> 32) | 0x4530000000000000u, 0x1.00000001p84);
}
#endif
#endif

/* From floats: what cvtt gives on x86, the most negative number for a value out
 * of range; types below 4 bytes are cut from int32, uint32 from int64. */
#define BZ_CAST_VIA(from, to, via)                                                                 \
	BZ_FN bz_##to bz_cast_##from##_##to(bz_##from x)                                           \
	{                                                                                          \
		return bz_cast_##via##_##to(bz_cast_##from##_##via(x));                            \
	}
#define BZ_CAST_VIA_LONG(from)                                                                     \
	BZ_FN bz_u32 bz_cast_##from##_u32(bz_##from x)                                             \
	{                                                                                          \
		return bz_x_cut_u64_u32((bz_u64)BZ_CVT(i64, x));                                   \
	}
#define BZ_CAST_FROM_FLOAT(from)                                                                   \
	BZ_CAST(from, i32)                                                                         \
	BZ_CAST_VIA(from, i8, i32)                                                                 \
	BZ_CAST_VIA(from, i16, i32)                                                                \
	BZ_CAST_VIA(from, u8, i32)                                                                 \
	BZ_CAST_VIA(from, u16, i32)                                                                \
	BZ_CAST_VIA_LONG(from)                                                                     \
	BZ_CAST(from, f32)                                                                         \
	BZ_CAST_TO_BOOL(from)
BZ_CAST_FROM_FLOAT(f32)
#ifndef BZ_ONLY_NARROW
BZ_CAST_FROM_FLOAT(f64)
#define BZ_CAST_FLOAT_WIDE(from, bits)                                                             \
	BZ_CAST(from, i64)                                                                         \
	BZ_CAST(from, f64)                                                                         \
	BZ_FN bz_u64 bz_cast_##from##_u64(bz_##from x)                                             \
	{                                                                                          \
		const bz_s_##from top = 9223372036854775808.0;                                     \
		bz_i64 big = __builtin_convertvector(x >= top, bz_i64);                            \
		bz_u64 less = (bz_u64)BZ_CVT(i64, x);                                              \
		bz_u64 more = (bz_u64)BZ_CVT(i64, x - top) ^ ((bz_s_u64)1 << 63);                  \
		return BZ_SEL(u64, big, more, less);                                               \
	}
BZ_CAST_FLOAT_WIDE(f32, u32)
BZ_CAST_FLOAT_WIDE(f64, u64)

#ifndef BZ_NO_COMPLEX
#define BZ_CAST_TO_COMPLEX(from)                                                                   \
	BZ_FN bz_c64 bz_cast_##from##_c64(bz_##from x)                                             \
	{                                                                                          \
		return (bz_c64){bz_cast_##from##_f32(x), BZ_SPLAT(f32, 0)};                        \
	}                                                                                          \
	BZ_FN bz_c128 bz_cast_##from##_c128(bz_##from x)                                           \
	{                                                                                          \
		return (bz_c128){bz_cast_##from##_f64(x), BZ_SPLAT(f64, 0)};                       \
	}
BZ_EACH_SCALAR(BZ_CAST_TO_COMPLEX)
#define BZ_CAST_COMPLEX_REAL(to, from, f)                                                          \
	BZ_FN bz_##to bz_cast_##from##_##to(bz_##from x)                                           \
	{                                                                                          \
		return bz_cast_##f##_##to(x.re);                                                   \
	}
#define BZ_CAST_FROM_COMPLEX(from, f)                                                              \
	BZ_EACH_REAL(BZ_CAST_COMPLEX_REAL, from, f)                                                \
	BZ_FN bz_b1 bz_cast_##from##_b1(bz_##from x)                                               \
	{                                                                                          \
		return BZ_B1((x.re != 0) | (x.im != 0));                                           \
	}                                                                                          \
	BZ_FN bz_c64 bz_cast_##from##_c64(bz_##from x)                                             \
	{                                                                                          \
		return (bz_c64){BZ_CVT(f32, x.re), BZ_CVT(f32, x.im)};                             \
	}                                                                                          \
	BZ_FN bz_c128 bz_cast_##from##_c128(bz_##from x)                                           \
	{                                                                                          \
		return (bz_c128){BZ_CVT(f64, x.re), BZ_CVT(f64, x.im)};                            \
	}
BZ_CAST_FROM_COMPLEX(c64, f32)
BZ_CAST_FROM_COMPLEX(c128, f64)
#endif
#endif
#endif
