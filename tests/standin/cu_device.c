/* SPDX-License-Identifier: Apache-2.0 */
/* cu_device.c - what a device says of itself, names of errors, look-up of functions. */
#include "cu.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SLICE_UUID 0x10 /* last byte of the first slice's */

/* The slice that a word of a list of visible devices names; -1: none. */
static int slice_named(const char *word)
{
	char text[64];

	if (!strcmp(word, "0") || !strncmp(word, "GPU-", 4))
		return 0;
	for (unsigned k = 0; k < cu_config.slices; k++) {
		snprintf(text, sizeof(text), "MIG-5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a%02x",
			 SLICE_UUID + k);
		if (strlen(word) > 4 && !strncasecmp(word, text, strlen(word)))
			return (int)k;
	}
	return -1;
}

void cu_device_slice(void)
{
	const char *list = getenv("CUDA_VISIBLE_DEVICES");
	char first[64] = "0";
	int slice;

	if (!cu_config.slices)
		return;
	if (list)
		snprintf(first, sizeof(first), "%.*s", (int)strcspn(list, ","), list);
	slice = slice_named(first);
	cu_config.devices = slice >= 0;
	cu_config.slice = slice < 0 ? 0 : (unsigned)slice;
	cu_config.vram /= cu_config.slices;
	cu_config.sms = cu_config.sms > cu_config.slices ? cu_config.sms / cu_config.slices : 1;
}

static CUresult enter(const char *function, CUdevice device)
{
	CUresult error = cu_enter(function);

	if (error)
		return error;
	return cu_device_ok(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDriverGetVersion(int *version)
{
	*version = (int)cu_config.driver;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
	*count = (int)cu_config.devices;
	return cu_enter(__func__);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	CUresult error = enter(__func__, ordinal);

	if (!error)
		*device = ordinal;
	return error;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
	CUresult error = enter(__func__, device);

	if (error)
		return error;
	if (cu_config.slices)
		snprintf(name, (size_t)length, "braze stand-in MIG 1g.10gb");
	else
		snprintf(name, (size_t)length, "braze stand-in %d", device);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
	CUresult error = enter(__func__, device);

	if (error)
		return error;
	memset(uuid->bytes, 0x5a, sizeof(uuid->bytes));
	uuid->bytes[15] = (char)(cu_config.twins    ? 0
				 : cu_config.slices ? SLICE_UUID + (int)cu_config.slice
						    : device);
	return CUDA_SUCCESS;
}

bool cu_device_reaches(int device, int other)
{
	return device != other && !(cu_config.apart[device] >> other & 1);
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
	CUresult error = enter(__func__, device);

	if (error)
		return error;
	if (!can || !cu_device_ok(peer))
		return can ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
	*can = cu_device_reaches(device, peer);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice device)
{
	CUresult error = enter(__func__, device);

	if (!error)
		snprintf(id, (size_t)length, "0000:%02x:00.0", device + 1);
	return error;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
	CUresult error = enter(__func__, device);

	if (!error)
		*bytes = cu_config.vram;
	return error;
}

static const struct {
	CUdevice_attribute attribute;
	int value;
} constants[] = {
	{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
	{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
	{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
	{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
	{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
	{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
	{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
	{CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
	{CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
	{CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
	{CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
	{CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
	{CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
	{CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1000000},
	{CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 4 << 20},
	{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
	{CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
	{CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
	{CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
	{CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
	{CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1},
	{CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2},
	{CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
};

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	CUresult error = enter(__func__, device);

	if (error)
		return error;
	*value = 0;
	if (attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
		*value = (int)cu_config.sms;
	else if (attribute == CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS)
		*value = cu_config.pageable != 0;
	else if (attribute == CU_DEVICE_ATTRIBUTE_CLOCK_RATE)
		*value = (int)cu_config.khz;
	else if (attribute == CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)
		*value = (int)(cu_config.memory_gbs * 4); /* bits: two in each turn of the clock */
	else if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
		*value = (int)cu_config.major;
	else if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
		*value = (int)cu_config.minor;
	for (size_t k = 0; k < sizeof(constants) / sizeof(constants[0]); k++)
		if (constants[k].attribute == attribute)
			*value = constants[k].value;
	return CUDA_SUCCESS;
}

/* ---- errors ---- */

static const struct {
	CUresult error;
	const char *name, *text;
} errors[] = {
	{CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
	{CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	{CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	{CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "cuInit has not been called"},
	{CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "there is no device"},
	{CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "no such device"},
	{CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "not a kernel image"},
	{CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "no valid current context"},
	{CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
	 "no kernel image for this device"},
	{CUDA_ERROR_ECC_UNCORRECTABLE, "CUDA_ERROR_ECC_UNCORRECTABLE", "memory error"},
	{CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "PTX does not compile"},
	{CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
	 "PTX is newer than the driver"},
	{CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid handle"},
	{CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "no such name"},
	{CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "work is still under way"},
	{CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "illegal memory access"},
	{CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
	 "too many resources asked for"},
	{CUDA_ERROR_LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT", "kernel took too long"},
	{CUDA_ERROR_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED",
	 "context is destroyed"},
	{CUDA_ERROR_ASSERT, "CUDA_ERROR_ASSERT", "assertion failed in a kernel"},
	{CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
	 "host memory is registered already"},
	{CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
	 "host memory is not registered"},
	{CUDA_ERROR_ILLEGAL_INSTRUCTION, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "illegal instruction"},
	{CUDA_ERROR_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
	{CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "kernel failed"},
	{CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "not supported"},
	{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
	 "not allowed while a stream is captured"},
	{CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

CUresult cuGetErrorName(CUresult error, const char **name)
{
	*name = NULL;
	for (size_t k = 0; k < sizeof(errors) / sizeof(errors[0]); k++)
		if (errors[k].error == error)
			*name = errors[k].name;
	return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
	*text = NULL;
	for (size_t k = 0; k < sizeof(errors) / sizeof(errors[0]); k++)
		if (errors[k].error == error)
			*text = errors[k].text;
	return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- functions by name ---- */

/* cuMemAlloc finds cuMemAlloc_v2, as a driver's look-up by version does. */
CUresult cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags,
			     int *status)
{
	static const char *const suffix[] = {"_v2", ""};
	CUresult error = cu_enter(__func__);
	Dl_info self;
	char name[128];

	*out = NULL;
	if (error)
		return error;
	void *library = dladdr((void *)(uintptr_t)cuInit, &self)
				? dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
				: NULL;
	for (size_t k = 0; k < 2 && library && !*out; k++) {
		snprintf(name, sizeof(name), "%s%s", symbol, suffix[k]);
		*out = dlsym(library, name);
	}
	if (library)
		dlclose(library);
	if (status)
		*status = *out ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_NOT_FOUND;
	return *out ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
