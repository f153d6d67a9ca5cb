/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_slice.c - slices, as loops over their elements.
 *
 * In:  the tree of an assignment to a slice, or of a reduction.  Out: first what is the same for
 * all elements (parts): views, and the scalars between them; then a loop for each axis, and in the
 * innermost the expression of one element, which finds its parts done (lang_expression).
 *
 * NumPy computes the whole right side before it stores anything.  So the run looks whether a view
 * that is read meets the one that is written other than in step, and if so puts the values aside
 * until all are there. */
#include <string.h>

#include "lang_check.h"

#define WRONG(c, n, code, ...)                                                                     \
	(lang_error((c)->err, code, (n)->line, (n)->column, __VA_ARGS__), false)
/* Of a reduction, or of a product of two vectors. */
#define CALLED(c, n)                                                                               \
	(n)->kind == NODE_BINARY ? 1 : (int)(n)->name_bytes,                                       \
		(n)->kind == NODE_BINARY ? "@" : (c)->tree->text + (n)->name
#define NAME_OF(c, n) (int)(n)->name_bytes, (c)->tree->text + (n)->name

/* Where the parts of the expression around this one are. */
struct outer {
	unsigned from, n, products_from, products;
	bool whole;
};

static struct outer begin(struct lang_checker *c, bool whole)
{
	struct outer o = {c->parts_from, c->nparts, c->products_from, c->nproducts, c->whole};

	c->parts_from = c->nparts;
	c->products_from = c->nproducts;
	c->whole = whole;
	return o;
}

static bool end(struct lang_checker *c, struct outer o, bool fine)
{
	c->parts_from = o.from;
	c->nparts = o.n;
	c->products_from = o.products_from;
	c->nproducts = o.products;
	c->whole = o.whole;
	return fine;
}

unsigned lang_slices(const struct lang_checker *c, node *n)
{
	unsigned slices = 0;

	for (uint32_t k = n->a; k; k = lang_node_at(c, k)->next)
		slices += lang_node_at(c, k)->kind == NODE_SLICE;
	return slices;
}

bool lang_is_slice(const struct lang_checker *c, node *n)
{
	return n->kind == NODE_INDEX && lang_slices(c, n);
}

unsigned lang_reduction_named(const struct lang_checker *c, node *n)
{
	static const struct {
		const char *name;
		uint16_t op;
	} names[] = {{"sum", OP_SUM}, {"prod", OP_PROD}, {"min", OP_MIN},   {"max", OP_MAX},
		     {"any", OP_ANY}, {"all", OP_ALL},	 {"dot", OP_MATMUL}};
	bool one = n->a && !lang_node_at(c, n->a)->next;

	if (n->kind != NODE_CALL || lang_function(c, n))
		return OP_END;
	for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
		if (n->name_bytes == strlen(names[k].name) &&
		    !memcmp(c->tree->text + n->name, names[k].name, n->name_bytes))
			/* min and max of two are those of elements. */
			return one || (names[k].op != OP_MIN && names[k].op != OP_MAX)
				       ? names[k].op
				       : (unsigned)OP_END;
	return OP_END;
}

bool lang_small(struct lang_checker *c, node *n, int64_t number, uint32_t *reg)
{
	struct value v = {
		.type = DT_INT64, .weak = true, .literal = true, .bits = {(uint64_t)number}};
	uint32_t other = 0, *kept = number == 1 ? &c->one : number ? &other : &c->zero;

	if (!*kept) {
		if (!lang_cast(c, n, &v, DT_INT64))
			return false;
		*kept = v.reg + 1;
	}
	*reg = *kept - 1;
	return true;
}

/* ---- Parts ---- */

static bool is_array(struct lang_checker *c, node *n)
{
	const struct symbol *s = lang_symbol(c, n);

	return s && s->kind == SYMBOL_ARRAY;
}

bool lang_is_one_value(const struct lang_checker *c, node *n)
{
	return lang_reduction_named(c, n) != OP_END ||
	       (n->name_bytes == 3 && !memcmp(c->tree->text + n->name, "len", 3));
}

static bool call_spreads(struct lang_checker *c, node *n)
{
	bool does = false;

	if (lang_is_one_value(c, n))
		return false;
	for (uint32_t k = n->a; k && !does; k = lang_node_at(c, k)->next)
		does = lang_spreads(c, k);
	return does;
}

