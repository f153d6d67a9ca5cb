/* SPDX-License-Identifier: Apache-2.0 */
/* loops/walk.c - rows, strides and odometers.
 *
 * In:  loops with byte strides.  Out: packed registers, whatever the layout; the
 * element order is always the C order of the loops. */
#include "walk.h"

#include <string.h>

#include "copy_bytes.h"

void walk_seek(const struct walk *w, int64_t p, int64_t index[LIMIT_NDIM])
{
	for (int l = w->n - 1; l > 0; l--) {
		index[l] = w->extent[l] ? p % w->extent[l] : 0;
		p = w->extent[l] ? p / w->extent[l] : 0;
	}
	index[0] = p;
}

int64_t walk_offset(const struct walk *w, const int64_t *step, const int64_t *index)
{
	int64_t offset = 0;

	for (int l = 0; l < w->n; l++)
		offset += index[l] * step[l];
	return offset;
}

int64_t walk_row(const struct walk *w, const int64_t *index, int64_t n)
{
	int64_t left = w->extent[w->n - 1] - index[w->n - 1];

	return left < n ? left : n;
}

void walk_next_row(const struct walk *w, int64_t *index)
{
	index[w->n - 1] = 0;
	for (int l = w->n - 2; l >= 0; l--) {
		if (++index[l] < w->extent[l] || l == 0)
			return;
		index[l] = 0;
	}
}

/* n elements of T, each `from` and `to` bytes after the last. */
#define COPY(T)                                                                                    \
	do {                                                                                       \
		typedef struct {                                                                   \
			T v;                                                                       \
		} __attribute__((packed, may_alias)) elem;                                         \
		for (int64_t i = 0; i < n; i++)                                                    \
			*(elem *)(dst + i * to) = *(const elem *)(src + i * from);                 \
	} while (0)
typedef struct {
	uint64_t part[2];
} pair;

static void copy(char *dst, int64_t to, const char *src, int64_t from, unsigned bytes, int64_t n)
{
	if (from == bytes && to == bytes) {
		copy_bytes(dst, src, (size_t)n * bytes);
		return;
	}
	if (!from && to == bytes) {
		walk_fill(dst, src, bytes, n);
		return;
	}
	switch (bytes) {
	case 1:
		COPY(uint8_t);
		break;
	case 2:
		COPY(uint16_t);
		break;
	case 4:
		COPY(uint32_t);
		break;
	case 8:
		COPY(uint64_t);
		break;
	default:
		COPY(pair);
	}
}

void walk_load(const struct walk *w, const int64_t *step, const int64_t *index, const char *base,
	       unsigned bytes, int64_t n, char *dst)
{
	int64_t at[LIMIT_NDIM];

	if (walk_row(w, index, n) >= n) {
		copy(dst, bytes, base + walk_offset(w, step, index), step[w->n - 1], bytes, n);
		return;
	}
	memcpy(at, index, sizeof at);
	for (int64_t take; n > 0; n -= take) {
		take = walk_row(w, at, n);
		copy(dst, bytes, base + walk_offset(w, step, at), step[w->n - 1], bytes, take);
		dst += take * bytes;
		walk_next_row(w, at);
	}
}

void walk_store(const struct walk *w, const int64_t *step, const int64_t *index, char *base,
		unsigned bytes, int64_t n, const char *src)
{
	int64_t at[LIMIT_NDIM];

	memcpy(at, index, sizeof at);
	for (int64_t take; n > 0; n -= take) {
		take = walk_row(w, at, n);
		copy(base + walk_offset(w, step, at), step[w->n - 1], src, bytes, bytes, take);
		src += take * bytes;
		walk_next_row(w, at);
	}
}

/* Of the two innermost loops: rows of n elements, and the bytes from row to row, element to
 * element. */
struct plane {
	int64_t rows, n, to_row, from_row, to, from;
};

