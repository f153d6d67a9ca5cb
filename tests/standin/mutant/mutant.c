/* SPDX-License-Identifier: Apache-2.0 */
/* mutant.c - libcuda.so.1 with a mistake: the stand-in behind it, one call altered as
 * BRAZE_MUTANT says (mutants.def).
 *
 * It has only the functions that a mutant alters; whoever looks for others in it finds the
 * stand-in's, which it is linked with. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../proto/cuda_driver.h"
#include "mutant.h"

#define PROTOTYPE(name, params)                                                                    \
	__attribute__((visibility("default"))) CUresult name params;                               \
	typedef CUresult type_##name params;
CUDA_DRIVER_CALLS(PROTOTYPE)
#undef PROTOTYPE

#define REAL(name) ((type_##name *)dlsym(RTLD_NEXT, #name))

/* ---- copies ---- */

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
	return REAL(cuMemcpyHtoDAsync_v2)(to, from, is(MUTANT_up_short) ? bytes - 1 : bytes,
					  is(MUTANT_up_stream) ? NULL : stream);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	return REAL(cuMemcpyDtoHAsync_v2)(to, from, is(MUTANT_down_short) ? bytes - 1 : bytes,
					  is(MUTANT_down_stream) ? NULL : stream);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	int swapped = is(MUTANT_within_swapped);

	return REAL(cuMemcpyDtoDAsync_v2)(swapped ? from : to, swapped ? to : from, bytes,
					  is(MUTANT_within_stream) ? NULL : stream);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
	return REAL(cuMemsetD8Async)(to, is(MUTANT_clear_value) ? 1 : value, count, stream);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream)
{
	return REAL(cuMemsetD32Async)(to, value, is(MUTANT_fill_count) ? count + 1000 : count,
				      stream);
}

/* ---- kernels ---- */

/* The parameter's bytes, its first two words swapped. */
static void **swapped(void **extra, uint64_t block[512])
{
	static void *other[5];
	size_t bytes = 0;

	for (int k = 0; k < 4; k++)
		other[k] = extra[k];
	other[4] = CU_LAUNCH_PARAM_END;
	for (int k = 0; k < 4; k += 2)
		if (extra[k] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			bytes = *(size_t *)extra[k + 1];
	for (int k = 0; k < 4; k += 2)
		if (extra[k] == CU_LAUNCH_PARAM_BUFFER_POINTER && bytes <= 4096) {
			memcpy(block, extra[k + 1], bytes);
			other[k + 1] = block;
		}
	uint64_t first = block[0];
	block[0] = block[1];
	block[1] = first;
	return other;
}

CUresult cuLaunchKernel(CUfunction f, unsigned grid_x, unsigned grid_y, unsigned grid_z,
			unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
			CUstream stream, void **params, void **extra)
{
	uint64_t block[512], *first = params ? params[0] : NULL;
	void *one[1] = {block};

	if (is(MUTANT_launch_lost))
		return CUDA_SUCCESS;
	if (is(MUTANT_launch_arguments) && first) {
		memcpy(block, first, 64);
		block[0] = first[1];
		block[1] = first[0];
		params = one;
	} else if (is(MUTANT_launch_arguments) && extra) {
		extra = swapped(extra, block);
	}
	return REAL(cuLaunchKernel)(
		f, grid_x, grid_y, grid_z,
		is(MUTANT_launch_threads) && block_x > 1 ? block_x - 1 : block_x, block_y, block_z,
		shared_bytes, is(MUTANT_launch_stream) ? NULL : stream, params, extra);
}

CUresult cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name)
{
	static CUfunction before;
	CUresult rc = REAL(cuModuleGetFunction)(out, module, name);
	CUfunction found = *out;

	if (is(MUTANT_function) && !rc && before)
		*out = before;
	if (!rc)
		before = found;
	return rc;
}

/* ---- memory ---- */

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t bytes, CUmemoryPool pool, CUstream stream)
{
	CUresult rc = REAL(cuMemAllocFromPoolAsync)(
		out, is(MUTANT_take_short) ? bytes / 2 + 1 : bytes, pool, stream);

	if (is(MUTANT_take_freed) && !rc)
		(void)REAL(cuMemFreeAsync)(*out, stream);
	return rc;
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
	if (is(MUTANT_free_twice))
		(void)REAL(cuMemFreeAsync)(address, stream);
	return REAL(cuMemFreeAsync)(address, stream);
}

CUresult cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags)
{
	CUresult rc = REAL(cuMemHostRegister_v2)(host, bytes, flags);

	if (is(MUTANT_unregistered) && !rc)
		(void)REAL(cuMemHostUnregister)(host);
	return rc;
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *who, size_t count)
{
	CUmemAccessDesc other = *who;

	if (is(MUTANT_access))
		other.flags = CU_MEM_ACCESS_READ;
	return REAL(cuMemSetAccess)(address, bytes, &other, count);
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *out, size_t bytes,
		     const CUmemAllocationProp *prop, unsigned long long flags)
{
	CUmemAllocationProp other = *prop;

	if (is(MUTANT_handle_type))
		other.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
	return REAL(cuMemCreate)(out, bytes, &other, flags);
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
		  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	CUresult rc = REAL(cuMemMap)(address, bytes, offset, handle, flags);

	if (is(MUTANT_unmapped) && !rc)
		(void)REAL(cuMemUnmap)(address, bytes);
	return rc;
}

/* ---- order ---- */

CUresult cuEventRecord(CUevent event, CUstream stream)
{
	return REAL(cuEventRecord)(event, is(MUTANT_record_stream) ? NULL : stream);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
	if (is(MUTANT_wait_event))
		return CUDA_SUCCESS;
	return REAL(cuStreamWaitEvent)(stream, event, flags);
}

CUresult cuStreamSynchronize(CUstream stream)
{
	if (is(MUTANT_wait_stream))
		return CUDA_SUCCESS;
	return REAL(cuStreamSynchronize)(stream);
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr to, uint32_t value, unsigned flags)
{
	return REAL(cuStreamWriteValue32_v2)(is(MUTANT_mark_stream) ? NULL : stream, to,
					     is(MUTANT_mark_value) ? value + 1 : value, flags);
}

CUresult cuCtxSetCurrent(CUcontext context)
{
	static _Atomic int calls;

	if (is(MUTANT_context) && calls++ > 2)
		return CUDA_SUCCESS;
	return REAL(cuCtxSetCurrent)(context);
}
