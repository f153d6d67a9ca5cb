/* SPDX-License-Identifier: Apache-2.0 */
#include "moments.h"

#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

static const uint8_t lane_of[] = {
#define MOMENT(id, lane, name, number, text) LANE_##lane,
#include "moments.def"
#undef MOMENT
};

static struct {
	struct moment *ring;
	uint64_t n;
	uint64_t last[LANE_SESSION][MOMENT_PLACES]; /* when the lane's last one ended */
} kept;

void moments_open(void)
{
	if (!kept.ring)
		kept.ring = xcalloc(MOMENTS_KEPT, sizeof *kept.ring);
}

void moments_close(void)
{
	free(kept.ring);
	memset(&kept, 0, sizeof kept);
}

void moments_add(struct moment m)
{
	if (!kept.ring)
		return;
	m.place %= MOMENT_PLACES;
	/* A session's are measured as they happen, inside each other. */
	if (lane_of[m.kind] < LANE_SESSION) {
		uint64_t *last = &kept.last[lane_of[m.kind]][m.place];

		if (m.ended < *last)
			m.ended = *last;
		if (m.began < *last)
			m.began = *last;
		*last = m.ended;
	}
	kept.ring[kept.n++ % MOMENTS_KEPT] = m;
}

struct moments *moments_copy(void)
{
	uint64_t n = kept.n < MOMENTS_KEPT ? kept.n : MOMENTS_KEPT, from = kept.n - n;
	struct moments *copy;

	if (!kept.ring)
		return NULL;
	copy = xmalloc(sizeof *copy + n * sizeof copy->of[0]);
	copy->n = (uint32_t)n;
	for (uint64_t i = 0; i < n; i++)
		copy->of[i] = kept.ring[(from + i) % MOMENTS_KEPT];
	return copy;
}
