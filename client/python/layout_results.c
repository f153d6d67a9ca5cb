/* SPDX-License-Identifier: Apache-2.0 */
/* layout_results.c - results whose axes lie in memory as NumPy's do.
 *
 * NumPy allocates most results by its operands' strides: what is made of a transposed array is
 * transposed.  That shows in strides and flags, and in what reshape answers: a view, or a copy.
 * Each function here looks for the order first; where it is C's, which is nearly always, the call
 * goes on as it came.  Else the operands' axes are permuted, so that the daemon's C-contiguous
 * result has them in that order, and the result's are permuted back. */
#include "core.h"

#include <stdlib.h>

/* Strides of some operands over the same axes; 0 where an operand does not tell an axis' place. */
struct walk {
	int ndim, nop;
	int64_t (*step)[BRAZE_MAX_NDIM];
};

/* Does axis a lie outside of axis b?  1 yes, 0 no (where operands differ C order wins),
 * -1 no operand tells. */
static int outside(const struct walk *w, int a, int b)
{
	int r = -1;

	for (int i = 0; i < w->nop; i++) {
		int64_t x = w->step[i][a], y = w->step[i][b];

		if (!x || !y)
			continue;
		if (y <= x)
			return 1;
		r = 0;
	}
	return r;
}

static bool is_permuted(const int *axes, int n)
{
	for (int i = 0; i < n; i++)
		if (axes[i] != i)
			return true;
	return false;
}

/* The order of axes, the outermost first, by the insertion sort that NumPy's iterator does from
 * the last axis to the first; false: C order. */
static bool walk_layout(int *axes, const struct walk *w)
{
	int n = w->ndim;

	for (int i = n - 1; i >= 0; i--) {
		int to = i;

		axes[i] = i;
		for (int k = i + 1; k < n; k++) {
			int r = outside(w, i, axes[k]);

			if (r == 1)
				break;
			if (r == 0)
				to = k;
		}
		for (int k = i; k < to; k++)
			axes[k] = axes[k + 1];
		axes[to] = i;
	}
	return is_permuted(axes, n);
}

/* Adds an operand whose last axes are the walk's. */
static void walk_add(struct walk *w, braze_array *h)
{
	int64_t *step = w->step[w->nop++];
	int lead = w->ndim - braze_ndim(h);

	for (int k = 0; k < w->ndim; k++)
		step[k] = k < lead || braze_shape(h)[k - lead] == 1
				  ? 0
				  : layout_magnitude(braze_strides(h)[k - lead]);
}

/* Axes of a result that an operand lacks: n of them, from axis `at` on. */
struct gap {
	int at, n;
};

/* An operand with the result's axes, in the order of its layout. */
static int reordered(braze_array **out, braze_array *h, const int *axes, int n, struct gap gap,
		     braze_error *err)
{
	int64_t shape[BRAZE_MAX_NDIM], strides[BRAZE_MAX_NDIM];

	for (int k = 0; k < n; k++) {
		int of = axes[k];
		bool has = of < gap.at || of >= gap.at + gap.n;

		of -= of < gap.at ? 0 : gap.n;
		shape[k] = has ? braze_shape(h)[of] : 1;
		strides[k] = has ? braze_strides(h)[of] : 0;
	}
	return braze_view(out, h, braze_dtype_of(h), n, shape, strides, braze_offset(h), err);
}

/* rc of the call that made *out of reordered operands, if it did; *out in its axes' own order. */
static int restored(braze_array **out, int rc, const int *axes, int n, braze_error *err)
{
	if (rc || !*out)
		return rc;
	*out = layout_permuted(*out, axes, n, err);
	return *out ? 0 : err->code;
}

/* The order of the axes that are not in a mask, counted among themselves, the outermost first. */
static bool kept_layout(int *order, int *n, braze_array *of, unsigned mask)
{
	int64_t step[1][BRAZE_MAX_NDIM];
	struct walk w = {.nop = 1, .step = step};

	for (int k = 0; k < braze_ndim(of); k++)
		if (!(mask >> k & 1))
			step[0][w.ndim++] = braze_shape(of)[k] == 1
						    ? 0
						    : layout_magnitude(braze_strides(of)[k]);
	*n = w.ndim;
	return walk_layout(order, &w);
}

/* ---- Functions of elements ---- */

#define OPERANDS 3

