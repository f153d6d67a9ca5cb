/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/near_map.c - elementwise operations on what is at hand.
 *
 * In:  operands where they lie, the domain.  Out: the result's elements, in C order.
 * What is contiguous and of the loop's type is handed to the loop as it lies; all else
 * goes block by block through registers, as in the interpreter.  Loops take whole
 * vectors: an operand that may not be read beyond its end is copied at its tail. */
#include "near_walk.h"

#include <string.h>

#include "loops/copy_bytes.h"
#include "near.h"

/* ---- Strided elements ---- */

void near_walk_init(struct near_walk *w, const struct shape *shape, uint32_t axes, int n,
		    const int64_t *const *stride)
{
	w->loops.n = 0;
	for (int k = 0; k < shape->ndim; k++) {
		int64_t extent = shape->dim[k];
		bool join = w->loops.n > 0;

		if (extent == 1 || !(axes >> k & 1))
			continue;
		for (int x = 0; x < n && join; x++)
			join = w->step[x][w->loops.n - 1] == stride[x][k] * extent;
		if (join)
			w->loops.extent[w->loops.n - 1] *= extent;
		else
			w->loops.extent[w->loops.n++] = extent;
		for (int x = 0; x < n; x++)
			w->step[x][w->loops.n - 1] = stride[x][k];
	}
	if (!w->loops.n) {
		w->loops.extent[w->loops.n++] = 1;
		for (int x = 0; x < n; x++)
			w->step[x][0] = 0;
	}
}

/* ---- Operands, block by block ---- */

static int64_t whole(int64_t n)
{
	return (n + TIER0_LANES - 1) & ~(int64_t)(TIER0_LANES - 1);
}

/* Elements [p, p + n) of operand k as a register of its loop's type; `walk` has the
 * strides of those that are not contiguous. */
static const char *operand(const struct near *n, int k, const struct near_in *in,
			   const struct near_walk *walk, int64_t p, int64_t count)
{
	unsigned bytes = dtype_row(in->dtype)->bytes;
	char *raw = n->scratch->raw[k], *cast = n->scratch->cast[k];
	const char *from = raw;
	int64_t at[LIMIT_NDIM];

	if (in->fixed) {
		if (p)
			return in->dtype == in->loop ? raw : cast; /* as in the first block */
		walk_fill(raw, in->at, bytes, whole(count));
	} else if (in->stride) {
		walk_seek(&walk->loops, p, at);
		walk_load(&walk->loops, walk->step[k], at, in->at, bytes, count, raw);
	} else if (p + whole(count) <= in->reach) {
		from = in->at + p * bytes;
	} else {
		memcpy(raw, in->at + p * bytes, (size_t)count * bytes);
	}
	if (in->dtype == in->loop)
		return from;
	tier0_cast(n->lib->isa, n->lib->wide, in->dtype, in->loop)(cast, from, from, from, count);
	return cast;
}

const char *near_operand(const struct near *n, const struct near_in *in,
			 const struct near_walk *walk, int64_t p, int64_t count)
{
	return operand(n, 0, in, walk, p, count);
}

/* ---- Operands that all lie as a loop takes them, or are the same everywhere ---- */

struct flat {
	tier0_fn *fn;
	char *out;
	int64_t bytes, most; /* of a result's element; elements that are taken at a time */
	const char *at[3];
	int64_t step[3]; /* bytes an element; 0: a register of the same */
};

static void flat_part(void *data, int64_t lo, int64_t hi)
{
	const struct flat *f = data;

	for (int64_t p = lo, take; p < hi; p += take) {
		take = hi - p < f->most ? hi - p : f->most;
		f->fn(f->out + p * f->bytes, f->at[0] + p * f->step[0], f->at[1] + p * f->step[1],
		      f->at[2] + p * f->step[2], take);
	}
}

