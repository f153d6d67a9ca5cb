/* SPDX-License-Identifier: Apache-2.0 */
/* native.c - the type of functions and methods that fast.def names.
 *
 * What such an object says of itself (name, text, signature) is the Python function's,
 * which the package sets; taken from an array it is bound, as Python's methods are. */
#include "native.h"

#include <string.h>

#include "byname.h"

struct native {
	PyObject_HEAD vectorcallfunc call;
	const struct fast *fast;
	PyObject *general; /* the function in Python */
	PyObject *dict, *weak;
};

/* A method of an array. */
struct bound {
	PyObject_HEAD vectorcallfunc call;
	PyObject *function; /* a native_descriptor */
	PyObject *self;
};

/* Of functions, and of what a class that holds it makes methods of: Python calls those without
 * binding them where it can. */
static PyTypeObject *native_type, *descriptor_type;
static PyTypeObject *bound_type;
static struct bound *spare; /* of the last one: a method is bound for each call */

#undef FAST
#define FAST(name, fn, op, parameters) {name, fn, op, parameters, -1, 0, 0, {NULL}, NULL},
static struct fast table[] = {
#include "fast.def"
};
#undef FAST

#define ROWS (sizeof table / sizeof *table)

static struct byname rows;
_Static_assert(2 * ROWS <= BYNAME_ROOM, "rows of fast.def");

/* ---- Arguments ---- */

static bool by_name(PyObject **slot, const struct fast *f, PyObject *name, PyObject *value)
{
	for (int k = 0; k < f->n; k++) {
		if (f->parameter[k] != name)
			continue;
		if (slot[k])
			return false; /* twice */
		slot[k] = value;
		return true;
	}
	return false;
}

bool fast_bind(PyObject *slot[FAST_ARGS], const struct fast *f, const struct call *c)
{
	Py_ssize_t n_names = c->names ? PyTuple_Size(c->names) : 0;

	if (c->n > f->n_by_place)
		return false;
	for (int k = 0; k < f->n; k++)
		slot[k] = k < c->n ? c->args[k] : NULL;
	for (Py_ssize_t k = 0; k < n_names; k++)
		if (!by_name(slot, f, PyTuple_GetItem(c->names, k), c->args[c->n + k]))
			return false;
	return slot[0] != NULL;
}

/* Of a module that NumPy imports when it is asked for: its functions are found then. */
static bool is_late(const struct fast *f)
{
	return !strncmp(f->name, "random.", 7);
}

static int read_parameters(struct fast *f)
{
	const char *at = f->parameters;
	bool named = false;

	while (at && *at) {
		size_t length = strcspn(at, " ");

		if (*at == '*') {
			named = true;
		} else {
			PyObject *name = PyUnicode_FromStringAndSize(at, (Py_ssize_t)length);

			if (!name)
				return -1;
			PyUnicode_InternInPlace(&name);
			f->parameter[f->n++] = name;
			f->n_by_place += !named;
		}
		at += length + strspn(at + length, " ");
	}
	f->op = f->op_name ? braze_op_find(f->op_name) : -1;
	if (!is_late(f))
		f->numpys = numpys_find(f->name);
	return PyErr_Occurred() ? -1 : 0;
}

bool fast_int(int64_t *out, PyObject *o)
{
	int overflow = 0;

	if (!PyLong_CheckExact(o))
		return false;
	*out = PyLong_AsLongLongAndOverflow(o, &overflow);
	return !overflow;
}

bool fast_axis(int *out, PyObject *o, int ndim)
{
	int64_t axis = 0;

	if (!fast_int(&axis, o) || axis < -ndim || axis >= ndim)
		return false;
	*out = (int)(axis < 0 ? axis + ndim : axis);
	return true;
}

int fast_dims(int64_t *dims, PyObject *o)
{
	bool tuple = PyTuple_CheckExact(o);
	Py_ssize_t n = 1;

	if (!tuple && !PyList_CheckExact(o))
		return fast_int(dims, o) ? 1 : -1;
	n = tuple ? PyTuple_Size(o) : PyList_Size(o);
	if (n > BRAZE_MAX_NDIM)
		return -1;
	for (Py_ssize_t k = 0; k < n; k++)
		if (!fast_int(&dims[k], tuple ? PyTuple_GetItem(o, k) : PyList_GetItem(o, k)))
			return -1;
	return (int)n;
}

/* ---- Functions ---- */

