/* SPDX-License-Identifier: Apache-2.0 */
/* golden/cuda_table.c - registers and spills of each template on each architecture.
 *
 *   cuda_table              print the table of docs/kernels-cuda.md
 *   cuda_table --check A... compile for these architectures
 *
 * Fails when a template spills.
 *
 * Templates are sample nests and loops, one for each entry point of contract/cuda_abi.h.  Needs
 * NVRTC (base/cuda_find.h tells where it is looked for), no GPU. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../kept.h"
#include "base/cuda_find.h"
#include "compile/compile.h"
#include "emit/emit.h"
#include "lang/lang_grid.h"

static const unsigned all[] = {75, 80, 86, 89, 90, 100, 120};
static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", NULL};
static struct cuda_find nvrtc;

struct sample {
	const char *name;
	uint8_t npar, nred, vec;
	uint8_t dtype, op;
	uint8_t arity; /* 0: a matrix product */
	bool strided;  /* the second operand is, along the last loop */
	/* Not NULL: of a loop of a kernel, so many levels of it. */
	const char *text;
	unsigned levels;
};

#define STENCIL                                                                                    \
	"kernel f(out y: float64[:,:], x: float64[:,:]) {\n"                                       \
	"for i in 1..len(x, 0) - 1 { for j in 1..len(x, 1) - 1 { y[i, j] = 0.25 * "                \
	"(x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]) } } }"
#define MANDELBROT                                                                                 \
	"kernel f(out n: int32[:,:], c: complex128[:,:], most: int64) {\n"                         \
	"for i in 0..len(c, 0) { for j in 0..len(c, 1) { let z = c[i, j]; let k = 0\n"             \
	"while k < most and abs(z) < 2.0 { z = z * z + c[i, j]; k += 1 }\n n[i, j] = int32(k) } "  \
	"} }"
#define GEMM                                                                                       \
	"kernel f(inout c: float32[:,:], a: float32[:,:], b: float32[:,:]) {\n"                    \
	"for i in 0..len(c, 0) { for j in 0..len(c, 1) { for k in 0..len(a, 1) { "                 \
	"c[i, j] += a[i, k] * b[k, j] } } } }"

static const struct sample samples[] = {
	{"add float16, dense", 1, 0, 0, DT_FLOAT16, OP_ADD, 2, false},
	{"add float32, dense", 1, 0, 0, DT_FLOAT32, OP_ADD, 2, false},
	{"add float64, two loops", 2, 0, 1, DT_FLOAT64, OP_ADD, 2, false},
	{"add float32, transposed", 2, 0, 1, DT_FLOAT32, OP_ADD, 2, true},
	{"multiply complex64, dense", 1, 0, 0, DT_COMPLEX64, OP_MULTIPLY, 2, false},
	{"divide complex128, dense", 1, 0, 0, DT_COMPLEX128, OP_DIVIDE, 2, false},
	{"floor_divide int64, dense", 1, 0, 0, DT_INT64, OP_FLOOR_DIVIDE, 2, false},
	{"remainder int8, dense", 1, 0, 0, DT_INT8, OP_REMAINDER, 2, false},
	{"exp float32, dense", 1, 0, 0, DT_FLOAT32, OP_EXP, 1, false},
	{"exp float64, dense", 1, 0, 0, DT_FLOAT64, OP_EXP, 1, false},
	{"sum float32, one loop", 0, 1, 0, DT_FLOAT32, OP_SUM, 1, false},
	{"sum float64, rows", 1, 1, 1, DT_FLOAT64, OP_SUM, 1, false},
	{"sum float32, middle axis", 2, 1, 1, DT_FLOAT32, OP_SUM, 1, false},
	{"sum float64, columns", 1, 1, 0, DT_FLOAT64, OP_SUM, 1, false},
	{"sum complex128, rows", 1, 1, 1, DT_COMPLEX128, OP_SUM, 1, false},
	{"sum complex128, columns", 1, 1, 0, DT_COMPLEX128, OP_SUM, 1, false},
	{"min float64, rows", 1, 1, 1, DT_FLOAT64, OP_MIN, 1, false},
	{"argmax float32, rows", 1, 1, 1, DT_FLOAT32, OP_ARGMAX, 1, false},
	{"matmul float16", 0, 0, 0, DT_FLOAT16, OP_MATMUL, 0, false},
	{"matmul float32", 0, 0, 0, DT_FLOAT32, OP_MATMUL, 0, false},
	{"matmul float64", 0, 0, 0, DT_FLOAT64, OP_MATMUL, 0, false},
	{"matmul complex128", 0, 0, 0, DT_COMPLEX128, OP_MATMUL, 0, false},
	{"matmul int8", 0, 0, 0, DT_INT8, OP_MATMUL, 0, false},
	{"loops: stencil float64", .text = STENCIL, .levels = 2},
	{"loops: Mandelbrot's set", .text = MANDELBROT, .levels = 2},
	{"loops: products float32", .text = GEMM, .levels = 2},
};
#define NSAMPLES (sizeof samples / sizeof samples[0])

