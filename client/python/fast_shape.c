/* SPDX-License-Identifier: Apache-2.0 */
/* fast_shape.c - views, casts and copies of plain arrays (braze/numpy/_shape.py and
 * _methods.py have every other call). */
#include "native.h"

#include <string.h>

/* A view of a, or an array of its own where it shares no buffer with it. */
static bool answer(PyObject **out, int rc, braze_array **by, PyObject *a)
{
	braze_array *made = *by;

	if (rc)
		return false;
	*out = braze_same_buffer(made, nd(a)->h) ? type_view(made, a) : type_new(made, 0);
	return true;
}

/* The one unknown extent is worked out; false: Python's error. */
static bool whole_shape(int64_t *shape, int n, int64_t size)
{
	int64_t known = 1;
	int unknown = -1;

	for (int k = 0; k < n; k++) {
		if (shape[k] < 0 && unknown >= 0)
			return false;
		if (shape[k] < 0)
			unknown = k;
		else if (__builtin_mul_overflow(known, shape[k], &known))
			return false;
	}
	if (unknown >= 0) {
		if (!known || size % known)
			return false;
		shape[unknown] = size / known;
		return true;
	}
	return known == size;
}

static bool has_unknown(const int64_t *shape, int n)
{
	for (int k = 0; k < n; k++)
		if (shape[k] < 0)
			return true;
	return false;
}

static bool reshaped(PyObject **out, PyObject *a, int64_t *shape, int n)
{
	braze_array *h = fast_array(a), *made = NULL;
	bool none = h && !braze_size(h), unknown = none && has_unknown(shape, n);
	braze_error err;

	if (!h || n < 0 || !whole_shape(shape, n, braze_size(h)))
		return false;
	if (braze_reshape(&made, h, n, shape, &err))
		return false;
	if (!none)
		return answer(out, 0, &made, a);
	*out = braze_same_buffer(made, h) ? type_reshaped(made, a) : type_new(made, 0);
	if (*out && unknown)
		nd(*out)->flags |= ND_COUNTED; /* as of another shape, even if it is none */
	return true;
}

bool fast_reshape(PyObject **out, const struct fast *f, const struct call *c)
{
	int64_t shape[BRAZE_MAX_NDIM];
	PyObject *slot[FAST_ARGS];

	return fast_bind(slot, f, c) && slot[1] &&
	       reshaped(out, slot[0], shape, fast_dims(shape, slot[1]));
}

bool fast_reshape_method(PyObject **out, const struct fast *f, const struct call *c)
{
	int64_t shape[BRAZE_MAX_NDIM];
	Py_ssize_t n = c->n - 1;

	if (c->names || n < 1 || n > BRAZE_MAX_NDIM)
		return false;
	if (n == 1)
		return reshaped(out, c->args[0], shape, fast_dims(shape, c->args[1]));
	for (Py_ssize_t k = 0; k < n; k++)
		if (!fast_int(&shape[k], c->args[k + 1]))
			return false;
	return reshaped(out, c->args[0], shape, (int)n);
}

bool fast_ravel(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	int64_t size = -1;

	if (!fast_bind(slot, f, c) || !fast_array(slot[0]) || !braze_is_contiguous(nd(slot[0])->h))
		return false;
	return reshaped(out, slot[0], &size, 1);
}

bool fast_flatten(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	braze_array *h = NULL, *flat = NULL, *made = NULL;
	braze_error err;
	int64_t size = 0;
	int rc = 0;

	if (!fast_bind(slot, f, c) || !(h = fast_array(slot[0])) || !braze_is_contiguous(h))
		return false;
	size = braze_size(h);
	if (braze_reshape(&flat, h, 1, &size, &err))
		return false;
	rc = braze_copy(&made, flat, &err);
	braze_release(flat);
	return fast_new(out, rc, &made, 0);
}

/* ---- Orders of axes ---- */

static bool transposed(PyObject **out, PyObject *a, const int *axes)
{
	braze_array *h = fast_array(a), *made = NULL;
	braze_error err;

	if (!h || nd(a)->flags & ND_SCALAR || braze_transpose(&made, h, axes, &err))
		return false;
	*out = type_view(made, a);
	return true;
}

/* Axes that are named one by one, each once. */
static bool permuted(PyObject **out, PyObject *a, const int64_t *given, int n)
{
	braze_array *h = fast_array(a);
	int axes[BRAZE_MAX_NDIM];
	unsigned seen = 0;

	if (!h || n != braze_ndim(h))
		return false;
	for (int k = 0; k < n; k++) {
		if (given[k] < -n || given[k] >= n)
			return false;
		axes[k] = (int)(given[k] < 0 ? given[k] + n : given[k]);
		seen |= 1u << axes[k];
	}
	return seen == (1u << n) - 1 && transposed(out, a, axes);
}

