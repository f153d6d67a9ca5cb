/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_view.c - what the machine does for slices: views, extents, memory aside, reductions.
 *
 * In:  instructions that the checker made, extents and bounds of any value.  Out: views, all of
 * whose elements lie in their array, so that CODE_SPOT needs no check.  Values that a store would
 * change before they are read are computed aside first; one statement at a time does that, as does
 * one reduction, so a run has one of each. */
#include <stdlib.h>
#include <string.h>

#include "lang_steps.h"

/* ---- Views ---- */

/* A bound as Python clips it: of a slice that goes backwards, -1 is before the first. */
static int64_t clipped(int64_t v, int64_t extent, int64_t base, bool backwards)
{
	if (v >= base)
		v -= base;
	else if (v < 0)
		v = v + extent < 0 ? -1 : v + extent;
	else
		v = -1; /* 0 of base 1 */
	if (v >= extent)
		return backwards ? extent - 1 : extent;
	return v < 0 && !backwards ? 0 : v;
}

static bool cut(struct run *r, const struct step *s, unsigned axis, const union lang_reg *bound,
		char **at, union lang_reg *out)
{
	const struct lang_array *x = &r->array[s->a];
	int64_t extent = x->shape.dim[axis], base = r->program->base, step = bound[2].i;
	bool backwards = step < 0;
	int64_t start = backwards ? extent - 1 : 0, stop = backwards ? -1 : extent, count = 0;

	if (!step) {
		lang_wrong_step(r, s->line);
		return false;
	}
	if (!(s->op >> 2 * axis & 1))
		start = clipped(bound[0].i, extent, base, backwards);
	if (!(s->op >> 2 * axis & 2))
		stop = clipped(bound[1].i, extent, base, backwards);
	if (backwards && start > stop)
		count = (int64_t)((uint64_t)(start - stop - 1) / (0 - (uint64_t)step)) + 1;
	else if (!backwards && start < stop)
		count = (stop - start - 1) / step + 1;
	*at += count ? start * x->stride[axis] : 0;
	out[0].i = count;
	out[1].i = count > 1 ? step * x->stride[axis] : 0;
	return true;
}

const struct step *lang_step_view(struct run *r, const struct step *s)
{
	const struct lang_array *x = &r->array[s->a];
	const union lang_reg *bound = &r->reg[s->b];
	union lang_reg *out = &r->reg[s->d + 1];
	char *at = x->at;

	for (unsigned axis = 0; axis < s->c; axis++) {
		int64_t i = bound->i;

		if (s->to_type >> axis & 1) {
			if (!cut(r, s, axis, bound, &at, out))
				return NULL;
			bound += 3;
			out += 2;
			continue;
		}
		if (!lang_index(&i, x->shape.dim[axis], r->program->base)) {
			lang_wrong_place(r, s->line, s->a, axis, bound->i);
			return NULL;
		}
		at += i * x->stride[axis];
		bound++;
	}
	r->reg[s->d].at = at;
	return s + 1;
}

const struct step *lang_step_join(struct run *r, const struct step *s)
{
	int64_t a = r->reg[s->a].i, b = r->reg[s->b].i;

	if (a != b && (b != 1 || s->op == 2) && (a != 1 || s->op)) {
		r->status = err_set(
			r->err, E_SHAPE,
			"kernel '%s', line %u: slices do not go together: %lld elements, not %lld",
			r->program->name, s->line, (long long)b, (long long)a);
		return NULL;
	}
	r->reg[s->d].i = b == 1 ? a : a == 1 && !s->op ? b : a;
	return s + 1;
}

/* ---- What lies where ---- */

struct span {
	uintptr_t from, to; /* the last byte, and one */
	uint64_t gap;	    /* divides the bytes between any two elements; 0: there is one */
};

static uint64_t divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* false: of no elements. */
static bool spans(struct span *out, const union lang_reg *view, unsigned axes, unsigned bytes)
{
	*out = (struct span){.from = (uintptr_t)view->at, .to = (uintptr_t)view->at + bytes};
	for (unsigned k = 0; k < axes; k++) {
		int64_t n = view[1 + 2 * k].i, stride = view[2 + 2 * k].i;

		if (!n)
			return false;
		if (stride < 0)
			out->from -= (uint64_t)(n - 1) * (0 - (uint64_t)stride);
		else
			out->to += (uint64_t)(n - 1) * (uint64_t)stride;
		out->gap = divisor(out->gap, stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride);
	}
	return true;
}

/* Is each element of b read in the turn that stores at its place, and in no other? */
static bool in_step(const union lang_reg *a, unsigned na, const union lang_reg *b, unsigned nb)
{
	if (a->at != b->at)
		return false;
	for (unsigned k = 1; k <= na; k++) {
		int64_t stride = k <= nb ? b[2 * (nb - k) + 2].i : 0;

		if (a[2 * (na - k) + 1].i > 1 && a[2 * (na - k) + 2].i != stride)
			return false;
	}
	return true;
}