static unsigned put(struct nest *n, unsigned op, unsigned dtype, unsigned a, unsigned b, unsigned c)
{
	n->instr[n->ninstr] = (struct nest_instr){.op = (uint16_t)op,
						  .dtype = (uint8_t)dtype,
						  .ltype = (uint8_t)dtype,
						  .a = (uint16_t)a,
						  .b = (uint16_t)b,
						  .c = (uint16_t)c};
	return n->ninstr++;
}

static unsigned access_add(struct nest *n, unsigned dtype, bool write, uint8_t walk)
{
	n->access[n->naccess] = (struct nest_access){.slot = n->naccess,
						     .dtype = (uint8_t)dtype,
						     .write = write,
						     .walk = walk,
						     .alone = 1};
	return n->naccess++;
}

static void make(struct nest *n, const struct sample *s)
{
	bool arg = s->op == OP_ARGMIN || s->op == OP_ARGMAX;
	unsigned v[2] = {0, 0}, result = arg ? DT_INT64 : s->dtype, r;
	bool inner = s->nred && s->vec >= s->npar;

	memset(n, 0, sizeof *n);
	n->npar = s->npar;
	n->nred = s->nred;
	n->vec = s->vec;
	n->width = 8;
	for (unsigned i = 0; i < s->arity; i++)
		v[i] = put(
			n, NI_LOAD, s->dtype,
			access_add(n, s->dtype, false, i && s->strided ? WALK_STRIDED : WALK_UNIT),
			0, 0);
	r = s->nred ? put(n, NI_REDUCE, s->dtype, v[0], 0, s->op)
		    : put(n, s->op, s->dtype, v[0], v[1], 0);
	n->instr[r].dtype = (uint8_t)result;
	n->post = s->nred ? n->ninstr : 0;
	put(n, NI_STORE, result, access_add(n, result, true, inner ? WALK_SAME : WALK_UNIT), r, 0);
	if (!s->nred)
		n->post = n->ninstr;
}

/* Of the text's first loop, which writes its first array. */
static enum status loops(char **source, const struct sample *s, struct err *err)
{
	struct lang_program *p = NULL;
	struct lang_grid g;
	enum status st = lang_program_of_text(&p, s->text, strlen(s->text), err);
	uint32_t at;

	if (st)
		return st;
	for (at = p->entry; p->code[at].code != CODE_RANGE && at + 1 < p->ncode;)
		at++;
	st = lang_grid_of(&g, p, at, s->levels, s->levels - 1, 0, err);
	if (!st)
		st = emit_cuda_grid(source, &g, err);
	lang_free(p);
	return st;
}

static enum status source_of(char **source, const struct sample *s, struct err *err)
{
	static struct nest n;

	if (s->text)
		return loops(source, s, err);
	if (!s->arity)
		return emit_cuda_matmul(source, s->dtype, err);
	make(&n, s);
	return emit_cuda_source(source, &n, err);
}

static enum status compile(struct compile_nvrtc *job, const struct sample *s, struct err *err)
{
	char log[COMPILE_LOG_BYTES], *source = NULL;
	uint64_t bytes = 0;
	int in = -1, out = -1;
	enum status st = source_of(&source, s, err);

	if (!st)
		st = compile_wire_memfd(&in, "source", source, strlen(source), err);
	if (!st)
		st = compile_nvrtc_run(&out, &bytes, job, in, log, err);
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	free(source);
	return st;
}

/* One row: registers, and spilled bytes where there are any. */
static int row(const struct sample *s, const unsigned *arch, unsigned narch)
{
	int bad = 0;

	printf("| %s |", s->name);
	for (unsigned i = 0; i < narch; i++) {
		struct compile_nvrtc job = {.library = nvrtc.path, .arch = arch[i]};
		struct err err = {OK, ""};

		if (compile(&job, s, &err)) {
			fprintf(stderr, "%s, sm_%u: %s\n", s->name, arch[i], err.text);
			return 1;
		}
		printf(job.spill_bytes ? " %u, spills %u |" : " %u |", job.registers,
		       job.spill_bytes);
		if (job.spill_bytes) {
			fprintf(stderr, "%s, sm_%u: %u bytes spilled\n", s->name, arch[i],
				job.spill_bytes);
			bad = 1;
		}
	}
	printf("\n");
	return bad;
}

int main(int argc, char **argv)
{
	bool check = argc > 1 && !strcmp(argv[1], "--check");
	unsigned some[16], n = 0;
	int bad = 0;

	for (int i = 2; check && i < argc && n < 16; i++)
		some[n++] = (unsigned)atoi(argv[i]);
	if (!cuda_find(&nvrtc, kept_nvrtc(), names)) {
		fprintf(stderr, "skipped: %s\n", nvrtc.text);
		return check ? 77 : 1;
	}
	if (!n)
		for (; n < sizeof all / sizeof all[0]; n++)
			some[n] = all[n];
	printf("| template |");
	for (unsigned i = 0; i < n; i++)
		printf(" sm_%u |", some[i]);
	printf("\n|---|");
	for (unsigned i = 0; i < n; i++)
		printf("---|");
	printf("\n");
	for (unsigned k = 0; k < NSAMPLES; k++)
		bad |= row(&samples[k], some, n);
	return bad;
}
