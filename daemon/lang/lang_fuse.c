/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_fuse.c - loops in a row, as one loop (lang_fuse.h).
 *
 * In:  the tree of statements that begin with a loop.  Out: the code of both ways, or nothing.
 * Here is told by names what a call cannot change: which variables the loops have in common, and
 * whether their bounds may be computed before the first.  A variable that each turn of all loops
 * sets before it asks for it is as good as one of each.  What a guess refuses (lang_fusion_guess)
 * is taken back: texts have copies of loops only where calls are likely to use them. */
#include "lang_fuse_parts.h"

#include <string.h>

#define NAMES_MAX 48 /* variables of before that a loop names */
#define ITEMS_MAX 32 /* statements of the loops that are joined */

/* A variable of before the loop that its body names. */
struct variable {
	const struct symbol *symbol;
	bool written, own; /* own: each turn sets it before it reads it */
};

struct row {
	unsigned n;
	uint32_t loop[LANG_FUSED];
	unsigned names[LANG_FUSED];
	struct variable variable[LANG_FUSED][NAMES_MAX];
};

/* ---- What a loop names ---- */

typedef bool asks_fn(struct lang_checker *c, node *n, void *data);

/* Is it so of one of the nodes from here on? */
static bool any(struct lang_checker *c, uint32_t id, asks_fn *asks, void *data)
{
	for (; id; id = lang_node_at(c, id)->next) {
		node *n = lang_node_at(c, id);

		if (asks(c, n, data) || any(c, n->a, asks, data) || any(c, n->b, asks, data) ||
		    any(c, n->c, asks, data) || any(c, n->body, asks, data))
			return true;
	}
	return false;
}

static bool is_of(struct lang_checker *c, node *n, void *symbol)
{
	return (n->kind == NODE_NAME || n->kind == NODE_LET) && lang_symbol(c, n) == symbol;
}

static bool is_called(struct lang_checker *c, node *n, void *data)
{
	node *loop = data;

	return n->kind == NODE_NAME && n->name_bytes == loop->name_bytes &&
	       !memcmp(c->tree->text + n->name, c->tree->text + loop->name, n->name_bytes);
}

/* Of one node alone, whatever follows it. */
static bool mentions(struct lang_checker *c, node *n, const struct symbol *s)
{
	void *symbol = (void *)(uintptr_t)s;

	return is_of(c, n, symbol) || any(c, n->a, is_of, symbol) || any(c, n->b, is_of, symbol) ||
	       any(c, n->c, is_of, symbol) || any(c, n->body, is_of, symbol);
}

/* What is left alone: jumps out of a turn, loops of no known number, slices, what is claimed of
 * loops. */
static bool is_odd(struct lang_checker *c, node *n, void *data)
{
	switch ((enum lang_kind)n->kind) {
	case NODE_WHILE:
	case NODE_RETURN:
	case NODE_BREAK:
	case NODE_CONTINUE:
	case NODE_SLICE:
		return true;
	case NODE_FOR:
		return n->access != CLAIM_NONE || n->integer;
	case NODE_CALL:
		return lang_reduction_named(c, n) != OP_END;
	case NODE_BINARY:
		return lang_is_product(n);
	default:
		return false;
	}
}

/* Is a bound computed of more than numbers and variables? */
static bool is_deep(struct lang_checker *c, node *n, void *data)
{
	return n->kind == NODE_INDEX || (n->kind == NODE_CALL && lang_function(c, n)) ||
	       is_odd(c, n, data);
}

static bool are_simple(struct lang_checker *c, node *loop)
{
	return !any(c, loop->a, is_deep, NULL) && !any(c, loop->b, is_deep, NULL);
}

/* The number that a step is; 0: it is none that is known here. */
int64_t lang_fuse_step(const struct lang_checker *c, node *loop)
{
	node *n = lang_node_at(c, loop->c);
	int64_t sign = 1;

	if (!loop->c)
		return 1;
	if (n->kind == NODE_UNARY && n->op == OP_NEGATIVE) {
		n = lang_node_at(c, n->a);
		sign = -1;
	}
	return n->kind == NODE_INT ? sign * n->integer : 0;
}

