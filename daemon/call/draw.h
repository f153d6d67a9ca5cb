/* SPDX-License-Identifier: Apache-2.0 */
/* call/draw.h - random numbers as a library step: how they are cut and described.
 *
 * The call's first loop goes through the result's elements, the second one through the words of the
 * state; operands: the state, the result.  A unit is DRAW_UNIT elements: what an element is follows
 * from its place (kernels/loops/draw.h), so nothing passes from one unit to the next. */
#ifndef BRAZE_DRAW_H
#define BRAZE_DRAW_H

#include "call.h"
#include "loops/draw.h"

#define DRAW_UNIT 8192 /* a multiple of DRAW_GROUP */

#endif
