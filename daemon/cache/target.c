/* SPDX-License-Identifier: Apache-2.0 */
/* cache/target.c - see target.h. */
#define _GNU_SOURCE
#include "target.h"

#include <glob.h>
#include <gnu/libc-version.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cuda_find.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/textbuf.h"
#include "base/xalloc.h"
#include "contract/backend.h"
#include "emit/emit_c.h"
#include "emit/emit_lang.h"

static const char *const nvrtc_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
					  "libnvrtc.so", NULL};

static unsigned long long text_hash(const char *text)
{
	return (unsigned long long)hash_bytes(text, strlen(text), 0);
}

/* Compiler and disk are helps, not needs: without them tier 0 serves, and the
 * log says so. */
static void open_cpu(struct target *t, struct uv_loop_s *loop, const struct cache_config *config)
{
	char path[COMPILE_PATH_BYTES] = "", tool[1024] = "none";
	struct helper_config hc = {.self = config->self, .compiler = path, .isa = isa_best()};
	struct err err = {OK, ""};

	snprintf(t->missing, sizeof t->missing, "%s",
		 "there is no C compiler (gcc or clang); tier 0 runs this kernel");
	if (hc.isa == ISA_NONE) {
		log_warn("cache", "this processor is below x86-64-v2: kernels are interpreted");
	} else if (!compile_target_find(path, config->compiler)) {
		log_warn("cache", "no compiler %s: kernels are interpreted",
			 config->compiler ? config->compiler : "gcc or clang");
		*path = 0;
	} else if (config->self && helper_create(&t->helper, loop, &hc, &err)) {
		log_warn("cache", "%s: kernels are interpreted", err.text);
	}
	if (*path)
		compile_target_identity(tool, sizeof tool, path);
	/* Names of vector math functions vary with the C library. */
	snprintf(t->identity, sizeof t->identity, "%s; glibc %s; prologues %016llx %016llx %d",
		 tool, gnu_get_libc_version(), text_hash(emit_c_prologue()),
		 text_hash(emit_lang_prologue()), EMIT_LANG_GENERATION);
	t->kind = (struct disk_kind){t->identity, (uint32_t)isa_best(), EMIT_GENERATION};
}

/* NVRTC's other half, whose name carries the full version, lies in the same folder. */
static void put_builtins(struct textbuf *b, const char *library)
{
	char *copy = xstrdup(library), tool[1024];
	char *pattern = xasprintf("%s/libnvrtc-builtins.so*", dirname(copy));
	glob_t g;

	if (!glob(pattern, 0, NULL, &g) && g.gl_pathc) {
		compile_target_identity(tool, sizeof tool, g.gl_pathv[g.gl_pathc - 1]);
		textbuf_put(b, "; %s", tool);
	}
	globfree(&g);
	free(pattern);
	free(copy);
}

bool target_identify_cuda(struct target *t, struct cuda_find *found)
{
	struct textbuf b = {t->identity, sizeof t->identity, 0};
	char tool[1024], options[512], *text = NULL;

	if (!cuda_find(found, "BRAZE_NVRTC", nvrtc_names)) {
		snprintf(t->missing, sizeof t->missing,
			 "NVRTC, which compiles for the GPU, was not found: %.900s", found->text);
		return false;
	}
	compile_target_identity(tool, sizeof tool, found->path);
	/* All that is not of one kernel: it begins with the prologue. */
	text = emit_cuda_shared();
	/* The architecture stands in the key. */
	compile_nvrtc_options(options, sizeof options, 0, false, 1000000);
	textbuf_put(&b, "nvrtc %s", tool);
	put_builtins(&b, found->path);
	textbuf_put(&b, "; %s; prologue %016llx", options, text_hash(text));
	free(text);
	t->kind = (struct disk_kind){t->identity, 0, EMIT_CUDA_GENERATION};
	return true;
}

static void open_cuda(struct target *t, struct uv_loop_s *loop, const struct cache_config *config)
{
	struct helper_config hc = {.self = config->self};
	struct cuda_find found;
	struct err err = {OK, ""};

	if (!target_identify_cuda(t, &found))
		return;
	hc.compiler = found.path;
	if (!helper_create(&t->helper, loop, &hc, &err))
		log_info("cache", "NVRTC: %s", found.text);
	else
		snprintf(t->missing, sizeof t->missing, "%s", err.text);
}

static enum status grid_source(char **out, const struct kernel *k, struct err *err)
{
	struct lang_program *p = NULL;
	struct lang_grid g;
	enum status st = grid_program(&p, &g, &k->grid, err);

	if (!st)
		st = emit_cuda_grid(out, &g, err);
	lang_free(p);
	return st;
}

static enum status cuda_source(char **out, const struct kernel *k, struct err *err)
{
	if (k->grid.text)
		return grid_source(out, k, err);
	if (k->call.call != CALL_END)
		return emit_cuda_call(out, &k->call, err);
	return emit_cuda_source(out, k->spec, err);
}

const struct target_maker target_cuda = {
	.key = "cuda sm_", .open = open_cuda, .source = cuda_source};

#define X(name, serve, target, ...) extern const struct target_maker target;
#include "contract/backends.def"
#undef X

static const struct target_maker *maker_of(uint32_t arch)
{
	static const struct target_maker *const maker[] = {
#define X(name, serve, target, ...) &target,
#include "contract/backends.def"
#undef X
	};

	return maker[backend_row(arch)];
}

void target_open(struct target *t, uint32_t arch, struct uv_loop_s *loop,
		 const struct cache_config *config)
{
	if (arch)
		maker_of(arch)->open(t, loop, config);
	else
		open_cpu(t, loop, config);
}

void target_close(struct target *t)
{
	helper_destroy(t->helper);
	t->helper = NULL;
}

char *target_key(const struct nest *spec, uint32_t arch)
{
	size_t n = nest_print(NULL, 0, spec, true), head = 0;
	char target[64] = "", *key;

	if (arch)
		head = (size_t)snprintf(target, sizeof target, "%.40s%u\n", maker_of(arch)->key,
					backend_number(arch));
	key = xmalloc(head + n + 1);
	memcpy(key, target, head);
	nest_print(key + head, n + 1, spec, true);
	return key;
}

char *target_call_key(const struct call_kind *call, uint32_t arch)
{
	char text[256];
	struct textbuf b = {text, sizeof text, 0};

	textbuf_put(&b, "%s%u\n%s.%s", maker_of(arch)->key, backend_number(arch),
		    call_row(call->call)->name, dtype_row(call->dtype)->suffix);
	if (call->call != CALL_PRODUCT) {
		textbuf_put(&b, " %s of", op_text(call->op));
		for (unsigned x = 0; x < call_row(call->call)->noperand; x++)
			textbuf_put(&b, " %s", dtype_row(call->operand[x])->suffix);
	}
	textbuf_put(&b, "\n");
	return xstrdup(text);
}

char *target_grid_key(const struct grid_words *w, uint32_t arch)
{
	return xasprintf("%s%u\nloop %u %u %u %u %u %u\n%s", maker_of(arch)->key,
			 backend_number(arch), w->range, w->levels, w->fast, w->only, w->sum,
			 w->keeps, w->text);
}

enum status target_source(char **out, const struct kernel *k, struct err *err)
{
	if (k->text)
		return emit_lang_source(out, k->text, strlen(k->text), err);
	return k->arch ? maker_of(k->arch)->source(out, k, err) : emit_c_source(out, k->spec, err);
}
