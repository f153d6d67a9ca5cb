/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_share.c - a loop of generated code by several threads.
 *
 * In:  a frame of code that is about to begin a loop.  Out: the loop is done, or the code goes on
 * alone.  Turns are shared out as parts, each a stretch of them with registers of its own; those
 * of the last part are what the loop leaves, but for sums, which are put together in the order of
 * the parts and in any order give the same bits.  No index of a shared loop can be wrong, so that
 * a part ends early only where somebody stops the run. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lang_known.h"
#include "lang_steps.h"
#include "lang_uses.h"

#define PARTS	 8	     /* for each thread, so that triangles and neighbours' load balance */
#define PLANS	 32	     /* loops of a kernel that are remembered */
#define REFUSALS 8	     /* of different arguments in a row, after which few are looked at: */
#define LOOKS	 10000000    /* after so many instructions, of which a look takes a 20th */
#define DEPTHS	 4	     /* of loops inside, for a first guess */
#define KEPT_MAX (64u << 20) /* bytes of numbers that parts keep for one sum */

struct plan {
	uint32_t range;
	unsigned narray; /* words */
	uint32_t refused;
	uint64_t passed;
	uint32_t count[DEPTHS];	 /* instructions in so many loops inside */
	struct lang_nest nest;	 /* of the last look */
	int64_t *array;		 /* what they were */
	struct lang_known known; /* of other values */
};

struct lang_plans {
	atomic_flag busy;
	unsigned n;
	struct lang_loops *loops; /* NULL: not asked for yet */
	struct plan plan[PLANS];
};

struct lang_plans *lang_plans_new(void)
{
	return calloc(1, sizeof(struct lang_plans));
}

void lang_plans_free(struct lang_plans *plans)
{
	for (unsigned k = 0; plans && k < plans->n; k++) {
		free(plans->plan[k].array);
		lang_answers_forget(&plans->plan[k].known.answers);
	}
	if (plans)
		lang_loops_free(plans->loops);
	free(plans);
}

/* ---- Plans ---- */

static bool as_planned(const struct plan *plan, const struct run *r, const int64_t *array)
{
	return plan->array && memcmp(plan->array, array, plan->narray * sizeof *array) == 0 &&
	       lang_nest_again(&plan->nest, r->reg);
}

static void count(struct plan *plan, const struct lang_program *p)
{
	uint32_t end = lang_nest_end(p, plan->range);
	unsigned depth = 0;

	for (uint32_t at = plan->range + 1; at < end; at++) {
		depth += p->code[at].code == CODE_RANGE;
		depth -= p->code[at].code == CODE_LOOP && p->code[p->code[at].d].code == CODE_NEXT;
		plan->count[depth < DEPTHS ? depth : DEPTHS - 1]++;
	}
}

static struct plan *plan_of(struct lang_plans *plans, const struct lang_program *p, uint32_t range)
{
	for (unsigned k = 0; k < plans->n; k++)
		if (plans->plan[k].range == range)
			return &plans->plan[k];
	if (plans->n == PLANS)
		return NULL;
	plans->plan[plans->n] = (struct plan){.range = range};
	count(&plans->plan[plans->n], p);
	return &plans->plan[plans->n++];
}

static int64_t largest(const struct run *r)
{
	int64_t most = 1;

	for (unsigned a = 0; a < r->program->narray; a++)
		for (int k = 0; k < (int)r->array[a].shape.ndim; k++)
			most = r->array[a].shape.dim[k] > most ? r->array[a].shape.dim[k] : most;
	return most;
}

/* Is it too little in any case?  Loops over arrays have no more turns than those elements. */
static bool is_small(const struct plan *plan, const struct run *r, uint64_t least)
{
	const struct lang_ins *range = &r->program->code[plan->range];
	double turns = (double)r->reg[range->b].i - (double)r->reg[range->a].i;
	double many = turns < 0 ? -turns : turns, work = 0;

	if (!r->program->narray)
		return false;
	for (unsigned d = 0; d < DEPTHS; d++, many *= (double)largest(r))
		work += plan->count[d] * many;
	return work < (double)least;
}

/* A loop that was refused again and again, each time with other values, is looked at again when the
 * work that was passed over meanwhile, as far as the last look can tell, is many looks' worth. */
static bool hopeless(struct plan *plan)
{
	if (plan->refused < REFUSALS)
		return false;
	plan->passed += plan->nest.work + 1;
	if (plan->passed < LOOKS)
		return true;
	plan->passed = 0;
	return false;
}

