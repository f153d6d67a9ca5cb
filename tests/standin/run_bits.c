/* SPDX-License-Identifier: Apache-2.0 */
/* run_bits.c - moves, logic, shifts, bit fields, selection, what a lane knows of itself.
 *
 * In: instructions bound by run_bits_find; they depend on a type's width, some on its
 * sign. */
#include "run.h"
#include <time.h>

#define WIDTHS(MACRO, name, ...)                                                                   \
	MACRO(name, u8, __VA_ARGS__)                                                               \
	MACRO(name, u16, __VA_ARGS__)                                                              \
	MACRO(name, u32, __VA_ARGS__)                                                              \
	MACRO(name, u64, __VA_ARGS__)

WIDTHS(UNARY, mov, a[l])
WIDTHS(BINARY, and, a[l] & b[l])
WIDTHS(BINARY, or, a[l] | b[l])
WIDTHS(BINARY, xor, a[l] ^ b[l])
UNARY(not, u8, !a[l]) /* a predicate */
UNARY(not, u16, ~a[l])
UNARY(not, u32, ~a[l])
UNARY(not, u64, ~a[l])
UNARY(cnot, u16, !a[l])
UNARY(cnot, u32, !a[l])
UNARY(cnot, u64, !a[l])

#define SHIFT(name, T, ...)                                                                        \
	static void name##_##T(struct run *r, const struct ptx_ins *i)                             \
	{                                                                                          \
		T *d = REG(T, i->d[0]);                                                            \
		const T *a = REG(T, i->s[0]);                                                      \
		const u32 *b = REG(u32, i->s[1]);                                                  \
		LANES(d[l] = (T)(__VA_ARGS__););                                                   \
	}
SHIFT(shl, u16, b[l] > 15 ? 0 : (u32)a[l] << b[l])
SHIFT(shl, u32, b[l] > 31 ? 0 : a[l] << b[l])
SHIFT(shl, u64, b[l] > 63 ? 0 : a[l] << b[l])
SHIFT(shr, u16, b[l] > 15 ? 0 : a[l] >> b[l])
SHIFT(shr, u32, b[l] > 31 ? 0 : a[l] >> b[l])
SHIFT(shr, u64, b[l] > 63 ? 0 : a[l] >> b[l])
SHIFT(shr, s16, a[l] >> (b[l] > 15 ? 15 : b[l]))
SHIFT(shr, s32, a[l] >> (b[l] > 31 ? 31 : b[l]))
SHIFT(shr, s64, a[l] >> (b[l] > 63 ? 63 : b[l]))

/* ---- fields ---- */

static u64 ones(unsigned n)
{
	return n > 63 ? UINT64_MAX : (1ull << n) - 1;
}

/* n bits of v from bit p on; beyond the word the sign (or 0) goes on. */
static u64 extract(u64 v, unsigned width, unsigned p, unsigned n, bool sign)
{
	if (!n)
		return 0;
	unsigned last = p + n - 1 < width ? p + n - 1 : width - 1;
	bool filled = sign && v >> last & 1;
	u64 field = p < width ? (v & ones(width)) >> p & ones(n) : 0;
	unsigned known = p < width ? (p + n > width ? width - p : n) : 0;
	return filled ? field | ~ones(known) : field;
}

#define FIELD(T, WIDTH, SIGN)                                                                      \
	SHIFT(bfe, T, extract((u64)a[l], WIDTH, b[l] & 255, REG(u32, i->s[2])[l] & 255, SIGN))
FIELD(u32, 32, false)
FIELD(s32, 32, true)
FIELD(u64, 64, false)
FIELD(s64, 64, true)

static u64 insert(u64 field, u64 into, unsigned width, unsigned p, unsigned n)
{
	u64 mask = p < width ? ones(n) << p : 0;

	return (into & ~mask) | (p < width ? field << p & mask : 0);
}

#define INSERT(T, WIDTH)                                                                           \
	BINARY(bfi, T,                                                                             \
	       insert(a[l], b[l], WIDTH, REG(u32, i->s[2])[l] & 255, REG(u32, i->s[3])[l] & 255))
INSERT(u32, 32)
INSERT(u64, 64)

/* mode 1 wraps positions, 0 clamps them */
static u32 field_mask(u32 p, u32 n, bool wrap)
{
	p = wrap ? p & 31 : p;
	n = wrap ? n & 31 : n;
	return p > 31 ? 0 : (u32)(ones(n > 32 ? 32 : n) << p);
}

