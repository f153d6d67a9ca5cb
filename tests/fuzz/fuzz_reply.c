/* SPDX-License-Identifier: Apache-2.0 */
/* libbraze against a daemon that answers with any bytes.
 *
 * In: a byte that chooses the hello or a session under way, then packets, each
 * after its length in two bytes.  A session under way waits for a demand of three
 * arrays that asks of two more besides, a fence and a lease; whatever comes, an extent that the
 * library takes lies in the arena with room for the buffer, and every question is answered or still
 * open. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "lost.h"
#include "ticket.h"
#include "wire.h"

#define ARENA	(1u << 16)
#define PACKETS 32
#define NASKED	3
#define NBUFFER 5 /* with those that the demand asks of besides */

static struct braze_session session;
static struct buffer buffer[NBUFFER];

static void reset(int fd)
{
	pthread_mutex_destroy(&session.sock);
	pthread_cond_destroy(&session.wake);
	memset(&session, 0, offsetof(struct braze_session, head));
	memset(&session.owner, 0, sizeof session - offsetof(struct braze_session, owner));
	pthread_mutex_init(&session.sock, NULL);
	pthread_cond_init(&session.wake, NULL);
	session.refs = 1;
	session.fd = fd;
}

/* One packet of the input to the session; false when there is none. */
static bool send_one(struct fuzz_input *in, int sock, const int *fd, unsigned nfd)
{
	size_t n = fuzz_byte(in);
	struct err err;

	n |= (size_t)fuzz_byte(in) << 8;
	n = n < in->left ? n : in->left;
	n = n < LIMIT_PACKET_BYTES ? n : LIMIT_PACKET_BYTES;
	if (!n || packet_send(sock, in->at, n, fd, nfd, &err) != PACKET_OK)
		return false;
	in->at += n;
	in->left -= n;
	return true;
}

static void greet(struct fuzz_input *in, const int *pair)
{
	Braze__Wire__Hello hello = BRAZE__WIRE__HELLO__INIT;
	int memory = memfd_create("arena", MFD_CLOEXEC);
	unsigned nfd = fuzz_below(in, 3);
	int fd[2] = {memory, memory};
	struct err err = {0};

	FUZZ_CHECK(!ftruncate(memory, ARENA));
	if (!send_one(in, pair[0], fd, nfd))
		shutdown(pair[0], SHUT_WR);
	if (wire_hello(&session, &hello, &err)) {
		FUZZ_CHECK(err.code && *err.text);
	} else {
		FUZZ_CHECK(session.arena && session.arena_bytes && session.arena_bytes <= ARENA);
		FUZZ_CHECK(session.lease.next <= session.lease.end);
		FUZZ_CHECK(session.lease.end <= session.arena_bytes);
	}
	mapping_drop(session.map);
	close(memory);
}

static struct braze_future *ask(enum ticket_kind kind, unsigned n, unsigned also)
{
	struct braze_future *f = ticket_create(&session, kind, n + also, NULL);

	for (unsigned k = 0; k < n + also; k++) {
		f->item[k].buf = &buffer[k];
		f->item[k].version = 1;
		buffer[k].refs++;
	}
	f->n = n;
	f->nalso = also;
	ticket_open(f, 1);
	return f;
}

static void check(const struct braze_future *f)
{
	uint64_t bytes = f->kind == TICKET_LEASE ? f->bytes : f->kind == TICKET_FENCE ? 64 : 0;

	FUZZ_CHECK(f->missing <= 1);
	if (f->missing || f->err.code)
		return;
	FUZZ_CHECK(f->offset <= ARENA && bytes <= ARENA - f->offset);
	for (unsigned k = 0; f->kind == TICKET_DEMAND && k < f->n; k++)
		FUZZ_CHECK(buffer[k].stored == 1);
}

static void converse(struct fuzz_input *in, const int *pair)
{
	struct braze_future *f[3];

	session.arena_bytes = ARENA;
	for (unsigned k = 0; k < NBUFFER; k++)
		buffer[k] = (struct buffer){.refs = 1, .version = 1, .bytes = 64u << k};
	f[0] = ask(TICKET_DEMAND, NASKED, NBUFFER - NASKED);
	f[1] = ask(TICKET_FENCE, 1, 0);
	f[2] = ask(TICKET_LEASE, 0, 0);
	for (int k = 0; k < PACKETS && send_one(in, pair[0], NULL, 0); k++)
		wire_drain(&session);
	for (unsigned k = 0; k < NBUFFER; k++)
		if (buffer[k].stored)
			FUZZ_CHECK(buffer[k].offset <= ARENA &&
				   buffer[k].bytes <= ARENA - buffer[k].offset);
	for (unsigned k = 0; k < 3; k++)
		check(f[k]);
	if (session.state)
		FUZZ_CHECK(!session.open && session.death.code);
	for (unsigned k = 0; k < 3; k++)
		ticket_destroy(f[k]);
	FUZZ_CHECK(session.refs == 1 && !session.open);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, size};
	int pair[2];

	FUZZ_CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
	reset(pair[1]);
	if (fuzz_below(&in, 4) == 0)
		greet(&in, pair);
	else
		converse(&in, pair);
	close(pair[0]);
	close(pair[1]);
	return 0;
}
