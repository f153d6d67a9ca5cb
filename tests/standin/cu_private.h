/* SPDX-License-Identifier: Apache-2.0 */
/* cu_private.h - what the stand-in's libcublas.so.13 needs of its libcuda.so.1 beyond
 * the Driver API: a table that cuGetExportTable gives for CU_PRIVATE_ID, as a real
 * driver gives NVIDIA's libraries tables of its own.
 *
 * Calls come from the threads of whoever calls the library, but `host` and `fault`,
 * which belong to an operation that a stream executes. */
#ifndef STANDIN_CU_PRIVATE_H
#define STANDIN_CU_PRIVATE_H

#include "../../proto/cuda_driver.h"
#include <stdbool.h>
#include <stddef.h>

#define CU_PRIVATE_ID                                                                              \
	{                                                                                          \
		{                                                                                  \
			'b', 'r', 'a', 'z', 'e', '-', 's', 't', 'a', 'n', 'd', '-', 'i', 'n', 0, 1 \
		}                                                                                  \
	}

struct cu_private {
	/* The context that is current, if it works; NULL: there is none. */
	CUcontext (*context)(void);
	/* Begin a call: the code that BRAZE_STANDIN orders for it, or 0. */
	int (*enter)(const char *function);
	bool (*stream_ok)(CUcontext c, CUstream stream);
	/* Are these bytes one live allocation's?  For memory that is there already. */
	bool (*memory_ok)(CUdeviceptr address, size_t bytes);
	/* Have the stream call `call` with a copy of the bytes at `data`. */
	void (*push)(CUcontext c, CUstream stream, void (*call)(void *data), const void *data,
		     size_t bytes);
	/* In such a call, which reads or writes them: where bytes of the device's memory lie;
	 * NULL: not in one live allocation. */
	char *(*host)(CUdeviceptr address, size_t bytes, bool write);
	/* In such a call: break the context with `code`. */
	void (*fault)(CUcontext c, int code, const char *what, CUdeviceptr address, size_t bytes);
	void (*log)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
};

#endif
