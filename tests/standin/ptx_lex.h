/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_lex.h - PTX text into tokens.
 *
 * In: zero-terminated text, kept by the caller.  Out: one token at a time in text[];
 * kind LEX_MARK is a single character.  Comments are skipped. */
#ifndef STANDIN_PTX_LEX_H
#define STANDIN_PTX_LEX_H

#include <stdbool.h>
#include <stddef.h>

enum ptx_token { LEX_END, LEX_WORD, LEX_NUMBER, LEX_STRING, LEX_MARK, LEX_TOO_LONG };

struct ptx_lexer {
	const char *at; /* what follows the token */
	int line;	/* of the token */
	int next_line;
	enum ptx_token kind;
	size_t length;
	char text[2048];
};

void ptx_lex_begin(struct ptx_lexer *x, const char *text);
void ptx_lex_next(struct ptx_lexer *x);
bool ptx_lex_is(const struct ptx_lexer *x, const char *text);
/* Everything up to the end of the current token's line. */
void ptx_lex_skip_line(struct ptx_lexer *x);

#endif
