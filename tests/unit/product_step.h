/* SPDX-License-Identifier: Apache-2.0 */
/* unit/product_step.h - a product as a library step of slots 0, 1 and 2, for tests. */
#ifndef BRAZE_PRODUCT_STEP_H
#define BRAZE_PRODUCT_STEP_H

#include "call/product.h"

static inline struct plan_call product_step(const struct product *p)
{
	struct plan_call c = {0};

	product_call(&c, p);
	for (uint32_t x = 0; x < 3; x++)
		c.operand[x].slot = x;
	return c;
}

#endif
