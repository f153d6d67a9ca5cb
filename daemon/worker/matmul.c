/* SPDX-License-Identifier: Apache-2.0 */
/* worker/matmul.c - tiles of a matrix product, by OpenBLAS or our own loops.
 *
 * Ours read operands where they lie, whatever the layout.  Those that the library cannot read where
 * they lie (negative, zero or two non-unit strides, unaligned) are packed panel by panel; C
 * likewise, tile by tile. */
#include "matmul.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "loops/product.h"
#include "loops/tier0_ops.h"

#define OWN_WORK  (1 << 22) /* multiplications between two looks whether to stop */
#define OWN_LEAST 16	    /* but no fewer steps of the inner axis */

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 }; /* of the CBLAS interface */

/* A processor that is younger than the library is taken for one that the library knows: of AMD's
 * with AVX-512 for one without, which computes half as fast; of Intel's for one with SSE3 alone,
 * which takes nine times as long.  So the library is told, unless the user has. */
static void name_core(void)
{
	enum isa_level level = isa_best();

	if (level == ISA_V4)
		setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
	else if (level == ISA_V3 && !__builtin_cpu_is("amd"))
		setenv("OPENBLAS_CORETYPE", "Haswell", 0);
}

void matmul_open(struct matmul *m)
{
	void (*set_threads)(int) = NULL;

	*m = (struct matmul){0};
	/* Read by the library's constructor: it must start no threads of its own. */
	setenv("OPENBLAS_NUM_THREADS", "1", 1);
	name_core();
	m->handle = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
	if (!m->handle)
		return;
	*(void **)&m->sgemm = dlsym(m->handle, "cblas_sgemm");
	*(void **)&m->dgemm = dlsym(m->handle, "cblas_dgemm");
	*(void **)&m->cgemm = dlsym(m->handle, "cblas_cgemm");
	*(void **)&m->zgemm = dlsym(m->handle, "cblas_zgemm");
	*(void **)&m->sgemv = dlsym(m->handle, "cblas_sgemv");
	*(void **)&m->dgemv = dlsym(m->handle, "cblas_dgemv");
	*(void **)&m->cgemv = dlsym(m->handle, "cblas_cgemv");
	*(void **)&m->zgemv = dlsym(m->handle, "cblas_zgemv");
	*(void **)&m->core = dlsym(m->handle, "openblas_get_corename");
	*(void **)&set_threads = dlsym(m->handle, "openblas_set_num_threads");
	if (!m->sgemm || !m->dgemm || !m->cgemm || !m->zgemm || !m->sgemv || !m->dgemv ||
	    !m->cgemv || !m->zgemv || !set_threads) {
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

static int64_t batches(const struct product *p)
{
	int64_t n = 1;

	for (int i = 0; i < p->nbatch; i++)
		n *= p->batch[i];
	return n;
}

int64_t matmul_rows(const struct product *p)
{
	return batches(p) * p->m;
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
	char *a, *b; /* packed panels, in the type that is computed in */
	char *part;  /* a chunk's product */
	char *sum;   /* a tile of C that cannot be added up where it lies */
	char *half;  /* one of them as float16 */
	char *strip; /* for our own loops */
};

/* float16 is multiplied and summed in float32 and rounded once, as NumPy does. */
static unsigned computed_in(const struct product *p)
{
	return p->dtype == DT_FLOAT16 ? DT_FLOAT32 : p->dtype;
}

bool matmul_carries(const struct product *p)
{
	return p->dtype == DT_FLOAT16;
}

static void convert(unsigned from, unsigned to, char *dst, const char *src, int64_t n)
{
	tier0_table(isa_best())->cast[from][to](dst, src, src, src, n);
}

/* Where a block at `at` of operand x can be read: in place, or packed in `mem`. */
static struct block block_take(const struct product *p, int x, char *at, int64_t rows, int64_t cols,
			       bool direct, char *mem, const struct areas *m)
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

static const float one32[2] = {1.0f, 0.0f}, zero32[2] = {0.0f, 0.0f};
static const double one64[2] = {1.0, 0.0}, zero64[2] = {0.0, 0.0};

/* A product of a matrix, as it is stored, with a vector. */
struct gemv {
	const struct block *matrix, *vector;
	int down, across, trans;
	int step, to; /* elements from one of the vector, of the result, to the next */
};

/* c = a * b of one row, or of one column; a row times b is the transposed b times a
 * column. */
static struct gemv gemv_of(const struct block *a, const struct block *b, const struct block *c,
			   int rows, int cols, int depth)
{
	bool row = rows == 1;
	struct gemv v = {.matrix = row ? b : a, .vector = row ? a : b, .to = row ? 1 : c->ld};
	bool stored = v.matrix->trans == TRANS; /* the other way round */

	v.down = row != stored ? depth : row ? cols : rows;
	v.across = row == stored ? depth : row ? cols : rows;
	v.trans = stored != row ? TRANS : NO_TRANS;
	v.step = row == (v.vector->trans == TRANS) ? v.vector->ld : 1;
	return v;
}

static void gemv(const struct matmul *m, unsigned dtype, const struct gemv *v, char *y, bool add)
{
	const char *matrix = v->matrix->at, *x = v->vector->at;
	int ld = v->matrix->ld;

	switch (dtype) {
	case DT_FLOAT32:
		m->sgemv(ROW_MAJOR, v->trans, v->down, v->across, 1.0f, (const float *)matrix, ld,
			 (const float *)x, v->step, add ? 1.0f : 0.0f, (float *)y, v->to);
		break;
	case DT_FLOAT64:
		m->dgemv(ROW_MAJOR, v->trans, v->down, v->across, 1.0, (const double *)matrix, ld,
			 (const double *)x, v->step, add ? 1.0 : 0.0, (double *)y, v->to);
		break;
	case DT_COMPLEX64:
		m->cgemv(ROW_MAJOR, v->trans, v->down, v->across, one32, matrix, ld, x, v->step,
			 add ? one32 : zero32, y, v->to);
		break;
	default:
		m->zgemv(ROW_MAJOR, v->trans, v->down, v->across, one64, matrix, ld, x, v->step,
			 add ? one64 : zero64, y, v->to);
		break;
	}
}

static void gemm(const struct matmul *m, unsigned dtype, const struct block *a,
		 const struct block *b, const struct block *c, int rows, int cols, int depth,
		 bool add)
{
	if (rows == 1 || cols == 1) {
		struct gemv v = gemv_of(a, b, c, rows, cols, depth);

		gemv(m, dtype, &v, c->at, add);
		return;
	}
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

static struct tile tile_locate(const struct matmul_run *r, int64_t index)
{
	const struct product *p = r->p;
	int64_t j = index % r->cut->across * r->cut->cols;
	int64_t i = index / r->cut->across % r->cut->down * r->cut->rows;
	int64_t batch = index / r->cut->across / r->cut->down;
	struct tile t = {.at = {r->base[0], r->base[1], r->base[2]}};

	t.rows = p->m - i < r->cut->rows ? p->m - i : r->cut->rows;
	t.cols = p->n - j < r->cut->cols ? p->n - j : r->cut->cols;
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

static size_t round_up(size_t bytes)
{
	return (bytes + 63) / 64 * 64;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static bool by_library(const struct matmul_run *r)
{
	const struct product *p = r->p;
	unsigned cls = dtype_row(p->dtype)->cls;

	return r->library->dgemm && (cls == CLASS_FLOAT || cls == CLASS_COMPLEX) &&
	       !product_short(p->m, p->n, p->k) && !product_sums(p);
}

/* Cut s->mem up for the blocks of any tile. */
static enum status areas_take(struct areas *out, const struct matmul_run *r,
			      struct matmul_scratch *s, struct err *err)
{
	const struct product *p = r->p;
	bool packs = by_library(r) || p->dtype == DT_FLOAT16;
	size_t es = dtype_row(computed_in(p))->bytes;
	int64_t rows = least(p->m, r->cut->rows), cols = least(p->n, r->cut->cols);
	int64_t depth = least(p->k, r->cut->depth);
	size_t a = packs ? round_up((size_t)(rows * depth) * es) : 0;
	size_t b = packs ? round_up((size_t)(cols * depth) * es) : 0;
	size_t c = matmul_part_bytes(p, r->cut), half = a > b ? a : b;
	enum status st;

	half = p->dtype != DT_FLOAT16 ? 0 : half > c ? half : c;
	st = scratch_grow(s, PRODUCT_SCRATCH + a + b + 2 * c + half, err);
	if (st != OK)
		return st;
	out->strip = s->mem;
	out->a = out->strip + PRODUCT_SCRATCH;
	out->b = out->a + a;
	out->part = out->b + b;
	out->sum = out->part + c;
	out->half = out->sum + c;
	return OK;
}

size_t matmul_part_bytes(const struct product *p, const struct product_cut *cut)
{
	return round_up((size_t)(least(p->m, cut->rows) * least(p->n, cut->cols)) *
			dtype_row(computed_in(p))->bytes);
}

static bool stopped(const struct matmul_run *r, const struct matmul_thread *t)
{
	if (t->poll)
		t->poll(t->data);
	return bz_cancelled(r->cancel);
}

static const struct product_loops *loops_of(const struct product *p)
{
	static const struct product_isa *const table[ISA_END] = {&product_isa_v2, &product_isa_v3,
								 &product_isa_v4};
	enum isa_level level = isa_best();

	return &table[level < 0 ? 0 : level]->type[computed_in(p)];
}

/* A panel of our own, a few steps of the inner axis at a time. */
static void panel_own(const struct matmul_run *r, const struct product_call *panel, bool add,
		      const struct areas *mem, const struct matmul_thread *thread)
{
	const struct product_loops *loops = loops_of(r->p);
	int64_t at_once = least(OWN_WORK / (panel->m * panel->n) + OWN_LEAST, r->cut->depth);
	struct product_call p = *panel;

	for (int64_t k = 0; k < panel->k && !stopped(r, thread); k += at_once) {
		p.k = least(panel->k - k, at_once);
		product_multiply(loops, &p, add || k > 0, mem->strip);
		p.a.at += p.k * p.a.col;
		p.b.at += p.k * p.b.row;
	}
}

/* The product of chunk `chunk` to *c, which is overwritten. */
static void chunk_own(const struct matmul_run *r, const struct tile *t, int64_t chunk,
		      const struct block *c, const struct areas *mem,
		      const struct matmul_thread *thread)
{
	const struct product *p = r->p;
	int64_t begin = chunk * r->cut->chunk, end = least(p->k, begin + r->cut->chunk);
	unsigned es = dtype_row(computed_in(p))->bytes;
	struct product_call x = {.c = {c->at, (int64_t)c->ld * es, es},
				 .m = t->rows,
				 .n = t->cols,
				 .fused = product_fused(p->m, p->n, p->k)};

	for (int64_t k = begin; k < end && !stopped(r, thread); k += x.k) {
		char *a = t->at[0] + k * p->col[0], *b = t->at[1] + k * p->row[1];

		x.a = (struct product_matrix){a, p->row[0], p->col[0]};
		x.b = (struct product_matrix){b, p->row[1], p->col[1]};
		x.k = end - k;
		if (p->dtype == DT_FLOAT16) {
			x.k = least(x.k, r->cut->depth);
			a = block_take(p, 0, a, t->rows, x.k, false, mem->a, mem).at;
			b = block_take(p, 1, b, x.k, t->cols, false, mem->b, mem).at;
			x.a = (struct product_matrix){a, x.k * es, es};
			x.b = (struct product_matrix){b, t->cols * es, es};
		}
		panel_own(r, &x, k > begin, mem, thread);
	}
}

/* The inner axis has one chunk. */
static void sums_multiply(const struct product *p, const struct tile *t, const struct block *c)
{
	struct product_across across = {t->at[0], t->at[1], p->col[0], p->row[1], p->k, 0};
	struct product_rows rows = {t->at[1], t->at[0], p->col[1], p->k};

	if (product_sums(p) == PRODUCT_ACROSS)
		loops_of(p)->across(c->at, &across, t->cols);
	else
		loops_of(p)->rows(c->at, &rows, t->cols);
}

static void chunk_multiply(const struct matmul_run *r, const struct tile *t, int64_t chunk,
			   const struct block *c, const struct areas *mem,
			   const struct matmul_thread *thread)
{
	const struct product *p = r->p;
	unsigned type = computed_in(p), es = dtype_row(type)->bytes;
	int64_t begin = chunk * r->cut->chunk, end = least(p->k, begin + r->cut->chunk);

	if (begin >= end)
		for (int64_t i = 0; i < t->rows; i++)
			memset(c->at + i * c->ld * es, 0, (size_t)t->cols * es);
	if (product_sums(p)) {
		sums_multiply(p, t, c);
		return;
	}
	if (!by_library(r)) {
		chunk_own(r, t, chunk, c, mem, thread);
		return;
	}
	for (int64_t k = begin; k < end && !stopped(r, thread); k += r->cut->depth) {
		int64_t kb = least(end - k, r->cut->depth);
		struct block a =
			block_take(p, 0, t->at[0] + k * p->col[0], t->rows, kb, true, mem->a, mem);
		struct block b =
			block_take(p, 1, t->at[1] + k * p->row[1], kb, t->cols, true, mem->b, mem);

		gemm(r->library, type, &a, &b, c, (int)t->rows, (int)t->cols, (int)kb, k > begin);
	}
}

/* Where a tile of C is added up: in C, or in a packed copy. */
struct sum {
	char *at;
	int64_t row; /* bytes */
	bool packed;
};

static struct sum sum_open(const struct matmul_run *r, const struct tile *t, int64_t lo,
			   const struct matmul_carry *carry, const struct areas *mem)
{
	const struct product *p = r->p;
	unsigned es = dtype_row(p->dtype)->bytes;
	struct sum s = {.at = t->at[2], .row = p->row[2]};
	int64_t row = (int64_t)dtype_row(computed_in(p))->bytes * t->cols;
	unsigned aligned = es > 8 ? 8 : es;

	if (!matmul_carries(p) && (p->col[2] == es || t->cols == 1) &&
	    (uintptr_t)s.at % aligned == 0 && s.row % aligned == 0)
		return s;
	s = (struct sum){.at = mem->sum, .row = row, .packed = true};
	if (lo > 0 && matmul_carries(p))
		memcpy(s.at, carry->from, (size_t)(t->rows * row));
	else if (lo > 0)
		matmul_pack(s.at, t->at[2], es, t->rows, t->cols, p->row[2], p->col[2]);
	return s;
}

/* A chunk's product comes to it; the first is taken as it is. */
static void sum_add(const struct matmul_run *r, const struct tile *t, const struct sum *s,
		    const char *part, bool first)
{
	unsigned type = computed_in(r->p);
	int64_t row = (int64_t)dtype_row(type)->bytes * t->cols;

	for (int64_t i = 0; i < t->rows; i++) {
		if (first)
			memcpy(s->at + i * s->row, part + i * row, (size_t)row);
		else
			matmul_add(type, s->at + i * s->row, part + i * row, t->cols);
	}
}

static void sum_close(const struct matmul_run *r, const struct tile *t, const struct sum *s,
		      bool last, const struct matmul_carry *carry, const struct areas *mem)
{
	const struct product *p = r->p;
	bool half = p->dtype == DT_FLOAT16;

	if (!s->packed)
		return;
	if (half && !last) {
		memcpy(carry->to, s->at, (size_t)(t->rows * s->row));
		return;
	}
	if (half)
		convert(DT_FLOAT32, DT_FLOAT16, mem->half, s->at, t->rows * t->cols);
	matmul_unpack(t->at[2], half ? mem->half : s->at, dtype_row(p->dtype)->bytes, t->rows,
		      t->cols, p->row[2], p->col[2]);
}

/* May the first chunk's product be computed where the tile is added up? */
static bool at_once(struct block *c, const struct matmul_run *r, const struct tile *t,
		    const struct sum *s)
{
	unsigned es = dtype_row(computed_in(r->p))->bytes;

	if (s->packed) {
		*c = (struct block){.at = s->at, .trans = NO_TRANS, .ld = (int)t->cols};
		return true;
	}
	if (!by_library(r) && s->row % es == 0 && s->row / es == (int)(s->row / es)) {
		*c = (struct block){.at = s->at, .trans = NO_TRANS, .ld = (int)(s->row / es)};
		return true;
	}
	return by_library(r) && block_direct(c, s->at, t->rows, t->cols, s->row, es, es) &&
	       c->trans == NO_TRANS; /* gemm does not transpose its result */
}

enum status matmul_tile(const struct matmul_run *r, int64_t tile, int64_t lo, int64_t hi,
			const struct matmul_carry *carry, const struct matmul_thread *thread,
			struct err *err)
{
	struct tile t = tile_locate(r, tile);
	struct areas mem;
	struct sum s;
	enum status st = areas_take(&mem, r, thread->scratch, err);

	if (st != OK)
		return st;
	s = sum_open(r, &t, lo, carry, &mem);
	for (int64_t c = lo; c < hi && !bz_cancelled(r->cancel); c++) {
		struct block to = {0};
		bool direct = c == 0 && at_once(&to, r, &t, &s);

		if (!direct)
			to = (struct block){.at = mem.part, .trans = NO_TRANS, .ld = (int)t.cols};
		chunk_multiply(r, &t, c, &to, &mem, thread);
		if (!direct)
			sum_add(r, &t, &s, mem.part, c == 0);
	}
	sum_close(r, &t, &s, hi == r->cut->chunks, carry, &mem);
	return OK;
}

bool matmul_stacked(const struct matmul_run *r)
{
	return r->cut->chunks == 1 && r->cut->down == 1 && r->cut->across == 1 && r->p->k > 0 &&
	       r->p->dtype != DT_FLOAT16 && !by_library(r) &&
	       product_small(r->p->m, r->p->n, r->p->k);
}

enum status matmul_stack(const struct matmul_run *r, int64_t lo, int64_t hi,
			 const struct matmul_thread *thread, struct err *err)
{
	const struct product *p = r->p;
	struct product_stack s = {.axes = p->nbatch};
	struct product_matrix *of[3] = {&s.first.a, &s.first.b, &s.first.c};
	enum status st = scratch_grow(thread->scratch, PRODUCT_SCRATCH, err);

	if (st != OK)
		return st;
	s.first.m = p->m;
	s.first.n = p->n;
	s.first.k = p->k;
	memcpy(s.extent, p->batch, p->nbatch * sizeof s.extent[0]);
	for (int x = 0; x < 3; x++) {
		*of[x] = (struct product_matrix){r->base[x], p->row[x], p->col[x]};
		memcpy(s.step[x], p->step[x], p->nbatch * sizeof s.step[x][0]);
	}
	product_many(loops_of(p), &s, lo, hi, thread->scratch->mem);
	return OK;
}

enum status matmul_part(const struct matmul_run *r, int64_t tile, int64_t chunk, void *part,
			const struct matmul_thread *thread, struct err *err)
{
	struct tile t = tile_locate(r, tile);
	struct block to = {.at = part, .trans = NO_TRANS, .ld = (int)t.cols};
	struct areas mem;
	enum status st = areas_take(&mem, r, thread->scratch, err);

	if (st == OK)
		chunk_multiply(r, &t, chunk, &to, &mem, thread);
	return st;
}

enum status matmul_fold(const struct matmul_run *r, int64_t tile, int64_t lo, int64_t hi,
			const void *part, const struct matmul_carry *carry,
			const struct matmul_thread *thread, struct err *err)
{
	struct tile t = tile_locate(r, tile);
	size_t bytes = matmul_part_bytes(r->p, r->cut);
	struct areas mem;
	struct sum s;
	enum status st = areas_take(&mem, r, thread->scratch, err);

	if (st != OK)
		return st;
	s = sum_open(r, &t, lo, carry, &mem);
	for (int64_t c = lo; c < hi; c++)
		sum_add(r, &t, &s, (const char *)part + (size_t)(c - lo) * bytes, c == 0);
	sum_close(r, &t, &s, hi == r->cut->chunks, carry, &mem);
	return OK;
}
