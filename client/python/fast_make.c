/* SPDX-License-Identifier: Apache-2.0 */
/* fast_make.c - new arrays from plain arguments (braze/numpy/_creation.py has every
 * other call). */
#include "native.h"

#include <math.h>
#include <string.h>

static PyObject *type_names; /* "f8", float, ...: the number of the type */

int fast_make_init(PyObject *numpy)
{
	static const char *const spelt[] = {
		"bool",	  "int8",   "int16",   "int32",	  "int64",   "uint8",	  "uint16",
		"uint32", "uint64", "float16", "float32", "float64", "complex64", "complex128",
		"int",	  "float",  "complex", "i1",	  "i2",	     "i4",	  "i8",
		"u1",	  "u2",	    "u4",      "u8",	  "f2",	     "f4",	  "f8",
		"c8",	  "c16",    "<i4",     "<i8",	  "<f4",     "<f8",	  "i",
		"l",	  "f",	    "d",       "F",	  "D",	     "?",	  "B"};
	PyObject *const python[] = {(PyObject *)&PyBool_Type, (PyObject *)&PyLong_Type,
				    (PyObject *)&PyFloat_Type, (PyObject *)&PyComplex_Type};
	size_t n = sizeof spelt / sizeof *spelt, all = n + sizeof python / sizeof *python;

	type_names = PyDict_New();
	for (size_t k = 0; type_names && k < all; k++) {
		PyObject *key = k < n ? PyUnicode_FromString(spelt[k]) : Py_NewRef(python[k - n]);
		PyObject *made = key ? PyObject_CallMethod(numpy, "dtype", "O", key) : NULL;
		PyObject *number = made ? PyLong_FromLong(convert_dtype(made)) : NULL;

		if (number && PyDict_SetItem(type_names, key, number))
			Py_CLEAR(number);
		Py_XDECREF(key);
		Py_XDECREF(made);
		Py_XDECREF(number);
		if (!number)
			return -1;
	}
	return type_names ? 0 : -1;
}

int fast_dtype(PyObject *o)
{
	PyObject *found = NULL;

	for (int d = 0; d < N_DTYPES; d++)
		if (o == core.dtypes[d] || o == core.types[d])
			return d;
	if (!PyUnicode_CheckExact(o) && !PyType_Check(o))
		return -1;
	found = PyDict_GetItemWithError(type_names, o);
	if (!found)
		PyErr_Clear();
	return found ? (int)PyLong_AsLong(found) : -1;
}

/* ---- One value ---- */

/* A shape and a type; standard: the type where none is asked for. */
struct plan {
	int64_t shape[BRAZE_MAX_NDIM];
	int ndim, dtype;
	braze_session *session;
};

static bool read_plan(struct plan *p, PyObject *shape, PyObject *dtype, int standard)
{
	p->ndim = fast_dims(p->shape, shape);
	p->dtype = fast_absent(dtype) ? standard : fast_dtype(dtype);
	if (p->ndim < 0 || p->dtype < 0)
		return false;
	for (int k = 0; k < p->ndim; k++)
		if (p->shape[k] < 0)
			return false;
	p->session = wait_session();
	return p->session != NULL;
}

static bool filled(PyObject **out, const struct plan *p, braze_scalar v)
{
	braze_array *made = NULL;
	braze_error err;

	return fast_new(out, braze_full(&made, p->session, p->dtype, p->ndim, p->shape, v, &err),
			&made, 0);
}

/* 0 or 1 in a type. */
static bool unit(braze_scalar *v, int dtype, bool one)
{
	PyObject *number = NULL;
	int rc = 1;

	*v = (braze_scalar){.dtype = dtype};
	if (!one || dtype < BRAZE_FLOAT16) {
		v->bits[0] = one;
		return true;
	}
	number = PyFloat_FromDouble(1);
	rc = convert_scalar_as(v, number, dtype);
	Py_XDECREF(number);
	if (rc != 1)
		PyErr_Clear();
	return rc == 1;
}

static bool filled_unit(PyObject **out, const struct fast *f, const struct call *c, bool one)
{
	PyObject *slot[FAST_ARGS];
	struct plan p;
	braze_scalar v;

	return fast_bind(slot, f, c) && read_plan(&p, slot[0], slot[1], BRAZE_FLOAT64) &&
	       unit(&v, p.dtype, one) && filled(out, &p, v);
}

bool fast_zeros(PyObject **out, const struct fast *f, const struct call *c)
{
	return filled_unit(out, f, c, false);
}

