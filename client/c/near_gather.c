/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/near_gather.c - elements at places, of what is at hand.
 *
 * In:  an array and places that were checked but for their values.  Out: the copy, or false: it is
 * to be recorded, as where a place is wrong, which who reads the value is told. */
#include <stdlib.h>

#include "array.h"
#include "loops/take.h"
#include "near.h"
#include "places.h"
#include "points.h"
#include "profile.h"

/* As work: of an element that lies by itself, in a table that a core's caches hold and in a larger
 * one; of one of a row whose elements lie apart, and side by side; and of such a row. */
#define WORK_ELEMENT 10
#define WORK_FAR     30
#define WORK_STEP    8
#define WORK_ROW     40
#define TABLE_BYTES  (1 << 20)

/* Elements that are gathered here whatever that takes: more, which no core's cache holds, are
 * quicker used where they are made, by several cores, and by what comes next as part of it. */
#define HERE_MOST (1 << 20)

struct gathering {
	struct points points;
	struct take take;
	int64_t places, rest;  /* how many; points of take.rest */
	const int64_t *offset; /* of all places; NULL: as they are wanted */
};

/* ---- Laying out ---- */

/* Neighbours through which the array and all results step as through one are joined. */
static void add_rest(struct take *t, int64_t extent, int64_t to, int64_t from)
{
	int last = t->rest.n - 1;

	if (extent == 1)
		return;
	if (last >= 0 && t->rest_to[last] == extent * to && t->rest_from[last] == extent * from)
		extent *= t->rest.extent[last];
	else
		last = t->rest.n++;
	t->rest.extent[last] = extent;
	t->rest_to[last] = to;
	t->rest_from[last] = from;
}

/* The axes without places, by the result's strides. */
static void lay_rest(struct take *t, const struct places *p, const struct view *result)
{
	const struct view *v = &p->a->view;
	int at = places_position(p), dim = 0;

	t->rest.n = 0;
	for (int i = 0; i < v->shape.ndim; i++) {
		if (dim == at)
			dim += p->spread.ndim;
		if (places_has(p, i))
			continue;
		add_rest(t, v->shape.dim[i], result->stride[dim], v->stride[i]);
		dim++;
	}
	t->n = 1;
	t->step = t->bytes;
	/* Those that lie side by side in the result are a row. */
	if (t->rest.n && t->rest_to[t->rest.n - 1] == t->bytes) {
		t->n = t->rest.extent[--t->rest.n];
		t->step = t->rest_from[t->rest.n];
	}
	if (!t->rest.n) {
		t->rest.n = 1;
		t->rest.extent[0] = 1;
		t->rest_to[0] = t->rest_from[0] = 0;
	}
}

/* The places as loops over them; false: they do not fit each other. */
static bool read_points(struct points *l, const struct places *p)
{
	const int64_t *stride[LIMIT_NDIM];
	struct view v[LIMIT_NDIM];

	l->naxes = 0;
	for (int k = 0; k < p->n; k++) {
		const struct braze_array *x = p->index[k].array;

		if (!x)
			continue;
		if (view_broadcast(&v[l->naxes], &x->view, &p->spread, NULL))
			return false;
		stride[l->naxes] = v[l->naxes].stride;
		l->axis[l->naxes++] = (struct scatter_axis){.at = array_address(x),
							    .dtype = x->view.dtype,
							    .extent = places_extent(p, k),
							    .step = places_stride(p, k)};
	}
	points_lay(l, &p->spread, stride, NULL, NULL);
	return true;
}

/* Are all places what an element is at?  Negative ones count from the end or, by some modes, are
 * 0, which the daemon makes them; and numbers without a sign have no such. */
static bool all_right(struct points *l, int mode)
{
	for (int k = 0; k < l->naxes; k++) {
		struct scatter_axis *x = &l->axis[k];

		if (points_wrong(l, k))
			return false;
		if (x->reach >> 63 &&
		    (mode == BRAZE_CLIP || mode == BRAZE_KNOWN || x->dtype == DT_UINT64))
			return false;
	}
	return true;
}

/* ---- Gathering ---- */

/* Offsets of at most POINTS_BLOCK places from the `at`-th on, and of `most`; how many. */
static int64_t some_offsets(const struct points *l, int64_t *offset, int64_t at, int64_t most)
{
	int64_t index[LIMIT_NDIM], done, n;
	int last = l->w.n - 1;

	walk_seek(&l->w, at, index);
	n = walk_row(&l->w, index, most < POINTS_BLOCK ? most : POINTS_BLOCK);
	done = index[last];
	index[last] = 0;
	points_offsets(l, offset, index, done, n);
	return n;
}

static void some_places(void *data, int64_t lo, int64_t hi)
{
	const struct gathering *g = data;
	int64_t offset[POINTS_BLOCK];
	struct take t = g->take;

	t.to += lo * t.to_step;
	for (int64_t n; lo < hi; lo += n, t.to += n * t.to_step) {
		n = some_offsets(&g->points, offset, lo, hi - lo);
		take_some(&t, offset, n, 0, 1, 0, t.n);
	}
}

static void some_rest(void *data, int64_t lo, int64_t hi)
{
	const struct gathering *g = data;

	take_some(&g->take, g->offset, g->places, lo, hi, 0, g->take.n);
}

