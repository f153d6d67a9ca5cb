/* SPDX-License-Identifier: Apache-2.0 */
/* Demands, futures, fences, leases, and what happens when the daemon misbehaves. */
#include "fake_daemon.h"

#include <signal.h>
#include <sys/wait.h>

static double first(braze_array *a)
{
	const void *p = NULL;
	braze_error e = {0};

	cr_assert_eq(braze_data(&p, a, NULL, NULL, &e), 0, "%s", e.text);
	return *(const double *)p;
}

Test(client_wait, a_value_is_asked_for_once_until_it_is_written)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 4), *b = fake_op("add", a, a), *v = NULL;
	struct braze_counters c;

	cr_assert(braze_is_stored(a), "host data needs no demand");
	cr_assert_not(braze_is_stored(b));
	cr_assert_eq(first(b), 2.0);
	cr_assert(fake_saw(f, "ADD 2 <- 1 1\nDEMAND 2\n"));
	cr_assert_eq(braze_slice(&v, b, (int64_t[]){1}, (int64_t[]){2}, (int64_t[]){1}, NULL), 0);
	cr_assert_eq(first(v), 2.0);
	braze_get_counters(s, &c);
	cr_assert_eq(c.demands, 1);
	cr_assert_eq(c.round_trips, 1);
	cr_assert_eq(braze_assign(v, braze_arg_double(1), NULL), 0);
	cr_assert_not(braze_is_stored(b), "a write through a view is seen through the base");
	cr_assert_eq(first(b), 2.0);
	braze_get_counters(s, &c);
	cr_assert_eq(c.demands, 2);
	double got[2];
	cr_assert_eq(braze_read(got, v, NULL), 0);
	braze_release(a);
	braze_release(b);
	braze_release(v);
	braze_close(s);
	fake_stop(f);
}

Test(client_wait, many_arrays_in_one_demand)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 4), *r[600];
	braze_future *fu = NULL;

	for (int i = 0; i < 600; i++)
		r[i] = fake_op("add", a, a);
	cr_assert_eq(braze_demand(&fu, 600, r, NULL), 0);
	cr_assert_eq(braze_wait(fu, -1, NULL, NULL, NULL), 0);
	for (int i = 0; i < 600; i++) {
		cr_assert(braze_is_stored(r[i]));
		cr_assert_eq(first(r[i]), i + 2.0);
		braze_release(r[i]);
	}
	braze_future_release(fu);
	braze_release(a);
	braze_close(s);
	fake_stop(f);
}

Test(client_wait, a_timeout_leaves_the_future_and_the_answer_still_comes)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 4), *b = fake_op("add", a, a);
	braze_future *fu = NULL;

	f->hold = true;
	cr_assert_eq(braze_demand(&fu, 1, &b, NULL), 0);
	cr_assert_eq(braze_wait(fu, 0, NULL, NULL, NULL), BRAZE_E_TIMEOUT);
	cr_assert_eq(braze_wait(fu, 30, NULL, NULL, NULL), BRAZE_E_TIMEOUT);
	f->hold = false;
	cr_assert_eq(braze_wait(fu, -1, NULL, NULL, NULL), 0);
	cr_assert_eq(first(b), 2.0);
	braze_future_release(fu);
	braze_release(a);
	braze_release(b);
	braze_close(s);
	fake_stop(f);
}

static int stop_at_third(void *data)
{
	return ++*(int *)data == 3;
}

Test(client_wait, an_interrupted_wait_cancels_and_the_array_can_be_asked_again)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 4), *b = fake_op("add", a, a);
	const void *p;
	int looks = 0;
	braze_error e = {0};

	f->hold = true;
	cr_assert_eq(braze_data(&p, b, stop_at_third, &looks, &e), BRAZE_E_INTERRUPTED);
	cr_assert_eq(e.code, BRAZE_E_INTERRUPTED);
	cr_assert_str_eq(braze_error_python(e.code), "KeyboardInterrupt");
	cr_assert_eq(looks, 3);
	cr_assert_eq(f->cancels, 1);
	f->hold = false;
	cr_assert_eq(first(b), 2.0);
	braze_release(a);
	braze_release(b);
	braze_close(s);
	fake_stop(f);
}

