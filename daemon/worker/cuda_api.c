/* SPDX-License-Identifier: Apache-2.0 */
/* worker/cuda_api.c - find and load the driver's library; see cuda_api.h. */
#define _GNU_SOURCE
#include "cuda_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_error.h"

/* Where drivers are put besides the loader's own path. */
static const char *const places[] = {
	"libcuda.so.1",
	"/usr/lib/x86_64-linux-gnu/libcuda.so.1",
	"/usr/lib64/libcuda.so.1",
	"/usr/lib/libcuda.so.1",
	"/usr/local/nvidia/lib64/libcuda.so.1",
	"/usr/lib/wsl/lib/libcuda.so.1",
	"/run/opengl-driver/lib/libcuda.so.1",
};

/* The last message of the loader goes to err when nothing can be loaded. */
static enum status load(void **out, struct err *err)
{
	const char *named = getenv("BRAZE_LIBCUDA");

	if (named && *named) {
		*out = dlopen(named, RTLD_NOW | RTLD_LOCAL);
		if (*out)
			return OK;
		return err_set(err, E_DEVICE, "BRAZE_LIBCUDA cannot be loaded: %.180s", dlerror());
	}
	for (size_t i = 0; i < sizeof places / sizeof *places && !*out; i++)
		*out = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
	if (*out)
		return OK;
	return err_set(err, E_DEVICE,
		       "no CUDA driver: libcuda.so.1 is not found; install the NVIDIA driver, or "
		       "name its library in BRAZE_LIBCUDA");
}

static void note_missing(char *list, size_t n, const char *name)
{
	size_t used = strlen(list);

	if (used + strlen(name) + 2 < n)
		snprintf(list + used, n - used, "%s%s", used ? " " : "", name);
}

/* Fill the table; names of missing required functions go to `missing`. */
static void resolve(struct cuda_api *api, void *library, char *missing, size_t n)
{
	enum { OPTIONAL, REQUIRED };

#define CUDA_CALL(name, need)                                                                      \
	*(void **)&api->name = dlsym(library, #name);                                              \
	if ((need) == REQUIRED && !api->name)                                                      \
		note_missing(missing, n, #name);
#include "cuda_api.def"
#undef CUDA_CALL
	api->pools = api->cuMemPoolCreate && api->cuMemPoolDestroy && api->cuMemPoolSetAttribute &&
		     api->cuMemPoolTrimTo && api->cuMemAllocFromPoolAsync && api->cuMemFreeAsync;
	api->graphs = api->cuGraphCreate && api->cuGraphAddKernelNode_v2 &&
		      api->cuGraphInstantiateWithFlags && api->cuGraphExecKernelNodeSetParams_v2 &&
		      api->cuGraphLaunch && api->cuGraphExecDestroy && api->cuGraphDestroy;
}

enum status cuda_api_open(struct cuda_api *out, struct err *err)
{
	void *library = NULL;
	char missing[160] = "";
	Dl_info from = {0};
	enum status st = load(&library, err);
	CUresult rc = CUDA_SUCCESS;

	*out = (struct cuda_api){0};
	if (st != OK)
		return st;
	resolve(out, library, missing, sizeof missing);
	if (out->cuInit && dladdr(*(void **)&out->cuInit, &from) && from.dli_fname)
		snprintf(out->path, sizeof out->path, "%s", from.dli_fname);
	if (*missing)
		return err_set(err, E_DEVICE,
			       "the CUDA driver lacks %s; install one of CUDA 11.2 or later",
			       missing);
	rc = out->cuInit(0);
	if (rc != CUDA_SUCCESS)
		return cuda_error_set(err, out, rc, "the CUDA driver does not start");
	if (out->cuDriverGetVersion(&out->version) != CUDA_SUCCESS)
		out->version = 0;
	return OK;
}
