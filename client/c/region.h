/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/region.h - values that lie beside the arena, in memory of their own.
 *
 * Such a value comes with a descriptor that is open for reading only; its memory is mapped when
 * somebody waits for it, and unmapped with the last buffer that has it; but the last few of the
 * session's own results stay mapped, since the next ones may lie there, too.  `offset` of its
 * buffer counts from the arena's begin all the same, wherever the mapping lies, so that addresses
 * of all stored values are found in one way.  This process cannot write there: a fence moves the
 * value. */
#ifndef BRAZE_REGION_H
#define BRAZE_REGION_H

#include "braze.pb-c.h"
#include "client.h"

/* What a session has opened, until it becomes an array. */
struct opened {
	struct view view;
	uint64_t bytes, version;
	int fd; /* -1: it has no bytes */
};

/* The value of the item's buffer is read where it lies.  Nothing, if it was written meanwhile, or
 * its descriptor did not come.  Recorder lock held. */
enum status region_take(struct braze_session *s, struct ticket_item *item,
			struct err *err) MUST_USE;
/* The buffer's value is that of an opened array, whose descriptor is used. */
enum status region_place(struct braze_session *s, struct buffer *b, int *fd,
			 struct err *err) MUST_USE;
/* b, a snapshot of `of`, lies where that does, if it is beside the arena. */
void region_share(struct buffer *b, const struct buffer *of);
/* What the buffer has there is not its value any more. */
void region_leave(struct buffer *b);
/* What is mapped for values to come is not any more: they lie elsewhere, or others read there. */
void region_forget(struct braze_session *s);
/* The memory that a's value lies in. */
struct mapping *region_map_of(const struct braze_array *a);

/* The answer as a struct opened, which takes the packet's descriptor; NULL: it is malformed. */
struct opened *region_opened(const Braze__Wire__Opened *r, struct packet *p, struct err *err);
void region_forget_opened(struct opened *o);

#endif
