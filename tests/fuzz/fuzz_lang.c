/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel's text of any bytes, and then a short run of what it says.
 *
 * In: the text.  A program that was accepted is run on small arrays, which the sanitizers watch
 * from all sides, until it ends or has gone on for a while. */
#include "fuzz.h"
#include "lang/lang.h"

#define EXTENT 3

static int enough(void *looks)
{
	return ++*(int *)looks > 2;
}

static void run(const struct lang_kernel *k)
{
	const struct lang_program *p = lang_program_of(k);
	struct lang_array array[LANG_PARAMS] = {{0}};
	union lang_reg scalar[LANG_PARAMS], result[LANG_PARAMS];
	void *memory[LANG_PARAMS];
	unsigned n = 0;
	struct err err = {0};
	int looks = 0;

	memset(scalar, 1, sizeof scalar);
	for (unsigned i = 0; i < p->nparam; i++) {
		int64_t bytes = dtype_row(p->param[i].type)->bytes;

		if (!p->param[i].rank)
			continue;
		/* Not more than the last axes hold, so that eight of them are small, too. */
		for (int a = p->param[i].rank; a-- > 0;
		     bytes *= a + 2 < p->param[i].rank ? 1 : EXTENT) {
			array[n].shape.dim[a] = a + 2 < p->param[i].rank ? 1 : EXTENT;
			array[n].stride[a] = bytes;
		}
		array[n].shape.ndim = p->param[i].rank;
		memory[n] = calloc(1, (size_t)bytes);
		array[n].at = memory[n];
		n++;
	}
	enum status st = lang_run(k, array, scalar, result, enough, &looks, &err);

	FUZZ_CHECK(st == OK || st == E_INDEX || st == E_INVALID || st == E_CANCELLED);
	FUZZ_CHECK(st == err.code);
	while (n)
		free(memory[--n]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct tier0_isa none;
	struct lang_program *program = NULL;
	struct lang_kernel *k = NULL;
	struct lang_tree *tree = NULL;
	struct err err = {0};
	enum status st = lang_parse(&tree, (const char *)data, size, &err);

	if (!st)
		st = lang_check(&program, tree, &err);
	free(tree);
	if (!st)
		st = lang_link(&k, program, tier0_table(isa_best()), &none, &err);
	FUZZ_CHECK(st == err.code && (!st || *err.text));
	if (!st) {
		char *text = lang_print(lang_program_of(k));

		FUZZ_CHECK(text && *text);
		free(text);
		run(k);
	}
	lang_unlink(k);
	return 0;
}
