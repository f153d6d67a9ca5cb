/* SPDX-License-Identifier: Apache-2.0 */
/* ctl/ctl_http.c - routes and answers of the status socket.
 *
 * Runs on the HTTP library's thread.  In: a request.  Out: JSON, Prometheus text
 * or HTML, of at most LIMIT_STATUS_BYTES.  Reading is all it offers, but for what
 * ctl_post.c does. */
#define _GNU_SOURCE
#include <cjson/cJSON.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "ctl_http.h"

#define JSON_TYPE "application/json"

/* Queue `text`, which the library frees; `policy` is what a browser lets a page do. */
static enum MHD_Result reply_with(struct MHD_Connection *conn, unsigned code, const char *type,
				  char *text, const char *policy)
{
	struct MHD_Response *r =
		MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result ok = MHD_NO;

	if (!r) {
		free(text);
		return MHD_NO;
	}
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, "Content-Security-Policy", policy);
	MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(r, "Cross-Origin-Resource-Policy", "same-origin");
	if (code == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	ok = MHD_queue_response(conn, code, r);
	MHD_destroy_response(r);
	return ok;
}

static enum MHD_Result reply(struct MHD_Connection *conn, unsigned code, const char *type,
			     char *text)
{
	return reply_with(conn, code, type, text, "default-src 'none'; frame-ancestors 'none'");
}

enum MHD_Result ctl_http_json(struct MHD_Connection *conn, unsigned code, char *text)
{
	return reply(conn, code, JSON_TYPE, text);
}

enum MHD_Result ctl_http_error(struct MHD_Connection *conn, unsigned code, const char *text)
{
	cJSON *o = cJSON_CreateObject();
	char *body = NULL;

	cJSON_AddStringToObject(o, "error", text);
	body = cJSON_PrintUnformatted(o);
	cJSON_Delete(o);
	return body ? reply(conn, code, JSON_TYPE, body) : MHD_NO;
}

/* Halve the first list of the object; false when there is nothing to drop. */
static bool shorten(cJSON *o)
{
	cJSON *list = NULL, *tail = NULL;

	cJSON_ArrayForEach(list, o)
	{
		if (cJSON_IsArray(list) && cJSON_GetArraySize(list) > 0)
			break;
	}
	if (!list)
		return false;
	tail = cJSON_GetArrayItem(list, cJSON_GetArraySize(list) / 2);
	while (tail) {
		cJSON *next = tail->next;

		cJSON_Delete(cJSON_DetachItemViaPointer(list, tail));
		tail = next;
	}
	if (!cJSON_GetObjectItemCaseSensitive(o, "truncated"))
		cJSON_AddTrueToObject(o, "truncated");
	return true;
}

/* The object as text within the bound; NULL when it cannot be made to fit. */
static char *print_bounded(cJSON *o)
{
	char *text = malloc(LIMIT_STATUS_BYTES);

	if (!text)
		return NULL;
	while (!cJSON_PrintPreallocated(o, text, LIMIT_STATUS_BYTES - 8, 1)) {
		if (!shorten(o)) {
			free(text);
			return NULL;
		}
	}
	strcat(text, "\n");
	/* Give the unused part back before the body waits for its reader. */
	return xrealloc(text, strlen(text) + 1, 1);
}

enum MHD_Result ctl_http_failure(struct MHD_Connection *conn, const struct err *e)
{
	unsigned code = e->code == E_TIMEOUT	   ? MHD_HTTP_SERVICE_UNAVAILABLE
			: e->code == E_UNSUPPORTED ? MHD_HTTP_NOT_IMPLEMENTED
						   : MHD_HTTP_INTERNAL_SERVER_ERROR;

	return ctl_http_error(conn, code, e->text);
}

/* Users by name: here, since the system's list of them may be slow to answer. */
static void name_users(cJSON *o, const char *list)
{
	cJSON *row = NULL;

	cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(o, list))
	{
		const cJSON *uid = cJSON_GetObjectItemCaseSensitive(row, "uid");
		struct passwd user, *found = NULL;
		char room[4096];

		if (!cJSON_IsNumber(uid) ||
		    getpwuid_r((uid_t)uid->valuedouble, &user, room, sizeof(room), &found))
			found = NULL;
		cJSON_AddStringToObject(row, "user", found ? user.pw_name : "");
	}
}

static enum MHD_Result serve_page(struct ctl *c, struct MHD_Connection *conn, enum ctl_page page,
				  uint32_t id)
{
	enum MHD_Result result = MHD_NO;
	struct err err = {0};
	cJSON *o = NULL;
	char *text = NULL;

	if (ctl_ask(&o, c, page, id, &err))
		return ctl_http_failure(conn, &err);
	if (page == CTL_KERNEL && !o->child) {
		result = ctl_http_error(conn, MHD_HTTP_NOT_FOUND, "no such kernel");
		goto out;
	}
	if (page == CTL_CLIENTS)
		name_users(o, "clients");
	if (page == CTL_LIMITS)
		name_users(o, "users");
	if (page == CTL_PUBLISHED)
		name_users(o, "published");
	text = print_bounded(o);
	result = text ? reply(conn, MHD_HTTP_OK, JSON_TYPE, text)
		      : ctl_http_error(conn, MHD_HTTP_INTERNAL_SERVER_ERROR,
				       "the answer is too long");
out:
	cJSON_Delete(o);
	return result;
}

