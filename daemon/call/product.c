/* SPDX-License-Identifier: Apache-2.0 */
/* call/product.c - see product.h. */
#include "product.h"

#include <string.h>

#include "base/textbuf.h"
#include "loops/product.h"

_Static_assert(PRODUCT_DEPTH *PRODUCT_CHUNK_PANELS == PRODUCT_CHUNK &&
		       PRODUCT_DEPTH_CPLX * PRODUCT_CHUNK_PANELS == PRODUCT_CHUNK / 4,
	       "clients add up in this order");

#define FLOPS_PER_US 4000.0 /* one core */
#define ROWS_AT_ONCE 4
#define ROWS_LEAST   48 /* of a tile that is cut off for another thread */
#define TILES_FEW    16
#define DOWN_LEAST   4 /* rows of tiles that are wide: of fewer, narrow ones feed more threads */
#define TILES_LEAST  8 /* of full height; else several threads would not find enough */
#define LINE_WORK    65536 /* multiplications of what is cut off a product of one row or column */
#define LINE_LEAST   128   /* elements of a tile of it, */
#define LINE_DEPTH   256   /* steps of a chunk of it, at least */
#define LINE_CUTS    16	   /* tiles or chunks of it that are not as long as they may be */
#define LINE_AT_ONCE 16
#define LINE_MOST    4096
#define TILE_ROWS    128 /* a GPU's worker computes in rows of tiles this high */

void product_of(struct product *out, const struct plan_call *c)
{
	unsigned m = c->nloop - 3u, n = m + 1, k = m + 2;

	out->dtype = c->dtype;
	out->nbatch = (uint8_t)m;
	out->tf32 = c->tf32;
	out->m = c->extent[m];
	out->n = c->extent[n];
	out->k = c->extent[k];
	memcpy(out->batch, c->extent, m * sizeof out->batch[0]);
	for (unsigned x = 0; x < 3; x++) {
		const int64_t *stride = c->operand[x].stride;

		out->row[x] = stride[x == 1 ? k : m];
		out->col[x] = stride[x == 0 ? k : n];
		memcpy(out->step[x], stride, m * sizeof stride[0]);
	}
}

enum status product_check(const struct plan_call *c, struct err *err)
{
	struct product_cut cut;
	struct product p;
	int64_t n = 1;

	if (c->nloop < 3)
		return err_set(err, E_INTERNAL, "matmul: %u loops", c->nloop);
	if (!dtype_computes(c->dtype))
		return err_set(err, E_INTERNAL, "matmul: no product of %s",
			       dtype_row(c->dtype)->name);
	if (c->tf32 && !product_tf32(c->dtype))
		return err_set(err, E_INTERNAL, "matmul: %s as TF32", dtype_row(c->dtype)->name);
	for (unsigned x = 0; x < 3; x++)
		if (c->operand[x].dtype != c->dtype)
			return err_set(err, E_INTERNAL, "matmul: operand %u is %s", x,
				       dtype_row(c->operand[x].dtype)->name);
	for (unsigned l = 0; l + 1 < c->nloop; l++)
		if (__builtin_mul_overflow(n, c->extent[l], &n))
			return err_set(err, E_INTERNAL, "matmul: result extents overflow");
	product_of(&p, c);
	return product_cut(&cut, &p) ? OK : err_set(err, E_INTERNAL, "matmul: extents overflow");
}

void product_call(struct plan_call *out, const struct product *p)
{
	unsigned m = p->nbatch, n = m + 1u, k = m + 2u;

	out->call = CALL_PRODUCT;
	out->dtype = p->dtype;
	out->tf32 = p->tf32;
	out->nloop = (uint8_t)(m + 3);
	memcpy(out->extent, p->batch, m * sizeof out->extent[0]);
	out->extent[m] = p->m;
	out->extent[n] = p->n;
	out->extent[k] = p->k;
	for (unsigned x = 0; x < 3; x++) {
		int64_t *stride = out->operand[x].stride;

		out->operand[x].dtype = p->dtype;
		memcpy(stride, p->step[x], m * sizeof stride[0]);
		stride[m] = stride[n] = stride[k] = 0;
		stride[x == 1 ? k : m] = p->row[x];
		stride[x == 0 ? k : n] = p->col[x];
	}
}

