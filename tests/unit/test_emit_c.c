/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_c*.c: compiled kernels give the interpreter's bits. */
#include "emit_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

TestSuite(emit_c, .timeout = 300);

/* Walks along the vector loop, in elements: unit, strided, reversed, constant. */
static const int gaps[] = {1, 3, -2, 0};

/* One operation on one type over a 5 x 37 domain, operands by walks that `turn`
 * chooses. */
static void add_op(struct batch *b, unsigned op, unsigned dtype, unsigned turn)
{
	struct op_arg arg[3] = {
		{(uint8_t)dtype, false}, {(uint8_t)dtype, false}, {(uint8_t)dtype, false}};
	const struct op_row *row = op_row(op);
	unsigned v[3] = {0, 0, 0};
	struct op_sig sig;
	struct nest *n;
	char name[96];

	if (op == OP_WHERE)
		arg[0].dtype = DT_BOOL;
	if (op_infer(&sig, (enum op)op, arg, DTYPE_END, NULL))
		return;
	/* A cast before the loop is another instruction, tested by itself. */
	if (sig.in[row->arity - 1] != dtype || !dtype_native(sig.out))
		return;
	if (b->width == 16 && (dtype_row(dtype)->bytes > 4 || dtype_row(sig.out)->bytes > 4))
		return;
	snprintf(name, sizeof name, "%s %s walk %u", row->id, dtype_row(dtype)->name, turn);
	n = batch_add(b, name);
	n->npar = 2;
	n->extent[0] = 5;
	n->extent[1] = 37;
	for (unsigned i = 0; i < row->arity; i++)
		v[i] = nest_load(n, sig.in[i], 2, gaps[(turn + i) % 4], 3);
	nest_store(n, nest_put(n, op, sig.out, dtype, v[0], v[1], v[2]), 2, gaps[turn % 3], 3);
	nest_finish(n, 1);
}

static void every_op(unsigned width, unsigned first, unsigned last, int below)
{
	struct batch b = {.width = width, .below = below};

	for (unsigned op = first; op < last; op++)
		for (unsigned d = 0; d < DTYPE_END; d++)
			if (op_row(op) && op_row(op)->kind == KIND_EW && op != OP_CAST &&
			    op != OP_INDEX && dtype_native(d))
				add_op(&b, op, d, op + d);
	batch_run(&b);
}

Test(emit_c, unary_ops_of_8_lanes)
{
	every_op(8, OP_NEGATIVE, OP_ADD, 0);
}

Test(emit_c, binary_and_ternary_ops_of_8_lanes)
{
	every_op(8, OP_ADD, OP_CLIP + 1, 0);
}

Test(emit_c, ops_of_16_lanes)
{
	every_op(16, OP_NEGATIVE, OP_CLIP + 1, 0);
}

/* Older processors: the same text for a lower level, against tier 0 of that level. */
Test(emit_c, ops_on_lower_instruction_sets)
{
	for (int below = 1; isa_best() - below >= ISA_V2; below++) {
		every_op(8, OP_EXP, OP_SINH, below);
		every_op(8, OP_ADD, OP_FMOD, below);
		every_op(16, OP_EXP, OP_SINH, below);
	}
}

static void add_cast(struct batch *b, unsigned from, unsigned to, unsigned turn)
{
	struct nest *n;
	char name[96];

	if (!dtype_native(from) || !dtype_native(to))
		return;
	if (b->width == 16 && (dtype_row(from)->bytes > 4 || dtype_row(to)->bytes > 4))
		return;
	snprintf(name, sizeof name, "%s to %s", dtype_row(from)->name, dtype_row(to)->name);
	n = batch_add(b, name);
	n->npar = 1;
	n->extent[0] = 203;
	nest_store(n,
		   nest_put(n, OP_CAST, to, from, nest_load(n, from, 1, gaps[turn % 3], 1), 0, 0),
		   1, 1, 1);
	nest_finish(n, 0);
}

Test(emit_c, casts_between_all_types)
{
	for (unsigned width = 8; width <= 16; width += 8) {
		struct batch b = {.width = width};

		for (unsigned from = 0; from < DTYPE_END; from++)
			for (unsigned to = 0; to < DTYPE_END; to++)
				add_cast(&b, from, to, from + to);
		batch_run(&b);
	}
}

