/* SPDX-License-Identifier: Apache-2.0 */
/* Which loops in a row may be one, with the arrays of a call, and what becomes of their text. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/emit_lang.h"
#include "lang/lang_fuse.h"

#define N 300

static double memory[8 * N];

static struct lang_program *checked(const char *body, char *text, size_t bytes)
{
	struct lang_program *p = NULL;
	struct lang_tree *tree = NULL;
	struct err err = {0};

	snprintf(text, bytes,
		 "kernel f(inout a: float64[:], inout b: float64[:], inout m: float64[:,:], k: "
		 "int64) -> (s: int64, t: float64) {\n%s\n}",
		 body);
	cr_assert(!lang_parse(&tree, text, strlen(text), &err), "%s\n%s", err.text, text);
	cr_assert(!lang_check(&p, tree, &err), "%s\n%s", err.text, text);
	free(tree);
	return p;
}

/* Of the first question of the text: so many of its loops are one; 0: there is none; -1: they are,
 * but vectors may not be made of it as it stands.  b begins `far` elements behind a. */
static int fused(const char *body, int64_t k, int64_t far)
{
	static char text[4096];
	struct lang_program *p = checked(body, text, sizeof text);
	struct lang_array array[3] = {
		{(char *)memory, {.ndim = 1, .dim = {N}}, {8}},
		{(char *)(memory + far), {.ndim = 1, .dim = {N}}, {8}},
		{(char *)(memory + 4 * N), {.ndim = 2, .dim = {20, 20}}, {160, 8}}};
	union lang_reg *reg = calloc(p->nreg, sizeof *reg);
	struct lang_fusion f = {.fine = 0};
	uint32_t at = p->entry;

	for (uint32_t c = 0; c < p->nconst; c++)
		reg[p->constant[c].reg] = p->constant[c].value;
	reg[p->param[3].reg].i = k;
	for (; at < p->ncode && (p->code[at].code != CODE_FUSES || p->code[at].op); at++) {
		if (p->code[at].code == CODE_LENGTH)
			reg[p->code[at].d].i = array[p->code[at].a].shape.dim[p->code[at].b];
		if (p->code[at].code == CODE_MOVE)
			reg[p->code[at].d] = reg[p->code[at].a];
	}
	if (at < p->ncode)
		cr_assert(lang_fusion_of(&f, p, NULL, &p->code[at], reg, array, false));
	if (f.fine && f.fine == f.loops && p->code[at].to && !f.straight)
		f.fine = -1u;
	free(reg);
	lang_free(p);
	return (int)f.fine;
}

#define TWO(first, second) "for i in 4..40 { " first " }\nfor i in 4..40 { " second " }"

Test(lang_fuse, the_sign_of_a_distance)
{
	/* What the second needs of the first is there: of this turn. */
	cr_assert_eq(fused(TWO("a[i] = 1.0", "b[i] = a[i]"), 0, N), 2);
	/* Of a later turn it is not; of an earlier one it is, but turns can no more run at once. */
	cr_assert_eq(fused(TWO("a[i] = 1.0", "b[i] = a[i + 1]"), 0, N), 0);
	cr_assert_eq(fused(TWO("a[i] = 1.0", "b[i] = a[i - 1]"), 0, N), 0);
	/* What the first reads the second overwrites, in a turn before, in this one, behind. */
	cr_assert_eq(fused(TWO("b[i] = a[i + 1]", "a[i] = 1.0"), 0, N), 0);
	cr_assert_eq(fused(TWO("b[i] = a[i]", "a[i] = 1.0"), 0, N), 2);
	cr_assert_eq(fused(TWO("b[i] = a[i - 1]", "a[i] = 1.0"), 0, N), 0);
	/* Both write: the last one counts. */
	cr_assert_eq(fused(TWO("a[i] = 1.0", "a[i] = 2.0"), 0, N), 2);
	cr_assert_eq(fused(TWO("a[i + 1] = 1.0", "a[i] = 2.0"), 0, N), 0);
	cr_assert_eq(fused(TWO("a[i] = 1.0", "a[i + 60] = 2.0"), 0, N), 2);
}

