/* SPDX-License-Identifier: Apache-2.0 */
/* nest/lower_grid.c - a loop of a kernel: a library step (call/grid.h).
 *
 * It writes the slot of the new version, where the old one's bytes are: its storage, or a copy.
 * What has the same memory, through whatever view, is read there, too: the old version as such is
 * read by nobody from here on. */
#include "call/grid.h"

#include "lower.h"

static enum status put_array(struct plan_call *c, struct shape_loops *loops, struct prog *p,
			     const struct part_op *o, const struct part_ref *r, struct err *err)
{
	struct call_operand *x = &c->operand[c->noperand];
	uint32_t at = 0;
	struct view v;

	lower_as_it_lies(c, c->noperand++, &v, p, r);
	if (r->value == p->part->value[o->out.value].prev)
		x->slot = p->value_slot[o->out.value];
	if (!shape_loops_add(loops, &at, &v.shape))
		return err_set(err, E_INTERNAL, "a loop of arrays of too many extents");
	x->at = grid_at(at, v.shape.ndim);
	for (unsigned k = 0; k < v.shape.ndim; k++)
		x->stride[grid_loop(x, k)] = v.stride[k];
	return OK;
}

/* See lower.h. */
enum status lower_grid(struct prog *p, const struct part_op *o, struct err *err)
{
	const struct part_value *v = &p->part->value[o->out.value];
	const struct part_ref *in = part_in(p->part, o);
	struct shape_loops loops = {0};
	struct prog_unit *u = NULL;
	struct plan_call *c = NULL;
	enum status st = OK;

	if (p->copy[o - p->part->op])
		lower_copy(p, p->value_slot[v->prev], p->value_slot[o->out.value], v->bytes);
	u = prog_unit(p, true);
	c = u->call;
	c->call = CALL_GRID;
	c->op = o->op;
	c->dtype = o->out.dtype;
	c->hint = o->dtype;
	c->grid = o->axes;
	for (unsigned i = 0; i < o->nin && !st; i++) {
		if (in[i].value & PART_IMM)
			c->scalar[c->nscalar++] = in[i].value & ~PART_IMM;
		else
			st = put_array(c, &loops, p, o, &in[i], err);
	}
	if (st)
		return st;
	c->operand[c->noperand++] = c->operand[0];
	c->nloop = (uint8_t)loops.n;
	for (unsigned l = 0; l < loops.n; l++)
		c->extent[l] = loops.extent[l];
	prog_count_call(p, u);
	prog_summarise(u);
	return OK;
}
