/* SPDX-License-Identifier: Apache-2.0 */
#include "../golden/part_text.h"
#include "../golden/plan_exec.h"
#include "nest/compilepart.h"
#include "draw.h"

#include <criterion/criterion.h>
#include <time.h>

#define BUFFER 192 /* bytes of every input */

struct make {
	struct part p;
	uint8_t dtype[64]; /* of each value's elements, as made */
	bool old[64];	   /* a newer version of the buffer exists */
	bool used[64];	   /* read or replaced by an op */
	/* Of what was reduced last, and of maps that followed on it. */
	uint32_t reduced, source; /* the result, a value of the shape that was reduced */
	struct shape from;
	uint32_t axes; /* 0: nothing was */
};

static const struct shape shapes[] = {
	{1, {24}}, {2, {4, 6}}, {2, {6, 4}}, {3, {2, 3, 4}}, {1, {6}},	  {1, {4}},  {2, {3, 4}},
	{1, {5}},  {2, {2, 6}}, {2, {4, 1}}, {0, {0}},	     {2, {4, 4}}, {1, {12}}, {1, {1}}};

static struct shape any_shape(void)
{
	if (draw(0, 1))
		return shapes[1];
	return shapes[draw(0, (int64_t)(sizeof shapes / sizeof shapes[0]) - 1)];
}

static uint32_t add_value(struct make *m, uint64_t bytes, unsigned dtype, unsigned role)
{
	struct part *p = &m->p;
	struct part_value v = {.bytes = bytes, .prev = PART_NONE, .role = (uint8_t)role};

	p->value = xrealloc(p->value, p->nvalue + 1, sizeof v);
	p->value[p->nvalue] = v;
	m->dtype[p->nvalue] = (uint8_t)dtype;
	return p->nvalue++;
}

static void add_ref(struct make *m, struct part_ref *r, uint32_t value, const struct view *v)
{
	struct part *p = &m->p;

	memset(r, 0, sizeof *r);
	r->value = value;
	r->dtype = v->dtype;
	r->ndim = v->shape.ndim;
	r->dims = p->ndim;
	p->dim = xrealloc(p->dim, p->ndim + 1u + 2u * r->ndim, sizeof *p->dim);
	p->dim[p->ndim++] = v->offset;
	for (unsigned k = 0; k < r->ndim; k++)
		p->dim[p->ndim++] = v->shape.dim[k];
	for (unsigned k = 0; k < r->ndim; k++)
		p->dim[p->ndim++] = v->stride[k];
}

/* A random view of this shape that stays inside the value; false if none was hit. */
static bool any_view(struct make *m, struct view *v, uint32_t value, const struct shape *s,
		     bool distinct)
{
	struct err err;

	if (draw(0, 1)) {
		view_init(v, (enum dtype)m->dtype[value], s);
		if (!view_check(v, m->p.value[value].bytes, &err))
			return true;
	}
	for (int attempt = 0; attempt < 30; attempt++) {
		unsigned d = draw(0, 9) ? m->dtype[value] : (unsigned)DT_INT32;
		int64_t item = dtype_row(d)->bytes, step = item * (draw(0, 3) ? 1 : draw(1, 2));
		unsigned perm = (unsigned)draw(0, 3);

		view_init(v, (enum dtype)d, s);
		for (unsigned k = s->ndim; k-- > 0;) {
			unsigned axis = perm ? k : s->ndim - 1 - k;

			v->stride[axis] = step;
			step *= s->dim[axis];
			if (!draw(0, 5)) {
				v->offset += v->stride[axis] * (s->dim[axis] - 1);
				v->stride[axis] = -v->stride[axis];
			}
			if (!distinct && !draw(0, 9))
				v->stride[axis] = 0;
		}
		if (draw(0, 1))
			v->offset += item * draw(0, 6);
		if (!view_check(v, m->p.value[value].bytes, &err))
			return true;
	}
	return false;
}

static void imm_operand(struct make *m, struct part_ref *r)
{
	struct part *p = &m->p;

	memset(r, 0, sizeof *r);
	p->imm = xrealloc(p->imm, 2 * (p->nimm + 1), sizeof *p->imm);
	p->imm[2 * p->nimm] = (uint64_t)draw(-9, 9);
	p->imm[2 * p->nimm + 1] = 0;
	r->value = PART_IMM | p->nimm++;
	r->dtype = DT_INT64;
	r->weak = 1;
}

