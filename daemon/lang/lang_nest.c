/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_nest.c - one walk over a loop's instructions, with the values of the call.
 *
 * In:  a checked program, whose loops stand inside each other and whose other jumps go forwards, so
 * that written order is an order of the flow.  Registers that the loop does not write have the
 * values of now; one that a single instruction writes, before it is read in each turn, may be a sum
 * over loop numbers; of all others nothing is known.  Every index must be such a sum and lie inside
 * its array in every turn: so no turn can end in an error, and addresses are sums, too.  Where
 * threads look at each index themselves (WALK_CHECKED), one that is no such sum is any of its axis,
 * and a loop inside may have bounds that are none. */
#include "lang_walk.h"

#include <stdlib.h>
#include <string.h>

#include "lang_uses.h"

#define WRITTEN_MAX 1024
#define CODE_MAX    8192
#define GUESS	    32 /* turns of a loop that is not known yet */

static bool refuse(struct walk *w, enum lang_why why, uint32_t at)
{
	if (!w->out->why) {
		w->out->why = why;
		w->out->at = at;
	}
	return false;
}

uint32_t lang_nest_end(const struct lang_program *p, uint32_t range)
{
	uint32_t at = range + 1;

	while (p->code[at].code != CODE_LOOP || p->code[at].d != range + 1)
		at++;
	return at;
}

/* Behind the copy of loops that are one, of which only what they are apart is looked at: both do
 * the same.  (at: of CODE_FUSES.) */
static uint32_t apart_from(const struct lang_program *p, uint32_t at)
{
	return p->code[at].code == CODE_FUSES && !p->code[at].op ? p->code[at + 1].d : at;
}

/* ---- Which registers are written ---- */

static bool has(const uint64_t *set, uint32_t k)
{
	return set[k / 64] >> k % 64 & 1;
}

static void count_write(struct walk *w, uint32_t reg)
{
	if (w->slot[reg] == FUNCTIONS)
		return;
	if (w->slot[reg] == NOT_WRITTEN) {
		if (w->nw == WRITTEN_MAX)
			return;
		w->slot[reg] = w->nw;
		w->w[w->nw++] = (struct written){.reg = reg, .access = -1};
	}
	w->w[w->slot[reg]].writes++;
}

static void find_written(struct walk *w)
{
	uint32_t reg;
	unsigned type;

	memset(w->slot, 0xff, w->p->nreg * sizeof *w->slot);
	for (uint32_t at = 0; at < w->p->entry; at++)
		for (unsigned k = 0; lang_makes(&reg, &type, &w->p->code[at], k); k++)
			w->slot[reg] = FUNCTIONS;
	for (uint32_t at = w->range + 1; at < w->end; at++) {
		const struct lang_ins *i;

		at = apart_from(w->p, at);
		i = &w->p->code[at];
		if (i->code == CODE_NEXT)
			count_write(w, i->a);
		else if (i->code != CODE_RANGE)
			for (unsigned k = 0; lang_makes(&reg, &type, i, k); k++)
				count_write(w, reg);
	}
}

/* ---- Reads and writes ---- */

/* Does each turn come here once at most? */
static bool is_once(const struct walk *w, uint32_t at)
{
	for (uint32_t k = at; w->depth == 1 && k < w->end; k++)
		if (w->p->code[k].code == CODE_LOOP && w->p->code[k].d <= at)
			return false;
	return w->depth == 1;
}

/* Is it part of an addition to the register, of the kind of those before? */
static bool adds(const struct walk *w, uint32_t at, const struct written *x,
		 struct lang_addition *by)
{
	return lang_addition_to(w->p, at, x->reg, by) &&
	       (!by->ordered || (w->how & WALK_ADDED) || is_once(w, at)) &&
	       (!x->adds ||
		(x->by.op == by->op && x->by.type == by->type && x->by.back == by->back));
}

static void read_one(struct walk *w, uint32_t at, uint32_t reg)
{
	struct lang_addition by;
	struct written *x;

	if (w->slot[reg] >= w->nw)
		return;
	x = &w->w[w->slot[reg]];
	x->reads++;
	x->early |= !has(w->now, w->slot[reg]);
	if (adds(w, at, x, &by)) {
		x->by = by;
		x->adds++;
	}
}

