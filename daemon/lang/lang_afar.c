/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_afar.c - see lang_afar.h.
 *
 * The machine's own steps are taken between the loops; where one would name an element the list
 * ends.  Of each loop's CODE_RANGE it is asked whether its turns are independent; if not, the loop
 * is gone through, and those inside are asked, with what the registers have then. */
#include "lang_afar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang_steps.h"
#include "lang_uses.h"

/* One loop: the last look at it, and the grids that come of it, one for each array it writes. */
struct lang_looked {
	uint32_t range;
	unsigned narray; /* words */
	int64_t *array;	 /* what they were */
	struct lang_levels levels;
	unsigned ngrid;
	struct lang_grid grid[LANG_AFAR_WRITES];
	struct err err; /* why a grid cannot be; OK: they are */
};

struct machine {
	struct lang_afar *out;
	struct lang_looks *looks;
	struct run run;
	int64_t array[LANG_PARAMS * (1 + 2 * LIMIT_NDIM)];
	struct err err;
	bool full;			/* no memory */
	bool met;			/* a loop */
	const struct lang_looked *gone; /* through, the last one; NULL: none */
};

static bool stop(struct machine *m, uint32_t at, const char *why)
{
	m->out->line = m->run.program->code[at].line;
	snprintf(m->out->why, sizeof m->out->why, "%.159s", why);
	return false;
}

/* ---- Looks ---- */

static struct lang_looked *looked_at(struct machine *m, uint32_t range)
{
	struct lang_looks *all = m->looks;
	struct lang_looked *x = NULL;

	for (unsigned k = 0; k < all->n; k++)
		if (all->looked[k]->range == range)
			return all->looked[k];
	if (all->n == LANG_AFAR_LOOPS)
		return NULL;
	x = calloc(1, sizeof *x);
	if (!x) {
		m->full = true;
		return NULL;
	}
	x->range = range;
	x->narray = lang_flat_words(m->run.program);
	x->array = malloc((x->narray + 1) * sizeof *x->array);
	if (!x->array) {
		free(x);
		m->full = true;
		return NULL;
	}
	/* Nothing is known yet. */
	x->levels.nest.nused = LANG_USED + 1;
	all->looked[all->n++] = x;
	return x;
}

/* Claims inside that a call may refute are errors, which only the machine here tells. */
static bool may_be_refuted(const struct lang_program *p, const struct lang_grid *g, uint32_t end)
{
	for (uint32_t at = g->range + 1; at < end; at++) {
		const struct lang_ins *i = &p->code[at];
		bool proven = false;

		for (unsigned k = 0; k < g->levels; k++)
			proven |= i->code == CODE_CLAIM && i->a == g->level[k];
		if (i->code == CODE_CLAIM && !proven && lang_nest_may(p, i->a))
			return true;
	}
	return false;
}

/* What lies in one buffer has the same upper half of addresses (client/c/kernel_send.c). */
static bool share_memory(const struct run *r, unsigned a, unsigned b)
{
	return (uintptr_t)r->array[a].at >> LANG_AFAR_APART ==
	       (uintptr_t)r->array[b].at >> LANG_AFAR_APART;
}

/* Where several arrays are written, each has a launch of its own, one behind the other: none may
 * read what another one writes, which would be there already or not yet, nor write it, since the
 * last store is that of the turn, not of the last launch.  So for arrays that share memory with it.
 */
static bool are_separate(const struct machine *m, const struct lang_levels *l)
{
	unsigned n = m->run.program->narray;

	if (!(l->written & (l->written - 1)))
		return true;
	for (unsigned a = 0; a < n; a++)
		for (unsigned b = 0; b < n; b++) {
			bool met = (l->read >> b & 1) || (a != b && l->written >> b & 1);

			if (l->written >> a & 1 && met && share_memory(&m->run, a, b))
				return false;
		}
	return true;
}

