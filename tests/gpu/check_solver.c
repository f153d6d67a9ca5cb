/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/check_solver.c - factors of matrices on the device: multiplied by plain loops they must give
 * the matrix again, and what must stand upright must do so.
 *
 * Residuals are the largest element's, over the largest of the matrix, in units that grow with the
 * extents.  A run on the CPU meanwhile is a fallback, which fails the check. */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sections.h"
#include "solver.h"
#include "tap.h"

#define ROOM  30.0 /* units in the last place, for each row and column */
#define STACK 3	   /* matrices */

typedef double complex number;

/* STACK matrices of m x n, and B behind them: column by column, one behind the other. */
struct matrices {
	unsigned kind, dtype;
	int64_t m, n, right;
	number *a;
	number *part[SOLVER_PARTS]; /* of all of them */
	int32_t info[STACK];
};

static bool is_complex(unsigned dtype)
{
	return dtype_row(dtype)->cls == CLASS_COMPLEX;
}

static void fill(struct matrices *t, uint64_t seed)
{
	struct sample_rng rng = {seed | 1};
	int64_t all = STACK * t->m * (t->n + t->right);

	t->a = calloc((size_t)all, sizeof *t->a);
	for (int64_t k = 0; t->a && k < all; k++) {
		float re = (float)(sample_next(&rng) >> 40) / (1 << 24) - 0.5f;
		float im = (float)(sample_next(&rng) >> 40) / (1 << 24) - 0.5f;

		t->a[k] = is_complex(t->dtype) ? CMPLX((double)re, (double)im) : (double)re;
	}
}

static number *matrix_of(const struct matrices *t, int64_t b)
{
	return t->a + b * t->m * (t->n + t->right);
}

/* Hermitian, and positive: the diagonal outweighs the rest. */
static void make_positive(struct matrices *t)
{
	for (int64_t b = 0; b < STACK; b++) {
		number *a = matrix_of(t, b);

		for (int64_t j = 0; j < t->n; j++) {
			a[j + j * t->m] = creal(a[j + j * t->m]) + (double)t->n;
			for (int64_t i = j + 1; i < t->n; i++)
				a[j + i * t->m] = conj(a[i + j * t->m]);
		}
	}
}

/* ---- on the device ---- */

/* The numbers as an array of STACK x columns x rows of the type. */
static int given(braze_array **out, braze_session *s, const struct matrices *t, braze_error *err)
{
	int64_t shape[3] = {STACK, t->n + t->right, t->m};
	braze_array *both = NULL, *real = NULL;
	int rc = braze_from_data(&both, s, DT_COMPLEX128, 3, shape, NULL, t->a, err);
	braze_arg arg = {.array = both};

	if (!rc && !is_complex(t->dtype))
		rc = braze_apply(&real, s, OP_REAL, 1, &arg, err);
	if (!rc)
		rc = braze_cast(out, real ? real : both, (int)t->dtype, err);
	braze_release(real);
	braze_release(both);
	return rc;
}

/* A part's numbers, column by column. */
static int fetch(number **out, braze_array *part, braze_error *err)
{
	static const int turned[3] = {0, 2, 1};
	braze_array *a = NULL, *b = NULL;
	int rc = braze_ndim(part) == 3 ? braze_transpose(&a, part, turned, err)
				       : braze_copy(&a, part, err);

	if (!rc)
		rc = braze_cast(&b, a, DT_COMPLEX128, err);
	if (!rc)
		*out = calloc((size_t)braze_size(b), sizeof **out);
	if (!rc)
		rc = braze_read(*out, b, err);
	braze_release(a);
	braze_release(b);
	return rc;
}

static void release(struct matrices *t)
{
	free(t->a);
	for (unsigned x = 0; x < SOLVER_PARTS; x++)
		free(t->part[x]);
}

static int factor(struct matrices *t, braze_session *s, braze_error *err)
{
	braze_array *a = NULL, *out[4] = {NULL};
	int rc = given(&a, s, t, err);

	if (!rc)
		rc = braze_factors(out, solver_name(t->kind), a, err);
	for (unsigned x = 0; x < SOLVER_PARTS && !rc; x++)
		if (out[x])
			rc = fetch(&t->part[x], out[x], err);
	if (!rc)
		rc = braze_read(t->info, out[SOLVER_INFO], err);
	braze_release(a);
	for (unsigned x = 0; x < 4; x++)
		braze_release(out[x]);
	return rc;
}

/* ---- plain loops ---- */

