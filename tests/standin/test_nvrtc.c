/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.cu through the real NVRTC, for several devices, against the host.
 *
 * Compiled to cubins by the stand-in's libnvrtc.so, so that the PTX comes by the path
 * that the product uses.  Skipped where there is no NVRTC. */
#include "harness.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

typedef int nvrtc_fn();

static void *nvrtc;

static nvrtc_fn *entry(const char *name)
{
	nvrtc_fn *fn;

	*(void **)&fn = dlsym(nvrtc, name);
	cr_assert(fn, "%s", name);
	return fn;
}

static char *source(void)
{
	FILE *f = fopen(STANDIN_KERNELS, "r");
	char *text = calloc(1, 65536);

	cr_assert(f && text && fread(text, 1, 65535, f) > 0);
	fclose(f);
	return text;
}

static void *compiled_text(const char *text, const char *arch)
{
	const char *opts[] = {arch, "--std=c++17", "-default-device", "--no-cache"};
	void *program, *image;
	size_t n;

	cr_assert_eq(entry("nvrtcCreateProgram")(&program, text, "kernels.cu", 0, NULL, NULL), 0);
	int error = entry("nvrtcCompileProgram")(program, 4, opts);
	if (error) {
		entry("nvrtcGetProgramLogSize")(program, &n);
		char *log = calloc(1, n + 1);
		entry("nvrtcGetProgramLog")(program, log);
		cr_assert_fail("%s: %s", arch, log);
	}
	cr_assert_eq(entry("nvrtcGetCUBINSize")(program, &n), 0);
	image = calloc(1, n);
	cr_assert_eq(entry("nvrtcGetCUBIN")(program, image), 0);
	entry("nvrtcDestroyProgram")(&program);
	return image;
}

static void *compiled(const char *arch)
{
	char *text = source();
	void *image = compiled_text(text, arch);

	free(text);
	return image;
}

static CUmodule module;

/* A device of this capability with the kernels for it. */
static void set_up(int capability)
{
	char text[200];
	int version[2];

	snprintf(text, sizeof(text), "cc=%d.%d,seed=12345", capability / 10, capability % 10);
	options(text);
	setenv("BRAZE_STANDIN_PTX", STANDIN_SCRATCH, 1);
	nvrtc = dlopen(STANDIN_LIBNVRTC, RTLD_NOW | RTLD_LOCAL);
	cr_assert(nvrtc, "%s", dlerror());
	if (entry("nvrtcVersion")(&version[0], &version[1]))
		cr_skip_test("no NVRTC");
	device();
	snprintf(text, sizeof(text), "--gpu-architecture=sm_%d", capability);
	void *image = compiled(text);
	GOOD(cuModuleLoadDataEx(&module, image, 0, NULL, NULL));
	free(image);
}

static CUdeviceptr copied(const void *from, size_t bytes)
{
	CUdeviceptr p = memory(bytes);

	GOOD(cuMemcpyHtoD_v2(p, from, bytes));
	return p;
}

static void launch2(const char *name, unsigned gx, unsigned gy, unsigned bx, unsigned by,
		    unsigned shared, void **params)
{
	CUfunction f = function_of(module, name);

	GOOD(cuLaunchKernel(f, gx, gy, 1, bx, by, 1, shared, NULL, params, NULL));
	cr_assert_eq(cuCtxSynchronize(), CUDA_SUCCESS, "%s", name);
}

#define LAUNCH(name, grid, block, shared, ...)                                                     \
	launch2(name, grid, 1, block, 1, shared, (void *[]){__VA_ARGS__})

static uint64_t state = 88172645463325252ull;

static uint64_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static double uniform(double lo, double hi)
{
	return lo + (hi - lo) * (double)(next_random() >> 11) * 0x1p-53;
}

#define N 5000
static uint64_t count = N;
static float fx[N], fy[N], fo[20 * N];
static double dx[N], dy[N], out64[20 * N];

