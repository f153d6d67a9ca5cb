/* SPDX-License-Identifier: Apache-2.0 */
/* worker/tier0_dots.h - sums of products of elements side by side, of some rows. */
#ifndef BRAZE_TIER0_DOTS_H
#define BRAZE_TIER0_DOTS_H

#include "loops/product.h"
#include "loops/tier0_ops.h"

struct tier0_dots {
	const struct product_loops *loops;
	const struct tier0_red *red; /* the sum's */
	const volatile uint32_t *cancel;
	const char *const *row, *const *other; /* where both factors of each begin */
	int n;				       /* PRODUCT_DOTS at most */
	bool same;			       /* other[] is one vector */
};

/* Sums of `total` > 0 products, by the tree, side by side to *to. */
void tier0_dots(const struct tier0_dots *d, char *to, int64_t total);

#endif
