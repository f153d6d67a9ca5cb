/* SPDX-License-Identifier: Apache-2.0 */
/* brazed.h - the daemon on one page.
 *
 *   wire/    bytes and fds in         -> checked requests
 *   trace/   requests                 -> arrays, versions, pending ops
 *   plan/    a demand                 -> partition -> plan (from the plan cache, or
 *   nest/                                made by the passes on the planner thread)
 *   cache/   a nest                   -> kernel; emit/ and compile/ make its code
 *   run/     plan bound to storage    -> the worker process and back
 *   future/  stored or failed         -> the reply a client waits for
 *   ctl/     what operators ask
 *
 * pipeline.c calls these in this order; it and ctl/ are the only ones that see
 * all of them.  One loop thread owns everything below. */
#ifndef BRAZED_H
#define BRAZED_H

#include "future/ticket.h"
#include "trace/trace.h"

struct cache;
struct config;
struct conn;
struct job;
struct decoder;
struct executor;
struct partition;
struct plan;
struct plancache;
struct planner;
struct uv_idle_s;
struct uv_loop_s;

#define HELLO_UNFUSED 2u /* in a hello's flags: one kernel for each operation */

/* Figures a client's operator sees. */
struct session_stats {
	uint64_t demands, plan_hits, plan_misses, busy_ns, queue_wait_ns, steps, refusals;
};

/* One client: its arrays, its waits, its work. */
struct session {
	struct brazed *d;
	struct session *next, *prev;
	uint64_t id;
	uint32_t pid, uid, flags; /* flags: of the hello */
	uint64_t seq;		  /* last request */
	char name[64];
	struct conn *conn; /* NULL once the connection is over */
	struct arena *arena;
	uint32_t region; /* the arena, for the worker */
	struct trace trace;
	struct ticket_list tickets;
	struct job *planning; /* the one partition being planned */
	struct job *running;  /* bound and submitted, newest first */
	uint32_t jobs;	      /* planning or running */
	bool chore;	      /* in brazed.chores */
	struct session *next_chore;
	bool welcomed, cutting, cut_failed, paused, pumping;
	struct session_stats stats;
};

/* What a turn of the loop has handled, for those who ask why it was long. */
struct turn_work {
	uint32_t packets, plans, jobs, chores;
};

struct brazed {
	struct uv_loop_s *loop;
	struct cache *cache;
	struct plancache *plans;
	struct planner *planner;
	struct executor *executor;
	struct decoder *decoder;
	struct session *sessions;
	struct session *chores; /* with work for later turns, oldest first */
	struct uv_idle_s *idle; /* runs them */
	uint32_t nsession;
	uint64_t next_session, quota_bytes, arena_bytes;
	uint64_t started_ns, longest_iteration_ns, longest_wall_ns; /* of the loop's turns */
	struct turn_work turn;					    /* of the turn under way */
	uint64_t planning_us, longest_planning_us;
	uint64_t refusals[32]; /* by enum fuse_reason */
	bool dump_source;
	void (*became_idle)(struct brazed *d); /* last session ended; may be NULL */
};

/* Serve until a signal, or until nobody is left to serve; `ready` is called once
 * clients can connect.  Call from main, once. */
enum status brazed_run(const struct config *config, void (*ready)(void), struct err *err);

/* Before the first client, and after the last session has ended. */
void pipeline_start(struct brazed *d);
void pipeline_finish(struct brazed *d);
/* A client connected; takes the socket. */
void pipeline_accept(struct brazed *d, int fd, uint32_t uid, uint32_t pid);
/* Close every connection; sessions end as their jobs do. */
void pipeline_stop(struct brazed *d);
/* Free a plan that the plan cache let go. */
void pipeline_release_plan(void *d, struct plan *plan);

#endif
