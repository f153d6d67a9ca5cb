/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - the daemon's state as JSON: what the pages of the status socket
 * say.  Loop thread only; reads everything, changes nothing. */
#ifndef BRAZE_REPORT_H
#define BRAZE_REPORT_H

#include "ctl/ctl.h"

struct brazed;
struct config;
struct session;

struct report {
	struct brazed *d;
	const struct config *config;
	char compiler[512]; /* the one that compiles kernels; "none" */
};

void report_init(struct report *r, struct brazed *d, const struct config *config);
/* What the session is doing or waits for; "" for nothing.  report_doing.c */
void report_doing(char *buf, size_t n, const struct session *s);
/* What every client's user should know of this daemon: d->notice. */
void report_notice(const struct report *r);
/* The calls of struct ctl_source; data is the struct report. */
void report_snapshot(void *data, enum ctl_page page, uint32_t id, struct cJSON *out);
enum status report_order(void *data, const struct ctl_order *o, struct cJSON *out, struct err *err);

#endif
