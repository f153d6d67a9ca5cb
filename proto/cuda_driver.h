/* SPDX-License-Identifier: Apache-2.0 */
/* proto/cuda_driver.h - the part of the CUDA Driver API that braze uses.
 *
 * Types, constants and prototypes of libcuda.so.1 as NVIDIA documents its binary
 * interface, so that braze builds on machines without a toolkit and takes a driver
 * at run time by dlopen.  Only what braze or its stand-in needs is named here.  Never
 * include it together with <cuda.h>, which has the same names.
 *
 * A function is known by the name that its library exports: cuMemAlloc_v2 takes
 * 64-bit sizes, cuMemAlloc is its forerunner with another signature.  The tables at
 * the end list every function once; CUDA_DRIVER_CALLS(CALL) expands
 * CALL(name, parameters) for each, from which a user makes prototypes, pointer types
 * or a struct of pointers:
 *
 *   #define MEMBER(name, params) CUresult(*name) params;
 *   struct driver { CUDA_DRIVER_CALLS(MEMBER) };
 *
 * Threads: any thread may call any function once its context is current there. */
#ifndef BRAZE_CUDA_DRIVER_H
#define BRAZE_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_NOT_INITIALIZED = 3,
	CUDA_ERROR_DEINITIALIZED = 4,
	CUDA_ERROR_STUB_LIBRARY = 34, /* a toolkit's link-time library, not a driver */
	CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER = 36,
	CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
	CUDA_ERROR_NO_DEVICE = 100,
	CUDA_ERROR_INVALID_DEVICE = 101,
	CUDA_ERROR_DEVICE_NOT_LICENSED = 102,
	CUDA_ERROR_INVALID_IMAGE = 200,
	CUDA_ERROR_INVALID_CONTEXT = 201,
	CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
	CUDA_ERROR_ECC_UNCORRECTABLE = 214,
	CUDA_ERROR_INVALID_PTX = 218,
	CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
	CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221,
	CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
	CUDA_ERROR_JIT_COMPILATION_DISABLED = 223,
	CUDA_ERROR_CONTAINED = 226,
	CUDA_ERROR_INVALID_HANDLE = 400,
	CUDA_ERROR_ILLEGAL_STATE = 401,
	CUDA_ERROR_NOT_FOUND = 500,
	CUDA_ERROR_NOT_READY = 600, /* no failure: work is still under way */
	CUDA_ERROR_ILLEGAL_ADDRESS = 700,
	CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
	CUDA_ERROR_LAUNCH_TIMEOUT = 702,
	CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE = 708,
	CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
	CUDA_ERROR_ASSERT = 710,
	CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
	CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
	CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
	CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
	CUDA_ERROR_MISALIGNED_ADDRESS = 716,
	CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
	CUDA_ERROR_INVALID_PC = 718,
	CUDA_ERROR_LAUNCH_FAILED = 719,
	CUDA_ERROR_TENSOR_MEMORY_LEAK = 721,
	CUDA_ERROR_NOT_PERMITTED = 800,
	CUDA_ERROR_NOT_SUPPORTED = 801,
	CUDA_ERROR_SYSTEM_NOT_READY = 802,
	CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
	CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804,
	CUDA_ERROR_MPS_CONNECTION_FAILED = 805,
	CUDA_ERROR_MPS_RPC_FAILURE = 806,
	CUDA_ERROR_MPS_SERVER_NOT_READY = 807,
	CUDA_ERROR_MPS_MAX_CLIENTS_REACHED = 808,
	CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED = 809,
	CUDA_ERROR_MPS_CLIENT_TERMINATED = 810,
	CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
	CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
	CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
	CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904,
	CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
	CUDA_ERROR_CAPTURED_EVENT = 907,
	CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910,
	CUDA_ERROR_EXTERNAL_DEVICE = 911,
	CUDA_ERROR_UNKNOWN = 999
} CUresult;

typedef int CUdevice;
typedef uint64_t CUdeviceptr; /* an address of the device, no pointer here */
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream; /* NULL: the legacy stream */
typedef struct CUevent_st *CUevent;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode; /* lives as long as its graph */
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUarray_st *CUarray;
typedef struct CUkern_st *CUkernel;
typedef void (*CUhostFn)(void *data); /* must not call the driver */

typedef struct {
	char bytes[16];
} CUuuid;

