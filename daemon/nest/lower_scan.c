/* SPDX-License-Identifier: Apache-2.0 */
/* nest/lower_scan.c - a scan: a library step over one axis.
 *
 * The axis that runs is the call's last loop, the others come before it in their order, those of
 * one element left out. */
#include "lower.h"

static void put_loop(struct plan_call *c, const struct view *in, const struct view *out,
		     unsigned axis)
{
	unsigned l = c->nloop++;

	c->extent[l] = in->shape.dim[axis];
	c->operand[0].stride[l] = in->stride[axis];
	c->operand[1].stride[l] = out->stride[axis];
}

/* See lower.h. */
void lower_along(struct prog *p, struct plan_call *c, const struct part_op *o, uint32_t slot,
		 const struct view *in, unsigned axis)
{
	struct view out;

	part_view(&out, p->part, &o->out);
	for (unsigned k = 0; k < in->shape.ndim; k++)
		if (k != axis && in->shape.dim[k] != 1)
			put_loop(c, in, &out, k);
	put_loop(c, in, &out, axis);
	c->operand[0].slot = slot;
	c->operand[0].dtype = in->dtype;
	c->operand[0].offset = in->offset;
	c->operand[0].move = in->move;
	c->operand[1].slot = p->value_slot[o->out.value];
	c->operand[1].dtype = out.dtype;
	c->operand[1].offset = out.offset;
	c->operand[1].move = out.move;
}

/* See lower.h. */
enum status lower_scan(struct prog *p, const struct part_op *o, struct err *err)
{
	unsigned axis = (unsigned)__builtin_ctz(o->axes);
	struct prog_unit *u = NULL;
	struct plan_call *c = NULL;
	struct view in, out;
	struct op_sig sig;
	uint32_t slot = 0;
	int64_t count = 0;
	enum status st = lower_sig(&sig, o, err);

	if (!st && sig.out != o->out.dtype)
		st = err_set(err, E_INTERNAL, "scan: result type");
	part_view(&out, p->part, &o->out);
	if (!st)
		st = shape_count(&count, &out.shape, 1, err);
	if (st || !count)
		return st;
	st = lower_array(&slot, &in, p, &o->in[0], sig.in[0], err);
	if (st)
		return st;
	u = prog_unit(p, true);
	c = u->call;
	c->call = CALL_SCAN;
	c->dtype = sig.out;
	c->op = o->op;
	lower_along(p, c, o, slot, &in, axis);
	prog_count_call(p, u);
	prog_summarise(u);
	return OK;
}
