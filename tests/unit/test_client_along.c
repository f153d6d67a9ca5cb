/* SPDX-License-Identifier: Apache-2.0 */
/* What a demand asks besides: which arrays it names, and what their answers are good for. */
#include "fake_daemon.h"

#include "client.h"

static struct fake *daemon_of(int minor, uint32_t also)
{
	struct fake *f = fake_start_near();

	f->minor = minor;
	f->also = also;
	return f;
}

static void demand(braze_array *a)
{
	const void *at = NULL;
	braze_error e = {0};

	cr_assert_eq(braze_data(&at, a, NULL, NULL, &e), 0, "%s", e.text);
}

static braze_future *ask(struct fake *f, braze_array *a)
{
	braze_future *asked = NULL;

	f->hold = true;
	cr_assert_eq(braze_demand(&asked, 1, &a, NULL), 0);
	return asked;
}

static void answered(struct fake *f, braze_future *asked)
{
	f->hold = false;
	cr_assert_eq(braze_wait(asked, -1, NULL, NULL, NULL), 0);
	braze_future_release(asked);
}

static braze_array *first_element(braze_array *a)
{
	const int64_t shape[1] = {1}, stride[1] = {8};
	braze_array *v = NULL;

	cr_assert_eq(braze_view(&v, a, BRAZE_FLOAT64, 1, shape, stride, 0, NULL), 0);
	return v;
}

static void put(braze_array *a, double x)
{
	braze_array *v = first_element(a);

	cr_assert_eq(braze_assign(v, braze_arg_double(x), NULL), 0);
	braze_release(v);
}

static double get(braze_array *a)
{
	braze_array *v = first_element(a);
	double x = 0;

	cr_assert_eq(braze_read(&x, v, NULL), 0);
	braze_release(v);
	return x;
}

static uint64_t trips(braze_session *s)
{
	struct braze_counters c;

	braze_get_counters(s, &c);
	return c.round_trips;
}

static uint64_t ops(braze_session *s)
{
	struct braze_counters c;

	cr_assert_eq(braze_flush(s, NULL), 0);
	braze_get_counters(s, &c);
	return c.ops;
}

static void end(struct fake *f, braze_session *s)
{
	braze_close(s);
	fake_stop(f);
}

/* ---- What is named ---- */

Test(client_along, live_pending_arrays_are_named_the_last_written_first)
{
	struct fake *f = daemon_of(MINOR_ALSO, 0);
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_large(s), *gone = fake_op("sqrt", a, NULL),
		    *b = fake_op("add", gone, a), *c = fake_op("negative", b, NULL),
		    *sum = fake_op("add", c, b);

	braze_release(gone);
	put(a, 3); /* a view of a buffer is the buffer */
	demand(sum);
	cr_assert(fake_saw(f, "DEMAND 5 also 1 4 3\n"));
	cr_assert_not(braze_is_stored(b), "the answer says so");

	/* Asked again as long as they are not stored; what is stored is not. */
	braze_release(sum);
	sum = fake_op("add", c, b);
	demand(c);
	cr_assert(fake_saw(f, "DEMAND 4 also 5 1 3\n"));
	braze_release(a);
	braze_release(b);
	braze_release(c);
	braze_release(sum);
	end(f, s);
}

Test(client_along, a_view_names_its_buffer_when_the_first_handle_is_gone)
{
	struct fake *f = daemon_of(MINOR_ALSO, ALSO_STORED);
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_large(s), *v = first_element(a), *b = fake_large(s);

	braze_release(a);
	demand(b);
	cr_assert(fake_saw(f, "DEMAND 3 also 2\n"));
	cr_assert(braze_is_stored(v));
	braze_release(v);
	braze_release(b);
	end(f, s);
}

Test(client_along, no_more_are_named_than_the_protocol_allows)
{
	struct fake *f = daemon_of(MINOR_ALSO, ALSO_STORED);
	braze_session *s = fake_connect(f, 0);
	braze_array *a[LIMIT_DEMAND_ALSO + 9];
	unsigned told = 0;

	for (unsigned i = 0; i < LIMIT_DEMAND_ALSO + 9; i++)
		a[i] = fake_large(s);
	demand(a[0]);
	for (unsigned i = 0; i < LIMIT_DEMAND_ALSO + 9; i++)
		told += braze_is_stored(a[i]) != 0;
	cr_assert_eq(told, 1 + LIMIT_DEMAND_ALSO);
	cr_assert(braze_is_stored(a[LIMIT_DEMAND_ALSO + 8]), "the newest are");
	for (unsigned i = 0; i < LIMIT_DEMAND_ALSO + 9; i++)
		braze_release(a[i]);
	end(f, s);
}