BINARY(bmsk, u32, field_mask(a[l], b[l], i->mode))

static u64 extended(u32 v, u32 n, bool wrap, bool sign)
{
	n = wrap ? n & 31 : n;
	return n > 31 ? v : n == 0 ? 0 : extract(v, 32, 0, n, sign);
}

SHIFT(szext, u32, extended(a[l], b[l], i->mode, false))
SHIFT(szext, s32, extended((u32)a[l], b[l], i->mode, true))

/* ---- counting ---- */

#define COUNT(name, T, ...)                                                                        \
	static void name##_##T(struct run *r, const struct ptx_ins *i)                             \
	{                                                                                          \
		u32 *d = REG(u32, i->d[0]);                                                        \
		const T *a = REG(T, i->s[0]);                                                      \
		LANES(d[l] = (u32)(__VA_ARGS__););                                                 \
	}

static u32 highest(u64 v, unsigned width, bool shift)
{
	if (!v)
		return UINT32_MAX;
	u32 bit = 63 - (u32)__builtin_clzll(v);
	return shift ? width - 1 - bit : bit;
}

static u64 reversed(u64 v)
{
	v = (v >> 1 & 0x5555555555555555ull) | (v & 0x5555555555555555ull) << 1;
	v = (v >> 2 & 0x3333333333333333ull) | (v & 0x3333333333333333ull) << 2;
	v = (v >> 4 & 0x0f0f0f0f0f0f0f0full) | (v & 0x0f0f0f0f0f0f0f0full) << 4;
	return __builtin_bswap64(v);
}

COUNT(popc, u32, __builtin_popcount(a[l]))
COUNT(popc, u64, __builtin_popcountll(a[l]))
COUNT(clz, u32, a[l] ? __builtin_clz(a[l]) : 32)
COUNT(clz, u64, a[l] ? __builtin_clzll(a[l]) : 64)
COUNT(bfind, u32, highest(a[l], 32, i->mode))
COUNT(bfind, s32, highest((u32)(a[l] < 0 ? ~a[l] : a[l]), 32, i->mode))
COUNT(bfind, u64, highest(a[l], 64, i->mode))
COUNT(bfind, s64, highest((u64)(a[l] < 0 ? ~a[l] : a[l]), 64, i->mode))
UNARY(brev, u32, reversed(a[l]) >> 32)
UNARY(brev, u64, reversed(a[l]))

/* ---- bytes, funnels, tables ---- */

/* Selector nibbles of the modes f4e, b4e, rc8, ecl, ecr, rc16 for c = 0..3. */
static const u16 prmt_selector[7][4] = {
	{0},
	{0x3210, 0x4321, 0x5432, 0x6543},
	{0x5670, 0x6701, 0x7012, 0x0123},
	{0x0000, 0x1111, 0x2222, 0x3333},
	{0x3210, 0x3211, 0x3222, 0x3333},
	{0x0000, 0x1110, 0x2210, 0x3210},
	{0x1010, 0x3232, 0x1010, 0x3232},
};

static u32 permuted(u64 bytes, u32 c, unsigned mode)
{
	u32 selector = mode ? prmt_selector[mode][c & 3] : c, out = 0;

	for (unsigned k = 0; k < 4; k++) {
		u32 s = selector >> (4 * k) & 15, byte = (u32)(bytes >> (8 * (s & 7))) & 255;

		if (s & 8)
			byte = byte & 128 ? 255 : 0;
		out |= byte << (8 * k);
	}
	return out;
}

static u32 funnel(u64 both, u32 c, unsigned mode)
{
	u32 n = mode & 2 ? (c > 32 ? 32 : c) : c & 31;

	return (u32)(mode & 1 ? both >> n : (both << n) >> 32);
}

static u32 looked_up(u32 a, u32 b, u32 c, u32 table)
{
	u32 out = 0;

	for (unsigned k = 0; k < 8; k++)
		if (table >> k & 1)
			out |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
	return out;
}

TERNARY(prmt, u32, permuted(a[l] | (u64)b[l] << 32, c[l], i->mode))
TERNARY(shf, u32, funnel(a[l] | (u64)b[l] << 32, c[l], i->mode))
TERNARY(lop3, u32, looked_up(a[l], b[l], c[l], (u32)i->imm))

