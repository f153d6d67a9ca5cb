/* SPDX-License-Identifier: Apache-2.0 */
/* run_atomic.c - atom and red: lane after lane, atomic against other blocks' threads. */
#include "run.h"
#include "half.h"
#include <string.h>

static u64 add(const struct ptx_ins *i, u64 old, u64 v)
{
	u32 a32 = (u32)old, b32 = (u32)v;
	f32 fa, fb;
	f64 da, db;
	enum ptx_type half = i->type == T_F16X2 || i->type == T_F16 ? T_F16 : T_BF16;

	switch (i->type) {
	case T_F32:
		memcpy(&fa, &a32, sizeof(fa));
		memcpy(&fb, &b32, sizeof(fb));
		fa += fb;
		memcpy(&a32, &fa, sizeof(a32));
		return a32;
	case T_F64:
		memcpy(&da, &old, sizeof(da));
		memcpy(&db, &v, sizeof(db));
		da += db;
		memcpy(&old, &da, sizeof(old));
		return old;
	case T_F16:
	case T_BF16:
		return half_round(half_value((u16)old, half) + half_value((u16)v, half), half,
				  ROUND_RN);
	case T_F16X2:
	case T_BF16X2:
		return half_round(half_value((u16)old, half) + half_value((u16)v, half), half,
				  ROUND_RN) |
		       (u64)half_round(half_value((u16)(old >> 16), half) +
					       half_value((u16)(v >> 16), half),
				       half, ROUND_RN)
			       << 16;
	default:
		return old + v;
	}
}

static bool less(const struct ptx_ins *i, u64 a, u64 b)
{
	if (i->type == T_S32)
		return (s32)a < (s32)b;
	return i->type == T_S64 ? (s64)a < (s64)b : a < b;
}

/* What replaces a value by its comparison with another. */
static u64 replaced(const struct ptx_ins *i, u64 old, u64 v, u64 other)
{
	switch (i->atomic) {
	case ATOM_MIN:
		return less(i, v, old) ? v : old;
	case ATOM_MAX:
		return less(i, old, v) ? v : old;
	case ATOM_CAS:
		return old == v ? other : old;
	case ATOM_INC:
		return old >= v ? 0 : old + 1;
	case ATOM_DEC:
		return old == 0 || old > v ? v : old - 1;
	default: /* exchange */
		return v;
	}
}

static u64 combined(const struct ptx_ins *i, u64 old, u64 v, u64 other)
{
	switch (i->atomic) {
	case ATOM_ADD:
		return add(i, old, v);
	case ATOM_AND:
		return old & v;
	case ATOM_OR:
		return old | v;
	case ATOM_XOR:
		return old ^ v;
	default:
		return replaced(i, old, v, other);
	}
}

#define EXCHANGE(T)                                                                                \
	static u64 exchange_##T(const struct ptx_ins *i, void *at, u64 v, u64 other)               \
	{                                                                                          \
		T *p = at, old = __atomic_load_n(p, __ATOMIC_SEQ_CST), next;                       \
		do                                                                                 \
			next = (T)combined(i, old, v, other);                                      \
		while (!__atomic_compare_exchange_n(p, &old, next, false, __ATOMIC_SEQ_CST,        \
						    __ATOMIC_SEQ_CST));                            \
		return old;                                                                        \
	}
EXCHANGE(u16)
EXCHANGE(u32)
EXCHANGE(u64)

static void atomic(struct run *r, const struct ptx_ins *i)
{
	unsigned bytes = ptx_type_bytes[i->type];

	if (!run_access(r, i, bytes, true, true))
		return;
	for (unsigned k = 0; k < r->count; k++) {
		unsigned l = run_lane(r, k);
		void *at = r->space->pointer[l];
		u64 v = run_get(r, i->s[0], bytes, l);
		u64 other = i->atomic == ATOM_CAS ? run_get(r, i->s[1], bytes, l) : 0;
		u64 old = bytes == 8   ? exchange_u64(i, at, v, other)
			  : bytes == 4 ? exchange_u32(i, at, v, other)
				       : exchange_u16(i, at, v, other);

		if (i->op == OP_RED)
			continue;
		if (bytes == 8)
			REG(u64, i->d[0])[l] = old;
		else if (bytes == 4)
			REG(u32, i->d[0])[l] = (u32)old;
		else
			REG(u16, i->d[0])[l] = (u16)old;
	}
}

static const u8 integers[] = {T_B32, T_B64, T_U32, T_U64, T_S32, T_S64};
static const u8 floats[] = {T_F16, T_BF16, T_F16X2, T_BF16X2, T_F32, T_F64};

static bool among(const u8 *types, size_t n, unsigned type)
{
	for (size_t k = 0; k < n; k++)
		if (types[k] == type)
			return true;
	return false;
}

ptx_exec *run_atomic_find(const struct ptx_ins *i)
{
	bool integer = among(integers, sizeof(integers), i->type);
	bool real = among(floats, sizeof(floats), i->type);
	bool half_word = i->type == T_B16 && (i->atomic == ATOM_CAS || i->atomic == ATOM_EXCH);

	if ((i->op != OP_ATOM && i->op != OP_RED) || i->atomic == ATOM_NONE || i->lane_param ||
	    i->space == SPACE_LOCAL || i->space == SPACE_PARAM || i->space == SPACE_CONST)
		return NULL;
	return integer || half_word || (real && i->atomic == ATOM_ADD) ? atomic : NULL;
}
