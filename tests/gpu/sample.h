/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/sample.h - operands that a seed decides, and how two results are compared.
 * Pure; any thread. */
#ifndef GPU_SAMPLE_H
#define GPU_SAMPLE_H

#include "ops.h"

/* A generator of numbers; never 0. */
struct sample_rng {
	uint64_t state;
};
uint64_t sample_next(struct sample_rng *r);
uint32_t sample_below(struct sample_rng *r, uint32_t n); /* in [0, n) */

enum sample_style {
	SAMPLE_SMALL,  /* a few small values, exact in every type */
	SAMPLE_WIDE,   /* many magnitudes, both signs */
	SAMPLE_SPECIAL /* half of them ends of the range, NaN, infinities, zeros, denormals */
};
/* n elements of a type at out. */
void sample_fill(void *out, unsigned dtype, size_t n, enum sample_style style, uint64_t seed);

/* How equal two results must be.  NaN is equal to NaN always. */
#define SAME_BITS  0.0
#define SAME_VALUE -1.0 /* as SAME_BITS, but zeros of both signs are equal */
/* Units in the last place, of the greater part when complex; a quarter of them for
 * float16, which is computed in float32. */
#define SAME_ULPS 4.0
/* As SAME_ULPS, but of 1 where the result is less: for functions that add to a logarithm,
 * whose sum may cancel. */
#define SAME_ULPS_OF_ONE -4.0

struct sample_gap {
	uint64_t differ; /* elements that differ too much */
	uint64_t first;	 /* index of the first of them */
	double worst;	 /* ulps between any two, where both are finite */
};
/* Who knows better of an element that two results differ in. */
struct sample_judge {
	/* Its real and imaginary part; false: it does not know. */
	bool (*exact)(const void *data, uint64_t element, long double value[2]);
	const void *data;
};
/* true: equal by the rule; where they are not, but a is within it of the judge's value, equal
 * too.  judge: NULL for none. */
bool sample_same(struct sample_gap *gap, const void *a, const void *b, unsigned dtype, uint64_t n,
		 double rule, const struct sample_judge *judge);
/* One element as text. */
void sample_text(char *buf, size_t bytes, const void *at, unsigned dtype);

#endif
