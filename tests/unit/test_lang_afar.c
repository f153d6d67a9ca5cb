/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_afar.c: runs as lists of launches.  What a list does is done here by the machine
 * (lang_grid_run.h), one launch after the other, and compared with the run itself. */
#include "lang_code.h"

#include "lang/lang_afar.h"
#include "lang/lang_grid_run.h"

#define N 24

struct memory {
	double a[N], b[N], m[N][N], c[N];
};

#define HEAD                                                                                       \
	"kernel f(inout a: float64[:], in b: float64[:], inout m: float64[:,:], inout c: "         \
	"float64[:], n: int64) -> (s: int64) {\n"

static void set(struct memory *x)
{
	for (int i = 0; i < N; i++) {
		x->a[i] = i * 0.5;
		x->b[i] = 3 - i;
		x->c[i] = i % 5;
		for (int k = 0; k < N; k++)
			x->m[i][k] = i - k * 0.25;
	}
}

/* far: at addresses that no memory has, as they are when a list is made. */
static void arrays(struct lang_array *out, struct memory *x, bool far)
{
	double *const at[] = {x->a, x->b, x->m[0], x->c};

	for (unsigned k = 0; k < 4; k++) {
		out[k] = (struct lang_array){.shape = {1, {N}}, .stride = {sizeof(double)}};
		out[k].at = far ? (char *)((uintptr_t)(k + 1) << LANG_AFAR_APART) : (char *)at[k];
	}
	out[2].shape = (struct shape){2, {N, N}};
	out[2].stride[0] = N * sizeof(double);
	out[2].stride[1] = sizeof(double);
}

static void launch(const struct lang_afar *l, unsigned k, const char *text, struct memory *x)
{
	static struct memory begun; /* as it was before the loop */
	static const struct tier0_isa none;
	const struct lang_launch *at = &l->launch[k];
	struct lang_grid_run *run = NULL;
	struct lang_program *p = NULL;
	struct lang_array array[4], old[4];
	struct lang_grid g;
	struct err err = {0};

	cr_assert(!lang_program_of_text(&p, text, strlen(text), &err));
	cr_assert(!lang_grid_of(&g, p, at->grid->range, at->grid->levels, at->grid->fast,
				at->grid->only, &err));
	cr_assert(!lang_grid_keep(&g, at->grid->keeps, &err));
	cr_assert(!lang_grid_link(&run, p, &g, tier0_table(isa_best()), &none, &err));
	if (at->first)
		begun = *x;
	arrays(array, x, false);
	arrays(old, &begun, false);
	for (unsigned n = 0; n < 4; n++)
		array[n] = at->old >> n & 1 ? old[n] : array[n];
	cr_assert(
		!lang_grid_turns(run, array, l->value + at->value, 0, UINT64_MAX, NULL, NULL, &err),
		"%s", err.text);
	lang_grid_unlink(run);
}

/* So many launches there are, 0: no list, for this reason; they do what the run does. */
static void check(const char *body, int64_t n, unsigned launches, const char *why)
{
	static char text[4096];
	static struct lang_looks looks;
	static struct memory here, there, before;
	struct lang_array array[4];
	union lang_reg scalar = {.i = n}, result = {0}, told = {0};
	struct lang_afar list;
	struct lang_kernel *k;
	struct err err = {0};

	snprintf(text, sizeof text, HEAD "%s\n}", body);
	looks = (struct lang_looks){0};
	set(&here);
	there = before = here;
	k = machine(text);
	for (int again = 0; again < 2; again++) { /* from looks, the second time */
		arrays(array, &there, true);
		cr_assert(lang_afar_of(&list, &looks, k, array, &scalar, &told));
		cr_expect_eq(list.n && !*list.why ? list.n : 0, launches, "%u of %u: %s\n%s",
			     list.n, launches, list.why, body);
		cr_expect(why ? strstr(list.why, why) != NULL : !*list.why, "%s\n%s", list.why,
			  body);
		if (again && !why) {
			for (unsigned i = 0; i < list.n; i++)
				launch(&list, i, text, &there);
			arrays(array, &here, false);
			cr_assert(!lang_run(k, array, &scalar, &result, NULL, NULL, &err));
			cr_expect_eq(told.i, result.i, "%s", body);
		}
		lang_afar_free(&list);
	}
	cr_expect(!memcmp(&here, &there, sizeof here), "%s", body);
	cr_expect(!why || !memcmp(&before, &there, sizeof there), "something was written\n%s",
		  body);
	lang_looks_free(&looks);
	lang_unlink(k);
}

