/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/host.c - see host.h. */
#define _GNU_SOURCE
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "tap.h"

#define START_SECONDS 60 /* the context of a GPU without persistence takes a while */
#define STOP_SECONDS  10
#define ANSWER_BYTES  (8u << 20)
#define LOG_BYTES     8192

extern char **environ;

double host_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void rest(void)
{
	usleep(5000);
}

static enum status find_daemon(char *path, size_t n, struct err *err)
{
	static const char *const places[] = {"brazed", "../bin/brazed"};
	const char *named = getenv("BRAZE_DAEMON");
	char self[HOST_PATH] = "";

	if (named && *named) {
		snprintf(path, n, "%s", named);
		return OK;
	}
	if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
		return err_set(err, E_SYSTEM, "/proc/self/exe: %s", strerror(errno));
	*strrchr(self, '/') = 0;
	for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
		snprintf(path, n, "%s/%s", self, places[i]);
		if (!access(path, X_OK))
			return OK;
	}
	return err_set(err, E_SYSTEM, "no brazed beside %s; name one with BRAZE_DAEMON", self);
}

enum status host_create(struct host *h, const char *device, const char *cache, struct err *err)
{
	const char *tmp = getenv("TMPDIR");

	memset(h, 0, sizeof *h);
	snprintf(h->device, sizeof h->device, "%s", device);
	snprintf(h->folder, sizeof h->folder, "%.200s/braze-gpucheck-XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(h->folder)) {
		h->folder[0] = 0;
		return err_set(err, E_SYSTEM, "no folder for the daemon: %s", strerror(errno));
	}
	snprintf(h->socket, sizeof h->socket, "%s/socket", h->folder);
	snprintf(h->status, sizeof h->status, "%s/status", h->folder);
	if (cache)
		snprintf(h->cache, sizeof h->cache, "%s", cache);
	else
		snprintf(h->cache, sizeof h->cache, "%s/cache", h->folder);
	return OK;
}

/* The environment without settings that would change the daemon's; freed by the caller. */
static char **clean_environment(void)
{
	static const char *const ours[] = {
		"BRAZE_SOCKET=", "BRAZE_STATUS_SOCKET=", "BRAZE_CACHE_DIR=", "BRAZE_DEVICE=",
		"BRAZE_LOG=",	 "BRAZE_QUOTA_BYTES=",	 "BRAZE_TIER="};
	size_t n = 0, k = 0;
	char **env;

	while (environ[n])
		n++;
	env = xcalloc(n + 1, sizeof *env);
	for (size_t i = 0; i < n; i++) {
		bool drop = false;

		for (unsigned j = 0; j < sizeof ours / sizeof *ours; j++)
			drop |= !strncmp(environ[i], ours[j], strlen(ours[j]));
		if (!drop)
			env[k++] = environ[i];
	}
	return env;
}

static enum status spawn(struct host *h, const char *path, struct err *err)
{
	char option[5][HOST_PATH + 64], log[HOST_PATH + 16];
	char *argv[2 * 5 + 2] = {(char *)path}, **env = clean_environment();
	posix_spawn_file_actions_t files;
	int rc;

	snprintf(option[0], sizeof option[0], "socket=%s", h->socket);
	snprintf(option[1], sizeof option[1], "status_socket=%s", h->status);
	snprintf(option[2], sizeof option[2], "cache_dir=%s", h->cache);
	snprintf(option[3], sizeof option[3], "device=cpu,%s", h->device);
	snprintf(option[4], sizeof option[4], "log=info");
	for (int i = 0; i < 5; i++) {
		argv[1 + 2 * i] = "-o";
		argv[2 + 2 * i] = option[i];
	}
	snprintf(log, sizeof log, "%s/log", h->folder);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	posix_spawn_file_actions_adddup2(&files, 1, 2);
	rc = posix_spawn(&h->pid, path, &files, NULL, argv, env);
	posix_spawn_file_actions_destroy(&files);
	free(env);
	if (rc) {
		h->pid = 0;
		return err_set(err, E_SYSTEM, "%s does not start: %s", path, strerror(rc));
	}
	return OK;
}

static bool ended(struct host *h)
{
	if (h->pid && waitpid(h->pid, NULL, WNOHANG) == h->pid)
		h->pid = 0;
	return !h->pid;
}

enum status host_start(struct host *h, struct err *err)
{
	double until = host_seconds() + START_SECONDS;
	char path[2 * HOST_PATH];
	struct host_device d;
	enum status st = find_daemon(path, sizeof path, err);

	if (!st)
		st = spawn(h, path, err);
	while (!st) {
		if (ended(h))
			return err_set(err, E_DAEMON_GONE, "%s ended at once", path);
		d = host_device(h, h->device);
		if (d.there && strcmp(d.state, "starting"))
			return OK;
		if (host_seconds() > until)
			return err_set(err, E_TIMEOUT, "%s is not ready after %d s: %s", path,
				       START_SECONDS,
				       d.there ? "its device is starting" : "it does not answer");
		rest();
	}
	return st;
}

