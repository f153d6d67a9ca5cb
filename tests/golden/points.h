/* SPDX-License-Identifier: Apache-2.0 */
/* tests/golden/points.h - every point of some loops, for answers by enumeration. */
#ifndef BRAZE_TEST_POINTS_H
#define BRAZE_TEST_POINTS_H

#include "form/depend.h"

/* Byte offset of an access at a point. */
static inline int64_t place(const struct depend_access *a, const int64_t *i, unsigned n)
{
	int64_t p = a->offset;

	for (unsigned k = 0; k < n; k++)
		p += a->stride[k] * i[k];
	return p;
}

/* The next point in C order; false after the last. */
static inline bool step(int64_t *i, const int64_t *extent, unsigned n)
{
	while (n-- > 0) {
		if (++i[n] < extent[n])
			return true;
		i[n] = 0;
	}
	return false;
}

#endif
