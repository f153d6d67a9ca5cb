/* SPDX-License-Identifier: Apache-2.0 */
/* client/ctl/brazectl.c - ask a running daemon what it does.
 *
 * In: a command.  Out: a table for people, or with --json the daemon's own text.
 * Ends with 0, 1 when the daemon cannot be asked or says no, 2 for wrong use. */
#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl_client.h"

#define LOG_LINES   50
#define EXPLAIN_MAX 20 /* kernels that `explain` without an id shows */

struct call {
	struct fetch fetch;
	const char *command, *argument, *export, *binary;
	char **more; /* the argument and those behind it */
	int nmore;
	bool json, nest, end, follow;
	long lines, port; /* -1: not said */
};

static int fail(const struct call *c)
{
	fprintf(stderr, "brazectl: %s\n", c->fetch.error);
	return 1;
}

static int usage(FILE *out)
{
	help_print(out);
	return out == stdout ? 0 : 2;
}

/* Print a page: raw, or through `show`. */
static int page(struct call *c, const char *url, void (*show)(const cJSON *))
{
	char *text = NULL;
	cJSON *o = NULL;

	if (c->json) {
		text = fetch_text(&c->fetch, url, false);
		if (!text)
			return fail(c);
		fputs(text, stdout);
		free(text);
		return 0;
	}
	o = fetch_json(&c->fetch, url);
	if (!o)
		return fail(c);
	show(o);
	cJSON_Delete(o);
	return 0;
}

static void show_status(const cJSON *o)
{
	show_object(o, 0);
}

static void show_events(const cJSON *o)
{
	const cJSON *row = NULL;

	cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(o, "events"))
	{
		printf("%.3f  ", show_number(row, "time"));
		show_text(show_string(row, "topic"), 16);
		fputs("  ", stdout);
		show_text(show_string(row, "text"), 0);
		putchar('\n');
	}
}

static void show_cache(const cJSON *o)
{
	fputs("folder  ", stdout);
	show_text(*show_string(o, "cache_dir") ? show_string(o, "cache_dir") : "none", 0);
	putchar('\n');
	show_object(cJSON_GetObjectItemCaseSensitive(o, "kernels"), 0);
}

static int ping(struct call *c)
{
	cJSON *o = fetch_json(&c->fetch, "/status");

	if (!o)
		return fail(c);
	if (c->json)
		puts("{\"alive\": true}");
	else
		printf("brazed %s answers at %s (pid %.0f)\n", show_string(o, "version"),
		       c->fetch.socket, show_number(o, "pid"));
	cJSON_Delete(o);
	return 0;
}

static int export_source(struct call *c, const char *url)
{
	cJSON *o = fetch_json(&c->fetch, url);
	const char *source = show_string(o, "source");
	int result = 1;
	FILE *f = NULL;

	if (!o)
		return fail(c);
	if (!*source) {
		fprintf(stderr, "brazectl: kernel %s has no source: it was never emitted\n",
			c->argument);
		goto out;
	}
	f = fopen(c->export, "we");
	if (!f || fputs(source, f) < 0 || fclose(f)) {
		fprintf(stderr, "brazectl: %s: %s\n", c->export, strerror(errno));
		goto out;
	}
	printf("wrote %zu bytes to %s\n", strlen(source), c->export);
	result = 0;
out:
	cJSON_Delete(o);
	return result;
}

static int kernels(struct call *c)
{
	char url[64];

	if (!c->argument)
		return c->export ? usage(stderr) : page(c, "/kernels", show_kernels);
	if (!*c->argument || c->argument[strspn(c->argument, "0123456789")] ||
	    strlen(c->argument) > 10) {
		fprintf(stderr, "brazectl: a kernel's id is a number: %s\n", c->argument);
		return 2;
	}
	snprintf(url, sizeof(url), "/kernels/%s", c->argument);
	return c->export ? export_source(c, url) : page(c, url, c->nest ? show_nest : show_kernel);
}

