/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_special.c - instructions whose operands follow no common shape.
 *
 * In: a mnemonic that ptx_ins.c has read, the lexer at its operands.  Out: struct
 * ptx_ins. */
#include "ptx_special.h"
#include "ptx_lex.h"
#include <string.h>

static bool take(struct ptx_module *m, const char *text)
{
	if (!ptx_lex_is(m->lex, text))
		return false;
	ptx_lex_next(m->lex);
	return true;
}

static void want(struct ptx_module *m, const char *text)
{
	if (!take(m, text))
		ptx_refuse(m, "%s: expected '%s', found '%s'", m->mnemonic, text, m->lex->text);
}

static void source(struct ptx_module *m, struct ptx_ins *i, enum ptx_type type)
{
	want(m, ",");
	i->s[i->ns++] = ptx_operand(m, type, NULL);
}

/* d or d|p */
static void result(struct ptx_module *m, struct ptx_ins *i, enum ptx_type type)
{
	i->d[i->nd++] = ptx_operand(m, type, NULL);
	if (take(m, "|"))
		i->predicate = ptx_operand(m, T_PRED, NULL);
}

void ptx_special_nop(struct ptx_module *m, struct ptx_ins *i, struct ptx_extra *x)
{
	while (m->lex->kind != LEX_END && !ptx_lex_is(m->lex, ";"))
		ptx_lex_next(m->lex);
	ptx_put(m, i);
}

static enum ptx_type element_of(struct ptx_module *m, enum ptx_type whole, unsigned n)
{
	unsigned bytes = ptx_type_bytes[whole] / (n ? n : 1);

	if (bytes != 2 && bytes != 4)
		ptx_refuse(m, "%s: %u elements", m->mnemonic, n);
	return bytes == 2 ? T_B16 : T_B32;
}

static unsigned count_elements(struct ptx_module *m)
{
	unsigned n = 1;

	for (const char *p = m->lex->at; *p && *p != '}'; p++)
		n += *p == ',';
	return n;
}

void ptx_special_mov(struct ptx_module *m, struct ptx_ins *i, struct ptx_extra *x)
{
	uint8_t bytes = 0;

	if (ptx_lex_is(m->lex, "{")) {
		i->op = OP_UNPACK;
		i->nd = ptx_operands(m, element_of(m, i->type, count_elements(m)), i->d, &bytes);
		source(m, i, i->type);
	} else {
		i->d[i->nd++] = ptx_operand(m, i->type, NULL);
		want(m, ",");
		if (ptx_lex_is(m->lex, "{")) {
			i->op = OP_PACK;
			i->ns = ptx_operands(m, element_of(m, i->type, count_elements(m)), i->s,
					     &bytes);
		} else {
			i->s[i->ns++] = ptx_operand(m, i->type, NULL);
		}
	}
	if (i->op != OP_MOV && bytes * (i->nd + i->ns - 1) != ptx_type_bytes[i->type])
		ptx_refuse(m, "%s: elements and whole differ in size", m->mnemonic);
	ptx_put(m, i);
}

static void put_predicate(struct ptx_module *m, enum ptx_op op, uint32_t to, uint32_t a, uint32_t b)
{
	struct ptx_ins i = {.op = (uint8_t)op, .type = T_PRED, .nd = 1};

	i.ns = op == OP_NOT || op == OP_MOV ? 1 : 2;
	i.d[0] = to;
	i.s[0] = a;
	i.s[1] = b;
	ptx_put(m, &i);
}

/* setp.lt.and d|p, a, b, c: d = (a < b) and c, p = not (a < b) and c. */
void ptx_special_setp(struct ptx_module *m, struct ptx_ins *i, struct ptx_extra *x)
{
	uint32_t other, c = PTX_NONE;

	result(m, i, T_PRED);
	other = i->predicate;
	source(m, i, i->type);
	source(m, i, i->type);
	if (x->combine) {
		want(m, ",");
		c = ptx_operand(m, T_PRED, NULL);
	}
	uint32_t d = i->d[0];
	if (!x->combine && other == PTX_NONE) {
		ptx_put_flushed(m, i, i->type, T_NONE);
		return;
	}
	uint32_t yes = i->d[0] = ptx_new_scratch(m, 1), no = ptx_new_scratch(m, 1);
	ptx_put_flushed(m, i, i->type, T_NONE);
	put_predicate(m, OP_NOT, no, yes, 0);
	if (x->combine) {
		put_predicate(m, x->combine, yes, yes, c);
		put_predicate(m, x->combine, no, no, c);
	}
	put_predicate(m, OP_MOV, d, yes, 0);
	if (other != PTX_NONE)
		put_predicate(m, OP_MOV, other, no, 0);
}

