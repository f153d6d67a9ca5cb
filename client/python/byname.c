/* SPDX-License-Identifier: Apache-2.0 */
/* byname.c - a table of names with open addressing. */
#include "byname.h"

#include <string.h>

/* Where a name is, or would be.  FNV-1a, by Fowler, Noll and Vo. */
static unsigned slot_of(const struct byname *t, const char *name)
{
	uint32_t h = 2166136261u;

	for (const char *c = name; *c; c++)
		h = (h ^ (unsigned char)*c) * 16777619u;
	h ^= h >> 15;
	while (t->name[h % BYNAME_ROOM] && strcmp(t->name[h % BYNAME_ROOM], name))
		h++;
	return h % BYNAME_ROOM;
}

void byname_add(struct byname *t, const char *name, unsigned row)
{
	unsigned k = slot_of(t, name);

	if (t->name[k])
		return;
	t->name[k] = name;
	t->row[k] = (uint16_t)row;
}

int byname_find(const struct byname *t, const char *name)
{
	unsigned k = slot_of(t, name);

	return t->name[k] ? t->row[k] : -1;
}
