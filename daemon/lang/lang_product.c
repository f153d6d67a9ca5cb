/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_product.c - v @ w: products of matrices and vectors as slices.
 *
 * In:  two expressions of slices, of one or two axes each.  Out: parts, as lang_slice.c makes them,
 * whose views have the axes of the product's elements; and for each element a loop over its terms,
 * whose sum is that of dot.  Of two vectors it is dot. */
#include "lang_check.h"

#define WRONG(c, n, code, ...)                                                                     \
	(lang_error((c)->err, code, (n)->line, (n)->column, __VA_ARGS__), false)

/* Of the elements of one side: which axis of the product they lie along. */
enum side { LEFT, RIGHT };

bool lang_is_product(node *n)
{
	return n->kind == NODE_BINARY && n->op == OP_MATMUL;
}

static unsigned more_of(unsigned a, unsigned b)
{
	return a > b ? a : b;
}

static unsigned axes_of(struct lang_checker *c, uint32_t id);

static unsigned axes_of_list(struct lang_checker *c, node *n)
{
	unsigned axes = 0;

	for (uint32_t k = n->a; k; k = lang_node_at(c, k)->next)
		axes = more_of(axes, axes_of(c, k));
	return axes;
}

static unsigned axes_of_node(struct lang_checker *c, node *n)
{
	const struct symbol *s;

	switch ((enum lang_kind)n->kind) {
	case NODE_INDEX:
		return lang_slices(c, n);
	case NODE_NAME:
		s = lang_symbol(c, n);
		return s && s->kind == SYMBOL_ARRAY ? s->rank : 0;
	case NODE_BINARY:
		return lang_is_product(n) ? lang_product_axes(c, n)
					  : more_of(axes_of(c, n->a), axes_of(c, n->b));
	case NODE_CALL:
		return lang_is_one_value(c, n) ? 0 : axes_of_list(c, n);
	case NODE_UNARY:
		return axes_of(c, n->a);
	default:
		return 0;
	}
}

/* Of a value in a product, where names of arrays are all of them; as far as its text tells, for
 * nothing is checked yet. */
static unsigned axes_of(struct lang_checker *c, uint32_t id)
{
	unsigned axes = ++c->chain > LANG_CHAIN ? 0 : axes_of_node(c, lang_node_at(c, id));

	c->chain--;
	return axes;
}

unsigned lang_product_axes(struct lang_checker *c, node *n)
{
	unsigned axes = axes_of(c, n->a) + axes_of(c, n->b);

	return axes > 2 ? axes - 2 : 0;
}

/* ---- Parts ---- */

/* A register of a view's extent or stride along an axis counted from the last; 0: it has none. */
static uint32_t field(const struct part *p, unsigned last, unsigned which)
{
	return last >= p->axes ? 0 : p->view + 1 + 2 * (p->axes - 1 - last) + which;
}

/* to = from, or none where there is no such register. */
static bool move_or(struct lang_checker *c, node *n, uint32_t to, uint32_t from, uint32_t none)
{
	return lang_emit(
		c, n,
		(struct lang_ins){
			.code = CODE_MOVE, .type = DT_INT64, .d = to, .a = from ? from : none});
}

/* The product's axes of a side: a matrix has one of them, its other axis than that of the terms. */
static bool turn_axes(struct lang_checker *c, node *n, const struct part *p, uint32_t view,
		      enum side side, bool matrix, unsigned all)
{
	unsigned own = !matrix ? all : side == LEFT ? 0 : all - 1, other = side == LEFT;
	uint32_t one, none;

	if (!lang_small(c, n, 1, &one) || !lang_small(c, n, 0, &none))
		return false;
	for (unsigned k = 0; k < all; k++)
		if (!move_or(c, n, view + 1 + 2 * k, k == own ? field(p, other, 0) : 0, one) ||
		    !move_or(c, n, view + 2 + 2 * k, k == own ? field(p, other, 1) : 0, none))
			return false;
	return true;
}

/* The view of the rows, or columns, that elements are made of, along the product's axes; the terms
 * of each lie along `along`. */
static bool turn(struct lang_checker *c, node *n, struct part *p, enum side side, bool matrix,
		 unsigned all)
{
	uint32_t none, view;

	if (!lang_small(c, n, 0, &none) || !lang_register(c, n, 1 + 2 * all, &view) ||
	    !lang_emit(c, n,
		       (struct lang_ins){
			       .code = CODE_SPOT, .d = view, .a = p->view, .b = none, .c = none}) ||
	    !turn_axes(c, n, p, view, side, matrix, all))
		return false;
	/* The last axis, but of a matrix on the right the first. */
	p->along = field(p, side == RIGHT && matrix, 1);
	p->along = p->along ? p->along : none;
	p->whole = p->view;
	p->whole_axes = p->axes;
	p->view = view;
	p->axes = all;
	return true;
}

