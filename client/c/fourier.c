/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/fourier.c - Fourier transforms: recorded, where a device has them. */
#include <time.h>

#include "array.h"
#include "careful.h"
#include "lock.h"
#include "ticket.h"
#include "wire.h"

#define AGAIN_MS 20 /* between two questions while the device starts */

/* One question; *starting: its answer is not known yet.  A device that cannot be used now may be
 * later, so that is not kept. */
static int ask(bool *starting, bool *fourier, struct braze_session *s, braze_check_fn *check,
	       void *data, struct err *err)
{
	Braze__Wire__Request r = BRAZE__WIRE__REQUEST__INIT;
	Braze__Wire__Offer m = BRAZE__WIRE__OFFER__INIT;
	struct braze_future *f = ticket_create(s, TICKET_OFFER, 0, err);
	uint32_t device = s->device;
	int st = OK;

	if (!f)
		return E_NOMEM;
	ticket_open(f, 1);
	m.ticket = f->first;
	m.device = device;
	r.offer = &m;
	st = (int)wire_send(s, &r, err);
	if (!st)
		st = wire_wait(f, -1, check, data, err);
	*starting = f->starting;
	*fourier = f->fourier;
	if (!st && !f->starting && f->usable)
		s->offers[device] = f->fourier ? OFFER_FOURIER : OFFER_NONE;
	ticket_destroy(f);
	return st;
}

/* Others may record meanwhile. */
static void pause_for(struct braze_session *s, int ms)
{
	const struct timespec t = {0, ms * 1000000L};
	void *token = lock_pause(s);

	nanosleep(&t, NULL);
	lock_resume(s, token);
}

static int find(bool *fourier, struct braze_session *s, braze_check_fn *check, void *data,
		struct err *err)
{
	bool starting = true;
	int st = (int)array_usable(s, err);

	*fourier = false;
	while (!st && starting && s->minor >= MINOR_OFFER && s->ndevice > 1) {
		*fourier = s->offers[s->device] == OFFER_FOURIER;
		if (s->offers[s->device] != OFFER_UNKNOWN)
			return OK;
		st = ask(&starting, fourier, s, check, data, err);
		if (!st && starting)
			pause_for(s, AGAIN_MS);
		if (!st && starting && check && check(data))
			st = BRAZE_E_INTERRUPTED;
	}
	return st;
}

int braze_has_fourier(int *has, braze_session *s, braze_check_fn *check, void *data,
		      braze_error *err)
{
	bool fourier = false;

	lock_take(s);
	int st = find(&fourier, s, check, data, err_of(err));
	lock_give(s);
	*has = fourier;
	return st;
}

static enum status record(struct braze_array **out, enum op op, struct braze_array *a, int axis,
			  int64_t length, struct err *err)
{
	struct braze_session *s = a->session;
	struct op_arg arg = {a->view.dtype, false};
	struct shape shape = a->view.shape;
	struct op_sig sig;
	enum status st = op_infer(&sig, op, &arg, DTYPE_NONE, err);

	shape.dim[axis] = op_transformed(op, shape.dim[axis], length);
	if (!st && !shape.dim[axis])
		st = err_set(err, E_SHAPE, "%s of length %lld along an axis of %lld elements",
			     op_text(op), (long long)length, (long long)a->view.shape.dim[axis]);
	if (!st)
		st = record_use(a, err);
	if (!st)
		st = record_room(s, 1, 2, err);
	if (!st)
		st = array_create(out, s, (enum dtype)sig.out, &shape, err);
	if (st)
		return st;
	record_op(s, op, DTYPE_NONE, (*out)->id, 1, 2);
	record_in(s, a->id);
	record_imm(s, (uint64_t)axis);
	record_imm(s, (uint64_t)length);
	return OK;
}

int braze_fourier(braze_array **out, int op, braze_array *a, int axis, int64_t length,
		  braze_error *error)
{
	const struct op_row *row = op < 0 ? NULL : op_row((unsigned)op);
	struct err *err = err_of(error);
	int ndim = a->view.shape.ndim;

	if (!row || row->kind != KIND_FOURIER)
		return (int)err_set(err, E_INVALID, "%s is no Fourier transform",
				    op_text((unsigned)op));
	if (axis < -ndim || axis >= ndim)
		return (int)err_set(err, E_AXIS,
				    "axis %d is out of bounds for array of dimension %d", axis,
				    ndim);
	axis += axis < 0 ? ndim : 0;
	lock_take(a->session);
	int st = (int)array_usable(a->session, err);
	if (!st)
		st = (int)record(out, (enum op)op, a, axis, length, err);
	if (careful_asks(a->session, st, *out, a->count)) {
		const braze_arg arg = {.array = a};
		const struct recorded r = {
			.op = (enum op)op, .n = 1, .arg = &arg, .axes = (unsigned)axis};
		st = careful_recorded(out, &r, err);
	}
	lock_give(a->session);
	return st;
}
