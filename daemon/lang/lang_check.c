/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_check.c - statements and headings: names, blocks, jumps.
 *
 * In:  a tree.  Out: its program, or the first place that means nothing.  Jumps whose target is not
 * known yet are chained through their own target until it is. */
#include "lang_claim.h"

#include <stdlib.h>
#include <string.h>

#define WRONG(c, n, code, ...)                                                                     \
	(lang_error((c)->err, code, (n)->line, (n)->column, __VA_ARGS__), false)
#define NAME_OF(c, n) (int)(n)->name_bytes, (c)->tree->text + (n)->name

static bool statements(struct lang_checker *c, uint32_t id);

bool lang_emit(struct lang_checker *c, node *n, struct lang_ins ins)
{
	struct lang_program *p = c->program;

	if (p->ncode == p->cap_code) {
		uint32_t cap = p->cap_code ? 2 * p->cap_code : 256;
		struct lang_ins *more = realloc(p->code, cap * sizeof *more);

		if (!more || cap > LANG_CODE) {
			p->code = more ? more : p->code;
			return WRONG(c, n, E_LIMIT, "the kernel is too large");
		}
		p->code = more;
		p->cap_code = cap;
	}
	ins.line = n->line;
	p->code[p->ncode++] = ins;
	return true;
}

bool lang_register(struct lang_checker *c, node *n, uint32_t count, uint32_t *out)
{
	if (c->program->nreg + count > LANG_REGISTERS)
		return WRONG(c, n, E_LIMIT, "the kernel is too large");
	*out = c->program->nreg;
	c->program->nreg += count;
	return true;
}

struct symbol *lang_declare(struct lang_checker *c, node *n, enum symbol_kind kind, unsigned type)
{
	struct symbol *s = &c->symbol[c->nsymbol];

	if (lang_symbol(c, n)) {
		lang_error(c->err, E_INVALID, n->line, n->column,
			   "there is a '%.*s' already: choose another name, or assign without let",
			   NAME_OF(c, n));
		return NULL;
	}
	if (c->nsymbol == LANG_SYMBOLS) {
		lang_error(c->err, E_LIMIT, n->line, n->column, "more than %d names at one place",
			   LANG_SYMBOLS);
		return NULL;
	}
	*s = (struct symbol){.name = n->name,
			     .bytes = n->name_bytes,
			     .kind = (uint8_t)kind,
			     .type = (uint8_t)type};
	if (kind != SYMBOL_ARRAY && !lang_register(c, n, kind == SYMBOL_NUMBER ? 4 : 1, &s->reg))
		return NULL;
	c->nsymbol++;
	return s;
}

/* ---- Jumps ---- */

static bool jump(struct lang_checker *c, node *n, uint32_t *chain)
{
	if (!lang_emit(c, n, (struct lang_ins){.code = CODE_JUMP, .d = *chain}))
		return false;
	*chain = c->program->ncode - 1;
	return true;
}

/* All jumps of the chain come here. */
static void land(struct lang_checker *c, uint32_t chain)
{
	while (chain != NO_PLACE) {
		struct lang_ins *i = &c->program->code[chain];

		chain = i->d;
		i->d = c->program->ncode;
	}
}

/* ---- Statements ---- */

static bool let(struct lang_checker *c, node *n)
{
	struct symbol *s = lang_symbol(c, n);
	struct value v;
	bool result = !c->inside && s && s < c->symbol + c->results && s->access == ACCESS_OUT &&
		      s->kind == SYMBOL_VARIABLE;

	if (!lang_expression(c, n->a, &v))
		return false;
	/* A result has been there from the start. */
	if (result && n->type != DTYPE_END && n->type != s->type)
		return WRONG(c, n, E_INVALID, "the result '%.*s' is declared as %s", NAME_OF(c, n),
			     dtype_row(s->type)->name);
	if (!result)
		s = lang_declare(c, n, SYMBOL_VARIABLE, n->type != DTYPE_END ? n->type : v.type);
	return s && lang_move(c, n, &v, s->type, s->reg);
}

