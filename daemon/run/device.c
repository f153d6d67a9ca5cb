/* SPDX-License-Identifier: Apache-2.0 */
/* run/device.c - mirrors: made, found room for, dropped (see device.h). */
#include "device.h"

#include <stdlib.h>

#include "../base/xalloc.h"

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

/* A region's number; what it was given before has been freed for long. */
static uint32_t region_number(struct device *d)
{
	d->next_region = (d->next_region + 1) % DEVICE_REGION;
	return DEVICE_REGION + d->next_region;
}

struct mirror *mirror_use(struct device *d, struct trace *t, struct storage *s, uint64_t client)
{
	struct mirror *m = s->mirror;

	if (m) {
		unlink_mirror(m);
	} else {
		if (s->bytes > d->capacity - d->used)
			return NULL;
		m = xcalloc(1, sizeof *m);
		*m = (struct mirror){.device = d,
				     .storage = s,
				     .trace = t,
				     .bytes = s->bytes ? s->bytes : 1, /* a region has bytes */
				     .client = client,
				     .region = region_number(d)};
		s->mirror = m;
		d->used += m->bytes;
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

	executor_region_drop(d->executor, m->region);
	d->used -= m->bytes;
	m->storage->mirror = NULL;
	unlink_mirror(m);
	free(m);
}

struct command_place mirror_place(const struct mirror *m)
{
	return (struct command_place){.region = m->region};
}

enum device_room device_make_room(struct device *d, uint64_t bytes, struct mirror **victim)
{
	struct mirror *newer;

	*victim = NULL;
	if (bytes > d->capacity)
		return ROOM_NEVER;
	for (struct mirror *m = d->oldest; m && bytes > d->capacity - d->used; m = newer) {
		newer = m->newer;
		if (m->users || m->stuck || m->storage->exports)
			continue;
		if (!m->storage->host && m->valid) {
			*victim = m;
			return ROOM_LATER;
		}
		d->spills++;
		mirror_drop(m);
	}
	return bytes <= d->capacity - d->used ? ROOM_YES : ROOM_LATER;
}

void device_lost(struct device *d)
{
	d->state = DEVICE_STARTING;
	while (d->oldest) {
		struct mirror *m = d->oldest;

		d->lost += m->valid && !m->storage->host;
		mirror_drop(m);
	}
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
