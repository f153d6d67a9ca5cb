/* SPDX-License-Identifier: Apache-2.0 */
/* form/nest_check.c - the rules of nest.h, checked one by one.
 *
 * Runs after every pass in debug and test builds.  What an access may touch is
 * bounded by plan_check, which knows the slots. */
#include "nest.h"

struct check {
	const struct nest *n;
	struct err *err;
	unsigned nreduce, ncheck; /* so far */
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

/* Phases: sections behind the second, all of whose points one thread runs. */
static enum status check_phases(const struct check *c)
{
	const struct nest *n = c->n;

	if (n->nmore > LIMIT_NEST_SECTIONS - 2 || (n->nmore && !n->nred))
		return err_set(c->err, E_INTERNAL, "nest has %u phases, %u reduced loops", n->nmore,
			       n->nred);
	for (unsigned s = 2; s < nest_sections(n); s++)
		if (nest_begin(n, s) < nest_begin(n, s - 1) || nest_begin(n, s) > n->ninstr)
			return err_set(c->err, E_INTERNAL, "section %u begins at instr %u of %u", s,
				       nest_begin(n, s), n->ninstr);
	if (n->nmore && nest_reduced(n) > TREE_CHUNK)
		return err_set(c->err, E_INTERNAL, "phases over %lld reduced points",
			       (long long)nest_reduced(n));
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

/* A value must be there: nest_fed, with words for what is wrong. */
static enum status check_value(const struct check *c, unsigned k, unsigned value)
{
	const struct nest *n = c->n;

	if (value >= k || instr_row(n->instr[value].op)->result == RESULT_NONE)
		return err_set(c->err, E_INTERNAL, "instr %u uses %u, which is no earlier value", k,
			       value);
	if (!nest_hands(n, value, k))
		return err_set(c->err, E_INTERNAL, "instr %u uses %u across the reduction", k,
			       value);
	return OK;
}

static enum status check_memory(const struct check *c, unsigned k, unsigned access)
{
	const struct nest *n = c->n;
	const struct nest_instr *i = &n->instr[k];
	const struct nest_access *a = &n->access[access];
	unsigned effect = instr_row(i->op)->effect, loops = (unsigned)n->npar + n->nred;

	if (access >= n->naccess || a->write != (effect == EFFECT_WRITES) || a->dtype != i->dtype ||
	    a->gather != (effect == EFFECT_FETCHES))
		return err_set(c->err, E_INTERNAL, "instr %u does not fit access %u", k, access);
	for (unsigned l = nest_loops(n, nest_section(n, k)); l < loops; l++)
		if (a->stride[l])
			return err_set(c->err, E_INTERNAL,
				       "post instr %u moves along reduced loop %u", k, l);
	return OK;
}

static enum status check_reducer(const struct check *c, unsigned k, unsigned op)
{
	const struct op_row *row = op_row(op);

	if (!row || (row->kind != KIND_RED && row->kind != KIND_ARGRED))
		return err_set(c->err, E_INTERNAL, "instr %u: no reduction has number %u", k, op);
	return OK;
}

/* Is the operand what the table says that it is? */
static enum status check_operand(struct check *c, unsigned k, enum instr_arg kind, unsigned operand)
{
	const struct nest *n = c->n;
	const struct nest_instr *i = &n->instr[k];

	switch (kind) {
	case ARG_VALUE:
		return check_value(c, k, operand);
	case ARG_ACCESS:
		return check_memory(c, k, operand);
	case ARG_SCALAR:
		if (operand >= n->nscalar || n->scalar_dtype[operand] != i->dtype)
			return err_set(c->err, E_INTERNAL, "instr %u: scalar %u", k, operand);
		return OK;
	case ARG_LOOP:
		if (operand >= nest_loops(n, nest_section(n, k)) || i->dtype != DT_INT64)
			return err_set(c->err, E_INTERNAL, "instr %u: index of loop %u", k,
				       operand);
		return OK;
	case ARG_OP:
		return check_reducer(c, k, operand);
	case ARG_CHECK:
		if (operand != c->ncheck++ || operand >= LIMIT_NEST_CHECKS)
			return err_set(c->err, E_INTERNAL, "instr %u: check %u", k, operand);
		return OK;
	default:
		return OK;
	}
}

/* Where reduced loops run: in a nest that has some, before their results are there. */
static enum status check_place(struct check *c, unsigned k)
{
	const struct nest *n = c->n;
	const struct nest_instr *i = &n->instr[k];

