/* SPDX-License-Identifier: Apache-2.0 */
/* base/log.h - one line to stderr: time, level, topic, message.
 *
 * BRAZE_LOG=LEVEL or TOPIC:LEVEL,... (error, warn, info, debug); topics are
 * source stems.  Any thread. */
#ifndef BRAZE_LOG_H
#define BRAZE_LOG_H

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Set levels from text as above; NULL: info everywhere.  False: it is no such text, and
 * the levels stay. */
bool log_setup(const char *spec);
bool log_check(const char *spec);
/* Write to the end of this file from now on, stderr's descriptor being it.  False: it
 * cannot be opened. */
bool log_to(const char *path);
/* The file may have been moved away: open it again.  True also without log_to. */
bool log_reopen(void);
bool log_enabled(enum log_level level, const char *topic);
void log_write(enum log_level level, const char *topic, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* What is logged at info or above on the calling thread also goes to fn; NULL: no
 * more. */
void log_listen(void (*fn)(void *data, const char *topic, const char *text), void *data);

#define log_error(topic, ...) log_write(LOG_ERROR, topic, __VA_ARGS__)
#define log_warn(topic, ...)  log_write(LOG_WARN, topic, __VA_ARGS__)
#define log_info(topic, ...)  log_write(LOG_INFO, topic, __VA_ARGS__)
#define log_debug(topic, ...)                                                                      \
	do {                                                                                       \
		if (log_enabled(LOG_DEBUG, topic))                                                 \
			log_write(LOG_DEBUG, topic, __VA_ARGS__);                                  \
	} while (0)

#endif
