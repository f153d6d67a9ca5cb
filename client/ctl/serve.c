/* SPDX-License-Identifier: Apache-2.0 */
/* client/ctl/serve.c - the status page for a browser, which opens no Unix socket.
 *
 * In: requests at a port of 127.0.0.1.  Out: the daemon's own answers, as they came.
 * Every program of this machine can reach the port, and so can every page that a browser shows.
 * So the address has a token, drawn at the start, without which nothing is answered; the Host must
 * be this machine's, so that no name of a stranger's is made to lead here; and only reading is
 * passed on, so nobody ends a session or clears the cache this way.  The daemon's answers allow no
 * other page to read or frame them, and the page sends its address to nobody. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "ctl_client.h"
#include "http.h"

#define PEERS	     32	  /* more wait in the queue of the port */
#define HEAD_MOST    8192 /* bytes of a request */
#define IDLE_SECONDS 10
#define TOKEN_BYTES  16
#define TOKEN_TEXT   (2 * TOKEN_BYTES)

struct peer {
	int fd; /* -1: free */
	size_t n;
	int64_t since; /* ms */
	char head[HEAD_MOST + 1];
};

struct server {
	struct fetch *fetch;
	int fd;
	char token[TOKEN_TEXT + 1];
	struct peer peer[PEERS];
};