#define SELECT(name, T, ...)                                                                       \
	static void name##_##T(struct run *r, const struct ptx_ins *i)                             \
	{                                                                                          \
		T *d = REG(T, i->d[0]);                                                            \
		const T *a = REG(T, i->s[0]), *b = REG(T, i->s[1]);                                \
		const u8 *p = REG(u8, i->s[2]);                                                    \
		LANES(d[l] = p[l] ? a[l] : b[l];);                                                 \
	}                                                                                          \
	static void slct_##T(struct run *r, const struct ptx_ins *i)                               \
	{                                                                                          \
		T *d = REG(T, i->d[0]);                                                            \
		const T *a = REG(T, i->s[0]), *b = REG(T, i->s[1]);                                \
		const f32 *f = REG(f32, i->s[2]);                                                  \
		const s32 *s = REG(s32, i->s[2]);                                                  \
		bool real = i->type2 == T_F32;                                                     \
		LANES(d[l] = (real ? f[l] >= 0 : s[l] >= 0) ? a[l] : b[l];);                       \
	}
WIDTHS(SELECT, selp, 0)

/* mov.b64 {a, b}, c and back; elements of 2 or 4 bytes. */
static void pack(struct run *r, const struct ptx_ins *i)
{
	unsigned bytes = ptx_type_bytes[i->type] / i->ns;
	u64 *wide = r->space->wide;

	LANES(wide[l] = 0;);
	for (unsigned n = 0; n < i->ns; n++)
		LANES(wide[l] |= run_get(r, i->s[n], bytes, l) << (8 * bytes * n););
	if (ptx_type_bytes[i->type] == 8)
		LANES(REG(u64, i->d[0])[l] = wide[l];);
	else
		LANES(REG(u32, i->d[0])[l] = (u32)wide[l];);
}

static void unpack(struct run *r, const struct ptx_ins *i)
{
	unsigned whole = ptx_type_bytes[i->type], bytes = whole / i->nd;
	u64 *wide = r->space->wide;

	LANES(wide[l] = run_get(r, i->s[0], whole, l););
	for (unsigned n = 0; n < i->nd; n++)
		if (bytes == 4)
			LANES(REG(u32, i->d[n])[l] = (u32)(wide[l] >> (32 * n)););
		else
			LANES(REG(u16, i->d[n])[l] = (u16)(wide[l] >> (16 * n)););
}

/* ---- addresses, clocks, masks ---- */

static u64 window_of(unsigned space)
{
	return space == SPACE_SHARED  ? PTX_SHARED_WINDOW
	       : space == SPACE_LOCAL ? PTX_LOCAL_WINDOW
	       : space == SPACE_PARAM ? PTX_PARAM_WINDOW
				      : 0;
}

static void cvta_u64(struct run *r, const struct ptx_ins *i)
{
	u64 *d = REG(u64, i->d[0]), window = window_of(i->space);
	const u64 *a = REG(u64, i->s[0]);

	window = i->mode ? 0 - window : window;
	LANES(d[l] = a[l] + window;);
}

static bool inside(u64 a, unsigned space)
{
	return a - window_of(space) < PTX_WINDOW_BYTES;
}

static void isspacep_u64(struct run *r, const struct ptx_ins *i)
{
	u8 *d = REG(u8, i->d[0]);
	const u64 *a = REG(u64, i->s[0]);
	bool windowed = window_of(i->space) != 0;

	LANES(d[l] = windowed ? inside(a[l], i->space)
			      : !inside(a[l], SPACE_SHARED) && !inside(a[l], SPACE_LOCAL) &&
					!inside(a[l], SPACE_PARAM););
}

