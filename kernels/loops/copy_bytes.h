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

#include "isa.h"

#define COPY_LINE  64
#define COPY_LEAST 1024 /* bytes that memcpy itself copies by vectors */
#define COPY_PAGE  4096

#define COPY_STREAMS 4 /* what memory answers at once, past the caches */

static inline void copy_line(char *restrict to, const char *restrict from, bool past)
{
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

/* Whole lines of the destination, the ends apart; n >= COPY_LINE.  Past: past the caches. */
static inline void copy_lines(char *restrict to, const char *restrict from, size_t n, bool past)
{
	size_t head = -(uintptr_t)to % COPY_LINE, lines = (n - head) / COPY_LINE;

	memcpy(to, from, head);
	to += head;
	from += head;
	for (size_t i = 0; i < lines; i++, to += COPY_LINE, from += COPY_LINE)
		copy_line(to, from, past);
	memcpy(to, from, n - head - lines * COPY_LINE);
}

/* The same past the caches, a line of each part in turn; n >= COPY_STREAMS * COPY_LINE. */
static inline void copy_streams(char *restrict to, const char *restrict from, size_t n)
{
	size_t head = -(uintptr_t)to % COPY_LINE;
	size_t part = (n - head) / COPY_LINE / COPY_STREAMS * COPY_LINE;
	size_t done = head + COPY_STREAMS * part;

	memcpy(to, from, head);
	for (size_t at = head; at < head + part; at += COPY_LINE)
		for (size_t q = 0; q < COPY_STREAMS; q++)
			copy_line(to + q * part + at, from + q * part + at, true);
	if (n - done >= COPY_LINE)
		copy_lines(to + done, from + done, n - done, true);
	else
		memcpy(to + done, from + done, n - done);
}

/* Past the caches, but for the few bytes of a short one.  Memory answers several streams sooner
 * than one, but where the processor reads one ahead by itself.  Whoever shows the destination to
 * another thread has a fence (_mm_sfence) before it. */
static inline void copy_past(char *restrict to, const char *restrict from, size_t n)
{
	if (n < COPY_LEAST)
		memcpy(to, from, n);
	else if (n >= COPY_STREAMS * COPY_PAGE && !isa_reads_ahead())
		copy_streams(to, from, n);
	else
		copy_lines(to, from, n, true);
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
