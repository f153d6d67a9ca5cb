/* SPDX-License-Identifier: Apache-2.0 */
/* golden/cuda_program.c - programs as an H100's worker would launch them, without a GPU.
 *
 *   cuda_program DIR < TEXT
 *
 * TEXT holds partitions (golden/part_text.h), each behind a line "program NAME".  The daemon's
 * passes make their steps, its rules the entry that each nest asks for on 132 multiprocessors, its
 * emitter the text; NVRTC compiles it for sm_90.  Writes DIR/<code>.cubin, where there is none yet
 * (code: a number of the text and of NVRTC), and for each launch, in order, a line
 *
 *   code|NAME|step|entry|warps that have something to do|elements of a piece
 *
 * of a library step one line without an entry: those of its cubin are launched as its loops want.
 * Exit status 77: there is no NVRTC (base/cuda_find.h tells where it is looked for). */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../kept.h"
#include "base/cuda_find.h"
#include "base/hash.h"
#include "compile/compile.h"
#include "cuda/cuda_launch.h"
#include "emit/emit.h"
#include "nest/compilepart.h"
#include "part_text.h"

#define UNITS 132
#define ARCH  90
#define HEAD  "program "
#define APART (1ull << 40) /* addresses of slots, on multiples of anything */

static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", NULL};
static struct cuda_find nvrtc;
static uint64_t identity;

static int fail(const char *name, const struct err *err)
{
	fprintf(stderr, "%s: %s\n", name, err->text);
	return 1;
}

/* The image as a file, whole or not at all: several processes may write it. */
static enum status write_image(const char *path, int image, uint64_t bytes, struct err *err)
{
	char part[4200], *data = xmalloc(bytes);
	FILE *f;
	bool good;

	snprintf(part, sizeof part, "%s.%d", path, (int)getpid());
	f = fopen(part, "wb");
	good = f && pread(image, data, bytes, 0) == (ssize_t)bytes &&
	       fwrite(data, 1, bytes, f) == bytes;
	free(data);
	if (f && fclose(f))
		good = false;
	return good && !rename(part, path) ? OK : err_set(err, E_SYSTEM, "cannot write %s", path);
}

/* Compiled to DIR/<code>.cubin. */
static enum status keep(uint64_t *code, const char *folder, const char *source, struct err *err)
{
	struct compile_nvrtc job = {.library = nvrtc.path, .arch = ARCH};
	char log[COMPILE_LOG_BYTES], path[4096];
	int in = -1, out = -1;
	uint64_t bytes = 0;
	enum status st;

	*code = hash_bytes(source, strlen(source), identity);
	snprintf(path, sizeof path, "%s/%016llx.cubin", folder, (unsigned long long)*code);
	if (!access(path, R_OK))
		return OK;
	st = compile_wire_memfd(&in, "source", source, strlen(source), err);
	if (!st)
		st = compile_nvrtc_run(&out, &bytes, &job, in, log, err);
	if (!st)
		st = write_image(path, out, bytes, err);
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return st;
}

static int64_t warps(const struct cuda_launch *l)
{
	switch (l->kind) {
	case LAUNCH_POINTS:
		return (l->work + CUDA_LANES - 1) / CUDA_LANES;
	case LAUNCH_TILES:
		return l->work * CUDA_WARPS;
	case LAUNCH_TASKS:
		return l->work * l->team;
	default:
		return l->work * l->most;
	}
}