/* The value that an assignment to the variable takes; 0: it is no such. */
static uint32_t value_to(struct lang_checker *c, node *n, const struct symbol *s)
{
	if (n->kind == NODE_LET)
		return lang_symbol(c, n) == s ? n->a : 0;
	return n->kind == NODE_ASSIGN && n->op == OP_END &&
			       lang_node_at(c, n->a)->kind == NODE_NAME &&
			       lang_symbol(c, lang_node_at(c, n->a)) == s
		       ? n->b
		       : 0;
}

/* Is what each turn does first with the variable to set it? */
static bool is_own(struct lang_checker *c, uint32_t body, const struct symbol *s)
{
	uint32_t value;

	for (uint32_t id = body; id; id = lang_node_at(c, id)->next) {
		node *n = lang_node_at(c, id);

		if (!mentions(c, n, s))
			continue;
		value = value_to(c, n, s);
		return value && !mentions(c, lang_node_at(c, value), s);
	}
	return false;
}

struct naming {
	struct variable *variable;
	unsigned n;
};

static struct variable *variable_of(struct naming *x, const struct symbol *s)
{
	for (unsigned k = 0; k < x->n; k++)
		if (x->variable[k].symbol == s)
			return &x->variable[k];
	if (x->n == NAMES_MAX)
		return NULL;
	x->variable[x->n] = (struct variable){.symbol = s};
	return &x->variable[x->n++];
}

/* true: there are too many. */
static bool take_name(struct lang_checker *c, node *n, void *data)
{
	node *target = n->kind == NODE_ASSIGN ? lang_node_at(c, n->a) : n;
	const struct symbol *s;
	struct variable *v;

	if (target->kind != NODE_NAME && target->kind != NODE_LET)
		return false;
	s = lang_symbol(c, target);
	if (!s || s->kind == SYMBOL_ARRAY)
		return false;
	v = variable_of(data, s);
	if (v)
		v->written |= n->kind != NODE_NAME;
	return !v;
}

static bool find_names(struct lang_checker *c, struct row *row, unsigned k, node *loop)
{
	struct naming x = {row->variable[k], 0};

	if (any(c, loop->body, take_name, &x))
		return false;
	for (unsigned i = 0; i < x.n; i++)
		x.variable[i].own = is_own(c, loop->body, x.variable[i].symbol);
	row->names[k] = x.n;
	return true;
}

/* ---- Which loops ---- */

static bool may_be_one_of(struct lang_checker *c, node *loop)
{
	return loop->kind == NODE_FOR && loop->access == CLAIM_NONE && !loop->integer &&
	       loop->body && lang_fuse_step(c, loop) && are_simple(c, loop) &&
	       !any(c, loop->body, is_odd, NULL);
}

/* Have the bodies no variable in common, but what is each one's own? */
static bool share_none(const struct row *row, unsigned k, unsigned l)
{
	for (unsigned i = 0; i < row->names[k]; i++)
		for (unsigned j = 0; j < row->names[l]; j++) {
			const struct variable *x = &row->variable[k][i], *y = &row->variable[l][j];

			if (x->symbol == y->symbol && (x->written || y->written) &&
			    !(x->own && y->own))
				return false;
		}
	return true;
}

/* Do the bounds of a loop ask for nothing that one before it writes? */
static bool bounds_stay(struct lang_checker *c, const struct row *row, unsigned k, node *loop)
{
	for (unsigned i = 0; i < row->names[k]; i++) {
		const struct variable *x = &row->variable[k][i];

		if (x->written && ((loop->a && mentions(c, lang_node_at(c, loop->a), x->symbol)) ||
				   mentions(c, lang_node_at(c, loop->b), x->symbol)))
			return false;
	}
	return true;
}

/* Does the loop go with those that the row has? */
static bool goes_with(struct lang_checker *c, struct row *row, node *loop)
{
	unsigned l = row->n;

	if (!may_be_one_of(c, loop) || !find_names(c, row, l, loop))
		return false;
	if (l && lang_fuse_step(c, loop) != lang_fuse_step(c, lang_node_at(c, row->loop[0])))
		return false;
	for (unsigned k = 0; k < l; k++)
		if (!share_none(row, k, l) || !bounds_stay(c, row, k, loop))
			return false;
	return true;
}