/* c -= a (m x k) times b (k x n, or where it is turned the adjoint of n x k). */
static void take_product(number *c, const number *a, const number *b, int64_t m, int64_t k,
			 int64_t n, bool turned)
{
	for (int64_t j = 0; j < n; j++)
		for (int64_t x = 0; x < k; x++) {
			number f = turned ? conj(b[j + x * n]) : b[x + j * k];

			for (int64_t i = 0; i < m; i++)
				c[i + j * m] -= a[i + x * m] * f;
		}
}

static double largest(const number *a, int64_t n)
{
	double most = 0;

	for (int64_t k = 0; k < n; k++)
		most = cabs(a[k]) <= most ? most : cabs(a[k]); /* not a number stays */
	return most;
}

/* How far columns are from standing upright on each other. */
static double lean(const number *q, int64_t m, int64_t n)
{
	double most = 0;

	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j <= i; j++) {
			number sum = -(i == j);

			for (int64_t k = 0; k < m; k++)
				sum += conj(q[k + i * m]) * q[k + j * m];
			most = cabs(sum) <= most ? most : cabs(sum);
		}
	return most;
}

static void cut(number *a, int64_t m, int64_t n, bool lower)
{
	for (int64_t j = 0; j < n; j++)
		for (int64_t i = 0; i < m; i++)
			if (lower ? i < j : i > j)
				a[i + j * m] = 0;
}

static void scale(number *a, int64_t m, int64_t n, const number *by)
{
	for (int64_t k = 0; k < m * n; k++)
		a[k] *= by[k / m];
}

/* Of one matrix, where parts have it: what is left of it, which is spoilt. */
struct one {
	const struct matrices *t;
	number *a, *part[SOLVER_PARTS];
	double lean;
};

static void take_lu(struct one *o)
{
	int64_t n = o->t->n;
	number *l = calloc((size_t)(n * n), sizeof *l);

	if (!l)
		return;
	memcpy(l, o->part[0], (size_t)(n * n) * sizeof *l);
	cut(l, n, n, true);
	cut(o->part[0], n, n, false);
	for (int64_t k = 0; k < n; k++) {
		int64_t other = (int64_t)creal(o->part[1][k]) - 1;

		l[k + k * n] = 1;
		for (int64_t j = 0; j < n && other >= 0 && other < n; j++) {
			number x = o->a[k + j * n];

			o->a[k + j * n] = o->a[other + j * n];
			o->a[other + j * n] = x;
		}
	}
	take_product(o->a, l, o->part[0], n, n, n, false);
	free(l);
}

/* A X - B, in B's place. */
static void take_solution(struct one *o)
{
	int64_t n = o->t->n;

	take_product(o->a + n * n, o->a, o->part[0], n, n, o->t->right, false);
	memset(o->a, 0, (size_t)(n * n) * sizeof *o->a);
}

static void take_qr(struct one *o)
{
	int64_t m = o->t->m, n = o->t->n, q = o->t->kind == SOLVER_QR_ALL || m < n ? m : n;
	number *r = o->part[0];

	cut(r, m, n, false);
	for (int64_t j = 0; j < n; j++) /* its first rows, without gaps */
		memmove(r + j * q, r + j * m, (size_t)q * sizeof *r);
	take_product(o->a, o->part[1], r, m, q, n, false);
	o->lean = lean(o->part[1], m, q);
}

static void take_svd(struct one *o)
{
	int64_t m = o->t->m, n = o->t->n;

	o->lean =
		fmax(lean(o->part[0], m, o->t->kind == SOLVER_SVD ? n : m), lean(o->part[1], n, n));
	scale(o->part[0], m, n, o->part[2]);
	take_product(o->a, o->part[0], o->part[1], m, n, n, false);
}

static void take_eigen(struct one *o)
{
	int64_t n = o->t->n;
	number *v = calloc((size_t)(n * n), sizeof *v);

	if (!v)
		return;
	memcpy(v, o->part[0], (size_t)(n * n) * sizeof *v);
	o->lean = lean(v, n, n);
	scale(v, n, n, o->part[1]);
	take_product(o->a, v, o->part[0], n, n, n, true);
	free(v);
}

static void take(struct one *o)
{
	switch (o->t->kind) {
	case SOLVER_LU:
		take_lu(o);
		break;
	case SOLVER_SOLVE:
		take_solution(o);
		break;
	case SOLVER_CHOLESKY:
		cut(o->part[0], o->t->n, o->t->n, true);
		take_product(o->a, o->part[0], o->part[0], o->t->n, o->t->n, o->t->n, true);
		break;
	case SOLVER_EIGH:
		take_eigen(o);
		break;
	case SOLVER_SVD:
	case SOLVER_SVD_ALL:
		take_svd(o);
		break;
	default:
		take_qr(o);
	}
}

