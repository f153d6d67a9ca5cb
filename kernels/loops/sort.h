/* SPDX-License-Identifier: Apache-2.0 */
/* loops/sort.h - sorting along an axis, near and in the worker.
 *
 * A lane is what is sorted: the elements of one axis, the others fixed.  Elements become *items*:
 * unsigned keys in whose order they belong, with their place beside them where places are asked
 * for (or the elements are complex, and fetched by their places in the end).  Blocks of a lane that
 * fit a core's cache are sorted by the digits of their keys, then merged two by two, level after
 * level; the last one puts elements or places into the result.  All of it is stable: what compares
 * equal (zeros of either sign, all nans, which come last) keeps its order.  So the result is a
 * function of the elements alone, whatever the cut, the threads and the instruction set.
 *
 * Keys of floating elements that travel alone say all their bits, or the elements could not be made
 * of them: there -0 comes before 0 and nans are in the order of their bits, and what is equal is
 * put into its order where it is merged (sort_isa.c).
 *
 * Between two calls all is in the scratch memory, which others may scribble on: what is read there
 * is never trusted to be in order, or to be a place. */
#ifndef BRAZE_LOOPS_SORT_H
#define BRAZE_LOOPS_SORT_H

#include "isa.h"
#include "lanes.h"
#include "ops.h"

#define SORT_BLOCK (128 << 10)		    /* bytes of items, and of short lanes of any; */
#define SORT_KEYS  (256 << 10)		    /* of keys alone, or with places in 64 bits */
#define SORT_WORK  (2 * SORT_KEYS + 2 * 64) /* bytes of memory that a thread works in, at most */

/* Items: keys of so many bytes; keys with places. */
enum sort_item { SORT_8, SORT_16, SORT_32, SORT_64, SORT_64_PLACE, SORT_128_PLACE, SORT_ITEMS };

/* n elements of each of `lanes` lanes, steps in bytes. */
struct sort_patch {
	char *at;
	int64_t n, step;
	int64_t lanes, lane;
	int64_t first; /* the place of each lane's first one */
};

/* The loops of one type, for its elements or for their places. */
struct sort_type {
	/* Items, lane after lane; true: some may compare equal that differ. */
	bool (*load)(void *items, const struct sort_patch *from);
	/* The other way: elements; places as int64; NULL: elements are fetched by their places. */
	void (*store)(const struct sort_patch *to, const void *items);
	uint8_t item;  /* enum sort_item */
	uint8_t low;   /* bits of the key below those that matter */
	bool floating; /* keys that say all bits of floating elements */
};

/* The loops of one kind of item.  equals: of floating elements alone. */
struct sort_loops {
	int bytes;
	/* n > 0 items of one block, in order, into `to`; the others become anything. */
	void (*block)(void *to, void *items, int64_t n, unsigned low);
	/* Put what compares equal in the sorted block into the order that it has in `as_read`. */
	void (*settle)(void *block, const void *as_read, int64_t n);
	/* The results [at, at + n) of two runs side by side, merged. */
	void (*merge)(void *to, const void *a, int64_t na, const void *b, int64_t nb, int64_t at,
		      int64_t n, bool floating);
	/* The place of each item. */
	void (*places)(int64_t *to, const void *items, int64_t n);
};

struct sort_isa {
	struct sort_loops loops[SORT_ITEMS];
	struct sort_type values[DTYPE_END], places[DTYPE_END];
};

extern const struct sort_isa sort_isa_v2, sort_isa_v3, sort_isa_v4;

/* What is sorted where. */
struct sort_call {
	const struct sort_isa *isa;
	uint8_t dtype;
	bool places; /* are asked for */
	char *to;
	const char *from;
	char *scratch; /* sort_cut.scratch bytes */
	struct lanes lanes;
};

/* The kind of items that elements of a type become. */
enum sort_item sort_item_of(unsigned dtype, bool places);
/* The longest lane whose places an item has room for. */
int64_t sort_longest(unsigned dtype, bool places);

/* Cut into units: groups of short lanes; or, of lanes of several blocks, a block of one at a level,
 * those of all lanes of a group level by level.  A *stage* is the units that may be done at once:
 * all of a level. */
struct sort_cut {
	int64_t lanes, n;
	int64_t bytes, block; /* of an item; items of a block */
	int64_t blocks;	      /* of a lane */
	int64_t group;	      /* lanes, at most */
	int levels;	      /* of merges */
	int64_t units;
	int64_t scratch; /* bytes */
	int64_t work;	 /* bytes that a unit works in */
};
/* false: more than can be counted. */
bool sort_cut(struct sort_cut *out, int64_t lanes, int64_t n, unsigned dtype, bool places) MUST_USE;
/* The unit after the last one of this one's stage. */
int64_t sort_stage(const struct sort_cut *cut, int64_t unit);
/* Do a unit, all of the stages before it being done.  work: cut->work bytes, at a multiple of 64.
 */
void sort_unit(const struct sort_call *c, const struct sort_cut *cut, int64_t unit, char *work);

#endif
