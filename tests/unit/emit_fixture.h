/* SPDX-License-Identifier: Apache-2.0 */
/* Nests with data, run by both tiers and compared bit by bit (NaN equal to NaN).
 * Many kernels share one compilation. */
#ifndef BRAZE_EMIT_FIXTURE_H
#define BRAZE_EMIT_FIXTURE_H

#define _GNU_SOURCE
#include <criterion/criterion.h>

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compile/compile.h"
#include "emit/emit_c.h"
#include "float16.h"
#include "loops/kernel_abi.h"
#include "worker/tier0.h"

#define BATCH 600

struct fixture_case {
	struct nest n;
	char name[96];
};

struct batch {
	int n, nfailed;
	unsigned width;
	int below;	  /* instruction set levels under the best */
	const char *text; /* behind the prologue; NULL: none */
	struct fixture_case *c;
	void *object;
};

static inline struct nest *batch_add(struct batch *b, const char *name)
{
	struct fixture_case *c;

	if (!b->c)
		b->c = calloc(BATCH, sizeof *b->c);
	cr_assert_lt(b->n, BATCH);
	c = &b->c[b->n++];
	snprintf(c->name, sizeof c->name, "%s", name);
	c->n.width = (uint8_t)b->width;
	return &c->n;
}

static inline unsigned nest_put(struct nest *n, unsigned op, unsigned dtype, unsigned ltype,
				unsigned a, unsigned b, unsigned c)
{
	n->instr[n->ninstr] = (struct nest_instr){.op = (uint16_t)op,
						  .dtype = (uint8_t)dtype,
						  .ltype = (uint8_t)ltype,
						  .a = (uint16_t)a,
						  .b = (uint16_t)b,
						  .c = (uint16_t)c};
	return n->ninstr++;
}

/* An access whose strides are `gap` elements on loop `fast` (0: constant there) and
 * dense on the other loops named in the mask, outermost slowest. */
static inline unsigned nest_access_add(struct nest *n, unsigned dtype, bool write, unsigned loops,
				       int gap, unsigned mask)
{
	struct nest_access *a = &n->access[n->naccess];
	int64_t bytes = dtype_row(dtype)->bytes, dense = bytes;

	a->slot = n->naccess;
	a->dtype = (uint8_t)dtype;
	a->write = write;
	a->alone = 1;
	for (unsigned l = loops; l-- > 0;) {
		int64_t g = l == loops - 1 ? (gap < 0 ? -gap : gap) : 1;

		if (!(mask >> l & 1) || !g)
			continue;
		a->stride[l] = dense * g;
		dense *= g * (n->extent[l] > 1 ? n->extent[l] : 1);
		if (l == loops - 1 && gap < 0)
			a->stride[l] = -a->stride[l];
	}
	return n->naccess++;
}

static inline unsigned nest_load(struct nest *n, unsigned dtype, unsigned loops, int gap,
				 unsigned mask)
{
	unsigned a = nest_access_add(n, dtype, false, loops, gap, mask);

	return nest_put(n, NI_LOAD, dtype, 0, a, 0, 0);
}

static inline void nest_store(struct nest *n, unsigned value, unsigned loops, int gap,
			      unsigned mask)
{
	unsigned dtype = n->instr[value].dtype;
	unsigned a = nest_access_add(n, dtype, true, loops, gap, mask);

	nest_put(n, NI_STORE, dtype, 0, a, value, 0);
}

static inline void nest_finish(struct nest *n, unsigned vec)
{
	struct err err = {OK, ""};

	n->vec = (uint8_t)vec;
	if (!n->nred)
		n->post = n->ninstr;
	for (unsigned a = 0; a < n->naccess; a++) {
		int64_t s = n->npar + n->nred ? n->access[a].stride[vec] : 0;

		n->access[a].walk = s == dtype_row(n->access[a].dtype)->bytes ? WALK_UNIT
				    : s					      ? WALK_STRIDED
									      : WALK_SAME;
	}
	cr_assert_eq(nest_check(n, &err), OK, "%s", err.text);
}

/* ---- data ---------------------------------------------------------------------- */