Test(lang_afar, loops_become_launches)
{
	check("for i in 0..n { a[i] = b[i] * 2.0 }", N, 1, NULL);
	check("for i in 0..n { for j in 0..n { m[i, j] = a[i] + b[j] } }", N, 1, NULL);
	/* One behind the other, and within a loop that needs its own turns. */
	check("for i in 0..n { a[i] = b[i] }\nfor i in 1..n { c[i] = a[i - 1] }", N, 2, NULL);
	check("for t in 0..5 {\n for i in 1..n - 1 { c[i] = a[i - 1] + a[i + 1] }\n"
	      " for i in 1..n - 1 { a[i] = c[i] * 0.5 }\n}",
	      N, 10, NULL);
	/* Registers are those of the turn: a column of a triangle. */
	check("for k in 0..n {\n for i in k + 1..n { a[i] = a[i] + m[k, i] }\n}", N, N - 1, NULL);
}

/* The list of a body: what its launches are told to be. */
static void listed(struct lang_afar *out, struct lang_looks *looks, const char *body)
{
	static char text[4096];
	static struct memory x;
	struct lang_array array[4];
	union lang_reg scalar = {.i = N}, told;
	struct lang_kernel *k;

	snprintf(text, sizeof text, HEAD "%s\n}", body);
	*looks = (struct lang_looks){0};
	set(&x);
	arrays(array, &x, true);
	k = machine(text);
	cr_assert(lang_afar_of(out, looks, k, array, &scalar, &told));
	cr_assert(!*out->why, "%s", out->why);
	lang_unlink(k);
}

Test(lang_afar, what_is_known_of_launches)
{
	struct lang_looks looks;
	struct lang_afar list;

	listed(&list, &looks,
	       "for i in 0..n { for j in 0..n - 4 { m[i, j] = b[j] } }\n"
	       "for i in 1..n { a[i] = b[i]\n c[i] = b[i - 1] }");
	cr_assert_eq(list.n, 3);
	cr_expect_eq(list.launch[0].turns, N * (N - 4));
	cr_expect_eq(list.launch[0].arrays, 1u << 1 | 1u << 2);
	cr_expect(list.launch[0].first && list.launch[1].first && !list.launch[2].first);
	cr_expect_eq(list.launch[1].turns, N - 1);
	cr_expect_eq(list.launch[2].arrays, 1u << 0 | 1u << 1 | 1u << 3);
	cr_expect_gt(list.launch[0].work, 3 * N * (N - 4));
	cr_expect_lt(list.launch[0].work, 20 * N * (N - 4));
	lang_afar_free(&list);
	lang_looks_free(&looks);
}

/* A launch stays as the look found it that made it, whatever the next one finds. */
Test(lang_afar, each_launch_is_of_its_own_look)
{
	struct lang_looks looks;
	struct lang_afar list;

	listed(&list, &looks,
	       "for k in 0..2 {\n for i in 0..n { for j in 0..n - 1 {\n"
	       "m[i, j] = m[i, j + 1 - k] * 0.5 } }\n}");
	cr_assert_eq(list.n, 2);
	cr_expect_eq(list.launch[0].grid->levels, 1);
	cr_expect_eq(list.launch[1].grid->levels, 2);
	lang_afar_free(&list);
	lang_looks_free(&looks);
}

