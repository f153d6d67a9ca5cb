/* SPDX-License-Identifier: Apache-2.0 */
/* form/part_print.c - a partition as text, the input format of golden tests.
 *
 *   value 1 output 80 prev 0 take
 *   imm 0 4008000000000000 0
 *   op ADD v0:float64+0[10:8] i0:float64~ -> v1:float64+0[10:8]
 *   op SUM axes 1 v1:float64+0[10:8] -> v2:float64+0[]
 */
#include "base/textbuf.h"
#include "part.h"

static const char *const role_text[] = {"input", "output", "temp"};

static const char *name(unsigned d)
{
	return dtype_row(d) ? dtype_row(d)->name : "none";
}

static void put_value(struct textbuf *t, const struct part *p, uint32_t k)
{
	const struct part_value *v = &p->value[k];

	textbuf_put(t, "value %u %s %llu", k, v->role <= PART_TEMP ? role_text[v->role] : "?",
		    (unsigned long long)v->bytes);
	if (v->prev != PART_NONE)
		textbuf_put(t, " prev %u", v->prev);
	textbuf_put(t, "%s%s\n", v->take ? " take" : "", v->undefined ? " undefined" : "");
}

static void put_ref(struct textbuf *t, const struct part *p, const struct part_ref *r)
{
	struct view v;

	if (r->value & PART_IMM) {
		textbuf_put(t, " i%u:%s%s", r->value & ~PART_IMM, name(r->dtype),
			    r->weak ? "~" : "");
		return;
	}
	part_view(&v, p, r);
	textbuf_put(t, " v%u:%s+%lld[", r->value, name(r->dtype), (long long)v.offset);
	for (unsigned k = 0; k < r->ndim; k++)
		textbuf_put(t, "%s%lld:%lld", k ? "," : "", (long long)v.shape.dim[k],
			    (long long)v.stride[k]);
	textbuf_put(t, "]");
	if (v.move)
		textbuf_put(t, " move %lld", (long long)v.move);
}

static void put_op(struct textbuf *t, const struct part *p, const struct part_op *o)
{
	static const unsigned with_axes = 1u << KIND_RED | 1u << KIND_ARGRED | 1u << KIND_SCAN |
					  1u << KIND_SORT | 1u << KIND_JOIN | 1u << KIND_FOURIER |
					  1u << KIND_LANE | 1u << KIND_SOLVER | 1u << KIND_GRID;
	const struct op_row *row = op_row(o->op);

	textbuf_put(t, "op %s", row ? row->id : "?");
	if (row && (row->rule == RULE_HEAD || (row->rule == RULE_SUM && dtype_row(o->dtype))))
		textbuf_put(t, " as %s", name(o->dtype));
	if (o->op == OP_MATMUL && o->dtype == PRECISION_TF32)
		textbuf_put(t, " in TF32");
	if (o->op == OP_INDEX)
		textbuf_put(t, " axis %u", o->dtype);
	if (o->op == OP_GRID)
		textbuf_put(t, " hint %u", o->dtype);
	if (row && 1u << row->kind & with_axes)
		textbuf_put(t, " axes %u", o->axes);
	for (unsigned k = 0; k < o->nin; k++)
		put_ref(t, p, &part_in(p, o)[k]);
	textbuf_put(t, " ->");
	put_ref(t, p, &o->out);
	textbuf_put(t, "\n");
}

/* See part.h. */
size_t part_print(char *buf, size_t cap, const struct part *p)
{
	struct textbuf t = {buf, cap, 0};

	if (cap)
		buf[0] = 0;
	if (p->unfused)
		textbuf_put(&t, "unfused\n");
	if (p->anywhere)
		textbuf_put(&t, "anywhere\n");
	for (uint32_t k = 0; k < p->nvalue; k++)
		put_value(&t, p, k);
	for (uint32_t k = 0; k < p->nimm; k++)
		textbuf_put(&t, "imm %u %llx %llx\n", k, (unsigned long long)p->imm[2 * k],
			    (unsigned long long)p->imm[2 * k + 1]);
	for (uint32_t k = 0; k < p->nop; k++)
		put_op(&t, p, &p->op[k]);
	return t.len;
}