static bool assign_element(struct lang_checker *c, node *n, node *target)
{
	const struct symbol *s = lang_symbol(c, target);
	struct value v[OP_OPERANDS], r;
	uint32_t place, reg;

	if (s && s->kind == SYMBOL_ARRAY && !(s->access & ACCESS_OUT))
		return WRONG(c, target, E_READONLY,
			     "'%.*s' is only read: declare it out or inout to write it",
			     NAME_OF(c, target));
	if (n->op == OP_END) {
		if (!lang_expression(c, n->b, &r) || !lang_place(c, target, s, &place))
			return false;
	} else {
		if (!lang_place(c, target, s, &place) || !lang_register(c, n, 1, &reg) ||
		    !lang_emit(c, n,
			       (struct lang_ins){
				       .code = CODE_LOAD, .type = s->type, .d = reg, .a = place}))
			return false;
		v[0] = (struct value){.type = s->type, .reg = reg};
		if (!lang_expression(c, n->b, &v[1]) || !lang_operation(c, n, n->op, 2, v, &r))
			return false;
	}
	return lang_fit(c, n, &r, s->type) &&
	       lang_emit(c, n,
			 (struct lang_ins){
				 .code = CODE_STORE, .type = s->type, .d = place, .a = r.reg});
}

static bool assign(struct lang_checker *c, node *n)
{
	node *target = lang_node_at(c, n->a);
	struct value v[OP_OPERANDS], r;
	struct symbol *s;

	if (target->kind == NODE_INDEX)
		return lang_is_slice(c, target) ? lang_slice(c, n, target)
						: assign_element(c, n, target);
	if (n->op != OP_END) {
		if (!lang_expression(c, n->a, &v[0]) || !lang_expression(c, n->b, &v[1]) ||
		    !lang_operation(c, n, n->op, 2, v, &r))
			return false;
	} else if (!lang_expression(c, n->b, &r)) {
		return false;
	}
	s = lang_symbol(c, target);
	if (!s)
		return WRONG(c, target, E_INVALID,
			     "there is no '%.*s' here: declare it with let %.*s = ...",
			     NAME_OF(c, target), NAME_OF(c, target));
	if (s->kind == SYMBOL_NUMBER)
		return WRONG(c, target, E_INVALID,
			     "'%.*s' counts the loop: use a variable of your own",
			     NAME_OF(c, target));
	if (s->kind == SYMBOL_ARRAY)
		return WRONG(c, target, E_INVALID,
			     "'%.*s' is an array: assign to its elements, as %.*s[i] or "
			     "%.*s[:]",
			     NAME_OF(c, target), NAME_OF(c, target), NAME_OF(c, target));
	return lang_move(c, n, &r, s->type, s->reg);
}

/* A loop's statements: continue goes to their end, break to what the caller lands after it. */
static bool body(struct lang_checker *c, uint32_t id, uint32_t *breaks)
{
	uint32_t outer_breaks = c->breaks, outer_continues = c->continues;
	bool outer = c->in_loop, fine;

	c->breaks = *breaks;
	c->continues = NO_PLACE;
	c->in_loop = true;
	fine = statements(c, id);
	*breaks = c->breaks;
	if (fine)
		land(c, c->continues);
	c->breaks = outer_breaks;
	c->continues = outer_continues;
	c->in_loop = outer;
	return fine;
}

bool lang_bound(struct lang_checker *c, uint32_t id, uint32_t *reg)
{
	node *n = lang_node_at(c, id);
	struct value v = {.type = DT_INT64, .weak = true, .literal = true, .bits = {1}};

	if (id && !lang_expression(c, id, &v))
		return false;
	if ((dtype_row(v.type)->cls != CLASS_INT && dtype_row(v.type)->cls != CLASS_UINT) ||
	    v.type == DT_UINT64)
		return WRONG(c, n, E_DTYPE, "a bound is an integer, not %s: write int64(...)",
			     dtype_row(v.type)->name);
	return lang_cast(c, n, &v, DT_INT64) && (*reg = v.reg, true);
}

