/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of a loop's looks: found by all of the key, forgotten when there are too many. */
#include <criterion/criterion.h>

#include "lang/lang_answers.h"

static struct lang_nest nest(uint64_t turns)
{
	struct lang_nest n = {.why = turns % 2 ? NEST_DEPENDS : NEST_NONE, .turns = turns};

	n.work = 10 * turns;
	return n;
}

Test(lang_answers, each_key_has_its_own)
{
	struct lang_answers a = {0};

	cr_assert_null(lang_answers_find(&a, (int64_t[]){1, 2}, 2));
	for (int64_t k = 0; k < 700; k++) {
		struct lang_nest n = nest((uint64_t)k);

		lang_answers_keep(&a, (int64_t[]){k, -k}, 2, &n);
		lang_answers_keep(&a, (int64_t[]){k, -k}, 2, &n);
	}
	cr_assert_eq(a.n, 700);
	for (int64_t k = 0; k < 700; k++) {
		const struct lang_found *f = lang_answers_find(&a, (int64_t[]){k, -k}, 2);

		cr_assert(f && f->turns == (uint64_t)k && f->work == 10 * (uint64_t)k);
		cr_assert_eq(f->why, k % 2 ? NEST_DEPENDS : NEST_NONE);
		cr_assert_null(lang_answers_find(&a, (int64_t[]){k, -k - 1}, 2));
		cr_assert_null(lang_answers_find(&a, (int64_t[]){k, -k, 0}, 3));
	}
	lang_answers_forget(&a);
	cr_assert_null(lang_answers_find(&a, (int64_t[]){1, -1}, 2));
}

Test(lang_answers, too_many_and_another_length)
{
	struct lang_answers a = {0};
	struct lang_nest n = nest(3);

	for (int64_t k = 0; k <= LANG_ANSWERS; k++)
		lang_answers_keep(&a, &k, 1, &n);
	cr_assert_eq(a.n, 1);
	cr_assert_not_null(lang_answers_find(&a, (int64_t[]){LANG_ANSWERS}, 1));
	lang_answers_keep(&a, (int64_t[]){0, 0, 0}, 3, &n);
	cr_assert_eq(a.n, 1);
	lang_answers_keep(&a, (int64_t[]){0}, 0, &n);
	cr_assert_eq(a.n, 1);
	lang_answers_forget(&a);
}
