/* SPDX-License-Identifier: Apache-2.0 */
/* blas_product.c - checks a product's arguments and computes it; see blas.h.
 *
 * Operands are rounded to TF32 where that is asked for.  Sums go up k in double precision and are
 * rounded once, so they are nearer to the truth than a GPU's; C is not read where beta is 0.  Sums
 * of bytes that leave 32 bits are held at the end of them, since nobody says that they wrap. */
#include "blas.h"
#include "half.h"

#include <math.h>
#include <stdint.h>
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
	enum blas_element element, out; /* of A and B, of C */
	bool tf32;			/* operands are rounded so */
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
	static const size_t bytes[] = {[BLAS_S] = 4, [BLAS_D] = 8,  [BLAS_C] = 8,  [BLAS_Z] = 16,
				       [BLAS_H] = 2, [BLAS_I8] = 1, [BLAS_I32] = 4};

	return bytes[e];
}

static void load(double out[2], enum blas_element e, const char *from)
{
	float single[2] = {0, 0};
	uint16_t half = 0;
	int32_t whole = 0;

	out[1] = 0;
	switch (e) {
	case BLAS_S:
	case BLAS_C:
		memcpy(single, from, element_bytes(e));
		out[0] = (double)single[0];
		out[1] = (double)single[1];
		break;
	case BLAS_H:
		memcpy(&half, from, sizeof(half));
		out[0] = half_value(half, T_F16);
		break;
	case BLAS_I8:
		out[0] = (double)*(const signed char *)from;
		break;
	case BLAS_I32:
		memcpy(&whole, from, sizeof(whole));
		out[0] = (double)whole;
		break;
	default:
		memcpy(out, from, element_bytes(e));
	}
}

/* To ten bits of mantissa: the nearest, the even one of two. */
static double tf32_value(double v)
{
	const uint32_t drop = 13;
	float single = (float)v;
	uint32_t bits = 0;

	if (!isfinite(v))
		return v;
	memcpy(&bits, &single, sizeof(bits));
	bits += (1u << (drop - 1)) - 1 + (bits >> drop & 1);
	bits &= ~((1u << drop) - 1);
	memcpy(&single, &bits, sizeof(single));
	return (double)single;
}

static void store(char *to, enum blas_element e, const double value[2])
{
	float single[2] = {(float)value[0], (float)value[1]};
	uint16_t half = 0;
	int32_t whole = 0;

	switch (e) {
	case BLAS_S:
	case BLAS_C:
		memcpy(to, single, element_bytes(e));
		break;
	case BLAS_H: /* what single precision has it rounded to, rounded again */
		half = half_round((double)single[0], T_F16, ROUND_RN);
		memcpy(to, &half, sizeof(half));
		break;
	case BLAS_I32:
		whole = (int32_t)fmax(INT32_MIN, fmin(INT32_MAX, value[0]));
		memcpy(to, &whole, sizeof(whole));
		break;
	default:
		memcpy(to, value, element_bytes(e));
	}
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
			if (p->tf32) {
				v[0] = tf32_value(v[0]);
				v[1] = tf32_value(v[1]);
			}
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
	size_t size = element_bytes(p->out);
	const double *s = p->alpha, *t = p->beta;

	for (int i = 0; i < p->m; i++, to += size) {
		double v[2] = {re[i] * s[0], 0}, old[2] = {0, 0};

		if (is_complex(p->element)) {
			v[0] = s[0] * re[i] - s[1] * im[i];
			v[1] = s[0] * im[i] + s[1] * re[i];
		}
		if (t[0] != 0 || t[1] != 0) {
			load(old, p->out, to);
			v[0] += t[0] * old[0] - t[1] * old[1];
			v[1] += t[0] * old[1] + t[1] * old[0];
		}
		store(to, p->out, v);
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
		store_column(p, sum, im, c + (size_t)j * (size_t)p->c.ld * element_bytes(p->out));
	}
	free(sum);
	free(x);
	free(y);
}

