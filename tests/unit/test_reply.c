/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "trace_fixture.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "braze.pb-c.h"
#include "future/reply.h"
#include "wire/conn.h"

static struct conn *conn;
static int client;
static struct packet packet;
static Braze__Wire__Reply *reply;

static void on_packet(void *data, struct packet *p)
{
	(void)data;
	(void)p;
}

static void on_closed(void *data, const struct err *why)
{
	(void)data;
	(void)why;
}

static void setup(void)
{
	static const struct conn_events events = {on_packet, on_closed};
	int fd[2];

	fixture_setup();
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd), 0);
	client = fd[1];
	conn = conn_create(&loop, fd[0], &events, NULL);
}

static void teardown(void)
{
	braze__wire__reply__free_unpacked(reply, NULL);
	conn_close(conn);
	close(client);
	fixture_teardown();
}

TestSuite(reply, .init = setup, .fini = teardown);

/* What the client gets. */
static const Braze__Wire__Reply *received(void)
{
	cr_assert_eq(packet_recv(client, &packet, &err), PACKET_OK, "%s", err.text);
	reply = braze__wire__reply__unpack(NULL, packet.len, packet.data);
	cr_assert_not_null(reply);
	return reply;
}

Test(reply, welcome_carries_the_arena)
{
	struct extent lease = {4096, 8192};
	const Braze__Wire__Welcome *w;
	struct stat mine, theirs;

	reply_welcome(conn, 5, arena, &lease, (const char *[]){"cpu", "cuda:0"}, 2, "a line");
	w = received()->welcome;
	cr_assert_not_null(w);
	cr_assert_eq(w->major, BRAZE_PROTO_MAJOR);
	cr_assert_eq(w->session, 5);
	cr_assert_eq(w->arena_bytes, arena_bytes(arena));
	cr_assert_eq(w->lease_offset, 4096);
	cr_assert_eq(w->lease_bytes, 8192);
	cr_assert_eq(w->n_device, 2);
	cr_assert_str_eq(w->device[1], "cuda:0");
	cr_assert_str_eq(w->notice, "a line");
	cr_assert_eq(packet.nfds, 1);
	cr_assert_eq(fstat(packet.fd[0], &theirs) | fstat(arena_fd(arena), &mine), 0);
	cr_assert_eq(mine.st_ino, theirs.st_ino);
	packet_close_fds(&packet);
}

static void resolve_also(struct version *const *v, uint32_t n, uint32_t nalso,
			 const struct reply_inline *small, size_t nsmall)
{
	struct ticket_list list = {0};
	struct ticket *t;

	for (uint32_t k = 0; k < n + nalso; k++)
		version_ref(v[k]);
	t = ticket_add(&list, TICKET_DEMAND, 9, v, n, n, nalso, 0);
	reply_resolved(conn, t, small, nsmall, NULL);
	ticket_remove(&list, t, &trace);
}

static void resolve(struct version *const *v, uint32_t n, const struct reply_inline *small,
		    size_t nsmall)
{
	resolve_also(v, n, 0, small, nsmall);
}

