/* SPDX-License-Identifier: Apache-2.0 */
/* call/scan.h - running sums and the like as a library step: how it is cut and described.
 *
 * The call's last loop is the axis that runs, the others count lanes; operands: what is read, the
 * result.  A unit is a block of a tile of lanes (kernels/loops/scan.h), whose tiles and blocks
 * follow from the shape, so that a slice finds where the one before it ended in the result. */
#ifndef BRAZE_SCAN_H
#define BRAZE_SCAN_H

#include "along.h"
#include "loops/scan.h"

/* The lanes of a call that was checked, with no loops and addresses yet. */
void scan_of(struct scan_call *out, struct scan_cut *cut, const struct plan_call *c);

#endif
