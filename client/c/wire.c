/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/wire.c - requests out, replies in, and waiting for them.
 *
 * One thread at a time reads the socket (`reading`); it hands every answer to the
 * future that asked and wakes the others, one of which reads next.  A sender that
 * finds the socket full reads as well: the daemon stops reading a client that does
 * not take its replies, and both would wait for ever. */
#include "wire.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "device.h"
#include "kernel.h"
#include "lock.h"
#include "lost.h"
#include "near.h"
#include "pages.h"
#include "profile.h"
#include "region.h"
#include "ticket.h"

#define HELLO_TIMEOUT 10000 /* ms for the daemon to answer hello */

enum status wire_dead(struct braze_session *s, struct err *err)
{
	enum status code = (enum status)atomic_load(&s->state);

	if (s->closed)
		return err_set(err, E_DAEMON_GONE, "the session was closed");
	if (code == E_FORKED)
		return err_set(err, E_FORKED,
			       "the session belongs to the parent process; connect again");
	pthread_mutex_lock(&s->sock);
	if (err)
		*err = s->death;
	pthread_mutex_unlock(&s->sock);
	return code;
}

/* Under sock. */
static void die_locked(struct braze_session *s, const struct err *e)
{
	uint32_t alive = OK;

	if (!atomic_load(&s->state))
		s->death = *e;
	atomic_compare_exchange_strong(&s->state, &alive, (uint32_t)e->code);
	while (s->open) {
		struct braze_future *f = s->open;
		f->missing = 1;
		ticket_answer(f, &s->death);
	}
	pthread_cond_broadcast(&s->wake);
}

void wire_die(struct braze_session *s, const struct err *e)
{
	pthread_mutex_lock(&s->sock);
	die_locked(s, e);
	pthread_mutex_unlock(&s->sock);
}

/* ---- Replies ---- */

static enum status check_storage(const struct braze_session *s, uint32_t region, uint64_t offset,
				 uint64_t bytes, uint64_t want, struct err *err)
{
	if (region != 0 || offset > s->arena_bytes || bytes < want ||
	    bytes > s->arena_bytes - offset)
		return err_set(
			err, E_PROTOCOL,
			"the daemon named storage outside the arena: region %u, offset %llu, "
			"%llu bytes",
			region, (unsigned long long)offset, (unsigned long long)bytes);
	return OK;
}

static enum status extent_error(const Braze__Wire__Extent *e, struct err *err)
{
	if (!e->error)
		return OK;
	return err_set(err, (enum status)e->error, "%s",
		       e->text && e->text[0] ? e->text : status_text((enum status)e->error));
}

/* The buffer's version v lies at the extent, unless a later one is known to. */
static void store_extent(struct buffer *b, uint64_t v, uint64_t offset)
{
	if (v <= atomic_load_explicit(&b->stored, memory_order_relaxed))
		return;
	atomic_store_explicit(&b->offset, offset, memory_order_relaxed);
	atomic_store_explicit(&b->stored, v, memory_order_release);
}

/* The value lies beside the arena: it is read there once its region is mapped, by who waits for
 * it.  Only the first of an answer comes with its descriptor. */
static void take_region(struct braze_session *s, struct ticket_item *item, uint32_t region)
{
	item->region = region;
	if (item->file || s->inbox.nfds != 1 || s->inbox.fd[0] < 0)
		return;
	item->file = (uint32_t)s->inbox.fd[0] + 1;
	s->inbox.fd[0] = -1;
}

/* What a demand's answer says of an array that it did not wait for (limits.h). */
static enum status told(const struct braze_session *s, struct ticket_item *item, uint64_t word,
			struct err *err)
{
	uint64_t offset = word & ~(uint64_t)(HOST_ALIGN - 1), bytes = item->buf->bytes;
	enum status st = OK;

	if (!(word & ALSO_STORED))
		return OK;
	st = check_storage(s, 0, offset, bytes, bytes, err);
	if (st)
		return st;
	store_extent(item->buf, item->version, offset);
	item->alone = word & ALSO_ALONE;
	return OK;
}

