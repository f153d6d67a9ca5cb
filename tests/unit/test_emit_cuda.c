/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_cuda*.c: NVRTC takes the text for every operation and shape of nest. */
#include "cuda_fixture.h"

TestSuite(emit_cuda, .timeout = 600);

static void compile(const struct nest *n, unsigned arch, const char *name)
{
	struct compile_nvrtc job = {.arch = arch};
	struct err err = {OK, ""};
	char *source = NULL, *code;

	cr_assert_eq(emit_cuda_source(&source, n, &err), OK, "%s: %s", name, err.text);
	code = cuda_fixture_compile(source, &job, name);
	free(code);
	free(source);
}

/* Every row of proto/ops.def has its function for every type that its rule lets in. */
Test(emit_cuda, every_operation_has_a_function_for_each_of_its_types)
{
	static struct nest n;
	char name[64];

	if (!cuda_fixture_nvrtc())
		return;
	for (unsigned d = 0; d < DTYPE_END; d++) {
		for (unsigned op = 0; dtype_native(d) && op < OP_END;) {
			snprintf(name, sizeof name, "operations from %u on %s", op,
				 dtype_row(d)->name);
			if (ops_nest(&n, &op, d, 0, 4, 64))
				compile(&n, 999, name);
		}
	}
}

Test(emit_cuda, every_type_has_its_casts)
{
	static struct nest n;

	if (!cuda_fixture_nvrtc())
		return;
	for (unsigned d = 0; d < DTYPE_END; d++) {
		if (!dtype_native(d))
			continue;
		casts_nest(&n, d, 64);
		compile(&n, 999, dtype_row(d)->name);
	}
}