static void find_row(struct lang_checker *c, struct row *row, uint32_t id)
{
	for (row->n = 0; id && row->n < LANG_FUSED; id = lang_node_at(c, id)->next) {
		if (!goes_with(c, row, lang_node_at(c, id)))
			return;
		row->loop[row->n++] = id;
	}
}

/* ---- The one loop ---- */

/* The number of a joined loop by the name that this one has for it. */
bool lang_fuse_number(struct lang_checker *c, node *loop, uint32_t reg)
{
	struct symbol *s = lang_symbol(c, loop);

	if (s && s->kind == SYMBOL_NUMBER && s->reg == reg)
		return true;
	s = lang_declare(c, loop, SYMBOL_NUMBER, DT_INT64);
	if (s)
		s->reg = reg;
	return s != NULL;
}

/* The bounds of the loops, in registers behind each other; first: those of the first one, as they
 * are. */
bool lang_fuse_bounds(struct lang_checker *c, const struct fuse_item *loop, unsigned n,
		      uint32_t *pairs, uint32_t *first)
{
	if (!lang_register(c, lang_node_at(c, loop->id), 2 * n, pairs))
		return false;
	for (unsigned k = 0; k < n; k++) {
		node *x = lang_node_at(c, loop[k].id);
		uint32_t own[3], *reg = k ? own : first;

		if (!lang_bound(c, x->a, &reg[0]) || !lang_bound(c, x->b, &reg[1]) ||
		    (!k && !lang_bound(c, x->c, &reg[2])))
			return false;
		for (unsigned i = 0; i < 2; i++)
			if (!lang_emit(c, x,
				       (struct lang_ins){.code = CODE_MOVE,
							 .type = DT_INT64,
							 .d = *pairs + 2 * k + i,
							 .a = reg[i]}))
				return false;
	}
	return true;
}

static bool seam(struct lang_checker *c, node *n, unsigned levels)
{
	return !levels ||
	       lang_emit(c, n, (struct lang_ins){.code = CODE_SEAM, .op = (uint16_t)levels});
}

/* How many loops that stand in a row here can be one as well. */
static unsigned inner_row(struct lang_checker *c, const struct fuse_item *item, unsigned n)
{
	static _Thread_local struct row row;

	row.n = 0;
	while (row.n < n && row.n < LANG_FUSED &&
	       goes_with(c, &row, lang_node_at(c, item[row.n].id))) {
		row.loop[row.n] = item[row.n].id;
		row.n++;
	}
	return row.n;
}

static bool inner_loop(struct lang_checker *c, const struct fuse_item *item, unsigned n)
{
	node *x = lang_node_at(c, item->id);
	uint32_t first[3], pairs;
	struct lang_ins told = {.code = CODE_FUSES, .op = 1, .c = n};

	if (!lang_fuse_bounds(c, item, n, &pairs, first) || !lang_register(c, x, 1, &told.d))
		return false;
	told.a = c->program->ncode + 1;
	told.b = pairs;
	return lang_emit(c, x, told) && lang_fuse_one(c, item, n, pairs, first, true);
}

/* Statements in their order.  What a loop declares is forgotten where the next one begins, unless
 * an inner loop goes on there. */
static bool items(struct lang_checker *c, const struct fuse_item *item, unsigned n, uint32_t number,
		  bool deep)
{
	unsigned names = c->nsymbol, row;

	for (unsigned i = 0; i < n; i += row) {
		node *x = lang_node_at(c, item[i].id);

		if (item[i].levels)
			c->nsymbol = names;
		row = 1;
		if (!seam(c, x, item[i].levels) ||
		    !lang_fuse_number(c, lang_node_at(c, item[i].loop), number))
			return false;
		if (deep && x->kind == NODE_FOR && i + 1 < n) {
			for (unsigned k = i + 1;
			     k < n && lang_node_at(c, item[k].id)->kind == NODE_FOR; k++)
				if (!lang_fuse_number(c, lang_node_at(c, item[k].loop), number))
					return false;
			row = inner_row(c, item + i, n - i);
		}
		if (row > 1 ? !inner_loop(c, item + i, row) : !lang_statement(c, x))
			return false;
		row += !row;
	}
	c->nsymbol = names;
	return true;
}

