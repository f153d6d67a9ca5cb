/* SPDX-License-Identifier: Apache-2.0 */
/* cu_pool.c - memory pools and stream-ordered allocation.
 *
 * A pool keeps what was freed up to its release threshold; the rest goes back to the
 * device when a stream, an event or the context is waited for.  Memory that is
 * allocated in a stream is there from that point of the stream on, not before.  The
 * numbers are guarded by cu_lock or, from cu_memory.c, by its lock inside of it. */
#include "cu.h"
#include <stdlib.h>

static struct CUmemPoolHandle_st defaults[CU_MAX_DEVICES];
static struct CUmemPoolHandle_st *pools; /* made by the user */

uint64_t cu_pool_growth(const struct CUmemPoolHandle_st *p, uint64_t bytes)
{
	uint64_t idle = p->reserved - p->used;

	return bytes > idle ? bytes - idle : 0;
}

void cu_pool_take(struct CUmemPoolHandle_st *p, uint64_t bytes)
{
	p->reserved += cu_pool_growth(p, bytes);
	p->used += bytes;
	p->used_high = p->used > p->used_high ? p->used : p->used_high;
	p->reserved_high = p->reserved > p->reserved_high ? p->reserved : p->reserved_high;
}

static void shrink(struct CUmemPoolHandle_st *p, uint64_t keep)
{
	uint64_t least = keep > p->used ? keep : p->used;

	if (p->reserved > least)
		p->reserved = least;
}

static void forget(struct CUmemPoolHandle_st *p)
{
	struct CUmemPoolHandle_st **at = &pools;

	while (*at && *at != p)
		at = &(*at)->next;
	if (*at)
		*at = p->next;
	free(p);
}

/* A destroyed pool lives on until its last allocation is freed. */
void cu_pool_give(struct CUmemPoolHandle_st *p, uint64_t bytes)
{
	p->used -= bytes;
	if (!p->live)
		shrink(p, 0);
	if (!p->live && !p->used && p != &defaults[p->device])
		forget(p);
}

uint64_t cu_pool_reserved(int device)
{
	uint64_t sum = defaults[device].reserved;

	for (struct CUmemPoolHandle_st *p = pools; p; p = p->next)
		sum += p->device == device ? p->reserved : 0;
	return sum;
}

void cu_pool_synchronized(int device)
{
	pthread_mutex_lock(&cu_lock);
	shrink(&defaults[device], defaults[device].threshold);
	for (struct CUmemPoolHandle_st *p = pools; p; p = p->next)
		if (p->device == device)
			shrink(p, p->threshold);
	pthread_mutex_unlock(&cu_lock);
}

void cu_pool_free_all(int device)
{
	pthread_mutex_lock(&cu_lock);
	for (struct CUmemPoolHandle_st **at = &pools; *at;) {
		struct CUmemPoolHandle_st *p = *at;

		if (p->device != device) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		cu_handle_remove(p);
		free(p);
	}
	cu_handle_remove(&defaults[device]);
	defaults[device] = (struct CUmemPoolHandle_st){.device = device};
	pthread_mutex_unlock(&cu_lock);
}

static struct CUmemPoolHandle_st *default_pool(int device)
{
	struct CUmemPoolHandle_st *p = &defaults[device];

	if (!p->live) {
		*p = (struct CUmemPoolHandle_st){
			.device = device, .reuse = {1, 1, 1}, .live = true};
		cu_handle_add(CU_POOL, p);
	}
	return p;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device)
{
	CUresult error = cu_enter(__func__);

	if (error)
		return error;
	if (!cu_device_ok(device))
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&cu_lock);
	*pool = default_pool(device);
	pthread_mutex_unlock(&cu_lock);
	return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props)
{
	struct CUctx_st *c;
	CUresult error = cu_enter_context(__func__, &c);

	if (error)
		return error;
	if (props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
	    props->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    !cu_device_ok(props->location.id))
		return CUDA_ERROR_INVALID_VALUE;
	struct CUmemPoolHandle_st *p = cu_alloc(sizeof(*p));
	*p = (struct CUmemPoolHandle_st){.device = props->location.id,
					 .most = props->maxSize,
					 .reuse = {1, 1, 1},
					 .live = true};
	pthread_mutex_lock(&cu_lock);
	p->next = pools;
	pools = p;
	pthread_mutex_unlock(&cu_lock);
	cu_handle_add(CU_POOL, p);
	*out = p;
	return CUDA_SUCCESS;
}

