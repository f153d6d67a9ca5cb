/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/pre.cuh - types, memory and casts of generated CUDA kernels.
 *
 * Text at the head of every CUDA source (pre.cuh ew.cuh gather.cuh cx.cuh half.h f16.cuh tree.cuh
 * groups.cuh), compiled by NVRTC without any header.  The rules are those of pre.h, ew.h, cx.h and tree.h,
 * one element a thread: templates over the element type, so that a kernel pays for
 * the functions it uses.  bz_<stem><bz_<suffix>> for every row of proto/ops.def.
 * A source may first define BZ_NO_COMPLEX and BZ_NO_HALF (float16), which leave out what it does not
 * use: NVRTC reads all of it for longer than it compiles a short kernel.
 *
 * Invariant: a result is a function of its operands only, and equals the CPU's bit
 * for bit where the operation is exact (integers, + - * / sqrt, rounding, casts);
 * --fmad=false is what makes it so.  Nothing traps, whatever the operands. */

#define BZ_FN static __device__ __forceinline__

typedef bool bz_b1;
typedef signed char bz_i8;
typedef short bz_i16;
typedef int bz_i32;
typedef long long bz_i64;
typedef unsigned char bz_u8;
typedef unsigned short bz_u16;
typedef unsigned int bz_u32;
typedef unsigned long long bz_u64;
struct bz_f16 {
	bz_u16 bits;
};
struct bz_bf16 {
	bz_u16 bits;
};
typedef float bz_f32;
typedef double bz_f64;
template <class F> struct bz_complex {
	F re, im;
};
typedef bz_complex<float> bz_c64;
typedef bz_complex<double> bz_c128;

/* ---- what a type is ---------------------------------------------------------- */

enum bz_class { BZ_BOOL, BZ_INT, BZ_UINT, BZ_FLOAT, BZ_COMPLEX };

/* part: the component; stored: how it lies in memory; wide: unsigned, of at least 32
 * bits, where sums and products wrap. */
template <class T> struct bz_type;
#define BZ_TYPE(t, class_, part_, stored_, wide_)                                                  \
	template <> struct bz_type<bz_##t> {                                                       \
		enum {                                                                             \
			cls = class_,                                                              \
			is_bool = cls == BZ_BOOL,                                                  \
			is_integer = cls == BZ_INT || cls == BZ_UINT,                              \
			is_signed = cls == BZ_INT,                                                 \
			is_float = cls == BZ_FLOAT,                                                \
			is_complex = cls == BZ_COMPLEX                                             \
		};                                                                                 \
		typedef part_ part;                                                                \
		typedef stored_ stored;                                                            \
		typedef wide_ wide;                                                                \
	};
BZ_TYPE(b1, BZ_BOOL, bz_b1, bz_u8, bz_u32)
BZ_TYPE(i8, BZ_INT, bz_i8, bz_i8, bz_u32)
BZ_TYPE(i16, BZ_INT, bz_i16, bz_i16, bz_u32)
BZ_TYPE(i32, BZ_INT, bz_i32, bz_i32, bz_u32)
BZ_TYPE(i64, BZ_INT, bz_i64, bz_i64, bz_u64)
BZ_TYPE(u8, BZ_UINT, bz_u8, bz_u8, bz_u32)
BZ_TYPE(u16, BZ_UINT, bz_u16, bz_u16, bz_u32)
BZ_TYPE(u32, BZ_UINT, bz_u32, bz_u32, bz_u32)
BZ_TYPE(u64, BZ_UINT, bz_u64, bz_u64, bz_u64)
BZ_TYPE(f16, BZ_FLOAT, bz_f16, bz_f16, bz_u32)
BZ_TYPE(bf16, BZ_FLOAT, bz_bf16, bz_bf16, bz_u32)
BZ_TYPE(f32, BZ_FLOAT, bz_f32, bz_f32, bz_u32)
BZ_TYPE(f64, BZ_FLOAT, bz_f64, bz_f64, bz_u64)
BZ_TYPE(c64, BZ_COMPLEX, bz_f32, bz_c64, bz_u32)
BZ_TYPE(c128, BZ_COMPLEX, bz_f64, bz_c128, bz_u64)

template <class A, class B> struct bz_same {
	enum { yes = 0 };
};
template <class A> struct bz_same<A, A> {
	enum { yes = 1 };
};

/* ---- the parameter ------------------------------------------------------------ */

/* Copies of contract/cuda_abi.h and loops/kernel_abi.h. */
struct bz_head {
	bz_i64 lo, hi, clo, chi;
	bz_u64 cancel, part, error;
	bz_u16 team, piece;
	bz_u32 tile;
};
struct bz_acc {
	bz_u64 v[2];
	bz_i64 index;
};
/* Of a block, at most: a launch chooses (cuda/cuda_geometry.h). */
#define BZ_THREADS 256
#define BZ_WARPS   8
#define BZ_LANES   32 /* of a warp */
#define BZ_TILE	   32
#define BZ_TILE_ROWS (BZ_TILE / BZ_WARPS) /* of a tile, that a thread has: a block has BZ_THREADS */