Test(reply, resolved_names_storage_failures_and_small_data_in_order)
{
	uint8_t eight[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	struct version *v[3] = {version_create(&trace, 8, VERSION_PENDING),
				version_create(&trace, 800, VERSION_PENDING),
				version_create(&trace, 8, VERSION_PENDING)};
	struct reply_inline small = {v[0], eight};
	const Braze__Wire__Resolved *r;
	struct err lost;

	for (int k = 0; k < 2; k++) {
		version_attach(&trace, v[k], storage_create(&trace, v[k]->bytes, HOME_ANY, &err));
		version_store(&trace, v[k]);
	}
	err_set(&lost, E_LOST, "gone");
	version_fail(&trace, v[2], &lost);
	resolve(v, 3, &small, 1);
	r = received()->resolved;
	cr_assert_not_null(r);
	cr_assert_eq(r->ticket, 9);
	cr_assert_eq(r->n_extent, 3);
	cr_assert_eq(r->extent[0]->data.len, 8);
	cr_assert_arr_eq(r->extent[0]->data.data, eight, 8);
	cr_assert_eq(r->extent[1]->data.len, 0);
	cr_assert_eq(r->extent[1]->offset, v[1]->storage->extent.offset);
	cr_assert_eq(r->extent[1]->bytes, 800);
	cr_assert_eq(r->extent[2]->error, E_LOST);
	cr_assert_str_eq(r->extent[2]->text, "gone");
	for (int k = 0; k < 3; k++)
		version_unref(&trace, v[k]);
}

static void store(struct version *v)
{
	version_attach(&trace, v, storage_create(&trace, v->bytes, HOME_ANY, &err));
	version_store(&trace, v);
}

/* One for each state that a value can be in. */
Test(reply, what_is_not_waited_for_is_told_if_it_is_stored_in_the_arena)
{
	struct version *v[6];
	const Braze__Wire__Resolved *r;
	struct err lost;

	import(1, 9);
	for (int k = 0; k < 5; k++)
		v[k] = version_create(&trace, 800, VERSION_PENDING);
	v[5] = trace_current(trace_array(&trace, 1));
	store(v[0]);
	store(v[1]);
	v[2]->state = VERSION_RUNNING;
	err_set(&lost, E_LOST, "gone");
	version_fail(&trace, v[3], &lost);
	store(v[4]);
	v[4]->storage->host = 0;
	resolve_also(v, 1, 5, NULL, 0);
	v[4]->storage->host = 1;
	v[2]->state = VERSION_PENDING;
	r = received()->resolved;
	cr_assert_eq(r->n_extent, 1);
	cr_assert_eq(r->n_also, 5);
	cr_assert_eq(r->also[0], v[1]->storage->extent.offset | ALSO_STORED);
	cr_assert_eq(r->also[1], 0);
	cr_assert_eq(r->also[2], 0);
	cr_assert_eq(r->also[3], 0, "it lies on a device");
	cr_assert_eq(r->also[4], v[5]->storage->extent.offset | ALSO_STORED | ALSO_ALONE,
		     "nothing but its array has it");
	for (int k = 0; k < 5; k++)
		version_unref(&trace, v[k]);
}

/* The longest answer there is must fit a packet. */
Test(reply, failures_of_a_full_demand_fit_one_packet)
{
	struct version *v[LIMIT_DEMAND_IDS + LIMIT_DEMAND_ALSO];
	const Braze__Wire__Resolved *r;
	struct err lost = {.code = E_LOST};

	memset(lost.text, 'x', sizeof lost.text - 1);
	for (int k = 0; k < LIMIT_DEMAND_IDS; k++) {
		v[k] = version_create(&trace, 8, VERSION_PENDING);
		version_fail(&trace, v[k], &lost);
	}
	for (int k = 0; k < LIMIT_DEMAND_ALSO; k++) {
		v[LIMIT_DEMAND_IDS + k] = version_create(&trace, 8, VERSION_PENDING);
		store(v[LIMIT_DEMAND_IDS + k]);
	}
	resolve_also(v, LIMIT_DEMAND_IDS, LIMIT_DEMAND_ALSO, NULL, 0);
	r = received()->resolved;
	cr_assert_eq(r->n_extent, LIMIT_DEMAND_IDS);
	cr_assert_eq(r->n_also, LIMIT_DEMAND_ALSO);
	cr_assert_eq(strlen(r->extent[0]->text), sizeof lost.text - 1);
	cr_assert_eq(r->extent[LIMIT_DEMAND_IDS - 1]->error, E_LOST);
	for (int k = 0; k < LIMIT_DEMAND_IDS + LIMIT_DEMAND_ALSO; k++)
		version_unref(&trace, v[k]);
}

Test(reply, lease_explanation_failure_and_goodbye)
{
	struct extent e = {64, 128};
	struct err why;
	const Braze__Wire__Reply *r;

	reply_leased(conn, 3, &e);
	r = received();
	cr_assert(r->leased && r->leased->ticket == 3);
	cr_assert_eq(r->leased->offset, 64);
	cr_assert_eq(r->leased->bytes, 128);
	braze__wire__reply__free_unpacked(reply, NULL);
	err_set(&why, E_NOMEM, "full");
	reply_explained(conn, 5, "a\nb\n");
	r = received();
	cr_assert(r->explained && r->explained->ticket == 5);
	cr_assert_str_eq(r->explained->text, "a\nb\n");
	braze__wire__reply__free_unpacked(reply, NULL);
	reply_failure(conn, 4, &why);
	r = received();
	cr_assert(r->failure && r->failure->ticket == 4);
	cr_assert_eq(r->failure->code, E_NOMEM);
	cr_assert_str_eq(r->failure->text, "full");
	braze__wire__reply__free_unpacked(reply, NULL);
	reply_goodbye(conn, &why);
	r = received();
	cr_assert(r->goodbye && r->goodbye->code == E_NOMEM);
	cr_assert_null(r->failure);
}
