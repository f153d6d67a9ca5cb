/* SPDX-License-Identifier: Apache-2.0 */
/* Names to objects. */
#include <criterion/criterion.h>

#include "cuda/cuda_worker.h"

Test(cuda_table, finds_what_was_put_and_not_taken)
{
	enum { N = 500 };
	struct cuda_table t = {0};
	static char object[N];

	/* In an order that is neither rising nor falling. */
	for (uint32_t i = 0; i < N; i++)
		cuda_table_put(&t, i * 7 % N * 3, &object[i * 7 % N]);
	cr_assert_eq(t.count, N);
	for (uint32_t i = 0; i < N; i++) {
		cr_assert_eq(cuda_table_find(&t, i * 3), &object[i]);
		cr_assert_null(cuda_table_find(&t, i * 3 + 1));
	}
	for (uint32_t i = 0; i < N; i += 2)
		cr_assert_eq(cuda_table_take(&t, i * 3), &object[i]);
	cr_assert_null(cuda_table_take(&t, 0));
	for (uint32_t i = 0; i < N; i++)
		cr_assert_eq(cuda_table_find(&t, i * 3), i % 2 ? &object[i] : NULL);
	cuda_table_finish(&t);
	cr_assert_null(cuda_table_find(&t, 3));
}
