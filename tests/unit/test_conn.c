/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "wire/conn.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

static uv_loop_t loop;
static int client;
static struct conn *conn;
static unsigned packets, closes;
static size_t last_len;
static struct err last_why;

static void on_packet(void *data, struct packet *p)
{
	(void)data;
	packets++;
	last_len = p->len;
}

static void on_closed(void *data, const struct err *why)
{
	(void)data;
	closes++;
	last_why = *why;
}

static void setup(void)
{
	static const struct conn_events events = {on_packet, on_closed};
	int fd[2];

	uv_loop_init(&loop);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd), 0);
	client = fd[1];
	conn = conn_create(&loop, fd[0], &events, NULL);
	cr_assert_not_null(conn);
}

static void teardown(void)
{
	if (client >= 0)
		close(client);
	if (!closes)
		conn_close(conn);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(&loop), 0);
}

TestSuite(conn, .init = setup, .fini = teardown);

static void turn(int n)
{
	while (n--)
		uv_run(&loop, UV_RUN_NOWAIT);
}

Test(conn, one_packet_is_taken_per_turn_of_the_loop)
{
	cr_assert_eq(send(client, "abc", 3, 0), 3);
	cr_assert_eq(send(client, "defg", 4, 0), 4);
	turn(1);
	cr_assert_eq(packets, 1);
	cr_assert_eq(last_len, 3);
	turn(2);
	cr_assert_eq(packets, 2);
	cr_assert_eq(last_len, 4);
}

Test(conn, hang_up_is_reported_once)
{
	close(client);
	client = -1;
	turn(3);
	cr_assert_eq(closes, 1);
	cr_assert_eq(last_why.code, E_DAEMON_GONE);
}

Test(conn, packet_that_is_too_long_closes_the_connection)
{
	static char big[LIMIT_PACKET_BYTES + 1];

	cr_assert_eq(send(client, big, sizeof big, 0), (ssize_t)sizeof big);
	turn(2);
	cr_assert_eq(packets, 0);
	cr_assert_eq(closes, 1);
}

Test(conn, paused_connection_reads_nothing_but_sees_the_end)
{
	conn_pause(conn, true);
	cr_assert_eq(send(client, "abc", 3, 0), 3);
	turn(3);
	cr_assert_eq(packets, 0);
	close(client);
	client = -1;
	turn(3);
	cr_assert_eq(closes, 1);
}

Test(conn, client_that_never_reads_is_closed_and_the_loop_goes_on)
{
	static char reply[4096];

	for (int i = 0; i < 2000 && !closes; i++) {
		conn_send(conn, reply, sizeof reply, -1);
		turn(1);
	}
	turn(3);
	cr_assert_eq(closes, 1);
	cr_assert_eq(last_why.code, E_TIMEOUT);
}

Test(conn, queued_replies_arrive_in_order_when_the_client_reads)
{
	char got[8];
	unsigned sent = 200;

	for (unsigned i = 0; i < sent; i++) {
		char big[2048];

		memset(big, 0, sizeof big);
		memcpy(big, &i, sizeof i);
		conn_send(conn, big, sizeof big, -1);
	}
	for (unsigned i = 0; i < sent; i++) {
		unsigned n;

		turn(2);
		cr_assert_gt(recv(client, got, sizeof got, MSG_DONTWAIT), 0);
		memcpy(&n, got, sizeof n);
		cr_assert_eq(n, i);
	}
}
