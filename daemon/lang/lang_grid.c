/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_grid.c - what threads that share out the turns of a loop do, and may do.
 *
 * In:  a checked program and one of its loops.  Out: the instructions that turns come to, found
 * along the jumps; from them the registers that come in and whether loops stand directly inside
 * each other.  With the values of a call: how many of these loops have independent turns. */
#include "lang_grid.h"

#include <stdlib.h>
#include <string.h>

#include "lang_uses.h"
#include "lang_walk.h"

#define LIVE_WRITTEN  1u
#define LIVE_READ     2u
#define LIVE_CONSTANT 4u

/* ---- The instructions that turns come to ---- */

struct reach {
	const struct lang_program *p;
	uint32_t range, end;
	uint8_t *seen;
	uint32_t *open; /* that are to be looked at; each is so once */
	uint32_t n;
	struct err *err;
};

static void come(struct reach *r, uint32_t at)
{
	if (r->seen[at])
		return;
	r->seen[at] = true;
	r->open[r->n++] = at;
}

/* Of the program's numbers, which may be anybody's. */
static bool is_array(const struct lang_program *p, const struct lang_param **out, uint32_t array)
{
	for (unsigned k = 0; k < p->nparam; k++)
		if (p->param[k].rank && !array--) {
			*out = &p->param[k];
			return true;
		}
	return false;
}

/* Why no thread does such an instruction; NULL: it does. */
static const char *refusal(const struct lang_ins *i)
{
	if (lang_on_slices(i))
		return "slices and reductions in it";
	if (i->code == CODE_SUM || i->code == CODE_SUMMED)
		return "a claimed sum in it";
	if (i->code == CODE_END)
		return "it is left before its end";
	if (i->code == CODE_RANGE && i->op == CLAIM_STRIPS)
		return "it goes by strips";
	return NULL;
}

/* To where it goes on, besides the next one. */
static bool follow(struct reach *r, uint32_t at)
{
	const struct lang_ins *i = &r->p->code[at];

	if (i->code == CODE_FUSES && !i->op) {
		come(r, i[1].d);
		return false;
	}
	if (i->code == CODE_CALL || (lang_jumps(i) && at != r->range + 1))
		come(r, i->d);
	return i->code != CODE_JUMP && i->code != CODE_LOOP && i->code != CODE_RETURN;
}

/* Is it, where turns come to it, part of the loop, or of a function that stands before? */
static enum status look(struct reach *r, uint32_t at)
{
	const struct lang_program *p = r->p;
	const struct lang_ins *i = &p->code[at];
	const char *why = refusal(i);
	bool inside = at >= r->range && at <= r->end;

	if (!why && ((at >= p->entry && !inside) || (i->code == CODE_RETURN && inside)))
		why = "it is left before its end";
	if (why)
		return err_set(r->err, E_UNSUPPORTED, "line %u: the loop in line %u: %s", i->line,
			       p->code[r->range].line, why);
	if ((i->code == CODE_CALL && (i->d >= p->entry || (at < p->entry && i->d > at))) ||
	    (at < p->entry && lang_jumps(i) && i->d >= p->entry))
		return err_set(r->err, E_INVALID, "a function that calls itself");
	return OK;
}

static enum status reach(struct reach *r)
{
	enum status st = OK;

	come(r, r->range);
	while (r->n && !st) {
		uint32_t at = r->open[--r->n];

		st = look(r, at);
		if (!st && follow(r, at))
			come(r, at + 1);
	}
	return st;
}

static enum status reach_of(uint8_t **out, const struct lang_program *p, uint32_t range,
			    struct err *err)
{
	struct reach r = {.p = p, .range = range, .end = lang_nest_end(p, range), .err = err};
	enum status st;

	r.seen = calloc(p->ncode, 1);
	r.open = malloc(p->ncode * sizeof *r.open);
	st = r.seen && r.open ? reach(&r) : err_set(err, E_NOMEM, "no memory for a loop");
	free(r.open);
	if (st)
		free(r.seen);
	else
		*out = r.seen;
	return st;
}

uint8_t *lang_grid_code(const struct lang_grid *g)
{
	uint8_t *seen = NULL;

	return reach_of(&seen, g->program, g->range, NULL) ? NULL : seen;
}

