/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_afar.h - a run whose loops are done elsewhere, where the arrays are.
 *
 * In:  a kernel, its scalars, and arrays whose shapes and strides are known, but whose memory is
 * not here.  Out: its loops as a list of launches (lang_grid.h) which, one after the other, do what
 * the run does, with what their registers have, and the run's results; or that there is no such
 * list, since something needs an element, or a loop's turns need each other.  Nothing is written:
 * whoever gets no list runs the kernel here. */
#ifndef BRAZE_LANG_AFAR_H
#define BRAZE_LANG_AFAR_H

#include "lang_grid.h"

#define LANG_LAUNCHES	65536	   /* of a run */
#define LANG_AFAR_STEPS (1u << 22) /* instructions between them */
#define LANG_AFAR_LOOPS 64	   /* of a kernel, whose looks are remembered */
/* Loops of fewer turns are done here where they have more instructions: a thread of a GPU takes ten
 * times as long as a core, and is taken to hang after seconds. */
#define LANG_AFAR_FEW	64
#define LANG_AFAR_LONG	(1u << 22)
#define LANG_AFAR_APART 44 /* bits of an address; those above tell arrays of other memory */

struct lang_launch {
	const struct lang_grid *grid; /* lives as long as the looks */
	uint32_t value;		      /* of its live registers, in order, from there on */
	uint64_t work, turns;	      /* instructions; turns that are threads'; about */
	uint64_t arrays;	      /* that it reads or writes: a bit for each */
	bool first;		      /* of the launches that are one loop */
};

/* What was found in earlier runs of a kernel; all zero: nothing. */
struct lang_looks {
	struct lang_loops *loops;
	unsigned n;
	struct lang_looked *looked[LANG_AFAR_LOOPS];
};

struct lang_afar {
	unsigned n, cap;
	struct lang_launch *launch;
	uint32_t nvalue, cap_value;
	union lang_reg *value;
	bool proven; /* no thread can come to a wrong index */
	/* Why there is no list, and in which line of the text; "": there is one. */
	char why[160];
	uint32_t line;
};

/* array: addresses are compared only, to tell what arrays share.  One thread at a time has the
 * looks.  false: no memory. */
bool lang_afar_of(struct lang_afar *out, struct lang_looks *looks, const struct lang_kernel *k,
		  const struct lang_array *array, const union lang_reg *scalar,
		  union lang_reg *result);
void lang_afar_free(struct lang_afar *a);
void lang_looks_free(struct lang_looks *looks);

#endif
