/* SPDX-License-Identifier: Apache-2.0 */
/* cu_private.c - the table of cu_private.h, over the driver's own functions. */
#include "cu_private.h"
#include "cu.h"
#include <string.h>

static CUcontext context(void)
{
	struct CUctx_st *c = NULL;

	return cu_enter_context("", &c) == CUDA_SUCCESS ? c : NULL;
}

static int enter(const char *function)
{
	return (int)cu_enter(function);
}

static bool stream_ok(CUcontext c, CUstream stream)
{
	return cu_stream_of(c, stream) != NULL;
}

static bool memory_ok(CUdeviceptr address, size_t bytes)
{
	cu_memory_hold();
	bool ok = cu_memory_host(address, bytes) != NULL;
	cu_memory_release();
	return ok;
}

static void push(CUcontext c, CUstream stream, void (*call)(void *data), const void *data,
		 size_t bytes)
{
	struct cu_op *op = cu_op_new(OP_LIBRARY);

	op->owned = cu_alloc(bytes);
	memcpy(op->owned, data, bytes);
	op->data = op->owned;
	op->bytes = bytes;
	op->call = call;
	cu_stream_push(cu_stream_of(c, stream), op);
}

static void fault(CUcontext c, int code, const char *what, CUdeviceptr address, size_t bytes)
{
	char near[160], text[400];

	cu_memory_describe(NULL, address, near, sizeof(near));
	snprintf(text, sizeof(text), "%s: %zu bytes at 0x%llx: %s", what, bytes,
		 (unsigned long long)address, near);
	cu_set_fault(c, code, text);
}

static char *host(CUdeviceptr address, size_t bytes, bool write)
{
	struct ptx_range r;

	if (!cu_memory_translate(NULL, address, bytes, &r))
		return NULL;
	cu_op_touched(cu_op_library, r.lo, address, address + bytes, write);
	return r.host + (address - r.lo);
}

static const struct cu_private table = {.context = context,
					.enter = enter,
					.stream_ok = stream_ok,
					.memory_ok = memory_ok,
					.push = push,
					.host = host,
					.fault = fault,
					.log = cu_log};

/* NVIDIA's own tables are not here; NVRTC asks for one when its cache is on. */
CUresult cuGetExportTable(const void **out, const CUuuid *id)
{
	static const CUuuid ours = CU_PRIVATE_ID;

	*out = memcmp(id, &ours, sizeof(ours)) ? NULL : &table;
	return *out ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
