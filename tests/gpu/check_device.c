/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/check_device.c - which libraries and which device there are, as this program
 * finds them and as the daemon says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cuda_find.h"
#include "sections.h"
#include "tap.h"
#include "cuda/cuda_api.h"

static void tell_library(const char *what, const char *variable, const char *const *names)
{
	struct cuda_find f;

	cuda_find(&f, variable, names);
	tap_note("%s: %s", what, f.text);
}

static void tell_libraries(void)
{
	static const char *const nvrtc[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
					    "libnvrtc.so", NULL};
	static const char *const blas[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
					   NULL};
	static const char *const fft[] = {"libcufft.so.12", "libcufft.so.11", "libcufft.so.10",
					  NULL};
	static const char *const solver[] = {"libcusolver.so.12", "libcusolver.so.11", NULL};
	static const char *const variables[] = {"LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH",
						"BRAZE_CUDA_PATHS", "BRAZE_STANDIN"};

	tell_library("NVRTC", "BRAZE_NVRTC", nvrtc);
	tell_library("cuBLAS", "BRAZE_LIBCUBLAS", blas);
	tell_library("cuFFT", "BRAZE_LIBCUFFT", fft);
	tell_library("cuSOLVER", "BRAZE_LIBCUSOLVER", solver);
	for (unsigned i = 0; i < sizeof variables / sizeof *variables; i++)
		if (getenv(variables[i]))
			tap_note("%s=%s", variables[i], getenv(variables[i]));
}

static int attribute(const struct cuda_api *api, CUdevice_attribute which)
{
	CUdevice device;
	int value = -1;

	if (api->cuDeviceGet(&device, 0) || api->cuDeviceGetAttribute(&value, which, device))
		return -1;
	return value;
}

static void check_driver(const struct host_device *said)
{
	struct cuda_api api;
	struct err err = {0};
	char name[128] = "";
	size_t bytes = 0;
	CUdevice device = 0;
	unsigned arch;
	int n = 0;

	if (!tap_result(!cuda_api_open(&api, &err), "the CUDA driver loads and starts")) {
		tap_note("%s", err.text);
		return;
	}
	tap_note("driver: %s, CUDA %d.%d, pools %s, graphs %s", api.path, api.version / 1000,
		 api.version % 1000 / 10, api.pools ? "yes" : "no", api.graphs ? "yes" : "no");
	if (!tap_result(!api.cuDeviceGetCount(&n) && n > 0, "the driver has a device"))
		return;
	api.cuDeviceGet(&device, 0);
	api.cuDeviceGetName(name, sizeof name, device);
	api.cuDeviceTotalMem_v2(&bytes, device);
	arch = (unsigned)(10 * attribute(&api, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
			  attribute(&api, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
	tap_note("device 0 of %d: %s, compute capability %u.%u, %zu MiB, %d multiprocessors, "
		 "%d MiB of L2",
		 n, name, arch / 10, arch % 10, bytes >> 20,
		 attribute(&api, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
		 attribute(&api, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE) >> 20);
	tap_figure("device", "memory", (double)bytes, "bytes");
	tap_result(said->arch == arch && !strncmp(said->model, name, sizeof said->model - 1),
		   "the daemon names the same device as the driver");
}

void check_device(const struct host *h)
{
	cJSON *status = host_ask(h, "/status");
	struct host_device d = host_device(h, h->device);
	const cJSON *row;

	tap_result(status != NULL, "the daemon serves its status page");
	cJSON_ArrayForEach(row, cJSON_GetObjectItem(status, "devices"))
	{
		char *text = cJSON_PrintUnformatted(row);

		tap_note("daemon: %s", text);
		free(text);
	}
	cJSON_Delete(status);
	tell_libraries();
	check_driver(&d);
	tap_result(d.there && !strcmp(d.state, "usable"), "%s is usable", h->device);
	if (*d.text)
		tap_note("%s", d.text);
}
