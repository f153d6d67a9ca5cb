/* SPDX-License-Identifier: Apache-2.0 */
/* Scans: every loop against a plain one, in every cut, at every instruction set. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/textbuf.h"
#include "call/scan.h"

static const struct scan_isa *const isa[ISA_END] = {&scan_isa_v2, &scan_isa_v3, &scan_isa_v4};

static double combine(unsigned op, double a, double b)
{
	switch (op) {
	case OP_CUMSUM:
		return a + b;
	case OP_CUMPROD:
		return a * b;
	case OP_CUMMIN:
		return a < b || a != a ? a : b;
	default:
		return a > b || a != a ? a : b;
	}
}

/* One lane of float64 as scan.h says it. */
static void plain(double *to, const double *from, int64_t n, unsigned op)
{
	for (int64_t b = 0; b < n; b += SCAN_BLOCK) {
		int64_t end = n - b < SCAN_BLOCK ? n : b + SCAN_BLOCK;
		double last = from[b], offset = b ? to[b - 1] : 0;

		for (int64_t i = b; i < end; i++) {
			last = i > b ? combine(op, last, from[i]) : last;
			to[i] = b ? combine(op, offset, last) : last;
		}
	}
}

static double number(uint64_t *seed, unsigned op)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return op == OP_CUMPROD ? 1 + (double)(int64_t)*seed * 1e-22
				: (double)(int64_t)*seed * 1e-18;
}

/* `lanes` lanes of n elements: by rows, or side by side; gaps: every other element. */
struct problem {
	int64_t lanes, n;
	bool across;
	int64_t gaps;
	double *from, *to, *want;
	struct scan_call c;
};

static struct problem problem_create(enum isa_level level, unsigned op, int64_t lanes, int64_t n,
				     bool across, int64_t gaps)
{
	struct problem p = {.lanes = lanes, .n = n, .across = across, .gaps = gaps};
	int64_t count = lanes * n;
	double *lane = malloc((size_t)n * sizeof *lane), *made = malloc((size_t)n * sizeof *made);
	uint64_t seed = (uint64_t)count;

	p.from = malloc((size_t)(count * gaps) * sizeof *p.from);
	p.to = malloc((size_t)count * sizeof *p.to);
	p.want = malloc((size_t)count * sizeof *p.want);
	for (int64_t i = 0; i < count * gaps; i++)
		p.from[i] = number(&seed, op);
	if (op >= OP_CUMMIN)
		p.from[(count * gaps) / 2] = __builtin_nan("");
	p.c = (struct scan_call){.loops = scan_loops(isa[level], op, DT_FLOAT64),
				 .to = (char *)p.to,
				 .from = (const char *)p.from,
				 .lanes = {.n = n,
					   .axes = 1,
					   .extent = {lanes},
					   .to_step = across ? lanes * 8 : 8,
					   .to_lane = {across ? 8 : n * 8}}};
	p.c.lanes.from_step = p.c.lanes.to_step * gaps;
	p.c.lanes.from_lane[0] = p.c.lanes.to_lane[0] * gaps;
	for (int64_t l = 0; l < lanes; l++) {
		for (int64_t i = 0; i < n; i++)
			lane[i] = p.from[(across ? i * lanes + l : l * n + i) * gaps];
		plain(made, lane, n, op);
		for (int64_t i = 0; i < n; i++)
			p.want[across ? i * lanes + l : l * n + i] = made[i];
	}
	free(lane);
	free(made);
	return p;
}

static void problem_finish(struct problem *p)
{
	free(p->from);
	free(p->to);
	free(p->want);
}

/* NaNs by their being there: which one it is nobody promises. */
static void verify(const struct problem *p, const char *how)
{
	for (int64_t i = 0; i < p->lanes * p->n; i++)
		cr_assert(p->to[i] == p->want[i] ||
				  (p->to[i] != p->to[i] && p->want[i] != p->want[i]),
			  "%s: %lld lanes of %lld%s, gaps %lld: element %lld is %.17g, not %.17g",
			  how, (long long)p->lanes, (long long)p->n,
			  p->across ? " side by side" : "", (long long)p->gaps, (long long)i,
			  p->to[i], p->want[i]);
}

static void every_cut(struct problem *p)
{
	struct scan_cut cut;

	cr_assert(scan_cut(&cut, p->lanes, p->n));
	cr_assert_eq(cut.blocks, (p->n + SCAN_BLOCK - 1) / SCAN_BLOCK);
	for (int64_t step = 1; step <= cut.blocks; step = step * 3 + 1) {
		memset(p->to, 0x55, (size_t)(p->lanes * p->n) * sizeof *p->to);
		for (int64_t b = 0; b < cut.blocks; b += step)
			scan_whole(&p->c, 0, p->lanes, b,
				   b + step < cut.blocks ? b + step : cut.blocks);
		verify(p, "whole");
		memset(p->to, 0x55, (size_t)(p->lanes * p->n) * sizeof *p->to);
		for (int64_t b = cut.blocks; b-- > 0;) /* in any order */
			scan_local(&p->c, 0, p->lanes, b, b + 1);
		scan_join(&p->c, 0, p->lanes, 0, cut.blocks);
		for (int64_t b = cut.blocks; b-- > 0;)
			scan_spread(&p->c, 0, p->lanes, b, b + 1);
		verify(p, "in three steps");
	}
	/* Lanes in two parts. */
	memset(p->to, 0x55, (size_t)(p->lanes * p->n) * sizeof *p->to);
	scan_whole(&p->c, p->lanes / 3, p->lanes, 0, cut.blocks);
	scan_whole(&p->c, 0, p->lanes / 3, 0, cut.blocks);
	verify(p, "parts of the lanes");
}