/* Two questions for one value would each say that the other reads it. */
Test(client_along, what_an_open_question_names_is_not_asked_for_again)
{
	struct fake *f = daemon_of(MINOR_ALSO, ALSO_STORED | ALSO_ALONE);
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_large(s), *b = fake_large(s), *c = fake_large(s), *d = NULL;
	braze_future *first = ask(f, a), *second = NULL;

	d = fake_large(s);
	second = ask(f, c);
	cr_assert(fake_saw(f, "DEMAND 1 also 3 2\n"));
	cr_assert(fake_saw(f, "DEMAND 3 also 4\n"));
	answered(f, second);
	answered(f, first);
	cr_assert(braze_is_stored(b) && braze_is_stored(d));
	braze_release(a);
	braze_release(b);
	braze_release(c);
	braze_release(d);
	end(f, s);
}

static void asks_for_one(int minor, unsigned flags)
{
	struct fake *f = daemon_of(minor, ALSO_STORED);
	braze_session *s = fake_connect(f, flags);
	braze_array *a = fake_large(s), *b = fake_large(s);

	demand(b);
	cr_assert(fake_saw(f, "DEMAND 2\n"));
	cr_assert_not(braze_is_stored(a));
	braze_release(a);
	braze_release(b);
	end(f, s);
}

Test(client_along, an_older_daemon_is_not_asked)
{
	asks_for_one(MINOR_ALSO - 1, 0);
}

Test(client_along, who_computes_nothing_near_does_not_ask)
{
	asks_for_one(MINOR_ALSO, BRAZE_UNFUSED);
}

/* ---- What is told ---- */

Test(client_along, what_is_told_is_at_hand)
{
	struct fake *f = daemon_of(MINOR_ALSO, ALSO_STORED);
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_large(s), *b = fake_op("sqrt", a, NULL), *v = NULL;
	uint64_t sent, waited;

	demand(b);
	sent = ops(s);
	waited = trips(s);
	v = first_element(a);
	braze_release(fake_op("add", v, v));
	cr_assert_eq(get(a), 1.0);
	cr_assert_eq(ops(s), sent);
	cr_assert_eq(trips(s), waited);
	braze_release(v);
	put(a, 5);
	cr_assert_gt(ops(s), sent, "others read it: the write is the daemon's to do");
	braze_release(a);
	braze_release(b);
	end(f, s);
}

Test(client_along, what_nothing_else_reads_is_written_without_a_message)
{
	struct fake *f = daemon_of(MINOR_ALSO, ALSO_STORED | ALSO_ALONE);
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_large(s), *b = fake_large(s);
	uint64_t sent;

	demand(b);
	sent = ops(s);
	put(a, 5);
	cr_assert_eq(get(a), 5.0);
	cr_assert_eq(ops(s), sent);
	braze_release(fake_op("add", a, a));
	cr_assert_eq(braze_flush(s, NULL), 0);
	cr_assert(fake_saw(f, "DIRTY <- 1\nADD "), "the daemon hears of it at the next use");
	braze_release(a);
	braze_release(b);
	end(f, s);
}

/* The daemon has not seen the operations when it answers. */
Test(client_along, what_was_used_or_written_since_is_not_believed)
{
	struct fake *f = daemon_of(MINOR_ALSO, ALSO_STORED | ALSO_ALONE);
	braze_session *s = fake_connect(f, 0);
	braze_array *used = fake_large(s), *written = fake_large(s), *b = fake_large(s),
		    *reader = NULL;
	braze_future *asked = ask(f, b);

	reader = fake_op("add", used, used);
	put(written, 7);
	answered(f, asked);
	cr_assert(braze_is_stored(used));
	cr_assert_not(braze_is_stored(written), "what is stored is the value before");
	put(used, 5);
	cr_assert_eq(braze_flush(s, NULL), 0);
	cr_assert(fake_saw(f, "ASSIGN <- "));
	cr_assert(fake_saw(f, "ASSIGN <- "), "recorded: the reader sees the value before");
	demand(written);
	cr_assert(fake_saw(f, "DEMAND 2"));
	braze_release(used);
	braze_release(written);
	braze_release(b);
	braze_release(reader);
	end(f, s);
}

