/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_tier0.c - the interpreter against loops written out in C, and
 * its reductions against the definition of the tree, at every level we can run. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "worker/tier0.h"

struct call {
	struct nest nest;
	char *base[LIMIT_NEST_ACCESSES];
	int64_t extent[LIMIT_NDIM];
	int64_t stride[LIMIT_NEST_ACCESSES * LIMIT_NDIM];
	uint64_t scalar[2 * LIMIT_NEST_SCALARS];
	int64_t gather[2];
	uint64_t error[LIMIT_NEST_CHECKS];
	uint32_t cancel;
	struct bz_args args;
	void *scratch;
};

static struct call *call_new(int npar, int nred, const int64_t *extent)
{
	struct call *c = calloc(1, sizeof *c);

	c->nest.npar = (uint8_t)npar;
	c->nest.nred = (uint8_t)nred;
	c->nest.vec = (uint8_t)(npar + nred ? npar + nred - 1 : 0);
	c->nest.width = 8;
	memcpy(c->extent, extent, (size_t)(npar + nred) * 8);
	c->args = (struct bz_args){c->base,    c->extent, c->stride, c->scalar,
				   &c->cancel, 0,	  c->gather, c->error};
	memset(c->error, 0xff, sizeof c->error);
	return c;
}

static void call_free(struct call *c)
{
	free(c->scratch);
	free(c);
}

static int access_add(struct call *c, void *base, unsigned dtype, bool write, const int64_t *stride)
{
	int x = c->nest.naccess++;

	c->base[x] = base;
	c->nest.access[x].dtype = (uint8_t)dtype;
	c->nest.access[x].write = write;
	memcpy(&c->stride[x * LIMIT_NDIM], stride, (size_t)(c->nest.npar + c->nest.nred) * 8);
	return x;
}

static int ins(struct call *c, unsigned op, unsigned dtype, unsigned ltype, int a, int b, int d)
{
	c->nest.instr[c->nest.ninstr] =
		(struct nest_instr){(uint16_t)op, (uint8_t)dtype, (uint8_t)ltype,
				    (uint16_t)a,  (uint16_t)b,	  (uint16_t)d};
	return c->nest.ninstr++;
}

static void ready(struct call *c)
{
	struct err err;

	if (!c->nest.nred)
		c->nest.post = c->nest.ninstr;
	cr_assert_eq(tier0_check(&c->nest, &err), OK, "%s", err.text);
	free(c->scratch);
	c->scratch = malloc(tier0_scratch(&c->nest));
}

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 11;
}

static double *random_f64(size_t n, uint64_t seed)
{
	double *x = malloc(n * sizeof *x + 64);

	for (size_t i = 0; i < n; i++)
		x[i] = ((double)next(&seed) / 4503599627370496.0 - 1.0) *
		       pow(10, (double)(next(&seed) % 13) - 6);
	return x;
}

static bool same(double a, double b)
{
	return memcmp(&a, &b, 8) == 0 || (isnan(a) && isnan(b));
}

