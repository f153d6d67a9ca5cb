/* SPDX-License-Identifier: Apache-2.0 */
/* worker/region.c - map, find and unmap regions; see region.h. */
#include "region.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/xalloc.h"

#define UNMAP_POLL_US 200

/* Threads of unmap_apart that have not ended. */
static atomic_int unmapping;

/* Index of the first region whose id is not below `id`. */
static uint32_t lower_bound(const struct regions *r, uint32_t id)
{
	uint32_t lo = 0, hi = r->count;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (r->item[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

void region_finish(struct regions *r)
{
	for (uint32_t i = 0; i < r->count; i++)
		munmap(r->item[i].addr, r->item[i].bytes);
	free(r->item);
	*r = (struct regions){0};
	while (atomic_load(&unmapping)) /* the process is about to end */
		usleep(UNMAP_POLL_US);
}

enum status region_map(struct regions *r, uint32_t id, int fd, uint64_t bytes, struct err *err)
{
	uint32_t at = 0;
	void *addr = NULL;

	if (bytes == 0)
		return err_set(err, E_INVALID, "region %u: cannot map 0 bytes", id);
	/* Arenas are sparse: pages are charged when they are touched. */
	addr = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (addr == MAP_FAILED)
		return err_set(err, E_SYSTEM, "region %u: mmap of %llu bytes: %s", id,
			       (unsigned long long)bytes, strerror(errno));
	madvise(addr, bytes, MADV_HUGEPAGE); /* helps where shmem_enabled=advise */
	madvise(addr, bytes, MADV_DONTDUMP);
	region_unmap(r, id);
	if (r->count == r->cap) {
		r->cap = r->cap ? r->cap * 2 : 16;
		r->item = xrealloc(r->item, r->cap, sizeof *r->item);
	}
	at = lower_bound(r, id);
	memmove(r->item + at + 1, r->item + at, (r->count - at) * sizeof *r->item);
	r->item[at] = (struct region){.id = id, .addr = addr, .bytes = bytes};
	r->count++;
	return OK;
}

static void *unmap_main(void *arg)
{
	struct region *g = arg;

	munmap(g->addr, g->bytes);
	free(g);
	atomic_fetch_sub(&unmapping, 1);
	return NULL;
}

/* On a thread of its own: whoever lets go of a dead client's arena last frees all
 * its pages, for which no other client's kernel shall wait. */
static void unmap_apart(const struct region *g)
{
	struct region *copy = xmalloc(sizeof *copy);
	pthread_attr_t attr;
	pthread_t thread;
	int rc;

	*copy = *g;
	atomic_fetch_add(&unmapping, 1);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(&thread, &attr, unmap_main, copy);
	pthread_attr_destroy(&attr);
	if (rc)
		unmap_main(copy);
}

void region_unmap(struct regions *r, uint32_t id)
{
	uint32_t at = lower_bound(r, id);

	if (at == r->count || r->item[at].id != id)
		return;
	unmap_apart(&r->item[at]);
	r->count--;
	memmove(r->item + at, r->item + at + 1, (r->count - at) * sizeof *r->item);
}

enum status region_resolve(char **out, const struct regions *r, const struct command_place *place,
			   int64_t lo, int64_t hi, struct err *err)
{
	uint32_t at = lower_bound(r, place->region);
	const struct region *g = NULL;
	int64_t first = 0, last = 0;

	if (at == r->count || r->item[at].id != place->region)
		return err_set(err, E_INTERNAL, "region %u is not mapped", place->region);
	g = &r->item[at];
	if (place->offset > g->bytes ||
	    __builtin_add_overflow((int64_t)place->offset, lo, &first) ||
	    __builtin_add_overflow((int64_t)place->offset, hi, &last) || first < 0 ||
	    last < first || (uint64_t)last > g->bytes)
		return err_set(
			err, E_INTERNAL,
			"bytes [%lld, %lld) around offset %llu leave region %u of %llu bytes",
			(long long)lo, (long long)hi, (unsigned long long)place->offset,
			place->region, (unsigned long long)g->bytes);
	*out = g->addr + place->offset;
	return OK;
}
