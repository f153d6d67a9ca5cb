/* SPDX-License-Identifier: Apache-2.0 */
/* run/executor.h - bound plans to a worker process and back.
 *
 * Loop thread only.  Owns one device's worker process: starts it, restarts it with
 * back-off, sends it regions, kernels and runs, and shares it between users and their clients by
 * weight, in slices of at most RUN_SLICE_US of predicted work, two outstanding for each
 * client; of SHARED_SLICE_US where several share the CPU (schedule.c).  Plans of one client
 * run in the order of submission. */
#ifndef BRAZE_EXECUTOR_H
#define BRAZE_EXECUTOR_H

#include "../cache/cache.h"
#include "form/plan.h"
#include "contract/command.h"

#define RUN_SLICE_US	20000
#define SHARED_SLICE_US 5000 /* while several clients ask for a device's time */
/* Memory that nobody has touched yet: so much of it a packet may be the first to touch, as long as
 * that takes no longer than a slice. */
#define RUN_FRESH_BYTES	   (16u << 20)
#define SHARED_FRESH_BYTES (2u << 20)

struct uv_loop_s;
struct executor;
struct executor_job;

enum job_end {
	JOB_DONE,
	JOB_FAILED,    /* err tells; nothing of it can be used */
	JOB_CANCELLED, /* inputs intact unless `torn` */
	JOB_RETURNED   /* not done, and the device's memory is gone: bind it anew */
};

/* Bytes that travel with a job, between the host and the device. */
struct executor_copy {
	struct command_place from, to;
	uint64_t bytes;
};

/* A plan bound to storage, for several turns perhaps, each with places and immediates of its
 * own.  The caller owns it and keeps all of it alive until
 * `done` is called (once, on the loop thread, never from inside a call of this
 * header). */
struct executor_job {
	struct plan *plan;
	uint32_t turns;			   /* a cancel makes them as few as have begun */
	uint32_t nimm;			   /* of each turn */
	const struct command_place *place; /* [turns][slot of the plan] */
	const uint64_t *imm;		   /* [turns][2 * nimm]: the partition's immediates */
	const int64_t *size;		   /* [turns][plan's sizes] */
	/* [turns][slot of the plan]: nobody has touched its memory yet; no more so once what
	 * touches it was sent.  NULL: nothing is known of it. */
	uint8_t *fresh;
	uint64_t client;  /* queue: session id */
	const char *name; /* of the client, for messages; NULL: unknown */
	uint32_t pid;	  /* likewise */
	uint64_t flow;	  /* of base/moments.h */
	uint32_t nfetch;
	const struct command_fetch *fetch;
	uint32_t nbefore, nafter; /* copies before the first step, after the last */
	const struct executor_copy *copy;
	void (*done)(struct executor_job *job, enum job_end end, const struct err *err);
	void *data;
	/* Results. */
	uint64_t busy_ns;
	uint8_t torn; /* the step that died or was cancelled overwrites an input:
			 step_torn is its index; the versions it writes are lost */
	uint32_t step_torn;
	uint8_t fetched[8][LIMIT_INLINE_BYTES]; /* nfetch <= 8 */
	/* Wrong places that its checks met, each check once in a turn, by turns; the owner frees
	 * them. */
	uint32_t nfault, fault_cap;
	struct command_fault *fault;
	struct plan_step *own; /* of a plan with sizes (turn_begin): its steps in turn own_turn */
	uint32_t own_turn;
	/* Private to executor.c. */
	struct executor_job *next;
	uint32_t turn;	 /* under way */
	uint32_t looped; /* turns of the last STEP_LOOP; 0: none was sent */
	uint32_t step;
	int64_t at;    /* next unit of that step */
	int64_t group; /* points whose chunks come together, of a reduction cut by chunks */
	/* What slices of step pace_step have taken so far, and the largest of them. */
	uint32_t pace_step;
	uint64_t pace_elements, pace_ns, pace_most;
	uint32_t copied;
	uint64_t copied_bytes; /* of the next copy, by packets before */
	uint64_t ticket;
	uint32_t in_flight, attempts, cancelled;
	uint8_t ending;	 /* cancelled where it cannot stop: sent also of a client that is held */
	uint8_t suspect; /* one of several that ran when a worker died: runs alone */
};

/* What the owner of a device other than the CPU is told. */
struct executor_events {
	/* The worker is up, or says why its device cannot be used. */
	void (*hello)(void *data, const struct command_hello *hello);
	/* A kernel's code was loaded, or refused (KERNEL_FAILED). */
	void (*loaded)(void *data);
	/* The worker died: every device region is gone.  Its jobs come back. */
	void (*lost)(void *data);
	void *data;
};

struct executor_config {
	const char *self;		      /* executable to start as `brazed --worker FD` */
	int threads;			      /* 0: usable cores */
	const char *device;		      /* "cpu", "cuda:0" */
	unsigned target;		      /* its kernels in struct plan_step; 0: the CPU */
	const struct executor_events *events; /* NULL for the CPU */
	const char *env; /* names of variables that its worker gets as well; NULL: none */
	const char
		*spin; /* how long its worker looks for a packet, as in proto/spin.h; NULL: auto */
};

