/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_lang_lane.h - what the parts of the emitter of a kernel's text share. */
#ifndef BRAZE_EMIT_LANG_LANE_H
#define BRAZE_EMIT_LANG_LANE_H

#include "lang/lang_loops.h"
#include "lang/lang_nest.h"
#include "text.h"

#define EMIT_LANG_VERSIONS 8 /* of loops inside each other */

/* Is a place proven inside?  ALWAYS: where conditions around it do not hold, too. */
enum { INSIDE_NOT, INSIDE_HERE, INSIDE_ALWAYS };

enum { IN_NONE, IN_WHILE, IN_COUNTED };

/* A copy of a loop's instructions, whose labels are its own. */
struct version {
	uint32_t first, last, number;
	bool quick; /* the test before it has a short way, to where few turns are made */
};

struct lane {
	struct text o;
	const struct lang_program *p;
	struct lang_loops *loops;
	uint8_t *type;			 /* [register]; DTYPE_END: an address */
	const union lang_reg **constant; /* [register]; NULL: it is none */
	uint32_t *owner;		 /* [register]: the function that names it, by its start */
	bool *shared;			 /* [register]: several name it */
	uint32_t *first, *last;		 /* [register]: the instructions that name it lie between */
	bool *start;			 /* [instruction]: a function's first */
	/* [instruction], of a function's first: so many instructions, where it is written into its
	 * callers; and where that may be into a loop of vectors. */
	uint32_t *simple;
	bool *even_fn;
	uint8_t *target; /* [instruction]: so many jumps come here; 255: or more */
	bool *outer;	 /* [instruction]: lang_outermost */
	uint8_t *inside; /* [instruction]: of a place, INSIDE_... */
	uint8_t *both;	 /* [instruction]: 1: its truth joins by and, 2: by or, see put_some */
	/* [instruction], of a while's CODE_LOOP and of the load that its head ends with: 1 + the
	 * head, which is written at each way to it */
	uint32_t *turn;
	/* [instruction], of a place or a load: 1 + the one before that gives the same */
	uint32_t *as;
	bool *row;	/* [register]: of a place, named by a row and an index in bz_unit */
	uint8_t *in;	/* [instruction]: the innermost loop around it, IN_... */
	bool again;	/* a head is being written at a way to it */
	bool *one;	/* [register]: it is 1 */
	uint8_t *close; /* [register]: of a view in bz_unit the stride, if it has more elements than
			   one; 0 */
	bool taking;	/* elements of a reduction go to o_, */
	bool adding;	/* or to lane_ */
	bool closely;	/* a loop is being written whose strides are e->close */
	bool even;	/* a loop is being written that goes straight on to its end */
	bool few;	/* a loop of strips is being written without them */
	bool failed;	/* a loop is being written for when its test does not hold */
	bool *bounded;	/* [loop]: the test knows its first and last number */
	uint32_t *loop; /* [instruction]: 1 + the loop that begins here */
	struct version version[EMIT_LANG_VERSIONS]; /* that are being written */
	unsigned nversion;
	uint32_t versions, left; /* so far in this function; instructions that may be copied yet */
	uint32_t values, rooms;	 /* variables of tests, and of what is short before them: */
	size_t opened;		 /* these are declared here */
	bool *share;		 /* [instruction]: a loop that several threads may do */
	uint32_t part;		 /* 1 + the range whose part is being written; 0 */
	const struct lang_nest *nest; /* of that */
	bool whole;		      /* no copies: they would be too long */
	bool unit;		      /* bz_unit is being written */
};

/* A register's name, in one of a few buffers in turn. */
const char *emit_lang_register(const struct lane *e, uint32_t r);

/* A label of the copy that is being written, in one of a few buffers in turn. */
const char *emit_lang_label(const struct lane *e, uint32_t to);
/* The begin of a function that does what the kernel does: variables, arrays. */
void emit_lang_open(struct lane *e, bool unit);
/* Instructions, with what is said of their loops. */
void emit_lang_some(struct lane *e, uint32_t first, uint32_t last);

/* Does the range go by steps of 1?  Then d + 2 is its bound instead of the turns that are left, so
 * that the compiler sees between what and what its number lies. */
bool emit_lang_by_one(const struct lane *e, const struct lang_ins *range);
/* Is this the range of a loop that becomes a loop of C, and no jump? */
bool emit_lang_is_plain(const struct lane *e, uint32_t range);
/* Is the loop of strips whose range this is there for few turns, too?  One that has a test before
 * it comes there in two ways, if the copy that is being written is quick. */
