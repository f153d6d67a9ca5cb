/* SPDX-License-Identifier: Apache-2.0 */
/* type.c - the ndarray type: life, attributes, slots.
 *
 * A freed object's memory goes to a free list, since loops make and drop
 * millions of temporaries.  Methods with keywords are attached from Python
 * (braze/numpy/_methods.py). */
#include "core.h"

#include <string.h>

static void *freelist[FREELIST_LIMIT];
static int n_free;

static PyObject *blank(void)
{
	struct ndarray *self = NULL;

	self = n_free ? freelist[--n_free] : PyObject_Malloc(sizeof *self);
	if (!self)
		return PyErr_NoMemory();
	PyObject_Init((PyObject *)self, core.type);
	self->h = NULL;
	self->base = NULL;
	self->weak = NULL;
	self->writes = 0;
	self->flags = 0;
	self->peeked = false;
	return (PyObject *)self;
}

PyObject *type_new(braze_array *h, int flags)
{
	PyObject *self = watch_reports() ? NULL : blank();

	if (!self) {
		braze_release(h);
		return NULL;
	}
	nd(self)->h = h;
	nd(self)->flags = (uint8_t)flags;
	return self;
}

/* A scalar is a value: what shows it must not let it be written. */
static braze_array *apart(braze_array *h)
{
	braze_array *copy = NULL;
	braze_error err;

	err.code = braze_copy(&copy, h, &err);
	braze_release(h);
	if (err.code)
		wait_raise(&err);
	return err.code ? NULL : copy;
}

/* What a view without elements tells of its strides: zeros, as an array that was made without, or
 * those that it has of one with elements. */
static int counts(braze_array *h, PyObject *of)
{
	if (__builtin_expect(braze_size(h) != 0, 1))
		return 0;
	return nd(of)->h && !braze_size(nd(of)->h) ? nd(of)->flags & ND_COUNTED : ND_COUNTED;
}

PyObject *type_reshaped(braze_array *h, PyObject *base)
{
	braze_array *of = nd(base)->h;
	bool same =
		of && braze_ndim(of) == braze_ndim(h) &&
		!memcmp(braze_shape(of), braze_shape(h), (size_t)braze_ndim(h) * sizeof(int64_t));
	PyObject *self = type_view(h, base);

	if (self && !same && !(nd(self)->flags & ND_SCALAR) && !braze_size(nd(self)->h))
		nd(self)->flags |= ND_COUNTED;
	return self;
}

PyObject *type_view(braze_array *h, PyObject *base)
{
	bool value = nd(base)->flags & ND_SCALAR && braze_size(h) == 1;
	PyObject *self = NULL;

	if (value && !(h = apart(h)))
		return NULL;
	self = type_new(h, value ? 0 : (nd(base)->flags & ND_OF_VIEWS) | counts(h, base));
	if (self && !value) {
		/* As in NumPy, base is the array that owns the buffer. */
		if (nd(base)->base)
			base = nd(base)->base;
		Py_INCREF(base);
		nd(self)->base = base;
	}
	return self;
}

PyObject *type_immediate(int dtype, const uint64_t bits[2])
{
	PyObject *self = blank();

	if (!self)
		return NULL;
	nd(self)->flags = ND_SCALAR;
	nd(self)->now = (braze_scalar){.dtype = dtype, .bits = {bits[0], bits[1]}};
	return self;
}

PyObject *type_truth(bool v)
{
	static PyObject *kept[2];
	const uint64_t bits[2] = {v, 0};

	if (kept[v] && !nd(kept[v])->h)
		return Py_NewRef(kept[v]);
	Py_XDECREF(kept[v]);
	kept[v] = type_immediate(BRAZE_BOOL, bits);
	return Py_XNewRef(kept[v]);
}

void type_dealloc(PyObject *o)
{
	struct ndarray *self = nd(o);
	PyTypeObject *type = Py_TYPE(o);

	if (self->weak)
		PyObject_ClearWeakRefs(o);
	if (self->h)
		braze_release(self->h);
	Py_XDECREF(self->base);
	if (n_free < FREELIST_LIMIT)
		freelist[n_free++] = self;
	else
		PyObject_Free(self);
	Py_DECREF(type);
}

braze_array *type_handle(PyObject *o)
{
	struct ndarray *self = nd(o);
	braze_session *s = NULL;
	braze_error err;
	int rc = 0;

	if (self->h)
		return self->h;
	s = wait_session();
	if (!s)
		return NULL;
	rc = braze_full(&self->h, s, self->now.dtype, 0, NULL, self->now, &err);
	if (rc) {
		self->h = NULL;
		err.code = rc;
		wait_raise(&err);
	}
	return self->h;
}

