/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for cuBLAS: what it computes, what it refuses, what it breaks. */
#include "blas.h"
#include "harness.h"
#include <complex.h>
#include <dlfcn.h>
#include <unistd.h>

#define WORKSPACE (1u << 20)

static CUstream stream(void)
{
	CUstream s;

	GOOD(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	return s;
}

static void *address(CUdeviceptr p)
{
	return (void *)(uintptr_t)p;
}

/* A handle as braze sets it. */
static cublasHandle_t handle(CUstream s)
{
	cublasHandle_t h;

	GOOD(cublasCreate_v2(&h));
	GOOD(cublasSetStream_v2(h, s));
	GOOD(cublasSetWorkspace_v2(h, address(memory(WORKSPACE)), WORKSPACE));
	GOOD(cublasSetMathMode(h, CUBLAS_PEDANTIC_MATH));
	GOOD(cublasSetAtomicsMode(h, CUBLAS_ATOMICS_NOT_ALLOWED));
	return h;
}

static CUdeviceptr put(const void *data, size_t bytes)
{
	CUdeviceptr p = memory(bytes);

	GOOD(cuMemcpyHtoD_v2(p, data, bytes));
	return p;
}

static const double one = 1, zero = 0;

/* 2 x 2 doubles in columns. */
static cublasStatus_t small(cublasHandle_t h, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c)
{
	return cublasDgemmStridedBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, address(a), 2,
					 0, address(b), 2, 0, &zero, address(c), 2, 0, 1);
}

static CUdeviceptr identity(void)
{
	static const double eye[4] = {1, 0, 0, 1};

	return put(eye, sizeof(eye));
}

