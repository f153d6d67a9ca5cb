/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_fft.c - see cuda_fft.h. */
#define _GNU_SOURCE
#include "cuda_fft.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "cuda_library.h"

#define PLANS 16 /* of a lane */

enum { FORWARD = -1, INVERSE = 1 };
enum { FFT_OK = 0, NO_MEMORY = 2 };

static const struct fft_status {
	int code;
	const char *text;
} statuses[] = {{1, "no such plan"},
		{NO_MEMORY, "out of memory"},
		{3, "a kind is not taken"},
		{4, "an argument is not taken"},
		{5, "internal error"},
		{6, "the launch failed"},
		{7, "the library does not start"},
		{8, "a size is not taken"},
		{9, "memory is not aligned"},
		{11, "not on this device"},
		{13, "no work area"},
		{14, "not implemented"},
		{16, "not supported"},
		{17, "a library that it needs is missing"},
		{18, "NVRTC failed"},
		{19, "nvJitLink failed"},
		{-1, "unknown"}};

typedef int exec_fn(int plan, void *from, void *to);
typedef int exec_both_fn(int plan, void *from, void *to, int direction);

struct cuda_fft {
	int (*create)(int *plan);
	int (*destroy)(int plan);
	int (*set_auto)(int plan, int allocate);
	int (*set_area)(int plan, void *area);
	int (*set_stream)(int plan, CUstream stream);
	int (*make)(int plan, int rank, long long *n, long long *in_embed, long long in_stride,
		    long long in_distance, long long *out_embed, long long out_stride,
		    long long out_distance, int kind, long long batch, size_t *work);
	exec_both_fn *c2c, *z2z;
	exec_fn *r2c, *c2r, *d2z, *z2d;
};

struct cuda_fft_plan {
	struct cuda_fft_plan *next;
	struct cuda_fft_shape shape;
	int handle;
	bool used; /* the stream may still work with it */
	uint64_t work;
};

static const char *text_of(int rc)
{
	const struct fft_status *s = statuses;

	while (s->code >= 0 && s->code != rc)
		s++;
	return s->text;
}

bool cuda_fft_open(struct cuda *c)
{
	static const char *const names[] = {"libcufft.so.12", "libcufft.so.11", "libcufft.so.10",
					    NULL};
	static const struct cuda_library wanted = {.topic = "cuda_fft",
						   .called = "cuFFT",
						   .variable = "BRAZE_LIBCUFFT",
						   .names = names};
	struct cuda_fft f = {0};
	const struct cuda_symbol symbols[] = {{"cufftCreate", &f.create},
					      {"cufftDestroy", &f.destroy},
					      {"cufftSetAutoAllocation", &f.set_auto},
					      {"cufftSetWorkArea", &f.set_area},
					      {"cufftSetStream", &f.set_stream},
					      {"cufftMakePlanMany64", &f.make},
					      {"cufftExecC2C", &f.c2c},
					      {"cufftExecZ2Z", &f.z2z},
					      {"cufftExecR2C", &f.r2c},
					      {"cufftExecC2R", &f.c2r},
					      {"cufftExecD2Z", &f.d2z},
					      {"cufftExecZ2D", &f.z2d}};

	if (cuda_library_load(&wanted, symbols, sizeof symbols / sizeof *symbols)) {
		c->fft = xmalloc(sizeof *c->fft);
		*c->fft = f;
	}
	log_debug("cuda_fft", "%s", c->fft ? "cuFFT" : "no Fourier transforms");
	return c->fft != NULL;
}

void cuda_fft_finish(struct cuda *c)
{
	free(c->fft); /* the library stays, as the driver does */
	c->fft = NULL;
}

/* A call failed.  A context that is broken ends the worker here. */
static enum status failed(struct cuda_lane *l, const struct cuda_fft_shape *s, int rc,
			  struct err *err)
{
	cuda_context_expect(l->c, l->c->api.cuStreamSynchronize(l->stream), "a transform by cuFFT");
	return err_set(err, rc == NO_MEMORY ? E_NOMEM : E_DEVICE,
		       "%s: cuFFT status %d (%s) for %lld transforms of length %lld", l->c->name,
		       rc, text_of(rc), (long long)s->batch, (long long)s->n);
}

/* What it has on the device may be in use. */
static void plan_end(struct cuda_lane *l, struct cuda_fft_plan *p)
{
	l->patient = true;
	if (p->used)
		cuda_context_expect(l->c, l->c->api.cuStreamSynchronize(l->stream),
				    "waiting for a transform");
	if (l->c->fft->destroy(p->handle) != FFT_OK)
		log_debug("cuda_fft", "a plan could not be destroyed");
	l->patient = false;
	free(p);
}

