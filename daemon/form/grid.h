/* SPDX-License-Identifier: Apache-2.0 */
/* form/grid.h - loops of kernels that clients have defined, which operations GRID name.
 *
 * A grid is a text with a loop of it, checked once (lang/lang_grid.h).  The same one in several
 * sessions, or several times in one, is one, so that plans and kernels are too.  Its number is
 * never used again: a plan that names it can mean nothing else.  A grid lives as long as a session
 * or a plan has it; loop thread only.
 *
 * Of the program no more is kept than what an operation is checked by: a short text can make a
 * large one.  Who emits or runs it makes it again. */
#ifndef BRAZE_FORM_GRID_H
#define BRAZE_FORM_GRID_H

#include "call/grid.h"
#include "lang/lang_grid.h"

/* What a grid is, as a client says it. */
struct grid_words {
	const char *text;
	uint32_t range, levels, fast;
	uint32_t only;	/* array; of what turns add to a scalar the one behind the kernel's, */
	uint32_t sum;	/* and one more than the scalar's register; 0: none */
	uint32_t keeps; /* arrays of which a turn reads again what it stores: a bit for each */
};

struct grids;

struct grid {
	struct grids *table;
	struct grid *by_words, *by_number; /* the next one of the same bucket */
	uint64_t hash;
	uint32_t refs, number;
	struct grid_words is;  /* its text is the one below */
	uint8_t narray, nlive; /* of the kernel, in order; registers that come in, rising */
	uint8_t dtype[LIMIT_GRID_ARRAYS], rank[LIMIT_GRID_ARRAYS], live[LANG_LIVE];
	uint32_t bytes; /* of the text, without the 0 */
	char text[];
};

struct grids *grid_table_create(void);
/* When nobody has any of them. */
void grid_table_destroy(struct grids *g); /* NULL is fine */
/* The grid of these words, checked if it is new; the caller has it until grid_unref.  number: that
 * it had in another daemon, of which this one goes on; 0: the next one. */
enum status grid_table_take(struct grid **out, struct grids *g, const struct grid_words *w,
			    uint32_t number, struct err *err) MUST_USE;
/* NULL: there is none. */
struct grid *grid_table_find(const struct grids *g, uint32_t number);
uint32_t grid_table_count(const struct grids *g);
struct grid *grid_ref(struct grid *g);
void grid_unref(struct grid *g); /* NULL is fine */
/* Can it be operand i of an operation that does the grid: an array of this type and so many axes
 * (the written one, then the others in their order), or a number (of each register that comes in)?
 */
bool grid_fits(const struct grid *g, unsigned i, bool array, unsigned dtype, unsigned rank);
/* The words as a program, and its loop; the caller frees *p.  Any thread. */
enum status grid_program(struct lang_program **p, struct lang_grid *out, const struct grid_words *w,
			 struct err *err) MUST_USE;

/* A session's numbers for them. */
struct grid_names {
	struct grid **grid; /* [n], of number i + 1; NULL: none */
	uint32_t n;
};

/* E_PROTOCOL: there is one of this number, or none can be. */
enum status grid_names_check(const struct grid_names *x, uint32_t number, struct err *err) MUST_USE;
/* Of a number that was checked; takes the grid over. */
void grid_names_add(struct grid_names *x, uint32_t number, struct grid *g);
struct grid *grid_names_find(const struct grid_names *x, uint64_t number); /* NULL: none */
/* The one whose own number this is; NULL: none. */
struct grid *grid_names_of(const struct grid_names *x, uint32_t grid);
void grid_names_clear(struct grid_names *x);

#endif