uint8_t *lang_grid_places(const struct lang_grid *g, const uint8_t *seen)
{
	const struct lang_program *p = g->program;
	uint8_t *array = malloc(p->nreg + 1);

	if (array)
		memset(array, LANG_NO_ARRAY, p->nreg + 1);
	for (uint32_t at = 0; array && at < p->ncode; at++)
		if (seen[at] && p->code[at].code == CODE_PLACE)
			array[p->code[at].d] = (uint8_t)p->code[at].a;
	return array;
}

/* ---- Scalars that turns add to ---- */

/* Does the instruction make what the turn has of a claimed sum, or add that up?  The loop's own
 * sums alone have a CODE_ADDEND in it. */
static bool is_claims(const struct lang_program *p, const uint8_t *seen, uint32_t range,
		      const struct lang_ins *i)
{
	uint32_t end = lang_nest_end(p, range), reg;
	unsigned type;

	if (i->code == CODE_ADDEND)
		return true;
	for (uint32_t at = range + 1; at < end; at++)
		for (unsigned k = 0;
		     seen[at] && p->code[at].code == CODE_ADDEND && lang_makes(&reg, &type, i, k);
		     k++)
			if (reg == p->code[at].a)
				return true;
	return false;
}

/* What is added to the register, if nothing but additions of one kind are. */
static bool find_sum(struct lang_grid_sum *out, const struct lang_program *p, const uint8_t *seen,
		     uint32_t range, uint32_t reg)
{
	struct lang_addition by;
	bool found = false;

	for (uint32_t at = range + 1; at < lang_nest_end(p, range); at++) {
		const struct lang_ins *i = &p->code[at];

		if (!seen[at])
			continue;
		if (i->code == CODE_ADDEND && i->a == reg) {
			*out = (struct lang_grid_sum){.reg = reg, .type = i->type, .claimed = true};
			return true;
		}
		if (!found && lang_addition_to(p, at, reg, &by) && !by.ordered) {
			*out = (struct lang_grid_sum){.reg = reg, .type = by.type, .by = by};
			found = true;
		}
	}
	return found;
}

/* ---- Loops directly inside each other ---- */

/* May threads do it once more for each loop inside: does it fail nowhere and touch no memory? */
static bool is_pure(const struct lang_ins *i)
{
	return i->code == CODE_MOVE || i->code == CODE_OP || i->code == CODE_CAST ||
	       i->code == CODE_LENGTH || i->code == CODE_CLAIM || i->code == CODE_FUSES ||
	       i->code == CODE_SEAM;
}

/* Does instruction `at` name a register that one of [first, last] writes? */
static bool names_written(const struct lang_program *p, const uint8_t *seen, uint32_t at,
			  uint32_t first, uint32_t last)
{
	uint32_t mine[8], reg;
	unsigned type, n = 0;

	for (unsigned k = 0; n < 8 && lang_uses(&reg, &type, &p->code[at], k); k++)
		mine[n++] = reg;
	for (unsigned k = 0; n < 8 && lang_makes(&reg, &type, &p->code[at], k); k++)
		mine[n++] = reg;
	for (uint32_t x = first; x <= last; x++)
		for (unsigned k = 0; seen[x] && lang_makes(&reg, &type, &p->code[x], k); k++)
			for (unsigned m = 0; m < n; m++)
				if (mine[m] == reg)
					return true;
	return n == 8;
}

static bool is_broken(const struct lang_program *p, const uint8_t *seen, uint32_t range,
		      uint32_t end)
{
	for (uint32_t at = range + 2; at <= end; at++)
		if (seen[at] && lang_jumps(&p->code[at]) && p->code[at].d > end)
			return true;
	return false;
}

/* The loop directly inside that of `range`, in whose turns there is nothing else of weight; 0:
 * there is none. */
static uint32_t only_inside(const struct lang_program *p, const uint8_t *seen, uint32_t range)
{
	uint32_t end = lang_nest_end(p, range), inner = 0, behind = 0;

	for (uint32_t at = range + 2; at < end; at++) {
		const struct lang_ins *i = &p->code[at];

		if (!seen[at])
			continue;
		if (i->code == CODE_RANGE && !inner) {
			inner = at;
			at = behind = lang_nest_end(p, at);
		} else if (!is_claims(p, seen, range, i) &&
			   (!is_pure(i) || (inner && names_written(p, seen, at, inner, behind)))) {
			return 0;
		}
	}
	return inner && !is_broken(p, seen, inner, behind) ? inner : 0;
}

