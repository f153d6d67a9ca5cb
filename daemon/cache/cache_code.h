/* SPDX-License-Identifier: Apache-2.0 */
/* cache/cache_code.h - about the code of one kernel.  Loop thread only. */
#ifndef BRAZE_CACHE_CODE_H
#define BRAZE_CACHE_CODE_H

#include "cache.h"

/* The source text as the compiler sees it, malloc'ed; NULL when the nest has none. */
char *cache_source(const struct kernel *k);

#endif
