/* SPDX-License-Identifier: Apache-2.0 */
/* fast_reduce.c - sums, extremes, means and running sums of plain arrays
 * (braze/numpy/_reductions.py has every other call). */
#include "native.h"

/* What one call asks for. */
struct reduction {
	braze_array *of;
	unsigned mask; /* the axes, at least one */
	int keep, dtype;
	bool first;    /* without an axis along the first one, as ufunc.reduce */
	int64_t count; /* elements that each result is made of */
};

static bool add_axis(struct reduction *r, PyObject *o)
{
	int axis = 0;

	if (!fast_axis(&axis, o, braze_ndim(r->of)) || r->mask >> axis & 1)
		return false;
	r->mask |= 1u << axis;
	r->count *= braze_shape(r->of)[axis];
	return true;
}

/* one: as argmin, which knows one axis or all. */
static bool read_axes(struct reduction *r, PyObject *axis, bool one)
{
	if (r->first ? axis == Py_None : fast_absent(axis)) {
		r->mask = (1u << braze_ndim(r->of)) - 1;
		r->count = braze_size(r->of);
		return r->mask != 0;
	}
	r->count = 1;
	if (!axis) {
		r->mask = 1;
		r->count = braze_shape(r->of)[0];
		return true;
	}
	if (!PyTuple_CheckExact(axis))
		return add_axis(r, axis);
	if (one)
		return false;
	for (Py_ssize_t k = 0; k < PyTuple_Size(axis); k++)
		if (!add_axis(r, PyTuple_GetItem(axis, k)))
			return false;
	return r->mask != 0;
}

static bool read_call(struct reduction *r, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	bool typed = f->n == 5;
	PyObject *dtype = NULL, *keep = NULL;

	if (!fast_bind(slot, f, c) || !(r->of = fast_array(slot[0])))
		return false;
	dtype = typed ? slot[2] : NULL;
	keep = slot[f->n - 1];
	if (!fast_absent(slot[f->n - 2]) || (keep && !PyBool_Check(keep)))
		return false;
	r->keep = keep == Py_True;
	r->dtype = fast_absent(dtype) ? -1 : fast_dtype(dtype);
	if (r->dtype < 0 && !fast_absent(dtype))
		return false;
	return read_axes(r, slot[1], braze_op_kind(f->op) == 'a');
}

static bool answer(PyObject **out, int rc, braze_array **made)
{
	return fast_new(out, rc, made, !rc && !braze_ndim(*made) ? ND_SCALAR : 0);
}

/* Of nothing there are sums and products; the errors of the others are Python's. */
static bool has_identity(const struct fast *f)
{
	const char *op = f->op_name;

	return *op == 's' || *op == 'p' || op[1] == 'n' || op[1] == 'l'; /* any, all */
}

/* Elements of arrays at hand from which on NumPy finds the same answer sooner than the near
 * loops, and up to which sooner than the daemon. */
#define NUMPYS_PLACE 384   /* argmin, argmax */
#define NUMPYS_ROW   32	   /* but of rows that lie side by side, or of all that does */
#define NUMPYS_TRUTH 16384 /* any, all: whose loops are as quick, but far from there on */
#define NUMPYS_MOST  (1 << 20)

/* Does the near library have a loop of its own for these argmin and argmax? */
static bool near_places(const struct reduction *r)
{
	int type = braze_dtype_of(r->of), last = braze_ndim(r->of) - 1;

	return type != BRAZE_FLOAT16 && type < BRAZE_COMPLEX64 && braze_is_contiguous(r->of) &&
	       (r->count == braze_size(r->of) || (r->mask == 1u << last && r->count < NUMPYS_ROW));
}

static bool is_numpys(const struct fast *f, const struct reduction *r)
{
	bool place = braze_op_kind(f->op) == 'a';
	int64_t from = place ? NUMPYS_PLACE : NUMPYS_TRUTH, size = braze_size(r->of);

	return f->numpys && size >= from && size <= NUMPYS_MOST && braze_is_near(r->of) &&
	       !(place && near_places(r));
}

