/* SPDX-License-Identifier: Apache-2.0 */
/* brazed.h - the daemon on one page.
 *
 *   wire/    bytes and fds in         -> checked requests
 *   trace/   requests                 -> arrays, versions, pending ops
 *   plan/    a demand                 -> partition -> plan (from the plan cache, or
 *   nest/                                made by the passes)
 *   cache/   a nest                   -> kernel; emit/ and compile/ make its code
 *   run/     plan bound to storage    -> the worker process and back
 *   future/  stored or failed         -> the reply a client waits for
 *   ctl/     what operators ask
 *
 * pipeline.c calls these in this order, with session.c (who is connected), choose.c
 * (which device a planned job goes to), dispatch.c (when) and explain.c (what was done,
 * for who asks); lend.c gives clients memory of a device, carry.c values from one to another,
 * isolate.c users their own workers; publish.c has arrays of several clients, kernels.c has texts
 * compiled for them. They and ctl/ are the only ones that see all of them.  One loop thread owns
 * everything below. */
#ifndef BRAZED_H
#define BRAZED_H

#include <stddef.h>

#include "future/ticket.h"
#include "publish.h"
#include "rules.h"
#include "run/device.h"
#include "trace/trace.h"

struct account;
struct asked;
struct audit;
struct cache;
struct cJSON;
struct config;
struct conn;
struct decode_about;
struct decode_export;
struct decode_hello;
struct decoder;
struct history;
struct job;
struct kernel;
struct partition;
struct plan;
struct plancache;
struct planner;
struct uv_idle_s;
struct uv_loop_s;
struct uv_timer_s;

#define HELLO_UNFUSED 2u /* in a hello's flags: one kernel for each operation */

#define SESSION_WHERE 96

/* Figures a client's operator sees. */
struct session_stats {
	uint64_t demands, plan_hits, plan_misses, busy_ns, queue_wait_ns, planning_ns, ran, steps,
		refusals;
	uint64_t kernel_hits, kernel_misses; /* of the nests of its new plans */
	uint64_t before_ns; /* that devices worked for it when other programs ran here */
};

/* Time of compilers that somebody used, less what has been forgiven since. */
struct budget {
	uint64_t used_ns, at_ns;
};

/* One client: its arrays, its waits, its work. */
struct session {
	struct brazed *d;
	struct session *next, *prev;
	uint64_t id;
	uint32_t pid, uid, flags; /* flags: of the hello */
	uint32_t ngroup;	  /* its groups when it connected, its own first */
	uint32_t *group;
	uint64_t seq;	   /* last request */
	uint64_t near;	   /* operations that it computed itself, by that */
	uint64_t since_ns; /* when it connected */
	/* What it says of itself, clean for a terminal; "" for nothing. */
	char name[LIMIT_SESSION_NAME], program[LIMIT_SESSION_NAME], job[LIMIT_SESSION_NAME];
	char file[LIMIT_SESSION_TEXT], environment[LIMIT_SESSION_TEXT];
	char where[SESSION_WHERE];    /* in its program: what it asked for last */
	struct account *account;      /* its user's; account.c */
	uint64_t limit[LIMITS_COUNT]; /* its own, besides its user's */
	struct budget compiled;
	bool held;						    /* an operator has paused it */
	char paused_by[SESSION_WHERE], cancelled_by[SESSION_WHERE]; /* the operator, in words */
	struct conn *conn; /* NULL once the connection is over */
	struct arena *arena;
	uint32_t region; /* the arena, for the worker */
	struct trace trace;
	struct ticket_list tickets;
	struct job *planning; /* the one partition being planned */
	struct job *waiting;  /* planned, not started: oldest first */
	struct job *running;  /* bound and submitted, newest first */
	uint64_t next_job;
	uint32_t jobs;		     /* planning, waiting or running; transfers, too */
	char visible[LIMIT_VISIBLE]; /* as in struct decode_hello */
	uint8_t device;		     /* that it asked for, from 1 on; 0: none */
	uint8_t gpu; /* where its work went last by a choice of several, as `device`; 0: nowhere */
	uint64_t astray; /* its runs with loops that were to go to a GPU, and did not */
	bool chore;	 /* in brazed.chores */
	struct session *next_chore;
	bool tell;			 /* what was spent on it, with its answers, ... */
	uint64_t told_from[SPENT_WORDS]; /* ... since so much was */
	bool welcomed, cutting, cut_failed, full, paused, pumping, dispatching;
	struct session_stats stats;
};

