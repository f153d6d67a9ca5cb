/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit.h - a canonical nest as source text.
 *
 * Pure.  Everything was decided before (loop order, vector width, walks): an
 * emitter only spells.  No text of a client's ever reaches the source. */
#ifndef BRAZE_EMIT_H
#define BRAZE_EMIT_H

#include "../nest/nest.h"

/* C for worker/kernel_abi.h; *out is malloc'ed.  The text is complete but for the
 * prologue (kernels/pre.h), which emit_c_prologue() gives. */
enum status emit_c(char **out, const struct nest *spec, struct err *err) MUST_USE;
const char *emit_c_prologue(void);
/* Changes whenever generated text or its meaning may: part of the cache's key. */
#define EMIT_GENERATION 4

#endif
