/* SPDX-License-Identifier: Apache-2.0 */
/* loops/loops.h - which loops a process has, for whoever must know that two have the same.
 *
 * A client computes small operations by the loops of libbraze-near-<level>.so, the worker
 * large ones by its own: the bits are the same when the sources and the C library's
 * mathematical functions are. */
#ifndef BRAZE_LOOPS_H
#define BRAZE_LOOPS_H

#include "draw.h"
#include "place.h"
#include "product.h"
#include "scan.h"
#include "search.h"
#include "sort.h"
#include "sparse.h"
#include "tier0_ops.h"

/* What libbraze-near-<level>.so gives by braze_near_loops(). */
struct loops_library {
	uint64_t build; /* loops_build() of its sources */
	const struct tier0_isa *isa;
	const struct tier0_isa *wide; /* preferred where it has an op */
	const struct product_isa *product;
	const struct scan_isa *scan;
	const struct draw_isa *draw;
	const struct sort_isa *sort;
	const struct search_isa *search;
	const struct place_isa *place;
	const struct sparse_isa *sparse;
};

/* A number of the loops' sources. */
uint64_t loops_build(void);
/* A number of the sources and of the C library that runs now; never 0. */
uint64_t loops_identity(void);

#endif
