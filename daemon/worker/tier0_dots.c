/* SPDX-License-Identifier: Apache-2.0 */
/* worker/tier0_dots.c - sums of products by the loops of loops/product.h; see tier0_dots.h.
 *
 * Those loops have one chunk of the tree: of longer sums the chunks are joined as those of any
 * other reduction are. */
#include "tier0_dots.h"

#include <string.h>

#include "loops/kernel_abi.h"

/* Products [from, from + n) of each row. */
static void some_products(const struct tier0_dots *d, char *to, int64_t from, int64_t n)
{
	const char *row[PRODUCT_DOTS];
	int64_t at = from * d->loops->bytes;

	for (int k = 0; k < d->n; k++)
		row[k] = d->row[k] + at;
	if (d->n == PRODUCT_DOTS && d->same) {
		d->loops->dots(to, row, d->other[0] + at, n);
		return;
	}
	for (int k = 0; k < d->n; k++)
		d->loops->dot(to + k * d->loops->bytes, row[k], d->other[k] + at, n);
}

void tier0_dots(const struct tier0_dots *d, char *to, int64_t total)
{
	_Alignas(64) char state[PRODUCT_DOTS][TIER0_STATE_BYTES];
	size_t bytes = (size_t)d->loops->bytes;
	struct bz_acc acc = {0};

	if (total <= TREE_CHUNK) {
		some_products(d, to, 0, total);
		return;
	}
	for (int k = 0; k < d->n; k++)
		d->red->init(state[k]);
	for (int64_t from = 0; from < total && !bz_cancelled(d->cancel); from += TREE_CHUNK) {
		_Alignas(8) char sum[PRODUCT_DOTS * 8];

		some_products(d, sum, from, total - from < TREE_CHUNK ? total - from : TREE_CHUNK);
		for (int k = 0; k < d->n; k++) {
			acc = (struct bz_acc){0};
			memcpy(acc.v, sum + (size_t)k * bytes, bytes);
			d->red->join(state[k], &acc);
		}
	}
	for (int k = 0; k < d->n; k++) {
		d->red->end(state[k], total, &acc);
		d->red->put(&acc, to + (size_t)k * bytes);
	}
}
