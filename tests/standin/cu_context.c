/* SPDX-License-Identifier: Apache-2.0 */
/* cu_context.c - primary contexts, one for each device, and their sticky faults.
 *
 * A fault stays until the context is reset.  After a reset the old handle is still
 * current in the threads that had it, and dead: calls give CONTEXT_IS_DESTROYED until
 * the context is retained again. */
#include "cu.h"
#include <stdlib.h>
#include <unistd.h>

pthread_mutex_t cu_lock = PTHREAD_MUTEX_INITIALIZER;

static struct CUctx_st contexts[CU_MAX_DEVICES];
static bool initialized;
static _Thread_local struct CUctx_st *current;

void *cu_alloc(size_t bytes)
{
	void *p = calloc(1, bytes ? bytes : 1);

	if (!p) {
		fprintf(stderr, "standin: out of host memory\n");
		abort();
	}
	return p;
}

bool cu_sticky(int error)
{
	return error == CUDA_ERROR_ILLEGAL_ADDRESS || error == CUDA_ERROR_LAUNCH_TIMEOUT ||
	       error == CUDA_ERROR_ASSERT ||
	       (error >= CUDA_ERROR_HARDWARE_STACK_ERROR && error <= CUDA_ERROR_LAUNCH_FAILED) ||
	       error == CUDA_ERROR_ECC_UNCORRECTABLE;
}

void cu_set_fault(struct CUctx_st *c, int fault, const char *text)
{
	int none = 0;

	if (__atomic_compare_exchange_n(&c->fault, &none, fault, false, __ATOMIC_SEQ_CST,
					__ATOMIC_SEQ_CST))
		cu_log("fault %d on device %d: %s", fault, c->device, text);
}

bool cu_device_ok(int device)
{
	return device >= 0 && (unsigned)device < cu_config.devices;
}

struct CUctx_st *cu_context_of(int device)
{
	return &contexts[device];
}

CUresult cu_enter_context(const char *function, struct CUctx_st **out)
{
	if (!initialized)
		return CUDA_ERROR_NOT_INITIALIZED;
	CUresult error = cu_enter(function);
	if (!current)
		return error ? error : CUDA_ERROR_INVALID_CONTEXT;
	if (!current->live)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	if (error && cu_sticky((int)error))
		cu_set_fault(current, (int)error, "injected");
	if (error)
		return error;
	*out = current;
	return (CUresult)__atomic_load_n(&current->fault, __ATOMIC_SEQ_CST);
}

CUresult cuInit(unsigned flags)
{
	cu_fault_setup();
	CUresult error = cu_enter(__func__);
	while (cu_config.hold && !error) {
		usleep(5000);
		error = cu_enter("");
	}
	if (error)
		return error;
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!cu_config.devices)
		return CUDA_ERROR_NO_DEVICE;
	pthread_mutex_lock(&cu_lock);
	for (int d = 0; d < CU_MAX_DEVICES; d++)
		contexts[d].device = d;
	initialized = true;
	pthread_mutex_unlock(&cu_lock);
	return CUDA_SUCCESS;
}

static CUresult enter_device(const char *function, CUdevice device)
{
	if (!initialized)
		return CUDA_ERROR_NOT_INITIALIZED;
	CUresult error = cu_enter(function);
	if (error)
		return error;
	return cu_device_ok(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	CUresult error = enter_device(__func__, device);

	if (error)
		return error;
	pthread_mutex_lock(&cu_lock);
	struct CUctx_st *c = &contexts[device];
	c->refs++;
	if (!c->live) {
		c->live = true;
		c->fault = 0;
		c->cancel = 0;
	}
	pthread_mutex_unlock(&cu_lock);
	*context = c;
	return CUDA_SUCCESS;
}

static void tear_down(struct CUctx_st *c)
{
	c->cancel = 1;
	cu_stream_end_all(c);
	cu_graph_free_all(c);
	cu_event_free_all(c);
	cu_module_free_all(c);
	cu_pool_free_all(c->device);
	cu_memory_free_all(c->device);
	pthread_mutex_lock(&cu_lock);
	c->live = false;
	c->refs = 0;
	c->fault = 0;
	pthread_mutex_unlock(&cu_lock);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	CUresult error = enter_device(__func__, device);

	if (error)
		return error;
	struct CUctx_st *c = &contexts[device];
	if (!c->refs)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (--c->refs == 0)
		tear_down(c);
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
	CUresult error = enter_device(__func__, device);

	if (!error && contexts[device].live)
		tear_down(&contexts[device]);
	return error;
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags)
{
	CUresult error = enter_device(__func__, device);

	if (!error && flags & ~0x1fu)
		return CUDA_ERROR_INVALID_VALUE;
	if (!error)
		contexts[device].flags = flags;
	return error;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
	CUresult error = enter_device(__func__, device);

	if (error)
		return error;
	*flags = contexts[device].flags;
	*active = contexts[device].live;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
	if (!initialized)
		return CUDA_ERROR_NOT_INITIALIZED;
	CUresult error = cu_enter(__func__);
	if (error)
		return error;
	if (context && (context < contexts || context >= contexts + CU_MAX_DEVICES))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (context && !context->live)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	current = context;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
	if (!initialized)
		return CUDA_ERROR_NOT_INITIALIZED;
	*context = current;
	return cu_enter(__func__);
}

CUresult cuCtxGetDevice(CUdevice *device)
{
	struct CUctx_st *c;
	CUresult error = cu_enter_context(__func__, &c);

	if (!error)
		*device = c->device;
	return error;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	struct CUctx_st *c;
	CUresult error = cu_enter_context(__func__, &c);

	if (!error && least)
		*least = 0;
	if (!error && greatest)
		*greatest = -5;
	return error;
}

CUresult cuCtxSynchronize(void)
{
	struct CUctx_st *c;
	CUresult error = cu_enter_context(__func__, &c);

	if (error)
		return error;
	cu_stream_drain_all(c);
	cu_pool_synchronized(c->device);
	return (CUresult)__atomic_load_n(&c->fault, __ATOMIC_SEQ_CST);
}