/* Operands as registers: those that are the same everywhere are made ones of a block's length. */
static void set_flat(const struct near *n, struct flat *f, int count, const struct near_in *in)
{
	for (int k = 0; k < count; k++) {
		f->step[k] = in[k].fixed ? 0 : dtype_row(in[k].dtype)->bytes;
		f->at[k] = in[k].fixed ? operand(n, k, &in[k], NULL, 0, NEAR_BLOCK) : in[k].at;
		f->most = in[k].fixed ? NEAR_BLOCK : f->most;
	}
	for (int k = count; k < 3; k++) {
		f->step[k] = f->step[0];
		f->at[k] = f->at[0];
	}
}

/* How many elements from the first on could be done so; a tail that must be copied is left. */
static int64_t flat(const struct near *n, enum op op, struct flat *f, int64_t total, int count,
		    const struct near_in *in)
{
	unsigned loop = in[op == OP_WHERE].loop;
	int64_t done = total;
	bool fixed = false;

	for (int k = 0; k < count; k++) {
		if (!in[k].fixed && (in[k].stride || in[k].dtype != in[k].loop))
			return 0;
		fixed |= in[k].fixed;
		if (!in[k].fixed && in[k].reach < whole(total))
			done = total & ~(int64_t)(TIER0_LANES - 1);
	}
	/* Preparing a short one would take as long as the loop. */
	if (total <= NEAR_BLOCK && fixed)
		return 0;
	if (total <= NEAR_BLOCK) {
		f->fn(f->out, in[0].at, in[count > 1 ? 1 : 0].at, in[count > 2 ? 2 : 0].at, done);
		return done;
	}
	f->most = INT64_MAX;
	set_flat(n, f, count, in);
	if (near_gains(n, op, loop, done))
		near_share(flat_part, f, done, NEAR_BLOCK, near_work(n, op, loop, done));
	else
		flat_part(f, 0, done);
	return done;
}

/* False: no operand has any. */
static bool strides_of(struct near_walk *w, const struct shape *shape, int count,
		       const struct near_in *in)
{
	static const int64_t none[LIMIT_NDIM];
	const int64_t *stride[3];
	bool any = false;

	for (int k = 0; k < count; k++) {
		stride[k] = in[k].stride ? in[k].stride : none;
		any |= in[k].stride != NULL;
	}
	if (any)
		near_walk_init(w, shape, UINT32_MAX, count, stride);
	return any;
}

/* ---- Rows of which each operand is one element, or lies side by side ---- */

/* A register's preparation costs less than so many elements' copies. */
#define ROW_LEAST 24

static bool has_rows(const struct near_walk *w, int count, const struct near_in *in)
{
	int last = w->loops.n - 1;

	if (w->loops.extent[last] < ROW_LEAST)
		return false;
	for (int k = 0; k < count; k++) {
		int64_t step = w->step[k][last];

		if (!in[k].fixed && (!in[k].stride || in[k].dtype != in[k].loop ||
				     (step && step != dtype_row(in[k].dtype)->bytes)))
			return false;
	}
	return true;
}

/* `take` elements of operand k, `offset` bytes behind its first one. */
static const char *row_part(const struct near *n, int k, const struct near_in *in, bool side,
			    int64_t offset, int64_t take)
{
	int64_t bytes = dtype_row(in->dtype)->bytes;
	char *raw = n->scratch->raw[k];

	if (!side)
		walk_fill(raw, in->at + offset, (unsigned)bytes, whole(take));
	else if (offset + whole(take) * bytes <= in->reach * bytes)
		return in->at + offset;
	else
		memcpy(raw, in->at + offset, (size_t)(take * bytes));
	return raw;
}

