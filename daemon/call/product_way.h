/* SPDX-License-Identifier: Apache-2.0 */
/* call/product_way.h - who computes a product on a GPU, and why.
 *
 * By what shape, type and layout say alone, so that the worker that does it and `explain` that
 * tells of it ask the same function.  A library that is not there, or refuses, is another
 * matter: then it is the worker's own kernel, whatever stands here.  Pure; any thread. */
#ifndef BRAZE_PRODUCT_WAY_H
#define BRAZE_PRODUCT_WAY_H

#include "product.h"

enum product_way {
	PRODUCT_BY_KERNEL,  /* braze's own */
	PRODUCT_AS_IT_LIES, /* by the library, from the operands where they are */
	PRODUCT_PACKED,	    /* by the library, from copies that lie as it wants them */
};

struct product_choice {
	enum product_way way;
	const char *why; /* of the kernel: what keeps the library from it */
};

/* What packed operands have multiples of, in bytes: rows, and how far they are apart. */
#define PRODUCT_PACKED_BYTES 16
/* Sums of so many products of two bytes stay within 32 bits. */
#define PRODUCT_PACKED_DEEP 131071

/* base: where the operands begin, in bytes, as far as that is known. */
struct product_choice product_choose(const struct product *p, const uint64_t base[3]);

/* How a matrix in C order, rows x cols with strides in elements, is told to a library that
 * thinks in columns: turned or not, and its leading dimension.  false: it cannot be. */
bool product_layout(bool *turned, int64_t *ld, int64_t rows, int64_t cols, int64_t row,
		    int64_t col) MUST_USE;

#endif
