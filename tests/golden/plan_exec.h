/* SPDX-License-Identifier: Apache-2.0 */
/* golden/plan_exec.h - run partitions and plans of int32 and int64 arrays, for tests.
 *
 * naive_run executes a partition op by op with one buffer for each value: what
 * NumPy would do.  exec_plan executes a plan in two ways that a kernel may choose
 * and that show wrong fusion: EXEC_REVERSE takes the points last first, one after
 * the other; EXEC_WIDE finishes each instruction for all points before the next. */
#ifndef BRAZE_PLAN_EXEC_H
#define BRAZE_PLAN_EXEC_H

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "form/plan.h"
#include "call/product.h"

static inline int64_t exec_wrap(unsigned dtype, int64_t v)
{
	switch (dtype) {
	case DT_BOOL:
		return v != 0;
	case DT_INT8:
		return (int8_t)v;
	case DT_UINT8: /* copies of whole buffers */
		return (uint8_t)v;
	case DT_INT32:
		return (int32_t)v;
	case DT_INT64:
	case DT_UINT64: /* states of random numbers */
		return v;
	default:
		abort();
	}
}

static inline int64_t exec_get(const char *p, unsigned dtype)
{
	int64_t v = 0;

	memcpy(&v, p, dtype_row(dtype)->bytes);
	return exec_wrap(dtype, v);
}

static inline void exec_put(char *p, unsigned dtype, int64_t v)
{
	memcpy(p, &v, dtype_row(dtype)->bytes);
}

/* Of truth values, which are 0 and 1. */
static inline int64_t exec_logic(unsigned op, int64_t a, int64_t b)
{
	switch (op) {
	case OP_ANY:
	case OP_LOGICAL_OR:
		return a || b;
	case OP_ALL:
	case OP_LOGICAL_AND:
		return a && b;
	default:
		abort();
	}
}

static inline int64_t exec_op(unsigned op, unsigned dtype, int64_t a, int64_t b, int64_t c)
{
	uint64_t x = (uint64_t)a, y = (uint64_t)b;

	switch (op) {
	case OP_ADD:
	case OP_SUM:
		return exec_wrap(dtype, (int64_t)(x + y));
	case OP_SUBTRACT:
		return exec_wrap(dtype, (int64_t)(x - y));
	case OP_MULTIPLY:
	case OP_PROD:
		return exec_wrap(dtype, (int64_t)(x * y));
	case OP_SQUARE:
		return exec_wrap(dtype, (int64_t)(x * x));
	case OP_NEGATIVE:
		return exec_wrap(dtype, (int64_t)(0 - x));
	case OP_MINIMUM:
	case OP_MIN:
		return a < b ? a : b;
	case OP_MAXIMUM:
	case OP_MAX:
		return a > b ? a : b;
	case OP_LESS:
		return a < b;
	case OP_WHERE:
		return a ? b : c;
	case OP_CAST:
		return exec_wrap(dtype, a);
	default:
		return exec_logic(op, a, b);
	}
}

static inline char *exec_at(char *base, const struct view *v, const int64_t *index)
{
	base += v->offset;
	for (unsigned k = 0; k < v->shape.ndim; k++)
		base += index[k] * v->stride[k];
	return base;
}

/* Next index in C order; false after the last. */
static inline bool exec_next(int64_t *index, const int64_t *extent, unsigned n)
{
	while (n-- > 0) {
		if (++index[n] < extent[n])
			return true;
		index[n] = 0;
	}
	return false;
}

static inline int64_t exec_points(const int64_t *extent, unsigned n)
{
	int64_t p = 1;

	for (unsigned k = 0; k < n; k++)
		p *= extent[k];
	return p;
}

/* All elements of an operand over a shape, cast to a type. */
static inline int64_t *naive_operand(const struct part *p, char **value, const struct part_ref *r,
				     const struct shape *s, unsigned to)
{
	int64_t n = exec_points(s->dim, s->ndim), at = 0, index[LIMIT_NDIM] = {0};
	int64_t *out = xcalloc((size_t)n + 1, sizeof *out);
	struct view v, wide = {0};
	struct err err;

	if (!(r->value & PART_IMM)) {
		part_view(&v, p, r);
		if (view_broadcast(&wide, &v, s, &err))
			abort();
	}
	if (!n)
		return out;
	do {
		int64_t x = r->value & PART_IMM
				    ? (int64_t)p->imm[2 * (r->value & ~PART_IMM)]
				    : exec_get(exec_at(value[r->value], &wide, index), r->dtype);

		out[at++] = exec_wrap(to, x);
	} while (exec_next(index, s->dim, s->ndim));
	return out;
}