int layout_apply(braze_array **out, braze_session *s, int op, int n, const braze_arg *arg,
		 braze_error *err)
{
	int64_t step[OPERANDS][BRAZE_MAX_NDIM];
	braze_array *view[OPERANDS] = {NULL};
	struct walk w = {.step = step};
	braze_arg moved[OPERANDS];
	int axes[BRAZE_MAX_NDIM], rc = 0;

	for (int i = 0; i < n; i++)
		if (arg[i].array && braze_ndim(arg[i].array) > w.ndim)
			w.ndim = braze_ndim(arg[i].array);
	for (int i = 0; i < n; i++)
		if (arg[i].array)
			walk_add(&w, arg[i].array);
	if (!walk_layout(axes, &w))
		return braze_apply(out, s, op, n, arg, err);
	for (int i = 0; i < n && !rc; i++) {
		braze_array *h = arg[i].array;

		moved[i] = arg[i];
		if (!h || !braze_ndim(h))
			continue;
		rc = reordered(&view[i], h, axes, w.ndim, (struct gap){0, w.ndim - braze_ndim(h)},
			       err);
		moved[i].array = view[i];
	}
	if (!rc)
		rc = restored(out, braze_apply(out, s, op, n, moved, err), axes, w.ndim, err);
	for (int i = 0; i < n; i++)
		braze_release(view[i]);
	/* What does not fit is told of the operands as they are. */
	return rc ? braze_apply(out, s, op, n, arg, err) : 0;
}

static int copied(braze_array **out, braze_array *of, int dtype, braze_error *err)
{
	return dtype < 0 ? braze_copy(out, of, err) : braze_cast(out, of, dtype, err);
}

int layout_copy(braze_array **out, braze_array *of, int dtype, braze_error *err)
{
	int axes[BRAZE_MAX_NDIM], n = 0, rc = 0;
	braze_array *turned = NULL;

	if (!layout_matters(of) || !kept_layout(axes, &n, of, 0))
		return copied(out, of, dtype, err);
	rc = braze_transpose(&turned, of, axes, err);
	if (!rc)
		rc = copied(out, turned, dtype, err);
	braze_release(turned);
	return restored(out, rc, axes, n, err);
}

/* ---- Reductions ---- */

int layout_reduce(braze_array **out, int op, braze_array *of, unsigned mask, int keep, int dtype,
		  braze_error *err)
{
	int order[BRAZE_MAX_NDIM], kept[BRAZE_MAX_NDIM], axes[BRAZE_MAX_NDIM];
	int ndim = braze_ndim(of), n = 0, rc = 0;
	braze_array *turned = NULL;

	/* Places of extremes lie in C order in NumPy, too. */
	if (!layout_matters(of) || braze_op_kind(op) == 'a' || !kept_layout(order, &n, of, mask))
		return braze_reduce(out, op, of, mask, keep, dtype, err);
	/* Only what stays moves: the order in which elements are added up does not. */
	for (int k = 0, i = 0; k < ndim; k++)
		if (!(mask >> k & 1))
			kept[i++] = k;
	for (int k = 0, i = 0; k < ndim; k++)
		axes[k] = mask >> k & 1 ? k : kept[order[i++]];
	rc = braze_transpose(&turned, of, axes, err);
	if (!rc)
		rc = braze_reduce(out, op, turned, mask, keep, dtype, err);
	braze_release(turned);
	return restored(out, rc, keep ? axes : order, keep ? ndim : n, err);
}

/* ---- Arrays put together ---- */

/* The order of axes that NumPy's concatenate gives its result: an insertion sort from the first
 * axis on, which sees strides of 0.  gap: of the axis that each lacks. */
static bool joined_layout(int *axes, int ndim, int n, braze_array *const *part, struct gap gap)
{
	int64_t(*step)[BRAZE_MAX_NDIM] = calloc((size_t)n, sizeof *step);
	struct walk w = {ndim, n, step};

	for (int i = 0; step && i < n; i++)
		for (int k = 0; k < braze_ndim(part[i]); k++)
			if (braze_shape(part[i])[k] != 1)
				step[i][k + (k < gap.at ? 0 : gap.n)] =
					layout_magnitude(braze_strides(part[i])[k]) + 1;
	for (int i = 0; i < ndim; i++) {
		int to = i;

		for (int k = i - 1; step && k >= 0; k--) {
			int r = outside(&w, axes[k], i);

			if (r == 1)
				break;
			if (r == 0)
				to = k;
		}
		for (int k = i; k > to; k--)
			axes[k] = axes[k - 1];
		axes[to] = i;
	}
	free(step);
	return is_permuted(axes, ndim);
}