/* The bodies of the loops, one behind the other; false: there are too many statements. */
static bool find_items(const struct lang_checker *c, const struct fuse_item *loop, unsigned n,
		       struct fuse_item *out, unsigned *count)
{
	*count = 0;
	for (unsigned k = 0; k < n; k++) {
		uint32_t id = lang_node_at(c, loop[k].id)->body;

		for (unsigned levels = k ? 1 + loop[k].levels : 0; id;
		     id = lang_node_at(c, id)->next, levels = 0) {
			if (*count == ITEMS_MAX)
				return false;
			out[(*count)++] = (struct fuse_item){id, loop[k].id, levels};
		}
	}
	return true;
}

/* first: its start, stop and step. */
bool lang_fuse_one(struct lang_checker *c, const struct fuse_item *loop, unsigned n, uint32_t pairs,
		   const uint32_t *first, bool deep)
{
	node *x = lang_node_at(c, loop->id);
	struct lang_ins range = {.code = CODE_RANGE, .a = first[0], .b = first[1], .c = first[2]};
	struct fuse_item item[ITEMS_MAX];
	bool outer = c->in_loop;
	uint32_t start;
	unsigned count;

	if (!find_items(c, loop, n, item, &count) || !lang_register(c, x, 4, &range.d) ||
	    !lang_emit(c, x, range))
		return false;
	start = c->program->ncode;
	if (!lang_emit(c, x, (struct lang_ins){.code = CODE_NEXT, .a = range.d}))
		return false;
	c->in_loop = true;
	if (!items(c, item, count, range.d, deep) ||
	    !lang_emit(c, x, (struct lang_ins){.code = CODE_LOOP, .d = start}))
		return false;
	c->in_loop = outer;
	c->program->code[start].d = c->program->ncode;
	return true;
}

/* ---- Trying ---- */

struct fuse_before lang_fuse_remember(const struct lang_checker *c)
{
	const struct lang_program *p = c->program;

	return (struct fuse_before){.ncode = p->ncode,
				    .nconst = p->nconst,
				    .nreg = p->nreg,
				    .zero = c->zero,
				    .one = c->one,
				    .breaks = c->breaks,
				    .continues = c->continues,
				    .nsymbol = c->nsymbol,
				    .nclaimed = c->nclaimed,
				    .chain = c->chain,
				    .in_loop = c->in_loop,
				    .apart = c->apart,
				    .err = c->err};
}

void lang_fuse_take_back(struct lang_checker *c, const struct fuse_before *b)
{
	struct lang_program *p = c->program;

	p->ncode = b->ncode;
	p->nconst = b->nconst;
	p->nreg = b->nreg;
	c->zero = b->zero;
	c->one = b->one;
	c->breaks = b->breaks;
	c->continues = b->continues;
	c->nsymbol = b->nsymbol;
	c->nclaimed = b->nclaimed;
	c->chain = b->chain;
	c->in_loop = b->in_loop;
}

/* CODE_FUSES at *fuses, about the loop behind, and the jump around that. */
bool lang_fuse_question(struct lang_checker *c, node *n, struct lang_ins *ask, uint32_t *fuses)
{
	if (!lang_register(c, n, 1, &ask->d))
		return false;
	*fuses = c->program->ncode;
	ask->a = *fuses + 2;
	return lang_emit(c, n, *ask) &&
	       lang_emit(c, n, (struct lang_ins){.code = CODE_UNLESS, .a = ask->d});
}

/* The question, and the one loop. */
static bool written(struct lang_checker *c, const struct fuse_item *loop, unsigned n, bool deep,
		    uint32_t *fuses)
{
	node *x = lang_node_at(c, loop->id);
	struct lang_ins ask = {.code = CODE_FUSES, .to = deep, .c = n};
	uint32_t first[3];

	return lang_fuse_bounds(c, loop, n, &ask.b, first) &&
	       lang_fuse_question(c, x, &ask, fuses) &&
	       lang_fuse_one(c, loop, n, ask.b, first, deep);
}

/* How many of the loops a guess says may be one: n, and they are written. */
static unsigned try(struct lang_checker *c, const struct fuse_item *loop, unsigned n, bool deep,
		    uint32_t *fuses)
{
	struct fuse_before b = lang_fuse_remember(c);
	struct err unheard = {0};
	unsigned fine = 0;

	/* Those of their loops that stand in a row are joined by the question before, or not. */
	c->err = &unheard;
	c->apart = true;
	if (written(c, loop, n, deep, fuses) && c->program->ncode < LANG_COPIES_MAX)
		fine = lang_fusion_guess(c->program, *fuses, deep);
	c->err = b.err;
	c->apart = b.apart;
	if (fine < n)
		lang_fuse_take_back(c, &b);
	return fine;
}

