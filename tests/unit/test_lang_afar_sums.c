/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_afar.c, lang_later.c: runs as lists of launches that add up scalars.  What a list does
 * is done here by the machine (lang_grid_run.h), in stretches, and its sums are told; memory and
 * results are compared with the run's, to the bit. */
#include "lang_code.h"

#include "lang/lang_afar.h"
#include "lang/lang_grid_run.h"
#include "lang/lang_steps.h"

#define N     37
#define MANY  70000 /* elements of b; the tree has more than one chunk */
#define PARTS 5

struct memory {
	double a[N], b[MANY], m[N][N];
	int32_t c[N];
};

struct results {
	union lang_reg r[4];
};

#define HEAD                                                                                       \
	"kernel f(inout a: float64[:], in b: float64[:], inout m: float64[:,:], inout c: "         \
	"int32[:], n: int64) -> (s: float64, k: int64, e: float64, h: int32) {\n"

static void set(struct memory *x)
{
	for (int i = 0; i < MANY; i++)
		x->b[i] = (i * 7 % 1001) * 0.37 - 180;
	for (int i = 0; i < N; i++) {
		x->a[i] = i * 0.5 - 3;
		x->c[i] = i % 5 - 2;
		for (int k = 0; k < N; k++)
			x->m[i][k] = (i * 13 + k * 5) % 17 - 8.25;
	}
}

static void arrays(struct lang_array *out, struct memory *x, bool far)
{
	char *const at[] = {(char *)x->a, (char *)x->b, (char *)x->m, (char *)x->c};
	static const int64_t extent[] = {N, MANY, N, N}, stride[] = {8, 8, 8 * N, 4};

	for (unsigned k = 0; k < 4; k++) {
		out[k] = (struct lang_array){.shape = {1, {extent[k]}}, .stride = {stride[k]}};
		out[k].at = far ? (char *)((uintptr_t)(k + 1) << LANG_AFAR_APART) : at[k];
	}
	out[2].shape = (struct shape){2, {N, N}};
	out[2].stride[1] = 8;
}

/* The tree of a claimed sum's elements. */
static void reduce(union lang_reg *out, const struct lang_afar_sum *s, char *value, uint64_t n)
{
	static struct lang_total t;
	const struct tier0_red *red = &tier0_table(isa_best())->red[s->op][s->of->type];
	struct bz_acc acc;

	t.count = 0;
	red->init(t.state);
	lang_total_add(&t, red, value, (int64_t)n, dtype_row(s->of->type)->bytes);
	red->end(t.state, t.count, &acc);
	red->put(&acc, out->byte);
}

static void tell(struct lang_afar *l, unsigned k, char *value, uint64_t n)
{
	union lang_reg one = {0};

	if (!l->sum[k].of->claimed) {
		lang_afar_told(l, k, value, n);
		return;
	}
	reduce(&one, &l->sum[k], value, n);
	lang_afar_told(l, k, one.byte, 1);
}

static void launch(struct lang_afar *l, unsigned k, const char *text, struct memory *x)
{
	static struct memory begun; /* as it was before the loop */
	static const struct tier0_isa none;
	const struct lang_launch *at = &l->launch[k];
	const struct lang_grid *is = at->grid;
	struct lang_grid_run *run = NULL;
	struct lang_program *p = NULL;
	struct lang_array array[5], old[4];
	uint64_t n = 0;
	struct lang_grid g;
	struct err err = {0};
	char *t = NULL;

	cr_assert(!lang_program_of_text(&p, text, strlen(text), &err));
	cr_assert(
		!(is->sums
			  ? lang_grid_sum(&g, p, is->range, is->levels, is->fast, is->sum.reg, &err)
			  : lang_grid_of(&g, p, is->range, is->levels, is->fast, is->only, &err)),
		"%s", err.text);
	cr_assert(!lang_grid_keep(&g, is->keeps, &err));
	cr_assert(!lang_grid_link(&run, p, &g, tier0_table(isa_best()), &none, &err));
	if (at->first)
		begun = *x;
	arrays(array, x, false);
	arrays(old, &begun, false);
	for (unsigned a = 0; a < 4; a++)
		array[a] = at->old >> a & 1 ? old[a] : array[a];
	if (is->sums) {
		unsigned bytes = dtype_row(is->sum.type)->bytes;

		t = malloc((at->elements + LANG_BLOCK) * bytes);
		memset(t, 0x55, at->elements * bytes);
		array[4] = (struct lang_array){t, {1, {(int64_t)at->elements}}, {bytes}};
	}
	cr_assert(!lang_grid_count(&n, run, array, l->value + at->value, &err));
	cr_assert(!is->sums || n == at->elements);
	for (unsigned part = PARTS; part-- > 0;)
		cr_assert(!lang_grid_turns(run, array, l->value + at->value, n * part / PARTS,
					   n * (part + 1) / PARTS, NULL, NULL, &err),
			  "%s", err.text);
	if (is->sums)
		tell(l, at->sum, t, at->elements);
	free(t);
	lang_grid_unlink(run);
}

