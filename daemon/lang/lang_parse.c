/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_parse.c - tokens as a tree.
 *
 * In:  a text.  Out: its tree, or the first place that fits no rule of the grammar and what is
 * wanted there.  One token is looked at ahead; what stands inside what is counted, so that no text
 * makes the recursion deep. */
#include <stdlib.h>
#include <string.h>

#include "lang.h"

#define M1(a)	    LANG_MARK(a, 0, 0)
#define M2(a, b)    LANG_MARK(a, b, 0)
#define M3(a, b, c) LANG_MARK(a, b, c)

struct parser {
	struct lang_tree *tree;
	struct lang_lexer lexer;
	struct lang_token now;
	struct err *err;
	int depth;
	unsigned atomics; /* such statements so far */
	bool failed;
};

static uint32_t expression(struct parser *p);
static uint32_t unary(struct parser *p);
static uint32_t block(struct parser *p);

static void advance(struct parser *p)
{
	if (!p->failed && lang_lex(&p->now, &p->lexer, p->err))
		p->failed = true;
	if (p->failed)
		p->now.kind = TOKEN_END;
}

/* Only the first failure counts. */
static uint32_t wanted(struct parser *p, const char *what)
{
	const struct lang_token *t = &p->now;
	int n = t->bytes < 40 ? (int)t->bytes : 40;

	if (p->failed)
		return 0;
	p->failed = true;
	if (t->kind == TOKEN_END || t->kind == TOKEN_LINE)
		lang_error(p->err, E_INVALID, t->line, t->column, "%s, but the %s ends here", what,
			   t->kind == TOKEN_END ? "text" : "line");
	else
		lang_error(p->err, E_INVALID, t->line, t->column, "%s, not '%.*s'", what, n,
			   p->tree->text + t->at);
	p->now.kind = TOKEN_END;
	return 0;
}

static bool enter(struct parser *p)
{
	if (++p->depth <= LANG_DEPTH)
		return true;
	if (!p->failed)
		lang_error(p->err, E_LIMIT, p->now.line, p->now.column,
			   "more than 64 brackets, blocks or signs inside each other: use let");
	p->failed = true;
	p->now.kind = TOKEN_END;
	return false;
}

static bool is_mark(const struct parser *p, uint32_t mark)
{
	return p->now.kind == TOKEN_MARK && p->now.mark == mark;
}

static bool is_word(const struct parser *p, const char *word)
{
	return p->now.kind == TOKEN_NAME && p->now.bytes == strlen(word) &&
	       !memcmp(p->tree->text + p->now.at, word, p->now.bytes);
}

static bool take_mark(struct parser *p, uint32_t mark)
{
	bool is = is_mark(p, mark);

	if (is)
		advance(p);
	return is;
}

static bool take_word(struct parser *p, const char *word)
{
	bool is = is_word(p, word);

	if (is)
		advance(p);
	return is;
}

static void want_mark(struct parser *p, uint32_t mark, const char *what)
{
	if (!take_mark(p, mark))
		wanted(p, what);
}

static struct lang_node *at(struct parser *p, uint32_t id)
{
	return &p->tree->node[id];
}

/* Node 0 takes what a failed parse writes. */
static uint32_t make(struct parser *p, enum lang_kind kind)
{
	struct lang_tree *t = p->tree;

	if (p->failed || t->n == t->cap)
		return p->failed ? 0 : wanted(p, "the text has too many parts");
	t->node[t->n] = (struct lang_node){.kind = (uint8_t)kind,
					   .type = DTYPE_END,
					   .op = OP_END,
					   .line = p->now.line,
					   .column = p->now.column};
	return t->n++;
}

static bool reserved(const struct parser *p)
{
	static const char *const words[] = {"kernel", "fn",    "let",	   "for",    "in",  "step",
					    "while",  "if",    "elif",	   "else",   "out", "inout",
					    "break",  "true",  "continue", "return", "and", "or",
					    "not",    "false", "base"};

	for (size_t k = 0; k < sizeof words / sizeof words[0]; k++)
		if (is_word(p, words[k]))
			return true;
	return false;
}

