/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a run packet: lengths, slices, what accesses reach. */
#include <criterion/criterion.h>
#include <string.h>

#include "product_step.h"
#include "worker/steps.h"

/* A step of one access over extent[2], one reduced. */
struct one {
	struct command_step s;
	struct command_place place;
	int64_t extent[2], stride[8];
};

static struct one one(int64_t points, int64_t reduced, int64_t lo, int64_t hi, uint8_t split)
{
	return (struct one){.s = {.bytes = sizeof(struct one),
				  .kind = STEP_KERNEL,
				  .split = split,
				  .naccess = 1,
				  .npar = 1,
				  .nred = 1,
				  .lo = lo,
				  .hi = hi},
			    .extent = {points, reduced},
			    .stride = {-80, 8}};
}

Test(steps, lengths)
{
	struct one o = one(3, 4, 0, 3, 0);
	const struct command_step *s = NULL;
	const char *at = (const char *)&o;

	cr_assert_eq(steps_next(&s, at, at + sizeof o, 0, NULL), OK);
	cr_assert_eq(s, &o.s);
	cr_assert_eq(steps_operands(s).stride, o.stride);
	for (size_t n = 0; n < sizeof o; n += 8)
		cr_assert_eq(steps_next(&s, at, at + n, 0, NULL), E_INTERNAL);
	for (uint32_t bytes = 0; bytes < sizeof o; bytes++) {
		o.s.bytes = bytes;
		cr_assert_eq(steps_next(&s, at, at + sizeof o, 0, NULL), E_INTERNAL);
	}
	o.s.bytes = sizeof o;
	o.s.nscalar = 1;
	cr_assert_eq(steps_next(&s, at, at + sizeof o, 0, NULL), E_INTERNAL);
	o.s.nscalar = 0;
	o.s.npar = LIMIT_NDIM;
	cr_assert_eq(steps_next(&s, at, at + sizeof o, 0, NULL), E_INTERNAL);
	o.s = (struct command_step){.bytes = sizeof o, .kind = STEP_COPY};
	cr_assert_eq(steps_next(&s, at, at + sizeof o, 0, NULL), OK);
	cr_assert_eq(steps_places(s), 2);
	o.s = (struct command_step){.bytes = sizeof o.s, .kind = STEP_CALL};
	cr_assert_eq(steps_next(&s, at, at + sizeof o, 0, NULL), E_INTERNAL);
}

Test(steps, of_a_library_step)
{
	struct {
		struct command_step s;
		struct command_place place[3];
		struct plan_call call;
	} o = {.s = {.bytes = sizeof o, .kind = STEP_CALL, .naccess = 3}};
	const struct command_step *s = NULL;
	const char *at = (const char *)&o;
	struct plan_call call;

	o.call = product_step(&(struct product){.dtype = DT_INT32, .m = 2, .n = 3, .k = 4});
	cr_assert_eq(steps_next(&s, at, at + sizeof o, 0, NULL), OK);
	cr_assert_eq(steps_places(s), 3);
	cr_assert_eq(steps_call(&call, s, NULL), OK);
	cr_assert_eq(memcmp(&call, &o.call, sizeof call), 0);
	cr_assert_eq(steps_next(&s, at, at + sizeof o - 8, 0, NULL), E_INTERNAL);
	o.call.extent[1] = -1;
	cr_assert_eq(steps_call(&call, s, NULL), E_INTERNAL);
	/* A list that is longer than any, and one of another length than the call says. */
	o.s.naccess = CALL_OPERANDS + 1;
	cr_assert_eq(steps_call(&call, s, NULL), E_INTERNAL);
	o.s.naccess = 3;
	o.call.extent[1] = 3;
	o.call.call = CALL_JOIN;
	o.call.noperand = 2;
	cr_assert_eq(steps_call(&call, s, NULL), E_INTERNAL);
	/* Operands that the call has not. */
	o.call.extent[1] = 3;
	o.call.call = CALL_SCAN;
	o.call.op = OP_CUMSUM;
	cr_assert_eq(steps_call(&call, s, NULL), E_INTERNAL);
}

Test(steps, fetches)
{
	struct command_fetch f[9] = {0};
	const struct command_fetch *out = NULL;
	const char *at = (const char *)f;

	f[0].bytes = LIMIT_INLINE_BYTES;
	cr_assert_eq(steps_fetches(&out, at, at + 8 * sizeof *f, 8, NULL), OK);
	cr_assert_eq(out, f);
	cr_assert_eq(steps_fetches(&out, at, at + 9 * sizeof *f, 9, NULL), E_INTERNAL);
	cr_assert_eq(steps_fetches(&out, at, at + 7 * sizeof *f, 8, NULL), E_INTERNAL);
	f[0].bytes++;
	cr_assert_eq(steps_fetches(&out, at, at + 8 * sizeof *f, 8, NULL), E_INTERNAL);
}

