/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_step.c - steps of nests: operands resolved, launches made.
 *
 * cuda_launch.c decides what is launched; here it gets addresses and memory for
 * partial accumulators, which live until the step ends, or from a split step's first
 * slice to its last.  Launches of steps that follow each other are gathered into a
 * volley, so that one that comes again can be replayed as a graph, and steps that do not
 * depend on each other can be launched side by side (cuda_order.h says which). */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "cuda_worker.h"

/* Addresses of the accesses' points [0,...,0], and the bytes around them that they touch. */
static enum status resolve(uint64_t *base, struct cuda_order_range *range,
			   const struct cuda_run *run, const struct command_step *s,
			   const struct nest *spec, struct err *err)
{
	const struct command_place *place = steps_operands(s).place;

	for (uint32_t a = 0; a < spec->naccess; a++) {
		struct cuda_spot spot = {0};
		int64_t lo = 0, hi = 0;
		enum status st = steps_reach(&lo, &hi, s, spec, a, err);

		if (st == OK)
			st = cuda_region_resolve(&spot, run, &place[a], lo, hi, err);
		if (st != OK)
			return st;
		if (spot.host)
			return err_set(err, E_INTERNAL,
				       "access %u of step %u lies in region %u, which is not the "
				       "device's",
				       a, s->index, place[a].region);
		base[a] = spot.addr;
		range[a] = (struct cuda_order_range){.lo = spot.addr + (uint64_t)lo,
						     .hi = spot.addr + (uint64_t)hi,
						     .write = spec->access[a].write};
	}
	return OK;
}

static void part_unlink(struct cuda_lane *l, struct cuda_part *part)
{
	struct cuda_part **at = &l->parts;

	while (*at != part)
		at = &(*at)->next;
	*at = part->next;
	pthread_mutex_lock(&l->lock);
	l->nparts--;
	pthread_mutex_unlock(&l->lock);
	cuda_memory_give(l, part->addr, part->bytes);
	free(part);
}

static enum status part_link(struct cuda_part **out, struct cuda_run *run, uint32_t step,
			     uint64_t bytes, struct err *err)
{
	struct cuda_lane *l = run->lane;
	CUdeviceptr addr = 0;
	uint64_t free_bytes = 0;
	enum status st = cuda_memory_take(l, &addr, bytes, &free_bytes, err);

	if (st != OK)
		return err_context(err, "partial results of step %u", step);
	*out = xcalloc(1, sizeof **out);
	**out = (struct cuda_part){.next = l->parts,
				   .job = TICKET_JOB(run->ticket),
				   .bytes = bytes,
				   .step = step,
				   .addr = addr};
	l->parts = *out;
	pthread_mutex_lock(&l->lock);
	l->nparts++;
	pthread_mutex_unlock(&l->lock);
	return OK;
}

static struct cuda_part *part_find(const struct cuda_run *run, uint32_t step)
{
	struct cuda_part *p = run->lane->parts;

	while (p && (!p->kept || p->job != TICKET_JOB(run->ticket) || p->step != step))
		p = p->next;
	return p;
}

/* The accumulators that this slice works on. */
static enum status part_of(struct cuda_part **out, struct cuda_run *run,
			   const struct command_step *s, uint64_t bytes, struct err *err)
{
	struct cuda_part *p = part_find(run, s->index);
	bool first = s->split == 0 || s->split & 1;
	enum status st = OK;

	*out = NULL;
	if (s->split & 1 && p) {
		/* What was gathered may still use it. */
		st = cuda_step_fire(run, err);
		p = part_find(run, s->index);
		if (p)
			part_unlink(run->lane, p);
		if (st != OK)
			return st;
	}
	if (first && bytes)
		st = part_link(&p, run, s->index, bytes, err);
	else if (first)
		p = NULL;
	else if (!p || p->bytes != bytes)
		return err_set(err, E_INTERNAL, "a slice of step %u came without its first",
			       s->index);
	if (st != OK)
		return st;
	if (p)
		p->kept = s->split != 0;
	*out = p;
	return OK;
}

/* Room for one more launch's parameter. */
static char *block_of(struct cuda_volley *v)
{
	if (v->cap - v->used < CUDA_ARGS_BYTES) {
		v->cap = v->cap * 2 + 4 * CUDA_ARGS_BYTES;
		v->blocks = xrealloc(v->blocks, v->cap, 1);
	}
	return v->blocks + v->used;
}

/* Behind the launches that are there; `aim` is the number of its step. */
static void add_shot(struct cuda_run *run, uint32_t i, const struct cuda_shot_facts *f)
{
	struct cuda_lane *l = run->lane;
	struct cuda_volley *v = &l->volley;
	char *to = block_of(v);

	v->shot[v->n++] = (struct cuda_shot){.function = f->function,
					     .kernel = run->kernel[i],
					     .grid = f->grid,
					     .threads = f->threads,
					     .step = i,
					     .aim = v->order.n - 1,
					     .at = (uint32_t)v->used,
					     .bytes = (uint32_t)f->bytes};
	memcpy(to, f->block, f->bytes);
	v->used += (f->bytes + 15) / 16 * 16;
}

