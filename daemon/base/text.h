/* SPDX-License-Identifier: Apache-2.0 */
/* base/text.h - clients' words, which go to logs, pages and operators' terminals. */
#ifndef BRAZE_TEXT_H
#define BRAZE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies UTF-8 into `to`, of n bytes with the 0, whole characters only.  What steers a terminal or
 * a page becomes '?': controls, what turns or breaks lines invisibly, bytes that are no UTF-8. */
void text_clean(char *to, size_t n, const char *from);
/* The last characters of a text, as many as n bytes hold with the 0: the end of a path says more
 * than its beginning. */
const char *text_tail(const char *s, size_t n);
/* A whole number with an optional unit from `units`, each 1024 times the last ("KMGT"); nothing
 * else may stand in the text. */
bool text_number(uint64_t *out, const char *text, const char *units);

#endif
