/* SPDX-License-Identifier: Apache-2.0 */
/* Structures of sparse matrices in memory: what is wrong with them, and what they become. */
#include <criterion/criterion.h>
#include <string.h>

#include "braze.h"

/* Three rows of four columns: (3, 0), none, (1, 1, 2). */
static const int64_t wide[] = {0, 2, 2, 5, 3, 0, 1, 1, 2};
static const int32_t narrow[] = {0, 2, 2, 5, 3, 0, 1, 1, 2};

static int check(const int64_t *structure, const char *text)
{
	braze_error err = {0};
	int rc = braze_sparse_check(BRAZE_INT64, 3, 4, 5, structure, &err);

	cr_assert(!rc || strstr(err.text, text), "%s", err.text);
	return rc;
}

Test(client_sparse, structures_are_checked)
{
	int64_t s[9];

	cr_assert_eq(check(wide, ""), 0);
	cr_assert_eq(braze_sparse_check(BRAZE_INT32, 3, 4, 5, narrow, NULL), 0);
	cr_assert_eq(braze_sparse_check(BRAZE_UINT32, 3, 4, 5, narrow, NULL), BRAZE_E_DTYPE);
	cr_assert_eq(braze_sparse_check(BRAZE_INT32, -1, 4, 5, narrow, NULL), BRAZE_E_INVALID);
	memcpy(s, wide, sizeof s);
	s[0] = 1;
	cr_assert_eq(check(s, "first row"), BRAZE_E_INVALID);
	memcpy(s, wide, sizeof s);
	s[1] = 3;
	cr_assert_eq(check(s, "row 1 begins at entry 3"), BRAZE_E_INVALID);
	memcpy(s, wide, sizeof s);
	s[3] = 4;
	cr_assert_eq(check(s, "last row"), BRAZE_E_INVALID);
	memcpy(s, wide, sizeof s);
	s[8] = 4;
	cr_assert_eq(check(s, "entry 4 is of column 4"), BRAZE_E_INDEX);
	s[8] = -1;
	cr_assert_eq(check(s, "entry 4 is of column -1"), BRAZE_E_INDEX);
}

/* Entries of a column keep the order of their rows. */
Test(client_sparse, transposed_structures)
{
	static const int64_t want[] = {0, 1, 3, 4, 5, 0, 2, 2, 2, 0}, places[] = {1, 2, 3, 4, 0};
	int64_t made[10], order[5];
	int32_t half[10];
	braze_error err;

	cr_assert_eq(braze_sparse_transpose(made, order, BRAZE_INT64, 3, 4, 5, wide, &err), 0);
	cr_assert(!memcmp(made, want, sizeof want) && !memcmp(order, places, sizeof places));
	cr_assert_eq(braze_sparse_transpose(half, order, BRAZE_INT32, 3, 4, 5, narrow, &err), 0);
	for (int k = 0; k < 10; k++)
		cr_assert_eq(half[k], want[k]);
	cr_assert(!memcmp(order, places, sizeof places));
	cr_assert_eq(braze_sparse_transpose(made, order, BRAZE_INT64, 3, 3, 5, wide, &err),
		     BRAZE_E_INDEX, "a column that is not there");
}