/* z = sqrt(x * 2.5 + y) where x < y, else y; unit strides, odd ranges. */
Test(tier0, maps_a_chain_with_scalar_compare_and_where)
{
	enum { N = 5003 };
	int64_t n = N, unit = 8;
	double *x = random_f64(N, 1), *y = random_f64(N, 2), *z = calloc(N, 8), k = 2.5;
	struct call *c = call_new(1, 0, &n);

	access_add(c, x, DT_FLOAT64, false, &unit);
	access_add(c, y, DT_FLOAT64, false, &unit);
	access_add(c, z, DT_FLOAT64, true, &unit);
	ins(c, NI_LOAD, DT_FLOAT64, DT_FLOAT64, 0, 0, 0);
	ins(c, NI_LOAD, DT_FLOAT64, DT_FLOAT64, 1, 0, 0);
	ins(c, NI_SCALAR, DT_FLOAT64, DT_FLOAT64, 0, 0, 0);
	ins(c, OP_MULTIPLY, DT_FLOAT64, DT_FLOAT64, 0, 2, 0);
	ins(c, OP_ADD, DT_FLOAT64, DT_FLOAT64, 3, 1, 0);
	ins(c, OP_SQRT, DT_FLOAT64, DT_FLOAT64, 4, 0, 0);
	ins(c, OP_LESS, DT_BOOL, DT_FLOAT64, 0, 1, 0);
	ins(c, OP_WHERE, DT_FLOAT64, DT_FLOAT64, 6, 5, 1);
	ins(c, NI_STORE, DT_FLOAT64, DT_FLOAT64, 2, 7, 0);
	c->nest.nscalar = 1;
	memcpy(c->scalar, &k, 8);
	ready(c);
	for (int level = ISA_V2; level <= (int)isa_best(); level++) {
		memset(z, 0, N * 8);
		tier0_map_at(level, &c->nest, &c->args, 3, 1001, c->scratch);
		tier0_map_at(level, &c->nest, &c->args, 1001, N, c->scratch);
		for (int i = 0; i < N; i++) {
			double want = i < 3 ? 0 : x[i] < y[i] ? sqrt(x[i] * 2.5 + y[i]) : y[i];
			cr_assert(same(z[i], want), "level %d [%d] %a, not %a", level, i, z[i],
				  want);
		}
	}
	call_free(c);
	free(x), free(y), free(z);
}

/* Three loops, a transposed operand, a broadcast operand, a reversed result, the
 * index of two loops: nothing joins, every row is short. */
Test(tier0, maps_strided_rows_and_indices)
{
	int64_t ext[3] = {5, 7, 9};
	double x[5 * 7 * 9], y[9], z[5 * 7 * 9];
	int64_t sx[3] = {8, 5 * 8, 35 * 8}, sy[3] = {0, 0, 8}, sz[3] = {63 * 8, 9 * 8, -8};
	struct call *c = call_new(3, 0, ext);

	for (int i = 0; i < 315; i++)
		x[i] = i;
	for (int i = 0; i < 9; i++)
		y[i] = 1000 * i;
	access_add(c, x, DT_FLOAT64, false, sx);
	access_add(c, y, DT_FLOAT64, false, sy);
	access_add(c, z + 8, DT_FLOAT64, true, sz);
	ins(c, NI_LOAD, DT_FLOAT64, DT_FLOAT64, 0, 0, 0);
	ins(c, NI_LOAD, DT_FLOAT64, DT_FLOAT64, 1, 0, 0);
	ins(c, OP_ADD, DT_FLOAT64, DT_FLOAT64, 0, 1, 0);
	ins(c, NI_INDEX, DT_INT64, DT_INT64, 2, 0, 0);
	ins(c, NI_INDEX, DT_INT64, DT_INT64, 1, 0, 0);
	ins(c, OP_MULTIPLY, DT_INT64, DT_INT64, 3, 4, 0);
	ins(c, OP_CAST, DT_FLOAT64, DT_INT64, 5, 0, 0);
	ins(c, OP_SUBTRACT, DT_FLOAT64, DT_FLOAT64, 2, 6, 0);
	ins(c, NI_STORE, DT_FLOAT64, DT_FLOAT64, 2, 7, 0);
	ready(c);
	for (int lo = 0; lo < 315; lo += 50)
		tier0_map_at(isa_best(), &c->nest, &c->args, lo, lo + 50 < 315 ? lo + 50 : 315,
			     c->scratch);
	for (int i = 0; i < 5; i++)
		for (int j = 0; j < 7; j++)
			for (int k = 0; k < 9; k++)
				cr_assert_eq(z[i * 63 + j * 9 + 8 - k],
					     x[i + 5 * j + 35 * k] + y[k] - k * j);
	call_free(c);
}