Test(blas, products_of_every_type_and_operation)
{
	/* A is 2 x 3 and B 3 x 2 after the operation; leading dimensions are larger. */
	enum { LD = 4 };
	static const cublasOperation_t ops[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
	double complex a[LD * 3], b[LD * 3], c[LD * 2], got[LD * 2];
	const double complex alpha = 2 - I, beta = 0.5 + I;

	device();
	CUstream s = stream();
	cublasHandle_t h = handle(s);
	for (int i = 0; i < LD * 3; i++) {
		const double d = i;

		a[i] = d + 1 - d * I;
		b[i] = 3 - d + 2 * I;
	}
	for (int i = 0; i < LD * 2; i++) {
		const double d = i;

		c[i] = d - 4 + d * I;
	}
	for (int x = 0; x < 9; x++) {
		cublasOperation_t ta = ops[x / 3], tb = ops[x % 3];
		CUdeviceptr da = put(a, sizeof(a)), db = put(b, sizeof(b)), dc = put(c, sizeof(c));

		GOOD(cublasZgemmStridedBatched(h, ta, tb, 2, 2, 3, &alpha, address(da), LD, 0,
					       address(db), LD, 0, &beta, address(dc), LD, 0, 1));
		GOOD(cuStreamSynchronize(s));
		GOOD(cuMemcpyDtoH_v2(got, dc, sizeof(got)));
		for (int i = 0; i < 2; i++)
			for (int j = 0; j < 2; j++) {
				double complex sum = 0;

				for (int l = 0; l < 3; l++) {
					double complex u = ta ? a[i * LD + l] : a[l * LD + i];
					double complex v = tb ? b[l * LD + j] : b[j * LD + l];

					sum += (ta == CUBLAS_OP_C ? conj(u) : u) *
					       (tb == CUBLAS_OP_C ? conj(v) : v);
				}
				sum = alpha * sum + beta * c[j * LD + i];
				cr_expect_lt(cabs(got[j * LD + i] - sum), 1e-12, "%d: %d, %d", x, i,
					     j);
			}
		cr_expect_eq(got[2], c[2], "rows beyond the matrix stay");
	}
}

#define PLAIN_PRODUCT(f, type)                                                                     \
	{                                                                                          \
		type x[4] = {1, 2, 3, 4}, y[4] = {5, 6, 7, 8}, z[4] = {0}, i = 1, o = 0;           \
		CUdeviceptr dx = put(x, sizeof(x)), dy = put(y, sizeof(y)),                        \
			    dz = memory(sizeof(z));                                                \
		GOOD(f(h, CUBLAS_OP_N, CUBLAS_OP_T, 2, 2, 2, &i, address(dx), 2, 0, address(dy),   \
		       2, 0, &o, address(dz), 2, 0, 1));                                           \
		GOOD(cuStreamSynchronize(s));                                                      \
		GOOD(cuMemcpyDtoH_v2(z, dz, sizeof(z)));                                           \
		cr_expect(z[0] == 26 && z[1] == 38 && z[2] == 30 && z[3] == 44, #f);               \
	}

Test(blas, beta_of_zero_does_not_read)
{
	device(); /* fresh memory is no number */
	CUstream s = stream();
	cublasHandle_t h = handle(s);

	PLAIN_PRODUCT(cublasSgemmStridedBatched, float)
	PLAIN_PRODUCT(cublasDgemmStridedBatched, double)
	PLAIN_PRODUCT(cublasCgemmStridedBatched, float complex)
	PLAIN_PRODUCT(cublasZgemmStridedBatched, double complex)
}

Test(blas, batches_and_extents_of_zero)
{
	float a[6] = {1, 2, 3, 4, 5, 6}, b[2] = {10, 100}, c[6], i = 1, o = 0;

	device();
	CUstream s = stream();
	cublasHandle_t h = handle(s);
	CUdeviceptr da = put(a, sizeof(a)), db = put(b, sizeof(b)), dc = memory(sizeof(c));
	/* Three products of a 2 x 1 and the same 1 x 1. */
	GOOD(cublasSgemmStridedBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 1, 1, &i, address(da), 2, 2,
				       address(db), 1, 0, &o, address(dc), 2, 2, 3));
	GOOD(cuStreamSynchronize(s));
	GOOD(cuMemcpyDtoH_v2(c, dc, sizeof(c)));
	for (int x = 0; x < 6; x++)
		cr_expect_eq(c[x], 10 * a[x]);
	/* No k: zeros; no rows, columns or products: nothing. */
	GOOD(cublasSgemmStridedBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 1, 0, &i, NULL, 2, 0, NULL,
				       1, 0, &o, address(dc), 2, 2, 2));
	GOOD(cublasSgemmStridedBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, 0, 1, 1, &i, NULL, 1, 0, NULL,
				       1, 0, &o, NULL, 1, 0, 1));
	GOOD(cublasSgemmStridedBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 0, 1, &i, NULL, 1, 0, NULL,
				       1, 0, &o, NULL, 1, 0, 1));
	GOOD(cublasSgemmStridedBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &i, NULL, 1, 0, NULL,
				       1, 0, &o, NULL, 1, 0, 0));
	GOOD(cuStreamSynchronize(s));
	GOOD(cuMemcpyDtoH_v2(c, dc, sizeof(c)));
	cr_expect(c[0] == 0 && c[3] == 0 && c[4] == 50);
}

/* ---- Of types that are told ---- */

#define WHOLE_SUMS CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION

/* Two columns of m, of a matrix turned (k x m) and one that is not (k x 2), one behind the other.
 */
static cublasStatus_t told(cublasHandle_t h, const void *alpha, CUdeviceptr a, CUdeviceptr b,
			   const void *beta, CUdeviceptr c, const int mkl[3], cudaDataType_t read,
			   cudaDataType_t written, cublasComputeType_t compute)
{
	return cublasGemmStridedBatchedEx(h, CUBLAS_OP_T, CUBLAS_OP_N, mkl[0], 2, mkl[1], alpha,
					  address(a), read, mkl[2], 0, address(b), read, mkl[2], 0,
					  beta, address(c), written, mkl[0], 0, 1, compute,
					  CUBLAS_GEMM_DEFAULT);
}

