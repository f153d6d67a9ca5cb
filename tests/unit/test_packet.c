/* SPDX-License-Identifier: Apache-2.0 */
/* Packets and their fds over a socketpair: content, limits, and no leaks. */
#define _GNU_SOURCE /* memfd_create */
#include "packet.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static struct packet packet;

static void pair(int s[2])
{
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s), 0);
}

static int open_fds(void)
{
	int n = 0;
	DIR *d = opendir("/proc/self/fd");

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Send without our limits, as a hostile peer would. */
static void raw_send(int sock, size_t len, int nfds)
{
	static char data[LIMIT_PACKET_BYTES + 64];
	char room[CMSG_SPACE(sizeof(int) * 16)] = {0};
	int fds[16];
	struct iovec iov = {data, len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (nfds) {
		msg.msg_control = room;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)nfds);
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)nfds);
		for (int i = 0; i < nfds; i++)
			fds[i] = 2;
		memcpy(CMSG_DATA(c), fds, sizeof(int) * (size_t)nfds);
	}
	cr_assert_eq(sendmsg(sock, &msg, 0), (ssize_t)len);
}

Test(packet, bytes_and_fds_arrive_together)
{
	int s[2], fd = memfd_create("x", MFD_CLOEXEC);
	struct err err = {0};

	pair(s);
	cr_assert_eq(write(fd, "braze", 5), 5);
	cr_assert_eq(packet_send(s[0], "first", 5, NULL, 0, &err), PACKET_OK);
	cr_assert_eq(packet_send(s[0], "second", 6, (int[]){fd, fd}, 2, &err), PACKET_OK);
	cr_assert_eq(packet_recv(s[1], &packet, &err), PACKET_OK);
	cr_assert_eq(packet.len, 5);
	cr_assert_eq(packet.nfds, 0);
	cr_assert_eq(packet_recv(s[1], &packet, &err), PACKET_OK);
	cr_assert_eq(packet.len, 6);
	cr_assert_eq(memcmp(packet.data, "second", 6), 0);
	cr_assert_eq(packet.nfds, 2);
	char got[5];
	cr_assert_eq(pread(packet.fd[1], got, 5, 0), 5);
	cr_assert_eq(memcmp(got, "braze", 5), 0);
	cr_assert(fcntl(packet.fd[0], F_GETFD) & FD_CLOEXEC);
	packet_close_fds(&packet);
	cr_assert_eq(packet.nfds, 0);
}

Test(packet, a_full_packet_passes_and_a_larger_one_is_refused)
{
	static uint8_t data[LIMIT_PACKET_BYTES + 1];
	int s[2];
	struct err err = {0};

	pair(s);
	data[LIMIT_PACKET_BYTES - 1] = 7;
	cr_assert_eq(packet_send(s[0], data, LIMIT_PACKET_BYTES, NULL, 0, &err), PACKET_OK);
	cr_assert_eq(packet_recv(s[1], &packet, &err), PACKET_OK);
	cr_assert_eq(packet.len, LIMIT_PACKET_BYTES);
	cr_assert_eq(packet.data[LIMIT_PACKET_BYTES - 1], 7);
	cr_assert_eq(packet_send(s[0], data, sizeof(data), NULL, 0, &err), PACKET_ERROR);
	cr_assert_eq(err.code, E_LIMIT);
	cr_assert_eq(packet_send(s[0], data, 0, NULL, 0, &err), PACKET_ERROR);
	cr_assert_eq(packet_send(s[0], data, 1, (int[]){2, 2, 2}, 3, &err), PACKET_ERROR);
}

Test(packet, a_hostile_packet_is_an_error_and_leaks_no_fd)
{
	int s[2];
	struct err err = {0};

	pair(s);
	int before = open_fds();
	raw_send(s[0], LIMIT_PACKET_BYTES + 1, 2);
	cr_assert_eq(packet_recv(s[1], &packet, &err), PACKET_ERROR);
	cr_assert_eq(err.code, E_PROTOCOL);
	raw_send(s[0], 8, LIMIT_FDS_PER_PACKET + 1);
	cr_assert_eq(packet_recv(s[1], &packet, &err), PACKET_ERROR);
	raw_send(s[0], 8, 16);
	cr_assert_eq(packet_recv(s[1], &packet, &err), PACKET_ERROR);
	cr_assert_eq(packet.nfds, 0);
	raw_send(s[0], 0, 1);
	cr_assert_eq(packet_recv(s[1], &packet, &err), PACKET_CLOSED);
	cr_assert_eq(open_fds(), before);
}

Test(packet, an_empty_queue_and_a_full_one_say_again)
{
	static uint8_t data[4096];
	int s[2], sent = 0;
	enum packet_result r;
	struct err err = {0};

	pair(s);
	cr_assert_eq(packet_recv(s[1], &packet, &err), PACKET_AGAIN);
	while ((r = packet_send(s[0], data, sizeof(data), NULL, 0, &err)) == PACKET_OK)
		sent++;
	cr_assert_eq(r, PACKET_AGAIN);
	cr_assert_gt(sent, 0);
	for (int i = 0; i < sent; i++)
		cr_assert_eq(packet_recv(s[1], &packet, &err), PACKET_OK);
	cr_assert_eq(packet_recv(s[1], &packet, &err), PACKET_AGAIN);
}

Test(packet, a_closed_peer_is_reported_without_a_signal)
{
	int s[2];
	struct err err = {0};

	pair(s);
	close(s[1]);
	cr_assert_eq(packet_recv(s[0], &packet, &err), PACKET_CLOSED);
	cr_assert_eq(packet_send(s[0], "x", 1, NULL, 0, &err), PACKET_CLOSED);
	cr_assert_eq(err.code, E_DAEMON_GONE);
}
