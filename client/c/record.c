/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/record.c - the HOST / SHARED state of a buffer at its next use. */
#include "record.h"

#include "apart.h"
#include "array.h"

static enum status used(struct braze_array *a, struct err *err)
{
	struct braze_session *s = a->session;
	struct buffer *b = a->buf;
	enum status st = a->named ? OK : array_name(a, err);

	if (st)
		return st;
	if (b->flags & BUF_HOST) {
		st = record_room(s, 1, 0, err);
		if (st)
			return st;
		record_op(s, OP_DIRTY, DTYPE_NONE, 0, 1, 0);
		record_in(s, a->id);
		/* The new version is what lies at the extent. */
		b->version++;
		b->why = WHY_HOST;
		atomic_store_explicit(&b->stored, b->version, memory_order_release);
	}
	b->flags &= ~(uint32_t)BUF_ENDS;
	return OK;
}

enum status record_used(int n, struct braze_array *const *a, struct err *err)
{
	enum status st = OK;

	/* Another thread may act while one is shipped: from the front again. */
	for (int i = 0; i < n && !st;) {
		if (a[i]->buf->flags & BUF_APART) {
			st = apart_ship(a[i], err);
			i = 0;
		} else {
			i++;
		}
	}
	for (int i = 0; i < n && !st; i++)
		st = used(a[i], err);
	return st;
}
