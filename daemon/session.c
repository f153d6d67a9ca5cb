/* SPDX-License-Identifier: Apache-2.0 */
/* session.c - who is connected: from the socket to the last trace of a client.
 *
 * A session outlives its connection until its last job has let go of its storage.
 * What would make one turn of the loop long (freeing a large trace, starting much
 * work) is done in pieces, one for one session in each turn. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/log.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "base/visible.h"
#include "brazed.h"
#include "cache/cache.h"
#include "future/reply.h"
#include "op_table.h"
#include "run/job.h"
#include "takeover.h"
#include "wire/conn.h"
#include "wire/decode.h"

static void on_chore(uv_idle_t *idle);

void session_later(struct session *s)
{
	struct session **at = &s->d->chores;

	if (s->chore || !s->d->idle) /* or all is over */
		return;
	while (*at)
		at = &(*at)->next_chore;
	*at = s;
	s->chore = true;
	s->next_chore = NULL;
	uv_idle_start(s->d->idle, on_chore);
}

static void session_free(struct session *s)
{
	struct brazed *d = s->d;

	if (!trace_clear_some(&s->trace) || !trace_finish_some(&s->trace)) {
		session_later(s);
		return;
	}
	for (uint32_t i = 0; s->arena && i < d->ndevice; i++) {
		const struct device *dev = isolate_own(s, i);

		if (dev && dev->executor)
			executor_region_drop(dev->executor, s->region);
	}
	if (s->arena)
		arena_destroy(s->arena);
	*(s->prev ? &s->prev->next : &d->sessions) = s->next;
	if (s->next)
		s->next->prev = s->prev;
	d->nsession--;
	account_leave(s);
	log_info("session", "%llu (%s, pid %u) ended", (unsigned long long)s->id, s->name, s->pid);
	free(s->group);
	free(s);
	if (!d->nsession && d->became_idle)
		d->became_idle(d);
}

void session_jobs(struct session *s, int more)
{
	s->jobs += (uint32_t)more;
	if (!s->held)
		cache_hold(s->d->cache, more > 0);
}

void session_hold(struct session *s, bool held)
{
	/* Compilers wait for jobs that end soon: these do not. */
	for (uint32_t i = 0; i < s->jobs && s->held != held; i++)
		cache_hold(s->d->cache, !held);
	s->held = held;
	account_apply(s);
}

/* The connection is over: nothing of the client's is wanted any more.  The
 * session itself goes when its last job has let go of its storage. */
static void session_end(struct session *s)
{
	s->conn = NULL;
	session_hold(s, false); /* what cannot be cancelled must end */
	if (s->arena) {
		arena_leave(s->arena);
		publish_leave(s);
	}
	while (s->tickets.first)
		ticket_remove(&s->tickets, s->tickets.first, &s->trace);
	kernels_forget(s, NULL);
	dispatch_cancel(s);
	if (!s->jobs)
		session_later(s);
}

static void on_chore(uv_idle_t *idle)
{
	struct brazed *d = idle->data;
	struct session *s = d->chores;

	d->turn.chores++;
	d->chores = s->next_chore;
	s->chore = false;
	if (!d->chores)
		uv_idle_stop(idle);
	if (s->conn)
		pipeline_pump(s);
	else if (!s->jobs)
		session_free(s);
}

void session_refuse(struct session *s, const struct err *err)
{
	log_warn("session", "%llu (%s, pid %u): %s", (unsigned long long)s->id, s->name, s->pid,
		 err->text);
	reply_goodbye(s->conn, err);
	conn_close(s->conn);
	session_end(s);
}

/* What the user's other connections hold is not this one's any more; but a greedy
 * one leaves each of the others half of an even share. */