static bool meets(const union lang_reg *a, unsigned na, unsigned a_bytes, const union lang_reg *b,
		  unsigned nb, unsigned b_bytes, bool any_turn)
{
	struct span x, y;
	uint64_t gap, apart;

	if (!spans(&x, a, na, a_bytes) || !spans(&y, b, nb, b_bytes) || x.to <= y.from ||
	    y.to <= x.from)
		return false;
	if (!any_turn && a_bytes == b_bytes && in_step(a, na, b, nb))
		return false;
	gap = divisor(x.gap, y.gap);
	if (!gap)
		return true;
	/* Columns of one matrix lie among one another, but never meet. */
	apart = b->at >= a->at ? (uint64_t)(b->at - a->at) % gap
			       : (gap - (uint64_t)(a->at - b->at) % gap) % gap;
	return apart < a_bytes || gap - apart < b_bytes;
}

const struct step *lang_step_meets(struct run *r, const struct step *s)
{
	bool before = s->op & 1 && r->reg[s->d].byte[0];

	r->reg[s->d].byte[0] = before || meets(&r->reg[s->a], s->c & 15, s->bytes, &r->reg[s->b],
					       s->c >> 4, dtype_row(s->to_type)->bytes, s->op & 2);
	return s + 1;
}

/* ---- Memory aside ---- */

/* What a run leaves behind serves the next one: fresh memory costs more than copying to it. */
static bool room(struct run *r, const struct step *s, uint64_t bytes)
{
	struct lang_aside *more = r->aside;

	if (!more)
		more = r->aside = atomic_exchange(r->kernel->spare, NULL);
	if (more && bytes <= more->bytes)
		return true;
	free(more);
	more = r->aside = bytes <= LANG_ASIDE ? malloc(sizeof *more + bytes) : NULL;
	if (!more) {
		r->status = err_set(
			r->err, bytes <= LANG_ASIDE ? E_NOMEM : E_LIMIT,
			"kernel '%s', line %u: no room for %llu bytes of a slice that is read "
			"where it is written",
			r->program->name, s->line, (unsigned long long)bytes);
		return false;
	}
	more->bytes = bytes;
	return true;
}

void lang_view_end(struct run *r)
{
	free(r->sum);
	lang_totals_free(r->totals);
	if (r->aside && r->aside->bytes <= LANG_SPARE)
		r->aside = atomic_exchange(r->kernel->spare, r->aside);
	free(r->aside);
}

const struct step *lang_step_aside(struct run *r, const struct step *s)
{
	const union lang_reg *view = &r->reg[s->a];
	union lang_reg *out = &r->reg[s->d];
	uint64_t bytes = s->bytes;

	out[0] = view[0];
	for (unsigned k = 0; k < s->c; k++)
		out[1 + k] = view[2 + 2 * k];
	if (!r->reg[s->b].byte[0])
		return s + 1;
	for (unsigned k = s->c; k-- > 0;) {
		out[1 + k].bits[0] = bytes;
		if (__builtin_mul_overflow(bytes, view[1 + 2 * k].bits[0], &bytes))
			bytes = UINT64_MAX;
	}
	if (!room(r, s, bytes))
		return NULL;
	out[0].at = r->aside->at;
	return s + 1;
}

static void spread_row(char *at, int64_t stride, const char *from, int64_t n, unsigned bytes)
{
	if (stride == (int64_t)bytes)
		memcpy(at, from, (size_t)n * bytes);
	else if (bytes == 8)
		for (int64_t i = 0; i < n; i++)
			memcpy(at + i * stride, from + 8 * i, 8);
	else
		for (int64_t i = 0; i < n; i++)
			memcpy(at + i * stride, from + bytes * i, bytes);
}

/* The elements of the axes from k on. */
static const char *spread(char *at, const union lang_reg *view, unsigned k, unsigned axes,
			  const char *from, unsigned bytes)
{
	int64_t n = view[1 + 2 * k].i, stride = view[2 + 2 * k].i;

	if (k + 1 == axes) {
		spread_row(at, stride, from, n, bytes);
		return from + n * bytes;
	}
	for (int64_t i = 0; i < n; i++)
		from = spread(at + i * stride, view, k + 1, axes, from, bytes);
	return from;
}

const struct step *lang_step_back(struct run *r, const struct step *s)
{
	const union lang_reg *view = &r->reg[s->a];

	if (r->reg[s->b].byte[0])
		spread(view->at, view, 0, s->c, r->aside->at, s->bytes);
	return s + 1;
}

