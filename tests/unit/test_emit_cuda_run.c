/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_cuda*.c, kernels/pre.cuh and so on, cuda/cuda_launch.c: kernels run by a
 * CUDA driver against the interpreter. */
#include "cuda_fixture.h"

#include "gather_nest.h"

TestSuite(emit_cuda_run, .timeout = 1200);

static struct cuda_fixture cuda;

/* How a step is cut before it is launched; or whole, with points that do not begin on
 * multiples of 16 bytes, as they do else. */
enum cut { CUT_NONE, CUT_MISPLACED, CUT_POINTS, CUT_CHUNKS };

struct device_run {
	const struct nest *n;
	struct run *r;
	void *module;
	uint64_t buffer[LIMIT_NEST_ACCESSES], base[LIMIT_NEST_ACCESSES], cancel, part, error;
	char seen[160]; /* entries launched */
};

/* Which of the shapes of a launch is used: another one in each run, so that each test is
 * one of shapes as well. */
static unsigned shape_turn;

static void reshape(struct cuda_launch *item)
{
	const struct cuda_facts facts = {
		.units = CUDA_UNITS, .most_threads = CUDA_THREADS, .resident = {8, 4, 2}};
	struct cuda_shape shape[CUDA_CANDIDATES];
	unsigned n = cuda_geometry_candidates(shape, item, &facts);

	cr_assert_gt(n, 0);
	cuda_geometry_apply(item, &shape[shape_turn % n], &facts);
}

/* Run the entries whose indices have 64 bits, which large arrays take. */
static bool wide;

static enum cuda_entry widen(enum cuda_entry entry)
{
	static const enum cuda_entry pair[][2] = {{ENTRY_bz_map_narrow, ENTRY_bz_map},
						  {ENTRY_bz_map_vector_narrow, ENTRY_bz_map_vector},
						  {ENTRY_bz_map_row_narrow, ENTRY_bz_map_row},
						  {ENTRY_bz_map_tile_narrow, ENTRY_bz_map_tile}};

	for (unsigned i = 0; wide && i < sizeof pair / sizeof pair[0]; i++)
		if (entry == pair[i][0])
			return pair[i][1];
	return entry;
}

static void launch_step(struct device_run *d, struct cuda_step *s)
{
	char block[CUDA_ARGS_BYTES];
	struct cuda_launches l;
	struct err err = {OK, ""};

	cr_assert_lt(cuda_launch_args(block, s), sizeof block);
	cr_assert_eq(cuda_launch_plan(&l, s, CUDA_UNITS, &err), OK, "%s", err.text);
	if (l.part_bytes && (s->split & 1 || !s->split))
		cr_assert_eq(cuda.alloc(&d->part, l.part_bytes), 0);
	for (unsigned i = 0; i < l.n; i++) {
		struct cuda_launch *item = &l.item[i];
		void *function, *params[] = {block};
		const char *entry = cuda_entry_name(widen(item->entry));

		reshape(item);
		strncat(d->seen, entry + 2, sizeof d->seen - strlen(d->seen) - 1);
		cuda_launch_set(block, &l, item, d->cancel, d->part, d->error);
		cr_assert_eq(cuda.function(&function, d->module, entry), 0, "%s", entry);
		cr_assert_eq(cuda.launch(function, item->grid, 1, 1, item->threads, 1, 1, 0, NULL,
					 params, NULL),
			     0);
		cr_assert_eq(cuda.synchronize(NULL), 0, "%s faulted", entry);
	}
	if (d->part && (s->split & 2 || !s->split)) {
		cuda.release(d->part);
		d->part = 0;
	}
}

static void launch_all(struct device_run *d, enum cut cut)
{
	const struct nest *n = d->n;
	struct cuda_step s = {.spec = n,
			      .extent = d->r->extent,
			      .stride = d->r->stride,
			      .base = d->base,
			      .scalar = d->r->scalar,
			      .gather = d->r->gather};
	int64_t points = nest_parallel(n), middle = points / 2 + points / 7;
	int64_t chunks = (nest_reduced(n) + TREE_CHUNK - 1) / TREE_CHUNK;

	s.hi = points;
	if (cut <= CUT_MISPLACED) {
		launch_step(d, &s);
	} else if (cut == CUT_POINTS) {
		s.hi = middle;
		launch_step(d, &s);
		s.lo = middle;
		s.hi = points;
		launch_step(d, &s);
	} else {
		for (int64_t c = 0; c < chunks; c++) {
			s.lo = c;
			s.hi = c + 1;
			s.split = (uint8_t)(!c && c + 1 == chunks ? 3
					    : !c		  ? 1
					    : c + 1 == chunks	  ? 2
								  : 4);
			launch_step(d, &s);
		}
	}
}

