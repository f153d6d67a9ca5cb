/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_lex.c - PTX text into tokens; see ptx_lex.h. */
#include "ptx_lex.h"
#include <ctype.h>
#include <string.h>

static void skip_blanks(struct ptx_lexer *x)
{
	for (;;) {
		while (isspace((unsigned char)*x->at))
			x->next_line += *x->at++ == '\n';
		if (x->at[0] == '/' && x->at[1] == '/') {
			x->at += strcspn(x->at, "\n");
		} else if (x->at[0] == '/' && x->at[1] == '*') {
			for (x->at += 2; *x->at && (x->at[0] != '*' || x->at[1] != '/'); x->at++)
				x->next_line += *x->at == '\n';
			x->at += *x->at ? 2 : 0;
		} else {
			return;
		}
	}
}

static bool in_word(const char *p)
{
	return isalnum((unsigned char)*p) || *p == '_' || *p == '$' || *p == '%' || *p == '.' ||
	       (p[0] == ':' && p[1] == ':') || (p[0] == ':' && p[-1] == ':');
}

/* A directive ends where the next begins: .reg.b32 is two words. */
static const char *end_of(enum ptx_token kind, const char *p)
{
	bool directive = p[-1] == '.';

	if (kind == LEX_MARK)
		return p;
	while (kind == LEX_NUMBER ? isalnum((unsigned char)*p) || *p == '.'
				  : in_word(p) && !(directive && *p == '.'))
		p++;
	return p;
}

static enum ptx_token kind_of(char c)
{
	if (c == 0)
		return LEX_END;
	if (c == '"')
		return LEX_STRING;
	if (isdigit((unsigned char)c))
		return LEX_NUMBER;
	return isalpha((unsigned char)c) || strchr("_$%.", c) ? LEX_WORD : LEX_MARK;
}

void ptx_lex_next(struct ptx_lexer *x)
{
	skip_blanks(x);
	x->line = x->next_line;
	x->kind = kind_of(*x->at);
	x->length = 0;
	x->text[0] = 0;
	if (x->kind == LEX_END)
		return;
	const char *from = x->at, *to;
	if (x->kind == LEX_STRING) {
		from++;
		to = from + strcspn(from, "\"");
		x->at = to + (*to ? 1 : 0);
	} else {
		to = x->at = end_of(x->kind, from + 1);
	}
	x->length = (size_t)(to - from);
	if (x->length >= sizeof(x->text)) {
		x->kind = LEX_TOO_LONG;
		x->length = 0;
	}
	memcpy(x->text, from, x->length);
	x->text[x->length] = 0;
}

void ptx_lex_begin(struct ptx_lexer *x, const char *text)
{
	x->at = text;
	x->next_line = 1;
	ptx_lex_next(x);
}

bool ptx_lex_is(const struct ptx_lexer *x, const char *text)
{
	return x->kind != LEX_STRING && !strcmp(x->text, text);
}

void ptx_lex_skip_line(struct ptx_lexer *x)
{
	int line = x->line;

	while (x->kind != LEX_END && x->line == line)
		ptx_lex_next(x);
}
