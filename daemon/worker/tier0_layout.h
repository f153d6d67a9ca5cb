/* SPDX-License-Identifier: Apache-2.0 */
/* worker/tier0_layout.h - what the interpreter knows of a nest before its first call.
 *
 * In:  a checked nest.  Out: which instructions are needed, in which registers their values
 * lie, and which may lie in the arena instead.  Follows from the nest alone. */
#ifndef BRAZE_TIER0_LAYOUT_H
#define BRAZE_TIER0_LAYOUT_H

#include "form/nest.h"

struct tier0_layout {
	bool runs[LIMIT_NEST_INSTRS];	 /* in the blocks of its section */
	bool own[LIMIT_NEST_INSTRS];	 /* its register is no other value's: it stays */
	uint16_t reg[LIMIT_NEST_INSTRS]; /* register of the value */
	uint16_t nreg, nreduce;
	uint16_t reduce[LIMIT_NEST_REDUCES]; /* instructions */
	bool lend[LIMIT_NEST_INSTRS];	     /* a load's memory may be its value */
	uint16_t into[LIMIT_NEST_INSTRS];    /* 1 + the store whose memory may be */
	uint32_t indexed;		     /* loops that NI_INDEX reads */
	bool dots;	  /* the body is one sum of products of two loads, of one type of floats: */
	uint16_t pair[2]; /* these */
	int64_t block;	  /* elements of a register */
	size_t reg_bytes;
};

void tier0_layout_init(struct tier0_layout *lay, const struct nest *s);

#endif