static void make_grids(struct machine *m, struct lang_looked *x)
{
	const struct lang_program *p = m->run.program;
	const struct lang_levels *l = &x->levels;

	x->ngrid = 0;
	x->err = (struct err){OK, ""};
	if (!are_separate(m, l)) {
		err_set(&x->err, E_UNSUPPORTED,
			"it writes several arrays and reads one of them, or they share memory");
		return;
	}
	for (unsigned a = 0; a < p->narray && !x->err.code; a++) {
		if (!(l->written >> a & 1))
			continue;
		if (x->ngrid == LANG_AFAR_WRITES)
			err_set(&x->err, E_LIMIT, "it writes more than %d arrays",
				LANG_AFAR_WRITES);
		else if (!lang_grid_of(&x->grid[x->ngrid], p, x->range, l->levels, l->fast, a,
				       &x->err))
			x->ngrid++;
	}
	if (!x->err.code && x->ngrid && may_be_refuted(p, &x->grid[0], l->nest.end))
		err_set(&x->err, E_UNSUPPORTED, "it claims what may not hold");
}

/* What is known of the loop now; NULL: nothing, or no memory. */
static const struct lang_looked *look(struct machine *m, uint32_t range)
{
	struct lang_looked *x = looked_at(m, range);

	if (!x)
		return NULL;
	if (lang_nest_again(&x->levels.nest, m->run.reg) &&
	    !memcmp(x->array, m->array, x->narray * sizeof *x->array))
		return x;
	if (!m->looks->loops)
		m->looks->loops = lang_loops_of(m->run.program);
	if (!lang_grid_levels(&x->levels, m->run.program, m->looks->loops, range, m->run.reg,
			      m->run.array)) {
		m->full = true;
		return NULL;
	}
	memcpy(x->array, m->array, x->narray * sizeof *x->array);
	if (x->levels.levels)
		make_grids(m, x);
	return x;
}

/* ---- Launches ---- */

static bool room(struct machine *m, unsigned nlive)
{
	struct lang_afar *o = m->out;

	if (o->n == o->cap) {
		unsigned cap = o->cap ? 2 * o->cap : 16;
		struct lang_launch *more = realloc(o->launch, cap * sizeof *more);

		if (!more)
			return false;
		o->launch = more;
		o->cap = cap;
	}
	if (o->nvalue + nlive > o->cap_value) {
		uint32_t cap = 2 * o->cap_value + nlive + 64;
		union lang_reg *more = realloc(o->value, cap * sizeof *more);

		if (!more)
			return false;
		o->value = more;
		o->cap_value = cap;
	}
	return true;
}

static void add(struct machine *m, const struct lang_grid *g, uint64_t work)
{
	struct lang_afar *o = m->out;

	m->full |= !room(m, g->nlive);
	if (m->full)
		return;
	o->launch[o->n++] = (struct lang_launch){g, o->nvalue, work};
	for (unsigned k = 0; k < g->nlive; k++)
		o->value[o->nvalue++] = m->run.reg[g->live[k]];
	if (__builtin_add_overflow(o->work, work, &o->work))
		o->work = UINT64_MAX;
}

/* The registers of the loop's own numbers, before its first turn, as its last one leaves them. */
static void leave(struct machine *m, const struct lang_ins *range)
{
	union lang_reg *reg = &m->run.reg[range->d];

	reg[1].bits[0] += reg[3].bits[0] * reg[2].bits[0];
	reg[0].bits[0] = reg[1].bits[0] - reg[3].bits[0];
	reg[2].bits[0] = 0;
}

/* The loop whose CODE_RANGE is at *at becomes launches, and *at what follows it; or it is gone
 * through.  false: the list ends. */
static bool loop(struct machine *m, uint32_t *at)
{
	const struct lang_program *p = m->run.program;
	const struct lang_ins *range = &p->code[*at];
	const struct step *s = &m->run.kernel->step[*at];
	const struct lang_looked *x = NULL;

	m->met = true;
	if (!m->run.reg[range->c].i)
		return stop(m, *at, "its step is 0");
	s->fn(&m->run, s);
	/* One of no turns is left at once. */
	if (m->run.reg[range->d + 2].bits[0])
		x = look(m, *at);
	if (!x || !x->levels.levels) {
		m->gone = x ? x : m->gone;
		(*at)++;
		return !m->full;
	}
	if (x->err.code)
		return stop(m, *at, x->err.text);
	if (x->levels.turns < LANG_AFAR_FEW && x->levels.work > LANG_AFAR_LONG)
		return stop(m, *at, "it has few turns, each of which takes long");
	if (m->out->n + x->ngrid > LANG_LAUNCHES)
		return stop(m, *at, "there are too many loops");
	for (unsigned k = 0; k < x->ngrid; k++)
		add(m, &x->grid[k], x->levels.work);
	leave(m, range);
	*at = x->levels.nest.end + 1;
	return !m->full;
}

