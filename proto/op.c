/* SPDX-License-Identifier: Apache-2.0 */
/* The op table, and the type rules: which loop an operation runs and what type
 * comes out, as NumPy 2 resolves its ufuncs. */
#include "ops.h"
#include "solver.h"

#include "op_table.h"

#include <string.h>

const struct op_row op_rows[OP_END] = {
#define OP(wire, id, np, kind, arity, rule, alg, stem, cost)                                       \
	[wire] = {#id, np, #stem, KIND_##kind, arity, RULE_##rule, alg, cost},
#include "ops.def"
#undef OP
};

const char *op_text(unsigned wire)
{
	const struct op_row *row = op_row(wire);

	return !row ? "an unknown operation" : *row->numpy ? row->numpy : row->id;
}

static uint64_t hash_text(uint64_t h, const char *text)
{
	for (const char *p = text; *p; p++)
		h = (h ^ (unsigned char)*p) * 0x100000001b3u;
	return h;
}

uint64_t op_table_prefix(unsigned ops)
{
	static const struct {
		unsigned wire;
		const char *text;
	} row[] = {
#define OP(wire, id, np, kind, arity, rule, alg, stem, cost)                                       \
	{wire, #wire " " #id " " #kind " " #arity " " #rule ";"},
#include "ops.def"
#undef OP
	};
	static const struct {
		unsigned wire;
		const char *text;
	} type[] = {
#define DTYPE(wire, id, name, bytes, cls, ctype, sfx, chr) {wire, #wire " " #id " " #bytes ";"},
#include "dtypes.def"
#undef DTYPE
	};
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < sizeof row / sizeof *row; i++)
		if (row[i].wire < ops)
			h = hash_text(h, row[i].text);
	for (size_t i = 0; i < sizeof type / sizeof *type; i++)
		if (type[i].wire < OP_TABLE_TYPES)
			h = hash_text(h, type[i].text);
	return h;
}

uint64_t op_table_hash(void)
{
	return op_table_prefix(OP_END);
}

unsigned op_table_length(void)
{
	unsigned n = OP_END;

	while (n && !op_row(n - 1))
		n--;
	return n;
}

static unsigned cls(unsigned d)
{
	return dtype_row(d)->cls;
}

/* The order in which operands count: inexact types first, since two integer types
 * may have a wider type in common than either has with a float; numbers last. */
static int turn(struct op_arg a)
{
	return a.weak ? 2 : cls(a.dtype) < CLASS_FLOAT;
}

/* Common type of operands first..n-1. */
static enum dtype common(const struct op_arg *arg, int first, int n)
{
	struct op_arg t = arg[first];

	for (int pass = 0; pass <= 2; pass++)
		for (int i = first; i < n; i++) {
			if (turn(arg[i]) != pass)
				continue;
			if (turn(t) > pass) {
				t = arg[i];
				continue;
			}
			t.dtype = (uint8_t)dtype_promote(t, arg[i]);
			t.weak = t.weak && arg[i].weak;
		}
	if (t.weak)
		return dtype_promote(t, t);
	return (enum dtype)t.dtype;
}

enum dtype dtype_common(const struct op_arg *arg, int n)
{
	return common(arg, 0, n);
}

static enum dtype to_float(enum dtype t)
{
	if (cls(t) >= CLASS_FLOAT)
		return t;
	return dtype_row(t)->bytes == 1	  ? DT_FLOAT16
	       : dtype_row(t)->bytes == 2 ? DT_FLOAT32
					  : DT_FLOAT64;
}

/* A float loop of two operands: the first one that both cast to safely, which may
 * be narrower than the float of their common type (int8 and uint8: float16). */
static enum dtype common_float(const struct op_arg *arg)
{
	struct op_arg a = {.dtype = (uint8_t)to_float(arg[0].dtype)};
	struct op_arg b = {.dtype = (uint8_t)to_float(arg[1].dtype)};

	return (enum dtype)dtype_promote(a, b);
}

static enum dtype part_of(enum dtype t)
{
	return t == DT_COMPLEX64 ? DT_FLOAT32 : t == DT_COMPLEX128 ? DT_FLOAT64 : t;
}

static enum dtype sum_type(enum dtype t)
{
	if (cls(t) <= CLASS_INT)
		return DT_INT64;
	return cls(t) == CLASS_UINT ? DT_UINT64 : t;
}

static void all(struct op_sig *s, enum dtype in, enum dtype out)
{
	s->in[0] = s->in[1] = s->in[2] = (uint8_t)in;
	s->out = (uint8_t)out;
}

static enum status no_loop(enum op op, enum dtype t, struct err *err)
{
	return err_set(err, E_DTYPE, "%s does not take operands of type %s", op_rows[op].numpy,
		       dtype_row(t)->name);
}

/* Rules under which every operand takes one type t, derived from the common one. */
static enum status uniform(struct op_sig *s, enum op op, enum dtype t, struct err *err)
{
	enum dtype out;

	switch ((enum op_rule)op_rows[op].rule) {
	case RULE_NUMERIC:
		if (t == DT_BOOL)
			return no_loop(op, t, err);
		break;
	case RULE_REAL_ARITH:
		if (cls(t) == CLASS_COMPLEX)
			return no_loop(op, t, err);
		/* fall through */
	case RULE_ARITH:
		t = t == DT_BOOL ? DT_INT8 : t;
		break;
	case RULE_DIVIDE:
		t = cls(t) < CLASS_FLOAT ? DT_FLOAT64 : t;
		break;
	case RULE_FLOAT_REAL:
		if (cls(t) == CLASS_COMPLEX)
			return no_loop(op, t, err);
		/* fall through */
	case RULE_FLOAT:
		t = to_float(t);
		break;
	case RULE_ROUND:
		if (cls(t) == CLASS_COMPLEX)
			return no_loop(op, t, err);
		break;
	case RULE_TEST_REAL:
		if (cls(t) == CLASS_COMPLEX)
			return no_loop(op, t, err);
		t = cls(t) < CLASS_FLOAT ? DT_FLOAT64 : t;
		break;
	case RULE_SHIFT:
	case RULE_BITWISE:
		if (cls(t) >= CLASS_FLOAT)
			return no_loop(op, t, err);
		if (t == DT_BOOL && op_rows[op].rule == RULE_SHIFT)
			t = DT_INT8;
		break;
	default:
		break;
	}
	out = t;
	if (op_rows[op].rule == RULE_TEST || op_rows[op].rule == RULE_TEST_REAL ||
	    op_rows[op].rule == RULE_COMPARE)
		out = DT_BOOL;
	else if (op_rows[op].rule == RULE_ABS || op_rows[op].rule == RULE_PART)
		out = part_of(t);
	all(s, t, out);
	return OK;
}

/* int64 against uint64 compares exactly in NumPy, not through float64. */
static bool mixed_64(const struct op_arg *arg)
{
	return !arg[0].weak && !arg[1].weak &&
	       ((arg[0].dtype == DT_UINT64 && cls(arg[1].dtype) == CLASS_INT) ||
		(arg[1].dtype == DT_UINT64 && cls(arg[0].dtype) == CLASS_INT));
}

static enum status reduction(struct op_sig *s, enum op op, enum dtype t, unsigned head,
			     struct err *err)
{
	if (op_rows[op].rule == RULE_SUM)
		t = head < DTYPE_END ? (enum dtype)head : sum_type(t);
	/* NumPy rounds each of them before it goes on. */
	if (op_rows[op].kind == KIND_SCAN && t == DT_FLOAT16)
		return err_set(err, E_UNSUPPORTED, "%s of float16", op_rows[op].numpy);
	if (op_rows[op].kind == KIND_LANE && t != DT_FLOAT32 && t != DT_FLOAT64)
		return no_loop(op, t, err);
	if (op_rows[op].rule == RULE_SUM) {
		all(s, t, t);
		return OK;
	}
	if (cls(t) == CLASS_COMPLEX && op_rows[op].kind != KIND_SORT)
		return err_set(err, E_UNSUPPORTED, "%s of complex numbers", op_rows[op].numpy);
	all(s, t, op_rows[op].rule == RULE_ARG ? DT_INT64 : t);
	return OK;
}

bool op_draws(enum op op, unsigned dtype)
{
	if (op == OP_DRAW_WORDS)
		return dtype == DT_UINT64;
	if (op == OP_DRAW_INTEGERS)
		return dtype == DT_INT64 || dtype == DT_UINT64;
	return op_rows[op].kind == KIND_DRAW && (dtype == DT_FLOAT32 || dtype == DT_FLOAT64);
}

static enum status from_head(struct op_sig *s, enum op op, const struct op_arg *arg, unsigned head,
			     struct err *err)
{
	if (!dtype_row(head))
		return err_set(err, E_DTYPE, "%s: no such type",
			       *op_rows[op].numpy ? op_rows[op].numpy : op_rows[op].id);
	all(s, (enum dtype)head, (enum dtype)head);
	if (op == OP_CAST)
		s->in[0] = arg[0].dtype;
	if (op_rows[op].kind == KIND_DRAW) {
		if (arg[0].dtype != DT_UINT64 || !op_draws(op, head))
			return err_set(err, E_DTYPE, "%s: %s of a state of %s", op_rows[op].numpy,
				       dtype_row(head)->name, dtype_row(arg[0].dtype)->name);
		s->in[0] = DT_UINT64;
	}
	/* start + step is what gets rounded: the step may have more digits. */
	if (op == OP_ARANGE && head == DT_FLOAT16)
		s->in[1] = DT_FLOAT64;
	return OK;
}

/* Loops that take places along an axis: integers, as int64. */
static enum status places(struct op_sig *s, enum op op, const struct op_arg *arg, struct err *err)
{
	bool take = op_rows[op].rule == RULE_TAKE;
	enum dtype out = take ? (enum dtype)arg[0].dtype : DT_INT64;

	for (int i = take; i < 2; i++)
		if (cls(arg[i].dtype) != CLASS_INT && cls(arg[i].dtype) != CLASS_UINT)
			return err_set(err, E_DTYPE,
				       "arrays used as indices must be of integer type, not %s",
				       dtype_row(arg[i].dtype)->name);
	all(s, DT_INT64, out);
	if (take)
		s->in[0] = arg[0].dtype;
	return OK;
}

/* Of operands in the very type: a cast is an operation of its own. */
static enum status fourier(struct op_sig *s, enum op op, enum dtype t, struct err *err)
{
	bool wide = t == DT_FLOAT64 || t == DT_COMPLEX128;
	enum dtype real = wide ? DT_FLOAT64 : DT_FLOAT32;
	enum dtype both = wide ? DT_COMPLEX128 : DT_COMPLEX64;

	if (t != (op == OP_RFFT ? real : both))
		return no_loop(op, t, err);
	all(s, t, op == OP_IRFFT ? real : both);
	return OK;
}

static enum status factors(struct op_sig *s, enum op op, enum dtype t, struct err *err)
{
	all(s, t, t);
	return solver_real_bytes(t) ? OK : no_loop(op, t, err);
}

int64_t op_transformed(enum op op, int64_t n, int64_t length)
{
	int64_t half = length / 2 + 1;

	if (length < 1 || n != (op == OP_IRFFT ? half : length))
		return 0;
	return op == OP_RFFT ? half : length;
}

/* ---- bfloat16 ---- */

static bool names_bfloat16(const struct op_sig *s)
{
	return s->in[0] == DT_BFLOAT16 || s->in[1] == DT_BFLOAT16 || s->in[2] == DT_BFLOAT16 ||
	       s->out == DT_BFLOAT16;
}

/* What ml_dtypes has in another way than by float32. */
static bool apart_of_float32(enum op op)
{
	return op == OP_SIGN || op == OP_RADIANS || op == OP_DEGREES || op == OP_NEXTAFTER ||
	       op == OP_CLIP;
}

/* Does the operation only move elements, or cast them? */
static bool only_moves(enum op op)
{
	unsigned rule = op_rows[op].rule;

	if (op_rows[op].kind == KIND_SEARCH || op == OP_ARANGE)
		return false;
	return rule == RULE_HEAD || rule == RULE_ASSIGN || rule == RULE_NONE || rule == RULE_TAKE;
}

/* Operations on bfloat16 are float32's, of which the result is rounded: the loops are those of
 * float32, and what comes out says what it is rounded to.  Products stay as they are added up,
 * as NumPy, which has none of bfloat16, makes them. */
static enum status of_bfloat16(struct op_sig *s, enum op op, const struct op_arg *arg,
			       struct err *err)
{
	unsigned kind = op_rows[op].kind;

	if (only_moves(op))
		return OK;
	if ((kind != KIND_EW && kind != KIND_RED && kind != KIND_ARGRED && op != OP_MATMUL) ||
	    apart_of_float32(op) || (kind == KIND_RED && arg[0].dtype != DT_BFLOAT16))
		return err_set(err, E_UNSUPPORTED, "%s of bfloat16", op_rows[op].numpy);
	for (int i = 0; i < 3; i++)
		if (s->in[i] == DT_BFLOAT16)
			s->in[i] = DT_FLOAT32;
	if (op == OP_MATMUL)
		s->out = DT_FLOAT32;
	return OK;
}

/* Are two arrays' types floats each by itself before they are one? */
static bool floats_apart(enum op op, const struct op_arg *arg)
{
	const struct op_row *row = &op_rows[op];

	return (row->rule == RULE_FLOAT || row->rule == RULE_FLOAT_REAL) && row->arity == 2 &&
	       !arg[0].weak && !arg[1].weak && arg[0].dtype != DT_BFLOAT16 &&
	       arg[1].dtype != DT_BFLOAT16;
}

static enum status by_rule(struct op_sig *s, enum op op, const struct op_arg *arg, unsigned head,
			   struct err *err)
{
	const struct op_row *row = &op_rows[op];
	enum dtype t;

	switch ((enum op_rule)row->rule) {
	case RULE_NONE:
		all(s, (enum dtype)arg[0].dtype, (enum dtype)arg[0].dtype);
		return OK;
	case RULE_HEAD:
		return from_head(s, op, arg, head, err);
	case RULE_ASSIGN:
		all(s, (enum dtype)arg[0].dtype, (enum dtype)arg[0].dtype);
		return OK;
	case RULE_LOGICAL:
		all(s, DT_BOOL, DT_BOOL);
		return OK;
	case RULE_WHERE:
		t = common(arg, 1, 3);
		all(s, t, t);
		s->in[0] = DT_BOOL;
		return OK;
	case RULE_INDEX:
	case RULE_TAKE:
		return places(s, op, arg, err);
	case RULE_FOURIER:
		return fourier(s, op, (enum dtype)arg[0].dtype, err);
	case RULE_SOLVER:
		return factors(s, op, (enum dtype)arg[0].dtype, err);
	case RULE_SUM:
	case RULE_KEEP:
	case RULE_ARG:
		return reduction(s, op, common(arg, 0, 1), head, err);
	default:
		/* NumPy orders complex numbers with a nan in its own way here. */
		if (op == OP_CLIP && cls(common(arg, 0, 3)) == CLASS_COMPLEX)
			return err_set(err, E_UNSUPPORTED, "clip of complex numbers");
		if (row->rule == RULE_COMPARE && mixed_64(arg))
			return err_set(err, E_UNSUPPORTED, "%s of int64 and uint64", row->numpy);
		if (floats_apart(op, arg))
			return uniform(s, op, common_float(arg), err);
		return uniform(s, op, common(arg, 0, row->arity), err);
	}
}

enum status op_infer(struct op_sig *out, enum op op, const struct op_arg *arg, unsigned head,
		     struct err *err)
{
	if (!op_row(op))
		return err_set(err, E_INVALID, "no operation has number %u", (unsigned)op);
	memset(out, 0, sizeof *out);
	enum status st = by_rule(out, op, arg, head, err);

	return !st && names_bfloat16(out) ? of_bfloat16(out, op, arg, err) : st;
}
