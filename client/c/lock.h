/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/lock.h - the recorder lock: one word, one atomic operation to take and
 * one to give back while nobody waits.
 *
 * Follows the three-state mutex of U. Drepper, "Futexes are tricky" (2011):
 * 0 free, 1 taken, 2 taken and somebody may sleep. */
#ifndef BRAZE_LOCK_H
#define BRAZE_LOCK_H

#include "client.h"

/* Sleep until the lock could be taken, and take it. */
void lock_contended(_Atomic uint32_t *word);
void lock_wake(_Atomic uint32_t *word);

static inline void lock_take(struct braze_session *s)
{
	uint32_t free = 0;

	if (s->owned)
		return;
	if (unlikely(!atomic_compare_exchange_strong_explicit(
		    &s->lock, &free, 1, memory_order_acquire, memory_order_relaxed)))
		lock_contended(&s->lock);
}

static inline void lock_give(struct braze_session *s)
{
	if (s->owned)
		return;
	if (unlikely(atomic_exchange_explicit(&s->lock, 0, memory_order_release) == 2))
		lock_wake(&s->lock);
}

/* Let others record while this call waits; lock_resume takes the token back. */
static inline void *lock_pause(struct braze_session *s)
{
	if (s->owned)
		return s->owner.leave ? s->owner.leave(s->owner.data) : NULL;
	lock_give(s);
	return NULL;
}

static inline void lock_resume(struct braze_session *s, void *token)
{
	if (!s->owned)
		lock_take(s);
	else if (s->owner.enter)
		s->owner.enter(s->owner.data, token);
}

#endif