/* ---- shapes of maps ------------------------------------------------------------- */

static void add_chain(struct batch *b, unsigned length, int64_t n0, int64_t n1, int gap)
{
	static const unsigned ops[] = {OP_ADD, OP_MULTIPLY, OP_SUBTRACT, OP_MINIMUM};
	struct nest *n;
	unsigned x, y, v;
	char name[96];

	snprintf(name, sizeof name, "chain of %u over (%d,%d) gap %d", length, (int)n0, (int)n1,
		 gap);
	n = batch_add(b, name);
	n->npar = 2;
	n->extent[0] = n0;
	n->extent[1] = n1;
	n->nscalar = 1;
	n->scalar_dtype[0] = DT_FLOAT32;
	v = x = nest_load(n, DT_FLOAT32, 2, gap, 3);
	y = nest_load(n, DT_FLOAT32, 2, 0, 1); /* a column, broadcast */
	for (unsigned i = 0; i < length; i++)
		v = nest_put(n, ops[i % 4], DT_FLOAT32, DT_FLOAT32, v, i % 3 ? x : y, 0);
	v = nest_put(n, OP_MULTIPLY, DT_FLOAT32, DT_FLOAT32, v,
		     nest_put(n, NI_SCALAR, DT_FLOAT32, 0, 0, 0, 0), 0);
	nest_store(n, v, 2, 1, 3);
	nest_store(n, x, 2, 2, 3); /* and a second result */
	nest_finish(n, 1);
}

Test(emit_c, chains_long_and_short_over_rows_of_every_length)
{
	for (unsigned width = 8; width <= 16; width += 8) {
		struct batch b = {.width = width};

		for (int64_t row = 1; row <= 33; row += 4)
			add_chain(&b, 3, 7, row, row % 2 ? 1 : 3);
		add_chain(&b, 60, 3, 21, 1);
		add_chain(&b, 200, 1, 17, -1);
		add_chain(&b, 2, 2, 70000, 1);
		add_chain(&b, 2, 0, 5, 1);
		add_chain(&b, 2, 5, 0, 1);
		batch_run(&b);
	}
}

/* Two results, of a type and of another one: their lines begin elsewhere. */
static void add_long_rows(struct batch *b, unsigned dtype, unsigned other, int64_t row, int gap)
{
	struct nest *n;
	unsigned x, y;
	char name[96];

	snprintf(name, sizeof name, "rows of %d of %s and %s, gap %d", (int)row,
		 dtype_row(dtype)->name, dtype_row(other)->name, gap);
	n = batch_add(b, name);
	n->npar = 2;
	n->extent[0] = 5;
	n->extent[1] = row;
	x = nest_load(n, dtype, 2, 0, 1); /* a column, broadcast */
	y = nest_load(n, other, 2, gap, 3);
	nest_store(n, nest_put(n, OP_ADD, dtype, dtype, x, x, 0), 2, gap, 3);
	nest_store(n, nest_put(n, OP_MULTIPLY, other, other, y, y, 0), 2, 1, 3);
	nest_finish(n, 1);
}

Test(emit_c, long_rows_wherever_their_lines_begin)
{
	static const unsigned types[] = {DT_FLOAT32, DT_FLOAT64, DT_COMPLEX128, DT_INT8};

	for (int below = 0; below < 2; below++) {
		struct batch b = {.width = 8, .below = below};

		for (unsigned t = 0; t < 4; t++)
			for (int64_t row = 510; row < 560; row += 3)
				add_long_rows(&b, types[t], types[(t + (unsigned)row) % 4], row,
					      row % 2 ? 1 : 3);
		batch_run(&b);
	}
	struct batch b = {.width = 16};
	for (int64_t row = 1020; row < 1100; row += 3)
		add_long_rows(&b, DT_FLOAT32, DT_INT32, row, row % 2 ? 1 : 3);
	batch_run(&b);
}

