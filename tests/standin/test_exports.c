/* SPDX-License-Identifier: Apache-2.0 */
/* What libcuda.so.1 exports: the names of a real driver, all that we declare. */
#include "harness.h"
#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME(name, params) #name,
static const char *const declared[] = {CUDA_DRIVER_CALLS(NAME)};
#define COUNT (sizeof(declared) / sizeof(declared[0]))

Test(exports, every_declared_function_is_found)
{
	void *library = dlopen(STANDIN_LIBCUDA, RTLD_NOW | RTLD_LOCAL);
	CUresult (*look_up)(const char *, void **, int, uint64_t, int *);
	void *found;

	cr_assert(library, "%s", dlerror());
	*(void **)&look_up = dlsym(library, "cuGetProcAddress_v2");
	for (size_t k = 0; k < COUNT; k++) {
		cr_expect(dlsym(library, declared[k]), "%s is not exported", declared[k]);
		cr_expect_eq(look_up(declared[k], &found, 13000, 0, NULL), CUDA_SUCCESS, "%s",
			     declared[k]);
	}
	cr_expect_eq(look_up("cuMemAlloc", &found, 13000, 0, NULL), CUDA_SUCCESS);
	cr_expect_eq(found, dlsym(library, "cuMemAlloc_v2"));
	cr_expect_eq(look_up("cuNoSuch", &found, 13000, 0, NULL), CUDA_ERROR_NOT_FOUND);
}

/* A name that the toolkit's own library for linking lacks would be a mistake. */
Test(exports, names_are_those_of_a_real_driver)
{
	void *stub = dlopen("/usr/local/cuda/lib64/stubs/libcuda.so", RTLD_LAZY | RTLD_LOCAL);

	if (!stub)
		cr_skip_test("no toolkit");
	for (size_t k = 0; k < COUNT; k++)
		cr_expect(dlsym(stub, declared[k]), "%s is not a driver's", declared[k]);
}

Test(exports, nothing_else)
{
	char line[512], name[256], type;
	FILE *f = popen("nm -D --defined-only " STANDIN_LIBCUDA " 2>/dev/null", "r");
	size_t seen = 0;

	cr_assert(f);
	while (fgets(line, sizeof(line), f)) {
		bool known = false;

		if (sscanf(line, "%*s %c %255s", &type, name) != 2 || name[0] == '_')
			continue;
		for (size_t k = 0; k < COUNT; k++)
			known |= !strcmp(name, declared[k]);
		cr_expect(known, "%s is exported", name);
		seen++;
	}
	if (pclose(f))
		cr_skip_test("no nm");
	cr_expect_eq(seen, COUNT);
}

Test(exports, missing_functions_are_not_found)
{
	options("missing=cuGraphCreate:cuMemPoolCreate");
	void *library = dlopen(STANDIN_LIBCUDA, RTLD_NOW | RTLD_LOCAL), *found = library;
	CUresult (*look_up)(const char *, void **, int, uint64_t, int *);
	int status = -1;

	cr_assert(library, "%s", dlerror());
	cr_expect_null(dlsym(library, "cuGraphCreate"));
	cr_expect_null(dlsym(library, "cuMemPoolCreate"));
	cr_expect_not_null(dlsym(library, "cuGraphLaunch"));
	*(void **)&look_up = dlsym(library, "cuGetProcAddress_v2");
	cr_expect_eq(look_up("cuGraphCreate", &found, 13000, 0, &status), CUDA_ERROR_NOT_FOUND);
	cr_expect_null(found);
	cr_expect_eq(status, CU_GET_PROC_ADDRESS_NOT_FOUND);
}

Test(exports, private_tables_are_refused)
{
	const void *table;
	CUuuid id = {{0}};

	cr_expect_eq(cuGetExportTable(&table, &id), CUDA_ERROR_NOT_FOUND);
}