static void name(struct parser *p, uint32_t id, const char *what)
{
	if (p->now.kind != TOKEN_NAME || reserved(p)) {
		wanted(p, what);
		return;
	}
	at(p, id)->name = p->now.at;
	at(p, id)->name_bytes = p->now.bytes;
	advance(p);
}

static void lines(struct parser *p)
{
	while (p->now.kind == TOKEN_LINE || is_mark(p, M1(';')))
		advance(p);
}

/* What must go on may do so on another line. */
static void same_heading(struct parser *p)
{
	while (p->now.kind == TOKEN_LINE)
		advance(p);
}

/* ---- Expressions ---- */

static uint32_t list(struct parser *p, uint32_t (*part)(struct parser *), uint32_t close,
		     const char *what)
{
	uint32_t first = 0, *link = &first;

	while (!p->failed && !is_mark(p, close)) {
		*link = part(p);
		link = &at(p, *link)->next;
		if (!take_mark(p, M1(',')))
			break;
	}
	want_mark(p, close, what);
	return first;
}

/* An index, or start:stop:step, of which each may be left out. */
static uint32_t subscript(struct parser *p)
{
	uint32_t a = is_mark(p, M1(':')) ? 0 : expression(p), id, part;

	if (!is_mark(p, M1(':')))
		return a;
	id = make(p, NODE_SLICE);
	at(p, id)->a = a;
	advance(p);
	if (!is_mark(p, M1(':')) && !is_mark(p, M1(',')) && !is_mark(p, M1(']'))) {
		part = expression(p);
		at(p, id)->b = part;
	}
	if (take_mark(p, M1(':')) && !is_mark(p, M1(',')) && !is_mark(p, M1(']'))) {
		part = expression(p);
		at(p, id)->c = part;
	}
	return id;
}

static uint32_t named(struct parser *p)
{
	uint32_t id = make(p, NODE_NAME);

	name(p, id, "an expression is wanted");
	if (take_mark(p, M1('('))) {
		uint32_t args =
			list(p, expression, M1(')'), "a ',' or the ')' of a call is wanted");

		at(p, id)->kind = NODE_CALL;
		at(p, id)->a = args;
	} else if (take_mark(p, M1('['))) {
		uint32_t args =
			list(p, subscript, M1(']'), "a ',' or the ']' of an index is wanted");

		at(p, id)->kind = NODE_INDEX;
		at(p, id)->a = args;
	}
	return id;
}

static uint32_t boolean(struct parser *p, bool value)
{
	uint32_t id = make(p, NODE_BOOL);

	at(p, id)->integer = value;
	advance(p);
	return id;
}

static uint32_t primary(struct parser *p)
{
	uint32_t id = 0;

	if (p->now.kind == TOKEN_INT) {
		id = make(p, NODE_INT);
		at(p, id)->integer = p->now.integer;
		advance(p);
	} else if (p->now.kind == TOKEN_FLOAT) {
		id = make(p, p->now.imaginary ? NODE_IMAGINARY : NODE_FLOAT);
		at(p, id)->number = p->now.number;
		advance(p);
	} else if (is_word(p, "true") || is_word(p, "false")) {
		id = boolean(p, is_word(p, "true"));
	} else if (take_mark(p, M1('('))) {
		id = expression(p);
		want_mark(p, M1(')'), "a ')' is wanted");
	} else {
		id = named(p);
	}
	return id;
}

static uint32_t make_two(struct parser *p, enum lang_kind kind, unsigned op, uint32_t a, uint32_t b)
{
	uint32_t id = make(p, kind);
	struct lang_node *n = at(p, id);

	n->op = (uint16_t)op;
	n->a = a;
	n->b = b;
	return id;
}

static uint32_t power(struct parser *p)
{
	uint32_t a = primary(p);

	if (is_mark(p, M2('*', '*'))) {
		uint32_t id = make_two(p, NODE_BINARY, OP_POWER, a, 0), b;

		advance(p);
		b = unary(p);
		at(p, id)->b = b;
		return id;
	}
	return a;
}

