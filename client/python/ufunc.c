/* SPDX-License-Identifier: Apache-2.0 */
/* ufunc.c - the type of universal functions.
 *
 * A call of plain operands, with an array of ours as output perhaps, is recorded here; one
 * of numbers alone is NumPy's, as those are its scalars.  All else, and every method,
 * is Python's (braze/numpy/_ufuncs.py), which keeps what a ufunc says of itself in its
 * dictionary. */
#include "native.h"

#include <string.h>

enum kind { NONE, ELEMENTS, POWER, PRODUCT, PAIR };

struct ufunc {
	PyObject_HEAD vectorcallfunc call;
	enum kind kind;
	int op, nin;
	const struct pair *pair; /* of two results */
	const struct fast *row;	 /* of one that only NumPy computes, or NULL */
	PyObject *theirs;	 /* NumPy's */
	PyObject *general;	 /* (self, args, kwargs) */
	PyObject *dict, *weak;
};

/* Functions with two results: an operation for each, which become one kernel. */
static struct pair {
	const char *name, *op_name[2];
	bool watched; /* do they report errors, as operations of other names? */
	int op[2];
} pairs[] = {
	{"divmod", {"floor_divide", "remainder"}, true, {-1, -1}},
	{"modf", {"modf.fraction", "trunc"}, false, {-1, -1}},
	{"frexp", {"frexp.mantissa", "frexp.exponent"}, false, {-1, -1}},
};

static PyTypeObject *ufunc_type;
static PyObject *out_name, *dtype_name;

static bool is_number(PyObject *o)
{
	return PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyBool_Check(o) ||
	       PyComplex_CheckExact(o) || (nd_check(o) && !nd(o)->h) || convert_given_type(o) >= 0;
}

static bool is_integer(PyObject *o, bool sign)
{
	int d = nd_check(o) ? type_dtype(o) : PyFloat_CheckExact(o) ? BRAZE_FLOAT64 : BRAZE_INT64;

	return sign ? d >= BRAZE_INT8 && d <= BRAZE_INT64 : d <= BRAZE_UINT64;
}

/* Integers to signed integer powers: only the values tell the error. */
static bool power_is_plain(PyObject *const *args)
{
	int64_t e = -1;

	for (int k = 0; k < 2; k++)
		if (!nd_check(args[k]) && !PyFloat_CheckExact(args[k]) &&
		    !PyLong_CheckExact(args[k]))
			return false;
	return !is_integer(args[0], false) || !is_integer(args[1], true) ||
	       (fast_int(&e, args[1]) && e >= 0) || arith_none_negative(args[1], false);
}

/* NumPy's ufunc of numbers: its scalar is a value of ours. */
static PyObject *of_numbers(const struct ufunc *self, PyObject *const *args)
{
	PyObject *plain[4] = {NULL}, *made = NULL, *r = NULL;
	bool whole = true;

	for (int k = 0; k < self->nin && whole; k++) {
		plain[k + 1] = number_given(args[k]);
		whole = plain[k + 1] != NULL;
	}
	if (whole)
		made = PyObject_Vectorcall(self->theirs, plain + 1,
					   (size_t)self->nin | PY_VECTORCALL_ARGUMENTS_OFFSET,
					   NULL);
	for (int k = 0; k < self->nin; k++)
		Py_XDECREF(plain[k + 1]);
	if (made)
		r = number_taken(made);
	Py_XDECREF(made);
	return r;
}

/* By the loop that arrays take, where it is known to be NumPy's type; scalars of NumPy's are as
 * ours. */
static bool by_loop(PyObject **r, const struct ufunc *self, PyObject *const *args)
{
	PyObject *taken[3] = {NULL};
	bool whole = true, done = false;

	for (int k = 0; k < self->nin && whole; k++)
		whole = (taken[k] = convert_given(args[k])) != NULL;
	*r = NULL;
	done = whole && arith_function(r, self->op, self->nin, taken);
	for (int k = 0; k < self->nin; k++)
		Py_XDECREF(taken[k]);
	return done || !whole;
}

