/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory, pools, pinned host memory: contents, accounting, limits. */
#include "harness.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t available(void)
{
	size_t free_bytes, total;

	GOOD(cuMemGetInfo_v2(&free_bytes, &total));
	return free_bytes;
}

static CUmemoryPool pool_of(uint64_t threshold)
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUmemoryPool pool;

	GOOD(cuMemPoolCreate(&pool, &props));
	GOOD(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
	return pool;
}

static uint64_t number(CUmemoryPool pool, CUmemPool_attribute attribute)
{
	uint64_t v = 0;

	GOOD(cuMemPoolGetAttribute(pool, attribute, &v));
	return v;
}

Test(memory, fresh_memory_is_poison)
{
	unsigned char got[64];

	device();
	CUdeviceptr small = memory(1000), large = memory(100u << 20);
	cr_expect_eq(small % 256, 0);
	GOOD(cuMemcpyDtoH_v2(got, small + 936, 64));
	cr_expect_eq(got[63], 0xa5);
	for (size_t at = 0; at < 100u << 20; at += 33u << 20) {
		GOOD(cuMemcpyDtoH_v2(got, large + at, 64));
		cr_expect_eq(got[0], 0xa5);
	}
	GOOD(cuMemcpyHtoD_v2(large + (40u << 20), "abc", 4));
	GOOD(cuMemcpyDtoH_v2(got, large + (40u << 20), 4));
	cr_expect_str_eq((char *)got, "abc");
	GOOD(cuMemcpyDtoH_v2(got, large + (72u << 20), 64));
	cr_expect_eq(got[0], 0xa5, "a page of the pattern was shared");
	GOOD(cuMemFree_v2(large));
}

Test(memory, limit_and_accounting)
{
	options("log=/dev/null,vram=1M");
	CUdeviceptr a, b;

	device();
	cr_expect_eq(available(), 1 << 20);
	a = memory(600000);
	cr_expect_eq(available(), (1 << 20) - 600064);
	cr_expect_eq(cuMemAlloc_v2(&b, 600000), CUDA_ERROR_OUT_OF_MEMORY);
	GOOD(cuMemFree_v2(a));
	b = memory(600000);
	cr_expect_neq(a, b, "addresses are not used again");
	cr_expect_eq(cuMemFree_v2(a), CUDA_ERROR_INVALID_VALUE);
	cr_expect_eq(cuMemFree_v2(b + 16), CUDA_ERROR_INVALID_VALUE);
	cr_expect_eq(cuMemAlloc_v2(&b, 0), CUDA_ERROR_INVALID_VALUE);
}

Test(memory, out_of_memory_on_order)
{
	options("log=/dev/null,oom_after=1024");
	CUdeviceptr p;

	device();
	memory(512);
	memory(512);
	cr_expect_eq(cuMemAlloc_v2(&p, 512), CUDA_ERROR_OUT_OF_MEMORY);
	GOOD(cuCtxSynchronize());
}