static uint32_t unary(struct parser *p)
{
	static const struct {
		char mark;
		uint16_t op;
	} ops[] = {{'-', OP_NEGATIVE}, {'+', OP_POSITIVE}, {'~', OP_INVERT}};
	uint32_t id = 0, a;

	if (!enter(p))
		return 0;
	for (size_t k = 0; k < 3 && !id; k++)
		if (is_mark(p, M1(ops[k].mark))) {
			id = make_two(p, NODE_UNARY, ops[k].op, 0, 0);
			advance(p);
			a = unary(p);
			at(p, id)->a = a;
		}
	if (!id)
		id = power(p);
	p->depth--;
	return id;
}

/* Marks of two operands, the higher binds the closer; level 0 are comparisons, of which no two
 * stand in a row. */
static const struct {
	uint32_t mark;
	uint8_t level;
	uint16_t op;
} infix[] = {
	{M1('<'), 0, OP_LESS},
	{M2('<', '='), 0, OP_LESS_EQUAL},
	{M1('>'), 0, OP_GREATER},
	{M2('>', '='), 0, OP_GREATER_EQUAL},
	{M2('=', '='), 0, OP_EQUAL},
	{M2('!', '='), 0, OP_NOT_EQUAL},
	{M1('|'), 1, OP_BITWISE_OR},
	{M1('^'), 2, OP_BITWISE_XOR},
	{M1('&'), 3, OP_BITWISE_AND},
	{M2('<', '<'), 4, OP_LEFT_SHIFT},
	{M2('>', '>'), 4, OP_RIGHT_SHIFT},
	{M1('+'), 5, OP_ADD},
	{M1('-'), 5, OP_SUBTRACT},
	{M1('*'), 6, OP_MULTIPLY},
	{M1('/'), 6, OP_DIVIDE},
	{M2('/', '/'), 6, OP_FLOOR_DIVIDE},
	{M1('%'), 6, OP_REMAINDER},
	{M1('@'), 6, OP_MATMUL},
	{M2('*', '*'), 9, OP_POWER},
};
#define INFIX	(sizeof infix / sizeof infix[0])
#define HIGHEST 6

static uint32_t level(struct parser *p, unsigned k)
{
	uint32_t a = k > HIGHEST ? unary(p) : level(p, k + 1);
	bool again = k <= HIGHEST;

	while (again && !p->failed) {
		again = false;
		for (size_t m = 0; m < INFIX && !again; m++) {
			if (infix[m].level != k || !is_mark(p, infix[m].mark))
				continue;
			uint32_t id = make_two(p, NODE_BINARY, infix[m].op, a, 0), b;

			advance(p);
			b = level(p, k + 1);
			at(p, id)->b = b;
			a = id;
			again = true;
		}
		for (size_t m = 0; again && k == 0 && m < INFIX; m++)
			if (infix[m].level == 0 && is_mark(p, infix[m].mark))
				wanted(p, "one comparison at a time (join them with and)");
	}
	return a;
}

static uint32_t negation(struct parser *p)
{
	uint32_t id, a;

	if (!is_word(p, "not"))
		return level(p, 0);
	if (!enter(p))
		return 0;
	id = make(p, NODE_NOT);
	advance(p);
	a = negation(p);
	at(p, id)->a = a;
	p->depth--;
	return id;
}

static uint32_t joined(struct parser *p, const char *word, enum lang_kind kind,
		       uint32_t (*part)(struct parser *))
{
	uint32_t a = part(p), id, b;

	while (is_word(p, word)) {
		id = make_two(p, kind, OP_END, a, 0);
		advance(p);
		b = part(p);
		at(p, id)->b = b;
		a = id;
	}
	return a;
}

static uint32_t conjunction(struct parser *p)
{
	return joined(p, "and", NODE_AND, negation);
}

static uint32_t expression(struct parser *p)
{
	uint32_t id;

	if (!enter(p))
		return 0;
	id = joined(p, "or", NODE_OR, conjunction);
	p->depth--;
	return id;
}

/* ---- Statements ---- */

static uint8_t type(struct parser *p)
{
	for (unsigned d = 0; d < DT_BFLOAT16; d++) /* texts have none of it */
		if (take_word(p, dtype_row(d)->name))
			return (uint8_t)d;
	wanted(p, "a type as float64, int64 or bool is wanted");
	return DT_BOOL;
}