Test(blas, halves_are_added_up_in_single_precision)
{
	/* 1, 2^-11, 2^-11: in halves the parts are lost. 2048 * 32 leaves a half. */
	static const uint16_t a[4] = {0x3c00, 0x1000, 0x1000, 0},
			      b[8] = {0x3c00, 0x3c00, 0x3c00, 0, 0x7800, 0x4000, 0, 0};
	static const float unit = 1, none = 0;
	static const int mkl[3] = {1, 4, 4};
	uint16_t half[2];
	float single[2];

	device();
	CUstream s = stream();
	cublasHandle_t h = handle(s);
	CUdeviceptr da = put(a, sizeof(a)), db = put(b, sizeof(b)), dc = memory(sizeof(single));
	cr_expect_eq(
		told(h, &unit, da, db, &none, dc, mkl, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F),
		CUBLAS_STATUS_INVALID_VALUE, "pedantic spares the tensor cores");
	GOOD(cublasSetMathMode(h, CUBLAS_DEFAULT_MATH));
	cr_expect_eq(
		told(h, &unit, da, db, &none, dc, mkl, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F),
		CUBLAS_STATUS_INVALID_VALUE, "parts may be rounded");
	GOOD(cublasSetMathMode(h, (cublasMath_t)WHOLE_SUMS));
	GOOD(told(h, &unit, da, db, &none, dc, mkl, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F));
	GOOD(cuStreamSynchronize(s));
	GOOD(cuMemcpyDtoH_v2(half, dc, sizeof(half)));
	cr_expect(half[0] == 0x3c01 && half[1] == 0x7800, "%x %x", half[0], half[1]);
	GOOD(told(h, &unit, da, db, &none, dc, mkl, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F));
	GOOD(told(h, &unit, da, db, &unit, dc, mkl, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F));
	GOOD(cuStreamSynchronize(s));
	GOOD(cuMemcpyDtoH_v2(single, dc, sizeof(single)));
	cr_expect(single[0] == 2 + 4 * 0x1p-11F && single[1] == 2 * 32768.0009765625F, "%a %a",
		  (double)single[0], (double)single[1]);
}

Test(blas, tf32_has_ten_bits_of_mantissa)
{
	/* 2^-10 stays, of 2^-11 half is the even one's: 1 and 1 + 2^-9; what is large is no
	 * infinity. */
	static const float a[4] = {1, 1, 1, 1}, none = 0, unit = 1;
	static const float b[8] = {1 + 0x1p-10F,     1 + 0x1p-11F,    0,	0,
				   1 + 3 * 0x1p-11F, -1 - 0x1.8p-11F, 0x1p120F, 0};
	static const float i[2] = {1, 0}, o[2] = {0, 0};
	static const int mkl[3] = {1, 4, 4}, pairs[3] = {1, 2, 2};
	float c[4];

	device();
	CUstream s = stream();
	cublasHandle_t h = handle(s);
	CUdeviceptr da = put(a, sizeof(a)), db = put(b, sizeof(b)), dc = memory(sizeof(c));
	cr_expect_eq(told(h, &unit, da, db, &none, dc, mkl, CUDA_R_32F, CUDA_R_32F,
			  CUBLAS_COMPUTE_32F_FAST_TF32),
		     CUBLAS_STATUS_INVALID_VALUE, "pedantic spares the tensor cores");
	GOOD(cublasSetMathMode(h, CUBLAS_DEFAULT_MATH));
	GOOD(told(h, &unit, da, db, &none, dc, mkl, CUDA_R_32F, CUDA_R_32F,
		  CUBLAS_COMPUTE_32F_FAST_TF32));
	GOOD(cuStreamSynchronize(s));
	GOOD(cuMemcpyDtoH_v2(c, dc, 2 * sizeof(float)));
	cr_expect(c[0] == 2 + 0x1p-10F && c[1] == 0x1p120F, "%a %a", (double)c[0], (double)c[1]);
	/* (1 + i) times (1 + 2^-10, what is 1), and as much of the next. */
	GOOD(told(h, i, da, db, o, dc, pairs, CUDA_C_32F, CUDA_C_32F,
		  CUBLAS_COMPUTE_32F_FAST_TF32));
	GOOD(cuStreamSynchronize(s));
	GOOD(cuMemcpyDtoH_v2(c, dc, sizeof(c)));
	cr_expect(c[0] == 0x1p-10F && c[1] == 2 + 0x1p-10F, "%a %a", (double)c[0], (double)c[1]);
}

