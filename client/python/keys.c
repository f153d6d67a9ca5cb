/* SPDX-License-Identifier: Apache-2.0 */
/* keys.c - a[key], a[key] = value and a.take(key) of few rows, by one array or list of places.
 *
 * What NumPy would take an array's making for: arrays in C order, at hand, and not many
 * places in one axis, whose elements are rows here.  Everything else, a wrong place above
 * all, is for others (numpys.c). */
#include <string.h>

#include "numpys.h"

#define FEW	   1024 /* places of a list, or some of them from the end */
#define MANY	   16384
#define ROWS_BYTES (1 << 17)

/* The places that a key names, counted from the front, and its axes. */
struct places {
	int ndim;
	int64_t shape[BRAZE_MAX_NDIM];
	int64_t n;
	const int64_t *at; /* an array's own, or `own` */
	int64_t own[FEW];
};

static braze_array *in_rows(PyObject *o)
{
	braze_array *h = nd_check(o) && !(nd(o)->flags & ND_SCALAR) ? nd(o)->h : NULL;

	return h && braze_ndim(h) && braze_is_contiguous(h) && braze_is_near(h) ? h : NULL;
}

static int64_t bytes_behind(braze_array *h, int axis)
{
	int64_t bytes = braze_itemsize(h);

	for (int k = axis + 1; k < braze_ndim(h); k++)
		bytes *= braze_shape(h)[k];
	return bytes;
}

static int64_t row_bytes(braze_array *h)
{
	return bytes_behind(h, 0);
}

/* Is each of these at least 0 and less than size?  By the sign of all together. */
static bool are_inside(const int64_t *at, int64_t n, int64_t size)
{
	int64_t sign = 0;

	for (int64_t k = 0; k < n; k++)
		sign |= at[k] | (int64_t)((uint64_t)size - 1 - (uint64_t)at[k]);
	return sign >= 0;
}

static bool read_integers(struct places *p, const int64_t *at, int64_t n, int64_t size)
{
	p->n = n;
	p->at = at;
	if (are_inside(at, n, size))
		return true;
	if (n > FEW)
		return false;
	for (int64_t k = 0; k < n; k++)
		p->own[k] = at[k] < 0 ? at[k] + size : at[k];
	p->at = p->own;
	return are_inside(p->own, n, size);
}

static bool read_list(struct places *p, PyObject *list, int64_t size)
{
	p->ndim = 1;
	p->n = p->shape[0] = PyList_Size(list);
	p->at = p->own;
	if (p->n > FEW)
		return false;
	for (int64_t k = 0; k < p->n; k++) {
		p->own[k] = 0;
		if (!index_step(&p->own[k], PyList_GetItem(list, k), size, 1))
			return false;
	}
	return true;
}

/* Places among `size` that an object has, and how they lie.  False: it has none. */
static bool read_places(struct places *p, PyObject *o, int64_t size)
{
	braze_array *k = NULL;
	const void *data = NULL;

	if (PyList_CheckExact(o))
		return read_list(p, o, size);
	k = in_rows(o);
	if (!k || braze_dtype_of(k) != BRAZE_INT64 || braze_size(k) > MANY ||
	    !(data = wait_at_hand(k)))
		return false;
	p->ndim = braze_ndim(k);
	memcpy(p->shape, braze_shape(k), (size_t)p->ndim * sizeof *p->shape);
	return read_integers(p, data, braze_size(k), size);
}

/* A key of one axis. */
static bool read_key(struct places *p, PyObject *self, PyObject *key)
{
	braze_array *a = in_rows(self);

	if (!a || (nd_check(key) && type_ndim(key) != 1))
		return false;
	return read_places(p, key, braze_shape(a)[0]);
}

static void copy_row(char *to, const char *from, int64_t bytes)
{
	switch (bytes) {
	case 8:
		memcpy(to, from, 8);
		break;
	case 4:
		memcpy(to, from, 4);
		break;
	default:
		memcpy(to, from, (size_t)bytes);
	}
}

/* Which rows: those of an axis of `size`, of so many bytes, in each of `outer`. */
struct rows {
	int64_t outer, size, bytes;
};

static void copy_rows(char *to, const char *from, const struct rows *r, const struct places *p)
{
	const int64_t *at = p->at;
	int64_t n = p->n, bytes = r->bytes; /* what is written may be any memory */

	for (int64_t o = 0; o < r->outer; o++, from += r->size * bytes)
		for (int64_t k = 0; k < n; k++, to += bytes)
			copy_row(to, from + at[k] * bytes, bytes);
}

/* The same, of elements of the usual size. */
static void copy_words(char *to, const char *from, const struct places *p)
{
	const int64_t *at = p->at;

	for (int64_t k = 0, n = p->n; k < n; k++)
		memcpy(to + 8 * k, from + 8 * at[k], 8);
}

/* A new array of the rows at p; its shape. */
static bool choose(PyObject **out, braze_array *a, const struct rows *r, const struct places *p,
		   int ndim, const int64_t *shape)
{
	const char *from = NULL;
	braze_array *made = NULL;
	void *to = NULL;

	if (r->bytes > ROWS_BYTES || r->outer > ROWS_BYTES || r->bytes * r->outer > ROWS_BYTES ||
	    p->n * r->bytes * r->outer > ROWS_BYTES || !(from = wait_at_hand(a)) ||
	    !braze_near_made(&made, &to, braze_session_of(a), braze_dtype_of(a), ndim, shape))
		return false;
	if (r->bytes == 8 && r->outer == 1)
		copy_words(to, from, p);
	else
		copy_rows(to, from, r, p);
	braze_count_near(core.session);
	*out = type_new(made, 0);
	return true;
}

