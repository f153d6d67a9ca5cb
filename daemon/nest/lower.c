/* SPDX-License-Identifier: Apache-2.0 */
/* nest/lower.c - one nest per op, straight from shapes and strides.
 *
 * In: a checked partition with its slots assigned.  Out: units in program order.
 * Loops are the axes of the result (reductions: kept axes, then reduced axes in
 * C order) without those of extent 1; operands are cast to the loop types that
 * op_infer names.  Immediates become scalar parameters, never constants. */
#include "lower.h"

#include <string.h>

void lower_as_it_lies(struct plan_call *c, unsigned x, struct view *v, const struct prog *p,
		      const struct part_ref *r)
{
	part_view(v, p->part, r);
	c->operand[x].slot = p->value_slot[r->value];
	c->operand[x].dtype = v->dtype;
	c->operand[x].offset = v->offset;
	c->operand[x].move = v->move;
}

/* Loop types of an op on the operands it has in the partition. */
enum status lower_sig(struct op_sig *out, const struct part_op *o, struct err *err)
{
	struct op_arg arg[OP_OPERANDS] = {{0}};

	for (unsigned k = 0; k < o->nin && o->nin <= OP_OPERANDS; k++)
		arg[k] = (struct op_arg){o->in[k].dtype, o->in[k].weak};
	return op_infer(out, (enum op)o->op, arg, o->dtype, err);
}

enum status lower_operand(uint16_t *out, struct build *b, const struct part_ref *r, unsigned to,
			  struct err *err)
{
	struct view v, wide;
	enum status st;
	uint16_t x;

	if (r->value & PART_IMM) {
		x = build_scalar(b, r->value & ~PART_IMM, r->dtype);
	} else {
		part_view(&v, b->prog->part, r);
		st = view_broadcast(&wide, &v, &b->domain, err);
		if (st)
			return st;
		x = build_load(b, b->prog->value_slot[r->value], &wide);
	}
	*out = build_cast(b, x, to);
	return OK;
}

static enum status check_result(const struct part_op *o, unsigned dtype, struct err *err)
{
	if (o->out.dtype == dtype)
		return OK;
	return err_set(err, E_INTERNAL, "%s makes %s, the partition says %s", op_row(o->op)->numpy,
		       dtype_row(dtype)->name, dtype_row(o->out.dtype)->name);
}

/* What a loop makes of which the result is a type's: bfloat16 is rounded from float32. */
static unsigned lower_made(unsigned dtype)
{
	return dtype == DT_BFLOAT16 ? DT_FLOAT32 : dtype;
}

static enum status lower_elementwise(struct prog *p, const struct part_op *o, struct err *err)
{
	uint32_t slot = p->value_slot[o->out.value];
	struct op_sig sig;
	struct build b;
	struct view out;
	uint16_t x[3] = {0};
	enum status st = lower_sig(&sig, o, err);

	if (!st)
		st = check_result(o, sig.out, err);
	if (st)
		return st;
	part_view(&out, p->part, &o->out);
	if (!build_begin(&b, p, &out.shape, 0, false))
		return OK;
	for (unsigned k = 0; k < o->nin && !st; k++)
		st = lower_operand(&x[k], &b, &o->in[k], sig.in[k], err);
	if (st)
		return st;
	if (o->op == OP_CAST)
		x[0] = build_cast(&b, x[0], sig.out);
	else
		x[0] = build_instr(&b, o->op, lower_made(sig.out), sig.in[o->op == OP_WHERE], x[0],
				   x[1], x[2]);
	build_store(&b, slot, &out, build_cast(&b, x[0], sig.out));
	build_end(&b);
	return OK;
}

/* Elements of in[0]'s last axis at the places that in[1] names. */
static enum status lower_take(struct prog *p, const struct part_op *o, struct err *err)
{
	uint32_t slot = p->value_slot[o->out.value];
	struct view out, in, wide;
	struct op_sig sig;
	struct build b;
	unsigned last;
	uint16_t x;
	enum status st = lower_sig(&sig, o, err);

	if (!st)
		st = check_result(o, sig.out, err);
	if (st)
		return st;
	part_view(&out, p->part, &o->out);
	part_view(&in, p->part, &o->in[0]);
	if (!build_begin(&b, p, &out.shape, 0, false))
		return OK;
	last = --in.shape.ndim;
	st = view_broadcast(&wide, &in, &out.shape, err);
	if (!st)
		st = lower_operand(&x, &b, &o->in[1], sig.in[1], err);
	if (st)
		return st;
	x = build_gather(&b, p->value_slot[o->in[0].value], &wide, in.shape.dim[last],
			 in.stride[last], x);
	build_store(&b, slot, &out, x);
	build_end(&b);
	return OK;
}

/* A view of a reduction's result over the operand's axes: stride 0 on those reduced. */
static void spread(struct view *out, const struct view *v, const struct shape *domain,
		   uint32_t axes)
{
	unsigned from = 0;

	*out = *v;
	out->shape = *domain;
	for (unsigned k = 0; k < domain->ndim; k++)
		out->stride[k] = axes >> k & 1 ? 0 : v->stride[from++];
}

