/* SPDX-License-Identifier: Apache-2.0 */
/* form/plan_check.c - the rules of plan.h: slots, bounds, order, coverage. */
#include <stdlib.h>

#include "base/xalloc.h"
#include "depend.h"
#include "plan.h"

struct check {
	const struct plan *p;
	const struct part *part;
	uint8_t *filled; /* [slot]: has content, or began as EMPTY */
	struct err *err;
};

static enum status check_slots(const struct check *c)
{
	const struct plan *p = c->p;

	for (uint32_t k = 0; k < p->nslot; k++) {
		const struct plan_slot *s = &p->slot[k];

		if (s->value != PART_NONE && s->value >= p->nvalue)
			return err_set(c->err, E_INTERNAL, "slot %u: no value %u", k, s->value);
		if (s->input != PART_NONE &&
		    (s->input >= p->nvalue || c->part->value[s->input].role != PART_INPUT ||
		     c->part->value[s->input].bytes > s->bytes))
			return err_set(c->err, E_INTERNAL, "slot %u: input %u", k, s->input);
	}
	for (uint32_t v = 0; v < p->nvalue; v++) {
		uint32_t s = p->value_slot[v];

		if (s == PART_NONE ? c->part->value[v].role == PART_OUTPUT : s >= p->nslot)
			return err_set(c->err, E_INTERNAL, "value %u has no slot", v);
		if (s != PART_NONE && c->part->value[v].bytes > p->slot[s].bytes)
			return err_set(c->err, E_INTERNAL, "value %u does not fit slot %u", v, s);
		if (c->part->value[v].role == PART_OUTPUT && p->slot[s].value != v)
			return err_set(c->err, E_INTERNAL, "output %u does not own slot %u", v, s);
	}
	return OK;
}

static enum status check_bytes(const struct check *c, uint32_t step, uint32_t slot, bool write,
			       int64_t lo, int64_t hi)
{
	/* With numbers in the place of sizes a view may be larger than what it is a view of. */
	if (!c->part->nsize && (lo < 0 || (uint64_t)hi > c->p->slot[slot].bytes))
		return err_set(c->err, E_INTERNAL, "step %u touches bytes %lld to %lld of slot %u",
			       step, (long long)lo, (long long)hi, slot);
	if (!write && hi > lo && !c->filled[slot])
		return err_set(c->err, E_INTERNAL, "step %u reads slot %u before it is written",
			       step, slot);
	if (write && c->p->slot[slot].input != PART_NONE && !c->p->step[step].tears)
		return err_set(c->err, E_INTERNAL, "step %u overwrites an input unmarked", step);
	return OK;
}

static enum status check_slot(const struct check *c, uint32_t step, uint32_t slot)
{
	if (slot >= c->p->nslot)
		return err_set(c->err, E_INTERNAL, "step %u: no slot %u", step, slot);
	return OK;
}

static enum status check_nest(const struct check *c, uint32_t k)
{
	const struct nest *n = c->p->step[k].nest;
	enum status st;

	st = n ? nest_check(n, c->err) : err_set(c->err, E_INTERNAL, "kernel without nest");
	if (st) {
		err_context(c->err, "step %u", k);
		return st;
	}
	/* In the order of the code: a nest may load what it stored at that point. */
	for (unsigned i = 0; !st && i < n->ninstr; i++) {
		const struct nest_access *a = &n->access[n->instr[i].a % LIMIT_NEST_ACCESSES];
		int64_t lo, hi;

		if (!nest_touches(n->instr[i].op))
			continue;
		st = check_slot(c, k, a->slot);
		if (st)
			return st;
		nest_range(&lo, &hi, n, n->instr[i].a, nest_loops(n, nest_section(n, i)));
		st = check_bytes(c, k, a->slot, a->write, lo, hi);
		if (!st && a->write)
			c->filled[a->slot] = 1;
	}
	return st;
}

static enum status check_call(const struct check *c, uint32_t k)
{
	const struct plan_call *call = c->p->step[k].call;
	enum status st = call ? call_check(call, c->err)
			      : err_set(c->err, E_INTERNAL, "a call without a description");

	if (st) {
		err_context(c->err, "step %u", k);
		return st;
	}
	for (unsigned x = 0; x < call_operands(call) && !st; x++) {
		int64_t lo, hi, at = call->operand[x].offset;

		call_range(&lo, &hi, call, x);
		st = check_slot(c, k, call->operand[x].slot);
		if (!st)
			st = check_bytes(c, k, call->operand[x].slot, call_writes(call, x), at + lo,
					 at + hi);
	}
	for (unsigned x = 0; x < call_operands(call) && !st; x++)
		if (call_writes(call, x))
			c->filled[call->operand[x].slot] = 1;
	return st;
}

/* Does *p keep every rule of plan.h, for this partition? */
enum status plan_check(const struct plan *p, const struct part *part, struct err *err)
{
	struct check c = {p, part, NULL, err};
	enum status st;

	if (p->nvalue != part->nvalue)
		return err_set(err, E_INTERNAL, "plan of another partition");
	st = check_slots(&c);
	if (st)
		return st;
	c.filled = xcalloc(p->nslot, 1);
	for (uint32_t k = 0; k < p->nslot; k++)
		c.filled[k] = p->slot[k].input != PART_NONE;
	for (uint32_t v = 0; v < p->nvalue && !st; v++) {
		uint32_t s = p->value_slot[v];

		if (!part->value[v].undefined || s == PART_NONE)
			continue;
		c.filled[s] = 1;
		if (!p->slot[s].empty)
			st = err_set(err, E_INTERNAL, "slot %u may be read unwritten", s);
	}
	for (uint32_t k = 0; k < p->nstep && !st; k++) {
		if (p->step[k].kind == STEP_CALL)
			st = check_call(&c, k);
		else
			st = check_nest(&c, k);
	}
	free(c.filled);
	return st;
}
