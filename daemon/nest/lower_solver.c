/* SPDX-License-Identifier: Apache-2.0 */
/* nest/lower_solver.c - factors of matrices: a library step (call/factors.h).
 *
 * The library spoils what it reads, so that is always a copy, one matrix behind the other, into
 * which the nest that makes the operand can be merged: turning it, or putting two side by side. */
#include "call/factors.h"

#include <string.h>

#include "lower.h"

struct side {
	uint32_t slot;
	struct view view;
};

static void copy(struct prog *p, const struct side *from, const struct side *to)
{
	struct build b;

	if (!build_begin(&b, p, &from->view.shape, 0, false))
		return;
	build_store(&b, to->slot, &to->view, build_load(&b, from->slot, &from->view));
	build_end(&b);
}

/* An array of its own like this one, in C order. */
static enum status make(struct side *out, struct prog *p, const struct view *like, struct err *err)
{
	unsigned element = dtype_row(like->dtype)->bytes;
	int64_t count = 0;
	enum status st = shape_count(&count, &like->shape, element, err);

	if (st)
		return st;
	view_init(&out->view, (enum dtype)like->dtype, &like->shape);
	out->view.move = 0;
	out->slot = prog_slot(p, (uint64_t)count * element);
	return OK;
}

static void put_operand(struct plan_call *c, unsigned x, const struct side *s)
{
	struct call_operand *o = &c->operand[x];
	int64_t element = dtype_row(s->view.dtype)->bytes, rows = c->extent[FACTORS_ROW];

	o->slot = s->slot;
	o->dtype = s->view.dtype;
	o->offset = s->view.offset;
	o->move = s->view.move;
	if (x == 1) {
		o->stride[FACTORS_MATRIX] = c->extent[FACTORS_RESULT] * element;
		o->stride[FACTORS_RESULT] = element;
		return;
	}
	o->stride[FACTORS_MATRIX] = c->extent[FACTORS_COLUMN] * rows * element;
	o->stride[FACTORS_COLUMN] = rows * element;
	o->stride[FACTORS_ROW] = element;
}

static void put(struct plan_call *c, const struct part_op *o, const struct side *in,
		const struct side *out)
{
	unsigned last = in->view.shape.ndim - 1u;

	memset(c, 0, sizeof *c);
	c->call = CALL_FACTORS;
	c->op = o->op;
	c->dtype = in->view.dtype;
	c->nloop = FACTORS_LOOPS;
	c->extent[FACTORS_MATRIX] = 1;
	for (unsigned k = 0; k + 1 < last; k++)
		c->extent[FACTORS_MATRIX] *= in->view.shape.dim[k];
	c->extent[FACTORS_COLUMN] = in->view.shape.dim[last - 1];
	c->extent[FACTORS_ROW] = in->view.shape.dim[last];
	c->extent[FACTORS_RESULT] = out->view.shape.dim[last - 1];
	put_operand(c, 0, in);
	put_operand(c, 1, out);
	put_operand(c, 2, in);
	c->operand[0].at = o->axes;
}

static bool is_aligned(const struct view *v)
{
	return (v->offset | v->move) % SOLVER_ALIGNED == 0;
}

static enum status lower(struct prog *p, const struct part_op *o, struct err *err)
{
	struct side in = {.slot = p->value_slot[o->in[0].value]}, own;
	struct side out = {.slot = p->value_slot[o->out.value]}, made;
	struct prog_unit *u = NULL;
	enum status st = OK;

	part_view(&in.view, p->part, &o->in[0]);
	part_view(&out.view, p->part, &o->out);
	made = out;
	st = make(&own, p, &in.view, err);
	if (!st && !is_aligned(&out.view))
		st = make(&made, p, &out.view, err);
	if (st)
		return st;
	copy(p, &in, &own);
	u = prog_unit(p, true);
	put(u->call, o, &own, &made);
	prog_count_call(p, u);
	prog_summarise(u);
	if (made.slot != out.slot)
		copy(p, &made, &out);
	return OK;
}

/* See lower.h.  Without matrices nothing is done. */
enum status lower_solver(struct prog *p, const struct part_op *o, struct err *err)
{
	struct op_sig sig;
	struct view out;
	int64_t count = 0;
	enum status st = lower_sig(&sig, o, err);

	if (!st && (sig.out != o->out.dtype || sig.in[0] != o->in[0].dtype))
		st = err_set(err, E_INTERNAL, "%s: types", op_text(o->op));
	part_view(&out, p->part, &o->out);
	if (!st)
		st = shape_count(&count, &out.shape, 1, err);
	return st || !count ? st : lower(p, o, err);
}