/* Every store of a vector says which lines it writes, from `lines` on, and in which way. */
#define LINES 65536
static const char watched[] =
	"typedef bz_s_u64 U64;\n"
	"char *lines; unsigned char ways[65536];\n"
	"BZ_FN void saw(const char *p, U64 bytes, U64 keep)\n"
	"{\n"
	"unsigned char way = keep || (U64)p % bytes ? 1 : 2;\n"
	"ways[(U64)(p - lines) / BZ_LINE] |= way;\n"
	"ways[(U64)(p + bytes - 1 - lines) / BZ_LINE] |= way;\n"
	"}\n"
	"#define bz_nt_f32(p, v, keep) (saw(p, sizeof(bz_f32), keep), bz_st_f32(p, v))\n"
	"#define bz_nt_f64(p, v, keep) (saw(p, sizeof(bz_f64), keep), bz_st_f64(p, v))\n";

#define WATCHED_ROWS 40

static void add_watched(struct batch *b, unsigned dtype, int64_t row)
{
	struct nest *n = batch_add(b, "rows");

	n->npar = 2;
	n->extent[0] = WATCHED_ROWS;
	n->extent[1] = row;
	nest_store(n, nest_load(n, dtype, 2, 0, 1), 2, 1, 3);
	nest_finish(n, 1);
}

/* Lines that are written in both ways, and in `past` those that are not kept. */
static int both_ways(struct batch *b, int i, int64_t offset, int *past)
{
	struct nest *n = &b->c[i].n;
	struct run *r = run_new(n, 5);
	unsigned char *ways = dlsym(b->object, "ways");
	char **lines = dlsym(b->object, "lines"), *to = NULL, *own = r->base[1];
	size_t room = r->bytes[1] + 4096;
	bz_map_fn *map;
	int both = 0;

	*(void **)&map = symbol(b, i, "map");
	cr_assert(ways && lines && room / 64 < LINES);
	to = aligned_alloc(4096, (room + 4095) / 4096 * 4096);
	memset(ways, 0, LINES);
	*lines = to;
	r->base[1] = to + offset;
	r->args.stream = KERNEL_PAST;
	map(&r->args, 0, WATCHED_ROWS * n->extent[1]);
	r->base[1] = own;
	for (int l = 0; l < LINES; l++) {
		both += ways[l] == 3;
		*past += ways[l] == 2;
	}
	free(to);
	run_free(r);
	return both;
}

/* A line that is written past the caches and by them has to be fetched back: four times the time.
 */
Test(emit_c, no_line_is_written_past_the_caches_and_by_them)
{
	static const unsigned widths[] = {8, 16};
	static const int64_t rows[] = {16, 20, 24, 32, 36, 40, 64, 72, 200, 509, 600, 1100};

	for (unsigned w = 0; w < 2; w++) {
		struct batch b = {.width = widths[w], .text = watched};
		int past = 0, in_lines = 0;

		for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
			for (unsigned d = 0; d < (widths[w] < 16 ? 2 : 1); d++)
				add_watched(&b, d ? DT_FLOAT64 : DT_FLOAT32, rows[i]);
		batch_compile(&b);
		for (int i = 0; i < b.n; i++)
			for (int64_t offset = 0; offset < 64; offset += 8)
				cr_assert_eq(both_ways(&b, i, offset, &past), 0,
					     "rows of %lld, %u lanes, offset %lld",
					     (long long)b.c[i].n.extent[1], widths[w],
					     (long long)offset);
		/* Rows of 64 are whole lines of either type: all of them go past. */
		for (int i = 0; i < b.n; i++)
			if (b.c[i].n.extent[1] == 64) {
				in_lines = 0;
				both_ways(&b, i, 0, &in_lines);
				cr_assert_eq(in_lines * 64,
					     (int)b.c[i].n.extent[1] * WATCHED_ROWS *
						     dtype_row(b.c[i].n.access[1].dtype)->bytes);
			}
		cr_assert_gt(past, 0);
		dlclose(b.object);
		free(b.c);
	}
}

Test(emit_c, no_loop_at_all_is_one_point)
{
	struct batch b = {.width = 8};
	struct nest *n = batch_add(&b, "scalar nest");
	unsigned v = nest_load(n, DT_FLOAT64, 0, 1, 0);

	nest_store(n, nest_put(n, OP_SIN, DT_FLOAT64, DT_FLOAT64, v, 0, 0), 0, 1, 0);
	nest_finish(n, 0);
	batch_run(&b);
}

