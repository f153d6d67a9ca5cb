/* SPDX-License-Identifier: Apache-2.0 */
/* cache/cache_evict.c - kernels leave the memory: what nobody uses, beyond the bounds or when an
 * operator asks for it.  What is on disk stays there. */
#include <stdlib.h>
#include <unistd.h>

#include "cache_impl.h"

void cache_unlink(struct cache *c, struct entry *e)
{
	*(e->newer ? &e->newer->older : &c->newest) = e->older;
	*(e->older ? &e->older->newer : &c->oldest) = e->newer;
	e->newer = e->older = NULL;
}

static void table_remove(struct cache *c, struct entry *e)
{
	struct entry **p = &c->bucket[e->k.hash & (c->nbucket - 1)];

	while (*p != e)
		p = &(*p)->chain;
	*p = e->chain;
}

void cache_free_entry(struct entry *e)
{
	if (e->k.code_fd >= 0)
		close(e->k.code_fd);
	free(e->k.key);
	free(e->k.spec);
	free(e);
}

void cache_forget_code(struct cache *c, struct entry *e)
{
	if (e->k.code_fd < 0)
		return;
	close(e->k.code_fd);
	e->k.code_fd = -1;
	c->stats.bytes -= e->k.code_bytes;
	e->k.code_bytes = 0;
	c->ncode--;
}

void cache_late_remove(struct cache *c, struct entry *e)
{
	struct entry **at = &c->late;

	while (e->late && *at != e)
		at = &(*at)->late_next;
	if (e->late)
		*at = e->late_next;
	e->late = false;
}

/* May it go?  A quarantine that was forgotten would be no quarantine. */
static bool is_free(const struct entry *e)
{
	return !e->k.refs && !e->io && e->k.state != KERNEL_COMPILING &&
	       e->k.strikes < KERNEL_STRIKES;
}

static void evict(struct cache *c, struct entry *e)
{
	cache_forget_code(c, e);
	c->stats.bytes -= e->bytes;
	c->stats.evictions++;
	c->stats.kernels--;
	cache_unlink(c, e);
	cache_late_remove(c, e);
	table_remove(c, e);
	if (c->drop)
		c->drop(c->data, e->k.id);
	cache_free_entry(e);
}

void cache_trim(struct cache *c)
{
	for (struct entry *e = c->oldest, *next; e; e = next) {
		next = e->newer;
		if (c->stats.bytes <= c->memory_bytes && c->ncode <= c->max_code)
			return;
		if (is_free(e) && (c->stats.bytes > c->memory_bytes || e->k.code_fd >= 0))
			evict(c, e);
	}
}

uint64_t cache_evict(struct cache *c, uint64_t session)
{
	uint64_t before = c->stats.bytes;

	for (struct entry *e = c->oldest, *next; e; e = next) {
		next = e->newer;
		if (e->k.first_session == session && is_free(e))
			evict(c, e);
	}
	return before - c->stats.bytes;
}
