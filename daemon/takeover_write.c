/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon at rest, as messages. */
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/xalloc.h"
#include "brazed.h"
#include "handover/handover.h"
#include "handover/handover_file.h"
#include "loops/loops.h"
#include "op_table.h"
#include "plan/plancache.h"
#include "takeover.h"
#include "wire/conn.h"
#include "wire/listen.h"

#define TAKEOVER_WORDS 512 /* of a rule */

void takeover_keep(struct takeover_fds *keep, int fd)
{
	if (keep->n == keep->cap) {
		keep->cap = keep->cap ? keep->cap * 2 : 64;
		keep->fd = xrealloc(keep->fd, keep->cap, sizeof *keep->fd);
	}
	keep->fd[keep->n++] = fd;
}

/* What operators said of who may have how much. */
static void put_rules(Braze__Handover__Daemon *m, struct handover_pile *pile,
		      const struct rules *rules)
{
	size_t n = 0;

	for (const struct rule *r = rules->first; r; r = r->next)
		n++;
	m->rule = handover_pile_take(pile, n * sizeof *m->rule);
	for (const struct rule *r = rules->first; r; r = r->next) {
		Braze__Handover__Rule *x = handover_pile_take(pile, sizeof *x);

		braze__handover__rule__init(x);
		x->scope = (char *)rules_scope(r->scope);
		x->name = (char *)r->name;
		x->limits = handover_pile_take(pile, TAKEOVER_WORDS);
		rules_words(x->limits, TAKEOVER_WORDS, r);
		m->rule[m->n_rule++] = x;
	}
}

static enum status put_daemon(struct handover_out *out, const struct takeover_plan *plan,
			      uint64_t paused_ns, struct takeover_fds *keep, struct err *err)
{
	Braze__Handover__Daemon m = BRAZE__HANDOVER__DAEMON__INIT;
	const struct brazed *d = plan->d;
	const char *device[LIMIT_DEVICES];
	struct handover_pile pile = {0};
	enum status st = OK;
	int lock = -1;

	for (uint32_t i = 0; i < d->ndevice; i++)
		device[m.n_device++] = d->device[i].name;
	m.device = (char **)device;
	m.version = BRAZE_DAEMON_VERSION;
	m.ops = op_table_length();
	m.op_table = op_table_prefix(m.ops);
	m.loops = loops_identity();
	m.sessions = d->nsession;
	m.next_session = d->next_session;
	m.started_ns = d->started_ns;
	m.paused_ns = paused_ns;
	m.plans = plancache_taken(d->plans);
	m.takeovers = d->takeover.count;
	m.attempts = d->takeover.refused;
	m.listener = plan->listener ? listen_fds(plan->listener, &lock) : -1;
	m.lock = lock;
	m.passed = m.listener >= 0 && lock < 0;
	if (m.listener >= 0)
		takeover_keep(keep, m.listener);
	if (lock >= 0)
		takeover_keep(keep, lock);
	m.shared = takeover_put_shared(&pile, d, keep);
	put_rules(&m, &pile, &d->ruled);
	st = handover_file_put(out, &m.base, err);
	handover_pile_free(&pile);
	return st;
}

/* A session's message while its lists grow. */
struct writing {
	Braze__Handover__Session *m;
	struct handover_pile *pile;
	struct takeover_fds *keep;
};

/* One pointer more in a list of the message. */
static void *grow(struct writing *w, void ***list, size_t *n, size_t bytes)
{
	void **longer = handover_pile_take(w->pile, (*n + 1) * sizeof *longer);

	if (*n)
		memcpy(longer, *list, *n * sizeof *longer);
	*list = longer;
	return longer[(*n)++] = handover_pile_take(w->pile, bytes);
}

static void put_unsent(void *data, const uint8_t *bytes, size_t n, int fd)
{
	struct writing *w = data;
	Braze__Handover__Unsent *u = grow(w, (void ***)&w->m->unsent, &w->m->n_unsent, sizeof *u);

	braze__handover__unsent__init(u);
	u->packet = (ProtobufCBinaryData){n, (uint8_t *)bytes};
	u->fd = fd;
	if (fd >= 0)
		takeover_keep(w->keep, fd);
}

static void put_asked(void *data, uint64_t ticket, const char *text)
{
	struct writing *w = data;
	Braze__Handover__Asked *a = grow(w, (void ***)&w->m->asked, &w->m->n_asked, sizeof *a);

	braze__handover__asked__init(a);
	a->ticket = ticket;
	a->text = (char *)text;
}

static void put_stats(Braze__Handover__Stats *m, const struct session *session)
{
	const struct session_stats *s = &session->stats;

	braze__handover__stats__init(m);
	m->before_ns = session_worked(session);
	m->demands = s->demands;
	m->plan_hits = s->plan_hits;
	m->plan_misses = s->plan_misses;
	m->busy_ns = s->busy_ns;
	m->queue_wait_ns = s->queue_wait_ns;
	m->planning_ns = s->planning_ns;
	m->ran = s->ran;
	m->steps = s->steps;
	m->refusals = s->refusals;
	m->kernel_hits = s->kernel_hits;
	m->kernel_misses = s->kernel_misses;
}

static void put_who(Braze__Handover__Session *m, const struct session *s)
{
	m->id = s->id;
	m->pid = s->pid;
	m->uid = s->uid;
	m->flags = s->flags;
	m->seq = s->seq;
	m->near = s->near;
	m->since_ns = s->since_ns;
	m->name = (char *)s->name;
	m->program = (char *)s->program;
	m->job = (char *)s->job;
	m->file = (char *)s->file;
	m->environment = (char *)s->environment;
	m->where = (char *)s->where;
	m->visible = (char *)s->visible;
	m->device = s->device;
	m->tell = s->tell;
	m->n_told_from = SPENT_WORDS;
	m->told_from = (uint64_t *)s->told_from;
	m->welcomed = s->welcomed;
	m->cut_failed = s->cut_failed;
	m->connection = conn_fd(s->conn);
	m->paused_by = (char *)s->paused_by;
}

static enum status put_session(struct handover_out *out, struct session *s,
			       struct takeover_fds *keep, struct err *err)
{
	Braze__Handover__Session m = BRAZE__HANDOVER__SESSION__INIT;
	Braze__Handover__Stats stats;
	struct handover_pile pile = {0};
	struct writing w = {&m, &pile, keep};
	enum status st = OK;

	put_who(&m, s);
	put_stats(&stats, s);
	m.stats = &stats;
	takeover_keep(keep, m.connection);
	conn_each_unsent(s->conn, put_unsent, &w);
	kernels_each(s, put_asked, &w);
	if (s->arena) {
		handover_save(&m, &pile, &s->trace, &s->tickets);
		takeover_keep(keep, m.arena->fd);
	}
	st = handover_file_put(out, &m.base, err);
	handover_pile_free(&pile);
	return st;
}

int takeover_write(const struct takeover_plan *plan, uint64_t paused_ns, struct takeover_fds *keep,
		   struct err *err)
{
	struct handover_out *out = handover_file_begin(err);
	struct session *oldest = plan->d->sessions;
	enum status st = OK;

	if (!out)
		return -1;
	st = put_daemon(out, plan, paused_ns, keep, err);
	/* Each is put in front of the others when it is read: the oldest first. */
	while (oldest && oldest->next)
		oldest = oldest->next;
	for (struct session *s = oldest; s && !st; s = s->prev)
		st = put_session(out, s, keep, err);
	if (!st)
		return handover_file_seal(out, err);
	handover_file_drop(out);
	return -1;
}