static bool draw_token(char *token)
{
	unsigned char bytes[TOKEN_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return false;
	for (int i = 0; i < TOKEN_BYTES; i++)
		snprintf(token + 2 * i, 3, "%02x", bytes[i]);
	return true;
}

/* How long it takes tells nothing of where they differ. */
static bool same(const char *a, const char *b, size_t n)
{
	volatile unsigned char differ = 0;

	for (size_t i = 0; i < n; i++)
		differ |= (unsigned char)(a[i] ^ b[i]);
	return !differ;
}

/* ---- Answers ---- */

static void send_all(int fd, const char *text, size_t n)
{
	while (n) {
		ssize_t done = send(fd, text, n, MSG_NOSIGNAL);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return; /* it has gone, or reads no more */
		text += done;
		n -= (size_t)done;
	}
}

static void refuse(int fd, const char *code, const char *why)
{
	char text[768];
	int n = snprintf(text, sizeof(text),
			 "HTTP/1.1 %s\r\nContent-Type: application/json\r\nConnection: close\r\n"
			 "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\r\n"
			 "{\"error\": \"%s\"}\n",
			 code, why);

	send_all(fd, text, (size_t)n);
}

static void relay(const struct server *s, int fd, const char *method, const char *url)
{
	struct http_answer a;

	if (!http_whole(&a, s->fetch->socket, method, url)) {
		refuse(fd, "502 Bad Gateway", "no daemon answers");
		return;
	}
	send_all(fd, a.text, a.size);
	http_finish(&a);
}

/* ---- Requests ---- */

/* The value of the only header of this name; NULL: there is none, or there are several. */
static const char *header(const char *head, const char *name, size_t *n)
{
	const char *found = NULL;
	size_t m = strlen(name);

	for (const char *line = strstr(head, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
		if (strncasecmp(line + 2, name, m) || line[2 + m] != ':')
			continue;
		if (found)
			return NULL;
		found = line + 3 + m;
		found += strspn(found, " \t");
		*n = strcspn(found, "\r\n");
	}
	return found;
}

/* This machine by its own names, whatever the port: it may be another one's that is forwarded. */
static bool is_local(const char *head)
{
	static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
	size_t n = 0;
	const char *host = header(head, "Host", &n);

	for (size_t i = 0; host && i < sizeof(names) / sizeof(names[0]); i++) {
		size_t m = strlen(names[i]);

		if (n >= m && !strncasecmp(host, names[i], m) &&
		    (n == m || (host[m] == ':' && strspn(host + m + 1, "0123456789") == n - m - 1)))
			return true;
	}
	return false;
}

static void answer(const struct server *s, int fd, char *head)
{
	char *method = head, *url = strpbrk(head, " \r"), *end = NULL;

	if (!url || *url != ' ' || !(end = strpbrk(url + 1, " \r")) || *end != ' ' ||
	    strncmp(end, " HTTP/1.", 8)) {
		refuse(fd, "400 Bad Request", "this is no HTTP/1");
		return;
	}
	if (!is_local(head)) {
		refuse(fd, "403 Forbidden", "only 127.0.0.1 and localhost lead here");
		return;
	}
	*url++ = 0;
	*end = 0;
	if (strcmp(method, "GET") && strcmp(method, "HEAD")) {
		refuse(fd, "405 Method Not Allowed", "this page is for reading: use GET");
		return;
	}
	if (strlen(url) < TOKEN_TEXT + 2 || url[0] != '/' || url[TOKEN_TEXT + 1] != '/' ||
	    !same(url + 1, s->token, TOKEN_TEXT)) {
		refuse(fd, "403 Forbidden", "the address lacks the token that brazectl page told");
		return;
	}
	url += TOKEN_TEXT + 1;
	if (url[strspn(url, "abcdefghijklmnopqrstuvwxyz0123456789/?=&")]) {
		refuse(fd, "400 Bad Request", "no page is called so");
		return;
	}
	relay(s, fd, method, url);
}

/* ---- Connections ---- */

static void drop(struct peer *p)
{
	close(p->fd);
	p->fd = -1;
}

static void take(struct server *s)
{
	struct timeval most = {.tv_sec = IDLE_SECONDS};
	int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
	struct peer *p = s->peer;

	if (fd < 0)
		return;
	while (p->fd >= 0) /* there is one: else the port is not polled */
		p++;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	p->fd = fd;
	p->n = 0;
	p->since = http_now_ms();
}

static void receive(const struct server *s, struct peer *p)
{
	ssize_t n = recv(p->fd, p->head + p->n, HEAD_MOST - p->n, MSG_DONTWAIT);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0)
		p->n += (size_t)n;
	p->head[p->n] = 0;
	if (n > 0 && !memmem(p->head, p->n, "\r\n\r\n", 4)) {
		if (p->n < HEAD_MOST)
			return;
		refuse(p->fd, "431 Request Header Fields Too Large", "the request is too long");
	} else if (n > 0) {
		answer(s, p->fd, p->head);
		shutdown(p->fd, SHUT_WR);
	}
	drop(p);
}

static void serve(struct server *s)
{
	for (;;) {
		struct pollfd p[PEERS + 1];
		bool full = true;

		for (int i = 0; i < PEERS; i++) {
			if (s->peer[i].fd >= 0 &&
			    http_now_ms() - s->peer[i].since > IDLE_SECONDS * 1000)
				drop(&s->peer[i]);
			p[i] = (struct pollfd){.fd = s->peer[i].fd, .events = POLLIN};
			full &= s->peer[i].fd >= 0;
		}
		p[PEERS] = (struct pollfd){.fd = full ? -1 : s->fd, .events = POLLIN};
		if (poll(p, PEERS + 1, 1000) <= 0)
			continue;
		for (int i = 0; i < PEERS; i++)
			if (p[i].revents)
				receive(s, &s->peer[i]);
		if (p[PEERS].revents)
			take(s);
	}
}

static int listening(long port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)port),
				.sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd >= 0 && !bind(fd, (struct sockaddr *)&a, sizeof(a)) && !listen(fd, PEERS))
		return fd;
	fprintf(stderr, "brazectl: port %ld: %s\n", port, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

int serve_run(struct fetch *f, long port)
{
	struct server *s = calloc(1, sizeof(*s));
	struct sockaddr_in a;
	socklen_t n = sizeof(a);

	if (!s || !draw_token(s->token)) {
		fprintf(stderr, "brazectl: no token could be drawn: %s\n", strerror(errno));
		free(s);
		return 1;
	}
	s->fetch = f;
	for (int i = 0; i < PEERS; i++)
		s->peer[i].fd = -1;
	s->fd = listening(port);
	if (s->fd < 0 || getsockname(s->fd, (struct sockaddr *)&a, &n)) {
		free(s);
		return 1;
	}
	printf("http://127.0.0.1:%d/%s/\n", ntohs(a.sin_port), s->token);
	fflush(stdout);
	fputs("Whoever has this address may read the page. Ctrl-C ends it.\n", stderr);
	serve(s);
	return 0; /* a signal ends it */
}