static inline void naive_store(char *buf, const struct view *v, const int64_t *x)
{
	int64_t index[LIMIT_NDIM] = {0}, at = 0;

	if (!exec_points(v->shape.dim, v->shape.ndim))
		return;
	do
		exec_put(exec_at(buf, v, index), v->dtype, exec_wrap(v->dtype, x[at++]));
	while (exec_next(index, v->shape.dim, v->shape.ndim));
}

static inline void naive_reduce(const struct part *p, char **value, const struct part_op *o,
				const struct op_sig *sig, const struct view *out)
{
	struct view in, spread;
	int64_t index[LIMIT_NDIM] = {0}, at = 0;
	int64_t *x;
	char *seen = xcalloc(p->value[o->out.value].bytes + 1, 1);
	unsigned from = 0;

	part_view(&in, p, &o->in[0]);
	spread = *out;
	spread.shape = in.shape;
	for (unsigned k = 0; k < in.shape.ndim; k++)
		spread.stride[k] = o->axes >> k & 1 ? 0 : out->stride[from++];
	x = naive_operand(p, value, &o->in[0], &in.shape, sig->in[0]);
	for (bool more = exec_points(in.shape.dim, in.shape.ndim); more;
	     more = exec_next(index, in.shape.dim, in.shape.ndim)) {
		char *to = exec_at(value[o->out.value], &spread, index);
		char *mark = seen + (to - value[o->out.value]);
		int64_t v = x[at++];

		if (*mark)
			v = exec_op(o->op, sig->out, exec_get(to, sig->out), v, 0);
		*mark = 1;
		exec_put(to, sig->out, v);
	}
	free(seen);
	free(x);
}

static inline void naive_matmul(const struct part *p, char **value, const struct part_op *o,
				const struct op_sig *sig, const struct view *out)
{
	struct view a, b;
	int64_t *x, *y, *z, m, n, k;

	part_view(&a, p, &o->in[0]);
	part_view(&b, p, &o->in[1]);
	m = a.shape.dim[0];
	k = a.shape.dim[1];
	n = b.shape.dim[1];
	x = naive_operand(p, value, &o->in[0], &a.shape, sig->in[0]);
	y = naive_operand(p, value, &o->in[1], &b.shape, sig->in[1]);
	z = xcalloc((size_t)(m * n), sizeof *z);
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++)
			for (int64_t l = 0; l < k; l++)
				z[i * n + j] = exec_op(OP_ADD, sig->out, z[i * n + j],
						       exec_op(OP_MULTIPLY, sig->out, x[i * k + l],
							       y[l * n + j], 0),
						       0);
	naive_store(value[o->out.value], out, z);
	free(x);
	free(y);
	free(z);
}

static inline void naive_map(const struct part *p, char **value, const struct part_op *o,
			     const struct op_sig *sig, const struct view *out)
{
	int64_t n = exec_points(out->shape.dim, out->shape.ndim);
	int64_t *x[3] = {NULL}, *z = xcalloc((size_t)n + 1, sizeof *z);

	for (unsigned k = 0; k < o->nin; k++)
		x[k] = naive_operand(p, value, &o->in[k], &out->shape,
				     o->op == OP_ASSIGN ? out->dtype : sig->in[k]);
	for (int64_t i = 0; i < n; i++) {
		if (o->op == OP_ASSIGN || o->op == OP_FULL)
			z[i] = x[0][i];
		else if (o->op == OP_ARANGE)
			z[i] = (int64_t)((uint64_t)x[0][i] + (uint64_t)i * (uint64_t)x[1][i]);
		else
			z[i] = exec_op(o->op, sig->out, x[0][i], x[1] ? x[1][i] : 0,
				       x[2] ? x[2][i] : 0);
	}
	naive_store(value[o->out.value], out, z);
	for (unsigned k = 0; k < 3; k++)
		free(x[k]);
	free(z);
}

/* Each operand cast to its part of the result. */
static inline void naive_join(const struct part *p, char **value, const struct part_op *o,
			      const struct view *out)
{
	const struct part_ref *in = part_in(p, o);
	unsigned axis = (unsigned)__builtin_ctz(o->axes);
	struct view slice = *out;

	for (unsigned k = 0; k < o->nin; k++) {
		int64_t *x;
		struct view v;

		part_view(&v, p, &in[k]);
		slice.shape = v.shape;
		x = naive_operand(p, value, &in[k], &v.shape, out->dtype);
		naive_store(value[o->out.value], &slice, x);
		slice.offset += v.shape.dim[axis] * out->stride[axis];
		free(x);
	}
}

