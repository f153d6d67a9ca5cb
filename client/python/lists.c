/* SPDX-License-Identifier: Apache-2.0 */
/* lists.c - arrays of Python's numbers, and of ours that are at hand, in lists and tuples.
 *
 * The first pass finds the shape and the type, the second one writes the elements; nothing of the
 * program's runs between them.  What is not plain, or does not fit its type, is NumPy's. */
#include "native.h"

#include <math.h>
#include <string.h>

#define DEEP	   4   /* sequences in each other */
#define FEW_BYTES  512 /* are made on the stack */
#define STACK_MOST 64  /* arrays in a list */

/* In NumPy's order: the type of a list is that of its greatest. */
enum number { BOOLS, INTS, FLOATS, COMPLEX };
static const int type_of[] = {BRAZE_BOOL, BRAZE_INT64, BRAZE_FLOAT64, BRAZE_COMPLEX128};

struct lists {
	int ndim, dtype;
	int64_t shape[DEEP];
	enum number kind;
	char *to; /* the next element */
};

static bool is_row(PyObject *o)
{
	return PyList_CheckExact(o) || PyTuple_CheckExact(o);
}

/* Length and items of a list or tuple: the stable ABI has no access to both alike. */
static Py_ssize_t length(PyObject *row)
{
	return PyList_CheckExact(row) ? PyList_Size(row) : PyTuple_Size(row);
}

static PyObject *item(PyObject *row, Py_ssize_t k)
{
	return PyList_CheckExact(row) ? PyList_GetItem(row, k) : PyTuple_GetItem(row, k);
}

/* A value of ours without axes that need not be waited for. */
static bool is_ours(enum number *kind, PyObject *x)
{
	braze_array *h = nd(x)->h;
	int dtype = type_dtype(x);

	if (h && (braze_ndim(h) || !braze_is_stored(h)))
		return false;
	for (int k = BOOLS; k <= FLOATS; k++)
		if (dtype == type_of[k]) {
			*kind = (enum number)k;
			return true;
		}
	return false;
}

static bool is_number(enum number *kind, PyObject *x)
{
	if (PyFloat_CheckExact(x))
		*kind = FLOATS;
	else if (PyLong_CheckExact(x))
		*kind = INTS;
	else if (nd_check(x))
		return is_ours(kind, x);
	else if (PyBool_Check(x))
		*kind = BOOLS;
	else if (PyComplex_CheckExact(x))
		*kind = COMPLEX;
	else
		return false;
	return true;
}

static bool look_at(struct lists *l, PyObject *data, int depth)
{
	enum number kind = BOOLS;
	Py_ssize_t n = 0;

	if (depth >= l->ndim || depth >= DEEP) {
		if (!is_number(&kind, data))
			return false;
		l->kind = kind > l->kind ? kind : l->kind;
		return true;
	}
	if (!is_row(data) || (n = length(data)) != l->shape[depth])
		return false;
	for (Py_ssize_t k = 0; k < n; k++)
		if (!look_at(l, item(data, k), depth + 1))
			return false;
	return true;
}

/* The shape that the first item of each has, which all must have. */
static bool shape_of(struct lists *l, PyObject *data)
{
	*l = (struct lists){.kind = BOOLS};
	while (is_row(data)) {
		Py_ssize_t n = length(data);

		if ((!n && l->ndim) || l->ndim == DEEP)
			return false;
		l->shape[l->ndim++] = n;
		if (!n)
			break;
		data = item(data, 0);
	}
	return true;
}

/* Python's number as bits of its own kind. */
static bool read_python(enum number *kind, uint64_t bits[2], PyObject *x)
{
	double d = 0;
	int64_t i = 0;

	if (PyFloat_CheckExact(x)) {
		*kind = FLOATS;
		d = PyFloat_AsDouble(x);
		memcpy(bits, &d, sizeof d);
	} else if (PyLong_CheckExact(x)) {
		*kind = INTS;
		if (!fast_int(&i, x))
			return false;
		bits[0] = (uint64_t)i;
	} else if (PyBool_Check(x)) {
		*kind = BOOLS;
		bits[0] = x == Py_True;
	} else {
		*kind = COMPLEX;
		d = PyComplex_RealAsDouble(x);
		memcpy(&bits[0], &d, sizeof d);
		d = PyComplex_ImagAsDouble(x);
		memcpy(&bits[1], &d, sizeof d);
	}
	return true;
}

static bool read_ours(enum number *kind, uint64_t bits[2], PyObject *x)
{
	braze_array *h = nd(x)->h;
	const void *at = NULL;
	braze_error err;

	if (!h) {
		bits[0] = nd(x)->now.bits[0];
		return is_ours(kind, x);
	}
	if (!is_ours(kind, x) || braze_data(&at, h, NULL, NULL, &err))
		return false;
	convert_load(braze_dtype_of(h), at, bits);
	return true;
}

