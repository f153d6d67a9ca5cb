/* SPDX-License-Identifier: Apache-2.0 */
/* call/compact.c - see compact.h. */
#include "compact.h"

#include <string.h>

#include "base/textbuf.h"

#define RANKS_PER_US  10000.0 /* elements of a mask, one core */
#define CHOSEN_PER_US 1000.0
#define ROW_PIECE     256 /* elements: short work for as many rows as a block may choose */

/* ---- What the three have in common ---- */

/* The extents' product; -1: more than can be counted with a block beyond. */
static int64_t product(const int64_t *extent, unsigned n)
{
	int64_t all = 1;

	for (unsigned l = 0; l < n; l++)
		if (__builtin_mul_overflow(all, extent[l], &all))
			return -1;
	return all > INT64_MAX - RANK_BLOCK ? -1 : all;
}

static enum status check_mask(const struct plan_call *c, unsigned mask, unsigned axes,
			      unsigned blocks, struct err *err)
{
	const char *name = call_row(c->call)->name;
	int64_t n = product(c->extent, axes);

	if (n < 1 || c->extent[blocks] != compact_blocks(n))
		return err_set(err, E_INTERNAL, "%s: extents", name);
	if (c->operand[mask].dtype != DT_BOOL)
		return err_set(err, E_INTERNAL, "%s: a mask of %s", name,
			       dtype_row(c->operand[mask].dtype)->name);
	return OK;
}

/* Ranks are int64 and move along the blocks only. */
static enum status check_ranks(const struct plan_call *c, unsigned ranks, unsigned blocks,
			       struct err *err)
{
	for (unsigned l = 0; l < c->nloop; l++)
		if (l != blocks && c->operand[ranks].stride[l])
			return err_set(err, E_INTERNAL, "%s: ranks along loop %u",
				       call_row(c->call)->name, l);
	return c->operand[ranks].dtype == DT_INT64
		       ? OK
		       : err_set(err, E_INTERNAL, "%s: ranks of %s", call_row(c->call)->name,
				 dtype_row(c->operand[ranks].dtype)->name);
}

static struct compact_ranks ranks_at(const struct plan_call *c, unsigned operand, unsigned count,
				     unsigned blocks)
{
	return (struct compact_ranks){.blocks = c->extent[blocks],
				      .step = c->operand[operand].stride[blocks],
				      .count = c->extent[count]};
}

static void print(struct textbuf *t, const struct plan_call *c)
{
	textbuf_put(t, "%s %s", call_row(c->call)->name, dtype_row(c->dtype)->name);
	call_print_layout(t, c, NULL);
}

/* ---- Ranks ---- */

void compact_ranks_of(struct compact_mask *mask, const struct plan_call *c)
{
	*mask = (struct compact_mask){.n = c->extent[0], .step = c->operand[RANKS_MASK].stride[0]};
}

enum status compact_ranks_check(const struct plan_call *c, struct err *err)
{
	enum status st = OK;

	if (c->nloop != 2)
		return err_set(err, E_INTERNAL, "ranks: %u loops", c->nloop);
	st = check_mask(c, RANKS_MASK, 1, 1, err);
	return st ? st : check_ranks(c, RANKS_RESULT, 1, err);
}

uint64_t compact_ranks_work(const struct plan_call *c)
{
	return (uint64_t)c->extent[0];
}

double compact_ranks_us(const struct plan_call *c)
{
	return (double)compact_ranks_work(c) / RANKS_PER_US;
}

void compact_ranks_units(struct call_units *out, const struct plan_call *c, bool device)
{
	(void)device;
	*out = (struct call_units){.total = c->extent[1], .work = RANK_BLOCK, .grain = 1};
}

void compact_ranks_name(struct textbuf *t, const struct plan_call *c)
{
	textbuf_put(t, "count of a mask of %lld", (long long)c->extent[0]);
}

void compact_ranks_print(struct textbuf *t, const struct plan_call *c)
{
	print(t, c);
}

/* ---- Elements ---- */

void compact_of(struct compact_mask *mask, struct compact_ranks *ranks, struct compact_rows *rows,
		const struct plan_call *c)
{
	const struct call_operand *from = &c->operand[COMPACT_SOURCE];
	const struct call_operand *to = &c->operand[COMPACT_RESULT];

	*mask = (struct compact_mask){.n = c->extent[COMPACT_LOOP_MASK],
				      .step = c->operand[COMPACT_MASK].stride[COMPACT_LOOP_MASK]};
	*ranks = ranks_at(c, COMPACT_RANKS, COMPACT_LOOP_COUNT, COMPACT_LOOP_BLOCKS);
	*rows = (struct compact_rows){.to_step = to->stride[COMPACT_LOOP_COUNT],
				      .from_step = from->stride[COMPACT_LOOP_MASK],
				      .inner = c->extent[COMPACT_LOOP_ROW],
				      .to_inner = to->stride[COMPACT_LOOP_ROW],
				      .from_inner = from->stride[COMPACT_LOOP_ROW],
				      .bytes = dtype_row(c->dtype)->bytes};
}

static int64_t pieces(const struct plan_call *c)
{
	int64_t n = c->extent[COMPACT_LOOP_ROW];

	return n / ROW_PIECE + (n % ROW_PIECE != 0);
}