const struct step *lang_step_spot(struct run *r, const struct step *s)
{
	r->reg[s->d].at = r->reg[s->a].at + r->reg[s->b].i * r->reg[s->c].i;
	return s + 1;
}

/* ---- Reductions ---- */

const struct step *lang_step_begin(struct run *r, const struct step *s)
{
	struct lang_sum *sum = r->sum;

	if (!sum) {
		sum = r->sum = aligned_alloc(64, sizeof *sum);
		if (!sum) {
			r->status = err_set(r->err, E_NOMEM, "no memory to run a kernel");
			return NULL;
		}
		sum->block.at = sum->room;
	}
	sum->block.n = 0;
	sum->count = 0;
	s->red->init(sum->state[0]);
	s->red->init(sum->state[1]);
	return s + 1;
}

/* The elements that wait go to the tree of the chunk. */
static void fold_block(struct lang_sum *sum, const struct step *s)
{
	if (!sum->block.n)
		return;
	s->red->step(sum->state[0], sum->block.at, (int64_t)sum->block.n, sum->count);
	s->red->block(sum->state[0]);
	sum->count += (int64_t)sum->block.n;
	sum->block.n = 0;
}

static void fold_chunk(struct lang_sum *sum, const struct step *s)
{
	struct bz_acc acc;

	s->red->end(sum->state[0], (sum->count - 1) % LANG_CHUNK + 1, &acc);
	s->red->join(sum->state[1], &acc);
	s->red->init(sum->state[0]);
}

/* A block is full. */
static void fold(struct lang_sum *sum, const struct step *s)
{
	fold_block(sum, s);
	if (sum->count % LANG_CHUNK == 0)
		fold_chunk(sum, s);
}

const struct step *lang_step_take(struct run *r, const struct step *s)
{
	struct lang_block *block = &r->sum->block;

	memcpy(block->at + block->n * s->bytes, &r->reg[s->a], s->bytes);
	if (++block->n < LANG_BLOCK)
		return s + 1;
	fold(r->sum, s);
	return s + 1;
}

static void gather(char *to, const char *at, int64_t stride, int64_t n, unsigned bytes)
{
	if (stride == (int64_t)bytes)
		memcpy(to, at, (size_t)n * bytes);
	else if (bytes == 8)
		for (int64_t i = 0; i < n; i++)
			memcpy(to + 8 * i, at + i * stride, 8);
	else
		for (int64_t i = 0; i < n; i++)
			memcpy(to + bytes * i, at + i * stride, bytes);
}

/* One row, a block at a time; false: the run is stopped. */
static bool sweep_row(struct run *r, const struct step *s, const char *at, int64_t stride,
		      int64_t n)
{
	struct lang_block *block = &r->sum->block;

	for (int64_t i = 0, take; i < n; i += take) {
		take = LANG_BLOCK - (int64_t)block->n;
		take = take < n - i ? take : n - i;
		gather(block->at + block->n * s->bytes, at + i * stride, stride, take, s->bytes);
		block->n += (uint64_t)take;
		if (block->n < LANG_BLOCK)
			continue;
		fold(r->sum, s);
		if (r->sum->count % LANG_CHUNK == 0 && r->poll && r->poll(r->data)) {
			lang_stopped(r, s->line);
			return false;
		}
	}
	return true;
}

static bool sweep(struct run *r, const struct step *s, const char *at, unsigned k)
{
	const union lang_reg *axis = &r->reg[s->a + 1 + 2 * k];

	if (k + 1 == s->c)
		return sweep_row(r, s, at, axis[1].i, axis[0].i);
	for (int64_t i = 0; i < axis[0].i; i++)
		if (!sweep(r, s, at + i * axis[1].i, k + 1))
			return false;
	return true;
}

const struct step *lang_step_sweep(struct run *r, const struct step *s)
{
	for (unsigned k = 0; k < s->c; k++)
		if (!r->reg[s->a + 1 + 2 * k].i)
			return s + 1;
	return sweep(r, s, r->reg[s->a].at, 0) ? s + 1 : NULL;
}

const struct step *lang_step_give(struct run *r, const struct step *s)
{
	struct lang_sum *sum = r->sum;
	struct bz_acc acc;

	fold_block(sum, s);
	if (!sum->count && (s->op == OP_MIN || s->op == OP_MAX)) {
		r->status = err_set(r->err, E_INVALID,
				    "kernel '%s', line %u: %s of no elements has no value",
				    r->program->name, s->line, op_row(s->op)->numpy);
		return NULL;
	}
	if (sum->count % LANG_CHUNK)
		fold_chunk(sum, s);
	s->red->end(sum->state[1], sum->count, &acc);
	s->red->put(&acc, r->reg[s->d].byte);
	return s + 1;
}
