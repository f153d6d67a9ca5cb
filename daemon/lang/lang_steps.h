/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_steps.h - an instruction as the machine runs it: its function and what that needs. */
#ifndef BRAZE_LANG_STEPS_H
#define BRAZE_LANG_STEPS_H

#include <stdatomic.h>

#include "lang.h"

struct run;
struct step;
/* Does the step; returns the next one, NULL to end the run. */
typedef const struct step *step_fn(struct run *r, const struct step *s);

struct step {
	step_fn *fn;
	tier0_fn *loop;
	const struct tier0_red *red;
	const struct step *to; /* of jumps */
	uint32_t d, a, b, c;
	uint16_t op;
	uint8_t bytes, out_bytes, to_type;
	uint32_t line;
};

#define LANG_BLOCK 1024 /* BZ_BLOCK and BZ_CHUNK of kernels/tree.h */
#define LANG_CHUNK 65536

/* A reduction under way: elements that wait for a block to be full, the tree of its chunk, and that
 * of the chunks before. */
struct lang_sum {
	char state[2][TIER0_STATE_BYTES] __attribute__((aligned(64)));
	char room[(LANG_BLOCK + TIER0_LANES) * 16] __attribute__((aligned(64)));
	struct lang_block block;
	int64_t count; /* that the trees have */
};

/* Values of a slice that wait until all are computed. */
struct lang_aside {
	uint64_t bytes;
	char at[];
};
#define LANG_SPARE (64u << 20) /* bytes that a kernel keeps between its runs */

/* The sum of a value from each turn of a loop, in the tree of reductions over the turns. */
struct lang_total {
	char state[TIER0_STATE_BYTES] __attribute__((aligned(64)));
	char room[(LANG_BLOCK + TIER0_LANES) * 16] __attribute__((aligned(64)));
	int64_t count; /* turns that the tree has */
	/* Of turns of a part, which goes on where others end: they are kept from block->at on, or
	 * each block leaves its value here.  NULL: neither. */
	char *kept;
	struct bz_acc *folded;
};
struct lang_totals {
	struct lang_block block[LANG_CLAIMED]; /* values that wait for 1024 of them */
	struct lang_total *total[LANG_CLAIMED];
};

/* Machine code made at once (lang_baseline.c), of arrays of any strides and of those whose last
 * axis lies closely. */
struct lang_early {
	_Atomic(struct lang_baseline *) code[2]; /* NULL: none yet */
	_Atomic bool making[2];
};

struct lang_kernel {
	struct lang_program *program;
	struct step *step;
	union lang_reg *image; /* of the program's registers as a run begins, without parameters */
	_Atomic(struct lang_aside *) *spare; /* of a run before; NULL there: a run has it */
	_Atomic(lang_code_fn *) unit, any;   /* NULL: no code yet */
	struct lang_early *early;	     /* NULL: until then it is interpreted */
	const struct lang_team *team;	     /* NULL: runs have one thread */
	struct lang_plans *plans;	     /* of its loops; NULL: there is no team */
	struct lang_fusions *fusions;	     /* of those that may be one; NULL: there are none */
};

struct run {
	const struct lang_kernel *kernel;
	union lang_reg *reg;
	const struct lang_array *array;
	const struct lang_program *program;
	const struct step *over; /* of an outermost loop: code goes on from here */
	const struct step *back[LANG_FUNCTIONS];
	unsigned nback;
	uint32_t turns;		  /* until the next look */
	struct lang_aside *aside; /* NULL: none yet */
	struct lang_sum *sum;	  /* NULL: there was none yet */
	struct lang_totals *totals;
	lang_poll_fn *poll;
	void *data;
	enum status status;
	struct err *err;
};

/* What generated code is called with, and what it came from. */
struct lang_frame_of {
	struct lang_frame f; /* first: a frame is one of these */
	struct run *run;
	lang_code_fn *code;
	union lang_reg reg[4]; /* the result and the operands of an operation that apply does, */
	struct run one; /* and what it sees of a run: clearing one for each took most of its time */
};

/* Constants, and parameters that are no arrays; scalar: NULL: without them. */
void lang_registers(union lang_reg *reg, const struct lang_program *p,
		    const union lang_reg *scalar);
/* A frame for a run; array: its arrays as code wants them. */
void lang_frame_set(struct lang_frame_of *x, struct run *r, const int64_t *array,
		    lang_code_fn *code);
/* Addresses, extents and strides, one array behind the other. */
void lang_flatten(int64_t *out, const struct run *r);
/* How many numbers these are. */
unsigned lang_flat_words(const struct lang_program *p);
/* From now on the frame's code may share its loops out. */
void lang_share_begin(struct lang_frame_of *x);
struct lang_plans *lang_plans_new(void);
void lang_plans_free(struct lang_plans *plans); /* NULL is fine */

/* An index as the number from the first element on; false: there is no such. */
static inline bool lang_index(int64_t *i, int64_t extent, int64_t base)
{
	/* Below the base only what counts from the end; 0 of base 1 is neither. */
	if (*i >= base)
		*i -= base;
	else if (*i < 0 && *i >= -extent)
		*i += extent;
	else
		return false;
	return *i < extent;
}

/* What lang_view.c does. */
step_fn lang_step_view, lang_step_join, lang_step_meets, lang_step_aside, lang_step_back,
	lang_step_spot, lang_step_begin, lang_step_take, lang_step_give, lang_step_sweep;
/* What lang_total.c does. */
step_fn lang_step_sum, lang_step_addend, lang_step_summed;
/* The run's sum of this number, which begins; NULL: no memory. */
struct lang_total *lang_total_open(struct run *r, uint32_t number);
/* What waits goes to its tree. */
void lang_total_fold(struct run *r, uint32_t number, const struct tier0_red *red, unsigned bytes);
/* So many values in their order, or those of so many blocks. */
void lang_total_add(struct lang_total *t, const struct tier0_red *red, char *values, int64_t n,
		    unsigned bytes);
void lang_total_join(struct lang_total *t, const struct tier0_red *red, const struct bz_acc *folded,
		     int64_t turns);
void lang_totals_free(struct lang_totals *t); /* NULL is fine */
/* What lang_share.c does. */
step_fn lang_step_claim;
/* What lang_fused.c does. */
step_fn lang_step_fuses;
struct lang_fusions *lang_fusions_new(const struct lang_program *p);
void lang_fusions_free(struct lang_fusions *f); /* NULL is fine */

/* What a run had for that goes. */
void lang_view_end(struct run *r);

/* The run ends, since a place is wrong. */
void lang_wrong_place(struct run *r, uint32_t line, uint32_t array, unsigned axis, int64_t index);
void lang_wrong_step(struct run *r, uint32_t line);
void lang_stopped(struct run *r, uint32_t line);
/* Is there code for what may begin at the start? */
lang_code_fn *lang_code_for(const struct run *r);
/* Does every array's last axis lie closely? */
bool lang_closely(const struct run *r);
/* So many registers more than the program's the code below wants. */
uint32_t lang_early_room(const struct lang_kernel *k);
/* By code that is made at once: to the end, or until r->over.  false: there is none. */
bool lang_run_early(struct run *r, bool unit);
void lang_early_free(struct lang_early *early); /* NULL is fine */
/* By code, from r->over on. */
void lang_go_over(struct run *r, lang_code_fn *code);

/* The same operation without a loop, where one machine operation is all it is; NULL: by the
 * loop. */
step_fn *lang_quick(unsigned op, unsigned type);

#endif
