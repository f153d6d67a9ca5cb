/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/lost.h - what outlives a connection: mapped memory, and values in it.
 *
 * When the connection is lost, every live buffer becomes BUF_APART (apart.h).  One whose
 * value was stored keeps it where it lies (`map`, `at`) and is read there; its first use
 * by an operation over the next connection ships it.  One whose value was pending fails
 * by name. */
#ifndef BRAZE_LOST_H
#define BRAZE_LOST_H

#include "client.h"

/* A mapping for this memory, with one reference; NULL when memory is out. */
struct mapping *mapping_create(uint8_t *base, uint64_t bytes);
void mapping_hold(struct mapping *m);
/* Unmapped with its last reference.  NULL is fine. */
void mapping_drop(struct mapping *m);

/* The connection is gone: every live buffer becomes BUF_APART.  Once for each
 * connection; recorder lock held. */
void lost_mark(struct braze_session *s);
/* The error that every use of a's value gives, when it was not stored.  Returns its
 * code. */
enum status lost_error(const struct braze_array *a, struct err *err);
/* The last reference to a buffer with a mapping is gone. */
void lost_drop(struct braze_session *s, struct buffer *b);

/* Does no daemon know a's buffer, or does its connection turn out to be over?  Recorder
 * lock held. */
static inline bool apart_is(struct braze_array *a)
{
	struct braze_session *s = a->session;

	if (unlikely(atomic_load_explicit(&s->state, memory_order_relaxed)) && !s->marked &&
	    !s->forked)
		lost_mark(s);
	return a->buf->flags & BUF_APART;
}

#endif
