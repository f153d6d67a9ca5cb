/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for cuSOLVER: what it computes, what it refuses, what it breaks. */
#include "solver.h"
#include "harness.h"
#include <complex.h>
#include <dlfcn.h>
#include <math.h>
#include <unistd.h>

#define N 12

/* A matrix on the device, and all that a call on it takes. */
struct scene {
	cusolverDnHandle_t handle;
	cusolverDnParams_t params;
	CUstream stream;
	CUdeviceptr a, b, line, work, info;
	size_t nwork, nhost;
	char host[4096];
	double x[N * N];
};

static void *address(CUdeviceptr p)
{
	return (void *)(uintptr_t)p;
}

static void fetch(void *to, CUdeviceptr from, size_t bytes)
{
	GOOD(cuMemcpyDtoH_v2(to, from, bytes));
}

/* Symmetric, with a large diagonal, column by column. */
static void fill(double *x)
{
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			x[i + j * N] = sin(3.0 * (i + j)) + sin(7.0 * i * j) + (i == j ? N : 0);
}

/* As braze makes and sets it. */
static void begin(struct scene *s)
{
	*s = (struct scene){0};
	device();
	fill(s->x);
	GOOD(cuStreamCreate(&s->stream, CU_STREAM_NON_BLOCKING));
	GOOD(cusolverDnCreate(&s->handle));
	GOOD(cusolverDnCreateParams(&s->params));
	GOOD(cusolverDnSetDeterministicMode(s->handle, SOLVER_DETERMINISTIC));
	GOOD(cusolverDnSetStream(s->handle, s->stream));
	s->a = memory(sizeof s->x);
	GOOD(cuMemcpyHtoD_v2(s->a, s->x, sizeof s->x));
	s->b = memory(sizeof s->x);
	s->line = memory(N * 16);
	s->info = memory(4);
	s->work = memory(1 << 16);
}

static int info_of(struct scene *s)
{
	int info = -1;

	GOOD(cuStreamSynchronize(s->stream));
	fetch(&info, s->info, sizeof info);
	return info;
}

static cusolverStatus_t lu(struct scene *s)
{
	GOOD(cusolverDnXgetrf_bufferSize(s->handle, s->params, N, N, CUDA_R_64F, address(s->a), N,
					 CUDA_R_64F, &s->nwork, &s->nhost));
	return cusolverDnXgetrf(s->handle, s->params, N, N, CUDA_R_64F, address(s->a), N,
				address(s->line), CUDA_R_64F, address(s->work), s->nwork, s->host,
				s->nhost, address(s->info));
}

static double at(const double *x, int i, int j)
{
	return x[i + j * N];
}

Test(solver, solves)
{
	struct scene s;
	double b[N], x[N];

	begin(&s);
	for (int i = 0; i < N; i++)
		b[i] = cos(i);
	GOOD(cuMemcpyHtoD_v2(s.b, b, sizeof b));
	GOOD(lu(&s));
	cr_assert_eq(info_of(&s), 0);
	GOOD(cusolverDnXgetrs(s.handle, s.params, SOLVER_NOT_TURNED, N, 1, CUDA_R_64F, address(s.a),
			      N, address(s.line), CUDA_R_64F, address(s.b), N, address(s.info)));
	cr_assert_eq(info_of(&s), 0);
	fetch(x, s.b, sizeof x);
	for (int i = 0; i < N; i++) {
		double sum = -b[i];

		for (int j = 0; j < N; j++)
			sum += at(s.x, i, j) * x[j];
		cr_expect_lt(fabs(sum), 1e-13);
	}
}

Test(solver, a_singular_matrix_is_told_of)
{
	struct scene s;

	begin(&s);
	for (int j = 0; j < N; j++)
		s.x[3 + j * N] = 0;
	GOOD(cuMemcpyHtoD_v2(s.a, s.x, sizeof s.x));
	GOOD(lu(&s));
	cr_assert_eq(info_of(&s), N);
}

static cusolverStatus_t cholesky(struct scene *s)
{
	GOOD(cusolverDnXpotrf_bufferSize(s->handle, s->params, SOLVER_LOWER, N, CUDA_R_64F,
					 address(s->a), N, CUDA_R_64F, &s->nwork, &s->nhost));
	return cusolverDnXpotrf(s->handle, s->params, SOLVER_LOWER, N, CUDA_R_64F, address(s->a), N,
				CUDA_R_64F, address(s->work), s->nwork, s->host, s->nhost,
				address(s->info));
}

