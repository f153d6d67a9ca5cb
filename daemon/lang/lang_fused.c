/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_fused.c - may loops in a row be one, with the values of a call?
 *
 * In:  the loop that does the turns of all (lang_fuse.h).  Out: how many of them, from the first
 * on, may be one.  lang_nest.c's walk over that loop proves that nothing in it fails, and tells for
 * each access which of the loops it is of.  Two accesses of different loops come in another order
 * than before where that of the later loop is in an earlier turn: so that is what
 * lang_depend_pair is asked, at each level at which the two loops have become one.
 *
 * Loops whose turns may run at once stay apart from such as may not, and where the one loop's may
 * not: threads and vectors are worth more than what is read once instead of twice. */
#include "lang_fuse.h"

#include <stdlib.h>
#include <string.h>

#include "lang_known.h"
#include "lang_steps.h"
#include "lang_uses.h"
#include "lang_walk.h"

typedef __int128 wide;

#define STRIPS	 1  /* the loops that are cut into strips: those inside of the outermost */
#define REFUSALS 8  /* of different values in a row, after which few are looked at */
#define USUAL	 61 /* a guess at any number and extent */
#define APART	 ((uintptr_t)1 << 32) /* and at the bytes between arrays */

/* ---- Accesses ---- */

struct asking {
	struct lang_fusion *out;
	const struct lang_ins *fuses;
	bool near[LANG_ACCESSES * LANG_ACCESSES];
	bool ordered[LANG_FUSED]; /* the loop's turns come one after the other, */
	bool asks[LANG_FUSED];	  /* and there are conditions in it */
};

static void cut(struct lang_fusion *f, unsigned fine)
{
	if (fine >= f->fine)
		return;
	f->fine = fine;
	f->pair = f->lost = f->strange = false;
}

static void cut_by_pair(const struct walk *w, struct lang_fusion *f, unsigned x, unsigned y)
{
	if (w->of[y][0] >= f->fine)
		return;
	cut(f, w->of[y][0]);
	f->pair = true;
	f->at = w->place[x];
	f->other = w->place[y];
}

static bool meet(const struct walk *w, unsigned first, unsigned second, unsigned level)
{
	return lang_depend_pair(w->turns, w->access, first, second, level).answer !=
	       LANG_INDEPENDENT;
}

/* How many loops both are in. */
static unsigned common(const struct walk *w, unsigned x, unsigned y)
{
	const struct lang_reach *a = &w->access[x], *b = &w->access[y];
	unsigned n = 0;

	while (n < a->nloop && n < b->nloop && a->loop[n] == b->loop[n])
		n++;
	return n;
}

/* Of the same innermost loop. */
static void ask_straight(const struct walk *w, struct asking *a, unsigned x, unsigned y)
{
	unsigned n = common(w, x, y);

	if (!a->out->straight || n != w->access[x].nloop || n != w->access[y].nloop ||
	    !a->near[w->naccess * x + y] || (!w->access[x].writes && !w->access[y].writes))
		return;
	a->out->straight = w->p->code[w->place[x]].a == w->p->code[w->place[y]].a &&
			   !meet(w, x, y, n - 1) && !meet(w, y, x, n - 1);
}

/* Two accesses, x before y in the text. */
static void ask(const struct walk *w, struct asking *a, unsigned x, unsigned y)
{
	unsigned n = common(w, x, y), level = 0;

	if (w->of[y][0] >= a->out->fine || !a->near[w->naccess * x + y] ||
	    (!w->access[x].writes && !w->access[y].writes))
		return;
	while (level < n && w->of[x][level] == w->of[y][level])
		level++;
	/* Of one loop; ordered: and another turn of it. */
	if (level && !a->ordered[w->of[x][0]])
		a->ordered[w->of[x][0]] = meet(w, x, y, 0) || meet(w, y, x, 0);
	for (; level < n && w->of[y][0] < a->out->fine; level++)
		if (meet(w, y, x, level))
			cut_by_pair(w, a->out, x, y);
}

/* An element that an earlier turn has written is a turn's own in all but the first loop. */
static void ask_forward(const struct walk *w, struct asking *a, unsigned x, unsigned y)
{
	if (w->of[x][0] == w->of[y][0] || w->of[y][0] >= a->out->fine || a->ordered[0] ||
	    !a->near[w->naccess * x + y] || (!w->access[x].writes && !w->access[y].writes) ||
	    !meet(w, x, y, 0))
		return;
	cut_by_pair(w, a->out, x, y);
	a->out->lost = true;
}