/* Run a nest on the device, with the memory that `r` has on the host. */
static void run_device(const struct nest *n, void *module, struct run *r, enum cut cut,
		       char seen[160])
{
	struct device_run d = {.n = n, .r = r, .module = module};
	uint32_t zero = 0;

	cr_assert_eq(cuda.alloc(&d.cancel, 4), 0);
	cr_assert_eq(cuda.upload(d.cancel, &zero, 4, NULL), 0);
	cr_assert_eq(cuda.alloc(&d.error, sizeof r->error), 0);
	cr_assert_eq(cuda.upload(d.error, r->error, sizeof r->error, NULL), 0);
	for (unsigned a = 0; a < n->naccess; a++) {
		uint64_t before = (uint64_t)(r->base[a] - r->buffer[a]), start;

		cr_assert_eq(cuda.alloc(&d.buffer[a], r->bytes[a] + 64), 0);
		start = d.buffer[a] + (16 - before % 16) % 16;
		if (cut == CUT_MISPLACED)
			start += dtype_row(n->access[a].dtype)->bytes;
		cr_assert_eq(cuda.upload(start, r->buffer[a], r->bytes[a], NULL), 0);
		d.base[a] = start + before;
	}
	launch_all(&d, cut);
	for (unsigned a = 0; a < n->naccess; a++) {
		uint64_t start = d.base[a] - (uint64_t)(r->base[a] - r->buffer[a]);

		cr_assert_eq(cuda.download(r->buffer[a], start, r->bytes[a], NULL), 0);
		cr_assert_eq(cuda.synchronize(NULL), 0);
		cuda.release(d.buffer[a]);
	}
	cr_assert_eq(cuda.download(r->error, d.error, sizeof r->error, NULL), 0);
	cr_assert_eq(cuda.synchronize(NULL), 0);
	cuda.release(d.error);
	cuda.release(d.cancel);
	snprintf(seen, 160, "%s", d.seen);
}

static const struct batch at_best; /* the interpreter at this machine's level */

/* The instruction whose result access a is written with. */
static const struct nest_instr *writer(const struct nest *n, unsigned a)
{
	for (unsigned i = 0; i < n->ninstr; i++)
		if (n->instr[i].op == NI_STORE && n->instr[i].a == a)
			return &n->instr[n->instr[i].b];
	return NULL;
}

static void show(const struct run *r, unsigned a, unsigned dtype, size_t at)
{
	const struct dtype_row *row = dtype_row(dtype);
	unsigned part = row->cls == CLASS_COMPLEX ? row->bytes / 2u : row->bytes;

	for (unsigned k = 0; k < row->bytes; k += part)
		if (row->cls >= CLASS_FLOAT)
			fprintf(stderr, " %.17g", float_at(r->buffer[a] + at + k, part));
		else
			fprintf(stderr, " %02x...", (uint8_t)r->buffer[a][at]);
}

static double apart(const char *x, const char *y, unsigned dtype)
{
	if (same_element(x, y, dtype))
		return 0;
	return dtype_row(dtype)->cls >= CLASS_FLOAT ? element_apart(x, y, dtype) : INFINITY;
}

/* Elements of what was written that differ by more than they may. */
static void judge(const char *name, const struct nest *n, const struct run *want,
		  const struct run *got, double (*may)(const struct nest_instr *in))
{
	cr_expect_arr_eq(want->error, got->error, sizeof want->error, "%s: faults", name);
	for (unsigned a = 0; a < n->naccess; a++) {
		unsigned dtype = n->access[a].dtype, size = dtype_row(dtype)->bytes, bad = 0;
		const struct nest_instr *in = writer(n, a);
		size_t first = 0;

		if (!in || isinf(may(in)))
			continue;
		for (size_t at = 0; at + size <= want->bytes[a]; at += size, cuda.ntotal++)
			if (apart(want->buffer[a] + at, got->buffer[a] + at, dtype) > may(in) &&
			    !bad++)
				first = at;
		if (!bad)
			continue;
		cuda.nfailed++;
		fprintf(stderr, "%s, access %u (%s of %s): %u differ, first element %zu:", name, a,
			in->op < OP_END ? op_row(in->op)->id : "-", dtype_row(in->ltype)->name, bad,
			first / size);
		show(got, a, dtype, first);
		fprintf(stderr, ", not");
		show(want, a, dtype, first);
		fprintf(stderr, "\n");
	}
}

