/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/careful.h - the second look at a recorded op, where session.careful asks for
 * one: watches (watch.h), BRAZE_EAGER, BRAZE_UNFUSED. */
#ifndef BRAZE_CAREFUL_H
#define BRAZE_CAREFUL_H

#include "profile.h"
#include "recorded.h"

/* Give *out its watches; wait for it when the session is eager, demand it when every op
 * is to be a kernel of its own.  On failure it is released and *out becomes NULL. */
int careful_recorded(struct braze_array **out, const struct recorded *r, struct err *err);
/* The same after dst[...] = src. */
int careful_assigned(struct braze_array *dst, const braze_arg *src, struct err *err);

/* Is there more to do for what was recorded than a profile's count of it?  `over`: elements of its
 * largest operand, where that may have more than the result. */
static inline bool careful_asks(const struct braze_session *s, int st,
				const struct braze_array *made, int64_t over)
{
	return unlikely(s->careful) && !st && !profile_counts(made, over);
}

#endif
