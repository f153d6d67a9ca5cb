/* SPDX-License-Identifier: Apache-2.0 */
/* What the client library puts on the wire, op by op. */
#include "fake_daemon.h"

Test(client_record, ops_ids_and_drops_stand_in_program_order)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 4), *b = fake_array(s, 4);
	braze_array *c = fake_op("add", a, b);

	braze_release(b);
	braze_array *d = fake_op("sqrt", c, NULL); /* takes b's id again */
	cr_assert_eq(braze_flush(s, NULL), 0);
	cr_assert(fake_saw(f, "IMPORT.float64 1 <- [0 1 4]\n"
			      "IMPORT.float64 2 <- [64 1 4]\n"
			      "ADD 3 <- 1 2\n"
			      "DROP <- 2\n"
			      "SQRT 2 <- 3\n"));
	cr_assert_eq(((double *)(void *)f->arena)[3], 3.0, "host data lies in the arena");
	braze_release(a);
	braze_release(c);
	braze_release(d);
	braze_close(s);
	cr_assert(fake_saw(f, "DROP <- 1\nDROP <- 3\nDROP <- 2\n"));
	fake_stop(f);
}

Test(client_record, numbers_travel_with_their_weakness_and_value)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 2), *r = NULL;
	braze_arg arg[2] = {braze_arg_array(a), braze_arg_double(2.5)};
	braze_error e = {0};

	cr_assert_eq(braze_apply(&r, s, braze_op_find("multiply"), 2, arg, &e), 0);
	braze_release(r);
	arg[1].scalar = braze_complex(1, 2);
	cr_assert_eq(braze_apply(&r, s, braze_op_find("add"), 2, arg, &e), 0);
	cr_assert_eq(braze_dtype_of(r), BRAZE_COMPLEX128);
	braze_release(r);
	arg[1].scalar = (braze_scalar){.dtype = BRAZE_FLOAT32, .bits = {0x40200000}};
	arg[0].array = NULL;
	arg[0].scalar = braze_int(3);
	arg[1] = braze_arg_array(a);
	cr_assert_eq(braze_apply(&r, s, braze_op_find("subtract"), 2, arg, &e), 0);
	braze_flush(s, NULL);
	cr_assert(fake_saw(f, "MULTIPLY 2 <- 1 weak.float64 [0x4004000000000000]\nDROP <- 2\n"
			      "ADD 2 <- 1 weak.complex128 [0x3ff0000000000000 0x4000000000000000]\n"
			      "DROP <- 2\nSUBTRACT 2 <- weak.int64 1 [3]\n"));
	braze_close(s);
	braze_release(r);
	braze_release(a);
	fake_stop(f);
}

Test(client_record, an_empty_array_takes_no_leased_space)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 0), *b = fake_array(s, 3), *c = fake_array(s, 0);
	braze_array *d = fake_array(s, 1);

	braze_flush(s, NULL);
	cr_assert(fake_saw(f, "IMPORT.float64 1 <- [0 1 0]\nIMPORT.float64 2 <- [0 1 3]\n"
			      "IMPORT.float64 3 <- [0 1 0]\nIMPORT.float64 4 <- [64 1 1]\n"));
	braze_release(a);
	braze_release(b);
	braze_release(c);
	braze_release(d);
	braze_close(s);
	fake_stop(f);
}

Test(client_record, a_number_alone_or_a_strange_session_is_refused)
{
	struct fake *f = fake_start(), *g = fake_start();
	braze_session *s = fake_connect(f, 0), *t = fake_connect(g, 0);
	braze_array *a = fake_array(s, 2), *b = fake_array(t, 2), *r = NULL;
	braze_arg arg[2] = {braze_arg_double(1), braze_arg_double(2.5)};
	int add = braze_op_find("add");
	braze_error e = {0};

	cr_assert_eq(braze_apply(&r, s, add, 2, arg, &e), E_INVALID);
	arg[0] = braze_arg_array(b);
	cr_assert_eq(braze_apply(&r, s, add, 2, arg, &e), E_INVALID);
	arg[1] = braze_arg_array(a);
	cr_assert_eq(braze_apply(&r, s, add, 2, arg, &e), E_INVALID);
	cr_assert_null(r);
	braze_release(a);
	braze_release(b);
	braze_close(s);
	braze_close(t);
	fake_stop(f);
	fake_stop(g);
}

