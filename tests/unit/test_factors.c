/* SPDX-License-Identifier: Apache-2.0 */
/* Factors of matrices: the processor's loops against the matrix itself; the library step, and what
 * is none. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "call/factors.h"
#include "worker/dense.h"

#define LONGEST 24
#define ALL	(LONGEST * LONGEST)

static void fill(dense *x, int m, int n, bool real)
{
	for (int k = 0; k < m * n; k++)
		x[k] = sin(7.0 * k + 1) + cos(3.0 * k * k) + (real ? 0 : sin(5.0 * k)) * I;
}

/* a (m x k) times b (k x n), or times b's adjoint (n x k). */
static void multiply(dense *c, const dense *a, const dense *b, int m, int k, int n, bool adjoint)
{
	for (int i = 0; i < m; i++)
		for (int j = 0; j < n; j++) {
			dense sum = 0;

			for (int x = 0; x < k; x++)
				sum += a[i + x * m] * (adjoint ? conj(b[j + x * n]) : b[x + j * k]);
			c[i + j * m] = sum;
		}
}

static double off(const dense *a, const dense *b, int n)
{
	double most = 0;

	for (int k = 0; k < n; k++)
		most = fmax(most, cabs(a[k] - b[k]));
	return most;
}

/* How far columns are from standing upright on each other, each of length 1. */
static double lean(const dense *q, int m, int n)
{
	double most = 0;

	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) {
			dense sum = -(i == j);

			for (int k = 0; k < m; k++)
				sum += conj(q[k + i * m]) * q[k + j * m];
			most = fmax(most, cabs(sum));
		}
	return most;
}

Test(factors, triangles_solve)
{
	dense a[ALL], lu[ALL], b[ALL], x[ALL], c[ALL];
	int64_t pivot[LONGEST];

	for (int n = 1; n <= LONGEST; n++)
		for (int real = 0; real < 2; real++) {
			fill(a, n, n, real);
			fill(b, n, n, !real);
			memcpy(lu, a, sizeof a);
			memcpy(x, b, sizeof b);
			cr_assert_eq(dense_lu(lu, n, pivot, NULL), 0);
			dense_lu_solve(lu, pivot, x, n, n, NULL);
			multiply(c, a, x, n, n, n, false);
			memset(lu, 0, sizeof lu);
			cr_expect_lt(off(c, b, n * n), 1e-14 * n * (1 + off(x, lu, n * n)), "%d",
				     n);
		}
}

Test(factors, what_is_singular_or_not_positive)
{
	dense a[4] = {1, 2, 2, 4}, b[4] = {4, 1, 0, 0.25}, c[4] = {NAN, 1, 1, 1};
	int64_t pivot[2];

	cr_expect_eq(dense_lu(a, 2, pivot, NULL), 2);
	cr_expect(pivot[0] == 2 && pivot[1] == 2);
	cr_expect_eq(dense_cholesky(b, 2, NULL), 2);
	cr_expect_eq(dense_lu(c, 2, pivot, NULL), 0, "not a number is no zero");
}

Test(factors, roots)
{
	dense a[ALL], l[ALL], c[ALL];

	for (int n = 1; n <= LONGEST; n++) {
		fill(l, n, n, n % 2);
		multiply(a, l, l, n, n, n, true);
		for (int k = 0; k < n; k++)
			a[k + k * n] += 1;
		memcpy(l, a, sizeof a);
		cr_assert_eq(dense_cholesky(l, n, NULL), 0);
		for (int j = 0; j < n; j++)
			for (int i = 0; i < j; i++)
				l[i + j * n] = 0;
		multiply(c, l, l, n, n, n, true);
		cr_expect_lt(off(c, a, n * n), 1e-12 * n, "%d", n);
	}
}

static void check_qr(int m, int n)
{
	dense a[ALL], r[ALL], q[ALL], c[ALL], tau[LONGEST];
	int least = m < n ? m : n;

	fill(a, m, n, m % 2);
	memcpy(r, a, sizeof a);
	dense_qr(r, m, n, tau, NULL);
	memcpy(q, r, sizeof q);
	dense_q(q, m, m, least, tau, NULL);
	for (int j = 0; j < n; j++)
		for (int i = j + 1; i < m; i++)
			r[i + j * m] = 0;
	multiply(c, q, r, m, m, n, false);
	cr_expect_lt(off(c, a, m * n), 1e-13 * (m + n), "%d x %d", m, n);
	cr_expect_lt(lean(q, m, m), 1e-13);
}