/* What a row's result is written beyond its end the next row overwrites. */
static void by_rows(const struct near *n, tier0_fn *fn, char *out, int64_t bytes,
		    const struct near_walk *w, int64_t total, int count, const struct near_in *in)
{
	int last = w->loops.n - 1;
	int64_t row = w->loops.extent[last], at[LIMIT_NDIM] = {0};
	const char *x[3] = {NULL};

	for (int k = 0; k < count; k++)
		if (in[k].fixed)
			x[k] = operand(n, k, &in[k], w, 0, row < NEAR_BLOCK ? row : NEAR_BLOCK);
	for (int64_t p = 0; p < total; p += row) {
		for (int64_t done = 0, take; done < row; done += take) {
			take = row - done < NEAR_BLOCK ? row - done : NEAR_BLOCK;
			for (int k = 0; k < count; k++)
				if (!in[k].fixed)
					x[k] = row_part(n, k, &in[k], w->step[k][last] != 0,
							walk_offset(&w->loops, w->step[k], at) +
								done * w->step[k][last],
							take);
			fn(out + (p + done) * bytes, x[0], x[count > 1 ? 1 : 0],
			   x[count > 2 ? 2 : 0], take);
		}
		walk_next_row(&w->loops, at);
	}
}

void near_map(const struct near *n, enum op op, char *out, unsigned dtype,
	      const struct shape *shape, int64_t total, int count, const struct near_in *in)
{
	tier0_fn *fn = near_loop(n, op, in[op == OP_WHERE].loop, dtype);
	int64_t bytes = dtype_row(dtype)->bytes;
	unsigned mode = near_enter();
	struct flat f = {.fn = fn, .out = out, .bytes = bytes};
	struct near_walk walk;
	int64_t p = flat(n, op, &f, total, count, in);

	if (p < total && strides_of(&walk, shape, count, in) && has_rows(&walk, count, in)) {
		by_rows(n, fn, out, bytes, &walk, total, count, in);
		p = total;
	}
	for (int64_t take; p < total; p += take) {
		const char *x[3] = {NULL};

		take = total - p < NEAR_BLOCK ? total - p : NEAR_BLOCK;
		for (int k = 0; k < count; k++)
			x[k] = operand(n, k, &in[k], &walk, p, take);
		fn(out + p * bytes, x[0], x[count > 1 ? 1 : 0], x[count > 2 ? 2 : 0], take);
	}
	near_leave(mode);
}

void near_update(const struct near *n, enum op op, char *to, const struct view *v, int64_t count,
		 const struct near_in *x)
{
	unsigned bytes = dtype_row(v->dtype)->bytes;
	bool row = view_contiguous(v);
	struct near_in in[2] = {{.at = to,
				 .stride = row ? NULL : v->stride,
				 .reach = count,
				 .dtype = v->dtype,
				 .loop = v->dtype},
				*x};
	tier0_fn *fn = near_loop(n, op, v->dtype, v->dtype);
	struct flat f = {.fn = fn, .out = to, .bytes = bytes};
	unsigned mode = near_enter();
	struct near_walk walk;
	int64_t at[LIMIT_NDIM];
	/* Loops read a vector before they write it; whole ones end in the array. */
	int64_t p = flat(n, op, &f, count, 2, in);

	if (p < count)
		strides_of(&walk, &v->shape, 2, in);
	for (int64_t take; p < count; p += take) {
		take = count - p < NEAR_BLOCK ? count - p : NEAR_BLOCK;
		bool there = row && take >= TIER0_LANES;

		if (there)
			take &= ~(int64_t)(TIER0_LANES - 1);
		char *out = there ? to + p * bytes : n->scratch->out;
		const char *mine = operand(n, 0, &in[0], &walk, p, take);
		const char *other = operand(n, 1, &in[1], &walk, p, take);
		fn(out, mine, other, other, take);
		if (there)
			continue;
		if (row) {
			memcpy(to + p * bytes, out, (size_t)take * bytes);
			continue;
		}
		walk_seek(&walk.loops, p, at);
		walk_store(&walk.loops, walk.step[0], at, to, bytes, take, out);
	}
	near_leave(mode);
}

/* ---- Elements that lie side by side and are only stored ---- */

struct stored {
	char *to;
	const char *from;
	unsigned bytes; /* of an element */
};