void session_quota(struct session *s)
{
	/* Memory that readers keep counts for who made it. */
	uint64_t others = share_bytes(&s->d->shares, s->uid, &s->trace);
	uint64_t quota = account_bytes(s), own = s->limit[LIMITS_bytes], left, share, n = 1;

	for (const struct session *o = s->d->sessions; o; o = o->next) {
		struct arena_stats stats;

		if (o == s || o->uid != s->uid || !o->arena)
			continue;
		arena_get_stats(o->arena, &stats);
		others += stats.live_bytes + o->trace.export_bytes + trace_charge(&o->trace);
		n++;
	}
	left = others < quota ? quota - others : 0;
	share = quota / (2 * n);
	s->trace.quota_bytes = left > share ? left : share;
	if (own && own < s->trace.quota_bytes)
		s->trace.quota_bytes = own;
}

static void whose_quota(const struct trace *t, char *buf, size_t n)
{
	account_bound(session_of(t), buf, n);
}

uint64_t session_bytes(const struct session *s)
{
	return s->arena ? trace_live(&s->trace) + trace_charge(&s->trace) : 0;
}

uint64_t session_worked(const struct session *s)
{
	uint64_t ns = s->stats.before_ns;

	for (uint32_t i = 0; i < s->d->ndevice; i++) {
		const struct device *dev = isolate_own(s, i);

		if (dev && dev->executor)
			ns += executor_client_busy(dev->executor, s->id);
	}
	return ns;
}

struct session *session_find(const struct brazed *d, uint64_t id)
{
	struct session *s = d->sessions;

	while (s && s->id != id)
		s = s->next;
	return s;
}

/* ---- The beginning ---- */

static enum status check_hello(const struct decode_hello *h, struct err *err)
{
	unsigned ops = h->ops ? h->ops : OP_TABLE_FIRST;

	if (h->major != BRAZE_PROTO_MAJOR)
		return err_set(err, E_VERSION,
			       "client speaks protocol %u, this daemon (%s) speaks %d: "
			       "install matching versions",
			       h->major, BRAZE_DAEMON_VERSION, BRAZE_PROTO_MAJOR);
	if (ops > op_table_length())
		return err_set(err, E_VERSION,
			       "the client knows operations that this daemon (%s) does not, since "
			       "it runs an older program: brazectl drain has the installed one go "
			       "on in its place, and nobody loses anything",
			       BRAZE_DAEMON_VERSION);
	if (h->op_table != op_table_prefix(ops))
		return err_set(err, E_VERSION,
			       "client and daemon (%s) have different operation tables: "
			       "install matching versions",
			       BRAZE_DAEMON_VERSION);
	return OK;
}

/* The device that the client asks for; none: the daemon's choice. */
bool session_sees(const struct session *s, const struct device *dev)
{
	bool unknown = dev->state == DEVICE_STARTING && !*dev->uuid;
	int index = visible_index(getenv("CUDA_VISIBLE_DEVICES"), device_ordinal(dev));

	return !dev->index || *s->visible != '=' ||
	       visible_allows(s->visible + 1, index, unknown ? NULL : dev->uuid);
}

enum status session_blind(const struct session *s, const struct device *dev, struct err *err)
{
	return err_set(
		err, E_DEVICE,
		"this program's CUDA_VISIBLE_DEVICES (\"%.200s\") does not leave it %s of the "
		"daemon",
		s->visible + 1, dev->name);
}

static enum status choose_device(struct session *s, const char *name, struct err *err)
{
	if (!*name || !strcmp(name, "auto"))
		return OK;
	s->device = dispatch_device(s->d, name);
	if (!s->device)
		return err_set(err, E_DEVICE,
			       "this daemon has no device \"%.32s\": start it with --device, or "
			       "leave BRAZE_DEVICE empty",
			       name);
	if (!session_sees(s, &s->d->device[s->device - 1]))
		return session_blind(s, &s->d->device[s->device - 1], err);
	return OK;
}

