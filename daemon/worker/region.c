/* SPDX-License-Identifier: Apache-2.0 */
/* worker/region.c - map, find and unmap regions; see region.h. */
#include "region.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "pages.h"

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
		if (r->item[i].addr)
			munmap(r->item[i].addr, r->item[i].bytes);
	free(r->item);
	*r = (struct regions){0};
	while (atomic_load(&unmapping)) /* the process is about to end */
		usleep(UNMAP_POLL_US);
}

/* A free entry, in its place. */
static struct region *place_for(struct regions *r, uint32_t id)
{
	uint32_t at = 0;

	if (r->count == r->cap) {
		r->cap = r->cap ? r->cap * 2 : 16;
		r->item = xrealloc(r->item, r->cap, sizeof *r->item);
	}
	at = lower_bound(r, id);
	memmove(r->item + at + 1, r->item + at, (r->count - at) * sizeof *r->item);
	r->count++;
	return &r->item[at];
}

static enum status not_mapped(const struct region *g, struct err *err)
{
	struct rlimit space = {RLIM_INFINITY, RLIM_INFINITY};

	getrlimit(RLIMIT_AS, &space);
	if (g->error == ENOMEM && space.rlim_cur != RLIM_INFINITY)
		return err_set(err, E_NOMEM,
			       "the worker's address space, limited to %llu MiB (RLIMIT_AS, ulimit "
			       "-v), has no room for this connection's arena of %llu MiB: raise "
			       "the limit, lower arena_bytes or close other connections",
			       (unsigned long long)(space.rlim_cur >> 20),
			       (unsigned long long)(g->bytes >> 20));
	return err_set(err, g->error == ENOMEM ? E_NOMEM : E_SYSTEM,
		       "region %u: mmap of %llu bytes: %s", g->id, (unsigned long long)g->bytes,
		       strerror(g->error));
}

enum status region_map(struct regions *r, uint32_t id, int fd, uint64_t bytes, struct err *err)
{
	void *addr = NULL;

	if (bytes == 0)
		return err_set(err, E_INVALID, "region %u: cannot map 0 bytes", id);
	/* Arenas are sparse: pages are charged when they are touched. */
	addr = pages_map(fd, bytes);
	region_unmap(r, id);
	if (addr == MAP_FAILED) {
		*place_for(r, id) = (struct region){.id = id, .error = errno, .bytes = bytes};
		return not_mapped(&r->item[lower_bound(r, id)], err);
	}
	madvise(addr, bytes, MADV_DONTDUMP);
	*place_for(r, id) = (struct region){.id = id, .addr = addr, .bytes = bytes};
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
	if (r->item[at].addr)
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
	if (!g->addr)
		return not_mapped(g, err);
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

void region_back(const struct regions *r, const struct command_place *place, int64_t lo, int64_t hi)
{
	const struct region *g = &r->item[lower_bound(r, place->region)];

	pages_back(g->addr, g->bytes, place->offset + (uint64_t)lo, place->offset + (uint64_t)hi);
}