/* What a turn of the loop has handled, for those who ask why it was long. */
struct turn_work {
	uint32_t packets, plans, jobs, chores;
	uint64_t operations; /* recorded, and looked at to cut out what is wanted */
};

/* Of programs that went on with other programs' clients, in this process. */
struct takeover_stats {
	uint64_t count, refused;    /* done so far; and those that were not to be */
	uint64_t pause_ns;	    /* that clients waited, the last time */
	char why[LIMIT_ERROR_TEXT]; /* the last one was refused */
};

struct brazed {
	struct uv_loop_s *loop;
	struct cache *cache;
	struct plancache *plans;
	struct grids *grids; /* loops of kernels that sessions or plans have */
	struct planner *planner;
	struct device device[LIMIT_DEVICES]; /* the first is the CPU */
	uint32_t ndevice;
	struct device *own; /* of users, with isolation: isolate.c */
	bool isolated;
	struct uv_timer_s *leaving;  /* ends those whose users have gone */
	const struct config *config; /* workers are started by */
	const char *self;
	uint8_t preferred; /* device for clients that ask for none, from 1 on; 0: by cost */
	bool crowded;	   /* a job waits for room in a device's memory */
	bool reading;	   /* one waits for code from the disk, until `patience` ends */
	bool unpaid;	   /* there was a kernel whose compiler nobody paid for */
	bool draining;	   /* about to end: new clients are told so */
	bool resting;	   /* about to be handed over: nothing new begins */
	struct decoder *decoder;
	struct history *history;   /* of the last hour, for the status page */
	struct account *accounts;  /* of all users who were here */
	const struct rules *rules; /* of brazed.conf */
	struct rules ruled;	   /* of brazectl */
	struct audit *audit;	   /* what operators did: control.c */
	struct shares shares;	   /* memory that sessions can share */
	struct published published;
	struct asked *asked; /* kernels of text that clients wait for: kernels.c */
	struct session *sessions;
	struct session *chores; /* with work for later turns, oldest first */
	struct uv_idle_s *idle; /* runs them */
	struct uv_timer_s *patience;
	uint32_t nsession;
	uint64_t next_session, quota_bytes, arena_bytes;
	uint64_t started_ns, longest_iteration_ns, longest_wall_ns; /* of the loop's turns */
	struct turn_work turn;					    /* of the turn under way */
	uint32_t most_packets;					    /* of any turn */
	uint64_t most_operations;
	uint64_t planning_us, longest_planning_us;
	uint64_t refusals[32]; /* by enum fuse_reason */
	bool dump_source;
	char notice[LIMIT_NOTICE]; /* what every client's user is told; "" for nothing */
	void (*became_idle)(struct brazed *d); /* last session ended; may be NULL */
	/* Have another program go on in this process; NULL: there is none. */
	enum status (*hand_over)(struct brazed *d, const char *binary, struct err *err);
	struct takeover_stats takeover;
};

/* Serve until a signal, or until nobody is left to serve; `ready` is called once
 * clients can connect.  Call from main, once. */
enum status brazed_run(struct config *config, void (*ready)(void), struct err *err);

/* ---- session.c: who is connected ---- */

/* Before the first client, and after the last session has ended. */
void session_start_all(struct brazed *d);
void session_finish_all(struct brazed *d);
/* A client connected; takes the socket. */
void session_accept(struct brazed *d, int fd, uint32_t uid, uint32_t pid);
/* A session that was handed over, with this connection: the caller fills in what it was, then
 * calls session_attach.  NULL: the descriptor, which it takes, cannot be watched. */
struct session *session_restore(struct brazed *d, uint64_t id, int fd);
/* The devices know its arena. */
enum status session_attach(struct session *s, struct err *err) MUST_USE;
/* Close every connection; sessions end as their jobs do. */
void session_stop_all(struct brazed *d);
/* Close those for which nothing is asked and nothing runs; how many are left. */
uint32_t session_stop_idle(struct brazed *d);
/* Tell the client why and close. */
void session_refuse(struct session *s, const struct err *err);
enum status session_welcome(struct session *s, const struct decode_hello *hello,
			    struct err *err) MUST_USE;
