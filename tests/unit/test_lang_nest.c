/* SPDX-License-Identifier: Apache-2.0 */
/* Which loops of texts may run at once, with the arrays of a call, and why the others may not. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/lang_nest.h"

#define N 20

static double memory[4 * N * N];

/* Of the loop at `which` among the loops of the text; arrays are N, or N x N, one after the other;
 * numbers are k. */
static const char *says(const char *body, unsigned which, int64_t k)
{
	static char out[256], text[1024];
	struct lang_array array[2] = {0};
	struct lang_program *p = NULL;
	struct lang_tree *tree = NULL;
	struct lang_loops *loops;
	struct lang_nest nest;
	struct err err = {0};
	union lang_reg *reg;
	uint32_t at;

	snprintf(text, sizeof text,
		 "kernel f(inout a: float64[:], inout m: float64[:,:], k: int64) -> "
		 "(s: int64, t: float64) {\n%s\n}",
		 body);
	cr_assert(!lang_parse(&tree, text, strlen(text), &err), "%s\n%s", err.text, text);
	cr_assert(!lang_check(&p, tree, &err), "%s\n%s", err.text, text);
	array[0] = (struct lang_array){(char *)memory, {.ndim = 1, .dim = {N}}, {8}};
	array[1] =
		(struct lang_array){(char *)(memory + N), {.ndim = 2, .dim = {N, N}}, {8 * N, 8}};
	reg = calloc(p->nreg, sizeof *reg);
	for (uint32_t c = 0; c < p->nconst; c++)
		reg[p->constant[c].reg] = p->constant[c].value;
	reg[p->param[2].reg].i = k;
	for (at = p->entry; p->code[at].code != CODE_RANGE || which--; at++) {
		if (p->code[at].code == CODE_LENGTH)
			reg[p->code[at].d].i = array[p->code[at].a].shape.dim[p->code[at].b];
		cr_assert(p->code[at].code != CODE_END);
	}
	loops = lang_loops_of(p);
	cr_assert(lang_nest_of(&nest, p, loops, at, reg, array));
	lang_loops_free(loops);
	lang_nest_say(out, sizeof out, p, &nest);
	free(reg);
	free(tree);
	lang_free(p);
	return out;
}

#define SAYS(want, ...)                                                                            \
	do {                                                                                       \
		const char *said_ = says(__VA_ARGS__);                                             \
		cr_assert_str_eq(said_, want, "%s", said_);                                        \
	} while (0)
#define FREE	    "no turn needs another"
#define SUMS	    "no turn needs another, sums are put together"
#define MEETS(x, n) "'a' in line 2 and 'a' in line 2 touch the same bytes, " n " turn" x " apart"

Test(lang_nest, a_shift_of_the_call)
{
	const char *body = "for i in 0..14 { a[i + k] = a[i] + 1.0 }";

	SAYS(FREE, body, 0, 0);
	SAYS(MEETS("", "1"), body, 0, 1);
	SAYS(MEETS("s", "5"), body, 0, 5);
	SAYS("an index of 'a' in line 2 is not proven to lie inside", body, 0, 50);
	SAYS("an index of 'a' in line 2 is not proven to lie inside", body, 0, -1);
	SAYS(FREE, "for i in 0..4 { a[i + k] = a[i] }", 0, 4);
	SAYS(MEETS("s", "3"), "for i in 4..9 { a[i + k] = a[i] }", 0, -3);
	SAYS(FREE, "for i in 0..len(a) { a[-1 - i] = 1.0 }", 0, 0);
}

Test(lang_nest, scalars)
{
	SAYS(SUMS, "for i in 0..k { s += i }", 0, 9);
	SAYS(SUMS, "for i in 0..k { if a[i] > 1.0 { s += i } }", 0, 9);
	SAYS(SUMS, "for i in 0..k { s = max(s, i * i) }", 0, 9);
	SAYS(FREE, "for i in 0..k { s = i * 2 }", 0, 9);
	SAYS("'s' in line 2 passes from turn to turn", "for i in 0..k { if a[i] > 1.0 { s = i } }",
	     0, 9);
	SAYS("'t' in line 2 passes from turn to turn", "for i in 0..k { t += a[i] }", 0, 9);
	SAYS("'s' in line 2 passes from turn to turn",
	     "for i in 0..k { s += i; a[i] = float64(s) }", 0, 9);
	SAYS("'s' in line 2 passes from turn to turn", "for i in 0..k { s += i; s = max(s, 3) }", 0,
	     9);
	SAYS(FREE, "for i in 0..k { let w = 0.0\n for j in 0..k { w += m[i, j] }\n a[i] = w }", 0,
	     9);
	SAYS("a scalar in line 2 passes from turn to turn",
	     "let w = 0.0; for i in 0..k { a[i] = w; w = m[i, i] }", 0, 9);
}

#define ROW "let w = 0.0; for j in 0..len(m) { w = w + m[i, j] }\n"

