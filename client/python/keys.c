/* SPDX-License-Identifier: Apache-2.0 */
/* keys.c - a[key] and a[key] = value of few rows, by one array or list of places.
 *
 * What NumPy would take an array's making for: arrays in C order, at hand, and at most FEW
 * places in their first axis, whose elements are rows here.  Everything else, a wrong place above
 * all, is for others (numpys.c). */
#include <string.h>

#include "numpys.h"

#define FEW	   256
#define ROWS_BYTES 16384

/* The places that a key names, counted from the front. */
struct places {
	int64_t n, at[FEW];
};

static braze_array *in_rows(PyObject *o)
{
	braze_array *h = nd_check(o) && !(nd(o)->flags & ND_SCALAR) ? nd(o)->h : NULL;

	return h && braze_ndim(h) && braze_is_contiguous(h) && braze_is_near(h) ? h : NULL;
}

static braze_array *vector(PyObject *o)
{
	braze_array *h = in_rows(o);

	return h && braze_ndim(h) == 1 && braze_size(h) <= FEW ? h : NULL;
}

static int64_t row_bytes(braze_array *h)
{
	int64_t bytes = braze_itemsize(h);

	for (int k = 1; k < braze_ndim(h); k++)
		bytes *= braze_shape(h)[k];
	return bytes;
}

static bool read_integers(struct places *p, const int64_t *at, int64_t n, int64_t size)
{
	p->n = n;
	for (int64_t k = 0; k < n; k++) {
		p->at[k] = at[k] < 0 ? at[k] + size : at[k];
		if (p->at[k] < 0 || p->at[k] >= size)
			return false;
	}
	return true;
}

static bool read_list(struct places *p, PyObject *list, int64_t size)
{
	p->n = PyList_Size(list);
	if (p->n > FEW)
		return false;
	for (int64_t k = 0; k < p->n; k++) {
		p->at[k] = 0;
		if (!index_step(&p->at[k], PyList_GetItem(list, k), size, 1))
			return false;
	}
	return true;
}

/* False: this is no such key, or an exception is set. */
static bool read_key(struct places *p, PyObject *self, PyObject *key)
{
	braze_array *a = in_rows(self), *k = a ? vector(key) : NULL;
	int64_t rows = a ? braze_shape(a)[0] : 0;
	const void *data = NULL;

	if (a && PyList_CheckExact(key))
		return read_list(p, key, rows);
	return k && braze_dtype_of(k) == BRAZE_INT64 && (data = wait_data(k)) &&
	       read_integers(p, data, braze_size(k), rows);
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

bool keys_get(PyObject **out, PyObject *self, PyObject *key)
{
	char some[ROWS_BYTES];
	struct places p;
	braze_array *a = nd(self)->h, *made = NULL;
	int64_t shape[BRAZE_MAX_NDIM], bytes = row_bytes(a);
	const char *data = NULL;
	braze_error err;

	if (bytes > ROWS_BYTES || !read_key(&p, self, key) || p.n * bytes > ROWS_BYTES ||
	    !(data = wait_data(a)))
		return false;
	for (int64_t k = 0; k < p.n; k++)
		copy_row(some + k * bytes, data + p.at[k] * bytes, bytes);
	memcpy(shape, braze_shape(a), (size_t)braze_ndim(a) * sizeof *shape);
	shape[0] = p.n;
	return fast_new(out,
			braze_from_data(&made, braze_session_of(a), braze_dtype_of(a),
					braze_ndim(a), shape, NULL, some, &err),
			&made, 0);
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
		return has_rows(v, a, n) && (*from = wait_data(v));
	}
	if (braze_ndim(a) > 1)
		return false;
	if (!(PyFloat_CheckExact(value) && d == BRAZE_FLOAT64) &&
	    !(fast_int(&i, value) && (d == BRAZE_INT64 || d == BRAZE_FLOAT64)))
		return false;
	if (convert_scalar_as(&number, value, d) != 1)
		return false;
	convert_store(d, number.bits, element);
	*step = 0;
	*from = element;
	return true;
}

bool keys_set(PyObject *self, PyObject *key, PyObject *value)
{
	braze_array *a = nd(self)->h;
	const char *from = NULL;
	char element[16], *to = NULL;
	struct places p;
	int64_t step = 0, bytes = row_bytes(a);

	if (!read_key(&p, self, key) || !braze_is_ours(a) ||
	    (nd_check(key) && braze_same_buffer(a, nd(key)->h)) ||
	    !read_value(&from, &step, element, value, a, p.n) || !(to = wait_fence(a)))
		return false;
	for (int64_t k = 0; k < p.n; k++)
		copy_row(to + p.at[k] * bytes, from + k * step, bytes);
	return true;
}