static void some_of_rows(void *data, int64_t lo, int64_t hi)
{
	const struct gathering *g = data;

	take_some(&g->take, g->offset, g->places, 0, 1, lo, hi);
}

/* Those of all places, in memory of their own or `few`; NULL: there is none. */
static int64_t *all_offsets(const struct gathering *g, int64_t few[POINTS_BLOCK])
{
	int64_t *offset = g->places <= POINTS_BLOCK ? few : malloc((size_t)g->places * 8);

	for (int64_t k = 0; offset && k < g->places;)
		k += some_offsets(&g->points, offset + k, k, g->places - k);
	return offset;
}

/* By threads where the result is large. */
static void share(near_part_fn *fn, struct gathering *g, int64_t n, int64_t grain, uint64_t work,
		  uint64_t bytes)
{
	if (likely(bytes < NEAR_SPREAD))
		fn(g, 0, n);
	else
		near_share(fn, g, n, grain, work);
}

/* false: no memory. */
static bool fill(struct gathering *g, uint64_t work, uint64_t bytes)
{
	int64_t few[POINTS_BLOCK], *own = NULL;
	bool strips = take_strips(&g->take);

	if (g->rest == 1 && !strips) {
		share(some_places, g, g->places, POINTS_BLOCK, work, bytes);
		return true;
	}
	own = all_offsets(g, few);
	if (!own)
		return false;
	g->offset = own;
	g->take.strip = strips ? take_strip(&g->take, own, g->places) : 0;
	if (g->rest > 1)
		share(some_rest, g, g->rest, 1, work, bytes);
	else
		share(some_of_rows, g, g->take.n, g->take.strip, work, bytes);
	if (own != few)
		free(own);
	return true;
}

/* ---- Calls ---- */

static uint64_t work_of(const struct gathering *g, const struct braze_array *a, int64_t count)
{
	if ((uint64_t)count > NEAR_MOST)
		return NEAR_NEVER;
	if (g->take.n == 1)
		return (a->buf->bytes > TABLE_BYTES ? WORK_FAR : WORK_ELEMENT) * (uint64_t)count;
	if (take_strips(&g->take))
		return WORK_STEP * (uint64_t)count;
	return NEAR_MOVED * (uint64_t)count + WORK_ROW * (uint64_t)(g->places * g->rest);
}

static bool all_at_hand(const struct places *p)
{
	if (!near_hand(p->a))
		return false;
	for (int k = 0; k < p->n; k++)
		if (p->index[k].array && !near_hand(p->index[k].array))
			return false;
	return true;
}

/* Is it to be done now?  What is not has told of its work, which the operations that are recorded
 * in its place do not again. */
static bool is_wanted(struct near *n, const struct places *p, uint64_t work, uint64_t bytes)
{
	uint32_t ntold = n->stretch.ntold;

	work = near_shared_bytes(work, bytes);
	n->stretch.parts = 0;
	if (near_spares(n, p->a, work, bytes) || near_fits(n, work, bytes))
		return true;
	/* At most a check, a product and a sum for each array of places, the sum with what negative
	 * strides add, and the last one. */
	n->stretch.parts = n->stretch.ntold != ntold ? 3u * (unsigned)p->n + 2 : 0;
	return false;
}

static bool is_here(struct near *n, int64_t count, uint64_t work, uint64_t bytes)
{
	if (count >= HERE_MOST || bytes > NEAR_MOST)
		return false;
	if (work <= NEAR_WORK && bytes <= NEAR_BYTES)
		return near_fits(n, work, bytes);
	near_grant(n, bytes);
	return true;
}

bool near_gather(struct braze_array **out, const struct places *p, const struct shape *shape,
		 int64_t count, int mode, bool here)
{
	struct braze_session *s = p->a->session;
	unsigned d = p->a->view.dtype;
	uint64_t bytes = near_bytes(d, count), work;
	struct gathering g;
	struct view result;

	if (!all_at_hand(p) || !read_points(&g.points, p) || !all_right(&g.points, mode))
		return false;
	view_init(&result, d, shape);
	g.take.bytes = dtype_row(d)->bytes;
	g.take.past = false; /* what is near is read next */
	lay_rest(&g.take, p, &result);
	g.places = points_count(&g.points);
	g.rest = 1;
	for (int i = 0; i < g.take.rest.n; i++)
		g.rest *= g.take.rest.extent[i];
	work = work_of(&g, p->a, count);
	if (!(here ? is_here(s->near, count, work, bytes) : is_wanted(s->near, p, work, bytes)))
		return near_not(s, WHY_LARGE);
	struct braze_array *r = near_array(s, (enum dtype)d, shape, count);
	if (!r)
		return near_not(s, WHY_MEMORY);
	g.take.to = (char *)r->buf->at;
	g.take.from = array_address(p->a) + p->offset - p->a->view.offset;
	g.take.to_step = 0;
	for (int i = 0, at = places_position(p); i < p->spread.ndim; i++)
		if (p->spread.dim[i] > 1) /* the innermost that there is */
			g.take.to_step = result.stride[at + i];
	if (count && !fill(&g, work, bytes)) {
		array_release(r);
		return near_not(s, WHY_MEMORY);
	}
	if (d == DT_BOOL)
		take_truths((char *)r->buf->at, count);
	count_near(s);
	*out = r;
	return true;
}