Test(lang_nest, sums_whose_order_has_bits)
{
	SAYS(SUMS, "for i in 0..k { " ROW " t += w }", 0, 9);
	SAYS(SUMS, "for i in 0..k { " ROW " t -= w; if w > 1.0 { t -= w * w } }", 0, 9);
	SAYS("'t' in line 2 passes from turn to turn",
	     "for i in 0..k { for j in 0..len(m) { t += m[i, j] } }", 0, 9);
	SAYS("'t' in line 3 passes from turn to turn",
	     "for i in 0..k { " ROW " while w > 1.0 { t += w; w = w / 2.0 } }", 0, 9);
	SAYS("'t' in line 3 passes from turn to turn", "for i in 0..k { " ROW " t += w; t -= 1.0 }",
	     0, 9);
	SAYS("'t' in line 3 passes from turn to turn", "for i in 0..k { " ROW " t += w; a[i] = t }",
	     0, 9);
}

Test(lang_nest, triangles_and_rows)
{
	SAYS(FREE, "for i in 0..len(m) { for j in 0..i { m[j, i] = m[i, j] } }", 0, 0);
	SAYS("'m' in line 2 and 'm' in line 2 touch the same bytes in different turns (<>)",
	     "for i in 0..len(m) { for j in 0..len(m) { m[j, i] = m[i, j] } }", 0, 0);
	SAYS(FREE, "for i in 0..len(m) { for j in 0..i { m[i, i - j] = 1.0 } }", 0, 0);
	SAYS("'m' in line 2 and 'm' in line 2 touch the same bytes, 1 turn apart (<=)",
	     "for i in 1..len(m) { for j in 0..k { m[i, j] = m[i - 1, j] } }", 0, 9);
	SAYS(FREE, "for i in 1..len(m) { for j in 0..k { m[i, j] = m[i - 1, j] } }", 1, 9);
	SAYS(FREE, "for i in 0..k step 2 { a[i] = a[i + 1] }", 0, 9);
	SAYS(FREE, "for i in k..0 step -2 { a[i] = a[i - 1] }", 0, 9);
}

Test(lang_nest, bounds_by_extremes)
{
	SAYS(FREE,
	     "for i in 0..len(m) { for j in max(0, i - k)..min(len(m), i + k + 1) { m[i, j] = 1.0 "
	     "} }",
	     0, 3);
	SAYS(FREE,
	     "for i in 0..len(m) { for j in min(len(m), i + k)..max(i - k, 1) step -1 { m[i, j - "
	     "1] = 1.0 } }",
	     0, 3);
	SAYS("an index of 'm' in line 2 is not proven to lie inside",
	     "for i in 0..len(m) { for j in max(-1, i - k)..min(len(m), i + k + 1) { m[i, j] = 1.0 "
	     "} }",
	     0, 3);
	SAYS("an index of 'm' in line 2 is not proven to lie inside",
	     "for i in 0..len(m) { for j in 0..min(len(m) + 1, i + k) { m[i, j] = 1.0 } }", 0, 3);
	SAYS("bounds of a loop inside are not sums of loop numbers",
	     "for i in 0..len(m) { for j in min(0, i - k)..len(m) { m[i, 0] = 1.0 } }", 0, 3);
	/* Perhaps such turns do not come. */
	SAYS("'a' in line 2 and 'a' in line 2 may touch the same bytes in different turns (<=)",
	     "for i in 0..9 { for j in max(i, 5)..min(i + 1, 9) { a[j] = 1.0 } }", 0, 0);
}

Test(lang_nest, conditions)
{
	SAYS(FREE, "for i in 0..k { if 0 < i and i < 9 { a[i] = a[i - 1 + 0 * i + 10] } }", 0, 30);
	SAYS(FREE, "for i in 0..30 { let r = i + k // 2; if 0 <= r and r < 5 { m[r, 1] = 2.0 } }",
	     0, 9);
	SAYS("an index of 'a' in line 2 is not proven to lie inside",
	     "for i in 0..k { if i < 21 { a[i] = 1.0 } }", 0, 30);
	SAYS(FREE, "for i in 0..k { if not (i >= 20) { a[i] = 1.0 }\n s = 2 }", 0, 30);
	SAYS(FREE, "for i in 0..k { if i == 3 { a[i] = 1.0 } }", 0, 30);
	SAYS("an index of 'a' in line 2 is not proven to lie inside",
	     "for i in 0..k { if 0 < i or i < 9 { a[i] = 1.0 } }", 0, 30);
}

Test(lang_nest, what_is_not_looked_through)
{
	SAYS("it may be left before its end", "for i in 0..k { if a[i] > 1.0 { break } }", 0, 9);
	SAYS("slices and reductions are done one after the other",
	     "for i in 0..k { m[i, :] = 1.0 }", 0, 9);
	SAYS("an index of 'a' in line 2 is not proven to lie inside",
	     "for i in 0..k { a[int64(a[i])] = 1.0 }", 0, 9);
	SAYS("bounds of a loop inside are not sums of loop numbers",
	     "for i in 0..k { for j in 0..int64(a[i]) { m[i, j] = 1.0 } }", 0, 9);
	SAYS(FREE, "for i in 0..k { let x = a[i]; while x > 1.0 { x = x / 2.0 }\n a[i] = x }", 0,
	     9);
	SAYS(FREE, "for i in 0..k { for j in 0..k { if m[i, j] > 1.0 { break }\n m[i, j] = 1.0 } }",
	     0, 9);
}
