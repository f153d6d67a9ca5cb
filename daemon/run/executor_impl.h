/* SPDX-License-Identifier: Apache-2.0 */
/* run/executor_impl.h - the executor's state, for the files of run/ only.
 *
 *   executor   the calls of executor.h; completions back to the callers
 *   schedule   whose job sends the next packet
 *   slice      what of a step goes into a packet
 *   marshal    a job's next steps as one packet; marshal_loop: its next turns
 *   turn       what extents they have
 *   spawn      the worker's process and its socket
 *   export     memory of its device that other processes get
 *   release    memory that the worker lets go of before it is given back
 *   watch      is the worker alive that has not answered for a while?
 *   recover    what a worker's death means for each job */
#ifndef BRAZE_EXECUTOR_IMPL_H
#define BRAZE_EXECUTOR_IMPL_H

#include <sys/types.h>
#include <uv.h>

#include "executor.h"
#include "watch.h"

#define CLIENT_FLIGHTS 2     /* packets a worker holds for a client: one runs, one waits */
#define OVERTAKERS     4     /* that go before one that waits, at most */
#define FLIGHTS	       16    /* for all; the CPU's, which runs one at a time: 2 and OVERTAKERS */
#define ATTEMPTS       3     /* worker deaths under one job before it fails */
#define COPY_BYTES_US  10000 /* bytes copied in a microsecond, until that was measured */

/* What somebody has of the device (schedule.c). */
struct share {
	int64_t clock;	  /* device time over weight */
	uint64_t busy_ns; /* device time, as measured */
	uint32_t weight;
};

struct share_user {
	struct share_user *next;
	uint32_t uid;
	struct share share;
	int64_t now; /* how far the clocks of its clients have come that were served */
};

/* A client: its jobs, in order of submission. */
struct queue {
	struct queue *next;
	uint64_t client;
	struct share_user *user;
	struct share share;
	bool held; /* nothing of it is sent */
	struct executor_job *head, **tail;
};

struct flight_step {
	uint32_t step;
	uint32_t cost_us;  /* as predicted */
	uint64_t elements; /* points of this slice */
};

/* A packet sent and not answered. */
struct flight {
	struct executor_job *job;
	uint64_t ticket;
	uint64_t cost_us;
	int64_t waited_ns; /* while it was the oldest; GPUs (watch.c) */
	uint64_t up, down; /* bytes that its copies carry to the device, from it */
	uint64_t fresh;	   /* bytes of memory that its steps are the first to touch, at most */
	uint32_t turns;	   /* of its STEP_LOOP; 0: it has none */
	uint32_t checks;   /* of its steps, of a job of turns: at most COMMAND_FAULTS */
	uint8_t rank;	   /* enum run_rank */
	uint8_t overtaken; /* so many were sent that go before it */
	uint32_t nstep, cap;
	struct flight_step *step;
};

struct kept_region {
	uint32_t id;
	int fd;
	uint64_t bytes;
};

/* A CMD_RELEASE that is not answered. */
struct release {
	struct release *next;
	uint32_t region;
	struct command_range range;
	int64_t waited_ns; /* while it was the oldest */
	void (*done)(void *data);
	void *data;
};

/* A CMD_DEVICE_EXPORT that is not answered. */
struct exporting {
	struct exporting *next;
	uint64_t number;
	executor_exported_fn *done;
	void *data;
};

/* A packet that the socket did not take yet. */
struct unsent {
	struct unsent *next;
	int fd; /* ours; -1: none */
	size_t bytes;
	char data[];
};

/* A job that has ended, or (in `failing`) will when its packets are back. */
struct ended {
	struct ended *next;
	struct executor_job *job;
	enum job_end end;
	struct err err;
};

enum { KNOWN_NEST = 1, KNOWN_CODE = 2, KNOWN_LOADED = 4 };

struct executor {
	uv_loop_t *loop;
	struct cache *cache;
	char *self, *device;
	char *env, *spin; /* of its configuration */
	int threads;
	unsigned target;
	uint32_t flights; /* at most FLIGHTS */
	struct executor_events events;
	uint32_t units; /* that its worker does side by side; 0: it has not said */
	bool unusable;	/* its device: why[] */
	bool again;	/* and that may pass */
	uint32_t tries; /* to start it, in a row */
	char why[LIMIT_ERROR_TEXT];
	struct executor_stats stats;