Test(emit_c, indices_of_every_loop)
{
	struct batch b = {.width = 8};
	struct nest *n = batch_add(&b, "indices");
	unsigned v, w;

	n->npar = 3;
	n->extent[0] = 3;
	n->extent[1] = 4;
	n->extent[2] = 19;
	v = nest_put(n, NI_INDEX, DT_INT64, 0, 0, 0, 0);
	w = nest_put(n, NI_INDEX, DT_INT64, 0, 1, 0, 0);
	v = nest_put(n, OP_LEFT_SHIFT, DT_INT64, DT_INT64, v, w, 0);
	w = nest_put(n, NI_INDEX, DT_INT64, 0, 2, 0, 0);
	v = nest_put(n, OP_ADD, DT_INT64, DT_INT64, v, w, 0);
	nest_store(n, v, 3, 1, 7);
	nest_finish(n, 2);
	batch_run(&b);
}

/* ---- reductions ------------------------------------------------------------------ */

struct shape_case {
	const char *name;
	uint8_t npar, nred;
	int64_t extent[4];
	uint8_t vec;
	int gap;
};

static const struct shape_case shapes[] = {
	{"inner 1x3000", 0, 1, {3000}, 0, 1},
	{"inner 5x37", 1, 1, {5, 37}, 1, 1},
	{"inner 3x1500 strided", 1, 1, {3, 1500}, 1, 3},
	{"inner 2x140000", 1, 1, {2, 140000}, 1, 1},
	{"inner, two reduced", 1, 2, {3, 50, 43}, 2, 1},
	{"inner, three reduced", 0, 3, {11, 30, 7}, 2, 1},
	{"outer 37x90", 1, 1, {90, 37}, 0, 1},
	{"outer 3000 rows", 1, 1, {19, 3000}, 0, 1},
	{"outer 70000 rows", 1, 1, {9, 70000}, 0, 1},
	{"outer, two each", 2, 2, {2, 75, 20, 60}, 1, 1},
	{"inner, one point", 1, 1, {4, 1}, 1, 1},
	{"inner, whole turns", 1, 1, {7, 128}, 1, 1},
	{"inner, two segments", 1, 1, {6, 203}, 1, 1},
	{"inner, more than side by side", 1, 1, {21, 1100}, 1, 1},
	{"outer, one row", 1, 1, {100, 1}, 0, 1},
};
#define NSHAPES (sizeof shapes / sizeof shapes[0])

static struct nest *reduce_nest(struct batch *b, const struct shape_case *s, const char *what)
{
	struct nest *n;
	char name[96];

	snprintf(name, sizeof name, "%s, %s", what, s->name);
	n = batch_add(b, name);
	n->npar = s->npar;
	n->nred = s->nred;
	memcpy(n->extent, s->extent, sizeof s->extent);
	return n;
}

/* The input: fast along the vector loop. */
static unsigned reduce_load(struct nest *n, const struct shape_case *s, unsigned dtype)
{
	unsigned loops = s->npar + s->nred, a;
	int64_t bytes = dtype_row(dtype)->bytes;

	if (s->vec == loops - 1)
		return nest_load(n, dtype, loops, s->gap, (1u << loops) - 1);
	a = nest_access_add(n, dtype, false, loops, 1, 0);
	/* Columns: the last parallel loop is contiguous. */
	n->access[a].stride[s->vec] = bytes;
	bytes *= n->extent[s->vec];
	for (unsigned l = loops; l-- > 0;)
		if (l != s->vec) {
			n->access[a].stride[l] = bytes;
			bytes *= n->extent[l];
		}
	return nest_put(n, NI_LOAD, dtype, 0, a, 0, 0);
}

/* A store on the parallel loops. */
static void reduce_store(struct nest *n, unsigned v)
{
	nest_store(n, v, n->npar, 1, (1u << n->npar) - 1);
}

