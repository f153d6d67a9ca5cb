/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, events, injected faults, hangs, graphs: order, and what a wait tells. */
#include "harness.h"
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const char kernels[] = PTX_HEAD
	/* *p = *p * k + 1, so that the order of launches shows */
	".visible .entry step(.param .u64 p, .param .u32 k)\n"
	"{ .reg .b32 %r<4>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [k];\n"
	"  ld.global.u32 %r2, [%rd1]; mad.lo.u32 %r2, %r2, %r1, 1; st.global.u32 [%rd1], %r2; ret; "
	"}\n"
	/* waits for *p */
	".visible .entry wait(.param .u64 p, .param .u32 k)\n"
	"{ .reg .b32 %r<4>; .reg .b64 %rd<2>; .reg .pred %q; ld.param.u64 %rd1, [p];\n"
	"L: ld.volatile.global.u32 %r2, [%rd1]; setp.eq.u32 %q, %r2, 0; @%q bra L; ret; }\n";

static CUstream stream(void)
{
	CUstream s;

	GOOD(cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, 0));
	return s;
}

static uint32_t word_at(CUdeviceptr p)
{
	uint32_t v;

	GOOD(cuMemcpyDtoH_v2(&v, p, 4));
	return v;
}

static CUdeviceptr zeroed(void)
{
	uint32_t zero = 0;
	CUdeviceptr p = memory(4);

	GOOD(cuMemcpyHtoD_v2(p, &zero, 4));
	return p;
}

