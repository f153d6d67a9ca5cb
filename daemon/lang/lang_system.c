/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_system.c - integers under linear equations and inequalities.
 *
 * In:  a system.  Out: whether it has solutions in integers, and what its first variable may be.
 * That variable is eliminated last, so that its extreme values are left over. */
#include "lang_system.h"

#include <string.h>

#define WIDEST ((int64_t)1 << 62)

typedef __int128 wide;

static bool fits(wide v)
{
	return v > -WIDEST && v < WIDEST;
}

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

bool lang_row_join(struct lang_row *out, int64_t a, const struct lang_row *x, int64_t b,
		   const struct lang_row *y, unsigned nvar)
{
	wide k = (wide)a * x->k + (wide)b * y->k;
	bool fine = fits(k);

	for (unsigned j = 0; j < nvar; j++) {
		wide c = (wide)a * x->c[j] + (wide)b * y->c[j];

		fine &= fits(c);
		out->c[j] = (int64_t)c;
	}
	out->k = (int64_t)k;
	return fine;
}

static int64_t divisor_of(const struct lang_row *r, unsigned nvar)
{
	int64_t g = 0;

	for (unsigned j = 0; j < nvar && g != 1; j++)
		g = lang_gcd(g, r->c[j]);
	return g;
}

void lang_system_copy(struct lang_system *to, const struct lang_system *from)
{
	to->nvar = from->nvar;
	to->nrow = from->nrow;
	to->nequation = from->nequation;
	to->wide = from->wide;
	to->never = from->never;
	memcpy(to->equation, from->equation, from->nequation * sizeof *to->equation);
	memcpy(to->row, from->row, from->nrow * sizeof *to->row);
}

/* 1: the same factors; -1: each is the other's negative. */
static int alike(const struct lang_row *a, const struct lang_row *b, unsigned nvar)
{
	bool same = true, opposite = true;

	for (unsigned j = 0; j < nvar && (same || opposite); j++) {
		same &= a->c[j] == b->c[j];
		opposite &= a->c[j] == -b->c[j];
	}
	return same ? 1 : opposite ? -1 : 0;
}

void lang_system_add(struct lang_system *s, const struct lang_row *row)
{
	int64_t g = divisor_of(row, s->nvar);
	struct lang_row r = *row;

	if (!g) {
		s->never |= r.k < 0;
		return;
	}
	for (unsigned j = 0; j < s->nvar; j++)
		r.c[j] /= g;
	r.k = floor_div(r.k, g);
	for (unsigned m = 0; m < s->nrow; m++) {
		int is = alike(&s->row[m], &r, s->nvar);

		if (is > 0) {
			s->row[m].k = r.k < s->row[m].k ? r.k : s->row[m].k;
			return;
		}
		s->never |= is < 0 && s->row[m].k + r.k < 0;
	}
	if (s->nrow == SYSTEM_ROWS)
		s->wide = true;
	else
		s->row[s->nrow++] = r;
}

void lang_system_equal(struct lang_system *s, const struct lang_row *row)
{
	if (s->nequation == SYSTEM_EQUATIONS)
		s->wide = true;
	else
		s->equation[s->nequation++] = *row;
}

/* ---- Equations ---- */

/* Variable v becomes what `is` says, which does not name it. */
static void put_in(struct lang_system *s, struct lang_row *r, unsigned v, const struct lang_row *is)
{
	int64_t factor = r->c[v];

	if (!factor)
		return;
	r->c[v] = 0;
	s->wide |= !lang_row_join(r, 1, r, factor, is, s->nvar);
}

static void put_in_all(struct lang_system *s, unsigned v, const struct lang_row *is)
{
	struct lang_system old;
	unsigned n = s->nrow;

	for (unsigned m = 0; m < s->nequation; m++)
		put_in(s, &s->equation[m], v, is);
	memcpy(old.row, s->row, n * sizeof *old.row);
	s->nrow = 0;
	for (unsigned m = 0; m < n && !s->wide; m++) {
		put_in(s, &old.row[m], v, is);
		lang_system_add(s, &old.row[m]);
	}
}

/* Variable v as one less so many of each other: its factor in e divides what is left the better. */
static void mix(struct lang_system *s, const struct lang_row *e, unsigned v)
{
	int64_t many[SYSTEM_VARS];
	struct lang_row *rows[2] = {s->equation, s->row};
	unsigned count[2] = {s->nequation, s->nrow};

	for (unsigned j = 0; j < s->nvar; j++)
		many[j] = j == v ? 0 : floor_div(e->c[j], e->c[v]);
	for (unsigned kind = 0; kind < 2; kind++)
		for (unsigned m = 0; m < count[kind]; m++) {
			struct lang_row *r = &rows[kind][m];

			for (unsigned j = 0; j < s->nvar; j++) {
				wide c = r->c[j] - (wide)many[j] * r->c[v];

				s->wide |= !fits(c);
				r->c[j] = (int64_t)c;
			}
		}
}

/* The variable with the least factor, variable 0 last; nvar: all factors are 0. */
static unsigned least_of(const struct lang_row *e, unsigned nvar)
{
	unsigned v = nvar;

	for (unsigned j = nvar; j-- > 0;) {
		int64_t c = e->c[j] < 0 ? -e->c[j] : e->c[j];
		int64_t best = v == nvar ? INT64_MAX : e->c[v] < 0 ? -e->c[v] : e->c[v];

		if (c && (c < best || v == nvar))
			v = j;
	}
	return v;
}