/* cvt of two floats into one packed register: each by itself, then put together. */
static void convert_pair(struct ptx_module *m, struct ptx_ins *i)
{
	struct ptx_ins pack = {.op = OP_PACK, .type = T_B32, .nd = 1, .ns = 2};

	i->type = i->type == T_F16X2 ? T_F16 : T_BF16;
	i->reg_bytes = 2;
	i->reg_bytes2 = 4;
	pack.d[0] = i->d[0];
	for (int k = 0; k < 2; k++) { /* the first source is the upper half */
		struct ptx_ins one = *i;

		one.ns = 1;
		one.s[0] = i->s[k];
		one.d[0] = pack.s[1 - k] = ptx_new_scratch(m, 2);
		ptx_put_flushed(m, &one, i->type2, i->type);
	}
	ptx_put(m, &pack);
}

void ptx_special_cvt(struct ptx_module *m, struct ptx_ins *i, struct ptx_extra *x)
{
	bool pair = i->type == T_F16X2 || i->type == T_BF16X2;

	i->d[i->nd++] = ptx_operand(m, i->type, &i->reg_bytes);
	want(m, ",");
	i->s[i->ns++] = ptx_operand(m, i->type2, &i->reg_bytes2);
	if (pair) {
		source(m, i, i->type2);
		convert_pair(m, i);
		return;
	}
	if (i->reg_bytes < ptx_type_bytes[i->type] || i->reg_bytes2 < ptx_type_bytes[i->type2])
		ptx_refuse(m, "%s: a register too narrow for its type", m->mnemonic);
	ptx_put_flushed(m, i, i->type2, i->type);
}

static void check_vector(struct ptx_module *m, const struct ptx_extra *x, uint8_t n)
{
	if (n != x->vector)
		ptx_refuse(m, "%s: %u elements", m->mnemonic, n);
}

void ptx_special_ld(struct ptx_module *m, struct ptx_ins *i, struct ptx_extra *x)
{
	i->nd = ptx_operands(m, i->type, i->d, &i->reg_bytes);
	check_vector(m, x, i->nd);
	want(m, ",");
	ptx_address(m, i);
	if (i->reg_bytes < ptx_type_bytes[i->type])
		ptx_refuse(m, "%s: a register too narrow for its type", m->mnemonic);
	ptx_put(m, i);
}

void ptx_special_st(struct ptx_module *m, struct ptx_ins *i, struct ptx_extra *x)
{
	ptx_address(m, i);
	want(m, ",");
	i->ns = ptx_operands(m, i->type, i->s, &i->reg_bytes);
	check_vector(m, x, i->ns);
	if (i->reg_bytes < ptx_type_bytes[i->type])
		ptx_refuse(m, "%s: a register too narrow for its type", m->mnemonic);
	ptx_put(m, i);
}

void ptx_special_atom(struct ptx_module *m, struct ptx_ins *i, struct ptx_extra *x)
{
	if (x->vector != 1 || i->type == T_B128)
		ptx_refuse(m, "unsupported instruction '%s'", m->mnemonic);
	if (i->op == OP_ATOM) {
		i->d[i->nd++] = ptx_operand(m, i->type, NULL);
		want(m, ",");
	}
	ptx_address(m, i);
	source(m, i, i->type);
	if (i->atomic == ATOM_CAS)
		source(m, i, i->type);
	ptx_put(m, i);
}

void ptx_special_bra(struct ptx_module *m, struct ptx_ins *i, struct ptx_extra *x)
{
	struct ptx_table *table = &m->current->table;

	if (i->op == OP_BRX) {
		i->s[i->ns++] = ptx_operand(m, T_U32, NULL);
		want(m, ",");
	}
	struct ptx_symbol *s = ptx_table_find(table, m->lex->text);
	if (!s) {
		s = ptx_table_add(m, table, m->lex->text);
		s->kind = SYMBOL_LABEL;
		s->where = PTX_NONE;
	}
	i->target = (uint32_t)(s - table->at);
	ptx_lex_next(m->lex);
	ptx_put(m, i);
}

static struct ptx_symbol *call_param(struct ptx_module *m)
{
	struct ptx_symbol range, *s = ptx_lookup(m, m->lex->text, &range);

	if (!s || s->kind != SYMBOL_LANE_PARAM)
		ptx_refuse(m, "'%s' is no parameter of a call", m->lex->text);
	ptx_lex_next(m->lex);
	return s;
}