	/* The worker. */
	pid_t pid; /* -1: none */
	int fd;
	int progress_fd;
	struct progress *progress;
	uv_poll_t *poll;
	bool broken;	  /* its socket failed */
	bool hung, stuck; /* the watchdog killed it: it computed, or slept, without end */
	bool pinged;	  /* and has not answered */
	struct unsent *unsent, **unsent_tail;
	/* Of a device's memory: they go with the next packet, whatever it is.  (What is
	 * dropped is nobody's until somebody else wants room, which is such a packet.) */
	struct command waiting[COMMAND_HELD];
	uint32_t nwaiting;
	uint8_t *known; /* [kernel id]: KNOWN_* */
	uint32_t known_cap;
	struct kept_region *region;
	uint32_t nregion, region_cap;
	/* Since a run was completed: of its own doing, and by others' SIGKILL. */
	uint32_t deaths_in_row, kills_in_row;
	struct release *release; /* oldest first */
	struct exporting *exporting;
	uint64_t exported; /* number of the last one */
	int came;	   /* descriptor that came with the packet just read; -1: none */

	/* Work. */
	struct queue *queue;
	struct share_user *user;
	int64_t now;		       /* how far the clocks of users have come that were served */
	struct flight flight[FLIGHTS]; /* oldest first */
	uint32_t nflight;
	uint64_t next_job;
	int64_t shared_until_ns; /* clients have met lately; 0: never */
	uint64_t fresh_most;	 /* bytes of new memory that a packet touches in time (slice.c) */
	char *packet;		 /* COMMAND_BYTES */
	struct ended *ended, **ended_tail, *failing;

	uv_timer_t *restart, *watch, *deliver;
	int64_t patience_ns; /* with a GPU's worker, besides the prediction */
	struct watch watched;
};

int64_t executor_clock(void); /* nanoseconds */
/* End a job: `done` is called from the loop, soon.  The job is in no queue and no
 * flight any more. */
void executor_end(struct executor *x, struct executor_job *job, enum job_end end,
		  const struct err *err);
/* The same once its packets in flight are back. */
void executor_end_later(struct executor *x, struct executor_job *job, const struct err *err);

/* The worker's socket is readable or writable (UV_*). */
void executor_on_socket(struct executor *x, int events);

/* spawn.c: the process.  On failure nothing has changed. */
enum status spawn_worker(struct executor *x, struct err *err) MUST_USE;
/* Kill it, read no more from it, collect its wait status and close the socket;
 * false: it is not over yet (unmapping much memory takes a while), ask again. */
bool spawn_collect(struct executor *x, int *status);
/* The same, waiting for its end. */
void spawn_reap(struct executor *x);
void spawn_send(struct executor *x, const void *packet, size_t bytes, int fd);
void spawn_send_simple(struct executor *x, uint32_t kind, uint32_t id, uint64_t ticket,
		       uint64_t arg, int fd);
/* Next packet: its bytes, 0 when there is none, -1 when the worker has gone. */
ssize_t spawn_receive(struct executor *x, char *buf, size_t size);
void spawn_flush(struct executor *x); /* send what waits; follow with events */

/* turn.c: steps with the extents of a turn; with the largest of any turn that is left. */
void turn_steps(struct executor_job *job, uint32_t turn);
void turn_largest(struct executor_job *job);

/* Step i, with the extents that were set last. */
static inline const struct plan_step *turn_step(const struct executor_job *job, uint32_t i)
{
	return job->own ? &job->own[i] : &job->plan->step[i];
}

/* The kernel of a step for this executor's device; NULL: a library's. */
static inline struct kernel *step_kernel(const struct executor *x, const struct plan_step *s)
{
	return s->kernel[x->target];
}

/* slice.c: points of a kernel step (reduced ones counted), or multiplications. */
uint64_t slice_elements(const struct plan_step *s);
bool slice_known(const struct executor *x, const struct plan_step *s);
uint64_t slice_cost(const struct executor *x, const struct plan_step *s); /* us, corrected */
/* A packet of the job took so long: what its step's next slices are made by. */
void slice_note(struct executor_job *job, const struct flight *f, uint64_t busy_ns);
/* The part of a step that goes into the next packet. */
struct slice {
	int64_t lo, hi, plo, phi; /* as in struct command_step */
	uint8_t split;
	uint64_t elements, cost, fresh;
	bool last;    /* of its step; else */
	int64_t next; /* job->at after it */
};
/* What of job->step fits a packet that holds f already; false: nothing, the step must wait for
 * the next one. */
