/* SPDX-License-Identifier: Apache-2.0 */
/* brazed.c: the life of a daemon, seen from outside. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[] = "/tmp/braze-life-XXXXXX", path[64], socket_name[96];

static void setup(void)
{
	cr_assert_not_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/b.sock", folder);
	snprintf(socket_name, sizeof socket_name, "socket=%s", path);
}

static void teardown(void)
{
	char lock[80];

	snprintf(lock, sizeof lock, "%s.lock", path);
	unlink(lock);
	cr_assert_eq(rmdir(folder), 0, "the daemon left something behind");
}

TestSuite(brazed, .init = setup, .fini = teardown, .timeout = 60);

/* A daemon that never compiles; `option` is one more NAME=VALUE or NULL. */
static pid_t start(const char *option, int private_fd)
{
	pid_t pid = fork();
	char fd[16];
	char *argv[16] = {"brazed", "-f", "/dev/null",	    "-o", socket_name,	       "-o",
			  "tier=0", "-o", "cache_dir=none", "-o", "status_socket=none"};
	int argc = 11;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves none behind */
	if (option) {
		argv[argc++] = "-o";
		argv[argc++] = (char *)option;
	}
	if (private_fd >= 0) {
		snprintf(fd, sizeof fd, "%d", private_fd);
		argv[argc++] = "--private";
		argv[argc++] = fd;
	}
	execv(BRAZED, argv);
	_exit(127);
}

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

static void await_ready(void)
{
	int fd = -1;

	for (int k = 0; k < 500 && (fd = call()) < 0; k++)
		usleep(10000);
	cr_assert_geq(fd, 0, "the daemon does not listen");
	close(fd);
}

static int status_of(pid_t pid)
{
	int status = 0;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status), "signal %d", WTERMSIG(status));
	return WEXITSTATUS(status);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

Test(brazed, ends_by_itself_when_nobody_comes)
{
	double begun = now();
	struct stat st;
	pid_t pid = start("idle_exit_seconds=1", -1);

	await_ready();
	cr_assert_eq(status_of(pid), 0);
	cr_assert_geq(now() - begun, 1);
	cr_assert(stat(path, &st) && errno == ENOENT, "its socket is still there");
}

Test(brazed, client_keeps_it_alive_and_its_end_starts_the_clock)
{
	pid_t pid = start("idle_exit_seconds=1", -1);
	double left;
	int fd;

	await_ready();
	fd = call();
	cr_assert_geq(fd, 0);
	usleep(1800000);
	cr_assert_eq(waitpid(pid, NULL, WNOHANG), 0, "it ended under a client");
	left = now();
	close(fd);
	cr_assert_eq(status_of(pid), 0);
	cr_assert_geq(now() - left, 0.9);
}

Test(brazed, stays_without_clients_and_ends_at_a_signal)
{
	pid_t pid = start(NULL, -1);

	await_ready();
	usleep(300000);
	cr_assert_eq(waitpid(pid, NULL, WNOHANG), 0);
	kill(pid, SIGTERM);
	cr_assert_eq(status_of(pid), 0);
}

Test(brazed, signal_closes_connections)
{
	pid_t pid = start(NULL, -1);
	char byte[256];
	int fd;

	await_ready();
	fd = call();
	usleep(100000);
	kill(pid, SIGINT);
	cr_assert_eq(status_of(pid), 0);
	while (recv(fd, byte, sizeof byte, 0) > 0)
		;
	close(fd);
}

Test(brazed, second_daemon_on_a_path_gives_way)
{
	pid_t first = start(NULL, -1), second;
	int fd;

	await_ready();
	second = start(NULL, -1);
	cr_assert_neq(status_of(second), 0);
	fd = call();
	cr_assert_geq(fd, 0, "the first one serves no more");
	close(fd);
	kill(first, SIGTERM);
	cr_assert_eq(status_of(first), 0);
}

Test(brazed, private_daemon_ends_with_its_connection)
{
	int pair[2];
	struct stat st;
	pid_t pid;

	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	fcntl(pair[1], F_SETFD, 0); /* the daemon's end goes through exec */
	pid = start(NULL, pair[1]);
	close(pair[1]);
	usleep(300000);
	cr_assert(stat(path, &st), "it listens as well");
	close(pair[0]);
	cr_assert_eq(status_of(pid), 0);
}