Test(lang_afar, which_indices_are_proven)
{
	static const struct {
		const char *body;
		bool proven;
	} of[] = {
		{"for i in 0..n { a[i] = b[n - 1 - i] }", true},
		{"for i in 0..n { for j in 0..i { m[i, j] = 1.0 } }", true},
		{"for i in 0..n { if a[i] > 1.0 { c[i] = b[i] } }", true},
		{"for i in 1..n - 1 { c[i] = a[i - 1] + a[i + 1] }", true},
		{"for i in 0..n { let k = 0\n while k < 5 { c[i] = c[i] + 1.0\n k = k + 1 } }",
		 true},
		{"for i in 0..n { c[i] = b[int64(a[i])] }", false},
		{"for i in 0..n { c[i] = 1.0 }\nfor i in 0..n { a[i] = b[i * i % n] }", false},
		{"for i in 0..n { let k = 0\n while k < 5 { c[i] = c[i] + b[k]\n k = k + 1 } }",
		 false},
		{"for i in 0..n { for j in 0..int64(a[i]) { c[i] = c[i] + 1.0 } }", false},
	};
	struct lang_looks looks;
	struct lang_afar list;

	for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
		listed(&list, &looks, of[k].body);
		cr_expect_eq(list.proven, of[k].proven, "%s", of[k].body);
		lang_afar_free(&list);
		lang_looks_free(&looks);
	}
}

Test(lang_afar, what_is_no_loop_is_done_here)
{
	check("s = 0\nfor t in 0..3 { s = s + t }\nif s > 2 { for i in 0..n { a[i] = float64(s) } "
	      "}",
	      N, 1, NULL);
	check("s = n\nwhile s > 3 { s = s // 2\n for i in 0..s { a[i] = a[i] + 1.0 } }", N, 3,
	      NULL);
}

Test(lang_afar, a_loop_of_no_turns_is_no_launch)
{
	check("for i in 0..n { a[i] = 1.0 }\nfor i in 5..3 { a[i] = 2.0 }", N, 1, NULL);
	check("for i in 0..n { a[i] = 1.0 }", 0, 0, NULL);
	check("s = n", 3, 0, "no loop");
}

Test(lang_afar, what_each_turn_sets_to_a_constant_is_left)
{
	check("for i in 0..n { a[i] = b[i]\n s = 7 }\nfor i in 0..s { c[i] = 1.0 }", N, 2, NULL);
	check("s = 3\nfor i in 0..n { a[i] = b[i]\n s = 7 }", 0, 0, NULL);
	/* Not in each, or not the same. */
	check("for i in 0..n { a[i] = b[i]\n if a[i] > 1.0 { s = 7 } }", N, 0, "passes from turn");
	check("for i in 0..n { a[i] = b[i]\n s = i }", N, 0, "a scalar is left");
}

Test(lang_afar, several_arrays_are_a_launch_each)
{
	check("for i in 0..n { a[i] = b[i] + 1.0\n c[i] = b[i] * 3.0 }", N, 2, NULL);
	/* What is read behind its store is stored first, what is read before it last. */
	check("for i in 0..n { a[i] = b[i] + 1.0\n c[i] = a[i] * 3.0 }", N, 2, NULL);
	check("for i in 0..n { c[i] = a[i] * 3.0\n a[i] = b[i] + 1.0 }", N, 2, NULL);
	check("for i in 0..n { a[i] = a[i] - c[i] * 0.5\n c[i] = c[i] + a[i] * 0.5 }", N, 2, NULL);
	check("for i in 0..n { for j in 0..n { m[i, j] = m[i, j] + 1.0 }\n c[i] = m[i, 3] }", N, 2,
	      NULL);
	/* A read that no other store needs does not count. */
	check("for i in 0..n { a[i] = a[i] + 1.0\n c[i] = b[i]\n a[i] = a[i] * 2.0 }", N, 2, NULL);
	/* Conditions do, and what functions make of numbers. */
	check("for i in 0..n { c[i] = 1.0\n if a[i] > 3.0 { c[i] = 2.0\n a[i] = 0.0 } }", N, 2,
	      NULL);
	check("for i in 0..n { a[i] = 0.0\n if a[i] > 3.0 { c[i] = 2.0 } else { c[i] = b[i] } }", N,
	      2, NULL);
	check("for i in 0..n { let t = a[i]\n a[i] = b[i]\n m[i, i] = t\n c[i] = t + 1.0 }", N, 3,
	      NULL);
	/* So does which element is read. */
	check("for i in 0..n { let k = min(max(int64(a[i]), 0), n - 1)\n a[i] = a[i] + 7.0\n"
	      " c[i] = b[k] }",
	      N, 2, NULL);
}