static void step(CUfunction f, CUdeviceptr p, unsigned k, CUstream s)
{
	void *params[] = {&p, &k};

	GOOD(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
}

Test(streams, in_order)
{
	options("log=/dev/null,delay_us=200");
	device();
	CUfunction f = function_of(module_of(kernels), "step");
	CUdeviceptr p = zeroed();
	CUstream s = stream();
	uint32_t want = 0;

	for (unsigned k = 2; k < 20; k++) {
		step(f, p, k, s);
		want = want * k + 1;
	}
	cr_expect_eq(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
	GOOD(cuStreamSynchronize(s));
	GOOD(cuStreamQuery(s));
	cr_expect_eq(word_at(p), want);
	GOOD(cuStreamDestroy_v2(s));
	cr_expect_eq(cuStreamQuery(s), CUDA_ERROR_INVALID_HANDLE);
}

/* A kernel that waits on mapped memory holds its stream, not the others. */
Test(streams, events_order_streams)
{
	device();
	CUmodule m = module_of(kernels);
	CUfunction f = function_of(m, "step"), wait = function_of(m, "wait");
	CUstream a = stream(), b = stream();
	CUdeviceptr p = zeroed(), flag;
	CUevent done, never;
	volatile uint32_t *host;
	float ms;

	GOOD(cuMemHostAlloc((void **)&host, 4, CU_MEMHOSTALLOC_DEVICEMAP));
	*host = 0;
	GOOD(cuMemHostGetDevicePointer_v2(&flag, (void *)host, 0));
	GOOD(cuEventCreate(&done, CU_EVENT_DEFAULT));
	GOOD(cuEventCreate(&never, CU_EVENT_DISABLE_TIMING));
	step(wait, flag, 0, a);
	step(f, p, 7, a);
	GOOD(cuEventRecord(done, a));
	GOOD(cuStreamWaitEvent(b, never, 0));
	GOOD(cuStreamWaitEvent(b, done, 0));
	step(f, p, 5, b);
	usleep(20000);
	cr_expect_eq(cuEventQuery(done), CUDA_ERROR_NOT_READY);
	cr_expect_eq(cuStreamQuery(b), CUDA_ERROR_NOT_READY);
	cr_expect_eq(cuEventElapsedTime(&ms, done, done), CUDA_ERROR_NOT_READY);
	*host = 1;
	GOOD(cuStreamSynchronize(b));
	GOOD(cuEventQuery(done));
	cr_expect_eq(word_at(p), (0 * 7 + 1) * 5 + 1);
	GOOD(cuEventElapsedTime_v2(&ms, done, done));
	cr_expect_eq(cuEventElapsedTime(&ms, done, never), CUDA_ERROR_INVALID_HANDLE);
	GOOD(cuEventDestroy_v2(done));
	cr_expect_eq(cuEventQuery(done), CUDA_ERROR_INVALID_HANDLE);
	GOOD(cuMemFreeHost((void *)host));
}

Test(streams, legacy_waits_for_blocking_streams)
{
	options("log=/dev/null,delay_us=3000");
	device();
	CUfunction f = function_of(module_of(kernels), "step");
	CUdeviceptr p = zeroed();
	CUstream s;

	GOOD(cuStreamCreate(&s, CU_STREAM_DEFAULT));
	step(f, p, 2, s);
	step(f, p, 3, NULL);
	step(f, p, 5, s);
	step(f, p, 7, NULL);
	cr_expect_eq(word_at(p), ((0 * 2 + 1) * 3 + 1) * 5 * 7 + 7 + 1);
}

static void note(void *data)
{
	*(volatile int *)data += 1;
}

Test(streams, host_calls_and_written_values)
{
	volatile int count = 0;

	device();
	CUdeviceptr p = zeroed();
	CUstream s = stream();
	GOOD(cuLaunchHostFunc(s, note, (void *)&count));
	GOOD(cuStreamWriteValue32_v2(s, p, 77, CU_STREAM_WRITE_VALUE_DEFAULT));
	GOOD(cuLaunchHostFunc(s, note, (void *)&count));
	GOOD(cuStreamSynchronize(s));
	cr_expect_eq(count, 2);
	cr_expect_eq(word_at(p), 77);
}

/* Pageable sources are taken before the call returns, pinned ones later. */
Test(streams, copies_of_host_memory)
{
	options("log=/dev/null,delay_us=10000");
	char pageable[4] = "abc", *pinned, got[4];

	device();
	CUstream s = stream();
	CUdeviceptr p = memory(8);
	GOOD(cuMemHostAlloc((void **)&pinned, 4, 0));
	memcpy(pinned, "abc", 4);
	GOOD(cuMemcpyHtoDAsync_v2(p, pageable, 4, s));
	GOOD(cuMemcpyHtoDAsync_v2(p + 4, pinned, 4, s));
	memcpy(pageable, "xyz", 4);
	memcpy(pinned, "xyz", 4);
	GOOD(cuStreamSynchronize(s));
	GOOD(cuMemcpyDtoHAsync_v2(got, p, 4, s));
	cr_expect_str_eq(got, "abc", "a pageable destination is there at once");
	memcpy(pinned, "...", 4);
	GOOD(cuMemcpyDtoHAsync_v2(pinned, p + 4, 4, s));
	cr_expect_str_eq(pinned, "...", "a pinned one is not");
	GOOD(cuStreamSynchronize(s));
	cr_expect_str_eq(pinned, "xyz");
}

/* ---- errors on order ---- */

Test(streams, failing_calls)
{
	options("log=/dev/null,fail=cuLaunchKernel:2:1,fail=cuMemAlloc:2:2");
	CUdeviceptr q;

	device();
	CUfunction f = function_of(module_of(kernels), "step");
	CUdeviceptr p = zeroed();
	unsigned k = 1;
	void *params[] = {&p, &k};
	GOOD(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	cr_expect_eq(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), 1);
	GOOD(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	cr_expect_eq(word_at(p), 2);
	cr_expect_eq(cuMemAlloc_v2(&q, 16), CUDA_ERROR_OUT_OF_MEMORY);
	GOOD(cuMemAlloc_v2(&q, 16));
}

Test(streams, fatal_codes_stay)
{
	options("log=/dev/null,fail=cuCtxSynchronize:1:719");
	device();
	cr_expect_eq(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
	cr_expect_eq(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
}

Test(streams, faulting_kernel)
{
	options("log=/dev/null,fault=cuLaunchKernel:1:700");
	device();
	CUfunction f = function_of(module_of(kernels), "step");
	CUdeviceptr p = zeroed();
	step(f, p, 2, NULL);
	cr_expect_eq(cuStreamSynchronize(NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
	cr_expect_eq(cuStreamQuery(NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void control(const char *path, const char *text)
{
	char temporary[300];

	snprintf(temporary, sizeof(temporary), "%s.new", path);
	FILE *f = fopen(temporary, "w");
	cr_assert(f && fputs(text, f) >= 0 && !fclose(f) && !rename(temporary, path));
}

Test(streams, control_file_while_running)
{
	char path[200], text[300];

	snprintf(path, sizeof(path), "%s/control.%d", STANDIN_SCRATCH, (int)getpid());
	snprintf(text, sizeof(text), "log=/dev/null,control=%s", path);
	options(text);
	control(path, "");
	CUcontext c = device();
	CUmodule m = module_of(kernels);
	CUfunction f = function_of(m, "step");
	CUdeviceptr p = zeroed(), q;
	unsigned k = 1;
	void *params[] = {&p, &k};
	step(f, p, 1, NULL);
	control(path, "fail=cuLaunchKernel:1:999 oom_after=0");
	cr_expect_eq(cuMemAlloc_v2(&q, 16), CUDA_ERROR_OUT_OF_MEMORY);
	cr_expect_eq(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
		     CUDA_ERROR_UNKNOWN);
	GOOD(cuDevicePrimaryCtxReset_v2(0));
	usleep(20000); /* the file's time is what tells that it has changed */
	control(path, "hang=cuLaunchKernel:1\noom_after=-1\n");
	GOOD(cuDevicePrimaryCtxRetain(&c, 0));
	GOOD(cuCtxSetCurrent(c));
	f = function_of(module_of(kernels), "step");
	p = zeroed();
	step(f, p, 1, NULL);
	usleep(30000);
	cr_expect_eq(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY, "it hangs");
	GOOD(cuDevicePrimaryCtxReset_v2(0));
	unlink(path);
}

static double elapsed(CUevent begin, CUevent end)
{
	float ms = 0;

	GOOD(cuEventSynchronize(end));
	GOOD(cuEventElapsedTime(&ms, begin, end));
	return (double)ms;
}

/* What the interpreter takes is in no time: bytes over bandwidths and launches are. */
Test(streams, modelled_clock)
{
	options("log=/dev/null,clock=model,link_gbs=2,memory_gbs=100,launch_us=5,slow=10,"
		"delay_us=3000");
	device();
	CUfunction f = function_of(module_of(kernels), "step");
	CUdeviceptr p = zeroed(), big = memory(1 << 20);
	char *host = calloc(1, 1 << 20);
	CUstream s = stream(), other = stream();
	CUevent begin, middle, end;

	GOOD(cuEventCreate(&begin, CU_EVENT_DEFAULT));
	GOOD(cuEventCreate(&middle, CU_EVENT_DEFAULT));
	GOOD(cuEventCreate(&end, CU_EVENT_DEFAULT));
	GOOD(cuEventRecord(begin, s));
	GOOD(cuMemcpyHtoDAsync_v2(big, host, 1 << 20, s));
	GOOD(cuEventRecord(middle, s));
	step(f, p, 2, s);
	step(f, p, 2, s);
	GOOD(cuEventRecord(end, s));
	cr_expect_float_eq(elapsed(begin, middle), 0.005 + 1048576 / 2e6, 1e-4);
	cr_expect_float_eq(elapsed(middle, end), 2 * 10 * (0.005 + 8 / 1e8), 1e-4);
	/* What another stream waits for is not over before; what the host has waited for
	 * neither. */
	GOOD(cuStreamWaitEvent(other, end, 0));
	GOOD(cuEventRecord(middle, other));
	cr_expect_float_eq(elapsed(end, middle), 0, 1e-6);
	GOOD(cuEventRecord(begin, other));
	step(f, p, 2, other);
	GOOD(cuEventRecord(end, stream()));
	GOOD(cuStreamSynchronize(other));
	GOOD(cuEventRecord(middle, stream()));
	cr_expect_float_eq(elapsed(begin, end), 0, 1e-6, "streams run side by side");
	cr_expect_float_eq(elapsed(begin, middle), 0.05, 1e-3);
	free(host);
}

/* ---- graphs ---- */

static CUDA_KERNEL_NODE_PARAMS node_params(CUfunction f, void **params)
{
	return (CUDA_KERNEL_NODE_PARAMS){.func = f,
					 .gridDimX = 1,
					 .gridDimY = 1,
					 .gridDimZ = 1,
					 .blockDimX = 1,
					 .blockDimY = 1,
					 .blockDimZ = 1,
					 .kernelParams = params};
}

Test(graphs, nodes_and_new_parameters)
{
	CUgraph g;
	CUgraphNode n[3];
	CUgraphExec e;

	device();
	CUfunction f = function_of(module_of(kernels), "step");
	CUdeviceptr p = zeroed(), copy = zeroed(), q = zeroed();
	unsigned three = 3, five = 5;
	void *first[] = {&p, &three}, *second[] = {&p, &five}, *other[] = {&q, &five};
	CUDA_KERNEL_NODE_PARAMS a = node_params(f, first), b = node_params(f, second),
				c = node_params(f, other);
	CUDA_MEMCPY3D move = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			      .srcDevice = p,
			      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			      .dstDevice = copy,
			      .WidthInBytes = 4,
			      .Height = 1,
			      .Depth = 1};
	GOOD(cuGraphCreate(&g, 0));
	GOOD(cuGraphAddKernelNode_v2(&n[0], g, NULL, 0, &a));
	GOOD(cuGraphAddKernelNode_v2(&n[1], g, &n[0], 1, &b));
	GOOD(cuGraphAddMemcpyNode(&n[2], g, &n[1], 1, &move, NULL));
	GOOD(cuGraphInstantiateWithFlags(&e, g, 0));
	GOOD(cuGraphLaunch(e, NULL));
	cr_expect_eq(word_at(copy), (0 * 3 + 1) * 5 + 1);
	GOOD(cuGraphExecKernelNodeSetParams_v2(e, n[0], &c));
	cr_expect_eq(cuGraphExecKernelNodeSetParams_v2(e, n[2], &c), CUDA_ERROR_INVALID_VALUE);
	GOOD(cuGraphDestroy(g));
	GOOD(cuGraphLaunch(e, NULL));
	cr_expect_eq(word_at(copy), 6 * 5 + 1);
	cr_expect_eq(word_at(q), 1);
	GOOD(cuGraphExecDestroy(e));
	cr_expect_eq(cuGraphLaunch(e, NULL), CUDA_ERROR_INVALID_VALUE);
}

/* Every node takes its time, in whatever order they go; what is left out takes none. */
Test(graphs, modelled_clock)
{
	options("log=/dev/null,clock=model,memory_gbs=100,launch_us=5,skip=cuLaunchKernel:1");
	device();
	CUfunction f = function_of(module_of(kernels), "step");
	CUdeviceptr p = zeroed(), q = zeroed();
	unsigned three = 3;
	void *first[] = {&p, &three}, *second[] = {&q, &three};
	CUDA_KERNEL_NODE_PARAMS a = node_params(f, first), b = node_params(f, second);
	CUgraph g;
	CUgraphNode n[2];
	CUgraphExec e;
	CUevent begin, middle, end;
	CUstream s = stream();

	GOOD(cuGraphCreate(&g, 0));
	GOOD(cuGraphAddKernelNode_v2(&n[0], g, NULL, 0, &a));
	GOOD(cuGraphAddKernelNode_v2(&n[1], g, NULL, 0, &b));
	GOOD(cuGraphInstantiateWithFlags(&e, g, 0));
	GOOD(cuEventCreate(&begin, CU_EVENT_DEFAULT));
	GOOD(cuEventCreate(&middle, CU_EVENT_DEFAULT));
	GOOD(cuEventCreate(&end, CU_EVENT_DEFAULT));
	GOOD(cuEventRecord(begin, s));
	step(f, p, 2, s);
	GOOD(cuEventRecord(middle, s));
	GOOD(cuGraphLaunch(e, s));
	GOOD(cuEventRecord(end, s));
	cr_expect_float_eq(elapsed(begin, middle), 0, 1e-6);
	cr_expect_float_eq(elapsed(middle, end), 2 * (0.005 + 8 / 1e8), 1e-4);
	cr_expect_eq(word_at(p), 1);
	GOOD(cuGraphExecDestroy(e));
	GOOD(cuGraphDestroy(g));
}

Test(graphs, capture)
{
	CUgraph g;
	CUgraphExec e;

	device();
	CUfunction f = function_of(module_of(kernels), "step");
	CUdeviceptr p = zeroed();
	CUstream s = stream();
	GOOD(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	step(f, p, 2, s);
	step(f, p, 3, s);
	cr_expect_eq(cuStreamSynchronize(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	GOOD(cuStreamEndCapture(s, &g));
	cr_expect_eq(word_at(p), 0, "captured, not executed");
	GOOD(cuGraphInstantiateWithFlags(&e, g, 0));
	GOOD(cuGraphLaunch(e, s));
	GOOD(cuGraphLaunch(e, s));
	GOOD(cuStreamSynchronize(s));
	cr_expect_eq(word_at(p), (4 * 2 + 1) * 3 + 1);
	cr_expect_eq(cuStreamEndCapture(s, &g), CUDA_ERROR_ILLEGAL_STATE);
}

Test(device, calls_before_and_without_a_context)
{
	CUdeviceptr p;
	CUcontext c;
	char name[64];
	int v;

	options("log=/dev/null,cc=8.6,sms=7");
	cr_expect_eq(cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
	cr_expect_eq(cuDevicePrimaryCtxRetain(&c, 0), CUDA_ERROR_NOT_INITIALIZED);
	GOOD(cuInit(0));
	cr_expect_eq(cuInit(1), CUDA_ERROR_INVALID_VALUE);
	cr_expect_eq(cuMemAlloc_v2(&p, 16), CUDA_ERROR_INVALID_CONTEXT);
	GOOD(cuDeviceGetName(name, sizeof(name), 0));
	GOOD(cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
	cr_expect_eq(v, 6);
	GOOD(cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	cr_expect_eq(v, 7);
	cr_expect_eq(cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 1),
		     CUDA_ERROR_INVALID_DEVICE);
	const char *text;
	GOOD(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
	cr_expect_str_eq(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
	cr_expect_eq(cuGetErrorString((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
}
