/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* RUSAGE_THREAD */
#include "solver.h"
#include "trace_fixture.h"

#include <sys/resource.h>

TestSuite(record, .init = fixture_setup, .fini = fixture_teardown);

Test(record, elementwise_result_has_the_derived_type_and_shape)
{
	import(1, 10);
	put(OP_GREATER, 255, 2, 1, 2);
	operand(1);
	scalar(0.5);
	cr_assert_eq(flush(), OK, "%s", err.text);
	cr_assert_eq(trace_array(&trace, 2)->view.dtype, DT_BOOL);
	cr_assert_eq(trace_array(&trace, 2)->view.shape.dim[0], 10);
	cr_assert_eq(trace.npending, 1);
}

Test(record, op_whose_result_is_dropped_never_runs)
{
	import(1, 10);
	binary(OP_ADD, 2, 1, 1);
	unary(OP_SQRT, 3, 2);
	drop(2);
	cr_assert_eq(trace.npending, 2);
	drop(3);
	cr_assert_eq(trace.npending, 0);
	cr_assert_eq(trace.stats.dead_ops, 2);
}

Test(record, long_chain_is_released_without_recursion)
{
	import(1, 4);
	for (uint32_t i = 2; i < 200000; i++) {
		put(OP_NEGATIVE, 255, 1, 0, i);
		operand(i - 1);
		put(OP_DROP, 255, 1, 0, 0);
		operand(i - 1);
		if (columns.nhead >= 1000)
			cr_assert_eq(flush(), OK, "%s", err.text);
	}
	cr_assert_eq(flush(), OK);
	drop(199999);
	cr_assert_eq(trace.npending, 0);
}

Test(record, write_makes_a_new_version_that_views_share)
{
	struct version *before;

	import(1, 10);
	slice(2, 1, 2, 3);
	import(3, 3);
	before = trace_current(trace_array(&trace, 1));
	assign(2, 3);
	cr_assert_neq(trace_current(trace_array(&trace, 1)), before);
	cr_assert_eq(trace_current(trace_array(&trace, 1)), trace_current(trace_array(&trace, 2)));
	cr_assert_eq(trace_current(trace_array(&trace, 1))->node->prev, before);
}

Test(record, write_of_the_whole_buffer_cuts_the_chain)
{
	import(1, 10);
	import(2, 10);
	assign(1, 2);
	cr_assert_null(trace_current(trace_array(&trace, 1))->node->prev);
}

Test(record, snapshot_keeps_its_version_and_refuses_writes)
{
	struct version *v;

	import(1, 10);
	v = trace_current(trace_array(&trace, 1));
	put(OP_PIN, 255, 1, 0, 2);
	operand(1);
	cr_assert_eq(flush(), OK);
	import(3, 10);
	assign(1, 3);
	cr_assert_eq(trace_current(trace_array(&trace, 2)), v);
	put(OP_ASSIGN, 255, 2, 0, 0);
	operand(2);
	operand(3);
	cr_assert_eq(flush(), E_READONLY);
}

Test(record, dirty_makes_a_version_in_the_same_place)
{
	struct version *v;
	struct storage *s;

	import(1, 10);
	v = trace_current(trace_array(&trace, 1));
	s = v->storage;
	put(OP_DIRTY, 255, 1, 0, 0);
	operand(1);
	cr_assert_eq(flush(), OK);
	cr_assert_eq(trace_current(trace_array(&trace, 1))->storage, s);
	cr_assert_eq(s->refs, 1);
}