/* A list or number that fn, which knows arrays, has left: by NumPy, where it has the row. */
static bool call_lists(PyObject **out, const struct fast *f, const struct call *c)
{
	return f->numpys && (call_of_list(c) || call_of_number(c)) &&
	       f->numpys->fn(out, f->numpys, c);
}

/* Selections among the arguments become arrays, unless a whole one is reduced: then its own method
 * is called.  True: answered. */
static bool call_settled(PyObject **out, const struct fast *f, const struct call *c)
{
	bool reduces = (f->fn == fast_reduce || f->fn == fast_mean) && c->n == 1 && !c->names;

	if (reduces && selection_check(c->args[0])) {
		*out = PyObject_CallMethod(c->args[0], f->name, NULL);
		return true;
	}
	return selection_settle_args(c->args, c->n) > 0 && f->fn(out, f, c);
}

static PyObject *native_call(PyObject *o, PyObject *const *args, size_t nargsf, PyObject *names)
{
	const struct native *self = (const struct native *)o;
	const struct call c = {args, vectorcall_count(nargsf), names};
	PyObject *r = NULL;

	if (self->fast->fn(&r, self->fast, &c))
		return r;
	if (!PyErr_Occurred() &&
	    (call_settled(&r, self->fast, &c) || call_lists(&r, self->fast, &c)))
		return r;
	if (PyErr_Occurred()) /* no session, or Ctrl-C in a wait (eager mode) */
		return NULL;
	return PyObject_Vectorcall(self->general, args, nargsf, names);
}

static PyObject *bound_call(PyObject *o, PyObject *const *args, size_t nargsf, PyObject *names)
{
	const struct bound *self = (const struct bound *)o;
	Py_ssize_t n = vectorcall_count(nargsf) + 1, all = n + (names ? PyTuple_Size(names) : 0);
	PyObject *room[2 * FAST_ARGS], **with = (PyObject **)args - 1, *kept = NULL, *r = NULL;

	if (nargsf & PY_VECTORCALL_ARGUMENTS_OFFSET) { /* the place before is lent to us */
		kept = with[0];
		with[0] = self->self;
		r = native_call(self->function, with, (size_t)n, names);
		with[0] = kept;
		return r;
	}
	with = all <= 2 * FAST_ARGS ? room : PyMem_Malloc((size_t)all * sizeof *with);
	if (!with)
		return PyErr_NoMemory();
	with[0] = self->self;
	if (all > 1)
		memcpy(with + 1, args, (size_t)(all - 1) * sizeof *with);
	r = native_call(self->function, with, (size_t)n, names);
	if (with != room)
		PyMem_Free(with);
	return r;
}

static PyObject *native_get(PyObject *o, PyObject *of, PyObject *type)
{
	struct bound *made = spare;

	if (!of || of == Py_None || Py_TYPE(o) != descriptor_type)
		return Py_NewRef(o);
	spare = NULL;
	if (!made && !(made = PyObject_Malloc(sizeof *made)))
		return PyErr_NoMemory();
	PyObject_Init((PyObject *)made, bound_type);
	made->call = bound_call;
	made->function = Py_NewRef(o);
	made->self = Py_NewRef(of);
	return (PyObject *)made;
}

PyObject *native_numpys(PyObject *o)
{
	bool ours = Py_TYPE(o) == native_type || Py_TYPE(o) == descriptor_type;
	const struct fast *f = ours ? ((struct native *)o)->fast : NULL;

	if (f && f->numpys)
		f = f->numpys;
	return f ? numpys_theirs(f) : NULL;
}

static int native_traverse(PyObject *o, visitproc visit, void *arg)
{
	struct native *self = (struct native *)o;

	Py_VISIT(Py_TYPE(o));
	Py_VISIT(self->general);
	Py_VISIT(self->dict);
	return 0;
}

static int native_clear(PyObject *o)
{
	struct native *self = (struct native *)o;

	Py_CLEAR(self->general);
	Py_CLEAR(self->dict);
	return 0;
}

static void native_dealloc(PyObject *o)
{
	PyTypeObject *type = Py_TYPE(o);

	PyObject_GC_UnTrack(o);
	if (((struct native *)o)->weak)
		PyObject_ClearWeakRefs(o);
	native_clear(o);
	PyObject_GC_Del(o);
	Py_DECREF(type);
}

static PyObject *native_repr(PyObject *o)
{
	PyObject *name = PyObject_GetAttrString(o, "__qualname__"), *r = NULL;

	if (name && Py_TYPE(o) == descriptor_type)
		r = PyUnicode_FromFormat("<function %U at %p>", name, (void *)o);
	else if (name)
		r = PyUnicode_FromFormat("<built-in function %U>", name);
	Py_XDECREF(name);
	return r;
}

