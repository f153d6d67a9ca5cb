/* SPDX-License-Identifier: Apache-2.0 */
/* Which loops can be shared out among threads, what comes in, and how many of them may be. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/lang_grid.h"

#define N 20

#define HEAD                                                                                       \
	"kernel f(inout a: float64[:], inout m: float64[:,:], b: int32[:], k: int64, "             \
	"z: complex128) -> (s: int64, t: float64) {\n"

static double memory[2 * N * N];

static struct lang_program *program(const char *functions, const char *body)
{
	static char text[4096];
	struct lang_program *p = NULL;
	struct err err = {0};

	snprintf(text, sizeof text, "%s" HEAD "%s\n}", functions, body);
	cr_assert(!lang_program_of_text(&p, text, strlen(text), &err), "%s\n%s", err.text, text);
	return p;
}

/* CODE_RANGE number `which` of the kernel. */
static uint32_t range_of(const struct lang_program *p, unsigned which)
{
	uint32_t at = p->entry;

	while (p->code[at].code != CODE_RANGE || which--)
		cr_assert_neq(p->code[at++].code, CODE_END);
	return at;
}

/* ---- What a thread is told ---- */

/* The status of a grid over the first loop of the body; its words in *words, its registers in
 * *live. */
static enum status grid_of(const char *functions, const char *body, unsigned levels, unsigned only,
			   unsigned *live, unsigned *words)
{
	struct lang_program *p = program(functions, body);
	struct lang_grid g = {0};
	struct err err = {0};
	enum status st = lang_grid_of(&g, p, range_of(p, 0), levels, 0, only, &err);

	cr_expect(!st == !*err.text);
	for (unsigned k = 0; !st && k < g.nlive; k++)
		cr_expect(!k || g.live[k] > g.live[k - 1]);
	if (!st && live)
		*live = g.nlive;
	if (!st && words)
		*words = lang_grid_words(&g);
	lang_free(p);
	return st;
}

static enum status grid(const char *body, unsigned levels)
{
	return grid_of("", body, levels, 0, NULL, NULL);
}

Test(lang_grid, registers_that_come_in)
{
	unsigned live = 0, words = 0;

	/* Bounds and steps that are constants do not. */
	cr_assert(!grid_of("", "for i in 0..14 { a[i] = 1.0 }", 1, 0, &live, &words));
	cr_expect_eq(live, 0);
	cr_expect_eq(words, 3 + 5 + 3);
	cr_assert(!grid_of("", "for i in 0..k { a[i] = 1.0 }", 1, 0, &live, &words));
	cr_expect_eq(live, 1);
	/* What the loop sets itself does not. */
	cr_assert(!grid_of("", "for i in 0..k { let x = real(z); a[i] = x }", 1, 0, &live, &words));
	cr_expect_eq(live, 2);
	cr_expect_eq(words, 11 + 4);
	/* A bound that the loop changes was read before. */
	cr_assert(!grid_of("", "let n = k\nfor i in 0..n { n = 3; a[i] = 1.0 }", 1, 0, &live,
			   &words));
	cr_expect_eq(live, 1);
	/* What a function is told is the loop's doing. */
	cr_assert(!grid_of("fn g(x: float64) -> float64 { return x + 1.0 }\n",
			   "for i in 0..k { a[i] = g(a[i]) }", 1, 0, &live, &words));
	cr_expect_eq(live, 1);
	cr_assert(!grid_of("fn g(x: float64) -> float64 { return x + 1.0 }\n"
			   "fn unused(x: float64, y: int64) -> float64 { return x * y }\n",
			   "for i in 0..k { a[i] = g(a[i]) }", 1, 0, &live, &words));
	cr_expect_eq(live, 1);
}