/* One element of T n times, each `to` bytes after the last; side by side by whole vectors. */
#define REPEAT(T)                                                                                  \
	do {                                                                                       \
		T one = *(const T *)src;                                                           \
		char *at = dst;                                                                    \
		int64_t i = 0;                                                                     \
		if (p->to == (int64_t)sizeof(T))                                                   \
			for (; i < p->n; i++)                                                      \
				((T *)at)[i] = one;                                                \
		for (; i + 4 <= p->n; i += 4, at += 4 * p->to) {                                   \
			*(T *)at = one;                                                            \
			*(T *)(at + p->to) = one;                                                  \
			*(T *)(at + 2 * p->to) = one;                                              \
			*(T *)(at + 3 * p->to) = one;                                              \
		}                                                                                  \
		for (; i < p->n; i++, at += p->to)                                                 \
			*(T *)at = one;                                                            \
	} while (0)

#define PLANE(T)                                                                                   \
	do {                                                                                       \
		typedef struct {                                                                   \
			T v;                                                                       \
		} __attribute__((packed, may_alias)) elem;                                         \
		for (int64_t r = 0; r < p->rows; r++, dst += p->to_row, src += p->from_row) {      \
			if (!p->from) {                                                            \
				REPEAT(elem);                                                      \
				continue;                                                          \
			}                                                                          \
			for (int64_t i = 0; i < p->n; i++)                                         \
				*(elem *)(dst + i * p->to) = *(const elem *)(src + i * p->from);   \
		}                                                                                  \
	} while (0)

static void copy_plane(const struct plane *p, const char *src, char *dst, unsigned bytes)
{
	if (p->from == bytes && p->to == bytes) {
		for (int64_t r = 0; r < p->rows; r++)
			memmove(dst + r * p->to_row, src + r * p->from_row, (size_t)p->n * bytes);
		return;
	}
	switch (bytes) {
	case 1:
		PLANE(uint8_t);
		break;
	case 2:
		PLANE(uint16_t);
		break;
	case 4:
		PLANE(uint32_t);
		break;
	case 8:
		PLANE(uint64_t);
		break;
	default:
		PLANE(pair);
	}
}

void walk_copy(const struct walk *w, const int64_t *from, const int64_t *to, const char *src,
	       char *dst, unsigned bytes)
{
	int last = w->n - 1, outer = last - 1;
	struct plane p = {.rows = 1, .n = w->extent[last], .to = to[last], .from = from[last]};
	int64_t at[LIMIT_NDIM] = {0}, planes = 1;

	if (outer >= 0) {
		p.rows = w->extent[outer];
		p.to_row = to[outer];
		p.from_row = from[outer];
	}
	for (int l = 0; l < outer; l++)
		planes *= w->extent[l];
	for (int64_t k = 0; k < planes; k++) {
		copy_plane(&p, src + walk_offset(w, from, at), dst + walk_offset(w, to, at), bytes);
		for (int l = outer - 1; l >= 0 && ++at[l] == w->extent[l]; l--)
			at[l] = 0;
	}
}

/* n elements of T at dst, all like the one at element. */
#define FILL(T)                                                                                    \
	do {                                                                                       \
		typedef struct {                                                                   \
			T v;                                                                       \
		} __attribute__((packed, may_alias)) elem;                                         \
		elem value = *(const elem *)element, *to = (elem *)dst;                            \
		for (int64_t i = 0; i < n; i++)                                                    \
			to[i] = value;                                                             \
	} while (0)

void walk_fill(char *dst, const void *element, unsigned bytes, int64_t n)
{
	switch (bytes) {
	case 1:
		memset(dst, *(const unsigned char *)element, (size_t)n);
		break;
	case 2:
		FILL(uint16_t);
		break;
	case 4:
		FILL(uint32_t);
		break;
	case 8:
		FILL(uint64_t);
		break;
	default:
		FILL(pair);
	}
}