static uint32_t any_value(struct make *m)
{
	uint32_t v;

	/* Mostly recent ones, so that there is something to fuse. */
	do
		v = (uint32_t)draw(draw(0, 1) && m->p.nvalue > 4 ? m->p.nvalue - 4 : 0,
				   m->p.nvalue - 1);
	while (m->old[v] && draw(0, 9));
	return v;
}

/* An operand that broadcasts to *s: a view of it, of its last axes, or a number. */
static void any_operand(struct make *m, struct part_ref *r, const struct shape *s)
{
	struct shape part = *s;
	uint32_t value = any_value(m);
	struct view v;

	if (s->ndim && !draw(0, 4)) {
		part.ndim = (uint8_t)draw(0, s->ndim - 1);
		memcpy(part.dim, s->dim + s->ndim - part.ndim, part.ndim * sizeof part.dim[0]);
	}
	if (!draw(0, 7) || !any_view(m, &v, value, &part, false)) {
		imm_operand(m, r);
		return;
	}
	m->used[value] = true;
	add_ref(m, r, value, &v);
}

static void fresh_result(struct make *m, struct part_op *o, const struct shape *s, unsigned dtype)
{
	struct view v;

	view_init(&v, (enum dtype)dtype, s);
	add_ref(m, &o->out,
		add_value(m, (uint64_t)(exec_points(s->dim, s->ndim) * dtype_row(dtype)->bytes),
			  dtype, PART_TEMP),
		&v);
}

static bool make_map(struct make *m, struct part_op *o)
{
	static const uint16_t ops[] = {OP_ADD,	   OP_SUBTRACT, OP_MULTIPLY, OP_MINIMUM,
				       OP_MAXIMUM, OP_NEGATIVE, OP_SQUARE,   OP_ADD};
	struct shape s = any_shape();
	struct op_arg arg[3] = {{0}};
	struct op_sig sig;
	struct err err;

	o->op = ops[draw(0, 7)];
	o->nin = op_row(o->op)->arity;
	for (unsigned k = 0; k < o->nin; k++) {
		any_operand(m, &o->in[k], &s);
		arg[k] = (struct op_arg){o->in[k].dtype, o->in[k].weak};
	}
	cr_assert_eq(op_infer(&sig, (enum op)o->op, arg, DTYPE_END, &err), OK);
	fresh_result(m, o, &s, sig.out);
	return true;
}

static bool make_reduction(struct make *m, struct part_op *o)
{
	struct shape s = any_shape(), to;
	uint32_t value = any_value(m);
	struct view v;
	struct err err;
	bool nothing = s.ndim && !draw(0, 7);

	/* What follows a sum over nothing runs at every point of the others all the same. */
	if (nothing)
		s.dim[0] = 0;
	if (!s.ndim || !any_view(m, &v, value, &s, false))
		return false;
	m->used[value] = true;
	o->op = nothing || draw(0, 1) ? OP_SUM : OP_MAX;
	o->nin = 1;
	o->axes = (uint32_t)draw(1, (1 << s.ndim) - 1);
	add_ref(m, &o->in[0], value, &v);
	cr_assert_eq(shape_reduce(&to, &s, o->axes, false, &err), OK);
	fresh_result(m, o, &to, o->op == OP_SUM ? (unsigned)DT_INT64 : v.dtype);
	m->reduced = m->p.nvalue - 1;
	m->source = value;
	m->from = s;
	m->axes = v.dtype == m->dtype[value] ? o->axes : 0;
	return true;
}

/* The result of a reduction at every point that was reduced, as NumPy's keepdims has it. */
static void spread_view(const struct make *m, struct view *v)
{
	int64_t step = dtype_row(m->dtype[m->reduced])->bytes;

	view_init(v, (enum dtype)m->dtype[m->reduced], &m->from);
	for (unsigned k = m->from.ndim; k-- > 0;) {
		v->stride[k] = m->axes >> k & 1 ? 0 : step;
		step *= m->axes >> k & 1 ? 1 : m->from.dim[k];
	}
}

/* A map of the shape that was reduced, of its source or of the map before, and of the
 * result; or the next reduction over the same axes. */
