/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of every type and layout against a triple loop; every test runs
 * with OpenBLAS and with our own loops. */
#include <complex.h>
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifndef CMPLX /* glibc gives it to gcc only */
#define CMPLX(re, im) __builtin_complex((double)(re), (double)(im))
#endif

#include "float16.h"
#include "loops/isa.h"
#include "worker/matmul.h"

/* An operand laid out with the given order and gaps inside its own memory. */
struct operand {
	char *mem, *base;
	int64_t row, col, step;
	int64_t rows, cols, batch;
	unsigned es;
};

enum layout { LAY_C, LAY_F, LAY_GAPS, LAY_REVERSED, LAY_END };

static struct operand operand_create(int64_t batch, int64_t rows, int64_t cols, unsigned es,
				     enum layout lay)
{
	struct operand o = {.rows = rows, .cols = cols, .batch = batch, .es = es};
	int64_t bytes = 0;

	o.col = es;
	o.row = cols * es;
	if (lay == LAY_F) {
		o.row = es;
		o.col = rows * es;
	} else if (lay == LAY_GAPS) {
		o.col = 2 * es;
		o.row = (2 * cols + 3) * es;
	}
	o.step = (lay == LAY_GAPS ? o.row * rows : rows * cols * es) + es;
	bytes = batch * o.step + 64;
	o.mem = calloc(1, (size_t)bytes);
	o.base = o.mem;
	if (lay == LAY_REVERSED && rows && cols) {
		o.base = o.mem + (rows - 1) * o.row + (cols - 1) * o.col;
		o.row = -o.row;
		o.col = -o.col;
	}
	return o;
}

static char *operand_at(const struct operand *o, int64_t b, int64_t i, int64_t j)
{
	return o->base + b * o->step + i * o->row + j * o->col;
}

/* Small whole numbers: every type computes them without rounding. */
static double complex value_at(int64_t b, int64_t i, int64_t j, unsigned dtype, int which)
{
	uint32_t h =
		(uint32_t)(b * 7919 + i * 104729 + j * 1299709 + which * 15485863) * 2654435761u;
	unsigned cls = dtype_row(dtype)->cls;
	double re = (double)((h >> 8) % 7) - 3, im = (double)((h >> 20) % 5) - 2;

	if (cls == CLASS_BOOL)
		return h >> 30 == 0;
	if (cls == CLASS_UINT)
		return re + 3;
	return cls == CLASS_COMPLEX ? CMPLX(re, im) : CMPLX(re, 0);
}

#define STORE(T) *(T *)at = (T)creal(v)
#define LOAD(T)	 CMPLX((double)*(const T *)at, 0)

static void store(char *at, unsigned dtype, double complex v)
{
	switch (dtype) {
	case DT_BOOL:
		*(uint8_t *)at = creal(v) != 0;
		break;
	case DT_INT8:
		STORE(int8_t);
		break;
	case DT_UINT8:
		STORE(uint8_t);
		break;
	case DT_INT16:
		STORE(int16_t);
		break;
	case DT_UINT16:
		STORE(uint16_t);
		break;
	case DT_INT32:
		STORE(int32_t);
		break;
	case DT_UINT32:
		STORE(uint32_t);
		break;
	case DT_INT64:
		STORE(int64_t);
		break;
	case DT_UINT64:
		STORE(uint64_t);
		break;
	case DT_FLOAT16:
		*(uint16_t *)at = float16_bits(creal(v));
		break;
	case DT_FLOAT32:
		STORE(float);
		break;
	case DT_FLOAT64:
		STORE(double);
		break;
	case DT_COMPLEX64:
		*(float complex *)at = (float complex)v;
		break;
	default:
		*(double complex *)at = v;
		break;
	}
}

static double complex load(const char *at, unsigned dtype)
{
	switch (dtype) {
	case DT_BOOL:
		return LOAD(uint8_t);
	case DT_INT8:
		return LOAD(int8_t);
	case DT_UINT8:
		return LOAD(uint8_t);
	case DT_INT16:
		return LOAD(int16_t);
	case DT_UINT16:
		return LOAD(uint16_t);
	case DT_INT32:
		return LOAD(int32_t);
	case DT_UINT32:
		return LOAD(uint32_t);
	case DT_INT64:
		return LOAD(int64_t);
	case DT_UINT64:
		return LOAD(uint64_t);
	case DT_FLOAT16:
		return CMPLX(float16_value(*(const uint16_t *)at), 0);
	case DT_FLOAT32:
		return LOAD(float);
	case DT_FLOAT64:
		return LOAD(double);
	case DT_COMPLEX64:
		return *(const float complex *)at;
	default:
		return *(const double complex *)at;
	}
}

