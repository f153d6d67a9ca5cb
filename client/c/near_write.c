/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/near_write.c - dst[...] = src in the recording call, and when a buffer is asked
 * for so that it can be.
 *
 * A stored buffer that the daemon has a use of, maybe, must be fenced before this process
 * writes to it, which is a round trip.  One small write is cheaper recorded; after several
 * in a row (no other operation used the buffer in between) more will follow:
 *
 *   stored, or only made (zeros)	the first is recorded, BUF_TOUCHED; the next, or a near
 *				operation that reads the buffer, fences it
 *   pending			NEAR_RUN are recorded, BUF_RUN; the next fences it
 *
 * Only writes of what is at hand count: others are parts of a lazy program.  What the
 * daemon said to be ours alone when it answered a demand (BUF_FRESH) needs no fence. */
#include "array.h"
#include "future.h"
#include "near.h"
#include "profile.h"

/* ---- When to ask ---- */

/* Elements of dst that are the same memory: the daemon's to refuse. */
static bool overlapping(const struct braze_array *dst)
{
	int64_t lo, hi, bytes = dtype_row(dst->view.dtype)->bytes;

	if (dst->contiguous)
		return false;
	return view_range(&lo, &hi, &dst->view, NULL) || hi - lo < dst->count * bytes;
}

/* Is it small whatever the program did before? */
static bool small(const struct near *n, unsigned op, unsigned loop, int64_t count)
{
	return near_work(n, op, loop, count) <= NEAR_WORK && near_bytes(loop, count) <= NEAR_BYTES;
}

/* Small enough to be worth a fence? */
static bool small_write(const struct braze_array *dst)
{
	return small(dst->session->near, OP_CAST, dst->view.dtype, dst->count) &&
	       !(dst->buf->flags & BUF_READONLY) && !overlapping(dst);
}

/* At hand, or as soon as its buffer is fenced? */
static bool within_reach(const struct braze_array *a)
{
	return near_hand(a) || a->buf->flags & BUF_TOUCHED;
}

/* Small operations wait for what is pending, and recording them has cost more than a trip: so
 * these are waited for, and what follows finds them at hand.  What fails is told to who reads.
 * *waited: there was something to wait for. */
static enum status hurry(bool *waited, struct braze_session *s, int n, struct braze_array *const *a,
			 struct err *err)
{
	struct near_stretch *t = &s->near->stretch;
	bool pending = false, fit = true;

	for (int k = 0; k < n; k++) {
		const struct buffer *b = a[k]->buf;

		if (near_hand(a[k]))
			continue;
		pending = true;
		fit &= !(b->flags & BUF_APART) && b->bytes <= NEAR_AWAIT;
	}
	*waited = pending && fit;
	if (!*waited)
		return OK;
	t->lost = 0;
	t->hurried += t->hurried < NEAR_OFTEN;
	enum status st = future_await(n, a, err);
	return (int)st == BRAZE_E_INTERRUPTED ? st : OK;
}

/* Operands of an operation that is small enough to be near once they are at hand. */
static enum status await(struct braze_session *s, int n, struct braze_array *const *a,
			 struct err *err)
{
	bool near = true, waited = false;
	enum status st = OK;

	if (near_impatient(&s->near->stretch))
		st = hurry(&waited, s, n, a, err);
	if (st || waited)
		return st;

	for (int k = 0; k < n; k++)
		near = near && within_reach(a[k]);
	for (int k = 0; k < n && near && !st; k++)
		if (a[k]->buf->flags & BUF_TOUCHED)
			st = future_fence(a[k], err);
	return st;
}

enum status near_settle(struct braze_session *s, unsigned op, unsigned loop, int64_t count, int n,
			struct braze_array *const *a, struct err *err)
{
	return small(s->near, op, loop, count) ? await(s, n, a, err) : OK;
}

enum status near_settle_work(struct braze_array *a, struct braze_array *b, uint64_t work,
			     uint64_t bytes, struct err *err)
{
	struct braze_array *both[] = {a, b};

	return work <= NEAR_WORK && bytes <= NEAR_BYTES ? await(a->session, 2, both, err) : OK;
}

enum status near_settle_two(unsigned op, unsigned loop, int64_t count, struct braze_array *a,
			    struct braze_array *b, struct err *err)
{
	struct braze_array *both[] = {a, b};

