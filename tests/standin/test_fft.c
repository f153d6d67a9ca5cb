/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for cuFFT: what it computes, what it refuses, what it breaks. */
#include "fft.h"
#include "harness.h"
#include <complex.h>
#include <dlfcn.h>
#include <math.h>
#include <unistd.h>

/* `batch` transforms of length n, one behind the other, in a stream, with a work area. */
struct scene {
	cufftHandle plan;
	CUstream stream;
	CUdeviceptr area;
	size_t work;
};

static void *address(CUdeviceptr p)
{
	return (void *)(uintptr_t)p;
}

static CUdeviceptr put(const void *data, size_t bytes)
{
	CUdeviceptr p = memory(bytes);

	GOOD(cuMemcpyHtoD_v2(p, data, bytes));
	return p;
}

static long long half_of(cufftType type, long long n, cufftType single, cufftType wide)
{
	return type == single || type == wide ? n / 2 + 1 : n;
}

static cufftResult make(struct scene *s, cufftType type, long long n, long long batch)
{
	long long in = half_of(type, n, CUFFT_C2R, CUFFT_Z2D);
	long long out = half_of(type, n, CUFFT_R2C, CUFFT_D2Z);

	return cufftMakePlanMany64(s->plan, 1, &n, &in, 1, in, &out, 1, out, type, batch, &s->work);
}

static void ready(struct scene *s)
{
	GOOD(cufftSetStream(s->plan, s->stream));
	if (s->work)
		GOOD(cufftSetWorkArea(s->plan, address(s->area)));
}

/* As braze makes and sets it. */
static struct scene scene(cufftType type, long long n, long long batch)
{
	struct scene s = {0};

	device();
	GOOD(cuStreamCreate(&s.stream, CU_STREAM_NON_BLOCKING));
	GOOD(cufftCreate(&s.plan));
	GOOD(cufftSetAutoAllocation(s.plan, 0));
	GOOD(make(&s, type, n, batch));
	s.area = memory(s.work ? s.work : 1);
	ready(&s);
	return s;
}

/* The sum itself. */
static double complex sum_of(const double complex *x, int n, int k, int direction)
{
	double complex sum = 0;

	for (int j = 0; j < n; j++) {
		double angle = direction * 2 * M_PI * ((double)(j * k % n) / n);

		sum += x[j] * (cos(angle) + sin(angle) * I);
	}
	return sum;
}

#define LONGEST 100

static void fill(double complex *x, int n)
{
	for (int k = 0; k < n; k++)
		x[k] = sin(3.0 * k) + cos(5.0 * k) * I;
}

Test(fft, complex_numbers_of_any_length_both_ways)
{
	double complex x[2 * LONGEST], got[2 * LONGEST];

	fill(x, 2 * LONGEST);
	for (int n = 1; n <= LONGEST; n += n < 20 ? 1 : 11)
		for (int way = -1; way <= 1; way += 2) {
			struct scene s = scene(CUFFT_Z2Z, n, 2);
			CUdeviceptr from = put(x, sizeof x), to = memory(sizeof got);

			GOOD(cufftExecZ2Z(s.plan, address(from), address(to), way));
			GOOD(cuStreamSynchronize(s.stream));
			GOOD(cuMemcpyDtoH_v2(got, to, sizeof got));
			for (int k = 0; k < 2 * n; k++)
				cr_expect_lt(cabs(got[k] - sum_of(x + k / n * n, n, k % n, way)),
					     1e-12 * n, "%d of %d", k, n);
			GOOD(cufftDestroy(s.plan));
		}
}

Test(fft, real_numbers_there_and_back_spoil_what_is_read)
{
	for (int n = 1; n < 40; n++) {
		double x[40], got[40], spoilt[2 * 21];
		size_t half = 16 * ((size_t)n / 2 + 1);
		struct scene there = scene(CUFFT_D2Z, n, 1), back = scene(CUFFT_Z2D, n, 1);

		for (int k = 0; k < n; k++)
			x[k] = sin(3.0 * k);
		CUdeviceptr from = put(x, sizeof x), mid = memory(half), to = memory(sizeof got);
		GOOD(cufftExecD2Z(there.plan, address(from), address(mid)));
		GOOD(cuStreamSynchronize(there.stream));
		GOOD(cufftExecZ2D(back.plan, address(mid), address(to)));
		GOOD(cuStreamSynchronize(back.stream));
		GOOD(cuMemcpyDtoH_v2(got, to, sizeof got));
		for (int k = 0; k < n; k++)
			cr_expect_lt(fabs(got[k] / n - x[k]), 1e-13, "%d of %d", k, n);
		GOOD(cuMemcpyDtoH_v2(spoilt, mid, half));
		cr_expect_eq(((unsigned char *)spoilt)[half - 1], 0xdd);
	}
}

