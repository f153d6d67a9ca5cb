/* SPDX-License-Identifier: Apache-2.0 */
/* call/along.c - see along.h. */
#include "along.h"

#include <string.h>

#include "base/textbuf.h"

int64_t along_lanes(const struct plan_call *c)
{
	int64_t n = 1;

	for (unsigned l = 0; l + 1 < c->nloop; l++)
		n *= c->extent[l];
	return n;
}

int64_t along_elements(const struct plan_call *c)
{
	return along_lanes(c) * c->extent[c->nloop - 1];
}

void along_of(struct lanes *out, const struct plan_call *c)
{
	const int64_t *from = c->operand[0].stride, *to = c->operand[1].stride;
	unsigned last = c->nloop - 1u;

	*out = (struct lanes){.n = c->extent[last], .from_step = from[last], .to_step = to[last]};
	for (unsigned l = 0; l < last; l++)
		lanes_axis(out, c->extent[l], from[l], to[l]);
}

enum status along_check(const struct plan_call *c, unsigned kind, struct err *err)
{
	const struct op_row *row = op_row(c->op);
	const char *name = call_row(c->call)->name;
	int64_t n = 1;

	if (!row || row->kind != kind || !c->nloop)
		return err_set(err, E_INTERNAL, "%s: no %s of type %u", name, op_text(c->op),
			       c->dtype);
	for (unsigned l = 0; l < c->nloop; l++)
		if (__builtin_mul_overflow(n, c->extent[l], &n))
			return err_set(err, E_INTERNAL, "%s: extents overflow", name);
	return OK;
}

enum status along_check_same(const struct plan_call *c, unsigned kind, struct err *err)
{
	enum status st = along_check(c, kind, err);

	for (unsigned x = 0; x < 2 && !st; x++)
		if (c->operand[x].dtype != c->dtype)
			st = err_set(err, E_INTERNAL, "%s: operand %u is %s",
				     call_row(c->call)->name, x,
				     dtype_row(c->operand[x].dtype)->name);
	return st;
}

void along_name(struct textbuf *t, const struct plan_call *c)
{
	textbuf_put(t, "%s of %s, %lld lanes of %lld", op_text(c->op), dtype_row(c->dtype)->name,
		    (long long)along_lanes(c), (long long)c->extent[c->nloop - 1]);
}

void along_print(struct textbuf *t, const struct plan_call *c, const char *const *what)
{
	textbuf_put(t, "%s %s", op_text(c->op), dtype_row(c->dtype)->name);
	call_print_layout(t, c, what);
}
