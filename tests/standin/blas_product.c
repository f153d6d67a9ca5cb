/* SPDX-License-Identifier: Apache-2.0 */
/* blas_product.c - checks a product's arguments and computes it; see blas.h.
 *
 * Sums go up k in double precision and are rounded once, so they are nearer to the
 * truth than a GPU's; C is not read where beta is 0. */
#include "blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct matrix {
	CUdeviceptr at;
	int ld;
	long long step; /* elements */
	bool turned, conjugated;
};

struct product {
	const struct cu_private *driver;
	CUcontext context;
	CUdeviceptr workspace;
	size_t workspace_bytes;
	enum blas_element element;
	int m, n, k, count;
	double alpha[2], beta[2];
	struct matrix a, b, c;
};

/* ---- elements ---- */

static bool is_complex(enum blas_element e)
{
	return e == BLAS_C || e == BLAS_Z;
}

static size_t element_bytes(enum blas_element e)
{
	static const size_t bytes[] = {[BLAS_S] = 4, [BLAS_D] = 8, [BLAS_C] = 8, [BLAS_Z] = 16};

	return bytes[e];
}

static void load(double out[2], enum blas_element e, const char *from)
{
	float single[2] = {0, 0};

	out[1] = 0;
	if (e == BLAS_S || e == BLAS_C) {
		memcpy(single, from, element_bytes(e));
		out[0] = (double)single[0];
		out[1] = (double)single[1];
	} else {
		memcpy(out, from, element_bytes(e));
	}
}

static void store(char *to, enum blas_element e, const double value[2])
{
	float single[2] = {(float)value[0], (float)value[1]};

	memcpy(to, e == BLAS_S || e == BLAS_C ? (const void *)single : value, element_bytes(e));
}

/* ---- computing, in a stream's thread ---- */

/* op(x), rows by cols, in columns: real parts, then imaginary ones. */
static double *unpack(const struct product *p, const struct matrix *x, const char *from, int rows,
		      int cols)
{
	size_t size = element_bytes(p->element), total = (size_t)rows * (size_t)cols;
	double *out = malloc((2 * total + 1) * sizeof(double)), v[2];

	if (!out)
		abort();
	for (int j = 0; j < cols; j++)
		for (int i = 0; i < rows; i++) {
			size_t at = x->turned ? (size_t)i * (size_t)x->ld + (size_t)j
					      : (size_t)j * (size_t)x->ld + (size_t)i;

			load(v, p->element, from + at * size);
			out[(size_t)j * (size_t)rows + (size_t)i] = v[0];
			out[total + (size_t)j * (size_t)rows + (size_t)i] =
				x->conjugated ? -v[1] : v[1];
		}
	return out;
}

/* Contracted, as the library does it, and the worker's own kernel: so that a product of float64 has
 * the same bits by either, which tests use. */
static void add_column(double *sum, const double *column, double factor, int m)
{
	for (int i = 0; i < m; i++)
		sum[i] = fma(column[i], factor, sum[i]);
}

static void store_column(const struct product *p, const double *re, const double *im, char *to)
{
	size_t size = element_bytes(p->element);
	const double *s = p->alpha, *t = p->beta;

	for (int i = 0; i < p->m; i++, to += size) {
		double v[2] = {re[i] * s[0], 0}, old[2] = {0, 0};

		if (is_complex(p->element)) {
			v[0] = s[0] * re[i] - s[1] * im[i];
			v[1] = s[0] * im[i] + s[1] * re[i];
		}
		if (t[0] != 0 || t[1] != 0) {
			load(old, p->element, to);
			v[0] += t[0] * old[0] - t[1] * old[1];
			v[1] += t[0] * old[1] + t[1] * old[0];
		}
		store(to, p->element, v);
	}
}

static void multiply(const struct product *p, const char *a, const char *b, char *c)
{
	double *x = unpack(p, &p->a, a, p->m, p->k), *y = unpack(p, &p->b, b, p->k, p->n);
	double *sum = malloc(2 * (size_t)p->m * sizeof(double)), *im = sum + p->m;
	const double *x_im = x + (size_t)p->m * (size_t)p->k;
	const double *y_im = y + (size_t)p->k * (size_t)p->n;

	if (!sum)
		abort();
	for (int j = 0; j < p->n; j++) {
		memset(sum, 0, 2 * (size_t)p->m * sizeof(double));
		for (int l = 0; l < p->k; l++) {
			size_t at = (size_t)j * (size_t)p->k + (size_t)l;
			size_t column = (size_t)l * (size_t)p->m;

			add_column(sum, x + column, y[at], p->m);
			if (!is_complex(p->element))
				continue;
			add_column(sum, x_im + column, -y_im[at], p->m);
			add_column(im, x + column, y_im[at], p->m);
			add_column(im, x_im + column, y[at], p->m);
		}
		store_column(p, sum, im,
			     c + (size_t)j * (size_t)p->c.ld * element_bytes(p->element));
	}
	free(sum);
	free(x);
	free(y);
}

