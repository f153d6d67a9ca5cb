/* SPDX-License-Identifier: Apache-2.0 */
/* loops/copy_bytes.h - memory to other memory, whatever lies where.
 *
 * memcpy's way with some KiB to 1 MiB is a string instruction, which on processors of today is slow
 * where the two do not lie alike: three to five times as long for a row that begins within a line,
 * fourteen times (a byte at a time) where the destination's place in its page is less than 16 bytes
 * behind the source's, as that of rows moved on by an element is. */
#ifndef BRAZE_COPY_BYTES_H
#define BRAZE_COPY_BYTES_H

#include <emmintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define COPY_LINE  64
#define COPY_LEAST 1024 /* bytes that memcpy itself copies by vectors */
#define COPY_PAGE  4096

/* Whole lines of the destination, the ends apart; n >= COPY_LINE.  Past: past the caches. */
static inline void copy_lines(char *restrict to, const char *restrict from, size_t n, bool past)
{
	size_t head = -(uintptr_t)to % COPY_LINE, lines = (n - head) / COPY_LINE;

	memcpy(to, from, head);
	to += head;
	from += head;
	for (size_t i = 0; i < lines; i++, to += COPY_LINE, from += COPY_LINE) {
		const __m128i *x = (const __m128i *)(const void *)from;
		__m128i a = _mm_loadu_si128(x), b = _mm_loadu_si128(x + 1);
		__m128i c = _mm_loadu_si128(x + 2), d = _mm_loadu_si128(x + 3);
		__m128i *y = (__m128i *)(void *)to;

		if (past) {
			_mm_stream_si128(y, a);
			_mm_stream_si128(y + 1, b);
			_mm_stream_si128(y + 2, c);
			_mm_stream_si128(y + 3, d);
		} else {
			_mm_store_si128(y, a);
			_mm_store_si128(y + 1, b);
			_mm_store_si128(y + 2, c);
			_mm_store_si128(y + 3, d);
		}
	}
	memcpy(to, from, n - head - lines * COPY_LINE);
}

/* memcpy, but where that is slowest. */
static inline void copy_bytes(void *restrict to, const void *restrict from, size_t n)
{
	if (n > COPY_LEAST && (((uintptr_t)to - (uintptr_t)from) & (COPY_PAGE - 1)) - 1 < 15)
		copy_lines((char *)to, (const char *)from, n, false);
	else
		memcpy(to, from, n);
}

#endif
