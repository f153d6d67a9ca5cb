/* SPDX-License-Identifier: Apache-2.0 */
/* call/sort.h - sorting as a library step: how it is cut and described.
 *
 * The call's last loop is the axis that is sorted, the others count lanes; operands: what is read,
 * the result (elements, or places as int64), and scratch memory, bytes in a row without an order
 * that is anybody else's, some for each step of the last loop.  Units are those of
 * kernels/loops/sort.h; a slice finds in the scratch memory what those before it left. */
#ifndef BRAZE_SORT_H
#define BRAZE_SORT_H

#include "along.h"
#include "loops/sort.h"

/* The lanes of a call that was checked, with no loops and addresses yet. */
void sort_of(struct sort_call *out, struct sort_cut *cut, const struct plan_call *c);
/* Give a call its scratch operand's layout; bytes of it. */
uint64_t sort_add_scratch(struct plan_call *c);

#endif
