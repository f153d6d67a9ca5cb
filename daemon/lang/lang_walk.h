/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_walk.h - what the parts of lang_nest.c's walk over a loop share. */
#ifndef BRAZE_LANG_WALK_H
#define BRAZE_LANG_WALK_H

#include "lang_nest.h"

#define NOT_WRITTEN UINT32_MAX
#define FUNCTIONS   (UINT32_MAX - 1) /* functions of the text write it: it lives for a statement */

/* How a walk goes: registers and arrays are a guess, and indices lie inside. */
#define WALK_SUPPOSED 1u
/* Whoever does the turns looks at each index, so that one of which nothing is known may be any of
 * its axis, and a loop inside may have any bounds. */
#define WALK_CHECKED 2u
/* Scalars that are only added to are the caller's to look at, whatever their order. */
#define WALK_ADDED 4u

/* A register that the loop writes. */
struct written {
	uint32_t reg, writes, reads;
	uint32_t adds, made; /* reads and writes of additions to it: */
	struct lang_addition by;
	bool early;   /* read by a turn that has not written it */
	bool outside; /* read by what is not in the loop */
	bool known;   /* value is what it has */
	/* Else, perhaps, what it is at least, or at most. */
	bool limited[2];
	int access; /* of an address; -1 */
	struct lang_affine value, limit[2];
};

struct walk {
	const struct lang_program *p;
	const struct lang_loops *loops; /* NULL: there is none */
	const union lang_reg *reg;	/* NULL: only what holds in every call is asked */
	const struct lang_array *array;
	struct lang_nest *out;
	uint32_t range, end, words;
	uint32_t *slot; /* [register] */
	struct written *w;
	uint32_t nw;
	uint64_t *now; /* a bit for each written register: this turn has written it */
	uint64_t *
		*before; /* [instruction]: the same, of the jumps to it; NULL: there are none yet */
	bool gone;	 /* behind a jump: only other jumps come here */
	struct lang_turns turns[LANG_ACCESSES];
	struct lang_reach access[LANG_ACCESSES];
	uint32_t place[LANG_ACCESSES];
	bool maybe[LANG_ACCESSES]; /* not in every turn of its loops */
	/* Of a loop that does what several do (lang_fuse.h): which of them this is, in each loop
	 * around, now and where an access is. */
	uint8_t now_of[LANG_PATH], of[LANG_ACCESSES][LANG_PATH];
	unsigned how;	    /* WALK_* */
	uint64_t unbounded; /* a bit for each of `turns`: its bounds and number are not known */
	bool guessed;	    /* there are such, or indices that may be any of their axis */
	unsigned nturns, naccess, depth;
	uint32_t path[LANG_PATH], path_end[LANG_PATH], path_range[LANG_PATH];
	uint64_t many[LANG_PATH + 1]; /* turns of the loops around, together */
	bool widened;		      /* loops may have fewer turns than `turns` says */
	bool full;		      /* no memory */
};
/* What a walk is for: done behind it, unless there is no memory; w->out->why: where it ended. */
typedef void lang_walk_fn(struct walk *w, void *data);
/* false: no memory. */
bool lang_walk_over(struct lang_nest *out, const struct lang_program *p,
		    const struct lang_loops *loops, uint32_t range, const union lang_reg *reg,
		    const struct lang_array *array, unsigned how, lang_walk_fn *then, void *data);
/* As lang_walk_fn: may the turns of the loop run at once? */
void lang_nest_at_once(struct walk *w, void *data);
/* Is the number of the loop that is the k-th around not known? */
bool lang_walk_unbounded(const struct walk *w, unsigned k);
/* lang_walk.c: what registers have.  The value of a register now, as a sum over loop numbers;
 * false: it is not known to be one.  Where the walk has no values, it only tells whether it is one
 * in some call. */
bool lang_walk_value(struct walk *w, uint32_t reg, struct lang_affine *out);
/* The same, or else a sum that is never above it (side 0), or never below it (1). */
bool lang_walk_limit(struct walk *w, uint32_t reg, unsigned side, struct lang_affine *out);
/* Of what an instruction makes. */
bool lang_walk_made(struct walk *w, const struct lang_ins *i, struct lang_affine *out);
/* The limits of a minimum or a maximum of sums, or of a copy of one. */
void lang_walk_limits(struct walk *w, const struct lang_ins *i, struct written *x);
bool lang_affine_constant(const struct lang_affine *f);
/* false: a number leaves int64. */
bool lang_affine_scaled(struct lang_affine *out, const struct lang_affine *a, int64_t by);
bool lang_affine_added(struct lang_affine *out, const struct lang_affine *a,
		       const struct lang_affine *b);
/* Is it far from the ends of int64 in all turns of the loops around? */
bool lang_walk_small(struct walk *w, const struct lang_affine *f);
/* What holds where instruction `at` is done: sums that are at least 0.  How many. */
unsigned lang_walk_conditions(struct walk *w, uint32_t at, struct lang_affine *out);

#endif
