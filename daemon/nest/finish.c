/* SPDX-License-Identifier: Apache-2.0 */
/* nest/finish.c - from units to a plan: slots numbered and shared, cost, tears.
 *
 * Slots are numbered in order of first use.  Temporaries whose lifetimes do not
 * overlap share one, which grows to the larger. */
#include <stdlib.h>
#include <string.h>

#include "../base/xalloc.h"
#include "prog.h"

#define BYTES_PER_US  10000.0 /* ~10 GB/s */
#define TENTHS_PER_US 10000.0 /* op costs are in tenths of a nanosecond */
#define STEP_US	      5.0
#define LONGEST_US    1e15 /* what is predicted of any step, at most */

struct finish {
	struct prog *p;
	struct plan *plan;
	uint32_t *number;	/* [slot of the program]: slot of the plan */
	uint32_t *first, *last; /* [slot of the program]: steps that use it */
	uint32_t *busy;		/* [slot of the plan]: last step of its present user */
};

static void find_lifetimes(struct finish *f)
{
	for (uint32_t k = 0; k < f->p->nunit; k++) {
		const struct prog_unit *u = f->p->unit[k];

		for (unsigned i = 0; i < u->naccess; i++) {
			uint32_t s = u->slot[i];

			if (f->first[s] == PART_NONE)
				f->first[s] = k;
			f->last[s] = k;
		}
	}
}

static uint32_t new_slot(struct finish *f, uint32_t s)
{
	const struct prog_slot *x = &f->p->slot[s];
	uint32_t n = f->plan->nslot++;

	f->plan->slot[n] =
		(struct plan_slot){x->bytes, x->keep ? x->value : PART_NONE, x->input, x->empty};
	return n;
}

/* The free temporary that fits a need best, or PART_NONE. */
static uint32_t free_temp(const struct finish *f, uint32_t step, uint64_t bytes)
{
	uint32_t best = PART_NONE;
	uint64_t waste = UINT64_MAX;

	for (uint32_t n = 0; n < f->plan->nslot; n++) {
		uint64_t b = f->plan->slot[n].bytes, d = b > bytes ? b - bytes : bytes - b;

		if (f->busy[n] == PART_NONE || f->busy[n] >= step || d >= waste)
			continue;
		best = n;
		waste = d;
	}
	return best;
}

static void number_slot(struct finish *f, uint32_t s, uint32_t step)
{
	const struct prog_slot *x = &f->p->slot[s];
	uint32_t n;

	if (f->number[s] != PART_NONE)
		return;
	n = x->keep ? PART_NONE : free_temp(f, step, x->bytes);
	if (n == PART_NONE)
		n = new_slot(f, s);
	else if (f->plan->slot[n].bytes < x->bytes)
		f->plan->slot[n].bytes = x->bytes;
	f->plan->slot[n].empty |= x->empty;
	f->number[s] = n;
	if (!x->keep)
		f->busy[n] = f->last[s];
}

static void number_slots(struct finish *f)
{
	const struct part *part = f->p->part;

	for (uint32_t k = 0; k < f->p->nunit; k++)
		for (unsigned i = 0; i < f->p->unit[k]->naccess; i++)
			number_slot(f, f->p->unit[k]->slot[i], k);
	for (uint32_t v = 0; v < part->nvalue; v++) {
		uint32_t s = f->p->value_slot[v];

		if (s != PART_NONE && part->value[v].role == PART_OUTPUT &&
		    f->number[s] == PART_NONE)
			f->number[s] = new_slot(f, s);
		f->plan->value_slot[v] = s == PART_NONE ? PART_NONE : f->number[s];
	}
}

static uint64_t whole_us(double us)
{
	us += STEP_US;
	return us < LONGEST_US ? (uint64_t)us : (uint64_t)LONGEST_US;
}

/* Of its arithmetic. */
static double nest_math(const struct nest *n)
{
	double ops = 0, par = (double)nest_parallel(n);
	const double points[2] = {par * (double)nest_reduced(n), par};

	for (unsigned k = 0; k < n->ninstr; k++) {
		const struct op_row *row = op_row(instr_operation(&n->instr[k]));

		if (row)
			ops += row->cost * points[nest_section(n, k) % 2];
	}
	return ops / TENTHS_PER_US;
}