bool fast_ones(PyObject **out, const struct fast *f, const struct call *c)
{
	return filled_unit(out, f, c, true);
}

static bool uninitialised(PyObject **out, const struct plan *p)
{
	braze_array *made = NULL;
	braze_error err;

	return fast_new(out, braze_empty(&made, p->session, p->dtype, p->ndim, p->shape, &err),
			&made, 0);
}

bool fast_empty(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	struct plan p;

	return fast_bind(slot, f, c) && read_plan(&p, slot[0], slot[1], BRAZE_FLOAT64) &&
	       uninitialised(out, &p);
}

/* The type of a number that needs no asking; -1: another object. */
static int number_type(PyObject *o)
{
	if (nd_check(o))
		return nd(o)->h ? -1 : nd(o)->now.dtype;
	return PyFloat_CheckExact(o)  ? BRAZE_FLOAT64
	       : PyBool_Check(o)      ? BRAZE_BOOL
	       : PyLong_CheckExact(o) ? BRAZE_INT64
				      : -1;
}

/* A number in its own type, or an integer as a float64. */
static bool number_in(braze_scalar *v, PyObject *o, int *dtype)
{
	int own = number_type(o);
	int64_t fits = 0;

	if (*dtype < 0)
		*dtype = own;
	if (own < 0 || (own != *dtype && (*dtype != BRAZE_FLOAT64 || own != BRAZE_INT64)) ||
	    (PyLong_CheckExact(o) && !fast_int(&fits, o)))
		return false;
	if (PyBool_Check(o)) {
		*v = (braze_scalar){.dtype = own, .bits = {o == Py_True, 0}};
		return true;
	}
	if (convert_scalar_as(v, o, *dtype) == 1)
		return true;
	PyErr_Clear();
	return false;
}

bool fast_full(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	int dtype = -1;
	struct plan p;
	braze_scalar v;

	if (!fast_bind(slot, f, c) || !slot[1])
		return false;
	if (!fast_absent(slot[2]) && (dtype = fast_dtype(slot[2])) < 0)
		return false;
	return number_in(&v, slot[1], &dtype) && read_plan(&p, slot[0], NULL, dtype) &&
	       filled(out, &p, v);
}

/* ---- As another array ---- */

static bool plan_like(struct plan *p, PyObject *a, PyObject *dtype)
{
	braze_array *h = fast_array(a);

	if (!h || !braze_is_contiguous(h))
		return false;
	p->ndim = braze_ndim(h);
	memcpy(p->shape, braze_shape(h), (size_t)p->ndim * sizeof *p->shape);
	p->dtype = fast_absent(dtype) ? braze_dtype_of(h) : fast_dtype(dtype);
	p->session = braze_session_of(h);
	return p->dtype >= 0;
}

static bool like_unit(PyObject **out, const struct fast *f, const struct call *c, bool one)
{
	PyObject *slot[FAST_ARGS];
	struct plan p;
	braze_scalar v;

	return fast_bind(slot, f, c) && plan_like(&p, slot[0], slot[1]) && unit(&v, p.dtype, one) &&
	       filled(out, &p, v);
}

bool fast_zeros_like(PyObject **out, const struct fast *f, const struct call *c)
{
	return like_unit(out, f, c, false);
}

bool fast_ones_like(PyObject **out, const struct fast *f, const struct call *c)
{
	return like_unit(out, f, c, true);
}

bool fast_empty_like(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	struct plan p;

	return fast_bind(slot, f, c) && plan_like(&p, slot[0], slot[1]) && uninitialised(out, &p);
}

bool fast_full_like(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	struct plan p;
	braze_scalar v;

	return fast_bind(slot, f, c) && slot[1] && plan_like(&p, slot[0], slot[2]) &&
	       number_in(&v, slot[1], &p.dtype) && filled(out, &p, v);
}

/* ---- Rules ---- */

struct range {
	int64_t n;
	braze_scalar start, step;
};

static bool range_of_ints(struct range *r, PyObject *const *end)
{
	int64_t start = 0, stop = 0, step = 1, span = 0;

	if (!fast_int(&start, end[0]) || !fast_int(&stop, end[1]) || !fast_int(&step, end[2]) ||
	    !step || step == INT64_MIN || __builtin_sub_overflow(stop, start, &span))
		return false;
	if ((span > 0) == (step > 0) && span)
		r->n = step > 0 ? (span - 1) / step + 1 : (-(span + 1)) / -step + 1;
	r->start = (braze_scalar){.dtype = BRAZE_INT64, .bits = {(uint64_t)start, 0}};
	r->step = (braze_scalar){.dtype = BRAZE_INT64, .bits = {(uint64_t)step, 0}};
	return true;
}