Test(lang_fuse, what_the_call_says)
{
	const char *moved = TWO("a[i] = 1.0", "b[i] = a[i + k]");
	const char *apart = TWO("a[i] = 1.0", "b[i] = 2.0");

	/* A guess at k is large. */
	cr_assert_eq(fused(moved, 100, N), 2);
	cr_assert_eq(fused(moved, 0, N), 2);
	cr_assert_eq(fused(moved, 1, N), 1);
	cr_assert_eq(fused(moved, -1, N), 1);
	/* An index that is wrong for some turn. */
	cr_assert_eq(fused(moved, N, N), 1);
	/* Arguments that overlap: by an earlier turn, a later one, in the same turn. */
	cr_assert_eq(fused(apart, 0, N), 2);
	cr_assert_eq(fused(apart, 0, 1), 1);
	cr_assert_eq(fused(apart, 0, -1 + 2 * N), 2);
	cr_assert_eq(fused(apart, 0, 0), -1);
}

Test(lang_fuse, nests)
{
	cr_assert_eq(fused("for i in 0..20 { for j in 0..20 { m[i, j] = 1.0 } }\n"
			   "for i in 0..20 { for j in 0..20 { m[i, j] *= 2.0 } }",
			   0, N),
		     2);
	/* The inner ones stay apart. */
	cr_assert_eq(fused("for i in 0..20 { for j in 0..19 { m[i, j] = 1.0 } }\n"
			   "for i in 0..20 { for j in 0..19 { m[i, j] = m[i, j + 1] } }",
			   0, N),
		     2);
	cr_assert_eq(fused("for i in 0..20 { for j in 0..i { m[i, j] = 1.0 } }\n"
			   "for i in 0..20 { for j in 0..i + 1 { m[i, j] *= 2.0 } }",
			   0, N),
		     2);
	cr_assert_eq(fused("for i in 0..20 { for j in 0..20 { m[i, j] = 1.0 } }\n"
			   "for i in 0..20 { for j in 0..20 { m[i, j] = m[j, i] } }",
			   0, N),
		     0);
}

Test(lang_fuse, scalars)
{
	const char *own = "let w = 0.0\nfor i in 0..40 { w = a[i]; b[i] = w }\n"
			  "for i in 0..40 { w = b[i]; a[i] = w * 2.0 }";

	cr_assert_eq(fused(own, 0, N), 2);
	cr_assert_eq(fused(TWO("s += 1", "s = 2"), 0, N), 0);
	cr_assert_eq(fused(TWO("t = a[i]", "b[i] = t"), 0, N), 0);
	/* In order, both: each keeps its own order. */
	cr_assert_eq(fused("let w = 0.0\n" TWO("t += a[i]", "w += b[i]"), 0, N), 2);
	/* In order, and not. */
	cr_assert_eq(fused(TWO("t += a[i]", "b[i] = a[i]"), 0, N), 0);
	/* With conditions, and without. */
	cr_assert_eq(fused(TWO("if a[i] > 1.0 { a[i] = 1.0 }", "b[i] = a[i]"), 0, N), 0);
}

Test(lang_fuse, what_stays)
{
	cr_assert_eq(fused("for i in 4..40 { a[i] = 1.0 }\nfor i in 4..41 { b[i] = 1.0 }", 0, N),
		     0);
	cr_assert_eq(
		fused("for i in 4..40 { a[i] = 1.0 }\nfor i in 4..40 step 2 { b[i] = 1.0 }", 0, N),
		0);
	cr_assert_eq(
		fused("for i in 4..40 { a[i] = 1.0; s += 1 }\nfor i in 4..s { b[i] = 1.0 }", 0, N),
		0);
	cr_assert_eq(fused(TWO("a[i] = 1.0", "if b[i] > 1.0 { break }"), 0, N), 0);
	cr_assert_eq(fused(TWO("a[i] = 1.0", "b[int64(a[i])] = 1.0"), 0, N), 0);
	cr_assert_eq(fused("parallel for i in 4..40 { a[i] = 1.0 }\nfor i in 4..40 { b[i] = 1.0 }",
			   0, N),
		     0);
	/* The third needs what the second has left: the first two are one. */
	cr_assert_eq(fused(TWO("a[i] = 1.0", "b[i] = a[i]") "\nfor i in 4..40 { a[i] = b[i + 1] }",
			   0, N),
		     2);
}

