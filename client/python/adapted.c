/* SPDX-License-Identifier: Apache-2.0 */
/* adapted.c - another package's function, given NumPy's arrays in place of ours.
 *
 * What braze/numpy/_adapters.py wraps is called often and looks at its callers' frames
 * (for local variables, for the line of a warning): so this is a function without a frame. */
#include "core.h"

struct adapted {
	PyObject_HEAD PyObject *inner; /* the package's function */
	PyObject *plain;	       /* makes an argument NumPy's */
	PyObject *dict;
	PyObject *weak;
};

static PyTypeObject *adapted_type;
static PyObject *method_type;

/* Is it ours, or may it hold something of ours? */
static bool is_suspect(PyObject *o)
{
	PyTypeObject *type = Py_TYPE(o);

	return type == core.type || type == &PySlice_Type || type == &PyList_Type ||
	       type == &PyTuple_Type || type == &PyDict_Type;
}

static bool any_suspect(PyObject *args, PyObject *kwargs)
{
	Py_ssize_t at = 0;
	PyObject *key = NULL, *value = NULL;

	for (Py_ssize_t i = 0; i < PyTuple_Size(args); i++)
		if (is_suspect(PyTuple_GetItem(args, i)))
			return true;
	while (kwargs && PyDict_Next(kwargs, &at, &key, &value))
		if (is_suspect(value))
			return true;
	return false;
}

static PyObject *plain_of(struct adapted *self, PyObject *o)
{
	return is_suspect(o) ? PyObject_CallFunctionObjArgs(self->plain, o, NULL) : Py_NewRef(o);
}

static PyObject *plain_args(struct adapted *self, PyObject *args)
{
	PyObject *made = PyTuple_New(PyTuple_Size(args));

	for (Py_ssize_t i = 0; made && i < PyTuple_Size(args); i++) {
		PyObject *x = plain_of(self, PyTuple_GetItem(args, i));

		if (!x || PyTuple_SetItem(made, i, x)) {
			Py_DECREF(made);
			return NULL;
		}
	}
	return made;
}

static PyObject *plain_kwargs(struct adapted *self, PyObject *kwargs)
{
	PyObject *made = PyDict_New(), *key = NULL, *value = NULL;
	Py_ssize_t at = 0;

	while (made && PyDict_Next(kwargs, &at, &key, &value)) {
		PyObject *x = plain_of(self, value);

		if (!x || PyDict_SetItem(made, key, x))
			Py_CLEAR(made);
		Py_XDECREF(x);
	}
	return made;
}

static PyObject *adapted_call(PyObject *o, PyObject *args, PyObject *kwargs)
{
	struct adapted *self = (struct adapted *)o;
	PyObject *a = NULL, *k = NULL, *r = NULL;

	if (!any_suspect(args, kwargs))
		return PyObject_Call(self->inner, args, kwargs);
	a = plain_args(self, args);
	k = a && kwargs ? plain_kwargs(self, kwargs) : NULL;
	if (a && (k || !kwargs))
		r = PyObject_Call(self->inner, a, k);
	Py_XDECREF(a);
	Py_XDECREF(k);
	return r;
}

/* Of a class: a method. */
static PyObject *adapted_get(PyObject *self, PyObject *of, PyObject *type)
{
	if (!of || of == Py_None)
		return Py_NewRef(self);
	return PyObject_CallFunctionObjArgs(method_type, self, of, NULL);
}

static int adapted_traverse(PyObject *o, visitproc visit, void *arg)
{
	struct adapted *self = (struct adapted *)o;

	Py_VISIT(Py_TYPE(o));
	Py_VISIT(self->inner);
	Py_VISIT(self->plain);
	Py_VISIT(self->dict);
	return 0;
}

static int adapted_clear(PyObject *o)
{
	struct adapted *self = (struct adapted *)o;

	Py_CLEAR(self->inner);
	Py_CLEAR(self->plain);
	Py_CLEAR(self->dict);
	return 0;
}

static void adapted_dealloc(PyObject *o)
{
	PyTypeObject *type = Py_TYPE(o);

	PyObject_GC_UnTrack(o);
	if (((struct adapted *)o)->weak)
		PyObject_ClearWeakRefs(o);
	adapted_clear(o);
	PyObject_GC_Del(o);
	Py_DECREF(type);
}

static PyObject *adapted_repr(PyObject *o)
{
	return PyObject_Repr(((struct adapted *)o)->inner);
}

/* By its place, where another process finds its own: _adapters.py says how. */
static PyObject *adapted_reduce(PyObject *self, PyObject *ignored)
{
	return PyObject_GetAttrString(self, "_pickled");
}

static PyObject *get_signature(PyObject *o, void *closure)
{
	PyObject *inspect = PyImport_ImportModule("inspect"), *r = NULL;

	if (inspect)
		r = PyObject_CallMethod(inspect, "signature", "O", ((struct adapted *)o)->inner);
	Py_XDECREF(inspect);
	return r;
}

/* adapted(function, plain) */
static PyObject *adapted_make(PyObject *mod, PyObject *args)
{
	struct adapted *self = NULL;
	PyObject *inner = NULL, *plain = NULL;

	if (!PyArg_ParseTuple(args, "OO", &inner, &plain))
		return NULL;
	self = PyObject_GC_New(struct adapted, adapted_type);
	if (!self)
		return NULL;
	self->inner = Py_NewRef(inner);
	self->plain = Py_NewRef(plain);
	self->dict = self->weak = NULL;
	PyObject_GC_Track(self);
	return (PyObject *)self;
}

PyMethodDef adapted_methods[] = {
	{"adapted", adapted_make, METH_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
	{"__dictoffset__", T_PYSSIZET, offsetof(struct adapted, dict), READONLY, NULL},
	{"__weaklistoffset__", T_PYSSIZET, offsetof(struct adapted, weak), READONLY, NULL},
	{NULL, 0, 0, 0, NULL},
};

static PyMethodDef own_methods[] = {
	{"__reduce__", adapted_reduce, METH_NOARGS, NULL},
	{NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
	{"__signature__", get_signature, NULL, NULL, NULL},
	{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

int adapted_init(void)
{
	PyType_Slot slots[] = {
		{Py_tp_call, adapted_call},	  {Py_tp_descr_get, adapted_get},
		{Py_tp_dealloc, adapted_dealloc}, {Py_tp_traverse, adapted_traverse},
		{Py_tp_clear, adapted_clear},	  {Py_tp_repr, adapted_repr},
		{Py_tp_methods, own_methods},	  {Py_tp_members, members},
		{Py_tp_getset, getset},		  {0, NULL},
	};
	PyType_Spec spec = {.name = "braze._core.adapted_function",
			    .basicsize = sizeof(struct adapted),
			    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
				     Py_TPFLAGS_DISALLOW_INSTANTIATION,
			    .slots = slots};
	PyObject *types = PyImport_ImportModule("types");

	if (types)
		method_type = PyObject_GetAttrString(types, "MethodType");
	Py_XDECREF(types);
	adapted_type = (PyTypeObject *)PyType_FromSpec(&spec);
	return adapted_type && method_type ? 0 : -1;
}
