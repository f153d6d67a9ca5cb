/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that pass for a driver and are none, for test_cuda_api.c: every call
 * answers as a toolkit's stub library does; without STUB_WHOLE there is one only. */
#define STUB(name)                                                                                 \
	__attribute__((visibility("default"))) int name(void);                                     \
	int name(void)                                                                             \
	{                                                                                          \
		return 34;                                                                         \
	}

#ifdef STUB_WHOLE
#define CUDA_CALL(name, need) STUB(name)
#include "cuda/cuda_api.def"
#else
STUB(cuInit)
#endif
