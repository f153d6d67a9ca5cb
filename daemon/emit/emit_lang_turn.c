/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_lang_turn.c - what a turn of a while finds in memory.
 *
 * In:  the program.  Out: e->turn, e->as; and the head of a while at each way to it.
 *
 * A turn often begins with a look at an element that the turn before has stored, as the top of a
 * stack.  It could be in a register yet, but the load stands behind the loop's test and the check
 * of its index, so a compiler may not move it to where the ways meet that lead to the head.  So the
 * head, up to that load, is written again at each of the ways: there the compiler sees the store
 * right before it.  What the body reads of the same element, until memory is written, is what was
 * loaded; its index needs no second check. */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "emit_lang_lane.h"
#include "lang/lang_native.h"
#include "lang/lang_uses.h"

#define HEAD_MAX 16  /* instructions of a head, which is written again, */
#define WAYS_MAX 4   /* so often */
#define BODY_MAX 512 /* instructions of a loop that is looked at */

/* What is known before an instruction: the place of the head's load, and the value there. */
enum { HOLDS_PLACE = 1, HOLDS_VALUE = 2 };

/* The head of a loop from `first` to `end`, with its load. */
struct head {
	uint32_t first, end, place, load;
};

static bool makes(const struct lang_ins *i, uint32_t reg)
{
	uint32_t made;
	unsigned type;

	for (unsigned k = 0; lang_makes(&made, &type, i, k); k++)
		if (made == reg)
			return true;
	return false;
}

/* ---- Heads ---- */

/* The instruction among first ... at - 1 that makes the address; NOTHING. */
static uint32_t place_before(const struct lane *e, uint32_t first, uint32_t at, uint32_t reg)
{
	while (at-- > first)
		if (makes(&e->p->code[at], reg))
			return e->p->code[at].code == CODE_PLACE ? at : LANG_NONE;
	return LANG_NONE;
}

/* Does the loop store to the array? */
static bool stores(const struct lane *e, uint32_t first, uint32_t end, uint32_t array)
{
	for (uint32_t at = first; at < end; at++) {
		const struct lang_ins *i = &e->p->code[at];
		uint32_t place =
			i->code == CODE_STORE ? place_before(e, first, at, i->d) : LANG_NONE;

		if (place != LANG_NONE && e->p->code[place].a == array)
			return true;
	}
	return false;
}

/* May it be written at each way?  It is short then, and the next is all that it leads to, but for
 * `leaves`, which goes on behind the loop. */
static bool is_plain(const struct lang_ins *i, const struct head *h, bool *leaves)
{
	switch ((enum lang_code)i->code) {
	case CODE_MOVE:
	case CODE_LENGTH:
	case CODE_PLACE:
	case CODE_LOAD:
		return true;
	case CODE_CAST:
		return lang_native_cast(i->type, i->to);
	case CODE_OP:
		return lang_native_op(i->op, i->type) && !lang_native_vector(i->op, i->type);
	case CODE_UNLESS:
	case CODE_WHEN:
		if (*leaves || i->d <= h->end)
			return false;
		*leaves = true;
		return true;
	default:
		return false;
	}
}

/* Is there a load in the head of what the loop stores, too? */
static bool find_load(const struct lane *e, struct head *h)
{
	bool leaves = false;

	for (uint32_t at = h->first; at < h->end && at - h->first < HEAD_MAX; at++) {
		const struct lang_ins *i = &e->p->code[at];

		if ((at > h->first && e->target[at]) || !is_plain(i, h, &leaves))
			return false;
		if (i->code != CODE_LOAD)
			continue;
		h->place = place_before(e, h->first, at, i->a);
		h->load = at;
		if (h->place != LANG_NONE && stores(e, h->first, h->end, e->p->code[h->place].a))
			return true;
	}
	return false;
}

static bool has_loops(const struct lane *e, const struct head *h)
{
	for (uint32_t at = h->first; at < h->end; at++)
		if (e->p->code[at].code == CODE_LOOP || e->p->code[at].code == CODE_RANGE)
			return true;
	return false;
}

/* ---- What the body has of it ---- */

/* The register whose value this one has before instruction `at`: it, or what it is a copy of. */
static uint32_t source(const struct lane *e, uint32_t first, uint32_t at, uint32_t reg)
{
	for (uint32_t x = at; x > first && !e->target[x] && !lang_jumps(&e->p->code[x - 1]); x--) {
		const struct lang_ins *i = &e->p->code[x - 1];

		if (!makes(i, reg))
			continue;
		if (i->code != CODE_MOVE)
			return reg;
		for (uint32_t y = x; y < at; y++)
			if (makes(&e->p->code[y], i->a))
				return reg;
		return i->a;
	}
	return reg;
}

