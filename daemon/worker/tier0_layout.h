/* SPDX-License-Identifier: Apache-2.0 */
/* worker/tier0_layout.h - what the interpreter knows of a nest before its first call.
 *
 * In:  a checked nest.  Out: which instructions run in which phase, in which registers their
 * values lie, and which may lie in the arena instead.  Follows from the nest alone. */
#ifndef BRAZE_TIER0_LAYOUT_H
#define BRAZE_TIER0_LAYOUT_H

#include "nest/nest.h"

#define PRE  1 /* runs at every point */
#define POST 2 /* runs once per parallel point */

struct tier0_layout {
	uint8_t phase[LIMIT_NEST_INSTRS];   /* PRE and POST bits; 0: not needed */
	uint16_t reg[2][LIMIT_NEST_INSTRS]; /* [phase - 1]: register of the value */
	uint16_t nreg, nreduce;
	uint16_t reduce[LIMIT_NEST_REDUCES]; /* instructions */
	uint8_t lend[LIMIT_NEST_INSTRS];     /* phases in which a load's memory may be its value */
	uint16_t into[2][LIMIT_NEST_INSTRS]; /* [phase - 1]: 1 + the store whose memory may be */
	uint32_t indexed;		     /* loops that NI_INDEX reads */
	int64_t block;			     /* elements of a register */
	size_t reg_bytes;
};

void tier0_layout_init(struct tier0_layout *lay, const struct nest *s);

/* Has the value its register for itself, in both phases?  Numbers and results of reductions. */
static inline bool tier0_permanent(const struct nest_instr *in)
{
	return in->op == NI_SCALAR || in->op == NI_REDUCE;
}

#endif
