/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse matrices' products: each sum against one in the order of its row, of every type, layout,
 * instruction set and structure; what structures that lie come to; how a step is cut. */
#include "call/sparse.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "worker/worker.h"

static const struct sparse_isa *const isa[ISA_END] = {&sparse_isa_v2, &sparse_isa_v3,
						      &sparse_isa_v4};
static const unsigned types[] = {DT_INT64, DT_FLOAT32, DT_FLOAT64, DT_COMPLEX64, DT_COMPLEX128};
#define TYPES (sizeof types / sizeof *types)

/* ---- A matrix ---- */

#define COLUMNS 90 /* of a result: some whole blocks and a rest */

struct matrix {
	int64_t rows, inner, count;
	void *structure; /* int32 or int64, ends where its memory does */
	bool wide;
	char *entries, *from, *to;
	unsigned dtype, bytes;
};

static uint32_t some(uint32_t below)
{
	static uint32_t s = 1;

	s = s * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)s * below >> 32);
}

static void fill(char *to, int64_t n, unsigned dtype)
{
	int64_t numbers = dtype == DT_COMPLEX64 || dtype == DT_COMPLEX128 ? 2 * n : n;

	for (int64_t i = 0; i < numbers; i++) {
		double x = (some(2000) - 1000.0) / 7;

		if (dtype == DT_INT64)
			((uint64_t *)(void *)to)[i] = (uint64_t)some(UINT32_MAX) << some(40);
		else if (dtype == DT_FLOAT32 || dtype == DT_COMPLEX64)
			((float *)(void *)to)[i] = (float)x;
		else
			((double *)(void *)to)[i] = x;
	}
}

static int64_t number(const struct matrix *m, int64_t k)
{
	return m->wide ? ((int64_t *)m->structure)[k] : ((int32_t *)m->structure)[k];
}

static void set_number(struct matrix *m, int64_t k, int64_t x)
{
	if (m->wide)
		((int64_t *)m->structure)[k] = x;
	else
		((int32_t *)m->structure)[k] = (int32_t)x;
}

/* Row r has length(r) entries; their columns are anywhere, some of them twice. */
static void matrix_open(struct matrix *m, int64_t rows, int64_t inner, bool wide, unsigned dtype,
			int64_t (*length)(int64_t r))
{
	*m = (struct matrix){.rows = rows,
			     .inner = inner,
			     .wide = wide,
			     .dtype = dtype,
			     .bytes = dtype_row(dtype)->bytes};
	for (int64_t r = 0; r < rows; r++)
		m->count += length(r);
	m->structure = malloc((size_t)(rows + 1 + m->count) * (wide ? 8 : 4));
	m->entries = malloc((size_t)m->count * m->bytes);
	m->from = malloc((size_t)(inner * COLUMNS) * m->bytes);
	m->to = malloc((size_t)(rows * COLUMNS) * m->bytes);
	set_number(m, 0, 0);
	for (int64_t r = 0; r < rows; r++)
		set_number(m, r + 1, number(m, r) + length(r));
	for (int64_t k = 0; k < m->count; k++)
		set_number(m, rows + 1 + k, some((uint32_t)inner));
	fill(m->entries, m->count, dtype);
	fill(m->from, inner * COLUMNS, dtype);
}

static void matrix_close(struct matrix *m)
{
	free(m->structure);
	free(m->entries);
	free(m->from);
	free(m->to);
}

/* ---- What a product is ---- */

union sum {
	uint64_t word;
	float single[2];
	double part[2];
};

/* Rounded after each operation, whatever the compiler thinks of them. */
static void add_singles(float *sum, const float *a, const float *x, bool complex)
{
	volatile float part[4] = {a[0] * x[0]};
	volatile float re = part[0], im = 0;

	if (complex) {
		part[1] = a[1] * x[1];
		part[2] = a[0] * x[1];
		part[3] = a[1] * x[0];
		re = part[0] - part[1];
		im = part[2] + part[3];
		sum[1] += im;
	}
	sum[0] += re;
}

