/* SPDX-License-Identifier: Apache-2.0 */
/* site.c - a captured loop's calls: the kernel for the arguments' types, and the call, in C.
 *
 * In:  the values of what a loop reads, in the order of its names.  Out: what it leaves, as
 * braze._jit.sites says.  Only kernels whose parameters are these values are known here; what fits
 * none, or must be refused, goes to the site's Python. */
#include "kernel.h"

#include <stddef.h>
#include <string.h>

#include "native.h"
#include "np_array.h"

#define ASIDE 24 /* values of a kernel that are looked up: attributes, items, names of modules */

/* What a value must be for a kernel to be the one. */
struct want {
	enum {
		WANT_ARRAY,
		WANT_WEAK,
		WANT_SCALAR,
		WANT_TYPE,
		WANT_SIZED,
		WANT_METHOD,
		WANT_OBJECT
	} kind;
	int dtype, ndim;  /* of arrays and NumPy's numbers; ndim: how many a tuple has */
	PyObject *object; /* a type, or the very object */
	PyCFunction does; /* of a method that is C: which one of the type's */
	int from;	  /* of one that is looked up: in which value; -1: in `globals` */
	PyObject *globals, *parts;
};

/* A parameter of the kernel: which value, and for integers of Python's what they must fit. */
struct feed {
	int from, dtype;
	bool written;
	int64_t least;
	uint64_t most;
};

struct special {
	struct special *next;
	PyObject *capsule;
	PyObject *token;			  /* what braze._jit knows it by */
	braze_kernel *kernel;			  /* NULL: there is none for such values */
	int nwant, naside, nfeed, nresult, nleft; /* naside: wants behind those of arguments */
	int returns; /* -1: none; else how many values `return` gives */
	bool alone;  /* it gives one, and no tuple */
	struct want *want;
	struct feed *feed;
	bool weak[KERNEL_ARGS]; /* of results: Python's numbers */
};

struct site {
	PyObject_HEAD vectorcallfunc call;
	PyObject *slow;	  /* (values): any call */
	PyObject *placed; /* (error, token): raises it with the program's line */
	struct special *first;
	unsigned long long calls;
	bool joins; /* what unfused() keeps apart */
};

static PyTypeObject *site_type;

/* ---- Which kernel ---- */

/* A method of C that is bound to an object: another one each time that it is asked for. */
static bool is_method(PyObject *o)
{
	return PyObject_TypeCheck(o, &PyCFunction_Type) && PyCFunction_GetSelf(o);
}

static bool is_the_method(const struct want *w, PyObject *o)
{
	return is_method(o) && PyCFunction_GetFunction(o) == w->does &&
	       (PyObject *)Py_TYPE(PyCFunction_GetSelf(o)) == w->object;
}

static bool fits(const struct want *w, PyObject *o)
{
	switch (w->kind) {
	case WANT_ARRAY:
		if ((PyObject *)Py_TYPE(o) == core.np_ndarray)
			return np(o)->descr == core.dtypes[w->dtype] && np(o)->nd == w->ndim &&
			       np(o)->flags & NP_ALIGNED;
		return nd_check(o) && nd(o)->h && type_dtype(o) == w->dtype &&
		       type_ndim(o) == w->ndim;
	case WANT_SIZED:
		return (PyObject *)Py_TYPE(o) == w->object && PySequence_Size(o) == w->ndim;
	case WANT_TYPE:
	case WANT_WEAK:
		return (PyObject *)Py_TYPE(o) == w->object;
	case WANT_METHOD:
		return is_the_method(w, o);
	case WANT_SCALAR:
		return (PyObject *)Py_TYPE(o) == core.types[w->dtype];
	default:
		return o == w->object;
	}
}

/* A value's attribute, or item of a tuple or list; NULL: there is none. */
static PyObject *part_of(PyObject *o, PyObject *part)
{
	PyObject *r = NULL;

	if (!PyLong_Check(part))
		r = PyObject_GetAttr(o, part);
	else if (PyTuple_CheckExact(o) || PyList_CheckExact(o))
		r = PySequence_GetItem(o, PyLong_AsSsize_t(part));
	if (!r)
		PyErr_Clear();
	return r;
}

