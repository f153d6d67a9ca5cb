/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_solver.h - cuSOLVER, loaded when the worker starts: what it computes is offered to
 * clients only where it is there.
 *
 * A lane has a handle of its own, made when it is first needed.  What the library works with on the
 * device is given to each call, in the order of the lane's stream; what it works with on the host
 * is the lane's.  Issuer, but for opening. */
#ifndef BRAZE_CUDA_SOLVER_H
#define BRAZE_CUDA_SOLVER_H

#include "cuda_worker.h"
#include "solver.h"

/* Matrices of one kind and size, one at a time. */
struct cuda_solver_task {
	unsigned kind, dtype; /* enum solver_kind */
	struct solver_layout lay;
	uint64_t work, host; /* bytes that the library works with; cuda_solver_measure */
	uint64_t extra;	     /* bytes before them: pivots or factors of reflectors, an info */
};

/* Is the library there?  Loads it. */
bool cuda_solver_open(struct cuda *c);
void cuda_solver_finish(struct cuda *c);
/* What such a task takes, for a matrix here and a result there: extra + work bytes, aligned to
 * 256, are to be given to each call. */
enum status cuda_solver_measure(struct cuda_solver_task *t, struct cuda_lane *l, CUdeviceptr matrix,
				CUdeviceptr result, struct err *err) MUST_USE;
/* On the lane's stream.  The matrix is spoilt. */
enum status cuda_solver_run(const struct cuda_solver_task *t, struct cuda_lane *l,
			    CUdeviceptr matrix, CUdeviceptr result, CUdeviceptr area,
			    struct err *err) MUST_USE;
/* Of a lane on whose stream nothing is left. */
void cuda_solver_close(struct cuda_lane *l);

#endif
