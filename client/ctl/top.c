/* SPDX-License-Identifier: Apache-2.0 */
/* client/ctl/top.c - the sessions, live: who uses what now.
 *
 * In: /status and /clients, once a second, and keys.  Out: a screen.  A session's share of its
 * devices is what it used since the poll before. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl_client.h"
#include "screen.h"

#define POLL_MS	     1000
#define ROWS	     256 /* LIMIT_CLIENTS */
#define FILTER_BYTES 40

struct top_column {
	struct column c;
	int width; /* on the screen */
	int need;  /* columns of the terminal from which on it is shown */
};

static const struct top_column columns[] = {
	{{"session", "ID", NUMBER, 0}, 5, 0},
	{{"name", "NAME", WORD, 20}, 20, 0},
	{{"user", "USER", WORD, 8}, 8, 0},
	{{"pid", "PID", NUMBER, 0}, 7, 88},
	{{"share", "BUSY%", NUMBER, 0}, 6, 0},
	{{"device_seconds", "DEVICE", SECONDS, 0}, 8, 0},
	{{"bytes", "MEMORY", BYTES, 0}, 6, 0},
	{{"queue", "QUEUE", NUMBER, 0}, 5, 0},
	{{"near", "NEAR", NUMBER, 0}, 9, 100},
	{{"ops", "FAR", NUMBER, 0}, 9, 110},
	{{"plan", "PLANS", HITS, 0}, 5, 0},
	{{"kernel", "KERN", HITS, 0}, 5, 0},
	{{"age_seconds", "AGE", AGE, 0}, 5, 122},
	{{"environment", "ENVIRONMENT", PATH, 14}, 14, 140},
};
enum { COLUMNS = sizeof(columns) / sizeof(columns[0]), SHARE = 4 };

struct top {
	struct fetch *fetch;
	cJSON *status, *clients; /* of the last poll; NULL: it failed */
	const cJSON *row[ROWS];	 /* shown, in order; inside clients */
	int nrow, chosen;
	uint64_t chosen_session;
	int sort;
	bool reverse; /* against a column's own order: texts upwards, numbers downwards */
	char filter[FILTER_BYTES];
	enum { WATCHING, FILTERING, ASKING } mode;
	char note[160];
	double polled; /* seconds */
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static const cJSON *find_session(const cJSON *clients, double session)
{
	const cJSON *row = NULL;

	cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(clients, "clients"))
	{
		if (show_number(row, "session") == session)
			return row;
	}
	return NULL;
}

/* Gives each row its share of a device since the poll before. */
static void add_shares(const cJSON *before, cJSON *clients, double seconds)
{
	cJSON *row = NULL;

	cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(clients, "clients"))
	{
		const cJSON *old = find_session(before, show_number(row, "session"));
		double used = show_number(row, "device_seconds") -
			      (old ? show_number(old, "device_seconds") : 0);
		double share = before && seconds > 0 ? 100 * used / seconds : 0;

		cJSON_AddNumberToObject(row, "share", (double)(long)(share + 0.5));
	}
}

static void poll_daemon(struct top *t)
{
	cJSON *status = fetch_json(t->fetch, "/status");
	cJSON *clients = status ? fetch_json(t->fetch, "/clients") : NULL;
	double at = now();

	if (clients)
		add_shares(t->clients, clients, at - t->polled);
	cJSON_Delete(t->status);
	cJSON_Delete(t->clients);
	t->status = status;
	t->clients = clients;
	t->polled = at;
}

/* ---- Rows: filtered, in order ---- */

static bool passes(const struct top *t, const cJSON *row)
{
	static const char *const keys[] = {"name", "user", "file", "job", "environment", "program"};

	if (!*t->filter)
		return true;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcasestr(show_string(row, keys[i]), t->filter))
			return true;
	return false;
}

static int compare(const void *a, const void *b, void *data)
{
	const cJSON *x = *(const cJSON *const *)a, *y = *(const cJSON *const *)b;
	const struct top *t = data;
	const struct column *c = &columns[t->sort].c;
	double u = cell_value(c, x), v = cell_value(c, y);
	int order = cell_is_text(c) ? strcasecmp(show_string(x, c->key), show_string(y, c->key))
				    : (u < v) - (u > v);

	if (!order) /* who came first stays first */
		return show_number(x, "session") < show_number(y, "session") ? -1 : 1;
	return t->reverse ? -order : order;
}

