/* SPDX-License-Identifier: Apache-2.0 */
/* worker/cuda_step.c - steps of nests: operands resolved, launches made.
 *
 * cuda_launch.c decides what is launched; here it gets addresses and memory for
 * partial accumulators, which live until the step ends, or from a split step's first
 * slice to its last.  Launches of steps that follow each other are gathered into a
 * volley, so that one that comes again can be replayed as a graph. */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "cuda_worker.h"

static enum status resolve(uint64_t *base, const struct cuda_run *run, const struct command_step *s,
			   const struct nest *spec, struct err *err)
{
	const struct command_place *place = steps_operands(s).place;

	for (uint32_t a = 0; a < spec->naccess; a++) {
		struct cuda_spot spot = {0};
		int64_t lo = 0, hi = 0;
		enum status st =
			steps_reach(&lo, &hi, s, a, dtype_row(spec->access[a].dtype)->bytes, err);

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

static enum status gather(struct cuda_run *run, uint32_t i, const char *block, size_t bytes,
			  const struct cuda_launches *l, uint64_t part, struct err *err)
{
	struct cuda_lane *lane = run->lane;
	struct cuda_volley *v = &lane->volley;
	struct cuda_kernel *k = run->kernel[i];

	for (unsigned x = 0; x < l->n; x++) {
		struct cuda_launch item = l->item[x];
		struct cuda_shot *shot = &v->shot[v->n];
		char *to = block_of(v);
		enum status st = OK;

		*shot = (struct cuda_shot){
			.kernel = k, .step = i, .at = (uint32_t)v->used, .bytes = (uint32_t)bytes};
		lane->patient = true; /* it may still be loading */
		st = cuda_code_entry(&shot->function, k, item.entry, err);
		lane->patient = false;
		if (st != OK)
			return st;
		cuda_tune_shape(run, i, l, x, block, bytes, shot->function, &item);
		shot->grid = item.grid;
		shot->threads = item.threads;
		memcpy(to, block, bytes);
		cuda_launch_set(to, l, &item, lane->slot[run->slot].cancel, part, 0);
		v->used += (bytes + 15) / 16 * 16;
		v->n++;
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
	return OK;
}

enum status cuda_step_aim(struct cuda_run *run, uint32_t i, struct err *err)
{
	const struct command_step *s = run->step[i];
	const struct steps_operands o = steps_operands(s);
	struct cuda_volley *v = &run->lane->volley;
	_Alignas(16) char block[CUDA_ARGS_BYTES];
	uint64_t base[LIMIT_NEST_ACCESSES];
	struct cuda_launches launches = {0};
	struct cuda_part *part = NULL;
	struct steps_slice cut = {0};
	struct cuda_step step = {0};
	size_t bytes = 0;
	enum status st = check(run, i, err);

	if (st != OK || (st = steps_slice(&cut, s, err)) != OK ||
	    (st = resolve(base, run, s, run->kernel[i]->spec, err)) != OK)
		return st;
	step = (struct cuda_step){.spec = run->kernel[i]->spec,
				  .extent = o.extent,
				  .stride = o.stride,
				  .base = base,
				  .scalar = o.scalar,
				  .lo = s->lo,
				  .hi = s->hi,
				  .split = s->split};
	bytes = cuda_launch_args(block, &step);
	st = cuda_launch_plan(&launches, &step, run->lane->c->units, err);
	if (st == OK)
		st = part_of(&part, run, s, launches.part_bytes, err);
	if (part && (s->split == 0 || s->split & 2))
		v->spent[v->nspent++] = part;
	if (st == OK)
		st = gather(run, i, block, bytes, &launches, part ? part->addr : 0, err);
	return st;
}

static enum status launch(struct cuda_run *run, const struct cuda_shot *shot, struct err *err)
{
	struct cuda_lane *l = run->lane;
	void *params[] = {l->volley.blocks + shot->at};

	return cuda_context_check(l->c,
				  l->c->api.cuLaunchKernel(shot->function, shot->grid, 1, 1,
							   shot->threads, 1, 1, 0, l->stream,
							   params, NULL),
				  err, "launching kernel %u", shot->kernel->id);
}

void cuda_step_clear(struct cuda_lane *l)
{
	struct cuda_volley *v = &l->volley;

	for (uint32_t i = 0; i < v->nspent; i++)
		part_unlink(l, v->spent[i]);
	v->n = v->nspent = 0;
	v->used = 0;
}

enum status cuda_step_fire(struct cuda_run *run, struct err *err)
{
	struct cuda_volley *v = &run->lane->volley;
	bool done = false;
	enum status st = cuda_graph_fire(run, &done, err);

	for (uint32_t i = 0; i < v->n && st == OK && !done; i++) {
		if (i == 0 || v->shot[i].step != v->shot[i - 1].step) {
			if (run->cancelled)
				break;
			st = cuda_issue_mark(run, v->shot[i].step, err);
		}
		if (st == OK)
			st = launch(run, &v->shot[i], err);
	}
	cuda_step_clear(run->lane);
	return st;
}
