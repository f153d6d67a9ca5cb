/* SPDX-License-Identifier: Apache-2.0 */
/* client/ctl/http.c - one request on a Unix socket.
 *
 * HTTP/1.0, so that the answer is one header and one body, which ends with the
 * connection: all that brazectl wants, and no library that brings TLS along.  What
 * answers is not believed: header, body and time are bounded. */
#include "http.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "limits.h"

#define SECONDS	    10
#define HEADER_MOST 16384
#define ANSWER_MOST (LIMIT_STATUS_BYTES + 65536 + HEADER_MOST)

int64_t http_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool fail(struct http_answer *a, const char *what)
{
	snprintf(a->error, sizeof(a->error), "%s", what);
	return false;
}

/* Until the socket can do what is wanted, or the time is over. */
static bool ready(struct http_answer *a, int fd, short wanted, int64_t end)
{
	struct pollfd p = {.fd = fd, .events = wanted};

	for (;;) {
		int64_t left = end - http_now_ms();
		int n = poll(&p, 1, left > 0 ? (int)left : 0);

		if (n > 0)
			return true;
		if (n == 0)
			return fail(a, "it did not answer in time");
		if (errno != EINTR)
			return fail(a, strerror(errno));
	}
}

static int connected(struct http_answer *a, const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = -1;

	if (strlen(path) >= sizeof(addr.sun_path)) {
		fail(a, "the socket's path is too long");
		return -1;
	}
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		fail(a, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

static bool send_all(struct http_answer *a, int fd, const char *text, int64_t end)
{
	size_t left = strlen(text);

	while (left) {
		if (!ready(a, fd, POLLOUT, end))
			return false;
		ssize_t n = send(fd, text, left, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return fail(a, strerror(errno));
		if (n > 0) {
			text += n;
			left -= (size_t)n;
		}
	}
	return true;
}

/* All that comes until the other side closes, with a 0 behind it. */
static bool receive_all(struct http_answer *a, int fd, int64_t end)
{
	size_t room = 0;

	for (;;) {
		if (a->size + 1 >= room) {
			char *more = NULL;

			room = room ? room * 2 : 65536;
			more = a->size < ANSWER_MOST ? realloc(a->text, room) : NULL;
			if (!more)
				return fail(a, a->size < ANSWER_MOST ? "no memory for the answer"
								     : "the answer is too long");
			a->text = more;
		}
		if (!ready(a, fd, POLLIN, end))
			return false;
		ssize_t n = recv(fd, a->text + a->size, room - a->size - 1, MSG_DONTWAIT);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return fail(a, strerror(errno));
		if (n > 0)
			a->size += (size_t)n;
		a->text[a->size] = 0;
		if (n == 0)
			return true;
	}
}

/* The body's length by the header; -1 where it tells none. */
static long long told_length(const char *header)
{
	for (const char *line = strstr(header, "\r\n"); line; line = strstr(line + 2, "\r\n"))
		if (!strncasecmp(line + 2, "Content-Length:", 15))
			return atoll(line + 17);
	return -1;
}

/* Leaves the body alone in `text`. */
static bool split(struct http_answer *a)
{
	char *end = a->text ? strstr(a->text, "\r\n\r\n") : NULL;
	int code = 0;

	if (!end || end - a->text > HEADER_MOST ||
	    sscanf(a->text, "HTTP/%*1d.%*1d %3d ", &code) != 1)
		return fail(a, "the answer is not HTTP");
	*end = 0;
	size_t head = (size_t)(end + 4 - a->text);
	long long length = told_length(a->text);
	if (length >= 0 && (unsigned long long)length != a->size - head)
		return fail(a, "the answer broke off");
	a->code = code;
	a->size -= head;
	memmove(a->text, a->text + head, a->size + 1);
	return true;
}

bool http_whole(struct http_answer *a, const char *path, const char *method, const char *url)
{
	int64_t end = http_now_ms() + SECONDS * 1000;
	char request[2048];

	*a = (struct http_answer){0};
	if (snprintf(request, sizeof(request),
		     "%s %s HTTP/1.0\r\nHost: braze\r\nContent-Length: 0\r\n\r\n", method,
		     url) >= (int)sizeof(request))
		return fail(a, "the address is too long");
	int fd = connected(a, path);
	if (fd < 0)
		return false;
	bool good = send_all(a, fd, request, end) && receive_all(a, fd, end);
	close(fd);
	if (!good)
		http_finish(a);
	return good;
}

bool http_call(struct http_answer *a, const char *path, const char *method, const char *url)
{
	if (!http_whole(a, path, method, url))
		return false;
	if (split(a))
		return true;
	http_finish(a);
	return false;
}

void http_finish(struct http_answer *a)
{
	free(a->text);
	a->text = NULL;
	a->size = 0;
}
