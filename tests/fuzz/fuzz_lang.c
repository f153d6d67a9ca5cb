/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel's text of any bytes, and then short runs of what it says.
 *
 * In: the text.  A program that was accepted is run on small arrays, which the sanitizers watch
 * from all sides, until it ends or has gone on for a while: first of arrays that lie apart, then of
 * arrays that all begin in one memory, each an element after the one before; and both once more by
 * code that is made at once. */
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

/* Memory and results, or the words, as a number. */
static uint64_t mixed(uint64_t hash, const void *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ ((const unsigned char *)data)[i]) * 0x100000001b3u;
	return hash;
}

/* What it left, as a number; 0: it was stopped. */
static uint64_t run(const struct lang_kernel *k, bool together)
{
	const struct lang_program *p = lang_program_of(k);
	struct lang_array array[LANG_PARAMS] = {{0}};
	union lang_reg scalar[LANG_PARAMS], result[LANG_PARAMS];
	char *memory[LANG_PARAMS], *shared = calloc(1, SHARED);
	unsigned n = 0;
	struct err err = {0};
	uint64_t hash = 1;
	size_t sizes[LANG_PARAMS];
	int looks = 0;

	memset(scalar, 1, sizeof scalar);
	for (unsigned i = 0; i < p->nparam; i++) {
		if (!p->param[i].rank)
			continue;
		size_t bytes = layout(&array[n], &p->param[i]);

		sizes[n] = bytes;
		memory[n] = together ? NULL : calloc(1, bytes);
		array[n].at = together ? shared + SHARED - bytes - 16 * (size_t)n : memory[n];
		n++;
	}
	enum status st = lang_run(k, array, scalar, result, enough, &looks, &err);

	FUZZ_CHECK(st == OK || st == E_INDEX || st == E_INVALID || st == E_CANCELLED ||
		   st == E_SHAPE);
	FUZZ_CHECK(st == err.code);
	for (unsigned i = 0; !st && i < p->nresult; i++)
		hash = mixed(hash, &result[i], dtype_row(p->param[p->nparam + i].type)->bytes);
	hash = mixed(mixed(hash, shared, SHARED), err.text, strlen(err.text));
	while (n-- > 0) {
		hash = together ? hash : mixed(hash, memory[n], sizes[n]);
		free(memory[n]);
	}
	free(shared);
	return st == E_CANCELLED ? 0 : hash;
}

/* Numbers that are none may differ in their bits where two of them meet. */
static bool has_floats(const struct lang_program *p)
{
	for (uint32_t k = 0; k < p->ncode; k++)
		if (dtype_row(p->code[k].type)->cls >= CLASS_FLOAT ||
		    dtype_row(p->code[k].to)->cls >= CLASS_FLOAT)
			return true;
	return false;
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
		uint64_t apart, together;
		char *text = lang_print(lang_program_of(k));

		FUZZ_CHECK(text && *text);
		free(text);
		apart = run(k, false);
		together = run(k, true);
		/* The same by code that is made at once. */
		lang_quicken(k);
		FUZZ_CHECK(run(k, false) == apart || has_floats(lang_program_of(k)));
		FUZZ_CHECK(run(k, true) == together || has_floats(lang_program_of(k)));
	}
	lang_unlink(k);
	return 0;
}