static void fill(void)
{
	for (int i = 0; i < N; i++) {
		fx[i] = (float)uniform(-3, 3);
		fy[i] = (float)uniform(-3, 3);
		dx[i] = uniform(-3, 3);
		dy[i] = uniform(-3, 3);
	}
	dx[0] = 1e6, dy[1] = 123456789.0, dx[2] = 0, dy[2] = -0.0, dx[3] = INFINITY, dy[4] = NAN;
	fx[0] = 1e6f, fy[1] = 1.2e8f, fx[2] = 0, fy[2] = -0.0f, fx[3] = INFINITY, fy[4] = NAN;
}

static void elementwise(void)
{
	CUdeviceptr x = copied(fx, sizeof(fx)), y = copied(fy, sizeof(fy)), o = memory(4 * N);
	float s = 1.5f, got[N];

	LAUNCH("elementwise", 7, 256, 0, &o, &x, &y, &s, &count);
	GOOD(cuMemcpyDtoH_v2(got, o, sizeof(got)));
	for (int i = 0; i < N; i++) {
		float a = fx[i], b = fy[i], r = fmaf(a, s, b / fmaf(a, a, 1.0f));
		float want = r > 0 ? sqrtf(r) : fminf(a, b);

		cr_assert(got[i] == want || (got[i] != got[i] && want != want), "%d: %a, want %a",
			  i, got[i], want);
	}
	uint64_t quarter = N / 4;
	LAUNCH("vectors", 20, 64, 0, &o, &x, &y, &quarter);
	GOOD(cuMemcpyDtoH_v2(got, o, sizeof(got)));
	for (int i = 0; i < N / 4 * 4; i++) {
		float want = fmaf(fx[i], fy[i], 1.0f);

		cr_assert(got[i] == want || (got[i] != got[i] && want != want));
	}
}

/* Ulps of what the CUDA manual allows, and some for the host's own. */
static const int ulps64[20] = {2, 2, 3, 3, 4, 4, 3, 4, 3, 3, 0, 3, 3, 3, 4, 8, 0, 0, 8, 3};
static const int ulps32[20] = {3, 2, 3, 3, 6, 10, 3, 4, 4, 3, 0, 4, 3, 3, 5, 10, 0, 0, 12, 4};

/* In the order in which the kernels store them. */
static double reference(int k, double a, double b)
{
	const double one[] = {exp(a),	log(fabs(a)),	 sin(b),	cos(a),
			      tan(a),	pow(fabs(a), b), tanh(a),	atan2(a, b),
			      erf(a),	cbrt(b),	 fmod(a, 0.75), hypot(a, b),
			      expm1(b), log1p(fabs(b)),	 asinh(a),	lgamma(fabs(b) + 1),
			      floor(a), rint(b),	 asin(sin(a)),	exp2(a)};

	return one[k];
}

/* Distance in units of the last place of want; 0 for equal and for two NaN. */
static double ulps(double got, double want, double unit, double least)
{
	if (got == want || (got != got && want != want))
		return 0;
	if (!isfinite(got) || !isfinite(want))
		return INFINITY;
	double size = fmax(fabs(want), least);
	return fabs(got - want) / (exp2(floor(log2(size))) * unit);
}

/* Near a pole or a zero of asin(sin()), tan, lgamma the inputs' own rounding shows. */
static bool delicate(int k, double want)
{
	return (k == 18 && fabs(want) > 1.5) || (k == 15 && fabs(want) < 0.2);
}