Test(tier0, cleans_stored_bools_and_copies_every_size)
{
	int64_t n = 700, s1 = 1, s16 = 16, s32 = 32;
	unsigned char in[700], out[700];
	double pairs[1400 * 2], got[1400];
	struct call *c = call_new(1, 0, &n);

	for (int i = 0; i < 700; i++)
		in[i] = (unsigned char)(i % 5);
	for (int i = 0; i < 2800; i++)
		pairs[i] = i;
	access_add(c, in, DT_BOOL, false, &s1);
	access_add(c, out, DT_BOOL, true, &s1);
	access_add(c, pairs, DT_COMPLEX128, false, &s32);
	access_add(c, got, DT_COMPLEX128, true, &s16);
	ins(c, NI_LOAD, DT_BOOL, DT_BOOL, 0, 0, 0);
	ins(c, NI_STORE, DT_BOOL, DT_BOOL, 1, 0, 0);
	ins(c, NI_LOAD, DT_COMPLEX128, DT_COMPLEX128, 2, 0, 0);
	ins(c, OP_CONJ, DT_COMPLEX128, DT_COMPLEX128, 2, 0, 0);
	ins(c, NI_STORE, DT_COMPLEX128, DT_COMPLEX128, 3, 3, 0);
	ready(c);
	tier0_map_at(isa_best(), &c->nest, &c->args, 0, n, c->scratch);
	for (int i = 0; i < 700; i++) {
		cr_assert_eq(out[i], i % 5 != 0);
		cr_assert_eq(got[2 * i], 4 * i);
		cr_assert_eq(got[2 * i + 1], -(4 * i + 1));
	}
	call_free(c);
}

/* The tree as its definition says, for f64 sums: slow and literal. */
static double tree_sum(const double *x, int64_t n, int64_t stride)
{
	double stack[64], s;
	int sp = 0;

	if (!n)
		return 0.0;
	for (int64_t b = 0; b * TREE_BLOCK < n; b++) {
		double lane[32];

		for (int j = 0; j < 32; j++)
			lane[j] = -0.0;
		for (int64_t e = 0; e < TREE_BLOCK && b * TREE_BLOCK + e < n; e++)
			lane[e % 32] += x[(b * TREE_BLOCK + e) * stride];
		for (int w = 16; w; w /= 2)
			for (int j = 0; j < w; j++)
				lane[j] += lane[j + w];
		s = lane[0];
		for (int64_t m = b + 1; m % 2 == 0; m /= 2)
			s = stack[--sp] + s;
		stack[sp++] = s;
	}
	s = stack[--sp];
	while (sp)
		s = stack[--sp] + s;
	return s;
}

/* sum(x) * 2 over the last loop of a (rows, n) array. */
static struct call *sum_call(double *x, double *out, int64_t rows, int64_t n, bool columns)
{
	int64_t ext[2] = {rows, n}, sx[2] = {8 * n, 8}, so[2] = {8, 0};
	struct call *c;

	if (columns) {
		sx[0] = 8;
		sx[1] = 8 * rows;
	}
	c = call_new(1, 1, ext);
	c->nest.vec = columns ? 0 : 1;
	access_add(c, x, DT_FLOAT64, false, sx);
	access_add(c, out, DT_FLOAT64, true, so);
	ins(c, NI_LOAD, DT_FLOAT64, DT_FLOAT64, 0, 0, 0);
	ins(c, NI_REDUCE, DT_FLOAT64, DT_FLOAT64, 0, 0, OP_SUM);
	c->nest.post = (uint16_t)ins(c, NI_SCALAR, DT_FLOAT64, DT_FLOAT64, 0, 0, 0);
	ins(c, OP_MULTIPLY, DT_FLOAT64, DT_FLOAT64, 1, 2, 0);
	ins(c, NI_STORE, DT_FLOAT64, DT_FLOAT64, 1, 3, 0);
	memcpy(c->scalar, &(double){2.0}, 8);
	c->nest.nscalar = 1;
	ready(c);
	return c;
}

