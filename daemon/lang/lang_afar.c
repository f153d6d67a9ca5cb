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

#include "lang_later.h"
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
	uint64_t old[LANG_ORDER_MOST];	    /* arrays that they read as they were before all */
	uint64_t elements[LANG_ORDER_MOST]; /* of what they tell of sums */
	struct err err;			    /* why a grid cannot be; OK: they are */
};

/* The run, between its loops. */
struct lang_far {
	struct lang_afar *out;
	struct lang_looks *looks;
	struct run run;
	int64_t array[LANG_PARAMS * (1 + 2 * LIMIT_NDIM)];
	struct lang_array own[LANG_PARAMS]; /* arrays, as the run compares them */
	struct err err;
	bool full;	      /* no memory */
	bool met;	      /* a loop */
	bool sent;	      /* lists before this one are done */
	unsigned short_lists; /* one after the other */
	uint32_t at;
	struct lang_later later;
	union lang_reg *room;		/* of lang_later_settle */
	uint32_t total[LANG_CLAIMED];	/* one more than the sum that CODE_SUMMED is about */
	const struct lang_looked *gone; /* through, the last one; NULL: none */
};

static bool stop(struct lang_far *m, uint32_t at, const char *why)
{
	m->out->line = m->run.program->code[at].line;
	snprintf(m->out->why, sizeof m->out->why, "%.159s", why);
	return false;
}

/* ---- Looks ---- */

static struct lang_looked *looked_at(struct lang_far *m, uint32_t range)
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

/* Do additions of the loop to the register all lie in the loop inside that is level k of it? */
static bool is_within(const struct lang_program *p, const struct lang_grid *g, unsigned k,
		      uint32_t reg)
{
	uint32_t end = lang_nest_end(p, g->level[k]), made;
	unsigned type;

	for (uint32_t at = g->range + 1; at < lang_nest_end(p, g->range); at++)
		for (unsigned n = 0;
		     (at <= g->level[k] || at >= end) && lang_makes(&made, &type, &p->code[at], n);
		     n++)
			if (made == reg)
				return false;
	return true;
}

/* Elements that tell what is added up: each of a turn where their order has bits, so that levels
 * inside must have as many turns everywhere; else of any turns. */
static uint64_t shape_sum(struct lang_grid *g, const struct lang_levels *l)
{
	bool sensitive = g->sum.claimed || dtype_row(g->sum.type)->cls == CLASS_FLOAT;
	uint64_t turns = l->many[0];

	if (g->sum.claimed)
		return turns;
	while (g->levels > 1 && (!is_within(g->program, g, g->levels - 1, g->sum.reg) ||
				 (sensitive && g->levels > l->even)))
		g->levels--;
	if (sensitive || g->fast >= g->levels)
		g->fast = g->levels - 1;
	turns = l->many[g->levels - 1];
	if (sensitive)
		return turns;
	return !turns ? 1 : turns < LANG_AFAR_SLOTS ? turns : LANG_AFAR_SLOTS;
}

/* The grid of what turns add to a register. */
static void make_sum(struct lang_looked *x, const struct lang_program *p, uint32_t reg)
{
	struct lang_grid *g = &x->grid[x->ngrid];
	struct lang_levels *l = &x->levels;
	enum status st = lang_grid_sum(g, p, x->range, 1, 0, reg, &x->err);

	if (!st && !g->sum.claimed && l->levels > 1)
		st = lang_grid_sum(g, p, x->range, l->levels, l->fast, reg, &x->err);
	if (st)
		return;
	x->elements[x->ngrid] = shape_sum(g, l);
	if (x->elements[x->ngrid] > LANG_AFAR_SUM / dtype_row(g->sum.type)->bytes)
		err_set(&x->err, E_LIMIT, "it has more turns than there is room for what they add");
}

