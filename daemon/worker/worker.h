/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker.h - a worker process: commands in, completions out.
 *
 * Runs alone in its process, started by the broker.  The command thread reads
 * packets and runs steps in order; while a run is under way it looks at the socket
 * between units, so that a cancel or a ping is answered and later commands wait in
 * a queue.  A fault in a kernel ends the process: the broker recovers. */
#ifndef BRAZE_WORKER_H
#define BRAZE_WORKER_H

#include "kernels.h"
#include "matmul.h"
#include "pool.h"
#include "region.h"
#include "contract/command.h"

struct worker_thread {
	void *scratch; /* of the interpreter, of sorts */
	struct matmul_scratch matmul;
};

/* Accumulators of a reduction whose chunks come in several runs; sums of a float16
 * product's tile. */
struct worker_part {
	struct worker_part *next;
	uint64_t job;
	uint32_t step;
	size_t count;
	struct bz_acc acc[];
};

/* A packet that came while a run was under way. */
struct worker_packet {
	struct worker_packet *next;
	int fd;
	bool cancelled;
	size_t bytes;
	_Alignas(8) char data[];
};

struct worker {
	int fd;
	int64_t spin_ns; /* it looks at the socket for so long before it sleeps */
	struct progress *progress;
	struct pool *pool;
	struct regions regions;
	struct kernels kernels;
	struct matmul matmul;
	size_t scratch_bytes; /* of each thread's scratch */
	uint64_t far;	      /* KERNEL_FAR or KERNEL_WHOLE: how this processor likes it */
	int64_t stream_bytes; /* more than this, written or read by a step, passes the caches by */
	struct worker_thread thread[PROGRESS_THREADS];
	struct worker_part *parts;
	struct worker_grids *grids; /* loops of kernels, linked; NULL: none yet */
	struct worker_packet *head, **tail;
	char *packet, *late; /* COMMAND_BYTES each: current packet, one read while running */
	uint64_t ticket;     /* of the run under way; 0: none */
	uint16_t nfault;     /* what its checks have found */
	struct command_fault fault[COMMAND_FAULTS];
	uint32_t cancel; /* set by this thread, read by all: bz_cancelled */
	int64_t polled_ns;
	double unpolled_ns; /* predicted time of the short steps since */
	bool closed;	    /* the broker has gone */
};

/* A slice of a library step: units [lo, hi) of those that the step has, lo < hi. */
struct worker_call {
	struct worker *w;
	const struct command_step *cmd;
	const struct command_place *place; /* of each operand, */
	char *base[CALL_OPERANDS];	   /* and where that is here */
	struct plan_call call;
	int64_t lo, hi;
};

/* Serve commands on fd until it closes.  threads as for pool_create. */
enum status worker_serve(int fd, struct progress *progress, const struct kernel_ops *ops,
			 int threads, struct err *err) MUST_USE;

/* worker_run.c: one CMD_RUN packet; fills the completion, and w->fault. */
void worker_run(struct worker *w, const char *packet, size_t bytes, struct command_done *done,
		char *fetched);
/* Forget the partial results of a job that has ended early. */
void worker_forget(struct worker *w, uint64_t job);
/* worker_step.c: one step. */
enum status worker_step(struct worker *w, const struct command_step *s, struct err *err) MUST_USE;
/* Each thread's scratch gets at least so many bytes, and may become another. */
enum status worker_scratch_grow(struct worker *w, size_t bytes, struct err *err) MUST_USE;
/* worker_loop.c: a STEP_LOOP, which ends by `end`. */
enum status worker_loop(struct worker *w, const char *at, const char *end,
			struct err *err) MUST_USE;
/* worker_copy.c: one that carries bytes. */
enum status worker_copy(struct worker *w, const struct command_step *s, struct err *err) MUST_USE;
/* worker_call.c: one of a library step. */
enum status worker_call(struct worker *w, const struct command_step *s, struct err *err) MUST_USE;
/* worker_<stem>.c: what a library step does, for each row of call/calls.def.  On the command
 * thread, which uses the pool. */
#define CALL(ID, stem, ...)                                                                        \
	enum status worker_##stem(const struct worker_call *x, struct err *err) MUST_USE;
#include "call/calls.def"
#undef CALL
/* worker_grid.c: what it keeps of loops goes. */
void worker_grids_finish(struct worker *w);
/* A thread of the pool begins, ends a unit of it. */
void worker_unit_begin(struct worker *w, const struct command_step *s, int thread);
void worker_unit_end(struct worker *w, int thread);
/* Partial results of a step of the run's job: the newest, NULL: none; new ones, NULL:
 * no memory. */
struct worker_part *worker_part_find(struct worker *w, uint32_t step);
struct worker_part *worker_part_create(struct worker *w, uint32_t step, int64_t count);
void worker_part_free(struct worker *w, struct worker_part *part);
/* Look at the socket; the pool calls it between units. */
void worker_poll(void *worker);
/* The same after a step: of many short ones after some. */
void worker_poll_step(struct worker *w);
int64_t worker_clock(void); /* nanoseconds */

#endif
