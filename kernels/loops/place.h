/* SPDX-License-Identifier: Apache-2.0 */
/* loops/place.h - where the extreme of elements side by side is, and numbers in a row: for a
 * client.
 *
 * Both are plain integers' or additions' business, so the same as the trees' and the worker's. */
#ifndef BRAZE_LOOPS_PLACE_H
#define BRAZE_LOOPS_PLACE_H

#include <stdbool.h>

#include "isa.h"
#include "ops.h"

/* The place of the first of n > 0 elements' least or largest, or of the first NaN. */
typedef int64_t place_fn(const void *at, int64_t n);
/* n elements from *first on, *step apart, each by one multiplication and one addition. */
typedef void count_fn(void *to, const void *first, const void *step, int32_t n);
/* Mantissas and exponents of n numbers, as the operations of those names have them; all lie apart.
 */
typedef void parts_fn(void *mantissa, int32_t *exponent, const void *at, int64_t n);

struct place_isa {
	place_fn *least[DTYPE_END], *largest[DTYPE_END]; /* NULL: the trees know */
	count_fn *count[DTYPE_END];			 /* NULL: has none */
	parts_fn *parts[DTYPE_END];			 /* NULL: has none */
};

extern const struct place_isa place_isa_v2, place_isa_v3, place_isa_v4;

#endif
