/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_afar.h - a run whose loops are done elsewhere, where the arrays are.
 *
 * In:  a kernel, its scalars, and arrays whose shapes and strides are known, but whose memory is
 * not here.  Out: its loops as a list of launches (lang_grid.h) which, one after the other, do what
 * the run does, with what their registers have, and the run's results; or that there is no such
 * list, since something needs an element, or a loop's turns need each other.  Nothing is written:
 * whoever gets no list runs the kernel here.
 *
 * A loop that adds up a scalar tells what its turns add in an array of its own, from which the
 * caller makes one value.  The run goes on without it, and with what is computed of it
 * (lang_later.h), until a way, a bound or a loop depends on that: then the list ends, `wants`, and
 * goes on when the values are told.  Behind that there may be no list for what is left; then that
 * is done here, from where the list ends, with the arrays as the loops have left them. */
#ifndef BRAZE_LANG_AFAR_H
#define BRAZE_LANG_AFAR_H

#include "lang_grid.h"

#define LANG_LAUNCHES	65536	   /* of a run */
#define LANG_AFAR_STEPS (1u << 22) /* instructions between them */
#define LANG_AFAR_LOOPS 64	   /* of a kernel, whose looks are remembered */
/* Loops of fewer turns are done here where they have more instructions: a thread of a GPU takes ten
 * times as long as a core, and is taken to hang after seconds. */
#define LANG_AFAR_FEW  64
#define LANG_AFAR_LONG (1u << 22)
/* Elements of what is added up in any order, at most; and bytes of them, of any sum. */
#define LANG_AFAR_SLOTS (1u << 16)
#define LANG_AFAR_SUM	(1ull << 31)
/* A run that waits so often one after the other for lists of fewer instructions comes back. */
#define LANG_AFAR_WAITS 256
#define LANG_AFAR_WORTH (1u << 16)
#define LANG_AFAR_APART 44 /* bits of an address; those above tell arrays of other memory */

struct lang_launch {
	const struct lang_grid *grid; /* lives as long as the looks */
	uint32_t value;		      /* of its live registers, in order, from there on */
	uint64_t work, turns;	      /* instructions; turns that are threads'; about */
	uint64_t arrays;	      /* that it reads or writes: a bit for each */
	uint64_t
		old; /* of these, those that it reads as they were before its loop's first launch */
	bool first;  /* of the launches that are one loop */
	/* Of one that tells what is added up: which of the list's sums, and elements of its array.
	 */
	unsigned sum;
	uint64_t elements;
};

/* A scalar that launches add to, each as kernels have it: its value is that of the array's elements
 * in the tree of reductions (claimed: OP_SUM, OP_PROD), or of them put together in order. */
struct lang_afar_sum {
	const struct lang_grid_sum *of; /* lives as long as the looks */
	unsigned op;			/* of a claimed one */
	union lang_reg value;
};

struct lang_kept {
	struct lang_kept *next;
	struct lang_grid grid;
};

/* What was found in earlier runs of a kernel; all zero: nothing. */
struct lang_looks {
	struct lang_kept *kept; /* grids that launches are of */
	struct lang_loops *loops;
	unsigned n;
	struct lang_looked *looked[LANG_AFAR_LOOPS];
	/* A run of it has had its first loops elsewhere and came back, here and for this: others
	 * stay here.  "": none has. */
	char back[160];
	uint32_t back_line;
};

struct lang_far;

struct lang_afar {
	unsigned n, cap;
	struct lang_launch *launch;
	uint32_t nvalue, cap_value;
	union lang_reg *value;
	bool proven; /* no thread can come to a wrong index */
	/* Why there is no list, and in which line of the text; "": there is one. */
	char why[160];
	uint32_t line;
	/* Of the list; values are wanted before the next one, or before the results. */
	unsigned nsum, cap_sum;
	struct lang_afar_sum *sum;
	bool wants, ends;
	struct lang_far *far;
};

/* array: addresses are compared only, to tell what arrays share.  One thread at a time has the
 * looks.  false: no memory. */
bool lang_afar_of(struct lang_afar *out, struct lang_looks *looks, const struct lang_kernel *k,
		  const struct lang_array *array, const union lang_reg *scalar,
		  union lang_reg *result);
/* Of sum k: n elements as they lie, one of a claimed one, at least one. */
void lang_afar_told(struct lang_afar *a, unsigned k, const char *value, uint64_t n);
/* The next list, of a run that wants, when all sums are told.  false: no memory. */
bool lang_afar_on(struct lang_afar *a, union lang_reg *result);
/* What is left of a run whose lists ended behind the first one, when all sums are told: here, with
 * the arrays where they lie. */
enum status lang_afar_rest(struct lang_afar *a, const struct lang_array *array,
			   union lang_reg *result, lang_poll_fn *poll, void *data,
			   struct err *err) MUST_USE;
void lang_afar_free(struct lang_afar *a);
void lang_looks_free(struct lang_looks *looks);

#endif
