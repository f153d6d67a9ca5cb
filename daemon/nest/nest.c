/* SPDX-License-Identifier: Apache-2.0 */
#include "nest.h"

static int64_t product(const int64_t *e, unsigned n)
{
	int64_t p = 1;

	for (unsigned k = 0; k < n; k++)
		p *= e[k];
	return p;
}

int64_t nest_parallel(const struct nest *n)
{
	return product(n->extent, n->npar);
}

int64_t nest_reduced(const struct nest *n)
{
	return product(n->extent + n->npar, n->nred);
}