static void *module_for(const struct nest *n, const char *name)
{
	struct compile_nvrtc job = {.arch = cuda.arch};
	struct err err = {OK, ""};
	char *source = NULL, *code;
	void *module = NULL;

	cr_assert_eq(nest_check(n, &err), OK, "%s: %s", name, err.text);
	cr_assert_eq(emit_cuda_source(&source, n, &err), OK, "%s: %s", name, err.text);
	code = cuda_fixture_compile(source, &job, name);
	cr_assert_eq(cuda.load(&module, code, 0, NULL, NULL), 0, "%s does not load", name);
	free(code);
	free(source);
	return module;
}

/* Put other data into the operands before a run; NULL: the fixture's random data. */
static void (*prepare)(struct run *r);

static struct run *run_made(const struct nest *n)
{
	struct run *r = run_new(n, 99);

	if (prepare)
		prepare(r);
	return r;
}

static unsigned shape_runs = 1; /* to go through in each test */

static void check(const char *name, const struct nest *n,
		  double (*may)(const struct nest_instr *in), const char *entries)
{
	void *module = module_for(n, name);
	struct run *want = run_made(n);
	enum cut last = n->nred && nest_reduced(n) > TREE_CHUNK ? CUT_CHUNKS : CUT_POINTS;
	char seen[160] = "";

	run_tier0(&at_best, n, want);
	for (unsigned turn = CUT_NONE; turn <= last + (n->nred == 0); turn++) {
		enum cut cut = turn > last ? last : (enum cut)turn;

		wide = turn > last;
		for (unsigned i = 0; i < shape_runs; i++, shape_turn++) {
			struct run *got = run_made(n);

			run_device(n, module, got, cut, seen);
			if (entries && cut == CUT_NONE)
				cr_expect_str_eq(seen, entries, "%s", name);
			judge(name, n, want, got, may);
			run_free(got);
		}
	}
	run_free(want);
	cuda.unload(module);
}

static double exact(const struct nest_instr *in)
{
	return 0;
}

/* CUDA's functions may be some ulp off the CPU's; arithmetic is the same. */
static double by_function(const struct nest_instr *in)
{
	static const uint8_t functions[] = {OP_CBRT,	OP_EXP,	  OP_EXPM1, OP_EXP2,
					    OP_LOG,	OP_LOG2,  OP_LOG10, OP_LOG1P,
					    OP_ARCTAN2, OP_HYPOT, OP_POWER, OP_LOGADDEXP};
	static const uint8_t of_complex[] = {OP_ABSOLUTE, OP_SIGN, OP_SQRT};
	uint8_t cls = dtype_row(in->ltype)->cls;

	if (cls < CLASS_FLOAT || in->op >= OP_END)
		return 0;
	if (in->op == OP_POWER && cls == CLASS_COMPLEX)
		return INFINITY; /* has a test of its own */
	if (memchr(functions, in->op, sizeof functions) ||
	    (in->op >= OP_SIN && in->op <= OP_ARCTANH))
		return 4;
	return cls == CLASS_COMPLEX && memchr(of_complex, in->op, sizeof of_complex) ? 4 : 0;
}

static void ops_of(unsigned first, unsigned last)
{
	static struct nest n;
	char name[64];

	if (!cuda_fixture_open(&cuda))
		return;
	for (unsigned d = first; d <= last; d++) {
		for (unsigned op = 0; dtype_native(d) && op < OP_END;) {
			snprintf(name, sizeof name, "operations from %u on %s", op,
				 dtype_row(d)->name);
			if (ops_nest(&n, &op, d, d % 3, 5, 203))
				check(name, &n, by_function, NULL);
		}
	}
	cr_assert_eq(cuda.nfailed, 0, "%d accesses differ", cuda.nfailed);
	cr_assert_gt(cuda.ntotal, 0);
}

Test(emit_cuda_run, operations_on_bool_and_integers)
{
	ops_of(DT_BOOL, DT_UINT64);
}

Test(emit_cuda_run, operations_on_floats)
{
	ops_of(DT_FLOAT16, DT_FLOAT64);
}

