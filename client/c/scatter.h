/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/scatter.h - the loops of scattering: places to offsets, and elements to offsets. */
#ifndef BRAZE_SCATTER_H
#define BRAZE_SCATTER_H

#include "client.h"

/* Places along one axis, as a row of them is read. */
struct scatter_axis {
	const char *at;
	unsigned dtype;
	int64_t extent, step; /* of the axis that is written; step in bytes */
	uint64_t reach;	      /* the bits of all places: none is larger, unless some are negative */
};

/* Where elements are: the k-th at place[k] * unit bytes from an address.  wide: no near cache holds
 * them all, so that each line is asked for SCATTER_AHEAD elements before it is written. */
struct scatter_at {
	const int64_t *place;
	int64_t unit;
	bool wide;
};

/* The first n elements there, from the address `to`, become those at from, `step` bytes apart, or
 * an operation of both; one after the other. */
typedef void scatter_fn(char *to, const struct scatter_at *at, const char *from, int64_t step,
			int64_t n);

/* Elements of so many bytes are replaced. */
scatter_fn *scatter_store(unsigned bytes);
/* They become op(they, those); NULL: no loop has that operation and type. */
scatter_fn *scatter_combine(enum op op, unsigned dtype);
/* The offsets of n places, `stride` bytes apart from x->at; all are inside. */
void scatter_offsets(int64_t *offset, const struct scatter_axis *x, int64_t stride, int64_t n);
/* How many of n places come before the first that is not in -extent .. extent - 1; notes the
 * reach. */
int64_t scatter_inside(struct scatter_axis *x, int64_t stride, int64_t n);
/* The place at this address. */
int64_t scatter_place(unsigned dtype, const char *at);
/* Until those of n arrays that are pending are there, asked for in one demand. */
int scatter_wait(int n, struct braze_array *const *all, braze_check_fn *check, void *data,
		 braze_error *err);
#define SCATTER_WAITS (2 + LIMIT_NDIM) /* the most it takes */

/* Of a table in no near cache: a store waits for its line, and those after it for the store, so
 * the lines are asked for before, SCATTER_AHEAD at a time or that many elements ahead. */
#define SCATTER_AHEAD 32
#define SCATTER_WIDE  (256 << 10) /* bytes that a core's cache has in any case */
static inline void scatter_prefetch(const char *to, const struct scatter_at *at, int64_t n)
{
	for (int64_t k = 0; k < n; k++)
		__builtin_prefetch(to + at->place[k] * at->unit, 1);
}

#endif
