/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* The bytes of the character at s, its number in *code; 0: no UTF-8. */
static size_t character(uint32_t *code, const unsigned char *s)
{
	static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = *s < 0x80 ? 1 : *s >> 5 == 6 ? 2 : *s >> 4 == 14 ? 3 : *s >> 3 == 30 ? 4 : 0;

	*code = n == 1 ? *s : n ? *s & (0x7fu >> n) : 0;
	for (size_t i = 1; i < n; i++) {
		if (s[i] >> 6 != 2) /* the 0 at the end, too */
			return 0;
		*code = *code << 6 | (s[i] & 0x3f);
	}
	if (*code < least[n] || *code > 0x10ffff || *code >> 11 == 0x1b)
		return 0;
	return n;
}

static bool steers(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c ||
	       (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || c >= 0xe0000;
}

void text_clean(char *to, size_t n, const char *from)
{
	const unsigned char *s = (const unsigned char *)from;
	size_t at = 0;

	while (*s) {
		uint32_t code;
		size_t bytes = character(&code, s);
		bool bad = !bytes || steers(code);

		if (at + (bad ? 1 : bytes) >= n)
			break;
		if (bad)
			to[at++] = '?';
		else
			for (size_t i = 0; i < bytes; i++)
				to[at++] = (char)s[i];
		s += bytes ? bytes : 1;
	}
	to[at] = 0;
}

const char *text_tail(const char *s, size_t n)
{
	size_t bytes = strlen(s);

	if (bytes < n)
		return s;
	s += bytes - n + 1;
	while ((*s & 0xc0) == 0x80)
		s++;
	return s;
}

bool text_number(uint64_t *out, const char *text, const char *units)
{
	const char *unit = NULL;
	uint64_t v = 0;

	if (!isdigit((unsigned char)*text))
		return false;
	for (; isdigit((unsigned char)*text); text++)
		if (__builtin_mul_overflow(v, 10u, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*text - '0'), &v))
			return false;
	if (*text && *units) {
		unit = strchr(units, toupper((unsigned char)*text++));
		if (!unit || (*text && strcasecmp(text, "iB") && strcasecmp(text, "B")))
			return false;
		for (; unit >= units; unit--)
			if (__builtin_mul_overflow(v, 1024u, &v))
				return false;
		text = "";
	}
	*out = v;
	return !*text;
}