	return near_settle(a->session, op, loop, count, b ? 2 : 1, both, err);
}

enum status near_prepare(struct braze_array *dst, struct braze_array *src, struct err *err)
{
	const struct buffer *b = dst->buf;
	uint32_t flags = b->flags | (src ? src->buf->flags : 0);
	bool run = b->flags & BUF_RUN && b->run >= NEAR_RUN;
	enum status st = OK;

	if (likely(!(flags & (BUF_TOUCHED | BUF_RUN))) || !small_write(dst) ||
	    (src && !within_reach(src)))
		return OK;
	if (run || b->flags & BUF_TOUCHED)
		st = future_fence(dst, err);
	if (!st && src && src->buf->flags & BUF_TOUCHED)
		st = future_fence(src, err);
	return st;
}

uint32_t near_run(const struct braze_array *dst, const struct braze_array *src)
{
	const struct buffer *b = dst->buf;

	if (!small_write(dst) || (src && !near_hand(src)))
		return 0;
	if (near_hand(dst) || b->flags & (BUF_MADE | BUF_TOUCHED))
		return NEAR_TOUCH;
	return b->flags & BUF_RUN ? b->run + 1 : 1;
}

void near_recorded(struct buffer *b, uint32_t run)
{
	if (run == NEAR_TOUCH)
		b->flags |= BUF_TOUCHED;
	else if (run)
		b->flags |= BUF_RUN;
	b->run = run;
}

/* ---- Writing ---- */

/* May dst's buffer be written without a question? */
static bool ours(const struct braze_array *dst)
{
	uint32_t flags = dst->buf->flags;

	return !(flags & BUF_READONLY) && flags & (BUF_NEAR | BUF_FRESH | BUF_HOST);
}

/* It is about to be; false: no memory. */
static bool take(struct braze_array *dst)
{
	struct buffer *b = dst->buf;

	if (b->flags & BUF_NEAR)
		return near_own(dst->session, b);
	b->flags = (b->flags & ~(uint32_t)BUF_FRESH) | BUF_HOST;
	return true;
}

bool near_write_in(struct braze_array *dst)
{
	return near_hand(dst) && ours(dst) && !overlapping(dst) && take(dst);
}

/* The work of an assignment: a number is stored, apart at a fifth of a nanosecond an element
 * besides; what needs no cast is loaded and stored, and no more. */
static uint64_t write_work(const struct near *n, const struct braze_array *dst,
			   const struct braze_array *a)
{
	unsigned to = dst->view.dtype;
	bool side_by_side = dst->contiguous && (!a || (a->contiguous && a->count == dst->count));
	uint64_t work = near_bytes(to, dst->count) / NEAR_STORE * (a ? 2 : 1);

	if (a && a->view.dtype != to)
		return near_work(n, OP_CAST, to, dst->count);
	if (side_by_side)
		return near_shared_bytes(work, near_bytes(to, dst->count));
	return work + (a ? 0 : 2 * (uint64_t)dst->count);
}

/* At hand, ours, and small enough now? */
static bool can_assign(const struct braze_array *dst, const struct braze_array *a)
{
	struct braze_session *s = dst->session;
	uint64_t work = write_work(s->near, dst, a);

	if (!near_hand(dst) || (a && !near_hand(a))) {
		near_tell(&s->near->stretch, work);
		return false;
	}
	if (!ours(dst) || overlapping(dst))
		return near_not(s, WHY_SHARED);
	return near_fits(s->near, work, near_bytes(dst->view.dtype, dst->count)) ||
	       near_not(s, WHY_LARGE);
}

static bool apart(const struct view *a, const struct view *b)
{
	int64_t lo[2], hi[2];

	return !view_range(&lo[0], &hi[0], a, NULL) && !view_range(&lo[1], &hi[1], b, NULL) &&
	       (hi[0] <= lo[1] || hi[1] <= lo[0]);
}

static bool same_view(const struct view *a, const struct view *b)
{
	bool same =
		a->dtype == b->dtype && a->offset == b->offset && shape_equal(&a->shape, &b->shape);

	for (int i = 0; same && i < a->shape.ndim; i++)
		same = a->stride[i] == b->stride[i];
	return same;
}

