/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/near_calls.c - which operations are near, and their operands as the drivers
 * take them.
 *
 * In:  operands whose types and shapes were checked.  Out: the result, or false: the
 * operation is to be recorded.  Nothing here can fail otherwise. */
#include <string.h>

#include "array.h"
#include "imm.h"
#include "near.h"

#define NEVER (UINT64_MAX / 4) /* as work: sums of it are no less */

/* The predicted work of a loop over `count` elements. */
static uint64_t work_of(const struct near *n, unsigned op, unsigned loop, int64_t count)
{
	uint64_t cost = n->cost[op][loop];

	return cost && (uint64_t)count <= NEAR_TRIP ? cost * (uint64_t)count : NEVER;
}

static uint64_t bytes_of(unsigned dtype, int64_t count)
{
	return (uint64_t)count <= NEAR_WIDE ? (uint64_t)count * dtype_row(dtype)->bytes : NEVER;
}

/* Elements that may be read from the array's first one on. */
static int64_t reach_of(const struct braze_array *a)
{
	const struct buffer *b = a->buf;
	uint64_t end =
		b->flags & BUF_NEAR ? (uint64_t)1 << (b->block->size + NEAR_LEAST) : b->bytes;

	return ((int64_t)end - a->view.offset) / dtype_row(a->view.dtype)->bytes;
}

/* a over a domain of this many elements; `stretch` has room for its strides there. */
static bool set_array(struct near_in *in, const struct braze_array *a, unsigned loop,
		      const struct shape *shape, int64_t count, struct view *stretch)
{
	*in = (struct near_in){.at = array_address(a),
			       .reach = reach_of(a),
			       .dtype = a->view.dtype,
			       .loop = (uint8_t)loop};
	if (a->count == 1 && count != 1)
		in->fixed = true;
	else if (!a->contiguous || a->count != count) {
		if (view_broadcast(stretch, &a->view, shape, NULL))
			return false;
		in->stride = stretch->stride;
	}
	return true;
}

/* The bits of a number as an element of the type. */
static void number(uint64_t raw[2], const braze_scalar *v, unsigned type)
{
	imm_cast(raw, (enum dtype)type, v->bits, (enum dtype)v->dtype);
	/* Components of 4 bytes lie in a word each. */
	if (type == DT_COMPLEX64)
		raw[0] = (raw[0] & 0xffffffffu) | raw[1] << 32;
}

static void set_number(struct near_in *in, uint64_t raw[2], const braze_scalar *v, unsigned loop)
{
	number(raw, v, loop);
	*in = (struct near_in){.at = (const char *)raw,
			       .dtype = (uint8_t)loop,
			       .loop = (uint8_t)loop,
			       .fixed = true};
}

static int64_t count_of(const struct shape *shape)
{
	int64_t n = 1;

	for (int i = 0; i < shape->ndim; i++)
		if (__builtin_mul_overflow(n, shape->dim[i], &n))
			return INT64_MAX;
	return n;
}

bool near_apply(struct braze_array **out, struct braze_session *s, enum op op,
		const struct op_sig *sig, int n, const braze_arg *arg, const struct shape *shape)
{
	unsigned loop = sig->in[op == OP_WHERE];
	int64_t count = count_of(shape);
	struct view stretch[3];
	struct near_in in[3];
	uint64_t raw[3][2];

	for (int k = 0; k < n; k++)
		if (arg[k].array && !near_hand(arg[k].array))
			return false;
	if (!near_fits(s->near, work_of(s->near, op, loop, count), bytes_of(sig->out, count)))
		return false;
	for (int k = 0; k < n; k++) {
		if (!arg[k].array)
			set_number(&in[k], raw[k], &arg[k].scalar, sig->in[k]);
		else if (!set_array(&in[k], arg[k].array, sig->in[k], shape, count, &stretch[k]))
			return false;
	}
	struct braze_array *r = near_array(s, (enum dtype)sig->out, shape, count);
	if (!r)
		return false;
	if (count)
		near_map(s->near, op, (char *)r->buf->at, sig->out, shape, count, n, in);
	s->counters.near++;
	*out = r;
	return true;
}

