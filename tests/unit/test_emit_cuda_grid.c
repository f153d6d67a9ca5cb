/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_cuda_grid.c, kernels/grid.cuh: loops of kernels run by a CUDA driver against the
 * machine that runs the whole kernel. */
#include "cuda_fixture.h"

#include "contract/cuda_abi.h"
#include "lang/lang_grid.h"
#include "lang/lang_uses.h"

TestSuite(emit_cuda_grid, .timeout = 1200);

#define ARRAYS	 8
#define GUARD	 64 /* bytes around an array that must stay as they are */
#define SPACIOUS 4  /* bytes between elements of arrays that do not lie closely, in elements */

static struct cuda_fixture cuda;

/* ---- Kernels and their arrays ---- */

struct world {
	struct lang_kernel *kernel;
	const struct lang_program *p;
	uint32_t range; /* the first loop */
	unsigned narray;
	uint8_t dtype[ARRAYS];
	bool written[ARRAYS];
	size_t bytes[ARRAYS], at[ARRAYS]; /* at: of element [0,...,0] in its memory */
	char *memory[ARRAYS];
	struct lang_array array[ARRAYS];
	union lang_reg scalar[LANG_PARAMS];
};

static void open_text(struct world *w, const char *text)
{
	static const struct tier0_isa none;
	struct lang_program *p = NULL;
	struct lang_tree *tree = NULL;
	struct err err = {0};

	cr_assert(!lang_parse(&tree, text, strlen(text), &err), "%s\n%s", err.text, text);
	cr_assert(!lang_check(&p, tree, &err), "%s\n%s", err.text, text);
	free(tree);
	cr_assert(!lang_link(&w->kernel, p, tier0_table(isa_best()), &none, &err), "%s", err.text);
	w->p = lang_program_of(w->kernel);
	w->range = w->p->entry;
	while (w->p->code[w->range].code != CODE_RANGE)
		cr_assert_neq(w->p->code[w->range++].code, CODE_END, "%s", text);
}

/* Values that are small where they are integers, as they may be indices. */
static void put_values(char *at, unsigned dtype, size_t n, uint64_t *seed)
{
	unsigned size = dtype_row(dtype)->bytes;

	fill(at, dtype, n, seed);
	for (size_t k = 0; k < n; k++)
		if (dtype == DT_INT64)
			*(int64_t *)(at + k * size) = (int64_t)(*seed + k * 7) % 5 - 2;
		else if (dtype == DT_INT32)
			*(int32_t *)(at + k * size) = (int32_t)(k * 7 % 5);
		else if (dtype == DT_FLOAT64 && k % 3)
			*(double *)(at + k * size) = (double)(k * 13 % 31) / 4 - 3;
		else if (dtype == DT_BOOL)
			at[k] = (char)(k % 3 == 1 ? 5 : 0);
}

static void lay_array(struct world *w, unsigned a, unsigned rank, unsigned turn)
{
	static const int64_t extent[4][3] = {{0}, {23}, {9, 11}, {4, 5, 6}};
	struct lang_array *x = &w->array[a];
	int64_t stride = dtype_row(w->dtype[a])->bytes, n = 1;
	uint64_t seed = 17 + a;

	x->shape.ndim = (uint8_t)rank;
	stride *= turn & 1 ? SPACIOUS : 1;
	for (unsigned k = rank; k-- > 0;) {
		x->shape.dim[k] = extent[rank][k];
		x->stride[k] = stride;
		stride *= extent[rank][k];
		n = stride;
	}
	w->bytes[a] = (size_t)n + 2 * GUARD;
	w->at[a] = GUARD;
	w->memory[a] = calloc(1, w->bytes[a]);
	put_values(w->memory[a], w->dtype[a], w->bytes[a] / dtype_row(w->dtype[a])->bytes, &seed);
	/* Backwards along its last axis. */
	if (turn & 2) {
		w->at[a] += (size_t)((x->shape.dim[rank - 1] - 1) * x->stride[rank - 1]);
		x->stride[rank - 1] *= -1;
	}
	x->at = w->memory[a] + w->at[a];
}

