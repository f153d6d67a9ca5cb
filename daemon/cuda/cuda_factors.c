/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_factors.c - a slice of matrices' factors by cuSOLVER: some calls for each matrix.
 *
 * The work area is the lane's from before the first call to behind the last, in the order of its
 * stream, and counts as its memory. */
#include "call/factors.h"
#include "cuda_solver.h"
#include "cuda_worker.h"

#define LAUNCHES      24  /* of a small matrix, about */
#define LAUNCHES_MOST 256 /* that are counted: the library waits by itself where there are more */
/* Matrices that may take a tenth of a second together are waited for, which is no hang: so many
 * multiplications and additions, and what each counts as besides. */
#define LONG_FLOPS 1e9
#define EACH_FLOPS 1e6

static uint32_t launches_of(const struct solver_layout *l)
{
	int64_t n = LAUNCHES + l->columns / 8;

	return (uint32_t)(n < LAUNCHES_MOST ? n : LAUNCHES_MOST);
}

static enum status wait_for(struct cuda_lane *l, struct err *err)
{
	CUresult rc = CUDA_SUCCESS;

	l->patient = true;
	rc = l->c->api.cuStreamSynchronize(l->stream);
	l->patient = false;
	return cuda_context_check(l->c, rc, err, "factors of a matrix");
}

static enum status factor(struct cuda_run *run, uint32_t step, const struct cuda_called *c,
			  struct err *err)
{
	struct cuda_lane *l = run->lane;
	struct cuda_solver_task t = {.kind = (unsigned)c->call.operand[0].at,
				     .dtype = c->call.dtype};
	uint64_t matrix = (uint64_t)factors_bytes(&c->call), free_bytes = 0;
	double each = 0, begun = 0;
	CUdeviceptr area = 0;
	enum status st = OK;

	factors_layout(&t.lay, &c->call);
	each = EACH_FLOPS + solver_flops(&t.lay, t.kind, t.dtype);
	st = cuda_solver_measure(&t, l, c->base[0], c->base[1], err);
	if (st == OK)
		st = cuda_memory_take(l, &area, t.extra + t.work, &free_bytes, err);
	if (st != OK)
		return err_context(err, "step %u", run->step[step]->index);
	for (int64_t unit = c->lo; unit < c->hi && st == OK && !run->cancelled; unit++) {
		uint64_t at = (uint64_t)unit;

		st = cuda_issue_room(l, launches_of(&t.lay), err);
		if (st == OK)
			st = cuda_solver_run(&t, l, c->base[0] + at * matrix,
					     c->base[1] + at * (uint64_t)t.lay.bytes, area, err);
		begun += each;
		if (st == OK && begun > LONG_FLOPS) {
			st = wait_for(l, err);
			begun = 0;
		}
	}
	cuda_memory_give(l, area, t.extra + t.work);
	return st;
}

enum status cuda_factors_step(struct cuda_run *run, uint32_t i, const struct cuda_called *c,
			      struct err *err)
{
	/* The library's launches are on the lane's stream, by themselves. */
	enum status st = cuda_step_fire(run, err);

	if (st == OK)
		st = cuda_issue_mark(run, i, false, err);
	return st == OK ? factor(run, i, c, err) : st;
}
