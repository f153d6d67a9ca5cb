/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/publish.c - publish an array, and open what others have published.
 *
 * Names of users and groups become numbers here: the daemon asks no directory. */
#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "array.h"
#include "future.h"
#include "lock.h"
#include "near.h"
#include "region.h"
#include "ticket.h"
#include "wire.h"

_Static_assert(sizeof(((braze_published *)0)->key) == ACCESS_KEY_TEXT, "public keys");

#define ENTRY_BYTES (64u << 10) /* of a user or group with its members */

static enum status can_share(struct braze_session *s, struct err *err)
{
	enum status st = array_usable(s, err);

	if (!st && s->minor < MINOR_SHARED)
		st = err_set(err, E_UNSUPPORTED,
			     "the daemon is older than this library and publishes nothing");
	return st;
}

/* ---- Names ---- */

/* A number that is one; false: it is a name. */
static bool number_of(uint32_t *out, const char *s)
{
	char *end = NULL;
	unsigned long n = 0;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	n = strtoul(s, &end, 10);
	*out = (uint32_t)n;
	return !*end && !errno && n <= UINT32_MAX;
}

static enum status user_of(uint32_t *out, const char *name, struct err *err)
{
	struct passwd entry, *found = NULL;
	char *room = NULL;

	if (number_of(out, name))
		return OK;
	room = malloc(ENTRY_BYTES);
	if (room && !getpwnam_r(name, &entry, room, ENTRY_BYTES, &found) && found)
		*out = entry.pw_uid;
	free(room);
	return found ? OK : err_set(err, E_INVALID, "there is no user \"%.64s\"", name);
}

static enum status group_of(uint32_t *out, const char *name, struct err *err)
{
	struct group entry, *found = NULL;
	char *room = NULL;

	if (number_of(out, name))
		return OK;
	room = malloc(ENTRY_BYTES);
	if (room && !getgrnam_r(name, &entry, room, ENTRY_BYTES, &found) && found)
		*out = entry.gr_gid;
	free(room);
	return found ? OK : err_set(err, E_INVALID, "there is no group \"%.64s\"", name);
}

static enum status fill_access(Braze__Wire__Publish *p, const char *to, struct err *err)
{
	p->access = ACCESS_SAME;
	if (!to)
		return OK;
	if (!strcmp(to, "nobody")) {
		p->access = ACCESS_OWN;
		return OK;
	}
	if (!strcmp(to, "key")) {
		p->access = ACCESS_KEY;
		return OK;
	}
	if (!strncmp(to, "user:", 5)) {
		p->access = ACCESS_USER;
		return user_of(&p->number, to + 5, err);
	}
	if (!strncmp(to, "group:", 6)) {
		p->access = ACCESS_GROUP;
		return group_of(&p->number, to + 6, err);
	}
	return err_set(err, E_INVALID,
		       "\"%.64s\" says not to whom: \"nobody\", \"user:NAME\", \"group:NAME\" and "
		       "\"key\" do",
		       to);
}

/* What is too long for the daemon is so for every packet. */
static enum status check_name(const char *name, struct err *err)
{
	if (strlen(name) < LIMIT_PUBLISHED_NAME)
		return OK;
	return err_set(err, E_INVALID, "a published name has at most %d characters",
		       LIMIT_PUBLISHED_NAME - 1);
}

/* ---- Publishing ---- */

/* The daemon gets to know a's value by the id that is returned. */
static enum status send_value(uint32_t *id, struct braze_array *a, struct err *err)
{
	enum status st = record_use(a, err);

	if (!st && !a->named)
		st = array_name(a, err);
	*id = a->id;
	return st;
}

static int ask_publish(braze_published *out, struct braze_session *s, Braze__Wire__Publish *p,
		       braze_check_fn *check, void *data, struct err *err)
{
	Braze__Wire__Request r = BRAZE__WIRE__REQUEST__INIT;
	struct braze_future *f = ticket_create(s, TICKET_PUBLISH, 0, err);

	if (!f)
		return E_NOMEM;
	ticket_open(f, 1);
	p->ticket = f->first;
	r.publish = p;
	int st = (int)wire_send(s, &r, err);
	if (!st)
		st = wire_wait(f, -1, check, data, err);
	if (!st && (!f->text || strlen(f->text) >= sizeof(out->key)))
		st = (int)err_set(err, E_PROTOCOL, "the daemon sent a key that is none");
	if (!st) {
		*out = (braze_published){.version = f->version, .copied = f->bytes};
		memcpy(out->key, f->text, strlen(f->text) + 1);
	}
	ticket_destroy(f);
	return st;
}

static int publish(braze_published *out, struct braze_array *a, Braze__Wire__Publish *p,
		   braze_check_fn *check, void *data, struct err *err)
{
	struct braze_session *s = a->session;
	int st = (int)can_share(s, err);

	/* Errors that its operations met are told before others see it. */
	if (!st && unlikely(a->buf->watch))
		st = future_value(a, check, data, err);
	if (!st)
		st = (int)send_value(&p->id, a, err);
	if (!st)
		st = ask_publish(out, s, p, check, data, err);
	if (st)
		return st;
	region_forget(s); /* what is published shall go with who reads it */
	s->counters.published++;
	s->counters.copied += out->copied;
	return OK;
}

