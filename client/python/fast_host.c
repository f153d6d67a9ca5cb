/* SPDX-License-Identifier: Apache-2.0 */
/* fast_host.c - a plain array's bytes and numbers as Python's objects (every other call is
 * NumPy's). */
#include "native.h"

#include <string.h>

/* The one argument, where its elements are there to be read, side by side in C order; NULL else. */
static const char *elements(braze_array **h, const struct call *c)
{
	const char *data = NULL;

	if (c->names || c->n != 1 || selection_check(c->args[0]))
		return NULL;
	*h = fast_array(c->args[0]);
	if (!*h || nd(c->args[0])->flags || !braze_is_contiguous(*h))
		return NULL;
	data = wait_at_hand(*h);
	return data || !braze_is_stored(*h) ? data : wait_data(*h);
}

bool fast_tobytes(PyObject **out, const struct fast *f, const struct call *c)
{
	braze_array *h = NULL;
	const char *data = elements(&h, c);

	if (!data)
		return fast_numpys(out, f, c);
	*out = PyBytes_FromStringAndSize(data, (Py_ssize_t)braze_size(h) *
						       convert_itemsize(braze_dtype_of(h)));
	return true;
}

/* One of the usual types, without a look at what type it is. */
static PyObject *number_at(int dtype, const char *at)
{
	uint64_t bits[2];

	if (dtype == BRAZE_FLOAT64) {
		double x;
		memcpy(&x, at, sizeof x);
		return PyFloat_FromDouble(x);
	}
	if (dtype == BRAZE_INT64) {
		long x;
		memcpy(&x, at, sizeof x);
		return PyLong_FromLong(x);
	}
	convert_load(dtype, at, bits);
	return convert_number(dtype, bits);
}

/* The usual type by itself: a turn less is much of what an element takes. */
static PyObject *list_of_doubles(const double *at, Py_ssize_t n)
{
	PyObject *list = PyList_New(n);

	for (Py_ssize_t k = 0; list && k < n; k++) {
		PyObject *x = PyFloat_FromDouble(at[k]);

		if (!x || PyList_SetItem(list, k, x))
			Py_CLEAR(list);
	}
	return list;
}

/* The elements from *at on along an axis and those behind it; *at is then behind them. */
static PyObject *list_of(braze_array *h, int axis, const char **at)
{
	Py_ssize_t n = (Py_ssize_t)braze_shape(h)[axis];
	int dtype = braze_dtype_of(h), bytes = convert_itemsize(dtype);
	bool last = axis + 1 == braze_ndim(h);
	PyObject *list = NULL;

	if (last && dtype == BRAZE_FLOAT64 && !((uintptr_t)*at % 8)) {
		list = list_of_doubles((const double *)(const void *)*at, n);
		*at += n * bytes;
		return list;
	}
	list = PyList_New(n);
	for (Py_ssize_t k = 0; list && k < n; k++) {
		PyObject *x = NULL;

		if (last) {
			x = number_at(dtype, *at);
			*at += bytes;
		} else {
			x = list_of(h, axis + 1, at);
		}
		if (!x || PyList_SetItem(list, k, x))
			Py_CLEAR(list);
	}
	return list;
}

bool fast_tolist(PyObject **out, const struct fast *f, const struct call *c)
{
	braze_array *h = NULL;
	const char *data = elements(&h, c);

	if (!data || !braze_ndim(h))
		return fast_numpys(out, f, c);
	*out = list_of(h, 0, &data);
	return true;
}
