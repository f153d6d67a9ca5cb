/* SPDX-License-Identifier: Apache-2.0 */
/* client/ctl/fetch.c - find the status socket and read its pages.
 *
 * The socket stands beside the daemon's own, with ".status.sock" for ".sock", and
 * is looked for in the same order as libbraze looks for the daemon. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "ctl_client.h"
#include "http.h"
#include "limits.h"

static const char *nonempty(const char *name)
{
	const char *v = getenv(name);

	return v && *v ? v : NULL;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

static void beside(char *out, size_t size, const char *path)
{
	size_t n = strlen(path);

	if (ends_with(path, ".status.sock"))
		snprintf(out, size, "%s", path);
	else if (ends_with(path, ".sock"))
		snprintf(out, size, "%.*s.status.sock", (int)(n - 5), path);
	else
		snprintf(out, size, "%s.status.sock", path);
}

/* Does somebody listen there?  errno tells why not. */
static bool listens(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	bool ok = false;
	int fd = -1, saved = 0;

	if (strlen(path) >= sizeof(a.sun_path)) {
		errno = ENAMETOOLONG;
		return false;
	}
	strcpy(a.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	ok = connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0;
	saved = errno;
	close(fd);
	errno = saved;
	return ok;
}

/* In a shared place a stranger may have put a socket: it is not asked. */
static bool ours(const char *path)
{
	struct stat s;

	return lstat(path, &s) == 0 && (s.st_uid == 0 || s.st_uid == getuid());
}

static bool find_named(struct fetch *f, const char *path)
{
	int first = 0;

	snprintf(f->socket, sizeof(f->socket), "%s", path);
	if (listens(f->socket))
		return true;
	first = errno;
	beside(f->socket, sizeof(f->socket), path);
	if (listens(f->socket))
		return true;
	snprintf(f->error, sizeof(f->error), "no daemon answers at %.300s: %s", path,
		 strerror(first));
	return false;
}

static bool find_beside(struct fetch *f, const char *socket)
{
	beside(f->socket, sizeof(f->socket), socket);
	if (listens(f->socket))
		return true;
	snprintf(f->error, sizeof(f->error), "no daemon answers at %.300s: %s", f->socket,
		 strerror(errno));
	return false;
}

bool fetch_find(struct fetch *f, const char *path)
{
	const char *run = nonempty("XDG_RUNTIME_DIR"), *tmp = nonempty("TMPDIR"), *named = NULL;
	char user[2048];
	int denied = 0;

	if (path)
		return find_named(f, path);
	if ((named = nonempty("BRAZE_STATUS_SOCKET")))
		return find_named(f, named);
	/* $BRAZE_SOCKET's own socket speaks another protocol: only the one beside it. */
	if ((named = nonempty("BRAZE_SOCKET")))
		return find_beside(f, named);
	snprintf(f->socket, sizeof(f->socket), "/run/braze/braze-%d.status.sock",
		 BRAZE_PROTO_MAJOR);
	if (ours(f->socket)) {
		if (listens(f->socket))
			return true;
		denied = errno == EACCES;
	}
	if (run)
		snprintf(user, sizeof(user), "%s/braze", run);
	else
		snprintf(user, sizeof(user), "%s/braze-%lu", tmp ? tmp : "/tmp",
			 (unsigned long)getuid());
	snprintf(f->socket, sizeof(f->socket), "%s/braze-%d.status.sock", user, BRAZE_PROTO_MAJOR);
	if (ours(f->socket) && listens(f->socket))
		return true;
	snprintf(f->error, sizeof(f->error),
		 denied ? "the system's daemon lets only its own user and root look (try sudo), "
			  "and no daemon of yours answers at %.300s"
			: "no daemon runs: nothing answers at %.300s; one starts with the first "
			  "program that uses braze, or with: brazed --user",
		 f->socket);
	return false;
}

/* The daemon's own words when it sent some. */
static void refuse(struct fetch *f, const char *url, int code, const char *text)
{
	cJSON *o = cJSON_Parse(text ? text : "");
	const char *why = show_string(o, "error");

	snprintf(f->error, sizeof(f->error), "%.100s: %.300s (HTTP %d)", url,
		 *why ? why : "refused", code);
	cJSON_Delete(o);
}

char *fetch_text(struct fetch *f, const char *url, bool post)
{
	struct http_answer a;

	if (!http_call(&a, f->socket, post ? "POST" : "GET", url)) {
		snprintf(f->error, sizeof(f->error), "%.300s: %s", f->socket, a.error);
		return NULL;
	}
	if (a.code == 200)
		return a.text;
	refuse(f, url, a.code, a.text);
	http_finish(&a);
	return NULL;
}

cJSON *fetch_json(struct fetch *f, const char *url)
{
	char *text = fetch_text(f, url, false);
	cJSON *o = text ? cJSON_Parse(text) : NULL;

	if (text && !cJSON_IsObject(o)) {
		snprintf(f->error, sizeof(f->error), "%.300s: %s is no JSON object", f->socket,
			 url);
		cJSON_Delete(o);
		o = NULL;
	}
	free(text);
	return o;
}
