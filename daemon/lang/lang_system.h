/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_system.h - have some integers, of which linear equations and inequalities hold, values?
 *
 * Equations are solved by unimodular substitution, inequalities by the elimination of Fourier and
 * Motzkin, exactly while one of two coefficients is 1, else between its real and its dark shadow
 * (Pugh, The Omega test, Supercomputing 1991).  Numbers that leave 62 bits, and systems that grow
 * beyond the bounds below, are unknown.  Pure. */
#ifndef BRAZE_LANG_SYSTEM_H
#define BRAZE_LANG_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

#define SYSTEM_VARS	 32
#define SYSTEM_ROWS	 96
#define SYSTEM_EQUATIONS 24

enum lang_solution { SOLUTION_NONE, SOLUTION_SOME, SOLUTION_UNKNOWN };

/* The sum of c[j] * variable j, and k. */
struct lang_row {
	int64_t c[SYSTEM_VARS], k;
};

struct lang_system {
	unsigned nvar, nrow, nequation;
	bool wide;				    /* a number or a count was too large */
	bool never;				    /* two rows contradict each other */
	struct lang_row equation[SYSTEM_EQUATIONS]; /* = 0 */
	struct lang_row row[SYSTEM_ROWS];	    /* >= 0 */
};

/* What a variable may be where the system has solutions. */
struct lang_extent {
	bool low, high; /* there is a least, a greatest value; both: to be told exactly */
	int64_t least, most;
};

void lang_system_copy(struct lang_system *to, const struct lang_system *from);
/* The row is not below 0. */
void lang_system_add(struct lang_system *s, const struct lang_row *row);
/* The row is 0. */
void lang_system_equal(struct lang_system *s, const struct lang_row *row);
/* Uses the system up.  extent: of variable 0 where there are solutions; NULL is fine. */
enum lang_solution lang_system_solve(struct lang_system *s, struct lang_extent *extent);

/* out = a * x + b * y, row by row; false: a number is too large. */
bool lang_row_join(struct lang_row *out, int64_t a, const struct lang_row *x, int64_t b,
		   const struct lang_row *y, unsigned nvar);

static inline int64_t lang_gcd(int64_t a, int64_t b)
{
	a = a < 0 ? -a : a;
	b = b < 0 ? -b : b;
	while (b) {
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

#endif
