/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_spin.c - looking for a message for a moment. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "spin.h"

Test(spin, a_setting_is_auto_or_microseconds)
{
	static const char *const wrong[] = {"1.5", "ten", "-1", "5us", " ", "99999999999999999999"};
	int64_t ns = -1, by_cores = -1;

	cr_assert(spin_time(&by_cores, NULL));
	cr_assert(by_cores == 0 || by_cores == SPIN_AUTO_US * 1000);
	cr_assert(spin_time(&ns, "auto") && ns == by_cores);
	cr_assert(spin_time(&ns, "") && ns == by_cores);
	cr_assert(spin_time(&ns, "0") && ns == 0);
	cr_assert(spin_time(&ns, "70") && ns == 70000);
	cr_assert(spin_time(&ns, "9999999") && ns == SPIN_MOST_US * 1000, "at most so long");
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		ns = -1;
		cr_assert_not(spin_time(&ns, wrong[i]), "%s", wrong[i]);
		cr_assert_eq(ns, by_cores, "%s", wrong[i]);
	}
}

/* By itself only where somebody else has a core meanwhile. */
Test(spin, auto_counts_the_cores_that_may_be_used)
{
	cpu_set_t all, one;
	int64_t ns = -1;

	cr_assert_eq(sched_getaffinity(0, sizeof all, &all), 0);
	CPU_ZERO(&one);
	for (size_t i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	cr_assert_eq(sched_setaffinity(0, sizeof one, &one), 0);
	cr_assert(spin_time(&ns, "auto") && ns == 0);
	cr_assert(spin_time(&ns, "100") && ns == 100000, "who asks for it gets it");
}

/* What took short is looked for as long, and half as long again; a long wait is no measure. */
Test(spin, a_pace_follows_what_waits_took)
{
	struct spin_pace p = {0};
	int64_t last;

	cr_assert_eq(spin_pace_time(&p, 100000), 100000);
	for (int i = 0; i < 20; i++)
		spin_pace_note(&p, 400000);
	cr_assert_eq(spin_pace_time(&p, 100000), 700000);
	cr_assert_eq(spin_pace_time(&p, 0), 0, "who does not look looks for nothing");
	spin_pace_note(&p, 60ll * 1000000000);
	last = spin_pace_time(&p, 100000);
	cr_assert(last < 700000 && last > 600000, "one thought is not forgotten for");
	for (int i = 0; i < 200; i++)
		spin_pace_note(&p, 60ll * 1000000000);
	cr_assert_lt(spin_pace_time(&p, 100000), 101000, "runs of a minute are not looked for");
	for (int i = 0; i < 20; i++)
		spin_pace_note(&p, SPIN_LONG_US * 1000);
	cr_assert_eq(spin_pace_time(&p, 100000), 100000 + SPIN_LONG_US * 1000, "at most so long");
}

static void *write_later(void *fd)
{
	usleep(2000);
	cr_assert_eq(write(*(int *)fd, "x", 1), 1);
	return NULL;
}

Test(spin, it_sees_what_comes_and_does_not_wait_for_ever)
{
	pthread_t t;
	int s[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s), 0);
	cr_assert_not(spin_readable(s[0], 0));
	cr_assert_not(spin_readable(s[0], 100000), "nothing came");
	pthread_create(&t, NULL, write_later, &s[1]);
	cr_assert(spin_readable(s[0], INT64_C(10000000000)));
	pthread_join(t, NULL);
	cr_assert_not(spin_readable(s[0], 0), "who may not look does not see");
	cr_assert(spin_readable(s[0], 1));
	close(s[1]);
	cr_assert(spin_readable(s[0], 1), "the end of a connection is to be read as well");
	close(s[0]);
}