/* The exact sum as the type holds it: integers wrap, bool saturates. */
static double complex wrap(double complex v, unsigned dtype)
{
	const struct dtype_row *r = dtype_row(dtype);
	int64_t n = (int64_t)creal(v);

	if (r->cls == CLASS_BOOL)
		return n != 0;
	if (r->cls == CLASS_INT && r->bytes < 8)
		return (double)((int64_t)((uint64_t)n << (64 - 8 * r->bytes)) >>
				(64 - 8 * r->bytes));
	if (r->cls == CLASS_UINT && r->bytes < 8)
		return (double)((uint64_t)n & ((1ull << 8 * r->bytes) - 1));
	return v;
}

static void fill(struct operand *o, unsigned dtype, int which)
{
	for (int64_t b = 0; b < o->batch; b++)
		for (int64_t i = 0; i < o->rows; i++)
			for (int64_t j = 0; j < o->cols; j++)
				store(operand_at(o, b, i, j), dtype,
				      value_at(b, i, j, dtype, which));
}

struct problem {
	struct product p;
	struct operand o[3];
	char *base[3];
};

static struct problem problem_create(unsigned dtype, int64_t batch, int64_t m, int64_t k, int64_t n,
				     enum layout la, enum layout lb, enum layout lc)
{
	struct problem q = {.p = {.dtype = (uint8_t)dtype, .nbatch = 1, .m = m, .n = n, .k = k}};
	unsigned es = dtype_row(dtype)->bytes;

	q.o[0] = operand_create(batch, m, k, es, la);
	q.o[1] = operand_create(batch, k, n, es, lb);
	q.o[2] = operand_create(batch, m, n, es, lc);
	fill(&q.o[0], dtype, 0);
	fill(&q.o[1], dtype, 1);
	q.p.batch[0] = batch;
	for (int x = 0; x < 3; x++) {
		q.base[x] = q.o[x].base;
		q.p.row[x] = q.o[x].row;
		q.p.col[x] = q.o[x].col;
		q.p.step[x][0] = q.o[x].step;
	}
	/* Dirty, so that "gives zeros" means written zeros. */
	for (int64_t b = 0; b < batch; b++)
		for (int64_t i = 0; i < m; i++)
			for (int64_t j = 0; j < n; j++)
				store(operand_at(&q.o[2], b, i, j), dtype, 1);
	return q;
}

static void problem_finish(struct problem *q)
{
	for (int x = 0; x < 3; x++)
		free(q->o[x].mem);
}

/* How a product's units are gone through. */
struct way {
	int64_t slice; /* units at a time */
	bool apart;    /* chunks by themselves, then added */
};

static void do_chunks(const struct matmul_run *r, int64_t tile, int64_t lo, int64_t hi, bool apart,
		      const struct matmul_carry *carry, const struct matmul_thread *t)
{
	size_t bytes = matmul_part_bytes(r->p, r->cut);
	struct err err = {0};
	char *part = NULL;

	if (!apart) {
		cr_assert_eq(matmul_tile(r, tile, lo, hi, carry, t, &err), OK, "%s", err.text);
		return;
	}
	part = malloc((size_t)(hi - lo) * bytes + 64);
	for (int64_t c = hi; c-- > lo;) /* in any order */
		cr_assert_eq(matmul_part(r, tile, c, part + (size_t)(c - lo) * bytes, t, &err), OK);
	cr_assert_eq(matmul_fold(r, tile, lo, hi, part, carry, t, &err), OK);
	free(part);
}

static void compute(const struct matmul *lib, struct problem *q, struct way way)
{
	static float sums[2][PRODUCT_ROWS * PRODUCT_COLS];
	struct matmul_scratch s = {0};
	struct matmul_thread t = {.scratch = &s};
	struct product_cut cut;
	uint32_t cancel = 0;
	struct matmul_run r = {.library = lib,
			       .p = &q->p,
			       .cut = &cut,
			       .base = {q->base[0], q->base[1], q->base[2]},
			       .cancel = &cancel};
	int turn = 0;

	cr_assert(product_cut(&cut, &q->p));
	for (int64_t lo = 0; lo < cut.units; turn ^= 1) {
		int64_t tile = lo / cut.chunks, first = lo % cut.chunks;
		int64_t end = first + way.slice < cut.chunks ? first + way.slice : cut.chunks;
		struct matmul_carry carry = {sums[turn], sums[turn ^ 1]};

		do_chunks(&r, tile, first, end, way.apart, &carry, &t);
		lo += end - first;
	}
	matmul_scratch_finish(&s);
}

