/* SPDX-License-Identifier: Apache-2.0 */
/* Packets over a real socketpair, sent by the library and by someone hostile.
 *
 * What packet_send sends arrives whole and in order, with its descriptors; what
 * anybody else sends arrives or is an error, and leaves no descriptor open. */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "packet.h"

#define MANY 6 /* descriptors that a hostile packet may carry */

static uint8_t bytes[LIMIT_PACKET_BYTES + 4096];
static struct packet packet;

static void fill(struct fuzz_input *in, size_t n)
{
	memset(bytes, fuzz_byte(in), n);
	for (size_t i = 0; i < n && i < 8; i++)
		bytes[i] = fuzz_byte(in);
}

static bool same_file(int a, int b)
{
	struct stat x, y;

	return !fstat(a, &x) && !fstat(b, &y) && x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

static void send_raw(int sock, size_t n, const int *fd, unsigned nfd)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(MANY * sizeof(int))];
	} control = {0};
	struct iovec iov = {bytes, n};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (nfd) {
		struct cmsghdr *c = &control.align;

		msg.msg_control = control.room;
		msg.msg_controllen = CMSG_SPACE(nfd * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfd * sizeof(int));
		memcpy(CMSG_DATA(c), fd, nfd * sizeof(int));
	}
	if (sendmsg(sock, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return;
}

static size_t draw_length(struct fuzz_input *in)
{
	static const size_t edge[] = {
		0,	     1, LIMIT_PACKET_BYTES - 1, LIMIT_PACKET_BYTES, LIMIT_PACKET_BYTES + 1,
		sizeof bytes};
	uint8_t k = fuzz_byte(in);

	return k < 6 ? edge[k] : (size_t)k * fuzz_byte(in);
}

static void polite(struct fuzz_input *in, const int *pair, const int *fd)
{
	size_t n = draw_length(in);
	unsigned nfd = fuzz_below(in, MANY);
	struct err err = {0};
	enum packet_result r;

	fill(in, n);
	r = packet_send(pair[0], bytes, n, fd, nfd, &err);
	FUZZ_CHECK((r == PACKET_OK) ==
		   (n && n <= LIMIT_PACKET_BYTES && nfd <= LIMIT_FDS_PER_PACKET));
	if (r != PACKET_OK) {
		FUZZ_CHECK(r == PACKET_ERROR && err.code);
		return;
	}
	FUZZ_CHECK(packet_recv(pair[1], &packet, &err) == PACKET_OK);
	FUZZ_CHECK(packet.len == n && !memcmp(packet.data, bytes, n) && packet.nfds == nfd);
	for (unsigned i = 0; i < nfd; i++) {
		FUZZ_CHECK(same_file(packet.fd[i], fd[i]));
		FUZZ_CHECK(fcntl(packet.fd[i], F_GETFD) & FD_CLOEXEC);
	}
	packet_close_fds(&packet);
}

static void hostile(struct fuzz_input *in, const int *pair, const int *fd)
{
	size_t n = draw_length(in);
	unsigned nfd = fuzz_below(in, MANY + 1);
	struct err err = {0};
	enum packet_result r;

	fill(in, n);
	send_raw(pair[0], n, fd, nfd);
	r = packet_recv(pair[1], &packet, &err);
	if (r == PACKET_OK) {
		FUZZ_CHECK(packet.len == n && packet.nfds == nfd && nfd <= LIMIT_FDS_PER_PACKET);
		packet_close_fds(&packet);
		return;
	}
	FUZZ_CHECK(!packet.nfds);
	FUZZ_CHECK(r == PACKET_AGAIN || err.code);
	FUZZ_CHECK(!n || n > LIMIT_PACKET_BYTES || nfd > LIMIT_FDS_PER_PACKET);
}

/* The number the next descriptor will have: it rises when one stays open. */
static int next_fd(void)
{
	int fd = fcntl(0, F_DUPFD, 0);

	close(fd);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, size};
	int pair[2], fd[MANY], before = next_fd();
	struct err err = {0};

	FUZZ_CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
	for (int i = 0; i < MANY; i++)
		fd[i] = i % 2 ? pair[1] : pair[0];
	for (int turn = 0; turn < 8 && in.left; turn++) {
		int open_now = next_fd();

		if (fuzz_below(&in, 2))
			polite(&in, pair, fd);
		else
			hostile(&in, pair, fd);
		FUZZ_CHECK(next_fd() == open_now);
	}
	close(pair[0]);
	while (packet_recv(pair[1], &packet, &err) == PACKET_OK)
		packet_close_fds(&packet);
	FUZZ_CHECK(packet_recv(pair[1], &packet, &err) == PACKET_CLOSED);
	close(pair[1]);
	FUZZ_CHECK(next_fd() == before);
	return 0;
}
