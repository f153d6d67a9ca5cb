/* SPDX-License-Identifier: Apache-2.0 */
/* lend.c - memory of a device for libraries in its client's process.
 *
 * In:  a frozen array whose value lies on a device; or the type and shape of one that is to be
 *      filled in there.
 * Out: the descriptor of its memory.
 *
 * The value is frozen, so no operation writes that memory; it stays on its device, and counts for
 * its user's quota, until the array is dropped.  What the client has mapped it keeps beyond that,
 * and beyond the worker's end: the driver frees the memory with the last mapping. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "brazed.h"
#include "future/reply.h"
#include "wire/decode.h"

/* A question that the device's worker has. */
struct lending {
	struct session *session; /* which counts it among its jobs */
	struct mirror *mirror;	 /* and it one of its users; NULL once it is gone */
	struct storage *storage; /* held */
	const struct device *device;
	uint64_t ticket;
	uint32_t id;
};

static void lent(void *data, int fd, uint64_t bytes, const struct err *err)
{
	struct lending *l = data;
	struct session *s = l->session;
	struct array *a = trace_array(&s->trace, l->id);
	/* A worker that died took its mirrors along. */
	struct mirror *m = mirror_on(l->storage, l->device) == l->mirror ? l->mirror : NULL;

	if (fd < 0 && a && a->exported == l->storage)
		trace_export_end(&s->trace, a);
	if (s->conn && fd >= 0)
		reply_exported(s->conn, l->ticket, bytes, l->device->name, l->device->uuid, fd);
	else if (s->conn)
		reply_failure(s->conn, l->ticket, err);
	if (fd >= 0)
		close(fd);
	if (m && fd >= 0)
		mirror_resize(m, bytes);
	if (m)
		mirror_release(m);
	storage_unref(&s->trace, l->storage);
	session_jobs(s, -1);
	session_later(s);
	free(l);
}

/* The mirror has one more user already. */
static void lend(struct session *s, uint64_t ticket, uint32_t id, struct mirror *m)
{
	struct lending *l = xcalloc(1, sizeof *l);
	struct err err;

	*l = (struct lending){s, m, storage_ref(m->storage), m->device, ticket, id};
	trace_export(&s->trace, trace_array(&s->trace, id));
	session_jobs(s, 1);
	if (executor_device_export(m->device->executor, m->region, lent, l))
		return;
	err_set(&err, E_LOST, "lost: the worker of %s has died", m->device->name);
	lent(l, -1, 0, &err);
}

/* Has the session room for one export more, of so many bytes? */
static enum status room(struct session *s, uint64_t bytes, struct err *err)
{
	uint64_t used = 0;

	if (s->trace.nexport >= LIMIT_EXPORTS)
		return err_set(err, E_LIMIT,
			       "other libraries have memory of %d arrays, as many as are possible: "
			       "let go of some",
			       LIMIT_EXPORTS);
	session_quota(s);
	used = trace_live(&s->trace) + trace_charge(&s->trace);
	if (!s->trace.quota_bytes ||
	    (bytes <= s->trace.quota_bytes && used <= s->trace.quota_bytes - bytes))
		return OK;
	err_set(err, E_NOMEM,
		"%llu bytes for another library would pass what this user's quota leaves to the "
		"connection, %llu MiB",
		(unsigned long long)bytes, (unsigned long long)(s->trace.quota_bytes >> 20));
	return trace_over(&s->trace, err);
}

/* ---- A value that is there ---- */

/* Where the value was made, if it lies there; NULL: it is the host's, as what was only copied to a
 * device to be read. */
static struct mirror *lies_on(const struct version *v)
{
	const struct storage *at = v->storage;
	struct mirror *m = v->state == VERSION_STORED && v->bytes ? at->mirror : NULL;

	while (m && at->made_on != m->device->index + 1)
		m = m->other;
	return m && m->valid && m->device->exports ? m : NULL;
}

/* Where is it? */
static void look(const struct session *s, uint64_t ticket, const struct version *v)
{
	const struct mirror *m = lies_on(v);
	const struct device *d = m ? m->device : NULL;

	reply_exported(s->conn, ticket, 0, d ? d->name : "", d ? d->uuid : "", -1);
}

static void lend_value(struct session *s, const struct decode_export *r, const struct array *a)
{
	const struct version *v = a->frozen;
	struct mirror *m = lies_on(v);
	struct err err;

	if (v->state == VERSION_FAILED) {
		reply_failure(s->conn, r->ticket, v->error);
	} else if (v->state == VERSION_STORED && storage_lost(v->storage)) {
		err_set(&err, E_LOST, "lost: the array was only on a device that failed");
		reply_failure(s->conn, r->ticket, &err);
	} else if (!m) {
		reply_exported(s->conn, r->ticket, 0, "", "", -1);
	} else if (!a->exported && room(s, v->bytes, &err)) {
		reply_failure(s->conn, r->ticket, &err);
	} else {
		m->users++;
		lend(s, r->ticket, r->id, m);
	}
}

