/* SPDX-License-Identifier: Apache-2.0 */
/* fft.h - the stand-in for cuFFT: libcufft.so.12 over the stand-in driver.
 *
 * In: the calls that the CUDA worker makes.  Out: transforms computed in the stream's order on the
 * stand-in's device memory, in double precision, or the status that cuFFT would give.  It is
 * stricter than cuFFT: what braze promises (a work area and a stream of its own for each call, no
 * call in place, a plan that nothing uses when it goes) is asked for, too.  Transforms to real
 * numbers spoil what they read.
 *
 * fft_plan.c has the plans, fft_exec.c the transforms. */
#ifndef STANDIN_FFT_H
#define STANDIN_FFT_H

#include <stdatomic.h>

#include "cu_private.h"

typedef enum {
	CUFFT_SUCCESS = 0,
	CUFFT_INVALID_PLAN = 1,
	CUFFT_ALLOC_FAILED = 2,
	CUFFT_INVALID_TYPE = 3,
	CUFFT_INVALID_VALUE = 4,
	CUFFT_INTERNAL_ERROR = 5,
	CUFFT_EXEC_FAILED = 6,
	CUFFT_SETUP_FAILED = 7,
	CUFFT_INVALID_SIZE = 8,
	CUFFT_NO_WORKSPACE = 13,
	CUFFT_NOT_IMPLEMENTED = 14
} cufftResult;

typedef enum {
	CUFFT_C2C = 0x29,
	CUFFT_R2C = 0x2a,
	CUFFT_C2R = 0x2c,
	CUFFT_Z2Z = 0x69,
	CUFFT_D2Z = 0x6a,
	CUFFT_Z2D = 0x6c
} cufftType;

enum { CUFFT_FORWARD = -1, CUFFT_INVERSE = 1 };

typedef int cufftHandle;

/* X(name, kind) */
#define FFT_BOTH_WAYS(X)                                                                           \
	X(cufftExecC2C, CUFFT_C2C)                                                                 \
	X(cufftExecZ2Z, CUFFT_Z2Z)
#define FFT_ONE_WAY(X)                                                                             \
	X(cufftExecR2C, CUFFT_R2C)                                                                 \
	X(cufftExecD2Z, CUFFT_D2Z)                                                                 \
	X(cufftExecC2R, CUFFT_C2R)                                                                 \
	X(cufftExecZ2D, CUFFT_Z2D)

#define FFT_MAKE_ARGUMENTS                                                                         \
	cufftHandle plan, int rank, long long *n, long long *in_embed, long long in_stride,        \
		long long in_distance, long long *out_embed, long long out_stride,                 \
		long long out_distance, cufftType type, long long batch, size_t *work

/* Everything that is exported. */
#define FFT_CALLS(X)                                                                               \
	X(cufftCreate, (cufftHandle * out))                                                        \
	X(cufftDestroy, (cufftHandle plan))                                                        \
	X(cufftSetAutoAllocation, (cufftHandle plan, int allocate))                                \
	X(cufftSetWorkArea, (cufftHandle plan, void *area))                                        \
	X(cufftSetStream, (cufftHandle plan, CUstream stream))                                     \
	X(cufftMakePlanMany64, (FFT_MAKE_ARGUMENTS))                                               \
	X(cufftExecC2C, (cufftHandle plan, void *from, void *to, int direction))                   \
	X(cufftExecZ2Z, (cufftHandle plan, void *from, void *to, int direction))                   \
	X(cufftExecR2C, (cufftHandle plan, void *from, void *to))                                  \
	X(cufftExecD2Z, (cufftHandle plan, void *from, void *to))                                  \
	X(cufftExecC2R, (cufftHandle plan, void *from, void *to))                                  \
	X(cufftExecZ2D, (cufftHandle plan, void *from, void *to))
#define FFT_DECLARE(name, params) __attribute__((visibility("default"))) cufftResult name params;
FFT_CALLS(FFT_DECLARE)
#undef FFT_DECLARE

/* Elements of one side: transform b has element k at b * distance + k * stride. */
struct fft_side {
	bool real;
	size_t bytes; /* of an element */
	long long extent, stride, distance;
};

struct fft_plan {
	const struct cu_private *driver;
	CUcontext context;
	CUdeviceptr own; /* what a plan takes of the device; 0: it is not made */
	CUstream stream;
	CUdeviceptr area;
	size_t work;
	bool live, by_caller, stream_set, area_set;
	bool wide; /* double precision */
	cufftType type;
	long long n, batch;
	struct fft_side in, out;
	atomic_int pending; /* transforms in streams */
};

/* Begin a call on a plan: its status, injected or found. */
cufftResult fft_enter(struct fft_plan **out, const char *function, cufftHandle plan);
/* Say what is wrong and refuse the call. */
cufftResult fft_refuse(const struct fft_plan *p, const char *function, const char *what);
/* Bytes from the first element to behind the last. */
size_t fft_reach(const struct fft_plan *p, const struct fft_side *s);

#endif