bool fast_reduce(PyObject **out, const struct fast *f, const struct call *c)
{
	struct reduction r = {0};
	braze_array *made = NULL;
	braze_error err;

	if (!read_call(&r, f, c) || (!r.count && !has_identity(f)))
		return false;
	if (is_numpys(f, &r) && f->numpys->fn(out, f->numpys, c))
		return true;
	return answer(out, layout_reduce(&made, f->op, r.of, r.mask, r.keep, r.dtype, &err), &made);
}

bool fast_reduce_first(PyObject **out, const struct fast *f, const struct call *c)
{
	struct reduction r = {.first = true};
	braze_array *made = NULL;
	braze_error err;

	/* Types that only sums and products are asked for, as of the functions. */
	if (!c->n || !fast_array(c->args[0]) || !braze_ndim(nd(c->args[0])->h) ||
	    !read_call(&r, f, c) || (!r.count && !has_identity(f)) ||
	    (r.dtype >= 0 && *f->op_name != 's' && *f->op_name != 'p'))
		return false;
	if (is_numpys(f, &r) && f->numpys->fn(out, f->numpys, c))
		return true;
	return answer(out, layout_reduce(&made, f->op, r.of, r.mask, r.keep, r.dtype, &err), &made);
}

bool fast_mean(PyObject **out, const struct fast *f, const struct call *c)
{
	struct reduction r = {0};
	braze_array *sum = NULL, *made = NULL;
	braze_error err;
	braze_arg arg[2] = {{0}};
	int of = 0, rc = 0;

	if (!read_call(&r, f, c) || !r.count || r.dtype >= 0)
		return false;
	of = braze_dtype_of(r.of);
	if (of == BRAZE_FLOAT16) /* summed in another type than it is divided */
		return false;
	if (layout_reduce(&sum, f->op, r.of, r.mask, r.keep,
			  of < BRAZE_FLOAT16 ? BRAZE_FLOAT64 : -1, &err))
		return false;
	arg[0].array = sum;
	arg[1].scalar = braze_int(r.count);
	rc = layout_matters(sum)
		     ? layout_apply(&made, braze_session_of(sum), core.op[N_DIVIDE], 2, arg, &err)
		     : braze_apply(&made, braze_session_of(sum), core.op[N_DIVIDE], 2, arg, &err);
	braze_release(sum);
	return answer(out, rc, &made);
}

/* ---- Running results ---- */

/* Does its result lie in another order of axes than C's?  What is stretched asks for none. */
static bool permuted(int *order, braze_array *of)
{
	const int64_t *stride = braze_strides(of), *extent = braze_shape(of);

	for (int k = 0; k < braze_ndim(of); k++)
		if (!stride[k] && extent[k] > 1)
			return false;
	return layout_matters(of) && layout_of(order, braze_ndim(of), stride);
}

int fast_along(braze_array **made, fast_along_fn *fn, int what, braze_array *of, int axis,
	       braze_error *err)
{
	int order[BRAZE_MAX_NDIM], at = 0, rc = 0;
	braze_array *turned = NULL;

	if (!permuted(order, of))
		return fn(made, what, of, axis, err);
	while (order[at] != axis)
		at++;
	rc = braze_transpose(&turned, of, order, err);
	if (!rc)
		rc = fn(made, what, turned, at, err);
	braze_release(turned);
	if (rc)
		return rc;
	*made = layout_permuted(*made, order, braze_ndim(of), err);
	return *made ? 0 : err->code;
}

#define NO_TYPE 0xff

/* what: the operation and, above it, the accumulator's type. */
static int scan_one(braze_array **made, int what, braze_array *of, int axis, braze_error *err)
{
	int dtype = what >> 8;

	return braze_scan(made, what & 0xff, of, axis, dtype == NO_TYPE ? -1 : dtype, err);
}

