/* SPDX-License-Identifier: Apache-2.0 */
/* run_memory.c - ld and st, of all spaces and vectors.
 *
 * In: instructions bound by run_memory_find.  A load into wider registers extends by
 * its type's sign; a store takes the register's low bytes. */
#include "run.h"
#include <string.h>

/* Whether the lanes' pointers follow each other without a gap. */
static bool in_a_row(const struct run *r, unsigned bytes)
{
	char *const *p = r->space->pointer + r->first;
	unsigned apart = 0;

	if (r->index)
		return false;
	for (unsigned k = 0; k < r->count; k++)
		apart |= p[k] != p[0] + (size_t)k * bytes;
	return !apart;
}

#define LOAD(REGISTER, MEMORY)                                                                     \
	static void load_##REGISTER##_##MEMORY(struct run *r, u32 to, unsigned at)                 \
	{                                                                                          \
		REGISTER *d = REG(REGISTER, to);                                                   \
		char *const *p = r->space->pointer;                                                \
		LANES(MEMORY v; memcpy(&v, p[l] + at, sizeof(v)); d[l] = (REGISTER)v;);            \
	}
#define STORE(REGISTER, MEMORY)                                                                    \
	static void store_##REGISTER##_##MEMORY(struct run *r, u32 from, unsigned at)              \
	{                                                                                          \
		const REGISTER *s = REG(REGISTER, from);                                           \
		char *const *p = r->space->pointer;                                                \
		for (unsigned k = 0; k < r->count; k++) { /* in order: lanes may overlap */        \
			unsigned l = run_lane(r, k);                                               \
			MEMORY v = (MEMORY)s[l];                                                   \
			memcpy(p[l] + at, &v, sizeof(v));                                          \
		}                                                                                  \
	}
#define PAIRS(REGISTER, MEMORY, SIGNED)                                                            \
	LOAD(REGISTER, MEMORY)                                                                     \
	LOAD(REGISTER, SIGNED)                                                                     \
	STORE(REGISTER, MEMORY)
PAIRS(u16, u8, s8)
PAIRS(u32, u8, s8)
PAIRS(u64, u8, s8)
PAIRS(u16, u16, s16)
PAIRS(u32, u16, s16)
PAIRS(u64, u16, s16)
PAIRS(u32, u32, s32)
PAIRS(u64, u32, s32)
PAIRS(u64, u64, s64)

typedef void move_fn(struct run *r, u32 reg, unsigned at);

/* [log2 of memory bytes][log2 of register bytes] */
static move_fn *const loads[4][4] = {
	{NULL, load_u16_u8, load_u32_u8, load_u64_u8},
	{NULL, load_u16_u16, load_u32_u16, load_u64_u16},
	{NULL, NULL, load_u32_u32, load_u64_u32},
	{NULL, NULL, NULL, load_u64_u64},
};
static move_fn *const signed_loads[4][4] = {
	{NULL, load_u16_s8, load_u32_s8, load_u64_s8},
	{NULL, load_u16_s16, load_u32_s16, load_u64_s16},
	{NULL, NULL, load_u32_s32, load_u64_s32},
	{NULL, NULL, NULL, load_u64_s64},
};
static move_fn *const stores[4][4] = {
	{NULL, store_u16_u8, store_u32_u8, store_u64_u8},
	{NULL, store_u16_u16, store_u32_u16, store_u64_u16},
	{NULL, NULL, store_u32_u32, store_u64_u32},
	{NULL, NULL, NULL, store_u64_u64},
};

static unsigned log2_of(unsigned bytes)
{
	return (unsigned)__builtin_ctz(bytes);
}

static move_fn *mover(const struct ptx_ins *i)
{
	unsigned memory = log2_of(ptx_type_bytes[i->type]), reg = log2_of(i->reg_bytes);

	if (i->op == OP_ST)
		return stores[memory][reg];
	return ptx_type_signed((enum ptx_type)i->type) ? signed_loads[memory][reg]
						       : loads[memory][reg];
}

