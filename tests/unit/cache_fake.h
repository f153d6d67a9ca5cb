/* SPDX-License-Identifier: Apache-2.0 */
/* cache_fake.h - the kernel cache as far as the executor needs it, for one test program. */
#ifndef CACHE_FAKE_H
#define CACHE_FAKE_H

#include <criterion/criterion.h>
#include <stdio.h>

#include "cache/cache.h"

/* Off: predictions are cost_us alone, so that slices are cut alike each time. */
static bool learning = true;

void cache_note_run(struct cache *c, struct kernel *k, uint64_t elements, uint64_t busy_ns)
{
	k->runs += busy_ns > 0;
}

void cache_note_rate(struct kernel *k, uint16_t shape, uint64_t elements, uint64_t busy_ns)
{
	if (learning) {
		k->nrate = 1;
		k->rate[0].shape = shape;
		k->rate[0].runs++;
		k->rate[0].elements += elements;
		k->rate[0].ns += busy_ns;
	}
}

const struct kernel_rate *cache_rate(const struct kernel *k, uint16_t shape)
{
	return k->nrate && k->rate[0].shape == shape ? &k->rate[0] : NULL;
}

void cache_note_loaded(struct cache *c, struct kernel *k)
{
	k->tier = 1;
}

void cache_refuse(struct cache *c, struct kernel *k, const char *why)
{
	k->tier = 0;
	k->state = KERNEL_FAILED;
	snprintf(k->error, sizeof k->error, "%s", why);
}

void cache_blame(struct cache *c, struct kernel *k, const char *what)
{
	k->strikes++;
	snprintf(k->blame, sizeof k->blame, "%s", what);
}

/* The kernel that was under trial in a dead worker. */
static struct kernel *tried;

struct kernel *cache_find(struct cache *c, uint32_t id)
{
	return tried && tried->id == id ? tried : NULL;
}

void cache_note_geometry(struct cache *c, struct kernel *k, const struct cuda_geometry *g)
{
	cr_assert_fail("the CPU has no geometries");
}

#endif
