/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/scatter.c - a[..., places, ...] = values, or a = op(a, values) one place after the
 * other, by this process.
 *
 * In: an array, and for some of its axes places, arrays or numbers.  Everything is waited for, in
 * one demand; then the array is fenced, all places are checked, and only then is it written, where
 * it lies.  The order is that of C: of equal places the last value stays, and sums are made in the
 * order in which their terms stand. */
#include "scatter.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "copy.h"
#include "future.h"
#include "lock.h"
#include "loops/walk.h"
#include "near.h"
#include "places.h"
#include "points.h"

#define BLOCK POINTS_BLOCK

/* Loops over axes, with the steps of what is written and of what is read. */
struct loops {
	struct walk w;
	int64_t to[LIMIT_NDIM], from[LIMIT_NDIM];
};

/* An operand where it lies, or in memory of its own. */
struct input {
	const char *at;
	int64_t stride[LIMIT_NDIM];
	void *own;
};

struct scatter {
	struct places p;
	braze_array *value; /* NULL: a number, in raw */
	uint64_t raw[2];
	scatter_fn *fn;
	bool store;
	unsigned bytes;
	struct shape shape; /* of the values: as a gather's result */
	int64_t count;	    /* of values */
	/* Once all is there. */
	char *to;
	struct input from, in[LIMIT_NDIM];
	struct points points;
	int64_t along[LIMIT_NDIM]; /* the values' steps through them */
	/* Axes without places around and inside the loops over places. */
	struct loops outer, inner;
	bool wide;	  /* the array may be in no near cache */
	bool single;	  /* an element at each place */
	size_t row_bytes; /* or a row, side by side in both arrays; 0: it is more than that */
};

/* ---- What is asked for ---- */

static enum status shape_of(struct scatter *sc, struct err *err)
{
	const struct shape *a = &sc->p.a->view.shape, *spread = &sc->p.spread;

	if (a->ndim - sc->p.n + spread->ndim > LIMIT_NDIM)
		return err_set(err, E_LIMIT, "writing %d dimensions; at most %d",
			       a->ndim - sc->p.n + spread->ndim, LIMIT_NDIM);
	places_shape(&sc->shape, &sc->p);
	return shape_count(&sc->count, &sc->shape, sc->bytes, err);
}

/* Do elements of a share memory?  True also where that is not known. */
static bool overlapping(const struct braze_array *a)
{
	int64_t lo, hi;

	if (a->contiguous || !a->count)
		return false;
	for (int i = 0; i < a->view.shape.ndim; i++)
		if (!a->view.stride[i] && a->view.shape.dim[i] > 1)
			return true;
	return view_range(&lo, &hi, &a->view, NULL) ||
	       hi - lo < a->count * dtype_row(a->view.dtype)->bytes;
}

static enum status check_call(struct scatter *sc, int op, struct err *err)
{
	const struct braze_array *a = sc->p.a;
	unsigned d = a->view.dtype;
	bool any = false;

	if (sc->p.n < 1 || sc->p.n > LIMIT_NDIM)
		return err_set(err, E_INVALID, "places for %d axes", sc->p.n);
	sc->store = op == BRAZE_STORE;
	sc->bytes = dtype_row(d)->bytes;
	sc->fn = sc->store ? scatter_store(sc->bytes) : scatter_combine((enum op)op, d);
	if (!sc->fn)
		return err_set(err, E_DTYPE, "'%s' is not done at places of %s",
			       op_row((unsigned)op) ? op_row((unsigned)op)->id : "no operation",
			       dtype_row(d)->name);
	if (overlapping(a))
		return err_set(err, E_INVALID, "the elements that are written share memory");
	for (int k = 0; k < sc->p.n; k++) {
		enum status st = places_check(&sc->p, k, BRAZE_RAISE, err);

		if (st)
			return st;
		any |= sc->p.index[k].array != NULL;
	}
	if (!any)
		return err_set(err, E_INVALID, "no axis has an array of places");
	return shape_of(sc, err);
}