static void lay(struct world *w, unsigned turn)
{
	unsigned s = 0;

	w->narray = 0;
	for (unsigned k = 0; k < w->p->nparam; k++) {
		const struct lang_param *x = &w->p->param[k];
		uint64_t seed = 3 + k;

		if (x->rank) {
			w->dtype[w->narray] = x->type;
			w->written[w->narray] = x->access & ACCESS_OUT;
			lay_array(w, w->narray++, x->rank, turn);
			continue;
		}
		memset(&w->scalar[s], 0, sizeof *w->scalar);
		if (x->type == DT_INT64)
			w->scalar[s].i = 3;
		else
			put_values(w->scalar[s].byte, x->type, 1, &seed);
		s++;
	}
}

static void drop_arrays(struct world *w)
{
	for (unsigned a = 0; a < w->narray; a++)
		free(w->memory[a]);
}

/* ---- What registers have before the loop ---- */

static void by_loop(union lang_reg *reg, const struct lang_ins *i)
{
	static const struct tier0_isa none;
	const struct tier0_isa *isa = tier0_table(isa_best());
	char in[3][TIER0_LANES * 16] __attribute__((aligned(64))),
		made[TIER0_LANES * 16] __attribute__((aligned(64)));
	tier0_fn *fn = i->code == CODE_CAST ? tier0_cast(isa, &none, i->type, i->to)
					    : tier0_op(isa, &none, i->op, i->type);
	unsigned type, n = 0;
	uint32_t r;

	for (; lang_uses(&r, &type, i, n); n++)
		for (unsigned k = 0; k < TIER0_LANES; k++)
			memcpy(in[n] + k * dtype_row(type)->bytes, reg[r].byte,
			       dtype_row(type)->bytes);
	fn(made, in[0], in[n > 1 ? 1 : 0], in[n > 2 ? 2 : 0], 1);
	memcpy(&reg[i->d], made, 16);
}

static union lang_reg *before(const struct world *w)
{
	union lang_reg *reg = calloc(w->p->nreg, sizeof *reg);

	for (uint32_t c = 0; c < w->p->nconst; c++)
		reg[w->p->constant[c].reg] = w->p->constant[c].value;
	for (unsigned k = 0, s = 0; k < w->p->nparam; k++)
		if (!w->p->param[k].rank)
			reg[w->p->param[k].reg] = w->scalar[s++];
	for (uint32_t at = w->p->entry; at < w->range; at++) {
		const struct lang_ins *i = &w->p->code[at];

		if (i->code == CODE_LENGTH)
			reg[i->d].i = w->array[i->a].shape.dim[i->b];
		else if (i->code == CODE_MOVE)
			reg[i->d] = reg[i->a];
		else if (i->code == CODE_OP || i->code == CODE_CAST)
			by_loop(reg, i);
		else
			cr_assert_eq(i->code, CODE_CLAIM);
	}
	return reg;
}

/* ---- On the device ---- */

struct device {
	void *module, *function;
	uint64_t memory[ARRAYS], error, cancel;
	struct lang_grid g;
};

static void compile_grid(struct device *d, const struct world *w, unsigned levels, unsigned fast,
			 unsigned only)
{
	struct compile_nvrtc job = {.arch = cuda.arch};
	struct err err = {0};
	char *source = NULL, *code;

	memset(d, 0, sizeof *d);
	cr_assert_eq(lang_grid_of(&d->g, w->p, w->range, levels, fast, only, &err), OK, "%s",
		     err.text);
	cr_assert_eq(emit_cuda_grid(&source, &d->g, &err), OK, "%s", err.text);
	code = cuda_fixture_compile(source, &job, strstr(source, EMIT_KERNEL_MARK));
	cr_assert_eq(cuda.load(&d->module, code, 0, NULL, NULL), 0, "%s", source);
	cr_assert_eq(cuda.function(&d->function, d->module, "bz_grid"), 0);
	free(code);
	free(source);
}