Test(solver, roots_of_what_is_positive)
{
	struct scene s;
	double l[N * N];

	begin(&s);
	GOOD(cholesky(&s));
	cr_assert_eq(info_of(&s), 0);
	fetch(l, s.a, sizeof l);
	cr_assert(isnan(at(l, 0, 1)), "nothing is promised of the other triangle");
	for (int i = 0; i < N; i++)
		for (int j = 0; j <= i; j++) {
			double sum = -at(s.x, i, j);

			for (int k = 0; k <= j; k++)
				sum += at(l, i, k) * at(l, j, k);
			cr_expect_lt(fabs(sum), 1e-13);
		}
	s.x[5 + 5 * N] = -1;
	GOOD(cuMemcpyHtoD_v2(s.a, s.x, sizeof s.x));
	GOOD(cholesky(&s));
	cr_assert_eq(info_of(&s), 6);
}

Test(solver, reflectors_and_what_they_turn)
{
	struct scene s;
	double r[N * N], q[N * N];
	int nwork = 0;

	begin(&s);
	GOOD(cusolverDnXgeqrf_bufferSize(s.handle, s.params, N, N, CUDA_R_64F, address(s.a), N,
					 CUDA_R_64F, address(s.line), CUDA_R_64F, &s.nwork,
					 &s.nhost));
	GOOD(cusolverDnXgeqrf(s.handle, s.params, N, N, CUDA_R_64F, address(s.a), N, CUDA_R_64F,
			      address(s.line), CUDA_R_64F, address(s.work), s.nwork, s.host,
			      s.nhost, address(s.info)));
	cr_assert_eq(info_of(&s), 0);
	fetch(r, s.a, sizeof r);
	GOOD(cusolverDnDorgqr_bufferSize(s.handle, N, N, N, address(s.a), N, address(s.line),
					 &nwork));
	GOOD(cusolverDnDorgqr(s.handle, N, N, N, address(s.a), N, address(s.line), address(s.work),
			      nwork, address(s.info)));
	cr_assert_eq(info_of(&s), 0);
	fetch(q, s.a, sizeof q);
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			double sum = -at(s.x, i, j), dot = i == j ? -1 : 0;

			for (int k = 0; k < N; k++) {
				sum += k <= j ? at(q, i, k) * at(r, k, j) : 0;
				dot += at(q, k, i) * at(q, k, j);
			}
			cr_expect_lt(fabs(sum), 1e-13);
			cr_expect_lt(fabs(dot), 1e-14);
		}
}

static cusolverStatus_t eigen(struct scene *s, int vectors)
{
	GOOD(cusolverDnXsyevd_bufferSize(s->handle, s->params, vectors, SOLVER_LOWER, N, CUDA_R_64F,
					 address(s->a), N, CUDA_R_64F, address(s->line), CUDA_R_64F,
					 &s->nwork, &s->nhost));
	return cusolverDnXsyevd(s->handle, s->params, vectors, SOLVER_LOWER, N, CUDA_R_64F,
				address(s->a), N, CUDA_R_64F, address(s->line), CUDA_R_64F,
				address(s->work), s->nwork, s->host, s->nhost, address(s->info));
}

Test(solver, eigenvectors)
{
	struct scene s;
	double v[N * N], w[N];

	begin(&s);
	GOOD(eigen(&s, 1));
	cr_assert_eq(info_of(&s), 0);
	fetch(v, s.a, sizeof v);
	fetch(w, s.line, sizeof w);
	for (int j = 0; j < N; j++)
		for (int i = 0; i < N; i++) {
			double sum = -w[j] * at(v, i, j);

			for (int k = 0; k < N; k++)
				sum += at(s.x, i, k) * at(v, k, j);
			cr_expect_lt(fabs(sum), 1e-12);
			cr_expect(!j || w[j] >= w[j - 1]);
		}
}