bool near_quick(struct braze_array **out, unsigned op, unsigned type, struct braze_array *a,
		struct braze_array *b)
{
	struct braze_session *s = a->session;
	unsigned loop = s->loop[op][a->view.dtype];
	struct view stretch[2];
	struct near_in in[2];

	if (!near_fits(s->near, work_of(s->near, op, loop, a->count), bytes_of(type, a->count)) ||
	    !set_array(&in[0], a, loop, &a->view.shape, a->count, &stretch[0]) ||
	    (b && !set_array(&in[1], b, loop, &a->view.shape, a->count, &stretch[1])))
		return false;
	struct braze_array *r = near_array(s, (enum dtype)type, &a->view.shape, a->count);
	if (!r)
		return false;
	if (a->count)
		near_map(s->near, (enum op)op, (char *)r->buf->at, type, &a->view.shape, a->count,
			 b ? 2 : 1, in);
	s->counters.near++;
	*out = r;
	return true;
}

bool near_cast(struct braze_array **out, struct braze_array *a, enum dtype to)
{
	const struct op_sig sig = {{a->view.dtype}, (uint8_t)to};
	const braze_arg arg = {.array = a};

	return near_apply(out, a->session, OP_CAST, &sig, 1, &arg, &a->view.shape);
}

bool near_with_number(struct braze_array **out, int op, unsigned type, const braze_arg *args)
{
	const struct braze_array *a = args[0].array ? args[0].array : args[1].array;
	struct braze_session *s = a->session;
	uint8_t loop = s->loop[op][a->view.dtype];
	const struct op_sig sig = {{loop, loop}, (uint8_t)type};

	return near_apply(out, s, (enum op)op, &sig, 2, args, &a->view.shape);
}

bool near_reduce(struct braze_array **out, enum op op, const struct op_sig *sig,
		 struct braze_array *a, uint32_t axes, const struct shape *shape)
{
	struct braze_session *s = a->session;
	int64_t results = count_of(shape);
	struct near_in in;

	if (!near_hand(a) || !a->count)
		return false;
	/* Many short rows go side by side, others one by one. */
	bool apart_rows = results < 64 || a->count >= 256 * results;
	uint64_t work = work_of(s->near, op, sig->in[0], a->count);
	if (apart_rows && work != NEVER)
		work += NEAR_POINT * (uint64_t)results;
	if (!near_fits(s->near, work, bytes_of(sig->out, results)))
		return false;
	struct braze_array *r = near_array(s, (enum dtype)sig->out, shape, results);
	if (!r)
		return false;
	in = (struct near_in){.at = array_address(a),
			      .stride = a->view.stride,
			      .reach = reach_of(a),
			      .dtype = a->view.dtype,
			      .loop = sig->in[0]};
	near_reduction(s->near, op, (char *)r->buf->at, sig->out, &a->view.shape, axes, &in);
	s->counters.near++;
	*out = r;
	return true;
}

/* ---- dst[...] = src ---- */

