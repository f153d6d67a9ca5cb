/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_symbol.c - types, symbol tables, registers and instructions of a module.
 *
 * The parts of ptx_module.h that parsing builds with; nothing here reads text. */
#include "ptx_module.h"
#include "ptx_lex.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const uint8_t ptx_type_bytes[T_COUNT] = {
	[T_B8] = 1,	[T_B16] = 2,   [T_B32] = 4,   [T_B64] = 8,  [T_B128] = 16, [T_U8] = 1,
	[T_U16] = 2,	[T_U32] = 4,   [T_U64] = 8,   [T_S8] = 1,   [T_S16] = 2,   [T_S32] = 4,
	[T_S64] = 8,	[T_F16] = 2,   [T_BF16] = 2,  [T_F32] = 4,  [T_F64] = 8,   [T_F16X2] = 4,
	[T_BF16X2] = 4, [T_U16X2] = 4, [T_S16X2] = 4, [T_PRED] = 1,
};

const char *const ptx_type_name[T_COUNT] = {
	[T_NONE] = "",	     [T_B8] = "b8",	  [T_B16] = "b16",     [T_B32] = "b32",
	[T_B64] = "b64",     [T_B128] = "b128",	  [T_U8] = "u8",       [T_U16] = "u16",
	[T_U32] = "u32",     [T_U64] = "u64",	  [T_S8] = "s8",       [T_S16] = "s16",
	[T_S32] = "s32",     [T_S64] = "s64",	  [T_F16] = "f16",     [T_BF16] = "bf16",
	[T_F32] = "f32",     [T_F64] = "f64",	  [T_F16X2] = "f16x2", [T_BF16X2] = "bf16x2",
	[T_U16X2] = "u16x2", [T_S16X2] = "s16x2", [T_PRED] = "pred",
};

enum ptx_type ptx_type_of(const char *name)
{
	for (int t = 1; t < T_COUNT; t++)
		if (!strcmp(name, ptx_type_name[t]))
			return (enum ptx_type)t;
	return T_NONE;
}

bool ptx_type_signed(enum ptx_type t)
{
	return t >= T_S8 && t <= T_S64;
}

bool ptx_type_float(enum ptx_type t)
{
	return t >= T_F16 && t <= T_F64;
}

void ptx_refuse(struct ptx_module *m, const char *fmt, ...)
{
	va_list args;

	int n = snprintf(m->log, m->log_cap, "PTX line %d: ", m->lex->line);
	if (n > 0 && (size_t)n < m->log_cap) {
		va_start(args, fmt);
		vsnprintf(m->log + n, m->log_cap - (size_t)n, fmt, args);
		va_end(args);
	}
	longjmp(m->refused, 1);
}

static void *grown(void *old, size_t bytes)
{
	void *p = realloc(old, bytes);

	if (!p) {
		fprintf(stderr, "standin: out of host memory\n");
		abort();
	}
	return p;
}

void *ptx_own(struct ptx_module *m, size_t bytes)
{
	if (m->nowned == m->owned_cap) {
		m->owned_cap = m->owned_cap ? 2 * m->owned_cap : 64;
		m->owned = grown(m->owned, m->owned_cap * sizeof(*m->owned));
	}
	void *p = grown(NULL, bytes ? bytes : 1);
	memset(p, 0, bytes ? bytes : 1);
	m->owned[m->nowned++] = p;
	return p;
}

/* ---- symbols ---- */

static uint32_t hash_of(const char *s)
{
	uint32_t h = 2166136261u;

	while (*s)
		h = (h ^ (unsigned char)*s++) * 16777619u;
	return h;
}

static void enter(struct ptx_table *t, uint32_t number)
{
	uint32_t h = hash_of(t->at[number].name) & (t->nbuckets - 1);

	while (t->bucket[h])
		h = (h + 1) & (t->nbuckets - 1);
	t->bucket[h] = number + 1;
}

struct ptx_symbol *ptx_table_find(const struct ptx_table *t, const char *name)
{
	if (!t->count)
		return NULL;
	uint32_t h = hash_of(name) & (t->nbuckets - 1);
	for (; t->bucket[h]; h = (h + 1) & (t->nbuckets - 1)) {
		struct ptx_symbol *s = &t->at[t->bucket[h] - 1];

		if (!strcmp(s->name, name))
			return s;
	}
	return NULL;
}

/* A name declared again, in another block of braces, names the newest. */
struct ptx_symbol *ptx_table_add(struct ptx_module *m, struct ptx_table *t, const char *name)
{
	struct ptx_symbol *s = ptx_table_find(t, name);

	if (s) {
		char *kept = s->name;
		*s = (struct ptx_symbol){.name = kept};
		return s;
	}
	if (t->count == t->cap) {
		t->cap = t->cap ? 2 * t->cap : 32;
		t->nbuckets = 4 * t->cap;
		t->at = grown(t->at, t->cap * sizeof(*t->at));
		t->bucket = grown(t->bucket, t->nbuckets * sizeof(*t->bucket));
		memset(t->bucket, 0, t->nbuckets * sizeof(*t->bucket));
		for (uint32_t i = 0; i < t->count; i++)
			enter(t, i);
	}
	s = &t->at[t->count];
	*s = (struct ptx_symbol){.name = ptx_own(m, strlen(name) + 1)};
	memcpy(s->name, name, strlen(name));
	enter(t, t->count++);
	return s;
}

/* %r17: the range %r, when it has more than 17 members. */
static struct ptx_symbol *member(const struct ptx_table *t, const char *name,
				 struct ptx_symbol *range)
{
	char prefix[256];
	size_t n = strlen(name), digits = n;