/* ---- Scalars ---- */

/* A scalar that a turn reads from the one before, in that loop. */
static void find_ordered(const struct walk *w, struct asking *a)
{
	unsigned of = 0, depth = 0;
	uint32_t reg;
	unsigned type;

	for (uint32_t at = w->range + 1; at < w->end && of < LANG_FUSED; at++) {
		const struct lang_ins *i = &w->p->code[at];

		depth += i->code == CODE_RANGE;
		depth -= i->code == CODE_LOOP;
		of += i->code == CODE_SEAM && i->op == depth + 1;
		a->asks[of] |= i->code == CODE_UNLESS || i->code == CODE_WHEN;
		for (unsigned k = 0; lang_makes(&reg, &type, i, k); k++) {
			const struct written *x = w->slot[reg] < w->nw ? &w->w[w->slot[reg]] : NULL;

			if (x && x->early &&
			    !(x->adds && !x->by.ordered && x->reads == x->adds &&
			      x->writes == x->made))
				a->ordered[of] = true;
		}
	}
}

static void find_unlike(struct asking *a)
{
	for (unsigned k = 1; k < a->out->fine; k++)
		if (a->ordered[k] != a->ordered[0] || a->asks[k] != a->asks[0]) {
			cut(a->out, k);
			a->out->lost = true;
		}
}

/* Do both go on through the same array as far with each turn? */
static bool go_along(const struct walk *w, unsigned x, unsigned y)
{
	return w->p->code[w->place[x]].a == w->p->code[w->place[y]].a &&
	       w->access[x].address.factor[0] == w->access[y].address.factor[0];
}

/* Nests whose turns have nothing in common gain nothing: a matrix by its rows, and by its columns,
 * which a compiler could take in another order alone. */
static void find_strangers(const struct walk *w, struct asking *a)
{
	bool knows[LANG_FUSED] = {false}, nested = false;

	for (unsigned y = 0; y < w->naccess; y++) {
		nested |= w->access[y].nloop > 1;
		for (unsigned x = 0; x < y; x++)
			knows[w->of[y][0]] |= w->of[x][0] < w->of[y][0] && go_along(w, x, y);
	}
	for (unsigned k = 1; nested && k < a->out->fine; k++)
		if (!knows[k]) {
			cut(a->out, k);
			a->out->strange = true;
		}
}

static unsigned arrays(const struct walk *w)
{
	bool seen[LANG_PARAMS] = {false};
	unsigned n = 0;

	for (uint32_t at = w->range; at < w->end; at++) {
		const struct lang_ins *i = &w->p->code[at];

		if (i->code == CODE_PLACE && !seen[i->a]) {
			seen[i->a] = true;
			n++;
		}
	}
	return n;
}

static void asked(struct walk *w, void *data)
{
	struct asking *a = data;
	struct lang_fusion *f = a->out;

	if (w->out->why) {
		cut(f, w->now_of[0]);
		return;
	}
	if (arrays(w) > LANG_FUSED_ARRAYS) {
		w->out->why = NEST_LARGE;
		cut(f, f->loops - 1);
		return;
	}
	lang_depend_near(a->near, w->turns, w->access, w->naccess);
	find_ordered(w, a);
	for (unsigned y = 0; y < w->naccess; y++)
		for (unsigned x = 0; x <= y; x++) {
			ask(w, a, x, y);
			ask_straight(w, a, x, y);
		}
	find_unlike(a);
	find_strangers(w, a);
	for (unsigned y = 0; y < w->naccess; y++)
		for (unsigned x = 0; x < y; x++)
			ask_forward(w, a, x, y);
}

static unsigned loops_of(const struct lang_program *p, uint32_t range)
{
	uint32_t end = lang_nest_end(p, range);
	unsigned n = 1, depth = 0;

	for (uint32_t at = range + 1; at < end; at++) {
		depth += p->code[at].code == CODE_RANGE;
		depth -= p->code[at].code == CODE_LOOP;
		n += p->code[at].code == CODE_SEAM && p->code[at].op == depth + 1;
	}
	return n;
}

/* ---- Strips ---- */

