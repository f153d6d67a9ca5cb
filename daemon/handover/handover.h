/* SPDX-License-Identifier: Apache-2.0 */
/* handover/handover.h - a client's arena, arrays and waits as a message, and back.
 *
 * Saved at rest only: no job holds a version, every stored value lies in the arena, nothing of
 * the arena is on its way.  Values do not move: the arena's memory file stays open, and what is
 * written is who has which range of it.  Pending operations are written as they stand in the
 * trace, not as they came: their types and views are derived already.  Memory that sessions share
 * is written by its number only: it has to be there before them (trace/share.h).  Loop thread. */
#ifndef BRAZE_HANDOVER_H
#define BRAZE_HANDOVER_H

#include "../future/ticket.h"
#include "../trace/trace.h"
#include "handover.pb-c.h"

struct uv_loop_s;

/* Memory that a message is made of; freed as a whole. */
struct handover_pile {
	struct handover_block *block;
};
/* n zeroed bytes; never NULL. */
void *handover_pile_take(struct handover_pile *p, size_t n);
void handover_pile_free(struct handover_pile *p);

Braze__Handover__View *handover_save_view(struct handover_pile *p, const struct view *v);
/* false: it is none, or reaches beyond so many bytes. */
bool handover_load_view(struct view *v, const Braze__Handover__View *m, uint64_t bytes);

/* Fills arena, trace and tickets of m, which points into t, into the tickets and into the pile. */
void handover_save(Braze__Handover__Session *m, struct handover_pile *p, struct trace *t,
		   const struct ticket_list *tickets);

/* The opposite: makes the arena (t->arena), the trace and the tickets.  Takes the arena's
 * descriptor, also where it fails.  Nothing of the message is believed that memory depends on:
 * E_INVALID, and there is neither trace nor arena.  `ops`: numbers of operations are below this;
 * `shares`: all that storages may lie in; `grids`: where loops of kernels are. */
enum status handover_load(struct trace *t, struct ticket_list *tickets, struct uv_loop_s *loop,
			  struct shares *shares, struct grids *grids,
			  const Braze__Handover__Session *m, unsigned ops,
			  struct err *err) MUST_USE;

#endif
