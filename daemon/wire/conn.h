/* SPDX-License-Identifier: Apache-2.0 */
/* wire/conn.h - one client's socket: packets in and out.
 *
 * Loop thread.  One packet is read per wake-up, so that no client starves the
 * others.  While replies wait for a client that does not read, nothing more is read
 * from it, so that only what it had asked for before is queued.  It may take its time:
 * it may be stopped, or get no share of a busy machine.  Only one whose replies pass
 * LIMIT_UNREAD_BYTES loses its connection.  Memory goes in the handle's close callback. */
#ifndef BRAZE_CONN_H
#define BRAZE_CONN_H

#include "packet.h"

struct uv_loop_s;
struct conn;

struct conn_events {
	/* A packet; its fds are closed afterwards unless taken. */
	void (*packet)(void *data, struct packet *p);
	/* The connection is over, once, with the reason. */
	void (*closed)(void *data, const struct err *why);
	/* A packet that is none: the owner is to say so to the client, and close.  NULL:
	 * `closed` is called. */
	void (*refused)(void *data, const struct err *why);
};

/* Takes the socket. */
struct conn *conn_create(struct uv_loop_s *loop, int fd, const struct conn_events *events,
			 void *data);
/* Queue or send one packet; fd -1: none (it stays the caller's). */
void conn_send(struct conn *c, const void *bytes, size_t n, int fd);
/* Stop or resume reading. */
void conn_pause(struct conn *c, bool pause);
/* Close without calling `closed`; queued replies get one last chance. */
void conn_close(struct conn *c);
int conn_fd(const struct conn *c);
/* Each queued reply, oldest first; fd -1: none. */
void conn_each_unsent(const struct conn *c,
		      void (*fn)(void *data, const uint8_t *bytes, size_t n, int fd), void *data);
/* Are replies queued that the client has not taken yet? */
bool conn_unsent(const struct conn *c);

#endif
