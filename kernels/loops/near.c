/* SPDX-License-Identifier: Apache-2.0 */
/* loops/near.c - the one symbol of libbraze-near-<level>.so. */
#include "loops.h"

__attribute__((visibility("default"))) const struct loops_library *braze_near_loops(void);

const struct loops_library *braze_near_loops(void)
{
	static struct loops_library library = {.isa = &NEAR_ISA,
					       .wide = &NEAR_WIDE,
					       .product = &NEAR_PRODUCT,
					       .scan = &NEAR_SCAN,
					       .draw = &NEAR_DRAW,
					       .sort = &NEAR_SORT,
					       .search = &NEAR_SEARCH,
					       .place = &NEAR_PLACE,
					       .sparse = &NEAR_SPARSE};

	library.build = loops_build();
	return &library;
}
