/* SPDX-License-Identifier: Apache-2.0 */
/* loops/take.h - elements at places whose offsets are known, side by side.
 *
 * At each place lies a piece of the source: a row of elements `step` bytes apart, for each point of
 * the rest of the loops.  The result has the places' pieces `to_step` bytes apart, in each piece
 * the elements of a row side by side.
 *
 * Where a row's elements lie apart (columns of a matrix, say), a place's row would fetch a line
 * for each element, and the next one's the same lines again, from ever farther away.  So such
 * rows are gone through by strips: some elements of all places' rows, whose lines a core's cache
 * holds, before the next ones; as many as that allows, since what is written goes on from line to
 * line. */
#ifndef BRAZE_TAKE_H
#define BRAZE_TAKE_H

#include <stdbool.h>

#include "walk.h"

struct take {
	char *to;
	const char *from;
	unsigned bytes;	 /* of an element: 1, 2, 4, 8 or 16, at any address */
	int64_t to_step; /* from a place's piece to the next one's */
	int64_t n, step; /* a row: its elements, and the bytes between them in the source */
	struct walk rest;
	int64_t rest_to[LIMIT_NDIM], rest_from[LIMIT_NDIM];
	int64_t strip; /* elements of a row at a time (take_strip) */
	bool past;     /* the caches do not hold the result: whole lines of it go past them */
};

/* Are its rows gone through by strips? */
static inline bool take_strips(const struct take *t)
{
	return t->n > 1 && t->step != (int64_t)t->bytes;
}

/* How many elements a strip has, for places with these offsets. */
int64_t take_strip(const struct take *t, const int64_t *offset, int64_t places);
/* Elements [lo, hi) of the rows of the places with these offsets, for points [first, end) of the
 * rest. */
void take_some(const struct take *t, const int64_t *offset, int64_t places, int64_t first,
	       int64_t end, int64_t lo, int64_t hi);
/* What went past the caches is there for other threads. */
void take_end(const struct take *t);
/* Each of n bytes becomes 1, unless it is 0: what is stored as a truth value may be any byte. */
void take_truths(char *at, int64_t n);

#endif
