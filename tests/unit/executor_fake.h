/* SPDX-License-Identifier: Apache-2.0 */
/* The cache as far as the executor needs it, for test_executor.c: runs are counted in
 * the kernels that the test has, in no other place. */
#ifndef BRAZE_EXECUTOR_FAKE_H
#define BRAZE_EXECUTOR_FAKE_H

#include <criterion/criterion.h>

#include "cache/cache.h"

/* Off: predictions are cost_us alone, so that slices are cut alike each time. */
static bool learning = true;

void cache_note_run(struct cache *c, struct kernel *k, uint64_t elements, uint64_t busy_ns)
{
	if (busy_ns && learning) {
		k->runs++;
		k->elements += elements;
		k->busy_ns += busy_ns;
	}
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
