/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel's text of any bytes, and then short runs of what it says.
 *
 * In: the text.  A program that was accepted is run on small arrays, which the sanitizers watch
 * from all sides, until it ends or has gone on for a while: first of arrays that lie apart, then of
 * arrays that all begin in one memory, each an element after the one before. */
#include "fuzz.h"
#include "lang/lang.h"

#define EXTENT 3
#define SHARED (16 * (LANG_PARAMS + EXTENT * EXTENT))

static int enough(void *looks)
{
	return ++*(int *)looks > 2;
}

/* Extents and strides; not more than the last axes hold, so that eight of them are small, too.  Its
 * bytes. */
static size_t layout(struct lang_array *out, const struct lang_param *p)
{
	int64_t bytes = dtype_row(p->type)->bytes;

	out->shape.ndim = p->rank;
	for (int a = p->rank; a-- > 0; bytes *= out->shape.dim[a]) {
		out->shape.dim[a] = a + 2 < p->rank ? 1 : EXTENT;
		out->stride[a] = bytes;
	}
	return (size_t)bytes;
}

static void run(const struct lang_kernel *k, bool together)
{
	const struct lang_program *p = lang_program_of(k);
	struct lang_array array[LANG_PARAMS] = {{0}};
	union lang_reg scalar[LANG_PARAMS], result[LANG_PARAMS];
	char *memory[LANG_PARAMS], *shared = calloc(1, SHARED);
	unsigned n = 0;
	struct err err = {0};
	int looks = 0;

	memset(scalar, 1, sizeof scalar);
	for (unsigned i = 0; i < p->nparam; i++) {
		if (!p->param[i].rank)
			continue;
		size_t bytes = layout(&array[n], &p->param[i]);

		memory[n] = together ? NULL : calloc(1, bytes);
		array[n].at = together ? shared + SHARED - bytes - 16 * (size_t)n : memory[n];
		n++;
	}
	enum status st = lang_run(k, array, scalar, result, enough, &looks, &err);

	FUZZ_CHECK(st == OK || st == E_INDEX || st == E_INVALID || st == E_CANCELLED ||
		   st == E_SHAPE);
	FUZZ_CHECK(st == err.code);
	while (n)
		free(memory[--n]);
	free(shared);
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
		run(k, false);
		run(k, true);
	}
	lang_unlink(k);
	return 0;
}
