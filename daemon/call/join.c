/* SPDX-License-Identifier: Apache-2.0 */
/* call/join.c - see join.h. */
#include "join.h"

#include "base/textbuf.h"

#define UNIT_BYTES   (128 << 10) /* of the result: stays in a core's cache */
#define BYTES_PER_US 10000.0	 /* one core */

static int64_t divide_up(int64_t a, int64_t b)
{
	return a / b + (a % b != 0);
}

void join_cut(struct join_cut *out, const struct plan_call *c)
{
	*out = (struct join_cut){.rows = 1,
				 .row_bytes = c->operand[0].run * dtype_row(c->dtype)->bytes,
				 .unit_rows = 1,
				 .row_units = 1};
	for (unsigned l = 0; l < c->nloop; l++)
		out->rows *= c->extent[l];
	out->unit_bytes = out->row_bytes;
	if (out->row_bytes > UNIT_BYTES) {
		out->unit_bytes = UNIT_BYTES;
		out->row_units = divide_up(out->row_bytes, UNIT_BYTES);
	} else {
		out->unit_rows = UNIT_BYTES / out->row_bytes;
	}
	out->total = divide_up(out->rows, out->unit_rows) * out->row_units;
}

/* The parts lie in the row in their order, apart from each other. */
static enum status check_parts(const struct plan_call *c, int64_t row, struct err *err)
{
	int64_t end = 0;

	for (unsigned x = 1; x < c->noperand; x++) {
		const struct call_operand *o = &c->operand[x];

		if (o->run < 1 || o->at < end || o->at > row ||
		    o->run * dtype_row(c->dtype)->bytes > row - o->at)
			return err_set(err, E_INTERNAL, "join: part %u does not fit its row", x);
		end = o->at + o->run * dtype_row(c->dtype)->bytes;
	}
	return OK;
}

enum status join_check(const struct plan_call *c, struct err *err)
{
	int64_t bytes = 0;

	if (c->noperand < 2)
		return err_set(err, E_INTERNAL, "join of nothing");
	for (unsigned x = 0; x < c->noperand; x++)
		if (c->operand[x].dtype != c->dtype)
			return err_set(err, E_INTERNAL, "join: operand %u is %s", x,
				       dtype_row(c->operand[x].dtype)->name);
	/* That a run can be counted in bytes was checked before. */
	bytes = c->operand[0].run * dtype_row(c->dtype)->bytes;
	if (bytes < 1)
		return err_set(err, E_INTERNAL, "join: the result has no rows");
	for (unsigned l = 0; l < c->nloop; l++)
		if (__builtin_mul_overflow(bytes, c->extent[l], &bytes))
			return err_set(err, E_INTERNAL, "join: extents overflow");
	return check_parts(c, c->operand[0].run * dtype_row(c->dtype)->bytes, err);
}

uint64_t join_work(const struct plan_call *c)
{
	struct join_cut cut;

	join_cut(&cut, c);
	return (uint64_t)(cut.rows * cut.row_bytes);
}

double join_us(const struct plan_call *c)
{
	return (double)join_work(c) / BYTES_PER_US;
}

void join_units(struct call_units *out, const struct plan_call *c, bool device)
{
	struct join_cut cut;

	(void)device;
	join_cut(&cut, c);
	*out = (struct call_units){.total = cut.total, .grain = 1};
	out->work = cut.total ? join_work(c) / (uint64_t)cut.total : 0;
}

void join_name(struct textbuf *t, const struct plan_call *c)
{
	struct join_cut cut;

	join_cut(&cut, c);
	textbuf_put(t, "%u arrays of %s put side by side, %lld rows of %lld bytes",
		    c->noperand - 1u, dtype_row(c->dtype)->name, (long long)cut.rows,
		    (long long)cut.row_bytes);
}

void join_print(struct textbuf *t, const struct plan_call *c)
{
	textbuf_put(t, "join %s", dtype_row(c->dtype)->name);
	for (unsigned l = 0; l < c->nloop; l++)
		textbuf_put(t, "%s%lld", l ? "x" : " ", (long long)c->extent[l]);
	textbuf_put(t, "\n");
	for (unsigned x = 0; x < c->noperand; x++) {
		const struct call_operand *o = &c->operand[x];

		textbuf_put(t, "%s s%u +%lld run %lld at %lld by", x ? "in" : "out", o->slot,
			    (long long)o->offset, (long long)o->run, (long long)o->at);
		for (unsigned l = 0; l < c->nloop; l++)
			textbuf_put(t, " %lld", (long long)o->stride[l]);
		textbuf_put(t, "\n");
	}
}