typedef enum {
	CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
	CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
	CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3,
	CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 4,
	CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
	CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
	CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7,
	CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
	CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY = 9,
	CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
	CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
	CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13, /* kHz */
	CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
	CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
	CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
	CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20, /* 0 default, 2 prohibited, 3 one process */
	CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS = 31,
	CU_DEVICE_ATTRIBUTE_ECC_ENABLED = 32,
	CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,	  /* kHz */
	CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37, /* bits */
	CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
	CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
	CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT = 40,
	CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
	CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
	CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
	CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO = 87,
	CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS = 88,
	CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
	CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED = 99,
	CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
	CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 103,
	CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
	CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115
} CUdevice_attribute;

typedef enum {
	CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
	CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
	CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2,
	CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
	CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
	CU_FUNC_ATTRIBUTE_PTX_VERSION = 5,
	CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6,
	CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8, /* settable */
	CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9
} CUfunction_attribute;

typedef enum {
	CU_JIT_MAX_REGISTERS = 0,
	CU_JIT_INFO_LOG_BUFFER = 3,
	CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
	CU_JIT_ERROR_LOG_BUFFER = 5,
	CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6
} CUjit_option; /* a value is put into the pointer itself */

/* Flags of cuDevicePrimaryCtxSetFlags_v2. */
#define CU_CTX_SCHED_AUTO	   0x00u
#define CU_CTX_SCHED_BLOCKING_SYNC 0x04u
/* Flags of streams, events, host memory, written values. */
#define CU_STREAM_DEFAULT		    0x0u
#define CU_STREAM_NON_BLOCKING		    0x1u /* no order with the legacy stream */
#define CU_EVENT_DEFAULT		    0x0u
#define CU_EVENT_BLOCKING_SYNC		    0x1u
#define CU_EVENT_DISABLE_TIMING		    0x2u
#define CU_MEMHOSTALLOC_PORTABLE	    0x1u
#define CU_MEMHOSTALLOC_DEVICEMAP	    0x2u
#define CU_MEMHOSTALLOC_WRITECOMBINED	    0x4u
#define CU_MEMHOSTREGISTER_PORTABLE	    0x1u
#define CU_MEMHOSTREGISTER_DEVICEMAP	    0x2u
#define CU_MEMHOSTREGISTER_READ_ONLY	    0x8u
#define CU_STREAM_WRITE_VALUE_DEFAULT	    0x0u
#define CU_GET_PROC_ADDRESS_DEFAULT	    0x0u
#define CU_GET_PROC_ADDRESS_SUCCESS	    0
#define CU_GET_PROC_ADDRESS_NOT_FOUND	    1
#define CU_STREAM_LEGACY		    ((CUstream)1)
#define CU_STREAM_PER_THREAD		    ((CUstream)2)
#define CU_STREAM_CAPTURE_MODE_GLOBAL	    0
#define CU_STREAM_CAPTURE_MODE_THREAD_LOCAL 1
#define CU_STREAM_CAPTURE_MODE_RELAXED	    2
/* Markers in cuLaunchKernel's extra: a packed parameter buffer instead of pointers. */
#define CU_LAUNCH_PARAM_END	       ((void *)0)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)1)
#define CU_LAUNCH_PARAM_BUFFER_SIZE    ((void *)2)

typedef enum {
	CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1, /* int, as the next two */
	CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC = 2,
	CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3,
	CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4, /* uint64_t, as those below */
	CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5,
	CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH = 6, /* may be set to 0 only */
	CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7,
	CU_MEMPOOL_ATTR_USED_MEM_HIGH = 8 /* may be set to 0 only */
} CUmemPool_attribute;

#define CU_MEM_ALLOCATION_TYPE_PINNED 1
#define CU_MEM_HANDLE_TYPE_NONE	      0
#define CU_MEM_HANDLE_TYPE_POSIX_FD   1 /* what goes to other processes is a descriptor */
#define CU_MEM_LOCATION_TYPE_DEVICE   1
#define CU_MEM_GRANULARITY_MINIMUM    0
#define CU_POINTER_DEVICE_ORDINAL     9 /* an int: whose memory it is */
#define CU_MEM_ACCESS_READ	      1
#define CU_MEM_ACCESS_READWRITE	      3

typedef struct {
	int type; /* CU_MEM_LOCATION_TYPE_DEVICE */
	int id;	  /* device */
} CUmemLocation;