static void math(void)
{
	CUdeviceptr x = copied(dx, sizeof(dx)), y = copied(dy, sizeof(dy)), o = memory(160 * N);
	CUdeviceptr x32 = copied(fx, sizeof(fx)), y32 = copied(fy, sizeof(fy)),
		    o32 = memory(80 * N);

	LAUNCH("math64", 9, 256, 0, &o, &x, &y, &count);
	LAUNCH("math32", 9, 256, 0, &o32, &x32, &y32, &count);
	GOOD(cuMemcpyDtoH_v2(out64, o, sizeof(out64)));
	GOOD(cuMemcpyDtoH_v2(fo, o32, sizeof(fo)));
	for (int i = 0; i < N; i++)
		for (int k = 0; k < 20; k++) {
			double want = reference(k, dx[i], dy[i]);
			float want32 = (float)reference(k, fx[i], fy[i]);
			double got = out64[20 * i + k], got32 = fo[20 * i + k];

			if (!delicate(k, want))
				cr_expect_leq(ulps(got, want, 0x1p-52, 0x1p-1022), ulps64[k],
					      "f64 %d(%a, %a): %a, want %a", k, dx[i], dy[i], got,
					      want);
			if (!delicate(k, want32))
				cr_expect_leq(ulps(got32, want32, 0x1p-23, 0x1p-126), ulps32[k],
					      "f32 %d(%a, %a): %a, want %a", k, fx[i], fy[i], got32,
					      (double)want32);
		}
}

static uint32_t reversed32(uint32_t v)
{
	uint32_t out = 0;

	for (int k = 0; k < 32; k++)
		out |= (v >> k & 1) << (31 - k);
	return out;
}

static uint32_t byte_perm(uint32_t a, uint32_t b, uint32_t s)
{
	uint64_t both = a | (uint64_t)b << 32;
	uint32_t out = 0;

	for (int k = 0; k < 4; k++)
		out |= (uint32_t)(both >> (8 * (s >> (4 * k) & 7)) & 255) << (8 * k);
	return out;
}

static uint64_t hashed(int64_t a, int64_t b)
{
	typedef uint64_t u;
	int32_t c = (int32_t)a, d = (int32_t)b;
	uint64_t h = (u)(b ? a / b : 7) + 3 * (u)(b ? a % b : 5);
	u r64 = (u)reversed32((uint32_t)b) << 32 | reversed32((uint32_t)((u)b >> 32));
	uint32_t apart = c < d ? (uint32_t)d - (uint32_t)c : (uint32_t)c - (uint32_t)d;

	h = h * 31 + (u)(d ? (int64_t)c / d : 0) + (u)(int64_t)(c % 13) +
	    (u)(int64_t)((int16_t)c / 7);
	h = h * 31 + ((u)a << (c & 63)) + (u)(a >> (d & 63)) + ((u)b >> (c & 31));
	h = h * 31 + (u)__builtin_popcountll((u)a) + (u)(c ? __builtin_clz((uint32_t)c) : 32) +
	    (u)__builtin_ffsll(b) + reversed32((uint32_t)c) + r64;
	h = h * 31 + (u)(((unsigned __int128)(u)a * (u)b) >> 64) + (u)(((__int128)a * b) >> 64) +
	    (u)(int64_t)(int32_t)(((int64_t)c * d) >> 32);
	h = h * 31 + byte_perm((uint32_t)c, (uint32_t)d, 0x3715) +
	    ((uint32_t)d << 9 | (uint32_t)c >> 23) + (uint32_t)(apart + 3u);
	h = h * 31 + (u)(int64_t)(int8_t)a + (uint16_t)b + (u)(int64_t)(float)c;
	return h * 31 + (u)(a > b ? a : b) + (u)(int64_t)(c < d ? c : d) +
	       (u)(b >> 1 < 0 ? -(b >> 1) : b >> 1) + (c > 3 && a != b);
}

