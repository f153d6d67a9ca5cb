/* SPDX-License-Identifier: Apache-2.0 */
/* Dependence between turns: each form that has a name, and random nests against enumeration. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "../fuzz/nest_of.h"

/* An access of elements of 8 bytes; factors in elements. */
#define AT(w, first, ...)                                                                          \
	{                                                                                          \
		.address = {8 * (first), {__VA_ARGS__}}, .bytes = 8, .writes = (w)                 \
	}

static const char *text_of(const struct lang_turns *turns, struct lang_reach *access, unsigned n,
			   unsigned nloop, unsigned level)
{
	static char text[128];
	struct lang_dependence d;
	int at;

	for (unsigned a = 0; a < n; a++) {
		access[a].nloop = nloop;
		for (unsigned k = 0; k < nloop; k++) {
			access[a].loop[k] = k;
			access[a].address.factor[k] *= 8;
		}
	}
	d = lang_depend(turns, access, n, level);
	if (d.answer != LANG_CARRIED)
		return d.answer == LANG_UNKNOWN ? "unknown" : "independent";
	at = sprintf(text, "%u to %u", d.first, d.second);
	if (d.constant)
		at += sprintf(text + at, " by %lld", (long long)d.distance);
	sprintf(text + at, " (%.*s)", (int)d.ndirection, d.direction);
	return text;
}

/* One loop over 0..n, which writes the first access and reads the second. */
static const char *one(int64_t n, int64_t factor, int64_t first, int64_t other, int64_t second)
{
	struct lang_turns turns = {.stop = {.constant = n}, .step = 1};
	struct lang_reach access[] = {AT(true, first, factor), AT(false, second, other)};

	return text_of(&turns, access, 2, 1, 0);
}

#define SAYS(text, want) cr_assert_str_eq(text, want, "%s, not %s", text, want)

Test(lang_depend, each_form_of_one_number)
{
	/* ZIV: the same place in each turn, and another one. */
	SAYS(one(10, 0, 3, 0, 3), "0 to 0 (<)");
	SAYS(one(10, 1, 0, 0, 99), "independent");
	/* Strong SIV: a[i + k] = a[i], k before, behind, none, and beyond the length. */
	SAYS(one(100, 1, 1, 1, 0), "0 to 1 by 1 (<)");
	SAYS(one(100, 1, 7, 1, 0), "0 to 1 by 7 (<)");
	SAYS(one(100, 1, -2, 1, 0), "1 to 0 by 2 (<)");
	SAYS(one(100, 1, 0, 1, 0), "independent");
	SAYS(one(100, 1, 100, 1, 0), "independent");
	SAYS(one(100, 1, 99, 1, 0), "0 to 1 by 99 (<)");
	SAYS(one(100, 2, 1, 2, 0), "independent");
	SAYS(one(100, 1, (int64_t)1 << 50, 1, 0), "independent");
	/* Weak-zero: at the first turn, in the middle, outside. */
	SAYS(one(100, 1, 0, 0, 0), "0 to 1 (<)");
	SAYS(one(100, 1, 0, 0, 50), "0 to 1 (<)");
	SAYS(one(100, 1, 0, 0, 100), "independent");
	/* Weak-crossing: x[i] = x[n - 1 - i], and between two turns. */
	SAYS(one(100, 1, 0, -1, 99), "0 to 1 (<)");
	SAYS(one(100, 2, 0, -2, 99), "independent");
	SAYS(one(100, 1, 0, -1, 200), "independent");
	/* GCD, and several factors. */
	SAYS(one(100, 4, 0, 2, 1), "independent");
	SAYS(one(100, 4, 0, 2, 2), "0 to 1 (<)");
	/* No turns, or one. */
	SAYS(one(0, 0, 0, 0, 0), "independent");
	SAYS(one(1, 0, 0, 0, 0), "independent");
}

/* Two loops, over 0..n and of `turns`, of a matrix of n columns. */
static const char *two(const struct lang_turns *inner, int64_t n, unsigned level, int64_t wi,
		       int64_t wj, int64_t w, int64_t ri, int64_t rj, int64_t r)
{
	struct lang_turns turns[2] = {{.stop = {.constant = n}, .step = 1}, *inner};
	struct lang_reach access[] = {AT(true, w, wi, wj), AT(false, r, ri, rj)};

	return text_of(turns, access, 2, 2, level);
}

