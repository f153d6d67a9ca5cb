/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/gather.c - elements at places that arrays name.
 *
 * In:  an array, and for some of its axes places, arrays or numbers.  Out: a pending
 * copy.  However many axes have places, one TAKE is recorded: the axes become one,
 * whose step divides the steps of all, and a place on it is a sum of products
 * computed by ordinary operations (which fuse).  TAKE's source has that axis last;
 * its other axes and the places' broadcast to the result. */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "careful.h"
#include "lock.h"
#include "near.h"
#include "places.h"

/* How the places of one call are combined. */
struct gather {
	struct braze_session *s;
	struct places p;
	int mode;
	int64_t step, extent, first; /* p.offset: with what negative strides add */
	struct braze_array *place;   /* on the one axis */
};

static int64_t extent_of(const struct gather *g, int k)
{
	return places_extent(&g->p, k);
}

static int64_t stride_of(const struct gather *g, int k)
{
	return places_stride(&g->p, k);
}

/* ---- Recording ---- */

static enum status record_index(struct braze_array **out, struct braze_session *s,
				struct braze_array *a, int64_t size, int axis, struct err *err)
{
	const braze_scalar limit = {.dtype = DT_INT64, .bits = {(uint64_t)size}};
	enum status st = array_usable(s, err);

	if (!st)
		st = record_use(a, err);
	if (!st)
		st = record_room(s, 2, 2, err);
	if (!st)
		st = array_create(out, s, DT_INT64, &a->view.shape, err);
	if (st)
		return st;
	if (s->near)
		near_never(*out, OP_INDEX, (*out)->count);
	record_op(s, OP_INDEX, (unsigned)axis, (*out)->id, 2, 2);
	record_in(s, a->id);
	record_scalar(s, &limit);
	record_imm(s, s->site);
	return OK;
}

static enum status record_take(struct braze_array **out, struct braze_array *source,
			       struct braze_array *place, const struct shape *shape,
			       struct err *err)
{
	struct braze_session *s = source->session;
	enum status st = array_usable(s, err);

	if (!st)
		st = record_use_two(source, place, err);
	if (!st)
		st = record_room(s, 2, 0, err);
	if (!st)
		st = array_create(out, s, (enum dtype)source->view.dtype, shape, err);
	if (st)
		return st;
	if (s->near)
		near_never(*out, OP_TAKE, (*out)->count);
	record_op(s, OP_TAKE, DTYPE_NONE, (*out)->id, 2, 0);
	record_in(s, source->id);
	record_in(s, place->id);
	return OK;
}

/* ---- Places of one axis ---- */

/* op(place, number). */
static int with_number(braze_array **out, int op, braze_array *place, int64_t number,
		       braze_error *err)
{
	const braze_arg arg[2] = {{.array = place}, {.scalar = braze_int(number)}};

	return braze_apply(out, place->session, op, 2, arg, err);
}

static int checked(braze_array **out, braze_array *a, int64_t size, int axis, braze_error *err)
{
	struct braze_session *s = a->session;

	lock_take(s);
	int st = (int)record_index(out, s, a, size, axis, err_of(err));
	if (careful_asks(s, st, *out, a->count)) {
		const braze_arg arg = {.array = a};
		const struct recorded r = {.op = OP_INDEX, .n = 1, .arg = &arg};
		st = careful_recorded(out, &r, err_of(err));
	}
	lock_give(s);
	return st;
}

static int limited(braze_array **out, braze_array *a, int64_t size, int mode, braze_error *err)
{
	const braze_arg arg[3] = {
		{.array = a}, {.scalar = braze_int(0)}, {.scalar = braze_int(size - 1)}};

	if (mode == BRAZE_WRAP)
		return with_number(out, OP_REMAINDER, a, size, err);
	return braze_apply(out, a->session, OP_CLIP, 3, arg, err);
}