/* Memory that has no address until it is mapped. */
typedef unsigned long long CUmemGenericAllocationHandle;

typedef struct {
	int type;		  /* CU_MEM_ALLOCATION_TYPE_PINNED */
	int requestedHandleTypes; /* CU_MEM_HANDLE_TYPE_POSIX_FD: it may be exported */
	CUmemLocation location;
	void *win32HandleMetaData;
	struct {
		unsigned char compressionType, gpuDirectRDMACapable;
		unsigned short usage;
		unsigned char reserved[4];
	} allocFlags;
} CUmemAllocationProp;

typedef struct {
	CUmemLocation location; /* who may ... */
	int flags;		/* ... CU_MEM_ACCESS_... */
} CUmemAccessDesc;

typedef struct {
	int allocType;	 /* CU_MEM_ALLOCATION_TYPE_PINNED */
	int handleTypes; /* CU_MEM_HANDLE_TYPE_NONE: not for other processes */
	CUmemLocation location;
	void *win32SecurityAttributes;
	size_t maxSize; /* 0: up to the device's memory */
	unsigned short usage;
	unsigned char reserved[54]; /* zeros */
} CUmemPoolProps;

typedef struct {
	CUfunction func;
	unsigned gridDimX, gridDimY, gridDimZ;
	unsigned blockDimX, blockDimY, blockDimZ;
	unsigned sharedMemBytes;
	void **kernelParams; /* values are copied when the node is made or changed */
	void **extra;
	CUkernel kern; /* instead of func; braze leaves it NULL */
	CUcontext ctx;
} CUDA_KERNEL_NODE_PARAMS;

#define CU_MEMORYTYPE_HOST    1
#define CU_MEMORYTYPE_DEVICE  2
#define CU_MEMORYTYPE_UNIFIED 4

