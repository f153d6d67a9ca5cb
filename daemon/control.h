/* SPDX-License-Identifier: Apache-2.0 */
/* control.h - what operators do to sessions and limits by the status socket, and the record of who
 * did what.  Loop thread only. */
#ifndef BRAZE_CONTROL_H
#define BRAZE_CONTROL_H

#include "ctl/ctl.h"

struct brazed;
struct session;

/* The last so many acts are told by /status; the log has them all. */
#define AUDIT_KEPT 64

struct audit *control_create(void);
void control_destroy(struct audit *a);
/* The call of struct ctl_source, for this daemon. */
enum status control_order(struct brazed *d, const struct ctl_order *o, struct cJSON *out,
			  struct err *err) MUST_USE;
/* "audit": [{time, uid, pid, user, text}], oldest first. */
void control_put(const struct brazed *d, struct cJSON *out);

#endif
