/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_expr.c - expressions: types by the rules that arrays have, and instructions.
 *
 * In:  a tree.  Out: instructions and the register of the value.  Registers of values are used
 * once; only variables are written more often. */
#include <string.h>

#include "imm.h"
#include "lang_check.h"

#define WRONG(c, n, code, ...)                                                                     \
	(lang_error((c)->err, code, (n)->line, (n)->column, __VA_ARGS__), false)
#define NAME_OF(c, n) (int)(n)->name_bytes, (c)->tree->text + (n)->name

static bool is_name(const struct lang_checker *c, node *n, const char *text)
{
	return n->name_bytes == strlen(text) &&
	       !memcmp(c->tree->text + n->name, text, n->name_bytes);
}

struct symbol *lang_symbol(struct lang_checker *c, node *n)
{
	for (unsigned k = c->nsymbol; k-- > 0;)
		if (c->symbol[k].bytes == n->name_bytes &&
		    !memcmp(c->tree->text + c->symbol[k].name, c->tree->text + n->name,
			    n->name_bytes))
			return &c->symbol[k];
	return NULL;
}

static bool integral(unsigned d)
{
	return dtype_row(d)->cls == CLASS_INT || dtype_row(d)->cls == CLASS_UINT;
}

/* ---- Values ---- */

static struct value literal(unsigned type, bool weak, uint64_t re, uint64_t im)
{
	return (struct value){
		.type = (uint8_t)type, .weak = weak, .literal = true, .bits = {re, im}};
}

static uint64_t double_bits(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof bits);
	return bits;
}

static bool constant(struct lang_checker *c, node *n, const struct value *v, unsigned type,
		     uint32_t *reg)
{
	struct lang_program *p = c->program;
	struct lang_const k = {0};

	if (p->nconst == p->cap_const)
		return WRONG(c, n, E_LIMIT, "the text has too many numbers");
	if (!lang_register(c, n, 1, reg))
		return false;
	imm_cast(k.value.bits, (enum dtype)type, v->bits, (enum dtype)v->type);
	if (type == DT_COMPLEX64)
		k.value.bits[0] = (k.value.bits[0] & 0xffffffffu) | k.value.bits[1] << 32;
	k.reg = *reg;
	p->constant[p->nconst++] = k;
	return true;
}

bool lang_cast(struct lang_checker *c, node *n, struct value *v, unsigned type)
{
	uint32_t reg;

	if (v->literal) {
		if (v->type == DT_INT64 && integral(type) &&
		    !dtype_holds((enum dtype)type, (int64_t)v->bits[0]))
			return WRONG(c, n, E_OVERFLOW, "%lld does not fit %s: cast the other side",
				     (long long)v->bits[0], dtype_row(type)->name);
		if (!constant(c, n, v, type, &reg))
			return false;
		*v = (struct value){.type = (uint8_t)type, .reg = reg};
		return true;
	}
	if (v->type == type)
		return true;
	if (!lang_register(c, n, 1, &reg) || !lang_emit(c, n,
							(struct lang_ins){.code = CODE_CAST,
									  .type = v->type,
									  .to = (uint8_t)type,
									  .d = reg,
									  .a = v->reg}))
		return false;
	*v = (struct value){.type = (uint8_t)type, .reg = reg, .made = c->program->ncode};
	return true;
}

bool lang_fit(struct lang_checker *c, node *n, struct value *v, unsigned type)
{
	unsigned from = dtype_row(v->type)->cls, to = dtype_row(type)->cls;
	bool fits = v->weak ? (from == CLASS_INT && to >= CLASS_INT) || from <= to
			    : dtype_same_kind((enum dtype)v->type, (enum dtype)type);

	if (!fits)
		return WRONG(c, n, E_CAST, "%s does not become %s by itself: write %s(...)",
			     dtype_row(v->type)->name, dtype_row(type)->name,
			     dtype_row(type)->name);
	return lang_cast(c, n, v, type);
}

bool lang_move(struct lang_checker *c, node *n, struct value *v, unsigned type, uint32_t reg)
{
	if (!lang_fit(c, n, v, type))
		return false;
	/* What has just been made for this alone is made where it is wanted. */
	if (v->made && v->made == c->program->ncode) {
		c->program->code[v->made - 1].d = reg;
		return true;
	}
	return lang_emit(
		c, n,
		(struct lang_ins){.code = CODE_MOVE, .type = (uint8_t)type, .d = reg, .a = v->reg});
}