static void launch_all(struct lang_afar *l, const char *text, struct memory *x)
{
	for (unsigned i = 0; i < l->n; i++)
		launch(l, i, text, x);
}

/* So many launches of all lists there are, with so many waits for sums; the run is done by them, or
 * its rest here, for this reason. */
static void check(const char *body, int64_t n, unsigned launches, unsigned waits, const char *rest)
{
	static char text[4096];
	static struct memory here, there;
	struct lang_looks looks = {0};
	struct lang_array array[4];
	union lang_reg scalar = {.i = n};
	struct results want = {0}, have = {0};
	struct lang_afar list;
	struct lang_kernel *k;
	struct err err = {0};
	unsigned count = 0, waited = 0;

	snprintf(text, sizeof text, HEAD "%s\n}", body);
	set(&here);
	there = here;
	k = machine(text);
	arrays(array, &there, true);
	cr_assert(lang_afar_of(&list, &looks, k, array, &scalar, have.r));
	cr_assert(!*list.why, "%s\n%s", list.why, body);
	for (bool more = true; more; waited += more) {
		count += list.n;
		launch_all(&list, text, &there);
		more = list.wants;
		if (more)
			cr_assert(lang_afar_on(&list, have.r));
	}
	cr_expect(rest ? strstr(list.why, rest) != NULL : !*list.why, "%s\n%s", list.why, body);
	if (*list.why) {
		arrays(array, &there, false);
		cr_assert(!lang_afar_rest(&list, array, have.r, NULL, NULL, &err), "%s", err.text);
		cr_expect_str_eq(looks.back, list.why);
	}
	cr_expect_eq(count, launches, "%u, not %u\n%s", count, launches, body);
	cr_expect_eq(waited, waits, "%u, not %u\n%s", waited, waits, body);
	arrays(array, &here, false);
	cr_assert(!lang_run(k, array, &scalar, want.r, NULL, NULL, &err), "%s", err.text);
	for (unsigned i = 0; i < 4; i++)
		cr_expect_eq(have.r[i].bits[0] << (i == 3 ? 32 : 0),
			     want.r[i].bits[0] << (i == 3 ? 32 : 0), "result %u: %g, not %g\n%s", i,
			     have.r[i].f, want.r[i].f, body);
	cr_expect(!memcmp(&here, &there, sizeof here), "%s", body);
	lang_afar_free(&list);
	lang_looks_free(&looks);
	lang_unlink(k);
}