/* Registers of what the loop adds up; how many. */
static unsigned find_sums(uint32_t *sum, const struct lang_program *p, const struct lang_nest *n)
{
	unsigned many = 0;

	for (unsigned k = 0; k < n->nsum; k++)
		sum[many++] = n->sum[k].reg;
	for (unsigned k = 0; k < n->nclaimed; k++)
		sum[many++] = p->code[n->claimed[k]].a;
	return many;
}

static void make_in_order(struct lang_far *m, struct lang_looked *x, const struct lang_grid *any,
			  const uint32_t *sum, unsigned nsum)
{
	const struct lang_program *p = m->run.program;
	uint8_t memory[LANG_PARAMS];
	struct lang_order order;

	find_memory(memory, &m->run);
	m->full |= !lang_order_of(&order, any, x->levels.written, sum, nsum, memory);
	if (m->full)
		return;
	if (order.why)
		err_set(&x->err, E_UNSUPPORTED, "%s", order.why);
	for (unsigned k = 0; k < order.n && !x->err.code; k++) {
		struct lang_grid *g = &x->grid[x->ngrid];
		enum status st;

		x->old[x->ngrid] = order.old[k];
		/* All else of a grid is the same, whichever array it writes. */
		*g = *any;
		g->only = order.array[k];
		if (g->only >= p->narray)
			make_sum(x, p, sum[g->only - p->narray]);
		st = (enum status)x->err.code;
		if (!st)
			st = lang_grid_keep(g, order.keeps[k], &x->err);
		x->ngrid += !st;
	}
}

/* One for each array and scalar, in an order in which they can be done. */
static void make_grids(struct lang_far *m, struct lang_looked *x)
{
	const struct lang_program *p = m->run.program;
	uint64_t written = x->levels.written;
	uint32_t sum[2 * LANG_SUMS];
	unsigned nsum = find_sums(sum, p, &x->levels.nest);
	struct lang_grid any;
	enum status st = OK;

	x->ngrid = 0;
	x->err = (struct err){OK, ""};
	if (written)
		st = lang_grid_of(&any, p, x->range, x->levels.levels, x->levels.fast,
				  (unsigned)__builtin_ctzll(written), &x->err);
	else if (nsum)
		st = lang_grid_sum(&any, p, x->range, 1, 0, sum[0], &x->err);
	if (st || (!written && !nsum))
		return;
	make_in_order(m, x, &any, sum, nsum);
	if (!x->err.code && may_be_refuted(p, &any, x->levels.nest.end))
		err_set(&x->err, E_UNSUPPORTED, "it claims what may not hold");
}

/* What is known of the loop now; NULL: nothing, or no memory. */
static const struct lang_looked *look(struct lang_far *m, uint32_t range)
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

static bool room(struct lang_far *m, unsigned nlive)
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

/* The grid, where no later look changes it. */
static const struct lang_grid *keep(struct lang_far *m, const struct lang_grid *g)
{
	struct lang_kept *k = m->looks->kept;

	while (k && (k->grid.range != g->range || k->grid.levels != g->levels ||
		     k->grid.fast != g->fast || k->grid.only != g->only ||
		     k->grid.keeps != g->keeps || k->grid.sum.reg != g->sum.reg))
		k = k->next;
	if (k)
		return &k->grid;
	k = malloc(sizeof *k);
	if (!k)
		return NULL;
	*k = (struct lang_kept){m->looks->kept, *g};
	m->looks->kept = k;
	return &k->grid;
}

/* Of a launch that tells what is added up: which of the list's sums; nothing is known of the scalar
 * from now on. */
