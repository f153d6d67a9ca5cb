/* SPDX-License-Identifier: Apache-2.0 */
/* A scripted daemon for the client's tests: a thread behind a socket that writes
 * down what it is asked and answers as it is told.  It computes nothing: an array
 * it is asked for holds doubles equal to its id. */
#ifndef FAKE_DAEMON_H
#define FAKE_DAEMON_H

#define _GNU_SOURCE /* memfd_create */
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <criterion/criterion.h>

#include "braze.h"
#include "braze.pb-c.h"
#include "braze_fast.h"
#include "loops/loops.h"
#include "ops.h"
#include "near.h"
#include "packet.h"

#define FAKE_ARENA  (1u << 30)
#define FAKE_LEASE  (1u << 20)
#define FAKE_RESULT (512u << 20) /* results lie above */
#define FAKE_ROWS   200		 /* of as many: above what is near */

/* It has no compiler; it says that it compiled, without a descriptor; with one that is no object;
 * with an object that has no kernel in it; it is silent. */
enum fake_object { OBJECT_NONE, OBJECT_LOST, OBJECT_JUNK, OBJECT_OTHER, OBJECT_SILENT };

struct fake {
	char folder[32], path[64];
	int listener, fd, memfd;
	pthread_t thread;
	uint8_t *arena;
	uint64_t next_result, next_lease;
	uint64_t bytes; /* of each result */
	uint64_t seq;
	/* The script. */
	_Atomic bool hold;   /* keep answers back until it is false */
	_Atomic bool deaf;   /* do not read */
	_Atomic bool vanish; /* close at the next demand */
	_Atomic int fail;    /* answer demands with this error */
	_Atomic bool stop;
	_Atomic int cancels;
	_Atomic bool near;     /* it computes with the loops that this process has */
	_Atomic bool truth;    /* answers begin with a byte that is a true bool */
	_Atomic int alone;     /* so many answers say that nothing else reads the value; -1: all */
	_Atomic int minor;     /* of the protocol that it speaks; set before it is connected to */
	_Atomic uint32_t also; /* what it says of arrays beside those asked for: 0, ALSO_... */
	_Atomic int also_less; /* so many words too few, -1: none */
	_Atomic uint64_t also_at; /* where they lie; 0: where results lie */
	_Atomic int object;	  /* what it compiles to: OBJECT_... */
	/* What was asked. */
	_Atomic uint64_t told_near; /* operations that the client says it computed */
	pthread_mutex_t lock;
	char *log;
	size_t used, cap;
	struct packet packet;
	/* Demands that are held back. */
	struct {
		uint64_t ticket;
		uint32_t id[LIMIT_DEMAND_IDS + LIMIT_DEMAND_ALSO];
		unsigned n, nalso;
		bool gone;
	} held[64];
	unsigned nheld;
};

__attribute__((format(printf, 2, 3))) static void fake_note(struct fake *f, const char *fmt, ...)
{
	va_list ap;

	pthread_mutex_lock(&f->lock);
	if (f->cap - f->used < 4096) {
		f->cap = f->cap ? f->cap * 2 : 65536;
		f->log = realloc(f->log, f->cap);
	}
	va_start(ap, fmt);
	f->used += (size_t)vsnprintf(f->log + f->used, f->cap - f->used, fmt, ap);
	va_end(ap);
	pthread_mutex_unlock(&f->lock);
}

/* "ADD 3 <- 1 2", "IMPORT.float64 1 <- [0 1 4]", "ADD 2 <- 1 weak.float64 [0x..]" */
static void fake_trace(struct fake *f, const Braze__Wire__Trace *t)
{
	size_t in = 0, imm = 0;

	for (size_t i = 0; i < t->n_head; i++) {
		uint32_t h = t->head[i];
		unsigned d = h >> 16 & 255, nin = h >> 24 & 15, nimm = h >> 28;
		size_t vals = nimm;
		fake_note(f, "%s", op_row(h & 0xffff)->id);
		if (d != 255)
			fake_note(f, ".%s", dtype_row(d)->name);
		if (t->out[i])
			fake_note(f, " %u", t->out[i]);
		fake_note(f, " <-");
		for (unsigned k = 0; k < nin; k++, in++) {
			cr_assert_lt(in, t->n_in);
			if (t->in[in] >> 31)
				fake_note(f, " %s%s", t->in[in] >> 8 & 1 ? "weak." : "",
					  dtype_row(t->in[in] & 255)->name);
			else
				fake_note(f, " %u", t->in[in]);
		}
		/* The field holds at most 15: a VIEW tells its count itself. */
		if (nimm == 15)
			vals = 2 + 2 * (size_t)t->imm[imm];
		if (vals)
			fake_note(f, " [");
		for (size_t k = 0; k < vals; k++, imm++) {
			cr_assert_lt(imm, t->n_imm);
			if (t->imm[imm] >> 52 && ~t->imm[imm] >> 52)
				fake_note(f, "%s0x%llx", k ? " " : "",
					  (unsigned long long)t->imm[imm]);
			else
				fake_note(f, "%s%lld", k ? " " : "", (long long)t->imm[imm]);
		}
		fake_note(f, vals ? "]\n" : "\n");
	}
	cr_assert_eq(in, t->n_in);
	cr_assert_eq(imm, t->n_imm);
}

