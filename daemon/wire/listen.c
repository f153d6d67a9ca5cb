/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "listen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include "../base/log.h"
#include "../base/xalloc.h"

struct listener {
	uv_poll_t poll;
	int fd, lock_fd;
	int spare_fd; /* given up to accept and close when descriptors run out */
	char *path;   /* NULL: passed in, not ours to unlink */
	listen_fn *accepted;
	void *data;
};

static int make_directory(const char *path, struct err *err)
{
	char *dir = xstrdup(path), *slash = strrchr(dir, '/');
	int rc = 0;

	if (slash && slash != dir) {
		*slash = 0;
		if (mkdir(dir, 0700) && errno != EEXIST) {
			err_set(err, E_SYSTEM, "cannot make the directory %s: %s", dir,
				strerror(errno));
			rc = -1;
		}
	}
	free(dir);
	return rc;
}

/* What a daemon that ended left there goes; false: there is something else. */
static bool clear_path(const struct sockaddr_un *addr, int type, struct err *err)
{
	struct stat st;

	if (lstat(addr->sun_path, &st))
		return true;
	if (!S_ISSOCK(st.st_mode)) {
		err_set(err, E_INVALID, "%s is there and is no socket: remove it", addr->sun_path);
		return false;
	}
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool live = fd >= 0 && (!connect(fd, (const struct sockaddr *)addr, sizeof *addr) ||
				errno == EAGAIN || errno == EPROTOTYPE);
	if (fd >= 0)
		close(fd);
	if (live)
		err_set(err, E_CONNECT, "somebody listens on %s already", addr->sun_path);
	else
		unlink(addr->sun_path);
	return !live;
}

int listen_bind(const char *path, int type, struct err *err)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof addr.sun_path) {
		err_set(err, E_INVALID, "socket path is longer than %zu bytes: %s",
			sizeof addr.sun_path - 1, path);
		return -1;
	}
	strcpy(addr.sun_path, path);
	if (!clear_path(&addr, type, err))
		return -1;
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || fchmod(fd, 0600) || bind(fd, (struct sockaddr *)&addr, sizeof addr) ||
	    chmod(path, 0600) || listen(fd, 128)) {
		err_set(err, E_SYSTEM, "cannot listen on %s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

static int take_lock(const char *path, struct err *err)
{
	char *name = xasprintf("%s.lock", path);
	int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0) {
		err_set(err, E_SYSTEM, "cannot open %s: %s", name, strerror(errno));
	} else if (flock(fd, LOCK_EX | LOCK_NB)) {
		err_set(err, E_CONNECT, "another brazed serves %s", path);
		close(fd);
		fd = -1;
	}
	free(name);
	return fd;
}

/* false: nobody waits. */
static bool accept_one(struct listener *l)
{
	struct ucred cred;
	socklen_t n = sizeof cred;
	struct peer peer;
	int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0) {
		/* Out of descriptors: a level-triggered listener would spin. */
		if (errno == EMFILE || errno == ENFILE) {
			close(l->spare_fd);
			fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);
			if (fd >= 0)
				close(fd);
			l->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
			log_warn("listen", "no descriptors left: refused a connection");
			return fd >= 0;
		}
		return false;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n)) {
		close(fd);
		return true;
	}
	peer.uid = cred.uid;
	peer.pid = cred.pid;
	l->accepted(l->data, fd, &peer);
	return true;
}

static void on_readable(uv_poll_t *h, int status, int events)
{
	(void)events;
	if (status >= 0)
		accept_one(h->data);
}

static void begin(struct listener *l, uv_loop_t *loop, listen_fn *accepted, void *data)
{
	fcntl(l->fd, F_SETFL, fcntl(l->fd, F_GETFL) | O_NONBLOCK);
	l->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	l->accepted = accepted;
	l->data = data;
	uv_poll_init(loop, &l->poll, l->fd);
	l->poll.data = l;
	uv_poll_start(&l->poll, UV_READABLE, on_readable);
}

enum status listen_create(struct listener **out, uv_loop_t *loop, const char *path, int fd,
			  listen_fn *accepted, void *data, struct err *err)
{
	struct listener *l = xcalloc(1, sizeof *l);
	bool passed = fd >= 0;

	l->fd = fd;
	l->lock_fd = l->spare_fd = -1;
	if (!passed) {
		if (make_directory(path, err))
			goto fail;
		l->lock_fd = take_lock(path, err);
		if (l->lock_fd < 0)
			goto fail;
		l->fd = listen_bind(path, SOCK_SEQPACKET, err);
		if (l->fd < 0)
			goto fail;
		l->path = xstrdup(path);
	}
	begin(l, loop, accepted, data);
	*out = l;
	return OK;
fail:
	if (l->lock_fd >= 0)
		close(l->lock_fd);
	free(l);
	return err ? err->code : E_SYSTEM;
}

static void give_up_path(struct listener *l)
{
	if (l->path)
		unlink(l->path);
	if (l->lock_fd >= 0)
		close(l->lock_fd);
	free(l->path);
	l->path = NULL;
	l->lock_fd = -1;
}

void listen_drain(struct listener *l)
{
	if (!l->path)
		uv_poll_stop(&l->poll);
}

void listen_pause(struct listener *l, bool pause)
{
	if (pause)
		uv_poll_stop(&l->poll);
	else
		uv_poll_start(&l->poll, UV_READABLE, on_readable);
}

int listen_fds(const struct listener *l, int *lock)
{
	*lock = l->lock_fd;
	return l->fd;
}

struct listener *listen_resume(uv_loop_t *loop, const char *path, int fd, int lock,
			       listen_fn *accepted, void *data)
{
	struct listener *l = xcalloc(1, sizeof *l);

	l->fd = fd;
	l->lock_fd = lock;
	l->path = lock >= 0 ? xstrdup(path) : NULL;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (lock >= 0)
		fcntl(lock, F_SETFD, FD_CLOEXEC);
	begin(l, loop, accepted, data);
	return l;
}

void listen_retire(struct listener *l)
{
	give_up_path(l);
	while (accept_one(l))
		;
}

static void on_closed(uv_handle_t *h)
{
	struct listener *l = h->data;

	give_up_path(l);
	close(l->fd);
	if (l->spare_fd >= 0)
		close(l->spare_fd);
	free(l);
}

void listen_destroy(struct listener *l)
{
	if (l)
		uv_close((uv_handle_t *)&l->poll, on_closed);
}
