/* SPDX-License-Identifier: Apache-2.0 */
/* loops/walk.h - points of a set of loops in C order, and copies between memory at those
 * points and registers.  Whoever has operands has their steps through the loops. */
#ifndef BRAZE_WALK_H
#define BRAZE_WALK_H

#include <stdint.h>

#include "limits.h"

struct walk {
	int n;			    /* loops, at least 1 */
	int64_t extent[LIMIT_NDIM]; /* outermost first */
};

/* Index of each loop at the flat point p. */
void walk_seek(const struct walk *w, int64_t p, int64_t index[LIMIT_NDIM]);
/* Bytes from point 0 to the point, by steps of so many in each loop. */
int64_t walk_offset(const struct walk *w, const int64_t *step, const int64_t *index);
/* Of the n points at `index` and after, those in the same row. */
int64_t walk_row(const struct walk *w, const int64_t *index, int64_t n);
/* From the end of a row to the start of the next. */
void walk_next_row(const struct walk *w, int64_t *index);

/* n elements of `bytes` each from the points at `index` and after into dst. */
void walk_load(const struct walk *w, const int64_t *step, const int64_t *index, const char *base,
	       unsigned bytes, int64_t n, char *dst);
/* The same the other way: nothing but those elements is written. */
void walk_store(const struct walk *w, const int64_t *step, const int64_t *index, char *base,
		unsigned bytes, int64_t n, const char *src);
/* All of them from memory to memory: the very same elements, or others that share no bytes. */
void walk_copy(const struct walk *w, const int64_t *from, const int64_t *to, const char *src,
	       char *dst, unsigned bytes);
/* The first n elements at dst, at a multiple of their size, all as the one at `element`. */
void walk_fill(char *dst, const void *element, unsigned bytes, int64_t n);

#endif
