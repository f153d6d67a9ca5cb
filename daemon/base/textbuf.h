/* SPDX-License-Identifier: Apache-2.0 */
/* base/textbuf.h - text into a buffer of fixed size, counted as snprintf does.
 *
 * Shared by the printers of the three forms.  len goes on counting when the
 * buffer is full, so that a caller can ask for the size first. */
#ifndef BRAZE_TEXTBUF_H
#define BRAZE_TEXTBUF_H

#include <stddef.h>

struct textbuf {
	char *buf;
	size_t cap; /* bytes of buf, with the 0 */
	size_t len; /* bytes of the whole text, without the 0 */
};

void textbuf_put(struct textbuf *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