	if (instr_row(i->op)->place != PLACE_REDUCED)
		return OK;
	if (!n->nred || !nest_everywhere(nest_section(n, k)))
		return err_set(c->err, E_INTERNAL, "instr %u is misplaced: nothing is reduced", k);
	if (++c->nreduce > LIMIT_NEST_REDUCES)
		return err_set(c->err, E_INTERNAL, "nest has more than %d reductions",
			       LIMIT_NEST_REDUCES);
	return OK;
}

/* Does an operation on its loop type give the type that the instruction claims? */
static enum status check_result(const struct check *c, unsigned k, unsigned op)
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

/* The type that instruction *i takes its value number j in. */
static unsigned value_type(const struct nest_instr *i, unsigned j)
{
	switch (i->op) {
	case NI_STORE:
		return i->dtype;
	case NI_GATHER:
		return DT_INT64;
	default:
		return i->op == OP_WHERE && !j ? DT_BOOL : i->ltype;
	}
}

/* What an instruction asks for beyond the kinds of its operands: types above all. */
static enum status check_types(const struct check *c, unsigned k)
{
	const struct nest *n = c->n;
	const struct nest_instr *i = &n->instr[k];
	unsigned op = instr_operation(i);
	uint16_t value[3];

	if ((i->op == NI_REDUCE || (op != OP_END && op != OP_CAST)) && !dtype_computes(i->ltype))
		return err_set(c->err, E_INTERNAL, "instr %u computes in %s", k,
			       dtype_row(i->ltype)->name);
	if (i->op == NI_REDUCE && i->ltype == DT_FLOAT16)
		return err_set(c->err, E_INTERNAL, "instr %u reduces float16, not float32", k);
	if (i->op == OP_INDEX && n->instr[i->b].op != NI_SCALAR)
		return err_set(c->err, E_INTERNAL, "instr %u: index of no scalar extent", k);
	if (op != OP_END && check_result(c, k, op))
		return E_INTERNAL;
	for (unsigned j = 0, count = instr_values(value, i); j < count; j++)
		if (n->instr[value[j]].dtype != value_type(i, j))
			return err_set(c->err, E_INTERNAL, "instr %u takes type %u but %u has %u",
				       k, value_type(i, j), value[j], n->instr[value[j]].dtype);
	return OK;
}

static bool usable(const struct nest *n, unsigned dtype)
{
	return dtype_native(dtype) && (n->width == 8 || dtype_row(dtype)->bytes <= 4);
}

static enum status check_instr(struct check *c, unsigned k)
{
	const struct nest_instr *i = &c->n->instr[k];
	const struct instr_row *row = instr_row(i->op);
	const uint16_t operand[3] = {i->a, i->b, i->c};
	enum status st;

	if (!instr_known(i->op))
		return err_set(c->err, E_INTERNAL, "instr %u: no instruction has number %u", k,
			       i->op);
	if (!usable(c->n, i->dtype) || !usable(c->n, i->ltype))
		return err_set(c->err, E_INTERNAL, "instr %u has no usable type for width %u", k,
			       c->n->width);
	st = check_place(c, k);
	for (unsigned j = 0; j < 3 && !st; j++)
		st = check_operand(c, k, (enum instr_arg)row->arg[j], operand[j]);
	return st ? st : check_types(c, k);
}

/* See nest.h. */
enum status nest_check(const struct nest *n, struct err *err)
{
	struct check c = {n, err, 0, 0};
	enum status st = check_loops(&c);

	if (!st)
		st = check_counts(&c);
	if (!st)
		st = check_phases(&c);
	for (unsigned k = 0; !st && k < n->naccess; k++)
		st = check_access(&c, k);
	if (!st)
		st = check_gathers(&c);
	for (unsigned k = 0; !st && k < n->ninstr; k++)
		st = check_instr(&c, k);
	return st;
}
