/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_parse.c - PTX text into a module: directives, variables, functions.
 *
 * In: text from NVRTC.  Out: struct ptx_module, every instruction bound to the
 * function that executes it; or a refusal with the line.  What a directive says
 * about speed only (.pragma, .minnctapersm, .loc) is skipped by name; an unknown one
 * is refused. */
#include "ptx_module.h"
#include "ptx_lex.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BLOCKS 32

static bool at(struct ptx_module *m, const char *text)
{
	return ptx_lex_is(m->lex, text);
}

static bool take(struct ptx_module *m, const char *text)
{
	if (!at(m, text))
		return false;
	ptx_lex_next(m->lex);
	return true;
}

static void want(struct ptx_module *m, const char *text)
{
	if (!take(m, text))
		ptx_refuse(m, "expected '%s', found '%s'", text, m->lex->text);
}

static void copy_name(struct ptx_module *m, char name[2048])
{
	if (m->lex->kind != LEX_WORD)
		ptx_refuse(m, "expected a name, found '%s'", m->lex->text);
	memcpy(name, m->lex->text, m->lex->length + 1);
	ptx_lex_next(m->lex);
}

static uint64_t number(struct ptx_module *m)
{
	bool negative = take(m, "-");

	return ptx_number(m, negative, T_U64);
}

static size_t rounded(size_t n, size_t to)
{
	return to ? (n + to - 1) / to * to : n;
}

/* ---- variables ---- */

struct declaration {
	char name[2048];
	enum ptx_type type;
	size_t align, bytes, elements;
	bool unsized; /* [] */
};

/* One word before the name; the elements of a vector if it says so, else 1. */
static size_t declaration_word(struct ptx_module *m, struct declaration *d)
{
	static const char *const ignored[] = {".ptr", ".global", ".shared", ".const", ".local"};
	size_t vector = 1, k = 0;

	if (take(m, ".align")) {
		d->align = number(m);
		return 1;
	}
	while (k < 5 && !at(m, ignored[k]))
		k++;
	if (at(m, ".v2") || at(m, ".v4"))
		vector = (size_t)(m->lex->text[2] - '0');
	else if (ptx_type_of(m->lex->text + 1))
		d->type = ptx_type_of(m->lex->text + 1);
	else if (k == 5)
		ptx_refuse(m, "unknown '%s' in a declaration", m->lex->text);
	ptx_lex_next(m->lex);
	return vector;
}

/* .align 8 .b8 name[16], from the word after the state space. */
static void declaration(struct ptx_module *m, struct declaration *d)
{
	size_t vector = 1;

	*d = (struct declaration){.elements = 1};
	while (m->lex->text[0] == '.')
		vector *= declaration_word(m, d);
	if (!d->type)
		ptx_refuse(m, "declaration without a type");
	copy_name(m, d->name);
	while (take(m, "[")) {
		if (at(m, "]"))
			d->unsized = true;
		else
			d->elements *= number(m);
		want(m, "]");
	}
	d->bytes = d->unsized ? 0 : d->elements * vector * ptx_type_bytes[d->type];
	if (d->align < vector * ptx_type_bytes[d->type])
		d->align = vector * ptx_type_bytes[d->type];
}

/* generic(name)+8, name, 0xFF00(name): an address or some bytes of one. */
static uint64_t initial_address(struct ptx_module *m, uint64_t mask)
{
	bool wrapped = take(m, "generic") && take(m, "(");
	struct ptx_symbol *s = ptx_table_find(&m->table, m->lex->text);

	if (!s || s->kind != SYMBOL_VARIABLE || s->space == SPACE_SHARED)
		ptx_refuse(m, "initial value '%s' is no variable with an address", m->lex->text);
	ptx_lex_next(m->lex);
	uint64_t v = s->address;
	if (wrapped)
		want(m, ")");
	if (at(m, "+") || at(m, "-")) {
		bool minus = at(m, "-");
		ptx_lex_next(m->lex);
		v += ptx_number(m, minus, T_U64);
	}
	v &= mask;
	while (mask && !(mask & 0xff)) {
		mask >>= 8;
		v >>= 8;
	}
	return v;
}