static uint32_t let(struct parser *p)
{
	uint32_t id = make(p, NODE_LET), a;

	advance(p);
	name(p, id, "the name of a variable is wanted");
	if (take_mark(p, M1(':')))
		at(p, id)->type = type(p);
	want_mark(p, M1('='), "an '=' and the first value are wanted");
	a = expression(p);
	at(p, id)->a = a;
	return id;
}

/* (+: s, t): the names, each with its operation, at *link.  Where the next one goes. */
static uint32_t *some_sums(struct parser *p, uint32_t *link)
{
	static const struct {
		const char *word;
		uint32_t mark;
		uint16_t op;
	} ops[] = {{NULL, M1('+'), OP_ADD},	    {NULL, M1('*'), OP_MULTIPLY},
		   {"min", 0, OP_MINIMUM},	    {"max", 0, OP_MAXIMUM},
		   {NULL, M1('&'), OP_BITWISE_AND}, {NULL, M1('|'), OP_BITWISE_OR},
		   {NULL, M1('^'), OP_BITWISE_XOR}};
	unsigned op = OP_END;

	want_mark(p, M1('('), "a '(' is wanted");
	for (size_t k = 0; k < sizeof ops / sizeof ops[0] && op == OP_END; k++)
		if (ops[k].word ? take_word(p, ops[k].word) : take_mark(p, ops[k].mark))
			op = ops[k].op;
	if (op == OP_END)
		wanted(p, "one of + * min max & | ^ is wanted");
	want_mark(p, M1(':'), "a ':' and the names of sums are wanted");
	do {
		uint32_t id = make(p, NODE_NAME);

		at(p, id)->op = (uint16_t)op;
		name(p, id, "the name of a sum is wanted");
		*link = id;
		link = &at(p, id)->next;
	} while (!p->failed && take_mark(p, M1(',')));
	want_mark(p, M1(')'), "a ',' or the ')' is wanted");
	return link;
}

/* reduction(...) of a loop, once or more. */
static uint32_t sums(struct parser *p)
{
	uint32_t first = 0, *link = &first;

	while (!p->failed && take_word(p, "reduction"))
		link = some_sums(p, link);
	return first;
}

static uint32_t loop(struct parser *p, enum lang_claim claim)
{
	uint32_t id = make(p, NODE_FOR), a, b, c = 0, body;
	unsigned before = p->atomics;

	advance(p);
	name(p, id, "the name of the loop's number is wanted");
	if (!take_word(p, "in"))
		wanted(p, "an 'in' is wanted");
	a = expression(p);
	want_mark(p, M2('.', '.'), "a '..' is wanted, as in 0..n");
	b = expression(p);
	if (take_word(p, "step"))
		c = expression(p);
	at(p, id)->integer = sums(p);
	body = block(p);
	/* Who says that turns meet at a place, in any order, does not say that they never do. */
	if (p->atomics != before && claim != CLAIM_SEQUENTIAL)
		claim = CLAIM_NONE;
	at(p, id)->access = (uint8_t)claim;
	at(p, id)->a = a;
	at(p, id)->b = b;
	at(p, id)->c = c;
	at(p, id)->body = body;
	return id;
}

/* if, elif, while: a condition and a block. */
static uint32_t guarded(struct parser *p, enum lang_kind kind)
{
	uint32_t id = make(p, kind), a, body;

	advance(p);
	a = expression(p);
	body = block(p);
	at(p, id)->a = a;
	at(p, id)->body = body;
	return id;
}

static uint32_t branches(struct parser *p)
{
	uint32_t first = guarded(p, NODE_IF), last = first, other;

	for (;;) {
		/* An else may stand on a line of its own. */
		struct lang_token now = p->now;
		struct lang_lexer lexer = p->lexer;

		lines(p);
		if (is_word(p, "elif")) {
			other = guarded(p, NODE_IF);
			at(p, last)->b = other;
			last = other;
			continue;
		}
		if (take_word(p, "else")) {
			other = block(p);
			at(p, last)->b = other;
			at(p, last)->access = 1;
		} else if (!p->failed) {
			p->now = now;
			p->lexer = lexer;
		}
		return first;
	}
}

