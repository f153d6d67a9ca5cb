/* SPDX-License-Identifier: Apache-2.0 */
/* call/sort.c - see sort.h. */
#include "sort.h"

#define BLOCK_NS 10.0 /* an element, on one core, in blocks; */
#define LEVEL_NS 1.5  /* in each level of merges */

static bool cut_of(struct sort_cut *cut, const struct plan_call *c)
{
	return sort_cut(cut, along_lanes(c), c->extent[c->nloop - 1], c->dtype,
			c->op == OP_ARGSORT);
}

void sort_of(struct sort_call *out, struct sort_cut *cut, const struct plan_call *c)
{
	*out = (struct sort_call){.dtype = c->dtype, .places = c->op == OP_ARGSORT};
	along_of(&out->lanes, c);
	if (!cut_of(cut, c))
		*cut = (struct sort_cut){0}; /* was checked */
}

/* So many bytes for each element of a lane that together they are what the cut wants. */
static int64_t scratch_step(const struct sort_cut *cut)
{
	return cut->scratch ? (cut->scratch + cut->n - 2) / (cut->n - 1) : 0;
}

uint64_t sort_add_scratch(struct plan_call *c)
{
	unsigned last = c->nloop - 1u;
	struct sort_cut cut;

	if (!cut_of(&cut, c))
		return 0; /* the checker says so */
	c->operand[2].dtype = DT_UINT8;
	c->operand[2].stride[last] = scratch_step(&cut);
	return (uint64_t)((c->extent[last] - 1) * c->operand[2].stride[last]) + 1;
}

static bool has_types(const struct plan_call *c)
{
	unsigned result = c->op == OP_ARGSORT ? DT_INT64 : c->dtype;

	return c->operand[0].dtype == c->dtype && c->operand[1].dtype == result &&
	       c->operand[2].dtype == DT_UINT8;
}

enum status sort_check(const struct plan_call *c, struct err *err)
{
	struct sort_cut cut;
	enum status st = along_check(c, KIND_SORT, err);

	if (st)
		return st;
	if (!has_types(c))
		return err_set(err, E_INTERNAL, "sort: no %s of type %u", op_text(c->op), c->dtype);
	if (along_elements(c) > INT64_MAX / 64 || !cut_of(&cut, c) ||
	    cut.n > sort_longest(c->dtype, c->op == OP_ARGSORT))
		return err_set(err, E_INTERNAL, "sort: extents overflow");
	for (unsigned l = 0; l < c->nloop; l++)
		if (c->operand[2].stride[l] != (l + 1u == c->nloop ? scratch_step(&cut) : 0))
			return err_set(err, E_INTERNAL, "sort: scratch memory");
	return OK;
}

uint64_t sort_work(const struct plan_call *c)
{
	struct sort_cut cut = {0};

	return cut_of(&cut, c) ? (uint64_t)(cut.lanes * cut.n) * (uint64_t)(cut.levels + 1) : 0;
}

double sort_us(const struct plan_call *c)
{
	struct sort_cut cut = {0};

	if (!cut_of(&cut, c))
		return 0;
	return (double)cut.lanes * (double)cut.n * (BLOCK_NS + LEVEL_NS * cut.levels) / 1000;
}

void sort_units(struct call_units *out, const struct plan_call *c, bool device)
{
	struct sort_call s;
	struct sort_cut cut;

	sort_of(&s, &cut, c);
	/* A GPU's levels follow each other on its stream. */
	*out = (struct call_units){.total = device && cut.units ? 1 : cut.units, .grain = 1};
	out->work = out->total ? sort_work(c) / (uint64_t)out->total : 0;
}

void sort_name(struct textbuf *t, const struct plan_call *c)
{
	along_name(t, c);
}

void sort_print(struct textbuf *t, const struct plan_call *c)
{
	static const char *const what[] = {"in", "out", "scratch"};

	along_print(t, c, what);
}
