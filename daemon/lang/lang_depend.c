/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_depend.c - dependence between the turns of a loop, with the numbers of a call.
 *
 * In:  accesses and the loops that they are in.  Out: independent, or a pair that depends, or
 * unknown, where a number or a search became too large.  Of a pair one access is in turn t, the
 * other in turn t + distance, where the distance is variable 0 and at least 1. */
#include "lang_depend.h"

#include <string.h>

#define LEAVES 32 /* systems that are solved for one pair */
#define FEW    4  /* values that an equation may have */

typedef __int128 wide;

/* What a variable may be at most, and at least, whatever the others are. */
struct box {
	int64_t low, high;
};

struct pair {
	struct lang_system s;
	struct box box[SYSTEM_VARS];
	struct lang_row number[2][LANG_PATH]; /* [access][depth]: of the loop there */
	bool wide, empty;
	bool several; /* an equation had several values: there may be other distances */
	unsigned leaves;
};

/* A variable that is part of the difference of addresses. */
struct summand {
	unsigned v;
	int64_t factor;
};

/* ---- Rows ---- */

static struct lang_row constant_row(int64_t k)
{
	return (struct lang_row){.k = k};
}

static struct lang_row variable_row(unsigned v)
{
	struct lang_row r = {.k = 0};

	r.c[v] = 1;
	return r;
}

/* Behind the variables that there are, rows have nothing. */
static void join(struct pair *p, struct lang_row *out, int64_t a, const struct lang_row *x,
		 int64_t b, const struct lang_row *y)
{
	p->wide |= !lang_row_join(out, a, x, b, y, p->s.nvar);
}

/* A sum over the numbers of `depth` loops. */
static struct lang_row affine_row(struct pair *p, unsigned side, const struct lang_affine *f,
				  unsigned depth)
{
	struct lang_row r = constant_row(f->constant);

	for (unsigned k = 0; k < depth; k++)
		if (f->factor[k])
			join(p, &r, 1, &r, f->factor[k], &p->number[side][k]);
	return r;
}

static void extremes(wide *low, wide *high, const struct pair *p, const struct lang_row *r)
{
	*low = *high = r->k;
	for (unsigned j = 0; j < p->s.nvar; j++) {
		wide a = (wide)r->c[j] * p->box[j].low, b = (wide)r->c[j] * p->box[j].high;

		*low += a < b ? a : b;
		*high += a < b ? b : a;
	}
}

/* ---- The loops ---- */

static unsigned new_variable(struct pair *p, wide low, wide high)
{
	const wide most = (wide)1 << 62;
	unsigned v = p->s.nvar;

	p->empty |= low > high;
	if (v == SYSTEM_VARS || low < -most || high > most) {
		p->wide = true;
		return 0;
	}
	p->s.nvar++;
	p->box[v] = (struct box){(int64_t)low, (int64_t)high};
	return v;
}

/* The number lies from start to before stop. */
static void between(struct pair *p, const struct lang_turns *t, const struct lang_row *number,
		    const struct lang_row *start, const struct lang_row *stop)
{
	int64_t up = t->step > 0 ? 1 : -1;
	struct lang_row r = {.k = 0};

	join(p, &r, up, number, -up, start);
	lang_system_add(&p->s, &r);
	join(p, &r, up, stop, -up, number);
	r.k -= 1;
	lang_system_add(&p->s, &r);
}

/* A variable for the number of a loop, and one for its turn where that is another. */
static void enter(struct pair *p, unsigned side, const struct lang_turns *t, unsigned depth)
{
	struct lang_row start = affine_row(p, side, &t->start, depth);
	struct lang_row stop = affine_row(p, side, &t->stop, depth), turn;
	wide low, high, other, step = t->step < 0 ? -(wide)t->step : t->step;
	unsigned v;

	if (t->step > 0) {
		extremes(&low, &other, p, &start);
		extremes(&other, &high, p, &stop);
		high--;
	} else {
		extremes(&other, &high, p, &start);
		extremes(&low, &other, p, &stop);
		low++;
	}
	v = new_variable(p, low, high);
	p->number[side][depth] = variable_row(v);
	between(p, t, &p->number[side][depth], &start, &stop);
	if (step == 1 || p->empty || p->wide)
		return;
	turn = variable_row(new_variable(p, 0, (high - low) / step));
	join(p, &turn, t->step, &turn, 1, &start);
	join(p, &turn, 1, &turn, -1, &p->number[side][depth]);
	lang_system_equal(&p->s, &turn);
}

