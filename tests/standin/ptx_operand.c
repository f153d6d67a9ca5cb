/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_operand.c - operands of instructions: registers, numbers, addresses.
 *
 * In: the lexer at an operand.  Out: a register for every operand: a number becomes a
 * constant register, a clock an instruction that reads it, !p an instruction that
 * negates. */
#include "ptx_module.h"
#include "ptx_lex.h"
#include <stdlib.h>
#include <string.h>

static const char *const special_name[SPECIAL_COUNT] = {
	[SPECIAL_TID_X] = "%tid.x",
	[SPECIAL_TID_Y] = "%tid.y",
	[SPECIAL_TID_Z] = "%tid.z",
	[SPECIAL_NTID_X] = "%ntid.x",
	[SPECIAL_NTID_Y] = "%ntid.y",
	[SPECIAL_NTID_Z] = "%ntid.z",
	[SPECIAL_CTAID_X] = "%ctaid.x",
	[SPECIAL_CTAID_Y] = "%ctaid.y",
	[SPECIAL_CTAID_Z] = "%ctaid.z",
	[SPECIAL_NCTAID_X] = "%nctaid.x",
	[SPECIAL_NCTAID_Y] = "%nctaid.y",
	[SPECIAL_NCTAID_Z] = "%nctaid.z",
	[SPECIAL_LANEID] = "%laneid",
	[SPECIAL_WARPID] = "%warpid",
	[SPECIAL_NWARPID] = "%nwarpid",
	[SPECIAL_MASK_LT] = "%lanemask_lt",
	[SPECIAL_MASK_LE] = "%lanemask_le",
	[SPECIAL_MASK_GT] = "%lanemask_gt",
	[SPECIAL_MASK_GE] = "%lanemask_ge",
	[SPECIAL_MASK_EQ] = "%lanemask_eq",
	[SPECIAL_SMID] = "%smid",
	[SPECIAL_NSMID] = "%nsmid",
	[SPECIAL_DYNAMIC_SIZE] = "%dynamic_smem_size",
	[SPECIAL_TOTAL_SIZE] = "%total_smem_size",
	[SPECIAL_GRIDID] = "%gridid",
	[SPECIAL_CLOCK] = "%clock",
	[SPECIAL_CLOCK_HI] = "%clock_hi",
	[SPECIAL_CLOCK64] = "%clock64",
	[SPECIAL_TIMER] = "%globaltimer",
	[SPECIAL_TIMER_LO] = "%globaltimer_lo",
	[SPECIAL_TIMER_HI] = "%globaltimer_hi",
};

static uint64_t bits_of(double v, enum ptx_type type)
{
	uint64_t bits = 0;
	float f = (float)v;

	if (type == T_F32)
		memcpy(&bits, &f, sizeof(f));
	else
		memcpy(&bits, &v, sizeof(v));
	return bits;
}

/* 'f' of 0f3F800000, 'd' of 0d3FF0000000000000, 0 of every other number. */
static char exact_kind(const struct ptx_lexer *x)
{
	char c = (char)(x->text[0] == '0' ? x->text[1] | 32 : 0);

	return (c == 'f' && x->length == 10) || (c == 'd' && x->length == 18) ? c : 0;
}

/* A float's bits are kept as they are, a NaN's too, unless the type is another. */
static uint64_t exact_float(const struct ptx_lexer *x, bool negative, enum ptx_type type)
{
	bool single = exact_kind(x) == 'f';
	uint64_t bits = strtoull(x->text + 2, NULL, 16);
	uint32_t low;
	double d;
	float f;

	if (negative)
		bits ^= single ? 1ull << 31 : 1ull << 63;
	if (single == (type != T_F64))
		return bits;
	low = (uint32_t)bits;
	memcpy(&f, &low, sizeof(f));
	memcpy(&d, &bits, sizeof(d));
	return bits_of(single ? (double)f : d, type);
}

