/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/nest_of.h - nests of small loops with accesses, and what their turns touch, by enumeration.
 */
#ifndef BRAZE_NEST_OF_H
#define BRAZE_NEST_OF_H

#include "fuzz.h"
#include "lang/lang_depend.h"

#define NEST_LOOPS    4
#define NEST_ACCESSES 3
#define NEST_TOUCHES  4096

struct nest {
	struct lang_turns turns[NEST_LOOPS + 1]; /* the last: a sibling of loop nloop - 1 */
	struct lang_reach access[NEST_ACCESSES];
	unsigned nloop, naccess, level;
};

struct touch {
	int64_t turn[LANG_PATH], number[LANG_PATH], at;
	unsigned access;
};

struct touches {
	struct touch touch[NEST_TOUCHES];
	unsigned n;
	bool full;
};

static inline int64_t nest_at(const struct lang_affine *f, const int64_t *number, unsigned depth)
{
	int64_t v = f->constant;

	for (unsigned k = 0; k < depth; k++)
		v += f->factor[k] * number[k];
	return v;
}

static inline void nest_draw_loop(struct lang_turns *t, unsigned outer, struct fuzz_input *in)
{
	static const int8_t steps[] = {1, 1, 1, 1, -1, 2, 3, -2};
	int64_t turns = fuzz_below(in, 6);

	t->step = steps[fuzz_below(in, sizeof steps)];
	t->start.constant = (int64_t)fuzz_below(in, 4) - 1;
	t->stop.constant = t->start.constant + (t->step > 0 ? turns : -turns);
	if (outer && fuzz_below(in, 3) == 0)
		t->start.factor[fuzz_below(in, outer)] = 1;
	if (outer && fuzz_below(in, 3) == 0)
		t->stop.factor[fuzz_below(in, outer)] = fuzz_below(in, 4) ? 1 : -1;
}

static inline void nest_draw_access(struct lang_reach *x, const struct nest *n,
				    struct fuzz_input *in)
{
	static const uint8_t sizes[] = {1, 4, 8, 8};
	static const int8_t factors[] = {0, 1, 1, -1, 2, 5, 7, 10, -10, 3};
	int64_t unit;

	x->bytes = sizes[fuzz_below(in, sizeof sizes)];
	unit = fuzz_below(in, 8) ? x->bytes : 3;
	x->writes = fuzz_below(in, 2);
	x->nloop = fuzz_below(in, 4) ? n->nloop : n->level + 1;
	x->address.constant = unit * ((int64_t)fuzz_below(in, 24) - 12);
	for (unsigned k = 0; k < x->nloop; k++) {
		x->loop[k] = k;
		x->address.factor[k] = unit * factors[fuzz_below(in, sizeof factors)];
	}
	if (x->nloop == n->nloop && n->level + 1 < n->nloop && !fuzz_below(in, 4))
		x->loop[n->nloop - 1] = n->nloop;
}

/* Loops of at most five turns, some of whose bounds are those of triangles. */
static inline void nest_draw(struct nest *n, struct fuzz_input *in)
{
	memset(n, 0, sizeof *n);
	n->nloop = 1 + fuzz_below(in, NEST_LOOPS - 1);
	n->naccess = 1 + fuzz_below(in, NEST_ACCESSES);
	n->level = fuzz_below(in, n->nloop);
	for (unsigned k = 0; k <= n->nloop; k++)
		nest_draw_loop(&n->turns[k], k == n->nloop ? k - 1 : k, in);
	for (unsigned a = 0; a < n->naccess; a++)
		nest_draw_access(&n->access[a], n, in);
	n->access[0].writes = true;
}

static inline void nest_walk(struct touches *out, const struct nest *n, unsigned access,
			     struct touch *now, unsigned depth)
{
	const struct lang_reach *x = &n->access[access];
	const struct lang_turns *t;
	int64_t stop, i;

	if (depth == x->nloop || depth == LANG_PATH) {
		out->full |= out->n == NEST_TOUCHES;
		if (out->full)
			return;
		now->at = nest_at(&x->address, now->number, depth);
		now->access = access;
		out->touch[out->n++] = *now;
		return;
	}
	t = &n->turns[x->loop[depth]];
	stop = nest_at(&t->stop, now->number, depth);
	i = nest_at(&t->start, now->number, depth);
	for (now->turn[depth] = 0; t->step > 0 ? i < stop : i > stop; i += t->step) {
		now->number[depth] = i;
		nest_walk(out, n, access, now, depth + 1);
		now->turn[depth]++;
	}
}

/* Do the two touch the same bytes, in different turns of the loop? */
static inline bool nest_meets(const struct nest *n, const struct touch *a, const struct touch *b)
{
	const struct lang_reach *x = &n->access[a->access], *y = &n->access[b->access];

	for (unsigned k = 0; k < n->level; k++)
		if (a->turn[k] != b->turn[k])
			return false;
	return a->turn[n->level] != b->turn[n->level] && (x->writes || y->writes) &&
	       a->at < b->at + y->bytes && b->at < a->at + x->bytes;
}

/* What is told of a pair must hold of each pair of turns that meets as it says.  Does it? */
static inline bool nest_told(const struct nest *n, const struct lang_dependence *d,
			     const struct touch *a, const struct touch *b)
{
	if (d->answer != LANG_CARRIED || a->access != d->first || b->access != d->second ||
	    b->turn[n->level] < a->turn[n->level])
		return false;
	FUZZ_CHECK(!d->constant || d->distance == b->turn[n->level] - a->turn[n->level]);
	for (unsigned m = n->level + 1; m < d->ndirection; m++) {
		int64_t up = n->turns[n->access[d->first].loop[m]].step > 0 ? 1 : -1;
		int64_t by = up * (b->number[m] - a->number[m]);

		FUZZ_CHECK(d->direction[m] == '*' || d->direction[m] == (by < 0 ? '>'
									 : by	? '<'
										: '='));
	}
	return true;
}

/* Is the answer that of the enumeration?  An unknown one is counted. */
static inline void nest_check(struct fuzz_input *in, unsigned *unknown)
{
	static struct touches all;
	struct lang_dependence d;
	bool carried = false, told = false;
	struct nest n;
	struct touch now = {.access = 0};

	nest_draw(&n, in);
	all.n = 0;
	all.full = false;
	for (unsigned a = 0; a < n.naccess; a++)
		nest_walk(&all, &n, a, &now, 0);
	d = lang_depend(n.turns, n.access, n.naccess, n.level);
	if (all.full || all.n > 600)
		return;
	for (unsigned i = 0; i < all.n; i++)
		for (unsigned k = 0; k < all.n; k++)
			if (nest_meets(&n, &all.touch[i], &all.touch[k])) {
				carried = true;
				told |= nest_told(&n, &d, &all.touch[i], &all.touch[k]);
			}
	FUZZ_CHECK(d.answer != LANG_INDEPENDENT || !carried);
	FUZZ_CHECK(d.answer != LANG_CARRIED || told);
	*unknown += d.answer == LANG_UNKNOWN;
}

#endif
