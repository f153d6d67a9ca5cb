/* SPDX-License-Identifier: Apache-2.0 */
/* run/spawn.c - the worker's process and the socket to it.
 *
 * posix_spawn, not fork: the broker is large.  The worker gets a socket (3), the
 * progress page (4), stdout and stderr, a short environment, its own process group
 * (a terminal's interrupt is for the broker) and nothing else. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "executor_impl.h"

enum { WORKER_SOCKET = 3, WORKER_PROGRESS = 4, FIRST_FREE = 10, ENV_MAX = 64 };

/* Does the entry's name stand in the list: NAME or PREFIX*, with blanks between? */
static bool env_named(const char *entry, const char *list)
{
	size_t name = strcspn(entry, "=");

	for (list += strspn(list, " "); *list; list += strspn(list, " ")) {
		size_t n = strcspn(list, " ");
		bool prefix = list[n - 1] == '*';

		if (prefix ? name >= n - 1 && strncmp(entry, list, n - 1) == 0
			   : name == n && strncmp(entry, list, n) == 0)
			return true;
		list += n;
	}
	return false;
}

/* Variables that a worker may see; the rest of the broker's are not its business. */
static bool env_passes(const char *entry, const char *more)
{
	static const char *const prefix[] = {"BRAZE_",	      "PATH=",
					     "HOME=",	      "LANG=",
					     "LC_",	      "LD_LIBRARY_PATH=",
					     "CUDA_",	      "CONDA_PREFIX=",
					     "NVIDIA_",	      "OPENBLAS_CORETYPE=",
					     "ASAN_OPTIONS=", "UBSAN_OPTIONS=",
					     "TSAN_OPTIONS=", "LSAN_OPTIONS="};

	for (size_t i = 0; i < sizeof prefix / sizeof *prefix; i++) {
		if (strncmp(entry, prefix[i], strlen(prefix[i])) == 0)
			return true;
	}
	return env_named(entry, more);
}

/* Fills env[] (of ENV_MAX); what own[] names comes from there only. */
static void env_build(char **env, const char *more, char *const *own, int nown)
{
	extern char **environ;
	int n = 0;

	for (char **e = environ; *e && n < ENV_MAX - nown - 1; e++) {
		bool ours = false;

		for (int i = 0; i < nown; i++)
			ours |= !strncmp(*e, own[i], (size_t)(strchr(own[i], '=') + 1 - own[i]));
		if (!ours && env_passes(*e, more))
			env[n++] = *e;
	}
	for (int i = 0; i < nown; i++)
		env[n++] = own[i];
	env[n] = NULL;
}

static int start_process(pid_t *pid, const struct executor *x, int sock, int page)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	sigset_t all, none;
	char *env[ENV_MAX], threads[48], device[64], spin[64];
	char *const own[] = {(char *)"OPENBLAS_NUM_THREADS=1", threads, device, spin};
	char *argv[] = {x->self, (char *)"--worker", (char *)"3", NULL};
	int rc = 0;

	snprintf(threads, sizeof threads, "BRAZE_WORKER_THREADS=%d", x->threads);
	snprintf(device, sizeof device, "BRAZE_WORKER_DEVICE=%s", x->device);
	snprintf(spin, sizeof spin, "BRAZE_SPIN_US=%s", x->spin);
	env_build(env, x->env, own, (int)(sizeof own / sizeof *own));
	sigfillset(&all);
	sigemptyset(&none);
	posix_spawn_file_actions_init(&fa);
	posix_spawnattr_init(&attr);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&fa, sock, WORKER_SOCKET);
	posix_spawn_file_actions_adddup2(&fa, page, WORKER_PROGRESS);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
						POSIX_SPAWN_SETPGROUP);
	rc = posix_spawn(pid, x->self, &fa, &attr, argv, env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&fa);
	return rc;
}

static void close_free(uv_handle_t *h)
{
	free(h);
}

static void on_socket(uv_poll_t *poll, int status, int events);

enum status spawn_worker(struct executor *x, struct err *err)
{
	int pair[2] = {-1, -1}, sock = -1, page = -1, rc = 0;
	int size = 4 * COMMAND_BYTES;
	enum status st = OK;
	pid_t pid = -1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		st = err_set(err, E_SYSTEM, "worker: socketpair: %s", strerror(errno));
		goto out;
	}
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
	/* High numbers, so that no dup2 in the child closes the other's source. */
	sock = fcntl(pair[1], F_DUPFD_CLOEXEC, FIRST_FREE);
	page = fcntl(x->progress_fd, F_DUPFD_CLOEXEC, FIRST_FREE);
	if (sock < 0 || page < 0) {
		st = err_set(err, E_SYSTEM, "worker: dup: %s", strerror(errno));
		goto out;
	}
	memset(x->progress, 0, sizeof *x->progress);
	rc = start_process(&pid, x, sock, page);
	if (rc != 0) {
		st = err_set(err, E_SYSTEM, "worker: cannot start %s: %s", x->self, strerror(rc));
		goto out;
	}
	x->pid = pid;
	x->stats.pid = pid;
	x->fd = pair[0];
	pair[0] = -1;
	x->broken = x->hung = x->stuck = x->pinged = false;
	watch_forget(x);
	if (x->known_cap)
		memset(x->known, 0, x->known_cap);
	x->poll = xcalloc(1, sizeof *x->poll);
	x->poll->data = x;
	uv_poll_init(x->loop, x->poll, x->fd);
	uv_poll_start(x->poll, UV_READABLE, on_socket);
	for (uint32_t i = 0; i < x->nregion; i++)
		spawn_send_simple(x, CMD_REGION, x->region[i].id, 0, x->region[i].bytes,
				  x->region[i].fd);
	log_debug("spawn", "worker %d started for %s", (int)pid, x->device);
