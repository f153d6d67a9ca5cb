/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/check_random.c - programs that a seed decides, on the device and on the CPU.
 *
 * Whatever is computed from again comes from operations with one right answer, so
 * that both devices must agree to the last bit however they fuse and cut; results of
 * other functions are read, not used.  Decisions depend on the seed, types and shapes
 * only, so that the second recording is the same program. */
#include <stdio.h>
#include <string.h>

#include "sections.h"
#include "tap.h"

#define PROGRAMS_QUICK 6
#define PROGRAMS       120
#define POOL	       8
#define TRIES	       6
#define ELEMENTS       60000

struct maker {
	struct sample_rng rng;
	braze_session *s;
	braze_error *err;
	braze_array *pool[POOL];
	int n, rc;
	braze_array *end[BOTH_OUTPUTS]; /* results that nothing uses */
	int nend;
};

static uint32_t below(struct maker *m, uint32_t n)
{
	return sample_below(&m->rng, n);
}

static braze_array *any(struct maker *m)
{
	return m->pool[below(m, (uint32_t)m->n)];
}

/* A new variable; the oldest gives way. */
static void keep(struct maker *m, braze_array *a)
{
	int at = m->n < POOL ? m->n++ : (int)below(m, POOL);

	braze_release(m->pool[at]);
	m->pool[at] = a;
}

static void fresh(struct maker *m)
{
	static const uint8_t types[] = {DT_FLOAT64, DT_FLOAT32, DT_INT64,      DT_INT32,  DT_UINT8,
					DT_INT16,   DT_BOOL,	DT_COMPLEX128, DT_FLOAT16};
	static const int64_t extents[] = {1, 5, 16, 33, 64, 100};
	int64_t shape[3];
	braze_array *a = NULL;
	int ndim = 1 + (int)below(m, 3);
	unsigned dtype = types[below(m, sizeof types)];
	uint64_t seed = sample_next(&m->rng);

	/* Shapes of one family broadcast together. */
	for (int i = 0; i < ndim; i++)
		shape[i] = below(m, 4) ? extents[2 + (3 - ndim + i) % 3] : 1;
	m->rc = both_operand(&a, m->s, dtype, ndim, shape, below(m, 2) ? SAMPLE_SMALL : SAMPLE_WIDE,
			     seed, m->err);
	if (!m->rc)
		keep(m, a);
}

/* A number as an operand now and then. */
static braze_arg operand(struct maker *m, bool number)
{
	if (!number)
		return braze_arg_array(any(m));
	return (braze_arg){.scalar = below(m, 2) ? braze_int((int64_t)below(m, 9) - 3)
						 : braze_double(((double)below(m, 17) - 8) / 4)};
}

static bool fits(const braze_arg *arg, int n, unsigned op)
{
	int dtype, ndim;
	int64_t shape[LIMIT_NDIM], count = 1;

	if (braze_infer(&dtype, &ndim, shape, (int)op, n, arg, NULL))
		return false;
	for (int i = 0; i < ndim; i++)
		count *= shape[i];
	return count <= ELEMENTS;
}

/* The sign of a NaN, which these copy, is nobody's promise. */
static bool copies_signs(unsigned op)
{
	return op == OP_SIGNBIT || op == OP_COPYSIGN;
}

static void elementwise(struct maker *m)
{
	for (int t = 0; t < TRIES && !m->rc; t++) {
		unsigned op = 32 + below(m, 130);
		const struct op_row *row = op_row(op);
		braze_arg arg[3];
		braze_array *a = NULL;
		bool exact;

		if (!row || row->kind != KIND_EW || op == OP_CAST || op == OP_INDEX ||
		    copies_signs(op))
			continue;
		for (int k = 0; k < row->arity; k++)
			arg[k] = operand(m, k > 0 && below(m, 4) == 0);
		if (!fits(arg, row->arity, op))
			continue;
		m->rc = braze_apply(&a, m->s, (int)op, row->arity, arg, m->err);
		if (m->rc)
			return;
		exact = check_ops_rule(op, (unsigned)braze_dtype_of(a)) == SAME_BITS &&
			check_ops_rule(op, DT_COMPLEX128) == SAME_BITS;
		if (exact) {
			keep(m, a);
		} else if (m->nend < BOTH_OUTPUTS - POOL) {
			m->end[m->nend++] = a;
		} else {
			braze_release(a);
		}
		return;
	}
}

