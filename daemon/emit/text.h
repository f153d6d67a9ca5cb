/* SPDX-License-Identifier: Apache-2.0 */
/* emit/text.h - a growing string. */
#ifndef BRAZE_TEXT_H
#define BRAZE_TEXT_H

#include <stddef.h>

struct text {
	char *s; /* 0-terminated; NULL while empty */
	size_t n, room;
};

void text_put(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_add(struct text *t, const char *s);
/* At a place before the end; all behind it moves. */
void text_insert(struct text *t, size_t at, const char *s);
/* Lines of C, each behind as many tabs as braces are open. */
void text_indented(struct text *t, const char *lines);

#endif