bool slice_choose(struct slice *out, const struct executor *x, struct executor_job *job,
		  const struct flight *f);
/* Bytes of memory that a packet may be the first to touch; one has, and took so long. */
uint64_t slice_fresh_most(const struct executor *x);
void slice_fresh_note(struct executor *x, const struct flight *f, uint64_t busy_ns);
/* What job->step touches was sent: its memory is like any other from now on. */
void slice_touched(struct executor_job *job);
/* Of the job's next turns, at most n, as many as touch no more of it than a packet may. */
uint32_t slice_fresh_turns(const struct executor *x, const struct executor_job *job, uint32_t n);

/* Room that any step takes at most. */
#define STEP_BYTES_MAX                                                                             \
	(sizeof(struct command_step) +                                                             \
	 LIMIT_NEST_ACCESSES * (sizeof(struct command_place) + 10 * sizeof(int64_t)) +             \
	 LIMIT_NDIM * sizeof(int64_t) + LIMIT_NEST_SCALARS * 2 * sizeof(uint64_t) +                \
	 sizeof(struct plan_call) + CALL_OPERANDS * sizeof(struct command_place))
/* marshal_loop.c: two or more turns of the job that the worker does by itself, from the one on that
 * is to begin, as one step of at most `room` bytes; 0: they go step by step. */
size_t marshal_loop(struct executor *x, struct executor_job *job, struct flight *f, char *at,
		    size_t room);
/* marshal.c */
/* The job's next step, whole or in part, at *at; bytes.  It is not noted as sent. */
size_t marshal_step(char *at, const struct executor *x, const struct executor_job *job,
		    const struct slice *slice);
/* Checks that a step makes in a turn. */
uint32_t marshal_checks(const struct plan_step *s);
void marshal_note(struct flight *f, uint32_t step, uint64_t cost, uint64_t elements);
bool marshal_all_sent(const struct executor_job *job);
/* Fill x->packet and *f with the job's next steps; returns bytes. */
size_t marshal_packet(struct executor *x, struct executor_job *job, struct flight *f);
/* Send nest and code of a kernel that the worker does not know yet. */
void marshal_kernel(struct executor *x, struct kernel *k);
/* The same for what earlier workers found by trials. */
void marshal_geometry(struct executor *x, const struct kernel *k);

/* schedule.c */
/* Have several clients asked for the CPU at once, lately? */
bool schedule_shared(const struct executor *x);
void schedule_add(struct executor *x, struct executor_job *job, bool front);
bool schedule_remove(struct executor *x, struct executor_job *job); /* was it queued? */
void schedule_send(struct executor *x); /* as many packets as the worker may hold */
/* A packet took so long. */
void schedule_landed(struct executor *x, const struct flight *f, uint64_t busy_ns);
/* Whose next job may send and should; NULL: nobody's. */
struct queue *schedule_next(const struct executor *x);
struct executor_job *schedule_first(const struct executor *x); /* any that is queued */
uint64_t schedule_held(const struct executor *x); /* jobs queued of clients that are held */
void schedule_free(struct executor *x);
/* See executor_load. */
void schedule_load(const struct executor *x, uint64_t client, struct executor_load *out);
/* See executor.h; what one has, NULL: nobody of that number was here. */
void schedule_client_set(struct executor *x, const struct executor_client *c);
void schedule_client_drop(struct executor *x, uint64_t client);
const struct share *schedule_client(const struct executor *x, uint64_t client);
const struct share *schedule_user(const struct executor *x, uint32_t uid);

/* release.c: see executor_release */
bool release_ask(struct executor *x, uint32_t region, const struct command_range *r,
		 void (*done)(void *data), void *data) MUST_USE;
void release_answered(struct executor *x, const struct command *answer);
void release_all(struct executor *x); /* the worker has ended */

/* export.c: see executor_device_export */
bool export_ask(struct executor *x, uint32_t region, executor_exported_fn *done,
		void *data) MUST_USE;
void export_answered(struct executor *x, const struct command_export *answer);
void export_all(struct executor *x); /* the worker has ended */

/* recover.c */
void recover_death(struct executor *x); /* its socket is broken */
void recover_restart(uv_timer_t *t);
/* Note in the job that its tearing steps among these have begun. */
void recover_mark_torn(struct executor_job *job, const struct flight *f, uint32_t last_step);

#endif
