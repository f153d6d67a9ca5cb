/* SPDX-License-Identifier: Apache-2.0 */
#include "sizes.h"

#include <stdlib.h>
#include <string.h>

#include "../base/xalloc.h"
#include "../nest/compilepart.h"
#include "form/depend.h"

void sizes_begin(struct sizes *z, struct part *first, uint32_t turns)
{
	*z = (struct sizes){.part = first, .turns = turns};
	z->of = xcalloc((size_t)turns * SIZES_MOST, sizeof *z->of);
	z->now = xcalloc(first->ndim, sizeof *z->now);
	z->mark = xcalloc(first->ndim, 1);
	z->way = xcalloc(first->nop, 1);
	z->maker = xcalloc(first->nvalue, sizeof *z->maker);
	for (uint32_t i = 0; i < first->nvalue; i++)
		z->maker[i] = PART_NONE;
	for (uint32_t k = 0; k < first->nop; k++)
		z->maker[first->op[k].out.value] = k;
}

void sizes_free(struct sizes *z)
{
	free(z->of);
	free(z->now);
	free(z->mark);
	free(z->way);
	free(z->maker);
	*z = (struct sizes){0};
}

void sizes_turn(struct sizes *z, uint32_t turn)
{
	z->turn = turn;
}

static int64_t *of_turn(const struct sizes *z, uint32_t turn)
{
	return z->of + (size_t)turn * SIZES_MOST;
}

/* The size that was `a` in the first turn and is `b` in the second; z->n: there is no more room. */
static uint32_t find_size(struct sizes *z, int64_t a, int64_t b)
{
	uint32_t s = 0;

	while (s < z->n && (of_turn(z, 0)[s] != a || of_turn(z, 1)[s] != b))
		s++;
	if (s < z->n || s == SIZES_MOST)
		return s;
	of_turn(z, 0)[s] = a;
	of_turn(z, 1)[s] = b;
	return z->n++;
}

static bool same_extent(struct sizes *z, uint32_t at, int64_t extent)
{
	int64_t first = z->part->dim[at], *size = NULL;
	uint32_t s = 0;

	if (z->turn == 1 && extent != first) {
		s = find_size(z, first, extent);
		z->mark[at] = (uint8_t)(s + 1);
		return s < z->n && first > 1 && extent > 1;
	}
	if (!z->mark[at])
		return extent == first;
	size = &of_turn(z, z->turn)[z->mark[at] - 1];
	if (!*size)
		*size = extent;
	return *size == extent && extent > 1;
}

bool sizes_view(struct sizes *z, const struct part_ref *ref, const struct view *v)
{
	int64_t *now = z->now + ref->dims;
	uint32_t n = v->shape.ndim;

	now[0] = v->offset;
	memcpy(now + 1, v->shape.dim, n * sizeof *now);
	memcpy(now + 1 + n, v->stride, n * sizeof *now);
	for (uint32_t i = 0; i < n; i++)
		if (!same_extent(z, ref->dims + 1 + i, v->shape.dim[i]))
			return false;
	for (uint32_t i = ref->dims + 1 + n; i < ref->dims + 1 + 2 * n; i++) {
		bool same = z->now[i] == z->part->dim[i];

		/* Whose stride it is, relaid finds out. */
		if (z->turn == 1 && !same)
			z->mark[i] = PART_STRIDE;
		if (!z->mark[i] && !same)
			return false;
	}
	return true;
}

bool sizes_bytes(struct sizes *z, uint32_t value, uint64_t bytes)
{
	struct part_value *v = &z->part->value[value];

	v->sized |= z->turn == 1 && bytes != v->bytes;
	return v->sized || bytes == v->bytes;
}

static bool any_mark(const struct sizes *z, const struct part_ref *r, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to && !(r->value & PART_IMM); i++)
		if (z->mark[r->dims + i])
			return true;
	return false;
}

static bool marked_shape(const struct sizes *z, const struct part_ref *r)
{
	return any_mark(z, r, 1, 1u + r->ndim);
}

static bool marked_strides(const struct sizes *z, const struct part_ref *r)
{
	return any_mark(z, r, 1u + r->ndim, 1u + 2u * r->ndim);
}