static unsigned put_array(uint64_t *word, const struct device *d, const struct world *w, unsigned a)
{
	const struct lang_array *x = &w->array[a];
	unsigned n = x->shape.ndim;

	word[0] = d->memory[a] + w->at[a];
	for (unsigned k = 0; k < n; k++) {
		word[1 + k] = (uint64_t)x->shape.dim[k];
		word[1 + n + k] = (uint64_t)x->stride[k];
	}
	return 1 + 2 * n;
}

/* The array that is written comes first. */
static void put_args(struct cuda_grid_args *args, const struct device *d, const struct world *w,
		     const union lang_reg *reg)
{
	unsigned n = put_array(args->word, d, w, d->g.only);

	args->cancel = d->cancel;
	args->error = d->error;
	for (unsigned a = 0; a < w->narray; a++)
		if (a != d->g.only)
			n += put_array(args->word + n, d, w, a);
	for (unsigned k = 0; k < d->g.nlive; k++, n += 2)
		memcpy(args->word + n, reg[d->g.live[k]].bits, 16);
	cr_assert_eq(n, lang_grid_words(&d->g));
}

/* The arrays as the loop leaves them; the word of its error. */
static uint64_t run_grid(struct device *d, struct world *w, unsigned blocks, unsigned parts,
			 uint32_t cancelled)
{
	union lang_reg *reg = before(w);
	struct cuda_grid_args args;
	void *params[] = {&args};
	uint64_t error = KERNEL_GOOD;

	cr_assert_eq(cuda.alloc(&d->cancel, 4), 0);
	cr_assert_eq(cuda.upload(d->cancel, &cancelled, 4, NULL), 0);
	cr_assert_eq(cuda.alloc(&d->error, 8), 0);
	cr_assert_eq(cuda.upload(d->error, &error, 8, NULL), 0);
	for (unsigned a = 0; a < w->narray; a++) {
		cr_assert_eq(cuda.alloc(&d->memory[a], w->bytes[a]), 0);
		cr_assert_eq(cuda.upload(d->memory[a], w->memory[a], w->bytes[a], NULL), 0);
	}
	put_args(&args, d, w, reg);
	args.total = parts;
	for (args.lo = 0; args.lo < parts; args.lo = args.hi) {
		args.hi = args.lo + (args.lo ? parts - args.lo : 1);
		cr_assert_eq(
			cuda.launch(d->function, blocks, 1, 1, 64, 1, 1, 0, NULL, params, NULL), 0);
		cr_assert_eq(cuda.synchronize(NULL), 0);
	}
	for (unsigned a = 0; a < w->narray; a++)
		cr_assert_eq(cuda.download(w->memory[a], d->memory[a], w->bytes[a], NULL), 0);
	cr_assert_eq(cuda.download(&error, d->error, 8, NULL), 0);
	cr_assert_eq(cuda.synchronize(NULL), 0);
	for (unsigned a = 0; a < w->narray; a++)
		cuda.release(d->memory[a]);
	cuda.release(d->cancel);
	cuda.release(d->error);
	free(reg);
	return error;
}

/* ---- Against the machine ---- */

static unsigned differ(const struct world *want, const struct world *got, unsigned a, double may)
{
	unsigned size = dtype_row(want->dtype[a])->bytes, bad = 0;

	for (size_t at = 0; at + size <= want->bytes[a]; at += size) {
		const char *x = want->memory[a] + at, *y = got->memory[a] + at;

		if (!same_element(x, y, want->dtype[a]) &&
		    !(element_apart(x, y, want->dtype[a]) <= may))
			bad++;
	}
	return bad;
}

