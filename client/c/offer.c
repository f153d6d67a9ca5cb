/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/offer.c - what the device of the operations recorded now has a library for. */
#include <time.h>

#include "array.h"
#include "base/clock.h"
#include "kernel.h"
#include "lock.h"
#include "ticket.h"
#include "wire.h"

#define AGAIN_MS 20   /* between two questions while the device starts */
#define RATES_MS 1000 /* for so long what was told of a GPU is believed */
#define STRAYS	 9

/* What went to the GPU by our choice, and was done by the daemon's CPU, which has no code for it,
 * is to be rare: each time we wait twice as long until the next one. */
static void take_rates(struct braze_session *s, const struct gpu_rates *rates)
{
	if (rates->astray > s->rates.astray) {
		s->strays += s->strays < STRAYS;
		s->here_ms = clock_ms() + (1000 << s->strays);
	}
	s->rates = *rates;
	s->rates_ms = clock_ms();
}

/* One question; *starting: its answer is not known yet.  A device that cannot be used now may be
 * later, so that is not kept. */
static int ask(bool *starting, uint8_t *offers, struct braze_session *s, bool rates,
	       braze_check_fn *check, void *data, struct err *err)
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
	m.rates = rates;
	r.offer = &m;
	st = (int)wire_send(s, &r, err);
	if (!st)
		st = wire_wait(f, -1, check, data, err);
	*starting = f->starting;
	*offers = f->offers;
	if (!st && !f->starting && f->usable)
		s->offers[device] = f->offers | OFFER_KNOWN;
	if (!st && rates)
		take_rates(s, &f->rates);
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
		st = ask(&starting, offers, s, false, check, data, err);
		if (!st && starting)
			pause_for(s, AGAIN_MS);
		if (!st && starting && check && check(data))
			st = BRAZE_E_INTERRUPTED;
	}
	return st;
}

int offer_rates(const struct gpu_rates **out, struct braze_session *s, struct err *err)
{
	braze_check_fn *check = s->owned ? s->owner.check : NULL;
	uint8_t offers = 0;
	bool starting = false;
	struct err own = {0};
	int st = OK;

	*out = NULL;
	if (s->minor < MINOR_RATES || s->ndevice < 2)
		return OK;
	if (!s->rates_ms || clock_ms() - s->rates_ms >= RATES_MS)
		st = ask(&starting, &offers, s, true, check, s->owner.data, &own);
	if (st == BRAZE_E_INTERRUPTED && err)
		*err = own;
	if (st)
		return st == BRAZE_E_INTERRUPTED ? st : OK;
	if (s->rates.units && clock_ms() >= s->here_ms)
		*out = &s->rates;
	return OK;
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