uint64_t ptx_number(struct ptx_module *m, bool negative, enum ptx_type type)
{
	struct ptx_lexer *x = m->lex;
	uint64_t v;
	char *end;

	if (x->kind != LEX_NUMBER)
		ptx_refuse(m, "expected a number, found '%s'", x->text);
	if (exact_kind(x)) {
		v = exact_float(x, negative, type);
	} else if (strchr(x->text, '.')) {
		double d = strtod(x->text, NULL);

		v = bits_of(negative ? -d : d, type);
	} else {
		v = strtoull(x->text, &end, 0);
		if (*end != 0 && strcmp(end, "U"))
			ptx_refuse(m, "'%s' is no number", x->text);
		v = negative ? -v : v;
	}
	ptx_lex_next(x);
	return type == T_PRED ? v != 0 : v;
}

static uint32_t constant(struct ptx_module *m, enum ptx_preset preset, uint64_t v, uint8_t bytes)
{
	if (bytes < 8)
		v &= (1ull << (8 * bytes)) - 1;
	return ptx_new_constant(m, preset, v, bytes);
}

static uint32_t special(struct ptx_module *m, uint8_t *bytes)
{
	int s = 0;

	while (s < SPECIAL_COUNT && !ptx_lex_is(m->lex, special_name[s]))
		s++;
	if (s == SPECIAL_COUNT)
		ptx_refuse(m, "unknown symbol '%s'", m->lex->text);
	ptx_lex_next(m->lex);
	*bytes = s == SPECIAL_CLOCK64 || s == SPECIAL_TIMER || s == SPECIAL_GRIDID ? 8 : 4;
	if (s < SPECIAL_CLOCK)
		return ptx_new_constant(m, PRESET_SPECIAL, (uint64_t)s, *bytes);
	struct ptx_ins i = {.op = OP_CLOCK, .type = *bytes == 8 ? T_U64 : T_U32, .nd = 1, .imm = s};
	i.d[0] = ptx_new_scratch(m, *bytes);
	ptx_put(m, &i);
	return i.d[0];
}

static uint32_t symbol(struct ptx_module *m, enum ptx_type type, uint8_t *bytes)
{
	struct ptx_symbol range, *s = ptx_lookup(m, m->lex->text, &range);
	uint8_t wanted = *bytes;

	if (!s)
		return special(m, bytes);
	if (s->kind == SYMBOL_REGISTER) {
		*bytes = s->bytes;
		ptx_lex_next(m->lex);
		return s->where;
	}
	if ((s->kind != SYMBOL_VARIABLE && s->kind != SYMBOL_ENTRY_PARAM) || wanted < 4)
		ptx_refuse(m, "'%s' is no operand of type %s", s->name, ptx_type_name[type]);
	uint64_t v = s->address;
	bool dynamic = s->dynamic;
	ptx_lex_next(m->lex);
	if (ptx_lex_is(m->lex, "+")) {
		ptx_lex_next(m->lex);
		v += ptx_number(m, false, T_U64);
	}
	return constant(m, dynamic ? PRESET_DYNAMIC : PRESET_VALUE, v, wanted);
}

static uint32_t negated(struct ptx_module *m)
{
	struct ptx_ins i = {.op = OP_NOT, .type = T_PRED, .nd = 1, .ns = 1};

	i.s[0] = ptx_operand(m, T_PRED, NULL);
	i.d[0] = ptx_new_scratch(m, 1);
	ptx_put(m, &i);
	return i.d[0];
}

