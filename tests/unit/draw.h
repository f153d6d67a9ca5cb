/* SPDX-License-Identifier: Apache-2.0 */
/* draw.h - numbers for random cases, a function of the seed that a case sets (not 0). */
#ifndef BRAZE_DRAW_H
#define BRAZE_DRAW_H

#include <stdint.h>

static uint64_t seed;

/* From lo to hi, both included. */
static int64_t draw(int64_t lo, int64_t hi)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return lo + (int64_t)((seed >> 11) % (uint64_t)(hi - lo + 1));
}

#endif
