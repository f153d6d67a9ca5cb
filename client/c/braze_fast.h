/* SPDX-License-Identifier: Apache-2.0 */
/* braze_fast.h - entry points for language bindings that record millions of
 * small operations.  braze.h is enough for programs.
 *
 * A session is guarded by a lock of its own.  A binding whose calls are already
 * ordered (by an interpreter lock, or because one thread alone uses the session)
 * takes the guard over with braze_set_owner and saves its cost. */
#ifndef BRAZE_FAST_H
#define BRAZE_FAST_H

#include "braze.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The caller's own lock.  The caller holds it in every call on the session and
 * on its arrays and futures; the library lets go of it while it waits: leave
 * gives it up and returns a token, enter takes it back.  Both NULL: one thread
 * alone uses the session and nothing is to be given up.  A check callback runs
 * between leave and enter; `check`, if there is one, is that of waits whose call
 * has none: those of operations that are recorded eagerly. */
struct braze_owner {
	void *(*leave)(void *data);
	void (*enter)(void *data, void *token);
	void *data;
	braze_check_fn *check;
	/* Where in the program a value is asked for, "file:line", for operators; called
	 * with the lock held for each demand.  NULL: it cannot be said. */
	const char *(*where)(void *data);
};

/* Replace the session's lock by the caller's; NULL puts the session's own lock
 * back.  Call it while no other thread uses the session. */
BRAZE_API void braze_set_owner(braze_session *s, const struct braze_owner *owner);

/* ---- What a program's time goes to ---- */

/* Of the daemon, for a session, all in all. */
struct braze_spent {
	uint64_t planning_ns, running_ns, queued_ns;
	uint64_t ran; /* operations */
};
enum braze_wait_kind { BRAZE_WAIT_VALUE, BRAZE_WAIT_MEMORY, BRAZE_WAIT_CODE };
/* A piece of it; most fields are 0. */
struct braze_tick {
	uint64_t own_ns, near_ns; /* of the program, of that predicted for near operations */
	uint64_t numpy_ns;	  /* between braze_profile_numpys(s, 1) and (s, 0) */
	uint64_t near, far;	  /* operations computed here and recorded */
	uint64_t work;		  /* predicted for those recorded: only comparable */
	uint64_t wait_ns, trips;  /* sending, and waits for the daemon, ... */
	enum braze_wait_kind kind;
	struct braze_spent spent; /* ... and what it did since the wait before */
	uint64_t copy_ns, copied; /* of bytes into shared memory */
};
/* Called with the session's lock held, in the call that the program made.  It may neither let go
 * of the lock nor use the session. */
typedef void braze_profiler_fn(void *data, const struct braze_tick *t);
/* Tell the program's time from now on; NULL: no more. */
BRAZE_API int braze_set_profiler(braze_session *s, braze_profiler_fn *tell, void *data,
				 braze_error *err);
/* What follows is NumPy's time, or no more. */
BRAZE_API void braze_profile_numpys(braze_session *s, int on);

/* braze_apply for one and two arrays, without filling braze_arg. */
BRAZE_API int braze_unary(braze_array **out, int op, braze_array *a, braze_error *err);
BRAZE_API int braze_binary(braze_array **out, int op, braze_array *a, braze_array *b,
			   braze_error *err);

/* braze_view of a's own type for who has cut the part out of a's shape: that it lies within is
 * not asked again. */
BRAZE_API int braze_part(braze_array **out, braze_array *a, int ndim, const int64_t *shape,
			 const int64_t *strides, int64_t offset, braze_error *err);

/* dst = op(dst, x) where dst lies, if that is a small operation on what is at hand and the
 * result has dst's type; 0: nothing was done, so apply and assign. */
BRAZE_API int braze_in_place(braze_array *dst, int op, const braze_arg *x);

/* Mantissas, and exponents as int32, of an array of floats that is at hand and C-contiguous, both
 * in one pass; 0: nothing was done, so apply each operation. */
BRAZE_API int braze_parts(braze_array *out[2], braze_array *a);

/* The number in an array without axes that was computed in its call and is not bool; 0: it
 * is another.  A program that only passes the value on has not read it. */
BRAZE_API int braze_near_number(braze_scalar *out, const braze_array *a);

/* Is the connection not known to be over?  Nobody is asked, unlike by braze_session_error. */
BRAZE_API int braze_is_connected(const braze_session *s);
/* Do now what the first connection of the process would have to: some 0.3 ms, most of them for
 * the library of small operations.  Nobody is asked, no daemon is started. */
BRAZE_API void braze_prepare(void);
/* What the daemon wants the program's user to know, in a line; "": nothing. */
BRAZE_API const char *braze_notice(const braze_session *s);
/* The paths of the brazed that would be started, and of the library of small operations; of
 * the latter 0: there is none that fits. */
BRAZE_API int braze_daemon_path(char *path, size_t n, braze_error *error);
BRAZE_API int braze_loops_path(char *path, size_t n);
/* Is the array C-contiguous? (axes of extent 1 do not count) */
BRAZE_API int braze_is_contiguous(const braze_array *a);
/* Are both? */
BRAZE_API int braze_are_contiguous(const braze_array *a, const braze_array *b);
/* Keep the memory where a's value lies now mapped, for a binding that hands the address
 * out and cannot take it back; braze_unhold ends it.  NULL is fine there. */
