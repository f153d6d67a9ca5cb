/* SPDX-License-Identifier: Apache-2.0 */
/* Every fault that the stand-in finds, what it says of it, and that it stays. */
#include "harness.h"
#include <stdio.h>
#include <unistd.h>

static const char kernels[] = PTX_HEAD
	".extern .shared .align 4 .b8 dyn[];\n"
	/* p[tid + n] = tid */
	".visible .entry put(.param .u64 p, .param .u32 n)\n"
	"{ .reg .b32 %r<5>; .reg .b64 %rd<4>; ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n];\n"
	"  mov.u32 %r2, %tid.x; add.u32 %r3, %r2, %r1; mul.wide.u32 %rd2, %r3, 4;\n"
	"  add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r2; ret; }\n"
	".visible .entry trapped(.param .u64 p, .param .u32 n) { trap; ret; }\n"
	/* shared: write mine, maybe wait, read my mirror's */
	".visible .entry mirror(.param .u64 p, .param .u32 n)\n"
	"{ .reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .pred %q; .shared .align 4 .b8 s[1024];\n"
	"  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x;\n"
	"  mov.u32 %r3, s; shl.b32 %r4, %r2, 2; add.u32 %r5, %r3, %r4; st.shared.u32 [%r5], %r2;\n"
	"  setp.eq.u32 %q, %r1, 0; @%q bra SKIP; bar.sync 0;\n"
	"SKIP: mov.u32 %r6, %ntid.x; sub.u32 %r6, %r6, %r2; sub.u32 %r6, %r6, 1;\n"
	"  shl.b32 %r6, %r6, 2; add.u32 %r6, %r3, %r6; ld.shared.u32 %r7, [%r6];\n"
	"  mul.wide.u32 %rd2, %r2, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r7; ret; }\n"
	/* lanes below n wait at one barrier, the others at another */
	".visible .entry parted(.param .u64 p, .param .u32 n)\n"
	"{ .reg .b32 %r<4>; .reg .pred %q; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x;\n"
	"  setp.lt.u32 %q, %r2, %r1; @%q bra A; bar.sync 0; bra B; A: bar.sync 0; B: ret; }\n"
	/* only lanes below n come to the vote of all */
	".visible .entry alone(.param .u64 p, .param .u32 n)\n"
	"{ .reg .b32 %r<4>; .reg .pred %q, %v; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x;\n"
	"  setp.lt.u32 %q, %r2, %r1; @!%q bra B; vote.sync.any.pred %v, %q, -1; bra C;\n"
	"B: bar.sync 0; C: ret; }\n"
	".visible .entry dynamic(.param .u64 p, .param .u32 n)\n"
	"{ .reg .b32 %r<4>; ld.param.u32 %r1, [n]; mov.u32 %r2, dyn; add.u32 %r2, %r2, %r1;\n"
	"  st.shared.u32 [%r2], 1; ret; }\n"
	".visible .entry spin(.param .u64 p, .param .u32 n) { L: bra L; }\n"
	".visible .entry away(.param .u64 p, .param .u32 n)\n"
	"{ .reg .b32 %r<4>; .reg .b64 %rd<4>; .local .align 4 .b8 own[8]; mov.u64 %rd1, own;\n"
	"  cvta.local.u64 %rd2, %rd1; ld.param.u32 %r1, [n]; cvt.u64.u32 %rd3, %r1;\n"
	"  add.u64 %rd2, %rd2, %rd3; st.u32 [%rd2], %r1; ret; }\n";

static char said[2048];

/* Runs a kernel that must fail with error, says so in the log, and stays failed. */
static void expect_fault(const char *kernel, CUdeviceptr p, unsigned n, unsigned block,
			 CUresult error, const char *text)
{
	char options_text[200], path[] = "/tmp/standin-log-XXXXXX";
	void *params[] = {&p, &n};
	size_t a, b;
	int fd = mkstemp(path);

	snprintf(options_text, sizeof(options_text), "max_instr=200000,log=%s", path);
	options(options_text);
	device();
	if (p == 1)
		p = memory(100);
	CUfunction f = function_of(module_of(kernels), kernel);
	cr_expect_eq(cuLaunchKernel(f, 2, 1, 1, block, 1, 1, 64, NULL, params, NULL), CUDA_SUCCESS);
	cr_expect_eq(cuCtxSynchronize(), error);
	cr_expect_eq(cuMemGetInfo_v2(&a, &b), error, "a fault stays");
	cr_expect_eq(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), error);
	ssize_t length = read(fd, said, sizeof(said) - 1);
	said[length > 0 ? length : 0] = 0;
	cr_expect(strstr(said, text), "says: %swant: %s", said, text);
	cr_expect(strstr(said, kernel), "no kernel name in: %s", said);
	unlink(path);
	close(fd);
}

Test(checks, behind_the_end)
{
	expect_fault(
		"put", 1, 1, 25, CUDA_ERROR_ILLEGAL_ADDRESS,
		"thread (24,0,0), lane 24: write of 4 bytes at address 0x302000000064: 0 bytes "
		"behind the end of an allocation of 100 bytes");
}

Test(checks, nowhere)
{
	expect_fault("put", 4096, 0, 1, CUDA_ERROR_ILLEGAL_ADDRESS, "no allocation is near");
}