Test(lang_grid, what_no_thread_does)
{
	cr_expect_eq(grid("for i in 0..9 { a[0:3] = 1.0; a[i] = 2.0 }", 1), E_UNSUPPORTED);
	cr_expect_eq(grid("for i in 0..9 { a[i] = sum(m[i, :]) }", 1), E_UNSUPPORTED);
	cr_expect_eq(grid("for i in 0..9 { if i > 3 { break }\n a[i] = 2.0 }", 1), E_UNSUPPORTED);
	cr_expect_eq(grid("for i in 0..9 { if a[i] > 3.0 { continue }\n a[i] = 2.0 }", 1), OK);
	cr_expect_eq(grid("for i in 0..9 { while a[i] > 3.0 { a[i] -= 1.0 } }", 1), OK);
	cr_expect_eq(
		grid("let u = 0.0\nfor i in 0..9 reduction(+: u) { u += a[i]; a[i] = 1.0 }", 1),
		OK);
	cr_expect_eq(
		grid("for i in 0..9 { let u = 0.0\nfor j in 0..9 reduction(+: u) { u += a[j] }\n"
		     "a[i] = u }",
		     1),
		E_UNSUPPORTED);
	/* Words: registers more than there may be. */
	char text[4000] = "";
	size_t n = 0;

	for (int v = 0; v < LANG_LIVE + 1; v++)
		n += (size_t)snprintf(text + n, sizeof text - n, "let v%d = float64(k + %d)\n", v,
				      v);
	n += (size_t)snprintf(text + n, sizeof text - n, "for i in 0..9 {\na[i] = v0");
	for (int v = 1; v < LANG_LIVE; v++)
		n += (size_t)snprintf(text + n, sizeof text - n, " + v%d", v);
	snprintf(text + n, sizeof text - n, "\n}");
	cr_expect_eq(grid(text, 1), OK);
	snprintf(text + n, sizeof text - n, " + v%d\n}", LANG_LIVE);
	cr_expect_eq(grid(text, 1), E_LIMIT);
}

Test(lang_grid, functions_that_call_functions_are_bounded)
{
	char text[3000];
	size_t n = (size_t)snprintf(text, sizeof text,
				    "fn f0(x: float64) -> float64 { return x * x + 1.0 }\n");

	for (int f = 1; f < 30; f++)
		n += (size_t)snprintf(text + n, sizeof text - n,
				      "fn f%d(x: float64) -> float64 { return f%d(f%d(x)) }\n", f,
				      f - 1, f - 1);
	cr_expect_eq(grid_of(text, "for i in 0..9 { a[i] = f5(a[i]) }", 1, 0, NULL, NULL), OK);
	cr_expect_eq(grid_of(text, "for i in 0..9 { a[i] = f29(a[i]) }", 1, 0, NULL, NULL),
		     E_LIMIT);
}

Test(lang_grid, loops_directly_inside)
{
	const char *two = "for i in 0..9 { for j in 0..9 { m[i, j] = 1.0 } }";

	cr_expect_eq(grid_of("", two, 2, 1, NULL, NULL), OK);
	cr_expect_eq(grid_of("", two, 3, 1, NULL, NULL), E_UNSUPPORTED);
	cr_expect_eq(grid_of("", "for i in 0..9 { let n = i + 2; for j in 0..n { m[i, j] = 1.0 } }",
			     2, 1, NULL, NULL),
		     OK);
	cr_expect_eq(grid_of("",
			     "for i in 0..9 { for j in 0..9 { m[i, j] = 1.0 }\n m[i, 9] = 2.0 }", 2,
			     1, NULL, NULL),
		     E_UNSUPPORTED);
	cr_expect_eq(grid_of("", "for i in 0..9 { if k > i { for j in 0..9 { m[i, j] = 1.0 } } }",
			     2, 1, NULL, NULL),
		     E_UNSUPPORTED);
	cr_expect_eq(grid_of("",
			     "for i in 0..9 { for j in 0..9 { m[i, j] = 1.0 }\n"
			     "for j in 0..9 { m[i, j] += 1.0 } }",
			     2, 1, NULL, NULL),
		     E_UNSUPPORTED);
	cr_expect_eq(
		grid_of("",
			"for i in 0..9 { for j in 0..9 { if j > k { break }\n m[i, j] = 1.0 } }", 2,
			1, NULL, NULL),
		E_UNSUPPORTED);
	cr_expect_eq(grid_of("",
			     "for i in 0..9 { let c = i; for j in 0..9 { c = c + j; m[i, j] = 1.0 }"
			     "\n c = c + 1 }",
			     2, 1, NULL, NULL),
		     E_UNSUPPORTED);
}

