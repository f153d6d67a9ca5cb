/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/connect.c - find a daemon, start one when none listens.
 *
 * Order: the path asked for, $BRAZE_SOCKET, the system's daemon, the user's
 * daemon, a new user's daemon.  A socket that was not named by the user is trusted
 * only when its owner is root or this user. */
#define _GNU_SOURCE /* posix_spawn file actions */
#include "connect.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "beside.h"

#define SYSTEM_SOCKET "/run/braze/braze-1.sock"
#define SOCKET_NAME   "braze-1.sock" /* carries the protocol's major version */
#define DAEMON_NAME   "brazed"
#define REAP_MS	      2000
_Static_assert(BRAZE_PROTO_MAJOR == 1, "the socket's name carries the major version");

extern char **environ;

static const char *nonempty(const char *name)
{
	const char *v = getenv(name);

	return v && v[0] ? v : NULL;
}

static enum status connect_path(int *out, const char *path, struct err *err)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(a.sun_path))
		return err_set(err, E_CONNECT, "socket path is longer than %zu bytes: %s",
			       sizeof(a.sun_path) - 1, path);
	strcpy(a.sun_path, path);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_set(err, E_SYSTEM, "socket: %s", strerror(errno));
	int r;
	do
		r = connect(fd, (struct sockaddr *)&a, sizeof(a));
	while (r && errno == EINTR);
	if (r) {
		enum status st =
			err_set(err, E_CONNECT, "connecting to %s: %s", path, strerror(errno));
		close(fd);
		return st;
	}
	*out = fd;
	return OK;
}

/* The socket of this user's daemon; the folder is not made here. */
static void user_socket(char *buf, size_t n)
{
	const char *run = nonempty("XDG_RUNTIME_DIR"), *tmp = nonempty("TMPDIR");

	if (run)
		snprintf(buf, n, "%s/braze/" SOCKET_NAME, run);
	else
		snprintf(buf, n, "%s/braze-%lu/" SOCKET_NAME, tmp ? tmp : "/tmp",
			 (unsigned long)getuid());
}

static bool owned_by_us_or_root(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISSOCK(st.st_mode) &&
	       (st.st_uid == 0 || st.st_uid == getuid());
}

/* Somebody else's folder in a shared place could hold a daemon of theirs. */
static enum status check_folder(const char *socket_path, struct err *err)
{
	char folder[PATH_BYTES];
	struct stat st;

	snprintf(folder, sizeof(folder), "%s", socket_path);
	*strrchr(folder, '/') = '\0';
	if (lstat(folder, &st))
		return err_set(err, E_CONNECT, "%s: %s", folder, strerror(errno));
	if (!S_ISDIR(st.st_mode) || st.st_uid != getuid() || (st.st_mode & 077))
		return err_set(err, E_CONNECT, "%s must be a folder of yours with mode 0700",
			       folder);
	return OK;
}

/* ---- Starting one ---- */

static bool runnable(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

/* Next to the library, or to the program that has it inside: a wheel, whose package has a
 * bin/ of its own; an install tree (Python's packages lie three folders down); a build tree. */
static bool beside_library(char *buf, size_t n)
{
	static const char *const steps[] = {"/bin/",	      "/../bin/",	   "/../../bin/",
					    "/../../../bin/", "/../../../../bin/", "/"};
	char folder[PATH_BYTES];

	if (!beside_folder(folder))
		return false;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (snprintf(buf, n, "%s%s" DAEMON_NAME, folder, steps[i]) < (int)n &&
		    runnable(buf))
			return true;
	return false;
}

enum status connect_daemon(char *buf, size_t n, struct err *err)
{
	const char *named = nonempty("BRAZE_DAEMON"), *path = nonempty("PATH");

	if (named) {
		snprintf(buf, n, "%s", named);
		return runnable(buf) ? OK
				     : err_set(err, E_CONNECT,
					       "$BRAZE_DAEMON is not an executable: %s", buf);
	}
	if (beside_library(buf, n))
		return OK;
	while (path && *path) {
		size_t len = strcspn(path, ":");
		snprintf(buf, n, "%.*s/" DAEMON_NAME, (int)len, path);
		if (len && runnable(buf))
			return OK;
		path += len + (path[len] == ':');
	}
	return err_set(err, E_CONNECT,
		       "no " DAEMON_NAME " listens, and no " DAEMON_NAME
		       " was found to start: set BRAZE_DAEMON or PATH");
}

/* The environment but for what asks for this process alone: the daemon, which others
 * will use, too, reads the same name.  The list is the caller's to free. */
static char **daemon_environment(void)
{
	size_t n = 0;

	while (environ[n])
		n++;
	char **env = calloc(n + 1, sizeof(*env));
	for (size_t i = 0, at = 0; env && i < n; i++)
		if (strncmp(environ[i], "BRAZE_DEVICE=", 13))
			env[at++] = environ[i];
	return env;
}

/* fd becomes the child's descriptor 3 when it is not -1. */
static enum status spawn(pid_t *pid, const char *exe, char *const argv[], int fd, struct err *err)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	sigset_t none;
	char **env = daemon_environment();

	if (!env)
		return err_set(err, E_NOMEM, "no memory to start %s", exe);
	posix_spawn_file_actions_init(&fa);
	posix_spawnattr_init(&attr);
	sigemptyset(&none);
	/* A process group of its own: the terminal's Ctrl-C is for the client. */
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", 0, 0);
	if (fd >= 0)
		posix_spawn_file_actions_adddup2(&fa, fd, 3);
	int r = posix_spawn(pid, exe, &fa, &attr, argv, env);
	free(env);
	posix_spawn_file_actions_destroy(&fa);
	posix_spawnattr_destroy(&attr);
	if (r)
		return err_set(err, E_CONNECT, "starting %s: %s", exe, strerror(r));
	return OK;
}

