/* SPDX-License-Identifier: Apache-2.0 */
/* nest/share.c - a temporary between phases lies where a result of its point will.
 *
 * What one phase makes for a later one at every point (the exponentials of a softmax) would
 * take an array of its own through memory.  Where a result of the same type is stored at
 * every point behind the temporary's last use, and nothing else of the nest touches that
 * result's slot, the temporary takes its place: then it is overwritten while it is still in
 * the cache, and its own slot goes. */
#include "prog.h"

struct sharing {
	const struct prog *p;
	const struct prog_unit *u;
	struct nest *n;
};

/* First and last instruction that touches access a; false when none does. */
static bool touched(const struct nest *n, unsigned a, unsigned *first, unsigned *last)
{
	bool any = false;

	for (unsigned k = 0; k < n->ninstr; k++) {
		if (!nest_touches(n->instr[k].op) || n->instr[k].a != a)
			continue;
		*first = any ? *first : k;
		*last = k;
		any = true;
	}
	return any;
}

static bool everywhere(const struct nest *n, unsigned k)
{
	return nest_everywhere(nest_section(n, k));
}

static bool same_place(const struct nest *n, const struct nest_access *x,
		       const struct nest_access *y)
{
	for (unsigned l = 0; l < (unsigned)n->npar + n->nred; l++)
		if (n->extent[l] > 1 && x->stride[l] != y->stride[l])
			return false;
	return x->offset == y->offset && x->move == y->move && x->dtype == y->dtype && !x->gather &&
	       !y->gather;
}

/* Is the slot of access a, a temporary, this nest's alone, at one place of each point and
 * with nothing but whole points?  *last: the last instruction that uses it. */
static bool is_scratch(const struct sharing *s, unsigned a, unsigned *last)
{
	uint32_t slot = s->n->access[a].slot;
	unsigned from = 0, to = 0;

	if (s->p->slot[slot].keep || !s->n->access[a].write)
		return false;
	for (uint32_t k = 0; k < s->p->nunit; k++)
		for (unsigned i = 0; s->p->unit[k] != s->u && i < s->p->unit[k]->naccess; i++)
			if (s->p->unit[k]->slot[i] == slot)
				return false;
	*last = 0;
	for (unsigned i = 0; i < s->n->naccess; i++) {
		if (s->n->access[i].slot != slot)
			continue;
		if (!same_place(s->n, &s->n->access[i], &s->n->access[a]) ||
		    !touched(s->n, i, &from, &to) || !everywhere(s->n, from) ||
		    !everywhere(s->n, to))
			return false;
		*last = to > *last ? to : *last;
	}
	return true;
}

/* Can access o, a result, hold what every point has, from before instruction `last` on? */
static bool has_room(const struct sharing *s, unsigned o, unsigned last)
{
	const struct nest *n = s->n;
	const struct nest_access *x = &n->access[o];
	struct depend_access d = {x->offset, x->stride, dtype_row(x->dtype)->bytes};
	unsigned loops = (unsigned)n->npar + n->nred, from = 0, to = 0;

	if (!x->write || !touched(n, o, &from, &to) || from <= last || !everywhere(n, from) ||
	    !everywhere(n, to))
		return false;
	for (unsigned i = 0; i < n->naccess; i++)
		if (i != o && n->access[i].slot == x->slot)
			return false;
	return depend_test(&d, &d, n->extent, loops, loops).kind == DEPEND_SAME;
}

static void move(struct nest *n, uint32_t slot, unsigned o)
{
	const struct nest_access to = n->access[o];

	for (unsigned i = 0; i < n->naccess; i++) {
		struct nest_access *a = &n->access[i];

		if (a->slot != slot)
			continue;
		a->slot = to.slot;
		a->offset = to.offset;
		a->move = to.move;
		a->walk = to.walk;
		for (unsigned l = 0; l < LIMIT_NDIM; l++)
			a->stride[l] = to.stride[l];
	}
}

static void share_unit(struct prog *p, struct prog_unit *u)
{
	struct sharing s = {p, u, u->nest};
	unsigned last;

	for (unsigned a = 0; a < s.n->naccess; a++)
		for (unsigned o = 0; is_scratch(&s, a, &last) && o < s.n->naccess; o++)
			if (s.n->access[o].slot != s.n->access[a].slot &&
			    s.n->access[o].dtype == s.n->access[a].dtype && has_room(&s, o, last))
				move(s.n, s.n->access[a].slot, o);
	prog_summarise(u);
}

/* See prog.h. */
enum status share_run(struct prog *p, struct err *err)
{
	for (uint32_t k = 0; k < p->nunit; k++)
		if (p->unit[k]->nest && p->unit[k]->nest->nmore)
			share_unit(p, p->unit[k]);
	return OK;
}