Test(scan, every_layout_and_cut_at_every_level)
{
	static const int64_t shapes[][2] = {{1, 1},    {1, 9},	 {1, 1024}, {1, 1025},
					    {1, 9000}, {3, 17},	 {5, 1500}, {64, 8},
					    {7, 4097}, {300, 3}, {2, 2048}, {9, 1023}};

	for (int level = 0; level <= (int)isa_best(); level++)
		for (unsigned op = OP_CUMSUM; op <= OP_CUMMAX; op++)
			for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
				for (int way = 0; way < 4; way++) {
					struct problem p = problem_create(
						(enum isa_level)level, op, shapes[k][0],
						shapes[k][1], way & 1, 1 + (way >> 1));

					every_cut(&p);
					problem_finish(&p);
				}
}

Test(scan, in_place)
{
	struct problem p = problem_create(isa_best(), OP_CUMSUM, 5, 3000, false, 1);

	memcpy(p.to, p.from, (size_t)(p.lanes * p.n) * sizeof *p.to);
	p.c.from = p.c.to;
	scan_whole(&p.c, 0, p.lanes, 0, 3);
	verify(&p, "in place");
	problem_finish(&p);
}

/* Small integers wrap, booleans are any byte. */
Test(scan, of_other_types)
{
	int8_t small[3] = {100, 100, 100}, sums[3];
	uint8_t truth[4] = {0, 7, 0, 255}, any[4];
	struct scan_call c = {.loops = scan_loops(isa[isa_best()], OP_CUMSUM, DT_INT8),
			      .to = (char *)sums,
			      .from = (const char *)small,
			      .lanes = {.n = 3, .to_step = 1, .from_step = 1}};

	scan_whole(&c, 0, 1, 0, 1);
	cr_assert(sums[0] == 100 && sums[1] == -56 && sums[2] == 44);
	c.loops = scan_loops(isa[isa_best()], OP_CUMMAX, DT_BOOL);
	c.to = (char *)any;
	c.from = (const char *)truth;
	c.lanes.n = 4;
	scan_whole(&c, 0, 1, 0, 1);
	cr_assert(any[0] == 0 && any[1] == 1 && any[2] == 1 && any[3] == 1);
	for (unsigned op = OP_CUMSUM; op <= OP_CUMMAX; op++)
		for (unsigned d = 0; d < DTYPE_END; d++)
			cr_assert_eq(scan_has(op, d),
				     scan_loops(isa[isa_best()], op, d)->bytes ==
					     dtype_row(d)->bytes,
				     "%s of %s", op_text(op), dtype_row(d)->name);
}

static struct plan_call step(int64_t lanes, int64_t n)
{
	return (struct plan_call){.call = CALL_SCAN,
				  .dtype = DT_FLOAT64,
				  .nloop = 2,
				  .op = OP_CUMSUM,
				  .extent = {lanes, n},
				  .operand = {{.dtype = DT_FLOAT64, .stride = {n * 8, 8}},
					      {.dtype = DT_FLOAT64, .stride = {n * 8, 8}}}};
}

Test(scan, as_a_step)
{
	struct plan_call c = step(1000, 5000);
	struct call_units u;

	cr_assert_eq(call_check(&c, NULL), OK);
	call_row(CALL_SCAN)->units(&u, &c, false);
	cr_assert_gt(u.total, 1);
	cr_assert(!u.kept && u.grain == 1);
	cr_assert_eq(call_row(CALL_SCAN)->work(&c), 5000000);
	for (int mistake = 0; mistake < 5; mistake++) {
		c = step(1000, 5000);
		if (mistake == 0)
			c.op = OP_ADD;
		else if (mistake == 1)
			c.nloop = 0;
		else if (mistake == 2)
			c.operand[0].dtype = DT_INT64;
		else if (mistake == 3)
			c.dtype = DT_FLOAT16;
		else {
			c.extent[0] = c.extent[1] = INT64_MAX / 2;
			memset(c.operand[0].stride, 0, sizeof c.operand[0].stride);
			memset(c.operand[1].stride, 0, sizeof c.operand[1].stride);
		}
		cr_assert_eq(call_check(&c, NULL), E_INTERNAL, "mistake %d", mistake);
	}
}
