// SPDX-License-Identifier: Apache-2.0
// kernels.cu - CUDA C that test_nvrtc.c compiles with the real NVRTC and runs on the
// stand-in. One kernel for each thing that generated kernels do.
typedef unsigned long long u64;
typedef long long i64;

#define FIRST (u64)blockIdx.x *blockDim.x + threadIdx.x
#define STEP  (u64)gridDim.x *blockDim.x

extern "C" __global__ void elementwise(float *__restrict__ out, const float *__restrict__ x,
				       const float *__restrict__ y, float s, u64 n)
{
	for (u64 i = FIRST; i < n; i += STEP) {
		float a = x[i], b = y[i], r = a * s + b / (1.0f + a * a);
		out[i] = r > 0.0f ? sqrtf(r) : fminf(a, b);
	}
}

struct alignas(16) four {
	float v[4];
};

extern "C" __global__ void vectors(four *out, const four *x, const four *y, u64 n)
{
	u64 i = FIRST;
	if (i < n)
		for (int k = 0; k < 4; k++)
			out[i].v[k] = x[i].v[k] * y[i].v[k] + 1.0f;
}

__device__ __forceinline__ double warp_sum(double v)
{
	for (int d = 16; d; d >>= 1)
		v += __shfl_xor_sync(0xffffffffu, v, d);
	return v;
}

extern "C" __global__ void __launch_bounds__(256) sum(double *out, const double *x, u64 n)
{
	__shared__ double part[8];
	double acc = 0.0;
	for (u64 i = FIRST; i < n; i += STEP)
		acc += x[i];
	acc = warp_sum(acc);
	if ((threadIdx.x & 31) == 0)
		part[threadIdx.x >> 5] = acc;
	__syncthreads();
	if (threadIdx.x < 32) {
		acc = warp_sum(threadIdx.x < 8 ? part[threadIdx.x] : 0.0);
		if (threadIdx.x == 0)
			out[blockIdx.x] = acc;
	}
}

// As sum, but the barrier is forgotten.
extern "C" __global__ void __launch_bounds__(256) racing_sum(double *out, const double *x, u64 n)
{
	__shared__ double part[8];
	double acc = warp_sum(FIRST < n ? x[FIRST] : 0.0);
	if ((threadIdx.x & 31) == 0)
		part[threadIdx.x >> 5] = acc;
	if (threadIdx.x < 32) {
		acc = warp_sum(threadIdx.x < 8 ? part[threadIdx.x] : 0.0);
		if (threadIdx.x == 0)
			out[blockIdx.x] = acc;
	}
}

extern "C" __global__ void argmax(double *value, i64 *index, const double *x, u64 n)
{
	extern __shared__ __align__(16) unsigned char dynamic[];
	double *v = (double *)dynamic;
	i64 *at = (i64 *)(dynamic + 8 * blockDim.x);
	double best = -1e300;
	i64 where = -1;
	for (u64 i = FIRST; i < n; i += STEP)
		if (x[i] > best) {
			best = x[i];
			where = (i64)i;
		}
	v[threadIdx.x] = best;
	at[threadIdx.x] = where;
	__syncthreads();
	for (unsigned d = blockDim.x >> 1; d; d >>= 1) {
		if (threadIdx.x < d && v[threadIdx.x + d] > v[threadIdx.x]) {
			v[threadIdx.x] = v[threadIdx.x + d];
			at[threadIdx.x] = at[threadIdx.x + d];
		}
		__syncthreads();
	}
	if (threadIdx.x == 0) {
		value[blockIdx.x] = v[0];
		index[blockIdx.x] = at[0];
	}
}

extern "C" __global__ void stencil(float *out, const float *in, int nx, int ny)
{
	__shared__ float t[10][34];
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
	for (int dy = threadIdx.y; dy < 10; dy += 8)
		for (int dx = threadIdx.x; dx < 34; dx += 32) {
			int sx = min(max((int)(blockIdx.x * 32) + dx - 1, 0), nx - 1);
			int sy = min(max((int)(blockIdx.y * 8) + dy - 1, 0), ny - 1);
			t[dy][dx] = in[sy * nx + sx];
		}
	__syncthreads();
	int lx = threadIdx.x + 1, ly = threadIdx.y + 1;
	if (x < nx && y < ny)
		out[y * nx + x] = t[ly][lx] + t[ly][lx - 1] + t[ly][lx + 1] + t[ly - 1][lx] +
				  t[ly + 1][lx];
}

