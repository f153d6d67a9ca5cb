/* SPDX-License-Identifier: Apache-2.0 */
/* base/xalloc.h - allocation for the daemon's own bookkeeping: never NULL.
 *
 * For small, bounded amounts only.  Sizes that a client chose are checked and
 * counted against its quota first. */
#ifndef BRAZE_XALLOC_H
#define BRAZE_XALLOC_H

#include <stddef.h>

void *xmalloc(size_t n);
void *xcalloc(size_t n, size_t size); /* overflow of the product is fatal too */
void *xrealloc(void *p, size_t n, size_t size);
char *xstrdup(const char *s);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
