/* SPDX-License-Identifier: Apache-2.0 */
/* worker/dft.c - see dft.h. */
#include "dft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FEW  12				      /* elements whose sums are as quick */
#define TURN 6.283185307179586476925286766559 /* 2 pi */

struct dft {
	int64_t n, m;	/* m: a power of two; n itself, or what it is convolved in */
	bool sums;	/* by the sum itself */
	double *turn;	/* exp(-2 pi i k / m), k < m / 2; of sums all n */
	double *chirp;	/* exp(-pi i k^2 / n), k < n; NULL: n is a power of two */
	double *kernel; /* transformed, over m */
};

/* exp(-2 pi i k / n) */
static void unit(double out[2], int64_t k, int64_t n)
{
	double angle = -TURN * ((double)k / (double)n);

	/* An eighth of the circle at most, where sine and cosine are exact to the last bit or so.
	 */
	if (8 * k > n) {
		int64_t quarter = (4 * k + n / 2) / n;

		angle = -TURN * ((double)(4 * k - quarter * n) / (4 * (double)n));
		double s = sin(angle), c = cos(angle);
		const double re[4] = {c, s, -c, -s}, im[4] = {s, -c, -s, c};

		out[0] = re[quarter % 4];
		out[1] = im[quarter % 4];
		return;
	}
	out[0] = cos(angle);
	out[1] = sin(angle);
}

static double *units(int64_t count, int64_t n)
{
	double *t = malloc(2 * sizeof *t * (size_t)(count ? count : 1));

	for (int64_t k = 0; t && k < count; k++)
		unit(t + 2 * k, k, n);
	return t;
}

static void times(double *x, const double *y, double sign)
{
	double re = x[0] * y[0] - sign * x[1] * y[1], im = x[0] * y[1] * sign + x[1] * y[0];

	x[0] = re;
	x[1] = im;
}

static void reverse_bits(double *x, int64_t m)
{
	for (int64_t i = 1, j = 0; i < m; i++) {
		int64_t bit = m >> 1;

		for (; j & bit; bit >>= 1)
			j ^= bit;
		j ^= bit;
		for (int k = 0; i < j && k < 2; k++) {
			double held = x[2 * i + k];

			x[2 * i + k] = x[2 * j + k];
			x[2 * j + k] = held;
		}
	}
}

static void halves(const double *turn, double *x, int64_t m, bool inverse)
{
	double sign = inverse ? -1 : 1;

	reverse_bits(x, m);
	for (int64_t half = 1; half < m; half *= 2)
		for (int64_t at = 0; at < m; at += 2 * half)
			for (int64_t k = 0; k < half; k++) {
				double *a = x + 2 * (at + k), *b = a + 2 * half;

				times(b, turn + 2 * k * (m / 2 / half), sign);
				double re = b[0], im = b[1];

				b[0] = a[0] - re;
				b[1] = a[1] - im;
				a[0] += re;
				a[1] += im;
			}
}

static void sums(const struct dft *d, double *x, double *work, bool inverse)
{
	memcpy(work, x, 2 * sizeof *x * (size_t)d->n);
	for (int64_t k = 0; k < d->n; k++) {
		double sum[2] = {0, 0};

		for (int64_t j = 0; j < d->n; j++) {
			double term[2] = {work[2 * j], work[2 * j + 1]};

			times(term, d->turn + 2 * (j * k % d->n), inverse ? -1 : 1);
			sum[0] += term[0];
			sum[1] += term[1];
		}
		x[2 * k] = sum[0];
		x[2 * k + 1] = sum[1];
	}
}

/* Sum over j of x[j] c[j] conj(c[k - j]), times c[k], where c is the chirp. */
static void convolve(const struct dft *d, double *x, double *work, bool inverse)
{
	double sign = inverse ? -1 : 1;

	memset(work, 0, 2 * sizeof *work * (size_t)d->m);
	for (int64_t k = 0; k < d->n; k++) {
		memcpy(work + 2 * k, x + 2 * k, 2 * sizeof *x);
		work[2 * k + 1] *= sign; /* backwards: of the conjugate, conjugated */
		times(work + 2 * k, d->chirp + 2 * k, 1);
	}
	halves(d->turn, work, d->m, false);
	for (int64_t k = 0; k < d->m; k++)
		times(work + 2 * k, d->kernel + 2 * k, 1);
	halves(d->turn, work, d->m, true);
	for (int64_t k = 0; k < d->n; k++) {
		times(work + 2 * k, d->chirp + 2 * k, 1);
		x[2 * k] = work[2 * k];
		x[2 * k + 1] = sign * work[2 * k + 1];
	}
}

/* The chirp, and the transform of its conjugate around 0. */
static bool make_chirp(struct dft *d)
{
	double scale = 1 / (double)d->m;

	d->chirp = malloc(2 * sizeof *d->chirp * (size_t)d->n);
	d->kernel = calloc(2 * (size_t)d->m, sizeof *d->kernel);
	if (!d->chirp || !d->kernel)
		return false;
	for (int64_t k = 0, square = 0; k < d->n; k++) {
		unit(d->chirp + 2 * k, square, 2 * d->n);
		square = (square + 2 * k + 1) % (2 * d->n);
		for (int side = 0; side < 2; side++) {
			double *to = d->kernel + 2 * (side && k ? d->m - k : k);

			to[0] = d->chirp[2 * k] * scale;
			to[1] = -d->chirp[2 * k + 1] * scale;
		}
	}
	halves(d->turn, d->kernel, d->m, false);
	return true;
}

void dft_real_ends(double *x, int64_t n)
{
	x[1] = 0;
	if (n % 2 == 0)
		x[n + 1] = 0;
}

void dft_complete(double *x, int64_t n)
{
	dft_real_ends(x, n);
	for (int64_t k = 1; k < n - k; k++) {
		x[2 * (n - k)] = x[2 * k];
		x[2 * (n - k) + 1] = -x[2 * k + 1];
	}
}

struct dft *dft_create(int64_t n)
{
	struct dft *d = calloc(1, sizeof *d);
	bool power = !(n & (n - 1)), made = d != NULL;

	if (!d)
		return NULL;
	*d = (struct dft){.n = n, .m = 1, .sums = n <= FEW && !power};
	while (d->m < (power ? n : 2 * n - 1))
		d->m *= 2;
	d->turn = d->sums ? units(n, n) : units(d->m / 2, d->m);
	made = d->turn && (power || d->sums || make_chirp(d));
	if (!made) {
		dft_destroy(d);
		return NULL;
	}
	return d;
}

void dft_destroy(struct dft *d)
{
	if (!d)
		return;
	free(d->turn);
	free(d->chirp);
	free(d->kernel);
	free(d);
}

size_t dft_work(const struct dft *d)
{
	return 2 * (size_t)(d->chirp ? d->m : d->sums ? d->n : 1);
}

void dft_run(const struct dft *d, double *x, double *work, bool inverse)
{
	if (d->sums)
		sums(d, x, work, inverse);
	else if (d->chirp)
		convolve(d, x, work, inverse);
	else
		halves(d->turn, x, d->m, inverse);
}
