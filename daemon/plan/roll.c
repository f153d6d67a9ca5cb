/* SPDX-License-Identifier: Apache-2.0 */
/* plan/roll.c - the same operations over and over, as a loop of a program records them: one
 * partition of one turn stands for all of them.
 *
 * In:  the nodes that a demand needs, oldest first.
 * Out: where the oldest of them repeat, a partition whose turns differ in the versions that they
 *      name, in immediates, and in offsets that move by the same bytes each time; else the nodes
 *      before such a stretch, to be planned as they are.
 *
 * A period is found by comparing what operations look like.  Whether it is one is then decided by
 * numbering each turn's values as those of the first were: what gets the same numbers, roles and
 * shapes is the same program.  The first turns may have inputs from outside where later ones have
 * results of turns before (struct part_carry). */
#include <stdlib.h>
#include <string.h>

#include "../base/hash.h"
#include "../base/xalloc.h"
#include "demand_impl.h"
#include "sizes.h"

#define NODES_LEAST  (LIMIT_PARTITION_OPS + 1) /* fewer are one plan as they are */
#define TURNS_LEAST  8
#define PERIOD_LEAST 32 /* operations: several shorter turns are one, for they may fuse */
#define TRIES	     32 /* periods that are looked at from one place */
#define EFFORT	     16 /* comparisons for each node */
#define STARTS	     4	/* places where turns may begin to be alike */

/* ---- Where does it repeat? ---- */

struct stretch {
	size_t first, period, turns;
};

/* What operations of different turns have in common; `sized`: their extents may differ. */
static uint64_t likeness(const struct node *n, bool sized)
{
	uint64_t h = (uint64_t)n->op << 32 | (uint64_t)n->dtype << 24 | (uint64_t)n->nin << 16 |
		     (uint64_t)n->view.shape.ndim << 8 | (uint64_t)(n->prev != NULL);

	for (int j = 0; j < n->nin; j++) {
		const struct operand *o = &n->in[j];

		h = h * 0x9e3779b97f4a7c15u + o->view.dtype +
		    (o->version ? 256u + o->view.shape.ndim : 0);
	}
	return hash_bytes(&n->view.shape.dim,
			  sized ? 0 : n->view.shape.ndim * sizeof n->view.shape.dim[0], h);
}

/* next[i]: the place after i that looks the same, or n. */
static void link_alike(uint32_t *next, const uint64_t *h, size_t n)
{
	size_t size = 16;
	uint32_t *last = NULL;

	while (size < 2 * n)
		size *= 2;
	last = xcalloc(size, sizeof *last); /* place + 1 */
	for (size_t i = n; i-- > 0;) {
		size_t at = h[i] & (size - 1);

		while (last[at] && h[last[at] - 1] != h[i])
			at = (at + 1) & (size - 1);
		next[i] = last[at] ? last[at] - 1 : (uint32_t)n;
		last[at] = (uint32_t)i + 1;
	}
	free(last);
}

/* A stretch that was too short to be worth it: it is no longer from a later place on. */
struct passed {
	size_t period, end;
};

/* The period from place `first` on that covers most.  A multiple of one ends where that does, if
 * it comes back at all before. */
static void best_period(struct stretch *s, struct passed *passed, const uint64_t *h,
			const uint32_t *next, size_t n, size_t first, size_t *effort)
{
	size_t most = 0, shortest = 0, tries = TRIES;

	*s = (struct stretch){.first = first};
	for (size_t at = next[first]; at < n && tries-- && *effort; at = next[at]) {
		size_t period = at - first, same = 0;

		if ((period <= most && period % shortest == 0) ||
		    (at < passed->end && period % passed->period == 0))
			continue;
		while (at + same < n && *effort && h[first + same] == h[at + same]) {
			same++;
			--*effort;
		}
		if ((same / period + 1) * period <= most)
			continue;
		s->period = period;
		s->turns = same / period + 1;
		most = s->turns * period;
		shortest = period;
	}
	if (first + most > passed->end)
		*passed = (struct passed){.period = s->period, .end = first + most};
	if (s->period && s->period < PERIOD_LEAST) {
		size_t times = (PERIOD_LEAST + s->period - 1) / s->period;

		s->period *= times;
		s->turns /= times;
	}
}

