/* SPDX-License-Identifier: Apache-2.0 */
/* ctl/ctl_metrics.c - /metrics from /status, row by row of stats.def.
 *
 * In: the JSON object of /status.  Out: Prometheus' text format, version 0.0.4.
 * Because both pages come from one object through one table they cannot tell
 * different numbers. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "ctl_http.h"

static const struct stat_row {
	const char *metric, *type, *labels, *path, *help;
} stats[] = {
#define GAUGE				       "gauge"
#define COUNTER				       "counter"
#define STAT(metric, type, labels, path, help) {metric, type, labels, path, help},
#include "stats.def"
#undef STAT
};
enum { STATS = sizeof(stats) / sizeof(stats[0]) };

/* Copies the path's next part into `part` and returns what follows it. */
static const char *next_part(char part[64], const char *path)
{
	size_t n = strcspn(path, ".");

	snprintf(part, 64, "%.*s", (int)n, path);
	return path[n] ? path + n + 1 : path + n;
}

static const cJSON *find(const cJSON *root, const char *path)
{
	char part[64];

	while (*path && root) {
		path = next_part(part, path);
		root = cJSON_GetObjectItemCaseSensitive(root, part);
	}
	return root;
}

void ctl_put(cJSON *root, const char *path, double value)
{
	char part[64];

	for (;;) {
		cJSON *inner = NULL;

		path = next_part(part, path);
		if (!*path)
			break;
		inner = cJSON_GetObjectItemCaseSensitive(root, part);
		root = inner ? inner : cJSON_AddObjectToObject(root, part);
	}
	cJSON_DeleteItemFromObjectCaseSensitive(root, part);
	cJSON_AddNumberToObject(root, part, value);
}

const char *ctl_missing(const cJSON *status)
{
	for (int i = 0; i < STATS; i++)
		if (!cJSON_IsNumber(find(status, stats[i].path)))
			return stats[i].path;
	return NULL;
}

/* A label's value may hold any character once these three are escaped. */
static void put_label(FILE *f, const char *s)
{
	for (; *s; s++) {
		if (*s == '\\' || *s == '"')
			fputc('\\', f);
		if (*s == '\n')
			fputs("\\n", f);
		else
			fputc(*s, f);
	}
}

char *ctl_metrics(const cJSON *status)
{
	const cJSON *version = cJSON_GetObjectItemCaseSensitive(status, "version");
	const char *last = "";
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return xstrdup("");
	fputs("# HELP braze_info The daemon's version.\n# TYPE braze_info gauge\n", f);
	fputs("braze_info{version=\"", f);
	put_label(f, cJSON_IsString(version) ? version->valuestring : "");
	fputs("\"} 1\n", f);
	for (int i = 0; i < STATS; i++) {
		const struct stat_row *s = &stats[i];
		const cJSON *v = find(status, s->path);

		if (!cJSON_IsNumber(v))
			continue;
		if (strcmp(last, s->metric) != 0)
			fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", s->metric, s->help, s->metric,
				s->type);
		last = s->metric;
		if (*s->labels)
			fprintf(f, "%s{%s} %.17g\n", s->metric, s->labels, v->valuedouble);
		else
			fprintf(f, "%s %.17g\n", s->metric, v->valuedouble);
	}
	fclose(f);
	return text;
}
