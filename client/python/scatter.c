/* SPDX-License-Identifier: Apache-2.0 */
/* scatter.c - a[key] = value where arrays of ours in the key name places.
 *
 * In: what braze_scatter writes as NumPy does it.  Everything else is for others (numpys.c), a
 * wrong place above all: nothing is written before all places are known to be right. */
#include "numpys.h"
#include "targets.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- Values ---- */

enum kind { BOOLS, SIGNED, UNSIGNED, FLOATS, COMPLEX };

static enum kind kind_of(int d)
{
	return d == BRAZE_BOOL	    ? BOOLS
	       : d <= BRAZE_INT64   ? SIGNED
	       : d <= BRAZE_UINT64  ? UNSIGNED
	       : d <= BRAZE_FLOAT64 ? FLOATS
				    : COMPLEX;
}

/* Does every number of the one type have a place in the other, so that NumPy casts without a
 * warning?  Integers wrap around, or lose digits. */
static bool casts_quietly(int from, int to)
{
	enum kind f = kind_of(from), t = kind_of(to);

	if (from == to || f == BOOLS || t == BOOLS)
		return f != COMPLEX || from == to;
	if (f <= UNSIGNED)
		return t <= UNSIGNED || to != BRAZE_FLOAT16;
	return (f == t && from < to) ||
	       (t == COMPLEX && (to == BRAZE_COMPLEX128 || from <= BRAZE_FLOAT32));
}

/* Has every number of the one type an equal one in the other? */
static bool casts_safely(int from, int to)
{
	enum kind f = kind_of(from), t = kind_of(to);
	int digits = 8 * convert_itemsize(to), wanted = 8 * convert_itemsize(from);

	if (from == to || f == BOOLS)
		return true;
	if (f == t)
		return wanted <= digits;
	if (f == UNSIGNED && t == SIGNED)
		return wanted < digits;
	if (t < f || t <= UNSIGNED)
		return false;
	digits /= t == COMPLEX ? 2 : 1;
	/* Integers of up to half the bits, and NumPy takes those of 64 for floats of 64. */
	return f == FLOATS ? wanted <= digits : wanted < digits || digits == 64;
}

/* A number by itself, whose type NumPy takes for an array's. */
static bool is_own_type(PyObject *value, int dtype)
{
	bool wide = dtype == BRAZE_FLOAT64 || dtype == BRAZE_COMPLEX128;

	return PyFloat_CheckExact(value)
		       ? wide
		       : PyLong_CheckExact(value) && (wide || dtype == BRAZE_INT64);
}

/* The value for elements of a type; false: NumPy casts it.  An operation is of the array's type
 * only if the value's gives way to it. */
static bool read_value(braze_arg *out, PyObject *value, int dtype, int op)
{
	bool store = op == BRAZE_STORE;
	char element[16];

	if (nd_check(value) && nd(value)->h && !(nd(value)->flags & ND_SCALAR)) {
		int d = braze_dtype_of(nd(value)->h);

		out->array = nd(value)->h;
		return store ? casts_quietly(d, dtype) : casts_safely(d, dtype);
	}
	if (nd_check(value) || (!store && !is_own_type(value, dtype)) ||
	    !masks_number(element, value, dtype))
		return false;
	out->array = NULL;
	out->scalar.dtype = dtype;
	out->scalar.weak = 0;
	convert_load(dtype, element, out->scalar.bits);
	return true;
}

/* ---- Writing ---- */

/* What is a mistake of the program's NumPy tells; what came up in a wait is told here. */
static bool is_written(const braze_error *err)
{
	if (!err->code)
		return !watch_reports();
	if (PyErr_Occurred() || err->code == BRAZE_E_INTERRUPTED)
		wait_raise(err);
	return false;
}

static bool shares(const struct target *t, braze_array *h)
{
	for (int k = 0; k < t->n; k++)
		if (t->index[k].array && braze_same_buffer(t->index[k].array, h))
			return true;
	return false;
}

static bool write_value(const struct target *t, int op, PyObject *value)
{
	braze_error err = {0};
	braze_arg arg = {0};

	/* Nothing to write: NumPy looks at the places all the same. */
	if (!braze_size(t->view) || shares(t, t->view) ||
	    !read_value(&arg, value, braze_dtype_of(t->view), op))
		return false;
	err.code = braze_scatter(t->view, op, t->n, t->axis, NULL, t->index, arg,
				 wait_check_signals, NULL, &err);
	return is_written(&err);
}

static bool write_key(PyObject *self, int op, PyObject *key, PyObject *value)
{
	struct target t;
	bool done = false;

	if (nd(self)->flags)
		return false;
	if (target_read(&t, key, nd(self)->h, true))
		done = write_value(&t, op, value);
	else
		PyErr_Clear(); /* NumPy tells it in its words */
	target_drop(&t);
	return done;
}