Test(lang_afar_sums, claimed_sums_are_the_tree_of_the_turns)
{
	static const int64_t turns[] = {1, 2, 31, 1023, 1024, 1025, 65536, 65537, MANY};

	for (unsigned i = 0; i < sizeof turns / sizeof *turns; i++) {
		check("for i in 0..n reduction(+: s) { s += b[i] * 0.1 }", turns[i], 1, 1, NULL);
		check("s = -0.0\nfor i in 0..n reduction(*: s) { s *= 1.0 + b[i] * 0.00001 }",
		      turns[i], 1, 1, NULL);
	}
	/* Of no turn nothing is added, not even to a -0.0. */
	check("s = -0.0\nfor i in 0..n reduction(+: s) { s += b[i] }", 0, 0, 0, NULL);
	check("s = 3.5\nfor i in 0..n reduction(+: s) { s -= b[i] }", 100, 1, 1, NULL);
	/* A turn adds up by itself. */
	check("for i in 0..n reduction(+: s) { for j in i..n { s += m[i, j]\n s += a[j] } }", N, 1,
	      1, NULL);
}

Test(lang_afar_sums, integers_and_extremes)
{
	check("for i in 0..n { k += int64(b[i]) }", MANY, 1, 1, NULL);
	check("k = 5\nfor i in 0..n { k -= i * 3 + int64(b[i]) }", MANY, 1, 1, NULL);
	check("k = -1\nfor i in 0..n { k &= (i + int64(b[i])) | 0x70 }", 50, 1, 1, NULL);
	check("for i in 0..n { k |= int64(b[i])\n k |= 64 }", 50, 1, 1, NULL);
	check("for i in 0..n { k ^= i * int64(b[i]) }", 5000, 1, 1, NULL);
	check("h = 1\nfor i in 0..n { h *= c[i] * int32(2) + int32(1) }", N, 1, 1, NULL);
	check("for i in 0..n { h = max(h, c[i]) }", N, 1, 1, NULL);
	check("e = 9.0\nfor i in 0..n { e = min(e, b[i]) }", MANY, 1, 1, NULL);
	check("for i in 0..n { let v = b[i]\n if v > e { e = v } }", MANY, 1, 1, NULL);
	check("for i in 0..n { let v = c[i]\n if v <= h { h = v } }", N, 1, 1, NULL);
	/* Of two loops, and of three levels, rectangular or not. */
	check("for i in 0..n { for j in 0..n { e = max(e, m[i, j]) } }", N, 1, 1, NULL);
	check("for i in 0..n { for j in i..n { e = max(e, m[i, j]) } }", N, 1, 1, NULL);
	check("for i in 0..n { for j in i..n { k += int64(m[i, j]) } }", N, 1, 1, NULL);
	check("for i in 0..n { for j in 0..n { for l in 0..n { k += i * int64(m[j, l]) + l } } }",
	      N, 1, 1, NULL);
	check("for i in 0..n { k += i\n for j in 0..n { k += int64(m[i, j]) } }", N, 1, 1, NULL);
	check("for i in 0..n { for j in 0..0 { e = max(e, m[i, j]) } }", N, 0, 0, NULL);
}

Test(lang_afar_sums, zeros_and_nans_in_the_order_of_the_turns)
{
	/* Of equal ones the last, or the first, wins; of NaNs the first. */
	check("e = -1.0\nfor i in 0..n { e = max(e, where(i % 3 == 0, 0.0, -0.0) * abs(b[i])) }", 8,
	      1, 1, NULL);
	check("e = -1.0\nfor i in 0..n { e = max(e, where(i % 3 == 0, 0.0, -0.0) * abs(b[i])) }", 7,
	      1, 1, NULL);
	check("e = -1.0\nfor i in 0..n { let v = where(i % 3 == 0, -0.0, 0.0) * abs(b[i])\n"
	      "if v > e { e = v } }",
	      9, 1, 1, NULL);
	check("e = 1.0\nfor i in 0..n { for j in 0..n {\n"
	      "e = min(where((i + j) % 2 == 0, 0.0, -0.0) * abs(b[i]), e) } }",
	      6, 1, 1, NULL);
	check("for i in 0..n { e = max(e, sqrt(b[i])) }", 500, 1, 1, NULL);
	check("for i in 0..n { let v = sqrt(b[i])\n if v > e { e = v } }", 500, 1, 1, NULL);
}