/* The client tells who it is. */
void session_about(struct session *s, const struct decode_about *about);
/* What is left of its user's quota for this connection, after others' use. */
void session_quota(struct session *s);
/* One job or transfer more, or (-1) less. */
void session_jobs(struct session *s, int more);
/* Devices do nothing for it any more, or go on. */
void session_hold(struct session *s, bool held);
/* Go on with this session in a later turn of the loop. */
void session_later(struct session *s);
/* NULL: it is over. */
struct session *session_find(const struct brazed *d, uint64_t id);
/* What it holds, in the arena and beside it, with what the records of that cost. */
uint64_t session_bytes(const struct session *s);
/* May it have this device?  E_DEVICE: its CUDA_VISIBLE_DEVICES leaves that out. */
bool session_sees(const struct session *s, const struct device *dev);
enum status session_blind(const struct session *s, const struct device *dev, struct err *err);
/* Nanoseconds that devices have worked for it. */
uint64_t session_worked(const struct session *s);
/* Whose trace it is. */
static inline struct session *session_of(const struct trace *t)
{
	return (struct session *)((char *)(uintptr_t)t - offsetof(struct session, trace));
}

/* ---- account.c: how much of what a user and a session may have ---- */

/* When a session's client is there; its groups are the user's from now on. */
void account_join(struct session *s);
void account_leave(struct session *s);
void account_finish_all(struct brazed *d);
/* Its name has changed, or the rules have. */
void account_apply(struct session *s);
void account_apply_all(struct brazed *d);
/* E_LIMIT, E_NOMEM: with so much more of this the session, or its user, would be over the limit,
 * which the message names, with those who hold it: sessions of its own user only. */
enum status account_check(struct session *s, enum limit_id id, uint64_t more,
			  struct err *err) MUST_USE;
/* Bytes of arrays that the session's user may hold. */
uint64_t account_bytes(const struct session *s);
/* Pending operations that force a cut of this session's trace. */
uint32_t account_cut(const struct session *s);
/* The words for what bounds the bytes of a session's arrays. */
void account_bound(const struct session *s, char *buf, size_t n);
/* E_LIMIT: its compilers have had their time, or its user's. */
enum status account_check_compile(const struct session *s, struct err *err) MUST_USE;
/* The session uses the kernel: if nobody was ready to pay for its compiler, it does. */
void account_pay(struct session *s, struct kernel *k);
/* The calls of cache_on_compile. */
bool account_may_compile(void *d, const struct kernel *k, char *why, size_t n);
void account_compiled(void *d, const struct kernel *k, uint64_t ns);
/* The page /limits: "rules" and "users". */
void account_put(const struct brazed *d, struct cJSON *out);

/* ---- pipeline.c: the stages in order ---- */

/* A ticket for these versions (takes the references); NULL: there are too many, and the client is
 * told.  Without the last nalso where it is only these. */
struct ticket *pipeline_wait(struct session *s, enum ticket_kind kind, uint64_t id,
			     struct version **want, uint32_t n, uint32_t nanswer, uint32_t nalso);
struct packet;
void pipeline_packet(struct session *s, struct packet *p);
/* Start everything that the session's waits want and that can start now. */
void pipeline_pump(struct session *s);
/* A job has settled: answer who waited; `fresh`: it is done. */
void pipeline_answer(struct session *s, const struct job *fresh);
/* There is no room for what is asked: the waits end, the ops stay pending. */
void pipeline_no_room(struct session *s, const struct err *err);
/* An operator (s->cancelled_by) ends all that the session waits for. */
void pipeline_cancel_all(struct session *s);
/* Free a plan that the plan cache let go. */
void pipeline_release_plan(void *d, struct plan *plan);

/* ---- choose.c: which device ---- */

/* The device that the job asks for, or the cheaper one; call once for a job. */
struct device *choose_for(struct job *j);
/* The GPU that work of the session which lies nowhere would go to by cost; NULL: there is none. */
struct device *choose_gpu(const struct session *s);
/* What was decided for a plan between the CPU and this GPU; NULL: nothing yet. */
const struct place *choose_place(const struct plan *plan, unsigned gpu, unsigned where);
/* Why this one of several, the last time; "": it was not. */
const char *choose_among(const struct plan *plan, unsigned gpu, unsigned where);
/* To the CPU with a job that its device cannot run. */
void choose_cpu(struct job *j);
/* Are the plan's kernels loaded by the device's worker, or failed?  They are asked for if
 * they are not there.  Loaded before they are named, so that no run fails half-way for
 * want of one. */