/* All but the first `keep`. */
static void plans_drop(struct cuda_lane *l, unsigned keep)
{
	struct cuda_fft_plan **at = &l->fft_plans;

	for (; *at && keep; keep--)
		at = &(*at)->next;
	while (*at) {
		struct cuda_fft_plan *p = *at;

		*at = p->next;
		plan_end(l, p);
	}
}

void cuda_fft_close(struct cuda_lane *l)
{
	plans_drop(l, 0);
}

static int make(const struct cuda_fft *f, struct cuda_fft_plan *p)
{
	const struct cuda_fft_shape *s = &p->shape;
	long long n = s->n, in = s->extent[0], out = s->extent[1];
	size_t work = 0;
	int rc = f->create(&p->handle);

	if (rc != FFT_OK)
		return rc;
	rc = f->set_auto(p->handle, 0);
	if (rc == FFT_OK)
		rc = f->make(p->handle, 1, &n, &in, s->stride[0], s->distance[0], &out,
			     s->stride[1], s->distance[1], (int)s->kind, s->batch, &work);
	if (rc != FFT_OK)
		f->destroy(p->handle);
	p->work = work;
	return rc;
}

/* Where memory is short, others' plans stay: theirs may be in use. */
static enum status plan_make(struct cuda_fft_plan **out, struct cuda_lane *l,
			     const struct cuda_fft_shape *shape, struct err *err)
{
	struct cuda_fft_plan *p = xcalloc(1, sizeof *p);
	int rc = FFT_OK;

	p->shape = *shape;
	plans_drop(l, PLANS - 1);
	l->patient = true; /* code is loaded, or made */
	rc = make(l->c->fft, p);
	if (rc == NO_MEMORY) {
		plans_drop(l, 0);
		cuda_memory_gather(l);
		l->patient = true;
		rc = make(l->c->fft, p);
	}
	l->patient = false;
	if (rc != FFT_OK) {
		free(p);
		return failed(l, shape, rc, err);
	}
	p->next = l->fft_plans;
	*out = l->fft_plans = p;
	return OK;
}

enum status cuda_fft_plan(struct cuda_fft_plan **out, uint64_t *work, struct cuda_lane *l,
			  const struct cuda_fft_shape *shape, struct err *err)
{
	struct cuda_fft_plan **at = &l->fft_plans, *p = NULL;
	enum status st = OK;

	if (!l->c->fft)
		return err_set(err, E_DEVICE, "%s: there is no cuFFT", l->c->name);
	while (*at && memcmp(&(*at)->shape, shape, sizeof *shape) != 0)
		at = &(*at)->next;
	p = *at;
	if (p) {
		*at = p->next;
		p->next = l->fft_plans;
		*out = l->fft_plans = p;
	} else {
		st = plan_make(out, l, shape, err);
	}
	*work = st == OK ? (*out)->work : 0;
	return st;
}

static int ask(const struct cuda_fft *f, const struct cuda_fft_plan *p, void *from, void *to,
	       int direction)
{
	switch ((enum cuda_fft_kind)p->shape.kind) {
	case FFT_C2C:
		return f->c2c(p->handle, from, to, direction);
	case FFT_Z2Z:
		return f->z2z(p->handle, from, to, direction);
	case FFT_R2C:
		return f->r2c(p->handle, from, to);
	case FFT_D2Z:
		return f->d2z(p->handle, from, to);
	case FFT_C2R:
		return f->c2r(p->handle, from, to);
	default:
		return f->z2d(p->handle, from, to);
	}
}

enum status cuda_fft_run(struct cuda_lane *l, struct cuda_fft_plan *p, CUdeviceptr work,
			 CUdeviceptr from, CUdeviceptr to, bool inverse, struct err *err)
{
	const struct cuda_fft *f = l->c->fft;
	int rc = FFT_OK;

	l->patient = true; /* the first one loads code */
	rc = f->set_stream(p->handle, l->stream);
	if (rc == FFT_OK && p->work)
		rc = f->set_area(p->handle, (void *)(uintptr_t)work);
	p->used = true;
	if (rc == FFT_OK)
		rc = ask(f, p, (void *)(uintptr_t)from, (void *)(uintptr_t)to,
			 inverse ? INVERSE : FORWARD);
	l->patient = false;
	return rc == FFT_OK ? OK : failed(l, &p->shape, rc, err);
}