static PyObject *look_up(const struct want *w, PyObject *const *args)
{
	Py_ssize_t n = PyTuple_Size(w->parts), i = w->from < 0;
	PyObject *o = w->from < 0
			      ? PyDict_GetItemWithError(w->globals, PyTuple_GetItem(w->parts, 0))
			      : args[w->from];

	Py_XINCREF(o);
	for (; o && i < n; i++) {
		PyObject *next = part_of(o, PyTuple_GetItem(w->parts, i));

		Py_DECREF(o);
		o = next;
	}
	PyErr_Clear();
	return o;
}

static void let_go(PyObject **kept, int n)
{
	for (int i = 0; i < n; i++)
		Py_XDECREF(kept[i]);
}

/* kept: what was looked up, each once, so that it is the very value that fits: s->naside objects
 * that the caller lets go of, where all fit. */
static bool all_fit(const struct special *s, PyObject *const *args, Py_ssize_t n, PyObject **kept)
{
	bool fine = n == s->nwant;
	int looked = 0;

	for (int i = 0; fine && i < s->nwant; i++)
		fine = fits(&s->want[i], args[i]);
	for (; fine && looked < s->naside; looked++) {
		kept[looked] = look_up(&s->want[n + looked], args);
		fine = kept[looked] && fits(&s->want[n + looked], kept[looked]);
	}
	if (!fine)
		let_go(kept, looked);
	return fine;
}

/* ---- Arguments: 1, 0 if braze._jit must see to it, -1 with an exception set ---- */

static int take_number(struct held *x, PyObject *o, const struct feed *f)
{
	braze_scalar *out = &x->arg.scalar;
	int overflow = 0;
	int64_t v = 0;

	out->dtype = f->dtype;
	if (!PyLong_CheckExact(o)) /* a bool, a float, a complex number, one of NumPy's */
		return convert_scalar_as(out, o, f->dtype);
	v = PyLong_AsLongLongAndOverflow(o, &overflow);
	if (overflow || v < f->least || (v > 0 && (uint64_t)v > f->most))
		return 0;
	out->bits[0] = (uint64_t)v;
	return 1;
}

static int take_array(struct held *x, PyObject *o, const struct feed *f, const struct want *w)
{
	const braze_parameter p = {.dtype = f->dtype, .ndim = w->ndim, .written = f->written};

	if (nd_check(o)) {
		if (f->written && nd(o)->flags & ND_OF_VIEWS)
			return 0;
		return kernel_take_array(x, o, &p) ? -1 : 1;
	}
	if (f->written && !(np(o)->flags & NP_WRITEABLE))
		return 0;
	x->arg = (braze_kernel_arg){.data = np(o)->data,
				    .dtype = f->dtype,
				    .ndim = w->ndim,
				    .shape = x->shape,
				    .strides = x->strides};
	for (int i = 0; i < w->ndim; i++) {
		x->shape[i] = np(o)->dims[i];
		x->strides[i] = np(o)->strides[i];
	}
	return 1;
}

/* ---- Results ---- */

static PyObject *number(const struct special *s, const braze_scalar *v, int i)
{
	return s->weak[i] ? convert_number(v[i].dtype, v[i].bits)
			  : convert_npscalar(v[i].dtype, v[i].bits);
}

static PyObject *returned(const struct special *s, const braze_scalar *v)
{
	PyObject *out = NULL;

	if (!s->returns)
		return Py_NewRef(Py_None);
	if (s->alone)
		return number(s, v, s->nleft);
	out = PyTuple_New(s->returns);
	for (int i = 0; out && i < s->returns; i++) {
		PyObject *part = number(s, v, s->nleft + i);

		if (!part || PyTuple_SetItem(out, i, part))
			Py_CLEAR(out);
	}
	return out;
}

/* What is left, whether the given ones were assigned, whether `return` was met and its value. */
static PyObject *results(const struct special *s, const braze_scalar *v)
{
	int more = s->returns < 0 ? 0 : s->returns, flags = s->nresult - s->nleft - more;
	PyObject *out = PyTuple_New(s->nleft + flags + (s->returns >= 0)), *part;
	int n = 0;

	for (int i = 0; out && i < s->nleft + flags; i++) {
		part = i < s->nleft ? number(s, v, i) : PyBool_FromLong((long)v[more + i].bits[0]);
		if (!part || PyTuple_SetItem(out, n++, part))
			Py_CLEAR(out);
	}
	if (out && s->returns >= 0) {
		part = returned(s, v);
		if (!part || PyTuple_SetItem(out, n, part))
			Py_CLEAR(out);
	}
	return out;
}

