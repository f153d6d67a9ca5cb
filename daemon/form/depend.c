/* SPDX-License-Identifier: Apache-2.0 */
/* form/depend.c - exact dependence test over known bounds.
 *
 * The bytes of points i and j overlap when a linear form of i and j lies in a
 * short interval.  A depth-first search over its variables, largest coefficient
 * first, decides that exactly.  Each node is pruned by the extreme values of
 * what remains (Banerjee, Dependence Analysis for Supercomputing, 1988) and by
 * its greatest common divisor; the last variable is solved directly, which is
 * the strong and weak SIV test (Allen & Kennedy, Optimizing Compilers, ch. 3).
 * Backtracking made exact by cheap filters follows Maydan, Hennessy and Lam
 * (PLDI 1991).  Where strides nest, as in views of arrays, a handful of nodes
 * suffices; NODE_BUDGET bounds the rest. */
#include "depend.h"

#include <stdlib.h>
#include <string.h>

#define NODE_BUDGET 512

struct var {
	int64_t c, lo, hi;	  /* coefficient and bounds */
	int64_t rest_lo, rest_hi; /* extreme values of this and all later terms */
	int64_t gcd;		  /* of this and all later coefficients */
	uint8_t loop;
};

struct search {
	struct var var[2 * LIMIT_NDIM];
	unsigned nvar;
	unsigned nsame;
	bool paired;	/* each variable is the distance along one loop */
	int64_t lo, hi; /* the form must lie in [lo, hi] */
	int budget;
	int found;		 /* solutions with a different point, capped at 2 */
	int64_t x[LIMIT_NDIM];	 /* distances on the current path */
	int64_t sol[LIMIT_NDIM]; /* the first solution */
};

static int64_t gcd64(int64_t a, int64_t b)
{
	while (b) {
		int64_t t = a % b;

		a = b;
		b = t;
	}
	return a;
}

