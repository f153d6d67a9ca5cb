/* SPDX-License-Identifier: Apache-2.0 */
/* loops/search.h - where needles belong among elements in order, near and in the worker.
 *
 * The order is that of sorts (sort.h): nans last, complex numbers by their real part first.  A
 * search halves what is left until one element is: which half is said by arithmetic, not by a
 * branch, so that every needle takes the same steps, and many are under way at once.  Whatever
 * the elements are, in order or not, and whoever writes them meanwhile, only the n of them are
 * read and every place is in 0 .. n. */
#ifndef BRAZE_LOOPS_SEARCH_H
#define BRAZE_LOOPS_SEARCH_H

#include "isa.h"
#include "ops.h"

#define SEARCH_UNIT 1024 /* needles of a unit: some microseconds at least */

/* m needles among n > 0 elements of their type, steps in bytes; places as int64, side by side. */
struct search_patch {
	const char *among, *from;
	int64_t n, among_step;
	int64_t m, from_step;
	int64_t *to;
	/* Of lines alone, which are of float64: values at the elements, results side by side. */
	const char *values;
	int64_t values_step;
	double *made;
};

/* left: how many elements come before the needle; right: how many do not come after it. */
typedef void search_fn(const struct search_patch *p);
struct search_isa {
	search_fn *left[DTYPE_END], *right[DTYPE_END];
	/* NumPy's interp, without ends of its own: n > 1. */
	search_fn *lines;
};

extern const struct search_isa search_isa_v2, search_isa_v3, search_isa_v4;

/* The loop of an operation, and how many steps each needle takes among n elements. */
static inline search_fn *search_loop(const struct search_isa *isa, unsigned op, unsigned dtype)
{
	return op == OP_INTERP	       ? isa->lines
	       : op == OP_SEARCH_RIGHT ? isa->right[dtype]
				       : isa->left[dtype];
}

static inline int64_t search_steps(int64_t n)
{
	return 65 - __builtin_clzll((uint64_t)n | 1);
}

#endif
