/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/bench_driver.c - what the machine does without braze: contexts, registered memory,
 * copies, launches, graphs, allocation; medians. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cudaside.h"
#include "sections.h"
#include "tap.h"

#define ROUNDS	    9
#define LAUNCHES    200
#define GRAPH_NODES 16

static const char empty_kernel[] =
	"extern \"C\" __global__ void empty(int *p) { if (p) *p = 1; }\n";

static void row(const char *name, double value, const char *unit)
{
	tap_note("  %-46s %12.3f %s", name, value, unit);
	tap_figure("driver", name, value, unit);
}

/* ---- Memory of the host ---- */

enum copy { UP, DOWN };

static double copy_rate(struct cudaside *c, enum copy way, void *host, CUdeviceptr there,
			uint64_t bytes)
{
	double t[ROUNDS];

	for (unsigned i = 0; i < ROUNDS; i++) {
		double start = host_seconds();
		CUresult rc = way == UP
				      ? c->api.cuMemcpyHtoDAsync_v2(there, host, bytes, c->stream)
				      : c->api.cuMemcpyDtoHAsync_v2(host, there, bytes, c->stream);

		cudaside_good(c, rc, "a copy");
		cudaside_good(c, c->api.cuStreamSynchronize(c->stream), "a copy");
		t[i] = host_seconds() - start;
	}
	return (double)bytes / cudaside_median(t, ROUNDS) * 1e-9;
}

static void both_ways(struct cudaside *c, const char *what, void *host, CUdeviceptr there,
		      uint64_t bytes)
{
	char name[64];

	snprintf(name, sizeof name, "to the device from %s", what);
	row(name, copy_rate(c, UP, host, there, bytes), "GB/s");
	snprintf(name, sizeof name, "from the device to %s", what);
	row(name, copy_rate(c, DOWN, host, there, bytes), "GB/s");
}

/* Memory as a client's arena is: a memfd, shared, its pages touched. */
static void registered(struct cudaside *c, CUdeviceptr there, uint64_t bytes)
{
	int fd = memfd_create("gpucheck", MFD_CLOEXEC);
	void *host = fd >= 0 && !ftruncate(fd, (off_t)bytes)
			     ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
			     : MAP_FAILED;
	double start;
	CUresult rc;

	if (fd >= 0)
		close(fd);
	if (host == MAP_FAILED) {
		tap_note("no memfd of %llu MiB", (unsigned long long)(bytes >> 20));
		return;
	}
	memset(host, 1, bytes);
	both_ways(c, "a memfd", host, there, bytes);
	start = host_seconds();
	rc = c->api.cuMemHostRegister_v2(host, bytes, CU_MEMHOSTREGISTER_PORTABLE);
	if (rc) {
		tap_note("a memfd cannot be registered: error %d", (int)rc);
	} else {
		row("registering a memfd", (double)bytes / (host_seconds() - start) * 1e-9, "GB/s");
		both_ways(c, "a registered memfd", host, there, bytes);
		start = host_seconds();
		cudaside_good(c, c->api.cuMemHostUnregister(host), "unregistering");
		row("unregistering it", (double)bytes / (host_seconds() - start) * 1e-9, "GB/s");
	}
	munmap(host, bytes);
}

static void copies(struct cudaside *c, uint64_t bytes)
{
	CUdeviceptr there = cudaside_alloc(c, bytes);
	void *pinned = NULL, *plain = malloc(bytes);

	tap_note("copies of %llu MiB", (unsigned long long)(bytes >> 20));
	if (there && plain) {
		memset(plain, 1, bytes);
		both_ways(c, "pageable memory", plain, there, bytes);
	}
	if (there && !c->api.cuMemHostAlloc(&pinned, bytes, CU_MEMHOSTALLOC_PORTABLE)) {
		memset(pinned, 1, bytes);
		both_ways(c, "pinned memory", pinned, there, bytes);
		c->api.cuMemFreeHost(pinned);
	}
	if (there)
		registered(c, there, bytes);
	row("device to device, read and written", cudaside_copy_rate(c, bytes, ROUNDS) * 1e-9,
	    "GB/s");
	free(plain);
	if (there)
		c->api.cuMemFree_v2(there);
}

/* ---- Launches ---- */

static void launch(struct cudaside *c, CUfunction f)
{
	void *nothing = NULL, *params[] = {&nothing};

	cudaside_good(c, c->api.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, c->stream, params, NULL),
		      "a launch");
}

static void wait(struct cudaside *c)
{
	cudaside_good(c, c->api.cuStreamSynchronize(c->stream), "waiting");
}

