/* SPDX-License-Identifier: Apache-2.0 */
/* What the interpreter reads and writes where it lies: never what another instruction has
 * changed or is to see. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "worker/tier0.h"
#include "worker/tier0_layout.h"

enum { N = 1500, A = 0, B = 1, GUARD = 64 };

struct call {
	struct nest nest;
	double memory[3][N + GUARD];
	char *base[LIMIT_NEST_ACCESSES];
	int64_t extent[LIMIT_NDIM], stride[LIMIT_NEST_ACCESSES * LIMIT_NDIM];
	uint32_t cancel;
	struct bz_args args;
};

static struct call c;

static void setup(void)
{
	memset(&c, 0, sizeof c);
	c.nest.npar = 1;
	c.nest.width = 8;
	c.extent[0] = N;
	for (int m = 0; m < 3; m++)
		for (int i = 0; i < N + GUARD; i++)
			c.memory[m][i] = i * (m + 1) + m;
	c.args = (struct bz_args){
		.base = c.base, .extent = c.extent, .stride = c.stride, .cancel = &c.cancel};
}

TestSuite(tier0_layout, .init = setup);

static int access_to(int m, bool write, int64_t stride)
{
	int x = c.nest.naccess++;

	c.base[x] = (char *)c.memory[m];
	c.nest.access[x] = (struct nest_access){.dtype = DT_FLOAT64, .write = write};
	c.stride[x * LIMIT_NDIM] = stride;
	return x;
}

static int ins(unsigned op, int a, int b)
{
	c.nest.instr[c.nest.ninstr] = (struct nest_instr){.op = (uint16_t)op,
							  .dtype = DT_FLOAT64,
							  .ltype = DT_FLOAT64,
							  .a = (uint16_t)a,
							  .b = (uint16_t)b};
	return c.nest.ninstr++;
}

static int load(int m)
{
	return ins(NI_LOAD, access_to(m, false, 8), 0);
}

static int store(int m, int value)
{
	return ins(NI_STORE, access_to(m, true, 8), value);
}

static struct tier0_layout layout(void)
{
	struct tier0_layout lay;

	tier0_layout_init(&lay, &c.nest);
	return lay;
}

static void run(void)
{
	struct err err;
	void *scratch;

	c.nest.post = c.nest.ninstr;
	cr_assert_eq(tier0_check(&c.nest, &err), OK, "%s", err.text);
	scratch = malloc(tier0_scratch(&c.nest));
	tier0_map_at(isa_best(), &c.nest, &c.args, 0, N, scratch);
	free(scratch);
	for (int m = 0; m < 3; m++)
		for (int i = N; i < N + GUARD; i++)
			cr_assert_eq(c.memory[m][i], i * (m + 1) + m, "written behind array %d", m);
}

static double was(int m, int i)
{
	return i * (m + 1) + m;
}

static void run_square_and_twice(void)
{
	run();
	for (int i = 0; i < N; i++) {
		cr_assert_eq(c.memory[A][i], was(A, i) * was(A, i));
		cr_assert_eq(c.memory[B][i], 2 * was(A, i));
	}
}

/* c = a + b */
Test(tier0_layout, a_plain_map_needs_no_copies)
{
	int a = load(A), b = load(B), sum = ins(OP_ADD, a, b), to = store(2, sum);
	struct tier0_layout lay = layout();

	cr_assert(lay.lend[a]);
	cr_assert(lay.lend[b]);
	cr_assert_eq(lay.into[sum], to + 1);
	run();
	for (int i = 0; i < N; i++)
		cr_assert_eq(c.memory[2][i], was(A, i) + was(B, i));
}

/* a, b = b, a */
Test(tier0_layout, a_value_that_is_stored_after_its_memory_was_overwritten_is_copied)
{
	int a = load(A), b = load(B);

	store(A, b);
	store(B, a);
	struct tier0_layout lay = layout();

	cr_assert_not(lay.lend[a]);
	cr_assert(lay.lend[b], "it is read before");
	run();
	for (int i = 0; i < N; i++) {
		cr_assert_eq(c.memory[A][i], was(B, i));
		cr_assert_eq(c.memory[B][i], was(A, i));
	}
}

/* a, b = a * a, a + a, computed before either is stored */
Test(tier0_layout, what_is_read_later_is_not_written_before)
{
	int a = load(A), square = ins(OP_MULTIPLY, a, a), twice = ins(OP_ADD, a, a);

	store(A, square);
	store(B, twice);
	struct tier0_layout lay = layout();

	cr_assert_eq(lay.into[square], 0, "the sum reads a after it");
	cr_assert_eq(lay.into[twice], 0, "a store comes between");
	run_square_and_twice();
}

/* a = a * a; b = loaded after that */
Test(tier0_layout, a_later_load_sees_what_was_stored)
{
	int a = load(A), square = ins(OP_MULTIPLY, a, a);

	store(A, square);
	int again = load(A), sum = ins(OP_ADD, again, a);

	store(B, sum);
	struct tier0_layout lay = layout();

	cr_assert_not(lay.lend[a], "read after the store");
	cr_assert_not(lay.lend[again], "the first store comes before it");
	run();
	for (int i = 0; i < N; i++) {
		cr_assert_eq(c.memory[A][i], was(A, i) * was(A, i));
		cr_assert_eq(c.memory[B][i], was(A, i) * was(A, i) + was(A, i));
	}
}

/* b = loaded between the product and its store; a = product */
Test(tier0_layout, a_load_before_the_store_sees_the_old_value)
{
	int a = load(A), square = ins(OP_MULTIPLY, a, a), old = load(A);
	int sum = ins(OP_ADD, old, old);

	store(A, square);
	store(B, sum);
	struct tier0_layout lay = layout();

	cr_assert_eq(lay.into[square], 0);
	run_square_and_twice();
}

/* b = c = a + a */
Test(tier0_layout, a_value_for_two_stores_lies_in_its_register)
{
	int a = load(A), sum = ins(OP_ADD, a, a);

	store(B, sum);
	store(2, sum);
	cr_assert_eq(layout().into[sum], 0);
	run();
	for (int i = 0; i < N; i++)
		cr_assert(c.memory[B][i] == 2 * was(A, i) && c.memory[2][i] == 2 * was(A, i));
}

/* a = a + a */
Test(tier0_layout, in_place)
{
	int a = load(A), sum = ins(OP_ADD, a, a), to = store(A, sum);
	struct tier0_layout lay = layout();

	cr_assert(lay.lend[a]);
	cr_assert_eq(lay.into[sum], to + 1);
	run();
	for (int i = 0; i < N; i++)
		cr_assert_eq(c.memory[A][i], 2 * was(A, i));
}

/* What another process can change under a check is copied before it. */
Test(tier0_layout, places_and_bools_are_copied)
{
	int a = load(A), flag = load(B), index = ins(OP_INDEX, a, a);

	c.nest.instr[flag].dtype = DT_BOOL;
	store(2, index);
	struct tier0_layout lay = layout();

	cr_assert_not(lay.lend[a]);
	cr_assert_not(lay.lend[flag]);
	cr_assert_eq(lay.into[index], 0);
}