/* All is read before any is written: a into a new array, which `in` becomes. */
static struct braze_array *read_first(struct near_in *in, const struct braze_array *dst)
{
	const struct view *v = &dst->view;
	struct braze_session *s = dst->session;
	struct braze_array *copy = near_array(s, (enum dtype)v->dtype, &v->shape, dst->count);

	if (copy) {
		near_store(s->near, (char *)copy->buf->at, &copy->view, dst->count, in);
		*in = (struct near_in){.at = (const char *)copy->buf->at,
				       .reach = dst->count,
				       .dtype = v->dtype,
				       .loop = v->dtype};
	}
	return copy;
}

static bool must_read_first(const struct braze_array *dst, const struct braze_array *a)
{
	return a && a->buf == dst->buf && !apart(&a->view, &dst->view) &&
	       !same_view(&a->view, &dst->view);
}

bool near_assign(struct braze_array *dst, const braze_arg *src)
{
	struct braze_array *a = src->array, *copy = NULL;
	struct braze_session *s = dst->session;
	unsigned to = dst->view.dtype;
	struct view stretch;
	struct near_in in;
	uint64_t raw[2];

	if (!can_assign(dst, a) || !take(dst))
		return false;
	if (!a)
		near_set_number(&in, raw, &src->scalar, to);
	else if (!near_set_array(&in, a, to, &dst->view.shape, dst->count, &stretch))
		return false;
	if (must_read_first(dst, a) && !(copy = read_first(&in, dst)))
		return false;
	if (dst->count)
		near_store(s->near, array_address(dst), &dst->view, dst->count, &in);
	if (copy)
		array_release(copy);
	count_near(s);
	return true;
}

/* ---- dst = op(dst, x) ---- */

/* Is x over dst's domain, of its type, and either the very view or other memory? */
static bool goes_with(const struct braze_array *dst, const struct braze_array *x)
{
	struct view stretched;

	return near_hand(x) && x->view.dtype == dst->view.dtype && !must_read_first(dst, x) &&
	       (shape_equal(&x->view.shape, &dst->view.shape) ||
		!view_broadcast(&stretched, &x->view, &dst->view.shape, NULL));
}

/* Half of an operation's work is the memory of another result, if it is no function's. */
static uint64_t work_in_place(uint64_t work, enum op op)
{
	return work == NEAR_NEVER || op_row(op)->cost >= 10 ? work : work / 2;
}

/* Is it small?  If not, an operation and an assignment are recorded in its place, which would tell
 * of work that nothing in place takes. */
static bool fits_in_place(struct near *n, struct braze_array *dst, enum op op, const braze_arg *x)
{
	uint8_t d = dst->view.dtype;
	const struct op_sig sig = {{d, d}, d};
	const braze_arg arg[2] = {{.array = dst}, *x};
	uint64_t work = near_work(n, op, d, dst->count);
	uint64_t bytes = near_bytes(d, dst->count);
	struct near_stretch *t = &n->stretch;
	uint32_t ntold = t->ntold;

	if (unlikely(work >= NEAR_SHARE))
		work = near_large_work(n, op, work, &sig, 2, arg, dst->count);
	work = work_in_place(work, op);
	t->parts = 0;
	if (near_spares(n, dst, work, bytes) || near_fits(n, work, bytes))
		return true;
	if (t->ntold != ntold) {
		t->ntold = ntold;
		t->parts = 2;
	}
	return false;
}

bool near_in_place(struct braze_array *dst, enum op op, const braze_arg *x)
{
	struct braze_session *s = dst->session;
	unsigned d = dst->view.dtype;
	struct view stretch;
	struct near_in in;
	uint64_t raw[2];

	if (!near_hand(dst) || (x->array && !goes_with(dst, x->array)) || !ours(dst) ||
	    overlapping(dst))
		return false;
	if (!x->array)
		near_set_number(&in, raw, &x->scalar, d);
	else if (!near_set_array(&in, x->array, d, &dst->view.shape, dst->count, &stretch))
		return false;
	if (!fits_in_place(s->near, dst, op, x) || !take(dst))
		return false;
	/* Its block may have been a snapshot's. */
	if (x->array && x->array->buf == dst->buf)
		in.at = array_address(x->array);
	if (dst->count)
		near_update(s->near, op, array_address(dst), &dst->view, dst->count, &in);
	count_near(s);
	return true;
}