BRAZE_API void *braze_hold(braze_array *a);
BRAZE_API void braze_unhold(void *hold);

/* Memory where a value lies, for a binding that lets others read it for a while. */
typedef struct braze_loan {
	const void *data; /* element [0,...,0] */
	void *hold;
} braze_loan;
/* 1: a's value is at hand, and stays at this address until the loan ends; it does not
 * change unless a in the arena is written.  0: it is not there. */
BRAZE_API int braze_lend(braze_loan *out, braze_array *a);
BRAZE_API void braze_end_loan(braze_session *s, braze_loan *loan);
/* Is a's value at hand, and are operations on such values computed at once? */
BRAZE_API int braze_is_near(const braze_array *a);
/* Where element [0,...,0] of such a value lies, whatever computes, as braze_data tells it;
 * NULL: it is to be asked for. */
BRAZE_API const void *braze_at_hand(braze_array *a);
/* An operation on numbers of one real type, by the loop that small arrays of them take: 1;
 * or 0: there is none here. */
BRAZE_API int braze_near_one(braze_scalar *out, braze_session *s, int op, int n,
			     const braze_scalar *x);
/* What braze_fence answers, where nothing at all is to be done for it; NULL: elsewhere. */
BRAZE_API void *braze_written_at_hand(braze_array *a);
/* Does braze_fence answer at once, since nothing else has a use of a's buffer? */
BRAZE_API int braze_is_ours(const braze_array *a);
/* Can nobody ever write a's buffer: a snapshot, or what was opened? */
BRAZE_API int braze_is_frozen(const braze_array *a);
/* Would a copy of so many elements of such values be computed at once? */
BRAZE_API int braze_copies_near(braze_session *s, int dtype, int64_t count);
/* How many of n bytes are not 0. */
BRAZE_API int64_t braze_count_true(const void *mask, int64_t n);
/* The floating-point errors that the session's last braze_scatter made: bits BRAZE_OVERFLOW and
 * BRAZE_INVALID, the latter also where extremes met a NaN. */
BRAZE_API unsigned braze_scatter_errors(braze_session *s);
/* a[...] = its elements in order along an axis; op: "sort". */
BRAZE_API int braze_sort_self(braze_array *a, int op, int axis, braze_error *err);
/* The caller has computed on such values what would have been an operation. */
BRAZE_API void braze_count_near(braze_session *s);
/* A mode of braze_gather: as BRAZE_RAISE, of what is at hand and of right places, of up to a
 * million elements, in the call; else *out is NULL, and nothing was done. */
#define BRAZE_AT_HAND 16
/* A C-contiguous array, computed at once by the caller, who stores its elements at *data before
 * anything else is called; there is room for one more.  1: done; 0: nothing is near. */
BRAZE_API int braze_near_made(braze_array **out, void **data, braze_session *s, int dtype, int ndim,
			      const int64_t *shape);
/* A C-contiguous array on memory that is given: the library alone uses it from now on,
 * and calls drop(of), with the session's lock held, when it does not any more.  1: done;
 * 0: it cannot take it, and the caller keeps it. */
typedef void braze_drop_fn(void *of);
BRAZE_API int braze_give(braze_array **out, braze_session *s, int dtype, int ndim,
			 const int64_t *shape, void *data, braze_drop_fn *drop, void *of);

/* An array of random numbers by the operation ("random.pcg64", "random.uniform", "random.normal",
 * "random.exponential", "random.integers", "random.words"), from a state of eight words: for
 * "random.pcg64" the generator's state and increment, low words first, then what is left of a word
 * for float32 (bit 32: is there any?); for others the key and the number of the draw.  Words 5 and
 * 6: low and span of the result, doubles, or integers for integers (span 0: all 2^64). */
BRAZE_API int braze_draw(braze_array **out, braze_session *s, int op, int dtype, int ndim,
			 const int64_t *shape, const uint64_t state[8], braze_error *err);
/* The state of "random.pcg64" after n numbers of the type. */
BRAZE_API void braze_pcg64_skip(uint64_t state[8], int dtype, uint64_t n);
/* A block of Philox 4x32-10. */
BRAZE_API void braze_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

/* braze_watch_errors for a binding in which each thread or context has its own wishes:
 * asked after every operation that could make an error, with the lock held.  site: a
 * place in the program, which messages name " at site <number>"; tag: for the report. */
typedef struct braze_watch {
	unsigned raise, report;
	uint32_t site, tag;
} braze_watch;
typedef void braze_watcher_fn(void *data, braze_watch *now);
/* ask NULL: check nothing more; tell hears of what was recorded all the same. */
BRAZE_API void braze_set_watcher(braze_session *s, braze_watcher_fn *ask, braze_report_fn *tell,
				 void *data);

/* A number that tells this array from a later one in the same memory; 0 when the
 * array was released.  For bindings whose handles may be copied unseen; valid as
 * long as the session has other arrays or was not closed. */
BRAZE_API uint64_t braze_serial(const braze_array *a);

#ifdef __cplusplus
}
#endif
#endif
