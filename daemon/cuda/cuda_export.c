/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_export.c - memory of the device that other processes may have.
 *
 * Ordinary memory comes from a pool and has no handle that another process could map.  A region
 * that is exported moves once, within the device, to memory of its own that has: its address
 * changes between two items of its lane, so that no run sees both.  Whoever has mapped it keeps the
 * bytes after the region was dropped, and after this process; so such memory goes to no pool, and
 * what it has beyond the region's bytes is cleared, since another client's may have lain there. */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cuda_error.h"
#include "cuda_worker.h"

static CUmemAllocationProp prop_of(const struct cuda *c)
{
	return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FD,
				     .location = {CU_MEM_LOCATION_TYPE_DEVICE, c->device}};
}

void cuda_export_let_go(struct cuda *c, CUdeviceptr at, uint64_t bytes,
			CUmemGenericAllocationHandle memory, bool mapped)
{
	if (mapped)
		cuda_context_expect(c, c->api.cuMemUnmap(at, bytes), "unmapping memory");
	if (at)
		cuda_context_expect(c, c->api.cuMemAddressFree(at, bytes), "freeing addresses");
	if (memory)
		cuda_context_expect(c, c->api.cuMemRelease(memory), "releasing memory");
}

/* Memory with an address, that the device may use. */
static CUresult take(struct cuda *c, CUdeviceptr *out, CUmemGenericAllocationHandle *memory,
		     uint64_t bytes)
{
	CUmemAllocationProp prop = prop_of(c);
	CUmemAccessDesc who = {prop.location, CU_MEM_ACCESS_READWRITE};
	CUdeviceptr at = 0;
	bool mapped = false;
	CUresult rc = c->api.cuMemCreate(memory, bytes, &prop, 0);

	if (rc != CUDA_SUCCESS)
		return rc;
	rc = c->api.cuMemAddressReserve(&at, bytes, 0, 0, 0);
	if (rc == CUDA_SUCCESS) {
		rc = c->api.cuMemMap(at, bytes, 0, *memory, 0);
		mapped = rc == CUDA_SUCCESS;
	}
	if (rc == CUDA_SUCCESS)
		rc = c->api.cuMemSetAccess(at, bytes, &who, 1);
	if (rc == CUDA_SUCCESS)
		*out = at;
	else
		cuda_export_let_go(c, at, bytes, *memory, mapped);
	return rc;
}

/* Memory for g, filled with its bytes in the order of the lane's stream. */
static enum status move(struct cuda_lane *l, struct cuda_region *g, struct err *err)
{
	struct cuda *c = l->c;
	CUmemAllocationProp prop = prop_of(c);
	CUmemGenericAllocationHandle memory = 0;
	CUdeviceptr at = 0;
	size_t granule = 1;
	uint64_t bytes = 0;
	enum status st = cuda_context_check(
		c,
		c->api.cuMemGetAllocationGranularity(&granule, &prop, CU_MEM_GRANULARITY_MINIMUM),
		err, "asking %s for its granularity", c->name);
	CUresult rc = CUDA_SUCCESS;

	if (st != OK)
		return st;
	bytes = (g->bytes + granule - 1) / granule * granule;
	rc = take(c, &at, &memory, bytes);
	if (cuda_error_class(rc) == CUDA_MEMORY) {
		cuda_memory_gather(l);
		rc = take(c, &at, &memory, bytes);
	}
	if (cuda_error_class(rc) == CUDA_MEMORY)
		return err_set(err, E_NOMEM, "%s has no %llu bytes that others may have", c->name,
			       (unsigned long long)bytes);
	st = cuda_context_check(c, rc, err, "memory of %s for others", c->name);
	if (st != OK)
		return st;
	st = cuda_context_check(c, c->api.cuMemcpyDtoDAsync_v2(at, g->addr, g->bytes, l->stream),
				err, "copying %llu bytes", (unsigned long long)g->bytes);
	if (st == OK && bytes > g->bytes)
		st = cuda_context_check(
			c, c->api.cuMemsetD8Async(at + g->bytes, 0, bytes - g->bytes, l->stream),
			err, "clearing memory");
	if (st != OK) {
		cuda_context_expect(c, c->api.cuStreamSynchronize(l->stream), "waiting");
		cuda_export_let_go(c, at, bytes, memory, true);
		return st;
	}
	cuda_memory_give(l, g->addr, g->bytes);
	atomic_fetch_add(&c->used, g->bytes);
	g->addr = at;
	g->shared = memory;
	g->shared_bytes = bytes;
	return OK;
}

void cuda_export_refuse(struct cuda *c, uint64_t number, const struct err *why)
{
	struct command_export answer = {
		.head = {.kind = DONE_EXPORT, .bytes = sizeof answer, .ticket = number},
		.status = (uint32_t)why->code};

	memcpy(answer.text, why->text, sizeof answer.text);
	cuda_worker_send(c, &answer, sizeof answer);
}

/* The descriptor of g's memory, whose bytes are all there; -1: err tells. */
static int descriptor(struct cuda_lane *l, struct cuda_region *g, struct err *err)
{
	struct cuda *c = l->c;
	int fd = -1;

	if (!c->exports) {
		err_set(err, E_UNSUPPORTED, "%s gives no memory to other processes", c->name);
		return -1;
	}
	if (!g->shared_bytes && move(l, g, err) != OK)
		return -1;
	l->patient = true; /* for what was issued before */
	if (cuda_context_check(c, c->api.cuStreamSynchronize(l->stream), err, "waiting") == OK &&
	    cuda_context_check(c,
			       c->api.cuMemExportToShareableHandle(&fd, g->shared,
								   CU_MEM_HANDLE_TYPE_POSIX_FD, 0),
			       err, "a descriptor for memory of %s", c->name) != OK)
		fd = -1;
	l->patient = false;
	return fd;
}

void cuda_export_region(struct cuda_lane *l, uint32_t id, uint64_t number)
{
	struct cuda_region *g = cuda_table_find(&l->regions, id);
	struct command_export answer = {
		.head = {.kind = DONE_EXPORT, .bytes = sizeof answer, .ticket = number}};
	struct err err = {0};
	int fd = -1;

	if (g && g->addr)
		fd = descriptor(l, g, &err);
	else
		err_set(&err, E_NOMEM, "%s had no room for the array", l->c->name);
	if (fd < 0) {
		cuda_export_refuse(l->c, number, &err);
		return;
	}
	answer.head.arg = g->shared_bytes;
	cuda_worker_send_file(l->c, &answer, sizeof answer, fd);
	close(fd);
}

void cuda_export_drop(struct cuda_lane *l, struct cuda_region *g)
{
	struct cuda *c = l->c;

	l->patient = true; /* unmapping waits for nothing: what uses it must be over */
	cuda_context_expect(c, c->api.cuStreamSynchronize(l->stream), "waiting");
	l->patient = false;
	cuda_export_let_go(c, g->addr, g->shared_bytes, g->shared, true);
	atomic_fetch_sub(&c->used, g->bytes);
}