/* Variables and bounds of both; false: they have no such turns, or too many. */
static bool set_up(struct pair *p, const struct lang_turns *turns, const struct lang_reach *a,
		   const struct lang_reach *b, unsigned level)
{
	const struct lang_turns *t = &turns[a->loop[level]];
	const struct lang_reach *of[2] = {a, b};
	struct lang_row start, stop, distance = variable_row(0);
	wide step = t->step < 0 ? -(wide)t->step : t->step;

	p->s.nvar = p->s.nrow = p->s.nequation = p->leaves = 0;
	p->s.wide = p->s.never = p->wide = p->empty = p->several = false;
	new_variable(p, 1, (wide)1 << 62);
	for (unsigned k = 0; k <= level && !p->wide && !p->empty; k++) {
		enter(p, 0, &turns[a->loop[k]], k);
		p->number[1][k] = p->number[0][k];
	}
	if (p->wide || p->empty)
		return false;
	for (unsigned j = 1; j < p->s.nvar; j++)
		if (p->number[0][level].c[j])
			p->box[0].high = (int64_t)(((wide)p->box[j].high - p->box[j].low) / step);
	p->empty |= p->box[0].high < 1;
	join(p, &p->number[1][level], 1, &p->number[1][level], t->step, &distance);
	start = affine_row(p, 1, &t->start, level);
	stop = affine_row(p, 1, &t->stop, level);
	between(p, t, &p->number[1][level], &start, &stop);
	lang_system_add(&p->s, &(struct lang_row){{1}, -1});
	for (unsigned side = 0; side < 2; side++)
		for (unsigned k = level + 1; k < of[side]->nloop && !p->wide && !p->empty; k++)
			enter(p, side, &turns[of[side]->loop[k]], k);
	return !p->wide && !p->empty;
}

/* ---- The difference ---- */

