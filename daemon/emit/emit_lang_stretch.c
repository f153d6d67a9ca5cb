/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_lang_stretch.c - one comparison for the indices of a stretch of code.
 *
 * In:  the program.  Out: stretches of whiles, some of them twice.
 *
 * Nothing says before a while between what numbers its indices lie.  But those of a stretch without
 * jumps are often one register and constants: left[row + 1] = left[row] | bit.  Whether all of them
 * are inside is one comparison of that register with the room that the shortest of the arrays has,
 * which is known before all loops.  Where it does not hold the stretch is done as it is written,
 * each check in its place, so that errors and what was stored before them stay. */
#include <stdlib.h>

#include "emit_lang_lane.h"
#include "lang/lang_uses.h"

#define CODE_MAX   128	/* instructions of a stretch */
#define PLACES_MAX 32	/* of it */
#define WORTH	   3	/* checks that go for one comparison */
#define FAR	   4096 /* between its indices */

/* What a register has: what another had where the stretch begins, plus a constant. */
struct value {
	uint32_t reg, root; /* root: LANG_NONE: something else */
	int64_t add;
};

struct stretch {
	uint32_t first, last;
	struct value value[CODE_MAX]; /* that it has made so far, the latest last */
	unsigned nvalue;
	struct {
		uint32_t at, array;
		struct value index;
	} place[PLACES_MAX];
	unsigned nplace;
};

static struct value value_of(const struct lane *e, const struct stretch *s, uint32_t reg)
{
	for (unsigned k = s->nvalue; k-- > 0;)
		if (s->value[k].reg == reg)
			return s->value[k];
	return (struct value){reg, e->constant[reg] ? LANG_NONE : reg, 0};
}

/* What an instruction makes of register and constant. */
static struct value made(const struct lane *e, const struct stretch *s, const struct lang_ins *i)
{
	struct value v = {i->d, LANG_NONE, 0}, from;
	const union lang_reg *c;
	uint32_t reg = i->a;

	if (i->type != DT_INT64)
		return v;
	if (i->code == CODE_MOVE) {
		from = value_of(e, s, reg);
		return (struct value){i->d, from.root, from.add};
	}
	if (i->code != CODE_OP || (i->op != OP_ADD && i->op != OP_SUBTRACT))
		return v;
	c = e->constant[i->b];
	if (!c && i->op == OP_ADD) {
		c = e->constant[i->a];
		reg = i->b;
	}
	from = value_of(e, s, reg);
	if (!c || c->i < -FAR || c->i > FAR)
		return v;
	v.root = from.root;
	v.add = from.add + (i->op == OP_ADD ? c->i : -c->i);
	return v;
}

/* May it be in a stretch?  It goes on with the next, and no head of a loop ends there. */
static bool goes_on(const struct lane *e, uint32_t at)
{
	switch ((enum lang_code)e->p->code[at].code) {
	case CODE_MOVE:
	case CODE_OP:
	case CODE_CAST:
	case CODE_LENGTH:
	case CODE_PLACE:
	case CODE_LOAD:
	case CODE_STORE:
		return e->in[at] == IN_WHILE && !e->turn[at] && !e->both[at];
	default:
		return false;
	}
}

static void add_place(const struct lane *e, struct stretch *s, uint32_t at)
{
	const struct lang_ins *i = &e->p->code[at];
	struct value index;

	if (i->c != 1 || e->inside[at] || e->as[at])
		return;
	index = value_of(e, s, i->b);
	if (index.root == LANG_NONE || index.add < -FAR || index.add > FAR)
		return;
	s->place[s->nplace].at = at;
	s->place[s->nplace].array = i->a;
	s->place[s->nplace++].index = index;
}

static bool begins(const struct lane *e, uint32_t at)
{
	return goes_on(e, at) && (!at || e->target[at] || !goes_on(e, at - 1));
}

