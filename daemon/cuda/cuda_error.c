/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_error.c - classes and texts of driver errors; see cuda_error.h. */
#include "cuda_error.h"

#include <stdarg.h>
#include <stdio.h>

/* Codes that are no mistake of a single call. */
static const struct row {
	int code;
	enum cuda_class class;
	bool passes; /* at the start: it may be tried again */
} classes[] = {
	{CUDA_SUCCESS, CUDA_FINE},
	{CUDA_ERROR_NOT_READY, CUDA_LATER},
	{CUDA_ERROR_OUT_OF_MEMORY, CUDA_MEMORY, true},
	{CUDA_ERROR_INVALID_IMAGE, CUDA_CODE},
	{CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_CODE},
	{CUDA_ERROR_INVALID_PTX, CUDA_CODE},
	{CUDA_ERROR_JIT_COMPILER_NOT_FOUND, CUDA_CODE},
	{CUDA_ERROR_UNSUPPORTED_PTX_VERSION, CUDA_CODE},
	{CUDA_ERROR_JIT_COMPILATION_DISABLED, CUDA_CODE},
	{CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, CUDA_CODE},
	{CUDA_ERROR_NOT_INITIALIZED, CUDA_UNUSABLE, true},
	{CUDA_ERROR_STUB_LIBRARY, CUDA_UNUSABLE},
	{CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, CUDA_UNUSABLE},
	{CUDA_ERROR_DEVICE_UNAVAILABLE, CUDA_UNUSABLE, true},
	{CUDA_ERROR_NO_DEVICE, CUDA_UNUSABLE, true},
	{CUDA_ERROR_INVALID_DEVICE, CUDA_UNUSABLE, true},
	{CUDA_ERROR_DEVICE_NOT_LICENSED, CUDA_UNUSABLE, true},
	{CUDA_ERROR_SYSTEM_NOT_READY, CUDA_UNUSABLE, true},
	{CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, CUDA_UNUSABLE},
	{CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, CUDA_UNUSABLE},
	{CUDA_ERROR_MPS_CONNECTION_FAILED, CUDA_UNUSABLE, true},
	{CUDA_ERROR_MPS_SERVER_NOT_READY, CUDA_UNUSABLE, true},
	{CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, CUDA_UNUSABLE, true},
	{CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED, CUDA_UNUSABLE, true},
	{CUDA_ERROR_INVALID_CONTEXT, CUDA_DOUBT},
	{CUDA_ERROR_ILLEGAL_STATE, CUDA_DOUBT},
	{CUDA_ERROR_UNKNOWN, CUDA_DOUBT, true},
	{CUDA_ERROR_DEINITIALIZED, CUDA_FATAL},
	{CUDA_ERROR_ECC_UNCORRECTABLE, CUDA_FATAL},
	{CUDA_ERROR_NVLINK_UNCORRECTABLE, CUDA_FATAL},
	{CUDA_ERROR_CONTAINED, CUDA_FATAL},
	{CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_FATAL},
	{CUDA_ERROR_LAUNCH_TIMEOUT, CUDA_FATAL},
	{CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_FATAL},
	{CUDA_ERROR_ASSERT, CUDA_FATAL},
	{CUDA_ERROR_HARDWARE_STACK_ERROR, CUDA_FATAL},
	{CUDA_ERROR_ILLEGAL_INSTRUCTION, CUDA_FATAL},
	{CUDA_ERROR_MISALIGNED_ADDRESS, CUDA_FATAL},
	{CUDA_ERROR_INVALID_ADDRESS_SPACE, CUDA_FATAL},
	{CUDA_ERROR_INVALID_PC, CUDA_FATAL},
	{CUDA_ERROR_LAUNCH_FAILED, CUDA_FATAL},
	{CUDA_ERROR_TENSOR_MEMORY_LEAK, CUDA_FATAL},
	{CUDA_ERROR_MPS_RPC_FAILURE, CUDA_FATAL, true},
	{CUDA_ERROR_MPS_CLIENT_TERMINATED, CUDA_FATAL, true},
	{CUDA_ERROR_EXTERNAL_DEVICE, CUDA_FATAL},
};

static const struct row *row_of(CUresult rc)
{
	static const struct row other = {.class = CUDA_CALL};

	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
		if (classes[i].code == (int)rc)
			return &classes[i];
	}
	return &other;
}

enum cuda_class cuda_error_class(CUresult rc)
{
	return row_of(rc)->class;
}

bool cuda_error_passes(CUresult rc)
{
	return row_of(rc)->passes;
}

static const char *consequence(CUresult rc)
{
	if (rc == CUDA_ERROR_STUB_LIBRARY)
		return "this library is a toolkit's stub and no driver; install the NVIDIA driver";
	switch (cuda_error_class(rc)) {
	case CUDA_MEMORY:
		return "free arrays or work on smaller ones";
	case CUDA_CODE:
		return "the kernel's code does not fit this device or driver";
	case CUDA_UNUSABLE:
		return "the device cannot be used; nvidia-smi tells its state";
	case CUDA_FATAL:
		return "the worker ends and is started again";
	default:
		return "the run fails, the worker goes on";
	}
}

char *cuda_error_text(char *buf, size_t n, const struct cuda_api *api, CUresult rc)
{
	const char *name = NULL, *meaning = NULL;

	if (api->cuGetErrorName(rc, &name) != CUDA_SUCCESS || !name)
		name = "CUDA error";
	if (api->cuGetErrorString(rc, &meaning) != CUDA_SUCCESS || !meaning)
		meaning = "unknown to the driver";
	snprintf(buf, n, "%s (%d, %s); %s", name, (int)rc, meaning, consequence(rc));
	return buf;
}

static enum status status_of(CUresult rc)
{
	switch (cuda_error_class(rc)) {
	case CUDA_MEMORY:
		return E_NOMEM;
	case CUDA_CODE:
		return E_COMPILE;
	case CUDA_UNUSABLE:
	case CUDA_DOUBT:
	case CUDA_FATAL:
		return E_DEVICE;
	default:
		return E_INTERNAL;
	}
}

enum status cuda_error_set(struct err *err, const struct cuda_api *api, CUresult rc,
			   const char *what, ...)
{
	char place[LIMIT_ERROR_TEXT], text[LIMIT_ERROR_TEXT];
	va_list ap;

	va_start(ap, what);
	vsnprintf(place, sizeof place, what, ap);
	va_end(ap);
	return err_set(err, status_of(rc), "%s: %s", place,
		       cuda_error_text(text, sizeof text, api, rc));
}
