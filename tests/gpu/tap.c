/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/tap.c - see tap.h. */
#include "tap.h"

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 2048

static struct {
	unsigned count, failed, skipped;
	cJSON *results, *figures;
} tap;

void tap_begin(void)
{
	tap.results = cJSON_CreateArray();
	tap.figures = cJSON_CreateArray();
	printf("TAP version 14\n");
	fflush(stdout);
}

/* A name goes on one line, without what TAP gives a meaning to. */
static void plain(char *text)
{
	for (char *c = text; *c; c++)
		if (*c == '#' || *c == '\n')
			*c = ' ';
}

static void keep(const char *name, const char *state)
{
	cJSON *row = cJSON_CreateObject();

	cJSON_AddStringToObject(row, "name", name);
	cJSON_AddStringToObject(row, "result", state);
	cJSON_AddItemToArray(tap.results, row);
}

bool tap_result(bool ok, const char *fmt, ...)
{
	char text[TEXT_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	plain(text);
	tap.failed += !ok;
	printf("%s %u - %s\n", ok ? "ok" : "not ok", ++tap.count, text);
	fflush(stdout);
	keep(text, ok ? "ok" : "not ok");
	return ok;
}

void tap_skip(const char *name, const char *why)
{
	tap.skipped++;
	printf("ok %u - %s # SKIP %s\n", ++tap.count, name, why);
	fflush(stdout);
	keep(name, "skip");
}

void tap_note(const char *fmt, ...)
{
	char text[4 * TEXT_BYTES], *save = NULL;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		printf("# %s\n", line);
	fflush(stdout);
}

void tap_figure(const char *group, const char *name, double value, const char *unit)
{
	cJSON *row = cJSON_CreateObject();

	cJSON_AddStringToObject(row, "group", group);
	cJSON_AddStringToObject(row, "name", name);
	cJSON_AddNumberToObject(row, "value", value);
	cJSON_AddStringToObject(row, "unit", unit);
	cJSON_AddItemToArray(tap.figures, row);
}

static bool write_json(const char *path)
{
	cJSON *all = cJSON_CreateObject();
	char *text;
	FILE *f = fopen(path, "we");
	bool good = f != NULL;

	cJSON_AddNumberToObject(all, "checks", tap.count);
	cJSON_AddNumberToObject(all, "failed", tap.failed);
	cJSON_AddItemToObject(all, "figures", tap.figures);
	cJSON_AddItemToObject(all, "results", tap.results);
	text = cJSON_Print(all);
	if (f) {
		good = text && fputs(text, f) >= 0;
		good &= fclose(f) == 0;
	}
	if (!good)
		tap_note("%s cannot be written", path);
	free(text);
	cJSON_Delete(all);
	return good;
}

int tap_end(const char *json)
{
	bool good = tap.failed == 0 && tap.count > tap.skipped;

	printf("1..%u\n", tap.count);
	tap_note("%u passed, %u failed, %u skipped", tap.count - tap.failed - tap.skipped,
		 tap.failed, tap.skipped);
	if (json) {
		good &= write_json(json);
	} else {
		cJSON_Delete(tap.figures);
		cJSON_Delete(tap.results);
	}
	return good ? 0 : 1;
}
