/* SPDX-License-Identifier: Apache-2.0 */
/* account.c - what a user and a session have, and may have, of each row of limits.def.
 *
 * In:  the rules (rules.h), who is connected, what each has.
 * Out: weights for the devices' schedulers; an error for who asks for more than the limits leave.
 * A session's own limit bounds it alone.  Its user's bounds the sum over all sessions of the user,
 * but each of them may always hold half of an even share, so that a greedy one does not lock out
 * the others.  Messages name sessions of the same user only. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/textbuf.h"
#include "base/xalloc.h"
#include "brazed.h"
#include "cache/cache.h"
#include "run/executor.h"

#define HOLDERS_MAX  3 /* that a message names */
#define HOUR_SECONDS 3600
#define PENDING_FREE 4096 /* pending operations that no user's limit takes from a session */
#define CUT_LEAST    1024 /* pending operations */

struct account {
	struct account *next;
	uint32_t uid, nsession;
	uint64_t limit[LIMITS_COUNT];
	struct budget compiled;
	uint64_t compile_ns; /* all there was */
	uint32_t ngid, *gid; /* of its latest connection */
};

/* ---- Who is here ---- */

static struct account *account_of(const struct brazed *d, uint32_t uid)
{
	struct account *a = d->accounts;

	while (a && a->uid != uid)
		a = a->next;
	return a;
}

void account_join(struct session *s)
{
	struct account *a = account_of(s->d, s->uid);

	if (!a) {
		a = xcalloc(1, sizeof *a);
		a->uid = s->uid;
		a->next = s->d->accounts;
		s->d->accounts = a;
	}
	a->ngid = s->ngroup;
	a->gid = xrealloc(a->gid, s->ngroup + 1, sizeof *a->gid);
	if (s->ngroup)
		memcpy(a->gid, s->group, s->ngroup * sizeof *a->gid);
	a->nsession++;
	s->account = a;
	account_apply(s);
}

void account_leave(struct session *s)
{
	s->account->nsession--;
	for (uint32_t i = 0; i < s->d->ndevice; i++) {
		const struct device *dev = isolate_own(s, i);

		if (dev && dev->executor)
			executor_client_drop(dev->executor, s->id);
	}
	isolate_left(s->d);
}

void account_finish_all(struct brazed *d)
{
	while (d->accounts) {
		struct account *a = d->accounts;

		d->accounts = a->next;
		free(a->gid);
		free(a);
	}
}

void account_apply(struct session *s)
{
	struct account *a = s->account;
	const struct rules none = {0};
	const struct rules *file = s->d->rules ? s->d->rules : &none;
	struct rules_who who = {.session = s->id,
				.name = s->name,
				.program = s->program,
				.uid = s->uid,
				.gid = a->gid,
				.ngid = a->ngid};
	struct executor_client share = {.client = s->id, .uid = s->uid, .held = s->held};

	rules_of_user(a->limit, &s->d->ruled, file, &who);
	rules_of_session(s->limit, &s->d->ruled, file, &who);
	share.weight = (uint32_t)s->limit[LIMITS_weight];
	share.user_weight = (uint32_t)a->limit[LIMITS_weight];
	for (uint32_t i = 0; i < s->d->ndevice; i++) {
		const struct device *dev = isolate_own(s, i);

		if (dev && dev->executor)
			executor_client_set(dev->executor, &share);
	}
}

void account_apply_all(struct brazed *d)
{
	for (struct session *s = d->sessions; s; s = s->next)
		account_apply(s);
}

uint64_t account_bytes(const struct session *s)
{
	uint64_t bytes = s->account->limit[LIMITS_bytes];

	return bytes ? bytes : s->d->quota_bytes;
}

/* ---- What they have ---- */

static uint64_t device_usage(const struct session *s)
{
	uint64_t most = 0;

	for (uint32_t i = 1; i < s->d->ndevice; i++) {
		const struct device *dev = isolate_own(s, i);
		uint64_t bytes = 0;

		for (const struct mirror *m = dev ? dev->newest : NULL; m; m = m->older)
			bytes += m->client == s->id ? m->bytes : 0;
		most = bytes > most ? bytes : most;
	}
	return most;
}

static uint64_t waits(const struct session *s)
{
	uint64_t n = kernels_asked(s);

	for (const struct ticket *t = s->tickets.first; t; t = t->next)
		n += t->kind != TICKET_CUT;
	return n;
}

/* What is left of it: a limit of so many seconds in an hour forgives as many in each. */
static uint64_t budget_used(const struct budget *b, uint64_t limit)
{
	uint64_t passed = uv_hrtime() - b->at_ns, forgiven = passed / HOUR_SECONDS * limit;

	return b->used_ns > forgiven ? b->used_ns - forgiven : 0;
}

static void budget_add(struct budget *b, uint64_t limit, uint64_t ns)
{
	b->used_ns = (limit ? budget_used(b, limit) : 0) + ns;
	b->at_ns = uv_hrtime();
}

