/* SPDX-License-Identifier: Apache-2.0 */
/* control.c - an operator's orders: end, cancel, pause, resume, evict, limit, clear.
 *
 * In:  an order, with who gave it by the kernel's word.
 * Out: it is done, or why not; a line of the log and of the audit either way.  Of who may not give
 * any, of the log only: nobody pushes others' acts out of the audit. */
#include "control.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "brazed.h"
#include "cache/cache.h"
#include "plan/plancache.h"

#define TARGET_TEXT (LIMIT_SESSION_NAME + 64)

struct act {
	double time;
	struct ctl_actor who;
	char text[LIMIT_ERROR_TEXT];
};

struct audit {
	struct act act[AUDIT_KEPT];
	uint64_t count;
};

static const char *const done_word[] = {
#define ORDER(id, word, done) done,
#include "ctl/orders.def"
#undef ORDER
};

struct audit *control_create(void)
{
	return xcalloc(1, sizeof(struct audit));
}

void control_destroy(struct audit *a)
{
	free(a);
}

/* ---- The record ---- */

/* "alice (uid 1000, pid 77)" */
static void actor_text(char *buf, size_t n, const struct ctl_actor *who)
{
	snprintf(buf, n, "%s%s(uid %u, pid %u)", who->name, *who->name ? " " : "", who->uid,
		 who->pid);
}

static void note(struct audit *a, const struct ctl_actor *who, const char *text)
{
	struct act *act = &a->act[a->count++ % AUDIT_KEPT];
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	act->time = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
	act->who = *who;
	snprintf(act->text, sizeof act->text, "%s", text);
}

void control_put(const struct brazed *d, cJSON *out)
{
	cJSON *list = cJSON_AddArrayToObject(out, "audit");
	const struct audit *a = d->audit;
	uint64_t from = a->count > AUDIT_KEPT ? a->count - AUDIT_KEPT : 0;

	for (; from < a->count; from++) {
		const struct act *act = &a->act[from % AUDIT_KEPT];
		cJSON *row = cJSON_CreateObject();

		cJSON_AddNumberToObject(row, "time", act->time);
		cJSON_AddNumberToObject(row, "uid", act->who.uid);
		cJSON_AddNumberToObject(row, "pid", act->who.pid);
		cJSON_AddStringToObject(row, "user", act->who.name);
		cJSON_AddStringToObject(row, "text", act->text);
		cJSON_AddItemToArray(list, row);
	}
}

/* ---- To a session ---- */

static void hold(struct session *s, bool held, const char *by)
{
	snprintf(s->paused_by, sizeof s->paused_by, "%s", held ? by : "");
	session_hold(s, held);
	if (!held)
		pipeline_pump(s);
}

static bool is_of(void *data, const struct plan *plan)
{
	const uint64_t *session = data;
	bool all = plan->nstep > 0;

	for (uint32_t i = 0; i < plan->nstep; i++)
		for (int t = 0; t < LIMIT_DEVICES; t++)
			if (plan->step[i].kernel[t])
				all &= plan->step[i].kernel[t]->first_session == *session;
	return all;
}

/* What can be had again: it may cost its client time, but no value. */
static void evict(struct session *s, cJSON *out)
{
	uint64_t id = s->id, copies = 0;

	for (uint32_t i = 1; i < s->d->ndevice; i++)
		if (isolate_own(s, i))
			copies += device_drop_copies(isolate_own(s, i), id);
	plancache_evict(s->d->plans, is_of, &id);
	cJSON_AddNumberToObject(out, "kernel_bytes", (double)cache_evict(s->d->cache, id));
	cJSON_AddNumberToObject(out, "device_bytes", (double)copies);
	cJSON_AddNumberToObject(out, "arena_bytes", (double)(s->arena ? arena_trim(s->arena) : 0));
}

