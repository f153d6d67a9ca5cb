/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/places.h - some axes of an array and, for each, an array of places or a number: what
 * gathering and scattering have in common. */
#ifndef BRAZE_PLACES_H
#define BRAZE_PLACES_H

#include "client.h"

struct places {
	struct braze_array *a;
	int n;
	const int *axes, *names; /* in rising order; what messages call them */
	const braze_arg *index;	 /* an array, or a number */
	struct shape spread;	 /* of the arrays, broadcast */
	int64_t offset;		 /* of a, with what the numbers add */
};

/* Check the k-th: the axes' order, the types, a number's place.  Its part of spread and offset. */
enum status places_check(struct places *p, int k, int mode, struct err *err) MUST_USE;
/* Is axis one of them? */
bool places_has(const struct places *p, int axis);
/* The shape of the elements at the places: the places' axes among the others, at
 * places_position. */
void places_shape(struct shape *out, const struct places *p);
/* NumPy: the places' axes stand where they were if those are neighbours, else first. */
int places_position(const struct places *p);

static inline int64_t places_extent(const struct places *p, int k)
{
	return p->a->view.shape.dim[p->axes[k]];
}

static inline int64_t places_stride(const struct places *p, int k)
{
	return p->a->view.stride[p->axes[k]];
}

#endif
