/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz.h - what the fuzz targets share: input taken a number at a time.
 *
 * A target that builds structures reads them from the input with fuzz_draw, so
 * that a mutated byte changes one decision and not the meaning of all that
 * follow.  An exhausted input gives zeros. */
#ifndef BRAZE_FUZZ_H
#define BRAZE_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a finding looks like that no sanitizer sees. */
#define FUZZ_CHECK(condition)                                                                      \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

static inline uint8_t fuzz_byte(struct fuzz_input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

/* 0 .. n - 1, from one byte. */
static inline unsigned fuzz_below(struct fuzz_input *in, unsigned n)
{
	return fuzz_byte(in) % n;
}

static inline uint64_t fuzz_word(struct fuzz_input *in)
{
	uint64_t v = 0;

	for (int i = 0; i < 8; i++)
		v = v << 8 | fuzz_byte(in);
	return v;
}

/* Mostly small, now and then anything, often a number that overflows something. */
static inline int64_t fuzz_number(struct fuzz_input *in)
{
	static const int64_t edge[] = {INT64_MAX, INT64_MIN,	   1ll << 62, -(1ll << 62),
				       1ll << 44, (1ll << 44) + 1, 1ll << 32, 1ll << 31};
	uint8_t kind = fuzz_byte(in);

	if (kind < 200)
		return (int8_t)fuzz_byte(in);
	if (kind < 220)
		return (int64_t)fuzz_byte(in) * 8;
	if (kind < 240)
		return edge[kind % 8];
	return (int64_t)fuzz_word(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
