/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_lang_part.c - loops that several threads may do: the question before them, and their
 * parts, functions that do some turns from registers in memory to registers in memory. */
#include <stdlib.h>

#include "base/xalloc.h"
#include "emit_lang_lane.h"
#include "lang/lang_nest.h"
#include "lang/lang_uses.h"

#define SHARED_DEPTH 2 /* loops inside these are parts of them */

void emit_lang_find_shared(struct lane *e)
{
	const struct lang_program *p = e->p;
	unsigned depth = 0;

	for (uint32_t at = p->entry; at < p->ncode; at++) {
		if (p->code[at].code == CODE_RANGE && depth++ < SHARED_DEPTH)
			e->share[at] = lang_nest_may(p, at) && lang_claims_counted(p, at);
		depth -= p->code[at].code == CODE_LOOP && p->code[p->code[at].d].code == CODE_NEXT;
	}
}

static void put_one(struct lane *e, const char *how, uint32_t reg, bool *seen)
{
	if (!seen[reg] && !e->constant[reg] && !e->shared[reg])
		text_put(&e->o, "BZ_%s(%u, %s); ", how, reg, emit_lang_register(e, reg));
	seen[reg] = true;
}

/* What is known before the loop, though none of its instructions names it: the tests of its places
 * and the walk over it name what its indices, bounds and conditions were made of. */
static void put_known(struct lane *e, uint32_t range, const char *how, bool *seen)
{
	for (uint32_t k = 0; k < e->loops->natom; k++) {
		const struct lang_atom *a = &e->loops->atom[k];

		if (a->reg != LANG_NONE && a->from <= range && range <= a->last)
			put_one(e, how, a->reg, seen);
	}
}

/* Is the register named in the loop only?  Each turn writes it before it reads it then, since
 * whatever has a value from before a loop is named there: nobody else needs what it has.  (That it
 * would be asked for keeps the value of each temporary alive through all loops inside.) */
static bool is_local(const struct lane *e, uint32_t range, uint32_t end, uint32_t reg)
{
	return e->first[reg] >= range && e->last[reg] <= end;
}

static void put_moved(struct lane *e, uint32_t range, const char *how, bool made)
{
	uint32_t end = lang_nest_end(e->p, range), r;
	bool *seen = xcalloc(e->p->nreg + 1, sizeof *seen);
	unsigned type;

	for (uint32_t at = range; at < end; at++) {
		const struct lang_ins *i = &e->p->code[at];

		for (unsigned k = 0;
		     made ? lang_makes(&r, &type, i, k) : lang_uses(&r, &type, i, k); k++)
			/* A claim counts on from turn to turn. */
			if (i->code == CODE_CLAIM || !is_local(e, range, end, r))
				put_one(e, how, r, seen);
	}
	if (!made)
		put_known(e, range, how, seen);
	free(seen);
}

void emit_lang_show(struct lane *e, uint32_t range)
{
	put_moved(e, range, "SET", false);
	put_moved(e, range, "SET", true);
}

void emit_lang_share(struct lane *e, uint32_t at)
{
	const struct lang_ins *i = &e->p->code[at];
	uint32_t end = lang_nest_end(e->p, at);
	bool inner = false;

	if (!e->unit || !e->share[at] || e->part)
		return;
	for (uint32_t k = at + 1; k < end; k++)
		inner |= e->p->code[k].code == CODE_RANGE;
	text_put(&e->o, "if (BZ_RARE(f->share && BZ_MANY(%s, %s, f->least / %u))) {\n",
		 emit_lang_register(e, i->a), emit_lang_register(e, i->b),
		 inner ? UINT32_MAX : end - at);
	emit_lang_show(e, at);
	text_put(&e->o, "\nswitch (f->share(f, %u)) {\ncase 1: return 1;\ncase 2: ", at);
	put_moved(e, at, "GET", true);
	text_put(&e->o, "goto %s;\n}\n}\n", emit_lang_label(e, i[1].d));
}

bool emit_lang_keep(struct lane *e, uint32_t at)
{
	const struct lang_ins *i = &e->p->code[at];
	struct lang_addition by;

	for (unsigned k = 0; e->part && k < e->nest->nsum; k++) {
		const struct lang_sum_of *s = &e->nest->sum[k];

		if (!s->by.ordered || i->code != CODE_OP ||
		    !lang_addition_to(e->p, at, s->reg, &by))
			continue;
		text_put(&e->o, "{ const bz_%s a_ = %s; BZ_KEEP(%u, a_); }\n",
			 dtype_row(i->type)->suffix,
			 emit_lang_register(e, i->a == s->reg ? i->b : i->a), k);
		return true;
	}
	return false;
}

/* Of arrays whose last axis lies closely. */
static void put_part(struct lane *e, uint32_t range)
{
	struct lang_nest nest;

	if (!lang_nest_of(&nest, e->p, NULL, range, NULL, NULL))
		nest.nsum = 0;
	e->nest = &nest;
	text_put(&e->o, "static int bz_part%u(struct bz_frame *f)\n{\n", range);
	e->part = range + 1;
	emit_lang_open(e, true);
	put_moved(e, range, "GET", false);
	put_moved(e, range, "GET", true);
	text_put(&e->o, "\n");
	emit_lang_some(e, range, lang_nest_end(e->p, range));
	text_put(&e->o, "L%u:;\n", e->p->code[range + 1].d);
	put_moved(e, range, "SET", true);
	text_put(&e->o, "return 0;\n}\n");
	e->part = 0;
	e->nest = NULL;
}

void emit_lang_parts(struct lane *e)
{
	for (uint32_t at = e->p->entry; at < e->p->ncode; at++)
		if (e->share[at])
			put_part(e, at);
}

void emit_lang_begin_part(struct lane *e)
{
	for (uint32_t at = e->p->entry; at < e->p->ncode; at++)
		if (e->share[at])
			text_put(&e->o, "if (f->at == %u) return bz_part%u(f);\n", at + 1, at);
}
