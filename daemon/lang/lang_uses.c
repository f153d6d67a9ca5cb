/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_uses.c - which registers an instruction reads and writes, and of which types. */
#include "lang_uses.h"

#define OF_TYPE 254 /* a type of an instruction's, among the types of registers */
#define OF_TO	255

/* Part k of a view of so many axes that begins at register r. */
static bool part(uint32_t *reg, unsigned *type, uint32_t r, unsigned axes, unsigned k)
{
	*reg = r + k;
	*type = k ? DT_INT64 : DTYPE_END;
	return k < 1 + 2 * axes;
}

/* Of two views that may meet: their parts, and the truth that is told already. */
static bool meets_operand(uint32_t *reg, unsigned *type, const struct lang_ins *i, unsigned k)
{
	unsigned axes = i->c & 15, others = i->c >> 4, first = 1 + 2 * axes;

	if (k < first)
		return part(reg, type, i->a, axes, k);
	if (part(reg, type, i->b, others, k - first))
		return true;
	*reg = i->d;
	*type = DT_BOOL;
	return i->op && k == first + 1 + 2 * others;
}

/* The same of instructions on slices. */
static bool slice_operand(uint32_t *reg, unsigned *type, const struct lang_ins *i, unsigned k)
{
	const uint32_t at[3] = {i->a, i->b, i->c};

	*reg = at[k < 3 ? k : 0];
	*type = DT_INT64;
	switch ((enum lang_code)i->code) {
	case CODE_VIEW:
		*reg = i->b + k;
		return k < i->c + 2u * (unsigned)__builtin_popcount(i->to);
	case CODE_JOIN:
		return k < 2;
	case CODE_SPOT:
		*type = k ? DT_INT64 : DTYPE_END;
		return k < 3;
	case CODE_TAKE:
		*type = i->type;
		return k < 1;
	case CODE_MEETS:
		return meets_operand(reg, type, i, k);
	case CODE_SWEEP:
	case CODE_ASIDE:
	case CODE_BACK:
		if (part(reg, type, i->a, i->c, k))
			return true;
		*reg = i->b;
		*type = DT_BOOL;
		return i->code != CODE_SWEEP && k == 1 + 2 * i->c;
	default:
		return false;
	}
}

bool lang_on_slices(const struct lang_ins *i)
{
	return i->code >= CODE_VIEW && i->code <= CODE_GIVE;
}

/* Is a its one operand, of its type? */
static bool takes_one(const struct lang_ins *i)
{
	return i->code == CODE_MOVE || i->code == CODE_CAST || i->code == CODE_STORE ||
	       i->code == CODE_ADDEND;
}

/* Are its operands registers b and those behind it? */
static bool takes_row(const struct lang_ins *i)
{
	return i->code == CODE_PLACE || i->code == CODE_FUSES;
}

bool lang_uses(uint32_t *reg, unsigned *type, const struct lang_ins *i, unsigned k)
{
	const uint32_t at[3] = {i->a, i->b, i->c};
	unsigned count = 1;

	if (lang_on_slices(i))
		return slice_operand(reg, type, i, k);
	*type = i->type;
	if (i->code == CODE_OP) {
		count = op_row(i->op)->arity;
		*type = i->op == OP_WHERE && !k ? DT_BOOL : i->type;
	} else if (i->code == CODE_UNLESS || i->code == CODE_WHEN) {
		*type = DT_BOOL;
	} else if (i->code == CODE_RANGE || takes_row(i)) {
		count = i->code == CODE_RANGE ? 3 : i->code == CODE_PLACE ? i->c : 2 * i->c;
		*type = DT_INT64;
	} else if (!takes_one(i)) {
		return false;
	}
	*reg = takes_row(i) ? i->b + k : at[k < 3 ? k : 0];
	return k < count;
}

bool lang_makes(uint32_t *reg, unsigned *type, const struct lang_ins *i, unsigned k)
{
	static const struct {
		uint8_t count, type;
	} made[] = {
		[CODE_OP] = {1, OF_TO},	       [CODE_CAST] = {1, OF_TO},
		[CODE_MOVE] = {1, OF_TYPE},    [CODE_LOAD] = {1, OF_TYPE},
		[CODE_GIVE] = {1, OF_TYPE},    [CODE_RANGE] = {4, DT_INT64},
		[CODE_LENGTH] = {1, DT_INT64}, [CODE_JOIN] = {1, DT_INT64},
		[CODE_CLAIM] = {1, DT_INT64},  [CODE_MEETS] = {1, DT_BOOL},
		[CODE_PLACE] = {1, DTYPE_END}, [CODE_SPOT] = {1, DTYPE_END},
		[CODE_SUMMED] = {1, OF_TYPE},  [CODE_FUSES] = {1, DT_BOOL},
		[CODE_RETURN] = {0, 0},
	};

	if (i->code == CODE_VIEW)
		return part(reg, type, i->d, (unsigned)__builtin_popcount(i->to), k);
	*reg = i->d + k;
	if (i->code == CODE_ASIDE) {
		*type = k ? DT_INT64 : DTYPE_END;
		return k < 1 + i->c;
	}
	*type = made[i->code].type;
	if (*type == OF_TO || *type == OF_TYPE)
		*type = *type == OF_TO ? i->to : i->type;
	return k < made[i->code].count;
}

bool lang_jumps(const struct lang_ins *i)
{
	return i->code == CODE_JUMP || i->code == CODE_LOOP || i->code == CODE_UNLESS ||
	       i->code == CODE_WHEN || i->code == CODE_NEXT;
}