static void add_reduction(struct batch *b, const struct shape_case *s, unsigned op, unsigned dtype)
{
	struct op_arg arg = {(uint8_t)dtype, false};
	struct op_sig sig;
	struct nest *n;
	unsigned v;
	char what[64];

	if (op_infer(&sig, (enum op)op, &arg, DTYPE_END, NULL) || sig.in[0] != dtype ||
	    dtype == DT_FLOAT16) /* is reduced as float32 */
		return;
	if (b->width == 16 && (dtype_row(dtype)->bytes > 4 || dtype_row(sig.out)->bytes > 4))
		return;
	snprintf(what, sizeof what, "%s %s", op_row(op)->id, dtype_row(dtype)->name);
	n = reduce_nest(b, s, what);
	v = reduce_load(n, s, dtype);
	v = nest_put(n, NI_REDUCE, sig.out, dtype, v, 0, op);
	n->post = n->ninstr;
	reduce_store(n, v);
	nest_finish(n, s->vec);
}

static void every_reduction(unsigned width, unsigned first, unsigned last)
{
	struct batch b = {.width = width};

	for (unsigned op = first; op <= last; op++)
		for (unsigned d = 0; d < DTYPE_END; d++)
			for (unsigned k = 0; k < 3 && dtype_native(d); k++)
				add_reduction(&b, &shapes[(op + 5 * d + 4 * k) % NSHAPES], op, d);
	batch_run(&b);
}

/* In parts: all at once take a compiler longer than it is given. */
Test(emit_c, reductions_of_8_lanes)
{
	every_reduction(8, OP_SUM, OP_SUM);
	every_reduction(8, OP_PROD, OP_PROD);
	every_reduction(8, OP_MIN, OP_MIN);
	every_reduction(8, OP_MAX, OP_ALL);
}

Test(emit_c, reductions_of_16_lanes)
{
	every_reduction(16, OP_SUM, OP_ALL);
}

/* Rows on either side of the lanes of a block, and of a block: accumulators begin with the rows
 * that come to them, and those of complex numbers that no row comes to are identities all the same.
 */
static void few_rows(unsigned width)
{
	static const int64_t rows[] = {2, 3, 31, 32, 33, 64, 65, 1023, 1024, 1025};
	static const unsigned ops[] = {OP_SUM, OP_PROD, OP_MAX};
	static const unsigned types[] = {DT_FLOAT64, DT_FLOAT32, DT_INT32, DT_COMPLEX64,
					 DT_COMPLEX128};
	struct batch b = {.width = width};

	for (unsigned r = 0; r < sizeof rows / sizeof rows[0]; r++) {
		struct shape_case s = {
			"outer, few rows", 1, 1, {rows[r] > 99 ? 9 : 277, rows[r]}, 0, 1};

		for (unsigned k = 0; k < sizeof types / sizeof types[0]; k++)
			add_reduction(&b, &s, ops[(r + k) % 3], types[k]);
		add_reduction(&b, &s, ops[(r + 1) % 3], DT_COMPLEX64);
	}
	batch_run(&b);
}

Test(emit_c, few_rows_of_8_lanes)
{
	few_rows(8);
}

Test(emit_c, few_rows_of_16_lanes)
{
	few_rows(16);
}

Test(emit_c, arg_reductions)
{
	every_reduction(8, OP_ARGMIN, OP_ARGMAX);
}

/* mean and spread of sin(x) * y, with a full-depth result and post instructions. */
static void add_fused(struct batch *b, const struct shape_case *s)
{
	struct nest *n = reduce_nest(b, s, "fused");
	unsigned loops = s->npar + s->nred, x, v, sum, most, at, w;

	n->nscalar = 1;
	n->scalar_dtype[0] = DT_FLOAT64;
	x = reduce_load(n, s, DT_FLOAT64);
	v = nest_put(n, OP_SIN, DT_FLOAT64, DT_FLOAT64, x, 0, 0);
	v = nest_put(n, OP_MULTIPLY, DT_FLOAT64, DT_FLOAT64, v,
		     nest_put(n, NI_SCALAR, DT_FLOAT64, 0, 0, 0, 0), 0);
	nest_store(n, v, loops, 1, (1u << loops) - 1);
	sum = nest_put(n, NI_REDUCE, DT_FLOAT64, DT_FLOAT64, v, 0, OP_SUM);
	w = nest_put(n, NI_INDEX, DT_INT64, 0, loops - 1u, 0, 0);
	w = nest_put(n, OP_CAST, DT_FLOAT64, DT_INT64, w, 0, 0);
	most = nest_put(n, NI_REDUCE, DT_FLOAT64, DT_FLOAT64, w, 0, OP_MAX);
	at = nest_put(n, NI_REDUCE, DT_INT64, DT_FLOAT64, x, 0, OP_ARGMAX);
	n->post = n->ninstr;
	v = nest_put(n, OP_DIVIDE, DT_FLOAT64, DT_FLOAT64, sum, most, 0);
	w = nest_load(n, DT_FLOAT64, n->npar, 3, (1u << n->npar) - 1);
	v = nest_put(n, OP_HYPOT, DT_FLOAT64, DT_FLOAT64, v, w, 0);
	reduce_store(n, v);
	reduce_store(n, at);
	reduce_store(n, nest_put(n, OP_CAST, DT_FLOAT64, DT_INT64, at, 0, 0));
	nest_finish(n, s->vec);
}