static void add_doubles(double *sum, const double *a, const double *x, bool complex)
{
	volatile double part[4] = {a[0] * x[0]};
	volatile double re = part[0], im = 0;

	if (complex) {
		part[1] = a[1] * x[1];
		part[2] = a[0] * x[1];
		part[3] = a[1] * x[0];
		re = part[0] - part[1];
		im = part[2] + part[3];
		sum[1] += im;
	}
	sum[0] += re;
}

static void add_term(union sum *sum, const char *a, const char *x, unsigned dtype)
{
	if (dtype == DT_INT64)
		sum->word +=
			*(const uint64_t *)(const void *)a * *(const uint64_t *)(const void *)x;
	else if (dtype == DT_FLOAT32 || dtype == DT_COMPLEX64)
		add_singles(sum->single, (const void *)a, (const void *)x, dtype == DT_COMPLEX64);
	else
		add_doubles(sum->part, (const void *)a, (const void *)x, dtype == DT_COMPLEX128);
}

static void expect(const struct matrix *m, const struct sparse_patch *p)
{
	for (int64_t r = p->lo; r < p->hi; r++)
		for (int64_t c = 0; c < p->columns; c++) {
			union sum sum = {.part = {0, 0}};

			for (int64_t k = number(m, r); k < number(m, r + 1); k++)
				add_term(&sum, m->entries + k * m->bytes,
					 p->from + number(m, m->rows + 1 + k) * p->from_row +
						 c * p->from_column,
					 m->dtype);
			cr_assert(!memcmp(&sum, p->to + r * p->to_row + c * m->bytes, m->bytes),
				  "type %u, row %ld of %ld, column %ld", m->dtype, (long)r,
				  (long)m->rows, (long)c);
		}
}

static struct sparse_patch patch_of(const struct matrix *m, int64_t columns, bool by_columns)
{
	int64_t bytes = m->bytes;

	return (struct sparse_patch){.entries = m->entries,
				     .structure = m->structure,
				     .from = m->from,
				     .to = m->to,
				     .rows = m->rows,
				     .count = m->count,
				     .inner = m->inner,
				     .from_row = by_columns ? bytes : bytes * columns,
				     .from_column = by_columns ? bytes * m->inner : bytes,
				     .to_row = bytes * columns,
				     .columns = columns,
				     .hi = m->rows};
}

static int64_t short_rows(int64_t r)
{
	return r % 7 == 3 ? 0 : r % 5;
}

static int64_t long_rows(int64_t r)
{
	return r == 6 ? 0 : r == 20 ? 3000 : 100 + r * 37 % 90;
}

static void all_levels(struct matrix *m, const struct sparse_patch *p)
{
	for (int level = 0; level <= isa_best(); level++) {
		memset(m->to, 0x55, (size_t)(m->rows * p->columns) * m->bytes);
		cr_assert(sparse_loop(isa[level], m->wide ? DT_INT64 : DT_INT32, m->dtype)(p));
		expect(m, p);
	}
}

Test(sparse, every_type_layout_and_structure, .timeout = 120)
{
	static const int64_t columns[] = {1, 2, 3, 7, 32, COLUMNS};

	for (size_t t = 0; t < 4 * TYPES; t++) {
		struct matrix m;

		matrix_open(&m, t & 1 ? 61 : 40, 53, t & 2, types[t / 4],
			    t & 1 ? short_rows : long_rows);
		for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
			struct sparse_patch p = patch_of(&m, columns[c], false);

			all_levels(&m, &p);
			p = patch_of(&m, columns[c], true);
			all_levels(&m, &p);
		}
		matrix_close(&m);
	}
}

static int64_t few(int64_t r)
{
	return r % 3 + (r == 9 ? 40 : 1);
}

static int64_t many(int64_t r)
{
	return 64 + r % 3;
}