void host_stop(struct host *h)
{
	double until = host_seconds() + STOP_SECONDS;

	if (!h->pid)
		return;
	kill(h->pid, SIGTERM);
	while (!ended(h)) {
		if (host_seconds() > until) {
			kill(h->pid, SIGKILL);
			tap_note("brazed did not end in %d s and was killed", STOP_SECONDS);
			waitpid(h->pid, NULL, 0);
			h->pid = 0;
			return;
		}
		rest();
	}
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	return remove(path);
}

void host_finish(struct host *h)
{
	host_stop(h);
	if (*h->folder)
		nftw(h->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	h->folder[0] = 0;
}

/* ---- What it says ---- */

static int dial(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof addr.sun_path)
		return -1;
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof addr)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* The whole answer; HTTP/1.0 ends it by closing. */
static char *exchange(int fd, const char *page)
{
	char request[128], *text = xcalloc(1, 4096);
	size_t have = 0, room = 4096;
	int n = snprintf(request, sizeof request, "GET %s HTTP/1.0\r\nHost: braze\r\n\r\n", page);

	if (send(fd, request, (size_t)n, MSG_NOSIGNAL) != n) {
		free(text);
		return NULL;
	}
	while (have < ANSWER_BYTES) {
		ssize_t r = read(fd, text + have, room - have - 1);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			break;
		have += (size_t)r;
		if (room - have < 2048) {
			room *= 2;
			text = xrealloc(text, room, 1);
		}
	}
	text[have] = 0;
	return text;
}

cJSON *host_ask(const struct host *h, const char *page)
{
	int fd = dial(h->status);
	char *text = fd >= 0 ? exchange(fd, page) : NULL;
	const char *body = text ? strstr(text, "\r\n\r\n") : NULL;
	cJSON *found = body && strstr(text, " 200 ") ? cJSON_Parse(body + 4) : NULL;

	if (fd >= 0)
		close(fd);
	free(text);
	return found;
}

static double number(const cJSON *row, const char *name)
{
	const cJSON *item = cJSON_GetObjectItem(row, name);

	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static void text(char *buf, size_t n, const cJSON *row, const char *name)
{
	const char *value = cJSON_GetStringValue(cJSON_GetObjectItem(row, name));

	snprintf(buf, n, "%s", value ? value : "");
}

double host_figure(const struct host *h, const char *group, const char *name)
{
	cJSON *status = host_ask(h, "/status");
	const cJSON *of = group ? cJSON_GetObjectItem(status, group) : status;
	const cJSON *item = cJSON_GetObjectItem(of, name);
	double v = cJSON_IsNumber(item) ? item->valuedouble : -1;

	cJSON_Delete(status);
	return v;
}

struct host_device host_device(const struct host *h, const char *name)
{
	struct host_device d = {.there = false};
	cJSON *status = host_ask(h, "/status");
	const cJSON *row;

	cJSON_ArrayForEach(row, cJSON_GetObjectItem(status, "devices"))
	{
		const char *its = cJSON_GetStringValue(cJSON_GetObjectItem(row, "name"));

		if (!its || strcmp(its, name))
			continue;
		d.there = true;
		text(d.state, sizeof d.state, row, "state");
		text(d.model, sizeof d.model, row, "model");
		text(d.text, sizeof d.text, row, "text");
		d.arch = (unsigned)number(row, "arch");
		d.units = (unsigned)number(row, "units");
		d.worker = (pid_t)number(row, "worker_pid");
		d.deaths = number(row, "worker_deaths");
		d.runs = number(row, "runs");
		d.busy = number(row, "busy_seconds");
		d.memory = number(row, "memory_bytes");
		d.used = number(row, "used_bytes");
	}
	cJSON_Delete(status);
	return d;
}

enum status host_connect(const struct host *h, braze_session **out, const char *name,
			 struct err *err)
{
	struct braze_options options = {.size = sizeof options,
					.socket = h->socket,
					.name = name,
					.device = "cpu",
					.flags = BRAZE_NO_START};
	braze_error e = {0};

	if (braze_connect(out, &options, &e))
		return err_set(err, (enum status)e.code, "%s", e.text);
	return OK;
}

void host_tell_log(const struct host *h, unsigned lines)
{
	char path[HOST_PATH + 16], buf[LOG_BYTES];
	size_t n = 0;
	const char *from;
	FILE *f;

	snprintf(path, sizeof path, "%s/log", h->folder);
	f = fopen(path, "re");
	if (!f)
		return;
	if (!fseek(f, 0, SEEK_END) && ftell(f) > LOG_BYTES - 1)
		fseek(f, 1 - LOG_BYTES, SEEK_END);
	else
		rewind(f);
	n = fread(buf, 1, sizeof buf - 1, f);
	fclose(f);
	buf[n] = 0;
	for (from = buf + n; from > buf && lines; from--)
		lines -= from[-1] == '\n' && from < buf + n;
	tap_note("the daemon's last words:\n%s", from);
}
