/* SPDX-License-Identifier: Apache-2.0 */
/* trace/share.h - storage with memory of its own, which sessions can share.
 *
 * An arena is one client's, whole: to let others read a value it must lie in a file of its own.
 * Such a file is made for values that will be published, and for results that are large anyway.
 * Clients get a descriptor that is open for reading only, so they map what workers write without
 * ever being able to write it.  Until it is published (share_fix) the file is storage like any
 * other: written in place, and kept for the next value of its size when it is freed.  From then on
 * it is sealed against every new writable mapping, no job writes it, and it goes with the last
 * of its holders, whichever session that is in.
 *
 * Files count for the quota of the user whose session made them.  Loop thread only. */
#ifndef BRAZE_SHARE_H
#define BRAZE_SHARE_H

#include "ops.h"

struct trace;
struct uv_loop_s;
struct uv_timer_s;

struct share {
	struct share *next, **back; /* among all */
	struct share *spare;	    /* among its maker's that are free */
	struct trace *maker;	    /* whose quota it counts for; NULL: that session is over */
	uint64_t bytes;		    /* of the value, and the file but for its last page */
	uint32_t refs;		    /* storages, and who published it; 0: it is spare */
	uint32_t region;	    /* its number, for workers and clients */
	uint32_t uid;		    /* of its maker */
	int writer, reader;	    /* descriptors */
	bool fixed;		    /* published: nobody writes it any more */
	bool fresh;		    /* no job has touched its memory yet */
};

/* What the table's owner does with each. */
struct share_events {
	/* Workers get to know it, or forget it; before its descriptors are closed. */
	enum status (*made)(void *data, const struct share *h, struct err *err);
	void (*gone)(void *data, struct share *h);
	void *data;
};

/* All of them. */
struct shares {
	struct share *first;
	struct uv_loop_s *loop;
	struct uv_timer_s *calm; /* frees spare ones that nobody took for a while */
	struct share_events events;
	uint32_t count;	 /* spare ones included */
	uint64_t bytes;	 /* likewise */
	uint32_t number; /* of the last region */
	uint64_t takes, takes_seen;
};

/* Regions of arenas are numbered below, those of devices above. */
#define SHARE_REGION 0x40000000u

void share_start(struct shares *all, struct uv_loop_s *loop, const struct share_events *events);
/* After the last session has ended. */
void share_finish(struct shares *all);

/* Did the session free just so many bytes, and are they kept for it? */
bool share_has_spare(struct trace *t, uint64_t bytes);
/* Memory for a value of so many bytes, more than 0, with one reference.  E_LIMIT: its user has
 * `most` of them; E_SYSTEM, E_NOMEM: the system gives none. */
enum status share_take(struct share **out, struct trace *t, uint64_t bytes, uint32_t most,
		       struct err *err) MUST_USE;
struct share *share_ref(struct share *h);
void share_unref(struct shares *all, struct share *h);
/* Nobody writes it any more. */
enum status share_fix(struct share *h, struct err *err) MUST_USE;
/* The session is over: its spare ones go, the others have no maker any more. */
void share_leave(struct trace *t);
/* The one of this number; NULL: there is none. */
struct share *share_find(const struct shares *all, uint32_t region);
/* It counts for this session from now on. */
void share_belongs(struct share *h, struct trace *t);
/* Bytes that count for the user, those of one of his sessions left out (NULL: none). */
uint64_t share_bytes(const struct shares *all, uint32_t uid, const struct trace *but);

/* ---- Handed over to the program that goes on in this process ---- */

struct share_state {
	int fd; /* the writer */
	uint32_t region, uid;
	uint64_t bytes;
};

/* Memory as it was, with one reference, of nobody yet (share_belongs).  Takes the descriptor
 * where it succeeds; E_INVALID: it is no such file, or one that is there already. */
enum status share_restore(struct shares *all, const struct share_state *s,
			  struct err *err) MUST_USE;

#endif
