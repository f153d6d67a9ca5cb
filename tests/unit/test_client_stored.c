/* SPDX-License-Identifier: Apache-2.0 */
/* Small reads and writes of arrays that are stored in the arena: what is sent, and when this
 * process writes there itself. */
#include "fake_daemon.h"

#include "near.h"

static struct fake *near_daemon(int alone)
{
	struct fake *f = fake_start_near();

	f->alone = alone;
	return f;
}

static braze_array *stored(braze_session *s)
{
	braze_array *a = fake_large(s);
	const void *at = NULL;

	cr_assert_eq(braze_data(&at, a, NULL, NULL, NULL), 0);
	cr_assert(braze_is_stored(a));
	return a;
}

/* Row i from column 0 on, n elements. */
static braze_array *row(braze_array *a, int64_t i, int64_t n)
{
	const int64_t shape[1] = {n}, stride[1] = {8};
	braze_array *v = NULL;

	cr_assert_eq(braze_view(&v, a, BRAZE_FLOAT64, 1, shape, stride, i * FAKE_ROWS * 8, NULL),
		     0);
	return v;
}

static void put(braze_array *a, int64_t i, double x)
{
	braze_array *v = row(a, i, 1);

	cr_assert_eq(braze_assign(v, braze_arg_double(x), NULL), 0);
	braze_release(v);
}

static double get(braze_array *a, int64_t i)
{
	braze_array *v = row(a, i, 1);
	double x = 0;

	cr_assert_eq(braze_read(&x, v, NULL), 0);
	braze_release(v);
	return x;
}

static struct braze_counters counters(braze_session *s)
{
	struct braze_counters c;

	braze_get_counters(s, &c);
	return c;
}

static void end(struct fake *f, braze_session *s)
{
	braze_close(s);
	fake_stop(f);
}

/* ---- Views ---- */

Test(client_stored, views_of_a_stored_array_send_nothing_until_a_far_operation)
{
	struct fake *f = near_daemon(0);
	braze_session *s = fake_connect(f, 0);
	braze_array *a = stored(s), *v = row(a, 3, 4), *w = row(v, 5, FAKE_ROWS), *far = NULL;
	uint64_t ops = counters(s).ops;

	for (int i = 0; i < FAKE_ROWS; i++)
		braze_release(row(a, i, 7));
	braze_release(fake_op("sqrt", v, NULL));
	cr_assert_eq(counters(s).ops, ops);
	cr_assert_eq(counters(s).near, 1);
	far = fake_op("add", a, w);
	cr_assert_eq(braze_flush(s, NULL), 0);
	cr_assert(fake_saw(f, "VIEW.float64 3 <- 1 [1 8000 200 8]\nADD "));
	braze_release(far);
	braze_release(v);
	braze_release(w);
	braze_release(a);
	cr_assert_eq(braze_flush(s, NULL), 0);
	cr_assert(fake_saw(f, "DROP <- 3\nDROP <- 1\n"), "and no other");
	end(f, s);
}

Test(client_stored, a_name_outlives_its_handle_while_views_have_none)
{
	struct fake *f = near_daemon(0);
	braze_session *s = fake_connect(f, 0);
	braze_array *a = stored(s), *v = row(a, 3, FAKE_ROWS), *w = row(a, 4, FAKE_ROWS),
		    *far = NULL, *next = NULL;

	braze_release(a);
	next = fake_large(s);
	far = fake_op("add", next, v);
	braze_release(w);
	braze_release(v);
	braze_release(far);
	cr_assert_eq(braze_flush(s, NULL), 0);
	cr_assert(fake_saw(f, "FULL.float64 4 <- weak.float64"), "1 is still the first's");
	cr_assert(fake_saw(f, "VIEW.float64 2 <- 1 [1 4800 200 8]\nADD 5 <- 4 2\nDROP <- 1\n"
			      "DROP <- 2\nDROP <- 5\n"));
	braze_release(next);
	end(f, s);
}

