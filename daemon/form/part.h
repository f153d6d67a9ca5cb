/* SPDX-License-Identifier: Apache-2.0 */
/* form/part.h - a partition: the part of a trace that a demand needs, as a
 * self-contained snapshot.
 *
 * Built on the loop thread by plan/demand.c, read-only afterwards, so that a
 * planner thread may work on it.  Identities are abstracted: values are numbered
 * in order of first use, so that the next turn of a client's loop gives the same
 * bytes and finds its plan (plan/plancache.c compares them in full). */
#ifndef BRAZE_PART_H
#define BRAZE_PART_H

#include "ops.h"

#define PART_NONE UINT32_MAX
#define PART_IMM  0x80000000u /* in part_ref.value: an immediate, index in the low bits */

/* What stands in part.mark for a number of dim: 0, an extent's size + 1, or this with the axis of
 * the value's shape whose stride it is. */
#define PART_STRIDE 0x80u

/* A value is one version of one buffer. */
enum part_role {
	PART_INPUT,  /* stored before the plan runs */
	PART_OUTPUT, /* stored by the plan; somebody may name it afterwards */
	PART_TEMP    /* needs storage only where fusion cannot remove it */
};

struct part_value {
	uint64_t bytes;	   /* of the whole buffer */
	uint32_t prev;	   /* the value that an ASSIGN replaces a part of (its other bytes
			      carry over); PART_NONE when every byte is written anew */
	uint8_t role;	   /* enum part_role */
	uint8_t take;	   /* prev's storage may become this value's: nobody outside the
			      partition can still read prev */
	uint8_t undefined; /* made by EMPTY: has no content to carry over */
	uint8_t sized;	   /* has as many bytes as its sizes say: `bytes` is 0 */
};

/* An operand: a view of a value, or an immediate. */
struct part_ref {
	uint32_t value; /* index into value[]; or PART_IMM | index into imm[] */
	uint32_t dims;	/* index into dim[]: offset, shape[ndim], stride[ndim] */
	uint8_t dtype;	/* of the view or immediate */
	uint8_t ndim;
	uint8_t weak; /* an immediate that came as a Python number */
	uint8_t pad;
};

struct part_op {
	uint16_t op;   /* OP_*: of kind EW, RED, ARGRED, SCAN, SORT, CREATE, WRITE,
			  LIB, GATHER, JOIN, DRAW, SEARCH, CHOSEN, GRID */
	uint8_t dtype; /* RULE_HEAD: the result's; RULE_SUM: accumulator or DTYPE_END;
			  INDEX: the axis, for the message; GRID: plan_call.hint */
	uint8_t nin;   /* operands in use */
	uint32_t axes; /* reductions: bit mask of reduced axes of operand 0; scans,
			  sorts: of the one that runs; CONCATENATE: of the one that grows;
			  MATMUL with sizes: how it is computed (compilepart_way);
			  GRID: its number (form/grid.h) */
	struct part_ref in[OP_OPERANDS]; /* read by part_in(): of more operands in[0].value is the
				  place in the list where they begin, all else is 0.
				  ASSIGN: in[0] is the source, out the destination view;
				  GRID: in[0] is what prev is, seen as out is; arrays, then
				  immediates;
				  ARANGE: in[0] start, in[1] step (immediates);
				  INDEX: in[1] the size, an immediate of its own;
				  TAKE: in[0] with one axis more than it has in the
				  result, the last, which the values of in[1] count along */
	struct part_ref out;		 /* the view of the value it makes; C-contiguous except for
					    ASSIGN; reductions: with the reduced axes removed */
};

struct part {
	uint32_t nvalue, nop, nimm, ndim, nlist;
	struct part_value *value;
	struct part_op *op; /* in trace order */
	uint64_t *imm;	    /* two words each: raw bits of the immediate in its dtype
			       (booleans and integers as 64 bits; a weak float as a double);
			       not part of the key */
	int64_t *dim;
	int64_t *move;	       /* [ndim]: what dim grows by from turn to turn; NULL: nothing
				  does, or there is one turn */
	struct part_ref *list; /* operands of ops that have more than OP_OPERANDS */
	/* Extents that are others in each turn (plan/sizes.h), else none. */
	uint8_t *mark; /* [ndim]: where dim has 0 in the place of a size, or of what follows from
			  it; NULL: nowhere */
	uint32_t nsize;
	int64_t *most;	       /* [nsize]: so much at most in any turn; not part of the key */
	const int64_t *number; /* [nsize]: what stands for them (part_with_numbers), or NULL */
	uint8_t unfused;       /* the client asked for one kernel per op */
	uint8_t device;	       /* that its ops ask for, as in struct node */
	uint8_t anywhere;      /* there are other devices: only steps that all of them have */
};

/* o's operands, nin of them. */
static inline const struct part_ref *part_in(const struct part *p, const struct part_op *o)
{
	return o->nin > OP_OPERANDS ? p->list + o->in[0].value : o->in;
}
/* Index of the last op that reads each value or builds on it; the caller frees it. */
uint32_t *part_last_uses(const struct part *p);
/* Does op k put its result where its predecessor lies?  By the table of part_last_uses. */
bool part_takes(const struct part *p, uint32_t k, const uint32_t *last);
/* What is planned where there are sizes: a copy of *p in which each of them is a number that
 * nothing else in it has, at least `most`, and in which what is temporary lies as if it were so
 * large.  So passes take two extents for the same only where they are so in each turn.  Views may
 * reach beyond what they are views of.  free() gives it back. */
struct part *part_with_numbers(const struct part *p);
/* The size whose number this extent of such a copy is; nsize: it is none. */
uint32_t part_size_of(const struct part *p, int64_t extent);
/* n extents as large as they are in any turn: what does not meet then never does.  In place. */
void part_largest(const struct part *p, int64_t *extent, unsigned n);
/* The view that *r describes. */
void part_view(struct view *out, const struct part *p, const struct part_ref *r);
enum status part_check(const struct part *p, struct err *err) MUST_USE;
size_t part_print(char *buf, size_t n, const struct part *p);

#endif