Test(blas, bytes_are_added_up_in_32_bits)
{
	static const int8_t a[16] = {-128, 127, 1, 0, 1, 1, 1, 1}, b[8] = {-128, -128, 3, 0, 5};
	static const int32_t unit = 1, none = 0;
	static const int mkl[3] = {4, 4, 4};
	int32_t c[8];

	device();
	CUstream s = stream();
	cublasHandle_t h = handle(s);
	CUdeviceptr da = put(a, sizeof(a)), db = put(b, sizeof(b)), dc = memory(sizeof(c));
	GOOD(told(h, &unit, da, db, &none, dc, mkl, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I));
	GOOD(told(h, &unit, da, db, &unit, dc, mkl, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I));
	GOOD(cuStreamSynchronize(s));
	GOOD(cuMemcpyDtoH_v2(c, dc, sizeof(c)));
	cr_expect(c[0] == 2 * (16384 - 16256 + 3) && c[1] == 2 * -253 && c[2] == 0);
	cr_expect(c[4] == 2 * -640 && c[5] == 2 * 5);
	for (int i = 0; i < 8; i++)
		c[i] = INT32_MAX - 1; /* who says that it wraps? */
	GOOD(cuMemcpyHtoD_v2(dc, c, sizeof(c)));
	GOOD(told(h, &unit, da, db, &unit, dc, mkl, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I));
	GOOD(cuStreamSynchronize(s));
	GOOD(cuMemcpyDtoH_v2(c, dc, sizeof(c)));
	cr_expect(c[0] == INT32_MAX && c[2] == INT32_MAX - 1);
}

Test(blas, refuses_bytes_that_lie_otherwise)
{
	static const int32_t unit = 1, none = 0;
	static const struct {
		int ta, tb, m, k, lda, ldb, ldc;
		unsigned a, b, c;
		long long step;
		int count;
	} wrong[] = {{0, 0, 4, 4, 4, 4, 4, 0, 0, 0, 0, 1}, {1, 1, 4, 4, 4, 4, 4, 0, 0, 0, 0, 1},
		     {1, 0, 3, 4, 4, 4, 4, 0, 0, 0, 0, 1}, {1, 0, 4, 3, 4, 4, 4, 0, 0, 0, 0, 1},
		     {1, 0, 4, 4, 5, 4, 4, 0, 0, 0, 0, 1}, {1, 0, 4, 4, 4, 6, 4, 0, 0, 0, 0, 1},
		     {1, 0, 4, 4, 4, 4, 7, 0, 0, 0, 0, 1}, {1, 0, 4, 4, 4, 4, 4, 1, 0, 0, 0, 1},
		     {1, 0, 4, 4, 4, 4, 4, 0, 2, 0, 0, 1}, {1, 0, 4, 4, 4, 4, 4, 0, 0, 2, 0, 1},
		     {1, 0, 4, 4, 4, 4, 4, 0, 0, 0, 18, 2}};

	device();
	cublasHandle_t h = handle(stream());
	CUdeviceptr p = memory(4096);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		cr_expect_eq(cublasGemmStridedBatchedEx(
				     h, wrong[i].ta, wrong[i].tb, wrong[i].m, 4, wrong[i].k, &unit,
				     address(p + wrong[i].a), CUDA_R_8I, wrong[i].lda,
				     wrong[i].step, address(p + wrong[i].b), CUDA_R_8I,
				     wrong[i].ldb, wrong[i].step, &none, address(p + wrong[i].c),
				     CUDA_R_32I, wrong[i].ldc, 28, wrong[i].count,
				     CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT),
			     CUBLAS_STATUS_INVALID_VALUE, "%zu", i);
	GOOD(cuCtxSynchronize());
}

Test(blas, refuses_types_that_do_not_go_together)
{
	static const float unit = 1, none = 0;
	static const int mkl[3] = {4, 4, 4};
	static const struct {
		int read, written, compute;
	} wrong[] = {{CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F},
		     {CUDA_R_16F, CUDA_R_32I, CUBLAS_COMPUTE_32F},
		     {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32I},
		     {CUDA_R_8I, CUDA_R_8I, CUBLAS_COMPUTE_32I},
		     {CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32F},
		     {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F_FAST_TF32},
		     {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F},
		     {1, 1, CUBLAS_COMPUTE_32F_FAST_TF32},
		     {14, 14, CUBLAS_COMPUTE_32F}};
	cublasHandle_t none_such = NULL;

	device();
	cublasHandle_t h = handle(stream());
	CUdeviceptr p = memory(4096);
	GOOD(cublasSetMathMode(h, (cublasMath_t)WHOLE_SUMS));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		cr_expect_eq(told(h, &unit, p, p, &none, p, mkl, (cudaDataType_t)wrong[i].read,
				  (cudaDataType_t)wrong[i].written,
				  (cublasComputeType_t)wrong[i].compute),
			     CUBLAS_STATUS_NOT_SUPPORTED, "%zu", i);
	cr_expect_eq(told(none_such, &unit, p, p, &none, p, mkl, CUDA_R_16F, CUDA_R_16F,
			  CUBLAS_COMPUTE_32F),
		     CUBLAS_STATUS_NOT_INITIALIZED);
	cr_expect_eq(told(h, &unit, p, p, NULL, p, mkl, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F),
		     CUBLAS_STATUS_INVALID_VALUE);
	GOOD(cuCtxSynchronize());
}