static void write_one(struct walk *w, uint32_t at, uint32_t reg)
{
	struct lang_addition by;
	struct written *x;

	if (w->slot[reg] >= w->nw)
		return;
	x = &w->w[w->slot[reg]];
	x->made += adds(w, at, x, &by);
	x->known = x->writes == 1 && lang_walk_made(w, &w->p->code[at], &x->value);
	if (!x->known && x->writes == 1)
		lang_walk_limits(w, &w->p->code[at], x);
	w->now[w->slot[reg] / 64] |= (uint64_t)1 << w->slot[reg] % 64;
}

/* What a jump to an instruction has written. */
static void arrives(struct walk *w, uint32_t target)
{
	uint64_t **set = &w->before[target - w->range];

	if (!*set) {
		*set = malloc(w->words * sizeof **set);
		if (*set)
			memcpy(*set, w->now, w->words * sizeof **set);
		w->full |= !*set;
		return;
	}
	for (uint32_t k = 0; k < w->words; k++)
		(*set)[k] &= w->now[k];
}

static void landed(struct walk *w, uint32_t at)
{
	const uint64_t *set = w->before[at - w->range];

	if (set)
		for (uint32_t k = 0; k < w->words; k++)
			w->now[k] = w->gone ? set[k] : w->now[k] & set[k];
	w->gone = false;
}

/* ---- Places ---- */

/* The index from 0 on, where it lies inside in every turn that comes here. */
static bool inside(struct walk *w, const struct lang_reach *here, struct lang_affine *index,
		   int64_t n)
{
	struct lang_stretch s = {w->turns, w->path, w->depth, here->ncondition, here->condition};
	int64_t base = w->p->base;
	bool front;

	if (w->how & WALK_SUPPOSED) {
		index->constant += index->constant < 0 && lang_affine_constant(index) ? n : -base;
		return true;
	}
	front = lang_depend_within(&s, index, base, base + n - 1);

	if (!front && !lang_depend_within(&s, index, -n, -1))
		return false;
	index->constant += front ? -base : n;
	return true;
}

/* Does the jump leave one of the loops inside, around here? */
static bool is_break(const struct walk *w, uint32_t jump)
{
	for (unsigned k = 1; k < w->depth; k++)
		if (w->path_range[k] < jump && jump < w->path_end[k] &&
		    w->p->code[jump].d > w->path_end[k])
			return true;
	return false;
}

/* Is it passed by in some turns of its loops? */
static bool is_conditional(const struct walk *w, uint32_t at)
{
	for (uint32_t k = w->range + 1; k < w->end; k++) {
		const struct lang_ins *i;

		k = apart_from(w->p, k);
		i = &w->p->code[k];
		if (lang_jumps(i) && i->code != CODE_NEXT && i->code != CODE_LOOP &&
		    ((k < at && i->d > at) || is_break(w, k)))
			return true;
	}
	return false;
}

/* All that its turns may be.  The bounds of the whole loop are what they are. */
static bool bounds(struct walk *w, const struct lang_ins *i, struct lang_turns *t)
{
	struct lang_affine step;
	bool down;

	if (!lang_walk_value(w, i->c, &step) ||
	    (w->reg && (!lang_affine_constant(&step) || !step.constant)))
		return false;
	t->step = w->reg ? step.constant : 1;
	down = t->step < 0;
	return lang_walk_limit(w, i->a, down, &t->start) &&
	       lang_walk_limit(w, i->b, !down, &t->stop) &&
	       (!w->reg || (lang_walk_small(w, &t->start) && lang_walk_small(w, &t->stop)));
}

/* Of a loop inside, whose bounds may be anything: it stands there as a loop of one turn, whose
 * number nobody knows. */
static bool unbounded(struct walk *w, const struct lang_ins *i, struct lang_turns *t)
{
	struct lang_affine step;

	if (!(w->how & WALK_CHECKED) || !w->depth || !lang_walk_value(w, i->c, &step) ||
	    (w->reg && (!lang_affine_constant(&step) || !step.constant)))
		return false;
	*t = (struct lang_turns){.stop = {.constant = 1}, .step = 1};
	w->unbounded |= (uint64_t)1 << w->nturns;
	w->guessed = true;
	return true;
}