Test(emit_cuda_run, operations_on_complex_numbers)
{
	ops_of(DT_COMPLEX64, DT_COMPLEX128);
}

Test(emit_cuda_run, casts)
{
	static struct nest n;

	if (!cuda_fixture_open(&cuda))
		return;
	for (unsigned d = 0; d < DTYPE_END; d++) {
		if (!dtype_native(d))
			continue;
		casts_nest(&n, d, 1003);
		check(dtype_row(d)->name, &n, exact, NULL);
	}
	cr_assert_eq(cuda.nfailed, 0);
}

/* a ** b is exp(b log a): an error of the logarithm grows with |b log a|, below 6 here. */
static double by_power(const struct nest_instr *in)
{
	return 4 * (1 + 6);
}

static void moderate(struct run *r)
{
	for (int i = 0; i < 200; i++) {
		double part[4] = {1.5 * cos(i), 1.5 * sin(i), 2 * sin(3 * i), 2 * cos(5 * i)};

		for (int k = 0; k < 4; k++) {
			float f = (float)part[k];
			char *at = r->base[k / 2];

			if (r->stride[0] == 8)
				memcpy(at + 8 * i + 4 * (k & 1), &f, 4);
			else
				memcpy(at + 16 * i + 8 * (k & 1), &part[k], 8);
		}
	}
}

Test(emit_cuda_run, complex_powers)
{
	static struct nest n;

	if (!cuda_fixture_open(&cuda))
		return;
	prepare = moderate;
	for (unsigned d = DT_COMPLEX64; d <= DT_COMPLEX128; d++) {
		unsigned x, y;

		memset(&n, 0, sizeof n);
		n.npar = 1;
		n.width = 8;
		n.extent[0] = 200;
		x = nest_load(&n, d, 1, 1, 1);
		y = nest_load(&n, d, 1, 1, 1);
		nest_store(&n, nest_put(&n, OP_POWER, d, d, x, y, 0), 1, 1, 1);
		nest_finish(&n, 0);
		check(dtype_row(d)->name, &n, by_power, NULL);
	}
	cr_assert_eq(cuda.nfailed, 0);
}

Test(emit_cuda_run, gathers)
{
	static const uint8_t types[] = {DT_FLOAT64, DT_BOOL, DT_INT16, DT_COMPLEX64};
	static struct nest n;

	if (!cuda_fixture_open(&cuda))
		return;
	for (unsigned k = 0; k < NGATHER; k++) {
		unsigned dtype = types[gather_cases[k].nred ? 0 : k % sizeof types];

		memset(&n, 0, sizeof n);
		gather_nest(&n, &gather_cases[k], dtype);
		check(gather_cases[k].name, &n, exact, NULL);
	}
	cr_assert_eq(cuda.nfailed, 0);
}

/* ---- reductions ------------------------------------------------------------------- */

enum layout { ROWS, COLUMNS };

/* `op` of a random array over its reduced loops; `fast` lies dense in memory. */
static unsigned reduce_load(struct nest *n, unsigned dtype, unsigned fast)
{
	unsigned loops = n->npar + n->nred, a = nest_access_add(n, dtype, false, loops, 1, 0);
	int64_t bytes = dtype_row(dtype)->bytes;

	n->access[a].stride[fast] = bytes;
	bytes *= n->extent[fast] ? n->extent[fast] : 1;
	for (unsigned l = loops; l-- > 0;)
		if (l != fast) {
			n->access[a].stride[l] = bytes;
			bytes *= n->extent[l] ? n->extent[l] : 1;
		}
	return nest_put(n, NI_LOAD, dtype, 0, a, 0, 0);
}

/* The reduction `op` over the last loops of these; `fast` lies dense in memory. */
static bool reduction_of(struct nest *n, unsigned op, unsigned dtype, unsigned npar, unsigned nred,
			 const int64_t *extent, unsigned fast)
{
	struct op_arg arg = {(uint8_t)dtype, false};
	struct op_sig sig;
	unsigned v;

	if (!dtype_native(dtype) || op_infer(&sig, (enum op)op, &arg, DTYPE_END, NULL) ||
	    sig.in[0] != dtype || dtype == DT_FLOAT16) /* is reduced as float32 */
		return false;
	memset(n, 0, sizeof *n);
	n->width = 8;
	n->npar = (uint8_t)npar;
	n->nred = (uint8_t)nred;
	memcpy(n->extent, extent, (npar + nred) * sizeof *extent);
	v = reduce_load(n, dtype, fast);
	v = nest_put(n, NI_REDUCE, sig.out, dtype, v, 0, op);
	n->post = n->ninstr;
	nest_store(n, v, n->npar, 1, (1u << n->npar) - 1);
	nest_finish(n, fast);
	return true;
}

