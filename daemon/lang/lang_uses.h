/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_uses.h - which registers an instruction reads and writes, and of which types.
 *
 * CODE_NEXT is told by neither: it counts in the four registers that CODE_RANGE makes. */
#ifndef BRAZE_LANG_USES_H
#define BRAZE_LANG_USES_H

#include "lang.h"

/* The k-th register that it reads and its type (DTYPE_END: an address); false: it reads no more.
 * The address of CODE_LOAD and CODE_STORE is not among them. */
bool lang_uses(uint32_t *reg, unsigned *type, const struct lang_ins *i, unsigned k);
/* The k-th that it writes. */
bool lang_makes(uint32_t *reg, unsigned *type, const struct lang_ins *i, unsigned k);
/* Is it one of those that slices and reductions are made of? */
bool lang_on_slices(const struct lang_ins *i);
/* Does it go, perhaps, to instruction d of the same function? */
bool lang_jumps(const struct lang_ins *i);

#endif