/* Have the arrays fewer bytes than are worth strips? */
static bool are_short(const struct walk *w, unsigned least)
{
	double bytes = 0;

	for (unsigned k = 0; k < w->p->nparam; k++) {
		const struct lang_param *x = &w->p->param[k];
		double of = x->rank ? dtype_row(x->type)->bytes : 0;

		for (unsigned axis = 0; axis < x->rank; axis++)
			of *= (double)w->array[x->reg].shape.dim[axis];
		bytes += of;
	}
	return bytes < least;
}

static void strips_asked(struct walk *w, void *data)
{
	struct asking *a = data;
	struct lang_fusion *f = a->out;
	bool nested = false;

	for (unsigned k = 0; k < w->naccess; k++)
		nested |= w->access[k].nloop > 3;
	lang_nest_at_once(w, NULL);
	if (w->out->why || w->out->nsum ||
	    (!(w->how & WALK_SUPPOSED) &&
	     are_short(w, nested ? LANG_ROWS_LEAST : LANG_STRIP_LEAST))) {
		f->fine = 0;
		return;
	}
	lang_depend_near(a->near, w->turns, w->access, w->naccess);
	for (unsigned y = 0; y < w->naccess; y++)
		for (unsigned x = 0; x < y; x++)
			f->straight &= !a->near[w->naccess * x + y] ||
				       (!w->access[x].writes && !w->access[y].writes) ||
				       w->p->code[w->place[x]].a == w->p->code[w->place[y]].a;
}

/* ---- Strips that lean ---- */

/* Where a sum of the numbers of the loops inside of the strip's lies; false: it is not known. */
static bool reaches(const struct walk *w, const struct lang_reach *x, wide *low, wide *high)
{
	*low = *high = x->address.constant;
	for (unsigned k = STRIPS + 1; k < x->nloop; k++) {
		const struct lang_turns *t = &w->turns[x->loop[k]];
		bool down = t->step < 0;
		wide one = (wide)x->address.factor[k] * t->start.constant,
		     other = (wide)x->address.factor[k] * (t->stop.constant + (down ? 1 : -1));

		if (!lang_affine_constant(&t->start) || !lang_affine_constant(&t->stop))
			return false;
		*low += one < other ? one : other;
		*high += one < other ? other : one;
	}
	return true;
}

/* How many turns of the loops that are cut into strips can be between two that touch the same
 * bytes, in whichever turns of the outer one; more than LANG_LEAN: it is not known, or too many. */
static unsigned turns_between(const struct walk *w, unsigned x, unsigned y)
{
	const struct lang_reach *a = &w->access[x], *b = &w->access[y];
	wide factor = a->address.factor[STRIPS], low, high, other_low, other_high;

	if (!factor || a->address.factor[0] || b->address.factor[0] ||
	    b->address.factor[STRIPS] != a->address.factor[STRIPS] || !reaches(w, a, &low, &high) ||
	    !reaches(w, b, &other_low, &other_high))
		return LANG_LEAN + 1;
	/* What factor * (the turn of a - that of b) can be, and how many of the factor that is. */
	other_low -= high + a->bytes - 1;
	other_high -= low - (b->bytes - 1);
	if (factor < 0) {
		wide turned = -other_low;

		factor = -factor;
		other_low = -other_high;
		other_high = turned;
	}
	if (other_high / factor > LANG_LEAN || other_low / factor < -LANG_LEAN)
		return LANG_LEAN + 1;
	low = other_low / factor;
	high = other_high / factor;
	return (unsigned)(-low > high ? -low : high);
}

/* Are the loops' turns mostly the same?  So strips have work of each, and are not more than turns.
 */
static bool lie_together(const struct walk *w, const struct lang_ins *fuses)
{
	const union lang_reg *bound = w->reg + fuses->b;
	wide low = bound[0].i, high = bound[1].i;

	for (unsigned k = 1; k < fuses->c; k++) {
		low = bound[2 * k].i < low ? bound[2 * k].i : low;
		high = bound[2 * k + 1].i > high ? bound[2 * k + 1].i : high;
	}
	for (unsigned k = 0; k < fuses->c; k++)
		if (2 * ((wide)bound[2 * k + 1].i - bound[2 * k].i) <= high - low)
			return false;
	return true;
}