/* Of all matrices, in units of what may be left. */
static double left(struct matrices *t)
{
	struct solver_layout lay;
	double unit = solver_real_bytes(t->dtype) == 8 ? 2.2e-16 : 1.2e-7, worst = 0;
	int64_t columns = t->n + t->right;

	(void)solver_lay(&lay, t->kind, t->dtype, t->m, columns);
	for (int64_t b = 0; b < STACK; b++) {
		struct one o = {.t = t, .a = matrix_of(t, b)};
		double size = largest(o.a, t->m * columns), most = 0;

		for (unsigned x = 0; x < SOLVER_PARTS; x++)
			o.part[x] = t->part[x] + b * lay.part[x].rows * lay.part[x].columns;
		if (t->kind == SOLVER_SOLVE)
			size *= fmax(1, largest(o.part[0], t->m * t->right));
		take(&o);
		most = fmax(largest(o.a, t->m * columns) / size, o.lean);
		most /= unit * (double)(t->m + t->n);
		worst = most <= worst ? worst : most; /* not a number is the worst */
	}
	return worst;
}

/* ---- checks ---- */

static bool is_hermitian(unsigned kind)
{
	return kind == SOLVER_CHOLESKY || kind == SOLVER_EIGH || kind == SOLVER_EIGVALSH;
}

static void check(struct both *b, unsigned kind, unsigned dtype, int64_t m, int64_t n)
{
	struct matrices t = {.kind = kind,
			     .dtype = dtype,
			     .m = m,
			     .n = n,
			     .right = kind == SOLVER_SOLVE ? 4 : 0};
	double runs = host_device(b->host, "cpu").runs, units = 0;
	braze_error err = {0};
	bool fell = false, told = false;

	fill(&t, b->seed + (uint64_t)(m * 1000 + n));
	if (is_hermitian(kind))
		make_positive(&t);
	err.code = factor(&t, b->session, &err);
	fell = host_device(b->host, "cpu").runs > runs;
	for (int k = 0; k < STACK; k++)
		told |= t.info[k] != 0;
	if (!err.code)
		units = left(&t);
	tap_result(!err.code && !fell && !told && units < ROOM,
		   "%s of %s, %d of %lld x %lld%s%s%s: %.3g units", solver_name(kind),
		   dtype_row(dtype)->name, STACK, (long long)m, (long long)n,
		   err.code ? ", "
		   : fell   ? ", on the CPU"
			    : "",
		   err.code ? err.text : "", told ? ", an info that is not 0" : "", units);
	release(&t);
}

/* Values alone, against those that come with vectors. */
static void check_values(struct both *b, unsigned alone, unsigned with, unsigned part,
			 unsigned dtype, int64_t n)
{
	struct matrices t = {.kind = alone, .dtype = dtype, .m = n, .n = n}, o = t;
	double unit = solver_real_bytes(dtype) == 8 ? 2.2e-16 : 1.2e-7, most = 0, size = 0;
	braze_error err = {0};

	o.kind = with;
	fill(&t, b->seed + (uint64_t)n);
	fill(&o, b->seed + (uint64_t)n);
	if (is_hermitian(alone)) {
		make_positive(&t);
		make_positive(&o);
	}
	err.code = factor(&t, b->session, &err);
	if (!err.code)
		err.code = factor(&o, b->session, &err);
	for (int64_t k = 0; k < STACK * n && !err.code; k++) {
		most = fmax(most, cabs(t.part[part][k] - o.part[part][k]));
		size = fmax(size, cabs(o.part[part][k]));
	}
	tap_result(!err.code && most <= ROOM * unit * (double)n * size,
		   "%s of %s, %d of %lld x %lld: %.3g apart%s%s", solver_name(alone),
		   dtype_row(dtype)->name, STACK, (long long)n, (long long)n, most,
		   err.code ? ", " : "", err.code ? err.text : "");
	release(&t);
	release(&o);
}

enum trouble { SINGULAR, NOT_POSITIVE, NOT_A_NUMBER };

/* The second of the matrices is in trouble at row and column `at`. */
static void trouble(struct both *b, unsigned kind, enum trouble what, int64_t n, int64_t at)
{
	struct matrices t = {
		.kind = kind, .dtype = DT_FLOAT64, .m = n, .n = n, .right = kind == SOLVER_SOLVE};
	braze_error err = {0};
	number *a = NULL;

	fill(&t, b->seed);
	make_positive(&t);
	a = matrix_of(&t, 1);
	if (what == SINGULAR) /* a column of zeros */
		memset(a + at * n, 0, (size_t)n * sizeof *a);
	else
		a[at + at * n] = what == NOT_POSITIVE ? -1 : NAN;
	err.code = factor(&t, b->session, &err);
	if (what == NOT_A_NUMBER)
		tap_note("%s with a number that is none: info %d %s", solver_name(kind), t.info[1],
			 err.code ? err.text : "");
	else
		tap_result(!err.code && !t.info[0] && t.info[1] == at + 1 && !t.info[2],
			   "%s of %lld x %lld, in trouble at %lld: info %d %d %d %s",
			   solver_name(kind), (long long)n, (long long)n, (long long)at + 1,
			   t.info[0], t.info[1], t.info[2], err.code ? err.text : "");
	release(&t);
}

