/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_total.c - sums of what the turns of a loop add, where the loop claims them.
 *
 * In:  a value from each turn, in their order.  Out: the tree of kernels/tree.h over the turns: its
 * bits depend on their number and values, not on who did which.  Parts of a loop leave their
 * values, or those of their blocks, to whoever puts them together. */
#include <stdlib.h>
#include <string.h>

#include "lang_steps.h"

struct lang_total *lang_total_open(struct run *r, uint32_t number)
{
	struct lang_total **t;

	if (!r->totals)
		r->totals = calloc(1, sizeof *r->totals);
	if (!r->totals)
		return NULL;
	t = &r->totals->total[number];
	if (!*t)
		*t = aligned_alloc(64, sizeof **t);
	if (!*t)
		return NULL;
	r->totals->block[number] = (struct lang_block){.at = (*t)->room};
	(*t)->count = 0;
	(*t)->kept = NULL;
	(*t)->folded = NULL;
	return *t;
}

void lang_totals_free(struct lang_totals *t)
{
	for (unsigned k = 0; t && k < LANG_CLAIMED; k++)
		free(t->total[k]);
	free(t);
}

const struct step *lang_step_sum(struct run *r, const struct step *s)
{
	struct lang_total *t = lang_total_open(r, s->c);

	if (!t) {
		r->status = err_set(r->err, E_NOMEM, "no memory to run a kernel");
		return NULL;
	}
	s->red->init(t->state);
	return s + 1;
}

void lang_total_fold(struct run *r, uint32_t number, const struct tier0_red *red, unsigned bytes)
{
	struct lang_block *block = &r->totals->block[number];
	struct lang_total *t = r->totals->total[number];
	int64_t n = (int64_t)block->n;

	block->n = 0;
	if (!n)
		return;
	if (t->kept) {
		block->at += n * bytes;
		return;
	}
	lang_total_add(t, red, block->at, n, bytes);
	if (t->folded) {
		red->end(t->state, n, t->folded++);
		red->init(t->state);
	}
}

const struct step *lang_step_addend(struct run *r, const struct step *s)
{
	struct lang_block *block = &r->totals->block[s->c];

	memcpy(block->at + block->n * s->bytes, &r->reg[s->a], s->bytes);
	if (++block->n == LANG_BLOCK)
		lang_total_fold(r, s->c, s->red, s->bytes);
	return s + 1;
}

const struct step *lang_step_summed(struct run *r, const struct step *s)
{
	struct lang_total *t = r->totals->total[s->c];
	char nothing[TIER0_LANES * 16] __attribute__((aligned(64)));
	struct bz_acc acc;

	lang_total_fold(r, s->c, s->red, s->bytes);
	if (!t->count) {
		/* No turn: what it is added to stays, a -0.0, too. */
		s->red->identity(nothing, 1);
		memcpy(&r->reg[s->d], nothing, s->bytes);
		return s + 1;
	}
	s->red->end(t->state, t->count, &acc);
	s->red->put(&acc, r->reg[s->d].byte);
	return s + 1;
}

/* ---- What parts have left ---- */

void lang_total_add(struct lang_total *t, const struct tier0_red *red, char *values, int64_t n,
		    unsigned bytes)
{
	for (int64_t at = 0; at < n; at += LANG_BLOCK) {
		int64_t take = n - at < LANG_BLOCK ? n - at : LANG_BLOCK;

		red->step(t->state, values + at * bytes, take, t->count);
		red->block(t->state);
		t->count += take;
	}
}

void lang_total_join(struct lang_total *t, const struct tier0_red *red, const struct bz_acc *folded,
		     int64_t turns)
{
	for (int64_t at = 0; at < turns; at += LANG_BLOCK)
		red->join(t->state, folded++);
	t->count = turns;
}
