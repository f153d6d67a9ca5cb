/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker_grid.c - a loop of a kernel on the pool (call/grid.h), where no GPU does it.
 *
 * Threads take stretches of the outermost loop's turns.  That they need not wait for each other is
 * the client's word; where it is wrong its arrays have one thread's numbers or the other's, and no
 * byte outside of them is touched.  A loop may go on for ever: each of its threads looks now and
 * then whether it is to stop. */
#include "call/grid.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "lang/lang_grid_run.h"
#include "loops/isa.h"
#include "steps.h"
#include "worker.h"

#define KEPT	  8	/* linked loops */
#define SERIAL_NS 50000 /* a loop predicted below this is not worth waking threads */
#define PARTS	  8	/* for each thread */

struct worker_grids {
	uint64_t uses;
	struct {
		uint32_t number; /* which no other loop ever has; 0: free */
		uint64_t used;
		struct lang_grid_run *run;
	} kept[KEPT];
};

/* What the pool's threads see of the step. */
struct grid_step {
	const struct worker_call *x;
	const struct lang_grid_run *run;
	struct lang_array array[LIMIT_GRID_ARRAYS];
	union lang_reg scalar[LANG_LIVE];
	uint64_t turns;
	int64_t parts;
	_Atomic int64_t failed; /* the first part that did; parts: none has */
	atomic_flag telling;
	struct err *err; /* its */
};

void worker_grids_finish(struct worker *w)
{
	for (int k = 0; w->grids && k < KEPT; k++)
		lang_grid_unlink(w->grids->kept[k].run);
	free(w->grids);
	w->grids = NULL;
}

static enum status link_grid(struct lang_grid_run **out, const struct worker_call *x,
			     struct err *err)
{
	enum isa_level level = isa_best();
	struct lang_program *p = NULL;
	struct grid_words words;
	struct lang_grid g;
	enum status st = steps_grid(&words, x->cmd, &x->call, err);

	if (st == OK)
		st = grid_program(&p, &g, &words, err);
	return st == OK ? lang_grid_link(out, p, &g, tier0_table(level), tier0_wide_table(level),
					 err)
			: st;
}

/* The step's loop, linked now or before; the one that was not used for longest makes room. */
static enum status find_grid(struct lang_grid_run **out, const struct worker_call *x,
			     struct err *err)
{
	struct worker_grids *all = x->w->grids;
	enum status st = OK;
	int place = 0;

	if (!all)
		all = x->w->grids = xcalloc(1, sizeof *all);
	for (int k = 0; k < KEPT; k++) {
		if (all->kept[k].number == x->call.grid) {
			all->kept[k].used = ++all->uses;
			*out = all->kept[k].run;
			return OK;
		}
		if (all->kept[k].used < all->kept[place].used)
			place = k;
	}
	st = link_grid(out, x, err);
	if (st != OK)
		return st;
	lang_grid_unlink(all->kept[place].run);
	all->kept[place].number = x->call.grid;
	all->kept[place].used = ++all->uses;
	all->kept[place].run = *out;
	return OK;
}

/* Array number n of the kernel as an operand. */
static void put_array(struct lang_array *out, const struct worker_call *x, unsigned operand)
{
	const struct call_operand *o = &x->call.operand[operand];

	*out = (struct lang_array){.at = x->base[operand]};
	out->shape.ndim = (uint8_t)grid_axes(o);
	for (unsigned k = 0; k < out->shape.ndim; k++) {
		out->shape.dim[k] = x->call.extent[grid_loop(o, k)];
		out->stride[k] = o->stride[grid_loop(o, k)];
	}
}

/* The kernel's arrays and numbers, as the operands are. */
static enum status put_operands(struct grid_step *s, struct err *err)
{
	const struct lang_program *p = lang_grid_program(s->run);
	const struct lang_grid *g = lang_grid_linked(s->run);
	const struct plan_call *c = &s->x->call;
	bool fits = grid_arrays(c) == lang_grid_arrays(g) && c->nscalar == g->nlive;
	unsigned n = 0;

	for (unsigned k = 0; k < p->nparam && fits; k++) {
		unsigned operand = grid_operand(n, g->only);

		if (!p->param[k].rank)
			continue;
		put_array(&s->array[n++], s->x, operand);
		fits = c->operand[operand].dtype == p->param[k].type &&
		       grid_axes(&c->operand[operand]) == p->param[k].rank;
	}
	if (fits && g->sums) {
		put_array(&s->array[n], s->x, 0);
		fits = c->operand[0].dtype == g->sum.type && grid_axes(&c->operand[0]) == 1;
	}
	if (!fits)
		return err_set(err, E_INTERNAL, "step %u: loop %u has other operands",
			       s->x->cmd->index, c->grid);
	memcpy(s->scalar, steps_scalars(s->x->cmd), c->nscalar * sizeof *s->scalar);
	return OK;
}

/* A thread at its turns: who watches sees that it goes on. */
struct sign {
	struct worker *w;
	int thread;
};

static int look(void *data)
{
	const struct sign *s = data;

	if (s->thread)
		s->w->progress->thread[s->thread].turns++;
	else
		worker_poll(s->w);
	return bz_cancelled(&s->w->cancel);
}

/* The error of the first turns is the one that is told. */
static void tell(struct grid_step *s, int64_t part, const struct err *why)
{
	while (atomic_flag_test_and_set(&s->telling))
		;
	if (part < atomic_load(&s->failed)) {
		atomic_store(&s->failed, part);
		*s->err = *why;
	}
	atomic_flag_clear(&s->telling);
}

static void some_turns(void *data, int thread, int64_t part)
{
	struct grid_step *s = data;
	struct worker *w = s->x->w;
	struct sign sign = {w, thread};
	uint64_t each = s->turns / (uint64_t)s->parts, more = s->turns % (uint64_t)s->parts;
	uint64_t k = (uint64_t)part, lo = k * each + (k < more ? k : more);
	struct err why = {0};

	if (bz_cancelled(&w->cancel) || part > atomic_load(&s->failed))
		return;
	worker_unit_begin(w, s->x->cmd, thread);
	if (lang_grid_turns(s->run, s->array, s->scalar, lo, lo + each + (k < more), look, &sign,
			    &why))
		tell(s, part, &why);
	worker_unit_end(w, thread);
}

enum status worker_grid(const struct worker_call *x, struct err *err)
{
	struct grid_step s = {.x = x, .err = err, .telling = ATOMIC_FLAG_INIT};
	struct lang_grid_run *run = NULL;
	enum status st = find_grid(&run, x, err);

	s.run = run;
	if (st == OK)
		st = put_operands(&s, err);
	if (st == OK)
		st = lang_grid_count(&s.turns, run, s.array, s.scalar, err);
	if (st != OK || !s.turns)
		return st;
	s.parts = (int64_t)PARTS * pool_threads(x->w->pool);
	if ((uint64_t)s.parts > s.turns)
		s.parts = (int64_t)s.turns;
	if (call_row(CALL_GRID)->work_ns * (double)grid_work(&x->call) < SERIAL_NS)
		s.parts = 1;
	atomic_store(&s.failed, s.parts);
	pool_run(x->w->pool, some_turns, &s, s.parts, worker_poll, x->w);
	if (bz_cancelled(&x->w->cancel))
		return err_set(err, E_CANCELLED, "cancelled inside step %u", x->cmd->index);
	return atomic_load(&s.failed) < s.parts ? err->code : OK;
}
