/* SPDX-License-Identifier: Apache-2.0 */
#include "conn.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "../base/xalloc.h"

struct unsent {
	struct unsent *next;
	size_t n;
	int fd;
	uint8_t bytes[];
};

struct conn {
	uv_poll_t poll;
	int fd;
	struct conn_events events;
	void *data;
	struct unsent *first, **last;
	size_t unread; /* bytes of memory that queued replies take */
	bool paused, closing;
	bool full; /* LIMIT_UNREAD_BYTES would be passed: the next turn ends it */
	struct packet in;
};

static void on_poll(uv_poll_t *h, int status, int events);

static void on_closed(uv_handle_t *h)
{
	struct conn *c = h->data;

	close(c->fd);
	while (c->first) {
		struct unsent *u = c->first;

		c->first = u->next;
		if (u->fd >= 0)
			close(u->fd);
		free(u);
	}
	free(c);
}

int conn_fd(const struct conn *c)
{
	return c->fd;
}

void conn_each_unsent(const struct conn *c,
		      void (*fn)(void *data, const uint8_t *bytes, size_t n, int fd), void *data)
{
	for (const struct unsent *u = c->first; u; u = u->next)
		fn(data, u->bytes, u->n, u->fd);
}

bool conn_unsent(const struct conn *c)
{
	return c->first != NULL;
}

void conn_close(struct conn *c)
{
	if (c->closing)
		return;
	c->closing = true;
	uv_close((uv_handle_t *)&c->poll, on_closed);
}

static void end(struct conn *c, const struct err *why)
{
	if (c->closing)
		return;
	conn_close(c);
	c->events.closed(c->data, why);
}

static void watch(struct conn *c)
{
	int events = c->first ? UV_WRITABLE : c->paused ? 0 : UV_READABLE;

	if (c->closing)
		return;
	/* UV_DISCONNECT: a paused client's death is noticed all the same. */
	uv_poll_start(&c->poll, events | UV_DISCONNECT, on_poll);
}

/* Returns false when the connection ended. */
static bool flush(struct conn *c)
{
	while (c->first) {
		struct unsent *u = c->first;
		struct err why;
		enum packet_result r = packet_send(c->fd, u->bytes, u->n, &u->fd, u->fd >= 0, &why);

		if (r == PACKET_AGAIN)
			return true;
		if (r != PACKET_OK) {
			end(c, &why);
			return false;
		}
		c->first = u->next;
		c->unread -= sizeof *u + u->n;
		if (u->fd >= 0)
			close(u->fd);
		free(u);
	}
	watch(c);
	return true;
}

static void receive(struct conn *c)
{
	struct err why;
	enum packet_result r = packet_recv(c->fd, &c->in, &why);

	if (r == PACKET_AGAIN)
		return;
	if (r == PACKET_ERROR && why.code == E_PROTOCOL && c->events.refused) {
		c->events.refused(c->data, &why);
		return;
	}
	if (r != PACKET_OK) {
		end(c, &why);
		return;
	}
	c->events.packet(c->data, &c->in);
	packet_close_fds(&c->in);
}

static void on_poll(uv_poll_t *h, int status, int events)
{
	struct conn *c = h->data;
	struct err why;

	if (status < 0 || (events & UV_DISCONNECT && !(events & UV_READABLE))) {
		if (c->full)
			err_set(&why, E_LIMIT,
				"the client leaves more than %u bytes of replies "
				"unread (LIMIT_UNREAD_BYTES)",
				LIMIT_UNREAD_BYTES);
		else
			err_set(&why, E_DAEMON_GONE, "the client closed the connection");
		end(c, &why);
		return;
	}
	if (events & UV_WRITABLE && !flush(c))
		return;
	if (events & UV_READABLE)
		receive(c);
}

struct conn *conn_create(uv_loop_t *loop, int fd, const struct conn_events *events, void *data)
{
	struct conn *c = xcalloc(1, sizeof *c);

	c->fd = fd;
	c->events = *events;
	c->data = data;
	c->last = &c->first;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	if (uv_poll_init(loop, &c->poll, fd)) {
		close(fd);
		free(c);
		return NULL;
	}
	c->poll.data = c;
	watch(c);
	return c;
}

void conn_send(struct conn *c, const void *bytes, size_t n, int fd)
{
	struct err why;
	struct unsent *u;

	if (c->closing || c->full)
		return;
	if (!c->first) {
		enum packet_result r = packet_send(c->fd, bytes, n, &fd, fd >= 0, &why);

		if (r == PACKET_OK)
			return;
		/* A dead peer is reported by the poll, not from inside a reply. */
		if (r != PACKET_AGAIN)
			return;
	}
	if (c->unread + sizeof *u + n > LIMIT_UNREAD_BYTES) {
		/* Its end is reported by the poll as well. */
		c->full = true;
		shutdown(c->fd, SHUT_RDWR);
		return;
	}
	u = xmalloc(sizeof *u + n);
	u->next = NULL;
	u->n = n;
	u->fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
	memcpy(u->bytes, bytes, n);
	*(c->first ? c->last : &c->first) = u;
	c->last = &u->next;
	c->unread += sizeof *u + n;
	watch(c);
}

void conn_pause(struct conn *c, bool pause)
{
	c->paused = pause;
	watch(c);
}