/* How many devices' workers hold pages of this part of the arena. */
static uint32_t ask_devices(void *data, const struct extent *e, void *punch)
{
	struct session *s = data;
	struct command_range r = {e->offset, e->bytes};
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->d->ndevice; i++) {
		const struct device *dev = isolate_own(s, i);

		n += dev && dev->executor &&
		     executor_release(dev->executor, s->region, &r, arena_released, punch);
	}
	return n;
}

enum status session_attach(struct session *s, struct err *err)
{
	struct brazed *d = s->d;
	enum status st = OK;

	s->trace.bound = whose_quota;
	s->trace.drop_mirror = mirror_drop;
	s->trace.ndevice = d->ndevice;
	s->trace.uid = s->uid;
	s->trace.shares = &d->shares;
	s->region = (uint32_t)s->id;
	arena_on_punch(s->arena, ask_devices, s);
	for (uint32_t i = 0; i < d->ndevice && !st; i++) {
		const struct device *dev = isolate_own(s, i);

		if (dev && dev->executor)
			st = executor_region_add(dev->executor, s->region, arena_fd(s->arena),
						 arena_bytes(s->arena), err);
	}
	return st;
}

/* It counts as what the session holds: a small part of what that may have. */
static uint64_t first_lease(const struct session *s)
{
	uint64_t part = s->limit[LIMITS_bytes] / 4 / HOST_ALIGN_LARGE * HOST_ALIGN_LARGE;

	return part && part < LIMIT_LEASE_BYTES ? part : LIMIT_LEASE_BYTES;
}

static enum status make_arena(struct session *s, struct extent *lease, struct err *err)
{
	struct brazed *d = s->d;
	enum status st = arena_create(&s->arena, d->loop, d->arena_bytes, err);

	if (st)
		return st;
	trace_init(&s->trace, s->arena, account_bytes(s));
	st = session_attach(s, err);
	return st ? st : arena_lease(s->arena, lease, first_lease(s), err);
}

/* A line that the client's user is to know. */
static const char *notice_for(const struct brazed *d)
{
	if (*d->notice || !takeover_is_due())
		return d->notice;
	return "the brazed that runs is older than the one that is installed by now: `brazectl "
	       "drain` has that one go on in its place, and nobody loses anything";
}

enum status session_welcome(struct session *s, const struct decode_hello *hello, struct err *err)
{
	const char *device[LIMIT_DEVICES];
	struct brazed *d = s->d;
	struct extent lease;
	size_t n = 0;
	enum status st = check_hello(hello, err);

	text_clean(s->visible, sizeof s->visible, hello->visible);
	if (!st)
		st = choose_device(s, hello->device, err);
	if (st)
		return st;
	text_clean(s->name, sizeof s->name, hello->name);
	account_apply(s);
	s->flags = hello->flags;
	st = make_arena(s, &lease, err);
	if (st)
		return st;
	s->welcomed = true;
	if (hello->minor >= MINOR_SHARED)
		s->trace.share_from = LIMIT_SHARE_BYTES;
	/* Numbers are all clients' alike; what one may not have has no name for it. */
	for (uint32_t i = 0; i < d->ndevice; i++)
		device[n++] = session_sees(s, &d->device[i]) ? d->device[i].name : "";
	reply_welcome(s->conn, s->id, s->arena, &lease, device, n, notice_for(d));
	log_info("session", "%llu (%s, pid %u) connected", (unsigned long long)s->id, s->name,
		 s->pid);
	return OK;
}

void session_about(struct session *s, const struct decode_about *about)
{
	text_clean(s->program, sizeof s->program, about->program);
	text_clean(s->job, sizeof s->job, about->job);
	text_clean(s->file, sizeof s->file, text_tail(about->file, sizeof s->file));
	text_clean(s->environment, sizeof s->environment,
		   text_tail(about->environment, sizeof s->environment));
	if (*about->name)
		text_clean(s->name, sizeof s->name, about->name);
	account_apply(s);
	log_debug("session", "%llu is %s: %s %s", (unsigned long long)s->id, s->name, s->program,
		  s->file);
}

