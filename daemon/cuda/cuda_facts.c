/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_facts.c - see cuda_facts.h. */
#include "cuda_facts.h"

#include "contract/cuda_abi.h"

static uint32_t attribute(const struct cuda_api *api, CUdevice device, CUdevice_attribute which)
{
	int value = 0;

	if (api->cuDeviceGetAttribute(&value, which, device) != CUDA_SUCCESS || value < 0)
		return 0;
	return (uint32_t)value;
}

void cuda_facts_limits(struct cuda_limits *out, const struct cuda_api *api, CUdevice device)
{
	*out = (struct cuda_limits){
		.threads =
			attribute(api, device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
		.registers = attribute(api, device,
				       CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
		.shared = attribute(api, device,
				    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
		.blocks =
			attribute(api, device, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)};
}

void cuda_facts_entry(struct cuda_facts *out, const struct cuda_api *api, CUfunction entry,
		      uint32_t units, const struct cuda_limits *limits)
{
	int registers = 0, shared = 0, threads = 0;

	if (api->cuFuncGetAttribute &&
	    (api->cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, entry) ||
	     api->cuFuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, entry) ||
	     api->cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, entry)))
		registers = shared = threads = 0;
	*out = (struct cuda_facts){.units = units,
				   .registers = (uint32_t)registers,
				   .shared = (uint32_t)shared,
				   .most_threads = threads > 0 ? (uint32_t)threads : CUDA_THREADS};
	cuda_geometry_resident(out, limits);
	for (unsigned i = 0; i < CUDA_BLOCK_SIZES; i++) {
		int blocks = 0;

		if (out->resident[i] && api->cuOccupancyMaxActiveBlocksPerMultiprocessor &&
		    api->cuOccupancyMaxActiveBlocksPerMultiprocessor(
			    &blocks, entry, (int)cuda_geometry_threads(i), 0) == CUDA_SUCCESS)
			out->resident[i] = (uint16_t)blocks;
	}
}