Test(lang_afar_sums, arrays_and_scalars_of_one_loop)
{
	/* The error reads what the store replaces, or what it has left. */
	check("for i in 1..n - 1 { for j in 1..n - 1 {\n"
	      "let v = m[i, j] * 0.5\n e = max(e, abs(v - m[i, j]))\n m[i, j] = v } }",
	      N, 2, 1, NULL);
	check("for i in 0..n { a[i] = a[i] * 0.5\n e = max(e, a[i])\n c[i] = int32(a[i]) }", N, 3,
	      1, NULL);
	check("for i in 0..n reduction(+: s, e) {\n s += b[i]\n e += a[i] * b[i]\n k += 1\n"
	      "a[i] = 2.0 * a[i] }",
	      N, 4, 1, NULL);
	check("for i in 0..n reduction(+: s) { for j in 0..n {\n"
	      "let v = m[i, j] * 0.25\n s += (v - m[i, j]) ** 2\n m[i, j] = v } }",
	      N, 2, 1, NULL);
	/* Elements of before and behind a store. */
	check("for i in 0..n { let t = a[i]\n a[i] = b[i]\n e = max(e, a[i] - t) }", N, 2, 1, NULL);
	check("for i in 0..n { for j in 0..n {\n"
	      "let v = m[i, j]\n m[i, j] = v * 0.5\n e = max(e, abs(m[i, j] - v)) } }",
	      N, 2, 1, NULL);
	check("for i in 0..n reduction(+: s) { let t = a[i]\n a[i] = b[i]\n c[i] += int32(1)\n"
	      " s += a[i] * t + float64(c[i]) }",
	      N, 3, 1, NULL);
}

Test(lang_afar_sums, one_wait_for_all)
{
	/* What has nothing to do with arrays is done here. */
	check("for i in 0..n reduction(+: s) { s += float64(i) * 0.1 }", 3000, 0, 0, NULL);
	check("for i in 0..n { k += i * i }\nfor i in 0..k { a[i] = 1.0 }", 4, 1, 0, NULL);
	check("for i in 0..n { for j in 0..n { for l in 0..n { k += i * j } } }", 50, 1, 1, NULL);
	/* What is computed of sums, and registers that get others meanwhile. */
	check("for i in 0..n reduction(+: s) { s += b[i] }\n e = sqrt(abs(s)) * 2.0\n"
	      "for i in 0..n { k += i + int64(c[i]) }\n s = s + float64(k)\n k = 7",
	      N, 2, 1, NULL);
	check("let t = 0.5\nfor i in 0..n reduction(+: t) { t += b[i] }\n s = t\n t = 3.0\n"
	      "e = t + s\nfor i in 0..n { a[i] = a[i] * t }",
	      N, 2, 1, NULL);
	/* A loop that needs its own turns, and claims a sum of them. */
	check("for t in 0..6 reduction(+: s) { for i in 0..n { a[i] = a[i] * 0.5 }\n s += 0.1 }", N,
	      6, 0, NULL);
	/* Each added to what the one before has left. */
	check("for t in 0..5 { for i in 0..n { k += i * t + int64(c[i]) }\n for i in 0..n "
	      "reduction(+: s) { "
	      "s += b[i] } }",
	      N, 10, 1, NULL);
	/* Of no result: nobody waits. */
	check("let t = 0\nfor i in 0..n { t += int64(c[i]) }\nfor i in 0..n { a[i] = 1.0 }", N, 2,
	      0, NULL);
}

Test(lang_afar_sums, ways_bounds_and_loops_wait)
{
	check("e = 1.0\nwhile e > 0.01 {\n e = 0.0\n for i in 0..n {\n let v = a[i] * 0.5\n"
	      "e = max(e, abs(v - a[i]))\n a[i] = v }\n k += 1\n}",
	      N, 2 * 11, 11, NULL);
	check("for i in 0..n reduction(+: s) { s += abs(b[i]) }\n"
	      "for i in 0..n { a[i] = a[i] / s }",
	      N, 2, 1, NULL);
	check("for i in 0..n { k += int64(c[i] == c[i]) }\nfor i in 0..k { a[i] = 2.0 }", N, 2, 1,
	      NULL);
	check("for i in 0..n { k += int64(c[i]) + 1 }\nif k > 3 { a[0:1] = 1.0 }", 2, 1, 1, NULL);
}

