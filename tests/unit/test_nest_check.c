/* SPDX-License-Identifier: Apache-2.0 */
#include "form/nest.h"

#include <criterion/criterion.h>
#include <string.h>

/* par 4 red 3: s1[i] = sum_j s0[i, j]. */
static struct nest row_sum(void)
{
	struct nest n = {.npar = 1, .nred = 1, .vec = 1, .width = 8, .naccess = 2, .ninstr = 3};

	n.extent[0] = 4;
	n.extent[1] = 3;
	n.post = 2;
	n.access[0] = (struct nest_access){
		.slot = 0, .dtype = DT_FLOAT64, .walk = WALK_UNIT, .stride = {24, 8}};
	n.access[1] = (struct nest_access){
		.slot = 1, .dtype = DT_FLOAT64, .write = 1, .walk = WALK_SAME, .stride = {8, 0}};
	n.instr[0] = (struct nest_instr){NI_LOAD, DT_FLOAT64, DT_FLOAT64, 0, 0, 0};
	n.instr[1] = (struct nest_instr){NI_REDUCE, DT_FLOAT64, DT_FLOAT64, 0, 0, OP_SUM};
	n.instr[2] = (struct nest_instr){NI_STORE, DT_FLOAT64, DT_FLOAT64, 1, 1, 0};
	return n;
}

static void refused(const struct nest *n, const char *word)
{
	struct err err = {0};

	cr_assert_eq(nest_check(n, &err), E_INTERNAL, "%s was accepted", word);
	cr_assert(strstr(err.text, word), "\"%s\" lacks \"%s\"", err.text, word);
}

Test(nest_check, accepts_a_row_sum_and_prints_it)
{
	struct nest n = row_sum();
	struct err err;
	char text[512];

	cr_assert_eq(nest_check(&n, &err), OK);
	nest_print(text, sizeof text, &n, false);
	cr_assert_str_eq(text, "par 4 red 3 vec 1 width 8\n"
			       "@0 s0 read float64 unit +0 [24 8]\n"
			       "@1 s1 write float64 same +0 [8 0]\n"
			       "%0 = load.f64 @0\n"
			       "%1 = reduce.sum.f64>f64 %0\n"
			       "post\n"
			       "store.f64 @1 %1\n");
	cr_assert_eq(nest_print(NULL, 0, &n, false), strlen(text));
	nest_print(text, sizeof text, &n, true);
	cr_assert_null(strstr(text, "24"), "a canonical kernel shows no strides");
}

Test(nest_check, refuses_what_breaks_a_rule)
{
	struct nest n = row_sum();

	n.vec = 2;
	refused(&n, "vec");
	n = row_sum();
	n.width = 4;
	refused(&n, "width");
	n = row_sum();
	n.width = 16;
	refused(&n, "for width 16");
	n = row_sum();
	n.extent[0] = -1;
	refused(&n, "negative");
	n = row_sum();
	n.access[0].walk = WALK_SAME;
	refused(&n, "walk");
	n = row_sum();
	n.access[1].stride[0] = 0;
	refused(&n, "one place");
	n = row_sum();
	n.instr[2].b = 0;
	refused(&n, "across the reduction");
	n = row_sum();
	n.instr[1].a = 1;
	refused(&n, "no earlier value");
	n = row_sum();
	n.instr[0].dtype = DT_FLOAT32;
	refused(&n, "does not fit access");
	n = row_sum();
	n.instr[1].c = OP_ADD;
	refused(&n, "no reduction");
	n = row_sum();
	n.instr[1].ltype = DT_FLOAT32; /* a sum of singles is no double */
	refused(&n, "does not give type");
	n = row_sum(); /* halves are summed as singles */
	n.access[0].dtype = n.access[1].dtype = DT_FLOAT16;
	n.access[0].stride[1] = 2;
	for (unsigned k = 0; k < n.ninstr; k++)
		n.instr[k].dtype = n.instr[k].ltype = DT_FLOAT16;
	refused(&n, "reduces float16");
	n = row_sum();
	n.post = 4;
	refused(&n, "post");
	n = row_sum();
	n.access[1].stride[1] = 8;
	n.access[1].walk = WALK_UNIT;
	refused(&n, "moves along reduced");
	n = row_sum();
	n.naccess = LIMIT_NEST_ACCESSES + 1;
	refused(&n, "accesses");
}

