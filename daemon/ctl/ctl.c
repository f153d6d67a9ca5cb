/* SPDX-License-Identifier: Apache-2.0 */
/* ctl/ctl.c - the loop's side of the status socket.
 *
 * In:  requests queued by the HTTP thread, announced by uv_async_send.
 * Out: a JSON object for each, made by the source on the loop thread.
 * A request is shared by the two threads and freed by the last to let go, so the
 * HTTP thread may give up waiting at any moment. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "base/log.h"
#include "base/moments.h"
#include "base/xalloc.h"
#include "ctl_http.h"
#include "wire/listen.h"

struct request {
	struct request *next;
	enum { ASK_PAGE, ASK_ORDER, ASK_MOMENTS } what;
	enum ctl_page page;
	uint32_t id;
	struct ctl_order order;
	int refs;
	bool done;
	cJSON *out;
	struct moments *moments;
	enum status status;
	struct err err;
};

struct event {
	double time;
	char topic[24];
	char text[LIMIT_ERROR_TEXT];
};

struct ctl {
	uv_async_t async;
	struct ctl_source source;
	struct MHD_Daemon *http;
	char *path;
	pthread_mutex_t lock; /* guards the four below */
	pthread_cond_t answered;
	struct request *first, **last;
	bool stopping;
	struct event *events; /* ring of CTL_EVENTS_KEPT */
	uint64_t events_count;
};

/* Caller holds the lock. */
static void request_unref(struct request *r)
{
	if (--r->refs)
		return;
	cJSON_Delete(r->out);
	free(r->moments);
	free(r);
}

static void add_events(struct ctl *c, cJSON *out)
{
	cJSON *list = cJSON_AddArrayToObject(out, "events");
	uint64_t n = c->events_count;
	uint64_t from = n > CTL_EVENTS_KEPT ? n - CTL_EVENTS_KEPT : 0;

	for (; from < n; from++) {
		const struct event *e = &c->events[from % CTL_EVENTS_KEPT];
		cJSON *row = cJSON_CreateObject();

		cJSON_AddNumberToObject(row, "number", (double)from);
		cJSON_AddNumberToObject(row, "time", e->time);
		cJSON_AddStringToObject(row, "topic", e->topic);
		cJSON_AddStringToObject(row, "text", e->text);
		cJSON_AddItemToArray(list, row);
	}
}

/* Runs without the lock: the source may take a while. */
static void answer(struct ctl *c, struct request *r)
{
	cJSON *out = cJSON_CreateObject();

	if (r->what == ASK_ORDER) {
		if (c->source.order)
			r->status = c->source.order(c->source.data, &r->order, out, &r->err);
		else
			r->status = err_set(&r->err, E_UNSUPPORTED, "nothing can be done here");
	} else if (r->what == ASK_MOMENTS) {
		r->moments = moments_copy();
		if (!r->moments)
			r->status = err_set(&r->err, E_UNSUPPORTED, "nothing is traced here");
	} else {
		c->source.snapshot(c->source.data, r->page, r->id, out);
		if (r->page == CTL_EVENTS)
			add_events(c, out);
	}
	r->out = out;
}

static void on_async(uv_async_t *handle)
{
	struct ctl *c = handle->data;
	struct request *r = NULL;

	pthread_mutex_lock(&c->lock);
	while ((r = c->first)) {
		c->first = r->next;
		if (!c->first)
			c->last = &c->first;
		/* Nobody waits for it any more. */
		if (r->refs > 1) {
			pthread_mutex_unlock(&c->lock);
			answer(c, r);
			pthread_mutex_lock(&c->lock);
			r->done = true;
			pthread_cond_broadcast(&c->answered);
		}
		request_unref(r);
	}
	pthread_mutex_unlock(&c->lock);
}

/* Has r answered, which has one more reference and is given back; one of *out and *moments is
 * wanted. */
static enum status ask(cJSON **out, struct moments **moments, struct ctl *c, struct request *r,
		       struct err *err)
{
	struct timespec until;
	enum status st = OK;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += CTL_WAIT_MS / 1000;
	r->refs = 2;