Test(lang_grid, nobody_is_trusted)
{
	struct lang_program *p = program("", "for i in 0..9 { m[i, i] = a[i] + float64(b[i]) }");
	uint32_t range = range_of(p, 0);
	struct lang_grid g;

	cr_expect(!lang_grid_of(&g, p, range, 1, 0, 1, NULL));
	cr_expect_eq(lang_grid_of(&g, p, range + 1, 1, 0, 1, NULL), E_INVALID);
	cr_expect_eq(lang_grid_of(&g, p, p->ncode, 1, 0, 1, NULL), E_INVALID);
	cr_expect_eq(lang_grid_of(&g, p, UINT32_MAX, 1, 0, 1, NULL), E_INVALID);
	cr_expect_eq(lang_grid_of(&g, p, range, 0, 0, 1, NULL), E_INVALID);
	cr_expect_eq(lang_grid_of(&g, p, range, LANG_LEVELS + 1, 0, 1, NULL), E_INVALID);
	cr_expect_eq(lang_grid_of(&g, p, range, 1, 1, 1, NULL), E_INVALID);
	/* An array that it does not write, one that may not be written, none. */
	cr_expect_eq(lang_grid_of(&g, p, range, 1, 0, 0, NULL), E_INVALID);
	cr_expect_eq(lang_grid_of(&g, p, range, 1, 0, 2, NULL), E_INVALID);
	cr_expect_eq(lang_grid_of(&g, p, range, 1, 0, 3, NULL), E_INVALID);
	cr_expect_eq(lang_grid_of(&g, p, range, 1, 0, UINT32_MAX, NULL), E_INVALID);
	/* Of what is kept: the array that is written, none. */
	cr_assert(!lang_grid_of(&g, p, range, 1, 0, 1, NULL));
	cr_expect(!lang_grid_keep(&g, 5, NULL) && g.keeps == 5);
	cr_expect_eq(lang_grid_keep(&g, 2, NULL), E_INVALID);
	cr_expect_eq(lang_grid_keep(&g, 8, NULL), E_INVALID);
	cr_expect_eq(lang_grid_keep(&g, 1u << 31, NULL), E_INVALID);
	cr_expect_eq(g.keeps, 5);
	lang_free(p);
}

Test(lang_grid, loops_of_functions_are_none)
{
	struct lang_program *p =
		program("fn g(x: float64) -> float64 { let y = x; for i in 0..3 { y = y * x }\n"
			"return y }\n",
			"for i in 0..9 { a[i] = g(a[i]) }");
	struct lang_grid g;
	uint32_t at = 0;

	while (p->code[at].code != CODE_RANGE)
		at++;
	cr_assert_lt(at, p->entry);
	cr_expect_eq(lang_grid_of(&g, p, at, 1, 0, 0, NULL), E_INVALID);
	cr_expect(!lang_grid_of(&g, p, range_of(p, 0), 1, 0, 0, NULL));
	lang_free(p);
}

/* ---- With the values of a call ---- */

static struct lang_levels levels_with(const char *body, unsigned which, int64_t k, bool turned)
{
	struct lang_program *p = program("", body);
	struct lang_array array[3] = {
		{(char *)memory, {.ndim = 1, .dim = {N}}, {8}},
		{(char *)(memory + N), {.ndim = 2, .dim = {N, N}}, {8 * N, 8}},
		{(char *)(memory + N + N * N), {.ndim = 1, .dim = {N}}, {4}},
	};
	uint32_t at, first = range_of(p, which);
	struct lang_loops *loops = lang_loops_of(p);
	union lang_reg *reg = calloc(p->nreg, sizeof *reg);
	struct lang_levels out;