static cusolverStatus_t singular(struct scene *s, char mode, CUdeviceptr vt)
{
	const int type = CUDA_R_64F;

	GOOD(cusolverDnXgesvd_bufferSize(s->handle, s->params, (signed char)mode, (signed char)mode,
					 N, N, type, address(s->a), N, type, address(s->line), type,
					 address(s->b), N, type, address(vt), N, type, &s->nwork,
					 &s->nhost));
	return cusolverDnXgesvd(s->handle, s->params, (signed char)mode, (signed char)mode, N, N,
				type, address(s->a), N, type, address(s->line), type, address(s->b),
				N, type, address(vt), N, type, address(s->work), s->nwork, s->host,
				s->nhost, address(s->info));
}

Test(solver, singular_vectors)
{
	struct scene s;
	double u[N * N], vt[N * N], w[N];

	begin(&s);
	CUdeviceptr right = memory(sizeof vt);
	GOOD(singular(&s, 'S', right));
	cr_assert_eq(info_of(&s), 0);
	fetch(u, s.b, sizeof u);
	fetch(vt, right, sizeof vt);
	fetch(w, s.line, sizeof w);
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			double sum = -at(s.x, i, j);

			for (int k = 0; k < N; k++)
				sum += at(u, i, k) * w[k] * at(vt, k, j);
			cr_expect_lt(fabs(sum), 1e-12);
		}
}

Test(solver, what_is_refused_of_a_call)
{
	struct scene s;

	begin(&s);
	GOOD(lu(&s));
#define LU(m, n, type, a, lda, pivot, compute, work, nwork, info)                                  \
	cusolverDnXgetrf(s.handle, s.params, m, n, type, address(a), lda, address(pivot), compute, \
			 address(work), nwork, s.host, s.nhost, address(info))
#define REFUSED(call) cr_expect_eq((int)(call), CUSOLVER_STATUS_INVALID_VALUE, "%s", #call)
	REFUSED(LU(N, N, 7, s.a, N, s.line, 7, s.work, s.nwork, s.info));
	REFUSED(LU(N, N, 1, s.a, N, s.line, 0, s.work, s.nwork, s.info));
	REFUSED(LU(N, N, 1, s.a, N + 1, s.line, 1, s.work, s.nwork, s.info));
	REFUSED(LU(N, N - 1, 1, s.a, N, s.line, 1, s.work, s.nwork, s.info));
	REFUSED(LU(0, 0, 1, s.a, 0, s.line, 1, s.work, s.nwork, s.info));
	REFUSED(LU(N, N, 1, 0, N, s.line, 1, s.work, s.nwork, s.info));
	REFUSED(LU(N, N, 1, s.a, N, 0, 1, s.work, s.nwork, s.info));
	REFUSED(LU(N, N, 1, s.a, N, s.line, 1, s.work, s.nwork - 1, s.info));
	REFUSED(LU(N, N, 1, s.a, N, s.line, 1, s.work + 128, s.nwork, s.info));
	REFUSED(LU(N, N, 1, s.a, N, s.line, 1, s.a, s.nwork, s.info));
	REFUSED(LU(N, N, 1, s.a, N, s.line, 1, s.work, s.nwork, 0));
	REFUSED(LU(N, N, 1, s.a, N, s.a + 64, 1, s.work, s.nwork, s.info));
	REFUSED(LU(N, N, 1, s.a, N, s.line, 1, s.work, s.nwork, s.line + 92));
	s.params = NULL;
	REFUSED(LU(N, N, 1, s.a, N, s.line, 1, s.work, s.nwork, s.info));
	s.handle = NULL;
	cr_expect_eq(LU(N, N, 1, s.a, N, s.line, 1, s.work, s.nwork, s.info),
		     CUSOLVER_STATUS_NOT_INITIALIZED);
}