Test(client_record, creation_reduction_matmul_cast_and_assignment)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *z = NULL, *r = NULL, *m = NULL, *c = NULL, *e = NULL, *g = NULL;
	int64_t shape[2] = {2, 3};

	cr_assert_eq(braze_full(&z, s, BRAZE_INT32, 2, shape, braze_int(7), NULL), 0);
	cr_assert_eq(braze_empty(&e, s, BRAZE_INT32, 2, (int64_t[]){3, 2}, NULL), 0);
	cr_assert_eq(braze_arange(&g, s, BRAZE_INT64, 5, braze_int(1), braze_int(2), NULL), 0);
	cr_assert_eq(braze_reduce(&r, braze_op_find("sum"), z, 2, 1, -1, NULL), 0);
	cr_assert_eq(braze_dtype_of(r), BRAZE_INT64);
	cr_assert_eq(braze_ndim(r), 2);
	cr_assert_eq(braze_shape(r)[1], 1);
	cr_assert_eq(braze_matmul(&m, z, e, NULL), 0);
	cr_assert_eq(braze_cast(&c, z, BRAZE_FLOAT32, NULL), 0);
	cr_assert_eq(braze_assign(z, (braze_arg){.scalar = braze_int(1)}, NULL), 0);
	cr_assert_eq(braze_assign(c, braze_arg_array(z), NULL), 0);
	braze_flush(s, NULL);
	cr_assert(fake_saw(f, "FULL.int32 1 <- weak.int64 [7 2 2 3]\n"
			      "EMPTY.int32 2 <- [2 3 2]\n"
			      "ARANGE.int64 3 <- weak.int64 weak.int64 [1 2 5]\n"
			      "SUM 4 <- 1 [4294967298]\n"
			      "MATMUL 5 <- 1 2\n"
			      "CAST.float32 6 <- 1\n"
			      "ASSIGN <- 1 weak.int64 [1]\n"
			      "ASSIGN <- 6 1\n"));
	braze_close(s);
	for (int i = 0; i < 6; i++)
		braze_release((braze_array *[]){z, r, m, c, e, g}[i]);
	fake_stop(f);
}

Test(client_record, views_carry_shape_strides_and_offset)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = NULL, *v = NULL, *t = NULL, *r = NULL, *b = NULL, *n = NULL;

	cr_assert_eq(braze_empty(&a, s, BRAZE_FLOAT64, 2, (int64_t[]){4, 6}, NULL), 0);
	cr_assert_eq(
		braze_slice(&v, a, (int64_t[]){1, 5}, (int64_t[]){2, 3}, (int64_t[]){2, -2}, NULL),
		0);
	cr_assert_eq(braze_transpose(&t, a, NULL, NULL), 0);
	cr_assert_eq(braze_reshape(&r, a, 3, (int64_t[]){2, -1, 3}, NULL), 0);
	cr_assert_eq(braze_broadcast_to(&b, v, 3, (int64_t[]){5, 2, 3}, NULL), 0);
	cr_assert_eq(braze_reshape(&n, t, 1, (int64_t[]){24}, NULL), 0);
	cr_assert(braze_same_buffer(a, b));
	cr_assert_not(braze_same_buffer(n, a), "no view has the order of a flat transpose");
	braze_flush(s, NULL);
	cr_assert(fake_saw(f, "VIEW.float64 2 <- 1 [2 88 2 3 96 -16]\n"
			      "VIEW.float64 3 <- 1 [2 0 6 4 8 48]\n"
			      "VIEW.float64 4 <- 1 [3 0 2 4 3 96 24 8]\n"
			      "VIEW.float64 5 <- 2 [3 88 5 2 3 0 96 -16]\n"
			      "CAST.float64 6 <- 3\n"
			      "VIEW.float64 7 <- 6 [1 0 24 8]\nDROP <- 6\n"));
	braze_close(s);
	for (int i = 0; i < 6; i++)
		braze_release((braze_array *[]){a, v, t, r, b, n}[i]);
	fake_stop(f);
}

Test(client_record, a_view_of_eight_axes_has_more_immediates_than_its_field_can_tell)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = NULL, *t = NULL;

	cr_assert_eq(braze_empty(&a, s, BRAZE_INT8, 8, (int64_t[]){1, 2, 1, 2, 1, 2, 1, 2}, NULL),
		     0);
	cr_assert_eq(braze_transpose(&t, a, NULL, NULL), 0);
	braze_flush(s, NULL);
	cr_assert(fake_saw(f, "VIEW.int8 2 <- 1 [8 0 2 1 2 1 2 1 2 1 1 2 2 4 4 8 8 16]\n"));
	braze_close(s);
	braze_release(a);
	braze_release(t);
	fake_stop(f);
}

