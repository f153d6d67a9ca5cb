/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_claim.c - sums of floats that a loop claims: reduction(+: s).
 *
 * In:  a loop whose body only adds to a variable.  Out: each turn adds to a number of its own,
 * which begins as what changes nothing; these are added up by the tree of reductions, and the
 * variable gets the whole behind the loop.  A claim that the body does not keep to changes nothing,
 * nor does one of integers, whose sums have the same bits in any order. */
#include "lang_claim.h"

#include <string.h>

static bool is_named(const struct lang_checker *c, node *n, node *name)
{
	return n->kind == NODE_NAME && n->name_bytes == name->name_bytes &&
	       !memcmp(c->tree->text + n->name, c->tree->text + name->name, n->name_bytes);
}

/* Does one of the nodes from here on name it? */
static bool names(const struct lang_checker *c, uint32_t id, node *name)
{
	for (; id; id = lang_node_at(c, id)->next) {
		node *n = lang_node_at(c, id);

		if (is_named(c, n, name) || names(c, n->a, name) || names(c, n->b, name) ||
		    names(c, n->c, name) || names(c, n->body, name))
			return true;
	}
	return false;
}

/* Are the operands of s = s + x, or of s = x + s, s and what does not name it? */
static bool is_one_side(const struct lang_checker *c, node *value, node *name)
{
	node *a = lang_node_at(c, value->a), *b = lang_node_at(c, value->b);

	if (is_named(c, a, name))
		return !names(c, value->b, name);
	return value->op != OP_SUBTRACT && is_named(c, b, name) && !names(c, value->a, name);
}

/* Is the assignment s += x, or one that says the same? */
static bool adds(const struct lang_checker *c, node *n, node *name)
{
	node *value = lang_node_at(c, n->b);
	unsigned op = n->op != OP_END ? n->op : value->kind == NODE_BINARY ? value->op : OP_END;

	if (op != name->op && !(name->op == OP_ADD && op == OP_SUBTRACT))
		return false;
	return n->op != OP_END ? !names(c, n->b, name) : is_one_side(c, value, name);
}

static bool keep_to(const struct lang_checker *c, uint32_t id, node *name, bool inside);

/* Does the statement do nothing to the variable but to add to it, and come to the end of the turn?
 * inside: it is in a loop of its own. */
static bool keeps_to(const struct lang_checker *c, node *n, node *name, bool inside)
{
	switch ((enum lang_kind)n->kind) {
	case NODE_ASSIGN:
		if (is_named(c, lang_node_at(c, n->a), name))
			return adds(c, n, name);
		break;
	case NODE_FOR:
	case NODE_WHILE:
		return !names(c, n->a, name) && !names(c, n->b, name) && !names(c, n->c, name) &&
		       keep_to(c, n->body, name, true);
	case NODE_IF:
		return !names(c, n->a, name) && keep_to(c, n->body, name, inside) &&
		       keep_to(c, n->b, name, inside);
	case NODE_RETURN:
		return false;
	case NODE_BREAK:
		return inside;
	default:
		break;
	}
	return !names(c, n->a, name) && !names(c, n->b, name);
}

static bool keep_to(const struct lang_checker *c, uint32_t id, node *name, bool inside)
{
	for (; id; id = lang_node_at(c, id)->next)
		if (!keeps_to(c, lang_node_at(c, id), name, inside))
			return false;
	return true;
}

/* Is it one whose order has bits? */
static bool has_tree(const struct symbol *s, unsigned op)
{
	unsigned cls = dtype_row(s->type)->cls;

	return (op == OP_ADD || op == OP_MULTIPLY) && s->type != DT_FLOAT16 &&
	       (cls == CLASS_FLOAT || cls == CLASS_COMPLEX);
}

static struct lang_ins instruction(const struct claimed *x, enum lang_code code)
{
	return (struct lang_ins){.code = (uint8_t)code,
				 .type = x->symbol->type,
				 .to = x->symbol->type,
				 .op = x->op == OP_ADD ? OP_SUM : OP_PROD,
				 .a = x->part,
				 .c = x->number};
}

/* One name of the list. */
static bool claimed(struct lang_checker *c, node *loop, node *name, struct claims *out)
{
	struct symbol *s = lang_symbol(c, name);
	struct claimed *x = &out->claimed[out->n];

	for (unsigned k = 0; k < out->n; k++)
		if (out->claimed[k].symbol == s)
			return true;
	if (!has_tree(s, name->op) || !keep_to(c, loop->body, name, false))
		return true;
	if (c->nclaimed == LANG_CLAIMED) {
		lang_error(c->err, E_LIMIT, name->line, name->column,
			   "more than %d sums of floats that loops claim", LANG_CLAIMED);
		return false;
	}
	*x = (struct claimed){.symbol = s, .reg = s->reg, .number = c->nclaimed++, .op = name->op};
	out->n++;
	return lang_register(c, name, 1, &x->part) && lang_emit(c, name, instruction(x, CODE_SUM));
}

bool lang_claims_open(struct lang_checker *c, node *loop, struct claims *out)
{
	out->n = 0;
	for (uint32_t id = (uint32_t)loop->integer; id; id = lang_node_at(c, id)->next)
		if (!claimed(c, loop, lang_node_at(c, id), out))
			return false;
	return true;
}

bool lang_claims_turn(struct lang_checker *c, node *loop, struct claims *claims)
{
	for (unsigned k = 0; k < claims->n; k++) {
		struct claimed *x = &claims->claimed[k];
		double nothing = x->op == OP_ADD ? -0.0 : 1.0;
		struct value v = {.type = DT_COMPLEX128, .literal = true};

		/* Of a sum both parts; of a product the imaginary one is 0. */
		memcpy(&v.bits[0], &nothing, sizeof nothing);
		if (x->op == OP_ADD)
			memcpy(&v.bits[1], &nothing, sizeof nothing);
		x->symbol->reg = x->part;
		if (!lang_cast(c, loop, &v, x->symbol->type) ||
		    !lang_move(c, loop, &v, x->symbol->type, x->part))
			return false;
	}
	return true;
}

bool lang_claims_add(struct lang_checker *c, node *loop, struct claims *claims)
{
	for (unsigned k = 0; k < claims->n; k++) {
		struct claimed *x = &claims->claimed[k];

		x->symbol->reg = x->reg;
		if (!lang_emit(c, loop, instruction(x, CODE_ADDEND)))
			return false;
	}
	return true;
}

bool lang_claims_close(struct lang_checker *c, node *loop, struct claims *claims)
{
	for (unsigned k = 0; k < claims->n; k++) {
		struct claimed *x = &claims->claimed[k];
		struct lang_ins summed = instruction(x, CODE_SUMMED);
		struct value v[OP_OPERANDS] = {{0}}, r;

		if (!lang_register(c, loop, 1, &summed.d) || !lang_emit(c, loop, summed))
			return false;
		v[0] = (struct value){.type = x->symbol->type, .reg = x->reg};
		v[1] = (struct value){.type = x->symbol->type, .reg = summed.d};
		if (!lang_operation(c, loop, x->op, 2, v, &r) ||
		    !lang_move(c, loop, &r, x->symbol->type, x->reg))
			return false;
	}
	return true;
}