	if (turned)
		memcpy(array[1].stride, (int64_t[]){8, 8 * N}, 16);
	for (uint32_t c = 0; c < p->nconst; c++)
		reg[p->constant[c].reg] = p->constant[c].value;
	reg[p->param[3].reg].i = k;
	for (at = p->entry; at < first; at++)
		if (p->code[at].code == CODE_LENGTH)
			reg[p->code[at].d].i = array[p->code[at].a].shape.dim[p->code[at].b];
	cr_assert(lang_grid_levels(&out, p, loops, first, reg, array));
	lang_loops_free(loops);
	free(reg);
	lang_free(p);
	return out;
}

static unsigned levels(const char *body, int64_t k)
{
	return levels_with(body, 0, k, false).levels;
}

Test(lang_grid, one_level)
{
	cr_expect_eq(levels("for i in 0..14 { a[i + k] = a[i] }", 0), 1);
	cr_expect_eq(levels("for i in 0..14 { a[i + k] = a[i] }", 1), 0);
	/* An index outside, sums, scalars that go on. */
	cr_expect_eq(levels("for i in 0..14 { a[i + k] = 1.0 }", 9), 0);
	cr_expect_eq(levels("for i in 0..14 { t += a[i]; a[i] = 1.0 }", 0), 0);
	cr_expect_eq(levels("for i in 0..14 { s += 1; a[i] = 1.0 }", 0), 1);
	cr_expect_eq(levels("for i in 0..14 { s += 1; a[i] = float64(s) }", 0), 0);
	cr_expect_eq(levels("for i in 0..14 reduction(+: t) { t += a[i] }", 0), 1);
	cr_expect_eq(levels("let u = 0.0\nfor i in 0..14 { a[i] = u; u = a[i] }", 0), 0);
	/* Read behind it, if only what the last turn left. */
	cr_expect_eq(levels("let u = 0.0\nfor i in 0..14 { u = float64(i); a[i] = u }\nt = u", 0),
		     0);
	cr_expect_eq(levels("let u = 0.0\nfor i in 0..14 { u = 2.0; a[i] = u }\nt = u", 0), 1);
	cr_expect_eq(levels("let u = 0.0\nfor i in 0..14 { u = 2.0; a[i] = u }", 0), 1);
	cr_expect_eq(levels("sequential for i in 0..14 { a[i] = 1.0 }", 0), 0);
	cr_expect_eq(levels("for i in 0..14 { a[0:3] = 1.0 }", 0), 0);
}

Test(lang_grid, levels_inside)
{
	cr_expect_eq(levels("for i in 0..9 { for j in 0..9 { m[i, j] = 1.0 } }", 0), 2);
	/* Triangles, and bounds that are computed. */
	cr_expect_eq(levels("for i in 0..9 { for j in 0..i { m[i, j] = m[j, i] } }", 0), 2);
	cr_expect_eq(levels("for i in 0..9 { let n = i + 2; for j in i..n { m[i, j] = 1.0 } }", 0),
		     2);
	/* Each element is written by several turns of the inner one. */
	cr_expect_eq(levels("for i in 0..9 { for j in 0..9 { a[i] += m[i, j] } }", 0), 1);
	cr_expect_eq(levels("for i in 0..9 { for j in 1..9 { m[i, j] = m[i, j - 1] } }", 0), 1);
	cr_expect_eq(levels("for i in 0..9 { for j in 1..9 { m[j, i] = m[j, i] + 1.0 } }", 0), 2);
	/* A sum of the inner one; a scalar from turn to turn. */
	cr_expect_eq(levels("for i in 0..9 { let u = 0.0; for j in 0..9 { u += m[i, j] }\n"
			    "a[i] = u }",
			    0),
		     1);
	cr_expect_eq(levels("for i in 0..9 { let u = 0.0; for j in 0..9 { m[i, j] = u; "
			    "u = u * 2.0 } }",
			    0),
		     1);
	cr_expect_eq(levels("for i in 0..9 { sequential for j in 0..9 { m[i, j] = 1.0 } }", 0), 1);
	/* Three, of which the innermost is a sum for each. */
	cr_expect_eq(levels("for i in 0..9 { for j in 0..9 { for l in 0..9 { "
			    "m[i, j] += a[l] } } }",
			    0),
		     2);
	cr_expect_eq(levels("for i in 0..2 { for j in 0..3 { for l in 0..4 { "
			    "m[i * 4 + l, j] = 1.0 } } }",
			    0),
		     3);
	/* Something between them that touches memory. */
	cr_expect_eq(levels("for i in 0..9 { let u = a[i]; for j in 0..9 { m[i, j] = u } }", 0), 1);
}