static void load(struct run *r, const struct ptx_ins *i)
{
	unsigned bytes = ptx_type_bytes[i->type];

	if (!run_access(r, i, bytes * i->nd, false, false))
		return;
	if (i->nd == 1 && bytes == i->reg_bytes && in_a_row(r, bytes)) {
		memcpy(REG(char, i->d[0]) + (size_t)r->first * bytes, r->space->pointer[r->first],
		       (size_t)r->count * bytes);
		return;
	}
	for (unsigned n = 0; n < i->nd; n++)
		mover(i)(r, i->d[n], n * bytes);
}

static void store(struct run *r, const struct ptx_ins *i)
{
	unsigned bytes = ptx_type_bytes[i->type];

	if (!run_access(r, i, bytes * i->ns, true, false))
		return;
	if (i->ns == 1 && bytes == i->reg_bytes && in_a_row(r, bytes)) {
		memcpy(r->space->pointer[r->first], REG(char, i->s[0]) + (size_t)r->first * bytes,
		       (size_t)r->count * bytes);
		return;
	}
	for (unsigned n = 0; n < i->ns; n++)
		mover(i)(r, i->s[n], n * bytes);
}

/* A launch parameter is the same for all lanes. */
static void load_param(struct run *r, const struct ptx_ins *i)
{
	unsigned bytes = ptx_type_bytes[i->type];
	const char *from = (const char *)r->launch->params + i->imm;

	if (i->imm < 0 || (u64)i->imm + bytes * i->nd > r->f->param_bytes) {
		run_fault(r, PTX_ILLEGAL_ADDRESS, r->first, "parameter at offset %lld of %zu bytes",
			  (long long)i->imm, r->f->param_bytes);
		return;
	}
	for (unsigned n = 0; n < i->nd; n++) {
		u64 v = 0;
		unsigned unused = 64 - 8 * bytes;

		memcpy(&v, from + n * bytes, bytes);
		if (ptx_type_signed((enum ptx_type)i->type))
			v = (u64)((s64)(v << unused) >> unused);
		if (i->reg_bytes == 8)
			LANES(REG(u64, i->d[n])[l] = v;);
		else if (i->reg_bytes == 4)
			LANES(REG(u32, i->d[n])[l] = (u32)v;);
		else
			LANES(REG(u16, i->d[n])[l] = (u16)v;);
	}
}

/* Parameters and results of device functions lie in each lane's call space. */
static void point_at_call_space(struct run *r, const struct ptx_ins *i)
{
	char *space = r->space->call_space + i->imm;
	size_t each = r->m->call_bytes;

	LANES(r->space->pointer[l] = space + each * l;);
}

static void load_call(struct run *r, const struct ptx_ins *i)
{
	point_at_call_space(r, i);
	for (unsigned n = 0; n < i->nd; n++)
		mover(i)(r, i->d[n], n * ptx_type_bytes[i->type]);
}

static void store_call(struct run *r, const struct ptx_ins *i)
{
	point_at_call_space(r, i);
	for (unsigned n = 0; n < i->ns; n++)
		mover(i)(r, i->s[n], n * ptx_type_bytes[i->type]);
}

ptx_exec *run_memory_find(const struct ptx_ins *i)
{
	unsigned bytes = ptx_type_bytes[i->type];

	if ((i->op != OP_LD && i->op != OP_ST) || !bytes || bytes > 8 || i->type == T_PRED ||
	    !mover(i))
		return NULL;
	if (i->lane_param)
		return i->base != PTX_NONE ? NULL : i->op == OP_LD ? load_call : store_call;
	if (i->op == OP_ST)
		return i->space == SPACE_PARAM || i->space == SPACE_CONST ? NULL : store;
	return i->space == SPACE_PARAM && i->base == PTX_NONE ? load_param : load;
}