static inline uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static inline double some_double(uint64_t r)
{
	static const double special[] = {0.0, -0.0, 1.0,    -1.0,   INFINITY, -INFINITY,
					 NAN, 0.5,  1e300,  -1e300, 5e-324,   2.0,
					 3.0, 1e10, 0x1p53, -7.0};

	if (r % 8 == 0)
		return special[r / 8 % 16];
	return ((double)(int64_t)(r >> 20) - 0x1p43) / 0x1p38;
}

static inline int64_t some_integer(uint64_t r)
{
	static const int64_t special[] = {0, 1, -1, INT64_MIN, INT64_MAX, 2, INT32_MIN, -128, 0, 7};

	if (r % 4 == 0)
		return special[r / 4 % 10];
	return r % 4 == 1 ? (int64_t)(r >> 40) % 20 - 5 : (int64_t)(r * 0x9e3779b97f4a7c15u);
}

static inline void fill(char *p, unsigned dtype, size_t n, uint64_t *state)
{
	const struct dtype_row *row = dtype_row(dtype);
	bool complex = row->cls == CLASS_COMPLEX;
	unsigned bytes = complex ? row->bytes / 2u : row->bytes;

	for (size_t i = 0; i < n * (complex ? 2 : 1); i++) {
		uint64_t r = next_random(state);

		if (row->cls == CLASS_BOOL) {
			p[i] = r >> 7 & 1;
		} else if (row->cls == CLASS_INT || row->cls == CLASS_UINT) {
			int64_t v = some_integer(r);

			memcpy(p + i * bytes, &v, bytes);
		} else if (bytes == 8) {
			double v = some_double(r);

			memcpy(p + i * bytes, &v, 8);
		} else if (bytes == 2) {
			uint16_t v = float16_bits(some_double(r));

			memcpy(p + i * bytes, &v, 2);
		} else {
			float v = (float)some_double(r);

			memcpy(p + i * bytes, &v, 4);
		}
	}
}

/* A float of `bytes`. */
static inline double float_at(const char *p, unsigned bytes)
{
	uint16_t h;
	float f;
	double d;

	if (bytes == 2) {
		memcpy(&h, p, 2);
		return float16_value(h);
	}
	if (bytes == 4) {
		memcpy(&f, p, 4);
		return f;
	}
	memcpy(&d, p, 8);
	return d;
}

static inline bool same_element(const char *a, const char *b, unsigned dtype)
{
	const struct dtype_row *row = dtype_row(dtype);
	unsigned parts = row->cls == CLASS_COMPLEX ? 2 : 1, bytes = row->bytes / parts;

	if (!memcmp(a, b, row->bytes))
		return true;
	/* Every NaN that becomes a bfloat16 is the one of its sign. */
	if ((row->cls != CLASS_FLOAT && row->cls != CLASS_COMPLEX) || dtype == DT_BFLOAT16)
		return false;
	for (unsigned i = 0; i < parts; i++) {
		double x = float_at(a + i * bytes, bytes), y = float_at(b + i * bytes, bytes);

		if (memcmp(a + i * bytes, b + i * bytes, bytes) && !(isnan(x) && isnan(y)))
			return false;
	}
	return true;
}

/* ---- running ------------------------------------------------------------------- */

struct run {
	char *buffer[LIMIT_NEST_ACCESSES], *base[LIMIT_NEST_ACCESSES];
	size_t bytes[LIMIT_NEST_ACCESSES];
	int64_t extent[LIMIT_NDIM], stride[LIMIT_NEST_ACCESSES * LIMIT_NDIM];
	uint64_t scalar[LIMIT_NEST_SCALARS * 2];
	int64_t gather[LIMIT_NEST_ACCESSES * 2];
	uint64_t error[LIMIT_NEST_CHECKS];
	uint32_t cancel;
	struct bz_args args;
};

/* Of every axis whose places are checked. */
#define CHECKED_SIZE 50

