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

#include "lang_order.h"
#include "lang_steps.h"
#include "lang_uses.h"

/* One loop: the last look at it, and the grids that come of it, one for each array that it writes,
 * as they are to be done. */
struct lang_looked {
	uint32_t range;
	unsigned narray; /* words */
	int64_t *array;	 /* what they were */
	struct lang_levels levels;
	unsigned ngrid;
	struct lang_grid grid[LANG_ORDER_MOST];
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

/* Is it said of the loop, for whoever runs it to look, that its turns need no other? */
static bool is_claimed(const struct lang_program *p, uint32_t range)
{
	for (uint32_t at = p->entry; at < p->ncode; at++)
		if (p->code[at].code == CODE_CLAIM && p->code[at].a == range)
			return lang_nest_may(p, range);
	return false;
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

/* Of each array the first one with which it may share memory, by way of others, too. */
static void find_memory(uint8_t *memory, const struct run *r)
{
	const char *low[LANG_PARAMS], *high[LANG_PARAMS];
	const struct lang_program *p = r->program;
	unsigned n = 0;

	for (unsigned k = 0; k < p->nparam; k++) {
		if (!p->param[k].rank)
			continue;
		memory[n] = (uint8_t)n;
		lang_array_ends(&low[n], &high[n], &r->array[n],
				dtype_row(p->param[k].type)->bytes);
		n++;
	}
	for (unsigned a = 0; a < n; a++)
		for (unsigned b = 0; b < a; b++) {
			uint8_t from = memory[a], to = memory[b];

			if (low[a] > high[b] || low[b] > high[a])
				continue;
			for (unsigned k = 0; k < n; k++)
				memory[k] = memory[k] == from ? to : memory[k];
		}
}

/* One for each array, in an order in which they can be done. */
static void make_grids(struct machine *m, struct lang_looked *x)
{
	const struct lang_program *p = m->run.program;
	uint64_t written = x->levels.written;
	uint8_t memory[LANG_PARAMS];
	struct lang_order order;
	struct lang_grid any;

	x->ngrid = 0;
	x->err = (struct err){OK, ""};
	if (!written || lang_grid_of(&any, p, x->range, x->levels.levels, x->levels.fast,
				     (unsigned)__builtin_ctzll(written), &x->err))
		return;
	find_memory(memory, &m->run);
	m->full |= !lang_order_of(&order, &any, written, memory);
	if (m->full)
		return;
	if (order.why)
		err_set(&x->err, E_UNSUPPORTED, "%s", order.why);
	/* All else of a grid is the same, whichever array it writes. */
	for (; x->ngrid < order.n; x->ngrid++) {
		x->grid[x->ngrid] = any;
		x->grid[x->ngrid].only = order.array[x->ngrid];
	}
	if (!x->err.code && may_be_refuted(p, &any, x->levels.nest.end))
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

static void add(struct machine *m, const struct lang_looked *x, unsigned grid)
{
	const struct lang_levels *l = &x->levels;
	const struct lang_grid *g = &x->grid[grid];
	struct lang_afar *o = m->out;

	m->full |= !room(m, g->nlive);
	if (m->full)
		return;
	o->launch[o->n++] =
		(struct lang_launch){g, o->nvalue, l->work, l->turns, l->read | l->written, !grid};
	o->proven &= l->proven;
	for (unsigned k = 0; k < g->nlive; k++)
		o->value[o->nvalue++] = m->run.reg[g->live[k]];
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
	if ((!x || !x->levels.levels) && m->run.reg[range->d + 2].bits[0] && is_claimed(p, *at))
		return stop(m, *at, "it claims what is not proven");
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
		add(m, x, k);
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
	out->proven = true;
	if (!reg)
		return false;
	m.run.reg = reg;
	m.run.err = &m.err;
	lang_flatten(m.array, &m.run);
	lang_registers(reg, p, scalar);
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