/* Pickled by its name in its module. */
static PyObject *native_reduce(PyObject *o, PyObject *ignored)
{
	return PyObject_GetAttrString(o, "__qualname__");
}

static struct fast *row_of(const char *name)
{
	int k = byname_find(&rows, name);

	return k < 0 ? NULL : &table[k];
}

/* native(function, name, binds): None where neither fast.def nor numpys.def has such a name. */
static PyObject *native_make(PyObject *mod, PyObject *args)
{
	struct fast *found = NULL;
	const struct fast *f = NULL;
	const char *name = NULL;
	PyObject *general = NULL;
	struct native *self = NULL;
	int binds = 0;

	if (!PyArg_ParseTuple(args, "Osp", &general, &name, &binds))
		return NULL;
	found = row_of(name);
	if (found && is_late(found))
		found->numpys = numpys_find(name);
	if (!found && !strncmp(name, "ndarray.", 8)) /* a method as the function */
		found = row_of(name + 8);
	f = found ? found : numpys_find(name);
	if (!f)
		return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
	self = PyObject_GC_New(struct native, binds ? descriptor_type : native_type);
	if (!self)
		return NULL;
	self->call = native_call;
	self->fast = f;
	self->general = Py_NewRef(general);
	self->dict = self->weak = NULL;
	PyObject_GC_Track(self);
	return (PyObject *)self;
}

/* ---- Methods ---- */

static void bound_dealloc(PyObject *o)
{
	struct bound *self = (struct bound *)o;
	PyTypeObject *type = Py_TYPE(o);
	PyObject *function = self->function, *of = self->self;

	if (spare)
		PyObject_Free(self);
	else
		spare = self;
	Py_DECREF(function);
	Py_DECREF(of);
	Py_DECREF(type);
}

static PyObject *bound_compare(PyObject *a, PyObject *b, int how)
{
	const struct bound *x = (const struct bound *)a, *y = (const struct bound *)b;
	bool same = false;

	if (Py_TYPE(b) != bound_type || (how != Py_EQ && how != Py_NE))
		return Py_NewRef(Py_NotImplemented);
	same = x->function == y->function && x->self == y->self;
	return PyBool_FromLong(same == (how == Py_EQ));
}

static Py_hash_t bound_hash(PyObject *o)
{
	const struct bound *self = (const struct bound *)o;

	return (Py_hash_t)(((uintptr_t)self->function >> 4) ^ ((uintptr_t)self->self >> 3)) &
	       PY_SSIZE_T_MAX;
}

static PyObject *bound_repr(PyObject *o)
{
	const struct bound *self = (const struct bound *)o;
	PyObject *name = PyObject_GetAttrString(self->function, "__name__"), *r = NULL;

	if (name)
		r = PyUnicode_FromFormat("<built-in method %U of %s object at %p>", name,
					 "braze.numpy.ndarray", (void *)self->self);
	Py_XDECREF(name);
	return r;
}

/* What it has not itself is its function's: name, text, module. */
static PyObject *bound_getattro(PyObject *o, PyObject *name)
{
	PyObject *r = PyObject_GenericGetAttr(o, name);

	if (r || !PyErr_ExceptionMatches(PyExc_AttributeError))
		return r;
	PyErr_Clear();
	return PyObject_GetAttr(((struct bound *)o)->function, name);
}

static PyObject *bound_reduce(PyObject *o, PyObject *ignored)
{
	const struct bound *self = (const struct bound *)o;
	PyObject *builtins = PyImport_ImportModule("builtins"), *r = NULL;
	PyObject *get = builtins ? PyObject_GetAttrString(builtins, "getattr") : NULL;
	PyObject *name = get ? PyObject_GetAttrString(self->function, "__name__") : NULL;

	if (name)
		r = Py_BuildValue("O(OO)", get, self->self, name);
	Py_XDECREF(name);
	Py_XDECREF(get);
	Py_XDECREF(builtins);
	return r;
}

static PyObject *bound_doc(PyObject *o, void *closure)
{
	return PyObject_GetAttrString(((struct bound *)o)->function, "__doc__");
}

