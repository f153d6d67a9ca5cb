/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/driver.c - see driver.h. */
#define _GNU_SOURCE
#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is called; all of it must be there. */
#define CALLS(X)                                                                                   \
	X(cuInit)                                                                                  \
	X(cuDeviceGetCount)                                                                        \
	X(cuDeviceGet)                                                                             \
	X(cuDeviceGetUuid_v2)                                                                      \
	X(cuDevicePrimaryCtxRetain)                                                                \
	X(cuCtxGetCurrent)                                                                         \
	X(cuCtxSetCurrent)                                                                         \
	X(cuCtxSynchronize)                                                                        \
	X(cuStreamSynchronize)                                                                     \
	X(cuPointerGetAttribute)                                                                   \
	X(cuMemcpyDtoDAsync_v2)                                                                    \
	X(cuMemcpyDtoHAsync_v2)                                                                    \
	X(cuMemImportFromShareableHandle)                                                          \
	X(cuMemAddressReserve)                                                                     \
	X(cuMemAddressFree)                                                                        \
	X(cuMemMap)                                                                                \
	X(cuMemUnmap)                                                                              \
	X(cuMemSetAccess)                                                                          \
	X(cuMemRelease)

#define TYPE(name, params) typedef CUresult type_##name params;
CUDA_DRIVER_CALLS(TYPE)
#undef TYPE

#define DEVICES 64

static struct {
#define POINTER(name) type_##name *name;
	CALLS(POINTER)
#undef POINTER
	int count; /* devices; 0: there is no driver */
	CUdevice device[DEVICES];
	CUcontext context[DEVICES]; /* once it was used */
} driver;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t contexts = PTHREAD_MUTEX_INITIALIZER;