/* Does an integer fit an integer type? */
static bool fits(int64_t i, int dtype)
{
	int bits = 8 * convert_itemsize(dtype);
	bool sign = dtype >= BRAZE_INT8 && dtype <= BRAZE_INT64;

	if (dtype == BRAZE_BOOL)
		return i == 0 || i == 1;
	if (bits == 64)
		return sign || i >= 0;
	return sign ? i >= -(INT64_C(1) << (bits - 1)) && i < INT64_C(1) << (bits - 1)
		    : i >= 0 && i < INT64_C(1) << bits;
}

/* A number as an element of an inexact type; what NumPy warns of is its own. */
static bool write_inexact(char *to, int dtype, enum number kind, const uint64_t bits[2])
{
	double d = 0;
	float f = 0;

	if (kind <= INTS)
		d = (double)(int64_t)bits[0]; /* rounded correctly, as Python's */
	else
		memcpy(&d, bits, sizeof d);
	if (dtype == BRAZE_FLOAT32) {
		/* What would be rounded twice, or be too large, is told. */
		if ((isfinite(d) && fabs(d) > 3e38) || (kind <= INTS && fabs(d) > 0x1p53))
			return false;
		f = (float)d;
		memcpy(to, &f, sizeof f);
		return true;
	}
	memcpy(to, &d, sizeof d);
	if (dtype == BRAZE_COMPLEX128) {
		d = 0;
		memcpy(to + sizeof d, kind == COMPLEX ? (const void *)&bits[1] : &d, sizeof d);
	}
	return true;
}

static bool write_number(struct lists *l, PyObject *x)
{
	uint64_t bits[2] = {0, 0};
	enum number kind = BOOLS;
	char *to = l->to;

	if (!(nd_check(x) ? read_ours(&kind, bits, x) : read_python(&kind, bits, x)))
		return false;
	l->to += convert_itemsize(l->dtype);
	if (l->dtype >= BRAZE_FLOAT16)
		return write_inexact(to, l->dtype, kind, bits);
	if (!fits((int64_t)bits[0], l->dtype))
		return false;
	convert_store(l->dtype, bits, to);
	return true;
}

static bool write_all(struct lists *l, PyObject *data, int depth)
{
	if (depth >= l->ndim || depth >= DEEP)
		return write_number(l, data);
	for (Py_ssize_t k = 0; k < l->shape[depth]; k++)
		if (!write_all(l, item(data, k), depth + 1))
			return false;
	return true;
}

/* Is every number of the kind an element of the type, if it fits? */
static bool is_type_for(int dtype, enum number kind)
{
	if (dtype == BRAZE_FLOAT32)
		return kind <= FLOATS && !core.watching;
	if (dtype == BRAZE_FLOAT64)
		return kind <= FLOATS;
	if (dtype == BRAZE_BOOL)
		return kind == BOOLS;
	return dtype == BRAZE_COMPLEX128 || (dtype < BRAZE_FLOAT16 && kind <= INTS);
}

static bool made_of(braze_array **out, braze_session *s, struct lists *l, PyObject *data)
{
	char few[FEW_BYTES], *room = few;
	int64_t n = convert_itemsize(l->dtype);
	braze_error err;
	bool done = false;

	for (int k = 0; k < l->ndim; k++)
		n *= l->shape[k]; /* as many as there are objects */
	if (n > FEW_BYTES)
		room = PyMem_Malloc((size_t)n);
	l->to = room;
	done = room && write_all(l, data, 0) &&
	       !braze_from_data(out, s, l->dtype, l->ndim, l->shape, NULL, room, &err);
	if (room != few)
		PyMem_Free(room);
	return done;
}

bool lists_array(braze_array **out, PyObject *data, int dtype)
{
	/* First: where it has to be made anew, others may run and change the lists. */
	braze_session *s = wait_session();
	struct lists l;

	if (!s || !shape_of(&l, data) || !look_at(&l, data, 0))
		return false;
	if (dtype < 0)
		dtype = l.ndim && !l.shape[0] ? BRAZE_FLOAT64 : type_of[l.kind];
	l.dtype = dtype;
	return is_type_for(l.dtype, l.kind) && made_of(out, s, &l, data);
}

bool lists_stack(braze_array **out, PyObject *data)
{
	Py_ssize_t n = is_row(data) ? length(data) : 0;
	braze_array *part[STACK_MOST];
	braze_error err;

	if (!n || n > STACK_MOST)
		return false;
	for (Py_ssize_t k = 0; k < n; k++) {
		part[k] = fast_array(item(data, k));
		if (!part[k] || !braze_ndim(part[k]) || !braze_is_contiguous(part[k]) ||
		    braze_ndim(part[k]) != braze_ndim(part[0]) ||
		    braze_dtype_of(part[k]) != braze_dtype_of(part[0]) ||
		    memcmp(braze_shape(part[k]), braze_shape(part[0]),
			   (size_t)braze_ndim(part[0]) * sizeof(int64_t)))
			return false;
	}
	return braze_ndim(part[0]) < BRAZE_MAX_NDIM && braze_size(part[0]) &&
	       !braze_stack(out, (int)n, part, 0, -1, &err);
}