bool emit_lang_has_few(const struct lane *e, uint32_t range);
/* The range's first number and its bound are in their registers; or: are there so few turns? */
void emit_lang_begin_range(struct lane *e, uint32_t range);
void emit_lang_are_few(struct lane *e, uint32_t range);
/* CODE_RANGE and CODE_NEXT. */
void emit_lang_range(struct lane *e, uint32_t at);
void emit_lang_next(struct lane *e, uint32_t at);
/* CODE_LOOP of such a loop; false: it is of another, and nothing is written. */
bool emit_lang_turns_end(struct lane *e, uint32_t at);

/* Before a strip, of c turns: fewer, if what all of them read is written in one. */
void emit_lang_apart(struct lane *e, uint32_t range);
/* Before a long one: only the turns up to one that writes the begin of a line of the cache. */
void emit_lang_align(struct lane *e, uint32_t range);
/* Before the strips of a loop over elements: whole blocks of what a sum takes of it. */
void emit_lang_blocks(struct lane *e, uint32_t range);

/* One on slices. */
void emit_lang_slice(struct lane *e, uint32_t at);
/* By the machine on its own registers. */
void emit_lang_step(struct lane *e, const struct lang_ins *i, uint32_t at);
/* The elements of a strip are where the reduction takes them from. */
void emit_lang_taken_all(struct lane *e, const struct lang_ins *take);
/* e->one, e->close */
void emit_lang_find_strides(struct lane *e);
/* Is the loop one over elements of slices, of one stretch of code that cannot fail? */
bool emit_lang_is_elements(const struct lane *e, uint32_t loop);
/* CODE_TAKE of such a loop; NULL. */
const struct lang_ins *emit_lang_taken(const struct lane *e, uint32_t loop);
/* Such a loop of bz_unit in two ways: its last instruction; 0: it is none, and nothing is written.
 */
uint32_t emit_lang_elements(struct lane *e, uint32_t range);

/* One instruction. */
void emit_lang_one(struct lane *e, uint32_t at);

/* Where this is the jump over b in "a and b" or "a or b", and b may be done in any case: the
 * instruction that has b's truth; else 0. */
uint32_t emit_lang_both(const struct lane *e, uint32_t at);
/* if c { x[i] = v } else { x[i] = w }, of which all but the store may be done in any case, as one
 * store of either.  The last instruction; 0: it is no such, and nothing is written. */
uint32_t emit_lang_either(struct lane *e, uint32_t at);

/* e->share */
void emit_lang_find_shared(struct lane *e);
/* The machine sees the registers of the loop that follows. */
void emit_lang_show(struct lane *e, uint32_t range);
/* Before a loop: others may do it. */
void emit_lang_share(struct lane *e, uint32_t range);
/* A function for each such loop, and the way to it from bz_unit. */
void emit_lang_parts(struct lane *e);
void emit_lang_begin_part(struct lane *e);
/* In a part: an addition whose order has bits keeps its number; false: it is none. */
bool emit_lang_keep(struct lane *e, uint32_t at);

/* Is it the CODE_LOOP of a while? */
bool emit_lang_is_while(const struct lane *e, uint32_t end);
/* e->in and e->row; then e->turn and e->as */
void emit_lang_find_rows(struct lane *e);
void emit_lang_find_turns(struct lane *e);
/* Behind a load: the head of a while ends here, perhaps. */
void emit_lang_turn_begins(struct lane *e, uint32_t at);
/* To the next turn of the while that ends at CODE_LOOP `end`, past its head; and that one itself.
 */
void emit_lang_way(struct lane *e, uint32_t end);
void emit_lang_way_back(struct lane *e, uint32_t end);
/* The place of an element of that type, as C; in a buffer of its own. */
const char *emit_lang_address(const struct lane *e, uint32_t reg, unsigned type);
/* CODE_PLACE and CODE_LOAD. */
void emit_lang_place(struct lane *e, uint32_t at);
void emit_lang_load(struct lane *e, uint32_t at);
/* A stretch of a while that begins here, with one comparison for its indices: its last instruction;
 * 0: it is none, and nothing is written. */
uint32_t emit_lang_stretch(struct lane *e, uint32_t at);

/* CODE_FUSES. */
void emit_lang_fuses(struct lane *e, uint32_t at);

/* The form's value, of what is known before the loop; of loop `strip`, if it is one, before its
 * next turn. */
void emit_lang_sum(struct lane *e, uint32_t form, uint32_t strip);
/* Writes a test before the loop: `bad` is 0 only if all places of the loop that it sets in
 * e->inside are inside their arrays in every turn.  Returns how many these are. */
unsigned emit_lang_bounds(struct lane *e, uint32_t loop);

#endif
