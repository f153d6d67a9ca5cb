/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_lang.h - a kernel's text as C. */
#ifndef BRAZE_EMIT_LANG_H
#define BRAZE_EMIT_LANG_H

#include <stddef.h>

#include "ops.h"

/* Changes whenever the text generated of a kernel's may. */
#define EMIT_LANG_GENERATION 40

const char *emit_lang_prologue(void);
/* The whole source, malloc'ed.  Errors are those of the text. */
enum status emit_lang_source(char **out, const char *text, size_t bytes, struct err *err) MUST_USE;

#endif