/* One of them reads another as it was. */
Test(lang_afar, exchanges)
{
	check("for i in 0..n { let t = a[i]\n a[i] = c[i]\n c[i] = t }", N, 2, NULL);
	check("for i in 0..n { let x = a[i]\n let y = c[i]\n a[i] = 0.8 * x + 0.6 * y\n"
	      " c[i] = 0.8 * y - 0.6 * x }",
	      N, 2, NULL);
	check("for i in 0..n { let k = min(max(int64(a[i]), 0), n - 1)\n a[i] = a[i] + c[i]\n"
	      " c[i] = c[i] - b[k] }",
	      N, 2, NULL);
	/* Three in a ring, in the order of the text and against it. */
	check("for i in 0..n { let t = a[i]\n a[i] = c[i]\n c[i] = m[i, 2]\n m[i, 2] = t }", N, 3,
	      NULL);
	check("for i in 0..n { let t = a[i]\n a[i] = m[i, 2]\n m[i, 2] = c[i]\n c[i] = t }", N, 3,
	      NULL);
	/* In each turn of a loop that needs its own, what was before that turn. */
	check("for t in 0..3 { for i in 0..n { let x = a[i]\n a[i] = c[i] + 1.0\n c[i] = x } }", N,
	      6, NULL);
	check("for i in 0..n { if a[i] > c[i] { let t = a[i]\n a[i] = c[i]\n c[i] = t } }", N, 2,
	      NULL);
}

/* What one needs of another from before its store and from behind it, it computes as well. */
Test(lang_afar, what_is_kept)
{
	check("for i in 0..n { c[i] = a[i]\n a[i] = c[i] + a[i]\n c[i] = a[i] }", N, 2, NULL);
	check("for i in 0..n { let t = a[i]\n a[i] = c[i]\n c[i] = t + a[i] - b[i] * c[i] }", N, 2,
	      NULL);
	/* A wall that turns what moves. */
	check("for i in 0..n { a[i] = a[i] + 2.0 * c[i]\n"
	      " if a[i] > 9.0 { a[i] = 18.0 - a[i]\n c[i] = -c[i] } }",
	      N, 2, NULL);
	check("for i in 0..n { a[i] += c[i] * 0.5\n if a[i] < 3.0 { a[i] = -a[i]\n c[i] = -c[i]\n"
	      " m[i, i] += a[i] }\n c[i] -= m[i, i] * a[i] }",
	      N, 3, NULL);
	/* In a loop of the turn's own, which may run never. */
	check("for i in 0..n { for k in 0..3 { c[i] = c[i] + a[i]\n a[i] = a[i] * 0.5 } }", N, 2,
	      NULL);
	check("for i in 0..n { let k = 0\n while k < 3 { c[i] = c[i] + a[i]\n a[i] = a[i] * 0.5\n"
	      " k = k + 1 } }",
	      N, 2, NULL);
	check("for i in 0..n { for k in 0..i - 20 { c[i] = c[i] + a[i]\n a[i] = a[i] * 0.5 }\n"
	      " c[i] += a[i] }",
	      N, 2, NULL);
	/* Indices that are computed, alike; of two axes, along both. */
	check("for i in 0..n - 1 { c[i + 1] = a[n - 1 - i]\n a[n - 1 - i] += c[i + 1]\n"
	      " c[i + 1] -= a[n - 1 - i] }",
	      N, 2, NULL);
	check("for i in 0..n { for j in 0..1 { c[i] += m[i, j]\n m[i, j] = c[i] * 0.5\n"
	      " c[i] -= m[i, j] } }",
	      N, 2, NULL);
	/* What the condition needs of both. */
	check("for i in 0..n { a[i] = 1.0\n c[i] = 2.0\n if a[i] < c[i] { a[i] = c[i] * 3.0 } }", N,
	      2, NULL);
	/* In each turn of a loop around. */
	check("for t in 0..4 { for i in 0..n { a[i] += c[i]\n if a[i] > 20.0 { a[i] -= 20.0\n"
	      " c[i] = -c[i] } } }",
	      N, 8, NULL);
}