/* The daemon detaches itself; its first process ends when it is ready. */
static enum status start_user_daemon(struct err *err)
{
	char exe[PATH_BYTES];
	char *argv[] = {DAEMON_NAME, "--user", "--detach", NULL};
	pid_t pid;
	int how = 0;

	enum status st = connect_daemon(exe, sizeof(exe), err);
	if (!st)
		st = spawn(&pid, exe, argv, -1, err);
	if (st)
		return st;
	pid_t r;
	do
		r = waitpid(pid, &how, 0);
	while (r < 0 && errno == EINTR);
	/* A program that ignores SIGCHLD learns nothing here; connecting will tell. */
	if (r == pid && (!WIFEXITED(how) || WEXITSTATUS(how)))
		return err_set(err, E_CONNECT,
			       "%s --user --detach failed with status %d; "
			       "it told standard error why",
			       exe, WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how));
	return OK;
}

static enum status start_private(int *out, pid_t *child, struct err *err)
{
	char exe[PATH_BYTES];
	char *argv[] = {DAEMON_NAME, "--private", "3", NULL};
	int pair[2];

	enum status st = connect_daemon(exe, sizeof(exe), err);
	if (st)
		return st;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return err_set(err, E_SYSTEM, "socketpair: %s", strerror(errno));
	st = spawn(child, exe, argv, pair[1], err);
	close(pair[1]);
	if (st)
		close(pair[0]);
	else
		*out = pair[0];
	return st;
}

void connect_reap(pid_t child)
{
	struct timespec nap = {.tv_nsec = 2000000};

	if (child <= 0)
		return;
	for (int ms = 0; ms < REAP_MS; ms += 2) {
		if (waitpid(child, NULL, WNOHANG) != 0)
			return;
		nanosleep(&nap, NULL);
	}
	/* It does not end by itself although its only client left. */
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

enum status connect_open(int *fd, pid_t *child, const char *path, unsigned flags, struct err *err)
{
	char user[PATH_BYTES];
	const char *alone = nonempty("BRAZE_PRIVATE");

	*child = 0;
	if (path)
		return connect_path(fd, path, err);
	if (alone && strcmp(alone, "0"))
		return start_private(fd, child, err);
	if ((path = nonempty("BRAZE_SOCKET")))
		return connect_path(fd, path, err);
	/* Who goes on to the next has no error to tell. */
	if (owned_by_us_or_root(SYSTEM_SOCKET) && !connect_path(fd, SYSTEM_SOCKET, NULL))
		return OK;
	user_socket(user, sizeof(user));
	if (!access(user, F_OK)) {
		enum status st = check_folder(user, err);
		if (st)
			return st;
		if (!connect_path(fd, user, NULL))
			return OK;
	}
	if (flags & BRAZE_NO_START)
		return err_set(err, E_CONNECT, "no daemon listens at %s", user);
	enum status st = start_user_daemon(err);
	if (!st)
		st = check_folder(user, err);
	return st ? st : connect_path(fd, user, err);
}