bool keys_get(PyObject **out, PyObject *self, PyObject *key)
{
	struct places p;
	braze_array *a = nd(self)->h;
	int64_t shape[BRAZE_MAX_NDIM];
	struct rows r;

	if (core.locked || !read_key(&p, self, key))
		return false;
	r = (struct rows){1, braze_shape(a)[0], row_bytes(a)};
	memcpy(shape, braze_shape(a), (size_t)braze_ndim(a) * sizeof *shape);
	shape[0] = p.n;
	return choose(out, a, &r, &p, braze_ndim(a), shape);
}

/* The axes before the one, those of the places, and the axes behind. */
static int taken_shape(int64_t *shape, braze_array *a, int axis, const struct places *p)
{
	int n = braze_ndim(a) - 1 + p->ndim, k = 0;

	if (n > BRAZE_MAX_NDIM)
		return -1;
	for (int i = 0; i < axis; i++)
		shape[k++] = braze_shape(a)[i];
	for (int i = 0; i < p->ndim; i++)
		shape[k++] = p->shape[i];
	for (int i = axis + 1; i < braze_ndim(a); i++)
		shape[k++] = braze_shape(a)[i];
	return n;
}

static bool take(PyObject **out, braze_array *a, PyObject *places, PyObject *along)
{
	struct rows r = {1, braze_size(a), braze_itemsize(a)};
	int64_t shape[BRAZE_MAX_NDIM];
	int axis = 0, ndim = 0;
	struct places p;

	if (fast_absent(along)) /* of all elements */
		return read_places(&p, places, r.size) && choose(out, a, &r, &p, p.ndim, p.shape);
	if (!fast_axis(&axis, along, braze_ndim(a)))
		return false;
	r.size = braze_shape(a)[axis];
	r.bytes = bytes_behind(a, axis);
	for (int k = 0; k < axis; k++)
		r.outer *= braze_shape(a)[k];
	if (!read_places(&p, places, r.size) || (ndim = taken_shape(shape, a, axis, &p)) < 0)
		return false;
	return choose(out, a, &r, &p, ndim, shape);
}

bool fast_take(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	braze_array *a = NULL;

	if (core.locked || !fast_bind(slot, f, c) || !slot[1] || !fast_absent(slot[3]) || slot[4])
		return fast_numpys(out, f, c);
	a = in_rows(slot[0]);
	return (a && take(out, a, slot[1], slot[2])) ||
	       target_take(out, slot[0], slot[1], slot[2]) || fast_numpys(out, f, c);
}

/* Are v's elements n rows as a has them, and elsewhere? */
static bool has_rows(braze_array *v, braze_array *a, int64_t n)
{
	const int64_t *one = braze_shape(v), *other = braze_shape(a);

	return braze_dtype_of(v) == braze_dtype_of(a) && braze_ndim(v) == braze_ndim(a) &&
	       one[0] == n &&
	       !memcmp(one + 1, other + 1, (size_t)(braze_ndim(a) - 1) * sizeof *one) &&
	       !braze_same_buffer(v, a);
}

/* A number that becomes an element without a warning, or as many rows of the type. */
static bool read_value(const char **from, int64_t *step, char *element, PyObject *value,
		       braze_array *a, int64_t n)
{
	int d = braze_dtype_of(a);
	braze_array *v = in_rows(value);
	braze_scalar number;
	int64_t i = 0;

	if (v) {
		*step = row_bytes(v);
		return has_rows(v, a, n) && (*from = wait_at_hand(v));
	}
	if (braze_ndim(a) > 1)
		return false;
	if (!(PyFloat_CheckExact(value) && d == BRAZE_FLOAT64) &&
	    !(fast_int(&i, value) && (d == BRAZE_INT64 || d == BRAZE_FLOAT64)))
		return false;
	if (convert_scalar_as(&number, value, d) != 1) {
		PyErr_Clear();
		return false;
	}
	convert_store(d, number.bits, element);
	*step = 0;
	*from = element;
	return true;
}

/* Rows of the value, one after the other (or the same: step 0), to their places. */
static void put_at(char *to, const char *from, int64_t step, int64_t bytes, const struct places *p)
{
	const int64_t *at = p->at;
	int64_t word = 0, n = p->n;

	if (bytes == 8)
		memcpy(&word, from, n ? 8 : 0);
	if (bytes == 8 && !step)
		for (int64_t k = 0; k < n; k++)
			memcpy(to + 8 * at[k], &word, 8);
	else if (bytes == 8)
		for (int64_t k = 0; k < n; k++, from += step)
			memcpy(to + 8 * at[k], from, 8);
	else
		for (int64_t k = 0; k < n; k++, from += step)
			copy_row(to + at[k] * bytes, from, bytes);
}

bool keys_set(int *rc, PyObject *self, PyObject *key, PyObject *value)
{
	braze_array *a = nd(self)->h;
	const char *from = NULL;
	char element[16], *to = NULL;
	struct places p;
	int64_t step = 0, bytes = 0;

	if (core.locked || nd(self)->flags || !read_key(&p, self, key) || !braze_is_ours(a) ||
	    (nd_check(key) && braze_same_buffer(a, nd(key)->h)) ||
	    !read_value(&from, &step, element, value, a, p.n))
		return false;
	/* There is nothing to wait for, but something to be told, maybe. */
	to = core.reports ? NULL : braze_written_at_hand(a);
	if (!to)
		to = wait_fence(a);
	*rc = to ? 0 : -1;
	bytes = row_bytes(a);
	if (to)
		put_at(to, from, step, bytes, &p);
	braze_count_near(core.session);
	return true;
}