static void view(struct maker *m)
{
	braze_array *from = any(m), *a = NULL;
	int64_t start[LIMIT_NDIM], count[LIMIT_NDIM], step[LIMIT_NDIM];
	int ndim = braze_ndim(from);

	if (below(m, 3) == 0) {
		m->rc = braze_transpose(&a, from, NULL, m->err);
	} else {
		for (int i = 0; i < ndim; i++) {
			int64_t extent = braze_shape(from)[i];

			step[i] = below(m, 3) == 0 ? -1 : below(m, 4) == 0 && extent > 4 ? 2 : 1;
			count[i] = step[i] == 2 ? extent / 2 : extent;
			start[i] = step[i] < 0 ? extent - 1 : 0;
		}
		m->rc = braze_slice(&a, from, start, count, step, m->err);
	}
	if (!m->rc)
		keep(m, a);
}

static void reduction(struct maker *m)
{
	braze_array *from = any(m), *a = NULL;
	unsigned op = OP_SUM + below(m, 8), ndim = (unsigned)braze_ndim(from), axes;

	if (!ndim)
		return;
	axes = below(m, 3) ? 1u << below(m, ndim) : (1u << ndim) - 1;
	/* Some are not defined for some types: then nothing is recorded. */
	if (!braze_reduce(&a, (int)op, from, axes, below(m, 2) != 0, -1, NULL))
		keep(m, a);
}

static void cast(struct maker *m)
{
	unsigned to = below(m, DTYPE_END);
	braze_array *a = NULL;

	if (!dtype_native(to))
		return;
	m->rc = braze_cast(&a, any(m), (int)to, m->err);
	if (!m->rc)
		keep(m, a);
}

/* Some part of a variable becomes another value, which may overlap it. */
static void write(struct maker *m)
{
	braze_array *to = any(m);

	/* Refused, before anything is recorded, where it does not fit. */
	braze_assign(to, operand(m, below(m, 2) != 0), NULL);
}

static void statement(struct maker *m)
{
	switch (below(m, 12)) {
	case 0:
		fresh(m);
		break;
	case 1:
	case 2:
		view(m);
		break;
	case 3:
		reduction(m);
		break;
	case 4:
		cast(m);
		break;
	case 5:
		write(m);
		break;
	default:
		elementwise(m);
	}
}

int check_random_make(const struct random_program *p, braze_session *s, braze_array **out, int *n,
		      int *ends, braze_error *err)
{
	struct maker m = {.rng = {p->seed}, .s = s, .err = err};

	for (int i = 0; i < 3 && !m.rc; i++)
		fresh(&m);
	for (unsigned i = 0; i < p->statements && !m.rc; i++)
		statement(&m);
	for (int i = 0; i < m.nend; i++)
		out[(*n)++] = m.end[i];
	for (int i = 0; i < m.n; i++)
		out[(*n)++] = m.pool[i];
	*ends = m.nend;
	return m.rc;
}

static int record(const void *data, braze_session *s, braze_array **out, int *n, braze_error *err)
{
	int ends;

	return check_random_make(data, s, out, n, &ends, err);
}

/* How many results may differ: recorded once, and dropped. */
static int count_ends(const struct both *b, const struct random_program *r)
{
	braze_array *out[BOTH_OUTPUTS] = {NULL};
	braze_error err = {0};
	int n = 0, ends = 0;

	check_random_make(r, b->session, out, &n, &ends, &err);
	for (int i = 0; i < n; i++)
		braze_release(out[i]);
	return ends;
}

struct random_program check_random_next(struct sample_rng *rng)
{
	uint64_t seed = sample_next(rng);

	return (struct random_program){seed, 6 + sample_below(rng, 20)};
}

void check_random(struct both *b, unsigned programs)
{
	struct sample_rng rng = {b->seed};

	if (!programs)
		programs = b->quick ? PROGRAMS_QUICK : PROGRAMS;
	tap_note("random programs, seed %llu", (unsigned long long)b->seed);
	for (unsigned i = 0; i < programs; i++) {
		struct random_program r = check_random_next(&rng);
		struct program p = {.record = record, .data = &r};
		int ends = count_ends(b, &r);

		for (int k = 0; k < ends; k++)
			p.rule[k] = SAME_ULPS_OF_ONE;
		snprintf(p.name, sizeof p.name, "program %u (%#llx), %u statements", i,
			 (unsigned long long)r.seed, r.statements);
		both_check(b, &p);
	}
}