static void fake_reply(struct fake *f, Braze__Wire__Reply *r, int fd)
{
	uint8_t buf[LIMIT_PACKET_BYTES];
	size_t n = braze__wire__reply__pack(r, buf);
	struct err e;

	while (packet_send(f->fd, buf, n, &fd, fd >= 0, &e) == PACKET_AGAIN) {
		struct pollfd p = {f->fd, POLLOUT, 0};
		poll(&p, 1, 10);
	}
}

/* Doubles equal to its id. */
static uint64_t fake_result(struct fake *f, uint32_t id)
{
	uint64_t at = f->next_result;

	f->next_result += f->bytes;
	for (unsigned k = 0; k < 64; k++)
		((double *)(void *)(f->arena + at))[k] = id;
	return at;
}

static void fake_resolve(struct fake *f, uint64_t ticket, const uint32_t *id, unsigned n,
			 unsigned nalso)
{
	Braze__Wire__Reply r = BRAZE__WIRE__REPLY__INIT;
	Braze__Wire__Resolved a = BRAZE__WIRE__RESOLVED__INIT;
	Braze__Wire__Extent e[LIMIT_DEMAND_IDS], *list[LIMIT_DEMAND_IDS];
	uint64_t also[LIMIT_DEMAND_ALSO];

	for (unsigned i = 0; i < n; i++) {
		braze__wire__extent__init(&e[i]);
		list[i] = &e[i];
		e[i].offset = fake_result(f, id[i]);
		e[i].bytes = f->bytes;
		e[i].alone = f->alone != 0;
		f->alone -= f->alone > 0;
		if (f->truth)
			f->arena[e[i].offset] = 1;
		if (f->fail) {
			e[i].error = (uint32_t)f->fail;
			e[i].text = "as the script says";
		}
	}
	a.ticket = ticket;
	a.n_extent = n;
	a.extent = list;
	for (unsigned i = 0; i < nalso; i++) {
		uint64_t at = fake_result(f, id[n + i]);
		also[i] = f->also ? f->also | (f->also_at ? f->also_at : at) : 0;
	}
	a.n_also = f->also_less < 0 ? 0 : nalso - (unsigned)f->also_less;
	a.also = also;
	r.resolved = &a;
	fake_reply(f, &r, -1);
}

static void fake_ask(struct fake *f, const char *what, uint64_t ticket, const uint32_t *id,
		     unsigned n, unsigned nalso)
{
	fake_note(f, "%s", what);
	for (unsigned i = 0; i < n + nalso; i++)
		fake_note(f, "%s %u", i == n ? " also" : "", id[i]);
	fake_note(f, "\n");
	if (f->hold) {
		f->held[f->nheld].ticket = ticket;
		f->held[f->nheld].n = n;
		f->held[f->nheld].nalso = nalso;
		memcpy(f->held[f->nheld++].id, id, (n + nalso) * sizeof(*id));
		return;
	}
	fake_resolve(f, ticket, id, n, nalso);
}

static void fake_demand(struct fake *f, const Braze__Wire__Demand *d)
{
	uint32_t id[LIMIT_DEMAND_IDS + LIMIT_DEMAND_ALSO];

	cr_assert(d->n_id && d->n_id <= LIMIT_DEMAND_IDS && d->n_also <= LIMIT_DEMAND_ALSO);
	memcpy(id, d->id, d->n_id * sizeof(*id));
	if (d->n_also)
		memcpy(id + d->n_id, d->also, d->n_also * sizeof(*id));
	fake_ask(f, "DEMAND", d->ticket, id, (unsigned)d->n_id, (unsigned)d->n_also);
}

static void fake_cancel(struct fake *f, uint64_t ticket)
{
	Braze__Wire__Reply r = BRAZE__WIRE__REPLY__INIT;
	Braze__Wire__Failure e = BRAZE__WIRE__FAILURE__INIT;

	fake_note(f, "CANCEL\n");
	f->cancels++;
	e.ticket = ticket;
	e.code = E_CANCELLED;
	e.text = "cancelled";
	r.failure = &e;
	fake_reply(f, &r, -1);
	for (unsigned i = 0; i < f->nheld; i++)
		f->held[i].gone |= f->held[i].ticket == ticket;
}

