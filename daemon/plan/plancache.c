/* SPDX-License-Identifier: Apache-2.0 */
#include "plancache.h"

#include <stdlib.h>
#include <string.h>

#include "../base/hash.h"
#include "../base/xalloc.h"

#define BUCKETS 4096

struct entry {
	struct entry *chain;	     /* same bucket */
	struct entry *newer, *older; /* by use */
	uint64_t hash, bytes;
	struct plan *plan;
	struct part key; /* arrays in one block behind the entry */
};

struct plancache {
	struct entry *bucket[BUCKETS];
	struct entry *newest, *oldest;
	uint64_t max_bytes;
	void (*release)(void *, struct plan *);
	void *data;
	struct plancache_stats stats;
	uint64_t taken;
};

static uint64_t hash_part(const struct part *p)
{
	uint64_t h = hash_bytes(p->value, p->nvalue * sizeof *p->value, p->unfused);

	h = hash_bytes(p->op, p->nop * sizeof *p->op, h);
	h = hash_bytes(p->list, p->nlist * sizeof *p->list, h + p->anywhere);
	h = hash_bytes(p->move, p->move ? p->ndim * sizeof *p->move : 0, h + p->device);
	h = hash_bytes(p->mark, p->mark ? p->ndim : 0, h + p->nsize);
	return hash_bytes(p->dim, p->ndim * sizeof *p->dim, h);
}

/* Is the plan right for sizes as large as these? */
static bool has_room(const struct plan *plan, const struct part *p)
{
	for (uint32_t s = 0; s < p->nsize; s++)
		if (plan->most[s] < p->most[s])
			return false;
	return true;
}

/* What differs from turn to turn. */
static bool same_turns(const struct part *a, const struct part *b)
{
	return !a->move == !b->move && !a->mark == !b->mark &&
	       (!a->move || !memcmp(a->move, b->move, a->ndim * sizeof *a->move)) &&
	       (!a->mark || !memcmp(a->mark, b->mark, a->ndim));
}

static bool same(const struct part *a, const struct part *b)
{
	return a->nvalue == b->nvalue && a->nop == b->nop && a->ndim == b->ndim &&
	       a->nlist == b->nlist && a->unfused == b->unfused && a->device == b->device &&
	       a->anywhere == b->anywhere && !memcmp(a->op, b->op, a->nop * sizeof *a->op) &&
	       (!a->nlist || !memcmp(a->list, b->list, a->nlist * sizeof *a->list)) &&
	       same_turns(a, b) && !memcmp(a->value, b->value, a->nvalue * sizeof *a->value) &&
	       !memcmp(a->dim, b->dim, a->ndim * sizeof *a->dim);
}

struct plancache *plancache_create(uint64_t max_bytes, void (*release)(void *, struct plan *),
				   void *data)
{
	struct plancache *c = xcalloc(1, sizeof *c);

	c->max_bytes = max_bytes;
	c->release = release;
	c->data = data;
	return c;
}

void plancache_unref(struct plancache *c, struct plan *plan)
{
	if (!--plan->refs)
		c->release(c->data, plan);
}

static void unlink_use(struct plancache *c, struct entry *e)
{
	*(e->newer ? &e->newer->older : &c->newest) = e->older;
	*(e->older ? &e->older->newer : &c->oldest) = e->newer;
}

static void link_newest(struct plancache *c, struct entry *e)
{
	e->newer = NULL;
	e->older = c->newest;
	*(c->newest ? &c->newest->newer : &c->oldest) = e;
	c->newest = e;
}

static void evict(struct plancache *c, struct entry *e)
{
	struct entry **at = &c->bucket[e->hash % BUCKETS];

	while (*at != e)
		at = &(*at)->chain;
	*at = e->chain;
	unlink_use(c, e);
	c->stats.bytes -= e->bytes;
	c->stats.count--;
	plancache_unref(c, e->plan);
	free(e);
}

void plancache_destroy(struct plancache *c)
{
	if (!c)
		return;
	while (c->oldest)
		evict(c, c->oldest);
	free(c);
}

struct plan *plancache_find(struct plancache *c, const struct part *p)
{
	uint64_t h = hash_part(p);

	for (struct entry *e = c->bucket[h % BUCKETS]; e; e = e->chain)
		if (e->hash == h && same(&e->key, p) && has_room(e->plan, p)) {
			unlink_use(c, e);
			link_newest(c, e);
			c->stats.hits++;
			e->plan->refs++;
			return e->plan;
		}
	c->stats.misses++;
	return NULL;
}

const struct plan *plancache_numbered(const struct plancache *c, uint64_t number)
{
	const struct entry *e = c->newest;

	while (e && e->plan->number != number)
		e = e->older;
	return e ? e->plan : NULL;
}

static void *append(char **at, const void *from, size_t bytes)
{
	void *to = *at;

	memcpy(to, from, bytes);
	*at += (bytes + 7) & ~(size_t)7;
	return to;
}

void plancache_add(struct plancache *c, const struct part *p, struct plan *plan)
{
	size_t bytes = p->nop * sizeof *p->op + p->nvalue * sizeof *p->value +
		       p->ndim * (sizeof *p->dim + sizeof *p->move + 1) +
		       p->nlist * sizeof *p->list + 40;
	struct entry *e = xcalloc(1, sizeof *e + bytes);
	char *at = (char *)(e + 1);

	e->key = *p;
	e->key.imm = NULL;
	e->key.op = append(&at, p->op, p->nop * sizeof *p->op);
	e->key.value = append(&at, p->value, p->nvalue * sizeof *p->value);
	e->key.dim = append(&at, p->dim, p->ndim * sizeof *p->dim);
	e->key.move = p->move ? append(&at, p->move, p->ndim * sizeof *p->move) : NULL;
	e->key.mark = p->mark ? append(&at, p->mark, p->ndim) : NULL;
	e->key.most = NULL; /* the plan has it */
	e->key.number = NULL;
	e->key.list = p->nlist ? append(&at, p->list, p->nlist * sizeof *p->list) : NULL;
	e->hash = hash_part(p);
	e->bytes = sizeof *e + bytes + plan_bytes(plan);
	e->plan = plan;
	plan->number = ++c->taken;
	plan->refs++;
	e->chain = c->bucket[e->hash % BUCKETS];
	c->bucket[e->hash % BUCKETS] = e;
	link_newest(c, e);
	c->stats.count++;
	c->stats.bytes += e->bytes;
	while (c->stats.bytes > c->max_bytes && c->oldest != e) {
		c->stats.evictions++;
		evict(c, c->oldest);
	}
}

uint64_t plancache_taken(const struct plancache *c)
{
	return c->taken;
}

void plancache_go_on(struct plancache *c, uint64_t taken)
{
	c->taken = taken;
}

void plancache_evict(struct plancache *c, bool (*which)(void *data, const struct plan *plan),
		     void *data)
{
	for (struct entry *e = c->oldest, *next; e; e = next) {
		next = e->newer;
		if (e->plan->refs > 1 || !which(data, e->plan))
			continue;
		c->stats.evictions++;
		evict(c, e);
	}
}

void plancache_each(const struct plancache *c, void (*fn)(void *data, const struct plan *plan),
		    void *data)
{
	for (const struct entry *e = c->newest; e; e = e->older)
		fn(data, e->plan);
}

void plancache_get_stats(const struct plancache *c, struct plancache_stats *out)
{
	*out = c->stats;
}
