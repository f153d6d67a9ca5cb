/* SPDX-License-Identifier: Apache-2.0 */
/* client/ctl/drain.c - have another program go on in the daemon's process.
 *
 * The daemon says that it begins; how it went is read from what /status counts, since the one who
 * was asked is not there any more when it is over. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl_client.h"
#include "http.h"

#define WAIT_MS 120000
#define NAP_MS	20

struct counts {
	double done, refused;
	bool under_way;
};

static double count(const cJSON *o, const char *key)
{
	return show_number(cJSON_GetObjectItemCaseSensitive(o, "takeovers"), key);
}

static struct counts counts_of(const cJSON *o)
{
	return (struct counts){
		count(o, "count"), count(o, "refused"),
		cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "takeover_under_way"))};
}

/* A path as part of an address. */
static void put_escaped(char *to, size_t size, const char *path)
{
	size_t n = 0;

	for (; *path && n + 4 < size; path++)
		n += (size_t)snprintf(to + n, size - n, "%%%02x", (unsigned char)*path);
	to[n] = 0;
}

static int told(const cJSON *o, const struct counts *before, bool json)
{
	if (counts_of(o).done <= before->done) {
		fputs("brazectl: the daemon goes on as it was: ", stderr);
		fprintf(stderr, "%s\n", show_string(o, "takeover_refused"));
		return 1;
	}
	if (json)
		printf("{\"version\": \"%s\", \"clients\": %.0f, \"arrays\": %.0f, "
		       "\"seconds\": %.3f}\n",
		       show_string(o, "version"), show_number(o, "clients_count"),
		       show_number(o, "arrays_count"), count(o, "last_seconds"));
	else
		printf("brazed %s goes on with %.0f clients and %.0f arrays; they waited for "
		       "%.3f s\n",
		       show_string(o, "version"), show_number(o, "clients_count"),
		       show_number(o, "arrays_count"), count(o, "last_seconds"));
	return 0;
}

/* Until one of the counts has risen.  In between nobody answers. */
static int await(struct fetch *f, const struct counts *before, bool json)
{
	const struct timespec nap = {.tv_nsec = NAP_MS * 1000000};
	int64_t end = http_now_ms() + WAIT_MS;
	bool seen = false;
	int result = 1;

	while (http_now_ms() < end) {
		cJSON *o = fetch_json(f, "/status");
		struct counts now = o ? counts_of(o) : (struct counts){0};
		bool over = o && (now.done > before->done || now.refused > before->refused);

		seen |= now.under_way;
		if (over)
			result = told(o, before, json);
		cJSON_Delete(o);
		if (over)
			return result;
		nanosleep(&nap, NULL);
	}
	fprintf(stderr, "brazectl: %s within %d s\n",
		seen ? "the daemon did not come to rest" : "no daemon answers", WAIT_MS / 1000);
	return 1;
}

int drain_run(struct fetch *f, const char *binary, bool json)
{
	char url[1000] = "/drain", *path = binary ? realpath(binary, NULL) : NULL, *text = NULL;
	struct counts before;
	cJSON *o = NULL;

	if (binary && !path) {
		fprintf(stderr, "brazectl: %s: %s\n", binary, strerror(errno));
		return 1;
	}
	if (path && strlen(path) > 300) {
		fprintf(stderr, "brazectl: %s: the path is too long\n", binary);
		free(path);
		return 1;
	}
	if (path)
		put_escaped(url + snprintf(url, sizeof url, "/drain?binary="), sizeof url - 20,
			    path);
	free(path);
	o = fetch_json(f, "/status");
	before = o ? counts_of(o) : (struct counts){0};
	if (o)
		text = fetch_text(f, url, true);
	cJSON_Delete(o);
	if (!text) {
		fprintf(stderr, "brazectl: %s\n", f->error);
		return 1;
	}
	free(text);
	return await(f, &before, json);
}