/* The loop writes array `only` as the kernel does, and nothing else. */
static void check_only(const char *text, unsigned levels, unsigned fast, unsigned only, double may)
{
	struct world w = {0}, want, got, first;
	struct device d;

	open_text(&w, text);
	lay(&w, 0);
	compile_grid(&d, &w, levels, fast, only);
	drop_arrays(&w);
	for (unsigned turn = 0; turn < 4; turn++) {
		union lang_reg result[LANG_PARAMS];
		struct err err = {0};

		want = got = first = w;
		lay(&first, turn);
		lay(&want, turn);
		lay(&got, turn);
		cr_assert_eq(lang_run(w.kernel, want.array, want.scalar, result, NULL, NULL, &err),
			     OK, "%s\n%s", err.text, text);
		cr_expect_eq(run_grid(&d, &got, 1 + turn, 1 + 3 * turn, 0), KERNEL_GOOD, "%s",
			     text);
		for (unsigned a = 0; a < w.narray; a++)
			cr_expect_eq(
				differ(a == only ? &want : &first, &got, a, may), 0,
				"array %u of which %u is written, fast %u, turn %u: %u differ\n%s",
				a, only, fast, turn,
				differ(a == only ? &want : &first, &got, a, may), text);
		cuda.ntotal += differ(&first, &want, only, 0) > 0;
		drop_arrays(&first);
		drop_arrays(&want);
		drop_arrays(&got);
	}
	cuda.unload(d.module);
	lang_unlink(w.kernel);
}

/* Every level that is fast, every array that is written. */
static void check_text(const char *text, unsigned levels, double may)
{
	struct world w = {0};

	open_text(&w, text);
	lay(&w, 0);
	for (unsigned n = 1; n <= levels; n++)
		for (unsigned fast = 0; fast < n; fast++)
			for (unsigned only = 0; only < w.narray; only++)
				if (w.written[only])
					check_only(text, n, fast, only, may);
	drop_arrays(&w);
	lang_unlink(w.kernel);
}

#define HEAD                                                                                       \
	"kernel f(out y: float64[:], x: float64[:], m: float64[:,:], j: int64[:], k: int64) {\n"

Test(emit_cuda_grid, statements)
{
	static const char *const body[] = {
		"for i in 0..len(y) { y[i] = x[i] * 2.0 + 1.0 }",
		"for i in 0..len(y) { if x[i] > 0.0 { y[i] = x[i] } else { y[i] = -x[i] * 3.0 } }",
		"for i in 0..len(y) { if x[i] > 1.0 { continue }\n y[i] = 7.0 }",
		"for i in 0..len(y) { let s = 0.0; let n = 0; while n < i { s += x[n]; n += 2 }\n"
		"y[i] = s }",
		"for i in 0..len(y) { let s = 0.0; for n in 0..i { if x[n] > 2.0 { break }\n"
		"if x[n] < -1.0 { continue }\n s += x[n] * float64(n) }\n y[i] = s }",
		"for i in 0..len(y) { let s = 0.0; for n in i..-1 step -3 { s = s * 0.5 + x[n] }\n"
		"y[i] = s }",
		"for i in 1..len(y) + 1 { y[-i] = x[i - 1] + x[-i] }",
		"for i in 0..len(y) { y[i] = x[j[i]] }",
		"for i in 0..len(y) - 1 { let s = 0.0; for n in j[i] + 2..j[i + 1] + 2 { "
		"s += x[n] * x[j[n]] }\n y[i] = s }",
		"for i in 0..len(y) - 1 { let s = 0.0; for n in j[i + 1]..j[i] step -1 { "
		"if n == 1 { continue }\n s = s * 0.5 + m[n, j[n]] }\n y[i] = s }",
		"for i in len(y) - 1..-1 step -2 { y[i] = float64(i) }",
		"for i in 2..20 step 5 { y[i] = float64(i) / float64(k) }",
		"for i in 5..5 { y[i] = 1.0 }\nlet z = 0",
		"for i in k..k + 9 { let n = i * i; y[n % len(y)] = float64(n // k) }",
		"for i in 0..len(y) { y[i] = float64(len(m, 1)) * m[i % 9, i % 11] }",
		"for i in 0..len(y) { let b = x[i] > 0.0 and not (i == 3) or i > 20\n"
		"if b { y[i] = 1.0 } }",
	};

	if (!cuda_fixture_open(&cuda))
		return;
	for (unsigned k = 0; k < sizeof body / sizeof *body; k++) {
		char text[1024];

		snprintf(text, sizeof text, "%s%s\n}", HEAD, body[k]);
		check_text(text, 1, 0);
	}
	cr_assert_gt(cuda.ntotal, 0);
}

