/* SPDX-License-Identifier: Apache-2.0 */
/* worker/steps.h - a CMD_RUN packet taken apart and checked, for every worker.
 *
 * Packets come from the broker, yet every length is checked: a mistake there must
 * end as an error of one run.  Pure; any thread. */
#ifndef BRAZE_STEPS_H
#define BRAZE_STEPS_H

#include "form/grid.h"
#include "form/plan.h"
#include "contract/command.h"

/* What lies behind a struct command_step of a kernel. */
struct steps_operands {
	const struct command_place *place; /* [naccess] */
	const int64_t *extent;		   /* [npar + nred] */
	const int64_t *stride;		   /* [naccess * 8 + loop] */
	const uint64_t *scalar;		   /* [nscalar * 2] */
	const int64_t *gather;		   /* [ngather * 2] */
};

/* The part of a kernel's points that a step does. */
struct steps_slice {
	int64_t lo, hi;	  /* parallel points */
	int64_t clo, chi; /* chunks of the reduced points */
	int64_t points, reduced;
	int64_t chunks;	  /* of each point */
	int64_t elements; /* points of the slice, reduced ones counted too */
};

/* The step at `at`, when it lies whole before `end`; number i, for the message. */
enum status steps_next(const struct command_step **out, const char *at, const char *end, uint32_t i,
		       struct err *err) MUST_USE;
/* The fetches between `at` and the packet's end. */
enum status steps_fetches(const struct command_fetch **out, const char *at, const char *end,
			  uint32_t nfetch, struct err *err) MUST_USE;
/* Places that the step begins with: accesses, operands of a product, ends of a copy. */
uint32_t steps_places(const struct command_step *s);
/* What a step of kind STEP_CALL calls: its row, not checked; all of it, checked. */
unsigned steps_call_id(const struct command_step *s);
enum status steps_call(struct plan_call *out, const struct command_step *s,
		       struct err *err) MUST_USE;
/* Of a call that was checked: its numbers, two words each; of a loop of a kernel what it is. */
const uint64_t *steps_scalars(const struct command_step *s);
enum status steps_grid(struct grid_words *out, const struct command_step *s,
		       const struct plan_call *c, struct err *err) MUST_USE;
struct steps_operands steps_operands(const struct command_step *s);
/* Does the step have the operands that its kernel wants? */
bool steps_fit(const struct command_step *s, const struct nest *spec);
enum status steps_slice(struct steps_slice *out, const struct command_step *s,
			struct err *err) MUST_USE;
/* Bytes that access a of a step that fits its nest touches around its place, in any of
 * its slices and whatever it gathers: [*lo, *hi). */
enum status steps_reach(int64_t *lo, int64_t *hi, const struct command_step *s,
			const struct nest *spec, uint32_t a, struct err *err) MUST_USE;

/* The parts of a STEP_LOOP: struct command_loop tells how many of each. */
struct steps_loop {
	const struct command_loop *loop;
	const struct command_place *place;
	const uint64_t *imm;
	const struct command_patch *patch;
	const uint32_t *scalar;
	const int64_t *size;
	const uint8_t *loops; /* [nstep][8]; NULL: there are no sizes */
	const char *step;     /* the first */
};
bool steps_is_loop(const char *at, const char *end);
/* At `at`, one that ends by `end`, with steps whose accesses and scalars are as many as its
 * patches, and patches that name what it has. */
enum status steps_loop(struct steps_loop *out, const char *at, const char *end,
		       struct err *err) MUST_USE;

#endif
