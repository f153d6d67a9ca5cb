/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/tap.h - what braze-gpucheck says: TAP version 14, and the same as JSON.
 *
 * In: results, notes, tables, figures.  Out: lines on stdout as they come, the plan
 * at the end; with tap_json also a file with every result and figure.  One thread. */
#ifndef GPU_TAP_H
#define GPU_TAP_H

#include <stdbool.h>

#define TAP_FORMAT(f, a) __attribute__((format(printf, f, a)))

void tap_begin(void);
/* "ok 3 - name"; returns ok. */
bool tap_result(bool ok, const char *fmt, ...) TAP_FORMAT(2, 3);
void tap_skip(const char *name, const char *why);
/* "# text"; several lines if the text has several. */
void tap_note(const char *fmt, ...) TAP_FORMAT(1, 2);
/* A figure of the JSON file: what was measured, in which unit. */
void tap_figure(const char *group, const char *name, double value, const char *unit);
/* The plan and a summary; writes `json` if it is not NULL.  Exit status: 0 when
 * something was checked and nothing failed. */
int tap_end(const char *json);

#endif
