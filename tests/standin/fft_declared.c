/* SPDX-License-Identifier: Apache-2.0 */
/* fft_declared.c - compiled where a CUDA toolkit is: what fft.h and the worker's cuda_fft.c believe
 * of cuFFT, against what its header declares.  It has no code. */
#include <cufft.h>

#define SAME(a, b) _Static_assert((int)(a) == (b), #a)
SAME(CUFFT_SUCCESS, 0);
SAME(CUFFT_INVALID_PLAN, 1);
SAME(CUFFT_ALLOC_FAILED, 2);
SAME(CUFFT_INVALID_TYPE, 3);
SAME(CUFFT_INVALID_VALUE, 4);
SAME(CUFFT_INTERNAL_ERROR, 5);
SAME(CUFFT_EXEC_FAILED, 6);
SAME(CUFFT_SETUP_FAILED, 7);
SAME(CUFFT_INVALID_SIZE, 8);
SAME(CUFFT_UNALIGNED_DATA, 9);
SAME(CUFFT_INVALID_DEVICE, 11);
SAME(CUFFT_NO_WORKSPACE, 13);
SAME(CUFFT_NOT_IMPLEMENTED, 14);
SAME(CUFFT_NOT_SUPPORTED, 16);
SAME(CUFFT_FORWARD, -1);
SAME(CUFFT_INVERSE, 1);
SAME(CUFFT_C2C, 0x29);
SAME(CUFFT_R2C, 0x2a);
SAME(CUFFT_C2R, 0x2c);
SAME(CUFFT_Z2Z, 0x69);
SAME(CUFFT_D2Z, 0x6a);
SAME(CUFFT_Z2D, 0x6c);

/* Pointers to device memory are passed as void * here; the rest must be the same. */
#define DECLARED(f, ...)                                                                           \
	_Static_assert(__builtin_types_compatible_p(__typeof__(f), cufftResult(__VA_ARGS__)), #f)
DECLARED(cufftCreate, cufftHandle *);
DECLARED(cufftDestroy, cufftHandle);
DECLARED(cufftSetAutoAllocation, cufftHandle, int);
DECLARED(cufftSetWorkArea, cufftHandle, void *);
DECLARED(cufftSetStream, cufftHandle, cudaStream_t);
DECLARED(cufftMakePlanMany64, cufftHandle, int, long long *, long long *, long long, long long,
	 long long *, long long, long long, cufftType, long long, size_t *);
DECLARED(cufftExecC2C, cufftHandle, cufftComplex *, cufftComplex *, int);
DECLARED(cufftExecZ2Z, cufftHandle, cufftDoubleComplex *, cufftDoubleComplex *, int);
DECLARED(cufftExecR2C, cufftHandle, cufftReal *, cufftComplex *);
DECLARED(cufftExecD2Z, cufftHandle, cufftDoubleReal *, cufftDoubleComplex *);
DECLARED(cufftExecC2R, cufftHandle, cufftComplex *, cufftReal *);
DECLARED(cufftExecZ2D, cufftHandle, cufftDoubleComplex *, cufftDoubleReal *);
_Static_assert(sizeof(cufftHandle) == sizeof(int) && sizeof(cufftResult) == sizeof(int) &&
		       sizeof(cufftType) == sizeof(int),
	       "handles and enums are ints");