static enum status resolve_also(const struct braze_session *s, struct braze_future *f,
				const Braze__Wire__Resolved *r, struct err *err)
{
	unsigned also = r->ticket == f->first ? f->nalso : 0;
	enum status st = OK;

	if (r->n_also && r->n_also != also)
		return err_set(err, E_PROTOCOL, "%zu words tell of %u arrays", r->n_also, also);
	for (size_t i = 0; i < r->n_also && !st; i++)
		st = told(s, &f->item[f->n + i], r->also[i], err);
	return st;
}

static void spent(struct braze_session *s, const uint64_t *t)
{
	s->spent = (struct braze_spent){
		.planning_ns = t[0], .running_ns = t[1], .queued_ns = t[2], .ran = t[3]};
}

/* Where one of the arrays lies that were waited for. */
static enum status take_extent(struct braze_session *s, struct braze_future *f,
			       struct ticket_item *item, const Braze__Wire__Extent *e,
			       struct err *err)
{
	enum status st = extent_error(e, err);

	if (!st && e->away && f->kind == TICKET_COMPUTE)
		return OK; /* it is there, and pending for this process */
	if (!st && e->region && f->kind != TICKET_FENCE) {
		take_region(s, item, e->region);
		return OK;
	}
	if (!st)
		st = check_storage(s, e->region, e->offset, e->bytes, item->buf->bytes, err);
	if (st)
		return st;
	if (f->kind == TICKET_FENCE)
		f->offset = e->offset;
	else
		store_extent(item->buf, item->version, e->offset);
	item->alone = e->alone;
	return OK;
}

static void resolve(struct braze_session *s, const Braze__Wire__Resolved *r)
{
	struct braze_future *f = ticket_find(s, r->ticket);
	struct err first = {0}, e;

	if (!f ||
	    (f->kind != TICKET_DEMAND && f->kind != TICKET_FENCE && f->kind != TICKET_COMPUTE))
		return;
	unsigned base = (unsigned)(r->ticket - f->first) * LIMIT_DEMAND_IDS;
	unsigned want = f->n - base < LIMIT_DEMAND_IDS ? f->n - base : LIMIT_DEMAND_IDS;
	if (r->n_extent != want)
		err_set(&first, E_PROTOCOL, "%zu extents answer a demand of %u arrays", r->n_extent,
			want);
	for (unsigned i = 0; i < want && i < r->n_extent; i++)
		if (take_extent(s, f, &f->item[base + i], r->extent[i], &e))
			first = first.code ? first : e;
	if (resolve_also(s, f, r, &e))
		first = first.code ? first : e;
	ticket_answer(f, first.code ? &first : NULL);
}

static void failure(struct err *e, const Braze__Wire__Failure *f)
{
	err_set(e, f->code ? (enum status)f->code : E_INTERNAL, "%s",
		f->text && f->text[0] ? f->text : status_text((enum status)f->code));
}

/* The object came with the packet.  It is loaded now: whoever asked may look much later, and a
 * process has few descriptors. */
static void compiled(struct braze_session *s, uint64_t ticket)
{
	struct braze_future *f = ticket_find(s, ticket);
	struct err e = {0};

	if (!f || f->kind != TICKET_COMPILE || f->object)
		return;
	if (s->inbox.nfds == 1)
		f->object = kernel_code_object(s->inbox.fd[0], &e);
	else
		err_set(&e, E_PROTOCOL, "the daemon sent %u objects for a kernel", s->inbox.nfds);
	ticket_answer(f, e.code ? &e : NULL);
}

static uint8_t offers_of(const Braze__Wire__Offered *o)
{
	return (uint8_t)((o->fourier ? OFFER_FOURIER : 0) | (o->factors ? OFFER_FACTORS : 0));
}

static struct gpu_rates rates_of(const Braze__Wire__Offered *o)
{
	struct gpu_rates r = {.units = o->units,
			      .double_ratio = o->double_ratio,
			      .memory_rate = o->memory_rate,
			      .upload_rate = o->upload_rate,
			      .download_rate = o->download_rate,
			      .capacity = o->capacity,
			      .astray = o->astray};