Test(steps, slices)
{
	struct steps_slice c;
	struct one o = one(10, 3 * TREE_CHUNK + 1, 2, 7, 0);

	cr_assert_eq(steps_slice(&c, &o.s, NULL), OK);
	cr_assert(c.lo == 2 && c.hi == 7 && c.clo == 0 && c.chi == 4 && c.chunks == 4);
	cr_assert_eq(c.elements, 5 * (3 * TREE_CHUNK + 1));
	o = one(10, 3 * TREE_CHUNK + 1, 1, 3, 4);
	cr_assert_eq(steps_slice(&c, &o.s, NULL), OK);
	cr_assert(c.lo == 0 && c.hi == 10 && c.clo == 1 && c.chi == 3);
	o.s.plo = 4; /* of a group of points only */
	o.s.phi = 6;
	cr_assert_eq(steps_slice(&c, &o.s, NULL), OK);
	cr_assert(c.lo == 4 && c.hi == 6 && c.clo == 1 && c.chi == 3);
	cr_assert_eq(c.elements, 2 * 2 * TREE_CHUNK);
	o.s.phi = 11;
	cr_assert_eq(steps_slice(&c, &o.s, NULL), E_INTERNAL);
	o.s.phi = 3;
	cr_assert_eq(steps_slice(&c, &o.s, NULL), E_INTERNAL);
	o.s.plo = -1;
	cr_assert_eq(steps_slice(&c, &o.s, NULL), E_INTERNAL);
	o = one(10, 5, 0, 11, 0);
	cr_assert_eq(steps_slice(&c, &o.s, NULL), E_INTERNAL);
	o = one(10, 5, 0, 2, 1);
	cr_assert_eq(steps_slice(&c, &o.s, NULL), E_INTERNAL);
	o = one(10, 5, -1, 2, 0);
	cr_assert_eq(steps_slice(&c, &o.s, NULL), E_INTERNAL);
	o = one(1ll << 40, 1ll << 40, 0, 1ll << 40, 0);
	cr_assert_eq(steps_slice(&c, &o.s, NULL), E_INTERNAL);
}

/* Phases need all reduced points in one place. */
Test(steps, phases_fit_one_chunk)
{
	static struct nest n = {.npar = 1, .nred = 1, .naccess = 1, .nmore = 1};
	struct one o = one(10, TREE_CHUNK, 0, 10, 0);

	cr_assert(steps_fit(&o.s, &n));
	o = one(10, TREE_CHUNK + 1, 0, 10, 0);
	cr_assert_not(steps_fit(&o.s, &n));
	o = one(10, -1, 0, 10, 0);
	cr_assert_not(steps_fit(&o.s, &n));
	o = one(10, TREE_CHUNK, 0, 1, 1);
	cr_assert_not(steps_fit(&o.s, &n));
	n.nmore = 0;
	cr_assert(steps_fit(&o.s, &n));
}

Test(steps, reach)
{
	static struct nest n = {.npar = 1, .nred = 1, .naccess = 1};
	struct one o = one(10, 5, 0, 10, 0);
	int64_t lo = 1, hi = 1;

	n.access[0].dtype = DT_FLOAT64;
	cr_assert_eq(steps_reach(&lo, &hi, &o.s, &n, 0, NULL), OK);
	cr_assert(lo == -720 && hi == 40, "%ld %ld", (long)lo, (long)hi);
	o.extent[1] = 0;
	cr_assert_eq(steps_reach(&lo, &hi, &o.s, &n, 0, NULL), OK);
	cr_assert(lo == 0 && hi == 0);
	o.extent[1] = 5;
	o.stride[1] = INT64_MAX / 2;
	cr_assert_eq(steps_reach(&lo, &hi, &o.s, &n, 0, NULL), E_INTERNAL);
}