/* A turn is planned at once, with all of its checks.  What loops of kernels are given is no part of
 * what turns differ in. */
static bool may_plan(const struct stretch *s, const struct found *f)
{
	size_t checks = 0;

	for (size_t i = s->first; i < s->first + s->period; i++) {
		if (f->node[i]->op == OP_GRID)
			return false;
		checks += f->node[i]->op == OP_INDEX;
	}
	return checks <= LIMIT_PARTITION_CHECKS;
}

static bool is_worth(const struct stretch *s)
{
	return s->period && s->turns >= TURNS_LEAST && s->turns * s->period >= NODES_LEAST &&
	       s->period <= LIMIT_PARTITION_OPS / 2;
}

static bool find_stretch(struct stretch *s, const struct found *f, bool sized)
{
	uint64_t *h = xcalloc(f->n, sizeof *h);
	uint32_t *next = xcalloc(f->n, sizeof *next);
	size_t effort = EFFORT * f->n;
	struct passed passed = {0};
	bool any = false;

	for (size_t i = 0; i < f->n; i++)
		h[i] = likeness(f->node[i], sized);
	link_alike(next, h, f->n);
	for (size_t i = 0; i + NODES_LEAST <= f->n && !any && effort; i++) {
		best_period(s, &passed, h, next, f->n, i, &effort);
		any = is_worth(s) && may_plan(s, f);
	}
	free(h);
	free(next);
	return any;
}

/* ---- What of it leaves a turn? ---- */

static struct version *operand_of(const struct node *n, int j)
{
	return j < n->nin ? n->in[j].version : n->prev;
}

/* The place of a version's node among those of the stretch; its n: it is from outside.  Most are
 * where their index says. */
static size_t place_of(const struct found *f, const struct trace *t, const struct version *v)
{
	size_t lo = 0, hi = f->n;

	if (v->index < f->n && f->node[v->index]->out == v)
		return v->index;
	if (v->state != VERSION_PENDING || v->node->mark != t->mark)
		return f->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (f->node[mid]->seq < v->node->seq)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < f->n && f->node[lo]->out == v ? lo : f->n;
}

/* Add `by` references to each version that nodes [lo, hi) read, or replace. */
static void count_reads(const struct found *f, size_t lo, size_t hi, uint32_t by)
{
	for (size_t i = lo; i < hi; i++)
		for (int j = 0; j <= f->node[i]->nin; j++) {
			struct version *v = operand_of(f->node[i], j);

			if (v)
				v->inner += by;
		}
}

static void forget_numbers(const struct found *f, size_t lo, size_t hi)
{
	for (size_t i = lo; i < hi; i++) {
		for (int j = 0; j <= f->node[i]->nin; j++) {
			struct version *v = operand_of(f->node[i], j);

			if (v)
				v->index = PART_NONE;
		}
		f->node[i]->out->index = PART_NONE;
	}
}

static void forget_counts(const struct found *f)
{
	for (size_t i = 0; i < f->n; i++) {
		for (int j = 0; j <= f->node[i]->nin; j++) {
			struct version *v = operand_of(f->node[i], j);

			if (v)
				v->inner = 0;
		}
		f->node[i]->out->inner = 0;
	}
}

/* stored[i]: node i's result is read in another turn, or may be named by somebody. */
static void find_stored(uint8_t *stored, const struct found *f, const struct trace *t,
			size_t period)
{
	forget_counts(f);
	count_reads(f, 0, f->n, 1);
	for (size_t i = 0; i < f->n; i++)
		f->node[i]->out->index = (uint32_t)i;
	for (size_t i = 0; i < f->n; i++) {
		const struct version *v = f->node[i]->out;

		stored[i] |= v->refs > v->inner;
		for (int j = 0; j <= f->node[i]->nin; j++) {
			const struct version *in = operand_of(f->node[i], j);
			size_t at = in ? place_of(f, t, in) : f->n;

			if (at < f->n && at / period != i / period)
				stored[at] = 1;
		}
	}
}