/* The interpreter writes what the operation gives, whatever the instruction claims. */
Test(nest_check, comparison_gives_bool_and_no_number)
{
	struct nest n = row_sum();

	n.ninstr = 4;
	n.post = 3;
	n.instr[3] = n.instr[2];
	n.instr[3].b = 2;
	n.instr[2] = n.instr[1];
	n.instr[2].a = 1;
	n.instr[1] = (struct nest_instr){OP_EQUAL, DT_FLOAT64, DT_FLOAT64, 0, 0, 0};
	refused(&n, "EQUAL");
}

/* par 4: s2[i] = s1[index(s0[i], #0)], of 10 elements. */
static struct nest gather(void)
{
	struct nest n = {.npar = 1, .width = 8, .naccess = 3, .ninstr = 5, .post = 5, .nscalar = 1};

	n.extent[0] = 4;
	n.scalar_dtype[0] = DT_INT64;
	n.access[0] = (struct nest_access){
		.slot = 0, .dtype = DT_INT64, .walk = WALK_UNIT, .stride = {8}};
	n.access[1] = (struct nest_access){.slot = 1,
					   .dtype = DT_FLOAT64,
					   .walk = WALK_SAME,
					   .gather = 1,
					   .gextent = 10,
					   .gstride = 8};
	n.access[2] = (struct nest_access){
		.slot = 2, .dtype = DT_FLOAT64, .write = 1, .walk = WALK_UNIT, .stride = {8}};
	n.instr[0] = (struct nest_instr){NI_LOAD, DT_INT64, DT_INT64, 0, 0, 0};
	n.instr[1] = (struct nest_instr){NI_SCALAR, DT_INT64, DT_INT64, 0, 0, 0};
	n.instr[2] = (struct nest_instr){OP_INDEX, DT_INT64, DT_INT64, 0, 1, 0};
	n.instr[3] = (struct nest_instr){NI_GATHER, DT_FLOAT64, DT_FLOAT64, 1, 2, 0};
	n.instr[4] = (struct nest_instr){NI_STORE, DT_FLOAT64, DT_FLOAT64, 2, 3, 0};
	return n;
}

Test(nest_check, accepts_a_gather_and_prints_it)
{
	struct nest n = gather();
	struct err err;
	char text[512];

	cr_assert_eq(nest_check(&n, &err), OK, "%s", err.text);
	nest_print(text, sizeof text, &n, false);
	cr_assert_str_eq(text, "par 4 vec 0 width 8\n"
			       "@0 s0 read int64 unit +0 [8]\n"
			       "@1 s1 gather float64 same +0 [0] 10:8\n"
			       "@2 s2 write float64 unit +0 [8]\n"
			       "%0 = load.i64 @0\n"
			       "%1 = scalar.i64 #0=imm0\n"
			       "%2 = index.i64 %0 %1 !0\n"
			       "%3 = gather.f64 @1 %2\n"
			       "store.f64 @2 %3\n");
	nest_print(text, sizeof text, &n, true);
	cr_assert_null(strstr(text, "10:8"), "a canonical kernel shows no extent of a gather");
}