/* Are these extents, and the strides n further on, those of one axis? */
static bool same_axis(const struct sizes *z, uint32_t x, uint32_t y, uint32_t n)
{
	const int64_t *dim = z->part->dim;

	return z->mark[x] == z->mark[y] && dim[x] == dim[y] && dim[x + n] == dim[y + n] &&
	       z->now[x + n] == z->now[y + n];
}

/* What a fresh array, whose strides follow from sizes, is read by: all of it, with its axes in any
 * order.  It will lie as the largest of the turns would, so each stride names its axis. */
static bool relaid(struct sizes *z, const struct part_ref *r, const struct part_ref *out)
{
	uint32_t n = r->ndim, taken = 0;

	if (n != out->ndim || z->now[r->dims] || z->part->dim[r->dims])
		return false;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t s = r->dims + 1 + n + i, a = 0;

		while (a < n && (taken >> a & 1 || !same_axis(z, s - n, out->dims + 1 + a, n)))
			a++;
		if (a == n || (z->turn > 1 && z->mark[s] && z->mark[s] != (PART_STRIDE | a)))
			return false;
		taken |= 1u << a;
		if (z->mark[out->dims + 1 + n + a])
			z->mark[s] = (uint8_t)(PART_STRIDE | a);
	}
	return true;
}

/* A result that lies otherwise than NumPy's would is the plan's alone. */
static bool agree_out(struct sizes *z, const struct part_op *o)
{
	const struct part_value *v = &z->part->value[o->out.value];
	uint32_t n = o->out.ndim;

	if (!marked_strides(z, &o->out))
		return true;
	if (v->prev != PART_NONE || v->role != PART_TEMP)
		return false;
	for (uint32_t a = 0; a < n; a++)
		if (z->mark[o->out.dims + 1 + n + a])
			z->mark[o->out.dims + 1 + n + a] = (uint8_t)(PART_STRIDE | a);
	return true;
}

static bool agree_in(struct sizes *z, const struct part_ref *r)
{
	uint32_t maker = PART_NONE;

	if (r->value & PART_IMM)
		return true;
	maker = z->maker[r->value];
	if (maker == PART_NONE || !marked_strides(z, &z->part->op[maker].out))
		return !marked_strides(z, r);
	return relaid(z, r, &z->part->op[maker].out);
}

/* Nothing but what is done with them all the same whatever their number has sizes. */
static bool may_have_sizes(const struct part_op *o)
{
	switch ((enum op_kind)op_row(o->op)->kind) {
	case KIND_EW:
	case KIND_RED:
	case KIND_ARGRED:
	case KIND_CREATE:
	case KIND_WRITE:
		return o->op != OP_INDEX;
	default:
		return false;
	}
}

/* A product's sizes decide how it is computed, and with it its bits. */
static bool agree_product(struct sizes *z, uint32_t k)
{
	const struct part_op *o = &z->part->op[k];
	struct part turn = *z->part;
	unsigned way = 0;

	if (z->turn == 1)
		z->way[k] = (uint8_t)compilepart_way(&turn, o);
	turn.dim = z->now;
	way = compilepart_way(&turn, o);
	return way && way == z->way[k] && !marked_strides(z, &o->in[0]) &&
	       !marked_strides(z, &o->in[1]);
}

/* Does an assignment write each of its places once? */
static bool writes_apart(const struct part *turn, const struct part_ref *out)
{
	struct view v;
	struct depend_access a = {.bytes = dtype_row(out->dtype)->bytes, .stride = v.stride};

	part_view(&v, turn, out);
	return depend_test(&a, &a, v.shape.dim, v.shape.ndim, v.shape.ndim).kind == DEPEND_SAME;
}

static bool agree_assignment(const struct sizes *z, const struct part_op *o)
{
	struct part turn = *z->part;
	bool first = z->turn > 1 || writes_apart(&turn, &o->out);

	turn.dim = z->now;
	return first && writes_apart(&turn, &o->out);
}

static bool agree_op(struct sizes *z, uint32_t k)
{
	const struct part_op *o = &z->part->op[k];
	const struct part_ref *in = part_in(z->part, o);
	uint32_t prev = z->part->value[o->out.value].prev;
	bool sized = marked_shape(z, &o->out);

	for (unsigned j = 0; j < o->nin; j++) {
		if (!agree_in(z, &in[j]))
			return false;
		sized |= marked_shape(z, &in[j]);
	}
	if (prev != PART_NONE && z->maker[prev] != PART_NONE &&
	    marked_strides(z, &z->part->op[z->maker[prev]].out))
		return false;
	if (!agree_out(z, o))
		return false;
	if (o->op == OP_ASSIGN && marked_shape(z, &o->out) && !agree_assignment(z, o))
		return false;
	return !sized || (o->op == OP_MATMUL ? agree_product(z, k) : may_have_sizes(o));
}