Test(checks, names_line_and_block)
{
	expect_fault("put", 4096, 0, 1, CUDA_ERROR_ILLEGAL_ADDRESS, "PTX line 8, block (");
}

Test(checks, misaligned)
{
	expect_fault("put", 0x302000000001, 0, 1, CUDA_ERROR_MISALIGNED_ADDRESS,
		     "misaligned access of 4 bytes at address 0x302000000001");
}

Test(checks, trap)
{
	expect_fault("trapped", 1, 0, 1, CUDA_ERROR_LAUNCH_FAILED, "trap");
}

Test(checks, race)
{
	expect_fault("mirror", 1, 0, 64, CUDA_ERROR_LAUNCH_FAILED, "race in shared memory: byte ");
}

Test(checks, barrier_divergence)
{
	expect_fault("parted", 1, 5, 64, CUDA_ERROR_LAUNCH_FAILED, "barrier divergence");
}

Test(checks, missing_lane_of_a_mask)
{
	expect_fault("alone", 1, 5, 32, CUDA_ERROR_LAUNCH_FAILED, "never comes");
}

Test(checks, shared_memory_bounds)
{
	expect_fault("dynamic", 1, 64, 1, CUDA_ERROR_ILLEGAL_ADDRESS,
		     "offset 64 of the block's 64 bytes of shared memory");
}

Test(checks, local_memory_bounds)
{
	expect_fault("away", 1, 16, 1, CUDA_ERROR_ILLEGAL_ADDRESS, "bytes of local memory");
}

Test(checks, runaway)
{
	expect_fault("spin", 1, 0, 1, CUDA_ERROR_LAUNCH_TIMEOUT, "instructions");
}

Test(checks, barrier_orders_shared_memory)
{
	uint32_t got[128];
	unsigned one = 1;

	device();
	CUdeviceptr p = memory(sizeof(got));
	void *params[] = {&p, &one};
	GOOD(run(function_of(module_of(kernels), "mirror"), 1, 128, 0, params));
	GOOD(cuMemcpyDtoH_v2(got, p, sizeof(got)));
	for (unsigned k = 0; k < 128; k++)
		cr_expect_eq(got[k], 127 - k);
}

Test(checks, race_within_a_warp_and_unwatched_is_none)
{
	options("log=/dev/null,race=0");
	unsigned zero = 0;
	CUdeviceptr p;

	device();
	p = memory(512);
	void *params[] = {&p, &zero};
	GOOD(run(function_of(module_of(kernels), "mirror"), 1, 64, 0, params));
}

Test(checks, use_after_free)
{
	unsigned zero = 0;
	CUdeviceptr p;
	CUstream s;

	device();
	CUfunction f = function_of(module_of(kernels), "put");
	GOOD(cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, 0));
	GOOD(cuMemAllocAsync(&p, 64, s));
	GOOD(cuMemFreeAsync(p, s));
	void *params[] = {&p, &zero};
	GOOD(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
	cr_expect_eq(cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* As on hardware: the old handle is dead until the context is retained again. */
Test(checks, reset_ends_a_fault)
{
	unsigned zero = 0;
	CUdeviceptr bad = 64;
	CUcontext c, current;
	CUstream s;

	device();
	GOOD(cuStreamCreate(&s, 0));
	CUfunction f = function_of(module_of(kernels), "put");
	void *params[] = {&bad, &zero};
	cr_expect_eq(run(f, 1, 1, 0, params), CUDA_ERROR_ILLEGAL_ADDRESS);
	GOOD(cuDevicePrimaryCtxReset_v2(0));
	GOOD(cuCtxGetCurrent(&current));
	cr_expect_not_null(current);
	cr_expect_eq(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	GOOD(cuDevicePrimaryCtxRetain(&c, 0));
	GOOD(cuCtxSetCurrent(c));
	GOOD(cuCtxSynchronize());
	cr_expect_eq(cuStreamSynchronize(s), CUDA_ERROR_INVALID_HANDLE, "a stream of before");
	cr_expect_eq(run(f, 1, 1, 0, params), CUDA_ERROR_INVALID_HANDLE, "a function of before");
	CUdeviceptr p = memory(64);
	void *good[] = {&p, &zero};
	GOOD(run(function_of(module_of(kernels), "put"), 1, 16, 0, good));
}

Test(checks, launch_limits)
{
	unsigned zero = 0;

	device();
	CUdeviceptr p = memory(64);
	CUfunction f = function_of(module_of(kernels), "put");
	void *params[] = {&p, &zero};
	static const unsigned bad[][7] = {
		{0, 1, 1, 1, 1, 1, 0},	 {1, 65536, 1, 1, 1, 1, 0}, {1, 1, 1, 1025, 1, 1, 0},
		{1, 1, 1, 512, 3, 1, 0}, {1, 1, 1, 1, 1, 65, 0},    {1, 1, 1, 1, 1, 1, 49153},
	};
	for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++)
		cr_expect_eq(cuLaunchKernel(f, bad[k][0], bad[k][1], bad[k][2], bad[k][3],
					    bad[k][4], bad[k][5], bad[k][6], NULL, params, NULL),
			     CUDA_ERROR_INVALID_VALUE, "row %zu", k);
	GOOD(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000));
	GOOD(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 100000, NULL, params, NULL));
	GOOD(cuCtxSynchronize());
}