bool lang_truth(struct lang_checker *c, uint32_t id, uint32_t *reg)
{
	struct value v;

	if (!lang_expression(c, id, &v) || !lang_cast(c, lang_node_at(c, id), &v, DT_BOOL))
		return false;
	*reg = v.reg;
	return true;
}

/* ---- Operations ---- */

/* Of two integer literals; false: to be computed when it runs. */
static bool folded(unsigned op, const struct value *v, struct value *out)
{
	int64_t a = (int64_t)v[0].bits[0], b = (int64_t)v[1].bits[0], r = 0;
	bool done = false;

	if (!v[0].literal || !v[1].literal || v[0].type != DT_INT64 || v[1].type != DT_INT64)
		return false;
	if (op == OP_ADD)
		done = !__builtin_add_overflow(a, b, &r);
	else if (op == OP_SUBTRACT)
		done = !__builtin_sub_overflow(a, b, &r);
	else if (op == OP_MULTIPLY)
		done = !__builtin_mul_overflow(a, b, &r);
	if (done)
		*out = literal(DT_INT64, true, (uint64_t)r, 0);
	return done;
}

/* Powers by these numbers are other operations, as for arrays. */
static unsigned power_of(const struct value *v)
{
	double e = 0;

	if (!v[1].literal || v[0].weak || dtype_row(v[0].type)->cls < CLASS_FLOAT)
		return OP_POWER;
	if (v[1].type == DT_FLOAT64)
		memcpy(&e, v[1].bits, sizeof e);
	else if (v[1].type == DT_INT64)
		e = (double)(int64_t)v[1].bits[0];
	return e == 2 ? OP_SQUARE : e == 0.5 ? OP_SQRT : e == -1 ? OP_RECIPROCAL : OP_POWER;
}

/* op and count of a power as it is done. */
static bool as_power(struct lang_checker *c, node *n, const struct value *v, unsigned *op,
		     int *count)
{
	if (v[1].literal && v[1].type == DT_INT64 && (int64_t)v[1].bits[0] < 0 &&
	    dtype_row(v[0].type)->cls < CLASS_FLOAT)
		return WRONG(c, n, E_INVALID,
			     "integers have no negative powers: write float64(...) ** %lld",
			     (long long)v[1].bits[0]);
	*op = power_of(v);
	*count = *op == OP_POWER ? 2 : 1;
	return true;
}

bool lang_operation(struct lang_checker *c, node *n, unsigned op, int count, struct value *v,
		    struct value *out)
{
	struct op_arg arg[OP_OPERANDS] = {{0}};
	struct lang_ins ins = {.code = CODE_OP};
	struct op_sig sig;
	bool weak = true;

	if (count == 2 && folded(op, v, out))
		return true;
	if (op == OP_POWER && !as_power(c, n, v, &op, &count))
		return false;
	for (int k = 0; k < count; k++) {
		arg[k] = (struct op_arg){v[k].type, v[k].weak};
		weak = weak && v[k].weak;
	}
	if (op_infer(&sig, (enum op)op, arg, DTYPE_END, c->err)) {
		err_context(c->err, "line %u, column %u", n->line, n->column);
		return false;
	}
	for (int k = 0; k < count; k++)
		if (!lang_cast(c, n, &v[k], sig.in[k]))
			return false;
	if (!lang_register(c, n, 1, &ins.d))
		return false;
	ins.op = (uint16_t)op;
	ins.type = sig.in[op == OP_WHERE];
	ins.to = sig.out;
	ins.a = v[0].reg;
	ins.b = v[count > 1 ? 1 : 0].reg;
	ins.c = v[count > 2 ? 2 : 0].reg;
	if (!lang_emit(c, n, ins))
		return false;
	*out = (struct value){.type = sig.out,
			      .weak = weak && sig.out != DT_BOOL,
			      .reg = ins.d,
			      .made = c->program->ncode};
	return true;
}