/* As many as are enough for the longest axis, in all turns together. */
static uint64_t guess_turns(const struct walk *w)
{
	int64_t longest = 0;

	for (unsigned k = 0; w->reg && k < w->p->narray; k++)
		for (unsigned x = 0; x < w->array[k].shape.ndim; x++)
			if (w->array[k].shape.dim[x] > longest)
				longest = w->array[k].shape.dim[x];
	return w->many[w->depth] ? (uint64_t)longest / w->many[w->depth] + 1 : 1;
}

static bool enter(struct walk *w, uint32_t at, const struct lang_ins *i)
{
	struct lang_turns *t = &w->turns[w->nturns];

	if (w->depth == LANG_PATH || w->nturns == LANG_ACCESSES)
		return refuse(w, NEST_LARGE, at);
	memset(t, 0, sizeof *t);
	if (!bounds(w, i, t) && !unbounded(w, i, t))
		return refuse(w, NEST_BOUNDS, at);
	w->many[w->depth + 1] = GUESS;
	if (w->unbounded >> w->nturns & 1)
		w->many[w->depth + 1] = guess_turns(w);
	else if (w->reg)
		w->many[w->depth + 1] = lang_depend_turns(w->turns, w->path, w->depth, t);
	if (__builtin_mul_overflow(w->many[w->depth], w->many[w->depth + 1],
				   &w->many[w->depth + 1]))
		w->many[w->depth + 1] = UINT64_MAX;
	w->now_of[w->depth] = 0;
	w->path[w->depth] = w->nturns++;
	w->path_range[w->depth] = at;
	w->path_end[w->depth++] = lang_nest_end(w->p, at);
	return true;
}

/* Could the place lie inside in every turn of some call? */
static bool may_place(struct walk *w, uint32_t at, const struct lang_ins *i)
{
	struct lang_affine index;

	for (uint32_t k = 0; k < i->c; k++)
		if (!lang_walk_value(w, i->b + k, &index) && !(w->how & WALK_CHECKED))
			return refuse(w, NEST_INDEX, at);
	return true;
}

/* An index that may be any of an axis of n elements, as the number of a loop of its own around the
 * access alone. */
static bool any_of_axis(struct walk *w, uint32_t at, struct lang_reach *access,
			struct lang_affine *index, int64_t n)
{
	if (access->nloop == LANG_PATH || w->nturns == LANG_ACCESSES)
		return refuse(w, NEST_LARGE, at);
	w->turns[w->nturns] = (struct lang_turns){.stop = {.constant = n}, .step = 1};
	w->guessed = true;
	*index = (struct lang_affine){0};
	index->factor[access->nloop] = 1;
	access->loop[access->nloop++] = w->nturns++;
	return true;
}

/* Axis k of the place's index, from 0 on. */
static bool axis(struct walk *w, uint32_t at, struct lang_reach *access, uint32_t k,
		 struct lang_affine *index)
{
	const struct lang_ins *i = &w->p->code[at];
	int64_t n = w->array[i->a].shape.dim[k];

	if (lang_walk_value(w, i->b + k, index))
		return inside(w, access, index, n) || refuse(w, NEST_INDEX, at);
	if (w->how & WALK_CHECKED)
		return any_of_axis(w, at, access, index, n);
	return refuse(w, NEST_INDEX, at);
}

static bool place(struct walk *w, uint32_t at, const struct lang_ins *i)
{
	const struct lang_array *x = &w->array[i->a];
	struct lang_reach *access = &w->access[w->naccess];
	struct lang_affine index, part;

	if (!w->reg)
		return may_place(w, at, i);
	if (w->naccess == LANG_ACCESSES)
		return refuse(w, NEST_LARGE, at);
	*access = (struct lang_reach){.address = {.constant = (int64_t)(uintptr_t)x->at}};
	w->maybe[w->naccess] = is_conditional(w, at);
	if (w->maybe[w->naccess])
		access->ncondition = lang_walk_conditions(w, at, access->condition);
	access->nloop = w->depth;
	memcpy(access->loop, w->path, sizeof access->loop);
	for (uint32_t k = 0; k < i->c; k++) {
		if (!axis(w, at, access, k, &index))
			return false;
		if (!lang_affine_scaled(&part, &index, x->stride[k]) ||
		    !lang_affine_added(&access->address, &access->address, &part))
			return refuse(w, NEST_LARGE, at);
	}
	memcpy(w->of[w->naccess], w->now_of, sizeof w->now_of);
	w->place[w->naccess] = at;
	w->w[w->slot[i->d]].access = (int)w->naccess++;
	return true;
}