static inline struct run *run_new(const struct nest *n, uint64_t seed)
{
	struct run *r = calloc(1, sizeof *r);

	for (unsigned l = 0; l < n->npar + (unsigned)n->nred; l++)
		r->extent[l] = n->extent[l];
	for (unsigned a = 0; a < n->naccess; a++) {
		unsigned size = dtype_row(n->access[a].dtype)->bytes;
		int64_t lo = 0, hi = size;

		for (unsigned l = 0; l < n->npar + (unsigned)n->nred; l++) {
			int64_t s = n->access[a].stride[l];

			r->stride[a * LIMIT_NDIM + l] = s;
			*(s < 0 ? &lo : &hi) += s * (n->extent[l] > 0 ? n->extent[l] - 1 : 0);
		}
		if (n->access[a].gather) {
			int64_t *g = r->gather + 2 * nest_gather(n, a);

			g[0] = n->access[a].gextent;
			g[1] = n->access[a].gstride;
			*(g[1] < 0 ? &lo : &hi) += g[1] * (g[0] - 1);
		}
		r->bytes[a] = (size_t)(hi - lo) + 2 * size;
		r->buffer[a] = malloc(r->bytes[a]);
		r->base[a] = r->buffer[a] - lo + size;
		fill(r->buffer[a], n->access[a].dtype, r->bytes[a] / size, &seed);
	}
	for (unsigned s = 0; s < n->nscalar; s++)
		fill((char *)&r->scalar[2 * s], n->scalar_dtype[s], 1, &seed);
	for (unsigned i = 0; i < n->ninstr; i++)
		if (n->instr[i].op == OP_INDEX)
			r->scalar[2 * n->instr[n->instr[i].b].a] = CHECKED_SIZE;
	memset(r->error, 0xff, sizeof r->error);
	r->args = (struct bz_args){r->base,    r->extent, r->stride, r->scalar,
				   &r->cancel, 0,	  r->gather, r->error};
	return r;
}

static inline void run_free(struct run *r)
{
	for (unsigned a = 0; a < LIMIT_NEST_ACCESSES; a++)
		free(r->buffer[a]);
	free(r);
}

static inline int64_t points(const struct nest *n, unsigned from, unsigned to)
{
	int64_t p = 1;

	for (unsigned l = from; l < to; l++)
		p *= n->extent[l];
	return p;
}

static inline void *symbol(struct batch *b, int i, const char *what)
{
	char name[64];
	void *p;

	snprintf(name, sizeof name, "k%d_%s", i, what);
	p = dlsym(b->object, name);
	cr_assert(p, "%s", name);
	return p;
}

static inline enum isa_level level(const struct batch *b)
{
	return (enum isa_level)(isa_best() - b->below);
}

static inline void run_tier0(const struct batch *b, const struct nest *n, struct run *r)
{
	int64_t par = points(n, 0, n->npar), red = points(n, n->npar, n->npar + n->nred);
	void *scratch = aligned_alloc(64, (tier0_scratch(n) + 63) / 64 * 64);

	if (n->nred)
		tier0_reduce_at(level(b), n, &r->args, 0, par, 0,
				(red + TREE_CHUNK - 1) / TREE_CHUNK, NULL, scratch);
	else
		tier0_map_at(level(b), n, &r->args, 0, par, scratch);
	free(scratch);
}

/* how: 0 whole, 1 in two uneven ranges as where nothing fits the caches, 2 by chunks with finish,
 * rows one at a time. */
static inline void run_tier1(struct batch *b, int i, struct run *r, int how)
{
	const struct nest *n = &b->c[i].n;
	int64_t par = points(n, 0, n->npar), red = points(n, n->npar, n->npar + n->nred);
	int64_t cut = how == 1 ? par / 3 + (par > 3) : 0;
	int64_t chunks = (red + TREE_CHUNK - 1) / TREE_CHUNK;
	unsigned nreduce = 0;
	bz_reduce_fn *reduce;
	bz_finish_fn *finish;
	bz_map_fn *map;
	struct bz_acc *part;

	r->args.stream = how == 1 ? KERNEL_PAST | KERNEL_FAR : how == 2 ? KERNEL_WHOLE : 0;
	if (!n->nred) {
		*(void **)&map = symbol(b, i, "map");
		map(&r->args, 0, cut);
		map(&r->args, cut, par);
		return;
	}
	*(void **)&reduce = symbol(b, i, "reduce");
	*(void **)&finish = symbol(b, i, "finish");
	if (how < 2) {
		reduce(&r->args, 0, cut, 0, chunks, NULL);
		reduce(&r->args, cut, par, 0, chunks, NULL);
		return;
	}
	for (unsigned k = 0; k < n->ninstr; k++)
		nreduce += n->instr[k].op == NI_REDUCE;
	part = calloc((size_t)(par * chunks * nreduce) + 1, sizeof *part);
	for (int64_t c = chunks; c-- > 0;)
		reduce(&r->args, 0, par, c, c + 1, part);
	finish(&r->args, 0, par, part);
	free(part);
}