/* value[v]: a buffer for every value; inputs are filled, the rest is zero. */
static inline void naive_run(const struct part *p, char **value)
{
	for (uint32_t k = 0; k < p->nop; k++) {
		const struct part_op *o = &p->op[k];
		const struct part_value *v = &p->value[o->out.value];
		struct op_arg arg[OP_OPERANDS] = {{0}};
		struct op_sig sig = {{0}, 0};
		struct view out;
		struct err err;

		for (unsigned i = 0; i < o->nin && o->nin <= OP_OPERANDS; i++)
			arg[i] = (struct op_arg){o->in[i].dtype, o->in[i].weak};
		if (o->op != OP_ASSIGN && op_infer(&sig, (enum op)o->op, arg, o->dtype, &err))
			abort();
		part_view(&out, p, &o->out);
		if (v->prev != PART_NONE)
			memcpy(value[o->out.value], value[v->prev], v->bytes);
		if (o->op == OP_EMPTY)
			continue;
		if (op_row(o->op)->kind == KIND_RED)
			naive_reduce(p, value, o, &sig, &out);
		else if (op_row(o->op)->kind == KIND_JOIN)
			naive_join(p, value, o, &out);
		else if (o->op == OP_MATMUL)
			naive_matmul(p, value, o, &sig, &out);
		else
			naive_map(p, value, o, &sig, &out);
	}
}

enum exec_mode { EXEC_REVERSE, EXEC_WIDE };

struct exec {
	const struct nest *n;
	const uint64_t *imm;
	char **slot;
	int64_t *val; /* [instr * points + point] */
	int64_t points, red;
	bool nothing; /* the reductions have no points: red is 1 for what follows them */
	int64_t extent[LIMIT_NDIM];
};

static inline char *exec_place(const struct exec *e, unsigned access, int64_t point)
{
	const struct nest_access *a = &e->n->access[access];
	char *p = e->slot[a->slot] + a->offset;

	for (unsigned l = e->n->npar + e->n->nred; l-- > 0;) {
		p += point % e->extent[l] * a->stride[l];
		point /= e->extent[l];
	}
	return p;
}

/* Where a gather reads at a place, which it limits to its extent. */
static inline char *exec_gather(const struct exec *e, unsigned access, int64_t point, int64_t at)
{
	const struct nest_access *a = &e->n->access[access];

	at = at < 0 ? 0 : at < a->gextent ? at : a->gextent - 1;
	return exec_place(e, access, point) + at * a->gstride;
}

static inline int64_t exec_index(const struct exec *e, unsigned loop, int64_t point)
{
	for (unsigned l = e->n->npar + e->n->nred; --l > loop;)
		point /= e->extent[l];
	return point % e->extent[loop];
}

/* What instruction v has for a point: what was computed once for all of its reduced points
 * lies at the first of them. */
static inline int64_t exec_value(const struct exec *e, unsigned v, int64_t point)
{
	bool once = e->n->instr[v].op == NI_REDUCE || !nest_everywhere(nest_section(e->n, v));

	return e->val[v * e->points + (once ? point - point % e->red : point)];
}

static inline void exec_instr(const struct exec *e, unsigned k, int64_t point)
{
	const struct nest_instr *i = &e->n->instr[k];
	int64_t *v = &e->val[k * e->points + point];

	if (e->nothing && k < e->n->post && (i->op == NI_REDUCE || nest_touches(i->op))) {
		*v = i->op == NI_REDUCE && (i->c == OP_PROD || i->c == OP_ALL);
		return;
	}
	switch (i->op) {
	case NI_LOAD:
		*v = exec_get(exec_place(e, i->a, point), i->dtype);
		break;
	case NI_GATHER:
		*v = exec_get(exec_gather(e, i->a, point, exec_value(e, i->b, point)), i->dtype);
		break;
	case NI_STORE:
		exec_put(exec_place(e, i->a, point), i->dtype, exec_value(e, i->b, point));
		break;
	case NI_SCALAR:
		*v = exec_wrap(i->dtype, (int64_t)e->imm[2 * e->n->scalar[i->a]]);
		break;
	case NI_INDEX:
		*v = exec_index(e, i->a, point);
		break;
	case NI_REDUCE:
		/* Kept as it is; combined at the first post point. */
		*v = exec_value(e, i->a, point);
		break;
	default:
		*v = exec_op(i->op, i->dtype, exec_value(e, i->a, point),
			     exec_value(e, i->b, point), exec_value(e, i->c, point));
	}
}

/* Combine the reductions of a section of one parallel point into its first point. */
static inline void exec_combine(const struct exec *e, unsigned section, int64_t first)
{
	for (unsigned k = nest_begin(e->n, section); k < nest_end(e->n, section); k++) {
		const struct nest_instr *i = &e->n->instr[k];
		int64_t *v = &e->val[k * e->points + first];

		for (int64_t r = 1; i->op == NI_REDUCE && r < e->red; r++)
			v[0] = exec_op(i->c, i->dtype, v[0], v[r], 0);
	}
}

