/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/profile.h - what a program's time goes to, while somebody asks (braze_set_profiler).
 *
 * The binding is called at every wait, where a copy or a call of NumPy's lasts long, where what was
 * recorded is worth some 100 us, and else once in some 256 operations that are near, or 512 that
 * are recorded, at random, so that loops and samples do not keep step.  Off it costs a comparison
 * for each near operation; on, a handful of instructions for each. */
#ifndef BRAZE_PROFILE_H
#define BRAZE_PROFILE_H

#include "recorded.h"

#define PROFILE_FEW 1024 /* elements: less work than their call */

enum profile_time { PROGRAMS, NUMPYS, COPIES };

struct profile {
	braze_profiler_fn *tell;
	void *data;
	uint64_t since;	     /* when the last tick ended */
	uint64_t near, work; /* the session's counts then: operations, and their predicted work */
	enum profile_time whose; /* the time until the next tick */
	uint64_t began;		 /* NUMPYS, COPIES: since then, the program's before */
	uint64_t look;	/* ns that a look takes where the program is: the least; 0: not known yet */
	uint32_t brief; /* such times that are not told one by one, until the next tick */
	uint32_t span;	/* recorded operations between the last tick and the next */
	uint32_t due;	/* work of theirs that has it come earlier */
	uint32_t large; /* of those since, whose work is in the tick */
	uint32_t random;
	struct braze_spent spent; /* of the daemon, by its last answer that was told of */
	struct braze_tick tick;	  /* what was recorded since the last one */
};

/* A wait begins; then, with what it began at, it is over. */
uint64_t profile_wait(struct braze_session *s);
void profile_waited(struct braze_session *s, uint64_t began, enum ticket_kind kind);
/* A packet leaves: time that is not the program's. */
uint64_t profile_sending(const struct braze_session *s);
void profile_sent(struct braze_session *s, uint64_t began);
/* So many bytes are about to be copied into shared memory; they were. */
void profile_copy(struct braze_session *s, uint64_t bytes);
void profile_copied(struct braze_session *s, uint64_t bytes);
/* An operation was recorded that made `made`. */
void profile_recorded(const struct braze_array *made, const struct recorded *r);
/* It is time to look where the program is. */
void profile_near(struct braze_session *s);

/* Is that all there is to know of it, while nobody but a profile looks?  What is near was counted
 * already; of what goes over few elements, `over` of its largest operand, it is known how many they
 * are. */
static inline bool profile_counts(const struct braze_array *made, int64_t over)
{
	struct braze_session *s = made->session;

	if (s->careful != CAREFUL_PROFILE)
		return false;
	if (made->buf->flags & BUF_APART)
		return true;
	if (made->count > PROFILE_FEW || over > PROFILE_FEW || s->profile_left <= 1)
		return false;
	s->profile_left--;
	return true;
}

/* An operation was computed in its call. */
static inline void count_near(struct braze_session *s)
{
	if (unlikely(++s->counters.near >= s->profile_at))
		profile_near(s);
}

#endif
