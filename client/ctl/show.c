/* SPDX-License-Identifier: Apache-2.0 */
/* client/ctl/show.c - the daemon's JSON as aligned tables.
 *
 * Names and kernel texts come from clients: nothing of them may steer the
 * operator's terminal. */
#include <stdio.h>
#include <string.h>

#include "ctl_client.h"

/* Newlines and tabs stay: source texts have them. */
static void put_lines(const char *s)
{
	char last = '\n';

	for (; *s; last = *s++)
		putchar(((unsigned char)*s < ' ' && *s != '\n' && *s != '\t') || *s == 127 ? '?'
											   : *s);
	if (last != '\n')
		putchar('\n');
}

/* Two walks over the rows: the widths, then the lines. */
static void put_table(const cJSON *rows, const struct column *columns, int n)
{
	int width[16] = {0};
	const cJSON *row = NULL;
	char buf[160];

	for (int i = 0; i < n; i++)
		width[i] = (int)strlen(columns[i].title);
	cJSON_ArrayForEach(row, rows)
	{
		for (int i = 0; i < n; i++) {
			cell_text(buf, sizeof(buf), &columns[i], row);
			if (cell_width(buf) > width[i])
				width[i] = cell_width(buf);
		}
	}
	for (int i = 0; i < n; i++)
		printf(cell_is_text(&columns[i]) ? "%-*s  " : "%*s  ", width[i], columns[i].title);
	putchar('\n');
	cJSON_ArrayForEach(row, rows)
	{
		for (int i = 0; i < n; i++) {
			int pad = 0;

			cell_text(buf, sizeof(buf), &columns[i], row);
			pad = width[i] - cell_width(buf);
			if (!cell_is_text(&columns[i]))
				printf("%*s", pad, "");
			show_text(buf, 0);
			printf("%*s", (cell_is_text(&columns[i]) ? pad : 0) + 2, "");
		}
		putchar('\n');
	}
}

static void put_truncated(const cJSON *o)
{
	if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "truncated")))
		puts("(the list is longer than the daemon sends)");
}

void show_object(const cJSON *o, int indent)
{
	const cJSON *v = NULL;
	int width = 0;

	cJSON_ArrayForEach(v, o)
	{
		if (v->string && (int)strlen(v->string) > width)
			width = (int)strlen(v->string);
	}
	cJSON_ArrayForEach(v, o)
	{
		struct column c = {v->string, "",
				   v->string && strstr(v->string, "bytes") ? BYTES : NUMBER, 0};
		char buf[1024];

		if (!v->string || cJSON_IsArray(v))
			continue;
		printf("%*s%-*s", indent, "", cJSON_IsObject(v) ? 0 : width + 2, v->string);
		if (cJSON_IsObject(v)) {
			putchar('\n');
			show_object(v, indent + 2);
			continue;
		}
		cell_text(buf, sizeof(buf), &c, o);
		show_text(buf, 0);
		putchar('\n');
	}
}

void show_clients(const cJSON *o)
{
	static const struct column columns[] = {
		{"session", "SESSION", NUMBER, 0},
		{"pid", "PID", NUMBER, 0},
		{"uid", "UID", NUMBER, 0},
		{"name", "NAME", WORD, 24},
		{"arrays", "ARRAYS", NUMBER, 0},
		{"bytes", "BYTES", BYTES, 0},
		{"pending", "PENDING", NUMBER, 0},
		{"ops", "OPS", NUMBER, 0},
		{"near", "NEAR", NUMBER, 0},
		{"demands", "DEMANDS", NUMBER, 0},
		{"device_seconds", "DEVICE", SECONDS, 0},
		{"queue_wait_seconds", "WAITED", SECONDS, 0},
		{"plan_hits", "HITS", NUMBER, 0},
		{"plan_misses", "MISSES", NUMBER, 0},
		{"fusion_refusals", "UNFUSED", NUMBER, 0},
	};

	put_table(cJSON_GetObjectItemCaseSensitive(o, "clients"), columns,
		  sizeof(columns) / sizeof(columns[0]));
	put_truncated(o);
}

void show_published(const cJSON *o)
{
	static const struct column columns[] = {
		{"name", "NAME", WORD, 32},	   {"user", "USER", WORD, 12},
		{"uid", "UID", NUMBER, 0},	   {"access", "TO", WORD, 8},
		{"number", "NUMBER", NUMBER, 0},   {"dtype", "TYPE", WORD, 12},
		{"bytes", "BYTES", BYTES, 0},	   {"version", "VERSION", NUMBER, 0},
		{"holders", "HOLDERS", NUMBER, 0}, {"opened", "OPENED", NUMBER, 0},
		{"session", "SESSION", NUMBER, 0},
	};

	put_table(cJSON_GetObjectItemCaseSensitive(o, "published"), columns,
		  sizeof(columns) / sizeof(columns[0]));
	put_truncated(o);
}