Test(blas, in_the_order_of_its_stream)
{
	double b[4] = {1, 2, 3, 4}, c[4];

	options("log=/dev/null,delay_us=2000");
	device();
	CUstream s = stream();
	cublasHandle_t h = handle(s);
	CUdeviceptr a = identity(), db = memory(sizeof(b)), dc = memory(sizeof(c));
	CUdeviceptr keep = memory(sizeof(c));
	GOOD(cuMemcpyHtoDAsync_v2(db, b, sizeof(b), s));
	GOOD(small(h, a, db, dc));
	GOOD(cuMemcpyDtoDAsync_v2(keep, dc, sizeof(c), s));
	GOOD(cuMemsetD32Async(dc, 0, sizeof(c) / 4, s));
	GOOD(cuStreamSynchronize(s));
	GOOD(cuMemcpyDtoH_v2(c, keep, sizeof(c)));
	cr_expect(!memcmp(b, c, sizeof(c)));
}

Test(blas, refuses_wrong_arguments)
{
	double i = 1, o = 0;
	cublasHandle_t none = NULL;

	device();
	cublasHandle_t h = handle(stream());
	CUdeviceptr p = memory(4096);
	void *x = address(p);
#define GEMM(h, ta, tb, m, n, k, one, lda, sa, ldb, sb, ldc, sc, count)                            \
	cublasDgemmStridedBatched(h, ta, tb, m, n, k, one, x, lda, sa, x, ldb, sb, &o, x, ldc, sc, \
				  count)
	cr_expect_eq(GEMM(none, 0, 0, 2, 2, 2, &i, 2, 0, 2, 0, 2, 0, 1),
		     CUBLAS_STATUS_NOT_INITIALIZED);
	cr_expect_eq(GEMM(h, 3, 0, 2, 2, 2, &i, 2, 0, 2, 0, 2, 0, 1), CUBLAS_STATUS_INVALID_VALUE);
	cr_expect_eq(GEMM(h, 0, 0, -1, 2, 2, &i, 2, 0, 2, 0, 2, 0, 1), CUBLAS_STATUS_INVALID_VALUE);
	cr_expect_eq(GEMM(h, 0, 0, 2, 2, 2, NULL, 2, 0, 2, 0, 2, 0, 1),
		     CUBLAS_STATUS_INVALID_VALUE);
	/* Leading dimensions: m or k, k or n, m, by the operation. */
	cr_expect_eq(GEMM(h, 0, 0, 3, 4, 5, &i, 2, 0, 5, 0, 3, 0, 1), CUBLAS_STATUS_INVALID_VALUE);
	cr_expect_eq(GEMM(h, 1, 0, 3, 4, 5, &i, 4, 0, 5, 0, 3, 0, 1), CUBLAS_STATUS_INVALID_VALUE);
	cr_expect_eq(GEMM(h, 0, 0, 3, 4, 5, &i, 3, 0, 4, 0, 3, 0, 1), CUBLAS_STATUS_INVALID_VALUE);
	cr_expect_eq(GEMM(h, 0, 1, 3, 4, 5, &i, 3, 0, 3, 0, 3, 0, 1), CUBLAS_STATUS_INVALID_VALUE);
	cr_expect_eq(GEMM(h, 0, 0, 3, 4, 5, &i, 3, 0, 5, 0, 2, 0, 1), CUBLAS_STATUS_INVALID_VALUE);
	cr_expect_eq(GEMM(h, 0, 0, 0, 1, 1, &i, 0, 0, 1, 0, 1, 0, 1), CUBLAS_STATUS_INVALID_VALUE);
	/* Batches: C's must not overlap, and none lies backwards. */
	cr_expect_eq(GEMM(h, 0, 0, 2, 2, 2, &i, 2, 0, 2, 0, 2, 3, 2), CUBLAS_STATUS_INVALID_VALUE);
	cr_expect_eq(GEMM(h, 0, 0, 2, 2, 2, &i, 2, -4, 2, 0, 2, 4, 2), CUBLAS_STATUS_INVALID_VALUE);
	cr_expect_eq(GEMM(h, 0, 0, 2, 2, 2, &i, 2, 0, 2, 0, 2, 4, 2), CUBLAS_STATUS_SUCCESS);
	GOOD(cuCtxSynchronize());
}

