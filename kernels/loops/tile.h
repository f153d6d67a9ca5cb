/* SPDX-License-Identifier: Apache-2.0 */
/* loops/tile.h - the tree of kernels/tree.h for many results at a time.
 *
 * One row of the reduced points after another is combined into the lanes of columns, a
 * column for each result.  The bits are those of the tree that takes a result at a time,
 * so which way to go is a question of speed. */
#ifndef BRAZE_TILE_H
#define BRAZE_TILE_H

#include "tier0_ops.h"

#define TILE	    256 /* columns at most */
#define TILE_LEVELS 40	/* of the counter; blocks are fewer than 2^40 */
#define TILE_BYTES  ((size_t)TILE * 512 + (size_t)TILE * 16 * TILE_LEVELS)

struct tile {
	const struct tier0_red *red; /* has an identity, or side */
	tier0_fn *combine;	     /* the loop of red->combine */
	const struct tier0_red *by;  /* whose columns, and vectors */
	char *memory;		     /* TILE_BYTES at a multiple of 64 */
	uint32_t dtype;		     /* of the tree */
	int sp;			     /* columns on the counter's stack */
	int64_t n;		     /* columns */
	size_t row;		     /* bytes of a lane's, whole vectors */
	uint64_t pushed;	     /* blocks */
	bool moved;		     /* the last columns end the last vector */
};

void tile_init(struct tile *t, const struct tier0_isa *isa, const struct tier0_isa *wide,
	       const struct tier0_red *red, unsigned dtype, int64_t n, char *memory);
/* The columns' values at reduced point e, one after another from the start of a chunk to
 * `total`, the point behind the last. */
void tile_take(struct tile *t, const char *values, int64_t e, int64_t total);
/* The same of all reduced points 0 .. `total` of a tile that has taken none, `step` bytes apart;
 * nothing behind a row's last column is read.  False: it has no loop for that. */
bool tile_take_all(struct tile *t, const char *values, int64_t step, int64_t total);
/* The columns' results, packed, in the tile's memory; of argmin and argmax the places, and,
 * of tile_take, the values are at t->memory. */
char *tile_end(struct tile *t);

#endif
