/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_cuda*.c, kernels/pre.cuh and so on, worker/cuda_launch.c: kernels run by a
 * CUDA driver against the interpreter. */
#include "cuda_fixture.h"

TestSuite(emit_cuda_run, .timeout = 1200);

static struct cuda_fixture cuda;

/* How a step is cut before it is launched. */
enum cut { CUT_NONE, CUT_POINTS, CUT_CHUNKS };

struct device_run {
	const struct nest *n;
	struct run *r;
	void *module;
	uint64_t buffer[LIMIT_NEST_ACCESSES], base[LIMIT_NEST_ACCESSES], cancel, part;
	char seen[160]; /* entries launched */
};

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
		const struct cuda_launch *item = &l.item[i];
		void *function, *params[] = {block};

		strncat(d->seen, item->entry + 2, sizeof d->seen - strlen(d->seen) - 1);
		cuda_launch_set(block, &l, item, d->cancel, d->part, 0);
		cr_assert_eq(cuda.function(&function, d->module, item->entry), 0, "%s",
			     item->entry);
		cr_assert_eq(cuda.launch(function, item->grid, 1, 1, CUDA_THREADS, 1, 1, 0, NULL,
					 params, NULL),
			     0);
		cr_assert_eq(cuda.synchronize(NULL), 0, "%s faulted", item->entry);
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
			      .scalar = d->r->scalar};
	int64_t points = nest_parallel(n), middle = points / 2 + points / 7;
	int64_t chunks = (nest_reduced(n) + TREE_CHUNK - 1) / TREE_CHUNK;

	s.hi = points;
	if (cut == CUT_NONE) {
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
	for (unsigned a = 0; a < n->naccess; a++) {
		cr_assert_eq(cuda.alloc(&d.buffer[a], r->bytes[a] + 64), 0);
		cr_assert_eq(cuda.upload(d.buffer[a], r->buffer[a], r->bytes[a], NULL), 0);
		d.base[a] = d.buffer[a] + (uint64_t)(r->base[a] - r->buffer[a]);
	}
	launch_all(&d, cut);
	for (unsigned a = 0; a < n->naccess; a++) {
		cr_assert_eq(cuda.download(r->buffer[a], d.buffer[a], r->bytes[a], NULL), 0);
		cr_assert_eq(cuda.synchronize(NULL), 0);
		cuda.release(d.buffer[a]);
	}
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

/* Elements of what was written that differ by more than they may. */
static void judge(const char *name, const struct nest *n, const struct run *want,
		  const struct run *got, double (*may)(const struct nest_instr *in))
{
	for (unsigned a = 0; a < n->naccess; a++) {
		unsigned dtype = n->access[a].dtype, size = dtype_row(dtype)->bytes, bad = 0;
		uint8_t cls = dtype_row(dtype)->cls;
		const struct nest_instr *in = writer(n, a);
		size_t first = 0;
		double worst = 0;

		for (size_t at = 0; in && at + size <= want->bytes[a]; at += size) {
			const char *x = want->buffer[a] + at, *y = got->buffer[a] + at;
			double apart = INFINITY;

			cuda.ntotal++;
			if (same_element(x, y, dtype))
				continue;
			if (cls == CLASS_FLOAT || cls == CLASS_COMPLEX)
				apart = element_apart(x, y, dtype);
			if (apart <= may(in) || isinf(may(in)))
				continue;
			if (!bad++)
				first = at;
			if (apart > worst)
				worst = apart;
		}
		if (!bad)
			continue;
		cuda.nfailed++;
		fprintf(stderr,
			"%s, access %u (%s of %s): %u differ, the worst by %g ulp, the first is "
			"element %zu",
			name, a, in->op < OP_END ? op_row(in->op)->id : "-",
			dtype_row(in->ltype)->name, bad, worst, first / size);
		for (unsigned k = 0; k < size; k += cls == CLASS_COMPLEX ? size / 2 : size) {
			bool narrow = size == 4 || dtype == DT_COMPLEX64;

			if (cls == CLASS_FLOAT || cls == CLASS_COMPLEX)
				fprintf(stderr, " %g (%g)",
					part_of(got->buffer[a] + first + k, narrow),
					part_of(want->buffer[a] + first + k, narrow));
			else
				fprintf(stderr, " %02x (%02x)", (uint8_t)got->buffer[a][first],
					(uint8_t)want->buffer[a][first]);
		}
		fprintf(stderr, "\n");
	}
}

static void *module_for(const struct nest *n, const char *name)
{
	struct compile_nvrtc job = {.arch = 999}; /* PTX, which a driver and its stand-in take */
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

static void check(const char *name, const struct nest *n,
		  double (*may)(const struct nest_instr *in), const char *entries)
{
	void *module = module_for(n, name);
	struct run *want = run_made(n);
	enum cut last = n->nred && nest_reduced(n) > TREE_CHUNK ? CUT_CHUNKS : CUT_POINTS;
	char seen[160] = "";

	run_tier0(&at_best, n, want);
	for (enum cut cut = CUT_NONE; cut <= last; cut++) {
		struct run *got = run_made(n);

		run_device(n, module, got, cut, seen);
		if (entries && cut == CUT_NONE)
			cr_expect_str_eq(seen, entries, "%s", name);
		judge(name, n, want, got, may);
		run_free(got);
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
	const struct op_row *row = in->op < OP_END ? op_row(in->op) : NULL;
	bool complex = dtype_row(in->ltype)->cls == CLASS_COMPLEX;

	if (!row || dtype_row(in->ltype)->cls < CLASS_FLOAT)
		return 0;
	switch (in->op) {
	case OP_CBRT:
	case OP_EXP:
	case OP_EXPM1:
	case OP_EXP2:
	case OP_LOG:
	case OP_LOG2:
	case OP_LOG10:
	case OP_LOG1P:
	case OP_ARCTAN2:
	case OP_HYPOT:
	case OP_LOGADDEXP:
		return 4;
	case OP_POWER: /* complex powers have a test of their own */
		return complex ? INFINITY : 4;
	case OP_ABSOLUTE:
	case OP_SIGN:
	case OP_SQRT:
		return complex ? 4 : 0;
	default:
		return in->op >= OP_SIN && in->op <= OP_ARCTANH ? 4 : 0;
	}
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
	ops_of(DT_FLOAT32, DT_FLOAT64);
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

/* ---- reductions ------------------------------------------------------------------- */

enum layout { ROWS, COLUMNS };

/* `op` of a random array over its reduced loops; `fast` lies dense in memory. */
static unsigned reduce_load(struct nest *n, unsigned dtype, unsigned fast)
{
	unsigned loops = n->npar + n->nred, a = nest_access_add(n, dtype, false, loops, 1, 0);
	int64_t bytes = dtype_row(dtype)->bytes;

	n->access[a].stride[fast] = bytes;
	bytes *= n->extent[fast];
	for (unsigned l = loops; l-- > 0;)
		if (l != fast) {
			n->access[a].stride[l] = bytes;
			bytes *= n->extent[l];
		}
	return nest_put(n, NI_LOAD, dtype, 0, a, 0, 0);
}

static bool reduction(struct nest *n, unsigned op, unsigned dtype, int64_t points, int64_t reduced,
		      enum layout layout)
{
	struct op_arg arg = {(uint8_t)dtype, false};
	struct op_sig sig;
	unsigned v, fast = points == 1 || layout == ROWS ? (points != 1) : 0;

	if (!dtype_native(dtype) || op_infer(&sig, (enum op)op, &arg, DTYPE_END, NULL) ||
	    sig.in[0] != dtype)
		return false;
	memset(n, 0, sizeof *n);
	n->width = 8;
	n->npar = points != 1;
	n->nred = 1;
	n->extent[0] = points;
	n->extent[n->npar] = reduced;
	v = reduce_load(n, dtype, fast);
	v = nest_put(n, NI_REDUCE, sig.out, dtype, v, 0, op);
	n->post = n->ninstr;
	nest_store(n, v, n->npar, 1, (1u << n->npar) - 1);
	nest_finish(n, fast);
	return true;
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
		{"two and two", "_reduce_column_narrow", 2, 2, {2, 75, 20, 60}, 1},
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