/* Keep the most turns in a row that store the same: the first and the last often have results
 * that the others have not. */
static void keep_even(struct stretch *s, const uint8_t *stored)
{
	size_t best = 0, turns = 0, from = 0;

	for (size_t k = 0, lo = 0; k < s->turns; k++) {
		if (memcmp(stored + k * s->period, stored + lo * s->period, s->period) != 0)
			lo = k;
		if (k - lo + 1 > turns) {
			turns = k - lo + 1;
			best = lo;
		}
	}
	from = best * s->period;
	s->first += from;
	s->turns = turns;
}

/* ---- One partition for all turns ---- */

struct rolling {
	struct found *f; /* the stretch alone */
	struct trace *t;
	size_t period;
	struct partition *p;
	struct version **value; /* [turns][nvalue] */
	uint8_t *decided;	/* [nvalue]: some turn told whether it takes storage */
	struct sizes sizes;	/* extents that differ */
	uint32_t numbered;	/* values of the turn that is compared */
	uint32_t imms;		/* that it has passed */
};

static bool number(struct rolling *r, size_t turn, uint32_t expected, struct version *v)
{
	const struct part *p = &r->p->part;

	if (v->index == PART_NONE) {
		if (r->numbered == p->nvalue || !sizes_bytes(&r->sizes, r->numbered, v->bytes))
			return false;
		r->value[turn * p->nvalue + r->numbered] = v;
		v->index = r->numbered++;
	}
	return v->index == expected;
}

/* A view has the first turn's shape, but for sizes, and moves by what it did from the first to the
 * second. */
static bool same_view(struct rolling *r, size_t turn, const struct part_ref *ref,
		      const struct view *v)
{
	const int64_t *dim = r->p->part.dim + ref->dims;
	int64_t *move = r->p->part.move + ref->dims;

	if (v->dtype != ref->dtype || v->shape.ndim != ref->ndim || !sizes_view(&r->sizes, ref, v))
		return false;
	if (turn == 1)
		move[0] = v->offset - dim[0];
	return v->offset == dim[0] + (int64_t)turn * move[0];
}

static bool same_operand(struct rolling *r, size_t turn, const struct part_ref *ref,
			 const struct operand *o)
{
	uint64_t *imm = r->p->imm + 2 * (turn * r->p->part.nimm + r->imms);

	if (o->version)
		return !(ref->value & PART_IMM) && number(r, turn, ref->value, o->version) &&
		       same_view(r, turn, ref, &o->view);
	if (!(ref->value & PART_IMM) || ref->dtype != o->view.dtype)
		return false;
	imm[0] = o->imm[0];
	imm[1] = o->imm[1];
	r->imms++;
	return true;
}

static bool same_node(struct rolling *r, size_t turn, const struct part_op *op,
		      const struct node *n)
{
	const struct part *p = &r->p->part;
	const struct part_ref *in = part_in(p, op);

	if (op->op != n->op || op->dtype != n->dtype || op->nin != n->nin ||
	    op->axes != demand_axes(n) || n->device != p->device)
		return false;
	for (int j = 0; j < n->nin; j++)
		if (!same_operand(r, turn, &in[j], &n->in[j]))
			return false;
	if ((n->prev != NULL) != (p->value[op->out.value].prev != PART_NONE) ||
	    (n->prev && !number(r, turn, p->value[op->out.value].prev, n->prev)))
		return false;
	return number(r, turn, op->out.value, n->out) && same_view(r, turn, &op->out, &n->view);
}

