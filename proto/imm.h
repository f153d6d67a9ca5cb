/* SPDX-License-Identifier: Apache-2.0 */
/* proto/imm.h - numbers that travel with ops, as raw bits of their dtype. */
#ifndef BRAZE_IMM_H
#define BRAZE_IMM_H

#include "ops.h"

/* Words an immediate takes on the wire: 2 for complex types, else 1. */
unsigned imm_words(enum dtype d);
/* Convert bits between dtypes by C's rules (NumPy's casting="unsafe"); a float
 * that no integer holds gives the type's lowest value. */
void imm_cast(uint64_t out[2], enum dtype to, const uint64_t in[2], enum dtype from);

#endif