static enum status show_nest(const char *name, unsigned step, const struct nest *n,
			     const char *folder, struct err *err)
{
	int64_t stride[LIMIT_NEST_ACCESSES * LIMIT_NDIM] = {0};
	int64_t gather[LIMIT_NEST_ACCESSES * 2] = {0};
	uint64_t base[LIMIT_NEST_ACCESSES], scalar[LIMIT_NEST_SCALARS * 2] = {0};
	static struct nest spec;
	struct cuda_step s = {.spec = &spec,
			      .extent = n->extent,
			      .stride = stride,
			      .base = base,
			      .scalar = scalar,
			      .gather = gather,
			      .hi = nest_parallel(n)};
	struct cuda_launches l;
	char *source = NULL;
	uint64_t code = 0;
	enum status st = OK;

	compilepart_spec(&spec, n);
	spec.way = cuda_launch_way(n, UNITS);
	for (unsigned a = 0; a < n->naccess; a++) {
		base[a] = (n->access[a].slot + 1) * APART + (uint64_t)n->access[a].offset;
		memcpy(stride + a * LIMIT_NDIM, n->access[a].stride, sizeof n->access[a].stride);
		if (n->access[a].gather) {
			gather[2 * nest_gather(n, a)] = n->access[a].gextent;
			gather[2 * nest_gather(n, a) + 1] = n->access[a].gstride;
		}
	}
	st = cuda_launch_plan(&l, &s, UNITS, err);
	if (!st)
		st = emit_cuda_source(&source, &spec, err);
	if (!st)
		st = keep(&code, folder, source, err);
	for (unsigned i = 0; !st && i < l.n; i++)
		printf("%016llx|%s|%u|%s|%lld|%lld\n", (unsigned long long)code, name, step,
		       cuda_entry_name(l.item[i].entry), (long long)warps(&l.item[i]),
		       1ll << l.item[i].piece);
	free(source);
	return st;
}

static enum status show_call(const char *name, unsigned step, const struct plan_call *c,
			     const char *folder, struct err *err)
{
	struct call_kind kind;
	char *source = NULL;
	uint64_t code = 0;
	enum status st;

	call_kind(&kind, c);
	st = emit_cuda_call(&source, &kind, err);
	if (!st)
		st = keep(&code, folder, source, err);
	if (!st)
		printf("%016llx|%s|%u||0|0\n", (unsigned long long)code, name, step);
	free(source);
	return st;
}

static int show(const char *name, const char *text, const char *folder)
{
	struct part part = part_text_read(text);
	struct plan *plan = NULL;
	struct err err = {OK, ""};
	enum status st = compilepart_run(&plan, &part, NULL, NULL, NULL, &err);

	for (uint32_t k = 0; !st && k < plan->nstep; k++)
		st = plan->step[k].kind == STEP_KERNEL
			     ? show_nest(name, k, plan->step[k].nest, folder, &err)
			     : show_call(name, k, plan->step[k].call, folder, &err);
	plan_free(plan);
	part_text_free(&part);
	return st ? fail(name, &err) : 0;
}

/* All of the standard input, as one text. */
static char *read_all(void)
{
	size_t n = 0, room = 1 << 16;
	char *text = xmalloc(room);

	for (size_t got; (got = fread(text + n, 1, room - n - 1, stdin)) > 0; n += got)
		if (n + got + 1 == room)
			text = xrealloc(text, room *= 2, 1);
	text[n] = 0;
	return text;
}

int main(int argc, char **argv)
{
	char *text, *at, what[COMPILE_PATH_BYTES + 128];
	int bad = argc != 2;

	if (bad) {
		fprintf(stderr, "cuda_program DIR < TEXT\n");
		return 2;
	}
	if (!cuda_find(&nvrtc, kept_nvrtc(), names)) {
		fprintf(stderr, "skipped: %s\n", nvrtc.text);
		return 77;
	}
	compile_target_identity(what, sizeof what, nvrtc.path);
	identity = hash_bytes(what, strlen(what), ARCH);
	at = text = read_all();
	while (!bad && *at) {
		char *name = at + strlen(HEAD), *body = strchr(at, '\n'), *next;

		if (strncmp(at, HEAD, strlen(HEAD)) || !body) {
			fprintf(stderr, "\"program NAME\" expected at \"%.40s\"\n", at);
			bad = 1;
			break;
		}
		*body++ = 0;
		next = strstr(body, "\n" HEAD);
		at = next ? next + 1 : body + strlen(body);
		if (next)
			next[0] = 0;
		bad = show(name, body, argv[1]);
	}
	free(text);
	return bad;
}