static inline void exec_wide(const struct exec *e)
{
	for (unsigned s = 0; s < nest_sections(e->n); s++) {
		int64_t step = nest_everywhere(s) ? 1 : e->red;

		for (unsigned k = nest_begin(e->n, s); k < nest_end(e->n, s); k++)
			for (int64_t p = 0; p < e->points; p += step)
				exec_instr(e, k, p);
		for (int64_t p = 0; p < e->points; p += e->red)
			exec_combine(e, s, p);
	}
}

static inline void exec_reverse(const struct exec *e)
{
	for (int64_t p = e->points - e->red; p >= 0; p -= e->red)
		for (unsigned s = 0; s < nest_sections(e->n); s++) {
			for (int64_t r = nest_everywhere(s) ? e->red : 1; r-- > 0;)
				for (unsigned k = nest_begin(e->n, s); k < nest_end(e->n, s); k++)
					exec_instr(e, k, p + r);
			exec_combine(e, s, p);
		}
}

static inline int64_t exec_integer(const char *at, unsigned dtype)
{
	int64_t wide = 0;
	int32_t narrow = 0;

	if (dtype != DT_INT64 && dtype != DT_INT32)
		abort();
	if (dtype == DT_INT64)
		memcpy(&wide, at, sizeof wide);
	else
		memcpy(&narrow, at, sizeof narrow);
	return dtype == DT_INT64 ? wide : narrow;
}

/* A library step: a product of two matrices of integers. */
static inline void exec_product(const struct plan_call *call, char **slot)
{
	struct product of, *p = &of;
	char *at[3];
	const char *a, *b;
	char *c;

	if (call->call != CALL_PRODUCT || call->nloop != 3)
		abort();
	product_of(p, call);
	for (int x = 0; x < 3; x++)
		at[x] = slot[call->operand[x].slot] + call->operand[x].offset;
	a = at[0];
	b = at[1];
	c = at[2];
	for (int64_t i = 0; i < p->m; i++)
		for (int64_t j = 0; j < p->n; j++) {
			uint64_t sum = 0;
			for (int64_t k = 0; k < p->k; k++)
				sum += (uint64_t)exec_integer(a + i * p->row[0] + k * p->col[0],
							      p->dtype) *
				       (uint64_t)exec_integer(b + k * p->row[1] + j * p->col[1],
							      p->dtype);
			/* The lowest bytes of the sum, which wraps. */
			memcpy(c + i * p->row[2] + j * p->col[2], &sum, dtype_row(p->dtype)->bytes);
		}
}

/* Parts of rows side by side, byte by byte. */
static inline void exec_join(const struct plan_call *c, char **slot)
{
	int64_t points = exec_points(c->extent, c->nloop);

	for (unsigned x = 1; x < c->noperand; x++)
		for (int64_t p = 0; p < points; p++) {
			const struct call_operand *o = &c->operand[x], *r = &c->operand[0];
			char *to = slot[r->slot] + r->offset + o->at;
			const char *from = slot[o->slot] + o->offset;
			int64_t left = p;

			for (unsigned l = c->nloop; l-- > 0; left /= c->extent[l]) {
				to += left % c->extent[l] * r->stride[l];
				from += left % c->extent[l] * o->stride[l];
			}
			memcpy(to, from, (size_t)o->run * dtype_row(c->dtype)->bytes);
		}
}

/* Run a plan, whose library steps are of integers, over slots of its sizes. */
static inline void exec_plan(const struct plan *plan, const struct part *part, char **slot,
			     enum exec_mode mode)
{
	for (uint32_t s = 0; s < plan->nstep; s++) {
		const struct nest *n = plan->step[s].nest;

		if (plan->step[s].kind == STEP_CALL && plan->step[s].call->call == CALL_JOIN) {
			exec_join(plan->step[s].call, slot);
			continue;
		}
		if (plan->step[s].kind == STEP_CALL) {
			exec_product(plan->step[s].call, slot);
			continue;
		}
		struct exec e = {.n = n, .imm = part->imm, .slot = slot, .red = nest_reduced(n)};

		if (!nest_parallel(n))
			abort();
		e.nothing = !e.red;
		e.red += e.nothing;
		e.points = nest_parallel(n) * e.red;
		nest_touched(e.extent, n);
		e.val = xcalloc((size_t)e.points * n->ninstr, sizeof *e.val);
		if (mode == EXEC_WIDE)
			exec_wide(&e);
		else
			exec_reverse(&e);
		free(e.val);
	}
}

#endif