Test(factors, reflectors)
{
	for (int m = 1; m <= LONGEST; m += 3)
		for (int n = 1; n <= LONGEST; n += 4)
			check_qr(m, n);
}

Test(factors, eigenvectors)
{
	dense a[ALL], b[ALL], v[ALL], c[ALL], d[ALL];
	double w[LONGEST];

	for (int n = 1; n <= LONGEST; n++) {
		fill(a, n, n, n % 2);
		for (int i = 0; i < n; i++)
			for (int j = 0; j <= i; j++)
				a[j + i * n] = i == j ? creal(a[i + i * n]) : conj(a[i + j * n]);
		memcpy(b, a, sizeof a);
		b[n * n - n] = n > 1 ? NAN : b[0]; /* above the diagonal */
		cr_assert_eq(dense_eigh(b, n, w, v, NULL), 0);
		cr_expect_lt(lean(v, n, n), 1e-13);
		multiply(c, a, v, n, n, n, false);
		for (int k = 0; k < n * n; k++)
			d[k] = v[k] * w[k / n];
		cr_expect_lt(off(c, d, n * n), 1e-12 * n, "%d", n);
		for (int k = 1; k < n; k++)
			cr_expect(w[k - 1] <= w[k]);
	}
	a[0] = NAN;
	cr_expect_neq(dense_eigh(a, 2, w, v, NULL), 0);
}

/* rank: columns behind it are like those before. */
static void check_svd(int m, int n, int rank)
{
	dense a[ALL], b[ALL], u[ALL], vt[ALL], c[ALL], d[ALL];
	double s[LONGEST];

	fill(a, m, n, m % 2);
	for (int k = rank * m; k < m * n; k++)
		a[k] = rank ? a[k - rank * m] : 0;
	memcpy(b, a, sizeof a);
	cr_assert_eq(dense_svd(b, m, n, s, u, m, vt, NULL), 0);
	cr_expect_lt(lean(u, m, m), 1e-13, "%d x %d of rank %d", m, n, rank);
	cr_expect_lt(lean(vt, n, n), 1e-13);
	for (int k = 0; k < m * n; k++)
		d[k] = u[k] * s[k / m];
	multiply(c, d, vt, m, n, n, false);
	cr_expect_lt(off(c, a, m * n), 1e-12 * m, "%d x %d of rank %d", m, n, rank);
	for (int k = 1; k < n; k++)
		cr_expect(s[k - 1] >= s[k]);
}

Test(factors, singular_vectors)
{
	for (int m = 1; m <= LONGEST; m += 3)
		for (int n = 1; n <= m; n += 2) {
			check_svd(m, n, n);
			check_svd(m, n, n / 2);
		}
}

static bool soon(void *data)
{
	return --*(int *)data > 0;
}

Test(factors, who_shall_not_go_on_stops)
{
	dense a[ALL], b[ALL], c[ALL];
	double w[LONGEST];
	int64_t pivot[LONGEST];

	for (int after = 1; after < 5; after++) {
		int left = after;
		struct dense_go go = {soon, &left};

		fill(a, 9, 9, true);
		cr_expect_eq(dense_lu(a, 9, pivot, &go), DENSE_STOPPED);
		cr_expect_eq(dense_lu_solve(a, pivot, b, 9, 2, &go), DENSE_STOPPED);
		left = after;
		cr_expect_eq(dense_qr(a, 9, 9, c, &go), DENSE_STOPPED);
		cr_expect_eq(dense_q(a, 9, 9, 9, c, &go), DENSE_STOPPED);
		left = after;
		cr_expect_eq(dense_eigh(a, 9, w, b, &go), DENSE_STOPPED);
		left = after;
		cr_expect_eq(dense_svd(a, 9, 9, w, b, 9, c, &go), DENSE_STOPPED);
		fill(a, 1, 1, true);
		a[0] = 1;
		left = 1;
		cr_expect_eq(dense_cholesky(a, 1, &go), DENSE_STOPPED);
	}
}

/* 6 matrices of 5 x 3, of which some columns of U are wanted. */
static struct plan_call plain(void)
{
	struct solver_layout lay;
	struct plan_call c = {
		.call = CALL_FACTORS,
		.dtype = DT_COMPLEX128,
		.op = OP_SOLVER,
		.nloop = FACTORS_LOOPS,
		.extent = {6, 3, 5, 0},
		.operand = {{.slot = 1,
			     .dtype = DT_COMPLEX128,
			     .at = SOLVER_SVD,
			     .stride = {240, 80, 16, 0}},
			    {.slot = 2, .dtype = DT_COMPLEX128, .stride = {0, 0, 0, 16}}}};

