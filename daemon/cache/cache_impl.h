/* SPDX-License-Identifier: Apache-2.0 */
/* cache/cache_impl.h - between the parts of the kernel cache: cache.c finds kernels and has them
 * compiled, cache_evict.c lets them go. */
#ifndef BRAZE_CACHE_IMPL_H
#define BRAZE_CACHE_IMPL_H

#include <uv.h>

#include "cache_code.h"
#include "contract/backend.h"
#include "target.h"

struct entry {
	struct kernel k; /* first: a kernel is its entry */
	struct entry *chain;
	struct entry *newer, *older;
	struct cache *cache;
	uint64_t bytes, read_ns; /* bytes: without the code's */
	uint64_t element_dns;	 /* predicted tenths of a nanosecond a point */
	uint64_t gets, asked, predicted_ns;
	uint64_t retry_at;    /* of a failure; 0: never */
	unsigned io;	      /* disk work under way */
	bool reading, likely; /* its file; it is there, by disk_may_have */
	bool awaited;	      /* by a job: cache_comes, from read_ns on */
	bool writing, stale;  /* its file is being written; and again, behind that */
	bool wanted;	      /* compile it, whatever that is worth */
	bool late;	      /* in the list of those to be compiled when jobs have ended */
	struct entry *late_next;
	uint64_t born; /* cache.period when it came */
};

struct cache {
	uv_loop_t *loop;
	struct entry **bucket;
	size_t nbucket;
	struct entry *newest, *oldest;
	struct target target[1 + BACKEND_END]; /* the processor's, those of backends.def */
	char *self;			       /* of the configuration; may be NULL */
	struct disk *disk;		       /* NULL: none */
	int tier;
	uint64_t memory_bytes, max_code, ncode, nwork;
	uint32_t last_id;
	bool dead; /* destroyed, waits for its work */
	struct entry *late;
	unsigned held;	 /* cache_hold */
	uint64_t period; /* how many times that has ended */
	struct cache_stats stats;
	cache_ready_fn *ready;
	void *data;
	void (*drop)(void *data, uint32_t id);
	bool (*may)(void *data, const struct kernel *k, char *why, size_t n);
	void (*spent)(void *data, const struct kernel *k, uint64_t ns);
};

static inline struct entry *entry_of(struct kernel *k)
{
	return (struct entry *)k;
}

void cache_unlink(struct cache *c, struct entry *e); /* from the list by use */
void cache_free_entry(struct entry *e);
void cache_forget_code(struct cache *c, struct entry *e);
/* From the list of those to be compiled when jobs have ended. */
void cache_late_remove(struct cache *c, struct entry *e);
/* Evict, oldest first, what nobody uses until both bounds hold. */
void cache_trim(struct cache *c);

#endif
