/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/half.h - the operations that float16 has by float32, rounded once: before f16.h and
 * f16.cuh in every prologue. */
#ifndef BZ_HALF_H
#define BZ_HALF_H

/* Comparisons, of one operand, of two. */
/* clang-format off */
#define BZ_EACH_HALF_REL(X)                                                                        \
	X(eq) X(ne) X(lt) X(le) X(gt) X(ge)
#define BZ_EACH_HALF1(X)                                                                           \
	X(sign) X(square) X(recip) X(radians) X(degrees) X(sqrt) X(cbrt) X(exp) X(expm1)           \
	X(exp2) X(log) X(log2) X(log10) X(log1p) X(sin) X(cos) X(tan) X(asin) X(acos)              \
	X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(floor) X(ceil)                \
	X(trunc) X(rint) X(frac) X(mant) X(expo)
#define BZ_EACH_HALF2(X)                                                                           \
	X(add) X(sub) X(mul) X(div) X(fdiv) X(rem) X(fmod) X(pow) X(atan2) X(hypot)                \
	X(heaviside) X(logaddexp)
/* clang-format on */

#endif