Test(emit_c, several_reductions_with_stores_and_instructions_behind_them)
{
	struct batch b = {.width = 8};

	for (unsigned i = 0; i < NSHAPES; i++)
		add_fused(&b, &shapes[i]);
	batch_run(&b);
}

Test(emit_c, over_no_element_sums_are_zero_and_products_one)
{
	static const struct shape_case empty[] = {{"inner empty", 1, 1, {5, 0}, 1, 1},
						  {"outer empty", 1, 1, {20, 0}, 0, 1}};
	struct batch b = {.width = 8};

	for (unsigned i = 0; i < 2; i++) {
		add_reduction(&b, &empty[i], OP_SUM, DT_FLOAT64);
		add_reduction(&b, &empty[i], OP_PROD, DT_INT64);
		add_reduction(&b, &empty[i], OP_ALL, DT_BOOL);
	}
	batch_run(&b);
}

/* ---- overlapping accesses --------------------------------------------------------- */

/* a = a * b in place: both accesses are of one buffer, and not `alone`. */
Test(emit_c, in_place_maps_read_before_they_write)
{
	struct batch b = {.width = 8};
	struct nest *n = batch_add(&b, "in place");
	struct run *r;
	double *data;
	unsigned v;

	n->npar = 1;
	n->extent[0] = 203;
	v = nest_load(n, DT_FLOAT64, 1, 1, 1);
	nest_store(n, nest_put(n, OP_ADD, DT_FLOAT64, DT_FLOAT64, v, v, 0), 1, 1, 1);
	n->access[0].alone = n->access[1].alone = 0;
	nest_finish(n, 0);
	batch_compile(&b);
	r = run_new(n, 1);
	data = (double *)(void *)r->base[0];
	for (int i = 0; i < 203; i++)
		data[i] = i;
	r->base[1] = r->base[0];
	run_tier1(&b, 0, r, 1);
	for (int i = 0; i < 203; i++)
		cr_assert_eq(data[i], 2.0 * i);
	run_free(r);
	free(b.c);
}

Test(emit_c, an_instruction_without_c_is_an_error_and_no_text)
{
	static struct nest n;
	struct err err = {OK, ""};
	char *out = NULL;

	n.ninstr = n.post = 1;
	n.width = 8;
	n.instr[0].op = OP_SIN;
	n.instr[0].dtype = n.instr[0].ltype = DTYPE_END;
	cr_assert_eq(emit_c(&out, &n, &err), E_INTERNAL);
	cr_assert_null(out);
	cr_assert(strstr(err.text, "instruction 0"));
	/* What runs at every point stays there: behind the reductions there is no one value. */
	n.nred = 1;
	n.instr[0] = (struct nest_instr){NI_INDEX, DT_INT64, DT_INT64, 0, 0, 0};
	n.instr[1] = (struct nest_instr){OP_NEGATIVE, DT_INT64, DT_INT64, 0, 0, 0};
	n.ninstr = 2;
	cr_assert_eq(emit_c(&out, &n, &err), E_INTERNAL);
	cr_assert_null(out);
	cr_assert(strstr(err.text, "instruction 1"));
}

/* Operations on integers that check an operand, a divisor or a count, before they use it. */
static const unsigned checked[] = {OP_DIVIDE, OP_FLOOR_DIVIDE, OP_REMAINDER,  OP_FMOD,
				   OP_POWER,  OP_LEFT_SHIFT,   OP_RIGHT_SHIFT};

