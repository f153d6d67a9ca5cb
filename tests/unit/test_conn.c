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

static char reply[4096];

/* Send numbered replies until some wait in the daemon, and so many more; how many there are. */
static unsigned leave_unread(unsigned more)
{
	unsigned sent = 0;

	while (more) {
		memcpy(reply, &sent, sizeof sent);
		conn_send(conn, reply, sizeof reply, -1);
		more -= conn_unsent(conn);
		sent++;
	}
	return sent;
}

Test(conn, client_that_never_reads_is_closed_at_a_bound_of_bytes_and_the_loop_goes_on)
{
	unsigned n = LIMIT_UNREAD_BYTES / sizeof reply;

	leave_unread(n * 9 / 10);
	turn(3);
	cr_assert_eq(closes, 0);
	leave_unread(n / 5);
	cr_assert_eq(closes, 0, "not from inside of a reply");
	turn(3);
	cr_assert_eq(closes, 1);
	cr_assert_eq(last_why.code, E_LIMIT);
	cr_assert_not_null(strstr(last_why.text, "LIMIT_UNREAD_BYTES"));
}

/* A client may be stopped, or get no share of the machine: no clock runs against it. */
Test(conn, client_may_take_any_time_to_read)
{
	unsigned sent = leave_unread(2000), n;

	turn(3);
	cr_assert_eq(uv_backend_timeout(&loop), -1, "the loop waits for the client alone");
	for (unsigned i = 0; i < sent; i++) {
		turn(2);
		cr_assert_eq(recv(client, reply, sizeof reply, MSG_DONTWAIT),
			     (ssize_t)sizeof reply);
		memcpy(&n, reply, sizeof n);
		cr_assert_eq(n, i);
	}
	turn(1);
	cr_assert_not(conn_unsent(conn));
	cr_assert_eq(closes, 0);
	cr_assert_eq(send(client, "abc", 3, 0), 3);
	turn(2);
	cr_assert_eq(packets, 1, "and is listened to again");
}

Test(conn, nothing_is_read_from_a_client_with_replies_unread_but_its_end)
{
	leave_unread(1);
	cr_assert_eq(send(client, "abc", 3, 0), 3);
	turn(3);
	cr_assert_eq(packets, 0);
	close(client);
	client = -1;
	turn(3);
	cr_assert_eq(closes, 1);
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
