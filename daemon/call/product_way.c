/* SPDX-License-Identifier: Apache-2.0 */
/* call/product_way.c - see product_way.h. */
#include "product_way.h"

#include "loops/product.h"

bool product_layout(bool *turned, int64_t *ld, int64_t rows, int64_t cols, int64_t row, int64_t col)
{
	if ((col == 1 || cols == 1) && (row >= cols || rows == 1)) {
		*turned = false;
		*ld = rows == 1 ? cols : row;
		return *ld <= INT32_MAX;
	}
	if ((row == 1 || rows == 1) && (col >= rows || cols == 1)) {
		*turned = true;
		*ld = cols == 1 ? rows : col;
		return *ld <= INT32_MAX;
	}
	return false;
}

/* Strides and addresses that are no whole elements cannot be told to the library. */
static bool whole(const struct product *p, const uint64_t base[3], int64_t bytes)
{
	for (int i = 0; i < 3; i++) {
		if (p->row[i] % bytes || p->col[i] % bytes || base[i] % (uint64_t)bytes)
			return false;
		for (int d = 0; d < p->nbatch; d++)
			if (p->step[i][d] % bytes)
				return false;
	}
	return true;
}

static bool lies_closely(const struct product *p, int64_t bytes)
{
	const int64_t rows[3] = {p->m, p->k, p->m}, cols[3] = {p->k, p->n, p->n};
	bool turned = false;
	int64_t ld = 0;

	for (int i = 0; i < 3; i++)
		if (!product_layout(&turned, &ld, rows[i], cols[i], p->row[i] / bytes,
				    p->col[i] / bytes) ||
		    (i == 2 && turned))
			return false;
	return true;
}

static struct product_choice by_kernel(const char *why)
{
	return (struct product_choice){PRODUCT_BY_KERNEL, why};
}

/* Bytes are multiplied by the library only if their rows and leading dimensions are multiples of
 * four and both lie along the inner axis, so they are copied so.  It adds up in 32 bits, of
 * which the lowest eight are the result, whatever the sign of the operands; whether a sum that
 * leaves 32 bits wraps is not said, so none may. */
static struct product_choice of_bytes(const struct product *p)
{
	if (product_short(p->m, p->n, p->k))
		return by_kernel("it is short: one launch is sooner than packing");
	if (p->k > PRODUCT_PACKED_DEEP)
		return by_kernel("sums of more than 131071 products may leave 32 bits");
	return (struct product_choice){PRODUCT_PACKED, NULL};
}

struct product_choice product_choose(const struct product *p, const uint64_t base[3])
{
	int64_t bytes = dtype_row(p->dtype)->bytes;

	if (p->m <= 0 || p->n <= 0 || p->k <= 0)
		return by_kernel("there is nothing to add up");
	switch (p->dtype) {
	case DT_INT8:
	case DT_UINT8:
		return of_bytes(p);
	case DT_FLOAT16:
	case DT_FLOAT32:
	case DT_FLOAT64:
	case DT_COMPLEX64:
	case DT_COMPLEX128:
		if (!whole(p, base, bytes))
			return by_kernel("elements lie at no multiple of their size");
		if (!lies_closely(p, bytes))
			return by_kernel("neither rows nor columns of a matrix lie closely");
		return (struct product_choice){PRODUCT_AS_IT_LIES, NULL};
	default:
		return by_kernel("cuBLAS has none of this type");
	}
}
