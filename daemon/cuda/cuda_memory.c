/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_memory.c - a client's memory on the device, in the order of its stream.
 *
 * Each lane has a pool of its own, which keeps what is freed until memory is short.  The
 * last pieces that were freed, the lane keeps by itself: a program that comes again has
 * theirs again, at the same addresses, and the driver is not asked.  Where the driver has
 * no pools a lane keeps lists by size.  What is freed may be taken again at once, since
 * everything that uses it is ordered by the one stream.  When memory is short, what is
 * under way is waited for, all that is kept is given back, and the allocation is tried
 * once more. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "cuda_error.h"
#include "cuda_worker.h"

#define DROPS_MS 1000 /* that another lane gets for what it has queued */

/* Multiples of 512 bytes up to 4096, then four sizes for each power of two. */
static unsigned class_of(uint64_t bytes, uint64_t *rounded)
{
	uint64_t grain = 512, grains = 0;
	unsigned order = 0;

	while (grain * 8 < bytes) {
		grain *= 2;
		order++;
	}
	grains = bytes ? (bytes + grain - 1) / grain : 1;
	*rounded = grains * grain;
	return order == 0 ? (unsigned)grains - 1 : 4 + order * 4 + (unsigned)grains - 5;
}

enum status cuda_memory_open(struct cuda_lane *l, struct err *err)
{
	struct cuda *c = l->c;
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				.handleTypes = CU_MEM_HANDLE_TYPE_NONE,
				.location = {CU_MEM_LOCATION_TYPE_DEVICE, c->device}};
	uint64_t keep = UINT64_MAX;
	enum status st = OK;

	if (!c->pools)
		return OK;
	st = cuda_context_check(c, c->api.cuMemPoolCreate(&l->pool, &props), err,
				"a memory pool of %s", c->name);
	if (st == OK)
		st = cuda_context_check(c,
					c->api.cuMemPoolSetAttribute(
						l->pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep),
					err, "a memory pool of %s", c->name);
	return st;
}

static void free_lists(struct cuda *c, struct cuda_free *f)
{
	for (int k = 0; k < CUDA_CLASSES; k++) {
		struct cuda_block *b = NULL;

		pthread_mutex_lock(&f->lock);
		b = f->list[k];
		f->list[k] = NULL;
		pthread_mutex_unlock(&f->lock);
		while (b) {
			struct cuda_block *next = b->next;

			/* Waits for the device, so nothing uses it any more. */
			cuda_context_expect(c, c->api.cuMemFree_v2(b->addr), "freeing memory");
			free(b);
			b = next;
		}
	}
}

/* Give pieces that the lane keeps back to its pool, oldest first, until `most` bytes
 * are kept.  Any thread. */
static void kept_free(struct cuda_lane *l, uint64_t most)
{
	struct cuda_free *f = &l->freed;
	uint32_t gone = 0;

	pthread_mutex_lock(&f->lock);
	while (gone < f->nkept && (f->kept_bytes > most || f->nkept - gone == CUDA_KEPT)) {
		cuda_context_expect(l->c, l->c->api.cuMemFreeAsync(f->kept[gone].addr, l->stream),
				    "freeing memory");
		f->kept_bytes -= f->kept[gone++].bytes;
	}
	f->nkept -= gone;
	memmove(f->kept, f->kept + gone, f->nkept * sizeof *f->kept);
	pthread_mutex_unlock(&f->lock);
}

/* Of pieces of this size the one that lies first: who asks for several has them in the same
 * order again. */
static bool kept_take(struct cuda_free *f, CUdeviceptr *out, uint64_t bytes)
{
	uint32_t at = UINT32_MAX;

	pthread_mutex_lock(&f->lock);
	for (uint32_t i = 0; i < f->nkept; i++) {
		if (f->kept[i].bytes == bytes &&
		    (at == UINT32_MAX || f->kept[i].addr < f->kept[at].addr))
			at = i;
	}
	if (at != UINT32_MAX) {
		*out = f->kept[at].addr;
		f->kept_bytes -= bytes;
		f->nkept--;
		memmove(f->kept + at, f->kept + at + 1, (f->nkept - at) * sizeof *f->kept);
	}
	pthread_mutex_unlock(&f->lock);
	return at != UINT32_MAX;
}

static void kept_put(struct cuda_lane *l, CUdeviceptr addr, uint64_t bytes)
{
	struct cuda_free *f = &l->freed;

	kept_free(l, l->c->keep_bytes - bytes);
	pthread_mutex_lock(&f->lock);
	f->kept[f->nkept++] = (struct cuda_kept){bytes, addr};
	f->kept_bytes += bytes;
	pthread_mutex_unlock(&f->lock);
}

void cuda_memory_close(struct cuda_lane *l)
{
	if (l->stream)
		kept_free(l, 0);
	if (l->pool)
		cuda_context_expect(l->c, l->c->api.cuMemPoolDestroy(l->pool), "a memory pool");
	l->pool = NULL;
	free_lists(l->c, &l->freed);
}

/* Wait until the lane has done what is queued, for there may be drops in it; not for
 * one that waits for memory itself. */