static bool same_shape(braze_array *a, braze_array *b)
{
	return braze_ndim(a) == braze_ndim(b) &&
	       !memcmp(braze_shape(a), braze_shape(b), (size_t)braze_ndim(a) * sizeof(int64_t));
}

/* Do operands give an array of out's shape for certain? */
static bool fits(const struct ufunc *self, PyObject *const *args, PyObject *out)
{
	bool any = false;

	if (!fast_array(out) || nd(out)->flags)
		return false;
	for (int k = 0; k < self->nin; k++) {
		braze_array *h = fast_array(args[k]);

		if (!h && !is_number(args[k]))
			return false;
		if (h && same_shape(h, nd(out)->h))
			any = true;
		else if (h && braze_ndim(h))
			return false;
	}
	return any;
}

bool fast_store(PyObject *dst, PyObject *src)
{
	braze_error err;

	return nd_check(src) && nd(src)->h &&
	       !braze_assign(nd(dst)->h, braze_arg_array(nd(src)->h), &err);
}

/* Wrong operands are Python's to tell; what a signal handler raised stays. */
static void leave_errors(void)
{
	if (PyErr_Occurred() &&
	    (PyErr_ExceptionMatches(PyExc_ValueError) || PyErr_ExceptionMatches(PyExc_TypeError) ||
	     PyErr_ExceptionMatches(PyExc_OverflowError)))
		PyErr_Clear();
}

/* The result in out=: which then is the result.  Its errors are Python's to tell, since a
 * call that is recorded and not stored has done nothing. */
static bool into(PyObject **r, const struct ufunc *self, PyObject *const *args, PyObject *out)
{
	PyObject *made = NULL;
	bool stored = false;

	if (self->kind == PRODUCT || !fits(self, args, out))
		return false;
	made = number_apply(self->op, args, self->nin);
	stored = made && fast_store(out, made);
	Py_XDECREF(made);
	if (!stored)
		leave_errors();
	else
		*r = watch_reports() ? NULL : Py_NewRef(out);
	return stored;
}

/* In a type that all operands have, and the result. */
static bool in_type(PyObject **r, const struct ufunc *self, PyObject *const *args, PyObject *dtype)
{
	int d = fast_dtype(dtype);
	PyObject *made = NULL;
	bool any = false;

	if (d < 0 || self->kind == PRODUCT)
		return false;
	for (int k = 0; k < self->nin; k++) {
		if (PyFloat_CheckExact(args[k]) && d >= BRAZE_FLOAT16)
			continue;
		if (!fast_array(args[k]) || type_dtype(args[k]) != d)
			return false;
		any = true;
	}
	made = any ? number_apply(self->op, args, self->nin) : NULL;
	leave_errors();
	if (made && nd_check(made) && type_dtype(made) == d) {
		*r = made;
		return true;
	}
	Py_XDECREF(made);
	return false;
}

static bool product(PyObject **r, PyObject *const *args)
{
	if (!fast_array(args[0]) || !fast_array(args[1]))
		return false;
	*r = number_matmul(args[0], args[1]);
	return true;
}

static bool numbers_only(const struct ufunc *self, PyObject *const *args)
{
	for (int k = 0; k < self->nin; k++)
		if (!is_number(args[k]))
			return false;
	return self->nin <= 3;
}

static const struct pair *pair_of(PyObject *theirs)
{
	PyObject *name = PyObject_GetAttrString(theirs, "__name__");
	const char *text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
	const struct pair *found = NULL;

	for (size_t k = 0; text && k < sizeof pairs / sizeof *pairs; k++) {
		if (strcmp(pairs[k].name, text))
			continue;
		found = &pairs[k];
		for (int i = 0; i < 2; i++)
			pairs[k].op[i] = braze_op_find(pairs[k].op_name[i]);
	}
	Py_XDECREF(name);
	return found;
}