/* One equation less, or a smaller one.  known: variable 0 is what it was. */
static void solve_equation(struct lang_system *s, bool *known)
{
	struct lang_row *e = &s->equation[s->nequation - 1], is = {{0}, 0};
	int64_t g = divisor_of(e, s->nvar), sign;
	unsigned v;

	if (!g || e->k % g) {
		s->never |= e->k != 0;
		s->nequation--;
		return;
	}
	for (unsigned j = 0; j < s->nvar; j++)
		e->c[j] /= g;
	e->k /= g;
	v = least_of(e, s->nvar);
	if (e->c[v] != 1 && e->c[v] != -1) {
		*known &= v != 0;
		mix(s, e, v);
		return;
	}
	sign = -e->c[v];
	s->nequation--;
	is = *e;
	is.c[v] = 0;
	s->wide |= !lang_row_join(&is, sign, &is, 0, &is, s->nvar);
	*known &= v != 0 || !divisor_of(&is, s->nvar);
	put_in_all(s, v, &is);
	if (v == 0 && *known) {
		/* A number, which stays told. */
		lang_system_add(s, &(struct lang_row){{1}, -is.k});
		lang_system_add(s, &(struct lang_row){{-1}, is.k});
	}
}

/* ---- Inequalities ---- */

struct plan {
	unsigned v, cost;
	bool exact;
};

/* Which variable goes next; false: none but variable 0 is left. */
static bool choose(struct plan *out, const struct lang_system *s)
{
	bool found = false;

	for (unsigned v = 1; v < s->nvar; v++) {
		unsigned low = 0, high = 0;
		bool low_one = true, high_one = true;

		for (unsigned m = 0; m < s->nrow; m++) {
			int64_t c = s->row[m].c[v];

			low += c > 0;
			high += c < 0;
			low_one &= c <= 1;
			high_one &= c >= -1;
		}
		struct plan p = {v, low * high, low_one || high_one || !low || !high};

		if (!low && !high)
			continue;
		if (!found || p.exact > out->exact || (p.exact == out->exact && p.cost < out->cost))
			*out = p;
		found = true;
	}
	return found;
}

static void eliminate(struct lang_system *s, unsigned v, bool dark)
{
	struct lang_row old[SYSTEM_ROWS], r = {{0}, 0};
	unsigned n = s->nrow;

	memcpy(old, s->row, n * sizeof *old);
	s->nrow = 0;
	for (unsigned m = 0; m < n; m++)
		if (!old[m].c[v])
			lang_system_add(s, &old[m]);
	for (unsigned a = 0; a < n; a++)
		for (unsigned b = 0; b < n && old[a].c[v] > 0 && !s->wide && !s->never; b++) {
			int64_t low = old[a].c[v], high = -old[b].c[v];
			wide k;

			if (high <= 0)
				continue;
			s->wide |= !lang_row_join(&r, high, &old[a], low, &old[b], s->nvar);
			k = r.k - (dark ? (wide)(low - 1) * (high - 1) : 0);
			s->wide |= !fits(k);
			r.k = (int64_t)k;
			lang_system_add(s, &r);
		}
}

/* Variable 0 alone is left. */
static bool bounds(struct lang_extent *out, const struct lang_system *s)
{
	*out = (struct lang_extent){.least = INT64_MIN, .most = INT64_MAX};
	for (unsigned m = 0; m < s->nrow; m++) {
		const struct lang_row *r = &s->row[m];

		if (r->c[0] > 0 && (!out->low || -r->k > out->least)) {
			out->low = true;
			out->least = -r->k;
		} else if (r->c[0] < 0 && (!out->high || r->k < out->most)) {
			out->high = true;
			out->most = r->k;
		}
	}
	return !out->low || !out->high || out->least <= out->most;
}

static enum lang_solution shadow(struct lang_system *s, bool dark, struct lang_extent *extent,
				 bool *exact)
{
	struct plan p = {0, 0, false};

	*exact = true;
	while (!s->wide && !s->never && choose(&p, s)) {
		*exact &= p.exact;
		eliminate(s, p.v, dark);
	}
	if (s->wide)
		return SOLUTION_UNKNOWN;
	if (s->never)
		return SOLUTION_NONE;
	return bounds(extent, s) ? SOLUTION_SOME : SOLUTION_NONE;
}

enum lang_solution lang_system_solve(struct lang_system *s, struct lang_extent *extent)
{
	struct lang_extent own;
	struct lang_system copy;
	enum lang_solution is;
	bool known = true, exact;

	extent = extent ? extent : &own;
	while (s->nequation && !s->wide && !s->never)
		solve_equation(s, &known);
	if (s->never || s->wide)
		return s->wide ? SOLUTION_UNKNOWN : SOLUTION_NONE;
	lang_system_copy(&copy, s);
	is = shadow(s, false, extent, &exact);
	if (is == SOLUTION_SOME && !exact) {
		/* What is told of the real shadow holds for integers only where it is exact. */
		is = shadow(&copy, true, extent, &exact);
		is = is == SOLUTION_NONE ? SOLUTION_UNKNOWN : is;
		known = false;
	}
	if (!known)
		extent->low = extent->high = false;
	return is;
}
