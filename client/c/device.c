/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/device.c - arrays on a device, given to other libraries of this process and taken from
 * them.
 *
 * What is given is a snapshot: its handle pins the value at the daemon, and what this process has
 * mapped lives as long as it likes.  What is taken is copied into memory that the daemon lends, by
 * this process's driver, since only that knows the other library's addresses. */
#include "device.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "driver.h"
#include "future.h"
#include "lock.h"
#include "ticket.h"
#include "wire.h"

struct braze_exported {
	struct braze_array *pin; /* the snapshot */
	struct driver_memory memory;
	uint64_t address;
};

struct lent *device_lent(const Braze__Wire__Exported *r, struct packet *p, struct err *err)
{
	struct lent *l = calloc(1, sizeof(*l));

	if (!l || p->nfds != (r->bytes ? 1u : 0u) || strlen(r->uuid) >= sizeof(l->uuid) ||
	    strlen(r->device) >= sizeof(l->device)) {
		free(l);
		err_set(err, E_PROTOCOL, "the daemon lent memory that is none");
		return NULL;
	}
	l->bytes = r->bytes;
	l->fd = r->bytes ? p->fd[0] : -1;
	if (r->bytes)
		p->fd[0] = -1;
	strcpy(l->uuid, r->uuid);
	strcpy(l->device, r->device);
	return l;
}

void device_forget(struct lent *l)
{
	if (l && l->fd >= 0)
		close(l->fd);
	free(l);
}

/* ---- Given ---- */

/* Send the question; *f is its answer. */
static int ask(struct braze_future **f, struct braze_session *s, Braze__Wire__Export *e,
	       braze_check_fn *check, void *data, struct err *err)
{
	Braze__Wire__Request r = BRAZE__WIRE__REQUEST__INIT;
	int st = OK;

	*f = ticket_create(s, TICKET_EXPORT, 0, err);
	if (!*f)
		return E_NOMEM;
	ticket_open(*f, 1);
	e->ticket = (*f)->first;
	r.export = e;
	st = (int)wire_send(s, &r, err);
	return st ? st : wire_wait(*f, -1, check, data, err);
}

/* Compute a's value where it may stay on a device; *there false: this process has it, near. */
static int settle(bool *there, struct braze_array *a, braze_check_fn *check, void *data,
		  struct err *err)
{
	struct braze_session *s = a->session;
	braze_future *f = NULL;
	int st = OK;

	*there = s->minor >= MINOR_EXPORT && s->ndevice > 1 && !s->forked &&
		 !(a->buf->flags & BUF_APART) && a->count;
	if (!*there || future_stored(a))
		return OK;
	st = braze_compute(&f, 1, &a, (braze_error *)(void *)err);
	if (!st)
		st = braze_wait(f, -1, check, data, (braze_error *)(void *)err);
	braze_future_release(f);
	return st;
}

/* The snapshot's memory, lent; NULL: it is on no device of this process's. */
static int lend(struct lent **out, int *device, struct braze_array *pin, braze_check_fn *check,
		void *data, struct err *err)
{
	Braze__Wire__Export e = BRAZE__WIRE__EXPORT__INIT;
	struct braze_future *f = NULL;
	int st = OK;

	e.id = pin->id;
	st = ask(&f, pin->session, &e, check, data, err);
	*out = NULL;
	if (!st && f->lent->bytes)
		*device = driver_device(f->lent->uuid);
	if (!st && f->lent->bytes && *device >= 0) {
		*out = f->lent;
		f->lent = NULL;
	}
	ticket_destroy(f);
	return st;
}

static int map(braze_exported **out, struct braze_array *pin, struct lent *l, int device, int write,
	       struct err *err)
{
	struct braze_exported *x = calloc(1, sizeof(*x));
	int st = x ? (int)driver_map(&x->memory, device, l->fd, l->bytes, write, err)
		   : (int)err_set(err, E_NOMEM, "no memory for an export");

	if (!st && l->bytes < pin->buf->bytes) {
		driver_unmap(&x->memory);
		st = (int)err_set(err, E_PROTOCOL, "the daemon lent less than the array");
	}
	if (st) {
		free(x);
		return st;
	}
	x->pin = pin;
	x->address = x->memory.address + (uint64_t)pin->view.offset;
	*out = x;
	return OK;
}

