/* SPDX-License-Identifier: Apache-2.0 */
/* future/ticket.h - what a client waits for.
 *
 * A ticket lists the versions that must be stored (or failed) before its reply.
 * Loop thread only. */
#ifndef BRAZE_TICKET_H
#define BRAZE_TICKET_H

#include "../trace/trace.h"

/* Numbers are handed over: handover.proto. */
enum ticket_kind {
	TICKET_DEMAND,
	TICKET_FENCE,
	TICKET_CUT, /* the trace grew too long: nobody is answered */
	TICKET_PUBLISH,
	TICKET_COMPUTE /* a demand whose values may stay on a device */
};

#define TICKET_STAY_BYTES                                                                          \
	(64u << 10) /* what is smaller comes along: it costs nothing beside the trip */

/* What the array of a TICKET_PUBLISH becomes once its value is there. */
struct publishing {
	struct view view;
	uint32_t access, number;
	uint64_t copied;
	bool moved; /* it was copied because it had no memory of its own */
	char label[LIMIT_PUBLISHED_NAME];
};

struct ticket {
	struct ticket *next;
	uint64_t id; /* the client's number */
	uint64_t since_ns;
	uint8_t kind;	   /* enum ticket_kind */
	uint8_t cancelled; /* answer E_CANCELLED once its job let go; 2: an operator did it */
	uint32_t nanswer;  /* the first so many versions are answered for */
	uint32_t n;	   /* and so many waited for */
	uint32_t nalso;	   /* behind them: the client is told where they lie, if they do */
	struct publishing *publishing; /* of TICKET_PUBLISH; freed with it */
	struct version *version[];     /* [n + nalso], referenced */
};

struct ticket_list {
	struct ticket *first;
	uint32_t load; /* tickets and all their versions: at most LIMIT_TICKET_LOAD */
};

/* Appends a ticket; takes the references in version[n + nalso]. */
struct ticket *ticket_add(struct ticket_list *l, enum ticket_kind kind, uint64_t id,
			  struct version *const *version, uint32_t n, uint32_t nanswer,
			  uint32_t nalso, uint64_t now_ns);
/* It waits for v instead of version i, which is answered for (takes the reference). */
void ticket_replace(struct ticket *t, uint32_t i, struct version *v, struct trace *trace);
struct ticket *ticket_find(struct ticket_list *l, uint64_t id);
/* Must a value that it is answered for come to the host? */
static inline bool ticket_brings(const struct ticket *t, const struct version *v)
{
	return t->kind != TICKET_COMPUTE || v->bytes < TICKET_STAY_BYTES;
}
/* Every version that is waited for stored or failed? */
bool ticket_settled(const struct ticket *t);
/* Unlinks and frees; gives back its references. */
void ticket_remove(struct ticket_list *l, struct ticket *t, struct trace *trace);

#endif
