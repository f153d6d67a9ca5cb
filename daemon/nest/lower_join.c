/* SPDX-License-Identifier: Apache-2.0 */
/* nest/lower_join.c - arrays one after the other along an axis.
 *
 * Each operand has its part of the result.  What is computed in the partition is stored there by a
 * nest of its own, into which fusion moves what computes it, so that no temporary and no copy is
 * left; so is what is of another type or lies otherwise.  Of what was stored before, in whole rows,
 * a library step takes as many as it can at once (call/join.h). */
#include "lower.h"

struct join_part {
	struct view in;
	const struct part_ref *ref;
	int64_t at; /* along the axis */
	bool stored;
};

struct join {
	struct prog *p;
	const struct part_op *o;
	struct view out;
	unsigned axis;
	unsigned n, nstored;
	struct join_part part[LIMIT_OPERANDS];
};

/* Elements side by side from one point of the axes before on: those of this axis and of all after.
 */
static int64_t run_of(const struct view *v, unsigned axis)
{
	int64_t n = 1;

	for (unsigned k = axis; k < v->shape.ndim; k++)
		n *= v->shape.dim[k];
	return n;
}

/* Do they lie side by side? */
static bool has_rows(const struct view *v, unsigned axis)
{
	int64_t step = dtype_row(v->dtype)->bytes;

	for (unsigned k = v->shape.ndim; k-- > axis;) {
		if (v->shape.dim[k] != 1 && v->stride[k] != step)
			return false;
		step *= v->shape.dim[k];
	}
	return true;
}

/* Truth values are not: a client may have put other bytes there, which a load makes 0 and 1. */
static bool is_stored(const struct join *j, const struct join_part *x)
{
	return j->p->part->value[x->ref->value].role == PART_INPUT &&
	       x->ref->dtype == j->out.dtype && x->ref->dtype != DT_BOOL &&
	       has_rows(&x->in, j->axis);
}

static void find_parts(struct join *j)
{
	const struct part_ref *in = part_in(j->p->part, j->o);
	int64_t at = 0;

	for (unsigned k = 0; k < j->o->nin; k++) {
		struct join_part *x = &j->part[j->n];

		part_view(&x->in, j->p->part, &in[k]);
		x->ref = &in[k];
		x->at = at;
		at += x->in.shape.dim[j->axis];
		if (x->in.shape.dim[j->axis] == 0)
			continue;
		x->stored = is_stored(j, x);
		j->nstored += x->stored;
		j->n++;
	}
}

/* Loops that every operand steps through as through one become one. */
static void collapse(struct plan_call *c)
{
	for (unsigned l = c->nloop; l-- > 1;) {
		bool whole = true;

		for (unsigned x = 0; x < c->noperand && whole; x++)
			whole = c->operand[x].stride[l - 1] ==
				c->operand[x].stride[l] * c->extent[l];
		if (!whole)
			continue;
		c->extent[l - 1] *= c->extent[l];
		for (unsigned x = 0; x < c->noperand; x++)
			c->operand[x].stride[l - 1] = c->operand[x].stride[l];
		c->nloop--;
		for (unsigned m = l; m < c->nloop; m++) {
			c->extent[m] = c->extent[m + 1];
			for (unsigned x = 0; x < c->noperand; x++)
				c->operand[x].stride[m] = c->operand[x].stride[m + 1];
		}
	}
}

static void put_operand(struct plan_call *c, const struct view *v, uint32_t slot, unsigned axis,
			int64_t at)
{
	struct call_operand *x = &c->operand[c->noperand++];
	unsigned l = 0;

	x->slot = slot;
	x->dtype = v->dtype;
	x->offset = v->offset;
	x->move = v->move;
	x->run = run_of(v, axis);
	x->at = at;
	for (unsigned k = 0; k < axis; k++)
		if (v->shape.dim[k] != 1)
			x->stride[l++] = v->stride[k];
	c->nloop = (uint8_t)l;
}

/* Stored parts from number *from on, as many as a step takes. */
static void put_call(const struct join *j, unsigned *from)
{
	struct prog_unit *u = prog_unit(j->p, true);
	struct plan_call *c = u->call;
	unsigned l = 0, k = *from;

	c->call = CALL_JOIN;
	c->dtype = j->out.dtype;
	c->op = j->o->op;
	put_operand(c, &j->out, j->p->value_slot[j->o->out.value], j->axis, 0);
	for (unsigned d = 0; d < j->axis; d++)
		if (j->out.shape.dim[d] != 1)
			c->extent[l++] = j->out.shape.dim[d];
	for (; k < j->n && c->noperand < CALL_OPERANDS; k++) {
		const struct join_part *x = &j->part[k];

		if (x->stored)
			put_operand(c, &x->in, j->p->value_slot[x->ref->value], j->axis,
				    x->at * j->out.stride[j->axis]);
	}
	*from = k;
	collapse(c);
	prog_count_call(j->p, u);
	prog_summarise(u);
}

/* Loads come cast to the result's type and go to the part of it that is theirs. */
static enum status put_nest(const struct join *j, const struct join_part *x, struct err *err)
{
	struct view slice = j->out;
	struct build b;
	enum status st;
	uint16_t v;

	slice.shape.dim[j->axis] = x->in.shape.dim[j->axis];
	slice.offset += x->at * j->out.stride[j->axis];
	if (!build_begin(&b, j->p, &slice.shape, 0, false))
		return OK;
	st = lower_operand(&v, &b, x->ref, j->out.dtype, err);
	if (st)
		return st;
	build_store(&b, j->p->value_slot[j->o->out.value], &slice, v);
	build_end(&b);
	return OK;
}

/* See lower.h. */
enum status lower_join(struct prog *p, const struct part_op *o, struct err *err)
{
	struct join j = {.p = p, .o = o, .axis = (unsigned)__builtin_ctz(o->axes)};
	unsigned done = 0, left = 0;
	int64_t count = 0;
	bool step = false;
	enum status st = OK;

	part_view(&j.out, p->part, &o->out);
	st = shape_count(&count, &j.out.shape, 1, err);
	if (st || !count)
		return st;
	find_parts(&j);
	left = j.nstored;
	step = left > 1 && !p->part->anywhere;
	while (step && left > 0) {
		put_call(&j, &done);
		left = left > CALL_OPERANDS - 1 ? left - (CALL_OPERANDS - 1) : 0;
	}
	for (unsigned k = 0; k < j.n && !st; k++)
		if (!step || !j.part[k].stored)
			st = put_nest(&j, &j.part[k], err);
	return st;
}