int braze_export(braze_exported **out, braze_array *a, int write, braze_check_fn *check, void *data,
		 braze_error *error)
{
	struct braze_session *s = a->session;
	struct err *err = err_of(error);
	struct braze_array *pin = NULL;
	struct lent *l = NULL;
	bool there = false;
	int device = -1;
	int st = settle(&there, a, check, data, err);

	*out = NULL;
	if (st || !there)
		return st;
	st = braze_snapshot(&pin, a, error);
	if (st)
		return st;
	lock_take(s);
	if (!(pin->buf->flags & BUF_APART))
		st = lend(&l, &device, pin, check, data, err);
	if (!st && l)
		st = map(out, pin, l, device, write, err);
	s->counters.exported += *out != NULL;
	lock_give(s);
	device_forget(l);
	if (!*out)
		braze_release(pin);
	return st;
}

uint64_t braze_exported_address(const braze_exported *x)
{
	return x->address;
}

int braze_exported_device(const braze_exported *x)
{
	return x->memory.device;
}

void braze_exported_release(braze_exported *x)
{
	if (!x)
		return;
	/* A forked child has no driver, and nothing of it. */
	if (!x->pin->session->forked)
		driver_unmap(&x->memory);
	braze_release(x->pin);
	free(x);
}

/* The daemon knows the array by a->id from here on. */
static int look(struct lent **out, struct braze_array *a, braze_check_fn *check, void *data,
		struct err *err)
{
	Braze__Wire__Export e = BRAZE__WIRE__EXPORT__INIT;
	struct braze_future *f = NULL;
	int st = (int)record_use(a, err);

	if (!st && !a->named)
		st = (int)array_name(a, err);
	if (st)
		return st;
	e.id = a->id;
	e.look = true;
	st = ask(&f, a->session, &e, check, data, err);
	if (!st) {
		*out = f->lent;
		f->lent = NULL;
	}
	ticket_destroy(f);
	return st;
}

int braze_device_of(int *device, char name[16], braze_array *a, braze_check_fn *check, void *data,
		    braze_error *error)
{
	struct err *err = err_of(error);
	struct lent *l = NULL;
	bool there = false;
	int st = settle(&there, a, check, data, err);

	*device = -1;
	if (st || !there)
		return st;
	lock_take(a->session);
	if (!(a->buf->flags & BUF_APART))
		st = look(&l, a, check, data, err);
	lock_give(a->session);
	if (l && *l->device) {
		*device = driver_device(l->uuid);
		memcpy(name, l->device, LIMIT_DEVICE_NAME);
	}
	device_forget(l);
	return st;
}

uint64_t braze_version_of(const braze_array *a)
{
	return a->buf->version;
}

/* ---- Taken ---- */

/* Number `id` and the array it stands for are known to the daemon: a snapshot that goes again. */
static void drop_id(struct braze_session *s, uint32_t id)
{
	if (!atomic_load(&s->state) && !record_room(s, 1, 0, NULL)) {
		record_op(s, OP_DROP, DTYPE_NONE, 0, 1, 0);
		record_in(s, id);
	}
	s->free_ids[s->nfree_ids++] = id;
}

/* An array on the daemon's device of this name, and its memory; E_DEVICE, E_NOMEM: there is none.
 */
static int room(struct braze_array **out, struct lent **lent, uint32_t *id, struct braze_session *s,
		const char *device, const braze_foreign *from, const struct shape *shape,
		struct err *err)
{
	Braze__Wire__Export e = BRAZE__WIRE__EXPORT__INIT;
	struct braze_future *f = NULL;
	struct braze_array *a = NULL;
	int st = (int)array_room(s, err);

	if (!st)
		*id = array_take_id(s);
	if (!st)
		st = (int)array_create(&a, s, (enum dtype)from->dtype, shape, err);
	if (st)
		return st;
	e.id = *id;
	e.room = a->id;
	e.dtype = (uint32_t)from->dtype;
	e.n_shape = shape->ndim;
	e.shape = (int64_t *)shape->dim;
	e.device = (char *)device;
	/* Not to be interrupted: only the answer tells whether the numbers are taken. */
	st = ask(&f, s, &e, NULL, NULL, err);
	if (!st) {
		*lent = f->lent;
		f->lent = NULL;
		*out = a;
	} else if (st == E_DEVICE || st == E_NOMEM || st == E_LIMIT || st == E_INVALID) {
		/* The daemon has refused, and has no such array: none is to be dropped. */
		s->free_ids[s->nfree_ids++] = *id;
		array_forget(a);
	}
	ticket_destroy(f);
	return st;
}