/* Host bytes of one matrix of a batch; NULL: the context is broken now. */
static char *matrix_at(const struct product *p, const struct matrix *x, int rows, int cols, int i,
		       const char *what)
{
	size_t size = element_bytes(p->element);
	CUdeviceptr at = x->at + (CUdeviceptr)(x->step * i) * size;
	size_t high = (size_t)(x->turned ? cols : rows), wide = (size_t)(x->turned ? rows : cols);
	size_t bytes = ((wide - 1) * (size_t)x->ld + high) * size;
	char *host = p->driver->host(at, bytes, x == &p->c);

	if (at % size)
		p->driver->fault(p->context, CUDA_ERROR_MISALIGNED_ADDRESS, what, at, bytes);
	else if (!host)
		p->driver->fault(p->context, CUDA_ERROR_ILLEGAL_ADDRESS, what, at, bytes);
	return at % size ? NULL : host;
}

static void compute(void *data)
{
	const struct product *p = data;

	if (!p->driver->host(p->workspace, p->workspace_bytes, true)) {
		p->driver->fault(p->context, CUDA_ERROR_ILLEGAL_ADDRESS, "cuBLAS: the workspace",
				 p->workspace, p->workspace_bytes);
		return;
	}
	for (int i = 0; i < p->count; i++) {
		const char *a = "", *b = "";
		char *c = matrix_at(p, &p->c, p->m, p->n, i, "cuBLAS: matrix C");

		if (c && p->k) {
			a = matrix_at(p, &p->a, p->m, p->k, i, "cuBLAS: matrix A");
			b = matrix_at(p, &p->b, p->k, p->n, i, "cuBLAS: matrix B");
		}
		if (!a || !b || !c)
			return;
		multiply(p, a, b, c);
	}
}

/* ---- arguments ---- */

static bool extents_ok(const struct product *p)
{
	int high_a = p->a.turned ? p->k : p->m, high_b = p->b.turned ? p->n : p->k;

	return p->m >= 0 && p->n >= 0 && p->k >= 0 && p->count >= 0 &&
	       p->a.ld >= (high_a > 1 ? high_a : 1) && p->b.ld >= (high_b > 1 ? high_b : 1) &&
	       p->c.ld >= (p->m > 1 ? p->m : 1);
}

static bool batches_ok(const struct product *p)
{
	long long extent = ((long long)p->n - 1) * p->c.ld + p->m;

	return p->count <= 1 || (p->a.step >= 0 && p->b.step >= 0 && p->c.step >= extent);
}

/* What braze promises: the same bits at every run. */
static const char *not_reproducible(cublasHandle_t h, bool wide)
{
	if (!h->stream_set)
		return "no stream was set";
	if (!h->workspace || !h->workspace_bytes)
		return "no workspace was set since the stream was";
	if (h->math != CUBLAS_PEDANTIC_MATH && !(wide && h->math == CUBLAS_DEFAULT_MATH))
		return "the arithmetic is not pedantic, or in double precision the usual";
	return h->atomics == CUBLAS_ATOMICS_NOT_ALLOWED ? NULL : "atomics are allowed";
}

static bool ops_ok(cublasOperation_t ta, cublasOperation_t tb)
{
	return (unsigned)ta <= CUBLAS_OP_C && (unsigned)tb <= CUBLAS_OP_C;
}

static cublasStatus_t gemm(const char *name, enum blas_element element, BLAS_PRODUCT_ARGUMENTS)
{
	cublasStatus_t status = blas_enter(name, h);
	const char *wrong = NULL;

	if (status)
		return status;
	wrong = not_reproducible(h, element == BLAS_D || element == BLAS_Z);
	if (!ops_ok(ta, tb) || !alpha || !beta)
		wrong = "an operation or a factor that is none";
	if (wrong)
		return blas_refuse(h, name, wrong);
	struct product p = {
		.driver = h->driver,
		.context = h->context,
		.workspace = h->workspace,
		.workspace_bytes = h->workspace_bytes,
		.element = element,
		.m = m,
		.n = n,
		.k = k,
		.count = count,
		.a = {(CUdeviceptr)(uintptr_t)a, lda, step_a, ta != CUBLAS_OP_N, ta == CUBLAS_OP_C},
		.b = {(CUdeviceptr)(uintptr_t)b, ldb, step_b, tb != CUBLAS_OP_N, tb == CUBLAS_OP_C},
		.c = {(CUdeviceptr)(uintptr_t)c, ldc, step_c, false, false},
	};
	load(p.alpha, element, alpha);
	load(p.beta, element, beta);
	if (!extents_ok(&p))
		return blas_refuse(h, name, "an extent or a leading dimension");
	if (!batches_ok(&p))
		return blas_refuse(h, name, "matrices of a batch that overlap, or lie backwards");
	if (m && n && count)
		h->driver->push(h->context, h->stream, compute, &p, sizeof(p));
	return status;
}

#define PRODUCT(name, element)                                                                     \
	cublasStatus_t name(BLAS_PRODUCT_ARGUMENTS)                                                \
	{                                                                                          \
		return gemm(#name, element, h, ta, tb, m, n, k, alpha, a, lda, step_a, b, ldb,     \
			    step_b, beta, c, ldc, step_c, count);                                  \
	}
BLAS_PRODUCTS(PRODUCT)