static bool touch(struct walk *w, uint32_t at, const struct lang_ins *i, uint32_t address)
{
	int a = w->slot[address] < w->nw ? w->w[w->slot[address]].access : -1;

	if (!w->reg)
		return true;
	if (a < 0)
		return refuse(w, NEST_INDEX, at);
	w->access[a].bytes = dtype_row(i->type)->bytes;
	w->access[a].writes |= i->code == CODE_STORE;
	return true;
}

/* ---- One instruction ---- */

static bool jump(struct walk *w, uint32_t at, const struct lang_ins *i)
{
	if (i->d > w->end || (i->code != CODE_LOOP && i->d <= at))
		return refuse(w, NEST_LEAVES, at);
	if (i->code == CODE_LOOP) {
		if (w->depth && w->path_end[w->depth - 1] == at)
			w->depth--;
		w->gone = true;
		return true;
	}
	arrives(w, i->d);
	w->gone = i->code == CODE_JUMP;
	return true;
}

static bool next(struct walk *w, const struct lang_ins *i)
{
	struct written *x = &w->w[w->slot[i->a]];

	arrives(w, i->d);
	write_one(w, (uint32_t)(i - w->p->code), i->a);
	x->known = x->writes == 1 && !lang_walk_unbounded(w, w->depth - 1);
	x->value = (struct lang_affine){0};
	x->value.factor[w->depth - 1] = 1;
	return true;
}

/* Of the loop's own sums; others begin and end in one of its turns. */
static bool addend(struct walk *w, uint32_t at, const struct lang_ins *i)
{
	struct lang_nest *out = w->out;

	if (w->depth != 1)
		return true;
	if (out->nclaimed == LANG_SUMS)
		return refuse(w, NEST_LARGE, at);
	out->claimed[out->nclaimed++] = at;
	return true;
}

/* Of a loop that does what several do: the next one begins, or those inside are one, whose bounds
 * are the same in every turn. */
static bool of_several(struct walk *w, uint32_t at, const struct lang_ins *i)
{
	struct lang_affine first, x;

	for (unsigned k = 0; i->code == CODE_SEAM && k < i->op && k < w->depth; k++)
		w->now_of[w->depth - 1 - k]++;
	for (uint32_t k = 0; i->code == CODE_FUSES && w->reg && k < 2 * i->c; k++)
		if (!lang_walk_value(w, i->b + k % 2, &first) ||
		    !lang_walk_value(w, i->b + k, &x) || memcmp(&first, &x, sizeof x) != 0)
			return refuse(w, NEST_BOUNDS, at);
	return true;
}

static bool made(struct walk *w, uint32_t at, const struct lang_ins *i)
{
	if (i->code == CODE_PLACE)
		return place(w, at, i);
	if (i->code == CODE_ADDEND)
		return addend(w, at, i);
	if (i->code == CODE_LOAD || i->code == CODE_STORE)
		return touch(w, at, i, i->code == CODE_LOAD ? i->a : i->d);
	return true;
}

static bool one(struct walk *w, uint32_t at)
{
	const struct lang_ins *i = &w->p->code[at];
	uint32_t reg;
	unsigned type;

	if (lang_on_slices(i))
		return refuse(w, NEST_SLICES, at);
	for (unsigned k = 0; lang_uses(&reg, &type, i, k); k++)
		read_one(w, at, reg);
	if (i->code == CODE_RANGE)
		return enter(w, at, i);
	if (i->code == CODE_NEXT)
		return next(w, i);
	if (i->code == CODE_SEAM || i->code == CODE_FUSES)
		return of_several(w, at, i);
	if (i->code == CODE_END || i->code == CODE_RETURN)
		return refuse(w, NEST_LEAVES, at);
	if (lang_jumps(i))
		return jump(w, at, i);
	for (unsigned k = 0; lang_makes(&reg, &type, i, k); k++)
		write_one(w, at, reg);
	return made(w, at, i);
}