bool fast_transpose(PyObject **out, const struct fast *f, const struct call *c)
{
	int64_t axes[BRAZE_MAX_NDIM];
	PyObject *slot[FAST_ARGS];

	if (!fast_bind(slot, f, c))
		return false;
	if (fast_absent(slot[1]))
		return transposed(out, slot[0], NULL);
	return permuted(out, slot[0], axes, fast_dims(axes, slot[1]));
}

bool fast_transpose_method(PyObject **out, const struct fast *f, const struct call *c)
{
	int64_t axes[BRAZE_MAX_NDIM];
	Py_ssize_t n = c->n - 1;

	if (c->names || n < 0 || n > BRAZE_MAX_NDIM)
		return false;
	if (!n)
		return transposed(out, c->args[0], NULL);
	if (n == 1)
		return permuted(out, c->args[0], axes, fast_dims(axes, c->args[1]));
	for (Py_ssize_t k = 0; k < n; k++)
		if (!fast_int(&axes[k], c->args[k + 1]))
			return false;
	return permuted(out, c->args[0], axes, (int)n);
}

bool fast_swapaxes(PyObject **out, const struct fast *f, const struct call *c)
{
	int axes[BRAZE_MAX_NDIM], i = 0, j = 0, n = 0;
	PyObject *slot[FAST_ARGS];

	if (!fast_bind(slot, f, c) || !fast_array(slot[0]) || !slot[1] || !slot[2])
		return false;
	n = braze_ndim(nd(slot[0])->h);
	if (!fast_axis(&i, slot[1], n) || !fast_axis(&j, slot[2], n))
		return false;
	for (int k = 0; k < n; k++)
		axes[k] = k == i ? j : k == j ? i : k;
	return transposed(out, slot[0], axes);
}

bool fast_expand_dims(PyObject **out, const struct fast *f, const struct call *c)
{
	int64_t shape[BRAZE_MAX_NDIM];
	PyObject *slot[FAST_ARGS];
	braze_array *h = NULL;
	int axis = 0, n = 0;

	if (!fast_bind(slot, f, c) || !(h = fast_array(slot[0])) || !slot[1])
		return false;
	n = braze_ndim(h) + 1;
	if (n > BRAZE_MAX_NDIM || !fast_axis(&axis, slot[1], n))
		return false;
	for (int k = 0; k < n; k++)
		shape[k] = k == axis ? 1 : braze_shape(h)[k - (k > axis)];
	return reshaped(out, slot[0], shape, n);
}

/* The elements, in C order, as another type: of another size the last axis is longer or shorter. */
static bool view_as(PyObject **out, PyObject *a, int dtype)
{
	int64_t shape[BRAZE_MAX_NDIM], strides[BRAZE_MAX_NDIM];
	braze_array *h = nd(a)->h, *made = NULL;
	int n = braze_ndim(h), own = braze_itemsize(h), size = 0;
	braze_error err;

	if (dtype < 0 || !n || !braze_size(h) || !(layout_orders(h) & LAYOUT_C))
		return false;
	size = convert_itemsize(dtype);
	memcpy(shape, braze_shape(h), (size_t)n * sizeof *shape);
	memcpy(strides, braze_strides(h), (size_t)n * sizeof *strides);
	if (size != own) {
		if (shape[n - 1] * own % size)
			return false;
		shape[n - 1] = shape[n - 1] * own / size;
		strides[n - 1] = size;
	}
	if (braze_view(&made, h, dtype, n, shape, strides, braze_offset(h), &err))
		return false;
	*out = type_view(made, a);
	return true;
}

/* a.view(), a.view(dtype), of an array. */
bool fast_view(PyObject **out, const struct fast *f, const struct call *c)
{
	if (c->names || c->n > 2 || !c->n || !fast_array(c->args[0]) ||
	    nd(c->args[0])->flags & ND_SCALAR)
		return false;
	if (c->n == 2)
		return view_as(out, c->args[0], fast_dtype(c->args[1]));
	*out = index_get(c->args[0], Py_Ellipsis);
	return true;
}

