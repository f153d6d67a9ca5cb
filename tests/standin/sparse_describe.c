/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_describe.c - handles and descriptors; see sparse.h.
 *
 * The driver is the libcuda.so.1 that this process has loaded already; one that is no stand-in has
 * no table for us, and there is no handle. */
#include "cu_found.h"
#include "sparse.h"
#include <pthread.h>

#define HANDLES	     64
#define SHAPES	     256
#define HANDLE_BYTES (64u << 10) /* that a handle takes of the device */
#define ALIGNED	     16

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sparse_handle handles[HANDLES];
static struct sparse_shape shapes[SHAPES];

cusparseStatus_t sparse_refuse(const struct cu_private *driver, const char *function,
			       const char *what)
{
	driver->log("fault: %s: %s", function, what);
	return CUSPARSE_STATUS_INVALID_VALUE;
}

cusparseStatus_t sparse_enter(const char *function, cusparseHandle_t h)
{
	CUcontext current = NULL;
	int injected = 0;

	if (h < handles || h >= handles + HANDLES || !h->live)
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	current = h->driver->context();
	injected = h->driver->enter(function);
	if (injected)
		return injected;
	if (!current)
		return CUSPARSE_STATUS_EXECUTION_FAILED;
	return current == h->context
		       ? CUSPARSE_STATUS_SUCCESS
		       : sparse_refuse(h->driver, function, "the handle is another context's");
}

cusparseStatus_t cusparseCreate(cusparseHandle_t *out)
{
	const struct cu_private *driver = driver_table();
	CUcontext context = driver ? driver->context() : NULL;
	int injected = driver ? driver->enter(__func__) : 0, at = 0;
	alloc_fn *alloc = NULL;
	CUdeviceptr own = 0;

	if (injected)
		return injected;
	if (!out || !driver || !context)
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	*(void **)&alloc = driver_function("cuMemAlloc_v2");
	if (alloc(&own, HANDLE_BYTES) != CUDA_SUCCESS)
		return CUSPARSE_STATUS_ALLOC_FAILED;
	pthread_mutex_lock(&lock);
	while (at < HANDLES && handles[at].live)
		at++;
	if (at < HANDLES) {
		handles[at] = (struct sparse_handle){
			.driver = driver, .context = context, .own = own, .live = true};
		*out = &handles[at];
	}
	pthread_mutex_unlock(&lock);
	return at < HANDLES ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ALLOC_FAILED;
}

cusparseStatus_t cusparseDestroy(cusparseHandle_t h)
{
	cusparseStatus_t status = sparse_enter(__func__, h);
	free_fn *free_memory = NULL;

	if (status)
		return status;
	if (atomic_load(&h->pending))
		return sparse_refuse(h->driver, __func__, "the handle is in use");
	*(void **)&free_memory = driver_function("cuMemFree_v2");
	(void)free_memory(h->own);
	h->live = false;
	return status;
}

cusparseStatus_t cusparseSetStream(cusparseHandle_t h, CUstream stream)
{
	cusparseStatus_t status = sparse_enter(__func__, h);

	if (status)
		return status;
	if (!h->driver->stream_ok(h->context, stream))
		return sparse_refuse(h->driver, __func__, "no stream of this context");
	h->stream = stream;
	h->stream_set = true;
	return status;
}

/* ---- descriptors ---- */

size_t sparse_bytes(int type)
{
	return type == CUDA_R_32F   ? 4
	       : type == CUDA_R_64F ? 8
	       : type == CUDA_C_32F ? 8
	       : type == CUDA_C_64F ? 16
				    : 0;
}

bool sparse_is(cusparseDescr d, enum sparse_kind kind)
{
	return d >= shapes && d < shapes + SHAPES && d->kind == kind;
}

static cusparseStatus_t keep(const char *function, cusparseDescr *out, struct sparse_shape shape)
{
	const struct cu_private *driver = driver_table();
	int injected = driver ? driver->enter(function) : CUSPARSE_STATUS_NOT_INITIALIZED, at = 0;

	if (injected)
		return injected;
	if (!sparse_bytes(shape.type) || !shape.values || shape.values % ALIGNED ||
	    shape.rows < 1 || shape.columns < 1)
		return sparse_refuse(driver, function, "a type, address or size that is none");
	pthread_mutex_lock(&lock);
	while (at < SHAPES && shapes[at].kind)
		at++;
	if (at < SHAPES) {
		shapes[at] = shape;
		*out = &shapes[at];
	}
	pthread_mutex_unlock(&lock);
	return at < SHAPES ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ALLOC_FAILED;
}

static CUdeviceptr address(const void *p)
{
	return (CUdeviceptr)(uintptr_t)p;
}

cusparseStatus_t cusparseCreateCsr(cusparseDescr *out, int64_t rows, int64_t columns, int64_t count,
				   void *starts, void *names, void *values, int start_type,
				   int name_type, int base, int type)
{
	const struct cu_private *driver = driver_table();

	if (driver &&
	    (start_type != name_type || base != CUSPARSE_INDEX_BASE_ZERO ||
	     (name_type != CUSPARSE_INDEX_32I && name_type != CUSPARSE_INDEX_64I) || count < 1 ||
	     !starts || !names || address(starts) % ALIGNED || address(names) % ALIGNED))
		return sparse_refuse(driver, __func__, "a structure that is none");
	return keep(__func__, out,
		    (struct sparse_shape){.kind = SPARSE_MATRIX,
					  .rows = rows,
					  .columns = columns,
					  .count = count,
					  .starts = address(starts),
					  .names = address(names),
					  .values = address(values),
					  .index = name_type,
					  .type = type});
}

cusparseStatus_t cusparseCreateDnVec(cusparseDescr *out, int64_t size, void *values, int type)
{
	return keep(__func__, out,
		    (struct sparse_shape){.kind = SPARSE_VECTOR,
					  .rows = size,
					  .columns = 1,
					  .row = 1,
					  .column = 1,
					  .values = address(values),
					  .type = type});
}

cusparseStatus_t cusparseCreateDnMat(cusparseDescr *out, int64_t rows, int64_t columns,
				     int64_t apart, void *values, int type, int order)
{
	const struct cu_private *driver = driver_table();
	bool by_rows = order == CUSPARSE_ORDER_ROW;

	if (driver &&
	    ((!by_rows && order != CUSPARSE_ORDER_COL) || apart < (by_rows ? columns : rows)))
		return sparse_refuse(driver, __func__, "rows or columns that overlap");
	return keep(__func__, out,
		    (struct sparse_shape){.kind = SPARSE_DENSE,
					  .rows = rows,
					  .columns = columns,
					  .row = by_rows ? apart : 1,
					  .column = by_rows ? 1 : apart,
					  .values = address(values),
					  .type = type});
}

static cusparseStatus_t drop(const char *function, cusparseDescr d, enum sparse_kind kind)
{
	const struct cu_private *driver = driver_table();
	int injected = driver ? driver->enter(function) : CUSPARSE_STATUS_NOT_INITIALIZED;

	if (injected)
		return injected;
	if (!sparse_is(d, kind))
		return sparse_refuse(driver, function, "no such descriptor");
	d->kind = SPARSE_NONE;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseDestroySpMat(cusparseDescr d)
{
	return drop(__func__, d, SPARSE_MATRIX);
}

cusparseStatus_t cusparseDestroyDnVec(cusparseDescr d)
{
	return drop(__func__, d, SPARSE_VECTOR);
}

cusparseStatus_t cusparseDestroyDnMat(cusparseDescr d)
{
	return drop(__func__, d, SPARSE_DENSE);
}