typedef struct {
	size_t srcXInBytes, srcY, srcZ, srcLOD;
	int srcMemoryType;
	const void *srcHost;
	CUdeviceptr srcDevice;
	CUarray srcArray;
	void *reserved0;
	size_t srcPitch, srcHeight; /* rows and planes of the source */
	size_t dstXInBytes, dstY, dstZ, dstLOD;
	int dstMemoryType;
	void *dstHost;
	CUdeviceptr dstDevice;
	CUarray dstArray;
	void *reserved1;
	size_t dstPitch, dstHeight;
	size_t WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D;

/* Device, context, errors, look-up of functions. */
#define CUDA_DRIVER_DEVICE_CALLS(CALL)                                                             \
	CALL(cuInit, (unsigned flags))                                                             \
	CALL(cuDriverGetVersion, (int *version))                                                   \
	CALL(cuGetErrorName, (CUresult error, const char **name))                                  \
	CALL(cuGetErrorString, (CUresult error, const char **text))                                \
	CALL(cuGetProcAddress_v2,                                                                  \
	     (const char *symbol, void **out, int version, uint64_t flags, int *status))           \
	CALL(cuGetExportTable, (const void **table, const CUuuid *id))                             \
	CALL(cuDeviceGetCount, (int *count))                                                       \
	CALL(cuDeviceGet, (CUdevice * device, int ordinal))                                        \
	CALL(cuDeviceGetName, (char *name, int length, CUdevice device))                           \
	CALL(cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice device))                                 \
	CALL(cuDeviceGetPCIBusId, (char *id, int length, CUdevice device))                         \
	CALL(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device))                               \
	CALL(cuDeviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice device))    \
	CALL(cuDeviceCanAccessPeer, (int *can, CUdevice device, CUdevice peer))                    \
	CALL(cuDeviceGetDefaultMemPool, (CUmemoryPool * pool, CUdevice device))                    \
	CALL(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                     \
	CALL(cuDevicePrimaryCtxRelease_v2, (CUdevice device))                                      \
	CALL(cuDevicePrimaryCtxSetFlags_v2, (CUdevice device, unsigned flags))                     \
	CALL(cuDevicePrimaryCtxGetState, (CUdevice device, unsigned *flags, int *active))          \
	CALL(cuDevicePrimaryCtxReset_v2, (CUdevice device))                                        \
	CALL(cuCtxSetCurrent, (CUcontext context))                                                 \
	CALL(cuCtxGetCurrent, (CUcontext * context))                                               \
	CALL(cuCtxGetDevice, (CUdevice * device))                                                  \
	CALL(cuCtxSynchronize, (void))                                                             \
	CALL(cuCtxGetStreamPriorityRange, (int *least, int *greatest))

/* Memory, pools, copies. */
#define CUDA_DRIVER_MEMORY_CALLS(CALL)                                                             \
	CALL(cuMemGetInfo_v2, (size_t * free_bytes, size_t * total_bytes))                         \
	CALL(cuMemAlloc_v2, (CUdeviceptr * out, size_t bytes))                                     \
	CALL(cuMemFree_v2, (CUdeviceptr address))                                                  \
	CALL(cuMemAllocAsync, (CUdeviceptr * out, size_t bytes, CUstream stream))                  \
	CALL(cuMemFreeAsync, (CUdeviceptr address, CUstream stream))                               \
	CALL(cuMemAllocFromPoolAsync,                                                              \
	     (CUdeviceptr * out, size_t bytes, CUmemoryPool pool, CUstream stream))                \
	CALL(cuMemPoolCreate, (CUmemoryPool * out, const CUmemPoolProps *props))                   \
	CALL(cuMemPoolDestroy, (CUmemoryPool pool))                                                \
	CALL(cuMemPoolSetAttribute,                                                                \
	     (CUmemoryPool pool, CUmemPool_attribute attribute, void *value))                      \
	CALL(cuMemPoolGetAttribute,                                                                \
	     (CUmemoryPool pool, CUmemPool_attribute attribute, void *value))                      \
	CALL(cuMemPoolTrimTo, (CUmemoryPool pool, size_t bytes_to_keep))                           \
	CALL(cuPointerGetAttribute, (void *out, int attribute, CUdeviceptr address))               \
	CALL(cuMemHostAlloc, (void **out, size_t bytes, unsigned flags))                           \
	CALL(cuMemFreeHost, (void *host))                                                          \
	CALL(cuMemHostRegister_v2, (void *host, size_t bytes, unsigned flags))                     \
	CALL(cuMemHostUnregister, (void *host))                                                    \
	CALL(cuMemHostGetDevicePointer_v2, (CUdeviceptr * out, void *host, unsigned flags))        \
	CALL(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t bytes))                    \
	CALL(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t bytes))                          \
	CALL(cuMemcpyHtoDAsync_v2,                                                                 \
	     (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))                    \
	CALL(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream))    \
	CALL(cuMemcpyDtoDAsync_v2,                                                                 \
	     (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))                    \
	CALL(cuMemsetD8Async,                                                                      \
	     (CUdeviceptr to, unsigned char value, size_t count, CUstream stream))                 \
	CALL(cuMemsetD16Async,                                                                     \
	     (CUdeviceptr to, unsigned short value, size_t count, CUstream stream))                \
	CALL(cuMemsetD32Async, (CUdeviceptr to, unsigned value, size_t count, CUstream stream))

/* Memory and addresses apart, so that others may map it. */
#define CUDA_DRIVER_MAPPING_CALLS(CALL)                                                            \
	CALL(cuMemGetAllocationGranularity,                                                        \
	     (size_t * bytes, const CUmemAllocationProp *prop, int which))                         \
	CALL(cuMemCreate, (CUmemGenericAllocationHandle * out, size_t bytes,                       \
			   const CUmemAllocationProp *prop, unsigned long long flags))             \
	CALL(cuMemRelease, (CUmemGenericAllocationHandle handle))                                  \
	CALL(cuMemAddressReserve, (CUdeviceptr * out, size_t bytes, size_t alignment,              \
				   CUdeviceptr wanted, unsigned long long flags))                  \
	CALL(cuMemAddressFree, (CUdeviceptr address, size_t bytes))                                \
	CALL(cuMemMap, (CUdeviceptr address, size_t bytes, size_t offset,                          \
			CUmemGenericAllocationHandle handle, unsigned long long flags))            \
	CALL(cuMemUnmap, (CUdeviceptr address, size_t bytes))                                      \
	CALL(cuMemSetAccess,                                                                       \
	     (CUdeviceptr address, size_t bytes, const CUmemAccessDesc *who, size_t count))        \
	CALL(cuMemExportToShareableHandle,                                                         \
	     (void *out, CUmemGenericAllocationHandle handle, int type, unsigned long long flags)) \
	CALL(cuMemImportFromShareableHandle,                                                       \
	     (CUmemGenericAllocationHandle * out, void *shared, int type))

