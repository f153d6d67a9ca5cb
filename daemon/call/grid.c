/* SPDX-License-Identifier: Apache-2.0 */
/* call/grid.c - see grid.h. */
#include "grid.h"

#include <string.h>

#include "base/textbuf.h"

/* Each axis has a loop of its own, of those that there are; along no other one it moves. */
static bool has_axes(const struct plan_call *c, const struct call_operand *o)
{
	unsigned taken = 0, n = grid_axes(o);

	if (!n || n > LIMIT_NDIM || o->run || (n < 8 && (uint32_t)o->at >> 4 * n))
		return false;
	for (unsigned k = 0; k < n; k++) {
		unsigned l = grid_loop(o, k);

		if (l >= c->nloop || taken >> l & 1)
			return false;
		taken |= 1u << l;
	}
	for (unsigned l = 0; l < LIMIT_NDIM; l++)
		if (o->stride[l] && !(taken >> l & 1))
			return false;
	return true;
}

enum status grid_check(const struct plan_call *c, struct err *err)
{
	const struct call_operand *first = &c->operand[0], *last = &c->operand[c->noperand - 1u];

	if (!c->grid || c->op != OP_GRID || c->hint > LIMIT_GRID_HINT || c->nscalar > CALL_SCALARS)
		return err_set(err, E_INTERNAL, "loop %u, %u numbers", c->grid, c->nscalar);
	if (c->noperand < 2 || grid_arrays(c) > LIMIT_GRID_ARRAYS || first->dtype != c->dtype ||
	    memcmp(first, last, sizeof *first) != 0)
		return err_set(err, E_INTERNAL, "loop %u: operands", c->grid);
	for (unsigned x = 0; x < c->noperand; x++)
		if (!has_axes(c, &c->operand[x]))
			return err_set(err, E_INTERNAL, "loop %u: axes of operand %u", c->grid, x);
	return OK;
}

uint64_t grid_work(const struct plan_call *c)
{
	return 1ull << c->hint;
}

double grid_us(const struct plan_call *c)
{
	return (double)grid_work(c) * call_row(CALL_GRID)->work_ns / 1000;
}

/* A GPU does stretches of the turns, so that a long loop can be cut: what goes on for longer than a
 * launch may is taken for one that hangs.  The processor's worker shares them out itself. */
void grid_units(struct call_units *out, const struct plan_call *c, bool device)
{
	unsigned cut = device && c->hint > GRID_UNIT ? c->hint - (unsigned)GRID_UNIT : 0;

	if (cut > GRID_CUT)
		cut = GRID_CUT;
	*out = (struct call_units){
		.total = (int64_t)1 << cut, .work = grid_work(c) >> cut, .grain = 1};
}

void grid_name(struct textbuf *t, const struct plan_call *c)
{
	textbuf_put(t, "loop of a kernel, number %u, that writes %s, some 2^%u instructions",
		    c->grid, dtype_row(c->dtype)->name, c->hint);
}

void grid_print(struct textbuf *t, const struct plan_call *c)
{
	textbuf_put(t, "loop %u 2^%u of", c->grid, c->hint);
	for (unsigned k = 0; k < c->nscalar; k++)
		textbuf_put(t, " i%u", c->scalar[k]);
	call_print_layout(t, c, NULL);
}
