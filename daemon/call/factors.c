/* SPDX-License-Identifier: Apache-2.0 */
/* call/factors.c - see factors.h. */
#include "factors.h"

#include "base/textbuf.h"

#define STEP_WORK 1000 /* that a matrix takes besides, however small */

static unsigned kind_of(const struct plan_call *c)
{
	return (unsigned)c->operand[0].at;
}

void factors_layout(struct solver_layout *out, const struct plan_call *c)
{
	(void)solver_lay(out, kind_of(c), c->dtype, c->extent[FACTORS_ROW],
			 c->extent[FACTORS_COLUMN]);
}

int64_t factors_bytes(const struct plan_call *c)
{
	return c->extent[FACTORS_ROW] * c->extent[FACTORS_COLUMN] * dtype_row(c->dtype)->bytes;
}

/* Do the loops lie one inside the other, without gaps? */
static bool lies_so(const struct plan_call *c, unsigned x, const int64_t want[FACTORS_LOOPS])
{
	const struct call_operand *o = &c->operand[x];

	for (unsigned l = 0; l < FACTORS_LOOPS; l++)
		if (o->stride[l] != want[l])
			return false;
	return o->dtype == c->dtype;
}

static bool lie_well(const struct plan_call *c, const struct solver_layout *lay)
{
	const struct call_operand *a = &c->operand[0], *out = &c->operand[1], *b = &c->operand[2];
	int64_t element = dtype_row(c->dtype)->bytes;
	const int64_t in[FACTORS_LOOPS] = {factors_bytes(c), c->extent[FACTORS_ROW] * element,
					   element, 0};
	const int64_t made[FACTORS_LOOPS] = {lay->bytes, 0, 0, element};

	return lies_so(c, 0, in) && lies_so(c, 2, in) && lies_so(c, 1, made) &&
	       a->slot == b->slot && a->offset == b->offset && a->move == b->move &&
	       a->offset % SOLVER_ALIGNED == 0 && a->move % SOLVER_ALIGNED == 0 &&
	       out->offset % SOLVER_ALIGNED == 0 && out->move % SOLVER_ALIGNED == 0;
}

enum status factors_check(const struct plan_call *c, struct err *err)
{
	struct solver_layout lay;
	int64_t all = 0, element = dtype_row(c->dtype)->bytes, at = c->operand[0].at;

	if (c->op != OP_SOLVER || c->nloop != FACTORS_LOOPS || at < 0 || at >= SOLVER_KINDS)
		return err_set(err, E_INTERNAL, "factors: no kind %lld with %u loops",
			       (long long)at, c->nloop);
	if (!solver_lay(&lay, (unsigned)at, c->dtype, c->extent[FACTORS_ROW],
			c->extent[FACTORS_COLUMN]) ||
	    c->extent[FACTORS_RESULT] != lay.bytes / element)
		return err_set(err, E_INTERNAL, "%s of %lld x %lld %s", solver_name((unsigned)at),
			       (long long)c->extent[FACTORS_ROW],
			       (long long)c->extent[FACTORS_COLUMN], dtype_row(c->dtype)->name);
	if (!c->extent[FACTORS_MATRIX] ||
	    __builtin_mul_overflow(c->extent[FACTORS_MATRIX], lay.bytes, &all) ||
	    __builtin_mul_overflow(c->extent[FACTORS_MATRIX], factors_bytes(c), &all))
		return err_set(err, E_INTERNAL, "factors: extents overflow");
	return lie_well(c, &lay) ? OK : err_set(err, E_INTERNAL, "factors: how operands lie");
}

static double each(const struct plan_call *c)
{
	struct solver_layout lay;

	factors_layout(&lay, c);
	return STEP_WORK + solver_flops(&lay, kind_of(c), c->dtype);
}

static uint64_t counted(double work)
{
	return work < 0x1p62 ? (uint64_t)work : 1ull << 62;
}

uint64_t factors_work(const struct plan_call *c)
{
	return counted((double)c->extent[FACTORS_MATRIX] * each(c));
}

double factors_us(const struct plan_call *c)
{
	return (double)factors_work(c) * call_row(c->call)->work_ns / 1000;
}

void factors_units(struct call_units *out, const struct plan_call *c, bool device)
{
	(void)device;
	*out = (struct call_units){
		.total = c->extent[FACTORS_MATRIX], .work = counted(each(c)), .grain = 1};
}

void factors_name(struct textbuf *t, const struct plan_call *c)
{
	textbuf_put(t, "%s of %s, %lld of %lld x %lld", solver_name(kind_of(c)),
		    dtype_row(c->dtype)->name, (long long)c->extent[FACTORS_MATRIX],
		    (long long)c->extent[FACTORS_ROW], (long long)c->extent[FACTORS_COLUMN]);
}

void factors_print(struct textbuf *t, const struct plan_call *c)
{
	static const char *const what[] = {"in", "out", "spoilt"};

	textbuf_put(t, "%s %s", solver_name(kind_of(c)), dtype_row(c->dtype)->name);
	call_print_layout(t, c, what);
}
