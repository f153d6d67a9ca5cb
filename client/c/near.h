/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/near.h - what is at hand and small is computed in the recording call.
 *
 * A value is at hand when this process can read its present bytes without asking
 * (near_hand).  An operation whose operands all are, whose result has at most
 * NEAR_BYTES and whose predicted work is below NEAR_WORK is computed at once, by the
 * interpreter's own loops (kernels/loops), so to the bit as the daemon would; its result
 * is a buffer apart (apart.h) in a block of ours.  All others are recorded.
 *
 * The prediction is a function of the operation, the types and the counts alone, so a
 * program takes the same way in each run. */
#ifndef BRAZE_NEAR_H
#define BRAZE_NEAR_H

#include "client.h"
#include "loops/loops.h"
#include "loops/tile.h"

#define NEAR_BYTES   (256u << 10)
#define NEAR_WORK    250000 /* tenths of a nanosecond */
#define NEAR_POINT   600    /* the same, of each point of a reduction */
#define NEAR_BLOCK   512    /* elements of a register */
#define NEAR_REG     (NEAR_BLOCK * 16)
#define NEAR_LEAST   7		/* log2 of the smallest block */
#define NEAR_CLASSES 16		/* up to 4 MiB */
#define NEAR_POOL    (8u << 20) /* free bytes kept */

/* Memory of near values; the bytes follow.  Snapshots share it with what they are of. */
struct near_block {
	struct near_block *next; /* in a free list */
	uint32_t refs;		 /* buffers */
	uint32_t size;		 /* class: log2 of its bytes, from NEAR_LEAST */
} __attribute__((aligned(64)));

/* What the session needs to compute. */
struct near {
	const struct loops_library *lib;
	uint32_t cost[OP_END][DTYPE_END]; /* an element, in tenths of a ns; 0: has no loop */
	struct near_scratch *scratch;
	struct near_block *free[NEAR_CLASSES];
	size_t kept; /* bytes in the free lists */
};

/* Registers, at multiples of 64. */
struct near_scratch {
	char raw[3][NEAR_REG], cast[3][NEAR_REG], out[NEAR_REG];
	char state[2][TIER0_STATE_BYTES];
	char tile[TILE_BYTES];
	char strip[PRODUCT_SCRATCH] __attribute__((aligned(64)));
};

/* An operand as the drivers see it. */
struct near_in {
	const char *at;	       /* element [0,...,0] */
	const int64_t *stride; /* of the domain's axes; NULL: C-contiguous */
	int64_t reach;	       /* elements that may be read from `at` on, if contiguous */
	uint8_t dtype, loop;   /* loop: the type it is cast to */
	bool fixed;	       /* the same element everywhere */
};

/* ---- near.c: switching, blocks ---- */

/* Compute near from now on, or not: asked whenever what decides it changes. */
void near_switch(struct braze_session *s);
/* The session is connected; make what near operations need, if they are possible. */
void near_open(struct braze_session *s);
void near_close(struct braze_session *s);
/* b loses its block. */
void near_unblock(struct braze_session *s, struct buffer *b);
/* b is about to be written: it gets a block of its own.  False: no memory. */
bool near_own(struct braze_session *s, struct buffer *b) MUST_USE;
/* A near array to be filled; NULL: too large, or no memory. */
struct braze_array *near_array(struct braze_session *s, enum dtype d, const struct shape *shape,
			       int64_t count);

/* ---- near_load.c ---- */

/* The loops of this machine; NULL: there are none of this build. */
const struct loops_library *near_library(void);

/* ---- near_map.c, near_reduce.c: the drivers ---- */

/* out[...] = op(in...), of `count` operands, over the shape's `total` points; out is
 * C-contiguous and has room for whole vectors. */
void near_map(const struct near *n, enum op op, char *out, unsigned dtype,
	      const struct shape *shape, int64_t total, int count, const struct near_in *in);
/* The domain's elements of `in`, cast to its loop type, stored to the view at `to`:
 * nothing beyond its elements is written. */
void near_store(const struct near *n, char *to, const struct view *v, int64_t count,
		const struct near_in *in);
/* The tree that reduces elements of a type. */
const struct tier0_red *near_tree(const struct near *n, enum op op, unsigned dtype);
/* out[...]: the reduction of `in` over the axes of the mask. */
void near_reduction(const struct near *n, enum op op, char *out, unsigned dtype,
		    const struct shape *shape, uint32_t axes, const struct near_in *in);

/* ---- near_calls.c: operations; true: done ---- */

bool near_apply(struct braze_array **out, struct braze_session *s, enum op op,
		const struct op_sig *sig, int n, const braze_arg *arg, const struct shape *shape);
/* Operands of one shape and type, both arrays; b NULL: one operand. */
bool near_quick(struct braze_array **out, unsigned op, unsigned type, struct braze_array *a,
		struct braze_array *b);
/* The same of one array and a weak number that gives way to it, in either order. */
bool near_with_number(struct braze_array **out, int op, unsigned type, const braze_arg *args);
bool near_reduce(struct braze_array **out, enum op op, const struct op_sig *sig,
		 struct braze_array *a, uint32_t axes, const struct shape *shape);
bool near_cast(struct braze_array **out, struct braze_array *a, enum dtype to);
bool near_assign(struct braze_array *dst, const braze_arg *src);
bool near_create(struct braze_array **out, struct braze_session *s, enum op op, int dtype,
		 const struct shape *shape, const braze_scalar *value);
/* The number in a near 0-d array, which travels as an operand. */
bool near_number(braze_scalar *out, const struct braze_array *a);

/* ---- near_product.c ---- */

/* The product of two arrays, of the type; true: done. */
bool near_product(struct braze_array **out, struct braze_array *a, struct braze_array *b,
		  enum dtype type, const struct shape *shape);

static inline bool near_hand(const struct braze_array *a)
{
	const struct buffer *b = a->buf;

	return atomic_load_explicit(&b->stored, memory_order_acquire) == b->version;
}

#endif