static void remember(struct plan *plan, const struct run *r, const int64_t *array,
		     const struct lang_nest *nest, uint64_t least)
{
	plan->narray = lang_flat_words(r->program);
	if (!plan->array)
		plan->array = malloc((plan->narray + 1) * sizeof *array);
	if (plan->array)
		memcpy(plan->array, array, plan->narray * sizeof *array);
	plan->nest = *nest;
	lang_known_keep(&plan->known, r, array, nest);
	plan->refused = nest->why || nest->work < least ? plan->refused + 1 : 0;
}

/* From looks before. */
static bool known(struct lang_nest *nest, struct plan *plan, const struct run *r,
		  const int64_t *array, bool whole)
{
	if (as_planned(plan, r, array)) {
		*nest = plan->nest;
		return true;
	}
	/* A claim that does not hold is told of in full. */
	if (!lang_known_find(nest, &plan->known, r, array) || (whole && nest->why))
		return false;
	plan->refused = nest->why ? plan->refused : 0;
	return true;
}

/* What is known of the loop, with the values of now; whole: what is in the way, too.  false:
 * nothing. */
static bool look_at(struct lang_nest *nest, const struct run *r, const int64_t *array,
		    uint32_t range, uint64_t least, bool whole)
{
	struct lang_plans *plans = r->kernel->plans;
	bool mine = plans && !atomic_flag_test_and_set_explicit(&plans->busy, memory_order_acquire);
	struct plan *plan = mine ? plan_of(plans, r->program, range) : NULL;
	bool fine = true;

	if (plan && known(nest, plan, r, array, whole)) {
		fine = true;
	} else if (plan && least && (is_small(plan, r, least) || hopeless(plan))) {
		fine = false;
	} else {
		if (mine && !plans->loops)
			plans->loops = lang_loops_of(r->program);
		fine = lang_nest_of(nest, r->program, mine ? plans->loops : NULL, range, r->reg,
				    r->array);
		if (fine && plan)
			remember(plan, r, array, nest, least);
	}
	if (mine)
		atomic_flag_clear_explicit(&plans->busy, memory_order_release);
	return fine;
}

const struct step *lang_step_claim(struct run *r, const struct step *s)
{
	int64_t array[LANG_PARAMS * (1 + 2 * LIMIT_NDIM)];
	uint64_t before = r->reg[s->d].bits[0]++;
	struct lang_nest nest;
	char why[256];

	if (before & (before - 1))
		return s + 1;
	lang_flatten(array, r);
	/* What is not refuted runs in order, unless it is proven. */
	if (!look_at(&nest, r, array, s->a, 0, true) || nest.why != NEST_DEPENDS || !nest.certain)
		return s + 1;
	lang_nest_say(why, sizeof why, r->program, &nest);
	r->status =
		err_set(r->err, E_INVALID, "kernel '%s', line %u: the loop is not %s: %s",
			r->program->name, s->line, s->op == CLAIM_SIMD ? "simd" : "parallel", why);
	return NULL;
}

/* ---- Parts ---- */

struct job {
	struct run *run;
	const struct lang_frame_of *frame;
	const struct lang_nest *nest;
	uint32_t range;
	unsigned parts;
	union lang_reg *reg; /* of each part */
	/* Of each claimed sum what parts leave: the values of all turns, or, where parts are whole
	 * blocks, one for each block. */
	char *left[LANG_SUMS];
	bool blocks;
	/* Of each sum whose order has bits the numbers of all parts, and where each part's lie. */
	char *kept[LANG_SUMS];
	struct lang_block *block; /* [part][sum] */
	_Atomic int stop;
	/* Of the parts that failed (of a claim inside, or for want of memory) the one that comes
	 * first in the order of the turns, whose error one thread would have met; none: `parts`.
	 * Those behind it are not needed any more. */
	_Atomic unsigned failed;
	atomic_flag telling;
	struct err err;
};

struct look {
	struct job *job;
	unsigned part;
	bool here;
};

/* Is nothing of the part wanted any more? */
static bool is_over(const struct job *j, unsigned part)
{
	return atomic_load_explicit(&j->stop, memory_order_relaxed) ||
	       atomic_load_explicit(&j->failed, memory_order_relaxed) < part;
}

static int look(void *data)
{
	const struct look *l = data;
	struct run *r = l->job->run;

	if (l->here && r->poll && r->poll(r->data))
		atomic_store_explicit(&l->job->stop, 1, memory_order_relaxed);
	return is_over(l->job, l->part);
}

static void idle(void *data)
{
	struct look l = {data, 0, true};

	look(&l);
}

static void fail(struct job *j, unsigned part, const struct err *err)
{
	while (atomic_flag_test_and_set_explicit(&j->telling, memory_order_acquire))
		;
	if (part < j->failed) {
		j->err = *err;
		j->failed = part;
	}
	atomic_flag_clear_explicit(&j->telling, memory_order_release);
}

