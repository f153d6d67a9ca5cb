/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_fft.h - cuFFT, loaded when the worker starts: what it computes is offered to clients
 * only where it is there.
 *
 * A plan is of one kind, length, batch and layout.  It belongs to a lane, which keeps those it used
 * last, and has no work area of its own: each step takes one, in the order of the lane's stream.
 * Issuer, but for opening. */
#ifndef BRAZE_CUDA_FFT_H
#define BRAZE_CUDA_FFT_H

#include "cuda_worker.h"

enum cuda_fft_kind {
	FFT_C2C = 0x29,
	FFT_R2C = 0x2a,
	FFT_C2R = 0x2c,
	FFT_Z2Z = 0x69,
	FFT_D2Z = 0x6a,
	FFT_Z2D = 0x6c
};

/* `batch` transforms; elements: stride along the axis, distance between transforms, and the axis'
 * extent, read and written. */
struct cuda_fft_shape {
	int64_t kind; /* enum cuda_fft_kind; no gaps, so that shapes are compared as bytes */
	int64_t n, batch;
	int64_t extent[2], stride[2], distance[2];
};

struct cuda_fft_plan;

/* Is the library there?  Loads it. */
bool cuda_fft_open(struct cuda *c);
void cuda_fft_finish(struct cuda *c);
/* The lane's plan of this shape, which stays until the next is asked for; *work: bytes of work
 * area. */
enum status cuda_fft_plan(struct cuda_fft_plan **out, uint64_t *work, struct cuda_lane *l,
			  const struct cuda_fft_shape *shape, struct err *err) MUST_USE;
/* On the lane's stream.  A transform to real numbers spoils what it reads. */
enum status cuda_fft_run(struct cuda_lane *l, struct cuda_fft_plan *p, CUdeviceptr work,
			 CUdeviceptr from, CUdeviceptr to, bool inverse, struct err *err) MUST_USE;
/* Of a lane on whose stream nothing is left. */
void cuda_fft_close(struct cuda_lane *l);

#endif