Test(fft, strides_on_both_sides)
{
	enum { N = 17, BATCH = 3 };
	double complex x[N * BATCH * 2], got[N * BATCH];
	struct scene s = {0};
	long long n = N, embed = N;

	fill(x, N * BATCH * 2);
	device();
	GOOD(cuStreamCreate(&s.stream, CU_STREAM_NON_BLOCKING));
	GOOD(cufftCreate(&s.plan));
	GOOD(cufftSetAutoAllocation(s.plan, 0));
	GOOD(cufftMakePlanMany64(s.plan, 1, &n, &embed, 2, 2 * N, &embed, BATCH, 1, CUFFT_Z2Z,
				 BATCH, &s.work));
	s.area = memory(s.work);
	ready(&s);
	CUdeviceptr from = put(x, sizeof x), to = memory(sizeof got);
	GOOD(cufftExecZ2Z(s.plan, address(from), address(to), CUFFT_FORWARD));
	GOOD(cuStreamSynchronize(s.stream));
	GOOD(cuMemcpyDtoH_v2(got, to, sizeof got));
	for (int b = 0; b < BATCH; b++) {
		double complex line[N];

		for (int k = 0; k < N; k++)
			line[k] = x[2 * (b * N + k)];
		for (int k = 0; k < N; k++)
			cr_expect_lt(cabs(got[k * BATCH + b] - sum_of(line, N, k, -1)), 1e-12);
	}
}

static cufftResult run_z(const struct scene *s, CUdeviceptr from, CUdeviceptr to)
{
	return cufftExecZ2Z(s->plan, address(from), address(to), CUFFT_FORWARD);
}

Test(fft, what_is_refused_of_a_call)
{
	struct scene s = scene(CUFFT_Z2Z, 32, 1);
	CUdeviceptr from = memory(512), to = memory(512);

	cr_expect_eq(run_z(&s, 0, to), CUFFT_INVALID_VALUE, "no memory");
	cr_expect_eq(run_z(&s, from + 8, to), CUFFT_INVALID_VALUE, "half an element");
	cr_expect_eq(run_z(&s, from, from), CUFFT_INVALID_VALUE, "in place");
	cr_expect_eq(run_z(&s, from, s.area), CUFFT_INVALID_VALUE, "in the work area");
	cr_expect_eq(cufftExecZ2Z(s.plan, address(from), address(to), 0), CUFFT_INVALID_VALUE);
	cr_expect_eq(cufftExecC2C(s.plan, address(from), address(to), -1), CUFFT_INVALID_VALUE);
	cr_expect_eq(cufftExecD2Z(s.plan, address(from), address(to)), CUFFT_INVALID_VALUE);
	GOOD(run_z(&s, from, to));
	cr_expect_eq(run_z(&s, from, to), CUFFT_INVALID_VALUE, "no stream since the last call");
	GOOD(cufftSetStream(s.plan, s.stream));
	cr_expect_eq(run_z(&s, from, to), CUFFT_NO_WORKSPACE);
	cr_expect_eq(cufftSetWorkArea(s.plan, address(s.area + 8)), CUFFT_INVALID_VALUE);
	cr_expect_eq(cufftSetWorkArea(s.plan, NULL), CUFFT_INVALID_VALUE);
	cr_expect_eq(cufftSetStream(s.plan, (CUstream)address(from)), CUFFT_INVALID_VALUE);
}

