/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_error.h - what a driver's error code means for the worker.
 *
 * The only place that tells errors apart.  Pure; any thread. */
#ifndef BRAZE_CUDA_ERROR_H
#define BRAZE_CUDA_ERROR_H

#include <stdbool.h>

#include "cuda_api.h"

enum cuda_class {
	CUDA_FINE,
	CUDA_LATER,    /* not ready: no failure */
	CUDA_MEMORY,   /* out of memory: the run fails, nothing else */
	CUDA_CODE,     /* a module that this device or driver does not take */
	CUDA_CALL,     /* the call was wrong or is not supported: the run fails */
	CUDA_UNUSABLE, /* there is no device to work with */
	CUDA_DOUBT,    /* the context may be lost, or just this call: another one tells */
	CUDA_FATAL     /* the context is lost: the process must end */
};

enum cuda_class cuda_error_class(CUresult rc);
/* When a device cannot be opened: may it be there a little later?  Memory or the device
 * itself is another process's, a service of the machine is not up yet, the driver is being
 * reset. */
bool cuda_error_passes(CUresult rc);
/* Name, meaning and what braze does, as one line; returns buf. */
char *cuda_error_text(char *buf, size_t n, const struct cuda_api *api, CUresult rc);
/* The status of its class with "what: text"; for codes other than CUDA_SUCCESS. */
enum status cuda_error_set(struct err *err, const struct cuda_api *api, CUresult rc,
			   const char *what, ...) PRINTF_LIKE(4, 5);

#endif
