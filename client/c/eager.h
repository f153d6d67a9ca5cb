/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/eager.h - BRAZE_EAGER and BRAZE_UNFUSED, after an op was recorded. */
#ifndef BRAZE_EAGER_H
#define BRAZE_EAGER_H

#include "client.h"

/* Wait for *out when the session is eager; demand it when every op is to be a
 * kernel of its own.  On failure it is released and *out becomes NULL. */
int eager_recorded(struct braze_array **out, struct err *err);
/* The same after a write to dst. */
int eager_written(struct braze_array *dst, struct err *err);

#endif