Test(lang_afar, several_arrays_that_need_each_other)
{
	/* Two elements in a turn, or nobody knows how many. */
	check("for i in 0..n { c[i] = m[i, 0]\n m[i, 0] = c[i] * 2.0\n m[i, 1] = c[i]\n"
	      " c[i] = m[i, 0] }",
	      N, 0, "need each other");
	check("for i in 0..n { for k in 0..3 { c[i] = c[i] + m[i, k]\n m[i, k] = c[i] * 0.5\n"
	      " c[i] -= m[i, k] } }",
	      N, 0, "a loop in its turns");
	check("for i in 0..n { let k = 0\n c[i] = m[i, k]\n m[i, k] = 2.0 * c[i]\n k = k + 1\n"
	      " m[i, k] = c[i]\n c[i] = m[i, k] + m[i, 0] }",
	      N, 0, "need each other");
}

Test(lang_afar, what_needs_elements_has_no_list)
{
	check("a[0] = 1.0\nfor i in 0..n { c[i] = b[i] }", N, 0, "element");
	check("for i in 0..n { c[i] = b[i] }\na[0] = c[1]", N, 0, "element");
	check("for i in 1..n { a[i] = a[i - 1] + 1.0 }", N, 0, "same bytes, 1 turn apart");
	check("for i in 0..n { s = s + i\n a[i] = float64(s) }", N, 0, "passes from turn to turn");
	check("for i in 0..n + 1 { a[i] = 1.0 }", N, 0, "an index of 'a'");
	check("for i in 0..n { m[i, 0:n] = b[0:n] }", N, 0, "slices");
}

/* Of an index that is read, nothing is known but its axis; who does the turns looks at it. */
Test(lang_afar, gathers)
{
	check("for i in 0..n { c[i] = b[int64(a[i])] }", N, 1, NULL);
	check("for i in 0..n { c[i] = b[-1 - int64(a[i])] }", N, 1, NULL);
	check("for i in 0..n { c[i] = m[i, int64(a[i])] + m[int64(a[i]), i] }", N, 1, NULL);
	check("for i in 0..n { if a[i] > 4.0 { c[i] = b[i * i % n] } }", N, 1, NULL);
	check("for i in 0..n { for j in 0..n { m[i, j] = b[int64(a[j]) + int64(a[i])] } }", N, 1,
	      NULL);
	/* The array that is read so is written: not by another turn, where another axis tells. */
	check("for i in 0..n { m[i, 0] = m[i, int64(a[i])] }", N, 1, NULL);
	check("for i in 0..n { m[0, i] = m[int64(a[i]), i] }", N, 1, NULL);
	check("for i in 0..n { m[i, int64(a[i])] = b[i] }", N, 1, NULL);
	check("for i in 0..n { for j in 0..n { m[i, int64(a[j])] += b[j] } }", N, 1, NULL);
	check("for i in 0..12 { a[i + 12] = a[i] }", N, 1, NULL);
	check("for i in 0..n { a[i] = a[int64(b[i])] }", 3, 0, "the same bytes");
	check("for i in 0..n { m[i, 0] = m[int64(a[i]), 0] }", N, 0, "the same bytes");
	check("for i in 0..n { c[int64(a[i])] = b[i] }", N, 0, "the same bytes");
	check("for i in 0..n { c[int64(a[i])] += 1.0 }", N, 0, "the same bytes");
	check("parallel for i in 0..n { c[int64(a[i])] = b[i] }", N, 0, "the same bytes");
	/* One that is known is proven still. */
	check("for i in 0..n { c[i] = b[int64(a[i])] + b[i + 1] }", N, 0, "an index of 'b'");
}