/* ---- What comes in ---- */

struct live {
	const struct lang_program *p;
	const uint8_t *seen;
	uint8_t *how, *type; /* [register] */
	uint8_t *array;	     /* [register]: of an address the array that it lies in */
};

/* false: a register of two types. */
static bool name(struct live *l, uint32_t reg, unsigned type, unsigned how)
{
	bool same = !(l->how[reg] & (LIVE_READ | LIVE_WRITTEN)) || l->type[reg] == type;

	l->how[reg] |= (uint8_t)how;
	l->type[reg] = (uint8_t)type;
	return same;
}

static bool names(struct live *l, const struct lang_ins *i)
{
	unsigned type;
	uint32_t reg;
	bool fine = true;

	if (i->code == CODE_CLAIM || i->code == CODE_FUSES)
		return true;
	for (unsigned k = 0; lang_uses(&reg, &type, i, k); k++)
		fine &= name(l, reg, type, LIVE_READ);
	for (unsigned k = 0; lang_makes(&reg, &type, i, k); k++)
		fine &= name(l, reg, type, LIVE_WRITTEN);
	return fine;
}

/* Elements are at addresses of their arrays, each of one alone. */
static bool touches(struct live *l, const struct lang_ins *i)
{
	uint32_t at = i->code == CODE_LOAD ? i->a : i->d;
	const struct lang_param *x = NULL;

	if (i->code == CODE_PLACE) {
		if (!is_array(l->p, &x, i->a) || i->c != x->rank ||
		    (l->array[at] != LANG_NO_ARRAY && l->array[at] != i->a))
			return false;
		l->array[at] = (uint8_t)i->a;
	} else if (i->code == CODE_LENGTH) {
		return is_array(l->p, &x, i->a) && i->b < x->rank;
	} else if (i->code == CODE_LOAD || i->code == CODE_STORE) {
		return l->array[at] != LANG_NO_ARRAY && is_array(l->p, &x, l->array[at]) &&
		       i->type == x->type;
	}
	return true;
}

/* Does the loop write the array? */
static bool writes(const struct live *l, unsigned array)
{
	for (uint32_t at = 0; at < l->p->ncode; at++)
		if (l->seen[at] && l->p->code[at].code == CODE_STORE &&
		    l->array[l->p->code[at].d] == array)
			return true;
	return false;
}

/* Does the loop write what it is told to, or add to it? */
static bool has_target(const struct live *l, const struct lang_grid *g)
{
	if (!g->sums)
		return writes(l, g->only);
	return !(l->how[g->sum.reg] & LIVE_CONSTANT) && l->type[g->sum.reg] == g->sum.type;
}

/* Bounds are read before anything is written. */
static bool comes_in(const struct live *l, uint32_t r, const struct lang_ins *outer)
{
	bool bound = r == outer->a || r == outer->b || r == outer->c;

	return !(l->how[r] & LIVE_CONSTANT) && (l->how[r] & LIVE_READ) &&
	       (bound || !(l->how[r] & LIVE_WRITTEN));
}

static enum status find_live(struct live *l, struct lang_grid *g, struct err *err)
{
	const struct lang_program *p = l->p;
	const struct lang_ins *outer = &p->code[g->range];
	bool fine = true;

	memset(l->array, LANG_NO_ARRAY, p->nreg);
	for (uint32_t k = 0; k < p->nconst; k++)
		l->how[p->constant[k].reg] = LIVE_CONSTANT;
	for (uint32_t at = 0; at < p->ncode && fine; at++)
		fine = !l->seen[at] || (names(l, &p->code[at]) && touches(l, &p->code[at]));
	if (!fine)
		return err_set(err, E_UNSUPPORTED, "a loop's instructions do not fit each other");
	if (!has_target(l, g))
		return err_set(err, E_INVALID, "a loop that does not write its array");
	for (uint32_t r = 0; r < p->nreg; r++) {
		if (!comes_in(l, r, outer))
			continue;
		if (l->type[r] == DTYPE_END)
			return err_set(err, E_UNSUPPORTED, "a loop that is told an address");
		if (g->nlive == LANG_LIVE)
			return err_set(err, E_LIMIT, "a loop that reads more than %u scalars",
				       LANG_LIVE);
		g->live[g->nlive] = r;
		g->type[g->nlive++] = l->type[r];
	}
	return OK;
}

