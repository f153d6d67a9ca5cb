/* SPDX-License-Identifier: Apache-2.0 */
/* ctl/ctl.h - the status socket: HTTP/1.1 over a Unix socket, for operators.
 *
 * The HTTP library serves from its own thread and never touches the daemon's
 * state: it asks the loop thread for a snapshot, a JSON object, and waits a
 * bounded time.  Everything here but the HTTP thread's work runs on the loop
 * thread.  Bodies are at most LIMIT_STATUS_BYTES; longer lists lose their tail
 * and say "truncated". */
#ifndef BRAZE_CTL_H
#define BRAZE_CTL_H

#include "ops.h"

struct cJSON;
struct uv_loop_s;
struct ctl;

enum ctl_page {
	CTL_STATUS,
	CTL_CLIENTS,
	CTL_KERNELS,
	CTL_KERNEL,
	CTL_EVENTS,
	CTL_HISTORY,
	CTL_PUBLISHED,
	CTL_LIMITS
};

#define CTL_LIST_MAX	 1000 /* a source lists at most this many rows */
#define CTL_WAIT_MS	 2000 /* then the answer is 503 */
#define CTL_CONNECTIONS	 32   /* more are refused */
#define CTL_IDLE_SECONDS 10   /* a silent connection is closed */

/* What may be done by POST: /cache/clear, /drain, /limits, and /sessions/ID/WORD with a word of
 * orders.def. */
enum ctl_act {
	CTL_CLEAR_CACHE,
	CTL_DRAIN,
	CTL_LIMIT,
#define ORDER(id, word, done) CTL_##id,
#include "orders.def"
#undef ORDER
	CTL_ACTS
};

#define CTL_ACTOR_NAME	 32
#define CTL_ORDER_LIMITS 256
#define CTL_ORDER_BINARY 512

/* Who asks, by the kernel's word; the name is the system's for that user, "" for none. */
struct ctl_actor {
	uint32_t uid, pid;
	char name[CTL_ACTOR_NAME];
};

struct ctl_order {
	enum ctl_act act;
	uint32_t id; /* of a session */
	struct ctl_actor who;
	bool refused; /* neither the daemon's user nor root: only to be noted */
	/* Of CTL_LIMIT: "user", "group" or "session", whose, and "weight=3 bytes=4G". */
	char scope[16], name[LIMIT_SESSION_NAME], limits[CTL_ORDER_LIMITS];
	char binary[CTL_ORDER_BINARY]; /* of CTL_DRAIN: the program that is to go on, "" the
					  installed */
};

struct ctl_source {
	void *data;
	/* Fill `out`, an empty object, in a time that does not stall the loop:
	 *   STATUS   the paths of stats.def (ctl_put), and version, pid, worker_pid,
	 *            socket, cache_dir, compiler, device
	 *   CLIENTS  {"clients": [{session, pid, uid, name, doing, arrays, bytes, pending,
	 *            ops, demands, device_seconds, queue_wait_seconds, plan_hits,
	 *            plan_misses, fusion_refusals}]}
	 *   KERNELS  {"kernels": [{id, state, strikes, blame, tier, runs, elements, busy_seconds,
	 *            compile_seconds, from_disk, origin_session, key}]}; id
	 *            not 0: without key, which may be long
	 *   KERNEL   one such row of the kernel `id` and source, reasons (an array of
	 *            text), error; left empty when there is none
	 *   HISTORY  {every_seconds, kept, fields: names, samples: [numbers, as named]}, of
	 *            samples after `id`, seconds since 1970
	 *   PUBLISHED  {"published": [{uid, name, access, number, dtype, shape, bytes, version,
	 *            holders, opened, session}]}
	 *   LIMITS   {"rules": [{scope, name, from, known, limits}], "users": [{uid,
	 *            device_seconds, limits, sessions, what it has by name of limit}]}
	 *   EVENTS   nothing; "events" holds what ctl_note was told */
	void (*snapshot)(void *data, enum ctl_page page, uint32_t id, struct cJSON *out);
	/* Do it, or note who was refused; `out`, an empty object, tells of what was done.
	 * E_INVALID: it names nothing that is there, or says nothing sensible.  NULL: nothing can
	 * be done here. */
	enum status (*order)(void *data, const struct ctl_order *o, struct cJSON *out,
			     struct err *err);
};

/* Listen on socket_path, mode 0600; a stale socket there is replaced.  `source`
 * is copied. */
enum status ctl_create(struct ctl **out, struct uv_loop_s *loop, const char *socket_path,
		       const struct ctl_source *source, struct err *err) MUST_USE;
/* Stop serving and remove the socket.  The loop must run on until its close
 * callbacks are done; NULL is fine. */
void ctl_destroy(struct ctl *c);

/* Remember an event for /events; the last CTL_EVENTS_KEPT are kept. */
#define CTL_EVENTS_KEPT 256
void ctl_note(struct ctl *c, const char *topic, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Put a number at a path such as "plans.hits", making the objects on the way. */
void ctl_put(struct cJSON *root, const char *path, double value);
/* The first path of stats.def that /status lacks; NULL when it is complete. */
const char *ctl_missing(const struct cJSON *status);

#endif
