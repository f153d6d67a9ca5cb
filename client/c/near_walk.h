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
/* The loop of an operation, of a cast too, on operands of type `loop`. */
static inline tier0_fn *near_loop(const struct near *n, enum op op, unsigned loop, unsigned dtype)
{
	if (unlikely(op == OP_CAST))
		return tier0_cast(n->lib->isa, n->lib->wide, loop, dtype);
	return tier0_op(n->lib->isa, n->lib->wide, op, loop);
}

/* Around loops: they expect the processor as it is after a program's start, and a program
 * may have changed rounding, made exceptions traps, or subnormal numbers zero. */
static inline unsigned near_enter(void)
{
	unsigned mode = __builtin_ia32_stmxcsr();

	if (unlikely((mode & 0xffc0u) != 0x1f80u))
		__builtin_ia32_ldmxcsr(0x1f80u);
	return mode;
}

static inline void near_leave(unsigned mode)
{
	if (unlikely(__builtin_ia32_stmxcsr() != mode))
		__builtin_ia32_ldmxcsr(mode);
}

#endif
