/* SPDX-License-Identifier: Apache-2.0 */
/* form/plan.h - a plan: steps in order over storage slots.
 *
 * Made once per partition (planner.h), immutable afterwards, kept by the
 * plan cache and bound to real storage each time it runs.  Slots stand for
 * storage: an input, an output, or a temporary that lives only inside the plan.
 * Freed with plan_unref on the loop thread. */
#ifndef BRAZE_PLAN_H
#define BRAZE_PLAN_H

#include "nest.h"
#include "call/call.h"
#include "part.h"
#include "place.h"

struct kernel; /* cache/cache.h */
struct grid;   /* form/grid.h */

struct plan_slot {
	uint64_t bytes;
	uint32_t value; /* the partition's value that lies here at the end (outputs) or at
			   the start (inputs); PART_NONE for a temporary */
	uint32_t input; /* the input value whose storage this is at the start, or PART_NONE */
	uint8_t empty;	/* bytes that nobody wrote may be read (EMPTY): where memory may have been
			   somebody else's, it is cleared */
};

/* The last two are in no plan: STEP_COPY carries bytes between host and device, or of an input that
 * must stay as it is, when a plan is bound to storage; STEP_LOOP has a worker turn a plan's steps.
 */
enum step_kind { STEP_KERNEL, STEP_CALL, STEP_COPY, STEP_LOOP };

struct plan_step {
	uint8_t kind;	  /* enum step_kind */
	uint8_t tears;	  /* overwrites bytes of an input value: not re-runnable */
	uint64_t cost_us; /* predicted, for slicing and placement */
	uint64_t math_us; /* of it, what is arithmetic */
	uint16_t shape;	  /* nest_shape: whose runs tell of this one's */
	/* [loop]: the size whose extent it has, + 1, or 0: what stands in nest or call. */
	uint8_t size[LIMIT_NDIM];
	struct nest *nest; /* STEP_KERNEL: concrete extents, strides, slots */
	/* By device.  Set on the loop thread when the plan is first bound for it. */
	struct kernel *kernel[LIMIT_DEVICES];
	struct plan_call *call; /* STEP_CALL */
	/* The loop of a kernel that the call does, which the plan has; set on the loop thread when
	 * it is installed. */
	struct grid *grid;
};

/* Why two nests of the partition stayed apart; row by row for `explain`. */
#define FUSE_REASONS(X)                                                                            \
	X(DOMAIN, "different loops")                                                               \
	X(DEPENDENCE, "a value is read at another point than it was written")                      \
	X(UNKNOWN, "dependence could not be decided")                                              \
	X(ORDER, "a step between them needs the first and feeds the second")                       \
	X(SIZE, "too many instructions")                                                           \
	X(PARAMS, "too many array or scalar parameters")                                           \
	X(REDUCES, "too many reductions")                                                          \
	X(REDUCED, "a reduction's result is needed inside the loops that make it")                 \
	X(LIBRARY, "a library call does not fuse")                                                 \
	X(DISABLED, "fusion is switched off")                                                      \
	X(WINDOW, "too far apart")                                                                 \
	X(BUDGET, "planning budget spent")
enum fuse_reason {
	FUSE_OK,
#define X(id, text) FUSE_##id,
	FUSE_REASONS(X)
#undef X
		FUSE_REASON_END
};
const char *fuse_reason_text(enum fuse_reason r);

struct plan_note {
	uint16_t step;	/* the later of the two */
	uint16_t other; /* the earlier */
	uint8_t reason; /* enum fuse_reason */
};

/* On a machine with several GPUs: what was decided on those behind the first, and why each was the
 * one to be compared with the CPU, the last time; "": it never was. */
struct plan_gpus {
	struct place place[LIMIT_DEVICES - 2][PLACE_CASES];
	char among[LIMIT_DEVICES - 1][PLACE_CASES][PLACE_AMONG];
};

struct plan {
	uint64_t number; /* in the order in which the plan cache took them */
	uint32_t refs;
	uint32_t nslot, nstep, nnote, nvalue;
	struct plan_slot *slot;
	struct plan_step *step;
	struct plan_note *note; /* fusion refusals */
	uint32_t *value_slot;	/* [value of the partition]: its slot, or PART_NONE */
	uint64_t planning_us;
	bool grids;			 /* has it loops of kernels?  Set when it is installed */
	uint32_t nsize;			 /* extents that each turn has of its own (part.mark) */
	int64_t *most;			 /* [nsize]: the largest that the plan is right for */
	struct place place[PLACE_CASES]; /* where it runs; loop thread only */
	struct plan_gpus *gpus;		 /* where there are several; else NULL; likewise */
	uint64_t turn_ns; /* what one of several turns took; 0: none did; loop thread only */
};

void plan_free(struct plan *p);
/* Bytes that it takes up. */
uint64_t plan_bytes(const struct plan *p);
/* Does a step overwrite bytes of an input, so that it cannot be run again? */
bool plan_tears(const struct plan *p);
enum status plan_check(const struct plan *p, const struct part *part, struct err *err) MUST_USE;
size_t plan_print(char *buf, size_t n, const struct plan *p);

#endif
