/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_table.c - names to objects, in an array sorted by name. */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "cuda_worker.h"

static uint32_t lower_bound(const struct cuda_table *t, uint32_t id)
{
	uint32_t lo = 0, hi = t->count;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (t->item[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

void *cuda_table_find(const struct cuda_table *t, uint32_t id)
{
	uint32_t at = lower_bound(t, id);

	return at < t->count && t->item[at].id == id ? t->item[at].object : NULL;
}

void cuda_table_put(struct cuda_table *t, uint32_t id, void *object)
{
	uint32_t at = lower_bound(t, id);

	if (t->count == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 16;
		t->item = xrealloc(t->item, t->cap, sizeof *t->item);
	}
	memmove(t->item + at + 1, t->item + at, (t->count - at) * sizeof *t->item);
	t->item[at] = (struct cuda_name){.id = id, .object = object};
	t->count++;
}

void *cuda_table_take(struct cuda_table *t, uint32_t id)
{
	uint32_t at = lower_bound(t, id);
	void *object = NULL;

	if (at == t->count || t->item[at].id != id)
		return NULL;
	object = t->item[at].object;
	t->count--;
	memmove(t->item + at, t->item + at + 1, (t->count - at) * sizeof *t->item);
	return object;
}

void cuda_table_finish(struct cuda_table *t)
{
	free(t->item);
	*t = (struct cuda_table){0};
}