static bool node_spreads(struct lang_checker *c, node *n)
{
	switch ((enum lang_kind)n->kind) {
	case NODE_INDEX:
		return lang_is_slice(c, n);
	case NODE_NAME:
		return c->whole && is_array(c, n);
	case NODE_UNARY:
	case NODE_NOT:
		return lang_spreads(c, n->a);
	case NODE_BINARY:
	case NODE_AND:
	case NODE_OR:
		if (lang_is_product(n))
			return lang_product_axes(c, n) > 0;
		return lang_spreads(c, n->a) || lang_spreads(c, n->b);
	case NODE_CALL:
		return call_spreads(c, n);
	default:
		return false;
	}
}

/* Not deeper than lang_expression goes, which then says that it is too deep. */
bool lang_spreads(struct lang_checker *c, uint32_t id)
{
	bool does = ++c->chain <= LANG_CHAIN && node_spreads(c, lang_node_at(c, id));

	c->chain--;
	return does;
}

/* The subscripts as CODE_VIEW has them: how many registers, and which axes are sliced. */
static unsigned subscripts(const struct lang_checker *c, node *n, struct lang_ins *view)
{
	unsigned count = 0;

	for (uint32_t k = n->a; k; k = lang_node_at(c, k)->next, view->c++) {
		node *part = lang_node_at(c, k);
		bool slice = part->kind == NODE_SLICE;

		count += slice ? 3 : 1;
		if (slice && view->c < LIMIT_NDIM) {
			view->to |= (uint8_t)(1u << view->c);
			view->op |= (uint16_t)(((part->a ? 0u : 1u) | (part->b ? 0u : 2u))
					       << 2 * view->c);
		}
	}
	return count;
}

static bool bounds(struct lang_checker *c, node *n, uint32_t reg)
{
	uint32_t one;

	if ((n->a && !lang_index_value(c, n->a, reg)) ||
	    (n->b && !lang_index_value(c, n->b, reg + 1)))
		return false;
	if (n->c)
		return lang_index_value(c, n->c, reg + 2);
	return lang_small(c, n, 1, &one) &&
	       lang_emit(c, n,
			 (struct lang_ins){
				 .code = CODE_MOVE, .type = DT_INT64, .d = reg + 2, .a = one});
}

/* The view that an index with slices, or the name of an array, means. */
static bool make_view(struct lang_checker *c, node *n, struct part *out)
{
	const struct symbol *s = lang_symbol(c, n);
	struct lang_ins view = {.code = CODE_VIEW};
	unsigned count;
	uint32_t reg;

	if (!s || s->kind != SYMBOL_ARRAY)
		return WRONG(c, n, E_INVALID,
			     "there is no array '%.*s': only a kernel's parameters may be arrays",
			     NAME_OF(c, n));
	count = subscripts(c, n, &view);
	if (n->kind == NODE_NAME) {
		view.c = s->rank;
		view.to = (uint8_t)((1u << s->rank) - 1);
		view.op = UINT16_MAX;
		count = 3u * s->rank;
	}
	if (view.c != s->rank)
		return WRONG(c, n, E_INVALID, "'%.*s' has %u axes, not %u indices", NAME_OF(c, n),
			     s->rank, view.c);
	view.a = s->reg;
	view.type = s->type;
	out->axes = (unsigned)__builtin_popcount(view.to);
	out->type = s->type;
	out->value = (struct value){.type = s->type};
	if (!lang_register(c, n, count, &view.b) ||
	    !lang_register(c, n, 1 + 2 * out->axes, &view.d))
		return false;
	out->view = view.d;
	reg = view.b;
	for (uint32_t k = n->kind == NODE_NAME ? 0 : n->a; k; k = lang_node_at(c, k)->next) {
		node *part = lang_node_at(c, k);
		bool slice = part->kind == NODE_SLICE;

		if (!(slice ? bounds(c, part, reg) : lang_index_value(c, k, reg)))
			return false;
		reg += slice ? 3 : 1;
	}
	for (; n->kind == NODE_NAME && reg < view.b + count; reg += 3)
		if (!bounds(c, lang_node_at(c, 0), reg))
			return false;
	return lang_emit(c, n, view);
}