	while (digits && name[digits - 1] >= '0' && name[digits - 1] <= '9')
		digits--;
	if (digits == n || digits >= sizeof(prefix) || n - digits > 9)
		return NULL;
	memcpy(prefix, name, digits);
	prefix[digits] = 0;
	struct ptx_symbol *s = ptx_table_find(t, prefix);
	uint32_t k = (uint32_t)strtoul(name + digits, NULL, 10);
	if (!s || s->kind != SYMBOL_REGISTERS || k >= s->count)
		return NULL;
	*range = *s;
	range->kind = SYMBOL_REGISTER;
	range->where = s->where + k * s->bytes;
	return range;
}

struct ptx_symbol *ptx_lookup(struct ptx_module *m, const char *name, struct ptx_symbol *range)
{
	struct ptx_symbol *s = NULL;

	if (m->current) {
		s = ptx_table_find(&m->current->table, name);
		if (!s || s->kind == SYMBOL_REGISTERS)
			s = member(&m->current->table, name, range);
	}
	return s ? s : ptx_table_find(&m->table, name);
}

/* ---- registers ---- */

uint32_t ptx_new_register(struct ptx_module *m, uint32_t bytes)
{
	struct ptx_function *f = m->current;
	uint32_t where = (f->reg_bytes + bytes - 1) / bytes * bytes;

	f->reg_bytes = where + bytes;
	f->nregs++;
	return where;
}

uint32_t ptx_new_constant(struct ptx_module *m, enum ptx_preset preset, uint64_t value,
			  uint32_t bytes)
{
	struct ptx_function *f = m->current;
	uint32_t oldest = f->nconstants > 64 ? f->nconstants - 64 : 0;

	for (uint32_t i = f->nconstants; i-- > oldest;) {
		struct ptx_constant *c = &f->constants[i];

		if (c->preset == preset && c->value == value && c->bytes == bytes)
			return c->reg;
	}
	if (f->nconstants == f->constants_cap) {
		f->constants_cap = f->constants_cap ? 2 * f->constants_cap : 32;
		f->constants = grown(f->constants, f->constants_cap * sizeof(*f->constants));
	}
	struct ptx_constant *c = &f->constants[f->nconstants++];
	*c = (struct ptx_constant){.reg = ptx_new_register(m, bytes),
				   .bytes = (uint8_t)bytes,
				   .preset = (uint8_t)preset,
				   .value = value};
	return c->reg;
}

uint32_t ptx_new_scratch(struct ptx_module *m, uint32_t bytes)
{
	unsigned k = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;

	if (m->scratch_used[k] == m->nscratch[k]) {
		if (m->nscratch[k] == 16)
			ptx_refuse(m, "instruction needs more than 16 temporaries of one size");
		m->scratch[k][m->nscratch[k]++] = ptx_new_register(m, bytes);
	}
	return m->scratch[k][m->scratch_used[k]++];
}

uint32_t ptx_new_lane_param(struct ptx_module *m, uint32_t bytes)
{
	uint32_t where = (m->call_bytes + 15) & ~15u;

	m->call_bytes = where + bytes;
	return where;
}

struct ptx_ins *ptx_emit(struct ptx_module *m, enum ptx_op op, enum ptx_type type)
{
	if (m->nins == m->ins_cap) {
		m->ins_cap = m->ins_cap ? 2 * m->ins_cap : 256;
		m->ins = grown(m->ins, m->ins_cap * sizeof(*m->ins));
	}
	struct ptx_ins *i = &m->ins[m->nins++];
	*i = (struct ptx_ins){.op = (uint8_t)op,
			      .type = (uint8_t)type,
			      .guard = m->guard,
			      .guard_not = m->guard_not,
			      .predicate = PTX_NONE,
			      .base = PTX_NONE,
			      .target = PTX_NONE,
			      .line = (uint32_t)m->lex->line};
	return i;
}

/* ---- what a module says about itself ---- */

int ptx_target(const struct ptx_module *m)
{
	return m->target;
}

struct ptx_function *ptx_find_kernel(struct ptx_module *m, const char *name)
{
	struct ptx_symbol *s = ptx_table_find(&m->table, name);

	return s && s->kind == SYMBOL_FUNCTION && s->function->entry && s->function->defined
		       ? s->function
		       : NULL;
}

uint64_t ptx_find_variable(const struct ptx_module *m, const char *name, size_t *bytes)
{
	struct ptx_symbol *s = ptx_table_find(&m->table, name);

	if (!s || s->kind != SYMBOL_VARIABLE ||
	    (s->space != SPACE_GLOBAL && s->space != SPACE_CONST))
		return 0;
	*bytes = s->size;
	return s->address;
}

size_t ptx_param_count(const struct ptx_function *f)
{
	return f->nparams;
}

void ptx_param(const struct ptx_function *f, size_t i, size_t *offset, size_t *bytes)
{
	*offset = f->param_offset[i];
	*bytes = f->param_size[i];
}

size_t ptx_param_bytes(const struct ptx_function *f)
{
	return f->param_bytes;
}

size_t ptx_shared_bytes(const struct ptx_function *f)
{
	return f->shared;
}

size_t ptx_local_bytes(const struct ptx_function *f)
{
	return f->local;
}

unsigned ptx_max_threads(const struct ptx_function *f)
{
	return f->max_threads;
}

unsigned ptx_register_count(const struct ptx_function *f)
{
	return f->nregs;
}
