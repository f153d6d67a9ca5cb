/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_quick.c - operations of one number that are one operation of the processor.
 *
 * Integers are computed as 64 unsigned bits and cut, so that they wrap as the loops' do; what is
 * compiled here contracts nothing, so floats round as in the loops. */
#include <string.h>

#include "lang_steps.h"

#define QUICK(op, name, type, wide, out, sign)                                                     \
	static const struct step *quick_##op##_##name(struct run *r, const struct step *s)         \
	{                                                                                          \
		type a, b;                                                                         \
		memcpy(&a, &r->reg[s->a], sizeof a);                                               \
		memcpy(&b, &r->reg[s->b], sizeof b);                                               \
		out v = (out)((wide)a sign(wide) b);                                               \
		memcpy(&r->reg[s->d], &v, sizeof v);                                               \
		return s + 1;                                                                      \
	}

#define COMPARES(F, name, type)                                                                    \
	F(LESS, name, type, type, uint8_t, <)                                                      \
	F(LESS_EQUAL, name, type, type, uint8_t, <=)                                               \
	F(GREATER, name, type, type, uint8_t, >)                                                   \
	F(GREATER_EQUAL, name, type, type, uint8_t, >=)                                            \
	F(EQUAL, name, type, type, uint8_t, ==)                                                    \
	F(NOT_EQUAL, name, type, type, uint8_t, !=)
#define SUMS(F, name, type, wide)                                                                  \
	F(ADD, name, type, wide, type, +)                                                          \
	F(SUBTRACT, name, type, wide, type, -)                                                     \
	F(MULTIPLY, name, type, wide, type, *)
#define BITS(F, name, type)                                                                        \
	F(BITWISE_AND, name, type, uint64_t, type, &)                                              \
	F(BITWISE_OR, name, type, uint64_t, type, |)                                               \
	F(BITWISE_XOR, name, type, uint64_t, type, ^)
#define INTEGER(F, name, type)                                                                     \
	COMPARES(F, name, type)                                                                    \
	SUMS(F, name, type, uint64_t)                                                              \
	BITS(F, name, type)
#define REAL(F, name, type)                                                                        \
	COMPARES(F, name, type)                                                                    \
	SUMS(F, name, type, type)                                                                  \
	F(DIVIDE, name, type, type, type, /)
#define ALL(F)                                                                                     \
	INTEGER(F, INT8, int8_t)                                                                   \
	INTEGER(F, INT16, int16_t)                                                                 \
	INTEGER(F, INT32, int32_t)                                                                 \
	INTEGER(F, INT64, int64_t)                                                                 \
	INTEGER(F, UINT8, uint8_t)                                                                 \
	INTEGER(F, UINT16, uint16_t)                                                               \
	INTEGER(F, UINT32, uint32_t)                                                               \
	INTEGER(F, UINT64, uint64_t)                                                               \
	REAL(F, FLOAT32, float)                                                                    \
	REAL(F, FLOAT64, double)

ALL(QUICK)

step_fn *lang_quick(unsigned op, unsigned type)
{
#define ROW(op, name, type, wide, out, sign) [OP_##op][DT_##name] = quick_##op##_##name,
	static step_fn *const table[OP_END][DTYPE_END] = {ALL(ROW)};

	return op < OP_END && type < DTYPE_END ? table[op][type] : NULL;
}
