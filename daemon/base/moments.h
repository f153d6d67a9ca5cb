/* SPDX-License-Identifier: Apache-2.0 */
/* base/moments.h - the last moments of the daemon, from when to when, in a ring.
 *
 * A moment costs two looks at the clock and a store; the ring takes 40 bytes for each of the last
 * MOMENTS_KEPT, and nothing in a process that never opens it.  Loop thread only. */
#ifndef BRAZE_MOMENTS_H
#define BRAZE_MOMENTS_H

#include <stdint.h>

#define MOMENTS_KEPT  12288
#define MOMENT_PLACES 16 /* devices, or compile helpers */

enum moment_kind {
#define MOMENT(id, lane, name, number, text) MOMENT_##id,
#include "moments.def"
#undef MOMENT
	MOMENT_END
};

/* Where a moment stands in the picture.  Moments of one lane and place lie apart or inside each
 * other. */
enum moment_lane { LANE_LOOP, LANE_PLANNER, LANE_COMPILER, LANE_DEVICE, LANE_SESSION };

struct moment {
	uint64_t began, ended; /* ns of uv_hrtime, the monotonic clock */
	uint64_t flow;	       /* what a client waits for that this is part of; 0: nothing */
	uint32_t session, number;
	uint8_t kind;  /* enum moment_kind */
	uint8_t place; /* device or helper */
};

_Static_assert(sizeof(struct moment) == 40, "a small one");

struct moments {
	uint32_t n;
	struct moment of[]; /* as they ended */
};

void moments_open(void);
void moments_close(void);
/* What lies in the past by a measured length may not begin inside the one before it in its lane. */
void moments_add(struct moment m);
/* All that are kept, malloc'ed; NULL: it was not opened. */
struct moments *moments_copy(void);

/* The name of what a session's ticket waits for. */
static inline uint64_t moments_flow(uint64_t session, uint64_t ticket)
{
	return session << 32 | (uint32_t)(ticket + 1);
}

#endif