static bool add_sum(struct lang_far *m, const struct lang_grid *g)
{
	const struct lang_program *p = m->run.program;
	struct lang_afar *o = m->out;

	if (o->nsum == o->cap_sum) {
		unsigned cap = o->cap_sum ? 2 * o->cap_sum : 4;
		struct lang_afar_sum *more = realloc(o->sum, cap * sizeof *more);

		if (!more)
			return false;
		o->sum = more;
		o->cap_sum = cap;
	}
	o->sum[o->nsum] = (struct lang_afar_sum){.of = &g->sum};
	for (uint32_t at = g->range; g->sum.claimed && at < lang_nest_end(p, g->range); at++) {
		const struct lang_ins *i = &p->code[at];

		if (i->code != CODE_ADDEND || i->a != g->sum.reg)
			continue;
		o->sum[o->nsum].op = i->op;
		m->total[i->c] = ++o->nsum;
		return true;
	}
	return lang_later_sum(&m->later, &m->run, g->sum.reg, o->nsum++, &g->sum.by);
}

static void add(struct lang_far *m, const struct lang_looked *x, unsigned grid, bool first)
{
	const struct lang_levels *l = &x->levels;
	const struct lang_grid *g = keep(m, &x->grid[grid]);
	struct lang_afar *o = m->out;

	m->full |= !g || !room(m, g->nlive);
	if (m->full)
		return;
	o->launch[o->n++] = (struct lang_launch){.grid = g,
						 .value = o->nvalue,
						 .work = l->work,
						 .turns = l->many[g->levels - 1],
						 .arrays = l->read | l->written,
						 .old = x->old[grid],
						 .first = first,
						 .sum = o->nsum,
						 .elements = x->elements[grid]};
	o->proven &= l->proven;
	for (unsigned k = 0; k < g->nlive; k++)
		o->value[o->nvalue++] = m->run.reg[g->live[k]];
}

/* All launches of a loop; scalars that it adds up get their values behind them. */
static void add_all(struct lang_far *m, const struct lang_looked *x)
{
	bool first = true;

	for (unsigned k = 0; k < x->ngrid && !m->full; k++) {
		const struct lang_grid *g = &x->grid[k];

		if (g->sums && !x->elements[k])
			continue; /* no turn of loops inside adds anything */
		add(m, x, k, first);
		if (g->sums && !m->full)
			m->full |= !add_sum(m, m->out->launch[m->out->n - 1].grid);
		first = false;
	}
}

/* The registers of the loop's own numbers, before its first turn, as its last one leaves them, and
 * what each turn sets others to. */
static void leave(struct lang_far *m, const struct lang_ins *range, const struct lang_levels *l)
{
	const struct lang_program *p = m->run.program;
	union lang_reg *reg = &m->run.reg[range->d];

	reg[1].bits[0] += reg[3].bits[0] * reg[2].bits[0];
	reg[0].bits[0] = reg[1].bits[0] - reg[3].bits[0];
	reg[2].bits[0] = 0;
	for (unsigned k = 0; k < l->nleft; k++) {
		m->run.reg[p->code[l->left[k]].d] = m->run.reg[p->code[l->left[k]].a];
		lang_later_made(&m->later, &p->code[l->left[k]]);
	}
}

/* Does the loop need a scalar that is not known yet, otherwise than to add to it? */
static bool needs_value(const struct lang_far *m, uint32_t range)
{
	const struct lang_program *p = m->run.program;
	uint32_t end = lang_nest_end(p, range), reg;
	struct lang_addition by;
	unsigned type;

	for (uint32_t at = range; lang_later_any(&m->later) && at < end; at++)
		for (unsigned k = 0; lang_uses(&reg, &type, &p->code[at], k); k++)
			if (lang_later_is(&m->later, reg) &&
			    (at == range || !lang_addition_to(p, at, reg, &by) || by.ordered))
				return true;
	return false;
}

