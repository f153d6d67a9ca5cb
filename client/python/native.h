/* SPDX-License-Identifier: Apache-2.0 */
/* native.h - calls that need no Python frame.
 *
 * A function or method of braze.numpy that stands in fast.def is an object of the type
 * native_function (native.c): a function of C, which answers where the arguments are
 * plain, and the function in Python, unchanged, which gets every other call.  Plain are
 * arrays of ours, Python's numbers and sequences, types by their usual names; what C does not
 * know for certain, an error above all, is Python's. */
#ifndef BRAZE_NATIVE_H
#define BRAZE_NATIVE_H

#include "core.h"

/* The calling convention of PEP 590, which the stable interface names from 3.12 on, is
 * the same in 3.11. */
#if Py_LIMITED_API < 0x030c0000
#define Py_TPFLAGS_HAVE_VECTORCALL     (1UL << 11)
#define PY_VECTORCALL_ARGUMENTS_OFFSET ((size_t)1 << (8 * sizeof(size_t) - 1))
typedef PyObject *(*vectorcallfunc)(PyObject *, PyObject *const *, size_t, PyObject *);
PyAPI_FUNC(PyObject *) PyObject_Vectorcall(PyObject *, PyObject *const *, size_t, PyObject *);
PyAPI_FUNC(PyObject *) PyVectorcall_Call(PyObject *, PyObject *, PyObject *);
#endif
static inline Py_ssize_t vectorcall_count(size_t nargsf)
{
	return (Py_ssize_t)(nargsf & ~PY_VECTORCALL_ARGUMENTS_OFFSET);
}

#define FAST_ARGS 8

/* As the interpreter passes it: n by place, then those that names (or NULL) names. */
struct call {
	PyObject *const *args;
	Py_ssize_t n;
	PyObject *names;
};

/* Is the first argument a list or tuple? */
static inline bool call_of_list(const struct call *c)
{
	return c->n && (PyTuple_CheckExact(c->args[0]) || PyList_CheckExact(c->args[0]));
}

/* Is it one of Python's or NumPy's numbers that need not be waited for, or a text? */
static inline bool call_of_number(const struct call *c)
{
	PyObject *o = c->n ? c->args[0] : NULL;

	return o && (nd_check(o) ? !nd(o)->h
				 : PyFloat_CheckExact(o) || PyLong_CheckExact(o) ||
					   PyUnicode_CheckExact(o) || PyBool_Check(o) ||
					   PyComplex_CheckExact(o));
}

struct fast;
/* True: answered, *out is the result or NULL with an exception set.  False: it is
 * Python's call; nothing was done that counts. */
typedef bool fast_fn(PyObject **out, const struct fast *f, const struct call *c);

struct fast {
	const char *name; /* "sum", or "ndarray.sum" where the method's arguments differ */
	fast_fn *fn;
	const char *op_name;	/* of the operation that it records, or NULL */
	const char *parameters; /* "a axis * keepdims", as fast.def says; NULL: fn looks */
	int op, n, n_by_place;
	PyObject *parameter[FAST_ARGS]; /* their names, interned */
	const struct fast *numpys;	/* the same in numpys.def, or NULL */
};

/* The arguments by the table's parameters, NULL where absent; false: they do not fit. */
bool fast_bind(PyObject *slot[FAST_ARGS], const struct fast *f, const struct call *c);

/* ---- What the files of fast functions share ---- */

/* The handle of a plain array; NULL: a value without an array, or no array of ours. */
static inline braze_array *fast_array(PyObject *o)
{
	return nd_check(o) && !core.locked ? nd(o)->h : NULL;
}
static inline bool fast_absent(PyObject *o)
{
	return !o || o == Py_None;
}
/* A new array's object, or an error that Python is to repeat: true when out is set.  By
 * address: made is set by the very call whose code is rc. */
static inline bool fast_new(PyObject **out, int rc, braze_array **made, int flags)
{
	if (!rc)
		*out = type_new(*made, flags);
	return !rc;
}
/* The number of a type by any of its usual names; -1: Python's affair. */
int fast_dtype(PyObject *o);
/* An exact int that fits; false: none. */
bool fast_int(int64_t *out, PyObject *o);
/* An axis of ndim, counted from the front. */
bool fast_axis(int *out, PyObject *o, int ndim);
/* An int or a tuple or list of ints; their number, -1: none. */
int fast_dims(int64_t *dims, PyObject *o);

/* fast_reduce.c */
/* By NumPy itself where it has the function (numpys.def), and no exception is set. */
bool fast_numpys(PyObject **out, const struct fast *f, const struct call *c);
/* What fn, told `what`, makes of an array along an axis, of its shape; as of NumPy's functions of
 * elements the result lies in the operand's order of axes. */
typedef int fast_along_fn(braze_array **made, int what, braze_array *of, int axis,
			  braze_error *err);
int fast_along(braze_array **made, fast_along_fn *fn, int what, braze_array *of, int axis,
	       braze_error *err);

#define FAST(name, fn, op, parameters) fast_fn fn;
#include "fast.def"
#undef FAST

/* numpys.c */
int numpys_init(PyObject *module);
/* The row of a function that numpys.def names, as that of fast.def; NULL: none, or an
 * exception is set. */
const struct fast *numpys_find(const char *name);
/* NumPy's function of the row. */
PyObject *numpys_theirs(const struct fast *f);
/* NumPy's array of a list of Python's numbers, which it takes; NULL too. */
PyObject *numpys_numbers(PyObject *list);
/* Its function was left to NumPy by other ways. */
void numpys_left(const struct fast *f);
/* The row of this very function of NumPy's; NULL: none. */
const struct fast *numpys_of(PyObject *theirs);
/* native.c */
/* NumPy's function for one of ours with a path in C, borrowed; NULL: it is none of those. */
PyObject *native_numpys(PyObject *o);
int native_init(PyObject *module);
/* ufunc.c */
int ufunc_init(PyObject *module);
extern PyMethodDef ufunc_methods[];
/* site.c */
int site_init(PyObject *module);
/* fast_make.c */
int fast_make_init(PyObject *numpy);
/* fast_draw.c */
int fast_draw_init(PyObject *module);
/* fast_errstate.c */
int fast_errstate_begin(PyObject *module);
/* dst[...] = src, which has its shape or broadcasts to it, in the same type or kind. */
bool fast_store(PyObject *dst, PyObject *src);

#endif
