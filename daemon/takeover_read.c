/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon as another program left it.  What is read is checked as if it came from a stranger:
 * a program that cannot go on must say so before the other has ended. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include "base/log.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "brazed.h"
#include "config.h"
#include "handover/handover.h"
#include "handover/handover_file.h"
#include "loops/loops.h"
#include "op_table.h"
#include "takeover.h"
#include "wire/conn.h"

static bool is_socket(int fd, int type)
{
	socklen_t n = sizeof(int), m = sizeof(int);
	int is = 0, listens = 0;

	return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &is, &n) && is == SOCK_SEQPACKET &&
	       !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &m) && listens == type;
}

static enum status check_daemon(const Braze__Handover__Daemon *m, struct err *err)
{
	if (m->ops > op_table_length() || m->op_table != op_table_prefix(m->ops))
		return err_set(err, E_VERSION,
			       "the daemon (%.40s) and this program (%s) have different operations",
			       m->version, BRAZE_DAEMON_VERSION);
	if (m->listener >= 0 && !is_socket(m->listener, 1))
		return err_set(err, E_INVALID, "descriptor %d is nothing to listen on",
			       m->listener);
	if (m->listener >= 0 && m->passed != (m->lock < 0))
		return err_set(err, E_INVALID, "the state is damaged: whose socket is it?");
	return OK;
}

enum status takeover_open(struct takeover_in *in, int fd, struct err *err)
{
	const uint8_t *bytes = NULL;
	enum status st = OK;
	size_t n = 0;

	*in = (struct takeover_in){0};
	st = handover_file_open(&in->file, fd, err);
	if (st)
		return st;
	bytes = handover_file_next(in->file, &n);
	in->m = bytes ? braze__handover__daemon__unpack(NULL, n, bytes) : NULL;
	st = in->m ? check_daemon(in->m, err) : err_set(err, E_INVALID, "the state has no daemon");
	if (st)
		takeover_close(in);
	return st;
}

void takeover_close(struct takeover_in *in)
{
	if (in->m)
		braze__handover__daemon__free_unpacked(in->m, NULL);
	handover_file_close(in->file);
	*in = (struct takeover_in){0};
}

/* Clients know devices by their numbers. */
static enum status check_devices(const Braze__Handover__Daemon *m, const struct brazed *d,
				 struct err *err)
{
	for (size_t i = 0; i < m->n_device; i++)
		if (i >= d->ndevice || strcmp(m->device[i], d->device[i].name))
			return err_set(err, E_DEVICE,
				       "clients were told of the device %.16s, which the settings "
				       "(device) do not have in its place any more",
				       m->device[i]);
	return OK;
}

/* The lock and the socket are those of one path. */
static enum status check_socket(const Braze__Handover__Daemon *m, const struct config *c,
				struct err *err)
{
	struct sockaddr_un at = {0};
	socklen_t n = sizeof at - 1;

	if (m->listener < 0 || m->passed)
		return OK;
	if (!getsockname(m->listener, (struct sockaddr *)&at, &n) &&
	    !strcmp(at.sun_path, c->socket))
		return OK;
	return err_set(err, E_INVALID,
		       "the settings (socket) name %.80s, but it is %.80s that is served",
		       c->socket, at.sun_path);
}

/* ---- One session ---- */

static void read_stats(struct session_stats *s, const Braze__Handover__Stats *m)
{
	if (!m)
		return;
	*s = (struct session_stats){.demands = m->demands,
				    .plan_hits = m->plan_hits,
				    .plan_misses = m->plan_misses,
				    .busy_ns = m->busy_ns,
				    .queue_wait_ns = m->queue_wait_ns,
				    .planning_ns = m->planning_ns,
				    .ran = m->ran,
				    .steps = m->steps,
				    .refusals = m->refusals,
				    .kernel_hits = m->kernel_hits,
				    .kernel_misses = m->kernel_misses,
				    .before_ns = m->before_ns};
}

static void read_who(struct session *s, const Braze__Handover__Session *m)
{
	s->pid = m->pid;
	s->uid = m->uid;
	s->flags = m->flags;
	s->seq = m->seq;
	s->near = m->near;
	s->since_ns = m->since_ns;
	text_clean(s->name, sizeof s->name, m->name);
	text_clean(s->program, sizeof s->program, m->program);
	text_clean(s->job, sizeof s->job, m->job);
	text_clean(s->file, sizeof s->file, m->file);
	text_clean(s->environment, sizeof s->environment, m->environment);
	text_clean(s->where, sizeof s->where, m->where);
	text_clean(s->visible, sizeof s->visible, m->visible);
	s->tell = m->tell;
	for (size_t i = 0; i < m->n_told_from && i < SPENT_WORDS; i++)
		s->told_from[i] = m->told_from[i];
	s->cut_failed = m->cut_failed;
	read_stats(&s->stats, m->stats);
}

static enum status damaged(const Braze__Handover__Session *m, struct err *err)
{
	return err_set(err, E_INVALID, "the state of session %llu is damaged",
		       (unsigned long long)m->id);
}

/* The arena with all that lies in it. */
static enum status read_arrays(struct session *s, const Braze__Handover__Session *m, unsigned ops,
			       struct err *err)
{
	enum status st = OK;