/* Can all of the loop's grids be operations, with the arrays of the call? */
static bool is_takeable(const struct lang_far *m, const struct lang_looked *x)
{
	struct shape_loops loops = {0};
	uint32_t at = 0;
	bool fine = true;

	for (unsigned k = 0; k < m->run.program->narray && fine; k++)
		fine = shape_loops_add(&loops, &at, &m->own[k].shape);
	for (unsigned k = 0; k < x->ngrid && fine; k++) {
		const struct lang_grid *g = &x->grid[k];
		const struct shape sum = {1, {(int64_t)x->elements[k]}};
		struct shape_loops with = loops;

		fine = lang_grid_arrays(g) + g->nlive <= LIMIT_OPERANDS &&
		       (!g->sums || shape_loops_add(&with, &at, &sum));
	}
	return fine;
}

/* Why its grids are no launches; NULL: they are. */
static const char *why_not(const struct lang_far *m, const struct lang_looked *x)
{
	if (x->err.code)
		return x->err.text;
	for (unsigned k = 0; k < x->ngrid; k++)
		if (x->levels.many[x->grid[k].levels - 1] < LANG_AFAR_FEW &&
		    x->levels.work > LANG_AFAR_LONG)
			return "it has few turns, each of which takes long";
	if (!is_takeable(m, x))
		return "the daemon does not take so many arrays, lengths or numbers";
	if (m->out->n + x->ngrid > LANG_LAUNCHES)
		return "there are too many loops";
	return NULL;
}

/* Is it about numbers only, and soon done? */
static bool is_for_us(const struct lang_looked *x)
{
	return !(x->levels.read | x->levels.written) && x->levels.work < LANG_AFAR_WORTH;
}

/* The loop whose CODE_RANGE is at *at becomes launches, and *at what follows it; or it is gone
 * through.  false: the list ends. */
static bool loop(struct lang_far *m, uint32_t *at)
{
	const struct lang_program *p = m->run.program;
	const struct lang_ins *range = &p->code[*at];
	const struct step *s = &m->run.kernel->step[*at];
	const struct lang_looked *x = NULL;

	if (needs_value(m, *at)) {
		m->out->wants = true;
		return false;
	}
	m->met = true;
	if (!m->run.reg[range->c].i)
		return stop(m, *at, "its step is 0");
	s->fn(&m->run, s);
	/* One of no turns is left at once. */
	if (m->run.reg[range->d + 2].bits[0])
		x = look(m, *at);
	if ((!x || !x->levels.levels) && m->run.reg[range->d + 2].bits[0] && is_claimed(p, *at))
		return stop(m, *at, "it claims what is not proven");
	if (!x || !x->levels.levels || is_for_us(x)) {
		m->gone = x ? x : m->gone;
		(*at)++;
		return !m->full;
	}
	if (why_not(m, x))
		return stop(m, *at, why_not(m, x));
	add_all(m, x);
	leave(m, range, &x->levels);
	*at = x->levels.nest.end + 1;
	return !m->full;
}

/* ---- The run ---- */

static bool needs_elements(const struct lang_ins *i)
{
	return i->code == CODE_PLACE || i->code == CODE_LOAD || i->code == CODE_STORE ||
	       lang_on_slices(i);
}

/* Why a loop is gone through whose turns are independent. */
static bool stop_at_loop(struct lang_far *m, uint32_t range)
{
	const struct lang_program *p = m->run.program;
	struct lang_grid any;
	struct err err = {0};
	unsigned array = 0;

	for (unsigned k = 0; k < p->nparam && !(p->param[k].access & ACCESS_OUT); k++)
		array += p->param[k].rank > 0;
	if (lang_grid_of(&any, p, range, 1, 0, array, &err) == E_UNSUPPORTED)
		return stop(m, range, err.text);
	return stop(m, range, "a scalar is left by it");
}

/* Why an element is named at `at`: perhaps since the turns of the loop around are not independent.
 */
static bool stop_at_element(struct lang_far *m, uint32_t at)
{
	const struct lang_nest *n = m->gone ? &m->gone->levels.nest : NULL;

	if (!n || at < m->gone->range || at > n->end)
		return stop(m, at, "an element is named outside of its loops");
	if (m->gone->levels.in_order)
		stop(m, m->gone->range,
		     "floats are added up in the order of its turns, which reduction(...) gives "
		     "up");
	else
		stop_at_loop(m, m->gone->range);
	if (n->why)
		lang_nest_say(m->out->why, sizeof m->out->why, m->run.program, n);
	return false;
}

