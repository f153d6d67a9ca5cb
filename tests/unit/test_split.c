/* SPDX-License-Identifier: Apache-2.0 */
/* What was put together out of pieces is read from where they lay. */
#include <stdarg.h>

#include "../golden/plan_same.h"
#include "draw.h"

#define ROWS 90
#define COLS 100
#define ROW  (COLS * 8)
#define ALL  (ROWS * ROW)

/* A partition as text, written bit by bit. */
struct text {
	char buf[16384];
	size_t len;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *form, ...)
{
	va_list args;

	va_start(args, form);
	t->len += (size_t)vsnprintf(t->buf + t->len, sizeof t->buf - t->len, form, args);
	va_end(args);
	cr_assert_lt(t->len, sizeof t->buf);
}

/* A piece of v, from row r and column c on. */
static void put_view(struct text *t, unsigned v, int64_t r, int64_t c, int64_t rows, int64_t cols)
{
	put(t, "v%u:int64+%lld[%lld:%d,%lld:8]", v, (long long)(r * ROW + c * 8), (long long)rows,
	    ROW, (long long)cols);
}

/* b = a with its last `by` rows or columns in front. */
static void put_roll(struct text *t, unsigned b, unsigned a, unsigned axis, int64_t by)
{
	put(t, "op CONCATENATE as int64 axes %u ", 1u << axis);
	if (axis == 0)
		put_view(t, a, ROWS - by, 0, by, COLS);
	else
		put_view(t, a, 0, COLS - by, ROWS, by);
	put(t, " ");
	if (axis == 0)
		put_view(t, a, 0, 0, ROWS - by, COLS);
	else
		put_view(t, a, 0, 0, ROWS, COLS - by);
	put(t, " -> v%u:int64[%d,%d]\n", b, ROWS, COLS);
}

static void put_binary(struct text *t, const char *op, unsigned out, unsigned a, unsigned b)
{
	put(t, "op %s v%u:int64[%d,%d] v%u:int64[%d,%d] -> v%u:int64[%d,%d]\n", op, a, ROWS, COLS,
	    b, ROWS, COLS, out, ROWS, COLS);
}

static void put_value(struct text *t, unsigned v, const char *role, const char *more)
{
	put(t, "value %u %s %d%s\n", v, role, ALL, more);
}

static unsigned calls(const struct plan *p)
{
	unsigned n = 0;

	for (uint32_t k = 0; k < p->nstep; k++)
		n += p->step[k].kind == STEP_CALL;
	return n;
}

static unsigned temporaries(const struct plan *p)
{
	unsigned n = 0;

	for (uint32_t k = 0; k < p->nslot; k++)
		n += p->slot[k].value == PART_NONE && p->slot[k].input == PART_NONE;
	return n;
}

/* Four neighbours on a torus: three boxes along each axis. */
Test(split, a_stencil_of_rolls_is_one_code_over_nine_boxes)
{
	struct text t = {.len = 0};
	struct nest first, other;
	struct plan *p;

	put_value(&t, 0, "input", "");
	for (unsigned v = 1; v < 7; v++)
		put_value(&t, v, "temp", "");
	put_value(&t, 7, "output", "");
	put_roll(&t, 1, 0, 0, 1);
	put_roll(&t, 2, 0, 0, ROWS - 1);
	put_roll(&t, 3, 0, 1, 1);
	put_roll(&t, 4, 0, 1, COLS - 1);
	put_binary(&t, "ADD", 5, 1, 2);
	put_binary(&t, "SUBTRACT", 6, 3, 4);
	put_binary(&t, "MULTIPLY", 7, 5, 6);
	p = plan_same(t.buf);
	cr_assert_eq(p->nstep, 9);
	cr_assert(!calls(p) && !temporaries(p));
	compilepart_spec(&first, p->step[0].nest);
	for (uint32_t k = 1; k < 9; k++) {
		cr_assert_eq(p->step[k].nest->ninstr, p->step[0].nest->ninstr);
		if (p->step[k].nest->npar != p->step[0].nest->npar)
			continue; /* a row or a column */
		compilepart_spec(&other, p->step[k].nest);
		cr_assert_eq(other.naccess, first.naccess);
	}
	plan_free(p);
}

/* A roll of a roll: the pieces of one lie in the other. */
Test(split, what_is_put_together_of_pieces_put_together)
{
	struct text t = {.len = 0};
	struct plan *p;

	put_value(&t, 0, "input", "");
	put_value(&t, 1, "temp", "");
	put_value(&t, 2, "temp", "");
	put_value(&t, 3, "output", "");
	put_roll(&t, 1, 0, 0, 7);
	put_roll(&t, 2, 1, 1, 95);
	put_binary(&t, "ADD", 3, 2, 0);
	p = plan_same(t.buf);
	cr_assert_eq(p->nstep, 4);
	cr_assert(!calls(p) && !temporaries(p));
	plan_free(p);
}

/* Assignments to parts of what was empty, as numpy.roll along several axes is written. */
Test(split, assigned_pieces)
{
	struct text t = {.len = 0};
	struct plan *p;

	put_value(&t, 0, "input", "");
	put_value(&t, 1, "temp", " undefined");
	put_value(&t, 2, "temp", " prev 1 take");
	put_value(&t, 3, "temp", " prev 2 take");
	put_value(&t, 4, "output", "");
	put(&t, "op EMPTY as int64 -> v1:int64[%d,%d]\nop ASSIGN ", ROWS, COLS);
	put_view(&t, 0, 0, 0, ROWS - 5, COLS);
	put(&t, " -> ");
	put_view(&t, 2, 5, 0, ROWS - 5, COLS);
	put(&t, "\nop ASSIGN ");
	put_view(&t, 0, ROWS - 5, 0, 5, COLS);
	put(&t, " -> ");
	put_view(&t, 3, 0, 0, 5, COLS);
	put(&t, "\n");
	put_binary(&t, "ADD", 4, 3, 0);
	p = plan_same(t.buf);
	cr_assert_eq(p->nstep, 2);
	cr_assert_eq(temporaries(p), 0);
	plan_free(p);
}