/* What one call asks for: an array, along this axis, or flat. */
struct running {
	braze_array *of;
	int axis, dtype;
	bool flat;
};

/* first: without an axis it runs along the first one, as of ufunc.accumulate, not through all. */
static bool read_running(struct running *r, const struct fast *f, const struct call *c, bool first)
{
	PyObject *slot[FAST_ARGS];

	if (!fast_bind(slot, f, c) || !(r->of = fast_array(slot[0])) || !fast_absent(slot[3]))
		return false;
	r->dtype = fast_absent(slot[2]) ? -1 : fast_dtype(slot[2]);
	/* What drops imaginary parts warns; extremes have no type but their own. */
	if (!fast_absent(slot[2]) &&
	    (r->dtype < 0 || *f->op_name == 'm' ||
	     (braze_dtype_of(r->of) >= BRAZE_COMPLEX64 && r->dtype < BRAZE_COMPLEX64)))
		return false;
	if (first && (slot[1] == Py_None || !braze_ndim(r->of)))
		return false;
	if (!fast_absent(slot[1]))
		return fast_axis(&r->axis, slot[1], braze_ndim(r->of));
	r->flat = !first && braze_ndim(r->of) != 1;
	return true;
}

static bool scan(PyObject **out, const struct fast *f, const struct call *c, bool first)
{
	braze_array *flat = NULL, *made = NULL;
	struct running r = {0};
	braze_error err;
	int64_t all = 0;
	int rc = 0;

	if (!read_running(&r, f, c, first))
		return false;
	all = braze_size(r.of);
	if (r.flat && braze_reshape(&flat, r.of, 1, &all, &err))
		return false;
	rc = fast_along(&made, scan_one, f->op | (r.dtype < 0 ? NO_TYPE : r.dtype) << 8,
			flat ? flat : r.of, r.axis, &err);
	braze_release(flat);
	return fast_new(out, rc, &made, 0);
}

bool fast_numpys(PyObject **out, const struct fast *f, const struct call *c)
{
	return !PyErr_Occurred() && f->numpys && f->numpys->fn(out, f->numpys, c);
}

bool fast_scan(PyObject **out, const struct fast *f, const struct call *c)
{
	return scan(out, f, c, false) || fast_numpys(out, f, c);
}

bool fast_accumulate(PyObject **out, const struct fast *f, const struct call *c)
{
	return scan(out, f, c, true) || fast_numpys(out, f, c);
}

/* Fewer elements that lie here NumPy is done with before the daemon has heard of them. */
#define LANES_LEAST 8192

/* A library step along an axis.  It is NumPy's with a discontinuity or a period of its own, of
 * another type than those that the step has, and where np.errstate asks for errors. */
static bool lane(PyObject **out, const struct fast *f, const struct call *c)
{
	braze_array *of = NULL, *made = NULL;
	PyObject *slot[FAST_ARGS];
	braze_error err;
	int axis = 0, rc = 0, dtype = 0;

	if (!fast_bind(slot, f, c) || !(of = fast_array(slot[0])) || !fast_absent(slot[1]) ||
	    !fast_absent(slot[3]) || !braze_ndim(of) || core.watching)
		return false;
	dtype = braze_dtype_of(of);
	if (dtype != BRAZE_FLOAT32 && dtype != BRAZE_FLOAT64)
		return false;
	axis = braze_ndim(of) - 1;
	if (!fast_absent(slot[2]) && !fast_axis(&axis, slot[2], braze_ndim(of)))
		return false;
	if (braze_size(of) < LANES_LEAST && braze_is_stored(of))
		return false;
	rc = fast_along(&made, scan_one, f->op | NO_TYPE << 8, of, axis, &err);
	return fast_new(out, rc, &made, 0);
}

bool fast_lane(PyObject **out, const struct fast *f, const struct call *c)
{
	return lane(out, f, c) || fast_numpys(out, f, c);
}
