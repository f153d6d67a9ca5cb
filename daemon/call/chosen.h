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

/* As struct call_row has them. */
enum status chosen_check(const struct plan_call *c, struct err *err) MUST_USE;
uint64_t chosen_work(const struct plan_call *c);
double chosen_us(const struct plan_call *c);
void chosen_units(struct call_units *out, const struct plan_call *c, bool device);
void chosen_name(struct textbuf *t, const struct plan_call *c);
void chosen_print(struct textbuf *t, const struct plan_call *c);

#endif
