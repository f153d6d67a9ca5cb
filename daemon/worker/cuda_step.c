/* SPDX-License-Identifier: Apache-2.0 */
/* worker/cuda_step.c - one step of a nest: its operands resolved, its launches made.
 *
 * cuda_launch.c decides what is launched; here it gets addresses and memory for
 * partial accumulators, which live until the step ends, or from a split step's first
 * slice to its last. */
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

/* The accumulators that this slice works on. */
static enum status part_of(struct cuda_part **out, struct cuda_run *run,
			   const struct command_step *s, uint64_t bytes, struct err *err)
{
	struct cuda_part *p = run->lane->parts;

	*out = NULL;
	while (p && (p->job != TICKET_JOB(run->ticket) || p->step != s->index))
		p = p->next;
	if (s->split == 0 || s->split & 1) {
		if (p)
			part_unlink(run->lane, p);
		return bytes ? part_link(out, run, s->index, bytes, err) : OK;
	}
	if (!p || p->bytes != bytes)
		return err_set(err, E_INTERNAL, "a slice of step %u came without its first",
			       s->index);
	*out = p;
	return OK;
}

static enum status launch_all(struct cuda_run *run, struct cuda_kernel *k, char *block,
			      const struct cuda_launches *l, uint64_t part, struct err *err)
{
	struct cuda_lane *lane = run->lane;
	struct cuda *c = lane->c;

	for (unsigned i = 0; i < l->n; i++) {
		const struct cuda_launch *item = &l->item[i];
		void *params[] = {block};
		CUfunction f = NULL;
		enum status st = OK;

		lane->patient = true; /* it may still be loading */
		st = cuda_code_entry(&f, k, item->entry, err);
		lane->patient = false;
		if (st != OK)
			return st;
		cuda_launch_set(block, l, item, lane->slot[run->slot].cancel, part, 0);
		st = cuda_context_check(c,
					c->api.cuLaunchKernel(f, item->grid, 1, 1, CUDA_THREADS, 1,
							      1, 0, lane->stream, params, NULL),
					err, "launching %s of kernel %u", item->entry, k->id);
		if (st != OK)
			return st;
	}
	return OK;
}

enum status cuda_step_kernel(struct cuda_run *run, uint32_t i, struct err *err)
{
	const struct command_step *s = run->step[i];
	struct cuda_kernel *k = run->kernel[i];
	const struct steps_operands o = steps_operands(s);
	_Alignas(16) char block[CUDA_ARGS_BYTES];
	uint64_t base[LIMIT_NEST_ACCESSES];
	struct cuda_launches launches = {0};
	struct cuda_part *part = NULL;
	struct steps_slice cut = {0};
	struct cuda_step step = {0};
	enum status st = OK;

	if (!k || !k->spec)
		return err_set(err, E_INTERNAL, "step %u names kernel %u, which is not known",
			       s->index, s->kernel);
	if (!steps_fit(s, k->spec))
		return err_set(err, E_INTERNAL, "step %u does not fit kernel %u", s->index,
			       s->kernel);
	if ((st = steps_slice(&cut, s, err)) != OK || (st = resolve(base, run, s, k->spec, err)))
		return st;
	step = (struct cuda_step){.spec = k->spec,
				  .extent = o.extent,
				  .stride = o.stride,
				  .base = base,
				  .scalar = o.scalar,
				  .lo = s->lo,
				  .hi = s->hi,
				  .split = s->split};
	cuda_launch_args(block, &step);
	st = cuda_launch_plan(&launches, &step, run->lane->c->units, err);
	if (st == OK)
		st = part_of(&part, run, s, launches.part_bytes, err);
	if (st == OK)
		st = launch_all(run, k, block, &launches, part ? part->addr : 0, err);
	if (part && (st != OK || s->split == 0 || s->split & 2))
		part_unlink(run->lane, part);
	return st;
}
