/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/check_ops.c - every elementwise operation in every type that it takes, and every
 * cast, on the device and on the CPU.
 *
 * Operations of one type share operands and kernels, as many as `together`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "exact.h"
#include "sections.h"
#include "tap.h"

#define TOGETHER_QUICK 24
#define TOGETHER       4
#define COUNT_QUICK    523
#define COUNT	       100003

struct batch {
	unsigned dtype, n;
	uint8_t op[BOTH_OUTPUTS];
	int64_t count;
	enum sample_style style;
	uint64_t seed;
};

/* Is there a loop for the operation on operands of this type? */
static bool takes(unsigned op, unsigned dtype, struct op_sig *sig)
{
	const struct op_row *row = op_row(op);
	struct op_arg arg[3] = {
		{.dtype = (uint8_t)dtype}, {.dtype = (uint8_t)dtype}, {.dtype = (uint8_t)dtype}};

	if (!row || row->kind != KIND_EW || op == OP_CAST || op == OP_INDEX)
		return false;
	if (op == OP_POWER && dtype_row(dtype)->cls == CLASS_COMPLEX)
		return false; /* check_complex_power */
	if (op == OP_WHERE)
		arg[0].dtype = DT_BOOL;
	return !op_infer(sig, (enum op)op, arg, DTYPE_END, NULL) && dtype_native(sig->out);
}

/* + - * / and what only chooses, moves or rounds have one right answer; functions of
 * the mathematical libraries have an error bound. */
double check_ops_rule(unsigned op, unsigned dtype)
{
	static const uint8_t functions[] = {OP_CBRT, OP_EXP,   OP_EXPM1, OP_EXP2,    OP_LOG,
					    OP_LOG2, OP_LOG10, OP_POWER, OP_ARCTAN2, OP_HYPOT};
	bool complex = dtype_row(dtype)->cls == CLASS_COMPLEX;

	if (op == OP_LOGADDEXP || (op == OP_LOG1P && complex))
		return SAME_ULPS_OF_ONE;
	if ((op >= OP_SIN && op <= OP_ARCTANH) || op == OP_LOG1P ||
	    memchr(functions, (int)op, sizeof functions))
		return SAME_ULPS;
	/* These take a square root of a sum of squares. */
	if (complex && (op == OP_ABSOLUTE || op == OP_SIGN || op == OP_SQRT))
		return SAME_ULPS;
	return SAME_BITS;
}

static int record(const void *data, braze_session *s, braze_array **out, int *n, braze_error *err)
{
	const struct batch *t = data;
	braze_array *in[4] = {NULL};
	int rc = 0;

	for (unsigned k = 0; k < 4 && !rc; k++)
		rc = both_operand(&in[k], s, k == 3 ? DT_BOOL : t->dtype, 1, &t->count, t->style,
				  t->seed + k, err);
	for (unsigned k = 0; k < t->n && !rc; k++) {
		braze_arg x = {.array = in[0]}, y = {.array = in[1]}, z = {.array = in[2]};
		braze_arg c = {.array = in[3]};
		braze_arg plain[3] = {x, y, z}, choice[3] = {c, x, y};

		rc = braze_apply(&out[k], s, t->op[k], op_row(t->op[k])->arity,
				 t->op[k] == OP_WHERE ? choice : plain, err);
		*n = rc ? *n : (int)k + 1;
	}
	for (unsigned k = 0; k < 4; k++)
		braze_release(in[k]);
	return rc;
}

static int record_casts(const void *data, braze_session *s, braze_array **out, int *n,
			braze_error *err)
{
	const struct batch *t = data;
	braze_array *in = NULL;
	int rc = both_operand(&in, s, t->dtype, 1, &t->count, t->style, t->seed, err);

	for (unsigned k = 0; k < t->n && !rc; k++) {
		rc = braze_cast(&out[k], in, t->op[k], err);
		*n = rc ? *n : (int)k + 1;
	}
	braze_release(in);
	return rc;
}

/* The operation of one result, and its operand. */
struct exam {
	const void *operand;
	unsigned dtype;
	uint8_t op;
};

static bool exact_value(const void *data, uint64_t element, long double value[2])
{
	const struct exam *e = data;
	const double *wide = (const double *)e->operand + 2 * element;
	const float *narrow = (const float *)e->operand + 2 * element;
	bool is_wide = e->dtype == DT_COMPLEX128;
	const long double z[2] = {is_wide ? (long double)wide[0] : (long double)narrow[0],
				  is_wide ? (long double)wide[1] : (long double)narrow[1]};

	return exact_function(e->op, z, value);
}