static enum MHD_Result serve_metrics(struct ctl *c, struct MHD_Connection *conn)
{
	struct err err = {0};
	cJSON *o = NULL;
	char *text = NULL;

	if (ctl_ask(&o, c, CTL_STATUS, 0, &err))
		return ctl_http_failure(conn, &err);
	text = ctl_metrics(o);
	cJSON_Delete(o);
	return reply(conn, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", text);
}

static enum MHD_Result serve_trace(struct ctl *c, struct MHD_Connection *conn)
{
	struct moments *moments = NULL;
	cJSON *clients = NULL, *status = NULL;
	struct err err = {0};
	enum status st = ctl_ask_moments(&moments, c, &err);
	char *text = NULL;

	if (!st)
		st = ctl_ask(&clients, c, CTL_CLIENTS, 0, &err);
	if (!st)
		st = ctl_ask(&status, c, CTL_STATUS, 0, &err);
	if (!st)
		text = ctl_trace(moments, clients, status);
	free(moments);
	cJSON_Delete(clients);
	cJSON_Delete(status);
	return st ? ctl_http_failure(conn, &err) : reply(conn, MHD_HTTP_OK, JSON_TYPE, text);
}

/* Digits, and behind them `end`; false for anything else. */
bool ctl_http_number(uint32_t *id, const char *url, const char *end)
{
	uint64_t v = 0;
	size_t n = strspn(url, "0123456789");

	if (n == 0 || n > 10 || strcmp(url + n, end))
		return false;
	for (; n; n--, url++)
		v = v * 10 + (uint64_t)(*url - '0');
	*id = (uint32_t)v;
	return v <= UINT32_MAX;
}

static enum MHD_Result serve_html(struct MHD_Connection *conn)
{
	char policy[CTL_POLICY];
	char *text = ctl_page_html(policy);

	return reply_with(conn, MHD_HTTP_OK, "text/html; charset=utf-8", text, policy);
}

/* The number behind `name=` of the address; 0: there is none. */
static uint32_t argument(struct MHD_Connection *conn, const char *name)
{
	const char *value = MHD_lookup_connection_value(conn, MHD_GET_ARGUMENT_KIND, name);
	uint32_t v = 0;

	return value && ctl_http_number(&v, value, "") ? v : 0;
}

static enum MHD_Result serve_get(struct ctl *c, struct MHD_Connection *conn, const char *url)
{
	static const struct {
		const char *url;
		enum ctl_page page;
		const char *argument; /* that the page knows; "": none */
	} pages[] = {{"/status", CTL_STATUS, ""},	 {"/clients", CTL_CLIENTS, ""},
		     {"/kernels", CTL_KERNELS, "brief"}, {"/history", CTL_HISTORY, "after"},
		     {"/published", CTL_PUBLISHED, ""},	 {"/limits", CTL_LIMITS, ""},
		     {"/events", CTL_EVENTS, ""}};
	uint32_t id = 0;

	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		if (!strcmp(url, pages[i].url))
			return serve_page(c, conn, pages[i].page,
					  argument(conn, pages[i].argument));
	if (!strcmp(url, "/metrics"))
		return serve_metrics(c, conn);
	if (!strcmp(url, "/trace"))
		return serve_trace(c, conn);
	if (!strcmp(url, "/"))
		return serve_html(conn);
	if (!strncmp(url, "/kernels/", 9) && ctl_http_number(&id, url + 9, ""))
		return serve_page(c, conn, CTL_KERNEL, id);
	return ctl_http_error(conn, MHD_HTTP_NOT_FOUND,
			      "pages: / /status /clients /limits /kernels /kernels/ID /published "
			      "/history /trace /metrics "
			      "/events");
}

enum MHD_Result ctl_http_handle(void *cls, struct MHD_Connection *conn, const char *url,
				const char *method, const char *version, const char *upload,
				size_t *upload_size, void **state)
{
	static const char begun; /* its address marks a request seen before; never written */
	bool get = !strcmp(method, "GET") || !strcmp(method, "HEAD");
	bool control = !strcmp(method, "POST") && ctl_post_knows(url);

	if (!*state) {
		*state = (void *)&begun;
		/* Answering here refuses a body before it is read. */
		if (!get && !control)
			return ctl_http_error(conn, MHD_HTTP_METHOD_NOT_ALLOWED,
					      "this socket is for reading: use GET");
		return MHD_YES;
	}
	if (*upload_size) { /* a body means nothing here */
		*upload_size = 0;
		return MHD_YES;
	}
	return get ? serve_get(cls, conn, url) : ctl_post(cls, conn, url);
}