/* The answer is on its way when the waiter is told to stop. */
static int stop_too_late(void *data)
{
	struct fake *f = data;

	f->hold = false;
	usleep(100000);
	return 1;
}

Test(client_wait, who_is_told_to_stop_gets_no_value_though_it_came_meanwhile)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 4), *b = fake_op("add", a, a);
	braze_error e = {0};
	const void *p;

	f->hold = true;
	cr_assert_eq(braze_data(&p, b, stop_too_late, f, &e), BRAZE_E_INTERRUPTED);
	cr_assert_eq(e.code, BRAZE_E_INTERRUPTED);
	cr_assert_eq(first(b), 2.0);
	braze_release(a);
	braze_release(b);
	braze_close(s);
	fake_stop(f);
}

struct waiter {
	braze_future *future;
	int result;
};

static void *wait_for_it(void *data)
{
	struct waiter *w = data;

	w->result = braze_wait(w->future, 5000, NULL, NULL, NULL);
	return NULL;
}

Test(client_wait, threads_wait_for_futures_of_their_own)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 4), *r[6];
	struct waiter w[6];
	pthread_t t[6];

	f->hold = true;
	for (int i = 0; i < 6; i++) {
		r[i] = fake_op("add", a, a);
		w[i].result = -1;
		cr_assert_eq(braze_demand(&w[i].future, 1, &r[i], NULL), 0);
		pthread_create(&t[i], NULL, wait_for_it, &w[i]);
	}
	usleep(30000);
	/* Others may record while they wait. */
	braze_release(fake_op("add", a, a));
	f->hold = false;
	for (int i = 0; i < 6; i++) {
		pthread_join(t[i], NULL);
		cr_assert_eq(w[i].result, 0);
		cr_assert_eq(first(r[i]), i + 2.0);
		braze_future_release(w[i].future);
		braze_release(r[i]);
	}
	braze_release(a);
	braze_close(s);
	fake_stop(f);
}

static void *record_many(void *data)
{
	braze_array *a = data;

	for (int i = 0; i < 3000; i++) {
		braze_array *b = fake_op("add", a, a), *c = fake_op("sqrt", b, NULL);
		if (i % 500 == 0)
			first(c);
		braze_release(b);
		braze_release(c);
	}
	return NULL;
}

Test(client_wait, threads_record_on_one_session)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 4);
	pthread_t t[4];
	struct braze_counters c;

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, record_many, a);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	braze_get_counters(s, &c);
	cr_assert_eq(c.ops, 1 + 4 * 3000 * 4);
	braze_release(a);
	braze_close(s);
	fake_stop(f);
}

Test(client_wait, a_failed_array_gives_the_daemons_words)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 4), *b = fake_op("add", a, a);
	const void *p = NULL;
	braze_error e = {0};

	f->fail = E_LOST;
	cr_assert_eq(braze_data(&p, b, NULL, NULL, &e), E_LOST);
	cr_assert_str_eq(e.text, "as the script says");
	cr_assert_null(p);
	f->fail = 0;
	cr_assert_eq(first(b), 2.0, "a failure is not remembered by the client");
	braze_release(a);
	braze_release(b);
	braze_close(s);
	fake_stop(f);
}

