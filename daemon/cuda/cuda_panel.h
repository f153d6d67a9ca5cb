/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_panel.h - a matrix product in pieces that a library does at once.
 *
 * A launch of a library cannot be cancelled, so what it is asked for at once is
 * bounded: panels of rows, and where a panel would be too much, of columns, then of
 * k; or groups of small products.  Pieces depend on the shape and the device alone,
 * so a product's bits do not depend on how it was sliced: a slice does the panels
 * (groups) whose first row it has, whole.  Rows are counted over all batches.
 * Pure; any thread. */
#ifndef BRAZE_CUDA_PANEL_H
#define BRAZE_CUDA_PANEL_H

#include "call/product.h"

struct cuda_panel {
	int64_t rows, cols, depth; /* of a piece: m, n and k at most */
	int64_t group;		   /* products asked for at once; 1 unless they are whole */
	int64_t last;		   /* extent of the last batch axis; 1: there is none */
};

/* Multiply-adds of a type that a device does in a few milliseconds, at the least. */
double cuda_panel_budget(unsigned units, unsigned khz, unsigned single_to_double, unsigned dtype);
/* p: with rows, columns and k; groups: may products be asked for together? */
void cuda_panel_cut(struct cuda_panel *out, const struct product *p, double budget, bool groups);
/* The first panel or group that begins at `row` or later, by its first row. */
int64_t cuda_panel_first(const struct cuda_panel *x, const struct product *p, int64_t row);
/* Of the one that begins at `row`: rows of each product, and products. */
void cuda_panel_at(const struct cuda_panel *x, const struct product *p, int64_t row, int64_t *rows,
		   int64_t *count);

#endif
