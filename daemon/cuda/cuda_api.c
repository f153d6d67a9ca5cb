/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_api.c - find and load the driver's library; see cuda_api.h. */
#define _GNU_SOURCE
#include "cuda_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cuda_find.h"
#include "cuda_error.h"

static const char *const names[] = {"libcuda.so.1", NULL};

static enum status load(void **out, struct err *err)
{
	const char *named = getenv("BRAZE_LIBCUDA");
	struct cuda_find found;

	/* The loader knows places that a search by file does not. */
	if (!named || !*named)
		*out = dlopen(names[0], RTLD_NOW | RTLD_LOCAL);
	if (*out)
		return OK;
	if (!cuda_find(&found, "BRAZE_LIBCUDA", names))
		return err_set(err, E_DEVICE, "no CUDA driver: %.230s", found.text);
	*out = dlopen(found.path, RTLD_NOW | RTLD_LOCAL);
	if (!*out)
		return err_set(err, E_DEVICE, "the CUDA driver cannot be loaded: %.200s",
			       dlerror());
	return OK;
}

static void note_missing(char *list, size_t n, const char *name)
{
	size_t used = strlen(list);

	if (used + strlen(name) + 2 < n)
		snprintf(list + used, n - used, "%s%s", used ? " " : "", name);
}

static bool can_export(const struct cuda_api *api)
{
	return api->cuMemGetAllocationGranularity && api->cuMemCreate && api->cuMemRelease &&
	       api->cuMemAddressReserve && api->cuMemAddressFree && api->cuMemMap &&
	       api->cuMemUnmap && api->cuMemSetAccess && api->cuMemExportToShareableHandle;
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
	api->exports = can_export(api);
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
	out->failed = rc;
	if (rc != CUDA_SUCCESS)
		return cuda_error_set(err, out, rc, "the CUDA driver does not start");
	if (out->cuDriverGetVersion(&out->version) != CUDA_SUCCESS)
		out->version = 0;
	cuda_find_driver(out->version);
	return OK;
}
