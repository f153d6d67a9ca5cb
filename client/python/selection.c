/* SPDX-License-Identifier: Apache-2.0 */
/* selection.c - a[mask] while nobody has asked how many elements that are.
 *
 * Where the mask is not at hand, to count it is to wait.  So a[mask] is a *selection*: an object of
 * a type of its own, laid out as an array's, which holds the array and the mask as they were.
 * Some reductions of it are recorded as they are (braze/numpy/_selection.py).  Everything else
 * *settles* it: the elements are counted, and the object becomes an ordinary array, type and all.
 * The bits of a reduction are the array's in either way (daemon/call/chosen.h). */
#include <string.h>

#include "native.h"
#include "numpys.h"

/* What base holds until then. */
enum { PART_ARRAY, PART_MASK, PART_RANKS, PARTS };

static PyObject *held(braze_array *h)
{
	braze_array *copy = NULL;
	braze_error err;

	err.code = braze_snapshot(&copy, h, &err);
	if (err.code) {
		wait_raise(&err);
		return NULL;
	}
	return type_new(copy, 0);
}

static bool same_shape(braze_array *a, braze_array *b)
{
	return braze_ndim(a) == braze_ndim(b) &&
	       !memcmp(braze_shape(a), braze_shape(b), (size_t)braze_ndim(a) * sizeof(int64_t));
}

/* Is it a mask of all of a's axes, to be waited for, and may what is computed be put off? */
static bool is_open(PyObject *self, PyObject *key)
{
	braze_array *a = nd_check(self) ? nd(self)->h : NULL,
		    *mask = nd_check(key) ? nd(key)->h : NULL;

	if (!a || !mask || core.locked || core.watching || core.flags ||
	    nd(self)->flags & ND_SCALAR)
		return false;
	return braze_dtype_of(mask) == BRAZE_BOOL && braze_ndim(a) && same_shape(a, mask) &&
	       braze_size(a) && !braze_at_hand(mask);
}

bool selection_make(PyObject **out, PyObject *self, PyObject *key)
{
	PyObject *parts = NULL, *a = NULL, *mask = NULL;
	braze_array *none = NULL;

	if (!is_open(self, key))
		return false;
	a = held(nd(self)->h);
	mask = a ? held(nd(key)->h) : NULL;
	parts = mask ? Py_BuildValue("[OOO]", a, mask, Py_None) : NULL;
	Py_XDECREF(a);
	Py_XDECREF(mask);
	*out = parts ? type_new(none, 0) : NULL;
	if (*out) {
		nd(*out)->base = parts;
		Py_INCREF((PyObject *)core.selection);
		Py_SET_TYPE(*out, core.selection);
		Py_DECREF((PyObject *)core.type);
	} else {
		Py_XDECREF(parts);
	}
	return true;
}

static PyObject *elements(PyObject *a, PyObject *mask)
{
	PyObject *r = NULL;

	if (numpys_mask(&r, a, mask))
		return r;
	/* Few are waited for by then. */
	if (masks_get(&r, a, mask) || PyErr_Occurred())
		return r;
	return PyObject_CallFunctionObjArgs(core.getitem, a, mask, NULL);
}

int selection_settle(PyObject *o)
{
	PyObject *parts = Py_NewRef(nd(o)->base), *r = NULL;

	r = elements(PyList_GetItem(parts, PART_ARRAY), PyList_GetItem(parts, PART_MASK));
	/* Another thread may have done it while this one waited. */
	if (r && selection_check(o) && nd_check(r) && type_handle(r)) {
		Py_CLEAR(nd(o)->base);
		Py_INCREF((PyObject *)core.type);
		Py_SET_TYPE(o, core.type);
		Py_DECREF((PyObject *)core.selection);
		layout_become(o, r);
	} else if (r && selection_check(o) && !PyErr_Occurred()) {
		PyErr_SetString(PyExc_TypeError, "a mask gave no array");
	}
	Py_XDECREF(r);
	Py_DECREF(parts);
	return selection_check(o) ? -1 : 0;
}

int selection_settle_key(PyObject *key)
{
	if (selection_check(key))
		return selection_settle(key);
	if (!PyTuple_CheckExact(key))
		return 0;
	for (Py_ssize_t k = 0; k < PyTuple_Size(key); k++) {
		PyObject *item = PyTuple_GetItem(key, k);

		if (selection_check(item) && selection_settle(item))
			return -1;
	}
	return 0;
}

int selection_settle_args(PyObject *const *args, Py_ssize_t n)
{
	int settled = 0;

	for (Py_ssize_t k = 0; k < n; k++) {
		if (!selection_check(args[k]))
			continue;
		if (selection_settle(args[k]))
			return -1;
		settled = 1;
	}
	return settled;
}

/* settle(x): x, which is an array from now on if it was a selection */
static PyObject *settle(PyObject *mod, PyObject *o)
{
	return selection_check(o) && selection_settle(o) ? NULL : Py_NewRef(o);
}

/* selected(x): the list of the array, the mask and its ranks or None; None: it is settled */
static PyObject *selected(PyObject *mod, PyObject *o)
{
	return Py_NewRef(selection_check(o) ? nd(o)->base : Py_None);
}