/* The values, in a's type. */
static int set_value(struct scatter *sc, const braze_arg *value, braze_error *err)
{
	struct braze_array *a = sc->p.a, *v = value->array;
	struct near_in number;
	struct view stretched;
	int rc = 0;

	if (!v && (value->scalar.dtype < 0 || !dtype_row((unsigned)value->scalar.dtype)))
		return (int)err_set(err_of(err), E_DTYPE, "%d is not the number of an element type",
				    value->scalar.dtype);
	if (!v) {
		near_set_number(&number, sc->raw, &value->scalar, a->view.dtype);
		return 0;
	}
	if (v->session != a->session)
		return (int)err_set(err_of(err), E_INVALID, "the values belong to another session");
	rc = (int)view_broadcast(&stretched, &v->view, &sc->shape, err_of(err));
	if (rc)
		return rc;
	if (v->view.dtype != a->view.dtype)
		return braze_cast(&sc->value, v, (int)a->view.dtype, err);
	braze_retain(sc->value = v);
	return 0;
}

/* ---- Waiting ---- */

/* All that is read, and what is written; the number of arrays. */
static int operands(struct braze_array **all, const struct scatter *sc)
{
	int n = 0;

	all[n++] = sc->p.a;
	if (sc->value)
		all[n++] = sc->value;
	for (int k = 0; k < sc->p.n; k++)
		if (sc->p.index[k].array)
			all[n++] = sc->p.index[k].array;
	return n;
}

int scatter_wait(int n, struct braze_array *const *all, braze_check_fn *check, void *data,
		 braze_error *err)
{
	struct braze_array *ask[SCATTER_WAITS];
	braze_future *f = NULL;
	int count = 0, rc;

	for (int k = 0; k < n; k++)
		if (!braze_is_stored(all[k]))
			ask[count++] = all[k];
	if (!count)
		return 0;
	rc = braze_demand(&f, count, ask, err);
	if (!rc) {
		rc = braze_wait(f, -1, check, data, err);
		braze_future_release(f);
	}
	return rc;
}

/* Is all there still, and a to be written?  Recorder lock held. */
static bool is_ready(const struct scatter *sc)
{
	struct braze_array *all[SCATTER_WAITS];
	int n = operands(all, sc);

	for (int k = 1; k < n; k++)
		if (!near_hand(all[k]))
			return false;
	return all[0]->buf->flags & (BUF_HOST | BUF_NEAR);
}

/* ---- Laying out ---- */

static void add_axis(struct loops *l, int64_t extent, int64_t to, int64_t from)
{
	int last = l->w.n - 1;

	if (extent == 1)
		return;
	if (last >= 0 && l->to[last] == extent * to && l->from[last] == extent * from) {
		l->w.extent[last] *= extent;
		l->to[last] = to;
		l->from[last] = from;
		return;
	}
	l->to[l->w.n] = to;
	l->from[l->w.n] = from;
	l->w.extent[l->w.n++] = extent;
}

/* A loop in any case. */
static void close_loops(struct loops *l)
{
	if (l->w.n)
		return;
	l->w.n = 1;
	l->w.extent[0] = 1;
	l->to[0] = l->from[0] = 0;
}

static int64_t count_of(const struct loops *l)
{
	int64_t n = 1;

	for (int i = 0; i < l->w.n; i++)
		n *= l->w.extent[i];
	return n;
}

/* The operand, stretched to a shape; of what is written a copy. */
static enum status read_input(struct input *in, struct braze_array *x, const struct scatter *sc,
			      const struct shape *shape, struct err *err)
{
	struct view v, own = x->view;
	enum status st = OK;

	in->at = array_address(x);
	if (x->buf == sc->p.a->buf && x->count) {
		int64_t stride = dtype_row(own.dtype)->bytes;

		in->own = malloc((size_t)x->count * dtype_row(own.dtype)->bytes);
		if (!in->own)
			return err_set(err, E_NOMEM, "no memory for a copy of %lld elements",
				       (long long)x->count);
		copy_gather(in->own, &own.shape, own.stride, in->at, dtype_row(own.dtype)->bytes);
		in->at = in->own;
		for (int i = own.shape.ndim - 1; i >= 0; i--) {
			own.stride[i] = stride;
			stride *= own.shape.dim[i];
		}
	}
	st = view_broadcast(&v, &own, shape, err);
	if (!st)
		memcpy(in->stride, v.stride, sizeof in->stride);
	return st;
}

