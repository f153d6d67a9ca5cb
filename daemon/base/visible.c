/* SPDX-License-Identifier: Apache-2.0 */
#include "visible.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A word of the list; n 0: it has ended. */
struct word {
	const char *at;
	size_t n;
};

static struct word next_word(const char **list)
{
	struct word w = {*list + strspn(*list, " \t"), 0};

	w.n = strcspn(w.at, ",");
	*list = w.at + w.n + (w.at[w.n] == ',');
	while (w.n && (w.at[w.n - 1] == ' ' || w.at[w.n - 1] == '\t'))
		w.n--;
	return w;
}

/* -1: it is none. */
static int number_of(struct word w)
{
	char digits[8] = "";

	if (!w.n || w.n >= sizeof digits || strspn(w.at, "0123456789") < w.n)
		return -1;
	memcpy(digits, w.at, w.n);
	return atoi(digits);
}

static bool is_uuid(struct word w)
{
	return w.n > 4 && (!strncmp(w.at, "GPU-", 4) || !strncmp(w.at, "MIG-", 4));
}

static bool is_slice(struct word w)
{
	return is_uuid(w) && w.at[0] == 'M';
}

bool visible_allows(const char *list, int index, const char *uuid)
{
	for (struct word w = next_word(&list);; w = next_word(&list)) {
		int number = number_of(w);

		if (number < 0 && !is_uuid(w))
			return false;
		if (number >= 0 && number == index)
			return true;
		if (number < 0 && (!uuid || !strncasecmp(uuid, w.at, w.n)))
			return true;
	}
}

int visible_index(const char *list, int ordinal)
{
	struct word w = {0};

	if (!list)
		return ordinal;
	for (int i = 0; i <= ordinal; i++) {
		w = next_word(&list);
		if (number_of(w) < 0 && !is_uuid(w))
			return -1;
	}
	return ordinal < 0 ? -1 : number_of(w);
}

bool visible_slice(char *out, size_t n, const char *list, int ordinal)
{
	struct word w = {0};

	for (int i = 0; list && i <= ordinal; i++) {
		w = next_word(&list);
		if (number_of(w) < 0 && !is_uuid(w))
			return false;
	}
	if (!is_slice(w) || w.n >= n)
		return false;
	memcpy(out, w.at, w.n);
	out[w.n] = 0;
	return true;
}