static int64_t div_up(int64_t a, int64_t b)
{
	return a / b + (a % b != 0);
}

enum product_sums product_sums(const struct product *p)
{
	if (product_summed(p->dtype, p->m, p->n, p->k, p->col[1]))
		return PRODUCT_ACROSS;
	return product_rowed(p->dtype, p->m, p->n, p->k, p->col[0], p->row[1]) ? PRODUCT_SHORT_ROWS
									       : PRODUCT_NO_SUMS;
}

/* Tiles of about one height: a short last one would leave a thread waiting for the others, and so
 * would one of an odd number of few.  No more than PRODUCT_ROWS, and a multiple of what the
 * libraries' loops take at once.  For each tile a library packs its rows of A and its columns of B
 * anew, so that few high ones take less time than many. */
static int64_t even_rows(int64_t m, int64_t n, int64_t cols)
{
	int64_t across = div_up(n, cols), down = div_up(m, PRODUCT_ROWS);

	if (m < 2 * ROWS_LEAST)
		return PRODUCT_ROWS;
	if (down * across < TILES_LEAST)
		down = div_up(m, PRODUCT_ROWS / 2);
	if (down * across < TILES_FEW && down * across % 2 && m / (down + 1) >= ROWS_LEAST)
		down++;
	return div_up(div_up(m, down), ROWS_AT_ONCE) * ROWS_AT_ONCE;
}

/* Wide ones where several threads find enough of them; of complex numbers and float16, whose
 * products take longer, it takes too long until a thread looks up. */
static int64_t tile_cols(const struct product *p)
{
	bool real = p->dtype == DT_FLOAT32 || p->dtype == DT_FLOAT64;
	int64_t down = div_up(p->m, PRODUCT_ROWS), wide = down * div_up(p->n, PRODUCT_WIDE);

	return real && p->n > PRODUCT_COLS && down >= DOWN_LEAST && wide >= TILES_LEAST
		       ? PRODUCT_WIDE
		       : PRODUCT_COLS;
}

/* Of `all` elements or steps how many are for one thread, at least `least` and at most `most`. */
static int64_t line_share(const struct product *p, int64_t all, int64_t least, int64_t most)
{
	double work = (double)p->m * (double)p->n * (double)p->k / LINE_WORK;
	int64_t cuts = all / least;

	cuts = cuts < LINE_CUTS ? cuts : LINE_CUTS;
	cuts = (double)cuts < work ? cuts : (int64_t)work;
	if (cuts < 2)
		return most;
	all = div_up(div_up(all, cuts), LINE_AT_ONCE) * LINE_AT_ONCE;
	return all < most ? all : most;
}

/* A result of one row or column is read for as long as its matrix takes, once, so that several
 * threads should share it.  Sums that know no other order are cut by elements; else each thread
 * goes through whole rows of the matrix, which memory answers sooner than their pieces. */
static void line_cut(struct product_cut *c, const struct product *p)
{
	int64_t *side = p->m == 1 ? &c->cols : &c->rows, line = p->m == 1 ? p->n : p->m;

	if (p->dtype == DT_FLOAT16 || product_small(p->m, p->n, p->k))
		return;
	if (product_sums(p) || product_short(p->m, p->n, p->k))
		*side = line_share(p, line, LINE_LEAST, *side);
	else
		c->chunk = line_share(p, p->k, LINE_DEPTH, c->chunk);
}

