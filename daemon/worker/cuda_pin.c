/* SPDX-License-Identifier: Apache-2.0 */
/* worker/cuda_pin.c - chunks of arenas that the driver knows, so that copies go to
 * and from them directly.
 *
 * Registering touches and locks every page, so it is done for chunks that a copy has
 * covered whole (they are the broker's and filled), after their second use, by the
 * helper, and within BRAZE_WORKER_PIN_MIB.  It is undone when the arena goes.  Pages
 * that are punched out of a registered chunk are replaced for everybody but the
 * device: whoever punches sends CMD_REGION again before the next run, which maps the
 * arena anew; BRAZE_WORKER_PIN_MIB is not set by a broker that does not. */
#include <stdlib.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "cuda_error.h"
#include "cuda_worker.h"

struct pin_task {
	struct cuda_task task;
	struct cuda_host *host; /* held */
	uint32_t chunk;
};

static void pin_run(struct cuda_task *task)
{
	struct pin_task *t = (struct pin_task *)task;
	struct cuda_host *h = t->host;
	struct cuda *c = h->c;
	struct err err = {0};
	CUresult rc = CUDA_ERROR_OUT_OF_MEMORY;

	if (atomic_fetch_add(&c->pinned, CUDA_CHUNK_BYTES) + CUDA_CHUNK_BYTES <= c->pin_limit)
		rc = c->api.cuMemHostRegister_v2(h->addr + (uint64_t)t->chunk * CUDA_CHUNK_BYTES,
						 CUDA_CHUNK_BYTES, CU_MEMHOSTREGISTER_PORTABLE);
	if (cuda_context_check(c, rc, &err, "registering memory of region %u", h->id) == OK) {
		atomic_store(&h->chunk[t->chunk].state, CHUNK_PINNED);
	} else {
		atomic_fetch_sub(&c->pinned, CUDA_CHUNK_BYTES);
		atomic_store(&h->chunk[t->chunk].state, CHUNK_REFUSED);
		log_debug("cuda_pin", "%s", err.text);
	}
	cuda_region_unref(h);
	free(t);
}

void cuda_pin_note(struct cuda_host *h, uint64_t offset, uint64_t n)
{
	uint64_t first = (offset + CUDA_CHUNK_BYTES - 1) / CUDA_CHUNK_BYTES;
	uint64_t end = (offset + n) / CUDA_CHUNK_BYTES;

	if (h->c->pin_limit == 0)
		return;
	for (uint64_t i = first; i < end && i < h->nchunk; i++) {
		unsigned char plain = CHUNK_PLAIN;
		struct pin_task *t = NULL;

		if (atomic_load(&h->chunk[i].state) != CHUNK_PLAIN ||
		    atomic_fetch_add(&h->chunk[i].uses, 1) + 1 < CUDA_PIN_USES ||
		    !atomic_compare_exchange_strong(&h->chunk[i].state, &plain, CHUNK_ASKED))
			continue;
		t = xcalloc(1, sizeof *t);
		t->task.run = pin_run;
		t->host = h;
		t->chunk = (uint32_t)i;
		cuda_region_ref(h);
		cuda_helper_give(&h->c->pinner, &t->task);
	}
}

static bool is_pinned(const struct cuda_host *h, uint64_t chunk)
{
	return chunk < h->nchunk && atomic_load(&h->chunk[chunk].state) == CHUNK_PINNED;
}

uint64_t cuda_pin_run(const struct cuda_host *h, uint64_t offset, uint64_t n, uint64_t *plain)
{
	uint64_t chunk = offset / CUDA_CHUNK_BYTES;
	uint64_t end = (chunk + 1) * CUDA_CHUNK_BYTES;

	*plain = 0;
	if (is_pinned(h, chunk))
		return end - offset < n ? end - offset : n;
	while (end - offset < n && !is_pinned(h, end / CUDA_CHUNK_BYTES))
		end += CUDA_CHUNK_BYTES;
	*plain = end - offset < n ? end - offset : n;
	return 0;
}

void cuda_pin_release(struct cuda_host *h)
{
	struct cuda *c = h->c;

	for (uint32_t i = 0; i < h->nchunk; i++) {
		if (atomic_load(&h->chunk[i].state) != CHUNK_PINNED)
			continue;
		cuda_context_expect(
			c, c->api.cuMemHostUnregister(h->addr + (uint64_t)i * CUDA_CHUNK_BYTES),
			"unregistering memory of an arena");
		atomic_fetch_sub(&c->pinned, CUDA_CHUNK_BYTES);
	}
}
