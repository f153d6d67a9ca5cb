/* SPDX-License-Identifier: Apache-2.0 */
/* The form of loops: bounds, indices, conditions and scalars, as printed. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "lang/lang_loops.h"

static char *printed(const char *text)
{
	struct lang_program *p = NULL;
	struct lang_tree *tree = NULL;
	struct lang_loops *l;
	struct err err = {0};
	char *lines;

	cr_assert(!lang_parse(&tree, text, strlen(text), &err), "%s", err.text);
	cr_assert(!lang_check(&p, tree, &err), "%s", err.text);
	free(tree);
	cr_assert((l = lang_loops_of(p)));
	lines = lang_loops_print(l);
	lang_loops_free(l);
	lang_free(p);
	return lines;
}

/* What is printed of a text is this. */
static void gives(const char *text, const char *want)
{
	char *lines = printed(text);

	cr_expect_str_eq(lines, want, "%s\ngives\n%s", text, lines);
	free(lines);
}

Test(lang_loops, nests_indices_conditions_and_scalars)
{
	gives("kernel f(n: int64, m: int64, k: int64, taps: float64[:, :], x: float64[:, :], inout "
	      "o: float64[:, :], idx: int32[:]) -> (q: int64) {\n"
	      "    let c: int64 = 0\n"
	      "    let s: float64 = 0.0\n"
	      "    for i in 0..n {\n"
	      "        for j in i..m {\n"
	      "            s = 0.0\n"
	      "            for p in 0..k {\n"
	      "                    let t: int64 = i + k // 2 - p\n"
	      "                    c = t\n"
	      "                    if 0 <= c and c < n {\n"
	      "                        s = s + taps[p, 2*j] * x[c, idx[p]]\n"
	      "                    }\n"
	      "            }\n"
	      "            o[i, j] = s\n"
	      "            q += j\n"
	      "            while q > 100 { q -= 3 }\n"
	      "        }\n"
	      "    }\n"
	      "}\n",

	      "loop 0 at 2..43: from 0 to r0@0 by 1, inner, repeats\n"
	      "  scalar r6 float64: private\n"
	      "  scalar r4 int64: private\n"
	      "  scalar r31 bool: private\n"
	      "  scalar r3 int64: carried, read after\n"
	      "loop 1 at 4..42 in 0: from i0 to r1@0 by 1, inner, repeats\n"
	      "  scalar r6 float64: private, always\n"
	      "  scalar r4 int64: private\n"
	      "  scalar r31 bool: private\n"
	      "  scalar r3 int64: carried, read after\n"
	      "loop 2 at 7..32 in 1: from 0 to r2@0 by 1\n"
	      "  scalar r4 int64: private, always\n"
	      "  scalar r31 bool: private, always\n"
	      "  scalar r6 float64: accumulated by add, read after\n"
	      "place 21 in 2: load float64 a0[i2, 2*i1], known in 0\n"
	      "place 25 in 2: load int32 a3[i2], known in 0\n"
	      "place 28 in 2: load float64 a1[i0 + -1*i2 + floor_divide.int64(r2@0, 2), r46@27], "
	      "not known\n"
	      "place 35 in 1: store float64 a2[i0, i1], known in 0\n"
	      "from 16 to 18: less_equal.int64(0, i0 + -1*i2 + floor_divide.int64(r2@0, 2))\n"
	      "from 19 to 32: logical_and.bool(less_equal.int64(0, i0 + -1*i2 + "
	      "floor_divide.int64(r2@0, 2)), less.int64(i0 + -1*i2 + floor_divide.int64(r2@0, 2), "
	      "r0@0))\n"
	      "from 40 to 42: greater.int64(r3@38, 100)\n");
}

Test(lang_loops, triangles_calls_and_ways_out)
{
	gives("fn g(a: int64) -> int64 { return a + 1 }\n"
	      "kernel f(inout x: float64[:, :], inout y: int32[:], k: int64, w: int32) -> (n: "
	      "int32) base 1 {\n"
	      "    let last = 0\n"
	      "    for i in 1..len(x) + 1 {\n"
	      "        for j in len(x, 1)..i step -2 {\n"
	      "            x[i, j] += x[j - 1, 3 * i - 2 * j + k]\n"
	      "            if x[i, j] > 9.0 { last = j; break }\n"
	      "            y[w + 1] = y[g(i)]\n"
	      "        }\n"
	      "        for j in i..9 step k { y[j * i + j * 2] -= w; n += y[j * j * i] }\n"
	      "        if last > 3 or k < last { y[last] = n }\n"
	      "    }\n"
	      "    x[:, 1] += 1.0\n"
	      "}\n",

	      "loop 0 at 5..66: from 1 to n0.0 + 1 by 1, inner, calls, ranges\n"
	      "  scalar r7 int64: carried\n"
	      "  scalar r6 int32: carried, read after\n"
	      "  scalar r76 bool: private, always\n"
	      "loop 1 at 8..41 in 0: from n0.1 to i0 by -2, leaves, calls\n"
	      "  scalar r7 int64: private, read after\n"
	      "loop 2 at 42..56 in 0: from i0 to 9 by r4@2\n"
	      "  scalar r6 int32: accumulated by add, read after\n"
	      "loop 3 at 70..76: from 0 to r87@70 by 1, steps\n"
	      "place 12 in 1: load store float64 a0[i0, i1], known in 0\n"
	      "place 19 in 1: load float64 a0[i1 + -1, 3*i0 + -2*i1 + r4@2], known in 0\n"
	      "place 25 in 1: load float64 a0[i0, i1], known in 0\n"
	      "place 35 in 1: load int32 a1[?@35], not known\n"
	      "place 39 in 1: store int32 a1[add.int32(r5@2, 1)], not known\n"
	      "place 47 in 2: load store int32 a1[i0*i2 + 2*i2], known in 2\n"
	      "place 53 in 2: load int32 a1[multiply.int64(i2*i2, i0)], not known\n"
	      "place 64 in 0: store int32 a1[r7@42], not known\n"
	      "from 29 to 31: r46@28\n"
	      "from 60 to 62: not greater.int64(r7@42, 3)\n"
	      "from 63 to 66: logical_or.bool(greater.int64(r7@42, 3), less.int64(r4@2, r7@42))\n");
}

Test(lang_loops, numbers_wrap_and_shorter_ones_stay_apart)
{
	gives("kernel f(inout x: int64[:], a: int32, b: uint32, c: bool) {\n"
	      "    let m = a + int32(1)\n"
	      "    for i in 0..int64(b) {\n"
	      "        x[9223372036854775807 * i + 9223372036854775807] = i\n"
	      "        x[m + int64(c)] = i\n"
	      "        x[min(i, 3) + abs(m)] = x[x[i] - x[i]]\n"
	      "    }\n"
	      "}\n",

	      "loop 0 at 2..28: from 0 to r1@0 by 1\n"
	      "place 6 in 0: store int64 a0[9223372036854775807*i0 + 9223372036854775807], known "
	      "in 0\n"
	      "place 11 in 0: store int64 a0[add.int32(r0@0, 1) + r2@0], known in 0\n"
	      "place 14 in 0: load int64 a0[i0], known in 0\n"
	      "place 17 in 0: load int64 a0[i0], known in 0\n"
	      "place 20 in 0: load int64 a0[r28@16 + -1*r31@19], not known\n"
	      "place 26 in 0: store int64 a0[minimum.int64(i0, 3) + absolute.int32(add.int32(r0@0, "
	      "1))], not known\n");
}
