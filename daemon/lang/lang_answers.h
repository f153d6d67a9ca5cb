/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_answers.h - what was found of one loop, for each of the values that that depends on.
 *
 * A loop inside another comes with other values in each turn, and with all of them again in the
 * next run.  Keys are the values of some registers and what is known of arrays: as many numbers as
 * the first one has. */
#ifndef BRAZE_LANG_ANSWERS_H
#define BRAZE_LANG_ANSWERS_H

#include "lang_nest.h"

#define LANG_ANSWERS 1024 /* of one loop; behind these all are forgotten */

struct lang_answers {
	unsigned numbers, cap, n; /* of a key; a power of 2, or 0; answers */
	int64_t *key;		  /* [cap][numbers] */
	struct lang_found *answer;
};

/* Of the nest nothing else depends on values, where its turns may run at once. */
struct lang_found {
	bool taken;
	uint8_t why;
	uint64_t work, turns;
};

/* NULL: it is not known. */
const struct lang_found *lang_answers_find(const struct lang_answers *a, const int64_t *key,
					   unsigned numbers);
/* Kept where there is memory. */
void lang_answers_keep(struct lang_answers *a, const int64_t *key, unsigned numbers,
		       const struct lang_nest *nest);
void lang_answers_forget(struct lang_answers *a);

#endif
