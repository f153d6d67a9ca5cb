/* SPDX-License-Identifier: Apache-2.0 */
/* call/draw.c - see draw.h. */
#include "draw.h"

#include "base/textbuf.h"

#define ELEMENTS_PER_US 500.0 /* one core */

enum status draw_check(const struct plan_call *c, struct err *err)
{
	const struct op_row *row = op_row(c->op);
	const struct call_operand *state = &c->operand[0], *out = &c->operand[1];

	if (!row || row->kind != KIND_DRAW || !op_draws((enum op)c->op, c->dtype))
		return err_set(err, E_INTERNAL, "draw: no %s of type %u", op_text(c->op), c->dtype);
	if (c->nloop != 2 || c->extent[1] != DRAW_LENGTH)
		return err_set(err, E_INTERNAL, "draw: loops of no state");
	if (state->dtype != DT_UINT64 || state->stride[0])
		return err_set(err, E_INTERNAL, "draw: a state of %s",
			       dtype_row(state->dtype)->name);
	if (out->dtype != c->dtype || out->stride[0] != dtype_row(c->dtype)->bytes ||
	    out->stride[1])
		return err_set(err, E_INTERNAL, "draw: a result of %s, %lld bytes apart",
			       dtype_row(out->dtype)->name, (long long)out->stride[0]);
	return OK;
}

uint64_t draw_work(const struct plan_call *c)
{
	return (uint64_t)c->extent[0];
}

double draw_us(const struct plan_call *c)
{
	return (double)draw_work(c) / ELEMENTS_PER_US;
}

void draw_units(struct call_units *out, const struct plan_call *c, bool device)
{
	int64_t n = c->extent[0];

	(void)device;
	*out = (struct call_units){
		.total = n / DRAW_UNIT + (n % DRAW_UNIT != 0), .work = DRAW_UNIT, .grain = 1};
}

void draw_name(struct textbuf *t, const struct plan_call *c)
{
	textbuf_put(t, "%s, %lld of %s", op_text(c->op), (long long)c->extent[0],
		    dtype_row(c->dtype)->name);
}

void draw_print(struct textbuf *t, const struct plan_call *c)
{
	const struct call_operand *state = &c->operand[0], *out = &c->operand[1];

	textbuf_put(t, "%s %s %lld\n", op_text(c->op), dtype_row(c->dtype)->name,
		    (long long)c->extent[0]);
	textbuf_put(t, "in s%u +%lld by %lld\n", state->slot, (long long)state->offset,
		    (long long)state->stride[1]);
	textbuf_put(t, "out s%u +%lld by %lld\n", out->slot, (long long)out->offset,
		    (long long)out->stride[0]);
}
