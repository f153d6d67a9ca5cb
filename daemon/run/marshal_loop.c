/* SPDX-License-Identifier: Apache-2.0 */
/* run/marshal_loop.c - several turns of a job as one step of a packet, which the worker turns by
 * itself: a turn then costs neither a packet nor its part of one.
 *
 * Only what is short is worth it: turns whose steps all fit one slice.  How many go at once follows
 * from what is predicted of a turn, later from what turns have taken; the first ones are few, as
 * are first slices (slice.c). */
#include <string.h>

#include "executor_impl.h"
#include "call/call.h"

#define FIRST_TURNS 8
#define MORE_TURNS  8  /* times as many as in the packet before */
#define CAUTION	    10 /* a turn that was not measured may take so much longer */
#define ROWS_MOST   8  /* places that come back after so few turns are sent once */

/* What one turn takes, and what it has. */
struct turn {
	double us;
	size_t bytes; /* of its steps, at most */
	uint32_t npatch, nscalar, ncheck;
};

static uint32_t step_places(const struct plan_step *s)
{
	return s->kind == STEP_KERNEL ? s->nest->naccess : call_operands(s->call);
}

static uint32_t step_scalars(const struct plan_step *s)
{
	return s->kind == STEP_KERNEL ? s->nest->nscalar : 0;
}

/* Can every step of a turn be sent whole, in one packet? */
static bool measure_turn(struct turn *t, const struct executor *x, struct executor_job *job)
{
	struct flight so_far = {.nstep = 1};
	bool whole = true;

	*t = (struct turn){0};
	turn_largest(job);
	for (uint32_t i = 0; i < job->plan->nstep && whole; i++) {
		const struct plan_step *s = turn_step(job, i);
		struct slice c = {0};

		job->step = i;
		so_far.cost_us = (uint64_t)t->us;
		whole = slice_choose(&c, x, job, &so_far) && c.last;
		t->us += (double)c.cost + 1;
		t->npatch += step_places(s);
		t->nscalar += step_scalars(s);
		t->ncheck += marshal_checks(s);
	}
	t->bytes = job->plan->nstep * STEP_BYTES_MAX;
	job->step = 0;
	return whole;
}

static uint32_t time_for(const struct executor *x, const struct executor_job *job,
			 const struct turn *t)
{
	double slice = schedule_shared(x) ? SHARED_SLICE_US : RUN_SLICE_US;
	uint64_t turn_ns = job->plan->turn_ns, left = job->turns - job->turn;
	double us = turn_ns ? (double)turn_ns * 1e-3 : t->us * CAUTION;
	uint64_t most = turn_ns	      ? left
			: job->looped ? (uint64_t)job->looped * MORE_TURNS
				      : FIRST_TURNS;

	/* Turns that are to come may be longer than those that were measured. */
	if (turn_ns && job->own && t->us > us)
		us = t->us;
	if (slice / us < (double)most)
		most = (uint64_t)(slice / us);
	if (t->ncheck && COMMAND_FAULTS / t->ncheck < most)
		most = COMMAND_FAULTS / t->ncheck;
	return slice_fresh_turns(x, job, (uint32_t)(most < left ? most : left));
}

/* After how many turns from this one on do rows of so many bytes begin anew?  turns: never. */
static uint32_t rows_of(const char *row, size_t bytes, uint32_t turns)
{
	for (uint32_t rows = 1; bytes && rows <= ROWS_MOST && rows < turns; rows++)
		if (!memcmp(row, row + rows * bytes, (turns - rows) * bytes))
			return rows;
	return bytes ? turns : 1;
}

static char *put(char *at, const void *data, size_t bytes)
{
	if (bytes)
		memcpy(at, data, bytes);
	return at + bytes;
}

static char *put_patches(char *at, const struct executor_job *job)
{
	const struct plan *plan = job->plan;

	for (uint32_t i = 0; i < plan->nstep; i++) {
		const struct plan_step *s = &plan->step[i];

		for (uint32_t a = 0; a < step_places(s); a++) {
			struct command_patch p = {0};

			if (s->kind == STEP_KERNEL) {
				p.slot = s->nest->access[a].slot;
				p.offset = s->nest->access[a].offset;
				p.move = s->nest->access[a].move;
			} else {
				p.slot = s->call->operand[a].slot;
				p.offset = s->call->operand[a].offset;
				p.move = s->call->operand[a].move;
			}
			p.offset += (int64_t)job->turn * p.move;
			at = put(at, &p, sizeof p);
		}
	}
	return at;
}