static bool keep(struct lang_checker *c, node *n, const struct part *p)
{
	if (c->nparts == LANG_VIEWS)
		return WRONG(c, n, E_LIMIT, "more than %d slices and scalars in one expression",
			     LANG_VIEWS);
	c->part[c->nparts++] = *p;
	return true;
}

static bool prepare_operands(struct lang_checker *c, node *n)
{
	bool fine = true;

	if (n->kind != NODE_CALL)
		return lang_prepare(c, n->a) && (n->kind == NODE_UNARY || lang_prepare(c, n->b));
	for (uint32_t k = n->a; fine && k; k = lang_node_at(c, k)->next)
		fine = lang_prepare(c, k);
	return fine;
}

bool lang_prepare(struct lang_checker *c, uint32_t id)
{
	node *n = lang_node_at(c, id);
	struct part p = {.id = id};
	bool fine = true;

	if (!lang_spreads(c, id)) {
		if (n->kind <= NODE_NAME)
			return true;
		fine = lang_expression(c, id, &p.value);
		p.value.made = 0;
		return fine && keep(c, n, &p);
	}
	if (n->kind == NODE_INDEX || n->kind == NODE_NAME)
		return make_view(c, n, &p) && keep(c, n, &p);
	if (n->kind == NODE_AND || n->kind == NODE_OR || n->kind == NODE_NOT)
		return WRONG(c, n, E_SHAPE,
			     "and, or, not take scalars: write logical_and(...) of slices");
	c->chain++;
	fine = lang_is_product(n) ? lang_product_prepare(c, n, id) : prepare_operands(c, n);
	c->chain--;
	return fine;
}

/* ---- Loops ---- */

/* The register of a view's extent along an axis of the nest; 0: it has no such. */
static uint32_t extent_of(const struct part *p, unsigned axes, unsigned axis)
{
	return axis + p->axes < axes ? 0 : p->view + 1 + 2 * (axis + p->axes - axes);
}

bool lang_join(struct lang_checker *c, node *n, uint32_t d, uint32_t a, uint32_t b, unsigned how)
{
	return lang_emit(
		c, n,
		(struct lang_ins){.code = CODE_JOIN, .op = (uint16_t)how, .d = d, .a = a, .b = b});
}

bool lang_broadcast(struct lang_checker *c, node *n, unsigned k, struct nest *out)
{
	*out = (struct nest){0};
	for (unsigned i = k; i < c->nparts; i++)
		if (c->part[i].axes > out->axes)
			out->axes = c->part[i].axes;
	for (; k < c->nparts; k++)
		for (unsigned axis = 0; axis < out->axes; axis++) {
			uint32_t mine = extent_of(&c->part[k], out->axes, axis), both;

			if (mine && !out->extent[axis]) {
				out->extent[axis] = mine;
			} else if (mine) {
				if (!lang_register(c, n, 1, &both) ||
				    !lang_join(c, n, both, out->extent[axis], mine, 0))
					return false;
				out->extent[axis] = both;
			}
		}
	return true;
}

bool lang_advance(struct lang_checker *c, node *n, uint32_t *spot, uint32_t number, uint32_t stride)
{
	uint32_t next;

	if (!lang_register(c, n, 1, &next) ||
	    !lang_emit(c, n,
		       (struct lang_ins){
			       .code = CODE_SPOT, .d = next, .a = *spot, .b = number, .c = stride}))
		return false;
	*spot = next;
	return true;
}

/* Into the innermost loop.  to: where values go, NULL or the register of its address, which the
 * strides follow. */
