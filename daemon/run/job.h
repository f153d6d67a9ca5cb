/* SPDX-License-Identifier: Apache-2.0 */
/* run/job.h - a plan bound to a client's storage, on one device.
 *
 * job_ready tells whether the inputs are where the device can have them; job_bind
 * gives every slot of the plan a place: the storage of an input, or fresh storage
 * for outputs and temporaries, in the arena or in the device's memory, with the
 * copies that carry inputs there and what is waited for back.  job_settle puts the
 * outcome into the versions.  Loop thread only. */
#ifndef BRAZE_JOB_H
#define BRAZE_JOB_H

#include "../plan/demand.h"
#include "../plan/planner.h"
#include "device.h"

#define JOB_FETCH 8 /* small results that come back with the completion */

struct session;

struct job {
	struct executor_job run; /* run.plan: a reference, of dispatch.c */
	struct planner_job plan;
	struct session *session;
	struct partition *partition;
	struct device *device;	     /* chosen when it is first to start */
	struct storage **slot;	     /* [turns][plan's slots], referenced */
	struct command_place *place; /* likewise */
	struct executor_copy *copy;  /* the first run.nbefore carry inputs there */
	struct command_fetch fetch[JOB_FETCH];
	struct version *fetched[JOB_FETCH];
	uint64_t since_ns;
	uint64_t number;	 /* in the session, in the order of the trace's cuts */
	uint8_t squeezed;	 /* times the device had less memory than it had said */
	uint64_t squeezed_bytes; /* by which it was taken to have less since */
	uint8_t *slot_use;	 /* [slot]: enum slot_use bits; on a device only, of one turn */
	struct place *placed;	 /* what the choice of its device is to learn from: */
	struct device *rival;	 /* between the CPU and this one */
	struct job *next;	 /* of the session's jobs that wait, or in flight */
};

enum job_state {
	JOB_GO,
	JOB_WAIT,	 /* for a job or transfer in flight */
	JOB_FETCH_FIRST, /* *fetch must come to the host */
	JOB_CARRY_FIRST, /* *fetch must come to the job's device from another one */
	JOB_STOP	 /* *err: E_CANCELLED: an input is pending again, or failed */
};
/* Can run.plan be bound on `device` now? */
enum job_state job_ready(const struct job *j, struct trace *t, struct storage **fetch,
			 struct err *err);
/* Where a stored value lies on the host: `region` is its session's arena. */
struct command_place job_host_place(const struct storage *s, uint32_t region);
/* What of its inputs is on its device stays there while room is made for the rest (1), or may go
 * again (-1). */
void job_keep_inputs(const struct job *j, int more);
/* Bytes of new mirrors that binding takes. */
uint64_t job_mirror_bytes(const struct job *j);
/* Bind run.plan on `device`, once job_ready says so and the device has room.
 * E_NOMEM: the client is over its quota, or its arena is full; nothing is bound. */
enum status job_bind(struct job *j, struct trace *t, uint32_t region, struct err *err) MUST_USE;
/* Has the host a copy of every input that the job writes in place on its device? */
bool job_host_whole(const struct job *j);
/* It is being cancelled, and may make nothing, or not all: jobs that read it wait for its end. */
void job_withdraw(struct job *j);
/* It came back undone: nothing is bound any more, the partition is as it was. */
void job_unbind(struct job *j, struct trace *t);
/* A finished job's inputs must have been what they should have been: OK, also where
 * some had failed; E_CANCELLED: one is pending again or did not arrive. */
enum status job_inputs(const struct job *j, struct err *err);
/* Outputs become stored, but for those that depend on what failed; or failed with
 * *err; or pending again (JOB_CANCELLED). */
void job_settle(struct job *j, struct trace *t, enum job_end end, const struct err *err);
/* A settled job reads and writes nothing any more; what it fetched it still has. */
void job_let_go(struct job *j, struct trace *t);
/* Free what is bound and the partition. */
void job_free(struct job *j, struct trace *t);

#endif