Test(emit_cuda_grid, functions)
{
	if (!cuda_fixture_open(&cuda))
		return;
	check_text("fn twice(x: float64) -> float64 { return x + x }\n"
		   "fn unused(x: float64) -> float64 { return x }\n"
		   "fn some(x: float64, n: int64) -> float64 { let s = x\n"
		   "for i in 0..n { s = twice(s) - 1.0; if s > 50.0 { return s } }\n"
		   "while s < -20.0 { s += 7.0 }\n return s }\n" HEAD
		   "for i in 0..len(y) { y[i] = some(x[i], i % 4) + twice(some(x[i], k)) }\n}",
		   1, 0);
}

Test(emit_cuda_grid, first_index_is_1)
{
	if (!cuda_fixture_open(&cuda))
		return;
	check_text("kernel f(out y: float64[:], x: float64[:]) base 1 {\n"
		   "for i in 1..len(y) + 1 { y[i] = x[i] + x[-i] }\n}",
		   1, 0);
}

Test(emit_cuda_grid, loops_inside)
{
	static const char *const body[] = {
		"for i in 0..9 { for l in 0..11 { u[i, l] = m[i, l] + float64(i * l) } }",
		"for i in 0..9 { for l in 0..i { u[i, l] = m[l, i] } }",
		"for i in 8..-1 step -1 { let n = i + 2; for l in n - 2..n { u[i, l] = 1.0 } }",
		/* The width is that of the first and last turns, which have none. */
		"for i in 0..9 { for l in 0..min(i, 8 - i) { u[i, l] = float64(l) } }",
		"for i in 0..9 { for l in 10..-1 step -3 { u[i, l] = u[i, l] * 2.0 } }",
		"for i in 0..9 { let c = i * 2; let e = c - i; for l in 0..11 { "
		"let s = 0.0; for n in 0..l { s += m[e, n] }\n u[i, l] = s } }",
		"for i in 0..0 { for l in 0..11 { u[i, l] = 1.0 } }",
		"for i in 0..9 { for l in 0..11 { if m[i, l] > 0.0 { continue }\n u[i, l] = 5.0 } "
		"}",
	};

	if (!cuda_fixture_open(&cuda))
		return;
	for (unsigned k = 0; k < sizeof body / sizeof *body; k++) {
		char text[1024];

		snprintf(text, sizeof text,
			 "kernel f(inout u: float64[:,:], m: float64[:,:]) {\n%s\n}", body[k]);
		check_text(text, 2, 0);
	}
}

Test(emit_cuda_grid, three_loops)
{
	if (!cuda_fixture_open(&cuda))
		return;
	check_text("kernel f(inout u: float64[:,:,:], x: float64[:], k: int64) {\n"
		   "for a in 0..4 { let p = a + 1; for b in 0..p { let q = p + b\n"
		   "for c in 0..min(q, 6) { u[a, b, c] = x[a + b + c] * float64(k) } } }\n}",
		   3, 0);
	check_text("kernel f(inout u: float64[:,:,:]) {\n"
		   "for a in 3..-1 step -1 { for b in 0..5 { for c in 0..6 step 2 { "
		   "u[a, b, c] = u[a, b, c] + float64(c) } } }\n}",
		   3, 0);
}

/* A turn may read what it has written, of either array. */
Test(emit_cuda_grid, two_arrays_that_are_written)
{
	if (!cuda_fixture_open(&cuda))
		return;
	check_text("kernel f(inout y: float64[:], inout z: float32[:], x: float64[:]) {\n"
		   "for i in 0..len(y) { y[i] = x[i] + 1.0; z[i] = float32(x[i]) * 2.0\n"
		   "y[i] = y[i] * 2.0; z[i] += 3.0 }\n}",
		   1, 0);
}

