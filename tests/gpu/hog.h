/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/hog.h - most of the device's memory, taken by this process through the driver, so
 * that the daemon finds less than the device has.  One thread. */
#ifndef GPU_HOG_H
#define GPU_HOG_H

#include "cuda/cuda_api.h"

#define HOG_PIECES 4096

struct hog {
	struct cuda_api api;
	CUdevice device;
	uint32_t n;
	CUdeviceptr piece[HOG_PIECES];
};

/* Take all but about `leave` bytes. */
enum status hog_take(struct hog *h, uint64_t leave, struct err *err) MUST_USE;
/* Also after a hog_take that failed. */
void hog_give_back(struct hog *h);

#endif