static bool make_phase(struct make *m, struct part_op *o)
{
	static const uint16_t ops[] = {OP_ADD, OP_SUBTRACT, OP_MULTIPLY, OP_MAXIMUM};
	struct view whole, spread;
	struct op_arg arg[2];
	struct op_sig sig;
	struct shape to;
	struct err err;

	view_init(&whole, (enum dtype)m->dtype[m->source], &m->from);
	if (!m->axes || m->old[m->source] || m->old[m->reduced] ||
	    view_check(&whole, m->p.value[m->source].bytes, &err))
		return false;
	m->used[m->source] = true;
	add_ref(m, &o->in[0], m->source, &whole);
	o->nin = 1;
	if (m->source + 1 == m->p.nvalue && draw(0, 1)) {
		o->op = draw(0, 1) ? OP_SUM : OP_MAX;
		o->axes = m->axes;
		cr_assert_eq(shape_reduce(&to, &m->from, o->axes, false, &err), OK);
		fresh_result(m, o, &to, o->op == OP_SUM ? (unsigned)DT_INT64 : whole.dtype);
		m->reduced = m->p.nvalue - 1;
		return true;
	}
	spread_view(m, &spread);
	m->used[m->reduced] = true;
	add_ref(m, &o->in[1], m->reduced, &spread);
	o->op = ops[draw(0, 3)];
	o->nin = 2;
	arg[0] = (struct op_arg){whole.dtype, false};
	arg[1] = (struct op_arg){spread.dtype, false};
	cr_assert_eq(op_infer(&sig, (enum op)o->op, arg, DTYPE_END, &err), OK);
	fresh_result(m, o, &m->from, sig.out);
	m->source = m->p.nvalue - 1;
	return true;
}

static bool make_assign(struct make *m, struct part_op *o)
{
	struct shape s = any_shape();
	uint32_t value = any_value(m), next;
	struct view v;

	if (m->old[value] || !any_view(m, &v, value, &s, true))
		return false;
	o->op = OP_ASSIGN;
	o->nin = 1;
	any_operand(m, &o->in[0], &s);
	next = add_value(m, m->p.value[value].bytes, m->dtype[value], PART_TEMP);
	m->p.value[next].prev = value;
	m->p.value[next].take = draw(0, 3) != 0;
	m->old[value] = m->used[value] = true;
	add_ref(m, &o->out, next, &v);
	return true;
}

static bool make_creation(struct make *m, struct part_op *o)
{
	struct shape s = any_shape();

	o->dtype = draw(0, 1) ? DT_INT64 : DT_INT32;
	o->op = draw(0, 1) ? OP_FULL : OP_ARANGE;
	o->nin = op_row(o->op)->arity;
	if (o->op == OP_ARANGE)
		s = (struct shape){1, {draw(1, 24)}};
	for (unsigned k = 0; k < o->nin; k++)
		imm_operand(m, &o->in[k]);
	fresh_result(m, o, &s, o->dtype);
	return true;
}

static bool make_product(struct make *m, struct part_op *o)
{
	struct shape a = {2, {draw(1, 3), draw(1, 4)}}, b = {2, {a.dim[1], draw(1, 3)}};
	struct shape s = {2, {a.dim[0], b.dim[1]}};
	uint32_t x = any_value(m), y = any_value(m);
	struct view u, v;

	if (!any_view(m, &u, x, &a, false) || !any_view(m, &v, y, &b, false))
		return false;
	m->used[x] = m->used[y] = true;
	o->op = OP_MATMUL;
	o->nin = 2;
	add_ref(m, &o->in[0], x, &u);
	add_ref(m, &o->in[1], y, &v);
	fresh_result(m, o, &s, u.dtype == DT_INT64 || v.dtype == DT_INT64 ? DT_INT64 : DT_INT32);
	return true;
}

static void make_op(struct make *m)
{
	struct part_op o = {.dtype = DTYPE_END};
	int64_t kind = draw(0, 15);
	bool made;

	if (m->axes && draw(0, 1))
		kind = 16;

	if (kind < 8)
		made = make_map(m, &o);
	else if (kind < 11)
		made = make_reduction(m, &o);
	else if (kind < 14)
		made = make_assign(m, &o);
	else if (kind < 15)
		made = make_creation(m, &o);
	else if (kind < 16)
		made = make_product(m, &o);
	else
		made = make_phase(m, &o);
	if (!made)
		return;
	m->p.op = xrealloc(m->p.op, m->p.nop + 1, sizeof o);
	m->p.op[m->p.nop++] = o;
}