int type_ndim(PyObject *o)
{
	return nd(o)->h ? braze_ndim(nd(o)->h) : 0;
}

int type_dtype(PyObject *o)
{
	return nd(o)->h ? braze_dtype_of(nd(o)->h) : nd(o)->now.dtype;
}

PyObject *type_int_tuple(int n, const int64_t *v)
{
	PyObject *t = PyTuple_New(n), *x = NULL;

	for (int i = 0; t && i < n; i++) {
		x = PyLong_FromLongLong(v[i]);
		if (!x || PyTuple_SetItem(t, i, x)) {
			Py_DECREF(t);
			return NULL;
		}
	}
	return t;
}

static PyObject *get_shape(PyObject *self, void *closure)
{
	braze_array *h = nd(self)->h;

	return h ? type_int_tuple(braze_ndim(h), braze_shape(h)) : PyTuple_New(0);
}

/* Setting a shape never copies, so it must not come out as a new buffer. */
static int set_shape(PyObject *self, PyObject *value, void *closure)
{
	PyObject *r = NULL;
	braze_array *h = NULL;
	int same = 0;

	if (!value) {
		PyErr_SetString(PyExc_AttributeError, "Cannot delete array shape");
		return -1;
	}
	h = type_handle(self);
	if (!h)
		return -1;
	r = PyObject_CallMethod(self, "reshape", "O", value);
	if (!r)
		return -1;
	same = nd(r)->h && braze_same_buffer(nd(r)->h, h);
	if (!same) {
		Py_DECREF(r);
		PyErr_SetString(PyExc_AttributeError,
				"Incompatible shape for in-place modification. Use `.reshape()` to "
				"make a copy with the desired shape.");
		return -1;
	}
	layout_become(self, r);
	Py_DECREF(r);
	return 0;
}

/* Types and strides are worked out by the package: closure names its method. */
static int set_layout(PyObject *self, PyObject *value, void *closure)
{
	PyObject *r = NULL;

	if (!value || nd(self)->flags & ND_SCALAR) {
		PyErr_Format(PyExc_AttributeError, "cannot %s this attribute of %s",
			     value ? "set" : "delete",
			     nd(self)->flags & ND_SCALAR ? "a scalar" : "an array");
		return -1;
	}
	if (!type_handle(self))
		return -1;
	r = PyObject_CallMethod(self, closure, "(O)", value);
	if (!r)
		return -1;
	layout_become(self, r);
	Py_DECREF(r);
	return 0;
}

static PyObject *get_dtype(PyObject *self, void *closure)
{
	return Py_NewRef(core.dtypes[type_dtype(self)]);
}

static int64_t size_of(PyObject *self)
{
	return nd(self)->h ? braze_size(nd(self)->h) : 1;
}

static int itemsize_of(PyObject *self)
{
	static const int size[N_DTYPES] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 8, 16};

	return size[type_dtype(self)];
}

static PyObject *get_ndim(PyObject *self, void *closure)
{
	return PyLong_FromLong(type_ndim(self));
}

static PyObject *get_size(PyObject *self, void *closure)
{
	return PyLong_FromLongLong(size_of(self));
}

static PyObject *get_itemsize(PyObject *self, void *closure)
{
	return PyLong_FromLong(itemsize_of(self));
}

static PyObject *get_nbytes(PyObject *self, void *closure)
{
	return PyLong_FromLongLong(size_of(self) * itemsize_of(self));
}

/* Of a new array without elements, and views of it, they are zeros, as NumPy has it; of a view of
 * others, and of another shape that an array got, they are counted. */
static PyObject *get_strides(PyObject *self, void *closure)
{
	static const int64_t none[BRAZE_MAX_NDIM];
	braze_array *h = nd(self)->h;
	bool counted = nd(self)->flags & ND_COUNTED;

	if (!h)
		return PyTuple_New(0);
	return type_int_tuple(braze_ndim(h), counted || braze_size(h) ? braze_strides(h) : none);
}

static PyObject *get_transposed(PyObject *self, void *closure)
{
	braze_array *h = NULL, *r = NULL;
	braze_error err;

	if (nd(self)->flags & ND_SCALAR)
		return Py_NewRef(self);
	h = type_handle(self);
	if (!h)
		return NULL;
	err.code = braze_transpose(&r, h, NULL, &err);
	if (err.code) {
		wait_raise(&err);
		return NULL;
	}
	return type_view(r, self);
}

static PyObject *get_base(PyObject *self, void *closure)
{
	return Py_NewRef(nd(self)->base ? nd(self)->base : Py_None);
}

static PyObject *get_is_scalar(PyObject *self, void *closure)
{
	return PyBool_FromLong(nd(self)->flags & ND_SCALAR);
}