/* Where parts are whole blocks, they begin where blocks do. */
static uint64_t first_turn(const struct job *j, unsigned part)
{
	uint64_t first = (uint64_t)((unsigned __int128)j->nest->turns * part / j->parts);

	return j->blocks && part < j->parts ? first / LANG_BLOCK * LANG_BLOCK : first;
}

/* Claims inside are looked at in the turns in which one thread looks at them, so that no error
 * depends on how many there are: each turn comes to each of them (lang_claims_counted), but for
 * those that nobody looks at. */
static void set_claims(const struct job *j, union lang_reg *reg, uint64_t turns)
{
	for (uint32_t k = j->range + 1; k < j->nest->end; k++) {
		const struct lang_ins *i = &j->run->program->code[k];

		if (i->code == CODE_CLAIM)
			reg[i->d].bits[0] += turns;
	}
}

static void set_part(struct job *j, unsigned part)
{
	const struct lang_nest *n = j->nest;
	const struct lang_ins *range = &j->run->program->code[j->range];
	union lang_reg *reg = j->reg + (size_t)part * j->run->program->nreg;
	const union lang_reg *now = j->run->reg;
	uint64_t from = first_turn(j, part), to = first_turn(j, part + 1);

	memcpy(reg, now, j->run->program->nreg * sizeof *reg);
	reg[range->d + 1].bits[0] = now[range->a].bits[0] + now[range->c].bits[0] * from;
	reg[range->d + 2].bits[0] = to - from;
	reg[range->d + 3] = now[range->c];
	for (unsigned k = 0; k < n->nsum; k++)
		reg[n->sum[k].reg].bits[0] = lang_added_nothing(&n->sum[k].by);
	set_claims(j, reg, from);
}

/* ---- Claimed sums ---- */

static const struct step *addend(const struct job *j, unsigned k)
{
	return &j->run->kernel->step[j->nest->claimed[k]];
}

/* Room for what parts leave; false: no memory. */
static bool claims(struct job *j)
{
	uint64_t turns = j->nest->turns, blocks = turns / LANG_BLOCK + 1, bytes;
	bool over = false;

	j->blocks = turns / LANG_BLOCK >= j->parts;
	for (unsigned k = 0; k < j->nest->nclaimed; k++) {
		if (j->blocks)
			over |= __builtin_mul_overflow(blocks, sizeof(struct bz_acc), &bytes);
		else
			bytes = (turns + TIER0_LANES) * addend(j, k)->bytes;
		j->left[k] = over ? NULL : calloc(1, bytes);
		if (!j->left[k])
			return false;
	}
	return true;
}

/* The part's own sums leave what they have where it belongs. */
static bool claims_begin(struct job *j, struct run *own, unsigned part)
{
	uint64_t first = first_turn(j, part);

	for (unsigned k = 0; k < j->nest->nclaimed; k++) {
		const struct step *s = addend(j, k);
		struct lang_total *t = lang_total_open(own, s->c);

		if (!t) {
			own->status = err_set(own->err, E_NOMEM, "no memory to run a kernel");
			return false;
		}
		s->red->init(t->state);
		if (j->blocks) {
			t->folded = (struct bz_acc *)j->left[k] + first / LANG_BLOCK;
		} else {
			t->kept = j->left[k] + first * s->bytes;
			own->totals->block[s->c].at = t->kept;
		}
	}
	return true;
}

static void claims_end(struct job *j, struct run *own)
{
	for (unsigned k = 0; k < j->nest->nclaimed; k++)
		lang_total_fold(own, addend(j, k)->c, addend(j, k)->red, addend(j, k)->bytes);
}

static void claims_gather(struct job *j)
{
	int64_t turns = (int64_t)j->nest->turns;

	for (unsigned k = 0; k < j->nest->nclaimed; k++) {
		const struct step *s = addend(j, k);
		struct lang_total *t = j->run->totals->total[s->c];

		if (j->blocks)
			lang_total_join(t, s->red, (const struct bz_acc *)j->left[k], turns);
		else
			lang_total_add(t, s->red, j->left[k], turns, s->bytes);
	}
}

/* ---- Sums ---- */

/* Room for the numbers of those whose order has bits; false: no memory, or too much. */
static bool keeps(struct job *j)
{
	const struct lang_nest *n = j->nest;

	j->block = calloc((size_t)j->parts * (n->nsum + 1), sizeof *j->block);
	for (unsigned k = 0; j->block && k < n->nsum; k++) {
		const struct lang_sum_of *s = &n->sum[k];
		uint64_t each = (uint64_t)s->many * dtype_row(s->by.type)->bytes;

		if (!s->by.ordered)
			continue;
		j->kept[k] = n->turns > KEPT_MAX / each ? NULL : malloc(n->turns * each);
		if (!j->kept[k])
			return false;
		for (unsigned part = 0; part < j->parts; part++)
			j->block[part * n->nsum + k].at = j->kept[k] + first_turn(j, part) * each;
	}
	return j->block != NULL;
}

