/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on the same device memory that nothing orders: found, whatever the order
 * in which they happen to be executed; and ordered ones, which are let be. */
#include "harness.h"

static const char kernels[] = PTX_HEAD
	/* 64 words from p on become k */
	".visible .entry put(.param .u64 p, .param .u32 k)\n"
	"{ .reg .b32 %r<4>; .reg .b64 %rd<4>; ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [k];\n"
	"  mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd3, %rd1, %rd2;\n"
	"  st.global.u32 [%rd3], %r1; ret; }\n"
	/* reads them */
	".visible .entry get(.param .u64 p, .param .u32 k)\n"
	"{ .reg .b32 %r<4>; .reg .b64 %rd<4>; ld.param.u64 %rd1, [p];\n"
	"  mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd3, %rd1, %rd2;\n"
	"  ld.global.u32 %r1, [%rd3]; ret; }\n";

enum { BYTES = 256 };

static CUfunction put, get;
static CUstream a, b;
static CUdeviceptr p;

static void begin(const char *settings)
{
	options(settings);
	device();
	CUmodule m = module_of(kernels);
	put = function_of(m, "put");
	get = function_of(m, "get");
	GOOD(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	GOOD(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	p = memory(2 * BYTES);
}

static void launch(CUfunction f, CUdeviceptr at, CUstream s)
{
	unsigned k = 7;
	void *params[] = {&at, &k};

	GOOD(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, s, params, NULL));
}

static CUresult end(void)
{
	CUresult first = cuStreamSynchronize(a), second = cuStreamSynchronize(b);

	return first ? first : second;
}

Test(races, write_and_read)
{
	begin("log=/dev/null");
	launch(put, p, a);
	launch(get, p, b);
	cr_expect_eq(end(), CUDA_ERROR_LAUNCH_FAILED);
}

Test(races, write_after_read)
{
	begin("log=/dev/null");
	launch(get, p, a);
	launch(put, p + 128, b);
	cr_expect_eq(end(), CUDA_ERROR_LAUNCH_FAILED);
}

Test(races, copies_and_fills)
{
	begin("log=/dev/null");
	GOOD(cuMemsetD8Async(p, 1, 100, a));
	GOOD(cuMemcpyDtoDAsync_v2(p + BYTES, p + 99, 100, b));
	cr_expect_eq(end(), CUDA_ERROR_LAUNCH_FAILED);
}

Test(races, readers_and_neighbours_are_none)
{
	begin("");
	launch(get, p, a);
	launch(get, p, b);
	GOOD(end());
	launch(put, p, a);
	launch(put, p + BYTES, b);
	GOOD(end());
}

Test(races, an_event_orders)
{
	CUevent e;

	begin("");
	GOOD(cuEventCreate(&e, 0));
	for (int i = 0; i < 10; i++) {
		launch(put, p, a);
		GOOD(cuEventRecord(e, a));
		GOOD(cuStreamWaitEvent(b, e, 0));
		launch(put, p, b);
		GOOD(cuEventRecord(e, b));
		GOOD(cuStreamWaitEvent(a, e, 0));
	}
	GOOD(end());
}

Test(races, a_wait_that_is_left_out)
{
	CUevent e;

	begin("log=/dev/null,skip=cuStreamWaitEvent:1");
	GOOD(cuEventCreate(&e, 0));
	launch(put, p, a);
	GOOD(cuEventRecord(e, a));
	GOOD(cuStreamWaitEvent(b, e, 0));
	launch(get, p, b);
	cr_expect_eq(end(), CUDA_ERROR_LAUNCH_FAILED);
}

/* What the caller has waited for is over. */
Test(races, the_caller_orders)
{
	CUevent e;

	begin("");
	GOOD(cuEventCreate(&e, 0));
	launch(put, p, a);
	GOOD(cuStreamSynchronize(a));
	launch(put, p, b);
	GOOD(cuEventRecord(e, b));
	GOOD(cuEventSynchronize(e));
	launch(put, p, a);
	GOOD(cuCtxSynchronize());
	launch(put, p, b);
	GOOD(end());
}

/* Memory that a stream takes, or gives back, while another uses it. */
Test(races, allocations_in_a_stream)
{
	CUdeviceptr q;
	CUevent e;

	begin("log=/dev/null");
	GOOD(cuEventCreate(&e, 0));
	GOOD(cuMemAllocAsync(&q, BYTES, a));
	GOOD(cuEventRecord(e, a));
	GOOD(cuStreamWaitEvent(b, e, 0));
	launch(put, q, b);
	GOOD(cuStreamSynchronize(b));
	GOOD(cuMemFreeAsync(q, a));
	GOOD(cuMemAllocAsync(&q, BYTES, a));
	GOOD(cuEventRecord(e, a));
	GOOD(cuStreamWaitEvent(b, e, 0));
	launch(get, q, b);
	GOOD(cuMemFreeAsync(q, a));
	cr_expect_neq(end(), CUDA_SUCCESS);
}

/* put, put at the neighbour, get: with the edges given. */
static CUresult graph_of(const size_t edges[3])
{
	CUgraph g;
	CUgraphExec x;
	CUgraphNode node[3];

	GOOD(cuGraphCreate(&g, 0));
	for (int i = 0; i < 3; i++) {
		CUdeviceptr at = p + (i == 1 ? BYTES : 0);
		unsigned k = 1;
		void *params[] = {&at, &k};
		CUDA_KERNEL_NODE_PARAMS n = {.func = i == 2 ? get : put,
					     .gridDimX = 1,
					     .gridDimY = 1,
					     .gridDimZ = 1,
					     .blockDimX = 64,
					     .blockDimY = 1,
					     .blockDimZ = 1,
					     .kernelParams = params};

		GOOD(cuGraphAddKernelNode_v2(&node[i], g, node, edges[i], &n));
	}
	GOOD(cuGraphInstantiateWithFlags(&x, g, 0));
	GOOD(cuGraphLaunch(x, a));
	GOOD(cuStreamSynchronize(a) == CUDA_SUCCESS ? cuGraphLaunch(x, a) : CUDA_SUCCESS);
	return end();
}

Test(races, edges_of_a_graph_order)
{
	begin("");
	GOOD(graph_of((size_t[]){0, 0, 1}));
}

Test(races, an_edge_that_is_missing)
{
	begin("log=/dev/null");
	cr_expect_eq(graph_of((size_t[]){0, 0, 0}), CUDA_ERROR_LAUNCH_FAILED);
}

Test(races, not_watched_without_race)
{
	begin("race=0");
	launch(put, p, a);
	launch(get, p, b);
	GOOD(end());
}