/* What the client may write without a fence, while somebody asks for the version. */
Test(record, a_version_is_alone_when_nothing_reads_it)
{
	struct version *v;

	import(1, 10);
	v = version_ref(trace_current(trace_array(&trace, 1)));
	cr_assert(version_alone(v));
	put(OP_NEGATIVE, 255, 1, 0, 2);
	operand(1);
	cr_assert_eq(flush(), OK);
	cr_assert_not(version_alone(v), "a pending operation reads it");
	put(OP_DROP, 255, 1, 0, 0);
	operand(2);
	cr_assert_eq(flush(), OK);
	cr_assert(version_alone(v));
	version_hold(v);
	cr_assert_not(version_alone(v), "a job in flight has it");
	version_unhold(&trace, v);
	put(OP_PIN, 255, 1, 0, 3);
	operand(1);
	cr_assert_eq(flush(), OK);
	cr_assert_not(version_alone(v), "a snapshot keeps it");
	put(OP_DROP, 255, 1, 0, 0);
	operand(3);
	put(OP_DIRTY, 255, 1, 0, 0);
	operand(1);
	cr_assert_eq(flush(), OK);
	cr_assert_not(version_alone(v), "it is no array's any more");
	version_unref(&trace, v);
	put(OP_NEGATIVE, 255, 1, 0, 4);
	operand(1);
	cr_assert_eq(flush(), OK);
	v = version_ref(trace_current(trace_array(&trace, 4)));
	cr_assert_not(version_alone(v), "it is pending");
	version_unref(&trace, v);
}

/* Each of these is what a hostile client might send; all must be refused. */
Test(record, unknown_ids_ops_and_operands_are_refused)
{
	import(1, 10);
	put(OP_ADD, 255, 2, 0, 2);
	operand(1);
	operand(77);
	cr_assert_eq(flush(), E_UNKNOWN_ARRAY);
	put((enum op)250, 255, 2, 0, 2);
	cr_assert_eq(flush(), E_PROTOCOL);
	put(OP_ADD, 255, 3, 0, 2);
	cr_assert_eq(flush(), E_PROTOCOL);
	put(OP_ADD, 255, 2, 0, 2);
	operand(1);
	cr_assert_eq(flush(), E_PROTOCOL); /* column too short */
	put(OP_ADD, 255, 2, 0, 1);
	operand(1);
	operand(1);
	cr_assert_eq(flush(), E_PROTOCOL); /* id in use */
	put(OP_ADD, 255, 2, 0, LIMIT_IDS);
	operand(1);
	operand(1);
	cr_assert_eq(flush(), E_PROTOCOL);
	put(OP_DROP, 255, 1, 0, 0);
	operand(5);
	cr_assert_eq(flush(), E_UNKNOWN_ARRAY);
	put(OP_ADD, 255, 2, 3, 2);
	operand(1);
	operand(1);
	cr_assert_eq(flush(), E_PROTOCOL); /* claims immediates it has not */
	cr_assert_eq(trace.live_arrays, 2, "the last refusal came after its op was recorded");
}

Test(record, views_outside_the_buffer_are_refused)
{
	const int64_t bad[][4] = {{1, 0, 11, 8},	{1, 8, 10, 8}, {1, 0, 2, INT64_MAX},
				  {1, 72, 10, -8 - 1},	{1, -8, 1, 8}, {1, INT64_MIN, 1, 8},
				  {1, 0, INT64_MAX, 8}, {1, 0, -1, 8}, {1, 0, 1ll << 62, 4}};

	import(1, 10);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		put(OP_VIEW, DT_FLOAT64, 1, 4, 2);
		operand(1);
		for (int j = 0; j < 4; j++)
			word((uint64_t)bad[i][j]);
		cr_assert_neq(flush(), OK, "view %zu was taken", i);
	}
	/* The same bytes as another type lie on multiples of its size. */
	put(OP_VIEW, DT_INT64, 1, 4, 2);
	operand(1);
	word(1);
	word(4);
	word(9);
	word(8);
	cr_assert_eq(flush(), E_DTYPE);
	put(OP_VIEW, DT_INT64, 1, 4, 2);
	operand(1);
	word(1);
	word(0);
	word(10);
	word(8);
	cr_assert_eq(flush(), OK);
	put(OP_VIEW, DT_FLOAT64, 1, 15, 2);
	operand(1);
	word(LIMIT_NDIM + 1);
	cr_assert_eq(flush(), E_LIMIT);
}

