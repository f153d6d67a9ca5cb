/* SPDX-License-Identifier: Apache-2.0 */
/* plan/planner.h - the thread that plans large partitions, so that the loop need not.
 *
 * In:  a read-only snapshot.  Out: `done` is called on the loop thread with the plan or the
 * error.  Snapshot and job stay the caller's. */
#ifndef BRAZE_PLANNER_H
#define BRAZE_PLANNER_H

#include "form/plan.h"

struct uv_loop_s;
struct planner;

struct planner_job {
	const struct part *part;
	void (*done)(struct planner_job *job);
	void *data;
	/* Results. */
	struct plan *plan; /* NULL: err tells */
	struct err err;
	uint64_t began_ns, ended_ns;
	struct planner_job *next;
};

struct planner_config {
	const char *passes; /* NULL: all */
	const char *dump;   /* stages to print to stderr: "part,nest,plan" or NULL */
	bool check;	    /* check the nests after each pass */
};

enum status planner_create(struct planner **out, struct uv_loop_s *loop,
			   const struct planner_config *config, struct err *err) MUST_USE;
/* Waits for the running job; queued ones are dropped without an answer. */
void planner_destroy(struct planner *p);
/* `done` follows in a later turn of the loop. */
void planner_submit(struct planner *p, struct planner_job *job);
/* The same within the call: a small plan takes less than two threads waking each other. */
void planner_run(struct planner *p, struct planner_job *job);

#endif
