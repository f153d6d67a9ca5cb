/* SPDX-License-Identifier: Apache-2.0 */
/* fast_reduce.c - sums, extremes and means of plain arrays (braze/numpy/_reductions.py
 * has every other call). */
#include "native.h"

/* What one call asks for. */
struct reduction {
	braze_array *of;
	unsigned mask; /* the axes, at least one */
	int keep, dtype;
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
	if (fast_absent(axis)) {
		r->mask = (1u << braze_ndim(r->of)) - 1;
		r->count = braze_size(r->of);
		return r->mask != 0;
	}
	r->count = 1;
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
	return f->n == 5 || f->name[1] == 'n' || f->name[1] == 'l'; /* any, all */
}

/* Elements of arrays at hand from which on NumPy finds the same answer sooner than the near
 * loops, and up to which sooner than the daemon. */
#define NUMPYS_PLACE 128   /* argmin, argmax */
#define NUMPYS_TRUTH 16384 /* any, all: whose loops are as quick, but far from there on */
#define NUMPYS_MOST  (1 << 20)

static bool is_numpys(const struct fast *f, braze_array *of)
{
	int64_t from = braze_op_kind(f->op) == 'a' ? NUMPYS_PLACE : NUMPYS_TRUTH;

	return f->numpys && braze_size(of) >= from && braze_size(of) <= NUMPYS_MOST &&
	       braze_is_near(of);
}

bool fast_reduce(PyObject **out, const struct fast *f, const struct call *c)
{
	struct reduction r = {0};
	braze_array *made = NULL;
	braze_error err;

	if (!read_call(&r, f, c) || (!r.count && !has_identity(f)))
		return false;
	if (is_numpys(f, r.of) && f->numpys->fn(out, f->numpys, c))
		return true;
	return answer(out, braze_reduce(&made, f->op, r.of, r.mask, r.keep, r.dtype, &err), &made);
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
	if (braze_reduce(&sum, f->op, r.of, r.mask, r.keep, of < BRAZE_FLOAT16 ? BRAZE_FLOAT64 : -1,
			 &err))
		return false;
	arg[0].array = sum;
	arg[1].scalar = braze_int(r.count);
	rc = layout_matters(sum)
		     ? layout_apply(&made, braze_session_of(sum), core.op[N_DIVIDE], 2, arg, &err)
		     : braze_apply(&made, braze_session_of(sum), core.op[N_DIVIDE], 2, arg, &err);
	braze_release(sum);
	return answer(out, rc, &made);
}