/* What a session has of it now; of device_bytes on the device that has the most. */
static uint64_t usage(const struct session *s, enum limit_id id)
{
	switch (id) {
	case LIMITS_bytes:
		return session_bytes(s);
	case LIMITS_device_bytes:
		return device_usage(s);
	case LIMITS_queue:
		return waits(s);
	case LIMITS_pending:
		return s->trace.npending - s->trace.nrunning;
	default:
		return 0;
	}
}

/* ---- Who asks for too much ---- */

/* The session of this user that has the most of it, but for those that were named. */
static const struct session *greatest(const struct session *s, enum limit_id id,
				      const struct session *const *named, int n, uint64_t *most)
{
	const struct session *best = NULL;

	*most = 0;
	for (const struct session *o = s->d->sessions; o; o = o->next) {
		uint64_t has = o->account == s->account ? usage(o, id) : 0;
		bool seen = false;

		for (int i = 0; i < n; i++)
			seen |= named[i] == o;
		if (has > *most && !seen) {
			*most = has;
			best = o;
		}
	}
	return best;
}

/* "queue = 8 of user 1000, held by 5 train.py (pid 7) 6, 6 test.py (pid 9) 2" */
static void put_limit(struct textbuf *t, const struct session *s, enum limit_id id, bool user)
{
	const struct session *named[HOLDERS_MAX], *o;
	uint64_t value = user ? s->account->limit[id] : s->limit[id], has;
	char text[32];

	if (user && id == LIMITS_bytes)
		value = account_bytes(s);
	rules_text(text, sizeof text, id, rules_is_bytes(id) ? value >> 20 << 20 : value);
	textbuf_put(t, "%s = %s of ", rules_name(id), text);
	if (!user) {
		textbuf_put(t, "session %llu (%.24s)", (unsigned long long)s->id, s->name);
		return;
	}
	textbuf_put(t, "user %u", s->uid);
	for (int n = 0; n < HOLDERS_MAX && (o = greatest(s, id, named, n, &has)); n++) {
		textbuf_put(t, "%s%llu %.24s (pid %u) %llu%s", n ? ", " : ", held by ",
			    (unsigned long long)o->id, o->name, o->pid,
			    (unsigned long long)(rules_is_bytes(id) ? has >> 20 : has),
			    rules_is_bytes(id) ? " MiB" : "");
		named[n] = o;
	}
}

void account_bound(const struct session *s, char *buf, size_t n)
{
	struct textbuf t = {.buf = buf, .cap = n};
	uint64_t own = s->limit[LIMITS_bytes];

	/* session_quota has found what bounds it. */
	put_limit(&t, s, LIMITS_bytes, !own || s->trace.quota_bytes < own);
}

static enum status over(const struct session *s, enum limit_id id, bool user, struct err *err)
{
	bool bytes = rules_is_bytes(id);
	char text[LIMIT_ERROR_TEXT];
	struct textbuf t = {.buf = text, .cap = sizeof text};

	put_limit(&t, s, id, user);
	return err_set(err, bytes ? E_NOMEM : E_LIMIT, "over the limit %s", text);
}

enum status account_check(struct session *s, enum limit_id id, uint64_t more, struct err *err)
{
	uint64_t own = s->limit[id], user = s->account->limit[id], free, has, all = 0;