/* Arrays of real numbers (of one, of floats: it decides both results' types), and numbers. */
static bool pair_is_plain(const struct ufunc *self, PyObject *const *args)
{
	bool any = false;

	if (self->pair->watched && core.watching)
		return false;
	for (int k = 0; k < self->nin; k++) {
		if (fast_array(args[k])) {
			int d = type_dtype(args[k]);

			if (d >= BRAZE_COMPLEX64 || (self->nin == 1 && d < BRAZE_FLOAT16))
				return false;
			any = true;
		} else if (!PyFloat_CheckExact(args[k]) && !PyLong_CheckExact(args[k])) {
			return false;
		}
	}
	return any;
}

/* frexp's exponents are integers. */
static PyObject *as_exponent(PyObject *made)
{
	braze_array *cast = NULL;
	braze_error err;
	PyObject *r = NULL;

	if (!braze_cast(&cast, nd(made)->h, BRAZE_INT32, &err))
		r = type_new(cast, nd(made)->flags & ND_SCALAR);
	Py_DECREF(made);
	return r;
}

/* Both results of frexp, computed in this call. */
static bool parts(PyObject **r, PyObject *x)
{
	braze_array *a = fast_array(x), *out[2];

	if (!a || !braze_ndim(a) || !braze_parts(out, a))
		return false;
	PyObject *made[2] = {type_new(out[0], 0), type_new(out[1], 0)};
	*r = made[0] && made[1] ? PyTuple_Pack(2, made[0], made[1]) : NULL;
	Py_XDECREF(made[0]);
	Py_XDECREF(made[1]);
	return true;
}

static bool pair(PyObject **r, const struct ufunc *self, PyObject *const *args)
{
	PyObject *made[2] = {NULL, NULL};
	const bool frexp = !strcmp(self->pair->name, "frexp");

	if (!pair_is_plain(self, args))
		return false;
	if (frexp && parts(r, args[0]))
		return true;
	made[0] = number_apply(self->pair->op[0], args, self->nin);
	if (made[0])
		made[1] = number_apply(self->pair->op[1], args, self->nin);
	if (made[1] && frexp)
		made[1] = as_exponent(made[1]);
	if (made[1])
		*r = PyTuple_Pack(2, made[0], made[1]);
	Py_XDECREF(made[0]);
	Py_XDECREF(made[1]);
	leave_errors();
	return *r != NULL;
}

/* Operands by place, nothing else. */
static bool called(PyObject **r, const struct ufunc *self, PyObject *const *args)
{
	if (self->kind == PRODUCT)
		return product(r, args);
	if (self->kind == PAIR)
		return pair(r, self, args);
	if (self->kind == POWER && !power_is_plain(args))
		return false;
	if (!numbers_only(self, args))
		*r = number_apply(self->op, args, self->nin);
	else if (!by_loop(r, self, args))
		*r = of_numbers(self, args);
	return true;
}

/* One argument beyond the operands: out, by place or by name, or dtype. */
static bool called_with(PyObject **r, const struct ufunc *self, PyObject *const *args,
			PyObject *names)
{
	PyObject *name = names ? PyTuple_GetItem(names, 0) : out_name;

	if (self->kind == POWER && !power_is_plain(args))
		return false;
	if (name == dtype_name)
		return in_type(r, self, args, args[self->nin]);
	return name == out_name && into(r, self, args, args[self->nin]);
}

static PyObject *generally(PyObject *o, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
	PyObject *t = PyTuple_New(n), *d = PyDict_New(), *r = NULL;

	for (Py_ssize_t k = 0; t && k < n; k++)
		PyTuple_SetItem(t, k, Py_NewRef(args[k]));
	for (Py_ssize_t k = 0; d && names && k < PyTuple_Size(names); k++)
		if (PyDict_SetItem(d, PyTuple_GetItem(names, k), args[n + k]))
			Py_CLEAR(d);
	if (t && d)
		r = PyObject_CallFunctionObjArgs(((struct ufunc *)o)->general, o, t, d, NULL);
	Py_XDECREF(t);
	Py_XDECREF(d);
	return r;
}

