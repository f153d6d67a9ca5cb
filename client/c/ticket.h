/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/ticket.h - questions that the daemon has not answered yet. */
#ifndef BRAZE_TICKET_H
#define BRAZE_TICKET_H

#include "client.h"

/* A future for n buffers with no ticket yet; NULL when memory is out. */
struct braze_future *ticket_create(struct braze_session *s, enum ticket_kind kind, unsigned n,
				   struct err *err);
/* Take the next `count` ticket numbers and await their answers. */
void ticket_open(struct braze_future *f, unsigned count);
/* Forget it; a late answer is ignored.  NULL is fine.  Recorder lock held. */
void ticket_destroy(struct braze_future *f);
/* The open future that holds this ticket number, or NULL.  Under sock. */
struct braze_future *ticket_find(struct braze_session *s, uint64_t ticket);
/* One of f's tickets is answered; e: its failure, or NULL.  Under sock. */
void ticket_answer(struct braze_future *f, const struct err *e);

#endif