static void leaning_asked(struct walk *w, void *data)
{
	struct asking *a = data;
	struct lang_fusion *f = a->out;

	f->fine = 0;
	if (w->out->why || (!(w->how & WALK_SUPPOSED) &&
			    (are_short(w, LANG_ROWS_LEAST) || !lie_together(w, a->fuses))))
		return;
	lang_depend_near(a->near, w->turns, w->access, w->naccess);
	for (unsigned y = 0; y < w->naccess; y++)
		for (unsigned x = 0; x <= y; x++) {
			bool same = w->p->code[w->place[x]].a == w->p->code[w->place[y]].a;
			unsigned far;

			/* Bounds that are a guess are the same number: nothing is near then. */
			if (!(w->how & WALK_SUPPOSED ? same : a->near[w->naccess * x + y]) ||
			    (!w->access[x].writes && !w->access[y].writes))
				continue;
			far = turns_between(w, x, y);
			f->lean = far > f->lean ? far : f->lean;
			f->straight &= same;
			ask_straight(w, a, x, y);
		}
	f->fine = f->lean && f->lean <= lang_lean_of(a->fuses);
}

bool lang_lean_wanted(const struct lang_kernel *k)
{
	uint64_t least, now;

	return !k->team || k->team->threads(&least, &now) < 2;
}

bool lang_fusion_of(struct lang_fusion *out, const struct lang_program *p,
		    const struct lang_loops *loops, const struct lang_ins *fuses,
		    const union lang_reg *reg, const struct lang_array *array, bool supposed)
{
	lang_walk_fn *then = p->code[fuses->a].op == CLAIM_STRIPS ? strips_asked
			     : lang_lean_of(fuses)		  ? leaning_asked
								  : asked;
	struct asking *a = calloc(1, sizeof *a);
	bool fine;

	memset(out, 0, sizeof *out);
	out->loops = out->fine = then == asked ? loops_of(p, fuses->a) : 1;
	out->straight = true;
	if (!a)
		return false;
	a->out = out;
	a->fuses = fuses;
	fine = lang_walk_over(&out->nest, p, loops, fuses->a, reg, array,
			      supposed ? WALK_SUPPOSED : 0, then, a);
	out->straight &= fine && !out->nest.why;
	free(a);
	return fine;
}

bool lang_fusion_done(const struct lang_fusion *f, bool straight)
{
	return f->fine == f->loops && f->nest.work >= LANG_FUSED_LEAST &&
	       (f->straight || !straight);
}

/* ---- A guess ---- */

static int64_t computed(const struct lang_ins *i, uint64_t a, uint64_t b)
{
	int64_t x = (int64_t)a, y = (int64_t)b;

	switch (i->op) {
	case OP_ADD:
		return (int64_t)(a + b);
	case OP_SUBTRACT:
		return (int64_t)(a - b);
	case OP_MULTIPLY:
		return (int64_t)(a * b);
	case OP_NEGATIVE:
		return (int64_t)(0 - a);
	case OP_FLOOR_DIVIDE:
		return y > 0 ? x / y : USUAL;
	case OP_MINIMUM:
		return x < y ? x : y;
	case OP_MAXIMUM:
		return x > y ? x : y;
	default:
		return USUAL;
	}
}

/* What registers of integers have as the loop begins, each loop around in one of its turns; rise:
 * by so much each parameter has more than the one before it. */
static void guess_registers(const struct lang_program *p, uint32_t range, int64_t rise,
			    union lang_reg *reg)
{
	for (uint32_t k = 0; k < p->nreg; k++)
		reg[k].i = USUAL;
	for (unsigned k = 0; k < p->nparam; k++)
		if (!p->param[k].rank)
			reg[p->param[k].reg].i += rise * k;
	for (uint32_t k = 0; k < p->nconst; k++)
		reg[p->constant[k].reg] = p->constant[k].value;
	for (uint32_t at = p->entry; at < range; at++) {
		const struct lang_ins *i = &p->code[at];

		if (i->code == CODE_LENGTH)
			reg[i->d].i = USUAL;
		else if (i->code == CODE_MOVE && i->type == DT_INT64)
			reg[i->d] = reg[i->a];
		else if (i->code == CODE_OP && i->type == DT_INT64 && op_row(i->op)->arity < 3)
			reg[i->d].i = computed(i, reg[i->a].bits[0],
					       reg[op_row(i->op)->arity > 1 ? i->b : i->a].bits[0]);
		else if (i->code == CODE_RANGE)
			reg[i->d].bits[0] = reg[i->a].bits[0] + 3 * reg[i->c].bits[0];
	}
}

