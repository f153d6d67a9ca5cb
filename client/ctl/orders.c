/* SPDX-License-Identifier: Apache-2.0 */
/* client/ctl/orders.c - what brazectl has the daemon do: to a session, to limits.
 *
 * In: the words of the command line.  Out: one POST, and a line that says what was done; or the
 * limits there are, with what each user and session has of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl_client.h"

#define URL_BYTES 1024

static const struct order {
	const char *command, *word, *done;
} orders[] = {{"kill", "end", "was ended"},
	      {"cancel", "cancel", "waits no more: what it waited for was cancelled"},
	      {"pause", "pause", "is paused: devices do nothing for it until it is resumed"},
	      {"resume", "resume", "goes on"},
	      {"evict", "evict", "gave back"}};

static const struct order *find(const char *command)
{
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		if (!strcmp(command, orders[i].command))
			return &orders[i];
	return NULL;
}

bool orders_knows(const char *command)
{
	return find(command) != NULL;
}

static int fail(const struct fetch *f)
{
	fprintf(stderr, "brazectl: %s\n", f->error);
	return 1;
}

static void show_evicted(const char *text)
{
	static const struct column columns[] = {{"arena_bytes", "of free shared memory", BYTES, 0},
						{"device_bytes", "of copies on devices", BYTES, 0},
						{"kernel_bytes", "of kernels", BYTES, 0}};
	cJSON *o = cJSON_Parse(text);
	char cell[64];

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		cell_text(cell, sizeof(cell), &columns[i], o);
		printf("%s%s %s", i ? ", " : "", cell, columns[i].title);
	}
	putchar('\n');
	cJSON_Delete(o);
}

int orders_session(struct fetch *f, const char *command, const char *id, bool json)
{
	const struct order *order = find(command);
	char url[64], *text = NULL;

	if (!*id || id[strspn(id, "0123456789")] || strlen(id) > 10) {
		fprintf(stderr, "brazectl: a session is a number: %s\n", id);
		return 2;
	}
	snprintf(url, sizeof(url), "/sessions/%s/%s", id, order->word);
	text = fetch_text(f, url, true);
	if (!text)
		return fail(f);
	if (json) {
		fputs(text, stdout);
	} else {
		printf("session %s %s%s", id, order->done, strcmp(command, "evict") ? "\n" : " ");
		if (!strcmp(command, "evict"))
			show_evicted(text);
	}
	free(text);
	return 0;
}

/* ---- Limits ---- */

/* Append to a URL what may stand in it; false: there is no room. */
static bool put(char url[URL_BYTES], const char *text, size_t n)
{
	size_t at = strlen(url);

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];
		bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
			     (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.';

		if (at + 4 > URL_BYTES)
			return false;
		at += (size_t)snprintf(url + at, URL_BYTES - at, plain ? "%c" : "%%%02X", c);
	}
	return true;
}

/* "&key=value" */
static bool put_pair(char url[URL_BYTES], const char *key, size_t n, const char *value)
{
	if (strlen(url) + 3 > URL_BYTES)
		return false;
	strcat(url, strchr(url, '?') ? "&" : "?");
	if (!put(url, key, n) || strlen(url) + 2 > URL_BYTES)
		return false;
	strcat(url, "=");
	return put(url, value, strlen(value));
}

static int set_limits(struct fetch *f, int n, char **argument, bool json)
{
	const char *colon = strchr(argument[0], ':');
	char url[URL_BYTES] = "/limits", scope[16], *text = NULL;
	bool good = colon && colon[1] && colon - argument[0] < (long)sizeof(scope);

	if (good) {
		snprintf(scope, sizeof(scope), "%.*s", (int)(colon - argument[0]), argument[0]);
		good = put_pair(url, "scope", 5, scope) && put_pair(url, "name", 4, colon + 1);
	}
	for (int i = 1; good && i < n; i++) {
		const char *is = strchr(argument[i], '=');

		good = is && is > argument[i] &&
		       put_pair(url, argument[i], (size_t)(is - argument[i]), is + 1);
	}
	if (!good) {
		fputs("brazectl: limit wants user:NAME, group:NAME or session:NAME, then "
		      "LIMIT=VALUE...\n",
		      stderr);
		return 2;
	}
	text = fetch_text(f, url, true);
	if (!text)
		return fail(f);
	if (json)
		fputs(text, stdout);
	else
		printf("%s is limited so until the daemon ends\n", argument[0]);
	free(text);
	return 0;
}

/* "  weight 3, bytes 4.0 GiB" of the object's limits. */
static void show_limits(const cJSON *row)
{
	const cJSON *limit = NULL;
	const char *between = "  ";

	cJSON_ArrayForEach(limit, cJSON_GetObjectItemCaseSensitive(row, "limits"))
	{
		struct column c = {limit->string, "",
				   strstr(limit->string, "bytes") ? BYTES : NUMBER, 0};
		char cell[64];

		cell_text(cell, sizeof(cell), &c, cJSON_GetObjectItemCaseSensitive(row, "limits"));
		printf("%s", between);
		show_text(limit->string, 32);
		printf(" %s", cell);
		between = ", ";
	}
	putchar('\n');
}

/* What it has of what can be limited. */
static void show_usage(const cJSON *row)
{
	static const struct column columns[] = {{"bytes", "bytes", BYTES, 0},
						{"device_bytes", "device_bytes", BYTES, 0},
						{"queue", "queue", NUMBER, 0},
						{"pending", "pending", NUMBER, 0},
						{"compile_seconds", "compile_seconds", SECONDS, 0}};
	char cell[64];

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		cell_text(cell, sizeof(cell), &columns[i], row);
		printf("%s%s %s", i ? ", " : "", columns[i].title, cell);
	}
}

static void show_user(const cJSON *user)
{
	const cJSON *row = NULL;

	fputs("user ", stdout);
	show_text(show_string(user, "user"), 32);
	printf(" (%.0f)  has ", show_number(user, "uid"));
	show_usage(user);
	fputs("\n  bound by", stdout);
	show_limits(user);
	cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(user, "sessions"))
	{
		printf("  session %.0f ", show_number(row, "session"));
		show_text(show_string(row, "name"), 32);
		fputs(show_true(row, "paused") ? " (paused)" : "", stdout);
		fputs("  has ", stdout);
		show_usage(row);
		fputs("\n    bound by", stdout);
		show_limits(row);
	}
}

static void show_all(const cJSON *o)
{
	const cJSON *row = NULL;

	cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(o, "rules"))
	{
		show_text(show_string(row, "scope"), 0);
		putchar(':');
		show_text(show_string(row, "name"), 0);
		fputs("  by ", stdout);
		show_text(show_string(row, "from"), 0);
		fputs(show_true(row, "known") ? "" : ", unknown to the system", stdout);
		show_limits(row);
	}
	cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(o, "users"))
	{
		show_user(row);
	}
}

int orders_limit(struct fetch *f, int n, char **argument, bool json)
{
	cJSON *o = NULL;
	char *text = NULL;

	if (n > 0)
		return set_limits(f, n, argument, json);
	text = fetch_text(f, "/limits", false);
	if (!text)
		return fail(f);
	o = cJSON_Parse(text);
	if (json)
		fputs(text, stdout);
	else
		show_all(o);
	cJSON_Delete(o);
	free(text);
	return 0;
}