unsigned lower_wide(unsigned dtype)
{
	return dtype == DT_FLOAT16 ? DT_FLOAT32 : lower_made(dtype);
}

/* Booleans add by `or` and multiply by `and`: their sum asks whether any is true. */
static uint32_t reducer(const struct part_op *o, unsigned dtype)
{
	if (dtype != DT_BOOL)
		return o->op;
	return o->op == OP_SUM ? OP_ANY : o->op == OP_PROD ? OP_ALL : o->op;
}

static enum status lower_reduction(struct prog *p, const struct part_op *o, struct err *err)
{
	struct op_sig sig;
	struct build b;
	struct view in, out, wide;
	uint16_t x;
	enum status st = lower_sig(&sig, o, err);

	if (!st)
		st = check_result(o, sig.out, err);
	if (st)
		return st;
	part_view(&in, p->part, &o->in[0]);
	part_view(&out, p->part, &o->out);
	if (!build_begin(&b, p, &in.shape, o->axes, true))
		return OK;
	st = lower_operand(&x, &b, &o->in[0], sig.in[0], err);
	if (st)
		return st;
	x = build_cast(&b, x, lower_wide(sig.in[0]));
	x = build_instr(&b, NI_REDUCE, lower_wide(sig.out), lower_wide(sig.in[0]), x, 0,
			reducer(o, sig.in[0]));
	build_post(&b);
	x = build_cast(&b, x, sig.out);
	spread(&wide, &out, &in.shape, o->axes);
	build_store(&b, p->value_slot[o->out.value], &wide, x);
	build_end(&b);
	return OK;
}

/* start + index * step in type d.  For floats NumPy uses the step that rounding to
 * the result's type leaves: (start + step) - start. */
static uint16_t arange_value(struct build *b, uint16_t start, uint16_t step, unsigned d,
			     unsigned result)
{
	uint16_t i;

	if (!b->nest->npar)
		return start;
	if (dtype_row(d)->cls >= CLASS_FLOAT) {
		unsigned s = b->nest->instr[step].dtype;

		step = build_instr(b, OP_ADD, s, s, build_cast(b, start, s), step, 0);
		step = build_cast(b, build_cast(b, step, result), d);
		step = build_instr(b, OP_SUBTRACT, d, d, step, start, 0);
	}
	i = build_cast(b, build_instr(b, NI_INDEX, DT_INT64, DT_INT64, 0, 0, 0), d);
	i = build_instr(b, OP_MULTIPLY, d, d, i, step, 0);
	return build_instr(b, OP_ADD, d, d, start, i, 0);
}

static enum status lower_creation(struct prog *p, const struct part_op *o, struct err *err)
{
	struct build b;
	struct view out;
	uint16_t x, step;
	unsigned d = lower_wide(o->dtype);
	enum status st = check_result(o, o->dtype, err);

	part_view(&out, p->part, &o->out);
	if (st || o->op == OP_EMPTY || !build_begin(&b, p, &out.shape, 0, false))
		return st;
	st = lower_operand(&x, &b, &o->in[0], o->dtype, err);
	if (!st && o->op == OP_ARANGE) {
		st = lower_operand(&step, &b, &o->in[1], d == o->dtype ? d : DT_FLOAT64, err);
		if (!st)
			x = arange_value(&b, build_cast(&b, x, d), step, d, o->dtype);
	}
	if (st)
		return st;
	build_store(&b, p->value_slot[o->out.value], &out, build_cast(&b, x, o->dtype));
	build_end(&b);
	return OK;
}

/* In the widest integers that fit. */
void lower_copy(struct prog *p, uint32_t from, uint32_t to, uint64_t bytes)
{
	enum dtype d = bytes % 8 == 0 ? DT_INT64 : bytes % 4 == 0 ? DT_INT32 : DT_UINT8;
	struct shape s = {1, {(int64_t)(bytes / dtype_row(d)->bytes)}};
	struct build b;
	struct view v;

	view_init(&v, d, &s);
	if (!build_begin(&b, p, &s, 0, false))
		return;
	build_store(&b, to, &v, build_load(&b, from, &v));
	build_end(&b);
}

static struct depend compare(const struct build *build, unsigned i, unsigned j)
{
	const struct nest *n = build->nest;
	const struct nest_access *x = &n->access[i], *y = &n->access[j];
	struct depend_access a = {x->offset, x->stride, dtype_row(x->dtype)->bytes, x->move};
	struct depend_access b = {y->offset, y->stride, dtype_row(y->dtype)->bytes, y->move};

	return prog_depend(build->prog, &a, &b, n->extent, n->npar, n->npar);
}

/* dst = src, in one nest. */
static enum status move(struct build *b, const struct part_op *o, uint32_t slot,
			const struct view *out, struct err *err)
{
	uint16_t x;
	enum status st = lower_operand(&x, b, &o->in[0], o->out.dtype, err);

	if (st)
		return st;
	build_store(b, slot, out, x);
	build_end(b);
	return OK;
}