/* Axes whose elements lie further from each other than those of places go around the loops over
 * these, if there are enough places for that. */
static void add_rest(struct scatter *sc, int at)
{
	const struct view *v = &sc->p.a->view;
	bool many = points_count(&sc->points) >= 16;
	int64_t widest = 0;
	int dim = 0;

	for (int k = 0; k < sc->points.naxes; k++)
		if (llabs(sc->points.axis[k].step) > widest)
			widest = llabs(sc->points.axis[k].step);
	for (int i = 0; i < v->shape.ndim; i++) {
		if (dim == at)
			dim += sc->p.spread.ndim;
		if (places_has(&sc->p, i))
			continue;
		add_axis(many && llabs(v->stride[i]) > widest ? &sc->outer : &sc->inner,
			 v->shape.dim[i], v->stride[i], sc->from.stride[dim++]);
	}
	close_loops(&sc->outer);
	close_loops(&sc->inner);
}

static void choose_way(struct scatter *sc)
{
	const struct loops *l = &sc->inner;

	sc->single = count_of(l) == 1;
	sc->row_bytes = 0;
	if (sc->store && l->w.n == 1 && l->to[0] == sc->bytes && l->from[0] == sc->bytes)
		sc->row_bytes = (size_t)l->w.extent[0] * sc->bytes;
}

static enum status lay_out(struct scatter *sc, struct err *err)
{
	const int64_t *stride[LIMIT_NDIM];
	int at = places_position(&sc->p), n = 0;
	enum status st = OK;

	sc->to = array_address(sc->p.a) + sc->p.offset - sc->p.a->view.offset;
	for (int k = 0; k < sc->p.n && !st; k++) {
		struct braze_array *x = sc->p.index[k].array;

		if (!x)
			continue;
		st = read_input(&sc->in[n], x, sc, &sc->p.spread, err);
		sc->points.axis[n] = (struct scatter_axis){.at = sc->in[n].at,
							   .dtype = x->view.dtype,
							   .extent = places_extent(&sc->p, k),
							   .step = places_stride(&sc->p, k)};
		stride[n] = sc->in[n].stride;
		n++;
	}
	sc->points.naxes = n;
	if (!st && sc->value)
		st = read_input(&sc->from, sc->value, sc, &sc->shape, err);
	else if (!st)
		sc->from.at = (const char *)sc->raw;
	if (st)
		return st;
	points_lay(&sc->points, &sc->p.spread, stride, sc->from.stride + at, sc->along);
	add_rest(sc, at);
	choose_way(sc);
	return OK;
}

/* ---- Places ---- */

/* Do places lie further from each other than a core's cache is wide? */
static bool is_wide(const struct scatter *sc)
{
	for (int k = 0; k < sc->points.naxes; k++) {
		const struct scatter_axis *x = &sc->points.axis[k];
		uint64_t most = (uint64_t)x->extent - 1;

		most = x->reach < most ? x->reach : most;
		if (most > SCATTER_WIDE / (uint64_t)llabs(x->step ? x->step : 1))
			return true;
	}
	return false;
}

static enum status check_all_places(struct scatter *sc, struct err *err)
{
	int k = 0;

	for (int axis = 0; axis < sc->p.n; axis++) {
		if (!sc->p.index[axis].array)
			continue;
		const struct scatter_axis *x = &sc->points.axis[k];
		const char *wrong = points_wrong(&sc->points, k++);
		if (wrong)
			return err_set(err, E_INDEX,
				       "index %lld is out of bounds for axis %d with size %lld",
				       (long long)scatter_place(x->dtype, wrong), sc->p.names[axis],
				       (long long)x->extent);
	}
	sc->wide = is_wide(sc);
	return OK;
}

/* ---- Writing ---- */

/* One row of the inner loops' innermost, at `to`; inner: where a row's elements are. */
static void write_row(const struct scatter *sc, char *to, const char *from,
		      const struct scatter_at *inner)
{
	int last = sc->inner.w.n - 1;
	int64_t n = sc->inner.w.extent[last], step = sc->inner.from[last];

	if (sc->store && sc->inner.to[last] == sc->bytes && step == sc->bytes) {
		memcpy(to, from, (size_t)n * sc->bytes);
		return;
	}
	for (int64_t done = 0; done < n; done += BLOCK)
		sc->fn(to + done * sc->inner.to[last], inner, from + done * step, step,
		       n - done < BLOCK ? n - done : BLOCK);
}