Test(tier0, sums_by_the_tree_whole_and_in_chunks)
{
	static const int64_t size[] = {0,    1,	   31,	  32,	 33,	1023,
				       1024, 1025, 65535, 65536, 65537, 200001};
	double *x = random_f64(200001, 7), out = -1;

	for (size_t i = 0; i < sizeof size / sizeof size[0]; i++) {
		int64_t n = size[i], chunks = (n + TREE_CHUNK - 1) / TREE_CHUNK;
		struct call *c = sum_call(x, &out, 1, n, false);
		double want = 2 * tree_sum(x, n, 1);
		struct bz_acc part[4];

		for (int level = ISA_V2; level <= (int)isa_best(); level++) {
			out = -1;
			tier0_reduce_at(level, &c->nest, &c->args, 0, 1, 0, chunks, NULL,
					c->scratch);
			cr_assert(same(out, want), "n %ld level %d", (long)n, level);
			out = -1;
			for (int64_t k = chunks; k-- > 0;)
				tier0_reduce_at(level, &c->nest, &c->args, 0, 1, k, k + 1, part,
						c->scratch);
			tier0_finish_at(level, &c->nest, &c->args, 0, 1, part, c->scratch);
			cr_assert(same(out, want), "chunks, n %ld", (long)n);
		}
		call_free(c);
	}
	free(x);
}

Test(tier0, columns_have_the_bits_of_rows)
{
	static const int64_t rows[] = {3, 70, 300, 1030}, sizes[] = {0, 1, 5, 33, 1025, 2100};

	for (int r = 0; r < 4; r++)
		for (int i = 0; i < 6; i++) {
			int64_t m = rows[r], n = sizes[i];
			double *x = random_f64((size_t)(m * n), 3), *out = malloc((size_t)m * 8);
			struct call *c = sum_call(x, out, m, n, true);

			tier0_reduce_at(isa_best(), &c->nest, &c->args, 0, m, 0,
					(n + 65535) / 65536, NULL, c->scratch);
			for (int64_t p = 0; p < m; p++)
				cr_assert(same(out[p], 2 * tree_sum(x + p, n, m)),
					  "%ld of %ld, %ld", (long)p, (long)m, (long)n);
			call_free(c);
			free(x), free(out);
		}
}

/* sum(x * y) + 1 over the last loop, y a vector whose elements are `step` apart; y NULL: of x * x.
 */
static struct call *dot_call(double *x, double *y, double *out, int64_t rows, int64_t n,
			     int64_t step)
{
	int64_t ext[2] = {rows, n}, sx[2] = {8 * n, 8}, sy[2] = {0, 8 * step}, so[2] = {8, 0};
	struct call *c = call_new(1, 1, ext);
	int product = 0;

	access_add(c, x, DT_FLOAT64, false, sx);
	access_add(c, y ? y : x, DT_FLOAT64, false, y ? sy : sx);
	access_add(c, out, DT_FLOAT64, true, so);
	ins(c, NI_LOAD, DT_FLOAT64, DT_FLOAT64, 0, 0, 0);
	if (y)
		ins(c, NI_LOAD, DT_FLOAT64, DT_FLOAT64, 1, 0, 0);
	product = ins(c, y ? OP_MULTIPLY : OP_SQUARE, DT_FLOAT64, DT_FLOAT64, 0, y ? 1 : 0, 0);
	ins(c, NI_REDUCE, DT_FLOAT64, DT_FLOAT64, product, 0, OP_SUM);
	c->nest.post = (uint16_t)ins(c, NI_SCALAR, DT_FLOAT64, DT_FLOAT64, 0, 0, 0);
	ins(c, OP_ADD, DT_FLOAT64, DT_FLOAT64, product + 1, product + 2, 0);
	ins(c, NI_STORE, DT_FLOAT64, DT_FLOAT64, 2, product + 3, 0);
	memcpy(c->scalar, &(double){1.0}, 8);
	c->nest.nscalar = 1;
	ready(c);
	return c;
}