/* Names of a reduction are numbers of before the loop. */
static bool are_sums(struct lang_checker *c, uint32_t id)
{
	for (; id; id = lang_node_at(c, id)->next) {
		node *n = lang_node_at(c, id);
		const struct symbol *s = lang_symbol(c, n);

		if (!s || s->kind != SYMBOL_VARIABLE)
			return WRONG(c, n, E_INVALID, "there is no variable '%.*s' before the loop",
				     NAME_OF(c, n));
	}
	return true;
}

static bool claim(struct lang_checker *c, node *n)
{
	struct lang_ins claim = {.code = CODE_CLAIM, .op = n->access};

	claim.a = c->program->ncode + 1;
	return !c->inside && (n->access == CLAIM_PARALLEL || n->access == CLAIM_SIMD)
		       ? lang_register(c, n, 1, &claim.d) && lang_emit(c, n, claim)
		       : true;
}

bool lang_loop(struct lang_checker *c, node *n)
{
	struct lang_ins range = {.code = CODE_RANGE, .op = n->access}, next = {.code = CODE_NEXT};
	unsigned names = c->nsymbol;
	uint32_t start, chain = NO_PLACE;
	struct claims claims;
	struct symbol *s;

	if (!lang_bound(c, n->a, &range.a) || !lang_bound(c, n->b, &range.b) ||
	    !lang_bound(c, n->c, &range.c) || !(s = lang_declare(c, n, SYMBOL_NUMBER, DT_INT64)))
		return false;
	range.d = next.a = s->reg;
	if (!are_sums(c, (uint32_t)n->integer) || !lang_claims_open(c, n, &claims) ||
	    !claim(c, n) || !lang_emit(c, n, range))
		return false;
	start = c->program->ncode;
	next.d = NO_PLACE;
	if (!lang_emit(c, n, next))
		return false;
	chain = start;
	if (!lang_claims_turn(c, n, &claims) || !body(c, n->body, &chain) ||
	    !lang_claims_add(c, n, &claims) ||
	    !lang_emit(c, n, (struct lang_ins){.code = CODE_LOOP, .d = start}))
		return false;
	land(c, chain);
	c->nsymbol = names;
	return lang_claims_close(c, n, &claims);
}

static bool repeat(struct lang_checker *c, node *n)
{
	uint32_t start = c->program->ncode, chain, reg;

	if (!lang_truth(c, n->a, &reg) ||
	    !lang_emit(c, n, (struct lang_ins){.code = CODE_UNLESS, .a = reg, .d = NO_PLACE}))
		return false;
	chain = c->program->ncode - 1;
	if (!body(c, n->body, &chain) ||
	    !lang_emit(c, n, (struct lang_ins){.code = CODE_LOOP, .d = start}))
		return false;
	land(c, chain);
	return true;
}

/* if, and the elifs and the else that follow it. */
static bool branches(struct lang_checker *c, node *n)
{
	uint32_t done = NO_PLACE, other, reg;

	for (;; n = lang_node_at(c, n->b)) {
		if (!lang_truth(c, n->a, &reg) ||
		    !lang_emit(c, n,
			       (struct lang_ins){.code = CODE_UNLESS, .a = reg, .d = NO_PLACE}))
			return false;
		other = c->program->ncode - 1;
		if (!statements(c, n->body) || (n->b && !jump(c, n, &done)))
			return false;
		land(c, other);
		if (!n->b || n->access)
			break;
	}
	if (n->b && !statements(c, n->b))
		return false;
	land(c, done);
	return true;
}