static const struct err *stopping(struct err *why)
{
	err_set(why, E_DAEMON_GONE, "the daemon is stopping");
	return why;
}

static void on_packet(void *data, struct packet *p)
{
	struct session *s = data;
	struct err why;

	/* It has its answers: nothing new is begun. */
	if (s->d->draining && !s->tickets.first && !s->jobs) {
		session_refuse(s, stopping(&why));
		return;
	}
	pipeline_packet(s, p);
}

static void on_closed(void *data, const struct err *why)
{
	struct session *s = data;

	log_debug("session", "%llu: %s", (unsigned long long)s->id, why->text);
	session_end(s);
}

static void on_refused(void *data, const struct err *why)
{
	session_refuse(data, why);
}

/* The kernel's word of when it connected, which asks no directory of users. */
static void learn_groups(struct session *s, int fd)
{
	struct ucred cred;
	socklen_t n = sizeof cred, more = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n))
		return; /* of no group */
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &more) || errno != ERANGE)
		more = 0;
	s->group = xmalloc(sizeof *s->group + more);
	s->group[0] = cred.gid;
	s->ngroup = 1;
	if (more && !getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, s->group + 1, &more))
		s->ngroup += more / (uint32_t)sizeof *s->group;
}

struct session *session_restore(struct brazed *d, uint64_t id, int fd)
{
	static const struct conn_events events = {on_packet, on_closed, on_refused};
	struct session *s = xcalloc(1, sizeof *s);

	s->d = d;
	s->id = id;
	snprintf(s->name, sizeof s->name, "?");
	learn_groups(s, fd);
	s->conn = conn_create(d->loop, fd, &events, s);
	if (!s->conn) {
		free(s->group);
		free(s);
		return NULL;
	}
	s->next = d->sessions;
	if (s->next)
		s->next->prev = s;
	d->sessions = s;
	d->nsession++;
	return s;
}

void session_accept(struct brazed *d, int fd, uint32_t uid, uint32_t pid)
{
	struct session *s;
	struct err why;
	uint32_t same = 0;

	for (s = d->sessions; s; s = s->next)
		same += s->uid == uid;
	if (d->nsession >= LIMIT_CLIENTS || same >= LIMIT_CLIENTS_PER_UID) {
		log_warn("session", "refused pid %u: %u clients, %u of uid %u", pid, d->nsession,
			 same, uid);
		close(fd);
		return;
	}
	s = session_restore(d, ++d->next_session, fd);
	if (!s)
		return;
	s->uid = uid;
	s->pid = pid;
	s->since_ns = uv_hrtime();
	account_join(s);
	if (d->draining)
		session_refuse(s, stopping(&why));
}

/* ---- All of them ---- */

void session_start_all(struct brazed *d)
{
	d->idle = xcalloc(1, sizeof *d->idle);
	uv_idle_init(d->loop, d->idle);
	d->idle->data = d;
}

void session_finish_all(struct brazed *d)
{
	uv_close((uv_handle_t *)d->idle, (uv_close_cb)free);
	d->idle = NULL;
}

void session_stop_all(struct brazed *d)
{
	struct session *next;
	struct err why;

	for (struct session *s = d->sessions; s; s = next) {
		next = s->next;
		if (s->conn)
			session_refuse(s, stopping(&why));
	}
}

uint32_t session_stop_idle(struct brazed *d)
{
	struct session *next;
	struct err why;
	uint32_t busy = 0;

	for (struct session *s = d->sessions; s; s = next) {
		next = s->next;
		if (!s->conn)
			continue;
		/* Nobody will let those who are paused go on. */
		if (!s->held && (s->tickets.first || s->jobs || conn_unsent(s->conn)))
			busy++;
		else
			session_refuse(s, stopping(&why));
	}
	return busy;
}