static bool is_same(const struct lane *e, uint32_t one, uint32_t two)
{
	const union lang_reg *a = e->constant[one], *b = e->constant[two];

	return one == two || (a && b && a->i == b->i);
}

/* Are the element's indices those of the head's? */
static bool is_head(const struct lane *e, const struct head *h, uint32_t at)
{
	const struct lang_ins *one = &e->p->code[h->place], *two = &e->p->code[at];

	if (two->code != CODE_PLACE || one->a != two->a || one->c != two->c ||
	    e->row[one->d] != e->row[two->d])
		return false;
	for (uint32_t k = 0; k < one->c; k++)
		if (!is_same(e, source(e, h->first, h->place, one->b + k),
			     source(e, h->first, at, two->b + k)))
			return false;
	return true;
}

/* What is left of that behind the instruction. */
static uint8_t behind(const struct lane *e, const struct head *h, uint32_t at, uint8_t holds)
{
	const struct lang_ins *i = &e->p->code[at], *place = &e->p->code[h->place];
	bool leaves = false;

	if (i->code == CODE_STORE)
		holds &= (uint8_t)~HOLDS_VALUE;
	else if (!lang_jumps(i) && i->code != CODE_OP && i->code != CODE_CAST &&
		 !is_plain(i, h, &leaves))
		return 0;
	if (makes(i, e->p->code[h->load].d))
		holds &= (uint8_t)~HOLDS_VALUE;
	if (makes(i, place->d))
		return 0;
	for (uint32_t k = 0; k < place->c; k++)
		if (makes(i, source(e, h->first, h->place, place->b + k)))
			return 0;
	return holds;
}

/* In a body without loops all ways go forward from the head's load, so one look in written order
 * tells what holds on each of them. */
static void find_held(struct lane *e, const struct head *h)
{
	uint8_t *holds = xmalloc(h->end - h->load + 1);

	memset(holds, HOLDS_PLACE | HOLDS_VALUE, h->end - h->load + 1);
	for (uint32_t at = h->load + 1; at < h->end; at++) {
		const struct lang_ins *i = &e->p->code[at];
		uint8_t now = holds[at - h->load];
		uint32_t place =
			i->code == CODE_LOAD ? place_before(e, h->load, at, i->a) : LANG_NONE;

		if ((now & HOLDS_PLACE) && is_head(e, h, at))
			e->as[at] = h->place + 1;
		if (place != LANG_NONE && e->as[place] && (now & HOLDS_VALUE) &&
		    i->type == e->p->code[h->load].type)
			e->as[at] = h->load + 1;
		now = behind(e, h, at, now);
		if (lang_jumps(i) && i->d > at && i->d <= h->end)
			holds[i->d - h->load] &= now;
		if (i->code != CODE_JUMP)
			holds[at + 1 - h->load] &= now;
	}
	free(holds);
}

void emit_lang_find_turns(struct lane *e)
{
	for (uint32_t end = 0; end < e->p->ncode; end++) {
		struct head h = {.first = e->p->code[end].d, .end = end};

		if (!emit_lang_is_while(e, end) || end - h.first > BODY_MAX ||
		    e->target[end] >= WAYS_MAX || has_loops(e, &h) || !find_load(e, &h))
			continue;
		e->turn[end] = e->turn[h.load] = 1 + h.first;
		find_held(e, &h);
	}
}

/* ---- Statements ---- */

/* The label that the head's load ends with, or that turns are counted at. */
static void put_label(struct lane *e, char kind, uint32_t head, const char *more)
{
	text_put(&e->o, "%c%s%s", kind, emit_lang_label(e, head) + 1, more);
}

void emit_lang_turn_begins(struct lane *e, uint32_t at)
{
	if (e->turn[at] && !e->again)
		put_label(e, 'M', e->turn[at] - 1, ":;\n");
}

void emit_lang_way(struct lane *e, uint32_t end)
{
	uint32_t head = e->p->code[end].d, at = head;

	text_put(&e->o, "if (BZ_RARE(--s->turns == 0)) goto ");
	put_label(e, 'P', head, ";\n");
	e->again = true;
	do
		emit_lang_one(e, at);
	while (!e->turn[at++]);
	e->again = false;
	text_put(&e->o, "goto ");
	put_label(e, 'M', head, ";\n");
}

void emit_lang_way_back(struct lane *e, uint32_t end)
{
	uint32_t head = e->p->code[end].d;

	emit_lang_way(e, end);
	put_label(e, 'P', head, ":;\n");
	text_put(&e->o, "BZ_LOOK(%u);\ngoto %s;\n", end, emit_lang_label(e, head));
}