static uint64_t initial_value(struct ptx_module *m, enum ptx_type type)
{
	bool negative = take(m, "-");

	if (m->lex->kind == LEX_WORD)
		return initial_address(m, UINT64_MAX);
	uint64_t v = ptx_number(m, negative, type);
	if (take(m, "(")) {
		v = initial_address(m, v);
		want(m, ")");
	}
	return v;
}

static void initial_values(struct ptx_module *m, const struct declaration *d, char *host)
{
	size_t element = ptx_type_bytes[d->type], k = 0;
	int depth = 0;

	do {
		while (take(m, "{"))
			depth++;
		if (!at(m, "}")) {
			uint64_t v = initial_value(m, d->type);

			if ((k + 1) * element > d->bytes)
				ptx_refuse(m, "more initial values than '%s' holds", d->name);
			memcpy(host + k++ * element, &v, element);
		}
		while (depth && take(m, "}"))
			depth--;
	} while (take(m, ","));
	if (depth)
		ptx_refuse(m, "initial values of '%s' do not end", d->name);
}

/* Variables of the module lie before those of a kernel; a device function's are the
 * module's, since any kernel may call it. */
static void shared_variable(struct ptx_module *m, const struct declaration *d, struct ptx_symbol *s,
			    bool external)
{
	bool own = m->current && m->current->entry;
	size_t *used = own ? &m->current->shared : &m->shared;

	s->dynamic = external || d->unsized;
	if (s->dynamic)
		return;
	for (struct ptx_function *f = m->functions; f && !own; f = f->next)
		if (f->entry && f->defined && f->shared > m->shared)
			ptx_refuse(m, "shared variable '%s' comes after kernels that have some",
				   d->name);
	*used = rounded(*used, d->align);
	s->address = *used;
	*used += d->bytes;
}

static void variable(struct ptx_module *m, enum ptx_space space, bool external)
{
	struct declaration d;
	char *host = NULL;

	declaration(m, &d);
	struct ptx_table *table = m->current ? &m->current->table : &m->table;
	struct ptx_symbol *s = ptx_table_add(m, table, d.name);
	s->kind = SYMBOL_VARIABLE;
	s->space = (uint8_t)space;
	s->size = d.bytes;
	if (space == SPACE_SHARED) {
		shared_variable(m, &d, s, external);
	} else if (space == SPACE_LOCAL) {
		m->current->local = rounded(m->current->local, d.align < 16 ? 16 : d.align);
		s->address = m->current->local;
		m->current->local += d.bytes;
	} else {
		s->address = m->host->allocate(m->host->data, d.bytes ? d.bytes : 1, &host);
		if (!s->address)
			ptx_refuse(m, "no device memory for '%s', %zu bytes", d.name, d.bytes);
		if (take(m, "="))
			initial_values(m, &d, host);
	}
	want(m, ";");
}

/* ---- function bodies ---- */

static void registers(struct ptx_module *m)
{
	char name[2048];
	enum ptx_type type = ptx_type_of(m->lex->text + 1);

	if (!type || type == T_B128)
		ptx_refuse(m, "registers of type '%s'", m->lex->text);
	ptx_lex_next(m->lex);
	do {
		uint32_t bytes = ptx_type_bytes[type], count = 1;

		copy_name(m, name);
		bool range = take(m, "<");
		if (range) {
			count = (uint32_t)number(m);
			want(m, ">");
		}
		if (!count || count > 1000000)
			ptx_refuse(m, "%u registers", count);
		struct ptx_symbol *s = ptx_table_add(m, &m->current->table, name);
		s->kind = range ? SYMBOL_REGISTERS : SYMBOL_REGISTER;
		s->bytes = (uint8_t)bytes;
		s->count = count;
		s->where = ptx_new_register(m, bytes);
		m->current->reg_bytes += (count - 1) * bytes;
		m->current->nregs += count - 1;
	} while (take(m, ","));
	want(m, ";");
}