static uint32_t assignment(struct parser *p)
{
	uint32_t id = make(p, NODE_ASSIGN), target = named(p), b;

	at(p, id)->a = target;
	if (!p->failed && at(p, target)->kind != NODE_NAME && at(p, target)->kind != NODE_INDEX)
		wanted(p, "a statement: a call alone does nothing, so assign its value");
	if (!take_mark(p, M1('='))) {
		for (size_t m = 0; m < INFIX && at(p, id)->op == OP_END; m++) {
			uint32_t mark = infix[m].mark;

			mark |= (uint32_t)'=' << (mark >> 8 ? 16 : 8);
			if (infix[m].level && take_mark(p, mark))
				at(p, id)->op = infix[m].op;
		}
		if (at(p, id)->op == OP_END)
			wanted(p, "an '=' or '+=' is wanted");
	}
	b = expression(p);
	at(p, id)->b = b;
	return id;
}

static uint32_t single(struct parser *p, enum lang_kind kind)
{
	uint32_t id = make(p, kind), a;

	advance(p);
	if (kind == NODE_RETURN) {
		a = expression(p);
		at(p, id)->a = a;
	}
	return id;
}

/* Takes a word that leads the next one, or any name; elsewhere it is a name itself. */
static bool leads(struct parser *p, const char *word, const char *next)
{
	struct lang_token now = p->now;
	struct lang_lexer lexer = p->lexer;

	if (!take_word(p, word))
		return false;
	if (next ? is_word(p, next) : p->now.kind == TOKEN_NAME)
		return true;
	if (!p->failed) {
		p->now = now;
		p->lexer = lexer;
	}
	return false;
}

/* Is it a loop of which something is said? */
static enum lang_claim claim(struct parser *p)
{
	static const char *const words[] = {"", "parallel", "simd", "sequential"};

	for (enum lang_claim k = CLAIM_PARALLEL; k <= CLAIM_SEQUENTIAL; k++)
		if (leads(p, words[k], "for"))
			return k;
	return CLAIM_NONE;
}

/* Turns that run in their order, or that do not meet, have it done at once anyway. */
static uint32_t atomic(struct parser *p)
{
	uint32_t id = assignment(p);
	const struct lang_node *n = at(p, id);

	if (!p->failed && at(p, n->a)->kind != NODE_INDEX) {
		p->failed = lang_error(p->err, E_INVALID, n->line, n->column,
				       "atomic is about elements, as in atomic x[i] += 1");
		p->now.kind = TOKEN_END;
	}
	p->atomics++;
	return id;
}

static uint32_t statement(struct parser *p)
{
	enum lang_claim said = claim(p);

	if (leads(p, "atomic", NULL))
		return atomic(p);
	if (is_word(p, "let"))
		return let(p);
	if (is_word(p, "for"))
		return loop(p, said);
	if (is_word(p, "while"))
		return guarded(p, NODE_WHILE);
	if (is_word(p, "if"))
		return branches(p);
	if (is_word(p, "break"))
		return single(p, NODE_BREAK);
	if (is_word(p, "continue"))
		return single(p, NODE_CONTINUE);
	if (is_word(p, "return"))
		return single(p, NODE_RETURN);
	return assignment(p);
}

static uint32_t block(struct parser *p)
{
	uint32_t first = 0, *link = &first;

	same_heading(p);
	want_mark(p, M1('{'), "a '{' is wanted");
	if (!enter(p))
		return 0;
	for (lines(p); p->now.kind != TOKEN_END && !is_mark(p, M1('}')); lines(p)) {
		*link = statement(p);
		link = &at(p, *link)->next;
		if (p->now.kind != TOKEN_LINE && !is_mark(p, M1(';')) && !is_mark(p, M1('}')))
			wanted(p, "the end of the line, a ';' or a '}' is wanted");
	}
	want_mark(p, M1('}'), "a '}' is wanted");
	p->depth--;
	return first;
}

/* ---- Headings ---- */

static void rank(struct parser *p, uint32_t id)
{
	unsigned n = 0;

	if (!take_mark(p, M1('[')))
		return;
	do {
		want_mark(p, M1(':'), "a ':' for each axis is wanted, as in float64[:,:]");
		n++;
	} while (!p->failed && take_mark(p, M1(',')) && n < LIMIT_NDIM);
	want_mark(p, M1(']'), "a ',' or the ']' is wanted; an array has at most 8 axes");
	at(p, id)->rank = (uint8_t)n;
}