static bool reduction(struct nest *n, unsigned op, unsigned dtype, int64_t points, int64_t reduced,
		      enum layout layout)
{
	const int64_t extent[] = {points, reduced};
	bool one = points == 1;

	return reduction_of(n, op, dtype, !one, 1, extent + one, one || layout == COLUMNS ? 0 : 1);
}

static const int64_t lengths[] = {0,	1,    2,    3,	  5,	8,     9,     16,    17,    31,
				  32,	33,   63,   64,	  65,	100,   1000,  1023,  1024,  1025,
				  2047, 3000, 8191, 8193, 9217, 20000, 65535, 65536, 65537, 140000};
#define NLENGTHS (sizeof lengths / sizeof lengths[0])

/* Sums of floats are what an order shows in. */
Test(emit_cuda_run, sums_of_every_length_by_rows_and_columns)
{
	static struct nest n;
	char name[96];

	if (!cuda_fixture_open(&cuda))
		return;
	for (unsigned i = 0; i < NLENGTHS; i++) {
		for (int layout = ROWS; layout <= COLUMNS; layout++) {
			unsigned d = (i + (unsigned)layout) % 2 ? DT_FLOAT32 : DT_FLOAT64;
			int64_t points = lengths[i] > 10000 ? 3 : lengths[i] > 1000 ? 9 : 70;

			if (layout == COLUMNS && lengths[i] > 10000)
				points = 9;
			reduction(&n, OP_SUM, d, points, lengths[i], (enum layout)layout);
			snprintf(name, sizeof name, "sum of %d, %s, by %s", (int)lengths[i],
				 dtype_row(d)->name, layout ? "columns" : "rows");
			check(name, &n, exact, NULL);
		}
	}
	cr_assert_eq(cuda.nfailed, 0);
}

/* Rows enough that a warp takes several: by whole vectors where they lie on multiples of 16 bytes
 * (a step that is misplaced goes element by element), and pieces of several blocks. */
Test(emit_cuda_run, several_rows_or_blocks_a_warp)
{
	static const struct {
		uint8_t dtype, op, npar, nred;
		int64_t extent[3];
		const char *entries;
	} rows[] = {
		{DT_FLOAT32, OP_SUM, 1, 1, {150, 64}, "_reduce_vector"},
		{DT_FLOAT32, OP_SUM, 1, 1, {131, 20}, "_reduce_vector"},
		{DT_FLOAT32, OP_SUM, 1, 1, {150, 101}, "_reduce_thin"},
		{DT_FLOAT32, OP_SUM, 2, 1, {3, 50, 72}, "_reduce_vector_narrow"},
		{DT_FLOAT32, OP_SUM, 1, 2, {150, 7, 12}, "_reduce_vector_narrow"},
		{DT_FLOAT32, OP_SUM, 1, 2, {150, 7, 11}, "_reduce_thin_narrow"},
		{DT_FLOAT32, OP_SUM, 0, 2, {41, 4100}, "_reduce_vector_narrow_finish"},
		{DT_FLOAT64, OP_SUM, 1, 1, {150, 13}, "_reduce_thin"},
		{DT_FLOAT64, OP_SUM, 1, 1, {131, 1022}, "_reduce_vector"},
		{DT_FLOAT64, OP_MIN, 1, 1, {67, 98}, "_reduce_vector"},
		{DT_FLOAT32, OP_ARGMAX, 1, 1, {150, 84}, "_reduce_vector"},
		{DT_FLOAT32, OP_ARGMIN, 1, 1, {150, 85}, "_reduce_thin"},
		{DT_INT8, OP_MAX, 1, 1, {300, 72}, "_reduce_vector"},
		{DT_INT64, OP_PROD, 1, 1, {300, 33}, "_reduce_thin"},
		{DT_BOOL, OP_ALL, 1, 1, {300, 40}, "_reduce_vector"},
		{DT_COMPLEX64, OP_SUM, 1, 1, {150, 130}, "_reduce_vector"},
		{DT_COMPLEX64, OP_PROD, 1, 1, {150, 19}, "_reduce_thin"},
		{DT_COMPLEX128, OP_SUM, 1, 1, {150, 40}, "_reduce_thin"},
		{DT_COMPLEX128, OP_SUM, 1, 1, {131, 701}, "_reduce_vector"},
		{DT_COMPLEX128, OP_PROD, 1, 1, {40, 2500}, "_reduce_vector"},
		{DT_FLOAT32, OP_SUM, 1, 1, {33, 4096}, "_reduce_vector"},
		{DT_FLOAT32, OP_SUM, 0, 1, {262148}, "_reduce_vector_finish"},
		{DT_FLOAT64, OP_SUM, 0, 1, {1000000}, "_reduce_vector_finish"},
		{DT_INT32, OP_MAX, 1, 1, {40, 5000}, "_reduce_vector"},
	};
	static struct nest n;
	char name[96];

	if (!cuda_fixture_open(&cuda))
		return;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		cr_assert(reduction_of(&n, rows[i].op, rows[i].dtype, rows[i].npar, rows[i].nred,
				       rows[i].extent, rows[i].npar + rows[i].nred - 1u),
			  "%u", i);
		snprintf(name, sizeof name, "%u: %s of rows, %s", i, op_row(rows[i].op)->id,
			 dtype_row(rows[i].dtype)->name);
		check(name, &n, exact, rows[i].entries);
	}
	cr_assert_eq(cuda.nfailed, 0);
}

