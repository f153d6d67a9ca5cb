/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/wire.h - requests out, replies in, and waiting for them. */
#ifndef BRAZE_WIRE_H
#define BRAZE_WIRE_H

#include "braze.pb-c.h"
#include "client.h"

/* Send r, with everything recorded before it.  The caller holds the recorder lock. */
enum status wire_send(struct braze_session *s, Braze__Wire__Request *r, struct err *err) MUST_USE;
/* Send what is recorded, if anything is. */
enum status wire_flush(struct braze_session *s, struct err *err) MUST_USE;
/* Take in what has arrived, without waiting. */
void wire_drain(struct braze_session *s);
/* The session is dead: close its socket, once nobody waits on it. */
void wire_hang_up(struct braze_session *s);
/* s is dead: it takes over the socket and the arena of `fresh`, and lives. */
void wire_graft(struct braze_session *s, struct braze_session *fresh);
/* The connection is of no more use: fail every open ticket with e. */
void wire_die(struct braze_session *s, const struct err *e);
/* Fill *err with the reason why the session is dead; returns its code. */
enum status wire_dead(struct braze_session *s, struct err *err);
/* Wait until f is answered.  Recorder lock held on entry and exit, not meanwhile.
 * Returns E_TIMEOUT, BRAZE_E_INTERRUPTED, or the answer's error. */
int wire_wait(struct braze_future *f, int timeout_ms, braze_check_fn *check, void *data,
	      struct err *err);
/* Exchange hello and welcome on a fresh socket and map the arena. */
enum status wire_hello(struct braze_session *s, Braze__Wire__Hello *hello,
		       struct err *err) MUST_USE;

#endif
