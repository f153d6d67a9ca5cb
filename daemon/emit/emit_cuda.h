/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_cuda.h - between the parts of the CUDA emitter, emit_cuda*.c. */
#ifndef BRAZE_EMIT_CUDA_H
#define BRAZE_EMIT_CUDA_H

#include "emit.h"
#include "text.h"

struct cuda_gen {
	struct text *o;
	const struct nest *n;
	unsigned loops, innermost;	  /* npar + nred; the last parallel loop */
	unsigned red[LIMIT_NEST_REDUCES]; /* the reductions: instructions */
	unsigned nreduce;
	unsigned section;     /* whose text is being written */
	unsigned first, last; /* its reductions: of red, [first, last) */
	unsigned reach;	      /* loops that have an index where text is being written */
	unsigned vector;      /* points of a thread in the text being written; 0: one alone */
	uint32_t staged;      /* accesses that are read from shared memory there */
	uint32_t loaded;      /* accesses whose elements stand in arrays there, for point k */
	unsigned apart;	      /* steps of the last loop between them */
};

/* More than this many instructions: text is written fewer times, loops stay rolled. */
#define EMIT_CUDA_BIG 24

const char *emit_cuda_type(unsigned dtype); /* suffix, for bz_<suffix> */
/* Accumulators of a thread in the tree of a type: 2 where it has 64 lanes (kernels/tree.h). */
unsigned emit_cuda_lanes(unsigned dtype);
/* What joins two values of a reduction in this type, and what takes an element to a lane. */
const char *emit_cuda_join(unsigned op, unsigned dtype);
const char *emit_cuda_step(unsigned op, unsigned dtype);
/* Declares x<l>, the point's index of each parallel loop, from `at`. */
void emit_cuda_place(struct cuda_gen *g);
/* The instructions of a section (nest.h) at one point, one line each. */
void emit_cuda_instrs(struct cuda_gen *g, unsigned section);
/* Are the points of the text being written one member of the group's struct? */
bool emit_cuda_whole(const struct cuda_gen *g, unsigned a);
/* Address of access a at x<l>, of the first of its points where they are one member. */
void emit_cuda_address(struct cuda_gen *g, unsigned a);
/* An entry point (enum cuda_entry) with this one statement, if the spec has it. */
void emit_cuda_entry(struct cuda_gen *g, unsigned entry, const char *body);

void emit_cuda_map(struct cuda_gen *g);
void emit_cuda_reduce(struct cuda_gen *g);

#endif