Test(emit_cuda_run, every_reduction_of_every_type)
{
	static struct nest n;
	static const int64_t some[] = {7, 1100, 70, 4100, 66000};
	char name[96];
	unsigned turn = 0;

	if (!cuda_fixture_open(&cuda))
		return;
	for (unsigned op = OP_SUM; op <= OP_ARGMAX; op++) {
		for (unsigned d = 0; d < DTYPE_END; d++, turn++) {
			enum layout layout = (enum layout)(turn / 5 % 2);
			int64_t length = some[turn % 5], points = length > 10000 ? 1 : 11;

			if (!reduction(&n, op, d, points, length, layout))
				continue;
			snprintf(name, sizeof name, "%s of %d, %s, by %s", op_row(op)->id,
				 (int)length, dtype_row(d)->name, layout ? "columns" : "rows");
			check(name, &n, exact, NULL);
		}
	}
	cr_assert_eq(cuda.nfailed, 0);
}

struct shape_case {
	const char *name, *entries;
	uint8_t npar, nred;
	int64_t extent[4];
	uint8_t fast;
};

/* Several results of a nest whose reductions have 32 and 64 lanes, stores at every point
 * and instructions behind. */
static void add_fused(struct nest *n, const struct shape_case *s)
{
	unsigned loops = s->npar + s->nred, x, v, sum, most, at, w, small;

	memset(n, 0, sizeof *n);
	n->width = 8;
	n->npar = s->npar;
	n->nred = s->nred;
	memcpy(n->extent, s->extent, sizeof s->extent);
	n->nscalar = 1;
	n->scalar_dtype[0] = DT_FLOAT64;
	x = reduce_load(n, DT_FLOAT64, s->fast);
	v = nest_put(n, OP_MULTIPLY, DT_FLOAT64, DT_FLOAT64, x,
		     nest_put(n, NI_SCALAR, DT_FLOAT64, 0, 0, 0, 0), 0);
	nest_store(n, v, loops, 1, (1u << loops) - 1);
	memcpy(n->access[1].stride, n->access[0].stride, sizeof n->access[0].stride);
	small = nest_put(n, OP_CAST, DT_FLOAT32, DT_FLOAT64, x, 0, 0);
	sum = nest_put(n, NI_REDUCE, DT_FLOAT64, DT_FLOAT64, v, 0, OP_SUM);
	small = nest_put(n, NI_REDUCE, DT_FLOAT32, DT_FLOAT32, small, 0, OP_SUM);
	w = nest_put(n, NI_INDEX, DT_INT64, 0, loops - 1u, 0, 0);
	w = nest_put(n, OP_CAST, DT_FLOAT64, DT_INT64, w, 0, 0);
	most = nest_put(n, NI_REDUCE, DT_FLOAT64, DT_FLOAT64, w, 0, OP_MAX);
	at = nest_put(n, NI_REDUCE, DT_INT64, DT_FLOAT64, x, 0, OP_ARGMAX);
	n->post = n->ninstr;
	v = nest_put(n, OP_DIVIDE, DT_FLOAT64, DT_FLOAT64, sum, most, 0);
	w = nest_load(n, DT_FLOAT64, n->npar, 3, (1u << n->npar) - 1);
	v = nest_put(n, OP_ADD, DT_FLOAT64, DT_FLOAT64, v, w, 0);
	nest_store(n, v, n->npar, 1, (1u << n->npar) - 1);
	nest_store(n, at, n->npar, 1, (1u << n->npar) - 1);
	nest_store(n, small, n->npar, 2, (1u << n->npar) - 1);
	nest_finish(n, s->fast);
}