	snprintf(r.name, sizeof r.name, "%s", o->device);
	return r;
}

/* Answers about arrays of several sessions. */
static void deliver_shared(struct braze_session *s, const Braze__Wire__Reply *r)
{
	struct braze_future *f;
	struct err e = {0};

	if (r->published && (f = ticket_find(s, r->published->ticket)) &&
	    f->kind == TICKET_PUBLISH && !f->text) {
		f->version = r->published->version;
		f->bytes = r->published->copied;
		f->text = strdup(r->published->key);
		ticket_answer(f, NULL);
	}
	if (r->offered && (f = ticket_find(s, r->offered->ticket)) && f->kind == TICKET_OFFER) {
		f->starting = r->offered->starting;
		f->usable = r->offered->usable;
		f->offers = offers_of(r->offered);
		f->rates = rates_of(r->offered);
		ticket_answer(f, NULL);
	}
	if (r->exported && (f = ticket_find(s, r->exported->ticket)) && f->kind == TICKET_EXPORT &&
	    !f->lent) {
		f->lent = device_lent(r->exported, &s->inbox, &e);
		ticket_answer(f, f->lent ? NULL : &e);
	}
	if (r->opened && (f = ticket_find(s, r->opened->ticket)) && f->kind == TICKET_OPEN &&
	    !f->opened) {
		f->opened = region_opened(r->opened, &s->inbox, &e);
		ticket_answer(f, f->opened ? NULL : &e);
	}
}

/* Under sock. */
static void deliver(struct braze_session *s, const Braze__Wire__Reply *r)
{
	struct braze_future *f;
	struct err e = {0};

	if (r->resolved)
		resolve(s, r->resolved);
	if (r->resolved && r->resolved->n_spent == SPENT_WORDS)
		spent(s, r->resolved->spent);
	if (r->leased && (f = ticket_find(s, r->leased->ticket)) && f->kind == TICKET_LEASE) {
		f->offset = r->leased->offset;
		f->bytes = r->leased->bytes;
		if (f->offset > s->arena_bytes || f->bytes > s->arena_bytes - f->offset)
			err_set(&e, E_PROTOCOL, "the daemon leased storage outside the arena");
		ticket_answer(f, e.code ? &e : NULL);
	}
	if (r->explained && (f = ticket_find(s, r->explained->ticket)) &&
	    f->kind == TICKET_EXPLAIN && !f->text) {
		f->text = strdup(r->explained->text);
		ticket_answer(f, NULL);
	}
	if (r->compiled)
		compiled(s, r->compiled->ticket);
	deliver_shared(s, r);
	if (r->failure && (f = ticket_find(s, r->failure->ticket))) {
		failure(&e, r->failure);
		ticket_answer(f, &e);
	}
	if (r->goodbye) {
		failure(&e, r->goodbye);
		die_locked(s, &e);
	}
}

/* Take in one packet if one is there.  Under sock. */
static enum packet_result take_in(struct braze_session *s)
{
	struct err e = {0};
	enum packet_result r = packet_recv(s->fd, &s->inbox, &e);

	if (r == PACKET_OK) {
		Braze__Wire__Reply *reply =
			braze__wire__reply__unpack(NULL, s->inbox.len, s->inbox.data);
		if (reply)
			deliver(s, reply);
		packet_close_fds(&s->inbox);
		if (reply) {
			braze__wire__reply__free_unpacked(reply, NULL);
			return r;
		}
		err_set(&e, E_PROTOCOL, "the daemon sent a message that does not decode");
		r = PACKET_ERROR;
	}
	if (r != PACKET_AGAIN)
		die_locked(s, &e);
	return r;
}

void wire_drain(struct braze_session *s)
{
	pthread_mutex_lock(&s->sock);
	while (!atomic_load(&s->state) && take_in(s) == PACKET_OK)
		;
	pthread_cond_broadcast(&s->wake);
	pthread_mutex_unlock(&s->sock);
}