/* Host bytes of one matrix of a batch; NULL: the context is broken now. */
static char *matrix_at(const struct product *p, const struct matrix *x, int rows, int cols, int i,
		       const char *what)
{
	size_t size = element_bytes(x == &p->c ? p->out : p->element);
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

/* The arithmetic that braze promises for a type. */
static bool math_ok(int math, enum blas_element e, bool tf32)
{
	int whole = CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION, plain = math & ~whole;

	if (e == BLAS_H)
		return plain == CUBLAS_DEFAULT_MATH && math & whole;
	if (tf32)
		return plain == CUBLAS_DEFAULT_MATH;
	if (e == BLAS_I8 || e == BLAS_D || e == BLAS_Z)
		return plain == CUBLAS_DEFAULT_MATH || plain == CUBLAS_PEDANTIC_MATH;
	return plain == CUBLAS_PEDANTIC_MATH;
}

/* What braze promises: the same bits at every run. */
static const char *not_reproducible(cublasHandle_t h, enum blas_element e, bool tf32)
{
	if (!h->stream_set)
		return "no stream was set";
	if (!h->workspace || !h->workspace_bytes)
		return "no workspace was set since the stream was";
	if (!math_ok(h->math, e, tf32))
		return "the arithmetic is not pedantic; in double precision not that or the "
		       "usual; in half precision not the usual with whole sums";
	return h->atomics == CUBLAS_ATOMICS_NOT_ALLOWED ? NULL : "atomics are allowed";
}

static bool ops_ok(cublasOperation_t ta, cublasOperation_t tb)
{
	return (unsigned)ta <= CUBLAS_OP_C && (unsigned)tb <= CUBLAS_OP_C;
}

/* Bytes: A turned and B not, both and their leading dimensions at multiples of four, and so the
 * extents along which they lie. */
static const char *bytes_wrong(const struct product *p)
{
	long long steps = p->count > 1 ? p->a.step | p->b.step : 0;

	if (!p->a.turned || p->b.turned)
		return "bytes that do not lie along the inner axis";
	if ((p->a.at | p->b.at | p->c.at | (CUdeviceptr)steps) % 4)
		return "bytes that begin at no multiple of four";
	if ((p->a.ld | p->b.ld | p->c.ld | p->m | p->k) % 4)
		return "bytes in no multiples of four";
	return NULL;
}

static cublasStatus_t gemm(const char *name, struct product *p, cublasOperation_t ta,
			   cublasOperation_t tb, cublasHandle_t h, const void *alpha,
			   const void *beta)
{
	enum blas_element scale = p->element == BLAS_H	  ? BLAS_S
				  : p->element == BLAS_I8 ? BLAS_I32
							  : p->element;
	const char *wrong = not_reproducible(h, p->element, p->tf32);

	if (!ops_ok(ta, tb) || !alpha || !beta)
		wrong = "an operation or a factor that is none";
	if (wrong)
		return blas_refuse(h, name, wrong);
	p->driver = h->driver;
	p->context = h->context;
	p->workspace = h->workspace;
	p->workspace_bytes = h->workspace_bytes;
	p->a.turned = ta != CUBLAS_OP_N;
	p->a.conjugated = ta == CUBLAS_OP_C;
	p->b.turned = tb != CUBLAS_OP_N;
	p->b.conjugated = tb == CUBLAS_OP_C;
	load(p->alpha, scale, alpha);
	load(p->beta, scale, beta);
	if (!extents_ok(p))
		return blas_refuse(h, name, "an extent or a leading dimension");
	if (!batches_ok(p))
		return blas_refuse(h, name, "matrices of a batch that overlap, or lie backwards");
	wrong = p->element == BLAS_I8 ? bytes_wrong(p) : NULL;
	if (wrong)
		return blas_refuse(h, name, wrong);
	if (p->m && p->n && p->count)
		h->driver->push(h->context, h->stream, compute, p, sizeof(*p));
	return CUBLAS_STATUS_SUCCESS;
}

#define PRODUCT_OF(e, o)                                                                           \
	{                                                                                          \
		.element = (e), .out = (o), .m = m, .n = n, .k = k, .count = count,                \
		.a = {(CUdeviceptr)(uintptr_t)a, lda, step_a, false, false},                       \
		.b = {(CUdeviceptr)(uintptr_t)b, ldb, step_b, false, false},                       \
		.c = {(CUdeviceptr)(uintptr_t)c, ldc, step_c, false, false},                       \
	}

/* The types that braze asks for. */
static bool types_ok(struct product *p, cudaDataType_t a, cudaDataType_t b, cudaDataType_t c,
		     cublasComputeType_t compute)
{
	static const struct {
		cudaDataType_t read, written;
		cublasComputeType_t compute;
		enum blas_element element, out;
	} taken[] = {{CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, BLAS_H, BLAS_H},
		     {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, BLAS_H, BLAS_S},
		     {CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, BLAS_I8, BLAS_I32},
		     {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, BLAS_S, BLAS_S},
		     {CUDA_C_32F, CUDA_C_32F, CUBLAS_COMPUTE_32F_FAST_TF32, BLAS_C, BLAS_C}};

	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		if (taken[i].read != a || b != a || taken[i].written != c ||
		    taken[i].compute != compute)
			continue;
		p->element = taken[i].element;
		p->out = taken[i].out;
		p->tf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32;
		return true;
	}
	return false;
}

cublasStatus_t cublasGemmStridedBatchedEx(BLAS_EX_ARGUMENTS)
{
	cublasStatus_t status = blas_enter(__func__, h);
	struct product p = PRODUCT_OF(BLAS_H, BLAS_H);

	if (status)
		return status;
	if (!types_ok(&p, type_a, type_b, type_c, compute)) {
		(void)blas_refuse(h, __func__, "types and a way to add up that do not go together");
		return CUBLAS_STATUS_NOT_SUPPORTED;
	}
	if (algo != CUBLAS_GEMM_DEFAULT)
		return blas_refuse(h, __func__, "a way of its own");
	return gemm(__func__, &p, ta, tb, h, alpha, beta);
}

#define PRODUCT(name, element)                                                                     \
	cublasStatus_t name(BLAS_PRODUCT_ARGUMENTS)                                                \
	{                                                                                          \
		cublasStatus_t status = blas_enter(#name, h);                                      \
		struct product p = PRODUCT_OF(element, element);                                   \
                                                                                                   \
		return status ? status : gemm(#name, &p, ta, tb, h, alpha, beta);                  \
	}
BLAS_PRODUCTS(PRODUCT)
