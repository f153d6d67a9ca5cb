/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_region.c - arenas mapped here, and regions of the device.
 *
 * An arena's mapping lives as long as a run that was sent before its drop.  A region
 * of the device belongs to one client: its lane's issuer takes and drops it in the
 * order of the commands, which the stream keeps. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "cuda_worker.h"
#include "pages.h"

enum status cuda_region_map(struct cuda *c, uint32_t id, int fd, uint64_t bytes, struct err *err)
{
	struct cuda_host *h = NULL;
	void *addr = NULL;

	if (bytes == 0)
		return err_set(err, E_INVALID, "region %u: cannot map 0 bytes", id);
	/* Arenas are sparse: pages are charged when they are touched. */
	addr = pages_map(fd, bytes);
	if (addr == MAP_FAILED)
		return err_set(err, E_SYSTEM, "region %u: mmap of %llu bytes: %s", id,
			       (unsigned long long)bytes, strerror(errno));
	madvise(addr, bytes, MADV_DONTDUMP);
	cuda_region_unmap(c, id);
	h = xcalloc(1, sizeof *h);
	h->c = c;
	h->id = id;
	h->refs = 1;
	h->addr = addr;
	h->bytes = bytes;
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->unused, NULL);
	h->nchunk = c->pin_limit ? (uint32_t)(bytes / c->chunk_bytes) : 0;
	h->chunk = xcalloc(h->nchunk + 1, sizeof *h->chunk);
	cuda_table_put(&c->hosts, id, h);
	return OK;
}

void cuda_region_unmap(struct cuda *c, uint32_t id)
{
	struct cuda_host *h = cuda_table_take(&c->hosts, id);

	if (h)
		cuda_region_unref(h);
}

void cuda_region_ref(struct cuda_host *h)
{
	atomic_fetch_add(&h->refs, 1);
}

struct unmap_task {
	struct cuda_task task;
	struct cuda_host *host;
};

static void unmap_run(struct cuda_task *task)
{
	struct cuda_host *h = ((struct unmap_task *)task)->host;

	cuda_pin_finish(h);
	munmap(h->addr, h->bytes);
	pthread_mutex_destroy(&h->lock);
	pthread_cond_destroy(&h->unused);
	free(h->chunk);
	free(h);
	free(task);
}

void cuda_region_unref(struct cuda_host *h)
{
	struct unmap_task *t = NULL;

	if (atomic_fetch_sub(&h->refs, 1) != 1)
		return;
	t = xcalloc(1, sizeof *t);
	t->task.run = unmap_run;
	t->host = h;
	cuda_helper_give(&h->c->pinner, &t->task);
}

void cuda_region_take(struct cuda_lane *l, uint32_t id, uint64_t bytes)
{
	struct cuda_region *g = xcalloc(1, sizeof *g);
	struct err err = {0};

	cuda_region_drop(l, id);
	g->id = id;
	g->bytes = bytes;
	if (l->err.code == OK && cuda_memory_take(l, &g->addr, bytes, &g->free_bytes, &err) != OK) {
		g->absent = true;
		log_warn("cuda_region", "region %u: %s", id, err.text);
	}
	cuda_table_put(&l->regions, id, g);
}

void cuda_region_clear(struct cuda_lane *l, uint32_t id)
{
	struct cuda_region *g = cuda_table_find(&l->regions, id);
	struct err err = {0};

	if (!g || !g->addr)
		return;
	if (cuda_context_check(l->c, l->c->api.cuMemsetD8Async(g->addr, 0, g->bytes, l->stream),
			       &err, "clearing %llu bytes of %s", (unsigned long long)g->bytes,
			       l->c->name) == OK)
		return;
	log_warn("cuda_region", "region %u: %s", id, err.text);
	cuda_memory_give(l, g->addr, g->bytes);
	g->addr = 0;
	g->absent = true;
}

void cuda_region_drop(struct cuda_lane *l, uint32_t id)
{
	struct cuda_region *g = cuda_table_take(&l->regions, id);

	if (g && g->imported)
		cuda_import_drop(l, g);
	else if (g && g->shared_bytes)
		cuda_export_drop(l, g);
	else if (g && g->addr)
		cuda_memory_give(l, g->addr, g->bytes);
	free(g);
}

static struct cuda_host *find_host(const struct cuda_run *run, uint32_t id)
{
	for (uint32_t i = 0; i < run->nhost; i++) {
		if (run->host[i]->id == id)
			return run->host[i];
	}
	return NULL;
}

/* Do bytes [lo, hi) around the place leave its region? */
static bool leaves(const struct command_place *place, uint64_t bytes, int64_t lo, int64_t hi)
{
	int64_t first = 0, last = 0;

	return place->offset > bytes ||
	       __builtin_add_overflow((int64_t)place->offset, lo, &first) ||
	       __builtin_add_overflow((int64_t)place->offset, hi, &last) || first < 0 ||
	       last < first || (uint64_t)last > bytes;
}

/* There is no memory behind the region. */
static enum status refuse(const struct cuda_run *run, const struct cuda_region *g, struct err *err)
{
	if (g->why)
		return err_set(err, g->why->code, "%s", g->why->text);
	return err_set(err, E_NOMEM,
		       "%s: %llu bytes were asked for, %llu were free; free arrays or work on "
		       "smaller ones",
		       run->lane->c->name, (unsigned long long)g->bytes,
		       (unsigned long long)g->free_bytes);
}

enum status cuda_region_resolve(struct cuda_spot *out, const struct cuda_run *run,
				const struct command_place *place, int64_t lo, int64_t hi,
				struct err *err)
{
	struct cuda_host *h = find_host(run, place->region);
	const struct cuda_region *g =
		h ? NULL : cuda_table_find(&run->lane->regions, place->region);
	uint64_t bytes = h ? h->bytes : g ? g->bytes : 0;

	if (!h && !g)
		return err_set(err, E_INTERNAL, "region %u is not this client's", place->region);
	if (leaves(place, bytes, lo, hi))
		return err_set(
			err, E_INTERNAL,
			"bytes [%lld, %lld) around offset %llu leave region %u of %llu bytes",
			(long long)lo, (long long)hi, (unsigned long long)place->offset,
			place->region, (unsigned long long)bytes);
	if (g && (g->why || g->absent))
		return refuse(run, g, err);
	*out = (struct cuda_spot){
		.host = h, .offset = place->offset, .addr = g ? g->addr + place->offset : 0};
	return OK;
}
