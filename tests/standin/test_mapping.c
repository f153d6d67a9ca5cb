/* SPDX-License-Identifier: Apache-2.0 */
/* Memory with descriptors: sizes, handles, access, lifetimes, other processes. */
#include "harness.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRANULE ((size_t)2 << 20)

static CUmemAllocationProp shared(void)
{
	return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FD,
				     .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
}

static CUmemGenericAllocationHandle create(size_t bytes)
{
	CUmemAllocationProp prop = shared();
	CUmemGenericAllocationHandle h = 0;

	GOOD(cuMemCreate(&h, bytes, &prop, 0));
	return h;
}

static CUdeviceptr map(CUmemGenericAllocationHandle h, size_t bytes, int access)
{
	CUmemAccessDesc who = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, access};
	CUdeviceptr p = 0;

	GOOD(cuMemAddressReserve(&p, bytes, 0, 0, 0));
	GOOD(cuMemMap(p, bytes, 0, h, 0));
	if (access)
		GOOD(cuMemSetAccess(p, bytes, &who, 1));
	return p;
}

static size_t available(void)
{
	size_t free_bytes, total;

	GOOD(cuMemGetInfo_v2(&free_bytes, &total));
	return free_bytes;
}

Test(mapping, sizes_are_whole_granules)
{
	CUmemAllocationProp prop = shared();
	CUmemGenericAllocationHandle h;
	CUdeviceptr p;
	size_t granule = 0;

	device();
	GOOD(cuMemGetAllocationGranularity(&granule, &prop, CU_MEM_GRANULARITY_MINIMUM));
	cr_expect_eq(granule, GRANULE);
	cr_expect_eq(cuMemCreate(&h, GRANULE - 512, &prop, 0), CUDA_ERROR_INVALID_VALUE);
	cr_expect_eq(cuMemCreate(&h, 0, &prop, 0), CUDA_ERROR_INVALID_VALUE);
	cr_expect_eq(cuMemAddressReserve(&p, 4096, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
	prop.location.id = 7;
	cr_expect_eq(cuMemCreate(&h, GRANULE, &prop, 0), CUDA_ERROR_INVALID_VALUE);
	prop = shared();
	prop.requestedHandleTypes = 2;
	cr_expect_eq(cuMemCreate(&h, GRANULE, &prop, 0), CUDA_ERROR_INVALID_VALUE);
}

Test(mapping, memory_lives_until_it_is_released_and_unmapped)
{
	options("log=/dev/null,vram=4M");
	CUmemAllocationProp prop = shared();
	unsigned char got[16];

	device();
	CUmemGenericAllocationHandle h = create(GRANULE), more;
	CUdeviceptr p = map(h, GRANULE, CU_MEM_ACCESS_READWRITE);
	cr_expect_eq(available(), GRANULE);
	cr_expect_eq(cuMemCreate(&more, 2 * GRANULE, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
	GOOD(cuMemcpyDtoH_v2(got, p + 100, 16));
	cr_expect_eq(got[0], 0xa5);
	GOOD(cuMemRelease(h));
	cr_expect_eq(cuMemRelease(h), CUDA_ERROR_INVALID_VALUE);
	cr_expect_eq(available(), GRANULE, "it is mapped still");
	GOOD(cuMemcpyHtoD_v2(p, "abc", 4));
	cr_expect_eq(cuMemAddressFree(p, GRANULE), CUDA_ERROR_INVALID_VALUE);
	cr_expect_eq(cuMemFree_v2(p), CUDA_ERROR_INVALID_VALUE);
	cr_expect_eq(cuMemUnmap(p, GRANULE / 2), CUDA_ERROR_INVALID_VALUE);
	GOOD(cuMemUnmap(p, GRANULE));
	cr_expect_eq(cuMemUnmap(p, GRANULE), CUDA_ERROR_INVALID_VALUE);
	cr_expect_eq(available(), 2 * GRANULE);
	GOOD(cuMemAddressFree(p, GRANULE));
	cr_expect_eq(cuMemAddressFree(p, GRANULE), CUDA_ERROR_INVALID_VALUE);
	cr_expect_eq(cuMemcpyDtoH_v2(got, p, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
}

Test(mapping, a_mapping_lies_in_a_reservation_of_its_own)
{
	device();
	CUmemGenericAllocationHandle h = create(GRANULE);
	CUdeviceptr p = map(h, GRANULE, CU_MEM_ACCESS_READWRITE);

	cr_expect_eq(cuMemMap(p, GRANULE, 0, h, 0), CUDA_ERROR_INVALID_VALUE);
	cr_expect_eq(cuMemMap(p + GRANULE, GRANULE, 0, h, 0), CUDA_ERROR_INVALID_VALUE);
	GOOD(cuMemUnmap(p, GRANULE));
	cr_expect_eq(cuMemMap(p, GRANULE, 0, h + 1, 0), CUDA_ERROR_INVALID_VALUE);
	cr_expect_eq(cuMemMap(p, 2 * GRANULE, 0, h, 0), CUDA_ERROR_INVALID_VALUE);
	GOOD(cuMemMap(p, GRANULE, 0, h, 0));
}

Test(mapping, the_driver_tells_whose_memory_it_is)
{
	int whose = -1;

	device();
	CUdeviceptr p = map(create(GRANULE), GRANULE, CU_MEM_ACCESS_READ), q = memory(100);
	GOOD(cuPointerGetAttribute(&whose, CU_POINTER_DEVICE_ORDINAL, p + 5));
	cr_expect_eq(whose, 0);
	GOOD(cuPointerGetAttribute(&whose, CU_POINTER_DEVICE_ORDINAL, q));
	cr_expect_eq(cuPointerGetAttribute(&whose, CU_POINTER_DEVICE_ORDINAL, q + 100),
		     CUDA_ERROR_INVALID_VALUE);
	cr_expect_eq(cuPointerGetAttribute(&whose, 1, q), CUDA_ERROR_INVALID_VALUE);
}

Test(mapping, without_access_nobody_reads)
{
	char got[4];

	device();
	CUdeviceptr p = map(create(GRANULE), GRANULE, 0);
	cr_expect_eq(cuMemcpyDtoH_v2(got, p, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
}

Test(mapping, to_be_read_nobody_writes)
{
	char got[4];

	device();
	CUdeviceptr p = map(create(GRANULE), GRANULE, CU_MEM_ACCESS_READ);
	GOOD(cuMemcpyDtoH_v2(got, p, 4));
	cr_expect_eq(cuMemcpyHtoD_v2(p, "abc", 4), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static const char *const store =
	PTX_HEAD ".visible .entry store(.param .u64 p)\n{\n.reg .b64 %rd<2>;\n.reg .b32 %r<2>;\n"
		 "ld.param.u64 %rd1, [p];\nmov.u32 %r1, 7;\nst.global.u32 [%rd1], %r1;\nret;\n}\n";

Test(mapping, no_kernel_writes_what_is_to_be_read)
{
	uint32_t got = 0;

	device();
	CUmemGenericAllocationHandle h = create(GRANULE);
	CUdeviceptr p = map(h, GRANULE, CU_MEM_ACCESS_READWRITE);
	CUdeviceptr q = map(h, GRANULE, CU_MEM_ACCESS_READ);
	CUfunction f = function_of(module_of(store), "store");
	GOOD(run(f, 1, 1, 0, (void *[]){&p}));
	GOOD(cuMemcpyDtoH_v2(&got, q, 4));
	cr_expect_eq(got, 7, "the same memory at two addresses");
	cr_expect_eq(run(f, 1, 1, 0, (void *[]){&q}), CUDA_ERROR_ILLEGAL_ADDRESS);
}

Test(mapping, only_descriptors_of_memory_are_imported)
{
	CUmemGenericAllocationHandle h;
	int fd = memfd_create("something", 0);

	device();
	cr_assert_eq(ftruncate(fd, (off_t)GRANULE), 0);
	cr_expect_eq(cuMemImportFromShareableHandle(&h, (void *)(intptr_t)fd, 1),
		     CUDA_ERROR_INVALID_VALUE);
	cr_expect_eq(cuMemImportFromShareableHandle(&h, (void *)(intptr_t)-1, 1),
		     CUDA_ERROR_INVALID_VALUE);
	CUmemAllocationProp own = shared();
	own.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
	GOOD(cuMemCreate(&h, GRANULE, &own, 0));
	cr_expect_eq(cuMemExportToShareableHandle(&fd, h, 1, 0), CUDA_ERROR_INVALID_VALUE);
}

/* A process with a driver of its own: the memory that its parent tells of, once that has let go. */
static int child(int told)
{
	CUmemGenericAllocationHandle h = 0;
	char got[4] = "", path[64];
	int fd = -1;

	device();
	if (read(told, &fd, sizeof fd) != sizeof fd)
		return 2;
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getppid(), fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	GOOD(cuMemImportFromShareableHandle(&h, (void *)(intptr_t)fd, 1));
	close(fd);
	CUdeviceptr p = map(h, GRANULE, CU_MEM_ACCESS_READWRITE);
	GOOD(cuMemRelease(h));
	GOOD(cuMemcpyDtoH_v2(got, p, 4));
	return strcmp(got, "abc") != 0;
}

Test(mapping, another_process_has_it_after_its_maker_has_let_go)
{
	int fd = -1, tell[2], status = -1;

	cr_assert_eq(pipe(tell), 0);
	pid_t pid = fork();
	if (!pid)
		_exit(child(tell[0]));
	device();
	CUmemGenericAllocationHandle h = create(GRANULE);
	CUdeviceptr p = map(h, GRANULE, CU_MEM_ACCESS_READWRITE);
	GOOD(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FD, 0));
	cr_expect(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	GOOD(cuMemcpyHtoD_v2(p, "abc", 4));
	GOOD(cuMemUnmap(p, GRANULE));
	GOOD(cuMemRelease(h));
	GOOD(cuMemAddressFree(p, GRANULE));
	cr_assert_eq(write(tell[1], &fd, sizeof fd), (ssize_t)sizeof fd);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(status, 0);
}

/* ---- two devices ---- */

static CUcontext other_device(int device)
{
	CUcontext c = NULL;

	GOOD(cuDevicePrimaryCtxRetain(&c, device));
	GOOD(cuCtxSetCurrent(c));
	return c;
}

static CUresult allow(CUdeviceptr p, int device)
{
	CUmemAccessDesc who = {{CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ACCESS_READWRITE};

	return cuMemSetAccess(p, GRANULE, &who, 1);
}

Test(mapping, peers_are_told)
{
	int can = -1;

	options("log=/dev/null,devices=3,apart=0:2");
	device();
	GOOD(cuDeviceCanAccessPeer(&can, 0, 1));
	cr_expect_eq(can, 1);
	GOOD(cuDeviceCanAccessPeer(&can, 0, 2));
	cr_expect_eq(can, 0);
	GOOD(cuDeviceCanAccessPeer(&can, 2, 0));
	cr_expect_eq(can, 0);
	GOOD(cuDeviceCanAccessPeer(&can, 1, 1));
	cr_expect_eq(can, 0);
	cr_expect_eq(cuDeviceCanAccessPeer(&can, 0, 3), CUDA_ERROR_INVALID_DEVICE);
}

Test(mapping, another_device_copies_what_it_was_given)
{
	char got[4] = "";

	options("log=/dev/null,devices=2");
	device();
	CUdeviceptr p = map(create(GRANULE), GRANULE, CU_MEM_ACCESS_READWRITE);
	GOOD(cuMemcpyHtoD_v2(p, "abc", 4));
	GOOD(allow(p, 1));
	other_device(1);
	CUdeviceptr q = memory(100);
	GOOD(cuMemcpyDtoDAsync_v2(q, p, 4, NULL));
	GOOD(cuMemcpyDtoH_v2(got, q, 4));
	cr_expect_str_eq(got, "abc");
}

Test(mapping, no_access_without_peer_rights)
{
	options("log=/dev/null,devices=2,apart=0:1");
	device();
	CUdeviceptr p = map(create(GRANULE), GRANULE, CU_MEM_ACCESS_READWRITE);
	cr_expect_eq(allow(p, 1), CUDA_ERROR_NOT_SUPPORTED);
	cr_expect_eq(allow(p, 5), CUDA_ERROR_INVALID_DEVICE);
	other_device(1);
	GOOD(cuMemcpyDtoDAsync_v2(memory(100), p, 4, NULL));
	cr_expect_eq(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

Test(mapping, imported_but_not_mapped_for_this_device)
{
	options("log=/dev/null,devices=2");
	device();
	CUdeviceptr p = map(create(GRANULE), GRANULE, CU_MEM_ACCESS_READWRITE);
	other_device(1);
	GOOD(cuMemcpyDtoDAsync_v2(memory(100), p, 4, NULL));
	cr_expect_eq(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS, "it is the other one's");
}

Test(mapping, no_kernel_and_no_copy_reaches_ordinary_memory_of_another_device)
{
	options("log=/dev/null,devices=2");
	device();
	CUdeviceptr p = memory(100);
	other_device(1);
	CUfunction f = function_of(module_of(store), "store");
	cr_expect_eq(run(f, 1, 1, 0, (void *[]){&p}), CUDA_ERROR_ILLEGAL_ADDRESS);
}