/* ---- A call ---- */

/* NULL without an exception: braze._jit must see to it. */
static PyObject *run(const struct special *s, PyObject *const *args, PyObject *const *kept)
{
	struct held room[8], *x = room;
	braze_scalar result[KERNEL_ARGS];
	PyObject *out = NULL;
	int rc = 1;

	if (s->nfeed > 8 && !(x = PyMem_Malloc((size_t)s->nfeed * sizeof *x)))
		return PyErr_NoMemory();
	for (int i = 0; i < s->nfeed; i++)
		kernel_hold_nothing(&x[i]);
	for (int i = 0; rc == 1 && i < s->nfeed; i++) {
		const struct feed *f = &s->feed[i];
		const struct want *w = &s->want[f->from];
		PyObject *o = f->from < s->nwant ? args[f->from] : kept[f->from - s->nwant];

		rc = w->kind == WANT_ARRAY ? take_array(&x[i], o, f, w) : take_number(&x[i], o, f);
	}
	if (rc == 1 && !kernel_run(result, s->kernel, x, s->nfeed))
		out = results(s, result);
	for (int i = 0; i < s->nfeed; i++)
		kernel_let_go(&x[i]);
	if (x != room)
		PyMem_Free(x);
	return out;
}

/* The exception that is set, with the line of the program. */
static PyObject *tell(const struct site *self, const struct special *s)
{
	PyObject *type = NULL, *value = NULL, *trace = NULL, *r = NULL;

	PyErr_Fetch(&type, &value, &trace);
	PyErr_NormalizeException(&type, &value, &trace);
	r = PyObject_CallFunctionObjArgs(self->placed, value, s->token, NULL);
	Py_XDECREF(r);
	if (r) /* it is none that has a line */
		PyErr_Restore(type, value, trace);
	else {
		Py_XDECREF(type);
		Py_XDECREF(value);
		Py_XDECREF(trace);
	}
	return NULL;
}

static PyObject *site_call(PyObject *o, PyObject *const *args, size_t nargsf, PyObject *names)
{
	struct site *self = (struct site *)o;
	Py_ssize_t n = vectorcall_count(nargsf);
	const struct special *s = self->first;
	PyObject *r = NULL, *kept[ASIDE];

	if (self->joins && core.flags & BRAZE_UNFUSED)
		Py_RETURN_NONE;
	while (s && !all_fit(s, args, n, kept))
		s = s->next;
	if (s && !names && s->kernel)
		r = run(s, args, kept);
	if (s)
		let_go(kept, s->naside);
	if (s && !names && !s->kernel)
		Py_RETURN_NONE;
	self->calls += r != NULL;
	if (r)
		return r;
	if (s && PyErr_Occurred())
		return tell(self, s);
	return PyObject_Vectorcall(self->slow, args, nargsf, names);
}

/* ---- Making ---- */

static void special_free(struct special *s)
{
	for (int i = 0; i < s->nwant + s->naside; i++) {
		Py_XDECREF(s->want[i].object);
		Py_XDECREF(s->want[i].globals);
		Py_XDECREF(s->want[i].parts);
	}
	Py_XDECREF(s->capsule);
	Py_XDECREF(s->token);
	PyMem_Free(s->want);
	PyMem_Free(s->feed);
	PyMem_Free(s);
}

/* ("array", dtype, ndim), ("number", dtype), ("weak", type), ("type", type), ("sized", type,
 * length), ("method", it) or ("object", it) */