Test(client_wait, a_vanished_daemon_ends_every_wait_and_stored_data_stays_readable)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 4), *b = fake_op("add", a, a), *r = NULL;
	const void *p;
	braze_arg arg = braze_arg_array(a);
	braze_error e = {0};

	f->vanish = true;
	cr_assert_eq(braze_data(&p, b, NULL, NULL, &e), E_DAEMON_GONE);
	cr_assert_eq(braze_apply(&r, s, OP_SQRT, 1, &arg, &e), E_DAEMON_GONE);
	cr_assert_eq(braze_session_error(s, &e), E_DAEMON_GONE);
	cr_assert_eq(first(a), 0.0);
	braze_release(b);
	braze_close(s);
	cr_assert_eq(first(a), 0.0, "also after the session was closed");
	cr_assert_eq(braze_slice(&r, a, &(int64_t){1}, &(int64_t){2}, &(int64_t){1}, &e), 0);
	cr_assert_eq(braze_data(&p, r, NULL, NULL, &e), 0);
	braze_release(r);
	arg = braze_arg_array(a);
	cr_assert_eq(braze_apply(&r, s, OP_SQRT, 1, &arg, &e), E_DAEMON_GONE, "closed");
	braze_release(a);
	fake_stop(f);
}

/* The daemon's replies fill the socket while the client keeps sending: without
 * draining both would wait for ever. */
Test(client_wait, a_sender_takes_replies_in, .timeout = 60)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, BRAZE_NO_START);
	braze_array *a = fake_array(s, 4);

	braze_set_flags(s, BRAZE_UNFUSED);
	for (int i = 0; i < 4000; i++)
		braze_release(fake_op("add", a, a));
	braze_release(a);
	braze_close(s);
	fake_stop(f);
}

static void *listen_later(void *data)
{
	struct fake *f = data;

	usleep(200000);
	f->deaf = false;
	return NULL;
}

Test(client_wait, a_full_socket_only_delays_sending, .timeout = 60)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 4);
	struct braze_counters c;
	pthread_t t;

	f->deaf = true;
	pthread_create(&t, NULL, listen_later, f);
	for (int i = 0; i < 40000; i++)
		braze_release(fake_op("add", a, a));
	pthread_join(t, NULL);
	braze_get_counters(s, &c);
	cr_assert_eq(c.ops, 80001);
	cr_assert_eq(braze_session_error(s, NULL), 0);
	braze_release(a);
	braze_close(s);
	fake_stop(f);
}

/* ---- Writing in place ---- */

Test(client_wait, host_writes_are_fenced_and_marked)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = NULL, *b, *c;
	void *p = NULL, *q = NULL;

	cr_assert_eq(braze_alloc(&a, &p, s, BRAZE_FLOAT64, 1, (int64_t[]){4}, NULL), 0);
	cr_assert(braze_is_writable(a));
	((double *)p)[0] = 5;
	b = fake_op("add", a, a);
	cr_assert_not(braze_is_writable(a));
	cr_assert(braze_is_stored(a));
	c = fake_op("add", a, a);
	cr_assert_eq(braze_fence(&q, a, NULL, NULL, NULL), 0);
	cr_assert(fake_saw(f, "IMPORT.float64 1 <- [0 1 4]\nDIRTY <- 1\nADD 2 <- 1 1\n"
			      "ADD 3 <- 1 1\nFENCE 1\n"));
	cr_assert_eq(*(double *)q, 1.0, "where the daemon says the buffer lies now");
	((double *)q)[0] = 6;
	cr_assert_eq(first(a), 6.0);
	cr_assert_eq(braze_fence(&q, a, NULL, NULL, NULL), 0);
	braze_assign(a, braze_arg_double(0), NULL);
	braze_flush(s, NULL);
	cr_assert(fake_saw(f, "DIRTY <- 1\nASSIGN <- 1 weak.float64 [0]\n"));
	cr_assert_not(braze_is_stored(a));
	braze_release(a);
	braze_release(b);
	braze_release(c);
	braze_close(s);
	fake_stop(f);
}

Test(client_wait, unused_host_data_is_fenced_without_a_round_trip)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 4);
	struct braze_counters c;
	void *p = NULL;

	cr_assert_not(braze_is_writable(a));
	cr_assert(braze_is_ours(a));
	cr_assert_eq(braze_fence(&p, a, NULL, NULL, NULL), 0);
	braze_get_counters(s, &c);
	cr_assert_eq(c.round_trips, 0);
	((double *)p)[1] = 9;
	braze_release(fake_op("add", a, a));
	braze_flush(s, NULL);
	cr_assert(fake_saw(f, "DIRTY <- 1\nADD 2 <- 1 1\n"));
	braze_release(a);
	braze_close(s);
	fake_stop(f);
}