static void do_to_session(struct session *s, const struct ctl_order *o, cJSON *out)
{
	char by[SESSION_WHERE];
	struct err why;

	actor_text(by, sizeof by, &o->who);
	cJSON_AddTrueToObject(out, done_word[o->act - CTL_END]);
	switch (o->act) {
	case CTL_END:
		err_set(&why, E_DAEMON_GONE, "an operator ended the session: %s", by);
		session_refuse(s, &why);
		break;
	case CTL_CANCEL:
		snprintf(s->cancelled_by, sizeof s->cancelled_by, "%s", by);
		pipeline_cancel_all(s);
		break;
	case CTL_PAUSE:
	case CTL_RESUME:
		hold(s, o->act == CTL_PAUSE, by);
		break;
	case CTL_EVICT:
		evict(s, out);
		break;
	default:
		break;
	}
}

/* *target: the session in words, before it is gone. */
static enum status order_session(struct brazed *d, const struct ctl_order *o, char *target,
				 cJSON *out, struct err *err)
{
	struct session *s = session_find(d, o->id);

	snprintf(target, TARGET_TEXT, "%s session %u", done_word[o->act - CTL_END], o->id);
	if (!s || !s->conn)
		return err_set(err, E_INVALID, "no session has the number %u", o->id);
	snprintf(target, TARGET_TEXT, "%s session %u (%.48s, pid %u)", done_word[o->act - CTL_END],
		 o->id, s->name, s->pid);
	do_to_session(s, o, out);
	return OK;
}

/* ---- Limits ---- */

static enum status set_limits(struct brazed *d, const struct ctl_order *o, struct err *err)
{
	struct rule *r = NULL;
	enum limit_scope scope;
	enum status st;

	if (!rules_find_scope(&scope, o->scope, strlen(o->scope)))
		return err_set(err, E_INVALID, "\"%s\" is none of user, group, session", o->scope);
	st = rules_get(&r, &d->ruled, scope, o->name, err);
	if (st)
		return st;
	st = r->known ? rules_set_words(r, o->limits, err)
		      : err_set(err, E_INVALID, "there is no %s %s", o->scope, o->name);
	rules_sweep(&d->ruled);
	account_apply_all(d);
	return st;
}

static enum status order_limits(struct brazed *d, const struct ctl_order *o, cJSON *out,
				struct err *err)
{
	cJSON_AddTrueToObject(out, "limited");
	return set_limits(d, o, err);
}

/* ---- All of them ---- */

static enum status obey(struct brazed *d, const struct ctl_order *o, char target[LIMIT_ERROR_TEXT],
			cJSON *out, struct err *err)
{
	switch (o->act) {
	case CTL_CLEAR_CACHE:
		snprintf(target, LIMIT_ERROR_TEXT, "cleared the disk cache");
		cJSON_AddTrueToObject(out, "cleared");
		return cache_clear_disk(d->cache, err);
	case CTL_DRAIN:
		snprintf(target, LIMIT_ERROR_TEXT, "has another program go on: %.200s",
			 *o->binary ? o->binary : "the installed one");
		cJSON_AddTrueToObject(out, "draining");
		return d->hand_over(d, o->binary, err);
	case CTL_LIMIT:
		snprintf(target, LIMIT_ERROR_TEXT, "limited %s %s: %.128s", o->scope, o->name,
			 o->limits);
		return order_limits(d, o, out, err);
	default:
		return order_session(d, o, target, out, err);
	}
}

enum status control_order(struct brazed *d, const struct ctl_order *o, cJSON *out, struct err *err)
{
	char target[LIMIT_ERROR_TEXT] = "", text[LIMIT_ERROR_TEXT], by[SESSION_WHERE];
	enum status st;

	actor_text(by, sizeof by, &o->who);
	if (o->refused) {
		log_warn("control", "%s was refused", by);
		return err_set(err, E_INVALID, "refused");
	}
	st = obey(d, o, target, out, err);
	snprintf(text, sizeof text, "%.150s%s%.90s", target, st ? ": refused, " : "",
		 st ? err->text : "");
	log_info("control", "%s %s", by, text);
	note(d->audit, &o->who, text);
	return st;
}
