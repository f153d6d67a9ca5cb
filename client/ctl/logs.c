/* SPDX-License-Identifier: Apache-2.0 */
/* client/ctl/logs.c - the daemon's log: the file beside its socket, or systemd's journal.
 *
 * A log may be moved away or cut while it is followed: then the new one is read from its start. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl_client.h"

#define BLOCK	  65536
#define FOLLOW_US 200000

/* "X.status.sock" has its daemon's log at "X.sock.log". */
static bool log_path(char *buf, size_t n, const char *socket)
{
	const char *end = strstr(socket, ".status.sock");

	return end && snprintf(buf, n, "%.*s.sock.log", (int)(end - socket), socket) < (int)n;
}

/* Where the last `lines` lines begin. */
static off_t start_of(int fd, off_t size, long lines)
{
	char block[BLOCK];
	off_t at = size;

	while (at > 0) {
		size_t want = at < BLOCK ? (size_t)at : BLOCK;
		ssize_t got = pread(fd, block, want, at - (off_t)want);

		if (got <= 0)
			break;
		for (ssize_t i = got - 1; i >= 0; i--) {
			/* The newline that ends the file ends its last line. */
			if (block[i] == '\n' && at - (off_t)want + i + 1 < size && lines-- <= 1)
				return at - (off_t)want + i + 1;
		}
		at -= (off_t)want;
	}
	return 0;
}

/* From `at` to the end; the new place. */
static off_t copy_from(int fd, off_t at)
{
	char block[BLOCK];
	ssize_t got = 0;

	while ((got = pread(fd, block, sizeof(block), at)) > 0) {
		for (ssize_t i = 0; i < got; i++) {
			unsigned char c = (unsigned char)block[i];
			putchar((c < ' ' && c != '\n' && c != '\t') || c == 127 ? '?' : c);
		}
		at += got;
	}
	fflush(stdout);
	return at;
}

/* Another file has the name, or this one was cut. */
static bool is_over(int fd, const char *path, off_t at)
{
	struct stat mine, named;

	if (fstat(fd, &mine) || mine.st_size < at)
		return true;
	return !stat(path, &named) && (named.st_ino != mine.st_ino || named.st_dev != mine.st_dev);
}

static int follow(int fd, const char *path, off_t at)
{
	while (!ferror(stdout)) {
		at = copy_from(fd, at);
		if (is_over(fd, path, at)) {
			int fresh = open(path, O_RDONLY | O_CLOEXEC);

			if (fresh >= 0) {
				copy_from(fd, at);
				close(fd);
				fd = fresh;
				at = 0;
				continue;
			}
		}
		usleep(FOLLOW_US);
	}
	close(fd);
	return 1;
}

static int journal(const char *socket, long lines, bool follows)
{
	char number[24];
	const char *argv[8] = {"journalctl"};
	int n = 1;

	snprintf(number, sizeof(number), "%ld", lines);
	if (strncmp(socket, "/run/braze/", 11) != 0)
		argv[n++] = "--user";
	argv[n++] = "--unit=brazed";
	argv[n++] = "-n";
	argv[n++] = number;
	if (follows)
		argv[n++] = "-f";
	execvp(argv[0], (char *const *)argv);
	fprintf(stderr, "brazectl: there is no log beside %s, and no journalctl: %s\n", socket,
		strerror(errno));
	return 1;
}

int logs_run(const char *socket, long lines, bool follows)
{
	char path[4096];
	struct stat s;
	int fd = -1;
	off_t at = 0;

	if (log_path(path, sizeof(path), socket))
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return journal(socket, lines, follows);
	if (fd < 0 || fstat(fd, &s)) {
		fprintf(stderr, "brazectl: %s: %s\n", path, strerror(errno));
		return 1;
	}
	at = lines ? start_of(fd, s.st_size, lines) : s.st_size;
	if (follows)
		return follow(fd, path, at);
	copy_from(fd, at);
	close(fd);
	return 0;
}
