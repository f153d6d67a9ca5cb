/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/careful.h - the second look at a recorded op, where session.careful asks for
 * one: watches (watch.h), BRAZE_EAGER, BRAZE_UNFUSED. */
#ifndef BRAZE_CAREFUL_H
#define BRAZE_CAREFUL_H

#include "recorded.h"

/* Give *out its watches; wait for it when the session is eager, demand it when every op
 * is to be a kernel of its own.  On failure it is released and *out becomes NULL. */
int careful_recorded(struct braze_array **out, const struct recorded *r, struct err *err);
/* The same after dst[...] = src. */
int careful_assigned(struct braze_array *dst, const braze_arg *src, struct err *err);

#endif