/* Planning computes strides times extents without looking whether any point exists. */
Test(record, views_of_nothing_lose_their_strides)
{
	const struct view *v;

	import(1, 10);
	put(OP_VIEW, DT_FLOAT64, 1, 6, 2);
	operand(1);
	word(2);
	word((uint64_t)INT64_MIN);
	word(5);
	word(0);
	word((uint64_t)INT64_MAX);
	word(8);
	cr_assert_eq(flush(), OK, "%s", err.text);
	v = &trace_array(&trace, 2)->view;
	cr_assert_eq(v->shape.ndim, 2);
	cr_assert_eq(v->shape.dim[0], 5);
	cr_assert_eq(v->stride[0], 0);
	cr_assert_eq(v->offset, 0);
}

Test(record, shapes_that_overflow_are_refused)
{
	put(OP_EMPTY, DT_FLOAT64, 0, 4, 1);
	word(3);
	for (int i = 0; i < 3; i++)
		word(1u << 31);
	cr_assert_eq(flush(), E_LIMIT);
	put(OP_EMPTY, DT_FLOAT64, 0, 2, 1);
	word(1);
	word((uint64_t)-5);
	cr_assert_eq(flush(), E_INVALID);
}

Test(record, immediates_are_cast_to_the_loop_type)
{
	uint64_t two[2] = {0};
	double v = 2.75;

	memcpy(two, &v, sizeof v);
	imm_cast(two, DT_INT32, two, DT_FLOAT64);
	cr_assert_eq(two[0], 2);
	v = -1;
	memcpy(two, &v, sizeof v);
	imm_cast(two, DT_UINT8, two, DT_FLOAT64);
	cr_assert_eq(two[0], 255);
	two[0] = (uint64_t)-3;
	imm_cast(two, DT_FLOAT64, two, DT_INT16);
	memcpy(&v, two, sizeof v);
	cr_assert_eq(v, -3.0);
	two[0] = 5;
	imm_cast(two, DT_BOOL, two, DT_INT64);
	cr_assert_eq(two[0], 1);
}

/* A packet is one turn of the loop, and fresh pages are most of what it costs. */
static long record_scattered(uint32_t count, uint32_t gap)
{
	struct rusage before, after;

	put(OP_EMPTY, DT_FLOAT64, 0, 1, LIMIT_IDS - 1);
	word(0);
	cr_assert_eq(flush(), OK, "%s", err.text);
	for (uint32_t i = 1; i <= count; i++) {
		put(OP_EMPTY, DT_FLOAT64, 0, 1, i * gap);
		word(0);
	}
	getrusage(RUSAGE_THREAD, &before);
	cr_assert_eq(flush(), OK, "%s", err.text);
	getrusage(RUSAGE_THREAD, &after);
	return after.ru_minflt - before.ru_minflt;
}

Test(record, ids_far_apart_name_their_arrays_and_cost_few_pages)
{
	long pages = record_scattered(3000, 1000);

	for (uint32_t id = 1; id < LIMIT_IDS; id++)
		cr_assert_eq(trace_array(&trace, id) != NULL,
			     (id % 1000 == 0 && id <= 3000000) || id == LIMIT_IDS - 1, "%u", id);
	put(OP_EMPTY, DT_FLOAT64, 0, 1, 2000);
	word(0);
	cr_assert_eq(flush(), E_PROTOCOL);
	cr_assert(strstr(err.text, "array id 2000 is in use"), "%s", err.text);
	drop(2000);
	cr_assert_null(trace_array(&trace, 2000));
	cr_assert_eq(trace.live_arrays, 3000);
	if (trace.leaves.chunks) /* else a sanitizer's own allocations */
		cr_assert_lt(pages, 1000);
}

/* id: a stored vector of n places. */
static void import_typed(uint32_t id, enum dtype d, uint64_t n)
{
	struct extent e;

	cr_assert_eq(arena_lease(arena, &e, n * 8, &err), OK, "%s", err.text);
	put(OP_IMPORT, d, 0, 3, id);
	word(e.offset);
	word(1);
	word(n);
	cr_assert_eq(flush(), OK, "%s", err.text);
}

