/* SPDX-License-Identifier: Apache-2.0 */
/* plan/product.c - see product.h. */
#include "product.h"

#include "loops/product.h"

static int64_t div_up(int64_t a, int64_t b)
{
	return a / b + (a % b != 0);
}

enum product_sums product_sums(const struct plan_matmul *p)
{
	if (product_summed(p->dtype, p->m, p->n, p->k, p->col[1]))
		return PRODUCT_ACROSS;
	return product_rowed(p->dtype, p->m, p->n, p->k, p->col[0], p->row[1]) ? PRODUCT_SHORT_ROWS
									       : PRODUCT_NO_SUMS;
}

bool product_cut(struct product_cut *out, const struct plan_matmul *p)
{
	bool complex_type = dtype_row(p->dtype)->cls == CLASS_COMPLEX, over = false;
	struct product_cut c = {0};

	c.depth = complex_type ? PRODUCT_DEPTH_CPLX : PRODUCT_DEPTH;
	c.chunk = c.depth * PRODUCT_CHUNK_PANELS;
	if (product_small(p->m, p->n, p->k) || product_sums(p))
		c.chunk = p->k > 0 ? p->k : 1;
	c.rows = PRODUCT_ROWS;
	c.cols = PRODUCT_COLS;
	if (p->dtype != DT_FLOAT16 && p->n <= LIMIT_SHORT_SIDE) {
		c.cols = LIMIT_SHORT_SIDE;
		c.rows = PRODUCT_TILE / LIMIT_SHORT_SIDE;
	} else if (p->dtype != DT_FLOAT16 && p->m <= LIMIT_SHORT_SIDE) {
		c.rows = LIMIT_SHORT_SIDE;
		c.cols = PRODUCT_TILE / LIMIT_SHORT_SIDE;
	}
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

uint64_t product_work(const struct plan_matmul *p)
{
	double n = dtype_row(p->dtype)->cls == CLASS_COMPLEX ? 4 : 1;

	n *= (double)p->m * (double)p->n * (double)p->k;
	for (int i = 0; i < p->nbatch; i++)
		n *= (double)p->batch[i];
	return n < (double)(UINT64_MAX / 2) ? (uint64_t)n : UINT64_MAX / 2;
}
