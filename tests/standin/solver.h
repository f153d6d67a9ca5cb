/* SPDX-License-Identifier: Apache-2.0 */
/* solver.h - the stand-in for cuSOLVER: libcusolver.so.12 over the stand-in driver.
 *
 * In: the calls that the CUDA worker makes.  Out: factors computed in the stream's order on the
 * stand-in's device memory, by plain loops in double precision, or the status that cuSOLVER would
 * give.  It is stricter than cuSOLVER: what braze promises (a stream of its own, results that are
 * always the same, work areas of its own of the size that it was told, the lower triangle, no gaps
 * between columns, a handle that nothing uses when it goes) is asked for, too.  What LAPACK leaves
 * open is spoilt: the other triangle, the matrix where its factors lie elsewhere, the work areas.
 *
 * solver_handle.c has handles and the checks of all calls, solver_exec.c the factors. */
#ifndef STANDIN_SOLVER_H
#define STANDIN_SOLVER_H

#include <stdatomic.h>
#include <stdint.h>

#include "cu_private.h"

typedef enum {
	CUSOLVER_STATUS_SUCCESS = 0,
	CUSOLVER_STATUS_NOT_INITIALIZED = 1,
	CUSOLVER_STATUS_ALLOC_FAILED = 2,
	CUSOLVER_STATUS_INVALID_VALUE = 3,
	CUSOLVER_STATUS_EXECUTION_FAILED = 6,
	CUSOLVER_STATUS_INTERNAL_ERROR = 7,
	CUSOLVER_STATUS_NOT_SUPPORTED = 9,
	CUSOLVER_STATUS_INVALID_WORKSPACE = 31
} cusolverStatus_t;

/* cudaDataType. */
enum { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_C_32F = 4, CUDA_C_64F = 5 };
enum { SOLVER_DETERMINISTIC = 1, SOLVER_LOWER = 0, SOLVER_NOT_TURNED = 0 };

typedef struct solver_handle *cusolverDnHandle_t;
typedef struct solver_params *cusolverDnParams_t;

#define SOLVER_START  cusolverDnHandle_t handle, cusolverDnParams_t params
#define SOLVER_SIZES  size_t *work, size_t *host
#define SOLVER_WORK   void *work, size_t nwork, void *host, size_t nhost, int *info
#define SOLVER_MATRIX int type, void *a, int64_t lda
#define SOLVER_LOOKED int type, const void *a, int64_t lda

#define SOLVER_SVD_ARGUMENTS                                                                       \
	SOLVER_START, signed char job_u, signed char job_vt, int64_t m, int64_t n, SOLVER_MATRIX,  \
		int type_s, void *s, int type_u, void *u, int64_t ldu, int type_vt, void *vt,      \
		int64_t ldvt, int compute, SOLVER_WORK
#define SOLVER_SVD_SIZE_ARGUMENTS                                                                  \
	SOLVER_START, signed char job_u, signed char job_vt, int64_t m, int64_t n, SOLVER_LOOKED,  \
		int type_s, const void *s, int type_u, const void *u, int64_t ldu, int type_vt,    \
		const void *vt, int64_t ldvt, int compute, SOLVER_SIZES

/* X(name, cudaDataType): Q, one function for each type. */
#define SOLVER_Q(X)                                                                                \
	X(cusolverDnSorgqr, CUDA_R_32F)                                                            \
	X(cusolverDnDorgqr, CUDA_R_64F)                                                            \
	X(cusolverDnCungqr, CUDA_C_32F)                                                            \
	X(cusolverDnZungqr, CUDA_C_64F)
#define SOLVER_Q_ARGUMENTS                                                                         \
	cusolverDnHandle_t handle, int m, int n, int k, void *a, int lda, const void *tau,         \
		void *work, int nwork, int *info
#define SOLVER_Q_SIZE_ARGUMENTS                                                                    \
	cusolverDnHandle_t handle, int m, int n, int k, const void *a, int lda, const void *tau,   \
		int *nwork