/* May dst's buffer be written now? */
static bool writable(const struct braze_array *dst)
{
	struct buffer *b = dst->buf;

	if (b->flags & BUF_READONLY)
		return false;
	if (b->flags & BUF_NEAR)
		return near_own(dst->session, b);
	if (b->flags & BUF_FRESH)
		b->flags = (b->flags & ~(uint32_t)BUF_FRESH) | BUF_HOST;
	return b->flags & BUF_HOST;
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

/* Elements of dst that are the same memory: the daemon's to refuse. */
static bool overlapping(const struct braze_array *dst)
{
	int64_t lo, hi, bytes = dtype_row(dst->view.dtype)->bytes;

	if (dst->contiguous)
		return false;
	return view_range(&lo, &hi, &dst->view, NULL) || hi - lo < dst->count * bytes;
}

/* All is read before any is written: a into a new array, which `in` becomes. */
static struct braze_array *read_first(struct near_in *in, const struct braze_array *dst)
{
	const struct view *v = &dst->view;
	struct braze_session *s = dst->session;
	struct braze_array *copy = near_array(s, (enum dtype)v->dtype, &v->shape, dst->count);

	if (copy) {
		near_store(s->near, (char *)copy->buf->at, &copy->view, dst->count, in);
		set_array(in, copy, v->dtype, &v->shape, dst->count, NULL);
	}
	return copy;
}

/* Small enough, both at hand, and dst to be written where it lies? */
static bool can_assign(const struct braze_array *dst, const struct braze_array *a)
{
	struct near *n = dst->session->near;
	unsigned to = dst->view.dtype;

	return near_hand(dst) && (!a || near_hand(a)) && !overlapping(dst) &&
	       near_fits(n, work_of(n, OP_CAST, to, dst->count), bytes_of(to, dst->count)) &&
	       writable(dst);
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

	if (!can_assign(dst, a))
		return false;
	if (!a)
		set_number(&in, raw, &src->scalar, to);
	else if (!set_array(&in, a, to, &dst->view.shape, dst->count, &stretch))
		return false;
	if (must_read_first(dst, a) && !(copy = read_first(&in, dst)))
		return false;
	if (dst->count)
		near_store(s->near, array_address(dst), &dst->view, dst->count, &in);
	if (copy)
		array_release(copy);
	s->counters.near++;
	return true;
}

/* ---- Creation ---- */

static void arange(struct braze_array *r, const braze_scalar *value)
{
	uint64_t start[2], step[2];
	double first, apart_by, *d = (void *)r->buf->at;
	int64_t *i = (void *)r->buf->at;

	number(start, &value[0], r->view.dtype);
	number(step, &value[1], r->view.dtype);
	if (r->view.dtype == DT_INT64) {
		for (int64_t k = 0; k < r->count; k++)
			i[k] = (int64_t)(start[0] + (uint64_t)k * step[0]);
		return;
	}
	memcpy(&first, start, sizeof(first));
	memcpy(&apart_by, step, sizeof(apart_by));
	/* NumPy's step: what rounding leaves of it. */
	apart_by = (first + apart_by) - first;
	for (int64_t k = 0; k < r->count; k++)
		d[k] = r->count == 1 ? first : first + (double)k * apart_by;
}

static void full(const struct near *n, struct braze_array *r, const braze_scalar *value)
{
	struct near_in in;
	uint64_t raw[2];

	set_number(&in, raw, value, r->view.dtype);
	if (!raw[0] && (!raw[1] || r->view.dtype != DT_COMPLEX128))
		memset(r->buf->at, 0, r->buf->bytes);
	else
		near_store(n, (char *)r->buf->at, &r->view, r->count, &in);
}

bool near_create(struct braze_array **out, struct braze_session *s, enum op op, int dtype,
		 const struct shape *shape, const braze_scalar *value)
{
	bool counts = dtype == DT_INT64 || dtype == DT_FLOAT64;

	if (op == OP_ARANGE && !counts)
		return false;
	int64_t count = count_of(shape);
	/* Storing is all its work. */
	uint64_t bytes = bytes_of((unsigned)dtype, count);
	bool fits = near_fits(s->near, bytes, bytes);
	struct braze_array *r = fits ? near_array(s, (enum dtype)dtype, shape, count) : NULL;
	if (!r)
		return false;
	if (op == OP_ARANGE)
		arange(r, value);
	else if (op == OP_FULL && count)
		full(s->near, r, value);
	s->counters.near++;
	*out = r;
	return true;
}

bool near_number(braze_scalar *out, const struct braze_array *a)
{
	unsigned d = a->view.dtype;
	const struct dtype_row *row = dtype_row(d);

	if (!(a->buf->flags & BUF_NEAR) || a->view.shape.ndim || row->cls == CLASS_BOOL)
		return false;
	*out = (braze_scalar){.dtype = (int)d};
	if (row->cls == CLASS_COMPLEX) {
		memcpy(&out->bits[0], array_address(a), row->bytes / 2u);
		memcpy(&out->bits[1], array_address(a) + row->bytes / 2, row->bytes / 2u);
	} else {
		memcpy(&out->bits[0], array_address(a), row->bytes);
		if (row->cls == CLASS_INT) {
			unsigned drop = 64 - row->bytes * 8u;
			out->bits[0] = (uint64_t)((int64_t)(out->bits[0] << drop) >> drop);
		}
	}
	return true;
}