BZ_FN bool bz_cancelled(const bz_head &h)
{
	return *(const volatile bz_u32 *)h.cancel != 0;
}

/* Division of indices, which are never negative, costs less unsigned. */
BZ_FN bz_i32 bz_over(bz_i32 a, bz_i32 b)
{
	return (bz_i32)((bz_u32)a / (bz_u32)b);
}
BZ_FN bz_i64 bz_over(bz_i64 a, bz_i64 b)
{
	return (bz_i64)((bz_u64)a / (bz_u64)b);
}

/* ---- loads, stores, immediates -------------------------------------------------- */

/* A pointer type, by which the compiler sees that it is global memory. */
typedef char *bz_address;

/* A complex element may lie on a multiple of its component's size only.  A client
 * can scribble on its arena: a stored bool is any byte. */
template <class T> BZ_FN T bz_ld(bz_address p)
{
	if constexpr (bz_type<T>::is_complex) {
		typedef typename bz_type<T>::part F;
		return {((const F *)p)[0], ((const F *)p)[1]};
	} else if constexpr (bz_type<T>::is_bool) {
		return *(const bz_u8 *)p != 0;
	} else {
		return *(const T *)p;
	}
}
template <class T> BZ_FN void bz_st(bz_address p, T v)
{
	if constexpr (bz_type<T>::is_complex) {
		typedef typename bz_type<T>::part F;
		((F *)p)[0] = v.re;
		((F *)p)[1] = v.im;
	} else if constexpr (bz_type<T>::is_bool) {
		*(bz_u8 *)p = v;
	} else {
		*(T *)p = v;
	}
}

/* N elements on a multiple of their size, which is at most 16 bytes, at once. */
template <int BYTES> struct bz_word;
template <> struct bz_word<16> {
	typedef uint4 type;
};
template <> struct bz_word<8> {
	typedef uint2 type;
};
template <> struct bz_word<4> {
	typedef bz_u32 type;
};
template <> struct bz_word<2> {
	typedef bz_u16 type;
};
template <> struct bz_word<1> {
	typedef bz_u8 type;
};
template <class T, int N> union bz_vector {
	typename bz_word<N * (int)sizeof(T)>::type word;
	typename bz_type<T>::stored lane[N];

	/* The one that is `by` further on than p. */
	__device__ __forceinline__ void load(bz_address p, int by)
	{
		word = ((const decltype(word) *)p)[by];
	}
	__device__ __forceinline__ void store(bz_address p, int by) const
	{
		((decltype(word) *)p)[by] = word;
	}
	__device__ __forceinline__ T get(int i) const
	{
		if constexpr (bz_type<T>::is_bool)
			return lane[i] != 0;
		else
			return lane[i];
	}
};

/* N elements of a thread, those of a warp's threads between one and the next. */
template <class T, int N> struct bz_lanes {
	T lane[N];

	/* Those at places [low, room). */
	__device__ __forceinline__ void load(bz_address p, int low, int room)
	{
#pragma unroll
		for (int i = 0; i < N; i++)
			if (i * BZ_LANES >= low && i * BZ_LANES < room)
				lane[i] = bz_ld<T>(p + i * (BZ_LANES * (int)sizeof(T)));
	}
	__device__ __forceinline__ void store(bz_address p, int low, int room) const
	{
#pragma unroll
		for (int i = 0; i < N; i++)
			if (i * BZ_LANES >= low && i * BZ_LANES < room)
				bz_st<T>(p + i * (BZ_LANES * (int)sizeof(T)), lane[i]);
	}
	__device__ __forceinline__ T get(int i) const
	{
		return lane[i];
	}
};

/* A tile in shared memory: a column is odd, so that a warp's threads meet all banks along
 * either loop. */
template <class T> using bz_tile = T[BZ_TILE][BZ_TILE + 1];

/* A scalar parameter from its raw bits. */
template <class T> BZ_FN T bz_imm(bz_u64 lo, bz_u64 hi)
{
	if constexpr (bz_type<T>::is_complex) {
		typedef typename bz_type<T>::part F;
		return {bz_imm<F>(lo, 0), bz_imm<F>(hi, 0)};
	} else if constexpr (bz_type<T>::is_bool) {
		return (lo & 255) != 0;
	} else if constexpr (bz_same<T, bz_f16>::yes || bz_same<T, bz_bf16>::yes) {
		return {(bz_u16)lo};
	} else if constexpr (bz_same<T, bz_f32>::yes) {
		return __uint_as_float((bz_u32)lo);
	} else if constexpr (bz_same<T, bz_f64>::yes) {
		return __longlong_as_double((bz_i64)lo);
	} else {
		return (T)lo;
	}
}