static void make_part(struct make *m, int nop)
{
	memset(m, 0, sizeof *m);
	for (int k = 0; k < 3; k++)
		add_value(m, BUFFER, k == 1 ? DT_INT32 : DT_INT64, PART_INPUT);
	for (int k = 0; k < nop; k++)
		make_op(m);
	for (uint32_t v = 3; v < m->p.nvalue; v++)
		if (!m->used[v] || !draw(0, 5))
			m->p.value[v].role = PART_OUTPUT;
}

static char **naive_values(const struct part *p)
{
	char **value = xcalloc(p->nvalue, sizeof *value);

	for (uint32_t v = 0; v < p->nvalue; v++) {
		value[v] = xcalloc(p->value[v].bytes + 16, 1);
		for (uint64_t b = 0; b < p->value[v].bytes && p->value[v].role == PART_INPUT; b++)
			value[v][b] = b % 4 < 1 ? (char)(b * 7 + v * 31) : 0;
	}
	return value;
}

static void free_all(char **a, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++)
		free(a[k]);
	free(a);
}

static char *text_of_part(const struct part *p)
{
	size_t n = part_print(NULL, 0, p);
	char *text = xmalloc(n + 1);

	part_print(text, n + 1, p);
	return text;
}

static char *text_of_plan(const struct plan *p)
{
	size_t n = plan_print(NULL, 0, p);
	char *text = xmalloc(n + 1);

	plan_print(text, n + 1, p);
	return text;
}

static bool is_taken(const struct part *p, uint32_t value)
{
	for (uint32_t v = 0; v < p->nvalue; v++)
		if (p->value[v].prev == value && p->value[v].take)
			return true;
	return false;
}

static unsigned phases; /* that were executed */

static void ignore(void *data, const char *pass, const char *text)
{
	(void)data;
	(void)pass;
	(void)text;
}

/* Plan, execute, compare every output and every input that nobody may overwrite. */
static uint32_t check_plan(const struct part *p, char **inputs, char **want, const char *passes,
			   enum exec_mode mode)
{
	struct plan *plan = NULL;
	struct err err = {0};
	char **slot;
	char *part_text = text_of_part(p), *plan_text;
	uint32_t nstep;

	cr_assert_eq(compilepart_run(&plan, p, passes, ignore, NULL, &err), OK, "%s\n%s", err.text,
		     part_text);
	plan_text = text_of_plan(plan);
	slot = xcalloc(plan->nslot, sizeof *slot);
	for (uint32_t s = 0; s < plan->nslot; s++) {
		slot[s] = xmalloc(plan->slot[s].bytes + 16);
		memset(slot[s], 0x5a, plan->slot[s].bytes);
		if (plan->slot[s].input != PART_NONE)
			memcpy(slot[s], inputs[plan->slot[s].input], plan->slot[s].bytes);
	}
	for (uint32_t k = 0; k < plan->nstep; k++)
		phases += plan->step[k].nest ? plan->step[k].nest->nmore : 0;
	exec_plan(plan, p, slot, mode);
	for (uint32_t v = 0; v < p->nvalue; v++) {
		uint32_t s = plan->value_slot[v];

		if (p->value[v].role == PART_OUTPUT ||
		    (p->value[v].role == PART_INPUT && s != PART_NONE && !is_taken(p, v)))
			cr_assert(!memcmp(slot[s], want[v], p->value[v].bytes),
				  "value %u differs (mode %d)\n%s\n%s", v, mode, part_text,
				  plan_text);
	}
	nstep = plan->nstep;
	free_all(slot, plan->nslot);
	free(part_text);
	free(plan_text);
	plan_free(plan);
	return nstep;
}

static void differential(uint64_t start, int rounds, int max_ops)
{
	uint32_t fused = 0, unfused = 0;

	seed = start;
	for (int round = 0; round < rounds; round++) {
		struct make m;
		char **want, **inputs;

		make_part(&m, (int)draw(1, max_ops));
		want = naive_values(&m.p);
		inputs = naive_values(&m.p);
		naive_run(&m.p, want);
		for (int mode = 0; mode < 2; mode++) {
			fused += check_plan(&m.p, inputs, want, NULL, (enum exec_mode)mode);
			check_plan(&m.p, inputs, want, "fuse", (enum exec_mode)mode);
			m.p.unfused = 1;
			unfused += check_plan(&m.p, inputs, want, NULL, (enum exec_mode)mode);
			m.p.unfused = 0;
		}
		free_all(want, m.p.nvalue);
		free_all(inputs, m.p.nvalue);
		part_text_free(&m.p);
	}
	cr_log_info("%u steps fused, %u unfused", fused, unfused);
	cr_assert_lt(fused * 10, unfused * 9);
	cr_assert_gt(phases, (unsigned)rounds / 4);
}

