/* SPDX-License-Identifier: Apache-2.0 */
/* fft_exec.c - checks a transform's arguments and computes it; see fft.h. */
#include "fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/worker/dft.h"

#define SPOILT 0xdd /* what a transform to real numbers leaves of what it read, and in the area */

struct transform {
	struct fft_plan *plan;
	CUdeviceptr from, to, area;
	bool inverse;
};

/* ---- computing, in a stream's thread ---- */

static void load(double out[2], const struct fft_plan *p, const struct fft_side *s,
		 const char *from)
{
	float single[2] = {0, 0};

	out[1] = 0;
	memcpy(p->wide ? (void *)out : single, from, s->bytes);
	if (!p->wide) {
		out[0] = (double)single[0];
		out[1] = (double)single[1];
	}
}

static void store(char *to, const struct fft_plan *p, const struct fft_side *s,
		  const double value[2])
{
	const float single[2] = {(float)value[0], (float)value[1]};

	memcpy(to, p->wide ? (const void *)value : single, s->bytes);
}

/* The ends must be real, else nothing is promised. */
static void complete(double *x, long long n)
{
	bool wrong = x[1] != 0 || (n % 2 == 0 && x[n + 1] != 0);

	dft_complete(x, n);
	if (wrong)
		x[0] = NAN;
}

static void compute_all(const struct transform *t, const char *from, char *to)
{
	const struct fft_plan *p = t->plan;
	struct dft *d = dft_create(p->n);
	double *x = d ? malloc((2 * (size_t)p->n + dft_work(d)) * sizeof *x) : NULL;

	if (!x)
		abort();
	for (long long b = 0; b < p->batch; b++) {
		for (long long k = 0; k < p->in.extent; k++)
			load(x + 2 * k, p, &p->in,
			     from + (size_t)(b * p->in.distance + k * p->in.stride) * p->in.bytes);
		if (p->out.real)
			complete(x, p->n);
		dft_run(d, x, x + 2 * p->n, t->inverse);
		if (p->in.real)
			dft_real_ends(x, p->n);
		for (long long k = 0; k < p->out.extent; k++)
			store(to + (size_t)(b * p->out.distance + k * p->out.stride) * p->out.bytes,
			      p, &p->out, x + 2 * k);
	}
	free(x);
	dft_destroy(d);
}

static void spoil(const struct fft_plan *p, char *from)
{
	for (long long b = 0; b < p->batch; b++)
		for (long long k = 0; k < p->in.extent; k++)
			memset(from + (size_t)(b * p->in.distance + k * p->in.stride) * p->in.bytes,
			       SPOILT, p->in.bytes);
}

/* Host bytes of one side; NULL: the context is broken now. */
static char *find(const struct fft_plan *p, CUdeviceptr at, size_t bytes, bool write,
		  const char *what)
{
	char *host = p->driver->host(at, bytes, write);

	if (!host)
		p->driver->fault(p->context, CUDA_ERROR_ILLEGAL_ADDRESS, what, at, bytes);
	return host;
}

static void compute(void *data)
{
	const struct transform *t = data;
	struct fft_plan *p = t->plan;
	char *from = find(p, t->from, fft_reach(p, &p->in), p->out.real, "cuFFT: what is read");
	char *to = NULL, *area = NULL;

	if (from)
		to = find(p, t->to, fft_reach(p, &p->out), true, "cuFFT: the result");
	if (to && p->work)
		area = find(p, t->area, p->work, true, "cuFFT: the work area");
	if (to && (area || !p->work)) {
		compute_all(t, from, to);
		if (area)
			memset(area, SPOILT, p->work);
		if (p->out.real)
			spoil(p, from);
	}
	atomic_fetch_sub(&p->pending, 1);
}

/* ---- arguments ---- */

static bool meet(CUdeviceptr a, size_t bytes, CUdeviceptr b, size_t others)
{
	return a < b + others && b < a + bytes;
}

static const char *wrong(const struct transform *t, cufftType type, int direction)
{
	const struct fft_plan *p = t->plan;
	size_t in = fft_reach(p, &p->in), out = fft_reach(p, &p->out), pair = p->wide ? 16 : 8;

	if (p->type != type)
		return "the plan is of another kind";
	if (direction != CUFFT_FORWARD && direction != CUFFT_INVERSE)
		return "a direction that is none";
	if (!p->stream_set)
		return "no stream was set for this call";
	if (!t->from || !t->to || t->from % pair || t->to % pair)
		return "memory at no multiple of a complex number";
	if (meet(t->from, in, t->to, out))
		return "what is read and the result overlap";
	if (p->work && p->area_set &&
	    (meet(t->from, in, t->area, p->work) || meet(t->to, out, t->area, p->work)))
		return "the work area overlaps an operand";
	return NULL;
}

static cufftResult transform(const char *name, cufftType type, cufftHandle plan, void *from,
			     void *to, int direction)
{
	struct transform t = {.from = (CUdeviceptr)(uintptr_t)from,
			      .to = (CUdeviceptr)(uintptr_t)to,
			      .inverse = direction == CUFFT_INVERSE};
	cufftResult status = fft_enter(&t.plan, name, plan);
	const char *what = NULL;

	if (status)
		return status;
	if (!t.plan->own)
		return CUFFT_INVALID_PLAN;
	t.area = t.plan->area;
	what = wrong(&t, type, direction);
	if (what)
		return fft_refuse(t.plan, name, what);
	if (t.plan->work && !t.plan->area_set)
		return CUFFT_NO_WORKSPACE;
	atomic_fetch_add(&t.plan->pending, 1);
	t.plan->driver->push(t.plan->context, t.plan->stream, compute, &t, sizeof t);
	t.plan->stream_set = t.plan->area_set = false;
	return CUFFT_SUCCESS;
}

#define BOTH_WAYS(name, type)                                                                      \
	cufftResult name(cufftHandle plan, void *from, void *to, int direction)                    \
	{                                                                                          \
		return transform(#name, type, plan, from, to, direction);                          \
	}
FFT_BOTH_WAYS(BOTH_WAYS)

#define ONE_WAY(name, type)                                                                        \
	cufftResult name(cufftHandle plan, void *from, void *to)                                   \
	{                                                                                          \
		return transform(#name, type, plan, from, to,                                      \
				 (type) == CUFFT_C2R || (type) == CUFFT_Z2D ? CUFFT_INVERSE        \
									    : CUFFT_FORWARD);      \
	}
FFT_ONE_WAY(ONE_WAY)
