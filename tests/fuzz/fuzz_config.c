/* SPDX-License-Identifier: Apache-2.0 */
/* A settings file of any bytes, then what it says given back as a file.
 *
 * In: the file's text; after a 0 byte one NAME=VALUE for -o.  What config_print
 * writes must be read again to the same settings: the two describe one format. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "config.h"
#include "fuzz.h"

static int file_of(const void *text, size_t n, char path[64])
{
	int fd = memfd_create("conf", MFD_CLOEXEC);

	FUZZ_CHECK(fd >= 0 && write(fd, text, n) == (ssize_t)n);
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

static char *printed(const struct config *c)
{
	char *text = NULL, *out, *to;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	config_print(c, f);
	fclose(f);
	/* Comments tell origins, which differ. */
	out = to = calloc(n + 1, 1);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (*line != '#')
			to += sprintf(to, "%s\n", line);
	free(text);
	return out;
}

static void read_again(const char *text)
{
	char path[64], *argv[] = {"brazed", "-f", path, NULL}, *again;
	int fd = file_of(text, strlen(text), path);
	struct config c;
	struct err err = {0};
	enum status st = config_load(&c, 3, argv, &err);

	if (st)
		fprintf(stderr, "%s\n%s", err.text, text);
	FUZZ_CHECK(!st);
	again = printed(&c);
	if (strcmp(text, again))
		fprintf(stderr, "%s--\n%s", text, again);
	FUZZ_CHECK(!strcmp(text, again));
	free(again);
	config_finish(&c);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, 0, size);
	size_t n = end ? (size_t)(end - data) : size;
	char option[256] = "", path[64];
	char *argv[] = {"brazed", "-f", path, "-o", option, NULL};
	struct config c;
	struct err err = {0};
	int fd;

	clearenv();
	if (end && size - n > 1)
		snprintf(option, sizeof option, "%.*s", (int)(size - n - 1), (const char *)end + 1);
	fd = file_of(data, n, path);
	if (config_load(&c, *option ? 5 : 3, argv, &err)) {
		FUZZ_CHECK(err.code && *err.text);
	} else {
		char *text = printed(&c);

		read_again(text);
		free(text);
	}
	config_finish(&c);
	close(fd);
	return 0;
}