Test(blas, refuses_what_may_give_other_bits)
{
	static const float unit = 1;
	cublasHandle_t h;

	device();
	CUdeviceptr p = identity(), w = memory(WORKSPACE);
	GOOD(cublasCreate_v2(&h));
	cr_expect_eq(small(h, p, p, p), CUBLAS_STATUS_INVALID_VALUE, "no stream");
	GOOD(cublasSetWorkspace_v2(h, address(w), WORKSPACE));
	GOOD(cublasSetMathMode(h, CUBLAS_PEDANTIC_MATH));
	GOOD(cublasSetStream_v2(h, stream()));
	cr_expect_eq(small(h, p, p, p), CUBLAS_STATUS_INVALID_VALUE,
		     "the stream took the workspace away");
	cr_expect_eq(cublasSetWorkspace_v2(h, address(w + 128), 4096), CUBLAS_STATUS_INVALID_VALUE);
	GOOD(cublasSetWorkspace_v2(h, address(w), WORKSPACE));
	GOOD(small(h, p, p, p));
	/* Of double precision the usual way is as good, of single precision it may be less. */
	GOOD(cublasSetMathMode(h, CUBLAS_DEFAULT_MATH));
	GOOD(small(h, p, p, p));
	cr_expect_eq(cublasSgemmStridedBatched(h, 0, 0, 1, 1, 1, &unit, address(p), 1, 0,
					       address(p), 1, 0, &unit, address(p), 1, 0, 1),
		     CUBLAS_STATUS_INVALID_VALUE);
	GOOD(cublasSetMathMode(h, CUBLAS_TF32_TENSOR_OP_MATH));
	cr_expect_eq(small(h, p, p, p), CUBLAS_STATUS_INVALID_VALUE);
	cr_expect_eq(cublasSetMathMode(h, (cublasMath_t)77), CUBLAS_STATUS_INVALID_VALUE);
	GOOD(cublasSetMathMode(h, (cublasMath_t)(CUBLAS_PEDANTIC_MATH | 16)));
	GOOD(cublasSetAtomicsMode(h, CUBLAS_ATOMICS_ALLOWED));
	cr_expect_eq(small(h, p, p, p), CUBLAS_STATUS_INVALID_VALUE);
	cr_expect_eq(cublasSetStream_v2(h, (CUstream)address(p)), CUBLAS_STATUS_INVALID_VALUE);
	GOOD(cuCtxSynchronize());
}

Test(blas, handles_take_memory_and_die_once)
{
	size_t before = 0, after = 0, total = 0;
	cublasHandle_t h;

	options("log=/dev/null,vram=16M");
	device();
	GOOD(cuMemGetInfo_v2(&before, &total));
	GOOD(cublasCreate_v2(&h));
	GOOD(cuMemGetInfo_v2(&after, &total));
	cr_expect_lt(after, before);
	GOOD(cublasDestroy_v2(h));
	GOOD(cuMemGetInfo_v2(&after, &total));
	cr_expect_eq(after, before);
	cr_expect_eq(cublasDestroy_v2(h), CUBLAS_STATUS_NOT_INITIALIZED);
	cr_expect_eq(cublasSetStream_v2(h, NULL), CUBLAS_STATUS_NOT_INITIALIZED);
	memory(14 << 20);
	cr_expect_eq(cublasCreate_v2(&h), CUBLAS_STATUS_ALLOC_FAILED);
}