Test(client_stored, a_view_without_a_name_can_be_demanded_and_fenced)
{
	struct fake *f = near_daemon(0);
	braze_session *s = fake_connect(f, 0);
	braze_array *a = stored(s), *v = row(a, 3, FAKE_ROWS);
	double x[FAKE_ROWS];
	void *p = NULL;

	cr_assert_eq(braze_fence(&p, v, NULL, NULL, NULL), 0);
	cr_assert(fake_saw(f, "FENCE 1\n"));
	braze_release(fake_op("add", a, a));
	cr_assert_eq(braze_assign(a, braze_arg_double(0), NULL), 0);
	cr_assert_not(braze_is_stored(v));
	cr_assert_eq(braze_read(x, v, NULL), 0);
	cr_assert(fake_saw(f, "DIRTY <- 1\n"));
	cr_assert(fake_saw(f, "ASSIGN <- 1 weak.float64 [0]\nDEMAND 1\n"));
	braze_release(a);
	braze_release(v);
	end(f, s);
}

Test(client_stored, views_without_a_name_outlive_the_connection)
{
	struct fake *f = near_daemon(0);
	braze_session *s = fake_connect(f, 0);
	braze_array *a = stored(s), *v = row(a, 0, 3), *w = row(a, 1, 2);
	double x[3];

	braze_release(a);
	braze_disconnect(s);
	cr_assert_eq(braze_read(x, v, NULL), 0);
	cr_assert_eq(x[2], 1.0);
	braze_release(w);
	w = row(v, 0, 2);
	cr_assert_eq(braze_read(x, w, NULL), 0);
	braze_release(v);
	braze_release(w);
	end(f, s);
}

/* ---- Writes ---- */

Test(client_stored, what_nothing_else_reads_is_written_without_a_message)
{
	struct fake *f = near_daemon(-1);
	braze_session *s = fake_connect(f, 0);
	braze_array *a = stored(s);
	struct braze_counters before = counters(s), after;

	for (int i = 0; i < FAKE_ROWS / 4; i++)
		put(a, i, get(a, i) + i);
	cr_assert_eq(get(a, 7), 7.0);
	cr_assert_eq(*(double *)(void *)(f->arena + FAKE_RESULT + 7 * FAKE_ROWS * 8), 7.0);
	after = counters(s);
	cr_assert_eq(after.ops, before.ops);
	cr_assert_eq(after.round_trips, before.round_trips);
	braze_release(fake_op("add", a, a));
	cr_assert_eq(braze_flush(s, NULL), 0);
	cr_assert(fake_saw(f, "DIRTY <- 1\nADD "), "the daemon hears of it at the next use");
	braze_release(a);
	end(f, s);
}

/* The daemon has not seen the operation when it answers. */
Test(client_stored, what_was_used_since_it_was_demanded_is_not_owned)
{
	struct fake *f = near_daemon(-1);
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_large(s), *reader = NULL;
	braze_future *first = NULL, *second = NULL;

	f->hold = true;
	cr_assert_eq(braze_demand(&first, 1, &a, NULL), 0);
	reader = fake_op("add", a, a);
	f->hold = false;
	cr_assert_eq(braze_wait(first, -1, NULL, NULL, NULL), 0);
	put(a, 0, 5);
	cr_assert_eq(braze_flush(s, NULL), 0);
	cr_assert(fake_saw(f, "ADD 2 <- 1 1\nVIEW.float64 3 <- 1 [1 0 1 8]\nASSIGN <- 3"));
	braze_release(reader);
	braze_future_release(first);

	/* Nor by the answer to an earlier demand than the last. */
	f->hold = true;
	cr_assert_eq(braze_demand(&first, 1, &a, NULL), 0);
	reader = fake_op("add", a, a);
	cr_assert_eq(braze_demand(&second, 1, &a, NULL), 0);
	f->alone = 1;
	f->hold = false;
	cr_assert_eq(braze_wait(second, -1, NULL, NULL, NULL), 0);
	cr_assert_eq(braze_wait(first, -1, NULL, NULL, NULL), 0);
	put(a, 0, 5);
	cr_assert_eq(braze_flush(s, NULL), 0);
	cr_assert(fake_saw(f, "ASSIGN <- "));
	braze_future_release(first);
	braze_future_release(second);
	braze_release(reader);
	braze_release(a);
	end(f, s);
}

