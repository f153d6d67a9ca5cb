/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's library: found, missing, incomplete, a toolkit's stub. */
#define _GNU_SOURCE
#include "cuda_bench.h"

#include "cuda/cuda_api.h"

static enum status open_as(const char *library, struct cuda_api *api, struct err *err)
{
	setenv("BRAZE_LIBCUDA", library, 1);
	*err = (struct err){0};
	return cuda_api_open(api, err);
}

Test(cuda_api, what_cannot_be_loaded_is_named)
{
	struct cuda_api api;
	struct err err;

	cr_assert_eq(open_as("/nowhere/libcuda.so.1", &api, &err), E_DEVICE);
	cr_assert(strstr(err.text, "/nowhere/libcuda.so.1"), "%s", err.text);
	cr_assert(strstr(err.text, "BRAZE_LIBCUDA"), "%s", err.text);
}

Test(cuda_api, missing_functions_are_named)
{
	struct cuda_api api;
	struct err err;

	cr_assert_eq(open_as(CUDA_STUB_PART, &api, &err), E_DEVICE);
	cr_assert(strstr(err.text, "cuDriverGetVersion"), "%s", err.text);
	cr_assert(!strstr(err.text, "cuInit"), "%s", err.text);
	cr_assert(strstr(err.text, "install"), "%s", err.text);
	cr_assert_not_null(api.cuInit);
	cr_assert_null(api.cuLaunchKernel);
	cr_assert(!api.pools && !api.graphs);
}

Test(cuda_api, a_stub_library_is_no_driver)
{
	struct cuda_api api;
	struct err err;

	cr_assert_eq(open_as(CUDA_STUB_WHOLE, &api, &err), E_DEVICE);
	cr_assert(strstr(err.text, "stub"), "%s", err.text);
	cr_assert(strstr(err.text, "install the NVIDIA driver"), "%s", err.text);
}

Test(cuda_api, the_stand_in_has_all_that_is_required)
{
	struct cuda_api api;
	struct err err;

	cr_assert_eq(open_as(STANDIN, &api, &err), OK, "%s", err.text);
	cr_assert_gt(api.version, 0);
	cr_assert(strstr(api.path, "libcuda"), "%s", api.path);
#define REQUIRED	      1
#define OPTIONAL	      0
#define CUDA_CALL(name, need) cr_assert(!(need) || api.name, #name);
#include "cuda/cuda_api.def"
#undef CUDA_CALL
}

/* The worker says so, and ends in order. */
Test(cuda_api, a_worker_without_a_driver_says_why, .timeout = 30)
{
	struct bench *b = NULL;

	setenv("BRAZE_WORKER_DEVICE", "cuda:0", 1);
	setenv("BRAZE_LIBCUDA", CUDA_STUB_WHOLE, 1);
	setenv("BRAZE_LOG", "error", 1);
	b = bench_start();
	cr_assert_eq(b->hello.status, E_DEVICE);
	cr_assert(strstr(b->hello.text, "stub"), "%s", b->hello.text);
	cr_assert_eq(bench_wait(b), 0);
	bench_free(b);
}

Test(cuda_api, a_device_that_is_not_there, .timeout = 30)
{
	struct bench *b = NULL;

	setenv("BRAZE_WORKER_DEVICE", "cuda:7", 1);
	setenv("BRAZE_LIBCUDA", STANDIN, 1);
	setenv("BRAZE_LOG", "error", 1);
	b = bench_start();
	cr_assert_eq(b->hello.status, E_DEVICE);
	cr_assert(strstr(b->hello.text, "cuda:7"), "%s", b->hello.text);
	cr_assert_eq(bench_wait(b), 0);
	bench_free(b);
}