/* A number that lies leads nowhere: what is not there is not read, which sanitizers and the ends of
 * the memory show. */
Test(sparse, structures_that_lie_are_found, .timeout = 60)
{
	static const int64_t lies[] = {-1, INT32_MIN, INT32_MAX, 1 << 20};

	for (unsigned t = 0; t < 4; t++) {
		struct matrix m;
		struct sparse_patch p;

		matrix_open(&m, 13, 8, t & 1, DT_FLOAT64, t & 2 ? many : few);
		for (int64_t k = 0; k < m.rows + 1 + m.count; k++)
			for (size_t x = 0; x < sizeof lies / sizeof *lies; x++)
				for (int64_t columns = 1; columns < 10; columns += 8) {
					int64_t right = number(&m, k);

					set_number(&m, k, lies[x]);
					p = patch_of(&m, columns, false);
					for (int level = 0; level <= isa_best(); level++)
						cr_assert(!sparse_loop(isa[level],
								       m.wide ? DT_INT64 : DT_INT32,
								       m.dtype)(&p),
							  "number %ld", (long)k);
					set_number(&m, k, right);
				}
		set_number(&m, m.rows + 1, m.inner);
		cr_assert(!sparse_loop(isa[0], m.wide ? DT_INT64 : DT_INT32, m.dtype)(&p),
			  "one column too far");
		matrix_close(&m);
	}
}

/* ---- As a step ---- */

static struct plan_call step_of(const struct matrix *m, int64_t columns)
{
	int64_t bytes = m->bytes;
	struct plan_call c = {
		.call = CALL_SPARSE,
		.dtype = (uint8_t)m->dtype,
		.nloop = SPARSE_LOOPS,
		.op = OP_SPARSE,
		.extent = {m->rows, columns, m->count, m->rows + 1 + m->count, m->inner}};

	for (unsigned x = 0; x <= SPARSE_RESULT; x++)
		c.operand[x].dtype = m->dtype;
	c.operand[SPARSE_STRUCTURE].dtype = m->wide ? DT_INT64 : DT_INT32;
	c.operand[SPARSE_ENTRIES].stride[SPARSE_LOOP_ENTRIES] = bytes;
	c.operand[SPARSE_STRUCTURE].stride[SPARSE_LOOP_STRUCTURE] = m->wide ? 8 : 4;
	c.operand[SPARSE_FROM].stride[SPARSE_LOOP_INNER] = bytes * columns;
	c.operand[SPARSE_FROM].stride[SPARSE_LOOP_COLUMNS] = bytes;
	c.operand[SPARSE_RESULT].stride[SPARSE_LOOP_ROWS] = bytes * columns;
	c.operand[SPARSE_RESULT].stride[SPARSE_LOOP_COLUMNS] = bytes;
	return c;
}

Test(sparse, units_are_stretches_of_rows)
{
	struct matrix m = {
		.rows = 1000, .inner = 50, .count = 30000, .dtype = DT_FLOAT64, .bytes = 8};
	struct plan_call c = step_of(&m, 3);
	struct sparse_patch p;
	struct call_units u;
	struct err err;
	int64_t lo = 0;

	cr_assert_eq(call_check(&c, &err), OK, "%s", err.text);
	cr_assert_eq(call_of_op(OP_SPARSE), CALL_SPARSE);
	call_row(CALL_SPARSE)->units(&u, &c, false);
	cr_assert(u.total > 5 && u.total < 30 && u.grain == 1 && !u.kept);
	cr_assert_eq(call_row(CALL_SPARSE)->work(&c), 93000);
	for (int64_t k = 0; k < u.total; k++) {
		sparse_of(&p, &c, k, k + 1);
		cr_assert(p.lo == lo && p.hi > lo, "each row once");
		lo = p.hi;
	}
	cr_assert_eq(lo, m.rows);
	call_row(CALL_SPARSE)->units(&u, &c, true);
	cr_assert(u.total == 1);
}