static bool plain_double(double *out, PyObject *o)
{
	int64_t i = 0;

	if (PyFloat_CheckExact(o)) {
		*out = PyFloat_AsDouble(o);
		return isfinite(*out);
	}
	if (!fast_int(&i, o) || i > 1LL << 53 || i < -(1LL << 53))
		return false;
	*out = (double)i;
	return true;
}

/* NumPy's step is the rounded difference of the first two values. */
static bool range_of_floats(struct range *r, PyObject *const *end)
{
	double start = 0, stop = 0, step = 1, n = 0;

	if (!plain_double(&start, end[0]) || !plain_double(&stop, end[1]) ||
	    !plain_double(&step, end[2]) || step == 0)
		return false;
	n = ceil((stop - start) / step);
	if (!(n < 9e15))
		return false;
	r->n = n > 0 ? (int64_t)n : 0;
	step = start + step - start;
	r->start = (braze_scalar){.dtype = BRAZE_FLOAT64};
	r->step = (braze_scalar){.dtype = BRAZE_FLOAT64};
	memcpy(r->start.bits, &start, sizeof start);
	memcpy(r->step.bits, &step, sizeof step);
	return true;
}

/* arange's three numbers, in which stop alone may be given. */
static bool read_ends(PyObject **end, PyObject *const *slot, PyObject *zero, PyObject *one)
{
	bool alone = fast_absent(slot[1]);

	end[0] = alone ? zero : slot[0];
	end[1] = alone ? slot[0] : slot[1];
	end[2] = fast_absent(slot[2]) ? one : slot[2];
	return end[0] && end[1] && end[2] && end[0] != Py_None && end[1] != Py_None;
}

static bool new_range(PyObject **out, int dtype, const struct range *r)
{
	braze_session *s = wait_session();
	braze_array *made = NULL;
	braze_error err;

	return s && fast_new(out, braze_arange(&made, s, dtype, r->n, r->start, r->step, &err),
			     &made, 0);
}

bool fast_arange(PyObject **out, const struct fast *f, const struct call *c)
{
	static PyObject *zero, *one;
	PyObject *slot[FAST_ARGS], *end[3];
	struct range r = {0};
	int dtype = -1;
	bool ints = false;

	if (!zero)
		zero = PyLong_FromLong(0);
	if (!one)
		one = PyLong_FromLong(1);
	if (!fast_bind(slot, f, c) || !read_ends(end, slot, zero, one))
		return false;
	ints = PyLong_CheckExact(end[0]) && PyLong_CheckExact(end[1]) && PyLong_CheckExact(end[2]);
	dtype = fast_absent(slot[3]) ? ints ? BRAZE_INT64 : BRAZE_FLOAT64 : fast_dtype(slot[3]);
	if (dtype == BRAZE_INT64 ? !ints || !range_of_ints(&r, end)
				 : dtype != BRAZE_FLOAT64 || !range_of_floats(&r, end))
		return false;
	return new_range(out, dtype, &r);
}

/* Of `parts` steps, which reach or would reach the end. */
struct line {
	int64_t n, parts;
	double start, stop;
	bool ends; /* with stop itself */
};

/* How many values, and whether the last one is the end; false: not plain. */
static bool read_count(struct line *l, PyObject *num, PyObject *endpoint)
{
	l->n = 50;
	if ((num && !fast_int(&l->n, num)) || (endpoint && !PyBool_Check(endpoint)))
		return false;
	l->ends = endpoint != Py_False;
	l->parts = l->ends ? l->n - 1 : l->n;
	return l->n >= 0;
}

/* A plain array of floats, without the step. */
static bool is_plain_line(PyObject *retstep, PyObject *dtype, PyObject *axis)
{
	int64_t first = 0;

	return (!retstep || retstep == Py_False) && (!axis || (fast_int(&first, axis) && !first)) &&
	       (fast_absent(dtype) || fast_dtype(dtype) == BRAZE_FLOAT64);
}