static int getbuffer(PyObject *o, Py_buffer *view, int flags)
{
	return selection_settle(o) ? -1 : convert_getbuffer(o, view, flags);
}

static PyMethodDef functions[] = {
	{"settle", settle, METH_O, NULL},
	{"selected", selected, METH_O, NULL},
	{NULL, NULL, 0, NULL},
};

/* ---- Operators: all settle, and ask again ---- */

static bool settled(PyObject *a, PyObject *b)
{
	PyObject *both[2] = {a, b};

	return selection_settle_args(both, 2) >= 0;
}

#define BINARY(X)                                                                                  \
	X(add, Add)                                                                                \
	X(subtract, Subtract)                                                                      \
	X(multiply, Multiply)                                                                      \
	X(true_divide, TrueDivide)                                                                 \
	X(floor_divide, FloorDivide)                                                               \
	X(remainder, Remainder)                                                                    \
	X(lshift, Lshift)                                                                          \
	X(rshift, Rshift)                                                                          \
	X(and, And)                                                                                \
	X(or, Or)                                                                                  \
	X(xor, Xor)                                                                                \
	X(matrix_multiply, MatrixMultiply)
#define UNARY(X)                                                                                   \
	X(negative, PyNumber_Negative)                                                             \
	X(positive, PyNumber_Positive)                                                             \
	X(absolute, PyNumber_Absolute)                                                             \
	X(invert, PyNumber_Invert)                                                                 \
	X(int, PyNumber_Long)                                                                      \
	X(float, PyNumber_Float)

#define DEFINE(name, function)                                                                     \
	static PyObject *do_##name(PyObject *a, PyObject *b)                                       \
	{                                                                                          \
		return settled(a, b) ? PyNumber_##function(a, b) : NULL;                           \
	}                                                                                          \
	static PyObject *do_inplace_##name(PyObject *a, PyObject *b)                               \
	{                                                                                          \
		return settled(a, b) ? PyNumber_InPlace##function(a, b) : NULL;                    \
	}
BINARY(DEFINE)
#undef DEFINE
#define DEFINE(name, function)                                                                     \
	static PyObject *do_##name(PyObject *a)                                                    \
	{                                                                                          \
		return selection_settle(a) ? NULL : function(a);                                   \
	}
UNARY(DEFINE)
#undef DEFINE

static PyObject *do_power(PyObject *a, PyObject *b, PyObject *mod)
{
	return settled(a, b) ? PyNumber_Power(a, b, mod) : NULL;
}

static PyObject *do_inplace_power(PyObject *a, PyObject *b, PyObject *mod)
{
	return settled(a, b) ? PyNumber_InPlacePower(a, b, mod) : NULL;
}

static int do_bool(PyObject *a)
{
	return selection_settle(a) ? -1 : PyObject_IsTrue(a);
}

static PyObject *compare(PyObject *a, PyObject *b, int how)
{
	return settled(a, b) ? PyObject_RichCompare(a, b, how) : NULL;
}

static PyObject *subscript(PyObject *a, PyObject *key)
{
	return selection_settle(a) ? NULL : index_get(a, key);
}

static int ass_subscript(PyObject *a, PyObject *key, PyObject *value)
{
	return selection_settle(a) ? -1 : index_set(a, key, value);
}

static Py_ssize_t length(PyObject *a)
{
	return selection_settle(a) ? -1 : index_length(a);
}

/* For isinstance. */
static PyObject *get_class(PyObject *o, void *closure)
{
	return Py_NewRef((PyObject *)core.type);
}

static PyObject *item(PyObject *a, Py_ssize_t i)
{
	return selection_settle(a) ? NULL : index_item(a, i);
}

static PyGetSetDef getset[] = {
	{"__class__", get_class, NULL, "The type of arrays.", NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef members[] = {
	{"__weaklistoffset__", T_PYSSIZET, offsetof(struct ndarray, weak), READONLY, NULL},
	{NULL, 0, 0, 0, NULL},
};

int selection_init(PyObject *module)
{
	PyType_Slot slots[] = {
		{Py_tp_dealloc, type_dealloc},
		{Py_tp_members, members},
		{Py_tp_getset, getset},
		{Py_bf_getbuffer, getbuffer},
		{Py_tp_richcompare, compare},
		{Py_mp_subscript, subscript},
		{Py_mp_ass_subscript, ass_subscript},
		{Py_mp_length, length},
		{Py_sq_length, length},
		{Py_sq_item, item},
		{Py_nb_bool, do_bool},
		{Py_nb_power, do_power},
		{Py_nb_inplace_power, do_inplace_power},
#define SLOT(name, function) {Py_nb_##name, do_##name}, {Py_nb_inplace_##name, do_inplace_##name},
		BINARY(SLOT)
#undef SLOT
#define SLOT(name, function) {Py_nb_##name, do_##name},
			UNARY(SLOT)
#undef SLOT
				{0, NULL},
	};
	PyType_Spec spec = {.name = "braze._core.selection",
			    .basicsize = sizeof(struct ndarray),
			    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
			    .slots = slots};

	core.selection = (PyTypeObject *)PyType_FromSpec(&spec);
	if (!core.selection || PyModule_AddFunctions(module, functions))
		return -1;
	return PyModule_AddObjectRef(module, "selection", (PyObject *)core.selection);
}