/* By how much the strips of a time loop would lean, of arrays that are large, b `far` bytes behind
 * a; 0: they may not.  Nothing looks at what lies there. */
static unsigned leans(const char *body, int64_t far)
{
	static char text[4096];
	struct lang_program *p = checked(body, text, sizeof text);
	struct lang_array array[3] = {
		{(char *)((uintptr_t)1 << 40), {.ndim = 1, .dim = {1 << 20}}, {8}},
		{(char *)((uintptr_t)1 << 40) + far, {.ndim = 1, .dim = {1 << 20}}, {8}},
		{(char *)((uintptr_t)1 << 44), {.ndim = 2, .dim = {999, 500}}, {4000, 8}}};
	union lang_reg *reg = calloc(p->nreg, sizeof *reg);
	struct lang_fusion f = {.fine = 0};
	unsigned by = 0;

	for (uint32_t c = 0; c < p->nconst; c++)
		reg[p->constant[c].reg] = p->constant[c].value;
	for (uint32_t at = p->entry; at < p->ncode; at++) {
		if (p->code[at].code == CODE_MOVE)
			reg[p->code[at].d] = reg[p->code[at].a];
		if (p->code[at].code != CODE_FUSES || !lang_lean_of(&p->code[at]))
			continue;
		cr_assert(lang_fusion_of(&f, p, NULL, &p->code[at], reg, array, false));
		cr_assert(f.lean <= lang_lean_of(&p->code[at]) || !f.fine);
		by = f.fine && f.straight ? f.lean : 0;
		break;
	}
	free(reg);
	lang_free(p);
	return by;
}

#define TIME(first, second)                                                                        \
	"for time in 0..9 {\nfor i in 20..9000 { " first " }\nfor i in 20..9000 { " second " }\n}"

Test(lang_fuse, strips_that_lean)
{
	const int64_t apart = 1 << 24;

	/* The farthest of all pairs, of which one writes, to either side. */
	cr_assert_eq(leans(TIME("b[i] = a[i - 1] + a[i + 1]", "a[i] = b[i]"), apart), 1);
	cr_assert_eq(leans(TIME("b[i] = a[i - 3] + a[i + 1]", "a[i] = b[i]"), apart), 3);
	cr_assert_eq(leans(TIME("b[i] = a[i - 1] + a[i + 1]", "a[i] = b[i + 16]"), apart), 16);
	cr_assert_eq(leans(TIME("b[i] = a[i - 1] + a[i + 1]", "a[i] = b[i + 17]"), apart), 0);
	/* Of a matrix rows count, not what lies beside. */
	cr_assert_eq(
		leans("for time in 0..9 { for i in 1..998 { for j in 2..498 { m[i, j] = 1.0 } }\n"
		      "for i in 1..998 { for j in 2..498 { a[500 * i + j] = m[i - 1, j + 1] } }\n}",
		      apart),
		1);
	/* A row's end lies beside the next one's begin. */
	cr_assert_eq(
		leans("for time in 0..9 { for i in 2..498 { for j in 0..500 { a[500 * i + j] = 1.0 "
		      "} }\n"
		      "for i in 2..498 { for j in 0..500 { m[i, j] = a[500 * i + j + 1] } }\n}",
		      apart),
		1);
	/* Each at its own place: these are strips that do not lean. */
	cr_assert_eq(leans(TIME("b[i] = a[i]", "a[i] = b[i]"), apart), 0);
	/* Places that every strip has, or that time knows of; turns that meet. */
	cr_assert_eq(leans(TIME("b[i] = a[i - 1]", "a[i] = b[20]"), apart), 0);
	cr_assert_eq(leans(TIME("b[i] = a[i - 1]", "a[i] = b[i + time]"), apart), 0);
	cr_assert_eq(leans(TIME("b[i] = a[i - 1]", "a[i] = b[40 - i]"), apart), 0);
	cr_assert_eq(leans(TIME("b[i] = b[i - 1]", "a[i] = b[i]"), apart), 0);
	/* What is left in a variable. */
	cr_assert_eq(leans(TIME("b[i] = a[i - 1]", "a[i] = b[i]; s = i"), apart), 0);
	/* Arrays that overlap; other bounds, of which few turns are the same. */
	cr_assert_eq(leans(TIME("b[i] = a[i - 1]", "a[i] = b[i]"), 80), 0);
	cr_assert_eq(leans("for time in 0..9 { for i in 20..9000 { b[i] = a[i - 1] }\n"
			   "for i in 20..8000 { a[i] = b[i] }\n}",
			   apart),
		     1);
	cr_assert_eq(leans("for time in 0..9 { for i in 20..9000 { b[i] = a[i - 1] }\n"
			   "for i in 20..3000 { a[i] = b[i] }\n}",
			   apart),
		     0);
}