static bool unary(struct lang_checker *c, node *n, struct value *out)
{
	struct value v;

	if (!lang_expression(c, n->a, &v))
		return false;
	if (v.literal && v.type == DT_INT64 && n->op == OP_NEGATIVE) {
		*out = literal(DT_INT64, true, 0 - v.bits[0], 0);
		return true;
	}
	if (v.literal && v.type == DT_FLOAT64 && n->op == OP_NEGATIVE) {
		*out = literal(DT_FLOAT64, true, v.bits[0] ^ 1ull << 63, 0);
		return true;
	}
	return lang_operation(c, n, n->op, 1, &v, out);
}

static bool binary(struct lang_checker *c, node *n, struct value *out)
{
	struct value v[OP_OPERANDS];

	if (lang_is_product(n))
		return lang_product(c, n, (uint32_t)(n - c->tree->node), out);
	return lang_expression(c, n->a, &v[0]) && lang_expression(c, n->b, &v[1]) &&
	       lang_operation(c, n, n->op, 2, v, out);
}

/* a and b, a or b: b only where a does not tell. */
static bool joined(struct lang_checker *c, node *n, struct value *out)
{
	uint8_t code = n->kind == NODE_AND ? CODE_UNLESS : CODE_WHEN;
	uint32_t reg, part, jump;

	if (!lang_register(c, n, 1, &reg) || !lang_truth(c, n->a, &part) ||
	    !lang_emit(
		    c, n,
		    (struct lang_ins){.code = CODE_MOVE, .type = DT_BOOL, .d = reg, .a = part}) ||
	    !lang_emit(c, n, (struct lang_ins){.code = code, .a = reg}))
		return false;
	jump = c->program->ncode - 1;
	if (!lang_truth(c, n->b, &part) ||
	    !lang_emit(c, n,
		       (struct lang_ins){.code = CODE_MOVE, .type = DT_BOOL, .d = reg, .a = part}))
		return false;
	c->program->code[jump].d = c->program->ncode;
	*out = (struct value){.type = DT_BOOL, .reg = reg};
	return true;
}

static bool negated(struct lang_checker *c, node *n, struct value *out)
{
	struct value v = {.type = DT_BOOL};

	return lang_truth(c, n->a, &v.reg) && lang_operation(c, n, OP_LOGICAL_NOT, 1, &v, out);
}

/* ---- Names, elements ---- */

static bool variable(struct lang_checker *c, node *n, struct value *out)
{
	const struct symbol *s = lang_symbol(c, n);

	if (!s)
		return WRONG(c, n, E_INVALID,
			     "there is no '%.*s' here: declare it with let %.*s = ...",
			     NAME_OF(c, n), NAME_OF(c, n));
	if (s->kind == SYMBOL_ARRAY)
		return WRONG(c, n, E_INVALID,
			     "'%.*s' is an array: name one of its elements, as %.*s[i]",
			     NAME_OF(c, n), NAME_OF(c, n));
	*out = (struct value){.type = s->type, .reg = s->reg};
	return true;
}

bool lang_index_value(struct lang_checker *c, uint32_t id, uint32_t reg)
{
	node *n = lang_node_at(c, id);
	struct value v;

	if (!lang_expression(c, id, &v))
		return false;
	/* Half of uint64 would become negative, which is another place. */
	if (!integral(v.type) || v.type == DT_UINT64)
		return WRONG(c, n, E_DTYPE, "an index is an integer, not %s: write int64(...)",
			     dtype_row(v.type)->name);
	return lang_move(c, n, &v, DT_INT64, reg);
}

bool lang_place(struct lang_checker *c, node *n, const struct symbol *s, uint32_t *reg)
{
	unsigned count = 0;
	uint32_t index;

	if (!s || s->kind != SYMBOL_ARRAY)
		return WRONG(c, n, E_INVALID,
			     "there is no array '%.*s': only a kernel's "
			     "parameters may be arrays",
			     NAME_OF(c, n));
	for (uint32_t k = n->a; k; k = lang_node_at(c, k)->next)
		count++;
	if (count != s->rank)
		return WRONG(c, n, E_INVALID, "'%.*s' has %u axes, not %u indices", NAME_OF(c, n),
			     s->rank, count);
	if (!lang_register(c, n, count + 1, &index))
		return false;
	*reg = index + count;
	for (uint32_t k = n->a, at = index; k; k = lang_node_at(c, k)->next, at++) {
		if (!lang_index_value(c, k, at))
			return false;
	}
	return lang_emit(
		c, n,
		(struct lang_ins){
			.code = CODE_PLACE, .d = *reg, .a = s->reg, .b = index, .c = count});
}

