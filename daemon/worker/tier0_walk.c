/* SPDX-License-Identifier: Apache-2.0 */
/* worker/tier0_walk.c - the loops of a nest joined; gathers and indices along them. */
#include "tier0_walk.h"

#include <string.h>

static bool can_join(const struct tier0_walk *w, const struct nest *spec, const struct bz_args *a,
		     int l, uint32_t indexed)
{
	int prev = w->loops.n - 1;

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
	w->loops.n = 0;
	for (int l = from; l < to; l++) {
		int at = w->loops.n;

		if (a->extent[l] == 1 && !(indexed & (1u << l)))
			continue;
		if (can_join(w, spec, a, l, indexed)) {
			at--;
			w->loops.extent[at] *= a->extent[l];
			w->loop[at] = -1;
		} else {
			w->loops.extent[at] = a->extent[l];
			w->loop[at] = (int8_t)l;
			w->loops.n++;
		}
		for (int x = 0; x < spec->naccess; x++)
			w->step[x][at] = a->stride[x * LIMIT_NDIM + l];
	}
	if (!w->loops.n) {
		w->loops.n = 1;
		w->loops.extent[0] = 1;
		w->loop[0] = -1;
		for (int x = 0; x < spec->naccess; x++)
			w->step[x][0] = 0;
	}
}

typedef struct {
	uint64_t part[2];
} pair;

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
	int last = w->loops.n - 1;
	int64_t at[LIMIT_NDIM];

	memcpy(at, index, sizeof at);
	for (int64_t take; n > 0; n -= take) {
		take = walk_row(&w->loops, at, n);
		pick(dst, base + walk_offset(&w->loops, w->step[x], at), w->step[x][last], place,
		     extent - 1, stride, bytes, take);
		dst += take * bytes;
		place += take;
		walk_next_row(&w->loops, at);
	}
}

void tier0_walk_index(const struct tier0_walk *w, int loop, const int64_t index[LIMIT_NDIM],
		      int64_t n, int64_t *dst)
{
	int last = w->loops.n - 1, which = 0;
	int64_t at[LIMIT_NDIM];

	while (which < last && w->loop[which] != loop)
		which++;
	memcpy(at, index, sizeof at);
	for (int64_t take; n > 0; n -= take) {
		int64_t step = which == last;

		take = walk_row(&w->loops, at, n);
		for (int64_t i = 0; i < take; i++)
			dst[i] = at[which] + i * step;
		dst += take;
		walk_next_row(&w->loops, at);
	}
}
