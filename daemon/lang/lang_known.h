/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_known.h - what was found of a loop in earlier turns and runs (lang_answers.h), by the
 * values that it depends on. */
#ifndef BRAZE_LANG_KNOWN_H
#define BRAZE_LANG_KNOWN_H

#include "lang_answers.h"
#include "lang_steps.h"

/* All zero: nothing. */
struct lang_known {
	struct lang_answers answers;
	/* The last nest for which there was nothing in the way, if there was one, which tells the
	 * rest of all of them. */
	struct lang_nest free;
};

/* array: as lang_flatten has them.  false: it was not seen with these values. */
bool lang_known_find(struct lang_nest *out, const struct lang_known *known, const struct run *r,
		     const int64_t *array);
void lang_known_keep(struct lang_known *known, const struct run *r, const int64_t *array,
		     const struct lang_nest *nest);

#endif
