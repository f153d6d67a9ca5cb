/* SPDX-License-Identifier: Apache-2.0 */
/* publish.c - arrays that other sessions open by a name.
 *
 * In:  requests to publish an array's value, or to open what somebody published.
 * Out: a table of names, each with its newest version; in a reader's trace an array that is frozen
 * and whose storage is the publisher's memory (trace/share.h).
 *
 * A name belongs to the user of the session that published it.  That session keeps the version
 * until it publishes another one, takes the name back or ends; readers keep what they opened.
 * The name is there as long as anybody has its newest version. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "access.h"
#include "base/xalloc.h"
#include "brazed.h"
#include "ctl/ctl.h"
#include "future/reply.h"
#include "publish.h"
#include "trace/record.h"
#include "wire/decode.h"

/* ---- Labels and keys ---- */

/* Letters, digits and ._- only: nothing that steers a terminal, a page or a path. */
static bool is_label(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	return n && n < LIMIT_PUBLISHED_NAME && !s[n];
}

static enum status bad_label(struct err *err)
{
	return err_set(err, E_INVALID,
		       "a published name has 1 to %d letters, digits, dots, underscores and "
		       "hyphens, nothing else",
		       LIMIT_PUBLISHED_NAME - 1);
}

static void key_text(char out[ACCESS_KEY_TEXT], const uint8_t key[ACCESS_KEY_BYTES])
{
	for (int i = 0; i < ACCESS_KEY_BYTES; i++)
		snprintf(out + 2 * i, 3, "%02x", key[i]);
}

/* In a time that does not tell how much of it is right. */
static bool has_key(const struct publication *p, const char *key)
{
	char have[ACCESS_KEY_TEXT];
	unsigned differ = 0;

	if (p->access != ACCESS_KEY || strlen(key) != ACCESS_KEY_TEXT - 1)
		return false;
	key_text(have, p->key);
	for (int i = 0; i < ACCESS_KEY_TEXT; i++)
		differ |= (unsigned)(have[i] ^ key[i]);
	return !differ;
}

/* ---- The table ---- */

static struct publication *find(const struct brazed *d, uint32_t uid, const char *label)
{
	for (struct publication *p = d->published.first; p; p = p->next)
		if (p->uid == uid && !strcmp(p->label, label))
			return p;
	return NULL;
}

static void forget(struct brazed *d, struct publication *p)
{
	struct publication **at = &d->published.first;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	free(p);
}

/* The session that published it keeps it no more: it goes unless somebody reads it. */
static void let_go(struct brazed *d, struct publication *p)
{
	struct share *h = p->share;

	if (!p->holder)
		return;
	p->holder = NULL;
	if (h)
		share_unref(&d->shares, h);
	else
		forget(d, p);
}

static enum status on_made(void *data, const struct share *h, struct err *err)
{
	struct brazed *d = data;
	enum status st = OK;

	for (struct device *dev = isolate_next(d, NULL); dev && !st; dev = isolate_next(d, dev))
		if (dev->executor)
			st = executor_region_add(dev->executor, h->region, h->writer, h->bytes,
						 err);
	for (struct device *dev = isolate_next(d, NULL); dev && st; dev = isolate_next(d, dev))
		if (dev->executor)
			executor_region_drop(dev->executor, h->region);
	return st;
}

static void on_gone(void *data, struct share *h)
{
	struct brazed *d = data;
	struct publication *next = NULL;

	for (struct device *dev = isolate_next(d, NULL); dev; dev = isolate_next(d, dev))
		if (dev->executor)
			executor_region_drop(dev->executor, h->region);
	for (struct publication *p = d->published.first; p; p = next) {
		next = p->next;
		if (p->share == h)
			forget(d, p);
	}
}

void publish_start(struct brazed *d)
{
	share_start(&d->shares, d->loop, &(struct share_events){on_made, on_gone, d});
}

void publish_finish(struct brazed *d)
{
	while (d->published.first)
		forget(d, d->published.first);
	share_finish(&d->shares);
}

void publish_leave(struct session *s)
{
	struct brazed *d = s->d;
	struct publication *p = d->published.first;

	while (p)
		if (p->holder == s) {
			let_go(d, p); /* and others with the same memory */
			p = d->published.first;
		} else {
			p = p->next;
		}
	share_leave(&s->trace);
}