static void explain_one(struct call *c, double id)
{
	char url[64];
	cJSON *o = NULL;

	snprintf(url, sizeof(url), "/kernels/%.0f", id);
	o = fetch_json(&c->fetch, url);
	/* It may have been evicted since the list was made. */
	if (!o)
		return;
	printf("kernel %.0f: ", id);
	show_text(show_string(o, "operations"), 0);
	printf("\n  %s, tier %.0f, %.0f runs", show_string(o, "state"), show_number(o, "tier"),
	       show_number(o, "runs"));
	if (*show_string(o, "origin")) {
		fputs("; first asked for by ", stdout);
		show_text(show_string(o, "origin"), 0);
	}
	putchar('\n');
	show_reasons(o);
	if (*show_string(o, "error")) {
		fputs("  compiler: ", stdout);
		show_text(show_string(o, "error"), 0);
		putchar('\n');
	}
	cJSON_Delete(o);
}

static int explain(struct call *c)
{
	const cJSON *row = NULL;
	cJSON *o = NULL;
	int n = 0;

	if (c->argument || c->json)
		return kernels(c);
	o = fetch_json(&c->fetch, "/kernels");
	if (!o)
		return fail(c);
	cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(o, "kernels"))
	{
		if (n++ == EXPLAIN_MAX)
			break;
		explain_one(c, show_number(row, "id"));
	}
	if (!n)
		puts("no kernel was made yet");
	cJSON_Delete(o);
	return 0;
}

static int cache(struct call *c)
{
	char *text = NULL;

	if (!c->argument)
		return page(c, "/status", c->json ? show_status : show_cache);
	if (strcmp(c->argument, "clear"))
		return usage(stderr);
	text = fetch_text(&c->fetch, "/cache/clear", true);
	if (!text)
		return fail(c);
	if (c->json)
		fputs(text, stdout);
	else
		puts("the disk cache is empty");
	free(text);
	return 0;
}

/* Each session, and below what they publish, if they do. */
static int all_sessions(struct call *c)
{
	int result = page(c, "/clients", show_sessions);
	cJSON *o = result || c->json ? NULL : fetch_json(&c->fetch, "/published");

	if (o && cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(o, "published"))) {
		puts("\npublished");
		show_published(o);
	}
	cJSON_Delete(o);
	return result;
}

static int sessions(struct call *c)
{
	char url[64], *text = NULL;

	if (!c->argument)
		return all_sessions(c);
	if (!*c->argument || c->argument[strspn(c->argument, "0123456789")] ||
	    strlen(c->argument) > 15) {
		fprintf(stderr, "brazectl: a session is a number: %s\n", c->argument);
		return 2;
	}
	snprintf(url, sizeof(url), "/sessions/%s/end", c->argument);
	text = fetch_text(&c->fetch, url, true);
	if (!text)
		return fail(c);
	if (c->json)
		fputs(text, stdout);
	else
		printf("session %s was ended\n", c->argument);
	free(text);
	return 0;
}

/* As it is: what shows it reads JSON. */
static int trace(struct call *c)
{
	c->json = true;
	return page(c, "/trace", NULL);
}

/* Ends by the signal that ended it, as its shell expects. */
static int top(struct call *c)
{
	int signal_number = 0, result = top_run(&c->fetch, &signal_number);

	if (signal_number) {
		signal(signal_number, SIG_DFL);
		raise(signal_number);
	}
	return result;
}

static bool is(const struct call *c, const char *command)
{
	return !strcmp(c->command, command);
}

/* Does the command take these options? */
static bool fits_options(const struct call *c)
{
	bool kernel = c->argument && (is(c, "kernels") || is(c, "explain"));

	if (c->end != (is(c, "sessions") && c->argument))
		return false;
	if (is(c, "logs") ? c->json : c->follow || c->lines >= 0)
		return false;
	if (is(c, "page") ? c->json : c->port >= 0)
		return false;
	if (c->binary && !is(c, "drain"))
		return false;
	return (!c->nest || kernel) && (!c->export || is(c, "kernels"));
}

static bool is_order(const struct call *c)
{
	return orders_knows(c->command) || is(c, "limit") || is(c, "sessions");
}

/* And this argument? */
static bool fits(const struct call *c)
{
	bool takes = is_order(c) || is(c, "kernels") || is(c, "explain") || is(c, "cache");

	if (orders_knows(c->command) && c->nmore != 1)
		return false;
	return (!c->argument || takes) && (c->nmore < 2 || is(c, "limit")) && fits_options(c);
}

static int order(struct call *c)
{
	if (is(c, "sessions"))
		return sessions(c);
	if (is(c, "limit"))
		return orders_limit(&c->fetch, c->nmore, c->more, c->json);
	return orders_session(&c->fetch, c->command, c->argument, c->json);
}

