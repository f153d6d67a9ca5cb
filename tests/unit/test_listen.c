/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "wire/listen.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

static uv_loop_t loop;
static char folder[] = "/tmp/braze-listen-XXXXXX", path[128], lock[160];
static struct listener *listener;
static struct err err;
static unsigned accepts;
static struct peer last;

static void on_accept(void *data, int fd, const struct peer *peer)
{
	(void)data;
	accepts++;
	last = *peer;
	close(fd);
}

static void setup(void)
{
	uv_loop_init(&loop);
	cr_assert_not_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/own/b.sock", folder);
	snprintf(lock, sizeof lock, "%s.lock", path);
}

static void teardown(void)
{
	char own[128];

	listen_destroy(listener);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(&loop), 0);
	unlink(lock);
	snprintf(own, sizeof own, "%s/own", folder);
	rmdir(own);
	cr_assert_eq(rmdir(folder), 0, "the socket is still there");
}

TestSuite(listen, .init = setup, .fini = teardown);

static void open_listener(void)
{
	cr_assert_eq(listen_create(&listener, &loop, path, -1, on_accept, NULL, &err), OK, "%s",
		     err.text);
}

/* A connected socket, or -1. */
static int call(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(a.sun_path, path);
	if (!connect(fd, (struct sockaddr *)&a, sizeof a))
		return fd;
	close(fd);
	return -1;
}

static void turn(void)
{
	for (int k = 0; k < 4; k++)
		uv_run(&loop, UV_RUN_NOWAIT);
}

Test(listen, makes_a_private_folder_and_knows_who_calls)
{
	char own[128];
	struct stat st;
	int fd;

	open_listener();
	snprintf(own, sizeof own, "%s/own", folder);
	cr_assert_eq(stat(own, &st), 0);
	cr_assert_eq(st.st_mode & 0777, 0700);
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(st.st_mode & 0777, 0600);
	fd = call();
	turn();
	cr_assert_eq(accepts, 1);
	cr_assert_eq(last.uid, getuid());
	cr_assert_eq(last.pid, getpid());
	close(fd);
}

Test(listen, second_daemon_is_refused_and_takes_nothing_away)
{
	struct listener *second = NULL;
	int fd;

	open_listener();
	cr_assert_eq(listen_create(&second, &loop, path, -1, on_accept, NULL, &err), E_CONNECT);
	cr_assert(strstr(err.text, "another brazed"), "%s", err.text);
	fd = call();
	cr_assert_geq(fd, 0, "the first one's socket is gone");
	turn();
	cr_assert_eq(accepts, 1);
	close(fd);
}

Test(listen, path_of_a_dead_daemon_is_taken_over)
{
	int dead;

	open_listener();
	listen_destroy(listener);
	uv_run(&loop, UV_RUN_DEFAULT);
	dead = listen_bind(path, SOCK_SEQPACKET, &err);
	cr_assert_geq(dead, 0);
	close(dead); /* killed: the path stays, nobody has the lock */
	open_listener();
	close(call());
	turn();
	cr_assert_eq(accepts, 1);
}

Test(listen, retired_listener_serves_the_queue_and_leaves_the_path_to_others)
{
	struct listener *next = NULL;
	int early, late;

	open_listener();
	early = call();
	cr_assert_geq(early, 0);
	listen_retire(listener);
	cr_assert_eq(accepts, 1, "who was in the queue is served");
	cr_assert_eq(call(), -1);
	cr_assert_eq(listen_create(&next, &loop, path, -1, on_accept, NULL, &err), OK, "%s",
		     err.text);
	listen_destroy(listener);
	listener = next;
	turn();
	late = call();
	cr_assert_geq(late, 0, "the old listener took the new one's path away");
	turn();
	cr_assert_eq(accepts, 2);
	close(early);
	close(late);
}

Test(listen, socket_that_was_passed_in_keeps_its_path)
{
	struct stat st;
	int passed;

	open_listener(); /* makes the folder */
	listen_destroy(listener);
	uv_run(&loop, UV_RUN_DEFAULT);
	passed = listen_bind(path, SOCK_SEQPACKET, &err);
	cr_assert_eq(listen_create(&listener, &loop, path, passed, on_accept, NULL, &err), OK);
	close(call());
	turn();
	cr_assert_eq(accepts, 1);
	listen_retire(listener);
	cr_assert_eq(stat(path, &st), 0, "the service manager's socket was unlinked");
	unlink(path);
}

Test(listen, path_too_long_is_refused)
{
	char long_path[256];

	memset(long_path, 'x', sizeof long_path - 1);
	memcpy(long_path, folder, strlen(folder));
	long_path[strlen(folder)] = '/';
	long_path[sizeof long_path - 1] = 0;
	cr_assert_eq(listen_bind(long_path, SOCK_SEQPACKET, &err), -1);
	cr_assert_eq(err.code, E_INVALID);
}

/* Without the spare descriptor the loop would spin on a caller it cannot accept. */
Test(listen, caller_is_turned_away_when_descriptors_run_out)
{
	struct rlimit old, few;
	int fd, filler[256], n = 0;
	char byte;

	open_listener();
	fd = call();
	getrlimit(RLIMIT_NOFILE, &old);
	few = old;
	few.rlim_cur = 200;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	while (n < 256 && (filler[n] = dup(0)) >= 0)
		n++;
	turn();
	cr_assert_eq(accepts, 0);
	cr_assert_eq(recv(fd, &byte, 1, MSG_DONTWAIT), 0, "the caller was left waiting");
	while (n)
		close(filler[--n]);
	setrlimit(RLIMIT_NOFILE, &old);
	close(fd);
	fd = call();
	turn();
	cr_assert_eq(accepts, 1, "it recovered");
	close(fd);
}