static void verify(const struct problem *q)
{
	const struct product *p = &q->p;

	for (int64_t b = 0; b < p->batch[0]; b++)
		for (int64_t i = 0; i < p->m; i++)
			for (int64_t j = 0; j < p->n; j++) {
				double complex want = 0, got;

				for (int64_t k = 0; k < p->k; k++)
					want += value_at(b, i, k, p->dtype, 0) *
						value_at(b, k, j, p->dtype, 1);
				want = wrap(want, p->dtype);
				got = load(operand_at(&q->o[2], b, i, j), p->dtype);
				cr_assert(want == got,
					  "%s %ldx%ldx%ld [%ld,%ld,%ld]: %g%+gi, want %g%+gi",
					  dtype_row(p->dtype)->name, (long)p->m, (long)p->k,
					  (long)p->n, (long)b, (long)i, (long)j, creal(got),
					  cimag(got), creal(want), cimag(want));
			}
}

static void both_libraries(void (*fn)(const struct matmul *))
{
	struct matmul none = {0}, lib;

	fn(&none);
	matmul_open(&lib);
	cr_assert(lib.handle, "OpenBLAS did not load");
	fn(&lib);
	matmul_close(&lib);
}

/* Of all types and layouts, 2 products of rows x 7 by 7 x cols. */
static void all_layouts(const struct matmul *lib, int64_t rows, int64_t cols)
{
	for (unsigned d = 0; d < DTYPE_END; d++) {
		for (int lay = 0; lay < LAY_END * LAY_END * LAY_END && dtype_computes(d); lay++) {
			struct problem q =
				problem_create(d, 2, rows, 7, cols, (enum layout)(lay % LAY_END),
					       (enum layout)(lay / LAY_END % LAY_END),
					       (enum layout)(lay / LAY_END / LAY_END));

			compute(lib, &q, (struct way){1, lay % 2});
			verify(&q);
			problem_finish(&q);
		}
	}
}

static void matrices(const struct matmul *lib)
{
	all_layouts(lib, 5, 6);
}

static void vectors(const struct matmul *lib)
{
	all_layouts(lib, 1, 6);
	all_layouts(lib, 5, 1);
}

Test(matmul, every_type_in_every_layout)
{
	both_libraries(matrices);
}

Test(matmul, one_row_and_one_column_in_every_layout)
{
	both_libraries(vectors);
}

static void odd_shapes(const struct matmul *lib)
{
	static const int64_t shape[][4] = {
		{1, 1, 1, 1},	 {1, 0, 4, 3},	 {1, 3, 0, 4},	 {1, 3, 4, 0},	   {0, 3, 4, 5},
		{1, 1, 300, 1},	 {3, 1, 5, 200}, {1, 200, 5, 1}, {2, 129, 3, 130}, {1, 2, 2500, 2},
		{1, 2, 3, 2100}, {5, 128, 2, 4}, {2, 3, 7000, 5}};
	static const unsigned types[] = {DT_FLOAT64, DT_FLOAT32, DT_COMPLEX128,
					 DT_INT64,   DT_INT8,	 DT_FLOAT16};

	for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
		for (size_t d = 0; d < 6; d++) {
			struct problem q =
				problem_create(types[d], shape[i][0], shape[i][1], shape[i][2],
					       shape[i][3], LAY_C, LAY_F, LAY_C);

			compute(lib, &q, (struct way){1 + (int64_t)i % 3, i % 2});
			verify(&q);
			problem_finish(&q);
		}
	}
}

Test(matmul, odd_and_empty_shapes)
{
	both_libraries(odd_shapes);
}

/* Irrational values: the order of the sum shows in the bits. */
static void fill_telling(struct problem *q)
{
	for (int x = 0; x < 2; x++)
		for (int64_t b = 0; b < q->o[x].batch; b++)
			for (int64_t i = 0; i < q->o[x].rows; i++)
				for (int64_t j = 0; j < q->o[x].cols; j++)
					store(operand_at(&q->o[x], b, i, j), q->p.dtype,
					      CMPLX(sin((double)(b + 3 * i + 7 * j + x)),
						    cos((double)(b - i + 5 * j))));
}