static void integers(void)
{
	static int64_t x[N], y[N], got[N];

	for (int i = 0; i < N; i++) {
		x[i] = (int64_t)(next_random() >> (next_random() & 63));
		y[i] = (int64_t)(next_random() >> (next_random() & 63));
		x[i] = next_random() & 1 ? x[i] : (int64_t)(0 - (uint64_t)x[i]);
	}
	y[0] = 0;
	CUdeviceptr a = copied(x, sizeof(x)), b = copied(y, sizeof(y)), o = memory(sizeof(got));
	LAUNCH("integers", 9, 256, 0, &o, &a, &b, &count);
	GOOD(cuMemcpyDtoH_v2(got, o, sizeof(got)));
	for (int i = 0; i < N; i++)
		cr_assert_eq((uint64_t)got[i], hashed(x[i], y[i]), "%d: %lld, %lld", i,
			     (long long)x[i], (long long)y[i]);
}

static void reductions(void)
{
	CUdeviceptr x, o = memory(8 * 8), part = memory(8 * 8), index = memory(8 * 8);
	double got[8], total = 0, best = -1e300, again;
	int64_t at[8], where = -1;

	for (int i = 0; i < N; i++) {
		dx[i] = uniform(-1, 1);
		total += dx[i];
		where = dx[i] > best ? i : where;
		best = dx[i] > best ? dx[i] : best;
	}
	x = copied(dx, sizeof(dx));
	LAUNCH("sum", 8, 256, 0, &o, &x, &count);
	GOOD(cuMemcpyDtoH_v2(got, o, sizeof(got)));
	again = got[0] + got[1] + got[2] + got[3] + got[4] + got[5] + got[6] + got[7];
	cr_expect_leq(fabs(again - total), 1e-11);
	LAUNCH("argmax", 8, 256, 256 * 16, &o, &index, &x, &count);
	GOOD(cuMemcpyDtoH_v2(got, o, sizeof(got)));
	GOOD(cuMemcpyDtoH_v2(at, index, sizeof(at)));
	int k = 0;
	while (k < 7 && got[k] != best)
		k++;
	cr_expect_eq(at[k], where);
	for (int turn = 0; turn < 2; turn++) {
		LAUNCH("last_block", 8, 256, 0, &part, &o, &x, &count);
		GOOD(cuMemcpyDtoH_v2(got, o, 8));
		cr_expect_leq(fabs(got[0] - total), 1e-11);
	}
	double zero = 0;
	GOOD(cuMemcpyHtoD_v2(o, &zero, 8));
	LAUNCH("largest", 20, 256, 0, &o, &x, &count);
	GOOD(cuMemcpyDtoH_v2(got, o, 8));
	cr_expect_eq(got[0], best);
}

static void grids(void)
{
	enum { X = 83, Y = 45, M = 40 };
	CUdeviceptr a = copied(fx, sizeof(fx)), o = memory(4 * X * Y);
	int nx = X, ny = Y, m = M;
	static float got[X * Y];

	launch2("stencil", (X + 31) / 32, (Y + 7) / 8, 32, 8, 0, (void *[]){&o, &a, &nx, &ny});
	GOOD(cuMemcpyDtoH_v2(got, o, sizeof(got)));
	for (int y = 0; y < Y; y++)
		for (int x = 0; x < X; x++) {
			int l = x ? x - 1 : 0, r = x < X - 1 ? x + 1 : x, u = y ? y - 1 : 0,
			    d = y < Y - 1 ? y + 1 : y;
			float want = fx[y * X + x] + fx[y * X + l] + fx[y * X + r] + fx[u * X + x] +
				     fx[d * X + x];
			cr_assert(got[y * X + x] == want || want != want, "%d %d", x, y);
		}
	for (int i = 0; i < M * M; i++)
		fx[i] = fy[i] = (float)(i % 17) - 8;
	a = copied(fx, sizeof(fx));
	launch2("matmul", 3, 3, 16, 16, 0, (void *[]){&o, &a, &a, &m});
	GOOD(cuMemcpyDtoH_v2(got, o, 4 * M * M));
	for (int i = 0; i < M * M; i++) {
		float want = 0;

		for (int k = 0; k < M; k++)
			want += fx[i / M * M + k] * fx[k * M + i % M];
		cr_assert_eq(got[i], want);
	}
}