static bool element(struct lang_checker *c, node *n, struct value *out)
{
	const struct symbol *s = lang_symbol(c, n);
	uint32_t place, reg;

	if (lang_is_slice(c, n))
		return WRONG(c, n, E_SHAPE,
			     "a slice has many elements: assign to a slice, or take sum(...), "
			     "max(...) of it");
	if (!lang_place(c, n, s, &place) || !lang_register(c, n, 1, &reg) ||
	    !lang_emit(c, n,
		       (struct lang_ins){.code = CODE_LOAD, .type = s->type, .d = reg, .a = place}))
		return false;
	*out = (struct value){.type = s->type, .reg = reg, .made = c->program->ncode};
	return true;
}

/* ---- Calls ---- */

/* len(x), len(x, axis) */
static bool length(struct lang_checker *c, node *n, struct value *out)
{
	node *array = lang_node_at(c, n->a);
	node *axis = lang_node_at(c, array->next);
	const struct symbol *s = n->a && array->kind == NODE_NAME ? lang_symbol(c, array) : NULL;

	if (!s || s->kind != SYMBOL_ARRAY || axis->next ||
	    (array->next && (axis->kind != NODE_INT || axis->integer >= s->rank)))
		return WRONG(c, n, E_INVALID,
			     "len takes an array and the number of one of its axes, from 0");
	*out = (struct value){.type = DT_INT64};
	if (!lang_register(c, n, 1, &out->reg) ||
	    !lang_emit(c, n,
		       (struct lang_ins){.code = CODE_LENGTH,
					 .type = DT_INT64,
					 .d = out->reg,
					 .a = s->reg,
					 .b = array->next ? (uint32_t)axis->integer : 0}))
		return false;
	out->made = c->program->ncode;
	return true;
}

static unsigned operation_named(const struct lang_checker *c, node *n)
{
	static const struct {
		const char *name;
		uint16_t op;
	} also[] = {
		{"abs", OP_ABSOLUTE}, {"min", OP_MINIMUM}, {"max", OP_MAXIMUM}, {"conj", OP_CONJ}};

	for (size_t k = 0; k < sizeof also / sizeof also[0]; k++)
		if (is_name(c, n, also[k].name))
			return also[k].op;
	for (unsigned op = 0; op < OP_END; op++)
		if (op_row(op) && op_row(op)->kind == KIND_EW && *op_row(op)->numpy &&
		    is_name(c, n, op_row(op)->numpy))
			return op;
	return OP_END;
}

static bool call_function(struct lang_checker *c, node *n, const struct function *f,
			  struct value *out)
{
	node *head = lang_node_at(c, f->node);
	uint32_t param = head->a, arg = n->a, reg;
	struct value v;

	/* All arguments before any parameter: one of them may call f, too. */
	uint32_t held[LANG_PARAMS];
	unsigned k = 0;

	for (; arg && param;
	     arg = lang_node_at(c, arg)->next, param = lang_node_at(c, param)->next, k++) {
		if (!lang_expression(c, arg, &v) || !lang_register(c, n, 1, &held[k]) ||
		    !lang_move(c, lang_node_at(c, arg), &v, lang_node_at(c, param)->type, held[k]))
			return false;
	}
	if (arg || param)
		return WRONG(c, n, E_INVALID, "'%.*s' takes %u arguments", NAME_OF(c, n),
			     f->nparam);
	param = head->a;
	for (unsigned i = 0; i < k; i++, param = lang_node_at(c, param)->next)
		if (!lang_emit(c, n,
			       (struct lang_ins){.code = CODE_MOVE,
						 .type = lang_node_at(c, param)->type,
						 .d = f->reg[i],
						 .a = held[i]}))
			return false;
	if (!lang_emit(c, n, (struct lang_ins){.code = CODE_CALL, .d = f->entry}) ||
	    !lang_register(c, n, 1, &reg) ||
	    !lang_emit(c, n,
		       (struct lang_ins){
			       .code = CODE_MOVE, .type = head->type, .d = reg, .a = f->value}))
		return false;
	*out = (struct value){.type = head->type, .reg = reg, .made = c->program->ncode};
	return true;
}

