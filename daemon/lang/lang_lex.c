/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_lex.c - the characters of a text as tokens, one at a time.
 *
 * In:  bytes, which may be anything.  Out: tokens, or where and why a byte begins none.  Lines end
 * statements, but not inside parentheses and brackets. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strtod_l */
#endif
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang.h"

enum status lang_error(struct err *err, enum status code, uint32_t line, uint32_t column,
		       const char *fmt, ...)
{
	char text[LIMIT_ERROR_TEXT];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	return err_set(err, code, "line %u, column %u: %s", line, column, text);
}

static bool letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

static char peek(const struct lang_lexer *l, uint32_t ahead)
{
	return l->at + ahead < l->bytes ? l->text[l->at + ahead] : 0;
}

static void skip(struct lang_lexer *l)
{
	for (;;) {
		char c = peek(l, 0);

		if (c == '#') {
			while (l->at < l->bytes && l->text[l->at] != '\n')
				l->at++;
		} else if (c == '\n' && l->open) {
			l->at++;
			l->line++;
			l->start = l->at;
		} else if (c == ' ' || c == '\t' || c == '\r') {
			l->at++;
		} else {
			return;
		}
	}
}

static enum status wrong(const struct lang_token *t, struct err *err, const char *what)
{
	return lang_error(err, E_INVALID, t->line, t->column, "%s", what);
}

static int digit_of(char c, int base)
{
	int v = digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;

	if (c >= 'A' && c <= 'F')
		v = c - 'A' + 10;
	return v < base ? v : -1;
}

static enum status integer(struct lang_token *t, struct lang_lexer *l, int base, struct err *err)
{
	int64_t v = 0;
	int d;

	t->kind = TOKEN_INT;
	for (; (d = digit_of(peek(l, 0), base)) >= 0; l->at++)
		if (__builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, d, &v))
			return wrong(t, err, "the integer does not fit int64: write a float");
	t->integer = v;
	if (letter(peek(l, 0)) || digit(peek(l, 0)))
		return wrong(t, err, "a number ends in letters: put a space or an operator there");
	return OK;
}

/* How many characters the number has; whole: no point and no exponent. */
static uint32_t number_bytes(const struct lang_lexer *l, bool *whole)
{
	uint32_t n = 0, e;

	*whole = true;
	while (digit(peek(l, n)))
		n++;
	if (peek(l, n) == '.' && peek(l, n + 1) != '.') {
		*whole = false;
		for (n++; digit(peek(l, n)); n++)
			;
	}
	if (peek(l, n) == 'e' || peek(l, n) == 'E') {
		e = n + 1 + (peek(l, n + 1) == '-' || peek(l, n + 1) == '+');
		if (digit(peek(l, e))) {
			*whole = false;
			for (n = e; digit(peek(l, n)); n++)
				;
		}
	}
	return n;
}

static enum status number(struct lang_token *t, struct lang_lexer *l, struct err *err)
{
	char second = peek(l, 1), text[LANG_NAME];
	bool whole;
	uint32_t n = number_bytes(l, &whole);
	locale_t c;

	if (peek(l, 0) == '0' && (second == 'x' || second == 'b')) {
		l->at += 2;
		if (digit_of(peek(l, 0), second == 'x' ? 16 : 2) < 0)
			return wrong(t, err, "digits are missing after 0x or 0b");
		return integer(t, l, second == 'x' ? 16 : 2, err);
	}
	if (whole && peek(l, n) != 'j')
		return integer(t, l, 10, err);
	if (n >= sizeof text)
		return wrong(t, err, "a number has at most 63 characters");
	memcpy(text, l->text + l->at, n);
	text[n] = 0;
	/* A program's own locale may have a comma for the point. */
	c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!c)
		return err_set(err, E_NOMEM, "no memory to read a number");
	t->kind = TOKEN_FLOAT;
	t->number = strtod_l(text, NULL, c);
	freelocale(c);
	l->at += n;
	t->imaginary = peek(l, 0) == 'j';
	l->at += t->imaginary;
	if (letter(peek(l, 0)) || digit(peek(l, 0)))
		return wrong(t, err, "a number ends in letters: put a space or an operator there");
	return OK;
}

static enum status mark(struct lang_token *t, struct lang_lexer *l, struct err *err)
{
	static const char *const marks[] = {
		"**=", "//=", "<<=", ">>=", "..", "**", "//", "<<", ">>", "<=", ">=",
		"==",  "!=",  "+=",  "-=",  "*=", "/=", "%=", "&=", "|=", "^=", "->",
		"+",   "-",   "*",   "/",   "%",  "<",	">",  "=",  "&",  "|",	"^",
		"~",   "(",   ")",   "[",   "]",  "{",	"}",  ",",  ":",  ";",	"@",
	};

	for (size_t k = 0; k < sizeof marks / sizeof marks[0]; k++) {
		size_t n = strlen(marks[k]);

		if (l->bytes - l->at < n || memcmp(l->text + l->at, marks[k], n))
			continue;
		t->kind = TOKEN_MARK;
		t->mark = LANG_MARK(marks[k][0], n > 1 ? marks[k][1] : 0, n > 2 ? marks[k][2] : 0);
		l->at += (uint32_t)n;
		l->open += n == 1 && strchr("([", marks[k][0]) ? 1 : 0;
		l->open -= n == 1 && strchr(")]", marks[k][0]) && l->open ? 1 : 0;
		return OK;
	}
	if (l->text[l->at] > ' ' && l->text[l->at] < 127)
		return lang_error(err, E_INVALID, t->line, t->column,
				  "'%c' begins nothing: the language has no such sign",
				  l->text[l->at]);
	return lang_error(err, E_INVALID, t->line, t->column,
			  "byte 0x%02x: outside of comments a text is ASCII",
			  (unsigned char)l->text[l->at]);
}

enum status lang_lex(struct lang_token *t, struct lang_lexer *l, struct err *err)
{
	enum status st = OK;

	skip(l);
	*t = (struct lang_token){
		.kind = TOKEN_END, .at = l->at, .line = l->line, .column = l->at - l->start + 1};
	if (l->at >= l->bytes)
		return OK;
	if (l->text[l->at] == '\n') {
		t->kind = TOKEN_LINE;
		l->at++;
		l->line++;
		l->start = l->at;
	} else if (letter(l->text[l->at])) {
		t->kind = TOKEN_NAME;
		while (letter(peek(l, 0)) || digit(peek(l, 0)))
			l->at++;
		if (l->at - t->at >= LANG_NAME)
			return wrong(t, err, "a name has at most 63 characters");
	} else if (digit(l->text[l->at]) || (l->text[l->at] == '.' && digit(peek(l, 1)))) {
		st = number(t, l, err);
	} else {
		st = mark(t, l, err);
	}
	t->bytes = l->at - t->at;
	return st;
}