/* All that lies at one place. */
static void write_place(const struct scatter *sc, char *to, const char *from,
			const struct scatter_at *inner)
{
	const struct loops *l = &sc->inner;
	int64_t index[LIMIT_NDIM] = {0}, rows = 1;

	for (int i = 0; i < l->w.n - 1; i++)
		rows *= l->w.extent[i];
	for (; rows > 0; rows--) {
		write_row(sc, to + walk_offset(&l->w, l->to, index),
			  from + walk_offset(&l->w, l->from, index), inner);
		walk_next_row(&l->w, index);
	}
}

static void row_offsets(const struct scatter *sc, int64_t *offset)
{
	int last = sc->inner.w.n - 1;

	for (int64_t k = 0; k < BLOCK && k < sc->inner.w.extent[last]; k++)
		offset[k] = k * sc->inner.to[last];
}

/* Rows of elements side by side in both arrays, in the usual sizes without a call. */
static void copy_rows(char *to, const struct scatter_at *at, const char *from, int64_t step,
		      int64_t n, size_t bytes)
{
	switch (bytes) {
	case 16:
		scatter_store(16)(to, at, from, step, n);
		break;
	case 32:
		for (int64_t k = 0; k < n; k++)
			memcpy(to + at->place[k] * at->unit, from + k * step, 32);
		break;
	default:
		for (int64_t k = 0; k < n; k++)
			memcpy(to + at->place[k] * at->unit, from + k * step, bytes);
	}
}

/* What lies at n places: elements, or some rows at a time. */
static void write_some(const struct scatter *sc, char *to, struct scatter_at at, const char *from,
		       const struct scatter_at *inner, int64_t n)
{
	int64_t step = sc->along[sc->points.w.n - 1];

	if (sc->single) {
		sc->fn(to, &at, from, step, n);
		return;
	}
	for (int64_t some; n > 0; n -= some, at.place += some, from += some * step) {
		some = n < SCATTER_AHEAD ? n : SCATTER_AHEAD;
		if (sc->wide)
			scatter_prefetch(to, &at, some);
		if (sc->row_bytes)
			copy_rows(to, &at, from, step, some, sc->row_bytes);
		else
			for (int64_t k = 0; k < some; k++)
				write_place(sc, to + at.place[k] * at.unit, from + k * step, inner);
	}
}

/* The places themselves, of a row that begins at `index`, if they lie as the loops read them:
 * numbers from 0 on, of 8 bytes, side by side; NULL: they do not. */
static const int64_t *plain_places(const struct points *l, const int64_t *index)
{
	const struct scatter_axis *x = &l->axis[0];
	const char *at = x->at;

	if (l->naxes > 1 || (x->dtype != DT_INT64 && x->dtype != DT_UINT64) || x->reach >> 63 ||
	    l->step[0][l->w.n - 1] != (int64_t)sizeof(int64_t))
		return NULL;
	at += walk_offset(&l->w, l->step[0], index);
	return (uintptr_t)at % _Alignof(int64_t) ? NULL : (const void *)at;
}

/* One row of places; known: the offsets are those of the last call. */
static void write_places(const struct scatter *sc, char *to, const char *from, const int64_t *index,
			 const struct scatter_at *inner, int64_t *offset, bool known)
{
	const struct points *l = &sc->points;
	int last = l->w.n - 1;
	int64_t n = l->w.extent[last];
	struct scatter_at at = {plain_places(l, index), l->axis[0].step, sc->wide};

	from += walk_offset(&l->w, sc->along, index);
	if (at.place) {
		write_some(sc, to, at, from, inner, n);
		return;
	}
	at = (struct scatter_at){offset, 1, sc->wide};
	for (int64_t done = 0, now; done < n; done += now, from += now * sc->along[last]) {
		now = n - done < BLOCK ? n - done : BLOCK;
		if (!known)
			points_offsets(l, offset, index, done, now);
		write_some(sc, to, at, from, inner, now);
	}
}