static struct ptx_symbol *lane_param(struct ptx_module *m)
{
	struct declaration d;

	if (take(m, ".reg"))
		ptx_refuse(m, "register parameters of device functions are not supported");
	want(m, ".param");
	declaration(m, &d);
	struct ptx_symbol *s = ptx_table_add(m, &m->current->table, d.name);
	s->kind = SYMBOL_LANE_PARAM;
	s->size = d.bytes;
	s->where = ptx_new_lane_param(m, (uint32_t)d.bytes);
	return s;
}

/* name: .branchtargets A, B, C; */
static void branch_targets(struct ptx_module *m, struct ptx_symbol *s)
{
	struct ptx_table *table = &m->current->table;
	uint32_t list[1024], n = 0, self = (uint32_t)(s - table->at);

	do {
		if (n == 1024)
			ptx_refuse(m, "more than 1024 branch targets");
		struct ptx_symbol *label = ptx_table_find(table, m->lex->text);
		if (!label) {
			label = ptx_table_add(m, table, m->lex->text);
			label->kind = SYMBOL_LABEL;
			label->where = PTX_NONE;
		}
		list[n++] = (uint32_t)(label - table->at);
		ptx_lex_next(m->lex);
	} while (take(m, ","));
	want(m, ";");
	s = &table->at[self]; /* adding labels may have moved it */
	s->kind = SYMBOL_TARGETS;
	s->targets = ptx_own(m, sizeof(*s->targets) + n * sizeof(uint32_t));
	s->targets->count = n;
	memcpy(s->targets->at, list, n * sizeof(uint32_t));
}

static bool label(struct ptx_module *m)
{
	struct ptx_lexer kept = *m->lex;

	ptx_lex_next(m->lex);
	if (!take(m, ":")) {
		*m->lex = kept;
		return false;
	}
	struct ptx_symbol *s = ptx_table_find(&m->current->table, kept.text);
	if (!s)
		s = ptx_table_add(m, &m->current->table, kept.text);
	if (take(m, ".branchtargets")) {
		branch_targets(m, s);
		return true;
	}
	s->kind = SYMBOL_LABEL;
	s->where = m->nins;
	return true;
}

static void body_directive(struct ptx_module *m)
{
	if (take(m, ".reg")) {
		registers(m);
	} else if (take(m, ".shared")) {
		variable(m, SPACE_SHARED, false);
	} else if (take(m, ".local")) {
		variable(m, SPACE_LOCAL, false);
	} else if (at(m, ".param")) {
		lane_param(m);
		want(m, ";");
	} else if (take(m, ".pragma")) {
		while (m->lex->kind != LEX_END && !at(m, ";"))
			ptx_lex_next(m->lex);
		want(m, ";");
	} else if (at(m, ".loc")) {
		ptx_lex_skip_line(m->lex);
	} else {
		ptx_refuse(m, "unsupported directive '%s'", m->lex->text);
	}
}

static void guarded(struct ptx_module *m)
{
	struct ptx_symbol range;

	m->guard = PTX_NONE;
	m->guard_not = false;
	memset(m->scratch_used, 0, sizeof(m->scratch_used));
	if (take(m, "@")) {
		m->guard_not = take(m, "!");
		struct ptx_symbol *s = ptx_lookup(m, m->lex->text, &range);
		if (!s || s->kind != SYMBOL_REGISTER || s->bytes != 1)
			ptx_refuse(m, "guard '%s' is no predicate", m->lex->text);
		m->guard = s->where;
		ptx_lex_next(m->lex);
	}
	ptx_instruction(m);
}

/* At the end of a block its registers are forgotten, so that a name like %r1 means the
 * register of the range %r again. */