/* Loops in a turn whose bounds are read, or come of what is no sum. */
Test(lang_afar, bounds_that_are_read)
{
	check("for i in 0..n - 1 { let u = 0.0\n for j in int64(a[i])..int64(a[i + 1]) { "
	      "u = u + c[j] * b[int64(c[j])] }\n m[0, i] = u }",
	      N, 1, NULL);
	check("for i in 0..n { let u = 0.0\n for j in int64(a[i])..int64(c[i]) step -1 { "
	      "u = u + b[j] }\n m[0, i] = u }",
	      N, 1, NULL);
	check("for i in 0..n { for j in 0..int64(c[i]) { m[i, j] = b[j] } }", N, 1, NULL);
	/* Of the number of such a loop nothing is known, whatever its turns are asked. */
	check("for i in 0..n { for j in 0..int64(c[i]) { if j > 0 { m[j, i] = b[j] } } }", N, 1,
	      NULL);
	check("for i in 0..n { for j in 0..int64(c[i]) { for l in 0..j { m[i, l] = m[i, j] + 1.0 } "
	      "} "
	      "}",
	      N, 1, NULL);
	check("for i in 0..4 { for j in 0..i * i { m[i, j] = 1.0 } }", N, 1, NULL);
	check("for i in 0..n { let k = int64(c[i])\n while k > 0 { k = k // 2\n m[i, k] = b[k] } }",
	      N, 1, NULL);
	check("for i in 0..n { for j in 0..int64(b[i]) { if j > 0 { a[j] = 1.0 } } }", N, 0,
	      "the same bytes");
	check("for i in 0..n { for j in 0..int64(b[i]) { a[i + j] = 1.0 } }", N, 0,
	      "the same bytes");
	check("for i in 0..int64(a[3]) { c[i] = 1.0 }", N, 0, "element");
	check("for i in 0..n { for j in 0..n step int64(a[i]) { m[i, j] = 1.0 } }", N, 0, "bounds");
	check("for i in 0..n { for j in 0..int64(c[i]) { a[i] = a[i] + 1.0 } }", N, 1, NULL);
}

/* Of few rows of a long array one may have all that there is to do. */
Test(lang_afar, few_rows_that_may_be_long)
{
	static const char text[] = HEAD
		"for i in 0..n { for j in int64(c[i])..int64(c[i + 1]) { a[i] = a[i] + b[j] } }\n}";
	static struct memory x;
	static const struct {
		int64_t rows, length;
		bool fine;
	} row[] = {{20, 1000, true}, {20, 10000000, false}, {100, 10000000, true}};
	struct lang_kernel *k = machine(text);

	for (unsigned r = 0; r < sizeof row / sizeof *row; r++) {
		union lang_reg scalar = {.i = row[r].rows}, result;
		struct lang_looks looks = {0};
		struct lang_array array[4];
		struct lang_afar list;

		arrays(array, &x, true);
		array[0].shape.dim[0] = array[3].shape.dim[0] = row[r].rows + 1;
		array[1].shape.dim[0] = row[r].length;
		cr_assert(lang_afar_of(&list, &looks, k, array, &scalar, &result));
		cr_expect_eq(!*list.why, row[r].fine, "row %u: %s", r, list.why);
		cr_expect(row[r].fine || strstr(list.why, "few turns"));
		/* All rows together are as long as the array. */
		if (row[r].fine)
			cr_expect(list.launch[0].work > 3 * (uint64_t)row[r].length &&
				  list.launch[0].work < 30 * (uint64_t)row[r].length);
		lang_afar_free(&list);
		lang_looks_free(&looks);
	}
	lang_unlink(k);
}