	if (!own && !user)
		return OK;
	has = usage(s, id) + more;
	if (own && has > own)
		return over(s, id, false, err);
	free = s->account->nsession ? user / (2 * s->account->nsession) : 0;
	if (id == LIMITS_pending && free < PENDING_FREE)
		free = PENDING_FREE;
	if (!user || has <= (free ? free : 1))
		return OK;
	for (const struct session *o = s->d->sessions; o; o = o->next)
		all += o->account == s->account ? usage(o, id) : 0;
	return all + more > user ? over(s, id, true, err) : OK;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Far below what it may have, so that no client that is read from in time is refused. */
uint32_t account_cut(const struct session *s)
{
	uint64_t own = s->limit[LIMITS_pending], user = s->account->limit[LIMITS_pending];
	uint64_t cut = LIMIT_PENDING_OPS;

	if (own)
		cut = lesser(cut, own / 4);
	if (user)
		cut = lesser(cut, user / (4 * (uint64_t)s->account->nsession + 1));
	return (uint32_t)(cut > CUT_LEAST ? cut : CUT_LEAST);
}

/* ---- Time of compilers ---- */

/* Does the limit leave anything? */
static bool has_left(const struct budget *b, uint64_t limit)
{
	return !limit || budget_used(b, limit) < limit * 1000000000ull;
}

enum status account_check_compile(const struct session *s, struct err *err)
{
	if (!has_left(&s->compiled, s->limit[LIMITS_compile_seconds]))
		return over(s, LIMITS_compile_seconds, false, err);
	if (!has_left(&s->account->compiled, s->account->limit[LIMITS_compile_seconds]))
		return over(s, LIMITS_compile_seconds, true, err);
	return OK;
}

void account_pay(struct session *s, struct kernel *k)
{
	struct err err;

	if (k->paid && (!k->unpaid || account_check_compile(s, &err)))
		return;
	k->paid = true;
	k->payer = s->id;
	k->payer_uid = s->uid;
	if (k->unpaid)
		cache_paid(k);
}

bool account_may_compile(void *data, const struct kernel *k, char *why, size_t n)
{
	struct brazed *d = data;
	const struct session *s = session_find(d, k->paid ? k->payer : k->first_session);
	const struct account *a = s ? s->account : k->paid ? account_of(d, k->payer_uid) : NULL;
	struct err err;

	if (s && account_check_compile(s, &err)) {
		snprintf(why, n, "%s", err.text);
		d->unpaid = true;
		return false;
	}
	if (!s && a && !has_left(&a->compiled, a->limit[LIMITS_compile_seconds])) {
		snprintf(why, n, "over the limit compile_seconds = %llu of user %u",
			 (unsigned long long)a->limit[LIMITS_compile_seconds], a->uid);
		d->unpaid = true;
		return false;
	}
	return true;
}

void account_compiled(void *data, const struct kernel *k, uint64_t ns)
{
	const struct brazed *d = data;
	struct session *s = session_find(d, k->paid ? k->payer : k->first_session);
	struct account *a = s ? s->account : k->paid ? account_of(d, k->payer_uid) : NULL;

	if (s)
		budget_add(&s->compiled, s->limit[LIMITS_compile_seconds], ns);
	if (!a)
		return;
	budget_add(&a->compiled, a->limit[LIMITS_compile_seconds], ns);
	a->compile_ns += ns;
}

/* ---- What operators are told ---- */

static void put_values(cJSON *row, const uint64_t *value)
{
	cJSON *limits = cJSON_AddObjectToObject(row, "limits");

	for (int i = 0; i < LIMITS_COUNT; i++)
		if (value[i])
			cJSON_AddNumberToObject(limits, rules_name((enum limit_id)i),
						(double)value[i]);
}

static void put_usage(cJSON *row, const uint64_t *has)
{
	for (int i = LIMITS_bytes; i <= LIMITS_pending; i++)
		cJSON_AddNumberToObject(row, rules_name((enum limit_id)i), (double)has[i]);
}

static void put_session(cJSON *list, const struct session *s, uint64_t *sum)
{
	cJSON *row = cJSON_CreateObject();
	uint64_t has[LIMITS_COUNT];

	for (int i = 0; i < LIMITS_COUNT; i++) {
		has[i] = usage(s, (enum limit_id)i);
		sum[i] += has[i];
	}
	cJSON_AddNumberToObject(row, "session", (double)s->id);
	cJSON_AddStringToObject(row, "name", s->name);
	cJSON_AddBoolToObject(row, "paused", s->held);
	put_usage(row, has);
	cJSON_AddNumberToObject(
		row, "compile_seconds",
		(double)budget_used(&s->compiled, s->limit[LIMITS_compile_seconds]) * 1e-9);
	put_values(row, s->limit);
	cJSON_AddItemToArray(list, row);
}

static void put_user(cJSON *list, const struct brazed *d, const struct account *a)
{
	cJSON *row = cJSON_CreateObject(), *sessions = cJSON_CreateArray();
	uint64_t sum[LIMITS_COUNT] = {0}, busy = 0;

	for (struct device *dev = isolate_next(d, NULL); dev; dev = isolate_next(d, dev))
		busy += executor_user_busy(dev->executor, a->uid);
	cJSON_AddNumberToObject(row, "uid", a->uid);
	for (const struct session *s = d->sessions; s; s = s->next)
		if (s->account == a) {
			busy += s->stats.before_ns;
			put_session(sessions, s, sum);
		}
	cJSON_AddNumberToObject(row, "device_seconds", (double)busy * 1e-9);
	put_usage(row, sum);
	cJSON_AddNumberToObject(
		row, "compile_seconds",
		(double)budget_used(&a->compiled, a->limit[LIMITS_compile_seconds]) * 1e-9);
	put_values(row, a->limit);
	cJSON_AddItemToObject(row, "sessions", sessions);
	cJSON_AddItemToArray(list, row);
}

static void put_rules(cJSON *list, const struct rules *l, const char *from)
{
	for (const struct rule *r = l ? l->first : NULL; r; r = r->next) {
		cJSON *row = cJSON_CreateObject(), *limits;

		cJSON_AddStringToObject(row, "scope", rules_scope(r->scope));
		cJSON_AddStringToObject(row, "name", r->name);
		cJSON_AddStringToObject(row, "from", from);
		cJSON_AddBoolToObject(row, "known", r->known);
		limits = cJSON_AddObjectToObject(row, "limits");
		for (int i = 0; i < LIMITS_COUNT; i++)
			if (r->set >> i & 1)
				cJSON_AddNumberToObject(limits, rules_name((enum limit_id)i),
							(double)r->value[i]);
		cJSON_AddItemToArray(list, row);
	}
}

void account_put(const struct brazed *d, cJSON *out)
{
	cJSON *rules = cJSON_AddArrayToObject(out, "rules"), *users;

	put_rules(rules, &d->ruled, "brazectl");
	put_rules(rules, d->rules, "brazed.conf");
	users = cJSON_AddArrayToObject(out, "users");
	for (const struct account *a = d->accounts; a; a = a->next)
		put_user(users, d, a);
}