/* The places of axis k as int64, in 0 .. extent - 1 by the mode. */
static int normal(braze_array **out, const struct gather *g, int k, braze_error *err)
{
	braze_array *a = g->p.index[k].array, *wide = NULL;
	int st;

	if (g->mode == BRAZE_RAISE)
		return checked(out, a, extent_of(g, k), g->p.names[k], err);
	if (a->view.dtype == DT_INT64)
		braze_retain(wide = a);
	else if ((st = braze_cast(&wide, a, DT_INT64, err)))
		return st;
	if (g->mode == BRAZE_KNOWN) {
		*out = wide;
		return 0;
	}
	st = limited(out, wide, extent_of(g, k), g->mode, err);
	braze_release(wide);
	return st;
}

/* ---- All axes ---- */

static int64_t gcd(int64_t a, int64_t b)
{
	while (b) {
		int64_t t = a % b;

		a = b;
		b = t;
	}
	return a;
}

/* The one axis: its step, its extent, and the place on it where every array's is 0. */
static enum status join_axes(struct gather *g, struct err *err)
{
	bool empty = false;
	int64_t count = 0;

	for (int k = 0; k < g->p.n; k++) {
		if (!g->p.index[k].array)
			continue;
		empty |= !extent_of(g, k);
		g->step = gcd(g->step, llabs(stride_of(g, k)));
	}
	enum status st = shape_count(&count, &g->p.spread, 1, err);
	if (!st && count && empty)
		return err_set(err, E_INDEX, "cannot do a non-empty take from an empty axes.");
	if (!g->step || st || empty) {
		g->step = dtype_row(g->p.a->view.dtype)->bytes;
		g->extent = empty ? 0 : 1;
		return st;
	}
	g->extent = 1;
	for (int k = 0; k < g->p.n; k++) {
		int64_t s = stride_of(g, k) / g->step, last = extent_of(g, k) - 1;

		if (!g->p.index[k].array)
			continue;
		g->extent += llabs(s) * last;
		if (s < 0) {
			g->first -= s * last;
			g->p.offset += stride_of(g, k) * last;
		}
	}
	return OK;
}

/* *sum += x * weight; takes x. */
static int add_places(braze_array **sum, braze_array *x, int64_t weight, braze_error *err)
{
	braze_array *part = NULL, *next = NULL;
	int st = 0;

	if (weight == 1)
		braze_retain(part = x);
	else
		st = with_number(&part, OP_MULTIPLY, x, weight, err);
	braze_release(x);
	if (st)
		return st;
	if (!*sum) {
		*sum = part;
		return 0;
	}
	st = braze_binary(&next, OP_ADD, *sum, part, err);
	braze_release(part);
	if (st)
		return st;
	braze_release(*sum);
	*sum = next;
	return 0;
}

/* Places on the one axis; of no elements where the arrays are. */
static int join_places(struct gather *g, braze_error *err)
{
	braze_array *first = NULL;

	for (int k = 0; k < g->p.n; k++) {
		braze_array *x = NULL;
		int st;

		if (!g->p.index[k].array)
			continue;
		if (!extent_of(g, k)) /* nothing is taken: any place will do */
			st = braze_cast(&x, g->p.index[k].array, DT_INT64, err);
		else
			st = normal(&x, g, k, err);
		if (!st)
			st = add_places(&g->place, x, g->extent > 1 ? stride_of(g, k) / g->step : 1,
					err);
		if (st)
			return st;
	}
	if (!g->first)
		return 0;
	int st = with_number(&first, OP_ADD, g->place, g->first, err);
	if (st)
		return st;
	braze_release(g->place);
	g->place = first;
	return 0;
}

static void push(struct view *v, int64_t extent, int64_t stride)
{
	v->shape.dim[v->shape.ndim] = extent;
	v->stride[v->shape.ndim++] = stride;
}

/* The result's axes from `from` on that are a's own, up to axis `to`. */
static void push_axes(struct view *v, const struct gather *g, int from, int to)
{
	for (int i = from; i < to; i++)
		if (!places_has(&g->p, i))
			push(v, g->p.a->view.shape.dim[i], g->p.a->view.stride[i]);
}

