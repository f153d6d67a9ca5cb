/* SPDX-License-Identifier: Apache-2.0 */
/* Library steps: their table, what they touch, what is refused. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/textbuf.h"
#include "call/product.h"

static struct plan_call product_of_shape(int64_t batch, int64_t m, int64_t k, int64_t n)
{
	struct product p = {.dtype = DT_FLOAT64,
			    .nbatch = 1,
			    .m = m,
			    .n = n,
			    .k = k,
			    .batch = {batch},
			    .row = {k * 8, n * 8, n * 8},
			    .col = {8, 8, 8},
			    .step = {{m * k * 8}, {0}, {m * n * 8}}};
	struct plan_call c = {0};

	product_call(&c, &p);
	return c;
}

Test(call, every_row_is_whole)
{
	cr_assert_null(call_row(CALL_END));
	for (unsigned i = 0; i < CALL_END; i++) {
		const struct call_row *r = call_row(i);

		unsigned most = r->noperand == CALL_LIST ? CALL_OPERANDS : r->noperand;

		cr_assert_leq(most, CALL_OPERANDS);
		cr_assert(r->written && r->written < 1ull << most);
		cr_assert(r->check && r->work && r->us && r->units && r->put_name && r->print);
		cr_assert_gt(r->work_ns, 0);
		for (unsigned j = 0; j < i; j++)
			cr_assert_neq(strcmp(call_row(j)->name, r->name), 0);
	}
}

Test(call, a_product_there_and_back)
{
	struct plan_call c = product_of_shape(3, 4, 5, 6);
	struct product p;

	cr_assert_eq(call_check(&c, NULL), OK);
	product_of(&p, &c);
	cr_assert(p.dtype == DT_FLOAT64 && p.nbatch == 1 && p.batch[0] == 3);
	cr_assert(p.m == 4 && p.k == 5 && p.n == 6);
	cr_assert(p.row[0] == 40 && p.row[1] == 48 && p.row[2] == 48);
	cr_assert(p.col[0] == 8 && p.col[1] == 8 && p.col[2] == 8);
	cr_assert(p.step[0][0] == 160 && p.step[1][0] == 0 && p.step[2][0] == 192);
	cr_assert(!call_writes(&c, 0) && !call_writes(&c, 1) && call_writes(&c, 2));
}

Test(call, what_it_touches)
{
	struct plan_call c = product_of_shape(3, 4, 5, 6);
	int64_t lo = 1, hi = 1;

	call_range(&lo, &hi, &c, 0);
	cr_assert(lo == 0 && hi == 3 * 160);
	call_range(&lo, &hi, &c, 1);
	cr_assert(lo == 0 && hi == 5 * 48);
	/* Rows from the last to the first, columns too. */
	c.operand[0].stride[1] = -40;
	c.operand[0].stride[3] = -8;
	call_range(&lo, &hi, &c, 0);
	cr_assert(lo == -3 * 40 - 4 * 8 && hi == 2 * 160 + 8);
	c.extent[3] = 0;
	call_range(&lo, &hi, &c, 0);
	cr_assert(lo == 0 && hi == 0);
}

Test(call, what_is_none_is_refused)
{
	for (int mistake = 0; mistake < 9; mistake++) {
		struct plan_call c = product_of_shape(3, 4, 5, 6);
		struct err err = {0};

		switch (mistake) {
		case 0:
			c.call = CALL_END;
			break;
		case 1:
			c.dtype = DTYPE_END;
			break;
		case 2:
			c.nloop = LIMIT_NDIM + 1;
			break;
		case 3:
			c.nloop = 2;
			break;
		case 4:
			c.extent[2] = -1;
			break;
		case 5:
			c.operand[1].dtype = DTYPE_END;
			break;
		case 6:
			c.operand[2].dtype = DT_FLOAT32;
			break;
		case 7: /* more bytes than can be counted */
			c.operand[0].stride[0] = INT64_MAX / 2;
			break;
		case 8:
			c.extent[0] = c.extent[1] = INT64_MAX / 4;
			memset(c.operand[0].stride, 0, sizeof c.operand[0].stride);
			memset(c.operand[2].stride, 0, sizeof c.operand[2].stride);
			break;
		}
		cr_assert_eq(call_check(&c, &err), E_INTERNAL, "mistake %d", mistake);
		cr_assert_gt(strlen(err.text), 0);
	}
}

/* Of the processor's steps, which are measured by it. */
static char *key(const struct plan_call *c)
{
	static char text[2048];
	struct textbuf t = {text, sizeof text, 0};

	call_key(&t, c);
	return strdup(text);
}

Test(call, each_size_and_layout_has_its_key)
{
	struct plan_call c = product_of_shape(3, 4, 5, 6), d = c;
	char *one = key(&c), *two = key(&d);

	cr_assert_str_eq(one, two);
	free(two);
	for (int change = 0; change < 4; change++) {
		d = c;
		if (change == 0)
			d.extent[1]++;
		else if (change == 1)
			d.operand[2].stride[2] += 8;
		else if (change == 2)
			d.operand[0].dtype = DT_INT64;
		else
			d.dtype = DT_FLOAT32;
		two = key(&d);
		cr_assert_str_neq(one, two, "change %d", change);
		free(two);
	}
	/* Where it lies is no matter. */
	d = c;
	d.operand[1].slot = 7;
	d.operand[1].offset = 64;
	two = key(&d);
	cr_assert_str_eq(one, two);
	free(two);
	free(one);
}

Test(call, units_of_a_product)
{
	struct plan_call c = product_of_shape(3, 300, 5000, 600);
	struct call_units u;

	call_row(c.call)->units(&u, &c, false);
	cr_assert_gt(u.total, 1);
	cr_assert_eq(u.grain, 1);
	cr_assert_leq((uint64_t)u.total * u.work, call_row(c.call)->work(&c));
	call_row(c.call)->units(&u, &c, true);
	cr_assert_eq(u.total, 3 * 300);
	cr_assert_eq(u.work, 5000 * 600);
	cr_assert_gt(u.grain, 1);
}