/* At every level; sums of several chunks, too, which are joined. */
static void compare_dots(int64_t rows, int64_t n, bool square, int64_t step)
{
	double *x = random_f64((size_t)(rows * n + 1), 5), *out = malloc((size_t)rows * 8);
	double *y = random_f64((size_t)(n * step + 1), 6), *xy = malloc((size_t)(n + 1) * 8);
	struct call *c = dot_call(x, square ? NULL : y, out, rows, n, step);
	int64_t chunks = (n + TREE_CHUNK - 1) / TREE_CHUNK;

	for (int level = ISA_V2; level <= (int)isa_best(); level++) {
		tier0_reduce_at(level, &c->nest, &c->args, 0, rows, 0, chunks, NULL, c->scratch);
		for (int64_t p = 0; p < rows; p++) {
			for (int64_t e = 0; e < n; e++)
				xy[e] = x[p * n + e] * (square ? x[p * n + e] : y[e * step]);
			cr_assert(same(out[p], tree_sum(xy, n, 1) + 1.0), "%ld of %ld, %ld, %d",
				  (long)p, (long)rows, (long)n, level);
		}
	}
	call_free(c);
	free(x), free(y), free(xy), free(out);
}

Test(tier0, sums_of_products_have_the_bits_of_the_tree)
{
	static const int64_t rows[] = {1, 3, 40, 600},
			     sizes[] = {0, 1, 5, 31, 33, 255, 257, 1024, 1025, 2100};

	for (int r = 0; r < 4; r++)
		for (int i = 0; i < 10; i++)
			for (int64_t step = 1; step <= 2; step++) {
				compare_dots(rows[r], sizes[i], false, step);
				compare_dots(rows[r], sizes[i], true, step);
			}
	for (int64_t rows_of = 1; rows_of <= 6; rows_of++) {
		compare_dots(rows_of, TREE_CHUNK, false, 1);
		compare_dots(rows_of, TREE_CHUNK + 1, false, 1);
	}
	compare_dots(5, 3 * TREE_CHUNK - 1, false, 1);
	compare_dots(5, 2 * TREE_CHUNK + 700, true, 1);
}

/* Where each row's elements lie side by side and are many. */
Test(tier0, long_sums_of_products_are_quicker_than_code)
{
	static const struct {
		int64_t n, step;
		bool square, quicker;
	} cases[] = {{512, 1, false, true},  {512, 1, true, true},    {511, 1, false, false},
		     {512, 2, false, false}, {65536, 1, false, true}, {65537, 1, false, true}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int64_t n = cases[i].n;
		double *x = random_f64((size_t)(n * 4 + 1), 5), out[4];
		struct call *c = dot_call(x, cases[i].square ? NULL : x, out, 4, n, cases[i].step);
		void *lay = tier0_prepare(&c->nest);

		cr_assert_eq(tier0_quicker(&c->nest, lay, &c->args), cases[i].quicker, "%zu", i);
		free(lay);
		call_free(c);
		free(x);
	}
}

/* Accumulators of chunks, by tiles of columns and by single points. */
static void compare_parts(unsigned op, unsigned dtype, int64_t m, int64_t n)
{
	enum { CHUNKS = 3 };
	unsigned size = dtype_row(dtype)->bytes;
	int64_t ext[2] = {m, n}, sx[2] = {size, m * size}, so[2] = {size, 0};
	char *x = calloc((size_t)(m * n), size), *out = calloc((size_t)m, size);
	struct bz_acc *tiles = calloc((size_t)m * CHUNKS, sizeof *tiles);
	struct bz_acc *points = calloc((size_t)m * CHUNKS, sizeof *points);
	struct call *c = call_new(1, 1, ext);
	uint64_t seed = op * 64 + dtype;

	for (int64_t i = 0; i < m * n; i++)
		for (unsigned k = 0; k < size; k += 2) /* small enough for any type */
			x[i * size + k] = (char)(next(&seed) % 2);
	c->nest.vec = 0;
	access_add(c, x, dtype, false, sx);
	access_add(c, out, dtype, true, so);
	ins(c, NI_LOAD, dtype, dtype, 0, 0, 0);
	ins(c, NI_REDUCE, dtype, dtype, 0, 0, (int)op);
	c->nest.post = (uint16_t)ins(c, NI_STORE, dtype, dtype, 1, 1, 0);
	if (tier0_check(&c->nest, &(struct err){0}) == OK) {
		ready(c);
		for (int64_t k = 0; k < CHUNKS; k++)
			tier0_reduce_at(isa_best(), &c->nest, &c->args, 0, m, k, k + 1, tiles,
					c->scratch);
		for (int64_t p = 0; p < m; p++)
			tier0_reduce_at(isa_best(), &c->nest, &c->args, p, p + 1, 0, CHUNKS, points,
					c->scratch);
		cr_assert_arr_eq(tiles, points, (size_t)m * CHUNKS * sizeof *tiles, "%s of %s",
				 op_row(op)->stem, dtype_row(dtype)->suffix);
	}
	call_free(c);
	free(x), free(out), free(tiles), free(points);
}