struct executor_stats {
	uint64_t runs, steps, slices, busy_ns, deaths, queued, in_flight;
	uint64_t held;				 /* part of `queued`: of clients that are held */
	uint64_t library_products, own_products; /* as in struct command_done */
	uint64_t registered_bytes;		 /* of arenas, with the device's driver */
	uint64_t beside_steps;			 /* that were launched beside others */
	uint64_t packets, wakes;		 /* of a GPU's worker: as in struct progress */
	uint64_t trials, tuning_ns;		 /* of geometries, while its device was idle */
	int pid;
	double up_bytes_us, down_bytes_us; /* measured of copies; 0: none was telling */
};

/* How a client shares the device: with its user's other clients, and that with other users. */
struct executor_client {
	uint64_t client;
	uint32_t uid;
	uint32_t weight, user_weight; /* 1 or more; 0 is 1 */
	bool held;		      /* send nothing of it; what was sent ends as ever */
};

/* Give a job whose plan has sizes steps of its own; take them back. */
void turn_begin(struct executor_job *job);
void turn_end(struct executor_job *job);

enum status executor_create(struct executor **out, struct uv_loop_s *loop,
			    const struct executor_config *config, struct cache *cache,
			    struct err *err) MUST_USE;
void executor_destroy(struct executor *x);
/* Regions are kept (and sent again after a restart) until dropped; the fd is
 * duplicated.  id 0 is invalid. */
enum status executor_region_add(struct executor *x, uint32_t region, int fd, uint64_t bytes,
				struct err *err) MUST_USE;
void executor_region_drop(struct executor *x, uint32_t region);
/* These bytes of a region, which no job uses, are going to be given back: the worker
 * lets go of their pages, then `done` is called, from the loop.  false: it has no hold
 * on them, and `done` is not called. */
bool executor_release(struct executor *x, uint32_t region, const struct command_range *r,
		      void (*done)(void *data), void *data) MUST_USE;
/* Memory of the device for a client; gone when the worker dies. */
void executor_device_region(struct executor *x, uint32_t region, uint64_t bytes, uint64_t client);
void executor_device_clear(struct executor *x, uint32_t region);
/* Its memory by a descriptor, once all that was submitted before for it is done: `done` is called
 * with one that is its own, and how many bytes it has, or with -1 and an error.  false: there is no
 * worker, and `done` is not called. */
typedef void executor_exported_fn(void *data, int fd, uint64_t bytes, const struct err *err);
bool executor_device_export(struct executor *x, uint32_t region, executor_exported_fn *done,
			    void *data) MUST_USE;
/* Memory of another device, by such a descriptor (which stays the caller's), as a region of this
 * one's, for a client: what is submitted next may copy from it.  Where that cannot be had, a run
 * that names it fails. */
struct executor_import {
	uint32_t region;
	int fd;
	int ordinal; /* the other device's number in the driver */
	uint64_t client, bytes;
};
void executor_device_import(struct executor *x, const struct executor_import *i);
/* It lets go at once, or when what was submitted before is done: the other device has the memory
 * that long. */
void executor_device_import_end(struct executor *x, uint32_t region);
void executor_submit(struct executor *x, struct executor_job *job);
/* Ends with JOB_CANCELLED as soon as it can (between steps, or inside one that
 * writes only fresh storage), or as it would have ended. */
void executor_cancel(struct executor *x, struct executor_job *job);
/* Before a client's first job, and when something of it changes; who was not named is of user 0,
 * with weight 1. */
void executor_client_set(struct executor *x, const struct executor_client *c);
/* The client has gone, with its last job. */
void executor_client_drop(struct executor *x, uint64_t client);
/* Nanoseconds that the device has worked for a client that is here; for all of a user's, ever. */
uint64_t executor_client_busy(const struct executor *x, uint64_t client);
uint64_t executor_user_busy(const struct executor *x, uint32_t uid);
/* Code of a kernel arrived: hand it to the worker. */
void executor_kernel_ready(struct executor *x, struct kernel *k);
/* Is the code loaded?  It is sent if it has not been; events.loaded follows. */
bool executor_kernel_loaded(struct executor *x, struct kernel *k);
void executor_kernel_drop(struct executor *x, uint32_t id);
/* Has its kernel been measured, so that executor_step_cost tells what it takes? */
bool executor_step_known(const struct executor *x, const struct plan_step *s);
/* Predicted microseconds of a step, corrected by what its kernel has taken lately. */
uint64_t executor_step_cost(const struct executor *x, const struct plan_step *s);
/* Kill the worker, for good; false: it is not over yet, ask again.  No job is left. */
bool executor_quit(struct executor *x);
/* Of several workers of one device. */
void executor_add_stats(struct executor_stats *sum, const struct executor_stats *x);
/* What other clients than this one want of the device now, as predicted. */
struct executor_load {
	uint32_t clients;
	uint64_t sent_us, queued_us; /* of packets that the worker has; of jobs that wait */
};
void executor_load(const struct executor *x, uint64_t client, struct executor_load *out);
/* Clients whose packets the worker has, at most n, whose turn it is first; how many. */
uint32_t executor_clients(const struct executor *x, uint64_t *client, uint32_t n);
/* Has its worker something to do? */
bool executor_works(const struct executor *x);
void executor_get_stats(const struct executor *x, struct executor_stats *out);

#endif