/* An instruction that reads what is not known yet, or makes what nobody knows: done later, or the
 * values are wanted now. */
static bool later(struct lang_far *m, uint32_t at)
{
	const struct lang_ins *i = &m->run.program->code[at];

	if (i->code == CODE_SUMMED) {
		m->full |= !lang_later_sum(&m->later, &m->run, i->d, m->total[i->c] - 1, NULL);
		m->total[i->c] = 0;
		return !m->full;
	}
	if (i->code == CODE_ADDEND)
		return stop(m, at, "what its turns add is a claimed sum of a loop in it");
	if (!lang_later_can(i)) {
		m->out->wants = true;
		return false;
	}
	m->full |= !lang_later_put(&m->later, &m->run, at);
	return !m->full;
}

/* One instruction that is no loop's; *at: the next one. */
static bool one(struct lang_far *m, uint32_t *at)
{
	const struct lang_program *p = m->run.program;
	const struct lang_ins *i = &p->code[*at];
	const struct step *s = &m->run.kernel->step[*at], *next = s + 1;

	if (needs_elements(i))
		return stop_at_element(m, *at);
	if (lang_later_reads(&m->later, i) || (i->code == CODE_SUMMED && m->total[i->c])) {
		if (!later(m, *at))
			return false;
		++*at;
		return true;
	}
	if (i->code == CODE_FUSES) /* loops stay as they are written */
		m->run.reg[i->d].bits[0] = 0;
	else if (i->code == CODE_LOOP)
		next = s->to;
	else if (i->code != CODE_CLAIM && i->code != CODE_SEAM)
		next = s->fn(&m->run, s);
	if (!next)
		return stop(m, *at, m->err.text);
	lang_later_made(&m->later, i);
	*at = (uint32_t)(next - m->run.kernel->step);
	return true;
}

static bool knows_results(const struct lang_far *m)
{
	const struct lang_program *p = m->run.program;

	for (unsigned i = 0; i < p->nresult; i++)
		if (lang_later_is(&m->later, p->param[p->nparam + i].reg))
			return false;
	return true;
}

static bool go(struct lang_far *m)
{
	const struct lang_program *p = m->run.program;
	bool fine = true;

	for (uint32_t steps = 0; fine && p->code[m->at].code != CODE_END; steps++) {
		if (steps == LANG_AFAR_STEPS)
			return stop(m, m->at, "it takes long between its loops");
		fine = p->code[m->at].code == CODE_RANGE ? loop(m, &m->at) : one(m, &m->at);
	}
	if (fine && !m->met)
		return stop(m, m->at, "it has no loop");
	m->out->ends = fine;
	m->out->wants |= fine && !knows_results(m);
	return fine && !m->out->wants;
}

/* Before a wait that is not the last: may be the run had better stay here? */
static void reconsider(struct lang_far *m)
{
	struct lang_looks *looks = m->looks;
	uint64_t work = 0;

	for (unsigned k = 0; k < m->out->n; k++)
		work += m->out->launch[k].first ? m->out->launch[k].work : 0;
	m->short_lists = work < LANG_AFAR_WORTH ? m->short_lists + 1 : 0;
	if (!m->sent && *looks->back) {
		stop(m, m->at, looks->back);
		m->out->line = looks->back_line;
	} else if (m->short_lists > LANG_AFAR_WAITS) {
		stop(m, m->at, "it waits often for sums of few turns");
	}
	m->out->wants = !*m->out->why;
}