static int one_case(int v)
{
	uint32_t r = 0;

	switch (v & 7) {
	case 0:
		return (int)((uint32_t)v * 3);
	case 1:
		return v ^ 0x55;
	case 2:
		return v / 3;
	case 3:
		return __builtin_popcount((uint32_t)v);
	case 4:
		return (int)(0 - (uint32_t)v);
	case 5:
		return v % 11;
	case 6:
		return v | 0x77;
	}
	for (int k = 0; k < (v >> 3 & 31); k++)
		r += (uint32_t)k * (uint32_t)v;
	return (int)r;
}

static void branches(void)
{
	static int x[N], got[N];
	int found, want = 0, zero = 0, flags[128];
	long sum = 0;

	for (int i = 0; i < N; i++)
		x[i] = (int)next_random();
	CUdeviceptr a = copied(x, sizeof(x)), o = memory(sizeof(got)), c = copied(&zero, 4);
	LAUNCH("cases", 20, 256, 0, &o, &a, &count);
	GOOD(cuMemcpyDtoH_v2(got, o, sizeof(got)));
	for (int i = 0; i < N; i++)
		cr_assert_eq(got[i], one_case(x[i]), "%d", x[i]);
	LAUNCH("compact", 20, 256, 0, &c, &o, &a, &count);
	GOOD(cuMemcpyDtoH_v2(&found, c, 4));
	GOOD(cuMemcpyDtoH_v2(got, o, sizeof(got)));
	for (int i = 0; i < N; i++)
		if ((x[i] & 3) == 1) {
			want++;
			sum += x[i];
		}
	cr_assert_eq(found, want);
	for (int i = 0; i < found; i++)
		sum -= got[i];
	cr_expect_eq(sum, 0);
	LAUNCH("barriers", 1, 128, 0, &o);
	GOOD(cuMemcpyDtoH_v2(flags, o, sizeof(flags)));
	for (int t = 0; t < 128; t++)
		cr_expect_eq(flags[t],
			     43 * 100 + 10 + 1 + (t < 64) * 1000000 + (t % 2 == 0) * 2000000);
}

static void structures(void)
{
	struct {
		double a[380];
		int n, shift;
	} large = {.n = 380, .shift = 371};
	double got[256];
	float scale = 0.5f;

	for (int i = 0; i < 380; i++)
		large.a[i] = i * 1.25;
	CUdeviceptr o = memory(sizeof(got));
	LAUNCH("by_value", 1, 256, 0, &o, &large, &scale);
	GOOD(cuMemcpyDtoH_v2(got, o, sizeof(got)));
	for (int i = 0; i < 256; i++)
		cr_assert_eq(got[i], (i + 371) % 380 * 1.25 * 0.5);
}

static void halves(void)
{
	static uint16_t h[N], b[N];

	fx[0] = 65520.0f, fx[1] = 0x1p-25f, fx[2] = NAN, fx[3] = -INFINITY, fx[4] = 0x1.8p-25f;
	CUdeviceptr x = copied(fx, sizeof(fx)), o = memory(sizeof(h)), p = memory(sizeof(b));
	LAUNCH("halves", 20, 256, 0, &o, &p, &x, &count);
	GOOD(cuMemcpyDtoH_v2(h, o, sizeof(h)));
	GOOD(cuMemcpyDtoH_v2(b, p, sizeof(b)));
	for (int i = 0; i < N; i++) {
		_Float16 want = (_Float16)fx[i];
		uint16_t bits;
		uint32_t u;

		memcpy(&bits, &want, 2);
		memcpy(&u, &fx[i], 4);
		cr_assert_eq(h[i], fx[i] != fx[i] ? 0x7fff : bits, "%a", fx[i]);
		cr_assert_eq(b[i], fx[i] != fx[i] ? 0x7fff : (u + 0x7fff + (u >> 16 & 1)) >> 16);
	}
}