static const char *arithmetic(unsigned d)
{
	switch (dtype_row(d)->cls) {
	case CLASS_BOOL:
		return "v = v ^ x[22 - i]";
	case CLASS_FLOAT:
		return "v = v * x[i] - s / x[22 - i]";
	case CLASS_COMPLEX:
		return "v = v * x[i] - s + 1.5 + 2.5j";
	default:
		return "v = v * x[i] - s // x[22 - i] + (x[i] % s) - (x[i] & v)";
	}
}

static void check_type(unsigned d)
{
	const char *t = dtype_row(d)->name;
	char text[1024];

	snprintf(text, sizeof text,
		 "kernel f(out y: %s[:], x: %s[:], c: bool[:], s: %s) {\nfor i in 0..23 {\n"
		 "let v = x[i]\n if not c[i] { %s }\n"
		 "if v == s { y[i] = x[-1 - i] } else { y[i] = v } }\n}",
		 t, t, t, arithmetic(d));
	check_only(text, 1, 0, 0, 0);
}

Test(emit_cuda_grid, every_type)
{
	if (!cuda_fixture_open(&cuda))
		return;
	for (unsigned d = 0; d < DTYPE_END; d++)
		if (dtype_computes(d))
			check_type(d);
}

static void check_cast(unsigned from, unsigned to)
{
	char text[512];

	snprintf(text, sizeof text,
		 "kernel f(out y: %s[:], x: %s[:]) {\nfor i in 0..23 { y[i] = %s(x[i]) }\n}",
		 dtype_row(to)->name, dtype_row(from)->name, dtype_row(to)->name);
	check_only(text, 1, 0, 0, 0);
}

Test(emit_cuda_grid, casts)
{
	if (!cuda_fixture_open(&cuda))
		return;
	for (unsigned from = 0; from < DTYPE_END; from++)
		for (unsigned to = (from % 2); to < DTYPE_END; to += 2)
			if (dtype_computes(from) && dtype_computes(to))
				check_cast(from, to);
}

Test(emit_cuda_grid, functions_of_mathematics)
{
	if (!cuda_fixture_open(&cuda))
		return;
	check_text("kernel f(out y: float64[:], x: float64[:]) {\nfor i in 0..len(y) { "
		   "y[i] = sqrt(abs(x[i])) + floor(x[i]) }\n}",
		   1, 0);
	check_text("kernel f(out y: float64[:], x: float64[:]) {\nfor i in 0..len(y) { "
		   "y[i] = exp(sin(x[i] / 8.0)) }\n}",
		   1, 8);
	check_text("kernel f(out y: float32[:], x: float32[:]) {\nfor i in 0..len(y) { "
		   "y[i] = exp(-abs(x[i])) }\n}",
		   1, 4);
}

/* ---- Programs that chance writes ---- */

struct chance {
	uint64_t state;
	char text[4096];
	size_t n;
	unsigned names;
};

static unsigned pick(struct chance *c, unsigned n)
{
	c->state = c->state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(c->state >> 33) % n;
}

static void put(struct chance *c, const char *s)
{
	c->n += (size_t)snprintf(c->text + c->n, sizeof c->text - c->n, "%s", s);
	cr_assert_lt(c->n, sizeof c->text);
}

static void put_integer(struct chance *c, int depth)
{
	static const char *const leaf[] = {"i", "k", "n", "j[i]", "3", "len(x)", "(-2)"};
	static const char *const op[] = {" + ", " - ", " * ", " // ", " % ", " & ", " ^ "};

	if (!depth || !pick(c, 3)) {
		put(c, leaf[pick(c, 7)]);
		return;
	}
	put(c, "(");
	put_integer(c, depth - 1);
	put(c, op[pick(c, 7)]);
	put_integer(c, depth - 1);
	put(c, ")");
}