Test(emit_cuda_run, fused_reductions_of_many_shapes)
{
	static const struct shape_case shapes[] = {
		{"all of three loops", "_reduce_warp_narrow_finish", 0, 3, {11, 300, 27}, 2},
		{"rows", "_reduce_warp", 1, 1, {5, 37}, 1},
		{"long rows", "_reduce_warp_finish", 1, 1, {2, 140000}, 1},
		{"columns", "_reduce_column", 1, 1, {90, 37}, 0},
		{"many rows of columns", "_reduce_column_finish", 1, 1, {9, 70000}, 0},
		{"the middle axis kept", "_reduce_column_narrow", 1, 2, {60, 50, 13}, 0},
		{"the middle axis reduced", "_reduce_column_narrow", 2, 1, {7, 40, 90}, 1},
		{"two and two", "_reduce_column_narrow_finish", 2, 2, {2, 75, 20, 60}, 1},
		{"one row", "_reduce_warp", 1, 1, {1, 3000}, 1},
		{"over nothing", "_reduce_column", 1, 1, {20, 0}, 1},
	};
	static struct nest n;

	if (!cuda_fixture_open(&cuda))
		return;
	for (unsigned i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
		add_fused(&n, &shapes[i]);
		check(shapes[i].name, &n, exact, shapes[i].entries);
	}
	cr_assert_eq(cuda.nfailed, 0);
}

/* ---- maps ---------------------------------------------------------------------------- */

enum operand { DENSE, TRANSPOSED, ONE_ROW, ONE_COLUMN, EVERY_THIRD, BACKWARDS };

static unsigned operand(struct nest *n, enum operand how, unsigned dtype)
{
	unsigned loops = n->npar, a;
	int64_t bytes = dtype_row(dtype)->bytes;

	switch (how) {
	case TRANSPOSED:
		return reduce_load(n, dtype, 0);
	case ONE_ROW:
		return nest_load(n, dtype, loops, 1, 1u << (loops - 1));
	case ONE_COLUMN:
		return nest_load(n, dtype, loops, 1, 1);
	case EVERY_THIRD:
		return nest_load(n, dtype, loops, 3, (1u << loops) - 1);
	case BACKWARDS:
		a = nest_access_add(n, dtype, false, loops, -1, (1u << loops) - 1);
		n->access[a].stride[loops - 1] = -bytes;
		return nest_put(n, NI_LOAD, dtype, 0, a, 0, 0);
	default:
		return nest_load(n, dtype, loops, 1, (1u << loops) - 1);
	}
}

struct map_case {
	const char *name, *entries;
	uint8_t npar;
	int64_t extent[3];
	unsigned dtype;
	enum operand x, y;
};

/* (x + y) * (index of the last loop), and x again beside it. */
static void map_nest(struct nest *n, const struct map_case *c)
{
	unsigned x, y, v, i;

	memset(n, 0, sizeof *n);
	n->width = 8;
	n->npar = c->npar;
	memcpy(n->extent, c->extent, sizeof c->extent);
	x = operand(n, c->x, c->dtype);
	y = operand(n, c->y, c->dtype);
	v = nest_put(n, OP_ADD, c->dtype, c->dtype, x, y, 0);
	i = nest_put(n, NI_INDEX, DT_INT64, 0, c->npar - 1u, 0, 0);
	i = nest_put(n, OP_CAST, c->dtype, DT_INT64, i, 0, 0);
	nest_store(n, nest_put(n, OP_MULTIPLY, c->dtype, c->dtype, v, i, 0), c->npar, 1,
		   (1u << c->npar) - 1);
	nest_store(n, x, c->npar, 1, (1u << c->npar) - 1);
	nest_finish(n, c->npar - 1u);
}

static void check_map(const struct map_case *c)
{
	static struct nest n;

	map_nest(&n, c);
	check(c->name, &n, exact, c->entries);
}

