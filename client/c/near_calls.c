/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/near_calls.c - which operations are near, and their operands as the drivers
 * take them.
 *
 * In:  operands whose types and shapes were checked.  Out: the result, or false: the
 * operation is to be recorded.  Nothing here can fail otherwise. */
#include <string.h>

#include "imm.h"
#include "near_block.h"
#include "near_walk.h"
#include "profile.h"

uint64_t near_work(const struct near *n, unsigned op, unsigned loop, int64_t count)
{
	uint64_t cost = n->cost[op][loop];

	return cost && (uint64_t)count <= NEAR_MOST ? cost * (uint64_t)count : NEAR_NEVER;
}

uint64_t near_bytes(unsigned dtype, int64_t count)
{
	return (uint64_t)count <= NEAR_MOST ? (uint64_t)count * dtype_row(dtype)->bytes
					    : NEAR_NEVER;
}

/* Elements that may be read from the array's first one on. */
static int64_t bytes_after(const struct braze_array *a)
{
	const struct buffer *b = a->buf;
	uint64_t end = b->flags & BUF_NEAR ? b->block->room : b->bytes;

	return (int64_t)end - a->view.offset;
}

static int64_t reach_of(const struct braze_array *a)
{
	return bytes_after(a) / dtype_row(a->view.dtype)->bytes;
}

