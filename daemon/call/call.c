/* SPDX-License-Identifier: Apache-2.0 */
/* call/call.c - see call.h. */
#include "call.h"

#include "base/textbuf.h"
#include "grid.h"

static const struct call_row rows[CALL_END] = {
#define CALL(ID, stem, name, of, operands, written, work_ns, devices)                              \
	[CALL_##ID] = {                                                                            \
		name,	     operands,	written,      devices,	   work_ns,	stem##_check,      \
		stem##_work, stem##_us, stem##_units, stem##_name, stem##_print},
#include "calls.def"
#undef CALL
};

const struct call_row *call_row(unsigned call)
{
	return call < CALL_END ? &rows[call] : NULL;
}

enum call_id call_of_op(unsigned op)
{
	enum op_kind kind = (enum op_kind)op_row(op)->kind;

#define CALL(ID, stem, name, of, ...)                                                              \
	if (of)                                                                                    \
		return CALL_##ID;
#include "calls.def"
#undef CALL
	return CALL_END;
}

void call_kind(struct call_kind *out, const struct plan_call *c)
{
	*out = (struct call_kind){.call = c->call, .dtype = c->dtype, .op = c->op};
	for (unsigned x = 0; x < call_operands(c) && x < CALL_KIND_OPERANDS; x++)
		out->operand[x] = (uint8_t)c->operand[x].dtype;
}

bool call_has_loop(const struct plan_call *c, unsigned x, unsigned l)
{
	return c->call != CALL_GRID || grid_has_loop(&c->operand[x], l);
}

void call_range(int64_t *lo, int64_t *hi, const struct plan_call *c, unsigned x)
{
	const struct call_operand *o = &c->operand[x];

	*lo = 0;
	*hi = dtype_row(o->dtype)->bytes * (o->run ? o->run : 1);
	for (unsigned l = 0; l < c->nloop; l++) {
		int64_t reach = (c->extent[l] - 1) * o->stride[l];

		if (!call_has_loop(c, x, l))
			continue;
		if (c->extent[l] == 0) {
			*lo = *hi = 0;
			return;
		}
		*(reach < 0 ? lo : hi) += reach;
	}
}

/* Can operand x's reach be counted in 64 bits? */
static bool countable(const struct plan_call *c, unsigned x)
{
	int64_t lo = 0, hi = dtype_row(c->operand[x].dtype)->bytes, run = c->operand[x].run;

	if (run < 0 || (run && __builtin_mul_overflow(hi, run, &hi)))
		return false;

	for (unsigned l = 0; l < c->nloop; l++) {
		int64_t reach = 0, turns = c->extent[l] ? c->extent[l] - 1 : 0;
		int64_t *end = NULL;

		if (__builtin_mul_overflow(turns, c->operand[x].stride[l], &reach))
			return false;
		end = reach < 0 ? &lo : &hi;
		if (__builtin_add_overflow(*end, reach, end))
			return false;
	}
	return true;
}

enum status call_check(const struct plan_call *c, struct err *err)
{
	const struct call_row *row = call_row(c->call);

	if (!row)
		return err_set(err, E_INTERNAL, "no library step %u", c->call);
	if (c->nloop > LIMIT_NDIM || !dtype_native(c->dtype))
		return err_set(err, E_INTERNAL, "%s: %u loops, element type %u", row->name,
			       c->nloop, c->dtype);
	for (unsigned l = 0; l < c->nloop; l++)
		if (c->extent[l] < 0)
			return err_set(err, E_INTERNAL, "%s: extent %lld", row->name,
				       (long long)c->extent[l]);
	if (row->noperand == CALL_LIST && (!c->noperand || c->noperand > CALL_OPERANDS))
		return err_set(err, E_INTERNAL, "%s of %u operands", row->name, c->noperand);
	for (unsigned x = 0; x < call_operands(c); x++) {
		if (!dtype_native(c->operand[x].dtype))
			return err_set(err, E_INTERNAL, "%s: element type %u has no loop",
				       row->name, c->operand[x].dtype);
		if (!countable(c, x))
			return err_set(err, E_INTERNAL, "%s: operand %u overflows", row->name, x);
	}
	if (c->call != CALL_GRID && (c->grid || c->nscalar))
		return err_set(err, E_INTERNAL, "%s with numbers", row->name);
	return row->check(c, err);
}

void call_print_layout(struct textbuf *t, const struct plan_call *c, const char *const *what)
{
	for (unsigned l = 0; l < c->nloop; l++)
		textbuf_put(t, "%s%lld", l ? "x" : " ", (long long)c->extent[l]);
	textbuf_put(t, "\n");
	for (unsigned x = 0; x < call_operands(c); x++) {
		const struct call_operand *o = &c->operand[x];

		textbuf_put(t, "%s s%u +%lld by",
			    what		? what[x]
			    : call_writes(c, x) ? "out"
						: "in",
			    o->slot, (long long)o->offset);
		for (unsigned l = 0; l < c->nloop; l++)
			textbuf_put(t, " %lld", (long long)o->stride[l]);
		textbuf_put(t, "\n");
	}
}

/* What was counted is no layout: a power of two stands for it. */
static int64_t told(const struct plan_call *c, unsigned loop)
{
	int64_t n = c->extent[loop], power = 1;

	if (!(c->counted >> loop & 1))
		return n;
	while (power < n && power <= INT64_MAX / 2)
		power *= 2;
	return power;
}

void call_key(struct textbuf *t, const struct plan_call *c)
{
	unsigned n = call_operands(c);

	textbuf_put(t, "%s%u.%s%s", call_row(c->call)->name, c->op, dtype_row(c->dtype)->suffix,
		    c->tf32 ? " tf32" : "");
	for (unsigned l = 0; l < c->nloop; l++)
		textbuf_put(t, " %lld", (long long)told(c, l));
	/* Of a list the first few tell how all of it lies. */
	if (call_row(c->call)->noperand == CALL_LIST)
		textbuf_put(t, " of %u, %lld", n, (long long)c->operand[0].run);
	if (c->grid)
		textbuf_put(t, " number %u, 2^%u", c->grid, c->hint);
	for (unsigned x = 0; x < (n < 4 ? n : 4); x++) {
		textbuf_put(t, ", %s by", dtype_row(c->operand[x].dtype)->suffix);
		for (unsigned l = 0; l < c->nloop; l++)
			textbuf_put(t, " %lld", (long long)c->operand[x].stride[l]);
	}
}
