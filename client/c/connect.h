/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/connect.h - find a daemon, start one when none listens. */
#ifndef BRAZE_CONNECT_H
#define BRAZE_CONNECT_H

#include <sys/types.h>

#include "client.h"

/* A connected socket.  *child is the pid of a private daemon, or 0. */
enum status connect_open(int *fd, pid_t *child, const char *path, unsigned flags,
			 struct err *err) MUST_USE;
/* The path of the brazed that would be started. */
enum status connect_daemon(char *buf, size_t n, struct err *err) MUST_USE;
/* Collect a private daemon whose socket was closed. */
void connect_reap(pid_t child);

#endif