static bool has_inner(const struct lang_checker *c, node *loop)
{
	uint32_t id = loop->body;

	while (id && lang_node_at(c, id)->kind != NODE_FOR)
		id = lang_node_at(c, id)->next;
	return id != 0;
}

/* As many as may be; 0: not two. */
static unsigned try_some(struct lang_checker *c, const struct fuse_item *loop, unsigned n,
			 uint32_t *fuses)
{
	bool nested = has_inner(c, lang_node_at(c, loop->id));

	for (unsigned shallow = 0; shallow < (nested ? 2 : 1); shallow++)
		for (unsigned want = n, fine; want > 1; want = fine) {
			fine = try(c, loop, want, !shallow, fuses);
			if (fine == want)
				return want;
		}
	return 0;
}

/* ---- Loops in a loop ---- */

/* Do the bounds of a loop name what the one around it counts? */
static bool counts_by(struct lang_checker *c, node *loop, node *around)
{
	void *named = (void *)(uintptr_t)around;

	return any(c, loop->a, is_called, named) || any(c, loop->b, is_called, named);
}

/* The loops in a loop in which nothing else stands, whose bounds are the same in each of its turns;
 * 0: it is none.  sets: they set variables of before. */
unsigned lang_fuse_inside(struct lang_checker *c, node *around, struct fuse_item *loop, bool *sets)
{
	static _Thread_local struct row row;
	uint32_t behind;

	*sets = false;

	if (!may_be_one_of(c, around))
		return 0;
	find_row(c, &row, around->body);
	if (!row.n)
		return 0;
	behind = lang_node_at(c, row.loop[row.n - 1])->next;
	for (unsigned l = 0; l < row.n; l++) {
		node *x = lang_node_at(c, row.loop[l]);

		loop[l] = (struct fuse_item){row.loop[l], 0, 0};
		for (unsigned i = 0; i < row.names[l]; i++)
			*sets |= row.variable[l][i].written;
		if (lang_fuse_step(c, x) != 1 || counts_by(c, x, around))
			return 0;
		for (unsigned k = 0; k < row.n; k++)
			if (!bounds_stay(c, &row, k, x))
				return 0;
	}
	return behind ? 0 : row.n;
}

bool lang_fuse_flat(const struct lang_checker *c, const struct fuse_item *loop, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		if (has_inner(c, lang_node_at(c, loop[k].id)))
			return false;
	return true;
}

/* As they are written; false: an error. */
bool lang_fuse_apart(struct lang_checker *c, const struct fuse_item *loop, unsigned n,
		     uint32_t fuses)
{
	node *x = lang_node_at(c, loop->id);
	uint32_t jump = c->program->ncode;

	if (!lang_emit(c, x, (struct lang_ins){.code = CODE_JUMP}))
		return false;
	c->program->code[fuses + 1].d = c->program->ncode;
	for (unsigned k = 0; k < n; k++)
		if (!lang_loop(c, lang_node_at(c, loop[k].id)))
			return false;
	c->program->code[jump].d = c->program->ncode;
	return true;
}

bool lang_fuse(struct lang_checker *c, uint32_t id, uint32_t *last)
{
	static _Thread_local struct row row;
	struct fuse_item loop[LANG_FUSED];
	uint32_t fuses = 0;
	unsigned n;

	if (c->apart || c->inside || c->program->ncode > LANG_COPIES_MAX)
		return false;
	find_row(c, &row, id);
	for (unsigned k = 0; k < row.n; k++)
		loop[k] = (struct fuse_item){row.loop[k], 0, 0};
	n = row.n > 1 ? try_some(c, loop, row.n, &fuses) : 0;
	if (!n) {
		loop[0] = (struct fuse_item){id, 0, 0};
		n = lang_fuse_strips(c, lang_node_at(c, id), &fuses);
	}
	if (!n) {
		*last = id;
		return lang_fuse_leaning(c, id);
	}
	*last = lang_fuse_apart(c, loop, n, fuses) ? loop[n - 1].id : 0;
	return true;
}