Test(blas, wants_a_context)
{
	cublasHandle_t h;

	options("log=/dev/null");
	cr_expect_eq(cublasCreate_v2(&h), CUBLAS_STATUS_NOT_INITIALIZED);
	device();
	GOOD(cublasCreate_v2(&h));
	GOOD(cuCtxSetCurrent(NULL));
	cr_expect_eq(cublasSetStream_v2(h, NULL), CUBLAS_STATUS_EXECUTION_FAILED);
}

Test(blas, fails_on_order)
{
	cublasHandle_t h;

	options("log=/dev/null,fail=cublasCreate:1:8,fail=cublasDgemmStridedBatched:1:13");
	device();
	CUdeviceptr p = identity();
	cr_expect_eq(cublasCreate_v2(&h), CUBLAS_STATUS_ARCH_MISMATCH);
	h = handle(stream());
	cr_expect_eq(small(h, p, p, p), CUBLAS_STATUS_EXECUTION_FAILED);
	GOOD(small(h, p, p, p));
	GOOD(cuCtxSynchronize());
}

/* Breaks the context by a product, and tells how. */
static CUresult broken_by(size_t bytes, unsigned shift, bool workspace_gone)
{
	CUstream s = stream();
	cublasHandle_t h = handle(s);
	CUdeviceptr eye = identity(), c = memory(bytes), w = memory(4096);

	if (workspace_gone) {
		GOOD(cublasSetWorkspace_v2(h, address(w), 4096));
		GOOD(cuMemFree_v2(w));
	}
	GOOD(small(h, eye, eye, c + shift));
	return cuStreamSynchronize(s);
}

Test(blas, breaks_the_context_beyond_an_allocation)
{
	device();
	cr_expect_eq(broken_by(24, 0, false), CUDA_ERROR_ILLEGAL_ADDRESS);
	cr_expect_eq(cublasCreate_v2(&(cublasHandle_t){NULL}), CUBLAS_STATUS_NOT_INITIALIZED);
}

Test(blas, breaks_the_context_off_an_elements_grid)
{
	device();
	cr_expect_eq(broken_by(64, 4, false), CUDA_ERROR_MISALIGNED_ADDRESS);
}

Test(blas, breaks_the_context_without_its_workspace)
{
	device();
	cr_expect_eq(broken_by(64, 0, true), CUDA_ERROR_ILLEGAL_ADDRESS);
}

Test(blas, faults_on_order)
{
	options("log=/dev/null,fault=cublasDgemmStridedBatched:1:719");
	device();
	cr_expect_eq(broken_by(64, 0, false), CUDA_ERROR_LAUNCH_FAILED);
}

/* ---- names ---- */

#define NAME(name, params) #name,
static const char *const declared[] = {BLAS_CALLS(NAME)};
#define COUNT (sizeof(declared) / sizeof(declared[0]))

static size_t count_exports(const char *command)
{
	char line[512], name[256], type;
	FILE *f = popen(command, "r");
	size_t seen = 0;

	cr_assert(f);
	while (fgets(line, sizeof(line), f)) {
		bool known = false;

		if (sscanf(line, "%*s %c %255[^@ \n]", &type, name) != 2 || name[0] == '_')
			continue;
		for (size_t k = 0; k < COUNT; k++)
			known |= !strcmp(name, declared[k]);
		seen += known;
	}
	return pclose(f) ? 0 : seen;
}

Test(blas, exports_what_it_declares)
{
	void *library = dlopen(STANDIN_LIBCUBLAS, RTLD_NOW | RTLD_LOCAL);

	cr_assert(library, "%s", dlerror());
	for (size_t k = 0; k < COUNT; k++)
		cr_expect(dlsym(library, declared[k]), "%s is not exported", declared[k]);
	cr_expect_null(dlsym(library, "blas_enter"));
}

Test(blas, names_are_those_of_the_real_one)
{
	size_t seen = 0;

	if (access("/usr/local/cuda/lib64/libcublas.so.13", R_OK))
		cr_skip_test("no toolkit");
	seen = count_exports("nm -D --defined-only /usr/local/cuda/lib64/libcublas.so.13");
	if (!seen)
		cr_skip_test("no nm");
	cr_expect_eq(seen, COUNT);
}