	pthread_mutex_lock(&c->lock);
	if (c->stopping) {
		r->refs = 1;
	} else {
		*c->last = r;
		c->last = &r->next;
		uv_async_send(&c->async);
	}
	while (!r->done && !c->stopping)
		if (pthread_cond_timedwait(&c->answered, &c->lock, &until) == ETIMEDOUT)
			break;
	if (!r->done) {
		st = err_set(err, E_TIMEOUT, "the daemon is busy or ending; try again");
	} else if (r->status) {
		st = r->status;
		*err = r->err;
	} else if (out) {
		*out = r->out;
		r->out = NULL;
	} else if (moments) {
		*moments = r->moments;
		r->moments = NULL;
	}
	request_unref(r);
	pthread_mutex_unlock(&c->lock);
	return st;
}

enum status ctl_ask(cJSON **out, struct ctl *c, enum ctl_page page, uint32_t id, struct err *err)
{
	struct request *r = xcalloc(1, sizeof(*r));

	r->what = ASK_PAGE;
	r->page = page;
	r->id = id;
	return ask(out, NULL, c, r, err);
}

enum status ctl_ask_order(cJSON **out, struct ctl *c, const struct ctl_order *order,
			  struct err *err)
{
	struct request *r = xcalloc(1, sizeof(*r));

	r->what = ASK_ORDER;
	r->order = *order;
	return ask(out, NULL, c, r, err);
}

enum status ctl_ask_moments(struct moments **out, struct ctl *c, struct err *err)
{
	struct request *r = xcalloc(1, sizeof(*r));

	r->what = ASK_MOMENTS;
	return ask(NULL, out, c, r, err);
}

void ctl_note(struct ctl *c, const char *topic, const char *fmt, ...)
{
	struct event *e = NULL;
	struct timespec now;
	va_list ap;

	if (!c)
		return;
	e = &c->events[c->events_count++ % CTL_EVENTS_KEPT];
	clock_gettime(CLOCK_REALTIME, &now);
	e->time = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
	snprintf(e->topic, sizeof(e->topic), "%s", topic);
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
}

static void http_log(void *cls, const char *fmt, va_list ap)
{
	char text[256];

	vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\n")] = 0;
	log_debug("ctl", "%s", text);
}

static void on_closed(uv_handle_t *handle)
{
	struct ctl *c = handle->data;

	pthread_cond_destroy(&c->answered);
	pthread_mutex_destroy(&c->lock);
	free(c->events);
	free(c->path);
	free(c);
}

enum status ctl_create(struct ctl **out, uv_loop_t *loop, const char *socket_path,
		       const struct ctl_source *source, struct err *err)
{
	struct ctl *c = xcalloc(1, sizeof(*c));
	pthread_condattr_t attr;
	enum status st = OK;
	int fd = -1, rc = 0;

	c->source = *source;
	c->last = &c->first;
	c->events = xcalloc(CTL_EVENTS_KEPT, sizeof(*c->events));
	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->answered, &attr);
	pthread_condattr_destroy(&attr);
	c->async.data = c;
	rc = uv_async_init(loop, &c->async, on_async);
	if (rc) {
		st = err_set(err, E_SYSTEM, "status socket: %s", uv_strerror(rc));
		on_closed((uv_handle_t *)&c->async);
		return st;
	}
	/* The status socket alone must not keep the loop alive. */
	uv_unref((uv_handle_t *)&c->async);
	fd = listen_bind(socket_path, SOCK_STREAM, err);
	if (fd < 0) {
		st = err->code;
		goto out;
	}
	c->path = xstrdup(socket_path);
	/* The library closes fd when it stops, also when it fails to start. */
	c->http = MHD_start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO | MHD_USE_ITC | MHD_USE_ERROR_LOG, 0,
		NULL, NULL, ctl_http_handle, c, MHD_OPTION_EXTERNAL_LOGGER, http_log, NULL,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)CTL_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)CTL_IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)(16 * 1024),
		MHD_OPTION_END);
	if (!c->http) {
		st = err_set(err, E_SYSTEM, "status socket %s: the HTTP server does not start",
			     socket_path);
		goto out;
	}
	*out = c;
	c = NULL;
out:
	ctl_destroy(c);
	return st;
}

void ctl_destroy(struct ctl *c)
{
	struct request *r = NULL;

	if (!c)
		return;
	/* Waiters first: stopping the HTTP thread joins it. */
	pthread_mutex_lock(&c->lock);
	c->stopping = true;
	pthread_cond_broadcast(&c->answered);
	pthread_mutex_unlock(&c->lock);
	if (c->http)
		MHD_stop_daemon(c->http);
	while ((r = c->first)) {
		c->first = r->next;
		request_unref(r);
	}
	if (c->path)
		unlink(c->path);
	uv_close((uv_handle_t *)&c->async, on_closed);
}