/* Of the codes before the first loop that is apart. */
Test(lang_fuse, golden_code)
{
	static const char *const want[] = {"fuses", "unless", "range", "next",	"move", "place",
					   "store", "seam",   "move",  "place", "load", "move",
					   "place", "store",  "loop",  "jump",	"range"};
	char text[4096], *printed, *line, *rest = NULL, name[32];
	struct lang_program *p = checked(TWO("a[i] = 1.0", "b[i] = a[i]"), text, sizeof text);
	size_t k = 0;

	printed = lang_print(p);
	line = strstr(printed, ": fuses");
	cr_assert(line);
	for (line = strtok_r(line, "\n", &rest); k < sizeof want / sizeof want[0];
	     line = strtok_r(NULL, "\n", &rest), k++) {
		cr_assert_eq(sscanf(strchr(line, ':') + 1, "%31s", name), 1);
		cr_assert_str_eq(name, want[k], "%zu: %s", k, line);
	}
	free(printed);
	lang_free(p);
}

/* Compilers make vectors of the one loop without a look at addresses, and only of it. */
Test(lang_fuse, golden_source)
{
	char text[4096], *source = NULL, *at;
	struct lang_program *p = checked(TWO("a[i] = 1.0", "b[i] = a[i]"), text, sizeof text);
	struct err err = {0};
	int said = 0;

	cr_assert(!emit_lang_source(&source, text, strlen(text), &err), "%s", err.text);
	cr_assert(strstr(source, "BZ_MANY"));
	at = strstr(source, "int bz_unit(");
	cr_assert(at);
	for (char *end = strstr(at, "int bz_any(");
	     (at = strstr(at, "#pragma GCC ivdep")) && at < end; at++)
		said++;
	cr_assert_eq(said, 1);
	free(source);
	lang_free(p);
}

Test(lang_fuse, many_loops)
{
	/* Loops that would be one, of which there are many. */
	char text[LANG_TEXT], *to = text;
	struct lang_program *p = NULL;
	struct lang_tree *tree = NULL;
	struct err err = {0};

	to += sprintf(to, "kernel f(inout a: float64[:]) -> (s: float64) {\n");
	for (int k = 0; k < 900; k++)
		to += sprintf(to, "for i in 0..9 { a[i] += %d.5 }\n", k);
	sprintf(to, "}\n");
	cr_assert(!lang_parse(&tree, text, strlen(text), &err), "%s", err.text);
	cr_assert(!lang_check(&p, tree, &err), "%s", err.text);
	free(tree);
	lang_free(p);
}
