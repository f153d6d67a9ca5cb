/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "ctl_fake.h"

static int dial(const struct fake *f)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(a.sun_path, f->path);
	cr_assert_eq(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0, "%s", strerror(errno));
	return fd;
}

/* Everything the server sends until it closes; its status code in *code. */
static char *slurp(int fd, int *code)
{
	size_t size = 0, room = LIMIT_STATUS_BYTES + 65536;
	char *text = malloc(room);
	ssize_t n = 0;

	while (size + 1 < room && (n = recv(fd, text + size, room - size - 1, 0)) > 0)
		size += (size_t)n;
	text[size] = 0;
	*code = 0;
	sscanf(text, "HTTP/1.1 %d", code);
	close(fd);
	return text;
}

static char *ask(const struct fake *f, const char *method, const char *url, int *code)
{
	char request[512];
	int fd = dial(f);
	int n = snprintf(request, sizeof(request),
			 "%s %s HTTP/1.1\r\nHost: b\r\nConnection: close\r\n"
			 "Content-Length: 0\r\n\r\n",
			 method, url);

	cr_assert_eq(send(fd, request, (size_t)n, MSG_NOSIGNAL), n);
	return slurp(fd, code);
}

static cJSON *get_json(const struct fake *f, const char *url, int want)
{
	int code = 0;
	char *text = ask(f, "GET", url, &code);
	char *body = strstr(text, "\r\n\r\n");
	cJSON *o = body ? cJSON_Parse(body + 4) : NULL;

	cr_assert_eq(code, want, "%s: %d", url, code);
	cr_assert(o, "%s: no JSON: %.200s", url, text);
	free(text);
	return o;
}

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

Test(ctl, every_page_answers_and_nothing_stays_open)
{
	static const char *const urls[] = {"/status", "/clients", "/kernels", "/kernels/1",
					   "/events"};
	struct fake f = {.kernels = 3};
	int before = 0;

	/* libuv's own descriptors, made once in a process, do not count. */
	fake_start(&f);
	fake_stop(&f);
	before = open_fds();
	fake_start(&f);
	for (int i = 0; i < 5; i++)
		cJSON_Delete(get_json(&f, urls[i], 200));
	fake_stop(&f);
	cr_assert_eq(open_fds(), before);
}

Test(ctl, socket_is_for_its_user_only_and_replaces_a_stale_one)
{
	struct fake f = {0};
	struct stat s;

	fake_start(&f);
	cr_assert_eq(stat(f.path, &s), 0);
	cr_assert_eq(s.st_mode & 0777, 0600);
	fake_stop(&f);
}

Test(ctl, another_file_at_the_path_is_refused)
{
	struct ctl_source source = {.snapshot = fake_snapshot};
	char path[] = "/tmp/braze-ctl-file-XXXXXX";
	struct err err = {0};
	struct ctl *c = NULL;
	uv_loop_t loop;

	close(mkstemp(path));
	uv_loop_init(&loop);
	cr_assert_eq(ctl_create(&c, &loop, path, &source, &err), E_INVALID);
	cr_assert(strstr(err.text, path));
	cr_assert_eq(access(path, F_OK), 0);
	unlink(path);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(&loop), 0);
}

Test(ctl, metrics_and_status_tell_the_same)
{
	struct fake f = {0};
	int code = 0;
	cJSON *status = NULL;
	char *text = NULL;

	fake_start(&f);
	status = get_json(&f, "/status", 200);
	cr_assert_null(ctl_missing(status));
	text = ask(&f, "GET", "/metrics", &code);
	cr_assert_eq(code, 200);
	cr_assert(strstr(text, "braze_info{version=\"0.1.0\"} 1\n"));
#define STAT(metric, type, labels, path, help)                                                     \
	cr_assert(strstr(text, *labels ? "\n" metric "{" labels "} 7\n" : "\n" metric " 7\n"),     \
		  "%s", metric);
#include "ctl/stats.def"
#undef STAT
	/* One HELP line for a metric with several samples. */
	cr_assert_null(strstr(strstr(text, "# HELP braze_compile_seconds_total") + 1,
			      "# HELP braze_compile_seconds_total"));
	free(text);
	cJSON_Delete(status);
	fake_stop(&f);
}

