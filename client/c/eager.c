/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/eager.c - run an op when it is recorded.
 *
 * A demand ends the part of the trace that may fuse, so that demanding every
 * result without waiting gives one kernel per op. */
#include "eager.h"

#include "array.h"
#include "future.h"
#include "ticket.h"
#include "wire.h"

int eager_written(struct braze_array *dst, struct err *err)
{
	struct braze_session *s = dst->session;
	struct braze_future *f = NULL;
	int st = (int)future_demand(&f, 1, &dst, err);

	if (!st && (s->flags & BRAZE_EAGER))
		st = wire_wait(f, -1, s->owned ? s->owner.check : NULL, s->owner.data, err);
	ticket_destroy(f);
	return st;
}

int eager_recorded(struct braze_array **out, struct err *err)
{
	int st = eager_written(*out, err);

	if (st) {
		array_release(*out);
		*out = NULL;
	}
	return st;
}
