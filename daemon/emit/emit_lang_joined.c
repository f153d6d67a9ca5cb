/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_lang_joined.c - conditions without jumps: what costs little and cannot fail is done
 * whether it is asked for or not.  Compilers see one stretch then, of which they can make vectors.
 */
#include "emit_lang_lane.h"
#include "lang/lang_native.h"
#include "lang/lang_uses.h"

#define BOTH_MAX 24 /* instructions of a condition that are done whether it is asked or not */

static bool is_result(const struct lang_program *p, uint32_t reg)
{
	for (unsigned k = 0; k < p->nresult; k++)
		if (p->param[p->nparam + k].reg == reg)
			return true;
	return false;
}

/* Do instructions first ... last alone read what the one among them makes?  It is no variable then
 * that has a value before, or is asked for behind. */
static bool is_own(const struct lane *e, uint32_t at, uint32_t first, uint32_t last)
{
	uint32_t made, read;
	unsigned type;

	if (!lang_makes(&made, &type, &e->p->code[at], 0))
		return true;
	for (uint32_t k = e->p->entry; k < e->p->ncode; k++)
		for (unsigned n = 0; (k < first || k > last || k <= at) &&
				     lang_uses(&read, &type, &e->p->code[k], n);
		     n++)
			if (read == made)
				return false;
	return !is_result(e->p, made);
}

/* May an instruction among first ... last be done though nobody asks for it?  It fails never, costs
 * little, and what it makes is for these alone. */
static bool is_free(const struct lane *e, uint32_t at, uint32_t first, uint32_t last)
{
	const struct lang_ins *i = &e->p->code[at];

	if (!is_own(e, at, first, last))
		return false;

	switch ((enum lang_code)i->code) {
	case CODE_MOVE:
	case CODE_LOAD:
	case CODE_LENGTH:
		return true;
	case CODE_PLACE:
		return e->inside[at] == INSIDE_ALWAYS;
	case CODE_CAST:
		return lang_native_cast(i->type, i->to);
	case CODE_OP:
		return lang_native_op(i->op, i->type) && !lang_native_vector(i->op, i->type) &&
		       i->op != OP_FLOOR_DIVIDE && i->op != OP_REMAINDER;
	default:
		return false;
	}
}

uint32_t emit_lang_both(const struct lane *e, uint32_t at)
{
	const struct lang_ins *i = &e->p->code[at];
	uint32_t last = i->d - 1;

	if ((i->code != CODE_UNLESS && i->code != CODE_WHEN) || i->d <= at + 1 ||
	    i->d - at > BOTH_MAX || e->p->code[last].code != CODE_MOVE ||
	    e->p->code[last].d != i->a)
		return 0;
	for (uint32_t k = at + 1; k < last; k++) {
		uint32_t inner = is_free(e, k, at + 1, last) ? k : emit_lang_both(e, k);

		if (!inner || inner >= last)
			return 0;
		k = inner;
	}
	return last;
}

static const struct lang_place *place_of(const struct lane *e, uint32_t first, uint32_t last,
					 uint32_t reg)
{
	for (uint32_t k = 0; k < e->loops->nplace; k++) {
		const struct lang_place *x = &e->loops->place[k];

		if (x->at >= first && x->at <= last && e->p->code[x->at].d == reg)
			return x;
	}
	return NULL;
}

static bool is_same(const struct lane *e, const struct lang_place *a, const struct lang_place *b)
{
	struct lang_form far;

	if (!a || !b || a->array != b->array)
		return false;
	for (uint32_t k = 0; k < a->rank; k++)
		if (!lang_form_add(&far, &e->loops->form[e->loops->index[a->index + k]],
				   &e->loops->form[e->loops->index[b->index + k]], -1) ||
		    far.n || far.constant)
			return false;
	return true;
}

/* Are first ... last free, but for a store at the end? */
static bool only_stores(const struct lane *e, uint32_t first, uint32_t last)
{
	for (uint32_t k = first; k < last; k++)
		if (!is_free(e, k, first, last) || (k > first && e->target[k]))
			return false;
	return first < last && last - first < BOTH_MAX && !e->target[last] &&
	       e->p->code[last].code == CODE_STORE;
}

uint32_t emit_lang_either(struct lane *e, uint32_t at)
{
	const struct lang_ins *i = &e->p->code[at], *jump = &e->p->code[i->d - 1], *one, *two;
	uint32_t second = i->d, last;

	if (i->code != CODE_UNLESS || second < at + 3 || jump->code != CODE_JUMP ||
	    jump->d < second + 2 || e->target[second] != 1)
		return 0;
	last = jump->d - 1;
	one = jump - 1;
	two = &e->p->code[last];
	if (!only_stores(e, at + 1, second - 2) || !only_stores(e, second, last) ||
	    !is_same(e, place_of(e, at, second, one->d), place_of(e, second, last, two->d)) ||
	    one->type != two->type)
		return 0;
	for (uint32_t k = at + 1; k < last; k++)
		if (k + 2 != second && k + 1 != second)
			emit_lang_one(e, k);
	text_put(&e->o, "{ bz_%s a_ = %s, b_ = %s; BZ_STORE(%s, %s, %s ? a_ : b_); }\n",
		 dtype_row(one->type)->suffix, emit_lang_register(e, one->a),
		 emit_lang_register(e, two->a), dtype_row(one->type)->suffix,
		 emit_lang_address(e, one->d, one->type), emit_lang_register(e, i->a));
	return last;
}
