/* SPDX-License-Identifier: Apache-2.0 */
/* call/unwrap.c - see unwrap.h. */
#include "unwrap.h"

#define ELEMENTS_PER_US 700.0 /* one core */

int64_t unwrap_blocks(const struct plan_call *c)
{
	int64_t n = c->extent[c->nloop - 1];

	return n / UNWRAP_BLOCK + (n % UNWRAP_BLOCK != 0);
}

enum status unwrap_check(const struct plan_call *c, struct err *err)
{
	enum status st = along_check_same(c, KIND_LANE, err);

	if (!st && c->dtype != DT_FLOAT32 && c->dtype != DT_FLOAT64)
		st = err_set(err, E_INTERNAL, "unwrap of type %u", c->dtype);
	return st;
}

uint64_t unwrap_work(const struct plan_call *c)
{
	return (uint64_t)along_elements(c);
}

double unwrap_us(const struct plan_call *c)
{
	return (double)unwrap_work(c) / ELEMENTS_PER_US;
}

void unwrap_units(struct call_units *out, const struct plan_call *c, bool device)
{
	(void)device; /* there is none that has it */
	*out = (struct call_units){
		.total = along_lanes(c) * unwrap_blocks(c), .grain = 1, .kept = true};
	out->work = out->total ? unwrap_work(c) / (uint64_t)out->total : 0;
}

void unwrap_name(struct textbuf *t, const struct plan_call *c)
{
	along_name(t, c);
}

void unwrap_print(struct textbuf *t, const struct plan_call *c)
{
	static const char *const what[] = {"in", "out"};

	along_print(t, c, what);
}