Test(lang_depend, coupled_and_triangular)
{
	const struct lang_turns square = {.stop = {.constant = 50}, .step = 1};
	const struct lang_turns above = {{1, {1}}, {50, {0}}, 1}, below = {{0, {0}}, {0, {1}}, 1};

	/* a[i, j] = a[i - 1, j + 1] */
	SAYS(two(&square, 50, 0, 50, 1, 0, 50, 1, -49), "0 to 1 by 1 (<>)");
	SAYS(two(&square, 50, 1, 50, 1, 0, 50, 1, -50), "independent");
	/* a[i, j] = a[j, i]: of the whole, and of what is above the diagonal. */
	SAYS(two(&square, 50, 0, 50, 1, 0, 1, 50, 0), "0 to 1 (<>)");
	SAYS(two(&above, 50, 0, 50, 1, 0, 1, 50, 0), "independent");
	SAYS(two(&below, 50, 0, 50, 1, 0, 1, 50, 0), "independent");
	SAYS(two(&below, 50, 1, 50, 1, 0, 1, 50, 0), "independent");
	/* a[i + j] = ...: the same place by several ways. */
	SAYS(two(&square, 50, 0, 1, 1, 0, 0, 0, 999), "0 to 0 (<>)");
	SAYS(two(&square, 50, 1, 1, 1, 0, 0, 0, 999), "independent");
	/* A row that is read whole, of which the turn before has written one: a[i] from a[j], j <
	 * i. */
	SAYS(two(&below, 50, 0, 1, 0, 0, 0, 1, 0), "0 to 1 (<<)");
}

Test(lang_depend, four_loops_in_three_settings)
{
	/* a[i + p, j, k, l] = a[i, j + q, k, l] for p, q of the call: which loops may go at once?
	 */
	static const int64_t setting[3][2] = {{0, 0}, {1, 0}, {0, 1}};
	static const char *const want[3] = {"pppp", "sppp", "pspp"};

	for (unsigned s = 0; s < 3; s++) {
		char seen[5] = "";

		for (unsigned level = 0; level < 4; level++) {
			struct lang_turns turns[4];
			int64_t p = setting[s][0], q = setting[s][1];
			struct lang_reach access[] = {AT(true, p * 1000, 1000, 100, 10, 1),
						      AT(false, q * 100, 1000, 100, 10, 1)};

			for (unsigned k = 0; k < 4; k++)
				turns[k] = (struct lang_turns){.stop = {.constant = 9}, .step = 1};
			strcat(seen, *text_of(turns, access, 2, 4, level) == 'i' ? "p" : "s");
		}
		cr_assert_str_eq(seen, want[s], "%u: %s", s, seen);
	}
}

Test(lang_depend, numbers_that_are_too_large)
{
	struct lang_turns turns = {.stop = {.constant = INT64_MAX}, .step = 1};
	struct lang_reach access[] = {
		{.address = {0, {INT64_MAX}}, .bytes = 8, .writes = true, .nloop = 1}};
	struct lang_dependence d = lang_depend(&turns, access, 1, 0);

	cr_assert(d.answer == LANG_UNKNOWN);
	turns.start.constant = INT64_MIN;
	d = lang_depend(&turns, access, 1, 0);
	cr_assert(d.answer == LANG_UNKNOWN);
}

Test(lang_depend, random_nests_against_enumeration)
{
	unsigned unknown = 0, total = 20000;
	uint64_t x = 1;

	for (unsigned t = 0; t < total; t++) {
		uint8_t bytes[160];
		struct fuzz_input in = {bytes, sizeof bytes};

		for (size_t k = 0; k < sizeof bytes; k++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			bytes[k] = (uint8_t)(x >> 56);
		}
		nest_check(&in, &unknown);
	}
	/* It decides nearly all. */
	cr_assert(unknown < total / 200, "%u of %u are unknown", unknown, total);
}
