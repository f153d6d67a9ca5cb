/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/lease.c - arena space for host data, cut from the front of a lease.
 *
 * A large array has a lease of its own: the daemon gives it what was freed last, whose pages
 * are there, and a trip costs less than as many fresh pages would.  So has one of middle size
 * from its second time on, up to eight by one question: the lease that all others are cut from
 * is fresh to its end.
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
/* The same of one whose size comes again, as eight of them are asked for in one. */
#define LEASE_AGAIN (24u << 10)
#define LEASE_KEPT  (4u << 20) /* bytes of a size that one question is for, at most */

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

static enum status ask(struct braze_future **out, struct braze_session *s, uint64_t bytes,
		       struct err *err)
{
	Braze__Wire__Request r = BRAZE__WIRE__REQUEST__INIT;
	Braze__Wire__Lease lease = BRAZE__WIRE__LEASE__INIT;
	struct braze_future *f = ticket_create(s, TICKET_LEASE, 0, err);

	if (!f)
		return E_NOMEM;
	ticket_open(f, 1);
	*out = f;
	lease.ticket = f->first;
	lease.bytes = bytes;
	r.lease = &lease;
	if (s->near_made)
		s->near_made->stretch.asking = true;
	enum status st = wire_send(s, &r, err);
	if (s->near_made)
		s->near_made->stretch.asking = false;
	return st;
}

/* Once f is answered. */
static enum status leased(struct lease *out, struct braze_future *f, uint64_t bytes,
			  struct err *err)
{
	struct braze_session *s = f->session;
	enum status st = (enum status)wire_wait(f, -1, NULL, NULL, err);

	if (!st && f->bytes < bytes)
		st = err_set(err, E_NOMEM, "the daemon leased %llu bytes instead of %llu",
			     (unsigned long long)f->bytes, (unsigned long long)bytes);
	if (!st) {
		s->counters.bytes_leased += f->bytes;
		*out = (struct lease){f->offset, f->offset + f->bytes};
	}
	return st;
}

/* At least `bytes` that are leased and in no list of ours yet. */
static enum status ask_for(struct lease *out, struct braze_session *s, uint64_t bytes,
			   struct err *err)
{
	struct braze_future *f = NULL;
	enum status st = ask(&f, s, bytes, err);

	if (!st)
		st = leased(out, f, bytes, err);
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

/* ---- One size again and again ---- */

static struct lease_size *size_row(struct braze_session *s, uint64_t bytes)
{
	for (int i = 0; i < LEASE_SIZES; i++)
		if (s->spare[i].bytes == bytes)
			return &s->spare[i];
	return NULL;
}

/* A row for another size; what the last one's kept goes back. */
static enum status new_row(struct braze_session *s, uint64_t bytes, struct err *err)
{
	struct lease_size *row = &s->spare[s->spare_next++ % LEASE_SIZES];
	struct lease_size old = *row;
	enum status st = OK;

	*row = (struct lease_size){.bytes = bytes};
	for (unsigned i = 0; i < old.n && !st; i++)
		st = unlease(s, old.offset[i], old.bytes, err);
	return st;
}

/* Just `bytes` of what is leased: the rest goes back. */
static enum status cut(uint64_t *offset, struct braze_session *s, struct lease l, uint64_t bytes,
		       struct err *err)
{
	*offset = l.next;
	if (bytes >= LEASE_OWN)
		pages_back(s->arena, s->arena_bytes, l.next, l.next + bytes);
	return unlease(s, l.next + bytes, l.end - l.next - bytes, err);
}

/* It becomes a spare one, if there is room. */
static enum status keep(struct braze_session *s, uint64_t offset, uint64_t bytes, struct err *err)
{
	struct lease_size *row = size_row(s, bytes);

	if (!row || row->n == LEASE_SPARES)
		return unlease(s, offset, bytes, err);
	row->offset[row->n++] = offset;
	return OK;
}

/* Leases of just `bytes`: one to be used, the others, if they come, to be kept. */
static enum status take_own(uint64_t *offset, struct braze_session *s, uint64_t bytes,
			    unsigned count, struct err *err)
{
	struct braze_future *f[LEASE_SPARES] = {NULL};
	struct err refusal = {0};
	enum status st = OK;

	for (unsigned i = 0; i < count && !st; i++)
		st = ask(&f[i], s, bytes, err);
	/* The last one's answer comes last. */
	for (unsigned i = count; i-- > 0;) {
		enum status got = st;
		struct lease l;

		if (!st)
			got = leased(&l, f[i], bytes, &refusal);
		if (!got)
			st = cut(offset, s, l, bytes, err);
		if (!got && !st && i)
			st = keep(s, *offset, bytes, err);
		if (got && !st && !i)
			st = err_set(err, got, "%s", refusal.text);
		ticket_destroy(f[i]);
	}
	return st;
}

/* Those that a program takes again and again are asked for in larger and larger numbers, before
 * they are needed: it waits for one question of many. */
static enum status take_again(uint64_t *offset, struct braze_session *s, uint64_t bytes,
			      struct lease_size *row, struct err *err)
{
	uint64_t most = LEASE_KEPT / bytes;

	if (row->n) {
		*offset = row->offset[--row->n];
		return OK;
	}
	row->more = row->more ? 2 * row->more : 1;
	row->more = row->more < LEASE_SPARES ? row->more : LEASE_SPARES;
	row->more = row->more < most ? row->more : most ? (unsigned)most : 1;
	return take_own(offset, s, bytes, row->more, err);
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
	if (size >= LEASE_AGAIN) {
		struct lease_size *row = size_row(s, size);

		if (row)
			return take_again(offset, s, size, row, err);
		st = new_row(s, size, err);
		if (st || size >= LEASE_OWN)
			return st ? st : take_own(offset, s, size, 1, err);
	}
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
