/* SPDX-License-Identifier: Apache-2.0 */
/* Whiles whose turns find what the one before has stored: heads that are written at each way to
 * them, what is known of the element there, and stretches with one comparison for their indices. */
#define _GNU_SOURCE
#include <criterion/criterion.h>

#include "base/textbuf.h"
#include "lang_same.h"
#include "lang_words.h"

TestSuite(lang_turn, .timeout = 120);

/* ---- What is written ---- */

#define KERNEL(body)                                                                               \
	"kernel f(inout x: int64[:], inout y: int64[:], k: int64) -> (n: int64) {\n"               \
	"let i = 0; let b = 0\n" body "\n}"
#define WAYS(body) count(KERNEL(body), "goto M")
#define TAIL	   "x[i] -= 1 }"

/* At the end and at each `continue`, where the loop stores to what its head loads. */
Test(lang_turn, heads_at_each_way)
{
	cr_expect_eq(WAYS("while i < k { if x[i] == 0 { i += 1; continue }; " TAIL), 2);
	cr_expect_eq(WAYS("while x[i] > 0 { " TAIL), 1);
	cr_expect_eq(WAYS("while i < k { b = x[i] * 2; if b < 3 { i += 1; continue }\n"
			  "if b == 4 { i += 2; continue }; " TAIL),
		     3);
	/* It loads nothing that is stored, or something with a loop or a call before it. */
	cr_expect_eq(WAYS("while i < k { if y[i] == 0 { i += 1; continue }; " TAIL), 0);
	cr_expect_eq(WAYS("while i < k { if x[i] == 0 { i += 1; continue }; b += x[i]; i += 1 }"),
		     0);
	cr_expect_eq(WAYS("while i < k { for j in 0..2 { b += j }; if x[i] == 0 { i += 1 }; " TAIL),
		     0);
	/* Two ways out of the head, or too many to it. */
	cr_expect_eq(WAYS("while i < k and i < 5 { " TAIL), 0);
#define AWAY(n) "if x[i] == " #n " { i += 1; continue }; "
	cr_expect_eq(WAYS("while i < k { " AWAY(1) AWAY(2) AWAY(3) TAIL), 4);
	cr_expect_eq(WAYS("while i < k { " AWAY(1) AWAY(2) AWAY(3) AWAY(4) TAIL), 0);
}

#define LOADS(body) count(KERNEL("while i < k { " body " }"), "BZ_LOAD(")

/* Of the same element no more is loaded, until something is stored or the index is another. */
Test(lang_turn, what_the_head_has_loaded)
{
	cr_expect_eq(LOADS("b = x[i]; i = x[i]; x[0] = b"), 2);
	cr_expect_eq(LOADS("b = x[i]; x[0] = b; i = x[i]"), 3);
	cr_expect_eq(LOADS("b = x[i]; i += 1; b += x[i]; x[0] = b"), 3);
	cr_expect_eq(LOADS("b = x[i]; b += x[i + 1]; x[0] = b"), 3);
	cr_expect_eq(LOADS("b = x[i]; if b > 3 { y[i] = 0 }; b += x[i]; x[0] = b"), 3);
	cr_expect_eq(LOADS("b = x[i]; if b > 3 { y[i] = 0; continue }; b += x[i]; x[0] = b"), 3);
	cr_expect_eq(LOADS("b = x[i]; if b > 3 { i = 0 }; b += x[i]; x[0] = b"), 3);
}

#define ONCE(body)                                                                                 \
	count(KERNEL("while i < k { i += 1; if i == 7 { continue }; " body " }"), "goto G")

/* Three checks or more of one register and constants, in a stretch without jumps. */
Test(lang_turn, one_comparison_for_a_stretch)
{
	cr_expect_eq(ONCE("x[i + 1] = x[i] + y[i]"), 1);
	cr_expect_eq(ONCE("x[i + 1] = x[i - 1]; i += 1; y[i] = 3"), 1);
	cr_expect_eq(ONCE("x[i + 1] = x[i] + y[b]"), 0);
	cr_expect_eq(ONCE("x[i] = x[i] + y[i]"), 0);
	cr_expect_eq(ONCE("x[i + 5000] = x[i] + y[i]"), 0);
	cr_expect_eq(ONCE("x[i + 1] = x[i]; if b > 2 { b = y[i] }"), 0);
	cr_expect_eq(count(KERNEL("for j in 0..k { b = x[j]; x[b + 1] = x[b] + y[b] }"), "goto G"),
		     0);
}

/* ---- What is done ---- */