/* ---- Who is asking ---- */

static bool is_member(const struct session *s, uint32_t gid)
{
	for (uint32_t i = 0; i < s->ngroup; i++)
		if (s->group[i] == gid)
			return true;
	return false;
}

static bool may_open(const struct session *s, const struct publication *p)
{
	return s->uid == p->uid || (p->access == ACCESS_USER && s->uid == p->number) ||
	       (p->access == ACCESS_GROUP && is_member(s, p->number));
}

/* ---- Publishing ---- */

static uint32_t names_of(const struct brazed *d, uint32_t uid)
{
	uint32_t n = 0;

	for (const struct publication *p = d->published.first; p; p = p->next)
		n += p->uid == uid;
	return n;
}

static enum status room(const struct session *s, const char *label, struct err *err)
{
	if (find(s->d, s->uid, label) || names_of(s->d, s->uid) < LIMIT_PUBLISHED)
		return OK;
	return err_set(err, E_LIMIT, "this user publishes %d arrays, as many as are possible",
		       LIMIT_PUBLISHED);
}

static void take_back(struct session *s, uint64_t ticket, const char *label)
{
	struct publication *p = find(s->d, s->uid, label);
	struct share *h = NULL;
	struct err err;

	if (!p) {
		err_set(&err, E_UNPUBLISHED, "this user publishes nothing as \"%s\"", label);
		reply_failure(s->conn, ticket, &err);
		return;
	}
	h = p->holder ? p->share : NULL;
	forget(s->d, p);
	if (h)
		share_unref(&s->d->shares, h);
	reply_published(s->conn, ticket, 0, 0, "");
}

static enum status check(const struct session *s, const struct decode_publish *r, struct err *err)
{
	if (!is_label(r->label))
		return bad_label(err);
	if (r->access > ACCESS_KEY)
		return err_set(err, E_INVALID, "nobody knows access %u", r->access);
	return r->id ? room(s, r->label, err) : OK;
}

enum status publish_ask(struct session *s, const struct decode_publish *r, struct err *err)
{
	struct array *a = r->id ? trace_array(&s->trace, r->id) : NULL;
	struct publishing *what = NULL;
	struct version *v = NULL;
	struct ticket *t = NULL;
	struct err no;

	if (r->id && !a)
		return err_set(err, E_UNKNOWN_ARRAY, "publishing of array %u, which does not exist",
			       r->id);
	if (check(s, r, &no)) {
		reply_failure(s->conn, r->ticket, &no);
		return OK;
	}
	if (!a) {
		take_back(s, r->ticket, r->label);
		return OK;
	}
	v = version_ref(trace_current(a));
	if (v->state == VERSION_PENDING)
		v->home = HOME_SHARE;
	s->stats.demands++;
	t = pipeline_wait(s, TICKET_PUBLISH, r->ticket, &v, 1, 1, 0);
	if (!t)
		return OK;
	what = xcalloc(1, sizeof *what);
	view_copy(&what->view, &a->view);
	what->access = r->access;
	what->number = r->number;
	memcpy(what->label, r->label, strlen(r->label) + 1);
	t->publishing = what;
	return OK;
}

/* Are the view's elements all that the buffer has, in some order of axes?  What is published
 * must show nothing besides. */
static bool is_all(const struct view *v, uint64_t bytes)
{
	uint64_t reach = dtype_row(v->dtype)->bytes;
	uint32_t done = 0;

	for (unsigned i = 0; i < v->shape.ndim; i++) {
		unsigned k = 0;

		/* An axis that begins where those before it end. */
		while (k < v->shape.ndim &&
		       (done >> k & 1 || (v->shape.dim[k] != 1 && (uint64_t)v->stride[k] != reach)))
			k++;
		if (k == v->shape.ndim)
			return false;
		done |= 1u << k;
		reach *= (uint64_t)v->shape.dim[k];
	}
	return !v->offset && reach == bytes;
}