Test(fuse, fused_equals_unfused_equals_naive_on_random_programs)
{
	differential(0x9e3779b97f4a7c15u, 1500, 12);
}

Test(fuse, long_random_programs_too)
{
	differential(0xdeadbeef12345u, 60, 50);
}

static struct plan *planned(const char *text, struct part *p)
{
	struct plan *plan = NULL;
	struct err err = {0};

	*p = part_text_read(text);
	cr_assert_eq(compilepart_run(&plan, p, NULL, NULL, NULL, &err), OK, "%s", err.text);
	return plan;
}

static unsigned gathers_of(const struct plan *plan)
{
	unsigned n = 0;

	for (uint32_t k = 0; k < plan->nstep; k++)
		n += nest_gathers(plan->step[k].nest);
	return n;
}

Test(fuse, places_and_what_uses_a_gather_fuse_with_it)
{
	struct part p;
	struct plan *plan =
		planned("value 0 input 800\nvalue 1 input 24\nvalue 2 temp 24\nvalue 3 temp 24\n"
			"value 4 temp 24\nvalue 5 output 8\nimm 0 64 0\n"
			"op ADD v1:int64[3] v1:int64[3] -> v2:int64[3]\n"
			"op INDEX axis 0 v2:int64[3] i0:int64 -> v3:int64[3]\n"
			"op TAKE v0:float64[100] v3:int64[3] -> v4:float64[3]\n"
			"op SUM axes 1 v4:float64[3] -> v5:float64[]\n",
			&p);

	cr_assert_eq(plan->nstep, 1);
	cr_assert_eq(nest_checks(plan->step[0].nest), 1);
	cr_assert_eq(gathers_of(plan), 1);
	plan_free(plan);
	part_text_free(&p);
}

/* What is gathered may come from anywhere, so it must be there as a whole. */
Test(fuse, the_source_of_a_gather_is_made_before_it)
{
	struct part p;
	struct plan *plan =
		planned("value 0 input 24\nvalue 1 input 24\nvalue 2 temp 24\nvalue 3 output 24\n"
			"op SQRT v0:float64[3] -> v2:float64[3]\n"
			"op TAKE v2:float64[3] v1:int64[3] -> v3:float64[3]\n",
			&p);

	cr_assert_eq(plan->nstep, 2);
	cr_assert_eq(plan->nnote, 1);
	cr_assert_eq(plan->note[0].reason, FUSE_DEPENDENCE);
	plan_free(plan);
	part_text_free(&p);
}

/* The sums are over nothing, but each result is stored, and read by another point. */
Test(fuse, a_reader_of_other_results_waits_for_sums_over_nothing)
{
	struct part p;
	struct plan *plan = planned("value 0 input 800\nvalue 1 output 800\nvalue 2 output 800\n"
				    "op SUM axes 1 v0:float64+0[0:800,100:8] -> v1:float64[100]\n"
				    "op ADD v1:float64[100] v1:float64+792[100:-8] -> "
				    "v2:float64[100]\n",
				    &p);

	cr_assert_eq(plan->nstep, 2);
	cr_assert_eq(plan->note[0].reason, FUSE_DEPENDENCE);
	plan_free(plan);
	part_text_free(&p);
}

Test(fuse, a_write_onto_what_is_gathered_comes_after_it)
{
	struct part p;
	struct plan *plan = planned("value 0 input 24\nvalue 1 input 24\nvalue 2 temp 24\n"
				    "value 3 output 24 prev 0 take\n"
				    "op TAKE v0:float64[3] v1:int64[3] -> v2:float64[3]\n"
				    "op ASSIGN v2:float64[3] -> v3:float64[3]\n",
				    &p);

	cr_assert_eq(plan->nstep, 2);
	cr_assert_eq(nest_gathers(plan->step[0].nest), 1);
	cr_assert_eq(nest_gathers(plan->step[1].nest), 0);
	plan_free(plan);
	part_text_free(&p);
}