bool sizes_agree(struct sizes *z)
{
	for (uint32_t k = 0; k < z->part->nop && z->n; k++)
		if (!agree_op(z, k))
			return false;
	for (uint32_t i = 0; i < z->part->nvalue && !z->n; i++)
		if (z->part->value[i].sized)
			return false;
	return true;
}

bool sizes_may_plan(const struct sizes *z)
{
	uint32_t *last = z->n ? part_last_uses(z->part) : NULL;
	bool may = true;

	/* What would be copied whole is of as many bytes in each turn, or it is not copied. */
	for (uint32_t k = 0; k < z->part->nop && z->n && may; k++)
		may = z->part->value[z->part->op[k].out.value].prev == PART_NONE ||
		      part_takes(z->part, k, last);
	free(last);
	return may;
}

/* How large can axis i of the view be without reaching into what the other axes step over? */
static int64_t room_of(const struct sizes *z, const struct part_ref *r, uint32_t i)
{
	const int64_t *stride = z->part->dim + r->dims + 1 + r->ndim;
	const struct part_value *v = &z->part->value[r->value];
	int64_t step = llabs(stride[i]), room = INT64_MAX;

	if (!step)
		return room;
	if (!v->sized)
		room = (int64_t)(v->bytes / (uint64_t)step);
	for (uint32_t j = 0; j < r->ndim; j++)
		if (llabs(stride[j]) > step && llabs(stride[j]) / step < room)
			room = llabs(stride[j]) / step;
	return room;
}

static void limit_by(const struct sizes *z, const struct part_ref *r, int64_t *room)
{
	for (uint32_t i = 0; !(r->value & PART_IMM) && i < r->ndim; i++) {
		uint8_t mark = z->mark[r->dims + 1 + i];
		int64_t most = mark ? room_of(z, r, i) : 0;

		if (mark && most < room[mark - 1])
			room[mark - 1] = most;
	}
}

/* The largest that each size is in any turn; where it grows, twice that if there is room, so that
 * the turns behind these have the same plan. */
static void find_most(const struct sizes *z, uint32_t turns)
{
	struct part *p = z->part;
	int64_t room[SIZES_MOST];

	for (uint32_t s = 0; s < z->n; s++)
		room[s] = INT64_MAX;
	for (uint32_t k = 0; k < p->nop; k++) {
		for (unsigned j = 0; j < p->op[k].nin; j++)
			limit_by(z, &part_in(p, &p->op[k])[j], room);
		limit_by(z, &p->op[k].out, room);
	}
	for (uint32_t s = 0; s < z->n; s++) {
		for (uint32_t t = 0; t < turns; t++)
			if (of_turn(z, t)[s] > p->most[s])
				p->most[s] = of_turn(z, t)[s];
		room[s] = room[s] / 2 < p->most[s] ? room[s] : 2 * p->most[s];
		if (of_turn(z, 0)[s] < of_turn(z, turns - 1)[s] && room[s] > p->most[s])
			p->most[s] = room[s];
	}
}

int64_t *sizes_name(struct sizes *z, uint32_t turns)
{
	struct part *p = z->part;
	int64_t *table = NULL;

	if (!z->n)
		return NULL;
	table = xcalloc((size_t)turns * z->n, sizeof *table);
	for (uint32_t t = 0; t < turns; t++)
		memcpy(table + (size_t)t * z->n, of_turn(z, t), z->n * sizeof *table);
	p->nsize = z->n;
	p->most = xcalloc(z->n, sizeof *p->most);
	find_most(z, turns);
	for (uint32_t i = 0; i < p->ndim; i++)
		if (z->mark[i])
			p->dim[i] = 0;
	for (uint32_t i = 0; i < p->nvalue; i++)
		if (p->value[i].sized)
			p->value[i].bytes = 0;
	for (uint32_t k = 0; k < p->nop; k++)
		if (z->way[k])
			p->op[k].axes = z->way[k];
	p->mark = z->mark;
	z->mark = NULL;
	return table;
}