Test(client_stored, the_second_small_write_in_a_row_asks_for_the_buffer)
{
	struct fake *f = near_daemon(0);
	braze_session *s = fake_connect(f, 0);
	braze_array *a = stored(s), *reader = fake_op("add", a, a);
	uint64_t ops;

	put(a, 0, 5);
	braze_release(reader);
	cr_assert_eq(counters(s).near, 0);
	put(a, 1, 6);
	cr_assert(fake_saw(f, "ADD 2 <- 1 1\n"));
	cr_assert(fake_saw(f, "ASSIGN <- 3 weak.float64"));
	cr_assert(fake_saw(f, "FENCE "));
	cr_assert_eq(counters(s).near, 1);
	ops = counters(s).ops;
	for (int i = 2; i < FAKE_ROWS; i++)
		put(a, i, 7);
	cr_assert_eq(counters(s).ops, ops);
	cr_assert_eq(get(a, 1), 6.0);

	/* Another operation in between: the run begins anew. */
	braze_release(fake_op("add", a, a));
	put(a, 0, 8);
	braze_release(fake_op("add", a, a));
	ops = counters(s).round_trips;
	put(a, 0, 9);
	cr_assert_eq(counters(s).round_trips, ops);
	braze_release(a);
	end(f, s);
}

Test(client_stored, a_near_read_of_a_touched_array_asks_for_the_buffer)
{
	struct fake *f = near_daemon(0);
	braze_session *s = fake_connect(f, 0);
	braze_array *a = stored(s), *v = row(a, 1, 9);

	braze_release(fake_op("add", a, a));
	put(a, 0, 5);
	braze_release(fake_op("sqrt", v, NULL));
	cr_assert(fake_saw(f, "FENCE "));
	cr_assert_eq(counters(s).near, 1);
	put(a, 1, 6);
	cr_assert_eq(counters(s).near, 2);
	braze_release(v);
	braze_release(a);
	end(f, s);
}

Test(client_stored, what_is_only_made_counts_as_stored)
{
	struct fake *f = near_daemon(0);
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_large(s);

	put(a, 0, 5);
	cr_assert_eq(counters(s).round_trips, 0);
	put(a, 1, 6);
	cr_assert(fake_saw(f, "FENCE "));
	cr_assert_eq(get(a, 1), 6.0);
	braze_release(a);
	end(f, s);
}

Test(client_stored, many_small_writes_to_a_pending_array_are_recorded_first)
{
	struct fake *f = near_daemon(0);
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_large(s), *b = fake_op("negative", a, NULL);

	for (int i = 0; i < NEAR_RUN; i++)
		put(b, i, 5);
	cr_assert_eq(counters(s).round_trips, 0);
	put(b, NEAR_RUN, 6);
	cr_assert_eq(counters(s).round_trips, 1);
	cr_assert(fake_saw(f, "FENCE "));
	cr_assert_eq(get(b, NEAR_RUN), 6.0);
	braze_release(a);
	braze_release(b);
	end(f, s);
}

Test(client_stored, pending_values_are_written_lazily)
{
	struct fake *f = near_daemon(0);
	braze_session *s = fake_connect(f, 0);
	braze_array *a = stored(s), *b = fake_large(s), *c = fake_op("negative", b, NULL);
	uint64_t trips = counters(s).round_trips;

	for (int i = 0; i < 3 * NEAR_RUN; i++) {
		braze_array *to = row(a, i, FAKE_ROWS), *from = row(c, i, FAKE_ROWS);
		cr_assert_eq(braze_assign(to, braze_arg_array(from), NULL), 0);
		braze_release(to);
		braze_release(from);
	}
	cr_assert_eq(counters(s).round_trips, trips);
	braze_release(a);
	braze_release(b);
	braze_release(c);
	end(f, s);
}

/* A snapshot and what reads it keep the value: the next write goes elsewhere. */
Test(client_stored, a_snapshot_ends_the_right_to_write)
{
	struct fake *f = near_daemon(-1);
	braze_session *s = fake_connect(f, 0);
	braze_array *a = stored(s), *n = NULL;
	double was = get(a, 0);

	cr_assert_eq(braze_snapshot(&n, a, NULL), 0);
	put(a, 0, was + 1);
	cr_assert_eq(get(n, 0), was);
	cr_assert_eq(braze_flush(s, NULL), 0);
	cr_assert(fake_saw(f, "PIN "));
	cr_assert(fake_saw(f, "ASSIGN <- "));
	put(a, 1, 3);
	cr_assert(fake_saw(f, "FENCE "));
	cr_assert_eq(get(n, 0), was);
	braze_release(n);
	braze_release(a);
	end(f, s);
}