Test(memory, pool_keeps_up_to_its_threshold)
{
	options("log=/dev/null,vram=10M");
	CUdeviceptr p, q;

	device();
	CUmemoryPool pool = pool_of(UINT64_MAX), other = pool_of(0);
	GOOD(cuMemAllocFromPoolAsync(&p, 6 << 20, pool, NULL));
	cr_expect_eq(number(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 6 << 20);
	GOOD(cuMemFreeAsync(p, NULL));
	cr_expect_eq(cuMemFreeAsync(p, NULL), CUDA_ERROR_INVALID_VALUE, "freed twice");
	GOOD(cuCtxSynchronize());
	cr_expect_eq(number(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
	cr_expect_eq(number(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 6 << 20);
	cr_expect_eq(number(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 6 << 20);
	cr_expect_eq(available(), 4 << 20);
	cr_expect_eq(cuMemAllocFromPoolAsync(&q, 6 << 20, other, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	GOOD(cuMemPoolTrimTo(pool, 0));
	cr_expect_eq(available(), 10 << 20);
	GOOD(cuMemAllocFromPoolAsync(&q, 6 << 20, other, NULL));
	GOOD(cuMemFreeAsync(q, NULL));
	GOOD(cuStreamSynchronize(NULL));
	cr_expect_eq(number(other, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0, "threshold 0");
	GOOD(cuMemPoolDestroy(other));
	cr_expect_eq(cuMemPoolTrimTo(other, 0), CUDA_ERROR_INVALID_VALUE);
	GOOD(cuMemPoolDestroy(pool));
}

Test(memory, a_pool_outlives_its_destruction)
{
	CUdeviceptr p;

	device();
	size_t before = available();
	CUmemoryPool pool = pool_of(UINT64_MAX);
	GOOD(cuMemAllocFromPoolAsync(&p, 4096, pool, NULL));
	GOOD(cuMemPoolDestroy(pool));
	cr_expect_eq(cuStreamWriteValue32_v2(NULL, p, 7, CU_STREAM_WRITE_VALUE_DEFAULT),
		     CUDA_ERROR_INVALID_VALUE, "words are written to plain memory only");
	GOOD(cuMemcpyHtoD_v2(p, "abc", 4));
	GOOD(cuMemFreeAsync(p, NULL));
	GOOD(cuCtxSynchronize());
	cr_expect_eq(available(), before);
}

Test(memory, default_pool)
{
	CUdeviceptr p;
	CUmemoryPool pool;

	device();
	GOOD(cuDeviceGetDefaultMemPool(&pool, 0));
	GOOD(cuMemAllocAsync(&p, 4096, NULL));
	cr_expect_eq(number(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 4096);
	cr_expect_eq(cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
	GOOD(cuMemFree_v2(p));
}

/* Memory of a stream is not there for another that does not wait. */
Test(memory, use_before_the_stream_has_allocated)
{
	options("log=/dev/null,delay_us=20000");
	CUstream a, b;
	CUdeviceptr p;

	device();
	GOOD(cuStreamCreateWithPriority(&a, CU_STREAM_NON_BLOCKING, 0));
	GOOD(cuStreamCreateWithPriority(&b, CU_STREAM_NON_BLOCKING, 0));
	CUdeviceptr q = memory(16);
	GOOD(cuMemsetD8Async(q, 0, 16, a));
	GOOD(cuMemsetD8Async(q, 0, 16, a));
	GOOD(cuMemAllocAsync(&p, 4096, a));
	GOOD(cuMemsetD8Async(p, 0, 16, b));
	cr_expect_eq(cuStreamSynchronize(b), CUDA_ERROR_ILLEGAL_ADDRESS);
}

Test(memory, pinned_host_memory)
{
	static char page[8192];
	CUdeviceptr at;
	void *host;

	device();
	GOOD(cuMemHostAlloc(&host, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
	GOOD(cuMemHostGetDevicePointer_v2(&at, host, 0));
	GOOD(cuMemHostRegister_v2(page, sizeof(page), CU_MEMHOSTREGISTER_DEVICEMAP));
	cr_expect_eq(cuMemHostRegister_v2(page + 4096, 100, 0),
		     CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	memcpy(page, "hello", 6);
	GOOD(cuMemcpyHtoDAsync_v2(at, page, 6, NULL));
	GOOD(cuCtxSynchronize());
	cr_expect_str_eq(host, "hello");
	GOOD(cuMemHostUnregister(page));
	cr_expect_eq(cuMemHostUnregister(page), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	GOOD(cuMemFreeHost(host));
	cr_expect_eq(cuMemFreeHost(host), CUDA_ERROR_INVALID_VALUE);
	cr_expect_eq(cuMemHostGetDevicePointer_v2(&at, page, 0), CUDA_ERROR_INVALID_VALUE);
}

Test(memory, fills)
{
	uint16_t half[4];
	uint32_t word[4];

	device();
	CUdeviceptr p = memory(64);
	GOOD(cuMemsetD16Async(p, 0x1234, 4, NULL));
	GOOD(cuMemsetD32Async(p + 8, 0xdeadbeef, 4, NULL));
	GOOD(cuMemcpyDtoH_v2(half, p, 8));
	GOOD(cuMemcpyDtoH_v2(word, p + 8, 16));
	cr_expect_eq(half[3], 0x1234);
	cr_expect_eq(word[3], 0xdeadbeef);
	cr_expect_eq(cuMemsetD32Async(p + 2, 0, 1, NULL), CUDA_ERROR_INVALID_VALUE);
	GOOD(cuMemsetD8Async(p, 0, 65, NULL));
	cr_expect_eq(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

Test(memory, devices_are_apart)
{
	options("log=/dev/null,devices=2,vram=1M");
	CUcontext first = device(), second;
	CUdeviceptr p, q;
	int count;

	GOOD(cuDeviceGetCount(&count));
	cr_expect_eq(count, 2);
	p = memory(600000);
	GOOD(cuDevicePrimaryCtxRetain(&second, 1));
	GOOD(cuCtxSetCurrent(second));
	cr_expect_eq(available(), 1 << 20);
	q = memory(600000);
	cr_expect_neq(p, q);
	GOOD(cuMemFree_v2(q));
	GOOD(cuDevicePrimaryCtxRelease_v2(1));
	GOOD(cuCtxSetCurrent(first));
	GOOD(cuMemFree_v2(p));
	cr_expect_eq(cuDevicePrimaryCtxRetain(&second, 2), CUDA_ERROR_INVALID_DEVICE);
}

/* ---- registered pages that leave their file ---- */

enum { FILE_BYTES = 1 << 20, PAGE = 4096 };

static int file;
static char *mapped;

static void map_file(void)
{
	file = memfd_create("file", MFD_CLOEXEC);
	cr_assert_eq(ftruncate(file, FILE_BYTES), 0);
	mapped = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	cr_assert_neq(mapped, MAP_FAILED);
	memset(mapped, 1, FILE_BYTES);
}

static void punch(size_t at, size_t n)
{
	cr_assert_eq(
		fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)n),
		0);
	memset(mapped + at, 2, n); /* fresh pages, at the same addresses */
}

/* What either copy ends with: an error of the first is told by whatever comes after it. */
static CUresult copy_both_ways(size_t at, size_t n)
{
	CUdeviceptr p = memory(n);
	CUresult error;
	CUstream s;

	GOOD(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	GOOD(cuMemcpyHtoDAsync_v2(p, mapped + at, n, s));
	error = cuMemcpyDtoHAsync_v2(mapped + at, p, n, s);
	return error ? error : cuStreamSynchronize(s);
}

Test(registered, a_copy_through_pages_that_were_given_back)
{
	options("log=/dev/null");
	device();
	map_file();
	GOOD(cuMemHostRegister_v2(mapped, FILE_BYTES, CU_MEMHOSTREGISTER_PORTABLE));
	GOOD(copy_both_ways(0, FILE_BYTES));
	punch(65536, PAGE);
	GOOD(copy_both_ways(0, 65536));
	GOOD(copy_both_ways(65536 + PAGE, 100));
	cr_expect_eq(copy_both_ways(65536 + PAGE - 1, 2), CUDA_ERROR_ILLEGAL_ADDRESS);
}

Test(registered, unregistered_before_and_registered_again)
{
	options("");
	device();
	map_file();
	for (int i = 0; i < 3; i++) {
		GOOD(cuMemHostRegister_v2(mapped, FILE_BYTES, CU_MEMHOSTREGISTER_PORTABLE));
		GOOD(copy_both_ways(0, FILE_BYTES));
		GOOD(cuMemHostUnregister(mapped));
		punch(0, FILE_BYTES);
		GOOD(copy_both_ways(0, FILE_BYTES));
	}
}

/* Not looked for, on order; and of private memory nothing is known. */
Test(registered, where_it_is_not_looked_for)
{
	options("stale=0");
	device();
	map_file();
	GOOD(cuMemHostRegister_v2(mapped, FILE_BYTES, CU_MEMHOSTREGISTER_PORTABLE));
	punch(0, PAGE);
	GOOD(copy_both_ways(0, PAGE));
	mapped = malloc(FILE_BYTES);
	memset(mapped, 3, FILE_BYTES);
	GOOD(cuMemHostRegister_v2(mapped + 100, 5000, CU_MEMHOSTREGISTER_PORTABLE));
	GOOD(copy_both_ways(200, 3000));
	GOOD(cuMemHostUnregister(mapped + 100));
	free(mapped);
}

Test(registered, unregistered_under_a_copy)
{
	options("log=/dev/null,delay_us=100000");
	device();
	map_file();
	CUdeviceptr p = memory(PAGE);
	CUstream s;
	GOOD(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	GOOD(cuMemHostRegister_v2(mapped, PAGE, CU_MEMHOSTREGISTER_PORTABLE));
	GOOD(cuMemcpyHtoDAsync_v2(p, mapped, PAGE, s));
	GOOD(cuMemHostUnregister(mapped));
	cr_expect_eq(cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS);
}