static void put_number(struct chance *c, int depth)
{
	static const char *const leaf[] = {"x[i]", "x[-1 - i]", "v", "0.75", "m[i % 9, i % 11]"};
	static const char *const op[] = {" + ", " - ", " * ", " / "};
	static const char *const call[] = {"min(", "max(", "some("};
	unsigned what = depth ? pick(c, 6) : 0;

	if (what < 2) {
		put(c, leaf[pick(c, 5)]);
	} else if (what == 2) {
		put(c, "float64(");
		put_integer(c, 2);
		put(c, ")");
	} else {
		put(c, what == 3 ? call[pick(c, 3)] : "(");
		put_number(c, depth - 1);
		put(c, what == 3 ? ", " : op[pick(c, 4)]);
		put_number(c, depth - 1);
		put(c, ")");
	}
}

static void put_statement(struct chance *c, int depth)
{
	unsigned what = pick(c, depth ? 5 : 2);
	char head[64], step[32], range[32];

	if (what < 2) {
		put(c, what ? "v = " : "n = ");
		if (what)
			put_number(c, 3);
		else
			put_integer(c, 2);
		put(c, "\n");
		return;
	}
	c->names++;
	snprintf(head, sizeof head, "let w%u = 0\nwhile w%u < ", c->names, c->names);
	snprintf(range, sizeof range, "for l%u in 0..", c->names);
	snprintf(step, sizeof step, " {\nw%u += 1\n", c->names);
	put(c, what == 2 ? "if " : what == 3 ? range : head);
	if (what == 2) {
		put_number(c, 2);
		put(c, " < ");
		put_number(c, 2);
	} else {
		put(c, "(");
		put_integer(c, 2);
		put(c, ") % 6");
	}
	put(c, what == 4 ? step : " {\n");
	put_statement(c, depth - 1);
	put_statement(c, depth - 1);
	if (what != 2 && !pick(c, 3))
		put(c, pick(c, 2) ? "if v > 1.0 { break }\n" : "if v > 1.0 { continue }\n");
	put(c, "}\n");
}

Test(emit_cuda_grid, programs_that_chance_writes)
{
	if (!cuda_fixture_open(&cuda))
		return;
	for (uint64_t k = 0; k < 24; k++) {
		static struct chance c;

		c = (struct chance){.state = k * 0x9e3779b97f4a7c15u};
		put(&c, "fn some(a: float64, b: float64) -> float64 {\n"
			"if a < b { return a - b }\n return a * 0.5 }\n" HEAD
			"for i in 0..len(y) {\nlet v = x[i]\nlet n = i\n");
		for (unsigned s = 2 + pick(&c, 4); s--;)
			put_statement(&c, 3);
		put(&c, "y[i] = v + float64(n)\n}\n}");
		check_only(c.text, 1, 0, 0, 0);
	}
}

/* ---- What goes wrong ---- */

static uint64_t error_of(const char *text, unsigned levels, uint32_t cancelled, unsigned *changed,
			 enum status *machine)
{
	struct world w = {0}, first, want;
	union lang_reg result[LANG_PARAMS];
	struct device d;
	uint64_t error;

	open_text(&w, text);
	first = want = w;
	lay(&w, 0);
	lay(&first, 0);
	lay(&want, 0);
	compile_grid(&d, &w, levels, levels - 1, 0);
	error = run_grid(&d, &w, 2, 1, cancelled);
	*changed = 0;
	for (unsigned a = 0; a < w.narray; a++)
		*changed += differ(&first, &w, a, 0);
	*machine = lang_run(w.kernel, want.array, want.scalar, result, NULL, NULL, NULL);
	drop_arrays(&w);
	drop_arrays(&first);
	drop_arrays(&want);
	cuda.unload(d.module);
	lang_unlink(w.kernel);
	return error;
}

