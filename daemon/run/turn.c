/* SPDX-License-Identifier: Apache-2.0 */
/* run/turn.c - a plan's steps with the extents that a turn of a job has.
 *
 * A plan with sizes (plan/sizes.h) has numbers in their places.  A job has copies of its steps,
 * which get the extents of the turn that is to be sent. */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "executor_impl.h"

#define NO_TURN UINT32_MAX

void turn_begin(struct executor_job *job)
{
	const struct plan *plan = job->plan;

	if (!plan->nsize)
		return;
	job->own = xcalloc(plan->nstep, sizeof *job->own);
	job->own_turn = NO_TURN;
	for (uint32_t i = 0; i < plan->nstep; i++) {
		struct plan_step *s = &job->own[i];

		*s = plan->step[i];
		if (s->nest)
			s->nest = memcpy(xmalloc(sizeof *s->nest), s->nest, nest_bytes(s->nest));
		if (s->call)
			s->call = memcpy(xmalloc(sizeof *s->call), s->call, sizeof *s->call);
	}
}

void turn_end(struct executor_job *job)
{
	for (uint32_t i = 0; job->own && i < job->plan->nstep; i++) {
		free(job->own[i].nest);
		free(job->own[i].call);
	}
	free(job->own);
	job->own = NULL;
}

/* A step of these sizes, with its part of what was predicted for the plan's. */
static void set_sizes(struct plan_step *s, const struct plan_step *planned, const int64_t *size)
{
	const int64_t *full = s->nest ? planned->nest->extent : planned->call->extent;
	int64_t *extent = s->nest ? s->nest->extent : s->call->extent;
	double share = 1;

	for (unsigned l = 0; l < LIMIT_NDIM; l++) {
		if (!s->size[l])
			continue;
		extent[l] = size[s->size[l] - 1];
		share *= (double)extent[l] / (double)full[l];
	}
	s->cost_us = (uint64_t)((double)planned->cost_us * share);
}

static const int64_t *sizes_of(const struct executor_job *job, uint32_t turn)
{
	return job->size + (size_t)turn * job->plan->nsize;
}

void turn_steps(struct executor_job *job, uint32_t turn)
{
	if (!job->own || job->own_turn == turn)
		return;
	for (uint32_t i = 0; i < job->plan->nstep; i++)
		set_sizes(&job->own[i], &job->plan->step[i], sizes_of(job, turn));
	job->own_turn = turn;
}

void turn_largest(struct executor_job *job)
{
	uint32_t n = job->plan->nsize;
	int64_t *most = NULL;

	if (!job->own)
		return;
	most = xcalloc(n, sizeof *most);
	for (uint32_t t = job->turn; t < job->turns; t++)
		for (uint32_t s = 0; s < n; s++)
			if (sizes_of(job, t)[s] > most[s])
				most[s] = sizes_of(job, t)[s];
	for (uint32_t i = 0; i < job->plan->nstep; i++)
		set_sizes(&job->own[i], &job->plan->step[i], most);
	job->own_turn = NO_TURN;
	free(most);
}
