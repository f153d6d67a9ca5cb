/* SPDX-License-Identifier: Apache-2.0 */
/* Who computes a product on a GPU: by type, shape and layout. */
#include <criterion/criterion.h>
#include <string.h>

#include "call/product_way.h"

enum { M = 200, N = 300, K = 150 };

static const uint64_t nowhere[3];

/* Both operands and the result in C order. */
static struct product plain(unsigned dtype)
{
	int64_t b = dtype_row(dtype)->bytes;

	return (struct product){.dtype = (uint8_t)dtype,
				.m = M,
				.n = N,
				.k = K,
				.row = {K * b, N * b, N * b},
				.col = {b, b, b}};
}

static void expect(const struct product *p, const uint64_t base[3], enum product_way way,
		   const char *why)
{
	struct product_choice c = product_choose(p, base);

	cr_expect_eq(c.way, way, "%s: %d", dtype_row(p->dtype)->name, (int)c.way);
	if (why)
		cr_expect(c.why && strstr(c.why, why), "%s", c.why ? c.why : "no reason");
	else
		cr_expect_null(c.why);
}

Test(product_way, by_type)
{
	for (unsigned d = 0; d < DTYPE_END; d++) {
		struct product p;

		if (!dtype_computes(d))
			continue;
		p = plain(d);
		if (d == DT_INT8 || d == DT_UINT8)
			expect(&p, nowhere, PRODUCT_PACKED, NULL);
		else if (d < DT_FLOAT16)
			expect(&p, nowhere, PRODUCT_BY_KERNEL, "none of this type");
		else
			expect(&p, nowhere, PRODUCT_AS_IT_LIES, NULL);
	}
}

Test(product_way, by_layout)
{
	const uint64_t odd[3] = {0, 1, 0};
	struct product p = plain(DT_FLOAT16);

	expect(&p, odd, PRODUCT_BY_KERNEL, "no multiple of their size");
	p.row[0] = 2;
	p.col[0] = M * 2;
	expect(&p, nowhere, PRODUCT_AS_IT_LIES, NULL);
	p.row[0] = 4;
	expect(&p, nowhere, PRODUCT_BY_KERNEL, "lie closely");
	p = plain(DT_FLOAT16);
	p.row[2] = 2; /* a result in columns */
	p.col[2] = M * 2;
	expect(&p, nowhere, PRODUCT_BY_KERNEL, "lie closely");
	p = plain(DT_FLOAT32);
	p.row[1] = -p.row[1];
	expect(&p, nowhere, PRODUCT_BY_KERNEL, "lie closely");
	p = plain(DT_FLOAT64);
	p.nbatch = 1;
	p.batch[0] = 2;
	p.step[1][0] = 12;
	expect(&p, nowhere, PRODUCT_BY_KERNEL, "no multiple of their size");
	p = plain(DT_FLOAT32);
	p.row[0] = 4LL * INT32_MAX + 4;
	expect(&p, nowhere, PRODUCT_BY_KERNEL, "lie closely");
	/* Packed, it matters not how they lay. */
	p = plain(DT_INT8);
	p.row[1] = -7;
	p.col[0] = 3;
	expect(&p, odd, PRODUCT_PACKED, NULL);
}

Test(product_way, by_shape)
{
	struct product p = plain(DT_UINT8);

	p.k = PRODUCT_PACKED_DEEP;
	expect(&p, nowhere, PRODUCT_PACKED, NULL);
	p.k++;
	expect(&p, nowhere, PRODUCT_BY_KERNEL, "32 bits");
	cr_expect_leq(128LL * 128 * PRODUCT_PACKED_DEEP, INT32_MAX);
	cr_expect_gt(128LL * 128 * (PRODUCT_PACKED_DEEP + 1), INT32_MAX);
	p.k = 16;
	expect(&p, nowhere, PRODUCT_BY_KERNEL, "short");
	p = plain(DT_FLOAT16);
	p.m = 3;
	expect(&p, nowhere, PRODUCT_AS_IT_LIES, NULL);
	p.k = 0;
	expect(&p, nowhere, PRODUCT_BY_KERNEL, "nothing");
}

Test(product_way, leading_dimensions)
{
	bool turned = true;
	int64_t ld = 0;

	cr_expect(product_layout(&turned, &ld, 3, 4, 9, 1) && !turned && ld == 9);
	cr_expect(product_layout(&turned, &ld, 3, 4, 1, 9) && turned && ld == 9);
	cr_expect(product_layout(&turned, &ld, 1, 4, 77, 1) && !turned && ld == 4);
	cr_expect(product_layout(&turned, &ld, 3, 1, 2, 77) && !turned && ld == 2);
	turned = false;
	cr_expect(product_layout(&turned, &ld, 1, 4, 1, 7) && turned && ld == 7);
	cr_expect_not(product_layout(&turned, &ld, 3, 4, 3, 1), "rows overlap");
	cr_expect_not(product_layout(&turned, &ld, 3, 4, 9, 2));
	cr_expect_not(product_layout(&turned, &ld, 3, 4, -9, 1));
}
