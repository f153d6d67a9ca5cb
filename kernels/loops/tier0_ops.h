/* SPDX-License-Identifier: Apache-2.0 */
/* loops/tier0_ops.h - what tier0_isa.c exports, once per instruction set: loops
 * over registers, which are arrays in storage layout, for each op and loop type.
 *
 * A loop handles n elements rounded up to TIER0_LANES; registers have room. */
#ifndef BRAZE_TIER0_OPS_H
#define BRAZE_TIER0_OPS_H

#include "isa.h"
#include "kernel_abi.h"
#include "ops.h"

#define TIER0_LANES	  16
#define TIER0_STATE_BYTES 2048

/* d[i] = op(a[i], b[i], c[i]); operands an op does not have are ignored. */
typedef void tier0_fn(char *d, const char *a, const char *b, const char *c, int64_t n);

/* One reduction op on one type.  A state is TIER0_STATE_BYTES at a multiple of 64. */
struct tier0_red {
	void (*init)(void *state);
	/* Take n elements that begin at a multiple of 64 within a block; first: the
	 * reduced index of src[0]. */
	void (*step)(void *state, const char *src, int64_t n, int64_t first);
	void (*block)(void *state); /* a block is complete: fold it */
	void (*join)(void *state, const struct bz_acc *chunk);
	void (*end)(void *state, int64_t elements, struct bz_acc *out);
	void (*put)(const struct bz_acc *in, char *dst); /* the result as an element */
	void (*identity)(char *d, int64_t n);		 /* of the tree; NULL: has no tree */
	void (*nothing)(char *d, int64_t n);		 /* result over no element */
	/* n columns side by side of `rows` rows, `step` bytes apart, come one after the other to
	 * lane[], which is `fresh` or has values; whole vectors.  The last `vector` columns end
	 * lane[], whole vectors too, where n is more than that and no multiple of it.  Others have
	 * no such loop: NULL. */
	void (*columns)(char *lane, const char *src, int64_t step, int64_t rows, int64_t n,
			bool fresh);
	/* argmin, argmax, likewise, NULL for others: the rows, `at` and those behind it, come to
	 * the best values and where they were found, -1 at first. */
	void (*side)(char *best, int64_t *index, const char *src, int64_t step, int64_t rows,
		     int64_t n, int64_t at);
	uint16_t vector;  /* elements of their vectors */
	uint16_t combine; /* the elementwise op that combines */
};

struct tier0_isa {
	tier0_fn *op[OP_END][DTYPE_ROOM];	 /* [op][loop type] */
	tier0_fn *cast[DTYPE_END][DTYPE_END];	 /* [from][to] */
	struct tier0_red red[OP_END][DTYPE_END]; /* [OP_SUM..OP_ARGMAX][loop type] */
};

extern const struct tier0_isa tier0_isa_v2, tier0_isa_v3, tier0_isa_v4;
/* Only the ops, on types of at most 4 bytes, in twice as many lanes: with those of the
 * others, half of a register would be idle.  Of reductions they have columns.  The bits are the
 * same. */
extern const struct tier0_isa tier0_isa_v2_wide, tier0_isa_v3_wide, tier0_isa_v4_wide;
static inline tier0_fn *tier0_op(const struct tier0_isa *isa, const struct tier0_isa *wide,
				 unsigned op, unsigned dtype)
{
	return wide->op[op][dtype] ? wide->op[op][dtype] : isa->op[op][dtype];
}

static inline tier0_fn *tier0_cast(const struct tier0_isa *isa, const struct tier0_isa *wide,
				   unsigned from, unsigned to)
{
	return wide->cast[from][to] ? wide->cast[from][to] : isa->cast[from][to];
}

/* The table of a level; of the lowest for ISA_NONE. */
const struct tier0_isa *tier0_table(enum isa_level level);
/* Loops that are preferred to those, where there are any. */
const struct tier0_isa *tier0_wide_table(enum isa_level level);

#endif