/* Read for at most ms milliseconds, one packet.  Under sock, which is let go of
 * meanwhile.  True when a signal arrived. */
static bool pump(struct braze_session *s, int ms)
{
	struct pollfd p = {.fd = s->fd, .events = POLLIN};
	int64_t look = s->on_gpu ? spin_pace_time(&s->pace, s->spin_ns) : s->spin_ns, begun = 0;
	int n;

	s->reading = true;
	pthread_mutex_unlock(&s->sock);
	if (s->on_gpu && look)
		begun = spin_clock();
	n = spin_readable(s->fd, look) ? 1 : poll(&p, 1, ms);
	bool interrupted = n < 0 && errno == EINTR;
	if (n > 0 && begun)
		spin_pace_note(&s->pace, spin_clock() - begun);
	pthread_mutex_lock(&s->sock);
	if (n > 0 && !atomic_load(&s->state))
		take_in(s);
	s->reading = false;
	pthread_cond_broadcast(&s->wake);
	return interrupted;
}

static void sleep_until_woken(struct braze_session *s, int ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += (long)(ms % 1000) * 1000000;
	t.tv_sec += ms / 1000 + t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&s->wake, &s->sock, &t);
}

/* ---- The end of a connection, and the next ---- */

/* Under sock. */
static void hang_up(struct braze_session *s)
{
	if (s->fd < 0)
		return;
	shutdown(s->fd, SHUT_RDWR); /* whoever polls wakes up */
	while (s->reading)
		sleep_until_woken(s, WAIT_SLICE);
	close(s->fd);
	s->fd = -1;
}

void wire_hang_up(struct braze_session *s)
{
	pthread_mutex_lock(&s->sock);
	hang_up(s);
	pthread_mutex_unlock(&s->sock);
}

void wire_graft(struct braze_session *s, struct braze_session *fresh)
{
	pthread_mutex_lock(&s->sock);
	hang_up(s);
	s->fd = fresh->fd;
	fresh->fd = -1;
	mapping_drop(s->map); /* lost buffers hold it */
	region_forget(s);
	s->map = fresh->map;
	fresh->map = NULL;
	s->arena = fresh->arena;
	s->arena_bytes = fresh->arena_bytes;
	s->death = (struct err){0};
	atomic_store(&s->state, (uint32_t)OK);
	pthread_mutex_unlock(&s->sock);
}

/* ---- Requests ---- */

enum status wire_send(struct braze_session *s, Braze__Wire__Request *r, struct err *err)
{
	Braze__Wire__Trace trace = BRAZE__WIRE__TRACE__INIT;
	struct err e = {0};

	if (atomic_load(&s->state))
		return wire_dead(s, err);
	if (s->nops) {
		trace.n_head = trace.n_out = s->nops;
		trace.head = s->head;
		trace.out = s->out;
		trace.n_in = s->nin;
		trace.in = s->in;
		trace.n_imm = s->nimm;
		trace.imm = s->imm;
		trace.device = s->device;
		trace.shared = s->shared && s->minor >= MINOR_SHARED;
		r->trace = &trace;
	}
	r->seq = ++s->seq;
	r->near = s->minor >= MINOR_TELLS ? s->counters.near : 0;
	size_t len = braze__wire__request__pack(r, s->outbox);
	r->trace = NULL;
	s->counters.packets++;
	s->counters.ops += s->nops;
	if (s->near)
		near_sent(&s->near->stretch, s->head, s->nops);
	s->nops = s->nin = s->nimm = 0;
	uint64_t began = profile_sending(s);
	for (;;) {
		enum packet_result p = packet_send(s->fd, s->outbox, len, NULL, 0, &e);
		if (p == PACKET_OK) {
			profile_sent(s, began);
			return OK;
		}
		if (p != PACKET_AGAIN) {
			/* The daemon's last words may still be unread. */
			wire_drain(s);
			wire_die(s, &e);
			return wire_dead(s, err);
		}
		struct pollfd full = {.fd = s->fd, .events = POLLIN | POLLOUT};
		poll(&full, 1, WAIT_SLICE);
		wire_drain(s);
		if (atomic_load(&s->state))
			return wire_dead(s, err);
	}
}

