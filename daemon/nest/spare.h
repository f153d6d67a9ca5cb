/* SPDX-License-Identifier: Apache-2.0 */
/* nest/spare.h - memory of units and nests that plans have given back, of each thread its own.
 *
 * Every operation of a partition begins as a unit with a nest of its own, 8 KB, of which most
 * are gone when the plan is made.  From the system they took more than half of planning: a
 * page fault for every page, and a call for every few. */
#ifndef BRAZE_SPARE_H
#define BRAZE_SPARE_H

#include "prog.h"

#define SPARE_MOST 1024 /* blocks of each kind that are kept: 8 MB */
/* That a planner's thread begins with: most partitions have fewer operations. */
#define SPARE_READY 512

enum spare { SPARE_UNIT, SPARE_NEST, SPARE_END };

/* A block of zeros; to be given back, or freed. */
void *spare_take(enum spare kind);
void spare_give(enum spare kind, void *block);
/* Have so many of each kind. */
void spare_fill(uint32_t n);
/* This thread ends, or makes no plans any more. */
void spare_free(void);

#endif