/* float64, or of another type of 8 bytes. */
static void import_axes(uint32_t id, enum dtype d, unsigned ndim, const uint64_t *dim)
{
	struct extent e;
	uint64_t n = 8;

	for (unsigned k = 0; k < ndim; k++)
		n *= dim[k];
	cr_assert_eq(arena_lease(arena, &e, n, &err), OK, "%s", err.text);
	put(OP_IMPORT, d, 0, 2 + ndim, id);
	word(e.offset);
	word(ndim);
	for (unsigned k = 0; k < ndim; k++)
		word(dim[k]);
	cr_assert_eq(flush(), OK, "%s", err.text);
}

static void import_places(uint32_t id, uint64_t n)
{
	import_typed(id, DT_INT64, n);
}

static enum status index_op(uint32_t result, uint32_t places, unsigned axis, uint64_t size,
			    uint64_t site)
{
	put(OP_INDEX, axis, 2, 2, result);
	operand(places);
	in[columns.nin++] = 1u << 31 | DT_INT64;
	word(size);
	word(site);
	return flush();
}

static enum status take_op(uint32_t result, uint32_t source, uint32_t places)
{
	put(OP_TAKE, 255, 2, 0, result);
	operand(source);
	operand(places);
	return flush();
}

Test(record, take_looks_its_places_up_in_the_last_axis)
{
	const struct view *v;

	import(1, 12);
	import_places(2, 5);
	cr_assert_eq(index_op(3, 2, 1, 4, 77), OK, "%s", err.text);
	cr_assert_eq(trace_current(trace_array(&trace, 3))->node->axes, 77);
	put(OP_VIEW, DT_FLOAT64, 1, 8, 4); /* (3, 1, 4) */
	operand(1);
	word(3);
	word(0);
	word(3);
	word(1);
	word(4);
	word(32);
	word(0);
	word(8);
	cr_assert_eq(flush(), OK, "%s", err.text);
	cr_assert_eq(take_op(5, 4, 3), OK, "%s", err.text);
	v = &trace_array(&trace, 5)->view;
	cr_assert(v->dtype == DT_FLOAT64 && v->shape.ndim == 2);
	cr_assert(v->shape.dim[0] == 3 && v->shape.dim[1] == 5);
}

Test(record, takes_that_cannot_be_are_refused)
{
	import(1, 12);
	import_places(2, 5);
	cr_assert_eq(index_op(3, 1, 0, 4, 0), E_DTYPE, "places are integers");
	cr_assert_eq(index_op(3, 2, LIMIT_NDIM, 4, 0), E_PROTOCOL);
	cr_assert_eq(index_op(3, 2, 0, 0, 0), E_INDEX, "an axis has elements");
	cr_assert_eq(index_op(3, 2, 0, 1ull << 63, 0), E_INDEX);
	cr_assert_eq(index_op(3, 2, 0, 4, 1ull << 32), E_PROTOCOL);
	put(OP_INDEX, 0, 2, 1, 3); /* its size is a number, for it tells who failed */
	operand(2);
	operand(2);
	word(0);
	cr_assert_eq(flush(), E_PROTOCOL);
	cr_assert_eq(take_op(3, 1, 1), E_DTYPE);
	slice(4, 1, 3, 0);
	cr_assert_eq(take_op(3, 4, 2), E_INDEX, "nothing to take from");
	put(OP_TAKE, 255, 2, 1, 3);
	operand(1);
	scalar(1);
	cr_assert_eq(flush(), E_PROTOCOL);
	put(OP_VIEW, DT_FLOAT64, 1, 2, 5);
	operand(1);
	word(0);
	word(0);
	cr_assert_eq(flush(), OK, "%s", err.text);
	cr_assert_eq(take_op(3, 5, 2), E_PROTOCOL, "no axis to take along");
}

static enum status search_op(uint32_t result, uint32_t among, uint32_t needles)
{
	put(OP_SEARCH_RIGHT, 255, 2, 0, result);
	operand(among);
	operand(needles);
	return flush();
}

Test(record, searches_give_a_place_for_each_needle)
{
	const struct view *v;

	import_typed(1, DT_INT64, 9);
	import_typed(2, DT_INT64, 5);
	cr_assert_eq(search_op(3, 1, 2), OK, "%s", err.text);
	v = &trace_array(&trace, 3)->view;
	cr_assert(v->dtype == DT_INT64 && v->shape.ndim == 1 && v->shape.dim[0] == 5);
}

