/* SPDX-License-Identifier: Apache-2.0 */
/* cu_found.h - how a stand-in for a library of NVIDIA's finds the driver that its process has
 * loaded. */
#ifndef STANDIN_CU_FOUND_H
#define STANDIN_CU_FOUND_H

#include <dlfcn.h>

#include "cu_private.h"

typedef CUresult table_fn(const void **out, const CUuuid *id);
typedef CUresult alloc_fn(CUdeviceptr *out, size_t bytes);
typedef CUresult free_fn(CUdeviceptr address);

/* One of its functions; NULL: no driver is loaded. */
static inline void *driver_function(const char *name)
{
	void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD), *found = NULL;

	if (library) {
		found = dlsym(library, name);
		dlclose(library);
	}
	return found;
}

/* What it has for such libraries; NULL: it is no stand-in. */
static inline const struct cu_private *driver_table(void)
{
	static const CUuuid id = CU_PRIVATE_ID;
	const void *table = NULL;
	table_fn *get = NULL;

	*(void **)&get = driver_function("cuGetExportTable");
	return get && get(&table, &id) == CUDA_SUCCESS ? table : NULL;
}

#endif