static bool call_operation(struct lang_checker *c, node *n, unsigned op, struct value *out)
{
	struct value v[OP_OPERANDS];
	unsigned k = 0;
	uint32_t arg = n->a;

	for (; arg && k < op_row(op)->arity; arg = lang_node_at(c, arg)->next, k++)
		if (!lang_expression(c, arg, &v[k]))
			return false;
	if (arg || k != op_row(op)->arity)
		return WRONG(c, n, E_INVALID, "'%.*s' takes %u arguments", NAME_OF(c, n),
			     op_row(op)->arity);
	return lang_operation(c, n, op, (int)k, v, out);
}

const struct function *lang_function(const struct lang_checker *c, node *n)
{
	for (unsigned k = 0; k < c->nfunction; k++) {
		node *f = lang_node_at(c, c->function[k].node);

		if (f->name_bytes == n->name_bytes &&
		    !memcmp(c->tree->text + f->name, c->tree->text + n->name, n->name_bytes))
			return &c->function[k];
	}
	return NULL;
}

static bool call(struct lang_checker *c, node *n, struct value *out)
{
	const struct function *f = lang_function(c, n);
	unsigned op = operation_named(c, n), reduction = lang_reduction_named(c, n);

	if (f)
		return call_function(c, n, f, out);
	if (reduction != OP_END)
		return lang_reduction(c, n, reduction, out);
	if (is_name(c, n, "len"))
		return length(c, n, out);
	for (unsigned d = 0; d < DT_BFLOAT16; d++)
		if (is_name(c, n, dtype_row(d)->name)) {
			if (!n->a || lang_node_at(c, n->a)->next)
				return WRONG(c, n, E_INVALID, "a cast takes one value");
			out->weak = false;
			return lang_expression(c, n->a, out) && lang_cast(c, n, out, d) &&
			       (out->weak = false, true);
		}
	if (op != OP_END)
		return call_operation(c, n, op, out);
	return WRONG(c, n, E_INVALID,
		     "there is no function '%.*s': a fn stands before what calls it",
		     NAME_OF(c, n));
}

static bool by_kind(struct lang_checker *c, node *n, struct value *out)
{
	switch ((enum lang_kind)n->kind) {
	case NODE_INT:
		*out = literal(DT_INT64, true, (uint64_t)n->integer, 0);
		return true;
	case NODE_FLOAT:
		*out = literal(DT_FLOAT64, true, double_bits(n->number), 0);
		return true;
	case NODE_IMAGINARY:
		*out = literal(DT_COMPLEX128, true, 0, double_bits(n->number));
		return true;
	case NODE_BOOL:
		*out = literal(DT_BOOL, false, (uint64_t)n->integer, 0);
		return true;
	case NODE_NAME:
		return variable(c, n, out);
	case NODE_UNARY:
		return unary(c, n, out);
	case NODE_BINARY:
		return binary(c, n, out);
	case NODE_AND:
	case NODE_OR:
		return joined(c, n, out);
	case NODE_NOT:
		return negated(c, n, out);
	case NODE_INDEX:
		return element(c, n, out);
	default:
		return call(c, n, out);
	}
}

/* What is there already for each element; NULL. */
static const struct part *part_of(const struct lang_checker *c, uint32_t id)
{
	for (unsigned k = c->parts_from; k < c->nparts; k++)
		if (c->part[k].id == id)
			return &c->part[k];
	return NULL;
}

static bool read_part(struct lang_checker *c, node *n, const struct part *p, struct value *v)
{
	*v = p->value;
	if (!p->axes)
		return true;
	if (!lang_register(c, n, 1, &v->reg) ||
	    !lang_emit(c, n,
		       (struct lang_ins){
			       .code = CODE_LOAD, .type = p->type, .d = v->reg, .a = p->spot}))
		return false;
	v->made = c->program->ncode;
	return true;
}

bool lang_expression(struct lang_checker *c, uint32_t id, struct value *v)
{
	node *n = lang_node_at(c, id);
	const struct part *part = part_of(c, id);

	if (++c->chain > LANG_CHAIN)
		return WRONG(c, n, E_LIMIT, "more than %d operators in a row: name a part with let",
			     LANG_CHAIN);
	if (!(part ? read_part(c, n, part, v) : by_kind(c, n, v)))
		return false;
	c->chain--;
	return true;
}
