/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in the C that is made of a kernel's text. */
#ifndef BRAZE_TEST_LANG_WORDS_H
#define BRAZE_TEST_LANG_WORDS_H

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "emit/emit_lang.h"

/* How often bz_unit has the words. */
static inline unsigned count(const char *text, const char *words)
{
	char *source = NULL, *at, *end;
	struct err err = {0};
	unsigned n = 0;

	cr_assert(!emit_lang_source(&source, text, strlen(text), &err), "%s\n%s", err.text, text);
	at = strstr(source, "int bz_unit(");
	cr_assert(at);
	end = strstr(at, "int bz_any(");
	cr_assert(end);
	while ((at = strstr(at, words)) && at < end) {
		at += strlen(words);
		n++;
	}
	free(source);
	return n;
}

#endif
