/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_fuse.h - loops in a row that become one.
 *
 * lang_fuse.c writes such loops twice: as one loop, whose turns do the turns of all, and as they
 * are; CODE_FUSES before says which of the two a run takes.  lang_fused.c is what says so, with the
 * values of the call: the one loop is right where nothing in it can fail and no element is touched
 * by two turns that come in another order than before.
 *
 *   fuses d          may the loop behind be it?  to 1: only if straight
 *   unless d apart
 *   range ... seam ... loop      (CODE_SEAM: what follows is of the next of the loops)
 *   jump behind
 *   apart: the loops as they are written
 *   behind:
 *
 * A loop in whose turns only such loops stand has a copy by strips: for some turns of the loops
 * inside all turns of the outer one, then for the next.  What lies in memory is then read once, not
 * once in each turn.
 *
 *   fuses d          may it be so?
 *   unless d apart
 *   range (CLAIM_STRIPS) ... range: the outer one ... range: the loops as one ... loop loop loop
 *
 * Where turns of the loops inside need their neighbours' of before (a stencil), strips can lean:
 * each loop's strip lies to - 1 turns before that of the loop before it, so that whatever a turn
 * touches has been done, and what it leaves there is not done yet.  Of some turns of the outer loop
 * at a time, since in many of them the strips would lie far from each other.
 *
 *   fuses d          (to: 1 + by how much) may it be so?
 *   unless d apart
 *   range: some turns ... range: their strips ... range: the turns
 *     range ... loop ... range ... loop   (each of the loops, for its strip)
 *   loop loop loop
 *   jump behind
 *   apart: the loop as it is written, about which the question is
 *
 * Loops inside that stand in a row when those around them are one are joined as well; the question
 * before the outermost one is about all of them. */
#ifndef BRAZE_LANG_FUSE_H
#define BRAZE_LANG_FUSE_H

#include "lang_nest.h"

#define LANG_FUSED	  8	     /* loops in a row that become one */
#define LANG_FUSED_ARRAYS 16	     /* that one loop goes through */
#define LANG_FUSED_LEAST  (1u << 17) /* instructions of a loop that is worth the question */
#define LANG_STRIP_LEAST  (1u << 16) /* bytes of arrays that are worth strips, */
#define LANG_ROWS_LEAST	  (1u << 20) /* and of loops with others inside, or strips that lean */
#define LANG_LEAN	  16	     /* turns that a strip may lie before that of the loop before */

struct lang_fusion {
	unsigned loops; /* that were asked for, */
	unsigned fine;	/* of which the first so many may be one */
	/* Of the next one, why not: two CODE_PLACE, where `pair`; where `lost`, its turns may run
	 * at once, and those of the one loop may not, or the other way round; where `strange`, it
	 * has loops inside, and goes through no array as one before it does; else nest.why. */
	bool pair, lost, strange;
	uint32_t at, other;
	/* No two turns of an innermost loop touch the same bytes, and arrays that meet are the
	 * same: vectors may be made of it as it stands. */
	bool straight;
	unsigned lean; /* of strips that lean: by how much they have to */
	struct lang_nest nest;
};

/* What CODE_FUSES `fuses` asks of the loop at its a, as lang_nest_of; supposed: registers and
 * arrays are a guess, so that indices are not asked whether they lie inside.  false: no memory. */
bool lang_fusion_of(struct lang_fusion *out, const struct lang_program *p,
		    const struct lang_loops *loops, const struct lang_ins *fuses,
		    const union lang_reg *reg, const struct lang_array *array, bool supposed);
/* Are they to be one? */
bool lang_fusion_done(const struct lang_fusion *f, bool straight);
/* The same of values that are usual, before there is a call, for CODE_FUSES `fuses`: how many of
 * the loops are one. */
unsigned lang_fusion_guess(const struct lang_program *p, uint32_t fuses, bool straight);
/* What CODE_FUSES asks about leans by so many turns; 0: it does not. */
static inline unsigned lang_lean_of(const struct lang_ins *fuses)
{
	return fuses->to > 1 ? fuses->to - 1 : 0;
}
/* By how much its strips would have to lean; 0: they may not. */
unsigned lang_lean_guess(const struct lang_program *p, uint32_t fuses);
/* Strips that lean wait for each other: where there are threads, loops are theirs. */
bool lang_lean_wanted(const struct lang_kernel *k);
/* How many of the loops have the bounds of the first; those that lean need not. */
unsigned lang_fusion_alike(const struct lang_ins *fuses, const union lang_reg *reg);
/* Is there a loop inside of the range's? */
bool lang_fusion_nested(const struct lang_program *p, uint32_t range);
/* Does the range belong to loops that are one only where they are straight? */
bool lang_fusion_straight(const struct lang_program *p, uint32_t range);

#endif
