/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_later.c - see lang_later.h.
 *
 * Each value is made once and never changed, so that a register may get another one before it is
 * known.  Values are in the order in which they are made, and need earlier ones only. */
#include "lang_later.h"

#include <stdlib.h>
#include <string.h>

#include "lang_uses.h"

#define OPERANDS 3
#define NO_SUM	 UINT32_MAX

struct later_value {
	uint32_t sum; /* its number, and what it is added to, operand 0; NO_SUM: it is computed: */
	bool adds;
	struct lang_addition by;
	uint32_t at; /* by this instruction, */
	unsigned n;  /* of so many operands: */
	uint32_t reg[OPERANDS], of[OPERANDS];
	union lang_reg known[OPERANDS]; /* of LATER_NOTHING */
	union lang_reg value;
};

/* The next value, of nothing yet; NULL: no memory. */
static struct later_value *next(struct lang_later *l, const struct run *r)
{
	if (!l->of) {
		l->nreg = r->program->nreg;
		l->of = calloc(l->nreg + 1, sizeof *l->of);
	}
	if (!l->of)
		return NULL;
	if (l->n == l->cap) {
		unsigned cap = l->cap ? 2 * l->cap : 16;
		struct later_value *more = realloc(l->value, cap * sizeof *more);

		if (!more)
			return NULL;
		l->value = more;
		l->cap = cap;
	}
	l->value[l->n] = (struct later_value){.sum = NO_SUM};
	return &l->value[l->n];
}

static void operand(struct later_value *v, const struct lang_later *l, const struct run *r,
		    uint32_t reg)
{
	v->reg[v->n] = reg;
	v->of[v->n] = l->of[reg];
	v->known[v->n++] = r->reg[reg];
}

bool lang_later_sum(struct lang_later *l, const struct run *r, uint32_t reg, unsigned sum,
		    const struct lang_addition *by)
{
	struct later_value *v = next(l, r);

	if (!v)
		return false;
	v->sum = sum;
	v->adds = by != NULL;
	if (by) {
		v->by = *by;
		operand(v, l, r, reg);
	}
	l->of[reg] = ++l->n;
	return true;
}

bool lang_later_is(const struct lang_later *l, uint32_t reg)
{
	return l->n && l->of[reg] != LATER_NOTHING;
}

bool lang_later_reads(const struct lang_later *l, const struct lang_ins *i)
{
	unsigned type;
	uint32_t reg;

	for (unsigned k = 0; l->n && lang_uses(&reg, &type, i, k); k++)
		if (l->of[reg] != LATER_NOTHING)
			return true;
	return false;
}

bool lang_later_can(const struct lang_ins *i)
{
	return i->code == CODE_OP || i->code == CODE_CAST || i->code == CODE_MOVE;
}

bool lang_later_put(struct lang_later *l, const struct run *r, uint32_t at)
{
	const struct lang_ins *i = &r->program->code[at];
	struct later_value *v = next(l, r);
	unsigned type;
	uint32_t reg;

	if (!v)
		return false;
	v->at = at;
	for (unsigned k = 0; k < OPERANDS && lang_uses(&reg, &type, i, k); k++)
		operand(v, l, r, reg);
	l->of[i->d] = ++l->n;
	return true;
}

void lang_later_made(struct lang_later *l, const struct lang_ins *i)
{
	unsigned type;
	uint32_t reg;

	for (unsigned k = 0; l->n && lang_makes(&reg, &type, i, k); k++)
		l->of[reg] = LATER_NOTHING;
}

static union lang_reg value_of(const struct lang_later *l, const struct later_value *v, unsigned k)
{
	return v->of[k] == LATER_NOTHING ? v->known[k] : l->value[v->of[k] - 1].value;
}

/* What the machine makes of the operands, in registers that nobody else has. */
static void compute(struct later_value *v, const struct lang_later *l, const struct run *r,
		    union lang_reg *room)
{
	const struct step *s = &r->kernel->step[v->at];
	struct run one = *r;

	one.reg = room;
	for (unsigned k = 0; k < v->n; k++)
		room[v->reg[k]] = value_of(l, v, k);
	(void)s->fn(&one, s);
	v->value = room[r->program->code[v->at].d];
}

void lang_later_settle(struct lang_later *l, struct run *r, const struct lang_afar_sum *sum,
		       union lang_reg *room)
{
	for (unsigned k = 0; k < l->n; k++) {
		struct later_value *v = &l->value[k];

		if (v->sum == NO_SUM) {
			compute(v, l, r, room);
			continue;
		}
		v->value = sum[v->sum].value;
		if (v->adds)
			v->value.bits[0] = lang_added_together(&v->by, value_of(l, v, 0).bits[0],
							       sum[v->sum].value.bits[0]);
	}
	for (uint32_t reg = 0; l->n && reg < l->nreg; reg++)
		if (l->of[reg] != LATER_NOTHING) {
			r->reg[reg] = l->value[l->of[reg] - 1].value;
			l->of[reg] = LATER_NOTHING;
		}
	l->n = 0;
}

void lang_later_free(struct lang_later *l)
{
	free(l->value);
	free(l->of);
}