/* Is input i of this turn from where it is in the others? */
static bool same_origin(const struct rolling *r, size_t turn, uint32_t i)
{
	const struct version *v = r->value[turn * r->p->part.nvalue + i];
	struct part_carry *c = &r->p->carry[i];
	size_t at = place_of(r->f, r->t, v), from = at / r->period;
	uint32_t value = 0;

	if (at == r->f->n)
		return c->value == PART_NONE || turn < c->lag;
	value = r->p->part.op[at % r->period].out.value;
	if (c->value == PART_NONE && from == 0)
		*c = (struct part_carry){.value = value, .lag = (uint32_t)turn};
	return c->value == value && turn - from == c->lag;
}

/* May what replaces a part of a value take its storage?  In all turns or in none, but that where
 * the value is from outside the turn may work on a copy. */
static bool same_takes(const struct rolling *r, size_t turn)
{
	struct part *p = &r->p->part;

	for (uint32_t k = 0; k < p->nop; k++) {
		const struct version *prev = r->f->node[turn * r->period + k]->prev;
		uint32_t out = p->op[k].out.value;
		bool take = prev && demand_may_take(prev);

		if (!prev)
			continue;
		if (partition_foreign(r->p, (uint32_t)turn, p->value[out].prev)) {
			r->p->copied[turn * p->nvalue + out] = !take;
			continue;
		}
		if (!r->decided[out])
			p->value[out].take = take;
		r->decided[out] = 1;
		if (take != p->value[out].take)
			return false;
	}
	return true;
}

static bool same_turn(struct rolling *r, size_t turn)
{
	const struct part *p = &r->p->part;
	size_t lo = turn * r->period, hi = lo + r->period;

	r->numbered = r->imms = 0;
	sizes_turn(&r->sizes, (uint32_t)turn);
	forget_numbers(r->f, lo, hi);
	for (uint32_t k = 0; k < p->nop; k++)
		if (!same_node(r, turn, &p->op[k], r->f->node[lo + k]))
			return false;
	if (!sizes_agree(&r->sizes))
		return false;
	for (uint32_t i = 0; i < p->nvalue; i++)
		if (p->value[i].role == PART_INPUT && !same_origin(r, turn, i))
			return false;
	count_reads(r->f, lo, hi, 1);
	if (same_takes(r, turn))
		return true;
	count_reads(r->f, lo, hi, UINT32_MAX);
	return false;
}

/* The first turn, as a partition by itself. */
static void first_turn(struct rolling *r, const uint8_t *stored)
{
	struct found turn = {.node = r->f->node, .n = r->period};
	struct builder b = {.p = demand_allocate(&turn), .t = r->t};

	r->p = b.p;
	forget_numbers(r->f, 0, r->period);
	forget_counts(r->f);
	count_reads(r->f, 0, r->period, 1);
	for (size_t i = 0; i < r->period; i++) {
		turn.node[i]->kept = 0;
		demand_add(&b, turn.node[i], stored[i]);
	}
	demand_end(&b, turn.node[0]->device);
}

static void allocate_turns(struct rolling *r, size_t turns)
{
	struct partition *p = r->p;
	size_t n = p->part.nvalue;

	r->value = xcalloc(turns * n, sizeof(struct version *));
	memcpy(r->value, p->value, n * sizeof(struct version *));
	p->value = r->value;
	p->carry = xcalloc(n, sizeof *p->carry);
	for (size_t i = 0; i < n; i++)
		p->carry[i].value = PART_NONE;
	p->copied = xcalloc(turns, n);
	r->decided = xcalloc(n, 1);
	p->live = xcalloc(turns, n);
	p->from = xcalloc(n, sizeof *p->from);
	p->imm = xcalloc(turns * p->part.nimm, 2 * sizeof *p->imm);
	memcpy(p->imm, p->part.imm, (size_t)p->part.nimm * 2 * sizeof *p->imm);
	p->part.move = xcalloc(p->part.ndim, sizeof *p->part.move);
	sizes_begin(&r->sizes, &p->part, (uint32_t)turns);
}