/* ---- The run ---- */

static bool needs_elements(const struct lang_ins *i)
{
	return i->code == CODE_PLACE || i->code == CODE_LOAD || i->code == CODE_STORE ||
	       lang_on_slices(i) || i->code == CODE_SUM || i->code == CODE_ADDEND ||
	       i->code == CODE_SUMMED;
}

/* Why an element is named at `at`: perhaps since the turns of the loop around are not independent.
 */
static bool stop_at_element(struct machine *m, uint32_t at)
{
	const struct lang_nest *n = m->gone ? &m->gone->levels.nest : NULL;

	if (!n || at < m->gone->range || at > n->end)
		return stop(m, at, "an element is named outside of its loops");
	stop(m, m->gone->range, "a scalar is added up, or left by it");
	if (n->why)
		lang_nest_say(m->out->why, sizeof m->out->why, m->run.program, n);
	return false;
}

/* One instruction that is no loop's; *at: the next one. */
static bool one(struct machine *m, uint32_t *at)
{
	const struct lang_program *p = m->run.program;
	const struct lang_ins *i = &p->code[*at];
	const struct step *s = &m->run.kernel->step[*at], *next = s + 1;

	if (needs_elements(i))
		return stop_at_element(m, *at);
	if (i->code == CODE_FUSES) /* loops stay as they are written */
		m->run.reg[i->d].bits[0] = 0;
	else if (i->code == CODE_LOOP)
		next = s->to;
	else if (i->code != CODE_CLAIM && i->code != CODE_SEAM)
		next = s->fn(&m->run, s);
	if (!next)
		return stop(m, *at, m->err.text);
	*at = (uint32_t)(next - m->run.kernel->step);
	return true;
}

static bool go(struct machine *m)
{
	const struct lang_program *p = m->run.program;
	uint32_t at = p->entry;
	bool fine = true;

	for (uint32_t steps = 0; fine && p->code[at].code != CODE_END; steps++) {
		if (steps == LANG_AFAR_STEPS)
			return stop(m, at, "it takes long between its loops");
		fine = p->code[at].code == CODE_RANGE ? loop(m, &at) : one(m, &at);
	}
	if (fine && !m->met)
		return stop(m, at, "it has no loop");
	return fine;
}

bool lang_afar_of(struct lang_afar *out, struct lang_looks *looks, const struct lang_kernel *k,
		  const struct lang_array *array, const union lang_reg *scalar,
		  union lang_reg *result)
{
	const struct lang_program *p = lang_program_of(k);
	struct machine m = {
		.out = out,
		.looks = looks,
		.run = {.kernel = k, .array = array, .program = p, .turns = LANG_TURNS}};
	union lang_reg *reg = calloc(p->nreg + 1, sizeof *reg);

	memset(out, 0, sizeof *out);
	if (!reg)
		return false;
	m.run.reg = reg;
	m.run.err = &m.err;
	lang_flatten(m.array, &m.run);
	for (uint32_t i = 0; i < p->nconst; i++)
		reg[p->constant[i].reg] = p->constant[i].value;
	for (unsigned i = 0; i < p->nparam; i++)
		if (!p->param[i].rank)
			reg[p->param[i].reg] = *scalar++;
	if (go(&m))
		for (unsigned i = 0; i < p->nresult; i++)
			result[i] = reg[p->param[p->nparam + i].reg];
	lang_view_end(&m.run);
	free(reg);
	return !m.full;
}

void lang_afar_free(struct lang_afar *a)
{
	free(a->launch);
	free(a->value);
}

void lang_looks_free(struct lang_looks *looks)
{
	for (unsigned k = 0; k < looks->n; k++) {
		free(looks->looked[k]->array);
		free(looks->looked[k]);
	}
	lang_loops_free(looks->loops);
}