static enum status live(struct lang_grid *g, const uint8_t *seen, struct err *err)
{
	const struct lang_program *p = g->program;
	struct live l = {.p = p, .seen = seen};
	enum status st;

	l.how = calloc(p->nreg, 1);
	l.type = calloc(p->nreg, 1);
	l.array = malloc(p->nreg);
	st = l.how && l.type && l.array ? find_live(&l, g, err)
					: err_set(err, E_NOMEM, "no memory for a loop");
	free(l.how);
	free(l.type);
	free(l.array);
	return st;
}

/* ---- The grid ---- */

/* Instructions where each function is written wherever it is called.  They stand in the order in
 * which they may call each other. */
static enum status weigh(const struct lang_program *p, const uint8_t *seen, struct err *err)
{
	uint32_t *many = calloc(p->entry + 1, sizeof *many), sum = 0, start = 0;
	bool fine = many != NULL;

	for (uint32_t at = 0; fine && at < p->ncode; at++) {
		const struct lang_ins *i = &p->code[at];

		if (at == p->entry)
			sum = 0;
		if (seen[at])
			sum += i->code == CODE_CALL ? 1 + many[i->d] : 1;
		if (at < p->entry)
			many[start] = sum;
		if (at < p->entry && i->code == CODE_RETURN) {
			start = at + 1;
			sum = 0;
		}
		fine = sum <= LANG_GRID_CODE;
	}
	if (!many)
		return err_set(err, E_NOMEM, "no memory for a loop");
	free(many);
	return fine ? OK
		    : err_set(err, E_LIMIT, "a loop of more than %u instructions", LANG_GRID_CODE);
}

unsigned lang_grid_words(const struct lang_grid *g)
{
	const struct lang_program *p = g->program;
	unsigned words = 0;

	for (unsigned k = 0; k < p->nparam; k++)
		words += p->param[k].rank ? 1u + 2u * p->param[k].rank : 0;
	return words + (g->sums ? 3 : 0) + 2 * g->nlive;
}

static enum status find_levels(struct lang_grid *g, const uint8_t *seen, struct err *err)
{
	for (unsigned k = 1; k < g->levels; k++) {
		g->level[k] = only_inside(g->program, seen, g->level[k - 1]);
		if (!g->level[k])
			return err_set(err, E_UNSUPPORTED,
				       "in turns of the loop in line %u there is more than a loop",
				       g->program->code[g->level[k - 1]].line);
	}
	return OK;
}

static enum status check(const struct lang_grid *g, struct err *err)
{
	const struct lang_program *p = g->program;
	const struct lang_param *array = NULL;

	if (g->range < p->entry || g->range >= p->ncode || p->code[g->range].code != CODE_RANGE)
		return err_set(err, E_INVALID, "there is no loop at instruction %u", g->range);
	if (!g->levels || g->levels > LANG_LEVELS || g->fast >= g->levels)
		return err_set(err, E_INVALID, "%u levels of loops, %u the fast one", g->levels,
			       g->fast);
	if (!g->sums && (!is_array(p, &array, g->only) || !(array->access & ACCESS_OUT)))
		return err_set(err, E_INVALID, "there is no array %u that is written", g->only);
	if (lang_grid_arrays(g) > LIMIT_GRID_ARRAYS)
		return err_set(err, E_LIMIT, "a loop over more than %u arrays", LIMIT_GRID_ARRAYS);
	return OK;
}

/* Of the scalar that a grid tells of; a claimed one has a number for each turn of the one loop. */
static enum status check_sum(struct lang_grid *g, const uint8_t *seen, struct err *err)
{
	if (!g->sums)
		return OK;
	if (g->sum.reg >= g->program->nreg ||
	    !find_sum(&g->sum, g->program, seen, g->range, g->sum.reg) ||
	    (g->sum.claimed && g->levels > 1))
		return err_set(err, E_INVALID, "a loop that does not add to register %u",
			       g->sum.reg);
	return OK;
}

