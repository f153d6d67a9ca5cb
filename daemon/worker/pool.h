/* SPDX-License-Identifier: Apache-2.0 */
/* worker/pool.h - persistent threads that share out the units of one loop.
 *
 * One command thread owns the pool and takes part in every run; the others sleep
 * on a futex between runs.  Each begins with the stretch of neighbouring units that belongs to its
 * core, the same one of every run with as many units, so that the core's caches keep what loops
 * over the same arrays read and write; who is done takes over from the others' stretches, by an
 * atomic counter each.  A run ends when all units are done, not when all threads have woken:
 * on a busy machine a thread that is not scheduled must not hold up the rest. */
#ifndef BRAZE_POOL_H
#define BRAZE_POOL_H

#include "ops.h"

#define POOL_AWAKE_NS 8000 /* a loop predicted below this is not worth sharing at all */

struct pool;

/* Does unit `unit` on thread `thread` (0: the command thread). */
typedef void pool_fn(void *data, int thread, int64_t unit);
/* Called by the command thread between units and while it waits. */
typedef void pool_poll_fn(void *data);

/* threads: with the command thread; 0: one per usable core. */
enum status pool_create(struct pool **out, int threads, struct err *err) MUST_USE;
void pool_destroy(struct pool *p);
int pool_threads(const struct pool *p);
/* Let idle threads spin for a moment before they sleep: only between the steps of
 * one run, where the next loop is a few microseconds away. */
void pool_spin(struct pool *p, bool spin);
/* Is a loop that takes one thread so long worth sharing?  Threads that sleep have to be woken. */
bool pool_worth_now(const struct pool *p, double ns);
static inline bool pool_worth(const struct pool *p, double ns)
{
	return ns >= POOL_AWAKE_NS && pool_worth_now(p, ns);
}
/* Run units [0, units), units < 2^32; returns when all are done. */
void pool_run(struct pool *p, pool_fn *fn, void *data, int64_t units, pool_poll_fn *poll,
	      void *poll_data);

#endif