static void wait_for_drops(struct cuda_lane *l)
{
	static const struct timespec pause = {0, 1000000};

	for (int ms = 0; ms < DROPS_MS; ms++) {
		bool queued = false;

		pthread_mutex_lock(&l->lock);
		queued = l->head || l->busy;
		pthread_mutex_unlock(&l->lock);
		if (!queued || l->hungry)
			return;
		nanosleep(&pause, NULL);
	}
}

static void trim(struct cuda_lane *l)
{
	struct cuda *c = l->c;
	bool open = false;

	pthread_mutex_lock(&l->lock);
	open = l->open;
	pthread_mutex_unlock(&l->lock);
	if (open && c->pools)
		cuda_context_expect(c, c->api.cuMemPoolTrimTo(l->pool, 0), "trimming a pool");
	else if (open)
		free_lists(c, &l->freed);
}

/* What the lane keeps is its pool's, once its stream has come so far. */
static void let_go(struct cuda_lane *l)
{
	bool open = false;

	pthread_mutex_lock(&l->lock);
	open = l->open;
	pthread_mutex_unlock(&l->lock);
	if (open)
		kept_free(l, 0);
}

/* `trimming` keeps the lanes alive. */
void cuda_memory_gather(struct cuda_lane *hungry)
{
	struct cuda *c = hungry->c;
	struct cuda_lane *first = NULL;

	hungry->patient = true; /* others' runs are waited for, too */
	hungry->hungry = true;
	cuda_tune_give_back(c);
	pthread_mutex_lock(&c->trimming);
	pthread_mutex_lock(&c->lock);
	first = c->lanes;
	pthread_mutex_unlock(&c->lock);
	for (struct cuda_lane *l = first; l; l = l->next)
		wait_for_drops(l);
	for (struct cuda_lane *l = first; l; l = l->next)
		let_go(l);
	cuda_context_expect(c, c->api.cuCtxSynchronize(), "waiting for memory");
	for (struct cuda_lane *l = first; l; l = l->next)
		trim(l);
	pthread_mutex_unlock(&c->trimming);
	hungry->hungry = false;
	hungry->patient = false;
}

static CUresult take_listed(struct cuda_lane *l, CUdeviceptr *out, uint64_t bytes)
{
	struct cuda_block *b = NULL;
	uint64_t rounded = 0;
	unsigned k = class_of(bytes, &rounded);

	pthread_mutex_lock(&l->freed.lock);
	b = l->freed.list[k];
	if (b)
		l->freed.list[k] = b->next;
	pthread_mutex_unlock(&l->freed.lock);
	if (!b)
		return l->c->api.cuMemAlloc_v2(out, rounded);
	*out = b->addr;
	free(b);
	return CUDA_SUCCESS;
}

static CUresult take(struct cuda_lane *l, CUdeviceptr *out, uint64_t bytes)
{
	if (!l->c->pools)
		return take_listed(l, out, bytes);
	if (kept_take(&l->freed, out, bytes))
		return CUDA_SUCCESS;
	return l->c->api.cuMemAllocFromPoolAsync(out, bytes, l->pool, l->stream);
}

enum status cuda_memory_take(struct cuda_lane *l, CUdeviceptr *out, uint64_t bytes,
			     uint64_t *free_bytes, struct err *err)
{
	struct cuda *c = l->c;
	size_t left = 0, total = 0;
	CUresult rc = CUDA_SUCCESS;

	if (bytes > c->memory)
		rc = CUDA_ERROR_OUT_OF_MEMORY;
	else
		rc = take(l, out, bytes ? bytes : 1);
	if (cuda_error_class(rc) == CUDA_MEMORY && bytes <= c->memory) {
		log_debug("cuda_memory", "%llu bytes are short: trimming",
			  (unsigned long long)bytes);
		cuda_memory_gather(l);
		rc = take(l, out, bytes ? bytes : 1);
	}
	*free_bytes = 0;
	if (rc == CUDA_SUCCESS)
		atomic_fetch_add(&c->used, bytes);
	if (cuda_error_class(rc) != CUDA_MEMORY)
		return cuda_context_check(c, rc, err, "allocating %llu bytes of %s",
					  (unsigned long long)bytes, c->name);
	if (c->api.cuMemGetInfo_v2(&left, &total) == CUDA_SUCCESS)
		*free_bytes = left;
	return err_set(err, E_NOMEM, "%s: %llu bytes were asked for, %llu are free", c->name,
		       (unsigned long long)bytes, (unsigned long long)*free_bytes);
}

void cuda_memory_give(struct cuda_lane *l, CUdeviceptr addr, uint64_t bytes)
{
	struct cuda_block *b = NULL;
	uint64_t rounded = 0;
	unsigned k = class_of(bytes, &rounded);

	atomic_fetch_sub(&l->c->used, bytes);
	if (l->c->pools && bytes && bytes <= l->c->keep_bytes / 4) {
		kept_put(l, addr, bytes);
		return;
	}
	if (l->c->pools) {
		cuda_context_expect(l->c, l->c->api.cuMemFreeAsync(addr, l->stream),
				    "freeing memory");
		return;
	}
	b = xmalloc(sizeof *b);
	b->addr = addr;
	pthread_mutex_lock(&l->freed.lock);
	b->next = l->freed.list[k];
	l->freed.list[k] = b;
	pthread_mutex_unlock(&l->freed.lock);
}