bool scatter_set(PyObject *self, PyObject *key, PyObject *value)
{
	return write_key(self, BRAZE_STORE, key, value);
}

/* ---- Functions' at() ---- */

/* Operands with whose errors NumPy tells those that were made: of an overflow, of what is invalid.
 */
static const struct {
	const char *op;
	double of[2][2];
} samples[] = {
	{"add", {{DBL_MAX, DBL_MAX}, {HUGE_VAL, -HUGE_VAL}}},
	{"subtract", {{DBL_MAX, -DBL_MAX}, {HUGE_VAL, HUGE_VAL}}},
	{"multiply", {{DBL_MAX, DBL_MAX}, {HUGE_VAL, 0}}},
	{"maximum", {{1, 1}, {NAN, 1}}},
	{"minimum", {{1, 1}, {NAN, 1}}},
};

/* NumPy's warnings, by its own function: what is done with them is asked of it. */
static bool tell_errors(const struct fast *f, unsigned errors)
{
	const double *over = NULL, *wrong = NULL;
	PyObject *a = NULL, *made = NULL;

	for (size_t k = 0; k < sizeof samples / sizeof *samples; k++)
		if (!strcmp(samples[k].op, f->op_name)) {
			over = samples[k].of[!(errors & BRAZE_OVERFLOW)];
			wrong = samples[k].of[(errors & BRAZE_INVALID) != 0];
		}
	if (!over || !f->numpys)
		return true;
	a = numpys_numbers(Py_BuildValue("[dd]", over[0], wrong[0]));
	if (a)
		made = PyObject_CallFunction(numpys_theirs(f->numpys), "O[ii][dd]", a, 0, 1,
					     over[1], wrong[1]);
	Py_XDECREF(a);
	Py_XDECREF(made);
	return made != NULL;
}

bool fast_at(PyObject **out, const struct fast *f, const struct call *c)
{
	bool plain =
		!core.locked && !core.watching && c->n == 3 && !c->names && fast_array(c->args[0]);
	unsigned errors = 0;

	if (!plain || !write_key(c->args[0], f->op, c->args[1], c->args[2]))
		return fast_numpys(out, f, c);
	braze_count_near(core.session);
	errors = braze_scatter_errors(core.session);
	if (!errors || tell_errors(f, errors))
		*out = Py_NewRef(Py_None);
	return true;
}

/* ---- put ---- */

/* An array in C order as a vector; NULL: it is not in order. */
static braze_array *flat(PyObject *o)
{
	braze_array *h = nd_check(o) && !(nd(o)->flags & ND_SCALAR) ? nd(o)->h : NULL, *v = NULL;
	int64_t n = h ? braze_size(h) : 0, step = h ? braze_itemsize(h) : 0;
	braze_error err;

	if (!h || !n || !braze_is_contiguous(h) ||
	    braze_view(&v, h, braze_dtype_of(h), 1, &n, &step, braze_offset(h), &err))
		return NULL;
	return v;
}

/* As many values as places, or one. */
static bool flat_value(braze_arg *out, PyObject *value, int dtype, int64_t n)
{
	bool fits = read_value(out, value, dtype, BRAZE_STORE);

	if (!fits || !out->array) {
		out->array = NULL;
		return fits;
	}
	out->array = flat(value); /* the caller's */
	return out->array && (braze_size(out->array) == n || braze_size(out->array) == 1);
}

static bool put_flat(braze_array *a, braze_array *at, PyObject *value)
{
	const braze_arg index = {.array = at};
	braze_error err = {0};
	braze_arg arg = {0};
	const int axis = 0;
	bool done = false;

	if (flat_value(&arg, value, braze_dtype_of(a), braze_size(at))) {
		err.code = braze_scatter(a, BRAZE_STORE, 1, &axis, NULL, &index, arg,
					 wait_check_signals, NULL, &err);
		done = is_written(&err);
	}
	braze_release(arg.array);
	return done;
}

/* Wrong places are NumPy's, which writes those before them. */
bool fast_put(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *slot[FAST_ARGS];
	braze_array *a = NULL, *at = NULL;
	bool done = false;

	if (!core.locked && fast_bind(slot, f, c) && !slot[3] && slot[2] && fast_array(slot[0]) &&
	    !nd(slot[0])->flags && target_places(slot[1], true) &&
	    !braze_same_buffer(nd(slot[0])->h, nd(slot[1])->h)) {
		a = flat(slot[0]);
		at = a ? flat(slot[1]) : NULL;
		done = at && put_flat(a, at, slot[2]);
		braze_release(a);
		braze_release(at);
	}
	if (!done)
		return fast_numpys(out, f, c);
	braze_count_near(core.session);
	*out = Py_NewRef(Py_None);
	return true;
}