void cuda_step_shoot(struct cuda_run *run, uint32_t i, const struct cuda_shot_facts *f)
{
	cuda_order_add(&run->lane->volley.order, f->range, f->nrange, f->grid, f->turns);
	add_shot(run, i, f);
}

/* Words of the run's errors for a step's checks; 0: it has none. */
static uint64_t errors_of(struct cuda_run *run, uint32_t i)
{
	uint32_t n = run->kernel[i]->checks, first = run->nword;

	for (uint32_t c = 0; c < n; c++)
		run->word[run->nword++] =
			(struct command_fault){.step = run->step[i]->index, .check = (uint16_t)c};
	return n ? run->lane->slot[run->slot].error + first * sizeof(uint64_t) : 0;
}

void cuda_step_follow(struct cuda_run *run, uint32_t i, const struct cuda_shot_facts *f)
{
	add_shot(run, i, f);
}

enum status cuda_step_part(uint64_t *out, struct cuda_run *run, uint32_t i, uint64_t bytes,
			   struct err *err)
{
	struct cuda_volley *v = &run->lane->volley;
	struct cuda_part *part = NULL;
	enum status st = part_link(&part, run, run->step[i]->index, bytes, err);

	if (st != OK)
		return st;
	v->spent[v->nspent++] = part;
	*out = part->addr;
	return OK;
}

uint32_t cuda_step_words(const struct cuda_run *run, uint32_t i)
{
	if (run->step[i]->kind == STEP_CALL)
		return cuda_call_checks(run->step[i]);
	return run->kernel[i] ? run->kernel[i]->checks : 0;
}

enum status cuda_step_word(uint64_t *out, struct cuda_run *run, uint32_t i, struct err *err)
{
	uint32_t n = 0;

	/* Any of them fails the run, which says what was found, not by which. */
	while (n < run->nword && run->word[n].check != CUDA_CALL_CHECK)
		n++;
	if (n == CUDA_ERROR_WORDS)
		return err_set(err, E_INTERNAL, "a run with more than %d checks",
			       LIMIT_PARTITION_CHECKS);
	*out = run->lane->slot[run->slot].error + n * sizeof(uint64_t);
	if (n == run->nword)
		run->word[run->nword++] = (struct command_fault){.step = run->step[i]->index,
								 .check = CUDA_CALL_CHECK};
	return OK;
}

enum status cuda_step_entry(CUfunction *out, struct cuda_run *run, uint32_t i,
			    enum cuda_entry entry, struct err *err)
{
	enum status st = OK;

	run->lane->patient = true; /* it may still be loading */
	st = cuda_code_entry(out, run->kernel[i], entry, err);
	run->lane->patient = false;
	return st;
}

/* A nest's step as it is aimed. */
struct aim {
	struct cuda_step step;
	struct cuda_launches launches;
	uint64_t part; /* where its accumulators lie */
	uint64_t elements;
	uint64_t base[LIMIT_NEST_ACCESSES];
	struct cuda_order_range range[LIMIT_NEST_ACCESSES + 1];
	size_t bytes;
	_Alignas(16) char block[CUDA_ARGS_BYTES];
};

static enum status collect(struct cuda_run *run, uint32_t i, struct aim *a, struct err *err)
{
	struct cuda_lane *lane = run->lane;
	struct cuda_shot_facts f = {.block = a->block,
				    .bytes = a->bytes,
				    .range = a->range,
				    .nrange = a->step.spec->naccess};
	uint64_t errors = errors_of(run, i);

	if (a->part)
		a->range[f.nrange++] =
			(struct cuda_order_range){a->part, a->part + a->launches.part_bytes, true};
	for (unsigned x = 0; x < a->launches.n; x++) {
		struct cuda_launch item = a->launches.item[x];
		enum status st = OK;

		st = cuda_step_entry(&f.function, run, i, item.entry, err);
		if (st != OK)
			return st;
		cuda_tune_shape(run, i, &a->launches, x, a->block, a->bytes, &item);
		cuda_launch_set(a->block, &a->launches, &item, lane->slot[run->slot].cancel,
				a->part, errors);
		f.grid = item.grid;
		f.threads = item.threads;
		f.turns = a->elements / ((uint64_t)item.grid * item.threads);
		if (x == 0)
			cuda_step_shoot(run, i, &f);
		else
			add_shot(run, i, &f);
	}
	return OK;
}

static enum status check(const struct cuda_run *run, uint32_t i, struct err *err)
{
	const struct command_step *s = run->step[i];
	const struct cuda_kernel *k = run->kernel[i];

	if (!k || !k->spec)
		return err_set(err, E_INTERNAL, "step %u names kernel %u, which is not known",
			       s->index, s->kernel);
	if (!steps_fit(s, k->spec))
		return err_set(err, E_INTERNAL, "step %u does not fit kernel %u", s->index,
			       s->kernel);
	if (k->checks > CUDA_ERROR_WORDS - run->nword)
		return err_set(err, E_INTERNAL, "a run with more than %d checks",
			       LIMIT_PARTITION_CHECKS);
	return OK;
}