static void call_arguments(struct ptx_module *m, struct ptx_call *c)
{
	if (!take(m, ","))
		return;
	want(m, "(");
	while (!take(m, ")")) {
		struct ptx_symbol *s = call_param(m);

		if (c->nargs == 16)
			ptx_refuse(m, "call with more than 16 arguments");
		c->arg[c->nargs] = s->where;
		c->arg_bytes[c->nargs++] = (uint32_t)s->size;
		take(m, ",");
	}
}

/* What the driver itself provides to kernels. */
static bool provided(struct ptx_module *m, struct ptx_ins *i, const char *name)
{
	if (!strcmp(name, "__assertfail"))
		i->op = OP_ASSERT;
	else if (!strcmp(name, "vprintf"))
		i->op = OP_NOP; /* prints nothing */
	else
		return false;
	return true;
}

static void check_call(struct ptx_module *m, const struct ptx_call *c)
{
	const struct ptx_function *f = c->callee;

	if (f == m->current)
		ptx_refuse(m, "'%s' calls itself: recursion is not supported", f->name);
	if (f->nparams != c->nargs)
		ptx_refuse(m, "call of '%s' with %u arguments", f->name, c->nargs);
	for (uint32_t k = 0; k < c->nargs; k++)
		if (c->arg_bytes[k] != f->param_size[k])
			ptx_refuse(m, "call of '%s': argument %u has %u bytes, not %u", f->name, k,
				   c->arg_bytes[k], f->param_size[k]);
	if (c->result != PTX_NONE && c->result_bytes != f->result_bytes)
		ptx_refuse(m, "call of '%s': its result has %u bytes", f->name, f->result_bytes);
}

void ptx_special_call(struct ptx_module *m, struct ptx_ins *i, struct ptx_extra *x)
{
	struct ptx_call *c = ptx_own(m, sizeof(*c));

	c->result = PTX_NONE;
	if (take(m, "(")) {
		struct ptx_symbol *s = call_param(m);

		c->result = s->where;
		c->result_bytes = (uint32_t)s->size;
		want(m, ")");
		want(m, ",");
	}
	struct ptx_symbol *f = ptx_table_find(&m->table, m->lex->text);
	if (!f || f->kind != SYMBOL_FUNCTION)
		ptx_refuse(m, "call of '%s', which is no function", m->lex->text);
	ptx_lex_next(m->lex);
	c->callee = f->function;
	call_arguments(m, c);
	if (!provided(m, i, f->name)) {
		check_call(m, c);
		i->call = c;
	}
	ptx_put(m, i);
}

/* bar.sync a {, count}; bar.red d, a {, count}, p; bar.warp.sync mask.
 * s[0] barrier, s[1] count or PTX_NONE, s[2] predicate of a reduction. */
void ptx_special_bar(struct ptx_module *m, struct ptx_ins *i, struct ptx_extra *x)
{
	if (x->warp) {
		i->op = OP_BARWARP;
		i->s[i->ns++] = ptx_operand(m, T_B32, NULL);
		ptx_put(m, i);
		return;
	}
	if (i->mode == 2) {
		i->d[i->nd++] = ptx_operand(m, i->type, NULL);
		want(m, ",");
	}
	i->s[0] = ptx_operand(m, T_U32, NULL);
	i->s[1] = i->s[2] = PTX_NONE;
	i->ns = 3;
	while (take(m, ",")) {
		struct ptx_symbol range, *s = ptx_lookup(m, m->lex->text, &range);
		bool predicate = i->mode == 2 && (ptx_lex_is(m->lex, "!") || (s && s->bytes == 1));

		if (predicate)
			i->s[2] = ptx_operand(m, T_PRED, NULL);
		else
			i->s[1] = ptx_operand(m, T_U32, NULL);
	}
	if ((i->mode == 2) != (i->s[2] != PTX_NONE) || i->mode == 1)
		ptx_refuse(m, "unsupported instruction '%s'", m->mnemonic);
	ptx_put(m, i);
}

/* The last source is the mask of the lanes that take part. */
void ptx_special_warp(struct ptx_module *m, struct ptx_ins *i, struct ptx_extra *x)
{
	bool ballot = i->op == OP_VOTE && i->mode == 3;

	result(m, i, i->op == OP_VOTE && !ballot ? T_PRED : i->op == OP_REDUX ? i->type : T_B32);
	if (i->op == OP_VOTE)
		source(m, i, T_PRED);
	else if (i->op != OP_ELECT)
		source(m, i, i->op == OP_SHFL ? T_B32 : i->type);
	if (i->op == OP_SHFL) {
		source(m, i, T_U32);
		source(m, i, T_U32);
	}
	source(m, i, T_B32);
	ptx_put(m, i);
}
