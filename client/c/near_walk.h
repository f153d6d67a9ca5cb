/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/near_walk.h - strided elements in the order of their loops, for the drivers of
 * near operations. */
#ifndef BRAZE_NEAR_WALK_H
#define BRAZE_NEAR_WALK_H

#include "loops/walk.h"
#include "near.h"

/* The axes of a domain without those of extent 1, neighbours joined where every operand
 * steps through them as through one. */
struct near_walk {
	struct walk loops;
	int64_t step[3][LIMIT_NDIM]; /* bytes, of each operand */
};

/* The axes of the mask, for n operands with these strides. */
void near_walk_init(struct near_walk *w, const struct shape *shape, uint32_t axes, int n,
		    const int64_t *const *stride);
/* Elements [p, p + count) as a register of the operand's loop type: at most NEAR_BLOCK;
 * walk: its operand 0, if it is not contiguous. */
const char *near_operand(const struct near *n, const struct near_in *in,
			 const struct near_walk *walk, int64_t p, int64_t count);
/* Around loops: the processor's floating-point mode as they expect it, and back. */
unsigned near_enter(void);
void near_leave(unsigned mode);

#endif