uint32_t ptx_operand(struct ptx_module *m, enum ptx_type type, uint8_t *bytes)
{
	uint8_t expected = ptx_type_bytes[type], found = expected;
	struct ptx_lexer *x = m->lex;
	bool minus = ptx_lex_is(x, "-");
	uint32_t reg;

	if (type == T_PRED && ptx_lex_is(x, "!")) {
		ptx_lex_next(x);
		return negated(m);
	}
	if (minus)
		ptx_lex_next(x);
	if (x->kind == LEX_NUMBER) {
		reg = constant(m, PRESET_VALUE, ptx_number(m, minus, type), expected);
	} else if (minus || x->kind != LEX_WORD) {
		ptx_refuse(m, "'%s' is no operand", x->text);
	} else if (ptx_lex_is(x, "_")) {
		ptx_lex_next(x);
		reg = ptx_new_scratch(m, expected);
	} else if (ptx_lex_is(x, "WARP_SZ")) {
		ptx_lex_next(x);
		reg = constant(m, PRESET_VALUE, 32, expected);
	} else {
		reg = symbol(m, type, &found);
	}
	if (bytes)
		*bytes = found;
	else if (found != expected)
		ptx_refuse(m, "%s: a register of %u bytes where %u are expected", m->mnemonic,
			   found, expected);
	return reg;
}

uint8_t ptx_operands(struct ptx_module *m, enum ptx_type type, uint32_t out[PTX_VECTOR],
		     uint8_t *bytes)
{
	uint8_t n = 0, each;

	if (!ptx_lex_is(m->lex, "{")) {
		out[0] = ptx_operand(m, type, bytes);
		return 1;
	}
	do {
		ptx_lex_next(m->lex);
		if (n == PTX_VECTOR)
			ptx_refuse(m, "%s: more than %d elements", m->mnemonic, PTX_VECTOR);
		out[n] = ptx_operand(m, type, &each);
		if (n && each != *bytes)
			ptx_refuse(m, "%s: elements of several sizes", m->mnemonic);
		*bytes = each;
		n++;
	} while (ptx_lex_is(m->lex, ","));
	if (!ptx_lex_is(m->lex, "}"))
		ptx_refuse(m, "expected '}', found '%s'", m->lex->text);
	ptx_lex_next(m->lex);
	return n;
}

static void base_symbol(struct ptx_module *m, struct ptx_ins *i)
{
	struct ptx_symbol range, *s = ptx_lookup(m, m->lex->text, &range);

	if (!s)
		ptx_refuse(m, "unknown symbol '%s' in an address", m->lex->text);
	switch (s->kind) {
	case SYMBOL_REGISTER:
		i->base = s->where;
		i->reg_bytes2 = s->bytes;
		break;
	case SYMBOL_VARIABLE:
		if (i->space == SPACE_GENERIC && s->space != SPACE_GLOBAL)
			ptx_refuse(m, "'%s' has no generic address here", s->name);
		if (s->dynamic) {
			i->base = ptx_new_constant(m, PRESET_DYNAMIC, 0, 8);
			i->reg_bytes2 = 8;
		}
		i->imm = (int64_t)s->address;
		break;
	case SYMBOL_LANE_PARAM:
		i->lane_param = true;
		i->imm = s->where;
		break;
	case SYMBOL_ENTRY_PARAM:
		i->imm = (int64_t)s->address;
		break;
	default:
		ptx_refuse(m, "'%s' in an address", s->name);
	}
	ptx_lex_next(m->lex);
}

void ptx_address(struct ptx_module *m, struct ptx_ins *i)
{
	struct ptx_lexer *x = m->lex;

	i->base = PTX_NONE;
	i->imm = 0;
	if (!ptx_lex_is(x, "["))
		ptx_refuse(m, "expected an address, found '%s'", x->text);
	ptx_lex_next(x);
	if (x->kind == LEX_NUMBER)
		i->imm = (int64_t)ptx_number(m, false, T_U64);
	else
		base_symbol(m, i);
	while (ptx_lex_is(x, "+") || ptx_lex_is(x, "-")) {
		bool minus = ptx_lex_is(x, "-");

		ptx_lex_next(x);
		if (ptx_lex_is(x, "-")) {
			minus = !minus;
			ptx_lex_next(x);
		}
		i->imm += (int64_t)ptx_number(m, minus, T_U64);
	}
	if (!ptx_lex_is(x, "]"))
		ptx_refuse(m, "expected ']', found '%s'", x->text);
	ptx_lex_next(x);
}
