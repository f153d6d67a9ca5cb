/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_fuse_parts.h - what loops in a row that become one (lang_fuse.c) and loops by strips
 * (lang_strips.c) are written with. */
#ifndef BRAZE_LANG_FUSE_PARTS_H
#define BRAZE_LANG_FUSE_PARTS_H

#include "lang_check.h"
#include "lang_fuse.h"

#define LANG_COPIES_MAX 4096 /* instructions, behind which texts get no copies */

/* A statement of the loops that are joined.  levels: it is the first of the next one, in so many
 * loops around it. */
struct fuse_item {
	uint32_t id, loop; /* loop: of whose body it is */
	unsigned levels;
};

/* What is as it was when nothing has been tried. */
struct fuse_before {
	uint32_t ncode, nconst, nreg, zero, one, breaks, continues;
	unsigned nsymbol, nclaimed;
	int chain;
	bool in_loop, apart;
	struct err *err;
};

struct fuse_before lang_fuse_remember(const struct lang_checker *c);
void lang_fuse_take_back(struct lang_checker *c, const struct fuse_before *b);

/* The number that a step is; 0: it is none that is known here. */
int64_t lang_fuse_step(const struct lang_checker *c, node *loop);
/* The loops in a loop in which nothing else stands, whose bounds are the same in each of its turns;
 * 0: it is none.  sets: they set variables of before. */
unsigned lang_fuse_inside(struct lang_checker *c, node *around, struct fuse_item *loop, bool *sets);
/* Has none of them a loop inside? */
bool lang_fuse_flat(const struct lang_checker *c, const struct fuse_item *loop, unsigned n);

/* The bounds of the loops, in registers behind each other; first: those of the first one, as they
 * are. */
bool lang_fuse_bounds(struct lang_checker *c, const struct fuse_item *loop, unsigned n,
		      uint32_t *pairs, uint32_t *first);
/* CODE_FUSES at *fuses, about the loop behind, and the jump around that. */
bool lang_fuse_question(struct lang_checker *c, node *n, struct lang_ins *ask, uint32_t *fuses);
/* The number of a joined loop by the name that this one has for it. */
bool lang_fuse_number(struct lang_checker *c, node *loop, uint32_t reg);
/* The loops as one; first: its start, stop and step; deep: loops inside are joined as well. */
bool lang_fuse_one(struct lang_checker *c, const struct fuse_item *loop, unsigned n, uint32_t pairs,
		   const uint32_t *first, bool deep);
/* The loops as they are written, behind the jump over them; false: an error. */
bool lang_fuse_apart(struct lang_checker *c, const struct fuse_item *loop, unsigned n,
		     uint32_t fuses);

/* The loop by strips of those inside, with its question at *fuses; false: it is not written. */
bool lang_fuse_strips(struct lang_checker *c, node *around, uint32_t *fuses);
/* The same by strips that lean, and as it is written. */
bool lang_fuse_leaning(struct lang_checker *c, uint32_t id);

#endif
