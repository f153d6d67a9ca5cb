/* SPDX-License-Identifier: Apache-2.0 */
/* history.h - the daemon's last hour, a sample every few seconds, for the charts of the status
 * page.
 *
 * A ring of HISTORY_KEPT samples of history.def's numbers: some 90 KB, whatever happens.  Loop
 * thread only. */
#ifndef BRAZE_HISTORY_H
#define BRAZE_HISTORY_H

#include <stdint.h>

struct brazed;
struct cJSON;
struct history;

#define HISTORY_EVERY_MS 5000
#define HISTORY_KEPT	 720

struct history *history_create(void);
void history_destroy(struct history *h);
/* Remember how things are now. */
void history_sample(struct history *h, const struct brazed *d);
/* The samples after a time, in seconds since 1970, oldest first. */
void history_put(struct cJSON *out, const struct history *h, uint32_t after);

#endif