static const char *const programs[] = {
	/* Backtracking, on arrays that are cleared before. */
	KERNEL("for j in 0..64 { x[j] = 0; y[j] = 0 }\n"
	       "x[0] = 63\n"
	       "while i >= 0 {\n"
	       "if x[i] == 0 { i -= 1; continue }\n"
	       "b = x[i] & -x[i]\n"
	       "x[i] ^= b\n"
	       "if i == 5 { n += 1; continue }\n"
	       "y[i + 1] = (y[i] | b) << 1\n"
	       "i += 1\n"
	       "x[i] = 63 & ~y[i] }"),
	/* An index that is wrong at the head, at a way back to it, and in a stretch: what was
	 * stored before stays. */
	KERNEL("while n < 500 { n += 1; if x[i] % 2 == 0 { i += 3; continue }; x[i] += 1 }"),
	KERNEL("while x[i] != 12345 { x[i] = n; n += 1; i -= 1 }"),
	KERNEL("while i < 100 { x[i] = i; x[i + 1] = y[i]; y[i + 2] = x[i - 1] + 1; i += 1 }"),
	KERNEL("i = 40\nwhile i > -100 { y[i] = i; x[i + 1] = y[i - 3]; i -= 1 }"),
	/* Registers that wrap. */
	KERNEL("i = 9223372036854775807\n"
	       "while n < 9 { n += 1; b = i + 60; if n == 3 { i = 2 }\n"
	       "x[i + 1] = x[i + 2] + y[i + 3] }"),
	KERNEL("i = -9223372036854775807 - 1\n"
	       "while n < 9 { n += 1; x[3] = n; x[i] = x[i - 1] + y[i - 2] }"),
	/* The head's element, stored under another name, and by a branch. */
	KERNEL("while n < 900 { n += 1; b = x[i]; x[k] = n; if b % 3 == 1 { i = k; k = n % 64 }\n"
	       "y[i] = x[i]; i = (i + b) & 63; x[i] += y[k] }"),
	KERNEL("while n < 900 { n += 1; if x[i] < 0 { x[i] = -(x[i] // 2); continue }\n"
	       "if x[i] & 1 == 1 { y[i] = x[i]; i = (i + 1) & 63 }\n"
	       "x[i] = x[i] - 3 * y[i] }"),
	/* Types that are smaller, counted from 1, and a while inside of other loops. */
	"kernel f(inout x: int8[:], inout y: bool[:], inout z: float32[:]) -> (n: int64) base 1 {\n"
	"let i = 1\n"
	"while n < 700 {\n"
	"if y[i] { y[i] = false; n += 1; continue }\n"
	"x[i + 1] += x[i]; z[i] = z[i + 1] + float32(x[i + 1]); y[i + 1] = x[i] > 3\n"
	"n += 1; i = i % 63 + 1 } }",
	KERNEL("for j in 0..20 {\n"
	       "let t = j\n"
	       "while x[t] > t { x[t] = x[t] // 2 - 1; t = (t + 1) & 63; n += 1 }\n"
	       "while t > 0 { t -= 1; b = 0\n"
	       "while b < 5 { b += 1; if x[t] == 0 { x[t] = 1; continue }; x[t] += b } } }"),
	"fn g(a: int64) -> int64 { let t = a\n while t > 9 { t = t // 2 }\n return t }\n"
	"kernel f(inout x: int64[:]) -> (n: int64) {\n"
	"let i = 0\n"
	"while n < 300 { if x[i] == 0 { x[i] = g(n); n += 1; continue }\n"
	"i = g(abs(x[i] % 64)); x[i] = x[i] // 2; n += 1 } }",
};

Test(lang_turn, programs_go_the_machines_way)
{
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
		same_at(programs[i], 3);
}

/* ---- Made by chance ---- */

static unsigned next(uint64_t *seed, unsigned below)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return (unsigned)(*seed >> 33) % below;
}

static const char *some(uint64_t *seed)
{
	static const char *const element[] = {
		"x[i]",	    "x[i]", "x[i]",	"x[i + 1]", "x[i - 1]", "y[i]", "y[j]",
		"y[i + 2]", "x[j]", "x[j - 1]", "y[i + 1]", "b",	"n"};

	return element[next(seed, sizeof element / sizeof *element)];
}

static void put_statement(struct textbuf *o, uint64_t *seed, int depth)
{
	static const char *const index[] = {"i", "i", "i", "j"};
	const char *one = some(seed), *two = some(seed);

	switch (next(seed, depth ? 9 : 6)) {
	case 0:
	case 1:
	case 2:
		textbuf_put(o, "%s = %s - %s\n", one[0] == 'n' ? "b" : one, two, some(seed));
		break;
	case 3:
		textbuf_put(o, "b = %s ^ %s\n", one, two);
		break;
	case 4:
		textbuf_put(o, "%s = (%s + %s) & 31\n", index[next(seed, 4)], one, two);
		break;
	case 5:
		textbuf_put(o, "i %s 1\n", next(seed, 2) ? "+=" : "-=");
		break;
	default:
		textbuf_put(o, "if %s %% 3 == %u {\n", one, next(seed, 3));
		for (unsigned k = next(seed, 3); k-- > 0;)
			put_statement(o, seed, depth - 1);
		textbuf_put(o, next(seed, 3) ? "continue }\n" : "}\n");
	}
}

/* Each turn counts first of all, so all of them end: at a wrong index, too. */
Test(lang_turn, bodies_made_by_chance)
{
	for (unsigned k = 1; k <= 40; k++) {
		uint64_t seed = k * 0x9e3779b97f4a7c15u;
		char text[4096];
		struct textbuf o = {text, sizeof text, 0};

		textbuf_put(&o,
			    "kernel f(inout x: int64[:], inout y: int64[:]) -> (n: int64) {\n"
			    "let i = %u; let j = %u; let b = 0\n"
			    "for t in 0..64 { x[t] = x[t] & 255; y[t] = y[t] & 255 }\n"
			    "while n < 400 {\nn += 1\nif %s == 0 { continue }\n",
			    next(&seed, 32), 1 + next(&seed, 32), some(&seed));
		for (unsigned s = 3 + next(&seed, 7); s-- > 0;)
			put_statement(&o, &seed, 2);
		textbuf_put(&o, "}\nn += i + b\n}");
		same_at(text, 2);
	}
}