Test(tier0, chunks_of_columns_have_the_bits_of_single_ones)
{
	static const unsigned op[] = {OP_SUM, OP_PROD, OP_MIN, OP_ARGMAX};

	for (unsigned o = 0; o < sizeof op / sizeof op[0]; o++)
		for (unsigned d = 0; d < DTYPE_END; d++)
			compare_parts(op[o], d, 9, 2 * TREE_CHUNK + 33);
	compare_parts(OP_SUM, DT_FLOAT64, 300, 2 * TREE_CHUNK + 1);
}

Test(tier0, sums_of_columns_in_chunks)
{
	enum { M = 10, N = 2 * TREE_CHUNK + 1030 };
	double *x = random_f64((size_t)M * N, 5), out[M];
	struct call *c = sum_call(x, out, M, N, true);
	struct bz_acc part[3 * M];

	for (int64_t k = 3; k-- > 0;)
		tier0_reduce_at(isa_best(), &c->nest, &c->args, 0, M, k, k + 1, part, c->scratch);
	tier0_finish_at(isa_best(), &c->nest, &c->args, 0, M, part, c->scratch);
	for (int64_t p = 0; p < M; p++)
		cr_assert(same(out[p], 2 * tree_sum(x + p, N, M)), "%ld", (long)p);
	call_free(c);
	free(x);
}

/* Two reduced loops are one sequence in C order, with several reductions at once. */
Test(tier0, reduces_two_loops_with_sum_max_and_argmin)
{
	enum { A = 37, B = 53 };
	int64_t ext[2] = {A, B}, sx[2] = {8, A * 8}, so[2] = {0, 0};
	double *x = random_f64(A * B, 11), flat[A * B], sum, max, best;
	int64_t arg, first = 0;
	struct call *c = call_new(0, 2, ext);

	for (int i = 0; i < A; i++)
		for (int j = 0; j < B; j++)
			flat[i * B + j] = x[i + j * A];
	best = flat[0];
	for (int e = 1; e < A * B; e++)
		if (flat[e] < best) {
			best = flat[e];
			first = e;
		}
	access_add(c, x, DT_FLOAT64, false, sx);
	access_add(c, &sum, DT_FLOAT64, true, so);
	access_add(c, &max, DT_FLOAT64, true, so);
	access_add(c, &arg, DT_INT64, true, so);
	ins(c, NI_LOAD, DT_FLOAT64, DT_FLOAT64, 0, 0, 0);
	ins(c, NI_REDUCE, DT_FLOAT64, DT_FLOAT64, 0, 0, OP_SUM);
	ins(c, NI_REDUCE, DT_FLOAT64, DT_FLOAT64, 0, 0, OP_MAX);
	ins(c, NI_REDUCE, DT_INT64, DT_FLOAT64, 0, 0, OP_ARGMIN);
	c->nest.post = 4;
	ins(c, NI_STORE, DT_FLOAT64, DT_FLOAT64, 1, 1, 0);
	ins(c, NI_STORE, DT_FLOAT64, DT_FLOAT64, 2, 2, 0);
	ins(c, NI_STORE, DT_INT64, DT_INT64, 3, 3, 0);
	ready(c);
	tier0_reduce_at(isa_best(), &c->nest, &c->args, 0, 1, 0, 1, NULL, c->scratch);
	cr_assert(same(sum, tree_sum(flat, A * B, 1)));
	cr_assert_eq(arg, first);
	for (int e = 0; e < A * B; e++)
		cr_assert(max >= flat[e]);
	x[5 + 7 * A] = NAN;
	x[5 + 9 * A] = NAN;
	tier0_reduce_at(isa_best(), &c->nest, &c->args, 0, 1, 0, 1, NULL, c->scratch);
	cr_assert_eq(arg, 5 * B + 7, "the first NaN wins");
	cr_assert(isnan(max) && isnan(sum));
	call_free(c);
	free(x);
}