static bool read_line(struct line *l, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];

	return fast_bind(slot, f, c) && slot[1] && plain_double(&l->start, slot[0]) &&
	       plain_double(&l->stop, slot[1]) && isfinite(l->stop - l->start) &&
	       read_count(l, slot[2], slot[3]) && is_plain_line(slot[4], slot[5], slot[6]);
}

/* As NumPy rounds: where a step is less than the least number, the way to each point is. */
static void draw_line(double *to, const struct line *l)
{
	double way = l->stop - l->start, step = l->parts > 0 ? way / (double)l->parts : way;

	if (step != 0 || l->parts <= 0)
		for (int64_t k = 0; k < l->n; k++)
			to[k] = (double)k * step + l->start;
	else
		for (int64_t k = 0; k < l->n; k++)
			to[k] = (double)k / (double)l->parts * way + l->start;
	if (l->ends && l->n > 1)
		to[l->n - 1] = l->stop;
}

/* Lines that are not near are operations of braze's. */
bool fast_linspace(PyObject **out, const struct fast *f, const struct call *c)
{
	braze_session *s = NULL;
	braze_array *made = NULL;
	void *point = NULL;
	struct line l;

	if (!read_line(&l, f, c) || !(s = wait_session()) ||
	    !braze_copies_near(s, BRAZE_FLOAT64, l.n) ||
	    !braze_near_made(&made, &point, s, BRAZE_FLOAT64, 1, &l.n))
		return false;
	draw_line(point, &l);
	braze_count_near(s);
	return fast_new(out, 0, &made, 0);
}

/* 0 .. n - 1, in a column or a row. */
static braze_array *count(braze_session *s, int64_t n, bool column)
{
	const braze_scalar zero = {.dtype = BRAZE_INT64},
			   one = {.dtype = BRAZE_INT64, .bits = {1, 0}};
	const int64_t shape[2] = {n, 1};
	braze_array *line = NULL, *made = NULL;
	braze_error err;

	if (braze_arange(&line, s, BRAZE_INT64, n, zero, one, &err) || !column)
		return line;
	if (braze_reshape(&made, line, 2, shape, &err))
		made = NULL;
	braze_release(line);
	return made;
}

/* Ones where the row's number is the column's. */
static bool diagonal(PyObject **out, int op, const struct plan *p)
{
	braze_arg arg[2] = {{0}};
	braze_array *mask = NULL, *made = NULL;
	braze_error err;
	int rc = -1;

	arg[0].array = count(p->session, p->shape[1], false);
	arg[1].array = count(p->session, p->shape[0], true);
	if (arg[0].array && arg[1].array)
		rc = braze_apply(&mask, p->session, op, 2, arg, &err);
	if (!rc && p->dtype == BRAZE_BOOL)
		made = mask;
	else if (!rc)
		rc = braze_cast(&made, mask, p->dtype, &err);
	braze_release(arg[0].array);
	braze_release(arg[1].array);
	if (made != mask)
		braze_release(mask);
	return fast_new(out, rc, &made, 0);
}

static bool square(PyObject **out, const struct fast *f, PyObject *n, PyObject *m, PyObject *dtype)
{
	int64_t extent[2] = {0, 0};
	struct plan p = {.ndim = 2};

	p.dtype = fast_absent(dtype) ? BRAZE_FLOAT64 : fast_dtype(dtype);
	if (p.dtype < 0 || !fast_int(&extent[0], n) ||
	    !fast_int(&extent[1], fast_absent(m) ? n : m) || extent[0] < 0 || extent[1] < 0)
		return false;
	memcpy(p.shape, extent, sizeof extent);
	p.session = wait_session();
	return p.session && diagonal(out, f->op, &p);
}

bool fast_eye(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	int64_t k = 0;

	/* float is what is meant by no type here, but numpy.dtype(None) is, too. */
	if (!fast_bind(slot, f, c) || (slot[2] && (!fast_int(&k, slot[2]) || k)))
		return false;
	return square(out, f, slot[0], slot[1], slot[3]);
}

bool fast_identity(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];

	return fast_bind(slot, f, c) && square(out, f, slot[0], NULL, slot[1]);
}

/* ---- From data ---- */

/* An array whose copy lies as it does. */
static bool is_copied(PyObject *o, PyObject *dtype)
{
	braze_array *h = fast_array(o);

	return h && braze_ndim(h) && fast_absent(dtype) && !nd(o)->flags && !layout_matters(h);
}

