/* SPDX-License-Identifier: Apache-2.0 */
/* call/chosen.h - a reduction of what a mask chooses, without storing it.
 *
 * The chosen elements, in their order, are reduced by the tree of kernels/tree.h: so the result is
 * that of the compacted array, to the bit, and nobody has to know how many they are.  A unit is a
 * chunk of the tree, of as many as there were if all were chosen; where a chunk begins the ranks
 * tell.
 *
 *   loops: the mask, its blocks; operands: source, mask, ranks, result */
#ifndef BRAZE_CHOSEN_H
#define BRAZE_CHOSEN_H

#include "call.h"
#include "loops/compact.h"

enum { CHOSEN_SOURCE, CHOSEN_MASK, CHOSEN_RANKS, CHOSEN_RESULT };
enum { CHOSEN_LOOP_MASK, CHOSEN_LOOP_BLOCKS, CHOSEN_LOOPS };

/* Of a call that was checked: the mask, and its ranks, of which `count` is not known; no addresses.
 */
void chosen_of(struct compact_mask *mask, struct compact_ranks *ranks, const struct plan_call *c);
/* The reduction of an operation computed in type `of`, and the type in which its tree is. */
unsigned chosen_tree(unsigned *dtype, unsigned op, unsigned of);

#endif
