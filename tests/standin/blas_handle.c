/* SPDX-License-Identifier: Apache-2.0 */
/* blas_handle.c - handles and their settings; see blas.h.
 *
 * The driver is the libcuda.so.1 that this process has loaded already; one that is no
 * stand-in has no table for us, and there is no handle. */
#include "cu_found.h"
#include "blas.h"
#include <pthread.h>
#include <stdlib.h>

#define HANDLE_BYTES	  (4u << 20) /* that a handle takes of the device */
#define WORKSPACE_ALIGNED 256

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cublasContext *handles;

static bool alive(cublasHandle_t h)
{
	const struct cublasContext *at = NULL;

	pthread_mutex_lock(&lock);
	for (at = handles; at && at != h; at = at->next)
		;
	pthread_mutex_unlock(&lock);
	return at != NULL;
}

cublasStatus_t blas_refuse(cublasHandle_t h, const char *function, const char *what)
{
	h->driver->log("%s: %s", function, what);
	return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t blas_enter(const char *function, cublasHandle_t h)
{
	if (!h || !alive(h))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	CUcontext current = h->driver->context();
	int injected = h->driver->enter(function);
	if (injected)
		return (cublasStatus_t)injected;
	if (!current)
		return CUBLAS_STATUS_EXECUTION_FAILED;
	return current == h->context ? CUBLAS_STATUS_SUCCESS
				     : blas_refuse(h, function, "the handle is another context's");
}

cublasStatus_t cublasCreate_v2(cublasHandle_t *out)
{
	const struct cu_private *driver = driver_table();
	alloc_fn *alloc = NULL;
	CUdeviceptr own = 0;

	*(void **)&alloc = driver_function("cuMemAlloc_v2");
	if (!out || !driver || !alloc)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	CUcontext context = driver->context();
	int injected = driver->enter(__func__);
	if (injected)
		return (cublasStatus_t)injected;
	if (!context)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (alloc(&own, HANDLE_BYTES) != CUDA_SUCCESS)
		return CUBLAS_STATUS_ALLOC_FAILED;
	struct cublasContext *h = calloc(1, sizeof(*h));
	if (!h)
		abort();
	*h = (struct cublasContext){.driver = driver,
				    .context = context,
				    .own = own,
				    .atomics = CUBLAS_ATOMICS_NOT_ALLOWED,
				    .math = CUBLAS_DEFAULT_MATH};
	pthread_mutex_lock(&lock);
	h->next = handles;
	handles = h;
	pthread_mutex_unlock(&lock);
	*out = h;
	return CUBLAS_STATUS_SUCCESS;
}

/* Waits for the device, as freeing memory does. */
cublasStatus_t cublasDestroy_v2(cublasHandle_t h)
{
	cublasStatus_t status = blas_enter(__func__, h);
	struct cublasContext **at = &handles;
	free_fn *free_memory = NULL;

	if (status)
		return status;
	*(void **)&free_memory = driver_function("cuMemFree_v2");
	if (free_memory(h->own) != CUDA_SUCCESS)
		status = CUBLAS_STATUS_INTERNAL_ERROR;
	pthread_mutex_lock(&lock);
	while (*at != h)
		at = &(*at)->next;
	*at = h->next;
	pthread_mutex_unlock(&lock);
	free(h);
	return status;
}

/* Another stream: the workspace is the handle's own again. */
cublasStatus_t cublasSetStream_v2(cublasHandle_t h, CUstream stream)
{
	cublasStatus_t status = blas_enter(__func__, h);

	if (status)
		return status;
	if (!h->driver->stream_ok(h->context, stream))
		return blas_refuse(h, __func__, "no stream of this context");
	h->stream = stream;
	h->stream_set = true;
	h->workspace = 0;
	h->workspace_bytes = 0;
	return status;
}

/* The memory must be there when a product is computed, which may be later. */
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t h, void *memory, size_t bytes)
{
	cublasStatus_t status = blas_enter(__func__, h);

	if (status)
		return status;
	if ((uintptr_t)memory % WORKSPACE_ALIGNED)
		return blas_refuse(h, __func__, "the workspace is not aligned to 256 bytes");
	h->workspace = (CUdeviceptr)(uintptr_t)memory;
	h->workspace_bytes = bytes;
	return status;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t h, cublasMath_t mode)
{
	cublasStatus_t status = blas_enter(__func__, h);
	unsigned plain =
		(unsigned)mode & ~(unsigned)CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;

	if (status)
		return status;
	if (plain > CUBLAS_TF32_TENSOR_OP_MATH)
		return blas_refuse(h, __func__, "no such mode");
	h->math = (int)mode;
	return status;
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t h, cublasAtomicsMode_t mode)
{
	cublasStatus_t status = blas_enter(__func__, h);

	if (status)
		return status;
	if (mode != CUBLAS_ATOMICS_NOT_ALLOWED && mode != CUBLAS_ATOMICS_ALLOWED)
		return blas_refuse(h, __func__, "no such mode");
	h->atomics = (int)mode;
	return status;
}
