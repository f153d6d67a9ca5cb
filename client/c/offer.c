/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/offer.c - what the device of the operations recorded now has a library for. */
#include <time.h>

#include "array.h"
#include "lock.h"
#include "ticket.h"
#include "wire.h"

#define AGAIN_MS 20 /* between two questions while the device starts */

/* One question; *starting: its answer is not known yet.  A device that cannot be used now may be
 * later, so that is not kept. */
static int ask(bool *starting, uint8_t *offers, struct braze_session *s, braze_check_fn *check,
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
	*offers = f->offers;
	if (!st && !f->starting && f->usable)
		s->offers[device] = f->offers | OFFER_KNOWN;
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

static int find(uint8_t *offers, struct braze_session *s, braze_check_fn *check, void *data,
		struct err *err)
{
	bool starting = true;
	int st = (int)array_usable(s, err);

	*offers = 0;
	while (!st && starting && s->minor >= MINOR_OFFER && s->ndevice > 1) {
		*offers = s->offers[s->device];
		if (*offers & OFFER_KNOWN)
			return OK;
		st = ask(&starting, offers, s, check, data, err);
		if (!st && starting)
			pause_for(s, AGAIN_MS);
		if (!st && starting && check && check(data))
			st = BRAZE_E_INTERRUPTED;
	}
	return st;
}

static int has_offer(int *has, enum offer what, braze_session *s, braze_check_fn *check, void *data,
		     braze_error *err)
{
	uint8_t offers = 0;

	lock_take(s);
	int st = find(&offers, s, check, data, err_of(err));
	lock_give(s);
	*has = (offers & what) != 0;
	return st;
}

int braze_has_fourier(int *has, braze_session *s, braze_check_fn *check, void *data,
		      braze_error *err)
{
	return has_offer(has, OFFER_FOURIER, s, check, data, err);
}

int braze_has_factors(int *has, braze_session *s, braze_check_fn *check, void *data,
		      braze_error *err)
{
	return has_offer(has, OFFER_FACTORS, s, check, data, err);
}
