/* SPDX-License-Identifier: Apache-2.0 */
/* call/scan.c - see scan.h. */
#include "scan.h"

#define ELEMENTS_PER_US 1000.0 /* one core */

void scan_of(struct scan_call *out, struct scan_cut *cut, const struct plan_call *c)
{
	*out = (struct scan_call){0};
	along_of(&out->lanes, c);
	if (!scan_cut(cut, along_lanes(c), out->lanes.n))
		*cut = (struct scan_cut){0}; /* was checked */
}

enum status scan_check(const struct plan_call *c, struct err *err)
{
	struct scan_cut cut;
	enum status st = along_check_same(c, KIND_SCAN, err);

	if (!st && !scan_has(c->op, c->dtype))
		st = err_set(err, E_INTERNAL, "scan: no %s of type %u", op_text(c->op), c->dtype);
	if (!st && !scan_cut(&cut, along_lanes(c), c->extent[c->nloop - 1]))
		st = err_set(err, E_INTERNAL, "scan: extents overflow");
	return st;
}

uint64_t scan_work(const struct plan_call *c)
{
	return (uint64_t)along_elements(c);
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

	scan_of(&s, &cut, c);
	/* A GPU's blocks hand on to each other what they have: it does all of it. */
	*out = (struct call_units){.total = cut.tiles * cut.blocks, .grain = 1};
	if (device && out->total)
		out->total = 1;
	out->work = out->total ? n / (uint64_t)out->total : 0;
}

void scan_name(struct textbuf *t, const struct plan_call *c)
{
	along_name(t, c);
}

void scan_print(struct textbuf *t, const struct plan_call *c)
{
	static const char *const what[] = {"in", "out"};

	along_print(t, c, what);
}