static char *put_scalars(char *at, const struct plan *plan, uint32_t nscalar)
{
	uint32_t zero = 0;

	for (uint32_t i = 0; i < plan->nstep; i++)
		for (uint32_t k = 0; k < step_scalars(&plan->step[i]); k++)
			at = put(at, &plan->step[i].nest->scalar[k], sizeof(uint32_t));
	return nscalar & 1 ? put(at, &zero, sizeof zero) : at;
}

/* Sizes of the turns, and which loops have them. */
static char *put_sizes(char *at, const struct executor_job *job, uint32_t turns)
{
	const struct plan *plan = job->plan;

	at = put(at, job->size + (size_t)job->turn * plan->nsize,
		 (size_t)turns * plan->nsize * sizeof *job->size);
	for (uint32_t i = 0; plan->nsize && i < plan->nstep; i++)
		at = put(at, plan->step[i].size, sizeof plan->step[i].size);
	return at;
}

/* Elements of step i in all of the turns that are to begin. */
static uint64_t elements_of(struct executor_job *job, uint32_t i, uint32_t turns)
{
	uint64_t sum = 0;

	if (!job->own)
		return turns * slice_elements(&job->plan->step[i]);
	for (uint32_t t = job->turn; t < job->turn + turns; t++) {
		turn_steps(job, t);
		sum += slice_elements(turn_step(job, i));
	}
	turn_largest(job);
	return sum;
}

/* The steps as they are in the turn that is to begin. */
static char *put_steps(char *at, struct executor *x, struct executor_job *job, struct flight *f,
		       uint32_t turns)
{
	struct flight so_far = {.nstep = 1};

	for (uint32_t i = 0; i < job->plan->nstep; i++) {
		const struct plan_step *s = turn_step(job, i);
		struct kernel *k = step_kernel(x, s);
		struct slice c = {0};

		job->step = i;
		slice_choose(&c, x, job, &so_far);
		so_far.cost_us += c.cost + 1;
		if (k) {
			cache_note_run(x->cache, k, slice_elements(s), 0);
			marshal_kernel(x, k);
		}
		at += marshal_step(at, x, job, &c);
		marshal_note(f, i, c.cost * turns, elements_of(job, i, turns));
	}
	job->step = 0;
	return at;
}

size_t marshal_loop(struct executor *x, struct executor_job *job, struct flight *f, char *at,
		    size_t room)
{
	const struct plan *plan = job->plan;
	const struct command_place *place = job->place + (size_t)job->turn * plan->nslot;
	const uint64_t *imm = job->imm + (size_t)job->turn * 2 * job->nimm;
	struct command_loop loop = {
		.kind = STEP_LOOP, .nstep = plan->nstep, .nslot = plan->nslot, .nimm = job->nimm};
	size_t slots = plan->nslot * sizeof *place, imms = job->nimm * 2 * sizeof *imm, fixed = 0;
	size_t sizes = plan->nsize * sizeof *job->size;
	struct turn t;
	char *end = at;

	if (x->target || job->step || job->at || f->nstep || !measure_turn(&t, x, job))
		return 0;
	loop.turns = time_for(x, job, &t);
	fixed = sizeof loop + t.npatch * sizeof(struct command_patch) +
		(t.nscalar + 1) * sizeof(uint32_t) + t.bytes + plan->nstep * LIMIT_NDIM;
	for (;; loop.turns /= 2) {
		if (loop.turns < 2)
			return 0;
		loop.nplace = rows_of((const char *)place, slots, loop.turns);
		loop.nrow = rows_of((const char *)imm, imms, loop.turns);
		if (fixed + loop.nplace * slots + loop.nrow * imms + loop.turns * sizes <= room)
			break;
	}
	loop.npatch = t.npatch;
	loop.nscalar = t.nscalar;
	loop.nsize = plan->nsize;
	end = put(end + sizeof loop, place, loop.nplace * slots);
	end = put(end, imm, loop.nrow * imms);
	end = put_scalars(put_patches(end, job), plan, t.nscalar);
	end = put_sizes(end, job, loop.turns);
	end = put_steps(end, x, job, f, loop.turns);
	loop.bytes = (uint32_t)(end - at);
	memcpy(at, &loop, sizeof loop);
	if (job->fresh)
		memset(job->fresh + (size_t)job->turn * plan->nslot, 0,
		       (size_t)loop.turns * plan->nslot);
	f->turns = job->looped = loop.turns;
	job->turn += loop.turns;
	return loop.bytes;
}