static void forget_registers(struct ptx_table *t, uint32_t from)
{
	static char nothing[] = "";

	for (uint32_t k = from; k < t->count; k++)
		if (t->at[k].kind == SYMBOL_REGISTER || t->at[k].kind == SYMBOL_REGISTERS)
			t->at[k].name = nothing;
}

static void body(struct ptx_module *m)
{
	struct ptx_table *table = &m->current->table;
	uint32_t begin[MAX_BLOCKS] = {0}; /* [depth]: symbols before the block */

	for (int depth = 1; depth;) {
		if (m->lex->kind == LEX_END)
			ptx_refuse(m, "the text ends inside '%s'", m->current->name);
		if (take(m, "{")) {
			if (++depth == MAX_BLOCKS)
				ptx_refuse(m, "more than %d blocks in one another", MAX_BLOCKS);
			begin[depth] = table->count;
		} else if (take(m, "}")) {
			if (--depth)
				forget_registers(table, begin[depth + 1]);
		} else if (take(m, ";"))
			continue;
		else if (at(m, "@"))
			guarded(m);
		else if (m->lex->kind != LEX_WORD)
			ptx_refuse(m, "unexpected '%s'", m->lex->text);
		else if (m->lex->text[0] == '.')
			body_directive(m);
		else if (!label(m))
			guarded(m);
	}
}

/* Symbol numbers of branches become instructions. */
static void resolve_branches(struct ptx_module *m, struct ptx_function *f)
{
	for (uint32_t k = 0; k < f->table.count; k++) {
		struct ptx_targets *t = f->table.at[k].targets;

		for (uint32_t n = 0; t && n < t->count; n++) {
			struct ptx_symbol *s = &f->table.at[t->at[n]];

			if (s->where == PTX_NONE)
				ptx_refuse(m, "label '%s' is not in '%s'", s->name, f->name);
			t->at[n] = s->where;
		}
	}
	for (uint32_t k = f->start; k < f->end; k++) {
		struct ptx_ins *i = &m->ins[k];

		if (i->op == OP_BRA) {
			struct ptx_symbol *s = &f->table.at[i->target];

			if (s->kind != SYMBOL_LABEL || s->where == PTX_NONE)
				ptx_refuse(m, "label '%s' is not in '%s'", s->name, f->name);
			i->target = s->where;
		} else if (i->op == OP_BRX) {
			struct ptx_symbol *s = &f->table.at[i->target];

			if (s->kind != SYMBOL_TARGETS)
				ptx_refuse(m, "'%s' lists no branch targets", s->name);
			i->targets = s->targets;
		}
	}
}

/* ---- functions ---- */

static void add_param(struct ptx_module *m, struct ptx_function *f, uint32_t offset, uint32_t bytes)
{
	if (f->nparams == PTX_MAX_PARAMS)
		ptx_refuse(m, "'%s' has more than %d parameters", f->name, PTX_MAX_PARAMS);
	f->param_offset[f->nparams] = offset;
	f->param_size[f->nparams++] = bytes;
}

static void entry_param(struct ptx_module *m, struct ptx_function *f)
{
	struct declaration d;

	want(m, ".param");
	declaration(m, &d);
	f->param_bytes = rounded(f->param_bytes, d.align > 16 && !d.unsized && d.elements == 1
							 ? ptx_type_bytes[d.type]
							 : d.align);
	struct ptx_symbol *s = ptx_table_add(m, &f->table, d.name);
	s->kind = SYMBOL_ENTRY_PARAM;
	s->size = d.bytes;
	s->address = f->param_bytes;
	add_param(m, f, (uint32_t)f->param_bytes, (uint32_t)d.bytes);
	f->param_bytes += d.bytes;
}

static void params(struct ptx_module *m, struct ptx_function *f)
{
	if (!take(m, "("))
		return;
	while (!take(m, ")")) {
		if (f->entry) {
			entry_param(m, f);
		} else {
			struct ptx_symbol *s = lane_param(m);

			add_param(m, f, s->where, (uint32_t)s->size);
		}
		take(m, ",");
	}
}