/* The nest reads its destination at other points than it writes: store into a
 * temporary instead, then copy that (NumPy reads before it writes). */
static void detour(struct build *b, uint32_t slot, const struct view *out)
{
	struct prog *p = b->prog;
	struct nest *n = b->nest;
	struct build c;
	struct view tmp;
	uint32_t t;

	view_init(&tmp, (enum dtype)out->dtype, &out->shape);
	t = prog_slot(p, (uint64_t)nest_parallel(n) * dtype_row(out->dtype)->bytes);
	n->naccess--;
	n->ninstr--;
	n->post = UINT16_MAX;
	memset(&n->access[n->naccess], 0, sizeof n->access[0]);
	build_store(b, t, &tmp, n->instr[n->ninstr].b);
	build_end(b);
	if (!build_begin(&c, p, &out->shape, 0, false))
		return;
	build_store(&c, slot, out, build_load(&c, t, &tmp));
	build_end(&c);
}

static enum status lower_assign(struct prog *p, uint32_t op, struct err *err)
{
	const struct part_op *o = &p->part->op[op];
	const struct part_value *v = &p->part->value[o->out.value];
	uint32_t slot = p->value_slot[o->out.value];
	struct build b;
	struct view out;
	unsigned store;
	enum status st;

	if (p->copy[op])
		lower_copy(p, p->value_slot[v->prev], slot, v->bytes);
	part_view(&out, p->part, &o->out);
	if (!build_begin(&b, p, &out.shape, 0, false))
		return OK;
	st = move(&b, o, slot, &out, err);
	if (st)
		return st;
	store = b.nest->naccess - 1u;
	if (compare(&b, store, store).kind != DEPEND_SAME)
		return err_set(err, E_UNSUPPORTED,
			       "assignment to a view whose elements share memory");
	if (store && b.nest->access[0].slot == slot) {
		enum depend_kind k = compare(&b, 0, store).kind;

		if (k != DEPEND_NONE && k != DEPEND_SAME)
			detour(&b, slot, &out);
	}
	return OK;
}

/* See lower.h. */
enum status lower_array(uint32_t *slot, struct view *v, struct prog *p, const struct part_ref *r,
			unsigned to, struct err *err)
{
	struct view in;
	struct build b;
	enum status st;
	uint16_t x;

	part_view(&in, p->part, r);
	*slot = p->value_slot[r->value];
	*v = in;
	if (r->dtype == to || !build_begin(&b, p, &in.shape, 0, false))
		return OK;
	st = lower_operand(&x, &b, r, to, err);
	if (st)
		return st;
	view_init(v, (enum dtype)to, &in.shape);
	*slot = prog_slot(p, (uint64_t)nest_parallel(b.nest) * dtype_row(to)->bytes);
	build_store(&b, *slot, v, x);
	build_end(&b);
	return OK;
}

static enum status lower_library(struct prog *p, const struct part_op *o, struct err *err)
{
	switch (call_of_op(o->op)) {
	case CALL_PRODUCT:
		return lower_matmul(p, o, err);
	case CALL_SPARSE:
		return lower_sparse(p, o, err);
	default:
		return lower_compact(p, o, err);
	}
}

static enum status lower_op(struct prog *p, uint32_t k, struct err *err)
{
	static enum status (*const of_kind[])(struct prog * p, const struct part_op *o,
					      struct err *err) = {
		[KIND_EW] = lower_elementwise,	 [KIND_RED] = lower_reduction,
		[KIND_ARGRED] = lower_reduction, [KIND_CREATE] = lower_creation,
		[KIND_SCAN] = lower_along,	 [KIND_SORT] = lower_along,
		[KIND_LANE] = lower_along,	 [KIND_DRAW] = lower_draw,
		[KIND_SEARCH] = lower_search,	 [KIND_CHOSEN] = lower_chosen,
		[KIND_FOURIER] = lower_fourier,	 [KIND_LIB] = lower_library,
		[KIND_GATHER] = lower_take,	 [KIND_JOIN] = lower_join,
		[KIND_SOLVER] = lower_solver,	 [KIND_GRID] = lower_grid,
	};
	const struct part_op *o = &p->part->op[k];
	unsigned kind = op_row(o->op)->kind;

	if (kind == KIND_WRITE)
		return lower_assign(p, k, err);
	if (kind >= sizeof of_kind / sizeof *of_kind || !of_kind[kind])
		return err_set(err, E_INTERNAL, "%s cannot be lowered", op_text(o->op));
	return of_kind[kind](p, o, err);
}

/* See prog.h. */
enum status lower_run(struct prog *p, struct err *err)
{
	enum status st = OK;

	for (uint32_t k = 0; k < p->part->nop && !st; k++) {
		st = lower_op(p, k, err);
		if (st)
			err_context(err, "%s, number %u of those asked for",
				    op_text(p->part->op[k].op), k + 1);
	}
	return st;
}