/* ---- The whole ---- */

/* The copy of the loop that is done in its place: from `first` on, to before `behind`. */
static void find_twin(const struct walk *w, uint32_t *first, uint32_t *behind)
{
	const struct lang_program *p = w->p;

	*first = *behind = p->ncode;
	for (uint32_t at = p->entry; at < w->range; at++) {
		uint32_t apart = apart_from(p, at), end;

		/* It may be one that is being tried, and alone. */
		if (apart <= at || apart >= p->ncode)
			continue;
		end = p->code[apart - 1].d;
		if (w->range >= end)
			continue;
		*first = w->range < apart ? apart : at;
		*behind = w->range < apart ? end : apart;
	}
}

/* Which registers of the loop's are read by what is not in it. */
static void find_outside(struct walk *w)
{
	const struct lang_program *p = w->p;
	uint32_t reg, first, behind;
	unsigned type;

	for (unsigned k = 0; k < p->nresult; k++)
		if (w->slot[p->param[p->nparam + k].reg] < w->nw)
			w->w[w->slot[p->param[p->nparam + k].reg]].outside = true;
	find_twin(w, &first, &behind);
	for (uint32_t at = p->entry; at < p->ncode; at++) {
		if ((at > w->range && at <= w->end) || (at >= first && at < behind))
			continue;
		for (unsigned k = 0; lang_uses(&reg, &type, &p->code[at], k); k++)
			if (w->slot[reg] < w->nw)
				w->w[w->slot[reg]].outside = true;
	}
}

/* Is the register only added to?  Numbers are kept of turns that take longer than that. */
static bool is_sum(const struct walk *w, const struct written *x)
{
	return x->early && x->adds && x->reads == x->adds && x->writes == x->made &&
	       w->out->nsum < LANG_SUMS &&
	       (!x->by.ordered || (w->how & WALK_ADDED) ||
		w->out->work / LANG_KEPT / x->made >= w->out->turns);
}

/* Written by each turn before it is read, added up, or in the way. */
static void scalars(struct walk *w)
{
	find_outside(w);
	for (uint32_t k = 0; k < w->nw && !w->out->why; k++) {
		const struct written *x = &w->w[k];

		if (is_sum(w, x)) {
			w->out->sum[w->out->nsum++] = (struct lang_sum_of){x->reg, x->made, x->by};
		} else if (x->early || (!has(w->now, k) && x->outside)) {
			w->out->reg = x->reg;
			refuse(w, NEST_SCALAR, w->range);
		}
	}
}

/* Strips are apart where no two turns of the loop that is cut touch the same bytes, in whichever
 * turn of the one around it: of which no address may know.  How deep that loop is. */
static unsigned strips(struct walk *w)
{
	const unsigned cut = 2;

	for (unsigned k = 0; k < w->naccess; k++) {
		const struct lang_reach *x = &w->access[k];

		if (x->nloop <= cut || x->address.factor[0] || x->address.factor[1]) {
			refuse(w, NEST_UNDECIDED, w->place[k]);
			w->out->other = w->place[k];
			break;
		}
	}
	return cut;
}

static void depends(struct walk *w)
{
	struct lang_dependence *d = &w->out->depends;
	unsigned level = w->p->code[w->range].op == CLAIM_STRIPS ? strips(w) : 0;

	if (w->out->why)
		return;
	*d = lang_depend(w->turns, w->access, w->naccess, level);
	if (d->answer == LANG_INDEPENDENT)
		return;
	refuse(w, d->answer == LANG_CARRIED ? NEST_DEPENDS : NEST_UNDECIDED, w->place[d->first]);
	w->out->other = w->place[d->second];
	w->out->certain = !w->widened && !w->maybe[d->first] && !w->maybe[d->second];
}