static uint32_t parameter(struct parser *p)
{
	uint32_t id;
	unsigned access = 0;

	if (take_word(p, "in"))
		access = ACCESS_IN;
	else if (take_word(p, "out"))
		access = ACCESS_OUT;
	else if (take_word(p, "inout"))
		access = ACCESS_INOUT;
	id = make(p, NODE_PARAM);
	at(p, id)->access = (uint8_t)access;
	name(p, id, "the name of a parameter is wanted");
	want_mark(p, M1(':'), "a ':' and the parameter's type are wanted");
	at(p, id)->type = type(p);
	rank(p, id);
	return id;
}

static uint32_t parameters(struct parser *p)
{
	uint32_t first = 0, *link = &first;
	unsigned n = 0;

	want_mark(p, M1('('), "a '(' is wanted");
	while (!p->failed && !is_mark(p, M1(')'))) {
		if (++n > LANG_PARAMS)
			wanted(p, "at most 64 parameters are allowed");
		*link = parameter(p);
		link = &at(p, *link)->next;
		if (!take_mark(p, M1(',')))
			break;
	}
	want_mark(p, M1(')'), "a ',' or the ')' of the parameters is wanted");
	return first;
}

static void function(struct parser *p, uint32_t **link)
{
	uint32_t id = make(p, NODE_FN), a, body;

	advance(p);
	name(p, id, "the name of the function is wanted");
	a = parameters(p);
	same_heading(p);
	want_mark(p, M2('-', '>'), "a '->' and the type of the function's value are wanted");
	at(p, id)->type = type(p);
	body = block(p);
	at(p, id)->a = a;
	at(p, id)->body = body;
	**link = id;
	*link = &at(p, id)->next;
}

static void kernel(struct parser *p)
{
	uint32_t id = make(p, NODE_KERNEL), a, b = 0, body;

	if (p->tree->kernel)
		wanted(p, "one kernel a text");
	advance(p);
	name(p, id, "the name of the kernel is wanted");
	a = parameters(p);
	same_heading(p);
	if (take_mark(p, M2('-', '>')))
		b = parameters(p);
	same_heading(p);
	if (take_word(p, "base")) {
		at(p, id)->integer = p->now.integer;
		if (p->now.kind != TOKEN_INT || p->now.integer > 1)
			wanted(p, "the first index, 0 or 1, is wanted");
		advance(p);
	}
	body = block(p);
	at(p, id)->a = a;
	at(p, id)->b = b;
	at(p, id)->body = body;
	p->tree->kernel = id;
}

static void whole(struct parser *p)
{
	uint32_t *link = &p->tree->functions;

	advance(p);
	for (lines(p); !p->failed && p->now.kind != TOKEN_END; lines(p)) {
		if (is_word(p, "fn"))
			function(p, &link);
		else if (is_word(p, "kernel"))
			kernel(p);
		else
			wanted(p, "'kernel' or 'fn' is wanted");
	}
	if (!p->tree->kernel)
		wanted(p, "a kernel is wanted, as in kernel f(x: float64[:]) { }");
}

enum status lang_parse(struct lang_tree **out, const char *text, size_t bytes, struct err *err)
{
	uint32_t cap = (uint32_t)bytes + 16;
	struct lang_tree *tree;
	struct err own;

	if (bytes > LANG_TEXT)
		return err_set(err, E_LIMIT, "a kernel's text has at most %u bytes", LANG_TEXT);
	tree = calloc(1, sizeof *tree + cap * sizeof tree->node[0] + bytes + 1);
	if (!tree)
		return err_set(err, E_NOMEM, "no memory to read a kernel");
	tree->text = (char *)&tree->node[cap];
	memcpy(tree->text, text, bytes);
	tree->bytes = (uint32_t)bytes;
	tree->n = 1;
	tree->cap = cap;
	struct parser p = {.tree = tree,
			   .lexer = {.text = tree->text, .bytes = tree->bytes, .line = 1},
			   .err = err ? err : &own};
	whole(&p);
	if (p.failed) {
		enum status st = p.err->code;

		free(tree);
		return st;
	}
	*out = tree;
	return OK;
}
