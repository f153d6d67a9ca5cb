/* SPDX-License-Identifier: Apache-2.0 */
/* worker/matmul.c - tiles of a matrix product, by OpenBLAS or our own loops.
 *
 * Operands that the library cannot read where they lie (negative, zero or two
 * non-unit strides, unaligned) are packed block by block; C likewise. */
#include "matmul.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "tier0_ops.h"

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 }; /* of the CBLAS interface */

void matmul_open(struct matmul *m)
{
	void (*set_threads)(int) = NULL;

	*m = (struct matmul){0};
	/* Read by the library's constructor: it must start no threads of its own. */
	setenv("OPENBLAS_NUM_THREADS", "1", 1);
	m->handle = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
	if (!m->handle)
		return;
	*(void **)&m->sgemm = dlsym(m->handle, "cblas_sgemm");
	*(void **)&m->dgemm = dlsym(m->handle, "cblas_dgemm");
	*(void **)&m->cgemm = dlsym(m->handle, "cblas_cgemm");
	*(void **)&m->zgemm = dlsym(m->handle, "cblas_zgemm");
	*(void **)&set_threads = dlsym(m->handle, "openblas_set_num_threads");
	if (!m->sgemm || !m->dgemm || !m->cgemm || !m->zgemm || !set_threads) {
		matmul_close(m);
		return;
	}
	set_threads(1);
}

void matmul_close(struct matmul *m)
{
	if (m->handle)
		dlclose(m->handle);
	*m = (struct matmul){0};
}

void matmul_scratch_finish(struct matmul_scratch *s)
{
	free(s->mem);
	*s = (struct matmul_scratch){0};
}

static int64_t batches(const struct plan_matmul *p)
{
	int64_t n = 1;

	for (int i = 0; i < p->nbatch; i++)
		n *= p->batch[i];
	return n;
}

