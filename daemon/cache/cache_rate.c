/* SPDX-License-Identifier: Apache-2.0 */
/* cache/cache_rate.c - what runs of a kernel's shapes have taken. */
#include <string.h>

#include "cache.h"

#define RATE_RUNS 16 /* that a kernel's rate is made of, at most */

const struct kernel_rate *cache_rate(const struct kernel *k, uint16_t shape)
{
	for (uint32_t i = 0; i < k->nrate; i++)
		if (k->rate[i].shape == shape)
			return &k->rate[i];
	return NULL;
}

void cache_note_rate(struct kernel *k, uint16_t shape, uint64_t elements, uint64_t busy_ns)
{
	const struct kernel_rate *known = cache_rate(k, shape);
	struct kernel_rate r = known ? *known : (struct kernel_rate){.shape = shape};
	uint32_t at = known ? (uint32_t)(known - k->rate) : k->nrate;

	if (at == KERNEL_RATES)
		at--; /* the one that was longest not run */
	else if (!known)
		k->nrate++;
	memmove(&k->rate[1], &k->rate[0], at * sizeof r);
	if (r.runs >= RATE_RUNS) {
		r.runs /= 2;
		r.elements /= 2;
		r.ns /= 2;
	}
	r.runs++;
	r.elements += elements;
	r.ns += busy_ns;
	k->rate[0] = r;
}
