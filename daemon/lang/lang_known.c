/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_known.c - answers by the values of registers and by what is known of arrays.
 *
 * In:  a run that is about to begin a loop.  Out: what was found when it began with the same
 * values. */
#include "lang_known.h"

#include <string.h>

#define LARGEST 16  /* bytes of an element */
#define KEY	128 /* numbers of what an answer depends on; of more only the last look is known */

/* No two arrays have bytes in common, so that none of their addresses matters. */
static bool are_apart(const struct run *r)
{
	const char *low[KEY], *high[KEY];

	for (unsigned a = 0; a < r->program->narray; a++) {
		lang_array_ends(&low[a], &high[a], &r->array[a], LARGEST);
		for (unsigned b = 0; b < a; b++)
			if (low[a] <= high[b] && low[b] <= high[a])
				return false;
	}
	return true;
}

/* What answers depend on: numbers of it, 0 where these are too many. */
static unsigned key_of(int64_t *key, const struct lang_known *known, const struct run *r,
		       const int64_t *array)
{
	const struct lang_nest *n = &known->free;
	unsigned numbers = 0, words = lang_flat_words(r->program);
	bool apart;

	if (!n->end || n->nused + words > KEY || r->program->narray > KEY)
		return 0;
	apart = are_apart(r);
	for (unsigned k = 0; k < n->nused; k++)
		key[numbers++] = r->reg[n->used[k]].i;
	for (unsigned k = 0; k < r->program->nparam; k++) {
		unsigned rank = r->program->param[k].rank;

		if (!rank)
			continue;
		key[numbers++] = apart ? 0 : array[0];
		memcpy(&key[numbers], array + 1, 2 * rank * sizeof *key);
		numbers += 2 * rank;
		array += 1 + 2 * rank;
	}
	return numbers;
}

bool lang_known_find(struct lang_nest *out, const struct lang_known *known, const struct run *r,
		     const int64_t *array)
{
	int64_t key[KEY];
	unsigned numbers = key_of(key, known, r, array);
	const struct lang_found *a = lang_answers_find(&known->answers, key, numbers);

	if (!a)
		return false;
	*out = known->free;
	out->why = a->why;
	out->work = a->work;
	out->turns = a->turns;
	return true;
}

void lang_known_keep(struct lang_known *known, const struct run *r, const int64_t *array,
		     const struct lang_nest *nest)
{
	int64_t key[KEY];
	bool same = nest->nused == known->free.nused &&
		    !memcmp(nest->used, known->free.used, nest->nused * sizeof *nest->used);

	if (nest->nused > LANG_USED || (!same && nest->why && known->free.end && !known->free.why))
		return;
	if (!same)
		lang_answers_forget(&known->answers);
	if (!nest->why || known->free.why || !known->free.end)
		known->free = *nest;
	lang_answers_keep(&known->answers, key, key_of(key, known, r, array), nest);
}
