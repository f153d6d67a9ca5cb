/* SPDX-License-Identifier: Apache-2.0 */
/* worker/cuda_error.c - classes and texts of driver errors; see cuda_error.h. */
#include "cuda_error.h"

#include <stdarg.h>
#include <stdio.h>

/* Codes that only matter here. */
enum { NVLINK_UNCORRECTABLE = 220, CONTAINED = 721 };

enum cuda_class cuda_error_class(CUresult rc)
{
	switch ((int)rc) {
	case CUDA_SUCCESS:
		return CUDA_FINE;
	case CUDA_ERROR_NOT_READY:
		return CUDA_LATER;
	case CUDA_ERROR_OUT_OF_MEMORY:
		return CUDA_MEMORY;
	case CUDA_ERROR_INVALID_IMAGE:
	case CUDA_ERROR_NO_BINARY_FOR_GPU:
	case CUDA_ERROR_INVALID_PTX:
	case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
	case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
		return CUDA_CODE;
	case CUDA_ERROR_NOT_INITIALIZED:
	case CUDA_ERROR_STUB_LIBRARY:
	case CUDA_ERROR_DEVICE_UNAVAILABLE:
	case CUDA_ERROR_NO_DEVICE:
	case CUDA_ERROR_INVALID_DEVICE:
	case CUDA_ERROR_SYSTEM_NOT_READY:
	case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
		return CUDA_UNUSABLE;
	case CUDA_ERROR_DEINITIALIZED:
	case CUDA_ERROR_ECC_UNCORRECTABLE:
	case CUDA_ERROR_ILLEGAL_ADDRESS:
	case CUDA_ERROR_LAUNCH_TIMEOUT:
	case CUDA_ERROR_CONTEXT_IS_DESTROYED:
	case CUDA_ERROR_ASSERT:
	case CUDA_ERROR_HARDWARE_STACK_ERROR:
	case CUDA_ERROR_ILLEGAL_INSTRUCTION:
	case CUDA_ERROR_MISALIGNED_ADDRESS:
	case CUDA_ERROR_INVALID_ADDRESS_SPACE:
	case CUDA_ERROR_INVALID_PC:
	case CUDA_ERROR_LAUNCH_FAILED:
	case CUDA_ERROR_UNKNOWN:
	case NVLINK_UNCORRECTABLE:
	case CONTAINED:
		return CUDA_FATAL;
	default:
		return CUDA_CALL;
	}
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