static int read_want(struct want *w, PyObject *row)
{
	const char *kind = NULL;
	PyObject *what = NULL;

	if (!PyArg_ParseTuple(row, "sO|i", &kind, &what, &w->ndim))
		return -1;
	w->object = Py_NewRef(what);
	w->kind = !strcmp(kind, "array")    ? WANT_ARRAY
		  : !strcmp(kind, "number") ? WANT_SCALAR
		  : !strcmp(kind, "weak")   ? WANT_WEAK
		  : !strcmp(kind, "type")   ? WANT_TYPE
		  : !strcmp(kind, "sized")  ? WANT_SIZED
		  : !strcmp(kind, "method") ? WANT_METHOD
					    : WANT_OBJECT;
	if (w->kind == WANT_METHOD) {
		if (!is_method(what))
			return PyErr_Format(PyExc_TypeError, "no method"), -1;
		/* Of the type: the method itself would keep its object. */
		w->does = PyCFunction_GetFunction(what);
		w->object = Py_NewRef((PyObject *)Py_TYPE(PyCFunction_GetSelf(what)));
		Py_DECREF(what);
	}
	if (w->kind == WANT_ARRAY || w->kind == WANT_SCALAR)
		w->dtype = convert_dtype(what);
	return w->dtype < 0 ? PyErr_Format(PyExc_TypeError, "a type that kernels lack"), -1 : 0;
}

/* (want, number of a value or a dict, names and numbers): what is looked up */
static int read_aside(struct want *w, PyObject *row, int nwant)
{
	PyObject *want = NULL, *root = NULL, *parts = NULL;

	if (!PyArg_ParseTuple(row, "O!OO!", &PyTuple_Type, &want, &root, &PyTuple_Type, &parts))
		return -1;
	w->from = PyLong_Check(root) ? (int)PyLong_AsLong(root) : -1;
	w->globals = Py_NewRef(root);
	w->parts = Py_NewRef(parts);
	if (w->from < 0 ? !PyDict_Check(root) || !PyTuple_Size(parts) : w->from >= nwant)
		return PyErr_Format(PyExc_TypeError, "a place of no value"), -1;
	return read_want(w, want);
}

/* (number of the value, dtype, written, least, most) */
static int read_feed(struct feed *f, PyObject *row, int nwant)
{
	PyObject *dtype = NULL;
	int written = 0;
	long long least = 0;
	unsigned long long most = 0;

	if (!PyArg_ParseTuple(row, "iOpLK", &f->from, &dtype, &written, &least, &most))
		return -1;
	f->dtype = convert_dtype(dtype);
	f->written = written;
	f->least = least;
	f->most = most;
	if (f->dtype < 0 || f->from < 0 || f->from >= nwant)
		return PyErr_Format(PyExc_TypeError, "a parameter that is none"), -1;
	return 0;
}

static int read_rows(struct special *s, PyObject *wants, PyObject *asides, PyObject *feeds,
		     PyObject *weak)
{
	for (int i = 0; i < s->nwant; i++)
		if (read_want(&s->want[i], PyTuple_GetItem(wants, i)))
			return -1;
	for (int i = 0; i < s->naside; i++)
		if (read_aside(&s->want[s->nwant + i], PyTuple_GetItem(asides, i), s->nwant))
			return -1;
	for (int i = 0; i < s->nfeed; i++)
		if (read_feed(&s->feed[i], PyTuple_GetItem(feeds, i), s->nwant + s->naside))
			return -1;
	for (Py_ssize_t i = 0; i < PyTuple_Size(weak) && i < KERNEL_ARGS; i++)
		s->weak[i] = PyTuple_GetItem(weak, i) == Py_True;
	return 0;
}

/* add(kernel, token, wants, asides, feeds, weak, results, left, returns, alone): calls with such
 * values are this kernel's, or, of None, nobody's. */
