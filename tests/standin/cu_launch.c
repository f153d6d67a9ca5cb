/* SPDX-License-Identifier: Apache-2.0 */
/* cu_launch.c - functions and their launches, with the limits of a device. */
#include "cu.h"
#include <stdlib.h>
#include <string.h>

#define SHARED_OPTIN 232448

void cu_op_touched(void *data, uint64_t allocation, uint64_t lo, uint64_t hi, bool write)
{
	struct cu_op *op = data;

	if (op->ntouch == op->touch_cap) {
		op->touch_cap = op->touch_cap ? 2 * op->touch_cap : 32;
		op->touch = realloc(op->touch, op->touch_cap * sizeof(*op->touch));
		if (!op->touch)
			abort();
	}
	op->touch[op->ntouch++] = (struct cu_touch){allocation, lo, hi, write};
}

const char *cu_launch_name(const struct cu_op *op)
{
	return ptx_kernel_name(op->function->kernel);
}

/* What the kernel's device may use. */
static bool translate(void *data, uint64_t address, size_t n, struct ptx_range *out)
{
	const struct cu_op *op = data;

	return !cu_memory_foreign(op->function->module->context->device, address) &&
	       cu_memory_translate(data, address, n, out);
}

struct ptx_host cu_launch_host(struct CUctx_st *c, struct cu_op *op)
{
	return (struct ptx_host){.data = op,
				 .touched = cu_op_touched,
				 .translate = translate,
				 .describe = cu_memory_describe,
				 .cancel = &c->cancel,
				 .max_instructions = cu_config.max_instructions,
				 .seed = cu_config.seed,
				 .threads = cu_config.threads,
				 .sms = cu_config.sms,
				 .race = cu_config.race};
}

static unsigned most_threads(const struct CUfunc_st *f)
{
	unsigned limit = ptx_max_threads(f->kernel);

	return limit ? limit : 1024;
}

static bool within_limits(const struct CUfunc_st *f, const struct ptx_launch *a)
{
	const unsigned *g = a->grid, *b = a->block;

	if (!g[0] || !g[1] || !g[2] || !b[0] || !b[1] || !b[2])
		return false;
	if (g[0] > 2147483647u || g[1] > 65535 || g[2] > 65535)
		return false;
	if (b[0] > 1024 || b[1] > 1024 || b[2] > 64)
		return false;
	return (uint64_t)b[0] * b[1] * b[2] <= most_threads(f) &&
	       a->dynamic_shared <= (unsigned)(f->max_dynamic < 0 ? 0 : f->max_dynamic);
}

static bool packed(void **extra, const void **buffer, size_t *bytes)
{
	for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
			*buffer = extra[1];
		else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
			*bytes = *(const size_t *)extra[1];
		else
			return false;
	}
	return *buffer != NULL;
}

static bool copy_params(const struct CUfunc_st *f, void **params, void **extra, char *to)
{
	size_t offset, bytes, have = 0, want = ptx_param_bytes(f->kernel);
	const void *buffer = NULL;

	if (params) {
		for (size_t k = 0; k < ptx_param_count(f->kernel); k++) {
			ptx_param(f->kernel, k, &offset, &bytes);
			if (!params[k])
				return false;
			memcpy(to + offset, params[k], bytes);
		}
		return true;
	}
	if (!extra)
		return want == 0;
	if (!packed(extra, &buffer, &have) || have < want)
		return false;
	memcpy(to, buffer, want);
	return true;
}

CUresult cu_launch_make(CUfunction f, const struct ptx_launch *launch, void **params, void **extra,
			struct cu_op **out)
{
	if (!cu_handle_ok(CU_FUNCTION, f))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!within_limits(f, launch))
		return CUDA_ERROR_INVALID_VALUE;
	struct cu_op *op = cu_op_new(OP_KERNEL);
	op->function = f;
	op->launch = *launch;
	op->owned = cu_alloc(ptx_param_bytes(f->kernel));
	op->launch.params = op->owned;
	if (!copy_params(f, params, extra, op->owned)) {
		cu_op_delete(op);
		return CUDA_ERROR_INVALID_VALUE;
	}
	*out = op;
	return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction f, unsigned grid_x, unsigned grid_y, unsigned grid_z,
			unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
			CUstream stream, void **params, void **extra)
{
	struct CUctx_st *c;
	struct CUstream_st *s = NULL;
	struct cu_op *op;
	CUresult error = cu_enter_context(__func__, &c);
	const struct ptx_launch launch = {.grid = {grid_x, grid_y, grid_z},
					  .block = {block_x, block_y, block_z},
					  .dynamic_shared = shared_bytes};

	if (!error)
		error = cu_stream_find(c, stream, &s);
	if (!error)
		error = cu_launch_make(f, &launch, params, extra, &op);
	if (!error)
		cu_stream_push(s, op);
	return error;
}

static CUresult enter_function(const char *function, CUfunction f)
{
	struct CUctx_st *c;
	CUresult error = cu_enter_context(function, &c);

	if (error)
		return error;
	return cu_handle_ok(CU_FUNCTION, f) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction f)
{
	CUresult error = enter_function(__func__, f);

	if (error)
		return error;
	switch (attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*value = (int)most_threads(f);
		break;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
		*value = (int)ptx_shared_bytes(f->kernel);
		break;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
		*value = (int)ptx_local_bytes(f->kernel);
		break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*value = ptx_register_count(f->kernel) < 255 ? (int)ptx_register_count(f->kernel)
							     : 255;
		break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*value = ptx_target(f->module->ptx);
		break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*value = f->max_dynamic;
		break;
	case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		*value = 0;
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute attribute, int value)
{
	CUresult error = enter_function(__func__, f);

	if (error)
		return error;
	if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
		return CUDA_SUCCESS;
	if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 ||
	    value > SHARED_OPTIN - (int)ptx_shared_bytes(f->kernel))
		return CUDA_ERROR_INVALID_VALUE;
	f->max_dynamic = value;
	return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f, int block_threads,
						     size_t dynamic_shared)
{
	CUresult error = enter_function(__func__, f);

	if (error)
		return error;
	if (block_threads <= 0 || (unsigned)block_threads > most_threads(f))
		return CUDA_ERROR_INVALID_VALUE;
	size_t shared = ptx_shared_bytes(f->kernel) + dynamic_shared + 1024;
	int by_threads = 2048 / ((block_threads + 31) / 32 * 32);
	int by_shared = (int)(233472 / shared), least = by_threads < 32 ? by_threads : 32;
	*blocks = by_shared < least ? by_shared : least;
	return CUDA_SUCCESS;
}
