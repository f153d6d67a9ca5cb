/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_answers.c - a table of answers: open addressing, less than three quarters of it
 * taken. */
#include "lang_answers.h"

#include <stdlib.h>
#include <string.h>

#define FIRST 16

static uint64_t hash_of(const int64_t *key, unsigned numbers)
{
	uint64_t h = numbers;

	for (unsigned k = 0; k < numbers; k++) {
		h = (h ^ (uint64_t)key[k]) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	return h;
}

/* Where the key is, or would be. */
static unsigned spot_of(const struct lang_answers *a, const int64_t *key)
{
	unsigned at = (unsigned)hash_of(key, a->numbers) & (a->cap - 1);

	while (a->answer[at].taken &&
	       memcmp(a->key + (size_t)at * a->numbers, key, a->numbers * sizeof *key) != 0)
		at = (at + 1) & (a->cap - 1);
	return at;
}

const struct lang_found *lang_answers_find(const struct lang_answers *a, const int64_t *key,
					   unsigned numbers)
{
	const struct lang_found *found;

	if (!a->n || a->numbers != numbers)
		return NULL;
	found = &a->answer[spot_of(a, key)];
	return found->taken ? found : NULL;
}

static void put(struct lang_answers *a, const int64_t *key, const struct lang_found *answer)
{
	unsigned at = spot_of(a, key);

	memcpy(a->key + (size_t)at * a->numbers, key, a->numbers * sizeof *key);
	a->n += !a->answer[at].taken;
	a->answer[at] = *answer;
}

/* Room for another; false: no memory. */
static bool room(struct lang_answers *a)
{
	struct lang_answers more = {.numbers = a->numbers, .cap = a->cap ? 2 * a->cap : FIRST};

	if (4 * (a->n + 1) <= 3 * a->cap)
		return true;
	more.key = malloc((size_t)more.cap * a->numbers * sizeof *more.key);
	more.answer = calloc(more.cap, sizeof *more.answer);
	if (!more.key || !more.answer) {
		lang_answers_forget(&more);
		return false;
	}
	for (unsigned k = 0; k < a->cap; k++)
		if (a->answer[k].taken)
			put(&more, a->key + (size_t)k * a->numbers, &a->answer[k]);
	lang_answers_forget(a);
	*a = more;
	return true;
}

void lang_answers_keep(struct lang_answers *a, const int64_t *key, unsigned numbers,
		       const struct lang_nest *nest)
{
	const struct lang_found answer = {true, (uint8_t)nest->why, nest->work, nest->turns};

	if (!numbers)
		return;
	if (a->numbers != numbers || a->n >= LANG_ANSWERS) {
		lang_answers_forget(a);
		a->numbers = numbers;
	}
	if (room(a))
		put(a, key, &answer);
}

void lang_answers_forget(struct lang_answers *a)
{
	free(a->key);
	free(a->answer);
	*a = (struct lang_answers){0};
}