/* The chosen session stays chosen wherever it goes. */
static void arrange(struct top *t)
{
	const cJSON *row = NULL;

	t->nrow = 0;
	cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(t->clients, "clients"))
	{
		if (t->nrow < ROWS && passes(t, row))
			t->row[t->nrow++] = row;
	}
	qsort_r(t->row, (size_t)t->nrow, sizeof(t->row[0]), compare, t);
	for (int i = 0; i < t->nrow; i++)
		if ((uint64_t)show_number(t->row[i], "session") == t->chosen_session)
			t->chosen = i;
	if (t->chosen >= t->nrow)
		t->chosen = t->nrow ? t->nrow - 1 : 0;
	t->chosen_session = t->nrow ? (uint64_t)show_number(t->row[t->chosen], "session") : 0;
}

/* ---- The screen ---- */

/* What is published, if anything is; the number of lines. */
static int draw_published(const struct top *t)
{
	const struct column bytes = {"bytes", "", BYTES, 0};
	const cJSON *shared = cJSON_GetObjectItemCaseSensitive(t->status, "shared");
	double names = show_number(shared, "names");
	char text[128], memory[32];

	if (names <= 0)
		return 0;
	cell_text(memory, sizeof(memory), &bytes, shared);
	snprintf(text, sizeof(text), "published %.0f  opened %.0f times  memory of their own %s",
		 names, show_number(shared, "opened"), memory);
	screen_line(text, false);
	return 1;
}

/* The number of lines. */
static int draw_head(const struct top *t)
{
	const struct column bytes = {"client_bytes", "", BYTES, 0},
			    age = {"uptime_seconds", "", AGE, 0};
	const cJSON *dev = NULL;
	int lines = 1;
	char text[512], memory[32], up[32], plans[32], kernels[32];
	static const char *const parts[] = {"plans", "kernels"};
	char *const shares[] = {plans, kernels};

	for (int i = 0; i < 2; i++) {
		const cJSON *o = cJSON_GetObjectItemCaseSensitive(t->status, parts[i]);
		double hit = show_number(o, "hits"), all = hit + show_number(o, "misses");

		snprintf(shares[i], 32, "%.0f%%", all > 0 ? 100 * hit / all : 0);
	}
	cell_text(memory, sizeof(memory), &bytes, t->status);
	cell_text(up, sizeof(up), &age, t->status);
	snprintf(
		text, sizeof(text),
		"brazed %s  up %s  %.0f sessions  memory %s  jobs %.0f  hits: plans %s, kernels %s",
		show_string(t->status, "version"), up, show_number(t->status, "clients_count"),
		memory, show_number(t->status, "jobs_in_flight_count"), plans, kernels);
	screen_line(text, false);
	cJSON_ArrayForEach(dev, cJSON_GetObjectItemCaseSensitive(t->status, "devices"))
	{
		const struct column busy = {"busy_seconds", "", SECONDS, 0};

		cell_text(up, sizeof(up), &busy, dev);
		snprintf(text, sizeof(text), "%s %s  runs %.0f  busy %s  %s",
			 show_string(dev, "name"), show_string(dev, "state"),
			 show_number(dev, "runs"), up, show_string(dev, "model"));
		screen_line(text, false);
		lines++;
	}
	return lines + draw_published(t);
}

/* One cell, padded to its column. */
static void put_cell(FILE *f, const struct top_column *c, const char *text)
{
	size_t fits = cell_fit(text, c->width);
	char cut[128];

	snprintf(cut, sizeof(cut), "%.*s", (int)fits, text);
	int pad = c->width - cell_width(cut);
	if (cell_is_text(&c->c))
		fprintf(f, "%s%*s ", cut, pad, "");
	else
		fprintf(f, "%*s%s ", pad, "", cut);
}

/* A row's cells; NULL: the titles. */
static void draw_row(const struct top *t, const cJSON *row, int width, bool reverse)
{
	char *line = NULL, text[128];
	size_t size = 0;
	FILE *f = open_memstream(&line, &size);

	if (!f)
		return;
	for (int i = 0; i < COLUMNS; i++) {
		if (columns[i].need > width)
			continue;
		if (row && i == SHARE && show_true(row, "paused"))
			snprintf(text, sizeof(text), "paused");
		else if (row)
			cell_text(text, sizeof(text), &columns[i].c, row);
		else
			snprintf(text, sizeof(text), "%s%s", columns[i].c.title,
				 i == t->sort ? t->reverse ? "^" : "v" : "");
		put_cell(f, &columns[i], text);
	}
	fclose(f);
	screen_line(line, reverse);
	free(line);
}

static void draw_foot(const struct top *t)
{
	char text[256];

	if (t->mode == ASKING)
		snprintf(text, sizeof(text), "end session %llu (%.40s)? y or n",
			 (unsigned long long)t->chosen_session,
			 t->nrow ? show_string(t->row[t->chosen], "name") : "");
	else if (t->mode == FILTERING)
		snprintf(text, sizeof(text), "filter: %s_", t->filter);
	else if (*t->note)
		snprintf(text, sizeof(text), "%s", t->note);
	else
		snprintf(text, sizeof(text),
			 "q quit  < > sort  r reverse  / filter%s%s  p %s  k end session",
			 *t->filter ? ": " : "", t->filter,
			 t->nrow && show_true(t->row[t->chosen], "paused") ? "resume" : "pause");
	screen_line(text, true);
}

