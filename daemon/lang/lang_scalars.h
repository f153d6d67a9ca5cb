/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_scalars.h - which scalars pass from one turn of a loop to the next. */
#ifndef BRAZE_LANG_SCALARS_H
#define BRAZE_LANG_SCALARS_H

#include "lang_loops.h"

/* Fills l->scalar and each loop's part of it.  foreign: registers that functions write. */
void lang_scalars(struct lang_loops *l, const bool *foreign);

#endif