static void write_all(const struct scatter *sc)
{
	int64_t offset[BLOCK], elements[BLOCK], at[LIMIT_NDIM] = {0};
	const struct scatter_at inner = {elements, 1, false};
	const struct loops *o = &sc->outer;
	const struct points *l = &sc->points;
	int64_t row = l->w.extent[l->w.n - 1], rows = points_count(l) / row, times = count_of(o);
	bool known = false, once = rows == 1 && row <= BLOCK;

	row_offsets(sc, elements);
	for (int64_t k = 0; k < times; k++) {
		int64_t index[LIMIT_NDIM] = {0};
		char *to = sc->to;
		const char *from = sc->from.at;

		walk_seek(&o->w, k, at);
		to += walk_offset(&o->w, o->to, at);
		from += walk_offset(&o->w, o->from, at);
		for (int64_t r = 0; r < rows; r++) {
			write_places(sc, to, from, index, &inner, offset, known);
			walk_next_row(&l->w, index);
		}
		known = once;
	}
}

/* ---- Calls ---- */

/* The processor as it is after a program's start, and its flags. */
#define CSR_START    0x1f80u
#define CSR_INVALID  0x01u
#define CSR_OVERFLOW 0x08u

/* The flags tell the errors, since no loop here computes anything but the elements. */
static unsigned write_and_tell(const struct scatter *sc)
{
	unsigned mode = __builtin_ia32_stmxcsr(), raised = 0;

	__builtin_ia32_ldmxcsr(CSR_START);
	write_all(sc);
	raised = __builtin_ia32_stmxcsr();
	__builtin_ia32_ldmxcsr(mode);
	return (raised & CSR_OVERFLOW ? BRAZE_OVERFLOW : 0) |
	       (raised & CSR_INVALID ? BRAZE_INVALID : 0);
}

/* All is there.  Recorder lock held. */
static enum status run(struct scatter *sc, struct err *err)
{
	struct braze_session *s = sc->p.a->session;
	enum status st = OK;

	s->scattered = 0;
	if (sc->count) {
		st = lay_out(sc, err);
		if (!st)
			st = check_all_places(sc, err);
		if (!st && sc->store)
			write_all(sc);
		else if (!st)
			s->scattered = write_and_tell(sc);
	}
	for (int k = 0; k < LIMIT_NDIM; k++)
		free(sc->in[k].own);
	free(sc->from.own);
	return st;
}

static int wait_and_run(struct scatter *sc, braze_check_fn *check, void *data, braze_error *err)
{
	struct braze_session *s = sc->p.a->session;
	struct braze_array *all[SCATTER_WAITS];
	int n = operands(all, sc);
	bool done = false;
	int rc = 0;

	while (!done && !rc) {
		void *at = NULL;

		rc = scatter_wait(n, all, check, data, err);
		if (!rc)
			rc = braze_fence(&at, sc->p.a, check, data, err);
		if (rc)
			break;
		lock_take(s);
		done = is_ready(sc); /* else another thread was in between */
		if (done)
			rc = (int)run(sc, err_of(err));
		lock_give(s);
	}
	return rc;
}

int braze_scatter(braze_array *a, int op, int n, const int *axes, const int *names,
		  const braze_arg *index, braze_arg value, braze_check_fn *check, void *data,
		  braze_error *err)
{
	struct scatter sc = {.p = {.a = a,
				   .n = n,
				   .axes = axes,
				   .names = names ? names : axes,
				   .index = index,
				   .offset = a->view.offset}};
	struct braze_array *all[SCATTER_WAITS];
	int rc = (int)check_call(&sc, op, err_of(err)), count;

	if (!rc)
		rc = set_value(&sc, &value, err);
	if (rc)
		return rc;
	/* Whoever holds them may let go while this waits. */
	count = operands(all, &sc);
	for (int k = 0; k < count; k++)
		braze_retain(all[k]);
	rc = wait_and_run(&sc, check, data, err);
	for (int k = 0; k < count; k++)
		braze_release(all[k]);
	braze_release(sc.value);
	return rc;
}

unsigned braze_scatter_errors(braze_session *s)
{
	lock_take(s);
	unsigned errors = s->scattered;
	lock_give(s);
	return errors;
}