/* From the instruction on, as far as it goes. */
static void find(const struct lane *e, struct stretch *s, uint32_t first)
{
	uint32_t at = first;

	s->first = first;
	s->nvalue = s->nplace = 0;
	while (at < e->p->ncode && at - first < CODE_MAX && s->nplace < PLACES_MAX &&
	       goes_on(e, at) && (at == first || !e->target[at])) {
		const struct lang_ins *i = &e->p->code[at];

		struct value v = made(e, s, i);

		if (i->code == CODE_PLACE)
			add_place(e, s, at);
		else if (i->code != CODE_STORE)
			s->value[s->nvalue++] = v;
		at++;
	}
	s->last = at - 1;
}

/* So many checks of different places have that root. */
static unsigned checks(const struct stretch *s, uint32_t root)
{
	unsigned n = 0;

	for (unsigned k = 0; k < s->nplace; k++) {
		bool known = s->place[k].index.root != root;

		for (unsigned j = 0; j < k && !known; j++)
			known = s->place[j].array == s->place[k].array &&
				s->place[j].index.root == root &&
				s->place[j].index.add == s->place[k].index.add;
		n += !known;
	}
	return n;
}

/* The register that most are counted from; LANG_NONE: it is not worth it. */
static uint32_t root_of(const struct stretch *s)
{
	uint32_t root = LANG_NONE;
	unsigned most = WORTH - 1;

	for (unsigned k = 0; k < s->nplace; k++) {
		unsigned n = checks(s, s->place[k].index.root);

		if (n > most) {
			most = n;
			root = s->place[k].index.root;
		}
	}
	return root;
}

/* The comparison.  The room is found where the function begins. */
static void put_test(struct lane *e, const struct stretch *s, uint32_t root, uint32_t number)
{
	int64_t least = FAR;
	struct text top = {0};
	uint32_t room = e->rooms++;

	for (unsigned k = 0; k < s->nplace; k++)
		if (s->place[k].index.root == root && s->place[k].index.add < least)
			least = s->place[k].index.add;
	text_put(&top, "bz_i64 m%u = BZ_MOST;\n", room);
	for (unsigned k = 0; k < s->nplace; k++)
		if (s->place[k].index.root == root)
			text_put(&top, "m%u = bz_least(m%u, N%u_0 - %d);\n", room, room,
				 s->place[k].array, (int)(s->place[k].index.add - least));
	text_put(&top, "m%u = bz_most(m%u, 0);\n", room, room);
	text_insert(&e->o, e->opened, top.s);
	text_put(&e->o, "if (BZ_RARE(!BZ_QUICK((bz_u64)%s + (bz_u64)%ldl, m%u))) goto G%u;\n",
		 emit_lang_register(e, root), (long)(least - e->p->base), room, number);
	free(top.s);
}

static void put_all(struct lane *e, const struct stretch *s)
{
	for (uint32_t at = s->first; at <= s->last; at++)
		emit_lang_one(e, at);
}

uint32_t emit_lang_stretch(struct lane *e, uint32_t at)
{
	struct stretch s;
	uint32_t root, number;

	if (!e->unit || !begins(e, at))
		return 0;
	find(e, &s, at);
	root = s.nplace ? root_of(&s) : LANG_NONE;
	if (root == LANG_NONE || e->left < s.last - at + 1)
		return 0;
	e->left -= s.last - at + 1;
	number = e->versions++;
	put_test(e, &s, root, number);
	for (unsigned k = 0; k < s.nplace; k++)
		if (s.place[k].index.root == root)
			e->inside[s.place[k].at] = INSIDE_HERE;
	put_all(e, &s);
	for (unsigned k = 0; k < s.nplace; k++)
		if (s.place[k].index.root == root)
			e->inside[s.place[k].at] = INSIDE_NOT;
	text_put(&e->o, "goto H%u;\nG%u:;\n", number, number);
	put_all(e, &s);
	text_put(&e->o, "H%u:;\n", number);
	return s.last;
}
