/* SPDX-License-Identifier: Apache-2.0 */
/* harness.h - a device, modules from PTX text and launches, for the stand-in's tests.
 *
 * Every Criterion test is a process of its own, so options are set with options()
 * before device(). */
#ifndef STANDIN_HARNESS_H
#define STANDIN_HARNESS_H

#include "cu.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define GOOD(call) cr_assert_eq((int)(call), 0, "%s -> %d", #call, (int)(call))

static inline void options(const char *text)
{
	setenv("BRAZE_STANDIN", text, 1);
}

static inline CUcontext device(void)
{
	CUcontext c;

	if (!getenv("BRAZE_STANDIN"))
		options("log=/dev/null");
	cr_assert_eq(cuInit(0), CUDA_SUCCESS);
	cr_assert_eq(cuDevicePrimaryCtxRetain(&c, 0), CUDA_SUCCESS);
	cr_assert_eq(cuCtxSetCurrent(c), CUDA_SUCCESS);
	return c;
}

static inline CUmodule module_of(const char *ptx)
{
	char log[600] = "";
	CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)sizeof(log)};
	CUmodule m = NULL;

	CUresult error = cuModuleLoadDataEx(&m, ptx, 2, names, values);
	cr_assert_eq(error, CUDA_SUCCESS, "load: %d %s", (int)error, log);
	return m;
}

static inline CUfunction function_of(CUmodule m, const char *name)
{
	CUfunction f = NULL;

	cr_assert_eq(cuModuleGetFunction(&f, m, name), CUDA_SUCCESS, "no kernel %s", name);
	return f;
}

static inline CUdeviceptr memory(size_t bytes)
{
	CUdeviceptr p = 0;

	cr_assert_eq(cuMemAlloc_v2(&p, bytes), CUDA_SUCCESS);
	return p;
}

/* On the legacy stream, and waited for. */
static inline CUresult run(CUfunction f, unsigned grid, unsigned block, unsigned shared,
			   void **params)
{
	CUresult error = cuLaunchKernel(f, grid, 1, 1, block, 1, 1, shared, NULL, params, NULL);

	return error ? error : cuCtxSynchronize();
}

#define PTX_HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

#endif
