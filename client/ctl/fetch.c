/* SPDX-License-Identifier: Apache-2.0 */
/* client/ctl/fetch.c - find the status socket and read its pages.
 *
 * The socket stands beside the daemon's own, with ".status.sock" for ".sock", and
 * is looked for in the same order as libbraze looks for the daemon. */
#define _GNU_SOURCE
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "ctl_client.h"
#include "limits.h"

#define SECONDS 10L

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

struct body {
	char *text;
	size_t size;
};

static size_t on_data(char *data, size_t one, size_t n, void *arg)
{
	struct body *b = arg;
	char *text = NULL;

	/* Never more than what a daemon may send. */
	if (b->size + n > LIMIT_STATUS_BYTES + 65536)
		return 0;
	text = realloc(b->text, b->size + n + 1);
	if (!text)
		return 0;
	memcpy(text + b->size, data, n);
	b->text = text;
	b->size += n;
	text[b->size] = 0;
	return n;
}

/* The daemon's own words when it sent some. */
static void refuse(struct fetch *f, const char *url, long code, const char *text)
{
	cJSON *o = cJSON_Parse(text ? text : "");
	const char *why = show_string(o, "error");

	snprintf(f->error, sizeof(f->error), "%.100s: %.300s (HTTP %ld)", url,
		 *why ? why : "refused", code);
	cJSON_Delete(o);
}

char *fetch_text(struct fetch *f, const char *url, bool post)
{
	CURL *curl = curl_easy_init();
	struct body b = {0};
	char full[512];
	long code = 0;
	CURLcode rc = CURLE_FAILED_INIT;

	snprintf(full, sizeof(full), "http://braze%s", url);
	if (curl) {
		curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, f->socket);
		curl_easy_setopt(curl, CURLOPT_URL, full);
		curl_easy_setopt(curl, CURLOPT_PROXY, "");
		curl_easy_setopt(curl, CURLOPT_TIMEOUT, SECONDS);
		curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
		curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
		curl_easy_setopt(curl, CURLOPT_WRITEDATA, &b);
		if (post) {
			curl_easy_setopt(curl, CURLOPT_POST, 1L);
			curl_easy_setopt(curl, CURLOPT_POSTFIELDS, "");
		}
		rc = curl_easy_perform(curl);
		curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
		curl_easy_cleanup(curl);
	}
	if (rc == CURLE_OK && code == 200 && b.text)
		return b.text;
	if (rc)
		snprintf(f->error, sizeof(f->error), "%.300s: %s", f->socket,
			 curl_easy_strerror(rc));
	else
		refuse(f, url, code, b.text);
	free(b.text);
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