static void guess_arrays(const struct lang_program *p, struct lang_array *array)
{
	for (unsigned k = 0; k < p->nparam; k++) {
		const struct lang_param *x = &p->param[k];
		int64_t stride = dtype_row(x->type)->bytes;

		for (unsigned axis = x->rank; axis-- > 0; stride *= USUAL) {
			array[x->reg].shape.dim[axis] = USUAL;
			array[x->reg].stride[axis] = stride;
		}
		if (x->rank) {
			array[x->reg].shape.ndim = x->rank;
			array[x->reg].at = (char *)(APART * (x->reg + 1));
		}
	}
}

unsigned lang_fusion_alike(const struct lang_ins *fuses, const union lang_reg *reg)
{
	if (lang_lean_of(fuses))
		return fuses->c;
	for (uint32_t k = 2; k < 2 * fuses->c; k++)
		if (reg[fuses->b + k].i != reg[fuses->b + k % 2].i)
			return k / 2;
	return fuses->c;
}

/* same: of how many loops the bounds are the first one's. */
static struct lang_fusion guess(const struct lang_program *p, const struct lang_ins *fuses,
				unsigned *same)
{
	union lang_reg *reg = calloc(p->nreg + 1, sizeof *reg);
	struct lang_array *array = calloc(LANG_PARAMS, sizeof *array);
	struct lang_fusion f = {.fine = 0};

	*same = 0;
	if (reg && array) {
		guess_registers(p, fuses->a, 0, reg);
		/* From one parameter to another that is the same number there are no turns. */
		if (reg[fuses->b].i == reg[fuses->b + 1].i)
			guess_registers(p, fuses->a, USUAL, reg);
		guess_arrays(p, array);
		*same = lang_fusion_alike(fuses, reg);
		if (!lang_fusion_of(&f, p, NULL, fuses, reg, array, true))
			f.fine = 0;
	}
	free(reg);
	free(array);
	return f;
}

unsigned lang_fusion_guess(const struct lang_program *p, uint32_t fuses, bool straight)
{
	const struct lang_ins *i = &p->code[fuses];
	unsigned same;
	struct lang_fusion f = guess(p, i, &same);

	if (p->code[i->a].op == CLAIM_STRIPS && same < i->c)
		same = 0;
	f.fine = same < f.fine ? same : f.fine;
	return f.fine && f.fine == f.loops && straight && !f.straight ? f.fine - 1 : f.fine;
}

unsigned lang_lean_guess(const struct lang_program *p, uint32_t fuses)
{
	unsigned same;
	struct lang_fusion f = guess(p, &p->code[fuses], &same);

	return f.fine && f.straight ? f.lean : 0;
}

bool lang_fusion_straight(const struct lang_program *p, uint32_t range)
{
	for (uint32_t at = p->entry; at < range; at++) {
		const struct lang_ins *i = &p->code[at];

		if (i->code == CODE_FUSES && !i->op && i->to && range < i[1].d)
			return true;
	}
	return false;
}

bool lang_fusion_nested(const struct lang_program *p, uint32_t range)
{
	uint32_t end = lang_nest_end(p, range);

	for (uint32_t at = range + 1; at < end; at++)
		if (p->code[at].code == CODE_RANGE)
			return true;
	return false;
}

/* ---- The question of a run ---- */

static _Atomic bool kept_apart;

void lang_keep_apart(bool apart)
{
	atomic_store_explicit(&kept_apart, apart, memory_order_relaxed);
}

struct fusion_plan {
	uint32_t at;
	unsigned narray; /* words */
	uint32_t missed, skipped, passed;
	uint32_t count; /* instructions */
	bool inner;	/* there is a loop inside, */
	double turn;	/* of which the last look told how much a turn does; 0: none yet */
	bool fine;
	struct lang_nest nest;
	int64_t *array;
	struct lang_known known; /* of other values; one that has no reason against it is fine */
};

struct lang_fusions {
	atomic_flag busy;
	unsigned n;
	struct lang_loops *loops; /* NULL: not asked for yet */
	struct fusion_plan plan[];
};

unsigned lang_fusions_in(const struct lang_program *p)
{
	unsigned n = 0;

	for (uint32_t at = p->entry; at < p->ncode; at++)
		n += p->code[at].code == CODE_FUSES && !p->code[at].op;
	return n;
}

struct lang_fusions *lang_fusions_new(const struct lang_program *p)
{
	struct lang_fusions *f;
	unsigned n = lang_fusions_in(p);

