/* SPDX-License-Identifier: Apache-2.0 */
/* client/ctl/http.h - one request on a Unix socket. */
#ifndef BRAZE_CTL_HTTP_H
#define BRAZE_CTL_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_answer {
	int code;	 /* 200, 404, ... */
	char *text;	 /* the body, with a 0 behind it; http_finish frees it */
	size_t size;	 /* of the body */
	char error[128]; /* one line, when there was no answer */
};

/* Ask `url` of who listens at `path`.  False: there was no whole answer in time. */
bool http_call(struct http_answer *a, const char *path, const char *method, const char *url);
/* The same with the header before the body, as it came; `code` is not read. */
bool http_whole(struct http_answer *a, const char *path, const char *method, const char *url);
/* Milliseconds of a clock that only goes on. */
int64_t http_now_ms(void);
/* Frees the text; the rest stays. */
void http_finish(struct http_answer *a);

#endif
