/* SPDX-License-Identifier: Apache-2.0 */
/* blas.h - the stand-in for cuBLAS: libcublas.so.13 over the stand-in driver.
 *
 * In: the calls that the CUDA worker makes.  Out: products computed in the stream's
 * order on the stand-in's device memory, or the status that cuBLAS would give.  It is
 * stricter than cuBLAS: what braze promises (a workspace of its own, no atomics,
 * pedantic arithmetic, sums that are whole before they are rounded, bytes as its fastest kernels
 * want them, batches that do not overlap) is asked for, too.
 *
 * blas_handle.c has the handles, blas_product.c the products.  A handle is used by one
 * thread at a time, as cuBLAS wants it. */
#ifndef STANDIN_BLAS_H
#define STANDIN_BLAS_H

#include "cu_private.h"

typedef enum {
	CUBLAS_STATUS_SUCCESS = 0,
	CUBLAS_STATUS_NOT_INITIALIZED = 1,
	CUBLAS_STATUS_ALLOC_FAILED = 3,
	CUBLAS_STATUS_INVALID_VALUE = 7,
	CUBLAS_STATUS_ARCH_MISMATCH = 8,
	CUBLAS_STATUS_MAPPING_ERROR = 11,
	CUBLAS_STATUS_EXECUTION_FAILED = 13,
	CUBLAS_STATUS_INTERNAL_ERROR = 14,
	CUBLAS_STATUS_NOT_SUPPORTED = 15,
	CUBLAS_STATUS_LICENSE_ERROR = 16
} cublasStatus_t;

typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 } cublasOperation_t;

typedef enum { CUBLAS_ATOMICS_NOT_ALLOWED = 0, CUBLAS_ATOMICS_ALLOWED = 1 } cublasAtomicsMode_t;

typedef enum {
	CUBLAS_DEFAULT_MATH = 0,
	CUBLAS_TENSOR_OP_MATH = 1,
	CUBLAS_PEDANTIC_MATH = 2,
	CUBLAS_TF32_TENSOR_OP_MATH = 3,
	CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16
} cublasMath_t;

typedef struct cublasContext *cublasHandle_t;

/* X(name, element): products of `count` matrices that lie `step` elements apart, all in
 * columns: C = alpha op(A) op(B) + beta C, alpha and beta in host memory. */
#define BLAS_PRODUCTS(X)                                                                           \
	X(cublasSgemmStridedBatched, BLAS_S)                                                       \
	X(cublasDgemmStridedBatched, BLAS_D)                                                       \
	X(cublasCgemmStridedBatched, BLAS_C)                                                       \
	X(cublasZgemmStridedBatched, BLAS_Z)
enum blas_element { BLAS_S, BLAS_D, BLAS_C, BLAS_Z, BLAS_H, BLAS_I8, BLAS_I32 };

typedef enum {
	CUDA_R_32F = 0,
	CUDA_R_16F = 2,
	CUDA_R_8I = 3,
	CUDA_C_32F = 4,
	CUDA_R_32I = 10
} cudaDataType_t;
typedef enum {
	CUBLAS_COMPUTE_16F = 64,
	CUBLAS_COMPUTE_32F = 68,
	CUBLAS_COMPUTE_32I = 72,
	CUBLAS_COMPUTE_32F_FAST_TF32 = 77
} cublasComputeType_t;
typedef enum { CUBLAS_GEMM_DEFAULT = -1 } cublasGemmAlgo_t;

#define BLAS_PRODUCT_ARGUMENTS                                                                     \
	cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,         \
		const void *alpha, const void *a, int lda, long long step_a, const void *b,        \
		int ldb, long long step_b, const void *beta, void *c, int ldc, long long step_c,   \
		int count

#define BLAS_EX_ARGUMENTS                                                                          \
	cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,         \
		const void *alpha, const void *a, cudaDataType_t type_a, int lda,                  \
		long long step_a, const void *b, cudaDataType_t type_b, int ldb, long long step_b, \
		const void *beta, void *c, cudaDataType_t type_c, int ldc, long long step_c,       \
		int count, cublasComputeType_t compute, cublasGemmAlgo_t algo

/* Everything that is exported. */
#define BLAS_CALLS(X)                                                                              \
	X(cublasCreate_v2, (cublasHandle_t * out))                                                 \
	X(cublasDestroy_v2, (cublasHandle_t h))                                                    \
	X(cublasSetStream_v2, (cublasHandle_t h, CUstream stream))                                 \
	X(cublasSetWorkspace_v2, (cublasHandle_t h, void *memory, size_t bytes))                   \
	X(cublasSetMathMode, (cublasHandle_t h, cublasMath_t mode))                                \
	X(cublasSetAtomicsMode, (cublasHandle_t h, cublasAtomicsMode_t mode))                      \
	X(cublasSgemmStridedBatched, (BLAS_PRODUCT_ARGUMENTS))                                     \
	X(cublasDgemmStridedBatched, (BLAS_PRODUCT_ARGUMENTS))                                     \
	X(cublasCgemmStridedBatched, (BLAS_PRODUCT_ARGUMENTS))                                     \
	X(cublasZgemmStridedBatched, (BLAS_PRODUCT_ARGUMENTS))                                     \
	X(cublasGemmStridedBatchedEx, (BLAS_EX_ARGUMENTS))
#define BLAS_DECLARE(name, params)                                                                 \
	__attribute__((visibility("default"))) cublasStatus_t name params;
BLAS_CALLS(BLAS_DECLARE)
#undef BLAS_DECLARE

struct cublasContext {
	struct cublasContext *next; /* of those that live */
	const struct cu_private *driver;
	CUcontext context;
	CUdeviceptr own; /* what a handle takes of the device */
	CUstream stream;
	bool stream_set;
	CUdeviceptr workspace; /* 0: the handle's own */
	size_t workspace_bytes;
	int math, atomics;
};

/* Begin a call on a handle: its status, injected or found. */
cublasStatus_t blas_enter(const char *function, cublasHandle_t h);
/* Say what is wrong and refuse the call. */
cublasStatus_t blas_refuse(cublasHandle_t h, const char *function, const char *what);

#endif