/* Is the order C's, or is something wrong, which the join itself tells? */
static bool joins_in_c(int *axes, int ndim, int n, braze_array *const *part, struct gap gap)
{
	bool matters = false;

	if (n < 1 || ndim > BRAZE_MAX_NDIM || gap.at < 0 || gap.at >= ndim)
		return true;
	for (int i = 0; i < n; i++) {
		matters |= layout_matters(part[i]);
		if (braze_ndim(part[i]) != braze_ndim(part[0]))
			return true;
	}
	return !matters || !joined_layout(axes, ndim, n, part, gap);
}

int layout_join(braze_array **out, int n, braze_array *const *part, int axis, int dtype,
		bool stacks, braze_error *err)
{
	int (*const join)(braze_array **, int, braze_array *const *, int, int, braze_error *) =
		stacks ? braze_stack : braze_concatenate;
	int ndim = n > 0 ? braze_ndim(part[0]) + stacks : 0, axes[BRAZE_MAX_NDIM];
	int along = axis < 0 ? axis + ndim : axis, at = 0, rc = 0;
	struct gap gap = {along, stacks};
	braze_array **turned = NULL;

	if (!joins_in_c(axes, ndim, n, part, gap))
		turned = calloc((size_t)n, sizeof *turned);
	if (!turned)
		return join(out, n, part, axis, dtype, err);
	while (axes[at] != along)
		at++;
	for (int i = 0; i < n && !rc; i++)
		rc = reordered(&turned[i], part[i], axes, ndim, gap, err);
	if (!rc)
		rc = restored(out, braze_concatenate(out, n, turned, at, dtype, err), axes, ndim,
			      err);
	for (int i = 0; i < n; i++)
		braze_release(turned[i]);
	free(turned);
	/* What does not fit is told of the arrays as they are. */
	return rc ? join(out, n, part, axis, dtype, err) : 0;
}

/* ---- Elements at places ---- */

/* What is taken, and in which order its axes lie: those of the places, then the array's that have
 * none, by their strides.  Where those are single elements, the places' lie by the strides of
 * these. */
struct taking {
	braze_array *of;
	int n;
	const int *axis;
	const braze_arg *index;
	int nspread, nkept;
	int spread[BRAZE_MAX_NDIM], kept[BRAZE_MAX_NDIM]; /* orders, each among its own */
	int own[BRAZE_MAX_NDIM];			  /* the kept axes in `of` */
	int position; /* of the places' axes among the kept ones, in the result */
};

/* The axes of the places stand where they were if those are neighbours, else first. */
static int position_of(const struct taking *t)
{
	for (int k = 1; k < t->n; k++)
		if (t->axis[k] != t->axis[k - 1] + 1)
			return 0;
	return t->axis[0];
}

/* The order of the places' axes; false: C order. */
static bool spread_layout(struct taking *t)
{
	int64_t step[BRAZE_MAX_NDIM][BRAZE_MAX_NDIM];
	struct walk w = {.ndim = t->nspread, .step = step};

	for (int k = 0; k < t->n; k++)
		if (t->index[k].array)
			walk_add(&w, t->index[k].array);
	return walk_layout(t->spread, &w);
}

/* false: the daemon's order is NumPy's. */
static bool taking_begin(struct taking *t)
{
	unsigned mask = 0;
	bool moved = false, single = true;

	for (int k = 0; k < t->n; k++) {
		mask |= 1u << t->axis[k];
		if (t->index[k].array && braze_ndim(t->index[k].array) > t->nspread)
			t->nspread = braze_ndim(t->index[k].array);
	}
	for (int k = 0; k < t->nspread; k++)
		t->spread[k] = k;
	moved = kept_layout(t->kept, &t->nkept, t->of, mask);
	for (int k = 0, i = 0; k < braze_ndim(t->of); k++)
		if (!(mask >> k & 1)) {
			t->own[i++] = k;
			single &= braze_shape(t->of)[k] == 1;
		}
	if (single)
		moved = spread_layout(t);
	t->position = position_of(t);
	/* Axes of one element may lie anywhere. */
	return moved || (t->position && braze_size(t->of) && t->nspread);
}