bool product_cut(struct product_cut *out, const struct product *p)
{
	bool complex_type = dtype_row(p->dtype)->cls == CLASS_COMPLEX, over = false;
	struct product_cut c = {0};

	c.depth = complex_type ? PRODUCT_DEPTH_CPLX : PRODUCT_DEPTH;
	c.chunk = c.depth * PRODUCT_CHUNK_PANELS;
	if (product_small(p->m, p->n, p->k) || product_sums(p))
		c.chunk = p->k > 0 ? p->k : 1;
	c.cols = tile_cols(p);
	c.rows = even_rows(p->m, p->n, c.cols);
	if (p->dtype != DT_FLOAT16 && p->n <= LIMIT_SHORT_SIDE) {
		c.cols = LIMIT_SHORT_SIDE;
		c.rows = LINE_MOST;
	} else if (p->dtype != DT_FLOAT16 && p->m <= LIMIT_SHORT_SIDE) {
		c.rows = LIMIT_SHORT_SIDE;
		c.cols = LINE_MOST;
	}
	if (p->m == 1 || p->n == 1)
		line_cut(&c, p);
	c.down = div_up(p->m, c.rows);
	c.across = div_up(p->n, c.cols);
	c.chunks = p->k > 0 ? div_up(p->k, c.chunk) : 1;
	over = __builtin_mul_overflow(c.down, c.across, &c.tiles);
	for (int i = 0; i < p->nbatch; i++)
		over |= __builtin_mul_overflow(c.tiles, p->batch[i], &c.tiles);
	over |= __builtin_mul_overflow(c.tiles, c.chunks, &c.units);
	*out = c;
	return !over;
}

uint64_t product_multiplications(const struct product *p)
{
	double n = dtype_row(p->dtype)->cls == CLASS_COMPLEX ? 4 : 1;

	n *= (double)p->m * (double)p->n * (double)p->k;
	for (int i = 0; i < p->nbatch; i++)
		n *= (double)p->batch[i];
	return n < (double)(UINT64_MAX / 2) ? (uint64_t)n : UINT64_MAX / 2;
}

uint64_t product_work(const struct plan_call *c)
{
	struct product p;

	product_of(&p, c);
	return product_multiplications(&p);
}

double product_us(const struct plan_call *c)
{
	double flops = 2;

	for (unsigned l = 0; l < c->nloop; l++)
		flops *= (double)c->extent[l];
	return flops / FLOPS_PER_US;
}

/* On a GPU a unit is a row of C over all batches. */
void product_units(struct call_units *out, const struct plan_call *c, bool device)
{
	struct product_cut cut = {0};
	struct product p;
	uint64_t work = 0;

	product_of(&p, c);
	*out = (struct call_units){.total = p.m, .grain = TILE_ROWS};
	if (device) {
		for (int i = 0; i < p.nbatch; i++)
			out->total *= p.batch[i];
		if (__builtin_mul_overflow((uint64_t)p.n, (uint64_t)p.k, &out->work))
			out->work = UINT64_MAX / 2;
		return;
	}
	*out = (struct call_units){.total = INT64_MAX, .work = 1, .grain = 1};
	if (!product_cut(&cut, &p)) /* the worker says so */
		return;
	work = product_multiplications(&p);
	out->total = cut.units;
	out->work = cut.units ? work / (uint64_t)cut.units : 0;
	out->kept = p.dtype == DT_FLOAT16 && cut.chunks > 1;
}

void product_name(struct textbuf *t, const struct plan_call *c)
{
	struct product p;

	product_of(&p, c);
	textbuf_put(t, "matmul of %s, %lld x %lld by %lld x %lld", dtype_row(p.dtype)->name,
		    (long long)p.m, (long long)p.k, (long long)p.k, (long long)p.n);
	for (int b = 0; b < p.nbatch; b++)
		textbuf_put(t, "%s%lld", b ? " x " : ", a stack of ", (long long)p.batch[b]);
}

void product_print(struct textbuf *t, const struct plan_call *c)
{
	struct product p;

	product_of(&p, c);
	textbuf_put(t, "matmul %s%s %lldx%lldx%lld\n", dtype_row(p.dtype)->name,
		    p.tf32 ? " tf32" : "", (long long)p.m, (long long)p.n, (long long)p.k);
	for (int x = 0; x < 3; x++) {
		textbuf_put(t, "%c s%u +%lld row %lld col %lld", "ABC"[x], c -> operand[x].slot,
			    (long long)c->operand[x].offset, (long long)p.row[x],
			    (long long)p.col[x]);
		for (int b = 0; b < p.nbatch; b++)
			textbuf_put(t, " batch %lld:%lld", (long long)p.batch[b],
				    (long long)p.step[x][b]);
		textbuf_put(t, "\n");
	}
}
