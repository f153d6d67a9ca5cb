/* SPDX-License-Identifier: Apache-2.0 */
#include "form/nest.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static bool same_operands(const struct instr_row *a, const struct instr_row *b)
{
	return !memcmp(a->arg, b->arg, sizeof a->arg);
}

Test(instr, an_elementwise_operation_takes_as_many_values_as_it_has_operands)
{
	for (unsigned op = 0; op < OP_END; op++) {
		const struct op_row *o = op_row(op);
		const struct instr_row *row = instr_row(op);

		if (!o || o->kind != KIND_EW) {
			cr_assert_not(instr_known(op), "%u", op);
			continue;
		}
		cr_assert_str_eq(row->name, o->stem);
		cr_assert_eq(row->result, RESULT_HERE, "%s", o->id);
		cr_assert_eq(row->place, PLACE_ANY, "%s", o->id);
		for (unsigned k = 0; k < 3; k++) {
			unsigned rest = op == OP_INDEX && k == 2 ? ARG_CHECK : ARG_NONE;

			cr_assert_eq(row->arg[k], k < o->arity ? ARG_VALUE : rest, "%s", o->id);
		}
	}
}

Test(instr, every_structural_instruction_has_a_row_and_nothing_else)
{
	for (unsigned op = OP_END; op < NI_END; op++)
		cr_assert(instr_known(op), "%u", op);
	for (unsigned op = NI_END; op <= UINT16_MAX; op++) {
		const struct nest_instr i = {.op = (uint16_t)op, .a = 1, .b = 2, .c = 3};
		uint16_t value[3];

		cr_assert_not(instr_known(op));
		cr_assert_eq(instr_values(value, &i), 0);
		cr_assert_eq(instr_operation(&i), OP_END);
	}
}

/* What a reader of a row may rely on. */
Test(instr, effects_and_operands_fit)
{
	for (unsigned op = 0; op < NI_END; op++) {
		const struct instr_row *row = instr_row(op);
		const char *name = row->name ? row->name : "no instruction";
		bool check = false;

		for (unsigned k = 0; k < 3; k++) {
			bool named = row->arg[k] == ARG_ACCESS || row->arg[k] == ARG_SCALAR ||
				     row->arg[k] == ARG_LOOP;

			cr_assert(!k || !named, "%s names it as operand %u", name, k);
			cr_assert(k == 2 || row->arg[k] != ARG_OP, "%s", name);
			cr_assert(k == 2 || row->arg[k] != ARG_CHECK, "%s", name);
			check |= row->arg[k] == ARG_CHECK;
		}
		cr_assert_eq(nest_touches(op), instr_reads(op) || instr_writes(op), "%s", name);
		cr_assert_eq(check, row->effect == EFFECT_FAULTS, "%s", name);
		if (!row->name)
			cr_assert_eq(row->result, RESULT_NONE);
		else
			cr_assert_eq(row->result == RESULT_NONE, instr_writes(op), "%s", name);
		cr_assert_eq(row->result == RESULT_LATER, row->place == PLACE_REDUCED, "%s", name);
	}
}

/* The printed text is a kernel's identity: two instructions must not look alike. */
Test(instr, names_and_operands_tell_instructions_apart)
{
	for (unsigned i = 0; i < NI_END; i++)
		for (unsigned j = 0; j < i && instr_known(i); j++)
			cr_assert(!instr_known(j) ||
					  strcmp(instr_row(i)->name, instr_row(j)->name) ||
					  !same_operands(instr_row(i), instr_row(j)),
				  "%s", instr_row(i)->name);
}

Test(instr, values_are_found_and_renamed)
{
	static uint16_t other[64];

	for (uint16_t k = 0; k < 64; k++)
		other[k] = (uint16_t)(k + 100);
	for (unsigned op = 0; op < NI_END; op++) {
		const struct instr_row *row = instr_row(op);
		struct nest_instr i = {.op = (uint16_t)op, .a = 11, .b = 22, .c = 33};
		const uint16_t was[3] = {i.a, i.b, i.c};
		uint16_t value[3], now[3];
		unsigned n = instr_values(value, &i), seen = 0;

		instr_rename(&i, other);
		now[0] = i.a;
		now[1] = i.b;
		now[2] = i.c;
		for (unsigned k = 0; k < 3; k++) {
			bool is = row->arg[k] == ARG_VALUE;

			cr_assert_eq(now[k], was[k] + (is ? 100 : 0));
			if (is)
				cr_assert_eq(value[seen++], was[k]);
		}
		cr_assert_eq(seen, n);
	}
}

/* The last line of a nest whose fourth instruction is this one, without the line's end. */
static void line_of(char line[128], unsigned op, unsigned reduction)
{
	struct nest n = {.npar = 1, .ninstr = 4, .post = 4};
	char text[1024], *at;

	n.instr[3] = (struct nest_instr){.op = (uint16_t)op,
					 .dtype = DT_INT64,
					 .ltype = DT_INT64,
					 .a = 1,
					 .b = 2,
					 .c = (uint16_t)reduction};
	nest_print(text, sizeof text, &n, true);
	text[strlen(text) - 1] = 0;
	at = strrchr(text, '\n');
	snprintf(line, 128, "%s", at + 1);
}

Test(instr, printing_and_the_table_agree)
{
	static const char *const mark[] = {
		[ARG_VALUE] = "%",   [ARG_ACCESS] = "@", [ARG_SCALAR] = "#",
		[ARG_LOOP] = "loop", [ARG_CHECK] = "!",	 [ARG_NONE] = NULL};

	for (unsigned op = 0; op < NI_END; op++) {
		const struct instr_row *row = instr_row(op);
		bool reduces = row->arg[2] == ARG_OP;
		const unsigned operand[3] = {1, 2, reduces ? OP_SUM : 3};
		char line[128], want[128], *at = want;

		if (!instr_known(op))
			continue;
		if (row->result)
			at += sprintf(at, "%%3 = ");
		at += sprintf(at, "%s%s.i64%s", row->name, reduces ? ".sum" : "",
			      reduces ? ">i64" : "");
		for (unsigned k = 0; k < 3; k++)
			if (row->arg[k] != ARG_OP && mark[row->arg[k]])
				at += sprintf(at, " %s%u", mark[row->arg[k]], operand[k]);
		line_of(line, op, operand[2]);
		cr_assert_str_eq(line, want);
	}
}
