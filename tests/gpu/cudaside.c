/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/cudaside.c - see cudaside.h. */
#include "cudaside.h"

#include <stdlib.h>
#include <string.h>

#include "code.h"
#include "tap.h"
#include "cuda/cuda_error.h"

bool cudaside_good(struct cudaside *c, CUresult rc, const char *what)
{
	char text[LIMIT_ERROR_TEXT];

	if (rc == CUDA_SUCCESS)
		return !c->failed;
	if (!c->failed)
		tap_note("%s: %s", what, cuda_error_text(text, sizeof text, &c->api, rc));
	c->failed = true;
	return false;
}

static int attribute(const struct cudaside *c, CUdevice_attribute which)
{
	int value = 0;

	c->api.cuDeviceGetAttribute(&value, which, c->device);
	return value;
}

enum status cudaside_open(struct cudaside *c, const char *device, struct err *err)
{
	double start = host_seconds();
	enum status st;
	CUresult rc;

	memset(c, 0, sizeof *c);
	st = cuda_api_open(&c->api, err);
	if (st)
		return st;
	c->open_s = host_seconds() - start;
	rc = c->api.cuDeviceGet(&c->device,
				strchr(device, ':') ? atoi(strchr(device, ':') + 1) : 0);
	start = host_seconds();
	if (!rc)
		rc = c->api.cuDevicePrimaryCtxRetain(&c->context, c->device);
	c->context_s = host_seconds() - start;
	if (!rc)
		rc = c->api.cuCtxSetCurrent(c->context);
	if (!rc)
		rc = c->api.cuStreamCreate(&c->stream, CU_STREAM_NON_BLOCKING);
	if (!rc)
		rc = c->api.cuEventCreate(&c->begin, CU_EVENT_DEFAULT);
	if (!rc)
		rc = c->api.cuEventCreate(&c->end, CU_EVENT_DEFAULT);
	if (rc)
		return cuda_error_set(err, &c->api, rc, "opening %s", device);
	c->arch = (unsigned)(10 * attribute(c, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
			     attribute(c, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
	c->units = (unsigned)attribute(c, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	return OK;
}

void cudaside_close(struct cudaside *c)
{
	if (c->begin)
		c->api.cuEventDestroy_v2(c->begin);
	if (c->end)
		c->api.cuEventDestroy_v2(c->end);
	if (c->stream)
		c->api.cuStreamDestroy_v2(c->stream);
	if (c->context)
		c->api.cuDevicePrimaryCtxRelease_v2(c->device);
}

CUfunction cudaside_function(struct cudaside *c, CUmodule *module, const char *source,
			     const char *name)
{
	CUfunction f = NULL;
	struct err err = {0};
	char *image = NULL;

	*module = NULL;
	if (code_image(&image, source, c->arch, &err)) {
		tap_note("%s: %s", name, err.text);
		c->failed = true;
		return NULL;
	}
	if (cudaside_good(c, c->api.cuModuleLoadDataEx(module, image, 0, NULL, NULL), name))
		cudaside_good(c, c->api.cuModuleGetFunction(&f, *module, name), name);
	free(image);
	return f;
}

void cudaside_start(struct cudaside *c)
{
	cudaside_good(c, c->api.cuEventRecord(c->begin, c->stream), "an event");
}

double cudaside_stop(struct cudaside *c)
{
	float ms = 0;

	if (cudaside_good(c, c->api.cuEventRecord(c->end, c->stream), "an event") &&
	    cudaside_good(c, c->api.cuEventSynchronize(c->end), "an event"))
		cudaside_good(c, c->api.cuEventElapsedTime(&ms, c->begin, c->end), "an event");
	return (double)ms * 1e-3;
}

CUmemoryPool cudaside_pool(struct cudaside *c)
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				.location = {CU_MEM_LOCATION_TYPE_DEVICE, c->device}};
	CUmemoryPool pool = NULL;

	return c->api.pools && !c->api.cuMemPoolCreate(&pool, &props) ? pool : NULL;
}

CUdeviceptr cudaside_alloc(struct cudaside *c, uint64_t bytes)
{
	CUdeviceptr p = 0;

	if (!cudaside_good(c, c->api.cuMemAlloc_v2(&p, (bytes + 3) / 4 * 4), "memory"))
		return 0;
	cudaside_good(c, c->api.cuMemsetD32Async(p, 0, (bytes + 3) / 4, c->stream), "zeros");
	return p;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double cudaside_median(double *v, unsigned n)
{
	qsort(v, n, sizeof *v, by_value);
	return n ? v[n / 2] : 0;
}

double cudaside_copy_rate(struct cudaside *c, uint64_t bytes, unsigned rounds)
{
	double t[CUDASIDE_ROUNDS_MAX], median;
	CUdeviceptr a = cudaside_alloc(c, bytes), b = cudaside_alloc(c, bytes);

	for (unsigned i = 0; i < rounds && a && b; i++) {
		cudaside_start(c);
		cudaside_good(c, c->api.cuMemcpyDtoDAsync_v2(b, a, bytes, c->stream), "a copy");
		t[i] = cudaside_stop(c);
	}
	median = a && b ? cudaside_median(t, rounds) : 0;
	if (a)
		c->api.cuMemFree_v2(a);
	if (b)
		c->api.cuMemFree_v2(b);
	return median > 0 ? 2 * (double)bytes / median : 0;
}
