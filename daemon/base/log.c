/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_RULES 16

static const char *const names[] = {"error", "warn", "info", "debug"};

/* Set once by log_setup before threads start, read-only afterwards. */
static struct {
	char topic[24];
	enum log_level level;
} rules[MAX_RULES];
static int nrules;
static enum log_level base_level = LOG_INFO;

/* Only the thread that set them looks at them. */
static _Thread_local void (*listener)(void *data, const char *topic, const char *text);
static _Thread_local void *listener_data;

void log_listen(void (*fn)(void *data, const char *topic, const char *text), void *data)
{
	listener = fn;
	listener_data = data;
}

static bool parse_level(enum log_level *out, const char *text, size_t n)
{
	for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strlen(names[i]) == n && !strncmp(names[i], text, n)) {
			*out = (enum log_level)i;
			return true;
		}
	return false;
}

bool log_setup(const char *spec)
{
	bool ok = true;

	nrules = 0;
	base_level = LOG_INFO;
	while (spec && *spec) {
		size_t n = strcspn(spec, ",");
		const char *colon = memchr(spec, ':', n);
		enum log_level level;

		if (!colon) {
			if (parse_level(&level, spec, n))
				base_level = level;
			else
				ok = false;
		} else if (parse_level(&level, colon + 1, n - (size_t)(colon + 1 - spec)) &&
			   nrules < MAX_RULES && (size_t)(colon - spec) < sizeof rules[0].topic) {
			memcpy(rules[nrules].topic, spec, (size_t)(colon - spec));
			rules[nrules].topic[colon - spec] = 0;
			rules[nrules++].level = level;
		} else {
			ok = false;
		}
		spec += n;
		spec += *spec == ',';
	}
	return ok;
}

bool log_enabled(enum log_level level, const char *topic)
{
	for (int i = 0; i < nrules; i++)
		if (!strcmp(rules[i].topic, topic))
			return level <= rules[i].level;
	return level <= base_level;
}

void log_write(enum log_level level, const char *topic, const char *fmt, ...)
{
	char line[1024], when[32];
	struct timespec now;
	struct tm tm;
	va_list ap;
	int n, m;

	if (!log_enabled(level, topic))
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(when, sizeof when, "%H:%M:%S", &tm);
	n = snprintf(line, sizeof line, "%s.%03ld %-5s %-9s ", when, now.tv_nsec / 1000000,
		     names[level], topic);
	va_start(ap, fmt);
	m = vsnprintf(line + n, sizeof line - (size_t)n - 1, fmt, ap);
	va_end(ap);
	if (m > (int)sizeof line - n - 2)
		m = (int)sizeof line - n - 2;
	if (listener && level <= LOG_INFO)
		listener(listener_data, topic, line + n);
	line[n + m] = '\n';
	if (write(STDERR_FILENO, line, (size_t)(n + m) + 1) < 0)
		return; /* nowhere left to complain */
}
