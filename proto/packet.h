/* SPDX-License-Identifier: Apache-2.0 */
/* proto/packet.h - one message, one SOCK_SEQPACKET packet, and the fds that
 * belong to it.  Used by both ends.
 *
 * In:  a connected socket; bytes and at most LIMIT_FDS_PER_PACKET fds.
 * Out: the same at the other end, or nothing.  A call never blocks, never raises
 * SIGPIPE and never leaves a received fd open when it fails: a packet whose
 * data, control data or fd count does not fit is an error as a whole, and the
 * connection is to be closed. */
#ifndef BRAZE_PACKET_H
#define BRAZE_PACKET_H

#include <stddef.h>
#include <stdint.h>

#include "ops.h"

enum packet_result {
	PACKET_OK,
	PACKET_AGAIN,  /* nothing was sent or received: poll, then try again */
	PACKET_CLOSED, /* the other end is gone; err says E_DAEMON_GONE */
	PACKET_ERROR   /* err says why; close the connection */
};

/* A received packet; the fds are the caller's to close. */
struct packet {
	size_t len;
	unsigned nfds;
	int fd[LIMIT_FDS_PER_PACKET];
	uint8_t data[LIMIT_PACKET_BYTES];
};

/* Send len > 0 bytes and nfds descriptors in one packet; the fds stay the caller's. */
enum packet_result packet_send(int sock, const void *data, size_t len, const int *fds,
			       unsigned nfds, struct err *err) MUST_USE;
/* Receive one packet; its fds are close-on-exec.  On anything but PACKET_OK the
 * packet holds no fds. */
enum packet_result packet_recv(int sock, struct packet *p, struct err *err) MUST_USE;
/* Close the fds that were not taken (taken ones were set to -1). */
void packet_close_fds(struct packet *p);

#endif
