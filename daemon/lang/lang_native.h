/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_native.h - what is known of a program by those who generate C of it (emit/emit_lang.c)
 * and by the machine that goes over to it. */
#ifndef BRAZE_LANG_NATIVE_H
#define BRAZE_LANG_NATIVE_H

#include <stdlib.h>

#include "lang.h"

/* Does generated code do this itself? */
bool lang_native_op(unsigned op, unsigned type);
/* By libmvec, so that its bits are those of the loops only where vectors have the same width. */
bool lang_native_vector(unsigned op, unsigned type);
bool lang_native_cast(unsigned from, unsigned to);
/* Code belongs to these instructions: it names them by their numbers (bz_mark).  A daemon and a
 * client of different versions may make others of one text. */
uint64_t lang_mark(const struct lang_program *p);
/* [instruction]: is it the end of a loop of the kernel that is in no other loop?  There the machine
 * can go over to generated code (bz_any of the frame's `at`).  malloc'ed; NULL: no memory. */
bool *lang_outermost(const struct lang_program *p);

#endif
