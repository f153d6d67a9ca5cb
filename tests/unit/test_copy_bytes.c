/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "loops/copy_bytes.h"

#define ROOM  (8 * COPY_PAGE)
#define APART COPY_PAGE /* so far from the ends */

static unsigned char *from, *to;

static void make(void)
{
	from = aligned_alloc(COPY_PAGE, ROOM);
	to = aligned_alloc(COPY_PAGE, ROOM);
	cr_assert(from && to);
	for (size_t i = 0; i < ROOM; i++)
		from[i] = (unsigned char)(i * 7 + i / 251);
}

static void drop(void)
{
	free(from);
	free(to);
}

TestSuite(copy_bytes, .init = make, .fini = drop);

static void check(size_t at, size_t source, size_t n)
{
	for (size_t i = 0; i < ROOM; i++) {
		bool inside = i >= at && i < at + n;

		cr_assert_eq(to[i], inside ? from[source + i - at] : 0xee,
			     "%zu bytes from %zu to %zu: byte %zu", n, source, at, i);
	}
}

Test(copy_bytes, copies_those_bytes_wherever_the_two_lie)
{
	static const size_t lengths[] = {
		0, 1, 63, 64, 1023, COPY_LEAST, COPY_LEAST + 1, 1100, 2048, COPY_PAGE, 5000};
	static const int behind[] = {-64, -8, -1, 0, 1, 3, 8, 15, 16, 17, 63, 64, 100};

	for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
		for (size_t b = 0; b < sizeof(behind) / sizeof(behind[0]); b++)
			for (size_t source = APART; source < APART + 70; source += 23) {
				size_t at = (size_t)((int)source + behind[b]);

				memset(to, 0xee, ROOM);
				copy_bytes(to + at, from + source, lengths[l]);
				check(at, source, lengths[l]);
			}
}

Test(copy_bytes, lines_go_past_the_caches_or_through_them)
{
	for (int past = 0; past < 2; past++)
		for (size_t at = APART; at < APART + 64; at += 13) {
			memset(to, 0xee, ROOM);
			copy_lines((char *)to + at, (const char *)from + APART + 5, 4000, past);
			check(at, APART + 5, 4000);
		}
}

Test(copy_bytes, past_the_caches_in_several_streams)
{
	static const size_t lengths[] = {
		COPY_STREAMS * COPY_LINE, COPY_STREAMS * COPY_LINE + 1,	 1023, 4000,
		COPY_STREAMS * COPY_PAGE, COPY_STREAMS * COPY_PAGE + 255};

	for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
		for (size_t at = APART; at < APART + 64; at += 9) {
			memset(to, 0xee, ROOM);
			copy_streams((char *)to + at, (const char *)from + APART + 5, lengths[l]);
			check(at, APART + 5, lengths[l]);
		}
}

Test(copy_bytes, past_the_caches_whatever_the_length)
{
	static const size_t lengths[] = {0,
					 1,
					 8,
					 63,
					 64,
					 65,
					 COPY_LEAST,
					 COPY_STREAMS * COPY_PAGE - 1,
					 COPY_STREAMS * COPY_PAGE,
					 COPY_STREAMS * COPY_PAGE + 255};

	for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
		for (size_t at = APART; at < APART + 64; at += 9) {
			memset(to, 0xee, ROOM);
			copy_past((char *)to + at, (const char *)from + APART + 5, lengths[l]);
			check(at, APART + 5, lengths[l]);
		}
}
