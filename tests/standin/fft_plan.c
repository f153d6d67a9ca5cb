/* SPDX-License-Identifier: Apache-2.0 */
/* fft_plan.c - plans and their settings; see fft.h.
 *
 * The driver is the libcuda.so.1 that this process has loaded already; one that is no
 * stand-in has no table for us, and there is no plan. */
#include "cu_found.h"
#include "fft.h"
#include <pthread.h>

#define PLANS	     1024
#define PLAN_BYTES   (256u << 10) /* that a plan takes of the device */
#define AREA_ALIGNED 256
#define SMALL	     16 /* transforms so short need no work area */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fft_plan plans[PLANS]; /* handle - 1 */

cufftResult fft_refuse(const struct fft_plan *p, const char *function, const char *what)
{
	p->driver->log("fault: %s: %s", function, what);
	return CUFFT_INVALID_VALUE;
}

cufftResult fft_enter(struct fft_plan **out, const char *function, cufftHandle plan)
{
	struct fft_plan *p = plan >= 1 && plan <= PLANS ? &plans[plan - 1] : NULL;
	CUcontext current = NULL;
	int injected = 0;

	if (!p || !p->live)
		return CUFFT_INVALID_PLAN;
	*out = p;
	current = p->driver->context();
	injected = p->driver->enter(function);
	if (injected)
		return (cufftResult)injected;
	if (!current)
		return CUFFT_EXEC_FAILED;
	return current == p->context ? CUFFT_SUCCESS
				     : fft_refuse(p, function, "the plan is another context's");
}

cufftResult cufftCreate(cufftHandle *out)
{
	const struct cu_private *driver = driver_table();
	CUcontext context = driver ? driver->context() : NULL;
	int injected = driver ? driver->enter(__func__) : 0, at = 0;

	if (injected)
		return (cufftResult)injected;
	if (!out || !driver || !context)
		return CUFFT_SETUP_FAILED;
	pthread_mutex_lock(&lock);
	while (at < PLANS && plans[at].live)
		at++;
	if (at < PLANS) {
		plans[at] = (struct fft_plan){.driver = driver, .context = context, .live = true};
		*out = at + 1;
	}
	pthread_mutex_unlock(&lock);
	return at < PLANS ? CUFFT_SUCCESS : CUFFT_ALLOC_FAILED;
}

/* The device's memory is freed, which waits for the device; braze has waited before. */
cufftResult cufftDestroy(cufftHandle plan)
{
	struct fft_plan *p = NULL;
	cufftResult status = fft_enter(&p, __func__, plan);
	free_fn *free_memory = NULL;

	if (status)
		return status;
	if (atomic_load(&p->pending))
		return fft_refuse(p, __func__, "the plan is in use");
	*(void **)&free_memory = driver_function("cuMemFree_v2");
	if (p->own && free_memory(p->own) != CUDA_SUCCESS)
		status = CUFFT_INTERNAL_ERROR;
	pthread_mutex_lock(&lock);
	p->live = false;
	pthread_mutex_unlock(&lock);
	return status;
}

cufftResult cufftSetAutoAllocation(cufftHandle plan, int allocate)
{
	struct fft_plan *p = NULL;
	cufftResult status = fft_enter(&p, __func__, plan);

	if (status)
		return status;
	if (p->own)
		return fft_refuse(p, __func__, "the plan is made already");
	p->by_caller = !allocate;
	return status;
}

/* Memory that must be there when a transform is computed, which may be later. */
cufftResult cufftSetWorkArea(cufftHandle plan, void *area)
{
	struct fft_plan *p = NULL;
	cufftResult status = fft_enter(&p, __func__, plan);

	if (status)
		return status;
	if (!p->own)
		return fft_refuse(p, __func__, "the plan is not made yet");
	if (!area || (uintptr_t)area % AREA_ALIGNED)
		return fft_refuse(p, __func__, "the work area is not aligned to 256 bytes");
	p->area = (CUdeviceptr)(uintptr_t)area;
	p->area_set = true;
	return status;
}

