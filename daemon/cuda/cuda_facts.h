/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_facts.h - what the driver says of a multiprocessor, and of an entry on it: what
 * cuda_geometry.h makes launches from.
 *
 * Any thread that has the context.  What a driver does not tell is 0, or calculated. */
#ifndef BRAZE_CUDA_FACTS_H
#define BRAZE_CUDA_FACTS_H

#include "cuda_api.h"
#include "cuda_geometry.h"

void cuda_facts_limits(struct cuda_limits *out, const struct cuda_api *api, CUdevice device);
/* Of an entry of a loaded module, on a GPU of so many multiprocessors. */
void cuda_facts_entry(struct cuda_facts *out, const struct cuda_api *api, CUfunction entry,
		      uint32_t units, const struct cuda_limits *limits);

#endif