static bool list(struct lang_far *m, union lang_reg *result)
{
	const struct lang_program *p = m->run.program;
	struct lang_looks *looks = m->looks;

	if (go(m))
		for (unsigned i = 0; i < p->nresult; i++)
			result[i] = m->run.reg[p->param[p->nparam + i].reg];
	if (m->out->wants && !m->out->ends)
		reconsider(m);
	if (m->sent && *m->out->why) {
		memcpy(looks->back, m->out->why, sizeof looks->back);
		looks->back_line = m->out->line;
	}
	return !m->full;
}

bool lang_afar_of(struct lang_afar *out, struct lang_looks *looks, const struct lang_kernel *k,
		  const struct lang_array *array, const union lang_reg *scalar,
		  union lang_reg *result)
{
	const struct lang_program *p = lang_program_of(k);
	struct lang_far *m = calloc(1, sizeof *m);
	union lang_reg *reg = calloc(2 * (size_t)p->nreg + 2, sizeof *reg);

	memset(out, 0, sizeof *out);
	out->proven = true;
	if (!m || !reg) {
		free(m);
		free(reg);
		return false;
	}
	memcpy(m->own, array, p->narray * sizeof *array);
	m->out = out;
	m->looks = looks;
	m->at = p->entry;
	m->run = (struct run){.kernel = k,
			      .reg = reg,
			      .array = m->own,
			      .program = p,
			      .turns = LANG_TURNS,
			      .err = &m->err};
	m->room = reg + p->nreg + 1;
	out->far = m;
	lang_flatten(m->array, &m->run);
	lang_registers(reg, p, scalar);
	return list(m, result);
}

void lang_afar_told(struct lang_afar *a, unsigned k, const char *value, uint64_t n)
{
	struct lang_afar_sum *s = &a->sum[k];
	unsigned bytes = dtype_row(s->of->type)->bytes;
	union lang_reg next = {0};

	s->value = next;
	memcpy(&s->value, value, bytes);
	for (uint64_t i = 1; i < n; i++) {
		memcpy(&next, value + i * bytes, bytes);
		s->value.bits[0] = lang_added_together(&s->of->by, s->value.bits[0], next.bits[0]);
	}
}

bool lang_afar_on(struct lang_afar *a, union lang_reg *result)
{
	struct lang_far *m = a->far;

	lang_later_settle(&m->later, &m->run, a->sum, m->room);
	a->n = a->nvalue = a->nsum = 0;
	a->wants = a->ends = false;
	a->proven = true;
	m->sent = true;
	return list(m, result);
}

enum status lang_afar_rest(struct lang_afar *a, const struct lang_array *array,
			   union lang_reg *result, lang_poll_fn *poll, void *data, struct err *err)
{
	struct lang_far *m = a->far;
	struct run *r = &m->run;
	const struct step *s = &r->kernel->step[m->at];
	const struct lang_program *p = r->program;

	lang_later_settle(&m->later, &m->run, a->sum, m->room);
	r->array = array;
	r->poll = poll;
	r->data = data;
	r->err = err;
	r->status = OK;
	while (s)
		s = s->fn(r, s);
	if (r->over)
		lang_go_over(r, atomic_load_explicit(&r->kernel->any, memory_order_acquire));
	for (unsigned i = 0; !r->status && i < p->nresult; i++)
		result[i] = r->reg[p->param[p->nparam + i].reg];
	return r->status;
}

void lang_afar_free(struct lang_afar *a)
{
	if (a->far) {
		lang_view_end(&a->far->run);
		lang_later_free(&a->far->later);
		free(a->far->run.reg);
	}
	free(a->far);
	free(a->launch);
	free(a->value);
	free(a->sum);
}

void lang_looks_free(struct lang_looks *looks)
{
	for (unsigned k = 0; k < looks->n; k++) {
		free(looks->looked[k]->array);
		free(looks->looked[k]);
	}
	while (looks->kept) {
		struct lang_kept *k = looks->kept;

		looks->kept = k->next;
		free(k);
	}
	lang_loops_free(looks->loops);
}
