/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of a text in all ways: the machine, code that is made at once, and a compiler's. */
#ifndef BRAZE_TEST_LANG_CODE_H
#define BRAZE_TEST_LANG_CODE_H

#include <criterion/criterion.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compile/compile.h"
#include "emit/emit_lang.h"
#include "lang/lang.h"

static inline struct lang_kernel *machine(const char *text)
{
	static const struct tier0_isa none;
	struct lang_program *program = NULL;
	struct lang_kernel *k = NULL;
	struct lang_tree *tree = NULL;
	struct err err = {0};

	cr_assert(!lang_parse(&tree, text, strlen(text), &err), "%s\n%s", err.text, text);
	cr_assert(!lang_check(&program, tree, &err), "%s\n%s", err.text, text);
	free(tree);
	cr_assert(!lang_link(&k, program, tier0_table(isa_best()), &none, &err), "%s", err.text);
	return k;
}

/* By code that is made at once. */
static inline struct lang_kernel *quickened(const char *text)
{
	struct lang_kernel *k = machine(text);

	lang_quicken(k);
	return k;
}

static inline void *compile(const char *text)
{
	char folder[] = "/tmp/braze-test-XXXXXX", log[COMPILE_LOG_BYTES], path[64];
	char compiler[COMPILE_PATH_BYTES];
	struct compile_job job = {
		.compiler = compiler, .isa = isa_best(), .timeout_ms = 60000, .watch = -1};
	struct err err = {OK, ""};
	char *source = NULL;
	int in = -1, out = -1;
	uint64_t bytes = 0;
	void *object;

	cr_assert(!emit_lang_source(&source, text, strlen(text), &err), "%s\n%s", err.text, text);
	job.folder = mkdtemp(folder);
	cr_assert(compile_target_find(compiler, getenv("BRAZE_TEST_CC")));
	cr_assert(!compile_wire_memfd(&in, "s", source, strlen(source), &err));
	cr_assert(!compile_run(&out, &bytes, &job, in, log, &err), "%s\n%s", log, text);
	close(in);
	rmdir(folder);
	snprintf(path, sizeof path, "/proc/self/fd/%d", out);
	object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	cr_assert(object, "%s\n%s", dlerror(), source);
	free(source);
	/* Not closed: dlopen knows objects by their file. */
	return object;
}

static inline void attach(struct lang_kernel *k, void *object)
{
	lang_attach(k, (lang_code_fn *)dlsym(object, "bz_unit"),
		    (lang_code_fn *)dlsym(object, "bz_any"));
}

#endif