static void limits(struct ptx_module *m, struct ptx_function *f)
{
	while (m->lex->kind == LEX_WORD && m->lex->text[0] == '.') {
		bool threads = at(m, ".maxntid") || at(m, ".reqntid");

		if (!threads && !at(m, ".minnctapersm") && !at(m, ".maxnreg") &&
		    !at(m, ".maxnctapersm") && !at(m, ".noreturn"))
			ptx_refuse(m, "unsupported directive '%s' of a function", m->lex->text);
		ptx_lex_next(m->lex);
		uint64_t product = 1;
		while (m->lex->kind == LEX_NUMBER) {
			product *= number(m);
			take(m, ",");
		}
		if (threads)
			f->max_threads = (unsigned)product;
	}
}

static struct ptx_function *declared(struct ptx_module *m, const char *name, bool entry)
{
	struct ptx_symbol *s = ptx_table_find(&m->table, name);

	if (s && s->kind == SYMBOL_FUNCTION) {
		if (s->function->defined)
			ptx_refuse(m, "'%s' is defined twice", name);
		return s->function;
	}
	struct ptx_function *f = ptx_own(m, sizeof(*f));
	s = ptx_table_add(m, &m->table, name);
	s->kind = SYMBOL_FUNCTION;
	s->function = f;
	f->name = s->name;
	f->module = m;
	f->entry = entry;
	f->result = PTX_NONE;
	f->carry = PTX_NONE;
	f->number = m->nfunctions++;
	if (m->last)
		m->last->next = f;
	else
		m->functions = f;
	m->last = f;
	return f;
}

static void function(struct ptx_module *m, bool entry)
{
	struct declaration result = {.bytes = 0};
	char name[2048];
	uint32_t where = PTX_NONE;

	while (!entry && take(m, ".noreturn"))
		;
	if (!entry && take(m, "(")) {
		want(m, ".param");
		declaration(m, &result);
		where = ptx_new_lane_param(m, (uint32_t)result.bytes);
		want(m, ")");
	}
	copy_name(m, name);
	struct ptx_function *f = declared(m, name, entry);
	m->current = f;
	f->nparams = 0;
	f->param_bytes = 0;
	f->result = where;
	f->result_bytes = (uint32_t)result.bytes;
	if (where != PTX_NONE) {
		struct ptx_symbol *s = ptx_table_add(m, &f->table, result.name);

		s->kind = SYMBOL_LANE_PARAM;
		s->where = where;
		s->size = result.bytes;
	}
	params(m, f);
	limits(m, f);
	if (take(m, ";")) {
		m->current = NULL;
		return;
	}
	want(m, "{");
	memset(m->nscratch, 0, sizeof(m->nscratch));
	f->start = m->nins;
	f->defined = true;
	f->shared = m->shared;
	body(m);
	m->guard = PTX_NONE;
	ptx_emit(m, OP_RET, T_NONE);
	f->end = m->nins;
	resolve_branches(m, f);
	m->current = NULL;
}

/* ---- module ---- */

static void target(struct ptx_module *m)
{
	do {
		int n = 0;

		if (sscanf(m->lex->text, "sm_%d", &n) == 1)
			m->target = n;
		ptx_lex_next(m->lex);
	} while (take(m, ","));
}

static void version(struct ptx_module *m)
{
	if (strtod(m->lex->text, NULL) > 9.99)
		ptx_refuse(m, "PTX version %s is newer than this interpreter", m->lex->text);
	ptx_lex_next(m->lex);
}

static void linked(struct ptx_module *m)
{
	bool external = false;

	while (at(m, ".visible") || at(m, ".extern") || at(m, ".weak") || at(m, ".common")) {
		external |= at(m, ".extern");
		ptx_lex_next(m->lex);
	}
	if (take(m, ".entry"))
		function(m, true);
	else if (take(m, ".func"))
		function(m, false);
	else if (take(m, ".shared"))
		variable(m, SPACE_SHARED, external);
	else if (external)
		ptx_refuse(m, "external variables are not supported");
	else if (take(m, ".global"))
		variable(m, SPACE_GLOBAL, false);
	else if (take(m, ".const"))
		variable(m, SPACE_CONST, false);
	else
		ptx_refuse(m, "unsupported directive '%s'", m->lex->text);
}