Test(record, searches_that_cannot_be_are_refused)
{
	import(1, 12);
	import_typed(2, DT_INT64, 5);
	cr_assert_eq(search_op(3, 1, 2), E_PROTOCOL, "one type");
	slice(4, 1, 3, 0);
	cr_assert_eq(search_op(3, 4, 1), E_PROTOCOL, "among nothing");
	cr_assert_eq(search_op(3, 1, 4), OK, "for nothing: %s", err.text);
	put(OP_VIEW, DT_FLOAT64, 1, 6, 5); /* (3, 4) */
	operand(1);
	word(2);
	word(0);
	word(3);
	word(4);
	word(32);
	word(8);
	cr_assert_eq(flush(), OK, "%s", err.text);
	cr_assert_eq(search_op(6, 5, 1), E_PROTOCOL, "among rows");
	cr_assert_eq(search_op(6, 1, 5), E_PROTOCOL, "for rows");
	put(OP_SEARCH_LEFT, 255, 2, 1, 6);
	scalar(1);
	operand(1);
	cr_assert_eq(flush(), E_PROTOCOL, "among a number");
	put(OP_SEARCH_LEFT, 255, 2, 1, 6);
	operand(1);
	scalar(1);
	cr_assert_eq(flush(), E_PROTOCOL, "for a number");
}

static enum status chosen_op(enum op op, unsigned dtype, uint32_t of, uint32_t mask, uint32_t ranks)
{
	put(op, dtype, 3, 0, 20);
	operand(of);
	operand(mask);
	operand(ranks);
	return flush();
}

static void some_chosen(void)
{
	import_typed(1, DT_INT32, 4100);
	import_typed(2, DT_BOOL, 4100);
	put(OP_RANKS, 255, 1, 0, 3);
	operand(2);
	cr_assert_eq(flush(), OK, "%s", err.text);
}

Test(record, reductions_of_what_a_mask_chooses_have_no_axes)
{
	some_chosen();
	for (unsigned op = OP_CHOSEN_SUM; op <= OP_CHOSEN_ALL; op++) {
		const struct view *v;

		cr_assert_eq(chosen_op((enum op)op, 255, 1, 2, 3), OK, "%s", err.text);
		v = &trace_array(&trace, 20)->view;
		cr_assert_eq(v->shape.ndim, 0);
		cr_assert_eq(v->dtype, op <= OP_CHOSEN_PROD  ? DT_INT64
				       : op <= OP_CHOSEN_MAX ? DT_INT32
							     : DT_BOOL);
		drop(20);
	}
	cr_assert_eq(chosen_op(OP_CHOSEN_SUM, DT_FLOAT32, 1, 2, 3), OK, "%s", err.text);
	cr_assert_eq(trace_array(&trace, 20)->view.dtype, DT_FLOAT32);
}

Test(record, reductions_that_no_mask_chooses_for_are_refused)
{
	some_chosen();
	import_typed(4, DT_INT32, 4099);
	import_typed(5, DT_INT64, 1);
	import_typed(6, DT_COMPLEX64, 4100);
	slice(7, 1, 0, 0);
	slice(8, 2, 0, 0);
	cr_assert_eq(chosen_op(OP_CHOSEN_SUM, 255, 4, 2, 3), E_PROTOCOL, "of fewer elements");
	cr_assert_eq(chosen_op(OP_CHOSEN_SUM, 255, 1, 1, 3), E_PROTOCOL, "by numbers");
	cr_assert_eq(chosen_op(OP_CHOSEN_SUM, 255, 1, 2, 5), E_PROTOCOL, "ranks of another mask");
	cr_assert_eq(chosen_op(OP_CHOSEN_SUM, 255, 1, 2, 2), E_PROTOCOL, "a mask as ranks");
	cr_assert_eq(chosen_op(OP_CHOSEN_SUM, 200, 1, 2, 3), E_DTYPE, "into no type");
	cr_assert_eq(chosen_op(OP_CHOSEN_MAX, 255, 6, 2, 3), E_UNSUPPORTED, "order of complex");
	cr_assert_neq(chosen_op(OP_CHOSEN_SUM, 255, 7, 8, 3), OK, "of nothing");
}

