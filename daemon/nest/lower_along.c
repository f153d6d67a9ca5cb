/* SPDX-License-Identifier: Apache-2.0 */
/* nest/lower_along.c - scans, sorts and the like: library steps over one axis.
 *
 * The axis is the call's last loop, the others come before it in their order, those of one element
 * left out. */
#include "call/sort.h"

#include "lower.h"

/* The type that is sorted: of lanes whose places need more bits than are left beside a key of the
 * operand's, the widest of its kind, which has the same order. */
static unsigned sorted_as(unsigned dtype, int64_t n, bool places)
{
	if (n <= sort_longest(dtype, places))
		return dtype;
	switch ((enum dtype_class)dtype_row(dtype)->cls) {
	case CLASS_FLOAT:
		return DT_FLOAT64;
	case CLASS_INT:
		return DT_INT64;
	default:
		return DT_UINT64;
	}
}

static void put_loop(struct plan_call *c, const struct view *in, const struct view *out,
		     unsigned axis)
{
	unsigned l = c->nloop++;

	c->extent[l] = in->shape.dim[axis];
	c->operand[0].stride[l] = in->stride[axis];
	c->operand[1].stride[l] = out->stride[axis];
}

/* The loops, the array that is read, in this slot, and the result. */
static void put(struct plan_call *c, const struct prog *p, const struct part_op *o, uint32_t slot,
		const struct view *in, const struct view *out)
{
	unsigned axis = (unsigned)__builtin_ctz(o->axes);

	for (unsigned k = 0; k < in->shape.ndim; k++)
		if (k != axis && in->shape.dim[k] != 1)
			put_loop(c, in, out, k);
	put_loop(c, in, out, axis);
	c->op = o->op;
	c->operand[0].slot = slot;
	c->operand[0].dtype = in->dtype;
	c->operand[0].offset = in->offset;
	c->operand[0].move = in->move;
	c->operand[1].slot = p->value_slot[o->out.value];
	c->operand[1].dtype = out->dtype;
	c->operand[1].offset = out->offset;
	c->operand[1].move = out->move;
}

/* See lower.h. */
enum status lower_along(struct prog *p, const struct part_op *o, struct err *err)
{
	bool sorts = op_row(o->op)->kind == KIND_SORT;
	struct prog_unit *u = NULL;
	struct view in, out;
	struct op_sig sig;
	uint32_t slot = 0;
	int64_t count = 0;
	enum status st = lower_sig(&sig, o, err);

	if (!st && sig.out != o->out.dtype)
		st = err_set(err, E_INTERNAL, "%s: result type", op_text(o->op));
	part_view(&out, p->part, &o->out);
	if (!st)
		st = shape_count(&count, &out.shape, 1, err);
	if (st || !count)
		return st;
	if (sorts)
		sig.in[0] = (uint8_t)sorted_as(sig.in[0], out.shape.dim[__builtin_ctz(o->axes)],
					       o->op == OP_ARGSORT);
	st = lower_array(&slot, &in, p, &o->in[0], sig.in[0], err);
	if (st)
		return st;
	u = prog_unit(p, true);
	u->call->call = (uint8_t)call_of_op(o->op);
	u->call->dtype = in.dtype;
	put(u->call, p, o, slot, &in, &out);
	if (sorts)
		u->call->operand[2].slot = prog_slot(p, sort_add_scratch(u->call));
	prog_count_call(p, u);
	prog_summarise(u);
	return OK;
}