/* Streams and events. */
#define CUDA_DRIVER_STREAM_CALLS(CALL)                                                             \
	CALL(cuStreamCreate, (CUstream * out, unsigned flags))                                     \
	CALL(cuStreamCreateWithPriority, (CUstream * out, unsigned flags, int priority))           \
	CALL(cuStreamDestroy_v2, (CUstream stream))                                                \
	CALL(cuStreamQuery, (CUstream stream))                                                     \
	CALL(cuStreamSynchronize, (CUstream stream))                                               \
	CALL(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags))                  \
	CALL(cuStreamWriteValue32_v2,                                                              \
	     (CUstream stream, CUdeviceptr to, uint32_t value, unsigned flags))                    \
	CALL(cuLaunchHostFunc, (CUstream stream, CUhostFn fn, void *data))                         \
	CALL(cuEventCreate, (CUevent * out, unsigned flags))                                       \
	CALL(cuEventRecord, (CUevent event, CUstream stream))                                      \
	CALL(cuEventQuery, (CUevent event))                                                        \
	CALL(cuEventSynchronize, (CUevent event))                                                  \
	CALL(cuEventElapsedTime, (float *ms, CUevent start, CUevent end))                          \
	CALL(cuEventElapsedTime_v2, (float *ms, CUevent start, CUevent end))                       \
	CALL(cuEventDestroy_v2, (CUevent event))

/* Modules, functions, launches, graphs. */
#define CUDA_DRIVER_LAUNCH_CALLS(CALL)                                                             \
	CALL(cuModuleLoadDataEx, (CUmodule * out, const void *image, unsigned noptions,            \
				  CUjit_option *options, void **values))                           \
	CALL(cuModuleUnload, (CUmodule module))                                                    \
	CALL(cuModuleGetFunction, (CUfunction * out, CUmodule module, const char *name))           \
	CALL(cuModuleGetGlobal_v2,                                                                 \
	     (CUdeviceptr * out, size_t * bytes, CUmodule module, const char *name))               \
	CALL(cuFuncGetAttribute, (int *value, CUfunction_attribute attribute, CUfunction f))       \
	CALL(cuFuncSetAttribute, (CUfunction f, CUfunction_attribute attribute, int value))        \
	CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor,                                          \
	     (int *blocks, CUfunction f, int block_threads, size_t dynamic_shared))                \
	CALL(cuLaunchKernel,                                                                       \
	     (CUfunction f, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,   \
	      unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,          \
	      void **params, void **extra))                                                        \
	CALL(cuGraphCreate, (CUgraph * out, unsigned flags))                                       \
	CALL(cuGraphAddKernelNode_v2, (CUgraphNode * out, CUgraph graph, const CUgraphNode *after, \
				       size_t nafter, const CUDA_KERNEL_NODE_PARAMS *params))      \
	CALL(cuGraphAddMemcpyNode, (CUgraphNode * out, CUgraph graph, const CUgraphNode *after,    \
				    size_t nafter, const CUDA_MEMCPY3D *copy, CUcontext context))  \
	CALL(cuGraphInstantiateWithFlags, (CUgraphExec * out, CUgraph graph, uint64_t flags))      \
	CALL(cuGraphExecKernelNodeSetParams_v2,                                                    \
	     (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params))          \
	CALL(cuGraphLaunch, (CUgraphExec exec, CUstream stream))                                   \
	CALL(cuGraphExecDestroy, (CUgraphExec exec))                                               \
	CALL(cuGraphDestroy, (CUgraph graph))                                                      \
	CALL(cuStreamBeginCapture_v2, (CUstream stream, int mode))                                 \
	CALL(cuStreamEndCapture, (CUstream stream, CUgraph * out))

#define CUDA_DRIVER_CALLS(CALL)                                                                    \
	CUDA_DRIVER_DEVICE_CALLS(CALL)                                                             \
	CUDA_DRIVER_MEMORY_CALLS(CALL)                                                             \
	CUDA_DRIVER_MAPPING_CALLS(CALL)                                                            \
	CUDA_DRIVER_STREAM_CALLS(CALL)                                                             \
	CUDA_DRIVER_LAUNCH_CALLS(CALL)

#endif
