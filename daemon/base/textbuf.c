/* SPDX-License-Identifier: Apache-2.0 */
#include "textbuf.h"

#include <stdarg.h>
#include <stdio.h>

/* Append formatted text; what does not fit is counted only. */
void textbuf_put(struct textbuf *t, const char *fmt, ...)
{
	size_t room = t->len < t->cap ? t->cap - t->len : 0;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(room ? t->buf + t->len : NULL, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->len += (size_t)n;
}
