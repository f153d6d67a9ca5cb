/* SPDX-License-Identifier: Apache-2.0 */
/* compile/compile_wire.c - packets with a descriptor, and sealed memfds. */
#define _GNU_SOURCE
#include "compile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010u
#endif

enum status compile_wire_memfd(int *out, const char *name, const void *data, size_t n,
			       struct err *err)
{
	const char *p = data;
	enum status st = OK;
	int fd;

	/* Objects in it are mapped executable; kernels before 6.3 do not know the flag. */
	fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return err_set(err, E_SYSTEM, "memfd_create %s: %s", name, strerror(errno));
	while (n) {
		ssize_t w = write(fd, p, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0) {
			st = err_set(err, E_SYSTEM, "write to memfd %s: %s", name, strerror(errno));
			goto out;
		}
		p += w;
		n -= (size_t)w;
	}
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)) {
		st = err_set(err, E_SYSTEM, "seal memfd %s: %s", name, strerror(errno));
		goto out;
	}
	lseek(fd, 0, SEEK_SET);
	*out = fd;
	fd = -1;
out:
	if (fd >= 0)
		close(fd);
	return st;
}

int compile_wire_send(int sock, const void *msg, size_t n, int fd)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {(void *)(uintptr_t)msg, n};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t r;

	if (fd >= 0) {
		struct cmsghdr *c;

		memset(&control, 0, sizeof control);
		m.msg_control = control.room;
		m.msg_controllen = sizeof control.room;
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(c), &fd, sizeof fd);
	}
	do
		r = sendmsg(sock, &m, MSG_NOSIGNAL);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -1 : 0;
}

int compile_wire_recv(int sock, void *msg, size_t n, int *fd, int flags)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {msg, n};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control.room,
			   .msg_controllen = sizeof control.room};
	ssize_t r;

	*fd = -1;
	do
		r = recvmsg(sock, &m, flags | MSG_CMSG_CLOEXEC);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
		    c->cmsg_len == CMSG_LEN(sizeof *fd))
			memcpy(fd, CMSG_DATA(c), sizeof *fd);
	if (!r)
		return 0;
	if ((size_t)r == n && !(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return 1;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = EPROTO;
	return -1;
}
