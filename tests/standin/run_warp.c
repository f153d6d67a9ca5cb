/* SPDX-License-Identifier: Apache-2.0 */
/* run_warp.c - shfl, vote, match, redux, elect: lanes of a warp see each other.
 *
 * In: active lanes of which run_block.c has made sure that each one's mask is
 * complete.  Reads all sources before it writes a result. */
#include "run.h"

static u32 mask_of(const struct run *r, const struct ptx_ins *i, unsigned lane)
{
	return REG(u32, i->s[i->ns - 1])[lane];
}

/* Lanes of the mask that still run. */
static u32 present(const struct run *r, const struct ptx_ins *i, unsigned lane)
{
	u32 mask = mask_of(r, i, lane), out = 0;
	unsigned warp = lane & ~31u;

	for (unsigned k = 0; k < 32 && warp + k < r->lanes; k++)
		if (mask >> k & 1 && r->space->state[warp + k] != LANE_DONE)
			out |= 1u << k;
	return out;
}

static void store(struct run *r, const struct ptx_ins *i, unsigned bytes)
{
	const u64 *wide = r->space->wide;

	if (bytes == 1)
		LANES(REG(u8, i->d[0])[l] = (u8)wide[l];);
	else
		LANES(REG(u32, i->d[0])[l] = (u32)wide[l];);
}

/* Where a lane reads from, and whether that is inside its segment. */
static bool shuffle_source(unsigned mode, unsigned lane, u32 b, u32 c, unsigned *from)
{
	u32 segment = c >> 8 & 31, limit = c & 31;
	int highest = (int)((lane & segment) | (limit & ~segment)), j;
	b &= 31;

	switch (mode) {
	case 0: /* up */
		j = (int)lane - (int)b;
		*from = (unsigned)j;
		return j >= highest;
	case 1: /* down */
		j = (int)(lane + b);
		break;
	case 2: /* bfly */
		j = (int)(lane ^ b);
		break;
	default: /* idx */
		j = (int)((lane & segment) | (b & ~segment));
	}
	*from = (unsigned)j;
	return j <= highest;
}

static void shfl(struct run *r, const struct ptx_ins *i)
{
	const u32 *a = REG(u32, i->s[0]), *b = REG(u32, i->s[1]), *c = REG(u32, i->s[2]);
	u64 *wide = r->space->wide;

	for (unsigned k = 0; k < r->count; k++) {
		unsigned l = run_lane(r, k), warp = l & ~31u, from;
		bool inside = shuffle_source(i->mode, l & 31, b[l], c[l], &from);

		from = inside && from < 32 && warp + from < r->lanes ? warp + from : l;
		wide[l] = a[from] | (u64)inside << 32;
	}
	store(r, i, 4);
	if (i->predicate != PTX_NONE)
		LANES(REG(u8, i->predicate)[l] = (u8)(wide[l] >> 32););
}

static void vote(struct run *r, const struct ptx_ins *i)
{
	const u8 *p = REG(u8, i->s[0]);
	u64 *wide = r->space->wide;

	for (unsigned k = 0; k < r->count; k++) {
		unsigned l = run_lane(r, k), warp = l & ~31u;
		u32 all = present(r, i, l), yes = 0;

		for (u32 rest = all; rest; rest &= rest - 1) {
			unsigned n = (unsigned)__builtin_ctz(rest);

			yes |= (u32)(p[warp + n] != 0) << n;
		}
		wide[l] = i->mode == 0	 ? yes == all
			  : i->mode == 1 ? yes != 0
			  : i->mode == 2 ? yes == all || !yes
					 : yes;
	}
	store(r, i, i->mode == 3 ? 4 : 1);
}

static void match(struct run *r, const struct ptx_ins *i)
{
	unsigned bytes = ptx_type_bytes[i->type];
	u64 *wide = r->space->wide;

	for (unsigned k = 0; k < r->count; k++) {
		unsigned l = run_lane(r, k), warp = l & ~31u;
		u32 all = present(r, i, l), same = 0;
		u64 mine = run_get(r, i->s[0], bytes, l);

		for (u32 rest = all; rest; rest &= rest - 1) {
			unsigned n = (unsigned)__builtin_ctz(rest);

			same |= (u32)(run_get(r, i->s[0], bytes, warp + n) == mine) << n;
		}
		wide[l] = i->mode ? (same == all ? same | 1ull << 32 : 0) : same;
	}
	store(r, i, 4);
	if (i->predicate != PTX_NONE)
		LANES(REG(u8, i->predicate)[l] = (u8)(wide[l] >> 32););
}

static u64 folded(const struct ptx_ins *i, u64 acc, u64 v)
{
	bool less = i->type == T_S32 ? (s32)v < (s32)acc : v < acc;

	switch (i->atomic) {
	case ATOM_ADD:
		return (u32)(acc + v);
	case ATOM_MIN:
		return less ? v : acc;
	case ATOM_MAX:
		return less ? acc : v;
	case ATOM_AND:
		return acc & v;
	case ATOM_OR:
		return acc | v;
	default:
		return acc ^ v;
	}
}

static void redux(struct run *r, const struct ptx_ins *i)
{
	const u32 *a = REG(u32, i->s[0]);
	u64 *wide = r->space->wide;

	for (unsigned k = 0; k < r->count; k++) {
		unsigned l = run_lane(r, k), warp = l & ~31u;
		u32 rest = present(r, i, l);

		wide[l] = rest ? a[warp + (unsigned)__builtin_ctz(rest)] : 0;
		for (rest &= rest - 1; rest; rest &= rest - 1)
			wide[l] = folded(i, wide[l], a[warp + (unsigned)__builtin_ctz(rest)]);
	}
	store(r, i, 4);
}

/* The lowest lane of the mask leads. */
static void elect(struct run *r, const struct ptx_ins *i)
{
	u64 *wide = r->space->wide;

	LANES(wide[l] = (u64)__builtin_ctz(present(r, i, l)););
	store(r, i, 4);
	if (i->predicate != PTX_NONE)
		LANES(REG(u8, i->predicate)[l] = (l & 31) == wide[l];);
}

ptx_exec *run_warp_find(const struct ptx_ins *i)
{
	switch (i->op) {
	case OP_SHFL:
		return i->type == T_B32 ? shfl : NULL;
	case OP_VOTE:
		return i->type == T_PRED || i->type == T_B32 ? vote : NULL;
	case OP_MATCH:
		return i->type == T_B32 || i->type == T_B64 ? match : NULL;
	case OP_REDUX:
		return i->type == T_B32 || i->type == T_U32 || i->type == T_S32 ? redux : NULL;
	case OP_ELECT:
		return elect;
	default:
		return NULL;
	}
}
