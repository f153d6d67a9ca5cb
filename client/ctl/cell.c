/* SPDX-License-Identifier: Apache-2.0 */
/* client/ctl/cell.c - a value of the daemon's JSON as a cell of a table.
 *
 * Names come from clients: nothing of them may steer the operator's terminal, and what they
 * take there is counted in columns, not in bytes. */
#define _GNU_SOURCE /* wcwidth */
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "ctl_client.h"

double show_number(const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	return cJSON_IsNumber(v) ? v->valuedouble : 0;
}

bool show_true(const cJSON *o, const char *key)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, key));
}

const char *show_string(const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	return cJSON_IsString(v) ? v->valuestring : "";
}

/* The bytes of the first character, its columns in *width; those of what cannot be shown
 * become one '?'. */
static size_t next(const char *s, int *width)
{
	mbstate_t state = {0};
	wchar_t wide = 0;
	size_t n = mbrtowc(&wide, s, strlen(s), &state);

	*width = n <= strlen(s) ? wcwidth(wide) : -1;
	return *width < 0 ? 1 : n ? n : 1;
}

void show_text(const char *s, int width)
{
	for (int used = 0; *s;) {
		int columns = 0;
		size_t n = next(s, &columns);

		if (width && used + (columns < 0 ? 1 : columns) > width)
			break;
		if (columns < 0)
			putchar('?');
		else
			fwrite(s, 1, n, stdout);
		used += columns < 0 ? 1 : columns;
		s += n;
	}
}

int cell_width(const char *s)
{
	int used = 0, columns = 0;

	while (*s) {
		s += next(s, &columns);
		used += columns < 0 ? 1 : columns;
	}
	return used;
}

size_t cell_fit(const char *s, int width)
{
	const char *at = s;

	for (int used = 0, columns = 0; *at;) {
		size_t n = next(at, &columns);

		used += columns < 0 ? 1 : columns;
		if (used > width)
			break;
		at += n;
	}
	return (size_t)(at - s);
}

static void put_bytes(char *buf, size_t size, double v)
{
	static const char units[] = "BKMGTP";
	int u = 0;

	for (; v >= 1024 && units[u + 1]; u++)
		v /= 1024;
	snprintf(buf, size, u && v < 100 ? "%.1f%c" : "%.0f%c", v, units[u]);
}

static void put_seconds(char *buf, size_t size, double v)
{
	if (v < 1e-3)
		snprintf(buf, size, "%.0fus", v * 1e6);
	else if (v < 1)
		snprintf(buf, size, "%.1fms", v * 1e3);
	else
		snprintf(buf, size, "%.2fs", v);
}

static void put_age(char *buf, size_t size, double v)
{
	if (v < 100)
		snprintf(buf, size, "%.0fs", v);
	else if (v < 6000)
		snprintf(buf, size, "%.0fm", v / 60);
	else if (v < 48 * 3600)
		snprintf(buf, size, "%.1fh", v / 3600);
	else
		snprintf(buf, size, "%.1fd", v / 86400);
}

/* "name folder/file:line" without the folder. */
static void put_place(char *buf, size_t size, const char *text)
{
	const char *file = strrchr(text, '/');
	int name = (int)strcspn(text, " ") + 1;

	if (file && name < file - text)
		snprintf(buf, size, "%.*s%s", name, text, file + 1);
	else
		snprintf(buf, size, "%s", text);
}

static void put_text(char *buf, size_t size, const struct column *c, const char *s)
{
	const char *last = strrchr(s, '/');

	if (c->kind == PLACE)
		put_place(buf, size, s);
	else if (c->kind == PATH && last && last[1])
		put_text(buf, size, &(struct column){.width = c->width}, last + 1);
	else
		snprintf(buf, size, "%.*s", (int)(c->width ? cell_fit(s, c->width) : size - 1), s);
}

static double hits(const struct column *c, const cJSON *row)
{
	char key[32];
	double hit = 0, missed = 0;

	snprintf(key, sizeof(key), "%s_hits", c->key);
	hit = show_number(row, key);
	snprintf(key, sizeof(key), "%s_misses", c->key);
	missed = show_number(row, key);
	return hit + missed > 0 ? 100 * hit / (hit + missed) : -1;
}

bool cell_is_text(const struct column *c)
{
	return c->kind <= PATH;
}

double cell_value(const struct column *c, const cJSON *row)
{
	return c->kind == HITS ? hits(c, row) : show_number(row, c->key);
}

void cell_text(char *buf, size_t size, const struct column *c, const cJSON *row)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(row, c->key);

	if (c->kind == HITS && hits(c, row) >= 0)
		snprintf(buf, size, "%.0f%%", hits(c, row));
	else if (cJSON_IsBool(v))
		snprintf(buf, size, "%s", cJSON_IsTrue(v) ? "yes" : "no");
	else if (cJSON_IsString(v))
		put_text(buf, size, c, v->valuestring);
	else if (!cJSON_IsNumber(v))
		snprintf(buf, size, "-");
	else if (c->kind == BYTES)
		put_bytes(buf, size, v->valuedouble);
	else if (c->kind == SECONDS)
		put_seconds(buf, size, v->valuedouble);
	else if (c->kind == AGE)
		put_age(buf, size, v->valuedouble);
	else
		snprintf(buf, size, "%.15g", v->valuedouble);
}
