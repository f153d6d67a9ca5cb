/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_api.h - the CUDA driver, taken at run time.
 *
 * One struct of function pointers, named as the library exports them.  The library
 * stays loaded until the process ends: a driver's threads do not survive dlclose.
 * Read-only once open; any thread. */
#ifndef BRAZE_CUDA_API_H
#define BRAZE_CUDA_API_H

#include "cuda_driver.h"
#include "ops.h"

#define CUDA_API_TYPE(name, params) typedef CUresult cuda_type_##name params;
CUDA_DRIVER_CALLS(CUDA_API_TYPE)
#undef CUDA_API_TYPE

struct cuda_api {
	int version;	 /* as cuDriverGetVersion says, 12040 for 12.4; 0: it could not be asked */
	bool pools;	 /* all functions of stream-ordered pools are there */
	bool exports;	 /* all functions of memory for other processes are there */
	bool graphs;	 /* all functions of graphs are there */
	CUresult failed; /* why it could not be opened, as the driver says; 0: it did not say */
	char path[256];	 /* the file that was loaded */
#define CUDA_CALL(name, need) cuda_type_##name *name;
#include "cuda_api.def"
#undef CUDA_CALL
};

/* Load the library that BRAZE_LIBCUDA names, else the driver of the machine, and
 * initialise it.  E_DEVICE: none can be used; err tells why and what to do. */
enum status cuda_api_open(struct cuda_api *out, struct err *err) MUST_USE;

#endif