static PyObject *site_add(PyObject *o, PyObject *args)
{
	struct site *self = (struct site *)o;
	PyObject *capsule, *token, *wants, *asides, *feeds, *weak;
	struct special *s = NULL, **link = &self->first;
	int nresult = 0, nleft = 0, returns = 0, alone = 0;

	if (!PyArg_ParseTuple(args, "OOO!O!O!O!iiip", &capsule, &token, &PyTuple_Type, &wants,
			      &PyTuple_Type, &asides, &PyTuple_Type, &feeds, &PyTuple_Type, &weak,
			      &nresult, &nleft, &returns, &alone))
		return NULL;
	if (PyTuple_Size(asides) > ASIDE)
		Py_RETURN_NONE; /* each call of these goes to the site's Python */
	s = PyMem_Calloc(1, sizeof *s);
	if (!s)
		return PyErr_NoMemory();
	s->kernel = capsule == Py_None ? NULL : PyCapsule_GetPointer(capsule, KERNEL_CAPSULE);
	s->capsule = Py_NewRef(capsule);
	s->token = Py_NewRef(token);
	s->nwant = (int)PyTuple_Size(wants);
	s->naside = (int)PyTuple_Size(asides);
	s->nfeed = (int)PyTuple_Size(feeds);
	s->nresult = nresult;
	s->nleft = nleft;
	s->returns = returns;
	s->alone = alone;
	s->want = PyMem_Calloc((size_t)(s->nwant + s->naside) + 1, sizeof *s->want);
	s->feed = PyMem_Calloc((size_t)s->nfeed + 1, sizeof *s->feed);
	if ((!s->kernel && capsule != Py_None) || !s->want || !s->feed ||
	    read_rows(s, wants, asides, feeds, weak)) {
		special_free(s);
		return PyErr_Occurred() ? NULL : PyErr_NoMemory();
	}
	while (*link)
		link = &(*link)->next;
	*link = s;
	Py_RETURN_NONE;
}

static int site_traverse(PyObject *o, visitproc visit, void *arg)
{
	struct site *self = (struct site *)o;

	Py_VISIT(Py_TYPE(o));
	Py_VISIT(self->slow);
	Py_VISIT(self->placed);
	for (struct special *s = self->first; s; s = s->next) {
		Py_VISIT(s->token);
		for (int i = 0; i < s->nwant + s->naside; i++) {
			Py_VISIT(s->want[i].object);
			Py_VISIT(s->want[i].globals);
			Py_VISIT(s->want[i].parts);
		}
	}
	return 0;
}

static int site_clear(PyObject *o)
{
	struct site *self = (struct site *)o;
	struct special *s = self->first;

	self->first = NULL;
	while (s) {
		struct special *next = s->next;

		special_free(s);
		s = next;
	}
	Py_CLEAR(self->slow);
	Py_CLEAR(self->placed);
	return 0;
}

static void site_dealloc(PyObject *o)
{
	PyTypeObject *type = Py_TYPE(o);

	PyObject_GC_UnTrack(o);
	site_clear(o);
	PyObject_GC_Del(o);
	Py_DECREF(type);
}

/* Site(slow, placed, joins) */
static PyObject *site_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
	struct site *self = NULL;
	PyObject *slow = NULL, *placed = NULL;
	int joins = 0;

	if (!PyArg_ParseTuple(args, "OOp", &slow, &placed, &joins))
		return NULL;
	self = PyObject_GC_New(struct site, type);
	if (!self)
		return NULL;
	self->call = site_call;
	self->slow = Py_NewRef(slow);
	self->placed = Py_NewRef(placed);
	self->first = NULL;
	self->calls = 0;
	self->joins = joins;
	PyObject_GC_Track(self);
	return (PyObject *)self;
}

int site_init(PyObject *module)
{
	static PyMethodDef methods[] = {{"add", site_add, METH_VARARGS, NULL},
					{NULL, NULL, 0, NULL}};
	static PyMemberDef members[] = {
		{"__vectorcalloffset__", T_PYSSIZET, offsetof(struct site, call), READONLY, NULL},
		{"calls", T_ULONGLONG, offsetof(struct site, calls), READONLY, NULL},
		{NULL, 0, 0, 0, NULL},
	};
	PyType_Slot slots[] = {
		{Py_tp_call, PyVectorcall_Call},
		{Py_tp_new, site_new},
		{Py_tp_dealloc, site_dealloc},
		{Py_tp_traverse, site_traverse},
		{Py_tp_clear, site_clear},
		{Py_tp_methods, methods},
		{Py_tp_members, members},
		{Py_tp_doc, "A captured loop."},
		{0, NULL},
	};
	PyType_Spec spec = {.name = "braze._core.Site",
			    .basicsize = sizeof(struct site),
			    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
				     Py_TPFLAGS_HAVE_VECTORCALL,
			    .slots = slots};

	site_type = (PyTypeObject *)PyType_FromSpec(&spec);
	return site_type ? PyModule_AddObjectRef(module, "Site", (PyObject *)site_type) : -1;
}
