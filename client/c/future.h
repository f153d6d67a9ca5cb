/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/future.h - demands. */
#ifndef BRAZE_FUTURE_H
#define BRAZE_FUTURE_H

#include "client.h"

/* Is a's present value at its extent? */
static inline bool future_stored(const struct braze_array *a)
{
	const struct buffer *b = a->buf;

	return atomic_load_explicit(&b->stored, memory_order_acquire) == b->version;
}

/* Send a demand for those of the arrays that are not stored, and everything
 * recorded before.  Recorder lock held. */
enum status future_demand(struct braze_future **out, int n, braze_array *const *arrays,
			  struct err *err) MUST_USE;
/* Wait for f, and tell what its arrays are watched for. */
int future_wait(struct braze_future *f, int timeout_ms, braze_check_fn *check, void *data,
		struct err *err);
/* Wait until a's present value is stored, and tell what it is watched for.  Recorder lock
 * held, but not meanwhile. */
int future_value(struct braze_array *a, braze_check_fn *check, void *data, struct err *err);

/* The same of several, for ourselves: nobody reads them yet.  Interruptible as the owner says. */
enum status future_await(int n, braze_array *const *arrays, struct err *err) MUST_USE;

/* data.c: the daemon's uses of a's present value are over, and this process may write to
 * it; interruptible as the owner says.  BUF_HOST, when it returns OK. */
enum status future_fence(struct braze_array *a, struct err *err) MUST_USE;

#endif