struct large {
	double a[380];
	int n, shift;
};

__device__ __noinline__ double looked_up(const large &l, unsigned i)
{
	return l.a[(i + l.shift) % l.n];
}

extern "C" __global__ void by_value(double *out, large l, float scale)
{
	out[threadIdx.x] = looked_up(l, threadIdx.x) * scale;
}

extern "C" __global__ void math64(double *out, const double *x, const double *y, u64 n)
{
	for (u64 i = FIRST; i < n; i += STEP) {
		double a = x[i], b = y[i];
		double *o = out + 20 * i;
		o[0] = exp(a), o[1] = log(fabs(a)), o[2] = sin(b), o[3] = cos(a), o[4] = tan(a);
		o[5] = pow(fabs(a), b), o[6] = tanh(a), o[7] = atan2(a, b), o[8] = erf(a);
		o[9] = cbrt(b), o[10] = fmod(a, 0.75), o[11] = hypot(a, b), o[12] = expm1(b);
		o[13] = log1p(fabs(b)), o[14] = asinh(a), o[15] = lgamma(fabs(b) + 1);
		o[16] = floor(a), o[17] = rint(b), o[18] = asin(sin(a)), o[19] = exp2(a);
	}
}

extern "C" __global__ void math32(float *out, const float *x, const float *y, u64 n)
{
	for (u64 i = FIRST; i < n; i += STEP) {
		float a = x[i], b = y[i];
		float *o = out + 20 * i;
		o[0] = expf(a), o[1] = logf(fabsf(a)), o[2] = sinf(b), o[3] = cosf(a), o[4] = tanf(a);
		o[5] = powf(fabsf(a), b), o[6] = tanhf(a), o[7] = atan2f(a, b), o[8] = erff(a);
		o[9] = cbrtf(b), o[10] = fmodf(a, 0.75f), o[11] = hypotf(a, b), o[12] = expm1f(b);
		o[13] = log1pf(fabsf(b)), o[14] = asinhf(a), o[15] = lgammaf(fabsf(b) + 1);
		o[16] = floorf(a), o[17] = rintf(b), o[18] = asinf(sinf(a)), o[19] = exp2f(a);
	}
}

// Everything wraps: the host computes the same in unsigned types.
extern "C" __global__ void integers(i64 *out, const i64 *x, const i64 *y, u64 n)
{
	for (u64 i = FIRST; i < n; i += STEP) {
		i64 a = x[i], b = y[i];
		int c = (int)a, d = (int)b;
		u64 h = (u64)(b ? a / b : 7) + 3 * (u64)(b ? a % b : 5);
		h = h * 31 + (u64)(d ? (i64)c / d : 0) + (u64)(c % 13) + (u64)((short)c / 7);
		h = h * 31 + ((u64)a << (c & 63)) + (u64)(a >> (d & 63)) + ((u64)b >> (c & 31));
		h = h * 31 + __popcll(a) + __clz(c) + __ffsll(b) + __brev(c) + (u64)__brevll(b);
		h = h * 31 + __umul64hi(a, b) + (u64)__mul64hi(a, b) + (u64)__mulhi(c, d);
		h = h * 31 + __byte_perm(c, d, 0x3715) + __funnelshift_l(c, d, 9) + (unsigned)__sad(c, d, 3u);
		h = h * 31 + (u64)(signed char)a + (unsigned short)b + (u64)(i64)(float)c;
		h = h * 31 + (u64)max(a, b) + (u64)min(c, d) + (u64)llabs(b >> 1) + (c > 3 && a != b);
		out[i] = (i64)h;
	}
}

