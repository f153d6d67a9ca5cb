/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/careful.c - run an op when it is recorded, and watch it.
 *
 * A demand ends the part of the trace that may fuse, so that demanding every
 * result without waiting gives one kernel per op. */
#include "careful.h"

#include "array.h"
#include "future.h"
#include "profile.h"
#include "ticket.h"
#include "watch.h"
#include "wire.h"

static int eager(struct braze_array *a, struct err *err)
{
	struct braze_session *s = a->session;
	struct braze_future *f = NULL;

	if (!(s->careful & CAREFUL_EAGER))
		return 0;
	int st = (int)future_demand(&f, 1, &a, err);
	if (!st && (s->flags & BRAZE_EAGER))
		st = future_wait(f, -1, s->owned ? s->owner.check : NULL, s->owner.data, err);
	ticket_destroy(f);
	return st;
}

int careful_assigned(struct braze_array *dst, const braze_arg *src, struct err *err)
{
	const struct recorded r = {.op = OP_ASSIGN, .n = 1, .arg = src};
	int st = (int)watch_assigned(dst, src, err);

	if (dst->session->careful & CAREFUL_PROFILE)
		profile_recorded(dst, &r);

	return st ? st : eager(dst, err);
}

int careful_recorded(struct braze_array **out, const struct recorded *r, struct err *err)
{
	int st = 0;

	if ((*out)->session->careful & CAREFUL_PROFILE)
		profile_recorded(*out, r);
	if ((*out)->session->careful == CAREFUL_PROFILE)
		return 0;
	st = (int)watch_recorded(*out, r, err);
	if (!st)
		st = eager(*out, err);
	if (st) {
		array_release(*out);
		*out = NULL;
	}
	return st;
}