/* What is written behind a reduction is written, over how little it goes; what it reads is not. */
Test(steps, reach_behind_a_reduction_over_nothing)
{
	static struct nest n = {.npar = 1, .nred = 1, .naccess = 2, .ninstr = 3, .post = 2};
	struct {
		struct command_step s;
		struct command_place place[2];
		int64_t extent[2], stride[2][8];
	} o = {.s = {.kind = STEP_KERNEL, .naccess = 2, .npar = 1, .nred = 1},
	       .extent = {10, 0},
	       .stride = {{0, 8}, {8}}};
	int64_t lo = 1, hi = 1;

	n.access[0].dtype = n.access[1].dtype = DT_FLOAT64;
	n.instr[0] = (struct nest_instr){.op = NI_LOAD, .a = 0};
	n.instr[1] = (struct nest_instr){.op = NI_REDUCE, .c = OP_SUM};
	n.instr[2] = (struct nest_instr){.op = NI_STORE, .a = 1, .b = 1};
	cr_assert_eq(steps_reach(&lo, &hi, &o.s, &n, 0, NULL), OK);
	cr_assert(lo == 0 && hi == 0);
	cr_assert_eq(steps_reach(&lo, &hi, &o.s, &n, 1, NULL), OK);
	cr_assert(lo == 0 && hi == 80, "%ld %ld", (long)lo, (long)hi);
	o.extent[0] = 0;
	cr_assert_eq(steps_reach(&lo, &hi, &o.s, &n, 1, NULL), OK);
	cr_assert(lo == 0 && hi == 0);
}

/* What is gathered may lie in any of the gather's steps. */
Test(steps, reach_of_a_gather)
{
	static struct nest n = {.npar = 1, .naccess = 1};
	struct {
		struct command_step s;
		struct command_place place;
		int64_t extent[1], stride[8], gather[2];
	} o = {.s = {.kind = STEP_KERNEL, .naccess = 1, .npar = 1, .ngather = 1},
	       .extent = {10},
	       .stride = {8},
	       .gather = {100, -16}};
	int64_t lo = 1, hi = 1;

	n.access[0] = (struct nest_access){.dtype = DT_FLOAT64, .gather = 1};
	cr_assert(steps_fit(&o.s, &n));
	cr_assert_eq(steps_reach(&lo, &hi, &o.s, &n, 0, NULL), OK);
	cr_assert(lo == -99 * 16 && hi == 80, "%ld %ld", (long)lo, (long)hi);
	o.gather[0] = 0;
	cr_assert_eq(steps_reach(&lo, &hi, &o.s, &n, 0, NULL), E_INTERNAL);
	o.gather[0] = INT64_MAX;
	cr_assert_eq(steps_reach(&lo, &hi, &o.s, &n, 0, NULL), E_INTERNAL);
	o.s.ngather = 0;
	cr_assert_not(steps_fit(&o.s, &n));
}

/* A loop of one step of one access, whose first extent is a size. */
struct sized {
	struct command_loop l;
	struct command_place place;
	struct command_patch patch;
	int64_t size[3];
	uint8_t loop[LIMIT_NDIM];
	struct one step;
};

static struct sized sized(void)
{
	return (struct sized){.l = {.bytes = sizeof(struct sized),
				    .kind = STEP_LOOP,
				    .turns = 3,
				    .nstep = 1,
				    .nslot = 1,
				    .nplace = 1,
				    .nrow = 1,
				    .npatch = 1,
				    .nsize = 1},
			      .size = {9, 8, 7},
			      .loop = {1},
			      .step = one(9, 4, 0, 9, 0)};
}

static enum status take_apart(struct steps_loop *out, const struct sized *s)
{
	return steps_loop(out, (const char *)s, (const char *)(s + 1), NULL);
}

Test(steps, of_a_loop_with_sizes)
{
	struct sized s = sized();
	struct steps_loop l;

	cr_assert_eq(take_apart(&l, &s), OK);
	cr_assert_eq(l.size[2], 7);
	cr_assert_eq(l.loops[0], 1);
	cr_assert_eq(l.step, (const char *)&s.step);
	s.loop[3] = 2;
	cr_assert_eq(take_apart(&l, &s), E_INTERNAL);
	s = sized();
	s.step.s.split = 1;
	cr_assert_eq(take_apart(&l, &s), E_INTERNAL);
	for (uint32_t turns = 4; turns; turns *= 2) {
		s = sized();
		s.l.turns = turns;
		cr_assert_eq(take_apart(&l, &s), E_INTERNAL);
	}
	s = sized();
	s.l.nsize = UINT32_MAX;
	cr_assert_eq(take_apart(&l, &s), E_INTERNAL);
	s = sized();
	s.l.nstep = UINT32_MAX;
	cr_assert_eq(take_apart(&l, &s), E_INTERNAL);
}

Test(steps, whole_whatever_their_number)
{
	struct one o = one(7, 4, 0, 9, 0);
	struct steps_slice slice;

	cr_assert_eq(steps_slice(&slice, &o.s, NULL), E_INTERNAL);
	o.s.whole = 1;
	cr_assert_eq(steps_slice(&slice, &o.s, NULL), OK);
	cr_assert_eq(slice.hi, 7);
	cr_assert_eq(slice.elements, 28);
	o.s.split = 3;
	cr_assert_eq(steps_slice(&slice, &o.s, NULL), E_INTERNAL);
}