bool publish_ready(struct session *s, struct ticket *t)
{
	struct publishing *what = t->publishing;
	struct version *v = t->version[0], *copy = NULL;
	bool all = false;

	if (v->state != VERSION_STORED || what->moved || t->cancelled)
		return true;
	all = is_all(&what->view, v->bytes);
	if (!v->bytes || (all && v->storage->share))
		return true;
	copy = all ? record_copy(&s->trace, v) : record_packed(&s->trace, v, &what->view);
	copy->home = HOME_SHARE;
	what->copied = copy->bytes;
	what->moved = true;
	ticket_replace(t, 0, copy, &s->trace);
	session_later(s);
	return false;
}

/* The name's next version; NULL: there is no room for another name. */
static struct publication *renew(struct session *s, const struct publishing *what, struct err *err)
{
	struct brazed *d = s->d;
	struct publication *p = find(d, s->uid, what->label);
	struct share *old = NULL;
	bool held = false;

	if (!p && room(s, what->label, err))
		return NULL;
	if (!p) {
		p = xcalloc(1, sizeof *p);
		p->uid = s->uid;
		p->access = ACCESS_OWN;
		memcpy(p->label, what->label, sizeof p->label);
		if (getrandom(p->key, sizeof p->key, 0) != sizeof p->key) {
			free(p);
			err_set(err, E_SYSTEM, "the system has no random number for a key");
			return NULL;
		}
		p->next = d->published.first;
		d->published.first = p;
	}
	held = p->holder != NULL;
	old = p->share;
	p->holder = s;
	p->share = NULL;
	if (held && old)
		share_unref(&d->shares, old);
	return p;
}

static enum status commit(struct session *s, struct ticket *t, struct err *err)
{
	struct published *all = &s->d->published;
	struct publishing *what = t->publishing;
	struct version *v = t->version[0];
	struct share *h = NULL;
	struct publication *p = NULL;
	char key[ACCESS_KEY_TEXT] = "";
	enum status st = OK;

	if (v->state == VERSION_FAILED) {
		*err = *v->error;
		return err->code;
	}
	h = v->storage->share;
	if (v->bytes && !h)
		return err_set(err, E_LIMIT,
			       "there is no memory that the array could have of its own: a user "
			       "has at most %d such arrays",
			       LIMIT_SHARES);
	st = h ? share_fix(h, err) : OK;
	p = st ? NULL : renew(s, what, err);
	if (!p)
		return err->code;
	p->share = h ? share_ref(h) : NULL;
	p->bytes = v->bytes;
	view_copy(&p->view, &what->view);
	p->version++;
	if (what->access != ACCESS_SAME) {
		p->access = what->access;
		p->number = what->number;
	}
	all->stats.published++;
	all->stats.copied_bytes += what->copied;
	s->trace.share_from = LIMIT_SHARE_BYTES;
	if (p->access == ACCESS_KEY)
		key_text(key, p->key);
	reply_published(s->conn, t->id, p->version, what->copied, key);
	return OK;
}

void publish_answer(struct session *s, struct ticket *t)
{
	struct err err = {0};

	if (commit(s, t, &err))
		reply_failure(s->conn, t->id, &err);
}

/* ---- Opening ---- */

static struct publication *choose(const struct session *s, const struct decode_open *r)
{
	uint64_t owner = r->owner ? r->owner - 1 : s->uid;
	struct publication *p = s->d->published.first;

	if (*r->label) {
		p = owner <= UINT32_MAX ? find(s->d, (uint32_t)owner, r->label) : NULL;
		return p && may_open(s, p) ? p : NULL;
	}
	while (p && !has_key(p, r->key))
		p = p->next;
	return p;
}

/* The same for a name that nobody has and for one that is not for this user: who may not open it
 * does not get to know whether it is there. */
static void refuse(struct session *s, const struct decode_open *r)
{
	struct err err;

	if (*r->label && !is_label(r->label))
		bad_label(&err);
	else if (*r->label)
		err_set(&err, E_UNPUBLISHED,
			"user %llu publishes nothing as \"%s\" that this user may open",
			(unsigned long long)(r->owner ? r->owner - 1 : s->uid), r->label);
	else
		err_set(&err, E_UNPUBLISHED, "nothing is published with this key");
	s->d->published.stats.refused++;
	reply_failure(s->conn, r->ticket, &err);
}

