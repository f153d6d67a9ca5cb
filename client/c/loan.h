/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/loan.h - blocks of memory that a binding has given (braze_fast.h). */
#ifndef BRAZE_LOAN_H
#define BRAZE_LOAN_H

#include "client.h"

struct near_block;

/* Nobody needs it any more. */
void loan_drop_given(struct near_block *block);
/* b's given block, which others have, too, is about to be written: b gets another.  False:
 * no memory. */
bool loan_copy_given(struct buffer *b) MUST_USE;

#endif