static void store_part(void *data, int64_t lo, int64_t hi)
{
	const struct stored *s = data;

	copy_bytes(s->to + lo * s->bytes, s->from + lo * s->bytes, (size_t)(hi - lo) * s->bytes);
}

/* The element at `from`; zeros by a string instruction, which does not read what it overwrites. */
static void fill_part(void *data, int64_t lo, int64_t hi)
{
	static const char zero[16];
	const struct stored *s = data;
	char *to = s->to + lo * s->bytes;

	if (memcmp(s->from, zero, s->bytes))
		walk_fill(to, s->from, s->bytes, hi - lo);
	else
		memset(to, 0, (size_t)(hi - lo) * s->bytes);
}

/* By threads where they are many. */
static void store_all(near_part_fn *fn, struct stored *s, int64_t count, unsigned streams)
{
	uint64_t bytes = (uint64_t)count * s->bytes;

	if (likely(bytes < NEAR_SPREAD))
		fn(s, 0, count);
	else
		near_share(fn, s, count, NEAR_BLOCK, streams * bytes / NEAR_STORE);
}

/* One element again and again, of the view's type; a stored bool is any byte. */
static void store_one(char *to, const struct view *v, int64_t count, const char *element)
{
	static const int64_t stays[LIMIT_NDIM];
	const int64_t *stride[1] = {v->stride};
	unsigned bytes = dtype_row(v->dtype)->bytes;
	char truth = *element != 0;
	struct near_walk walk;

	if (v->dtype == DT_BOOL)
		element = &truth;
	if (view_contiguous(v)) {
		store_all(fill_part, &(struct stored){to, element, bytes}, count, 1);
		return;
	}
	near_walk_init(&walk, &v->shape, UINT32_MAX, 1, stride);
	walk_copy(&walk.loops, stays, walk.step[0], element, to, bytes);
}

/* What needs no cast: one element, or those of a contiguous operand to a contiguous view. */
static bool store_whole(char *to, const struct view *v, int64_t count, const struct near_in *in)
{
	unsigned bytes = dtype_row(v->dtype)->bytes;

	if (v->dtype != in->dtype)
		return false;
	if (in->fixed)
		store_one(to, v, count, in->at);
	else if (!in->stride && v->dtype != DT_BOOL && view_contiguous(v))
		store_all(store_part, &(struct stored){to, in->at, bytes}, count, 2);
	else
		return false;
	return true;
}

void near_store(const struct near *n, char *to, const struct view *v, int64_t count,
		const struct near_in *in)
{
	unsigned bytes = dtype_row(v->dtype)->bytes;
	bool row = view_contiguous(v), clean = v->dtype == DT_BOOL && in->dtype == DT_BOOL;
	const int64_t *stride[2] = {in->stride ? in->stride : v->stride, v->stride};
	unsigned mode = near_enter();
	struct near_walk walk;
	int64_t at[LIMIT_NDIM];

	if (store_whole(to, v, count, in)) {
		near_leave(mode);
		return;
	}
	near_walk_init(&walk, &v->shape, UINT32_MAX, 2, stride);
	if (in->stride && v->dtype == in->dtype && !clean) {
		walk_copy(&walk.loops, walk.step[0], walk.step[1], in->at, to, bytes);
		near_leave(mode);
		return;
	}
	for (int64_t p = 0, take; p < count; p += take) {
		take = count - p < NEAR_BLOCK ? count - p : NEAR_BLOCK;
		const char *from = operand(n, 0, in, &walk, p, take);
		walk_seek(&walk.loops, p, at);
		/* A stored bool is any byte. */
		if (clean) {
			n->lib->isa->cast[DT_BOOL][DT_BOOL](n->scratch->out, from, from, from,
							    take);
			from = n->scratch->out;
		}
		if (row)
			copy_bytes(to + p * bytes, from, (size_t)take * bytes);
		else
			walk_store(&walk.loops, walk.step[1], at, to, bytes, take, from);
	}
	near_leave(mode);
}
