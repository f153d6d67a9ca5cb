/* SPDX-License-Identifier: Apache-2.0 */
/* nest/nest_check.c - the rules of nest.h, checked one by one.
 *
 * Runs after every pass in debug and test builds.  What an access may touch is
 * bounded by plan_check, which knows the slots. */
#include "nest.h"

struct check {
	const struct nest *n;
	struct err *err;
	unsigned nreduce, nindex;
};

static enum status check_loops(const struct check *c)
{
	const struct nest *n = c->n;
	unsigned loops = n->npar + n->nred;

	if (loops > LIMIT_NDIM)
		return err_set(c->err, E_INTERNAL, "nest has %u loops, limit %d", loops,
			       LIMIT_NDIM);
	for (unsigned k = 0; k < loops; k++)
		if (n->extent[k] < 0)
			return err_set(c->err, E_INTERNAL, "loop %u has a negative extent", k);
	if (!loops && n->vec)
		return err_set(c->err, E_INTERNAL, "nest without loops has vec %u", n->vec);
	if (loops && n->vec != loops - 1 && n->vec + 1u != n->npar)
		return err_set(c->err, E_INTERNAL, "vec %u is no last loop", n->vec);
	if (n->width != 8 && n->width != 16)
		return err_set(c->err, E_INTERNAL, "width %u is neither 8 nor 16", n->width);
	return OK;
}

static enum status check_counts(const struct check *c)
{
	const struct nest *n = c->n;

	if (n->naccess > LIMIT_NEST_ACCESSES || n->ninstr > LIMIT_NEST_INSTRS ||
	    n->nscalar > LIMIT_NEST_SCALARS)
		return err_set(c->err, E_INTERNAL, "nest has %u accesses, %u instrs, %u scalars",
			       n->naccess, n->ninstr, n->nscalar);
	if (n->post > n->ninstr || (!n->nred && n->post != n->ninstr))
		return err_set(c->err, E_INTERNAL, "post %u of %u instrs, %u reduced loops",
			       n->post, n->ninstr, n->nred);
	return OK;
}

static enum status check_access(const struct check *c, unsigned k)
{
	const struct nest *n = c->n;
	const struct nest_access *a = &n->access[k];
	int64_t bytes, s;
	unsigned walk;

	if (!dtype_native(a->dtype))
		return err_set(c->err, E_INTERNAL, "access %u: dtype %u", k, a->dtype);
	if (a->write > 1 || a->alone > 1)
		return err_set(c->err, E_INTERNAL, "access %u: flags", k);
	bytes = dtype_row(a->dtype)->bytes;
	s = n->npar + n->nred ? a->stride[n->vec] : 0;
	walk = s == bytes ? WALK_UNIT : s ? WALK_STRIDED : WALK_SAME;
	if (a->walk != walk)
		return err_set(c->err, E_INTERNAL, "access %u: walk %u, stride says %u", k, a->walk,
			       walk);
	for (unsigned l = 0; a->write && l < n->npar; l++)
		if (!a->stride[l] && n->extent[l] > 1)
			return err_set(c->err, E_INTERNAL,
				       "access %u stores to one place along parallel loop %u", k,
				       l);
	return OK;
}

/* What is gathered may come from anywhere: the nest must not write there. */
static enum status check_gathers(const struct check *c)
{
	const struct nest *n = c->n;

	for (unsigned k = 0; k < n->naccess; k++) {
		const struct nest_access *a = &n->access[k];

		if (a->gather > 1 || (a->gather && (a->write || a->gextent < 1)) ||
		    (!a->gather && (a->gextent || a->gstride)))
			return err_set(c->err, E_INTERNAL, "access %u: gather", k);
	}
	for (unsigned i = 0; i < n->naccess; i++)
		for (unsigned j = 0; n->access[i].gather && j < n->naccess; j++)
			if (n->access[j].write && n->access[j].slot == n->access[i].slot &&
			    nest_gather_meets(n, i, j))
				return err_set(c->err, E_INTERNAL,
					       "access %u writes what access %u gathers", j, i);
	return OK;
}

static enum status check_operand(const struct check *c, unsigned k, unsigned operand,
				 unsigned dtype)
{
	const struct nest *n = c->n;
	const struct nest_instr *v = &n->instr[operand];

	if (operand >= k || v->op == NI_STORE)
		return err_set(c->err, E_INTERNAL, "instr %u uses %u, which is no earlier value", k,
			       operand);
	if (k < n->post ? v->op == NI_REDUCE : operand < n->post && v->op != NI_REDUCE)
		return err_set(c->err, E_INTERNAL, "instr %u uses %u across the reduction", k,
			       operand);
	if (v->dtype != dtype)
		return err_set(c->err, E_INTERNAL, "instr %u takes type %u but %u has %u", k, dtype,
			       operand, v->dtype);
	return OK;
}

static enum status check_memory(const struct check *c, unsigned k)
{
	const struct nest *n = c->n;
	const struct nest_instr *i = &n->instr[k];
	const struct nest_access *a = &n->access[i->a];
	bool store = i->op == NI_STORE;