/* One that only NumPy computes. */
static bool called_there(PyObject **r, const struct ufunc *self, const struct call *c)
{
	return self->row && c->n && (fast_array(c->args[0]) || call_of_number(c)) &&
	       self->row->fn(r, self->row, c);
}

/* No error so far, and no selection among the operands? */
static bool is_settled(PyObject *const *args, Py_ssize_t n)
{
	return !PyErr_Occurred() && selection_settle_args(args, n) >= 0;
}

static PyObject *ufunc_call(PyObject *o, PyObject *const *args, size_t nargsf, PyObject *names)
{
	const struct ufunc *self = (const struct ufunc *)o;
	Py_ssize_t n = vectorcall_count(nargsf), all = n + (names ? PyTuple_Size(names) : 0);
	const struct call c = {args, n, names};
	PyObject *r = NULL;

	if (self->kind && n == self->nin && all == n && called(&r, self, args))
		return r;
	if (!is_settled(args, all))
		return NULL;
	if (called_there(&r, self, &c))
		return r;
	if (self->kind && self->kind != PAIR && n >= self->nin && all == self->nin + 1 &&
	    called_with(&r, self, args, n == self->nin ? names : NULL))
		return r;
	return PyErr_Occurred() ? NULL : generally(o, args, n, names);
}

/* ---- NumPy's functions of arrays of ours ---- */

/* Given by the package: NumPy's functions to ours, the module that lists the types which are asked
 * first, and what does all other calls. */
static PyObject *by_theirs, *listing, *asked_generally;

/* use_ufuncs(by NumPy's, module, f) */
static PyObject *use_ufuncs(PyObject *mod, PyObject *args)
{
	PyObject *known = NULL, *module = NULL, *general = NULL;

	if (!PyArg_ParseTuple(args, "O!OO", &PyDict_Type, &known, &module, &general))
		return NULL;
	by_theirs = Py_NewRef(known);
	listing = Py_NewRef(module);
	asked_generally = Py_NewRef(general);
	Py_RETURN_NONE;
}

/* Is there a type that is asked first? */
static bool any_wrapper(void)
{
	PyObject *held = PyObject_GetAttrString(listing, "wrappers");
	bool any = !held || PyList_Size(held);

	Py_XDECREF(held);
	return any;
}

/* A call by place of a function that is known, which no other type is to be asked about.
 * (borrowed) */
static PyObject *known_function(PyObject *const *args, Py_ssize_t n, PyObject *names)
{
	if (n < 3 || (names && PyTuple_Size(names)) || any_wrapper() || !PyUnicode_Check(args[1]) ||
	    PyUnicode_CompareWithASCIIString(args[1], "__call__"))
		return NULL;
	return PyDict_GetItemWithError(by_theirs, args[0]);
}

/* array.__array_ufunc__(function, method, *operands, **named) */
PyObject *ufunc_asked(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
	PyObject *function = known_function(args, n, names), *t = NULL, *d = NULL, *r = NULL;

	if (function)
		return PyObject_Vectorcall(function, args + 2, (size_t)n - 2, NULL);
	if (PyErr_Occurred())
		return NULL;
	t = PyTuple_New(n + 1);
	d = PyDict_New();
	if (t)
		PyTuple_SetItem(t, 0, Py_NewRef(self));
	for (Py_ssize_t k = 0; t && k < n; k++)
		PyTuple_SetItem(t, k + 1, Py_NewRef(args[k]));
	for (Py_ssize_t k = 0; d && names && k < PyTuple_Size(names); k++)
		if (PyDict_SetItem(d, PyTuple_GetItem(names, k), args[n + k]))
			Py_CLEAR(d);
	if (t && d)
		r = PyObject_Call(asked_generally, t, d);
	Py_XDECREF(t);
	Py_XDECREF(d);
	return r;
}

/* ---- The type ---- */

