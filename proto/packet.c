/* SPDX-License-Identifier: Apache-2.0 */
/* proto/packet.c - send and receive one packet with its fds.
 *
 * Invariant: after a failed packet_recv no descriptor of the packet is open. */
#include "packet.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Aligned as the kernel wants its control messages. */
union control {
	struct cmsghdr align;
	char room[CMSG_SPACE(sizeof(int) * LIMIT_FDS_PER_PACKET)];
};

static enum packet_result failed(struct err *err, const char *what, int code)
{
	if (code == EAGAIN || code == EWOULDBLOCK)
		return PACKET_AGAIN;
	if (code == EPIPE || code == ECONNRESET || code == ENOTCONN || code == ECONNREFUSED) {
		err_set(err, E_DAEMON_GONE, "%s: the other end of the connection is gone", what);
		return PACKET_CLOSED;
	}
	err_set(err, E_SYSTEM, "%s: %s", what, strerror(code));
	return PACKET_ERROR;
}

enum packet_result packet_send(int sock, const void *data, size_t len, const int *fds,
			       unsigned nfds, struct err *err)
{
	union control control;
	struct iovec iov = {.iov_base = (void *)data, .iov_len = len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	/* An empty packet would read as the end of the connection. */
	if (len == 0 || len > LIMIT_PACKET_BYTES || nfds > LIMIT_FDS_PER_PACKET) {
		err_set(err, E_LIMIT, "a packet of %zu bytes and %u fds is over LIMIT_PACKET_BYTES",
			len, nfds);
		return PACKET_ERROR;
	}
	if (nfds) {
		memset(&control, 0, sizeof(control));
		msg.msg_control = control.room;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * nfds);
	}
	for (;;) {
		ssize_t n = sendmsg(sock, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n >= 0)
			return PACKET_OK; /* a packet is never split */
		if (errno != EINTR)
			return failed(err, "sending a packet", errno);
	}
}

/* Move the fds of every control message into p; the surplus is closed. */
static unsigned take_fds(struct packet *p, struct msghdr *msg)
{
	unsigned surplus = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (p->nfds < LIMIT_FDS_PER_PACKET) {
				p->fd[p->nfds++] = fd;
			} else {
				close(fd);
				surplus++;
			}
		}
	}
	return surplus;
}

enum packet_result packet_recv(int sock, struct packet *p, struct err *err)
{
	union control control;
	struct iovec iov = {.iov_base = p->data, .iov_len = sizeof(p->data)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.room,
			     .msg_controllen = sizeof(control.room)};
	ssize_t n;

	p->len = 0;
	p->nfds = 0;
	do
		n = recvmsg(sock, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return failed(err, "receiving a packet", errno);

	unsigned surplus = take_fds(p, &msg);
	/* Lost control data means lost fds, and the kernel reports no error for it. */
	if (surplus || (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		packet_close_fds(p);
		err_set(err, E_PROTOCOL,
			"a packet over %d bytes or with more than %d fds was received",
			LIMIT_PACKET_BYTES, LIMIT_FDS_PER_PACKET);
		return PACKET_ERROR;
	}
	if (n == 0) {
		packet_close_fds(p);
		err_set(err, E_DAEMON_GONE, "the other end closed the connection");
		return PACKET_CLOSED;
	}
	p->len = (size_t)n;
	return PACKET_OK;
}

void packet_close_fds(struct packet *p)
{
	for (unsigned i = 0; i < p->nfds; i++)
		if (p->fd[i] >= 0)
			close(p->fd[i]);
	p->nfds = 0;
}