/* Rows, columns and inner axis are longer than what they are cut into. */
static void ways(const struct matmul *lib, int64_t rows, int64_t depth, int64_t cols,
		 enum layout right)
{
	static const struct way way[] = {{INT64_MAX / 2, false}, {1, false}, {2, false}, {3, false},
					 {INT64_MAX / 2, true},	 {1, true},  {2, true},	 {3, true}};
	static const unsigned types[] = {DT_FLOAT64, DT_FLOAT32, DT_FLOAT16, DT_COMPLEX64,
					 DT_COMPLEX128};

	for (size_t d = 0; d < 5; d++) {
		bool cplx = dtype_row(types[d])->cls == CLASS_COMPLEX;
		struct problem q = problem_create(types[d], 2, rows, cplx ? depth / 4 : depth, cols,
						  LAY_C, right, d % 2 ? LAY_C : LAY_GAPS);
		size_t bytes = 2 * (size_t)q.o[2].step;
		char *want = malloc(bytes);

		fill_telling(&q);
		for (size_t w = 0; w < 8; w++) {
			memset(q.o[2].mem, 0x55, bytes); /* gaps stay as they are */
			compute(lib, &q, way[w]);
			if (w == 0)
				memcpy(want, q.o[2].mem, bytes);
			cr_assert_eq(memcmp(want, q.o[2].mem, bytes), 0, "%s, way %zu",
				     dtype_row(types[d])->name, w);
		}
		problem_finish(&q);
		free(want);
	}
}

Test(matmul, slices_of_any_dimension_do_not_change_bits, .timeout = 300)
{
	struct matmul lib;

	matmul_open(&lib);
	cr_assert(lib.handle, "OpenBLAS did not load");
	ways(&lib, 130, 4200, 520, LAY_F);
	matmul_close(&lib);
}

static void lines(const struct matmul *lib)
{
	ways(lib, 1, 3000, 400, LAY_C);
	ways(lib, 1, 3000, 400, LAY_F);
	ways(lib, 1, 600, 700, LAY_C); /* summed by the tree */
	ways(lib, 1, 40, 6000, LAY_C);
	ways(lib, 400, 3000, 1, LAY_C);
}

Test(matmul, nor_do_those_of_a_row_or_a_column, .timeout = 300)
{
	both_libraries(lines);
}

static struct product_cut line_of(int64_t m, int64_t k, int64_t n)
{
	struct product p = {.dtype = DT_FLOAT64,
			    .m = m,
			    .n = n,
			    .k = k,
			    .row = {8 * k, 8 * n, 8 * n},
			    .col = {8, 8, 8}};
	struct product_cut cut;

	cr_assert(product_cut(&cut, &p));
	return cut;
}

Test(matmul, a_row_or_column_is_cut_where_that_is_worth_a_thread)
{
	struct product_cut whole = line_of(1, 2000, 2000), turned = line_of(2000, 2000, 1);
	struct product_cut sums = line_of(1, 600, 700), little = line_of(1, 200, 300);

	cr_assert_eq(whole.across, 1);
	cr_assert_eq(whole.chunks, 7);
	cr_assert_eq(turned.down, 1);
	cr_assert_eq(turned.chunks, 7);
	cr_assert_eq(sums.chunks, 1);
	cr_assert_eq(sums.across, 5);
	cr_assert_eq(little.units, 1);
}

static void polled(void *data)
{
	++*(int *)data;
}

static void endless(const struct matmul *lib, unsigned dtype)
{
	/* Of years: one element of each operand, met again and again. */
	struct problem q = problem_create(dtype, 1, 1, 1, 1, LAY_C, LAY_C, LAY_C);
	struct matmul_scratch s = {0};
	int polls = 0;
	struct matmul_thread t = {.scratch = &s, .poll = polled, .data = &polls};
	struct matmul_carry carry = {0};
	struct product_cut cut;
	uint32_t cancel = 1;
	struct matmul_run r = {.library = lib,
			       .p = &q.p,
			       .cut = &cut,
			       .base = {q.base[0], q.base[1], q.base[2]},
			       .cancel = &cancel};

	q.p.k = (int64_t)1 << 44;
	q.p.row[0] = q.p.col[0] = q.p.row[1] = q.p.col[1] = 0;
	cr_assert(product_cut(&cut, &q.p));
	carry.to = malloc(PRODUCT_ROWS * PRODUCT_COLS * sizeof(float));
	cr_assert_eq(matmul_tile(&r, 0, 0, cut.chunks, &carry, &t, NULL), OK);
	/* One chunk polls at least once for each of its panels. */
	cancel = 0;
	polls = 0;
	cr_assert_eq(matmul_tile(&r, 0, 0, 1, &carry, &t, NULL), OK);
	cr_assert_geq(polls, PRODUCT_CHUNK_PANELS, "%s", dtype_row(dtype)->name);
	free(carry.to);
	matmul_scratch_finish(&s);
	problem_finish(&q);
}

