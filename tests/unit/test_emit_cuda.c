/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_cuda*.c: NVRTC takes the text for every operation and shape of nest. */
#include "cuda_fixture.h"

#include "contract/cuda_abi.h"

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

/* A spec that says which entry it is for has that one and the general one. */
Test(emit_cuda, text_has_the_entries_that_the_spec_asks_for)
{
	static const unsigned asked[] = {ENTRY_bz_map_narrow, ENTRY_bz_map_vector,
					 ENTRY_bz_map_row_narrow, ENTRY_bz_map_tile,
					 ENTRY_bz_map_tile_narrow};
	static struct nest n;
	struct err err = {OK, ""};

	for (unsigned i = 0; i <= sizeof asked / sizeof asked[0]; i++) {
		bool all = i == sizeof asked / sizeof asked[0];
		char *source = NULL, line[64];
		unsigned v;

		memset(&n, 0, sizeof n);
		n.npar = 2;
		n.width = 8;
		v = nest_load(&n, DT_FLOAT32, 2, 1, 3);
		nest_store(&n, v, 2, 1, 3);
		nest_finish(&n, 1);
		n.access[0].walk = asked[i % 5] >= ENTRY_bz_map_tile ? WALK_STRIDED : WALK_UNIT;
		n.way = (uint16_t)(all ? 0 : 1 + asked[i]);
		cr_assert_eq(emit_cuda_source(&source, &n, &err), OK, "%s", err.text);
		for (unsigned e = ENTRY_bz_map; e <= ENTRY_bz_map_tile_narrow; e++) {
			bool has =
				e == ENTRY_bz_map || (all ? e < ENTRY_bz_map_tile : e == asked[i]);

			snprintf(line, sizeof line, "\n%s(const bz_params A)", cuda_entry_name(e));
			cr_expect_eq(strstr(source, line) != NULL, has, "%s, %u", line, i);
		}
		free(source);
	}
}

/* Beside what it asks for a reduction has a warp's entry and the one that combines pieces. */
Test(emit_cuda, text_of_a_reduction_has_the_entry_that_the_spec_asks_for)
{
	static struct nest n;
	struct err err = {OK, ""};

	for (unsigned way = ENTRY_bz_reduce_warp; way < ENTRY_bz_finish; way++) {
		char *source = NULL, line[64];
		unsigned v;

		memset(&n, 0, sizeof n);
		n.npar = 2;
		n.nred = 1;
		n.width = 8;
		v = nest_load(&n, DT_FLOAT32, 3, 1, 7);
		v = nest_put(&n, NI_REDUCE, DT_FLOAT32, DT_FLOAT32, v, 0, OP_SUM);
		n.post = n.ninstr;
		nest_store(&n, v, 2, 1, 3);
		nest_finish(&n, 2);
		n.way = (uint16_t)(1 + way);
		cr_assert_eq(emit_cuda_source(&source, &n, &err), OK, "%s", err.text);
		for (unsigned e = ENTRY_bz_reduce_warp; e <= ENTRY_bz_finish; e++) {
			bool has = e == ENTRY_bz_reduce_warp || e == ENTRY_bz_finish || e == way;

			snprintf(line, sizeof line, "\n%s(const bz_params A)", cuda_entry_name(e));
			cr_expect_eq(strstr(source, line) != NULL, has, "%s, %u", line, way);
		}
		free(source);
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