static bool enter(struct lang_checker *c, node *n, struct nest *nest, uint32_t *to)
{
	struct lang_ins range = {.code = CODE_RANGE};
	uint32_t strides = to ? *to + 1 : 0;

	for (unsigned k = c->parts_from; k < c->nparts; k++)
		c->part[k].spot = c->part[k].view;
	if (!lang_small(c, n, 0, &range.a) || !lang_small(c, n, 1, &range.c))
		return false;
	for (unsigned axis = 0; axis < nest->axes; axis++) {
		range.b = nest->extent[axis];
		if (!lang_register(c, n, 4, &range.d) || !lang_emit(c, n, range))
			return false;
		nest->start[axis] = c->program->ncode;
		if (!lang_emit(c, n, (struct lang_ins){.code = CODE_NEXT, .a = range.d}))
			return false;
		for (unsigned k = c->parts_from; k < c->nparts; k++) {
			struct part *p = &c->part[k];
			uint32_t extent = p->axes ? extent_of(p, nest->axes, axis) : 0;

			if (extent && !lang_advance(c, n, &p->spot, range.d, extent + 1))
				return false;
		}
		if (to && !lang_advance(c, n, to, range.d, strides + axis))
			return false;
	}
	return true;
}

static bool leave(struct lang_checker *c, node *n, const struct nest *nest)
{
	for (unsigned axis = nest->axes; axis-- > 0;) {
		if (!lang_emit(c, n, (struct lang_ins){.code = CODE_LOOP, .d = nest->start[axis]}))
			return false;
		c->program->code[nest->start[axis]].d = c->program->ncode;
	}
	return true;
}

/* ---- Assignments ---- */

struct store {
	const struct symbol *array;
	struct part target;
	struct nest nest;
	uint32_t meets, aside; /* registers: does anything meet the target, and where values go */
	bool views;	       /* there is something to read */
};

/* What is read goes with the target's extents, and may meet it. */
static bool compare(struct lang_checker *c, node *n, struct store *s, const struct part *p)
{
	struct lang_ins meets = {.code = CODE_MEETS,
				 .type = s->array->type,
				 .to = p->type,
				 .op = s->views,
				 .d = s->meets,
				 .a = s->target.view,
				 .b = p->view,
				 .c = s->nest.axes | p->axes << 4};
	unsigned more = p->axes > s->nest.axes ? p->axes - s->nest.axes : 0;
	uint32_t one, none;

	if (more && n->op != OP_END)
		return WRONG(c, n, E_SHAPE, "a slice of %u axes does not go into one of %u",
			     p->axes, s->nest.axes);
	if (!lang_small(c, n, 1, &one))
		return false;
	for (unsigned axis = 0; axis < more; axis++)
		if (!lang_register(c, n, 1, &none) ||
		    !lang_join(c, n, none, one, p->view + 1 + 2 * axis, 1))
			return false;
	for (unsigned axis = 0; axis < s->nest.axes; axis++) {
		uint32_t mine = extent_of(p, s->nest.axes, axis);

		if (mine && (!lang_register(c, n, 1, &none) ||
			     !lang_join(c, n, none, s->nest.extent[axis], mine, 1)))
			return false;
	}
	s->views = true;
	/* What a product reads, it reads for many elements. */
	if (p->whole_axes) {
		meets.op |= 2;
		meets.b = p->whole;
		meets.c = s->nest.axes | p->whole_axes << 4;
	}
	return lang_emit(c, n, meets);
}

/* Where values go: to the target, or aside if what is read meets it. */
static bool direct(struct lang_checker *c, node *n, struct store *s)
{
	return lang_register(c, n, 1 + s->nest.axes, &s->aside) &&
	       lang_emit(c, n,
			 (struct lang_ins){.code = CODE_ASIDE,
					   .type = s->array->type,
					   .d = s->aside,
					   .a = s->target.view,
					   .b = s->meets,
					   .c = s->nest.axes});
}

/* One element. */
static bool element(struct lang_checker *c, node *n, const struct store *s, const struct part *own,
		    uint32_t to)
{
	struct value v[OP_OPERANDS], r;

	if (n->op == OP_END) {
		if (!lang_expression(c, n->b, &r))
			return false;
	} else {
		v[0] = (struct value){.type = s->array->type};
		if (!lang_register(c, n, 1, &v[0].reg) ||
		    !lang_emit(c, n,
			       (struct lang_ins){.code = CODE_LOAD,
						 .type = s->array->type,
						 .d = v[0].reg,
						 .a = own->spot}) ||
		    !lang_expression(c, n->b, &v[1]) || !lang_operation(c, n, n->op, 2, v, &r))
			return false;
	}
	return lang_fit(c, n, &r, s->array->type) &&
	       lang_emit(c, n,
			 (struct lang_ins){
				 .code = CODE_STORE, .type = s->array->type, .d = to, .a = r.reg});
}