Test(sparse, what_cannot_be_is_refused)
{
	struct matrix m = {.rows = 10, .inner = 5, .count = 30, .dtype = DT_FLOAT64, .bytes = 8};
	struct err err;

	for (int k = 0; k < 14; k++) {
		struct plan_call c = step_of(&m, 2);

		switch (k) {
		case 0:
			c.op = OP_MATMUL;
			break;
		case 1:
			c.dtype = DT_INT32;
			break;
		case 2:
			c.operand[SPARSE_STRUCTURE].dtype = DT_UINT32;
			break;
		case 3:
			c.operand[SPARSE_FROM].dtype = DT_FLOAT32;
			break;
		case 4:
			c.operand[SPARSE_RESULT].dtype = DT_FLOAT32;
			break;
		case 5:
			c.operand[SPARSE_ENTRIES].dtype = DT_FLOAT32;
			break;
		case 6:
			c.extent[SPARSE_LOOP_STRUCTURE]--;
			break;
		case 7:
			c.extent[SPARSE_LOOP_INNER] = 0;
			break;
		case 8:
			c.operand[SPARSE_ENTRIES].stride[SPARSE_LOOP_ENTRIES] = 16;
			break;
		case 9:
			c.operand[SPARSE_STRUCTURE].stride[SPARSE_LOOP_STRUCTURE] = 8;
			break;
		case 10:
			c.operand[SPARSE_RESULT].stride[SPARSE_LOOP_INNER] = 8;
			break;
		case 11:
			c.operand[SPARSE_FROM].run = 2;
			break;
		case 12:
			c.nloop--;
			break;
		default:
			c.operand[SPARSE_RESULT].stride[SPARSE_LOOP_COLUMNS] = 16;
		}
		cr_assert_eq(call_check(&c, &err), E_INTERNAL, "wrong step %d", k);
	}
}

static enum status slice(struct worker *w, struct command_step *cmd, const struct matrix *m,
			 int64_t lo, int64_t hi)
{
	struct worker_call x = {.w = w,
				.cmd = cmd,
				.base = {m->entries, m->structure, m->from, m->to},
				.call = step_of(m, 1),
				.lo = lo,
				.hi = hi};
	struct command_place place[4] = {{0}};
	struct err err;

	x.place = place;
	return worker_sparse(&x, &err);
}

static int64_t steep(int64_t r)
{
	return r == 5000 ? 60000 : r % 11;
}

Test(sparse, slices_and_threads_do_not_show, .timeout = 60)
{
	struct worker w = {.closed = true}; /* there is no socket to look at */
	struct region whole = {0};
	struct command_step cmd = {0};
	struct sparse_patch p;
	struct call_units u;
	struct matrix m;
	struct err err;

	matrix_open(&m, 20000, 300, false, DT_FLOAT64, steep);
	w.regions.item = &whole;
	whole.addr = m.to;
	whole.bytes = (uint64_t)m.rows * 8;
	cr_assert_eq(pool_create(&w.pool, 2, &err), OK);
	w.progress = calloc(1, sizeof *w.progress);
	const struct plan_call c = step_of(&m, 1);
	call_row(CALL_SPARSE)->units(&u, &c, false);
	cr_assert_gt(u.total, 9);
	cr_assert_eq(slice(&w, &cmd, &m, 0, 2), OK);
	cr_assert_eq(slice(&w, &cmd, &m, 2, u.total - 1), OK);
	cr_assert_eq(slice(&w, &cmd, &m, u.total - 1, u.total), OK);
	p = patch_of(&m, 1, false);
	expect(&m, &p);
	set_number(&m, m.rows + 1 + m.count / 2, 300);
	cr_assert_eq(slice(&w, &cmd, &m, 0, u.total), E_INVALID);
	w.cancel = 1;
	cr_assert_eq(slice(&w, &cmd, &m, 0, u.total), E_CANCELLED);
	pool_destroy(w.pool);
	free(w.progress);
	matrix_close(&m);
}