	if (i->a >= n->naccess || a->write != store || a->dtype != i->dtype ||
	    a->gather != (i->op == NI_GATHER))
		return err_set(c->err, E_INTERNAL, "instr %u does not fit access %u", k, i->a);
	for (unsigned l = n->npar; k >= n->post && l < (unsigned)n->npar + n->nred; l++)
		if (a->stride[l])
			return err_set(c->err, E_INTERNAL,
				       "post instr %u moves along reduced loop %u", k, l);
	if (i->op == NI_GATHER)
		return check_operand(c, k, i->b, DT_INT64);
	return store ? check_operand(c, k, i->b, i->dtype) : OK;
}

/* Does an operation on its loop type give the type that the instruction claims? */
static enum status check_types(const struct check *c, unsigned k, unsigned op)
{
	const struct nest_instr *i = &c->n->instr[k];
	const struct op_arg loop = {i->ltype, false}, flag = {DT_BOOL, false};
	const struct op_arg arg[3] = {op == OP_WHERE ? flag : loop, loop, loop};
	unsigned last = op_row(op)->arity - 1u;
	struct op_sig sig;

	if (op_infer(&sig, (enum op)op, arg, i->dtype, NULL) || sig.in[last] != i->ltype ||
	    sig.out != i->dtype)
		return err_set(c->err, E_INTERNAL, "instr %u: %s of type %u does not give type %u",
			       k, op_row(op)->id, i->ltype, i->dtype);
	return OK;
}

static enum status check_reduce(struct check *c, unsigned k)
{
	const struct nest_instr *i = &c->n->instr[k];
	const struct op_row *row = op_row(i->c);

	if (k >= c->n->post || !c->n->nred || !row ||
	    (row->kind != KIND_RED && row->kind != KIND_ARGRED))
		return err_set(c->err, E_INTERNAL, "instr %u is a misplaced reduction", k);
	if (i->ltype == DT_FLOAT16)
		return err_set(c->err, E_INTERNAL, "instr %u reduces float16, not float32", k);
	if (++c->nreduce > LIMIT_NEST_REDUCES)
		return err_set(c->err, E_INTERNAL, "nest has more than %d reductions",
			       LIMIT_NEST_REDUCES);
	if (check_types(c, k, i->c))
		return E_INTERNAL;
	return check_operand(c, k, i->a, i->ltype);
}

/* The types an instruction takes: ltype everywhere, but WHERE's condition. */
static enum status check_compute(struct check *c, unsigned k)
{
	const struct nest_instr *i = &c->n->instr[k];
	const struct op_row *row = op_row(i->op);
	const uint16_t operand[3] = {i->a, i->b, i->c};
	enum status st = OK;

	if (!row || row->kind != KIND_EW)
		return err_set(c->err, E_INTERNAL, "instr %u: %s is not elementwise", k,
			       op_text(i->op));
	if (i->op == OP_INDEX && (i->c != c->nindex++ || i->c >= LIMIT_NEST_CHECKS || i->b >= k ||
				  c->n->instr[i->b].op != NI_SCALAR))
		return err_set(c->err, E_INTERNAL, "instr %u: index %u", k, i->c);
	st = check_types(c, k, i->op);
	for (unsigned j = 0; j < row->arity && !st; j++)
		st = check_operand(c, k, operand[j],
				   i->op == OP_WHERE && !j ? (unsigned)DT_BOOL : i->ltype);
	return st;
}

static bool usable(const struct nest *n, unsigned dtype)
{
	return dtype_native(dtype) && (n->width == 8 || dtype_row(dtype)->bytes <= 4);
}

static enum status check_instr(struct check *c, unsigned k)
{
	const struct nest *n = c->n;
	const struct nest_instr *i = &n->instr[k];

	if (!usable(n, i->dtype) || !usable(n, i->ltype))
		return err_set(c->err, E_INTERNAL, "instr %u has no usable type for width %u", k,
			       n->width);
	switch (i->op) {
	case NI_LOAD:
	case NI_STORE:
	case NI_GATHER:
		return check_memory(c, k);
	case NI_SCALAR:
		if (i->a >= n->nscalar || n->scalar_dtype[i->a] != i->dtype)
			return err_set(c->err, E_INTERNAL, "instr %u: scalar %u", k, i->a);
		return OK;
	case NI_INDEX:
		if (i->a >= n->npar + (k < n->post ? n->nred : 0) || i->dtype != DT_INT64)
			return err_set(c->err, E_INTERNAL, "instr %u: index of loop %u", k, i->a);
		return OK;
	case NI_REDUCE:
		return check_reduce(c, k);
	default:
		return check_compute(c, k);
	}
}

/* See nest.h. */
enum status nest_check(const struct nest *n, struct err *err)
{
	struct check c = {n, err, 0, 0};
	enum status st = check_loops(&c);

	if (!st)
		st = check_counts(&c);
	for (unsigned k = 0; !st && k < n->naccess; k++)
		st = check_access(&c, k);
	if (!st)
		st = check_gathers(&c);
	for (unsigned k = 0; !st && k < n->ninstr; k++)
		st = check_instr(&c, k);
	return st;
}