static enum status make(struct lang_grid *out, struct lang_grid *g, struct err *err)
{
	enum status st = check(g, err);
	uint8_t *seen = NULL;

	if (!st)
		st = reach_of(&seen, g->program, g->range, err);
	if (!st)
		st = check_sum(g, seen, err);
	if (!st)
		st = find_levels(g, seen, err);
	if (!st)
		st = weigh(g->program, seen, err);
	if (!st)
		st = live(g, seen, err);
	if (!st && lang_grid_words(g) > LANG_GRID_WORDS)
		st = err_set(err, E_LIMIT, "a loop over arrays of too many axes");
	free(seen);
	if (!st)
		*out = *g;
	return st;
}

enum status lang_grid_of(struct lang_grid *out, const struct lang_program *p, uint32_t range,
			 unsigned levels, unsigned fast, unsigned only, struct err *err)
{
	struct lang_grid g = {.program = p,
			      .range = range,
			      .levels = levels,
			      .fast = fast,
			      .only = only,
			      .level = {range}};

	return make(out, &g, err);
}

enum status lang_grid_sum(struct lang_grid *out, const struct lang_program *p, uint32_t range,
			  unsigned levels, unsigned fast, uint32_t reg, struct err *err)
{
	struct lang_grid g = {.program = p,
			      .range = range,
			      .levels = levels,
			      .fast = fast,
			      .only = p->narray,
			      .sums = true,
			      .sum = {.reg = reg},
			      .level = {range}};

	return make(out, &g, err);
}

enum status lang_grid_keep(struct lang_grid *g, uint32_t arrays, struct err *err)
{
	if ((uint64_t)arrays >> g->program->narray || (!g->sums && arrays >> g->only & 1))
		return err_set(err, E_INVALID, "a loop that keeps arrays %#x", arrays);
	g->keeps |= arrays;
	return OK;
}

/* ---- With the values of a call ---- */

struct levels {
	struct lang_levels *out;
	const uint8_t *seen;
	bool full; /* no memory */
};

/* Is the register one that the loop only adds to, or a turn's own of a sum that it claims? */
static bool is_summed(const struct walk *w, const struct lang_nest *n, uint32_t reg)
{
	for (unsigned k = 0; k < n->nsum; k++)
		if (n->sum[k].reg == reg)
			return true;
	for (unsigned k = 0; k < n->nclaimed; k++)
		if (w->p->code[n->claimed[k]].a == reg)
			return true;
	return false;
}

static bool is_constant(const struct lang_program *p, uint32_t reg)
{
	for (uint32_t k = 0; k < p->nconst; k++)
		if (p->constant[k].reg == reg)
			return true;
	return false;
}

/* Does each turn set it to a constant, by one instruction?  Then that is what the loop leaves. */
static bool is_left(const struct walk *w, const uint8_t *seen, uint32_t k, struct lang_levels *out)
{
	const struct written *x = &w->w[k];

	if (x->writes != 1 || !(w->now[k / 64] >> k % 64 & 1) || out->nleft == LANG_LEFT)
		return false;
	for (uint32_t at = w->range + 2; at < w->end; at++) {
		const struct lang_ins *i = &w->p->code[at];

		if (!seen[at] || i->code != CODE_MOVE || i->d != x->reg)
			continue;
		out->left[out->nleft++] = at;
		return is_constant(w->p, i->a);
	}
	return false;
}

/* Is a scalar read outside that is neither the loop's own number nor added up, nor known? */
static bool is_read_outside(const struct walk *w, const uint8_t *seen, struct lang_levels *out)
{
	uint32_t number = w->p->code[w->range].d;

	for (uint32_t k = 0; k < w->nw; k++)
		if (w->w[k].outside && (w->w[k].reg < number || w->w[k].reg > number + 3) &&
		    !is_summed(w, w->out, w->w[k].reg) && !is_left(w, seen, k, out))
			return true;
	return false;
}

/* Are floats added up in the order of the turns? */
static bool is_in_order(const struct lang_nest *n)
{
	for (unsigned k = 0; k < n->nsum; k++)
		if (n->sum[k].by.ordered)
			return true;
	return false;
}

