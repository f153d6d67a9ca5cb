/* SPDX-License-Identifier: Apache-2.0 */
/* solver_exec.c - what is wrong with a call, what it works with, and its factors; see solver.h. */
#include "solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/worker/dense.h"

#define SPOILT 0xdd /* what is left where nothing is promised */

unsigned solver_bytes(int type)
{
	switch (type) {
	case CUDA_R_32F:
		return 4;
	case CUDA_R_64F:
	case CUDA_C_32F:
		return 8;
	default:
		return type == CUDA_C_64F ? 16 : 0;
	}
}

static bool is_wide(int type)
{
	return type == CUDA_R_64F || type == CUDA_C_64F;
}

size_t solver_work(const struct solver_call *c)
{
	size_t each = solver_bytes(c->type), m = (size_t)c->m, n = (size_t)c->n;

	switch (c->function) {
	case FN_LU:
		return (m + 64) * each;
	case FN_LU_SOLVE:
		return 0;
	case FN_CHOLESKY:
		return n * each;
	case FN_QR:
		return (m + 2 * n) * each;
	case FN_Q:
		return (2 * m + n) * each;
	case FN_EIGH:
		return (n * n + n) * each;
	default:
		return (3 * m + n + (c->vectors ? n * n : 0)) * each;
	}
}

size_t solver_host(const struct solver_call *c)
{
	bool any = c->function == FN_EIGH || c->function == FN_SVD || c->function == FN_QR;

	return any ? 64 + (size_t)c->n : 0;
}

static size_t line_bytes(const struct solver_call *c)
{
	int64_t least = c->m < c->n ? c->m : c->n;

	switch (c->function) {
	case FN_LU:
	case FN_LU_SOLVE:
		return (size_t)c->n * sizeof(int64_t);
	case FN_QR:
		return (size_t)least * solver_bytes(c->type);
	case FN_Q:
		return (size_t)c->k * solver_bytes(c->type);
	case FN_CHOLESKY:
		return 0;
	default:
		return (size_t)c->n * solver_bytes(c->real);
	}
}

/* Does a call read or write one byte as two things? */
static bool overlaps(const struct solver_call *c)
{
	size_t each = solver_bytes(c->type), m = (size_t)c->m, n = (size_t)c->n, k = (size_t)c->k;
	const struct {
		CUdeviceptr at;
		size_t bytes;
	} all[] = {{c->a, m * n * each},
		   {c->b, c->b ? m * k * each : 0},
		   {c->c, c->c && c->vectors ? n * n * each : 0},
		   {c->line, c->line ? line_bytes(c) : 0},
		   {c->info, c->info ? sizeof(int) : 0}};

	for (size_t x = 0; x < sizeof all / sizeof *all; x++)
		for (size_t y = 0; y < x; y++)
			if (all[x].at < all[y].at + all[y].bytes &&
			    all[y].at < all[x].at + all[x].bytes)
				return true;
	return false;
}

const char *solver_wrong(const struct solver_call *c)
{
	bool real = c->function == FN_EIGH || c->function == FN_SVD;

	if (!solver_bytes(c->type))
		return "a type that is none";
	if (real && c->real != (is_wide(c->type) ? CUDA_R_64F : CUDA_R_32F))
		return "values of another type";
	if (c->m < 1 || c->n < 1)
		return "extents, types or settings that braze never asks for";
	if (c->function == FN_LU && c->m != c->n)
		return "a matrix that is not square";
	return overlaps(c) ? "results that overlap" : NULL;
}

/* ---- in a stream's thread ---- */

/* Host bytes of what a call touches; NULL: the context is broken now. */
static char *find(const struct solver_call *c, CUdeviceptr at, size_t bytes, bool write,
		  const char *what)
{
	struct solver_handle *h = c->handle;
	char *host = h->driver->host(at, bytes, write);

	if (!host)
		h->driver->fault(h->context, CUDA_ERROR_ILLEGAL_ADDRESS, what, at, bytes);
	return host;
}

static void load(dense *to, const char *from, int64_t n, int type)
{
	for (int64_t k = 0; k < n; k++) {
		double wide[2] = {0, 0};
		float single[2] = {0, 0};

		memcpy(is_wide(type) ? (void *)wide : single, from + (size_t)k * solver_bytes(type),
		       solver_bytes(type));
		to[k] = is_wide(type) ? CMPLX(wide[0], wide[1])
				      : CMPLX((double)single[0], (double)single[1]);
	}
}

static void store(char *to, const dense *from, int64_t n, int type)
{
	for (int64_t k = 0; k < n; k++) {
		const double wide[2] = {creal(from[k]), cimag(from[k])};
		const float single[2] = {(float)wide[0], (float)wide[1]};

		memcpy(to + (size_t)k * solver_bytes(type),
		       is_wide(type) ? (const void *)wide : single, solver_bytes(type));
	}
}

/* What a call reads and writes besides the matrix, on the host, and as numbers. */
struct spots {
	char *a, *b, *c, *line, *work, *info;
	dense *x, *y, *z;
	double *real;
};