static void clock_now(struct run *r, const struct ptx_ins *i)
{
	struct timespec t;
	bool timer = i->imm >= SPECIAL_TIMER;

	clock_gettime(timer ? CLOCK_REALTIME : CLOCK_MONOTONIC, &t);
	u64 v = (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
	if (i->imm == SPECIAL_CLOCK_HI || i->imm == SPECIAL_TIMER_HI)
		v >>= 32;
	if (i->type == T_U64)
		LANES(REG(u64, i->d[0])[l] = v;);
	else
		LANES(REG(u32, i->d[0])[l] = (u32)v;);
}

static void activemask(struct run *r, const struct ptx_ins *i)
{
	u32 warp[PTX_MAX_LANES / 32] = {0}, *d = REG(u32, i->d[0]);

	for (unsigned k = 0; k < r->count; k++)
		warp[run_lane(r, k) / 32] |= 1u << (run_lane(r, k) & 31);
	LANES(d[l] = warp[l / 32];);
}

/* ---- which function ---- */

#define BY_WIDTH(name)                                                                             \
	{                                                                                          \
		[T_PRED] = name##_u8, [T_B16] = name##_u16, [T_B32] = name##_u32,                  \
		[T_B64] = name##_u64, [T_U16] = name##_u16, [T_U32] = name##_u32,                  \
		[T_U64] = name##_u64, [T_S16] = name##_u16, [T_S32] = name##_u32,                  \
		[T_S64] = name##_u64, [T_F16] = name##_u16, [T_BF16] = name##_u16,                 \
		[T_F32] = name##_u32, [T_F64] = name##_u64, [T_F16X2] = name##_u32,                \
		[T_BF16X2] = name##_u32,                                                           \
	}
#define WORDS(name)                                                                                \
	{                                                                                          \
		[T_B32] = name##_u32, [T_B64] = name##_u64, [T_U32] = name##_u32,                  \
		[T_U64] = name##_u64, [T_S32] = name##_u32, [T_S64] = name##_u64,                  \
	}
#define SIGNED_WORDS(name)                                                                         \
	{                                                                                          \
		[T_B32] = name##_u32, [T_B64] = name##_u64, [T_U32] = name##_u32,                  \
		[T_U64] = name##_u64, [T_S32] = name##_s32, [T_S64] = name##_s64,                  \
	}
#define LOGIC(name)                                                                                \
	{                                                                                          \
		[T_PRED] = name##_u8, [T_B16] = name##_u16, [T_B32] = name##_u32,                  \
		[T_B64] = name##_u64,                                                              \
	}

static ptx_exec *const by_type[OP_COUNT][T_COUNT] = {
	[OP_MOV] = BY_WIDTH(mov),
	[OP_SELP] = BY_WIDTH(selp),
	[OP_SLCT] = BY_WIDTH(slct),
	[OP_AND] = LOGIC(and),
	[OP_OR] = LOGIC(or),
	[OP_XOR] = LOGIC(xor),
	[OP_NOT] = LOGIC(not ),
	[OP_CNOT] = {[T_B16] = cnot_u16, [T_B32] = cnot_u32, [T_B64] = cnot_u64},
	[OP_SHL] = {[T_B16] = shl_u16, [T_B32] = shl_u32, [T_B64] = shl_u64},
	[OP_SHR] = {[T_B16] = shr_u16,
		    [T_B32] = shr_u32,
		    [T_B64] = shr_u64,
		    [T_U16] = shr_u16,
		    [T_U32] = shr_u32,
		    [T_U64] = shr_u64,
		    [T_S16] = shr_s16,
		    [T_S32] = shr_s32,
		    [T_S64] = shr_s64},
	[OP_BFE] = SIGNED_WORDS(bfe),
	[OP_BFI] = WORDS(bfi),
	[OP_BMSK] = {[T_B32] = bmsk_u32},
	[OP_SZEXT] = {[T_U32] = szext_u32, [T_S32] = szext_s32},
	[OP_POPC] = WORDS(popc),
	[OP_CLZ] = WORDS(clz),
	[OP_BFIND] = SIGNED_WORDS(bfind),
	[OP_BREV] = WORDS(brev),
	[OP_PRMT] = {[T_B32] = prmt_u32},
	[OP_SHF] = {[T_B32] = shf_u32},
	[OP_LOP3] = {[T_B32] = lop3_u32},
	[OP_PACK] = {[T_B32] = pack,
		     [T_U32] = pack,
		     [T_F32] = pack,
		     [T_B64] = pack,
		     [T_U64] = pack,
		     [T_S64] = pack,
		     [T_F64] = pack},
	[OP_UNPACK] = {[T_B32] = unpack,
		       [T_U32] = unpack,
		       [T_F32] = unpack,
		       [T_B64] = unpack,
		       [T_U64] = unpack,
		       [T_S64] = unpack,
		       [T_F64] = unpack},
	[OP_CVTA] = {[T_U64] = cvta_u64},
	[OP_ISSPACEP] = {[T_U64] = isspacep_u64},
	[OP_CLOCK] = {[T_U32] = clock_now, [T_U64] = clock_now},
	[OP_ACTIVEMASK] = {[T_B32] = activemask},
};

static void fence(struct run *r, const struct ptx_ins *i)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

ptx_exec *run_bits_find(const struct ptx_ins *i)
{
	return i->op == OP_FENCE ? fence : by_type[i->op][i->type];
}
