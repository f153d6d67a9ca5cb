/* SPDX-License-Identifier: Apache-2.0 */
/* worker/dense.c - see dense.h.
 *
 * Eigenvalues by turns in planes until nothing is left beside the diagonal (Jacobi), singular
 * values by turns of columns until they stand upright on each other. */
#include "dense.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

#define SWEEPS 60 /* over all pairs: a dozen are usual */

static bool goes(const struct dense_go *go)
{
	return !go || go->on(go->data);
}

static double size2(dense z)
{
	return creal(z) * creal(z) + cimag(z) * cimag(z);
}

static void swap(dense *a, dense *b)
{
	dense t = *a;

	*a = *b;
	*b = t;
}

/* Conjugated first column times second. */
static dense inner(const dense *a, const dense *b, int64_t n)
{
	dense sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += conj(a[i]) * b[i];
	return sum;
}

static double norm2(const dense *a, int64_t n)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += size2(a[i]);
	return sum;
}

/* ---- triangles ---- */

static double taxi(dense z) /* as LAPACK compares pivots */
{
	return fabs(creal(z)) + fabs(cimag(z));
}

/* a -= column * row, of what lies behind place k. */
static void eliminate(dense *a, int64_t n, int64_t k)
{
	for (int64_t j = k + 1; j < n; j++)
		for (int64_t i = k + 1; i < n; i++)
			a[i + j * n] -= a[i + k * n] * a[k + j * n];
}

int dense_lu(dense *a, int64_t n, int64_t *pivot, const struct dense_go *go)
{
	int info = 0;

	for (int64_t k = 0; k < n; k++) {
		int64_t best = k;

		if (!goes(go))
			return DENSE_STOPPED;
		for (int64_t i = k + 1; i < n; i++)
			if (taxi(a[i + k * n]) > taxi(a[best + k * n]))
				best = i;
		pivot[k] = best + 1;
		if (a[best + k * n] == 0) {
			info = info ? info : (int)(k + 1);
			continue;
		}
		for (int64_t j = 0; j < n && best != k; j++)
			swap(&a[k + j * n], &a[best + j * n]);
		for (int64_t i = k + 1; i < n; i++)
			a[i + k * n] /= a[k + k * n];
		eliminate(a, n, k);
	}
	return info;
}

int dense_lu_solve(const dense *lu, const int64_t *pivot, dense *b, int64_t n, int64_t count,
		   const struct dense_go *go)
{
	for (int64_t c = 0; c < count; c++) {
		dense *x = b + c * n;

		if (!goes(go))
			return DENSE_STOPPED;
		for (int64_t k = 0; k < n; k++)
			swap(&x[k], &x[pivot[k] - 1]);
		for (int64_t k = 0; k < n; k++)
			for (int64_t i = k + 1; i < n; i++)
				x[i] -= lu[i + k * n] * x[k];
		for (int64_t k = n; k-- > 0;) {
			x[k] /= lu[k + k * n];
			for (int64_t i = 0; i < k; i++)
				x[i] -= lu[i + k * n] * x[k];
		}
	}
	return 0;
}

int dense_cholesky(dense *a, int64_t n, const struct dense_go *go)
{
	for (int64_t k = 0; k < n; k++) {
		double d = creal(a[k + k * n]);

		if (!(d > 0))
			return (int)(k + 1);
		if (!goes(go))
			return DENSE_STOPPED;
		d = sqrt(d);
		a[k + k * n] = d;
		for (int64_t i = k + 1; i < n; i++)
			a[i + k * n] /= d;
		for (int64_t j = k + 1; j < n; j++)
			for (int64_t i = j; i < n; i++)
				a[i + j * n] -= a[i + k * n] * conj(a[j + k * n]);
	}
	return 0;
}

/* ---- reflectors ---- */

/* x[0] becomes what the column is turned into, the others the reflector; its factor. */
static dense reflector(dense *x, int64_t n)
{
	double rest = norm2(x + 1, n - 1), beta = 0;
	dense alpha = x[0], tau = 0;

	if (rest == 0 && cimag(alpha) == 0)
		return 0;
	beta = -copysign(sqrt(size2(alpha) + rest), creal(alpha));
	tau = (beta - creal(alpha)) / beta - cimag(alpha) / beta * I;
	for (int64_t i = 1; i < n; i++)
		x[i] /= alpha - beta;
	x[0] = beta;
	return tau;
}

