/* SPDX-License-Identifier: Apache-2.0 */
/* fast_errstate.c - with np.errstate(...), of classes by their names.
 *
 * What NumPy's class does (a state that its functions see, set and taken back), and the same of our
 * state, without a frame of Python's.  States that ask nothing of us are found by what is wished
 * and by the states before; braze/numpy/_errstate.py makes ours, and takes every other call. */
#include <string.h>

#include "native.h"

#define WISHES 5   /* the classes, and all of them */
#define KNOWN  256 /* states that are remembered */

static PyObject *names[WISHES];
static PyObject *wishes_name, *inside_name, *modes_name, *quiet_name; /* attributes */
/* What makes a state from wishes, NumPy's and ours, and the methods of the variables that have it.
 */
static PyObject *numpys_state, *numpys_get, *numpys_set, *numpys_reset, *nothing;
static PyObject *ours_state, *ours_get, *ours_set, *ours_reset;
static PyObject *known; /* by a key: NumPy's state, and ours that asks for nothing */

static PyObject *call(PyObject *function, PyObject *with)
{
	PyObject *room[2] = {NULL, with}; /* the first is lent to the callee */

	return PyObject_Vectorcall(function, room + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

static bool is_class(PyObject *name)
{
	for (int k = 0; k < WISHES; k++)
		if (names[k] == name)
			return true;
	return false;
}

/* errstate.__init__(self, **wishes): what it keeps, and that nobody is inside. */
bool fast_errstate_init(PyObject **out, const struct fast *f, const struct call *c)
{
	Py_ssize_t n = c->names ? PyTuple_Size(c->names) : 0;
	PyObject *wishes = NULL;
	bool fine = numpys_state && c->n == 1;

	for (Py_ssize_t k = 0; k < n && fine; k++)
		fine = is_class(PyTuple_GetItem(c->names, k));
	if (!fine || !(wishes = PyDict_New()))
		return false;
	for (Py_ssize_t k = 0; k < n && fine; k++)
		fine = !PyDict_SetItem(wishes, PyTuple_GetItem(c->names, k), c->args[1 + k]);
	fine = fine && !PyObject_SetAttr(c->args[0], wishes_name, wishes) &&
	       !PyObject_SetAttr(c->args[0], inside_name, Py_None);
	Py_DECREF(wishes);
	*out = fine ? Py_NewRef(Py_None) : NULL;
	return true;
}

static bool are_plain(PyObject *wishes)
{
	PyObject *name = NULL, *mode = NULL;
	Py_ssize_t at = 0;

	while (PyDict_Next(wishes, &at, &name, &mode))
		if (mode != Py_None && !PyUnicode_CheckExact(mode))
			return false;
	return true;
}

/* What states are found by: NumPy's before, our modes before, and each wish. */
static PyObject *key_of(PyObject *wishes)
{
	PyObject *theirs = PyObject_CallNoArgs(numpys_get), *modes = NULL, *key = NULL;
	PyObject *ours = theirs ? PyObject_CallNoArgs(ours_get) : NULL, *name = NULL, *mode = NULL;
	Py_ssize_t at = 0, n = 0;

	if (ours)
		modes = ours == Py_None ? Py_NewRef(Py_None) : PyObject_GetAttr(ours, modes_name);
	Py_XDECREF(ours);
	key = modes ? PyTuple_New(2 + 2 * PyDict_Size(wishes)) : NULL;
	if (!key) {
		Py_XDECREF(theirs);
		Py_XDECREF(modes);
		return NULL;
	}
	PyTuple_SetItem(key, n++, theirs);
	PyTuple_SetItem(key, n++, modes);
	while (PyDict_Next(wishes, &at, &name, &mode)) {
		PyTuple_SetItem(key, n++, Py_NewRef(name));
		PyTuple_SetItem(key, n++, Py_NewRef(mode));
	}
	return key;
}

/* The states themselves are a part of keys: they go when there are many. */
static int remember(PyObject *key, PyObject *both)
{
	if (PyDict_Size(known) >= KNOWN)
		PyDict_Clear(known);
	return PyDict_SetItem(known, key, both);
}

/* Does our state ask for nothing?  One that does dies with the last context that has it. */
static bool is_quiet(PyObject *ours)
{
	PyObject *quiet = ours == Py_None ? Py_NewRef(Py_True) : PyObject_GetAttr(ours, quiet_name);

	Py_XDECREF(quiet);
	return quiet == Py_True;
}

/* NumPy's state and ours for such wishes here; NULL with an exception. */
static PyObject *states_for(PyObject *wishes)
{
	PyObject *key = key_of(wishes), *theirs = NULL, *ours = NULL, *both = NULL;

	both = key ? Py_XNewRef(PyDict_GetItemWithError(known, key)) : NULL;
	if (key && !both && !PyErr_Occurred()) {
		theirs = PyObject_Call(numpys_state, nothing, wishes);
		ours = theirs ? call(ours_state, wishes) : NULL;
		both = ours ? PyTuple_Pack(2, theirs, ours) : NULL;
		if (both && is_quiet(ours) && remember(key, both))
			Py_CLEAR(both);
	}
	Py_XDECREF(key);
	Py_XDECREF(theirs);
	Py_XDECREF(ours);
	return both;
}

/* Both are set, or neither; what takes them back. */
static PyObject *set_both(PyObject *states)
{
	PyObject *theirs = call(numpys_set, PyTuple_GetItem(states, 0)), *ours = NULL, *both = NULL;

	ours = theirs ? call(ours_set, PyTuple_GetItem(states, 1)) : NULL;
	both = ours ? PyTuple_Pack(2, theirs, ours) : NULL;
	if (theirs && !both)
		Py_XDECREF(call(numpys_reset, theirs));
	Py_XDECREF(theirs);
	Py_XDECREF(ours);
	return both;
}

/* errstate.__enter__(self) */
bool fast_errstate_enter(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *self = c->n == 1 && !c->names && numpys_state ? c->args[0] : NULL;
	PyObject *inside = self ? PyObject_GetAttr(self, inside_name) : NULL, *wishes = NULL;
	PyObject *states = NULL, *both = NULL;

	if (inside == Py_None)
		wishes = PyObject_GetAttr(self, wishes_name);
	Py_XDECREF(inside);
	if (wishes && PyDict_CheckExact(wishes) && are_plain(wishes))
		states = states_for(wishes);
	both = states ? set_both(states) : NULL;
	Py_XDECREF(wishes);
	Py_XDECREF(states);
	if (!both)
		return PyErr_Occurred() != NULL; /* a mode that is none, above all */
	*out = PyObject_SetAttr(self, inside_name, both) ? NULL : Py_NewRef(Py_None);
	Py_DECREF(both);
	return true;
}

/* errstate.__exit__(self, ...) of what was entered here. */
bool fast_errstate_exit(PyObject **out, const struct fast *f, const struct call *c)
{
	PyObject *inside = c->n && !c->names ? PyObject_GetAttr(c->args[0], inside_name) : NULL;
	PyObject *one = NULL, *other = NULL;

	if (!inside || !PyTuple_CheckExact(inside)) {
		PyErr_Clear();
		Py_XDECREF(inside);
		return false;
	}
	other = call(ours_reset, PyTuple_GetItem(inside, 1));
	one = other ? call(numpys_reset, PyTuple_GetItem(inside, 0)) : NULL;
	*out = one ? Py_NewRef(Py_None) : NULL;
	Py_XDECREF(one);
	Py_XDECREF(other);
	Py_DECREF(inside);
	return true;
}

/* errstate_setup(what makes NumPy's state, its variable, what makes ours, its variable) */
static PyObject *setup(PyObject *mod, PyObject *args)
{
	PyObject *theirs = NULL, *ours = NULL;

	if (!PyArg_ParseTuple(args, "OOOO", &numpys_state, &theirs, &ours_state, &ours))
		return NULL;
	Py_INCREF(numpys_state);
	Py_INCREF(ours_state);
	numpys_get = PyObject_GetAttrString(theirs, "get");
	numpys_set = PyObject_GetAttrString(theirs, "set");
	numpys_reset = PyObject_GetAttrString(theirs, "reset");
	ours_get = PyObject_GetAttrString(ours, "get");
	ours_set = PyObject_GetAttrString(ours, "set");
	ours_reset = PyObject_GetAttrString(ours, "reset");
	if (PyErr_Occurred()) {
		Py_CLEAR(numpys_state);
		return NULL;
	}
	Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
	{"errstate_setup", setup, METH_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};

int fast_errstate_begin(PyObject *module)
{
	static const char *const classes[WISHES] = {"all", "divide", "over", "under", "invalid"};

	for (int k = 0; k < WISHES; k++)
		if (!(names[k] = PyUnicode_InternFromString(classes[k])))
			return -1;
	nothing = PyTuple_New(0);
	known = PyDict_New();
	quiet_name = PyUnicode_InternFromString("quiet");
	wishes_name = PyUnicode_InternFromString("_wishes");
	inside_name = PyUnicode_InternFromString("_inside");
	modes_name = PyUnicode_InternFromString("modes");
	if (!nothing || !known || !quiet_name || !wishes_name || !inside_name || !modes_name)
		return -1;
	return PyModule_AddFunctions(module, functions);
}
