/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_lang_count.c - counted loops of a kernel's text.
 *
 * Each turn is counted and somebody is asked now and then whether to go on.  In copies the loops
 * that have no long one inside are made in strips, whose turns are counted when they begin; loops
 * of a few turns, whose number is known here, are not counted at all.  Both are loops of C, of
 * which compilers make vectors, or take the turns apart; all others are jumps. */
#include "emit_lang_lane.h"
#include "lang/lang_fuse.h"
#include "lang/lang_uses.h"

#define SHORT_TURNS 8	/* of a loop that the compiler is to write out, */
#define SHORT_CODE  300 /* and how many instructions that may give */
#define SHORT_DEPTH 4
#define FEW_CODE    32 /* instructions of a loop that is there for few turns, too */

bool emit_lang_by_one(const struct lane *e, const struct lang_ins *range)
{
	const union lang_reg *c = e->constant[range->c];

	return c && c->i == 1;
}

/* ---- Which ---- */

/* Is it a loop of a few turns, whatever is inside?  A part begins anywhere, and so does bz_any in
 * loops that are in no other. */
static bool is_brief(const struct lane *e, const struct lang_loop *x)
{
	const struct lang_ins *range = &e->p->code[x->range];
	const union lang_reg *from = e->constant[range->a], *to = e->constant[range->b];

	if (!from || !to || !emit_lang_by_one(e, range) || from->i >= to->i ||
	    (uint64_t)to->i - (uint64_t)from->i > SHORT_TURNS)
		return false;
	return !x->repeats && !x->calls && !x->steps && e->part != x->range + 1 &&
	       (x->parent != LANG_NONE || e->nversion);
}

/* So many instructions such a loop is, written out; 0: it is none, or has another inside. */
static uint32_t written_out(const struct lane *e, uint32_t loop, int depth)
{
	const struct lang_loop *x = &e->loops->loop[loop];
	const struct lang_ins *range = &e->p->code[x->range];
	uint64_t count = x->end - x->range + 1, inner;

	if (!depth || !is_brief(e, x))
		return 0;
	for (uint32_t k = loop + 1; k < e->loops->nloop; k++) {
		if (e->loops->loop[k].parent != loop)
			continue;
		inner = written_out(e, k, depth - 1);
		if (!inner)
			return 0;
		count += inner;
	}
	count *= (uint64_t)e->constant[range->b]->i - (uint64_t)e->constant[range->a]->i;
	return count <= SHORT_CODE ? (uint32_t)count : 0;
}

static bool is_short(const struct lane *e, uint32_t range)
{
	return e->loop[range] && written_out(e, e->loop[range] - 1, SHORT_DEPTH);
}

/* Is the loop whose range this is made in strips?  One over elements of slices; in a copy one that
 * has no loop inside but short ones. */
static bool in_strips(const struct lane *e, uint32_t range)
{
	uint32_t loop = e->loop[range] - 1;
	const struct lang_loop *x = &e->loops->loop[loop];

	if (!e->loop[range] || x->repeats || !emit_lang_by_one(e, &e->p->code[range]) ||
	    is_short(e, range))
		return false;
	/* A part begins anywhere, and so does bz_any in loops that are in no other. */
	if (emit_lang_is_elements(e, loop) && e->part != range + 1 &&
	    (e->unit || x->parent != LANG_NONE))
		return true;
	if (!e->nversion)
		return false;
	for (uint32_t k = loop + 1; k < e->loops->nloop; k++)
		if (lang_loop_inside(e->loops, k, loop) && !is_short(e, e->loops->loop[k].range))
			return false;
	return true;
}

bool emit_lang_is_plain(const struct lane *e, uint32_t range)
{
	return e->p->code[range].code == CODE_RANGE && (is_short(e, range) || in_strips(e, range));
}

/* ---- Statements ---- */