bool choose_kernels_there(const struct job *j, const struct device *dev);
/* A kernel of the plan that this device cannot have or must not run; NULL: none. */
const struct kernel *choose_refused(const struct plan *plan, const struct device *dev);

/* ---- explain.c: what was done ---- */

/* How the value was made, as lines; what does not fit is left out. */
void explain_version(char *buf, size_t n, const struct brazed *d, const struct version *v);

/* ---- kernels.c: machine code for clients ---- */

/* Answers, now or later, with the code of a kernel's text. */
void kernels_compile(struct session *s, uint64_t ticket, const char *text);
/* The code is there, or will not come. */
void kernels_ready(struct brazed *d, const struct kernel *k);
/* Kernels that the session waits for. */
unsigned kernels_asked(const struct session *s);
/* The session waits no more, and is told why if that is not NULL. */
void kernels_forget(struct session *s, const struct err *why);
/* What it waits for. */
void kernels_each(const struct session *s,
		  void (*fn)(void *data, uint64_t ticket, const char *text), void *data);

/* ---- lend.c: memory of devices for clients' own libraries ---- */

/* Answers, now or later. */
enum status lend_ask(struct session *s, const struct decode_export *r, struct err *err) MUST_USE;

/* ---- carry.c: values from device to device ---- */

/* Begin to bring a stored value, which the host has not, to this device from another one that it
 * reaches (device_reaches) and where there is room.  E_...: that cannot be now. */
enum status carry_value(struct session *s, struct storage *st, struct device *to,
			struct err *err) MUST_USE;

/* ---- isolate.c: each user's own workers of GPUs ---- */

void isolate_open(struct brazed *d);
void isolate_close(struct brazed *d);
/* All devices with a worker: those that have names, then users' own; NULL: the first, the last. */
struct device *isolate_next(const struct brazed *d, const struct device *after);
/* The session's device of this index: the named one, or its user's own; NULL: he has none. */
struct device *isolate_own(const struct session *s, uint32_t index);
/* The same, which is made if it is not there.  E_LIMIT: too many users have one. */
enum status isolate_enter(struct device **out, struct session *s, struct device *root,
			  struct err *err) MUST_USE;
/* The job's device (choose_for), with isolation its user's own.  E_...: it was asked for, and
 * cannot be had. */
enum status isolate_choose(struct job *j, struct err *err) MUST_USE;
/* A session is over. */
void isolate_left(struct brazed *d);
/* Of a named device, with all that are users' own. */
void isolate_stats(const struct device *root, struct executor_stats *out);
void isolate_load(const struct device *dev, uint64_t client, struct executor_load *out);

/* ---- dispatch.c: a planned job to a device and back ---- */

/* Make the devices that the configuration names ("auto", "cpu", "cuda:0,cuda:1"). */
enum status dispatch_open(struct brazed *d, const char *self, const struct config *config,
			  struct err *err) MUST_USE;
/* The same without starting their workers: what they are called. */
void dispatch_name_devices(struct brazed *d, const struct config *config);
void dispatch_close(struct brazed *d);
/* Its worker. */
enum status dispatch_start_device(struct device *dev, struct err *err) MUST_USE;
/* Device of this name, from 1 on; 0: there is none. */
uint8_t dispatch_device(const struct brazed *d, const char *name);
/* A transfer of the session has ended, which was one of its jobs. */
void dispatch_transferred(struct session *s);
/* A job is over, whether it has run or not: settle, answer, free. */
void dispatch_end(struct job *j, enum job_end end, const struct err *err);
/* Takes j with a reference to its plan. */
void dispatch_job(struct job *j, struct plan *plan);
/* Start what waits and can. */
void dispatch_waiting(struct session *s);
void dispatch_all(struct brazed *d);
/* End what has not been started. */
void dispatch_withdraw(struct session *s);
/* Have all that lies on devices only brought to the host; what is still away.  *err: there is no
 * room for it. */
uint32_t dispatch_bring_home(struct brazed *d, struct err *err);
/* End what can be ended: the client does not want it any more. */
void dispatch_cancel(struct session *s);
/* Bring a stored value to the host; pipeline_answer follows. */
enum status dispatch_fetch(struct session *s, struct storage *st, struct err *err) MUST_USE;
/* A kernel's code is there, or will never be; or it left the cache. */
void dispatch_kernel_ready(void *d, struct kernel *k);
void dispatch_kernel_dropped(void *d, uint32_t id);

#endif
