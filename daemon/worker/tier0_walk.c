/* SPDX-License-Identifier: Apache-2.0 */
/* worker/tier0_walk.c - rows, strides and odometers for the interpreter.
 *
 * In:  loops with byte strides.  Out: packed registers, whatever the layout; the
 * element order is always the C order of the loops. */
#include "tier0_walk.h"

#include <string.h>

static bool can_join(const struct tier0_walk *w, const struct nest *spec, const struct bz_args *a,
		     int l, uint32_t indexed)
{
	int prev = w->n - 1;

	if (prev < 0 || (indexed & (1u << l)) ||
	    (w->loop[prev] >= 0 && (indexed & (1u << w->loop[prev]))))
		return false;
	for (int x = 0; x < spec->naccess; x++)
		if (w->step[x][prev] != a->stride[x * LIMIT_NDIM + l] * a->extent[l])
			return false;
	return true;
}

void tier0_walk_init(struct tier0_walk *w, const struct nest *spec, const struct bz_args *a,
		     int from, int to, uint32_t indexed)
{
	w->n = 0;
	for (int l = from; l < to; l++) {
		int at = w->n;

		if (a->extent[l] == 1 && !(indexed & (1u << l)))
			continue;
		if (can_join(w, spec, a, l, indexed)) {
			at--;
			w->extent[at] *= a->extent[l];
			w->loop[at] = -1;
		} else {
			w->extent[at] = a->extent[l];
			w->loop[at] = (int8_t)l;
			w->n++;
		}
		for (int x = 0; x < spec->naccess; x++)
			w->step[x][at] = a->stride[x * LIMIT_NDIM + l];
	}
	if (!w->n) {
		w->n = 1;
		w->extent[0] = 1;
		w->loop[0] = -1;
		for (int x = 0; x < spec->naccess; x++)
			w->step[x][0] = 0;
	}
}

void tier0_walk_seek(const struct tier0_walk *w, int64_t p, int64_t index[LIMIT_NDIM])
{
	for (int l = w->n - 1; l > 0; l--) {
		index[l] = w->extent[l] ? p % w->extent[l] : 0;
		p = w->extent[l] ? p / w->extent[l] : 0;
	}
	index[0] = p;
}

int64_t tier0_walk_offset(const struct tier0_walk *w, int x, const int64_t index[LIMIT_NDIM])
{
	int64_t off = 0;

	for (int l = 0; l < w->n; l++)
		off += index[l] * w->step[x][l];
	return off;
}

/* From the end of a row to the start of the next. */
static void next_row(const struct tier0_walk *w, int64_t index[LIMIT_NDIM])
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

static void copy(char *dst, int64_t to, const char *src, int64_t from, int bytes, int64_t n)
{
	if (from == bytes && to == bytes) {
		memcpy(dst, src, (size_t)(n * bytes));
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

void tier0_walk_load(const struct tier0_walk *w, int x, const int64_t index[LIMIT_NDIM],
		     const char *base, int bytes, int64_t n, char *dst)
{
	int last = w->n - 1;
	int64_t at[LIMIT_NDIM];

	memcpy(at, index, sizeof at);
	while (n > 0) {
		int64_t row = w->extent[last] - at[last];
		int64_t take = row < n ? row : n;

		copy(dst, bytes, base + tier0_walk_offset(w, x, at), w->step[x][last], bytes, take);
		dst += take * bytes;
		n -= take;
		next_row(w, at);
	}
}

void tier0_walk_store(const struct tier0_walk *w, int x, const int64_t index[LIMIT_NDIM],
		      char *base, int bytes, int64_t n, const char *src)
{
	int last = w->n - 1;
	int64_t at[LIMIT_NDIM];

	memcpy(at, index, sizeof at);
	while (n > 0) {
		int64_t row = w->extent[last] - at[last];
		int64_t take = row < n ? row : n;

		copy(base + tier0_walk_offset(w, x, at), w->step[x][last], src, bytes, bytes, take);
		src += take * bytes;
		n -= take;
		next_row(w, at);
	}
}

/* n elements of T, `from` bytes and place[i] steps of `by` bytes after the last. */
#define GATHER(T)                                                                                  \
	do {                                                                                       \
		typedef struct {                                                                   \
			T v;                                                                       \
		} __attribute__((packed, may_alias)) elem;                                         \
		for (int64_t i = 0; i < n; i++)                                                    \
			((elem *)dst)[i] =                                                         \
				*(const elem *)(src + i * from + limit(place[i], last) * by);      \
	} while (0)

static int64_t limit(int64_t place, int64_t last)
{
	return place < 0 ? 0 : place < last ? place : last;
}

static void pick(char *dst, const char *src, int64_t from, const int64_t *place, int64_t last,
		 int64_t by, int bytes, int64_t n)
{
	switch (bytes) {
	case 1:
		GATHER(uint8_t);
		break;
	case 2:
		GATHER(uint16_t);
		break;
	case 4:
		GATHER(uint32_t);
		break;
	case 8:
		GATHER(uint64_t);
		break;
	default:
		GATHER(pair);
	}
}

void tier0_walk_gather(const struct tier0_walk *w, int x, const int64_t index[LIMIT_NDIM],
		       const char *base, int bytes, int64_t n, char *dst, const int64_t *place,
		       int64_t extent, int64_t stride)
{
	int last = w->n - 1;
	int64_t at[LIMIT_NDIM];

	memcpy(at, index, sizeof at);
	while (n > 0) {
		int64_t row = w->extent[last] - at[last];
		int64_t take = row < n ? row : n;

		pick(dst, base + tier0_walk_offset(w, x, at), w->step[x][last], place, extent - 1,
		     stride, bytes, take);
		dst += take * bytes;
		place += take;
		n -= take;
		next_row(w, at);
	}
}

void tier0_walk_index(const struct tier0_walk *w, int loop, const int64_t index[LIMIT_NDIM],
		      int64_t n, int64_t *dst)
{
	int last = w->n - 1, which = 0;
	int64_t at[LIMIT_NDIM];

	while (which < last && w->loop[which] != loop)
		which++;
	memcpy(at, index, sizeof at);
	while (n > 0) {
		int64_t row = w->extent[last] - at[last];
		int64_t take = row < n ? row : n;
		int64_t step = which == last;

		for (int64_t i = 0; i < take; i++)
			dst[i] = at[which] + i * step;
		dst += take;
		n -= take;
		next_row(w, at);
	}
}
