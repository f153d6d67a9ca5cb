/* SPDX-License-Identifier: Apache-2.0 */
/* mutant_sparse.c - libcusparse.so.12 with a mistake: the stand-in behind it, one call altered as
 * BRAZE_MUTANT says (mutants.def); as mutant_fft.c. */
#include <dlfcn.h>

#include "../sparse.h"
#include "mutant.h"

#define PROTOTYPE(name, params) typedef cusparseStatus_t type_##name params;
SPARSE_CALLS(PROTOTYPE)
#undef PROTOTYPE

#define REAL(name) ((type_##name *)dlsym(RTLD_NEXT, #name))

cusparseStatus_t cusparseSetStream(cusparseHandle_t h, CUstream stream)
{
	if (is(MUTANT_sparse_no_stream))
		return CUSPARSE_STATUS_SUCCESS;
	return REAL(cusparseSetStream)(h, is(MUTANT_sparse_stream) ? NULL : stream);
}

cusparseStatus_t cusparseCreateCsr(cusparseDescr *out, int64_t rows, int64_t columns, int64_t count,
				   void *starts, void *names, void *values, int start_type,
				   int name_type, int base, int type)
{
	int swapped = is(MUTANT_sparse_swapped);

	return REAL(cusparseCreateCsr)(out, rows, columns, count - is(MUTANT_sparse_count),
				       swapped ? names : starts, swapped ? starts : names, values,
				       start_type, name_type, base, type);
}

cusparseStatus_t cusparseCreateDnMat(cusparseDescr *out, int64_t rows, int64_t columns,
				     int64_t apart, void *values, int type, int order)
{
	return REAL(cusparseCreateDnMat)(out, rows, columns, apart + 4 * is(MUTANT_sparse_apart),
					 values, type,
					 is(MUTANT_sparse_order) ? CUSPARSE_ORDER_COL : order);
}

cusparseStatus_t cusparseSpMV_bufferSize(SPARSE_BY_VECTOR, size_t *bytes)
{
	cusparseStatus_t status =
		REAL(cusparseSpMV_bufferSize)(h, op_a, alpha, a, b, beta, c, type, way, bytes);

	if (is(MUTANT_sparse_work_short) && !status)
		*bytes /= 2;
	return status;
}

cusparseStatus_t cusparseSpMV(SPARSE_BY_VECTOR, void *work)
{
	if (is(MUTANT_sparse_no_work))
		work = NULL;
	if (is(MUTANT_sparse_early))
		(void)REAL(cusparseDestroySpMat)(a);
	cusparseStatus_t status =
		REAL(cusparseSpMV)(h, op_a, is(MUTANT_sparse_adds) ? beta : alpha, a, b, beta, c,
				   type, is(MUTANT_sparse_way) ? 2 : way, work);

	if (is(MUTANT_sparse_destroyed) && !status)
		(void)REAL(cusparseDestroy)(h);
	return status;
}