bool fast_squeeze(PyObject **out, const struct fast *f, const struct call *c)
{
	int64_t shape[BRAZE_MAX_NDIM], strides[BRAZE_MAX_NDIM];
	PyObject *slot[FAST_ARGS];
	braze_array *h = NULL, *made = NULL;
	braze_error err;
	int n = 0;

	if (!fast_bind(slot, f, c) || !(h = fast_array(slot[0])) || nd(slot[0])->flags)
		return false;
	for (int k = 0; k < braze_ndim(h); k++) {
		shape[n] = braze_shape(h)[k];
		strides[n] = braze_strides(h)[k];
		n += shape[n] != 1;
	}
	if (n == braze_ndim(h)) {
		*out = Py_NewRef(slot[0]);
		return true;
	}
	return answer(
		out,
		braze_view(&made, h, braze_dtype_of(h), n, shape, strides, braze_offset(h), &err),
		&made, slot[0]);
}

/* An array with elements that is turned along an axis, or (-1) all. */
static bool flipped(PyObject **out, PyObject *a, int axis)
{
	int64_t strides[BRAZE_MAX_NDIM], delta = 0;
	braze_array *h = nd(a)->h, *made = NULL;
	braze_error err;

	for (int k = 0; k < braze_ndim(h); k++) {
		int64_t step = braze_strides(h)[k], last = braze_shape(h)[k] - 1;
		bool turned = last && (axis < 0 || axis == k);

		strides[k] = turned ? -step : step;
		delta += turned ? last * step : 0;
	}
	return answer(out,
		      braze_view(&made, h, braze_dtype_of(h), braze_ndim(h), braze_shape(h),
				 strides, braze_offset(h) + delta, &err),
		      &made, a);
}

/* Has it at least that many axes, and elements? */
static bool is_turned(PyObject *a, int ndim)
{
	braze_array *h = fast_array(a);

	return h && !nd(a)->flags && braze_size(h) && braze_ndim(h) >= ndim;
}

bool fast_flip(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	int axis = -1;

	return fast_bind(slot, f, c) && is_turned(slot[0], 1) &&
	       (fast_absent(slot[1]) || fast_axis(&axis, slot[1], type_ndim(slot[0]))) &&
	       flipped(out, slot[0], axis);
}

bool fast_flipud(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];

	return fast_bind(slot, f, c) && is_turned(slot[0], 1) && flipped(out, slot[0], 0);
}

bool fast_fliplr(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];

	return fast_bind(slot, f, c) && is_turned(slot[0], 2) && flipped(out, slot[0], 1);
}

/* ---- Diagonals of a matrix ---- */

/* Of the matrix h that many right of the main one, or below it. */
static int diagonal_of(braze_array **made, braze_array *h, int64_t offset, braze_error *err)
{
	const int64_t *shape = braze_shape(h), *step = braze_strides(h);
	int64_t rows = shape[0] - (offset < 0 ? -offset : 0), along = step[0] + step[1];
	int64_t columns = shape[1] - (offset > 0 ? offset : 0), n = rows < columns ? rows : columns;
	int64_t delta = offset > 0 ? offset * step[1] : -offset * step[0];

	n = n > 0 ? n : 0;
	return braze_view(made, h, braze_dtype_of(h), 1, &n, &along,
			  braze_offset(h) + (n ? delta : 0), err);
}

/* The matrix and its offset; false: others know. */
static bool read_diagonal(braze_array **h, int64_t *offset, const struct fast *f,
			  const struct call *c, int ndim)
{
	PyObject *slot[FAST_ARGS];

	*offset = 0;
	return fast_bind(slot, f, c) && (*h = fast_array(slot[0])) && braze_ndim(*h) == ndim &&
	       (!slot[1] || fast_int(offset, slot[1])) && *offset > -(INT64_C(1) << 31) &&
	       *offset < INT64_C(1) << 31;
}

/* It may not be written. */
bool fast_diagonal(PyObject **out, const struct fast *f, const struct call *c)
{
	braze_array *h = NULL, *made = NULL;
	int64_t offset = 0;
	braze_error err;

	if (!read_diagonal(&h, &offset, f, c, 2) ||
	    !answer(out, diagonal_of(&made, h, offset, &err), &made, c->args[0]))
		return false;
	if (*out)
		nd(*out)->flags = (uint8_t)((nd(*out)->flags & ~ND_WARN) | ND_READONLY);
	return true;
}

/* The matrix that has the vector as its diagonal. */
static int matrix_of(braze_array **made, braze_array *v, int64_t offset, braze_error *err)
{
	int64_t n = braze_size(v) + (offset < 0 ? -offset : offset), shape[2] = {n, n};
	braze_scalar zero = {.dtype = braze_dtype_of(v)};
	braze_array *line = NULL;
	braze_arg arg = {.array = v};
	int rc = braze_full(made, braze_session_of(v), zero.dtype, 2, shape, zero, err);

	if (!rc)
		rc = diagonal_of(&line, *made, offset, err);
	if (!rc)
		rc = braze_assign(line, arg, err);
	braze_release(line);
	return rc;
}

