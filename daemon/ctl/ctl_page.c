/* SPDX-License-Identifier: Apache-2.0 */
/* ctl/ctl_page.c - the page at "/": page/page.html with its style and script in it, nothing fetched
 * from elsewhere.
 *
 * It reads the JSON pages beside it.  Names come from clients: the script sets text as text, never
 * as markup, and should that ever fail, a browser runs no script that lacks the answer's number. */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/xalloc.h"
#include "ctl_http.h"

#define NONCE_BYTES 16

extern const unsigned char ctl_text_page_html[], ctl_text_page_css[], ctl_text_page_js[];

/* Hexadecimal digits that nobody guesses. */
static void draw(char nonce[2 * NONCE_BYTES + 1])
{
	unsigned char bytes[NONCE_BYTES];

	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		memset(bytes, 0, sizeof bytes); /* cannot be: so few come at once */
	for (int i = 0; i < NONCE_BYTES; i++)
		snprintf(nonce + 2 * i, 3, "%02x", bytes[i]);
}

/* The text with each @word@ of the table as what stands for it. */
static void put(FILE *f, const char *text, const char *const word[][2], size_t n)
{
	for (const char *at; (at = strchr(text, '@')); text = at) {
		size_t k = 0;

		fwrite(text, 1, (size_t)(at - text), f);
		while (k < n && strncmp(at, word[k][0], strlen(word[k][0])))
			k++;
		if (k < n)
			fputs(word[k][1], f);
		else
			fputc('@', f);
		at += k < n ? strlen(word[k][0]) : 1;
	}
	fputs(text, f);
}

char *ctl_page_html(char policy[CTL_POLICY])
{
	char nonce[2 * NONCE_BYTES + 1];
	const char *const word[][2] = {{"@nonce@", nonce},
				       {"@page.css@", (const char *)ctl_text_page_css},
				       {"@page.js@", (const char *)ctl_text_page_js}};
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	draw(nonce);
	snprintf(policy, CTL_POLICY,
		 "default-src 'none'; script-src 'nonce-%s'; style-src 'nonce-%s'; "
		 "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
		 "frame-ancestors 'none'",
		 nonce, nonce);
	if (!f)
		return xstrdup("");
	put(f, (const char *)ctl_text_page_html, word, sizeof word / sizeof word[0]);
	fclose(f);
	return text;
}
