/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_import.c - memory of another GPU, which its worker gave a descriptor, as a region here.
 *
 * It is addressed where it lies: this device must be able to reach that one.  The bytes are
 * complete, and nobody writes them as long as the region is here; they stay, whatever becomes of
 * the worker that gave them, until this one lets go.  Where something is refused, the region says
 * why to each run that names it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "cuda_error.h"
#include "cuda_worker.h"

bool cuda_import_reaches(struct cuda *c, int ordinal)
{
	CUdevice other = 0;
	int can = 0;

	return c->imports && c->api.cuDeviceGet(&other, ordinal) == CUDA_SUCCESS &&
	       other != c->device &&
	       c->api.cuDeviceCanAccessPeer(&can, c->device, other) == CUDA_SUCCESS && can;
}

uint64_t cuda_import_peers(struct cuda *c, int count)
{
	uint64_t peers = 0;

	for (int n = 0; n < count && n < 64; n++)
		peers |= cuda_import_reaches(c, n) ? UINT64_C(1) << n : 0;
	return peers;
}

/* An address for the memory, that this device may use. */
static enum status map(struct cuda *c, struct cuda_region *g, struct err *err)
{
	CUmemAccessDesc who = {{CU_MEM_LOCATION_TYPE_DEVICE, c->device}, CU_MEM_ACCESS_READWRITE};
	CUdeviceptr at = 0;
	bool mapped = false;
	enum status st =
		cuda_context_check(c, c->api.cuMemAddressReserve(&at, g->shared_bytes, 0, 0, 0),
				   err, "addresses for memory of another device");

	if (st != OK)
		return st;
	st = cuda_context_check(c, c->api.cuMemMap(at, g->shared_bytes, 0, g->shared, 0), err,
				"mapping memory of another device");
	mapped = st == OK;
	if (st == OK)
		st = cuda_context_check(c, c->api.cuMemSetAccess(at, g->shared_bytes, &who, 1), err,
					"access to memory of another device");
	if (st == OK)
		g->addr = at;
	else
		cuda_export_let_go(c, at, g->shared_bytes, 0, mapped);
	return st;
}

static enum status import(struct cuda *c, struct cuda_region *g, const struct cuda_item *item,
			  struct err *err)
{
	enum status st = OK;

	if (!cuda_import_reaches(c, (int)item->peer))
		return err_set(err, E_UNSUPPORTED, "%s does not reach the memory of cuda:%u",
			       c->name, item->peer);
	st = cuda_context_check(c,
				c->api.cuMemImportFromShareableHandle(&g->shared,
								      (void *)(intptr_t)item->fd,
								      CU_MEM_HANDLE_TYPE_POSIX_FD),
				err, "memory of cuda:%u", item->peer);
	if (st != OK)
		return st;
	g->shared_bytes = item->arg;
	st = map(c, g, err);
	if (st != OK)
		cuda_export_let_go(c, 0, 0, g->shared, false);
	return st;
}

void cuda_import_region(struct cuda_lane *l, const struct cuda_item *item)
{
	struct cuda_region *g = xcalloc(1, sizeof *g);
	struct err err = {0};

	cuda_region_drop(l, item->region);
	g->id = item->region;
	g->bytes = item->arg;
	g->imported = true;
	if (import(l->c, g, item, &err) != OK) {
		g->shared_bytes = 0;
		g->why = xmalloc(sizeof *g->why);
		*g->why = err;
	}
	close(item->fd);
	cuda_table_put(&l->regions, g->id, g);
}

void cuda_import_drop(struct cuda_lane *l, struct cuda_region *g)
{
	if (g->addr) {
		l->patient = true; /* unmapping waits for nothing: what reads it must be over */
		cuda_context_expect(l->c, l->c->api.cuStreamSynchronize(l->stream), "waiting");
		l->patient = false;
		cuda_export_let_go(l->c, g->addr, g->shared_bytes, g->shared, true);
	}
	free(g->why);
}
