/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_steps.h - an instruction as the machine runs it: its function and what that needs. */
#ifndef BRAZE_LANG_STEPS_H
#define BRAZE_LANG_STEPS_H

#include "lang.h"

struct run;
struct step;
/* Does the step; returns the next one, NULL to end the run. */
typedef const struct step *step_fn(struct run *r, const struct step *s);

struct step {
	step_fn *fn;
	tier0_fn *loop;
	const struct step *to; /* of jumps */
	uint32_t d, a, b, c;
	uint8_t bytes, out_bytes;
	uint32_t line;
};

struct run {
	union lang_reg *reg;
	const struct lang_array *array;
	const struct lang_program *program;
	const struct step *back[LANG_FUNCTIONS];
	unsigned nback;
	uint32_t turns; /* until the next look */
	lang_poll_fn *poll;
	void *data;
	enum status status;
	struct err *err;
};

/* The same operation without a loop, where one machine operation is all it is; NULL: by the
 * loop. */
step_fn *lang_quick(unsigned op, unsigned type);

#endif
