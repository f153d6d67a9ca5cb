/* SPDX-License-Identifier: Apache-2.0 */
/* mutant.h - which mistake this process has: BRAZE_MUTANT, a row of mutants.def. */
#ifndef STANDIN_MUTANT_H
#define STANDIN_MUTANT_H

#include <stdlib.h>
#include <string.h>

enum mutant {
#define MUTANT(name, text) MUTANT_##name,
#include "mutants.def"
#undef MUTANT
	MUTANTS
};

static inline int is(enum mutant m)
{
	static const char *const name[] = {
#define MUTANT(name, text) #name,
#include "mutants.def"
#undef MUTANT
	};
	const char *asked = getenv("BRAZE_MUTANT");

	return asked && !strcmp(asked, name[m]);
}

#endif
