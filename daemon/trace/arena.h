/* SPDX-License-Identifier: Apache-2.0 */
/* trace/arena.h - a connection's shared memory: who owns which range of it.
 *
 * The daemon makes one sealed, sparse memfd per connection and alone decides what
 * lies where (decision: one owner per extent at any time).  Freed extents stay
 * warm in size classes, because touching fresh pages costs several times the
 * computation; above a high-water mark what was free for longest is punched out by a
 * thread of the loop's pool, once those who have registered its pages with a device have
 * let go of them.  This process never maps an arena.  Loop thread only. */
#ifndef BRAZE_ARENA_H
#define BRAZE_ARENA_H

#include "ops.h"

struct uv_loop_s;
struct arena;

struct extent {
	uint64_t offset, bytes;
};

struct arena_stats {
	uint64_t live_bytes;   /* extents in use, leases included */
	uint64_t warm_bytes;   /* free, still backed by memory */
	uint64_t peak_bytes;   /* most live_bytes so far */
	uint64_t leased_bytes; /* part of live_bytes the client fills by itself */
	uint64_t fresh_bytes;  /* taken so far of what had no memory, as far as is known */
};

/* Make the memfd: `bytes`, or less where the system refuses; *fd is the arena's
 * own until arena_destroy. */
enum status arena_create(struct arena **out, struct uv_loop_s *loop, uint64_t bytes,
			 struct err *err) MUST_USE;
/* Its client has gone, or was shown the door, and may go on reading what it has mapped:
 * nothing is punched out any more. */
void arena_leave(struct arena *a);
/* Frees once running punches have ended. */
void arena_destroy(struct arena *a);
/* `ask` is called with a range before it is given back, and tells how many hold its
 * pages; each of them says arena_released(punch), later.  Until then the range is in no
 * list: nobody gets it. */
void arena_on_punch(struct arena *a,
		    uint32_t (*ask)(void *data, const struct extent *e, void *punch), void *data);
void arena_released(void *punch);
/* Close a file in memory on a thread of the pool: where it is the last descriptor its pages are
 * freed, which takes longer than a turn of the loop may.  `punch`: so many bytes of them are freed
 * even where the file is still mapped. */
void arena_close_apart(struct uv_loop_s *loop, int fd, uint64_t punch);
int arena_fd(const struct arena *a);
uint64_t arena_bytes(const struct arena *a);
void arena_get_stats(const struct arena *a, struct arena_stats *out);

/* Give back all that is free and worth a system call; bytes. */
uint64_t arena_trim(struct arena *a);

/* 64-byte aligned; page aligned from 64 KiB on.  Contents are unspecified but
 * always this connection's own. */
enum status arena_alloc(struct arena *a, struct extent *out, uint64_t bytes,
			struct err *err) MUST_USE;
/* Would it come with memory that is there? */
bool arena_has_warm(const struct arena *a, uint64_t bytes);
void arena_free(struct arena *a, const struct extent *e);
/* The same of one that came without memory and that no job has touched: it is to have none again.
 */
void arena_free_fresh(struct arena *a, const struct extent *e);

/* Ranges that the client fills with host data. */
enum status arena_lease(struct arena *a, struct extent *out, uint64_t bytes,
			struct err *err) MUST_USE;
/* Take [offset, offset + bytes) out of the leases: it is the daemon's now. */
enum status arena_import(struct arena *a, struct extent *out, uint64_t offset, uint64_t bytes,
			 struct err *err) MUST_USE;
enum status arena_unlease(struct arena *a, uint64_t offset, uint64_t bytes,
			  struct err *err) MUST_USE;

/* ---- Handed over to the program that goes on in this process ---- */

enum arena_use { ARENA_WARM, ARENA_COLD, ARENA_MERGED, ARENA_LEASE, ARENA_USES };

/* A range that no array has. */
struct arena_piece {
	struct extent extent;
	uint64_t freed;
	uint8_t use; /* enum arena_use */
};

struct arena_state {
	int fd;
	uint64_t top, merged_warm, peak_bytes, busy_peak, allocs, frees;
	size_t n;
	struct arena_piece *piece; /* the caller's to free */
};

/* Is nothing of it on its way to be given back? */
bool arena_at_rest(const struct arena *a);
void arena_save(const struct arena *a, struct arena_state *out);
/* An arena as it was saved, but for what arrays have (arena_claim); takes the descriptor, also
 * where it fails: E_INVALID: it is no arena's, or pieces lie outside of it. */
enum status arena_restore(struct arena **out, struct uv_loop_s *loop, const struct arena_state *s,
			  struct err *err) MUST_USE;
/* A stored value's extent, which no piece and no other value overlaps. */
void arena_claim(struct arena *a, const struct extent *e);

#endif
