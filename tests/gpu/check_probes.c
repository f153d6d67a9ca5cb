/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/check_probes.c - what braze takes for granted of a driver, and what it does not.
 *
 * Results are of the first kind; notes tell of the second, for whoever reads the report. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "cudaside.h"
#include "sections.h"
#include "tap.h"

#define PIECE (1ull << 20)

/* Is 7 written to the word in the stream's order?  What the driver answers. */
static CUresult written(struct cudaside *c, CUdeviceptr word)
{
	uint32_t v = 0;
	CUresult rc = CUDA_ERROR_NOT_SUPPORTED;

	if (!word || !c->api.cuStreamWriteValue32_v2)
		return rc;
	rc = c->api.cuStreamWriteValue32_v2(c->stream, word, 7, CU_STREAM_WRITE_VALUE_DEFAULT);
	if (!rc)
		rc = c->api.cuMemcpyDtoHAsync_v2(&v, word, sizeof v, c->stream);
	if (!rc)
		rc = c->api.cuStreamSynchronize(c->stream);
	return rc || v == 7 ? rc : CUDA_ERROR_UNKNOWN;
}

static void words(struct cudaside *c)
{
	CUdeviceptr plain = cudaside_alloc(c, 64), pooled = 0, seen = 0;
	CUmemoryPool pool = cudaside_pool(c);
	void *pinned = NULL;

	tap_result(!written(c, plain), "a stream writes words of plain memory");
	if (!c->api.cuMemHostAlloc(&pinned, 64, CU_MEMHOSTALLOC_DEVICEMAP) &&
	    !c->api.cuMemHostGetDevicePointer_v2(&seen, pinned, 0))
		tap_result(!written(c, seen), "and of pinned memory");
	if (pool) {
		if (!c->api.cuMemAllocFromPoolAsync(&pooled, 64, pool, c->stream))
			tap_note("of a pool's memory: the driver answers %d",
				 (int)written(c, pooled));
		if (pooled)
			c->api.cuMemFreeAsync(pooled, c->stream);
		c->api.cuStreamSynchronize(c->stream);
		c->api.cuMemPoolDestroy(pool);
	}
	if (pinned)
		c->api.cuMemFreeHost(pinned);
	if (plain)
		c->api.cuMemFree_v2(plain);
}

/* Shared memory, registered in two pieces; copies within one, across both, half beyond. */
static void pieces(struct cudaside *c)
{
	CUdeviceptr to = cudaside_alloc(c, 2 * PIECE);
	int fd = memfd_create("gpucheck", MFD_CLOEXEC);
	char *at = MAP_FAILED;
	CUresult rc;

	if (fd >= 0 && !ftruncate(fd, 3 * PIECE))
		at = mmap(NULL, 3 * PIECE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED || !to)
		return;
	rc = c->api.cuMemHostRegister_v2(at, PIECE, CU_MEMHOSTREGISTER_PORTABLE);
	if (!rc)
		rc = c->api.cuMemHostRegister_v2(at + PIECE, PIECE, CU_MEMHOSTREGISTER_PORTABLE);
	if (rc) {
		tap_note("shared memory is not registered (%d): copies are staged", (int)rc);
	} else {
		tap_result(!c->api.cuMemcpyHtoDAsync_v2(to, at + PIECE / 2, PIECE / 2, c->stream),
			   "a copy within a registered piece is made");
		tap_note("one across two pieces: the driver answers %d",
			 (int)c->api.cuMemcpyHtoDAsync_v2(to, at + PIECE / 2, PIECE, c->stream));
		tap_note("one half beyond the last: the driver answers %d",
			 (int)c->api.cuMemcpyHtoDAsync_v2(to, at + PIECE + PIECE / 2, PIECE,
							  c->stream));
		c->api.cuStreamSynchronize(c->stream);
		c->api.cuMemHostUnregister(at);
		c->api.cuMemHostUnregister(at + PIECE);
	}
	munmap(at, 3 * PIECE);
	close(fd);
	c->api.cuMemFree_v2(to);
}

void check_probes(const struct options *o)
{
	struct cudaside c;
	struct err err = {0};

	if (cudaside_open(&c, o->device, &err)) {
		tap_result(false, "the driver can be probed: %s", err.text);
		return;
	}
	tap_note("what the driver does");
	words(&c);
	pieces(&c);
	tap_result(!c.failed, "the driver was probed");
	cudaside_close(&c);
}
