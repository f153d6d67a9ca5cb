/* SPDX-License-Identifier: Apache-2.0 */
/* cu_race.c - operations that touch the same device memory, with nothing that orders
 * them.
 *
 * In: which bytes of each allocation an operation has touched, and what it waited for.
 * Out: a text when another touched the same bytes before, one of the two wrote, and
 * neither had to wait for the other; however they happened to be executed.
 *
 * Order is kept by vector clocks (struct cu_past): a place for each stream, which counts
 * its operations.  An event carries the past of the stream that it was recorded in to those that
 * wait for it; what the caller waits for is behind everything that is queued later.  Nodes of one
 * graph are ordered by its edges only. */
#include "cu.h"
#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX 512 /* kept of one allocation; the oldest are forgotten */

struct entry {
	uint64_t lo, hi, time;
	unsigned slot;
	int node; /* of `launched`; -1: no graph's */
	const struct cu_launched *launched;
	bool write;
	char what[48];
};

struct history {
	struct history *next;
	uint64_t at; /* the allocation's first byte */
	struct entry *entry;
	size_t count, cap;
};

#define BUCKETS 1024
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct history *table[BUCKETS];
static struct cu_past host;		  /* what the caller has waited for */
static uint64_t reached[CU_PAST_STREAMS]; /* operations of each place, its streams' all */
static bool taken[CU_PAST_STREAMS];

static void join(struct cu_past *c, const struct cu_past *other)
{
	for (unsigned k = 0; k < CU_PAST_STREAMS; k++)
		c->at[k] = other->at[k] > c->at[k] ? other->at[k] : c->at[k];
}

/* ---- what orders ---- */

int cu_race_stream(void)
{
	int slot = -1;

	pthread_mutex_lock(&lock);
	for (int k = 0; k < CU_PAST_STREAMS && slot < 0; k++)
		if (!taken[k]) {
			taken[k] = true;
			slot = k;
		}
	pthread_mutex_unlock(&lock);
	return slot;
}

void cu_race_stream_ends(int slot)
{
	pthread_mutex_lock(&lock);
	if (slot >= 0)
		taken[slot] = false;
	pthread_mutex_unlock(&lock);
}

void cu_race_queued(struct cu_op *op)
{
	pthread_mutex_lock(&lock);
	op->queued = host;
	pthread_mutex_unlock(&lock);
}

void cu_race_begins(struct CUstream_st *s, const struct cu_op *op)
{
	pthread_mutex_lock(&lock);
	join(&s->past, &op->queued);
	if (s->slot >= 0)
		s->past.at[s->slot] = ++reached[s->slot];
	pthread_mutex_unlock(&lock);
}

void cu_race_join(struct cu_past *c, const struct cu_past *other)
{
	pthread_mutex_lock(&lock);
	join(c, other);
	pthread_mutex_unlock(&lock);
}

void cu_race_waited(const struct cu_past *c)
{
	cu_race_join(&host, c);
}

/* ---- what was touched; lock is held ---- */

static struct history *history_of(uint64_t at, bool make)
{
	struct history **place = &table[at / 512 % BUCKETS];

	while (*place && (*place)->at != at)
		place = &(*place)->next;
	if (!*place && make) {
		*place = cu_alloc(sizeof(**place));
		(*place)->at = at;
	}
	return *place;
}

static void forget(uint64_t at)
{
	struct history **place = &table[at / 512 % BUCKETS], *h;

	while (*place && (*place)->at != at)
		place = &(*place)->next;
	h = *place;
	if (h) {
		*place = h->next;
		free(h->entry);
		free(h);
	}
}

static bool before(const struct entry *old, const struct entry *new, const struct cu_past *now)
{
	if (old->launched && old->launched == new->launched)
		return old->node == new->node ||
		       cu_launched_before(old->launched, (unsigned)old->node, (unsigned)new->node);
	return old->slot == new->slot || old->time <= now->at[old->slot];
}

static void keep(struct history *h, const struct entry *new, const struct cu_past *now)
{
	size_t n = 0;

	for (size_t k = 0; k < h->count; k++) {
		const struct entry *old = &h->entry[k];
		bool covered = old->lo >= new->lo && old->hi <= new->hi &&
			       (new->write || !old->write) && before(old, new, now);

		if (!covered)
			h->entry[n++] = *old;
	}
	h->count = n;
	if (h->count == ENTRIES_MAX)
		memmove(h->entry, h->entry + 1, --h->count * sizeof(*h->entry));
	if (h->count == h->cap) {
		h->cap = h->cap ? 2 * h->cap : 8;
		h->entry = realloc(h->entry, h->cap * sizeof(*h->entry));
		if (!h->entry)
			abort();
	}
	h->entry[h->count++] = *new;
}

bool cu_race_touch(const struct CUstream_st *s, const struct cu_op *op, const struct cu_touch *t,
		   char *text, size_t size)
{
	struct entry new = {.lo = t->lo,
			    .hi = t->hi,
			    .slot = (unsigned)s->slot,
			    .node = op->launched ? (int)op->node : -1,
			    .launched = op->launched,
			    .write = t->write};
	const struct entry *other = NULL;

	if (s->slot < 0 || !cu_config.race)
		return true;
	snprintf(new.what, sizeof(new.what), "%s", cu_op_name(op));
	pthread_mutex_lock(&lock);
	struct history *h = history_of(t->allocation, true);
	new.time = s->past.at[s->slot];
	for (size_t k = 0; k < h->count && !other; k++) {
		const struct entry *old = &h->entry[k];

		if ((old->write || new.write) && old->lo < new.hi &&new.lo < old->hi &&
		    !before(old, &new, &s->past))
			other = old;
	}
	if (other)
		snprintf(text, size,
			 "race in device memory: bytes %llu to %llu of an allocation are %s by %s; "
			 "%s has %s bytes %llu to %llu, and neither waits for the other",
			 (unsigned long long)(t->lo - t->allocation),
			 (unsigned long long)(t->hi - t->allocation),
			 new.write ? "written" : "read", new.what, other->what,
			 other->write ? "written" : "read",
			 (unsigned long long)(other->lo - t->allocation),
			 (unsigned long long)(other->hi - t->allocation));
	else
		keep(h, &new, &s->past);
	pthread_mutex_unlock(&lock);
	return !other;
}

void cu_race_freed(uint64_t allocation)
{
	pthread_mutex_lock(&lock);
	forget(allocation);
	pthread_mutex_unlock(&lock);
}

/* A graph's launch is over: its address may come again, and its place in the stream's
 * order says what is to be known of it. */
void cu_race_launched(const struct cu_launched *launched)
{
	pthread_mutex_lock(&lock);
	for (unsigned b = 0; b < BUCKETS; b++)
		for (struct history *h = table[b]; h; h = h->next)
			for (size_t k = 0; k < h->count; k++)
				if (h->entry[k].launched == launched)
					h->entry[k].launched = NULL;
	pthread_mutex_unlock(&lock);
}
