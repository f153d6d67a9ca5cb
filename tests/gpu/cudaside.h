/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/cudaside.h - the driver in this process, for measurements: a context, a stream,
 * kernels from text, times by events and by the clock.  One thread.
 *
 * Calls that fail are noted once and make every later measurement fail, so that a
 * benchmark need not check each. */
#ifndef GPU_CUDASIDE_H
#define GPU_CUDASIDE_H

#include "cuda/cuda_api.h"

#define CUDASIDE_ROUNDS_MAX 64

struct cudaside {
	struct cuda_api api;
	CUdevice device;
	CUcontext context;
	CUstream stream;
	CUevent begin, end;
	unsigned arch, units;
	double open_s, context_s; /* loading with cuInit; the primary context */
	bool failed;
};

enum status cudaside_open(struct cudaside *c, const char *device, struct err *err) MUST_USE;
void cudaside_close(struct cudaside *c);
/* true: rc is no error. */
bool cudaside_good(struct cudaside *c, CUresult rc, const char *what);
/* A function of a module made from text; *module is to be unloaded by its caller. */
CUfunction cudaside_function(struct cudaside *c, CUmodule *module, const char *source,
			     const char *name);
/* Seconds on the device between two calls around work on the stream. */
void cudaside_start(struct cudaside *c);
double cudaside_stop(struct cudaside *c);
CUdeviceptr cudaside_alloc(struct cudaside *c, uint64_t bytes); /* zeros; 0: none */
CUmemoryPool cudaside_pool(struct cudaside *c);			/* NULL: none */
/* Median of n, which it sorts. */
double cudaside_median(double *v, unsigned n);
/* Bytes a second of copies from device to device, counting reading and writing. */
double cudaside_copy_rate(struct cudaside *c, uint64_t bytes, unsigned rounds);

#endif