static void check_trouble(struct both *b)
{
	static const int64_t at[] = {0, 5, 32, 79};

	for (unsigned k = 0; k < sizeof at / sizeof *at; k++) {
		trouble(b, SOLVER_LU, SINGULAR, 80, at[k]);
		trouble(b, SOLVER_SOLVE, SINGULAR, 80, at[k]);
		trouble(b, SOLVER_CHOLESKY, NOT_POSITIVE, 80, at[k]);
	}
	for (unsigned kind = SOLVER_LU; kind < SOLVER_KINDS; kind++)
		trouble(b, kind, NOT_A_NUMBER, 20, 3);
}

/* Seconds that the device takes for one matrix, after a first one; read is one word. */
static void time_one(struct both *b, unsigned kind, unsigned dtype, int64_t n)
{
	struct matrices t = {
		.kind = kind, .dtype = dtype, .m = n, .n = n, .right = kind == SOLVER_SOLVE};
	braze_array *a = NULL, *out[4] = {NULL};
	braze_error err = {0};
	int32_t info[STACK];
	double began = 0;
	char name[64];

	fill(&t, b->seed);
	if (is_hermitian(kind))
		make_positive(&t);
	err.code = given(&a, b->session, &t, &err);
	for (int turn = 0; turn < 2 && !err.code; turn++) {
		began = host_seconds();
		err.code = braze_factors(out, solver_name(kind), a, &err);
		if (!err.code)
			err.code = braze_read(info, out[SOLVER_INFO], &err);
		for (unsigned x = 0; x < 4; x++)
			braze_release(out[x]);
	}
	began = (host_seconds() - began) / STACK;
	snprintf(name, sizeof name, "%s of %s, %lld", solver_name(kind), dtype_row(dtype)->name,
		 (long long)n);
	tap_note("%s: %s%.4g s each", name, err.code ? err.text : "", began);
	if (!err.code)
		tap_figure("factors", name, began, "s");
	braze_release(a);
	release(&t);
}

static void time_all(struct both *b)
{
	static const int64_t sides[] = {8, 128, 1024, 2048};

	for (unsigned k = 0; k < sizeof sides / sizeof *sides; k++)
		for (unsigned kind = SOLVER_LU; kind < SOLVER_KINDS; kind++)
			time_one(b, kind, DT_FLOAT64, sides[k]);
}

static void check_type(struct both *b, unsigned dtype)
{
	static const int64_t sides[] = {1, 33, 2, 3, 16, 64, 100, 257, 400};
	unsigned count = b->quick ? 2 : sizeof sides / sizeof *sides;

	for (unsigned k = 0; k < count; k++) {
		int64_t n = sides[k];

		check(b, SOLVER_LU, dtype, n, n);
		check(b, SOLVER_SOLVE, dtype, n, n);
		check(b, SOLVER_CHOLESKY, dtype, n, n);
		check(b, SOLVER_EIGH, dtype, n, n);
		check_values(b, SOLVER_EIGVALSH, SOLVER_EIGH, 1, dtype, n);
		check_values(b, SOLVER_SVDVALS, SOLVER_SVD, 2, dtype, n);
		for (int64_t more = 0; more <= n; more += n) {
			check(b, SOLVER_QR, dtype, n + more, n);
			check(b, SOLVER_QR, dtype, n, n + more);
			check(b, SOLVER_QR_ALL, dtype, n + more, n);
			check(b, SOLVER_SVD, dtype, n + more, n);
			check(b, SOLVER_SVD_ALL, dtype, n + more, n);
		}
	}
}

void check_solver(struct both *b)
{
	static const unsigned types[] = {DT_FLOAT64, DT_COMPLEX128, DT_FLOAT32, DT_COMPLEX64};
	braze_error err = {0};
	int has = 0;

	tap_note("factors of matrices");
	braze_set_device(b->session, b->host->device, &err);
	if (braze_has_factors(&has, b->session, NULL, NULL, &err) || !has) {
		tap_result(false, "a library of factors of matrices: %s",
			   err.code ? err.text : "none");
		return;
	}
	for (unsigned k = 0; k < sizeof types / sizeof *types; k++)
		check_type(b, types[k]);
	check_trouble(b);
	if (!b->quick)
		time_all(b);
}