Test(ctl, missing_names_the_first_absent_path)
{
	cJSON *o = cJSON_CreateObject();

	cr_assert_str_eq(ctl_missing(o), "uptime_seconds");
	ctl_put(o, "plans.hits", 1);
	ctl_put(o, "plans.hits", 2);
	ctl_put(o, "plans.misses", 5);
	cr_assert_eq(cJSON_GetArraySize(cJSON_GetObjectItem(o, "plans")), 2);
	cr_assert_eq(cJSON_GetObjectItem(cJSON_GetObjectItem(o, "plans"), "hits")->valueint, 2);
	cJSON_Delete(o);
}

Test(ctl, events_keep_the_last_ones_in_order)
{
	struct fake f = {0};
	cJSON *o = NULL, *list = NULL;

	fake_start(&f);
	o = get_json(&f, "/events", 200);
	list = cJSON_GetObjectItem(o, "events");
	cr_assert_eq(cJSON_GetArraySize(list), 1);
	cr_assert_str_eq(cJSON_GetObjectItem(list->child, "text")->valuestring, "started pid 77");
	cJSON_Delete(o);
	/* The loop is idle: no request is under way while the ring is written. */
	for (int i = 0; i < CTL_EVENTS_KEPT + 10; i++)
		ctl_note(f.ctl, "t", "event %d", i);
	o = get_json(&f, "/events", 200);
	list = cJSON_GetObjectItem(o, "events");
	cr_assert_eq(cJSON_GetArraySize(list), CTL_EVENTS_KEPT);
	cr_assert_str_eq(cJSON_GetObjectItem(list->child, "text")->valuestring, "event 10");
	cJSON_Delete(o);
	fake_stop(&f);
}

Test(ctl, unknown_paths_and_kernels_are_404)
{
	static const char *const urls[] = {"/nothing",	  "/kernels/2", "/kernels/",
					   "/kernels/1x", "/status/",	"/kernels/99999999999",
					   "/kernels/-1", "/../status"};
	struct fake f = {0};

	fake_start(&f);
	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		cJSON *o = get_json(&f, urls[i], 404);

		cr_assert(cJSON_GetObjectItem(o, "error"));
		cJSON_Delete(o);
	}
	fake_stop(&f);
}

Test(ctl, writing_methods_are_refused)
{
	static const char *const methods[] = {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"};
	struct fake f = {0};
	int code = 0;

	fake_start(&f);
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		free(ask(&f, methods[i], "/status", &code));
		cr_assert_eq(code, 405, "%s: %d", methods[i], code);
	}
	free(ask(&f, "GET", "/cache/clear", &code));
	cr_assert_eq(code, 404);
	cr_assert_eq(f.cleared, 0);
	free(ask(&f, "POST", "/cache/clear", &code));
	cr_assert_eq(code, 200);
	cr_assert_eq(f.cleared, 1);
	fake_stop(&f);
}

Test(ctl, sessions_are_ended_by_post_and_number_only)
{
	static const char *const wrong[] = {"/sessions/7",	"/sessions/7/",
					    "/sessions//end",	"/sessions/x/end",
					    "/sessions/-7/end", "/sessions/99999999999/end",
					    "/sessions/7/end/"};
	struct fake f = {0};
	int code = 0;

	fake_start(&f);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		free(ask(&f, "POST", wrong[i], &code));
		cr_assert_eq(code, 405, "%s: %d", wrong[i], code);
	}
	free(ask(&f, "GET", "/sessions/7/end", &code));
	cr_assert_eq(code, 404);
	free(ask(&f, "POST", "/sessions/8/end", &code));
	cr_assert_eq(code, 404);
	cr_assert_eq(f.ended, 0);
	free(ask(&f, "POST", "/sessions/7/end", &code));
	cr_assert_eq(code, 200);
	cr_assert_eq(f.ended, 1);
	fake_stop(&f);
}

Test(ctl, another_program_goes_on_by_post_only)
{
	struct fake f = {0};
	int code = 0;

	fake_start(&f);
	free(ask(&f, "GET", "/drain", &code));
	cr_assert_eq(code, 404);
	free(ask(&f, "POST", "/drain/", &code));
	cr_assert_eq(code, 405);
	free(ask(&f, "POST", "/drain?binary=relative", &code));
	cr_assert_eq(code, 409);
	cr_assert_str_eq(f.binary, "");
	free(ask(&f, "POST", "/drain", &code));
	cr_assert_eq(code, 200);
	cr_assert_str_eq(f.binary, "installed");
	free(ask(&f, "POST", "/drain?binary=%2fopt%2fa%20b", &code));
	cr_assert_eq(code, 200);
	cr_assert_str_eq(f.binary, "/opt/a b");
	fake_stop(&f);
}