Test(lang_grid, indices_and_bounds_that_are_read)
{
	cr_expect_eq(levels("for i in 0..14 { a[i] = float64(b[b[i]]) }", 0), 1);
	cr_expect_eq(levels("for i in 0..14 { a[b[i]] = 1.0 }", 0), 0);
	cr_expect_eq(levels("for i in 0..9 { for j in 0..9 { m[i, j] = a[b[j]] } }", 0), 2);
	/* A column may come twice. */
	cr_expect_eq(levels("for i in 0..9 { for j in 0..9 { m[i, b[j]] = 1.0 } }", 0), 1);
	cr_expect_eq(levels("for i in 0..9 { for j in 0..9 { m[b[i], j] = 1.0 } }", 0), 0);
	/* Loops whose numbers nobody knows are a thread's. */
	cr_expect_eq(levels("for i in 0..9 { for j in 0..b[i] { m[i, j] = 1.0 } }", 0), 1);
	cr_expect_eq(levels("for i in 0..4 { for j in 0..i * i { m[i, j] = 1.0 } }", 0), 1);
	cr_expect_eq(
		levels("for i in 0..4 { for j in 0..9 { for l in 0..j * j { m[i, j] += 1.0 } } "
		       "}",
		       0),
		2);
	/* As many turns as the longest axis has elements, all together. */
	cr_expect_eq(
		levels_with("for i in 0..4 { for j in 0..b[i] { a[i] += m[i, j] } }", 0, 0, false)
			.turns,
		4);
}

Test(lang_grid, what_is_told_of_levels)
{
	struct lang_levels x = levels_with(
		"for i in 0..9 { for j in 0..8 { m[i, j] = a[j] + float64(b[i]) } }", 0, 0, false);

	cr_expect_eq(x.levels, 2);
	cr_expect_eq(x.fast, 1);
	cr_expect_eq(x.turns, 72);
	cr_expect_geq(x.work, 72 * 5);
	cr_expect_eq(x.read, 1u | 4u);
	cr_expect_eq(x.written, 2u);
	cr_expect_eq(x.nest.why, NEST_NONE);
	x = levels_with("for i in 0..9 { for j in 0..8 { m[i, j] = 1.0 } }", 0, 0, true);
	cr_expect_eq(x.fast, 0);
	x = levels_with("for i in 0..9 { for j in 0..8 { m[j, i] = 1.0 } }", 0, 0, false);
	cr_expect_eq(x.fast, 0);
	/* Backwards is as good. */
	x = levels_with("for i in 8..-1 step -1 { for j in 0..8 { m[j, i] = 1.0 } }", 0, 0, false);
	cr_expect_eq(x.fast, 0);
	x = levels_with("for i in 0..9 { for j in 0..8 { m[i, 2 * j] = 1.0 } }", 0, 0, false);
	cr_expect_eq(x.fast, 1);
	/* Of the second loop of a kernel. */
	x = levels_with("for i in 0..9 { t += a[i] }\nfor i in 0..5 { a[i] = 2.0 }", 1, 0, false);
	cr_expect_eq(x.levels, 1);
	cr_expect_eq(x.turns, 5);
	cr_expect_eq(x.written, 1u);
	cr_expect_eq(x.read, 0u);
}
