/* SPDX-License-Identifier: Apache-2.0 */
/* nest/spare.c - see spare.h. */
#include "spare.h"

#include <stdlib.h>
#include <string.h>

#include "../base/xalloc.h"

struct list {
	uint32_t n;
	void *block[SPARE_MOST];
};

static const size_t bytes[SPARE_END] = {
	[SPARE_UNIT] = sizeof(struct prog_unit), [SPARE_NEST] = sizeof(struct nest)};

static _Thread_local struct list spare[SPARE_END];

void *spare_take(enum spare kind)
{
	struct list *l = &spare[kind];

	return l->n ? memset(l->block[--l->n], 0, bytes[kind]) : xcalloc(1, bytes[kind]);
}

void spare_give(enum spare kind, void *block)
{
	struct list *l = &spare[kind];

	if (block && l->n < SPARE_MOST)
		l->block[l->n++] = block;
	else
		free(block);
}

void spare_fill(uint32_t n)
{
	for (int k = 0; k < SPARE_END; k++)
		while (spare[k].n < n && spare[k].n < SPARE_MOST)
			spare_give((enum spare)k, memset(xmalloc(bytes[k]), 0, bytes[k]));
}

void spare_free(void)
{
	for (int k = 0; k < SPARE_END; k++)
		while (spare[k].n)
			free(spare[k].block[--spare[k].n]);
}