static CUresult enter_pool(const char *function, CUmemoryPool pool)
{
	struct CUctx_st *c;
	CUresult error = cu_enter_context(function, &c);

	if (error)
		return error;
	return cu_handle_ok(CU_POOL, pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	CUresult error = enter_pool(__func__, pool);

	if (error)
		return error;
	if (pool == &defaults[pool->device])
		return CUDA_ERROR_INVALID_VALUE;
	cu_handle_remove(pool);
	pthread_mutex_lock(&cu_lock);
	pool->live = false;
	shrink(pool, 0);
	if (!pool->used)
		forget(pool);
	pthread_mutex_unlock(&cu_lock);
	return CUDA_SUCCESS;
}

static uint64_t *number_of(CUmemoryPool p, CUmemPool_attribute attribute)
{
	switch (attribute) {
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		return &p->threshold;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		return &p->reserved;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		return &p->reserved_high;
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		return &p->used;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		return &p->used_high;
	default:
		return NULL;
	}
}

static bool is_reuse(CUmemPool_attribute a)
{
	return a >= CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES &&
	       a <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	CUresult error = enter_pool(__func__, pool);

	if (error)
		return error;
	if (is_reuse(attribute)) {
		pool->reuse[attribute - 1] = *(int *)value;
		return CUDA_SUCCESS;
	}
	uint64_t v = *(uint64_t *)value, *number = number_of(pool, attribute);
	bool threshold = attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
	bool high = attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH ||
		    attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH;
	if (!threshold && (!high || v))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&cu_lock);
	*number = threshold				       ? v
		  : attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH ? pool->used
							       : pool->reserved;
	pthread_mutex_unlock(&cu_lock);
	return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	CUresult error = enter_pool(__func__, pool);

	if (error)
		return error;
	if (is_reuse(attribute)) {
		*(int *)value = pool->reuse[attribute - 1];
		return CUDA_SUCCESS;
	}
	pthread_mutex_lock(&cu_lock);
	const uint64_t *number = number_of(pool, attribute);
	if (number)
		*(uint64_t *)value = *number;
	pthread_mutex_unlock(&cu_lock);
	return number ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes_to_keep)
{
	CUresult error = enter_pool(__func__, pool);

	if (error)
		return error;
	pthread_mutex_lock(&cu_lock);
	shrink(pool, bytes_to_keep);
	pthread_mutex_unlock(&cu_lock);
	return CUDA_SUCCESS;
}

/* ---- allocation in the order of a stream ---- */

static CUresult allocate(struct CUctx_st *c, CUdeviceptr *out, size_t bytes, CUmemoryPool pool,
			 CUstream stream)
{
	struct CUstream_st *s;
	CUresult error = cu_stream_find(c, stream, &s);

	if (error)
		return error;
	if (s->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	pthread_mutex_lock(&cu_lock);
	error = cu_memory_make(c, bytes, pool ? pool : default_pool(c->device), true, out);
	pthread_mutex_unlock(&cu_lock);
	if (error)
		return error;
	struct cu_op *op = cu_op_new(OP_BIRTH);
	op->to = *out;
	cu_stream_push(s, op);
	return CUDA_SUCCESS;
}

CUresult cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream stream)
{
	struct CUctx_st *c;
	CUresult error = cu_enter_context(__func__, &c);

	return error ? error : allocate(c, out, bytes, NULL, stream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t bytes, CUmemoryPool pool, CUstream stream)
{
	struct CUctx_st *c;
	CUresult error = cu_enter_context(__func__, &c);

	if (error)
		return error;
	if (!cu_handle_ok(CU_POOL, pool) || pool->device != c->device)
		return CUDA_ERROR_INVALID_VALUE;
	return allocate(c, out, bytes, pool, stream);
}