/* Of a row of numbers, which a matrix is made of; of more axes NumPy's answer is a view. */
static bool diag_of_list(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *args[FAST_ARGS], *made = NULL;
	braze_array *row = NULL;
	Py_ssize_t all = c->n + (c->names ? PyTuple_Size(c->names) : 0);
	bool done = false;

	if (all > FAST_ARGS || !lists_array(&row, c->args[0], -1) || !(made = type_new(row, 0)))
		return false;
	memcpy(args, c->args, (size_t)all * sizeof *args);
	args[0] = made;
	done = braze_ndim(row) == 1 && fast_diag(out, f, &(struct call){args, c->n, c->names});
	Py_DECREF(made);
	return done;
}

bool fast_diag(PyObject **out, const struct fast *f, const struct call *c)
{
	braze_array *v = NULL, *made = NULL;
	int64_t offset = 0;
	braze_error err;
	int rc = 0;

	if (call_of_list(c))
		return diag_of_list(out, f, c);
	if (!read_diagonal(&v, &offset, f, c, 1))
		return c->n && fast_diagonal(out, f, c);
	rc = matrix_of(&made, v, offset, &err);
	if (rc)
		braze_release(made);
	return fast_new(out, rc, &made, 0);
}

bool fast_trace(PyObject **out, const struct fast *f, const struct call *c)
{
	braze_array *h = NULL, *line = NULL, *made = NULL;
	int64_t offset = 0;
	braze_error err;
	int rc = 0;

	if (!read_diagonal(&h, &offset, f, c, 2))
		return false;
	rc = diagonal_of(&line, h, offset, &err);
	if (!rc)
		rc = braze_reduce(&made, f->op, line, 1, 0, -1, &err);
	braze_release(line);
	return fast_new(out, rc, &made, ND_SCALAR);
}

/* The type of a number that an array can have at once; -1: it is something else. */
static int number_type(PyObject *o)
{
	int64_t whole = 0;

	if (nd_check(o))
		return nd(o)->h ? -1 : nd(o)->now.dtype;
	return PyFloat_CheckExact(o) ? BRAZE_FLOAT64 : fast_int(&whole, o) ? BRAZE_INT64 : -1;
}

/* A number as the only element of an array with so many axes. */
static bool only_element(PyObject **out, PyObject *o, int ndim)
{
	static const int64_t ones[2] = {1, 1};
	int d = core.locked ? -1 : number_type(o);
	braze_session *s = d < 0 ? NULL : wait_session();
	braze_array *made = NULL;
	braze_scalar x = {0};
	void *at = NULL;

	if (nd_check(o))
		x = nd(o)->now;
	else if (!s || !convert_plain(&x, o, d))
		return false;
	if (!s || !braze_near_made(&made, &at, s, d, ndim, ones))
		return false;
	convert_store(d, x.bits, at);
	*out = type_new(made, 0);
	return true;
}

static bool at_least(PyObject **out, const struct call *c, int ndim)
{
	braze_array *h = c->n == 1 && !c->names ? fast_array(c->args[0]) : NULL, *made = NULL;
	braze_error err;

	if (!h)
		return c->n == 1 && !c->names && only_element(out, c->args[0], ndim);
	if (nd(c->args[0])->flags)
		return false;
	if (braze_ndim(h) >= ndim) {
		*out = Py_NewRef(c->args[0]);
		return true;
	}
	if (ndim == 2 && braze_ndim(h) == 1) {
		int64_t shape[2] = {1, braze_size(h)};

		return answer(out, braze_reshape(&made, h, 2, shape, &err), &made, c->args[0]);
	}
	return false;
}

bool fast_atleast_1d(PyObject **out, const struct fast *f, const struct call *c)
{
	return at_least(out, c, 1);
}

bool fast_atleast_2d(PyObject **out, const struct fast *f, const struct call *c)
{
	return at_least(out, c, 2);
}

/* ---- Copies ---- */

/* A whole array in C order, whose copies and casts lie as it does. */
static braze_array *simple(PyObject *a)
{
	braze_array *h = fast_array(a);

	return h && !(nd(a)->flags & ND_SCALAR) && braze_is_contiguous(h) ? h : NULL;
}