/* The machine has set them, and counts turns where this has a bound. */
static void put_range_of_part(struct lane *e, const struct lang_ins *i)
{
	for (unsigned k = 1; k < 4; k++)
		text_put(&e->o, "BZ_GET(%u, %s); ", i->d + k, emit_lang_register(e, i->d + k));
	if (emit_lang_by_one(e, i))
		text_put(&e->o, "%s += %s;", emit_lang_register(e, i->d + 2),
			 emit_lang_register(e, i->d + 1));
	text_put(&e->o, "\n");
}

void emit_lang_begin_range(struct lane *e, uint32_t at)
{
	const struct lang_ins *i = &e->p->code[at];

	if (e->part == at + 1) {
		put_range_of_part(e, i);
		return;
	}
	if (!emit_lang_by_one(e, i))
		text_put(&e->o, "if (BZ_RARE(!%s)) BZ_END(%u);\n", emit_lang_register(e, i->c), at);
	text_put(&e->o, "%s = %s; ", emit_lang_register(e, i->d + 1), emit_lang_register(e, i->a));
	if (emit_lang_by_one(e, i))
		text_put(&e->o, "%s = %s;\n", emit_lang_register(e, i->d + 2),
			 emit_lang_register(e, i->b));
	else
		text_put(&e->o, "%s = bz_turns(%s, %s, %s); %s = %s;\n",
			 emit_lang_register(e, i->d + 2), emit_lang_register(e, i->a),
			 emit_lang_register(e, i->b), emit_lang_register(e, i->c),
			 emit_lang_register(e, i->d + 3), emit_lang_register(e, i->c));
}

/* Does each turn do the same? */
static bool is_even(const struct lane *e, uint32_t loop)
{
	const struct lang_loop *x = &e->loops->loop[loop];

	for (uint32_t at = x->range + 2; at < x->end; at++) {
		const struct lang_ins *i = &e->p->code[at];

		if (lang_jumps(i) || (i->code == CODE_CALL && !e->even_fn[i->d]))
			return false;
	}
	return true;
}

/* A strip has the turns until q, which are counted here.  What a reduction takes fits its block. */
static void put_strip(struct lane *e, const struct lang_ins *range, uint32_t at)
{
	const char *next = emit_lang_register(e, range->d + 1);
	const char *left = emit_lang_register(e, range->d + 2);
	const struct lang_ins *take = emit_lang_taken(e, e->loop[at] - 1);

	text_put(&e->o,
		 "{ bz_i64 q; bz_u64 c; S%s:; c = %s < %s ? (bz_u64)%s - (bz_u64)%s : 0;\n"
		 "if (BZ_RARE(c > BZ_TURNS)) c = BZ_TURNS;\n",
		 emit_lang_label(e, at + 1), next, left, left, next);
	if (take) {
		text_put(&e->o, "BZ_ROOM(%u);\n", dtype_row(take->type)->bytes);
	} else {
		emit_lang_apart(e, at);
		emit_lang_align(e, at);
	}
	text_put(&e->o, "q = %s + (bz_i64)c; BZ_STRIP(%u, c); /* line %u */\n",
		 emit_lang_register(e, range->d + 1), range[1].d - 1, range->line);
	/* The machine has put aside what one turn would read and another write, or said that
	 * there is no such. */
	if (e->closely || lang_fusion_straight(e->p, at))
		text_put(&e->o, "#pragma GCC ivdep\n");
	e->taking = take != NULL;
	e->even = is_even(e, e->loop[at] - 1);
}

/* Turns are left, or none. */
static void put_strip_end(struct lane *e, const struct lang_ins *range, uint32_t at)
{
	const struct lang_ins *take = emit_lang_taken(e, e->loop[at] - 1);

	if (take)
		emit_lang_taken_all(e, take);
	e->taking = e->even = false;
	text_put(&e->o, "if (BZ_RARE(%s < %s)) goto S%s; goto %s; }\n",
		 emit_lang_register(e, range->d + 1), emit_lang_register(e, range->d + 2),
		 emit_lang_label(e, at + 1), emit_lang_label(e, range[1].d));
}

/* Is it worth its while that the loop of strips is there without them, too?  The one around it
 * counts its turns, one of which is no long time with so few inside. */
