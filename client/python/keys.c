/* SPDX-License-Identifier: Apache-2.0 */
/* keys.c - a[key] and a[key] = value of few elements, by one array of places or a mask.
 *
 * What NumPy would take an array's making for: vectors in C order, at hand, of at most FEW
 * elements.  Everything else, a wrong place above all, is for others (numpys.c). */
#include <string.h>

#include "numpys.h"

#define FEW 256

/* The places that a key names, counted from the front. */
struct places {
	int64_t n, at[FEW];
};

static braze_array *vector(PyObject *o)
{
	braze_array *h = nd_check(o) && !(nd(o)->flags & ND_SCALAR) ? nd(o)->h : NULL;

	return h && braze_ndim(h) == 1 && braze_size(h) <= FEW && braze_is_contiguous(h) &&
			       braze_is_near(h)
		       ? h
		       : NULL;
}

static void read_mask(struct places *p, const uint8_t *mask, int64_t n)
{
	p->n = 0;
	for (int64_t k = 0; k < n; k++) {
		p->at[p->n] = k;
		p->n += mask[k] != 0;
	}
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

/* False: this is no such key, or an exception is set. */
static bool read_key(struct places *p, PyObject *self, PyObject *key)
{
	braze_array *a = vector(self), *k = a ? vector(key) : NULL;
	int d = k ? braze_dtype_of(k) : -1;
	bool mask = d == BRAZE_BOOL && braze_size(k) == braze_size(a);
	const void *data = NULL;

	if ((!mask && d != BRAZE_INT64) || !(data = wait_data(k)))
		return false;
	if (!mask)
		return read_integers(p, data, braze_size(k), braze_size(a));
	read_mask(p, data, braze_size(k));
	return true;
}

static void copy_element(char *to, const char *from, int bytes)
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
	char some[FEW * 16];
	struct places p;
	braze_array *a = nd(self)->h, *made = NULL;
	const char *data = NULL;
	braze_error err;
	int bytes = 0;

	if (!read_key(&p, self, key) || !(data = wait_data(a)))
		return false;
	bytes = braze_itemsize(a);
	for (int64_t k = 0; k < p.n; k++)
		copy_element(some + k * bytes, data + p.at[k] * bytes, bytes);
	return fast_new(out,
			braze_from_data(&made, braze_session_of(a), braze_dtype_of(a), 1, &p.n,
					NULL, some, &err),
			&made, 0);
}

/* A number that becomes an element without a warning, or as many elements of the type. */
static bool read_value(const char **from, int *step, char *element, PyObject *value, braze_array *a,
		       int64_t n)
{
	int d = braze_dtype_of(a);
	braze_array *v = vector(value);
	braze_scalar number;
	int64_t i = 0;

	if (v) {
		*step = braze_itemsize(v);
		return braze_dtype_of(v) == d && braze_size(v) == n && !braze_same_buffer(v, a) &&
		       (*from = wait_data(v));
	}
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
	int step = 0, bytes = 0;

	if (!read_key(&p, self, key) || !braze_is_writable(a) || braze_same_buffer(a, nd(key)->h) ||
	    !read_value(&from, &step, element, value, a, p.n) || !(to = wait_fence(a)))
		return false;
	bytes = braze_itemsize(a);
	for (int64_t k = 0; k < p.n; k++)
		copy_element(to + p.at[k] * bytes, from + k * step, bytes);
	return true;
}
