/* SPDX-License-Identifier: Apache-2.0 */
/* Executing it in the same process keeps what others know of this one: its number, which a service
 * manager watches, the lock on the socket's path, the socket with who waits in its queue.  What
 * clients send meanwhile stays in their sockets. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "brazed.h"
#include "config.h"
#include "run/job.h"
#include "takeover.h"
#include "wire/conn.h"
#include "wire/listen.h"

#define TICK_MS	  2
#define GRACE_MS  1000	/* jobs may end by themselves for so long */
#define CHECK_MS  10000 /* the other program must have read the state by then */
#define DELETED	  " (deleted)"
#define PATH_MOST 4096

struct takeover {
	struct takeover_plan plan;
	uv_timer_t *tick;
	char *binary;
	uint64_t paused_ns;
	bool cancelled; /* what runs was told to end */
	bool masked;	/* signals wait for whoever goes on */
	int state;	/* the memory file, once it is written */
	struct takeover_fds keep;
};

/* ---- Which program ---- */

/* Where this process was started from; the file may be another by now. */
static bool own_path(char path[PATH_MOST])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MOST - 1);
	size_t tail = strlen(DELETED);

	if (n <= 0)
		return false;
	path[n] = 0;
	if ((size_t)n > tail && !strcmp(path + n - tail, DELETED))
		path[(size_t)n - tail] = 0;
	return true;
}

bool takeover_is_due(void)
{
	char path[PATH_MOST];
	struct stat is, was;

	return own_path(path) && !stat(path, &is) && !stat("/proc/self/exe", &was) &&
	       (is.st_ino != was.st_ino || is.st_dev != was.st_dev);
}

static char *find_binary(const char *named, struct err *err)
{
	char path[PATH_MOST];
	struct stat info;

	if (!*named && !own_path(path)) {
		err_set(err, E_SYSTEM, "/proc/self/exe: %s", strerror(errno));
		return NULL;
	}
	if (*named)
		snprintf(path, sizeof path, "%s", named);
	if (*path != '/' || stat(path, &info) || !S_ISREG(info.st_mode) || access(path, X_OK)) {
		err_set(err, E_INVALID, "%.200s is no program: want a whole path", path);
		return NULL;
	}
	return xstrdup(path);
}

/* argv with two words more in front; the list is the caller's to free. */
static char **arguments(const struct takeover *t, const char *option, char *number)
{
	const struct config *c = t->plan.config;
	char **argv = xcalloc((size_t)c->argc + 3, sizeof(char *));

	argv[0] = t->binary;
	argv[1] = (char *)option;
	argv[2] = number;
	for (int i = 1; i < c->argc; i++)
		argv[i + 2] = c->argv[i];
	return argv;
}

/* ---- Could it? ---- */

/* What the child has to say until it closes its end; false: it did not come to an end. */
static bool listen_to(int fd, char *text, size_t size)
{
	uint64_t until = uv_hrtime() / 1000000 + CHECK_MS, now = 0;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t n = 0;

	while ((now = uv_hrtime() / 1000000) < until) {
		char rest[256];
		ssize_t got = 0;

		if (poll(&p, 1, (int)(until - now)) <= 0)
			continue;
		got = n < size - 1 ? read(fd, text + n, size - 1 - n) : read(fd, rest, sizeof rest);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			text[n] = 0;
			return true;
		}
		n += n < size - 1 ? (size_t)got : 0;
	}
	return false;
}

/* It has what the program in its place will have. */
static int start_child(pid_t *pid, const struct takeover *t, int out)
{
	extern char **environ;
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	char number[16], **argv = NULL;
	sigset_t none;
	int rc = 0;

	snprintf(number, sizeof number, "%d", t->state);
	argv = arguments(t, "--can-take-over", number);
	sigemptyset(&none);
	posix_spawn_file_actions_init(&fa);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&fa, out, 1);
	posix_spawn_file_actions_adddup2(&fa, out, 2);
	/* Onto itself: it stays open there. */
	posix_spawn_file_actions_adddup2(&fa, t->state, t->state);
	for (size_t i = 0; i < t->keep.n; i++)
		posix_spawn_file_actions_adddup2(&fa, t->keep.fd[i], t->keep.fd[i]);
	rc = posix_spawn(pid, t->binary, &fa, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&fa);
	free(argv);
	return rc;
}

static enum status ask_binary(const struct takeover *t, struct err *err)
{
	char text[LIMIT_ERROR_TEXT] = "";
	int pair[2], status = 0, rc = 0;
	pid_t pid = -1;
	bool ended;

	if (pipe2(pair, O_CLOEXEC))
		return err_set(err, E_SYSTEM, "pipe: %s", strerror(errno));
	rc = start_child(&pid, t, pair[1]);
	close(pair[1]);
	if (rc) {
		close(pair[0]);
		return err_set(err, E_SYSTEM, "cannot start %.150s: %s", t->binary, strerror(rc));
	}
	ended = listen_to(pair[0], text, sizeof text);
	close(pair[0]);
	if (!ended)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!ended)
		return err_set(err, E_TIMEOUT,
			       "%.150s did not read the state within %d s: try again", t->binary,
			       CHECK_MS / 1000);
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return OK;
	text[strcspn(text, "\n")] = 0;
	return err_set(err, E_VERSION, "%.100s cannot take over: %.140s", t->binary,
		       *text ? text : "it ended without a word");
}

/* ---- At rest ---- */

