/* SPDX-License-Identifier: Apache-2.0 */
/* ctl/ctl_http.h - between the parts of ctl/: the loop's side (ctl.c), the HTTP
 * thread's side (ctl_http.c) and the renderers. */
#ifndef BRAZE_CTL_HTTP_H
#define BRAZE_CTL_HTTP_H

#include <microhttpd.h>
#include "ctl.h"

#define CTL_POLICY 256

struct moments;
struct cJSON;

/* HTTP thread: let the loop thread answer.  OK with *out owned by the caller;
 * E_TIMEOUT when the loop does not answer in time or is ending. */
enum status ctl_ask(struct cJSON **out, struct ctl *c, enum ctl_page page, uint32_t id,
		    struct err *err) MUST_USE;
/* The same for what is to be done. */
enum status ctl_ask_order(struct cJSON **out, struct ctl *c, const struct ctl_order *order,
			  struct err *err) MUST_USE;

/* The same for the ring of base/moments.h; E_UNSUPPORTED: there is none. */
enum status ctl_ask_moments(struct moments **out, struct ctl *c, struct err *err) MUST_USE;

/* ctl_post.c: does a POST to this address mean anything; do it. */
bool ctl_post_knows(const char *url);
enum MHD_Result ctl_post(struct ctl *c, struct MHD_Connection *conn, const char *url);
/* ctl_http.c: answers; `text` is freed by the library. */
enum MHD_Result ctl_http_json(struct MHD_Connection *conn, unsigned code, char *text);
enum MHD_Result ctl_http_error(struct MHD_Connection *conn, unsigned code, const char *text);
enum MHD_Result ctl_http_failure(struct MHD_Connection *conn, const struct err *e);
/* Digits, and behind them `end`; false for anything else. */
bool ctl_http_number(uint32_t *id, const char *url, const char *end);

/* libmicrohttpd's access handler; cls is the struct ctl. */
enum MHD_Result ctl_http_handle(void *cls, struct MHD_Connection *conn, const char *url,
				const char *method, const char *version, const char *upload,
				size_t *upload_size, void **state);

/* Chrome's trace events of the moments, which it sorts; names from the objects of /clients and
 * /status; malloc'ed. */
char *ctl_trace(struct moments *m, const struct cJSON *clients, const struct cJSON *status);
/* Text for Prometheus from the object of /status; malloc'ed. */
char *ctl_metrics(const struct cJSON *status);
/* The page at "/", malloc'ed, and what its header says of it: only this text's own script and
 * style run, by a number drawn for each answer. */
char *ctl_page_html(char policy[CTL_POLICY]);

#endif