/* The array with the axes that have places first, the others in their order. */
static int taken_from(braze_array **out, const struct taking *t, braze_error *err)
{
	int axes[BRAZE_MAX_NDIM], n = 0;

	for (int k = 0; k < t->n; k++)
		axes[n++] = t->axis[k];
	for (int k = 0; k < t->nkept; k++)
		axes[n++] = t->own[t->kept[k]];
	return braze_transpose(out, t->of, axes, err);
}

/* The result's axes, the outermost first. */
static int taken_layout(int *axes, const struct taking *t)
{
	int n = 0;

	for (int k = 0; k < t->nspread; k++)
		axes[n++] = t->position + t->spread[k];
	for (int k = 0; k < t->nkept; k++)
		axes[n++] = t->kept[k] + (t->kept[k] < t->position ? 0 : t->nspread);
	return n;
}

int layout_gather(braze_array **out, braze_array *of, int n, const int *axis, const int *name,
		  const braze_arg *index, int mode, braze_error *err)
{
	struct taking t = {.of = of, .n = n, .axis = axis, .index = index};
	braze_array *view[BRAZE_MAX_NDIM] = {NULL}, *from = NULL;
	int axes[BRAZE_MAX_NDIM * 2], first[BRAZE_MAX_NDIM], rc = 0;
	braze_arg moved[BRAZE_MAX_NDIM];

	if (n < 1 || !taking_begin(&t) || t.nspread + t.nkept > BRAZE_MAX_NDIM)
		return braze_gather(out, of, n, axis, name, index, mode, err);
	for (int k = 0; k < n && !rc; k++) {
		braze_array *h = index[k].array;

		first[k] = k;
		moved[k] = index[k];
		if (!h || !braze_ndim(h))
			continue;
		rc = reordered(&view[k], h, t.spread, t.nspread,
			       (struct gap){0, t.nspread - braze_ndim(h)}, err);
		moved[k].array = view[k];
	}
	if (!rc)
		rc = taken_from(&from, &t, err);
	if (!rc)
		rc = braze_gather(out, from, n, first, name ? name : axis, moved, mode, err);
	rc = restored(out, rc, axes, taken_layout(axes, &t), err);
	braze_release(from);
	for (int k = 0; k < n; k++)
		braze_release(view[k]);
	return rc;
}

int layout_take_along(braze_array **out, braze_array *of, braze_array *places, int axis, int mode,
		      braze_error *err)
{
	int64_t step[1][BRAZE_MAX_NDIM];
	struct walk w = {.ndim = braze_ndim(places), .step = step};
	braze_array *from = NULL, *at = NULL;
	int axes[BRAZE_MAX_NDIM], along = 0, rc = 0;

	walk_add(&w, places);
	if (w.ndim != braze_ndim(of) || !walk_layout(axes, &w))
		return braze_take_along(out, of, places, axis, mode, err);
	while (axes[along] != axis)
		along++;
	rc = braze_transpose(&from, of, axes, err);
	if (!rc)
		rc = braze_transpose(&at, places, axes, err);
	if (!rc)
		rc = braze_take_along(out, from, at, along, mode, err);
	braze_release(from);
	braze_release(at);
	return restored(out, rc, axes, w.ndim, err);
}

int layout_select(braze_array **out, braze_array *of, braze_array *mask, int (*check)(void *),
		  void *arg, braze_error *err)
{
	int order[BRAZE_MAX_NDIM], axes[BRAZE_MAX_NDIM], n = 0, m = braze_ndim(mask), rc = 0;
	braze_array *turned = NULL;

	if (!layout_matters(of) || m >= braze_ndim(of) ||
	    !kept_layout(order, &n, of, (1u << m) - 1))
		return braze_select(out, of, mask, check, arg, err);
	for (int k = 0; k < m + n; k++)
		axes[k] = k < m ? k : m + order[k - m];
	rc = braze_transpose(&turned, of, axes, err);
	if (!rc)
		rc = braze_select(out, turned, mask, check, arg, err);
	braze_release(turned);
	for (int k = n; k > 0; k--) /* of the mask's axes one is left */
		order[k] = order[k - 1] + 1;
	order[0] = 0;
	return restored(out, rc, order, n + 1, err);
}
