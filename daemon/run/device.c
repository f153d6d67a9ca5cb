/* SPDX-License-Identifier: Apache-2.0 */
/* run/device.c - mirrors: made, found room for, dropped (see device.h). */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>

#include "../base/xalloc.h"

/* Of memory that others may have a granule; to make and to map one takes as long as two copies of
 * as much. */
#define PEER_KIB     2048
#define PEER_KIB_END (UINT64_C(1) << 50)

static void unlink_mirror(struct mirror *m)
{
	struct device *d = m->device;

	*(m->newer ? &m->newer->older : &d->newest) = m->older;
	*(m->older ? &m->older->newer : &d->oldest) = m->newer;
	m->newer = m->older = NULL;
}

static void link_newest(struct mirror *m)
{
	struct device *d = m->device;

	m->older = d->newest;
	if (d->newest)
		d->newest->newer = m;
	else
		d->oldest = m;
	d->newest = m;
}

/* What it was given before has been freed for long. */
uint32_t device_region_number(struct device *d)
{
	d->next_region = (d->next_region + 1) % DEVICE_REGION;
	return DEVICE_REGION + d->next_region;
}

/* What all who have memory of the device leave of it. */
static uint64_t room(const struct device *d)
{
	uint64_t used = d->root ? d->root->used_own : d->used;

	return used < d->capacity ? d->capacity - used : 0;
}

static void count_used(struct device *d, uint64_t more, uint64_t less)
{
	d->used += more - less;
	if (d->root)
		d->root->used_own += more - less;
}

struct mirror *mirror_on(const struct storage *s, const struct device *d)
{
	struct mirror *m = s->mirror;

	while (m && m->device != d)
		m = m->other;
	return m;
}

struct mirror *mirror_source(const struct storage *s)
{
	struct mirror *m = s->mirror;

	while (m && !m->valid)
		m = m->other;
	return m;
}

void mirror_outdate(struct storage *s, const struct mirror *but)
{
	struct mirror *other;

	for (struct mirror *m = s->mirror; m; m = other) {
		other = m->other;
		if (m == but)
			continue;
		m->valid = 0;
		if (but && !m->users)
			mirror_drop(m);
	}
	if (s->carrying)
		s->carrying = CARRYING_OLD;
}

bool mirror_busy_elsewhere(const struct storage *s, const struct device *d)
{
	for (const struct mirror *m = s->mirror; m; m = m->other)
		if (m->device != d && m->users)
			return true;
	return false;
}

struct mirror *mirror_use(struct device *d, struct trace *t, struct storage *s, uint64_t client)
{
	struct mirror *m = mirror_on(s, d);

	if (m) {
		unlink_mirror(m);
	} else {
		if (s->bytes > room(d))
			return NULL;
		m = xcalloc(1, sizeof *m);
		*m = (struct mirror){.device = d,
				     .storage = s,
				     .trace = t,
				     .bytes = s->bytes ? s->bytes : 1, /* a region has bytes */
				     .client = client,
				     .other = s->mirror,
				     .region = device_region_number(d)};
		s->mirror = m;
		count_used(d, m->bytes, 0);
		executor_device_region(d->executor, m->region, m->bytes, client);
	}
	link_newest(m);
	m->users++;
	return m;
}

void mirror_release(struct mirror *m)
{
	/* Neither old nor new, and nowhere else: nobody may fetch it. */
	if (!--m->users && !m->valid && !m->arriving && !m->storage->host)
		mirror_drop(m);
}

void mirror_drop(struct mirror *m)
{
	struct device *d = m->device;
	struct mirror **at = &m->storage->mirror;

	executor_region_drop(d->executor, m->region);
	count_used(d, 0, m->bytes);
	while (*at != m)
		at = &(*at)->other;
	*at = m->other;
	unlink_mirror(m);
	free(m);
}

void mirror_resize(struct mirror *m, uint64_t bytes)
{
	count_used(m->device, bytes, m->bytes);
	m->bytes = bytes;
}

struct command_place mirror_place(const struct mirror *m)
{
	return (struct command_place){.region = m->region};
}

/* Is this the last place where the value lies? */
static bool is_only(const struct mirror *m)
{
	if (!m->valid || m->storage->host)
		return false;
	for (const struct mirror *o = m->storage->mirror; o; o = o->other)
		if (o != m && o->valid)
			return false;
	return true;
}

/* Make room on d by mirrors of `from`, until there is enough, or one that must be fetched first. */
static void spill(const struct device *d, struct device *from, uint64_t bytes,
		  struct mirror **victim)
{
	struct mirror *newer;

	for (struct mirror *m = from->oldest; m && bytes > room(d) && !*victim; m = newer) {
		newer = m->newer;
		if (m->users || m->stuck || m->storage->exports)
			continue;
		if (is_only(m)) {
			*victim = m;
		} else {
			from->spills++;
			mirror_drop(m);
		}
	}
}

enum device_room device_make_room(struct device *d, uint64_t bytes, struct mirror **victim)
{
	*victim = NULL;
	if (bytes > d->capacity)
		return ROOM_NEVER;
	spill(d, d, bytes, victim);
	/* Then what other users have there. */
	for (struct device *o = d->root ? *d->owns : NULL; o && !*victim; o = o->next_own)
		if (o != d && o->root == d->root)
			spill(d, o, bytes, victim);
	if (*victim)
		return ROOM_LATER;
	return bytes <= room(d) ? ROOM_YES : ROOM_LATER;
}

void device_lost(struct device *d)
{
	d->state = DEVICE_STARTING;
	while (d->oldest) {
		struct mirror *m = d->oldest;

		d->lost += is_only(m);
		mirror_drop(m);
	}
}

int device_ordinal(const struct device *d)
{
	int n = -1;

	return sscanf(d->name, "cuda:%d", &n) == 1 ? n : -1;
}

uint64_t device_carried_from(void)
{
	static uint64_t bytes = UINT64_MAX;

	if (bytes == UINT64_MAX) {
		const char *kib = getenv("BRAZE_PEER_KIB");

		bytes = (kib && *kib ? strtoull(kib, NULL, 10) % PEER_KIB_END : PEER_KIB) << 10;
	}
	return bytes;
}

/* Refusals in a row after which nobody asks again. */
#define PEER_REFUSALS 3

struct device_peer *device_peer(struct device *to, const struct device *from)
{
	return &(to->root ? to->root : to)->peer[from->index];
}

bool device_reaches(const struct device *to, const struct device *from)
{
	const struct device *all = to->root ? to->root : to;
	int there = device_ordinal(from);

	return to->index != from->index && to->index && from->index && from->exports &&
	       from->state == DEVICE_USABLE && to->state == DEVICE_USABLE && there >= 0 &&
	       there < 64 && (to->peers >> there & 1) &&
	       all->peer[from->index].refused < PEER_REFUSALS;
}

uint64_t device_drop_copies(struct device *d, uint64_t client)
{
	uint64_t bytes = 0;

	for (struct mirror *m = d->newest, *older; m; m = older) {
		older = m->older;
		if (m->client != client || m->users || !m->storage->host || m->storage->exports)
			continue;
		bytes += m->bytes;
		mirror_drop(m);
	}
	return bytes;
}
