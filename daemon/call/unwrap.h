/* SPDX-License-Identifier: Apache-2.0 */
/* call/unwrap.h - unwrapping of angles as a library step: how it is cut and described.
 *
 * The call's last loop is the axis that is gone along, the others count lanes; operands: what is
 * read, the result.  A unit is a block of a lane.  A lane's turns are added up in its order, as
 * NumPy does, so of a lane that a slice leaves unfinished the worker keeps what they come to. */
#ifndef BRAZE_UNWRAP_H
#define BRAZE_UNWRAP_H

#include "along.h"

#define UNWRAP_BLOCK 16384 /* elements */

/* Blocks of each lane of a call that was checked. */
int64_t unwrap_blocks(const struct plan_call *c);

#endif