static void load(void)
{
	const char *named = getenv("BRAZE_LIBCUDA");
	void *library = dlopen(named && *named ? named : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	int count = 0;

	if (!library)
		return;
#define FIND(name)                                                                                 \
	*(void **)&driver.name = dlsym(library, #name);                                            \
	if (!driver.name)                                                                          \
		return;
	CALLS(FIND)
#undef FIND
	if (driver.cuInit(0) != CUDA_SUCCESS || driver.cuDeviceGetCount(&count) != CUDA_SUCCESS)
		return;
	count = count < DEVICES ? count : DEVICES;
	for (int i = 0; i < count; i++)
		if (driver.cuDeviceGet(&driver.device[i], i) != CUDA_SUCCESS)
			return;
	driver.count = count;
}

/* The hexadecimal digits, without "GPU-" and hyphens. */
static void digits(char out[33], const CUuuid *id)
{
	for (int i = 0; i < 16; i++)
		snprintf(out + 2 * i, 3, "%02x", (unsigned char)id->bytes[i]);
}

static bool is_called(const char *hex, const char *uuid)
{
	const char *at = strchr(uuid, '-');

	for (; at && *at; at++)
		if (*at != '-' && *at != *hex++)
			return false;
	return at && !*hex;
}

int driver_device(const char *uuid)
{
	char hex[33];
	CUuuid id;

	pthread_once(&once, load);
	for (int i = 0; i < driver.count; i++) {
		if (driver.cuDeviceGetUuid_v2(&id, driver.device[i]) != CUDA_SUCCESS)
			continue;
		digits(hex, &id);
		if (is_called(hex, uuid))
			return i;
	}
	return -1;
}

int driver_owner(CUdeviceptr address)
{
	int device = -1;

	pthread_once(&once, load);
	if (!driver.count || driver.cuPointerGetAttribute(&device, CU_POINTER_DEVICE_ORDINAL,
							  address) != CUDA_SUCCESS)
		return -1;
	for (int i = 0; i < driver.count; i++)
		if (driver.device[i] == device)
			return i;
	return -1;
}

static enum status failed(struct err *err, CUresult rc, const char *what)
{
	return err_set(err, rc == CUDA_ERROR_OUT_OF_MEMORY ? E_NOMEM : E_DEVICE,
		       "%s: error %d of the CUDA driver in this process", what, (int)rc);
}

/* The device's context is current from here on; what was is put back by leave. */
static CUresult enter(int device, CUcontext *before)
{
	CUresult rc = CUDA_SUCCESS;

	pthread_once(&once, load);
	if (device < 0 || device >= driver.count)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&contexts);
	if (!driver.context[device])
		rc = driver.cuDevicePrimaryCtxRetain(&driver.context[device],
						     driver.device[device]);
	pthread_mutex_unlock(&contexts);
	if (rc == CUDA_SUCCESS)
		rc = driver.cuCtxGetCurrent(before);
	return rc == CUDA_SUCCESS ? driver.cuCtxSetCurrent(driver.context[device]) : rc;
}

static void leave(CUcontext before)
{
	driver.cuCtxSetCurrent(before);
}

static CUresult allow(const struct driver_memory *m, bool write)
{
	CUmemAccessDesc who = {{CU_MEM_LOCATION_TYPE_DEVICE, driver.device[m->device]},
			       write ? CU_MEM_ACCESS_READWRITE : CU_MEM_ACCESS_READ};

	return driver.cuMemSetAccess(m->address, m->bytes, &who, 1);
}

/* What is there of it goes. */
static void drop(const struct driver_memory *m, bool mapped)
{
	if (mapped)
		driver.cuMemUnmap(m->address, m->bytes);
	if (m->address)
		driver.cuMemAddressFree(m->address, m->bytes);
	driver.cuMemRelease(m->handle);
}

enum status driver_map(struct driver_memory *out, int device, int fd, uint64_t bytes, bool write,
		       struct err *err)
{
	struct driver_memory m = {.device = device, .bytes = bytes};
	CUcontext before = NULL;
	bool mapped = false;
	CUresult rc = enter(device, &before);

	if (rc != CUDA_SUCCESS)
		return failed(err, rc, "using a GPU");
	rc = driver.cuMemImportFromShareableHandle(&m.handle, (void *)(intptr_t)fd,
						   CU_MEM_HANDLE_TYPE_POSIX_FD);
	if (rc == CUDA_SUCCESS) {
		rc = driver.cuMemAddressReserve(&m.address, bytes, 0, 0, 0);
		if (rc == CUDA_SUCCESS) {
			rc = driver.cuMemMap(m.address, bytes, 0, m.handle, 0);
			mapped = rc == CUDA_SUCCESS;
		}
		if (rc == CUDA_SUCCESS)
			rc = allow(&m, write);
		/* Not every device knows of memory that is only read. */
		if (mapped && !write && rc != CUDA_SUCCESS)
			rc = allow(&m, true);
		if (rc != CUDA_SUCCESS)
			drop(&m, mapped);
	}
	leave(before);
	*out = m;
	return rc == CUDA_SUCCESS ? OK : failed(err, rc, "mapping memory of a GPU");
}

void driver_unmap(const struct driver_memory *m)
{
	CUcontext before = NULL;

	if (enter(m->device, &before) != CUDA_SUCCESS)
		return;
	/* A context that is lost uses nothing any more. */
	(void)driver.cuCtxSynchronize();
	drop(m, true);
	leave(before);
}

enum status driver_copy(CUdeviceptr to, CUdeviceptr from, uint64_t bytes, int device,
			uint64_t stream, struct err *err)
{
	CUstream on = (CUstream)(uintptr_t)stream;
	CUcontext before = NULL;
	CUresult rc = enter(device, &before);

	if (rc != CUDA_SUCCESS)
		return failed(err, rc, "using a GPU");
	rc = driver.cuMemcpyDtoDAsync_v2(to, from, bytes, on);
	if (rc == CUDA_SUCCESS)
		rc = driver.cuStreamSynchronize(on);
	leave(before);
	return rc == CUDA_SUCCESS ? OK : failed(err, rc, "copying within a GPU");
}

enum status driver_fetch(void *to, CUdeviceptr from, uint64_t bytes, int device, uint64_t stream,
			 struct err *err)
{
	CUstream on = (CUstream)(uintptr_t)stream;
	CUcontext before = NULL;
	CUresult rc = enter(device, &before);

	if (rc != CUDA_SUCCESS)
		return failed(err, rc, "using a GPU");
	rc = driver.cuMemcpyDtoHAsync_v2(to, from, bytes, on);
	if (rc == CUDA_SUCCESS)
		rc = driver.cuStreamSynchronize(on);
	leave(before);
	return rc == CUDA_SUCCESS ? OK : failed(err, rc, "copying from a GPU");
}