static void draw(struct top *t)
{
	int rows = 0, width = 0, head = 1, room = 0, from = 0;

	screen_size(&rows, &width);
	screen_begin();
	if (t->clients) {
		head = draw_head(t);
	} else {
		screen_line(t->fetch->error, false);
	}
	draw_row(t, NULL, width, true);
	room = rows - head - 2 > 0 ? rows - head - 2 : 0; /* the titles, and the keys */
	if (t->chosen >= room)
		from = t->chosen - room + 1;
	for (int i = 0; i < room; i++) {
		if (from + i < t->nrow)
			draw_row(t, t->row[from + i], width, from + i == t->chosen);
		else
			screen_line(i || t->nrow ? "" : "no session", false);
	}
	draw_foot(t);
	screen_show();
}

/* ---- Keys ---- */

/* The chosen session is given an order by this word. */
static void order(struct top *t, const char *word, const char *done)
{
	char url[64], *text = NULL;

	snprintf(url, sizeof(url), "/sessions/%llu/%s", (unsigned long long)t->chosen_session,
		 word);
	text = fetch_text(t->fetch, url, true);
	snprintf(t->note, sizeof(t->note), "%.150s", text ? done : t->fetch->error);
	free(text);
	t->polled = 0; /* what it did is seen at once */
}

static void pause_or_resume(struct top *t)
{
	if (!t->nrow)
		return;
	if (show_true(t->row[t->chosen], "paused"))
		order(t, "resume", "the session goes on");
	else
		order(t, "pause", "the session is paused: no device works for it");
}

static void type_filter(struct top *t, int key)
{
	size_t n = strlen(t->filter);

	if (key == KEY_ENTER || key == KEY_ESCAPE) {
		t->mode = WATCHING;
		if (key == KEY_ESCAPE)
			*t->filter = 0;
	} else if (key == KEY_BACK && n) {
		while (n && ((unsigned char)t->filter[--n] & 0xc0) == 0x80)
			;
		t->filter[n] = 0;
	} else if (key >= ' ' && key < 256 && n + 1 < FILTER_BYTES) {
		t->filter[n] = (char)key;
		t->filter[n + 1] = 0;
	}
}

static void choose(struct top *t, int by)
{
	int to = t->chosen + by;

	if (to >= 0 && to < t->nrow) {
		t->chosen = to;
		t->chosen_session = (uint64_t)show_number(t->row[to], "session");
	}
}

static void sort_by(struct top *t, int by)
{
	t->sort = (t->sort + by + COLUMNS) % COLUMNS;
	t->reverse = false;
}

static void answer_question(struct top *t, int key)
{
	if (key == 'y')
		order(t, "end", "the session was ended");
	t->mode = WATCHING;
}

static void command(struct top *t, int key)
{
	switch (key) {
	case KEY_UP:
	case KEY_DOWN:
		choose(t, key == KEY_UP ? -1 : 1);
		break;
	case KEY_LEFT:
	case '<':
	case KEY_RIGHT:
	case '>':
		sort_by(t, key == KEY_LEFT || key == '<' ? -1 : 1);
		break;
	case 'r':
		t->reverse = !t->reverse;
		break;
	case '/':
		t->mode = FILTERING;
		break;
	case 'p':
		pause_or_resume(t);
		break;
	case 'k':
		t->mode = t->nrow ? ASKING : WATCHING;
		break;
	default:
		break;
	}
}

/* False: that is all. */
static bool take_key(struct top *t, int key)
{
	if (key == KEY_NONE)
		return true;
	*t->note = 0;
	if (t->mode == FILTERING)
		type_filter(t, key);
	else if (t->mode == ASKING)
		answer_question(t, key);
	else if (key == 'q')
		return false;
	else
		command(t, key);
	return true;
}

int top_run(struct fetch *f, int *signal)
{
	struct top t = {.fetch = f, .sort = SHARE};
	int key = KEY_NONE;

	if (!screen_open()) {
		fputs("brazectl: top needs a terminal; brazectl sessions prints once\n", stderr);
		return 1;
	}
	do {
		if (now() - t.polled >= POLL_MS / 1000.0)
			poll_daemon(&t);
		arrange(&t);
		draw(&t);
		key = screen_key((int)((t.polled - now()) * 1000) + POLL_MS + 1);
	} while (key != KEY_END && take_key(&t, key));
	screen_close();
	*signal = screen_signal();
	cJSON_Delete(t.status);
	cJSON_Delete(t.clients);
	return 0;
}