/* column -= factor * v (v^H column), the first element of v being 1. */
static void reflect(dense *column, const dense *v, int64_t n, dense factor)
{
	dense sum = column[0] + inner(v + 1, column + 1, n - 1);

	sum *= factor;
	column[0] -= sum;
	for (int64_t i = 1; i < n; i++)
		column[i] -= v[i] * sum;
}

int dense_qr(dense *a, int64_t m, int64_t n, dense *tau, const struct dense_go *go)
{
	for (int64_t k = 0; k < n && k < m; k++) {
		dense *v = a + k + k * m;

		if (!goes(go))
			return DENSE_STOPPED;
		tau[k] = reflector(v, m - k);
		for (int64_t j = k + 1; j < n; j++)
			reflect(a + k + j * m, v, m - k, conj(tau[k]));
	}
	return 0;
}

int dense_q(dense *a, int64_t m, int64_t columns, int64_t count, const dense *tau,
	    const struct dense_go *go)
{
	for (int64_t j = count; j < columns; j++)
		for (int64_t i = 0; i < m; i++)
			a[i + j * m] = i == j;
	for (int64_t k = count; k-- > 0;) {
		dense *v = a + k + k * m;

		if (!goes(go))
			return DENSE_STOPPED;
		for (int64_t j = k + 1; j < columns; j++)
			reflect(a + k + j * m, v, m - k, tau[k]);
		for (int64_t i = 1; i < m - k; i++)
			v[i] *= -tau[k];
		v[0] = 1 - tau[k];
		for (int64_t i = 0; i < k; i++)
			a[i + k * m] = 0;
	}
	return 0;
}

/* ---- turns ---- */

/* Cosine and sine that make (p, r; r, q) diagonal, p and q its ends. */
static void turn_of(double *c, double *s, double p, double q, double r)
{
	double theta = (q - p) / (2 * r), t = 0;

	t = (theta < 0 ? -1 : 1) / (fabs(theta) + hypot(theta, 1));
	*c = 1 / hypot(t, 1);
	*s = t * *c;
}

/* b's phase is taken away, then both are turned. */
static void turn(dense *a, dense *b, int64_t n, int64_t step, dense phase, double c, double s)
{
	for (int64_t i = 0; i < n; i++) {
		dense p = a[i * step], q = b[i * step] * phase;

		a[i * step] = c * p - s * q;
		b[i * step] = s * p + c * q;
	}
}

/* One pair; v: what the turns are collected in. */
static void turn_pair(dense *a, dense *v, int64_t n, int64_t p, int64_t q)
{
	dense apq = a[p + q * n], phase = conj(apq) / cabs(apq);
	double c = 0, s = 0;

	turn_of(&c, &s, creal(a[p + p * n]), creal(a[q + q * n]), cabs(apq));
	turn(a + p * n, a + q * n, n, 1, phase, c, s);
	turn(a + p, a + q, n, n, conj(phase), c, s);
	turn(v + p * n, v + q * n, n, 1, phase, c, s);
}

/* 0 when nothing was left to turn. */
static int sweep_eigh(dense *a, dense *v, int64_t n, double tiny, const struct dense_go *go)
{
	int turned = 0;

	for (int64_t p = 0; p + 1 < n; p++) {
		if (!goes(go))
			return DENSE_STOPPED;
		for (int64_t q = p + 1; q < n; q++)
			if (!(cabs(a[p + q * n]) <= tiny)) {
				turn_pair(a, v, n, p, q);
				turned = 1;
			}
	}
	return turned;
}

/* By the numbers in `key`, in rising or falling order: columns of up to two matrices with them. */
static void order(double *key, dense *a, int64_t m, dense *b, int64_t n, int64_t count, bool falls)
{
	for (int64_t k = 0; k + 1 < count; k++) {
		int64_t best = k;
		double t = key[k];

		for (int64_t j = k + 1; j < count; j++)
			if (falls ? key[j] > key[best] : key[j] < key[best])
				best = j;
		key[k] = key[best];
		key[best] = t;
		for (int64_t i = 0; i < m && best != k; i++)
			swap(&a[i + k * m], &a[i + best * m]);
		for (int64_t i = 0; b && i < n && best != k; i++)
			swap(&b[i + k * n], &b[i + best * n]);
	}
}

/* The whole matrix from its lower triangle, and the unit matrix. */
static void begin_eigh(dense *a, dense *v, int64_t n)
{
	for (int64_t j = 0; j < n; j++)
		for (int64_t i = 0; i < n; i++) {
			v[i + j * n] = i == j;
			if (i == j)
				a[i + j * n] = creal(a[i + j * n]);
			else if (i > j)
				a[j + i * n] = conj(a[i + j * n]);
		}
}