Test(tier0, a_cancelled_call_returns_early_and_an_unknown_loop_is_refused)
{
	int64_t n = 4000, unit = 8;
	double *x = random_f64(4000, 5), out = 7;
	struct call *c = sum_call(x, &out, 1, n, false);
	struct err err;

	c->cancel = 1;
	tier0_reduce_at(isa_best(), &c->nest, &c->args, 0, 1, 0, 1, NULL, c->scratch);
	cr_assert_eq(out, 7);
	c->nest.instr[0].op = OP_LEFT_SHIFT;
	cr_assert_eq(tier0_check(&c->nest, &err), E_UNSUPPORTED);
	(void)unit;
	call_free(c);
	free(x);
}

Test(tier0, code_behind_a_reduction_that_uses_a_value_of_its_points_is_refused)
{
	double x[4] = {0}, out;
	struct call *c = sum_call(x, &out, 1, 4, false);
	struct err err;

	c->nest.instr[3].a = 0;
	cr_assert_eq(tier0_check(&c->nest, &err), E_INTERNAL);
	cr_assert(strstr(err.text, "instruction 3"), "%s", err.text);
	call_free(c);
}

/* The reduction reads its operand when the block is complete: a store of the same
 * value in between must not give its register to what follows. */
Test(tier0, value_that_is_reduced_and_then_stored_keeps_its_register)
{
	enum { N = 700 };
	int64_t n = N, unit = 8, none = 0, *x = malloc(N * 8), *y = calloc(N, 8), *z = calloc(N, 8),
		sum = 0, want = 0;
	struct call *c = call_new(0, 1, &n);

	for (int i = 0; i < N; i++) {
		x[i] = 3 * i - 100;
		want -= x[i];
	}
	access_add(c, x, DT_INT64, false, &unit);
	access_add(c, y, DT_INT64, true, &unit);
	access_add(c, z, DT_INT64, true, &unit);
	access_add(c, &sum, DT_INT64, true, &none);
	ins(c, NI_LOAD, DT_INT64, DT_INT64, 0, 0, 0);
	ins(c, OP_NEGATIVE, DT_INT64, DT_INT64, 0, 0, 0);
	ins(c, NI_REDUCE, DT_INT64, DT_INT64, 1, 0, OP_SUM);
	ins(c, NI_STORE, DT_INT64, DT_INT64, 1, 1, 0);
	ins(c, OP_SQUARE, DT_INT64, DT_INT64, 0, 0, 0);
	ins(c, NI_STORE, DT_INT64, DT_INT64, 2, 4, 0);
	c->nest.post = 6;
	ins(c, NI_STORE, DT_INT64, DT_INT64, 3, 2, 0);
	ready(c);
	tier0_reduce_at(isa_best(), &c->nest, &c->args, 0, 1, 0, 1, NULL, c->scratch);
	cr_assert_eq(sum, want);
	for (int i = 0; i < N; i++) {
		cr_assert_eq(y[i], -x[i]);
		cr_assert_eq(z[i], x[i] * x[i]);
	}
	call_free(c);
	free(x);
	free(y);
	free(z);
}