static int64_t floor_div(int64_t a, int64_t b)
{
	int64_t q = a / b;

	return q - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t ceil_div(int64_t a, int64_t b)
{
	return -floor_div(-a, b);
}

static void add_var(struct search *s, int64_t c, int64_t lo, int64_t hi, unsigned loop)
{
	unsigned k = s->nvar++;

	while (k && llabs(s->var[k - 1].c) < llabs(c)) {
		s->var[k] = s->var[k - 1];
		k--;
	}
	s->var[k] = (struct var){.c = c, .lo = lo, .hi = hi, .loop = (uint8_t)loop};
}

static void prepare(struct search *s)
{
	int64_t lo = 0, hi = 0, g = 0;

	for (unsigned k = s->nvar; k-- > 0;) {
		struct var *v = &s->var[k];

		lo += v->c > 0 ? v->c * v->lo : v->c * v->hi;
		hi += v->c > 0 ? v->c * v->hi : v->c * v->lo;
		g = gcd64(llabs(v->c), g);
		v->rest_lo = lo;
		v->rest_hi = hi;
		v->gcd = g;
	}
}

static bool same_point(const struct search *s)
{
	for (unsigned k = 0; k < s->nsame; k++)
		if (s->x[k])
			return false;
	return true;
}

/* A solution whose bytes lie `apart` bytes from one another. */
static void found(struct search *s, int64_t apart)
{
	if (s->paired && !apart && same_point(s))
		return;
	if (!s->found)
		memcpy(s->sol, s->x, sizeof s->sol);
	s->found++;
}

/* All values of the last variable at once; each is a solution. */
static void solve_last(struct search *s, const struct var *v, int64_t a, int64_t b, int64_t sum)
{
	for (int64_t x = a; x <= b && s->found < 2; x++) {
		s->x[v->loop] = x;
		found(s, sum + v->c * x);
	}
	s->x[v->loop] = 0;
}

/* Can the terms from variable k on still bring the form into [lo, hi]? */
static bool reachable(const struct var *v, int64_t lo, int64_t hi)
{
	return v->rest_hi >= lo && v->rest_lo <= hi && floor_div(hi, v->gcd) * v->gcd >= lo;
}

/* Values of v that the terms after it can still make up for. */
static void bounds(const struct search *s, unsigned k, int64_t lo, int64_t hi, int64_t *a,
		   int64_t *b)
{
	const struct var *v = &s->var[k];

	if (k + 1 < s->nvar) {
		lo -= s->var[k + 1].rest_hi;
		hi -= s->var[k + 1].rest_lo;
	}
	*a = v->c > 0 ? ceil_div(lo, v->c) : ceil_div(hi, v->c);
	*b = v->c > 0 ? floor_div(hi, v->c) : floor_div(lo, v->c);
	*a = *a > v->lo ? *a : v->lo;
	*b = *b < v->hi ? *b : v->hi;
}

/* Extend the partial solution whose terms sum to `sum` by variable k. */
static void descend(struct search *s, unsigned k, int64_t sum)
{
	const struct var *v = &s->var[k];
	int64_t a, b;

	if (s->found > 1 || --s->budget < 0)
		return;
	if (k == s->nvar) {
		if (sum >= s->lo && sum <= s->hi)
			found(s, sum);
		return;
	}
	if (!reachable(v, s->lo - sum, s->hi - sum))
		return;
	bounds(s, k, s->lo - sum, s->hi - sum, &a, &b);
	if (k + 1 == s->nvar) {
		solve_last(s, v, a, b, sum);
		return;
	}
	for (int64_t x = a; x <= b && s->found < 2 && s->budget >= 0; x++) {
		s->x[v->loop] = x;
		descend(s, k + 1, sum + v->c * x);
	}
	s->x[v->loop] = 0;
}

void depend_range(int64_t *lo, int64_t *hi, const struct depend_access *a, const int64_t *extent,
		  unsigned nloop)
{
	*lo = a->offset;
	*hi = a->offset + a->bytes;
	for (unsigned k = 0; k < nloop; k++) {
		int64_t d;

		if (extent[k] == 0) {
			*lo = *hi = 0;
			return;
		}
		d = a->stride[k] * (extent[k] - 1);
		*(d < 0 ? lo : hi) += d;
	}
}

/* Same bytes at the same point: offset, size and every stride that counts. */
static bool identical(const struct depend_access *a, const struct depend_access *b,
		      const int64_t *extent, unsigned nloop)
{
	for (unsigned k = 0; k < nloop; k++)
		if (extent[k] > 1 && a->stride[k] != b->stride[k])
			return false;
	return a->offset == b->offset && a->bytes == b->bytes;
}

/* Variables for accesses that move alike: the distances j - i.  Returns true
 * when a loop that moves neither separates points that touch the same bytes. */
static bool pair_vars(struct search *s, const struct depend_access *b, const int64_t *extent,
		      unsigned nloop)
{
	bool loose = false;

	for (unsigned k = 0; k < nloop; k++) {
		if (extent[k] < 2)
			continue;
		if (b->stride[k])
			add_var(s, b->stride[k], 1 - extent[k], extent[k] - 1, k);
		else if (k < s->nsame)
			loose = true;
	}
	return loose;
}

static void free_vars(struct search *s, const struct depend_access *a,
		      const struct depend_access *b, const int64_t *extent, unsigned nloop)
{
	for (unsigned k = 0; k < nloop; k++) {
		if (extent[k] < 2)
			continue;
		if (a->stride[k] == b->stride[k] && a->stride[k]) {
			add_var(s, b->stride[k], 1 - extent[k], extent[k] - 1, k);
			continue;
		}
		if (a->stride[k])
			add_var(s, -a->stride[k], 0, extent[k] - 1, k);
		if (b->stride[k])
			add_var(s, b->stride[k], 0, extent[k] - 1, k);
	}
}

/* Do accesses that move differently, or lie apart, never meet, whatever the turn?  If so, or if
 * nobody can tell, true with the answer. */
static bool settled_by_range(struct depend *r, const struct depend_access *a,
			     const struct depend_access *b, const int64_t *extent, unsigned nloop)
{
	int64_t alo, ahi, blo, bhi;

	depend_range(&alo, &ahi, a, extent, nloop);
	depend_range(&blo, &bhi, b, extent, nloop);
	r->kind = DEPEND_NONE;
	if ((alo >= bhi && a->move >= b->move) || (blo >= ahi && b->move >= a->move))
		return true;
	r->kind = DEPEND_UNKNOWN; /* they meet in some turn, or come closer */
	return a->move != b->move;
}

/* See depend.h. */
struct depend depend_test(const struct depend_access *a, const struct depend_access *b,
			  const int64_t *extent, unsigned nloop, unsigned nsame)
{
	struct depend r = {0};
	struct search s = {.nsame = nsame, .budget = NODE_BUDGET};
	bool alike = true, loose = false, same;
	unsigned nmoving = 0;

	if (settled_by_range(&r, a, b, extent, nloop))
		return r;
	for (unsigned k = 0; k < nloop; k++) {
		alike &= extent[k] < 2 || a->stride[k] == b->stride[k];
		nmoving += extent[k] > 1;
	}
	same = identical(a, b, extent, nloop);
	/* b's byte minus a's byte lies in (-bytes of b, bytes of a). */
	s.lo = a->offset - b->offset - (int64_t)b->bytes + 1;
	s.hi = a->offset - b->offset + (int64_t)a->bytes - 1;
	s.paired = same;
	if (alike)
		loose = pair_vars(&s, b, extent, nloop);
	else
		free_vars(&s, a, b, extent, nloop);
	if (same && loose) {
		r.kind = DEPEND_CROSS;
		return r;
	}
	prepare(&s);
	descend(&s, 0, 0);
	if (s.found) {
		r.kind = DEPEND_CROSS;
		/* Along a loop that moves neither, any two points overlap. */
		r.constant = alike && s.nvar == nmoving && s.found == 1 && s.budget >= 0;
		memcpy(r.distance, s.sol, sizeof r.distance);
	} else if (s.budget < 0) {
		r.kind = DEPEND_UNKNOWN;
	} else {
		r.kind = same ? DEPEND_SAME : DEPEND_NONE;
	}
	return r;
}
