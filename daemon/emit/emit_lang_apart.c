/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_lang_apart.c - where a strip ends so that its turns are vectors, and quick ones.
 *
 * Before the turn that writes what each of its turns reads: d[i, j] = min(d[i, j], d[i, k] + d[k,
 * j]) reads d[i, k] in all turns and writes it in turn k. A compiler tests whether what is read and
 * what is written meet, once for a strip: with turn k in a strip of its own they meet in no other,
 * and those become vectors (weak-zero SIV: the turns of such a loop are split at one).
 *
 * And where what is written begins a line of the cache: stores of vectors that lie in two lines
 * each take up to three times as long, together with who loads them next.  All that is written has
 * to lie alike, or other stores lie in two lines instead.
 *
 * That is a matter of time only: each strip is the loop as it is. */
#include "emit_lang_lane.h"

#define PAIRS_MAX   4
#define WRITTEN_MAX 4

static bool is_number(const struct lane *e, const struct lang_term *t, uint32_t loop)
{
	const struct lang_atom *a = &e->loops->atom[t->atom];

	return t->by == LANG_NONE && a->kind == ATOM_NUMBER && a->loop == loop;
}

/* How much an index grows by each turn, if that is known here and all else in it is known before.
 */
static bool grows(const struct lane *e, uint32_t form, uint32_t loop, int64_t *by)
{
	const struct lang_form *f = &e->loops->form[form];

	*by = 0;
	for (unsigned k = 0; k < f->n; k++) {
		const struct lang_term *t = &f->term[k];

		if (is_number(e, t, loop))
			*by = t->factor;
		else if (!lang_atom_before(e->loops, t->atom, loop) ||
			 (t->by != LANG_NONE && !lang_atom_before(e->loops, t->by, loop)))
			return false;
	}
	return true;
}

/* Of a place that no condition keeps from lying inside: does its address change, only forwards
 * along its last axis? */
static bool is_moving(const struct lane *e, const struct lang_place *x, uint32_t loop, bool *moves)
{
	int64_t by;

	*moves = false;
	if (e->inside[x->at] != INSIDE_ALWAYS)
		return false;
	for (uint32_t axis = 0; axis < x->rank; axis++) {
		if (!grows(e, e->loops->index[x->index + axis], loop, &by) ||
		    (by && (by != 1 || axis + 1 < x->rank)))
			return false;
		*moves |= by != 0;
	}
	return true;
}

/* Its address in the strip's first turn. */
static void put_address(struct lane *e, const struct lang_place *x, uint32_t loop)
{
	text_put(&e->o, "A%u", x->array);
	for (uint32_t axis = 0; axis < x->rank; axis++) {
		text_put(&e->o, " + BZ_INSIDE%d(", (int)e->p->base);
		emit_lang_sum(e, e->loops->index[x->index + axis], loop);
		text_put(&e->o, ") * S%u_%u", x->array, axis);
	}
}

void emit_lang_apart(struct lane *e, uint32_t range)
{
	uint32_t loop = e->loop[range] - 1;
	unsigned pairs = 0;
	bool moves;

	if (!e->unit || !e->nversion)
		return;
	for (uint32_t r = 0; r < e->loops->nplace; r++) {
		const struct lang_place *read = &e->loops->place[r];

		if (read->loop != loop || read->stores || !is_moving(e, read, loop, &moves) ||
		    moves)
			continue;
		for (uint32_t w = 0; w < e->loops->nplace && pairs < PAIRS_MAX; w++) {
			const struct lang_place *to = &e->loops->place[w];

			if (to->loop != loop || !to->stores || to->array != read->array ||
			    !is_moving(e, to, loop, &moves) || !moves)
				continue;
			text_put(&e->o, "BZ_APART(");
			put_address(e, read, loop);
			text_put(&e->o, ", ");
			put_address(e, to, loop);
			text_put(&e->o, ", %u);\n", dtype_row(to->type)->bytes);
			pairs++;
		}
	}
}

/* The places that the loop writes along a row, each once; 0: there is none, or one too many, or one
 * that is written elsewhere. */
static unsigned written(const struct lane *e, uint32_t loop,
			const struct lang_place *to[WRITTEN_MAX])
{
	unsigned n = 0;
	bool moves;

	for (uint32_t k = 0; k < e->loops->nplace; k++) {
		const struct lang_place *x = &e->loops->place[k];
		unsigned same = 0;

		if (x->loop != loop || !x->stores)
			continue;
		while (same < n && to[same]->array != x->array)
			same++;
		if (same < n)
			continue;
		if (n == WRITTEN_MAX || !is_moving(e, x, loop, &moves) || !moves)
			return 0;
		to[n++] = x;
	}
	return n;
}

void emit_lang_align(struct lane *e, uint32_t range)
{
	uint32_t loop = e->loop[range] - 1;
	const struct lang_place *to[WRITTEN_MAX];
	unsigned n = e->unit && e->nversion && !e->failed ? written(e, loop, to) : 0;

	if (!n)
		return;
	text_put(&e->o, "BZ_ALIGN(");
	put_address(e, to[0], loop);
	text_put(&e->o, ", 0");
	for (unsigned k = 1; k < n; k++) {
		text_put(&e->o, " | ((bz_u64)(");
		put_address(e, to[0], loop);
		text_put(&e->o, ") ^ (bz_u64)(");
		put_address(e, to[k], loop);
		text_put(&e->o, "))");
	}
	text_put(&e->o, ", %u);\n", dtype_row(to[0]->type)->bytes);
}
