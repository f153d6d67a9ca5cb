/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "xalloc.h"

#define MAX_RULES 16

static const char *const names[] = {"error", "warn", "info", "debug"};

/* A table is read-only once it is in force; other threads may still look at an older
 * one, so none is freed: there is one for each time the settings were read. */
struct rules {
	const struct rules *older;
	int n;
	enum log_level base;
	struct {
		char topic[24];
		enum log_level level;
	} rule[MAX_RULES];
};
static const struct rules first_rules = {.base = LOG_INFO};
static _Atomic(const struct rules *) in_force = &first_rules;

static char *file_path; /* of log_to */

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

static bool parse(struct rules *r, const char *spec)
{
	bool ok = true;

	r->base = LOG_INFO;
	while (spec && *spec) {
		size_t n = strcspn(spec, ",");
		const char *colon = memchr(spec, ':', n);
		enum log_level level;

		if (!colon) {
			if (parse_level(&level, spec, n))
				r->base = level;
			else
				ok = false;
		} else if (parse_level(&level, colon + 1, n - (size_t)(colon + 1 - spec)) &&
			   r->n < MAX_RULES && (size_t)(colon - spec) < sizeof r->rule[0].topic) {
			memcpy(r->rule[r->n].topic, spec, (size_t)(colon - spec));
			r->rule[r->n++].level = level;
		} else {
			ok = false;
		}
		spec += n;
		spec += *spec == ',';
	}
	return ok;
}

bool log_check(const char *spec)
{
	struct rules r = {0};

	return parse(&r, spec);
}

bool log_setup(const char *spec)
{
	struct rules *r = xcalloc(1, sizeof *r);

	if (!parse(r, spec)) {
		free(r);
		return false;
	}
	r->older = in_force;
	in_force = r;
	return true;
}

static bool open_file(void)
{
	int fd = open(file_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return false;
	dup2(fd, STDERR_FILENO);
	close(fd);
	return true;
}

bool log_to(const char *path)
{
	free(file_path);
	file_path = xstrdup(path);
	return open_file();
}

bool log_reopen(void)
{
	return !file_path || open_file();
}

bool log_enabled(enum log_level level, const char *topic)
{
	const struct rules *r = in_force;

	for (int i = 0; i < r->n; i++)
		if (!strcmp(r->rule[i].topic, topic))
			return level <= r->rule[i].level;
	return level <= r->base;
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
