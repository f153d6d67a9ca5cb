/* SPDX-License-Identifier: Apache-2.0 */
/* loops/product_strip.h - what product.c hands to the loops of product_isa.c. */
#ifndef BRAZE_PRODUCT_STRIP_H
#define BRAZE_PRODUCT_STRIP_H

#include "product.h"

#define PRODUCT_ROWS_AT_ONCE 4
#define PRODUCT_ROWS_FUSED   6

/* Rows of C by one vector or two of its columns.  The elements of S are repeated over a
 * vector's lanes, those of V are read as they lie. */
struct product_strip {
	const char *s, *v;
	char *c;
	const char *limit; /* whole vectors of c may be stored up to here; NULL: none */
	int64_t srow, scol, vrow, crow;
	int64_t depth;
	int64_t rows;
	int vectors; /* 1 or 2 */
	int last;    /* bytes of the last vector that are columns of C */
	bool packed; /* v has whole vectors in each step */
	bool add, fused;
};

#endif
