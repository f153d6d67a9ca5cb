/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/near_load.c - libbraze-near-<level>.so, once per process.
 *
 * It is a file of its own for each instruction set so that a program maps only the
 * loops that its machine runs best: when it connects, or before that (braze_prepare). */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "beside.h"
#include "loops/isa.h"
#include "near.h"
#include "present.h"

typedef const struct loops_library *loops_fn(void);

static const struct loops_library *loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const struct loops_library *load(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	loops_fn *fn = NULL;

	if (!handle)
		return NULL;
	*(void **)&fn = dlsym(handle, "braze_near_loops");
	const struct loops_library *library = fn ? fn() : NULL;
	if (library && library->build == loops_build()) {
		present_object(library);
		return library;
	}
	dlclose(handle);
	return NULL;
}

/* Beside the library, or the program that has it inside; else in the library folder of
 * the tree that it is installed or built in. */
static void find(void)
{
	static const char *const steps[] = {"/",
					    "/../lib/",
					    "/../../lib/",
					    "/../../../",
					    "/../" BRAZE_LIBDIR "/",
					    "/../../../../" BRAZE_LIBDIR "/",
					    "/../../../../../" BRAZE_LIBDIR "/"};
	static const char *const level[ISA_END] = {"v2", "v3", "v4"};
	enum isa_level best = isa_best();
	char folder[PATH_BYTES], path[PATH_BYTES];

	if (best == ISA_NONE || !beside_folder(folder))
		return;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && !loaded; i++)
		if (snprintf(path, sizeof(path), "%s%slibbraze-near-%s.so", folder, steps[i],
			     level[best]) < (int)sizeof(path))
			loaded = load(path);
}

const struct loops_library *near_library(void)
{
	pthread_once(&once, find);
	return loaded;
}
