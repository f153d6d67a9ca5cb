/* SPDX-License-Identifier: Apache-2.0 */
/* takeover.h - another program goes on in this process, with every client.
 *
 *   takeover_begin   nothing is read or begun any more; what runs ends, or is put back
 *   (a timer)        all is at rest: it is written to a memory file, which the other program, as
 *                    a child, must be able to read
 *   takeover_exec    the same process executes it: its number, lock, sockets and arenas stay
 *   takeover_open    there: who listened, what clients were told
 *   takeover_resume  there: every session as it was
 *
 * Until takeover_exec all can be taken back, and is where anything is amiss.  Loop thread. */
#ifndef BRAZE_TAKEOVER_H
#define BRAZE_TAKEOVER_H

#include "handover.pb-c.h"
#include "ops.h"

struct brazed;
struct config;
struct handover_in;
struct listener;
struct takeover;

/* What a take-over needs; all of it outlives it. */
struct takeover_plan {
	struct brazed *d;
	const struct config *config;
	struct listener *listener; /* NULL: there is none (--private) */
	/* The other program can: takeover_exec is to be called, from here, since what was written
	 * is what the loop has seen so far. */
	void (*ready)(void *data);
	/* It is not to be, d->takeover.why tells why: all goes on as before. */
	void (*refused)(void *data);
	void *data;
};

/* `binary`: "" for the one that is installed where this one was started from.  E_INVALID: it is
 * no program. */
enum status takeover_begin(struct takeover **out, const struct takeover_plan *plan,
			   const char *binary, struct err *err) MUST_USE;
/* All goes on; frees it. */
void takeover_abort(struct takeover *t);
/* After all that has threads or children was taken down. */
_Noreturn void takeover_exec(struct takeover *t);
/* Signals that the loop listens to: leave them waiting, for the other program if need be, or take
 * them.  Only the loop's thread may take them: before the others are made they are left. */
void takeover_signals(bool listen);
/* Has the program that this process was started from been replaced since? */
bool takeover_is_due(void);

/* ---- In the other program: takeover_read.c ---- */

struct takeover_in {
	struct handover_in *file;
	Braze__Handover__Daemon *m;
};

/* Takes the descriptor.  E_VERSION: this program cannot go on from there. */
enum status takeover_open(struct takeover_in *in, int fd, struct err *err) MUST_USE;
/* The sessions; devices have been named.  `check`: nothing is sent or begun. */
enum status takeover_resume(struct takeover_in *in, struct brazed *d, const struct config *config,
			    bool check, struct err *err) MUST_USE;
void takeover_close(struct takeover_in *in);
/* --can-take-over FD: could it?  Changes nothing. */
enum status takeover_check(int fd, const struct config *config, struct err *err) MUST_USE;

/* ---- takeover_write.c ---- */

/* Descriptors that stay open. */
struct takeover_fds {
	int *fd;
	size_t n, cap;
};

void takeover_keep(struct takeover_fds *keep, int fd);
/* The daemon at rest, as a sealed memory file; -1. */
int takeover_write(const struct takeover_plan *plan, uint64_t paused_ns, struct takeover_fds *keep,
		   struct err *err);

/* ---- takeover_share.c: what sessions share ---- */

struct handover_pile;

Braze__Handover__Shared *takeover_put_shared(struct handover_pile *pile, const struct brazed *d,
					     struct takeover_fds *keep);
/* Before the sessions, and after them; m may be NULL: there was nothing.  Nothing is believed:
 * E_INVALID, and what nobody else refers to is gone. */
enum status takeover_read_shared(struct brazed *d, const Braze__Handover__Shared *m,
				 struct err *err) MUST_USE;
enum status takeover_settle_shared(struct brazed *d, const Braze__Handover__Shared *m,
				   struct err *err) MUST_USE;

#endif