Test(client_along, an_array_that_is_released_meanwhile_gives_its_place_to_no_other)
{
	struct fake *f = daemon_of(MINOR_ALSO, ALSO_STORED | ALSO_ALONE);
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_large(s), *b = fake_large(s), *other = NULL;
	braze_future *asked = ask(f, b);

	braze_release(a);
	other = fake_large(s);
	answered(f, asked);
	cr_assert_not(braze_is_stored(other));
	braze_release(other);
	braze_release(b);
	end(f, s);
}

Test(client_along, a_question_that_is_withdrawn_lets_go_of_all)
{
	struct fake *f = daemon_of(MINOR_ALSO, ALSO_STORED | ALSO_ALONE);
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_large(s), *b = fake_large(s);
	braze_future *asked = ask(f, b);

	braze_release(a);
	braze_future_release(asked);
	f->hold = false;
	demand(b);
	braze_release(b);
	end(f, s);
}

Test(client_along, what_was_told_outlives_the_connection)
{
	struct fake *f = daemon_of(MINOR_ALSO, ALSO_STORED);
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_large(s), *b = fake_large(s);

	demand(b);
	braze_disconnect(s);
	cr_assert_eq(get(a), 1.0);
	braze_release(a);
	braze_release(b);
	end(f, s);
}

Test(client_along, a_daemon_may_tell_of_none)
{
	struct fake *f = daemon_of(MINOR_ALSO, ALSO_STORED);
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_large(s), *b = fake_large(s);

	f->also_less = -1;
	demand(b);
	cr_assert_not(braze_is_stored(a));
	braze_release(a);
	braze_release(b);
	end(f, s);
}

/* ---- Answers that are wrong ---- */

static void refuses(struct fake *f, const char *why)
{
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_large(s), *c = fake_large(s), *b = fake_large(s);
	braze_error e = {0};
	braze_future *asked = NULL;

	cr_assert_eq(braze_demand(&asked, 1, &b, NULL), 0);
	cr_assert_eq(braze_wait(asked, -1, NULL, NULL, &e), BRAZE_E_PROTOCOL);
	cr_assert(strstr(e.text, why), "%s", e.text);
	cr_assert_not(braze_at_hand(a));
	braze_future_release(asked);
	braze_release(a);
	braze_release(b);
	braze_release(c);
	end(f, s);
}

Test(client_along, too_few_words_are_refused)
{
	struct fake *f = daemon_of(MINOR_ALSO, ALSO_STORED);

	f->also_less = 1;
	f->also = 0;
	refuses(f, "1 words tell of 2 arrays");
}

Test(client_along, storage_outside_the_arena_is_refused)
{
	struct fake *f = daemon_of(MINOR_ALSO, ALSO_STORED);

	f->also_at = FAKE_ARENA - HOST_ALIGN;
	refuses(f, "outside the arena");
}

/* ---- Of an earlier version ---- */

Test(client_along, bfloat16_is_for_daemons_that_know_it)
{
	static const int64_t n = 3, step = 2;
	static const uint16_t bits[3] = {0x3f80, 0x4000, 0x4040};

	for (int minor = MINOR_BRAIN - 1; minor <= MINOR_BRAIN; minor++) {
		struct fake *f = daemon_of(minor, 0);
		braze_session *s = fake_connect(f, 0);
		braze_array *a = fake_large(s), *b = NULL;
		braze_error err = {0};
		int want = minor < MINOR_BRAIN ? BRAZE_E_UNSUPPORTED : 0;

		cr_assert_eq(braze_cast(&b, a, BRAZE_BFLOAT16, &err), want);
		cr_assert(!want || strstr(err.text, "bfloat16"));
		if (b)
			braze_release(b);
		b = NULL;
		cr_assert_eq(braze_from_data(&b, s, BRAZE_BFLOAT16, 1, &n, NULL, bits, &err), want);
		if (b)
			braze_release(b);
		b = NULL;
		cr_assert_eq(braze_view(&b, a, BRAZE_BFLOAT16, 1, &n, &step, 0, &err), want);
		if (b)
			braze_release(b);
		braze_release(a);
		end(f, s);
	}
}