bool emit_lang_has_few(const struct lane *e, uint32_t range)
{
	uint32_t loop = e->loop[range] - 1;
	const struct lang_loop *x = &e->loops->loop[loop];

	return in_strips(e, range) && e->unit && !e->failed && !e->closely &&
	       x->parent != LANG_NONE && !x->inner && e->part != range + 1 &&
	       x->end - x->range <= FEW_CODE && e->left >= x->end - x->range &&
	       e->nversion < EMIT_LANG_VERSIONS && !emit_lang_is_elements(e, loop);
}

void emit_lang_are_few(struct lane *e, uint32_t range)
{
	uint32_t number = e->p->code[range].d;

	text_put(&e->o, "(bz_u64)%s - (bz_u64)%s <= BZ_FEW", emit_lang_register(e, number + 2),
		 emit_lang_register(e, number + 1));
}

/* The loop of few turns.  A strip's begin takes as long as ten of them. */
static void put_few(struct lane *e, uint32_t at)
{
	const struct lang_loop *x = &e->loops->loop[e->loop[at] - 1];
	const struct version *around = &e->version[e->nversion - 1];

	text_put(&e->o, "if (");
	emit_lang_are_few(e, at);
	text_put(&e->o, ") {\n");
	if (around->quick && around->first == at + 1)
		text_put(&e->o, "F%u:;\n", around->number);
	e->left -= x->end - x->range;
	e->version[e->nversion++] = (struct version){x->range + 1, x->end, e->versions++, false};
	e->few = true;
	if (lang_fusion_straight(e->p, at))
		text_put(&e->o, "#pragma GCC ivdep\n");
	e->even = is_even(e, e->loop[at] - 1);
	emit_lang_some(e, at + 1, x->end);
	e->even = e->few = false;
	e->nversion--;
	text_put(&e->o, "}\n");
}

void emit_lang_range(struct lane *e, uint32_t at)
{
	const struct lang_ins *range = &e->p->code[at];

	emit_lang_begin_range(e, at);
	if (!in_strips(e, at))
		return;
	if (emit_lang_has_few(e, at))
		put_few(e, at);
	emit_lang_blocks(e, at);
	put_strip(e, range, at);
}

/* The range is the instruction before. */
void emit_lang_next(struct lane *e, uint32_t at)
{
	const struct lang_ins *i = &e->p->code[at];
	const char *number = emit_lang_register(e, i->a), *next = emit_lang_register(e, i->a + 1),
		   *left = emit_lang_register(e, i->a + 2);

	if (emit_lang_is_plain(e, at - 1)) {
		bool brief = is_short(e, at - 1);

		if (brief && e->nversion)
			text_put(&e->o, "#pragma GCC unroll %d\n", SHORT_TURNS);
		text_put(&e->o, "while (%s < %s) {\n%s = %s; %s += 1;\n", next,
			 brief || e->few ? left : "q", number, next, next);
	} else if (emit_lang_by_one(e, i - 1)) {
		text_put(&e->o, "if (%s >= %s) goto %s; %s = %s; %s += 1;\n", next, left,
			 emit_lang_label(e, i->d), number, next, next);
	} else {
		text_put(&e->o,
			 "if (!%s) goto %s; %s -= 1; %s = %s; %s = (bz_u64)%s + (bz_u64)%s;\n",
			 left, emit_lang_label(e, i->d), left, number, next, next, next,
			 emit_lang_register(e, i->a + 3));
	}
}

bool emit_lang_turns_end(struct lane *e, uint32_t at)
{
	uint32_t next = e->p->code[at].d;
	const struct lang_ins *range = &e->p->code[next - 1];

	if (e->p->code[next].code != CODE_NEXT || !emit_lang_is_plain(e, next - 1))
		return false;
	/* Who goes on with the next turn comes here. */
	text_put(&e->o, "%s:;\n}\n", emit_lang_label(e, next));
	if (!e->few && in_strips(e, next - 1))
		put_strip_end(e, range, next - 1);
	else
		text_put(&e->o, "goto %s;\n", emit_lang_label(e, range[1].d));
	return true;
}