/* That of the Python function, without the array. */
static PyObject *bound_signature(PyObject *o, void *closure)
{
	const struct bound *self = (const struct bound *)o;
	PyObject *types = PyImport_ImportModule("types"), *method = NULL, *inspect = NULL,
		 *r = NULL;

	if (types)
		method =
			PyObject_CallMethod(types, "MethodType", "OO",
					    ((struct native *)self->function)->general, self->self);
	if (method)
		inspect = PyImport_ImportModule("inspect");
	if (inspect)
		r = PyObject_CallMethod(inspect, "signature", "O", method);
	Py_XDECREF(inspect);
	Py_XDECREF(method);
	Py_XDECREF(types);
	return r;
}

/* ---- The types ---- */

static PyMemberDef native_members[] = {
	{"__dictoffset__", T_PYSSIZET, offsetof(struct native, dict), READONLY, NULL},
	{"__weaklistoffset__", T_PYSSIZET, offsetof(struct native, weak), READONLY, NULL},
	{"__vectorcalloffset__", T_PYSSIZET, offsetof(struct native, call), READONLY, NULL},
	{NULL, 0, 0, 0, NULL},
};
static PyMethodDef native_own[] = {
	{"__reduce__", native_reduce, METH_NOARGS, NULL},
	{NULL, NULL, 0, NULL},
};
static PyGetSetDef native_getset[] = {
	{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
	{NULL, NULL, NULL, NULL, NULL},
};
static PyMemberDef bound_members[] = {
	{"__func__", T_OBJECT_EX, offsetof(struct bound, function), READONLY, NULL},
	{"__self__", T_OBJECT_EX, offsetof(struct bound, self), READONLY, NULL},
	{"__vectorcalloffset__", T_PYSSIZET, offsetof(struct bound, call), READONLY, NULL},
	{NULL, 0, 0, 0, NULL},
};
static PyMethodDef bound_own[] = {
	{"__reduce__", bound_reduce, METH_NOARGS, NULL},
	{NULL, NULL, 0, NULL},
};
static PyGetSetDef bound_getset[] = {
	{"__doc__", bound_doc, NULL, NULL, NULL},
	{"__signature__", bound_signature, NULL, NULL, NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef functions[] = {
	{"native", native_make, METH_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};

int native_init(PyObject *module)
{
	PyType_Slot of_native[] = {
		{Py_tp_call, PyVectorcall_Call}, {Py_tp_descr_get, native_get},
		{Py_tp_dealloc, native_dealloc}, {Py_tp_traverse, native_traverse},
		{Py_tp_clear, native_clear},	 {Py_tp_repr, native_repr},
		{Py_tp_methods, native_own},	 {Py_tp_members, native_members},
		{Py_tp_getset, native_getset},	 {0, NULL},
	};
	PyType_Slot of_bound[] = {
		{Py_tp_call, PyVectorcall_Call},    {Py_tp_dealloc, bound_dealloc},
		{Py_tp_richcompare, bound_compare}, {Py_tp_hash, bound_hash},
		{Py_tp_repr, bound_repr},	    {Py_tp_getattro, bound_getattro},
		{Py_tp_methods, bound_own},	    {Py_tp_members, bound_members},
		{Py_tp_getset, bound_getset},	    {0, NULL},
	};
	/* Python remembers where it found a method if the method's own type cannot change. */
	PyType_Spec native = {.name = "braze._core.native_function",
			      .basicsize = sizeof(struct native),
			      .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
				       Py_TPFLAGS_HAVE_VECTORCALL |
				       Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
			      .slots = of_native};
	PyType_Spec descriptor = native;
	PyType_Spec bound = {.name = "braze._core.native_method",
			     .basicsize = sizeof(struct bound),
			     .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
				      Py_TPFLAGS_DISALLOW_INSTANTIATION,
			     .slots = of_bound};

	for (unsigned k = 0; k < ROWS; k++) {
		byname_add(&rows, table[k].name, k);
		if (read_parameters(&table[k]))
			return -1;
	}
	descriptor.name = "braze._core.native_descriptor";
	descriptor.flags |= Py_TPFLAGS_METHOD_DESCRIPTOR;
	native_type = (PyTypeObject *)PyType_FromSpec(&native);
	descriptor_type = (PyTypeObject *)PyType_FromSpec(&descriptor);
	bound_type = (PyTypeObject *)PyType_FromSpec(&bound);
	if (!native_type || !descriptor_type || !bound_type ||
	    PyModule_AddFunctions(module, functions) || fast_errstate_begin(module))
		return -1;
	if (PyModule_AddObjectRef(module, "native_descriptor", (PyObject *)descriptor_type))
		return -1;
	return PyModule_AddObjectRef(module, "native_function", (PyObject *)native_type);
}