static enum status interp_op(uint32_t points, uint32_t x, uint32_t values)
{
	put(OP_INTERP, 255, 3, 0, 9);
	operand(points);
	operand(x);
	operand(values);
	return flush();
}

Test(record, lines_are_between_two_points_at_least)
{
	const struct view *v;

	import(1, 12);
	import_typed(2, DT_FLOAT64, 5);
	import_typed(3, DT_INT64, 12);
	cr_assert_eq(interp_op(1, 2, 1), OK, "%s", err.text);
	v = &trace_array(&trace, 9)->view;
	cr_assert(v->dtype == DT_FLOAT64 && v->shape.ndim == 1 && v->shape.dim[0] == 5);
	drop(9);
	cr_assert_eq(interp_op(1, 2, 2), E_PROTOCOL, "as many values as points");
	cr_assert_eq(interp_op(1, 2, 3), E_PROTOCOL, "values of another type");
	cr_assert_eq(interp_op(1, 3, 1), E_PROTOCOL, "at whole numbers");
	slice(4, 1, 3, 1);
	cr_assert_eq(interp_op(4, 2, 4), E_PROTOCOL, "one point");
}

static enum status fourier_op(enum op op, uint32_t a, uint64_t axis, uint64_t length)
{
	put(op, 255, 1, 2, 9);
	operand(a);
	word(axis);
	word(length);
	return flush();
}

Test(record, transforms_have_a_length_that_fits)
{
	const struct view *v;

	import_typed(1, DT_COMPLEX64, 12);
	import_typed(2, DT_FLOAT64, 12);
	cr_assert_eq(fourier_op(OP_RFFT, 2, 0, 12), OK, "%s", err.text);
	v = &trace_array(&trace, 9)->view;
	cr_assert(v->dtype == DT_COMPLEX128 && v->shape.dim[0] == 7);
	drop(9);
	cr_assert_eq(fourier_op(OP_IRFFT, 1, 0, 23), OK, "%s", err.text);
	v = &trace_array(&trace, 9)->view;
	cr_assert(v->dtype == DT_FLOAT32 && v->shape.dim[0] == 23);
	drop(9);
	cr_assert_eq(fourier_op(OP_FFT, 1, 0, 11), E_PROTOCOL, "of some elements");
	cr_assert_eq(fourier_op(OP_IRFFT, 1, 0, 24), E_PROTOCOL, "of more");
	cr_assert_eq(fourier_op(OP_FFT, 1, 0, 0), E_PROTOCOL, "of none");
	cr_assert_eq(fourier_op(OP_FFT, 1, 0, UINT64_MAX), E_PROTOCOL, "of a negative number");
	cr_assert_eq(fourier_op(OP_FFT, 1, 1, 12), E_PROTOCOL, "along an axis that it has not");
	cr_assert_eq(fourier_op(OP_FFT, 2, 0, 12), E_DTYPE, "of real numbers");
	cr_assert_eq(fourier_op(OP_RFFT, 1, 0, 12), E_DTYPE, "of complex numbers");
}

static enum status solver_op(uint32_t a, uint64_t kind)
{
	put(OP_SOLVER, 255, 1, 1, 9);
	operand(a);
	word(kind);
	return flush();
}