bool near_set_array(struct near_in *in, const struct braze_array *a, unsigned loop,
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

void near_set_number(struct near_in *in, uint64_t raw[2], const braze_scalar *v, unsigned loop)
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

/* Does it lie as a loop takes it?  If all operands do, threads share the loop (near_map). */
static inline bool lies_flat(const struct braze_array *a, unsigned loop, int64_t count)
{
	return a->count == 1 || (a->contiguous && a->count == count && a->view.dtype == loop);
}

uint64_t near_large_work(const struct near *near, enum op op, uint64_t work,
			 const struct op_sig *sig, int n, const braze_arg *arg, int64_t count)
{
	if (!near_gains(near, op, sig->in[op == OP_WHERE], count))
		return work;
	for (int k = 0; k < n; k++)
		if (arg[k].array && !lies_flat(arg[k].array, sig->in[k], count))
			return work;
	return near_shared(work);
}

/* Near loops make what their type says, and no more: what is rounded to bfloat16 behind one, and
 * numbers that are before it, are the daemon's. */
static bool rounds(const struct braze_session *s, const struct op_sig *sig, int n,
		   const braze_arg *arg)
{
	bool rounds = sig->out == DT_BFLOAT16;

	if (likely(!s->bfloat16))
		return false;
	for (int k = 0; k < n; k++)
		rounds |= arg[k].array && arg[k].array->view.dtype == DT_BFLOAT16;
	return rounds;
}

static bool all_at_hand(int n, const braze_arg *arg)
{
	for (int k = 0; k < n; k++)
		if (arg[k].array && !near_hand(arg[k].array))
			return false;
	return true;
}

bool near_apply(struct braze_array **out, struct braze_session *s, enum op op,
		const struct op_sig *sig, int n, const braze_arg *arg, const struct shape *shape)
{
	unsigned loop = sig->in[op == OP_WHERE];
	int64_t count = count_of(shape);
	struct view stretch[3];
	struct near_in in[3];
	uint64_t raw[3][2];

	if (op != OP_CAST && rounds(s, sig, n, arg))
		return near_not(s, WHY_KIND);
	uint64_t work = near_work(s->near, op, loop, count), bytes = near_bytes(sig->out, count);
	bool spared = false;

	if (unlikely(work >= NEAR_SHARE))
		work = near_large_work(s->near, op, work, sig, n, arg, count);
	if (!all_at_hand(n, arg))
		return near_waits(s->near, op, loop, count);
	for (int k = 0; k < n && !spared; k++)
		spared = arg[k].array && near_spares(s->near, arg[k].array, work, bytes);
	if (!spared && !near_fits(s->near, work, bytes))
		return near_not(s, WHY_LARGE);
	for (int k = 0; k < n; k++) {
		if (!arg[k].array)
			near_set_number(&in[k], raw[k], &arg[k].scalar, sig->in[k]);
		else if (!near_set_array(&in[k], arg[k].array, sig->in[k], shape, count,
					 &stretch[k]))
			return false;
	}
	struct braze_array *r = near_array(s, (enum dtype)sig->out, shape, count);
	if (!r)
		return false;
	if (count)
		near_map(s->near, op, (char *)r->buf->at, sig->out, shape, count, n, in);
	count_near(s);
	*out = r;
	return true;
}

/* Does it lie as a loop takes it, `bytes` of whole vectors there to be read? */
static inline bool plain(const struct braze_array *a, int64_t bytes)
{
	return a->contiguous && bytes <= bytes_after(a);
}

static inline bool both_plain(const struct braze_array *a, const struct braze_array *b,
			      int64_t bytes)
{
	return plain(a, bytes) && (!b || plain(b, bytes));
}

/* What threads may share goes the way of all other operations. */
static bool large_two(struct braze_array **out, unsigned op, unsigned loop, unsigned type,
		      struct braze_array *a, struct braze_array *b)
{
	const struct op_sig sig = {{(uint8_t)loop, (uint8_t)loop}, (uint8_t)type};
	const braze_arg arg[2] = {{.array = a}, {.array = b}};

	return near_apply(out, a->session, (enum op)op, &sig, b ? 2 : 1, arg, &a->view.shape);
}

static void call_loop(tier0_fn *fn, const struct braze_array *r, const struct braze_array *a,
		      const struct braze_array *b)
{
	const void *x = array_address(a);
	unsigned mode = near_enter();

	fn((char *)r->buf->at, x, b ? array_address(b) : x, x, a->count);
	near_leave(mode);
}

/* Is it small, or one of its operands better worked on here than shipped? */
static bool pays(struct near *n, const struct braze_array *a, const struct braze_array *b,
		 uint64_t work, uint64_t bytes)
{
	return near_spares(n, a, work, bytes) || (b && near_spares(n, b, work, bytes)) ||
	       near_fits(n, work, bytes);
}

bool near_quick(struct braze_array **out, unsigned op, unsigned loop, unsigned type,
		struct braze_array *a, struct braze_array *b)
{
	struct braze_session *s = a->session;
	int64_t count = a->count;
	uint64_t work = near_work(s->near, op, loop, count), bytes = near_bytes(type, count);

	if (unlikely(work >= NEAR_ALONE) && near_gains(s->near, op, loop, count))
		return large_two(out, op, loop, type, a, b);
	if (!pays(s->near, a, b, work, bytes))
		return near_not(s, WHY_LARGE);
	int64_t whole =
		((count + TIER0_LANES - 1) & ~(int64_t)(TIER0_LANES - 1)) * dtype_rows[loop].bytes;
	struct view stretch[2];
	struct near_in in[2];
	bool direct = a->view.dtype == loop && both_plain(a, b, whole);
	if (!direct &&
	    (!near_set_array(&in[0], a, loop, &a->view.shape, count, &stretch[0]) ||
	     (b && !near_set_array(&in[1], b, loop, &a->view.shape, count, &stretch[1]))))
		return false;
	struct braze_array *r = near_make(s, (enum dtype)type, &a->view.shape, count, bytes);
	if (!r)
		return false;
	if (direct && count)
		call_loop(near_loop(s->near, (enum op)op, loop, type), r, a, b);
	else if (count)
		near_map(s->near, (enum op)op, (char *)r->buf->at, type, &a->view.shape, count,
			 b ? 2 : 1, in);
	count_near(s);
	*out = r;
	return true;
}

bool near_cast(struct braze_array **out, struct braze_array *a, enum dtype to)
{
	const struct op_sig sig = {{a->view.dtype}, (uint8_t)to};
	const braze_arg arg = {.array = a};

	return near_apply(out, a->session, OP_CAST, &sig, 1, &arg, &a->view.shape);
}

/* Else a mantissa, an exponent and its cast are recorded. */
#define PARTS_RECORDED 3

bool near_parts(struct braze_array *out[2], struct braze_array *a)
{
	struct braze_session *s = a->session;
	const unsigned d = a->view.dtype;
	const int64_t count = a->count;
	const struct shape *shape = &a->view.shape;
	parts_fn *fn = s->near->lib->place->parts[d];

	if (!fn || !near_hand(a) || !a->contiguous ||
	    (uintptr_t)array_address(a) % dtype_row(d)->bytes)
		return false;
	const uint64_t bytes = near_bytes(d, count), ints = near_bytes(DT_INT32, count);
	const uint64_t work = near_work(s->near, OP_MANTISSA, d, count);
	struct near_stretch *t = &s->near->stretch;
	const uint32_t ntold = t->ntold;

	t->parts = 0;
	if (!pays(s->near, a, NULL, work, bytes)) {
		t->parts = t->ntold != ntold ? PARTS_RECORDED : 0;
		return near_not(s, WHY_LARGE);
	}
	out[0] = near_make(s, (enum dtype)d, shape, count, bytes);
	out[1] = out[0] ? near_make(s, DT_INT32, shape, count, ints) : NULL;
	if (!out[1]) {
		if (out[0])
			array_release(out[0]);
		return false;
	}
	unsigned mode = near_enter();
	fn(out[0]->buf->at, (int32_t *)(void *)out[1]->buf->at, array_address(a), count);
	near_leave(mode);
	count_near(s);
	count_near(s);
	return true;
}

bool near_with_number(struct braze_array **out, int op, unsigned type, const braze_arg *args)
{
	const struct braze_array *a = args[0].array ? args[0].array : args[1].array;
	struct braze_session *s = a->session;
	uint8_t loop = s->loop[op][a->view.dtype];
	const struct op_sig sig = {{loop, loop}, (uint8_t)type};

	return near_apply(out, s, (enum op)op, &sig, 2, args, &a->view.shape);
}

/* No element: the identity. */
static bool reduce_none(struct braze_array **out, struct braze_session *s, enum op op, unsigned d,
			const struct shape *shape, int64_t results)
{
	const braze_scalar value = braze_int(op == OP_PROD || op == OP_ALL);

	if (results && op != OP_SUM && op != OP_PROD && op != OP_ANY && op != OP_ALL)
		return false;
	return near_create(out, s, OP_FULL, (int)d, shape, &value);
}

bool near_reads_once(struct near *n, const struct braze_array *a, uint64_t work, uint64_t most)
{
	const struct buffer *b = a->buf;

	if (!(b->flags & BUF_NEAR) || b->bytes > NEAR_WIDE || work > most)
		return false;
	n->stretch.work += work;
	return true;
}

/* argmin, argmax of rows whose elements lie side by side; false: the trees know. */
static bool places(const struct near *n, struct braze_array *r, enum op op,
		   const struct braze_array *a, uint32_t axes)
{
	const struct place_isa *isa = n->lib->place;
	place_fn *fn = (op == OP_ARGMAX ? isa->largest : isa->least)[a->view.dtype];
	int64_t bytes = dtype_row(a->view.dtype)->bytes, count = a->count / r->count;
	int64_t *to = (int64_t *)(void *)r->buf->at;
	const char *at = array_address(a);

	if (!fn || !a->contiguous || (uintptr_t)at % (uint64_t)bytes ||
	    (r->count > 1 && axes != 1u << (a->view.shape.ndim - 1)))
		return false;
	for (int64_t k = 0; k < r->count; k++)
		to[k] = fn(at + k * count * bytes, count);
	return true;
}

/* Are its rows, columns, or all of it, so many elements side by side that threads share them
 * (near_reduce.c)? */
static bool shares_rows(const struct braze_array *a, unsigned loop, uint32_t axes)
{
	unsigned last = a->view.shape.ndim - 1u;
	bool columns = axes == 1 && last == 1;

	return a->contiguous && a->view.dtype == loop &&
	       a->count * dtype_row(loop)->bytes >= NEAR_FETCHED &&
	       (columns || axes == 1u << last || axes == (1u << (last + 1)) - 1);
}

bool near_reduce(struct braze_array **out, enum op op, const struct op_sig *sig,
		 struct braze_array *a, uint32_t axes, const struct shape *shape)
{
	struct braze_session *s = a->session;
	int64_t results = count_of(shape);
	struct near_in in;

	if (rounds(s, sig, 1, &(braze_arg){.array = a}))
		return near_not(s, WHY_KIND);
	if (!near_hand(a))
		return near_waits(s->near, op, sig->in[0], a->count);
	if (!a->count)
		return reduce_none(out, s, op, sig->out, shape, results);
	/* Many short rows go side by side, others one by one. */
	bool apart_rows = results < 64 || a->count >= 256 * results;
	uint64_t work = near_work(s->near, op, sig->in[0], a->count);
	if (unlikely(work >= NEAR_SHARE) && shares_rows(a, sig->in[0], axes))
		work = near_shared(work);
	if (apart_rows && work != NEAR_NEVER)
		work += NEAR_POINT * (uint64_t)results;
	uint64_t ship = NEAR_SHIP * a->buf->bytes;
	if (!near_reads_once(s->near, a, work, ship > NEAR_TRIP ? ship : NEAR_TRIP) &&
	    !near_fits(s->near, work, near_bytes(sig->out, results)))
		return near_not(s, WHY_LARGE);
	struct braze_array *r = near_array(s, (enum dtype)sig->out, shape, results);
	if (!r)
		return false;
	count_near(s);
	*out = r;
	if (op_row(op)->kind == KIND_ARGRED && places(s->near, r, op, a, axes))
		return true;
	in = (struct near_in){.at = array_address(a),
			      .stride = a->view.stride,
			      .reach = reach_of(a),
			      .dtype = a->view.dtype,
			      .loop = sig->in[0]};
	near_reduction(s->near, op, (char *)r->buf->at, sig->out, &a->view.shape, axes, &in);
	return true;
}

/* ---- Creation ---- */

static void arange(const struct near *n, struct braze_array *r, const braze_scalar *value)
{
	uint64_t start[2], step[2];
	double first, by;

	number(start, &value[0], r->view.dtype);
	number(step, &value[1], r->view.dtype);
	/* NumPy's step: what rounding leaves of it.  One number keeps its sign. */
	if (r->view.dtype == DT_FLOAT64) {
		memcpy(&first, start, sizeof(first));
		memcpy(&by, step, sizeof(by));
		by = r->count == 1 ? -0.0 : (first + by) - first;
		memcpy(step, &by, sizeof(by));
	}
	n->lib->place->count[r->view.dtype](r->buf->at, start, step, (int32_t)r->count);
}

static void full(const struct near *n, struct braze_array *r, const braze_scalar *value)
{
	struct near_in in;
	uint64_t raw[2];

	near_set_number(&in, raw, value, r->view.dtype);
	if (likely(r->buf->bytes <= NEAR_BYTES) && !raw[0] &&
	    (!raw[1] || r->view.dtype != DT_COMPLEX128))
		memset(r->buf->at, 0, r->buf->bytes);
	else
		near_store(n, (char *)r->buf->at, &r->view, r->count, &in);
}

bool near_create(struct braze_array **out, struct braze_session *s, enum op op, int dtype,
		 const struct shape *shape, const braze_scalar *value)
{
	bool counts = dtype == DT_INT64 || dtype == DT_FLOAT64;

	if (op == OP_ARANGE && !counts)
		return near_not(s, WHY_KIND);
	int64_t count = count_of(shape);
	/* Storing is all its work, at 40 bytes a nanosecond; memory alone is none. */
	uint64_t bytes = near_bytes((unsigned)dtype, count);
	uint64_t work = op == OP_EMPTY ? 0 : bytes / NEAR_STORE;
	if (op == OP_FULL)
		work = near_shared_bytes(work, bytes);
	bool fits = near_fits(s->near, work, bytes);
	struct braze_array *r = fits ? near_array(s, (enum dtype)dtype, shape, count) : NULL;
	if (!r)
		return near_not(s, WHY_LARGE);
	if (op == OP_ARANGE)
		arange(s->near, r, value);
	else if (op == OP_FULL && count)
		full(s->near, r, value);
	count_near(s);
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
