/* SPDX-License-Identifier: Apache-2.0 */
/* nest/lower_draw.c - random numbers: a library step from a state to a whole array. */
#include "loops/draw.h"
#include "lower.h"

/* See lower.h. */
enum status lower_draw(struct prog *p, const struct part_op *o, struct err *err)
{
	struct prog_unit *u = NULL;
	struct plan_call *c = NULL;
	struct view in, out;
	struct op_sig sig;
	int64_t count = 0;
	enum status st = lower_sig(&sig, o, err);

	if (!st && sig.out != o->out.dtype)
		st = err_set(err, E_INTERNAL, "draw: result type");
	part_view(&in, p->part, &o->in[0]);
	part_view(&out, p->part, &o->out);
	if (!st)
		st = shape_count(&count, &out.shape, 1, err);
	if (st || !count)
		return st;
	u = prog_unit(p, true);
	c = u->call;
	c->call = CALL_DRAW;
	c->dtype = sig.out;
	c->op = o->op;
	c->nloop = 2;
	c->extent[0] = count;
	c->extent[1] = DRAW_LENGTH;
	c->operand[0].slot = p->value_slot[o->in[0].value];
	c->operand[0].dtype = DT_UINT64;
	c->operand[0].offset = in.offset;
	c->operand[0].move = in.move;
	c->operand[0].stride[1] = in.stride[0];
	c->operand[1].slot = p->value_slot[o->out.value];
	c->operand[1].dtype = sig.out;
	c->operand[1].offset = out.offset;
	c->operand[1].move = out.move;
	c->operand[1].stride[0] = dtype_row(sig.out)->bytes;
	prog_count_call(p, u);
	prog_summarise(u);
	return OK;
}
