/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/lease.c - arena space for host data, cut from the front of a lease.
 *
 * A large array has a lease of its own: the daemon gives it what was freed last, whose pages
 * are there, and a trip costs less than as many fresh pages would.
 *
 * Invariant: what lies between lease.next and lease.end is leased and not yet
 * imported.  Everything the client imported belongs to the daemon. */
#include "lease.h"

#include "lock.h"
#include "near.h"
#include "pages.h"
#include "ticket.h"
#include "wire.h"

/* Bytes of a large array, at least: a trip takes as long as some 50 fresh pages. */
#define LEASE_OWN (192u << 10)

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

static enum status unlease(struct braze_session *s, uint64_t offset, uint64_t bytes,
			   struct err *err)
{
	Braze__Wire__Request r = BRAZE__WIRE__REQUEST__INIT;
	Braze__Wire__Unlease u = BRAZE__WIRE__UNLEASE__INIT;

	if (!bytes)
		return OK;
	u.offset = offset;
	u.bytes = bytes;
	s->counters.bytes_leased -= bytes;
	r.unlease = &u;
	return wire_send(s, &r, err);
}

static enum status give_back(struct braze_session *s, struct err *err)
{
	struct lease l = s->lease;

	s->lease.next = s->lease.end = 0;
	return l.next < l.end ? unlease(s, l.next, l.end - l.next, err) : OK;
}

enum status lease_return(struct braze_session *s, uint64_t offset, uint64_t bytes, struct err *err)
{
	return unlease(s, offset, round_up(bytes, host_align(bytes)), err);
}

/* At least `bytes` that are leased and in no list of ours yet. */
static enum status ask_for(struct lease *out, struct braze_session *s, uint64_t bytes,
			   struct err *err)
{
	Braze__Wire__Request r = BRAZE__WIRE__REQUEST__INIT;
	Braze__Wire__Lease ask = BRAZE__WIRE__LEASE__INIT;
	struct braze_future *f = ticket_create(s, TICKET_LEASE, 0, err);

	if (!f)
		return E_NOMEM;
	ticket_open(f, 1);
	ask.ticket = f->first;
	ask.bytes = bytes;
	r.lease = &ask;
	if (s->near_made)
		s->near_made->stretch.asking = true;
	enum status st = wire_send(s, &r, err);
	if (s->near_made)
		s->near_made->stretch.asking = false;
	if (!st)
		st = (enum status)wire_wait(f, -1, NULL, NULL, err);
	if (!st && f->bytes < bytes)
		st = err_set(err, E_NOMEM, "the daemon leased %llu bytes instead of %llu",
			     (unsigned long long)f->bytes, (unsigned long long)bytes);
	if (!st) {
		s->counters.bytes_leased += f->bytes;
		*out = (struct lease){f->offset, f->offset + f->bytes};
	}
	ticket_destroy(f);
	return st;
}

/* A lease with room for `bytes` becomes the session's. */
static enum status renew(struct braze_session *s, uint64_t bytes, struct err *err)
{
	struct lease l;
	enum status st = ask_for(&l, s, bytes > LIMIT_LEASE_BYTES ? bytes : LIMIT_LEASE_BYTES, err);

	/* Another thread may have renewed the lease meanwhile. */
	if (!st)
		st = give_back(s, err);
	if (!st)
		s->lease = l;
	return st;
}

/* A lease of just `bytes`. */
static enum status take_own(uint64_t *offset, struct braze_session *s, uint64_t bytes,
			    struct err *err)
{
	struct lease l;
	enum status st = ask_for(&l, s, bytes, err);

	if (st)
		return st;
	*offset = l.next;
	pages_back(s->arena, s->arena_bytes, l.next, l.next + bytes);
	return unlease(s, l.next + bytes, l.end - l.next - bytes, err);
}

enum status lease_take(uint64_t *offset, struct braze_session *s, uint64_t bytes, struct err *err)
{
	uint64_t align = host_align(bytes);
	uint64_t size = round_up(bytes, align);
	enum status st = OK;

	/* The daemon takes nothing for an array without elements. */
	*offset = 0;
	if (!bytes)
		return OK;
	if (size >= LEASE_OWN)
		return take_own(offset, s, size, err);
	for (;;) {
		uint64_t at = round_up(s->lease.next, align);
		if (at <= s->lease.end && size <= s->lease.end - at) {
			s->lease.next = at + size;
			*offset = at;
			return OK;
		}
		/* A tail worth keeping serves the small arrays that follow a large one. */
		st = give_back(s, err);
		if (!st)
			st = renew(s, size + align, err);
		if (st)
			return st;
	}
}