/* ---- Room for one that the client brings ---- */

static enum status read_view(struct view *v, uint64_t *bytes, const struct decode_export *r,
			     struct err *err)
{
	struct shape shape = {.ndim = (uint8_t)r->ndim};
	int64_t count = 0;

	if (!dtype_native(r->dtype) || r->ndim > LIMIT_NDIM)
		return err_set(err, E_INVALID, "there is no array of such a type or shape");
	for (size_t i = 0; i < r->ndim; i++) {
		if (r->shape[i] < 0)
			return err_set(err, E_INVALID, "an axis has no %lld elements",
				       (long long)r->shape[i]);
		shape.dim[i] = r->shape[i];
	}
	if (shape_count(&count, &shape, dtype_row(r->dtype)->bytes, err))
		return err->code;
	view_init(v, (enum dtype)r->dtype, &shape);
	*bytes = (uint64_t)count * dtype_row(r->dtype)->bytes;
	return *bytes ? OK : err_set(err, E_INVALID, "an array without elements lies nowhere");
}

static enum status find_room(struct mirror **out, struct session *s, struct storage *at,
			     const struct decode_export *r, struct err *err)
{
	uint8_t number = dispatch_device(s->d, r->device);
	struct device *dev = number ? isolate_own(s, number - 1u) : NULL;
	struct mirror *victim = NULL;
	enum status st = OK;

	if (dev && !session_sees(s, dev))
		return session_blind(s, dev, err);
	if (!dev || !dev->index || dev->state != DEVICE_USABLE || !dev->exports)
		return err_set(err, E_DEVICE, "there is no device \"%.32s\" that can be used",
			       r->device);
	st = room(s, at->bytes, err);
	if (!st)
		st = account_check(s, LIMITS_device_bytes, at->bytes, err);
	if (st)
		return st;
	*out = device_make_room(dev, at->bytes, &victim) == ROOM_YES
		       ? mirror_use(dev, &s->trace, at, s->id)
		       : NULL;
	return *out ? OK
		    : err_set(err, E_NOMEM, "%s has no room for %llu bytes now", dev->name,
			      (unsigned long long)at->bytes);
}

/* Both names of it, or none. */
static enum status name_room(struct session *s, const struct decode_export *r,
			     const struct view *view, struct version *v, struct err *err)
{
	enum status st = trace_define(&s->trace, r->room, view, v->bytes, v, err);

	if (st)
		return st;
	return trace_define_frozen(&s->trace, r->id, trace_array(&s->trace, r->room), err);
}

static enum status lend_room(struct session *s, const struct decode_export *r, struct err *err)
{
	struct trace *t = &s->trace;
	struct storage *at = NULL;
	struct version *v = NULL;
	struct mirror *m = NULL;
	struct view view;
	struct err no;
	uint64_t bytes = 0;
	enum status st = OK;

	if (read_view(&view, &bytes, r, &no)) {
		reply_failure(s->conn, r->ticket, &no);
		return OK;
	}
	at = storage_bare(t, bytes, HOME_ANY);
	if (find_room(&m, s, at, r, &no)) {
		storage_unref(t, at);
		reply_failure(s->conn, r->ticket, &no);
		return OK;
	}
	/* What was another client's shall not be seen. */
	executor_device_clear(m->device->executor, m->region);
	m->valid = 1;
	at->made_on = (uint8_t)(m->device->index + 1);
	v = version_create(t, bytes, VERSION_PENDING);
	version_attach(t, v, at);
	version_store(t, v);
	st = name_room(s, r, &view, v, err);
	if (!st)
		lend(s, r->ticket, r->id, m);
	return st;
}

enum status lend_ask(struct session *s, const struct decode_export *r, struct err *err)
{
	const struct array *a = trace_array(&s->trace, r->id);

	if (r->room)
		return lend_room(s, r, err);
	if (!a)
		return err_set(err, E_UNKNOWN_ARRAY, "export of array %u, which does not exist",
			       r->id);
	if (r->look) {
		look(s, r->ticket, trace_current(a));
		return OK;
	}
	if (!a->frozen)
		return err_set(err, E_PROTOCOL, "export of array %u, whose value may change",
			       r->id);
	lend_value(s, r, a);
	return OK;
}