static uint64_t added_up(const struct job *j, unsigned k)
{
	const struct lang_sum_of *s = &j->nest->sum[k];
	const union lang_reg *reg = j->reg;
	uint64_t sum = j->run->reg[s->reg].bits[0];

	for (unsigned part = 0; part < j->parts; part++) {
		const struct lang_block *b = &j->block[part * j->nest->nsum + k];

		sum = s->by.ordered ? lang_added_in_order(&s->by, sum, b->at, b->n)
				    : lang_added_together(&s->by, sum, reg[s->reg].bits[0]);
		reg += j->run->program->nreg;
	}
	return sum;
}

/* ---- One part ---- */

static void do_part(void *data, unsigned part, bool here)
{
	struct job *j = data;
	struct look l = {j, part, here};
	struct err err = {0};
	struct run own = {.kernel = j->run->kernel,
			  .reg = j->reg + (size_t)part * j->run->program->nreg,
			  .array = j->run->array,
			  .program = j->run->program,
			  .turns = LANG_TURNS,
			  .poll = look,
			  .data = &l,
			  .err = &err};
	struct lang_frame_of x;
	bool ended;

	if (is_over(j, part))
		return;
	set_part(j, part);
	ended = !claims_begin(j, &own, part);
	if (!ended) {
		lang_frame_set(&x, &own, j->frame->f.array, j->frame->code);
		x.f.at = j->range + 1;
		x.f.left = j->block + (size_t)part * j->nest->nsum;
		ended = j->frame->code(&x.f) != 0;
		claims_end(j, &own);
	}
	if (own.status)
		fail(j, part, &err);
	else if (ended && !is_over(j, part))
		atomic_store_explicit(&j->stop, 1, memory_order_relaxed);
	lang_view_end(&own);
}

/* The registers are as behind the loop. */
static void gather(struct job *j)
{
	struct run *r = j->run;
	uint32_t nreg = r->program->nreg;
	uint64_t sum[LANG_SUMS];

	for (unsigned k = 0; k < j->nest->nsum; k++)
		sum[k] = added_up(j, k);
	memcpy(r->reg, j->reg + (size_t)(j->parts - 1) * nreg, nreg * sizeof *r->reg);
	for (unsigned k = 0; k < j->nest->nsum; k++)
		r->reg[j->nest->sum[k].reg].bits[0] = sum[k];
	claims_gather(j);
}

/* What the job needs memory for; false: there is none, and it is not shared. */
static bool prepare(struct job *j)
{
	j->reg = malloc((size_t)j->parts * j->run->program->nreg * sizeof *j->reg);
	return j->reg && claims(j) && keeps(j);
}

static void finish(struct job *j)
{
	for (unsigned k = 0; k < j->nest->nclaimed; k++)
		free(j->left[k]);
	for (unsigned k = 0; k < j->nest->nsum; k++)
		free(j->kept[k]);
	free(j->block);
	free(j->reg);
}

static int share(struct lang_frame *f, uint32_t at)
{
	const struct lang_frame_of *x = (const struct lang_frame_of *)f;
	const struct lang_team *team = x->run->kernel->team;
	uint64_t least, now;
	unsigned threads = team->threads(&least, &now);
	struct lang_nest nest;
	struct job j = {
		.run = x->run, .frame = x, .nest = &nest, .range = at, .telling = ATOMIC_FLAG_INIT};
	bool done;

	if (!look_at(&nest, x->run, f->array, at, now, false) || nest.why || nest.work < now ||
	    nest.turns < 2)
		return 0;
	j.parts = nest.turns < (uint64_t)PARTS * threads ? (unsigned)nest.turns : PARTS * threads;
	j.failed = j.parts;
	if (!prepare(&j)) {
		finish(&j);
		return 0;
	}
	team->run(do_part, &j, j.parts, idle);
	done = !j.stop && j.failed == j.parts;
	if (done)
		gather(&j);
	else if (j.failed < j.parts)
		x->run->status = err_set(x->run->err, j.err.code, "%s", j.err.text);
	else
		lang_stopped(x->run, x->run->program->code[at].line);
	finish(&j);
	return done ? 2 : 1;
}

void lang_share_begin(struct lang_frame_of *x)
{
	uint64_t now;

	if (x->run->kernel->team->threads(&x->f.least, &now) > 1)
		x->f.share = share;
}