enum status wire_flush(struct braze_session *s, struct err *err)
{
	Braze__Wire__Request r = BRAZE__WIRE__REQUEST__INIT;

	if (!s->nops)
		return OK;
	return wire_send(s, &r, err);
}

/* ---- Waiting ---- */

/* Until f is answered, the time is over or the check says stop.  Under sock. */
static int wait_answer(struct braze_future *f, int64_t end, braze_check_fn *check, void *data)
{
	struct braze_session *s = f->session;
	int64_t next_check = clock_ms() + WAIT_SLICE;

	while (f->missing) {
		int64_t now = clock_ms(), left = next_check - now;
		bool interrupted = false;

		if (end >= 0 && now >= end)
			return E_TIMEOUT;
		if (end >= 0 && end - now < left)
			left = end - now;
		left = left < 1 ? 1 : left;
		if (s->reading)
			sleep_until_woken(s, (int)left);
		else
			interrupted = pump(s, (int)left);
		if (!interrupted && clock_ms() < next_check)
			continue;
		next_check = clock_ms() + WAIT_SLICE;
		if (check && f->missing) {
			pthread_mutex_unlock(&s->sock);
			int stop = check(data);
			pthread_mutex_lock(&s->sock);
			/* Also when it was answered meanwhile: whoever was asked has an
			 * exception under way. */
			if (stop)
				return BRAZE_E_INTERRUPTED;
		}
	}
	return OK;
}

static int wait_paused(struct braze_future *f, int64_t end, braze_check_fn *check, void *data)
{
	struct braze_session *s = f->session;
	void *token = lock_pause(s);

	pthread_mutex_lock(&s->sock);
	int r = wait_answer(f, end, check, data);
	pthread_mutex_unlock(&s->sock);
	lock_resume(s, token);
	return r;
}

/* Withdraw the question, then give the daemon a moment to confirm. */
static void cancel(struct braze_future *f)
{
	struct err ignored;

	for (unsigned i = 0; i < f->tickets; i++) {
		Braze__Wire__Request r = BRAZE__WIRE__REQUEST__INIT;
		Braze__Wire__Cancel c = BRAZE__WIRE__CANCEL__INIT;
		c.ticket = f->first + i;
		r.cancel = &c;
		if (wire_send(f->session, &r, &ignored))
			return;
	}
	wait_paused(f, clock_ms() + WAIT_CANCEL, NULL, NULL);
}

int wire_wait(struct braze_future *f, int timeout_ms, braze_check_fn *check, void *data,
	      struct err *err)
{
	struct braze_session *s = f->session;
	int r = OK;

	pthread_mutex_lock(&s->sock);
	bool open = f->missing != 0;
	pthread_mutex_unlock(&s->sock);
	if (open && !f->waited && timeout_ms) {
		f->waited = true;
		s->counters.round_trips++;
	}
	if (open && timeout_ms == 0)
		wire_drain(s);
	if (open) {
		uint64_t began = timeout_ms ? profile_wait(s) : 0;
		r = wait_paused(f, timeout_ms < 0 ? -1 : clock_ms() + timeout_ms, check, data);
		profile_waited(s, began, f->kind);
	}
	if (r == BRAZE_E_INTERRUPTED) {
		/* Not when the connection ended meanwhile: another may have taken its place. */
		pthread_mutex_lock(&s->sock);
		open = f->missing != 0;
		pthread_mutex_unlock(&s->sock);
		if (open)
			cancel(f);
		err_set(err, E_CANCELLED, "the wait was interrupted");
		if (err)
			err->code = (enum status)BRAZE_E_INTERRUPTED;
		return r;
	}
	if (r == E_TIMEOUT)
		return (int)err_set(err, E_TIMEOUT, "no answer within %d ms", timeout_ms);
	pthread_mutex_lock(&s->sock);
	r = (int)f->err.code;
	if (r && err)
		*err = f->err;
	pthread_mutex_unlock(&s->sock);
	return r;
}