static double nest_bytes_us(const struct nest *n)
{
	double bytes = 0;

	for (unsigned k = 0; k < n->naccess; k++) {
		double count = dtype_row(n->access[k].dtype)->bytes;

		for (unsigned l = 0; l < (unsigned)n->npar + n->nred; l++)
			if (n->access[k].stride[l] || n->access[k].gather)
				count *= (double)n->extent[l];
		bytes += count;
	}
	return bytes / BYTES_PER_US;
}

static void make_step(struct finish *f, uint32_t k)
{
	struct prog_unit *u = f->p->unit[k];
	struct plan_step *s = &f->plan->step[k];

	for (unsigned i = 0; i < u->naccess; i++)
		if (u->write[i] && f->p->slot[u->slot[i]].input != PART_NONE)
			s->tears = 1;
	s->nest = u->nest;
	s->call = u->call;
	u->nest = NULL;
	u->call = NULL;
	if (s->nest) {
		s->kind = STEP_KERNEL;
		s->cost_us = whole_us(nest_bytes_us(s->nest) + nest_math(s->nest));
		s->math_us = whole_us(nest_math(s->nest));
		s->shape = nest_shape(s->nest);
		for (unsigned i = 0; i < s->nest->naccess; i++)
			s->nest->access[i].slot = f->number[s->nest->access[i].slot];
		return;
	}
	s->kind = STEP_CALL;
	s->cost_us = whole_us(call_row(s->call->call)->us(s->call));
	s->math_us = s->cost_us;
	for (unsigned x = 0; x < call_operands(s->call); x++)
		s->call->operand[x].slot = f->number[s->call->operand[x].slot];
}

/* Refusals as step numbers; those between units that met later are void. */
static void make_notes(struct finish *f)
{
	struct prog *p = f->p;
	uint32_t *step = xmalloc((p->next_id + 1) * sizeof *step);

	memset(step, 0xff, (p->next_id + 1) * sizeof *step);
	for (uint32_t k = 0; k < p->nunit; k++)
		step[p->unit[k]->id] = k;
	for (uint32_t k = 0; k < p->nnote; k++) {
		uint32_t a = step[prog_owner(p, p->note[k].earlier)];
		uint32_t b = step[prog_owner(p, p->note[k].later)];
		struct plan_note n = {(uint16_t)(a > b ? a : b), (uint16_t)(a > b ? b : a),
				      p->note[k].reason};
		bool known = a == b || a == PART_NONE || b == PART_NONE;

		for (uint32_t j = 0; j < f->plan->nnote && !known; j++)
			known = f->plan->note[j].step == n.step &&
				f->plan->note[j].other == n.other;
		if (!known)
			f->plan->note[f->plan->nnote++] = n;
	}
	free(step);
}

static uint32_t *no_slots(size_t n)
{
	uint32_t *a = xmalloc((n + 1) * sizeof *a);

	memset(a, 0xff, (n + 1) * sizeof *a);
	return a;
}

/* See prog.h. */
enum status finish_run(struct prog *p, struct err *err)
{
	struct plan *plan = xcalloc(1, sizeof *plan);
	struct finish f = {.p = p, .plan = plan};

	f.number = no_slots(p->nslot);
	f.first = no_slots(p->nslot);
	f.last = no_slots(p->nslot);
	f.busy = no_slots(p->nslot);
	plan->refs = 1;
	plan->nvalue = p->part->nvalue;
	plan->value_slot = no_slots(plan->nvalue);
	plan->slot = xcalloc(p->nslot, sizeof *plan->slot);
	plan->step = xcalloc(p->nunit, sizeof *plan->step);
	plan->note = xcalloc(p->nnote, sizeof *plan->note);
	plan->nstep = p->nunit;
	find_lifetimes(&f);
	number_slots(&f);
	make_notes(&f);
	for (uint32_t k = 0; k < p->nunit; k++)
		make_step(&f, k);
	free(f.number);
	free(f.first);
	free(f.last);
	free(f.busy);
	p->plan = plan;
	return OK;
}
