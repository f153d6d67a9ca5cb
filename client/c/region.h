/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/region.h - values that lie beside the arena, in memory of their own.
 *
 * Such a value comes with a descriptor that is open for reading only; its memory is mapped when
 * somebody waits for it, and unmapped with the last buffer that has it.  `offset` of its buffer
 * counts from the arena's begin all the same, wherever the mapping lies, so that addresses of all
 * stored values are found in one way.  This process cannot write there: a fence moves the value. */
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

/* The item's descriptor is used: its buffer's value is read there.  Nothing, if it was written
 * meanwhile.  Recorder lock held. */
enum status region_take(struct braze_session *s, struct ticket_item *item,
			struct err *err) MUST_USE;
/* The buffer's value is that of an opened array, whose descriptor is used. */
enum status region_place(struct braze_session *s, struct buffer *b, int *fd,
			 struct err *err) MUST_USE;
/* b, a snapshot of `of`, lies where that does, if it is beside the arena. */
void region_share(struct buffer *b, const struct buffer *of);
/* What the buffer has there is not its value any more. */
void region_leave(struct buffer *b);
/* The memory that a's value lies in. */
struct mapping *region_map_of(const struct braze_array *a);

/* The answer as a struct opened, which takes the packet's descriptor; NULL: it is malformed. */
struct opened *region_opened(const Braze__Wire__Opened *r, struct packet *p, struct err *err);
void region_forget_opened(struct opened *o);

#endif