static void all_endless(const struct matmul *lib)
{
	for (unsigned d = 0; d < DTYPE_END; d++)
		if (dtype_computes(d))
			endless(lib, d);
}

Test(matmul, an_endless_inner_axis_is_polled_and_cancelled, .timeout = 120)
{
	both_libraries(all_endless);
}

Test(matmul, broadcast_operand_has_stride_zero)
{
	struct matmul lib;
	struct problem q = problem_create(DT_FLOAT64, 1, 4, 3, 5, LAY_C, LAY_C, LAY_C);

	/* Every row of A is its first row. */
	q.p.row[0] = 0;
	matmul_open(&lib);
	compute(&lib, &q, (struct way){1, false});
	for (int64_t i = 1; i < 4; i++)
		cr_assert_eq(memcmp(operand_at(&q.o[2], 0, i, 0), operand_at(&q.o[2], 0, 0, 0), 40),
			     0);
	matmul_close(&lib);
	problem_finish(&q);
}

/* A library that does not know the processor would choose loops of one that has less. */
Test(matmul, the_library_uses_what_the_processor_has)
{
	static const char *const narrow[] = {"Prescott",  "Barcelona", "Bulldozer",
					     "Excavator", "Haswell",   "Zen"};
	size_t n = isa_best() == ISA_V4 ? 6 : isa_best() == ISA_V3 ? 3 : 0;
	struct matmul lib;

	if (getenv("OPENBLAS_CORETYPE"))
		return;
	matmul_open(&lib);
	cr_assert(lib.handle && lib.core, "OpenBLAS did not load");
	for (size_t i = 0; i < n; i++)
		cr_assert_str_neq(lib.core(), narrow[i]);
	matmul_close(&lib);
}

/* Two threads find as much to do, whatever a product's height is. */
Test(matmul, tiles_are_of_one_height)
{
	for (int64_t m = 1; m < 9000; m += m < 600 ? 1 : 37) {
		struct product p = {
			.dtype = DT_FLOAT64, .m = m, .n = 300, .k = 200, .col = {8, 8, 8}};
		struct product_cut cut;
		int64_t last;

		cr_assert(product_cut(&cut, &p));
		last = m - (cut.down - 1) * cut.rows;
		cr_assert(last > 0 && last <= cut.rows, "%lld", (long long)m);
		if (m <= LIMIT_SHORT_SIDE)
			continue;
		cr_assert_leq(cut.rows, PRODUCT_ROWS);
		/* Rows come in fours, and each tile but the last may have three too many. */
		cr_assert(cut.down == 1 || cut.rows - last <= 4 * cut.down, "%lld: %lld and %lld",
			  (long long)m, (long long)cut.rows, (long long)last);
		cr_assert(m < 96 || cut.down % 2 == 0 || cut.down >= 16, "%lld: %lld tiles",
			  (long long)m, (long long)cut.down);
	}
}

/* For a tile a library packs its rows of A and its columns of B, rows + cols elements for each step
 * of the inner axis, which is paid for by rows * cols multiplications. */
Test(matmul, many_tiles_are_high_and_few_are_many)
{
	for (int64_t m = 300; m < 5000; m += 100)
		for (int64_t n = 300; n < 5000; n += 100) {
			struct product p = {
				.dtype = DT_FLOAT64, .m = m, .n = n, .k = 200, .col = {8, 8, 8}};
			struct product_cut cut;

			cr_assert(product_cut(&cut, &p));
			if (m >= 1400 && n >= 1400)
				cr_assert_geq(cut.rows, 340, "%lld x %lld", (long long)m,
					      (long long)n);
			/* Wide ones pack a quarter less; several threads find some. */
			cr_assert(m < 2100 || n < 1100 || cut.cols == PRODUCT_WIDE);
			cr_assert(cut.cols == PRODUCT_COLS || cut.tiles >= 8, "%lld x %lld",
				  (long long)m, (long long)n);
			/* A thread more finds something for each 256 by 512 of few elements. */
			if (cut.tiles < 8)
				cr_assert_leq(cut.rows, 256, "%lld x %lld", (long long)m,
					      (long long)n);
		}
}