/* Is all that the loop inside adds up added up by the whole? */
static bool are_summed(const struct walk *w, const struct lang_nest *inside)
{
	for (unsigned k = 0; k < inside->nsum; k++)
		if (!is_summed(w, w->out, inside->sum[k].reg))
			return false;
	return !inside->nclaimed;
}

/* Has the loop at `range`, inside the others, at depth `level` of them, independent turns? */
static bool is_level(struct walk *w, struct levels *l, uint32_t range, unsigned level)
{
	struct lang_nest *nest = malloc(sizeof *nest);
	bool fine = nest && lang_walk_over(nest, w->p, NULL, range, NULL, NULL, w->how | WALK_ADDED,
					   lang_nest_at_once, NULL);

	l->full |= !fine;
	fine = fine && nest->why == NEST_NONE && are_summed(w, nest) &&
	       !lang_walk_unbounded(w, level);
	free(nest);
	return fine &&
	       lang_depend(w->turns, w->access, w->naccess, level).answer == LANG_INDEPENDENT;
}

/* The level along which most accesses go on by one element; else stay; else the innermost. */
static unsigned fastest(const struct walk *w, unsigned levels)
{
	unsigned best = 0, most = 0;

	for (unsigned k = 0; k < levels; k++) {
		unsigned sum = 0;

		for (unsigned a = 0; a < w->naccess; a++) {
			const struct lang_reach *x = &w->access[a];
			int64_t by = 0;

			if (__builtin_mul_overflow(x->address.factor[k], w->turns[k].step, &by))
				continue;
			sum += by == x->bytes || by == -(int64_t)x->bytes ? LANG_ACCESSES
			       : !by					  ? 1
									  : 0;
		}
		if (sum >= most) {
			most = sum;
			best = k;
		}
	}
	return best;
}

static void find_arrays(const struct walk *w, struct lang_levels *out)
{
	for (unsigned k = 0; k < w->naccess; k++) {
		const struct lang_ins *place = &w->p->code[w->place[k]];

		for (uint32_t at = w->place[k] + 1; at < w->end; at++) {
			const struct lang_ins *i = &w->p->code[at];

			if (i->code == CODE_LOAD && i->a == place->d)
				out->read |= (uint64_t)1 << place->a;
			if (i->code == CODE_STORE && i->d == place->d)
				out->written |= (uint64_t)1 << place->a;
		}
	}
}

/* Has the loop at this level as many turns in each turn of those around it? */
static bool is_even(const struct walk *w, unsigned level)
{
	return !w->widened && !lang_walk_unbounded(w, level) &&
	       lang_affine_constant(&w->turns[level].start) &&
	       lang_affine_constant(&w->turns[level].stop);
}

static void look_at_levels(struct walk *w, void *data)
{
	struct levels *l = data;
	struct lang_levels *out = l->out;
	uint32_t range = w->range;

	lang_nest_at_once(w, NULL);
	out->in_order = is_in_order(w->out);
	if (w->out->why || out->in_order || is_read_outside(w, l->seen, out))
		return;
	out->levels = 1;
	while (out->levels < LANG_LEVELS) {
		range = only_inside(w->p, l->seen, range);
		if (!range || !is_level(w, l, range, out->levels))
			break;
		out->levels++;
	}
	out->turns = w->many[out->levels];
	memcpy(out->many, w->many + 1, sizeof out->many);
	for (out->even = 1; out->even < out->levels && is_even(w, out->even);)
		out->even++;
	out->proven = !w->guessed;
	out->fast = fastest(w, out->levels);
	find_arrays(w, out);
}

bool lang_grid_levels(struct lang_levels *out, const struct lang_program *p,
		      const struct lang_loops *loops, uint32_t range, const union lang_reg *reg,
		      const struct lang_array *array)
{
	struct levels l = {.out = out};
	uint8_t *seen = NULL;
	bool fine;

	memset(out, 0, sizeof *out);
	/* What no thread can do has no levels; why is lang_grid_of's to say. */
	if (p->narray > LIMIT_GRID_ARRAYS || reach_of(&seen, p, range, NULL))
		return lang_nest_of(&out->nest, p, loops, range, reg, array);
	l.seen = seen;
	fine = lang_walk_over(&out->nest, p, loops, range, reg, array, WALK_CHECKED, look_at_levels,
			      &l);
	free(seen);
	out->work = out->nest.work;
	return fine && !l.full;
}
