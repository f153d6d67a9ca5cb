/* SPDX-License-Identifier: Apache-2.0 */
/* plan/scan.c - see scan.h. */
#include "scan.h"

#include <string.h>

#include "../base/textbuf.h"

#define ELEMENTS_PER_US 1000.0 /* one core */

static int64_t lanes_of(const struct plan_call *c)
{
	int64_t n = 1;

	for (unsigned l = 0; l + 1 < c->nloop; l++)
		n *= c->extent[l];
	return n;
}

void scan_of(struct scan_call *out, struct scan_cut *cut, const struct plan_call *c)
{
	unsigned last = c->nloop - 1u;

	*out = (struct scan_call){.n = c->extent[last],
				  .from_step = c->operand[0].stride[last],
				  .to_step = c->operand[1].stride[last],
				  .axes = (int)last};
	memcpy(out->extent, c->extent, last * sizeof out->extent[0]);
	memcpy(out->from_lane, c->operand[0].stride, last * sizeof out->from_lane[0]);
	memcpy(out->to_lane, c->operand[1].stride, last * sizeof out->to_lane[0]);
	if (!scan_cut(cut, lanes_of(c), out->n))
		*cut = (struct scan_cut){0}; /* was checked */
}

enum status scan_check(const struct plan_call *c, struct err *err)
{
	const struct op_row *row = op_row(c->op);
	struct scan_cut cut;
	int64_t n = 1;

	if (!row || row->kind != KIND_SCAN || !c->nloop || !scan_has(c->op, c->dtype))
		return err_set(err, E_INTERNAL, "scan: no %s of type %u", op_text(c->op), c->dtype);
	for (unsigned x = 0; x < 2; x++)
		if (c->operand[x].dtype != c->dtype)
			return err_set(err, E_INTERNAL, "scan: operand %u is %s", x,
				       dtype_row(c->operand[x].dtype)->name);
	for (unsigned l = 0; l < c->nloop; l++)
		if (__builtin_mul_overflow(n, c->extent[l], &n))
			return err_set(err, E_INTERNAL, "scan: extents overflow");
	return scan_cut(&cut, lanes_of(c), c->extent[c->nloop - 1])
		       ? OK
		       : err_set(err, E_INTERNAL, "scan: extents overflow");
}

uint64_t scan_work(const struct plan_call *c)
{
	return (uint64_t)(lanes_of(c) * c->extent[c->nloop - 1]);
}

double scan_us(const struct plan_call *c)
{
	return (double)scan_work(c) / ELEMENTS_PER_US;
}

void scan_units(struct call_units *out, const struct plan_call *c, bool device)
{
	struct scan_call s;
	struct scan_cut cut;
	uint64_t n = scan_work(c);

	(void)device;
	scan_of(&s, &cut, c);
	*out = (struct call_units){.total = cut.tiles * cut.blocks, .grain = 1};
	out->work = out->total ? n / (uint64_t)out->total : 0;
}

static void put_loops(struct textbuf *t, const struct plan_call *c)
{
	for (unsigned l = 0; l < c->nloop; l++)
		textbuf_put(t, "%s%lld", l ? "x" : " ", (long long)c->extent[l]);
}

void scan_name(struct textbuf *t, const struct plan_call *c)
{
	textbuf_put(t, "%s of %s, %lld lanes of %lld", op_text(c->op), dtype_row(c->dtype)->name,
		    (long long)lanes_of(c), (long long)c->extent[c->nloop - 1]);
}

void scan_print(struct textbuf *t, const struct plan_call *c)
{
	textbuf_put(t, "%s %s", op_text(c->op), dtype_row(c->dtype)->name);
	put_loops(t, c);
	textbuf_put(t, "\n");
	for (unsigned x = 0; x < 2; x++) {
		textbuf_put(t, "%s s%u +%lld by", x ? "out" : "in", c->operand[x].slot,
			    (long long)c->operand[x].offset);
		for (unsigned l = 0; l < c->nloop; l++)
			textbuf_put(t, " %lld", (long long)c->operand[x].stride[l]);
		textbuf_put(t, "\n");
	}
}