out:
	if (pair[0] >= 0)
		close(pair[0]);
	if (pair[1] >= 0)
		close(pair[1]);
	if (sock >= 0)
		close(sock);
	if (page >= 0)
		close(page);
	return st;
}

static void unsent_pop(struct executor *x)
{
	struct unsent *u = x->unsent;

	x->unsent = u->next;
	if (!x->unsent)
		x->unsent_tail = &x->unsent;
	if (u->fd >= 0)
		close(u->fd);
	free(u);
}

/* The process is over: forget it and its socket. */
static void forget(struct executor *x)
{
	x->pid = -1;
	x->stats.pid = 0;
	x->stats.beside_steps += atomic_load(&x->progress->beside_steps);
	x->stats.packets += atomic_load(&x->progress->packets);
	x->stats.wakes += atomic_load(&x->progress->wakes);
	uv_close((uv_handle_t *)x->poll, close_free);
	x->poll = NULL;
	close(x->fd);
	x->fd = -1;
	while (x->unsent)
		unsent_pop(x);
	x->nwaiting = 0;
}

bool spawn_collect(struct executor *x, int *status)
{
	pid_t got = 0;

	*status = 0;
	/* SIGKILL has no effect on one that is dead already: its status stays. */
	kill(x->pid, SIGKILL);
	uv_poll_stop(x->poll);
	do
		got = waitpid(x->pid, status, WNOHANG);
	while (got < 0 && errno == EINTR);
	if (got)
		forget(x);
	return got != 0;
}

void spawn_reap(struct executor *x)
{
	int status = 0;

	if (x->pid < 0)
		return;
	kill(x->pid, SIGKILL);
	while (waitpid(x->pid, &status, 0) < 0 && errno == EINTR)
		;
	forget(x);
}

/* `first`, which may be empty, and what follows it as one packet.  1 sent, 0 the socket is
 * full, -1 it failed. */
static int try_send(struct executor *x, struct iovec first, const void *packet, size_t bytes,
		    int fd)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov[] = {first, {(void *)packet, bytes}};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};
	ssize_t n = 0;

	if (fd >= 0) {
		struct cmsghdr *c = NULL;

		msg.msg_control = control.space;
		msg.msg_controllen = sizeof control.space;
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(c), &fd, sizeof fd);
	}
	do
		n = sendmsg(x->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return 1;
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS ? 0 : -1;
}

void spawn_send(struct executor *x, const void *packet, size_t bytes, int fd)
{
	struct unsent *u = NULL;
	struct iovec before = {x->waiting, x->nwaiting * sizeof *x->waiting};
	int rc = 0;

	/* A failed socket is about to be noticed by on_socket; what is lost here
	 * will be sent again to the next worker. */
	if (x->pid < 0 || x->broken)
		return;
	rc = x->unsent ? 0 : try_send(x, before, packet, bytes, fd);
	x->nwaiting = 0;
	if (rc > 0)
		return;
	if (rc < 0) {
		x->broken = true;
		return;
	}
	u = xmalloc(sizeof *u + before.iov_len + bytes);
	*u = (struct unsent){.fd = -1, .bytes = before.iov_len + bytes};
	memcpy(u->data, before.iov_base, before.iov_len);
	memcpy(u->data + before.iov_len, packet, bytes);
	if (fd >= 0)
		u->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	*x->unsent_tail = u;
	x->unsent_tail = &u->next;
	uv_poll_start(x->poll, UV_READABLE | UV_WRITABLE, on_socket);
}

void spawn_send_simple(struct executor *x, uint32_t kind, uint32_t id, uint64_t ticket,
		       uint64_t arg, int fd)
{
	struct command c = {
		.kind = kind, .bytes = sizeof c, .ticket = ticket, .id = id, .arg = arg};

	if (id >= DEVICE_REGION && x->nwaiting < COMMAND_HELD && x->pid >= 0 && !x->broken)
		x->waiting[x->nwaiting++] = c;
	else
		spawn_send(x, &c, sizeof c, fd);
}

void spawn_flush(struct executor *x)
{
	while (x->unsent) {
		int rc = try_send(x, (struct iovec){0}, x->unsent->data, x->unsent->bytes,
				  x->unsent->fd);

		if (rc == 0)
			return;
		if (rc < 0) {
			x->broken = true;
			break;
		}
		unsent_pop(x);
	}
	uv_poll_start(x->poll, UV_READABLE, on_socket);
}

/* One packet; its descriptor, if it has one, is in x->came. */
static ssize_t receive(struct executor *x, char *buf, size_t size)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = {buf, size};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.space,
			     .msg_controllen = sizeof control.space};
	ssize_t n = recvmsg(x->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *m = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;

	if (x->came >= 0)
		close(x->came); /* nobody wanted it */
	x->came = -1;
	if (m && m->cmsg_level == SOL_SOCKET && m->cmsg_type == SCM_RIGHTS)
		memcpy(&x->came, CMSG_DATA(m), sizeof x->came);
	return n;
}

ssize_t spawn_receive(struct executor *x, char *buf, size_t size)
{
	/* When the worker died with commands unread, one ECONNRESET comes before the
	 * completions that it had sent: they count, so read on once. */
	for (int failures = 0; failures < 2;) {
		ssize_t n = receive(x, buf, size);

		if (n > 0)
			return n;
		if (n == 0)
			return -1;
		if (errno == EAGAIN || errno == EWOULDBLOCK)
			return failures ? -1 : 0;
		if (errno != EINTR)
			failures++;
	}
	return -1;
}

static void on_socket(uv_poll_t *poll, int status, int events)
{
	executor_on_socket(poll->data, status < 0 ? UV_READABLE : events);
}