cufftResult cufftSetStream(cufftHandle plan, CUstream stream)
{
	struct fft_plan *p = NULL;
	cufftResult status = fft_enter(&p, __func__, plan);

	if (status)
		return status;
	if (!p->driver->stream_ok(p->context, stream))
		return fft_refuse(p, __func__, "no stream of this context");
	p->stream = stream;
	p->stream_set = true;
	return status;
}

/* Does every element of every transform have a place of its own? */
static bool lies_apart(const struct fft_plan *p, const struct fft_side *s)
{
	if (s->stride < 1 || s->distance < 1)
		return false;
	return p->batch == 1 || s->distance >= s->stride * (s->extent - 1) + 1 ||
	       s->stride >= s->distance * (p->batch - 1) + 1;
}

size_t fft_reach(const struct fft_plan *p, const struct fft_side *s)
{
	long long last = (p->batch - 1) * s->distance + (s->extent - 1) * s->stride;

	return (size_t)(last + 1) * s->bytes;
}

static bool is_type(cufftType type)
{
	return type == CUFFT_C2C || type == CUFFT_R2C || type == CUFFT_C2R || type == CUFFT_Z2Z ||
	       type == CUFFT_D2Z || type == CUFFT_Z2D;
}

static void set_side(struct fft_side *s, const struct fft_plan *p, bool real, bool halved,
		     long long stride, long long distance)
{
	*s = (struct fft_side){.real = real,
			       .bytes = (p->wide ? 8u : 4u) * (real ? 1u : 2u),
			       .extent = halved ? p->n / 2 + 1 : p->n,
			       .stride = stride,
			       .distance = distance};
}

static bool is_power(long long n)
{
	return !(n & (n - 1));
}

static cufftResult check_shape(const struct fft_plan *p, const char *function, int rank,
			       const long long *in_embed, const long long *out_embed)
{
	if (p->own)
		return fft_refuse(p, function, "the plan is made already");
	if (rank != 1)
		return CUFFT_NOT_IMPLEMENTED; /* braze has none */
	if (!is_type(p->type))
		return CUFFT_INVALID_TYPE;
	if (p->n < 1 || p->batch < 1)
		return CUFFT_INVALID_SIZE;
	if (!p->by_caller)
		return fft_refuse(p, function, "the library would allocate");
	if (!in_embed || !out_embed)
		return fft_refuse(p, function, "without an extent strides are not looked at");
	if (!lies_apart(p, &p->in) || !lies_apart(p, &p->out))
		return fft_refuse(p, function, "transforms overlap, or lie backwards");
	return CUFFT_SUCCESS;
}

cufftResult cufftMakePlanMany64(FFT_MAKE_ARGUMENTS)
{
	struct fft_plan *p = NULL;
	cufftResult status = fft_enter(&p, __func__, plan);
	alloc_fn *alloc = NULL;

	if (status)
		return status;
	p->type = type;
	p->n = n ? *n : 0;
	p->batch = batch;
	p->wide = type >= CUFFT_Z2Z;
	bool from_real = type == CUFFT_R2C || type == CUFFT_D2Z;
	bool to_real = type == CUFFT_C2R || type == CUFFT_Z2D;
	set_side(&p->in, p, from_real, to_real, in_stride, in_distance);
	set_side(&p->out, p, to_real, from_real, out_stride, out_distance);
	status = check_shape(p, __func__, rank, in_embed, out_embed);
	if (status)
		return status;
	*(void **)&alloc = driver_function("cuMemAlloc_v2");
	if (!work || alloc(&p->own, PLAN_BYTES) != CUDA_SUCCESS)
		return CUFFT_ALLOC_FAILED;
	p->work = p->n <= SMALL ? 0
				: (size_t)p->batch * (size_t)p->n * (p->wide ? 16u : 8u) *
					  (is_power(p->n) ? 1u : 3u);
	*work = p->work;
	return CUFFT_SUCCESS;
}
