/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_tune.h - better geometries of kernels, found while the device is idle.
 *
 * A subject is one entry of a kernel at one class of sizes.  Its launches are laid out
 * by the model (cuda_geometry.h) and counted.  One that was launched often or long is
 * tried: the tuner's thread waits until no client has had anything to do for a moment,
 * then makes the subject's last launch again in memory of its own, by each candidate,
 * one launch at a time.  A run that arrives ends the launch under way, by its cancel
 * word, and gives the memory back; the trials go on later.  What they found lays out
 * the subject's launches from then on and goes to the broker (DONE_GEOMETRY), which
 * keeps it and hands it back to the next worker (CMD_GEOMETRY).
 *
 * Nobody's values are read or written, and no value depends on what is found. */
#ifndef BRAZE_CUDA_TUNE_H
#define BRAZE_CUDA_TUNE_H

#include <pthread.h>
#include <stdatomic.h>

#include "cuda_api.h"
#include "cuda_geometry.h"
#include "contract/command.h"

struct cuda;
struct cuda_kernel;
struct cuda_run;

#define CUDA_TELLING_NS 10000 /* a launch below this tells of nothing but itself */

enum cuda_subject_state {
	SUBJECT_COUNTED, /* its launches are */
	SUBJECT_WAITING, /* in the tuner's queue, or under trial */
	SUBJECT_OVER	 /* tried, or not worth it */
};

/* A launch as it was made last, to be made again elsewhere. */
struct cuda_trial {
	struct cuda_launch item;
	struct cuda_facts facts;
	CUfunction function;
	uint64_t part_bytes, part_skip;
	uint32_t naccess;
	struct cuda_reach {
		uint64_t base;
		int64_t lo, hi; /* bytes that are touched around it */
	} * reach;		/* [naccess] */
	uint32_t bytes;		/* of the parameter */
	char *block;
};

/* Of a kernel; freed with it. */
struct cuda_subject {
	struct cuda_subject *next, *later; /* of its kernel; in the queue */
	struct cuda_kernel *kernel;	   /* held while it waits */
	struct cuda_geometry g;
	enum cuda_subject_state state;
	uint64_t launches;
	uint64_t timed, busy_ns; /* of them, in runs of kernels only; their time */
	struct cuda_trial trial; /* of the last launch; empty once it is over */
};

/* Launches of a run: whose they are, and their bytes. */
struct cuda_share {
	struct cuda_subject *subject;
	uint64_t bytes;
};

struct cuda_tuner {
	bool on; /* fixed once the worker serves */
	pthread_t thread;
	atomic_bool ended;    /* the thread has */
	pthread_mutex_t lock; /* what follows, and all kernels' subjects */
	pthread_cond_t more;  /* for the tuner: work, or the end of a client's */
	pthread_cond_t freed; /* its memory was given back */
	bool stop;
	struct cuda_subject *head, **tail; /* that wait */
	uint32_t pending;		   /* of them, with the one under trial */
	uint32_t runs;			   /* clients' runs, queued or in flight */
	uint64_t arrivals;		   /* of clients' work, ever */
	int64_t quiet_ns;		   /* since when there is none */
	bool holds;			   /* memory for trials */
	int64_t began_ns;		   /* the launch under way; 0: none */
	int64_t cancelled_ns;		   /* it was; 0: not */
	CUdeviceptr word;		   /* its cancel word */
};

/* cuda_tune.c */
void cuda_tune_init(struct cuda *c);
/* Before the first run; off where BRAZE_WORKER_TUNE is 0. */
enum status cuda_tune_start(struct cuda *c, struct err *err) MUST_USE;
/* When no lane is left: ends the trials. */
void cuda_tune_finish(struct cuda *c);
/* Command thread: a client's run, or other work for a lane, has come. */
void cuda_tune_arrive(struct cuda *c, bool run);
/* A run is complete: count its launches; then it is over. */
void cuda_tune_count(struct cuda_run *run, uint64_t busy_ns);
void cuda_tune_leave(struct cuda *c);
/* Issuer, when memory is short: the tuner has none when this returns. */
void cuda_tune_give_back(struct cuda *c);
/* Issuer: lay out a launch, item x of step i, whose entry is loaded; block: its
 * parameter but for what a launch changes. */
void cuda_tune_shape(struct cuda_run *run, uint32_t i, const struct cuda_launches *all, unsigned x,
		     const char *block, size_t bytes, struct cuda_launch *item);
/* Command thread: CMD_GEOMETRY. */
void cuda_tune_accept(struct cuda *c, const char *packet, size_t bytes);
/* With the tuner's lock held: end the launch under way. */
void cuda_tune_cancel(struct cuda *c, int64_t now);
void cuda_tune_forget(struct cuda_kernel *k); /* nobody has it any more */
/* Its trials are over, with the result g.  SUBJECT_COUNTED: begin anew with counting.
 * trials and ns: what they took. */
void cuda_tune_conclude(struct cuda *c, struct cuda_subject *s, enum cuda_subject_state state,
			const struct cuda_geometry *g, uint64_t trials, uint64_t ns);

/* cuda_trial.c: the tuner's thread. */
void *cuda_trial_main(void *c);

#endif
