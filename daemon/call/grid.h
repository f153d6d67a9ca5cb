/* SPDX-License-Identifier: Apache-2.0 */
/* call/grid.h - a loop of a kernel's text as a library step, one operation of the trace.
 *
 * Operands: the array that the loop writes, the kernel's other arrays in their order, and the first
 * one again, read: what the loop leaves alone of it stays.  An array that has the same memory as
 * the written one is bound to what is written, so that a turn reads behind a write what it wrote.
 *
 * Arrays have shapes of their own, so the call's loops are their distinct extents
 * (shape_loops_add), and each operand says in `at` which of them each of its axes goes along.  What
 * the loop does besides, the text says (form/grid.h); numbers that come in are the partition's
 * immediates.  Only its text knows what its turns are: a unit is a part of them. */
#ifndef BRAZE_CALL_GRID_H
#define BRAZE_CALL_GRID_H

#include "call.h"

#define GRID_UNIT 26 /* 2^26 instructions are a unit, */
#define GRID_CUT  10 /* of which a step has 2^10 at most */

/* call_operand.at: of axis k the loop in the four bits from 4 k on; above them how many axes. */
static inline int64_t grid_at(uint32_t loops, unsigned axes)
{
	return (int64_t)((uint64_t)axes << 32 | loops);
}

static inline unsigned grid_axes(const struct call_operand *o)
{
	return (unsigned)((uint64_t)o->at >> 32);
}

static inline unsigned grid_loop(const struct call_operand *o, unsigned axis)
{
	return (unsigned)((uint64_t)o->at >> 4 * axis & 15);
}

static inline bool grid_has_loop(const struct call_operand *o, unsigned loop)
{
	for (unsigned k = 0; k < grid_axes(o); k++)
		if (grid_loop(o, k) == loop)
			return true;
	return false;
}

/* Arrays of the kernel that the call has. */
static inline unsigned grid_arrays(const struct plan_call *c)
{
	return c->noperand - 1u;
}

/* The operand that array number x of the kernel is, where `only` is the one that is written. */
static inline unsigned grid_operand(unsigned x, unsigned only)
{
	return x == only ? 0 : x < only ? x + 1 : x;
}

/* The other way round. */
static inline unsigned grid_array(unsigned operand, unsigned only)
{
	return operand ? operand - (operand <= only) : only;
}

_Static_assert(LIMIT_GRID_ARRAYS < CALL_OPERANDS, "the written array is there twice");
_Static_assert(LIMIT_NDIM <= 8, "four bits for each axis");

#endif