static bool give(struct lang_checker *c, node *n)
{
	struct value v;

	if (!c->inside)
		return WRONG(c, n, E_INVALID,
			     "a kernel returns nothing: name its results after -> and assign them");
	return lang_expression(c, n->a, &v) &&
	       lang_move(c, n, &v, c->inside_type, c->inside->value) &&
	       lang_emit(c, n, (struct lang_ins){.code = CODE_RETURN});
}

bool lang_statement(struct lang_checker *c, node *n)
{
	switch ((enum lang_kind)n->kind) {
	case NODE_LET:
		return let(c, n);
	case NODE_ASSIGN:
		return assign(c, n);
	case NODE_FOR:
		return lang_loop(c, n);
	case NODE_WHILE:
		return repeat(c, n);
	case NODE_IF:
		return branches(c, n);
	case NODE_RETURN:
		return give(c, n);
	default:
		if (!c->in_loop)
			return WRONG(c, n, E_INVALID, "%s stands in no loop",
				     n->kind == NODE_BREAK ? "break" : "continue");
		return jump(c, n, n->kind == NODE_BREAK ? &c->breaks : &c->continues);
	}
}

static bool statements(struct lang_checker *c, uint32_t id)
{
	unsigned names = c->nsymbol;

	while (id) {
		node *n = lang_node_at(c, id);

		if (n->kind == NODE_FOR && lang_fuse(c, id, &id)) {
			if (!id)
				return false;
			id = lang_node_at(c, id)->next;
			continue;
		}
		if (!lang_statement(c, n))
			return false;
		id = n->next;
	}
	c->nsymbol = names;
	return true;
}

/* ---- Headings ---- */

/* Does every way through the statements end in return? */
static bool returns(const struct lang_checker *c, uint32_t id)
{
	for (; id; id = lang_node_at(c, id)->next) {
		node *n = lang_node_at(c, id);

		if (n->kind == NODE_RETURN)
			return true;
		while (n->kind == NODE_IF && returns(c, n->body) && n->b) {
			if (n->access) {
				if (returns(c, n->b))
					return true;
				break;
			}
			n = lang_node_at(c, n->b);
		}
	}
	return false;
}

static bool function(struct lang_checker *c, uint32_t id)
{
	node *n = lang_node_at(c, id);
	struct function *f = &c->function[c->nfunction];

	if (c->nfunction == LANG_FUNCTIONS)
		return WRONG(c, n, E_LIMIT, "more than %d functions", LANG_FUNCTIONS);
	for (unsigned k = 0; k < c->nfunction; k++) {
		node *other = lang_node_at(c, c->function[k].node);

		if (other->name_bytes == n->name_bytes &&
		    !memcmp(c->tree->text + other->name, c->tree->text + n->name, n->name_bytes))
			return WRONG(c, n, E_INVALID, "there are two functions '%.*s'",
				     NAME_OF(c, n));
	}
	*f = (struct function){.node = id, .entry = c->program->ncode};
	for (uint32_t k = n->a; k; k = lang_node_at(c, k)->next) {
		node *param = lang_node_at(c, k);
		struct symbol *s;

		if (param->rank || (param->access & ACCESS_OUT))
			return WRONG(c, param, E_INVALID,
				     "a function takes scalars and writes none: hand it elements");
		if (!(s = lang_declare(c, param, SYMBOL_VARIABLE, param->type)))
			return false;
		f->reg[f->nparam++] = s->reg;
	}
	if (!lang_register(c, n, 1, &f->value))
		return false;
	c->inside = f;
	c->inside_type = n->type;
	if (!returns(c, n->body))
		return WRONG(c, n, E_INVALID, "the function may end without a return");
	if (!statements(c, n->body))
		return false;
	c->nsymbol = 0;
	c->inside = NULL;
	c->nfunction++;
	return true;
}