Test(client_wait, a_snapshot_is_pinned_in_order_and_may_not_be_written)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 4), *n = NULL;
	void *p = NULL;
	braze_error e = {0};

	cr_assert_eq(braze_fence(&p, a, NULL, NULL, NULL), 0);
	cr_assert_eq(braze_snapshot(&n, a, NULL), 0);
	cr_assert_not(braze_is_writable(a), "the snapshot would see the write");
	cr_assert_not(braze_is_ours(a));
	cr_assert_eq(braze_assign(a, braze_arg_double(1), NULL), 0);
	cr_assert_eq(first(n), 0.0);
	cr_assert_eq(braze_assign(n, braze_arg_double(1), &e), E_READONLY);
	cr_assert_eq(braze_fence(&p, n, NULL, NULL, &e), E_READONLY);
	braze_release(n);
	braze_flush(s, NULL);
	cr_assert(fake_saw(f, "DIRTY <- 1\nPIN 2 <- 1\nASSIGN <- 1 weak.float64 "
			      "[0x3ff0000000000000]\nDROP <- 2\n"));
	braze_release(a);
	braze_close(s);
	fake_stop(f);
}

/* ---- The rest of a session's life ---- */

Test(client_wait, leases_are_renewed_and_tails_given_back)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a[53];
	int64_t n = 20000;
	void *p = NULL;

	for (int k = 0; k < 53; k++)
		cr_assert_eq(braze_alloc(&a[k], &p, s, BRAZE_UINT8, 1, &n, NULL), 0);
	cr_assert(fake_saw(f, "UNLEASE 1041664 6912\n"));
	cr_assert(fake_saw(f, "LEASE 67108864\n"));
	memset(p, 1, (size_t)n);
	cr_assert_eq(f->arena[FAKE_LEASE], 1);
	for (int k = 0; k < 53; k++)
		braze_release(a[k]);
	braze_close(s);
	fake_stop(f);
}

static void alloc_and_drop(braze_session *s, int64_t n)
{
	braze_array *a = NULL;
	void *p = NULL;

	cr_assert_eq(braze_alloc(&a, &p, s, BRAZE_UINT8, 1, &n, NULL), 0);
	memset(p, 1, (size_t)n);
	braze_release(a);
}

Test(client_wait, leases_of_a_size_that_comes_again_are_asked_for_together)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	const uint64_t trips[] = {0, 1, 2, 2, 3, 3, 3, 3, 4};
	struct braze_counters c;

	for (size_t k = 0; k < sizeof trips / sizeof *trips; k++) {
		alloc_and_drop(s, 61688);
		braze_get_counters(s, &c);
		cr_assert_eq(c.round_trips, trips[k], "%zu: %llu", k,
			     (unsigned long long)c.round_trips);
	}
	cr_assert(fake_saw(f, "LEASE 61696\n"));
	cr_assert_not(fake_saw(f, "UNLEASE"));
	/* Of other sizes one is enough; then the first ones' spares go back. */
	for (int k = 1; k < 4; k++)
		alloc_and_drop(s, 61688 + 128 * k);
	cr_assert_not(fake_saw(f, "UNLEASE"));
	alloc_and_drop(s, 70000);
	cr_assert(fake_saw(f, " 61696\nUNLEASE"));
	braze_get_counters(s, &c);
	cr_assert_eq(c.round_trips, 4);
	braze_close(s);
	fake_stop(f);
}