Test(fft, what_is_refused_of_a_plan)
{
	struct scene s = scene(CUFFT_Z2Z, 32, 1);
	long long n = 8, embed = 8;
	size_t work = 0;
	cufftHandle p = 0;

	cr_expect_eq(make(&s, CUFFT_Z2Z, 32, 1), CUFFT_INVALID_VALUE, "made twice");
	GOOD(cufftCreate(&p));
	cr_expect_eq(cufftExecZ2Z(p, address(s.area), address(s.area), -1), CUFFT_INVALID_PLAN);
	cr_expect_eq(cufftSetWorkArea(p, address(s.area)), CUFFT_INVALID_VALUE, "not made");
	s.plan = p;
	cr_expect_eq(make(&s, CUFFT_Z2Z, 32, 1), CUFFT_INVALID_VALUE, "it would allocate");
	GOOD(cufftSetAutoAllocation(p, 0));
	cr_expect_eq(make(&s, (cufftType)7, 32, 1), CUFFT_INVALID_TYPE);
	cr_expect_eq(make(&s, CUFFT_Z2Z, 0, 1), CUFFT_INVALID_SIZE);
	cr_expect_eq(make(&s, CUFFT_Z2Z, 32, 0), CUFFT_INVALID_SIZE);
	cr_expect_eq(cufftMakePlanMany64(p, 2, &n, &embed, 1, 8, &embed, 1, 8, CUFFT_Z2Z, 2, &work),
		     CUFFT_NOT_IMPLEMENTED);
	cr_expect_eq(cufftMakePlanMany64(p, 1, &n, NULL, 1, 8, &embed, 1, 8, CUFFT_Z2Z, 2, &work),
		     CUFFT_INVALID_VALUE);
	cr_expect_eq(cufftMakePlanMany64(p, 1, &n, &embed, 1, 8, &embed, 1, 7, CUFFT_Z2Z, 2, &work),
		     CUFFT_INVALID_VALUE, "results overlap");
	cr_expect_eq(cufftMakePlanMany64(p, 1, &n, &embed, 0, 8, &embed, 1, 8, CUFFT_Z2Z, 2, &work),
		     CUFFT_INVALID_VALUE, "all in one place");
	GOOD(make(&s, CUFFT_Z2Z, 32, 1));
	cr_expect_eq(cufftSetAutoAllocation(p, 1), CUFFT_INVALID_VALUE, "made already");
	GOOD(cufftDestroy(p));
	cr_expect_eq(cufftDestroy(p), CUFFT_INVALID_PLAN);
	cr_expect_eq(cufftDestroy(0), CUFFT_INVALID_PLAN);
}

Test(fft, a_plan_in_use_is_not_destroyed)
{
	options("delay_us=100000,log=/dev/null");
	struct scene s = scene(CUFFT_Z2Z, 32, 1);

	GOOD(run_z(&s, memory(512), memory(512)));
	cr_expect_eq(cufftDestroy(s.plan), CUFFT_INVALID_VALUE);
	GOOD(cuStreamSynchronize(s.stream));
	GOOD(cufftDestroy(s.plan));
}

/* What the stream says of a transform from, to, and with an area, of which one is too short. */
static void breaks(size_t from, size_t to, size_t area)
{
	struct scene s = scene(CUFFT_Z2Z, 32, 1);

	s.area = memory(area);
	GOOD(cufftSetWorkArea(s.plan, address(s.area)));
	GOOD(run_z(&s, memory(from), memory(to)));
	cr_expect_eq(cuStreamSynchronize(s.stream), CUDA_ERROR_ILLEGAL_ADDRESS);
}

Test(fft, reads_too_much)
{
	breaks(511, 512, 512);
}

Test(fft, writes_too_much)
{
	breaks(512, 511, 512);
}

Test(fft, works_in_too_little)
{
	breaks(512, 512, 511);
}

Test(fft, a_work_area_that_was_freed)
{
	struct scene s = scene(CUFFT_Z2Z, 32, 1);

	GOOD(cuMemFree_v2(s.area));
	GOOD(run_z(&s, memory(512), memory(512)));
	cr_expect_eq(cuStreamSynchronize(s.stream), CUDA_ERROR_ILLEGAL_ADDRESS);
}

Test(fft, injected_statuses)
{
	cufftHandle p = 0;

	options("fail=cufftCreate:1:2,log=/dev/null");
	device();
	cr_expect_eq(cufftCreate(&p), CUFFT_ALLOC_FAILED);
	GOOD(cufftCreate(&p));
}

static const char *const declared[] = {
#define NAME(name, params) #name,
	FFT_CALLS(NAME)
#undef NAME
};
#define COUNT (sizeof declared / sizeof *declared)

Test(fft, exports_what_it_declares)
{
	void *library = dlopen(STANDIN_LIBCUFFT, RTLD_NOW | RTLD_LOCAL);

	cr_assert(library, "%s", dlerror());
	for (size_t k = 0; k < COUNT; k++)
		cr_expect(dlsym(library, declared[k]), "%s is not exported", declared[k]);
	cr_expect_null(dlsym(library, "fft_enter"));
}

Test(fft, names_are_those_of_the_real_one)
{
	void *library = dlopen("/usr/local/cuda/lib64/libcufft.so", RTLD_LAZY | RTLD_LOCAL);

	if (!library)
		cr_skip_test("no toolkit");
	for (size_t k = 0; k < COUNT; k++)
		cr_expect(dlsym(library, declared[k]), "%s is none of its", declared[k]);
}