static int drain(struct call *c)
{
	return drain_run(&c->fetch, c->binary, c->json);
}

static int logs(struct call *c)
{
	return logs_run(c->fetch.socket, c->lines < 0 ? LOG_LINES : c->lines, c->follow);
}

static int serve(struct call *c)
{
	return serve_run(&c->fetch, c->port < 0 ? 0 : c->port);
}

static int doctor(struct call *c)
{
	return doctor_run(&c->fetch);
}

static int run(struct call *c)
{
	static const struct {
		const char *command, *url;
		void (*show)(const cJSON *);
	} pages[] = {{"status", "/status", show_status},
		     {"clients", "/clients", show_clients},
		     {"published", "/published", show_published},
		     {"events", "/events", show_events}};
	static const struct {
		const char *command;
		int (*run)(struct call *c);
	} others[] = {{"doctor", doctor},   {"ping", ping},  {"logs", logs},   {"top", top},
		      {"trace", trace},	    {"page", serve}, {"drain", drain}, {"kernels", kernels},
		      {"explain", explain}, {"cache", cache}};

	if (!fits(c))
		return usage(stderr);
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		if (is(c, pages[i].command))
			return page(c, pages[i].url, pages[i].show);
	if (is_order(c))
		return order(c);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (is(c, others[i].command))
			return others[i].run(c);
	return usage(stderr);
}

/* A number of at most nine digits; -1: it is none. */
static long number_of(const char *text)
{
	if (!*text || text[strspn(text, "0123456789")] || strlen(text) > 9)
		return -1;
	return atol(text);
}

/* Of --lines or --port. */
static bool take_number(struct call *c, int option)
{
	long n = number_of(optarg);

	*(option == 'p' ? &c->port : &c->lines) = n;
	return n >= 0 && (option != 'p' || n <= UINT16_MAX);
}

/* The options into *c and *socket; what to end with, -1: go on. */
static int parse(struct call *c, const char **socket, int argc, char **argv)
{
	static const struct option options[] = {
		{"socket", required_argument, NULL, 's'}, {"export", required_argument, NULL, 'e'},
		{"binary", required_argument, NULL, 'b'}, {"json", no_argument, NULL, 'j'},
		{"nest", no_argument, NULL, 'N'},	  {"end", no_argument, NULL, 'E'},
		{"follow", no_argument, NULL, 'f'},	  {"lines", required_argument, NULL, 'l'},
		{"version", no_argument, NULL, 'V'},	  {"port", required_argument, NULL, 'p'},
		{"help", no_argument, NULL, 'h'},	  {NULL, 0, NULL, 0}};
	int o = 0;

	while ((o = getopt_long(argc, argv, "hfn:", options, NULL)) != -1) {
		switch (o) {
		case 's':
			*socket = optarg;
			break;
		case 'e':
			c->export = optarg;
			break;
		case 'b':
			c->binary = optarg;
			break;
		case 'j':
			c->json = true;
			break;
		case 'E':
			c->end = true;
			break;
		case 'f':
			c->follow = true;
			break;
		case 'l':
		case 'n':
		case 'p':
			if (!take_number(c, o))
				return usage(stderr);
			break;
		case 'N':
			c->nest = true;
			break;
		case 'V':
			puts("brazectl " BRAZE_VERSION_TEXT);
			return 0;
		case 'h':
			return usage(stdout);
		default:
			return usage(stderr);
		}
	}
	return -1;
}

int main(int argc, char **argv)
{
	const char *socket = NULL;
	struct call c = {.lines = -1, .port = -1};
	int end = parse(&c, &socket, argc, argv);

	if (end >= 0)
		return end;
	setlocale(LC_CTYPE, "");
	if (optind >= argc)
		return usage(stderr);
	c.command = argv[optind];
	c.argument = argv[optind + 1];
	c.more = argv + optind + 1;
	c.nmore = argc - optind - 1;
	if (!help_knows(c.command)) {
		fprintf(stderr, "brazectl: no command is called %s\n", c.command);
		return usage(stderr);
	}
	if (!strcmp(c.command, "completion")) { /* asks no daemon */
		if (!fits(&c))
			return usage(stderr);
		help_completion();
		return 0;
	}
	if (!fetch_find(&c.fetch, socket))
		return fail(&c);
	return run(&c);
}