/* TAKE from `source` by `place`. */
static int take(braze_array **out, braze_array *source, braze_array *place,
		const struct shape *shape, braze_error *err)
{
	struct braze_session *s = source->session;

	lock_take(s);
	int st = (int)record_take(out, source, place, shape, err_of(err));
	if (careful_asks(s, st, *out, source->count)) {
		const braze_arg arg[2] = {{.array = source}, {.array = place}};
		const struct recorded r = {.op = OP_TAKE, .n = 2, .arg = arg};
		st = careful_recorded(out, &r, err_of(err));
	}
	lock_give(s);
	return st;
}

/* A view of a with v's axes and offset. */
static int viewed(braze_array **out, braze_array *a, const struct view *v, braze_error *err)
{
	return braze_view(out, a, a->view.dtype, v->shape.ndim, v->shape.dim, v->stride, v->offset,
			  err);
}

/* Everything is known: lay out source and places, record. */
static int lay_out(braze_array **out, struct gather *g, braze_error *err)
{
	int at = places_position(&g->p), ndim = g->p.a->view.shape.ndim, after = 0, st;
	struct view v = {.offset = g->p.offset}, p = {.offset = g->place->view.offset};
	braze_array *source = NULL, *place = NULL;
	struct shape shape = {0};

	push_axes(&v, g, 0, at);
	memcpy(shape.dim, v.shape.dim, v.shape.ndim * sizeof(int64_t));
	shape.ndim = v.shape.ndim;
	for (int i = 0; i < g->p.spread.ndim; i++) {
		shape.dim[shape.ndim++] = g->p.spread.dim[i];
		push(&p, g->p.spread.dim[i], g->place->view.stride[i]);
		if (at) /* leading axes need not be named */
			push(&v, 1, 0);
	}
	for (int i = at; i < ndim; i++)
		after += !places_has(&g->p, i);
	push_axes(&v, g, at, ndim);
	for (int i = 0; i < after; i++) {
		shape.dim[shape.ndim + i] = v.shape.dim[v.shape.ndim - after + i];
		push(&p, 1, 0);
	}
	shape.ndim = (uint8_t)(shape.ndim + after);
	push(&v, g->extent, g->step);
	st = viewed(&source, g->p.a, &v, err);
	if (!st)
		st = viewed(&place, g->place, &p, err);
	if (!st)
		st = take(out, source, place, &shape, err);
	braze_release(source);
	braze_release(place);
	return st;
}

/* Operands of what is small are worth a wait (near_settle); recorder lock held. */
static enum status settle(const struct gather *g, int64_t count, struct err *err)
{
	struct braze_array *all[LIMIT_NDIM + 1] = {g->p.a};
	uint32_t flags = g->p.a->buf->flags;
	int n = 1;

	for (int k = 0; k < g->p.n; k++)
		if (g->p.index[k].array) {
			all[n++] = g->p.index[k].array;
			flags |= g->p.index[k].array->buf->flags;
		}
	if (likely(!near_unsettled(g->s, flags)))
		return OK;
	return near_settle(g->s, OP_CAST, g->p.a->view.dtype, count, n, all, err);
}

/* *out: NULL where it is not to be done in this call. */
static enum status at_once(braze_array **out, const struct gather *g, bool here, struct err *err)
{
	struct shape shape;
	int64_t count = 0;

	*out = NULL;
	places_shape(&shape, &g->p);
	enum status st = shape_count(&count, &shape, dtype_row(g->p.a->view.dtype)->bytes, err);
	if (st)
		return st;
	lock_take(g->s);
	st = array_usable(g->s, err);
	if (!st && !here)
		st = settle(g, count, err);
	if (!st && g->s->near)
		(void)near_gather(out, &g->p, &shape, count, g->mode, here);
	lock_give(g->s);
	return st;
}