static wide floor_wide(wide a, wide b)
{
	return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Extremes of summands from..n-1. */
static void reach(wide *low, wide *high, const struct pair *p, const struct summand *x,
		  unsigned from, unsigned n)
{
	*low = *high = 0;
	for (unsigned k = from; k < n; k++) {
		wide a = (wide)x[k].factor * p->box[x[k].v].low;
		wide b = (wide)x[k].factor * p->box[x[k].v].high;

		*low += a < b ? a : b;
		*high += a < b ? b : a;
	}
}

static enum lang_solution leaf(struct pair *p, struct lang_extent *extent)
{
	struct lang_system copy;

	if (++p->leaves > LEAVES)
		return SOLUTION_UNKNOWN;
	lang_system_copy(&copy, &p->s);
	return lang_system_solve(&copy, extent);
}

/* No part of the sum has few values: it is an interval of all. */
static enum lang_solution whole(struct pair *p, const struct summand *x, unsigned from, unsigned n,
				wide low, wide high, struct lang_extent *extent)
{
	unsigned rows = p->s.nrow;
	struct lang_row up = {.k = (int64_t)-low}, down = {.k = (int64_t)high};
	enum lang_solution is;

	for (unsigned k = from; k < n; k++) {
		up.c[x[k].v] = x[k].factor;
		down.c[x[k].v] = -x[k].factor;
	}
	if (rows + 2 > SYSTEM_ROWS)
		return SOLUTION_UNKNOWN;
	struct lang_system kept;

	lang_system_copy(&kept, &p->s);
	lang_system_add(&p->s, &up);
	lang_system_add(&p->s, &down);
	is = leaf(p, extent);
	lang_system_copy(&p->s, &kept);
	return is;
}

/* Where the largest summands end whose sum has few values; what it is a multiple of, and which. */
static bool part(const struct pair *p, const struct summand *x, unsigned from, unsigned n, wide low,
		 wide high, unsigned *end, int64_t *divisor, wide *first, wide *last)
{
	wide least, most, own_least, own_most;

	*divisor = 0;
	for (unsigned k = from; k < n; k++) {
		*divisor = lang_gcd(*divisor, x[k].factor);
		reach(&least, &most, p, x, k + 1, n);
		reach(&own_least, &own_most, p, x, from, k + 1);
		least = low - most > own_least ? low - most : own_least;
		reach(&own_least, &most, p, x, k + 1, n);
		most = high - own_least < own_most ? high - own_least : own_most;
		*first = -floor_wide(-least, *divisor);
		*last = floor_wide(most, *divisor);
		*end = k + 1;
		if (*last - *first < FEW)
			return true;
	}
	return false;
}

/* Does the sum of summands from..n-1 get into [low, high]? */
static enum lang_solution split(struct pair *p, const struct summand *x, unsigned from, unsigned n,
				wide low, wide high, struct lang_extent *extent)
{
	enum lang_solution is = SOLUTION_NONE, one;
	wide first, last;
	int64_t divisor;
	unsigned end;

	if (from == n)
		return low <= 0 && 0 <= high ? leaf(p, extent) : SOLUTION_NONE;
	if (!part(p, x, from, n, low, high, &end, &divisor, &first, &last))
		return whole(p, x, from, n, low, high, extent);
	p->several |= first < last;
	for (wide q = first; q <= last && is != SOLUTION_SOME; q++) {
		struct lang_row sum = {.k = (int64_t)-q};

		for (unsigned k = from; k < end; k++)
			sum.c[x[k].v] = x[k].factor / divisor;
		if (p->s.nequation == SYSTEM_EQUATIONS)
			return SOLUTION_UNKNOWN;
		lang_system_equal(&p->s, &sum);
		one = split(p, x, end, n, low - q * divisor, high - q * divisor, extent);
		p->s.nequation--;
		is = one == SOLUTION_NONE ? is : one == SOLUTION_SOME ? one : SOLUTION_UNKNOWN;
	}
	return is;
}

static wide size_of(int64_t v)
{
	return v < 0 ? -(wide)v : v;
}

/* Do the bytes of a meet those of b, which is in the later turn? */
static enum lang_solution meet_by(struct pair *p, const struct lang_reach *a,
				  const struct lang_reach *b, struct lang_extent *extent)
{
	struct lang_row from = affine_row(p, 0, &a->address, a->nloop);
	struct lang_row to = affine_row(p, 1, &b->address, b->nloop);
	struct summand x[SYSTEM_VARS];
	unsigned n = 0;

	join(p, &from, 1, &from, -1, &to);
	if (p->wide)
		return SOLUTION_UNKNOWN;
	for (unsigned v = 0; v < p->s.nvar; v++) {
		unsigned k = n;

		if (!from.c[v])
			continue;
		for (; k && size_of(x[k - 1].factor) < size_of(from.c[v]); k--)
			x[k] = x[k - 1];
		x[k] = (struct summand){v, from.c[v]};
		n++;
	}
	return split(p, x, 0, n, -(wide)from.k - (a->bytes - 1), -(wide)from.k + (b->bytes - 1),
		     extent);
}

/* With the later number as one before plus the distance, in which the usual pairs are decided at
 * once, or else, for the magnitudes of coupled ones, as a variable of its own. */
static enum lang_solution meet(struct pair *p, const struct lang_reach *a,
			       const struct lang_reach *b, unsigned level,
			       struct lang_extent *extent)
{
	enum lang_solution is = meet_by(p, a, b, extent);
	struct lang_row sum = p->number[1][level], *number = &p->number[1][level];
	wide low, high;
	unsigned v;

	if (is != SOLUTION_UNKNOWN || p->wide)
		return is;
	extremes(&low, &high, p, &p->number[0][level]);
	v = new_variable(p, low, high);
	*number = variable_row(v);
	join(p, &sum, 1, &sum, -1, number);
	lang_system_equal(&p->s, &sum);
	p->leaves = 0;
	is = p->wide ? is : meet_by(p, a, b, extent);
	join(p, number, 1, &sum, 1, number);
	p->s.nequation--;
	p->s.nvar--;
	return is;
}

/* ---- Pairs ---- */

static bool same_loops(const struct lang_reach *a, const struct lang_reach *b, unsigned depth)
{
	return depth < a->nloop && depth < b->nloop && a->loop[depth] == b->loop[depth];
}

/* The numbers of a loop inside, that of the later turn against the other's. */
static char direction_at(struct pair *p, const struct lang_reach *a, const struct lang_reach *b,
			 const struct lang_turns *t, unsigned level, unsigned depth)
{
	char seen = 0;

	for (int sign = -1; sign <= 1; sign++) {
		struct lang_row r = {.k = 0};
		struct lang_system kept;
		enum lang_solution is;
		int64_t up = t->step > 0 ? 1 : -1;

		lang_system_copy(&kept, &p->s);
		join(p, &r, up, &p->number[1][depth], -up, &p->number[0][depth]);
		if (!sign)
			lang_system_equal(&p->s, &r);
		join(p, &r, sign ? sign : 1, &r, 0, &r);
		r.k -= sign != 0;
		lang_system_add(&p->s, &r);
		p->leaves = 0;
		is = meet(p, a, b, level, NULL);
		lang_system_copy(&p->s, &kept);
		if (is != SOLUTION_NONE)
			seen = seen ? '*' : sign < 0 ? '>' : sign ? '<' : '=';
	}
	return seen ? seen : '*';
}

static void describe(struct lang_dependence *out, struct pair *p, const struct lang_turns *turns,
		     const struct lang_reach *a, const struct lang_reach *b, unsigned level,
		     const struct lang_extent *extent)
{
	unsigned k = 0;

	out->constant = extent->low && extent->high && extent->least == extent->most;
	out->distance = out->constant ? extent->least : 0;
	for (; k <= level && k < LANG_PATH; k++)
		out->direction[k] = k < level ? '=' : '<';
	for (; k < LANG_PATH && same_loops(a, b, k); k++)
		out->direction[k] = direction_at(p, a, b, &turns[a->loop[k]], level, k);
	out->ndirection = k;
}

/* Variables and bounds of one path. */
static bool set_path(struct pair *p, const struct lang_turns *turns, const uint32_t *path,
		     unsigned depth)
{
	p->s.nvar = p->s.nrow = p->s.nequation = p->leaves = 0;
	p->s.wide = p->s.never = p->wide = p->empty = p->several = false;
	for (unsigned k = 0; k < depth && !p->wide && !p->empty; k++)
		enter(p, 0, &turns[path[k]], k);
	return !p->wide;
}

/* The bytes that an access may touch: from low to high. */
struct span {
	wide low, high;
};

static struct span span_of(const struct lang_turns *turns, const struct lang_reach *a)
{
	const struct span all = {-((wide)1 << 100), (wide)1 << 100};
	struct lang_row address;
	struct span s;
	struct pair p;

	if (!set_path(&p, turns, a->loop, a->nloop))
		return all;
	if (p.empty)
		return (struct span){1, 0};
	address = affine_row(&p, 0, &a->address, a->nloop);
	extremes(&s.low, &s.high, &p, &address);
	s.high += a->bytes - 1;
	return p.wide ? all : s;
}

/* Is the row below 0 in all turns? */
static bool below(const struct pair *p, const struct lang_row *row)
{
	struct lang_system s;

	lang_system_copy(&s, &p->s);
	lang_system_add(&s, row);
	return lang_system_solve(&s, NULL) == SOLUTION_NONE;
}

bool lang_depend_within(const struct lang_stretch *s, const struct lang_affine *f, int64_t low,
			int64_t high)
{
	struct lang_row row, one = constant_row(1), less, more;
	wide least, most;
	struct pair p;

	if (!set_path(&p, s->turns, s->path, s->depth))
		return false;
	if (p.empty)
		return true;
	row = affine_row(&p, 0, f, s->depth);
	extremes(&least, &most, &p, &row);
	if (p.wide || (low <= least && most <= high))
		return !p.wide;
	for (unsigned k = 0; k < s->ncondition; k++) {
		struct lang_row holds = affine_row(&p, 0, &s->condition[k], s->depth);

		lang_system_add(&p.s, &holds);
	}
	/* low - 1 - row >= 0 and row - high - 1 >= 0 have no solutions. */
	less = more = one;
	join(&p, &less, -1, &row, low - 1, &one);
	join(&p, &more, 1, &row, -(high + 1), &one);
	return !p.wide && below(&p, &less) && below(&p, &more);
}

uint64_t lang_depend_turns(const struct lang_turns *turns, const uint32_t *path, unsigned depth,
			   const struct lang_turns *t)
{
	struct lang_row start, stop;
	wide low, high, least, most, step = t->step < 0 ? -(wide)t->step : t->step;
	struct pair p;

	if (!set_path(&p, turns, path, depth) || p.empty)
		return p.empty ? 0 : UINT64_MAX;
	start = affine_row(&p, 0, &t->start, depth);
	stop = affine_row(&p, 0, &t->stop, depth);
	join(&p, &stop, t->step > 0 ? 1 : -1, &stop, t->step > 0 ? -1 : 1, &start);
	extremes(&low, &high, &p, &stop);
	least = low > 0 ? (low - 1) / step + 1 : 0;
	most = high > 0 ? (high - 1) / step + 1 : 0;
	return p.wide ? UINT64_MAX : (uint64_t)((least + most + 1) / 2);
}

static bool test_pair(struct lang_dependence *out, const struct lang_turns *turns,
		      const struct lang_reach *access, unsigned a, unsigned b, unsigned level)
{
	struct lang_extent extent = {.low = false};
	enum lang_solution is;
	const unsigned of[2] = {a, b};
	struct pair p;
	bool some = set_up(&p, turns, &access[a], &access[b], level);

	for (unsigned side = 0; some && side < 2; side++)
		for (unsigned k = 0; k < access[of[side]].ncondition; k++) {
			struct lang_row row = affine_row(&p, side, &access[of[side]].condition[k],
							 access[of[side]].nloop);

			lang_system_add(&p.s, &row);
		}
	if (!some) {
		is = p.wide ? SOLUTION_UNKNOWN : SOLUTION_NONE;
	} else {
		is = meet(&p, &access[a], &access[b], level, &extent);
		extent.low &= !p.several;
	}
	if (is == SOLUTION_NONE)
		return false;
	out->first = a;
	out->second = b;
	out->answer = is == SOLUTION_SOME ? LANG_CARRIED : LANG_UNKNOWN;
	if (is == SOLUTION_SOME)
		describe(out, &p, turns, &access[a], &access[b], level, &extent);
	return is == SOLUTION_SOME;
}

static bool apart(const struct span *a, const struct span *b)
{
	return a->low > a->high || b->low > b->high || a->high < b->low || b->high < a->low;
}

struct lang_dependence lang_depend(const struct lang_turns *turns, const struct lang_reach *access,
				   unsigned n, unsigned level)
{
	struct lang_dependence out = {.answer = LANG_INDEPENDENT};
	struct span span[LANG_ACCESSES];

	if (n > LANG_ACCESSES)
		return (struct lang_dependence){.answer = LANG_UNKNOWN};
	for (unsigned a = 0; a < n; a++)
		span[a] = span_of(turns, &access[a]);
	for (unsigned a = 0; a < n; a++)
		for (unsigned b = a; b < n; b++) {
			if ((!access[a].writes && !access[b].writes) || apart(&span[a], &span[b]))
				continue;
			if (test_pair(&out, turns, access, a, b, level) ||
			    (a != b && test_pair(&out, turns, access, b, a, level)))
				return out;
		}
	return out;
}

struct lang_dependence lang_depend_pair(const struct lang_turns *turns,
					const struct lang_reach *access, unsigned first,
					unsigned second, unsigned level)
{
	struct lang_dependence out = {.answer = LANG_INDEPENDENT};

	/* What is not decided it says, too. */
	test_pair(&out, turns, access, first, second, level);
	return out;
}

void lang_depend_near(bool *near, const struct lang_turns *turns, const struct lang_reach *access,
		      unsigned n)
{
	struct span span[LANG_ACCESSES];

	for (unsigned a = 0; a < n; a++)
		span[a] = span_of(turns, &access[a]);
	for (unsigned a = 0; a < n; a++)
		for (unsigned b = 0; b < n; b++)
			near[n * a + b] = !apart(&span[a], &span[b]);
}
