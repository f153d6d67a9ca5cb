/* SPDX-License-Identifier: Apache-2.0 */
/* nest/lower_search.c - where needles belong among elements in order: a library step
 * (call/search.h).
 *
 * Both come of one type and one axis, as record.c demands them, so nothing is cast and nothing
 * copied. */
#include "call/search.h"

#include "lower.h"

/* See lower.h.  Without needles nothing is done. */
enum status lower_search(struct prog *p, const struct part_op *o, struct err *err)
{
	struct prog_unit *u = NULL;
	struct plan_call *c = NULL;
	struct view among, needles, out, values;
	bool lines = o->op == OP_INTERP;

	part_view(&out, p->part, &o->out);
	if (out.dtype != (lines ? DT_FLOAT64 : DT_INT64))
		return err_set(err, E_INTERNAL, "%s: result type", op_text(o->op));
	if (!out.shape.dim[0])
		return OK;
	u = prog_unit(p, true);
	c = u->call;
	c->call = lines ? CALL_INTERP : CALL_SEARCH;
	c->op = o->op;
	c->nloop = SEARCH_LOOPS;
	lower_as_it_lies(c, SEARCH_AMONG, &among, p, &o->in[0]);
	lower_as_it_lies(c, SEARCH_NEEDLES, &needles, p, &o->in[1]);
	lower_as_it_lies(c, SEARCH_RESULT, &out, p, &o->out);
	c->dtype = among.dtype;
	c->extent[SEARCH_LOOP_NEEDLES] = out.shape.dim[0];
	c->extent[SEARCH_LOOP_AMONG] = among.shape.dim[0];
	c->operand[SEARCH_AMONG].stride[SEARCH_LOOP_AMONG] = among.stride[0];
	c->operand[SEARCH_NEEDLES].stride[SEARCH_LOOP_NEEDLES] = needles.stride[0];
	c->operand[SEARCH_RESULT].stride[SEARCH_LOOP_NEEDLES] = 8;
	if (lines) {
		lower_as_it_lies(c, SEARCH_VALUES, &values, p, &o->in[2]);
		c->operand[SEARCH_VALUES].stride[SEARCH_LOOP_AMONG] = values.stride[0];
	}
	prog_count_call(p, u);
	prog_summarise(u);
	return OK;
}
