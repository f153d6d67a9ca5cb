/* SPDX-License-Identifier: Apache-2.0 */
/* emit/text.c - a growing string. */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

static void reserve(struct text *t, size_t more)
{
	if (t->n + more + 1 <= t->room)
		return;
	t->room = 2 * (t->n + more) + 1024;
	t->s = xrealloc(t->s, t->room, 1);
}

void text_add(struct text *t, const char *s)
{
	size_t n = strlen(s);

	reserve(t, n);
	memcpy(t->s + t->n, s, n + 1);
	t->n += n;
}

void text_put(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	reserve(t, 256);
	va_start(ap, fmt);
	n = vsnprintf(t->s + t->n, t->room - t->n, fmt, ap);
	va_end(ap);
	if ((size_t)n >= t->room - t->n) {
		reserve(t, (size_t)n);
		va_start(ap, fmt);
		vsnprintf(t->s + t->n, t->room - t->n, fmt, ap);
		va_end(ap);
	}
	t->n += (size_t)n;
}

void text_indented(struct text *t, const char *lines)
{
	static const char tabs[] = "\t\t\t\t\t\t\t\t\t\t\t\t";
	int open = 0;

	while (*lines) {
		size_t n = strcspn(lines, "\n");
		int depth = open - (*lines == '}');

		for (size_t i = 0; i < n; i++)
			open += (lines[i] == '{') - (lines[i] == '}');
		depth = depth < 0 || !n || *lines == '#' ? 0 : depth;
		depth = depth > (int)sizeof tabs - 1 ? (int)sizeof tabs - 1 : depth;
		reserve(t, n + (size_t)depth + 1);
		memcpy(t->s + t->n, tabs, (size_t)depth);
		memcpy(t->s + t->n + depth, lines, n);
		t->n += (size_t)depth + n;
		t->s[t->n++] = '\n';
		t->s[t->n] = 0;
		lines += n + (lines[n] == '\n');
	}
}

void text_insert(struct text *t, size_t at, const char *s)
{
	char *behind = xstrdup(t->s + at);

	t->n = at;
	t->s[at] = 0;
	text_add(t, s);
	text_add(t, behind);
	free(behind);
}