Test(client_wait, a_large_array_has_a_lease_of_its_own)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = NULL, *b = NULL;
	int64_t n = FAKE_LEASE / 2 + 8, few = 100;
	void *p = NULL, *q = NULL;

	cr_assert_eq(braze_alloc(&a, &p, s, BRAZE_UINT8, 1, &n, NULL), 0);
	cr_assert(fake_saw(f, "LEASE 528384\n"));
	memset(p, 1, (size_t)n);
	cr_assert_eq(f->arena[FAKE_LEASE], 1);
	cr_assert_eq(braze_alloc(&b, &q, s, BRAZE_UINT8, 1, &few, NULL), 0);
	memset(q, 2, (size_t)few);
	cr_assert_eq(f->arena[0], 2, "the first lease is still there");
	braze_release(a);
	braze_release(b);
	braze_close(s);
	fake_stop(f);
}

Test(client_wait, an_eager_session_waits_for_every_op)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, BRAZE_EAGER);
	braze_array *a = fake_array(s, 4), *b = fake_op("add", a, a), *r = NULL;
	braze_arg arg = braze_arg_array(a);
	braze_error e = {0};

	cr_assert(braze_is_stored(b));
	f->fail = E_DEVICE;
	cr_assert_eq(braze_apply(&r, s, OP_SQRT, 1, &arg, &e), E_DEVICE);
	cr_assert_eq(braze_set_flags(s, 0), BRAZE_EAGER);
	cr_assert_eq(braze_apply(&r, s, OP_SQRT, 1, &arg, &e), 0);
	cr_assert_not(braze_is_stored(r));
	braze_release(a);
	braze_release(b);
	braze_release(r);
	braze_close(s);
	fake_stop(f);
}

Test(client_wait, a_forked_child_is_refused_and_sends_nothing)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 4), *b = fake_op("add", a, a);
	int how = 0;

	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		braze_array *r = NULL;
		braze_arg arg = braze_arg_array(a);
		const void *p;
		braze_error e = {0};
		bool ok = braze_apply(&r, s, OP_SQRT, 1, &arg, &e) == BRAZE_E_FORKED;
		ok = ok && braze_data(&p, b, NULL, NULL, &e) == BRAZE_E_FORKED;
		ok = ok && braze_session_error(s, &e) == BRAZE_E_FORKED;
		braze_release(a);
		braze_release(b);
		braze_close(s);
		_exit(ok ? 0 : 1);
	}
	cr_assert_eq(waitpid(child, &how, 0), child);
	cr_assert(WIFEXITED(how) && WEXITSTATUS(how) == 0);
	cr_assert_eq(first(b), 2.0, "the parent's session goes on");
	braze_release(a);
	braze_release(b);
	braze_close(s);
	fake_stop(f);
}

static int depth;

static void *give_up(void *data)
{
	++*(int *)data;
	depth--;
	return data;
}

static void take_back(void *data, void *token)
{
	cr_assert_eq(data, token);
	depth++;
}

Test(client_wait, the_owners_lock_is_let_go_of_only_while_waiting)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	int left = 0;

	depth = 1;
	braze_set_owner(s, &(struct braze_owner){give_up, take_back, &left});
	braze_array *a = fake_array(s, 4), *b = NULL;
	for (int i = 0; i < 3000; i++) {
		cr_assert_eq(braze_binary(&b, OP_ADD, a, a, NULL), 0);
		braze_release(b);
	}
	cr_assert_eq(braze_unary(&b, OP_EXP, a, NULL), 0);
	cr_assert_eq(left, 0);
	first(b);
	cr_assert_eq(left, 1);
	cr_assert_eq(depth, 1);
	braze_set_owner(s, NULL);
	braze_release(a);
	braze_release(b);
	braze_close(s);
	fake_stop(f);
}

Test(client_wait, connecting_to_nothing_says_where_it_looked)
{
	struct braze_options o = {.size = sizeof(o), .socket = "/nonexistent/braze.sock"};
	braze_session *s = NULL;
	braze_error e = {0};

	cr_assert_eq(braze_connect(&s, &o, &e), E_CONNECT);
	cr_assert_not_null(strstr(e.text, "/nonexistent/braze.sock"));
	cr_assert_null(s);
}
