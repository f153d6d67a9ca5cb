/* SPDX-License-Identifier: Apache-2.0 */
/* emit/text.c - a growing string. */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
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
