/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/driver.h - the CUDA driver in this process, for memory that it shares with a worker.
 *
 * Loaded at the first use, and never let go of: its threads do not survive that. */
#ifndef BRAZE_DRIVER_H
#define BRAZE_DRIVER_H

#include "cuda_driver.h"
#include "ops.h"

/* Memory that came by a descriptor, where this process sees it. */
struct driver_memory {
	int device;
	uint64_t bytes;
	CUdeviceptr address;
	CUmemGenericAllocationHandle handle;
};

/* This process's number of the device that the driver's tools call so; -1: it has none such, or no
 * driver that can be used. */
int driver_device(const char *uuid);
/* The one that an address belongs to; -1: none. */
int driver_owner(CUdeviceptr address);
/* Map what the descriptor, which stays the caller's, stands for.  write: else it may be read only,
 * where the device can see to that. */
enum status driver_map(struct driver_memory *out, int device, int fd, uint64_t bytes, bool write,
		       struct err *err) MUST_USE;
/* When the device is done with what it was asked for. */
void driver_unmap(const struct driver_memory *m);
/* Copies that are done when the call returns. */
enum status driver_copy(CUdeviceptr to, CUdeviceptr from, uint64_t bytes, int device,
			uint64_t stream, struct err *err) MUST_USE;
enum status driver_fetch(void *to, CUdeviceptr from, uint64_t bytes, int device, uint64_t stream,
			 struct err *err) MUST_USE;

#endif