Test(record, factors_are_of_matrices_that_have_them)
{
	const struct view *v;

	import(1, 12);
	import_axes(3, DT_FLOAT64, 2, (uint64_t[]){3, 4});
	import_axes(4, DT_FLOAT64, 3, (uint64_t[]){3, 2, 2});
	import_axes(5, DT_INT64, 2, (uint64_t[]){4, 4});
	cr_assert_eq(solver_op(4, SOLVER_LU), OK, "%s", err.text);
	v = &trace_array(&trace, 9)->view;
	cr_assert(v->dtype == DT_FLOAT64 && v->shape.ndim == 2 && v->shape.dim[0] == 3);
	cr_assert_eq(v->shape.dim[1] * 8, 32 + 16 + 16);
	drop(9);
	cr_assert_eq(solver_op(3, SOLVER_SVD), OK, "%s", err.text);
	cr_assert_eq(trace_array(&trace, 9)->view.shape.ndim, 1);
	drop(9);
	cr_assert_eq(solver_op(1, SOLVER_QR), E_PROTOCOL, "of one axis");
	cr_assert_eq(solver_op(3, SOLVER_LU), E_PROTOCOL, "not square");
	cr_assert_eq(solver_op(3, SOLVER_KINDS), E_PROTOCOL, "no kind");
	cr_assert_eq(solver_op(5, SOLVER_LU), E_DTYPE, "of whole numbers");
}

static enum status draw_op(enum op op, unsigned dtype, uint32_t id, uint32_t state, uint64_t n)
{
	put(op, dtype, 1, 2, id);
	operand(state);
	word(1);
	word(n);
	return flush();
}

Test(record, draws_have_a_state_and_a_shape_of_their_own)
{
	const struct view *v = NULL;

	import_typed(1, DT_UINT64, 8);
	cr_assert_eq(draw_op(OP_DRAW_NORMAL, DT_FLOAT32, 2, 1, 1000), OK, "%s", err.text);
	v = &trace_array(&trace, 2)->view;
	cr_assert(v->dtype == DT_FLOAT32 && v->shape.ndim == 1 && v->shape.dim[0] == 1000);
	cr_assert_eq(draw_op(OP_DRAW_NORMAL, DT_INT64, 3, 1, 10), E_DTYPE);
	cr_assert_eq(draw_op(OP_DRAW_WORDS, DT_FLOAT64, 3, 1, 10), E_DTYPE);
	cr_assert_eq(draw_op(OP_PCG64, 255, 3, 1, 10), E_DTYPE);
	cr_assert_eq(draw_op(OP_PCG64, DT_FLOAT64, 3, 1, 1ull << 62), E_LIMIT);
	import_typed(4, DT_UINT64, 7);
	cr_assert_eq(draw_op(OP_PCG64, DT_FLOAT64, 3, 4, 10), E_PROTOCOL, "a short state");
	import_typed(5, DT_INT64, 8);
	cr_assert_eq(draw_op(OP_PCG64, DT_FLOAT64, 3, 5, 10), E_DTYPE, "of another type");
	put(OP_PCG64, DT_FLOAT64, 1, 1, 3);
	scalar(1);
	word(0);
	cr_assert_eq(flush(), E_PROTOCOL, "a number");
	put(OP_PCG64, DT_FLOAT64, 1, 1, 3);
	operand(1);
	word(LIMIT_NDIM + 1);
	cr_assert_eq(flush(), E_LIMIT);
}

static enum status sparse_op(uint32_t result, uint32_t entries, uint32_t structure, uint32_t from)
{
	put(OP_SPARSE, 255, 3, 0, result);
	operand(entries);
	operand(structure);
	operand(from);
	return flush();
}

Test(record, sparse_products_have_a_row_for_each_beginning)
{
	const struct view *v;

	import(1, 6);		       /* entries */
	import_typed(2, DT_INT32, 11); /* of four rows */
	import_typed(3, DT_INT64, 6);  /* no row at all is one less than that */
	import_typed(4, DT_FLOAT32, 6);
	import(5, 3);
	cr_assert_eq(sparse_op(6, 1, 2, 5), OK, "%s", err.text);
	v = &trace_array(&trace, 6)->view;
	cr_assert(v->dtype == DT_FLOAT64 && v->shape.ndim == 1 && v->shape.dim[0] == 4);
	cr_assert_eq(sparse_op(7, 1, 3, 5), E_PROTOCOL, "rows: -1");
	cr_assert_eq(sparse_op(7, 4, 2, 5), E_PROTOCOL, "one type");
	cr_assert_eq(sparse_op(7, 1, 4, 5), E_PROTOCOL, "a structure of integers");
}