static void directive(struct ptx_module *m)
{
	if (take(m, ".version")) {
		version(m);
	} else if (take(m, ".target")) {
		target(m);
	} else if (take(m, ".address_size")) {
		if (!at(m, "64"))
			ptx_refuse(m, "addresses of %s bits", m->lex->text);
		ptx_lex_next(m->lex);
	} else if (at(m, ".file") || at(m, ".loc")) {
		ptx_lex_skip_line(m->lex);
	} else if (take(m, ".section")) {
		while (m->lex->kind != LEX_END && !at(m, "}"))
			ptx_lex_next(m->lex);
		want(m, "}");
	} else if (!take(m, ";")) {
		linked(m);
	}
}

static void check_calls(struct ptx_module *m)
{
	for (uint32_t k = 0; k < m->nins; k++) {
		struct ptx_ins *i = &m->ins[k];

		if (i->op == OP_CALL && !i->call->callee->defined) {
			m->lex->line = (int)i->line;
			ptx_refuse(m, "call of '%s', which the module does not define",
				   i->call->callee->name);
		}
	}
}

static void shift(uint32_t *reg, uint32_t by)
{
	if (*reg != PTX_NONE)
		*reg += by;
}

/* Device functions' registers lie first in the file, then those of the entry. */
static void place_registers(struct ptx_module *m)
{
	for (struct ptx_function *f = m->functions; f; f = f->next)
		if (!f->entry) {
			f->base = m->func_bytes;
			m->func_bytes += (f->reg_bytes + 15) & ~15u;
		}
	for (struct ptx_function *f = m->functions; f; f = f->next) {
		if (f->entry)
			f->base = m->func_bytes;
		for (uint32_t k = 0; k < f->nconstants; k++)
			f->constants[k].reg += f->base;
		for (uint32_t k = f->start; k < f->end; k++) {
			struct ptx_ins *i = &m->ins[k];

			shift(&i->guard, f->base);
			shift(&i->predicate, f->base);
			shift(&i->base, f->base);
			for (int n = 0; n < i->nd; n++)
				shift(&i->d[n], f->base);
			for (int n = 0; n < i->ns; n++)
				shift(&i->s[n], f->base);
		}
	}
}

static bool parsed(struct ptx_module *m)
{
	if (setjmp(m->refused))
		return false;
	while (m->lex->kind != LEX_END)
		directive(m);
	check_calls(m);
	place_registers(m);
	return true;
}

struct ptx_module *ptx_load(const char *text, const struct ptx_host *host, char *log, size_t cap)
{
	struct ptx_module *m = calloc(1, sizeof(*m));
	struct ptx_lexer *lex = malloc(sizeof(*lex));

	if (!m || !lex) {
		free(m);
		free(lex);
		return NULL;
	}
	m->host = host;
	m->lex = lex;
	m->log = log;
	m->log_cap = cap;
	m->guard = PTX_NONE;
	ptx_lex_begin(lex, text);
	bool whole = parsed(m);
	free(lex);
	m->lex = NULL;
	m->host = NULL;
	if (whole)
		return m;
	ptx_unload(m);
	return NULL;
}

static void free_table(struct ptx_table *t)
{
	free(t->at);
	free(t->bucket);
}

void ptx_unload(struct ptx_module *m)
{
	for (struct ptx_function *f = m->functions; f; f = f->next) {
		run_free_spaces(f);
		free_table(&f->table);
		free(f->constants);
	}
	free_table(&m->table);
	for (size_t i = 0; i < m->nowned; i++)
		free(m->owned[i]);
	free(m->owned);
	free(m->ins);
	free(m);
}