/* What is the same for all elements, and where the value of each goes. */
static bool open(struct lang_checker *c, node *n, node *target, struct store *s)
{
	if (n->op == OP_END ? !lang_prepare(c, n->b) || !make_view(c, target, &s->target)
			    : !make_view(c, target, &s->target) || !lang_prepare(c, n->b))
		return false;
	s->nest.axes = s->target.axes;
	for (unsigned axis = 0; axis < s->nest.axes; axis++)
		s->nest.extent[axis] = extent_of(&s->target, s->nest.axes, axis);
	if (!lang_register(c, n, 1, &s->meets))
		return false;
	for (unsigned k = c->parts_from; k < c->nparts; k++)
		if ((c->part[k].axes || c->part[k].whole_axes) && !compare(c, n, s, &c->part[k]))
			return false;
	return keep(c, n, &s->target) && (!s->views || direct(c, n, s));
}

static bool store(struct lang_checker *c, node *n, node *target, struct store *s)
{
	const struct part *own;
	uint32_t to;

	if (!open(c, n, target, s))
		return false;
	own = &c->part[c->nparts - 1];
	to = s->aside;
	if (!enter(c, n, &s->nest, s->views ? &to : NULL) ||
	    !element(c, n, s, own, s->views ? to : own->spot) || !leave(c, n, &s->nest))
		return false;
	return !s->views || lang_emit(c, n,
				      (struct lang_ins){.code = CODE_BACK,
							.type = s->array->type,
							.a = s->target.view,
							.b = s->meets,
							.c = s->nest.axes});
}

bool lang_slice(struct lang_checker *c, node *n, node *target)
{
	struct store s = {.array = lang_symbol(c, target)};
	struct outer o;

	if (s.array && s.array->kind == SYMBOL_ARRAY && !(s.array->access & ACCESS_OUT))
		return WRONG(c, target, E_READONLY,
			     "'%.*s' is only read: declare it out or inout to write it",
			     NAME_OF(c, target));
	o = begin(c, false);
	return end(c, o, store(c, n, target, &s));
}

/* ---- Reductions ---- */

/* float16 is reduced as float32 and rounded once; small integers and truth values of dot as they
 * are. */
static bool reduced_type(struct lang_checker *c, node *n, unsigned op, const struct value *v,
			 struct op_sig *sig)
{
	struct op_arg arg[OP_OPERANDS] = {{v[0].type, false}, {v[1].type, false}};

	if (op_infer(sig, (enum op)op, arg, DTYPE_END, c->err)) {
		err_context(c->err, "line %u, column %u", n->line, n->column);
		return false;
	}
	return true;
}

static unsigned wide(unsigned type)
{
	return type == DT_FLOAT16 ? DT_FLOAT32 : type;
}

/* The second of two, behind n->a. */
static uint32_t other(const struct lang_checker *c, node *n)
{
	return n->kind == NODE_BINARY ? n->b : n->a ? lang_node_at(c, n->a)->next : 0;
}

/* Its type is sig->in[0]. */
bool lang_taken(struct lang_checker *c, node *n, unsigned op, struct op_sig *sig, struct value *out)
{
	struct value v[OP_OPERANDS] = {{0}};
	unsigned type;

	if (!lang_expression(c, n->a, &v[0]) ||
	    (op == OP_MATMUL && !lang_expression(c, other(c, n), &v[1])) ||
	    !reduced_type(c, n, op, v, sig))
		return false;
	type = wide(sig->in[0]);
	if (!lang_cast(c, n, &v[0], type))
		return false;
	*out = v[0];
	return op != OP_MATMUL ||
	       (lang_cast(c, n, &v[1], type) &&
		lang_operation(c, n, type == DT_BOOL ? OP_LOGICAL_AND : OP_MULTIPLY, 2, v, out));
}

