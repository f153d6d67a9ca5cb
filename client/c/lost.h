/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/lost.h - what outlives a connection: mapped memory, and values in it.
 *
 * When the connection is lost, every live buffer becomes BUF_LOST.  One whose value
 * was stored keeps it where it lies (`map`, `at`), is read there, and views and
 * snapshots of it are made without a message.  Its first use by an operation over the
 * next connection copies it into the new arena, once (lost_ship); from then on it is
 * like any other.  One whose value was pending fails by name. */
#ifndef BRAZE_LOST_H
#define BRAZE_LOST_H

#include "client.h"

/* A mapping for this arena, with one reference; NULL when memory is out. */
struct mapping *mapping_create(uint8_t *base, uint64_t bytes);
void mapping_hold(struct mapping *m);
/* Unmapped with its last reference.  NULL is fine. */
void mapping_drop(struct mapping *m);

/* The connection is gone: every live buffer becomes BUF_LOST.  Once for each
 * connection; recorder lock held. */
void lost_mark(struct braze_session *s);
/* The error that every use of a's value gives, when it was not stored.  Returns its
 * code. */
enum status lost_error(const struct braze_array *a, struct err *err);
/* A handle with view v on a's lost buffer, no op recorded. */
enum status lost_view(struct braze_array **out, struct braze_array *a, const struct view *v,
		      struct err *err) MUST_USE;
/* A read-only array with a's value, no op recorded. */
enum status lost_snapshot(struct braze_array **out, struct braze_array *a,
			  struct err *err) MUST_USE;
/* Copy a's value into the session's present arena and give its handles their ids
 * there.  May let go of the recorder lock meanwhile: look at everything again. */
enum status lost_ship(struct braze_array *a, struct err *err) MUST_USE;
/* The last reference to a buffer with a mapping is gone. */
void lost_drop(struct braze_session *s, struct buffer *b);
/* A handle of a lost buffer is released. */
void lost_unlink(struct braze_array *a);

/* Does a belong to a connection that is over?  Recorder lock held. */
static inline bool lost_is(struct braze_array *a)
{
	struct braze_session *s = a->session;

	if (unlikely(atomic_load_explicit(&s->state, memory_order_relaxed)) && !s->marked &&
	    !s->forked)
		lost_mark(s);
	return a->buf->flags & BUF_LOST;
}

#endif