/* Microseconds of fn, n times, then waiting; each. */
static double each_us(struct cudaside *c, unsigned n, CUfunction f, CUgraphExec graph)
{
	double t[ROUNDS];

	for (unsigned i = 0; i < ROUNDS; i++) {
		double start = host_seconds();

		for (unsigned k = 0; k < n; k++) {
			if (graph)
				cudaside_good(c, c->api.cuGraphLaunch(graph, c->stream), "a graph");
			else
				launch(c, f);
		}
		wait(c);
		t[i] = (host_seconds() - start) / n * 1e6;
	}
	return cudaside_median(t, ROUNDS);
}

static void graphs(struct cudaside *c, CUfunction f)
{
	void *nothing = NULL, *params[] = {&nothing};
	CUDA_KERNEL_NODE_PARAMS node = {.func = f,
					.gridDimX = 1,
					.gridDimY = 1,
					.gridDimZ = 1,
					.blockDimX = 32,
					.blockDimY = 1,
					.blockDimZ = 1,
					.kernelParams = params};
	CUgraph graph = NULL;
	CUgraphExec exec = NULL;
	CUgraphNode last = NULL, next;
	double start;

	if (!c->api.graphs || !cudaside_good(c, c->api.cuGraphCreate(&graph, 0), "a graph"))
		return;
	for (int i = 0; i < GRAPH_NODES; i++) {
		cudaside_good(c,
			      c->api.cuGraphAddKernelNode_v2(&next, graph, i ? &last : NULL, i > 0,
							     &node),
			      "a graph's node");
		last = next;
	}
	start = host_seconds();
	if (cudaside_good(c, c->api.cuGraphInstantiateWithFlags(&exec, graph, 0), "a graph")) {
		row("making a graph of 16 launches ready", (host_seconds() - start) * 1e6, "us");
		row("a graph of 16 launches, with waiting", each_us(c, 1, NULL, exec), "us");
		row("a graph of 16 launches, one of many", each_us(c, 50, NULL, exec), "us");
		c->api.cuGraphExecDestroy(exec);
	}
	c->api.cuGraphDestroy(graph);
}

static void launches(struct cudaside *c, unsigned many)
{
	CUmodule module;
	CUfunction f = cudaside_function(c, &module, empty_kernel, "empty");

	if (!f)
		return;
	launch(c, f);
	wait(c);
	tap_note("launches");
	row("a launch, with waiting", each_us(c, 1, f, NULL), "us");
	row("a launch, one of many", each_us(c, many, f, NULL), "us");
	row("16 launches, with waiting", 16 * each_us(c, 16, f, NULL), "us");
	graphs(c, f);
	c->api.cuModuleUnload(module);
}

/* ---- Allocation ---- */

static void allocation(struct cudaside *c, uint64_t bytes)
{
	uint64_t keep = UINT64_MAX;
	double t[ROUNDS];
	CUmemoryPool pool = NULL;

	tap_note("allocation of %llu MiB, taken and freed", (unsigned long long)(bytes >> 20));
	for (unsigned i = 0; i < ROUNDS; i++) {
		double start = host_seconds();
		CUdeviceptr p = 0;

		if (cudaside_good(c, c->api.cuMemAlloc_v2(&p, bytes), "memory"))
			c->api.cuMemFree_v2(p);
		t[i] = (host_seconds() - start) * 1e6;
	}
	row("cuMemAlloc", cudaside_median(t, ROUNDS), "us");
	pool = cudaside_pool(c);
	if (!pool)
		return;
	c->api.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep);
	for (unsigned i = 0; i < ROUNDS; i++) {
		double start = host_seconds();
		CUdeviceptr p = 0;

		if (cudaside_good(c, c->api.cuMemAllocFromPoolAsync(&p, bytes, pool, c->stream),
				  "memory"))
			c->api.cuMemFreeAsync(p, c->stream);
		t[i] = (host_seconds() - start) * 1e6;
	}
	wait(c);
	row("from a pool that keeps its memory", cudaside_median(t, ROUNDS), "us");
	c->api.cuMemPoolDestroy(pool);
}

void bench_driver(const struct options *o)
{
	struct cudaside c;
	struct err err = {0};

	if (cudaside_open(&c, o->device, &err)) {
		tap_result(false, "the driver can be measured: %s", err.text);
		return;
	}
	tap_note("the driver by itself; medians");
	row("loading and cuInit", c.open_s * 1e3, "ms");
	row("the context", c.context_s * 1e3, "ms");
	copies(&c, o->quick ? 4u << 20 : 256u << 20);
	launches(&c, o->quick ? 20 : LAUNCHES);
	allocation(&c, o->quick ? 4u << 20 : 64u << 20);
	tap_result(!c.failed, "the driver was measured");
	cudaside_close(&c);
}