/* Copy what lies in C order into memory of a device of the daemon's. */
static int bring(struct braze_array **out, struct braze_session *s, const char *device,
		 const braze_foreign *from, const struct shape *shape, struct err *err)
{
	struct braze_array *a = NULL;
	struct driver_memory m;
	struct lent *l = NULL;
	uint32_t id = 0;
	int st = room(&a, &l, &id, s, device, from, shape, err);

	if (st)
		return st;
	if (driver_device(l->uuid) != from->device)
		st = (int)err_set(err, E_DEVICE, "that is another device");
	if (!st)
		st = (int)driver_map(&m, from->device, l->fd, l->bytes, true, err);
	if (!st) {
		st = (int)driver_copy(m.address, from->address, a->buf->bytes, from->device,
				      from->stream, err);
		driver_unmap(&m);
	}
	device_forget(l);
	drop_id(s, id);
	if (st)
		array_release(a);
	else
		*out = a;
	return st;
}

/* The lowest and one past the highest byte, from the first element on. */
static void reach(int64_t *lo, int64_t *hi, const braze_foreign *from, const int64_t *strides)
{
	*lo = 0;
	*hi = dtype_row((unsigned)from->dtype)->bytes;
	for (int i = 0; i < from->ndim; i++) {
		int64_t way = (from->shape[i] - 1) * strides[i];

		*(way < 0 ? lo : hi) += way;
	}
}

static int carry(braze_array **out, struct braze_session *s, const braze_foreign *from,
		 const int64_t *strides, braze_error *error)
{
	struct err *err = err_of(error);
	int64_t lo = 0, hi = 0;
	char *host = NULL;
	int st = OK;

	reach(&lo, &hi, from, strides);
	host = malloc((size_t)(hi - lo));
	if (!host)
		return (int)err_set(err, E_NOMEM, "no memory for %lld bytes of a GPU",
				    (long long)(hi - lo));
	st = (int)driver_fetch(host, from->address + (uint64_t)lo, (uint64_t)(hi - lo),
			       from->device, from->stream, err);
	if (!st)
		st = braze_from_data(out, s, from->dtype, from->ndim, from->shape, strides,
				     host - lo, error);
	if (!st)
		s->counters.carried++;
	free(host);
	return st;
}

/* Where one of the daemon's devices has room for it; *out is NULL where none has. */
static int bring_any(struct braze_array **out, struct braze_session *s, const braze_foreign *from,
		     const struct shape *shape, bool plain, struct err *err)
{
	struct err why;

	lock_take(s);
	int st = (int)array_usable(s, err);
	bool can = !st && s->minor >= MINOR_EXPORT && plain;
	for (uint32_t i = 0; can && i < s->ndevice && !*out; i++)
		if (strcmp(s->device_name[i], "cpu") != 0 &&
		    bring(out, s, s->device_name[i], from, shape, &why) == OK)
			s->counters.brought++;
	lock_give(s);
	return st;
}

static int take(braze_array **out, braze_session *s, const braze_foreign *from, braze_error *error)
{
	struct err *err = err_of(error);
	struct shape shape;
	struct view plain;
	int64_t count = 0;
	int st = (int)array_shape(&shape, from->ndim, from->shape, err);

	*out = NULL;
	if (!st && !dtype_native((unsigned)from->dtype))
		st = (int)err_set(err, E_DTYPE, "%d is no element type", from->dtype);
	if (!st)
		st = (int)shape_count(&count, &shape, dtype_row((unsigned)from->dtype)->bytes, err);
	if (st)
		return st;
	view_init(&plain, (enum dtype)from->dtype, &shape);
	const int64_t *strides = from->strides ? from->strides : plain.stride;
	if (!count)
		return braze_from_data(out, s, from->dtype, from->ndim, from->shape, NULL, "",
				       error);
	memcpy(plain.stride, strides, sizeof(*strides) * (size_t)from->ndim);
	st = bring_any(out, s, from, &shape, view_contiguous(&plain), err);
	return st || *out ? st : carry(out, s, from, strides, error);
}

int braze_from_device(braze_array **out, braze_session *s, const braze_foreign *from,
		      braze_error *error)
{
	braze_foreign known = *from;

	if (known.device < 0)
		known.device = driver_owner(known.address);
	return take(out, s, &known, error);
}