/* The nest of dot: two rows of the same extent. */
static bool rows(struct lang_checker *c, node *n, unsigned second, struct nest *nest)
{
	unsigned all = c->nparts;
	struct nest more;
	uint32_t none;

	c->nparts = second;
	if (!lang_broadcast(c, n, c->parts_from, nest))
		return false;
	c->nparts = all;
	if (!lang_broadcast(c, n, second, &more))
		return false;
	if (nest->axes != 1 || more.axes != 1)
		return WRONG(c, n, E_SHAPE, "%.*s takes two slices of one axis each", CALLED(c, n));
	return lang_register(c, n, 1, &none) &&
	       lang_join(c, n, none, nest->extent[0], more.extent[0], 2);
}

static bool arguments(struct lang_checker *c, node *n, unsigned op, struct nest *nest)
{
	uint32_t next = other(c, n);
	unsigned second;

	if (!n->a || (op == OP_MATMUL) != (next != 0) || (next && lang_node_at(c, next)->next))
		return WRONG(c, n, E_INVALID, "'%.*s' takes %d arguments", NAME_OF(c, n),
			     op == OP_MATMUL ? 2 : 1);
	if (!lang_spreads(c, n->a) || (next && !lang_spreads(c, next)))
		return WRONG(c, n, E_SHAPE, "'%.*s' takes arrays or slices, as x[a:b]",
			     CALLED(c, n));
	if (!lang_prepare(c, n->a))
		return false;
	second = c->nparts;
	if (!next)
		return lang_broadcast(c, n, c->parts_from, nest);
	return lang_prepare(c, next) && rows(c, n, second, nest);
}

/* Of a view alone, whose elements are taken as they lie: all at once. */
static const struct part *swept(struct lang_checker *c, node *n, unsigned op, struct op_sig *sig)
{
	const struct part *p = &c->part[c->parts_from];
	struct value v[OP_OPERANDS] = {{.type = p->type}};

	/* A stored bool is any byte. */
	return c->nparts == c->parts_from + 1 && p->id == n->a && op != OP_MATMUL &&
			       p->type != DT_BOOL && reduced_type(c, n, op, v, sig) &&
			       wide(sig->in[0]) == p->type
		       ? p
		       : NULL;
}

struct lang_ins lang_take(unsigned op, const struct value *v)
{
	unsigned by = op != OP_MATMUL	   ? op
		      : v->type == DT_BOOL ? (unsigned)OP_ANY
					   : (unsigned)OP_SUM;

	return (struct lang_ins){
		.code = CODE_TAKE, .type = v->type, .op = (uint16_t)by, .a = v->reg};
}

/* An element at a time; ins: what takes it. */
static bool take_each(struct lang_checker *c, node *n, unsigned op, struct nest *nest,
		      struct op_sig *sig, struct lang_ins *ins)
{
	struct value v;

	if (!enter(c, n, nest, NULL) || !lang_taken(c, n, op, sig, &v))
		return false;
	*ins = lang_take(op, &v);
	return lang_emit(c, n, *ins) && leave(c, n, nest);
}

static bool reduce(struct lang_checker *c, node *n, unsigned op, struct value *out)
{
	struct lang_ins ins = {.code = CODE_BEGIN};
	const struct part *p;
	struct op_sig sig;
	struct nest nest;
	uint32_t first;

	if (!arguments(c, n, op, &nest))
		return false;
	/* CODE_BEGIN, whose type is known when the element's is. */
	first = c->program->ncode;
	p = swept(c, n, op, &sig);
	if (!lang_emit(c, n, ins))
		return false;
	if (p) {
		ins = (struct lang_ins){.code = CODE_SWEEP,
					.type = p->type,
					.op = (uint16_t)op,
					.a = p->view,
					.c = p->axes};
		if (!lang_emit(c, n, ins))
			return false;
	} else if (!take_each(c, n, op, &nest, &sig, &ins)) {
		return false;
	}
	c->program->code[first].op = ins.op;
	c->program->code[first].type = ins.type;
	if (!lang_register(c, n, 1, &ins.d))
		return false;
	ins.code = CODE_GIVE;
	ins.to = ins.type;
	if (!lang_emit(c, n, ins))
		return false;
	*out = (struct value){.type = ins.type, .reg = ins.d, .made = c->program->ncode};
	return lang_cast(c, n, out, sig.out);
}

bool lang_reduction(struct lang_checker *c, node *n, unsigned op, struct value *out)
{
	struct outer o = begin(c, true);

	return end(c, o, reduce(c, n, op, out));
}