extern "C" __global__ void matmul(float *c, const float *a, const float *b, int n)
{
	__shared__ float A[16][17], B[16][17];
	int r = blockIdx.y * 16 + threadIdx.y, q = blockIdx.x * 16 + threadIdx.x;
	float s = 0;
	for (int t = 0; t < n; t += 16) {
		int k = t + threadIdx.x, l = t + threadIdx.y;
		A[threadIdx.y][threadIdx.x] = r < n && k < n ? a[r * n + k] : 0;
		B[threadIdx.y][threadIdx.x] = q < n && l < n ? b[l * n + q] : 0;
		__syncthreads();
		for (int m = 0; m < 16; m++)
			s += A[threadIdx.y][m] * B[m][threadIdx.x];
		__syncthreads();
	}
	if (r < n && q < n)
		c[r * n + q] = s;
}

extern "C" __global__ void cases(int *out, const int *x, u64 n)
{
	u64 i = FIRST;
	if (i >= n)
		return;
	int v = x[i], r;
	switch (v & 7) {
	case 0:
		r = v * 3;
		break;
	case 1:
		r = v ^ 0x55;
		break;
	case 2:
		r = v / 3;
		break;
	case 3:
		r = __popc(v);
		break;
	case 4:
		r = -v;
		break;
	case 5:
		r = v % 11;
		break;
	case 6:
		r = v | 0x77;
		break;
	default:
		r = 0;
		for (int k = 0; k < (v >> 3 & 31); k++)
			r += k * v;
	}
	out[i] = r;
}

extern "C" __global__ void largest(double *m, const double *x, u64 n)
{
	u64 i = FIRST;
	if (i >= n)
		return;
	u64 *p = (u64 *)m, old = *p, seen;
	do {
		seen = old;
		if (__longlong_as_double(seen) >= x[i])
			break;
		old = atomicCAS(p, seen, __double_as_longlong(x[i]));
	} while (old != seen);
}

extern "C" __global__ void compact(int *count, int *out, const int *x, u64 n)
{
	u64 i = FIRST;
	bool p = i < n && (x[i] & 3) == 1;
	unsigned b = __ballot_sync(~0u, p);
	int lane = threadIdx.x & 31, base = 0;
	if (lane == 0 && b)
		base = atomicAdd(count, __popc(b));
	base = __shfl_sync(~0u, base, 0);
	if (p)
		out[base + __popc(b & ((1u << lane) - 1))] = x[i];
}

__device__ unsigned blocks_done;

// The last block to finish adds up what the others left.
extern "C" __global__ void last_block(double *part, double *out, const double *x, u64 n)
{
	__shared__ double s[256];
	__shared__ bool last;
	double a = 0;
	for (u64 i = FIRST; i < n; i += STEP)
		a += x[i];
	s[threadIdx.x] = a;
	__syncthreads();
	for (int d = 128; d; d >>= 1) {
		if (threadIdx.x < d)
			s[threadIdx.x] += s[threadIdx.x + d];
		__syncthreads();
	}
	if (threadIdx.x == 0) {
		part[blockIdx.x] = s[0];
		__threadfence();
		last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
	}
	__syncthreads();
	if (last && threadIdx.x == 0) {
		double t = 0;
		for (unsigned k = 0; k < gridDim.x; k++)
			t += ((volatile double *)part)[k];
		*out = t;
	}
}

struct half_bits {
	unsigned short v;
};

extern "C" __global__ void halves(half_bits *h, half_bits *b, const float *x, u64 n)
{
	u64 i = FIRST;
	if (i >= n)
		return;
	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h[i].v) : "f"(x[i]));
#if __CUDA_ARCH__ >= 800
	asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(b[i].v) : "f"(x[i]));
#else
	unsigned u = __float_as_uint(x[i]);
	b[i].v = x[i] != x[i] ? 0x7fff : (u + 0x7fff + ((u >> 16) & 1)) >> 16;
#endif
}

extern "C" __global__ void barriers(int *out)
{
	int t = threadIdx.x;
	out[t] = __syncthreads_count(t % 3 == 0) * 100 + __syncthreads_or(t == 77) * 10 +
		 __syncthreads_and(t < 1000);
	__syncwarp();
	out[t] += __all_sync(~0u, t < 64) * 1000000 + (__match_any_sync(~0u, t & 1) & 1) * 2000000;
}
