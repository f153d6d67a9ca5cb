/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/apart.h - buffers that no daemon knows.
 *
 * Near ones (near.h) and those of a connection that is over (lost.h).  Their bytes lie
 * in this process at `at`; their handles have numbers but no names at a daemon, and
 * make up a list.  Views and snapshots of them are made without a message.  The first
 * far operation that uses one copies it into the arena, once (apart_ship); from then on
 * the buffer is like any other, and its handles get names as they are used. */
#ifndef BRAZE_APART_H
#define BRAZE_APART_H

#include "client.h"

/* A handle with view v on a's buffer, no op recorded. */
enum status apart_view(struct braze_array **out, struct braze_array *a, const struct view *v,
		       struct err *err) MUST_USE;
/* A read-only array with a's value, no op recorded. */
enum status apart_snapshot(struct braze_array **out, struct braze_array *a,
			   struct err *err) MUST_USE;
/* Copy a's value into the session's present arena and give its handles their ids
 * there.  May let go of the recorder lock meanwhile: look at everything again. */
enum status apart_ship(struct braze_array *a, struct err *err) MUST_USE;

/* A handle of a buffer apart: the daemon has no name for it. */
static inline void apart_link(struct braze_array *a, struct buffer *b)
{
	a->named = false;
	a->next = b->handles;
	a->back = &b->handles;
	if (a->next)
		a->next->back = &a->next;
	b->handles = a;
}

static inline void apart_unlink(struct braze_array *a)
{
	*a->back = a->next;
	if (a->next)
		a->next->back = a->back;
}

#endif