void takeover_signals(bool listen)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGXCPU);
	pthread_sigmask(listen ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
}

/* Why not yet; NULL: all is. */
static const struct session *restless(const struct brazed *d)
{
	for (const struct session *s = d->sessions; s; s = s->next)
		if (!s->conn || s->jobs || (s->arena && !arena_at_rest(s->arena)))
			return s;
	return NULL;
}

static void pause_all(struct takeover *t, bool pause)
{
	struct brazed *d = t->plan.d;

	d->resting = pause;
	if (t->plan.listener)
		listen_pause(t->plan.listener, pause);
	for (struct session *s = d->sessions; s; s = s->next)
		if (s->conn)
			conn_pause(s->conn, pause || s->paused);
}

static void free_takeover(struct takeover *t)
{
	uv_close((uv_handle_t *)t->tick, (uv_close_cb)free);
	if (t->state >= 0)
		close(t->state);
	free(t->keep.fd);
	free(t->binary);
	free(t);
}

void takeover_abort(struct takeover *t)
{
	struct brazed *d = t->plan.d;

	if (t->masked)
		takeover_signals(true);
	pause_all(t, false);
	for (struct session *s = d->sessions; s; s = s->next)
		if (s->arena && s->conn)
			session_later(s);
	dispatch_all(d);
	free_takeover(t);
}

static void refuse(struct takeover *t, const struct err *why)
{
	struct takeover_plan plan = t->plan;

	plan.d->takeover.refused++;
	snprintf(plan.d->takeover.why, sizeof plan.d->takeover.why, "%s", why->text);
	log_error("takeover", "this program goes on: %s", why->text);
	takeover_abort(t);
	plan.refused(plan.data);
}

/* So long that no more is to be waited for. */
static bool is_late(const struct takeover *t, struct err *err)
{
	const struct config *c = t->plan.config;
	uint64_t ms = (uv_hrtime() - t->paused_ns) / 1000000;
	const struct session *s = restless(t->plan.d);

	if (ms < GRACE_MS + c->drain_seconds * 1000)
		return false;
	err_set(err, E_TIMEOUT,
		"session %llu (%.40s) has not come to rest in %llu s (drain_seconds): try again",
		(unsigned long long)(s ? s->id : 0), s ? s->name : "?",
		(unsigned long long)c->drain_seconds);
	return true;
}

/* Jobs that are not needed to end in time go back to where they came from. */
static void settle(struct takeover *t)
{
	struct session *next = NULL;
	bool cancel = uv_hrtime() - t->paused_ns > GRACE_MS * 1000000ull && !t->cancelled;

	for (struct session *s = t->plan.d->sessions; s; s = next) {
		next = s->next;
		if (cancel)
			dispatch_cancel(s);
		else
			dispatch_withdraw(s);
	}
	t->cancelled |= cancel;
}

static void on_tick(uv_timer_t *h)
{
	struct takeover *t = h->data;
	uint64_t rested = 0, written = 0;
	struct err err = {0};
	uint32_t away = 0;

	settle(t);
	away = dispatch_bring_home(t->plan.d, &err);
	if (!err.code && (away || restless(t->plan.d)) && !is_late(t, &err))
		return;
	/* What came before is heard in between, and may end all this. */
	if (!err.code && !t->masked) {
		t->masked = true;
		takeover_signals(false);
		return;
	}
	uv_timer_stop(h);
	rested = uv_hrtime();
	if (!err.code)
		t->state = takeover_write(&t->plan, t->paused_ns, &t->keep, &err);
	written = uv_hrtime();
	if (!err.code)
		ask_binary(t, &err);
	log_info("takeover", "%llu us to come to rest, %llu to write the state, %llu to ask",
		 (unsigned long long)(rested - t->paused_ns) / 1000,
		 (unsigned long long)(written - rested) / 1000,
		 (unsigned long long)(uv_hrtime() - written) / 1000);
	if (err.code)
		refuse(t, &err);
	else
		t->plan.ready(t->plan.data);
}

enum status takeover_begin(struct takeover **out, const struct takeover_plan *plan,
			   const char *binary, struct err *err)
{
	struct takeover *t = NULL;
	char *path = find_binary(binary, err);

	if (!path)
		return err->code;
	t = xcalloc(1, sizeof *t);
	t->plan = *plan;
	t->binary = path;
	t->state = -1;
	t->paused_ns = uv_hrtime();
	t->tick = xcalloc(1, sizeof *t->tick);
	uv_timer_init(plan->d->loop, t->tick);
	t->tick->data = t;
	log_info("takeover", "%s is to go on with %u clients", path, plan->d->nsession);
	pause_all(t, true);
	uv_timer_start(t->tick, on_tick, TICK_MS, TICK_MS);
	*out = t;
	return OK;
}

/* ---- The end of this program ---- */

_Noreturn void takeover_exec(struct takeover *t)
{
	char number[16], **argv = NULL;

	snprintf(number, sizeof number, "%d", t->state);
	argv = arguments(t, "--take-over", number);
	fcntl(t->state, F_SETFD, 0);
	for (size_t i = 0; i < t->keep.n; i++)
		fcntl(t->keep.fd[i], F_SETFD, 0);
	execv(t->binary, argv);
	/* It was there a moment ago.  This one still is, and knows its own state. */
	log_error("takeover", "cannot execute %s: %s", t->binary, strerror(errno));
	execv("/proc/self/exe", argv);
	log_error("takeover", "nor this program: %s", strerror(errno));
	exit(1);
}