/* What near_gather told of it was of these operations, and of none that follow. */
static int record(braze_array **out, struct gather *g, braze_error *err)
{
	enum status st = join_axes(g, err_of(err));
	int rc = st ? (int)st : join_places(g, err);

	if (!rc)
		rc = lay_out(out, g, err);
	braze_release(g->place);
	lock_take(g->s);
	if (g->s->near)
		g->s->near->stretch.parts = 0;
	lock_give(g->s);
	return rc;
}

int braze_gather(braze_array **out, braze_array *a, int n, const int *axes, const int *names,
		 const braze_arg *index, int mode, braze_error *error)
{
	bool any = false, here = mode == BRAZE_AT_HAND;
	struct gather g = {.s = a->session,
			   .p = {.a = a,
				 .n = n,
				 .axes = axes,
				 .names = names ? names : axes,
				 .index = index,
				 .offset = a->view.offset},
			   .mode = here ? BRAZE_RAISE : mode};
	struct err *err = err_of(error);

	if (n < 1 || n > LIMIT_NDIM || g.mode < BRAZE_RAISE || g.mode > BRAZE_KNOWN)
		return (int)err_set(err, E_INVALID, "places for %d axes, mode %d", n, mode);
	for (int k = 0; k < n; k++) {
		enum status bad = places_check(&g.p, k, g.mode, err);

		if (bad)
			return (int)bad;
		any |= index[k].array != NULL;
	}
	if (!any)
		return (int)err_set(err, E_INVALID, "no axis has an array of places");
	/* The source has the one axis besides. */
	if (a->view.shape.ndim - n + g.p.spread.ndim >= LIMIT_NDIM)
		return (int)err_set(err, E_LIMIT, "taking into %d dimensions; at most %d",
				    a->view.shape.ndim - n + g.p.spread.ndim, LIMIT_NDIM - 1);
	int st = (int)at_once(out, &g, here, err);
	return st || *out || here ? st : record(out, &g, error);
}

int braze_take(braze_array **out, braze_array *a, braze_array *places, int axis, int mode,
	       braze_error *err)
{
	const braze_arg index = {.array = places};

	axis += axis < 0 ? a->view.shape.ndim : 0;
	return braze_gather(out, a, 1, &axis, NULL, &index, mode, err);
}

int braze_take_along(braze_array **out, braze_array *a, braze_array *places, int axis, int mode,
		     braze_error *error)
{
	const braze_arg index = {.array = places};
	struct err *err = err_of(error);
	struct view v = a->view;
	int last = v.shape.ndim;
	braze_array *source = NULL;

	axis += axis < 0 ? last : 0;
	struct gather g = {.s = a->session,
			   .p = {.a = a, .n = 1, .axes = &axis, .names = &axis, .index = &index},
			   .mode = mode};

	if (mode < BRAZE_RAISE || mode > BRAZE_KNOWN)
		return (int)err_set(err, E_INVALID, "mode %d", mode);
	int st = (int)places_check(&g.p, 0, mode, err);
	if (!st && (last >= LIMIT_NDIM || places->view.shape.ndim != last))
		st = (int)err_set(err, E_LIMIT,
				  "places of %d dimensions in an array of %d; both have the same "
				  "number, below %d",
				  places->view.shape.ndim, last, LIMIT_NDIM);
	if (!st)
		st = (int)join_axes(&g, err);
	if (st)
		return st;
	v.offset += g.p.offset;
	v.shape.dim[axis] = 1;
	v.stride[axis] = 0;
	struct shape shape = v.shape;
	push(&v, g.extent, g.step);
	st = (int)shape_broadcast(&shape, &places->view.shape, err);
	if (!st)
		st = join_places(&g, error);
	if (!st)
		st = viewed(&source, a, &v, error);
	if (!st)
		st = take(out, source, g.place, &shape, error);
	braze_release(source);
	braze_release(g.place);
	return st;
}

void braze_set_site(braze_session *s, uint32_t site)
{
	lock_take(s);
	s->site = site;
	lock_give(s);
}