Test(solver, what_is_refused_of_others)
{
	struct scene s;
	size_t work, host;

	begin(&s);
	REFUSED(cusolverDnXpotrf_bufferSize(s.handle, s.params, 1, N, 1, address(s.a), N, 1, &work,
					    &host));
	REFUSED(cusolverDnXpotrf_bufferSize(s.handle, s.params, 0, N, 1, address(s.a), N, 1, NULL,
					    &host));
	REFUSED(cusolverDnXsyevd_bufferSize(s.handle, s.params, 1, 0, N, CUDA_C_64F, address(s.a),
					    N, CUDA_C_64F, NULL, CUDA_C_64F, &work, &host));
	REFUSED(cusolverDnXgesvd_bufferSize(s.handle, s.params, 'S', 'N', N, N, 1, address(s.a), N,
					    1, NULL, 1, NULL, N, 1, NULL, N, 1, &work, &host));
	REFUSED(cusolverDnXgesvd_bufferSize(s.handle, s.params, 'S', 'S', N - 1, N, 1, address(s.a),
					    N - 1, 1, NULL, 1, NULL, N - 1, 1, NULL, N, 1, &work,
					    &host));
	REFUSED(cusolverDnXgetrs(s.handle, s.params, 1, N, 1, 1, address(s.a), N, address(s.line),
				 1, address(s.b), N, address(s.info)));
	REFUSED(cusolverDnXgetrs(s.handle, s.params, 0, N, 0, 1, address(s.a), N, address(s.line),
				 1, address(s.b), N, address(s.info)));
	REFUSED(cusolverDnSetStream(s.handle, NULL));
	REFUSED(cusolverDnSetStream(s.handle, address(s.a)));
	REFUSED(cusolverDnSetDeterministicMode(s.handle, 2));
	GOOD(cusolverDnDestroyParams(s.params));
	REFUSED(cusolverDnDestroyParams(s.params));
	GOOD(cusolverDnDestroy(s.handle));
	cr_expect_eq(cusolverDnDestroy(s.handle), CUSOLVER_STATUS_NOT_INITIALIZED);
	GOOD(cusolverDnCreate(&s.handle));
	GOOD(cusolverDnCreateParams(&s.params));
	GOOD(cusolverDnSetStream(s.handle, s.stream));
	REFUSED(lu(&s)); /* results that vary */
	GOOD(cusolverDnSetDeterministicMode(s.handle, SOLVER_DETERMINISTIC));
	GOOD(lu(&s));
}

Test(solver, a_handle_in_use_is_not_destroyed)
{
	struct scene s;

	options("delay_us=100000,log=/dev/null");
	begin(&s);
	GOOD(lu(&s));
	REFUSED(cusolverDnDestroy(s.handle));
	GOOD(cuStreamSynchronize(s.stream));
	GOOD(cusolverDnDestroy(s.handle));
}

static void breaks(struct scene *s)
{
	GOOD(lu(s));
	cr_expect_eq(cuStreamSynchronize(s->stream), CUDA_ERROR_ILLEGAL_ADDRESS);
}

Test(solver, a_matrix_that_is_too_short)
{
	struct scene s;

	begin(&s);
	s.a = memory(sizeof s.x - 1);
	breaks(&s);
}

Test(solver, pivots_that_have_no_room)
{
	struct scene s;

	begin(&s);
	s.line = memory(N * 8 - 1);
	breaks(&s);
}

Test(solver, a_work_area_that_was_freed)
{
	struct scene s;

	begin(&s);
	GOOD(cuMemFree_v2(s.work));
	breaks(&s);
}

Test(solver, injected_statuses)
{
	cusolverDnHandle_t h = NULL;

	options("fail=cusolverDnCreate:1:2,log=/dev/null");
	device();
	cr_expect_eq(cusolverDnCreate(&h), CUSOLVER_STATUS_ALLOC_FAILED);
	GOOD(cusolverDnCreate(&h));
}

static const char *const declared[] = {
#define NAME(name, arguments) #name,
	SOLVER_CALLS(NAME)
#undef NAME
};
#define COUNT (sizeof declared / sizeof *declared)

Test(solver, exports_what_it_declares)
{
	void *library = dlopen(STANDIN_LIBCUSOLVER, RTLD_NOW | RTLD_LOCAL);

	cr_assert(library, "%s", dlerror());
	for (size_t k = 0; k < COUNT; k++)
		cr_expect(dlsym(library, declared[k]), "%s is not exported", declared[k]);
	cr_expect_null(dlsym(library, "solver_push"));
}

Test(solver, names_are_those_of_the_real_one)
{
	void *library = dlopen("/usr/local/cuda/lib64/libcusolver.so", RTLD_LAZY | RTLD_LOCAL);

	if (!library)
		cr_skip_test("no toolkit");
	for (size_t k = 0; k < COUNT; k++)
		cr_expect(dlsym(library, declared[k]), "%s is none of its", declared[k]);
}
