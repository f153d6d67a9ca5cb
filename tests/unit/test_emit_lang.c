/* SPDX-License-Identifier: Apache-2.0 */
/* What is written around loops of a kernel's text so that compilers make vectors of them. */
#include "lang_words.h"

#define NEST(body)                                                                                 \
	"kernel f(inout d: float64[:, :], x: float64[:, :]) { let n = len(d)\n"                    \
	"for k in 0..n { for i in 0..n { for j in 0..n { " body " } } } }"
#define APART(body) count(NEST(body), "BZ_APART(")

/* A strip ends before the turn that writes what all turns read, if their array is the same and only
 * what is written moves. */
Test(emit_lang, strips_that_end_before_a_turn)
{
	cr_assert(APART("d[i, j] = min(d[i, j], d[i, k] + d[k, j])"));
	cr_assert(APART("if d[i, k] + d[k, j] < d[i, j] { d[i, j] = d[i, k] + d[k, j] }"));
	cr_assert_eq(APART("d[i, j] = d[i, j] + x[i, k] * x[k, j]"), 0);
	cr_assert_eq(APART("d[i, k] = d[i, k] + d[i, j]"), 0);
	cr_assert_eq(APART("d[j, i] = d[j, i] + d[k, i]"), 0);
	cr_assert_eq(APART("d[i, j] = d[int64(x[i, j]), k]"), 0);
}

#define SUM(type, body)                                                                            \
	"kernel f(x: " type "[:], m: " type "[:, :]) -> (s: " type ", t: " type ") { " body " }"

/* A sum of what lies closely: the lanes of whole blocks, and of all that one loop gives. */
Test(emit_lang, sums_by_lanes)
{
	cr_assert_eq(count(SUM("float64", "s = sum(x[:] * x[:])"), "BZ_LANES_f64)) {"), 1);
	cr_assert_eq(count(SUM("float32", "s = dot(x[:], m[1, :])"), "BZ_LANES_f32)) {"), 1);
	cr_assert_eq(count(SUM("float64", "s = sum(m[:, :] * m[:, :])"), "BZ_BLOCK)) {"), 1);
	cr_assert_eq(count(SUM("float64", "s = sum(m[:, :] * m[:, :])"), "BZ_LANES_f64)) {"), 0);
	/* Columns do not lie closely, and other sums are the machine's. */
	cr_assert_eq(count(SUM("float64", "s = sum(m[:, 1] * m[:, 2])"), "BZ_LANED("), 0);
	cr_assert_eq(count(SUM("int64", "s = sum(x[:] * x[:])"), "BZ_LANED("), 0);
	cr_assert_eq(count(SUM("float64", "s = max(x[:] * x[:])"), "BZ_LANED("), 0);
}

#define FEW(body)                                                                                  \
	count("kernel f(inout x: float64[:], m: float64[:, :]) { " body " }", "<= BZ_FEW) {")
#define INSIDE "for i in 0..len(m) { for j in 0..len(m, 1) { "

/* A loop inside is there without strips as well, once, if it is short: rows of a few numbers. */
Test(emit_lang, loops_of_few_turns)
{
	cr_assert_eq(FEW(INSIDE "x[i] += m[i, j] } }"), 1);
	cr_assert_eq(FEW("let n = 0; while n < 9 { " INSIDE "x[i] += m[i, j] } }; n += 1 }"), 1);
	/* One that is in no other, by other steps, or written out; around another only the
	 * innermost. */
	cr_assert_eq(FEW("for i in 0..len(x) { x[i] += 1.0 }"), 0);
	cr_assert_eq(FEW("for i in 0..9 { for j in 0..len(x) step 2 { x[j] += 1.0 } }"), 0);
	cr_assert_eq(FEW("for i in 0..len(m) { for j in 0..4 { x[i] += m[i, j] } }"), 0);
	cr_assert_eq(FEW(INSIDE "for k in i..j { x[k] += m[i, j] } } }"), 1);
	/* Slices have a loop of their own, and what is long is worth its strips. */
	cr_assert_eq(FEW("for i in 0..len(m) { x[:] += m[i, :] }"), 0);
	cr_assert_eq(FEW(INSIDE
			 "x[i] = (((((((m[i, j] + 1.0) * 2.0 + 1.0) * 2.0 + 1.0) * 2.0 + 1.0)"
			 " * 2.0 + 1.0) * 2.0 + 1.0) * 2.0 + 1.0) * 2.0 + m[j, i] * m[i, i]"
			 " + (m[i, j] + x[j]) * (m[j, j] + x[i]) } }"),
		     0);
}

#define ALIGNED(body)                                                                              \
	count("kernel f(inout x: float64[:], inout m: float64[:, :]) { " body " }", "BZ_ALIGN(")

/* Strips begin with a line of the cache where what they write, first of all, lies in a row. */
Test(emit_lang, strips_that_begin_with_a_line)
{
	cr_assert_eq(ALIGNED("for i in 0..len(x) { x[i] += 1.0 }"), 1);
	cr_assert_eq(ALIGNED(INSIDE "m[i, j] *= x[j] } }"), 1);
	cr_assert_eq(ALIGNED("for i in 0..len(x) { x[i] += 1.0; m[0, i] = x[i] }"), 1);
	cr_assert_eq(ALIGNED("for i in 1..len(x) { x[i] += 1.0; x[i - 1] = x[i] * 2.0 }"), 1);
	/* By other steps, of a column, where the place is read, or nothing is written. */
	cr_assert_eq(ALIGNED("for i in 0..len(x) // 2 { x[2 * i] += 1.0 }"), 0);
	cr_assert_eq(ALIGNED("for i in 0..len(m) { m[i, 0] += x[i] }"), 0);
	cr_assert_eq(ALIGNED("for i in 0..len(x) { x[int64(m[0, i])] += 1.0 }"), 0);
	cr_assert_eq(ALIGNED("for i in 0..len(x) { m[0, i] = 1.0; x[int64(m[1, i])] = 2.0 }"), 0);
	cr_assert_eq(ALIGNED("let s = 0.0; for i in 0..len(x) { s += x[i] }; x[0] = s"), 0);
}