int dense_eigh(dense *a, int64_t n, double *w, dense *v, const struct dense_go *go)
{
	int left = 1;
	double tiny = 0;

	begin_eigh(a, v, n);
	tiny = sqrt(norm2(a, n * n)) * DBL_EPSILON / 8 / (double)n;
	if (!isfinite(tiny))
		return 1;
	for (int k = 0; k < SWEEPS && left > 0; k++)
		left = sweep_eigh(a, v, n, tiny, go);
	for (int64_t k = 0; k < n; k++)
		w[k] = creal(a[k + k * n]);
	order(w, v, n, NULL, 0, n, false);
	return left;
}

/* Two columns; false: they stand upright, or one is nothing. */
static bool turn_columns(dense *a, int64_t m, int64_t n, dense *v, double tiny, int64_t p,
			 int64_t q)
{
	dense *x = a + p * m, *y = a + q * m, r = inner(x, y, m);
	double xx = norm2(x, m), yy = norm2(y, m), size = cabs(r), c = 0, s = 0;

	if (xx <= tiny || yy <= tiny || size <= 4 * DBL_EPSILON * sqrt(xx * yy))
		return false;
	turn_of(&c, &s, xx, yy, size);
	turn(x, y, m, 1, conj(r) / size, c, s);
	turn(v + p * n, v + q * n, n, 1, conj(r) / size, c, s);
	return true;
}

static int sweep_svd(dense *a, int64_t m, int64_t n, dense *v, double tiny,
		     const struct dense_go *go)
{
	int turned = 0;

	for (int64_t p = 0; p + 1 < n; p++) {
		if (!goes(go))
			return DENSE_STOPPED;
		for (int64_t q = p + 1; q < n; q++)
			turned |= turn_columns(a, m, n, v, tiny, p, q);
	}
	return turned;
}

/* Column k of u: some direction that stands upright on those before it. */
static int upright(dense *u, int64_t m, int64_t k, const struct dense_go *go)
{
	dense *x = u + k * m;

	for (int64_t e = 0; e < m && goes(go); e++) {
		double left = 0;

		for (int64_t i = 0; i < m; i++)
			x[i] = i == e;
		for (int64_t again = 0; again < 2; again++)
			for (int64_t j = 0; j < k; j++) {
				dense r = inner(u + j * m, x, m);

				for (int64_t i = 0; i < m; i++)
					x[i] -= r * u[i + j * m];
			}
		left = norm2(x, m);
		if (left * 2 * (double)m < (double)(m - k))
			continue;
		for (int64_t i = 0; i < m; i++)
			x[i] /= sqrt(left);
		return 0;
	}
	return DENSE_STOPPED;
}

static int fill_u(dense *u, const dense *a, int64_t m, int64_t n, int64_t columns, const double *s,
		  const struct dense_go *go)
{
	for (int64_t k = 0; k < columns; k++) {
		bool known = k < n && s[k] > s[0] * DBL_EPSILON * (double)m;

		if (!known && upright(u, m, k, go))
			return DENSE_STOPPED;
		for (int64_t i = 0; known && i < m; i++)
			u[i + k * m] = a[i + k * m] / s[k];
	}
	return 0;
}

int dense_svd(dense *a, int64_t m, int64_t n, double *s, dense *u, int64_t columns, dense *vt,
	      const struct dense_go *go)
{
	double all = norm2(a, m * n), tiny = all * DBL_EPSILON * DBL_EPSILON;
	int left = 1;

	if (!isfinite(all))
		return 1;
	for (int64_t k = 0; k < n * n; k++)
		vt[k] = k % (n + 1) == 0;
	for (int k = 0; k < SWEEPS && left > 0; k++)
		left = sweep_svd(a, m, n, vt, tiny, go);
	for (int64_t k = 0; k < n; k++)
		s[k] = sqrt(norm2(a + k * m, m));
	order(s, a, m, vt, n, n, true);
	if (u && left >= 0 && fill_u(u, a, m, n, columns, s, go))
		left = DENSE_STOPPED;
	for (int64_t j = 0; j < n; j++)
		for (int64_t i = 0; i <= j; i++) {
			dense t = conj(vt[i + j * n]);

			vt[i + j * n] = conj(vt[j + i * n]);
			vt[j + i * n] = t;
		}
	return left;
}