static void fake_welcome(struct fake *f, const Braze__Wire__Hello *h)
{
	Braze__Wire__Reply r = BRAZE__WIRE__REPLY__INIT;
	Braze__Wire__Welcome w = BRAZE__WIRE__WELCOME__INIT;

	cr_assert_eq(h->op_table, op_table_hash());
	w.major = BRAZE_PROTO_MAJOR;
	w.minor = (uint32_t)f->minor;
	w.arena_bytes = FAKE_ARENA;
	w.lease_bytes = FAKE_LEASE;
	w.version = "fake";
	w.loops = f->near ? loops_identity() : 0;
	r.welcome = &w;
	f->next_lease = FAKE_LEASE;
	fake_reply(f, &r, f->memfd);
}

static void fake_lease(struct fake *f, const Braze__Wire__Lease *l)
{
	Braze__Wire__Reply r = BRAZE__WIRE__REPLY__INIT;
	Braze__Wire__Leased a = BRAZE__WIRE__LEASED__INIT;

	fake_note(f, "LEASE %llu\n", (unsigned long long)l->bytes);
	a.ticket = l->ticket;
	a.offset = f->next_lease;
	a.bytes = l->bytes;
	f->next_lease += l->bytes;
	r.leased = &a;
	fake_reply(f, &r, -1);
}

static void fake_explain(struct fake *f, const Braze__Wire__Explain *x)
{
	Braze__Wire__Reply r = BRAZE__WIRE__REPLY__INIT;
	Braze__Wire__Explained a = BRAZE__WIRE__EXPLAINED__INIT;

	fake_note(f, "EXPLAIN %u\n", x->id);
	a.ticket = x->ticket;
	a.text = "  as the script says\n";
	r.explained = &a;
	fake_reply(f, &r, -1);
}

static void fake_compile(struct fake *f, const Braze__Wire__Compile *c)
{
	Braze__Wire__Reply r = BRAZE__WIRE__REPLY__INIT;
	Braze__Wire__Compiled a = BRAZE__WIRE__COMPILED__INIT;
	Braze__Wire__Failure e = BRAZE__WIRE__FAILURE__INIT;
	int fd = -1;

	fake_note(f, "COMPILE %s\n", c->text);
	if (f->object == OBJECT_SILENT)
		return;
	if (f->object == OBJECT_JUNK) {
		fd = memfd_create("junk", MFD_CLOEXEC);
		cr_assert_eq(write(fd, "no object", 9), 9);
	}
	if (f->object == OBJECT_OTHER)
		fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	a.ticket = e.ticket = c->ticket;
	e.code = E_UNSUPPORTED;
	e.text = "no compiler, as the script says";
	if (f->object == OBJECT_NONE)
		r.failure = &e;
	else
		r.compiled = &a;
	fake_reply(f, &r, fd);
	if (fd >= 0)
		close(fd);
}

static void fake_request(struct fake *f, const Braze__Wire__Request *q)
{
	cr_assert_eq(q->seq, ++f->seq, "requests are numbered without a gap");
	if (q->hello)
		fake_welcome(f, q->hello);
	if (q->trace)
		fake_trace(f, q->trace);
	if (q->demand && f->vanish) {
		shutdown(f->fd, SHUT_RDWR);
		return;
	}
	if (q->demand)
		fake_demand(f, q->demand);
	if (q->fence)
		fake_ask(f, "FENCE", q->fence->ticket, &q->fence->id, 1, 0);
	if (q->cancel)
		fake_cancel(f, q->cancel->ticket);
	if (q->lease)
		fake_lease(f, q->lease);
	if (q->explain)
		fake_explain(f, q->explain);
	if (q->compile)
		fake_compile(f, q->compile);
	if (q->near)
		f->told_near = q->near;
	if (q->unlease)
		fake_note(f, "UNLEASE %llu %llu\n", (unsigned long long)q->unlease->offset,
			  (unsigned long long)q->unlease->bytes);
}

static void *fake_run(void *data)
{
	struct fake *f = data;
	struct err e;

	f->fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
	while (!f->stop) {
		struct pollfd p = {f->fd, f->deaf ? 0 : POLLIN, 0};
		poll(&p, 1, 5);
		for (unsigned i = 0; !f->hold && i < f->nheld; i++)
			if (!f->held[i].gone) {
				f->held[i].gone = true;
				fake_resolve(f, f->held[i].ticket, f->held[i].id, f->held[i].n,
					     f->held[i].nalso);
			}
		if (f->deaf)
			continue;
		enum packet_result r = packet_recv(f->fd, &f->packet, &e);
		if (r == PACKET_AGAIN)
			continue;
		if (r != PACKET_OK)
			break;
		Braze__Wire__Request *q =
			braze__wire__request__unpack(NULL, f->packet.len, f->packet.data);
		cr_assert_not_null(q);
		fake_request(f, q);
		braze__wire__request__free_unpacked(q, NULL);
	}
	fake_note(f, "CLOSED\n");
	return NULL;
}

