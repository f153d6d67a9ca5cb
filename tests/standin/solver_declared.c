/* SPDX-License-Identifier: Apache-2.0 */
/* solver_declared.c - compiled where a CUDA toolkit is: what solver.h and the worker's
 * cuda_solver.c believe of cuSOLVER, against what its header declares.  It has no code. */
#if __has_include(<cusolverDn.h>)
#include <cusolverDn.h>

#define SAME(a, b) _Static_assert((int)(a) == (b), #a)
SAME(CUSOLVER_STATUS_SUCCESS, 0);
SAME(CUSOLVER_STATUS_NOT_INITIALIZED, 1);
SAME(CUSOLVER_STATUS_ALLOC_FAILED, 2);
SAME(CUSOLVER_STATUS_INVALID_VALUE, 3);
SAME(CUSOLVER_STATUS_ARCH_MISMATCH, 4);
SAME(CUSOLVER_STATUS_MAPPING_ERROR, 5);
SAME(CUSOLVER_STATUS_EXECUTION_FAILED, 6);
SAME(CUSOLVER_STATUS_INTERNAL_ERROR, 7);
SAME(CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED, 8);
SAME(CUSOLVER_STATUS_NOT_SUPPORTED, 9);
SAME(CUSOLVER_STATUS_INVALID_WORKSPACE, 31);
SAME(CUSOLVER_EIG_MODE_NOVECTOR, 0);
SAME(CUSOLVER_EIG_MODE_VECTOR, 1);
SAME(CUSOLVER_DETERMINISTIC_RESULTS, 1);
SAME(CUBLAS_FILL_MODE_LOWER, 0);
SAME(CUBLAS_OP_N, 0);
SAME(CUDA_R_32F, 0);
SAME(CUDA_R_64F, 1);
SAME(CUDA_C_32F, 4);
SAME(CUDA_C_64F, 5);

/* Pointers to device memory of a type are passed as void * here, sizes of enums are those of ints;
 * the rest must be the same. */
#define DECLARED(f, ...)                                                                           \
	_Static_assert(__builtin_types_compatible_p(__typeof__(f), cusolverStatus_t(__VA_ARGS__)), \
		       #f)
#define START  cusolverDnHandle_t, cusolverDnParams_t
#define SIZES  cudaDataType, size_t *, size_t *
#define WORK   cudaDataType, void *, size_t, void *, size_t, int *
#define MATRIX cudaDataType, void *, int64_t
#define LOOKED cudaDataType, const void *, int64_t
DECLARED(cusolverDnCreate, cusolverDnHandle_t *);
DECLARED(cusolverDnDestroy, cusolverDnHandle_t);
DECLARED(cusolverDnSetStream, cusolverDnHandle_t, cudaStream_t);
DECLARED(cusolverDnSetDeterministicMode, cusolverDnHandle_t, cusolverDeterministicMode_t);
DECLARED(cusolverDnCreateParams, cusolverDnParams_t *);
DECLARED(cusolverDnDestroyParams, cusolverDnParams_t);
DECLARED(cusolverDnXgetrf_bufferSize, START, int64_t, int64_t, LOOKED, SIZES);
DECLARED(cusolverDnXgetrf, START, int64_t, int64_t, MATRIX, int64_t *, WORK);
DECLARED(cusolverDnXgetrs, START, cublasOperation_t, int64_t, int64_t, LOOKED, const int64_t *,
	 cudaDataType, void *, int64_t, int *);
DECLARED(cusolverDnXpotrf_bufferSize, START, cublasFillMode_t, int64_t, LOOKED, SIZES);
DECLARED(cusolverDnXpotrf, START, cublasFillMode_t, int64_t, MATRIX, WORK);
DECLARED(cusolverDnXgeqrf_bufferSize, START, int64_t, int64_t, LOOKED, cudaDataType, const void *,
	 SIZES);
DECLARED(cusolverDnXgeqrf, START, int64_t, int64_t, MATRIX, cudaDataType, void *, WORK);
DECLARED(cusolverDnXsyevd_bufferSize, START, cusolverEigMode_t, cublasFillMode_t, int64_t, LOOKED,
	 cudaDataType, const void *, SIZES);
DECLARED(cusolverDnXsyevd, START, cusolverEigMode_t, cublasFillMode_t, int64_t, MATRIX,
	 cudaDataType, void *, WORK);
DECLARED(cusolverDnXgesvd_bufferSize, START, signed char, signed char, int64_t, int64_t, LOOKED,
	 cudaDataType, const void *, LOOKED, LOOKED, SIZES);
DECLARED(cusolverDnXgesvd, START, signed char, signed char, int64_t, int64_t, MATRIX, cudaDataType,
	 void *, MATRIX, MATRIX, WORK);
#define DECLARED_Q(f, T)                                                                           \
	DECLARED(f##_bufferSize, cusolverDnHandle_t, int, int, int, const T *, int, const T *,     \
		 int *);                                                                           \
	DECLARED(f, cusolverDnHandle_t, int, int, int, T *, int, const T *, T *, int, int *)
DECLARED_Q(cusolverDnSorgqr, float);
DECLARED_Q(cusolverDnDorgqr, double);
DECLARED_Q(cusolverDnCungqr, cuComplex);
DECLARED_Q(cusolverDnZungqr, cuDoubleComplex);
_Static_assert(sizeof(cusolverStatus_t) == sizeof(int) && sizeof(cudaDataType) == sizeof(int) &&
		       sizeof(cusolverEigMode_t) == sizeof(int) &&
		       sizeof(cublasFillMode_t) == sizeof(int) &&
		       sizeof(cusolverDeterministicMode_t) == sizeof(int),
	       "enums are ints");
#endif
