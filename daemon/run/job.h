/* SPDX-License-Identifier: Apache-2.0 */
/* run/job.h - a plan bound to a client's storage.
 *
 * job_bind gives every slot of the plan a place: the storage of an input, or a
 * fresh extent for outputs and temporaries.  job_settle puts the outcome into the
 * versions.  Loop thread only. */
#ifndef BRAZE_JOB_H
#define BRAZE_JOB_H

#include "../plan/demand.h"
#include "../plan/planner.h"
#include "executor.h"

#define JOB_FETCH 8 /* small results that come back with the completion */

struct session;

struct job {
	struct executor_job run;
	struct planner_job plan;
	struct session *session;
	struct partition *partition;
	struct storage **slot; /* [plan's slots], referenced */
	struct command_place *place;
	struct command_fetch fetch[JOB_FETCH];
	struct version *fetched[JOB_FETCH];
	uint64_t since_ns;
	struct job *next; /* of the session's jobs in flight */
};

/* E_NOMEM: the client is over its quota, or its arena is full; nothing is bound. */
enum status job_bind(struct job *j, struct trace *t, struct plan *plan, uint32_t region,
		     struct err *err) MUST_USE;
/* Outputs become stored; or failed with *err; or pending again (JOB_CANCELLED). */
void job_settle(struct job *j, struct trace *t, enum job_end end, const struct err *err);
/* Free what is bound and the partition. */
void job_free(struct job *j, struct trace *t);

#endif