__attribute__((unused)) static struct fake *fake_start(void)
{
	struct fake *f = calloc(1, sizeof(*f));
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	strcpy(f->folder, "/tmp/braze-test-XXXXXX");
	cr_assert_not_null(mkdtemp(f->folder));
	snprintf(f->path, sizeof(f->path), "%s/s", f->folder);
	strcpy(a.sun_path, f->path);
	f->fd = -1;
	f->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(f->listener, (struct sockaddr *)&a, sizeof(a)), 0);
	cr_assert_eq(listen(f->listener, 4), 0);
	f->memfd = memfd_create("arena", MFD_CLOEXEC);
	cr_assert_eq(ftruncate(f->memfd, FAKE_ARENA), 0);
	f->arena = mmap(NULL, FAKE_ARENA, PROT_READ | PROT_WRITE, MAP_SHARED, f->memfd, 0);
	f->next_result = FAKE_RESULT;
	f->bytes = 65536;
	pthread_mutex_init(&f->lock, NULL);
	pthread_create(&f->thread, NULL, fake_run, f);
	return f;
}

__attribute__((unused)) static braze_session *fake_connect(struct fake *f, unsigned flags)
{
	struct braze_options o = {.size = sizeof(o), .socket = f->path, .flags = flags};
	braze_session *s = NULL;
	braze_error e = {0};

	cr_assert_eq(braze_connect(&s, &o, &e), 0, "%s", e.text);
	/* Behind what a new session tries. */
	if (s->near_made)
		s->near_made->stretch = (struct near_stretch){.need = NEAR_CALM, .most = NEAR_WIDE};
	return s;
}

/* One that computes with the loops that this process has; each result has room for fake_large. */
__attribute__((unused)) static struct fake *fake_start_near(void)
{
	struct fake *f = fake_start();

	f->near = true;
	f->bytes = 1u << 19;
	return f;
}

/* A creation that is recorded and not computed near. */
__attribute__((unused)) static braze_array *fake_large(braze_session *s)
{
	const int64_t shape[2] = {FAKE_ROWS, FAKE_ROWS};
	braze_array *a = NULL;

	cr_assert_eq(braze_full(&a, s, BRAZE_FLOAT64, 2, shape, braze_double(1), NULL), 0);
	return a;
}

/* Wait until the log holds this text, and forget the log up to its end. */
__attribute__((unused)) static bool fake_saw(struct fake *f, const char *text)
{
	bool saw = false;

	for (int i = 0; i < 400 && !saw; i++) {
		pthread_mutex_lock(&f->lock);
		char *at = f->log ? strstr(f->log, text) : NULL;
		if (at) {
			at += strlen(text);
			f->used -= (size_t)(at - f->log);
			memmove(f->log, at, f->used + 1);
			saw = true;
		}
		pthread_mutex_unlock(&f->lock);
		if (!saw)
			usleep(5000);
	}
	if (!saw)
		fprintf(stderr, "the log has no \"%s\":\n%s\n", text, f->log ? f->log : "");
	return saw;
}

__attribute__((unused)) static void fake_stop(struct fake *f)
{
	f->stop = true;
	f->deaf = false;
	shutdown(f->listener, SHUT_RDWR);
	pthread_join(f->thread, NULL);
	close(f->listener);
	if (f->fd >= 0)
		close(f->fd);
	munmap(f->arena, FAKE_ARENA);
	close(f->memfd);
	unlink(f->path);
	rmdir(f->folder);
	free(f->log);
	free(f);
}

/* An array of n doubles 0, 1, 2, ... */
__attribute__((unused)) static braze_array *fake_array(braze_session *s, int64_t n)
{
	double x[64];
	braze_array *a = NULL;
	braze_error e = {0};

	for (int i = 0; i < 64; i++)
		x[i] = i;
	cr_assert_eq(braze_from_data(&a, s, BRAZE_FLOAT64, 1, &n, NULL, x, &e), 0, "%s", e.text);
	return a;
}

__attribute__((unused)) static braze_array *fake_op(const char *name, braze_array *a,
						    braze_array *b)
{
	braze_arg arg[2] = {braze_arg_array(a), braze_arg_array(b)};
	braze_array *r = NULL;
	braze_error e = {0};

	cr_assert_eq(braze_apply(&r, NULL, braze_op_find(name), b ? 2 : 1, arg, &e), 0, "%s",
		     e.text);
	return r;
}

#endif