Test(nest_check, refuses_gathers_that_break_a_rule)
{
	struct nest n = gather();

	n.access[2].slot = 1;
	refused(&n, "gathers"); /* it would write what it reads anywhere */
	n.access[2].offset = 72;
	refused(&n, "gathers");
	n.access[1].gstride = -8;
	n.access[2].offset = -72;
	refused(&n, "gathers");
	n = gather();
	n.access[1].gextent = 0;
	refused(&n, "access 1: gather");
	n = gather();
	n.access[0].gstride = 8;
	refused(&n, "access 0: gather");
	n = gather();
	n.access[2].gather = 1;
	refused(&n, "access 2: gather");
	n = gather();
	n.instr[3].op = NI_LOAD;
	refused(&n, "does not fit access 1");
	n = gather();
	n.instr[0].op = NI_GATHER;
	refused(&n, "does not fit access 0");
	n = gather();
	n.instr[3].b = 3;
	refused(&n, "no earlier value");
	n = gather();
	n.instr[2].c = 1;
	refused(&n, "check 1");
	n = gather();
	n.instr[2].b = 0;
	refused(&n, "index");
}

Test(nest_check, refuses_what_is_no_instruction)
{
	static const uint16_t none[] = {0,	   OP_ASSIGN,  OP_ARANGE, OP_SUM,    OP_TAKE,
					OP_MATMUL, OP_END - 1, NI_END,	  UINT16_MAX};

	for (unsigned k = 0; k < sizeof none / sizeof none[0]; k++) {
		struct nest n = gather();

		n.instr[2].op = none[k];
		refused(&n, "no instruction");
	}
}

/* A sum of indices that is added to a scalar and stored. */
static struct nest of_many_operands(void)
{
	struct nest n = row_sum();

	n.nscalar = 1;
	n.scalar_dtype[0] = DT_INT64;
	n.access[1].dtype = DT_INT64;
	n.instr[0] = (struct nest_instr){NI_INDEX, DT_INT64, DT_INT64, 1, 0, 0};
	n.instr[1] = (struct nest_instr){NI_REDUCE, DT_INT64, DT_INT64, 0, 0, OP_SUM};
	n.instr[2] = (struct nest_instr){NI_SCALAR, DT_INT64, DT_INT64, 0, 0, 0};
	n.instr[3] = (struct nest_instr){OP_ADD, DT_INT64, DT_INT64, 1, 2, 0};
	n.instr[4] = (struct nest_instr){NI_STORE, DT_INT64, DT_INT64, 1, 3, 0};
	n.ninstr = 5;
	return n;
}

Test(nest_check, refuses_operands_that_are_not_what_the_table_says)
{
	struct nest n = of_many_operands();
	struct err err;

	cr_assert_eq(nest_check(&n, &err), OK, "%s", err.text);
	n.instr[0].a = 2; /* of two loops */
	refused(&n, "loop 2");
	n = of_many_operands();
	n.instr[2].a = 1;
	refused(&n, "scalar 1");
	n = of_many_operands();
	n.instr[4].a = 2;
	refused(&n, "access 2");
	n = of_many_operands();
	n.instr[4].a = 0; /* which is read */
	refused(&n, "access 0");
	n = of_many_operands();
	n.instr[3].b = 3; /* itself */
	refused(&n, "no earlier value");
	n = of_many_operands();
	n.instr[3].b = UINT16_MAX;
	refused(&n, "no earlier value");
	n = of_many_operands();
	n.instr[1].c = UINT16_MAX;
	refused(&n, "no reduction");
	n = of_many_operands();
	n.scalar_dtype[0] = DT_FLOAT64;
	refused(&n, "scalar 0");
	n = of_many_operands();
	n.instr[0].dtype = DT_FLOAT64;
	refused(&n, "loop 1");
}

Test(nest_check, refuses_the_result_of_what_has_none)
{
	struct nest n = gather();

	n.ninstr = n.post = 6;
	n.instr[5] = n.instr[4];
	n.instr[5].b = 4; /* a store */
	refused(&n, "no earlier value");
}

/* Each section has values of its own, and nothing goes from one to the next but results of
 * reductions. */