void show_sessions(const cJSON *o)
{
	static const struct column columns[] = {
		{"session", "SESSION", NUMBER, 0},
		{"name", "NAME", WORD, 28},
		{"user", "USER", WORD, 12},
		{"pid", "PID", NUMBER, 0},
		{"environment", "ENVIRONMENT", PATH, 16},
		{"job", "JOB", WORD, 16},
		{"age_seconds", "AGE", AGE, 0},
		{"bytes", "MEMORY", BYTES, 0},
		{"queue", "QUEUE", NUMBER, 0},
		{"device_seconds", "DEVICE", SECONDS, 0},
		{"near", "NEAR", NUMBER, 0},
		{"ops", "FAR", NUMBER, 0},
		{"plan", "PLANS", HITS, 0},
		{"kernel", "KERNELS", HITS, 0},
	};

	put_table(cJSON_GetObjectItemCaseSensitive(o, "clients"), columns,
		  sizeof(columns) / sizeof(columns[0]));
	put_truncated(o);
}

void show_kernels(const cJSON *o)
{
	static const struct column columns[] = {
		{"id", "ID", NUMBER, 0},
		{"state", "STATE", WORD, 12},
		{"tier", "TIER", NUMBER, 0},
		{"runs", "RUNS", NUMBER, 0},
		{"elements", "ELEMENTS", NUMBER, 0},
		{"busy_seconds", "BUSY", SECONDS, 0},
		{"compile_seconds", "COMPILE", SECONDS, 0},
		{"from_disk", "DISK", WORD, 4},
		{"operations", "OPERATIONS", WORD, 40},
		{"origin", "ASKED FOR BY", PLACE, 60},
		{"arch", "ARCH", NUMBER, 0},
		{"geometry", "GEOMETRY", WORD, 13},
	};
	const cJSON *rows = cJSON_GetObjectItemCaseSensitive(o, "kernels"), *row = NULL;
	int n = sizeof(columns) / sizeof(columns[0]) - 2;

	/* The last two say something of GPUs' kernels only. */
	cJSON_ArrayForEach(row, rows)
	{
		if (show_number(row, "arch") > 0)
			n = sizeof(columns) / sizeof(columns[0]);
	}
	put_table(rows, columns, n);
	put_truncated(o);
}

void show_reasons(const cJSON *o)
{
	const cJSON *v = NULL;

	cJSON_ArrayForEach(v, cJSON_GetObjectItemCaseSensitive(o, "reasons"))
	{
		if (cJSON_IsString(v)) {
			fputs("  - ", stdout);
			show_text(v->valuestring, 0);
			putchar('\n');
		}
	}
}

/* A GPU's launches: what is used, and the model's that it was measured against. */
static void show_geometries(const cJSON *o)
{
	static const struct column columns[] = {
		{"entry", "ENTRY", WORD, 24},
		{"state", "GEOMETRY", WORD, 13},
		{"least_bytes", "FROM", BYTES, 0},
		{"most_bytes", "TO", BYTES, 0},
		{"threads", "THREADS", NUMBER, 0},
		{"blocks", "BLOCKS", NUMBER, 0},
		{"team", "TEAM", NUMBER, 0},
		{"seconds", "TIME", SECONDS, 0},
		{"model_threads", "M-THREADS", NUMBER, 0},
		{"model_blocks", "M-BLOCKS", NUMBER, 0},
		{"model_team", "M-TEAM", NUMBER, 0},
		{"model_seconds", "M-TIME", SECONDS, 0},
		{"gain_percent", "GAIN%", NUMBER, 0},
	};
	const cJSON *rows = cJSON_GetObjectItemCaseSensitive(o, "geometries");

	if (cJSON_GetArraySize(rows) == 0)
		return;
	puts("\ngeometries (blocks: for each multiprocessor, at most; M-: the model's)");
	put_table(rows, columns, sizeof(columns) / sizeof(columns[0]));
}

void show_kernel(const cJSON *o)
{
	static const char *const texts[] = {"key", "source"};
	cJSON *head = cJSON_Duplicate(o, 1);

	for (int i = 0; i < 2; i++)
		cJSON_DeleteItemFromObjectCaseSensitive(head, texts[i]);
	show_object(head, 0);
	cJSON_Delete(head);
	show_geometries(o);
	if (cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(o, "reasons")) > 0) {
		puts("\nreasons");
		show_reasons(o);
	}
}

void show_nest(const cJSON *o)
{
	static const char *const texts[] = {"key", "source"};

	show_kernel(o);
	for (int i = 0; i < 2; i++) {
		if (*show_string(o, texts[i])) {
			printf("\n%s\n", i ? "source" : "nest");
			put_lines(show_string(o, texts[i]));
		}
	}
}