enum status publish_open(struct session *s, const struct decode_open *r, struct err *err)
{
	struct publication *p = choose(s, r);
	struct trace *t = &s->trace;
	struct storage *at = NULL;
	struct version *v = NULL;
	enum status st = OK;

	if (!p) {
		refuse(s, r);
		return OK;
	}
	at = p->share ? storage_open(t, share_ref(p->share))
		      : storage_create(t, 0, HOME_ARENA, err);
	if (!at)
		return E_NOMEM;
	v = version_create(t, p->bytes, VERSION_PENDING);
	version_attach(t, v, at);
	version_store(t, v);
	st = trace_define_value(t, r->id, &p->view, v, err);
	if (st)
		return st;
	s->d->published.stats.opened++;
	p->opened++;
	reply_opened(s->conn, r->ticket, p->version, &p->view, p->bytes,
		     p->share ? p->share->reader : -1);
	return OK;
}

/* ---- Handed over ---- */

bool publish_restore(struct brazed *d, const struct publication *was)
{
	const struct share *h = was->share;
	struct publication *p = NULL;

	if (!is_label(was->label) || find(d, was->uid, was->label) || was->access < ACCESS_OWN ||
	    was->access > ACCESS_KEY || !was->bytes != !h)
		return false;
	if (h && (!h->fixed || was->bytes > h->bytes || !is_all(&was->view, was->bytes)))
		return false;
	p = xmalloc(sizeof *p);
	*p = *was;
	p->holder = NULL;
	p->next = d->published.first;
	d->published.first = p;
	return true;
}

void publish_hold(struct session *s, const char *label)
{
	struct publication *p = find(s->d, s->uid, label);

	p->holder = s;
	if (p->share)
		share_ref(p->share);
}

bool publish_may_wait(const struct ticket *t)
{
	const struct publishing *what = t->publishing;

	return what && is_label(what->label) && what->access <= ACCESS_KEY &&
	       (!what->moved || is_all(&what->view, t->version[0]->bytes));
}

/* ---- For operators ---- */

static void put_one(cJSON *row, const struct publication *p)
{
	static const char *const access[] = {"", "nobody", "user", "group", "key"};
	cJSON *shape = cJSON_AddArrayToObject(row, "shape");

	for (unsigned i = 0; i < p->view.shape.ndim; i++)
		cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)p->view.shape.dim[i]));
	cJSON_AddNumberToObject(row, "uid", p->uid);
	cJSON_AddStringToObject(row, "name", p->label);
	cJSON_AddStringToObject(row, "access", access[p->access]);
	cJSON_AddNumberToObject(row, "number", p->number);
	cJSON_AddStringToObject(row, "dtype", dtype_row(p->view.dtype)->name);
	cJSON_AddNumberToObject(row, "bytes", (double)p->bytes);
	cJSON_AddNumberToObject(row, "version", (double)p->version);
	/* Arrays of all sessions that lie there, and the session that keeps it. */
	cJSON_AddNumberToObject(row, "holders", p->share ? p->share->refs : 1);
	cJSON_AddNumberToObject(row, "opened", (double)p->opened);
	cJSON_AddNumberToObject(row, "session", p->holder ? (double)p->holder->id : 0);
}

void publish_put(cJSON *list, const struct brazed *d)
{
	uint32_t left = CTL_LIST_MAX;

	for (const struct publication *p = d->published.first; p && left; p = p->next, left--) {
		cJSON *row = cJSON_CreateObject();

		put_one(row, p);
		cJSON_AddItemToArray(list, row);
	}
}

void publish_numbers(cJSON *status, const struct brazed *d)
{
	const struct published *all = &d->published;
	uint32_t names = 0;

	for (const struct publication *p = all->first; p; p = p->next)
		names++;
	ctl_put(status, "shared.bytes", (double)d->shares.bytes);
	ctl_put(status, "shared.names", names);
	ctl_put(status, "shared.published", (double)all->stats.published);
	ctl_put(status, "shared.copied_bytes", (double)all->stats.copied_bytes);
	ctl_put(status, "shared.opened", (double)all->stats.opened);
	ctl_put(status, "shared.refused", (double)all->stats.refused);
}
