/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/bf16.h - bfloat16 in memory and in casts, after f16.h in every prologue.
 *
 * A register holds the bits, as memory does: the upper half of float32's.  There are no operations
 * on it: nests cast it to float32, and round what comes out, to nearest, ties to even, as
 * ml_dtypes does; every NaN becomes the quiet one of its sign.  BZ_NO_BRAIN leaves all out. */
#if !defined(BZ_BF16_H) && !defined(BZ_NO_BRAIN)
#define BZ_BF16_H

typedef __UINT16_TYPE__ bz_s_bf16;
BZ_TYPE(bf16)
typedef bz_u16 bz_k_bf16;
#define BZ_CLEAN_bf16(x) (void)0
BZ_MEMORY(bf16)
BZ_PART(bf16)
BZ_IMM_INT(bf16)

BZ_FN bz_f32 bz_cast_bf16_f32(bz_bf16 x)
{
	return (bz_f32)(BZ_CVT(u32, x) << 16);
}
BZ_FN bz_bf16 bz_cast_f32_bf16(bz_f32 x)
{
	const bz_u32 b = (bz_u32)x, near = (b + 0x7fff + (b >> 16 & 1)) >> 16;
	const bz_u32 nan = (b >> 16 & 0x8000) | 0x7fc0, odd = (bz_u32)(x != x);

	return BZ_CVT(bf16, (nan & odd) | (near & ~odd));
}
BZ_FN bz_bf16 bz_cast_bf16_bf16(bz_bf16 x)
{
	return x;
}
#define BZ_CAST_BRAIN(t, ...)                                                                      \
	BZ_FN bz_bf16 bz_cast_##t##_bf16(bz_##t x)                                                 \
	{                                                                                          \
		return bz_cast_f32_bf16(bz_cast_##t##_f32(x));                                     \
	}                                                                                          \
	BZ_FN bz_##t bz_cast_bf16_##t(bz_bf16 x)                                                   \
	{                                                                                          \
		return bz_cast_f32_##t(bz_cast_bf16_f32(x));                                       \
	}
BZ_CAST_BRAIN(b1)
BZ_EACH_INT(BZ_CAST_BRAIN)
#ifndef BZ_NO_HALF
BZ_CAST_BRAIN(f16)
#endif
#ifndef BZ_ONLY_NARROW
BZ_CAST_BRAIN(f64)
BZ_EACH_COMPLEX(BZ_CAST_BRAIN)
#endif

#endif
