/* SPDX-License-Identifier: Apache-2.0 */
/* Floating-point errors in the client library: what is recorded for a check, and what
 * its answer does. */
#include "fake_daemon.h"

static unsigned told, told_error;

static void tell(void *data, const braze_report *r)
{
	cr_assert_eq(data, &told);
	cr_assert_str_eq(r->op, "sqrt");
	told_error = r->error;
	told++;
}

Test(client_watch, a_checked_op_is_followed_by_its_check_and_others_by_nothing)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 4);

	braze_watch_errors(s, BRAZE_INVALID, 0, NULL, NULL);
	braze_array *r = fake_op("sqrt", a, NULL), *m = fake_op("maximum", a, a);
	cr_assert_eq(braze_flush(s, NULL), 0);
	cr_assert(fake_saw(f, "SQRT 2 <- 1\n"
			      "NOT_EQUAL 3 <- 2 2\n"
			      "EQUAL 4 <- 1 1\n"
			      "LOGICAL_AND 5 <- 3 4\n"
			      "ANY 6 <- 5 [1]\n"
			      "DROP <- 5\nDROP <- 4\nDROP <- 3\n"
			      "MAXIMUM 3 <- 1 1\n"));
	braze_release(m);
	braze_release(r); /* with its flag */
	braze_watch_errors(s, 0, 0, NULL, NULL);
	r = fake_op("sqrt", a, NULL);
	cr_assert_eq(braze_flush(s, NULL), 0);
	cr_assert(fake_saw(f, "DROP <- 3\nDROP <- 2\nDROP <- 6\nSQRT 6 <- 1\n"));
	braze_release(r);
	braze_release(a);
	braze_close(s);
	fake_stop(f);
}

Test(client_watch, who_reads_asks_for_the_flags_too_and_is_refused_each_time)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 4);
	braze_error e = {0};
	double v[4];

	braze_watch_errors(s, BRAZE_INVALID, 0, NULL, NULL);
	braze_array *r = fake_op("sqrt", a, NULL), *clean = fake_op("sqrt", a, NULL);
	braze_watch_errors(s, 0, 0, NULL, NULL);
	braze_array *next = fake_op("negative", r, NULL), *other = fake_op("negative", a, NULL);
	cr_assert_eq(braze_read(v, clean, &e), 0, "%s", e.text);
	f->truth = true;
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(braze_read(v, r, &e), BRAZE_E_FLOATING);
		cr_assert_str_eq(e.text, "invalid value encountered in sqrt");
		cr_assert_eq(braze_read(v, next, &e), BRAZE_E_FLOATING, "it depends on r");
	}
	cr_assert_eq(braze_read(v, other, &e), 0);
	cr_assert_eq(braze_assign(r, braze_arg_array(a), &e), 0);
	cr_assert_eq(braze_read(v, r, &e), 0, "it was overwritten");
	cr_assert(fake_saw(f, "DEMAND 2 6\n"), "one demand for the value and its flag");
	braze_release(other);
	braze_release(next);
	braze_release(clean);
	braze_release(r);
	braze_release(a);
	braze_close(s);
	fake_stop(f);
}

Test(client_watch, a_report_is_given_once_and_the_value_with_it)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 4), *both[2];
	braze_future *future = NULL;
	braze_error e = {0};
	double v[4];

	f->truth = true;
	braze_watch_errors(s, 0, BRAZE_INVALID, tell, &told);
	both[0] = fake_op("sqrt", a, NULL);
	both[1] = fake_op("negative", both[0], NULL);
	cr_assert_eq(braze_demand(&future, 2, both, &e), 0);
	cr_assert_eq(braze_wait(future, -1, NULL, NULL, &e), 0, "%s", e.text);
	cr_assert_eq(told, 1);
	cr_assert_eq(told_error, BRAZE_INVALID);
	cr_assert_eq(braze_read(v, both[1], &e), 0);
	cr_assert_eq(braze_read(v, both[0], &e), 0);
	cr_assert_eq(told, 1);
	braze_future_release(future);
	braze_release(both[0]);
	braze_release(both[1]);
	braze_release(a);
	braze_close(s);
	fake_stop(f);
}

Test(client_watch, flags_that_nobody_reads_are_asked_for_in_batches)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 4), *r[1000];
	struct braze_counters c;

	braze_watch_errors(s, BRAZE_INVALID, 0, NULL, NULL);
	for (int i = 0; i < 1000; i++)
		r[i] = fake_op("sqrt", a, NULL);
	braze_get_counters(s, &c);
	cr_assert(c.demands >= 7 && c.demands <= 16, "%llu", (unsigned long long)c.demands);
	for (int i = 0; i < 1000; i++)
		braze_release(r[i]);
	braze_release(a);
	braze_close(s); /* the sanitizers see to it that nothing stays */
	fake_stop(f);
}
