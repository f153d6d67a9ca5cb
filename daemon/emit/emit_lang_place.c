/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_lang_place.c - where an element lies, and what it is.
 *
 * In:  the program, and which places are known to be inside.  Out: CODE_PLACE and CODE_LOAD as C.
 *
 * In whiles an element is named by the row that it lies in and its index there, and by a pointer
 * elsewhere.  Turns of a while often wait for what the one before has stored: processors find a
 * store for a load soonest if both have the same registers in their addresses, and compilers make a
 * pointer of a sum that they see twice. */
#include <stdio.h>
#include <stdlib.h>

#include "base/xalloc.h"
#include "emit_lang_lane.h"
#include "lang/lang_uses.h"

/* ---- Rows ---- */

bool emit_lang_is_while(const struct lane *e, uint32_t end)
{
	const struct lang_ins *i = &e->p->code[end];

	return i->code == CODE_LOOP && e->p->code[i->d].code != CODE_NEXT;
}

/* Loops inside end first. */
static void find_loops(struct lane *e)
{
	for (uint32_t end = 0; end < e->p->ncode; end++) {
		if (e->p->code[end].code != CODE_LOOP)
			continue;
		for (uint32_t at = e->p->code[end].d; at <= end; at++)
			if (e->in[at] == IN_NONE)
				e->in[at] = emit_lang_is_while(e, end) ? IN_WHILE : IN_COUNTED;
	}
}

void emit_lang_find_rows(struct lane *e)
{
	find_loops(e);
	for (uint32_t at = 0; at < e->p->ncode; at++)
		if (e->p->code[at].code == CODE_PLACE)
			e->row[e->p->code[at].d] = !e->shared[e->p->code[at].d];
	/* What is made elsewhere, or of other things, is a pointer. */
	for (uint32_t at = 0; at < e->p->ncode; at++) {
		const struct lang_ins *i = &e->p->code[at];
		uint32_t reg;
		unsigned type;

		for (unsigned k = 0; lang_uses(&reg, &type, i, k); k++)
			e->row[reg] = false;
		for (unsigned k = 0; lang_makes(&reg, &type, i, k); k++)
			e->row[reg] &= i->code == CODE_PLACE && e->in[at] == IN_WHILE;
	}
}

/* ---- Statements ---- */

const char *emit_lang_address(const struct lane *e, uint32_t reg, unsigned type)
{
	static _Thread_local char text[64];

	if (!e->unit || !e->row[reg])
		return emit_lang_register(e, reg);
	snprintf(text, sizeof text, "BZ_IN(%s, r%u, i%u)", dtype_row(type)->suffix, reg, reg);
	return text;
}

static void put_axis(struct lane *e, uint32_t at, uint32_t axis, bool last)
{
	const struct lang_ins *i = &e->p->code[at];
	const char *index = emit_lang_register(e, i->b + axis);
	int base = (int)e->p->base;

	if (e->inside[at] && last)
		text_put(&e->o, " i%u = BZ_INSIDE%d(%s);", i->d, base, index);
	else if (e->inside[at])
		text_put(&e->o, " p_ += BZ_INSIDE%d(%s) * S%u_%u;", base, index, i->a, axis);
	else
		text_put(&e->o, " BZ_INDEX%d(i_, %s, N%u_%u, %u, %u);", base, index, i->a, axis, at,
			 axis);
	if (!e->inside[at] && last)
		text_put(&e->o, " i%u = i_;", i->d);
	else if (!e->inside[at])
		text_put(&e->o, " p_ += i_ * S%u_%u;", i->a, axis);
}

/* The address of an element, or its row and its index. */
void emit_lang_place(struct lane *e, uint32_t at)
{
	const struct lang_ins *i = &e->p->code[at];
	uint32_t same = e->as[at] ? e->p->code[e->as[at] - 1].d : 0;
	bool row = e->unit && e->row[i->d];

	if (e->as[at]) {
		text_put(&e->o, "%s = %s;", emit_lang_register(e, i->d),
			 emit_lang_register(e, same));
		text_put(&e->o, row ? " i%u = i%u;\n" : "\n", i->d, same);
		return;
	}
	text_put(&e->o, "{ bz_i64 i_; char *p_ = A%u;", i->a);
	for (uint32_t k = 0; k < i->c; k++)
		put_axis(e, at, k, row && k + 1 == i->c);
	text_put(&e->o, " %s = p_; }\n", emit_lang_register(e, i->d));
}

void emit_lang_load(struct lane *e, uint32_t at)
{
	const struct lang_ins *i = &e->p->code[at];
	const char *to = emit_lang_register(e, i->d), *from = emit_lang_address(e, i->a, i->type);

	if (e->as[at])
		text_put(&e->o, "%s = %s;\n", to,
			 emit_lang_register(e, e->p->code[e->as[at] - 1].d));
	else if (i->type == DT_BOOL)
		text_put(&e->o, "BZ_LOAD_B1(%s, %s);\n", to, from);
	else
		text_put(&e->o, "BZ_LOAD(%s, %s, %s);\n", dtype_row(i->type)->suffix, to, from);
	emit_lang_turn_begins(e, at);
}
