/* SPDX-License-Identifier: Apache-2.0 */
/* golden/golden_nest.c - compare golden files with what the passes make.
 *
 * A file holds a partition (part_text.h), a line "----", then the nests after
 * each pass and the plan.  --update rewrites the second half. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nest/compilepart.h"
#include "part_text.h"

#define MARK "----\n"

static void add_pass(void *data, const char *pass, const char *text)
{
	FILE *f = data;

	fprintf(f, "== %s\n%s", pass, text);
}

static char *slurp(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t n;

	if (!f)
		return NULL;
	text = xcalloc(1, 1u << 20);
	n = fread(text, 1, (1u << 20) - 1, f);
	text[n] = 0;
	fclose(f);
	return text;
}

/* What the passes make of the partition, or the error they give. */
static char *run(const char *input)
{
	struct part part = part_text_read(input);
	struct plan *plan = NULL;
	struct err err = {0};
	char *out = NULL, *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&out, &n);

	if (compilepart_run(&plan, &part, NULL, add_pass, f, &err)) {
		fprintf(f, "error %s: %s\n", status_name(err.code), err.text);
	} else {
		size_t len = plan_print(NULL, 0, plan);

		text = xmalloc(len + 1);
		plan_print(text, len + 1, plan);
		fprintf(f, "== plan\n%s", text);
	}
	fclose(f);
	free(text);
	plan_free(plan);
	part_text_free(&part);
	return out;
}

static int check(const char *path, int update)
{
	char *text = slurp(path), *mark = NULL, *made = NULL;
	int bad = 1;

	if (!text) {
		fprintf(stderr, "%s: cannot be read\n", path);
		return 1;
	}
	mark = strstr(text, MARK);
	if (mark)
		*mark = 0;
	made = run(text);
	if (update) {
		FILE *f = fopen(path, "w");

		bad = !f || fprintf(f, "%s%s%s", text, MARK, made) < 0;
		bad |= !f || fclose(f);
	} else if (mark && !strcmp(mark + strlen(MARK), made)) {
		bad = 0;
	} else {
		fprintf(stderr, "%s differs; now made:\n%s", path, made);
	}
	free(made);
	free(text);
	return bad;
}

int main(int argc, char **argv)
{
	int update = argc > 1 && !strcmp(argv[1], "--update");
	int bad = 0;

	for (int k = 1 + update; k < argc; k++)
		bad |= check(argv[k], update);
	return bad;
}
