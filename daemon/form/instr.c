/* SPDX-License-Identifier: Apache-2.0 */
/* form/instr.c - the table of instructions, from instr.def and proto/ops.def. */
#include "instr.h"

/* An elementwise operation takes as many values as it has operands.  An index is checked:
 * it has the number of its error word besides. */
#define VALUE_IF(yes) ((yes) ? ARG_VALUE : ARG_NONE)
#define ROW_EW(wire, stem, arity, rule)                                                            \
	[wire] = {#stem,                                                                           \
		  {VALUE_IF((arity) > 0), VALUE_IF((arity) > 1),                                   \
		   (rule) == RULE_INDEX ? ARG_CHECK : VALUE_IF((arity) > 2)},                      \
		  RESULT_HERE,                                                                     \
		  (rule) == RULE_INDEX ? EFFECT_FAULTS : EFFECT_NONE,                              \
		  PLACE_ANY},
#define ROW_CTL(wire, stem, arity, rule)
#define ROW_MOVE(wire, stem, arity, rule)
#define ROW_WRITE(wire, stem, arity, rule)
#define ROW_CREATE(wire, stem, arity, rule)
#define ROW_RED(wire, stem, arity, rule)
#define ROW_ARGRED(wire, stem, arity, rule)
#define ROW_SCAN(wire, stem, arity, rule)
#define ROW_JOIN(wire, stem, arity, rule)
#define ROW_SORT(wire, stem, arity, rule)
#define ROW_LIB(wire, stem, arity, rule)
#define ROW_GATHER(wire, stem, arity, rule)
#define ROW_DRAW(wire, stem, arity, rule)
#define ROW_SEARCH(wire, stem, arity, rule)
#define ROW_CHOSEN(wire, stem, arity, rule)
#define ROW_FOURIER(wire, stem, arity, rule)
#define ROW_LANE(wire, stem, arity, rule)
#define ROW_SOLVER(wire, stem, arity, rule)
#define ROW_GRID(wire, stem, arity, rule)

const struct instr_row instr_rows[NI_END] = {
#define OP(wire, id, np, kind, arity, rule, alg, stem, cost)                                       \
	ROW_##kind(wire, stem, arity, RULE_##rule)
#include "ops.def"
#undef OP
#define INSTR(id, name, a, b, c, result, effect, place)                                            \
	[NI_##id] = {name,                                                                         \
		     {ARG_##a, ARG_##b, ARG_##c},                                                  \
		     RESULT_##result,                                                              \
		     EFFECT_##effect,                                                              \
		     PLACE_##place},
#include "instr.def"
#undef INSTR
};
