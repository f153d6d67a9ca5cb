/* SPDX-License-Identifier: Apache-2.0 */
/* form/nest.h - the loop-nest form: one kernel-to-be.
 *
 * A nest is a perfect set of loops around one straight list of instructions in
 * single-assignment form.  Parallel loops come first, reduced loops after them,
 * in the C order of the reduced axes (which the summation tree depends on).
 * The list is cut into sections, which each parallel point runs one after the other: the
 * even ones at every one of its reduced points, the odd ones once.  What an odd section
 * computes, and the results of reductions, may be used in all sections behind; anything
 * else in its own section only.  Sections behind the second, called phases, need the
 * reduced points to fit one chunk of the summation tree, so that one thread has them all.
 * References inside are indices; what each operand of an instruction refers to stands in
 * instr.def.
 *
 * Plain data without pointers: memcpy moves it, the worker interprets it as it
 * is (tier 0), emit_c() writes it as C (tier 1).  Built by nest/lower.c, changed
 * by the passes out of place, immutable once it is a kernel. */
#ifndef BRAZE_NEST_H
#define BRAZE_NEST_H

#include "instr.h"

/* How an access moves along the vector loop; a fact compiled into the kernel. */
enum nest_walk { WALK_UNIT, WALK_SAME, WALK_STRIDED };

struct nest_access {
	uint32_t slot; /* storage slot of the plan; 0.. in order of first use in a spec */
	uint8_t dtype;
	uint8_t write;		    /* 0 read, 1 write */
	uint8_t walk;		    /* enum nest_walk along loop `vec` */
	uint8_t alone;		    /* 1: no other access of the nest overlaps it (restrict) */
	int64_t offset;		    /* bytes from the slot's start to point [0,...,0] */
	int64_t move;		    /* bytes it is further on with each turn (part.move) */
	int64_t stride[LIMIT_NDIM]; /* bytes per step of each loop; 0 where constant */
	/* Read by NI_GATHER only, at a place that depends on data: anything from there on
	 * in gextent steps of gstride bytes.  No write of the nest may meet any of it. */
	uint8_t gather, pad[7];
	int64_t gextent, gstride;
};

struct nest {
	uint8_t npar, nred; /* loops 0..npar-1 are parallel, npar..npar+nred-1 reduced */
	uint8_t vec;	    /* the loop that vector lanes run along: npar-1 or npar+nred-1;
			       0 when there is no loop */
	uint8_t width;	    /* lanes of 64 bytes: 8, or 16 when no value is wider than
			       4 bytes; registers may have half as many (BZ_WIDTH) */
	uint16_t naccess, ninstr, nscalar;
	uint16_t post; /* first instruction of section 1; ninstr when it has none: ask
			  nest_section and its like */
	uint16_t nmore, more[LIMIT_NEST_SECTIONS - 2]; /* sections 2.., where each begins */
	uint16_t way; /* of a GPU's spec: 1 + the entry (contract/cuda_abi.h) that its loops
			 and strides ask for, the only one it has beside the general ones; 0: all */
	int64_t extent[LIMIT_NDIM];
	uint32_t scalar[LIMIT_NEST_SCALARS]; /* immediate of the partition behind each
						scalar parameter; 0 in a spec */
	uint8_t scalar_dtype[LIMIT_NEST_SCALARS];
	struct nest_access access[LIMIT_NEST_ACCESSES];
	struct nest_instr instr[LIMIT_NEST_INSTRS];
};

/* Bytes of *n that are in use; the rest of instr[] need not be copied. */
static inline size_t nest_bytes(const struct nest *n)
{
	return offsetof(struct nest, instr) + n->ninstr * sizeof n->instr[0];
}

/* Does the instruction's operand a number an access? */
static inline bool nest_touches(unsigned op)
{
	return instr_names(op, ARG_ACCESS);
}

/* The first two sections, which every nest has: they may be empty. */
enum nest_sections { SECTION_BODY, SECTION_POST };

static inline unsigned nest_sections(const struct nest *n)
{
	return 2u + n->nmore;
}

/* Does section s run at every reduced point, not once per parallel point? */
static inline bool nest_everywhere(unsigned s)
{
	return s % 2 == 0;
}

/* Instructions [nest_begin, nest_end) are section s. */
static inline unsigned nest_begin(const struct nest *n, unsigned s)
{
	if (s < 2)
		return s ? n->post : 0;
	return s - 2 < n->nmore ? n->more[s - 2] : n->ninstr;
}

static inline unsigned nest_end(const struct nest *n, unsigned s)
{
	return nest_begin(n, s + 1);
}

/* The section that instruction k stands in. */
static inline unsigned nest_section(const struct nest *n, unsigned k)
{
	unsigned s = k >= n->post;

	while (s && s < 1u + n->nmore && k >= n->more[s - 1])
		s++;
	return s;
}

/* Loops 0..nest_loops - 1 run around section s; the others stand still there. */
static inline unsigned nest_loops(const struct nest *n, unsigned s)
{
	return nest_everywhere(s) ? (unsigned)n->npar + n->nred : n->npar;
}

/* May instruction k use the result of instruction v, where v < k? */
bool nest_hands(const struct nest *n, unsigned v, unsigned k);
/* Are the values that instruction k uses there?  Each is the result of an earlier one, in
 * its own section or handed on to it from one before. */
bool nest_fed(const struct nest *n, unsigned k);
/* Is the result of instruction v used in a section behind its own? */
bool nest_kept(const struct nest *n, unsigned v);

/* Points of the parallel loops, and of the reduced loops (1 when there is none). */
int64_t nest_parallel(const struct nest *n);
int64_t nest_reduced(const struct nest *n);

/* Accesses that gather, and the number of access a among them. */
unsigned nest_gathers(const struct nest *n);
unsigned nest_gather(const struct nest *n, unsigned a);
/* Instructions that report what is wrong, and reductions. */
unsigned nest_checks(const struct nest *n);
unsigned nest_reductions(const struct nest *n);
/* Bytes that access a may touch while loops 0..nloop-1 run: [*lo, *hi). */
void nest_range(int64_t *lo, int64_t *hi, const struct nest *n, unsigned a, unsigned nloop);
/* The loops' extents as the accesses see them: reductions over nothing count as one
 * point, since what stands behind them runs nevertheless. */
void nest_touched(int64_t *extent, const struct nest *n);
/* May accesses i and j, of one slot, one of which gathers, touch the same byte? */
bool nest_gather_meets(const struct nest *n, unsigned i, unsigned j);

/* What the time of a point depends on besides the kernel, as one number: the sizes, in
 * steps of four, of the vectors' loop, of the reduced and of the parallel loops, and how
 * far apart memory is read.  Runs of one kernel tell of others of the same shape only. */
uint16_t nest_shape(const struct nest *n);

/* Does *n keep every rule of this page?  E_INTERNAL with the first broken rule. */
enum status nest_check(const struct nest *n, struct err *err) MUST_USE;

/* Text of a nest, the format of golden tests; returns bytes written without the
 * 0, as snprintf does.  `spec`: print a canonical kernel, without extents,
 * offsets and strides (the kernel key). */
size_t nest_print(char *buf, size_t n, const struct nest *nest, bool spec);
/* Its operations by NumPy's names, each once, in the order they come in: for people. */
void nest_operations(char *buf, size_t n, const struct nest *nest);

#endif