static const char *const style_name[] = {"small", "wide", "special"};

static void check_batch(struct both *b, struct batch *t)
{
	const struct dtype_row *row = dtype_row(t->dtype);
	void *operand = xcalloc((size_t)t->count, row->bytes);

	for (enum sample_style style = SAMPLE_WIDE; style <= SAMPLE_SPECIAL; style++) {
		struct sample_judge judge[BOTH_OUTPUTS];
		struct exam exam[BOTH_OUTPUTS];
		struct program p = {.record = record,
				    .data = t,
				    .judge = row->cls == CLASS_COMPLEX ? judge : NULL};
		size_t at =
			(size_t)snprintf(p.name, sizeof p.name,
					 "%s, %s:", dtype_row(t->dtype)->name, style_name[style]);

		t->style = style;
		sample_fill(operand, t->dtype, (size_t)t->count, style, t->seed);
		for (unsigned k = 0; k < t->n; k++) {
			exam[k] = (struct exam){operand, t->dtype, t->op[k]};
			judge[k] = (struct sample_judge){exact_value, &exam[k]};
			p.rule[k] = check_ops_rule(t->op[k], t->dtype);
			p.label[k] = op_row(t->op[k])->numpy;
			if (at < sizeof p.name)
				at += (size_t)snprintf(p.name + at, sizeof p.name - at, " %s",
						       p.label[k]);
		}
		both_check(b, &p);
	}
	free(operand);
}

/* In a quick run one type of integers stands for all those that become floats. */
static bool worth_while(unsigned dtype, const struct op_sig *sig)
{
	unsigned from = dtype_row(dtype)->cls, to = dtype_row(sig->out)->cls;

	return from == CLASS_FLOAT || from == CLASS_COMPLEX || to != CLASS_FLOAT ||
	       dtype == DT_INT32;
}

static void check_type(struct both *b, unsigned dtype)
{
	unsigned together = b->quick ? TOGETHER_QUICK : TOGETHER;
	struct batch t = {.dtype = dtype,
			  .count = b->quick ? COUNT_QUICK : COUNT,
			  .seed = b->seed + 100 * dtype};
	struct op_sig sig;

	for (unsigned op = 0; op < OP_END; op++) {
		if (!takes(op, dtype, &sig) || (b->quick && !worth_while(dtype, &sig)))
			continue;
		t.op[t.n++] = (uint8_t)op;
		if (t.n == together) {
			check_batch(b, &t);
			t.n = 0;
		}
	}
	if (t.n)
		check_batch(b, &t);
}

/* a ** b is exp(b log a): an error of the logarithm grows with |b log a|, which is below
 * 20 for small operands. */
static void check_complex_power(struct both *b, unsigned dtype)
{
	struct batch t = {.dtype = dtype,
			  .n = 1,
			  .op = {OP_POWER},
			  .count = b->quick ? COUNT_QUICK : COUNT,
			  .style = SAMPLE_SMALL,
			  .seed = b->seed};
	struct program p = {.record = record, .data = &t, .rule = {SAME_ULPS * (1 + 20)}};

	snprintf(p.name, sizeof p.name, "%s, small: power", dtype_row(dtype)->name);
	both_check(b, &p);
}

static void check_casts(struct both *b, unsigned dtype)
{
	struct batch t = {.dtype = dtype,
			  .count = b->quick ? COUNT_QUICK : COUNT,
			  .style = SAMPLE_SPECIAL,
			  .seed = b->seed + 7 * dtype};
	struct program p = {.record = record_casts, .data = &t};

	snprintf(p.name, sizeof p.name, "%s cast to every type", dtype_row(dtype)->name);
	for (unsigned to = 0; to < DTYPE_END; to++) {
		if (!dtype_native(to))
			continue;
		p.label[t.n] = dtype_row(to)->name;
		t.op[t.n++] = (uint8_t)to;
	}
	both_check(b, &p);
}

void check_ops(struct both *b)
{
	tap_note("elementwise operations, then casts");
	for (unsigned d = 0; d < DTYPE_END; d++)
		if (dtype_native(d))
			check_type(b, d);
	check_complex_power(b, DT_COMPLEX64);
	check_complex_power(b, DT_COMPLEX128);
	for (unsigned d = 0; d < DTYPE_END; d++)
		if (dtype_native(d))
			check_casts(b, d);
}