int64_t compact_unit(int64_t *lo, int64_t *hi, const struct plan_call *c, int64_t unit)
{
	int64_t n = pieces(c), all = c->extent[COMPACT_LOOP_ROW];

	*lo = unit % n * ROW_PIECE;
	*hi = all - *lo < ROW_PIECE ? all : *lo + ROW_PIECE;
	return unit / n;
}

enum status compact_check(const struct plan_call *c, struct err *err)
{
	enum status st = OK;

	if (c->nloop != COMPACT_LOOPS || c->operand[COMPACT_SOURCE].dtype != c->dtype ||
	    c->operand[COMPACT_RESULT].dtype != c->dtype ||
	    c->extent[COMPACT_LOOP_COUNT] > c->extent[COMPACT_LOOP_MASK] ||
	    product(c->extent, 2) < 1)
		return err_set(err, E_INTERNAL, "compact: %u loops, of %s", c->nloop,
			       dtype_row(c->dtype)->name);
	st = check_mask(c, COMPACT_MASK, 1, COMPACT_LOOP_BLOCKS, err);
	return st ? st : check_ranks(c, COMPACT_RANKS, COMPACT_LOOP_BLOCKS, err);
}

uint64_t compact_work(const struct plan_call *c)
{
	return (uint64_t)(c->extent[COMPACT_LOOP_MASK] * c->extent[COMPACT_LOOP_ROW]);
}

double compact_us(const struct plan_call *c)
{
	return (double)compact_work(c) / CHOSEN_PER_US;
}

void compact_units(struct call_units *out, const struct plan_call *c, bool device)
{
	(void)device;
	*out = (struct call_units){.total = c->extent[COMPACT_LOOP_BLOCKS] * pieces(c), .grain = 1};
	out->work = compact_work(c) / (uint64_t)out->total;
}

void compact_name(struct textbuf *t, const struct plan_call *c)
{
	textbuf_put(t, "%lld of %lld elements of %s by a mask",
		    (long long)(c->extent[COMPACT_LOOP_COUNT] * c->extent[COMPACT_LOOP_ROW]),
		    (long long)compact_work(c), dtype_row(c->dtype)->name);
}

void compact_print(struct textbuf *t, const struct plan_call *c)
{
	print(t, c);
}

/* ---- Places ---- */

static unsigned axes_of(const struct plan_call *c)
{
	return c->nloop - PLACES_LOOPS;
}

void compact_places_of(struct compact_mask *mask, struct compact_ranks *ranks,
		       struct compact_places *places, const struct plan_call *c)
{
	const struct call_operand *to = &c->operand[PLACES_RESULT];
	unsigned axes = axes_of(c);

	*mask = (struct compact_mask){.n = product(c->extent, axes),
				      .step = c->operand[PLACES_MASK].stride[axes - 1]};
	*ranks = ranks_at(c, PLACES_RANKS, axes, axes + 1);
	*places = (struct compact_places){
		.to_step = to->stride[axes], .to_inner = to->stride[axes + 2], .axes = (int)axes};
	memcpy(places->extent, c->extent, axes * sizeof places->extent[0]);
}

/* The mask lies as its axes say, without a gap. */
static bool lies(const struct plan_call *c, unsigned axes)
{
	int64_t step = 1;

	for (unsigned a = axes; a-- > 0; step *= c->extent[a])
		if (axes > 1 && c->operand[PLACES_MASK].stride[a] != step && c->extent[a] > 1)
			return false;
	return axes == 1 || c->operand[PLACES_MASK].stride[axes - 1] == 1;
}

enum status compact_places_check(const struct plan_call *c, struct err *err)
{
	const struct call_operand *to = &c->operand[PLACES_RESULT];
	unsigned axes = axes_of(c);
	enum status st = OK;

	if (c->nloop <= PLACES_LOOPS || c->dtype != DT_INT64 || to->dtype != DT_INT64 ||
	    c->extent[axes + 2] != axes)
		return err_set(err, E_INTERNAL, "places: %u loops, of %s", c->nloop,
			       dtype_row(c->dtype)->name);
	st = check_mask(c, PLACES_MASK, axes, axes + 1, err);
	if (!st && (!lies(c, axes) || (axes == 1 && to->stride[axes] != sizeof(int64_t))))
		st = err_set(err, E_INTERNAL, "places: strides");
	return st ? st : check_ranks(c, PLACES_RANKS, axes + 1, err);
}

uint64_t compact_places_work(const struct plan_call *c)
{
	return (uint64_t)product(c->extent, axes_of(c));
}

double compact_places_us(const struct plan_call *c)
{
	return (double)compact_places_work(c) / CHOSEN_PER_US;
}

void compact_places_units(struct call_units *out, const struct plan_call *c, bool device)
{
	(void)device;
	*out = (struct call_units){
		.total = c->extent[axes_of(c) + 1], .work = RANK_BLOCK, .grain = 1};
}

void compact_places_name(struct textbuf *t, const struct plan_call *c)
{
	textbuf_put(t, "%lld places of a mask of %lld", (long long)c->extent[axes_of(c)],
		    (long long)compact_places_work(c));
}

void compact_places_print(struct textbuf *t, const struct plan_call *c)
{
	print(t, c);
}