Test(nest_check, refuses_values_of_another_section)
{
	struct nest n = of_many_operands();

	n.instr[3].a = 0; /* of the body */
	refused(&n, "across the reduction");
	n = of_many_operands();
	n.post = 3; /* the scalar, too */
	refused(&n, "across the reduction");
	n = of_many_operands();
	n.post = 4;
	refused(&n, "across the reduction");
	n = of_many_operands();
	n.post = 1;
	refused(&n, "misplaced");
	n = of_many_operands();
	n.instr[2] = n.instr[0]; /* what stands still has no index */
	refused(&n, "loop 1");
	n = of_many_operands();
	n.nred = 0;
	n.npar = 2;
	n.post = n.ninstr;
	n.access[1].stride[0] = 24;
	n.access[1].stride[1] = 8;
	n.access[1].walk = WALK_UNIT;
	refused(&n, "misplaced");
}

/* s1[i] = max_j s0[i, j], then s2[i, j] = s0[i, j] - s1[i]. */
static struct nest below_best(void)
{
	struct nest n = row_sum();

	n.naccess = 3;
	n.access[2] = (struct nest_access){
		.slot = 2, .dtype = DT_FLOAT64, .write = 1, .walk = WALK_UNIT, .stride = {24, 8}};
	n.ninstr = 6;
	n.nmore = 1;
	n.more[0] = 3;
	n.instr[1].c = OP_MAX;
	n.instr[3] = n.instr[0];
	n.instr[4] = (struct nest_instr){OP_SUBTRACT, DT_FLOAT64, DT_FLOAT64, 3, 1, 0};
	n.instr[5] = (struct nest_instr){NI_STORE, DT_FLOAT64, DT_FLOAT64, 2, 4, 0};
	return n;
}

Test(nest_check, phases)
{
	struct nest n = below_best();
	struct err err;
	char text[512];

	cr_assert_eq(nest_check(&n, &err), OK, "%s", err.text);
	nest_print(text, sizeof text, &n, true);
	cr_assert(strstr(text, "post\nstore.f64 @1 %1\nphase\n%3 = load.f64 @0\n"), "%s", text);
	n.instr[4].a = 0; /* of the first section */
	refused(&n, "across the reduction");
	n = below_best();
	n.more[0] = 1;
	refused(&n, "section 2 begins at instr 1");
	n = below_best();
	n.more[0] = 7;
	refused(&n, "section 2 begins at instr 7");
	n = below_best();
	n.nmore = LIMIT_NEST_SECTIONS - 1;
	refused(&n, "7 phases");
	n = below_best();
	n.extent[1] = TREE_CHUNK;
	cr_assert_eq(nest_check(&n, &err), OK, "%s", err.text);
	n.extent[1]++;
	refused(&n, "65537 reduced points");
	n = below_best();
	n.npar = 2;
	n.nred = 0;
	n.post = 6;
	n.more[0] = 6;
	refused(&n, "1 phases, 0 reduced loops");
	/* What is computed once per parallel point is handed on; a reduction in phase 1 is not
	 * there before. */
	n = below_best();
	n.instr[2] = (struct nest_instr){OP_NEGATIVE, DT_FLOAT64, DT_FLOAT64, 1, 0, 0};
	n.instr[4].b = 2;
	n.naccess = 3;
	cr_assert_eq(nest_check(&n, &err), OK, "%s", err.text);
	n = below_best();
	n.instr[4] = (struct nest_instr){NI_REDUCE, DT_FLOAT64, DT_FLOAT64, 3, 0, OP_SUM};
	refused(&n, "across the reduction"); /* the store uses it in its own section */
}

Test(nest_check, a_gather_beside_a_write_of_the_same_slot_is_allowed)
{
	struct nest n = gather();
	struct err err;

	n.access[2].slot = 1;
	n.access[2].offset = 80;
	cr_assert_eq(nest_check(&n, &err), OK, "%s", err.text);
}