static bool find_all(struct spots *s, const struct solver_call *c)
{
	size_t each = solver_bytes(c->type), m = (size_t)c->m, n = (size_t)c->n, k = (size_t)c->k;
	bool reads = c->function == FN_LU_SOLVE, svd = c->function == FN_SVD && c->vectors;
	size_t line = line_bytes(c);

	s->a = find(c, c->a, m * n * each, !reads, "cuSOLVER: the matrix");
	s->info = s->a ? find(c, c->info, sizeof(int), true, "cuSOLVER: info") : NULL;
	if (!s->info)
		return false;
	if (line) {
		s->line = find(c, c->line, line, !(reads || c->function == FN_Q),
			       "cuSOLVER: pivots or values");
		if (!s->line)
			return false;
	}
	if (reads || svd) {
		s->b = find(c, c->b, m * k * each, true, "cuSOLVER: B or U");
		s->c = s->b && svd ? find(c, c->c, n * n * each, true, "cuSOLVER: V^H") : s->b;
		if (!s->c)
			return false;
	}
	if (c->nwork)
		s->work = find(c, c->work, solver_work(c), true, "cuSOLVER: the work area");
	return s->work || !c->nwork;
}

static void *numbers(size_t n, size_t each)
{
	void *p = calloc(n ? n : 1, each);

	if (!p)
		abort();
	return p;
}

static void store_real(const struct spots *s, const struct solver_call *c)
{
	for (int64_t k = 0; k < c->n; k++)
		if (is_wide(c->type))
			memcpy(s->line + 8 * k, &s->real[k], 8);
		else
			memcpy(s->line + 4 * k, &(float){(float)s->real[k]}, 4);
}

static int eigen(const struct spots *s, const struct solver_call *c)
{
	int info = dense_eigh(s->x, c->n, s->real, s->y, NULL);

	store_real(s, c);
	for (int64_t k = 0; k < c->n * c->n; k++)
		s->x[k] = c->vectors ? s->y[k] : NAN;
	return info;
}

static int singular(const struct spots *s, const struct solver_call *c)
{
	int info = dense_svd(s->x, c->m, c->n, s->real, c->vectors ? s->y : NULL, c->k, s->z, NULL);

	store_real(s, c);
	if (c->vectors) {
		store(s->b, s->y, c->m * c->k, c->type);
		store(s->c, s->z, c->n * c->n, c->type);
	}
	for (int64_t k = 0; k < c->m * c->n; k++)
		s->x[k] = NAN;
	return info;
}

static int cholesky(const struct spots *s, const struct solver_call *c)
{
	int info = dense_cholesky(s->x, c->n, NULL);

	for (int64_t j = 0; j < c->n; j++)
		for (int64_t i = 0; i < j; i++)
			s->x[i + j * c->n] = NAN;
	return info;
}

static int factor(const struct spots *s, const struct solver_call *c)
{
	int64_t *pivot = (int64_t *)(void *)s->line, least = c->m < c->n ? c->m : c->n;

	switch (c->function) {
	case FN_LU:
		return dense_lu(s->x, c->n, pivot, NULL);
	case FN_LU_SOLVE:
		load(s->y, s->b, c->n * c->k, c->type);
		dense_lu_solve(s->x, pivot, s->y, c->n, c->k, NULL);
		store(s->b, s->y, c->n * c->k, c->type);
		return 0;
	case FN_CHOLESKY:
		return cholesky(s, c);
	case FN_QR:
		dense_qr(s->x, c->m, c->n, s->y, NULL);
		store(s->line, s->y, least, c->type);
		return 0;
	case FN_Q:
		load(s->y, s->line, c->k, c->type);
		dense_q(s->x, c->m, c->n, c->k, s->y, NULL);
		return 0;
	case FN_EIGH:
		return eigen(s, c);
	default:
		return singular(s, c);
	}
}

static void compute(void *data)
{
	const struct solver_call *c = data;
	size_t n = (size_t)c->n, m = (size_t)c->m, k = (size_t)c->k, most = k > n ? k : n;
	struct spots s = {0};
	int info = 0;

	if (find_all(&s, c)) {
		s.x = numbers(m * n, sizeof *s.x);
		s.y = numbers((m > n ? m : n) * most, sizeof *s.y);
		s.z = numbers(n * n, sizeof *s.z);
		s.real = numbers(n, sizeof *s.real);
		load(s.x, s.a, c->m * c->n, c->type);
		info = factor(&s, c);
		if (c->function != FN_LU_SOLVE)
			store(s.a, s.x, c->m * c->n, c->type);
		if (s.work)
			memset(s.work, SPOILT, solver_work(c));
		memcpy(s.info, &info, sizeof info);
		free(s.x);
		free(s.y);
		free(s.z);
		free(s.real);
	}
	atomic_fetch_sub(&c->handle->pending, 1);
}

void solver_push(const struct solver_call *c)
{
	struct solver_handle *h = c->handle;

	atomic_fetch_add(&h->pending, 1);
	h->driver->push(h->context, h->stream, compute, c, sizeof *c);
}
