/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - one executable, three roles: the daemon, its worker, its compile helper.
 *
 * In:  the command line.
 * Out: the exit status: 0 after a clean end, 1 when it could not run, 2 for wrong
 *      use.  The daemon proper is brazed.c. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "brazed.h"
#include "cache/cache.h"
#include "config.h"
#include "takeover.h"
#include "worker_main.h"

#define START_WAIT_MS 5000
#define START_POLL_MS 20

/* How a detached daemon tells the process that the user started how it went. */
static int ready_fd = -1;

static void tell(const char *text)
{
	if (ready_fd < 0)
		return;
	if (write(ready_fd, text, strlen(text) + 1) < 0)
		log_debug("main", "nobody waits for this daemon any more");
	close(ready_fd);
	ready_fd = -1;
}

static void on_ready(void)
{
	tell("");
}

/* The first process: wait for the daemon's word, end with it. */
static _Noreturn void await_daemon(int fd)
{
	char text[LIMIT_ERROR_TEXT + 64];
	size_t n = 0;
	ssize_t got;

	while (n < sizeof text - 1 && (got = read(fd, text + n, sizeof text - 1 - n)) > 0)
		n += (size_t)got;
	text[n] = 0;
	if (!n)
		fprintf(stderr, "brazed: ended before it listened\n");
	else if (*text)
		fprintf(stderr, "brazed: %s\n", text);
	_exit(n && !*text ? 0 : 1);
}

/* Words that would go to a terminal go to a file beside the socket. */
static void redirect(const char *socket_path)
{
	char *name = xasprintf("%s.log", socket_path);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		if (!log_to(name))
			dup2(null, STDERR_FILENO);
		close(null);
	}
	free(name);
}

/* Leave the terminal; before any thread exists.  Returns in the daemon only. */
static enum status detach(const struct config *c, struct err *err)
{
	int pair[2];
	pid_t pid;

	if (pipe2(pair, O_CLOEXEC))
		return err_set(err, E_SYSTEM, "cannot detach: pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0) {
		close(pair[0]);
		close(pair[1]);
		return err_set(err, E_SYSTEM, "cannot detach: fork: %s", strerror(errno));
	}
	if (pid > 0) {
		close(pair[1]);
		await_daemon(pair[0]);
	}
	close(pair[0]);
	ready_fd = pair[1];
	setsid();
	if (chdir("/"))
		log_debug("main", "stays in its folder");
	redirect(c->socket);
	return OK;
}

/* The folder of a user's own socket: made here, and nobody else's. */
static enum status check_folder(const char *socket_path, struct err *err)
{
	char *folder = xstrdup(socket_path), *slash = strrchr(folder, '/');
	enum status st = OK;
	struct stat info;

	if (slash && slash != folder)
		*slash = 0;
	if (mkdir(folder, 0700) && errno != EEXIST)
		st = err_set(err, E_SYSTEM, "cannot make the folder %s: %s", folder,
			     strerror(errno));
	else if (lstat(folder, &info))
		st = err_set(err, E_SYSTEM, "%s: %s", folder, strerror(errno));
	else if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() || info.st_mode & 022)
		st = err_set(err, E_INVALID,
			     "%s is not a folder that only this user can write: remove it", folder);
	free(folder);
	return st;
}

/* Does somebody who lives listen?  What a killed daemon listened with may be held for a moment by
 * a child that it was about to start. */
static bool is_served(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct ucred who = {0};
	socklen_t n = sizeof who;
	bool ok = false;

	snprintf(addr.sun_path, sizeof addr.sun_path, "%s", path);
	ok = fd >= 0 && !connect(fd, (struct sockaddr *)&addr, sizeof addr) &&
	     !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) &&
	     (who.pid <= 0 || !kill(who.pid, 0) || errno != ESRCH);
	if (fd >= 0)
		close(fd);
	return ok;
}

/* A detached daemon of a user is asked for, not a second one: where another holds the socket's
 * lock, that one serves, is about to, or has just died. */
static enum status serve(struct config *c, struct err *err)
{
	enum status st = brazed_run(c, on_ready, err);

	for (int i = 0; st == E_CONNECT && c->user && c->detach; i++) {
		if (is_served(c->socket)) {
			*err = (struct err){0};
			return OK;
		}
		if (i == START_WAIT_MS / START_POLL_MS)
			break;
		usleep(START_POLL_MS * 1000);
		st = brazed_run(c, on_ready, err);
	}
	return st;
}

static enum status run(struct config *c, struct err *err)
{
	enum status st = OK;

	if (c->take_over >= 0) {
		if (c->detach) /* long ago */
			redirect(c->socket);
		return serve(c, err);
	}
	if (c->user && !strcmp(c->origin[CONFIG_socket], "default"))
		st = check_folder(c->socket, err);
	if (!st && c->detach)
		st = detach(c, err);
	if (!st)
		st = serve(c, err);
	return st;
}

static int role(int argc, char **argv)
{
	int fd;

	if (argc != 3)
		return -1;
	fd = atoi(argv[2]);
	if (!strcmp(argv[1], "--worker"))
		return worker_main(fd);
	if (!strcmp(argv[1], "--compile-helper"))
		return compile_helper_main(fd);
	return -1;
}

/* The two words in front of the arguments that a program in whose place this one goes on, or is
 * to, had; takes them away.  -1: there are none. */
static int state_of(int *argc, char ***argv, bool *check)
{
	char **words = *argv;
	int fd;

	*check = *argc > 2 && !strcmp(words[1], "--can-take-over");
	if (!*check && (*argc <= 2 || strcmp(words[1], "--take-over") != 0))
		return -1;
	fd = atoi(words[2]);
	words[2] = words[0];
	*argc -= 2;
	*argv += 2;
	return fd;
}

static int check_state(int fd, const struct config *config)
{
	struct err err = {0};

	if (takeover_check(fd, config, &err) == OK)
		return 0;
	fprintf(stderr, "%s\n", err.text);
	return 1;
}

int main(int argc, char **argv)
{
	int rc = role(argc, argv), state;
	bool check;
	struct config config;
	struct err err = {0};
	enum status st;

	if (rc >= 0)
		return rc;
	umask(077);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error where it grows */
	state = state_of(&argc, &argv, &check);
	st = config_load(&config, argc, argv, &err);
	if (!st)
		log_setup(config.log);
	if (!st && check)
		_exit(check_state(state, &config)); /* its handles are the other program's */
	config.take_over = state;
	if (st) {
		fprintf(stderr, "brazed: %s\nbrazed: -h lists the options\n", err.text);
		rc = 2;
	} else if (config.action == CONFIG_HELP) {
		config_usage(stdout);
		rc = 0;
	} else if (config.action == CONFIG_VERSION) {
		printf("brazed %s (protocol %d.%d)\n", BRAZE_DAEMON_VERSION, BRAZE_PROTO_MAJOR,
		       BRAZE_PROTO_MINOR);
		rc = 0;
	} else if (config.action == CONFIG_CHECK) {
		config_print(&config, stdout);
		rc = 0;
	} else {
		rc = run(&config, &err) ? 1 : 0;
		if (rc)
			fprintf(stderr, "brazed: %s\n", err.text);
		tell(err.text);
	}
	config_finish(&config);
	return rc;
}