static int64_t div_up(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

enum status matmul_check(const struct plan_matmul *p, struct err *err)
{
	int64_t n = 1;

	if (!dtype_native(p->dtype))
		return err_set(err, E_INTERNAL, "matmul: element type %u has no loop", p->dtype);
	if (p->nbatch > LIMIT_NDIM || p->m < 0 || p->n < 0 || p->k < 0)
		return err_set(err, E_INTERNAL, "matmul: %u batch axes, %lld x %lld x %lld",
			       p->nbatch, (long long)p->m, (long long)p->k, (long long)p->n);
	for (int i = 0; i < p->nbatch; i++) {
		if (p->batch[i] < 0 || __builtin_mul_overflow(n, p->batch[i], &n))
			return err_set(err, E_INTERNAL, "matmul: batch extents overflow");
	}
	if (__builtin_mul_overflow(n, p->m, &n) || __builtin_mul_overflow(n, p->n, &n))
		return err_set(err, E_INTERNAL, "matmul: result extents overflow");
	return OK;
}

int64_t matmul_rows(const struct plan_matmul *p)
{
	return batches(p) * p->m;
}

static void widen(int64_t *lo, int64_t *hi, int64_t extent, int64_t stride)
{
	int64_t reach = (extent - 1) * stride;

	*(reach < 0 ? lo : hi) += reach;
}

void matmul_range(const struct plan_matmul *p, int x, int64_t *lo, int64_t *hi)
{
	int64_t rows = x == 1 ? p->k : p->m;
	int64_t cols = x == 0 ? p->k : p->n;

	*lo = *hi = 0;
	if (rows == 0 || cols == 0 || batches(p) == 0)
		return;
	widen(lo, hi, rows, p->row[x]);
	widen(lo, hi, cols, p->col[x]);
	for (int i = 0; i < p->nbatch; i++)
		widen(lo, hi, p->batch[i], p->step[x][i]);
	*hi += dtype_row(p->dtype)->bytes;
}

/* Row panels, over all batches, that begin before row r. */
static int64_t panels_before(const struct plan_matmul *p, int64_t r)
{
	return r / p->m * div_up(p->m, MATMUL_ROWS) + div_up(r % p->m, MATMUL_ROWS);
}

void matmul_tiles(const struct plan_matmul *p, int64_t lo, int64_t hi, int64_t *first, int64_t *end)
{
	int64_t across = div_up(p->n, MATMUL_COLS);

	*first = *end = 0;
	if (p->m == 0 || p->n == 0 || lo >= hi)
		return;
	*first = panels_before(p, lo) * across;
	*end = panels_before(p, hi) * across;
}

/* A block of one operand as gemm takes it. */
struct block {
	char *at;
	int trans, ld;
};

/* Leading dimension if rows of `cols` elements lie `row` bytes apart, else 0. */
static int leading(int64_t rows, int64_t cols, int64_t row, int64_t col, unsigned bytes)
{
	int64_t least = cols > 1 ? cols : 1;

	if (cols > 1 && col != bytes)
		return 0;
	if (rows <= 1)
		return (int)least;
	if (row % bytes != 0 || row / bytes < least || row / bytes > INT32_MAX)
		return 0;
	return (int)(row / bytes);
}

static bool block_direct(struct block *b, char *at, int64_t rows, int64_t cols, int64_t row,
			 int64_t col, unsigned bytes)
{
	b->at = at;
	b->trans = NO_TRANS;
	if ((uintptr_t)at % (bytes > 8 ? 8 : bytes) != 0)
		return false;
	b->ld = leading(rows, cols, row, col, bytes);
	if (b->ld)
		return true;
	b->trans = TRANS;
	b->ld = leading(cols, rows, col, row, bytes);
	return b->ld != 0;
}

/* A thread's memory cut up; each part has room for whole vectors (tier0_ops.h). */
struct areas {
	char *a, *b, *c; /* packed blocks, in the type that is computed in */
	char *half;	 /* one of them as float16 */
};

/* float16 is multiplied and summed in float32 and rounded once, as NumPy does. */
static unsigned computed_in(const struct plan_matmul *p)
{
	return p->dtype == DT_FLOAT16 ? DT_FLOAT32 : p->dtype;
}

static void convert(unsigned from, unsigned to, char *dst, const char *src, int64_t n)
{
	tier0_table(isa_best())->cast[from][to](dst, src, src, src, n);
}

/* Where a block at `at` of operand x can be read: in place, or packed in `mem`. */
static struct block block_take(const struct plan_matmul *p, int x, char *at, int64_t rows,
			       int64_t cols, bool direct, char *mem, const struct areas *m)
{
	unsigned bytes = dtype_row(p->dtype)->bytes;
	bool half = p->dtype == DT_FLOAT16;
	struct block b = {0};

	if (direct && !half && block_direct(&b, at, rows, cols, p->row[x], p->col[x], bytes))
		return b;
	matmul_pack(half ? m->half : mem, at, bytes, rows, cols, p->row[x], p->col[x]);
	if (half)
		convert(DT_FLOAT16, DT_FLOAT32, mem, m->half, rows * cols);
	return (struct block){.at = mem, .trans = NO_TRANS, .ld = (int)cols};
}

static void gemm(const struct matmul *m, unsigned dtype, const struct block *a,
		 const struct block *b, const struct block *c, int rows, int cols, int depth,
		 bool add)
{
	static const float one32[2] = {1.0f, 0.0f}, zero32[2] = {0.0f, 0.0f};
	static const double one64[2] = {1.0, 0.0}, zero64[2] = {0.0, 0.0};

	switch (dtype) {
	case DT_FLOAT32:
		m->sgemm(ROW_MAJOR, a->trans, b->trans, rows, cols, depth, 1.0f,
			 (const float *)a->at, a->ld, (const float *)b->at, b->ld,
			 add ? 1.0f : 0.0f, (float *)c->at, c->ld);
		break;
	case DT_FLOAT64:
		m->dgemm(ROW_MAJOR, a->trans, b->trans, rows, cols, depth, 1.0,
			 (const double *)a->at, a->ld, (const double *)b->at, b->ld,
			 add ? 1.0 : 0.0, (double *)c->at, c->ld);
		break;
	case DT_COMPLEX64:
		m->cgemm(ROW_MAJOR, a->trans, b->trans, rows, cols, depth, one32, a->at, a->ld,
			 b->at, b->ld, add ? one32 : zero32, c->at, c->ld);
		break;
	default:
		m->zgemm(ROW_MAJOR, a->trans, b->trans, rows, cols, depth, one64, a->at, a->ld,
			 b->at, b->ld, add ? one64 : zero64, c->at, c->ld);
		break;
	}
}

/* One tile: where it lies in each operand, and how large it is. */
struct tile {
	char *at[3];
	int64_t rows, cols;
};

static struct tile tile_locate(const struct plan_matmul *p, char *const base[3], int64_t index)
{
	int64_t across = div_up(p->n, MATMUL_COLS), down = div_up(p->m, MATMUL_ROWS);
	int64_t j = index % across * MATMUL_COLS;
	int64_t i = index / across % down * MATMUL_ROWS;
	int64_t batch = index / across / down;
	struct tile t = {.at = {base[0], base[1], base[2]}};

	t.rows = p->m - i < MATMUL_ROWS ? p->m - i : MATMUL_ROWS;
	t.cols = p->n - j < MATMUL_COLS ? p->n - j : MATMUL_COLS;
	for (int d = p->nbatch - 1; d >= 0; d--) {
		int64_t at = batch % p->batch[d];

		batch /= p->batch[d];
		for (int x = 0; x < 3; x++)
			t.at[x] += at * p->step[x][d];
	}
	t.at[0] += i * p->row[0];
	t.at[1] += j * p->col[1];
	t.at[2] += i * p->row[2] + j * p->col[2];
	return t;
}

static enum status scratch_grow(struct matmul_scratch *s, size_t bytes, struct err *err)
{
	void *mem = NULL;

	if (s->bytes >= bytes)
		return OK;
	if (posix_memalign(&mem, 64, bytes) != 0)
		return err_set(err, E_NOMEM, "matmul: no memory for %zu bytes of packed blocks",
			       bytes);
	free(s->mem);
	s->mem = mem;
	s->bytes = bytes;
	return OK;
}

/* Zero what gemm would not write when there is nothing to sum. */
static void tile_clear(const struct plan_matmul *p, const struct tile *t, unsigned es)
{
	for (int64_t i = 0; i < t->rows; i++)
		memset(t->at[2] + i * p->row[2], 0, (size_t)t->cols * es);
}

/* Sum the blocks along k into c. */
static void tile_sum(const struct matmul *m, const struct plan_matmul *p, const struct tile *t,
		     const struct block *c, bool blas, const struct areas *mem,
		     const volatile uint32_t *cancel)
{
	unsigned type = computed_in(p);

	for (int64_t k = 0; k < p->k && !bz_cancelled(cancel); k += MATMUL_DEPTH) {
		int64_t kb = p->k - k < MATMUL_DEPTH ? p->k - k : MATMUL_DEPTH;
		struct block a =
			block_take(p, 0, t->at[0] + k * p->col[0], t->rows, kb, blas, mem->a, mem);
		struct block b =
			block_take(p, 1, t->at[1] + k * p->row[1], kb, t->cols, blas, mem->b, mem);

		if (blas)
			gemm(m, type, &a, &b, c, (int)t->rows, (int)t->cols, (int)kb, k > 0);
		else
			matmul_plain(type, c->at, a.at, b.at, t->rows, t->cols, kb);
	}
}

static size_t round_up(size_t bytes)
{
	return (bytes + 63) / 64 * 64;
}

/* Cut s->mem up for the blocks of a tile. */
static enum status areas_take(struct areas *out, const struct plan_matmul *p, const struct tile *t,
			      struct matmul_scratch *s, struct err *err)
{
	size_t es = dtype_row(computed_in(p))->bytes;
	int64_t depth = p->k < MATMUL_DEPTH ? p->k : MATMUL_DEPTH;
	size_t a = round_up((size_t)(t->rows * depth) * es);
	size_t b = round_up((size_t)(t->cols * depth) * es);
	size_t c = round_up((size_t)(t->rows * t->cols) * es);
	size_t half = a > b ? a : b;
	enum status st;

	half = p->dtype != DT_FLOAT16 ? 0 : half > c ? half : c;
	st = scratch_grow(s, a + b + c + half, err);
	if (st != OK)
		return st;
	*out = (struct areas){
		.c = s->mem, .a = s->mem + c, .b = s->mem + c + a, .half = s->mem + c + a + b};
	return OK;
}

/* The sums in c to where the tile lies. */
static void tile_store(const struct plan_matmul *p, const struct tile *t, const struct areas *mem)
{
	bool half = p->dtype == DT_FLOAT16;

	if (half)
		convert(DT_FLOAT32, DT_FLOAT16, mem->half, mem->c, t->rows * t->cols);
	matmul_unpack(t->at[2], half ? mem->half : mem->c, dtype_row(p->dtype)->bytes, t->rows,
		      t->cols, p->row[2], p->col[2]);
}

enum status matmul_tile(const struct matmul *m, const struct plan_matmul *p, char *const base[3],
			int64_t tile, struct matmul_scratch *s, const volatile uint32_t *cancel,
			struct err *err)
{
	unsigned es = dtype_row(p->dtype)->bytes, cls = dtype_row(p->dtype)->cls;
	bool blas = m->dgemm && (cls == CLASS_FLOAT || cls == CLASS_COMPLEX);
	struct tile t = tile_locate(p, base, tile);
	struct block c = {0};
	struct areas mem;
	bool in_place = blas && p->dtype != DT_FLOAT16 &&
			block_direct(&c, t.at[2], t.rows, t.cols, p->row[2], p->col[2], es);
	enum status st = areas_take(&mem, p, &t, s, err);

	if (st != OK)
		return st;
	in_place = in_place && c.trans == NO_TRANS; /* gemm does not transpose its result */
	if (!in_place) {
		c = (struct block){.at = mem.c, .trans = NO_TRANS, .ld = (int)t.cols};
		memset(mem.c, 0, (size_t)(mem.a - mem.c));
	} else if (p->k == 0) {
		tile_clear(p, &t, es);
	}
	tile_sum(m, p, &t, &c, blas, &mem, cancel);
	if (!in_place)
		tile_store(p, &t, &mem);
	return OK;
}
