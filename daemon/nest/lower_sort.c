/* SPDX-License-Identifier: Apache-2.0 */
/* nest/lower_sort.c - a sort: a library step over one axis, with scratch memory of its own. */
#include "../plan/sort.h"

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

/* See lower.h. */
enum status lower_sort(struct prog *p, const struct part_op *o, struct err *err)
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
		st = err_set(err, E_INTERNAL, "sort: result type");
	part_view(&out, p->part, &o->out);
	if (!st)
		st = shape_count(&count, &out.shape, 1, err);
	if (st || !count)
		return st;
	st = lower_array(&slot, &in, p, &o->in[0],
			 sorted_as(sig.in[0], out.shape.dim[axis], o->op == OP_ARGSORT), err);
	if (st)
		return st;
	u = prog_unit(p, true);
	c = u->call;
	c->call = CALL_SORT;
	c->dtype = in.dtype;
	c->op = o->op;
	lower_along(p, c, o, slot, &in, axis);
	c->operand[2].slot = prog_slot(p, sort_add_scratch(c));
	prog_count_call(p, u);
	prog_summarise(u);
	return OK;
}
