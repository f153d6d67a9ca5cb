/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that a worker is asked to let go of: asked or not, answered, or dead. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/executor_impl.h"

static uv_loop_t loop;
static uv_timer_t watch;
static struct progress page;
static struct executor x;
static int peer;     /* the worker's end */
static pid_t worker; /* a child that sleeps; 0: it has been collected */

/* Only ever a child of this process. */
static void end_worker(void)
{
	if (worker <= 0)
		return;
	kill(worker, SIGKILL);
	waitpid(worker, NULL, 0);
	worker = 0;
}

static void setup(void)
{
	int pair[2];

	uv_loop_init(&loop);
	uv_timer_init(&loop, &watch);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	worker = fork();
	if (worker == 0) {
		pause();
		_exit(0);
	}
	cr_assert_gt(worker, 0);
	x = (struct executor){.loop = &loop,
			      .target = 1,
			      .pid = worker,
			      .fd = pair[0],
			      .progress = &page,
			      .watch = &watch,
			      .patience_ns = 1000000};
	watch.data = &x;
	watch_init(&x.watched);
	x.watched.tick_ms = 1;
	x.unsent_tail = &x.unsent;
	peer = pair[1];
	atomic_store(&page.registered_bytes, 4096);
}

static void teardown(void)
{
	end_worker();
	uv_close((uv_handle_t *)&watch, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(&loop), 0);
}

TestSuite(release, .init = setup, .fini = teardown, .timeout = 30);

static void count(void *data)
{
	++*(int *)data;
}

static bool ask(uint64_t offset, int *done)
{
	struct command_range r = {offset, 4096};

	return executor_release(&x, 7, &r, count, done);
}

static struct command question(void)
{
	struct command c = {0};

	cr_assert_eq(recv(peer, &c, sizeof c, 0), (ssize_t)sizeof c);
	cr_assert_eq(c.kind, CMD_RELEASE);
	cr_assert_eq(c.id, 7);
	cr_assert_eq(c.arg, 4096);
	return c;
}

Test(release, answers_find_their_questions)
{
	int first = 0, second = 0;
	struct command a, b, other;

	cr_assert(ask(0, &first));
	cr_assert(ask(8192, &second));
	a = question();
	b = question();
	cr_assert(!first && !second, "not before the answer");
	other = a;
	other.ticket = 1;
	release_answered(&x, &other);
	cr_assert(!first && !second);
	release_answered(&x, &b);
	cr_assert(!first && second == 1);
	release_answered(&x, &a);
	release_answered(&x, &a);
	cr_assert(first == 1 && second == 1);
}

Test(release, who_holds_nothing_is_not_asked)
{
	int done = 0;

	atomic_store(&page.registered_bytes, 0);
	cr_assert(!ask(0, &done));
	atomic_store(&page.registered_bytes, 4096);
	x.target = 0; /* the CPU's worker */
	cr_assert(!ask(0, &done));
	x.target = 1;
	x.pid = -1; /* there is none */
	cr_assert(!ask(0, &done));
	cr_assert_eq(done, 0);
}

Test(release, the_worker_s_end_is_an_answer)
{
	int done = 0;

	cr_assert(ask(0, &done));
	cr_assert(ask(4096, &done));
	release_all(&x);
	cr_assert_eq(done, 2);
	cr_assert_null(x.release);
}

/* One that lives and says nothing is ended by the watchdog. */
Test(release, a_worker_that_does_not_answer_is_ended)
{
	int done = 0, status = 0;

	cr_assert(ask(0, &done));
	for (int i = 0; i < 5000 && !x.stuck; i++) {
		x.pinged = false; /* pings it does answer */
		uv_run(&loop, UV_RUN_NOWAIT);
		usleep(1000);
	}
	cr_assert(x.stuck);
	cr_assert_eq(waitpid(worker, &status, 0), worker);
	worker = 0;
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	x.pid = -1;
	release_all(&x);
	cr_assert_eq(done, 1);
}
