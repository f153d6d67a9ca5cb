/* SPDX-License-Identifier: Apache-2.0 */
/* worker/take_nest.h against the interpreter, cut everywhere, and which nests it knows. */
#include "gather_nest.h"
#include "worker/take_nest.h"

static const struct gather_case rows[] = {
	{"rows", 2, 0, {7, 37}, 1, 1, 50, 37, 1, false},
	{"strided rows", 2, 0, {70, 37}, 1, 53, 50, 1, 1, false},
	{"backwards", 2, 0, {5, 21}, 1, -1, 50, -30, 1, false},
	{"unchecked", 2, 0, {9, 33}, 1, 60, 50, 1, 0, false},
	{"pairs", 2, 0, {300, 2}, 1, 50, 50, 1, 1, false},
	{"many places", 2, 0, {2300, 40}, 1, 50, 50, 1, 1, false},
	{"three loops", 3, 0, {4, 9, 130}, 2, 51, 50, 1, 1, false},
	{"long rows", 2, 0, {30, 700}, 1, 53, 50, 1, 1, false},
	{"long rows side by side", 2, 0, {30, 700}, 1, 1, 50, 40, 1, false},
	{"one row", 1, 0, {150}, 0, 50, 50, 1, 1, false},
};
#define NROWS (sizeof rows / sizeof rows[0])

/* The places have nothing to do with the last loop. */
static void make(struct nest *n, const struct gather_case *c, unsigned dtype)
{
	memset(n, 0, sizeof *n);
	gather_nest(n, c, dtype);
	n->access[0].stride[c->npar - 1] = 0;
	for (int l = c->npar - 2, next = 8; l >= 0; l--, next *= (int)c->extent[l + 1])
		n->access[0].stride[l] = next;
	n->access[0].walk = WALK_SAME;
	n->access[n->naccess - 1].alone = 1;
}

static void expect_same(const struct gather_case *c, const struct nest *n, const struct run *want,
			const struct run *got, const char *how)
{
	cr_assert_eq(want->error[0], got->error[0], "%s, %s: wrong place", c->name, how);
	for (unsigned a = 0; a < n->naccess; a++)
		cr_assert(!memcmp(want->buffer[a], got->buffer[a], want->bytes[a]),
			  "%s, %s: access %u", c->name, how, a);
}

static void check(const struct gather_case *c, unsigned dtype)
{
	struct batch b = {.width = 8};
	struct take_nest t;
	struct nest n;
	int64_t all, row = c->extent[c->npar - 1];

	make(&n, c, dtype);
	take_nest_find(&t, &n);
	cr_assert(t.is, "%s", c->name);
	struct run *want = run_new(&n, 5), *got = run_new(&n, 5);
	all = points(&n, 0, n.npar);
	cr_assert(take_nest_fits(&t, &n, &want->args));
	run_tier0(&b, &n, want);
	cr_assert(!c->checks || want->error[0] != KERNEL_GOOD, "no wrong place is tried");
	take_nest_map(&t, &n, &got->args, 0, all);
	expect_same(c, &n, want, got, "whole");
	run_free(got);
	got = run_new(&n, 5);
	for (int64_t lo = 0, k = 1; lo < all; k = k * 7 % 101) {
		int64_t hi = lo + k < all ? lo + k : all;
		take_nest_map(&t, &n, &got->args, lo, hi);
		lo = hi;
	}
	expect_same(c, &n, want, got, "in pieces");
	run_free(got);
	got = run_new(&n, 5);
	got->args.stream = KERNEL_PAST;
	take_nest_rows(&t, &n, &got->args, 0, all / row, row / 2, row);
	take_nest_rows(&t, &n, &got->args, 0, all / row, 0, row / 2);
	expect_same(c, &n, want, got, "by parts of rows");
	run_free(got);
	run_free(want);
}

Test(take_nest, rows_are_those_of_the_interpreter)
{
	static const unsigned types[] = {DT_BOOL,    DT_INT8,	   DT_INT16,
					 DT_FLOAT16, DT_FLOAT32,   DT_FLOAT64,
					 DT_UINT64,  DT_COMPLEX64, DT_COMPLEX128};

	for (size_t d = 0; d < sizeof types / sizeof types[0]; d++)
		for (size_t k = 0; k < NROWS; k++)
			check(&rows[k], types[d]);
}

static bool is_one(const struct nest *n)
{
	struct take_nest t;

	take_nest_find(&t, n);
	return t.is;
}

Test(take_nest, others_are_left_alone)
{
	struct nest n, m;
	struct take_nest t;
	struct run *r;

	make(&n, &rows[0], DT_FLOAT64);
	cr_assert(is_one(&n));
	m = n;
	m.access[m.naccess - 1].alone = 0; /* something else of the nest may lie there */
	cr_assert(!is_one(&m));
	for (unsigned k = 0; k < NGATHER; k++) {
		memset(&m, 0, sizeof m);
		gather_nest(&m, &gather_cases[k], DT_FLOAT32);
		m.access[m.naccess - 1].alone = 1;
		cr_assert_eq(is_one(&m),
			     !gather_cases[k].nred && gather_cases[k].npar &&
				     gather_cases[k].checks < 2,
			     "%s", gather_cases[k].name);
	}
	/* A place for each point: no rows.  And rows that do not lie side by side. */
	r = run_new(&n, 5);
	take_nest_find(&t, &n);
	r->stride[t.place * LIMIT_NDIM + 1] = 8;
	cr_assert(!take_nest_fits(&t, &n, &r->args));
	r->stride[t.place * LIMIT_NDIM + 1] = 0;
	cr_assert(take_nest_fits(&t, &n, &r->args));
	cr_assert(!take_nest_strips(&t, &n, &r->args));
	r->stride[t.result * LIMIT_NDIM + 1] = 16;
	cr_assert(!take_nest_fits(&t, &n, &r->args));
	run_free(r);
}

/* After a cancel nothing goes on. */
Test(take_nest, a_cancel_ends_it)
{
	struct take_nest t;
	struct nest n;
	struct run *r;

	make(&n, &rows[0], DT_FLOAT64);
	take_nest_find(&t, &n);
	r = run_new(&n, 5);
	r->cancel = 1;
	memset(r->base[t.result], 0x33, 8);
	take_nest_map(&t, &n, &r->args, 0, 7 * 37);
	cr_assert_eq(r->base[t.result][0], 0x33);
	run_free(r);
}