static struct nest *checked_nest(struct batch *b, unsigned op, unsigned dtype, int64_t extent)
{
	struct op_arg arg[2] = {{(uint8_t)dtype, false}, {(uint8_t)dtype, false}};
	struct op_sig sig;
	struct nest *n;
	unsigned x, y;

	if (op_infer(&sig, (enum op)op, arg, DTYPE_END, NULL) || sig.in[1] != dtype)
		return NULL;
	n = batch_add(b, op_row(op)->id);
	n->npar = 1;
	n->extent[0] = extent;
	x = nest_load(n, dtype, 1, 1, 1);
	y = nest_load(n, dtype, 1, 1, 1);
	nest_store(n, nest_put(n, op, sig.out, dtype, x, y, 0), 1, 1, 1);
	nest_finish(n, 0);
	return n;
}

/* A client may write to such an operand between its check and its use. */
Test(emit_c, what_is_checked_is_fetched_once)
{
	struct err err = {OK, ""};
	unsigned seen = 0;

	for (size_t k = 0; k < sizeof checked / sizeof checked[0]; k++)
		for (unsigned d = 0; d < DTYPE_END; d++) {
			struct batch b = {.width = 8};
			enum dtype_class cls = dtype_row(d)->cls;
			struct nest *n = NULL;
			char *out = NULL;

			if (dtype_native(d) && (cls == CLASS_INT || cls == CLASS_UINT))
				n = checked_nest(&b, checked[k], d, 8);
			if (n) {
				cr_assert_eq(emit_c(&out, n, &err), OK);
				cr_assert(strstr(out, "g2 = v1; __asm__(\"\" : \"+m\"(g2));"), "%s",
					  out);
				cr_assert(strstr(out, "(v0, g2)"), "%s", out);
				cr_assert_null(strstr(out, "(v0, v1)"), "%s", out);
				seen++;
			}
			free(out);
			free(b.c);
		}
	/* True division of integers is made of floats; the other six take all eight types. */
	cr_assert_geq(seen, 6 * 8);
}

struct scribbler {
	char *divisors;
	unsigned bytes;
	size_t n;
	_Atomic bool stop;
};

/* A client that changes divisors and counts while its kernel runs. */
static void *scribble(void *arg)
{
	static const int64_t values[] = {3, 0, -1, 1, 0, 70, -5, 2};
	struct scribbler *s = arg;

	for (unsigned turn = 0; !atomic_load_explicit(&s->stop, memory_order_relaxed); turn++)
		for (size_t i = 0; i < s->n; i++)
			memcpy(s->divisors + i * s->bytes, &values[(turn + i) % 8], s->bytes);
	return NULL;
}

#define SCRIBBLED 4096
#define RUNS	  200

/* Both tiers live through it: no value is checked and then fetched again. */
Test(emit_c, operands_that_change_while_the_kernel_runs_do_no_harm)
{
	struct batch b = {.width = 8};

	for (size_t k = 0; k < sizeof checked / sizeof checked[0]; k++)
		for (unsigned d = 0; d < DTYPE_END; d++) {
			enum dtype_class cls = dtype_row(d)->cls;

			if (dtype_native(d) && (cls == CLASS_INT || cls == CLASS_UINT))
				checked_nest(&b, checked[k], d, SCRIBBLED);
		}
	cr_assert_gt(b.n, 0);
	batch_compile(&b);
	for (int i = 0; i < b.n; i++) {
		struct run *r = run_new(&b.c[i].n, 5);
		struct scribbler s = {.divisors = r->base[1],
				      .bytes = dtype_row(b.c[i].n.access[1].dtype)->bytes,
				      .n = SCRIBBLED};
		pthread_t thread;

		cr_assert_eq(pthread_create(&thread, NULL, scribble, &s), 0);
		for (int turn = 0; turn < RUNS; turn++) {
			run_tier0(&b, &b.c[i].n, r);
			run_tier1(&b, i, r, 0);
		}
		s.stop = true;
		pthread_join(thread, NULL);
		run_free(r);
	}
	dlclose(b.object);
	free(b.c);
}