static int ufunc_traverse(PyObject *o, visitproc visit, void *arg)
{
	struct ufunc *self = (struct ufunc *)o;

	Py_VISIT(Py_TYPE(o));
	Py_VISIT(self->theirs);
	Py_VISIT(self->general);
	Py_VISIT(self->dict);
	return 0;
}

static int ufunc_clear(PyObject *o)
{
	struct ufunc *self = (struct ufunc *)o;

	Py_CLEAR(self->theirs);
	Py_CLEAR(self->general);
	Py_CLEAR(self->dict);
	return 0;
}

static void ufunc_dealloc(PyObject *o)
{
	PyTypeObject *type = Py_TYPE(o);

	PyObject_GC_UnTrack(o);
	if (((struct ufunc *)o)->weak)
		PyObject_ClearWeakRefs(o);
	ufunc_clear(o);
	PyObject_GC_Del(o);
	Py_DECREF(type);
}

/* new_ufunc(NumPy's, general, number of operands, operation or -1): what has none of the
 * table's operations, and no product, is Python's. */
static PyObject *ufunc_new(PyObject *mod, PyObject *args)
{
	PyObject *theirs = NULL, *general = NULL;
	struct ufunc *self = NULL;
	int nin = 0, op = -1;

	if (!PyArg_ParseTuple(args, "OOii", &theirs, &general, &nin, &op))
		return NULL;
	self = PyObject_GC_New(struct ufunc, ufunc_type);
	if (!self)
		return NULL;
	self->call = ufunc_call;
	self->kind = op < 0			? NONE
		     : op == core.op[N_MATMUL]	? PRODUCT
		     : braze_op_kind(op) != 'e' ? NONE
		     : op == core.op[N_POWER]	? POWER
						: ELEMENTS;
	self->pair = self->kind == NONE ? pair_of(theirs) : NULL;
	self->kind = self->pair ? PAIR : self->kind;
	self->op = op;
	self->nin = nin;
	self->row = self->kind == NONE ? numpys_of(theirs) : NULL;
	self->theirs = Py_NewRef(theirs);
	self->general = Py_NewRef(general);
	self->dict = self->weak = NULL;
	PyObject_GC_Track(self);
	return (PyObject *)self;
}

PyMethodDef ufunc_methods[] = {
	{"new_ufunc", ufunc_new, METH_VARARGS, NULL},
	{"use_ufuncs", use_ufuncs, METH_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
	{"__dictoffset__", T_PYSSIZET, offsetof(struct ufunc, dict), READONLY, NULL},
	{"__weaklistoffset__", T_PYSSIZET, offsetof(struct ufunc, weak), READONLY, NULL},
	{"__vectorcalloffset__", T_PYSSIZET, offsetof(struct ufunc, call), READONLY, NULL},
	{"numpy", T_OBJECT_EX, offsetof(struct ufunc, theirs), READONLY, NULL},
	{NULL, 0, 0, 0, NULL},
};
static PyGetSetDef getset[] = {
	{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

int ufunc_init(PyObject *module)
{
	PyType_Slot slots[] = {
		{Py_tp_call, PyVectorcall_Call},
		{Py_tp_dealloc, ufunc_dealloc},
		{Py_tp_traverse, ufunc_traverse},
		{Py_tp_clear, ufunc_clear},
		{Py_tp_members, members},
		{Py_tp_getset, getset},
		{Py_tp_doc, "A function of arrays, element by element."},
		{0, NULL},
	};
	PyType_Spec spec = {.name = "braze.numpy.ufunc",
			    .basicsize = sizeof(struct ufunc),
			    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
				     Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
			    .slots = slots};

	out_name = PyUnicode_InternFromString("out");
	dtype_name = PyUnicode_InternFromString("dtype");
	ufunc_type = (PyTypeObject *)PyType_FromSpec(&spec);
	if (!ufunc_type || meta_ufunc(ufunc_type))
		return -1;
	return PyModule_AddObjectRef(module, "ufunc", (PyObject *)ufunc_type);
}
