/* SPDX-License-Identifier: Apache-2.0 */
/* cu_handle.c - which handles are alive, so that a stale one is an error and no crash.
 *
 * Open addressing; cu_lock need not be held. */
#include "cu.h"
#include <stdlib.h>
#include <string.h>

struct slot {
	const void *handle; /* NULL: free; REMOVED: was taken */
	enum cu_kind kind;
};

#define REMOVED ((const void *)1)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot *slots;
static size_t nslots, nused;

static size_t place(const void *handle)
{
	return (size_t)((uintptr_t)handle * 0x9e3779b97f4a7c15ull >> 20) & (nslots - 1);
}

static struct slot *find(const void *handle)
{
	if (!nslots || !handle || handle == REMOVED)
		return NULL;
	for (size_t k = place(handle); slots[k].handle; k = (k + 1) & (nslots - 1))
		if (slots[k].handle == handle)
			return &slots[k];
	return NULL;
}

static void put(enum cu_kind kind, const void *handle)
{
	size_t k = place(handle);

	while (slots[k].handle && slots[k].handle != REMOVED)
		k = (k + 1) & (nslots - 1);
	nused += slots[k].handle == NULL;
	slots[k] = (struct slot){handle, kind};
}

static void grow(void)
{
	struct slot *old = slots;
	size_t n = nslots;

	nslots = n ? 2 * n : 256;
	slots = cu_alloc(nslots * sizeof(*slots));
	nused = 0;
	for (size_t k = 0; k < n; k++)
		if (old[k].handle && old[k].handle != REMOVED)
			put(old[k].kind, old[k].handle);
	free(old);
}

void cu_handle_add(enum cu_kind kind, const void *handle)
{
	pthread_mutex_lock(&lock);
	if (2 * nused >= nslots)
		grow();
	put(kind, handle);
	pthread_mutex_unlock(&lock);
}

void cu_handle_remove(const void *handle)
{
	pthread_mutex_lock(&lock);
	struct slot *s = find(handle);
	if (s)
		s->handle = REMOVED;
	pthread_mutex_unlock(&lock);
}

bool cu_handle_ok(enum cu_kind kind, const void *handle)
{
	pthread_mutex_lock(&lock);
	struct slot *s = find(handle);
	bool ok = s && s->kind == kind;
	pthread_mutex_unlock(&lock);
	return ok;
}