/* A sum has an order of its own, and what somebody may name is stored. */
Test(split, what_else_needs_it_stored_leaves_it_as_it_is)
{
	struct text t = {.len = 0};
	struct plan *p;

	put_value(&t, 0, "input", "");
	put_value(&t, 1, "temp", "");
	put_value(&t, 2, "output", "");
	put(&t, "value 3 output 8\n");
	put_roll(&t, 1, 0, 0, 7);
	put_binary(&t, "ADD", 2, 1, 0);
	put(&t, "op SUM axes 3 v1:int64[%d,%d] -> v3:int64[]\n", ROWS, COLS);
	p = plan_same(t.buf);
	cr_assert_eq(calls(p), 1);
	plan_free(p);
	t = (struct text){.len = 0};
	put_value(&t, 0, "input", "");
	put_value(&t, 1, "output", "");
	put_value(&t, 2, "output", "");
	put_roll(&t, 1, 0, 0, 7);
	put_binary(&t, "ADD", 2, 1, 0);
	p = plan_same(t.buf);
	cr_assert(calls(p) == 1 && p->nstep == 2);
	plan_free(p);
}

/* What a piece was copied from is overwritten before the copy is read. */
Test(split, a_source_that_is_written_between_is_copied)
{
	struct text t = {.len = 0};
	struct plan *p;

	put(&t, "immi 0 5\n");
	put_value(&t, 0, "input", "");
	put_value(&t, 1, "temp", "");
	put_value(&t, 2, "output", " prev 0 take");
	put_value(&t, 3, "output", "");
	put_roll(&t, 1, 0, 0, 7);
	put(&t, "op ASSIGN i0:int64 -> ");
	put_view(&t, 2, 3, 3, 10, 10);
	put(&t, "\n");
	put_binary(&t, "ADD", 3, 1, 1);
	p = plan_same(t.buf);
	cr_assert_eq(calls(p), 1);
	plan_free(p);
}

/* Ten columns each: rows too short to be read piece by piece. */
Test(split, thin_pieces_are_copied)
{
	struct text t = {.len = 0};
	struct plan *p;

	put(&t, "value 0 input 160000\nvalue 1 temp 320000\nvalue 2 output 320000\n"
		"op CONCATENATE as int64 axes 2 v0:int64[2000,10] v0:int64[2000,10] "
		"-> v1:int64[2000,20]\nop SQUARE v1:int64[2000,20] -> v2:int64[2000,20]\n");
	p = plan_same(t.buf);
	cr_assert(p->nstep == 2 && calls(p) == 1);
	plan_free(p);
}

/* ---- Random ones ---- */

/* An array out of three stripes of others. */
static void put_stripes(struct text *t, unsigned out, unsigned before)
{
	unsigned axis = (unsigned)draw(0, 1);
	int64_t n = axis ? COLS : ROWS, a = draw(0, n), b = draw(a, n);
	const int64_t cut[4] = {0, a, b, n};

	put(t, "op CONCATENATE as int64 axes %u", 1u << axis);
	for (unsigned k = 0; k < 3; k++) {
		int64_t len = cut[k + 1] - cut[k], at = draw(0, n - len);
		unsigned v = (unsigned)draw(0, before - 1);

		put(t, " ");
		if (axis)
			put_view(t, v, 0, at, ROWS, len);
		else
			put_view(t, v, at, 0, len, COLS);
	}
	put(t, " -> v%u:int64[%d,%d]\n", out, ROWS, COLS);
}

/* Rolls, stripes and sums of what came before; the last is an output, others may be. */
static void put_random(struct text *t)
{
	unsigned n = 2 + (unsigned)draw(2, 12);

	put_value(t, 0, "input", "");
	put_value(t, 1, "input", "");
	for (unsigned v = 2; v < n; v++)
		put_value(t, v, v == n - 1 || !draw(0, 5) ? "output" : "temp", "");
	for (unsigned v = 2; v < n; v++) {
		unsigned axis = (unsigned)draw(0, 1);
		unsigned a = (unsigned)draw(v > 4 ? v - 4 : 0, v - 1);

		switch (draw(0, 3)) {
		case 0:
			put_roll(t, v, a, axis, draw(1, (axis ? COLS : ROWS) - 1));
			break;
		case 1:
			put_stripes(t, v, v);
			break;
		default:
			put_binary(t, draw(0, 1) ? "ADD" : "MULTIPLY", v, a, v - 1);
		}
	}
}

Test(split, random_partitions)
{
	unsigned fewer = 0;

	for (uint64_t k = 1; k <= 300; k++) {
		struct text t = {.len = 0};
		struct plan *p, *without;
		struct part part;
		struct err err;

		seed = k * 0x9e3779b97f4a7c15u;
		put_random(&t);
		p = plan_same(t.buf);
		part = part_text_read(t.buf);
		cr_assert_eq(compilepart_run(&without, &part,
					     "fuse,contract,simplify,share,collapse", NULL, NULL,
					     &err),
			     OK);
		fewer += temporaries(p) < temporaries(without);
		plan_free(without);
		plan_free(p);
		part_text_free(&part);
	}
	cr_assert_gt(fewer, 60, "only %u of them were split", fewer);
}