/* One side's parts, from `from` on: its extents together. */
static bool side_of(struct lang_checker *c, node *n, uint32_t id, struct nest *nest)
{
	unsigned from = c->nparts;

	if (!lang_prepare(c, id) || !lang_broadcast(c, n, from, nest))
		return false;
	if (nest->axes < 1 || nest->axes > 2)
		return WRONG(c, n, E_SHAPE, "@ takes slices of one axis or two");
	return true;
}

static bool both_sides(struct lang_checker *c, node *n, struct product *p)
{
	struct nest left, right;
	unsigned second, all;
	uint32_t none;

	if (!side_of(c, n, n->a, &left))
		return false;
	second = c->nparts;
	if (!side_of(c, n, n->b, &right))
		return false;
	p->to = c->nparts;
	p->terms = left.extent[left.axes - 1];
	all = left.axes + right.axes - 2;
	if (!lang_register(c, n, 1, &none) || !lang_join(c, n, none, p->terms, right.extent[0], 2))
		return false;
	for (unsigned k = p->from; k < p->to; k++)
		if (c->part[k].axes && !turn(c, n, &c->part[k], k < second ? LEFT : RIGHT,
					     (k < second ? left.axes : right.axes) == 2, all))
			return false;
	return true;
}

bool lang_product_prepare(struct lang_checker *c, node *n, uint32_t id)
{
	struct product *p = &c->product[c->nproducts];
	unsigned before = c->nproducts;
	bool whole = c->whole, fine;

	if (whole || c->in_product)
		return WRONG(c, n, E_SHAPE,
			     "a product inside of %s: assign it to an array, and use that",
			     c->in_product ? "a product" : "a reduction");
	if (before == LANG_PRODUCTS)
		return WRONG(c, n, E_LIMIT, "more than %d products in one expression",
			     LANG_PRODUCTS);
	*p = (struct product){.id = id, .from = c->nparts};
	c->whole = c->in_product = true;
	fine = both_sides(c, n, p);
	c->whole = whole;
	c->in_product = false;
	c->nproducts++;
	return fine;
}

/* ---- Elements ---- */

static const struct product *product_of(const struct lang_checker *c, uint32_t id)
{
	for (unsigned k = c->products_from; k < c->nproducts; k++)
		if (c->product[k].id == id)
			return &c->product[k];
	return NULL;
}

/* The loop over the terms of one element.  start: its CODE_NEXT. */
static bool terms(struct lang_checker *c, node *n, const struct product *p, uint32_t *start)
{
	struct lang_ins range = {.code = CODE_RANGE, .b = p->terms};

	if (!lang_small(c, n, 0, &range.a) || !lang_small(c, n, 1, &range.c) ||
	    !lang_register(c, n, 4, &range.d) || !lang_emit(c, n, range))
		return false;
	*start = c->program->ncode;
	if (!lang_emit(c, n, (struct lang_ins){.code = CODE_NEXT, .a = range.d}))
		return false;
	for (unsigned k = p->from; k < p->to; k++)
		if (c->part[k].whole_axes &&
		    !lang_advance(c, n, &c->part[k].spot, range.d, c->part[k].along))
			return false;
	return true;
}

/* Its sum.  Nobody reads the parts behind it. */
static bool sum_of(struct lang_checker *c, node *n, const struct product *p, struct value *out)
{
	uint32_t first = c->program->ncode, start;
	struct lang_ins ins = {.code = CODE_BEGIN};
	struct op_sig sig;
	struct value v;

	if (!lang_emit(c, n, ins) || !terms(c, n, p, &start) ||
	    !lang_taken(c, n, OP_MATMUL, &sig, &v))
		return false;
	ins = lang_take(OP_MATMUL, &v);
	if (!lang_emit(c, n, ins) ||
	    !lang_emit(c, n, (struct lang_ins){.code = CODE_LOOP, .d = start}))
		return false;
	c->program->code[start].d = c->program->ncode;
	c->program->code[first].op = ins.op;
	c->program->code[first].type = ins.type;
	ins.code = CODE_GIVE;
	ins.to = ins.type;
	if (!lang_register(c, n, 1, &ins.d) || !lang_emit(c, n, ins))
		return false;
	*out = (struct value){.type = ins.type, .reg = ins.d, .made = c->program->ncode};
	return lang_cast(c, n, out, sig.out);
}

bool lang_product(struct lang_checker *c, node *n, uint32_t id, struct value *out)
{
	const struct product *p = product_of(c, id);

	if (p)
		return sum_of(c, n, p, out);
	if (lang_product_axes(c, n))
		return WRONG(c, n, E_SHAPE,
			     "this product is an array: assign it to a slice, as y[:] = a @ x");
	return lang_reduction(c, n, OP_MATMUL, out);
}
