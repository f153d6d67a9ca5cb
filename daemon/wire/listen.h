/* SPDX-License-Identifier: Apache-2.0 */
/* wire/listen.h - the daemon's sockets in the file system.
 *
 * A socket's path is guarded by an flock on "<path>.lock": whoever holds it owns
 * the path, so two daemons started at once cannot both serve. */
#ifndef BRAZE_LISTEN_H
#define BRAZE_LISTEN_H

#include <sys/types.h>

#include "ops.h"

struct uv_loop_s;
struct listener;

/* Who connected; credentials are the kernel's. */
struct peer {
	uid_t uid;
	pid_t pid;
};

typedef void listen_fn(void *data, int fd, const struct peer *peer);

/* Make the directory of `path` if missing (0700), take its lock and listen.
 * E_CONNECT when another daemon has the lock.  fd >= 0: a listening socket that
 * was passed in (socket activation); path is then only a name. */
enum status listen_create(struct listener **out, struct uv_loop_s *loop, const char *path, int fd,
			  listen_fn *accepted, void *data, struct err *err) MUST_USE;
/* Give the path up, so that who comes now starts another daemon, and accept those
 * who had connected already. */
void listen_retire(struct listener *l);
/* A daemon that is about to end: a passed socket's queue is left to the next one. */
void listen_drain(struct listener *l);
/* Leave who comes in the queue; or go on. */
void listen_pause(struct listener *l, bool pause);
/* The socket's descriptor; *lock: the lock's, -1 where a socket was passed in. */
int listen_fds(const struct listener *l, int *lock);
/* A listener whose descriptors were handed over; takes them.  `path` as in listen_create. */
struct listener *listen_resume(struct uv_loop_s *loop, const char *path, int fd, int lock,
			       listen_fn *accepted, void *data);
/* Unlinks the path, under the lock, if it is ours. */
void listen_destroy(struct listener *l);
/* An AF_UNIX socket of this type bound to path and listening, mode 0600; -1.  A socket
 * that nobody listens on is replaced; any other file, or a live socket, is left alone. */
int listen_bind(const char *path, int type, struct err *err);

#endif