Test(ctl, page_is_self_contained)
{
	struct fake f = {0};
	int code = 0;
	char *text = NULL;

	fake_start(&f);
	text = ask(&f, "GET", "/", &code);
	cr_assert_eq(code, 200);
	cr_assert(strstr(text, "<!doctype html>") && strstr(text, "</html>"));
	/* A name of its graphics, which nobody asks for. */
	for (const char *at = text; (at = strstr(at, "http://")); at++)
		cr_assert(!strncmp(at, "http://www.w3.org/2000/svg\"", 27));
	cr_assert_null(strstr(text, "innerHTML"));
	free(text);
	fake_stop(&f);
}

Test(ctl, long_lists_are_cut_to_the_bound)
{
	struct fake f = {.kernels = CTL_LIST_MAX, .key_bytes = 20000};
	int code = 0;
	char *text = NULL;

	fake_start(&f);
	text = ask(&f, "GET", "/kernels", &code);
	cr_assert_eq(code, 200);
	cr_assert_lt(strlen(text), LIMIT_STATUS_BYTES + 1000);
	cr_assert_gt(strlen(text), LIMIT_STATUS_BYTES / 4);
	cr_assert(strstr(text, "\"truncated\""));
	free(text);
	fake_stop(&f);
}

Test(ctl, huge_requests_are_refused_and_the_next_is_served)
{
	struct fake f = {0};
	char *big = malloc(1 << 20);
	int fd = -1, code = 0;

	fake_start(&f);
	memset(big, 'a', 1 << 20);
	memcpy(big, "GET /", 5);
	fd = dial(&f);
	/* The server may close before it has read everything. */
	(void)!send(fd, big, 1 << 20, MSG_NOSIGNAL);
	free(slurp(fd, &code));
	cr_assert(code == 0 || code == 413 || code == 414 || code == 431, "%d", code);
	fd = dial(&f);
	dprintf(fd, "\x16\x03\x01 not http\r\n\r\n");
	shutdown(fd, SHUT_WR);
	free(slurp(fd, &code));
	cr_assert(code == 0 || code == 400 || code == 405 || code == 505, "%d", code);
	cJSON_Delete(get_json(&f, "/status", 200));
	free(big);
	fake_stop(&f);
}

Test(ctl, slow_and_silent_clients_do_not_keep_others_out)
{
	struct fake f = {.kernels = CTL_LIST_MAX, .key_bytes = 2000};
	int silent[8], unread = -1;

	fake_start(&f);
	for (int i = 0; i < 8; i++) {
		silent[i] = dial(&f);
		dprintf(silent[i], "GET /st");
	}
	unread = dial(&f);
	dprintf(unread, "GET /kernels HTTP/1.1\r\nHost: b\r\n\r\n");
	for (int i = 0; i < 3; i++)
		cJSON_Delete(get_json(&f, "/status", 200));
	for (int i = 0; i < 8; i++)
		close(silent[i]);
	close(unread);
	fake_stop(&f);
}

Test(ctl, a_stalled_loop_gives_503_and_recovers)
{
	struct fake f = {.stall_ms = CTL_WAIT_MS + 700};
	cJSON *o = NULL;

	fake_start(&f);
	o = get_json(&f, "/status", 503);
	cr_assert(cJSON_GetObjectItem(o, "error"));
	cJSON_Delete(o);
	usleep(800 * 1000);
	f.stall_ms = 0;
	cJSON_Delete(get_json(&f, "/status", 200));
	fake_stop(&f);
}

Test(ctl, ending_while_a_request_waits_does_not_hang)
{
	struct fake f = {.stall_ms = 300};
	int fd = -1;

	fake_start(&f);
	fd = dial(&f);
	dprintf(fd, "GET /status HTTP/1.1\r\nHost: b\r\n\r\n");
	usleep(50 * 1000);
	fake_stop(&f);
	close(fd);
}