static inline void compare(struct batch *b, int i, const struct run *want, const struct run *got,
			   int how)
{
	const struct nest *n = &b->c[i].n;

	for (unsigned c = 0; c < LIMIT_NEST_CHECKS; c++)
		if (want->error[c] != got->error[c]) {
			fprintf(stderr, "%s (way %d): check %u found %llx, not %llx\n",
				b->c[i].name, how, c, (unsigned long long)got->error[c],
				(unsigned long long)want->error[c]);
			b->nfailed++;
		}
	for (unsigned a = 0; a < n->naccess; a++) {
		unsigned size = dtype_row(n->access[a].dtype)->bytes;

		for (size_t at = 0; at + size <= want->bytes[a]; at += size)
			if (!same_element(want->buffer[a] + at, got->buffer[a] + at,
					  n->access[a].dtype)) {
				fprintf(stderr, "%s (way %d): access %u differs at element %zu\n",
					b->c[i].name, how, a, at / size);
				b->nfailed++;
				return;
			}
	}
}

static inline void batch_compile(struct batch *b)
{
	char folder[] = "/tmp/braze-test-XXXXXX", log[COMPILE_LOG_BYTES], path[64];
	char compiler[COMPILE_PATH_BYTES], prefix[16];
	struct compile_job job = {
		.compiler = compiler, .isa = level(b), .timeout_ms = 120000, .watch = -1};
	struct text source = {NULL, 0, 0};
	struct err err = {OK, ""};
	int in = -1, out = -1;
	uint64_t bytes = 0;

	text_put(&source, "#define BZ_WIDTH %u\n", b->width);
	text_add(&source, emit_c_prologue());
	if (b->text)
		text_add(&source, b->text);
	for (int i = 0; i < b->n; i++) {
		char *body = NULL;

		snprintf(prefix, sizeof prefix, "k%d_", i);
		cr_assert_eq(emit_c_named(&body, &b->c[i].n, prefix, &err), OK, "%s: %s",
			     b->c[i].name, err.text);
		text_add(&source, body);
		free(body);
	}
	job.folder = mkdtemp(folder);
	cr_assert(compile_target_find(compiler, getenv("BRAZE_TEST_CC")));
	cr_assert_eq(compile_wire_memfd(&in, "s", source.s, source.n, &err), OK);
	cr_assert_eq(compile_run(&out, &bytes, &job, in, log, &err), OK, "%s", log);
	snprintf(path, sizeof path, "/proc/self/fd/%d", out);
	dlopen("libmvec.so.1", RTLD_NOW | RTLD_GLOBAL);
	b->object = dlopen(path, RTLD_NOW);
	cr_assert(b->object, "%s", dlerror());
	close(in);
	close(out);
	rmdir(folder);
	free(source.s);
}

/* Compile all cases at once and run each, whole and in pieces, against tier 0. */
static inline void batch_run(struct batch *b)
{
	batch_compile(b);
	for (int i = 0; i < b->n; i++) {
		const struct nest *n = &b->c[i].n;
		struct run *want = run_new(n, 77 + (uint64_t)i);
		struct err err = {OK, ""};

		cr_assert_eq(tier0_check(n, &err), OK, "%s: %s", b->c[i].name, err.text);
		run_tier0(b, n, want);
		for (int how = 0; how < (n->nred ? 3 : 2); how++) {
			struct run *got = run_new(n, 77 + (uint64_t)i);

			run_tier1(b, i, got, how);
			compare(b, i, want, got, how);
			run_free(got);
		}
		run_free(want);
	}
	dlclose(b->object);
	free(b->c);
	cr_assert_eq(b->nfailed, 0, "%d of %d kernels differ", b->nfailed, b->n);
	cr_assert_gt(b->n, 0);
}

#endif
