/* SPDX-License-Identifier: Apache-2.0 */
/* call/search.c - see search.h. */
#include "search.h"

#include "base/textbuf.h"

#define STEPS_PER_US 1500.0 /* one core */
#define LINE_STEPS   8	    /* of a search, that a value on a line takes as long as */

int64_t search_of(struct search_patch *out, const struct plan_call *c, int64_t lo, int64_t hi)
{
	int64_t all = c->extent[SEARCH_LOOP_NEEDLES], first = lo * SEARCH_UNIT;
	int64_t left = all - first, most = (hi - lo) * SEARCH_UNIT;

	*out = (struct search_patch){
		.n = c->extent[SEARCH_LOOP_AMONG],
		.among_step = c->operand[SEARCH_AMONG].stride[SEARCH_LOOP_AMONG],
		.m = left < most ? left : most,
		.from_step = c->operand[SEARCH_NEEDLES].stride[SEARCH_LOOP_NEEDLES]};
	if (c->call == CALL_INTERP)
		out->values_step = c->operand[SEARCH_VALUES].stride[SEARCH_LOOP_AMONG];
	return first;
}

static bool has_types(const struct plan_call *c)
{
	return (c->op == OP_SEARCH_LEFT || c->op == OP_SEARCH_RIGHT) &&
	       c->operand[SEARCH_AMONG].dtype == c->dtype &&
	       c->operand[SEARCH_NEEDLES].dtype == c->dtype &&
	       c->operand[SEARCH_RESULT].dtype == DT_INT64;
}

/* Each operand runs along its own loop alone, the places side by side. */
static bool has_layout(const struct plan_call *c)
{
	return !c->operand[SEARCH_AMONG].stride[SEARCH_LOOP_NEEDLES] &&
	       !c->operand[SEARCH_NEEDLES].stride[SEARCH_LOOP_AMONG] &&
	       !c->operand[SEARCH_RESULT].stride[SEARCH_LOOP_AMONG] &&
	       c->operand[SEARCH_RESULT].stride[SEARCH_LOOP_NEEDLES] == 8;
}

static enum status check(const struct plan_call *c, struct err *err)
{
	if (c->nloop != SEARCH_LOOPS || !has_layout(c))
		return err_set(err, E_INTERNAL, "search: operands");
	if (!c->extent[SEARCH_LOOP_NEEDLES] || !c->extent[SEARCH_LOOP_AMONG] ||
	    c->extent[SEARCH_LOOP_NEEDLES] > INT64_MAX / 256)
		return err_set(err, E_INTERNAL, "search: extents");
	for (unsigned x = 0; x < call_operands(c); x++)
		if (c->operand[x].run)
			return err_set(err, E_INTERNAL, "search: operand %u has runs", x);
	return OK;
}

enum status search_check(const struct plan_call *c, struct err *err)
{
	return has_types(c) ? check(c, err) : err_set(err, E_INTERNAL, "search: operands");
}

uint64_t search_work(const struct plan_call *c)
{
	return (uint64_t)c->extent[SEARCH_LOOP_NEEDLES] *
	       (uint64_t)search_steps(c->extent[SEARCH_LOOP_AMONG]);
}

double search_us(const struct plan_call *c)
{
	return (double)search_work(c) / STEPS_PER_US;
}

void search_units(struct call_units *out, const struct plan_call *c, bool device)
{
	int64_t all = c->extent[SEARCH_LOOP_NEEDLES];

	(void)device;
	*out = (struct call_units){.total = all / SEARCH_UNIT + (all % SEARCH_UNIT != 0),
				   .grain = 1};
	out->work = out->total ? search_work(c) / (uint64_t)out->total : 0;
}

void search_name(struct textbuf *t, const struct plan_call *c)
{
	textbuf_put(t, "%s of %lld %s among %lld", op_text(c->op),
		    (long long)c->extent[SEARCH_LOOP_NEEDLES], dtype_row(c->dtype)->name,
		    (long long)c->extent[SEARCH_LOOP_AMONG]);
}

void search_print(struct textbuf *t, const struct plan_call *c)
{
	static const char *const what[] = {"among", "in", "out", "values"};
	static const unsigned loop[] = {SEARCH_LOOP_AMONG, SEARCH_LOOP_NEEDLES, SEARCH_LOOP_NEEDLES,
					SEARCH_LOOP_AMONG};

	textbuf_put(t, "%s %s %lld among %lld\n", op_text(c->op), dtype_row(c->dtype)->name,
		    (long long)c->extent[SEARCH_LOOP_NEEDLES],
		    (long long)c->extent[SEARCH_LOOP_AMONG]);
	for (unsigned x = 0; x < call_operands(c); x++)
		textbuf_put(t, "%s s%u +%lld by %lld\n", what[x], c->operand[x].slot,
			    (long long)c->operand[x].offset,
			    (long long)c->operand[x].stride[loop[x]]);
}

/* ---- Lines ---- */

enum status search_lines_check(const struct plan_call *c, struct err *err)
{
	for (unsigned x = 0; x <= SEARCH_VALUES; x++)
		if (c->operand[x].dtype != DT_FLOAT64)
			return err_set(err, E_INTERNAL, "interp: operand %u", x);
	if (c->op != OP_INTERP || c->dtype != DT_FLOAT64 ||
	    c->operand[SEARCH_VALUES].stride[SEARCH_LOOP_NEEDLES] ||
	    c->extent[SEARCH_LOOP_AMONG] < 2)
		return err_set(err, E_INTERNAL, "interp: operands");
	return check(c, err);
}

uint64_t search_lines_work(const struct plan_call *c)
{
	return search_work(c) + LINE_STEPS * (uint64_t)c->extent[SEARCH_LOOP_NEEDLES];
}

double search_lines_us(const struct plan_call *c)
{
	return (double)search_lines_work(c) / STEPS_PER_US;
}

void search_lines_units(struct call_units *out, const struct plan_call *c, bool device)
{
	search_units(out, c, device);
	out->work = out->total ? search_lines_work(c) / (uint64_t)out->total : 0;
}

void search_lines_name(struct textbuf *t, const struct plan_call *c)
{
	search_name(t, c);
}

void search_lines_print(struct textbuf *t, const struct plan_call *c)
{
	search_print(t, c);
}
