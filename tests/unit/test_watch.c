/* SPDX-License-Identifier: Apache-2.0 */
/* The watchdog's judgement, tick by tick, of what threads show and the system says. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/executor_impl.h"

#define S 1000000000ll

static struct progress page;
static struct watch w;
static struct proc_task task[4]; /* by thread id; 0: none */

static bool fake(struct proc_task *out, pid_t pid, uint32_t tid)
{
	*out = task[tid];
	return task[tid].state != 0;
}

static enum watch_verdict look(void)
{
	return watch_look(&w, &page, true, S, fake, 1);
}

/* Thread 0 waits for the others, as the command thread does, and shows that it does. */
static void setup(void)
{
	memset(&page, 0, sizeof page);
	watch_init(&w);
	for (unsigned i = 0; i < 3; i++) {
		page.thread[i].tid = i + 1;
		page.thread[i].ticket = i < 2 ? 77 : 0;
		task[i + 1] = (struct proc_task){.state = 'S', .cpu_ns = 5 * S};
	}
	cr_assert_eq(look(), WATCH_MOVES);
}

/* `ticks` looks at thread 2, which is in this state and uses so much in each. */
static enum watch_verdict ticks(int n, char state, int64_t cpu_ns)
{
	enum watch_verdict v = WATCH_MOVES;

	for (int i = 0; i < n; i++) {
		page.thread[0].turns++;
		task[2].state = state;
		task[2].cpu_ns += cpu_ns;
		v = look();
		if (v > WATCH_WAITS)
			break;
	}
	return v;
}

TestSuite(watch, .init = setup);

Test(watch, two_seconds_of_a_core_without_progress_are_a_hang)
{
	cr_assert_eq(ticks(1, 'R', S), WATCH_WAITS);
	cr_assert_eq(ticks(1, 'R', S), WATCH_HANGS);
	cr_assert_eq(w.worst, 2);
}

/* One core of ten busy processes: a tenth of a second in each. */
Test(watch, a_starved_thread_is_waited_for_until_it_had_its_share)
{
	cr_assert_eq(ticks(19, 'R', S / 10), WATCH_WAITS);
	page.thread[1].turns++; /* a unit is done */
	cr_assert_eq(ticks(19, 'R', S / 10), WATCH_WAITS);
	cr_assert_eq(ticks(2, 'R', S / 10), WATCH_HANGS);
}

Test(watch, one_that_gets_nothing_is_waited_for_for_ever)
{
	cr_assert_eq(ticks(1000, 'R', 0), WATCH_WAITS);
	cr_assert_eq(w.waits, 1000);
}

Test(watch, stopped_or_paging_it_is_waited_for_for_ever)
{
	static const char state[] = {'T', 't', 'D', 'I'};

	for (unsigned i = 0; i < sizeof state; i++)
		cr_assert_eq(ticks(100, state[i], 0), WATCH_WAITS, "%c", state[i]);
}

Test(watch, asleep_for_ten_seconds_nobody_wakes_it)
{
	cr_assert_eq(ticks(9, 'S', 0), WATCH_WAITS);
	cr_assert_eq(ticks(1, 'S', 0), WATCH_SLEEPS);
}

Test(watch, sleeps_between_work_do_not_add_up)
{
	for (int i = 0; i < 20; i++) {
		cr_assert_eq(ticks(9, 'S', 0), WATCH_WAITS);
		cr_assert_eq(ticks(1, 'S', 10000000), WATCH_WAITS);
	}
	for (int i = 0; i < 20; i++) {
		cr_assert_eq(ticks(9, 'S', 0), WATCH_WAITS);
		cr_assert_eq(ticks(1, 'D', 0), WATCH_WAITS);
	}
}

/* What it used for the work before does not count, nor does another thread's. */
Test(watch, a_new_unit_begins_anew)
{
	for (int i = 0; i < 10; i++) {
		cr_assert_lt(ticks(1, 'R', 3 * S / 2), WATCH_SLEEPS);
		page.thread[1].turns++;
	}
	task[1].cpu_ns += 100 * S; /* turned each time */
	cr_assert_lt(ticks(1, 'R', S), WATCH_SLEEPS);
}

Test(watch, an_idle_thread_may_sleep)
{
	page.thread[1].ticket = 0;
	cr_assert_eq(ticks(100, 'S', 0), WATCH_MOVES);
}

Test(watch, the_command_thread_may_sleep_only_when_there_is_nothing_to_do)
{
	enum watch_verdict v = WATCH_MOVES;

	page.thread[0].ticket = page.thread[1].ticket = 0;
	for (int i = 0; i < 20; i++)
		v = watch_look(&w, &page, false, S, fake, 1);
	cr_assert_eq(v, WATCH_MOVES);
	for (int i = 0; i < 20 && v < WATCH_SLEEPS; i++)
		v = look();
	cr_assert_eq(v, WATCH_SLEEPS);
	cr_assert_eq(w.worst, 1);
}

/* What /proc says of a process that spins, sleeps, is stopped, is gone. */
Test(watch, the_system_tells_what_a_thread_does, .timeout = 60)
{
	struct proc_task t = {0};
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			;
	while (!proc_task(&t, pid, (uint32_t)pid) || t.cpu_ns < S / 10)
		usleep(1000);
	cr_assert_eq(t.state, 'R', "%c", t.state);
	kill(pid, SIGSTOP);
	cr_assert_eq(waitpid(pid, NULL, WUNTRACED), pid);
	cr_assert(proc_task(&t, pid, (uint32_t)pid));
	cr_assert_eq(t.state, 'T', "%c", t.state);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	cr_assert_not(proc_task(&t, pid, (uint32_t)pid));
}