/* Strides of a reshape against an element-by-element walk. */
Test(client_record, a_reshaped_view_addresses_the_same_elements)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = NULL, *v = NULL, *r = NULL;
	double x[48], got[24];

	for (int i = 0; i < 48; i++)
		x[i] = i;
	cr_assert_eq(braze_from_data(&a, s, BRAZE_FLOAT64, 2, (int64_t[]){6, 8}, NULL, x, NULL), 0);
	/* Every second column: one run of constant stride over both axes. */
	cr_assert_eq(
		braze_slice(&v, a, (int64_t[]){0, 1}, (int64_t[]){6, 4}, (int64_t[]){1, 2}, NULL),
		0);
	cr_assert_eq(braze_reshape(&r, v, 3, (int64_t[]){2, 12, 1}, NULL), 0);
	cr_assert(braze_same_buffer(r, a));
	cr_assert_eq(braze_read(got, r, NULL), 0);
	for (int i = 0; i < 24; i++)
		cr_assert_eq(got[i], 2 * i + 1);
	braze_error e = {0};
	cr_assert_eq(braze_reshape(&r, v, 2, (int64_t[]){5, -1}, &e), E_SHAPE);
	cr_assert_eq(braze_reshape(&r, v, 2, (int64_t[]){-1, -1}, &e), E_INVALID);
	braze_close(s);
	braze_release(a);
	braze_release(v);
	braze_release(r);
	fake_stop(f);
}

Test(client_record, what_does_not_fit_is_refused_and_not_recorded)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 4), *b = fake_array(s, 3), *i8 = NULL, *r = NULL;
	braze_arg arg[2] = {braze_arg_array(a), braze_arg_array(b)};
	struct braze_counters before, after;
	braze_error e = {0};

	braze_empty(&i8, s, BRAZE_INT8, 1, (int64_t[]){4}, NULL);
	braze_get_counters(s, &before);
	cr_assert_eq(braze_apply(&r, s, OP_ADD, 2, arg, &e), E_SHAPE);
	cr_assert_str_eq(braze_error_python(e.code), "ValueError");
	cr_assert_eq(braze_apply(&r, s, OP_SUM, 1, arg, &e), E_INVALID);
	cr_assert_eq(braze_apply(&r, s, OP_BITWISE_AND, 2, (braze_arg[]){arg[0], arg[0]}, &e),
		     E_DTYPE);
	arg[0] = braze_arg_array(i8);
	arg[1] = (braze_arg){.scalar = braze_int(300)};
	cr_assert_eq(braze_apply(&r, s, OP_ADD, 2, arg, &e), E_OVERFLOW, "%s", e.text);
	cr_assert_eq(braze_apply(&r, s, OP_LESS, 2, arg, &e), E_UNSUPPORTED);
	cr_assert_eq(braze_assign(i8, arg[1], &e), E_OVERFLOW);
	cr_assert_eq(braze_assign(i8, braze_arg_array(a), &e), E_CAST);
	cr_assert_eq(braze_assign(a, braze_arg_array(b), &e), E_SHAPE);
	cr_assert_eq(braze_reduce(&r, OP_SUM, a, 2, 0, -1, &e), E_AXIS);
	cr_assert_eq(braze_slice(&r, a, (int64_t[]){2}, (int64_t[]){3}, (int64_t[]){1}, &e),
		     E_INDEX);
	cr_assert_eq(braze_empty(&r, s, BRAZE_FLOAT64, 9, NULL, &e), E_LIMIT);
	cr_assert_eq(braze_empty(&r, s, BRAZE_FLOAT64, 2, (int64_t[]){1ll << 40, 1ll << 40}, &e),
		     E_LIMIT);
	cr_assert_eq(braze_empty(&r, s, 99, 0, NULL, &e), E_DTYPE);
	braze_get_counters(s, &after);
	cr_assert_eq(before.ops, after.ops);
	cr_assert_null(r);
	braze_close(s);
	braze_release(a);
	braze_release(b);
	braze_release(i8);
	fake_stop(f);
}

