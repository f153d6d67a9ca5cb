/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_alloc.h - which of a program's registers lie in the processor's.
 *
 * A register lives from the first place where it has a value that something needs to the last, in
 * the order of the code, and has one register of the processor for all that time, or none: then it
 * is in the machine's memory.  Those that the innermost loops name come first. */
#ifndef BRAZE_LANG_ALLOC_H
#define BRAZE_LANG_ALLOC_H

#include "lang.h"

#define ALLOC_NONE UINT32_MAX

#define ALLOC_ROWS 16 /* of a program */

/* Where a register lies: of the integers' and addresses', or of the floats' registers. */
enum { ALLOC_MEMORY = 255 };

/* What an innermost loop's places have in common: the address of an array's first element and what
 * the axes add whose indices no turn changes.  Its register is one behind the program's. */
struct alloc_row {
	uint32_t range, end; /* the loop's first and last instruction */
	uint32_t place;	     /* one of the places */
	uint32_t axes;	     /* a bit for each of these axes */
};

struct lang_alloc {
	const struct lang_program *p;
	uint8_t *type;	     /* [register]; DTYPE_END: an address */
	uint8_t *where;	     /* [register]: of the processor's; ALLOC_MEMORY */
	uint32_t *from, *to; /* [register]: 2 at: read by instruction at; 2 at + 1: made */
	uint32_t *same;	     /* [register]: of which it is a copy; else itself */
	const union lang_reg **constant; /* [register]; NULL: it is none */
	uint8_t *depth;			 /* [instruction]: of loops around it */
	bool *start, *target; /* [instruction]: a function's first; somebody jumps here */
	uint32_t *live;	      /* registers that lie in the processor's */
	uint32_t nlive;
	struct alloc_row row[ALLOC_ROWS];
	uint32_t nrow;
	uint8_t *row_of; /* [instruction]: 1 + the row of a place that has one; 0 */
};

/* unit: the last axis of every array lies closely.  NULL: no memory, or the program is too long for
 * it. */
struct lang_alloc *lang_alloc_of(const struct lang_program *p, bool unit);
/* A row's register. */
uint32_t lang_alloc_row(const struct lang_alloc *a, uint32_t row);
void lang_alloc_free(struct lang_alloc *a); /* NULL is fine */
/* As lang_uses and lang_makes; here of every instruction, with addresses, what CODE_NEXT counts
 * in and what CODE_END gives, and of what a copy is of. */
bool lang_alloc_uses(uint32_t *reg, unsigned *type, const struct lang_alloc *a, uint32_t at,
		     unsigned k);
bool lang_alloc_makes(uint32_t *reg, unsigned *type, const struct lang_alloc *a, uint32_t at,
		      unsigned k);
/* The number by which a range goes, if that is one above 0 in the text; 0: it is not. */
int32_t lang_alloc_step(const struct lang_alloc *a, uint32_t range);
/* Is it of the floats' registers? */
bool lang_alloc_floats(const struct lang_alloc *a, uint32_t reg);
/* Does the processor's register have its value before, or behind, instruction `at`? */
bool lang_alloc_before(const struct lang_alloc *a, uint32_t reg, uint32_t at);
bool lang_alloc_behind(const struct lang_alloc *a, uint32_t reg, uint32_t at);

#endif
