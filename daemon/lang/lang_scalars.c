/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_scalars.c - which scalars pass from one turn of a loop to the next.
 *
 * In:  the tree of loops.  Out: of each loop the registers that it writes and that are written at
 * several instructions: a value that one instruction alone makes is read where it was made. */
#include "lang_scalars.h"

#include <stdlib.h>
#include <string.h>

#include "lang_forms.h"
#include "lang_uses.h"

struct work {
	struct lang_loops *l;
	const struct lang_program *p;
	bool *live;	/* [instruction]: may its register be read before it is written again? */
	bool outside;	/* and where the instructions that are looked at end? */
	uint32_t left;	/* LANG_SCALARS_WORK */
	uint32_t *made; /* [register]: at how many instructions; parameters and results once more */
	uint8_t *type;	/* [register] */
};

static bool reads(const struct lang_ins *i, uint32_t reg)
{
	uint32_t r;
	unsigned type;

	for (unsigned k = 0; lang_uses(&r, &type, i, k); k++)
		if (r == reg)
			return true;
	return false;
}

static bool writes(const struct lang_ins *i, uint32_t reg)
{
	uint32_t r;
	unsigned type;

	for (unsigned k = 0; lang_makes(&r, &type, i, k); k++)
		if (r == reg)
			return true;
	return false;
}

static bool is_result(const struct lang_program *p, uint32_t reg)
{
	for (unsigned k = p->nparam; k < p->nparam + p->nresult; k++)
		if (p->param[k].reg == reg)
			return true;
	return false;
}

/* ---- Liveness ---- */

static bool live_before(const struct work *w, uint32_t reg, uint32_t at, uint32_t first,
			uint32_t last)
{
	const struct lang_ins *i = &w->p->code[at];
	bool behind = at < last && w->live[at + 1];

	if (reads(i, reg) || (i->code == CODE_END && is_result(w->p, reg)))
		return true;
	if (writes(i, reg))
		return false;
	if (!lang_jumps(i))
		return behind && i->code != CODE_END;
	bool there = i->d >= first && i->d <= last && !(w->outside && at == last) ? w->live[i->d]
										  : w->outside;

	return there || (i->code != CODE_JUMP && i->code != CODE_LOOP && behind);
}

/* Fills live of instructions first ... last; outside: what stands elsewhere, and the next turn,
 * reads it.  False: it takes too long. */
static bool spread(struct work *w, uint32_t reg, uint32_t first, uint32_t last, bool outside)
{
	w->outside = outside;
	memset(w->live + first, 0, last - first + 1);
	for (bool changed = true; changed;) {
		if (w->left < last - first + 1)
			return false;
		w->left -= last - first + 1;
		changed = false;
		for (uint32_t at = last + 1; at-- > first;) {
			bool now = live_before(w, reg, at, first, last);

			changed |= now != w->live[at] && w->p->code[at].code == CODE_NEXT;
			changed |= now && !w->live[at];
			w->live[at] = now;
		}
	}
	return true;
}

/* ---- Accumulators ---- */

/* Is r op x as good as x op r? */
static bool either_way(unsigned op)
{
	static const uint16_t ops[] = {
		OP_ADD,	       OP_MULTIPLY,    OP_MINIMUM,     OP_MAXIMUM,    OP_BITWISE_AND,
		OP_BITWISE_OR, OP_BITWISE_XOR, OP_LOGICAL_AND, OP_LOGICAL_OR, OP_LOGICAL_XOR};

	for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
		if (ops[k] == op)
			return true;
	return false;
}

/* Is the instruction r = r op x? */
static bool accumulates(const struct lang_ins *i, uint32_t reg)
{
	bool either = either_way(i->op);

	if (i->code != CODE_OP || i->d != reg || i->type != i->to || i->a == i->b)
		return false;
	return i->a == reg ? either || i->op == OP_SUBTRACT : either && i->b == reg;
}

/* The operation that each write is; OP_END: there is none, or several. */
static unsigned accumulator(const struct work *w, const struct lang_loop *x, uint32_t reg)
{
	unsigned op = OP_END;

	for (uint32_t at = x->range + 1; at <= x->end; at++) {
		const struct lang_ins *i = &w->p->code[at];

		if (!reads(i, reg) && !writes(i, reg))
			continue;
		if (!accumulates(i, reg) || (op != OP_END && op != i->op))
			return OP_END;
		op = i->op;
	}
	return op;
}

/* ---- Loops ---- */

static void scalar(struct work *w, struct lang_loop *x, uint32_t reg)
{
	struct lang_scalar s = {.reg = reg, .type = w->type[reg], .kind = SCALAR_CARRIED};
	struct lang_loops *l = w->l;
	unsigned op = accumulator(w, x, reg);
	bool known = spread(w, reg, x->range + 1, x->end, false);

	if (op != OP_END) {
		s.kind = SCALAR_ACCUMULATED;
		s.op = (uint16_t)op;
	} else if (known && !w->live[x->range + 1]) {
		s.kind = SCALAR_PRIVATE;
	}
	s.always = spread(w, reg, x->range + 1, x->end, true) && !w->live[x->range + 2];
	s.after = !spread(w, reg, w->p->entry, w->p->ncode - 1, false) || w->live[x->exit];
	if (lang_grow(l, &l->scalar, &l->nscalar, &l->cap_scalar, sizeof *l->scalar))
		l->scalar[l->nscalar - 1] = s;
}

static void scalars(struct work *w, struct lang_loop *x, uint32_t *seen, uint32_t mark)
{
	uint32_t reg;
	unsigned type;

	x->first_scalar = w->l->nscalar;
	for (uint32_t at = x->range + 2; at < x->end; at++) {
		const struct lang_ins *i = &w->p->code[at];

		for (unsigned k = 0; i->code != CODE_RANGE && lang_makes(&reg, &type, i, k); k++) {
			if (w->made[reg] < 2 || seen[reg] == mark)
				continue;
			seen[reg] = mark;
			scalar(w, x, reg);
		}
	}
	x->nscalar = w->l->nscalar - x->first_scalar;
}

static void count(struct work *w, const bool *foreign)
{
	const struct lang_program *p = w->p;
	uint32_t reg;
	unsigned type;

	for (uint32_t at = p->entry; at < p->ncode; at++)
		for (unsigned k = 0; lang_makes(&reg, &type, &p->code[at], k); k++) {
			w->made[reg] += !foreign[reg];
			w->type[reg] = (uint8_t)type;
		}
	for (unsigned k = 0; k < p->nparam + p->nresult; k++)
		if (!p->param[k].rank)
			w->made[p->param[k].reg]++;
}

void lang_scalars(struct lang_loops *l, const bool *foreign)
{
	const struct lang_program *p = l->program;
	struct work w = {.l = l, .p = p, .left = LANG_SCALARS_WORK};
	uint32_t *seen = calloc(p->nreg + 1, sizeof *seen);

	w.live = calloc(p->ncode + 1, 1);
	w.made = calloc(p->nreg + 1, sizeof *w.made);
	w.type = calloc(p->nreg + 1, 1);
	if (seen && w.live && w.made && w.type) {
		count(&w, foreign);
		for (uint32_t k = 0; k < l->nloop; k++)
			scalars(&w, &l->loop[k], seen, k + 1);
	} else {
		l->full = true;
	}
	free(seen);
	free(w.live);
	free(w.made);
	free(w.type);
}
