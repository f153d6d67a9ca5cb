/* SPDX-License-Identifier: Apache-2.0 */
/* nest/lower_chosen.c - reductions of what a mask chooses: a library step (call/chosen.h).
 *
 * The elements are cast as they are chosen, so nothing is made of the others. */
#include "call/chosen.h"

#include "lower.h"

/* See lower.h. */
enum status lower_chosen(struct prog *p, const struct part_op *o, struct err *err)
{
	struct prog_unit *u = NULL;
	struct plan_call *c = NULL;
	struct view source, mask, ranks, out;
	struct op_sig sig;
	enum status st = lower_sig(&sig, o, err);

	if (!st && sig.out != o->out.dtype)
		st = err_set(err, E_INTERNAL, "%s: result type", op_text(o->op));
	if (st)
		return st;
	u = prog_unit(p, true);
	c = u->call;
	c->call = CALL_CHOSEN;
	c->op = o->op;
	c->dtype = sig.in[0];
	c->nloop = CHOSEN_LOOPS;
	lower_as_it_lies(c, CHOSEN_SOURCE, &source, p, &o->in[0]);
	lower_as_it_lies(c, CHOSEN_MASK, &mask, p, &o->in[1]);
	lower_as_it_lies(c, CHOSEN_RANKS, &ranks, p, &o->in[2]);
	lower_as_it_lies(c, CHOSEN_RESULT, &out, p, &o->out);
	c->extent[CHOSEN_LOOP_MASK] = source.shape.dim[0];
	c->extent[CHOSEN_LOOP_BLOCKS] = ranks.shape.dim[0];
	c->operand[CHOSEN_SOURCE].stride[CHOSEN_LOOP_MASK] = source.stride[0];
	/* A mask of several axes lies in C order. */
	c->operand[CHOSEN_MASK].stride[CHOSEN_LOOP_MASK] =
		mask.shape.ndim == 1 ? mask.stride[0] : 1;
	c->operand[CHOSEN_RANKS].stride[CHOSEN_LOOP_BLOCKS] = ranks.stride[0];
	prog_count_call(p, u);
	prog_summarise(u);
	return OK;
}
