/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_library.c - see cuda_library.h. */
#include "cuda_library.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "base/cuda_find.h"
#include "base/log.h"

static bool resolve(void *library, const struct cuda_library *x, const struct cuda_symbol *symbol,
		    size_t n)
{
	for (size_t i = 0; i < n; i++) {
		*(void **)symbol[i].to = dlsym(library, symbol[i].name);
		if (!*(void **)symbol[i].to) {
			log_warn(x->topic, "%s lacks %s and is not used", x->called,
				 symbol[i].name);
			return false;
		}
	}
	return true;
}

void *cuda_library_load(const struct cuda_library *wanted, const struct cuda_symbol *symbol,
			size_t n)
{
	const char *named = getenv(wanted->variable);
	struct cuda_find found;

	for (unsigned i = 0; wanted->names[i]; i++) {
		const char *const one[] = {wanted->names[i], NULL};
		void *library = NULL;

		if ((named && (!*named || i)) || !cuda_find(&found, wanted->variable, one))
			continue; /* it is not wanted, or not here */
		library = dlopen(found.path, (wanted->whole ? RTLD_NOW : RTLD_LAZY) | RTLD_LOCAL);
		if (!library)
			log_warn(wanted->topic, "%s does not load: %s", wanted->called, dlerror());
		else if (resolve(library, wanted, symbol, n))
			return library;
	}
	return NULL;
}