Test(client_record, an_empty_minimum_is_refused_like_numpy_does)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = NULL, *r = NULL;
	braze_error e = {0};

	braze_empty(&a, s, BRAZE_FLOAT64, 2, (int64_t[]){0, 3}, NULL);
	cr_assert_eq(braze_reduce(&r, OP_MIN, a, 1, 0, -1, &e), E_INVALID);
	cr_assert_eq(braze_reduce(&r, OP_MIN, a, 2, 0, -1, &e), 0, "%s", e.text);
	braze_release(r);
	cr_assert_eq(braze_reduce(&r, OP_SUM, a, 1, 0, -1, &e), 0);
	braze_close(s);
	braze_release(r);
	braze_release(a);
	fake_stop(f);
}

Test(client_record, long_traces_are_cut_into_packets)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 8), *b = fake_array(s, 8);
	struct braze_counters c;

	for (int i = 0; i < 5000; i++)
		braze_release(fake_op("add", a, b));
	braze_get_counters(s, &c);
	cr_assert_eq(c.ops, 10002);
	cr_assert_eq(c.packets, 1 + 9, "hello, then 1024 ops each");
	for (int i = 0; i < 2000; i++) {
		braze_array *v = NULL;
		cr_assert_eq(braze_view(&v, a, BRAZE_FLOAT64, 8,
					(int64_t[]){1, 1, 1, 1, 1, 1, 1, 1},
					(int64_t[]){8, 8, 8, 8, 8, 8, 8, 8}, 0, NULL),
			     0);
		braze_release(v);
	}
	cr_assert_eq(braze_flush(s, NULL), 0);
	braze_release(a);
	braze_release(b);
	braze_close(s);
	cr_assert(fake_saw(f, "DROP <- 2\n"));
	fake_stop(f);
}

/* Each successful draw counts; the state is an array of its own. */
Test(client_record, random_numbers)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_random r = {.key = 7, .draw = 40};
	const int64_t shape[2] = {2, 3};
	braze_array *a[4] = {NULL}, *none = NULL;

	cr_assert_eq(braze_random_uniform(&a[0], s, &r, BRAZE_FLOAT64, 2, shape, 0, 1, NULL), 0);
	cr_assert_eq(braze_random_normal(&a[1], s, &r, BRAZE_FLOAT32, 1, shape, 0, 1, NULL), 0);
	cr_assert_eq(braze_random_exponential(&a[2], s, &r, BRAZE_FLOAT64, 0, NULL, 2, NULL), 0);
	cr_assert_eq(braze_random_integers(&a[3], s, &r, 2, shape, -3, 4, NULL), 0);
	cr_assert_eq(r.draw, 44);
	cr_assert_eq(braze_dtype_of(a[1]), BRAZE_FLOAT32);
	cr_assert_eq(braze_dtype_of(a[3]), BRAZE_INT64);
	cr_assert_eq(braze_shape(a[3])[1], 3);
	braze_flush(s, NULL);
	cr_assert(fake_saw(f, "DRAW_UNIFORM.float64 2 <- 1 [2 2 3]\n"));
	cr_assert(fake_saw(f, "DRAW_EXPONENTIAL.float64 "));
	cr_assert_eq(braze_random_uniform(&none, s, &r, BRAZE_INT32, 2, shape, 0, 1, NULL),
		     E_DTYPE);
	cr_assert_eq(braze_random_uniform(&none, s, &r, -1, 2, shape, 0, 1, NULL), E_DTYPE);
	cr_assert_eq(braze_random_normal(&none, s, &r, BRAZE_FLOAT64, 2, shape, __builtin_inf(), 1,
					 NULL),
		     E_INVALID);
	cr_assert_eq(braze_random_integers(&none, s, &r, 2, shape, 4, 4, NULL), E_INVALID);
	cr_assert_neq(
		braze_random_uniform(&none, s, &r, BRAZE_FLOAT64, 1, (int64_t[]){-1}, 0, 1, NULL),
		0);
	cr_assert_eq(braze_draw(&none, s, OP_ADD, BRAZE_FLOAT64, 2, shape, (uint64_t[8]){0}, NULL),
		     E_INVALID);
	cr_assert_null(none);
	cr_assert_eq(r.draw, 44, "what failed does not count");
	for (int i = 0; i < 4; i++)
		braze_release(a[i]);
	braze_close(s);
	fake_stop(f);
}