	cr_assert(solver_lay(&lay, SOLVER_SVD, DT_COMPLEX128, 5, 3));
	c.extent[FACTORS_RESULT] = lay.bytes / 16;
	c.operand[1].stride[FACTORS_MATRIX] = lay.bytes;
	c.operand[2] = c.operand[0];
	return c;
}

Test(factors, a_step_and_its_units)
{
	struct plan_call c = plain();
	struct call_units u;
	struct err err = {0};

	cr_assert_eq(call_check(&c, &err), OK, "%s", err.text);
	cr_assert_eq(call_of_op(OP_SOLVER), CALL_FACTORS);
	cr_assert_eq(factors_bytes(&c), 240);
	call_row(CALL_FACTORS)->units(&u, &c, true);
	cr_assert(u.total == 6 && u.work * 6 == call_row(CALL_FACTORS)->work(&c));
}

static void spoil(struct plan_call *c, int mistake)
{
	if (mistake == 0)
		c->op = OP_FFT;
	else if (mistake == 1)
		c->dtype = DT_COMPLEX64;
	else if (mistake == 2)
		c->operand[0].at = SOLVER_KINDS;
	else if (mistake == 3)
		c->operand[0].at = SOLVER_LU; /* not square */
	else if (mistake == 4)
		c->extent[FACTORS_RESULT]--;
	else if (mistake == 5)
		c->extent[FACTORS_MATRIX] = 0;
	else if (mistake == 6)
		c->operand[0].stride[FACTORS_COLUMN] = 96;
	else if (mistake == 7)
		c->operand[1].stride[FACTORS_MATRIX] -= 16;
	else if (mistake == 8)
		c->operand[2].slot = 3;
	else if (mistake == 9)
		c->operand[1].offset = 8;
	else if (mistake == 10)
		c->operand[2].offset = 16;
	else
		c->nloop--;
}

Test(factors, mistakes_of_a_step)
{
	struct err err;

	for (int mistake = 0; mistake < 12; mistake++) {
		struct plan_call c = plain();

		spoil(&c, mistake);
		cr_expect_eq(call_check(&c, &err), E_INTERNAL, "mistake %d", mistake);
	}
}

Test(factors, where_parts_lie)
{
	struct solver_layout l;

	cr_assert(solver_lay(&l, SOLVER_LU, DT_FLOAT32, 3, 3));
	cr_expect(l.part[0].at == 0 && l.part[1].at == 48 && l.part[SOLVER_INFO].at == 80 &&
		  l.bytes == 96);
	cr_assert(solver_lay(&l, SOLVER_SOLVE, DT_FLOAT64, 3, 5));
	cr_expect(l.columns == 3 && l.right == 2 && l.part[0].columns == 2);
	cr_assert(solver_lay(&l, SOLVER_SVD_ALL, DT_COMPLEX64, 5, 2));
	cr_expect(l.right == 5 && l.part[2].dtype == DT_FLOAT32 && l.part[2].ndim == 1);
	cr_assert(solver_lay(&l, SOLVER_QR_R, DT_FLOAT64, 2, 5));
	cr_expect(!l.part[1].rows && !l.right);
	cr_expect_not(solver_lay(&l, SOLVER_SOLVE, DT_FLOAT64, 3, 3));
	cr_expect_not(solver_lay(&l, SOLVER_SVD, DT_FLOAT64, 2, 3));
	cr_expect_not(solver_lay(&l, SOLVER_LU, DT_FLOAT64, 2, 3));
	cr_expect_not(solver_lay(&l, SOLVER_LU, DT_INT64, 3, 3));
	cr_expect_not(solver_lay(&l, SOLVER_LU, DT_FLOAT64, 0, 0));
	cr_expect_not(solver_lay(&l, SOLVER_LU, DT_FLOAT64, SOLVER_EXTENT + 1, SOLVER_EXTENT + 1));
	cr_expect_not(solver_lay(&l, SOLVER_KINDS, DT_FLOAT64, 3, 3));
	cr_assert(solver_lay(&l, SOLVER_SVD_ALL, DT_COMPLEX128, SOLVER_EXTENT, SOLVER_EXTENT));
	cr_expect_gt(l.bytes, 1ll << 60);
}

Test(factors, names)
{
	for (unsigned k = 0; k < SOLVER_KINDS; k++)
		cr_expect_eq(solver_find(solver_name(k)), (int)k);
	cr_expect_eq(solver_find("eig"), -1);
	cr_expect_null(solver_name(SOLVER_KINDS));
}