static bool parameter(struct lang_checker *c, node *n, bool result)
{
	struct lang_program *p = c->program;
	struct lang_param *out = &p->param[p->nparam + p->nresult];
	struct symbol *s = lang_declare(c, n, n->rank ? SYMBOL_ARRAY : SYMBOL_VARIABLE, n->type);

	if (!s)
		return false;
	if (p->nparam + p->nresult == LANG_PARAMS)
		return WRONG(c, n, E_LIMIT, "more than %d parameters and results", LANG_PARAMS);
	if (!n->rank && (n->access & ACCESS_OUT))
		return WRONG(c, n, E_INVALID,
			     "a scalar that is written is a result: name it after ->");
	if (result && (n->rank || n->access))
		return WRONG(c, n, E_INVALID, "a result is a scalar: arrays are out parameters");
	s->rank = n->rank;
	s->access = result ? ACCESS_OUT : n->access ? n->access : ACCESS_IN;
	if (n->rank)
		s->reg = p->narray++;
	memcpy(out->name, c->tree->text + n->name, n->name_bytes);
	out->type = s->type;
	out->rank = s->rank;
	out->access = s->access;
	out->reg = s->reg;
	*(result ? &p->nresult : &p->nparam) += 1;
	return true;
}

static bool kernel(struct lang_checker *c)
{
	node *n = lang_node_at(c, c->tree->kernel);
	struct lang_program *p = c->program;

	memcpy(p->name, c->tree->text + n->name, n->name_bytes);
	p->base = n->integer;
	p->entry = p->ncode;
	for (uint32_t k = n->a; k; k = lang_node_at(c, k)->next)
		if (!parameter(c, lang_node_at(c, k), false))
			return false;
	for (uint32_t k = n->b; k; k = lang_node_at(c, k)->next)
		if (!parameter(c, lang_node_at(c, k), true))
			return false;
	c->results = c->nsymbol;
	return statements(c, n->body) && lang_emit(c, n, (struct lang_ins){.code = CODE_END});
}

void lang_free(struct lang_program *p)
{
	if (p) {
		free(p->code);
		free(p->constant);
	}
	free(p);
}

/* apart: loops are not joined, in whose copies each literal is a constant again. */
static enum status check(struct lang_program **out, const struct lang_tree *tree, bool apart,
			 struct err *err)
{
	struct lang_checker *c = calloc(1, sizeof *c);
	struct lang_program *p = calloc(1, sizeof *p);
	bool fine = c && p;

	if (fine) {
		*c = (struct lang_checker){.tree = tree, .program = p, .err = err, .apart = apart};
		/* A literal is a constant once at most, and each loop has a step; slices need 0, 1.
		 */
		p->cap_const = (apart ? 1 : 4) * (tree->n + 2);
		p->constant = calloc(p->cap_const, sizeof *p->constant);
		fine = p->constant != NULL;
	}
	if (!fine) {
		free(c);
		lang_free(p);
		return err_set(err, E_NOMEM, "no memory to check a kernel");
	}
	for (uint32_t k = tree->functions; fine && k; k = lang_node_at(c, k)->next)
		fine = function(c, k);
	fine = fine && kernel(c);
	enum status st = fine ? OK : c->err->code;

	free(c);
	if (fine)
		*out = p;
	else
		lang_free(p);
	return st;
}

/* What is too large with copies of its loops may not be so without. */
enum status lang_check(struct lang_program **out, const struct lang_tree *tree, struct err *err)
{
	struct err own = {0};
	enum status st = check(out, tree, false, &own);

	if (st == E_LIMIT)
		st = check(out, tree, true, &own);
	if (st && err)
		*err = own;
	return st;
}

enum status lang_program_of_text(struct lang_program **out, const char *text, size_t bytes,
				 struct err *err)
{
	struct lang_tree *tree = NULL;
	enum status st = lang_parse(&tree, text, bytes, err);

	if (!st)
		st = lang_check(out, tree, err);
	free(tree);
	return st;
}
