/* SPDX-License-Identifier: Apache-2.0 */
/* proto/present.h - code whose constants are in memory before it runs.
 *
 * Vector code reads constants by masked loads.  Of a page that no page table names yet, a
 * processor loads such a constant without a fault where the mask chooses no lane, by a slow
 * way of its own (250 ns on AMD's Zen 4); as there is no fault, the page stays away, and each
 * load takes that way again: a gather of 50 000 numbers took 12 ms in place of 0.05. */
#ifndef BRAZE_PRESENT_H
#define BRAZE_PRESENT_H

/* Read a byte of each page of the loaded object, program or library, that `address` is in.
 * Any thread. */
void present_object(const void *address);

#endif