bool fast_astype(PyObject **out, const struct fast *f, const struct call *c)
{
	braze_array *h = NULL, *made = NULL;
	braze_error err;
	int from = 0, to = -1, rc = 0;

	if (c->names || c->n != 2 || !(h = simple(c->args[0])))
		return false;
	from = braze_dtype_of(h);
	to = fast_dtype(c->args[1]);
	/* What drops an imaginary part warns. */
	if (to < 0 || (from >= BRAZE_COMPLEX64 && to != BRAZE_BOOL && to < BRAZE_COMPLEX64))
		return false;
	rc = from == to ? braze_copy(&made, h, &err) : braze_cast(&made, h, to, &err);
	return fast_new(out, rc, &made, 0);
}

bool fast_copy(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	braze_array *h = NULL, *made = NULL;
	braze_error err;

	if (!fast_bind(slot, f, c) || !(h = simple(slot[0])))
		return false;
	return fast_new(out, braze_copy(&made, h, &err), &made, 0);
}

/* An array with axes in an order: itself, or a copy. */
static bool in_order(PyObject **out, const struct call *c, unsigned order)
{
	braze_array *h = c->n == 1 && !c->names ? fast_array(c->args[0]) : NULL;
	braze_array *of = NULL, *made = NULL;
	int axes[BRAZE_MAX_NDIM], n = h ? braze_ndim(h) : 0;
	braze_error err;

	if (!n || nd(c->args[0])->flags & ND_SCALAR)
		return false;
	if (layout_orders(h) & order) {
		*out = Py_NewRef(c->args[0]);
		return true;
	}
	if (order == LAYOUT_C)
		return fast_new(out, braze_copy(&made, h, &err), &made, 0);
	for (int k = 0; k < n; k++)
		axes[k] = n - 1 - k;
	if (braze_transpose(&of, h, NULL, &err))
		return false;
	if (!braze_copy(&made, of, &err))
		made = layout_permuted(made, axes, n, &err);
	braze_release(of);
	return fast_new(out, !made, &made, 0);
}

bool fast_in_c(PyObject **out, const struct fast *f, const struct call *c)
{
	return in_order(out, c, LAYOUT_C);
}

bool fast_in_fortran(PyObject **out, const struct fast *f, const struct call *c)
{
	return in_order(out, c, LAYOUT_F);
}

/* ---- Facts ---- */

bool fast_shape(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];

	if (!fast_bind(slot, f, c) || !nd_check(slot[0]))
		return false;
	*out = PyObject_GetAttrString(slot[0], "shape");
	return true;
}

bool fast_ndim(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];

	if (!fast_bind(slot, f, c) || !nd_check(slot[0]))
		return false;
	*out = PyLong_FromLong(type_ndim(slot[0]));
	return true;
}

/* Where the element lies that places by each axis, or one in C order, name; -1: Python's. */
static int64_t element_at(braze_array *h, PyObject *const *place, Py_ssize_t n)
{
	bool by_axes = n == braze_ndim(h);
	int64_t delta = 0, left = 0;

	if (!by_axes && (n != 1 || !index_step(&left, place[0], braze_size(h), 1)))
		return -1;
	for (Py_ssize_t k = 0; by_axes && k < n; k++)
		if (!index_step(&delta, place[k], braze_shape(h)[k], braze_strides(h)[k]))
			return -1;
	for (int k = braze_ndim(h) - 1; left; k--) {
		delta += left % braze_shape(h)[k] * braze_strides(h)[k];
		left /= braze_shape(h)[k];
	}
	return delta >= 0 ? delta : -1; /* backwards: rarely */
}

bool fast_item(PyObject **out, const struct fast *f, const struct call *c)
{
	braze_array *h = NULL;
	const char *data = NULL;
	int64_t delta = 0;
	uint64_t bits[2];

	if (c->names || !c->n || !nd_check(c->args[0]) || core.locked)
		return false;
	h = nd(c->args[0])->h;
	if (!h && c->n == 1) {
		*out = convert_number(nd(c->args[0])->now.dtype, nd(c->args[0])->now.bits);
		return true;
	}
	if (!h || (c->n == 1 && braze_size(h) != 1))
		return false;
	if (c->n > 1)
		delta = element_at(h, c->args + 1, c->n - 1);
	if (delta >= 0 && !(data = wait_at_hand(h)) && braze_is_stored(h))
		data = wait_data(h);
	if (!data)
		return false;
	convert_load(braze_dtype_of(h), data + delta, bits);
	*out = convert_number(braze_dtype_of(h), bits);
	return true;
}
