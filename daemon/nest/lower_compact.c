/* SPDX-License-Identifier: Apache-2.0 */
/* nest/lower_compact.c - what a mask chooses: library steps (call/compact.h).
 *
 * Masks and ranks come as record.c demands them, so nothing is cast and nothing copied. */
#include <string.h>

#include "call/compact.h"
#include "lower.h"

/* Operand x of the call: where it lies, with no stride yet. */
static void put(struct plan_call *c, unsigned x, uint32_t slot, const struct view *v)
{
	c->operand[x].slot = slot;
	c->operand[x].dtype = v->dtype;
	c->operand[x].offset = v->offset;
	c->operand[x].move = v->move;
}

static void put_in(struct plan_call *c, unsigned x, struct view *v, const struct prog *p,
		   const struct part_ref *r)
{
	part_view(v, p->part, r);
	put(c, x, p->value_slot[r->value], v);
}

static void end(struct prog *p, struct prog_unit *u)
{
	prog_count_call(p, u);
	prog_summarise(u);
}

static int64_t count_of(const struct view *v)
{
	int64_t n = 1;

	for (unsigned k = 0; k < v->shape.ndim; k++)
		n *= v->shape.dim[k];
	return n;
}

/* The step from one element of a mask to the next, in C order. */
static int64_t step_of(const struct view *mask)
{
	return mask->shape.ndim == 1 ? mask->stride[0] : 1;
}

static void lower_ranks(struct prog *p, const struct part_op *o, const struct view *out)
{
	struct prog_unit *u = prog_unit(p, true);
	struct plan_call *c = u->call;
	struct view mask;

	c->call = CALL_RANKS;
	c->dtype = DT_INT64;
	c->op = o->op;
	c->nloop = 2;
	put_in(c, RANKS_MASK, &mask, p, &o->in[0]);
	put(c, RANKS_RESULT, p->value_slot[o->out.value], out);
	c->extent[0] = count_of(&mask);
	c->extent[1] = out->shape.dim[0];
	c->operand[RANKS_MASK].stride[0] = step_of(&mask);
	c->operand[RANKS_RESULT].stride[1] = out->stride[0];
	end(p, u);
}

static void lower_elements(struct prog *p, const struct part_op *o, const struct view *out)
{
	struct prog_unit *u = prog_unit(p, true);
	struct plan_call *c = u->call;
	struct view source, mask, ranks;
	bool rows = false;

	c->call = CALL_COMPACT;
	c->op = o->op;
	c->nloop = COMPACT_LOOPS;
	c->counted = 1u << COMPACT_LOOP_COUNT;
	put_in(c, COMPACT_SOURCE, &source, p, &o->in[0]);
	put_in(c, COMPACT_MASK, &mask, p, &o->in[1]);
	put_in(c, COMPACT_RANKS, &ranks, p, &o->in[2]);
	put(c, COMPACT_RESULT, p->value_slot[o->out.value], out);
	c->dtype = out->dtype;
	rows = source.shape.ndim == 2;
	c->extent[COMPACT_LOOP_MASK] = source.shape.dim[0];
	c->extent[COMPACT_LOOP_ROW] = rows ? source.shape.dim[1] : 1;
	c->extent[COMPACT_LOOP_COUNT] = out->shape.dim[0];
	c->extent[COMPACT_LOOP_BLOCKS] = ranks.shape.dim[0];
	c->operand[COMPACT_SOURCE].stride[COMPACT_LOOP_MASK] = source.stride[0];
	c->operand[COMPACT_SOURCE].stride[COMPACT_LOOP_ROW] = rows ? source.stride[1] : 0;
	c->operand[COMPACT_MASK].stride[COMPACT_LOOP_MASK] = step_of(&mask);
	c->operand[COMPACT_RANKS].stride[COMPACT_LOOP_BLOCKS] = ranks.stride[0];
	c->operand[COMPACT_RESULT].stride[COMPACT_LOOP_COUNT] = out->stride[0];
	c->operand[COMPACT_RESULT].stride[COMPACT_LOOP_ROW] = rows ? out->stride[1] : 0;
	end(p, u);
}

static void lower_places(struct prog *p, const struct part_op *o, const struct view *out)
{
	struct prog_unit *u = prog_unit(p, true);
	struct plan_call *c = u->call;
	struct view mask, ranks;
	unsigned axes = 0;

	c->call = CALL_PLACES;
	c->dtype = DT_INT64;
	c->op = o->op;
	put_in(c, PLACES_MASK, &mask, p, &o->in[0]);
	put_in(c, PLACES_RANKS, &ranks, p, &o->in[1]);
	put(c, PLACES_RESULT, p->value_slot[o->out.value], out);
	axes = mask.shape.ndim;
	c->nloop = (uint8_t)(axes + PLACES_LOOPS);
	c->counted = (uint8_t)(1u << axes);
	memcpy(c->extent, mask.shape.dim, axes * sizeof c->extent[0]);
	memcpy(c->operand[PLACES_MASK].stride, mask.stride, axes * sizeof mask.stride[0]);
	if (axes > 1) /* of axes of one element it may be anything */
		c->operand[PLACES_MASK].stride[axes - 1] = 1;
	c->extent[axes] = out->shape.dim[0];
	c->extent[axes + 1] = ranks.shape.dim[0];
	c->extent[axes + 2] = axes;
	c->operand[PLACES_RANKS].stride[axes + 1] = ranks.stride[0];
	c->operand[PLACES_RESULT].stride[axes] = out->stride[0];
	c->operand[PLACES_RESULT].stride[axes + 2] = out->shape.ndim > 1 ? out->stride[1] : 0;
	end(p, u);
}

/* See lower.h.  Where nothing comes out nothing is done. */
enum status lower_compact(struct prog *p, const struct part_op *o, struct err *err)
{
	struct view out;
	int64_t count = 0;
	enum status st = OK;

	part_view(&out, p->part, &o->out);
	st = shape_count(&count, &out.shape, 1, err);
	if (st || !count)
		return st;
	if (o->op == OP_RANKS)
		lower_ranks(p, o, &out);
	else if (o->op == OP_COMPACT)
		lower_elements(p, o, &out);
	else
		lower_places(p, o, &out);
	return OK;
}
