/* SPDX-License-Identifier: Apache-2.0 */
/* blas_declared.c - compiled where a CUDA toolkit is: what blas.h and the worker's
 * cuda_blas.c believe of cuBLAS, against what its header declares.  It has no code. */
#include <cublas_v2.h>
#include <stdint.h>

#define SAME(a, b) _Static_assert((int)(a) == (b), #a)
SAME(CUBLAS_STATUS_SUCCESS, 0);
SAME(CUBLAS_STATUS_NOT_INITIALIZED, 1);
SAME(CUBLAS_STATUS_ALLOC_FAILED, 3);
SAME(CUBLAS_STATUS_INVALID_VALUE, 7);
SAME(CUBLAS_STATUS_ARCH_MISMATCH, 8);
SAME(CUBLAS_STATUS_MAPPING_ERROR, 11);
SAME(CUBLAS_STATUS_EXECUTION_FAILED, 13);
SAME(CUBLAS_STATUS_INTERNAL_ERROR, 14);
SAME(CUBLAS_STATUS_NOT_SUPPORTED, 15);
SAME(CUBLAS_STATUS_LICENSE_ERROR, 16);
SAME(CUBLAS_OP_N, 0);
SAME(CUBLAS_OP_T, 1);
SAME(CUBLAS_OP_C, 2);
SAME(CUBLAS_ATOMICS_NOT_ALLOWED, 0);
SAME(CUBLAS_ATOMICS_ALLOWED, 1);
SAME(CUBLAS_POINTER_MODE_HOST, 0);
SAME(CUBLAS_DEFAULT_MATH, 0);
SAME(CUBLAS_TENSOR_OP_MATH, 1);
SAME(CUBLAS_PEDANTIC_MATH, 2);
SAME(CUBLAS_TF32_TENSOR_OP_MATH, 3);
SAME(CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION, 16);
SAME(CUDA_R_32F, 0);
SAME(CUDA_R_16F, 2);
SAME(CUDA_R_8I, 3);
SAME(CUDA_C_32F, 4);
SAME(CUDA_R_32I, 10);
SAME(CUBLAS_COMPUTE_16F, 64);
SAME(CUBLAS_COMPUTE_32F, 68);
SAME(CUBLAS_COMPUTE_32I, 72);
SAME(CUBLAS_COMPUTE_32F_FAST_TF32, 77);
SAME(CUBLAS_GEMM_DEFAULT, -1);

/* Pointers to device memory are passed as void * here; the rest must be the same. */
#define DECLARED(f, ...)                                                                           \
	_Static_assert(__builtin_types_compatible_p(__typeof__(f), cublasStatus_t(__VA_ARGS__)), #f)
#define PRODUCT(f, e)                                                                              \
	DECLARED(f, cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,           \
		 const e *, const e *, int, long long, const e *, int, long long, const e *, e *,  \
		 int, long long, int)
DECLARED(cublasCreate_v2, cublasHandle_t *);
DECLARED(cublasDestroy_v2, cublasHandle_t);
DECLARED(cublasSetStream_v2, cublasHandle_t, cudaStream_t);
DECLARED(cublasSetWorkspace_v2, cublasHandle_t, void *, size_t);
DECLARED(cublasSetMathMode, cublasHandle_t, cublasMath_t);
DECLARED(cublasSetAtomicsMode, cublasHandle_t, cublasAtomicsMode_t);
PRODUCT(cublasSgemmStridedBatched, float);
PRODUCT(cublasDgemmStridedBatched, double);
PRODUCT(cublasCgemmStridedBatched, cuComplex);
PRODUCT(cublasZgemmStridedBatched, cuDoubleComplex);
DECLARED(cublasGemmStridedBatchedEx, cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
	 int, const void *, const void *, cudaDataType, int, long long, const void *, cudaDataType,
	 int, long long, const void *, void *, cudaDataType, int, long long, int,
	 cublasComputeType_t, cublasGemmAlgo_t);
_Static_assert(sizeof(cublasStatus_t) == sizeof(int) && sizeof(cublasMath_t) == sizeof(int) &&
		       sizeof(cublasOperation_t) == sizeof(int) &&
		       sizeof(cublasAtomicsMode_t) == sizeof(int) &&
		       sizeof(cudaDataType) == sizeof(int) &&
		       sizeof(cublasComputeType_t) == sizeof(int) &&
		       sizeof(cublasGemmAlgo_t) == sizeof(int),
	       "enums are ints");