Test(lang_afar_sums, the_rest_is_done_here)
{
	check("for i in 0..n reduction(+: s) { s += b[i] }\nif s > -1e9 { a[3] = s }\n"
	      "for i in 0..n { a[i] = a[i] + 1.0 }",
	      N, 1, 1, "an element is named outside");
	check("for i in 0..n { k += i + int64(c[i]) }\nif k > 0 { for i in 0..n { a[i] = 1.0 }\n"
	      "for i in 0..n { h += c[i] } }\n a[0] = float64(h)\n"
	      "for i in 0..n reduction(+: s) { s += a[i] }",
	      N, 3, 1, "an element is named outside");
}

/* Each wait takes as long as many turns here. */
Test(lang_afar_sums, a_run_that_waits_too_often_comes_back)
{
	check("while k < 5000 { for i in 0..n { k += 1 + int64(c[i] == c[i]) } }", 2,
	      LANG_AFAR_WAITS + 1, LANG_AFAR_WAITS, "it waits often");
}

/* What a run that came back leaves: those behind it stay, but not those that never wait. */
Test(lang_afar_sums, a_run_that_came_back_is_not_sent_again)
{
	static struct memory x;
	static const char text[] = HEAD "for i in 0..n { a[i] = 1.0 }\n"
					"for i in 0..n reduction(+: s) { s += b[i] }\n"
					"if s > -1e9 and n > 3 { a[3] = s }\n}";
	struct lang_looks looks = {0};
	struct lang_array array[4];
	union lang_reg scalar = {.i = N};
	struct results told;
	struct lang_afar list;
	struct lang_kernel *k = machine(text);

	arrays(array, &x, true);
	for (int again = 0; again < 2; again++) {
		cr_assert(lang_afar_of(&list, &looks, k, array, &scalar, told.r));
		cr_assert(again ? strstr(list.why, "an element") && !list.wants && list.line == 4
				: !*list.why && list.wants);
		if (!again) {
			lang_afar_told(&list, 0, (const char[8]){0}, 1);
			cr_assert(lang_afar_on(&list, told.r) && *list.why);
		}
		lang_afar_free(&list);
	}
	lang_looks_free(&looks);
	lang_unlink(k);
}

/* The reason why there is no list, and nothing was sent. */
static void stays(const char *body, int64_t n, const char *why)
{
	static char text[4096];
	static struct memory x;
	struct lang_looks looks = {0};
	struct lang_array array[4];
	union lang_reg scalar = {.i = n};
	struct results told;
	struct lang_afar list;
	struct lang_kernel *k;

	snprintf(text, sizeof text, HEAD "%s\n}", body);
	k = machine(text);
	arrays(array, &x, true);
	cr_assert(lang_afar_of(&list, &looks, k, array, &scalar, told.r));
	cr_expect(strstr(list.why, why), "%s\n%s", list.why, body);
	lang_afar_free(&list);
	lang_looks_free(&looks);
	lang_unlink(k);
}

Test(lang_afar_sums, what_stays_here)
{
	/* Floats in the order of the turns. */
	stays("for i in 0..n { s += b[i] }", N, "passes from turn to turn");
	stays("for i in 0..n { let v = b[i]\n for j in 0..n { v = v * 0.5 + m[i, j] * 0.25 - "
	      "a[j] * v + sqrt(abs(v)) - v * v * 0.125 }\n s += v }",
	      N, "in the order of its turns");
	/* The scalar is read otherwise, or is of another kind in each place. */
	stays("for i in 0..n { k += i\n a[i] = float64(k) }", N, "passes from turn to turn");
	stays("for i in 0..n { k += int64(c[i])\n k *= 3 }", N, "passes from turn to turn");
	stays("for i in 0..n reduction(+: s) { for j in 0..n reduction(+: s) { s += m[i, j] } }", N,
	      "a claimed sum of a loop in it");
}