static PyGetSetDef getset[] = {
	{"shape", get_shape, set_shape, "Extents of the axes.", NULL},
	{"dtype", get_dtype, set_layout, "numpy.dtype of the elements.", "_retyped"},
	{"ndim", get_ndim, NULL, "Number of axes.", NULL},
	{"size", get_size, NULL, "Number of elements.", NULL},
	{"itemsize", get_itemsize, NULL, "Bytes of an element.", NULL},
	{"nbytes", get_nbytes, NULL, "Bytes of all elements.", NULL},
	{"strides", get_strides, set_layout, "Bytes between neighbours on each axis.",
	 "_restrided"},
	{"T", get_transposed, NULL, "View with the axes reversed.", NULL},
	{"real", parts_get, parts_set, "The real part.", NULL},
	{"imag", parts_get, parts_set, "The imaginary part.", "imag"},
	{"base", get_base, NULL, "The array this is a view of, or None.", NULL},
	{"__class__", scalar_class, NULL, "The type; of a scalar NumPy's.", NULL},
	{"_is_scalar", get_is_scalar, NULL, "Behaves as a NumPy scalar.", NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

/* ndarray(shape, dtype=float): uninitialised, as numpy.ndarray. */
static PyObject *tp_new(PyTypeObject *type, PyObject *args, PyObject *kw)
{
	PyObject *mod = PyImport_ImportModule("braze.numpy._creation"), *f = NULL, *r = NULL;

	if (!mod)
		return NULL;
	f = PyObject_GetAttrString(mod, "ndarray_new");
	Py_DECREF(mod);
	if (f)
		r = PyObject_Call(f, args, kw);
	Py_XDECREF(f);
	return r;
}

static PyObject *tp_iter(PyObject *self)
{
	if (!type_ndim(self)) {
		PyErr_SetString(PyExc_TypeError, "iteration over a 0-d array");
		return NULL;
	}
	return iterate_over(self);
}

static PyMemberDef members[] = {
	{"__weaklistoffset__", T_PYSSIZET, offsetof(struct ndarray, weak), READONLY, NULL},
	{NULL, 0, 0, 0, NULL},
};

static PyMethodDef methods[] = {
	{"__format__", scalar_format, METH_O, "As NumPy's number, or array, is written."},
	{"__array_ufunc__", (PyCFunction)(void (*)(void))ufunc_asked, METH_FASTCALL | METH_KEYWORDS,
	 "NumPy's ufuncs given a braze array end here."},
	{NULL, NULL, 0, NULL},
};

int type_init(PyObject *module)
{
	PyType_Slot own[] = {
		{Py_tp_dealloc, type_dealloc},
		{Py_tp_getset, getset},
		{Py_tp_members, members},
		{Py_tp_methods, methods},
		{Py_tp_hash, scalar_hash},
		{Py_tp_repr, scalar_repr},
		{Py_tp_str, scalar_str},
		{Py_tp_new, tp_new},
		{Py_tp_iter, tp_iter},
		{Py_tp_richcompare, number_compare},
		{Py_tp_doc, "A lazy array: NumPy's interface, computed by brazed when read."},
		{Py_mp_subscript, index_get},
		{Py_mp_ass_subscript, index_set},
		{Py_mp_length, index_length},
		{Py_sq_length, index_length},
		{Py_sq_item, index_item},
		{Py_bf_getbuffer, convert_getbuffer},
		{Py_bf_releasebuffer, convert_releasebuffer},
	};
	PyType_Slot slots[80];
	/* Where C code refuses a scalar because it is no float (Decimal, timedelta), its
	 * message has this name and nothing else of ours.  Attributes are looked up as of any
	 * type, which Python does fastest; 50 characters of the name are told then. */
	PyType_Spec spec = {.name = "lazy (float(x) reads it) braze.numpy.ndarray",
			    .basicsize = sizeof(struct ndarray),
			    .flags = Py_TPFLAGS_DEFAULT,
			    .slots = slots};
	PyObject *name = NULL;
	size_t n = sizeof own / sizeof *own;

	memcpy(slots, own, sizeof own);
	for (const PyType_Slot *s = number_slots; s->slot; s++)
		slots[n++] = *s;
	slots[n] = (PyType_Slot){0, NULL};
	core.type = (PyTypeObject *)PyType_FromSpec(&spec);
	if (!core.type || iterate_init())
		return -1;
	name = PyUnicode_FromString("braze.numpy");
	if (!name || PyObject_SetAttrString((PyObject *)core.type, "__module__", name))
		return -1;
	Py_DECREF(name);
	return PyModule_AddObjectRef(module, "ndarray", (PyObject *)core.type);
}
