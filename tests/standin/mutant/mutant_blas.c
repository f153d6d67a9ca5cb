/* SPDX-License-Identifier: Apache-2.0 */
/* mutant_blas.c - libcublas.so.13 with a mistake: the stand-in behind it, one call altered as
 * BRAZE_MUTANT says (mutants.def).
 *
 * It has only the functions that a mutant alters; whoever looks for others in it finds the
 * stand-in's, which it is linked with. */
#include <dlfcn.h>

#include "../blas.h"
#include "mutant.h"

#define PROTOTYPE(name, params) typedef cublasStatus_t type_##name params;
BLAS_CALLS(PROTOTYPE)
#undef PROTOTYPE

#define REAL(name) ((type_##name *)dlsym(RTLD_NEXT, #name))

cublasStatus_t cublasSetStream_v2(cublasHandle_t h, CUstream stream)
{
	if (is(MUTANT_blas_no_stream))
		return CUBLAS_STATUS_SUCCESS;
	return REAL(cublasSetStream_v2)(h, is(MUTANT_blas_stream) ? NULL : stream);
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t h, void *memory, size_t bytes)
{
	if (is(MUTANT_blas_no_workspace))
		return CUBLAS_STATUS_SUCCESS;
	return REAL(cublasSetWorkspace_v2)(
		h, (char *)memory - (is(MUTANT_blas_workspace_late) ? 4096 : 0), bytes);
}

cublasStatus_t cublasSetMathMode(cublasHandle_t h, cublasMath_t mode)
{
	unsigned whole = CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION, asked = (unsigned)mode;

	if (is(MUTANT_blas_math))
		asked = CUBLAS_DEFAULT_MATH;
	if (is(MUTANT_blas_parts))
		asked &= ~whole;
	return REAL(cublasSetMathMode)(h, (cublasMath_t)asked);
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t h, cublasAtomicsMode_t mode)
{
	return REAL(cublasSetAtomicsMode)(h,
					  is(MUTANT_blas_atomics) ? CUBLAS_ATOMICS_ALLOWED : mode);
}

/* Factors of a product, as they are wrong. */
static const void *factor(const void *alpha, const void *beta, int bytes)
{
	static const char none[8];
	int first = !memcmp(beta, none, (size_t)bytes);

	if (is(MUTANT_blas_adds) && first)
		return alpha;
	return is(MUTANT_blas_forgets) && !first ? none : beta;
}

cublasStatus_t cublasGemmStridedBatchedEx(BLAS_EX_ARGUMENTS)
{
	int swapped = is(MUTANT_blas_swapped);
	const void *left = swapped ? b : a, *right = swapped ? a : b;

	if (is(MUTANT_blas_turned))
		ta = ta == CUBLAS_OP_N ? CUBLAS_OP_T : CUBLAS_OP_N;
	if (is(MUTANT_blas_leading))
		lda += 4;
	if (is(MUTANT_blas_depth))
		k -= 4;
	if (is(MUTANT_blas_count) && count > 1)
		count--;
	if (is(MUTANT_blas_step))
		step_c += 4;
	if (is(MUTANT_blas_compute) && compute == CUBLAS_COMPUTE_32F)
		compute = CUBLAS_COMPUTE_16F;
	if (is(MUTANT_blas_written) && type_c == CUDA_R_32F)
		type_c = CUDA_R_16F;
	if (is(MUTANT_blas_destroyed))
		(void)REAL(cublasDestroy_v2)(h);
	return REAL(cublasGemmStridedBatchedEx)(
		h, ta, tb, m, n, k, alpha, left, type_a, lda, step_a, right, type_b, ldb, step_b,
		factor(alpha, beta, 4), c, type_c, ldc, step_c, count, compute, algo);
}
