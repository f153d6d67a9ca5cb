/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's kernel table: what it takes, what it refuses, which tier it calls. */
#include <criterion/criterion.h>
#include <string.h>

#include "worker/kernels.h"

static int loaded; /* objects that are loaded now */
static int called; /* 0 interpreted, 1 native */

static void interpret(const struct nest *n, const void *prepared, const struct bz_args *a,
		      int64_t lo, int64_t hi, void *scratch)
{
	called = 0;
}

static void native(const struct bz_args *a, int64_t lo, int64_t hi)
{
	called = 1;
}

static void interpret_sums(const struct nest *n, const void *prepared, const struct bz_args *a,
			   int64_t lo, int64_t hi, int64_t clo, int64_t chi, struct bz_acc *part,
			   void *scratch)
{
	called = 0;
}

static void native_sums(const struct bz_args *a, int64_t lo, int64_t hi, int64_t clo, int64_t chi,
			struct bz_acc *part)
{
	called = 1;
}

/* Here of nests of an even number of instructions. */
static bool quicker(const struct nest *n, const void *prepared, const struct bz_args *a)
{
	return n->ninstr % 2 == 0;
}

static size_t scratch_of(const struct nest *n)
{
	return n->ninstr * 64u;
}

static enum status check(const struct nest *n, struct err *err)
{
	return n->instr[0].op == OP_MATMUL ? err_set(err, E_UNSUPPORTED, "no loop") : OK;
}

/* Descriptor 1 has a map function, 2 has none, others do not load. */
static enum status load(struct kernel_code *out, int fd, const struct nest *spec, struct err *err)
{
	if (fd > 2)
		return err_set(err, E_COMPILE, "no object");
	loaded++;
	*out = (struct kernel_code){
		.map = fd == 1 ? native : NULL, .reduce = native_sums, .handle = &loaded};
	return OK;
}

static void unload(struct kernel_code *code)
{
	loaded--;
}

static const struct kernel_ops ops = {.check = check,
				      .map = interpret,
				      .reduce = interpret_sums,
				      .quicker = quicker,
				      .scratch = scratch_of,
				      .load = load,
				      .unload = unload};

static struct nest nest_of(int ninstr)
{
	struct nest n = {.npar = 1, .naccess = 2, .ninstr = (uint16_t)ninstr};

	for (int i = 0; i < ninstr; i++)
		n.instr[i].op = i == 2 ? NI_REDUCE : OP_ADD;
	return n;
}

Test(kernels, found_by_id_in_any_order)
{
	static const uint32_t ids[] = {5, 1, 900, 7, 2};
	struct kernels k;

	kernels_init(&k, &ops);
	for (int i = 0; i < 5; i++) {
		struct nest n = nest_of(i + 1);

		cr_assert_eq(kernels_add(&k, ids[i], &n, nest_bytes(&n), NULL), OK);
	}
	for (int i = 0; i < 5; i++) {
		struct kernel_entry *e = kernels_find(&k, ids[i]);

		cr_assert_eq(e->spec->ninstr, i + 1);
		cr_assert_eq(e->scratch, (size_t)(i + 1) * 64);
		cr_assert_eq(e->nreduce, i >= 2);
	}
	cr_assert_null(kernels_find(&k, 3));
	kernels_drop(&k, 3);
	kernels_drop(&k, 7);
	cr_assert_null(kernels_find(&k, 7));
	cr_assert_eq(k.count, 4);
	kernels_finish(&k);
}

Test(kernels, refuses_what_breaks_a_limit)
{
	struct kernels k;
	struct nest n = nest_of(4);
	struct err err = {0};

	kernels_init(&k, &ops);
	cr_assert_eq(kernels_add(&k, 1, &n, nest_bytes(&n) - 1, &err), E_INTERNAL);
	cr_assert_eq(kernels_add(&k, 1, &n, 8, &err), E_INTERNAL);
	cr_assert_eq(kernels_add(&k, 1, &n, sizeof n + 1, &err), E_INTERNAL);
	n.naccess = LIMIT_NEST_ACCESSES + 1;
	cr_assert_eq(kernels_add(&k, 1, &n, nest_bytes(&n), &err), E_INTERNAL);
	n = nest_of(4);
	n.nred = LIMIT_NDIM;
	cr_assert_eq(kernels_add(&k, 1, &n, nest_bytes(&n), &err), E_INTERNAL);
	n = nest_of(4);
	n.instr[0].op = OP_MATMUL;
	cr_assert_eq(kernels_add(&k, 1, &n, nest_bytes(&n), &err), E_UNSUPPORTED);
	cr_assert(strstr(err.text, "kernel 1"), "%s", err.text);
	cr_assert_eq(k.count, 0);
	kernels_finish(&k);
}

Test(kernels, code_takes_over_and_is_unloaded)
{
	struct kernels k;
	struct nest n = nest_of(2);
	struct err err = {0};

	kernels_init(&k, &ops);
	cr_assert_eq(kernels_load(&k, 4, 1, &err), E_INTERNAL, "code without its nest");
	cr_assert_eq(kernels_add(&k, 4, &n, nest_bytes(&n), &err), OK);
	kernels_map(kernels_find(&k, 4), NULL, 0, 1, NULL);
	cr_assert_eq(called, 0);
	cr_assert_eq(kernels_load(&k, 4, 3, &err), E_COMPILE);
	cr_assert_eq(kernels_load(&k, 4, 2, &err), E_COMPILE, "no entry point");
	cr_assert_eq(loaded, 0);
	kernels_map(kernels_find(&k, 4), NULL, 0, 1, NULL);
	cr_assert_eq(called, 0, "still interpreted");
	cr_assert_eq(kernels_load(&k, 4, 1, &err), OK);
	kernels_map(kernels_find(&k, 4), NULL, 0, 1, NULL);
	cr_assert_eq(called, 1);
	cr_assert_eq(kernels_load(&k, 4, 1, &err), OK, "again");
	cr_assert_eq(loaded, 1);
	cr_assert_eq(kernels_add(&k, 4, &n, nest_bytes(&n), &err), OK, "a new nest");
	cr_assert_eq(loaded, 0);
	cr_assert_eq(kernels_load(&k, 4, 1, &err), OK);
	kernels_finish(&k);
	cr_assert_eq(loaded, 0);
}

Test(kernels, sums_that_are_quicker_interpreted_stay_so)
{
	struct bz_acc part;
	struct kernels k;

	kernels_init(&k, &ops);
	for (int n = 4; n <= 5; n++) {
		struct nest nest = nest_of(n);
		struct kernel_entry *e = NULL;

		cr_assert_eq(kernels_add(&k, (uint32_t)n, &nest, nest_bytes(&nest), NULL), OK);
		e = kernels_find(&k, (uint32_t)n);
		kernels_reduce(e, NULL, 0, 1, 0, 1, NULL, NULL);
		cr_assert_eq(called, 0);
		cr_assert_eq(kernels_load(&k, (uint32_t)n, 1, NULL), OK);
		kernels_reduce(e, NULL, 0, 1, 0, 1, NULL, NULL);
		cr_assert_eq(called, n % 2);
		kernels_reduce(e, NULL, 0, 1, 0, 1, &part, NULL);
		cr_assert_eq(called, 1);
	}
	kernels_finish(&k);
}