void lang_nest_at_once(struct walk *w, void *data)
{
	if (!w->out->why)
		scalars(w);
	if (!w->out->why && w->reg)
		depends(w);
}

static void walk(struct walk *w)
{
	bool fine;

	w->many[0] = 1;
	if (w->p->code[w->range].op == CLAIM_SEQUENTIAL) {
		refuse(w, NEST_SAID, w->range);
		return;
	}
	fine = enter(w, w->range, &w->p->code[w->range]);
	w->out->turns = w->many[1];
	for (uint32_t at = w->range + 1; fine && at < w->end && !w->full; at++) {
		at = apart_from(w->p, at);
		landed(w, at);
		w->out->work += w->many[w->depth];
		fine = one(w, at);
	}
	if (fine && !w->full)
		landed(w, w->end);
}

/* false: no memory. */
static bool open(struct walk *w)
{
	w->slot = malloc(w->p->nreg * sizeof *w->slot);
	w->w = malloc(WRITTEN_MAX * sizeof *w->w);
	if (w->slot && w->w)
		find_written(w);
	w->words = w->nw / 64 + 1;
	w->now = calloc(w->words, sizeof *w->now);
	w->before = calloc(w->end - w->range + 2, sizeof *w->before);
	return w->slot && w->w && w->now && w->before;
}

static void close(struct walk *w)
{
	for (uint32_t k = 0; w->before && k < w->end - w->range + 2; k++)
		free(w->before[k]);
	free(w->before);
	free(w->now);
	free(w->w);
	free(w->slot);
	free(w);
}

bool lang_walk_over(struct lang_nest *out, const struct lang_program *p,
		    const struct lang_loops *loops, uint32_t range, const union lang_reg *reg,
		    const struct lang_array *array, unsigned how, lang_walk_fn *then, void *data)
{
	struct walk *w = calloc(1, sizeof *w);
	bool fine;

	memset(out, 0, sizeof *out);
	out->end = lang_nest_end(p, range);
	if (!w)
		return false;
	w->p = p;
	w->reg = reg;
	w->loops = loops;
	w->array = array;
	w->how = how;
	w->out = out;
	w->range = range;
	w->end = out->end;
	fine = w->end - range > CODE_MAX ? refuse(w, NEST_LARGE, range) : open(w);
	if (fine && w->nw == WRITTEN_MAX)
		refuse(w, NEST_LARGE, range);
	else if (fine)
		walk(w);
	fine = (fine || out->why) && !w->full;
	if (fine)
		then(w, data);
	close(w);
	return fine;
}

bool lang_nest_of(struct lang_nest *out, const struct lang_program *p,
		  const struct lang_loops *loops, uint32_t range, const union lang_reg *reg,
		  const struct lang_array *array)
{
	return lang_walk_over(out, p, loops, range, reg, array, 0, lang_nest_at_once, NULL);
}

bool lang_nest_may(const struct lang_program *p, uint32_t range)
{
	struct lang_nest nest;

	return lang_nest_of(&nest, p, NULL, range, NULL, NULL) && nest.why == NEST_NONE;
}

/* Does each turn of the loop from `range` to `end` come to the claim inside, once? */
static bool is_each_turn(const struct lang_program *p, uint32_t range, uint32_t end, uint32_t claim)
{
	for (uint32_t k = range + 2; k < end; k++) {
		const struct lang_ins *i = &p->code[k];

		if (lang_jumps(i) && ((k < claim && i->d > claim) ||
				      (k > claim && i->d > range + 1 && i->d <= claim)))
			return false;
	}
	return true;
}

bool lang_claims_counted(const struct lang_program *p, uint32_t range)
{
	uint32_t end = lang_nest_end(p, range);

	for (uint32_t k = range + 1; k < end; k++)
		if (p->code[k].code == CODE_CLAIM && lang_nest_may(p, p->code[k].a) &&
		    !is_each_turn(p, range, end, k))
			return false;
	return true;
}

bool lang_nest_again(const struct lang_nest *n, const union lang_reg *reg)
{
	if (n->nused > LANG_USED)
		return false;
	for (unsigned k = 0; k < n->nused; k++)
		if (reg[n->used[k]].i != n->value[k])
			return false;
	return true;
}