enum status cuda_step_aim(struct cuda_run *run, uint32_t i, struct err *err)
{
	const struct command_step *s = run->step[i];
	const struct steps_operands o = steps_operands(s);
	struct cuda_volley *v = &run->lane->volley;
	struct cuda_part *part = NULL;
	struct steps_slice cut = {0};
	struct aim a;
	enum status st = check(run, i, err);

	if (st != OK || (st = steps_slice(&cut, s, err)) != OK ||
	    (st = resolve(a.base, a.range, run, s, run->kernel[i]->spec, err)) != OK)
		return st;
	a.step = (struct cuda_step){.spec = run->kernel[i]->spec,
				    .extent = o.extent,
				    .stride = o.stride,
				    .base = a.base,
				    .scalar = o.scalar,
				    .gather = o.gather,
				    .lo = s->lo,
				    .hi = s->hi,
				    .split = s->split};
	a.elements = (uint64_t)cut.elements;
	a.bytes = cuda_launch_args(a.block, &a.step);
	st = cuda_launch_plan(&a.launches, &a.step, run->lane->c->units, err);
	if (st == OK)
		st = part_of(&part, run, s, a.launches.part_bytes, err);
	if (part && (s->split == 0 || s->split & 2))
		v->spent[v->nspent++] = part;
	a.part = part ? part->addr : 0;
	if (st == OK)
		st = collect(run, i, &a, err);
	return st;
}

static enum status launch(struct cuda_run *run, const struct cuda_shot *shot, CUstream stream,
			  struct err *err)
{
	struct cuda_lane *l = run->lane;
	void *params[] = {l->volley.blocks + shot->at};

	return cuda_context_check(l->c,
				  l->c->api.cuLaunchKernel(shot->function, shot->grid, 1, 1,
							   shot->threads, 1, 1, 0, stream, params,
							   NULL),
				  err, "launching kernel %u", shot->kernel->id);
}

void cuda_step_clear(struct cuda_lane *l)
{
	struct cuda_volley *v = &l->volley;

	for (uint32_t i = 0; i < v->nspent; i++)
		part_unlink(l, v->spent[i]);
	v->n = v->nspent = 0;
	v->used = 0;
	cuda_order_clear(&v->order);
}

static bool begins(const struct cuda_volley *v, uint32_t i)
{
	return i == 0 || v->shot[i].step != v->shot[i - 1].step;
}

/* One after the other on the lane's stream, each with its mark. */
static enum status in_line(struct cuda_run *run, struct err *err)
{
	struct cuda_volley *v = &run->lane->volley;
	enum status st = OK;

	for (uint32_t i = 0; i < v->n && st == OK; i++) {
		if (begins(v, i)) {
			if (run->cancelled)
				break;
			st = cuda_issue_mark(run, v->shot[i].step, false, err);
		}
		if (st == OK)
			st = launch(run, &v->shot[i], run->lane->stream, err);
	}
	return st;
}

/* On so many streams. */
static enum status side_by_side(struct cuda_run *run, uint32_t streams, struct err *err)
{
	struct cuda_lane *l = run->lane;
	struct cuda_volley *v = &l->volley;
	enum status st = OK;

	run->told[v->shot[0].step].several = true;
	st = cuda_issue_mark(run, v->shot[0].step, false, err);
	if (st == OK)
		st = cuda_side_fork(l, streams, err);
	for (uint32_t i = 0; i < v->n && st == OK; i++) {
		const struct cuda_order_step *s = &v->order.step[v->shot[i].aim];

		if (begins(v, i)) {
			if (run->cancelled)
				break;
			st = cuda_side_follow(l, &v->order, v->shot[i].aim, err);
			if (s->stream)
				atomic_fetch_add(&l->c->page->beside_steps, 1);
		}
		if (st == OK)
			st = launch(run, &v->shot[i], l->side.stream[s->stream], err);
	}
	/* Also what was launched before a failure comes to its end before what follows. */
	cuda_side_join(l, streams);
	return st;
}

enum status cuda_step_fire(struct cuda_run *run, struct err *err)
{
	struct cuda_lane *l = run->lane;
	struct cuda_volley *v = &l->volley;
	uint32_t streams = 1;
	bool done = false;
	enum status st = cuda_issue_room(l, v->n, err);

	if (st == OK)
		st = cuda_graph_fire(run, &done, err);
	if (st == OK && !done && !run->alone && v->order.n > 1)
		streams =
			cuda_order_spread(&v->order, (uint64_t)l->c->units * CUDA_BLOCKS_PER_UNIT);
	if (st == OK && !done)
		st = streams > 1 && cuda_side_open(l, streams) ? side_by_side(run, streams, err)
							       : in_line(run, err);
	cuda_step_clear(l);
	return st;
}