/* ---- Hello ---- */

static enum status map_arena(struct braze_session *s, int fd, uint64_t bytes, struct err *err)
{
	struct stat st;

	/* A file shorter than the mapping would end the program with SIGBUS. */
	if (fstat(fd, &st) || bytes == 0 || (uint64_t)st.st_size < bytes)
		return err_set(err, E_PROTOCOL, "the daemon's arena is smaller than %llu bytes",
			       (unsigned long long)bytes);
	void *p = pages_map(fd, bytes);
	if (p == MAP_FAILED)
		return err_set(err, E_NOMEM,
			       "mapping the arena of %llu MiB: %s; is the address space limited?",
			       (unsigned long long)(bytes >> 20), strerror(errno));
	s->map = mapping_create(p, bytes);
	if (!s->map) {
		munmap(p, bytes);
		return err_set(err, E_NOMEM, "no memory for a session");
	}
	s->arena = p;
	s->arena_bytes = bytes;
	return OK;
}

static enum status welcome(struct braze_session *s, const Braze__Wire__Reply *r, struct err *err)
{
	const Braze__Wire__Failure *no = r->goodbye ? r->goodbye : r->failure;
	const Braze__Wire__Welcome *w = r->welcome;

	if (no) {
		failure(err, no);
		return err ? err->code : E_CONNECT;
	}
	if (!w || s->inbox.nfds != 1)
		return err_set(err, E_PROTOCOL, "the daemon's first reply is not a welcome");
	if (w->major != BRAZE_PROTO_MAJOR)
		return err_set(err, E_VERSION, "the daemon speaks protocol %u, this library %d",
			       w->major, BRAZE_PROTO_MAJOR);
	enum status st = map_arena(s, s->inbox.fd[0], w->arena_bytes, err);
	if (st)
		return st;
	if (w->lease_offset > w->arena_bytes || w->lease_bytes > w->arena_bytes - w->lease_offset)
		return err_set(err, E_PROTOCOL, "the first lease lies outside the arena");
	for (size_t i = 0; i < w->n_device && i < LIMIT_DEVICES; i++)
		snprintf(s->device_name[s->ndevice++], LIMIT_DEVICE_NAME, "%s", w->device[i]);
	snprintf(s->notice, sizeof(s->notice), "%s", w->notice);
	for (char *c = s->notice; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
	s->minor = w->minor;
	s->loops = w->loops;
	s->lease.next = w->lease_offset;
	s->lease.end = w->lease_offset + w->lease_bytes;
	s->counters.bytes_leased = w->lease_bytes;
	return OK;
}

enum status wire_hello(struct braze_session *s, Braze__Wire__Hello *hello, struct err *err)
{
	Braze__Wire__Request r = BRAZE__WIRE__REQUEST__INIT;
	int64_t end = clock_ms() + HELLO_TIMEOUT;
	enum packet_result p;

	r.hello = hello;
	enum status st = wire_send(s, &r, err);
	if (st)
		return st;
	while ((p = packet_recv(s->fd, &s->inbox, err)) == PACKET_AGAIN) {
		struct pollfd in = {.fd = s->fd, .events = POLLIN};
		if (clock_ms() >= end)
			return err_set(err, E_CONNECT, "the daemon did not answer hello in %d s",
				       HELLO_TIMEOUT / 1000);
		poll(&in, 1, WAIT_SLICE);
	}
	if (p != PACKET_OK)
		return p == PACKET_CLOSED ? E_DAEMON_GONE : E_PROTOCOL;
	Braze__Wire__Reply *reply = braze__wire__reply__unpack(NULL, s->inbox.len, s->inbox.data);
	st = reply ? welcome(s, reply, err)
		   : err_set(err, E_PROTOCOL, "the daemon's first reply does not decode");
	if (reply)
		braze__wire__reply__free_unpacked(reply, NULL);
	packet_close_fds(&s->inbox);
	return st;
}
