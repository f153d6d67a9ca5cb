/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/watch.h - floating-point errors of the operations that a program asked to
 * hear of.
 *
 * With an operation that is checked, flags.c records what tells its errors: a bool for
 * each class.  That is a *watch*.  The buffer that the operation wrote carries it, with
 * those of the operands' buffers, and so does what is computed from them.  Who reads a
 * buffer asks for the flags as well; errors come then, before the value.
 *
 * Invariants: a buffer without a set costs nothing but the look at it; watches in a set
 * stand in the order in which their operations were recorded. */
#ifndef BRAZE_WATCH_H
#define BRAZE_WATCH_H

#include "recorded.h"

#define WATCH_CLASSES 4
#define WATCH_BATCH   128 /* watches after which the daemon is asked for their flags */

struct watch {
	uint32_t refs; /* sets */
	uint32_t site, tag;
	uint64_t serial; /* of its operation among the session's watched ones */
	uint16_t op;
	uint8_t raise, report; /* classes: BRAZE_DIVIDE ... */
	uint8_t found;	       /* those that occurred and were not told yet */
	uint8_t all;	       /* all that occurred */
	bool unknown;	       /* what raises was lost with the connection: readers fail */
	unsigned slot;	       /* in the session's list of watches with flags, from 1 */
	struct braze_array *flag[WATCH_CLASSES]; /* NULL: cannot occur, or is in found */
};

struct watch_set {
	uint32_t refs; /* buffers and futures */
	uint32_t n;
	struct watch *of[];
};

/* The op that made out was recorded: what it and its operands are watched for. */
enum status watch_recorded(struct braze_array *out, const struct recorded *r,
			   struct err *err) MUST_USE;
/* dst[...] = src was recorded. */
enum status watch_assigned(struct braze_array *dst, const braze_arg *src, struct err *err) MUST_USE;
/* The buffer carries the set from now on, whose reference it takes; NULL: none. */
void watch_put(struct braze_session *s, struct buffer *b, struct watch_set *set);
/* b carries what a does. */
void watch_share(struct braze_session *s, struct buffer *b, const struct buffer *a);

/* *set, whose reference is taken, becomes the union of both. */
enum status watch_unite(struct braze_session *s, struct watch_set **set,
			const struct watch_set *with, struct err *err) MUST_USE;
void watch_forget(struct braze_session *s, struct watch_set *set);
/* Take in the flags that are stored.  True when all are known, to the first that raises:
 * nobody gets to see what follows. */
bool watch_known(struct braze_session *s, const struct watch_set *set);
/* Tell the errors of a known set: E_FLOATING for one that raises. */
enum status watch_tell(struct braze_session *s, const struct watch_set *set, struct err *err);

/* How the session records from now on: careful.h. */
void watch_set_careful(struct braze_session *s);
/* The connection is lost, and with it the flags that were not stored. */
void watch_lose(struct braze_session *s);
/* The session ends; its memory goes. */
void watch_close(struct braze_session *s);
void watch_end(struct braze_session *s);

/* Can the op make errors at all? */
bool flags_possible(enum op op);
/* flags.c: what tells the errors of `want` of an operation, NULL where a class cannot
 * occur; the arrays are the caller's. */
enum status flags_record(struct braze_array *flag[WATCH_CLASSES], struct braze_array *out,
			 const struct recorded *r, unsigned want, struct err *err) MUST_USE;

#endif