void roll_free(struct partition *p)
{
	if (!p->carry)
		return;
	free((void *)p->value);
	free(p->carry);
	free(p->copied);
	free(p->live);
	free(p->from);
	free(p->imm);
	free(p->part.move);
	free(p->part.mark);
	free(p->part.most);
	free(p->size);
}

/* ---- Where a stretch begins is none of its plan's business ---- */

/* All that a turn does with an input's storage, by itself and by what takes its place. */
struct walked {
	int64_t lo, move;   /* least offset; bytes a turn */
	uint8_t any, apart; /* seen; not everything moves alike */
};

/* The value whose storage value i has. */
static uint32_t root_of(const struct part *p, uint32_t i)
{
	while (p->value[i].prev != PART_NONE && p->value[i].take)
		i = p->value[i].prev;
	return i;
}

static void walk_ref(struct walked *w, const struct part *p, const struct part_ref *r)
{
	struct walked *x = NULL;

	if (r->value & PART_IMM)
		return;
	x = &w[root_of(p, r->value)];
	x->apart |= x->any && x->move != p->move[r->dims];
	x->lo = x->any && x->lo < p->dim[r->dims] ? x->lo : p->dim[r->dims];
	x->move = p->move[r->dims];
	x->any = 1;
}

static void start_ref(const struct partition *q, const struct part_ref *r)
{
	if (!(r->value & PART_IMM))
		q->part.dim[r->dims] -= q->from[r->value];
}

/* A sweep over columns has the same plan wherever it begins: offsets count from the least one of
 * the first turn in what is moved through as a whole. */
static void count_from_first(struct partition *q)
{
	const struct part *p = &q->part;
	struct walked *w = xcalloc(p->nvalue, sizeof *w);

	for (uint32_t k = 0; k < p->nop; k++) {
		for (unsigned j = 0; j < p->op[k].nin; j++)
			walk_ref(w, p, &part_in(p, &p->op[k])[j]);
		walk_ref(w, p, &p->op[k].out);
	}
	/* What is carried over into other storage is copied whole. */
	for (uint32_t i = 0; i < p->nvalue; i++)
		if (p->value[i].prev != PART_NONE && !p->value[i].take)
			w[root_of(p, i)].apart = w[root_of(p, p->value[i].prev)].apart = 1;
	for (uint32_t i = 0; i < p->nvalue; i++) {
		uint32_t r = root_of(p, i);

		if (p->value[r].role == PART_INPUT && w[r].any && !w[r].apart && w[r].move)
			q->from[i] = w[r].lo;
	}
	for (uint32_t k = 0; k < p->nop; k++) {
		for (unsigned j = 0; j < p->op[k].nin; j++)
			start_ref(q, &part_in(p, &p->op[k])[j]);
		start_ref(q, &p->op[k].out);
	}
	free(w);
}

/* So many turns are alike: their values are the partition's. */
static void finish_turns(struct rolling *r, size_t turns)
{
	struct partition *p = r->p;
	uint32_t n = p->part.nvalue, moving = 0;

	r->f->n = turns * r->period;
	p->turns = (uint32_t)turns;
	for (size_t i = n; i < turns * n; i++)
		version_hold(r->value[i]);
	for (size_t i = 0; i < r->f->n; i++)
		version_run(r->t, r->f->node[i]->out);
	for (size_t k = 0; k < turns; k++)
		for (uint32_t i = 0; i < n; i++) {
			const struct version *v = r->value[k * n + i];

			p->live[k * n + i] =
				p->part.value[i].role == PART_OUTPUT && v->refs > v->inner;
		}
	p->size = sizes_name(&r->sizes, p->turns);
	for (uint32_t i = 0; i < p->part.ndim; i++)
		moving |= p->part.move[i] != 0;
	if (moving) {
		count_from_first(p);
		return;
	}
	free(p->part.move);
	p->part.move = NULL;
}

/* The partition of as many turns as are alike; NULL: too few, or it is only asked whether there
 * are enough.  *alike: how many. */