/* ---- casts ------------------------------------------------------------------- */

/* From floats: what cvtt gives on x86, the most negative number for a value out of
 * range; types below 4 bytes are cut from int32, uint32 from int64. */
template <class F> BZ_FN bz_i32 bz_to_i32(F x)
{
	const bz_f64 wide = x;
	return wide > -2147483649.0 && wide < 2147483648.0 ? (bz_i32)x : (bz_i32)0x80000000u;
}
template <class F> BZ_FN bz_i64 bz_to_i64(F x)
{
	const F top = (F)9223372036854775808.0;
	return x >= -top && x < top ? (bz_i64)x : (bz_i64)0x8000000000000000ull;
}
template <class F> BZ_FN bz_u64 bz_to_u64(F x)
{
	const F top = (F)9223372036854775808.0;
	return x >= top ? (bz_u64)bz_to_i64(x - top) ^ 0x8000000000000000ull
			: (bz_u64)bz_to_i64(x);
}

/* To the next float16, ties to even; from float64 in one rounding. */
BZ_FN bz_f32 bz_widen(bz_f16 x)
{
	bz_f32 y;

	asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
	return y;
}
BZ_FN bz_f16 bz_narrow(bz_f32 x)
{
	bz_f16 y;

	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
	return y;
}
BZ_FN bz_f16 bz_narrow(bz_f64 x)
{
	bz_f16 y;

	asm("cvt.rn.f16.f64 %0, %1;" : "=h"(y.bits) : "d"(x));
	return y;
}

template <class FROM> BZ_FN bz_f16 bz_to_f16(FROM x)
{
	if constexpr (bz_type<FROM>::is_complex)
		return bz_narrow(x.re);
	else if constexpr (bz_same<FROM, bz_f64>::yes)
		return bz_narrow(x);
	else
		return bz_narrow((bz_f32)x);
}

/* bfloat16 is the upper half of float32, to which it is rounded: to nearest, ties to even, every
 * NaN to the quiet one of its sign.  There are no operations on it (bf16.h). */
BZ_FN bz_f32 bz_widen(bz_bf16 x)
{
	return __uint_as_float((bz_u32)x.bits << 16);
}
BZ_FN bz_bf16 bz_to_bf16(bz_f32 x)
{
	const bz_u32 b = __float_as_uint(x), near = (b + 0x7fff + (b >> 16 & 1)) >> 16;

	return {(bz_u16)(x != x ? (b >> 16 & 0x8000) | 0x7fc0 : near)};
}

/* Types of two bytes, which go by way of float32. */
template <class T> struct bz_short {
	enum { yes = bz_same<T, bz_f16>::yes || bz_same<T, bz_bf16>::yes };
};
template <class FROM, class TO> BZ_FN TO bz_shorten(FROM x);

template <class FROM, class TO> BZ_FN TO bz_cast(FROM x)
{
	if constexpr (bz_same<FROM, TO>::yes) {
		return x;
	} else if constexpr (bz_short<FROM>::yes) {
		return bz_cast<bz_f32, TO>(bz_widen(x));
	} else if constexpr (bz_short<TO>::yes) {
		return bz_shorten<FROM, TO>(x);
	} else if constexpr (bz_type<TO>::is_complex) {
		typedef typename bz_type<TO>::part F;
		if constexpr (bz_type<FROM>::is_complex)
			return {(F)x.re, (F)x.im};
		else
			return {bz_cast<FROM, F>(x), 0};
	} else if constexpr (bz_type<FROM>::is_complex) {
		if constexpr (bz_type<TO>::is_bool)
			return x.re != 0 || x.im != 0;
		else
			return bz_cast<typename bz_type<FROM>::part, TO>(x.re);
	} else if constexpr (bz_type<TO>::is_bool) {
		return x != 0;
	} else if constexpr (bz_type<FROM>::is_float && bz_type<TO>::is_integer) {
		if constexpr (bz_same<TO, bz_u64>::yes)
			return bz_to_u64(x);
		else if constexpr (sizeof(TO) == 8 || bz_same<TO, bz_u32>::yes)
			return (TO)bz_to_i64(x);
		else
			return (TO)bz_to_i32(x);
	} else {
		return (TO)x;
	}
}
template <class FROM, class TO> BZ_FN TO bz_shorten(FROM x)
{
	if constexpr (bz_same<TO, bz_f16>::yes)
		return bz_to_f16(x);
	else
		return bz_to_bf16(bz_cast<FROM, bz_f32>(x));
}
