/* SPDX-License-Identifier: Apache-2.0 */
/* cache/cache_code.h - about the code of one kernel.  Loop thread only. */
#ifndef BRAZE_CACHE_CODE_H
#define BRAZE_CACHE_CODE_H

#include "cache.h"

/* The source text as the compiler sees it, malloc'ed; NULL when the nest has none. */
char *cache_source(const struct kernel *k);
/* The worker could not load the code, or died of it in a way that blames the code
 * (SIGILL): forget it here and on disk, tier 0 serves from now on. */
void cache_refuse(struct cache *c, struct kernel *k, const char *why);

#endif