/* Everything that is exported. */
#define SOLVER_CALLS(X)                                                                            \
	X(cusolverDnCreate, (cusolverDnHandle_t * out))                                            \
	X(cusolverDnDestroy, (cusolverDnHandle_t handle))                                          \
	X(cusolverDnSetStream, (cusolverDnHandle_t handle, CUstream stream))                       \
	X(cusolverDnSetDeterministicMode, (cusolverDnHandle_t handle, int mode))                   \
	X(cusolverDnCreateParams, (cusolverDnParams_t * out))                                      \
	X(cusolverDnDestroyParams, (cusolverDnParams_t params))                                    \
	X(cusolverDnXgetrf_bufferSize,                                                             \
	  (SOLVER_START, int64_t m, int64_t n, SOLVER_LOOKED, int compute, SOLVER_SIZES))          \
	X(cusolverDnXgetrf, (SOLVER_START, int64_t m, int64_t n, SOLVER_MATRIX, int64_t * pivot,   \
			     int compute, SOLVER_WORK))                                            \
	X(cusolverDnXgetrs, (SOLVER_START, int turned, int64_t n, int64_t count, SOLVER_LOOKED,    \
			     const int64_t *pivot, int type_b, void *b, int64_t ldb, int *info))   \
	X(cusolverDnXpotrf_bufferSize,                                                             \
	  (SOLVER_START, int triangle, int64_t n, SOLVER_LOOKED, int compute, SOLVER_SIZES))       \
	X(cusolverDnXpotrf,                                                                        \
	  (SOLVER_START, int triangle, int64_t n, SOLVER_MATRIX, int compute, SOLVER_WORK))        \
	X(cusolverDnXgeqrf_bufferSize, (SOLVER_START, int64_t m, int64_t n, SOLVER_LOOKED,         \
					int type_tau, const void *tau, int compute, SOLVER_SIZES)) \
	X(cusolverDnXgeqrf, (SOLVER_START, int64_t m, int64_t n, SOLVER_MATRIX, int type_tau,      \
			     void *tau, int compute, SOLVER_WORK))                                 \
	X(cusolverDnXsyevd_bufferSize,                                                             \
	  (SOLVER_START, int vectors, int triangle, int64_t n, SOLVER_LOOKED, int type_w,          \
	   const void *w, int compute, SOLVER_SIZES))                                              \
	X(cusolverDnXsyevd, (SOLVER_START, int vectors, int triangle, int64_t n, SOLVER_MATRIX,    \
			     int type_w, void *w, int compute, SOLVER_WORK))                       \
	X(cusolverDnXgesvd_bufferSize, (SOLVER_SVD_SIZE_ARGUMENTS))                                \
	X(cusolverDnXgesvd, (SOLVER_SVD_ARGUMENTS))                                                \
	X(cusolverDnSorgqr_bufferSize, (SOLVER_Q_SIZE_ARGUMENTS))                                  \
	X(cusolverDnDorgqr_bufferSize, (SOLVER_Q_SIZE_ARGUMENTS))                                  \
	X(cusolverDnCungqr_bufferSize, (SOLVER_Q_SIZE_ARGUMENTS))                                  \
	X(cusolverDnZungqr_bufferSize, (SOLVER_Q_SIZE_ARGUMENTS))                                  \
	X(cusolverDnSorgqr, (SOLVER_Q_ARGUMENTS))                                                  \
	X(cusolverDnDorgqr, (SOLVER_Q_ARGUMENTS))                                                  \
	X(cusolverDnCungqr, (SOLVER_Q_ARGUMENTS))                                                  \
	X(cusolverDnZungqr, (SOLVER_Q_ARGUMENTS))
#define SOLVER_DECLARE(name, arguments)                                                            \
	__attribute__((visibility("default"))) cusolverStatus_t name arguments;
SOLVER_CALLS(SOLVER_DECLARE)
#undef SOLVER_DECLARE

struct solver_handle {
	const struct cu_private *driver;
	CUcontext context;
	CUdeviceptr own; /* what a handle takes of the device */
	CUstream stream;
	bool live, stream_set, deterministic;
	atomic_int pending; /* calls in streams */
};

struct solver_params {
	bool live;
};

enum solver_function { FN_LU, FN_LU_SOLVE, FN_CHOLESKY, FN_QR, FN_Q, FN_EIGH, FN_SVD };

/* A call, as a stream executes it.  In elements. */
struct solver_call {
	struct solver_handle *handle;
	enum solver_function function;
	const char *name;
	int type, real;	 /* cudaDataType */
	int64_t m, n, k; /* k: columns of B, of reflectors or of U */
	bool vectors;
	CUdeviceptr a, b, c, line, work; /* line: pivots, tau, eigenvalues, singular values */
	CUdeviceptr info;
	size_t nwork;
};

/* Bytes that a call works with: on the device and on the host. */
size_t solver_work(const struct solver_call *c);
size_t solver_host(const struct solver_call *c);
unsigned solver_bytes(int type); /* 0: it is none of the four */
/* What is wrong with these arguments and settings; NULL: nothing. */
const char *solver_wrong(const struct solver_call *c);
/* A call that was checked, in its stream. */
void solver_push(const struct solver_call *c);

#endif
