/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_declared.c - compiled where a CUDA toolkit is: what sparse.h and the worker's
 * cuda_sparse.c believe of cuSPARSE, against what its header declares.  It has no code. */
#include <cusparse.h>

#define SAME(a, b) _Static_assert((int)(a) == (b), #a)
SAME(CUSPARSE_STATUS_SUCCESS, 0);
SAME(CUSPARSE_STATUS_NOT_INITIALIZED, 1);
SAME(CUSPARSE_STATUS_ALLOC_FAILED, 2);
SAME(CUSPARSE_STATUS_INVALID_VALUE, 3);
SAME(CUSPARSE_STATUS_EXECUTION_FAILED, 6);
SAME(CUSPARSE_STATUS_NOT_SUPPORTED, 10);
SAME(CUSPARSE_OPERATION_NON_TRANSPOSE, 0);
SAME(CUSPARSE_INDEX_BASE_ZERO, 0);
SAME(CUSPARSE_ORDER_COL, 1);
SAME(CUSPARSE_ORDER_ROW, 2);
SAME(CUSPARSE_INDEX_32I, 2);
SAME(CUSPARSE_INDEX_64I, 3);
SAME(CUSPARSE_SPMV_CSR_ALG2, 3);
SAME(CUSPARSE_SPMM_CSR_ALG3, 12);
SAME(CUDA_R_32F, 0);
SAME(CUDA_R_64F, 1);
SAME(CUDA_C_32F, 4);
SAME(CUDA_C_64F, 5);

/* Descriptors are passed as void * by the worker; the rest must be the same. */
#define DECLARED(f, ...)                                                                           \
	_Static_assert(__builtin_types_compatible_p(__typeof__(f), cusparseStatus_t(__VA_ARGS__)), \
		       #f)
DECLARED(cusparseCreate, cusparseHandle_t *);
DECLARED(cusparseDestroy, cusparseHandle_t);
DECLARED(cusparseSetStream, cusparseHandle_t, cudaStream_t);
DECLARED(cusparseCreateCsr, cusparseSpMatDescr_t *, int64_t, int64_t, int64_t, void *, void *,
	 void *, cusparseIndexType_t, cusparseIndexType_t, cusparseIndexBase_t, cudaDataType);
DECLARED(cusparseCreateDnVec, cusparseDnVecDescr_t *, int64_t, void *, cudaDataType);
DECLARED(cusparseCreateDnMat, cusparseDnMatDescr_t *, int64_t, int64_t, int64_t, void *,
	 cudaDataType, cusparseOrder_t);
DECLARED(cusparseDestroySpMat, cusparseConstSpMatDescr_t);
DECLARED(cusparseDestroyDnVec, cusparseConstDnVecDescr_t);
DECLARED(cusparseDestroyDnMat, cusparseConstDnMatDescr_t);
DECLARED(cusparseSpMV_bufferSize, cusparseHandle_t, cusparseOperation_t, const void *,
	 cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t, const void *, cusparseDnVecDescr_t,
	 cudaDataType, cusparseSpMVAlg_t, size_t *);
DECLARED(cusparseSpMV, cusparseHandle_t, cusparseOperation_t, const void *,
	 cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t, const void *, cusparseDnVecDescr_t,
	 cudaDataType, cusparseSpMVAlg_t, void *);
DECLARED(cusparseSpMM_bufferSize, cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
	 const void *, cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, const void *,
	 cusparseDnMatDescr_t, cudaDataType, cusparseSpMMAlg_t, size_t *);
DECLARED(cusparseSpMM, cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void *,
	 cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, const void *, cusparseDnMatDescr_t,
	 cudaDataType, cusparseSpMMAlg_t, void *);
_Static_assert(sizeof(cusparseStatus_t) == sizeof(int) && sizeof(cudaDataType) == sizeof(int) &&
		       sizeof(cusparseSpMVAlg_t) == sizeof(int) &&
		       sizeof(cusparseHandle_t) == sizeof(void *),
	       "enums are ints, handles pointers");