	f = n ? calloc(1, sizeof *f + n * sizeof f->plan[0]) : NULL;
	for (uint32_t at = p->entry; f && at < p->ncode; at++) {
		const struct lang_ins *i = &p->code[at];

		if (i->code != CODE_FUSES || i->op)
			continue;
		f->plan[f->n++] = (struct fusion_plan){.at = at,
						       .count = lang_nest_end(p, i->a) - i->a,
						       .inner = lang_fusion_nested(p, i->a)};
	}
	return f;
}

void lang_fusions_free(struct lang_fusions *f)
{
	for (unsigned k = 0; f && k < f->n; k++) {
		free(f->plan[k].array);
		lang_answers_forget(&f->plan[k].known.answers);
	}
	if (f)
		lang_loops_free(f->loops);
	free(f);
}

static double turns_of(const struct run *r, const struct step *s)
{
	double turns = (double)r->reg[s->b + 1].i - (double)r->reg[s->b].i;

	return turns < 0 ? -turns : turns;
}

/* Is it too little?  Of loops with others inside the walk tells, which takes longer than they do:
 * it is believed for some calls. */
static bool is_little(struct fusion_plan *plan, const struct run *r, const struct step *s)
{
	double turns = turns_of(r, s);

	if (!plan->inner)
		return turns * plan->count < LANG_FUSED_LEAST;
	return turns < 2 ||
	       (plan->turn > 0 && turns * plan->turn < LANG_FUSED_LEAST && ++plan->passed % 64);
}

static bool is_as_before(const struct fusion_plan *plan, const struct run *r, const int64_t *array)
{
	return plan->array && memcmp(plan->array, array, plan->narray * sizeof *array) == 0 &&
	       lang_nest_again(&plan->nest, r->reg);
}

static void look(struct lang_fusions *all, struct fusion_plan *plan, const struct run *r,
		 const struct step *s, const int64_t *array)
{
	struct lang_fusion f;

	if (!all->loops)
		all->loops = lang_loops_of(r->program);
	plan->narray = lang_flat_words(r->program);
	if (!plan->array)
		plan->array = malloc((plan->narray + 1) * sizeof *array);
	if (!plan->array || !lang_fusion_of(&f, r->program, all->loops, &r->program->code[plan->at],
					    r->reg, r->array, false)) {
		plan->fine = false;
		return;
	}
	memcpy(plan->array, array, plan->narray * sizeof *array);
	plan->nest = f.nest;
	plan->turn = (double)f.nest.work / (turns_of(r, s) > 1 ? turns_of(r, s) : 1);
	plan->fine = lang_fusion_done(&f, s->to_type);
	plan->missed++;
	if (!plan->fine && !f.nest.why)
		f.nest.why = NEST_DEPENDS;
	lang_known_keep(&plan->known, r, array, &f.nest);
}

static bool may_fuse(struct lang_fusions *all, struct fusion_plan *plan, const struct run *r,
		     const struct step *s)
{
	int64_t array[LANG_PARAMS * (1 + 2 * LIMIT_NDIM)];
	const struct lang_ins *i = &r->program->code[plan->at];
	struct lang_nest known;

	if (lang_fusion_alike(i, r->reg) < s->c || is_little(plan, r, s) ||
	    (lang_lean_of(i) && !lang_lean_wanted(r->kernel)))
		return false;
	lang_flatten(array, r);
	if (is_as_before(plan, r, array)) {
		plan->missed = 0;
		return plan->fine;
	}
	if (lang_known_find(&known, &plan->known, r, array)) {
		plan->missed = 0;
		return !known.why;
	}
	if (plan->missed >= REFUSALS && ++plan->skipped % 64)
		return false;
	look(all, plan, r, s, array);
	return plan->fine;
}

const struct step *lang_step_fuses(struct run *r, const struct step *s)
{
	struct lang_fusions *all = r->kernel->fusions;
	uint32_t at = (uint32_t)(s - r->kernel->step);
	unsigned k = 0;
	bool fine = false;

	if (all && !atomic_load_explicit(&kept_apart, memory_order_relaxed) &&
	    !atomic_flag_test_and_set_explicit(&all->busy, memory_order_acquire)) {
		while (k < all->n && all->plan[k].at != at)
			k++;
		fine = k < all->n && may_fuse(all, &all->plan[k], r, s);
		atomic_flag_clear_explicit(&all->busy, memory_order_release);
	}
	r->reg[s->d].bits[0] = fine;
	return s + 1;
}