Test(emit_cuda_grid, wrong_indices)
{
	static const struct {
		const char *body;
		uint64_t error;
	} one[] = {
		{"for i in 0..len(y) { y[i] = 1.0 }", KERNEL_GOOD},
		{"for i in 0..len(y) + 1 { y[i] = 1.0 }", CUDA_FAULT_INDEX},
		{"for i in -24..0 { y[i] = 1.0 }", CUDA_FAULT_INDEX},
		{"for i in -23..0 { y[i] = 1.0 }", KERNEL_GOOD},
		{"for i in 0..3 { y[i] = x[i + 1000000000000] }", CUDA_FAULT_INDEX},
		{"for i in 0..3 { y[i] = x[i - 9223372036854775807] }", CUDA_FAULT_INDEX},
		{"for i in 0..3 { y[i] = m[8, 11 * (i // 2)] }", CUDA_FAULT_INDEX},
		{"for i in 0..3 { y[i] = m[9 * (i // 2), 0] }", CUDA_FAULT_INDEX},
		{"for i in 0..len(y) { y[i] = x[j[i] * 12] }", CUDA_FAULT_INDEX},
		{"for i in 0..len(y) { y[i] = m[0, j[i] - 10] }", CUDA_FAULT_INDEX},
		{"for i in 0..3 { for n in j[i]..j[i] + 30 { y[i] = x[n] } }", CUDA_FAULT_INDEX},
		{"for i in 0..3 { for n in j[i]..j[i] + 20 { y[i] = x[n] } }", KERNEL_GOOD},
		{"for i in 0..3 { let z = 0; for l in 0..4 step z { y[i] = 1.0 } }",
		 CUDA_FAULT_STEP},
		{"for i in 0..3 { for l in 0..4 step k - 3 { y[i] = 1.0 } }", CUDA_FAULT_STEP},
	};

	if (!cuda_fixture_open(&cuda))
		return;
	for (unsigned c = 0; c < sizeof one / sizeof *one; c++) {
		char text[512];
		unsigned changed;
		enum status machine;

		snprintf(text, sizeof text, "%s%s\n}", HEAD, one[c].body);
		cr_expect_eq(error_of(text, 1, 0, &changed, &machine), one[c].error, "%s", text);
		cr_expect_eq(machine,
			     one[c].error == KERNEL_GOOD       ? OK
			     : one[c].error == CUDA_FAULT_STEP ? E_INVALID
							       : E_INDEX,
			     "%s", text);
	}
}

/* Of an index that is wrong in one turn the others are done, and no memory but the array's. */
Test(emit_cuda_grid, the_turn_of_a_wrong_index_ends)
{
	unsigned changed;
	enum status machine;

	if (!cuda_fixture_open(&cuda))
		return;
	cr_expect_eq(
		error_of(HEAD "for i in 0..len(y) + 5 { y[i] = 1.5 }\n}", 1, 0, &changed, &machine),
		CUDA_FAULT_INDEX);
	cr_expect_eq(changed, 23);
	cr_expect_eq(machine, E_INDEX);
	/* Base 1 has no element 0. */
	cr_expect_eq(error_of("kernel f(out y: float64[:]) base 1 {\n"
			      "for i in 0..4 { y[i] = 1.5 }\n}",
			      1, 0, &changed, &machine),
		     CUDA_FAULT_INDEX);
	cr_expect_eq(changed, 3);
	cr_expect_eq(machine, E_INDEX);
}

/* Threads look at the word now and then; each of these has 8192 turns and more. */
Test(emit_cuda_grid, a_run_that_is_cancelled)
{
	static const char *const text[] = {
		HEAD "for i in 0..23 { let s = 0; for l in 0..100000 { s += l }\n"
		     "y[i] = float64(s) }\n}",
		HEAD "for i in 0..23 { let s = 0; while s < 100000 { s += 1 }\n"
		     "y[i] = float64(s) }\n}",
		"fn slow(n: int64) -> int64 { let s = 0; while s < n { s += 1 }\n return s }\n" HEAD
		"for i in 0..23 { y[i] = float64(slow(100000)) }\n}",
	};
	unsigned changed;
	enum status machine;

	if (!cuda_fixture_open(&cuda))
		return;
	for (unsigned k = 0; k < sizeof text / sizeof *text; k++) {
		cr_expect_eq(error_of(text[k], 1, 1, &changed, &machine), KERNEL_GOOD);
		cr_expect_eq(changed, 0, "%s", text[k]);
		cr_expect_eq(error_of(text[k], 1, 0, &changed, &machine), KERNEL_GOOD);
		cr_expect_eq(changed, 23, "%s", text[k]);
	}
}