static void everything(int capability)
{
	set_up(capability);
	fill();
	elementwise();
	math();
	integers();
	grids();
	reductions();
	branches();
	structures();
	halves();
}

Test(nvrtc, sm_75)
{
	everything(75);
}

Test(nvrtc, sm_80)
{
	everything(80);
}

Test(nvrtc, sm_86)
{
	everything(86);
}

Test(nvrtc, sm_89)
{
	everything(89);
}

Test(nvrtc, sm_90)
{
	everything(90);
}

Test(nvrtc, sm_100)
{
	everything(100);
}

Test(nvrtc, sm_120)
{
	everything(120);
}

Test(nvrtc, forgotten_barrier_is_a_race)
{
	set_up(90);
	fill();
	CUdeviceptr x = copied(dx, sizeof(dx)), o = memory(8 * 20);
	void *params[] = {&o, &x, &count};
	cr_expect_eq(run(function_of(module, "racing_sum"), 20, 256, 0, params),
		     CUDA_ERROR_LAUNCH_FAILED);
}

Test(nvrtc, a_cubin_without_its_ptx_is_refused)
{
	CUmodule m;

	set_up(90);
	void *image = compiled("--gpu-architecture=sm_90");
	setenv("BRAZE_STANDIN_PTX", "/nonexistent", 1);
	cr_expect_eq(cuModuleLoadDataEx(&m, image, 0, NULL, NULL), CUDA_ERROR_NO_BINARY_FOR_GPU);
	setenv("BRAZE_STANDIN_PTX", STANDIN_SCRATCH, 1);
	GOOD(cuModuleLoadDataEx(&m, image, 0, NULL, NULL));
	free(image);
}

/* The processor's code of the cast reads two bytes, too; its PTX reads eight. */
Test(nvrtc, programs_of_one_cubin_keep_their_own_ptx)
{
	static const char *const from[] = {"short", "long long"};
	short value = 1234, got = 0;
	CUdeviceptr x, o;
	void *image[2];
	char text[200];

	set_up(90);
	for (int k = 0; k < 2; k++) {
		snprintf(text, sizeof(text),
			 "extern \"C\" __global__ void f(short *o, const %s *x) { *o = *x; }",
			 from[k]);
		image[k] = compiled_text(text, "--gpu-architecture=sm_90");
	}
	x = copied(&value, sizeof(value));
	o = memory(sizeof(got));
	GOOD(cuModuleLoadDataEx(&module, image[0], 0, NULL, NULL));
	LAUNCH("f", 1, 1, 0, &o, &x);
	GOOD(cuMemcpyDtoH_v2(&got, o, sizeof(got)));
	cr_expect_eq(got, value);
	free(image[0]);
	free(image[1]);
}

/* A driver of an older CUDA than the compiler's refuses what it made. */
Test(nvrtc, code_of_a_later_cuda_is_refused)
{
	static const char ptx[] = ".version 9.0\n.target sm_90\n.address_size 64\n";
	int version[2];
	CUmodule m;
	void *image;

	options("cc=9.0,log=/dev/null,driver=12040");
	setenv("BRAZE_STANDIN_PTX", STANDIN_SCRATCH, 1);
	nvrtc = dlopen(STANDIN_LIBNVRTC, RTLD_NOW | RTLD_LOCAL);
	cr_assert(nvrtc, "%s", dlerror());
	device();
	cr_expect_eq(cuModuleLoadDataEx(&m, ptx, 0, NULL, NULL),
		     CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
	if (entry("nvrtcVersion")(&version[0], &version[1]) || version[0] < 13)
		cr_skip_test("no NVRTC of CUDA 13");
	image = compiled("--gpu-architecture=sm_90");
	cr_expect_eq(cuModuleLoadDataEx(&m, image, 0, NULL, NULL), CUDA_ERROR_INVALID_IMAGE);
	free(image);
}