int braze_publish(braze_published *out, braze_array *a, const char *name, const char *to,
		  braze_check_fn *check, void *data, braze_error *error)
{
	Braze__Wire__Publish p = BRAZE__WIRE__PUBLISH__INIT;
	struct err *err = err_of(error);
	int st = (int)check_name(name, err);

	if (!st)
		st = (int)fill_access(&p, to, err);
	if (st)
		return st;
	p.label = (char *)name;
	lock_take(a->session);
	st = publish(out, a, &p, check, data, err);
	lock_give(a->session);
	return st;
}

int braze_unpublish(braze_session *s, const char *name, braze_error *error)
{
	Braze__Wire__Publish p = BRAZE__WIRE__PUBLISH__INIT;
	struct err *err = err_of(error);
	braze_published ignored;
	int st = (int)check_name(name, err);

	if (st)
		return st;
	p.label = (char *)name;
	lock_take(s);
	st = (int)can_share(s, err);
	if (!st)
		st = ask_publish(&ignored, s, &p, NULL, NULL, err);
	lock_give(s);
	return st;
}

int braze_set_shared(braze_session *s, int on, braze_error *error)
{
	struct err *err = err_of(error);
	enum status st = OK;

	lock_take(s);
	if (s->shared != !!on) {
		st = atomic_load(&s->state) ? OK : wire_flush(s, err); /* that was for before */
		s->shared = on;
		near_switch(s);
	}
	lock_give(s);
	return (int)st;
}

/* ---- Opening ---- */

/* The number that the daemon has defined becomes a handle's. */
static enum status make_array(struct braze_array **out, struct braze_session *s, uint32_t id,
			      struct opened *o, struct err *err)
{
	struct buffer *b = array_take_buffer(s, o->bytes);
	struct braze_array *a = array_take(s, b);
	enum status st = OK;

	s->free_ids[s->nfree_ids++] = a->id;
	a->id = id;
	b->flags = BUF_READONLY;
	b->why = WHY_OPENED;
	view_copy(&a->view, &o->view);
	a->contiguous = view_contiguous(&a->view);
	st = shape_count(&a->count, &a->view.shape, dtype_row(a->view.dtype)->bytes, err);
	if (!st && o->bytes) {
		st = region_place(s, b, &o->fd, err);
	} else if (!st) {
		atomic_store(&b->offset, 0);
		atomic_store(&b->stored, b->version);
	}
	if (st)
		array_release(a);
	else
		*out = a;
	return st;
}

static enum status ask_open(struct braze_array **out, uint64_t *version, struct braze_session *s,
			    Braze__Wire__Open *open, struct err *err)
{
	Braze__Wire__Request r = BRAZE__WIRE__REQUEST__INIT;
	struct braze_future *f = ticket_create(s, TICKET_OPEN, 0, err);
	enum status st = f ? array_room(s, err) : E_NOMEM;

	if (st) {
		ticket_destroy(f);
		return st;
	}
	ticket_open(f, 1);
	open->ticket = f->first;
	open->id = array_take_id(s);
	r.open = open;
	st = wire_send(s, &r, err);
	if (!st) /* not to be interrupted: only the answer tells whether the id is taken */
		st = (enum status)wire_wait(f, -1, NULL, NULL, err);
	if (!st)
		st = array_room(s, err);
	if (st)
		s->free_ids[s->nfree_ids++] = open->id;
	else
		st = make_array(out, s, open->id, f->opened, err);
	if (!st && version)
		*version = f->opened->version;
	ticket_destroy(f);
	return st;
}

/* "NAME", "USER/NAME" or "key:KEY". */
static enum status fill_name(Braze__Wire__Open *open, char *room, const char *name, struct err *err)
{
	const char *slash = strrchr(name, '/');
	uint32_t owner = 0;
	enum status st = OK;

	if (!strncmp(name, "key:", 4)) {
		open->key = (char *)name + 4;
		return strlen(open->key) == ACCESS_KEY_TEXT - 1
			       ? OK
			       : err_set(err, E_INVALID, "a key has %d hexadecimal digits",
					 ACCESS_KEY_TEXT - 1);
	}
	open->label = (char *)(slash ? slash + 1 : name);
	st = check_name(open->label, err);
	if (!st && !*open->label)
		st = err_set(err, E_INVALID, "a published name has at least one character");
	if (st || !slash)
		return st;
	if ((size_t)(slash - name) >= LIMIT_SESSION_TEXT)
		return err_set(err, E_INVALID, "no user has such a name");
	memcpy(room, name, (size_t)(slash - name));
	room[slash - name] = '\0';
	st = user_of(&owner, room, err);
	open->owner = (uint64_t)owner + 1;
	return st;
}

int braze_open(braze_array **out, uint64_t *version, braze_session *s, const char *name,
	       braze_error *error)
{
	Braze__Wire__Open open = BRAZE__WIRE__OPEN__INIT;
	char user[LIMIT_SESSION_TEXT];
	struct err *err = err_of(error);
	enum status st = fill_name(&open, user, name, err);

	if (st)
		return (int)st;
	lock_take(s);
	st = can_share(s, err);
	if (!st)
		st = ask_open(out, version, s, &open, err);
	if (!st)
		s->counters.opened++;
	lock_give(s);
	return (int)st;
}
