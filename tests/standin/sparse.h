/* SPDX-License-Identifier: Apache-2.0 */
/* sparse.h - the stand-in for cuSPARSE: libcusparse.so.12 over the stand-in driver.
 *
 * In: the calls that the CUDA worker makes.  Out: products computed in the stream's order on the
 * stand-in's device memory, in long double, or the status that cuSPARSE would give.  It is stricter
 * than cuSPARSE: what braze promises (a way that gives the same bits each time, work of its own for
 * each call, operands at multiples of 16 bytes that do not meet) is asked for, too.  A structure
 * that names what is not there breaks the context, as reading it may on a device.
 *
 * sparse_describe.c has handles and descriptors, sparse_product.c the products. */
#ifndef STANDIN_SPARSE_H
#define STANDIN_SPARSE_H

#include <stdatomic.h>

#include "cu_private.h"

typedef int cusparseStatus_t;
enum {
	CUSPARSE_STATUS_SUCCESS = 0,
	CUSPARSE_STATUS_NOT_INITIALIZED = 1,
	CUSPARSE_STATUS_ALLOC_FAILED = 2,
	CUSPARSE_STATUS_INVALID_VALUE = 3,
	CUSPARSE_STATUS_EXECUTION_FAILED = 6,
	CUSPARSE_STATUS_NOT_SUPPORTED = 10
};
enum { CUSPARSE_OPERATION_NON_TRANSPOSE = 0, CUSPARSE_INDEX_BASE_ZERO = 0 };
enum { CUSPARSE_ORDER_COL = 1, CUSPARSE_ORDER_ROW = 2 };
enum { CUSPARSE_INDEX_32I = 2, CUSPARSE_INDEX_64I = 3 };
enum { CUSPARSE_SPMV_CSR_ALG2 = 3, CUSPARSE_SPMM_CSR_ALG3 = 12 };
enum { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_C_32F = 4, CUDA_C_64F = 5 };

typedef struct sparse_handle *cusparseHandle_t;
typedef struct sparse_shape *cusparseDescr;

#define SPARSE_REST                                                                                \
	const void *alpha, cusparseDescr a, cusparseDescr b, const void *beta, cusparseDescr c,    \
		int type, int way
#define SPARSE_BY_VECTOR cusparseHandle_t h, int op_a, SPARSE_REST
#define SPARSE_BY_DENSE	 cusparseHandle_t h, int op_a, int op_b, SPARSE_REST

/* Everything that is exported. */
#define SPARSE_CALLS(X)                                                                            \
	X(cusparseCreate, (cusparseHandle_t * out))                                                \
	X(cusparseDestroy, (cusparseHandle_t h))                                                   \
	X(cusparseSetStream, (cusparseHandle_t h, CUstream stream))                                \
	X(cusparseCreateCsr,                                                                       \
	  (cusparseDescr * out, int64_t rows, int64_t columns, int64_t count, void *starts,        \
	   void *names, void *values, int start_type, int name_type, int base, int type))          \
	X(cusparseCreateDnVec, (cusparseDescr * out, int64_t size, void *values, int type))        \
	X(cusparseCreateDnMat, (cusparseDescr * out, int64_t rows, int64_t columns, int64_t apart, \
				void *values, int type, int order))                                \
	X(cusparseDestroySpMat, (cusparseDescr d))                                                 \
	X(cusparseDestroyDnVec, (cusparseDescr d))                                                 \
	X(cusparseDestroyDnMat, (cusparseDescr d))                                                 \
	X(cusparseSpMV_bufferSize, (SPARSE_BY_VECTOR, size_t * bytes))                             \
	X(cusparseSpMV, (SPARSE_BY_VECTOR, void *work))                                            \
	X(cusparseSpMM_bufferSize, (SPARSE_BY_DENSE, size_t * bytes))                              \
	X(cusparseSpMM, (SPARSE_BY_DENSE, void *work))
#define SPARSE_DECLARE(name, params)                                                               \
	__attribute__((visibility("default"))) cusparseStatus_t name params;
SPARSE_CALLS(SPARSE_DECLARE)
#undef SPARSE_DECLARE

struct sparse_handle {
	const struct cu_private *driver;
	CUcontext context;
	CUdeviceptr own; /* what a handle takes of the device */
	CUstream stream;
	bool live, stream_set;
	atomic_int pending; /* products in streams */
};

enum sparse_kind { SPARSE_NONE, SPARSE_MATRIX, SPARSE_VECTOR, SPARSE_DENSE };

/* What a descriptor says; it is gone when it is destroyed. */
struct sparse_shape {
	enum sparse_kind kind;
	int64_t rows, columns, count;
	int64_t row, column; /* elements from one to the next, of what is dense */
	CUdeviceptr starts, names, values;
	int index, type;
	size_t asked; /* bytes of work that were told, and one */
};

size_t sparse_bytes(int type);
/* Begin a call on a handle: its status, injected or found. */
cusparseStatus_t sparse_enter(const char *function, cusparseHandle_t h);
/* Is that a live descriptor of the kind? */
bool sparse_is(cusparseDescr d, enum sparse_kind kind);
/* Say what is wrong and refuse the call. */
cusparseStatus_t sparse_refuse(const struct cu_private *driver, const char *function,
			       const char *what);

#endif