/* Likewise, in another type; what drops an imaginary part warns. */
static bool is_cast(PyObject *o, PyObject *dtype)
{
	int to = fast_absent(dtype) ? -1 : fast_dtype(dtype);

	return to >= 0 && is_copied(o, NULL) && type_dtype(o) != to &&
	       (type_dtype(o) < BRAZE_COMPLEX64 || to == BRAZE_BOOL || to >= BRAZE_COMPLEX64);
}

static bool cast_array(PyObject **out, PyObject *o, PyObject *dtype)
{
	braze_array *made = NULL;
	braze_error err;

	return is_cast(o, dtype) &&
	       fast_new(out, braze_cast(&made, nd(o)->h, fast_dtype(dtype), &err), &made, 0);
}

bool fast_asarray(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	braze_array *h = NULL;

	if (c->n == 1 && !c->names && fast_array(c->args[0]) &&
	    !(nd(c->args[0])->flags & ND_SCALAR)) {
		*out = Py_NewRef(c->args[0]);
		return true;
	}
	if (!fast_bind(slot, f, c))
		return false;
	if (!nd_check(slot[0]))
		return fast_array_of(out, f, c);
	if (cast_array(out, slot[0], slot[1]))
		return true;
	if (!(h = fast_array(slot[0])) || nd(slot[0])->flags & ND_SCALAR ||
	    (!fast_absent(slot[1]) && fast_dtype(slot[1]) != braze_dtype_of(h)))
		return false;
	*out = Py_NewRef(slot[0]);
	return true;
}

/* The integers of a range of Python's. */
static bool range_array(PyObject **out, PyObject *o, PyObject *dtype)
{
	static const char *const names[] = {"start", "stop", "step"};
	PyObject *end[3] = {NULL, NULL, NULL};
	struct range r = {0};
	bool plain = Py_TYPE(o) == &PyRange_Type &&
		     (fast_absent(dtype) || fast_dtype(dtype) == BRAZE_INT64);

	for (int k = 0; plain && k < 3; k++)
		plain = (end[k] = PyObject_GetAttrString(o, names[k])) != NULL;
	plain = plain && range_of_ints(&r, end) && r.n;
	for (int k = 0; k < 3; k++)
		Py_XDECREF(end[k]);
	return plain && new_range(out, BRAZE_INT64, &r);
}

bool fast_array_of(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	braze_array *made = NULL;
	braze_error err;
	int dtype = -1;

	if (!fast_bind(slot, f, c))
		return false;
	if (is_copied(slot[0], slot[1]))
		return fast_new(out, braze_copy(&made, nd(slot[0])->h, &err), &made, 0);
	if (nd_check(slot[0]))
		return cast_array(out, slot[0], slot[1]);
	if (!fast_absent(slot[1]) && (dtype = fast_dtype(slot[1])) < 0)
		return false;
	if (lists_array(&made, slot[0], dtype) || (dtype < 0 && lists_stack(&made, slot[0])))
		return fast_new(out, 0, &made, 0);
	return !PyErr_Occurred() && range_array(out, slot[0], slot[1]);
}

/* How many elements of the type are taken of so many bytes, or -1: what does not fit is told by
 * NumPy, and bytes need not be bools. */
static int64_t taken(int dtype, int64_t bytes, int64_t count)
{
	int64_t size = convert_itemsize(dtype), n = bytes / size;

	if (dtype == BRAZE_BOOL || bytes <= 0 || (count < 0 && (count != -1 || bytes % size)) ||
	    count > n)
		return -1;
	return count < 0 ? n : count;
}

/* Of bytes, which nobody writes: a copy that may not be written, either. */
bool fast_frombuffer(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	braze_session *s = NULL;
	braze_array *made = NULL;
	int64_t count = -1, offset = 0, n = 0;
	const char *data = NULL;
	braze_error err;
	int dtype = BRAZE_FLOAT64;

	if (!fast_bind(slot, f, c) || !PyBytes_CheckExact(slot[0]) ||
	    (slot[1] && (dtype = fast_dtype(slot[1])) < 0) ||
	    (slot[2] && !fast_int(&count, slot[2])) || (slot[3] && !fast_int(&offset, slot[3])))
		return false;
	if (offset < 0 || (n = taken(dtype, PyBytes_Size(slot[0]) - offset, count)) <= 0 ||
	    !(s = wait_session()))
		return false;
	data = PyBytes_AsString(slot[0]) + offset;
	return fast_new(out, braze_from_data(&made, s, dtype, 1, &n, NULL, data, &err), &made,
			ND_READONLY);
}