/* Those that do not hold are errors, which the run here tells. */
Test(lang_afar, claims)
{
	check("parallel for i in 0..n { a[i] = b[i] }", N, 1, NULL);
	check("parallel for i in 0..n { parallel for j in 0..n { m[i, j] = b[j] } }", N, 1, NULL);
	check("for t in 0..n { parallel for i in 0..n { a[i] = a[i] + b[i] } }", N, N, NULL);
	check("parallel for t in 0..0 { for i in 0..n { a[i] = b[i] } }", N, 0, NULL);
	check("parallel for t in 0..n { for i in 0..n { a[i] = a[i] + b[i] } }", N, 0, "claims");
	check("for i in 0..n { parallel for t in 0..n { a[i] = a[i] + b[t] } }", N, 0, "claim");
}

Test(lang_afar, few_turns_that_take_long)
{
	check("for i in 0..n { for k in 0..1000 { a[i] = a[i] + 1.0 } }", N, 1, NULL);
	check("for i in 0..n { for k in 0..1000000 { a[i] = a[i] + 1.0 } }", N, 0, "few turns");
}

Test(lang_afar, loops_that_never_name_an_element_end)
{
	check("while n > 0 { s = s + 1 }", 1, 0, "long");
}

/* Views of one buffer are told apart as they lie. */
Test(lang_afar, arrays_that_share_memory)
{
	static const char text[] = HEAD "for i in 0..n { a[i] = b[i] * 2.0 }\n}";
	static struct memory x;
	static const struct {
		int64_t a, b; /* where they begin */
		bool fine;
	} row[] = {{0, 0, true}, {0, 8 * N, true}, {8, 0, false}, {0, 8, false}, {4096, 0, true}};
	struct lang_kernel *k = machine(text);

	for (unsigned r = 0; r < sizeof row / sizeof *row; r++) {
		union lang_reg scalar = {.i = N}, result;
		struct lang_looks looks = {0};
		struct lang_array array[4];
		struct lang_afar list;

		arrays(array, &x, true);
		array[1].at = array[0].at + row[r].b;
		array[0].at += row[r].a;
		cr_assert(lang_afar_of(&list, &looks, k, array, &scalar, &result));
		cr_expect_eq(!*list.why, row[r].fine, "row %u: %s", r, list.why);
		lang_afar_free(&list);
		lang_looks_free(&looks);
	}
	lang_unlink(k);
}

/* Launches are one behind the other; a turn's last store is what stays. */
Test(lang_afar, arrays_that_share_what_is_written)
{
	static const char text[] = HEAD "for i in 0..n { c[i] = 1.0\n a[i] = 2.0 }\n}";
	static struct memory x;
	struct lang_kernel *k = machine(text);

	for (int shared = 0; shared < 3; shared++) {
		union lang_reg scalar = {.i = N}, result;
		struct lang_looks looks = {0};
		struct lang_array array[4];
		struct lang_afar list;

		arrays(array, &x, true);
		/* Behind it, or its last element as well. */
		if (shared)
			array[3].at = array[0].at + sizeof x.a - (shared == 2) * sizeof x.a[0];
		cr_assert(lang_afar_of(&list, &looks, k, array, &scalar, &result));
		cr_expect_eq(!*list.why, shared < 2, "%d: %s", shared, list.why);
		lang_afar_free(&list);
		lang_looks_free(&looks);
	}
	lang_unlink(k);
}