	if (!m->arena)
		return OK;
	fcntl(m->arena->fd, F_SETFD, FD_CLOEXEC);
	st = handover_load(&s->trace, &s->tickets, s->d->loop, &s->d->shares, s->d->grids, m, ops,
			   err);
	if (st)
		return st;
	s->arena = s->trace.arena;
	s->welcomed = true;
	for (const struct ticket *t = s->tickets.first; t; t = t->next) {
		s->cutting |= t->kind == TICKET_CUT;
		if (t->kind == TICKET_PUBLISH && !publish_may_wait(t))
			return damaged(m, err);
	}
	return session_attach(s, err);
}

/* What it is owed. */
static void go_on(struct session *s, const Braze__Handover__Session *m)
{
	for (size_t i = 0; i < m->n_unsent; i++) {
		const Braze__Handover__Unsent *u = m->unsent[i];

		conn_send(s->conn, u->packet.data, u->packet.len, u->fd);
		if (u->fd >= 0)
			close(u->fd);
	}
	if (*m->paused_by) {
		text_clean(s->paused_by, sizeof s->paused_by, m->paused_by);
		session_hold(s, true);
	}
	for (size_t i = 0; i < m->n_asked; i++)
		kernels_compile(s, m->asked[i]->ticket, m->asked[i]->text);
	if (s->arena)
		session_later(s);
}

static enum status read_session(struct brazed *d, const Braze__Handover__Session *m, unsigned ops,
				bool check, struct err *err)
{
	struct session *s = NULL;
	enum status st = OK;

	if (!is_socket(m->connection, 0) || !m->id || m->id > d->next_session ||
	    m->device > d->ndevice || m->welcomed != (m->arena != NULL))
		return damaged(m, err);
	fcntl(m->connection, F_SETFD, FD_CLOEXEC);
	s = session_restore(d, m->id, m->connection);
	if (!s)
		return err_set(err, E_SYSTEM, "the connection of session %llu cannot be watched",
			       (unsigned long long)m->id);
	read_who(s, m);
	account_join(s);
	s->device = (uint8_t)m->device;
	st = read_arrays(s, m, ops, err);
	if (!st && !check)
		go_on(s, m);
	return st;
}

static enum status read_rules(struct rules *rules, const Braze__Handover__Daemon *m,
			      struct err *err)
{
	for (size_t i = 0; i < m->n_rule; i++) {
		const Braze__Handover__Rule *x = m->rule[i];
		enum limit_scope scope;
		struct rule *r;
		struct err why;

		if (!rules_find_scope(&scope, x->scope, strlen(x->scope)) ||
		    rules_get(&r, rules, scope, x->name, &why) ||
		    rules_set_words(r, x->limits, &why))
			return err_set(err, E_INVALID, "the state is damaged: rule %zu", i);
	}
	rules_sweep(rules);
	return OK;
}

static enum status next_session(struct takeover_in *in, struct brazed *d, bool check,
				struct err *err)
{
	Braze__Handover__Session *m = NULL;
	size_t n = 0;
	const uint8_t *bytes = handover_file_next(in->file, &n);
	enum status st = OK;

	m = bytes ? braze__handover__session__unpack(NULL, n, bytes) : NULL;
	if (!m)
		return err_set(err, E_INVALID, "the state lacks sessions, or they do not decode");
	st = read_session(d, m, in->m->ops, check, err);
	braze__handover__session__free_unpacked(m, NULL);
	return st;
}

enum status takeover_resume(struct takeover_in *in, struct brazed *d, const struct config *config,
			    bool check, struct err *err)
{
	const Braze__Handover__Daemon *m = in->m;
	enum status st = check_devices(m, d, err);

	if (!st)
		st = check_socket(m, config, err);

	d->next_session = m->next_session;
	d->started_ns = m->started_ns;
	d->takeover.count = m->takeovers + 1;
	d->takeover.refused = m->attempts;
	if (m->sessions > LIMIT_CLIENTS)
		st = err_set(err, E_INVALID, "the state is damaged: %llu sessions",
			     (unsigned long long)m->sessions);
	if (!st)
		st = read_rules(&d->ruled, m, err);
	if (!st)
		st = takeover_read_shared(d, m->shared, err);
	for (uint64_t i = 0; i < m->sessions && !st; i++)
		st = next_session(in, d, check, err);
	if (!st)
		st = takeover_settle_shared(d, m->shared, err);
	if (st || check)
		return st;
	d->takeover.pause_ns = uv_hrtime() - m->paused_ns;
	log_info("takeover", "%u clients of version %s go on here after %llu ms", d->nsession,
		 m->version, (unsigned long long)(d->takeover.pause_ns / 1000000));
	if (m->loops != loops_identity())
		log_warn("takeover",
			 "this program's loops are others than version %s had: last "
			 "bits may differ from what clients compute themselves",
			 m->version);
	return OK;
}

/* All of it is made, in a process that is about to end. */
enum status takeover_check(int fd, const struct config *config, struct err *err)
{
	struct brazed *d = xcalloc(1, sizeof *d);
	struct uv_loop_s *loop = xcalloc(1, sizeof *loop);
	struct takeover_in in;
	enum status st = takeover_open(&in, fd, err);

	uv_loop_init(loop);
	d->loop = loop;
	publish_start(d);
	d->grids = grid_table_create();
	dispatch_name_devices(d, config);
	if (!st)
		st = takeover_resume(&in, d, config, true, err);
	return st;
}
