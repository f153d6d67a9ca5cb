/* SPDX-License-Identifier: Apache-2.0 */
#include "conn.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "../base/xalloc.h"

/* How long a client may leave replies unread. */
#define UNREAD_MS 10000

struct unsent {
	struct unsent *next;
	size_t n;
	int fd;
	uint8_t bytes[];
};

struct conn {
	uv_poll_t poll;
	uv_timer_t patience; /* runs while replies wait */
	int fd, handles;     /* open uv handles */
	struct conn_events events;
	void *data;
	struct unsent *first, **last;
	unsigned queued;
	bool paused, closing;
	struct packet in;
};

static void on_poll(uv_poll_t *h, int status, int events);

static void on_closed(uv_handle_t *h)
{
	struct conn *c = h->data;

	if (--c->handles)
		return;
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
	uv_close((uv_handle_t *)&c->patience, on_closed);
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

static void on_impatient(uv_timer_t *timer)
{
	struct err why;

	err_set(&why, E_TIMEOUT, "the client left %u replies unread for %d s",
		((struct conn *)timer->data)->queued, UNREAD_MS / 1000);
	end(timer->data, &why);
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
		c->queued--;
		if (u->fd >= 0)
			close(u->fd);
		free(u);
		uv_timer_again(&c->patience);
	}
	uv_timer_stop(&c->patience);
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
	uv_timer_init(loop, &c->patience);
	c->poll.data = c->patience.data = c;
	c->handles = 2;
	watch(c);
	return c;
}

void conn_send(struct conn *c, const void *bytes, size_t n, int fd)
{
	struct err why;
	struct unsent *u;

	if (c->closing)
		return;
	if (!c->first) {
		enum packet_result r = packet_send(c->fd, bytes, n, &fd, fd >= 0, &why);

		if (r == PACKET_OK)
			return;
		/* A dead peer is reported by the poll, not from inside a reply. */
		if (r != PACKET_AGAIN)
			return;
		uv_timer_start(&c->patience, on_impatient, UNREAD_MS, UNREAD_MS);
	}
	u = xmalloc(sizeof *u + n);
	u->next = NULL;
	u->n = n;
	u->fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
	memcpy(u->bytes, bytes, n);
	*(c->first ? c->last : &c->first) = u;
	c->last = &u->next;
	if (++c->queued > LIMIT_REPLY_QUEUE)
		uv_timer_start(&c->patience, on_impatient, 0, 0);
	watch(c);
}

void conn_pause(struct conn *c, bool pause)
{
	c->paused = pause;
	watch(c);
}