static struct partition *roll_turns(struct found *f, struct trace *t, size_t period,
				    const uint8_t *stored, bool ask, size_t *alike)
{
	struct rolling r = {.f = f, .t = t, .period = period};
	size_t turns = f->n / period, same = 1;
	struct partition *p = NULL;

	first_turn(&r, stored);
	allocate_turns(&r, turns);
	for (uint32_t i = 0; i < r.p->part.nvalue; i++)
		r.p->part.value[i].take = r.p->part.value[i].prev != PART_NONE;
	same_takes(&r, 0); /* the first agrees with itself */
	while (same < turns && same_turn(&r, same))
		same++;
	free(r.decided);
	*alike = same;
	if (same >= TURNS_LEAST && !ask && sizes_may_plan(&r.sizes)) {
		finish_turns(&r, same);
		p = r.p;
	} else {
		partition_free(t, r.p);
	}
	sizes_free(&r.sizes);
	return p;
}

/* A device's worker turns nothing by itself. */
static bool may_roll(const struct found *f, const struct trace *t)
{
	return f->n >= NODES_LEAST && t->ndevice <= 1;
}

size_t roll_whole(const struct found *f, const struct trace *t)
{
	struct stretch s;

	if (!may_roll(f, t) || (!find_stretch(&s, f, false) && !find_stretch(&s, f, true)))
		return 0;
	return s.first + s.turns * s.period;
}

/* What comes before a loop may look like its turns, and is none of them: the nodes after which
 * they begin to be alike; 0: nowhere near. */
static size_t find_start(struct found *f, struct trace *t, size_t period, const uint8_t *stored,
			 size_t alike)
{
	size_t turns = f->n / period, first = 0;

	for (unsigned i = 0; i < STARTS && alike < TURNS_LEAST; i++) {
		struct found rest = {0};

		first += alike;
		if ((turns - first) * period < NODES_LEAST || turns - first < TURNS_LEAST)
			return 0;
		rest = (struct found){.node = f->node + first * period,
				      .n = (turns - first) * period};
		(void)roll_turns(&rest, t, period, stored + first * period, true, &alike);
	}
	return alike < TURNS_LEAST ? 0 : first * period;
}

/* What is computed before turns that read it is stored at once: left as a recipe, it would be
 * planned again before they are. */
static void store_before(const struct found *f, const struct trace *t, size_t first)
{
	for (size_t i = first; i < f->n; i++)
		for (int j = 0; j <= f->node[i]->nin; j++) {
			const struct version *v = operand_of(f->node[i], j);

			if (v && v->state == VERSION_PENDING && v->node->mark == t->mark &&
			    v->node->seq < f->node[first]->seq)
				v->node->recipe = 1;
		}
}

/* By a stretch of operations whose extents may differ from turn to turn, or may not. */
static struct partition *cut(struct found *f, struct trace *t, bool sized)
{
	struct partition *p = NULL;
	size_t alike = 0;
	struct stretch s;
	struct found part;
	uint8_t *stored = NULL;

	if (!find_stretch(&s, f, sized))
		return NULL;
	stored = xcalloc(s.turns, s.period);
	part = (struct found){.node = f->node + s.first, .n = s.turns * s.period};
	find_stored(stored, &part, t, s.period);
	keep_even(&s, stored);
	part.n = s.turns * s.period;
	if (s.turns >= TURNS_LEAST && !s.first) {
		p = roll_turns(&part, t, s.period, stored, false, &alike);
		s.first = p ? 0 : find_start(&part, t, s.period, stored, alike);
	}
	if (s.turns >= TURNS_LEAST && s.first) {
		store_before(f, t, s.first);
		demand_shorten(f, s.first);
	}
	if (p)
		demand_shorten(f, part.n);
	free(stored);
	return p;
}

struct partition *roll_cut(struct found *f, struct trace *t)
{
	struct partition *p = NULL;
	size_t n = f->n;

	if (!may_roll(f, t))
		return NULL;
	p = cut(f, t, false);
	return p || f->n < n ? p : cut(f, t, true);
}