Test(emit_cuda_run, maps_of_every_walk)
{
	static const struct map_case cases[] = {
		{"dense", "_map_vector_narrow", 1, {10003}, DT_FLOAT32, DENSE, DENSE},
		{"dense halves", "_map_vector_narrow", 1, {1003}, DT_FLOAT16, DENSE, DENSE},
		{"dense bytes", "_map_vector_narrow", 1, {1003}, DT_INT8, DENSE, DENSE},
		{"wide", "_map_vector_narrow", 1, {103}, DT_COMPLEX128, DENSE, DENSE},
		{"a row on every row",
		 "_map_vector_narrow",
		 2,
		 {37, 64},
		 DT_COMPLEX64,
		 DENSE,
		 ONE_ROW},
		{"odd rows", "_map_narrow", 2, {37, 63}, DT_COMPLEX64, DENSE, ONE_ROW},
		{"a column on every column",
		 "_map_vector_narrow",
		 2,
		 {37, 64},
		 DT_INT16,
		 DENSE,
		 ONE_COLUMN},
		{"transposed", "_map_tile_narrow", 2, {70, 90}, DT_FLOAT64, DENSE, TRANSPOSED},
		{"transposed, three loops",
		 "_map_tile_narrow",
		 3,
		 {40, 5, 50},
		 DT_FLOAT64,
		 DENSE,
		 TRANSPOSED},
		{"transposed and small", "_map_narrow", 2, {7, 9}, DT_FLOAT64, DENSE, TRANSPOSED},
		{"transposed halves",
		 "_map_tile_narrow",
		 2,
		 {70, 90},
		 DT_FLOAT16,
		 DENSE,
		 TRANSPOSED},
		{"every third", "_map_narrow", 2, {20, 33}, DT_UINT8, EVERY_THIRD, DENSE},
		{"backwards", "_map_narrow", 2, {20, 33}, DT_INT32, BACKWARDS, DENSE},
		{"three loops", "_map_narrow", 3, {5, 6, 7}, DT_UINT64, DENSE, BACKWARDS},
		{"one point", "_map_narrow", 1, {1}, DT_FLOAT64, DENSE, DENSE},
		{"long rows", "_map_row_narrow", 2, {5, 1003}, DT_FLOAT32, EVERY_THIRD, ONE_ROW},
		{"one row", "_map_row_narrow", 1, {5003}, DT_INT8, DENSE, BACKWARDS},
		{"long rows, three loops",
		 "_map_row_narrow",
		 3,
		 {2, 3, 901},
		 DT_COMPLEX128,
		 BACKWARDS,
		 ONE_COLUMN},
		{"no point", "", 1, {0}, DT_FLOAT64, DENSE, DENSE},
	};

	if (!cuda_fixture_open(&cuda))
		return;
	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
		check_map(&cases[i]);
	cr_assert_eq(cuda.nfailed, 0);
}

/* Every candidate for every entry: the same bits. */
Test(emit_cuda_run, no_shape_changes_a_bit)
{
	static const struct map_case maps[] = {
		{"vectors", "_map_vector_narrow", 1, {10003}, DT_FLOAT32, DENSE, DENSE},
		{"tiles", "_map_tile_narrow", 2, {70, 90}, DT_FLOAT64, DENSE, TRANSPOSED},
		{"points", "_map_narrow", 2, {37, 63}, DT_COMPLEX64, DENSE, ONE_ROW},
		{"rows", "_map_row_narrow", 2, {7, 1003}, DT_FLOAT32, DENSE, BACKWARDS},
	};
	static const struct {
		int64_t points, reduced;
		enum layout layout;
	} sums[] = {{40, 300, ROWS},
		    {3, 20000, ROWS},
		    {1, 140000, ROWS},
		    {70, 9, COLUMNS},
		    {40, 5000, COLUMNS}};
	static struct nest n;

	if (!cuda_fixture_open(&cuda))
		return;
	shape_runs = CUDA_CANDIDATES;
	for (unsigned i = 0; i < sizeof maps / sizeof maps[0]; i++)
		check_map(&maps[i]);
	for (unsigned i = 0; i < sizeof sums / sizeof sums[0]; i++) {
		reduction(&n, OP_SUM, DT_FLOAT32, sums[i].points, sums[i].reduced, sums[i].layout);
		check("a sum", &n, exact, NULL);
	}
	cr_assert_eq(cuda.nfailed, 0);
}
